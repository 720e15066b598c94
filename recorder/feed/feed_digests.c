/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A frame's record is one of its task, after the one used last, that has its registers: the last
 * one that is not later. So the index is sorted by task, registers and position: the candidates
 * are found by halves.
 */
#include "recorder/feed/feed_digests.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/regular.h"
#include "recorder/feed/feed_space.h"
#include <wetdbg/errors.h>

enum {
    READ_RECORDS = 512,
    AT_R11 = 6,
    AT_RCX = 11,
    AT_RIP = 16,
    AT_RSP = 19,
    GENERAL_REGS = 15,
    FLAGS_AT_CALL = 0x246,
};

struct digest_key {
    uint32_t tid;
    uint32_t flags; /* enum tck_stop_flags */
    int32_t signo;
    uint32_t nth; /* of its task's records */
    uint64_t hash;
    double seconds;
    uint64_t at; /* position in the file, in records */
};

/* How far a task's records are used up. */
struct digest_cursor {
    uint32_t tid;
    uint32_t next;  /* an `nth` */
    double seconds; /* of the task's last frame that was not recorded after the next one's stop */
};

struct feed_digests {
    int fd;
    int lines_fd; /* -1: none */
    struct digest_key *keys;
    size_t count;
    struct digest_cursor *cursors; /* by tid */
    size_t cursor_count;
    uint32_t grown_tid; /* whose stack the frame before let grow */
};

_Static_assert(sizeof(struct rrt_regs) == TCK_REGS_COUNT * 8, "same registers, same order");

bool feed_digests_ticks_are_software(const struct wetdbg_recording *trace)
{
    return !faccessat(rrt_trace_dir_fd(trace), TCK_MARK_NAME, F_OK, 0);
}

/* rr gives rcx and r11 values of its own at a call's exit, so they are left out here. */
static uint64_t hash_registers(const uint64_t *regs)
{
    uint64_t some[GENERAL_REGS + 2];
    memcpy(some, regs, GENERAL_REGS * sizeof(*regs));
    some[AT_R11] = some[AT_RCX] = 0;
    some[GENERAL_REGS] = regs[AT_RIP];
    some[GENERAL_REGS + 1] = regs[AT_RSP];
    return XXH3_64bits(some, sizeof(some));
}

/* ---------------------------------------------------------------- the index */

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_by_task(const void *a, const void *b)
{
    const struct digest_key *left = a, *right = b;
    int order = compare_u64(left->tid, right->tid);
    return order ? order : compare_u64(left->at, right->at);
}

static int compare_by_registers(const void *a, const void *b)
{
    const struct digest_key *left = a, *right = b;
    int order = compare_u64(left->tid, right->tid);
    if (!order)
        order = compare_u64(left->hash, right->hash);
    return order ? order : compare_u64(left->nth, right->nth);
}

static int add_cursor(struct feed_digests *digests, uint32_t tid)
{
    int err = wd_grow_one(digests->cursors, digests->cursor_count);
    if (err)
        return err;
    digests->cursors[digests->cursor_count++] = (struct digest_cursor){.tid = tid};
    return 0;
}

static int sort_keys(struct feed_digests *digests)
{
    struct digest_key *keys = digests->keys;
    int err = 0;
    qsort(keys, digests->count, sizeof(*keys), compare_by_task);
    for (size_t i = 0; i < digests->count && !err; i++) {
        bool is_first = !i || keys[i - 1].tid != keys[i].tid;
        keys[i].nth = is_first ? 0 : keys[i - 1].nth + 1;
        if (is_first)
            err = add_cursor(digests, keys[i].tid);
    }
    qsort(keys, digests->count, sizeof(*keys), compare_by_registers);
    return err;
}

static int read_bytes(int fd, const char *name, uint64_t offset, size_t bytes, void *out)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wetdbg_fail_errno("%s", name);
        if (!got)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is too short", name);
        done += (size_t)got;
    }
    return 0;
}

static int read_at(const struct feed_digests *digests, uint64_t at, size_t count,
                   struct tck_stop *out)
{
    return read_bytes(digests->fd, TCK_DIGESTS_NAME,
                      sizeof(struct tck_file_header) + at * sizeof(*out), count * sizeof(*out),
                      out);
}

bool feed_digests_have_lines(const struct feed_digests *digests)
{
    return digests && digests->lines_fd >= 0;
}

int feed_digests_lines(const struct feed_digests *digests, uint64_t lines_at, uint32_t count,
                       uint64_t *out)
{
    if (lines_at > TCK_STOPS_BYTES_MAX || count > TCK_WORDS_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: lines at offset %llu", TCK_DIGESTS_NAME,
                           (unsigned long long)lines_at);
    return read_bytes(digests->lines_fd, TCK_LINES_NAME, lines_at, count * sizeof(*out), out);
}

static int read_keys(struct feed_digests *digests)
{
    struct tck_stop *part = malloc(READ_RECORDS * sizeof(*part));
    int err = part ? 0 : -ENOMEM;
    for (size_t at = 0; at < digests->count && !err;) {
        size_t count = digests->count - at < READ_RECORDS ? digests->count - at : READ_RECORDS;
        err = read_at(digests, at, count, part);
        for (size_t i = 0; i < count && !err; i++, at++)
            digests->keys[at] = (struct digest_key){.tid = part[i].tid,
                                                    .flags = part[i].flags,
                                                    .signo = part[i].signo,
                                                    .hash = hash_registers(part[i].regs),
                                                    .seconds = part[i].seconds,
                                                    .at = at};
    }
    free(part);
    return err;
}

/* ---------------------------------------------------------------- the file */

/* 1: there may be records; 0: the file ends before. */
static int check_header(struct feed_digests *digests, struct stat *st)
{
    struct tck_file_header header;
    if (fstat(digests->fd, st))
        return wetdbg_fail_errno(TCK_DIGESTS_NAME);
    if (!S_ISREG(st->st_mode) || st->st_size > TCK_STOPS_BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is no file of digests", TCK_DIGESTS_NAME);
    ssize_t got = pread(digests->fd, &header, sizeof(header), 0);
    if (got < 0)
        return wetdbg_fail_errno(TCK_DIGESTS_NAME);
    if (got < (ssize_t)sizeof(header))
        return 0;
    if (memcmp(header.magic, TCK_MAGIC, sizeof(header.magic)) != 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s is no file of digests", TCK_DIGESTS_NAME);
    if (header.version && header.version < TCK_FORMAT_VERSION)
        return 0; /* made by an earlier wetdbg: the registers have to do */
    if (header.version != TCK_FORMAT_VERSION || header.record_bytes != sizeof(struct tck_stop))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "%s has version %u, records of %u bytes: not known here",
                           TCK_DIGESTS_NAME, header.version, header.record_bytes);
    return 1;
}

static int load(struct feed_digests *digests)
{
    struct stat st;
    int err = check_header(digests, &st);
    if (err <= 0)
        return err;
    digests->count =
        ((size_t)st.st_size - sizeof(struct tck_file_header)) / sizeof(struct tck_stop);
    digests->keys = calloc(digests->count + 1, sizeof(*digests->keys));
    if (!digests->keys)
        return -ENOMEM;
    err = read_keys(digests);
    return err ? err : sort_keys(digests);
}

/* A side file; *fd stays -1 if there is none. */
static int open_side(int dir_fd, const char *name, int *fd)
{
    int err = wd_regular_open(dir_fd, name, WD_LINKS_REFUSE, fd, NULL);
    if (err != -ENOENT)
        return err;
    return 0;
}

int feed_digests_open(int dir_fd, struct feed_digests **out)
{
    *out = NULL;
    int fd = -1, lines_fd = -1;
    int err = open_side(dir_fd, TCK_DIGESTS_NAME, &fd);
    if (!err && fd >= 0)
        err = open_side(dir_fd, TCK_LINES_NAME, &lines_fd);
    if (err && fd >= 0)
        close(fd);
    if (err || fd < 0)
        return err;
    struct feed_digests *digests = calloc(1, sizeof(*digests));
    if (!digests) {
        close(fd);
        if (lines_fd >= 0)
            close(lines_fd);
        return -ENOMEM;
    }
    digests->fd = fd;
    digests->lines_fd = lines_fd;
    err = load(digests);
    if (err || !digests->count) {
        feed_digests_close(digests);
        return err;
    }
    *out = digests;
    return 0;
}

void feed_digests_close(struct feed_digests *digests)
{
    if (!digests)
        return;
    close(digests->fd);
    if (digests->lines_fd >= 0)
        close(digests->lines_fd);
    free(digests->keys);
    free(digests->cursors);
    free(digests);
}

void feed_digests_rewind(struct feed_digests *digests)
{
    for (size_t i = 0; digests && i < digests->cursor_count; i++)
        digests->cursors[i].next = digests->cursors[i].seconds = 0;
    if (digests)
        digests->grown_tid = 0;
}

size_t feed_digests_count(const struct feed_digests *digests)
{
    return digests ? digests->count : 0;
}

/* ---------------------------------------------------------------- the record of a frame */

static int compare_cursor(const void *key, const void *element)
{
    const struct digest_cursor *cursor = element;
    return compare_u64(*(const uint32_t *)key, cursor->tid);
}

/* The first key that is not before `wanted`, which need not exist. */
static size_t find_key(const struct feed_digests *digests, const struct digest_key *wanted)
{
    return wd_bisect(0, digests->count, i, compare_by_registers(&digests->keys[i], wanted) < 0);
}

/* A signal that had come when rr stopped for the growth of a stack is delivered without another
 * stop: its record is that of the fault. */
static bool fits(const struct digest_key *key, const struct rrt_frame *frame, double before,
                 bool is_after_growth)
{
    if (frame->event == RRT_EVENT_SCHED) /* rr may take the processor away without a stop for it */
        return key->flags & TCK_STOP_SLICE && key->seconds >= before;
    return !(key->flags & TCK_STOP_SLICE) &&
           (key->signo == frame->signal.number || (is_after_growth && key->signo == SIGSEGV));
}

static bool has_registers(const struct tck_stop *stop, const uint64_t *regs)
{
    bool is_call = regs[AT_RCX] == UINT64_MAX && regs[AT_R11] == FLAGS_AT_CALL;
    for (int i = 0; i < TCK_REGS_COUNT; i++) {
        bool is_compared = i < GENERAL_REGS || i == AT_RIP || i == AT_RSP;
        bool is_changed = is_call && (i == AT_RCX || i == AT_R11);
        if (is_compared && !is_changed && stop->regs[i] != regs[i])
            return false;
    }
    return true;
}

static bool is_same(const struct feed_digests *digests, size_t i, const struct digest_key *wanted)
{
    return i < digests->count && digests->keys[i].tid == wanted->tid &&
           digests->keys[i].hash == wanted->hash;
}

static int check_range(const struct digest_key *key, uint64_t start, uint64_t bytes, uint64_t most)
{
    bool is_inside = start <= FEED_ADDRESS_END && bytes <= FEED_ADDRESS_END - start;
    if (!bytes || (bytes <= most && is_inside)) /* 0: rsp points nowhere */
        return 0;
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: record %llu has a digest of %llu bytes at %#llx",
                       TCK_DIGESTS_NAME, (unsigned long long)key->at, (unsigned long long)bytes,
                       (unsigned long long)start);
}

static int read_stop(struct feed_digests *digests, const struct digest_key *key,
                     struct tck_stop *stop)
{
    int err = read_at(digests, key->at, 1, stop);
    if (!err)
        err = check_range(key, stop->stack_start, stop->stack_bytes, TCK_STACK_BYTES_MAX);
    if (!err)
        err = check_range(key, stop->data_start, stop->data_bytes, TCK_DATA_BYTES_MAX);
    if (!err)
        err = check_range(key, stop->heap_start, stop->heap_bytes, TCK_HEAP_BYTES_MAX);
    if (!err && stop->target_count > TCK_TARGETS_MAX)
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: record %llu has %u targets", TCK_DIGESTS_NAME,
                          (unsigned long long)key->at, stop->target_count);
    return err;
}

int feed_digests_take(struct feed_digests *digests, const struct rrt_frame *frame,
                      struct tck_stop *stop)
{
    uint64_t regs[TCK_REGS_COUNT];
    uint32_t tid = (uint32_t)frame->tid;
    if (!digests)
        return 0;
    bool is_after_growth = digests->grown_tid == tid;
    digests->grown_tid = frame->event == RRT_EVENT_GROW_MAP ? tid : 0;
    struct digest_cursor *cursor = bsearch(&tid, digests->cursors, digests->cursor_count,
                                           sizeof(*digests->cursors), compare_cursor);
    if (!cursor)
        return 0;
    double before = cursor->seconds;
    if (frame->event != RRT_EVENT_SYSCALLBUF_FLUSH) /* which rr makes for the frame behind it */
        cursor->seconds = frame->monotonic_seconds;
    if (!frame->has_regs || (frame->event != RRT_EVENT_SCHED && frame->event != RRT_EVENT_SIGNAL))
        return 0;
    memcpy(regs, &frame->regs, sizeof(regs));
    struct digest_key wanted = {.tid = tid, .nth = cursor->next, .hash = hash_registers(regs)};
    /* rr stamps the frame right after its stop, so of those before it the last is meant */
    const struct digest_key *found = NULL;
    for (size_t i = find_key(digests, &wanted); is_same(digests, i, &wanted); i++) {
        const struct digest_key *key = &digests->keys[i];
        if (key->seconds <= frame->monotonic_seconds && fits(key, frame, before, is_after_growth))
            found = key;
    }
    if (!found)
        return 0;
    int err = read_stop(digests, found, stop);
    if (err || !has_registers(stop, regs))
        return err;
    cursor->next = found->nth + 1;
    return 1;
}
