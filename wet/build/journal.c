/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/journal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

#define SUFFIX     ".part-log"
#define LEVEL      1
#define RECORD_MAX (1ull << 32)

struct head {
    uint64_t stored_bytes, hash;
};

struct wet_journal {
    char *path;
    int fd;
    bool is_damaged;
    struct wd_buf ends; /* u64: where each record ends in the file */
    struct wd_buf frame;
};

static uint64_t *ends_of(const struct wet_journal *journal)
{
    return (uint64_t *)journal->ends.data;
}

size_t wet_journal_count(const struct wet_journal *journal)
{
    return journal->ends.size_bytes / 8;
}

bool wet_journal_is_damaged(const struct wet_journal *journal)
{
    return journal->is_damaged;
}

static uint64_t end_of(const struct wet_journal *journal, size_t count)
{
    return count ? ends_of(journal)[count - 1] : 0;
}

/* ---- reading ---- */

static bool read_at(int fd, void *to, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t now = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(at + done));
        if (now <= 0)
            return false;
        done += (size_t)now;
    }
    return true;
}

/* Reads the frame of record n, which begins at `at`, into journal->frame. */
static bool frame_read(struct wet_journal *journal, size_t n, uint64_t at, uint64_t file_bytes)
{
    struct head head;
    journal->frame.size_bytes = 0;
    if (!read_at(journal->fd, &head, sizeof(head), at) ||
        head.stored_bytes > file_bytes - at - sizeof(head) ||
        wd_buf_reserve(&journal->frame, head.stored_bytes) ||
        !read_at(journal->fd, journal->frame.data, head.stored_bytes, at + sizeof(head)))
        return false;
    journal->frame.size_bytes = head.stored_bytes;
    return XXH64(journal->frame.data, head.stored_bytes, n) == head.hash;
}

static int records_find(struct wet_journal *journal)
{
    struct stat stat;
    if (fstat(journal->fd, &stat))
        return wetdbg_fail_errno("%s", journal->path);
    uint64_t at = 0, file_bytes = (uint64_t)stat.st_size;
    int err = 0;
    for (size_t n = 0; !err && file_bytes - at >= sizeof(struct head); n++) {
        if (!frame_read(journal, n, at, file_bytes))
            break;
        at += sizeof(struct head) + journal->frame.size_bytes;
        err = wd_buf_append_u64(&journal->ends, at);
    }
    journal->is_damaged = file_bytes && !at;
    return err;
}

int wet_journal_read(const struct wet_journal *journal, size_t n, struct wd_buf *out)
{
    struct wet_journal *mine = (struct wet_journal *)journal; /* its buffer */
    uint64_t at = end_of(journal, n), end = end_of(journal, n + 1);
    bool is_read = frame_read(mine, n, at, end);
    unsigned long long raw =
        is_read ? ZSTD_getFrameContentSize(mine->frame.data, mine->frame.size_bytes) : RECORD_MAX;
    out->size_bytes = 0;
    if (raw >= RECORD_MAX) /* among these the codes for errors */
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: record %zu is damaged", journal->path, n);
    int err = wd_buf_reserve(out, raw + 1);
    if (err)
        return err;
    size_t done = ZSTD_decompress(out->data, raw, mine->frame.data, mine->frame.size_bytes);
    if (ZSTD_isError(done) || done != raw)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: record %zu is damaged", journal->path, n);
    out->size_bytes = done;
    return 0;
}

/* ---- writing ---- */

int wet_journal_cut(struct wet_journal *journal, size_t count)
{
    if (count > wet_journal_count(journal))
        return 0;
    journal->ends.size_bytes = count * 8;
    return ftruncate(journal->fd, (off_t)end_of(journal, count))
               ? wetdbg_fail_errno("%s", journal->path)
               : 0;
}

static int write_all(const struct wet_journal *journal, uint64_t at)
{
    const struct wd_buf *frame = &journal->frame;
    for (size_t done = 0; done < frame->size_bytes;) {
        ssize_t now =
            pwrite(journal->fd, frame->data + done, frame->size_bytes - done, (off_t)(at + done));
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return wetdbg_fail_errno("writing %s", journal->path);
        done += (size_t)now;
    }
    return 0;
}

int wet_journal_append(struct wet_journal *journal, const void *bytes, size_t size_bytes)
{
    struct wd_buf *frame = &journal->frame;
    size_t n = wet_journal_count(journal), bound = ZSTD_compressBound(size_bytes);
    uint64_t at = end_of(journal, n);
    frame->size_bytes = 0;
    int err = wd_buf_reserve(frame, sizeof(struct head) + bound);
    if (err)
        return err;
    uint8_t *stored = frame->data + sizeof(struct head);
    size_t stored_bytes = ZSTD_compress(stored, bound, bytes, size_bytes, LEVEL);
    if (ZSTD_isError(stored_bytes))
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "compressing: %s", ZSTD_getErrorName(stored_bytes));
    struct head head = {.stored_bytes = stored_bytes, .hash = XXH64(stored, stored_bytes, n)};
    memcpy(frame->data, &head, sizeof(head));
    frame->size_bytes = sizeof(head) + stored_bytes;
    err = write_all(journal, at);
    if (!err)
        err = wd_buf_append_u64(&journal->ends, at + frame->size_bytes);
    return err;
}

void wet_journal_flush(const struct wet_journal *journal)
{
    fdatasync(journal->fd);
}

/* ---- life ---- */

int wet_journal_open(const char *path, struct wet_journal **out)
{
    struct wet_journal *journal = calloc(1, sizeof(*journal));
    if (!journal)
        return -ENOMEM;
    journal->fd = -1;
    int err = asprintf(&journal->path, "%s" SUFFIX, path) < 0 ? -ENOMEM : 0;
    if (err)
        journal->path = NULL;
    if (!err) {
        err = wetdbg_own_file_open(journal->path, &journal->fd);
        if (!err)
            err = records_find(journal);
    }
    if (err) {
        wet_journal_keep(journal);
        return err;
    }
    *out = journal;
    return 0;
}

void wet_journal_keep(struct wet_journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    wd_buf_fini(&journal->ends);
    wd_buf_fini(&journal->frame);
    free(journal->path);
    free(journal);
}

void wet_journal_remove(struct wet_journal *journal)
{
    if (journal)
        unlink(journal->path);
    wet_journal_keep(journal);
}
