/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `history`: every write to some bytes, with what was there before and after. Which intervals can
 * hold one is in the file (wetdbg_interval_may_write); their arrays have the times; the values are
 * read where a state passes by.
 *
 * What lies in a stack frame is followed while the frame lives: from the call that pushed its
 * return address to the return that popped it. Before and after, the same bytes are somebody
 * else's.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/meter.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/nav/walker.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/errors.h>
#include <wetdbg/writes.h>

#define LIMIT_DEFAULT   100
#define CHUNK           32 /* rows between two printings */
#define ADDRESS_DEFAULT 8
#define VALUE_COLUMNS   60 /* longer values are shown from a little before the first difference */
#define CONTEXT_COLUMNS 20

static const struct cli_option options[] = {
    {"limit", 0, "N", "show at most N (100); 0: all"},
    {"reverse", 0, NULL, "oldest first"},
    {"before", 0, NULL, "only writes before the current time"},
    {"after", 0, NULL, "only writes from the current time on"},
    {"changes", 0, NULL, "leave out writes of what was there already"},
    {0},
};

const struct cli_syntax cli_cmd_history_syntax = {
    .example = "history table[3].width --changes",
    .usage = "VARIABLE|*ADDRESS[+LEN] [--limit N] [--reverse] [--before|--after] [--changes]",
    .options = options,
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .details =
        "Every write to a variable (or any expression of print that has an address), the latest\n"
        "first: time, line, function, and the values before and after. What the kernel wrote is\n"
        "shown by the system call. A variable of a function is followed through the call that\n"
        "the selected frame shows, no further. *ADDRESS is 8 bytes, or LEN, in the whole run.\n"
        "Memory only: 'origin $REGISTER' and 'search --registers VALUE' are for registers.",
};

struct history {
    struct cli_session *session;
    struct cli_out *out;
    struct cli_meter meter;
    struct wetdbg_write_finder *finder;
    struct cli_value value;    /* of what: type and address */
    struct wetdbg_range range; /* its bytes */
    wetdbg_time from, to;      /* writes in these times are its own */
    bool is_oldest_first, has_changes_only;
    uint64_t limit, shown;
    uint64_t unchanged; /* writes of what was there already that are left out */
    bool has_more;
    json_t *array; /* NULL: text */
    struct cli_walker walker;
};

#define STOP 1 /* enough has been shown */

/* ---- what to follow ---- */

/* Parses 0x7ffe0 or *0x7ffe0+16: bytes without a type. */
static int parse_address(struct history *history, const char *text)
{
    const char *plus = strchr(text, '+');
    char *digits = cli_strndup(text, plus ? (size_t)(plus - text) : strlen(text));
    uint64_t address, size = ADDRESS_DEFAULT;
    bool is_good = cli_number_parse(digits, &address) &&
                   (!plus || cli_number_parse(plus + 1, &size)) && size && size <= 4096 &&
                   address <= UINT64_MAX - size;
    free(digits);
    if (!is_good)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'*%s' is no *ADDRESS or *ADDRESS+LEN (at most 4096 bytes)", text);
    history->value = (struct cli_value){
        .type = {.kind = WETDBG_TYPE_UNSIGNED, .size_bytes = size, .name = "bytes"},
        .is_in_memory = true,
        .address = address,
    };
    history->range = (struct wetdbg_range){address, address + size};
    return 0;
}

static bool is_plain_address(const char *text)
{
    return text[0] == '*' && text[1] >= '0' && text[1] <= '9';
}

static int resolve(struct history *history, const char *text)
{
    struct cli_session *session = history->session;
    struct cli_moment *moment;
    if (is_plain_address(text))
        return parse_address(history, text + 1);
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct cli_frame_view view = {moment, session->frame};
    struct cli_value target;
    err = cli_value_evaluate(&view, text, &history->value);
    if (!err && history->value.type.is_reference) {
        err = cli_value_target(moment, &history->value, &target);
        history->value = target;
    }
    if (err)
        return err;
    const struct cli_value *value = &history->value;
    uint64_t size = value->type.size_bytes;
    if (!value->is_in_memory)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "'%s' is not in memory here but in a register, or was computed; history "
                           "follows memory only (try 'origin %s', or 'search --registers')",
                           text, text);
    if (!size || value->address > UINT64_MAX - size)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the size of '%s' is not known", text);
    history->range = (struct wetdbg_range){value->address, value->address + size};
    if (value->bit_size) {
        history->range.start += value->bit_offset / 8;
        history->range.end = value->address + (value->bit_offset + value->bit_size + 7) / 8;
    }
    return 0;
}

/* ---- how long it is there ---- */

/* Whether a write to a return address's slot makes a frame there, or takes it away: not so xsave of
 * the dynamic linker, which may reach that far and does not, and what a recording has around a
 * signal's. */
/* A list that grows as needed; all zero to begin with; `items` is to be freed. */
struct write_list {
    struct wetdbg_write *items;
    size_t count, capacity;
};

static int add_write(void *arg, const struct wetdbg_write *write)
{
    struct write_list *list = arg;
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 64;
        list->items = cli_realloc(list->items, list->capacity, sizeof(*list->items));
    }
    list->items[list->count++] = *write;
    return 0;
}

/* Adds the writes of interval k that touch `range`, by time; see wetdbg_writes_each(). */
static int find_writes(struct history *history, uint64_t k, const struct wetdbg_range *range,
                       wetdbg_time from, wetdbg_time to, bool with_returns, struct write_list *list)
{
    return wetdbg_writes_each(history->finder, k, range, from, to, with_returns, add_write, list);
}

static bool is_certain(const struct wetdbg_write *write)
{
    return write->is_return || write->is_handler || (write->pc && !write->is_maybe);
}

/* The last certain write to `slot` before the current time: the call. */
static int find_beginning(struct history *history, const struct wetdbg_range *slot)
{
    struct cli_session *session = history->session;
    struct write_list list = {0};
    uint64_t last = wetdbg_interval_at(session->wet, session->time);
    int err = 0;
    for (uint64_t k = last + 1; k-- > 0 && !err;) {
        if (cli_meter_update(&history->meter, last - k, last + 1))
            err = -WETDBG_ERR_INTERRUPTED;
        if (!err && wetdbg_interval_may_write(session->wet, k, slot->start, 8))
            err = find_writes(history, k, slot, 1, session->time - 1, false, &list);
        while (list.count && !is_certain(&list.items[list.count - 1]))
            list.count--;
        if (!err && list.count) {
            history->from = list.items[list.count - 1].time;
            break;
        }
    }
    free(list.items);
    return err;
}

/*
 * The first return after now that pops `slot`, or a write to it: the frame is gone then. An
 * interval in which neither the frame's lines were written nor its function returned is passed
 * over; that a tail call left the frame there shows later, at the next call's write.
 */
static int find_end(struct history *history, const struct wetdbg_range *slot, size_t frame)
{
    struct cli_session *session = history->session;
    struct wetdbg_function function = {.start = 0};
    struct write_list list = {0};
    uint64_t first = wetdbg_interval_at(session->wet, session->time);
    uint64_t count = session->info->intervals;
    bool has_end = false;
    int err = 0;
    wetdbg_function_at(session->model, session->moment->frames[frame].lookup_pc, &function);
    for (uint64_t k = first; k < count && !err && !has_end; k++) {
        if (cli_meter_update(&history->meter, k - first, count - first))
            err = -WETDBG_ERR_INTERRUPTED;
        if (!err && (wetdbg_interval_may_write(session->wet, k, slot->start, 8) ||
                     wetdbg_interval_may_write(session->wet, k, history->range.start,
                                               history->range.end - history->range.start) ||
                     wetdbg_may_return_in(session->wet, function.start, function.end, k)))
            err =
                find_writes(history, k, slot, session->time, session->info->last_time, true, &list);
        for (size_t i = 0; i < list.count && !err && !has_end; i++)
            if ((has_end = is_certain(&list.items[i])))
                history->to = list.items[i].time;
        list.count = 0;
    }
    free(list.items);
    return err;
}

static int find_life(struct history *history, const struct cli_args *args)
{
    struct cli_session *session = history->session;
    uint64_t return_slot;
    size_t frame;
    bool has_before = cli_args_has(args, "before"), has_after = cli_args_has(args, "after");
    int err = 0;
    if (has_before && has_after)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "history: --before and --after exclude each other");
    history->from = session->info->first_time;
    history->to = session->info->last_time;
    if (!is_plain_address(args->operands[0]) &&
        cli_frame_holding(session->moment, history->range.start, &return_slot, &frame)) {
        struct wetdbg_range slot = {return_slot, return_slot + 8};
        if (!has_after)
            err = find_beginning(history, &slot);
        if (!err && !has_before)
            err = find_end(history, &slot, frame);
    }
    if (has_before)
        history->to = session->time - 1;
    if (has_after)
        history->from = session->time;
    return err;
}

/* ---- one write ---- */

struct row {
    struct wetdbg_write write;
    char *before, *after; /* texts of the values */
    struct cli_place place;
    const char *inner; /* the function that wrote, if the place is that of its caller; or NULL */
    char *syscall;     /* name, or NULL */
};

static void row_fini(struct row *row)
{
    free(row->before);
    free(row->after);
    free(row->syscall);
}

/* Bytes as numbers if they have the size of one, else one by one. */
static char *bytes_text(struct history *history)
{
    uint8_t bytes[4096];
    size_t size = history->range.end - history->range.start, used = 0;
    uint64_t number = 0;
    if (wetdbg_state_read(history->walker.state, history->range.start, bytes, size) != 0)
        return cli_strdup("<not mapped>");
    if (size == 1 || size == 2 || size == 4 || size == 8) {
        memcpy(&number, bytes, size);
        return cli_asprintf("0x%" PRIx64, number);
    }
    char *text = cli_malloc(3 * size + 1);
    for (size_t i = 0; i < size; i++)
        used += (size_t)snprintf(text + used, 4, "%s%02x", i ? " " : "", bytes[i]);
    return text;
}

static char *value_text(struct history *history, struct cli_moment *moment)
{
    uint8_t byte;
    if (!history->value.type.handle && history->value.type.kind == WETDBG_TYPE_UNSIGNED)
        return bytes_text(history);
    if (wetdbg_state_read(history->walker.state, history->range.start, &byte, 1) != 0)
        return cli_strdup("<not mapped>");
    return cli_value_text(moment, &history->value, "", false);
}

/* 1 if the row is to be left out. */
static int fill_row(struct history *history, const struct wetdbg_write *write, struct row *row)
{
    struct cli_session *session = history->session;
    *row = (struct row){.write = *write};
    int err = cli_walker_go(&history->walker, write->time);
    if (err)
        return err;
    struct cli_moment *moment =
        cli_moment_of_state(session->wet, write->time, history->walker.state);
    row->before = value_text(history, moment);
    cli_telling_place(session, moment, &row->place, &row->inner);
    if (!write->pc)
        row->inner = NULL;
    cli_moment_close(moment);
    if (write->syscall >= 0)
        row->syscall = cli_strdup(cli_syscall_name(write->syscall));
    err = cli_walker_go(&history->walker, write->time + 1);
    if (err)
        return err;
    struct cli_moment later = {
        .wet = session->wet,
        .model = session->model,
        .time = write->time + 1,
        .state = history->walker.state,
        .frames = &(struct cli_frame){.lookup_pc = 0},
        .frame_count = 1,
    };
    row->after = value_text(history, &later);
    bool is_same = strcmp(row->before, row->after) == 0;
    history->unchanged += is_same && !write->is_maybe && history->has_changes_only;
    return is_same && (write->is_maybe || history->has_changes_only);
}

static json_t *json_of_row(struct history *history, const struct row *row)
{
    json_t *object = json_object();
    cli_json_set(object, "time", cli_json_count(row->write.time));
    cli_json_set(object, "before", cli_json_text(row->before));
    cli_json_set(object, "after", cli_json_text(row->after));
    cli_json_set(object, "by", cli_json_text(row->write.pc ? "program" : "kernel"));
    cli_json_set(object, "syscall", cli_json_text(row->syscall));
    cli_place_to_json(object, &row->place);
    cli_json_set(object, "inner_function", cli_json_text(row->inner));
    cli_thread_to_json_at(object, history->session, row->write.time);
    return object;
}

/* How many bytes of two long values' texts are left out, since they begin alike: "...cents = 4,
 * entries = 2}". */
static size_t common_start(const char *before, const char *after)
{
    size_t same = 0;
    if (strlen(before) <= VALUE_COLUMNS && strlen(after) <= VALUE_COLUMNS)
        return 0;
    while (before[same] && before[same] == after[same])
        same++;
    if (same <= CONTEXT_COLUMNS)
        return 0;
    for (same -= CONTEXT_COLUMNS; same && (before[same] & 0xc0) == 0x80;)
        same--; /* not inside of a character */
    return same;
}

static void print_value(struct history *history, const char *text, size_t from)
{
    struct cli_out *out = history->out;
    size_t length = strlen(text + from), shown = length;
    if (shown > 2 * VALUE_COLUMNS)
        for (shown = 2 * VALUE_COLUMNS; (text[from + shown] & 0xc0) == 0x80;)
            shown--;
    char *part = cli_strndup(text + from, shown);
    fputs(from ? "..." : "", out->stream);
    cli_out_text(out, part);
    fputs(shown < length ? "..." : "", out->stream);
    free(part);
}

static void print_values(struct history *history, const struct row *row)
{
    size_t same = common_start(row->before, row->after);
    if (strcmp(row->before, row->after) == 0) {
        print_value(history, row->after, 0);
        fputs(" (unchanged)", history->out->stream);
        return;
    }
    print_value(history, row->before, same);
    fputs(" -> ", history->out->stream);
    print_value(history, row->after, same);
}

static void print_row(struct history *history, const struct row *row)
{
    struct cli_out *out = history->out;
    const struct cli_place *place = &row->place;
    if (history->array) {
        cli_json_append(history->array, json_of_row(history, row));
        return;
    }
    fprintf(out->stream, "time %-12" PRIu64 " ", row->write.time);
    cli_place_print(out, place);
    fputs("  ", out->stream);
    cli_out_text(out, place->function ? place->function : "?");
    if (row->inner) {
        fputs(" via ", out->stream);
        cli_out_text(out, row->inner);
    }
    if (!row->write.pc)
        fprintf(out->stream, " by the kernel%s%s", row->syscall ? ": " : "",
                row->syscall ? row->syscall : "");
    cli_thread_print_at(history->session, row->write.time);
    fputs("  ", out->stream);
    print_values(history, row);
    if (place->text) {
        fputs("  | ", out->stream);
        cli_out_text(out, place->text);
    }
    putc('\n', out->stream);
}

/* ---- all of them ---- */

/* Shows up to CHUNK writes, in the order asked for once their values are known. */
static int show_chunk(struct history *history, const struct wetdbg_write *writes, size_t count)
{
    struct row rows[CHUNK];
    size_t filled = 0;
    int result = 0;
    for (size_t i = 0; i < count && result >= 0; i++) {
        rows[filled] = (struct row){0};
        if (cli_meter_update(&history->meter, history->shown + filled, history->limit))
            result = -WETDBG_ERR_INTERRUPTED;
        else
            result = fill_row(history, &writes[i], &rows[filled]);
        if (result == -WETDBG_ERR_INTERRUPTED && i > 0 && history->is_oldest_first)
            break;
        if (result)
            row_fini(&rows[filled]);
        else
            filled++;
    }
    for (size_t i = 0; i < filled; i++) {
        struct row *row = &rows[history->is_oldest_first ? i : filled - 1 - i];
        if (history->limit && history->shown == history->limit)
            history->has_more = true;
        else if (result >= 0 || history->is_oldest_first)
            print_row(history, row);
        history->shown += !history->has_more;
        row_fini(row);
    }
    return result < 0 ? result : history->has_more ? STOP : 0;
}

static int show_interval(struct history *history, uint64_t k, struct write_list *list)
{
    list->count = 0;
    int err = find_writes(history, k, &history->range, history->from, history->to, false, list);
    size_t done = 0;
    while (!err && done < list->count) {
        size_t count = list->count - done < CHUNK ? list->count - done : CHUNK;
        size_t first = history->is_oldest_first ? done : list->count - done - count;
        err = show_chunk(history, &list->items[first], count);
        done += count;
    }
    return err;
}

static int show_all(struct history *history)
{
    struct cli_session *session = history->session;
    struct write_list list = {0};
    uint64_t first = wetdbg_interval_at(session->wet, history->from);
    uint64_t last = wetdbg_interval_at(session->wet, history->to), count = last - first + 1;
    int result = history->from > history->to ? STOP : 0;
    for (uint64_t i = 0; i < count && !result; i++) {
        uint64_t k = history->is_oldest_first ? first + i : last - i;
        if (cli_meter_update(&history->meter, i, count))
            result = -WETDBG_ERR_INTERRUPTED;
        else if (wetdbg_interval_may_write(session->wet, k, history->range.start,
                                           history->range.end - history->range.start))
            result = show_interval(history, k, &list);
    }
    free(list.items);
    return result < 0 ? result : 0;
}

static void print_end(struct history *history, const char *what, bool is_complete)
{
    struct cli_out *out = history->out;
    if (history->array) {
        json_t *object = cli_json_object("wetdbg.history/1");
        cli_json_set(object, "what", cli_json_text(what));
        cli_json_set(object, "type", cli_json_text(history->value.type.name));
        cli_json_set(object, "address", cli_json_address(history->range.start));
        cli_json_set(object, "bytes", cli_json_count(history->range.end - history->range.start));
        cli_json_set(object, "from", cli_json_count(history->from));
        cli_json_set(object, "to", cli_json_count(history->to));
        cli_json_set(object, "complete", json_boolean(is_complete && !history->has_more));
        cli_json_set(object, "writes", json_incref(history->array));
        cli_uncertain_to_json(object, history->session, history->to);
        cli_out_json(out, object);
        return;
    }
    if (is_complete && history->has_more)
        fputs("(more; --limit 0 shows all)\n", out->stream);
    else if (is_complete && !history->shown && history->unchanged)
        fprintf(out->stream,
                "nothing changed it from time %" PRIu64 " to %" PRIu64 ": %" PRIu64
                " write%s of what was there already\n",
                history->from, history->to, history->unchanged, history->unchanged == 1 ? "" : "s");
    else if (is_complete && !history->shown)
        fprintf(out->stream, "nothing wrote to it from time %" PRIu64 " to %" PRIu64 "\n",
                history->from, history->to);
    if (is_complete)
        cli_uncertain_print(history->session, history->to);
}

static char *joined(const struct cli_args *args)
{
    char *text = cli_strdup(args->operands[0]);
    for (size_t i = 1; i < args->operand_count; i++) {
        char *longer = cli_asprintf("%s %s", text, args->operands[i]);
        free(text);
        text = longer;
    }
    return text;
}

int cli_cmd_history(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct history history = {
        .session = session,
        .walker = {.session = session},
        .out = repl->out,
        .is_oldest_first = cli_args_has(args, "reverse"),
        .has_changes_only = cli_args_has(args, "changes"),
    };
    (void)format;
    int result = cli_args_number(args, "limit", LIMIT_DEFAULT, &history.limit);
    if (result)
        return result;
    char *what = joined(args);
    history.array = repl->out->json ? json_array() : NULL;
    cli_meter_begin(&history.meter, repl->out, "looking for writes");
    result = wetdbg_write_finder_open(session->wet, &history.finder);
    if (!result)
        result = resolve(&history, what);
    if (!result)
        result = find_life(&history, args);
    if (!result)
        result = show_all(&history);
    cli_meter_end(&history.meter);
    if (!result || (result == -WETDBG_ERR_INTERRUPTED && history.array))
        print_end(&history, what, !result);
    if (result == -WETDBG_ERR_INTERRUPTED)
        result = history.array ? 0 : wetdbg_fail(result, "interrupted; there may be more");
    cli_walker_fini(&history.walker);
    wetdbg_write_finder_close(history.finder);
    json_decref(history.array);
    free(what);
    return result;
}
