/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Feeds a recording of arbitrary bytes to the reader, and asks it all it can be asked. An input is
 *
 *     u8 form, u32 size of version, events, mmaps, tasks and data, then these, one by one
 *
 * Form 0: the streams are given without blocks, in memory, and `data` is only a number: so many
 * zeros, since the reader never looks into them. Other forms: files in a directory, as they are.
 *
 * Whatever comes, the reader has to end with success or an error code; what it hands out is
 * touched from end to end, so that the address sanitizer sees every wrong pointer.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include "tests/rr_trace/fuzz_input.h"
#include <wetdbg/errors.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static volatile uint8_t sink;

static void touch(const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < count; i++)
        sink ^= at[i];
}

static void touch_string(const char *string)
{
    touch(string, strlen(string) + 1);
}

static void require(bool is_fine)
{
    if (!is_fine)
        abort();
}

static void use_write(const struct rrt_write *write)
{
    uint64_t end = 0;
    uint64_t holes = 0;
    require(write->addr + write->size_bytes >= write->addr);
    for (size_t i = 0; i < write->hole_count; i++) {
        require(write->holes[i].offset_bytes >= end);
        end = write->holes[i].offset_bytes + write->holes[i].size_bytes;
        holes += write->holes[i].size_bytes;
    }
    require(end <= write->size_bytes && write->stored_bytes == write->size_bytes - holes);
    if (write->bytes)
        touch(write->bytes, write->stored_bytes);
}

static void use_mmap(struct wetdbg_recording *trace, const struct rrt_mmap *map)
{
    struct rrt_backing backing;
    require(map->start <= map->end && (map->start | map->end) % 4096 == 0);
    touch_string(map->name);
    touch_string(map->backing);
    /* Absolute names would lead out of the fuzzer's own directory. */
    if (map->backing[0] != '/' && rrt_backing_open(trace, map, &backing) == 0)
        close(backing.fd);
}

static void use_task(const struct rrt_task_event *task)
{
    touch_string(task->exec_file);
    touch_string(task->interp);
    for (size_t i = 0; i < task->argc; i++)
        touch_string(task->argv[i]);
    require(task->argv == NULL || task->argv[task->argc] == NULL);
}

static void use_syscall(const struct rrt_syscall *call)
{
    touch(call->exec_fds_to_close, call->exec_fd_count * sizeof(*call->exec_fds_to_close));
    touch(call->madvise_ranges, call->madvise_range_count * sizeof(*call->madvise_ranges));
    touch(call->socket_local.data, call->socket_local.size_bytes);
    touch(call->socket_remote.data, call->socket_remote.size_bytes);
    for (size_t i = 0; i < call->opened_fd_count; i++)
        touch(call->opened_fds[i].path.data, call->opened_fds[i].path.size_bytes);
}

static void use_frame(struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    touch_string(rrt_event_name(frame->event));
    touch(frame->extra_regs, frame->extra_regs_bytes);
    if (frame->signal.siginfo)
        touch(frame->signal.siginfo, RRT_SIGINFO_BYTES);
    use_syscall(&frame->syscall);
    for (size_t i = 0; i < frame->mmap_count; i++)
        use_mmap(trace, &frame->mmaps[i]);
    for (size_t i = 0; i < frame->task_count; i++)
        use_task(&frame->tasks[i]);
    for (size_t i = 0; i < frame->write_count; i++)
        use_write(&frame->writes[i]);
}

static void use_processes(struct wetdbg_recording *trace)
{
    const struct wetdbg_process *list;
    size_t count;
    if (wetdbg_recording_processes(trace, &list, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        touch(list[i].tids, list[i].tid_count * sizeof(*list[i].tids));
        for (size_t k = 0; k < list[i].exec_count; k++)
            touch_string(list[i].execs[k].file);
        if (list[i].inherited)
            touch_string(list[i].inherited->file);
    }
}

static void use_trace(struct wetdbg_recording *trace)
{
    struct rrt_frame frame;
    uint64_t times[2] = {0, 0};
    FILE *nowhere = fopen("/dev/null", "w");
    for (int pass = 0; pass < 2; pass++) {
        int r;
        rrt_set_skip_data(trace, pass == 1);
        while ((r = rrt_next(trace, &frame)) > 0) {
            require(frame.time == ++times[pass]);
            use_frame(trace, &frame);
        }
        require(r == 0 || wetdbg_error(r)[0] != 0);
        if (pass == 0 && rrt_rewind(trace) != 0)
            break;
    }
    use_processes(trace);
    rrt_check_supported(trace);
    if (nowhere) {
        unsigned all = WETDBG_DUMP_EVENTS | WETDBG_DUMP_MMAPS | WETDBG_DUMP_TASKS |
                       WETDBG_DUMP_DATA | WETDBG_DUMP_REGISTERS;
        wetdbg_recording_dump(trace, all, times[0] % 2 == 0, nowhere);
        fclose(nowhere);
    }
}

/* ---------------------------------------------------------------- the two forms */

static void run_in_memory(const struct fuzz_input *input)
{
    static uint8_t *zeros;
    struct rrt_memory_streams streams = {
        .version = input->parts[FUZZ_VERSION],
        .events = input->parts[FUZZ_EVENTS],
        .mmaps = input->parts[FUZZ_MMAPS],
        .tasks = input->parts[FUZZ_TASKS],
    };
    struct wetdbg_recording *trace;
    if (!zeros)
        zeros = calloc(1, FUZZ_ZEROS_MAX);
    require(zeros != NULL);
    streams.data = (struct rrt_bytes){zeros, input->zero_count};
    if (rrt_open_memory(&streams, &trace) != 0)
        return;
    use_trace(trace);
    wetdbg_recording_close(trace);
}

static char dir[PATH_MAX];

static void remove_dir(void)
{
    char path[PATH_MAX + 16];
    for (int i = 0; i < FUZZ_PARTS; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, fuzz_part_names[i]);
        unlink(path);
    }
    rmdir(dir);
}

static void make_dir(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof(dir), "%s/fuzz_rr_trace.XXXXXX", base && *base ? base : "/tmp");
    require(mkdtemp(dir) != NULL);
    atexit(remove_dir);
}

static void write_part(int part, const struct rrt_bytes *bytes)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof(path), "%s/%s", dir, fuzz_part_names[part]);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(fd >= 0);
    require(write(fd, bytes->data, bytes->size_bytes) == (ssize_t)bytes->size_bytes);
    close(fd);
}

static void run_in_directory(const struct fuzz_input *input)
{
    struct wetdbg_recording *trace;
    if (!dir[0])
        make_dir();
    for (int i = 0; i < FUZZ_PARTS; i++)
        write_part(i, &input->parts[i]);
    if (wetdbg_recording_open(dir, &trace) != 0)
        return;
    use_trace(trace);
    wetdbg_recording_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fuzz_input input;
    if (fuzz_input_split(bytes, count, &input) != 0)
        return 0;
    if (input.in_memory)
        run_in_memory(&input);
    else
        run_in_directory(&input);
    return 0;
}
