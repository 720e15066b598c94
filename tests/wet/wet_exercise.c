/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/wet/wet_exercise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

#define NODES_MAX     400
#define INTERVALS_MAX 4
#define READ_MAX      65536

/* What has been read, so that the sanitizers see every byte. */
static volatile uint64_t seen;

static void look(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += at[i];
    seen += sum;
}

static void keep_first(int *first, int err)
{
    if (!*first)
        *first = err;
}

/* ---- tables ---- */

static int event_look(void *arg, const struct wet_event *event)
{
    (void)arg;
    look(event->entry, event->entry->bytes);
    return 0;
}

/* The model's answers about an address; that it knows nothing is no error. */
static void model_ask(struct wetdbg *wet, uint64_t pc)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_function function;
    struct wetdbg_symbol symbol;
    struct wetdbg_line line;
    const uint64_t *branches;
    size_t count;
    uint64_t body;
    uint8_t bytes[16];
    wetdbg_function_at(model, pc, &function);
    wetdbg_symbol_at(model, pc, &symbol);
    wetdbg_line_at(model, pc, &line);
    wetdbg_function_body(model, pc, &body);
    wetdbg_controllers(model, pc, &branches, &count);
    wetdbg_read_bytes(model, pc, bytes, sizeof(bytes));
}

static void info_look(const struct wetdbg_info *info)
{
    look(info, sizeof(*info));
    look(info->program, strlen(info->program));
    for (size_t i = 0; i < info->argc; i++)
        look(info->argv[i], strlen(info->argv[i]));
}

static void threads_look(struct wetdbg *wet)
{
    size_t count;
    uint64_t last = wetdbg_get_info(wet)->instructions;
    const wetdbg_time times[] = {0, 1, last / 2, last, last + 1, UINT64_MAX};
    const struct wetdbg_thread *threads = wetdbg_threads(wet, &count);
    for (size_t i = 0; i < count; i++) {
        look(threads[i].name, strlen(threads[i].name));
        seen += threads[i].instructions + (threads[i].parent ? threads[i].parent->index : 0);
        for (size_t t = 0; t < sizeof(times) / sizeof(times[0]); t++) {
            const struct wetdbg_thread *at = wetdbg_thread_at(wet, times[t]);
            const struct wetdbg_thread *of = wetdbg_thread_of(wet, threads[i].task, times[t]);
            seen += (at ? at->index : 0) + (of ? of->index : 0);
        }
    }
    const struct wetdbg_ambiguous *events = wetdbg_ambiguous_events(wet, &count);
    look(events, count * sizeof(*events));
}

int exercise_tables(struct wetdbg *wet)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    int first = 0;
    size_t count, asked = 0;
    info_look(info);
    threads_look(wet);
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &count);
    look(outputs, count * sizeof(*outputs));
    keep_first(&first, wet_each_entry(wet, event_look, NULL));
    for (uint32_t id = 0; id < wet_node_limit(wet); id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        if (!node || asked++ >= NODES_MAX)
            continue;
        look(node->code, node->code_bytes);
        look(node->statements, node->statement_count * sizeof(*node->statements));
        for (uint64_t k = 0; k < info->intervals && k < INTERVALS_MAX; k++)
            seen += wet_node_executions_in(wet, id, k);
        if (asked % 40 == 1) {
            uint64_t total;
            keep_first(&first, wetdbg_count_instances(wet, &node->pc, 1, &total));
            model_ask(wet, node->pc);
        }
    }
    for (uint64_t k = 0; k < info->intervals && k < INTERVALS_MAX; k++)
        seen +=
            wetdbg_interval_may_write(wet, k, k << 20, 4096) + wetdbg_interval_at(wet, k * 1000);
    return first;
}

/* ---- runs ---- */

static int interval_look(struct wetdbg *wet, uint64_t k)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(wet, k, &interval);
    if (err)
        return err;
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        const struct wet_node *node = wet_get_node(wet, exec->node);
        look(interval->slots + exec->slot_off, node->slot_count * sizeof(uint64_t));
    }
    for (size_t i = 0; i < interval->event_count; i++)
        event_look(NULL, &interval->events[i]);
    wet_interval_put(wet, interval);
    return 0;
}

static int state_look(struct wetdbg *wet, wetdbg_time t)
{
    struct wetdbg_state *state;
    const struct wetdbg_mapping *mappings;
    uint8_t bytes[256];
    size_t count;
    int err = wetdbg_state_open(wet, t, &state);
    if (err)
        return err;
    const struct evq_regs *regs = wet_state_regs(state);
    look(regs, sizeof(*regs));
    err = wetdbg_state_mappings(state, &mappings, &count);
    for (size_t i = 0; !err && i < count; i++) {
        look(mappings[i].name, strlen(mappings[i].name));
        err = wetdbg_state_read(state, mappings[i].start, bytes, sizeof(bytes));
        if (err == -EFAULT) /* a damaged file may list what is not there */
            err = 0;
    }
    wetdbg_state_read(state, regs->r[EVQ_RSP], bytes, sizeof(bytes));
    wetdbg_state_read(state, UINT64_MAX - 3, bytes, sizeof(bytes));
    wetdbg_state_close(state);
    return err;
}

static int output_look(struct wetdbg *wet, const struct wetdbg_output *output)
{
    struct wetdbg_state *state;
    size_t size = output->size < READ_MAX ? output->size : READ_MAX;
    uint8_t *bytes = malloc(size + 1);
    int err = wetdbg_state_open(wet, output->time, &state);
    if (!err) {
        wetdbg_state_read(state, output->address, bytes, size);
        wetdbg_state_close(state);
    }
    free(bytes);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

static int instances_look(struct wetdbg *wet, uint64_t pc)
{
    wetdbg_time time;
    const int64_t ranks[] = {1, -1, 7, INT64_MIN};
    int first = 0;
    for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++) {
        int err = wetdbg_find_instance(wet, &pc, 1, ranks[i], &time);
        keep_first(&first, err == -WETDBG_ERR_NOT_FOUND ? 0 : err);
    }
    return first;
}

static int effect_look(void *arg, const struct wetdbg_effect *effect)
{
    (void)arg;
    if (effect->before)
        look(effect->before, effect->size < READ_MAX ? effect->size : READ_MAX);
    if (effect->after)
        look(effect->after, effect->size < READ_MAX ? effect->size : READ_MAX);
    return 0;
}

static int effects_look(struct wetdbg *wet)
{
    struct wetdbg_effects *effects;
    int err = wetdbg_effects_open(wet, &effects);
    if (err)
        return err;
    for (uint64_t k = 0; !err && k < wetdbg_get_info(wet)->intervals && k < 2; k++)
        err = wetdbg_effects_each(effects, k, true, effect_look, NULL);
    wetdbg_effects_close(effects);
    return err;
}

int exercise_runs(struct wetdbg *wet)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    uint64_t last = info->instructions + 1;
    const wetdbg_time times[] = {1, last / 3, last - 1, last, last / 2};
    int first = 0;
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &count);
    for (uint64_t k = 0; k < info->intervals && k < INTERVALS_MAX; k++)
        keep_first(&first, interval_look(wet, k));
    keep_first(&first, interval_look(wet, info->intervals - 1));
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        keep_first(&first, times[i] ? state_look(wet, times[i]) : 0);
    for (size_t i = 0; i < count && i < 3; i++)
        keep_first(&first, output_look(wet, &outputs[i]));
    for (uint32_t id = 0; id < wet_node_limit(wet); id += 1 + wet_node_limit(wet) / 4) {
        const struct wet_node *node = wet_get_node(wet, id);
        keep_first(&first, node ? instances_look(wet, node->pc) : 0);
    }
    keep_first(&first, interval_look(wet, 0));
    keep_first(&first, effects_look(wet));
    return first;
}
