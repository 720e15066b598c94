/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Criteria outside the program's code: bytes that it wrote, the status that it ended with. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "slicer/criteria/birth.h"
#include "slicer/descriptors.h"
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

static bool parse_number(const char **text, uint64_t *value)
{
    char *end;

    if (!isdigit((unsigned char)**text))
        return false;
    errno = 0;
    unsigned long long number = strtoull(*text, &end, 0);
    if (errno)
        return false;
    *text = end;
    *value = number;
    return true;
}

/* [:FD]:OFFSET[+LEN] */
static bool parse_range(const char *text, struct output_range *range)
{
    uint64_t first, second;

    *range = (struct output_range){.fd = 1, .size = 1};
    if (*text++ != ':' || !parse_number(&text, &first))
        return false;
    range->offset = first;
    if (*text == ':') {
        text++;
        if (first > INT32_MAX || !parse_number(&text, &second))
            return false;
        range->fd = (int)first;
        range->offset = second;
    }
    if (*text == '+') {
        text++;
        if (!parse_number(&text, &range->size) || range->size == 0)
            return false;
    }
    return *text == 0 && range->offset + range->size > range->offset;
}

static int no_output(const struct wetdbg *wet, const struct output_range *range)
{
    uint64_t written = 0;
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(wet, &count);

    for (size_t i = 0; i < count; i++)
        if (outputs[i].fd == range->fd && outputs[i].offset + outputs[i].size > written)
            written = outputs[i].offset + outputs[i].size;
    if (written)
        return wetdbg_fail(
            -WETDBG_ERR_NOT_FOUND,
            "output byte %llu does not exist: %llu bytes were written to descriptor %d "
            "(offsets 0..%llu)",
            (unsigned long long)(range->offset + range->size - 1), (unsigned long long)written,
            range->fd, (unsigned long long)(written - 1));
    for (size_t i = 0; i < count; i++)
        if (outputs[i].size)
            return wetdbg_fail(
                -WETDBG_ERR_NOT_FOUND,
                "nothing was written to descriptor %d; there is output to descriptor %d", range->fd,
                outputs[i].fd);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote no output");
}

/* Adds what the address was made from at which the call found its bytes: of the buffer, or in the
 * vector that lists buffers. */
static int add_buffer_address(struct wetdbg_criterion *criterion, struct slc_seed *seed)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(criterion->wet, seed->time, &state);

    if (err)
        return err;
    const struct evq_regs *regs = wet_state_regs(state);
    seed->pc = regs->r[EVQ_RIP];
    seed->task = wetdbg_state_task(state);
    switch (regs->r[EVQ_RAX]) {
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
        if (regs->r[EVQ_RDX] <= 1024)
            err = slc_seed_add_place(seed, regs->r[EVQ_RSI], 16 * regs->r[EVQ_RDX],
                                     WETDBG_EDGE_ADDRESS);
        /* fall through */
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
    case SYS_sendmsg:
        ins_regset_add_gpr(&seed->regs[WETDBG_EDGE_ADDRESS], INS_RSI, 0, 8);
        break;
    default:
        break;
    }
    wetdbg_state_close(state);
    return err;
}

static int add_piece(struct wetdbg_criterion *criterion, const struct wetdbg_output *output,
                     uint64_t address, uint64_t size)
{
    struct slc_seed *seed = NULL;

    for (size_t i = 0; i < criterion->seed_count; i++)
        if (criterion->seeds[i].time == output->time)
            seed = &criterion->seeds[i];
    if (seed)
        return slc_seed_add_place(seed, address, size, WETDBG_EDGE_VALUE);
    seed = slc_criterion_add(criterion, output->time, 0);
    if (!seed)
        return -ENOMEM;
    int err = slc_seed_add_place(seed, address, size, WETDBG_EDGE_VALUE);
    return err ? err : add_buffer_address(criterion, seed);
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

/* The `size` bytes from `skipped` on of what the call at `time` wrote: from one piece of memory or
 * several. */
static int add_written(struct wetdbg_criterion *criterion, const struct slc_file_piece *piece)
{
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(criterion->wet, &count);
    uint64_t from = piece->skipped, left = piece->size;
    int err = 0;

    for (size_t i = 0; i < count && left && !err; i++) {
        if (outputs[i].time != piece->time)
            continue;
        uint64_t size = outputs[i].size > from ? outputs[i].size - from : 0;
        if (size > left)
            size = left;
        if (size)
            err = add_piece(criterion, &outputs[i], outputs[i].address + from, size);
        from -= from < outputs[i].size ? from : outputs[i].size;
        left -= size;
    }
    if (!err && left)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "where the call at time %llu found what it wrote is not known",
                           (unsigned long long)piece->time);
    return err;
}

static int parse_file_output(struct wetdbg_criterion *criterion, const char *path,
                             const struct output_range *range)
{
    struct slc_file_piece *pieces = NULL;
    struct slc_files *files;
    size_t count = 0;
    int err = slc_files_make(criterion->wet, &files);

    if (err)
        return err;
    err = slc_files_trace(files, path, range->offset, range->size, &pieces, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = add_written(criterion, &pieces[i]);
    free(pieces);
    slc_files_free(files);
    snprintf(criterion->description, sizeof(criterion->description), "%s, byte %llu%s", path,
             (unsigned long long)range->offset, range->size > 1 ? " and following" : "");
    return err;
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

static int end_of_descriptor(struct wetdbg_criterion *criterion, int fd)
{
    char what[64];
    struct slc_end end = {.what = what};
    const struct wetdbg_output *last = NULL;
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(criterion->wet, &count);
    int err = 0;

    snprintf(what, sizeof(what), "descriptor %d", fd);
    for (size_t i = 0; i < count; i++)
        if (outputs[i].fd == fd && outputs[i].size)
            last = &outputs[i];
    if (last) {
        end.size = last->offset + last->size;
        err = add_piece(criterion, last, last->address + last->size - 1, 1);
        err = err ? err : birth_of_last(criterion, &end.last);
    }
    return err ? err : slc_criterion_of_end(criterion, &end);
}

static int end_of_file(struct wetdbg_criterion *criterion, const char *path)
{
    struct slc_end end = {.what = path};
    struct slc_file_piece *pieces = NULL;
    struct slc_files *files;
    size_t count = 0;
    int err = slc_files_make(criterion->wet, &files);

    if (err)
        return err;
    err = slc_files_size(files, path, &end.size);
    if (!err && end.size)
        err = slc_files_trace(files, path, end.size - 1, 1, &pieces, &count);
    for (size_t i = 0; i < count && !err; i++)
        err = add_written(criterion, &pieces[i]);
    if (!err && count)
        err = birth_of_last(criterion, &end.last);
    free(pieces);
    slc_files_free(files);
    if (err == -WETDBG_ERR_NOT_FOUND && end.size == 0)
        err = 0; /* never written */
    return err ? err : slc_criterion_of_end(criterion, &end);
}

/* :end, :FD:end, :PATH:end */
static int parse_end(struct wetdbg_criterion *criterion, const char *rest)
{
    size_t length = strlen(rest) - strlen(":end");
    uint64_t fd = 1;
    const char *text = rest + 1;

    if (length == 0)
        return end_of_descriptor(criterion, 1);
    if (parse_number(&text, &fd) && text == rest + length && fd <= INT32_MAX)
        return end_of_descriptor(criterion, (int)fd);
    char *path = strndup(rest + 1, length - 1);
    int err = path ? end_of_file(criterion, path) : -ENOMEM;
    free(path);
    return err;
}

static bool is_end(const char *rest)
{
    size_t length = strlen(rest);

    return length >= strlen(":end") && strcmp(rest + length - strlen(":end"), ":end") == 0;
}

static int parse_output(struct wetdbg_criterion *criterion, const char *rest)
{
    struct output_range range;
    char *path;
    uint64_t found = 0;
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(criterion->wet, &count);
    int err = 0;

    if (!parse_range(rest, &range) && parse_file(rest, &path, &range)) {
        err = path ? parse_file_output(criterion, path, &range) : -ENOMEM;
        free(path);
        return err;
    }
    if (!parse_range(rest, &range))
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "'%s' is no place in the output: use output:OFFSET, output:OFFSET+LENGTH, "
            "output:DESCRIPTOR:OFFSET or output:PATH:OFFSET",
            criterion->text);
    for (size_t i = 0; i < count && !err; i++) {
        const struct wetdbg_output *output = &outputs[i];
        uint64_t from = range.offset > output->offset ? range.offset : output->offset;
        uint64_t end = output->offset + output->size;
        if (range.offset + range.size < end)
            end = range.offset + range.size;
        if (output->fd != range.fd || from >= end)
            continue;
        found += end - from;
        err = add_piece(criterion, output, output->address + (from - output->offset), end - from);
    }
    if (err)
        return err;
    if (found < range.size)
        return found || criterion->from.from_write ? no_output(criterion->wet, &range)
                                                   : end_of_descriptor(criterion, range.fd);
    snprintf(criterion->description, sizeof(criterion->description),
             "output to descriptor %d, byte %llu%s", range.fd, (unsigned long long)range.offset,
             range.size > 1 ? " and following" : "");
    return 0;
}

int slc_parse_output(struct wetdbg_criterion *criterion, const char *rest)
{
    if (is_end(rest))
        return parse_end(criterion, rest);
    int err = parse_output(criterion, rest);
    bool is_of_bytes = criterion->seed_count && criterion->seeds[0].uses == SLC_USES_NONE &&
                       criterion->seeds[0].place_count;

    return err || criterion->from.from_write || !is_of_bytes ? err
                                                             : slc_criterion_to_birth(criterion);
}
