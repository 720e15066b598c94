/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers alone do not locate an asynchronous stop: a wait loop whose counter lives in memory
 * shows the same ones at every turn. So each stop is written down with a digest of the memory
 * near the stack pointer and of the main program's variables.
 *
 * The range of those variables is read from the task's auxiliary vector and program headers at
 * its first stop, and again after any exec or exit in the recording: cheaper than following which
 * task lives in which address space, and enough, since asynchronous stops come in runs.
 */
#include "recorder/ticks/stops.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/page.h"
#include "recorder/ticks/digest_format.h"
#include "recorder/ticks/real.h"

#define PHDR_COUNT_MAX 64
#define SPACES_KEPT    64

_Static_assert(sizeof(struct user_regs_struct) == TCK_REGS_COUNT * 8, "27 registers");

struct range {
    uint64_t start;
    uint64_t bytes;
};

static int side_fd = -1, lines_fd = -1;
static uint64_t lines_bytes; /* the larger of the two */
static struct {
    pid_t tid; /* 0 = empty */
    struct range data;
    uint64_t heap_start;
} spaces[SPACES_KEPT];
static unsigned char contents[TCK_HEAP_BYTES_MAX]; /* the largest of the ranges */
static uint64_t lines[TCK_WORDS_MAX];

static int open_in(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    fd = tck_real()->open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return fd < 0 ? -errno : fd;
}

static int write_mark(const char *dir)
{
    char text[64];
    int fd = open_in(dir, TCK_MARK_NAME), length, err = 0;

    if (fd < 0)
        return fd;
    length = snprintf(text, sizeof(text), TCK_MARK_SOFTWARE "%d\n", TCK_FORMAT_VERSION);
    if (write(fd, text, (size_t)length) != length)
        err = -EIO;
    tck_real()->close(fd);
    return err;
}

int tck_stops_open(const char *trace_dir)
{
    struct tck_file_header header = {.version = TCK_FORMAT_VERSION,
                                     .record_bytes = sizeof(struct tck_stop)};
    int err = write_mark(trace_dir);

    if (err)
        return err;
    memcpy(header.magic, TCK_MAGIC, sizeof(header.magic));
    side_fd = open_in(trace_dir, TCK_DIGESTS_NAME);
    if (side_fd < 0)
        return side_fd;
    lines_fd = open_in(trace_dir, TCK_LINES_NAME);
    if (lines_fd < 0)
        return lines_fd;
    return write(side_fd, &header, sizeof(header)) == sizeof(header) ? 0 : -EIO;
}

bool tck_stops_is_open(void)
{
    return side_fd >= 0;
}

void tck_stops_forget_spaces(void)
{
    memset(spaces, 0, sizeof(spaces));
}

/* How many bytes of [start, +bytes) could be read, counted from the front. One element per page,
 * since a transfer is partial only between elements. */
static size_t read_task(pid_t tid, uint64_t start, void *to, size_t bytes)
{
    struct iovec local = {.iov_base = to, .iov_len = bytes}, remote[UIO_MAXIOV / 8];
    size_t count = 0, planned = 0;
    ssize_t got;

    while (planned < bytes && count < sizeof(remote) / sizeof(remote[0])) {
        uint64_t at = start + planned;
        size_t piece = wd_page_left(at);

        if (piece > bytes - planned)
            piece = bytes - planned;
        remote[count].iov_base = (void *)(uintptr_t)at;
        remote[count++].iov_len = piece;
        planned += piece;
    }
    got = process_vm_readv(tid, &local, 1, remote, count, 0);
    return got < 0 ? 0 : (size_t)got;
}

struct phdrs {
    uint64_t address;
    uint64_t count;
};

static bool read_auxv(pid_t tid, struct phdrs *phdrs)
{
    Elf64_auxv_t auxv[64];
    char path[64];
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)tid);
    fd = tck_real()->open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    got = tck_real()->read(fd, auxv, sizeof(auxv));
    tck_real()->close(fd);
    *phdrs = (struct phdrs){0};
    for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(auxv[0]); i++) {
        if (auxv[i].a_type == AT_PHDR)
            phdrs->address = auxv[i].a_un.a_val;
        if (auxv[i].a_type == AT_PHNUM)
            phdrs->count = auxv[i].a_un.a_val;
    }
    return phdrs->address && phdrs->count && phdrs->count <= PHDR_COUNT_MAX;
}

/* Where the program was loaded: by PT_PHDR, or else because the headers lie in the first page. */
static uint64_t load_bias(const Elf64_Phdr *headers, size_t count, uint64_t address)
{
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_PHDR)
            return address - headers[i].p_vaddr;
    }
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *h = &headers[i];

        if (h->p_type == PT_LOAD && h->p_offset == 0)
            return wd_page_down(address - h->p_vaddr);
    }
    return 0;
}

/* What is left of a writable segment behind the part that becomes read-only after relocation. */
static struct range writable_part(const Elf64_Phdr *load, const Elf64_Phdr *headers, size_t count)
{
    uint64_t start = load->p_vaddr, end = load->p_vaddr + load->p_memsz;

    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *h = &headers[i];
        uint64_t relro_end = wd_page_down(h->p_vaddr + h->p_memsz);

        if (h->p_type == PT_GNU_RELRO && h->p_vaddr <= start && relro_end > start)
            start = relro_end;
    }
    return (struct range){.start = start, .bytes = end > start ? end - start : 0};
}

static struct range find_data(pid_t tid)
{
    Elf64_Phdr headers[PHDR_COUNT_MAX];
    struct phdrs phdrs;
    size_t bytes;

    if (!read_auxv(tid, &phdrs))
        return (struct range){0};
    bytes = phdrs.count * sizeof(headers[0]);
    if (read_task(tid, phdrs.address, headers, bytes) != bytes)
        return (struct range){0};
    for (size_t i = 0; i < phdrs.count; i++) {
        const Elf64_Phdr *h = &headers[i];
        struct range part;

        if (h->p_type != PT_LOAD || !(h->p_flags & PF_W))
            continue;
        part = writable_part(h, headers, phdrs.count);
        if (part.bytes > TCK_DATA_BYTES_MAX)
            part.bytes = TCK_DATA_BYTES_MAX;
        if (part.bytes) {
            part.start += load_bias(headers, phdrs.count, phdrs.address);
            return part;
        }
    }
    return (struct range){0};
}

/* Field 47 of /proc/PID/stat; the name in parentheses may hold anything. */
static uint64_t find_heap(pid_t tid)
{
    char path[64], text[1024], *at;
    unsigned long long start = 0;
    ssize_t got;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
    fd = tck_real()->open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    got = tck_real()->read(fd, text, sizeof(text) - 1);
    tck_real()->close(fd);
    text[got > 0 ? got : 0] = 0;
    at = strrchr(text, ')');
    for (int field = 2; at && field < 47; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%llu", &start) == 1 ? start : 0;
}

static size_t space_of(pid_t tid)
{
    size_t slot = (size_t)tid % SPACES_KEPT;

    if (spaces[slot].tid != tid) {
        spaces[slot].data = find_data(tid);
        spaces[slot].heap_start = find_heap(tid);
        spaces[slot].tid = tid;
    }
    return slot;
}

/* Below the stack pointer there may be no page (yet); then the range starts with rsp's own. */
static size_t read_stack(pid_t tid, uint64_t rsp, uint64_t *start, void *to)
{
    uint64_t end = rsp + TCK_STACK_BYTES_MAX - TCK_RED_ZONE_BYTES;
    uint64_t own_page = wd_page_down(rsp);
    size_t got;

    *start = rsp - TCK_RED_ZONE_BYTES;
    if (end < *start) /* rsp is no address at all */
        return 0;
    got = read_task(tid, *start, to, end - *start);
    if (got || *start >= own_page)
        return got;
    *start = own_page;
    return read_task(tid, *start, to, end - *start);
}

/* ---- what registers and stack point to ---- */

static struct target {
    uint64_t address;
    uint64_t words[TCK_STACK_LINE / 8];
} targets[TCK_TARGETS_MAX];
static size_t target_count;
static uint16_t target_slots[4 * TCK_TARGETS_MAX]; /* by address: 1 + index */

#define TARGET_LOWEST  0x10000u
#define TARGET_HIGHEST 0x7fffffffe000ull
/* rr's own pages are not the same in a replay */
#define RECORDER_START 0x68000000u
#define RECORDER_END   0x70002000u

static bool is_covered(const struct tck_stop *stop, uint64_t address)
{
    return address - stop->stack_start < stop->stack_bytes ||
           address - stop->data_start < stop->data_bytes ||
           address - stop->heap_start < stop->heap_bytes;
}

/* A value that may be a pointer, perhaps with a tag in its low bits. */
static void add_target(const struct tck_stop *stop, uint64_t value)
{
    uint64_t address = value & -(uint64_t)8;
    size_t slot = (size_t)((address * 0x9e3779b97f4a7c15ull) >> 40) % (4 * TCK_TARGETS_MAX);

    if (address < TARGET_LOWEST || address > TARGET_HIGHEST || is_covered(stop, address) ||
        (address + TCK_STACK_LINE > RECORDER_START && address < RECORDER_END))
        return;
    for (; target_slots[slot]; slot = (slot + 1) % (4 * TCK_TARGETS_MAX)) {
        if (targets[target_slots[slot] - 1].address == address)
            return;
    }
    if (target_count == TCK_TARGETS_MAX)
        return;
    targets[target_count++].address = address;
    target_slots[slot] = (uint16_t)target_count;
}

/* Reads the targets from `from` on; those that are no memory are dropped. */
static void read_targets(pid_t tid, size_t from)
{
    struct iovec local[TCK_TARGETS_MAX], remote[TCK_TARGETS_MAX];
    size_t kept = from, end = target_count;

    for (size_t i = from; i < end; i++) {
        local[i] = (struct iovec){targets[i].words, TCK_STACK_LINE};
        remote[i] = (struct iovec){(void *)(uintptr_t)targets[i].address, TCK_STACK_LINE};
    }
    for (size_t i = from; i < end;) {
        ssize_t got = process_vm_readv(tid, local + i, end - i, remote + i, end - i, 0);
        size_t whole = got > 0 ? (size_t)got / TCK_STACK_LINE : 0;

        for (size_t k = i; k < i + whole; k++)
            targets[kept++] = targets[k];
        i += whole + 1; /* the next one cannot be read, if there is one */
    }
    target_count = kept;
}

/* Registers reach three lines each, and what those point to; the stack's words reach one. `count`
 * words of lines[] are used already. */
static uint32_t add_targets(struct tck_stop *stop, pid_t tid, const uint64_t *stack, uint32_t count)
{
    static const uint8_t general[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
    size_t first;

    target_count = 0;
    memset(target_slots, 0, sizeof(target_slots));
    for (size_t i = 0; i < sizeof(general); i++) {
        for (uint64_t off = 0; off < 3 * TCK_STACK_LINE; off += TCK_STACK_LINE)
            add_target(stop, stop->regs[general[i]] + off);
    }
    read_targets(tid, 0);
    first = target_count;
    for (size_t i = 0; i < first; i++) {
        for (size_t k = 0; k < TCK_STACK_LINE / 8; k++)
            add_target(stop, targets[i].words[k]);
    }
    for (size_t i = 0; i < stop->stack_bytes / 8; i++)
        add_target(stop, stack[i]);
    read_targets(tid, first);
    for (size_t i = 0; i < target_count; i++) {
        lines[count++] = targets[i].address;
        lines[count++] = tck_line_hash(targets[i].words, TCK_STACK_LINE);
    }
    stop->target_count = (uint32_t)target_count;
    return count;
}

static uint32_t add_lines(uint32_t count, size_t bytes, size_t line)
{
    for (size_t at = 0; at < bytes; at += line)
        lines[count++] =
            tck_line_hash(contents + at, (uint32_t)(bytes - at < line ? bytes - at : line));
    return count;
}

/* Returns the number of words in lines[]. */
static uint32_t add_digests(struct tck_stop *stop, pid_t tid, uint64_t rsp)
{
    static uint64_t stack[TCK_STACK_BYTES_MAX / 8 + 1];
    size_t space = space_of(tid);
    struct range data = spaces[space].data;
    uint32_t count;

    stop->stack_bytes = (uint32_t)read_stack(tid, rsp, &stop->stack_start, contents);
    memcpy(stack, contents, stop->stack_bytes);
    stop->stack_digest = XXH3_64bits(contents, stop->stack_bytes);
    count = add_lines(0, stop->stack_bytes, TCK_STACK_LINE);
    stop->data_start = data.start;
    stop->data_bytes = (uint32_t)read_task(tid, data.start, contents, data.bytes);
    stop->data_digest = XXH3_64bits(contents, stop->data_bytes);
    count = add_lines(count, stop->data_bytes, TCK_LINE);
    stop->heap_start = spaces[space].heap_start;
    if (stop->heap_start)
        stop->heap_bytes = (uint32_t)read_task(tid, stop->heap_start, contents, TCK_HEAP_BYTES_MAX);
    stop->heap_digest = XXH3_64bits(contents, stop->heap_bytes);
    count = add_lines(count, stop->heap_bytes, TCK_LINE);
    return add_targets(stop, tid, stack, count);
}

static void give_up(void)
{
    tck_real()->close(side_fd);
    tck_real()->close(lines_fd);
    side_fd = lines_fd = -1;
}

void tck_stops_append(pid_t tid, unsigned flags, const siginfo_t *info)
{
    struct tck_stop stop = {.tid = (uint32_t)tid, .flags = flags, .lines_at = lines_bytes};
    struct timespec now;
    struct user_regs_struct regs;
    ssize_t bytes;

    if (side_fd < 0 || lines_bytes + sizeof(lines) > TCK_STOPS_BYTES_MAX)
        return;
    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0)
        return;
    if (info) {
        stop.signo = info->si_signo;
        stop.si_code = info->si_code;
    }
    memcpy(stop.regs, &regs, sizeof(regs));
    clock_gettime(CLOCK_MONOTONIC, &now);
    stop.seconds = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    bytes = (ssize_t)(add_digests(&stop, tid, regs.rsp) * sizeof(lines[0]));
    if (write(lines_fd, lines, (size_t)bytes) != bytes ||
        write(side_fd, &stop, sizeof(stop)) != sizeof(stop)) {
        give_up();
        return;
    }
    lines_bytes += (uint64_t)bytes;
}
