/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls on names: open and its kin, and what makes, moves and takes away directory entries. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "predicate_switch/kernel/vk_calls.h"

/* ---- open ---- */

static int64_t open_make(struct vk_run *run, uint32_t inode, uint32_t flags)
{
    struct vk_kernel *k = run->k;
    char path[PATH_MAX];
    struct vk_open open = {.kind = VK_OPEN_FILE, .inode = inode};
    open.flags = (flags & ~(uint32_t)(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC)) |
                 (sizeof(long) == 8 ? 0100000 : 0);
    if (flags & O_PATH)
        open.flags &= ~0100000u;
    if (vk_inode_path(k, inode, path, sizeof(path)))
        open.path = vk_text_new(path, strlen(path));
    struct vk_inode *row = vk_inode_edit(k, inode);
    if (!row)
        return VK_NOMEM;
    row->opens++;
    return vk_fd_make(run, &open, flags & O_CLOEXEC);
}

static int64_t open_create(struct vk_run *run, const struct vk_where *where, uint32_t mode,
                           uint32_t *inode)
{
    struct vk_kernel *k = run->k;
    if (vk_inode(k, where->directory)->is_live)
        return vk_unknown(run, "a file in a tree of the kernel's");
    if (!vk_may(k, vk_inode(k, where->directory), 3))
        return -EACCES;
    *inode = vk_inode_new(k, S_IFREG | (mode & 07777 & ~k->s.umask));
    if (*inode == VK_NONE || vk_name_set(k, where->directory, where->name, *inode))
        return VK_NOMEM;
    vk_times_touch(k, vk_inode_edit(k, where->directory), true);
    return 0;
}

static int64_t open_check(struct vk_run *run, uint32_t index, uint32_t flags)
{
    const struct vk_inode *inode = vk_inode(run->k, index);
    uint32_t format = inode->mode & S_IFMT;
    static const unsigned char rights[] = {4, 2, 6, 6};
    bool writes = (flags & O_ACCMODE) != O_RDONLY || flags & O_TRUNC;
    if (flags & O_PATH)
        return flags & O_DIRECTORY && format && format != S_IFDIR ? -ENOTDIR : 0;
    if (format == S_IFLNK)
        return -ELOOP;
    if (flags & O_DIRECTORY && format != S_IFDIR)
        return format ? -ENOTDIR : vk_unknown(run, "whether it is a directory");
    if (format == S_IFDIR && (writes || flags & O_CREAT))
        return -EISDIR;
    if (!inode->is_live && format && format != S_IFREG && format != S_IFDIR)
        return vk_unknown(run, "opening a special file");
    if (!vk_may(run->k, inode, rights[flags & O_ACCMODE] | (flags & O_TRUNC ? 2 : 0)))
        return -EACCES;
    return 0;
}

static int64_t open_at(struct vk_run *run, int at, uint64_t path, uint32_t flags, uint32_t mode)
{
    struct vk_where where;
    uint32_t inode;
    bool is_new_only = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    unsigned how = is_new_only ? VK_WALK_PARENT : flags & O_NOFOLLOW ? 0 : VK_WALK_FOLLOW;
    int64_t err = vk_walk(run, at, path, how | (flags & O_CREAT ? VK_WALK_CREATE : 0), &where);
    if (err)
        return err;
    inode = where.inode;
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        inode = vk_inode_new(run->k, S_IFREG | (mode & 07777 & ~run->k->s.umask));
        return inode == VK_NONE ? VK_NOMEM : open_make(run, inode, flags);
    }
    if (inode == VK_NONE) {
        if (!(flags & O_CREAT))
            return -ENOENT;
        err = open_create(run, &where, mode, &inode);
        return err ? err : open_make(run, inode, flags);
    }
    if (is_new_only)
        return -EEXIST;
    if (flags & O_CREAT && vk_inode(run->k, inode)->base != VK_NONE)
        vk_inode_edit(run->k, inode)->is_opened = true;
    err = open_check(run, inode, flags);
    if (!err && flags & O_TRUNC && !(flags & O_PATH) && !vk_inode(run->k, inode)->is_live)
        err = vk_file_resize(run, inode, 0);
    return err ? err : open_make(run, inode, flags);
}

int64_t vk_call_open(struct vk_run *run)
{
    return open_at(run, AT_FDCWD, run->a[0], (uint32_t)run->a[1], (uint32_t)run->a[2]);
}

int64_t vk_call_creat(struct vk_run *run)
{
    return open_at(run, AT_FDCWD, run->a[0], O_CREAT | O_WRONLY | O_TRUNC, (uint32_t)run->a[1]);
}

int64_t vk_call_openat(struct vk_run *run)
{
    return open_at(run, (int)run->a[0], run->a[1], (uint32_t)run->a[2], (uint32_t)run->a[3]);
}

/* A recorded open with O_CREAT, of which it was not known whether there was a file. `is_cut`: it
 * has just made it empty. */
static void note_made(struct vk_run *run, uint32_t inode, bool is_cut)
{
    const struct vk_inode *row = inode == VK_NONE ? NULL : vk_inode(run->k, inode);
    if (!row || row->base == VK_NONE)
        return;
    if (run->learns && !vk_base_at(run->h, row->base)->has_stat)
        vk_base_at(run->h, row->base)->may_be_made = true;
    bool is_first = !row->is_opened && (!row->is_written || is_cut);
    struct vk_inode *made = vk_inode_edit(run->k, inode);
    made->is_opened = true;
    made->is_untouched = is_first;
}

/* A recorded open that the model did not foresee: what it found was there. */
static void adopt_open_at(struct vk_run *run, int at, uint64_t path, uint32_t flags, uint32_t mode)
{
    int64_t told = run->told->result;
    struct vk_where where;
    bool follows = !(flags & O_NOFOLLOW);
    uint32_t inode;
    if (told == -ENOENT && !(flags & O_CREAT))
        vk_learn_path(run, at, path, follows, false);
    if (told < 0 || told >= VK_FD_MAX)
        return;
    bool is_new = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    vk_learn_path(run, at, path, follows, !is_new);
    int64_t err = vk_walk(run, at, path, follows ? VK_WALK_FOLLOW : 0, &where);
    if (!err && where.inode == VK_NONE)
        err = open_create(run, &where, mode, &where.inode);
    if (err)
        return;
    bool is_cut = flags & O_TRUNC && !vk_inode(run->k, where.inode)->is_written;
    if (flags & O_TRUNC)
        vk_file_resize(run, where.inode, 0);
    if (flags & O_CREAT)
        note_made(run, where.inode, is_cut);
    vk_fd_close(run->k, (uint64_t)told);
    int64_t fd = open_make(run, where.inode, flags);
    if (fd >= 0 && fd != told && vk_open_of(run->k, (uint64_t)fd, &inode)) {
        vk_fd_set(run->k, (uint64_t)told, inode, flags & O_CLOEXEC);
        vk_fd_close(run->k, (uint64_t)fd);
    }
}

void vk_adopt_open_call(struct vk_run *run)
{
    adopt_open_at(run, AT_FDCWD, run->a[0], (uint32_t)run->a[1], (uint32_t)run->a[2]);
}

void vk_adopt_creat(struct vk_run *run)
{
    adopt_open_at(run, AT_FDCWD, run->a[0], O_CREAT | O_WRONLY | O_TRUNC, (uint32_t)run->a[1]);
}

void vk_adopt_openat(struct vk_run *run)
{
    adopt_open_at(run, (int)run->a[0], run->a[1], (uint32_t)run->a[2], (uint32_t)run->a[3]);
}

int64_t vk_call_memfd_create(struct vk_run *run)
{
    char name[256];
    int bytes = vk_get_string(run, run->a[0], name, sizeof(name) - 6);
    if (bytes < 0)
        return bytes == -EFAULT ? -EFAULT : -EINVAL;
    if (run->a[1] & ~(uint64_t)(MFD_CLOEXEC | MFD_ALLOW_SEALING))
        return vk_unknown(run, "flags %#llx are not modelled", (unsigned long long)run->a[1]);
    uint32_t inode = vk_inode_new(run->k, S_IFREG | 0777);
    if (inode == VK_NONE)
        return VK_NOMEM;
    vk_inode_edit(run->k, inode)->nlink = 0;
    struct vk_open open = {.kind = VK_OPEN_FILE, .inode = inode, .flags = O_RDWR | 0100000};
    vk_inode_edit(run->k, inode)->opens++;
    return vk_fd_make(run, &open, run->a[1] & MFD_CLOEXEC);
}

/* ---- names ---- */

/* What a call that takes a name away or gives one needs: to write to its directory. */
static int64_t may_change(struct vk_run *run, const struct vk_where *where)
{
    const struct vk_inode *dir = vk_inode(run->k, where->directory);
    if (dir->is_live)
        return vk_unknown(run, "a tree of the kernel's");
    if (!vk_may(run->k, dir, 3))
        return -EACCES;
    if (dir->has_mode && dir->mode & S_ISVTX && run->k->s.euid && where->inode != VK_NONE &&
        dir->uid != run->k->s.euid && vk_inode(run->k, where->inode)->uid != run->k->s.euid)
        return -EPERM;
    return 0;
}

static int64_t new_name(struct vk_run *run, int at, uint64_t path, bool is_directory,
                        struct vk_where *where)
{
    int64_t err = vk_walk(run, at, path, VK_WALK_PARENT, where);
    if (err)
        return err;
    if (where->inode != VK_NONE)
        return -EEXIST;
    if (where->is_slashed && !is_directory)
        return -ENOENT;
    return may_change(run, where);
}

static int64_t put_name(struct vk_run *run, const struct vk_where *where, uint32_t inode)
{
    if (inode == VK_NONE || vk_name_set(run->k, where->directory, where->name, inode))
        return VK_NOMEM;
    vk_times_touch(run->k, vk_inode_edit(run->k, where->directory), true);
    return 0;
}

static int64_t make_directory(struct vk_run *run, int at, uint64_t path, uint64_t mode)
{
    struct vk_where where;
    int64_t err = new_name(run, at, path, true, &where);
    if (err)
        return err;
    uint32_t inode = vk_inode_new(run->k, S_IFDIR | ((uint32_t)mode & 01777 & ~run->k->s.umask));
    if (inode != VK_NONE)
        vk_inode_edit(run->k, inode)->size = VK_BLOCK;
    vk_inode_edit(run->k, where.directory)->nlink++;
    return put_name(run, &where, inode);
}

int64_t vk_call_mkdir(struct vk_run *run)
{
    return make_directory(run, AT_FDCWD, run->a[0], run->a[1]);
}

int64_t vk_call_mkdirat(struct vk_run *run)
{
    return make_directory(run, (int)run->a[0], run->a[1], run->a[2]);
}

static int64_t make_link_text(struct vk_run *run, uint64_t text, int at, uint64_t path)
{
    struct vk_where where;
    char target[PATH_MAX];
    int bytes = vk_get_string(run, text, target, sizeof(target));
    if (bytes <= 0)
        return bytes ? bytes : -ENOENT;
    int64_t err = new_name(run, at, path, false, &where);
    if (err)
        return err;
    uint32_t inode = vk_inode_new(run->k, S_IFLNK | 0777);
    if (inode != VK_NONE) {
        struct vk_inode *row = vk_inode_edit(run->k, inode);
        row->link = vk_text_new(target, (size_t)bytes);
        row->size = (uint64_t)bytes;
    }
    return put_name(run, &where, inode);
}

int64_t vk_call_symlink(struct vk_run *run)
{
    return make_link_text(run, run->a[0], AT_FDCWD, run->a[1]);
}

int64_t vk_call_symlinkat(struct vk_run *run)
{
    return make_link_text(run, run->a[0], (int)run->a[1], run->a[2]);
}

static int64_t add_link(struct vk_run *run, int from_at, uint64_t from, int to_at, uint64_t to,
                        uint64_t flags)
{
    struct vk_where old, where;
    unsigned how = flags & AT_SYMLINK_FOLLOW ? VK_WALK_FOLLOW : 0;
    if (flags & ~(uint64_t)AT_SYMLINK_FOLLOW)
        return vk_unknown(run, "flags are not modelled");
    int64_t err = vk_walk(run, from_at, from, how, &old);
    if (!err && old.inode == VK_NONE)
        err = -ENOENT;
    if (!err)
        err = new_name(run, to_at, to, false, &where);
    if (err)
        return err;
    if (S_ISDIR(vk_inode(run->k, old.inode)->mode))
        return -EPERM;
    struct vk_inode *inode = vk_inode_edit(run->k, old.inode);
    if (!inode)
        return VK_NOMEM;
    inode->nlink++;
    vk_times_touch(run->k, inode, false);
    return put_name(run, &where, old.inode);
}

int64_t vk_call_link(struct vk_run *run)
{
    return add_link(run, AT_FDCWD, run->a[0], AT_FDCWD, run->a[1], 0);
}

int64_t vk_call_linkat(struct vk_run *run)
{
    return add_link(run, (int)run->a[0], run->a[1], (int)run->a[2], run->a[3], run->a[4]);
}

static int64_t drop_name(struct vk_run *run, const struct vk_where *where)
{
    struct vk_inode *inode = vk_inode_edit(run->k, where->inode);
    if (!inode || vk_name_set(run->k, where->directory, where->name, VK_NONE))
        return VK_NOMEM;
    if (inode->has_nlink && inode->nlink)
        inode->nlink--;
    vk_times_touch(run->k, inode, false);
    vk_times_touch(run->k, vk_inode_edit(run->k, where->directory), true);
    return 0;
}

static int64_t remove_directory(struct vk_run *run, const struct vk_where *where)
{
    const struct vk_inode *inode = vk_inode(run->k, where->inode);
    if (!S_ISDIR(inode->mode))
        return inode->mode ? -ENOTDIR : vk_unknown(run, "whether it is a directory");
    if (where->inode == run->k->s.root)
        return -EBUSY;
    if (!strcmp(where->name, "."))
        return -EINVAL;
    if (!strcmp(where->name, ".."))
        return -ENOTEMPTY;
    int64_t err = vk_directory_is_empty(run, where->inode);
    if (err)
        return err;
    struct vk_inode *parent = vk_inode_edit(run->k, where->directory);
    if (parent->has_nlink)
        parent->nlink--;
    err = drop_name(run, where);
    vk_inode_edit(run->k, where->inode)->nlink = 0;
    return err;
}

static int64_t unlink_at(struct vk_run *run, int at, uint64_t path, bool is_directory)
{
    struct vk_where where;
    int64_t err = vk_walk(run, at, path, VK_WALK_PARENT, &where);
    if (err)
        return err;
    if (where.inode == VK_NONE)
        return -ENOENT;
    if (*where.name && strcmp(where.name, ".") && strcmp(where.name, ".."))
        err = may_change(run, &where);
    if (err)
        return err;
    if (is_directory)
        return remove_directory(run, &where);
    uint32_t format = vk_inode(run->k, where.inode)->mode & S_IFMT;
    if (format == S_IFDIR)
        return -EISDIR;
    if (where.is_slashed)
        return -ENOTDIR;
    return drop_name(run, &where);
}

int64_t vk_call_unlink(struct vk_run *run)
{
    return unlink_at(run, AT_FDCWD, run->a[0], false);
}

int64_t vk_call_rmdir(struct vk_run *run)
{
    return unlink_at(run, AT_FDCWD, run->a[0], true);
}

int64_t vk_call_unlinkat(struct vk_run *run)
{
    if (run->a[2] & ~(uint64_t)AT_REMOVEDIR)
        return -EINVAL;
    return unlink_at(run, (int)run->a[0], run->a[1], run->a[2] & AT_REMOVEDIR);
}

/* ---- rename ---- */

static bool is_inside(const struct vk_kernel *k, uint32_t directory, uint32_t ancestor)
{
    char inner[PATH_MAX], outer[PATH_MAX];
    if (directory == ancestor)
        return true;
    if (!vk_inode_path(k, directory, inner, sizeof(inner)) ||
        !vk_inode_path(k, ancestor, outer, sizeof(outer)))
        return false;
    size_t bytes = strlen(outer);
    return !strncmp(inner, outer, bytes) && inner[bytes] == '/';
}

static int64_t rename_over(struct vk_run *run, const struct vk_where *from, struct vk_where *to)
{
    bool is_directory = S_ISDIR(vk_inode(run->k, from->inode)->mode);
    bool to_directory = S_ISDIR(vk_inode(run->k, to->inode)->mode);
    if (is_directory && !to_directory)
        return -ENOTDIR;
    if (!is_directory && to_directory)
        return -EISDIR;
    if (to_directory) {
        int64_t err = vk_directory_is_empty(run, to->inode);
        if (err)
            return err;
    }
    struct vk_inode *gone = vk_inode_edit(run->k, to->inode);
    if (!gone)
        return VK_NOMEM;
    gone->nlink = to_directory ? 0 : gone->nlink - 1;
    if (to_directory)
        vk_inode_edit(run->k, to->directory)->nlink--;
    return 0;
}

static int64_t rename_move(struct vk_run *run, struct vk_where *from, struct vk_where *to)
{
    struct vk_kernel *k = run->k;
    bool is_directory = S_ISDIR(vk_inode(k, from->inode)->mode);
    int64_t err = to->inode == VK_NONE ? 0 : rename_over(run, from, to);
    if (err)
        return err;
    if (vk_name_set(k, from->directory, from->name, VK_NONE) ||
        vk_name_set(k, to->directory, to->name, from->inode))
        return VK_NOMEM;
    if (is_directory && from->directory != to->directory) {
        vk_inode_edit(k, from->directory)->nlink--;
        vk_inode_edit(k, to->directory)->nlink++;
    }
    vk_times_touch(k, vk_inode_edit(k, from->inode), false);
    vk_times_touch(k, vk_inode_edit(k, from->directory), true);
    vk_times_touch(k, vk_inode_edit(k, to->directory), true);
    return 0;
}

static bool is_dots(const struct vk_where *where)
{
    return !*where->name || !strcmp(where->name, ".") || !strcmp(where->name, "..");
}

static int64_t rename_at(struct vk_run *run, int from_at, uint64_t from_path, int to_at,
                         uint64_t to_path, uint64_t flags)
{
    struct vk_where from, to;
    if (flags & ~(uint64_t)RENAME_NOREPLACE)
        return vk_unknown(run, "flags are not modelled");
    int64_t err = vk_walk(run, from_at, from_path, VK_WALK_PARENT, &from);
    if (!err)
        err = vk_walk(run, to_at, to_path, VK_WALK_PARENT, &to);
    if (err)
        return err;
    if (is_dots(&from))
        return -EBUSY;
    if (is_dots(&to))
        return flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY;
    if (from.inode == VK_NONE)
        return -ENOENT;
    if (to.inode != VK_NONE && flags & RENAME_NOREPLACE)
        return -EEXIST;
    bool is_directory = S_ISDIR(vk_inode(run->k, from.inode)->mode);
    if (!is_directory && (from.is_slashed || to.is_slashed))
        return -ENOTDIR;
    if (is_directory && is_inside(run->k, to.directory, from.inode))
        return -EINVAL;
    if (to.inode != VK_NONE && is_inside(run->k, from.directory, to.inode))
        return -ENOTEMPTY;
    if (to.inode == from.inode)
        return 0;
    err = may_change(run, &from);
    if (!err)
        err = may_change(run, &to);
    return err ? err : rename_move(run, &from, &to);
}

int64_t vk_call_rename(struct vk_run *run)
{
    return rename_at(run, AT_FDCWD, run->a[0], AT_FDCWD, run->a[1], 0);
}

int64_t vk_call_renameat(struct vk_run *run)
{
    return rename_at(run, (int)run->a[0], run->a[1], (int)run->a[2], run->a[3], 0);
}

int64_t vk_call_renameat2(struct vk_run *run)
{
    return rename_at(run, (int)run->a[0], run->a[1], (int)run->a[2], run->a[3], run->a[4]);
}

/* Recorded answers about names: what was found was there; where the call then succeeds, it does so
 * in the model, too. */
static void adopt_name(struct vk_run *run, int at, uint64_t path, bool makes)
{
    int64_t told = run->told->result;
    bool is_there = told == -EEXIST || (told >= 0 && !makes);
    if (is_there || told >= 0 || (told == -ENOENT && !makes))
        vk_learn_path(run, at, path, false, is_there);
}

void vk_adopt_name0(struct vk_run *run)
{
    adopt_name(run, AT_FDCWD, run->a[0], run->call->number == SYS_mkdir);
    if (run->told->result >= 0)
        vk_again(run);
}

void vk_adopt_name_at(struct vk_run *run)
{
    adopt_name(run, (int)run->a[0], run->a[1], run->call->number == SYS_mkdirat);
    if (run->told->result >= 0)
        vk_again(run);
}

void vk_adopt_symlink(struct vk_run *run)
{
    bool is_at = run->call->number == SYS_symlinkat;
    adopt_name(run, is_at ? (int)run->a[1] : AT_FDCWD, run->a[is_at ? 2 : 1], true);
    if (run->told->result >= 0)
        vk_again(run);
}

static void adopt_two(struct vk_run *run, int from_at, uint64_t from, int to_at, uint64_t to)
{
    if (run->told->result < 0)
        return;
    vk_learn_path(run, from_at, from, false, true);
    vk_learn_path(run, to_at, to, false, false);
    vk_again(run);
}

void vk_adopt_two(struct vk_run *run)
{
    adopt_two(run, AT_FDCWD, run->a[0], AT_FDCWD, run->a[1]);
}

void vk_adopt_two_at(struct vk_run *run)
{
    adopt_two(run, (int)run->a[0], run->a[1], (int)run->a[2], run->a[3]);
}

/* ---- where the process is ---- */

static int64_t go_to(struct vk_run *run, uint32_t inode)
{
    const struct vk_inode *row = vk_inode(run->k, inode);
    if (row->mode & S_IFMT && !S_ISDIR(row->mode))
        return -ENOTDIR;
    if (!row->mode)
        return vk_unknown(run, "whether it is a directory");
    if (!vk_may(run->k, row, 1))
        return -EACCES;
    run->k->s.cwd = inode;
    return 0;
}

int64_t vk_call_chdir(struct vk_run *run)
{
    struct vk_where where;
    int64_t err = vk_walk(run, AT_FDCWD, run->a[0], VK_WALK_FOLLOW, &where);
    if (err)
        return err;
    return where.inode == VK_NONE ? -ENOENT : go_to(run, where.inode);
}

int64_t vk_call_fchdir(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    return open->kind == VK_OPEN_FILE ? go_to(run, open->inode) : -ENOTDIR;
}

void vk_adopt_chdir(struct vk_run *run)
{
    struct vk_where where;
    if (run->told->result < 0)
        return;
    vk_learn_path(run, AT_FDCWD, run->a[0], true, true);
    if (!vk_walk(run, AT_FDCWD, run->a[0], VK_WALK_FOLLOW, &where) && where.inode != VK_NONE)
        run->k->s.cwd = where.inode;
}

int64_t vk_call_getcwd(struct vk_run *run)
{
    char path[PATH_MAX];
    if (!vk_inode_path(run->k, run->k->s.cwd, path, sizeof(path)))
        return -ENOENT;
    if (strlen(path) + 1 > run->a[1])
        return -ERANGE;
    int err = vk_put(run, run->a[0], path, strlen(path) + 1);
    return err ? err : (int64_t)strlen(path) + 1;
}

int64_t vk_call_umask(struct vk_run *run)
{
    uint32_t old = run->k->s.umask;
    if (!run->k->s.knows_umask)
        return vk_unknown(run, "which one the process began with is not known");
    run->k->s.umask = (uint32_t)run->a[0] & 0777;
    run->k->s.knows_umask = true;
    return old;
}

void vk_adopt_umask(struct vk_run *run)
{
    if (run->learns && !run->h->first.knows_umask) {
        run->h->first.umask = (uint32_t)run->told->result;
        run->h->first.knows_umask = true;
    }
    run->k->s.umask = (uint32_t)run->a[0] & 0777;
    run->k->s.knows_umask = true;
}
