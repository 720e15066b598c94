/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the brute force knows of system calls: written down again, so that a slip in
 * slicer/syscalls.c shows. */
#include "tests/slicer/brute_calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

static const struct call {
    unsigned number;
    const char *signature;
} calls[] = {
    {SYS_read, "ddv"},
    {SYS_write, "d>v"},
    {SYS_close, "d"},
    {SYS_dup, "d"},
    {SYS_pipe, "d"},
    {SYS_dup2, "dv"},
    {SYS_pipe2, "dv"},
    {SYS_fcntl, "dvv"},
    {SYS_pread64, "ddvv"},
    {SYS_pwrite64, "d>vv"},
    {SYS_sendto, "d>vv<v"},
    {SYS_recvfrom, "ddvvd[4]"},
    {SYS_readv, "d*v"},
    {SYS_writev, "d*v"},
    {SYS_preadv, "d*vvv"},
    {SYS_pwritev, "d*vvv"},
    {SYS_vmsplice, "d*vv"},
    {SYS_sendmsg, "d[56]v"},
    {SYS_recvmsg, "d[56]v"},
    {SYS_sendmmsg, "dmvv"},
    {SYS_recvmmsg, "dmvv[16]"},
    {SYS_pwritev2, "d*vvvv"},
    {SYS_process_vm_readv, "v*v*vv"},
    {SYS_process_vm_writev, "v*v*vv"},
    {SYS_socketpair, "vvvd"},
    {SYS_memfd_create, "sv"},
    {SYS_ftruncate, "dv"},
    {SYS_fallocate, "dvvv"},
    {SYS_splice, "d[8]d[8]vv"},
    {SYS_copy_file_range, "d[8]d[8]vv"},
    {SYS_tee, "ddvv"},
    {SYS_sendfile, "dd[8]v"},
    {SYS_rename, "ss"},
    {SYS_unlink, "s"},
    {SYS_symlink, "ss"},
    {SYS_truncate, "sv"},
    {SYS_chdir, "s"},
    {SYS_fchdir, "d"},
    {SYS_fstat, "dd"},
    {SYS_newfstatat, "dsdv"},
    {SYS_lseek, "dvv"},
    {SYS_mmap, "vvvvdv"},
    {SYS_mprotect, "dvv"},
    {SYS_madvise, "dvv"},
    {SYS_munmap, "dv"},
    {SYS_set_robust_list, "dv"},
    {SYS_brk, "v"},
    {SYS_exit, "v"},
    {SYS_exit_group, "v"},
    {SYS_set_tid_address, "v"},
    {SYS_rt_sigaction, "v[32]dv"},
    {SYS_rt_sigprocmask, "v[8]dv"},
    {SYS_ioctl, "dvd"},
    {SYS_access, "sv"},
    {SYS_sched_yield, ""},
    {SYS_getpid, ""},
    {SYS_gettid, ""},
    {SYS_rt_sigreturn, ""},
    {SYS_nanosleep, "[16]d"},
    {SYS_clock_nanosleep, "vv[16]d"},
    {SYS_clone, "vdddv"},
    {SYS_clone3, "<v"},
    {SYS_uname, "d"},
    {SYS_readlink, "sdv"},
    {SYS_readlinkat, "dsdv"},
    {SYS_arch_prctl, "vv"},
    {SYS_futex, "[4]vvv[4]v"},
    {SYS_openat, "dsvv"},
    {SYS_tgkill, "vvv"},
    {SYS_mq_notify, "d[64]"},
    {SYS_mq_getsetattr, "d[64]d"},
    {SYS_adjtimex, "[208]"},
    {SYS_clock_adjtime, "v[208]"},
    {SYS_add_key, "ss<vv"},
    {SYS_request_key, "sssv"},
    {SYS_keyctl, "vvvvv"},
    {SYS_modify_ldt, "v<v"},
    {SYS_bpf, "v<v"},
    {SYS_quotactl, "vsvd"},
    {SYS_setdomainname, "<v"},
    {SYS_open_by_handle_at, "d[8]v"},
    {SYS_userfaultfd, "v"},
    {SYS_iopl, "v"},
    {SYS_lookup_dcookie, "vdv"},
    {SYS_ioperm, "vvv"},
    {SYS_getrandom, "dvv"},
    {SYS_prlimit64, "vv[16]d"},
    {SYS_rseq, "dvvv"},
    {SYS_sigaltstack, "[24]d"},
};

const char *brute_signature(uint64_t number)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i].number == number)
            return calls[i].signature;
    fprintf(stderr, "brute: teach me system call %llu\n", (unsigned long long)number);
    abort();
}
