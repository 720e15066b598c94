/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recording, passed once. A kernel passes with it: each call is asked of a copy of that, first
 * at its begin, where what it reads of memory is kept, and again at its end, where its answer is
 * compared with the recorded one. So a kernel can later be brought to any time without memory.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include "predicate_switch/kernel/vk_calls.h"
#include <wetdbg/errors.h>

#define DIFFERENCES_MAX 4096
#define GIB             (UINT64_C(1) << 30)
#define MIB             (UINT64_C(1) << 20)

/* ---- making one ---- */

static int start_copy(struct vk_history *h, const struct vk_start *start)
{
    struct vk_mapping *maps = calloc(start->mapping_count + 1, sizeof(*maps));
    h->start = *start;
    h->start.mappings = maps;
    h->start.mapping_count = 0;
    h->exe = start->exe ? strdup(start->exe) : NULL;
    h->cwd = start->cwd ? strdup(start->cwd) : NULL;
    if (!maps || (start->exe && !h->exe) || (start->cwd && !h->cwd))
        return -ENOMEM;
    h->start.exe = h->exe;
    h->start.cwd = h->cwd;
    for (size_t i = 0; i < start->mapping_count; i++) {
        maps[i] = start->mappings[i];
        maps[i].name = strdup(maps[i].name ? maps[i].name : "");
        if (!maps[i].name)
            return -ENOMEM;
        h->start.mapping_count++;
    }
    struct vk_limits *limits = &h->start.limits;
    limits->memory_bytes = limits->memory_bytes ? limits->memory_bytes : GIB;
    limits->output_bytes = limits->output_bytes ? limits->output_bytes : 64 * MIB;
    limits->file_bytes = limits->file_bytes ? limits->file_bytes : 256 * MIB;
    return 0;
}

/* A descriptor that the program began with, as the recorder found it. */
static void stream_start(struct vk_history *h, uint32_t fd, const struct vk_stream *stream)
{
    struct vk_base *base = vk_base_at(h, fd + 1);
    if (!stream->is_known)
        return;
    h->stream_flags[fd] = stream->flags;
    base->format = stream->st.st_mode & S_IFMT;
    base->st = stream->st;
    base->has_stat = base->is_stat_told = true;
    base->has_size = S_ISREG(stream->st.st_mode);
    h->stream_starts[fd] = base->has_size ? stream->start : 0;
}

static int bases_start(struct vk_history *h)
{
    uint32_t root = vk_base_child(h, 0, "", 0);
    if (root == VK_NONE)
        return -ENOMEM;
    struct vk_base *base = vk_base_at(h, root);
    base->presence = VK_PRESENCE_THERE;
    base->format = S_IFDIR;
    for (int i = 0; i < 3; i++) { /* no path leads to a name with a slash */
        char name[3] = {'/', (char)('0' + i), 0};
        uint32_t stream = vk_base_child(h, root, name, 2);
        if (stream == VK_NONE)
            return -ENOMEM;
        vk_base_at(h, stream)->presence = VK_PRESENCE_THERE;
        vk_base_at(h, stream)->has_asked_disk = true;
    }
    for (uint32_t fd = 0; fd < VK_STREAMS; fd++)
        stream_start(h, fd, &h->start.streams[fd]);
    if (h->start.input_is_file) {
        vk_base_at(h, 1)->format = S_IFREG;
        h->stream_starts[0] = h->start.input_start;
    }
    for (uint32_t base = 2; base < 4 && h->start.output_is_file; base++) {
        vk_base_at(h, base)->format = S_IFREG;
        vk_base_at(h, base)->has_size = true;
    }
    return 0;
}

int vk_history_new(const struct vk_start *start, struct vk_history **out)
{
    struct vk_history *h = calloc(1, sizeof(*h));
    if (!h)
        return -ENOMEM;
    pthread_mutex_init(&h->lock, NULL);
    for (int i = 0; i < 3; i++)
        h->stream_flags[i] = VK_NONE;
    int err = start->task < VK_TASKS_MAX ? start_copy(h, start)
                                         : wetdbg_fail(-WETDBG_ERR_CORRUPT, "task %u", start->task);
    if (!err)
        err = bases_start(h);
    if (!err)
        err = vk_kernel_new(h, &h->kernel);
    if (err) {
        vk_history_free(h);
        return err;
    }
    *out = h;
    return 0;
}

#define WORDS_MAX 65536

static bool word(const struct vk_memory *memory, uint64_t address, uint64_t *value)
{
    return !memory->read(memory->arg, address, value, sizeof(*value));
}

static void take_id(struct vk_scalars *s, uint64_t kind, uint64_t value)
{
    uint32_t id = (uint32_t)value;
    switch (kind) {
    case AT_UID:
        s->uid = id;
        break;
    case AT_EUID:
        s->euid = s->suid = id;
        break;
    case AT_GID:
        s->gid = id;
        break;
    case AT_EGID:
        s->egid = s->sgid = id;
        break;
    default:
        return;
    }
    s->ids_told |= 1u << (kind - AT_UID);
    s->knows_ids = s->ids_told == 15;
}

void vk_history_stack(struct vk_history *h, uint64_t stack, const struct vk_memory *memory)
{
    uint64_t value, kind, at = stack + 8;
    int lists = 0;
    for (int i = 0; i < WORDS_MAX && lists < 2; i++, at += 8) {
        if (!word(memory, at, &value))
            return;
        lists += !value; /* argv and environment end with zeros */
    }
    for (int i = 0; i < 64 && word(memory, at, &kind) && kind && word(memory, at + 8, &value);
         i++, at += 16)
        take_id(&h->first, kind, value);
    vk_first_facts(&h->kernel->s, &h->first);
}

static void pieces_free(struct vk_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)pieces[i].bytes);
    free(pieces);
}

void vk_history_free(struct vk_history *h)
{
    if (!h)
        return;
    vk_kernel_free(h->kernel);
    for (size_t i = 0; i < h->call_count; i++) {
        pieces_free(h->calls[i].reads, h->calls[i].read_count);
        pieces_free(h->calls[i].writes, h->calls[i].write_count);
    }
    for (size_t i = 0; i < h->space_count; i++)
        vk_text_drop(h->spaces[i].name);
    for (size_t i = 0; i < h->key_count; i++)
        free(h->keys[i].calls);
    for (size_t i = 0; i < h->difference_count; i++)
        free(h->differences[i].text);
    for (size_t i = 0; i < h->start.mapping_count; i++)
        free((void *)h->start.mappings[i].name);
    free((void *)h->start.mappings);
    vk_bases_free(h);
    free(h->calls);
    free(h->events);
    free(h->signals);
    free(h->counters);
    free(h->spaces);
    free(h->turns);
    free(h->keys);
    wd_index_fini(&h->key_index);
    free(h->chunks);
    free(h->differences);
    free(h->exe);
    free(h->cwd);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

/* ---- keys: which recorded answers are of the same question ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (wd_hash_u64(hash ^ value) >> 17) * UINT64_C(0x100000001b3) + value + 1;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = mix(hash, (uint8_t)*text);
    return hash;
}

static uint64_t mix_fd(uint64_t hash, const struct vk_kernel *k, uint64_t fd)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(k, (uint32_t)fd, &index);
    if (!open)
        return mix(hash, 1000 + (uint32_t)fd);
    hash = mix(hash, open->kind == VK_OPEN_OUTSIDE ? VK_OPEN_FILE : open->kind);
    if (open->outside)
        return mix(hash, open->outside);
    return open->path ? mix_text(hash, open->path->text) : mix(hash, (uint32_t)fd);
}

uint64_t vk_key_of(struct vk_run *run, const struct vk_call_row *row)
{
    char path[4096];
    uint64_t hash = mix(0, (uint32_t)run->call->number);
    bool has_path = false;
    if (!row->key)
        return 0;
    for (int i = 0; i < VK_ARGS; i++)
        if (row->key & VK_KEY_ARG(i))
            hash = mix(hash, run->a[i]);
    if (row->key & (VK_KEY_PATH0 | VK_KEY_PATH1)) {
        uint64_t address = run->a[row->key & VK_KEY_PATH1 ? 1 : 0];
        has_path = address && vk_get_string(run, address, path, sizeof(path)) > 0;
        if (has_path)
            hash = mix_text(hash, path);
    }
    if (row->key & VK_KEY_FD0 && !(has_path && *path == '/'))
        hash = (int)run->a[0] == -100 ? mix(hash, UINT64_MAX) : mix_fd(hash, run->k, run->a[0]);
    return hash | 1;
}

static uint32_t *key_place(const struct vk_history *h, uint64_t hash)
{
    const struct vk_key *keys = h->keys;
    return wd_index_find(&h->key_index, hash >> 3, i, keys[i].hash == hash);
}

uint32_t vk_key_find(const struct vk_history *h, uint64_t hash)
{
    uint32_t at = h->key_index.capacity ? *key_place(h, hash) : 0;
    return at ? at - 1 : VK_NONE;
}

static int key_add(struct vk_history *h, uint64_t hash, uint32_t *key)
{
    *key = vk_key_find(h, hash);
    if (*key != VK_NONE)
        return 0;
    if ((h->key_count + 1) * 2 > h->key_index.capacity) {
        if (wd_index_renew(&h->key_index, h->key_index.capacity ? 2 * h->key_index.capacity : 256))
            return -ENOMEM;
        for (size_t i = 0; i < h->key_count; i++)
            *key_place(h, h->keys[i].hash) = (uint32_t)i + 1;
    }
    if (wd_grow(h->keys, h->key_capacity, h->key_count + 1))
        return -ENOMEM;
    *key_place(h, hash) = (uint32_t)h->key_count + 1;
    *key = (uint32_t)h->key_count;
    h->keys[h->key_count++] = (struct vk_key){.hash = hash};
    return 0;
}

static int key_call(struct vk_history *h, uint64_t hash, uint32_t call)
{
    uint32_t index;
    if (!hash)
        return 0;
    if (key_add(h, hash, &index))
        return -ENOMEM;
    struct vk_key *key = &h->keys[index];
    if (wd_grow(key->calls, key->capacity, key->count + 1u))
        return -ENOMEM;
    key->calls[key->count++] = call;
    h->calls[call].key = index;
    return 0;
}

/* ---- memory that was kept ---- */

struct kept {
    const struct vk_history_call *call;
    const struct vk_memory *memory; /* for what was not; NULL: nothing */
};

static int kept_read(void *arg, uint64_t address, void *bytes, size_t size)
{
    const struct kept *kept = arg;
    for (uint32_t i = 0; i < kept->call->read_count; i++) {
        const struct vk_piece *piece = &kept->call->reads[i];
        if (address >= piece->address && address - piece->address <= piece->size &&
            size <= piece->size - (address - piece->address)) {
            memcpy(bytes, piece->bytes + (address - piece->address), size);
            return 0;
        }
    }
    return kept->memory ? kept->memory->read(kept->memory->arg, address, bytes, size) : -EFAULT;
}

static int keep_log(struct vk_history_call *call, struct vk_log *log)
{
    uint32_t capacity = call->read_count;
    if (log->err || wd_grow_exactly(call->reads, capacity, call->read_count + log->count)) {
        pieces_free(log->pieces, log->count);
        return -ENOMEM;
    }
    if (log->count)
        memcpy(call->reads + call->read_count, log->pieces, log->count * sizeof(*log->pieces));
    call->read_count += (uint32_t)log->count;
    free(log->pieces);
    return 0;
}

/* ---- events ---- */

static int event_add(struct vk_history *h, const struct vk_event *event)
{
    if (event->task >= VK_TASKS_MAX || event->when < h->last || h->is_finished)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "an event of task %u at time %" PRIu64 " after one at %" PRIu64,
                           event->task, event->when, h->last);
    if (h->event_count >= UINT32_MAX - 1 ||
        wd_grow(h->events, h->event_capacity, h->event_count + 1))
        return -ENOMEM;
    h->events[h->event_count++] = *event;
    h->last = event->when;
    return 0;
}

/* Brings a task into being that nothing told of: a recording may begin anywhere. */
static int task_needed(struct vk_kernel *k, uint32_t task)
{
    if (vk_extend(&k->tasks, task + 1))
        return -ENOMEM;
    if (vk_task(k, task)->state != VK_TASK_FREE)
        return 0;
    struct vk_task *row = vk_task_edit(k, task);
    if (!row)
        return -ENOMEM;
    *row = (struct vk_task){.state = VK_TASK_READY, .deadline = VK_NEVER};
    return 0;
}

static void swap_kernels(struct vk_kernel **a, struct vk_kernel **b)
{
    struct vk_kernel *kept = *a;
    *a = *b;
    *b = kept;
}

static void time_is(struct vk_kernel *k, uint64_t when)
{
    k->s.now = when;
}

static int task_begins(struct vk_kernel *k, const struct vk_history_call *call, uint32_t index)
{
    if (task_needed(k, call->call.task))
        return -ENOMEM;
    struct vk_task *task = vk_task_edit(k, call->call.task);
    if (!task)
        return -ENOMEM;
    task->in_call = index + 1;
    task->call = call->call;
    task->done = 0;
    task->has_waited = false;
    time_is(k, call->call.when);
    return 0;
}

static struct vk_run begin_run(struct vk_kernel *k, const struct vk_history_call *call,
                               struct vk_log *log, const struct vk_memory *memory)
{
    return (struct vk_run){.k = k,
                           .h = k->history,
                           .call = &call->call,
                           .a = call->call.args,
                           .memory = memory,
                           .log = log,
                           .told_slot = VK_NONE,
                           .deadline = VK_NEVER};
}

static int task_waits(struct vk_kernel *k, const struct vk_run *run)
{
    struct vk_task *task = vk_task_edit(k, run->call->task);
    if (!task)
        return -ENOMEM;
    task->has_waited = true;
    task->deadline = run->deadline;
    vk_ops_clear(&k->ops);
    return 0;
}

/* A call begins for the first time. If the model has it wait, that is the state from then on. */
static int begin_first(struct vk_history *h, struct vk_history_call *call, uint32_t index,
                       struct vk_log *log, const struct vk_memory *memory, uint64_t *hash)
{
    struct vk_kernel *copy;
    int err = task_begins(h->kernel, call, index);
    if (err || vk_task(h->kernel, call->call.task)->state == VK_TASK_CHILD)
        return err;
    if (vk_kernel_clone(h->kernel, &copy))
        return -ENOMEM;
    struct vk_run run = begin_run(copy, call, log, memory);
    const struct vk_call_row *row = vk_row_of(call->call.number);
    if (row)
        *hash = vk_key_of(&run, row);
    call->waits = vk_answer(&run) == VK_WAIT;
    if (call->waits) {
        err = task_waits(copy, &run);
        swap_kernels(&h->kernel, &copy);
    }
    vk_kernel_free(copy);
    return err;
}

static int begin_again(struct vk_kernel *k, struct vk_history_call *call, uint32_t index)
{
    struct kept kept = {call, NULL};
    struct vk_memory memory = {kept_read, &kept};
    int err = task_begins(k, call, index);
    if (err || !call->waits || call->is_late)
        return err;
    struct vk_run run = begin_run(k, call, NULL, &memory);
    vk_answer(&run);
    if (vk_timed_out(call)) /* nobody woke it */
        vk_task_edit(k, call->call.task)->futex = 0;
    return task_waits(k, &run);
}

int vk_history_begin(struct vk_history *h, const struct vk_call *call,
                     const struct vk_memory *memory)
{
    struct vk_event event = {.kind = VK_EVENT_BEGIN,
                             .task = call->task,
                             .when = call->when,
                             .index = (uint32_t)h->call_count};
    struct vk_log log = {0};
    uint64_t hash = 0;
    int err = event_add(h, &event);
    if (err)
        return err;
    if (wd_grow(h->calls, h->call_capacity, h->call_count + 1))
        return -ENOMEM;
    struct vk_history_call *made = &h->calls[h->call_count++];
    *made = (struct vk_history_call){.call = *call, .key = VK_NONE};
    h->in_call[call->task] = event.index + 1;
    err = begin_first(h, made, event.index, &log, memory, &hash);
    int log_err = keep_log(made, &log);
    return err ? err : log_err ? log_err : key_call(h, hash, event.index);
}

const struct vk_history_call *vk_call_at(const struct vk_history *h, uint64_t when, uint32_t task,
                                         int32_t number)
{
    size_t i = wd_bisect(0, h->event_count, at, h->events[at].when < when);
    for (; i < h->event_count && h->events[i].when == when; i++) {
        const struct vk_event *event = &h->events[i];
        if (event->kind == VK_EVENT_BEGIN && event->task == task &&
            h->calls[event->index].call.number == number)
            return &h->calls[event->index];
    }
    return NULL;
}

bool vk_timed_out(const struct vk_history_call *call)
{
    switch (call->has_ended ? call->call.number : -1) {
    case SYS_futex:
        return call->result == -ETIMEDOUT;
    case SYS_rt_sigtimedwait:
        return call->result == -EAGAIN;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        return !call->result;
    default:
        return false;
    }
}

bool vk_is_missing(const struct vk_history *h, int64_t number)
{
    return number >= 0 && number < VK_CALLS_MAX && h->answered[number] == VK_ANSWERED_MISSING;
}

static void answer_note(struct vk_history *h, int64_t number, int64_t result)
{
    if (number >= 0 && number < VK_CALLS_MAX)
        h->answered[number] |= result == -ENOSYS ? VK_ANSWERED_MISSING : VK_ANSWERED_OTHER;
}

static int keep_writes(struct vk_history_call *call, const struct vk_piece *writes, size_t count)
{
    call->writes = calloc(count ? count : 1, sizeof(*call->writes));
    for (size_t i = 0; call->writes && i < count; i++) {
        uint8_t *copy = malloc(writes[i].size ? writes[i].size : 1);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, writes[i].bytes, writes[i].size);
        call->writes[call->write_count++] =
            (struct vk_piece){writes[i].address, writes[i].size, copy};
    }
    return call->writes ? 0 : -ENOMEM;
}

/* ---- the model's answer against the recorded one ---- */

static void differ(struct vk_history *h, const struct vk_history_call *call, int64_t model,
                   const char *text)
{
    bool is_unknown = model == VK_UNKNOWN || model == VK_WAIT;
    if (is_unknown)
        h->score.unknown++;
    else
        h->score.different++;
    if (h->difference_count >= DIFFERENCES_MAX ||
        wd_grow(h->differences, h->difference_capacity, h->difference_count + 1))
        return;
    h->differences[h->difference_count].is = (struct vk_difference){
        call->call.when, call->call.number, is_unknown, call->result, is_unknown ? 0 : model, NULL};
    h->differences[h->difference_count].text = strdup(text);
    if (h->differences[h->difference_count].text)
        h->difference_count++;
}

/* What the recorded call left at an address: it says so, or memory does, which is slower. */
static bool left_there(const struct vk_run *run, const struct vk_memory *memory, uint64_t address,
                       void *bytes, size_t size)
{
    return vk_told_bytes(run, address, bytes, size) == size ||
           !memory->read(memory->arg, address, bytes, size);
}

static bool part_differs(const struct vk_op *op, uint64_t at, const uint8_t *found, size_t size,
                         char *text, size_t room)
{
    for (size_t i = 0; i < size; i++) {
        if (found[i] == op->bytes[at + i])
            continue;
        snprintf(text, room,
                 "byte %" PRIu64 " of what it wrote at %#" PRIx64 " is %#x, the model says %#x",
                 at + i, op->start, found[i], op->bytes[at + i]);
        return true;
    }
    return false;
}

/* The first byte that the model would have written otherwise; false: none. */
static bool writes_differ(const struct vk_run *run, const struct vk_memory *memory, char *text,
                          size_t room)
{
    uint8_t found[VK_BLOCK];
    for (size_t i = 0; i < run->k->ops.count; i++) {
        const struct vk_op *op = &run->k->ops.list[i];
        for (uint64_t at = 0; op->kind == VK_OP_WRITE && at < op->size; at += sizeof(found)) {
            size_t part = op->size - at < sizeof(found) ? op->size - at : sizeof(found);
            if (left_there(run, memory, op->start + at, found, part) &&
                part_differs(op, at, found, part, text, room))
                return true;
        }
    }
    return false;
}

static bool agrees(struct vk_history *h, struct vk_run *run, const struct vk_history_call *call,
                   int64_t result, const struct vk_memory *memory)
{
    char text[256] = "";
    /* After sigreturn rax is what the handler interrupted. */
    bool is_equal =
        result == call->result || (result == VK_NO_RETURN && call->call.number == SYS_rt_sigreturn);
    h->score.calls++;
    if (result == VK_UNKNOWN || result == VK_WAIT)
        snprintf(text, sizeof(text), "%s",
                 result == VK_WAIT ? "it waits for something from outside" : run->k->reason);
    else if (!is_equal)
        snprintf(text, sizeof(text), "the model says %" PRId64, result);
    else if (writes_differ(run, memory, text, sizeof(text)))
        is_equal = false;
    if (is_equal && run->has_taken)
        h->score.unknown++;
    else if (is_equal)
        h->score.equal++;
    else
        differ(h, call, result, text);
    return is_equal;
}

/* What a fork shares is another process's, too. */
static void share_all(struct vk_kernel *k)
{
    for (uint32_t i = 0; i < vk_count(&k->pipes); i++) {
        struct vk_pipe *pipe = vk_edit(&k->pipes, i);
        if (pipe && (pipe->readers || pipe->writers))
            pipe->is_foreign = true;
    }
}

static bool makes_process(const struct vk_history_call *call)
{
    int32_t number = call->call.number;
    bool is_clone = number == SYS_clone || number == SYS_clone3;
    return call->result > 0 && (number == SYS_fork || number == SYS_vfork ||
                                (number == SYS_clone && !(call->call.args[0] & CLONE_THREAD)) ||
                                (is_clone && number == SYS_clone3 && !call->is_thread));
}

static struct vk_run told_run(struct vk_kernel *k, struct vk_history_call *call,
                              const struct vk_told *told, const struct vk_memory *memory)
{
    return (struct vk_run){.k = k,
                           .h = k->history,
                           .call = &call->call,
                           .a = call->call.args,
                           .memory = memory,
                           .told = told,
                           .told_slot = VK_NONE,
                           .deadline = VK_NEVER,
                           .is_retry = call->waits,
                           .learns = !k->history->is_finished};
}

static void end_on(struct vk_kernel *k, const struct vk_history_call *call)
{
    struct vk_task *task = vk_task_edit(k, call->call.task);
    if (!task)
        return;
    task->in_call = 0;
    task->made = 0;
    task->has_waited = false;
    task->futex = 0;
    task->is_woken = false;
    task->deadline = VK_NEVER;
    if (task->has_saved_mask && call->result != -EINTR) {
        task->mask = task->saved_mask;
        task->has_saved_mask = false;
    }
    if (makes_process(call))
        share_all(k);
    vk_ops_clear(&k->ops);
}

static void adopt(struct vk_run *run)
{
    const struct vk_call_row *row = vk_row_of(run->call->number);
    if (row && row->adopt)
        row->adopt(run);
}

/* Passes the end of a call on a kernel: as it was decided when the recording was passed. */
static int end_again(struct vk_kernel *k, struct vk_history_call *call)
{
    struct kept kept = {call, NULL};
    struct vk_memory memory = {kept_read, &kept};
    struct vk_told told = {call->result, call->writes, call->write_count, call->ended};
    struct vk_run run = told_run(k, call, &told, &memory);
    time_is(k, call->ended);
    if (vk_task(k, call->call.task)->state != VK_TASK_CHILD) {
        if (call->is_adopted)
            adopt(&run);
        else
            vk_answer(&run);
    }
    end_on(k, call);
    return 0;
}

/* A thread that is stopped where its call begins makes it when it runs again: what others did
 * meanwhile came first. So it was if only then the call has the recorded result. */
static int late_try(struct vk_history *h, struct vk_history_call *call,
                    const struct vk_memory *memory, const struct vk_told *told)
{
    struct vk_kernel *copy;
    char text[256];
    if (call->call.number != SYS_futex || !call->is_left)
        return 0;
    if (vk_kernel_clone(h->kernel, &copy))
        return -ENOMEM;
    struct vk_task *task = vk_task_edit(copy, call->call.task);
    if (task) {
        task->futex = 0;
        task->is_woken = task->has_waited = false;
    }
    struct vk_run run = told_run(copy, call, told, memory);
    run.is_retry = false;
    call->is_late =
        task && vk_answer(&run) == call->result && !writes_differ(&run, memory, text, sizeof(text));
    vk_kernel_free(copy);
    return task ? 0 : -ENOMEM;
}

/* The same for the first time: decides. */
static int end_first(struct vk_history *h, struct vk_history_call *call,
                     const struct vk_memory *memory)
{
    struct vk_log log = {0};
    struct vk_kernel *copy;
    struct kept kept = {call, memory};
    struct vk_memory kept_memory = {kept_read, &kept};
    struct vk_told told = {call->result, call->writes, call->write_count, call->ended};
    time_is(h->kernel, call->ended);
    if (vk_task(h->kernel, call->call.task)->state == VK_TASK_CHILD) {
        end_on(h->kernel, call);
        return 0;
    }
    if (vk_kernel_clone(h->kernel, &copy))
        return -ENOMEM;
    struct vk_run run = told_run(copy, call, &told, &kept_memory);
    run.log = &log;
    int64_t result = vk_answer(&run);
    call->is_adopted = !agrees(h, &run, call, result, memory);
    int late_err = call->is_adopted ? late_try(h, call, memory, &told) : 0;
    if (!call->is_adopted)
        swap_kernels(&h->kernel, &copy);
    /* What a call learns of the file system it learns in any case. */
    run = told_run(call->is_adopted ? h->kernel : copy, call, &told, &kept_memory);
    run.log = &log;
    adopt(&run);
    vk_kernel_free(copy);
    end_on(h->kernel, call);
    int err = keep_log(call, &log);
    return err ? err : late_err;
}

int vk_history_end(struct vk_history *h, uint32_t task, uint64_t when, int64_t result,
                   const struct vk_piece *writes, size_t write_count,
                   const struct vk_memory *memory)
{
    uint32_t index = task < VK_TASKS_MAX ? h->in_call[task] : 0;
    if (!index)
        return wetdbg_fail(
            -WETDBG_ERR_CORRUPT,
            "task %u comes back at time %" PRIu64 " from a call that it did not make", task, when);
    struct vk_event event = {.kind = VK_EVENT_END, .task = task, .when = when, .index = index - 1};
    int err = event_add(h, &event);
    if (err)
        return err;
    struct vk_history_call *call = &h->calls[index - 1];
    call->ended = when;
    call->result = result;
    call->has_ended = true;
    call->is_left = h->events[h->event_count - 2].task != task;
    answer_note(h, call->call.number, result);
    h->in_call[task] = 0;
    err = keep_writes(call, writes, write_count);
    return err ? err : end_first(h, call, memory);
}

/* ---- other events ---- */

static int task_new_on(struct vk_kernel *k, const struct vk_event *event)
{
    if (task_needed(k, event->parent) || vk_extend(&k->tasks, event->task + 1))
        return -ENOMEM;
    uint32_t in_call = vk_task(k, event->parent)->in_call;
    struct vk_history_call *call = in_call ? &k->history->calls[in_call - 1] : NULL;
    struct vk_task *child = vk_task_edit(k, event->task);
    if (!child)
        return -ENOMEM;
    const struct vk_task *parent = vk_task(k, event->parent);
    *child = (struct vk_task){
        .state = VK_TASK_READY, .tid = event->tid, .mask = parent->mask, .deadline = VK_NEVER};
    memcpy(child->name, parent->name, sizeof(child->name));
    if (event->tid >= k->s.tid_next)
        k->s.tid_next = event->tid + 1;
    if (!call)
        return 0;
    struct kept kept = {call, NULL};
    struct vk_memory memory = {kept_read, &kept};
    struct vk_told told = {.result = event->tid, .when = event->when};
    struct vk_run run = told_run(k, call, &told, &memory);
    run.told_slot = event->task;
    bool is_thread = vk_clone_told(&run);
    struct vk_task *maker = vk_task_edit(k, event->parent);
    if (!maker)
        return -ENOMEM;
    maker->made = is_thread ? event->tid : 0;
    if (is_thread)
        call->is_thread = true;
    else
        vk_task_edit(k, event->task)->state = VK_TASK_CHILD;
    vk_ops_clear(&k->ops);
    return 0;
}

static int no_memory(void *arg, uint64_t address, void *bytes, size_t size)
{
    (void)arg, (void)address, (void)bytes, (void)size;
    return -EFAULT;
}

static int task_end_on(struct vk_kernel *k, const struct vk_event *event)
{
    struct vk_memory memory = {no_memory, NULL};
    struct vk_call call = {.task = event->task, .when = event->when, .number = SYS_exit};
    struct vk_run run = {.k = k, .h = k->history, .call = &call, .a = call.args, .memory = &memory};
    if (event->task >= vk_count(&k->tasks))
        return 0;
    bool is_child = vk_task(k, event->task)->state == VK_TASK_CHILD;
    int err = 0;
    if (is_child)
        vk_task_edit(k, event->task)->state = VK_TASK_FREE;
    else
        err = vk_task_end(&run, event->task);
    vk_ops_clear(&k->ops);
    return err;
}

#define SIGNAL_BIT(n) (UINT64_C(1) << ((n)-1))

/* A recorded signal: what was pending is not any more, a handler has its mask. */
static int signal_on(struct vk_kernel *k, const struct vk_told_signal *told)
{
    if (told->number < 1 || told->number > 64 || task_needed(k, told->task))
        return 0;
    for (uint32_t i = 0; i < vk_count(&k->pending); i++) {
        const struct vk_pending *row = vk_row(&k->pending, i);
        if (row->number == told->number && (row->task == told->task || row->task == VK_NONE)) {
            vk_remove(&k->pending, i, 1);
            break;
        }
    }
    vk_timers_told(k, told->number);
    struct vk_task *task = vk_task_edit(k, told->task);
    struct vk_action *action = vk_edit(&k->actions, (uint32_t)told->number - 1);
    if (!task || !action)
        return -ENOMEM;
    if (!told->calls_handler)
        return 0;
    if (task->has_saved_mask && !task->in_call)
        task->has_saved_mask = false;
    task->mask |= action->mask | (action->flags & SA_NODEFER ? 0 : SIGNAL_BIT(told->number));
    if (action->flags & SA_RESETHAND)
        action->handler = 0;
    return 0;
}

/* What is mapped where a thread begins is the recorder's, for that thread. `event` is one of the
 * history's. */
static int space_on(struct vk_kernel *k, const struct vk_event *event)
{
    struct vk_history *h = k->history;
    const struct vk_told_space *space = &h->spaces[event->index];
    const struct vk_event *before = event > h->events ? event - 1 : event;
    if (before->kind == VK_EVENT_TASK_NEW && before->when == event->when && space->prot >= 0) {
        struct vk_task *task = vk_task_edit(k, before->task);
        if (!task)
            return -ENOMEM;
        task->area = space->start;
        if (!h->is_finished)
            h->area_bytes = space->size;
    }
    return vk_maps_told(k, space);
}

int vk_apply_event(struct vk_kernel *k, const struct vk_event *event)
{
    struct vk_history *h = k->history;
    if (event->kind != VK_EVENT_SPACE && event->kind != VK_EVENT_COUNTER &&
        event->kind != VK_EVENT_TASK_END)
        k->s.running = event->task;
    time_is(k, event->when);
    switch (event->kind) {
    case VK_EVENT_BEGIN:
        return begin_again(k, &h->calls[event->index], event->index);
    case VK_EVENT_END:
        return end_again(k, &h->calls[event->index]);
    case VK_EVENT_TASK_NEW:
        return task_new_on(k, event);
    case VK_EVENT_TASK_END:
        return task_end_on(k, event);
    case VK_EVENT_SIGNAL:
        return signal_on(k, &h->signals[event->index]);
    case VK_EVENT_SPACE:
        return space_on(k, event);
    case VK_EVENT_COUNTER:
        k->s.counter = h->counters[event->index].value;
        k->s.counter_at = event->when;
        return 0;
    default:
        return 0;
    }
}

static int event_pass(struct vk_history *h, const struct vk_event *event)
{
    int err = event_add(h, event);
    return err ? err : vk_apply_event(h->kernel, &h->events[h->event_count - 1]);
}

int vk_history_task_new(struct vk_history *h, uint64_t when, uint32_t parent, uint32_t task,
                        int tid)
{
    struct vk_event event = {
        .kind = VK_EVENT_TASK_NEW, .task = task, .when = when, .parent = parent, .tid = tid};
    if (parent >= VK_TASKS_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "task %u at time %" PRIu64, parent, when);
    return event_pass(h, &event);
}

int vk_history_task_end(struct vk_history *h, uint64_t when, uint32_t task)
{
    struct vk_event event = {.kind = VK_EVENT_TASK_END, .task = task, .when = when};
    int err = event_pass(h, &event);
    if (!err)
        h->in_call[task] = 0;
    return err;
}

int vk_history_switch(struct vk_history *h, uint64_t when, uint32_t task)
{
    struct vk_event event = {.kind = VK_EVENT_SWITCH, .task = task, .when = when};
    return event_pass(h, &event);
}

int vk_history_signal(struct vk_history *h, uint64_t when, uint32_t task, int number,
                      const uint8_t info[128], bool is_fault, bool calls_handler)
{
    struct vk_event event = {
        .kind = VK_EVENT_SIGNAL, .task = task, .when = when, .index = (uint32_t)h->signal_count};
    if (wd_grow(h->signals, h->signal_capacity, h->signal_count + 1))
        return -ENOMEM;
    struct vk_told_signal *told = &h->signals[h->signal_count++];
    *told = (struct vk_told_signal){when, task, number, is_fault, calls_handler, info != NULL, {0}};
    if (info)
        memcpy(told->info, info, sizeof(told->info));
    return event_pass(h, &event);
}

int vk_history_space(struct vk_history *h, uint64_t when, uint32_t task, uint64_t start,
                     uint64_t size, int prot, const char *name)
{
    struct vk_event event = {
        .kind = VK_EVENT_SPACE, .task = task, .when = when, .index = (uint32_t)h->space_count};
    if (start % VK_BLOCK || size % VK_BLOCK || !size || start + size < start ||
        start + size > UINT64_C(1) << 47)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "memory from %#" PRIx64 " on, %" PRIu64 " bytes, at time %" PRIu64,
                           start, size, when);
    if (wd_grow(h->spaces, h->space_capacity, h->space_count + 1))
        return -ENOMEM;
    h->spaces[h->space_count++] = (struct vk_told_space){
        start, size, prot, name && *name ? vk_text_new(name, strlen(name)) : NULL};
    return event_pass(h, &event);
}

int vk_history_counter(struct vk_history *h, uint64_t when, uint64_t value)
{
    struct vk_event event = {
        .kind = VK_EVENT_COUNTER, .when = when, .index = (uint32_t)h->counter_count};
    if (wd_grow(h->counters, h->counter_capacity, h->counter_count + 1))
        return -ENOMEM;
    h->counters[h->counter_count++] = (struct vk_told_counter){when, value};
    return event_pass(h, &event);
}

/* Calls that take bytes from a descriptor to where the model does not see them. */
static bool has_unseen_reads(const struct vk_history *h)
{
    for (size_t i = 0; i < h->call_count; i++) {
        int32_t number = h->calls[i].call.number;
        if (h->calls[i].has_ended && h->calls[i].result >= 0 &&
            (number == SYS_splice || number == SYS_io_uring_enter))
            return true;
    }
    return false;
}

int vk_history_input(struct vk_history *h, uint64_t at, const void *bytes, size_t size, bool is_all)
{
    struct vk_base *base = vk_base_at(h, 1);
    bool known;
    if (h->is_finished)
        return -EINVAL;
    if (!h->start.input_is_file) {
        at = vk_content_run(&base->content, 0, VK_CONTENT_MAX, &known);
        if (has_unseen_reads(h))
            return -WETDBG_ERR_UNSUPPORTED;
        if (!known)
            at = 0;
    }
    if (at > VK_CONTENT_MAX - size)
        return -WETDBG_ERR_UNSUPPORTED;
    if (vk_content_add(&base->content, at, bytes, size))
        return -ENOMEM;
    if (is_all && !base->has_size) {
        base->has_size = true;
        base->st.st_size = (off_t)(at + size);
    }
    return 0;
}

void vk_chunk_learn(struct vk_history *h, uint32_t outside, uint64_t start, uint64_t end)
{
    if (!outside || start >= end || wd_grow(h->chunks, h->chunk_capacity, h->chunk_count + 1))
        return;
    h->chunks[h->chunk_count++] = (struct vk_chunk){outside, start, end};
}

/* From when on which task ran: where an event's task is another than that of the one before, the
 * switch was there; at a recorded switch, here. */
static int turns_make(struct vk_history *h)
{
    uint32_t running = h->start.task;
    uint64_t before = 0;
    for (size_t i = 0; i < h->event_count; i++) {
        const struct vk_event *event = &h->events[i];
        bool tells = event->kind == VK_EVENT_BEGIN || event->kind == VK_EVENT_END ||
                     event->kind == VK_EVENT_SWITCH || event->kind == VK_EVENT_SIGNAL;
        if (tells && event->task != running) {
            if (wd_grow(h->turns, h->turn_capacity, h->turn_count + 1))
                return -ENOMEM;
            running = event->task;
            h->turns[h->turn_count++] =
                (struct vk_turn){event->kind == VK_EVENT_SWITCH ? event->when : before, running};
        }
        before = event->when;
    }
    return 0;
}

int vk_history_finish(struct vk_history *h, uint64_t when)
{
    int err = turns_make(h);
    if (err)
        return err;
    h->end_when = when;
    return vk_made_settle(h);
}

void vk_history_differences(const struct vk_history *h,
                            void (*fn)(void *arg, const struct vk_difference *difference),
                            void *arg)
{
    for (size_t i = 0; i < h->difference_count; i++) {
        struct vk_difference difference = h->differences[i].is;
        difference.text = h->differences[i].text;
        fn(arg, &difference);
    }
}

struct vk_score vk_history_score(const struct vk_history *h)
{
    return h->score;
}
