/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/ticks/maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/ticks/real.h"

bool tck_maps_is_path(const char *path)
{
    const char *tail;

    if (strncmp(path, "/proc/", 6) != 0)
        return false;
    tail = strchr(path + 6, '/');
    return tail && strcmp(tail, "/maps") == 0;
}

static bool line_is_named(const char *line, const char *end, const char *name)
{
    size_t length = strlen(name);

    return (size_t)(end - line) > length && memcmp(end - length, name, length) == 0;
}

/* Both lines start "from-to "; the digits of `to` are replaced, the rest of the line moves. */
static size_t join_lines(char *first, char *second, size_t text_left)
{
    char *first_to = strchr(first, '-') + 1, *second_to = strchr(second, '-') + 1;
    size_t first_digits = strcspn(first_to, " "), second_digits = strcspn(second_to, " ");
    char *second_end = second + strcspn(second, "\n");

    if (first_digits != second_digits || strncmp(first_to, second, first_digits) != 0)
        return 0;
    memcpy(first_to, second_to, second_digits);
    if (*second_end == '\n')
        second_end++;
    memmove(second, second_end, text_left - (size_t)(second_end - second) + 1);
    return (size_t)(second_end - second);
}

size_t tck_maps_join_vvar(char *text)
{
    size_t length = strlen(text);
    char *line = text;

    while (*line) {
        char *end = line + strcspn(line, "\n");
        char *next = *end ? end + 1 : end;
        char *next_end = next + strcspn(next, "\n");

        if (line_is_named(line, end, "[vvar]") && line_is_named(next, next_end, "[vvar_vclock]"))
            length -= join_lines(line, next, length - (size_t)(next - text));
        line = next;
    }
    return length;
}

/* The whole file, zero-terminated; NULL with errno. To be freed. */
static char *read_text(int fd)
{
    size_t capacity = 1 << 16, length = 0;
    char *text = malloc(capacity);

    while (text) {
        ssize_t got = tck_real()->read(fd, text + length, capacity - length - 1);
        char *larger;

        if (got < 0) {
            free(text);
            return NULL;
        }
        length += (size_t)got;
        if (got == 0)
            break;
        if (capacity - length > 4096)
            continue;
        larger = realloc(text, capacity * 2);
        if (!larger)
            free(text);
        text = larger;
        capacity *= 2;
    }
    if (text)
        text[length] = 0;
    return text;
}

/* A memory file rather than fmemopen, whose end-of-file rules differ between libraries. */
static FILE *text_as_stream(const char *text, size_t length)
{
    int fd = memfd_create("maps", MFD_CLOEXEC);
    FILE *stream;

    if (fd < 0)
        return NULL;
    if (write(fd, text, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) != 0) {
        tck_real()->close(fd);
        return NULL;
    }
    stream = fdopen(fd, "r");
    if (!stream)
        tck_real()->close(fd);
    return stream;
}

FILE *tck_maps_open(const char *path)
{
    int fd = tck_real()->open(path, O_RDONLY | O_CLOEXEC);
    FILE *stream;
    char *text;

    if (fd < 0)
        return NULL;
    text = read_text(fd);
    tck_real()->close(fd);
    if (!text)
        return NULL;
    stream = text_as_stream(text, tck_maps_join_vvar(text));
    free(text);
    return stream;
}
