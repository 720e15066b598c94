/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/file_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

#define TRACE_MAX (UINT64_C(1) << 20) /* bytes of a file that are traced at once */

struct trace {
    uint64_t offset, size;
    uint32_t *writers; /* of each byte: transfer + 1 */
    bool *is_chosen;   /* by file */
    uint64_t written;  /* bytes that the run wrote to the file: up to here */
    bool has_unknown;
};

static int choose_files(struct slc_files *files, const char *path, struct trace *trace)
{
    const char *found = NULL;

    for (uint32_t i = 0; i < slc_files_count(files); i++) {
        bool is_written = slc_files_get(files, i)->is_written;
        const char *name = is_written ? slc_files_plain(files, i) : NULL;
        if (!name || !slc_path_is(name, path))
            continue;
        if (found && strcmp(found, name) != 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' may be '%s' or '%s': say more of the path",
                               path, found, name);
        found = name;
        trace->is_chosen[i] = true;
    }
    if (!found)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote to no file '%s'", path);
    /* Opening it for something else may have emptied it. */
    for (uint32_t i = 0; i < slc_files_count(files); i++) {
        const char *name = slc_files_knows_end(files, i) ? slc_files_plain(files, i) : NULL;
        trace->is_chosen[i] |= name && strcmp(name, found) == 0;
    }
    return 0;
}

static void replay_transfer(const struct slc_transfer *transfer, uint32_t number,
                            struct trace *trace)
{
    if (transfer->kind == SLC_TRANSFER_TRUNCATE) {
        for (uint64_t i = 0; i < trace->size; i++)
            if (trace->offset + i >= transfer->offset)
                trace->writers[i] = 0;
        if (trace->written > transfer->offset)
            trace->written = transfer->offset;
    }
    if (transfer->kind == SLC_TRANSFER_HOLE)
        for (uint64_t i = 0; i < trace->size; i++)
            if (trace->offset + i >= transfer->offset &&
                trace->offset + i - transfer->offset < transfer->size)
                trace->writers[i] = 0;
    if (transfer->kind != SLC_TRANSFER_WRITE && transfer->kind != SLC_TRANSFER_PASS)
        return;
    trace->has_unknown |= transfer->offset == SLC_OFFSET_UNKNOWN;
    if (transfer->offset == SLC_OFFSET_UNKNOWN)
        return;
    uint64_t end = transfer->offset + transfer->size;
    if (end > trace->written)
        trace->written = end;
    for (uint64_t i = 0; i < trace->size; i++)
        if (trace->offset + i >= transfer->offset && trace->offset + i < end)
            trace->writers[i] = number;
}

static int list_pieces(const struct slc_files *files, const char *path, const struct trace *trace,
                       struct slc_file_piece **out, size_t *count)
{
    struct slc_file_piece *pieces = malloc((size_t)trace->size * sizeof(*pieces));
    size_t transfers;
    const struct slc_transfer *list = slc_files_transfers(files, &transfers);

    *count = 0;
    for (uint64_t i = 0; pieces && i < trace->size; i++) {
        const struct slc_transfer *transfer =
            trace->writers[i] ? &list[trace->writers[i] - 1] : NULL;
        if (!transfer) {
            free(pieces);
            if (trace->has_unknown)
                return wetdbg_fail(
                    -WETDBG_ERR_NOT_FOUND,
                    "byte %llu of %s: where in it the program wrote is not known (it "
                    "appended to a file of unknown length)",
                    (unsigned long long)(trace->offset + i), path);
            return wetdbg_fail(
                -WETDBG_ERR_NOT_FOUND,
                "the program did not write byte %llu of %s; what it wrote ends before "
                "byte %llu",
                (unsigned long long)(trace->offset + i), path, (unsigned long long)trace->written);
        }
        if (i && trace->writers[i] == trace->writers[i - 1])
            pieces[*count - 1].size++;
        else
            pieces[(*count)++] = (struct slc_file_piece){trace->writers[i] - 1,
                                                         trace->offset + i - transfer->offset, 1};
    }
    *out = pieces;
    return pieces ? 0 : -ENOMEM;
}

/* Has a trace pass all that happened to its files. */
static void replay_chosen(const struct slc_files *files, struct trace *trace)
{
    size_t count;
    const struct slc_transfer *list = slc_files_transfers(files, &count);

    for (uint32_t t = 0; t < count; t++)
        if (list[t].file != SLC_NO_FILE && trace->is_chosen[list[t].file])
            replay_transfer(&list[t], t + 1, trace);
}

int slc_files_size(struct slc_files *files, const char *path, uint64_t *size)
{
    struct trace trace = {.size = 0};

    trace.is_chosen = calloc(slc_files_count(files) + 1, sizeof(*trace.is_chosen));
    int err = trace.is_chosen ? choose_files(files, path, &trace) : -ENOMEM;
    if (!err)
        replay_chosen(files, &trace);
    free(trace.is_chosen);
    *size = trace.written;
    return err;
}

int slc_files_trace(struct slc_files *files, const char *path, uint64_t offset, uint64_t size,
                    struct slc_file_piece **pieces, size_t *count)
{
    struct trace trace = {.offset = offset, .size = size};

    if (size == 0 || size > TRACE_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%llu bytes of a file cannot be traced: 1 to %llu can",
                           (unsigned long long)size, (unsigned long long)TRACE_MAX);
    trace.writers = calloc(size, sizeof(*trace.writers));
    trace.is_chosen = calloc(slc_files_count(files) + 1, sizeof(*trace.is_chosen));
    int err = trace.writers && trace.is_chosen ? choose_files(files, path, &trace) : -ENOMEM;
    if (!err)
        replay_chosen(files, &trace);
    if (!err)
        err = list_pieces(files, path, &trace, pieces, count);
    free(trace.writers);
    free(trace.is_chosen);
    return err;
}
