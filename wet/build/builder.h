/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The builder's insides.
 *
 *   build.c     one pass over the run, interval by interval; life
 *   builder.c   what is taken while the replayee runs, and when it stands still
 *   snapshot.c  what the builder knows, as bytes for the journal and back
 *   restart.c   a replayee in the middle of the run
 *   window.c    begins in the middle of the run
 *   resume.c    goes on with an unfinished file
 *   side.c      plain replay ahead, and windows of the run built at once behind it
 *   part.c      one of them: what its process writes, and how that becomes part of the file
 *   scan_memory.c      memory that the replayee may have written
 */
#ifndef WET_BUILD_BUILDER_H
#define WET_BUILD_BUILDER_H

#include "recorder/replay/engine.h"
#include "wet/build/build_wet.h"
#include "wet/build/journal.h"
#include "wet/build/jump_finder.h"
#include "wet/build/node_table.h"
#include "wet/build/outputs.h"
#include "wet/build/thread_finder.h"
#include "wet/build/writer.h"
#include "wet/trace/records.h"
#include "wet/trace/space.h"

/* How much of the tables the journal has. */
struct wet_snapshot_mark {
    uint32_t nodes;
    size_t objects, outputs, turns, ambiguous, jumps;
    struct wd_buf threads; /* as they were */
};

struct wet_part;

struct wet_builder {
    struct rep_feed *feed;
    struct rep_engine *engine;
    struct wet_space space;
    struct wet_writer *writer;
    struct wet_part *part; /* takes the intervals instead of the writer; or NULL */
    struct wet_output_finder outputs;
    struct wet_thread_finder threads;
    struct wet_node_table nodes;
    struct wet_jump_table jumps;
    struct wet_interval_parts parts;
    struct wet_changes changes;
    struct wet_snapshot_mark mark;
    struct wd_buf index; /* struct wet_index_record */
    struct wd_buf lines; /* of the interval that ends */
    struct wd_buf line_bytes;
    uint64_t line_address;            /* of the last one, if there is one */
    uint64_t first_time, first_entry; /* of the interval that is being built */
    /* Where the engine's clock began: the run's instructions and entries before, and the entries
     * by which the engine was brought there. */
    uint64_t time_before, entries_before, start_entries;
    uint64_t ticks_before[EVQ_TASKS_MAX]; /* of the tasks that were there then */
    uint64_t ticks_given[EVQ_TASKS_MAX];  /* the same, for entries that are yet to be taken */
    struct wd_buf ahead;                  /* entries of the feed that come first */
    uint64_t stop_time, stop_frame;       /* where to end: this time; before this event */
    bool is_cut;                          /* stop_frame has been met: there are no more entries */
    bool has_all;                         /* all before it have been taken */
    bool has_end;                         /* the run's end has been reached */
    uint64_t last_frame;
    uint64_t signal_time; /* state at this time is what the last signal interrupted */
    bool has_journal;
    bool is_leader; /* of windows side by side: keeps tables and views, and no intervals */
    const struct wet_build_options *options;
};

/* ---- builder.c ---- */

/* Instructions and entries of the run so far. */
uint64_t wet_builder_time(const struct wet_builder *builder);
uint64_t wet_builder_entries(const struct wet_builder *builder);

/* Whether the recording may have something mapped where the view is. Nothing may be mapped over the
 * agent, which stays out of these addresses. */
bool wet_builder_has_room(const struct wet_builder *builder, const struct agt_view *view);

/* Ends an interval where the engine stands: its row of the index, and the next one begins. */
int wet_builder_index(struct wet_builder *builder, struct wet_index_record *record);

/* wet_builder_index(), and hands the interval's parts to the writer. */
int wet_builder_interval(struct wet_builder *builder);

/* The engine's source. When it has no entries because of stop_frame, and all before have been
 * taken, its `next` says -ECANCELED. */
struct rep_source wet_builder_source(struct wet_builder *builder);

/* Makes WET_SEC_STATE of where the engine stands. */
int wet_builder_state(struct wet_builder *builder, struct wd_buf *out);

/* Ticks that each task has retired by now, in the whole run. */
void wet_builder_ticks(const struct wet_builder *builder, uint64_t *ticks);

/* Entries that the engine was given and has not taken, as the feed gave them. */
void wet_builder_ticks_undo(const struct wet_builder *builder, struct wd_buf *entries);

/* Notes a signal, for the state that the last one interrupted. */
void wet_builder_signal_note(struct wet_builder *builder, const struct evq_entry *entry,
                             uint64_t time);

/* How hard to compress; processors; instructions of an interval. */
int wet_builder_level(const struct wet_build_options *options);
unsigned wet_builder_jobs(const struct wet_build_options *options);
uint64_t wet_builder_length(const struct wet_build_options *options);

/* A file's bytes, for wet_space.file_read, whose argument is the builder. */
int wet_builder_file_read(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes);

void wet_builder_notice(const struct wet_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- build.c ---- */

/* Replays on, until `most` intervals have ended or there is nothing left; `interval` is called
 * where one ends. */
typedef int (*wet_interval_fn)(struct wet_builder *builder);
int wet_builder_replay(struct wet_builder *builder, uint64_t most, wet_interval_fn interval);

/* Whether nothing of the run or window is left. */
bool wet_builder_is_over(const struct wet_builder *builder);

/* ---- snapshot.c ---- */

/* Appends what has come to be since the last call: first the nodes, as wet_node_table_save does. */
int wet_snapshot_save(struct wet_builder *builder, struct wd_buf *out);

/* Brings the builder to where it was, by all that was saved, in that order. -WETDBG_ERR_CORRUPT
 * without a message. */
int wet_snapshot_load(struct wet_builder *builder, struct wd_view *view);

/* ---- restart.c ---- */

/* Makes the empty engine's replayee the program as `state` (WET_SEC_STATE) and the space show it,
 * and lets it stand there, with nothing written. The engine's clock is at 0. */
int wet_restart(struct wet_builder *builder, const struct wd_buf *state);

/* ---- window.c ---- */

/* Whether the file is to begin later than the run. */
bool wet_window_is_later(const struct wet_builder *builder);

/* Says to a builder where to end. */
void wet_window_end_set(struct wet_builder *builder);

/* The run's end has been reached: says so if the window was to go on. */
void wet_window_end_tell(const struct wet_builder *builder);

/* Brings a new builder to the window's start, and writes WET_SEC_MEMORY. -WETDBG_ERR_USAGE if the
 * run ends before. */
int wet_window_begin(struct wet_builder *builder, struct wet_store_writer *store);

/* ---- resume.c ---- */

struct wet_unfinished {
    struct wet_store_writer *store; /* NULL: no such file */
    struct wet_journal *journal;
};

/* Opens the unfinished file of `path`, or begins one. Where none can be kept, both become NULL; if
 * that is because what is there is not this user's own, the user is told. */
int wet_unfinished_open(const struct wet_builder *builder, const char *path,
                        struct wet_unfinished *out);

/* Forgets what is in the unfinished file. */
int wet_unfinished_clear(struct wet_unfinished *unfinished);

/* The journal's first record: what is built, and from where. */
int wet_unfinished_begin(struct wet_builder *builder, struct wet_unfinished *unfinished);

/*
 * Brings a new builder to the start of the last interval that the file holds, and file and journal
 * to that point. *resumed: false if there is nothing to go on with; then, and after
 * -WETDBG_ERR_CORRUPT, another new builder may begin after wet_unfinished_clear.
 */
int wet_resume(struct wet_builder *builder, struct wet_unfinished *unfinished, bool *resumed);

/*
 * Makes a replayee stand where the interval from builder->first_time on begins, by WET_SEC_STATE
 * `state` (which becomes the interval's) and the space; the feed, at its beginning, is brought
 * there too.
 */
int wet_builder_stand(struct wet_builder *builder, struct wd_buf *state);

/* What has to be known of an engine, at an interval's end, for another one to go on from there. */
struct wet_leave {
    struct wd_buf entries;
    uint64_t ticks[EVQ_TASKS_MAX];
};
int wet_builder_leave(const struct wet_builder *builder, struct wet_leave *leave);

/* Goes on with a new engine of `mode`: by `leave`, whose entries are taken, parts.state and the
 * space. */
int wet_builder_arrive(struct wet_builder *builder, enum dbi_mode mode, struct wet_leave *leave);

/* Leaves and arrives: a new engine takes the place of the builder's. */
int wet_builder_move(struct wet_builder *builder, enum dbi_mode mode);

#endif
