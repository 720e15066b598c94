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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/cpuid.h"
#include "common/once.h"
#include "common/page.h"
#include "recorder/replay/agent_image.h"
#include "recorder/replay/child.h"
#include "recorder/replay/xsave_here.h"
#include <wetdbg/errors.h>

#define ADDRESS_END 0x7ffffffff000ull
#define ADDRESS_MIN 0x100000ull
#define HUGE_MOST   (1ull << 30) /* what is touched of a huge page takes all of it */
#define LOAD_FREE   3000000u /* TSC: 1 ms until the next look at the load, if processors are free */
#define LOAD_BUSY   9000000u

/* ---- room ---- */

static int span_add(struct rep_host *host, uint64_t start, uint64_t end)
{
    if (wd_grow_one(host->spans, host->span_count))
        return -ENOMEM;
    struct rep_span *spans = host->spans;
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

/* Finds free room in the replayee, near `near` if it is not 0, and takes it. 0 if there is none. */
static uint64_t host_place(struct rep_host *host, const struct rep_room *room, uint64_t near)
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

/* Adds what this process has mapped: it is in the way of the agent until the agent has unmapped
 * it. */
static int spans_add_own(struct rep_host *host)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps)
        return wetdbg_fail_errno("/proc/self/maps");
    int err = 0;
    while (!err && fgets(line, sizeof(line), maps)) {
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

/* The agent's area and, in whole granules, what has to lie before and behind it if there is a
 * wall. */
static struct rep_room area_room(const struct rep_host *host)
{
    if (!host->has_wall)
        return (struct rep_room){AGT_AREA_BYTES, WD_PAGE, WD_PAGE};
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
    uint64_t at = host_place(host, &room, 0x200000000000ull);
    if (!at)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "no room for the replay agent: the recorded program uses "
                           "nearly all of the address space");
    host->base = host->has_wall ? at + AGT_WALL_SLACK + AGT_WALL_BYTES : at;
    err = spans_reset(host, setup);
    return err ? err : span_add(host, at, at + room.bytes);
}

uint64_t rep_host_place_region(struct rep_host *host, uint64_t near)
{
    struct rep_room room = {DBI_REGION_BYTES, DBI_REGION_ALIGN, WD_PAGE};
    if (!host->has_wall)
        return host_place(host, &room, near);
    room = (struct rep_room){AGT_WALL_GRANULE, AGT_WALL_GRANULE, AGT_WALL_SLACK};
    uint64_t at = host_place(host, &room, near);
    return at ? at + AGT_WALL_SLACK : 0;
}

static bool overlaps(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    return start < to && from < end;
}

bool rep_host_is_free(const struct rep_host *host, uint64_t start, uint64_t bytes)
{
    struct rep_room area = area_room(host);
    uint64_t end = start + bytes, slack = host->has_wall ? AGT_WALL_SLACK : 0;
    uint64_t at = host->base - (host->has_wall ? slack + AGT_WALL_BYTES : 0);
    if (start > ADDRESS_END || bytes > ADDRESS_END - start ||
        overlaps(start, end, at - area.margin, at + area.bytes + area.margin))
        return false;
    for (unsigned i = 0; i < DBI_REGIONS_MAX; i++) {
        uint64_t region = host->region_at[i] - slack;
        uint64_t room = host->has_wall ? AGT_WALL_GRANULE : DBI_REGION_BYTES;
        if (host->region_at[i] && overlaps(start, end, region - slack, region + room + slack))
            return false;
    }
    return true;
}

int rep_host_take(struct rep_host *host, uint64_t start, uint64_t end)
{
    for (size_t i = 0; i < host->span_count && host->spans[i].start <= start; i++) {
        if (host->spans[i].end >= end)
            return 0;
    }
    return span_add(host, start, end);
}

bool rep_host_is_programs(const struct rep_host *host, uint64_t address)
{
    uint64_t granule = address & ~(uint64_t)(AGT_WALL_GRANULE - 1);
    size_t at = wd_bisect(0, host->program_count, i, host->programs[i].end <= granule);
    return at < host->program_count && host->programs[at].start < granule + AGT_WALL_GRANULE;
}

static int programs_keep(struct rep_host *host, const struct rep_engine_setup *setup)
{
    host->has_wall = !setup->is_trusted;
    if (!host->has_wall || !setup->span_count)
        return 0;
    host->programs = calloc(setup->span_count, sizeof(*host->programs));
    if (!host->programs)
        return -ENOMEM;
    memcpy(host->programs, setup->spans, setup->span_count * sizeof(*host->programs));
    host->program_count = setup->span_count;
    return 0;
}

/* ---- memory ---- */

/* Makes a memory file of a size that nobody can change: else the supervisor would die of memory
 * that is not there any more. */
static int memory_file(const char *name, uint64_t bytes)
{
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    if (!ftruncate(fd, (off_t)bytes) &&
        !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        return fd;
    close(fd);
    return -1;
}

static int shm_make(struct rep_host *host)
{
    host->shm_fd = memory_file("wetdbg", AGT_SHM_BYTES);
    host->probe_fd = memory_file("wetdbg-probe", AGT_PROBE_BYTES);
    host->code_fd = memory_file("wetdbg-code", DBI_REGIONS_MAX * DBI_REGION_BYTES);
    if (host->shm_fd < 0 || host->code_fd < 0 || host->probe_fd < 0)
        return wetdbg_fail_errno("memory for the replay agent");
    void *shm = mmap(NULL, AGT_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                     host->shm_fd, 0);
    if (shm == MAP_FAILED)
        return wetdbg_fail_errno("memory for the replay agent");
    host->shm = shm;
    host->ctx = (struct agt_ctx *)(host->shm + AGT_CTX_OFF);
    void *probe =
        mmap(NULL, AGT_PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, host->probe_fd, 0);
    if (probe == MAP_FAILED)
        return wetdbg_fail_errno("memory for the replay agent");
    host->probe_ctx = probe;
    return 0;
}

static int blob_make(void)
{
    int fd = memfd_create("wetdbg-agent", MFD_CLOEXEC);
    size_t bytes = (size_t)(rep_agent_image_end - rep_agent_image);
    if (fd < 0 || ftruncate(fd, AGT_BLOB_BYTES) ||
        pwrite(fd, rep_agent_image, bytes, 0) != (ssize_t)bytes) {
        int err = wetdbg_fail_errno("memory for the replay agent");
        if (fd >= 0)
            close(fd);
        return err;
    }
    return fd;
}

/* ---- start ---- */

static uint64_t xsave_bytes(void)
{
    return wd_cpuid_ask(0xd, 0).ebx;
}

/* Also where copies look for them. */
static void steps_make(struct rep_host *host)
{
    uint8_t *copies = (uint8_t *)host->probe_ctx;
    for (unsigned n = 1; n <= DBI_INSN_MAX; n++) {
        for (unsigned words = 0; words <= AGT_RING_FEW; words++) {
            uint64_t step = agt_step(n, words);
            memcpy(host->shm + agt_step_off(n, words), &step, sizeof(step));
            memcpy(copies + agt_step_off(n, words), &step, sizeof(step));
        }
    }
}

static int context_fill(struct rep_host *host, const struct rep_engine_setup *setup)
{
    struct agt_ctx *ctx = host->ctx;
    if (setup->cpuid_count > AGT_CPUID_MAX || setup->file_count > 60000)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "too many CPUID records or mapped files");
    if (setup->cpuid_count)
        memcpy(ctx->cpuid, setup->cpuid, setup->cpuid_count * sizeof(*setup->cpuid));
    ctx->cpuid_count = (uint32_t)setup->cpuid_count;
    ctx->x87_rules = setup->x87;
    ctx->cpuid_is_here = setup->cpuid_is_here;
    ctx->cpuid_is_recorded = setup->cpuid_is_recorded;
    ctx->xcr0 = setup->xcr0;
    ctx->processor = setup->processor;
    ctx->xsave_bytes = xsave_bytes();
    if (ctx->xsave_bytes > AGT_XSAVE_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "this CPU's vector state is larger than %d bytes", AGT_XSAVE_MAX);
    ctx->settled_bytes = rep_xsave_here(ctx->avx512_off);
    ctx->base = host->base;
    ctx->file_count = (uint32_t)setup->file_count;
    ctx->code_fd = AGT_FILES_FD_BASE + (uint32_t)setup->file_count + REP_GIVEN_CODE;
    ctx->shm_fd = ctx->code_fd + REP_GIVEN_SHM;
    ctx->probe_fd = ctx->code_fd + REP_GIVEN_PROBE;
    ctx->collecting = setup->mode == DBI_COLLECT;
    ctx->huge_bytes = setup->branches ? HUGE_MOST : 0;
    ctx->has_wall = host->has_wall;
    ctx->has_fsgsbase = dbi_has_fsgsbase();
    host->xsave_bytes = (uint32_t)ctx->xsave_bytes;
    host->turn.ring_start = AGT_RING_OFF;
    steps_make(host);
    return 0;
}

/* The parent's side of a child that was just made. */
static int child_adopt(struct rep_host *host)
{
    host->pidfd = (int)syscall(SYS_pidfd_open, host->pid, 0);
    if (host->pidfd < 0)
        return wetdbg_fail_errno("a descriptor of the replay process (pidfd, since Linux 5.3)");
    if (syscall(SYS_pidfd_send_signal, host->pidfd, 0, NULL, 0) && errno != ESRCH) {
        int err = wetdbg_fail_errno("signals to the replay process (pidfd_send_signal)");
        close(host->pidfd);
        host->pidfd = -1;
        return err;
    }
    /* the child does so too, whoever comes first */
    if (setpgid(host->pid, host->pid) && errno != ESRCH)
        return wetdbg_fail_errno("the replay process' group");
    return 0;
}

static int child_start(struct rep_host *host, const struct rep_given *given,
                       const struct rep_filter filters[2], bool probes)
{
    int sockets[2] = {-1, -1};
    if (probes && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return wetdbg_fail_errno("socketpair");
    pid_t parent = getpid();
    host->pid = fork();
    if (host->pid == 0)
        rep_child_run(host, given, filters, parent, sockets[1]);
    int err = host->pid < 0 ? wetdbg_fail_errno("fork") : child_adopt(host);
    if (probes) {
        close(sockets[1]);
        host->listener = err ? -EPROTO : rep_listener_receive(sockets[0]);
        close(sockets[0]);
    }
    return err;
}

static int host_prepare(struct rep_host *host, const struct rep_engine_setup *setup,
                        struct rep_filter filters[2])
{
    int err = rep_limit_files(setup->file_count);
    if (!err)
        err = shm_make(host);
    if (!err)
        err = programs_keep(host, setup);
    if (!err)
        err = area_choose(host, setup);
    if (!err)
        err = context_fill(host, setup);
    for (int probes = 0; !err && probes <= (setup->probes ? 1 : 0); probes++)
        err = rep_filter_make(&filters[probes], host->ctx->code_fd, probes);
    return err;
}

int rep_host_start(struct rep_host *host, const struct rep_engine_setup *setup)
{
    struct rep_filter *filters = calloc(2, sizeof(*filters));
    struct rep_given given = {0};
    memset(host, 0, sizeof(*host));
    host->shm_fd = host->code_fd = host->probe_fd = host->pidfd = -1;
    host->listener = -EPROTO;
    host->load_fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    cpu_set_t cpus;
    host->processors = sched_getaffinity(0, sizeof(cpus), &cpus) ? 1 : (unsigned)CPU_COUNT(&cpus);
    if (host->processors == 1)
        host->wait.patient = host->turn.patient = AGT_WAIT_ASLEEP;
    int blob = blob_make();
    int err = blob < 0 ? blob : filters ? host_prepare(host, setup, filters) : -ENOMEM;
    if (!err)
        err = rep_given_make(&given, host, setup, blob);
    if (!err)
        err = child_start(host, &given, filters, setup->probes);
    rep_given_fini(&given);
    free(filters);
    if (blob >= 0)
        close(blob);
    if (!err)
        err = rep_host_wait(host, NULL, false);
    if (err)
        rep_host_stop(host);
    return err;
}

/* ---- end ---- */

/* Ends the replayee's group, which is still ours, since the replayee has not been reaped: it, the
 * keeper, and a copy that never said who it is. */
static void group_end(struct rep_host *host)
{
    unsigned count = 1 + (host->keeper > 0) + host->strangers;
    if (host->pidfd >= 0)
        syscall(SYS_pidfd_send_signal, host->pidfd, SIGKILL, NULL, 0);
    if (host->pidfd < 0 || host->keeper > 0 || host->strangers)
        kill(host->pidfd < 0 ? host->pid : -host->pid, SIGKILL);
    for (unsigned i = 0; i < count; i++) {
        pid_t which = count == 1 ? host->pid : -host->pid;
        while (waitpid(which, NULL, 0) < 0 && errno == EINTR)
            ;
    }
}

void rep_host_stop(struct rep_host *host)
{
    if (host->pid > 0)
        group_end(host);
    for (unsigned i = 0; i < DBI_REGIONS_MAX; i++) {
        if (host->regions[i])
            munmap(host->regions[i], DBI_REGION_BYTES);
    }
    if (host->shm)
        munmap(host->shm, AGT_SHM_BYTES);
    if (host->probe_ctx)
        munmap(host->probe_ctx, AGT_PROBE_BYTES);
    int fds[] = {host->shm_fd,  host->probe_fd, host->code_fd,
                 host->load_fd, host->pidfd,    host->listener};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    free(host->spans);
    free(host->programs);
    memset(host, 0, sizeof(*host));
    host->shm_fd = host->code_fd = host->probe_fd = host->load_fd = host->pidfd = -1;
    host->listener = -EPROTO;
}

/* ---- turns ---- */

/* The replayee stays a zombie until rep_host_stop(): its number, and its group's, are nobody else's
 * until then. */
int rep_host_check(const struct rep_host *host)
{
    siginfo_t info = {0};
    if (waitid((idtype_t)P_PIDFD, (id_t)host->pidfd, &info, WEXITED | WNOHANG | WNOWAIT))
        return wetdbg_fail_errno("the replay process");
    if (!info.si_pid)
        return 0;
    if (info.si_code == CLD_EXITED)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process ended: %s (status %d)",
                           rep_child_status_text(info.si_status), info.si_status);
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process was killed by signal %d (%s)",
                       info.si_status, strsignal(info.si_status));
}

static bool is_set(const volatile sig_atomic_t *flag)
{
    return flag && __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static int interrupted(void)
{
    return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
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
        if (woken < 0 && errno != ETIMEDOUT && errno != EAGAIN && errno != EINTR)
            return wetdbg_fail_errno("waiting for the replay process");
        int err = rep_host_check(host);
        if (!err)
            err = rep_listener_check(host);
        if (err)
            return err;
    }
    return 0;
}

/* Waiting awake is for machines whose processors are not all wanted: with three replays at once on
 * two, it tripled the time of each. */
static void look_at_load(struct rep_host *host, uint64_t now)
{
    if (now < host->load_next || host->wait.patient == AGT_WAIT_ASLEEP)
        return;
    char text[64] = "";
    unsigned running = UINT_MAX;
    if (host->load_fd >= 0 && pread(host->load_fd, text, sizeof(text) - 1, 0) > 0)
        sscanf(text, "%*s %*s %*s %u/", &running);
    bool is_patient = running <= host->processors;
    host->wait.patient = host->turn.patient = is_patient ? AGT_WAIT_PATIENTLY : AGT_WAIT_BRIEFLY;
    host->load_next = now + (is_patient ? LOAD_FREE : LOAD_BUSY);
}

/* A replayee that asks and asks is as busy as one that does not: the flag is looked at in any
 * case. */
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

void rep_host_lanes(const struct rep_host *host, void *indices, size_t bytes)
{
    wd_once_copy(indices, (const uint8_t *)host->ctx + AGT_LANES_OFF, bytes);
}

int rep_host_exchange(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once)
{
    rep_host_send(host);
    return rep_host_wait(host, flag, at_once);
}
