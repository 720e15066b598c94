/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starting a replayee: fork, put the agent where neither the recording nor this process has
 * anything, jump there. The agent then unmaps everything but itself.
 *
 * A fork instead of an exec, because exec would choose addresses of its own (stack, vdso) that may
 * be the recording's; after the agent has unmapped the rest there is nothing left of this process.
 */
#include "recorder/replay/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"

#define PAGE        4096ull
#define ADDRESS_END 0x7ffffffff000ull
#define ADDRESS_MIN 0x100000ull
#define REACH       0x60000000ull /* so that a region reaches all of its module */
#define LOAD_FREE   3000000u /* TSC: 1 ms until the next look at the load, if processors are free */
#define LOAD_BUSY   9000000u
#define OTHER_FILES 4 /* descriptors of the agent's own */

extern const uint8_t rep_agent_image[], rep_agent_image_end[];
__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl rep_agent_image\n.hidden rep_agent_image\nrep_agent_image:\n"
        ".incbin \"" WD_AGENT_IMAGE "\"\n"
        ".globl rep_agent_image_end\n.hidden rep_agent_image_end\nrep_agent_image_end:\n"
        ".byte 0\n.previous\n");

/* glibc's: where it registered restartable sequences for this thread. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* ---- room ---- */

static int span_add(struct rep_host *host, uint64_t start, uint64_t end)
{
    struct rep_span *spans = realloc(host->spans, (host->span_count + 1) * sizeof *spans);
    if (!spans)
        return -ENOMEM;
    host->spans = spans;
    size_t at = host->span_count++;
    while (at > 0 && spans[at - 1].start > start) {
        spans[at] = spans[at - 1];
        at--;
    }
    spans[at] = (struct rep_span){start, end};
    return 0;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

static uint64_t align_up(uint64_t address, uint64_t align)
{
    return (address + align - 1) & ~(align - 1);
}

uint64_t rep_host_place(struct rep_host *host, const struct rep_room *room, uint64_t near)
{
    const uint64_t bytes = room->bytes, align = room->align;
    uint64_t best = 0, from = ADDRESS_MIN;
    for (size_t i = 0; i <= host->span_count; i++) {
        bool last = i == host->span_count;
        uint64_t to = last ? ADDRESS_END : host->spans[i].start;
        if (to > from && to - from >= bytes + 2 * room->margin) {
            uint64_t low = align_up(from + room->margin, align);
            uint64_t high = (to - bytes - room->margin) & ~(align - 1);
            uint64_t at = near < low ? low : near > high ? high : align_up(near, align);
            at = at > high ? high : at;
            if (low <= high && (!best || distance(at, near) < distance(best, near)))
                best = at;
        }
        if (!last && host->spans[i].end > from)
            from = host->spans[i].end;
    }
    if (best && span_add(host, best, best + bytes))
        return 0;
    return best;
}

/* What this process has mapped is in the way of the agent until it has unmapped it. */
static int spans_add_own(struct rep_host *host)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return wd_fail_errno("/proc/self/maps");
    int err = 0;
    while (!err && fgets(line, sizeof line, maps)) {
        unsigned long long start, end;
        if (sscanf(line, "%llx-%llx", &start, &end) == 2 && start < ADDRESS_END)
            err = span_add(host, start, end);
    }
    fclose(maps);
    return err;
}

static int spans_reset(struct rep_host *host, const struct rep_engine_setup *setup)
{
    host->span_count = 0;
    for (size_t i = 0; i < setup->span_count; i++) {
        int err = span_add(host, setup->spans[i].start, setup->spans[i].end);
        if (err)
            return err;
    }
    return 0;
}

/* The agent's area and, in whole granules, what has to lie before and behind it if there is a wall. */
static struct rep_room area_room(const struct rep_host *host)
{
    if (!host->has_wall)
        return (struct rep_room){AGT_AREA_BYTES, PAGE, PAGE};
    uint64_t bytes = 2ull * AGT_WALL_SLACK + AGT_WALL_BYTES + AGT_AREA_BYTES;
    return (struct rep_room){align_up(bytes, AGT_WALL_GRANULE), AGT_WALL_GRANULE, AGT_WALL_SLACK};
}

static int area_choose(struct rep_host *host, const struct rep_engine_setup *setup)
{
    int err = spans_reset(host, setup);
    if (!err)
        err = spans_add_own(host);
    if (err)
        return err;
    struct rep_room room = area_room(host);
    uint64_t at = rep_host_place(host, &room, 0x200000000000ull);
    if (!at)
        return wd_fail(-WD_ERR_MACHINE, "no room for the replay agent: the recorded program uses "
                                        "nearly all of the address space");
    host->base = host->has_wall ? at + AGT_WALL_SLACK + AGT_WALL_BYTES : at;
    err = spans_reset(host, setup);
    return err ? err : span_add(host, at, at + room.bytes);
}

uint64_t rep_host_place_region(struct rep_host *host, uint64_t near)
{
    struct rep_room room = {DBI_REGION_BYTES, DBI_REGION_ALIGN, PAGE};
    if (!host->has_wall)
        return rep_host_place(host, &room, near);
    room = (struct rep_room){AGT_WALL_GRANULE, AGT_WALL_GRANULE, AGT_WALL_SLACK};
    uint64_t at = rep_host_place(host, &room, near);
    return at ? at + AGT_WALL_SLACK : 0;
}

bool rep_host_is_programs(const struct rep_host *host, uint64_t address)
{
    uint64_t granule = address & ~(uint64_t)(AGT_WALL_GRANULE - 1);
    size_t low = 0, high = host->program_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (host->programs[middle].end <= granule)
            low = middle + 1;
        else
            high = middle;
    }
    return low < host->program_count && host->programs[low].start < granule + AGT_WALL_GRANULE;
}

static int programs_keep(struct rep_host *host, const struct rep_engine_setup *setup)
{
    host->has_wall = !setup->is_trusted;
    if (!host->has_wall || !setup->span_count)
        return 0;
    host->programs = calloc(setup->span_count, sizeof *host->programs);
    if (!host->programs)
        return -ENOMEM;
    memcpy(host->programs, setup->spans, setup->span_count * sizeof *host->programs);
    host->program_count = setup->span_count;
    return 0;
}

/* ---- seccomp ---- */

/* Memory management without new executable memory other than the code caches', and nothing
 * else: a hostile recording can compute, no more. */
static int filter_rules(scmp_filter_ctx filter, int code_fd)
{
    static const int plain[] = {SCMP_SYS(munmap),     SCMP_SYS(mremap),    SCMP_SYS(mincore),
                                SCMP_SYS(madvise),    SCMP_SYS(futex),     SCMP_SYS(rt_sigreturn),
                                SCMP_SYS(exit_group), SCMP_SYS(arch_prctl)};
    /* a probe: a copy of the replayee, killed soon (places.c); dies with this process */
    const struct scmp_arg_cmp copy = {
        .arg = 0, .op = SCMP_CMP_EQ, .datum_a = CLONE_PARENT | SIGCHLD};
    const struct scmp_arg_cmp death = {.arg = 0, .op = SCMP_CMP_EQ, .datum_a = PR_SET_PDEATHSIG};
    int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, copy);
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, death);
    for (size_t i = 0; !err && i < sizeof plain / sizeof plain[0]; i++)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, plain[i], 0);
    const struct scmp_arg_cmp no_exec = {
        .arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0};
    const struct scmp_arg_cmp code[] = {
        {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = PROT_READ | PROT_EXEC},
        {.arg = 4, .op = SCMP_CMP_EQ, .datum_a = (scmp_datum_t)code_fd}};
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);
    if (!err)
        err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2, code[0], code[1]);
    return err;
}

static int filter_make(struct rep_host *host, int code_fd)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    int fd = memfd_create("seccomp", MFD_CLOEXEC);
    int err = filter && fd >= 0 ? filter_rules(filter, code_fd) : -ENOMEM;
    if (!err)
        err = seccomp_export_bpf(filter, fd);
    ssize_t bytes = err ? -1 : pread(fd, host->ctx->bpf, sizeof host->ctx->bpf, 0);
    if (bytes <= 0 || bytes == sizeof host->ctx->bpf)
        err = wd_fail(-WD_ERR_MACHINE, "the replay agent's seccomp filter cannot be made");
    else
        host->ctx->bpf_count = (uint32_t)bytes / 8;
    if (fd >= 0)
        close(fd);
    if (filter)
        seccomp_release(filter);
    return err;
}

/* ---- start ---- */

static int shm_make(struct rep_host *host)
{
    host->shm_fd = memfd_create("wetdbg", MFD_CLOEXEC);
    host->probe_fd = memfd_create("wetdbg-probe", MFD_CLOEXEC);
    host->code_fd = memfd_create("wetdbg-code", MFD_CLOEXEC);
    if (host->shm_fd < 0 || host->code_fd < 0 || host->probe_fd < 0 ||
        ftruncate(host->shm_fd, AGT_SHM_BYTES) || ftruncate(host->probe_fd, AGT_PROBE_BYTES) ||
        ftruncate(host->code_fd, (off_t)(DBI_REGIONS_MAX * DBI_REGION_BYTES)))
        return wd_fail_errno("memory for the replay agent");
    void *shm = mmap(NULL, AGT_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     host->shm_fd, 0);
    if (shm == MAP_FAILED)
        return wd_fail_errno("memory for the replay agent");
    host->shm = shm;
    host->ctx = (struct agt_ctx *)(host->shm + AGT_CTX_OFF);
    void *probe =
        mmap(NULL, AGT_PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, host->probe_fd, 0);
    if (probe == MAP_FAILED)
        return wd_fail_errno("memory for the replay agent");
    host->probe_ctx = probe;
    return 0;
}

static int limit_files(size_t count)
{
    struct rlimit limit;
    rlim_t need = AGT_FILES_FD_BASE + 4 * (count + OTHER_FILES) + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return wd_fail_errno("getrlimit");
    if (limit.rlim_cur >= need)
        return 0;
    limit.rlim_cur = need;
    if (limit.rlim_max < need)
        limit.rlim_max = need;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return wd_fail(-WD_ERR_MACHINE, "the recording maps %zu files, more than may be open",
                       count);
    return 0;
}

static uint64_t child_map(uint64_t address, uint64_t bytes, int prot, int flags, int fd, off_t off)
{
    void *at = mmap((void *)address, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, off);
    if (at != (void *)address)
        _exit(2);
    return address;
}

/* Descriptors: file n at AGT_FILES_FD_BASE + n, then code, shm and probe; all others are closed. */
static void child_files(struct rep_host *host, const struct rep_engine_setup *setup, int blob,
                        int *moved)
{
    int count = (int)setup->file_count;
    int first = AGT_FILES_FD_BASE + count;
    const int others[OTHER_FILES] = {host->code_fd, host->shm_fd, host->probe_fd, blob};
    /* out of the way first: a number that is wanted may be taken by one that has yet to move */
    for (int i = 0; i < count + OTHER_FILES; i++) {
        int fd = i < count ? setup->files[i] : others[i - count];
        moved[i] = fcntl(fd, F_DUPFD, first + OTHER_FILES);
        if (moved[i] < 0)
            _exit(2);
    }
    for (int i = 0; i < count + OTHER_FILES; i++) {
        if (dup2(moved[i], AGT_FILES_FD_BASE + i) < 0)
            _exit(2);
    }
    syscall(SYS_close_range, (unsigned)(first + OTHER_FILES), ~0u, 0);
    syscall(SYS_close_range, 0u, AGT_FILES_FD_BASE - 1u, 0);
}

__attribute__((noreturn)) static void child_run(struct rep_host *host, uint64_t base, int first)
{
    int image = first + 3;
    child_map(base + AGT_BLOB_OFF, AGT_BLOB_DATA_OFF, PROT_READ | PROT_EXEC, MAP_PRIVATE, image, 0);
    child_map(base + AGT_BLOB_OFF + AGT_BLOB_DATA_OFF, AGT_BLOB_BYTES - AGT_BLOB_DATA_OFF,
              PROT_READ | PROT_WRITE, MAP_PRIVATE, image, AGT_BLOB_DATA_OFF);
    child_map(base + AGT_STACK_OFF, AGT_STACK_BYTES + AGT_SIGSTACK_BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    child_map(base + AGT_SHM_OFF, AGT_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, first + 1, 0);
    close(image);
    if (&__rseq_size && __rseq_size) {
        char *thread = __builtin_thread_pointer();
        syscall(SYS_rseq, thread + __rseq_offset, 32, 1 /* unregister */, 0x53053053);
    }
    (void)host;
    ((void (*)(uint64_t))(base + AGT_BLOB_OFF))(base);
    _exit(2);
}

static int blob_make(void)
{
    int fd = memfd_create("wetdbg-agent", MFD_CLOEXEC);
    size_t bytes = (size_t)(rep_agent_image_end - rep_agent_image);
    if (fd < 0 || ftruncate(fd, AGT_BLOB_BYTES) ||
        pwrite(fd, rep_agent_image, bytes, 0) != (ssize_t)bytes) {
        int err = wd_fail_errno("memory for the replay agent");
        if (fd >= 0)
            close(fd);
        return err;
    }
    return fd;
}

static uint64_t xsave_bytes(void)
{
    uint32_t eax = 0xd, ebx = 0, ecx = 0, edx = 0;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return ebx;
}

static void steps_make(struct rep_host *host)
{
    for (unsigned n = 1; n <= DBI_INSN_MAX; n++) {
        for (unsigned words = 0; words <= AGT_RING_FEW; words++) {
            uint64_t step = agt_step(n, words);
            memcpy(host->shm + agt_step_off(n, words), &step, sizeof step);
        }
    }
}

static int context_fill(struct rep_host *host, const struct rep_engine_setup *setup)
{
    struct agt_ctx *ctx = host->ctx;
    if (setup->cpuid_count > AGT_CPUID_MAX || setup->file_count > 60000)
        return wd_fail(-WD_ERR_UNSUPPORTED, "too many CPUID records or mapped files");
    if (setup->cpuid_count)
        memcpy(ctx->cpuid, setup->cpuid, setup->cpuid_count * sizeof *setup->cpuid);
    ctx->cpuid_count = (uint32_t)setup->cpuid_count;
    ctx->cpuid_is_recorded = setup->cpuid_is_recorded;
    ctx->xcr0 = setup->xcr0;
    ctx->xsave_bytes = xsave_bytes();
    if (ctx->xsave_bytes > AGT_XSAVE_MAX)
        return wd_fail(-WD_ERR_UNSUPPORTED, "this CPU's vector state is larger than %d bytes",
                       AGT_XSAVE_MAX);
    ctx->base = host->base;
    ctx->file_count = (uint32_t)setup->file_count;
    ctx->code_fd = AGT_FILES_FD_BASE + (uint32_t)setup->file_count;
    ctx->shm_fd = ctx->code_fd + 1;
    ctx->probe_fd = ctx->code_fd + 2;
    ctx->collecting = setup->mode == DBI_COLLECT;
    ctx->has_wall = host->has_wall;
    host->xsave_bytes = (uint32_t)ctx->xsave_bytes;
    host->turn.ring_start = AGT_RING_OFF;
    steps_make(host);
    return filter_make(host, (int)ctx->code_fd);
}

int rep_host_start(struct rep_host *host, const struct rep_engine_setup *setup)
{
    memset(host, 0, sizeof *host);
    host->shm_fd = host->code_fd = host->probe_fd = -1;
    host->load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    cpu_set_t cpus;
    host->processors = sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : (unsigned)CPU_COUNT(&cpus);
    int blob = blob_make();
    int err = blob < 0 ? blob : limit_files(setup->file_count);
    int *moved = calloc(setup->file_count + OTHER_FILES, sizeof *moved);
    if (!err && !moved)
        err = -ENOMEM;
    if (!err)
        err = shm_make(host);
    if (!err)
        err = programs_keep(host, setup);
    if (!err)
        err = area_choose(host, setup);
    if (!err)
        err = context_fill(host, setup);
    if (!err) {
        pid_t parent = getpid();
        host->pid = fork();
        if (host->pid == 0) {
            setsid();
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != parent)
                _exit(2);
            child_files(host, setup, blob, moved);
            child_run(host, host->base, AGT_FILES_FD_BASE + (int)setup->file_count);
        }
        if (host->pid < 0)
            err = wd_fail_errno("fork");
    }
    free(moved);
    if (blob >= 0)
        close(blob);
    if (!err)
        err = rep_host_wait(host, NULL, false);
    if (err)
        rep_host_stop(host);
    return err;
}

void rep_host_stop(struct rep_host *host)
{
    if (host->pid > 0) {
        kill(host->pid, SIGKILL);
        waitpid(host->pid, NULL, 0);
    }
    for (unsigned i = 0; i < DBI_REGIONS_MAX; i++) {
        if (host->regions[i])
            munmap(host->regions[i], DBI_REGION_BYTES);
    }
    if (host->shm)
        munmap(host->shm, AGT_SHM_BYTES);
    if (host->probe_ctx)
        munmap(host->probe_ctx, AGT_PROBE_BYTES);
    if (host->shm_fd >= 0)
        close(host->shm_fd);
    if (host->probe_fd >= 0)
        close(host->probe_fd);
    if (host->code_fd >= 0)
        close(host->code_fd);
    if (host->load_fd >= 0)
        close(host->load_fd);
    free(host->spans);
    free(host->programs);
    memset(host, 0, sizeof *host);
    host->shm_fd = host->code_fd = host->probe_fd = host->load_fd = -1;
}

/* ---- probes ---- */

int rep_host_probe_start(struct rep_host *host, struct rep_host *probe,
                         const volatile sig_atomic_t *flag)
{
    memcpy(host->probe_ctx, host->ctx, AGT_PROBE_BYTES);
    host->probe_ctx->mail.turn = 0;
    host->probe_ctx->is_probe = 1;
    host->turn.command = AGT_CMD_FORK;
    int err = rep_host_exchange(host, flag, false);
    if (err)
        return err;
    pid_t pid = (pid_t)host->turn.args[0];
    if (pid <= 0)
        return wd_fail(-WD_ERR_MACHINE, "the replay process cannot be copied: %s", strerror(-pid));
    *probe = *host;
    probe->ctx = host->probe_ctx;
    probe->pid = pid;
    err = rep_host_wait(probe, flag, true);
    if (err)
        rep_host_probe_stop(probe);
    return err;
}

void rep_host_probe_stop(struct rep_host *probe)
{
    if (probe->pid > 0) {
        kill(probe->pid, SIGKILL);
        waitpid(probe->pid, NULL, 0);
    }
    probe->pid = 0;
}

/* ---- turns ---- */

static int check_alive(struct rep_host *host)
{
    int status;
    pid_t pid = waitpid(host->pid, &status, WNOHANG);
    if (pid != host->pid)
        return 0;
    host->pid = 0;
    if (WIFSIGNALED(status))
        return wd_fail(-WD_ERR_MACHINE, "the replay process was killed by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
    return wd_fail(-WD_ERR_MACHINE, "the replay process could not start (status %d)",
                   WEXITSTATUS(status));
}

static bool is_set(const volatile sig_atomic_t *flag)
{
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static int interrupted(void)
{
    return wd_fail(-WD_ERR_INTERRUPTED, "interrupted");
}

static int wait_asleep(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once)
{
    uint32_t *turn = &host->ctx->mail.turn;
    bool is_slow = at_once;
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != 1) {
        struct timespec timeout = {.tv_nsec = 100000000};
        long woken = syscall(SYS_futex, turn, FUTEX_WAIT, 0, &timeout, NULL, 0);
        is_slow |= woken < 0 && errno == ETIMEDOUT;
        if (is_slow && is_set(flag))
            return interrupted();
        int err = check_alive(host);
        if (err)
            return err;
    }
    return 0;
}

/* Waiting awake is for machines whose processors are not all wanted: with three replays at once on
 * two, it tripled the time of each. */
static void look_at_load(struct rep_host *host, uint64_t now)
{
    if (now < host->load_next)
        return;
    char text[64] = "";
    unsigned running = UINT_MAX;
    if (host->load_fd >= 0 && pread(host->load_fd, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%*s %*s %*s %u/", &running);
    uint32_t patient = host->processors > 1 && running <= host->processors;
    host->wait.patient = host->turn.patient = patient;
    host->load_next = now + (patient ? LOAD_FREE : LOAD_BUSY);
}

/* A replayee that asks and asks is as busy as one that does not: the flag is looked at in any case. */
int rep_host_wait(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once)
{
    uint32_t *turn = &host->ctx->mail.turn;
    uint64_t start = __builtin_ia32_rdtsc();
    look_at_load(host, start);
    int err = agt_wait_awake(&host->wait, turn, 1) ? 0 : wait_asleep(host, flag, at_once);
    agt_wait_count(&host->wait, start);
    if (!err && at_once && is_set(flag))
        err = interrupted();
    if (!err)
        rep_turn_take(&host->turn, host->ctx);
    return err;
}

void rep_host_send(struct rep_host *host)
{
    uint32_t *turn = &host->ctx->mail.turn;
    rep_turn_give(&host->turn, host->ctx);
    __atomic_store_n(turn, 0, __ATOMIC_RELEASE);
    syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

int rep_host_exchange(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once)
{
    rep_host_send(host);
    return rep_host_wait(host, flag, at_once);
}
