/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One row for each call of Linux on x86-64 that programs make, by number. Sizes are those of the
 * kernel's structures. Where what a pointer leads to depends on another argument in ways that a row
 * cannot say (ioctl, fcntl, prctl, arch_prctl, futex, quotactl, keyctl), the row says what is
 * usual.
 */
#include "slicer/syscalls.h"

#include <stddef.h>
#include <sys/syscall.h>

#include "recorder/event/buffered.h"
#include "recorder/insn/insn.h"

const uint8_t slc_syscall_reg[SLC_SYSCALL_ARGS] = {EVQ_RDI, EVQ_RSI, EVQ_RDX,
                                                   EVQ_R10, EVQ_R8,  EVQ_R9};
const uint8_t slc_syscall_gpr[SLC_SYSCALL_ARGS] = {INS_RDI, INS_RSI, INS_RDX, 10, INS_R8, 9};

#define NONE                                                                                       \
    {                                                                                              \
        SLC_ARG_NONE, 0, 0                                                                         \
    }
#define V                                                                                          \
    {                                                                                              \
        SLC_ARG_VALUE, 0, 0                                                                        \
    }
#define FD                                                                                         \
    {                                                                                              \
        SLC_ARG_FD, 0, 0                                                                           \
    }
#define ADDRESS                                                                                    \
    {                                                                                              \
        SLC_ARG_ADDRESS, 0, 0                                                                      \
    }
#define PATH                                                                                       \
    {                                                                                              \
        SLC_ARG_PATH, 0, 0                                                                         \
    }
#define IN(n)                                                                                      \
    {                                                                                              \
        SLC_ARG_IN, 0, n                                                                           \
    }
#define IN_BY(arg, n)                                                                              \
    {                                                                                              \
        SLC_ARG_IN_SIZED, arg, n                                                                   \
    }
#define IO(n)                                                                                      \
    {                                                                                              \
        SLC_ARG_IN_OUT, 0, n                                                                       \
    }
#define IO_BY(arg, n)                                                                              \
    {                                                                                              \
        SLC_ARG_IN_OUT_SIZED, arg, n                                                               \
    }
#define OUT                                                                                        \
    {                                                                                              \
        SLC_ARG_OUT, 0, 0                                                                          \
    }
#define OUT_RESULT                                                                                 \
    {                                                                                              \
        SLC_ARG_OUT_RESULT, SLC_ARG_NEXT, 1                                                        \
    }
#define OUT_RESULTS(n)                                                                             \
    {                                                                                              \
        SLC_ARG_OUT_RESULT, SLC_ARG_NEXT, n                                                        \
    }
#define OUT_RESULT_OF(arg, n)                                                                      \
    {                                                                                              \
        SLC_ARG_OUT_RESULT, arg, n                                                                 \
    }
#define SENT(arg)                                                                                  \
    {                                                                                              \
        SLC_ARG_SENT, arg, 1                                                                       \
    }
#define SENT_VEC(arg)                                                                              \
    {                                                                                              \
        SLC_ARG_SENT_VECTOR, arg, 16                                                               \
    }
#define OUT_VEC(arg)                                                                               \
    {                                                                                              \
        SLC_ARG_OUT_VECTOR, arg, 16                                                                \
    }
#define SENT_MSG(arg)                                                                              \
    {                                                                                              \
        SLC_ARG_SENT_MESSAGE, arg, 56                                                              \
    }
#define OUT_MSG(arg)                                                                               \
    {                                                                                              \
        SLC_ARG_OUT_MESSAGE, arg, 56                                                               \
    }

#define TIMESPEC  16
#define TIMEVAL   16
#define ITIMERVAL 32
#define SIGSET    8
#define POLLFD    8
#define EPOLL     12
#define RLIMIT    16
#define TIMEX     208

/* clang-format off */
#define CALL(name, ...) [SYS_##name] = {#name, {__VA_ARGS__}}
static const struct slc_syscall table[] = {
    CALL(read, FD, OUT_RESULT, V),
    CALL(write, FD, SENT(2), V),
    CALL(open, PATH, V, V),
    CALL(close, FD),
    CALL(stat, PATH, OUT),
    CALL(fstat, FD, OUT),
    CALL(lstat, PATH, OUT),
    CALL(poll, IO_BY(1, POLLFD), V, V),
    CALL(lseek, FD, V, V),
    CALL(mmap, V, V, V, V, FD, V),
    CALL(mprotect, ADDRESS, V, V),
    CALL(munmap, ADDRESS, V),
    CALL(brk, V),
    CALL(rt_sigaction, V, IN(32), OUT, V),
    CALL(rt_sigprocmask, V, IN(SIGSET), OUT, V),
    CALL(rt_sigreturn, NONE),
    CALL(ioctl, FD, V, ADDRESS),
    CALL(pread64, FD, OUT_RESULT, V, V),
    CALL(pwrite64, FD, SENT(2), V, V),
    CALL(readv, FD, OUT_VEC(2), V),
    CALL(writev, FD, SENT_VEC(2), V),
    CALL(access, PATH, V),
    CALL(pipe, OUT),
    CALL(select, V, IO(128), IO(128), IO(128), IO(TIMEVAL)),
    CALL(sched_yield, NONE),
    CALL(mremap, V, V, V, V, V),
    CALL(msync, ADDRESS, V, V),
    CALL(mincore, ADDRESS, V, OUT),
    CALL(madvise, ADDRESS, V, V),
    CALL(shmget, V, V, V),
    CALL(shmat, V, V, V),
    CALL(shmctl, V, V, OUT),
    CALL(dup, FD),
    CALL(dup2, FD, V),
    CALL(pause, NONE),
    CALL(nanosleep, IN(TIMESPEC), OUT),
    CALL(getitimer, V, OUT),
    CALL(alarm, V),
    CALL(setitimer, V, IN(ITIMERVAL), OUT),
    CALL(getpid, NONE),
    CALL(sendfile, FD, FD, IO(8), V),
    CALL(socket, V, V, V),
    CALL(connect, FD, IN_BY(2, 1), V),
    CALL(accept, FD, OUT, IO(4)),
    CALL(sendto, FD, SENT(2), V, V, IN_BY(5, 1), V),
    CALL(recvfrom, FD, OUT_RESULT, V, V, OUT, IO(4)),
    CALL(sendmsg, FD, SENT_MSG(0), V),
    CALL(recvmsg, FD, OUT_MSG(0), V),
    CALL(shutdown, FD, V),
    CALL(bind, FD, IN_BY(2, 1), V),
    CALL(listen, FD, V),
    CALL(getsockname, FD, OUT, IO(4)),
    CALL(getpeername, FD, OUT, IO(4)),
    CALL(socketpair, V, V, V, OUT),
    CALL(setsockopt, FD, V, V, IN_BY(4, 1), V),
    CALL(getsockopt, FD, V, V, OUT, IO(4)),
    CALL(clone, V, ADDRESS, OUT, OUT, V),
    CALL(fork, NONE),
    CALL(vfork, NONE),
    CALL(execve, PATH, ADDRESS, ADDRESS),
    CALL(exit, V),
    CALL(wait4, V, OUT, V, OUT),
    CALL(kill, V, V),
    CALL(uname, OUT),
    CALL(semget, V, V, V),
    CALL(semop, V, IN_BY(2, 6), V),
    CALL(semctl, V, V, V, V),
    CALL(shmdt, ADDRESS),
    CALL(msgget, V, V),
    CALL(msgsnd, V, SENT(2), V, V),
    CALL(msgrcv, V, OUT, V, V, V),
    CALL(msgctl, V, V, OUT),
    CALL(fcntl, FD, V, V),
    CALL(flock, FD, V),
    CALL(fsync, FD),
    CALL(fdatasync, FD),
    CALL(truncate, PATH, V),
    CALL(ftruncate, FD, V),
    CALL(getdents, FD, OUT_RESULT, V),
    CALL(getcwd, OUT_RESULT, V),
    CALL(chdir, PATH),
    CALL(fchdir, FD),
    CALL(rename, PATH, PATH),
    CALL(mkdir, PATH, V),
    CALL(rmdir, PATH),
    CALL(creat, PATH, V),
    CALL(link, PATH, PATH),
    CALL(unlink, PATH),
    CALL(symlink, PATH, PATH),
    CALL(readlink, PATH, OUT_RESULT, V),
    CALL(chmod, PATH, V),
    CALL(fchmod, FD, V),
    CALL(chown, PATH, V, V),
    CALL(fchown, FD, V, V),
    CALL(lchown, PATH, V, V),
    CALL(umask, V),
    CALL(gettimeofday, OUT, OUT),
    CALL(getrlimit, V, OUT),
    CALL(getrusage, V, OUT),
    CALL(sysinfo, OUT),
    CALL(times, OUT),
    CALL(ptrace, V, V, V, V),
    CALL(getuid, NONE),
    CALL(syslog, V, OUT_RESULT, V),
    CALL(getgid, NONE),
    CALL(setuid, V),
    CALL(setgid, V),
    CALL(geteuid, NONE),
    CALL(getegid, NONE),
    CALL(setpgid, V, V),
    CALL(getppid, NONE),
    CALL(getpgrp, NONE),
    CALL(setsid, NONE),
    CALL(setreuid, V, V),
    CALL(setregid, V, V),
    CALL(getgroups, V, OUT_RESULT_OF(0, 4)),
    CALL(setgroups, V, IN_BY(0, 4)),
    CALL(setresuid, V, V, V),
    CALL(getresuid, OUT, OUT, OUT),
    CALL(setresgid, V, V, V),
    CALL(getresgid, OUT, OUT, OUT),
    CALL(getpgid, V),
    CALL(setfsuid, V),
    CALL(setfsgid, V),
    CALL(getsid, V),
    CALL(capget, IN(8), OUT),
    CALL(capset, IN(8), IN(24)),
    CALL(rt_sigpending, OUT, V),
    CALL(rt_sigtimedwait, IN(SIGSET), OUT, IN(TIMESPEC), V),
    CALL(rt_sigqueueinfo, V, V, IN(128)),
    CALL(rt_sigsuspend, IN(SIGSET), V),
    CALL(sigaltstack, IN(24), OUT),
    CALL(utime, PATH, IN(16)),
    CALL(mknod, PATH, V, V),
    CALL(personality, V),
    CALL(ustat, V, OUT),
    CALL(statfs, PATH, OUT),
    CALL(fstatfs, FD, OUT),
    CALL(getpriority, V, V),
    CALL(setpriority, V, V, V),
    CALL(sched_setparam, V, IN(4)),
    CALL(sched_getparam, V, OUT),
    CALL(sched_setscheduler, V, V, IN(4)),
    CALL(sched_getscheduler, V),
    CALL(sched_get_priority_max, V),
    CALL(sched_get_priority_min, V),
    CALL(sched_rr_get_interval, V, OUT),
    CALL(mlock, ADDRESS, V),
    CALL(munlock, ADDRESS, V),
    CALL(mlockall, V),
    CALL(munlockall, NONE),
    CALL(vhangup, NONE),
    CALL(modify_ldt, V, IO_BY(2, 1), V),
    CALL(prctl, V, V, V, V, V),
    CALL(arch_prctl, V, V),
    CALL(adjtimex, IO(TIMEX)),
    CALL(setrlimit, V, IN(RLIMIT)),
    CALL(chroot, PATH),
    CALL(sync, NONE),
    CALL(settimeofday, IN(TIMEVAL), IN(8)),
    CALL(mount, PATH, PATH, PATH, V, PATH),
    CALL(umount2, PATH, V),
    CALL(sethostname, IN_BY(1, 1), V),
    CALL(setdomainname, IN_BY(1, 1), V),
    CALL(iopl, V),
    CALL(ioperm, V, V, V),
    CALL(quotactl, V, PATH, V, ADDRESS),
    CALL(gettid, NONE),
    CALL(readahead, FD, V, V),
    CALL(setxattr, PATH, PATH, IN_BY(3, 1), V, V),
    CALL(lsetxattr, PATH, PATH, IN_BY(3, 1), V, V),
    CALL(fsetxattr, FD, PATH, IN_BY(3, 1), V, V),
    CALL(getxattr, PATH, PATH, OUT_RESULT, V),
    CALL(lgetxattr, PATH, PATH, OUT_RESULT, V),
    CALL(fgetxattr, FD, PATH, OUT_RESULT, V),
    CALL(listxattr, PATH, OUT_RESULT, V),
    CALL(llistxattr, PATH, OUT_RESULT, V),
    CALL(flistxattr, FD, OUT_RESULT, V),
    CALL(removexattr, PATH, PATH),
    CALL(lremovexattr, PATH, PATH),
    CALL(fremovexattr, FD, PATH),
    CALL(tkill, V, V),
    CALL(time, OUT),
    CALL(futex, IO(4), V, V, V, IO(4), V),
    CALL(sched_setaffinity, V, V, IN_BY(1, 1)),
    CALL(sched_getaffinity, V, V, OUT_RESULT_OF(1, 1)),
    CALL(io_setup, V, OUT),
    CALL(io_destroy, V),
    CALL(lookup_dcookie, V, OUT_RESULT, V),
    CALL(epoll_create, V),
    CALL(getdents64, FD, OUT_RESULT, V),
    CALL(set_tid_address, V),
    CALL(restart_syscall, NONE),
    CALL(semtimedop, V, IN_BY(2, 6), V, IN(TIMESPEC)),
    CALL(fadvise64, FD, V, V, V),
    CALL(timer_create, V, IN(64), OUT),
    CALL(timer_settime, V, V, IN(ITIMERVAL), OUT),
    CALL(timer_gettime, V, OUT),
    CALL(timer_getoverrun, V),
    CALL(timer_delete, V),
    CALL(clock_settime, V, IN(TIMESPEC)),
    CALL(clock_gettime, V, OUT),
    CALL(clock_getres, V, OUT),
    CALL(clock_nanosleep, V, V, IN(TIMESPEC), OUT),
    CALL(exit_group, V),
    CALL(epoll_wait, FD, OUT_RESULTS(EPOLL), V, V),
    CALL(epoll_ctl, FD, V, FD, IN(EPOLL)),
    CALL(tgkill, V, V, V),
    CALL(utimes, PATH, IN(32)),
    CALL(mbind, ADDRESS, V, V, IN(8), V, V),
    CALL(set_mempolicy, V, IN(8), V),
    CALL(get_mempolicy, OUT, OUT, V, V, V),
    CALL(mq_open, PATH, V, V, IN(64)),
    CALL(mq_unlink, PATH),
    CALL(mq_timedsend, FD, SENT(2), V, V, IN(TIMESPEC)),
    CALL(mq_timedreceive, FD, OUT_RESULT, V, OUT, IN(TIMESPEC)),
    CALL(mq_notify, FD, IN(64)),
    CALL(mq_getsetattr, FD, IN(64), OUT),
    CALL(waitid, V, V, OUT, V, OUT),
    CALL(add_key, PATH, PATH, IN_BY(3, 1), V, V),
    CALL(request_key, PATH, PATH, PATH, V),
    CALL(keyctl, V, V, V, V, V),
    CALL(ioprio_set, V, V, V),
    CALL(ioprio_get, V, V),
    CALL(inotify_init, NONE),
    CALL(inotify_add_watch, FD, PATH, V),
    CALL(inotify_rm_watch, FD, V),
    CALL(openat, FD, PATH, V, V),
    CALL(mkdirat, FD, PATH, V),
    CALL(mknodat, FD, PATH, V, V),
    CALL(fchownat, FD, PATH, V, V, V),
    CALL(futimesat, FD, PATH, IN(32)),
    CALL(newfstatat, FD, PATH, OUT, V),
    CALL(unlinkat, FD, PATH, V),
    CALL(renameat, FD, PATH, FD, PATH),
    CALL(linkat, FD, PATH, FD, PATH, V),
    CALL(symlinkat, PATH, FD, PATH),
    CALL(readlinkat, FD, PATH, OUT_RESULT, V),
    CALL(fchmodat, FD, PATH, V),
    CALL(faccessat, FD, PATH, V),
    CALL(pselect6, V, IO(128), IO(128), IO(128), IN(TIMESPEC), IN(16)),
    CALL(ppoll, IO_BY(1, POLLFD), V, IN(TIMESPEC), IN(SIGSET), V),
    CALL(unshare, V),
    CALL(set_robust_list, ADDRESS, V),
    CALL(get_robust_list, V, OUT, OUT),
    CALL(splice, FD, IO(8), FD, IO(8), V, V),
    CALL(tee, FD, FD, V, V),
    CALL(sync_file_range, FD, V, V, V),
    CALL(vmsplice, FD, SENT_VEC(2), V, V),
    CALL(utimensat, FD, PATH, IN(32), V),
    CALL(epoll_pwait, FD, OUT_RESULTS(EPOLL), V, V, IN(SIGSET), V),
    CALL(signalfd, FD, IN(SIGSET), V),
    CALL(timerfd_create, V, V),
    CALL(eventfd, V),
    CALL(fallocate, FD, V, V, V),
    CALL(timerfd_settime, FD, V, IN(ITIMERVAL), OUT),
    CALL(timerfd_gettime, FD, OUT),
    CALL(accept4, FD, OUT, IO(4), V),
    CALL(signalfd4, FD, IN(SIGSET), V, V),
    CALL(eventfd2, V, V),
    CALL(epoll_create1, V),
    CALL(dup3, FD, V, V),
    CALL(pipe2, OUT, V),
    CALL(inotify_init1, V),
    CALL(preadv, FD, OUT_VEC(2), V, V, V),
    CALL(pwritev, FD, SENT_VEC(2), V, V, V),
    CALL(rt_tgsigqueueinfo, V, V, V, IN(128)),
    CALL(perf_event_open, IN(112), V, V, V, V),
    CALL(recvmmsg, FD, OUT_MSG(2), V, V, IN(TIMESPEC)),
    CALL(fanotify_init, V, V),
    CALL(fanotify_mark, FD, V, V, V, PATH),
    CALL(prlimit64, V, V, IN(RLIMIT), OUT),
    CALL(name_to_handle_at, FD, PATH, IO(8), OUT, V),
    CALL(open_by_handle_at, FD, IN(8), V),
    CALL(clock_adjtime, V, IO(TIMEX)),
    CALL(syncfs, FD),
    CALL(sendmmsg, FD, SENT_MSG(2), V, V),
    CALL(setns, FD, V),
    CALL(getcpu, OUT, OUT, NONE),
    CALL(process_vm_readv, V, OUT_VEC(2), V, IN_BY(4, 16), V, V),
    CALL(process_vm_writev, V, SENT_VEC(2), V, IN_BY(4, 16), V, V),
    CALL(kcmp, V, V, V, V, V),
    CALL(sched_setattr, V, IN(48), V),
    CALL(sched_getattr, V, OUT, V, V),
    CALL(renameat2, FD, PATH, FD, PATH, V),
    CALL(seccomp, V, V, IN(16)),
    CALL(getrandom, OUT_RESULT, V, V),
    CALL(memfd_create, PATH, V),
    CALL(bpf, V, IO_BY(2, 1), V),
    CALL(userfaultfd, V),
    CALL(execveat, FD, PATH, ADDRESS, ADDRESS, V),
    CALL(membarrier, V, V, V),
    CALL(mlock2, ADDRESS, V, V),
    CALL(copy_file_range, FD, IO(8), FD, IO(8), V, V),
    CALL(preadv2, FD, OUT_VEC(2), V, V, V, V),
    CALL(pwritev2, FD, SENT_VEC(2), V, V, V, V),
    CALL(pkey_mprotect, ADDRESS, V, V, V),
    CALL(pkey_alloc, V, V),
    CALL(pkey_free, V),
    CALL(statx, FD, PATH, V, V, OUT),
    CALL(rseq, ADDRESS, V, V, V),
    CALL(pidfd_send_signal, FD, V, IN(128), V),
    CALL(io_uring_setup, V, IO(120)),
    CALL(pidfd_open, V, V),
    CALL(clone3, IN_BY(1, 1), V),
    CALL(close_range, V, V, V),
    CALL(openat2, FD, PATH, IN_BY(3, 1), V),
    CALL(pidfd_getfd, FD, FD, V),
    CALL(faccessat2, FD, PATH, V, V),
    CALL(epoll_pwait2, FD, OUT_RESULTS(EPOLL), V, IN(TIMESPEC), IN(SIGSET), V),
};
/* clang-format on */

const struct slc_syscall *slc_syscall_find(int32_t number)
{
    static const struct slc_syscall of_rr = {.name = "(rr)"};
    if (number >= EVQ_CALL_OF_RR && number <= EVQ_CALL_DISARMED)
        return &of_rr; /* nothing that a program could see */
    if (number < 0 || (size_t)number >= sizeof(table) / sizeof(table[0]))
        return NULL;
    return table[number].name ? &table[number] : NULL;
}
