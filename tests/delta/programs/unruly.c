/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unruly FILE [DEED]...: does what programs under test do at their worst, then aborts if FILE has an X in it.
 * Without an X other letters in FILE have it misbehave in another way: L never ends, F fills the disk, M takes
 * memory, B starts processes without end.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char input[4096], block[1 << 20];

static void leave_daemon(void)
{
    if (fork())
        return;
    setsid();
    if (fork())
        _exit(0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (;;)
        sleep(1000);
}

static void leave_files(void)
{
    char name[4096];
    snprintf(name, sizeof(name), "%s/deep", getenv("TMPDIR"));
    mkdir(name, 0700);
    strcat(name, "/file");
    close(open(name, O_CREAT | O_WRONLY, 0400));
    *strrchr(name, '/') = 0;
    chmod(name, 0);
}

static void do_deed(const char *deed, const char *file)
{
    if (strcmp(deed, "daemon") == 0)
        leave_daemon();
    else if (strcmp(deed, "files") == 0)
        leave_files();
    else if (strcmp(deed, "deaf") == 0)
        signal(SIGTERM, SIG_IGN);
    else if (strcmp(deed, "overwrite") == 0)
        close(open(file, O_WRONLY | O_TRUNC));
    else if (strcmp(deed, "mute") == 0)
        close(1);
    else if (strcmp(deed, "tty") == 0 && open("/dev/tty", O_RDWR) >= 0)
        exit(3);
    else if (strcmp(deed, "group") == 0)
        kill(0, SIGKILL);
}

static void fill_disk(void)
{
    char name[4096];
    for (int i = 0;; i++) {
        snprintf(name, sizeof(name), "%s/%d", getenv("TMPDIR"), i);
        int fd = open(name, O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || write(fd, block, sizeof(block)) < 0)
            usleep(1000);
        close(fd);
    }
}

static void take_memory(void)
{
    for (;;) {
        char *bytes = malloc(sizeof(block));
        if (bytes)
            memset(bytes, 1, sizeof(block));
        usleep(500);
    }
}

/* Without end for those who watch: it would stop at 2,048. */
static void breed(void)
{
    for (int i = 0; i < 11; i++) {
        fork();
        usleep(100000);
    }
    pause();
}

int main(int argc, char *argv[])
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : 0;
    if (fd < 0 || read(fd, input, sizeof(input) - 1) < 0)
        return 2;
    memset(block, 'b', sizeof(block));
    for (int i = 2; i < argc; i++)
        do_deed(argv[i], argv[1]);
    if (strchr(input, 'X'))
        abort();
    if (strchr(input, 'L'))
        for (;;)
            pause();
    if (strchr(input, 'F'))
        fill_disk();
    if (strchr(input, 'M'))
        take_memory();
    if (strchr(input, 'B'))
        breed();
    return 0;
}
