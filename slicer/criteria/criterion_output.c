/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Criteria outside the program's code: bytes that it wrote, the status that it ended with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slicer/channels/channels.h"
#include "slicer/criteria/birth.h"
#include "slicer/file_trace.h"
#include <wetdbg/errors.h>

/* ---- exit ---- */

struct exit_call {
    wetdbg_time time;
    uint32_t task;
};

static int note_exit(void *arg, const struct wet_event *event)
{
    struct exit_call *call = arg;

    if (event->entry->kind == EVQ_SYSCALL_ENTER &&
        (event->entry->number == SYS_exit_group || event->entry->number == SYS_exit))
        *call = (struct exit_call){event->time, event->task};
    return 0;
}

int slc_parse_exit(struct wetdbg_criterion *criterion)
{
    const struct wetdbg_info *info = wetdbg_get_info(criterion->wet);
    struct exit_call call = {0};
    uint64_t pc;

    if (info->signal)
        return wetdbg_fail(
            -WETDBG_ERR_NOT_FOUND,
            "the program did not exit, signal %d (%s) ended it; try the criterion crash",
            info->signal, strsignal(info->signal));
    int err = wet_each_entry(criterion->wet, note_exit, &call);
    if (err)
        return err;
    if (call.time == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the recording holds no exit; try output:OFFSET or FILE:LINE");
    err = slc_state_at(criterion->wet, call.time, &pc, &call.task);
    struct slc_seed *seed = err ? NULL : slc_criterion_add(criterion, call.time, pc);
    if (!seed)
        return err ? err : -ENOMEM;
    seed->task = call.task;
    ins_regset_add_gpr(&seed->regs[WETDBG_EDGE_VALUE], INS_RDI, 0, 4);
    seed->register_bytes = 4;
    if (info->wait_status >= 0)
        snprintf(criterion->description, sizeof(criterion->description), "exit status %d",
                 WEXITSTATUS(info->wait_status));
    else
        snprintf(criterion->description, sizeof(criterion->description), "exit status");
    return 0;
}

/* ---- output ---- */

struct output_range {
    int fd;
    uint64_t offset, size;
};

/* [:FD]:OFFSET[+LEN] */
static bool parse_range(const char *text, struct output_range *range)
{
    struct slc_piece piece;
    uint64_t fd = 1;
    const char *at = text + 1;

    if (*text != ':')
        return false;
    if (slc_parse_number(&at, &fd) && *at == ':')
        text = at;
    else
        fd = 1;
    if (fd > INT32_MAX || !slc_parse_piece(text + 1, &piece))
        return false;
    *range = (struct output_range){(int)fd, piece.offset, piece.size};
    return true;
}

/* Whether a call put out something by a descriptor; by any, if that is negative. */
static bool is_output(const struct slc_transfer *transfer, int fd)
{
    return slc_transfer_is_output(transfer) && (fd < 0 || transfer->fd == fd);
}

static int no_output(const struct slc_channels *channels, const struct output_range *range,
                     uint64_t written)
{
    const struct slc_transfer *transfer;

    if (written)
        return wetdbg_fail(
            -WETDBG_ERR_NOT_FOUND,
            "output byte %llu does not exist: %llu bytes were written to descriptor %d "
            "(offsets 0..%llu)",
            (unsigned long long)(range->offset + range->size - 1), (unsigned long long)written,
            range->fd, (unsigned long long)(written - 1));
    for (uint32_t i = 0; (transfer = slc_channels_call(channels, i)); i++)
        if (is_output(transfer, -1))
            return wetdbg_fail(
                -WETDBG_ERR_NOT_FOUND,
                "nothing was written to descriptor %d; there is output to descriptor %d", range->fd,
                transfer->fd);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote no output");
}

/* Adds what the address was made from at which the call found its bytes: of the buffer, or in the
 * list of buffers. */
static int add_buffer_address(struct wetdbg_criterion *criterion, struct slc_seed *seed,
                              const struct slc_transfer *transfer,
                              const struct slc_buffers *buffers)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(criterion->wet, seed->time, &state);

    if (err)
        return err;
    seed->pc = wet_state_regs(state)->r[EVQ_RIP];
    seed->task = wetdbg_state_task(state);
    wetdbg_state_close(state);
    if (transfer->kind == SLC_TRANSFER_PASS)
        return 0;
    ins_regset_add_gpr(&seed->regs[WETDBG_EDGE_ADDRESS], INS_RSI, 0, 8);
    if (buffers->list.size)
        err = slc_seed_add_place(seed, buffers->list.address, buffers->list.size,
                                 WETDBG_EDGE_ADDRESS);
    return err;
}

/* The seed of a call; two lists of messages that one call sent share it. */
static struct slc_seed *seed_of(struct wetdbg_criterion *criterion,
                                const struct slc_transfer *transfer,
                                const struct slc_buffers *buffers, int *err)
{
    for (size_t i = 0; i < criterion->seed_count; i++)
        if (criterion->seeds[i].time == transfer->time)
            return &criterion->seeds[i];
    struct slc_seed *seed = slc_criterion_add(criterion, transfer->time, 0);
    *err = seed ? add_buffer_address(criterion, seed, transfer, buffers) : -ENOMEM;
    return seed;
}

/* Adds bytes [from, from + size) of what a call sent: those of its buffers, or that it passed
 * on. */
static int add_sent(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                    uint32_t number, uint64_t from, uint64_t size)
{
    const struct slc_transfer *transfer = slc_channels_call(channels, number);
    struct slc_buffers buffers;
    uint64_t left = size;
    int err = slc_channels_buffers(channels, number, &buffers);
    struct slc_seed *seed = err ? NULL : seed_of(criterion, transfer, &buffers, &err);

    if (err)
        return err;
    if (transfer->kind == SLC_TRANSFER_PASS) {
        seed->passed = (struct slc_passed_bytes){number, from, size};
        return 0;
    }
    for (size_t i = 0; i < buffers.count && left && !err; i++) {
        const struct slc_span *span = &buffers.spans[i];
        uint64_t count = span->size > from ? span->size - from : 0;
        if (count > left)
            count = left;
        if (count)
            err = slc_seed_add_place(seed, span->address + from, count, WETDBG_EDGE_VALUE);
        from -= from < span->size ? from : span->size;
        left -= count;
    }
    if (!err && left)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "where the call at time %llu found what it wrote is not known",
                           (unsigned long long)transfer->time);
    return err;
}

/* :PATH:OFFSET[+LEN]; *path is to be freed. */
static bool parse_file(const char *text, char **path, struct output_range *range)
{
    const char *colon = strrchr(text, ':');

    *path = NULL;
    if (*text != ':' || !colon || colon <= text + 1 || !parse_range(colon, range))
        return false;
    *path = strndup(text + 1, (size_t)(colon - text - 1));
    return true;
}

/* ---- output that is missing ---- */

/* When the last byte of what the criterion's seeds are about was put into its buffer. */
static int birth_of_last(struct wetdbg_criterion *criterion, wetdbg_time *time)
{
    int err = slc_criterion_to_birth(criterion);

    *time = 0;
    for (size_t i = 0; i < criterion->seed_count; i++) {
        if (criterion->seeds[i].time > *time)
            *time = criterion->seeds[i].time;
        free(criterion->seeds[i].places);
    }
    criterion->seed_count = 0;
    criterion->info.written = 0;
    return err;
}

static int end_of_descriptor(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                             int fd)
{
    char what[64];
    struct slc_end end = {.what = what, .of_errors = fd == STDERR_FILENO};
    uint32_t number, last = SLC_NO_CALL;
    int err = 0;

    criterion->info.output_fd = fd;
    snprintf(what, sizeof(what), "descriptor %d", fd);
    for (uint32_t i = 0; (number = slc_channels_ended(channels, i)) != SLC_NO_CALL; i++) {
        const struct slc_transfer *transfer = slc_channels_call(channels, number);
        if (!is_output(transfer, fd))
            continue;
        last = number;
        end.size = slc_channels_put_out(channels, number) + transfer->size;
    }
    if (last != SLC_NO_CALL) {
        err = add_sent(criterion, channels, last, slc_channels_call(channels, last)->size - 1, 1);
        err = err ? err : birth_of_last(criterion, &end.last);
    }
    criterion->info.output_offset = end.size;
    return err ? err : slc_criterion_of_end(criterion, &end);
}

static int set_path(struct wetdbg_criterion *criterion, const char *path)
{
    free(criterion->path);
    criterion->info.output_path = criterion->path = strdup(path);
    return criterion->path ? 0 : -ENOMEM;
}

static int end_of_file(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                       const char *path)
{
    struct slc_end end = {.what = path};
    struct slc_file_piece *pieces = NULL;
    struct slc_files *files = slc_channels_files(channels);
    size_t count = 0;
    int err = slc_files_size(files, path, &end.size);

    if (!err && end.size)
        err = slc_files_trace(files, path, end.size - 1, 1, &pieces, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = add_sent(criterion, channels, pieces[i].call, pieces[i].skipped, pieces[i].size);
    if (!err && count)
        err = birth_of_last(criterion, &end.last);
    free(pieces);
    if (err == -WETDBG_ERR_NOT_FOUND && end.size == 0)
        err = 0; /* never written */
    criterion->info.output_offset = end.size;
    return err ? err : slc_criterion_of_end(criterion, &end);
}

static int parse_file_output(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                             const char *path, const struct output_range *range)
{
    struct slc_files *files = slc_channels_files(channels);
    struct slc_file_piece *pieces = NULL;
    uint64_t written = 0;
    size_t count = 0;
    int err = slc_files_trace(files, path, range->offset, range->size, &pieces, &count);

    if (err == -WETDBG_ERR_NOT_FOUND && !criterion->from.from_write &&
        slc_files_size(files, path, &written) == 0 && written && range->offset >= written)
        return end_of_file(criterion, channels, path);
    criterion->info.output_offset = range->offset;
    criterion->info.output_size = range->size;

    for (size_t i = 0; i < count && !err; i++)
        err = add_sent(criterion, channels, pieces[i].call, pieces[i].skipped, pieces[i].size);
    free(pieces);
    snprintf(criterion->description, sizeof(criterion->description), "%s, byte %llu%s", path,
             (unsigned long long)range->offset, range->size > 1 ? " and following" : "");
    return err;
}

/* :end, :FD:end, :PATH:end */
static int parse_end(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                     const char *rest)
{
    size_t length = strlen(rest) - strlen(":end");
    uint64_t fd = 1;
    const char *text = rest + 1;

    if (length == 0)
        return end_of_descriptor(criterion, channels, 1);
    if (slc_parse_number(&text, &fd) && text == rest + length && fd <= INT32_MAX)
        return end_of_descriptor(criterion, channels, (int)fd);
    char *path = strndup(rest + 1, length - 1);
    int err = path ? set_path(criterion, path) : -ENOMEM;
    if (!err)
        err = end_of_file(criterion, channels, path);
    free(path);
    return err;
}

static bool is_end(const char *rest)
{
    size_t length = strlen(rest);

    return length >= strlen(":end") && strcmp(rest + length - strlen(":end"), ":end") == 0;
}

static int parse_descriptor_output(struct wetdbg_criterion *criterion,
                                   struct slc_channels *channels, const struct output_range *range)
{
    uint64_t written = 0, found = 0;
    uint32_t number;
    int err = 0;

    for (uint32_t i = 0; !err && (number = slc_channels_ended(channels, i)) != SLC_NO_CALL; i++) {
        const struct slc_transfer *transfer = slc_channels_call(channels, number);
        if (!is_output(transfer, range->fd))
            continue;
        uint64_t start = slc_channels_put_out(channels, number);
        uint64_t from = range->offset > start ? range->offset : start;
        written = start + transfer->size;
        uint64_t end =
            range->offset + range->size < written ? range->offset + range->size : written;
        if (from >= end)
            continue;
        found += end - from;
        err = add_sent(criterion, channels, number, from - start, end - from);
    }
    if (err)
        return err;
    if (found < range->size)
        return found || criterion->from.from_write
                   ? no_output(channels, range, written)
                   : end_of_descriptor(criterion, channels, range->fd);
    criterion->info.output_fd = range->fd;
    criterion->info.output_offset = range->offset;
    criterion->info.output_size = range->size;
    snprintf(criterion->description, sizeof(criterion->description),
             "output to descriptor %d, byte %llu%s", range->fd, (unsigned long long)range->offset,
             range->size > 1 ? " and following" : "");
    return 0;
}

static int parse_output(struct wetdbg_criterion *criterion, struct slc_channels *channels,
                        const char *rest)
{
    struct output_range range;
    char *path;

    if (parse_range(rest, &range))
        return parse_descriptor_output(criterion, channels, &range);
    if (!parse_file(rest, &path, &range))
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "'%s' is no place in the output: use output:OFFSET, output:OFFSET+LENGTH, "
            "output:DESCRIPTOR:OFFSET or output:PATH:OFFSET",
            criterion->text);
    int err = path ? set_path(criterion, path) : -ENOMEM;
    if (!err)
        err = parse_file_output(criterion, channels, path, &range);
    free(path);
    return err;
}

int slc_parse_output(struct wetdbg_criterion *criterion, const char *rest)
{
    struct slc_channels *channels;
    int err = slc_criterion_channels(criterion, &channels);

    if (err)
        return err;
    bool is_of_end = is_end(rest);
    err =
        is_of_end ? parse_end(criterion, channels, rest) : parse_output(criterion, channels, rest);
    slc_criterion_give_channels(criterion, channels);
    bool is_of_bytes = !is_of_end && criterion->seed_count &&
                       criterion->seeds[0].uses == SLC_USES_NONE &&
                       (criterion->seeds[0].place_count || criterion->seeds[0].passed.size);
    return err || criterion->from.from_write || !is_of_bytes ? err
                                                             : slc_criterion_to_birth(criterion);
}
