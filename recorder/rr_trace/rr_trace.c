/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening a recording, and reading it forwards: one frame of `events`, joined with the records
 * of `mmaps` and `tasks` that name its time (both are in time order, so one record of lookahead
 * on each is enough) and with its share of `data`.
 */
#include "recorder/rr_trace/rr_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "recorder/rr_trace/trace_decode.h"
#include "recorder/rr_trace/trace_internal.h"
#include "recorder/rr_trace/trace_sums.h"
#include "recorder/rr_trace/trace_unfinished.h"
#include <wetdbg/errors.h>

/* A frame with more than this is no ordinary system call or mapping. */
#define FRAME_DATA_MAX_BYTES ((uint64_t)4 << 30)
/* What is longer than rr's messages ever are has not just lost its end. */
#define PARTIAL_MAX_BYTES ((uint64_t)4 << 20)

/* A stream of records that belong to frames, and the first one not yet joined. */
struct side_stream {
    struct rrt_stream stream;
    struct rrt_message next;
    uint64_t next_time; /* UINT64_MAX: there is no next */
};

struct wetdbg_recording {
    char *dir;
    int dir_fd;                              /* -1: the streams are in memory */
    const struct rrt_memory_streams *memory; /* NULL: they are files */
    struct rrt_header header;
    struct rrt_arena header_arena;

    struct rrt_stream events;
    struct rrt_stream data;
    struct side_stream mmaps;
    struct side_stream tasks;

    struct rrt_message message; /* the current frame's */
    struct rrt_arena arena;     /* the current frame's */
    struct wd_buf bytes;        /* the current frame's memory contents */
    uint64_t time;              /* of the last frame read */
    bool is_skipping_data;
    struct rrt_unfinished *unfinished; /* NULL: the recording ended; or it is being found out */
    bool borrows_unfinished;
    int failed;            /* the error that ended reading; 0: none yet */
    bool has_named_itself; /* see rrt_has_named_itself() */

    struct rrt_process_table *processes; /* NULL until asked for */
    struct rrt_sums *sums;               /* NULL until asked for, or if there are none */
    bool has_asked_sums;
    struct rrt_file_facts file_facts;
};

/* ---------------------------------------------------------------- open, close */

/* The next message, as rrt_message_read() gives it. Where a stream was cut, a partial one ends
 * it. */
static int read_message(struct rrt_message *message, struct rrt_stream *stream)
{
    bool may_be_cut = stream->is_trimmed && rrt_stream_left(stream) <= PARTIAL_MAX_BYTES;
    int r = rrt_message_read(message, stream);
    return r == -WETDBG_ERR_CORRUPT && may_be_cut && rrt_stream_left(stream) == 0 ? 0 : r;
}

static int advance_side(struct side_stream *side)
{
    uint64_t time = UINT64_MAX;
    int r = read_message(&side->next, &side->stream);
    if (r > 0)
        r = rrt_decode_time(&side->next, &time);
    if (r < 0)
        return r;
    if (time < side->next_time && side->next_time != UINT64_MAX)
        return rrt_message_fail(&side->next, -WETDBG_ERR_CORRUPT, "frame times run backwards");
    side->next_time = time;
    return 0;
}

static int start_side(struct side_stream *side)
{
    rrt_stream_rewind(&side->stream);
    side->next_time = UINT64_MAX;
    return advance_side(side);
}

/* What is out of memory has no file. */
int rrt_note_failure(struct wetdbg_recording *trace, int err)
{
    trace->has_named_itself = err < 0 && err != -ENOMEM;
    return err;
}

bool rrt_has_named_itself(const struct wetdbg_recording *trace)
{
    return trace->has_named_itself;
}

int rrt_rewind(struct wetdbg_recording *trace)
{
    rrt_stream_rewind(&trace->events);
    rrt_stream_rewind(&trace->data);
    rrt_arena_reset(&trace->arena);
    trace->time = 0;
    trace->failed = 0;
    trace->has_named_itself = false;
    int r = start_side(&trace->mmaps);
    if (r == 0)
        r = start_side(&trace->tasks);
    trace->failed = r;
    rrt_note_failure(trace, r);
    return r;
}

static int open_stream(const struct wetdbg_recording *trace, struct rrt_stream *stream,
                       const char *name, const struct rrt_bytes *in_memory)
{
    if (in_memory)
        return rrt_stream_open_memory(stream, name, in_memory->data, in_memory->size_bytes);
    return rrt_stream_open(stream, trace->dir_fd, trace->dir, name);
}

static int open_streams(struct wetdbg_recording *trace)
{
    const struct rrt_memory_streams *memory = trace->memory;
    int r = open_stream(trace, &trace->events, "events", memory ? &memory->events : NULL);
    if (r == 0)
        r = open_stream(trace, &trace->data, "data", memory ? &memory->data : NULL);
    if (r == 0)
        r = open_stream(trace, &trace->mmaps.stream, "mmaps", memory ? &memory->mmaps : NULL);
    if (r == 0)
        r = open_stream(trace, &trace->tasks.stream, "tasks", memory ? &memory->tasks : NULL);
    return r;
}

/* Of what a recording that did not end has so little that no program starts in it. */
static int fail_without_start(const struct wetdbg_recording *trace)
{
    const struct rrt_stream *const streams[] = {&trace->events, &trace->mmaps.stream, &trace->data};
    static const char *const names[] = {"events", "mmaps", "data"};
    char missing[64] = "";
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        if (streams[i]->stream_bytes == 0)
            snprintf(missing + strlen(missing), sizeof(missing) - strlen(missing), "%s`%s`",
                     missing[0] ? ", " : ": nothing in ", names[i]);
    return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                       "%s: the recording did not end, and what rr had written by then does not "
                       "reach to a program's start%s",
                       trace->dir, missing);
}

/* Of a recording that did not end, finds out how far it goes. */
static int find_end(struct wetdbg_recording *trace)
{
    struct rrt_stream *const streams[] = {&trace->events, &trace->data, &trace->mmaps.stream,
                                          &trace->tasks.stream};
    bool was_closed = !trace->header.is_assumed;
    int r = 0;
    for (size_t i = 0; r == 0 && i < sizeof(streams) / sizeof(streams[0]); i++) {
        r = rrt_stream_trim(streams[i]);
        was_closed &= !streams[i]->was_cut;
    }
    if (r != 0 || trace->unfinished)
        return r;
    rrt_set_skip_data(trace, true);
    r = rrt_rewind(trace);
    if (r == 0)
        r = rrt_unfinished_find(trace, was_closed, &trace->unfinished);
    rrt_set_skip_data(trace, false);
    return r == 0 && !rrt_unfinished_last(trace->unfinished) ? fail_without_start(trace) : r;
}

/* Takes over dir_fd, whatever the result. `unfinished` is borrowed, or NULL: not known yet. */
static int open_at(int dir_fd, const char *dir, const struct rrt_memory_streams *memory,
                   struct rrt_unfinished *unfinished, struct wetdbg_recording **out)
{
    struct wetdbg_recording *trace = calloc(1, sizeof(*trace));
    if (!trace) {
        if (dir_fd >= 0)
            close(dir_fd);
        return -ENOMEM;
    }
    trace->dir_fd = dir_fd;
    trace->memory = memory;
    trace->unfinished = unfinished;
    trace->borrows_unfinished = unfinished != NULL;
    trace->dir = strdup(dir);
    int r = trace->dir ? 0 : -ENOMEM;
    if (r == 0 && memory)
        r = rrt_decode_version_file(dir, &memory->version, memory->is_unfinished,
                                    &trace->header_arena, &trace->header);
    else if (r == 0)
        r = rrt_read_header(dir_fd, dir, &trace->header_arena, &trace->header);
    if (r == 0)
        r = open_streams(trace);
    if (r == 0 && !trace->header.ended_normally)
        r = find_end(trace);
    if (r == 0)
        r = rrt_rewind(trace);
    if (r != 0) {
        wetdbg_recording_close(trace);
        return r;
    }
    *out = trace;
    return 0;
}

int wetdbg_recording_open(const char *dir, struct wetdbg_recording **out)
{
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: no directory of a recording: %s", dir,
                           strerror(errno));
    if (dir_fd < 0)
        return wetdbg_fail_errno("%s", dir);
    return open_at(dir_fd, dir, NULL, NULL, out);
}

int rrt_open_memory(const struct rrt_memory_streams *streams, struct wetdbg_recording **out)
{
    return open_at(-1, "memory", streams, NULL, out);
}

int rrt_reopen(const struct wetdbg_recording *trace, struct wetdbg_recording **out)
{
    if (trace->memory)
        return open_at(-1, trace->dir, trace->memory, trace->unfinished, out);
    int dir_fd = fcntl(trace->dir_fd, F_DUPFD_CLOEXEC, 0);
    if (dir_fd < 0)
        return wetdbg_fail_errno("%s", trace->dir);
    return open_at(dir_fd, trace->dir, NULL, trace->unfinished, out);
}

void wetdbg_recording_close(struct wetdbg_recording *trace)
{
    if (!trace)
        return;
    rrt_process_table_free(trace->processes);
    rrt_sums_free(trace->sums);
    if (!trace->borrows_unfinished)
        rrt_unfinished_free(trace->unfinished);
    rrt_stream_close(&trace->events);
    rrt_stream_close(&trace->data);
    rrt_stream_close(&trace->mmaps.stream);
    rrt_stream_close(&trace->tasks.stream);
    rrt_message_fini(&trace->message);
    rrt_message_fini(&trace->mmaps.next);
    rrt_message_fini(&trace->tasks.next);
    rrt_arena_fini(&trace->arena);
    rrt_arena_fini(&trace->header_arena);
    wd_buf_fini(&trace->bytes);
    if (trace->dir_fd >= 0)
        close(trace->dir_fd);
    free(trace->dir);
    free(trace);
}

const struct rrt_header *rrt_trace_header(const struct wetdbg_recording *trace)
{
    return &trace->header;
}

const char *rrt_trace_dir(const struct wetdbg_recording *trace)
{
    return trace->dir;
}

int rrt_trace_dir_fd(const struct wetdbg_recording *trace)
{
    return trace->dir_fd;
}

bool wetdbg_recording_unfinished(const struct wetdbg_recording *trace, uint64_t *last_event)
{
    if (trace->unfinished)
        *last_event = rrt_unfinished_last(trace->unfinished);
    return trace->unfinished != NULL;
}

int wetdbg_recording_notice(const struct wetdbg_recording *trace, char *text, size_t size_bytes)
{
    uint64_t last;
    if (!wetdbg_recording_unfinished(trace, &last))
        return 0;
    return snprintf(text, size_bytes,
                    "the recording did not end: rr was killed, or could not go on. It is known up "
                    "to event %lu; what came after that, and how the programs ended that still ran "
                    "then, is not%s",
                    (unsigned long)last,
                    trace->header.is_assumed
                        ? ". Nor is on which processor it was made: it is taken to be this one"
                        : "");
}

bool rrt_has_more_mmaps(const struct wetdbg_recording *trace)
{
    return trace->mmaps.next_time != UINT64_MAX;
}

bool rrt_has_more_tasks(const struct wetdbg_recording *trace)
{
    return trace->tasks.next_time != UINT64_MAX;
}

struct rrt_process_table **rrt_trace_process_table(struct wetdbg_recording *trace)
{
    return &trace->processes;
}

struct rrt_file_facts *rrt_trace_file_facts(struct wetdbg_recording *trace)
{
    return &trace->file_facts;
}

/* ---------------------------------------------------------------- checksums */

int rrt_trace_sums(struct wetdbg_recording *trace, const struct rrt_sums **sums)
{
    int r = 0;
    if (!trace->has_asked_sums && trace->dir_fd >= 0)
        r = rrt_sums_open(trace->dir_fd, trace->dir, &trace->sums);
    trace->has_asked_sums = r == 0;
    *sums = trace->sums;
    return r;
}

int rrt_check_sums(struct wetdbg_recording *trace)
{
    const struct rrt_sums *sums;
    int r = rrt_trace_sums(trace, &sums);
    int packed = r == 0 && sums ? rrt_is_packed(trace) : r;
    if (packed < 0 || !sums)
        return packed;
    return rrt_sums_check_streams(sums, trace->dir_fd, packed ? "mmaps" : NULL);
}

void rrt_set_skip_data(struct wetdbg_recording *trace, bool skip)
{
    trace->is_skipping_data = skip;
}

/* ---------------------------------------------------------------- memory contents */

/* Copies `count` bytes out of `data`. Grows by what has really been read, so that a claimed
 * size alone costs no memory. */
static int collect_bytes(struct wetdbg_recording *trace, uint64_t count)
{
    size_t chunk = 1u << 20;
    trace->bytes.size_bytes = 0;
    while (count > 0) {
        size_t want = count < chunk ? (size_t)count : chunk;
        int r = wd_buf_reserve(&trace->bytes, want);
        if (r == 0)
            r = rrt_stream_read(&trace->data, trace->bytes.data + trace->bytes.size_bytes, want);
        if (r != 0)
            return r;
        trace->bytes.size_bytes += want;
        count -= want;
    }
    return 0;
}

static int total_stored(const struct rrt_frame *frame, uint64_t *total)
{
    *total = 0;
    for (size_t i = 0; i < frame->write_count; i++)
        if (__builtin_add_overflow(*total, frame->writes[i].stored_bytes, total))
            return -EOVERFLOW;
    return 0;
}

/* Gives each write its share of the bytes that start at `bytes` (NULL: they are skipped). */
static void hand_out_bytes(struct rrt_frame *frame, const uint8_t *bytes, uint64_t data_off)
{
    struct rrt_write *writes = (struct rrt_write *)frame->writes; /* in our own arena */
    uint64_t at = 0;
    for (size_t i = 0; i < frame->write_count; i++) {
        writes[i].data_offset = data_off + at;
        if (bytes && writes[i].stored_bytes > 0)
            writes[i].bytes = bytes + at;
        at += writes[i].stored_bytes;
    }
}

/* While it is found out how far a recording goes, the data of an exec are asked for the program's
 * arguments. */
static bool needs_data(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    return trace->data.is_trimmed && !trace->unfinished && rrt_is_exec(frame);
}

static int join_data(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    uint64_t total;
    uint64_t data_off = rrt_stream_tell(&trace->data);
    const uint8_t *bytes = NULL;
    int r = total_stored(frame, &total);
    if (r != 0)
        return rrt_message_fail(&trace->message, -WETDBG_ERR_CORRUPT, "impossibly large memory");
    if (trace->is_skipping_data && !needs_data(trace, frame)) {
        r = rrt_stream_skip(&trace->data, total);
    } else if (total > FRAME_DATA_MAX_BYTES) {
        r = rrt_message_fail(&trace->message, -WETDBG_ERR_UNSUPPORTED,
                             "more than 4 GiB of memory in one frame");
    } else {
        r = rrt_stream_borrow(&trace->data, (size_t)total, &bytes);
        if (r == 0 && !bytes && total > 0) {
            r = collect_bytes(trace, total);
            bytes = trace->bytes.data;
        }
    }
    if (r == 0)
        hand_out_bytes(frame, bytes, data_off);
    return r;
}

/* ---------------------------------------------------------------- mappings, task events */

/* Grows an array in the arena to hold one more. Pieces that it outgrew stay until the reset. */
static void *grow_array(struct rrt_arena *arena, const void *array, size_t count, size_t size)
{
    if ((count & (count - 1)) != 0) /* room is left until the next power of two */
        return (void *)array;
    void *grown = rrt_arena_alloc(arena, count ? 2 * count : 1, size);
    if (grown && count > 0)
        memcpy(grown, array, count * size);
    return grown;
}

static int check_side_time(const struct side_stream *side, uint64_t time)
{
    if (side->next_time < time)
        return rrt_message_fail(&side->next, -WETDBG_ERR_CORRUPT,
                                "belongs to frame %lu, which has gone by",
                                (unsigned long)side->next_time);
    return 0;
}

static int join_mmaps(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    int r = check_side_time(&trace->mmaps, frame->time);
    while (r == 0 && trace->mmaps.next_time == frame->time) {
        struct rrt_mmap *maps =
            grow_array(&trace->arena, frame->mmaps, frame->mmap_count, sizeof(*maps));
        if (!maps)
            return -ENOMEM;
        frame->mmaps = maps;
        r = rrt_decode_mmap(&trace->mmaps.next, &trace->arena, &maps[frame->mmap_count++]);
        if (r == 0)
            r = advance_side(&trace->mmaps);
    }
    return r;
}

/* Room for one more task event of the frame; NULL when out of memory. */
static struct rrt_task_event *add_task(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    struct rrt_task_event *tasks =
        grow_array(&trace->arena, frame->tasks, frame->task_count, sizeof(*tasks));
    if (tasks)
        frame->tasks = tasks;
    return tasks ? &tasks[frame->task_count++] : NULL;
}

/* Task events whose records were lost. */
static int join_lost_tasks(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    const struct rrt_task_event *lost;
    size_t count = rrt_unfinished_tasks(trace->unfinished, frame->time, &lost);
    for (size_t i = 0; i < count; i++) {
        struct rrt_task_event *event = add_task(trace, frame);
        if (!event)
            return -ENOMEM;
        *event = lost[i];
    }
    return 0;
}

static int join_tasks(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    int r = check_side_time(&trace->tasks, frame->time);
    while (r == 0 && trace->tasks.next_time == frame->time) {
        struct rrt_task_event *event = add_task(trace, frame);
        if (!event)
            return -ENOMEM;
        r = rrt_decode_task_event(&trace->tasks.next, &trace->arena, event);
        if (r == 0)
            r = advance_side(&trace->tasks);
    }
    return r == 0 && trace->unfinished ? join_lost_tasks(trace, frame) : r;
}

/* ---------------------------------------------------------------- frames */

/* After the last frame nothing may be left over: else `events` was cut between two blocks. */
static int check_end(struct wetdbg_recording *trace)
{
    const struct side_stream *side =
        trace->mmaps.next_time != UINT64_MAX ? &trace->mmaps : &trace->tasks;
    if (side->next_time != UINT64_MAX)
        return rrt_message_fail(&side->next, -WETDBG_ERR_CORRUPT,
                                "belongs to frame %lu, but `events` ends after frame %lu",
                                (unsigned long)side->next_time, (unsigned long)trace->time);
    int r = rrt_stream_at_end(&trace->data);
    if (r == 0)
        return rrt_stream_fail(&trace->data, -WETDBG_ERR_CORRUPT,
                               "more bytes than the %lu frames of `events` take",
                               (unsigned long)trace->time);
    return r < 0 ? r : 0;
}

/* Whether the stream `data` was cut before the end of the frame's share. */
static bool lacks_data(const struct wetdbg_recording *trace, const struct rrt_frame *frame)
{
    uint64_t total;
    return trace->data.is_trimmed && total_stored(frame, &total) == 0 &&
           total > rrt_stream_left(&trace->data);
}

static int read_frame(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    bool is_cut = trace->events.is_trimmed;
    if (trace->unfinished && trace->time == rrt_unfinished_last(trace->unfinished))
        return 0;
    int r = read_message(&trace->message, &trace->events);
    if (r == 0)
        return is_cut ? 0 : check_end(trace);
    if (r < 0)
        return r;
    frame->time = ++trace->time;
    r = rrt_decode_frame(&trace->message, &trace->arena, frame);
    if (r == 0 && lacks_data(trace, frame))
        return 0;
    if (r == 0)
        r = join_mmaps(trace, frame);
    if (r == 0)
        r = join_tasks(trace, frame);
    if (r == 0)
        r = join_data(trace, frame);
    return r == 0 ? 1 : r;
}

int rrt_next(struct wetdbg_recording *trace, struct rrt_frame *frame)
{
    if (trace->failed != 0)
        return trace->failed;
    memset(frame, 0, sizeof(*frame));
    rrt_arena_reset(&trace->arena);
    int r = read_frame(trace, frame);
    if (r < 0)
        trace->failed = r;
    rrt_note_failure(trace, r);
    return r;
}

int rrt_each_mmap(struct wetdbg_recording *trace, rrt_mmap_fn visit, void *arg)
{
    int r = rrt_rewind(trace);
    while (r == 0 && trace->mmaps.next_time != UINT64_MAX) {
        struct rrt_mmap map = {0};
        rrt_arena_reset(&trace->arena);
        r = rrt_decode_mmap(&trace->mmaps.next, &trace->arena, &map);
        if (r == 0)
            r = visit(arg, &map);
        if (r == 0)
            r = advance_side(&trace->mmaps);
    }
    int rewound = rrt_rewind(trace);
    return r != 0 ? r : rewound;
}

int rrt_visit_mmaps(struct wetdbg_recording *trace, rrt_mmap_fn visit, void *arg)
{
    struct wetdbg_recording *cursor;
    int r = rrt_reopen(trace, &cursor);
    if (r != 0)
        return r;
    r = rrt_each_mmap(cursor, visit, arg);
    wetdbg_recording_close(cursor);
    return r;
}
