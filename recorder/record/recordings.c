/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recordings that are there. What counts as one: a directory with the stream `events` and
 * either `version` (finished) or `incomplete` (being made, or left behind). Nothing here looks
 * into a stream.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/regular.h"
#include "recorder/record/trace_place.h"
#include "recorder/ticks/digest_format.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define LATEST_LINK  "latest-trace"
#define RR_FILES_DIR "files.rr" /* what rr itself may keep below a trace directory */

static char *join(const char *dir, const char *name)
{
    char *path;

    return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static int stat_in(const char *dir, const char *name, struct stat *st)
{
    char *path = join(dir, name);
    int err = path ? 0 : -ENOMEM;

    if (path && stat(path, st) != 0)
        err = -errno;
    free(path);
    return err;
}

static bool is_trace_dir(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return false;
    if (stat_in(path, "events", &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    return stat_in(path, "version", &st) == 0 || stat_in(path, "incomplete", &st) == 0;
}

/* rr locks `incomplete` for as long as it records. */
static bool is_being_recorded(const char *trace_dir)
{
    char *path = join(trace_dir, "incomplete");
    bool locked = false;
    struct stat st;
    int fd = -1, err = path ? wd_regular_try(AT_FDCWD, path, WD_LINKS_REFUSE, &fd, &st) : -ENOMEM;

    free(path);
    if (err)
        return false;
    locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd); /* and with it the lock */
    return locked;
}

bool wetdbg_recording_is_software_ticks(const char *trace_dir)
{
    struct stat st;

    return stat_in(trace_dir, TCK_MARK_NAME, &st) != -ENOENT;
}

/* ---- one entry ---- */

static void entry_fini(struct wetdbg_recording_entry *entry)
{
    free(entry->name);
    free(entry->path);
}

static int entry_init(struct wetdbg_recording_entry *entry, const char *place, const char *name)
{
    struct stat st;

    *entry = (struct wetdbg_recording_entry){.name = strdup(name), .path = join(place, name)};
    if (!entry->name || !entry->path) {
        entry_fini(entry);
        return wetdbg_fail(-ENOMEM, "out of memory");
    }
    entry->is_finished = stat_in(entry->path, "version", &st) == 0;
    if (entry->is_finished || stat_in(entry->path, "events", &st) == 0)
        entry->when = st.st_mtim;
    entry->is_running = !entry->is_finished && is_being_recorded(entry->path);
    entry->is_software_ticks = wetdbg_recording_is_software_ticks(entry->path);
    entry->size_bytes = rec_place_bytes(entry->path);
    return 0;
}

/* ---- all of them ---- */

static int compare_age(const void *a, const void *b)
{
    const struct wetdbg_recording_entry *x = a, *y = b;

    if (x->when.tv_sec != y->when.tv_sec)
        return x->when.tv_sec < y->when.tv_sec ? -1 : 1;
    if (x->when.tv_nsec != y->when.tv_nsec)
        return x->when.tv_nsec < y->when.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int add_entry(struct wetdbg_recording_entry **entries, size_t *count, const char *place,
                     const char *name)
{
    int err = wd_grow_one(*entries, *count);

    if (err)
        return wetdbg_fail(err, "out of memory");
    err = entry_init(&(*entries)[*count], place, name);
    if (!err)
        ++*count;
    return err;
}

/* latest-trace is a second name of something that is listed anyway. */
static bool is_listed_name(const char *place, const char *name)
{
    struct stat st;
    char *path;
    bool listed;

    if (name[0] == '.')
        return false;
    path = join(place, name);
    listed = path && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && is_trace_dir(path);
    free(path);
    return listed;
}

static int list_place(const char *place, struct wetdbg_recording_entry **entries, size_t *count)
{
    struct dirent *item;
    DIR *dir = opendir(place);
    int err = 0;

    if (!dir)
        return errno == ENOENT ? 0 : wetdbg_fail_errno("cannot list %s", place);
    while (!err && (item = readdir(dir))) {
        if (is_listed_name(place, item->d_name))
            err = add_entry(entries, count, place, item->d_name);
    }
    closedir(dir);
    return err;
}

int wetdbg_recordings_list(struct wetdbg_recording_entry **entries, size_t *count)
{
    struct wetdbg_recording_entry *found = NULL;
    size_t found_count = 0;
    char *place;
    int err = wetdbg_recordings_place(&place);

    if (err)
        return err;
    err = list_place(place, &found, &found_count);
    free(place);
    if (err) {
        wetdbg_recordings_free(found, found_count);
        return err;
    }
    if (found_count)
        qsort(found, found_count, sizeof(*found), compare_age);
    *entries = found;
    *count = found_count;
    return 0;
}

void wetdbg_recordings_free(struct wetdbg_recording_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        entry_fini(&entries[i]);
    free(entries);
}

/* ---- names ---- */

static int fail_no_trace_dir(const char *path, const char *real)
{
    static const char *const names[] = {"events", "version", "incomplete"};
    bool has[3], has_any = false;
    struct stat st;

    for (size_t i = 0; i < 3; i++) {
        int err = stat_in(real, names[i], &st);
        if (err == -EACCES)
            return wetdbg_fail(err, "%s: %s", path, strerror(EACCES));
        has[i] = err == 0;
        has_any |= has[i];
    }
    if (!has_any)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is not a trace directory", path);
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: `%s` is missing from the recording", path,
                       has[0] ? "version" : "events");
}

static int resolve(const char *path, char **resolved)
{
    char *real = realpath(path, NULL);

    if (!real)
        return errno == ENOENT ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no such recording", path)
                               : wetdbg_fail_errno("%s", path);
    if (!is_trace_dir(real)) {
        int err = fail_no_trace_dir(path, real);
        free(real);
        return err;
    }
    *resolved = real;
    return 0;
}

static int youngest(char **path)
{
    struct wetdbg_recording_entry *entries;
    size_t count;
    int err = wetdbg_recordings_list(&entries, &count);

    if (err)
        return err;
    if (count == 0)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "there is no recording yet; `wetdbg record` makes one");
    else
        err = resolve(entries[count - 1].path, path);
    wetdbg_recordings_free(entries, count);
    return err;
}

int wetdbg_recording_newest(char **path)
{
    char *place, *link = NULL, *real = NULL;
    int err = wetdbg_recordings_place(&place);

    if (err)
        return err;
    link = join(place, LATEST_LINK);
    free(place);
    if (link)
        real = realpath(link, NULL);
    free(link);
    if (real && is_trace_dir(real)) {
        *path = real;
        return 0;
    }
    free(real);
    return youngest(path);
}

int wetdbg_recording_find(const char *name, char **path)
{
    char *place, *below = NULL;
    int err;

    if (!name || !*name)
        return wetdbg_recording_newest(path);
    if (strchr(name, '/') || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return resolve(name, path);
    err = wetdbg_recordings_place(&place);
    if (err)
        return err;
    below = join(place, name);
    free(place);
    if (!below)
        return wetdbg_fail(-ENOMEM, "out of memory");
    err = is_trace_dir(below) ? resolve(below, path) : resolve(name, path);
    free(below);
    return err;
}

/* ---- removal ---- */

/* -ENOTEMPTY if there is a directory that no recording has: then it is not only a recording. */
static int find_foreign(int dir_fd, const char *path)
{
    struct dirent *item;
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), err = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct stat st;

    if (!dir) {
        err = wetdbg_fail_errno("cannot list %s", path);
        if (fd >= 0)
            close(fd);
        return err;
    }
    rewinddir(dir);
    while (!err && (item = readdir(dir))) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        if (fstatat(dir_fd, item->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
            strcmp(item->d_name, RR_FILES_DIR) != 0)
            err = wetdbg_fail(-ENOTEMPTY,
                              "%s holds a directory, %s, which no recording has; "
                              "nothing was removed",
                              path, item->d_name);
    }
    closedir(dir);
    return err;
}

static int remove_files(int dir_fd, const char *path)
{
    struct dirent *item;
    int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0), err = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (!dir) {
        err = wetdbg_fail_errno("cannot list %s", path);
        if (fd >= 0)
            close(fd);
        return err;
    }
    rewinddir(dir);
    while (!err && (item = readdir(dir))) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
            strcmp(item->d_name, RR_FILES_DIR) == 0)
            continue;
        if (unlinkat(dir_fd, item->d_name, 0) != 0 && errno != ENOENT)
            err = wetdbg_fail_errno("cannot remove %s/%s", path, item->d_name);
    }
    closedir(dir);
    return err;
}

static int remove_tree(const char *path)
{
    int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), sub_fd, err;

    if (dir_fd < 0)
        return wetdbg_fail_errno("cannot remove %s", path);
    err = find_foreign(dir_fd, path);
    sub_fd = openat(dir_fd, RR_FILES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!err && sub_fd >= 0) {
        err = find_foreign(sub_fd, path);
        if (!err)
            err = remove_files(sub_fd, path);
        if (!err && unlinkat(dir_fd, RR_FILES_DIR, AT_REMOVEDIR) != 0)
            err = wetdbg_fail_errno("cannot remove %s/%s", path, RR_FILES_DIR);
    }
    if (sub_fd >= 0)
        close(sub_fd);
    if (!err)
        err = remove_files(dir_fd, path);
    close(dir_fd);
    if (!err && rmdir(path) != 0)
        err = wetdbg_fail_errno("cannot remove %s", path);
    return err;
}

/* A link that leads nowhere would hide the next newest recording from other tools. */
static void drop_dead_link(void)
{
    char *place, *link;

    if (wetdbg_recordings_place(&place) != 0)
        return;
    link = join(place, LATEST_LINK);
    if (link && access(link, F_OK) != 0 && errno == ENOENT)
        unlink(link);
    free(link);
    free(place);
}

int wetdbg_recording_remove(const char *name)
{
    char *path;
    int err;

    if (!name || !*name)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no recording to remove was named");
    err = wetdbg_recording_find(name, &path);
    if (err)
        return err;
    if (is_being_recorded(path))
        err = wetdbg_fail(-EBUSY, "%s is still being recorded; nothing was removed", path);
    if (!err)
        err = remove_tree(path);
    if (!err)
        drop_dead_link();
    free(path);
    return err;
}

void rec_place_discard(const char *trace_dir)
{
    if (is_trace_dir(trace_dir) && !is_being_recorded(trace_dir) && remove_tree(trace_dir) == 0)
        drop_dead_link();
}
