/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file system as it was when the run began. It is told by the recording, call by call; what
 * that leaves open is looked up on the disk, if there it is as it was.
 *
 * When is it? The recording may have asked for its size, times and inode, which agree. Otherwise
 * its times tell: the kernel itself sets st_ctime, at each write, rename and change of mode, and
 * the time of birth. A directory changes whenever something in it comes or goes: if it has, a name
 * that is missing in it now may have been there.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/regular.h"
#include "predicate_switch/kernel/vk_priv.h"

#define BASES_MAX (1u << 20)
#define LINK_MAX  4096

static void dirent_keep(void *row)
{
    vk_text_keep(((struct vk_dirent *)row)->name);
}

static void dirent_drop(void *row)
{
    vk_text_drop(((struct vk_dirent *)row)->name);
}

const struct vk_row_kind vk_dirent_row = {sizeof(struct vk_dirent), dirent_keep, dirent_drop};

struct vk_base *vk_base_at(const struct vk_history *h, uint32_t base)
{
    return h->bases[base];
}

static uint64_t hash_of(uint32_t parent, const char *name, size_t bytes)
{
    uint64_t hash = parent;
    for (size_t i = 0; i < bytes; i++)
        hash = wd_hash_u64(hash ^ (uint8_t)name[i]) >> 7;
    return wd_hash_u64(hash) >> 20;
}

static bool is_it(const struct vk_history *h, uint32_t index, uint32_t parent, const char *name,
                  size_t bytes)
{
    const struct vk_base *base = h->bases[index];
    return base->parent == parent && !strncmp(base->name, name, bytes) && !base->name[bytes];
}

static uint32_t *place_of(const struct vk_history *h, uint32_t parent, const char *name,
                          size_t bytes)
{
    uint32_t *places = h->base_places;
    return &places[wd_hash_find(hash_of(parent, name, bytes), h->base_place_count, i,
                                !places[i] || is_it(h, places[i] - 1, parent, name, bytes))];
}

static int places_grow(struct vk_history *h)
{
    uint32_t count = h->base_place_count ? 2 * h->base_place_count : 1024;
    uint32_t *places = calloc(count, sizeof(*places));
    if (!places)
        return -ENOMEM;
    free(h->base_places);
    h->base_places = places;
    h->base_place_count = count;
    for (uint32_t i = 0; i < h->base_count; i++)
        *place_of(h, h->bases[i]->parent, h->bases[i]->name, strlen(h->bases[i]->name)) = i + 1;
    return 0;
}

static uint32_t base_add(struct vk_history *h, uint32_t parent, const char *name, size_t bytes)
{
    struct vk_base *base = calloc(1, sizeof(*base));
    if (!base || h->base_count >= BASES_MAX ||
        wd_grow(h->bases, h->base_capacity, h->base_count + 1u) ||
        !(base->name = strndup(name, bytes))) {
        free(base);
        return VK_NONE;
    }
    base->parent = parent;
    base->content.kind = &vk_block_row;
    base->list.kind = &vk_dirent_row;
    h->bases[h->base_count] = base;
    return h->base_count++;
}

/* The root is 0: its own parent, with no name. */
uint32_t vk_base_child(struct vk_history *h, uint32_t parent, const char *name, size_t bytes)
{
    uint32_t made = VK_NONE;
    pthread_mutex_lock(&h->lock);
    if ((h->base_count + 1) * 2 <= h->base_place_count || !places_grow(h)) {
        uint32_t *place = place_of(h, parent, name, bytes);
        if (*place) {
            made = *place - 1;
        } else {
            made = base_add(h, parent, name, bytes);
            if (made != VK_NONE)
                *place = made + 1;
        }
    }
    pthread_mutex_unlock(&h->lock);
    return made;
}

void vk_bases_free(struct vk_history *h)
{
    for (uint32_t i = 0; i < h->base_count; i++) {
        struct vk_base *base = h->bases[i];
        vk_clear(&base->content);
        vk_clear(&base->list);
        free(base->name);
        free(base->link);
        free(base);
    }
    free(h->bases);
    free(h->base_places);
}

int vk_base_path(const struct vk_history *h, uint32_t base, char *out, size_t room)
{
    char path[PATH_MAX];
    size_t at = sizeof(path) - 1;
    path[at] = 0;
    for (uint32_t i = base; i; i = h->bases[i]->parent) {
        size_t bytes = strlen(h->bases[i]->name);
        if (bytes + 1 > at)
            return -ENAMETOOLONG;
        at -= bytes;
        memcpy(path + at, h->bases[i]->name, bytes);
        path[--at] = '/';
    }
    if (at == sizeof(path) - 1)
        path[--at] = '/';
    if (sizeof(path) - at > room)
        return -ENAMETOOLONG;
    memcpy(out, path + at, sizeof(path) - at);
    return 0;
}

/* Trees of the kernel's, whose files are other ones each time they are read. */
bool vk_path_is_live(const char *path)
{
    static const char *const trees[] = {"/proc", "/sys", "/dev"};
    if (!strncmp(path, "/dev/shm", 8) && (!path[8] || path[8] == '/'))
        return false;
    for (size_t i = 0; i < sizeof(trees) / sizeof(*trees); i++) {
        size_t bytes = strlen(trees[i]);
        if (!strncmp(path, trees[i], bytes) && (!path[bytes] || path[bytes] == '/'))
            return true;
    }
    return false;
}

/* ---- the disk ---- */

int64_t vk_time_ns(const struct timespec *time)
{
    return time->tv_sec < INT64_MAX / 1000000000 - 1 ? time->tv_sec * 1000000000 + time->tv_nsec
                                                     : INT64_MAX;
}

static bool is_before(const struct timespec *time, int64_t when_ns)
{
    return vk_time_ns(time) < when_ns;
}

/* Whether a directory has lost and got nothing since the recording. */
static bool is_quiet(const struct vk_history *h, const char *path)
{
    struct stat st;
    return !lstat(path, &st) && S_ISDIR(st.st_mode) &&
           is_before(&st.st_ctim, h->start.disk_before_ns);
}

static bool was_born_before(const char *path, int64_t when_ns)
{
    struct statx stx;
    return !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &stx) &&
           stx.stx_mask & STATX_BTIME &&
           is_before(&(struct timespec){stx.stx_btime.tv_sec, stx.stx_btime.tv_nsec}, when_ns);
}

static void ask_link(struct vk_base *base, const char *path)
{
    char text[LINK_MAX];
    ssize_t bytes = readlink(path, text, sizeof(text) - 1);
    if (bytes >= 0 && !base->link)
        base->link = strndup(text, (size_t)bytes);
}

/* What the recording was told of it (a stat) is not what the disk says: it is another one. */
static bool contradicts(const struct vk_base *base, const struct stat *st)
{
    const struct stat *told = &base->st;
    if (base->presence == VK_PRESENCE_ABSENT ||
        (base->format && (st->st_mode & S_IFMT) != base->format))
        return true;
    return base->has_stat && !S_ISDIR(st->st_mode) &&
           (told->st_ino != st->st_ino || told->st_size != st->st_size ||
            told->st_mtim.tv_sec != st->st_mtim.tv_sec ||
            told->st_mtim.tv_nsec != st->st_mtim.tv_nsec);
}

/* Whether what is found is what was there: the recording was told so; or nobody has changed it
 * since. Whoever gives a file another name (rr does, to keep it) changes st_ctime, but neither when
 * the file was born nor when it was written. */
static bool is_same(const struct vk_history *h, const struct vk_base *base, const char *path,
                    const struct stat *st)
{
    int64_t before = h->start.disk_before_ns;
    if (contradicts(base, st))
        return false;
    if (base->is_stat_told && !S_ISDIR(st->st_mode))
        return true;
    return is_before(&st->st_ctim, before) ||
           ((S_ISDIR(st->st_mode) || is_before(&st->st_mtim, before)) &&
            was_born_before(path, before));
}

static void ask_found(struct vk_history *h, struct vk_base *base, const char *path,
                      const struct stat *st)
{
    base->is_other_now = !is_same(h, base, path, st);
    if (base->is_other_now)
        return;
    bool is_directory = S_ISDIR(st->st_mode);
    bool is_quiet = is_before(&st->st_ctim, h->start.disk_before_ns);
    base->is_on_disk = true;
    base->presence = VK_PRESENCE_THERE;
    base->format = st->st_mode & S_IFMT;
    base->is_list_same = is_directory && is_quiet;
    if (!base->has_stat) {
        base->st = *st;
        base->has_stat = is_quiet;
    }
    if (S_ISREG(st->st_mode)) {
        base->st.st_size = st->st_size;
        base->has_size = true;
    }
    if (S_ISLNK(st->st_mode))
        ask_link(base, path);
}

static void base_ask(struct vk_history *h, uint32_t index)
{
    char path[PATH_MAX], parent[PATH_MAX];
    struct vk_base *base = h->bases[index];
    struct stat st;
    base->has_asked_disk = true;
    if (!h->start.disk_before_ns || vk_base_path(h, index, path, sizeof(path)) ||
        vk_base_path(h, base->parent, parent, sizeof(parent)))
        return;
    if (vk_path_is_live(path) && strcmp(path, "/dev") && strcmp(path, "/proc") &&
        strcmp(path, "/sys") && strcmp(path, "/dev/null") && strcmp(path, "/dev/zero"))
        return;
    if (!lstat(path, &st)) {
        if (vk_path_is_live(path)) {
            base->presence = VK_PRESENCE_THERE;
            base->format = st.st_mode & S_IFMT;
            base->st.st_rdev = st.st_rdev;
        } else {
            ask_found(h, base, path, &st);
        }
    } else if (errno == ENOENT && base->presence == VK_PRESENCE_UNKNOWN) {
        base->is_other_now = !is_quiet(h, parent);
        if (!base->is_other_now)
            base->presence = VK_PRESENCE_ABSENT;
    }
}

void vk_base_ask(struct vk_history *h, uint32_t base)
{
    pthread_mutex_lock(&h->lock);
    if (!h->bases[base]->has_asked_disk)
        base_ask(h, base);
    pthread_mutex_unlock(&h->lock);
}

bool vk_content_agrees(const struct vk_table *content, int fd)
{
    uint8_t known[VK_BLOCK], found[VK_BLOCK];
    uint64_t end = (uint64_t)vk_count(content) * VK_BLOCK, at = 0;
    while (at < end) {
        bool is_known;
        uint64_t run = vk_content_run(content, at, end - at, &is_known);
        if (!run)
            break;
        if (is_known) {
            run = run < sizeof(known) ? run : sizeof(known);
            vk_content_get(content, at, known, run);
            if (pread(fd, found, run, (off_t)at) != (ssize_t)run || memcmp(known, found, run))
                return false;
        }
        at += run;
    }
    return true;
}

int vk_base_take(struct vk_base *base, int fd, uint64_t offset, uint64_t size)
{
    uint8_t bytes[65536];
    while (size) {
        size_t part = size < sizeof(bytes) ? size : sizeof(bytes);
        ssize_t got = pread(fd, bytes, part, (off_t)offset);
        if (got <= 0)
            return -ENODATA;
        int err = vk_content_add(&base->content, offset, bytes, (uint64_t)got);
        if (err)
            return err;
        offset += (uint64_t)got, size -= (uint64_t)got;
    }
    return 0;
}

static int base_fill(struct vk_history *h, uint32_t index, uint64_t offset, uint64_t size)
{
    char path[PATH_MAX];
    struct vk_base *base = h->bases[index];
    struct stat st;
    int fd;
    if (!base->has_asked_disk)
        base_ask(h, index);
    if (!base->is_on_disk || vk_base_path(h, index, path, sizeof(path)) ||
        wd_regular_try(AT_FDCWD, path, WD_LINKS_REFUSE, &fd, &st))
        return -ENODATA;
    int err = is_same(h, base, path, &st) && vk_content_agrees(&base->content, fd)
                  ? vk_base_take(base, fd, offset, size)
                  : -ENODATA;
    close(fd);
    return err;
}

int vk_base_fill(struct vk_history *h, uint32_t base, uint64_t offset, uint64_t size)
{
    pthread_mutex_lock(&h->lock);
    int err = base_fill(h, base, offset, size);
    pthread_mutex_unlock(&h->lock);
    return err;
}

static int list_disk(struct vk_base *base, const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int err = 0;
    if (!dir)
        return -ENODATA;
    while (!err && (entry = readdir(dir))) {
        struct vk_dirent row = {vk_text_new(entry->d_name, strlen(entry->d_name)), entry->d_ino,
                                entry->d_off, entry->d_type};
        err = row.name ? vk_append(&base->list, &row) : -ENOMEM;
        if (err)
            vk_text_drop(row.name);
    }
    closedir(dir);
    base->has_list = !err;
    return err;
}

int vk_base_list(struct vk_history *h, uint32_t index)
{
    char path[PATH_MAX];
    int err = 0;
    pthread_mutex_lock(&h->lock);
    struct vk_base *base = h->bases[index];
    if (!base->has_asked_disk)
        base_ask(h, index);
    if (!base->has_list) {
        err = -ENODATA;
        if (base->is_list_same && !vk_base_path(h, index, path, sizeof(path)) && is_quiet(h, path))
            err = list_disk(base, path);
    }
    pthread_mutex_unlock(&h->lock);
    return err;
}
