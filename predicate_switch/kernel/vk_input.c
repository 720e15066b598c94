/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs on other inputs: since when a recording knows of its input's bytes, and a kernel in which
 * they are others.
 */
#include <errno.h>
#include <limits.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

#define STREAM_BASE(fd) ((uint32_t)(fd) + 1) /* bases_start() in vk_history.c */

void vk_inode_ask(struct vk_kernel *k, uint32_t inode)
{
    uint32_t index = vk_inode(k, inode)->base;
    vk_inode_learn(k, inode);
    if (index == VK_NONE || k->history->is_finished)
        return;
    struct vk_base *base = vk_base_at(k->history, index);
    if (base->is_asked)
        return;
    base->is_asked = true;
    base->asked = k->s.now;
}

bool vk_is_input(const struct vk_kernel *k, uint32_t inode)
{
    return k->s.input && inode == k->s.input - 1;
}

/* Names that lead to a process's own descriptors and state. */
static bool is_self(const char *path)
{
    static const char *const starts[] = {"/proc/self", "/proc/thread-self", "/dev/fd", "/dev/std"};
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (!strncmp(path, starts[i], strlen(starts[i])))
            return true;
    return !strncmp(path, "/proc/", 6) && path[6] >= '0' && path[6] <= '9';
}

static bool comes_to_bytes(int32_t number)
{
    switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
    case SYS_lseek:
    case SYS_fstat:
    case SYS_newfstatat:
    case SYS_statx:
        return true;
    default:
        return false;
    }
}

static bool descriptor_is(const struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open || !comes_to_bytes(run->call->number))
        return false;
    return (open->inode != VK_NONE && vk_is_input(run->k, open->inode)) ||
           (open->path && is_self(open->path->text));
}

static bool path_is(struct vk_run *run, uint64_t address)
{
    char path[PATH_MAX];
    uint32_t index = vk_inode(run->k, run->k->s.input - 1)->base;
    const struct vk_base *base = index == VK_NONE ? NULL : vk_base_at(run->h, index);
    if (!address || vk_get_string(run, address, path, sizeof(path)) <= 0)
        return false;
    const char *slash = strrchr(path, '/');
    return is_self(path) || (base && !strcmp(slash ? slash + 1 : path, base->name));
}

bool vk_is_about_input(struct vk_run *run, const struct vk_call_row *row)
{
    if (!run->k->s.input)
        return false;
    if (row->key & (VK_KEY_PATH0 | VK_KEY_PATH1) &&
        path_is(run, run->a[row->key & VK_KEY_PATH1 ? 1 : 0]))
        return true;
    return row->key & VK_KEY_FD0 && descriptor_is(run);
}

/* ---- which file it is ---- */

static uint32_t base_of(struct vk_history *h, const char *path)
{
    uint32_t base = 0;
    if (!path)
        return STREAM_BASE(0);
    while (base != VK_NONE && *(path += strspn(path, "/"))) {
        size_t bytes = strcspn(path, "/");
        base = vk_base_child(h, base, path, bytes);
        path += bytes;
    }
    return base;
}

uint64_t vk_history_asked(struct vk_history *h, const char *path)
{
    uint32_t base = base_of(h, path);
    return base != VK_NONE && vk_base_at(h, base)->is_asked ? vk_base_at(h, base)->asked : VK_NEVER;
}

/* What the recording did not ask of a file: it is one that its user made for this run. */
static void plain_make(struct vk_kernel *k, struct vk_inode *inode)
{
    int64_t ns = k->history->start.disk_before_ns;
    if (!inode->has_mode) {
        inode->mode = S_IFREG | 0600;
        inode->number = k->s.inode_next++;
    }
    if (!inode->has_owner)
        inode->uid = k->s.euid, inode->gid = k->s.egid;
    if (!inode->has_nlink)
        inode->nlink = 1;
    if (!inode->has_times)
        inode->atime = inode->mtime = inode->ctime =
            (struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    inode->has_mode = inode->has_owner = inode->has_nlink = inode->has_times = true;
}

static int outputs_make(struct vk_kernel *k)
{
    for (int fd = 1; fd <= 2 && k->history->start.output_is_file; fd++) {
        uint32_t inode = vk_inode_of_base(k, STREAM_BASE(fd));
        struct vk_inode *row = inode == VK_NONE ? NULL : vk_inode_edit(k, inode);
        if (!row)
            return -ENOMEM;
        plain_make(k, row);
    }
    return 0;
}

int vk_kernel_input(struct vk_kernel *k, const char *path, const void *bytes, size_t size)
{
    uint32_t base = base_of(k->history, path);
    uint32_t inode = base == VK_NONE ? VK_NONE : vk_inode_of_base(k, base);
    struct vk_inode *row = inode == VK_NONE ? NULL : vk_inode_edit(k, inode);
    if (!row)
        return -ENOMEM;
    if (row->is_live || (row->mode & S_IFMT && !S_ISREG(row->mode)))
        return -ENOTSUP;
    if (vk_content_cut(&row->content, 0) || vk_content_put(&row->content, 0, bytes, size))
        return -ENOMEM;
    row->base_size = 0;
    row->size = size;
    row->has_size = true;
    plain_make(k, row);
    k->s.input = inode + 1;
    return outputs_make(k);
}

/* ---- what it put out ---- */

static uint32_t output_inode(struct vk_kernel *k, int fd)
{
    bool is_known = (fd == 1 || fd == 2) && k->history->start.output_is_file;
    return is_known ? vk_inode_of_base(k, STREAM_BASE(fd)) : VK_NONE;
}

int64_t vk_kernel_output_size(struct vk_kernel *k, int fd)
{
    uint32_t inode = output_inode(k, fd);
    if (inode == VK_NONE || !vk_inode(k, inode)->has_size)
        return -ENOTSUP;
    return (int64_t)vk_inode(k, inode)->size;
}

int vk_kernel_output_read(struct vk_kernel *k, int fd, uint64_t offset, void *bytes, size_t size)
{
    uint32_t inode = output_inode(k, fd);
    return inode == VK_NONE ? -ENOTSUP : vk_inode_read(k, inode, offset, bytes, size);
}
