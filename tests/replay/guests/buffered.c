/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that rr buffers, and how they end: at once, blocked, interrupted, refused. The output and
 * the exit status are made of what they return. argv[1]: a file of 100 bytes at least. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
    alarms += number == SIGALRM;
}

static int sum_of(const char *bytes, size_t count)
{
    int sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = (sum * 31 + (unsigned char)bytes[i]) % 65521;
    return sum;
}

/* Results, and what is written through pointers. */
static int read_file(const char *path)
{
    char bytes[64];
    struct stat st;
    int sum = 0;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 100)
        exit(90);
    for (int i = 0; i < 3; i++) {
        ssize_t count = read(fd, bytes, 20);
        sum += sum_of(bytes, (size_t)count);
    }
    if (lseek(fd, 10, SEEK_SET) != 10 || pread(fd, bytes, 30, 50) != 30)
        exit(91);
    sum += sum_of(bytes, 30);
    close(fd);
    if (open("/nowhere/at/all", O_RDONLY) >= 0 || errno != ENOENT)
        exit(92);
    return sum;
}

static int change_memory(void)
{
    size_t size = 4 * 4096;
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(93);
    memset(at, 7, size);
    mprotect(at, 4096, PROT_READ);
    mprotect(at, 4096, PROT_READ | PROT_WRITE);
    if (!mprotect(at + 1, 4096, PROT_READ))
        exit(94);
    madvise(at + 4096, 4096, MADV_DONTNEED);
    madvise(at, size, MADV_NORMAL);
    int sum = 0;
    for (size_t i = 0; i < size; i += 512)
        sum += at[i];
    munmap(at, size);
    return sum;
}

/* A child that forked within the library, and reads that wait for it. */
static int wait_for_child(void)
{
    int ends[2], status, got = 0;
    char byte;
    if (pipe(ends))
        exit(95);
    pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 3; i++) {
            usleep(3000);
            if (write(ends[1], &"abc"[i], 1) != 1)
                _exit(1);
        }
        _exit(11);
    }
    close(ends[1]);
    while (read(ends[0], &byte, 1) == 1)
        got += byte;
    struct pollfd poll_fd = {.fd = ends[0], .events = POLLIN};
    got += poll(&poll_fd, 1, 0) + poll_fd.revents;
    close(ends[0]);
    waitpid(child, &status, 0);
    return got + WEXITSTATUS(status);
}

/* A signal while a call waits. */
static int be_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval soon = {.it_value = {.tv_usec = 5000}};
    int ends[2];
    char byte;
    sigset_t set, old;
    if (pipe(ends) || sigaction(SIGALRM, &action, NULL))
        exit(96);
    setitimer(ITIMER_REAL, &soon, NULL);
    ssize_t got = read(ends[0], &byte, 1);
    int failed = got < 0 && errno == EINTR;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGALRM);
    int before = alarms;
    sigprocmask(SIG_SETMASK, &old, NULL);
    return failed * 100 + before * 10 + alarms;
}

/* With code behind it by which rr knows how to patch it. */
static unsigned long now_of_tsc(void)
{
    unsigned long low, high, copy;
    __asm__ volatile("rdtsc\n\tmov %%rax, %%rcx" : "=a"(low), "=d"(high), "=c"(copy));
    return high << 32 | copy;
}

/* How often it went on. */
static int look_at_clock(void)
{
    unsigned long last = 0;
    int later = 0;
    for (int i = 0; i < 5; i++) {
        unsigned long now = now_of_tsc();
        later += now > last;
        last = now;
    }
    return later;
}

static void put_out(int sum)
{
    char number[16];
    struct iovec parts[2] = {{"sum ", 4}, {number, 0}};
    struct timespec now;
    parts[1].iov_len = (size_t)snprintf(number, sizeof(number), "%d\n", sum);
    if (clock_gettime(CLOCK_MONOTONIC, &now) || now.tv_sec < 0)
        exit(97);
    if (writev(1, parts, 2) < 0)
        exit(98);
}

int main(int argc, char **argv)
{
    int sum = argc > 1 ? read_file(argv[1]) : 0;
    put_out(sum);
    int memory = change_memory();
    put_out(memory);
    int child = wait_for_child();
    put_out(child);
    int signals = be_interrupted();
    put_out(signals);
    put_out(look_at_clock());
    printf("%d processes\n", getpid() > 0 ? 2 : 0);
    return (sum + memory + child + signals) % 50;
}
