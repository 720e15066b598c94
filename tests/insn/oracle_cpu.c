/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "oracle_cpu.h"

#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "common/cpuid.h"

/* ---- known to oracle_enter.S ---- */

struct oracle_regs oracle_in, oracle_out;
_Alignas(64) uint8_t oracle_in_vectors[ORACLE_XSAVE_BYTES];
_Alignas(64) uint8_t oracle_out_vectors[ORACLE_XSAVE_BYTES];
const uint8_t *oracle_code;
int oracle_enter(void);
extern const uint8_t oracle_leave[], oracle_fault[];

static volatile sig_atomic_t running, last_signal;

static void on_fault(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)info;
    if (!running)
        _exit(99);
    last_signal = number;
    at->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)oracle_fault;
    at->uc_mcontext.gregs[REG_EFL] = 0x202;
}

static bool install_handlers(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    static uint8_t stack[1 << 16];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
    struct sigaction action = {.sa_sigaction = on_fault,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    if (sigaltstack(&alternate, NULL) != 0)
        return false;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (sigaction(numbers[i], &action, NULL) != 0)
            return false;
    }
    return true;
}

static bool map_at(void *where, size_t size, int protection)
{
    return mmap(where, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                0) == where;
}

/* ---- AVX-512: where this processor's image has it ---- */

enum { COMPONENT_K = 5, COMPONENT_ZMM_HIGH, COMPONENT_ZMM_16 };

static bool component_find(unsigned component, unsigned *offset)
{
    struct wd_cpuid is = wd_cpuid_ask(0xd, component); /* size, offset */
    *offset = is.ebx;
    return is.eax != 0 && is.ebx + is.eax <= ORACLE_XSAVE_BYTES;
}

static uint64_t enabled_components(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void find_avx512(void)
{
    if (!__builtin_cpu_supports("avx512f") ||
        (enabled_components() & ORACLE_AVX512) != ORACLE_AVX512)
        return;
    unsigned masks, upper_halves, upper_registers;
    if (component_find(COMPONENT_K, &masks) && component_find(COMPONENT_ZMM_HIGH, &upper_halves) &&
        component_find(COMPONENT_ZMM_16, &upper_registers))
        oracle_use_avx512(masks, upper_halves, upper_registers);
}

bool oracle_open(void)
{
    enum { HWCAP2_HAS_FSGSBASE = 2 };
    if (!(getauxval(AT_HWCAP2) & HWCAP2_HAS_FSGSBASE) || !__builtin_cpu_supports("avx"))
        return false;
    find_avx512();
    return map_at(ORACLE_MEMORY, ORACLE_MEMORY_BYTES, PROT_READ | PROT_WRITE) &&
           map_at(ORACLE_CODE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) && install_handlers();
}

void oracle_set_code(const uint8_t *code, unsigned length)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp [rip]: the address follows */
    uint64_t target = (uint64_t)(uintptr_t)oracle_leave;
    memcpy(ORACLE_CODE, code, length);
    memcpy(ORACLE_CODE + length, jump, sizeof(jump));
    memcpy(ORACLE_CODE + length + sizeof(jump), &target, sizeof(target));
    oracle_code = ORACLE_CODE;
}

int oracle_run(const struct oracle_state *in, struct oracle_state *out)
{
    oracle_memory_reset();
    oracle_in = in->regs;
    memcpy(oracle_in_vectors, in->vectors, sizeof(in->vectors));
    running = 1;
    int faulted = oracle_enter();
    running = 0;
    oracle_memory_compare();
    if (faulted)
        return last_signal;
    out->regs = oracle_out;
    memcpy(out->vectors, oracle_out_vectors, sizeof(out->vectors));
    return 0;
}
