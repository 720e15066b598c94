/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints a recording, one line per item. Names in it are untrusted: control characters never
 * reach the output raw, and JSON stays valid whatever bytes a name holds. 64-bit values are
 * strings of hex digits in JSON, since many readers keep numbers as doubles.
 */
#include <inttypes.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"

static const char *const event_names[RRT_EVENT_COUNT] = {
    [RRT_EVENT_INSTRUCTION_TRAP] = "INSTRUCTION_TRAP",
    [RRT_EVENT_PATCH_SYSCALL] = "PATCH_SYSCALL",
    [RRT_EVENT_SYSCALLBUF_ABORT_COMMIT] = "SYSCALLBUF_ABORT_COMMIT",
    [RRT_EVENT_SYSCALLBUF_RESET] = "SYSCALLBUF_RESET",
    [RRT_EVENT_SCHED] = "SCHED",
    [RRT_EVENT_GROW_MAP] = "GROW_MAP",
    [RRT_EVENT_SIGNAL] = "SIGNAL",
    [RRT_EVENT_SIGNAL_DELIVERY] = "SIGNAL_DELIVERY",
    [RRT_EVENT_SIGNAL_HANDLER] = "SIGNAL_HANDLER",
    [RRT_EVENT_EXIT] = "EXIT",
    [RRT_EVENT_SYSCALLBUF_FLUSH] = "SYSCALLBUF_FLUSH",
    [RRT_EVENT_SYSCALL] = "SYSCALL",
    [RRT_EVENT_PATCH_AFTER_SYSCALL] = "PATCH_AFTER_SYSCALL",
    [RRT_EVENT_PATCH_VSYSCALL] = "PATCH_VSYSCALL",
    [RRT_EVENT_PATCH_TRAPPING_INSTRUCTION] = "PATCH_TRAPPING_INSTRUCTION",
};
static const char *const state_names[] = {"entering-ptrace", "entering", "exiting"};
static const char *const disposition_names[] = {"fatal", "handler", "ignored"};
static const char *const source_names[] = {"zero", "trace", "file"};
static const char *const task_names[] = {"clone", "exec", "exit", "detach"};
static const char *const register_names[] = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs",
};
#define REGISTER_COUNT (sizeof(register_names) / sizeof(register_names[0]))
_Static_assert(REGISTER_COUNT * 8 == sizeof(struct rrt_regs), "one name per register");

const char *rrt_event_name(enum rrt_event event)
{
    return (unsigned)event < RRT_EVENT_COUNT ? event_names[event] : "?";
}

/* ---------------------------------------------------------------- strings */

/* The length of the well-formed UTF-8 sequence that starts at `s`, or 0. */
static size_t utf8_length(const unsigned char *s)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80       ? 1
                    : s[0] >> 5 == 6  ? 2
                    : s[0] >> 4 == 14 ? 3
                    : s[0] >> 3 == 30 ? 4
                                      : 0;
    if (length < 2)
        return length;
    uint32_t code = s[0] & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 0x3f);
    }
    bool is_surrogate = code >= 0xd800 && code < 0xe000;
    return code < smallest[length] || code > 0x10ffff || is_surrogate ? 0 : length;
}

static void put_json_string(FILE *out, const char *string)
{
    const unsigned char *s = (const unsigned char *)string;
    fputc('"', out);
    while (*s) {
        size_t length = utf8_length(s);
        if (length == 0) {
            fputs("\\ufffd", out);
            length = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else if (*s < 0x20 || *s == 0x7f) {
            fprintf(out, "\\u%04x", *s);
        } else {
            fwrite(s, 1, length, out);
        }
        s += length;
    }
    fputc('"', out);
}

/* Control characters: ASCII's, and U+0080 to U+009F, which some terminals obey too. */
static bool is_control(const unsigned char *s, size_t length)
{
    return *s < 0x20 || *s == 0x7f || (length == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

/* Quoted as in C; the empty string and blanks stay visible. */
static void put_text_string(FILE *out, const char *string)
{
    const unsigned char *s = (const unsigned char *)string;
    fputc('"', out);
    while (*s) {
        size_t length = utf8_length(s);
        if (length == 0 || is_control(s, length)) {
            fprintf(out, "\\x%02x", *s);
            length = 1;
        } else if (*s == '"' || *s == '\\') {
            fprintf(out, "\\%c", *s);
        } else {
            fwrite(s, 1, length, out);
        }
        s += length;
    }
    fputc('"', out);
}

/* ---------------------------------------------------------------- fields
 * One description of each item serves both forms: text is "name=value", JSON "name":value. */

struct line {
    FILE *out;
    bool json;
};

static struct line begin_line(FILE *out, bool json, const char *type, uint64_t time)
{
    if (json)
        fprintf(out, "{\"schema\":\"wetdbg.dump/1\",\"type\":\"%s\",\"time\":%" PRIu64, type, time);
    else
        fprintf(out, "%" PRIu64 " %s", time, type);
    return (struct line){out, json};
}

static void end_line(const struct line *line)
{
    fputs(line->json ? "}\n" : "\n", line->out);
}

static void put_name(const struct line *line, const char *name)
{
    fprintf(line->out, line->json ? ",\"%s\":" : " %s=", name);
}

static void put_int(const struct line *line, const char *name, int64_t value)
{
    put_name(line, name);
    fprintf(line->out, "%" PRId64, value);
}

static void put_hex(const struct line *line, const char *name, uint64_t value)
{
    put_name(line, name);
    fprintf(line->out, line->json ? "\"0x%" PRIx64 "\"" : "0x%" PRIx64, value);
}

/* One of our own words, which needs no quoting. */
static void put_word(const struct line *line, const char *name, const char *word)
{
    put_name(line, name);
    fprintf(line->out, line->json ? "\"%s\"" : "%s", word);
}

static void put_flag(const struct line *line, const char *name, bool value)
{
    if (!value)
        return;
    put_name(line, name);
    fputs(line->json ? "true" : "yes", line->out);
}

static void put_any_string(const struct line *line, const char *string)
{
    if (line->json)
        put_json_string(line->out, string);
    else
        put_text_string(line->out, string);
}

static void put_string(const struct line *line, const char *name, const char *string)
{
    put_name(line, name);
    put_any_string(line, string);
}

/* ---------------------------------------------------------------- items */

static void put_registers(const struct line *line, const struct rrt_regs *regs)
{
    uint64_t values[REGISTER_COUNT];
    memcpy(values, regs, sizeof(values));
    if (line->json)
        fputs(",\"regs\":{", line->out);
    for (size_t i = 0; i < REGISTER_COUNT; i++) {
        if (line->json)
            fprintf(line->out, "%s\"%s\":\"0x%" PRIx64 "\"", i ? "," : "", register_names[i],
                    values[i]);
        else
            fprintf(line->out, " %s=0x%" PRIx64, register_names[i], values[i]);
    }
    if (line->json)
        fputc('}', line->out);
}

static void put_syscall(const struct line *line, const struct rrt_frame *frame)
{
    const struct rrt_syscall *call = &frame->syscall;
    uint32_t arch = call->arch == RRT_ARCH_X86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_X86;
    char *name = seccomp_syscall_resolve_num_arch(arch, call->number);
    put_word(line, "state", state_names[call->state]);
    put_int(line, "number", call->number);
    if (name)
        put_word(line, "name", name);
    free(name);
    if (call->arch == RRT_ARCH_X86)
        put_word(line, "call_arch", "x86");
    put_flag(line, "failed_during_preparation", call->failed_during_preparation);
    if (call->state == RRT_SYSCALL_EXITING && frame->has_regs)
        put_int(line, "result", (int64_t)frame->regs.rax);
    if (call->extra == RRT_EXTRA_WRITE_OFFSET)
        put_int(line, "write_offset", call->write_offset);
}

static void put_signal(const struct line *line, const struct rrt_signal *signal)
{
    int32_t code;
    memcpy(&code, signal->siginfo + 8, sizeof(code)); /* si_signo, si_errno, si_code */
    put_int(line, "signal", signal->number);
    put_int(line, "code", code);
    put_flag(line, "deterministic", signal->deterministic);
    put_word(line, "disposition", disposition_names[signal->disposition]);
}

static void dump_event(FILE *out, bool json, bool with_registers, const struct rrt_frame *frame)
{
    struct line line = begin_line(out, json, "event", frame->time);
    put_int(&line, "tid", frame->tid);
    put_word(&line, "event", rrt_event_name(frame->event));
    if (frame->arch == RRT_ARCH_X86)
        put_word(&line, "arch", "x86");
    if (frame->event == RRT_EVENT_SYSCALL)
        put_syscall(&line, frame);
    if (frame->signal.siginfo)
        put_signal(&line, &frame->signal);
    put_int(&line, "ticks", frame->ticks);
    if (frame->has_regs)
        put_hex(&line, "ip", frame->regs.rip);
    if (frame->extra_regs_bytes > 0)
        put_int(&line, "extra_regs_bytes", (int64_t)frame->extra_regs_bytes);
    if (with_registers && frame->has_regs)
        put_registers(&line, &frame->regs);
    end_line(&line);
}

static void dump_task(FILE *out, bool json, const struct rrt_task_event *event)
{
    struct line line = begin_line(out, json, "task", event->time);
    put_int(&line, "tid", event->tid);
    put_word(&line, "what", task_names[event->kind]);
    if (event->kind == RRT_TASK_CLONE) {
        put_int(&line, "parent", event->parent_tid);
        put_hex(&line, "flags", (uint32_t)event->clone_flags);
        put_int(&line, "own_ns_tid", event->own_ns_tid);
    } else if (event->kind == RRT_TASK_EXIT) {
        put_int(&line, "wait_status", event->wait_status);
    } else if (event->kind == RRT_TASK_EXEC) {
        put_string(&line, "file", event->exec_file);
        put_name(&line, "argv");
        fputc('[', out);
        for (size_t i = 0; i < event->argc; i++) {
            if (i > 0)
                fputc(',', out);
            put_any_string(&line, event->argv[i]);
        }
        fputc(']', out);
        put_hex(&line, "exe_base", event->exe_base);
        put_hex(&line, "interp_base", event->interp_base);
        put_string(&line, "interp", event->interp);
    }
    end_line(&line);
}

static void dump_mmap(FILE *out, bool json, const struct rrt_mmap *map)
{
    struct line line = begin_line(out, json, "mmap", map->time);
    put_hex(&line, "start", map->start);
    put_hex(&line, "end", map->end);
    put_int(&line, "prot", map->prot);
    put_hex(&line, "flags", (uint32_t)map->flags);
    put_hex(&line, "offset", map->file_offset_bytes);
    put_hex(&line, "device", map->device);
    put_int(&line, "inode", (int64_t)map->inode);
    put_hex(&line, "mode", map->stat_mode);
    put_int(&line, "uid", map->stat_uid);
    put_int(&line, "gid", map->stat_gid);
    put_int(&line, "size", map->stat_size_bytes);
    put_int(&line, "mtime", map->stat_mtime_seconds);
    put_word(&line, "source", source_names[map->source]);
    put_string(&line, "name", map->name);
    if (map->source == RRT_SOURCE_FILE)
        put_string(&line, "backing", map->backing);
    end_line(&line);
}

static void dump_write(FILE *out, bool json, uint64_t time, const struct rrt_write *write)
{
    struct line line = begin_line(out, json, "data", time);
    put_int(&line, "tid", write->tid);
    put_hex(&line, "addr", write->addr);
    put_int(&line, "size", (int64_t)write->size_bytes);
    put_int(&line, "stored", (int64_t)write->stored_bytes);
    put_flag(&line, "conservative", write->size_is_conservative);
    end_line(&line);
}

static void dump_frame(FILE *out, bool json, unsigned what, const struct rrt_frame *frame)
{
    if (what & WETDBG_DUMP_EVENTS)
        dump_event(out, json, what & WETDBG_DUMP_REGISTERS, frame);
    if (what & WETDBG_DUMP_TASKS)
        for (size_t i = 0; i < frame->task_count; i++)
            dump_task(out, json, &frame->tasks[i]);
    if (what & WETDBG_DUMP_MMAPS)
        for (size_t i = 0; i < frame->mmap_count; i++)
            dump_mmap(out, json, &frame->mmaps[i]);
    if (what & WETDBG_DUMP_DATA)
        for (size_t i = 0; i < frame->write_count; i++)
            dump_write(out, json, frame->time, &frame->writes[i]);
}

int wetdbg_recording_dump(struct wetdbg_recording *trace, unsigned what, bool json, FILE *out)
{
    struct wetdbg_recording *cursor;
    struct rrt_frame frame;
    int r = rrt_reopen(trace, &cursor);
    if (r != 0)
        return r;
    rrt_set_skip_data(cursor, true);
    if (what == 0)
        what = WETDBG_DUMP_EVENTS;
    while ((r = rrt_next(cursor, &frame)) > 0)
        dump_frame(out, json, what, &frame);
    wetdbg_recording_close(cursor);
    return r;
}
