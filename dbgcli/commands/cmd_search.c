/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `search`: where a value came up in the run. All intervals in question are run for what they
 * wrote; what is found in one is shown before the next one is run.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/needle.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/meter.h"
#include "dbgcli/nav/general.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/nav/walker.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 20
#define HITS_MAX      1000000 /* of one interval */

static const struct cli_option options[] = {
    {"string", 0, "TEXT", "look for text"},
    {"bytes", 0, "HEX", "look for bytes: \"de ad be ef\""},
    {"float", 0, "NUMBER", "look for a floating-point number"},
    {"size", 0, "N", "numbers of N bytes only: 1, 2, 4 or 8"},
    {"registers", 0, NULL, "in results of instructions in registers, not in memory"},
    {"from", 0, "TIME", "begin there"},
    {"to", 0, "TIME", "end there"},
    {"limit", 0, "N", "show at most N (20); 0: all"},
    {"reverse", 0, NULL, "latest first"},
    {0},
};

const struct cli_syntax cli_cmd_search_syntax = {
    .example = "search --string \"no such file\" --limit 5",
    .usage = "VALUE|--string TEXT|--bytes HEX|--float NUMBER [--size N] [--registers]\n"
             "       [--from TIME] [--to TIME] [--limit N] [--reverse]",
    .options = options,
    .operands_max = 1,
    .details =
        "When a value came to be in memory: each write, of the program or the kernel, after which\n"
        "it is at an address where it was not before, oldest first. A number is found where a\n"
        "store has its size (1, 2, 4 or 8 bytes, any that it fits into), and in larger stores,\n"
        "copies and what the kernel wrote at multiples of its size, from 4 on. Text and bytes are\n"
        "found anywhere, also if they came together one by one. VALUE that is no number is text.\n"
        "With --registers: instructions whose result is the number, in 4 or 8 bytes of a general\n"
        "register. Not found: what a mapped file brought, and what stores under a mask and xsave\n"
        "wrote (said at the end, if there were any). The run is executed once for it: Ctrl-C\n"
        "ends that, and what was found stays.",
};

struct hit {
    wetdbg_time time;
    uint64_t pc;
    int64_t syscall; /* -1: none */
    int reg;
    uint64_t address, size;
};

struct search {
    struct cli_session *session;
    struct cli_out *out;
    struct cli_meter meter;
    struct cli_needle needle;
    struct wetdbg_effects *effects;
    struct cli_walker walker;
    bool in_registers, is_latest_first, has_more;
    wetdbg_time from, to;
    uint64_t limit, shown, first_interval, interval_count, interval;
    struct hit *hits; /* of the interval at work */
    size_t hit_count, hit_capacity;
    unsigned effects_seen;
    json_t *array; /* NULL: text */
};

#define STOP 1

/* ---- finding ---- */

static int add_hit(struct search *search, const struct wetdbg_effect *effect, uint64_t address,
                   uint64_t size)
{
    const struct wetdbg_event *event = effect->event;
    bool is_call =
        event && (event->kind == WETDBG_EVENT_CALL || event->kind == WETDBG_EVENT_CALL_END);
    if (search->hit_count == search->hit_capacity) {
        search->hit_capacity = search->hit_capacity ? 2 * search->hit_capacity : 64;
        search->hits = cli_realloc(search->hits, search->hit_capacity, sizeof(*search->hits));
    }
    search->hits[search->hit_count++] = (struct hit){
        .time = effect->time,
        .pc = effect->pc,
        .syscall = is_call ? event->number : -1,
        .reg = effect->reg,
        .address = address,
        .size = size,
    };
    /* one more than are shown, to know that there are more */
    bool is_enough = !search->is_latest_first && search->limit &&
                     search->shown + search->hit_count > search->limit;
    return is_enough || search->hit_count == HITS_MAX ? STOP : 0;
}

static int look_at(void *arg, const struct wetdbg_effect *effect)
{
    struct search *search = arg;
    uint64_t address = 0, size = 8;
    int result = 0;
    if ((++search->effects_seen & 0xffff) == 0 &&
        cli_meter_update(&search->meter, search->interval, search->interval_count))
        return -WETDBG_ERR_INTERRUPTED;
    if (effect->time < search->from || effect->time > search->to)
        return 0;
    if (search->in_registers)
        result = cli_needle_in_register(&search->needle, effect);
    else
        result = cli_needle_in_memory(&search->needle, search->effects, effect, &address, &size);
    return result == 1 ? add_hit(search, effect, address, size) : result;
}

/* ---- showing ---- */

static void print_place_found(struct search *search, const struct hit *hit)
{
    FILE *stream = search->out->stream;
    if (hit->reg >= 0) {
        fprintf(stream, "  $%s", cli_general_name((unsigned)hit->reg));
        return;
    }
    fputs("  *", stream);
    cli_address_print(stream, search->session->model, hit->address);
    fprintf(stream, " (%" PRIu64 " byte%s)", hit->size, hit->size == 1 ? "" : "s");
}

static void print_hit(struct search *search, const struct hit *hit, const struct cli_place *place,
                      const char *inner)
{
    struct cli_out *out = search->out;
    fprintf(out->stream, "time %-12" PRIu64 " ", hit->time);
    cli_place_print(out, place);
    fputs("  ", out->stream);
    cli_out_text(out, place->function ? place->function : "?");
    if (inner && hit->pc) {
        fputs(" via ", out->stream);
        cli_out_text(out, inner);
    }
    if (!hit->pc)
        fprintf(out->stream, " by the kernel%s%s", hit->syscall >= 0 ? ": " : "",
                hit->syscall >= 0 ? cli_syscall_name(hit->syscall) : "");
    cli_thread_print_at(search->session, hit->time);
    print_place_found(search, hit);
    if (place->text) {
        fputs("  | ", out->stream);
        cli_out_text(out, place->text);
    }
    putc('\n', out->stream);
}

static json_t *json_of_hit(struct search *search, const struct hit *hit,
                           const struct cli_place *place, const char *inner)
{
    json_t *row = json_object();
    cli_json_set(row, "time", cli_json_count(hit->time));
    cli_json_set(row, "by", cli_json_text(hit->pc ? "program" : "kernel"));
    cli_json_set(row, "syscall",
                 cli_json_text(hit->syscall >= 0 ? cli_syscall_name(hit->syscall) : NULL));
    cli_json_set(row, "register",
                 cli_json_text(hit->reg >= 0 ? cli_general_name((unsigned)hit->reg) : NULL));
    cli_json_set(row, "address", hit->reg < 0 ? cli_json_address(hit->address) : json_null());
    cli_json_set(row, "bytes", cli_json_count(hit->size));
    cli_place_to_json(row, place);
    cli_json_set(row, "inner_function", cli_json_text(hit->pc ? inner : NULL));
    cli_thread_to_json_at(row, search->session, hit->time);
    return row;
}

static int show_hit(struct search *search, const struct hit *hit)
{
    struct cli_session *session = search->session;
    struct cli_place place;
    const char *inner;
    if (search->limit && search->shown == search->limit) {
        search->has_more = true;
        return STOP;
    }
    int err = cli_walker_go(&search->walker, hit->time);
    if (err)
        return err;
    struct cli_moment *moment = cli_moment_of_state(session->wet, hit->time, search->walker.state);
    cli_telling_place(session, moment, &place, &inner);
    search->shown++;
    if (search->array)
        cli_json_append(search->array, json_of_hit(search, hit, &place, inner));
    else
        print_hit(search, hit, &place, inner);
    cli_moment_close(moment);
    return 0;
}

/* Shows the hits of an interval. Their times are walked to one after the other, oldest first,
 * whatever the order asked for; that is cheap for those that are shown. */
static int show_hits(struct search *search)
{
    int err = 0;
    for (size_t i = 0; i < search->hit_count && !err; i++) {
        if (cli_meter_update(&search->meter, search->interval, search->interval_count))
            return -WETDBG_ERR_INTERRUPTED;
        err = show_hit(search,
                       &search->hits[search->is_latest_first ? search->hit_count - 1 - i : i]);
    }
    return err;
}

/* ---- all intervals ---- */

static int search_interval(struct search *search, uint64_t k)
{
    search->hit_count = 0;
    int result = wetdbg_effects_each(search->effects, k, search->in_registers, look_at, search);
    bool is_interrupted = result == -WETDBG_ERR_INTERRUPTED;
    if (result < 0 && !is_interrupted)
        return result;
    if (is_interrupted && (search->is_latest_first || !search->hit_count))
        return result;
    int shown = show_hits(search);
    return is_interrupted ? result : shown;
}

static int search_all(struct search *search)
{
    struct wetdbg *wet = search->session->wet;
    uint64_t last = wetdbg_interval_at(wet, search->to);
    int result = search->from > search->to ? STOP : 0;
    search->first_interval = wetdbg_interval_at(wet, search->from);
    search->interval_count = last - search->first_interval + 1;
    for (uint64_t i = 0; i < search->interval_count && !result; i++) {
        search->interval = i;
        if (cli_meter_update(&search->meter, i, search->interval_count))
            result = -WETDBG_ERR_INTERRUPTED;
        else
            result = search_interval(search, search->is_latest_first ? last - i
                                                                     : search->first_interval + i);
    }
    return result < 0 ? result : 0;
}

static int parse_times(struct search *search, const struct cli_args *args)
{
    const char *from = cli_args_value(args, "from"), *to = cli_args_value(args, "to");
    int err = from ? cli_time_parse(search->session, from, &search->from) : 0;
    if (!err && to)
        err = cli_time_parse(search->session, to, &search->to);
    if (!err && search->needle.byte_count && search->in_registers)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "search: registers hold numbers, no text");
    return err;
}

static void print_end(struct search *search, bool is_complete)
{
    struct cli_out *out = search->out;
    uint64_t unknown = wetdbg_effects_unknown(search->effects);
    if (search->array) {
        json_t *object = cli_json_object("wetdbg.search/1");
        cli_json_set(object, "from", cli_json_count(search->from));
        cli_json_set(object, "to", cli_json_count(search->to));
        cli_json_set(object, "complete", json_boolean(is_complete && !search->has_more));
        cli_json_set(object, "unknown_writes", cli_json_count(unknown));
        cli_json_set(object, "found", json_incref(search->array));
        cli_uncertain_to_json(object, search->session, search->to);
        cli_out_json(out, object);
        return;
    }
    if (search->has_more)
        fputs("(more; --limit 0 shows all)\n", out->stream);
    else if (unknown && !search->in_registers)
        fprintf(out->stream,
                "(%" PRIu64 " store%s under a mask or by xsave could not be looked into)\n",
                unknown, unknown == 1 ? "" : "s");
}

static int finish(struct search *search, int result)
{
    cli_meter_end(&search->meter);
    if (!result || search->array)
        print_end(search, !result);
    if (result == -WETDBG_ERR_INTERRUPTED)
        return search->array ? 0 : wetdbg_fail(result, "interrupted; there may be more");
    if (!result && !search->shown && !search->array)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "not found in what was written from time %" PRIu64 " to %" PRIu64,
                           search->from, search->to);
    return result;
}

int cli_cmd_search(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct search search = {
        .session = session,
        .out = repl->out,
        .walker = {.session = session},
        .in_registers = cli_args_has(args, "registers"),
        .is_latest_first = cli_args_has(args, "reverse"),
        .from = session->info->first_time,
        .to = session->info->last_time,
    };
    (void)format;
    int err = cli_args_number(args, "limit", LIMIT_DEFAULT, &search.limit);
    if (!err)
        err = cli_needle_parse(args, &search.needle);
    if (!err)
        err = parse_times(&search, args);
    if (!err)
        err = wetdbg_effects_open(session->wet, &search.effects);
    if (err)
        return err;
    search.array = repl->out->json ? json_array() : NULL;
    cli_meter_begin(&search.meter, repl->out, "searching");
    err = finish(&search, search_all(&search));
    cli_walker_fini(&search.walker);
    wetdbg_effects_close(search.effects);
    json_decref(search.array);
    free(search.hits);
    return err;
}
