/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_initials.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>
#include <wetdbg/origin.h>

#define ROWS_SHOWN 10

struct row {
    struct wetdbg_symbol symbol;
    uint64_t address; /* of the first byte used */
    uint64_t end;
    uint32_t distance;
    wetdbg_time user;
};

#define UNNAMED_MAX 65536 /* bytes of a range that are passed over to find a name */

static bool is_programs(const struct cli_session *session, wetdbg_module_id id)
{
    struct wetdbg_module module;
    return wetdbg_module_get(session->model, id, &module) == 0 &&
           strcmp(module.name, cli_base_name(session->info->program)) == 0;
}

static int by_distance(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

struct rows {
    struct row *items;
    size_t count;
};

/* Adds bytes of one symbol: pieces come by address, so those of a symbol are neighbours. */
static void add_row(struct rows *rows, const struct row *row)
{
    struct row *last = rows->count ? &rows->items[rows->count - 1] : NULL;
    if (!last || last->symbol.start != row->symbol.start) {
        rows->items = cli_realloc(rows->items, rows->count + 1, sizeof(*rows->items));
        rows->items[rows->count++] = *row;
        return;
    }
    last->end = row->end;
    if (row->distance < last->distance) {
        last->distance = row->distance;
        last->user = row->user;
    }
}

/* Adds what has a name of a range of bytes, which may hold several things side by side. */
static void add_range(struct cli_session *session, const struct wetdbg_slice_initial *range,
                      struct rows *rows)
{
    uint64_t end = range->address + range->size_bytes, unnamed = 0;
    for (uint64_t at = range->address, next; at < end && unnamed < UNNAMED_MAX; at = next) {
        struct row row = {.address = at, .distance = range->distance, .user = range->user};
        next = at + 1;
        unnamed++;
        if (wetdbg_symbol_at(session->model, at, &row.symbol) != 0)
            continue;
        unnamed = 0;
        if (row.symbol.start + row.symbol.size_bytes > next)
            next = row.symbol.start + row.symbol.size_bytes;
        row.end = next < end ? next : end;
        if (is_programs(session, row.symbol.module))
            add_row(rows, &row);
    }
}

/* Makes one row per symbol. */
static struct row *make_rows(struct cli_session *session, const struct wetdbg_slice *slice,
                             size_t *row_count)
{
    size_t count;
    const struct wetdbg_slice_initial *list = wetdbg_slice_initials(slice, &count);
    struct rows rows = {.count = 0};
    for (size_t i = 0; i < count; i++)
        if (list[i].location == WETDBG_LOCATION_NONE)
            add_range(session, &list[i], &rows);
    if (rows.count)
        qsort(rows.items, rows.count, sizeof(*rows.items), by_distance);
    *row_count = rows.count;
    return rows.items;
}

/* ---- what has no name: the program's start ---- */

struct start {
    bool has_rsp;
    uint64_t rsp;         /* where the first instruction found it */
    uint64_t stack_bytes; /* of arguments and environment that the slice uses */
    struct wetdbg_spot registers[WETDBG_LOCATION_NONE]; /* each once */
    size_t register_count;
};

#define STACK_START_MAX (UINT64_C(16) << 20) /* arguments and environment have less */

/* Finds rsp at the start: the first registers that are loaded are those of the first instruction. 1
 * ends the enumeration. */
static int find_rsp(void *context, const struct wetdbg_event *event)
{
    struct start *start = context;
    if (!event->registers)
        return event->time != 0;
    start->rsp = event->registers->rsp;
    start->has_rsp = true;
    return 1;
}

static struct wetdbg_spot spot_of(const struct wetdbg_slice_initial *initial)
{
    struct wetdbg_spot spot = {.kind = WETDBG_SPOT_LOCATION, .task = initial->task};
    unsigned number;
    enum wetdbg_location_kind kind = wetdbg_location_kind(initial->location, &number);
    spot.number = initial->location;
    if (kind == WETDBG_LOCATION_GENERAL || kind == WETDBG_LOCATION_VECTOR) {
        spot.kind = kind == WETDBG_LOCATION_GENERAL ? WETDBG_SPOT_GPR : WETDBG_SPOT_VECTOR;
        spot.number = (uint16_t)number;
    }
    return spot;
}

static void add_register(struct start *start, struct wetdbg_spot spot)
{
    for (size_t i = 0; i < start->register_count; i++)
        if (start->registers[i].kind == spot.kind && start->registers[i].number == spot.number)
            return;
    start->registers[start->register_count++] = spot;
}

static void find_start(struct cli_session *session, const struct wetdbg_slice *slice,
                       struct start *start)
{
    size_t count;
    const struct wetdbg_slice_initial *list = wetdbg_slice_initials(slice, &count);
    *start = (struct start){0};
    if (count)
        wetdbg_each_event(session->wet, find_rsp, start);
    for (size_t i = 0; i < count; i++) {
        uint64_t off = list[i].address - start->rsp;
        if (list[i].location != WETDBG_LOCATION_NONE)
            add_register(start, spot_of(&list[i]));
        else if (start->has_rsp && off < STACK_START_MAX)
            start->stack_bytes += list[i].size_bytes;
    }
}

static void print_start(struct cli_session *session, const struct wetdbg_slice *slice)
{
    struct cli_out *out = session->out;
    struct start start;
    find_start(session, slice, &start);
    if (start.stack_bytes)
        fprintf(out->stream,
                "given by the kernel at the start: %" PRIu64
                " bytes of arguments, environment and auxiliary vector\n",
                start.stack_bytes);
    for (size_t i = 0; i < start.register_count; i++) {
        char name[32];
        wetdbg_spot_name(&start.registers[i], name, sizeof(name));
        fprintf(out->stream, "%s%s%s", i ? ", " : "never set by the program: ", name,
                i + 1 == start.register_count ? "\n" : "");
    }
}

void cli_slice_initials_print(struct cli_session *session, const struct wetdbg_slice *slice,
                              bool all)
{
    struct cli_out *out = session->out;
    size_t count;
    struct row *rows = make_rows(session, slice, &count);
    size_t shown = all || count < ROWS_SHOWN ? count : ROWS_SHOWN;
    bool is_later = session->info->first_time > 1;
    size_t pieces;
    wetdbg_slice_initials(slice, &pieces);
    if (is_later && pieces)
        fprintf(out->stream,
                "what comes from before the window (time %" PRIu64 ") is not followed\n",
                session->info->first_time);
    if (count)
        fputs(is_later ? "data that the window never wrote:\n" : "data that the run never wrote:\n",
              out->stream);
    for (size_t i = 0; i < shown && !cli_out_is_gone(out); i++) {
        uint64_t offset = rows[i].address - rows[i].symbol.start;
        fputs("  ", out->stream);
        cli_out_text(out, rows[i].symbol.name);
        fprintf(out->stream, "  bytes %" PRIu64 " to %" PRIu64, offset,
                offset + (rows[i].end - rows[i].address) - 1);
        if (rows[i].user)
            fprintf(out->stream, ", last used at time %" PRIu64, rows[i].user);
        putc('\n', out->stream);
    }
    if (shown < count)
        fprintf(out->stream, "  (%zu more; --all shows them)\n", count - shown);
    free(rows);
    print_start(session, slice);
}

json_t *cli_slice_start_json(struct cli_session *session, const struct wetdbg_slice *slice)
{
    json_t *object = json_object(), *names = json_array();
    struct start start;
    find_start(session, slice, &start);
    for (size_t i = 0; i < start.register_count; i++) {
        char name[32];
        wetdbg_spot_name(&start.registers[i], name, sizeof(name));
        cli_json_append(names, cli_json_text(name));
    }
    cli_json_set(object, "stack_bytes", cli_json_count(start.stack_bytes));
    cli_json_set(object, "registers", names);
    return object;
}

json_t *cli_slice_initials_json(struct cli_session *session, const struct wetdbg_slice *slice)
{
    json_t *array = json_array();
    size_t count;
    struct row *rows = make_rows(session, slice, &count);
    for (size_t i = 0; i < count; i++) {
        json_t *object = json_object();
        cli_json_set(object, "name", cli_json_text(rows[i].symbol.name));
        cli_json_set(object, "address", cli_json_address(rows[i].address));
        cli_json_set(object, "offset", cli_json_count(rows[i].address - rows[i].symbol.start));
        cli_json_set(object, "size", cli_json_count(rows[i].end - rows[i].address));
        cli_json_set(object, "distance",
                     rows[i].distance == WETDBG_DISTANCE_UNKNOWN ? json_null()
                                                                 : json_integer(rows[i].distance));
        cli_json_set(object, "user", rows[i].user ? cli_json_count(rows[i].user) : json_null());
        cli_json_append(array, object);
    }
    free(rows);
    return array;
}
