/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Does what it is told, which is harmless where it is recorded; and decides a few things. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static volatile int order;

static void eat(void)
{
    for (;;) {
        char *room =
            mmap(NULL, 1 << 28, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (room == MAP_FAILED)
            exit(7);
        for (size_t i = 0; i < 1 << 28; i += 4096)
            room[i] = 1;
    }
}

static void call_out(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strcpy(name.sun_path, "socket");
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    exit(connect(fd, (struct sockaddr *)&name, sizeof(name)) ? 5 : 6);
}

static void overwrite(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file)
        fputs("overwritten", file);
    exit(file && !fclose(file) ? 9 : 8);
}

static void mend_nothing(int number)
{
    (void)number;
}

static void fault_on(void)
{
    signal(SIGSEGV, mend_nothing);
    *(volatile int *)8 = 1;
    exit(11);
}

static void obey(const char *path)
{
    switch (order) {
    case 1:
        exit(unlink(path) ? 2 : 3);
    case 2:
        kill(getppid(), SIGKILL);
        kill(-1, SIGKILL);
        exit(4);
    case 3:
        for (;;)
            fork();
    case 4:
        call_out();
    case 5:
        eat();
    case 6:
        for (;;)
            write(1, "without end\n", 12);
    case 7:
        for (;;)
            ;
    case 8:
        execl("/bin/touch", "touch", "touched", (char *)NULL);
        exit(10);
    case 9:
        overwrite(path);
    case 10:
        fault_on();
    }
}

int main(int argc, char *argv[])
{
    int big = 0;
    obey(argc > 1 ? argv[1] : "."); /* ORDER */
    for (int i = 0; i < 10; i++) {
        if (i > 6) /* TURN */
            big++;
    }
    printf("%d big\n", big);
    return big > 3;
}
