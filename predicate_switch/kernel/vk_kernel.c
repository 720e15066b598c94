/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels: made, copied, brought to a time; and what a run left in its files. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "predicate_switch/kernel/vk_calls.h"

#define ACTIONS 64

static const struct vk_row_kind fd_row = {sizeof(struct vk_fd), NULL, NULL};
static const struct vk_row_kind u32_row = {sizeof(uint32_t), NULL, NULL};
static const struct vk_row_kind watch_row = {sizeof(struct vk_watch), NULL, NULL};
static const struct vk_row_kind task_row = {sizeof(struct vk_task), NULL, NULL};
static const struct vk_row_kind action_row = {sizeof(struct vk_action), NULL, NULL};
static const struct vk_row_kind pending_row = {sizeof(struct vk_pending), NULL, NULL};
static const struct vk_row_kind timer_row = {sizeof(struct vk_timer), NULL, NULL};

static const struct {
    size_t off;
    const struct vk_row_kind *kind;
} tables[] = {
    {offsetof(struct vk_kernel, fds), &fd_row},
    {offsetof(struct vk_kernel, opens), &vk_open_row},
    {offsetof(struct vk_kernel, inodes), &vk_inode_row},
    {offsetof(struct vk_kernel, names), &vk_name_row},
    {offsetof(struct vk_kernel, inode_of_base), &u32_row},
    {offsetof(struct vk_kernel, pipes), &vk_pipe_row},
    {offsetof(struct vk_kernel, watches), &watch_row},
    {offsetof(struct vk_kernel, maps), &vk_map_row},
    {offsetof(struct vk_kernel, tasks), &task_row},
    {offsetof(struct vk_kernel, actions), &action_row},
    {offsetof(struct vk_kernel, pending), &pending_row},
    {offsetof(struct vk_kernel, timers), &timer_row},
    {offsetof(struct vk_kernel, cursors), &u32_row},
};
#define TABLES (sizeof(tables) / sizeof(*tables))

static struct vk_table *table_of(const struct vk_kernel *k, size_t i)
{
    return (struct vk_table *)((uint8_t *)k + tables[i].off);
}

/* ---- the first state ---- */

static int no_memory(void *arg, uint64_t address, void *bytes, size_t size)
{
    (void)arg, (void)address, (void)bytes, (void)size;
    return -EFAULT;
}

/* Where the process was, which it may never say. */
static uint32_t directory_of(struct vk_kernel *k, const char *path)
{
    struct vk_history *h = k->history;
    uint32_t base = 0;
    while (path && *path) {
        path += strspn(path, "/");
        size_t bytes = strcspn(path, "/");
        if (!bytes)
            break;
        base = vk_base_child(h, base, path, bytes);
        if (base == VK_NONE)
            return VK_NONE;
        vk_base_at(h, base)->presence = VK_PRESENCE_THERE;
        vk_base_at(h, base)->format = S_IFDIR;
        path += bytes;
    }
    return vk_inode_of_base(k, base);
}

/* Standard input is /dev/null. */
static int null_start(struct vk_kernel *k)
{
    static const char path[] = "/dev/null";
    uint32_t base = vk_base_child(k->history, 0, "dev", 3);
    base = base == VK_NONE ? VK_NONE : vk_base_child(k->history, base, "null", 4);
    struct vk_open open = {.kind = VK_OPEN_FILE, .flags = 0};
    open.inode = base == VK_NONE ? VK_NONE : vk_inode_of_base(k, base);
    open.path = open.inode == VK_NONE ? NULL : vk_text_new(path, strlen(path));
    uint32_t index = open.path ? vk_open_new(k, &open) : VK_NONE;
    if (index == VK_NONE || vk_fd_set(k, 0, index, false))
        return -ENOMEM;
    vk_inode_edit(k, open.inode)->opens++;
    return 0;
}

static int streams_start(struct vk_kernel *k)
{
    bool is_null = k->history->start.input_is_null;
    if (is_null && null_start(k))
        return -ENOMEM;
    for (uint32_t fd = is_null; fd < VK_STREAMS; fd++) {
        struct vk_open open = {.kind = VK_OPEN_OUTSIDE, .flags = VK_NONE, .outside = fd + 1};
        open.flags = k->history->stream_flags[fd];
        open.offset = k->history->stream_starts[fd];
        open.inode = vk_inode_of_base(k, fd + 1);
        uint32_t index = open.inode == VK_NONE ? VK_NONE : vk_open_new(k, &open);
        if (index == VK_NONE || vk_fd_set(k, fd, index, false))
            return -ENOMEM;
        if (vk_base_at(k->history, fd + 1)->format == S_IFREG)
            vk_stream_is_file(k, fd);
    }
    return 0;
}

/* Descriptors that the recorder has in the process. */
static int own_fds_start(struct vk_kernel *k)
{
    int err = 0;
    for (uint32_t i = 0; !err && i < k->history->own_fd_count; i++) {
        struct vk_open open = {.kind = VK_OPEN_OUTSIDE, .inode = VK_NONE, .flags = VK_NONE};
        uint32_t index = vk_open_new(k, &open);
        err = index == VK_NONE ? -ENOMEM : vk_fd_set(k, k->history->own_fds[i], index, true);
    }
    return err;
}

void vk_first_facts(struct vk_scalars *s, const struct vk_scalars *first)
{
    s->brk = first->brk;
    s->brk_start = first->brk_start;
    s->umask = first->knows_umask ? first->umask : 022;
    s->knows_umask = first->knows_umask;
    if (first->knows_ids) {
        s->uid = first->uid, s->euid = first->euid, s->suid = first->suid;
        s->gid = first->gid, s->egid = first->egid, s->sgid = first->sgid;
        s->knows_ids = true;
    }
    memcpy(s->limit_cur, first->limit_cur, sizeof(s->limit_cur));
    memcpy(s->limit_max, first->limit_max, sizeof(s->limit_max));
    s->limits_known = first->limits_known;
}

static int kernel_start(struct vk_kernel *k)
{
    const struct vk_start *start = &k->history->start;
    struct vk_scalars *s = &k->s;
    *s = (struct vk_scalars){.pid = start->pid,
                             .parent = start->parent,
                             .running = start->task,
                             .live_from = VK_NEVER,
                             .inode_next = UINT64_C(1) << 32,
                             .tid_next = start->pid + 1};
    vk_first_facts(s, &k->history->first);
    if (vk_extend(&k->actions, ACTIONS) || vk_extend(&k->tasks, start->task + 1))
        return -ENOMEM;
    *vk_task_edit(k, start->task) =
        (struct vk_task){.state = VK_TASK_READY, .tid = start->pid, .deadline = VK_NEVER};
    s->root = vk_inode_of_base(k, 0);
    s->cwd = s->root == VK_NONE ? VK_NONE : directory_of(k, start->cwd);
    if (s->cwd == VK_NONE || streams_start(k) || own_fds_start(k))
        return -ENOMEM;
    vk_maps_start(k);
    return 0;
}

static struct vk_kernel *kernel_alloc(struct vk_history *history)
{
    struct vk_kernel *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->history = history;
    for (size_t i = 0; i < TABLES; i++)
        table_of(k, i)->kind = tables[i].kind;
    return k;
}

int vk_kernel_new(struct vk_history *history, struct vk_kernel **out)
{
    struct vk_kernel *k = kernel_alloc(history);
    int err = k ? kernel_start(k) : -ENOMEM;
    if (err) {
        vk_kernel_free(k);
        return err;
    }
    *out = k;
    return 0;
}

void vk_kernel_free(struct vk_kernel *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < TABLES; i++)
        vk_clear(table_of(k, i));
    vk_ops_fini(&k->ops);
    free(k);
}

int vk_kernel_clone(const struct vk_kernel *kernel, struct vk_kernel **out)
{
    struct vk_kernel *k = kernel_alloc(kernel->history);
    if (!k)
        return -ENOMEM;
    for (size_t i = 0; i < TABLES; i++)
        vk_share(table_of(k, i), table_of(kernel, i));
    k->s = kernel->s;
    k->on_output = kernel->on_output;
    k->on_output_arg = kernel->on_output_arg;
    *out = k;
    return 0;
}

void vk_kernel_on_output(struct vk_kernel *k, vk_output_fn fn, void *arg)
{
    k->on_output = fn;
    k->on_output_arg = arg;
}

void vk_kernel_limit_memory(struct vk_kernel *k, uint64_t bytes)
{
    k->s.memory_more = bytes;
}

bool vk_is_live(const struct vk_kernel *k)
{
    return k->s.live_from != VK_NEVER;
}

int vk_kernel_advance(struct vk_kernel *k, uint64_t when)
{
    const struct vk_history *h = k->history;
    if (vk_is_live(k))
        return -EINVAL;
    while (k->s.event < h->event_count && h->events[k->s.event].when < when) {
        int err = vk_apply_event(k, &h->events[k->s.event]);
        if (err)
            return err;
        k->s.event++;
    }
    return 0;
}

/* ---- files that the run left ---- */

struct left {
    uint32_t inode;
    char path[PATH_MAX];
    bool is_gone;
};

/* Changed file number `index`, in no order of names: paths are made when they are asked for. */
static bool left_at(const struct vk_kernel *k, size_t index, struct left *left)
{
    for (uint32_t i = 0; i < vk_count(&k->inodes); i++) {
        const struct vk_inode *inode = vk_inode(k, i);
        bool is_stream = inode->base - 1 < VK_STREAMS; /* bases_start() in vk_history.c */
        if (!inode->is_written || !S_ISREG(inode->mode ? inode->mode : S_IFREG) || inode->is_live ||
            is_stream)
            continue;
        left->is_gone = inode->has_nlink && !inode->nlink;
        left->inode = i;
        bool has_path = vk_inode_path(k, i, left->path, sizeof(left->path));
        if (left->is_gone || !has_path) {
            if (inode->base == VK_NONE ||
                vk_base_path(k->history, inode->base, left->path, sizeof(left->path)))
                continue;
            left->is_gone = true;
        }
        if (!index--)
            return true;
    }
    return false;
}

size_t vk_kernel_file_count(const struct vk_kernel *k)
{
    struct left left;
    size_t count = 0;
    while (left_at(k, count, &left))
        count++;
    return count;
}

int vk_kernel_file(const struct vk_kernel *k, size_t index, struct vk_file *file, char *path,
                   size_t room)
{
    struct left left;
    if (!left_at(k, index, &left) || strlen(left.path) >= room)
        return -ENOENT;
    const struct vk_inode *inode = vk_inode(k, left.inode);
    memcpy(path, left.path, strlen(left.path) + 1);
    *file = (struct vk_file){path, left.is_gone, inode->mode, inode->size};
    return 0;
}

/* Row `index` of the names that were changed; NULL: there are no more. */
static const struct vk_name *name_at(const struct vk_kernel *k, size_t index)
{
    for (uint32_t i = 0; i < vk_count(&k->names); i++) {
        const struct vk_name *row = vk_row(&k->names, i);
        if (row->is_changed && !index--)
            return row;
    }
    return NULL;
}

int vk_kernel_name(const struct vk_kernel *k, size_t index, struct vk_file *file, char *path,
                   size_t room)
{
    const struct vk_name *row = name_at(k, index);
    if (!row)
        return -ENOENT;
    *file = (struct vk_file){.path = path, .is_gone = row->inode == VK_NONE};
    if (!file->is_gone) {
        file->mode = vk_inode(k, row->inode)->mode;
        file->size = vk_inode(k, row->inode)->size;
    }
    if (!vk_inode_path(k, row->directory, path, room))
        return -ENODATA;
    size_t bytes = strlen(path);
    bytes -= bytes == 1; /* the root */
    if (bytes + row->name->bytes + 2 > room)
        return -ENAMETOOLONG;
    path[bytes] = '/';
    memcpy(path + bytes + 1, row->name->text, row->name->bytes);
    path[bytes + 1 + row->name->bytes] = 0;
    return 0;
}

int vk_inode_read(struct vk_kernel *k, uint32_t inode, uint64_t offset, void *bytes, size_t size)
{
    struct vk_memory memory = {no_memory, NULL};
    struct vk_call call = {.number = 0};
    struct vk_told told = {0};
    struct vk_run run = {
        .k = k, .h = k->history, .call = &call, .a = call.args, .memory = &memory, .told = &told};
    int64_t got = vk_file_read(&run, inode, offset, bytes, size);
    return got == (int64_t)size ? 0 : got == VK_NOMEM ? -ENOMEM : -ENODATA;
}

int vk_kernel_file_read(struct vk_kernel *k, size_t index, uint64_t offset, void *bytes,
                        size_t size)
{
    struct left left;
    return left_at(k, index, &left) ? vk_inode_read(k, left.inode, offset, bytes, size) : -ENOENT;
}

int vk_kernel_name_read(struct vk_kernel *k, size_t index, uint64_t offset, void *bytes,
                        size_t size)
{
    const struct vk_name *row = name_at(k, index);
    return row && row->inode != VK_NONE ? vk_inode_read(k, row->inode, offset, bytes, size)
                                        : -ENOENT;
}
