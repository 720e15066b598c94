/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/find_rr.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#define PRELOAD_NAME "libwetdbg-ticks.so"
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static int copy_path(const char *text, char **path)
{
    char *copy = strdup(text);

    if (!copy)
        return wetdbg_fail(-ENOMEM, "out of memory");
    *path = copy;
    return 0;
}

static bool is_runnable(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* First runnable `name` along PATH into `found` (PATH_MAX bytes). An empty element is here. */
static bool search_path(const char *name, char *found)
{
    const char *element = getenv("PATH");

    if (!element)
        element = PATH_DEFAULT;
    for (;;) {
        int length = (int)strcspn(element, ":");
        int written =
            snprintf(found, PATH_MAX, "%.*s%s%s", length, element, length ? "/" : "./", name);

        if (written < PATH_MAX && is_runnable(found))
            return true;
        if (!element[length])
            return false;
        element += length + 1;
    }
}

/* Why a file that was named with a path cannot be run. */
static int explain_program(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 && errno == ENOENT)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no such program", path);
    if (stat(path, &st) != 0)
        return wetdbg_fail_errno("%s", path);
    if (S_ISDIR(st.st_mode))
        return wetdbg_fail(-EISDIR, "%s is a directory, not a program", path);
    return wetdbg_fail(-EACCES, "%s is not executable", path);
}

/* rr does not run what only a shell would: a script without an interpreter line. And what it runs
 * in 32 bits could never be replayed. */
static int check_format(const char *path)
{
    unsigned char start[5] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return errno == EACCES ? 0
                               : wetdbg_fail_errno("%s", path); /* executable but not readable */
    got = read(fd, start, sizeof(start));
    close(fd);
    if (got == sizeof(start) && memcmp(start, "\177ELF", 4) == 0) {
        if (start[EI_CLASS] == ELFCLASS64)
            return 0;
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "%s is a 32-bit program; only x86-64 ones are replayed", path);
    }
    if (got >= 2 && memcmp(start, "#!", 2) == 0)
        return 0;
    return wetdbg_fail(-ENOEXEC, "%s is neither an ELF program nor a script that starts with #!",
                       path);
}

int rec_locate_program(const char *name, char **path)
{
    char found[PATH_MAX];
    int err;

    if (!*name)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program's name is empty");
    if (strchr(name, '/')) {
        if (!is_runnable(name))
            return explain_program(name);
        snprintf(found, sizeof(found), "%s", name);
    } else if (!search_path(name, found)) {
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no such program in PATH", name);
    }
    err = check_format(found);
    return err ? err : copy_path(found, path);
}

int rec_locate_rr(char **path)
{
    const char *named = getenv("WETDBG_RR");
    char found[PATH_MAX];

    if (named && *named && strchr(named, '/')) {
        if (is_runnable(named))
            return copy_path(named, path);
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "WETDBG_RR=%s is not a program", named);
    }
    if (search_path(named && *named ? named : "rr", found))
        return copy_path(found, path);
    return wetdbg_fail(
        -WETDBG_ERR_MACHINE,
        "rr is not installed, and recording needs it: `apt install rr` (Debian, Ubuntu), "
        "`dnf install rr` (Fedora), or https://rr-project.org; "
        "WETDBG_RR=/path/to/rr names one outside PATH");
}

/* Where the preload lies, seen from the folder of the program's file, and from that of
 * libwetdbg.so. */
static const char *const from_program[] = {
    "../lib/wetdbg", "../lib/x86_64-linux-gnu/wetdbg", "../lib64/wetdbg", "../recorder/ticks", NULL,
};
static const char *const from_library[] = {"wetdbg", "../recorder/ticks", NULL};

/* Looks in `dirs` seen from where `file` is. */
static bool find_beside(const char *file, const char *const *dirs, char *found)
{
    const char *slash = strrchr(file, '/');

    for (; slash && *dirs; dirs++) {
        int written =
            snprintf(found, PATH_MAX, "%.*s/%s/" PRELOAD_NAME, (int)(slash - file), file, *dirs);

        if (written < PATH_MAX && access(found, R_OK) == 0)
            return true;
    }
    return false;
}

static bool find_preload(char *found)
{
    char exe[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    Dl_info library;

    if (length > 0) {
        exe[length] = 0;
        if (find_beside(exe, from_program, found))
            return true;
    }
    if (dladdr(from_library, &library) && find_beside(library.dli_fname, from_library, found))
        return true;
    snprintf(found, PATH_MAX, "%s/" PRELOAD_NAME, WETDBG_TICKS_BUILD_DIR);
    if (access(found, R_OK) == 0)
        return true;
    snprintf(found, PATH_MAX, "%s/" PRELOAD_NAME, WETDBG_TICKS_INSTALL_DIR);
    return access(found, R_OK) == 0;
}

int rec_locate_preload(char **path)
{
    char found[PATH_MAX], real[PATH_MAX];

    if (!find_preload(found) || !realpath(found, real))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           PRELOAD_NAME " is missing: neither below %s nor beside this program",
                           WETDBG_TICKS_INSTALL_DIR);
    /* ld.so splits LD_PRELOAD at these and has no way to quote them. */
    if (strpbrk(real, " :"))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "%s cannot be preloaded: its path has a space or a colon in it", real);
    return copy_path(real, path);
}
