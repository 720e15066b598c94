/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The virtual kernel against Linux, in lockstep: a child makes random calls in a directory of its
 * own, the model answers the same ones. Results, errors, and every byte that the model says a call
 * wrote must agree; where the model may not know (which inode number), fields are left out by name.
 *
 * The child makes nothing but the calls that it is told. What calls point to is in an arena that
 * both processes have at one address.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predicate_switch/kernel/vk.h"

#define ARENA_BYTES 65536
#define COMMAND_FD  900
#define RESULT_FD   901
#define MAPS_MAX    512

static uint8_t *arena;

struct order {
    int64_t number;
    uint64_t args[6];
};

struct bench {
    pid_t child;
    int commands, results;
    struct vk_history *history;
    struct vk_kernel *kernel;
    struct vk_outcome out;
    uint64_t when, random;
    char directory[64];
    char text[512]; /* the call, for messages */
    uint64_t calls, unresolved;
};

/* ---- the child ---- */

static int64_t raw_call(const struct order *order)
{
    register uint64_t r10 __asm__("r10") = order->args[3];
    register uint64_t r8 __asm__("r8") = order->args[4];
    register uint64_t r9 __asm__("r9") = order->args[5];
    int64_t result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(order->number), "D"(order->args[0]), "S"(order->args[1]),
                       "d"(order->args[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static void child_run(void)
{
    struct order order;
    while (read(COMMAND_FD, &order, sizeof(order)) == sizeof(order)) {
        int64_t result = raw_call(&order);
        if (write(RESULT_FD, &result, sizeof(result)) != sizeof(result))
            break;
    }
    _exit(0);
}

static pid_t child_start(struct bench *b)
{
    int to[2], from[2];
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    pid_t pid = fork();
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(to[0], COMMAND_FD);
        dup2(from[1], RESULT_FD);
        close_range(3, COMMAND_FD - 1, 0);
        close_range(RESULT_FD + 1, ~0u, 0);
        if (chdir(b->directory))
            _exit(1);
        umask(022);
        child_run();
    }
    close(to[0]);
    close(from[1]);
    b->commands = to[1];
    b->results = from[0];
    return pid;
}

static int64_t native(struct bench *b, const struct order *order)
{
    int64_t result;
    assert_int_equal(write(b->commands, order, sizeof(*order)), sizeof(*order));
    assert_int_equal(read(b->results, &result, sizeof(result)), sizeof(result));
    return result;
}

/* ---- the model ---- */

/* Only the arena is both processes'; the rest of the child's memory is never asked for. */
static int memory_read(void *arg, uint64_t address, void *bytes, size_t size)
{
    uint64_t start = (uint64_t)arena;
    (void)arg;
    if (address < start || address - start > ARENA_BYTES || size > ARENA_BYTES - (address - start))
        return -EFAULT;
    memcpy(bytes, (void *)address, size);
    return 0;
}

static const struct vk_memory memory = {memory_read, NULL};

static size_t maps_of(pid_t pid, struct vk_mapping *maps)
{
    static char names[MAPS_MAX][256];
    char path[64], line[512], rights[8];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (count < MAPS_MAX && fgets(line, sizeof(line), file)) {
        struct vk_mapping *map = &maps[count];
        names[count][0] = 0;
        sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &map->start, &map->end, rights, names[count]);
        map->prot = (rights[0] == 'r' ? PROT_READ : 0) | (rights[1] == 'w' ? PROT_WRITE : 0) |
                    (rights[2] == 'x' ? PROT_EXEC : 0);
        map->name = names[count];
        if (map->start < UINT64_C(1) << 47)
            count++;
    }
    fclose(file);
    return count;
}

/* Tells a recorded call that the child makes, so that the model knows who it is. */
static void tell(struct bench *b, int number, uint64_t a0, uint64_t a1, uint64_t wrote)
{
    struct order order = {number, {a0, a1}};
    struct vk_call call = {.when = ++b->when, .number = number, .args = {a0, a1}};
    assert_int_equal(vk_history_begin(b->history, &call, &memory), 0);
    int64_t result = native(b, &order);
    struct vk_piece piece = {a1, wrote, arena};
    assert_int_equal(vk_history_end(b->history, 0, b->when, result, &piece, wrote ? 1 : 0, &memory),
                     0);
}

static void bench_start(struct bench *b, uint64_t seed, bool with_maps)
{
    static struct vk_mapping maps[MAPS_MAX];
    *b = (struct bench){.random = seed * 2 + 1};
    strcpy(b->directory, "/tmp/wetdbg-vk-XXXXXX");
    assert_non_null(mkdtemp(b->directory));
    strcat(b->directory, "/w"); /* whose parent nobody else changes */
    assert_int_equal(mkdir(b->directory, 0755), 0);
    b->child = child_start(b);
    usleep(1000);
    struct order ready = {SYS_getpid, {0}};
    assert_int_equal(native(b, &ready), b->child);
    struct vk_start start = {.pid = b->child,
                             .cwd = b->directory,
                             .mappings = maps,
                             .mapping_count = with_maps ? maps_of(b->child, maps) : 0,
                             .disk_before_ns = INT64_MAX,
                             .limits = {.memory_bytes = UINT64_C(1) << 40}};
    assert_int_equal(vk_history_new(&start, &b->history), 0);
    tell(b, SYS_getuid, 0, 0, 0);
    tell(b, SYS_geteuid, 0, 0, 0);
    tell(b, SYS_getgid, 0, 0, 0);
    tell(b, SYS_getegid, 0, 0, 0);
    tell(b, SYS_umask, 022, 0, 0);
    tell(b, SYS_brk, 0, 0, 0);
    tell(b, SYS_getrlimit, RLIMIT_NOFILE, (uint64_t)arena, 16);
    assert_int_equal(vk_history_finish(b->history, b->when), 0);
    assert_int_equal(vk_kernel_new(b->history, &b->kernel), 0);
    assert_int_equal(vk_kernel_advance(b->kernel, ++b->when), 0);
    assert_int_equal(vk_kernel_live(b->kernel, b->when, 0, &b->out), 0);
}

static void bench_end(struct bench *b)
{
    char command[128];
    close(b->commands);
    close(b->results);
    waitpid(b->child, NULL, 0);
    vk_kernel_free(b->kernel);
    vk_history_free(b->history);
    *strrchr(b->directory, '/') = 0;
    snprintf(command, sizeof(command), "rm -rf %s", b->directory);
    assert_int_equal(system(command), 0);
}

static uint64_t pick(struct bench *b, uint64_t count)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (b->random >> 33) % count;
}

/* ---- comparing ---- */

/* What of a struct stat a file system makes up. */
static bool is_made_up(int64_t number, uint64_t at)
{
    if (number != SYS_stat && number != SYS_lstat && number != SYS_fstat)
        return false;
    bool is_size = at >= 48 && at < 56, is_blocks = at >= 56;
    bool is_directory = S_ISDIR(((const struct stat *)(arena + 32768))->st_mode);
    return at < 16 || is_blocks || (is_size && is_directory); /* device, inode; blocks, times */
}

static void compare_bytes(struct bench *b, const struct order *order)
{
    for (size_t i = 0; i < b->out.op_count; i++) {
        const struct vk_op *op = &b->out.ops[i];
        for (uint64_t at = 0; op->kind == VK_OP_WRITE && at < op->size; at++) {
            uint8_t byte = *(const uint8_t *)(op->start + at);
            if (byte != op->bytes[at] && !is_made_up(order->number, at))
                fail_msg("%s: byte %lu is %#x, the model says %#x", b->text, at, byte,
                         op->bytes[at]);
        }
    }
}

/* One call, by both. -1000: the model says that it does not know, and nobody made it. */
static int64_t both(struct bench *b, int number, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3,
                    uint64_t a4, uint64_t a5)
{
    struct order order = {number, {a0, a1, a2, a3, a4, a5}};
    struct vk_call call = {.when = ++b->when, .number = number, .args = {a0, a1, a2, a3, a4, a5}};
    enum vk_modelled how;
    struct vk_kernel *before;
    int used = snprintf(b->text, sizeof(b->text), "call %lu: %s(%#lx, %#lx, %#lx, %#lx, %#lx)",
                        b->calls++, vk_call_name(number, &how, NULL), a0, a1, a2, a3, a4);
    if (a0 >= (uint64_t)arena && a0 < (uint64_t)arena + 8192)
        snprintf(b->text + used, sizeof(b->text) - (size_t)used, " \"%s\" \"%s\"", (char *)a0,
                 a1 >= (uint64_t)arena && a1 < (uint64_t)arena + 8192 ? (char *)a1 : "");
    assert_int_equal(vk_kernel_clone(b->kernel, &before), 0);
    assert_int_equal(vk_call(b->kernel, &call, &memory, &b->out), 0);
    if (b->out.then == VK_THEN_UNRESOLVED || b->out.then == VK_THEN_HANGS) {
        if (b->unresolved < 3)
            print_message("%s: %s\n", b->text, b->out.reason);
        vk_kernel_free(b->kernel);
        b->kernel = before;
        b->unresolved++;
        return -1000;
    }
    vk_kernel_free(before);
    int64_t result = native(b, &order);
    if (number == SYS_poll && result != b->out.result)
        compare_bytes(b, &order);
    if (b->out.then != VK_THEN_RUN || !b->out.returns || b->out.result != result)
        fail_msg("%s: Linux says %ld, the model %ld (then %d)", b->text, result, b->out.result,
                 b->out.then);
    compare_bytes(b, &order);
    return result;
}

static uint64_t text_at(unsigned place, const char *text)
{
    strcpy((char *)arena + place * 4096, text);
    return (uint64_t)arena + place * 4096;
}

static uint64_t at(uint64_t off)
{
    return (uint64_t)arena + off;
}

/* ---- files and directories ---- */

/* The first ones lead nowhere up, so that no link that has one of them leads out of the directory;
 * the last one does, and is for calls that only look. */
static const char *const names[] = {"a",     "b",   "c",      "d",      "d/a",    "d/b", "d/e",
                                    "d/e/f", "l",   "l/a",    "e",      "d/l",    "./a", "d/",
                                    "a/",    "d/.", "d/../b", "d/e/..", "l/../a", ".."};
#define NAMES_ALL   (sizeof(names) / sizeof(*names))
#define NAMES_OURS  (NAMES_ALL - 1)
#define NAMES_BELOW (NAMES_ALL - 4)

static uint64_t name_among(struct bench *b, unsigned place, size_t count)
{
    return text_at(place, names[pick(b, count)]);
}

static uint64_t name(struct bench *b, unsigned place)
{
    return name_among(b, place, NAMES_OURS);
}

static uint64_t descriptor(struct bench *b)
{
    return pick(b, 10) ? 3 + pick(b, 8) : 11 + pick(b, 40);
}

static void fill(struct bench *b, uint64_t off, uint64_t size)
{
    for (uint64_t i = 0; i < size; i++)
        arena[off + i] = (uint8_t)pick(b, 256);
}

static void step_names(struct bench *b)
{
    uint64_t one = name(b, 0), two = name(b, 1);
    switch (pick(b, 13)) {
    case 0:
        both(b, SYS_mkdir, one, 0700 + pick(b, 64), 0, 0, 0, 0);
        break;
    case 1:
        both(b, SYS_rmdir, one, 0, 0, 0, 0, 0);
        break;
    case 2:
        both(b, SYS_unlink, one, 0, 0, 0, 0, 0);
        break;
    case 3:
        both(b, SYS_rename, one, two, 0, 0, 0, 0);
        break;
    case 4:
        both(b, SYS_link, one, two, 0, 0, 0, 0);
        break;
    case 5:
        both(b, SYS_symlink, name_among(b, 0, NAMES_BELOW), two, 0, 0, 0, 0);
        break;
    case 6:
        both(b, SYS_readlink, name_among(b, 0, NAMES_ALL), at(8192), pick(b, 20), 0, 0, 0);
        break;
    case 7:
        both(b, SYS_stat, name_among(b, 0, NAMES_ALL), at(32768), 0, 0, 0, 0);
        break;
    case 8:
        both(b, SYS_lstat, name_among(b, 0, NAMES_ALL), at(32768), 0, 0, 0, 0);
        break;
    case 9:
        both(b, SYS_access, name_among(b, 0, NAMES_ALL), pick(b, 8), 0, 0, 0, 0);
        break;
    case 10:
        both(b, SYS_chmod, one, pick(b, 01000), 0, 0, 0, 0);
        break;
    case 11:
        both(b, SYS_truncate, one, pick(b, 9000), 0, 0, 0, 0);
        break;
    case 12:
        both(b, SYS_renameat2, (uint64_t)AT_FDCWD, one, (uint64_t)AT_FDCWD, two,
             pick(b, 2) ? RENAME_NOREPLACE : 0, 0);
        break;
    }
}

static void step_descriptors(struct bench *b)
{
    static const int flags[] = {O_RDONLY,
                                O_RDWR,
                                O_RDWR | O_CREAT,
                                O_WRONLY | O_CREAT | O_TRUNC,
                                O_RDWR | O_CREAT | O_EXCL,
                                O_RDWR | O_CREAT | O_APPEND,
                                O_RDONLY | O_DIRECTORY,
                                O_RDONLY | O_NOFOLLOW,
                                O_WRONLY | O_CLOEXEC};
    uint64_t fd = descriptor(b);
    switch (pick(b, 8)) {
    case 0:
    case 1:
        both(b, SYS_open, name(b, 0), (uint64_t)flags[pick(b, 9)], 0600 + pick(b, 64), 0, 0, 0);
        break;
    case 2:
        both(b, SYS_close, fd, 0, 0, 0, 0, 0);
        break;
    case 3:
        both(b, SYS_dup, fd, 0, 0, 0, 0, 0);
        break;
    case 4:
        both(b, SYS_dup2, fd, 3 + pick(b, 8), 0, 0, 0, 0);
        break;
    case 5:
        both(b, SYS_fcntl, fd, pick(b, 5), pick(b, 2) ? 1 : 04000, 0, 0, 0);
        break;
    case 6:
        both(b, SYS_fcntl, fd, F_DUPFD_CLOEXEC, 4 + pick(b, 6), 0, 0, 0);
        break;
    case 7:
        both(b, SYS_close_range, 9, 12, pick(b, 2) ? 4 : 0, 0, 0, 0);
        break;
    }
}

static void step_bytes(struct bench *b)
{
    uint64_t fd = descriptor(b), size = pick(b, 4) ? pick(b, 300) : pick(b, 9000);
    struct iovec *vector = (struct iovec *)(arena + 30000);
    fill(b, 8192, size);
    vector[0] = (struct iovec){arena + 8192, size / 3};
    vector[1] = (struct iovec){arena + 8192 + size / 3, size - size / 3};
    switch (pick(b, 12)) {
    case 0:
    case 1:
        both(b, SYS_write, fd, at(8192), size, 0, 0, 0);
        break;
    case 2:
    case 3:
        both(b, SYS_read, fd, at(8192), size, 0, 0, 0);
        break;
    case 4:
        both(b, SYS_pread64, fd, at(8192), size, pick(b, 20000), 0, 0);
        break;
    case 5:
        both(b, SYS_pwrite64, fd, at(8192), size, pick(b, 20000), 0, 0);
        break;
    case 6:
        both(b, SYS_lseek, fd, pick(b, 9000) - 1000, pick(b, 4), 0, 0, 0);
        break;
    case 7:
        both(b, SYS_ftruncate, fd, pick(b, 15000), 0, 0, 0, 0);
        break;
    case 8:
        both(b, SYS_fstat, fd, at(32768), 0, 0, 0, 0);
        break;
    case 9:
        both(b, SYS_writev, fd, at(30000), 2, 0, 0, 0);
        break;
    case 10:
        both(b, SYS_readv, fd, at(30000), 2, 0, 0, 0);
        break;
    case 11:
        both(b, SYS_fallocate, fd, pick(b, 2), pick(b, 9000), pick(b, 9000), 0, 0);
        break;
    }
}

static void test_files(void **state)
{
    uint64_t calls = 0, unresolved = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bench b;
        bench_start(&b, seed, false);
        text_at(0, "d");
        both(&b, SYS_mkdir, at(0), 0755, 0, 0, 0, 0);
        for (int i = 0; i < 2500; i++) {
            switch (pick(&b, 3)) {
            case 0:
                step_names(&b);
                break;
            case 1:
                step_descriptors(&b);
                break;
            case 2:
                step_bytes(&b);
                break;
            }
        }
        calls += b.calls;
        unresolved += b.unresolved;
        bench_end(&b);
    }
    /* What each file system does in its own way: holes (SEEK_DATA), positions in directories. */
    assert_true(unresolved * 100 < calls);
}

/* ---- pipes and what is ready ---- */

static void step_pipes(struct bench *b)
{
    uint64_t fd = descriptor(b), size = 1 + pick(b, pick(b, 8) ? 100 : 20000);
    struct pollfd *polled = (struct pollfd *)(arena + 30000);
    struct epoll_event *event = (struct epoll_event *)(arena + 31000);
    fill(b, 8192, size);
    if (!pick(b, 50))
        both(b, SYS_close_range, 20, 800, 0, 0, 0, 0);
    switch (pick(b, 14)) {
    case 0:
        both(b, SYS_pipe2, at(0), O_NONBLOCK | (pick(b, 2) ? O_CLOEXEC : 0), 0, 0, 0, 0);
        break;
    case 1:
        both(b, SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, at(0), 0, 0);
        break;
    case 2:
        both(b, SYS_eventfd2, pick(b, 3), O_NONBLOCK | pick(b, 2), 0, 0, 0, 0);
        break;
    case 3:
        both(b, SYS_close, fd, 0, 0, 0, 0, 0);
        break;
    case 4:
        both(b, SYS_dup, fd, 0, 0, 0, 0, 0);
        break;
    case 5:
    case 6:
        both(b, SYS_write, fd, at(8192), pick(b, 3) ? size : 8, 0, 0, 0);
        break;
    case 7:
    case 8:
        both(b, SYS_read, fd, at(8192), size, 0, 0, 0);
        break;
    case 9:
        both(b, SYS_epoll_create1, 0, 0, 0, 0, 0, 0);
        break;
    case 10:
        event->events = (pick(b, 2) ? EPOLLIN : 0) | (pick(b, 2) ? EPOLLOUT : 0) |
                        (pick(b, 4) ? 0 : EPOLLONESHOT);
        event->data.u64 = pick(b, 1000);
        both(b, SYS_epoll_ctl, fd, 1 + pick(b, 3), descriptor(b), at(31000), 0, 0);
        break;
    case 11:
        both(b, SYS_epoll_wait, fd, at(8192), 1, 0, 0, 0);
        break;
    case 12:
        for (int i = 0; i < 4; i++)
            polled[i] = (struct pollfd){.fd = (int)descriptor(b),
                                        .events = (short)(pick(b, 2) ? POLLIN : POLLOUT)};
        both(b, SYS_poll, at(30000), 4, 0, 0, 0, 0);
        break;
    case 13:
        both(b, SYS_fcntl, fd, pick(b, 2) ? F_GETPIPE_SZ : F_GETFL, 0, 0, 0, 0);
        break;
    }
}

static void test_pipes(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bench b;
        struct order ignore = {SYS_rt_sigaction, {SIGPIPE, (uint64_t)arena, 0, 8}};
        memset(arena, 0, 32);
        *(uint64_t *)arena = 1; /* SIG_IGN */
        bench_start(&b, seed, false);
        memset(arena, 0, 32);
        *(uint64_t *)arena = 1;
        both(&b, SYS_rt_sigaction, SIGPIPE, at(0), 0, 8, 0, 0);
        (void)ignore;
        for (int i = 0; i < 2500; i++)
            step_pipes(&b);
        bench_end(&b);
    }
}

/* ---- memory ---- */

struct area {
    uint64_t start, size;
};

static struct area some_area(struct bench *b, const struct area *areas, size_t count)
{
    struct area area = areas[pick(b, count)];
    uint64_t pages = area.size / 4096;
    if (pages > 1 && pick(b, 2)) {
        uint64_t skip = pick(b, pages);
        area.start += skip * 4096;
        area.size -= skip * 4096;
        area.size = (1 + pick(b, area.size / 4096)) * 4096;
    }
    return area;
}

static uint64_t some_size(struct bench *b)
{
    static const uint64_t large[] = {2u << 20, 4u << 20, (2u << 20) + 4096, 3u << 20};
    return pick(b, 5) ? (1 + pick(b, 40)) * 4096 - pick(b, 3) * 100 : large[pick(b, 4)];
}

static void step_memory(struct bench *b, struct area *areas, size_t *count)
{
    struct area area = some_area(b, areas, *count);
    uint64_t size = some_size(b);
    int64_t result;
    switch (pick(b, 9)) {
    case 0:
    case 1:
        result = both(b, SYS_mmap, pick(b, 3) ? 0 : area.start + pick(b, 3) * 4096, size,
                      pick(b, 8), MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);
        if (result > 0 && *count < 64)
            areas[(*count)++] = (struct area){(uint64_t)result, (size + 4095) & ~4095ull};
        break;
    case 2:
        both(b, SYS_mmap, area.start, area.size, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | (pick(b, 2) ? MAP_FIXED : MAP_FIXED_NOREPLACE),
             (uint64_t)-1, 0);
        break;
    case 3:
        both(b, SYS_munmap, area.start, area.size, 0, 0, 0, 0);
        break;
    case 4:
        both(b, SYS_mprotect, area.start, area.size, pick(b, 8), 0, 0, 0);
        break;
    case 5:
        result = both(b, SYS_mremap, area.start, area.size, size, pick(b, 2), 0, 0);
        if (result > 0 && *count < 64)
            areas[(*count)++] = (struct area){(uint64_t)result, (size + 4095) & ~4095ull};
        break;
    case 6:
        both(b, SYS_madvise, area.start, area.size, pick(b, 6) ? 4 : pick(b, 4), 0, 0, 0);
        break;
    case 7: {
        int64_t now = both(b, SYS_brk, 0, 0, 0, 0, 0, 0);
        both(b, SYS_brk, (uint64_t)now + pick(b, 60000) - 20000, 0, 0, 0, 0, 0);
        break;
    }
    case 8:
        both(b, SYS_msync, area.start, area.size, pick(b, 8), 0, 0, 0);
        break;
    }
}

static void test_memory(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bench b;
        struct area areas[64];
        size_t count = 1;
        bench_start(&b, seed, true);
        areas[0] = (struct area){
            (uint64_t)both(&b, SYS_mmap, 0, 65536, 3, MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0),
            65536};
        for (int i = 0; i < 1500; i++)
            step_memory(&b, areas, &count);
        assert_true(b.unresolved * 50 < b.calls);
        bench_end(&b);
    }
}

/* ---- signals ---- */

static void step_signals(struct bench *b)
{
    static const int numbers[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGALRM, 34, 35};
    uint64_t number = (uint64_t)numbers[pick(b, 6)], set = 0;
    for (int i = 0; i < 6; i++)
        set |= pick(b, 2) << (numbers[i] - 1);
    memcpy(arena, &set, sizeof(set));
    switch (pick(b, 6)) {
    case 0:
        both(b, SYS_kill, (uint64_t)b->child, number, 0, 0, 0, 0);
        break;
    case 1:
        both(b, SYS_tgkill, (uint64_t)b->child, (uint64_t)b->child, number, 0, 0, 0);
        break;
    case 2:
        both(b, SYS_rt_sigpending, at(64), 8, 0, 0, 0, 0);
        break;
    case 3:
        memset(arena + 128, 0, 16);
        both(b, SYS_rt_sigtimedwait, at(0), pick(b, 2) ? at(4096) : 0, at(128), 8, 0, 0);
        break;
    case 4: /* adds to what is blocked, so that nothing is ever handled */
        both(b, SYS_rt_sigprocmask, pick(b, 2) ? SIG_BLOCK : 5, at(0), at(64), 8, 0, 0);
        break;
    case 5:
        memset(arena + 256, 0, 32);
        ((uint64_t *)(arena + 256))[0] = pick(b, 2); /* default, ignored */
        ((uint64_t *)(arena + 256))[1] = 0x04000000 | (pick(b, 2) ? SA_RESTART : 0);
        both(b, SYS_rt_sigaction, number, pick(b, 3) ? at(256) : 0, at(64), 8, 0, 0);
        break;
    }
}

static void test_signals(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct bench b;
        bench_start(&b, seed, false);
        memset(arena, 0xff, 8);
        both(&b, SYS_rt_sigprocmask, SIG_SETMASK, at(0), at(64), 8, 0, 0);
        for (int i = 0; i < 1500; i++)
            step_signals(&b);
        assert_int_equal(b.unresolved, 0);
        bench_end(&b);
    }
}

/* ---- whatever a program does, or a recording says ---- */

static uint64_t odd(struct bench *b)
{
    static const uint64_t known[] = {0,
                                     1,
                                     2,
                                     3,
                                     4,
                                     8,
                                     100,
                                     4096,
                                     65536,
                                     UINT64_C(1) << 32,
                                     UINT64_C(1) << 47,
                                     UINT64_C(1) << 62,
                                     INT64_MAX,
                                     (uint64_t)INT64_MIN,
                                     UINT32_MAX,
                                     (uint64_t)-1,
                                     (uint64_t)-100};
    switch (pick(b, 4)) {
    case 0:
        return at(pick(b, 4) * 4096 + pick(b, 3) * 8);
    case 1:
        return pick(b, 40);
    case 2:
        return at(8192 + pick(b, 8) * 1000);
    default:
        return known[pick(b, sizeof(known) / sizeof(*known))];
    }
}

static struct vk_call odd_call(struct bench *b, uint32_t task)
{
    struct vk_call call = {.when = b->when += pick(b, 2), .task = task, .stack = at(4096)};
    call.number = pick(b, 20) ? (int32_t)pick(b, 450) : (int32_t)odd(b);
    for (int i = 0; i < 6; i++)
        call.args[i] = odd(b);
    if (pick(b, 4) == 0)
        fill(b, pick(b, 4) * 4096, 64);
    if (pick(b, 4) == 0)
        name(b, (unsigned)pick(b, 4));
    return call;
}

/* Random events, most of them impossible: each is taken, or refused. */
static void odd_event(struct bench *b)
{
    struct vk_call call = odd_call(b, (uint32_t)pick(b, 3));
    struct vk_piece piece = {odd(b), 1 + pick(b, 300), arena + 8192};
    struct vk_history *h = b->history;
    int64_t result = pick(b, 2) ? (int64_t)odd(b) : 0;
    switch (pick(b, 12)) {
    case 0:
        vk_history_task_new(h, b->when, call.task, (uint32_t)pick(b, 4), (int)odd(b));
        break;
    case 1:
        vk_history_task_end(h, b->when, call.task);
        break;
    case 2:
        vk_history_switch(h, b->when, call.task);
        break;
    case 3:
        vk_history_signal(h, b->when, call.task, (int)odd(b), arena, pick(b, 2), pick(b, 2));
        break;
    case 4:
        vk_history_space(h, b->when, call.task, odd(b), odd(b), (int)pick(b, 9) - 1, "x");
        break;
    case 5:
        vk_history_counter(h, b->when, odd(b));
        break;
    default:
        if (!vk_history_begin(h, &call, &memory))
            vk_history_end(h, call.task, b->when, result, &piece, pick(b, 2), &memory);
        break;
    }
}

/* One live run until it ends. */
static void odd_run(struct bench *b, uint64_t from)
{
    vk_output_fn no_output = NULL;
    if (vk_kernel_new(b->history, &b->kernel))
        return;
    int err = vk_kernel_advance(b->kernel, from);
    vk_kernel_on_output(b->kernel, no_output, NULL);
    b->when = from;
    if (!err)
        err = vk_kernel_live(b->kernel, from, (uint32_t)pick(b, 2), &b->out);
    for (int i = 0; i < 200 && !err && b->out.then == VK_THEN_RUN; i++) {
        struct vk_call call = odd_call(b, b->out.task);
        b->when += pick(b, 1000);
        if (b->out.signal)
            err = vk_entered(b->kernel, b->when, &memory, &b->out);
        else if (pick(b, 10) == 0)
            err = vk_tick(b->kernel, b->when, &memory, &b->out);
        else if (pick(b, 30) == 0)
            err = vk_fault(b->kernel, b->when, b->out.task, SIGSEGV, 1, odd(b), &memory, &b->out);
        else
            err = vk_call(b->kernel, &call, &memory, &b->out);
    }
    vk_kernel_free(b->kernel);
}

static void test_oddities(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct bench b = {.random = seed * 2 + 1, .when = 1, .child = getpid()};
        struct vk_mapping maps[2] = {
            {(uint64_t)arena, (uint64_t)arena + ARENA_BYTES, PROT_READ | PROT_WRITE, ""},
            {UINT64_C(0x7ffffff00000), UINT64_C(0x7ffffff21000), PROT_READ | PROT_WRITE,
             "[stack]"}};
        struct vk_start start = {.pid = getpid(),
                                 .cwd = "/nowhere/at/all",
                                 .mappings = maps,
                                 .mapping_count = seed % 2 * 2,
                                 .limits = {.file_bytes = 1 << 20, .memory_bytes = 1 << 28}};
        assert_int_equal(vk_history_new(&start, &b.history), 0);
        for (int i = 0; i < 300; i++)
            odd_event(&b);
        uint64_t last = b.when;
        assert_int_equal(vk_history_finish(b.history, last), 0);
        for (int i = 0; i < 5; i++)
            odd_run(&b, 1 + pick(&b, last));
        vk_history_free(b.history);
    }
}

/* ---- what the documentation says ---- */

static const char *const headings[] = {"*Modelled*", "*Next*", "*Recorded*", "*Unresolved*"};
static const enum vk_modelled kinds[] = {VK_MODELLED, VK_MODELLED_NEXT, VK_MODELLED_ONLY_RECORDED,
                                         VK_MODELLED_NOT};

static void test_documentation(void **state)
{
    char *line = NULL;
    size_t room = 0, listed = 0, known = 0;
    int kind = -1;
    FILE *file = fopen(DOCUMENTATION, "r");
    (void)state;
    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        for (int i = 0; i < 4; i++)
            kind = strstr(line, headings[i]) ? i : kind;
        bool is_list = *line == '`' || *line == '|';
        for (char *at = line; kind >= 0 && is_list && (at = strchr(at, '`'));) {
            char *end = strchr(++at, '`');
            enum vk_modelled how = VK_MODELLED;
            int32_t number = 0;
            const char *name = NULL;
            if (!end)
                break;
            *end = 0;
            while (number < 600 &&
                   !((name = vk_call_name(number, &how, NULL)) && !strcmp(name, at)))
                number++;
            if (number == 600 && kind == 3)
                break; /* the last paragraph names other things */
            if (number == 600 || how != kinds[kind])
                fail_msg("%s is not in the table as the list says", at);
            listed++;
            at = end + 1;
        }
    }
    free(line);
    fclose(file);
    for (int32_t number = 0; number < 600; number++) {
        enum vk_modelled how;
        known += vk_call_name(number, &how, NULL) != NULL;
    }
    assert_int_equal(listed, known);
}

int main(void)
{
    arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (arena == MAP_FAILED)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),    cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_memory),   cmocka_unit_test(test_signals),
        cmocka_unit_test(test_oddities), cmocka_unit_test(test_documentation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
