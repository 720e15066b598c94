/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The supervisor: answers the agent's requests.
 *
 * The agent's turn ends with a request; on_request() answers it, with commands in between if it
 * needs something (code pages, memory), until the run is over. Entries are given in batches; the
 * batch is kept here too, because what lies in shared memory may have been changed.
 */
#include "recorder/replay/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "common/err.h"
#include "recorder/replay/feed.h"
#include "recorder/replay/host.h"

#define BATCH_BYTES  (1u << 20)
#define EXACT_MARGIN 1024
#define NEVER        UINT64_MAX
#define RUN_MAX      ((uint64_t)INT64_MAX / 2) /* counters go from a negative number upwards */

struct rep_engine {
    struct rep_host host;
    struct dbi *dbi;
    enum dbi_mode mode;
    const volatile sig_atomic_t *flag;
    const struct rep_source *source;
    struct wd_buf batch;  /* entries given; the replayee is somewhere in them */
    struct wd_buf spare;  /* entries of the source that did not fit */
    struct wd_buf memory; /* read for a digest */
    size_t batch_at;      /* of the entry with number seq */
    uint64_t seq;         /* entries of which the source has been told */
    uint64_t taken_frame; /* of the last one of them */
    uint64_t time_base;
    uint64_t run_goal;      /* time at which the caller wants to stop */
    bool run_exact;         /* at that very instruction */
    uint64_t place_goal;    /* time at which an EVQ_PLACE is to be taken; NEVER: none */
    uint64_t place_cap;     /* time at which looking for one is given up */
    uint64_t goal;          /* exact stops: executed instructions at which to stop */
    uint64_t exact_margin;  /* instructions before an exact stop that are run with care */
    bool exact;             /* within that margin */
    bool ends_at_goal;      /* the limit is the caller's, or place_cap */
    uint32_t part;          /* fragment that ran a rep instruction in part */
    uint64_t arrivals;      /* where the registers of the place that is looked for were found */
    bool asked_translation; /* stands in AGT_REQ_TRANSLATE and waits for an answer */
    bool started;
    bool unverified; /* translations were made before the last reset */
};

static const char *const reg_names[EVQ_REG_COUNT] = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs"};

/* ---- commands ---- */

static int command(struct rep_engine *engine, uint32_t command, uint64_t a, uint64_t b, uint64_t c,
                   uint64_t *reply)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    mail->command = command;
    mail->cargs[0] = a;
    mail->cargs[1] = b;
    mail->cargs[2] = c;
    int err = rep_host_exchange(&engine->host, NULL);
    if (!err)
        *reply = mail->args[0];
    return err;
}

static int fetch_page(void *arg, uint64_t address, uint8_t *page, unsigned *flags)
{
    struct rep_engine *engine = arg;
    uint64_t reply;
    int err = command(engine, AGT_CMD_FETCH, address, 0, 0, &reply);
    if (err)
        return err;
    if (reply == 1 || reply == 2)
        return (int)reply;
    *flags = reply == 3   ? DBI_PAGE_WRITABLE
             : reply == 4 ? DBI_PAGE_WRITABLE | DBI_PAGE_UNWATCHED
                          : 0;
    memcpy(page, engine->host.shm + AGT_XFER_OFF, 4096);
    return 0;
}

static int place_region(void *arg, unsigned index, uint64_t near, uint64_t *address,
                        uint8_t **writable)
{
    struct rep_engine *engine = arg;
    struct rep_host *host = &engine->host;
    uint64_t reply;
    *address = rep_host_place(host, DBI_REGION_BYTES, near);
    if (!*address)
        return wd_fail(-WD_ERR_MACHINE, "no room for translated code in the address space");
    off_t off = (off_t)(index * DBI_REGION_BYTES);
    *writable = mmap(NULL, DBI_REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     host->code_fd, off);
    if (*writable == MAP_FAILED)
        return wd_fail_errno("memory for translated code");
    host->regions[index] = *writable;
    int err = command(engine, AGT_CMD_MAP_CODE, *address, DBI_REGION_BYTES, (uint64_t)off, &reply);
    if (!err && reply != *address)
        err = wd_fail(-WD_ERR_MACHINE, "the replay process may not map translated code");
    return err;
}

/* ---- life ---- */

int rep_engine_new(const struct rep_engine_setup *setup, struct rep_engine **out)
{
    struct rep_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return -ENOMEM;
    engine->mode = setup->mode;
    engine->exact_margin = EXACT_MARGIN;
    engine->place_goal = engine->place_cap = NEVER;
    int err = rep_host_start(&engine->host, setup);
    if (!err) {
        struct dbi_config config = {.mode = setup->mode,
                                    .shm = engine->host.shm,
                                    .fetch = fetch_page,
                                    .place = place_region,
                                    .arg = engine};
        err = dbi_new(&config, &engine->dbi);
        if (err)
            rep_host_stop(&engine->host);
    }
    if (err) {
        free(engine);
        return err;
    }
    *out = engine;
    return 0;
}

void rep_engine_free(struct rep_engine *engine)
{
    if (!engine)
        return;
    rep_host_stop(&engine->host);
    dbi_free(engine->dbi);
    wd_buf_fini(&engine->batch);
    wd_buf_fini(&engine->spare);
    wd_buf_fini(&engine->memory);
    free(engine);
}

void rep_engine_watch(struct rep_engine *engine, const volatile sig_atomic_t *flag)
{
    engine->flag = flag;
}

/* ---- time ---- */

static uint64_t executed(const struct rep_engine *engine)
{
    const struct agt_ctx *ctx = engine->host.ctx;
    return ctx->limit + (engine->mode == DBI_COLLECT ? -(uint64_t)ctx->left : ctx->r15);
}

uint64_t rep_engine_time(const struct rep_engine *engine)
{
    return engine->time_base + (engine->started ? executed(engine) : 0);
}

uint64_t rep_engine_entries(const struct rep_engine *engine)
{
    return engine->seq;
}

static void limit_set(struct rep_engine *engine, uint64_t limit)
{
    struct agt_ctx *ctx = engine->host.ctx;
    engine->time_base = rep_engine_time(engine);
    engine->started = true;
    ctx->time_base = engine->time_base;
    ctx->limit = limit;
    if (engine->mode == DBI_COLLECT)
        ctx->left = (int64_t)limit;
    else
        ctx->r15 = -limit;
}

/*
 * How far the replayee may run now. Exact goals are approached fast up to a margin, and then
 * instruction by instruction; -EAGAIN if one has been missed: a loop that keeps flags alive all the
 * time (long additions) offers no place to stop and may run past the margin. Then the caller begins
 * again, with a wider one.
 */
static int limit_plan(struct rep_engine *engine)
{
    uint64_t now = rep_engine_time(engine);
    uint64_t soft = engine->run_exact ? NEVER : engine->run_goal;
    uint64_t hard = engine->run_exact ? engine->run_goal : NEVER;
    soft = engine->place_cap < soft ? engine->place_cap : soft;
    hard = engine->place_goal < hard ? engine->place_goal : hard;
    if (now > hard) {
        engine->exact_margin *= 64;
        return -EAGAIN;
    }
    /* what stops for time stops before the fragment that would go too far */
    engine->exact = hard <= soft && hard - now <= engine->exact_margin + DBI_INSN_MAX;
    engine->goal = hard;
    engine->host.ctx->careful = engine->exact || engine->unverified;
    engine->ends_at_goal = !engine->exact && (soft < hard || hard == NEVER);
    if (!engine->exact && !engine->ends_at_goal)
        soft = hard - engine->exact_margin;
    uint64_t limit = engine->exact ? hard - now : soft > now ? soft - now : 0;
    limit_set(engine, limit < RUN_MAX ? limit : RUN_MAX);
    return 0;
}

/* ---- the log ---- */

static const struct evq_entry *current_entry(const struct rep_engine *engine)
{
    if (engine->batch_at >= engine->batch.size_bytes)
        return NULL;
    return (const struct evq_entry *)(engine->batch.data + engine->batch_at);
}

static int log_record(struct rep_engine *engine, const struct agt_log_record *record, size_t bytes)
{
    const struct rep_source *source = engine->source;
    const struct evq_entry *entry = current_entry(engine);
    if (record->kind == 2) {
        const uint64_t *head = (const uint64_t *)(record + 1);
        if (bytes < sizeof *record + 24 || head[1] > bytes - sizeof *record - 24)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged log");
        return source->captured ? source->captured(source->arg, head[2], head[0], head + 3, head[1])
                                : 0;
    }
    if (!entry || record->seq != engine->seq)
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged log");
    engine->seq++;
    engine->taken_frame = entry->frame;
    engine->batch_at += entry->bytes;
    return source->taken ? source->taken(source->arg, entry, record->time, record->ring) : 0;
}

/* The taken record of an entry is written before its captures, so captures are held back until
 * they have gone out: records are scanned for them first. */
static int log_drain(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    const uint8_t *log = engine->host.shm + AGT_LOG_OFF;
    uint64_t end = ctx->log_bytes;
    if (end > AGT_LOG_BYTES)
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged log");
    ctx->log_bytes = 0;
    for (uint64_t at = 0; at < end;) {
        const struct agt_log_record *record = (const struct agt_log_record *)(log + at);
        uint64_t group_end = at;
        /* one taken record and the captures that follow it */
        do {
            const struct agt_log_record *next = (const struct agt_log_record *)(log + group_end);
            uint32_t bytes = end - group_end >= sizeof *next ? next->bytes : 0;
            if (bytes < sizeof *next || bytes % 8 || bytes > end - group_end)
                return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged log");
            if (next != record) {
                int err = log_record(engine, next, bytes);
                if (err)
                    return err;
            }
            group_end += bytes;
        } while (group_end < end && ((const struct agt_log_record *)(log + group_end))->kind == 2);
        int err = log_record(engine, record, record->bytes);
        if (err)
            return err;
        at = group_end;
    }
    return 0;
}

/* ---- entries ---- */

/* One more batch for the agent: as many entries as BATCH_BYTES, at least one if there is one. */
static int batch_refill(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    int err = log_drain(engine);
    if (err)
        return err;
    ctx->queue_head_bytes = ctx->queue_tail_bytes = 0;
    engine->batch.size_bytes = engine->batch_at = 0;
    while (engine->spare.size_bytes < BATCH_BYTES) {
        int more = engine->source->next(engine->source->arg, &engine->spare);
        if (more < 0)
            return more;
        if (more == 0)
            break;
    }
    size_t used = 0;
    while (used < engine->spare.size_bytes) {
        uint32_t bytes = ((const struct evq_entry *)(engine->spare.data + used))->bytes;
        if (used + bytes > AGT_QUEUE_BYTES)
            break;
        used += bytes;
    }
    err = wd_buf_append(&engine->batch, engine->spare.data, used);
    if (err)
        return err;
    memmove(engine->spare.data, engine->spare.data + used, engine->spare.size_bytes - used);
    engine->spare.size_bytes -= used;
    memcpy(engine->host.shm + AGT_QUEUE_OFF, engine->batch.data, used);
    ctx->queue_head_bytes = used;
    return 0;
}

/* ---- requests ---- */

static void answer_fetch_fault(struct agt_mail *mail, const struct dbi_fetch_fault *fault)
{
    mail->fault.signo = SIGSEGV;
    mail->fault.code = fault->reason == 1 ? SEGV_MAPERR : SEGV_ACCERR;
    mail->fault.address = fault->address;
    mail->args[0] = 0;
}

/* The kernel reports a jump to an address that is not canonical differently. */
static bool is_canonical(uint64_t address)
{
    return address < 0x800000000000ull || address >= 0xffff800000000000ull;
}

static void code_flush(struct rep_engine *engine)
{
    engine->host.ctx->stop_body = 0;
    dbi_flush(engine->dbi);
}

static int code_forget(struct rep_engine *engine, uint64_t start, uint64_t end)
{
    engine->host.ctx->stop_body = 0;
    return dbi_forget(engine->dbi, start, end);
}

/* Translations outlive a reset if the code that they were made from is there again. */
static int verify_translations(struct rep_engine *engine)
{
    engine->unverified = false;
    engine->host.ctx->careful = engine->exact;
    int changed = dbi_verify(engine->dbi);
    if (changed > 0)
        code_flush(engine);
    return changed < 0 ? changed : 0;
}

/* The ring record at offset `at` becomes that of the instructions that were executed. */
static int ring_cut(struct rep_engine *engine, const struct dbi_fragment *head, uint64_t at,
                    uint64_t *bytes)
{
    *bytes = 8 + 8 * (uint64_t)head->slot_count;
    if (at >= AGT_RING_BYTES || *bytes > AGT_RING_BYTES - at)
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
    uint32_t id = head->id;
    memcpy(engine->host.shm + AGT_RING_OFF + at, &id, sizeof id);
    return 0;
}

/* Only the first `count` instructions of an execution that was counted were executed; its ring
 * record is at offset `at`. *bytes: the size of the record that takes its place. */
static int execution_cut(struct rep_engine *engine, const struct dbi_fragment *fragment,
                         unsigned count, uint64_t at, uint64_t *bytes)
{
    uint64_t *counters = (uint64_t *)(engine->host.shm + AGT_COUNT_OFF);
    const struct dbi_fragment *head = NULL;
    int err = count ? dbi_fragment_head(engine->dbi, fragment, count, &head) : 0;
    *bytes = 0;
    if (!err && head && engine->mode == DBI_COLLECT)
        err = ring_cut(engine, head, at, bytes);
    if (!err && engine->mode == DBI_COUNT) {
        counters[fragment->id]--;
        if (head)
            counters[head->id]++;
    }
    return err;
}

/* How many bytes more than the address a `ret` pops: c2 iw. */
static uint64_t ret_extra(const struct dbi_fragment *fragment, const struct ins_info *info)
{
    const uint8_t *end = fragment->code + fragment->code_bytes;
    return info->length >= 3 && end[-3] == 0xc2 ? (uint64_t)(end[-2] | end[-1] << 8) : 0;
}

/* The last instruction of a fragment; its address is *pc. */
static int last_instruction(const struct dbi_fragment *fragment, struct ins_info *info,
                            uint64_t *pc)
{
    unsigned off = 0, length = 0;
    for (unsigned i = 0; i < fragment->insn_count; i++) {
        off += length;
        int err =
            ins_decode(fragment->code + off, fragment->code_bytes - off, fragment->pc + off, info);
        if (err)
            return err;
        length = info->length;
    }
    *pc = fragment->pc + off;
    return 0;
}

/*
 * A branch to an address that is not canonical: some processors fault there, others in the branch,
 * which then has not been executed. The recorded fault tells which, and if it is the branch, that
 * is taken back. (What a call has pushed stays: it lies below the stack pointer.)
 */
static int branch_undo(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    struct ins_info info;
    uint64_t pc, bytes;
    int err = log_drain(engine);
    const struct evq_entry *entry = current_entry(engine);
    const struct dbi_fragment *fragment = dbi_fragment_get(engine->dbi, (uint32_t)ctx->branch);
    if (err || !entry || entry->kind != EVQ_FAULT || !(entry->flags & EVQ_FLAG_REGS) || !fragment ||
        last_instruction(fragment, &info, &pc) ||
        ((const struct evq_regs *)(entry + 1))->r[EVQ_RIP] != pc)
        return err;
    uint64_t record = ctx->r15 - ctx->ring_start - 8 - 8 * (uint64_t)fragment->slot_count;
    err = execution_cut(engine, fragment, fragment->insn_count - 1u, record, &bytes);
    if (err)
        return err;
    if (engine->mode == DBI_COLLECT) {
        ctx->r15 = ctx->ring_start + record + bytes;
        ctx->left++;
    } else {
        ctx->r15--;
    }
    ctx->rip = pc;
    if (info.klass == INS_CALL_INDIRECT)
        ctx->gpr[INS_RSP] += 8;
    else if (info.klass == INS_RET)
        ctx->gpr[INS_RSP] -= 8 + ret_extra(fragment, &info);
    return 0;
}

static int answer_wild_branch(struct rep_engine *engine)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    memset(mail->args, 0, sizeof mail->args);
    mail->fault.signo = SIGSEGV;
    mail->fault.code = 0x80; /* SI_KERNEL */
    mail->fault.address = 0;
    return branch_undo(engine);
}

static int on_translate(struct rep_engine *engine, bool *done)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    const struct dbi_fragment *fragment = NULL;
    struct dbi_fetch_fault fault;
    uint64_t pc = mail->args[0];
    if (!is_canonical(pc)) /* before an exact stop: the branch may not have been executed */
        return answer_wild_branch(engine);
    int result = engine->unverified ? verify_translations(engine) : 0;
    if (result)
        return result;
    if (engine->exact) {
        uint64_t now = rep_engine_time(engine);
        if (now >= engine->goal && engine->goal != engine->place_goal) {
            engine->asked_translation = true;
            *done = true;
            return 0;
        }
        uint64_t left = engine->goal - now;
        result = dbi_translate_exact(engine->dbi, pc,
                                     left < DBI_INSN_MAX ? (unsigned)left : DBI_INSN_MAX, &fragment,
                                     &fault);
    } else {
        result = dbi_translate(engine->dbi, pc, &fragment, &fault);
    }
    if (result < 0)
        return result;
    memset(mail->args, 0, sizeof mail->args);
    if (result > 0) {
        answer_fetch_fault(mail, &fault);
        return 0;
    }
    mail->args[0] = fragment->host_body;
    mail->args[1] = fragment->host_prefix;
    return 0;
}

static int on_fault(struct rep_engine *engine)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    struct dbi_fault fault;
    uint64_t ring_bytes;
    bool after = mail->fault.trapno == 3 || mail->fault.trapno == 1; /* int3, int1 */
    if (dbi_fault_find(engine->dbi, mail->fault.rip, after, &fault))
        return wd_fail(-WD_ERR_MACHINE,
                       "translated code faulted at %#llx (signal %llu, address %#llx) where no "
                       "instruction of the program is; this is a defect of wetdbg",
                       (unsigned long long)mail->fault.rip, (unsigned long long)mail->fault.signo,
                       (unsigned long long)mail->fault.address);
    int err = execution_cut(engine, fault.fragment, fault.insn,
                            mail->fault.gpr[15] - engine->host.ctx->ring_start, &ring_bytes);
    if (err)
        return err;
    mail->args[0] = fault.pc;
    mail->args[1] = fault.spilled;
    mail->args[2] = fault.fragment->insn_count - fault.insn;
    mail->args[3] = ring_bytes;
    mail->args[4] = fault.flags_inexact;
    return 0;
}

static unsigned long long frame_of(const struct rep_engine *engine)
{
    const struct evq_entry *entry = current_entry(engine);
    return entry ? (unsigned long long)entry->frame : 0;
}

static const struct evq_regs *regs_of(const struct evq_entry *entry)
{
    return (const struct evq_regs *)(entry + 1);
}

/* In the batch: what is noted there reaches the source. */
static struct evq_place *place_of(const struct rep_engine *engine)
{
    const struct evq_entry *entry = current_entry(engine);
    if (!entry || entry->kind != EVQ_PLACE)
        return NULL;
    uint8_t *op = (uint8_t *)entry + sizeof *entry + sizeof(struct evq_regs);
    return (struct evq_place *)(op + sizeof(struct evq_op));
}

/* `seen`: what the program came to instead; 0: it still runs. */
static int place_not_found(struct rep_engine *engine, unsigned seen, uint64_t rip)
{
    const struct evq_entry *entry = current_entry(engine);
    char what[64] = "?";
    if (entry && entry->number)
        snprintf(what, sizeof what, "signal %d", entry->number);
    else if (entry)
        snprintf(what, sizeof what, "a switch to another thread");
    return wd_fail(
        -WD_ERR_DIVERGED,
        "replay diverged at event %llu, instruction %llu: the place of %s (%#llx) was not "
        "found before %s at %#llx; its registers were met %llu times, with other memory",
        frame_of(engine), (unsigned long long)rep_engine_time(engine), what,
        entry ? (unsigned long long)regs_of(entry)->r[EVQ_RIP] : 0ull,
        seen ? "the next event" : "giving up", (unsigned long long)rip,
        (unsigned long long)engine->arrivals);
}

static int on_diverged(struct rep_engine *engine)
{
    const uint64_t *args = engine->host.ctx->mail.args;
    const struct evq_entry *entry = current_entry(engine);
    unsigned long long frame = frame_of(engine), a = args[1], b = args[2], c = args[3];
    unsigned long long time = rep_engine_time(engine), rip = engine->host.ctx->rip;
    /* registers are compared before an entry counts as taken, its ops are applied after that */
    unsigned long long ops_frame = engine->taken_frame;
    switch (args[0]) {
    case AGT_DIV_REGISTER:
        return wd_fail(-WD_ERR_DIVERGED,
                       "replay diverged at event %llu, instruction %llu, %#llx: %s is %#llx, "
                       "recorded %#llx",
                       frame, time, rip, a < EVQ_REG_COUNT ? reg_names[a] : "?", c, b);
    case AGT_DIV_EVENT:
        return wd_fail(-WD_ERR_DIVERGED,
                       "replay diverged at event %llu, instruction %llu: recorded %s, replayed "
                       "exit %llu at %#llx",
                       frame, time, entry ? rep_entry_kind_name(entry->kind) : "nothing more", b,
                       c);
    case AGT_DIV_SIGNAL:
        return wd_fail(-WD_ERR_DIVERGED,
                       "replay diverged at event %llu, instruction %llu: signal %llu (code %lld, "
                       "address %#llx) at %#llx, recorded signal %d (code %lld, address %#llx)",
                       frame, time, a, (long long)b, c, rip, entry ? entry->number : 0,
                       entry ? (long long)entry->code : 0,
                       entry ? (unsigned long long)entry->address : 0);
    case AGT_DIV_MEMORY:
        return wd_fail(-WD_ERR_DIVERGED,
                       "replay diverged at event %llu: %s of %llu bytes at %#llx, where nothing is "
                       "mapped",
                       ops_frame, rep_opcode_name((unsigned)a), c, b);
    case AGT_DIV_PLACE:
        return place_not_found(engine, (unsigned)a, b);
    case AGT_DIV_HOST:
        return wd_fail(-WD_ERR_MACHINE, "event %llu: %s at %#llx: %s", ops_frame,
                       rep_opcode_name((unsigned)a), c, strerror((int)b));
    default:
        return wd_fail(-WD_ERR_MACHINE,
                       "the replay agent faulted at +%#llx (address %#llx, signal %llu) at event "
                       "%llu; this is a defect of wetdbg",
                       a, b, c, frame);
    }
}

static int on_unsupported(struct rep_engine *engine)
{
    const uint64_t *args = engine->host.ctx->mail.args;
    char text[128] = "?";
    uint8_t code[15];
    size_t done = 0;
    uint64_t rip = args[1];
    if (!rep_engine_read(engine, rip, code, sizeof code, &done))
        ins_text(code, done, rip, text, sizeof text);
    return wd_fail(-WD_ERR_UNSUPPORTED, "the instruction at %#llx (%s) cannot be replayed",
                   (unsigned long long)rip, text);
}

/* ---- places of asynchronous events ---- */

/* The agent is about to look for the place: everything that comes by there has to stop. */
static int on_stop(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t pc = ctx->mail.args[0];
    int err = log_drain(engine);
    const struct evq_place *place = place_of(engine);
    if (err || !place)
        return err ? err : wd_fail(-WD_ERR_MACHINE, "the replay process asked for no place");
    ctx->stop_pc = pc;
    ctx->stop_body = 0;
    engine->arrivals = 0;
    engine->place_cap = place->limit ? rep_engine_time(engine) + place->limit : NEVER;
    err = dbi_stop_at(engine->dbi, pc);
    return err ? err : limit_plan(engine);
}

static int stop_clear(struct rep_engine *engine)
{
    engine->host.ctx->stop_pc = engine->host.ctx->stop_body = 0;
    engine->place_cap = NEVER;
    int err = dbi_stop_at(engine->dbi, 0);
    return err ? err : limit_plan(engine);
}

/* 1 if the bytes have that digest, 0 if not (or not all of them are mapped). */
static int digest_agrees(struct rep_engine *engine, uint64_t start, uint64_t count, uint64_t digest)
{
    size_t done;
    engine->memory.size_bytes = 0;
    int err = wd_buf_append_zeros(&engine->memory, count);
    if (!err)
        err = rep_engine_read(engine, start, engine->memory.data, count, &done);
    return err ? err : done == count && XXH3_64bits(engine->memory.data, count) == digest;
}

static int memory_agrees(struct rep_engine *engine, const struct evq_place *place)
{
    int agrees = 1;
    if (place->flags & EVQ_PLACE_STACK)
        agrees = digest_agrees(engine, place->stack_start, place->stack_bytes, place->stack_digest);
    if (agrees > 0 && place->flags & EVQ_PLACE_DATA)
        agrees = digest_agrees(engine, place->data_start, place->data_bytes, place->data_digest);
    return agrees;
}

static int on_place(struct rep_engine *engine)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    int err = log_drain(engine);
    struct evq_place *place = place_of(engine);
    if (err || !place)
        return err ? err : wd_fail(-WD_ERR_MACHINE, "the replay process asked for no place");
    engine->arrivals++;
    int agrees = memory_agrees(engine, place);
    if (agrees > 0 && engine->part)
        place->flags |= EVQ_PLACE_MID_REP;
    if (agrees > 0)
        err = stop_clear(engine);
    engine->part = agrees > 0 ? 0 : engine->part;
    mail->args[0] = agrees > 0;
    return agrees < 0 ? agrees : err;
}

/* The element size in bytes of a string instruction with a rep prefix; 0: it is none. */
static unsigned rep_element(const struct dbi_fragment *fragment)
{
    struct ins_info info;
    if (ins_decode(fragment->code, fragment->code_bytes, fragment->pc, &info))
        return 0;
    for (unsigned m = 0; m < info.mem_count; m++) {
        if (info.mems[m].flags & INS_MEM_REP)
            return info.mems[m].size_bytes;
    }
    return 0;
}

static int on_place_rep(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t count = ctx->mail.args[0] - ctx->mail.args[1];
    const struct dbi_fragment *fragment;
    struct dbi_fetch_fault fault;
    int result = dbi_translate_exact(engine->dbi, ctx->rip, 1, &fragment, &fault);
    if (result < 0)
        return result;
    if (result > 0 || !rep_element(fragment)) {
        ctx->mail.args[0] = 0;
        return 0;
    }
    engine->part = fragment->id + 1;
    ctx->mail.args[0] = count;
    ctx->mail.args[1] = fragment->host_body;
    return 0;
}

/* That part was no place: it and the rest are one execution. */
static int on_place_undo(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    if (!engine->part || engine->mode == DBI_COLLECT)
        return wd_fail(-WD_ERR_MACHINE, "the replay process took back what it did not do");
    if (engine->mode == DBI_COUNT)
        ((uint64_t *)(engine->host.shm + AGT_COUNT_OFF))[engine->part - 1]--;
    ctx->r15--;
    engine->part = 0;
    return 0;
}

static int on_time(struct rep_engine *engine, bool *done)
{
    if (!engine->ends_at_goal)
        return limit_plan(engine);
    if (engine->run_exact || engine->place_cap < engine->run_goal) {
        int err = log_drain(engine);
        return err ? err : place_not_found(engine, 0, engine->host.ctx->rip);
    }
    *done = true;
    return 0;
}

static int on_request(struct rep_engine *engine, enum rep_stop *why, bool *done)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    int err;
    switch (mail->request) {
    case AGT_REQ_TRANSLATE:
        return on_translate(engine, done);
    case AGT_REQ_EVENTS:
        return batch_refill(engine);
    case AGT_REQ_LOG_FULL:
        return log_drain(engine);
    case AGT_REQ_TIME:
        return on_time(engine, done);
    case AGT_REQ_END:
        *why = REP_STOP_END;
        *done = true;
        return 0;
    case AGT_REQ_STOP:
        return on_stop(engine);
    case AGT_REQ_PLACE:
        return on_place(engine);
    case AGT_REQ_PLACE_REP:
        return on_place_rep(engine);
    case AGT_REQ_PLACE_UNDO:
        return on_place_undo(engine);
    case AGT_REQ_PLACE_TIME:
        engine->place_goal = mail->args[0];
        return limit_plan(engine);
    case AGT_REQ_PLACE_TAKEN:
        engine->place_goal = NEVER;
        return limit_plan(engine);
    case AGT_REQ_FAULT:
        return on_fault(engine);
    case AGT_REQ_CODE_CHANGED:
        return code_forget(engine, mail->args[0], mail->args[1]);
    case AGT_REQ_DIVERGED:
        err = log_drain(engine);
        return err ? err : on_diverged(engine);
    case AGT_REQ_UNSUPPORTED:
        err = log_drain(engine);
        return err ? err : on_unsupported(engine);
    default:
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent an unknown request");
    }
}

int rep_engine_run(struct rep_engine *engine, const struct rep_source *source, uint64_t limit,
                   bool exact, enum rep_stop *why)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    bool done = false;
    *why = REP_STOP_TIME;
    engine->source = source;
    if (engine->mode == DBI_COLLECT)
        engine->host.ctx->r15 = engine->host.ctx->ring_start;
    uint64_t now = rep_engine_time(engine);
    engine->run_goal = limit < RUN_MAX ? now + limit : NEVER - 1;
    engine->run_exact = exact;
    int err = limit_plan(engine);
    if (engine->asked_translation) {
        engine->asked_translation = false;
        mail->args[0] = mail->args[1] = 0;
        mail->args[2] = 1;
    }
    while (!err && !done) {
        mail->command = AGT_CMD_CONTINUE;
        err = rep_host_exchange(&engine->host, engine->flag);
        if (!err)
            err = on_request(engine, why, &done);
    }
    return err ? err : log_drain(engine);
}

int rep_engine_reset(struct rep_engine *engine)
{
    struct agt_ctx *ctx = engine->host.ctx;
    uint64_t reply;
    if (engine->mode == DBI_COUNT)
        memset(engine->host.shm + AGT_COUNT_OFF, 0, 8ull * dbi_fragment_count(engine->dbi));
    int err = command(engine, AGT_CMD_RESET, 0, 0, 0, &reply);
    ctx->queue_head_bytes = ctx->queue_tail_bytes = 0;
    ctx->seq = engine->seq = 0;
    ctx->log_bytes = 0;
    engine->batch.size_bytes = engine->batch_at = engine->spare.size_bytes = 0;
    engine->time_base = 0;
    engine->started = false;
    engine->unverified = true;
    engine->place_goal = engine->place_cap = NEVER;
    engine->part = 0;
    if (!err)
        err = dbi_stop_at(engine->dbi, 0);
    return err;
}

/* ---- while it stands still ---- */

int rep_engine_tasks(struct rep_engine *engine, const struct agt_task **tasks, uint32_t *running)
{
    uint64_t reply;
    int err = command(engine, AGT_CMD_STATE, 0, 0, 0, &reply);
    if (err)
        return err;
    *tasks = (const struct agt_task *)(engine->host.shm + AGT_TASKS_OFF);
    *running = engine->host.ctx->task < EVQ_TASKS_MAX ? engine->host.ctx->task : 0;
    return 0;
}

int rep_engine_read(struct rep_engine *engine, uint64_t address, void *bytes, size_t count,
                    size_t *done)
{
    *done = 0;
    while (*done < count) {
        size_t piece = count - *done < AGT_XFER_BYTES ? count - *done : AGT_XFER_BYTES;
        uint64_t reply;
        int err = command(engine, AGT_CMD_READ, address + *done, piece, 0, &reply);
        if (err)
            return err;
        if (reply > piece)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged reply");
        memcpy((uint8_t *)bytes + *done, engine->host.shm + AGT_XFER_OFF, reply);
        *done += reply;
        if (reply < piece)
            break;
    }
    return 0;
}

int rep_engine_views(struct rep_engine *engine, const struct agt_view **views, size_t *count)
{
    uint64_t reply;
    int err = command(engine, AGT_CMD_VIEWS, 0, 0, 0, &reply);
    if (err)
        return err;
    if (reply > AGT_XFER_BYTES / sizeof(struct agt_view))
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged reply");
    *views = (const struct agt_view *)(engine->host.shm + AGT_XFER_OFF);
    *count = reply;
    return 0;
}

static int lines_take(struct rep_engine *engine, uint64_t bytes, rep_line_fn fn, void *arg)
{
    const uint8_t *area = engine->host.shm + AGT_XFER_OFF;
    const size_t record = 8 + AGT_LINE_BYTES;
    if (bytes > AGT_XFER_BYTES || bytes % record)
        return wd_fail(-WD_ERR_MACHINE, "the replay process sent damaged memory lines");
    for (uint64_t at = 0; at < bytes; at += record) {
        uint64_t address;
        memcpy(&address, area + at, 8);
        int err = fn(arg, address, area + at + 8);
        if (err)
            return err;
    }
    return 0;
}

int rep_engine_lines(struct rep_engine *engine, rep_line_fn fn, void *arg)
{
    struct agt_mail *mail = &engine->host.ctx->mail;
    uint64_t reply;
    int err = command(engine, AGT_CMD_LINES, 0, 0, 0, &reply);
    while (!err && mail->request == AGT_REQ_LINES) {
        err = lines_take(engine, mail->args[0], fn, arg);
        mail->command = AGT_CMD_CONTINUE;
        if (!err)
            err = rep_host_exchange(&engine->host, NULL);
    }
    return err ? err : lines_take(engine, mail->args[0], fn, arg);
}

const uint64_t *rep_engine_ring(const struct rep_engine *engine, size_t *bytes)
{
    uint64_t used = engine->host.ctx->r15 - engine->host.ctx->ring_start;
    *bytes = used <= AGT_RING_BYTES ? used & ~7ull : 0;
    return (const uint64_t *)(engine->host.shm + AGT_RING_OFF);
}

const struct dbi_fragment *rep_engine_fragment(const struct rep_engine *engine, uint32_t id)
{
    return dbi_fragment_get(engine->dbi, id);
}

uint32_t rep_engine_fragment_count(const struct rep_engine *engine)
{
    return dbi_fragment_count(engine->dbi);
}

uint64_t rep_engine_executions(const struct rep_engine *engine, uint32_t id)
{
    return ((const uint64_t *)(engine->host.shm + AGT_COUNT_OFF))[id];
}
