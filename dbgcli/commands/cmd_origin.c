/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where one value came from: the copies that brought it here, back to where it was made or came
 * in. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 100

static const struct cli_option options[] = {
    {"limit", 0, "N", "of a longer chain show both ends, N hops (100); 0: all"},
    {"no-bypass", 0, NULL, "show the saving and restoring of registers around calls too"},
    {0},
};

const struct cli_syntax cli_cmd_origin_syntax = {
    .example = "origin table[3].width",
    .usage = "VARIABLE[@TIME]|*ADDRESS[+LEN][@TIME]|$REGISTER[@TIME]|output:... [--limit N]",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Follows one value, of at most 64 bytes, back through the copies that brought it\n"
        "here (moves, pushes, memcpy, extensions) to the instruction that computed it, to the\n"
        "system call that brought it in, or to what the program started with. VARIABLE is\n"
        "as for print, in the selected frame, now or just before TIME; the other forms, crash\n"
        "and exit too, are as for slice. A hop says which of the value's bytes it is\n"
        "about, unless it is about all; one in a library also for which of the program's own\n"
        "lines it was made.",
};

struct view {
    struct cli_session *session;
    const struct wetdbg_origin *origin;
    uint64_t limit;
    bool shows_saving;
    size_t hidden;
};

/* ---- values ---- */

static uint64_t all_bytes(const struct wetdbg_origin *origin)
{
    return origin->size >= 64 ? UINT64_MAX : (UINT64_C(1) << origin->size) - 1;
}

/* The bytes of a mask, lowest first, as a number if they are few: "0x2a (42)", "61 62 63 ...". */
static char *value_text(const struct wetdbg_origin *origin, uint64_t mask)
{
    char *text = NULL;
    size_t size;
    unsigned count = (unsigned)__builtin_popcountll(mask), at = 0;
    uint64_t number = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        cli_die();
    if ((origin->known & mask) != mask || !mask)
        fputs("?", to);
    for (unsigned i = 0; (origin->known & mask) == mask && i < origin->size; i++) {
        if (!(mask >> i & 1))
            continue;
        if (count <= 8)
            number |= (uint64_t)origin->value[i] << (8 * at);
        else
            fprintf(to, "%s%02x", at ? " " : "", origin->value[i]);
        at++;
    }
    if (at && count <= 8 && number > 9)
        fprintf(to, "0x%" PRIx64 " (%" PRIu64 ")", number, number);
    else if (at && count <= 8)
        fprintf(to, "%" PRIu64, number);
    fclose(to);
    if (!text)
        cli_die();
    return text;
}

/* "bytes 4..7, 12" */
static char *mask_text(uint64_t mask)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        cli_die();
    fputs(mask & (mask - 1) ? "bytes" : "byte", to);
    for (unsigned i = 0; i < 64; i++) {
        unsigned end = i;
        if (!(mask >> i & 1))
            continue;
        while (end + 1 < 64 && mask >> (end + 1) & 1)
            end++;
        fprintf(to, "%s %u", (mask & ((UINT64_C(1) << i) - 1)) ? "," : "", i);
        if (end > i)
            fprintf(to, "..%u", end);
        i = end;
    }
    fclose(to);
    if (!text)
        cli_die();
    return text;
}

/* ---- how a chain ends ---- */

static char *call_text(const struct wetdbg_hop *hop)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        cli_die();
    fprintf(to, "%s(", cli_syscall_name(hop->number));
    for (unsigned i = 0; i < hop->arg_count; i++) {
        int32_t low = (int32_t)hop->args[i]; /* AT_FDCWD comes as -100 in 32 bits */
        bool is_negative = low < 0 && low > -4096 && hop->args[i] <= UINT32_MAX;
        fputs(i ? ", " : "", to);
        if (is_negative || hop->args[i] < 4096)
            fprintf(to, "%" PRId32, low);
        else
            fprintf(to, "0x%" PRIx64, hop->args[i]);
    }
    if (hop->result < 0 && hop->result > -4096)
        fprintf(to, ") = %" PRId64, hop->result);
    else
        fprintf(to, hop->result < 65536 ? ") = %" PRId64 : ") = 0x%" PRIx64, hop->result);
    fclose(to);
    if (!text)
        cli_die();
    return text;
}

/* " from FILE, byte N on"; to be freed. */
static char *file_text(const struct wetdbg_hop *hop)
{
    if (!hop->file)
        return cli_strdup("");
    if (hop->file_offset == UINT64_MAX)
        return cli_asprintf(" from %s", hop->file);
    return cli_asprintf(" from %s, offset %" PRIu64, hop->file, hop->file_offset);
}

static char *syscall_text(const struct wetdbg_hop *hop)
{
    char *call = call_text(hop), *file = file_text(hop), *text;
    if (hop->to.kind == WETDBG_SPOT_LOCATION)
        text = cli_asprintf("set by %s", call);
    else if (hop->to.kind != WETDBG_SPOT_MEMORY)
        text = cli_asprintf("the result of %s", call);
    else if (hop->is_mapping)
        text = cli_asprintf("mapped by %s%s", call, file);
    else
        text = cli_asprintf("came in by %s%s (byte %" PRIu64 " of %" PRIu64 ")", call, file,
                            hop->offset, hop->extent);
    free(file);
    free(call);
    return text;
}

static char *sent_text(const struct wetdbg_hop *hop)
{
    char *call = call_text(hop);
    char *text = cli_asprintf("sent by %s (byte %" PRIu64 " of %" PRIu64 ")", call, hop->offset,
                              hop->extent);
    free(call);
    return text;
}

/* How a chain ends, or what a call did with the bytes, to be freed; NULL for other hops. */
static char *end_text(struct cli_session *session, const struct wetdbg_hop *hop)
{
    switch (hop->kind) {
    case WETDBG_HOP_COMPUTED:
        return cli_asprintf("computed by '%s'", hop->text);
    case WETDBG_HOP_CONSTANT:
        return cli_asprintf("a constant of the code, in '%s'", hop->text);
    case WETDBG_HOP_SYSCALL:
    case WETDBG_HOP_READ_BACK:
        return hop->number < 0 ? cli_strdup("a system call") : syscall_text(hop);
    case WETDBG_HOP_WRITTEN:
    case WETDBG_HOP_PASSED:
        return sent_text(hop);
    case WETDBG_HOP_DELIVERED:
        return cli_strdup("given by the kernel with a signal");
    case WETDBG_HOP_INITIAL:
        return cli_initial_text(session, &hop->to);
    default:
        return NULL;
    }
}

/* Finds on whose behalf a hop in a library was made: the nearest caller that is the program's
 * own. */
static bool find_caller(const struct view *view, const struct wetdbg_hop *hop,
                        struct wetdbg_caller *caller)
{
    struct wetdbg *wet = view->session->wet;
    return hop->pc && hop->time && !wetdbg_is_own(wet, hop->pc) &&
           wetdbg_own_caller(wet, hop->time, caller) == 0;
}

/* ---- text ---- */

static void print_caller(const struct view *view, const struct wetdbg_hop *hop)
{
    struct cli_out *out = view->session->out;
    struct wetdbg_caller caller;
    if (!find_caller(view, hop, &caller))
        return;
    fputs("  for ", out->stream);
    if (caller.file) {
        cli_out_text(out, cli_base_name(caller.file));
        fprintf(out->stream, ":%" PRIu32 " in ", caller.line);
    }
    cli_out_text(out, caller.function ? caller.function : "?");
}

static void print_hop(const struct view *view, size_t number, const struct wetdbg_hop *hop)
{
    struct cli_session *session = view->session;
    struct cli_out *out = session->out;
    struct cli_place place = {0};
    char *end = end_text(session, hop);
    char *to = cli_spot_text(session, &hop->to), *from = cli_spot_text(session, &hop->from);
    char *value = value_text(view->origin, hop->bytes);
    if (hop->pc)
        cli_place_of_pc(session, hop->pc, &place);
    fprintf(out->stream, "#%-3zu time %-12" PRIu64 " %-13s ", number, hop->time,
            wetdbg_hop_name(hop->kind));
    if (hop->pc) {
        cli_out_text(out, place.function ? place.function : "?");
        fputs("  ", out->stream);
        cli_place_print(out, &place);
        cli_thread_print_at(session, hop->time);
        print_caller(view, hop);
    }
    if (place.text) {
        fputs("  | ", out->stream);
        cli_out_text(out, place.text);
    }
    fprintf(out->stream, "  %s[", cli_out_style(out, CLI_STYLE_DIM));
    if (hop->bytes != all_bytes(view->origin)) {
        char *bytes = mask_text(hop->bytes);
        fprintf(out->stream, "%s of the value: ", bytes);
        free(bytes);
    }
    cli_out_text(out, from);
    if (*from && *to)
        fputs(" to ", out->stream);
    cli_out_text(out, to);
    fprintf(out->stream, "] = %s%s\n", value, cli_out_style(out, CLI_STYLE_NONE));
    if (end) {
        fputs("     ", out->stream);
        cli_out_text(out, end);
        putc('\n', out->stream);
    }
    free(end);
    free(to);
    free(from);
    free(value);
}

static bool is_omitted(const struct view *view, size_t shown, size_t index)
{
    if (!view->limit || shown <= view->limit)
        return false;
    return index >= (view->limit + 1) / 2 && index < shown - view->limit / 2;
}

static bool is_hidden(const struct view *view, const struct wetdbg_hop *hop)
{
    return hop->is_saving && !view->shows_saving;
}

static size_t count_shown(const struct view *view)
{
    size_t shown = 0;
    for (size_t i = 0; i < view->origin->hop_count; i++)
        shown += !is_hidden(view, &view->origin->hops[i]);
    return shown;
}

static void print_text(const struct view *view, const struct wetdbg_criterion_info *info)
{
    const struct wetdbg_origin *origin = view->origin;
    struct cli_out *out = view->session->out;
    char *place = cli_spot_text(view->session, &origin->place);
    char *value = value_text(origin, all_bytes(origin));
    size_t shown = count_shown(view), index = 0;
    bool was_omitted = false;
    cli_out_text(out, info->description);
    fprintf(out->stream, ": %zu byte%s in ", origin->size, origin->size == 1 ? "" : "s");
    cli_out_text(out, place);
    fprintf(out->stream, " = %s\n", value);
    for (size_t i = 0; i < origin->hop_count && !cli_out_is_gone(out); i++) {
        if (is_hidden(view, &origin->hops[i]))
            continue;
        bool omit = is_omitted(view, shown, index);
        if (omit && !was_omitted)
            fprintf(out->stream, "     ... %zu hops; --limit 0 shows all\n",
                    shown - (size_t)view->limit);
        was_omitted = omit;
        if (!omit)
            print_hop(view, index, &origin->hops[i]);
        index++;
    }
    free(place);
    free(value);
    cli_uncertain_print(view->session, info->time);
}

/* ---- JSON ---- */

static json_t *json_of_spot(struct cli_session *session, const struct wetdbg_spot *spot)
{
    char *text = cli_spot_text(session, spot);
    json_t *value = *text ? cli_json_text(text) : json_null();
    free(text);
    return value;
}

static json_t *json_of_mask(uint64_t mask)
{
    json_t *array = json_array();
    for (unsigned i = 0; i < 64; i++)
        if (mask >> i & 1)
            cli_json_append(array, json_integer(i));
    return array;
}

static json_t *json_of_call(const struct wetdbg_hop *hop)
{
    json_t *call = json_object(), *args = json_array();
    for (unsigned i = 0; i < hop->arg_count; i++)
        cli_json_append(args, cli_json_count(hop->args[i]));
    cli_json_set(call, "name", cli_json_text(cli_syscall_name(hop->number)));
    cli_json_set(call, "arguments", args);
    cli_json_set(call, "result", json_integer(hop->result));
    if (hop->kind == WETDBG_HOP_WRITTEN || hop->kind == WETDBG_HOP_PASSED) {
        cli_json_set(call, "offset", cli_json_count(hop->offset));
        cli_json_set(call, "size", cli_json_count(hop->extent));
    } else if (hop->to.kind == WETDBG_SPOT_MEMORY) {
        cli_json_set(call, "offset", cli_json_count(hop->offset));
        cli_json_set(call, "size", cli_json_count(hop->extent));
        cli_json_set(call, "is_mapping", json_boolean(hop->is_mapping));
        cli_json_set(call, "file", cli_json_text(hop->file));
        cli_json_set(call, "file_offset",
                     hop->file && hop->file_offset != UINT64_MAX ? cli_json_count(hop->file_offset)
                                                                 : json_null());
        cli_json_set(call, "written_time", hop->writer ? cli_json_count(hop->writer) : json_null());
        cli_json_set(call, "written_from",
                     hop->writer_address ? cli_json_address(hop->writer_address) : json_null());
    }
    return call;
}

static json_t *json_of_caller(const struct view *view, const struct wetdbg_hop *hop)
{
    struct wetdbg_caller caller;
    if (!find_caller(view, hop, &caller))
        return json_null();
    json_t *object = json_object();
    cli_json_set(object, "time", caller.time ? cli_json_count(caller.time) : json_null());
    cli_json_set(object, "pc", cli_json_address(caller.pc));
    cli_json_set(object, "function", cli_json_text(caller.function));
    cli_json_set(object, "file", cli_json_text(caller.file));
    cli_json_set(object, "line", caller.file ? json_integer(caller.line) : json_null());
    return object;
}

static json_t *json_of_hop(const struct view *view, const struct wetdbg_hop *hop)
{
    struct cli_session *session = view->session;
    struct cli_place place = {0};
    char *end = end_text(session, hop), *value = value_text(view->origin, hop->bytes);
    json_t *row = json_object();
    cli_json_set(row, "time", hop->time ? cli_json_count(hop->time) : json_null());
    cli_json_set(row, "kind", cli_json_text(wetdbg_hop_name(hop->kind)));
    cli_json_set(row, "is_end", json_boolean(wetdbg_hop_is_end(hop->kind)));
    cli_json_set(row, "bytes", json_of_mask(hop->bytes));
    cli_json_set(row, "to", json_of_spot(session, &hop->to));
    cli_json_set(row, "from", json_of_spot(session, &hop->from));
    cli_json_set(row, "value", cli_json_text(value));
    cli_json_set(row, "instruction", *hop->text ? cli_json_text(hop->text) : json_null());
    cli_json_set(row, "meaning", cli_json_text(end));
    if (hop->number >= 0)
        cli_json_set(row, "call", json_of_call(hop));
    if (hop->pc) {
        cli_place_of_pc(session, hop->pc, &place);
        cli_place_to_json(row, &place);
        cli_thread_to_json_at(row, session, hop->time);
        cli_json_set(row, "caller", json_of_caller(view, hop));
    }
    free(end);
    free(value);
    return row;
}

static void print_json(const struct view *view, const struct wetdbg_criterion_info *info)
{
    const struct wetdbg_origin *origin = view->origin;
    json_t *object = cli_json_object("wetdbg.origin/1"), *hops = json_array();
    char *value = value_text(origin, all_bytes(origin));
    size_t shown = count_shown(view), index = 0;
    for (size_t i = 0; i < origin->hop_count; i++) {
        if (is_hidden(view, &origin->hops[i]))
            continue;
        if (!is_omitted(view, shown, index++))
            cli_json_append(hops, json_of_hop(view, &origin->hops[i]));
    }
    cli_json_set(object, "of", cli_json_text(info->text));
    cli_json_set(object, "description", cli_json_text(info->description));
    cli_json_set(object, "time", cli_json_count(info->time));
    cli_thread_to_json_at(object, view->session, info->time);
    cli_uncertain_to_json(object, view->session, info->time);
    cli_json_set(object, "place", json_of_spot(view->session, &origin->place));
    cli_json_set(object, "size", json_integer((json_int_t)origin->size));
    cli_json_set(object, "value", cli_json_text(value));
    cli_json_set(object, "hop_count", cli_json_count(shown));
    cli_json_set(object, "hops", hops);
    free(value);
    cli_out_json(view->session->out, object);
}

/* ---- the command ---- */

int cli_cmd_origin(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct view view = {.session = session, .shows_saving = cli_args_has(args, "no-bypass")};
    struct wetdbg_criterion *criterion;
    struct wetdbg_origin *origin;
    (void)format;
    int err = cli_args_number(args, "limit", LIMIT_DEFAULT, &view.limit);
    if (!err)
        err = cli_origin_criterion(session, args->operands[0], &criterion);
    if (err)
        return err;
    err = cli_origin_run(session, criterion, view.shows_saving, &origin);
    if (!err) {
        view.origin = origin;
        if (repl->out->json)
            print_json(&view, wetdbg_criterion_get_info(criterion));
        else
            print_text(&view, wetdbg_criterion_get_info(criterion));
        wetdbg_origin_free(origin);
    }
    wetdbg_criterion_free(criterion);
    return err;
}
