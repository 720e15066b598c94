/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/ticks/tsc_traps.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "common/bisect.h"
#include "recorder/ticks/real.h"

#define HLT       0xf4
#define ESCAPE    0x0f /* the first byte of both instructions */
#define FD_COUNT  4096
#define BEFORE    48u /* bytes in front of a place from which code is decoded to it */
#define BEHIND    16u /* bytes behind it that an instruction may reach to which it belongs */
#define LOOK      (1u << 20)
#define BYTES_MAX 3

static bool is_needed;

/* The places that were altered, of all programs, by address; each once. */
static struct place {
    uint64_t address;
    uint8_t bytes[BYTES_MAX - 1]; /* behind the first one */
    uint8_t size;                 /* with it */
} * places;
static size_t place_count, place_capacity;

/* What descriptors are: 0 not known, 1 no memory of a task, 2 that. */
static uint8_t kinds[FD_COUNT];

/* ---- whether they are needed ---- */

static sigjmp_buf behind;

static void on_fault(int signo)
{
    (void)signo;
    siglongjmp(behind, 1);
}

void tck_tsc_traps_begin(void)
{
    struct sigaction ours = {.sa_handler = on_fault}, theirs;
    int was = PR_TSC_ENABLE;

    if (prctl(PR_GET_TSC, &was) || sigaction(SIGSEGV, &ours, &theirs))
        return;
    if (sigsetjmp(behind, 1) == 0) {
        bool is_asked = prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0;
        (void)__builtin_ia32_rdtsc();
        is_needed = is_asked; /* it went through */
    }
    prctl(PR_SET_TSC, was);
    sigaction(SIGSEGV, &theirs, NULL);
}

/* ---- places ---- */

/* The first place at an address or behind it: an index. */
static size_t place_from(uint64_t address)
{
    return wd_bisect(0, place_count, i, places[i].address < address);
}

static bool place_add(uint64_t address, const uint8_t *code, unsigned size)
{
    size_t at = place_from(address);

    if (place_count == place_capacity) {
        size_t capacity = place_capacity ? 2 * place_capacity : 256;
        struct place *larger = realloc(places, capacity * sizeof(*places));
        if (!larger)
            return false;
        places = larger;
        place_capacity = capacity;
    }
    if (at == place_count || places[at].address != address) {
        memmove(places + at + 1, places + at, (place_count - at) * sizeof(*places));
        place_count++;
    }
    places[at] = (struct place){.address = address, .size = (uint8_t)size};
    memcpy(places[at].bytes, code + 1, size - 1);
    return true;
}

static unsigned tsc_size(const uint8_t *code, size_t size)
{
    if (size >= 2 && code[0] == ESCAPE && code[1] == 0x31)
        return 2;
    return size >= 3 && code[0] == ESCAPE && code[1] == 0x01 && code[2] == 0xf9 ? 3 : 0;
}

/*
 * Whether an instruction begins there, and it is not a part of another one or of data: decoding
 * from somewhere else soon falls into step, so from nearly all places before it comes by.
 */
static bool is_instruction(const ZydisDecoder *decoder, const uint8_t *code, size_t size, size_t at)
{
    unsigned tried = 0, right = 0;

    for (size_t from = at > BEFORE ? at - BEFORE : 0; from + BEFORE / 3 < at; from++, tried++) {
        ZydisDecodedInstruction decoded;
        size_t now = from;
        while (now < at) {
            bool is_code = ZYAN_SUCCESS(
                ZydisDecoderDecodeInstruction(decoder, NULL, code + now, size - now, &decoded));
            now += is_code ? decoded.length : 1;
        }
        right += now == at;
    }
    return !tried || 4 * right >= 3 * tried;
}

/* ---- a program's memory ---- */

static size_t read_task(pid_t tid, uint64_t address, void *to, size_t size)
{
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    ssize_t got = process_vm_readv(tid, &local, 1, &remote, 1, 0);

    return got < 0 ? 0 : (size_t)got;
}

static int memory_open(pid_t tid)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
    return tck_real()->open(path, O_RDWR | O_CLOEXEC);
}

static void alter(int memory, uint64_t address, const uint8_t *code, unsigned size)
{
    static const uint8_t hlt = HLT;

    if (place_add(address, code, size))
        (void)!pwrite(memory, &hlt, 1, (off_t)address);
}

/* Alters what is in a piece of code that begins at `address`, but for what lies in its last bytes:
 * of those nobody knows where their instructions end, unless nothing comes behind them. */
static void piece_look(int memory, uint64_t address, const uint8_t *code, size_t size, bool is_last)
{
    size_t end = is_last ? size : size - BEHIND;
    ZydisDecoder decoder;

    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (const uint8_t *at = code; (at = memchr(at, ESCAPE, (size_t)(code + end - at))); at++) {
        size_t off = (size_t)(at - code);
        unsigned bytes = tsc_size(at, size - off);
        if (bytes && is_instruction(&decoder, code, size, off))
            alter(memory, address + off, at, bytes);
    }
}

/* Alters what is in [start, end). Pieces overlap, so that each place has what lies around it. */
static void look_through(pid_t tid, int memory, uint64_t start, uint64_t end)
{
    uint8_t *code = malloc(LOOK);
    bool is_last = !code;

    for (uint64_t from = start; !is_last && from < end;) {
        size_t got = read_task(tid, from, code, end - from < LOOK ? end - from : LOOK);
        is_last = got <= BEFORE + BEHIND || from + got >= end;
        piece_look(memory, from, code, got, is_last);
        from += is_last ? got : got - BEFORE - BEHIND;
    }
    free(code);
}

/* A line of /proc/PID/maps: private code, not the kernel's own. Nor that of rr's library, which
 * lets rdtsc through where it executes one. */
static bool read_line(const char *line, uint64_t *start, uint64_t *end)
{
    char rights[8], name[8] = "";

    if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %7s", start, end, rights, name) < 3)
        return false;
    return rights[0] == 'r' && rights[2] == 'x' && rights[3] == 'p' &&
           strncmp(name, "[v", 2) != 0 && !strstr(line, "/librrpreload");
}

/* Of what a task has mapped what overlaps [from, to). */
static void look_between(pid_t tid, uint64_t from, uint64_t to)
{
    char path[64], line[512];
    uint64_t start, end;
    int memory;
    FILE *maps;

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)tid);
    maps = tck_real()->fopen(path, "re");
    if (!maps)
        return;
    memory = memory_open(tid);
    while (memory >= 0 && fgets(line, sizeof(line), maps))
        if (read_line(line, &start, &end) && start < to && end > from)
            look_through(tid, memory, start > from ? start : from, end < to ? end : to);
    fclose(maps);
    if (memory >= 0)
        tck_real()->close(memory);
}

/* ---- when ---- */

void tck_tsc_traps_exec(pid_t tid)
{
    if (is_needed)
        look_between(tid, 0, UINT64_MAX);
}

void tck_tsc_traps_call(pid_t tid)
{
    struct user_regs_struct regs;
    uint64_t address;

    if (!is_needed || tck_real()->ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0)
        return;
    bool is_map = regs.orig_rax == SYS_mmap, is_protect = regs.orig_rax == SYS_mprotect;
    bool has_failed = regs.rax > (uint64_t)-4096; /* or has not begun */
    if ((!is_map && !is_protect) || has_failed || !(regs.rdx & PROT_EXEC))
        return;
    address = is_map ? regs.rax : regs.rdi;
    look_between(tid, address, address + regs.rsi);
}

/* ---- what rr sees ---- */

static bool is_memory(int fd)
{
    char link[64], path[64];
    ssize_t length;

    if (fd < 0 || fd >= FD_COUNT)
        return false;
    if (kinds[fd])
        return kinds[fd] == 2;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    length = (ssize_t)strlen(path);
    kinds[fd] =
        strncmp(path, "/proc/", 6) == 0 && length > 4 && !strcmp(path + length - 4, "/mem") ? 2 : 1;
    return kinds[fd] == 2;
}

void tck_tsc_traps_hide(int fd, int64_t offset, void *bytes, size_t size)
{
    uint64_t from = (uint64_t)offset;
    uint8_t *seen = bytes;

    if (!place_count || !is_memory(fd))
        return;
    for (size_t i = place_from(from); i < place_count && places[i].address - from < size; i++) {
        size_t at = places[i].address - from, left = size - at;
        size_t behind_it = left - 1 < places[i].size - 1u ? left - 1 : places[i].size - 1u;
        if (seen[at] == HLT && !memcmp(seen + at + 1, places[i].bytes, behind_it))
            seen[at] = ESCAPE;
    }
}

void tck_tsc_traps_forget(int fd)
{
    if (fd >= 0 && fd < FD_COUNT)
        kinds[fd] = 0;
}
