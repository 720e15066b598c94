/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/replay/keeper.h"
#include <wetdbg/errors.h>

/* ---- descriptors ---- */

static int reopened(int fd)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Sets number i to a descriptor that nothing can be written to. */
static int give_readable(struct rep_given *given, size_t i, int fd)
{
    int flags = fcntl(fd, F_GETFL);
    given->own[i] = flags >= 0 && (flags & O_ACCMODE) != O_RDONLY;
    given->fds[i] = given->own[i] ? reopened(fd) : fd;
    if (flags >= 0 && given->fds[i] >= 0)
        return 0;
    given->own[i] = false;
    return wetdbg_fail_errno("a descriptor for the replay process");
}

int rep_given_make(struct rep_given *given, const struct rep_host *host,
                   const struct rep_engine_setup *setup, int blob)
{
    size_t files = setup->file_count, count = files + REP_GIVEN_COUNT;
    given->file_count = files;
    given->fds = calloc(count, sizeof(*given->fds));
    given->own = calloc(count, sizeof(*given->own));
    given->moved = calloc(count, sizeof(*given->moved));
    int err = given->fds && given->own && given->moved ? 0 : -ENOMEM;
    for (size_t i = 0; !err && i < files; i++)
        err = give_readable(given, i, setup->files[i]);
    if (!err)
        err = give_readable(given, files + REP_GIVEN_CODE, host->code_fd);
    if (!err)
        err = give_readable(given, files + REP_GIVEN_SHM, host->shm_fd);
    if (err)
        return err;
    given->fds[files + REP_GIVEN_PROBE] = host->probe_fd;
    given->fds[files + REP_GIVEN_BLOB] = blob;
    given->fds[files + REP_GIVEN_SHM_WRITABLE] = host->shm_fd;
    return 0;
}

void rep_given_fini(struct rep_given *given)
{
    for (size_t i = 0; given->own && i < given->file_count + REP_GIVEN_COUNT; i++) {
        if (given->own[i])
            close(given->fds[i]);
    }
    free(given->fds);
    free(given->own);
    free(given->moved);
}

int rep_limit_files(size_t count)
{
    struct rlimit limit;
    rlim_t need = AGT_FILES_FD_BASE + 4 * (count + REP_GIVEN_COUNT) + 64;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return wetdbg_fail_errno("getrlimit");
    if (limit.rlim_cur >= need)
        return 0;
    limit.rlim_cur = need;
    if (limit.rlim_max < need)
        limit.rlim_max = need;
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the recording maps %zu files, more than may be open", count);
    return 0;
}

/* ---- the child ---- */

/* Puts the given descriptors at their numbers; all others are closed. */
static void child_files(const struct rep_given *given)
{
    int count = (int)(given->file_count + REP_GIVEN_COUNT), end = AGT_FILES_FD_BASE + count;
    /* out of the way first: a number that is wanted may be taken by one that has yet to move */
    for (int i = 0; i < count; i++) {
        given->moved[i] = fcntl(given->fds[i], F_DUPFD, end);
        if (given->moved[i] < 0)
            _exit(AGT_STATUS_FILES);
    }
    for (int i = 0; i < count; i++) {
        if (dup2(given->moved[i], AGT_FILES_FD_BASE + i) < 0)
            _exit(AGT_STATUS_FILES);
    }
    if (syscall(SYS_close_range, (unsigned)end, ~0u, 0) ||
        syscall(SYS_close_range, 0u, AGT_FILES_FD_BASE - 1u, 0))
        _exit(AGT_STATUS_CLOSE);
}

/* Gives the child a process group of its own: what is typed on the terminal is not for it, and its
 * copies are killed with it. */
static void child_process(pid_t parent)
{
    const struct rlimit none = {0};
    int persona = personality(UINT32_MAX);
    if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL) || setrlimit(RLIMIT_CORE, &none) ||
        persona < 0 ||
        /* else all that can be read can be run */
        (persona & READ_IMPLIES_EXEC &&
         personality((unsigned)persona & ~(unsigned)READ_IMPLIES_EXEC) < 0) ||
        rep_rseq_leave())
        _exit(AGT_STATUS_PROCESS);
    if (getppid() != parent)
        _exit(AGT_STATUS_PARENT);
}

static void child_map(uint64_t address, uint64_t bytes, int prot, int flags, int fd, off_t off)
{
    void *at = mmap((void *)address, bytes, prot, flags | MAP_FIXED_NOREPLACE, fd, off);
    if (at != (void *)address)
        _exit(AGT_STATUS_MAP);
}

/* `first`: REP_GIVEN_CODE's number. */
__attribute__((noreturn)) static void child_run(uint64_t base, int first, bool has_probes)
{
    int image = first + REP_GIVEN_BLOB, shm = first + REP_GIVEN_SHM_WRITABLE;
    child_map(base + AGT_BLOB_OFF, AGT_BLOB_DATA_OFF, PROT_READ | PROT_EXEC, MAP_PRIVATE, image, 0);
    child_map(base + AGT_BLOB_OFF + AGT_BLOB_DATA_OFF, AGT_BLOB_BYTES - AGT_BLOB_DATA_OFF,
              PROT_READ | PROT_WRITE, MAP_PRIVATE, image, AGT_BLOB_DATA_OFF);
    child_map(base + AGT_STACK_OFF, AGT_STACK_BYTES + AGT_SIGSTACK_BYTES, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    child_map(base + AGT_SHM_OFF, AGT_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, shm, 0);
    unsigned kept = (unsigned)first + (has_probes ? REP_GIVEN_PROBE : REP_GIVEN_CODE);
    if (syscall(SYS_close_range, kept + 1, (unsigned)shm, 0))
        _exit(AGT_STATUS_CLOSE);
    ((void (*)(uint64_t))(base + AGT_BLOB_OFF))(base);
    _exit(AGT_STATUS_MAP);
}

void rep_child_run(const struct rep_host *host, const struct rep_given *given,
                   const struct rep_filter filters[2], pid_t parent, int socket)
{
    child_process(parent);
    bool has_probes = socket >= 0 && rep_listener_send(socket);
    const struct rep_filter *filter = &filters[has_probes];
    memcpy(host->ctx->bpf, filter->code, sizeof(host->ctx->bpf));
    host->ctx->bpf_count = filter->count;
    child_files(given);
    child_run(host->base, AGT_FILES_FD_BASE + (int)given->file_count, has_probes);
}

const char *rep_child_status_text(int status)
{
    static const char *const texts[] = {
        [AGT_STATUS_PARENT - AGT_STATUS_PARENT] = "its parent was gone",
        [AGT_STATUS_FILES - AGT_STATUS_PARENT] = "its descriptors could not be put in place",
        [AGT_STATUS_CLOSE - AGT_STATUS_PARENT] =
            "what it does not need could not be closed (close_range, since Linux 5.9)",
        [AGT_STATUS_MAP - AGT_STATUS_PARENT] = "the agent could not be mapped",
        [AGT_STATUS_PROCESS - AGT_STATUS_PARENT] =
            "its group, death signal, limits or personality could not be set",
        [AGT_STATUS_LISTENER - AGT_STATUS_PARENT] = "its seccomp listener could not be sent",
        [AGT_STATUS_AREA - AGT_STATUS_PARENT] = "its memory could not be cleared",
        [AGT_STATUS_SIGNALS - AGT_STATUS_PARENT] = "its signal handlers could not be set",
        [AGT_STATUS_PRIVILEGES - AGT_STATUS_PARENT] =
            "the system refuses no_new_privs, without which nothing recorded is run",
        [AGT_STATUS_SECCOMP - AGT_STATUS_PARENT] =
            "the system refuses seccomp filters, without which nothing recorded is run",
        [AGT_STATUS_PROBE - AGT_STATUS_PARENT] = "a copy could not be set up",
    };
    int n = status - AGT_STATUS_PARENT;
    return n >= 0 && n < (int)(sizeof(texts) / sizeof(texts[0])) ? texts[n] : "it ended by itself";
}
