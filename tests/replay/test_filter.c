/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What native code in a replayee gets from the kernel: each system call, and the forms that
 * matter. */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/replay/hostile/image.h"
#include "tests/replay/replay_unit.h"
#include "tests/skipped.h"
#include <wetdbg/errors.h>

#define AT       0x10000000ull /* nothing is there */
#define PAGE     4096ull
#define FILE_FD  AGT_FILES_FD_BASE
#define CODE_FD  (FILE_FD + 1)
#define SHM_FD   (FILE_FD + 2)
#define PROBE_FD (FILE_FD + 3)
#define LAST     480 /* system call */
#define X32      0x40000000
#define WORKERS  8

enum outcome {
    KILLED,  /* by the filter */
    RETURNS, /* what it returns is `result` */
    WAITS,   /* for the supervisor, who wants nothing of it */
    ENDS,    /* the process */
    FAULTS,  /* is no system call */
};

#define OWN (MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE)

/* The result of the last one of `calls`. */
static enum outcome outcome_of(enum hostile_kind kind, const struct hostile_call *calls,
                               unsigned count, bool probes, int64_t *result)
{
    struct hostile_plan *plan = hostile_plan();
    struct rep_engine *engine;
    const struct agt_task *tasks;
    uint32_t running;
    int file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
    assert_true(file >= 0);
    assert_int_equal(ftruncate(file, PAGE), 0);
    struct rep_engine_setup setup = {
        .mode = DBI_PLAIN, .probes = probes, .files = &file, .file_count = 1};
    plan->kind = kind;
    plan->call_count = count;
    memcpy(plan->calls, calls, count * sizeof(*calls));
    unit_check(rep_engine_new(&setup, &engine), "rep_engine_new");
    int err = rep_engine_tasks(engine, &tasks, &running);
    *result = err ? 0 : (int64_t)tasks[running].regs.r[EVQ_R15];
    char said[512] = "";
    if (err)
        snprintf(said, sizeof(said), "%s", wetdbg_error(err));
    rep_engine_free(engine);
    close(file);
    if (!err)
        return RETURNS;
    if (strstr(said, "killed by signal 31"))
        return KILLED;
    if (strstr(said, "tries to copy itself unasked"))
        return WAITS;
    if (strstr(said, "(status 0)"))
        return ENDS;
    if (strstr(said, "the replay agent faulted"))
        return FAULTS;
    fail_msg("system call %llu: %s", (unsigned long long)calls[count - 1].number, said);
    return KILLED;
}

struct row {
    const char *what;
    enum outcome expected, with_probes;
    int64_t result; /* RETURNS */
    struct hostile_call calls[HOSTILE_CALLS_MAX];
};

#define BOTH(outcome) outcome, outcome

static const struct row rows[] = {
    {"fresh memory",
     BOTH(RETURNS),
     AT,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, OWN | MAP_ANONYMOUS, -1ull, 0}}}},
    {"the recording's file",
     BOTH(RETURNS),
     AT,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, OWN, FILE_FD, 0}}}},
    {"the recording's file, shared",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, FILE_FD, 0}}}},
    {"the recording's file, as code",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_EXEC, OWN, FILE_FD, 0}}}},
    {"fresh code",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_EXEC, OWN | MAP_ANONYMOUS, -1ull, 0}}}},
    {"memory for all", BOTH(KILLED), 0, {{SYS_mmap, {AT, PAGE, 7, OWN | MAP_ANONYMOUS, -1ull, 0}}}},
    {"code",
     BOTH(RETURNS),
     AT,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, CODE_FD, 0}}}},
    {"code, writable",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, CODE_FD, 0}}}},
    {"code, writable and not code",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_WRITE, MAP_SHARED, CODE_FD, 0}}}},
    {"code, all at once",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, 7, MAP_SHARED | MAP_FIXED, CODE_FD, 0}}}},
    {"code, of one's own",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, CODE_FD, 0}}}},
    {"code, made writable",
     BOTH(RETURNS),
     -EACCES,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, CODE_FD, 0}},
      {SYS_mprotect, {AT, PAGE, PROT_READ | PROT_WRITE}}}},
    {"a descriptor with more bits",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ, OWN, 1ull << 32 | CODE_FD, 0}}}},
    {"shared memory, private",
     KILLED,
     RETURNS,
     AT,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, SHM_FD, 0}}}},
    {"shared memory once more",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, SHM_FD, 0}}}},
    {"the probes' context",
     KILLED,
     RETURNS,
     AT,
     {{SYS_mmap,
       {AT, AGT_PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, PROBE_FD, 0}}}},
    {"memory made code",
     BOTH(KILLED),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, OWN | MAP_ANONYMOUS, -1ull, 0}},
      {SYS_mprotect, {AT, PAGE, PROT_READ | PROT_EXEC}}}},
    {"memory made read-only",
     BOTH(RETURNS),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ | PROT_WRITE, OWN | MAP_ANONYMOUS, -1ull, 0}},
      {SYS_mprotect, {AT, PAGE, PROT_READ}}}},
    {"memory moved",
     BOTH(RETURNS),
     AT + PAGE,
     {{SYS_mmap, {AT, PAGE, PROT_READ, OWN | MAP_ANONYMOUS, -1ull, 0}},
      {SYS_mremap, {AT, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, AT + PAGE}}}},
    {"memory moved anywhere", BOTH(KILLED), 0, {{SYS_mremap, {AT, PAGE, PAGE, MREMAP_MAYMOVE}}}},
    {"memory moved and left",
     BOTH(KILLED),
     0,
     {{SYS_mremap, {AT, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED | 4, AT + PAGE}}}},
    {"memory emptied",
     BOTH(RETURNS),
     0,
     {{SYS_mmap, {AT, PAGE, PROT_READ, OWN | MAP_ANONYMOUS, -1ull, 0}},
      {SYS_madvise, {AT, PAGE, MADV_DONTNEED}}}},
    {"huge pages", KILLED, RETURNS, -EINVAL, {{SYS_madvise, {AT + 1, PAGE, MADV_HUGEPAGE}}}},
    {"small pages gathered", KILLED, RETURNS, -EINVAL, {{SYS_madvise, {AT + 1, PAGE, 25}}}},
    {"a file's pages removed", BOTH(KILLED), 0, {{SYS_madvise, {AT, PAGE, MADV_REMOVE}}}},
    {"memory poisoned", BOTH(KILLED), 0, {{SYS_madvise, {AT, PAGE, 100}}}},
    {"fs", BOTH(RETURNS), 0, {{SYS_arch_prctl, {ARCH_SET_FS, AT}}}},
    {"gs", BOTH(KILLED), 0, {{SYS_arch_prctl, {ARCH_SET_GS, AT}}}},
    {"a wake-up", BOTH(RETURNS), -EFAULT, {{SYS_futex, {AT, FUTEX_WAKE, 1}}}},
    {"a lock", BOTH(KILLED), 0, {{SYS_futex, {AT, FUTEX_LOCK_PI, 1}}}},
    {"a requeueing", BOTH(KILLED), 0, {{SYS_futex, {AT, FUTEX_REQUEUE, 1}}}},
    {"a copy as probes are", KILLED, WAITS, 0, {{SYS_clone, {CLONE_PARENT | SIGCHLD}}}},
    {"a child", BOTH(KILLED), 0, {{SYS_clone, {SIGCHLD}}}},
    {"a thread",
     BOTH(KILLED),
     0,
     {{SYS_clone, {CLONE_VM | CLONE_THREAD | CLONE_SIGHAND, AT + PAGE}}}},
    {"a copy with a stack", BOTH(KILLED), 0, {{SYS_clone, {CLONE_PARENT | SIGCHLD, AT}}}},
    {"a copy's death signal", KILLED, WAITS, 0, {{SYS_prctl, {PR_SET_PDEATHSIG, SIGKILL}}}},
    {"no death signal", BOTH(KILLED), 0, {{SYS_prctl, {PR_SET_PDEATHSIG, 0}}}},
    {"another name", BOTH(KILLED), 0, {{SYS_prctl, {PR_SET_NAME, AT}}}},
    {"the end", BOTH(ENDS), 0, {{SYS_exit_group, {0}}}},
    {"mmap by x32",
     BOTH(KILLED),
     0,
     {{SYS_mmap | X32, {AT, PAGE, PROT_READ | PROT_WRITE, OWN | MAP_ANONYMOUS, -1ull, 0}}}},
    {"clone by x32", BOTH(KILLED), 0, {{SYS_clone | X32, {CLONE_PARENT | SIGCHLD}}}},
};

static void forms_that_matter_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        unsigned count = 1;
        while (count < HOSTILE_CALLS_MAX && row->calls[count].number)
            count++;
        for (int probes = 0; probes < 2; probes++) {
            enum outcome expected = probes ? row->with_probes : row->expected;
            int64_t result;
            enum outcome outcome = outcome_of(HOSTILE_CALL, row->calls, count, probes, &result);
            if (outcome != expected || (outcome == RETURNS && result != row->result))
                fail_msg("%s%s: outcome %d, result %lld", row->what, probes ? " (probes)" : "",
                         outcome, (long long)result);
        }
    }
}

/* Let through whatever their arguments (rt_sigreturn with no frame there is a fault); or, 335 and
 * 336, by the kernel before any filter: uretprobe and uprobe, which are SIGILL outside their
 * trampolines. */
static bool is_let_through(int number)
{
    static const int plain[] = {SYS_munmap,     SYS_mincore, SYS_rt_sigreturn,
                                SYS_exit_group, 335,         336};
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (plain[i] == number)
            return true;
    }
    return false;
}

/* Each `step`th one; no argument is one that is allowed. */
static int kills_all(int first, int step)
{
    for (int number = first; number <= LAST; number += step) {
        struct hostile_call call = {(uint64_t)number, {77, 77, 77, 77, 77, 77}};
        int64_t result;
        if (is_let_through(number))
            continue;
        enum outcome outcome = outcome_of(HOSTILE_CALL, &call, 1, false, &result);
        if (outcome != KILLED) {
            fprintf(stderr, "system call %d: outcome %d, result %lld\n", number, outcome,
                    (long long)result);
            return 1;
        }
    }
    return 0;
}

/* In several processes: that a replayee is dead is noticed after a tenth of a second. */
static void all_other_system_calls_kill(void **state)
{
    pid_t workers[WORKERS];
    int failed = 0;
    (void)state;
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = fork();
        assert_true(workers[i] >= 0);
        if (workers[i] == 0)
            _exit(kills_all(i, WORKERS));
    }
    for (int i = 0; i < WORKERS; i++) {
        int status;
        assert_int_equal(waitpid(workers[i], &status, 0), workers[i]);
        failed += status != 0;
    }
    assert_int_equal(failed, 0);
}

/* By getpid(), in a child. Without them `int 0x80` is a fault. */
static bool has_calls_of_32_bits(void)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        long result = 20;
        signal(SIGSEGV, SIG_DFL);
        __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status);
}

static void calls_of_32_bits_kill(void **state)
{
    const struct hostile_call calls[] = {{20, {0}}, {90, {0}}, {120, {SIGCHLD}}, {192, {0}}};
    enum outcome expected = has_calls_of_32_bits() ? KILLED : FAULTS;
    (void)state;
    if (expected == FAULTS)
        skipped_say("test_filter", "int 0x80: no system calls of 32 bits here");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        int64_t result;
        if (outcome_of(HOSTILE_CALL_32, &calls[i], 1, true, &result) != expected)
            fail_msg("int 0x80, %llu: %lld", (unsigned long long)calls[i].number,
                     (long long)result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_that_matter_are_told_apart),
        cmocka_unit_test(all_other_system_calls_kill),
        cmocka_unit_test(calls_of_32_bits_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
