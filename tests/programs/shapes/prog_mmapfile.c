/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps the file named by argv[1] (or itself), remaps, protects and unmaps; counts its bytes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int count_lines(const char *bytes, size_t size)
{
    int lines = 0;

    for (size_t i = 0; i < size; i++)
        lines += bytes[i] == '\n';
    return lines;
}

static int report_file(const char *path)
{
    struct stat st;
    char *bytes;
    int fd = open(path, O_RDONLY);

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
        return 1;
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return 1;
    printf("%d lines\n", count_lines(bytes, (size_t)st.st_size));
    for (off_t i = 0; i < st.st_size; i += 7)
        bytes[i] = '\n';
    printf("%d lines after writing\n", count_lines(bytes, (size_t)st.st_size));
    return munmap(bytes, (size_t)st.st_size);
}

static int grow_anonymous(void)
{
    const size_t page = 4096;
    char *block = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *grown;

    if (block == MAP_FAILED)
        return 1;
    strcpy(block + page - 3, "across the page");
    grown = mremap(block, 2 * page, 64 * page, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return 1;
    printf("%s, tail %d\n", grown + page - 3, grown[50 * page]);
    if (mprotect(grown, page, PROT_READ) != 0 || madvise(grown + page, page, MADV_DONTNEED) != 0)
        return 1;
    printf("kept %.3s, dropped %d\n", grown + page - 3, grown[page]);
    return munmap(grown, 64 * page);
}

int main(int argc, char **argv)
{
    if (report_file(argc > 1 ? argv[1] : "/proc/self/comm") != 0)
        puts("no file");
    return grow_anonymous();
}
