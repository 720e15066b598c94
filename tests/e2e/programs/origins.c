/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values with known origins, and a file that is written out of order. Argument: a file to read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct record {
    char name[24];
    int count;
    short kind;
    char tail[30];
};

static char input[64];
static struct record first, second;
static int table[4] = {3, 5, 7, 9};
static char fill[] = "aaaaaaaaaa", late[] = "bbbb", piece[] = "cc", other[] = "dddd", end[] = "eee";

static long widen(int narrow)
{
    return narrow;
}

static char again[16]; /* the file, read back */

static void copy(struct record *to, const struct record *from, size_t size)
{
    memcpy(to, from, size);
}

/* Leaves "aaabbbbaccdddeee". */
static int write_file(void)
{
    struct iovec pieces[2] = {{piece, 2}, {other, 4}};
    int fd = open("out.bin", O_RDWR | O_CREAT | O_TRUNC, 0600), twin = dup(fd);
    ssize_t done = write(fd, fill, 10);

    done += pwrite(fd, late, 4, 3);
    lseek(twin, 8, SEEK_SET);
    done += writev(fd, pieces, 2);
    done += ftruncate(fd, 13);
    close(fd);
    close(twin);
    fd = open("./out.bin", O_WRONLY | O_APPEND);
    lseek(fd, 0, SEEK_END);
    done += write(fd, end, 3);
    close(fd);
    fd = open("out.bin", O_RDONLY);
    done += read(fd, again, sizeof(again));
    close(fd);
    return done == 23 + 16;
}

static int hold(const char *text, int number)
{
    long kept = widen(-number);
    int is_written = write_file();

    return is_written && text[0] && kept < 0; /* HOLD */
}

int main(int argc, char **argv)
{
    int fd = open(argv[1], O_RDONLY);

    lseek(fd, 2, SEEK_SET);
    if (argc != 2 || read(fd, input, sizeof(input)) < 32)
        return 1;
    memcpy(first.name, input + 3, 20);
    first.count = argc * 17;
    first.kind = (short)table[2];
    memset(first.tail, 'x', sizeof(first.tail));
    copy(&second, &first, sizeof(second));
    char *heap = strdup(second.name);
    int held = hold(heap, second.count);
    printf("%s %d\n", heap, second.kind);
    return !held;
}
