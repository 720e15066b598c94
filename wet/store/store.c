/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/store/store.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/regular.h"
#include "common/room.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

#define HEADER_BYTES 56
#define RAW_MAX      (1ull << 36)
#define BLOCK_BYTES  (128ull << 10) /* what one block of a zstd frame can hold at most ... */
#define BLOCK_MIN    3ull           /* ... and what it takes at least */
#define SUFFIX       ".tmp-XXXXXX"
#define PART_SUFFIX  ".part"

static const char magic[8] = "WETDBG\r\n";

struct header {
    char magic[8];
    uint32_t version, zero;
    uint64_t table_off, table_bytes, table_hash, file_bytes, hash;
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "docs/format.md");

static bool is_static(uint32_t kind)
{
    return kind == WET_SEC_FILES || kind == WET_SEC_FILE_DATA || kind == WET_SEC_DEBUG ||
           kind == WET_SEC_ALT || kind == WET_SEC_NODES;
}

/* ---- writing ---- */

struct wet_store_writer {
    char *path, *temporary;
    int fd;
    uint64_t at;
    struct wd_buf table;
    struct wet_packer *packer;
    struct wet_packed packed; /* by wet_store_add */
};

void wet_store_abort(struct wet_store_writer *writer)
{
    if (!writer)
        return;
    if (writer->fd >= 0) {
        close(writer->fd);
        unlink(writer->temporary);
    }
    free(writer->path);
    free(writer->temporary);
    wd_buf_fini(&writer->table);
    wet_packed_fini(&writer->packed);
    wet_packer_free(writer->packer);
    free(writer);
}

/* The directory of `path`, opened; *name is the rest of it. -1 with errno. */
static int directory_open(const char *path, const char **name)
{
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(dir);
    return fd;
}

/* Whether this is a name that mkostemp(3) makes of `name` and SUFFIX. */
static bool is_temporary_name(const char *found, const char *name)
{
    size_t bytes = strlen(name), fixed = strcspn(SUFFIX, "X");
    return strlen(found) == bytes + strlen(SUFFIX) && !strncmp(found, name, bytes) &&
           !strncmp(found + bytes, SUFFIX, fixed);
}

/*
 * Removes temporary files whose writers are gone. A writer holds a lock on its file for as long as
 * it lives, and the kernel gives it back whatever ends the writer; so a file whose lock can be had
 * is nobody's. What somebody else put there, or this user under such a name ("x.wet.tmp-before" is
 * one), has not the mode and owner of ours. Failure is no matter: the next writer tries again.
 */
static void stale_remove(const char *path)
{
    const char *name;
    int dir_fd = directory_open(path, &name);
    DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    if (!dir) {
        if (dir_fd >= 0)
            close(dir_fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct stat stat;
        int fd;
        if (!is_temporary_name(entry->d_name, name) ||
            wd_regular_try(dir_fd, entry->d_name, WD_LINKS_REFUSE, &fd, &stat))
            continue;
        bool is_ours = stat.st_uid == geteuid() && (stat.st_mode & 07777) == 0600;
        if (is_ours && !flock(fd, LOCK_EX | LOCK_NB))
            unlinkat(dir_fd, entry->d_name, 0);
        close(fd);
    }
    closedir(dir);
}

/* Opens a locked temporary file. Between its creation and its lock another writer may take it for
 * a stale one: then it has no name any more, and another one is made. */
static int temporary_open(struct wet_store_writer *writer)
{
    size_t suffix_at = strlen(writer->path);
    for (;;) {
        struct stat stat;
        strcpy(writer->temporary + suffix_at, SUFFIX);
        int fd = mkostemp(writer->temporary, O_CLOEXEC);
        if (fd < 0)
            return wetdbg_fail_errno("%s", writer->path);
        /* where locks do not work nobody can take the file for a stale one either */
        while (flock(fd, LOCK_EX) && errno == EINTR)
            ;
        if (!fstat(fd, &stat) && stat.st_nlink) {
            writer->fd = fd;
            return 0;
        }
        close(fd);
    }
}

/* A writer without a file yet. */
static int writer_new(const char *path, const char *suffix, struct wet_store_writer **out)
{
    struct wet_store_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->fd = -1;
    writer->at = HEADER_BYTES;
    writer->path = strdup(path);
    writer->packer = wet_packer_new();
    if (!writer->path || !writer->packer ||
        asprintf(&writer->temporary, "%s%s", path, suffix) < 0) {
        writer->temporary = NULL;
        wet_store_abort(writer);
        return -ENOMEM;
    }
    *out = writer;
    return 0;
}

int wet_store_create(const char *path, struct wet_store_writer **out)
{
    struct wet_store_writer *writer;
    int err = wetdbg_own_file_check_goal(path);
    if (!err)
        err = writer_new(path, SUFFIX, &writer);
    if (err)
        return err;
    stale_remove(path);
    err = temporary_open(writer);
    if (err) {
        wet_store_abort(writer);
        return err;
    }
    *out = writer;
    return 0;
}

/* ---- files that outlive their writer ---- */

/* Opens and locks the part file; -EPERM, named, if it is not one of ours; -EWOULDBLOCK if that
 * cannot be done for any other reason: then there are other ways to write. */
static int part_open(struct wet_store_writer *writer)
{
    for (;;) {
        struct stat here, named;
        int fd, err = wetdbg_own_file_open(writer->temporary, &fd);
        if (err)
            return err == -EPERM ? err : -EWOULDBLOCK;
        if (fstat(fd, &here) || flock(fd, LOCK_EX | LOCK_NB)) {
            close(fd);
            return -EWOULDBLOCK;
        }
        /* until it was locked another writer may have finished it and given it its name */
        if (!lstat(writer->temporary, &named) && named.st_dev == here.st_dev &&
            named.st_ino == here.st_ino) {
            writer->fd = fd;
            return 0;
        }
        close(fd);
    }
}

int wet_store_create_part(const char *path, struct wet_store_writer **out)
{
    struct wet_store_writer *writer;
    int err = wetdbg_own_file_check_goal(path);
    if (!err)
        err = writer_new(path, PART_SUFFIX, &writer);
    if (err)
        return err;
    stale_remove(path);
    err = part_open(writer);
    if (err) {
        wet_store_abort(writer);
        return err;
    }
    *out = writer;
    return 0;
}

int wet_store_continue(struct wet_store_writer *writer, const struct wet_section *sections,
                       size_t count)
{
    writer->table.size_bytes = 0;
    writer->at = HEADER_BYTES;
    int err = wd_buf_append(&writer->table, sections, count * sizeof(*sections));
    for (size_t i = 0; !err && i < count; i++) {
        if (sections[i].off != writer->at)
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        writer->at += sections[i].stored_bytes;
    }
    if (!err && ftruncate(writer->fd, count ? (off_t)writer->at : 0))
        err = wetdbg_fail_errno("%s", writer->temporary);
    return err;
}

const struct wet_section *wet_store_table(const struct wet_store_writer *writer, size_t *count)
{
    *count = writer->table.size_bytes / sizeof(struct wet_section);
    return (const struct wet_section *)writer->table.data;
}

void wet_store_keep(struct wet_store_writer *writer)
{
    if (writer && writer->fd >= 0) {
        close(writer->fd);
        writer->fd = -1;
    }
    wet_store_abort(writer);
}

int wet_store_scratch(const struct wet_store_writer *writer, int *fd)
{
    const char *name;
    int dir = directory_open(writer->path, &name);
    *fd = dir < 0 ? -1 : openat(dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (dir >= 0)
        close(dir);
    if (*fd >= 0)
        return 0;
    char *named; /* a file system that has no files without a name */
    if (asprintf(&named, "%s%s", writer->path, SUFFIX) < 0)
        return -ENOMEM;
    *fd = mkostemp(named, O_CLOEXEC);
    int err = *fd < 0 ? wetdbg_fail_errno("%s", writer->path) : 0;
    if (!err)
        unlink(named);
    free(named);
    return err;
}

void wet_store_flush(const struct wet_store_writer *writer)
{
    fdatasync(writer->fd);
}

static int write_all(struct wet_store_writer *writer, const void *bytes, size_t count, uint64_t at)
{
    const uint8_t *from = bytes;
    while (count) {
        ssize_t done = pwrite(writer->fd, from, count, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done == 0)
            errno = ENOSPC; /* regular files take something or say why not */
        if (done <= 0)
            return wetdbg_fail_errno("writing %s", writer->path);
        from += done;
        at += (size_t)done;
        count -= (size_t)done;
    }
    return 0;
}

int wet_store_put(struct wet_store_writer *writer, const struct wet_packed *packed)
{
    assert(writer->fd >= 0);
    struct wet_section section = {.kind = packed->kind,
                                  .form = packed->form,
                                  .key = packed->key,
                                  .off = writer->at,
                                  .stored_bytes = packed->frame.size_bytes,
                                  .raw_bytes = packed->raw_bytes,
                                  .hash = packed->hash};
    int err = write_all(writer, packed->frame.data, packed->frame.size_bytes, writer->at);
    if (!err)
        err = wd_buf_append(&writer->table, &section, sizeof(section));
    if (err)
        return err;
    writer->at += section.stored_bytes;
    return 0;
}

int wet_store_add(struct wet_store_writer *writer, uint32_t kind, uint64_t key, const void *bytes,
                  size_t size_bytes, int level)
{
    int err = wet_packer_pack(writer->packer, kind, key, bytes, size_bytes, level, &writer->packed);
    return err ? err : wet_store_put(writer, &writer->packed);
}

/* Makes the new name last too. File systems that cannot do that say EINVAL. */
static int directory_sync(const char *path)
{
    const char *name;
    int fd = directory_open(path, &name);
    if (fd < 0)
        return 0; /* may be written but not read: nothing to be done */
    int err = fsync(fd) && errno == EIO ? wetdbg_fail_errno("%s", path) : 0;
    close(fd);
    return err;
}

int wet_store_commit(struct wet_store_writer *writer)
{
    struct header header = {.version = WET_STORE_VERSION,
                            .table_off = writer->at,
                            .table_bytes = writer->table.size_bytes,
                            .table_hash = XXH64(writer->table.data, writer->table.size_bytes, 0),
                            .file_bytes = writer->at + writer->table.size_bytes};
    memcpy(header.magic, magic, sizeof(magic));
    header.hash = XXH64(&header, offsetof(struct header, hash), 0);
    int err = write_all(writer, writer->table.data, writer->table.size_bytes, writer->at);
    if (!err)
        err = write_all(writer, &header, sizeof(header), 0);
    if (!err && fsync(writer->fd))
        err = wetdbg_fail_errno("writing %s", writer->path);
    if (!err)
        err = wetdbg_own_file_check_goal(writer->path); /* it may have come meanwhile */
    if (!err && rename(writer->temporary, writer->path))
        err = wetdbg_fail_errno("%s", writer->path);
    if (!err) {
        close(writer->fd);
        writer->fd = -1;
        err = directory_sync(writer->path);
    }
    wet_store_abort(writer);
    return err;
}

/* ---- reading ---- */

/*
 * A file that is read by pread, and not mapped: whose file this is can write to it or cut it off at
 * any time. What was read once is all that is checked and used, and a file that ends early is an
 * error, not a SIGBUS.
 */
struct wet_store {
    char *path;
    int fd;
    uint64_t size_bytes;
    size_t section_count;
    struct wet_section *sorted; /* by kind and key */
};

static int section_order(const void *a, const void *b)
{
    const struct wet_section *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* Whether a section holds the program's files and memory, which may well be one byte again and
 * again. */
static bool has_contents(uint32_t kind)
{
    return kind == WET_SEC_FILE_DATA || kind == WET_SEC_DEBUG || kind == WET_SEC_ALT ||
           kind == WET_SEC_MEMORY || kind == WET_SEC_ENTRIES || kind == WET_SEC_LINES;
}

/* Whether a table's size is plausible: none shrinks that much unless it is made to. */
static bool is_table_plausible(const struct wet_section *section)
{
    return section->raw_bytes <= WET_TABLE_BYTES ||
           section->raw_bytes / WET_TABLE_RATIO <= section->stored_bytes;
}

/* Whether a section's size is plausible. Its frames cannot hold more than their blocks do: a file
 * that says so would only make us ask for memory. */
static bool is_plausible(const struct wet_section *section, uint64_t end)
{
    return section->form <= WET_FORM_PARTS && section->off >= HEADER_BYTES && section->off <= end &&
           section->stored_bytes <= end - section->off && section->raw_bytes <= RAW_MAX &&
           section->raw_bytes <= (section->stored_bytes / BLOCK_MIN + 1) * BLOCK_BYTES &&
           (has_contents(section->kind) || is_table_plausible(section));
}

static int bytes_read(int fd, const char *path, void *to, uint64_t count, uint64_t off)
{
    for (uint64_t done = 0; done < count;) {
        ssize_t now = pread(fd, (uint8_t *)to + done, count - done, (off_t)(off + done));
        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            return wetdbg_fail_errno("%s", path);
        if (!now)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: cut off at byte %llu", path,
                               (unsigned long long)(off + done));
        done += (uint64_t)now;
    }
    return 0;
}

static int header_check(const struct wet_store *store, const struct header *header)
{
    const char *path = store->path;
    if (memcmp(header->magic, magic, sizeof(magic)))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is not a .wet file", path);
    if (header->version != WET_STORE_VERSION)
        return wetdbg_fail(
            -WETDBG_ERR_VERSION,
            "%s is of version %u; this wetdbg reads version %d: replay the recording again", path,
            header->version, WET_STORE_VERSION);
    if (header->hash != XXH64(header, offsetof(struct header, hash), 0))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged header", path);
    if (header->file_bytes != store->size_bytes)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: %llu bytes long, should be %llu (cut off?)",
                           path, (unsigned long long)store->size_bytes,
                           (unsigned long long)header->file_bytes);
    return 0;
}

static int table_damaged(const struct wet_store *store, const struct header *header)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged table of sections at byte %llu",
                       store->path, (unsigned long long)header->table_off);
}

static int table_load(struct wet_store *store)
{
    const char *path = store->path;
    struct header header;
    int err = bytes_read(store->fd, path, &header, sizeof(header), 0);
    if (!err)
        err = header_check(store, &header);
    if (err)
        return err;
    if (header.table_off > store->size_bytes ||
        header.table_bytes != store->size_bytes - header.table_off ||
        header.table_bytes % sizeof(struct wet_section))
        return table_damaged(store, &header);
    store->section_count = header.table_bytes / sizeof(struct wet_section);
    store->sorted = malloc(header.table_bytes + 1);
    if (!store->sorted)
        return -ENOMEM;
    err = bytes_read(store->fd, path, store->sorted, header.table_bytes, header.table_off);
    if (err)
        return err;
    if (header.table_hash != XXH64(store->sorted, header.table_bytes, 0))
        return table_damaged(store, &header);
    for (size_t i = 0; i < store->section_count; i++) {
        if (!is_plausible(&store->sorted[i], header.table_off))
            return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                               "%s: section %zu lies outside the file or is too large", path, i);
    }
    qsort(store->sorted, store->section_count, sizeof(*store->sorted), section_order);
    for (size_t i = 1; i < store->section_count; i++) {
        if (!section_order(&store->sorted[i - 1], &store->sorted[i]))
            return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: section %u.%llu is there twice", path,
                               store->sorted[i].kind, (unsigned long long)store->sorted[i].key);
    }
    return 0;
}

int wet_store_open(const char *path, struct wet_store **out)
{
    struct stat stat;
    int fd, err = wd_regular_try(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &stat);
    if (err == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(err, "%s is not a .wet file, but %s", path,
                           wd_regular_kind(stat.st_mode));
    if (err)
        return wetdbg_fail(err, "%s: %s", path, strerror(-err));
    struct wet_store *store = calloc(1, sizeof(*store));
    if (!store) {
        close(fd);
        return -ENOMEM;
    }
    store->fd = fd;
    store->size_bytes = (uint64_t)stat.st_size;
    store->path = strdup(path);
    err = store->path ? 0 : -ENOMEM;
    if (!err && stat.st_size < HEADER_BYTES)
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is not a .wet file", path);
    if (!err)
        err = table_load(store);
    if (err) {
        wet_store_close(store);
        return err;
    }
    *out = store;
    return 0;
}

void wet_store_close(struct wet_store *store)
{
    if (!store)
        return;
    close(store->fd);
    free(store->sorted);
    free(store->path);
    free(store);
}

static const struct wet_section *section_find(const struct wet_store *store, uint32_t kind,
                                              uint64_t key)
{
    struct wet_section wanted = {.kind = kind, .key = key};
    return bsearch(&wanted, store->sorted, store->section_count, sizeof(wanted), section_order);
}

bool wet_store_has(const struct wet_store *store, uint32_t kind, uint64_t key)
{
    return section_find(store, kind, key) != NULL;
}

uint64_t wet_store_raw_bytes(const struct wet_store *store, uint32_t kind, uint64_t key)
{
    const struct wet_section *section = section_find(store, kind, key);
    return section ? section->raw_bytes : 0;
}

/* `stored` are the section's bytes in the file at `path`. */
static int unpack(const char *path, const struct wet_section *section, const uint8_t *stored,
                  struct wd_buf *out)
{
    out->size_bytes = 0;
    if (XXH64(stored, section->stored_bytes, 0) != section->hash)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: section %u.%llu at byte %llu is damaged", path,
                           section->kind, (unsigned long long)section->key,
                           (unsigned long long)section->off);
    int err = wd_room_ask(section->raw_bytes);
    if (!err)
        err = wd_buf_reserve(out, section->raw_bytes + 8);
    if (err)
        return err;
    err = wet_decode(section->form, stored, section->stored_bytes, out->data, section->raw_bytes);
    if (err == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(
            -WETDBG_ERR_CORRUPT, "%s: section %u.%llu at byte %llu cannot be decompressed", path,
            section->kind, (unsigned long long)section->key, (unsigned long long)section->off);
    if (!err)
        out->size_bytes = section->raw_bytes;
    return err;
}

static int section_read(int fd, const char *path, const struct wet_section *section,
                        struct wd_buf *out)
{
    struct wd_buf stored = {0};
    int err = wd_buf_reserve(&stored, section->stored_bytes + 1);
    if (!err)
        err = bytes_read(fd, path, stored.data, section->stored_bytes, section->off);
    if (!err)
        err = unpack(path, section, stored.data, out);
    wd_buf_fini(&stored);
    return err;
}

int wet_store_read(const struct wet_store *store, uint32_t kind, uint64_t key, struct wd_buf *out)
{
    const struct wet_section *section = section_find(store, kind, key);
    return section ? section_read(store->fd, store->path, section, out) : -WETDBG_ERR_NOT_FOUND;
}

int wet_store_reread(const struct wet_store_writer *writer, const struct wet_section *section,
                     struct wd_buf *out)
{
    struct stat stat;
    if (fstat(writer->fd, &stat))
        return wetdbg_fail_errno("%s", writer->temporary);
    if (!is_plausible(section, (uint64_t)stat.st_size))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged", writer->temporary);
    return section_read(writer->fd, writer->temporary, section, out);
}

const struct wet_section *wet_store_sections(const struct wet_store *store, size_t *count)
{
    *count = store->section_count;
    return store->sorted;
}

const char *wet_store_path(const struct wet_store *store)
{
    return store->path;
}

uint64_t wet_store_size(const struct wet_store *store, uint64_t *static_bytes)
{
    *static_bytes = 0;
    for (size_t i = 0; i < store->section_count; i++) {
        if (is_static(store->sorted[i].kind))
            *static_bytes += store->sorted[i].stored_bytes;
    }
    return store->size_bytes;
}
