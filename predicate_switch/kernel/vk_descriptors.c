/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors, and the open descriptions that they name: dup'ed descriptors share one, with its
 * offset and flags. What was open when the run began is told by nobody: it is made when a call
 * names it first.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sysmacros.h>

#include "predicate_switch/kernel/vk_calls.h"

#define RECORDERS_FD   900 /* rr takes higher ones */
#define MEMORY_DEVICES 1   /* major number: /dev/null and its like */

static void open_keep(void *row)
{
    vk_text_keep(((struct vk_open *)row)->path);
}

static void open_drop(void *row)
{
    vk_text_drop(((struct vk_open *)row)->path);
}

const struct vk_row_kind vk_open_row = {sizeof(struct vk_open), open_keep, open_drop};

const struct vk_open *vk_open_of(const struct vk_kernel *k, uint64_t fd, uint32_t *index)
{
    *index = VK_NONE;
    if (fd >= vk_count(&k->fds))
        return NULL;
    *index = ((const struct vk_fd *)vk_row(&k->fds, (uint32_t)fd))->open;
    return *index == VK_NONE ? NULL : vk_row(&k->opens, *index);
}

struct vk_open *vk_open_edit(struct vk_kernel *k, uint32_t open)
{
    return vk_edit(&k->opens, open);
}

uint32_t vk_open_new(struct vk_kernel *k, const struct vk_open *open)
{
    for (uint32_t i = 0; i < vk_count(&k->opens); i++) {
        if (((const struct vk_open *)vk_row(&k->opens, i))->kind == VK_OPEN_FREE) {
            struct vk_open *row = vk_open_edit(k, i);
            if (!row)
                return VK_NONE;
            *row = *open;
            return i;
        }
    }
    return vk_append(&k->opens, open) ? VK_NONE : vk_count(&k->opens) - 1;
}

static void watches_drop(struct vk_kernel *k, uint32_t open, bool is_epoll)
{
    for (uint32_t i = vk_count(&k->watches); i-- > 0;) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        if ((is_epoll ? watch->epoll : watch->open) == open)
            vk_remove(&k->watches, i, 1);
    }
}

static void end_of_pipe(struct vk_kernel *k, uint32_t pipe, bool reads)
{
    struct vk_pipe *row = vk_edit(&k->pipes, pipe);
    if (!row)
        return;
    if (reads)
        row->readers--;
    else
        row->writers--;
    if (!row->readers && !row->writers)
        vk_clear(&row->bytes);
}

/* Whoever closes an end of a pair without having read all of it lets the other one know. */
static void reset_pair(struct vk_kernel *k, const struct vk_open *open)
{
    const struct vk_pipe *in = vk_row(&k->pipes, open->object);
    if (in->end == in->start)
        return;
    struct vk_pipe *out = vk_edit(&k->pipes, open->other);
    if (out)
        out->is_reset = true;
}

static void open_close(struct vk_kernel *k, const struct vk_open *open, uint32_t index)
{
    unsigned access = open->flags & O_ACCMODE;
    watches_drop(k, index, false);
    switch (open->kind) {
    case VK_OPEN_FILE:
        vk_inode_edit(k, open->inode)->opens--;
        break;
    case VK_OPEN_PIPE:
        if (access != O_WRONLY)
            end_of_pipe(k, open->object, true);
        if (access != O_RDONLY)
            end_of_pipe(k, open->object, false);
        break;
    case VK_OPEN_PAIR:
        reset_pair(k, open);
        end_of_pipe(k, open->object, true);
        end_of_pipe(k, open->other, false);
        break;
    case VK_OPEN_EPOLL:
        watches_drop(k, index, true);
        break;
    case VK_OPEN_TIMERFD:
        ((struct vk_timer *)vk_edit(&k->timers, open->object))->kind = VK_TIMER_FREE;
        break;
    default:
        break;
    }
}

void vk_open_drop(struct vk_kernel *k, uint32_t index)
{
    struct vk_open *open = vk_open_edit(k, index);
    if (!open || --open->users)
        return;
    open_close(k, open, index);
    vk_text_drop(open->path);
    *open = (struct vk_open){.kind = VK_OPEN_FREE, .inode = VK_NONE};
}

int vk_fd_set(struct vk_kernel *k, uint64_t fd, uint32_t open, bool is_cloexec)
{
    uint32_t had = vk_count(&k->fds);
    if (vk_extend(&k->fds, (uint32_t)fd + 1))
        return -ENOMEM;
    for (uint32_t i = had; i <= fd; i++)
        ((struct vk_fd *)vk_edit(&k->fds, i))->open = VK_NONE;
    struct vk_fd *row = vk_edit(&k->fds, (uint32_t)fd);
    struct vk_open *to = vk_open_edit(k, open);
    if (!row || !to)
        return -ENOMEM;
    to->users++;
    uint32_t old = row->open;
    *row = (struct vk_fd){open, is_cloexec};
    if (old != VK_NONE)
        vk_open_drop(k, old);
    return 0;
}

static uint64_t descriptors_max(const struct vk_kernel *k)
{
    uint64_t most = k->s.limits_known & 1u << RLIMIT_NOFILE ? k->s.limit_cur[RLIMIT_NOFILE] : 1024;
    return most < VK_FD_MAX ? most : VK_FD_MAX;
}

int64_t vk_fd_new(struct vk_run *run, uint32_t open, uint64_t from, bool is_cloexec)
{
    struct vk_kernel *k = run->k;
    uint64_t most = run->h->start.limits.descriptors, fd = from;
    uint32_t index;
    while (vk_open_of(k, fd, &index))
        fd++;
    if (most && vk_is_live(k) && fd >= most)
        return vk_unknown(run, "the limit of %llu descriptors is reached",
                          (unsigned long long)most);
    if (fd >= descriptors_max(k))
        return -EMFILE;
    return vk_fd_set(k, fd, open, is_cloexec) ? VK_NOMEM : (int64_t)fd;
}

int64_t vk_fd_make(struct vk_run *run, const struct vk_open *open, bool is_cloexec)
{
    uint32_t index = vk_open_new(run->k, open);
    if (index == VK_NONE)
        return VK_NOMEM;
    int64_t fd = vk_fd_new(run, index, 0, is_cloexec);
    if (fd < 0) {
        struct vk_open *row = vk_open_edit(run->k, index);
        row->users = 1;
        vk_open_drop(run->k, index);
    }
    return fd;
}

int vk_fd_close(struct vk_kernel *k, uint64_t fd)
{
    uint32_t open;
    if (!vk_open_of(k, fd, &open))
        return -EBADF;
    struct vk_fd *row = vk_edit(&k->fds, (uint32_t)fd);
    if (!row)
        return -ENOMEM;
    row->open = VK_NONE;
    vk_open_drop(k, open);
    return 0;
}

/* ---- calls ---- */

int64_t vk_call_close(struct vk_run *run)
{
    return vk_fd_close(run->k, (uint32_t)run->a[0]);
}

int64_t vk_call_close_range(struct vk_run *run)
{
    uint64_t first = (uint32_t)run->a[0], last = (uint32_t)run->a[1];
    if (run->a[2] & ~(uint64_t)(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) || first > last)
        return -EINVAL;
    for (uint64_t fd = first; fd <= last && fd < vk_count(&run->k->fds); fd++) {
        uint32_t open;
        if (!vk_open_of(run->k, fd, &open))
            continue;
        if (run->a[2] & CLOSE_RANGE_CLOEXEC)
            ((struct vk_fd *)vk_edit(&run->k->fds, (uint32_t)fd))->is_cloexec = true;
        else
            vk_fd_close(run->k, fd);
    }
    return 0;
}

int64_t vk_call_dup(struct vk_run *run)
{
    uint32_t open;
    if (!vk_open_of(run->k, (uint32_t)run->a[0], &open))
        return -EBADF;
    return vk_fd_new(run, open, 0, false);
}

static int64_t dup_to(struct vk_run *run, bool is_cloexec)
{
    uint64_t from = (uint32_t)run->a[0], to = (uint32_t)run->a[1];
    uint32_t open;
    if (to >= descriptors_max(run->k) || !vk_open_of(run->k, from, &open))
        return -EBADF;
    if (from == to)
        return (int64_t)to;
    return vk_fd_set(run->k, to, open, is_cloexec) ? VK_NOMEM : (int64_t)to;
}

int64_t vk_call_dup2(struct vk_run *run)
{
    return dup_to(run, false);
}

int64_t vk_call_dup3(struct vk_run *run)
{
    if (run->a[2] & ~(uint64_t)O_CLOEXEC || (uint32_t)run->a[0] == (uint32_t)run->a[1])
        return -EINVAL;
    return dup_to(run, run->a[2] & O_CLOEXEC);
}

#define SETTABLE (O_APPEND | O_NONBLOCK | O_NOATIME | O_DIRECT | O_ASYNC)

static int64_t fcntl_lock(struct vk_run *run, const struct vk_open *open)
{
    struct flock lock;
    if (open->kind == VK_OPEN_OUTSIDE)
        return vk_unknown(run, "locks of a file that was open already are not modelled");
    if (vk_get(run, run->a[2], &lock, sizeof(lock)))
        return -EFAULT;
    if (run->a[1] != F_GETLK && run->a[1] != F_OFD_GETLK) {
        unsigned access = open->flags & O_ACCMODE;
        bool bad = (lock.l_type == F_RDLCK && access == O_WRONLY) ||
                   (lock.l_type == F_WRLCK && access == O_RDONLY);
        return bad ? -EBADF : lock.l_type > F_UNLCK || lock.l_type < 0 ? -EINVAL : 0;
    }
    lock.l_type = F_UNLCK; /* no other process holds one; its own do not matter */
    return vk_put(run, run->a[2], &lock, sizeof(lock.l_type));
}

const struct vk_stream *vk_stream_of(const struct vk_history *h, const struct vk_open *open)
{
    bool is_stream = open->kind == VK_OPEN_OUTSIDE && open->outside && open->outside <= VK_STREAMS;
    const struct vk_stream *stream = is_stream ? &h->start.streams[open->outside - 1] : NULL;
    return stream && stream->is_known ? stream : NULL;
}

/* What a description says of itself that the model did not open. */
static int64_t outside_flags(struct vk_run *run, const struct vk_open *open)
{
    if (open->flags == VK_NONE)
        return vk_unknown(run, "flags of a descriptor that was open already");
    return open->flags;
}

static int64_t fcntl_set_flags(struct vk_run *run, uint32_t index)
{
    struct vk_open *open = vk_open_edit(run->k, index);
    if (!open)
        return VK_NOMEM;
    if (open->flags == VK_NONE)
        return vk_unknown(run, "flags of a descriptor that was open already");
    open->flags = (open->flags & ~(uint32_t)SETTABLE) | ((uint32_t)run->a[2] & SETTABLE);
    return 0;
}

static int64_t fcntl_pipe_size(struct vk_run *run, const struct vk_open *open)
{
    if (open->kind != VK_OPEN_PIPE)
        return open->kind == VK_OPEN_OUTSIDE ? vk_unknown(run, "size of a pipe") : -EBADF;
    struct vk_pipe *pipe = vk_edit(&run->k->pipes, open->object);
    uint64_t size = 4096;
    if (!pipe)
        return VK_NOMEM;
    if (run->a[1] == F_GETPIPE_SZ)
        return (int64_t)pipe->capacity;
    if ((int64_t)run->a[2] < 0 || run->a[2] > 1u << 20)
        return run->a[2] > 1u << 31 ? -EINVAL : -EPERM;
    while (size < run->a[2])
        size *= 2;
    if (size < pipe->end - pipe->start)
        return -EBUSY;
    pipe->capacity = size;
    return (int64_t)size;
}

int64_t vk_call_fcntl(struct vk_run *run)
{
    uint64_t fd = (uint32_t)run->a[0];
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, fd, &index);
    if (!open)
        return -EBADF;
    switch ((int)run->a[1]) {
    case F_DUPFD:
    case F_DUPFD_CLOEXEC:
        if (run->a[2] >= descriptors_max(run->k))
            return -EINVAL;
        return vk_fd_new(run, index, run->a[2], run->a[1] == F_DUPFD_CLOEXEC);
    case F_GETFD:
        return ((const struct vk_fd *)vk_row(&run->k->fds, (uint32_t)fd))->is_cloexec;
    case F_SETFD:
        ((struct vk_fd *)vk_edit(&run->k->fds, (uint32_t)fd))->is_cloexec = run->a[2] & FD_CLOEXEC;
        return 0;
    case F_GETFL:
        return outside_flags(run, open);
    case F_SETFL:
        return fcntl_set_flags(run, index);
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        return fcntl_lock(run, open);
    case F_GETPIPE_SZ:
    case F_SETPIPE_SZ:
        return fcntl_pipe_size(run, open);
    default:
        return vk_unknown(run, "command %d is not modelled", (int)run->a[1]);
    }
}

/* What a recorded answer tells of a description that came with the process. */
void vk_adopt_fcntl(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_adopt_open(run, run->a[0], run->told->result != -EBADF);
    if (!open || run->told->result < 0)
        return;
    vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (run->a[1] == F_GETFL) {
        uint32_t stream = open->outside - 1;
        vk_open_edit(run->k, index)->flags = (uint32_t)run->told->result;
        if (run->learns && stream < 3 && run->h->stream_flags[stream] == VK_NONE)
            run->h->stream_flags[stream] = (uint32_t)run->told->result;
    } else if (run->a[1] == F_SETFL)
        vk_open_edit(run->k, index)->flags = (uint32_t)run->a[2];
    else if (run->a[1] == F_GETFD)
        ((struct vk_fd *)vk_edit(&run->k->fds, (uint32_t)run->a[0]))->is_cloexec =
            run->told->result & 1;
    else if (run->a[1] == F_DUPFD || run->a[1] == F_DUPFD_CLOEXEC)
        vk_adopt_fd(run, (uint64_t)run->told->result, index, run->a[1] == F_DUPFD_CLOEXEC);
}

/* Descriptor `fd` names that description, whatever the model had there. */
void vk_adopt_fd(struct vk_run *run, uint64_t fd, uint32_t open, bool is_cloexec)
{
    if (fd < VK_FD_MAX && open != VK_NONE)
        vk_fd_set(run->k, fd, open, is_cloexec);
}

/* The description that a recorded call found (is_there) behind a descriptor: where the model knows
 * of none, one that came from outside. */
const struct vk_open *vk_adopt_open(struct vk_run *run, uint64_t fd, bool is_there)
{
    uint32_t index;
    fd = (uint32_t)fd;
    if (!is_there) {
        vk_fd_close(run->k, fd);
        return NULL;
    }
    if (fd >= VK_FD_MAX)
        return NULL;
    if (!vk_open_of(run->k, fd, &index)) {
        struct vk_open open = {.kind = VK_OPEN_OUTSIDE, .inode = VK_NONE, .flags = VK_NONE};
        index = vk_open_new(run->k, &open);
        if (index == VK_NONE || vk_fd_set(run->k, fd, index, false))
            return NULL;
    }
    return vk_row(&run->k->opens, index);
}

void vk_adopt_fd0(struct vk_run *run)
{
    vk_adopt_open(run, run->a[0], run->told->result != -EBADF);
}

void vk_adopt_dup(struct vk_run *run)
{
    uint32_t index;
    if (!vk_adopt_open(run, run->a[0], run->told->result != -EBADF) || run->told->result < 0)
        return;
    vk_open_of(run->k, (uint32_t)run->a[0], &index);
    vk_adopt_fd(run, (uint64_t)run->told->result, index, run->a[2] & O_CLOEXEC);
}

/* A descriptor that nobody opened: the recorder's, which was there from the start. */
static void own_fd_learn(struct vk_run *run, uint32_t fd)
{
    uint32_t index;
    struct vk_history *h = run->h;
    bool is_new = run->learns && !run->told->result && fd >= RECORDERS_FD && fd < VK_FD_MAX &&
                  !vk_open_of(run->k, fd, &index);
    if (is_new && h->own_fd_count < sizeof(h->own_fds) / sizeof(*h->own_fds))
        h->own_fds[h->own_fd_count++] = fd;
}

void vk_adopt_close(struct vk_run *run)
{
    own_fd_learn(run, (uint32_t)run->a[0]);
    vk_fd_close(run->k, (uint32_t)run->a[0]);
}

int64_t vk_call_flock(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    int how = (int)run->a[1] & ~LOCK_NB;
    return how == LOCK_SH || how == LOCK_EX || how == LOCK_UN ? 0 : -EINVAL;
}

static int64_t ioctl_readable(struct vk_run *run, const struct vk_open *open)
{
    uint64_t size;
    int count;
    if (open->kind == VK_OPEN_PIPE || open->kind == VK_OPEN_PAIR) {
        const struct vk_pipe *pipe = vk_row(&run->k->pipes, open->object);
        count = (int)(pipe->end - pipe->start);
    } else if (open->kind == VK_OPEN_FILE && S_ISREG(vk_inode(run->k, open->inode)->mode)) {
        int64_t err = vk_file_size(run, open->inode, &size);
        if (err)
            return err;
        count = (int)(size - open->offset);
    } else {
        return vk_unknown(run, "FIONREAD of what is outside");
    }
    return vk_put(run, run->a[2], &count, sizeof(count));
}

/* Whether a descriptor that the program began with is none of a terminal: a pipe, a socket, or one
 * of the devices of memory. */
static bool stream_is_no_terminal(const struct vk_stream *stream)
{
    return !S_ISCHR(stream->st.st_mode) || major(stream->st.st_rdev) == MEMORY_DEVICES;
}

/* Of a terminal the recording tells; nothing else has one. */
int64_t vk_call_ioctl(struct vk_run *run)
{
    uint32_t index, command = (uint32_t)run->a[1];
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    int on;
    if (!open)
        return -EBADF;
    switch (command) {
    case FIOCLEX:
    case FIONCLEX:
        ((struct vk_fd *)vk_edit(&run->k->fds, (uint32_t)run->a[0]))->is_cloexec =
            command == FIOCLEX;
        return 0;
    case FIONBIO:
        if (vk_get(run, run->a[2], &on, sizeof(on)))
            return -EFAULT;
        if (open->flags == VK_NONE)
            return vk_unknown(run, "flags of a descriptor that was open already");
        vk_open_edit(run->k, index)->flags =
            (open->flags & ~(uint32_t)O_NONBLOCK) | (on ? O_NONBLOCK : 0);
        return 0;
    case FIONREAD:
        return ioctl_readable(run, open);
    default:
        break;
    }
    bool is_plain = open->kind == VK_OPEN_FILE && !vk_inode(run->k, open->inode)->is_live &&
                    (S_ISREG(vk_inode(run->k, open->inode)->mode) ||
                     S_ISDIR(vk_inode(run->k, open->inode)->mode));
    const struct vk_stream *stream = vk_stream_of(run->h, open);
    bool is_null =
        open->kind == VK_OPEN_FILE && open->path && !strcmp(open->path->text, "/dev/null");
    bool is_no_terminal = is_plain || is_null || open->kind == VK_OPEN_PIPE ||
                          (stream && stream_is_no_terminal(stream));
    if ((command >> 8) == 'T' && is_no_terminal)
        return -ENOTTY;
    return vk_unknown(run, "command %#x is not modelled", command);
}
