/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For each frame the lines that `rr dump -e -m -p` should print are made from our own reading,
 * in its format, and compared. Two things are looser: names of system calls (a few differ
 * between rr and libseccomp, so the state and the registers speak for the call), and the x87
 * values, which are printed in a form of their own; YMM registers are compared.
 */
#include "tests/rr_trace/rr_dump_compare.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/rr_trace/rr_trace.h"
#include <wetdbg/errors.h>

#define TASK_EVENT "  TraceTaskEvent::"

struct comparison {
    FILE *dump;
    char *line;
    size_t line_capacity;
    char dir[PATH_MAX];
    uint64_t ymm_offset;
    uint64_t time;
    bool is_line_left; /* what `line` holds was read and not compared */
    struct rr_dump_counts *counts;
};

static int differ(const struct comparison *c, const char *ours)
{
    fprintf(stderr, "%s: frame %" PRIu64 ":\n  rr:   %s\n  ours: %s\n", c->dir, c->time, c->line,
            ours);
    return 1;
}

static int next_line(struct comparison *c)
{
    if (c->is_line_left) {
        c->is_line_left = false;
        return 0;
    }
    ssize_t length = getline(&c->line, &c->line_capacity, c->dump);
    if (length < 0) {
        fprintf(stderr, "%s: frame %" PRIu64 ": rr's dump ends early\n", c->dir, c->time);
        return 1;
    }
    if (length > 0 && c->line[length - 1] == '\n')
        c->line[length - 1] = 0;
    return 0;
}

static int expect(struct comparison *c, const char *ours)
{
    if (next_line(c) != 0)
        return 1;
    return strcmp(c->line, ours) == 0 ? 0 : differ(c, ours);
}

static const char *state_text(enum rrt_syscall_state state)
{
    static const char *const text[] = {"ENTERING_SYSCALL_PTRACE", "ENTERING_SYSCALL",
                                       "EXITING_SYSCALL"};
    return text[state];
}

/* The part of the head line before and after the event's own text, which is rr's. */
static int expect_head(struct comparison *c, const struct rrt_frame *frame)
{
    char before[200];
    char after[200];
    char state[100] = "";
    snprintf(before, sizeof(before), "  real_time:%f global_time:%" PRIu64 ", event:`",
             frame->monotonic_seconds, frame->time);
    if (frame->event == RRT_EVENT_SYSCALL)
        snprintf(state, sizeof(state), " (state:%s)", state_text(frame->syscall.state));
    snprintf(after, sizeof(after), "'%s tid:%d, ticks:%" PRId64, state, frame->tid, frame->ticks);
    if (next_line(c) != 0)
        return 1;
    size_t length = strlen(c->line);
    if (strncmp(c->line, before, strlen(before)) != 0 || length < strlen(after) ||
        strcmp(c->line + length - strlen(after), after) != 0) {
        fprintf(stderr, "(expected %s...%s)\n", before, after);
        return differ(c, rrt_event_name(frame->event));
    }
    const char *name = frame->event == RRT_EVENT_SYSCALL    ? "SYSCALL: "
                       : frame->event == RRT_EVENT_GROW_MAP ? "GROW_MAP"
                                                            : rrt_event_name(frame->event);
    if (strncmp(c->line + strlen(before), name, strlen(name)) != 0)
        return differ(c, name);
    return 0;
}

static int expect_ymm(struct comparison *c, const struct rrt_frame *frame, const char *at)
{
    const uint8_t *xsave = frame->extra_regs;
    uint64_t in_use;
    memcpy(&in_use, xsave + 512, sizeof(in_use));
    for (unsigned i = 0; i < 16; i++) {
        uint64_t part[4] = {0};
        char name[16];
        char hex[80];
        memcpy(part, xsave + 160 + 16 * i, 16);
        if (c->ymm_offset + 16 * i + 16 <= frame->extra_regs_bytes && (in_use & 4))
            memcpy(part + 2, xsave + c->ymm_offset + 16 * i, 16);
        if (!(in_use & 2))
            part[0] = part[1] = 0;
        snprintf(name, sizeof(name), " ymm%u:0x", i);
        snprintf(hex, sizeof(hex), "%016" PRIx64 "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, part[3],
                 part[2], part[1], part[0]);
        const char *ours = hex;
        while (*ours == '0' && ours[1])
            ours++;
        const char *theirs = strstr(at, name);
        if (!theirs)
            return differ(c, name);
        theirs += strlen(name);
        size_t length = strcspn(theirs, " ");
        if (length != strlen(ours) || strncmp(theirs, ours, length) != 0)
            return differ(c, ours);
    }
    c->counts->vectors++;
    return 0;
}

static int expect_registers(struct comparison *c, const struct rrt_frame *frame)
{
    const struct rrt_regs *r = &frame->regs;
    char ours[2048];
    snprintf(ours, sizeof(ours),
             "rax:0x%lx rbx:0x%lx rcx:0x%lx rdx:0x%lx rsi:0x%lx rdi:0x%lx rbp:0x%lx rsp:0x%lx "
             "r8:0x%lx r9:0x%lx r10:0x%lx r11:0x%lx r12:0x%lx r13:0x%lx r14:0x%lx r15:0x%lx "
             "rip:0x%lx eflags:0x%lx cs:0x%lx ss:0x%lx ds:0x%lx es:0x%lx fs:0x%lx gs:0x%lx "
             "orig_rax:0x%lx fs_base:0x%lx gs_base:0x%lx",
             r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8, r->r9, r->r10,
             r->r11, r->r12, r->r13, r->r14, r->r15, r->rip, r->eflags, r->cs, r->ss, r->ds, r->es,
             r->fs, r->gs, r->orig_rax, r->fs_base, r->gs_base);
    if (next_line(c) != 0)
        return 1;
    size_t length = strlen(ours);
    c->counts->registers++;
    if (strncmp(c->line, ours, length) != 0)
        return differ(c, ours);
    if (frame->extra_regs_bytes == 0)
        return c->line[length] == 0 ? 0 : differ(c, "no extra registers");
    return expect_ymm(c, frame, c->line + length);
}

/* A pointer's text as printf's %p gives it in glibc, which rr uses here. */
static const char *pointer_text(char text[24], uint64_t value)
{
    snprintf(text, 24, value ? "0x%" PRIx64 : "(nil)", value);
    return text;
}

static void task_text(char *text, size_t size, const struct rrt_task_event *task)
{
    switch (task->kind) {
    case RRT_TASK_CLONE:
        snprintf(text, size, TASK_EVENT "CLONE tid=%d parent=%d clone_flags=0x%x", task->tid,
                 task->parent_tid, task->clone_flags);
        break;
    case RRT_TASK_EXEC:
        snprintf(text, size, TASK_EVENT "EXEC tid=%d file=%s", task->tid, task->exec_file);
        break;
    case RRT_TASK_EXIT:
        snprintf(text, size, TASK_EVENT "EXIT tid=%d status=%d", task->tid, task->wait_status);
        break;
    case RRT_TASK_DETACH:
        snprintf(text, size, TASK_EVENT "DETACH tid=%d", task->tid);
        break;
    }
}

/* Finds the line among those task events of the frame that were not found before. */
static int expect_one_of(struct comparison *c, const struct rrt_frame *frame, uint64_t *found)
{
    char ours[PATH_MAX + 200] = "";
    for (size_t i = 0; i < frame->task_count; i++) {
        task_text(ours, sizeof(ours), &frame->tasks[i]);
        if (*found >> i & 1 || strcmp(c->line, ours) != 0)
            continue;
        *found |= UINT64_C(1) << i;
        c->counts->tasks++;
        return 0;
    }
    return differ(c, ours);
}

/* rr 5.9 prints all task events of a frame in the order of a hash table, rr 5.6 the first one
 * only. */
static int expect_tasks(struct comparison *c, const struct rrt_frame *frame)
{
    uint64_t found = 0;
    size_t lines = 0;
    if (frame->task_count >= 64)
        return differ(c, "more task events than this test can compare");
    for (; lines < frame->task_count; lines++) {
        if (next_line(c) != 0)
            return 1;
        c->is_line_left = strncmp(c->line, TASK_EVENT, strlen(TASK_EVENT)) != 0;
        if (c->is_line_left)
            break;
        if (expect_one_of(c, frame, &found) != 0)
            return 1;
    }
    if (lines == frame->task_count || (lines == 1 && found == 1))
        return 0;
    return differ(c, "another number of task events");
}

static int expect_mmap(struct comparison *c, const struct rrt_mmap *map)
{
    bool is_file = map->source == RRT_SOURCE_FILE;
    bool is_relative = is_file && map->backing[0] != '/';
    char ours[3 * PATH_MAX];
    char start[24];
    char length[24];
    const char *name = map->source == RRT_SOURCE_ZERO ? "<ZERO>" : map->name;
    snprintf(ours, sizeof(ours),
             "  { map_file:\"%s\", addr:%s, length:%s, prot_flags:\"%c%c%c%c\", "
             "file_offset:0x%lx, device:%ld, inode:%ld, data_file:\"%s%s%s\", data_offset:0x%lx, "
             "file_size:0x%lx }",
             name, pointer_text(start, map->start), pointer_text(length, map->end - map->start),
             map->prot & PROT_READ ? 'r' : '-', map->prot & PROT_WRITE ? 'w' : '-',
             map->prot & PROT_EXEC ? 'x' : '-', map->flags & MAP_SHARED ? 's' : 'p',
             map->file_offset_bytes, (long)map->device, (long)map->inode, is_relative ? c->dir : "",
             is_relative ? "/" : "", is_file ? map->backing : "",
             is_file ? map->file_offset_bytes : 0, (unsigned long)map->stat_size_bytes);
    c->counts->mmaps++;
    return expect(c, ours);
}

static int expect_write(struct comparison *c, const struct rrt_write *write)
{
    char ours[200];
    char addr[24];
    char length[24];
    snprintf(ours, sizeof(ours), "  { tid:%d, addr:%s, length:%s }", write->tid,
             pointer_text(addr, write->addr), pointer_text(length, write->size_bytes));
    c->counts->writes++;
    return expect(c, ours);
}

static int compare_frame(struct comparison *c, const struct rrt_frame *frame)
{
    c->time = frame->time;
    c->counts->frames++;
    int r = expect(c, "{") || expect_head(c, frame);
    if (r == 0 && frame->has_regs)
        r = expect_registers(c, frame);
    if (r == 0)
        r = expect_tasks(c, frame);
    for (size_t i = 0; r == 0 && i < frame->mmap_count; i++)
        r = expect_mmap(c, &frame->mmaps[i]);
    for (size_t i = 0; r == 0 && i < frame->write_count; i++)
        r = expect_write(c, &frame->writes[i]);
    return r || expect(c, "}");
}

static uint64_t find_ymm_offset(const struct rrt_header *header)
{
    for (size_t i = 0; i < header->cpuid_count; i++)
        if (header->cpuid[i].eax_in == 0xd && header->cpuid[i].ecx_in == 2)
            return header->cpuid[i].ebx;
    return UINT64_MAX / 2;
}

static int compare_all(struct comparison *c, struct wetdbg_recording *trace)
{
    struct rrt_frame frame;
    int r;
    while ((r = rrt_next(trace, &frame)) > 0)
        if (compare_frame(c, &frame) != 0)
            return 1;
    if (r < 0) {
        fprintf(stderr, "%s: %s\n", c->dir, wetdbg_error(r));
        return 1;
    }
    if (getline(&c->line, &c->line_capacity, c->dump) >= 0)
        return differ(c, "(the end)");
    return 0;
}

int rr_dump_compare(const char *trace_dir, struct rr_dump_counts *counts)
{
    struct comparison c = {.counts = counts};
    struct wetdbg_recording *trace;
    int err = -EINVAL;
    char command[PATH_MAX + 100];
    memset(counts, 0, sizeof(*counts));
    if (!realpath(trace_dir, c.dir) || (err = wetdbg_recording_open(c.dir, &trace)) != 0) {
        fprintf(stderr, "%s: %s\n", trace_dir, wetdbg_error(err));
        return 1;
    }
    c.ymm_offset = find_ymm_offset(rrt_trace_header(trace));
    snprintf(command, sizeof(command), "rr dump -e -m -p '%s'", c.dir);
    c.dump = popen(command, "r");
    int r = c.dump ? compare_all(&c, trace) : 1;
    if (c.dump && pclose(c.dump) != 0 && r == 0)
        r = 1;
    free(c.line);
    wetdbg_recording_close(trace);
    return r;
}
