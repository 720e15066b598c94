/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said when the replay leaves the recording, or cannot follow it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

static const char *const reg_names[EVQ_REG_COUNT] = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs"};

/* The entry that something else came instead of. A fault without a signal stands for none. */
static const struct evq_entry *expected_entry(const struct rep_engine *engine)
{
    const struct evq_entry *entry = rep_current_entry(engine);
    return entry && entry->kind == EVQ_FAULT && !entry->number ? NULL : entry;
}

static unsigned long long frame_of(const struct rep_engine *engine)
{
    const struct evq_entry *entry = rep_current_entry(engine);
    return entry ? (unsigned long long)entry->frame : 0;
}

static const char *exit_name(uint64_t kind)
{
    static const char *const names[] = {[AGT_EXIT_SYSCALL] = "a system call",
                                        [AGT_EXIT_RDTSC] = "rdtsc",
                                        [AGT_EXIT_RDTSCP] = "rdtscp",
                                        [AGT_EXIT_CPUID] = "cpuid",
                                        [AGT_EXIT_FAULT] = "a fault"};
    return kind < sizeof(names) / sizeof(names[0]) && names[kind] ? names[kind] : "something else";
}

/* What is added to a sentence where branches are counted. */
static const char *counts_text(const struct rep_engine *engine, char text[128])
{
    const struct evq_entry *entry = rep_current_entry(engine);
    text[0] = 0;
    if (entry && entry->flags & EVQ_FLAG_TICKS)
        snprintf(text, 128, "; %llu conditional branches were executed, recorded %llu",
                 (unsigned long long)engine->host.turn.ticks, (unsigned long long)entry->ticks);
    return text;
}

/* `seen`: what the program came to instead; 0: it still runs. */
int rep_place_not_found(struct rep_engine *engine, unsigned seen, uint64_t rip)
{
    const struct evq_entry *entry = rep_current_entry(engine);
    char what[64] = "?", counts[128];
    if (entry && entry->number)
        snprintf(what, sizeof(what), "signal %d", entry->number);
    else if (entry)
        snprintf(what, sizeof(what), "a switch to another thread");
    return wetdbg_fail(
        -WETDBG_ERR_DIVERGED,
        "replay diverged at event %llu, instruction %llu: the place of %s (%#llx) was not "
        "found before %s at %#llx; its registers were met %llu times, with other %s%s",
        frame_of(engine), (unsigned long long)rep_engine_time(engine), what,
        entry ? (unsigned long long)evq_entry_regs(entry)->r[EVQ_RIP] : 0ull,
        seen ? exit_name(seen) : "giving up", (unsigned long long)rip,
        (unsigned long long)engine->host.turn.place_meetings,
        entry && entry->flags & EVQ_FLAG_TICKS ? "branches or memory" : "memory",
        counts_text(engine, counts));
}

const char *rep_blame(const struct rep_engine *engine)
{
    return engine->host.has_wall ? "this is a defect of wetdbg"
                                 : "the program has damaged the process that replays it, as it can "
                                   "where its recording is trusted, or "
                                   "else this is a defect of wetdbg";
}

static int diverged(struct rep_engine *engine)
{
    const uint64_t *args = engine->host.turn.args;
    const struct evq_entry *entry = expected_entry(engine);
    unsigned long long frame = frame_of(engine), a = args[1], b = args[2], c = args[3];
    unsigned long long time = rep_engine_time(engine), rip = engine->host.turn.rip;
    /* registers are compared before an entry counts as taken, its ops are applied after that */
    unsigned long long ops_frame = engine->taken_frame;
    char counts[128];
    switch (args[0]) {
    case AGT_DIV_REGISTER:
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "replay diverged at event %llu, instruction %llu, %#llx: %s is %#llx, "
                           "recorded %#llx%s",
                           frame, time, rip, a < EVQ_REG_COUNT ? reg_names[a] : "?", c, b,
                           counts_text(engine, counts));
    case AGT_DIV_EVENT:
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "replay diverged at event %llu, instruction %llu: recorded %s, replayed "
                           "%s at %#llx%s",
                           frame, time, entry ? rep_entry_kind_name(entry->kind) : "nothing more",
                           exit_name(b), c, counts_text(engine, counts));
    case AGT_DIV_SIGNAL:
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "replay diverged at event %llu, instruction %llu: signal %llu (code %lld, "
            "address %#llx) at %#llx, recorded signal %d (code %lld, address %#llx)%s",
            frame, time, a, (long long)b, c, rip, entry ? entry->number : 0,
            entry ? (long long)entry->code : 0, entry ? (unsigned long long)entry->address : 0,
            counts_text(engine, counts));
    case AGT_DIV_MEMORY:
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "replay diverged at event %llu: %s of %llu bytes at %#llx, where nothing is "
            "mapped",
            ops_frame, rep_opcode_name((unsigned)a), c, b);
    case AGT_DIV_TICKS:
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "replay diverged at event %llu, instruction %llu, %#llx: %llu conditional "
            "branches were executed, recorded %llu",
            frame, time, rip, b, a);
    case AGT_DIV_PLACE:
        return rep_place_not_found(engine, (unsigned)a, b);
    case AGT_DIV_BUFFER:
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "replay diverged at event %llu, instruction %llu, %#llx: rr's preload library makes "
            "system call %llu, and the next record of its buffer is of %llu",
            frame, time, c, a, b);
    case AGT_DIV_TABLE:
        return wetdbg_fail(
            -WETDBG_ERR_DIVERGED,
            "event %llu: the program has overwritten memory of the replay process' own", frame);
    case AGT_DIV_HOST:
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "event %llu: %s at %#llx: %s", ops_frame,
                           rep_opcode_name((unsigned)a), c, strerror((int)b));
    default:
        if (c == SIGBUS)
            return wetdbg_fail(
                -WETDBG_ERR_CORRUPT,
                "event %llu: memory at %#llx is mapped from a file that ends before it", frame, b);
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "the replay agent faulted at +%#llx (address %#llx, signal %llu) at event "
            "%llu; %s",
            a, b, c, frame, rep_blame(engine));
    }
}

/* Why an instruction is refused, and what to do, where that can be said. */
static const char *refusal_reason(const uint8_t *code, size_t bytes, uint64_t rip)
{
    struct ins_info info;
    if (ins_decode(code, bytes, rip, &info))
        return "";
    if (info.klass == INS_RDRAND)
        return ": its random number is in no recording; have the program get its numbers from the "
               "kernel (in C++ std::random_device(\"/dev/urandom\"), or libstdc++ as a shared "
               "library, which rr keeps from it), or record where CPUID can fault, which hides "
               "it from programs that look";
    if (info.klass == INS_RDPID || !strcmp(ins_mnemonic_name(info.mnemonic), "lsl"))
        return ": which processor it tells of is not known of this recording; `wetdbg record` "
               "notes it, where rr is bound to one (no -u), or have the program ask by getcpu";
    if (!strcmp(ins_mnemonic_name(info.mnemonic), "mov"))
        return ": it changes a segment register";
    if (!strcmp(ins_mnemonic_name(info.mnemonic), "wrfsbase") ||
        !strcmp(ins_mnemonic_name(info.mnemonic), "wrgsbase"))
        return ": it needs a kernel that lets programs set segment bases (FSGSBASE)";
    return "";
}

/* What the program has at `rip`; *reason: why it is refused. */
static const char *text_at(struct rep_engine *engine, uint64_t rip, char text[128],
                           const char **reason)
{
    uint8_t code[15];
    size_t done = 0;
    snprintf(text, 128, "?");
    if (!rep_engine_read(engine, rip, code, sizeof(code), &done))
        ins_text(code, done, rip, text, 128);
    *reason = refusal_reason(code, done, rip);
    return text;
}

int rep_on_unsupported(struct rep_engine *engine)
{
    const uint64_t *args = engine->host.turn.args;
    unsigned long long kind = args[0], rip = args[1], a = args[2], b = args[3];
    const char *reason;
    char text[128];
    switch (kind) {
    case AGT_UNS_CPUID:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "cpuid before %#llx asks for leaf %#llx, subleaf %#llx, of which the "
                           "recording has no answer, and this is not the recorded processor",
                           rip, a, b);
    case AGT_UNS_XGETBV:
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED,
            "xgetbv before %#llx asks for register %llu, of which no recording has the "
            "answer",
            rip, a);
    case AGT_UNS_DISCARD:
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "madvise(MADV_DONTNEED) at %#llx, made through rr's buffer of system "
                           "calls: what the file or the shared memory there holds was not recorded",
                           a);
    default:
        text_at(engine, rip, text, &reason);
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the instruction at %#llx (%s) cannot be replayed%s", rip, text, reason);
    }
}

/* Whether the program came to an instruction that is illegal here and was not where it was
 * recorded. */
static bool lacks_instruction(const struct rep_engine *engine)
{
    const struct rep_turn *turn = &engine->host.turn;
    bool was_fault = turn->args[0] == AGT_DIV_SIGNAL ||
                     ((turn->args[0] == AGT_DIV_EVENT) && turn->args[2] == AGT_EXIT_FAULT) ||
                     (turn->args[0] == AGT_DIV_PLACE && turn->args[1] == AGT_EXIT_FAULT);
    return engine->lacks[0] && was_fault && turn->fault.signo == SIGILL;
}

int rep_on_diverged(struct rep_engine *engine)
{
    const char *reason;
    char text[128];
    uint64_t rip = engine->host.turn.rip;
    if (rep_is_own_step(&engine->host.turn) && engine->host.turn.args[0] == AGT_DIV_INTERNAL)
        return rep_refuse_own_step(engine);
    if (!lacks_instruction(engine))
        return diverged(engine);
    return wetdbg_fail(
        -WETDBG_ERR_UNSUPPORTED,
        "the instruction at %#llx (%s) is none on this processor, which lacks %s of the "
        "recorded one: replay it where these are, or record it again here",
        (unsigned long long)rip, text_at(engine, rip, text, &reason), engine->lacks);
}
