/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/trust.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/digest.h"
#include "recorder/record/side_file.h"
#include "recorder/rr_trace/trace_sums.h"
#include <wetdbg/errors.h>

#define MARK_NAME      "wetdbg.mark"
#define MARK_DOMAIN    "wetdbg recording mark 1\n" /* tells apart what the key is used for */
#define SECRET_DOMAIN  "wetdbg secret 1\n"
#define KEY_NAME       "key"
#define LIST_MAX_BYTES ((size_t)16 << 20)

/* ---- the key ---- */

/* rr's directories are open to the group where umask is 002. What others may have put there
 * meanwhile is theirs, and counts for nothing. */
static void close_to_others(int dir_fd)
{
    struct stat st;
    if (fstat(dir_fd, &st) == 0 && st.st_uid == geteuid() && st.st_mode & (S_IWGRP | S_IWOTH))
        fchmod(dir_fd, st.st_mode & 07777 & ~(mode_t)(S_IWGRP | S_IWOTH));
}

/* Makes the directory and those above it that are missing. */
static int make_dirs(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int err = mkdir(path, 0700);
        *slash = '/';
        if (err && errno != EEXIST)
            return -errno;
    }
    return mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
}

/* A relative $XDG_STATE_HOME is to be ignored (XDG Base Directory Specification). */
static int state_path(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (state && state[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/wetdbg", state);
    else if (home && home[0] == '/')
        length = snprintf(path, PATH_MAX, "%s/.local/state/wetdbg", home);
    return length > 0 && length < PATH_MAX ? 0 : -ENOENT;
}

/* The directory of the key, as a descriptor, if nobody else can change what is in it. */
static int open_state(bool make)
{
    char path[PATH_MAX];
    struct stat st;
    int err = state_path(path);
    if (!err && make)
        err = make_dirs(path);
    if (err)
        return err;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (make)
        close_to_others(fd);
    if (fstat(fd, &st) == 0 && rec_is_owned(&st))
        return fd;
    close(fd);
    return -EPERM;
}

static int read_key(int state_fd, uint8_t key[WD_DIGEST_KEY_BYTES])
{
    char *bytes;
    size_t count;
    int err = rec_side_file_read(state_fd, KEY_NAME, true, WD_DIGEST_KEY_BYTES, &bytes, &count);
    if (err)
        return err;
    if (count == WD_DIGEST_KEY_BYTES)
        memcpy(key, bytes, count);
    else
        err = -EPERM;
    explicit_bzero(bytes, count);
    free(bytes);
    return err;
}

/* Makes the key, under another name first, so that nobody ever meets half a key; of two that are
 * made at the same time the one that has its name first is the key. */
static int make_key(int state_fd)
{
    uint8_t key[WD_DIGEST_KEY_BYTES];
    uint64_t random;
    char name[64];
    if (getrandom(key, sizeof(key), 0) != sizeof(key) ||
        getrandom(&random, sizeof(random), 0) != sizeof(random))
        return wetdbg_fail(-EIO, "there are no random numbers");
    snprintf(name, sizeof(name), KEY_NAME ".%016llx", (unsigned long long)random);
    int err = rec_side_file_write(state_fd, name, key, sizeof(key));
    explicit_bzero(key, sizeof(key));
    if (err)
        return err;
    if (linkat(state_fd, name, state_fd, KEY_NAME, 0) && errno != EEXIST)
        err = wetdbg_fail_errno("cannot make the key of marks");
    unlinkat(state_fd, name, 0);
    return err;
}

static int find_key(bool make, uint8_t key[WD_DIGEST_KEY_BYTES])
{
    int state_fd = open_state(make);
    if (state_fd < 0)
        return state_fd;
    int err = read_key(state_fd, key);
    if (err == -ENOENT && make) {
        err = make_key(state_fd);
        if (!err)
            err = read_key(state_fd, key);
    }
    close(state_fd);
    return err;
}

/* ---- the mark ---- */

static int keyed(const uint8_t key[WD_DIGEST_KEY_BYTES], const char *domain, const char *bytes,
                 size_t count, struct wd_digest *digest)
{
    struct wd_buf text = {0};
    int err = wd_buf_append(&text, domain, strlen(domain));
    if (!err)
        err = wd_buf_append(&text, bytes, count);
    if (!err)
        wd_digest_keyed(key, text.data, text.size_bytes, digest);
    wd_buf_fini(&text);
    return err;
}

/* What the mark of this directory's list has to be. */
static int expect_mark(int dir_fd, bool make_key_too, struct wd_digest *mark)
{
    uint8_t key[WD_DIGEST_KEY_BYTES];
    char *list = NULL;
    size_t count;
    int err = rec_side_file_read(dir_fd, RRT_SUMS_NAME, false, LIST_MAX_BYTES, &list, &count);
    if (!err)
        err = find_key(make_key_too, key);
    if (!err)
        err = keyed(key, MARK_DOMAIN, list, count, mark);
    explicit_bzero(key, sizeof(key));
    free(list);
    return err;
}

int rec_mark_write(const char *trace_dir)
{
    char text[WD_DIGEST_TEXT_BYTES];
    struct wd_digest mark;
    int dir_fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return wetdbg_fail_errno("%s", trace_dir);
    close_to_others(dir_fd);
    int err = expect_mark(dir_fd, true, &mark);
    if (err) {
        wetdbg_fail(err, "%s cannot be marked as this user's: %s", trace_dir, strerror(-err));
    } else {
        wd_digest_format(&mark, text);
        text[WD_DIGEST_TEXT_BYTES - 1] = '\n';
        err = rec_side_file_write(dir_fd, MARK_NAME, text, sizeof(text));
    }
    close(dir_fd);
    return err;
}

static bool has_mark(int dir_fd)
{
    struct wd_digest expected, found;
    char *text;
    size_t count;
    if (rec_side_file_read(dir_fd, MARK_NAME, false, WD_DIGEST_TEXT_BYTES, &text, &count))
        return false;
    bool same = count == WD_DIGEST_TEXT_BYTES && wd_digest_parse(text, &found) == 0 &&
                expect_mark(dir_fd, false, &expected) == 0 && wd_digest_equal(&expected, &found);
    free(text);
    return same;
}

/* A file of the list may be a hard link to one of the system's, or be that one itself. */
static bool is_safe_file(int dir_fd, const char *name)
{
    struct stat st;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT; /* replay will say so */
    return S_ISREG(st.st_mode) && !(st.st_mode & (S_IWGRP | S_IWOTH)) &&
           (st.st_uid == 0 || st.st_uid == geteuid());
}

static bool has_safe_files(int dir_fd)
{
    struct rrt_sums *sums = NULL;
    bool safe = rrt_sums_open(dir_fd, "the recording", &sums) == 0 && sums && sums->version > 1;
    for (size_t i = 0; safe && i < sums->count; i++)
        safe = is_safe_file(dir_fd, sums->rows[i].name);
    rrt_sums_free(sums);
    return safe;
}

/* `rr pack` takes files into the recording that no list names, and makes another list of mappings;
 * a mark tells nothing of those. */
static bool is_packed(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    bool packed = !dir; /* nothing is known: the same as if it were */
    for (struct dirent *item; dir && !packed && (item = readdir(dir));)
        packed = strncmp(item->d_name, RRT_PACKED_PREFIX, strlen(RRT_PACKED_PREFIX)) == 0;
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return packed;
}

bool rec_is_ours(int dir_fd)
{
    struct stat st;
    return fstat(dir_fd, &st) == 0 && rec_is_owned(&st) && has_mark(dir_fd) && !is_packed(dir_fd) &&
           has_safe_files(dir_fd);
}

/* ---- other secrets ---- */

_Static_assert(REC_SECRET_BYTES == WD_DIGEST_TEXT_BYTES, "the text of a digest");

void rec_secret_of(const char *text, char secret[REC_SECRET_BYTES])
{
    uint8_t key[WD_DIGEST_KEY_BYTES];
    struct wd_digest digest;
    int err = find_key(true, key);
    if (!err)
        err = keyed(key, SECRET_DOMAIN, text, strlen(text), &digest);
    if (err && getrandom(&digest, sizeof(digest), 0) != sizeof(digest))
        abort(); /* getrandom(2) gives 32 bytes or, before the machine has any, waits */
    wd_digest_format(&digest, secret);
    explicit_bzero(key, sizeof(key));
}
