/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include <wetdbg/errors.h>

int process_read(void *context, uint64_t address, void *bytes, size_t count)
{
    const struct process *process = context;

    if (pread(process->memory, bytes, count, (off_t)address) != (ssize_t)count)
        return wetdbg_fail(-EFAULT, "cannot read memory at 0x%llx", (unsigned long long)address);
    return 0;
}

static int read_register(void *context, unsigned reg, uint64_t *value)
{
    const struct process *process = context;

    if (reg == WETDBG_REG_FS_BASE)
        *value = process->fs_base;
    else if (reg < WETDBG_FRAME_REG_COUNT)
        *value = process->regs.value[reg];
    else
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "register %u is not known", reg);
    return 0;
}

static void get_registers(struct process *process)
{
    struct user_regs_struct user;

    assert_int_equal(ptrace(PTRACE_GETREGS, process->pid, NULL, &user), 0);
    process->fs_base = user.fs_base;
    process->regs = (struct wetdbg_frame_regs){
        .value = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi, user.rbp, user.rsp,
                  user.r8, user.r9, user.r10, user.r11, user.r12, user.r13, user.r14, user.r15,
                  user.rip},
        .valid = (1u << WETDBG_FRAME_REG_COUNT) - 1,
        .is_innermost = 1,
    };
}

/* ---- Modules ----------------------------------------------------------------------------- */

/* A file's mappings, collected while reading /proc/PID/maps. */
struct mapping {
    char path[512];
    struct mdl_segment segments[16];
    size_t count;
};

/* The vdso is no file: its bytes are the process's. */
static void add_vdso(struct process *process, struct mapping *mapping)
{
    static uint8_t bytes[1 << 16];
    struct mdl_module_input input = {
        .path = mapping->path,
        .file = {-1, bytes, mapping->segments[0].size_bytes},
        .debug = MDL_IMAGE_NONE,
        .alt = MDL_IMAGE_NONE,
        .segments = mapping->segments,
        .segment_count = 1,
    };

    if (mapping->segments[0].size_bytes > sizeof(bytes) ||
        process_read(process, mapping->segments[0].start, bytes, mapping->segments[0].size_bytes) <
            0)
        return;
    mapping->segments[0].file_off = 0;
    assert_int_equal(mdl_add_module(process->model, &input, NULL), 0);
}

static void add_mapping(struct process *process, struct mapping *mapping)
{
    struct mdl_module_input input = {
        .path = mapping->path,
        .debug = MDL_IMAGE_NONE,
        .alt = MDL_IMAGE_NONE,
        .search_debug = 1,
        .segments = mapping->segments,
        .segment_count = mapping->count,
    };
    struct wetdbg_module known;

    if (mapping->count == 0 ||
        wetdbg_module_at(process->model, mapping->segments[0].start, &known) == 0)
        return;
    if (strcmp(mapping->path, "[vdso]") == 0) {
        add_vdso(process, mapping);
        return;
    }
    input.file.fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
    if (input.file.fd < 0)
        return;
    assert_int_equal(mdl_add_module(process->model, &input, NULL), 0);
    close(input.file.fd);
}

static void add_modules(struct process *process)
{
    struct mapping mapping = {.count = 0};
    char path[64], line[1024];
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
    maps = fopen(path, "r");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long long start, end, offset;
        char prot[8], name[512] = "";

        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %511s", &start, &end, prot, &offset, name) < 4)
            continue;
        if (strcmp(name, mapping.path) != 0) {
            add_mapping(process, &mapping);
            mapping.count = 0;
            snprintf(mapping.path, sizeof(mapping.path), "%s", name);
        }
        if ((name[0] != '/' && strcmp(name, "[vdso]") != 0) || mapping.count == 16)
            continue;
        mapping.segments[mapping.count++] = (struct mdl_segment){
            .start = start,
            .size_bytes = end - start,
            .file_off = offset,
            .prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
                    (prot[2] == 'x' ? PROT_EXEC : 0),
        };
    }
    add_mapping(process, &mapping);
    fclose(maps);
}

/* ---- Running ----------------------------------------------------------------------------- */

static void wait_stopped(struct process *process)
{
    int status;

    assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
    assert_true(WIFSTOPPED(status));
}

void process_start(struct process *process, const char *program)
{
    char path[64];

    memset(process, 0, sizeof(*process));
    process->pid = fork();
    assert_true(process->pid >= 0);
    if (process->pid == 0) {
        int null = open("/dev/null", O_RDWR);

        personality(ADDR_NO_RANDOMIZE);
        dup2(null, STDOUT_FILENO);
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    wait_stopped(process);
    ptrace(PTRACE_SETOPTIONS, process->pid, NULL, PTRACE_O_EXITKILL);
    snprintf(path, sizeof(path), "/proc/%d/mem", process->pid);
    process->memory = open(path, O_RDWR | O_CLOEXEC);
    assert_true(process->memory >= 0);
    process->model = mdl_new();
    process->machine = (struct wetdbg_machine){process, read_register, process_read};
    add_modules(process);
    get_registers(process);
}

void process_run_to(struct process *process, uint64_t pc)
{
    static const uint8_t trap = 0xcc;
    struct user_regs_struct user;
    uint8_t saved;
    int status, pass = 0;

    assert_int_equal(process_read(process, pc, &saved, 1), 0);
    assert_int_equal(pwrite(process->memory, &trap, 1, (off_t)pc), 1);
    do {
        assert_int_equal(ptrace(PTRACE_CONT, process->pid, NULL, pass), 0);
        assert_int_equal(waitpid(process->pid, &status, 0), process->pid);
        if (!WIFSTOPPED(status))
            fail_msg("the program ended before 0x%llx", (unsigned long long)pc);
        pass = WSTOPSIG(status);
    } while (pass != SIGTRAP);
    assert_int_equal(pwrite(process->memory, &saved, 1, (off_t)pc), 1);
    assert_int_equal(ptrace(PTRACE_GETREGS, process->pid, NULL, &user), 0);
    assert_int_equal(user.rip, pc + 1);
    user.rip = pc;
    assert_int_equal(ptrace(PTRACE_SETREGS, process->pid, NULL, &user), 0);
    add_modules(process);
    get_registers(process);
}

void process_end(struct process *process)
{
    int status;

    kill(process->pid, SIGKILL);
    waitpid(process->pid, &status, 0);
    close(process->memory);
    mdl_free(process->model);
}
