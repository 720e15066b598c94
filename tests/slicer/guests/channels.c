/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes 16 bytes through files, pipes, sockets and mappings in many ways and writes out what came
 * back, 16 bytes for each. Marks are those of bytes.c: each byte of the input is computed on a line of its
 * own, marked BYTE; behind each MOVES stands, for each byte of the result, the one that it is.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define OUT(n) (out + 16 * (n))
#define FROM   ((const void *)in)
#define AT(n)  ((const void *)(in + (n)))

static volatile unsigned char in[16], given = 7;
static unsigned char out[16 * 37];
static char path[64], other[64], third[64];

/* 0..9, A..F */
static void fill(void)
{
    in[0] = given + 1;   /* BYTE 0 */
    in[1] = given + 2;   /* BYTE 1 */
    in[2] = given + 3;   /* BYTE 2 */
    in[3] = given + 4;   /* BYTE 3 */
    in[4] = given + 5;   /* BYTE 4 */
    in[5] = given + 6;   /* BYTE 5 */
    in[6] = given + 7;   /* BYTE 6 */
    in[7] = given + 8;   /* BYTE 7 */
    in[8] = given + 9;   /* BYTE 8 */
    in[9] = given + 10;  /* BYTE 9 */
    in[10] = given + 11; /* BYTE A */
    in[11] = given + 12; /* BYTE B */
    in[12] = given + 13; /* BYTE C */
    in[13] = given + 14; /* BYTE D */
    in[14] = given + 15; /* BYTE E */
    in[15] = given + 16; /* BYTE F */
}

/* rr 5.6 knows no tee, vmsplice, pwritev2, and no copy_file_range to a mapped file: with an
 * argument there is none. */
static int has_all;
static int is_wrong; /* a call did not do what it should */

static void check(long result, long expected)
{
    is_wrong |= result != expected;
}

static void pipes(void)
{
    int fds[2];

    check(pipe(fds), 0);
    check(write(fds[1], FROM, 16), 16);
    check(read(fds[0], OUT(0), 16), 16);
    /* MOVES 0123456789ABCDEF */
    check(write(fds[1], FROM, 5), 5);
    check(write(fds[1], AT(7), 9), 9);
    check(read(fds[0], OUT(1), 3), 3);
    check(read(fds[0], OUT(1) + 4, 11), 11);
    /* MOVES 012.34789ABCDEF. */
    const struct iovec parts[2] = {{(void *)AT(8), 6}, {(void *)AT(1), 4}};
    check(writev(fds[1], parts, 2), 10);
    const struct iovec places[2] = {{OUT(2) + 12, 3}, {OUT(2), 9}};
    check(readv(fds[0], places, 2), 10);
    /* MOVES BCD1234.....89A. */
    close(fds[0]);
    close(fds[1]);
}

static void files(void)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    check(write(fd, FROM, 16), 16);
    check(pread(fd, OUT(3), 16, 3), 13);
    /* MOVES 3456789ABCDEF... */
    check(pwrite(fd, FROM, 4, 6), 4);
    check(lseek(fd, 0, SEEK_SET), 0);
    check(read(fd, OUT(4), 9), 9);
    check(read(fd, OUT(4) + 9, 7), 7);
    /* MOVES 0123450123ABCDEF */
    check(ftruncate(fd, 6), 0);
    check(ftruncate(fd, 16), 0);
    check(pread(fd, OUT(5), 16, 0), 16);
    /* MOVES 012345.......... */
    close(fd);
    fd = open(path, O_WRONLY | O_APPEND | O_TRUNC);
    int copy = dup(fd);
    check(write(fd, AT(2), 4), 4);
    check(write(copy, AT(9), 3), 3);
    int reader = open(path, O_RDONLY);
    check(pwrite(fd, AT(0), 2, 1), 2); /* appends, too */
    check(read(reader, OUT(6), 16), 9);
    /* MOVES 23459AB01....... */
    close(fd);
    close(copy);
    close(reader);
}

static void names(void)
{
    int fd = open(path, O_WRONLY | O_TRUNC);

    check(write(fd, FROM, 16), 16);
    close(fd);
    check(rename(path, other), 0);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    check(write(fd, AT(12), 4), 4);
    int moved = open(other, O_RDONLY);
    check(read(moved, OUT(7), 8), 8);
    close(fd);
    fd = open(path, O_RDONLY);
    check(read(fd, OUT(7) + 8, 8), 4);
    /* MOVES 01234567CDEF.... */
    close(fd);
    close(moved);
    check(unlink(other), 0);
    fd = open(other, O_RDWR | O_CREAT, 0600);
    check(write(fd, AT(3), 2), 2);
    check(pread(fd, OUT(8), 16, 0), 2);
    /* MOVES 34.............. */
    close(fd);
}

static void sockets(void)
{
    int pair[2], packets[2];

    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    check(send(pair[0], FROM, 10, 0), 10);
    check(write(pair[1], AT(10), 6), 6);
    check(recv(pair[1], OUT(9), 8, 0), 8);
    check(read(pair[0], OUT(9) + 8, 8), 6);
    /* MOVES 01234567ABCDEF.. */
    check(recv(pair[1], OUT(10), 1, MSG_PEEK), 1);
    check(recv(pair[1], OUT(10) + 2, 2, 0), 2);
    /* MOVES 8.89............ */
    check(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets), 0);
    check(send(packets[0], FROM, 8, 0), 8);
    check(send(packets[0], AT(8), 8, 0), 8);
    check(recv(packets[1], OUT(11), 5, 0), 5);
    check(recv(packets[1], OUT(11) + 6, 10, 0), 8);
    /* MOVES 01234.89ABCDEF.. */
    struct iovec parts[2] = {{(void *)AT(4), 3}, {(void *)AT(13), 2}};
    struct iovec places[2] = {{OUT(12) + 8, 1}, {OUT(12), 7}};
    const struct msghdr sent = {.msg_iov = parts, .msg_iovlen = 2};
    struct msghdr taken = {.msg_iov = places, .msg_iovlen = 2};
    check(sendmsg(pair[1], &sent, 0), 5);
    check(recvmsg(pair[0], &taken, 0), 5);
    /* MOVES 56DE....4....... */
}

static long put(int fd, const struct iovec *parts, unsigned long count)
{
    return has_all ? vmsplice(fd, parts, count, 0) : writev(fd, parts, (int)count);
}

static void between(void)
{
    int fds[2], copies[2], fd = open(path, O_RDWR | O_TRUNC),
                           target = open(other, O_RDWR | O_TRUNC);
    off_t offset = 4;

    check(pipe(fds), 0);
    check(pipe(copies), 0);
    check(write(fd, FROM, 16), 16);
    check(splice(fd, &offset, fds[1], NULL, 9, 0), 9);
    if (has_all)
        check(tee(fds[0], copies[1], 5, 0), 5);
    check(read(fds[0], OUT(13), 9), 9);
    if (has_all)
        check(read(copies[0], OUT(13) + 10, 6), 5);
    /* MOVES 456789ABC.45678. */
    offset = 11;
    check(sendfile(target, fd, &offset, 4), 4);
    check(pread(target, OUT(14), 16, 1), 3);
    /* MOVES CDE............. */
    offset = 2;
    off_t at = 6;
    check(copy_file_range(fd, &offset, target, &at, 5, 0), 5);
    check(pread(target, OUT(15), 12, 0), 11);
    /* MOVES BCDE..23456..... */
    struct iovec part = {(void *)AT(6), 7};
    check(put(fds[1], &part, 1), 7);
    check(splice(fds[0], NULL, target, NULL, 7, 0), 7);
    check(pread(target, OUT(16), 7, 4), 7);
    /* MOVES 6789ABC......... */
    close(fd);
    close(target);
}

/* Each mapping has its page to itself, which stays mapped. */
static void mappings(void)
{
    static unsigned char room[4 * 4096] __attribute__((aligned(4096)));
    int flags = MAP_SHARED | MAP_FIXED, both = PROT_READ | PROT_WRITE;
    int fd = open(path, O_RDWR | O_TRUNC);

    check(write(fd, FROM, 16), 16);
    unsigned char *shared = mmap(room, 4096, both, flags, fd, 0);
    check(shared == room, 1);
    memcpy(shared + 4, AT(10), 6);
    check(pread(fd, OUT(17), 16, 2), 14);
    /* MOVES 23ABCDEFABCDEF.. */
    memcpy(OUT(18), shared, 7);
    /* MOVES 0123ABC......... */
    check(munmap(shared, 4096), 0);
    check(mmap(room, 4096, both, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == room, 1);
    check(pread(fd, OUT(19), 16, 8), 8);
    /* MOVES EFABCDEF........ */
    unsigned char *private = mmap(room + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
    check(private == room + 4096, 1);
    memcpy(OUT(20), private + 1, 12);
    /* MOVES 123ABCDEFABC.... */
    close(fd);
}

/* Bytes that go out by descriptor 50, not all of them out of memory. Behind a SENT stand those of a call. */
static void outputs(void)
{
    int fds[2], target = open(other, O_RDWR | O_TRUNC);
    off_t offset = 3;

    check(unlink(path), 0); /* a mapping shows what it was */
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    check(pipe(fds), 0);
    check(dup2(target, 50), 50);
    check(write(fd, FROM, 16), 16);
    check(sendfile(50, fd, &offset, 3), 3);
    /* SENT 345 */
    offset = 9;
    check(copy_file_range(fd, &offset, 50, NULL, 4, 0), 4);
    /* SENT 9ABC */
    check(write(fds[1], AT(2), 6), 6);
    check(splice(fds[0], NULL, 50, NULL, 6, 0), 6);
    /* SENT 234567 */
    const struct iovec parts[2] = {{(void *)AT(14), 2}, {(void *)AT(0), 1}};
    check(has_all ? pwritev2(50, parts, 2, 20, 0) : pwritev(50, parts, 2, 20), 3);
    /* SENT EF0 */
    close(50);
    close(fd);
    close(target);
    check(dup2(fds[1], 50), 50);
    check(put(50, parts, 2), 3);
    /* SENT EF0 */
    int pair[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    check(dup2(pair[0], 50), 50);
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = (struct iovec *)parts, .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = (struct iovec *)parts, .msg_iovlen = 2}}};
    check(sendmmsg(50, messages, 2, 0), 2);
    /* SENT EFEF0 */
    check(sendmsg(50, &messages[1].msg_hdr, 0), 3);
    /* SENT EF0 */
    struct iovec places[2] = {{OUT(21), 3}, {OUT(21) + 4, 8}};
    struct mmsghdr taken[2] = {{.msg_hdr = {.msg_iov = places, .msg_iovlen = 1}},
                               {.msg_hdr = {.msg_iov = places + 1, .msg_iovlen = 1}}};
    check(recvmmsg(pair[1], taken, 2, 0, NULL), 2);
    /* MOVES EFE.F0EF0....... */
}

/* One file by other names. */
static void other_names(void)
{
    int fd = open(path, O_RDWR | O_TRUNC), directory = open("/tmp", O_RDONLY | O_DIRECTORY);
    const char *relative = strrchr(path, '/') + 1;

    check(write(fd, FROM, 16), 16);
    check(truncate(path, 5), 0);
    check(truncate(path, 16), 0);
    check(pread(fd, OUT(22), 16, 0), 16);
    /* MOVES 01234........... */
    check(symlink(relative, third), 0);
    int linked = open(third, O_RDWR);
    check(pwrite(linked, AT(9), 4, 2), 4);
    check(pread(fd, OUT(23), 16, 0), 16);
    /* MOVES 019ABC.......... */
    close(linked);
    check(chdir("/"), 0);
    check(chdir("/tmp"), 0);
    linked = open(relative, O_RDONLY);
    check(read(linked, OUT(24), 8), 8);
    /* MOVES 019ABC.......... */
    close(linked);
    check(chdir("/"), 0);
    check(fchdir(directory), 0);
    check(unlink(third), 0);
    linked = open(relative, O_RDONLY);
    check(read(linked, OUT(25), 4), 4);
    /* MOVES 019A............ */
    close(linked);
    close(directory);
    close(fd);
}

/* A mapping becomes private memory without bytes. */
static void hide(unsigned char *page)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

    check(mmap(page, 4096, PROT_READ | PROT_WRITE, flags, -1, 0) == page, 1);
}

/* Calls that write a file while a shared mapping shows it. */
static void shown(void)
{
    static unsigned char room[4 * 4096] __attribute__((aligned(4096)));
    int flags = MAP_SHARED | MAP_FIXED, both = PROT_READ | PROT_WRITE;
    int fd = open(path, O_RDWR | O_TRUNC), again = open(path, O_WRONLY);
    int from = open(other, O_RDWR | O_TRUNC);
    unsigned char *moved = room + 3 * 4096;

    check(ftruncate(fd, 2 * 4096), 0);
    check(mmap(room, 2 * 4096, both, flags, fd, 0) == room, 1);
    check(pwrite(fd, FROM, 16, 4), 16);
    memcpy(OUT(26), room + 2, 16);
    /* MOVES ..0123456789ABCD */
    memcpy(room + 6, AT(12), 3);
    check(write(again, AT(5), 5), 5);
    memcpy(OUT(27), room, 12);
    /* MOVES 567891CDE567.... */
    const struct iovec parts[2] = {{(void *)AT(1), 3}, {(void *)AT(11), 2}};
    check(pwritev(fd, parts, 2, 4094), 5);
    hide(room);
    memcpy(room + 4096 + 3, AT(9), 2);
    check(pread(fd, OUT(28), 10, 4093), 10);
    /* MOVES .123BC9A........ */
    off_t offset = 3, at = 4096 + 100;
    check(write(from, FROM, 16), 16);
    check(has_all ? copy_file_range(from, &offset, fd, &at, 6, 0) : pwrite(fd, AT(3), 6, at), 6);
    memcpy(OUT(29), room + 4096 + 100, 6);
    /* MOVES 345678.......... */
    if (has_all) {
        hide(room + 4096);
        check(mmap(moved, 4096, both, flags, fd, 4096) == moved, 1);
    } else {
        check(mremap(room + 4096, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved, 1);
        hide(room + 4096);
    }
    memcpy(moved + 200, AT(7), 4);
    check(pread(fd, OUT(30), 4, 4096 + 200), 4);
    check(pwrite(fd, AT(2), 3, 4096 + 202), 3);
    memcpy(OUT(30) + 8, moved + 200, 6);
    /* MOVES 789A....78234... */
    hide(moved);
    close(from);
    close(again);
    close(fd);
}

/* One file on other ways: through a directory that is a link, and by a name that only its inode
 * tells. */
static void ways(void)
{
    const char *relative = strrchr(path, '/') + 1;
    char name[128];
    struct stat stat;

    snprintf(name, sizeof(name), "/tmp/.././tmp//%s", relative);
    int fd = open(name, O_RDWR | O_TRUNC);
    check(write(fd, FROM, 16), 16);
    check(symlink("/tmp", third), 0);
    snprintf(name, sizeof(name), "%s/../tmp/%s", third, relative);
    int linked = open(name, O_RDONLY);
    check(read(linked, OUT(31), 5), 5);
    snprintf(name, sizeof(name), "/proc/self/cwd/%s", relative);
    int told = open(name, O_RDWR);
    check(fstat(fd, &stat), 0);
    check(fstat(told, &stat), 0);
    check(read(told, OUT(31) + 8, 8), 8);
    /* MOVES 01234...01234567 */
    check(pwrite(told, AT(7), 4, 2), 4);
    check(pread(fd, OUT(32), 10, 0), 10);
    /* MOVES 01789A6789...... */
    check(unlink(third), 0);
    close(told);
    close(linked);
    close(fd);
}

/* Calls that copy the process's own memory. */
static void own_memory(void)
{
    const struct iovec from[2] = {{(void *)AT(9), 4}, {(void *)AT(2), 5}};
    const struct iovec to[2] = {{OUT(33) + 6, 3}, {OUT(33), 6}};
    const struct iovec one = {OUT(34) + 1, 7};

    check(process_vm_readv(getpid(), to, 2, from, 2, 0), 9);
    /* MOVES C234569AB....... */
    check(process_vm_writev(getpid(), from, 2, &one, 1, 0), 7);
    /* MOVES .9ABC234........ */
}

/* Zeros that were written, and zeros where a file has lost bytes: by another descriptor, and
 * within. */
static void lost(void)
{
    int fd = open(path, O_RDWR | O_TRUNC), again = open(path, O_RDWR);
    int memory = memfd_create("lost", 0);
    volatile unsigned char none = 0;
    unsigned char zeros[16];

    for (unsigned i = 0; i < sizeof(zeros); i++)
        zeros[i] = in[i] & none;
    check(pwrite(fd, FROM, 6, 0), 6);
    check(pwrite(fd, zeros, 10, 6), 10);
    check(ftruncate(again, 6), 0);
    check(ftruncate(again, 16), 0);
    check(pread(fd, OUT(35), 16, 0), 16);
    /* MOVES 012345.......... */
    check(write(memory, FROM, 16), 16);
    check(pwrite(memory, zeros, 5, 3), 5);
    check(fallocate(memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 3, 5), 0);
    check(pread(memory, OUT(36), 16, 0), 16);
    /* MOVES 012.....89ABCDEF */
    close(memory);
    close(again);
    close(fd);
}

/* So that much of what that is executed depends on what came back. */
static void look(void)
{
    volatile unsigned sum = 0;

    for (unsigned i = 0; i < 3 * sizeof(out); i++)
        sum = sum * 3 + out[i * 7 % sizeof(out)];
}

int main(int argc, char **argv)
{
    (void)argv;
    has_all = argc < 2;
    snprintf(path, sizeof(path), "/tmp/wetdbg-channels-%d", (int)getpid());
    snprintf(other, sizeof(other), "/tmp/wetdbg-channels-%d.other", (int)getpid());
    snprintf(third, sizeof(third), "/tmp/wetdbg-channels-%d.third", (int)getpid());
    fill();
    pipes();
    files();
    names();
    sockets();
    between();
    mappings();
    outputs();
    other_names();
    shown();
    ways();
    own_memory();
    lost();
    unlink(path);
    unlink(other);
    look();
    return write(1, out, sizeof(out)) == sizeof(out) ? is_wrong : 1;
}
