/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/tell.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "predicate_switch/answer.h"
#include "recorder/event/ops.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define PIECES_MAX    4096
#define ZEROS_MAX     (16u << 20)
#define STEP          (64u << 20)
#define INFO_OFF_REG  EVQ_RSI /* where a handler finds its siginfo_t */
#define INFO_CODE     8       /* in a siginfo_t */
#define INFO_ADDRESS  16
#define SYSCALL_BYTES 2

struct teller {
    struct wetdbg *wet;
    struct rep_engine *engine;
    const struct psw_surroundings *where;
    struct psw_told *told;
    struct vk_memory memory;
    uint64_t k;            /* interval that comes next */
    struct wd_buf entries; /* of the one before */
    size_t at;
    struct wd_buf given; /* the entry that was given last: it has been taken */
    uint32_t task;       /* that ran last */
    bool is_in_call[EVQ_TASKS_MAX];
    struct evq_entry signal[EVQ_TASKS_MAX]; /* that has arrived; kind 0: none */
    struct wd_buf writes; /* of calls that have not ended: struct write, and bytes */
    size_t output;        /* the next of the run's outputs */
    struct wd_buf input;  /* what standard input still held, as the file has it */
};

static uint64_t now(const struct teller *teller)
{
    return rep_engine_time(teller->engine);
}

/* ---- the start ---- */

/* What standard input still held, into teller->input: nothing, if that is not known. */
static int input_read(struct teller *teller, struct rrt_input_head *head)
{
    teller->input.size_bytes = 0;
    int err = wet_whole_input(teller->wet, head, &teller->input);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

static int input_tell(struct teller *teller)
{
    struct rrt_input_head head;
    const struct wd_buf *input = &teller->input;
    if (!rrt_input_is_sound(input->data, input->size_bytes, &head))
        return 0;
    int err = vk_history_input(teller->told->history, head.at, input->data + sizeof(head),
                               input->size_bytes - sizeof(head), head.flags & RRT_INPUT_ALL);
    return err == -WETDBG_ERR_UNSUPPORTED ? 0 : err;
}

static struct timespec time_of(int64_t nanoseconds)
{
    return (struct timespec){nanoseconds / 1000000000, nanoseconds % 1000000000};
}

static struct vk_stream stream_of(const struct rrt_inherited *found)
{
    const int64_t *fields = found->fields;
    return (struct vk_stream){
        .is_known = found->is_known,
        .flags = (uint32_t)fields[RRT_INHERITED_FLAGS],
        .start = fields[RRT_INHERITED_POSITION] < 0 ? 0 : (uint64_t)fields[RRT_INHERITED_POSITION],
        .st = {.st_dev = (dev_t)fields[RRT_INHERITED_DEV],
               .st_ino = (ino_t)fields[RRT_INHERITED_INO],
               .st_mode = (mode_t)fields[RRT_INHERITED_MODE],
               .st_nlink = (nlink_t)fields[RRT_INHERITED_NLINK],
               .st_uid = (uid_t)fields[RRT_INHERITED_UID],
               .st_gid = (gid_t)fields[RRT_INHERITED_GID],
               .st_rdev = (dev_t)fields[RRT_INHERITED_RDEV],
               .st_size = fields[RRT_INHERITED_SIZE],
               .st_blksize = fields[RRT_INHERITED_BLKSIZE],
               .st_blocks = fields[RRT_INHERITED_BLOCKS],
               .st_atim = time_of(fields[RRT_INHERITED_ATIME_NS]),
               .st_mtim = time_of(fields[RRT_INHERITED_MTIME_NS]),
               .st_ctim = time_of(fields[RRT_INHERITED_CTIME_NS])}};
}

static int start_tell(struct teller *teller, uint32_t task)
{
    const struct wetdbg_info *info = wetdbg_get_info(teller->wet);
    const struct agt_view *views;
    size_t count;
    int err = rep_engine_views(teller->engine, &views, &count);
    if (err)
        return err;
    struct vk_mapping *mappings = calloc(count + 1, sizeof(*mappings));
    if (!mappings)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        mappings[i] = (struct vk_mapping){.start = views[i].start,
                                          .end = views[i].end,
                                          .prot = (int)views[i].prot,
                                          .name = wet_whole_name(teller->wet, views[i].name)};
    struct rrt_input_head input = {0};
    err = input_read(teller, &input);
    struct vk_start start = {.input_is_file =
                                 input.flags & RRT_INPUT_FILE || teller->where->input_is_file,
                             .input_start = input.start,
                             .pid = info->pid,
                             .task = task,
                             .exe = info->program,
                             .input_is_null = teller->where->input_is_null,
                             .output_is_file = teller->where->output_is_file,
                             .cwd = teller->where->cwd,
                             .disk_before_ns = teller->where->disk_before_ns,
                             .disk_until_ns = teller->where->disk_until_ns,
                             .mappings = mappings,
                             .mapping_count = count};
    for (int fd = 0; fd < VK_STREAMS; fd++)
        start.streams[fd] = stream_of(&wet_whole_inherited(teller->wet)[fd]);
    if (!err)
        err = vk_history_new(&start, &teller->told->history);
    free(mappings);
    const struct agt_task *tasks;
    uint32_t running;
    if (!err)
        err = rep_engine_tasks(teller->engine, &tasks, &running);
    if (!err)
        vk_history_stack(teller->told->history, tasks[running].regs.r[EVQ_RSP], &teller->memory);
    teller->task = task;
    return err;
}

/* ---- calls ---- */

/* A piece that a call wrote, in teller->writes: its bytes follow, padded to 8. */
struct write {
    uint64_t task, address, size;
};

static int writes_note(struct teller *teller, const struct evq_entry *entry)
{
    int err = 0;
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        bool is_write = op->op == EVQ_OP_WRITE;
        if (!is_write && (op->op != EVQ_OP_ZERO || op->range.size > ZEROS_MAX))
            continue;
        struct write head = {entry->task, op->range.start, op->range.size};
        err = wd_buf_append(&teller->writes, &head, sizeof(head));
        if (!err)
            err = is_write ? wd_buf_append(&teller->writes, evq_op_payload(op), head.size)
                           : wd_buf_append_zeros(&teller->writes, head.size);
        if (!err)
            err = wd_buf_append_zeros(&teller->writes, -head.size & 7);
    }
    return err;
}

/* Takes the pieces of a task out of what was noted. */
static size_t writes_take(const struct teller *teller, uint32_t task, struct vk_piece *pieces)
{
    size_t count = 0;
    for (size_t at = 0; at < teller->writes.size_bytes && count < PIECES_MAX;) {
        struct write head;
        memcpy(&head, teller->writes.data + at, sizeof(head));
        at += sizeof(head);
        if (head.task == task)
            pieces[count++] = (struct vk_piece){head.address, head.size, teller->writes.data + at};
        at += (head.size + 7) & ~7ull;
    }
    return count;
}

static void writes_drop(struct teller *teller, uint32_t task)
{
    size_t kept = 0;
    struct wd_buf *writes = &teller->writes;
    for (size_t at = 0; at < writes->size_bytes;) {
        struct write head;
        memcpy(&head, writes->data + at, sizeof(head));
        size_t bytes = sizeof(head) + ((head.size + 7) & ~7ull);
        if (head.task != task) {
            memmove(writes->data + kept, writes->data + at, bytes);
            kept += bytes;
        }
        at += bytes;
    }
    writes->size_bytes = kept;
}

/* What the run put out by the call at this time. */
static int outputs_note(struct teller *teller, uint32_t task)
{
    struct psw_told *told = teller->told;
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(teller->wet, &count);
    int err = 0;
    for (; !err && teller->output < count && outputs[teller->output].time <= now(teller);
         teller->output++) {
        const struct wetdbg_output *output = &outputs[teller->output];
        if (output->time != now(teller) || !vk_history_puts_out(told->history, output->fd))
            continue;
        told->outputs[told->output_count++] = (struct psw_output){
            output->time, VK_NEVER, task, output->fd, told->bytes.size_bytes, output->size};
        err = wd_buf_append_zeros(&told->bytes, output->size);
        if (!err)
            err = teller->memory.read(teller->memory.arg, output->address,
                                      told->bytes.data + told->bytes.size_bytes - output->size,
                                      output->size);
    }
    return err;
}

/* The task's call has come back. */
static void outputs_end(const struct teller *teller, uint32_t task)
{
    const struct psw_told *told = teller->told;
    for (size_t i = told->output_count; i > 0; i--) {
        struct psw_output *output = &told->outputs[i - 1];
        if (output->task == task && output->ended != VK_NEVER)
            return;
        if (output->task == task)
            output->ended = now(teller);
    }
}

/* ---- mappings ---- */

static int space_tell(struct teller *teller, const struct evq_entry *entry, uint64_t start,
                      uint64_t size, int prot, uint64_t name)
{
    return vk_history_space(teller->told->history, now(teller), entry->task, start, size, prot,
                            wet_whole_name(teller->wet, name));
}

/* What is in [start, start + size) now. */
static int views_tell(struct teller *teller, const struct evq_entry *entry, uint64_t start,
                      uint64_t size)
{
    const struct agt_view *views;
    size_t count;
    int err = rep_engine_views(teller->engine, &views, &count);
    for (size_t i = 0; !err && i < count; i++) {
        uint64_t from = views[i].start > start ? views[i].start : start;
        uint64_t to = views[i].end < start + size ? views[i].end : start + size;
        if (from < to)
            err = space_tell(teller, entry, from, to - from, (int)views[i].prot, views[i].name);
    }
    return err;
}

/* What the entry's ops have made of the mappings. */
static int mappings_tell(struct teller *teller, const struct evq_entry *entry)
{
    int err = 0;
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        switch (op->op) {
        case EVQ_OP_UNMAP:
            err = space_tell(teller, entry, op->range.start, op->range.size, -1, EVQ_NAME_NONE);
            break;
        case EVQ_OP_MAP:
        case EVQ_OP_PROTECT:
            err = views_tell(teller, entry, op->range.start, op->range.size);
            break;
        case EVQ_OP_REMAP:
            err = op->remap.stays ? 0
                                  : space_tell(teller, entry, op->remap.start, op->remap.size, -1,
                                               EVQ_NAME_NONE);
            if (!err)
                err = views_tell(teller, entry, op->remap.to, op->remap.to_size);
            break;
        default:
            break;
        }
    }
    return err;
}

/* ---- calls, told ---- */

static int call_begin_tell(struct teller *teller, const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_regs(entry);
    if (!regs)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "a call without registers at event %llu",
                           (unsigned long long)entry->frame);
    struct vk_call call = {.when = now(teller),
                           .task = entry->task,
                           .number = entry->number,
                           .args = {regs->r[EVQ_RDI], regs->r[EVQ_RSI], regs->r[EVQ_RDX],
                                    regs->r[EVQ_R10], regs->r[EVQ_R8], regs->r[EVQ_R9]},
                           .stack = regs->r[EVQ_RSP]};
    int err = vk_history_begin(teller->told->history, &call, &teller->memory);
    teller->is_in_call[entry->task] = true;
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_TASK_NEW)
            err = vk_history_task_new(teller->told->history, now(teller), entry->task,
                                      (uint32_t)op->task_new.task, (int)op->task_new.tid);
    }
    if (!err)
        err = mappings_tell(teller, entry);
    if (!err)
        err = outputs_note(teller, entry->task);
    return err ? err : writes_note(teller, entry);
}

static int call_end_tell(struct teller *teller, const struct evq_entry *entry)
{
    const struct evq_regs *loads = evq_entry_loads(entry);
    struct vk_piece *pieces = calloc(PIECES_MAX, sizeof(*pieces));
    int err = pieces ? writes_note(teller, entry) : -ENOMEM;
    size_t count = err ? 0 : writes_take(teller, entry->task, pieces);
    if (!err && teller->is_in_call[entry->task])
        err =
            vk_history_end(teller->told->history, entry->task, now(teller),
                           loads ? (int64_t)loads->r[EVQ_RAX] : 0, pieces, count, &teller->memory);
    teller->is_in_call[entry->task] = false;
    outputs_end(teller, entry->task);
    writes_drop(teller, entry->task);
    free(pieces);
    return err ? err : mappings_tell(teller, entry);
}

/* ---- other events ---- */

/* A siginfo_t: what the event tells of it, number, code and the 8 bytes behind, and all that a
 * handler found, at `found`, if it was given one (SA_SIGINFO). */
static void info_find(const struct teller *teller, const struct evq_entry *arrived, uint64_t found,
                      uint8_t info[128])
{
    const int32_t head[3] = {arrived->number, 0, (int32_t)arrived->code};
    uint8_t there[128];
    memset(info, 0, 128);
    memcpy(info, head, sizeof(head));
    memcpy(info + INFO_ADDRESS, &arrived->address, sizeof(arrived->address));
    if (found && !teller->memory.read(teller->memory.arg, found, there, sizeof(there)) &&
        !memcmp(there, info, sizeof(int32_t)) &&
        !memcmp(there + INFO_CODE, info + INFO_CODE, INFO_ADDRESS + 8 - INFO_CODE))
        memcpy(info, there, sizeof(there));
}

/* A signal that has arrived, and what comes of it. */
static int signal_tell(struct teller *teller, const struct evq_entry *entry)
{
    struct evq_entry *arrived = &teller->signal[entry->task];
    const struct evq_regs *loads = evq_entry_loads(entry), *was = evq_entry_regs(entry);
    uint8_t info[128];
    bool calls = loads && was && loads->r[EVQ_RIP] != was->r[EVQ_RIP] &&
                 loads->r[EVQ_RDI] == (uint64_t)arrived->number;
    info_find(teller, arrived, calls ? loads->r[INFO_OFF_REG] : 0, info);
    int err = vk_history_signal(teller->told->history, now(teller), entry->task, arrived->number,
                                info, arrived->kind == EVQ_FAULT, calls);
    arrived->kind = 0;
    return err;
}

/* rdtscp tells the processor's number in rcx, unless the recorder left that as it was. */
static void rdtscp_note(struct teller *teller, const struct evq_regs *loads)
{
    static const uint8_t rdtscp[] = {0x0f, 0x01, 0xf9};
    uint8_t code[sizeof(rdtscp)];
    if (!teller->memory.read(teller->memory.arg, loads->r[EVQ_RIP] - sizeof(code), code,
                             sizeof(code)) &&
        !memcmp(code, rdtscp, sizeof(code)) &&
        loads->r[EVQ_RCX] != wet_whole_processor(teller->wet))
        teller->told->rdtscp_leaves_rcx = true;
}

static int trap_tell(struct teller *teller, const struct evq_entry *entry)
{
    static const uint8_t cpuid[] = {0x0f, 0xa2};
    const struct evq_regs *loads = evq_entry_loads(entry), *regs = evq_entry_regs(entry);
    uint8_t code[sizeof(cpuid)];
    bool is_counter = loads && regs &&
                      !teller->memory.read(teller->memory.arg, regs->r[EVQ_RIP] - sizeof(code),
                                           code, sizeof(code)) &&
                      memcmp(code, cpuid, sizeof(code));
    if (!is_counter)
        return 0;
    rdtscp_note(teller, loads);
    return vk_history_counter(teller->told->history, now(teller),
                              loads->r[EVQ_RDX] << 32 | (uint32_t)loads->r[EVQ_RAX]);
}

static int entry_tell(struct teller *teller, const struct evq_entry *entry)
{
    uint32_t task = entry->task;
    if (!teller->told->history)
        return 0;
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        return call_begin_tell(teller, entry);
    case EVQ_SYSCALL_EXIT:
        return call_end_tell(teller, entry);
    case EVQ_TRAP:
        return trap_tell(teller, entry);
    case EVQ_FAULT:
    case EVQ_PLACE:
        if (entry->number)
            teller->signal[task] = *entry;
        return 0;
    case EVQ_OPS:
        if (teller->signal[task].kind && entry->number == teller->signal[task].number)
            return signal_tell(teller, entry);
        return teller->is_in_call[task] ? writes_note(teller, entry) : mappings_tell(teller, entry);
    case EVQ_TASK_EXIT:
        return vk_history_task_end(teller->told->history, now(teller), task);
    default:
        return 0;
    }
}

/* ---- replaying ---- */

/* The next entry of the run; NULL at its end. */
static int entry_find(struct teller *teller, const struct evq_entry **out)
{
    int err = 0;
    *out = NULL;
    while (!err && teller->at >= teller->entries.size_bytes) {
        if (teller->k >= wetdbg_get_info(teller->wet)->intervals)
            return 0;
        teller->entries.size_bytes = teller->at = 0;
        err = wet_whole_entries(teller->wet, teller->k++, &teller->entries);
    }
    if (!err)
        *out = (const struct evq_entry *)(teller->entries.data + teller->at);
    return err;
}

/* Before an entry of another task than the one that ran. */
static int switch_tell(struct teller *teller, const struct evq_entry *entry)
{
    bool is_switch = entry->task != teller->task && entry->kind != EVQ_END;
    uint32_t before = teller->task;
    if (!is_switch)
        return 0;
    teller->task = entry->task;
    if (teller->is_in_call[before])
        return 0;
    return vk_history_switch(teller->told->history, now(teller), entry->task);
}

/* Gives one entry at a time: when it asks for another one, the program stands where that one was
 * taken. */
static int tell_next(void *arg, struct wd_buf *out)
{
    struct teller *teller = arg;
    const struct evq_entry *entry;
    if (out->size_bytes)
        return 0;
    int err = teller->given.size_bytes
                  ? entry_tell(teller, (const struct evq_entry *)teller->given.data)
                  : 0;
    teller->given.size_bytes = 0;
    if (!err)
        err = entry_find(teller, &entry);
    if (err || !entry)
        return err;
    if (!teller->told->history && wet_entry_is_reached(entry))
        err = start_tell(teller, entry->task);
    if (!err && teller->told->history)
        err = switch_tell(teller, entry);
    if (!err)
        err = wd_buf_append(out, entry, entry->bytes);
    if (!err)
        err = wd_buf_append(&teller->given, entry, entry->bytes);
    teller->at += entry->bytes;
    return err ? err : 1;
}

int psw_tell(struct wetdbg *wet, struct rep_engine *engine, const struct psw_surroundings *where,
             struct psw_told *told)
{
    struct teller *teller = calloc(1, sizeof(*teller));
    struct rep_source source = {.next = tell_next, .arg = teller};
    enum rep_stop why = REP_STOP_TIME;
    size_t count;
    wetdbg_outputs(wet, &count);
    *told = (struct psw_told){.outputs = calloc(count + 1, sizeof(*told->outputs))};
    int err = teller && told->outputs ? 0 : -ENOMEM;
    if (!err)
        *teller = (struct teller){.wet = wet,
                                  .engine = engine,
                                  .where = where,
                                  .told = told,
                                  .memory = psw_memory(engine)};
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(engine, &source, STEP, false, &why);
    if (!err && !told->history)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the run has no instruction");
    if (!err)
        err = input_tell(teller);
    if (!err)
        err = vk_history_finish(told->history, rep_engine_time(engine));
    if (teller) {
        wd_buf_fini(&teller->entries);
        wd_buf_fini(&teller->given);
        wd_buf_fini(&teller->writes);
        wd_buf_fini(&teller->input);
    }
    free(teller);
    return err;
}

void psw_told_fini(struct psw_told *told)
{
    if (told->history)
        vk_history_free(told->history);
    free(told->outputs);
    wd_buf_fini(&told->bytes);
}
