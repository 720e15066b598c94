/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/filter.h"

#include <asm/prctl.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#ifndef MADV_COLLAPSE /* since Linux 6.1 */
#define MADV_COLLAPSE 25
#endif

#define ARGS_MAX 6

/* One way to be let through: all of these have to hold. */
struct way {
    int number; /* of the system call */
    unsigned count;
    struct scmp_arg_cmp args[ARGS_MAX];
};

#define EQUALS(n, value)                                                                           \
    {                                                                                              \
        .arg = (n), .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)(value)                            \
    }
#define BELOW(n, value)                                                                            \
    {                                                                                              \
        .arg = (n), .op = SCMP_CMP_LT, .datum_a = (scmp_datum_t)(value)                            \
    }
/* no bits but these */
#define WITHIN(n, bits)                                                                            \
    {                                                                                              \
        .arg = (n), .op = SCMP_CMP_MASKED_EQ, .datum_a = ~(scmp_datum_t)(bits), .datum_b = 0       \
    }

static int ways_add(scmp_filter_ctx filter, const struct way *ways, size_t count)
{
    int err = 0;
    for (size_t i = 0; !err && i < count; i++)
        err = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, ways[i].number, ways[i].count,
                                     ways[i].args);
    return err;
}

/* Only what the agent does, in just that form. Descriptors below 64 are closed, and those of the
 * recording's files follow. */
static int rules_add(scmp_filter_ctx filter, uint32_t code_fd)
{
    const int data = PROT_READ | PROT_WRITE, own = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    const struct way ways[] = {
        {SCMP_SYS(munmap), 0, {{0}}},
        {SCMP_SYS(mincore), 0, {{0}}},
        {SCMP_SYS(rt_sigreturn), 0, {{0}}},
        {SCMP_SYS(exit_group), 0, {{0}}},
        {SCMP_SYS(futex), 1, {EQUALS(1, FUTEX_WAIT)}},
        {SCMP_SYS(futex), 1, {EQUALS(1, FUTEX_WAKE)}},
        {SCMP_SYS(arch_prctl), 1, {EQUALS(0, ARCH_SET_FS)}},
        {SCMP_SYS(madvise), 1, {EQUALS(2, MADV_DONTNEED)}},
        {SCMP_SYS(mremap), 1, {EQUALS(3, MREMAP_MAYMOVE | MREMAP_FIXED)}},
        {SCMP_SYS(mprotect), 1, {WITHIN(2, data)}},
        {SCMP_SYS(mmap), 2, {WITHIN(2, data), EQUALS(3, own | MAP_ANONYMOUS)}},
        {SCMP_SYS(mmap), 3, {WITHIN(2, data), EQUALS(3, own), BELOW(4, code_fd)}},
        /* what is behind it can be run, and is written by the supervisor alone */
        {SCMP_SYS(mmap),
         3,
         {EQUALS(2, PROT_READ | PROT_EXEC), EQUALS(3, MAP_SHARED | MAP_FIXED), EQUALS(4, code_fd)}},
    };
    return ways_add(filter, ways, sizeof(ways) / sizeof(ways[0]));
}

/* Lets the replayee copy itself; each copy waits for the supervisor (rep_filter_listen). */
static int probe_rules_add(scmp_filter_ctx filter, uint32_t shm_fd, uint32_t probe_fd)
{
    const int data = PROT_READ | PROT_WRITE;
    const struct way ways[] = {
        {SCMP_SYS(clone), 2, {EQUALS(0, CLONE_PARENT | SIGCHLD), EQUALS(1, 0)}},
        {SCMP_SYS(madvise), 1, {EQUALS(2, MADV_HUGEPAGE)}},
        {SCMP_SYS(madvise), 1, {EQUALS(2, MADV_COLLAPSE)}},
        {SCMP_SYS(prctl), 2, {EQUALS(0, PR_SET_PDEATHSIG), EQUALS(1, SIGKILL)}},
        {SCMP_SYS(mmap),
         3,
         {EQUALS(2, data), EQUALS(3, MAP_PRIVATE | MAP_FIXED), EQUALS(4, shm_fd)}},
        {SCMP_SYS(mmap),
         5,
         {EQUALS(1, AGT_PROBE_BYTES), EQUALS(2, data), EQUALS(3, MAP_SHARED | MAP_FIXED),
          EQUALS(4, probe_fd), EQUALS(5, 0)}},
    };
    return ways_add(filter, ways, sizeof(ways) / sizeof(ways[0]));
}

int rep_filter_make(struct rep_filter *filter, uint32_t code_fd, bool probes)
{
    scmp_filter_ctx rules = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    int err = rules && fd >= 0 ? rules_add(rules, code_fd) : -ENOMEM;
    if (!err && probes)
        err = probe_rules_add(rules, code_fd + 1, code_fd + 2);
    if (!err)
        err = seccomp_export_bpf(rules, fd);
    ssize_t bytes = err ? -1 : pread(fd, filter->code, sizeof(filter->code), 0);
    if (bytes <= 0 || bytes == sizeof(filter->code))
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process' seccomp filter cannot be made");
    else
        filter->count = (uint32_t)bytes / 8;
    if (fd >= 0)
        close(fd);
    if (rules)
        seccomp_release(rules);
    return err;
}

int rep_filter_listen(void)
{
#define OFFSET(field)          offsetof(struct seccomp_data, field)
#define LOAD(field)            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, OFFSET(field))
#define BRANCH(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
    struct sock_filter code[] = {
        /* 0 */ LOAD(arch),
        /* 1 */ BRANCH(AUDIT_ARCH_X86_64, 0, 5), /* else to 7 */
        /* 2 */ LOAD(nr),
        /* 3 */ BRANCH(__NR_clone, 4, 0), /* to 8 */
        /* 4 */ BRANCH(__NR_prctl, 0, 2), /* else to 7 */
        /* 5 */ LOAD(args[0]),
        /* 6 */ BRANCH(PR_SET_PDEATHSIG, 1, 0), /* to 8 */
        /* 7 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        /* 8 */ BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
#undef BRANCH
#undef LOAD
#undef OFFSET
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -errno;
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    return fd < 0 ? -errno : (int)fd;
}
