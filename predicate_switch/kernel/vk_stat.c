/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What files and directories say of themselves. Format, rights, owner, links and size are the
 * model's; what a file system makes up (inode numbers, times, blocks of a file that the run
 * changed) is what the recording had next of the same file, else the model's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "predicate_switch/kernel/vk_calls.h"

#define SIZE_OF_STAT 144

/* The inode that a call is about: of a path, or of a descriptor. VK_NONE and 0: an open
 * description without one. */
static int64_t subject(struct vk_run *run, int at, uint64_t path, bool follows, bool takes_empty,
                       uint32_t *inode)
{
    char text[PATH_MAX];
    struct vk_where where;
    uint32_t index;
    *inode = VK_NONE;
    int bytes = path || !takes_empty ? vk_get_string(run, path, text, sizeof(text)) : 0;
    if (bytes < 0)
        return bytes;
    if (!bytes && takes_empty) {
        if (at == AT_FDCWD) {
            *inode = run->k->s.cwd;
            return 0;
        }
        const struct vk_open *open = vk_open_of(run->k, (uint32_t)at, &index);
        if (!open)
            return -EBADF;
        bool has = open->kind == VK_OPEN_FILE;
        *inode = has ? open->inode : VK_NONE;
        return 0;
    }
    int64_t err = vk_walk_text(run, at, text, follows ? VK_WALK_FOLLOW : 0, &where);
    if (err)
        return err;
    *inode = where.inode;
    return *inode == VK_NONE ? -ENOENT : 0;
}

struct view { /* of an inode */
    struct stat st;
    bool has_all; /* the times, too */
};

/* VK_UNKNOWN: the model cannot say. Of a file that a live run has changed, nothing else can. */
static int64_t view_of(struct vk_run *run, uint32_t index, struct view *view)
{
    struct vk_kernel *k = run->k;
    vk_inode_ask(k, index);
    const struct vk_inode *inode = vk_inode(k, index);
    const struct vk_base *base = inode->base == VK_NONE ? NULL : vk_base_at(run->h, inode->base);
    bool is_plain = S_ISREG(inode->mode);
    if (inode->is_live || !inode->has_mode || !inode->has_owner || !inode->has_nlink ||
        (is_plain && !inode->has_size))
        return vk_is_own(k, inode) ? vk_unknown_own(run, "of a file that was changed") : VK_UNKNOWN;
    struct stat *st = &view->st;
    *st = (struct stat){0};
    if (base && base->has_stat)
        *st = base->st;
    else if (vk_count(&k->inodes) && vk_inode(k, k->s.cwd)->base != VK_NONE)
        st->st_dev = vk_base_at(run->h, vk_inode(k, k->s.cwd)->base)->st.st_dev;
    st->st_mode = inode->mode;
    st->st_uid = inode->uid;
    st->st_gid = inode->gid;
    st->st_nlink = inode->nlink;
    st->st_ino = inode->number;
    st->st_rdev = inode->rdev;
    if (is_plain || S_ISLNK(inode->mode))
        st->st_size = (off_t)inode->size;
    else if (inode->is_new)
        st->st_size = VK_BLOCK;
    view->has_all = !inode->is_written && base && base->has_stat;
    if (vk_is_input(k, index))
        st->st_blocks = (st->st_size + VK_BLOCK - 1) / VK_BLOCK * (VK_BLOCK / 512);
    if (!view->has_all) {
        st->st_blksize = VK_BLOCK;
        st->st_blocks = (st->st_size + VK_BLOCK - 1) / VK_BLOCK * (VK_BLOCK / 512);
        st->st_atim = inode->atime, st->st_mtim = inode->mtime, st->st_ctim = inode->ctime;
    }
    return 0;
}

/* What the recording has next wins where the model makes up. */
static void merge(struct view *view, const struct stat *next)
{
    struct stat *st = &view->st;
    st->st_atim = next->st_atim;
    if (view->has_all)
        return;
    st->st_dev = next->st_dev;
    st->st_ino = next->st_ino;
    st->st_blksize = next->st_blksize;
    st->st_mtim = next->st_mtim;
    st->st_ctim = next->st_ctim;
    if (st->st_size == next->st_size || S_ISDIR(st->st_mode)) {
        st->st_blocks = next->st_blocks;
        st->st_size = next->st_size;
    }
    if (S_ISDIR(st->st_mode))
        st->st_nlink = next->st_nlink;
}

/* What a descriptor was that the program began with, and that is no regular file; NULL if that is
 * not known. `path` and `takes_empty` as in subject(). */
static const struct stat *stat_of_stream(struct vk_run *run, int at, uint64_t path,
                                         bool takes_empty)
{
    char text[2];
    uint32_t index;
    if (at == AT_FDCWD || !takes_empty || (path && vk_get_string(run, path, text, sizeof(text))))
        return NULL;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)at, &index);
    const struct vk_stream *stream = open ? vk_stream_of(run->h, open) : NULL;
    return stream ? &stream->st : NULL;
}

/* `stream`: what it is, where the model has no inode of it, or NULL. */
static int64_t give_stat(struct vk_run *run, uint32_t inode, const struct stat *stream,
                         uint64_t address)
{
    struct view view;
    struct vk_answer next;
    struct stat told;
    bool has_next = !vk_is_input(run->k, inode) && vk_next_answer(run, &next);
    if (inode == VK_NONE || view_of(run, inode, &view)) {
        if (run->may_differ)
            return VK_UNKNOWN;
        if (has_next)
            return vk_give_answer(run, &next);
        if (!stream)
            return vk_unknown(run, "what is outside, or was never asked about");
        return vk_put(run, address, stream, SIZE_OF_STAT);
    }
    if (has_next && next.result == 0 &&
        vk_answer_bytes(&next, next.args[address == run->a[2] ? 2 : 1], &told, SIZE_OF_STAT) ==
            SIZE_OF_STAT)
        merge(&view, &told);
    run->has_taken = run->has_taken && !view.has_all;
    return vk_put(run, address, &view.st, SIZE_OF_STAT);
}

/* Of a file whose bytes the run has changed, a recorded stat still tells who it is. */
static void learn_identity(struct vk_base *base, const struct vk_inode *row, const struct stat *st)
{
    if (base->has_stat || base->has_identity || row->is_relabelled)
        return;
    base->st.st_dev = st->st_dev;
    base->st.st_ino = st->st_ino;
    base->st.st_mode = st->st_mode;
    base->st.st_nlink = st->st_nlink;
    base->st.st_uid = st->st_uid;
    base->st.st_gid = st->st_gid;
    base->st.st_rdev = st->st_rdev;
    base->st.st_blksize = st->st_blksize;
    base->has_identity = true;
}

/* A recorded stat: what the file was, unless the run has changed it. */
static void learn_stat(struct vk_run *run, uint32_t inode, const struct stat *st)
{
    const struct vk_inode *row = vk_inode(run->k, inode);
    if (row->base == VK_NONE || !run->learns)
        return;
    struct vk_base *base = vk_base_at(run->h, row->base);
    base->format = st->st_mode & S_IFMT;
    if (row->is_live)
        return;
    if (row->is_untouched)
        vk_birth_learn(run->h, row->base, st);
    if (row->is_written) {
        learn_identity(base, row, st);
        vk_size_learn(run->k, inode, (uint64_t)st->st_size);
        return;
    }
    if (!base->has_stat) {
        base->st = *st;
        base->has_stat = base->is_stat_told = true;
        base->has_asked_disk = false;
    }
    if (S_ISREG(st->st_mode) && !base->has_size) {
        base->st.st_size = st->st_size;
        base->has_size = true;
    }
}

/* A descriptor that the process began with is one of a regular file: it has positions. */
void vk_stream_is_file(struct vk_kernel *k, uint64_t fd)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(k, fd, &index);
    if (!open || open->kind != VK_OPEN_OUTSIDE || !open->outside)
        return;
    struct vk_open *row = vk_open_edit(k, index);
    struct vk_inode *inode = vk_inode_edit(k, row->inode);
    if (!inode)
        return;
    row->kind = VK_OPEN_FILE;
    inode->opens++;
}

static void adopt_stat(struct vk_run *run, int at, uint64_t path, bool follows, bool takes_empty,
                       uint64_t address)
{
    uint32_t inode, index;
    struct stat st;
    char text[PATH_MAX] = "";
    bool is_empty = takes_empty && (!path || vk_get_string(run, path, text, sizeof(text)) == 0);
    if (is_empty && at != AT_FDCWD &&
        !vk_adopt_open(run, (uint32_t)at, run->told->result != -EBADF))
        return;
    if (!is_empty && (run->told->result == 0 || run->told->result == -ENOENT))
        vk_learn_path(run, at, path, follows, !run->told->result);
    if (run->told->result || vk_told_bytes(run, address, &st, SIZE_OF_STAT) != SIZE_OF_STAT)
        return;
    if (is_empty && at != AT_FDCWD) {
        const struct vk_open *open = vk_open_of(run->k, (uint32_t)at, &index);
        if (open->inode == VK_NONE)
            return;
        learn_stat(run, open->inode, &st);
        if (S_ISREG(st.st_mode))
            vk_stream_is_file(run->k, (uint32_t)at);
    } else if (!subject(run, at, path, follows, takes_empty, &inode) && inode != VK_NONE) {
        learn_stat(run, inode, &st);
        vk_inode_learn(run->k, inode);
    }
}

int64_t vk_call_stat(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, AT_FDCWD, run->a[0], run->call->number == SYS_stat, false, &inode);
    return err ? err : give_stat(run, inode, NULL, run->a[1]);
}

void vk_adopt_stat(struct vk_run *run)
{
    adopt_stat(run, AT_FDCWD, run->a[0], run->call->number == SYS_stat, false, run->a[1]);
}

int64_t vk_call_fstat(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, (int)run->a[0], 0, false, true, &inode);
    return err ? err
               : give_stat(run, inode, stat_of_stream(run, (int)run->a[0], 0, true), run->a[1]);
}

void vk_adopt_fstat(struct vk_run *run)
{
    adopt_stat(run, (int)run->a[0], 0, false, true, run->a[1]);
}

int64_t vk_call_newfstatat(struct vk_run *run)
{
    uint32_t inode;
    uint64_t flags = run->a[3];
    if (flags & ~(uint64_t)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | AT_NO_AUTOMOUNT))
        return -EINVAL;
    int64_t err = subject(run, (int)run->a[0], run->a[1], !(flags & AT_SYMLINK_NOFOLLOW),
                          flags & AT_EMPTY_PATH, &inode);
    return err ? err
               : give_stat(run, inode,
                           stat_of_stream(run, (int)run->a[0], run->a[1], flags & AT_EMPTY_PATH),
                           run->a[2]);
}

void vk_adopt_newfstatat(struct vk_run *run)
{
    adopt_stat(run, (int)run->a[0], run->a[1], !(run->a[3] & AT_SYMLINK_NOFOLLOW),
               run->a[3] & AT_EMPTY_PATH, run->a[2]);
}

/* ---- statx ---- */

static void statx_of(const struct view *view, struct statx *x)
{
    const struct stat *st = &view->st;
    /* Linux leaves out the times of changes where nobody asks for them (6.13). */
    if (!x->stx_mask)
        x->stx_mask = STATX_BASIC_STATS;
    x->stx_blksize = (uint32_t)st->st_blksize;
    x->stx_nlink = (uint32_t)st->st_nlink;
    x->stx_uid = st->st_uid;
    x->stx_gid = st->st_gid;
    x->stx_mode = (uint16_t)st->st_mode;
    x->stx_ino = st->st_ino;
    x->stx_size = (uint64_t)st->st_size;
    x->stx_blocks = (uint64_t)st->st_blocks;
    if (x->stx_mask & STATX_CTIME) {
        x->stx_ctime.tv_sec = st->st_ctim.tv_sec;
        x->stx_ctime.tv_nsec = (uint32_t)st->st_ctim.tv_nsec;
    }
    if (x->stx_mask & STATX_MTIME) {
        x->stx_mtime.tv_sec = st->st_mtim.tv_sec;
        x->stx_mtime.tv_nsec = (uint32_t)st->st_mtim.tv_nsec;
    }
    x->stx_atime.tv_sec = st->st_atim.tv_sec;
    x->stx_atime.tv_nsec = (uint32_t)st->st_atim.tv_nsec;
    x->stx_dev_major = (uint32_t)(st->st_dev >> 8 & 0xfff);
    x->stx_dev_minor = (uint32_t)((st->st_dev & 0xff) | (st->st_dev >> 12 & 0xfff00));
    x->stx_rdev_major = (uint32_t)(st->st_rdev >> 8 & 0xfff);
    x->stx_rdev_minor = (uint32_t)((st->st_rdev & 0xff) | (st->st_rdev >> 12 & 0xfff00));
}

static void stat_of(const struct statx *x, struct stat *st)
{
    *st = (struct stat){.st_mode = x->stx_mode,
                        .st_nlink = x->stx_nlink,
                        .st_uid = x->stx_uid,
                        .st_gid = x->stx_gid,
                        .st_ino = x->stx_ino,
                        .st_size = (off_t)x->stx_size,
                        .st_blocks = (blkcnt_t)x->stx_blocks,
                        .st_blksize = x->stx_blksize,
                        .st_dev = (x->stx_dev_minor & 0xff) | (uint64_t)x->stx_dev_major << 8 |
                                  (uint64_t)(x->stx_dev_minor & ~0xffu) << 12,
                        .st_rdev = (x->stx_rdev_minor & 0xff) | (uint64_t)x->stx_rdev_major << 8 |
                                   (uint64_t)(x->stx_rdev_minor & ~0xffu) << 12};
    st->st_atim = (struct timespec){x->stx_atime.tv_sec, x->stx_atime.tv_nsec};
    st->st_mtim = (struct timespec){x->stx_mtime.tv_sec, x->stx_mtime.tv_nsec};
    st->st_ctim = (struct timespec){x->stx_ctime.tv_sec, x->stx_ctime.tv_nsec};
}

int64_t vk_call_statx(struct vk_run *run)
{
    uint32_t inode;
    uint64_t flags = run->a[2];
    struct view view;
    struct vk_answer next;
    struct statx x = {0};
    struct stat told;
    int64_t err = subject(run, (int)run->a[0], run->a[1], !(flags & AT_SYMLINK_NOFOLLOW),
                          flags & AT_EMPTY_PATH, &inode);
    if (err)
        return err;
    bool has_next = !vk_is_input(run->k, inode) && vk_next_answer(run, &next);
    if (inode == VK_NONE || view_of(run, inode, &view)) {
        if (run->may_differ)
            return VK_UNKNOWN;
        if (has_next)
            return vk_give_answer(run, &next);
        const struct stat *stream =
            stat_of_stream(run, (int)run->a[0], run->a[1], flags & AT_EMPTY_PATH);
        if (!stream)
            return vk_unknown(run, "what is outside, or was never asked about");
        view = (struct view){.st = *stream, .has_all = true};
        has_next = false;
    }
    if (has_next && !next.result &&
        vk_answer_bytes(&next, next.args[4], &x, sizeof(x)) == sizeof(x)) {
        stat_of(&x, &told);
        merge(&view, &told);
    }
    run->has_taken = run->has_taken && !view.has_all;
    statx_of(&view, &x);
    return vk_put(run, run->a[4], &x, sizeof(x));
}

void vk_adopt_statx(struct vk_run *run)
{
    uint32_t inode;
    struct statx x;
    struct stat st;
    bool follows = !(run->a[2] & AT_SYMLINK_NOFOLLOW), takes_empty = run->a[2] & AT_EMPTY_PATH;
    if (run->told->result == 0 || run->told->result == -ENOENT)
        vk_learn_path(run, (int)run->a[0], run->a[1], follows, !run->told->result);
    if (run->told->result || vk_told_bytes(run, run->a[4], &x, sizeof(x)) != sizeof(x) ||
        subject(run, (int)run->a[0], run->a[1], follows, takes_empty, &inode) || inode == VK_NONE)
        return;
    if ((x.stx_mask & STATX_BASIC_STATS) != STATX_BASIC_STATS)
        return;
    stat_of(&x, &st);
    learn_stat(run, inode, &st);
    vk_inode_learn(run->k, inode);
}

/* ---- access, readlink ---- */

static int64_t access_at(struct vk_run *run, int at, uint64_t path, uint64_t mode, uint64_t flags)
{
    uint32_t inode;
    if (mode & ~7ull)
        return -EINVAL;
    int64_t err =
        subject(run, at, path, !(flags & AT_SYMLINK_NOFOLLOW), flags & AT_EMPTY_PATH, &inode);
    if (err)
        return err;
    if (inode == VK_NONE)
        return vk_next_recorded(run);
    vk_inode_learn(run->k, inode);
    const struct vk_inode *row = vk_inode(run->k, inode);
    if (mode && (!row->has_mode || !run->k->s.knows_ids)) {
        struct vk_answer next;
        if (vk_next_answer(run, &next))
            return vk_give_answer(run, &next);
        if (!row->has_mode)
            return vk_unknown(run, "what may be done with the file");
    }
    return vk_may(run->k, row, (unsigned)mode) ? 0 : -EACCES;
}

int64_t vk_call_access(struct vk_run *run)
{
    return access_at(run, AT_FDCWD, run->a[0], run->a[1], 0);
}

int64_t vk_call_faccessat(struct vk_run *run)
{
    bool has_flags = run->call->number != SYS_faccessat;
    return access_at(run, (int)run->a[0], run->a[1], run->a[2], has_flags ? run->a[3] : 0);
}

void vk_adopt_access(struct vk_run *run)
{
    if (run->told->result == 0 || run->told->result == -ENOENT)
        vk_learn_path(run, AT_FDCWD, run->a[0], true, !run->told->result);
}

void vk_adopt_faccessat(struct vk_run *run)
{
    if (run->told->result == 0 || run->told->result == -ENOENT)
        vk_learn_path(run, (int)run->a[0], run->a[1], true, !run->told->result);
}

static int64_t read_link(struct vk_run *run, int at, uint64_t path, uint64_t to, uint64_t size)
{
    uint32_t inode;
    struct vk_answer next;
    if ((int)size <= 0)
        return -EINVAL;
    int64_t err = subject(run, at, path, false, at != AT_FDCWD, &inode);
    if (VK_IS_SPECIAL(err))
        return vk_next_answer(run, &next) ? vk_give_answer(run, &next) : err;
    if (err)
        return err;
    const struct vk_inode *row = inode == VK_NONE ? NULL : vk_inode(run->k, inode);
    if (!row || row->is_live || (!row->mode && !row->link) || (S_ISLNK(row->mode) && !row->link))
        return vk_next_recorded(run);
    if (!S_ISLNK(row->mode))
        return -EINVAL;
    uint64_t bytes = row->link->bytes < size ? row->link->bytes : size;
    int fault = vk_put(run, to, row->link->text, bytes);
    return fault ? fault : (int64_t)bytes;
}

int64_t vk_call_readlink(struct vk_run *run)
{
    return read_link(run, AT_FDCWD, run->a[0], run->a[1], run->a[2]);
}

int64_t vk_call_readlinkat(struct vk_run *run)
{
    return read_link(run, (int)run->a[0], run->a[1], run->a[2], run->a[3]);
}

static void adopt_link(struct vk_run *run, int at, uint64_t path, uint64_t address, uint64_t size)
{
    struct vk_where where;
    char text[PATH_MAX];
    int64_t told = run->told->result;
    if (told == -ENOENT || told > 0 || told == -EINVAL)
        vk_learn_path(run, at, path, false, told != -ENOENT);
    if ((told <= 0 && told != -EINVAL) || told >= (int64_t)sizeof(text) ||
        vk_walk(run, at, path, 0, &where) || where.inode == VK_NONE)
        return;
    const struct vk_inode *row = vk_inode(run->k, where.inode);
    if (row->base == VK_NONE || row->is_live || !run->learns || told < 0 ||
        (uint64_t)told >= size || vk_told_bytes(run, address, text, (size_t)told) != (size_t)told)
        return;
    struct vk_base *base = vk_base_at(run->h, row->base);
    base->format = S_IFLNK;
    if (!base->link)
        base->link = strndup(text, (size_t)told);
    vk_inode_learn(run->k, where.inode);
}

void vk_adopt_readlink(struct vk_run *run)
{
    adopt_link(run, AT_FDCWD, run->a[0], run->a[1], run->a[2]);
}

void vk_adopt_readlinkat(struct vk_run *run)
{
    adopt_link(run, (int)run->a[0], run->a[1], run->a[2], run->a[3]);
}

/* ---- what may be changed ---- */

static int64_t change_mode(struct vk_run *run, uint32_t inode, uint64_t mode)
{
    if (inode == VK_NONE)
        return vk_unknown(run, "of what is outside");
    struct vk_inode *row = vk_inode_edit(run->k, inode);
    if (!row)
        return VK_NOMEM;
    if (row->is_live)
        return vk_unknown(run, "a file of the kernel's");
    if (run->k->s.knows_ids && run->k->s.euid && row->has_owner && row->uid != run->k->s.euid)
        return -EPERM;
    row->mode = (row->mode & S_IFMT) | ((uint32_t)mode & 07777);
    vk_times_touch(run->k, row, false);
    return 0;
}

int64_t vk_call_chmod(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, AT_FDCWD, run->a[0], true, false, &inode);
    return err ? err : change_mode(run, inode, run->a[1]);
}

int64_t vk_call_fchmod(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, (int)run->a[0], 0, false, true, &inode);
    return err ? err : change_mode(run, inode, run->a[1]);
}

int64_t vk_call_fchmodat(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, (int)run->a[0], run->a[1], true, false, &inode);
    return err ? err : change_mode(run, inode, run->a[2]);
}

static int64_t change_owner(struct vk_run *run, uint32_t inode, uint64_t uid, uint64_t gid)
{
    if (inode == VK_NONE)
        return vk_unknown(run, "of what is outside");
    struct vk_inode *row = vk_inode_edit(run->k, inode);
    if (!row)
        return VK_NOMEM;
    if (row->is_live || !run->k->s.knows_ids || !row->has_owner)
        return vk_unknown(run, "who owns the file, or asks");
    bool keeps =
        ((uint32_t)uid == VK_NONE || (uint32_t)uid == row->uid) &&
        ((uint32_t)gid == VK_NONE || (uint32_t)gid == row->gid || (uint32_t)gid == run->k->s.egid);
    if (run->k->s.euid && !(keeps && row->uid == run->k->s.euid))
        return -EPERM;
    if ((uint32_t)uid != VK_NONE)
        row->uid = (uint32_t)uid;
    if ((uint32_t)gid != VK_NONE)
        row->gid = (uint32_t)gid;
    if (S_ISREG(row->mode)) {
        row->mode &= ~(uint32_t)S_ISUID;
        if (row->mode & S_IXGRP)
            row->mode &= ~(uint32_t)S_ISGID;
    }
    vk_times_touch(run->k, row, false);
    return 0;
}

int64_t vk_call_chown(struct vk_run *run)
{
    uint32_t inode;
    bool follows = run->call->number == SYS_chown;
    int64_t err = subject(run, AT_FDCWD, run->a[0], follows, false, &inode);
    return err ? err : change_owner(run, inode, run->a[1], run->a[2]);
}

int64_t vk_call_fchown(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, (int)run->a[0], 0, false, true, &inode);
    return err ? err : change_owner(run, inode, run->a[1], run->a[2]);
}

int64_t vk_call_fchownat(struct vk_run *run)
{
    uint32_t inode;
    int64_t err = subject(run, (int)run->a[0], run->a[1], !(run->a[4] & AT_SYMLINK_NOFOLLOW),
                          run->a[4] & AT_EMPTY_PATH, &inode);
    return err ? err : change_owner(run, inode, run->a[2], run->a[3]);
}

int64_t vk_call_utimensat(struct vk_run *run)
{
    uint32_t inode;
    struct timespec times[2];
    bool has_times = run->a[2];
    if (has_times && vk_get(run, run->a[2], times, sizeof(times)))
        return -EFAULT;
    for (int i = 0; has_times && i < 2; i++)
        if (times[i].tv_nsec != UTIME_NOW && times[i].tv_nsec != UTIME_OMIT &&
            (times[i].tv_nsec < 0 || times[i].tv_nsec > 999999999))
            return -EINVAL;
    bool is_fd = !run->a[1];
    int64_t err =
        subject(run, (int)run->a[0], run->a[1], !(run->a[3] & AT_SYMLINK_NOFOLLOW), is_fd, &inode);
    if (err)
        return err;
    if (inode == VK_NONE)
        return vk_unknown(run, "of what is outside");
    struct vk_inode *row = vk_inode_edit(run->k, inode);
    if (!row)
        return VK_NOMEM;
    struct timespec atime = row->atime, mtime = row->mtime;
    vk_times_touch(run->k, row, true);
    row->atime = row->mtime;
    if (has_times && times[0].tv_nsec != UTIME_NOW)
        row->atime = times[0].tv_nsec == UTIME_OMIT ? atime : times[0];
    if (has_times && times[1].tv_nsec != UTIME_NOW)
        row->mtime = times[1].tv_nsec == UTIME_OMIT ? mtime : times[1];
    return 0;
}

/* ---- directories as lists ---- */

struct linux_dirent64 {
    uint64_t d_ino;
    int64_t d_off;
    uint16_t d_reclen;
    uint8_t d_type;
    char d_name[];
};
#define DIRENT_NAME 19
#define LISTED_MAX  32768      /* bytes of a listing that is compared by name */
#define END_OF_LIST UINT32_MAX /* position behind all entries */

struct entry {
    const char *name;
    uint64_t inode;
    int64_t next;
    uint8_t type;
};

static bool is_listed(const struct vk_base *base, const char *name)
{
    for (uint32_t i = 0; base && i < vk_count(&base->list); i++)
        if (!strcmp(((const struct vk_dirent *)vk_row(&base->list, i))->name->text, name))
            return true;
    return false;
}

static const struct vk_name *changed_name(const struct vk_kernel *k, uint32_t directory,
                                          const char *name)
{
    for (uint32_t i = 0; i < vk_count(&k->names); i++) {
        const struct vk_name *row = vk_row(&k->names, i);
        if (row->directory == directory && !strcmp(row->name->text, name))
            return row;
    }
    return NULL;
}

static void entry_of(const struct vk_kernel *k, uint32_t inode, const char *name, uint32_t at,
                     struct entry *entry)
{
    const struct vk_inode *row = vk_inode(k, inode);
    *entry =
        (struct entry){name, row->number, (int64_t)at + 1, (uint8_t)((row->mode & S_IFMT) >> 12)};
}

/* Entry number `at` of a directory: what was there first, then what the run made. 0: there is one;
 * 1: it is gone; 2: behind the end. */
static int entry_at(const struct vk_kernel *k, uint32_t directory, uint32_t at, struct entry *entry)
{
    const struct vk_inode *inode = vk_inode(k, directory);
    const struct vk_base *base =
        inode->base == VK_NONE ? NULL : vk_base_at(k->history, inode->base);
    uint32_t listed = base ? vk_count(&base->list) : 2;
    if (at < listed && base) {
        const struct vk_dirent *row = vk_row(&base->list, at);
        const struct vk_name *changed = changed_name(k, directory, row->name->text);
        *entry = (struct entry){row->name->text, row->inode, row->next, row->type};
        if (changed && changed->inode != VK_NONE)
            entry_of(k, changed->inode, changed->name->text, at, entry);
        return changed && changed->inode == VK_NONE;
    }
    if (at < listed) {
        entry_of(k, directory, at ? ".." : ".", at, entry);
        return 0;
    }
    for (uint32_t i = 0, left = at - listed; i < vk_count(&k->names); i++) {
        const struct vk_name *row = vk_row(&k->names, i);
        if (row->directory != directory || is_listed(base, row->name->text) || left--)
            continue;
        if (row->inode == VK_NONE)
            return 1;
        entry_of(k, row->inode, row->name->text, at, entry);
        return 0;
    }
    return 2;
}

static bool has_entry(const struct vk_kernel *k, uint32_t directory, const char *name)
{
    struct entry entry;
    int how;
    for (uint32_t at = 0; (how = entry_at(k, directory, at, &entry)) != 2; at++)
        if (!how && !strcmp(entry.name, name))
            return true;
    return false;
}

static int64_t list_known(struct vk_run *run, uint32_t directory)
{
    const struct vk_inode *inode = vk_inode(run->k, directory);
    if (inode->is_live)
        return vk_unknown(run, "a directory of the kernel's");
    if (inode->base != VK_NONE && vk_base_list(run->h, inode->base))
        return vk_unknown(run, "what the directory holds is not known");
    return 0;
}

int64_t vk_directory_is_empty(struct vk_run *run, uint32_t directory)
{
    struct entry entry;
    int64_t err = list_known(run, directory);
    for (uint32_t at = 0; !err; at++) {
        int how = entry_at(run->k, directory, at, &entry);
        if (how == 2)
            break;
        if (!how && strcmp(entry.name, ".") && strcmp(entry.name, ".."))
            err = -ENOTEMPTY;
    }
    return err;
}

/* What lies between a name's zero and the next entry, Linux leaves as it is. */
static int64_t put_entry(struct vk_run *run, uint64_t address, const struct entry *entry,
                         uint64_t size)
{
    uint64_t bytes[(DIRENT_NAME + 256 + 7) / 8];
    struct linux_dirent64 *out = (struct linux_dirent64 *)bytes;
    size_t length = strlen(entry->name);
    if (length > 255)
        return -EINVAL;
    out->d_ino = entry->inode;
    out->d_off = entry->next;
    out->d_reclen = (uint16_t)size;
    out->d_type = entry->type;
    memcpy((uint8_t *)bytes + DIRENT_NAME, entry->name, length + 1);
    return vk_put(run, address, bytes, DIRENT_NAME + length + 1);
}

static int64_t list_some(struct vk_run *run, uint32_t index)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    uint32_t at = (uint32_t)open->offset;
    uint64_t done = 0, room = run->a[2] < 1u << 20 ? run->a[2] : 1u << 20;
    struct entry entry;
    if (at == END_OF_LIST)
        return 0;
    for (;; at++) {
        int how = entry_at(run->k, open->inode, at, &entry);
        if (how == 2)
            break;
        if (how)
            continue;
        uint64_t size = (DIRENT_NAME + strlen(entry.name) + 1 + 7) & ~7ull;
        if (done + size > room) {
            if (!done)
                return -EINVAL;
            break;
        }
        int64_t err = put_entry(run, run->a[1] + done, &entry, size);
        if (err)
            return err;
        done += size;
    }
    vk_open_edit(run->k, index)->offset = at;
    return (int64_t)done;
}

/* Whether what the recording lists next is all that is in the directory: then it knows the order,
 * and the numbers, of what the run made. */
static bool lists_the_same(struct vk_run *run, uint32_t index, const struct vk_answer *next)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    uint32_t names = 0, listed = 0;
    struct entry entry;
    int how;
    if (open->offset || next->result <= 0 || next->result > LISTED_MAX ||
        (uint64_t)next->result > run->a[2])
        return false;
    for (uint32_t at = 0; (how = entry_at(run->k, open->inode, at, &entry)) != 2; at++)
        names += !how;
    uint8_t *bytes = malloc((size_t)next->result);
    size_t size = bytes ? vk_answer_bytes(next, next->args[1], bytes, (size_t)next->result) : 0;
    for (size_t at = 0; at + DIRENT_NAME < size; listed++) {
        uint16_t step;
        memcpy(&step, bytes + at + offsetof(struct linux_dirent64, d_reclen), sizeof(step));
        char *name = (char *)bytes + at + DIRENT_NAME;
        if (step <= DIRENT_NAME || step > size - at || !memchr(name, 0, step - DIRENT_NAME) ||
            !has_entry(run->k, open->inode, name))
            break;
        at += step;
    }
    free(bytes);
    return names == listed;
}

int64_t vk_call_getdents64(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE ||
        (open->kind == VK_OPEN_FILE && vk_inode(run->k, open->inode)->is_live))
        return vk_next_recorded(run);
    if (open->kind != VK_OPEN_FILE || !S_ISDIR(vk_inode(run->k, open->inode)->mode))
        return -ENOTDIR;
    struct vk_answer next;
    int64_t err = list_known(run, open->inode);
    if (err)
        return err;
    bool is_changed = vk_inode(run->k, open->inode)->is_written;
    if (!vk_next_answer(run, &next) || !is_changed || !lists_the_same(run, index, &next)) {
        run->has_taken = false;
        return list_some(run, index);
    }
    vk_open_edit(run->k, index)->offset = next.result ? END_OF_LIST : open->offset;
    return vk_give_answer(run, &next);
}

/* Passes the entries that a recorded call gave: how many; keeps those that were there before the
 * run, if it learns. */
static uint32_t pass_list(struct vk_run *run, uint32_t directory, struct vk_base *base,
                          const uint8_t *bytes, size_t size, bool learns)
{
    uint32_t count = 0;
    for (size_t at = 0; at + DIRENT_NAME < size; count++) {
        struct linux_dirent64 head;
        memcpy(&head, bytes + at, DIRENT_NAME);
        if (head.d_reclen <= DIRENT_NAME || head.d_reclen > size - at)
            break;
        const char *text = (const char *)bytes + at + DIRENT_NAME;
        struct vk_text *name = vk_text_new(text, strnlen(text, head.d_reclen - DIRENT_NAME));
        const struct vk_name *made = name ? changed_name(run->k, directory, name->text) : NULL;
        struct vk_dirent row = {name, head.d_ino, head.d_off, head.d_type};
        bool is_new = made && made->inode != VK_NONE && vk_inode(run->k, made->inode)->is_new;
        if (!name || !learns || is_new || vk_append(&base->list, &row))
            vk_text_drop(name);
        at += head.d_reclen;
    }
    return count;
}

void vk_adopt_getdents64(struct vk_run *run)
{
    uint32_t index;
    int64_t told = run->told->result;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open || open->kind != VK_OPEN_FILE || told < 0 || told > 1 << 24)
        return;
    const struct vk_inode *inode = vk_inode(run->k, open->inode);
    uint8_t *bytes = inode->base == VK_NONE ? NULL : malloc((size_t)told + 1);
    if (!bytes)
        return;
    struct vk_base *base = vk_base_at(run->h, inode->base);
    bool learns =
        run->learns && !base->has_list && (told ? open->offset == vk_count(&base->list) : 1);
    if (learns && !base->format)
        base->format = S_IFDIR;
    size_t size = vk_told_bytes(run, run->a[1], bytes, (size_t)told);
    uint32_t count = pass_list(run, open->inode, base, bytes, size, learns);
    if (learns)
        base->has_list = !told;
    vk_open_edit(run->k, index)->offset += count;
    free(bytes);
}
