/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One of each thing that moves, grows or writes memory from outside; then ends as its argument
 * says: "exit", "crash" (SIGSEGV at 0x1234), "abort", "overflow" (of the stack, with a handler
 * that has no stack to run on), or "child" (crashes in a grandchild that forked without exec).
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                \
            _exit(99);                                                                             \
        }                                                                                          \
    } while (0)

static volatile int handled;

static int grow_stack(int depth)
{
    volatile char frame[8192];
    frame[0] = (char)depth;
    return depth ? grow_stack(depth - 1) + frame[0] : 0;
}

static int sink;

static void overflow_stack(int depth)
{
    volatile char frame[65536];
    frame[0] = (char)depth;
    if (depth < 1 << 20) /* never reached: the stack ends long before */
        overflow_stack(depth + 1);
    sink += frame[0];
}

static void handler(int number)
{
    (void)number;
    handled++;
}

static void use_mappings(void)
{
    char *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(map != MAP_FAILED);
    memset(map, 1, 65536);
    map = mremap(map, 65536, 1 << 20, MREMAP_MAYMOVE);
    CHECK(map != MAP_FAILED && map[65535] == 1 && map[65536] == 0);
    map = mremap(map, 1 << 20, 32768, 0);
    CHECK(map != MAP_FAILED);
    CHECK(!madvise(map, 4096, MADV_DONTNEED) && map[0] == 0 && map[4096] == 1);
    CHECK(!mprotect(map + 8192, 4096, PROT_READ));
    CHECK(mprotect(map + 16384, 1 << 20, PROT_READ) == -1); /* runs off the end */
    CHECK(!munmap(map, 32768));
}

static void use_file(void)
{
    char path[] = "/tmp/feed_workout_XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "0123456789", 10) == 10);
    char *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(shared != MAP_FAILED);
    shared[0] = 'x';
    CHECK(pwrite(fd, "y", 1, 1) == 1 && shared[1] == 'y');
    CHECK(!munmap(shared, 4096) && !close(fd) && !unlink(path));
}

static void use_segment(void)
{
    int id = shmget(IPC_PRIVATE, 12288, IPC_CREAT | 0600);
    CHECK(id >= 0);
    char *segment = shmat(id, NULL, 0);
    CHECK(segment != (char *)-1);
    segment[8192] = 1;
    CHECK(!mprotect(segment + 4096, 4096, PROT_READ));
    CHECK(!shmdt(segment) && !shmctl(id, IPC_RMID, NULL));
}

static void use_heap(void)
{
    static char *blocks[256];
    for (int i = 0; i < 256; i++)
        CHECK((blocks[i] = malloc(5000)) && memset(blocks[i], i, 5000));
    for (int i = 0; i < 256; i++)
        free(blocks[i]);
    CHECK(sbrk(1 << 20) != (void *)-1 && sbrk(-(1 << 20)) != (void *)-1);
}

static void use_output(void)
{
    int pair[2];
    char got[6];
    struct iovec parts[2] = {{"abc", 3}, {"def", 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    CHECK(writev(pair[0], parts, 2) == 6 && read(pair[1], got, 6) == 6);
    CHECK(sendmsg(pair[0], &message, 0) == 6 && read(pair[1], got, 6) == 6);
    CHECK(!memcmp(got, "abcdef", 6));
    close(pair[0]);
    close(pair[1]);
}

static void use_signals(void)
{
    struct sigaction action = {.sa_handler = handler};
    int fds[2];
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    CHECK(handled == 1 && !pipe(fds));
    signal(SIGWINCH, SIG_IGN);
    raise(SIGWINCH);
}

static void use_children(void)
{
    for (int i = 0; i < 3; i++)
        CHECK(system("echo hi | cat >/dev/null") == 0);
    int status;
    pid_t pid = vfork();
    if (!pid)
        _exit(7);
    CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7);
}

static void crash_in_grandchild(void)
{
    int status;
    if (fork()) {
        wait(&status);
        return;
    }
    if (fork()) {
        wait(&status);
        _exit(3);
    }
    use_mappings();
    *(volatile int *)0x1234 = 1;
}

int main(int argc, char **argv)
{
    const char *ending = argc > 1 ? argv[1] : "exit";
    CHECK(grow_stack(100) != 1);
    use_mappings();
    use_file();
    use_segment();
    use_heap();
    use_output();
    use_signals();
    use_children();
    puts("done");
    fflush(stdout);
    if (!strcmp(ending, "crash"))
        *(volatile int *)0x1234 = 1;
    if (!strcmp(ending, "abort"))
        abort();
    if (!strcmp(ending, "overflow")) {
        signal(SIGSEGV, handler);
        overflow_stack(0);
    }
    if (!strcmp(ending, "child"))
        crash_in_grandchild();
    return 0;
}
