/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_input.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/errors.h>

#define INPUT_MAX (16u << 20) /* bytes: what is larger is not run many times */
#define PIPE_MS   100         /* so long it is waited for the end of who writes into the pipe */

__attribute__((format(printf, 2, 3))) static int none(struct cli_locate_input *input,
                                                      const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(input->why_not, sizeof(input->why_not), format, args);
    va_end(args);
    return 0;
}

/* All of a descriptor from a place on: of a file by its offset, of a pipe what is in it. */
static int read_all(int fd, bool is_file, size_t size, struct wetdbg_dd_bytes *bytes)
{
    bytes->data = cli_malloc(size + 1);
    for (bytes->size = 0; bytes->size < size;) {
        uint8_t *to = bytes->data + bytes->size;
        ssize_t got = is_file ? pread(fd, to, size - bytes->size, (off_t)bytes->size)
                              : read(fd, to, size - bytes->size);
        if (got < 0 && errno != EINTR)
            return -errno;
        if (!got)
            break;
        bytes->size += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* ---- standard input ---- */

/* What is in a pipe stays there: it is read from a second one, into which the kernel copies it. */
static int read_pipe(size_t size, struct wetdbg_dd_bytes *bytes)
{
    int copy[2];

    if (pipe2(copy, O_CLOEXEC))
        return -errno;
    int err = fcntl(copy[1], F_SETPIPE_SZ, fcntl(0, F_GETPIPE_SZ)) < 0 ? -errno : 0;
    ssize_t got = err ? 0 : tee(0, copy[1], size, SPLICE_F_NONBLOCK);
    if (got < 0 || (!err && (size_t)got != size))
        err = -EIO;
    close(copy[1]);
    if (!err)
        err = read_all(copy[0], false, size, bytes);
    close(copy[0]);
    return err;
}

/* A file of our own, since the name of standard input may say nothing by now. */
static int copy_stdin(struct cli_locate_input *input)
{
    size_t done = 0;
    ssize_t wrote = 1;

    input->fd = memfd_create("input", MFD_CLOEXEC);
    while (input->fd > 0 && done < input->bytes.size && wrote > 0) {
        wrote = write(input->fd, input->bytes.data + done, input->bytes.size - done);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    if (input->fd <= 0 || done < input->bytes.size)
        return wetdbg_fail_errno("a copy of standard input");
    input->name = cli_asprintf("/proc/self/fd/%d", input->fd);
    input->what = "the standard input";
    return 0;
}

static int find_pipe(struct cli_locate_input *input)
{
    struct pollfd end = {.fd = 0};
    int size = 0;

    if (poll(&end, 1, PIPE_MS) < 0 || !(end.revents & POLLHUP))
        return none(input, "standard input is a pipe that something still writes into; a file can "
                           "be read again");
    if (ioctl(0, FIONREAD, &size) || size <= 0)
        return 0;
    if (read_pipe((size_t)size, &input->bytes))
        return none(input, "standard input is a pipe that cannot be looked into; a file can");
    return copy_stdin(input);
}

/* Whether it is for us: a terminal and devices are not. */
static bool is_stdin_input(struct stat *status)
{
    return !fstat(0, status) && (S_ISREG(status->st_mode) || S_ISFIFO(status->st_mode));
}

static int find_stdin(struct cli_locate_input *input, const struct stat *status)
{
    if (S_ISFIFO(status->st_mode))
        return find_pipe(input);
    if (lseek(0, 0, SEEK_CUR) != 0)
        return none(input, "standard input was read before");
    if (!status->st_size)
        return 0;
    if (status->st_size > INPUT_MAX)
        return none(input, "standard input has more than %u MiB", INPUT_MAX >> 20);
    if (read_all(0, true, (size_t)status->st_size, &input->bytes))
        return none(input, "standard input cannot be read");
    return copy_stdin(input);
}

/* ---- a file ---- */

static bool is_file(const char *name, struct stat *status)
{
    return !stat(name, status) && S_ISREG(status->st_mode) && status->st_size > 0 &&
           !access(name, R_OK);
}

static int find_file(struct cli_locate_input *input, const char *name)
{
    struct stat status;

    if (!is_file(name, &status) || status.st_size > INPUT_MAX)
        return none(input, "%.100s is no file of 1 to %u MiB that can be read", name,
                    INPUT_MAX >> 20);
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    int err = fd < 0 ? -errno : read_all(fd, true, (size_t)status.st_size, &input->bytes);
    if (fd >= 0)
        close(fd);
    if (err)
        return none(input, "%.100s cannot be read", name);
    input->name = cli_strdup(name);
    input->what = input->name;
    return 0;
}

static const char *last_file(char *const *argv)
{
    struct stat status;
    const char *found = NULL;

    for (size_t i = 1; argv[0] && argv[i]; i++)
        if (is_file(argv[i], &status))
            found = argv[i];
    return found;
}

/* A program that has @@ in its words has no file there unless --fail says so. */
static bool has_marks(char *const *argv)
{
    for (size_t i = 1; argv[0] && argv[i]; i++)
        if (strstr(argv[i], "@@"))
            return true;
    return false;
}

int cli_locate_input_find(char *const *argv, const char *fail, struct cli_locate_input *input)
{
    struct stat status;
    const char *word = fail ? fail : last_file(argv);

    *input = (struct cli_locate_input){.argv = argv};
    if (!fail && has_marks(argv))
        return none(input, "a word has @@ in it, and --fail=FILE does not say for which file");
    if (!fail && is_stdin_input(&status)) {
        int err = find_stdin(input, &status);
        if (err || input->name || !word)
            return err;
        input->why_not[0] = 0;
    }
    return word ? find_file(input, word) : 0;
}

void cli_locate_input_fini(struct cli_locate_input *input)
{
    if (input->fd > 0)
        close(input->fd);
    free(input->bytes.data);
    free(input->name);
    *input = (struct cli_locate_input){0};
}

int cli_locate_input_keep(const struct wetdbg_dd_bytes *input, const char *wet_path,
                          const char *name, char **file)
{
    const char *slash = strrchr(wet_path, '/');
    int length = slash ? (int)(slash - wet_path + 1) : 0;

    *file = cli_asprintf("%.*s%s", length, wet_path, name);
    int err = cli_whole_file_write(*file, input->data, input->size);
    if (err) {
        free(*file);
        *file = NULL;
    }
    return err;
}

struct wetdbg_dd_options cli_locate_input_runs(const struct cli_locate_input *input)
{
    return (struct wetdbg_dd_options){
        .argv = input->argv, .fail = input->name, .interrupted = cli_interrupt_flag()};
}
