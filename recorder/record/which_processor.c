/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/which_processor.h"

#include <cpuid.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/cpuid.h"
#include "recorder/record/side_file.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_processor.h"
#include <wetdbg/errors.h>

#define SELECTOR_USER 0x7b /* of Linux's segment whose limit is node and number */

static int bound_processor(const char *trace_dir, int *bound)
{
    struct wetdbg_recording *trace;
    int err = wetdbg_recording_open(trace_dir, &trace);
    if (err)
        return err;
    *bound = rrt_trace_header(trace)->bind_to_cpu;
    wetdbg_recording_close(trace);
    return 0;
}

/* ---- asking ---- */

static bool has_rdpid(void)
{
    return wd_cpuid_has(7) && wd_cpuid_ask(7, 0).ecx & bit_RDPID;
}

static void ask(struct rrt_processor *out)
{
    uint64_t number;
    uint32_t limit = 0;
    bool has_limit;
    *out = (struct rrt_processor){RRT_PROCESSOR_UNKNOWN, RRT_PROCESSOR_UNKNOWN};
    if (has_rdpid()) {
        __asm__ volatile(".byte 0xf3, 0x0f, 0xc7, 0xf8" : "=a"(number)); /* rdpid rax */
        out->rdpid = number;
    }
    __asm__ volatile("lsl %2, %0" : "+r"(limit), "=@ccz"(has_limit) : "r"((uint32_t)SELECTOR_USER));
    if (has_limit)
        out->lsl = limit;
}

/* Asks the processor with that number; false if this thread cannot run there. Afterwards it runs
 * where it might before. */
static bool ask_there(int processor, struct rrt_processor *out)
{
    size_t bytes = CPU_ALLOC_SIZE(processor + 1);
    cpu_set_t *there = CPU_ALLOC(processor + 1), before;
    bool is_there = there && !sched_getaffinity(0, sizeof(before), &before);
    if (is_there) {
        CPU_ZERO_S(bytes, there);
        CPU_SET_S((size_t)processor, bytes, there);
        is_there = !sched_setaffinity(0, bytes, there);
    }
    if (is_there) {
        ask(out);
        sched_setaffinity(0, sizeof(before), &before);
    }
    CPU_FREE(there);
    return is_there;
}

/* ---- writing ---- */

static int write_file(const char *trace_dir, const struct wd_buf *text)
{
    int dir_fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return wetdbg_fail_errno("%s", trace_dir);
    int err = rec_side_file_write(dir_fd, RRT_PROCESSOR_NAME, text->data, text->size_bytes);
    close(dir_fd);
    return err;
}

int rec_processor_write(const char *trace_dir)
{
    struct rrt_processor processor;
    struct wd_buf text = {0};
    int bound = -1;
    int err = bound_processor(trace_dir, &bound);
    if (err || bound < 0 || !ask_there(bound, &processor))
        return err;
    err = rrt_processor_put(&text, bound, &processor);
    if (!err)
        err = write_file(trace_dir, &text);
    wd_buf_fini(&text);
    return err;
}
