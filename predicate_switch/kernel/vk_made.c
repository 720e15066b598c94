/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What files were that the recorded run changed before it asked about them: whether one that it
 * opened with O_CREAT was there, how long it was, what it held. Settled when the recording has been
 * passed, by what it was told later, and by what the run left on the disk:
 *
 *   - A file that was born before the recording began was there; one that was born while it was
 *     made was not. It is the file if it has the number that the run was told, or if nobody has
 *     changed it since the recording ended.
 *   - It was as long as it is, less what was appended; or as it is, if nothing was written up to
 *     its end.
 *   - What nobody has changed since, and the run did not write, it held before. Where the run
 *     wrote, the disk must have what it wrote.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/regular.h"
#include "predicate_switch/kernel/vk_priv.h"

#define FILL_MAX (UINT64_C(64) << 20) /* bytes of all files that are kept */

/* ---- what a recorded call says ---- */

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A file that is made gets one time thrice; no open gives an older file a new time of access. */
void vk_birth_learn(struct vk_history *h, uint32_t index, const struct stat *st)
{
    struct vk_base *base = vk_base_at(h, index);
    int64_t began = h->start.disk_before_ns;
    if (!base->may_be_made || !began || base->birth != VK_BIRTH_UNKNOWN)
        return;
    if (vk_time_ns(&st->st_atim) < began)
        base->birth = VK_BIRTH_BEFORE;
    else if (is_same_time(&st->st_atim, &st->st_mtim) && is_same_time(&st->st_atim, &st->st_ctim))
        base->birth = VK_BIRTH_IN_RUN;
}

void vk_inode_show(struct vk_kernel *k, uint32_t inode, bool may_write)
{
    const struct vk_inode *known = vk_inode(k, inode);
    if (!known->is_untouched && known->has_unseen >= may_write)
        return;
    struct vk_inode *row = vk_inode_edit(k, inode);
    if (!row)
        return;
    row->is_untouched = false;
    row->has_unseen |= may_write;
}

/* How long a file was of which the run has not known that, if it is `size` bytes long now. */
static bool size_before(const struct vk_inode *row, uint64_t size, uint64_t *before)
{
    uint64_t end = 0, room = (uint64_t)vk_count(&row->content) * VK_BLOCK, part;
    bool is_known;
    for (uint64_t at = 0; at < room; at += part) {
        part = vk_content_run(&row->content, at, room - at, &is_known);
        end = is_known ? at + part : end;
    }
    *before = size - row->appended;
    if (row->has_unseen || row->has_size)
        return false;
    return row->appended ? !end && size >= row->appended : size > end;
}

void vk_size_learn(struct vk_kernel *k, uint32_t inode, uint64_t size)
{
    const struct vk_inode *row = vk_inode(k, inode);
    struct vk_base *base = row->base == VK_NONE ? NULL : vk_base_at(k->history, row->base);
    if (base && !base->has_size && !base->has_size_before)
        base->has_size_before = size_before(row, size, &base->size_before);
}

/* ---- what is on the disk ---- */

static int64_t stamp_ns(const struct statx_timestamp *stamp)
{
    return vk_time_ns(&(struct timespec){.tv_sec = stamp->tv_sec, .tv_nsec = stamp->tv_nsec});
}

/* The path at which the run found the file, and left it. */
static bool path_find(const struct vk_kernel *k, uint32_t inode, char path[PATH_MAX])
{
    char left[PATH_MAX];
    return !vk_base_path(k->history, vk_inode(k, inode)->base, path, PATH_MAX) &&
           vk_inode_path(k, inode, left, sizeof(left)) && !strcmp(path, left) &&
           !vk_path_is_live(path);
}

/* Whether what is there is the run's file; *is_as_left: as the run left it. */
static bool disk_find(const struct vk_history *h, const struct vk_base *base, const char *path,
                      struct statx *x, bool *is_as_left)
{
    int64_t until = h->start.disk_until_ns;
    unsigned what = STATX_BASIC_STATS | STATX_BTIME;
    if (!h->start.disk_before_ns || statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, what, x) ||
        !S_ISREG(x->stx_mode))
        return false;
    bool is_told = base->has_stat || base->has_identity;
    bool is_it = is_told && x->stx_ino == base->st.st_ino;
    *is_as_left = stamp_ns(&x->stx_ctime) <= until && (is_it || !is_told);
    return is_it || *is_as_left;
}

/* Numbers are given again: whose birth is later than the recording is another file. */
static enum vk_birth birth_of(const struct vk_history *h, const struct statx *x)
{
    int64_t born = stamp_ns(&x->stx_btime);
    if (!(x->stx_mask & STATX_BTIME) || born > h->start.disk_until_ns)
        return VK_BIRTH_UNKNOWN;
    return born < h->start.disk_before_ns ? VK_BIRTH_BEFORE : VK_BIRTH_IN_RUN;
}

/* Who a file is that the run left as it was but for its bytes. */
static void identity_take(struct vk_base *base, const struct vk_inode *row, const struct statx *x)
{
    if (base->has_stat || base->has_identity || row->is_relabelled)
        return;
    base->st.st_ino = x->stx_ino;
    base->st.st_mode = x->stx_mode;
    base->st.st_nlink = x->stx_nlink;
    base->st.st_uid = x->stx_uid;
    base->st.st_gid = x->stx_gid;
    base->has_identity = true;
}

static void size_take(struct vk_base *base, const struct vk_inode *row, const struct statx *x)
{
    if (!base->has_size_before && x)
        base->has_size_before = base->is_size_found =
            size_before(row, x->stx_size, &base->size_before);
    if (base->has_size || !base->has_size_before)
        return;
    base->st.st_size = (off_t)base->size_before;
    base->has_size = true;
}

/* ---- settling ---- */

/* The row of a base's inode in a kernel; VK_NONE: it has none. */
static uint32_t row_of(const struct vk_kernel *k, uint32_t base)
{
    return base < vk_count(&k->inode_of_base)
               ? *(const uint32_t *)vk_row(&k->inode_of_base, base) - 1
               : VK_NONE;
}

/* Calls of the run that write files in ways that the model does not see. */
static bool has_unseen_writes(const struct vk_history *h)
{
    static const int32_t numbers[] = {SYS_splice,   SYS_io_uring_enter,  SYS_fallocate,
                                      SYS_sendfile, SYS_copy_file_range, SYS_fork,
                                      SYS_vfork};
    for (size_t i = 0; i < h->call_count; i++)
        for (size_t n = 0; n < sizeof(numbers) / sizeof(*numbers); n++)
            if (h->calls[i].call.number == numbers[n] && h->calls[i].result >= 0)
                return true;
    return false;
}

static void settle(struct vk_history *h, uint32_t index, bool is_seen)
{
    struct vk_base *base = vk_base_at(h, index);
    uint32_t inode = row_of(h->kernel, index);
    char path[PATH_MAX];
    struct statx x;
    bool is_as_left = false;
    if (inode == VK_NONE || !path_find(h->kernel, inode, path))
        return;
    const struct vk_inode *row = vk_inode(h->kernel, inode);
    bool is_there = disk_find(h, base, path, &x, &is_as_left);
    if (is_there && base->birth == VK_BIRTH_UNKNOWN)
        base->birth = birth_of(h, &x);
    if (base->birth == VK_BIRTH_UNKNOWN && base->may_be_made)
        return;
    if (base->birth == VK_BIRTH_IN_RUN && base->may_be_made) {
        base->presence = VK_PRESENCE_ABSENT;
        base->has_asked_disk = true;
    } else {
        if (is_as_left)
            identity_take(base, row, &x);
        if (is_seen)
            size_take(base, row, is_as_left ? &x : NULL);
    }
    base->may_be_made = false;
}

/* ---- contents ---- */

/* Takes what the disk has, and the run did not write, up to where the run cut the file. */
static int content_take(struct vk_base *base, const struct vk_inode *row, int fd, uint64_t *left)
{
    uint64_t end = (uint64_t)base->st.st_size, part;
    int err = 0;
    end = row->base_size < end ? row->base_size : end;
    for (uint64_t at = 0; at < end && !err; at += part) {
        bool is_known;
        part = vk_content_run(&row->content, at, end - at, &is_known);
        if (is_known)
            continue;
        if (part > *left)
            return 0;
        *left -= part;
        err = vk_base_take(base, fd, at, part);
    }
    return err == -ENODATA ? 0 : err;
}

/* `k` stands at the end of the run. */
static int content_find(struct vk_history *h, const struct vk_kernel *k, uint32_t index,
                        uint64_t *left)
{
    struct vk_base *base = vk_base_at(h, index);
    uint32_t inode = row_of(k, index);
    char path[PATH_MAX];
    struct statx x;
    struct stat st;
    bool is_as_left;
    int fd, err = 0;
    if (inode == VK_NONE || !path_find(k, inode, path) ||
        !disk_find(h, base, path, &x, &is_as_left) || !is_as_left ||
        wd_regular_try(AT_FDCWD, path, WD_LINKS_REFUSE, &fd, &st))
        return 0;
    const struct vk_inode *row = vk_inode(k, inode);
    bool is_it = st.st_ino == x.stx_ino && row->has_size && row->size == (uint64_t)st.st_size &&
                 vk_content_agrees(&row->content, fd);
    if (is_it && !row->has_unseen)
        err = content_take(base, row, fd, left);
    else if (!is_it && base->is_size_found)
        base->has_size = false;
    close(fd);
    return err;
}

static bool is_to_settle(const struct vk_base *base)
{
    bool is_plain = !base->format || base->format == S_IFREG;
    return is_plain &&
           (base->may_be_made || (base->is_changed && base->presence == VK_PRESENCE_THERE));
}

static int contents_find(struct vk_history *h)
{
    struct vk_kernel *k = NULL;
    uint64_t left = FILL_MAX;
    int err = vk_kernel_new(h, &k);
    if (!err)
        err = vk_kernel_advance(k, UINT64_MAX);
    for (uint32_t i = 0; i < h->base_count && !err; i++)
        if (vk_base_at(h, i)->is_changed && vk_base_at(h, i)->has_size &&
            is_to_settle(vk_base_at(h, i)))
            err = content_find(h, k, i, &left);
    if (k)
        vk_kernel_free(k);
    return err;
}

int vk_made_settle(struct vk_history *h)
{
    bool is_seen = !has_unseen_writes(h), has_some = false;
    for (uint32_t i = 1 + VK_STREAMS; i < h->base_count; i++) {
        if (!is_to_settle(vk_base_at(h, i)))
            continue;
        settle(h, i, is_seen);
        has_some = true;
    }
    h->is_finished = true;
    vk_kernel_free(h->kernel);
    h->kernel = NULL;
    return has_some && is_seen && h->start.disk_until_ns ? contents_find(h) : 0;
}
