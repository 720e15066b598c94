/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the units of this folder know of each other beyond the public header. */
#ifndef RECORDER_RR_TRACE_TRACE_INTERNAL_H
#define RECORDER_RR_TRACE_TRACE_INTERNAL_H

#include "recorder/rr_trace/frame_arena.h"
#include "recorder/rr_trace/rr_trace.h"

/* Reads the `version` file of the recording in dir_fd; header->cpuid goes to the arena. Errors
 * as of wetdbg_recording_open(). */
int rrt_read_header(int dir_fd, const char *dir, struct rrt_arena *arena,
                    struct rrt_header *header);

/* The same from the contents of `version`, or of `incomplete`. */
int rrt_decode_version_file(const char *dir, const struct rrt_bytes *contents, bool is_unfinished,
                            struct rrt_arena *arena, struct rrt_header *header);

/* The header that rr would write about a recording made on this processor; header->cpuid goes to
 * the arena. 0 or -ENOMEM. */
int rrt_header_assume(struct rrt_arena *arena, struct rrt_header *header);

/* A recording in memory: the version file as it is, the streams' bytes without blocks. Lets the
 * decoders be tested (and fuzzed) without compression in between. */
struct rrt_memory_streams {
    struct rrt_bytes version, events, data, mmaps, tasks;
    bool is_unfinished; /* `version` is still called `incomplete` */
};

/* Like wetdbg_recording_open(); `streams` and its bytes stay the caller's and must outlive the
 * trace. Such a trace has no directory: rrt_trace_dir_fd() is -1, no backing file can be opened. */
int rrt_open_memory(const struct rrt_memory_streams *streams, struct wetdbg_recording **out);

/* A second cursor over the same recording, at its first frame; the caller's to close. */
int rrt_reopen(const struct wetdbg_recording *trace, struct wetdbg_recording **out);

/* Whether an execve or execveat succeeded here. */
bool rrt_is_exec(const struct rrt_frame *frame);

/* Whether a clone, fork or vfork begins or ends here. */
bool rrt_is_clone(const struct rrt_frame *frame);

/* Whether the streams have records of frames after the last one read. */
bool rrt_has_more_mmaps(const struct wetdbg_recording *trace);
bool rrt_has_more_tasks(const struct wetdbg_recording *trace);

/* What all records of mappings together tell of the files behind them, once it was asked. */
struct rrt_file_facts {
    bool knows_packing, is_packed;     /* by `rr pack` */
    bool knows_times, have_lost_times; /* none of what were hard links has its time */
};
struct rrt_file_facts *rrt_trace_file_facts(struct wetdbg_recording *trace);

/* rrt_each_mmap() through a second cursor: the caller's place stays where it is. */
int rrt_visit_mmaps(struct wetdbg_recording *trace, rrt_mmap_fn visit, void *arg);

struct rrt_process_table;
void rrt_process_table_free(struct rrt_process_table *table); /* NULL is fine */

/* Is `err`, and keeps for rrt_has_named_itself() that it has been answered: an error whose sentence
 * names the recording (but for -ENOMEM), or none. */
int rrt_note_failure(struct wetdbg_recording *trace, int err);

/* Where the trace keeps its table, which it frees; *it is NULL at first. */
struct rrt_process_table **rrt_trace_process_table(struct wetdbg_recording *trace);

/* The trace's list of checksums, read when first asked for; NULL if it has none. Borrowed. */
struct rrt_sums;
int rrt_trace_sums(struct wetdbg_recording *trace, const struct rrt_sums **sums);

#endif
