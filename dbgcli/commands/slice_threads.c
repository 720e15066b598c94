/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slice counts instances by line and keeps no threads, so its instances are walked once: most of
 * them fall on addresses that were seen before, whose line a hash table knows.
 */
#include "dbgcli/commands/slice_threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define NO_LINE    SIZE_MAX
#define SLOTS_MIN  1024
#define LIST_BYTES 64 /* of numbers shown for a line */

struct slot {
    uint64_t pc; /* 0: free; no code is there */
    size_t line;
};

struct cli_slice_threads {
    uint8_t *seen; /* thread_count flags for each line */
    size_t thread_count;
};

struct walk {
    struct cli_session *session;
    struct cli_slice_threads *threads;
    const struct wetdbg_slice_line *lines;
    size_t line_count;
    struct slot *slots;
    size_t slot_count, used;
};

/* ---- from addresses to lines ---- */

static size_t find_source_line(const struct walk *walk, const char *file, uint32_t line)
{
    for (size_t i = 0; i < walk->line_count; i++)
        if (walk->lines[i].line == line && walk->lines[i].file &&
            (walk->lines[i].file == file || strcmp(walk->lines[i].file, file) == 0))
            return i;
    return NO_LINE;
}

static size_t find_function(const struct walk *walk, const char *function, const char *module)
{
    for (size_t i = 0; i < walk->line_count; i++)
        if (!walk->lines[i].file && strcmp(walk->lines[i].function, function) == 0 &&
            strcmp(walk->lines[i].module, module) == 0)
            return i;
    return NO_LINE;
}

/* The line of an instruction, as the slicer puts instructions together: by file and line, else by
 * function and module. */
static size_t line_of(const struct walk *walk, uint64_t pc)
{
    struct wetdbg_model *model = walk->session->model;
    struct wetdbg_function function;
    struct wetdbg_module module;
    struct wetdbg_line source;
    if (wetdbg_line_of_instruction(model, pc, &source) == 0 && source.file && source.line)
        return find_source_line(walk, source.file, source.line);
    return find_function(walk, wetdbg_function_at(model, pc, &function) == 0 ? function.name : "?",
                         wetdbg_module_at(model, pc, &module) == 0 ? module.name : "?");
}

static struct slot *slot_of(const struct walk *walk, uint64_t pc)
{
    size_t mask = walk->slot_count - 1, at = (pc ^ pc >> 13) * 0x9e3779b97f4a7c15u >> 20 & mask;
    while (walk->slots[at].pc && walk->slots[at].pc != pc)
        at = (at + 1) & mask;
    return &walk->slots[at];
}

static void grow(struct walk *walk)
{
    struct walk old = *walk;
    walk->slot_count = old.slot_count ? old.slot_count * 2 : SLOTS_MIN;
    walk->slots = cli_malloc(walk->slot_count * sizeof(*walk->slots));
    memset(walk->slots, 0, walk->slot_count * sizeof(*walk->slots));
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].pc)
            *slot_of(walk, old.slots[i].pc) = old.slots[i];
    free(old.slots);
}

static size_t known_line_of(struct walk *walk, uint64_t pc)
{
    if (walk->used * 2 >= walk->slot_count)
        grow(walk);
    struct slot *slot = slot_of(walk, pc);
    if (!slot->pc && pc) {
        *slot = (struct slot){pc, line_of(walk, pc)};
        walk->used++;
    }
    return slot->pc ? slot->line : NO_LINE;
}

static int note_instance(void *context, const struct wetdbg_slice_instance *instance)
{
    struct walk *walk = context;
    size_t line = known_line_of(walk, instance->pc);
    const struct wetdbg_thread *thread = cli_thread_at(walk->session, instance->time);
    if (line != NO_LINE && thread && thread->index < walk->threads->thread_count)
        walk->threads->seen[line * walk->threads->thread_count + thread->index] = 1;
    return 0;
}

int cli_slice_threads_make(struct cli_session *session, const struct wetdbg_slice *slice,
                           struct cli_slice_threads **out)
{
    struct walk walk = {.session = session};
    size_t count = session->info->threads;
    *out = NULL;
    walk.lines = wetdbg_slice_lines(slice, &walk.line_count);
    if (count < 2 || !walk.line_count)
        return 0;
    walk.threads = cli_malloc(sizeof(*walk.threads));
    *walk.threads = (struct cli_slice_threads){.thread_count = count};
    walk.threads->seen = calloc(walk.line_count, count);
    if (!walk.threads->seen)
        cli_die();
    int result = wetdbg_slice_each_instance(slice, NULL, 0, note_instance, &walk);
    free(walk.slots);
    if (result < 0)
        cli_slice_threads_free(walk.threads);
    else
        *out = walk.threads;
    return result < 0 ? result : 0;
}

void cli_slice_threads_free(struct cli_slice_threads *threads)
{
    if (!threads)
        return;
    free(threads->seen);
    free(threads);
}

/* ---- showing ---- */

void cli_slice_threads_print(struct cli_out *out, const struct cli_slice_threads *threads,
                             size_t line)
{
    char list[LIST_BYTES] = "";
    size_t used = 0, shown = 0;
    if (!threads)
        return;
    const uint8_t *seen = &threads->seen[line * threads->thread_count];
    for (size_t i = 0; i < threads->thread_count; i++) {
        if (!seen[i])
            continue;
        if (used + 24 > sizeof(list)) {
            snprintf(list + used, sizeof(list) - used, ",...");
            break;
        }
        used +=
            (size_t)snprintf(list + used, sizeof(list) - used, "%s%zu", shown++ ? "," : "", i + 1);
    }
    if (shown)
        fprintf(out->stream, "  thread%s %s", shown == 1 ? "" : "s", list);
}

void cli_slice_threads_to_json(json_t *object, const struct cli_slice_threads *threads, size_t line)
{
    if (!threads)
        return;
    json_t *array = json_array();
    for (size_t i = 0; i < threads->thread_count; i++)
        if (threads->seen[line * threads->thread_count + i])
            cli_json_append(array, cli_json_count(i + 1));
    cli_json_set(object, "threads", array);
}
