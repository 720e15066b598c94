/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipes, pairs of sockets, counters as descriptors; what is ready: poll, select, epoll. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "predicate_switch/kernel/vk_calls.h"

#define PIPE_BYTES 65536
#define PIPE_ATOM  4096 /* PIPE_BUF */
#define PAIR_BYTES 212992
#define POLL_MAX   4096
#define COUNT_MAX  (UINT64_MAX - 1)

static void pipe_keep(void *row)
{
    struct vk_table mine;
    vk_share(&mine, &((struct vk_pipe *)row)->bytes);
}

static void pipe_drop(void *row)
{
    vk_clear(&((struct vk_pipe *)row)->bytes);
}

const struct vk_row_kind vk_pipe_row = {sizeof(struct vk_pipe), pipe_keep, pipe_drop};

static const struct vk_pipe *pipe_at(const struct vk_kernel *k, uint32_t pipe)
{
    return vk_row(&k->pipes, pipe);
}

static uint32_t pipe_new(struct vk_kernel *k, uint64_t capacity)
{
    struct vk_pipe pipe = {
        .bytes = {.kind = &vk_block_row}, .capacity = capacity, .readers = 1, .writers = 1};
    return vk_append(&k->pipes, &pipe) ? VK_NONE : vk_count(&k->pipes) - 1;
}

/* ---- making ---- */

static int64_t two_opens(struct vk_run *run, const struct vk_open opens[2], uint64_t address,
                         bool is_cloexec)
{
    int32_t fds[2];
    for (int i = 0; i < 2; i++) {
        int64_t fd = vk_fd_make(run, &opens[i], is_cloexec);
        if (fd < 0) {
            if (i)
                vk_fd_close(run->k, (uint64_t)fds[0]);
            return fd;
        }
        fds[i] = (int32_t)fd;
    }
    if (!vk_put(run, address, fds, sizeof(fds)))
        return 0;
    vk_fd_close(run->k, (uint64_t)fds[0]);
    vk_fd_close(run->k, (uint64_t)fds[1]);
    return -EFAULT;
}

static int64_t make_pipe(struct vk_run *run, uint64_t flags)
{
    if (flags & ~(uint64_t)(O_CLOEXEC | O_NONBLOCK))
        return flags & ~(uint64_t)(O_CLOEXEC | O_NONBLOCK | O_DIRECT)
                   ? -EINVAL
                   : vk_unknown(run, "packets are not modelled");
    uint32_t pipe = pipe_new(run->k, PIPE_BYTES), rest = (uint32_t)flags & O_NONBLOCK;
    struct vk_open opens[2] = {
        {.kind = VK_OPEN_PIPE, .inode = VK_NONE, .object = pipe, .flags = O_RDONLY | rest},
        {.kind = VK_OPEN_PIPE, .inode = VK_NONE, .object = pipe, .flags = O_WRONLY | rest}};
    return pipe == VK_NONE ? VK_NOMEM : two_opens(run, opens, run->a[0], flags & O_CLOEXEC);
}

int64_t vk_call_pipe(struct vk_run *run)
{
    return make_pipe(run, 0);
}

int64_t vk_call_pipe2(struct vk_run *run)
{
    return make_pipe(run, run->a[1]);
}

int64_t vk_call_socketpair(struct vk_run *run)
{
    uint64_t flags = run->a[1] & (SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (run->a[0] != AF_UNIX || (run->a[1] & ~flags) != SOCK_STREAM || run->a[2])
        return vk_unknown(run, "only pairs of streams are modelled");
    uint32_t one = pipe_new(run->k, PAIR_BYTES), two = pipe_new(run->k, PAIR_BYTES);
    uint32_t rest = O_RDWR | (flags & SOCK_NONBLOCK ? O_NONBLOCK : 0);
    struct vk_open opens[2] = {
        {.kind = VK_OPEN_PAIR, .inode = VK_NONE, .object = one, .other = two, .flags = rest},
        {.kind = VK_OPEN_PAIR, .inode = VK_NONE, .object = two, .other = one, .flags = rest}};
    if (one == VK_NONE || two == VK_NONE)
        return VK_NOMEM;
    return two_opens(run, opens, run->a[3], flags & SOCK_CLOEXEC);
}

static void adopt_two_fds(struct vk_run *run, uint64_t address)
{
    int32_t fds[2];
    if (run->told->result || vk_told_bytes(run, address, fds, sizeof(fds)) != sizeof(fds))
        return;
    for (int i = 0; i < 2; i++) /* an end that no model knows: what it hands on is outside */
        vk_adopt_open(run, (uint32_t)fds[i], true);
}

void vk_adopt_pipe(struct vk_run *run)
{
    adopt_two_fds(run, run->a[0]);
}

void vk_adopt_socketpair(struct vk_run *run)
{
    adopt_two_fds(run, run->a[3]);
}

/* A call that made one descriptor of what is outside. */
void vk_adopt_maker(struct vk_run *run)
{
    if (run->told->result < 0 || run->told->result >= VK_FD_MAX)
        return;
    vk_fd_close(run->k, (uint64_t)run->told->result);
    vk_adopt_open(run, (uint64_t)run->told->result, true);
}

/* A socket is what the recording had, as long as nothing is sent. */
int64_t vk_call_socket(struct vk_run *run)
{
    struct vk_answer next;
    if (!vk_next_answer(run, &next))
        return vk_unknown(run, "what lies outside of the process is not modelled");
    if (next.result < 0)
        return next.result;
    struct vk_open open = {.kind = VK_OPEN_OUTSIDE,
                           .inode = VK_NONE,
                           .flags = O_RDWR | (run->a[1] & SOCK_NONBLOCK ? O_NONBLOCK : 0)};
    return vk_fd_make(run, &open, run->a[1] & SOCK_CLOEXEC);
}

int64_t vk_call_eventfd2(struct vk_run *run)
{
    uint64_t flags = run->call->number == SYS_eventfd ? 0 : run->a[1];
    if (flags & ~(uint64_t)(EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE))
        return -EINVAL;
    struct vk_open open = {.kind = VK_OPEN_EVENTFD,
                           .inode = VK_NONE,
                           .count = (uint32_t)run->a[0],
                           .object = flags & EFD_SEMAPHORE ? 1 : 0,
                           .flags = 2u | (uint32_t)(flags & EFD_NONBLOCK)};
    return vk_fd_make(run, &open, flags & EFD_CLOEXEC);
}

/* ---- reading and writing ---- */

static int64_t would_block(const struct vk_open *open)
{
    return open->flags & O_NONBLOCK ? -EAGAIN : VK_WAIT;
}

int64_t vk_pipe_read(struct vk_run *run, uint32_t index, uint8_t *bytes, uint64_t size)
{
    struct vk_kernel *k = run->k;
    const struct vk_open *open = vk_row(&k->opens, index);
    const struct vk_pipe *known = pipe_at(k, open->object);
    uint64_t has = known->end - known->start;
    if (!size)
        return 0;
    if (!has) {
        if (known->is_foreign)
            return vk_unknown(run, "another process has the pipe");
        if (known->is_reset) {
            struct vk_pipe *told = vk_edit(&k->pipes, open->object);
            if (told)
                told->is_reset = false;
            return -ECONNRESET;
        }
        return known->writers ? would_block(open) : 0;
    }
    struct vk_pipe *pipe = vk_edit(&k->pipes, open->object);
    if (!pipe)
        return VK_NOMEM;
    size = size < has ? size : has;
    vk_content_get(&pipe->bytes, pipe->start, bytes, size);
    pipe->start += size;
    if (pipe->start == pipe->end) {
        pipe->start = pipe->end = 0;
        vk_clear(&pipe->bytes);
    }
    k->s.stamp++;
    return (int64_t)size;
}

int64_t vk_pipe_write(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size)
{
    struct vk_kernel *k = run->k;
    const struct vk_open *open = vk_row(&k->opens, index);
    uint32_t which = open->kind == VK_OPEN_PAIR ? open->other : open->object;
    const struct vk_pipe *known = pipe_at(k, which);
    if (known->is_foreign)
        return vk_unknown(run, "another process has the pipe");
    if (!size)
        return 0;
    if (!known->readers)
        return vk_broken_pipe(run);
    uint64_t done = run->is_retry ? vk_task(k, run->call->task)->done : 0;
    uint64_t room = known->capacity - (known->end - known->start), left = size - done;
    if (!room || (size <= PIPE_ATOM && room < left))
        return done && open->flags & O_NONBLOCK ? (int64_t)done : would_block(open);
    struct vk_pipe *pipe = vk_edit(&k->pipes, which);
    uint64_t part = left < room ? left : room;
    if (!pipe || vk_content_put(&pipe->bytes, pipe->end, bytes + done, part))
        return VK_NOMEM;
    pipe->end += part;
    done += part;
    k->s.stamp++;
    if (done == size || open->flags & O_NONBLOCK)
        return (int64_t)done;
    vk_task_edit(k, run->call->task)->done = done;
    return VK_WAIT;
}

static int64_t read_signals(struct vk_run *run, const struct vk_open *open, uint8_t *bytes,
                            uint64_t size)
{
    struct vk_kernel *k = run->k;
    uint64_t done = 0;
    if (size < sizeof(struct signalfd_siginfo))
        return -EINVAL;
    while (size - done >= sizeof(struct signalfd_siginfo)) {
        uint32_t at = vk_signal_next(k, run->call->task, ~open->count);
        if (at == VK_NONE)
            break;
        struct vk_pending row = *(const struct vk_pending *)vk_row(&k->pending, at);
        siginfo_t info;
        memcpy(&info, row.info, sizeof(info));
        struct signalfd_siginfo out = {.ssi_signo = (uint32_t)row.number,
                                       .ssi_code = info.si_code,
                                       .ssi_pid = (uint32_t)info.si_pid,
                                       .ssi_uid = info.si_uid,
                                       .ssi_int = info.si_int,
                                       .ssi_ptr = (uint64_t)info.si_ptr};
        memcpy(bytes + done, &out, sizeof(out));
        done += sizeof(out);
        vk_remove(&k->pending, at, 1);
    }
    return done ? (int64_t)done : would_block(open);
}

int64_t vk_special_read(struct vk_run *run, uint32_t index, uint8_t *bytes, uint64_t size)
{
    struct vk_kernel *k = run->k;
    const struct vk_open *open = vk_row(&k->opens, index);
    uint64_t value;
    if (open->kind == VK_OPEN_SIGNALFD)
        return read_signals(run, open, bytes, size);
    if (size < sizeof(value))
        return -EINVAL;
    if (open->kind == VK_OPEN_TIMERFD) {
        value = ((const struct vk_timer *)vk_row(&k->timers, open->object))->expired;
        if (!value)
            return would_block(open);
        ((struct vk_timer *)vk_edit(&k->timers, open->object))->expired = 0;
    } else {
        if (!open->count)
            return would_block(open);
        value = open->object ? 1 : open->count;
        vk_open_edit(k, index)->count -= value;
    }
    k->s.stamp++;
    memcpy(bytes, &value, sizeof(value));
    return sizeof(value);
}

int64_t vk_event_write(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    uint64_t value;
    if (size < sizeof(value))
        return -EINVAL;
    if (size > sizeof(value)) /* an error since Linux 6.10 */
        return vk_unknown(run, "more than a counter is written");
    memcpy(&value, bytes, sizeof(value));
    if (value == UINT64_MAX)
        return -EINVAL;
    if (COUNT_MAX - open->count < value)
        return would_block(open);
    vk_open_edit(run->k, index)->count += value;
    run->k->s.stamp++;
    return sizeof(value);
}

/* ---- what is ready ---- */

static uint32_t pipe_ready(const struct vk_kernel *k, const struct vk_open *open)
{
    unsigned access = open->flags & O_ACCMODE;
    bool reads = open->kind == VK_OPEN_PAIR || access != O_WRONLY;
    bool writes = open->kind == VK_OPEN_PAIR || access != O_RDONLY;
    const struct vk_pipe *in = pipe_at(k, open->object);
    const struct vk_pipe *out = open->kind == VK_OPEN_PAIR ? pipe_at(k, open->other) : in;
    uint32_t ready = 0;
    if (in->is_foreign || out->is_foreign)
        return VK_READY_UNKNOWN;
    if (reads && in->end > in->start)
        ready |= POLLIN | POLLRDNORM;
    if (reads && !in->writers)
        ready |= POLLHUP | (open->kind == VK_OPEN_PAIR ? POLLIN | POLLRDNORM | POLLRDHUP : 0);
    if (open->kind == VK_OPEN_PAIR && in->is_reset)
        ready |= POLLERR;
    uint64_t used = out->end - out->start;
    if (writes && (open->kind == VK_OPEN_PAIR ? used * 4 <= out->capacity
                                              : out->capacity - used >= PIPE_ATOM))
        ready |= POLLOUT | POLLWRNORM | (open->kind == VK_OPEN_PAIR ? POLLWRBAND : 0);
    if (writes && !out->readers)
        ready |= open->kind == VK_OPEN_PAIR ? 0 : POLLERR;
    return ready;
}

static uint32_t epoll_ready(const struct vk_kernel *k, uint32_t epoll, unsigned depth);

static uint32_t ready_of(const struct vk_kernel *k, uint32_t index, unsigned depth)
{
    const struct vk_open *open = vk_row(&k->opens, index);
    switch (open->kind) {
    case VK_OPEN_FILE:
        return vk_inode(k, open->inode)->is_live &&
                       !(open->path && !strcmp(open->path->text, "/dev/null"))
                   ? VK_READY_UNKNOWN
                   : POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
    case VK_OPEN_PIPE:
    case VK_OPEN_PAIR:
        return pipe_ready(k, open);
    case VK_OPEN_EVENTFD:
        return (open->count ? POLLIN | POLLRDNORM : 0) |
               (open->count < COUNT_MAX ? POLLOUT | POLLWRNORM : 0);
    case VK_OPEN_TIMERFD:
        return ((const struct vk_timer *)vk_row(&k->timers, open->object))->expired
                   ? POLLIN | POLLRDNORM
                   : 0;
    case VK_OPEN_SIGNALFD:
        return vk_signal_next(k, k->s.running, ~open->count) != VK_NONE ? POLLIN | POLLRDNORM : 0;
    case VK_OPEN_EPOLL:
        return depth < 4 ? epoll_ready(k, index, depth + 1) : VK_READY_UNKNOWN;
    default:
        return VK_READY_UNKNOWN;
    }
}

static uint32_t epoll_ready(const struct vk_kernel *k, uint32_t epoll, unsigned depth)
{
    for (uint32_t i = 0; i < vk_count(&k->watches); i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        uint32_t ready = watch->epoll == epoll ? ready_of(k, watch->open, depth) : 0;
        if (ready & VK_READY_UNKNOWN)
            return ready;
        if (ready & watch->events)
            return POLLIN | POLLRDNORM;
    }
    return 0;
}

uint32_t vk_ready(const struct vk_kernel *k, uint32_t open)
{
    return ready_of(k, open, 0);
}

/* ---- poll ---- */

/* Linux says how much of the time is left, unless the caller's personality forbids it. */
static int64_t tell_left(struct vk_run *run, int64_t result, uint64_t address, uint64_t ns,
                         uint64_t part)
{
    const struct vk_task *task = vk_task(run->k, run->call->task);
    uint64_t now = vk_ns(run->k), left = ns;
    if (run->is_retry)
        left = task->deadline > now ? task->deadline - now : 0;
    int64_t time[2] = {(int64_t)(left / 1000000000), (int64_t)(left % 1000000000 / part)};
    if (result < 0 || !address || run->has_taken || run->told)
        return result;
    vk_put(run, address, time, sizeof(time)); /* nobody is told if that fails */
    return result;
}

static int64_t poll_once(struct vk_run *run, struct pollfd *fds, uint64_t count)
{
    int64_t found = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t index;
        fds[i].revents = 0;
        if (fds[i].fd < 0)
            continue;
        if (!vk_open_of(run->k, (uint32_t)fds[i].fd, &index)) {
            fds[i].revents = POLLNVAL;
        } else {
            uint32_t ready = vk_ready(run->k, index);
            if (ready & VK_READY_UNKNOWN)
                return vk_unknown(run, "whether descriptor %d is ready", fds[i].fd);
            fds[i].revents =
                (short)(ready & ((uint32_t)(uint16_t)fds[i].events | POLLERR | POLLHUP));
        }
        found += fds[i].revents != 0;
    }
    return found;
}

/* Waits until `found` is not 0, or time is over. has_time: `ns` says when. */
static int64_t ready_or_wait(struct vk_run *run, int64_t found, bool has_time, uint64_t ns)
{
    if (found || (has_time && !ns))
        return found;
    return has_time ? vk_wait_for(run, ns, 0) : VK_WAIT;
}

static int64_t poll_for(struct vk_run *run, bool has_time, uint64_t ns)
{
    uint64_t count = run->a[1];
    if (count > POLL_MAX)
        return -EINVAL;
    struct pollfd *fds = calloc(count ? count : 1, sizeof(*fds));
    if (!fds)
        return VK_NOMEM;
    int64_t result = count && vk_get(run, run->a[0], fds, count * sizeof(*fds)) ? -EFAULT : 0;
    if (!result)
        result = poll_once(run, fds, count);
    if (result == VK_UNKNOWN) {
        struct vk_answer next;
        if (vk_next_answer(run, &next))
            result = vk_give_answer(run, &next);
    } else if (result >= 0) {
        result = ready_or_wait(run, result, has_time, ns);
        if (result >= 0 && count && vk_put(run, run->a[0], fds, count * sizeof(*fds)))
            result = -EFAULT;
    }
    free(fds);
    return result;
}

int64_t vk_call_poll(struct vk_run *run)
{
    int64_t ms = (int)run->a[2];
    return poll_for(run, ms >= 0, ms > 0 ? (uint64_t)ms * 1000000 : 0);
}

/* Masks of ppoll and pselect6 hold while the call waits. */
static int64_t with_mask(struct vk_run *run, uint64_t address, int64_t (*fn)(struct vk_run *))
{
    uint64_t set;
    if (address) {
        if (vk_get(run, address, &set, sizeof(set)))
            return -EFAULT;
        int64_t err = vk_mask_while(run, set);
        if (err)
            return err;
    }
    int64_t result = fn(run);
    if (result != VK_WAIT)
        vk_mask_back(run);
    return result;
}

static int64_t ppoll_masked(struct vk_run *run)
{
    uint64_t ns = 0;
    int64_t err = run->a[2] ? vk_get_time(run, run->a[2], &ns) : 0;
    return err ? err : tell_left(run, poll_for(run, run->a[2], ns), run->a[2], ns, 1);
}

int64_t vk_call_ppoll(struct vk_run *run)
{
    return with_mask(run, run->a[3], ppoll_masked);
}

/* ---- select ---- */

#define SET_WORDS (FD_SETSIZE / 64)
static const uint32_t select_bits[3] = {POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR,
                                        POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR, POLLPRI};

static int64_t select_once(struct vk_run *run, uint64_t count, uint64_t sets[3][SET_WORDS])
{
    int64_t found = 0;
    for (uint64_t fd = 0; fd < count; fd++) {
        uint64_t bit = UINT64_C(1) << fd % 64, word = fd / 64;
        uint32_t index;
        if (!((sets[0][word] | sets[1][word] | sets[2][word]) & bit))
            continue;
        if (!vk_open_of(run->k, fd, &index))
            return -EBADF;
        uint32_t ready = vk_ready(run->k, index);
        if (ready & VK_READY_UNKNOWN)
            return vk_unknown(run, "whether descriptor %d is ready", (int)fd);
        for (int i = 0; i < 3; i++) {
            if (!(sets[i][word] & bit))
                continue;
            if (ready & select_bits[i])
                found++;
            else
                sets[i][word] &= ~bit;
        }
    }
    return found;
}

static int64_t select_for(struct vk_run *run, bool has_time, uint64_t ns)
{
    uint64_t sets[3][SET_WORDS] = {{0}}, count = (uint32_t)run->a[0];
    if ((int)run->a[0] < 0)
        return -EINVAL;
    if (count > FD_SETSIZE)
        count = FD_SETSIZE;
    uint64_t bytes = (count + 63) / 64 * 8;
    for (int i = 0; i < 3; i++)
        if (run->a[i + 1] && bytes && vk_get(run, run->a[i + 1], sets[i], bytes))
            return -EFAULT;
    int64_t result = select_once(run, count, sets);
    if (result == VK_UNKNOWN) {
        struct vk_answer next;
        return vk_next_answer(run, &next) ? vk_give_answer(run, &next) : result;
    }
    if (result >= 0)
        result = ready_or_wait(run, result, has_time, ns);
    for (int i = 0; i < 3 && result >= 0; i++)
        if (run->a[i + 1] && bytes && vk_put(run, run->a[i + 1], sets[i], bytes))
            return -EFAULT;
    return result;
}

int64_t vk_call_select(struct vk_run *run)
{
    int64_t time[2];
    if (!run->a[4])
        return select_for(run, false, 0);
    if (vk_get(run, run->a[4], time, sizeof(time)))
        return -EFAULT;
    if (time[0] < 0 || time[1] < 0)
        return -EINVAL;
    uint64_t seconds = time[0] < 1 << 30 ? (uint64_t)time[0] : 1u << 30;
    uint64_t ns = seconds * 1000000000 + (uint64_t)time[1] * 1000;
    return tell_left(run, select_for(run, true, ns), run->a[4], ns, 1000);
}

static int64_t pselect_masked(struct vk_run *run)
{
    uint64_t ns = 0;
    int64_t err = run->a[4] ? vk_get_time(run, run->a[4], &ns) : 0;
    return err ? err : tell_left(run, select_for(run, run->a[4], ns), run->a[4], ns, 1);
}

int64_t vk_call_pselect6(struct vk_run *run)
{
    uint64_t mask[2] = {0};
    if (run->a[5] && vk_get(run, run->a[5], mask, sizeof(mask)))
        return -EFAULT;
    return with_mask(run, mask[0], pselect_masked);
}

/* ---- epoll ---- */

int64_t vk_call_epoll_create(struct vk_run *run)
{
    bool is_1 = run->call->number == SYS_epoll_create1;
    if (is_1 ? run->a[0] & ~(uint64_t)EPOLL_CLOEXEC : (int)run->a[0] <= 0)
        return -EINVAL;
    struct vk_open open = {.kind = VK_OPEN_EPOLL, .inode = VK_NONE, .flags = O_RDWR};
    return vk_fd_make(run, &open, is_1 && run->a[0] & EPOLL_CLOEXEC);
}

static uint32_t watch_find(const struct vk_kernel *k, uint32_t epoll, uint32_t open, int fd)
{
    for (uint32_t i = 0; i < vk_count(&k->watches); i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        if (watch->epoll == epoll && watch->open == open && watch->fd == fd)
            return i;
    }
    return VK_NONE;
}

static int64_t watch_change(struct vk_run *run, struct vk_watch *new, uint32_t old)
{
    struct vk_kernel *k = run->k;
    switch ((int)run->a[1]) {
    case EPOLL_CTL_ADD:
        if (old != VK_NONE)
            return -EEXIST;
        return vk_append(&k->watches, new) ? VK_NOMEM : 0;
    case EPOLL_CTL_MOD:
        if (old == VK_NONE)
            return -ENOENT;
        struct vk_watch *row = vk_edit(&k->watches, old);
        if (!row)
            return VK_NOMEM;
        *row = *new;
        return 0;
    case EPOLL_CTL_DEL:
        return old == VK_NONE ? -ENOENT : vk_remove(&k->watches, old, 1) ? VK_NOMEM : 0;
    default:
        return -EINVAL;
    }
}

#define EPOLL_NESTS 4 /* as in Linux */

/* How many epolls deep those go that this one watches; more than EPOLL_NESTS if `above` is one of
 * them. */
static unsigned nests_below(const struct vk_kernel *k, uint32_t epoll, uint32_t above,
                            unsigned depth)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < vk_count(&k->watches) && most <= EPOLL_NESTS; i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        const struct vk_open *open = vk_row(&k->opens, watch->open);
        if (watch->epoll != epoll || open->kind != VK_OPEN_EPOLL)
            continue;
        if (watch->open == above || depth > EPOLL_NESTS)
            return EPOLL_NESTS + 1;
        unsigned below = 1 + nests_below(k, watch->open, above, depth + 1);
        most = below > most ? below : most;
    }
    return most;
}

/* How many epolls deep those go that watch this one. */
static unsigned nests_above(const struct vk_kernel *k, uint32_t epoll, unsigned depth)
{
    unsigned most = 0;
    for (uint32_t i = 0; i < vk_count(&k->watches) && depth <= EPOLL_NESTS; i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        unsigned above = watch->open == epoll ? 1 + nests_above(k, watch->epoll, depth + 1) : 0;
        most = above > most ? above : most;
    }
    return most;
}

/* An epoll that watches epolls must neither watch itself, nor go too deep. */
static bool is_loop(const struct vk_kernel *k, uint32_t epoll, uint32_t target)
{
    unsigned below = nests_below(k, target, epoll, 0);
    return below > EPOLL_NESTS || below + 1 + nests_above(k, epoll, 0) > EPOLL_NESTS;
}

int64_t vk_call_epoll_ctl(struct vk_run *run)
{
    struct vk_kernel *k = run->k;
    struct epoll_event event = {0};
    uint32_t epoll, target;
    if (run->a[1] != EPOLL_CTL_DEL && vk_get(run, run->a[3], &event, sizeof(event)))
        return -EFAULT;
    const struct vk_open *open = vk_open_of(k, (uint32_t)run->a[0], &epoll);
    const struct vk_open *to = vk_open_of(k, (uint32_t)run->a[2], &target);
    if (!open || !to)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE)
        return vk_unknown(run, "of what is outside");
    if (to->kind == VK_OPEN_FILE && !vk_inode(k, to->inode)->is_live)
        return -EPERM;
    if (open->kind != VK_OPEN_EPOLL || epoll == target)
        return -EINVAL;
    if (run->a[1] == EPOLL_CTL_ADD && to->kind == VK_OPEN_EPOLL && is_loop(k, epoll, target))
        return -ELOOP;
    struct vk_watch new = {.epoll = epoll,
                           .open = target,
                           .fd = (int)run->a[2],
                           .events = event.events | EPOLLERR | EPOLLHUP,
                           .data = event.data.u64};
    return watch_change(run, &new, watch_find(k, epoll, target, new.fd));
}

/* Edges: what was told is told again when something has happened to it. That is known of all
 * together only, so an edge may be told once more than Linux would, never less. */
static bool is_told(const struct vk_kernel *k, const struct vk_watch *watch, uint32_t ready)
{
    return watch->events & EPOLLET && watch->stamp == k->s.stamp + 1 && !(ready & ~watch->last);
}

/* Who is ready takes his place behind those that were already, and who is not loses his. */
static int64_t epoll_line_up(struct vk_run *run, uint32_t epoll)
{
    struct vk_kernel *k = run->k;
    for (uint32_t i = 0; i < vk_count(&k->watches); i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        if (watch->epoll != epoll)
            continue;
        uint32_t ready = vk_ready(k, watch->open);
        if (ready & VK_READY_UNKNOWN)
            return vk_unknown(run, "whether descriptor %d is ready", watch->fd);
        bool is_there = ready & watch->events && !is_told(k, watch, ready & watch->events);
        if (is_there == (watch->order != 0))
            continue;
        struct vk_watch *row = vk_edit(&k->watches, i);
        if (!row)
            return VK_NOMEM;
        row->order = is_there ? ++k->s.wait_count : 0;
    }
    return 0;
}

/* The first in the line that came no later than `last`; VK_NONE. */
static uint32_t epoll_first(const struct vk_kernel *k, uint32_t epoll, uint64_t last)
{
    uint32_t first = VK_NONE;
    for (uint32_t i = 0; i < vk_count(&k->watches); i++) {
        const struct vk_watch *watch = vk_row(&k->watches, i);
        if (watch->epoll != epoll || !watch->order || watch->order > last)
            continue;
        if (first == VK_NONE ||
            watch->order < ((const struct vk_watch *)vk_row(&k->watches, first))->order)
            first = i;
    }
    return first;
}

/* Tells of those at the head of the line; who is still ready then goes to its end. */
static int64_t epoll_once(struct vk_run *run, uint32_t epoll, struct epoll_event *events,
                          uint64_t room)
{
    struct vk_kernel *k = run->k;
    int64_t found = epoll_line_up(run, epoll);
    uint64_t last = k->s.wait_count;
    while (found >= 0 && (uint64_t)found < room) {
        uint32_t i = epoll_first(k, epoll, last);
        struct vk_watch *row = i == VK_NONE ? NULL : vk_edit(&k->watches, i);
        if (!row)
            return i == VK_NONE ? found : VK_NOMEM;
        uint32_t ready = vk_ready(k, row->open) & row->events;
        events[found++] = (struct epoll_event){.events = ready, .data = {.u64 = row->data}};
        row->order = row->events & (EPOLLET | EPOLLONESHOT) ? 0 : ++k->s.wait_count;
        if (row->order)
            continue;
        row->last = ready;
        row->stamp = k->s.stamp + 1;
        if (row->events & EPOLLONESHOT)
            row->events = 0; /* until it is set again */
    }
    return found;
}

static int64_t epoll_for(struct vk_run *run, bool has_time, uint64_t ns)
{
    struct epoll_event events[64];
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if ((int)run->a[2] <= 0)
        return -EINVAL;
    if (!open)
        return -EBADF;
    if (open->kind != VK_OPEN_EPOLL)
        return open->kind == VK_OPEN_OUTSIDE ? vk_next_recorded(run) : -EINVAL;
    int64_t found = epoll_once(run, index, events, (uint32_t)run->a[2] < 64 ? run->a[2] : 64);
    if (found == VK_UNKNOWN) {
        struct vk_answer next;
        return vk_next_answer(run, &next) ? vk_give_answer(run, &next) : found;
    }
    if (found >= 0)
        found = ready_or_wait(run, found, has_time, ns);
    if (found > 0 && vk_put(run, run->a[1], events, (uint64_t)found * sizeof(*events)))
        return -EFAULT;
    return found;
}

static int64_t epoll_ms(struct vk_run *run)
{
    int64_t ms = (int)run->a[3];
    return epoll_for(run, ms >= 0, ms > 0 ? (uint64_t)ms * 1000000 : 0);
}

int64_t vk_call_epoll_wait(struct vk_run *run)
{
    return epoll_ms(run);
}

int64_t vk_call_epoll_pwait(struct vk_run *run)
{
    return with_mask(run, run->a[4], epoll_ms);
}

static int64_t epoll_ns(struct vk_run *run)
{
    uint64_t ns = 0;
    int64_t err = run->a[3] ? vk_get_time(run, run->a[3], &ns) : 0;
    return err ? err : epoll_for(run, run->a[3], ns);
}

int64_t vk_call_epoll_pwait2(struct vk_run *run)
{
    return with_mask(run, run->a[4], epoll_ns);
}
