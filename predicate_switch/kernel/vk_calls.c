/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the functions of calls use, and the table of them by number. */
#include "predicate_switch/kernel/vk_calls.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "common/array.h"
#include "common/bisect.h"

/* ---- what goes between a call and the program's memory ---- */

int64_t vk_unknown(struct vk_run *run, const char *format, ...)
{
    char why[200];
    enum vk_modelled how;
    const char *name = vk_call_name(run->call->number, &how, NULL);
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    if (name)
        snprintf(run->k->reason, sizeof(run->k->reason), "%s: %s", name, why);
    else
        snprintf(run->k->reason, sizeof(run->k->reason), "call %d: %s", run->call->number, why);
    return VK_UNKNOWN;
}

int64_t vk_unknown_own(struct vk_run *run, const char *why)
{
    run->may_differ = !run->told && vk_is_live(run->k);
    return vk_unknown(run, "%s", why);
}

static int log_add(struct vk_log *log, uint64_t address, const void *bytes, uint64_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy || wd_grow(log->pieces, log->capacity, log->count + 1)) {
        free(copy);
        log->err = -ENOMEM;
        return -ENOMEM;
    }
    memcpy(copy, bytes, size);
    log->pieces[log->count++] = (struct vk_piece){address, size, copy};
    return 0;
}

/* What the same answer has written already is not in memory yet. */
static void overlay(const struct vk_ops *ops, uint64_t address, uint8_t *bytes, uint64_t size)
{
    for (size_t i = 0; i < ops->count; i++) {
        const struct vk_op *op = &ops->list[i];
        uint64_t from = op->start > address ? op->start : address;
        uint64_t op_end = op->start + op->size, end = address + size;
        uint64_t to = op_end < end ? op_end : end;
        if (op->kind == VK_OP_WRITE && from < to)
            memcpy(bytes + (from - address), op->bytes + (from - op->start), to - from);
    }
}

int vk_get(struct vk_run *run, uint64_t address, void *bytes, uint64_t size)
{
    if (!vk_may_access(run->k, address, size, false) ||
        run->memory->read(run->memory->arg, address, bytes, size)) {
        memset(bytes, 0, size);
        return -EFAULT;
    }
    if (vk_is_live(run->k))
        overlay(&run->k->ops, address, bytes, size);
    if (run->log)
        log_add(run->log, address, bytes, size);
    return 0;
}

int vk_put(struct vk_run *run, uint64_t address, const void *bytes, uint64_t size)
{
    if (!size)
        return 0;
    if (!vk_may_access(run->k, address, size, true))
        return -EFAULT;
    void *copy = vk_op_bytes(run->k, size);
    struct vk_op *op = copy ? vk_op_add(run->k, VK_OP_WRITE, address, size) : NULL;
    if (!op)
        return -ENOMEM;
    memcpy(copy, bytes, size);
    op->bytes = copy;
    op->byte_count = size;
    return 0;
}

int vk_get_string(struct vk_run *run, uint64_t address, char *out, size_t room)
{
    size_t done = 0;
    while (done < room) {
        size_t part = VK_BLOCK - (address + done) % VK_BLOCK;
        part = part < 64 ? part : 64;
        part = part < room - done ? part : room - done;
        if (vk_get(run, address + done, out + done, part))
            return -EFAULT;
        const char *end = memchr(out + done, 0, part);
        if (end)
            return (int)(end - out);
        done += part;
    }
    return -ENAMETOOLONG;
}

/* ---- ops ---- */

struct vk_op *vk_op_add(struct vk_kernel *k, enum vk_op_kind kind, uint64_t start, uint64_t size)
{
    struct vk_ops *ops = &k->ops;
    if (wd_grow(ops->list, ops->capacity, ops->count + 1))
        return NULL;
    ops->list[ops->count] = (struct vk_op){.kind = kind, .start = start, .size = size, .name = ""};
    return &ops->list[ops->count++];
}

void *vk_op_bytes(struct vk_kernel *k, uint64_t size)
{
    struct vk_ops *ops = &k->ops;
    void *bytes = malloc(size ? size : 1);
    if (!bytes || wd_grow(ops->chunks, ops->chunk_capacity, ops->chunk_count + 1)) {
        free(bytes);
        return NULL;
    }
    return ops->chunks[ops->chunk_count++] = bytes;
}

void vk_ops_clear(struct vk_ops *ops)
{
    for (size_t i = 0; i < ops->chunk_count; i++)
        free(ops->chunks[i]);
    ops->chunk_count = ops->count = 0;
}

void vk_ops_fini(struct vk_ops *ops)
{
    vk_ops_clear(ops);
    free(ops->list);
    free(ops->chunks);
    *ops = (struct vk_ops){0};
}

/* ---- recorded answers ---- */

static size_t bytes_at(const struct vk_piece *pieces, size_t count, uint64_t address, void *bytes,
                       size_t room)
{
    size_t done = 0;
    for (bool found = true; found && done < room;) {
        found = false;
        for (size_t i = 0; i < count && done < room; i++) {
            uint64_t at = address + done;
            if (at < pieces[i].address || at - pieces[i].address >= pieces[i].size)
                continue;
            uint64_t left = pieces[i].size - (at - pieces[i].address);
            size_t part = left < room - done ? (size_t)left : room - done;
            memcpy((uint8_t *)bytes + done, pieces[i].bytes + (at - pieces[i].address), part);
            done += part;
            found = true;
        }
    }
    return done;
}

size_t vk_told_bytes(const struct vk_run *run, uint64_t address, void *bytes, size_t room)
{
    return bytes_at(run->told->writes, run->told->write_count, address, bytes, room);
}

size_t vk_answer_bytes(const struct vk_answer *answer, uint64_t address, void *bytes, size_t room)
{
    return bytes_at(answer->writes, answer->write_count, address, bytes, room);
}

/* The answer with this call's key that the recording has at this very time; else the one that it
 * has next, from where it went live. */
static const struct vk_history_call *next_call(struct vk_run *run, uint32_t key)
{
    struct vk_kernel *k = run->k;
    const struct vk_key *row = &run->h->keys[key];
    if (vk_extend(&k->cursors, key + 1))
        return NULL;
    uint32_t *cursor = vk_edit(&k->cursors, key);
    if (!cursor)
        return NULL;
    const struct vk_history_call *same =
        vk_call_at(run->h, run->call->when, run->call->task, run->call->number);
    if (same && same->key == key) {
        *cursor = 1 + (uint32_t)wd_bisect(0, row->count, i,
                                          run->h->calls[row->calls[i]].call.when < same->call.when);
        return same;
    }
    while (*cursor < row->count && run->h->calls[row->calls[*cursor]].call.when < k->s.live_from)
        ++*cursor;
    return *cursor < row->count ? &run->h->calls[row->calls[(*cursor)++]] : NULL;
}

/* The key of a live call; VK_NONE if the recording has no call with it, or is not to be asked. */
static uint32_t call_key(struct vk_run *run)
{
    const struct vk_call_row *row = vk_row_of(run->call->number);
    if (row && vk_is_about_input(run, row))
        return VK_NONE;
    uint64_t hash = row && vk_is_live(run->k) ? vk_key_of(run, row) : 0;
    return hash ? vk_key_find(run->h, hash) : VK_NONE;
}

static bool answer_take(struct vk_run *run, const struct vk_history_call *call,
                        struct vk_answer *answer)
{
    if (!call || !call->has_ended)
        return false;
    *answer = (struct vk_answer){call->result, call->call.args, call->writes, call->write_count};
    return run->has_taken = true;
}

bool vk_next_answer(struct vk_run *run, struct vk_answer *answer)
{
    if (run->told) {
        *answer = (struct vk_answer){run->told->result, run->a, run->told->writes,
                                     run->told->write_count};
        return run->has_taken = true;
    }
    uint32_t key = call_key(run);
    return answer_take(run, key == VK_NONE ? NULL : next_call(run, key), answer);
}

bool vk_first_answer(struct vk_run *run, struct vk_answer *answer)
{
    uint32_t key = call_key(run);
    const struct vk_key *row = key == VK_NONE ? NULL : &run->h->keys[key];
    return answer_take(run, row && row->count ? &run->h->calls[row->calls[0]] : NULL, answer);
}

/* Where this call has what the recorded one had at an address: behind the same argument. */
static uint64_t moved(const struct vk_run *run, const struct vk_answer *answer, uint64_t address)
{
    int best = -1;
    for (int i = 0; i < VK_ARGS; i++)
        if (answer->args[i] <= address && address - answer->args[i] < UINT64_C(1) << 24 &&
            answer->args[i] >= VK_BLOCK && (best < 0 || answer->args[i] > answer->args[best]))
            best = i;
    return best < 0 ? address : run->a[best] + (address - answer->args[best]);
}

int64_t vk_give_answer(struct vk_run *run, const struct vk_answer *answer)
{
    for (size_t i = 0; i < answer->write_count; i++) {
        const struct vk_piece *piece = &answer->writes[i];
        if (vk_put(run, moved(run, answer, piece->address), piece->bytes, piece->size) == -ENOMEM)
            return VK_NOMEM;
    }
    return answer->result;
}

int64_t vk_next_recorded(struct vk_run *run)
{
    struct vk_answer answer;
    if (!vk_next_answer(run, &answer))
        return vk_unknown(run, "what is outside of the process: the recording does not tell");
    return vk_give_answer(run, &answer);
}

/* ---- the table ---- */

#define ROW(name, fn, adopt, how, key)                                                             \
    [SYS_##name] = {#name, vk_call_##fn, adopt, VK_MODELLED##how, key, NULL}
#define PLAIN(name)                 ROW(name, name, NULL, , 0)
#define SAME(name, fn)              ROW(name, fn, NULL, , 0)
#define LEARNS(name, adopt)         ROW(name, name, vk_adopt_##adopt, , 0)
#define KEYED(name, fn, adopt, key) ROW(name, fn, adopt, , key)
#define NEXT(name, fn, adopt, key)  ROW(name, fn, adopt, _NEXT, key)
#define ONLY(name, key)                                                                            \
    [SYS_##name] = {#name, vk_next_recorded, NULL, VK_MODELLED_ONLY_RECORDED, key, NULL}
#define MAKER(name)    [SYS_##name] = {#name, NULL, vk_adopt_maker, VK_MODELLED_NOT, 0, outside}
#define NOT(name, why) [SYS_##name] = {#name, NULL, NULL, VK_MODELLED_NOT, 0, why}

static const char outside[] = "what lies outside of the process is not modelled";
static const char processes[] = "other processes are not modelled";
static const char system_wide[] = "it would change the machine";

#define A(n)  VK_KEY_ARG(n)
#define PATH0 VK_KEY_PATH0
#define PATH1 VK_KEY_PATH1
#define FD0   VK_KEY_FD0
#define ANY   VK_KEY_ANY

static const struct vk_call_row rows[] = {
    /* files */
    KEYED(read, read, vk_adopt_read, FD0),
    KEYED(pread64, pread64, vk_adopt_pread64, FD0 | A(3)),
    KEYED(readv, readv, vk_adopt_readv, FD0),
    KEYED(preadv, preadv, vk_adopt_preadv, FD0 | A(3)),
    LEARNS(write, write),
    LEARNS(pwrite64, pwrite64),
    LEARNS(writev, writev),
    PLAIN(pwritev),
    KEYED(lseek, lseek, vk_adopt_lseek, FD0 | A(1) | A(2)),
    PLAIN(ftruncate),
    PLAIN(truncate),
    PLAIN(fallocate),
    PLAIN(sendfile),
    PLAIN(copy_file_range),
    KEYED(fsync, fsync, vk_adopt_fd0, FD0),
    SAME(fdatasync, fsync),
    SAME(sync, nothing),
    SAME(syncfs, fsync),
    SAME(sync_file_range, fsync),
    KEYED(fadvise64, fadvise64, vk_adopt_fd0, FD0),
    SAME(readahead, fsync),
    KEYED(getdents64, getdents64, vk_adopt_getdents64, FD0),
    /* descriptors */
    LEARNS(close, close),
    PLAIN(close_range),
    LEARNS(dup, dup),
    LEARNS(dup2, dup),
    LEARNS(dup3, dup),
    LEARNS(fcntl, fcntl),
    PLAIN(flock),
    KEYED(ioctl, ioctl, vk_adopt_fd0, FD0 | A(1)),
    /* names */
    ROW(open, open, vk_adopt_open_call, , 0),
    LEARNS(openat, openat),
    LEARNS(creat, creat),
    PLAIN(memfd_create),
    KEYED(stat, stat, vk_adopt_stat, PATH0),
    KEYED(lstat, stat, vk_adopt_stat, PATH0),
    KEYED(fstat, fstat, vk_adopt_fstat, FD0),
    KEYED(newfstatat, newfstatat, vk_adopt_newfstatat, FD0 | PATH1 | A(3)),
    KEYED(statx, statx, vk_adopt_statx, FD0 | PATH1 | A(2) | A(3)),
    KEYED(access, access, vk_adopt_access, PATH0 | A(1)),
    KEYED(faccessat, faccessat, vk_adopt_faccessat, FD0 | PATH1 | A(2)),
    KEYED(faccessat2, faccessat, vk_adopt_faccessat, FD0 | PATH1 | A(2) | A(3)),
    KEYED(readlink, readlink, vk_adopt_readlink, PATH0 | A(2)),
    KEYED(readlinkat, readlinkat, vk_adopt_readlinkat, FD0 | PATH1 | A(3)),
    ROW(mkdir, mkdir, vk_adopt_name0, , 0),
    ROW(mkdirat, mkdirat, vk_adopt_name_at, , 0),
    ROW(rmdir, rmdir, vk_adopt_name0, , 0),
    ROW(unlink, unlink, vk_adopt_name0, , 0),
    ROW(unlinkat, unlinkat, vk_adopt_name_at, , 0),
    ROW(rename, rename, vk_adopt_two, , 0),
    ROW(renameat, renameat, vk_adopt_two_at, , 0),
    ROW(renameat2, renameat2, vk_adopt_two_at, , 0),
    ROW(link, link, vk_adopt_two, , 0),
    ROW(linkat, linkat, vk_adopt_two_at, , 0),
    ROW(symlink, symlink, vk_adopt_symlink, , 0),
    ROW(symlinkat, symlinkat, vk_adopt_symlink, , 0),
    PLAIN(chmod),
    PLAIN(fchmod),
    PLAIN(fchmodat),
    PLAIN(chown),
    SAME(lchown, chown),
    PLAIN(fchown),
    PLAIN(fchownat),
    PLAIN(utimensat),
    LEARNS(chdir, chdir),
    PLAIN(fchdir),
    PLAIN(getcwd),
    LEARNS(umask, umask),
    ONLY(statfs, PATH0),
    ONLY(fstatfs, FD0),
    ONLY(getxattr, PATH0 | A(3)),
    ONLY(lgetxattr, PATH0 | A(3)),
    ONLY(fgetxattr, FD0 | A(3)),
    ONLY(listxattr, PATH0),
    ONLY(llistxattr, PATH0),
    ONLY(flistxattr, FD0),
    /* pipes and what waits */
    LEARNS(pipe, pipe),
    ROW(pipe2, pipe2, vk_adopt_pipe, , 0),
    LEARNS(socketpair, socketpair),
    ROW(eventfd, eventfd2, vk_adopt_maker, , 0),
    ROW(eventfd2, eventfd2, vk_adopt_maker, , 0),
    ROW(signalfd4, signalfd4, vk_adopt_maker, , 0),
    ROW(timerfd_create, timerfd_create, vk_adopt_maker, , 0),
    PLAIN(timerfd_settime),
    PLAIN(timerfd_gettime),
    KEYED(poll, poll, NULL, A(1)),
    KEYED(ppoll, ppoll, vk_adopt_mask_back, A(1)),
    KEYED(select, select, NULL, A(0)),
    KEYED(pselect6, pselect6, vk_adopt_mask_back, A(0)),
    ROW(epoll_create, epoll_create, vk_adopt_maker, , 0),
    ROW(epoll_create1, epoll_create, vk_adopt_maker, , 0),
    PLAIN(epoll_ctl),
    KEYED(epoll_wait, epoll_wait, NULL, FD0),
    KEYED(epoll_pwait, epoll_pwait, vk_adopt_mask_back, FD0),
    KEYED(epoll_pwait2, epoll_pwait2, vk_adopt_mask_back, FD0),
    /* memory */
    LEARNS(mmap, mmap),
    PLAIN(munmap),
    PLAIN(mprotect),
    LEARNS(brk, brk),
    LEARNS(mremap, mremap),
    PLAIN(madvise),
    PLAIN(msync),
    PLAIN(mlock),
    SAME(munlock, mlock),
    ONLY(mincore, A(1)),
    ONLY(mbind, A(2)),
    ONLY(get_mempolicy, ANY),
    ONLY(set_mempolicy, A(0) | A(2)),
    ONLY(pkey_alloc, ANY),
    /* signals */
    LEARNS(rt_sigaction, rt_sigaction),
    LEARNS(rt_sigprocmask, rt_sigprocmask),
    PLAIN(rt_sigpending),
    ROW(rt_sigsuspend, rt_sigsuspend, vk_adopt_mask_back, , 0),
    PLAIN(rt_sigtimedwait),
    PLAIN(rt_sigreturn),
    LEARNS(sigaltstack, sigaltstack),
    PLAIN(pause),
    PLAIN(kill),
    PLAIN(tkill),
    PLAIN(tgkill),
    /* threads */
    NEXT(clone, clone, NULL, ANY),
    NEXT(clone3, clone, NULL, ANY),
    LEARNS(futex, futex),
    PLAIN(set_tid_address),
    PLAIN(set_robust_list),
    PLAIN(get_robust_list),
    PLAIN(gettid),
    PLAIN(exit),
    PLAIN(exit_group),
    PLAIN(sched_yield),
    KEYED(rseq, rseq, NULL, ANY),
    SAME(membarrier, next_or_0),
    ONLY(sched_getaffinity, A(1)),
    KEYED(sched_setaffinity, next_or_0, NULL, ANY),
    ONLY(sched_getparam, ANY),
    ONLY(sched_getscheduler, ANY),
    ONLY(sched_get_priority_max, A(0)),
    ONLY(sched_get_priority_min, A(0)),
    ONLY(sched_setscheduler, A(1)),
    ONLY(getcpu, ANY),
    ONLY(getpriority, A(0)),
    ONLY(setpriority, A(0)),
    /* time */
    NEXT(clock_gettime, clock_gettime, NULL, A(0)),
    NEXT(clock_getres, clock_getres, NULL, A(0)),
    NEXT(gettimeofday, gettimeofday, NULL, ANY),
    NEXT(time, time, NULL, ANY),
    PLAIN(nanosleep),
    PLAIN(clock_nanosleep),
    KEYED(setitimer, setitimer, NULL, A(0)),
    KEYED(getitimer, getitimer, NULL, A(0)),
    PLAIN(alarm),
    PLAIN(timer_create),
    PLAIN(timer_settime),
    PLAIN(timer_gettime),
    PLAIN(timer_getoverrun),
    PLAIN(timer_delete),
    /* the process */
    KEYED(getpid, getpid, NULL, ANY),
    NEXT(getppid, getppid, NULL, ANY),
    KEYED(getuid, getuid, vk_adopt_ids, ANY),
    KEYED(geteuid, geteuid, vk_adopt_ids, ANY),
    KEYED(getgid, getgid, vk_adopt_ids, ANY),
    KEYED(getegid, getegid, vk_adopt_ids, ANY),
    KEYED(getresuid, getresuid, NULL, ANY),
    KEYED(getresgid, getresgid, NULL, ANY),
    PLAIN(setresuid),
    PLAIN(setresgid),
    PLAIN(setuid),
    PLAIN(setgid),
    ONLY(getgroups, A(0)),
    KEYED(getpgrp, getpgrp, NULL, ANY),
    KEYED(getpgid, getpgrp, NULL, A(0)),
    ONLY(getsid, A(0)),
    KEYED(getrlimit, getrlimit, vk_adopt_getrlimit, A(0)),
    PLAIN(setrlimit),
    KEYED(prlimit64, prlimit64, vk_adopt_prlimit64, A(1)),
    NEXT(getrandom, getrandom, NULL, A(1)),
    NEXT(getrusage, getrusage, NULL, A(0)),
    NEXT(times, times, NULL, ANY),
    ONLY(uname, ANY),
    ONLY(sysinfo, ANY),
    KEYED(prctl, prctl, vk_adopt_prctl, A(0) | A(1)),
    KEYED(arch_prctl, arch_prctl, NULL, A(0) | A(1)),
    ONLY(capget, ANY),
    ONLY(personality, A(0)),
    ONLY(io_uring_setup, ANY),
    ONLY(seccomp, A(0)),
    ONLY(syslog, A(0)),
    /* what ends a run */
    NOT(fork, processes),
    NOT(vfork, processes),
    NOT(execve, "another program would begin"),
    NOT(execveat, "another program would begin"),
    NOT(wait4, processes),
    NOT(waitid, processes),
    NOT(ptrace, processes),
    NOT(process_vm_readv, processes),
    NOT(process_vm_writev, processes),
    NOT(setpgid, processes),
    NOT(setsid, processes),
    ROW(socket, socket, vk_adopt_maker, _ONLY_RECORDED, A(0) | A(1) | A(2)),
    MAKER(accept),
    MAKER(accept4),
    MAKER(inotify_init),
    MAKER(inotify_init1),
    MAKER(pidfd_open),
    MAKER(perf_event_open),
    MAKER(userfaultfd),
    ONLY(connect, FD0 | A(2)),
    NOT(bind, outside),
    NOT(listen, outside),
    NOT(sendto, outside),
    ONLY(recvfrom, FD0 | A(2)),
    NOT(sendmsg, outside),
    ONLY(recvmsg, FD0),
    NOT(sendmmsg, outside),
    NOT(recvmmsg, outside),
    NOT(shutdown, outside),
    ONLY(getsockname, FD0 | A(2)),
    ONLY(getpeername, FD0 | A(2)),
    ONLY(setsockopt, FD0 | A(2)),
    ONLY(getsockopt, FD0 | A(2)),
    NOT(inotify_add_watch, outside),
    NOT(splice, "bytes that pass through no memory"),
    NOT(tee, "bytes that pass through no memory"),
    NOT(vmsplice, "bytes that pass through no memory"),
    NOT(mknod, "special files are not modelled"),
    NOT(mknodat, "special files are not modelled"),
    NOT(mount, system_wide),
    NOT(umount2, system_wide),
    NOT(chroot, system_wide),
    NOT(pivot_root, system_wide),
    NOT(reboot, system_wide),
    NOT(sethostname, system_wide),
    NOT(settimeofday, system_wide),
    NOT(clock_settime, system_wide),
    NOT(unshare, system_wide),
    NOT(setns, system_wide),
    NOT(bpf, system_wide),
    NOT(shmget, "memory shared with other processes"),
    NOT(shmat, "memory shared with other processes"),
    NOT(semget, processes),
    NOT(msgget, processes),
    NOT(modify_ldt, "segments of its own"),
};

const struct vk_call_row *vk_row_of(int64_t number)
{
    bool has = number >= 0 && (size_t)number < sizeof(rows) / sizeof(*rows) && rows[number].name;
    return has ? &rows[number] : NULL;
}

const char *vk_call_name(int32_t number, enum vk_modelled *how, const char **why)
{
    const struct vk_call_row *row = vk_row_of(number);
    if (!row)
        return NULL;
    *how = (enum vk_modelled)row->how;
    if (why)
        *why = row->why;
    return row->name;
}

/* ---- what only the recording knows ---- */

/* Whether memory has what the recorded call read there. */
static bool reads_the_same(struct vk_run *run, const struct vk_piece *piece)
{
    uint8_t *bytes = malloc(piece->size ? piece->size : 1);
    bool is_same = bytes && !vk_get(run, piece->address, bytes, piece->size) &&
                   !memcmp(bytes, piece->bytes, piece->size);
    free(bytes);
    return is_same;
}

/* The recorded call of this very time, if it asks the same: the same arguments, and the same bytes
 * behind them. */
static const struct vk_history_call *same_question(struct vk_run *run)
{
    const struct vk_history_call *call =
        vk_call_at(run->h, run->call->when, run->call->task, run->call->number);
    bool is_same =
        call && call->has_ended && !memcmp(call->call.args, run->a, sizeof(call->call.args));
    for (uint32_t i = 0; is_same && i < call->read_count; i++)
        is_same = reads_the_same(run, &call->reads[i]);
    return is_same ? call : NULL;
}

/* Results that come with more than what a call writes: memory, threads. */
static bool is_more_than_writes(int32_t number)
{
    return number == SYS_mmap || number == SYS_mremap || number == SYS_brk || number == SYS_clone ||
           number == SYS_clone3 || number == SYS_shmat;
}

/* What the model does not know, and the recording had: its answer, and the state that it made. */
static int64_t answer_as_recorded(struct vk_run *run, const struct vk_call_row *row, size_t ops)
{
    const struct vk_history_call *call =
        row->fn && !vk_is_about_input(run, row) ? same_question(run) : NULL;
    if (!call || (call->result >= 0 && is_more_than_writes(run->call->number)))
        return VK_UNKNOWN;
    struct vk_answer answer = {call->result, call->call.args, call->writes, call->write_count};
    struct vk_told told = {call->result, call->writes, call->write_count, call->ended};
    struct vk_run again = *run;
    again.told = &told;
    run->has_taken = true;
    if (row->adopt)
        row->adopt(&again);
    run->k->ops.count = ops;
    return vk_give_answer(run, &answer);
}

int64_t vk_answer(struct vk_run *run)
{
    const struct vk_call_row *row = vk_row_of(run->call->number);
    struct vk_answer next;
    size_t ops = run->k->ops.count;
    if (!run->told && vk_is_live(run->k) && vk_is_missing(run->h, run->call->number))
        return -ENOSYS;
    if (!row)
        return vk_unknown(run, "is not modelled");
    int64_t result = row->fn ? row->fn(run) : vk_unknown(run, "%s", row->why);
    bool may_take = row->key && !run->told && !run->has_taken;
    if (result != VK_UNKNOWN)
        return result;
    if (run->may_differ)
        return result;
    if (may_take && vk_next_answer(run, &next))
        return vk_give_answer(run, &next);
    return run->told || !vk_is_live(run->k) ? result : answer_as_recorded(run, row, ops);
}

/* A recorded call did what the model did not foresee; now that it has learned, the same again. */
void vk_again(struct vk_run *run)
{
    const struct vk_call_row *row = vk_row_of(run->call->number);
    if (row && row->fn)
        row->fn(run);
}
