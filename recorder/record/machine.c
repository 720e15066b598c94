/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/machine.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cpuid.h"

#define BRANCHES_TRIED       10000
#define CONFIG_AMD_BRANCHES  0x5100d1 /* retired conditional branches, family 17h and later */
#define CONFIG_INTEL_CORE    0x5101c4
#define FIRST_SOFTWARE_EVENT PERF_COUNT_SW_TASK_CLOCK

/* ---- the CPU ---- */

struct model_range {
    uint16_t family;
    uint8_t first, last;
};

/* Models that rr 5.6 starts on by itself. Later ones know more; naming the kin of a CPU that they
 * know selects the same counter. */
static const struct model_range intel_models[] = {
    {6, 0x1a, 0x1a}, {6, 0x1e, 0x1e}, {6, 0x25, 0x25}, {6, 0x2a, 0x2a}, {6, 0x2c, 0x2f},
    {6, 0x37, 0x37}, {6, 0x3a, 0x3a}, {6, 0x3c, 0x3f}, {6, 0x45, 0x47}, {6, 0x4c, 0x4c},
    {6, 0x4e, 0x4f}, {6, 0x55, 0x57}, {6, 0x5e, 0x5f}, {6, 0x6a, 0x6a}, {6, 0x7a, 0x7a},
    {6, 0x7e, 0x7e}, {6, 0x8c, 0x8e}, {6, 0x97, 0x97}, {6, 0x9a, 0x9a}, {6, 0x9e, 0x9e},
    {6, 0xa5, 0xa7},
};
static const struct model_range amd_models[] = {
    {0x15, 0x30, 0x30}, {0x17, 0x01, 0x01}, {0x17, 0x08, 0x08}, {0x17, 0x11, 0x11},
    {0x17, 0x18, 0x18}, {0x17, 0x20, 0x20}, {0x17, 0x31, 0x31}, {0x17, 0x60, 0x60},
    {0x17, 0x68, 0x68}, {0x17, 0x71, 0x71}, {0x17, 0x90, 0x90}, {0x19, 0x01, 0x01},
    {0x19, 0x08, 0x08}, {0x19, 0x11, 0x11}, {0x19, 0x18, 0x18}, {0x19, 0x20, 0x21},
    {0x19, 0x31, 0x31}, {0x19, 0x44, 0x44}, {0x19, 0x50, 0x50}, {0x19, 0x60, 0x60},
    {0x19, 0x68, 0x68}, {0x19, 0x71, 0x71}, {0x19, 0x90, 0x90},
};

static bool is_listed(const struct rec_cpu *cpu, const struct model_range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct model_range *r = &ranges[i];

        if (cpu->family == r->family && cpu->model >= r->first && cpu->model <= r->last)
            return true;
    }
    return false;
}

void rec_cpu_probe(struct rec_cpu *cpu)
{
    struct wd_cpuid vendor = wd_cpuid_ask(0, 0);
    uint32_t eax = wd_cpuid_ask(1, 0).eax;

    *cpu = (struct rec_cpu){0};
    memcpy(cpu->vendor_text, &vendor.ebx, 4);
    memcpy(cpu->vendor_text + 4, &vendor.edx, 4);
    memcpy(cpu->vendor_text + 8, &vendor.ecx, 4);
    cpu->family = (eax >> 8 & 15) + ((eax >> 8 & 15) == 15 ? eax >> 20 & 255 : 0);
    cpu->model = (eax >> 4 & 15) | (eax >> 12 & 0xf0);
    if (strcmp(cpu->vendor_text, "GenuineIntel") == 0) {
        cpu->vendor = REC_VENDOR_INTEL;
        cpu->is_known =
            is_listed(cpu, intel_models, sizeof(intel_models) / sizeof(intel_models[0]));
    } else if (strcmp(cpu->vendor_text, "AuthenticAMD") == 0) {
        cpu->vendor = REC_VENDOR_AMD;
        cpu->is_known = is_listed(cpu, amd_models, sizeof(amd_models) / sizeof(amd_models[0]));
    }
}

const char *rec_cpu_microarch(const struct rec_cpu *cpu)
{
    if (cpu->is_known)
        return NULL;
    if (cpu->vendor == REC_VENDOR_AMD && cpu->family >= 0x17)
        return "AMD Zen";
    if (cpu->vendor == REC_VENDOR_INTEL && cpu->family == 6)
        return "Intel Alderlake";
    return NULL;
}

/* ---- counters ---- */

static int open_event(uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {.type = type, .size = sizeof(attr), .config = config};
    long fd;

    attr.exclude_kernel = 1;
    attr.exclude_guest = type == PERF_TYPE_RAW;
    fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

int rec_probe_pmu(void)
{
    struct rec_cpu cpu;
    uint64_t counted = 0;
    ssize_t got;
    int fd;

    rec_cpu_probe(&cpu);
    fd = open_event(PERF_TYPE_RAW,
                    cpu.vendor == REC_VENDOR_AMD ? CONFIG_AMD_BRANCHES : CONFIG_INTEL_CORE);
    if (fd < 0)
        return fd;
    for (volatile int i = 0; i < BRANCHES_TRIED; i++)
        continue;
    got = read(fd, &counted, sizeof(counted));
    close(fd);
    return got == sizeof(counted) && counted >= BRANCHES_TRIED ? 0 : -ENODATA;
}

const char *rec_pmu_reason(int err)
{
    switch (-err) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        return "is not there or does not count branches, as in most virtual machines";
    case EACCES:
    case EPERM:
        return "may not be used (perf_event_paranoid, or a container's filter)";
    case ENOSYS:
        return "cannot be asked: this kernel has no perf_event_open";
    case ENODATA:
        return "counts nothing";
    default:
        return strerror(-err);
    }
}

int rec_probe_software_events(void)
{
    int fd = open_event(PERF_TYPE_SOFTWARE, FIRST_SOFTWARE_EVENT);

    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

int rec_perf_paranoid(void)
{
    FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
    int level = -100;

    if (!file)
        return level;
    if (fscanf(file, "%d", &level) != 1)
        level = -100;
    fclose(file);
    return level;
}

/* ---- what rr does to its children ---- */

static int try_in_child(int (*try)(void))
{
    int status;
    pid_t child = fork();

    if (child < 0)
        return -errno;
    if (child == 0)
        _exit(try());
    while (waitpid(child, &status, WUNTRACED) < 0) {
        if (errno != EINTR)
            return -errno;
    }
    if (WIFSTOPPED(status)) { /* traced, as it should be */
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        return 0;
    }
    return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}

static int try_ptrace(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return errno;
    raise(SIGSTOP);
    return 0;
}

int rec_probe_ptrace(void)
{
    return try_in_child(try_ptrace);
}

bool rec_has_vvar_vclock(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool found = false;

    if (!maps)
        return false;
    while (!found && fgets(line, sizeof(line), maps))
        found = strstr(line, "[vvar_vclock]") != NULL;
    fclose(maps);
    return found;
}

/* ---- rr ---- */

/* Runs `path --version` with its output in `text`. */
static bool read_version(const char *path, char *text, size_t bytes)
{
    char *const argv[] = {(char *)path, "--version", NULL};
    posix_spawn_file_actions_t actions;
    int ends[2], status;
    bool spawned;
    ssize_t got = 0;
    pid_t child;

    if (pipe2(ends, 0) != 0)
        return false;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    spawned = posix_spawn(&child, path, &actions, NULL, argv, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (spawned) {
        got = read(ends[0], text, bytes - 1);
        waitpid(child, &status, 0);
    }
    close(ends[0]);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

int rec_rr_version(const char *path)
{
    char text[256];
    const char *number;
    int major, minor, patch = 0;

    if (!read_version(path, text, sizeof(text)))
        return 0;
    number = strpbrk(text, "0123456789");
    if (!number || sscanf(number, "%d.%d.%d", &major, &minor, &patch) < 2)
        return 0;
    return major * 10000 + minor * 100 + patch;
}
