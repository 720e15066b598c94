/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules are those that are mapped now; the program model unwinds by their call frame
 * information, and names functions by their symbols. Separate debug files are not looked for: this
 * runs once for each run that crashes. */
#include "delta/crash_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "common/array.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

#define FRAMES_MAX 64
/* How near to the stack's pointer an address is whose access grows the stack. */
#define STACK_NEAR 65536

struct frame {
    char function[240];
    char module[120];
};

struct stack {
    const struct dlt_crash *crash;
    struct frame frames[FRAMES_MAX];
    size_t count;
    size_t interrupted; /* the frame behind the innermost signal frame; 0: there is none */
};

bool dlt_dumps_core(int number)
{
    static const int numbers[] = {SIGSEGV, SIGABRT, SIGBUS,  SIGFPE,
                                  SIGILL,  SIGSYS,  SIGTRAP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
        if (numbers[i] == number)
            return true;
    return false;
}

/* ---- modules ---- */

struct mapping {
    uint64_t start, end, offset;
    uint32_t prot;
    char path[512];
};

static bool mapping_parse(const char *line, struct mapping *mapping)
{
    char prot[8];
    int at = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &mapping->start,
               &mapping->end, prot, &mapping->offset, &at) < 4 ||
        line[at] != '/' || strlen(line + at) >= sizeof(mapping->path))
        return false;
    mapping->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
                    (prot[2] == 'x' ? PROT_EXEC : 0);
    strcpy(mapping->path, line + at);
    mapping->path[strcspn(mapping->path, "\n")] = 0;
    return true;
}

static void module_add(struct wetdbg_model *model, const struct mapping *mappings, size_t count)
{
    struct mdl_segment segments[32];
    bool has_code = false;
    size_t i;
    for (i = 0; i < count && i < 32; i++) {
        segments[i] = (struct mdl_segment){mappings[i].start, mappings[i].end - mappings[i].start,
                                           mappings[i].offset, mappings[i].prot};
        has_code = has_code || mappings[i].prot & PROT_EXEC;
    }
    int fd = has_code ? open(mappings[0].path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    struct mdl_module_input input = {.path = mappings[0].path,
                                     .file = {.fd = fd},
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .segments = segments,
                                     .segment_count = i};
    mdl_add_module(model, &input, NULL);
    close(fd);
}

static void modules_add(pid_t tid, struct wetdbg_model *model)
{
    char name[32], *line = NULL;
    size_t room = 0, count = 0, capacity = 0;
    struct mapping *mappings = NULL;
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)tid);
    FILE *maps = fopen(name, "re");
    while (maps && getline(&line, &room, maps) > 0)
        if (wd_grow(mappings, capacity, count + 1) == 0 && mapping_parse(line, &mappings[count]))
            count++;
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && strcmp(mappings[end].path, mappings[i].path) == 0;)
            end++;
        module_add(model, mappings + i, end - i);
    }
    if (maps)
        fclose(maps);
    free(line);
    free(mappings);
}

/* ---- frames ---- */

static int read_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    const pid_t *tid = context;
    struct iovec here = {bytes, count}, there = {(void *)(uintptr_t)address, count};
    ssize_t got = process_vm_readv(*tid, &here, 1, &there, 1, 0);
    return got == (ssize_t)count ? 0 : -EFAULT;
}

static int registers_read(pid_t tid, struct wetdbg_frame_regs *regs)
{
    struct user_regs_struct user;
    struct iovec io = {&user, sizeof(user)};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)1 /* NT_PRSTATUS */, &io))
        return -errno;
    const uint64_t values[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi, user.rdi,
                               user.rbp, user.rsp, user.r8,  user.r9,  user.r10, user.r11,
                               user.r12, user.r13, user.r14, user.r15, user.rip};
    memcpy(regs->value, values, sizeof(values));
    regs->valid = (1u << WETDBG_FRAME_REG_COUNT) - 1;
    regs->is_innermost = true;
    return 0;
}

static void frame_name(struct stack *stack, const struct wetdbg_frame_regs *regs)
{
    struct frame *frame = &stack->frames[stack->count];
    struct wetdbg_function function;
    struct wetdbg_module module;
    *frame = (struct frame){0};
    struct wetdbg_model *model = stack->crash->model;
    if (wetdbg_function_at(model, wetdbg_frame_lookup_pc(regs), &function) ||
        wetdbg_module_get(model, function.module, &module))
        return;
    snprintf(frame->function, sizeof(frame->function), "%s", function.name);
    snprintf(frame->module, sizeof(frame->module), "%s", module.name);
    stack->count++;
}

/* What was called is no code: the return address on top of the stack says by whom. */
static bool step_out_of_nowhere(struct stack *stack, struct wetdbg_frame_regs *regs)
{
    struct wetdbg_module module;
    uint64_t *rsp = &regs->value[7], *rip = &regs->value[WETDBG_REG_RIP];
    const struct dlt_crash *crash = stack->crash;
    if (wetdbg_module_at(crash->model, *rip, &module) == 0)
        return true;
    if (crash->read(crash->arg, *rsp, rip, sizeof(*rip)) ||
        wetdbg_module_at(crash->model, *rip, &module))
        return false;
    *rsp += 8;
    regs->is_innermost = false;
    return true;
}

static void frames_find(struct stack *stack, struct wetdbg_frame_regs regs)
{
    if (!step_out_of_nowhere(stack, &regs))
        return;
    for (size_t steps = 0; stack->count < FRAMES_MAX && steps < 2 * FRAMES_MAX; steps++) {
        frame_name(stack, &regs);
        if (wetdbg_unwind(stack->crash->model, &regs, stack->crash->read, stack->crash->arg) != 1)
            return;
        if (regs.is_innermost && !stack->interrupted)
            stack->interrupted = stack->count;
    }
}

/* ---- which of them ---- */

static bool begins_with_any(const char *text, const char *const *starts)
{
    for (; *starts; starts++)
        if (strncmp(text, *starts, strlen(*starts)) == 0)
            return true;
    return false;
}

/* Of a static program the C library's functions are its own; those on the way to an abort are known
 * by name. */
static bool is_library(const struct frame *frame)
{
    static const char *const modules[] = {"libc.so",    "libc-2",     "ld-linux",
                                          "libpthread", "libstdc++.", "libgcc_s.",
                                          "libasan.",   "libubsan.",  NULL};
    static const char *const functions[] = {"raise",
                                            "gsignal",
                                            "abort",
                                            "__GI_",
                                            "__pthread_kill",
                                            "pthread_kill",
                                            "__assert",
                                            "__libc_message",
                                            "__libc_fatal",
                                            "malloc_printerr",
                                            "__stack_chk_fail",
                                            "__fortify_fail",
                                            "__chk_fail",
                                            "_int_free",
                                            "_int_malloc",
                                            "__libc_free",
                                            "cfree",
                                            "__restore_rt",
                                            NULL};
    return begins_with_any(frame->module, modules) || begins_with_any(frame->function, functions) ||
           strcmp(frame->function, "free") == 0 || strcmp(frame->function, "__libc_malloc") == 0;
}

static const struct frame *frame_of_recursion(const struct stack *stack)
{
    const struct frame *least = NULL;
    for (size_t i = 0; i < stack->count; i++) {
        const struct frame *frame = &stack->frames[i];
        size_t times = 0;
        for (size_t j = 0; j < stack->count; j++)
            times += strcmp(stack->frames[j].function, frame->function) == 0;
        if (times > 1 && (!least || strcmp(frame->function, least->function) < 0))
            least = frame;
    }
    return least;
}

static const struct frame *frame_choose(const struct stack *stack, bool is_full)
{
    const struct frame *of_recursion = is_full ? frame_of_recursion(stack) : NULL;
    if (of_recursion)
        return of_recursion;
    for (size_t i = stack->interrupted; i < stack->count; i++)
        if (!is_library(&stack->frames[i]))
            return &stack->frames[i];
    return stack->count ? &stack->frames[0] : NULL;
}

static bool is_stack_full(const struct dlt_crash *crash)
{
    uint64_t rsp = crash->regs.value[7];
    return crash->is_fault && crash->address + STACK_NEAR >= rsp && crash->address <= rsp + 4096;
}

void dlt_crash_place_tell(const struct dlt_crash *crash, struct dlt_crash_place *place)
{
    *place = (struct dlt_crash_place){0};
    struct stack *stack = calloc(1, sizeof(*stack));
    if (!stack)
        return;
    stack->crash = crash;
    frames_find(stack, crash->regs);
    const struct frame *frame = frame_choose(stack, is_stack_full(crash));
    if (frame) {
        memcpy(place->function, frame->function, sizeof(place->function));
        memcpy(place->module, frame->module, sizeof(place->module));
    }
    free(stack);
}

void dlt_crash_place_find(pid_t tid, struct dlt_crash_place *place)
{
    struct dlt_crash crash = {.model = mdl_new(), .read = read_memory, .arg = &tid};
    siginfo_t info;
    *place = (struct dlt_crash_place){0};
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) == 0 && info.si_signo == SIGSEGV) {
        crash.is_fault = true;
        crash.address = (uint64_t)(uintptr_t)info.si_addr;
    }
    if (crash.model && registers_read(tid, &crash.regs) == 0) {
        modules_add(tid, crash.model);
        dlt_crash_place_tell(&crash, place);
    }
    mdl_free(crash.model);
}
