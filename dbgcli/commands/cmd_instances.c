/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `instances`: each time that a breakpoint on a line would be hit. */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 100

static const struct cli_option options[] = {
    {"limit", 0, "N", "show at most N (100); 0: all"},
    {0},
};

const struct cli_syntax cli_cmd_instances_syntax = {
    .example = "instances parse.c:120 --limit 10",
    .usage = "FILE:LINE|FUNCTION|*ADDRESS [--limit N]",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "When the line (the function, the instruction) ran: each time that a breakpoint on it\n"
        "would be hit.",
};

struct walk {
    struct cli_session *session;
    json_t *array; /* NULL: text */
    uint64_t limit, shown;
};

#define STOP 1 /* enough has been shown */

static int show_instance(void *context, wetdbg_time time, uint64_t pc)
{
    struct walk *walk = context;
    struct cli_out *out = walk->session->out;
    struct cli_place place;
    if ((walk->limit && walk->shown == walk->limit) || cli_out_is_gone(out))
        return STOP;
    if (cli_interrupt_is_pending())
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    walk->shown++;
    cli_place_of_pc(walk->session, pc, &place);
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "k", cli_json_count(walk->shown));
        cli_json_set(row, "time", cli_json_count(time));
        cli_json_set(row, "pc", cli_json_address(pc));
        cli_json_set(row, "function", cli_json_text(place.function));
        cli_json_set(row, "linkage_name", cli_json_text(place.linkage_name));
        cli_thread_to_json_at(row, walk->session, time);
        cli_json_append(walk->array, row);
        return 0;
    }
    fprintf(out->stream, "#%-8" PRIu64 " time %-14" PRIu64 " 0x%" PRIx64 " ", walk->shown, time,
            pc);
    cli_out_text(out, place.function ? place.function : "?");
    cli_thread_print_at(walk->session, time);
    putc('\n', out->stream);
    return 0;
}

static int show_instances(struct walk *walk, const char *where, const uint64_t *pcs,
                          size_t pc_count)
{
    struct cli_session *session = walk->session;
    uint64_t count;
    int result = wetdbg_count_instances(session->wet, pcs, pc_count, &count);
    if (result)
        return result;
    if (!count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s did not run", where);
    if (!walk->array)
        fprintf(session->out->stream, "%s ran %" PRIu64 " time%s%s\n", where, count,
                count == 1 ? "" : "s", session->info->is_window ? " in the window" : "");
    result = wetdbg_each_instance(session->wet, pcs, pc_count, session->info->first_time,
                                  session->info->last_time, show_instance, walk);
    if (result < 0)
        return result;
    if (walk->array) {
        json_t *object = cli_json_object("wetdbg.instances/1");
        cli_json_set(object, "where", cli_json_text(where));
        cli_json_set(object, "count", cli_json_count(count));
        cli_json_set(object, "instances", json_incref(walk->array));
        cli_out_json(session->out, object);
    } else if (walk->shown < count) {
        fprintf(session->out->stream, "(%" PRIu64 " more; --limit 0 shows all)\n",
                count - walk->shown);
    }
    return 0;
}

int cli_cmd_instances(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct walk walk = {.session = repl->session};
    uint64_t *pcs;
    size_t pc_count;
    (void)format;
    int err = cli_args_number(args, "limit", LIMIT_DEFAULT, &walk.limit);
    if (!err)
        err = cli_breakpoint_pcs(walk.session, args->operands[0], &pcs, &pc_count);
    if (err)
        return err;
    walk.array = repl->out->json ? json_array() : NULL;
    err = show_instances(&walk, args->operands[0], pcs, pc_count);
    json_decref(walk.array);
    free(pcs);
    return err;
}
