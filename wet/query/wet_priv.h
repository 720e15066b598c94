/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of an opened .wet, for the files of wet/query/ only. */
#ifndef WET_QUERY_WET_PRIV_H
#define WET_QUERY_WET_PRIV_H

#include <jansson.h>
#include <signal.h>

#include "recorder/replay/engine.h"
#include "recorder/rr_trace/trace_surroundings.h"
#include "wet/intervals.h"
#include "wet/query/interval.h"
#include "wet/query/statements.h"
#include "wet/store/store.h"
#include "wet/trace/records.h"
#include "wet/trace/space.h"

struct wet_file {
    struct wetdbg *wet;
    const struct wet_file_record *record;
    char *path;
    int fd; /* memory file with the contents, -1 until needed */
};

/* A node and what is needed to find it. */
struct wet_node_entry {
    struct wet_node is;  /* statements == NULL until somebody asks */
    bool is_met;         /* in no file: see wet_node_meet(); owns its code */
    uint32_t next_by_pc; /* chain, 1 + index in nodes */
};

/* How often each node ran in one interval, sorted by node. */
struct wet_counts {
    struct wet_kept kept;
    uint32_t *nodes;
    uint32_t *counts;
    size_t count;
    bool loaded;
};

/* Which lines of the memory file an interval wrote, ascending, and the views around it. */
struct wet_written {
    struct wet_kept kept;
    uint64_t *lines;
    size_t line_count;
    struct agt_views start, end; /* in the buffers */
    struct wd_buf start_state, end_state;
    bool loaded;
};

struct wetdbg {
    struct wet_store *store;
    struct wetdbg_info info;
    json_t *meta;
    const char **argv;
    char **decoded; /* of META, whose bytes are no UTF-8; ours */
    size_t decoded_count;
    uint64_t xcr0;
    struct agt_processor processor;
    struct rrt_inherited streams[RRT_INHERITED];
    uint32_t x87; /* AGT_X87_* */
    bool cpuid_is_recorded, cpuid_is_here;
    char lacks[512]; /* names of recorded features that this processor lacks */
    struct wd_buf index_bytes, objects_bytes, names_bytes, outputs_bytes, files_bytes, nodes_bytes,
        spans_bytes, cpu_bytes;
    const struct rep_span *spans;
    size_t span_count;
    const struct wet_index_record *index;
    struct wetdbg_output *outputs;
    size_t output_count;
    const char **names;
    size_t name_count;
    struct wd_buf threads_bytes, turns_bytes, jumps_bytes;
    struct wetdbg_thread *threads;
    const struct wetdbg_thread **threads_by_slot; /* by slot, then start */
    size_t thread_count;
    const struct wet_turn_record *turns;
    size_t turn_count;
    struct wetdbg_ambiguous *ambiguous;
    struct wet_file *files;
    size_t file_count;
    struct wet_node_entry *nodes;
    pthread_mutex_t node_lock; /* for making statements */
    struct wet_statements *statements;
    size_t node_count; /* of the file, then those that were met since; room for node_room */
    size_t node_room;
    uint32_t *node_by_id; /* 1 + index in nodes */
    uint32_t node_limit;
    uint32_t next_node_id; /* of a node that is met later */
    uint32_t *node_by_pc;  /* 1 + index in nodes */
    struct wet_counts *counts;
    struct wet_written *written;
    struct wetdbg_model *model;
    struct wet_space space;
    /* bytes of mapped and debug files in memory, which are bounded like the space */
    uint64_t files_taken;
    uint64_t space_at; /* the interval whose start `space` shows */
    bool space_ready;
    struct rep_engine *engine;
    bool is_trusted;
    bool collects_values; /* an engine that is made now has results in its ring: effects.c */
    struct wet_fragments *fragments;
    struct wet_keeper keeper;   /* what is kept */
    struct wet_keeper passing;  /* intervals that were not wanted often; see interval.c */
    struct wet_cached **cached; /* by interval */
    struct wet_size *sizes;     /* by interval */
    struct wet_arrays *spare;   /* taken and left with atomic exchanges */
    struct wet_worker worker;
    uint64_t last_got;     /* the interval asked for last */
    int64_t last_step;     /* and how far it was from the one before */
    uint64_t state_serial; /* which state the engine stands at, 0: none */
    uint64_t last_state_serial;
    char damage[512]; /* of a debug file that the model asked for; "": none */
    volatile sig_atomic_t interrupted;
};

/* check_file.c */
/* Reads and checks where the program's memory may be and which CPU it needs. */
int wet_machine_open(struct wetdbg *wet);
/* Whether objects lie in user space and come from files that there are (after wet_files_open). */
int wet_objects_check(const struct wetdbg *wet);
/* Checks an entry, by evq_entry_check() and for what that leaves to the caller: addresses, file
 * numbers below `file_count`, and, for one that a replayee gets, whether the processor takes its
 * vector state. */
int wet_entry_check(const struct wetdbg *wet, const void *bytes, size_t size_bytes,
                    uint64_t file_count, bool is_to_run);

/* vectors.c */
/* 0 if the XSAVE image is one of this processor; -WETDBG_ERR_CORRUPT. */
int wet_xsave_check(const struct wetdbg *wet, const uint8_t *image, uint64_t bytes);
/* Replaces `out` with the file's image as this processor has it: one that passes wet_xsave_check().
 * -WETDBG_ERR_UNSUPPORTED if it has none, -WETDBG_ERR_CORRUPT, -ENOMEM. */
int wet_xsave_take(const struct wetdbg *wet, const uint8_t *image, uint64_t bytes,
                   struct wd_buf *out);
/* wet_xsave_take() with all images of the entry at `at`, which has passed evq_entry_check(). */
int wet_entry_fit(const struct wetdbg *wet, struct wd_buf *entries, size_t at);

/* files.c; `n` is a file's number. The two callbacks' argument is a struct wetdbg. */
int wet_files_open(struct wetdbg *wet);
int wet_file_fd(struct wetdbg *wet, uint64_t n, int *fd);
int wet_file_read(void *arg, uint64_t n, uint64_t off, uint8_t *to, uint64_t bytes);
uint64_t wet_file_size(void *arg, uint64_t n);
int wet_model_make(struct wetdbg *wet);
void wet_files_close(struct wetdbg *wet);

/* nodes.c */
int wet_nodes_open(struct wetdbg *wet);
void wet_nodes_close(struct wetdbg *wet);
/* The node with this address and code; NULL if there is none. */
struct wet_node_entry *wet_node_find(struct wetdbg *wet, uint64_t pc, const uint8_t *code,
                                     uint32_t code_bytes);
/*
 * Makes code that ran a node, if all of it is in nodes of the file: the builder, which stops at
 * each arrival at the place of an asynchronous event while it looks for it, has cut that code
 * otherwise. It counts no executions. NULL if it is other code, or there are too many (-ENOMEM in
 * *err).
 */
struct wet_node_entry *wet_node_meet(struct wetdbg *wet, uint64_t pc, const uint8_t *code,
                                     uint32_t code_bytes, uint32_t statements, int *err);
/* Addresses (u64) of the nodes that run in interval k, as far as its counts can be read. Keeps
 * nothing, so it is for whoever has the engine. */
int wet_node_addresses(struct wetdbg *wet, uint64_t k, struct wd_buf *pcs);
int wet_counts_load(struct wetdbg *wet, uint64_t k, const struct wet_counts **out);

/* threads.c */
int wet_threads_open(struct wetdbg *wet);
void wet_threads_close(struct wetdbg *wet);

/* jumps.c */
int wet_jumps_open(struct wetdbg *wet);

/* interval.c */
/* Waits until the engine is the caller's: to be called before anything of it, of the space, or
 * `state_serial` is used. */
void wet_engine_claim(struct wetdbg *wet);

/* written.c */
int wet_written_load(struct wetdbg *wet, uint64_t k, const struct wet_written **out);

/* What the replayee has run in one go: its ring, and the task that it stopped in. */
struct wet_part {
    const uint64_t *ring;
    size_t words;
    uint32_t task;
};

/* rerun.c: the replayee that intervals are run again in */
struct wet_rerun {
    struct wetdbg *wet;
    uint64_t k;
    struct wd_buf entries; /* of the interval, as stored */
    struct wd_buf start;   /* entries that make the interval's start */
    size_t start_entries;
    size_t at; /* into entries: the next to be taken */
    uint64_t taken;
    unsigned given;    /* enum rerun_given */
    bool until_signal; /* what comes after the signal that ended the process is not given */
    wetdbg_time
        handler;    /* a fault at this time calls its handler before the run stops; 0: none does */
    bool has_flags; /* the running task begins with these, not with those stored */
    uint64_t flags;
    /* told when an attempt begins (there may be several), may be NULL */
    void (*restart_fn)(void *arg);
    /* told of each of the interval's entries; ring_bytes: of its part of the run */
    int (*taken_fn)(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes);
    /* told of each part of the run, while the next one is going on, after the entries in it */
    int (*part_fn)(void *arg, const struct wet_part *part);
    void *arg;
    struct wet_part part; /* of which part_fn has to be told; ring NULL: none */
};
/* Runs the first `instructions` of interval k (all: UINT64_MAX), and has the handler called of a
 * fault that comes then: the next instruction is the handler's. After an error the engine is
 * gone. */
int wet_rerun(struct wet_rerun *rerun, uint64_t instructions);
/* Whether a fault calls a handler after the instruction at `time`. The entries have been read. */
bool wet_rerun_has_handler(const struct wet_rerun *rerun, wetdbg_time time);
/* Goes on where wet_rerun() or this stopped, if nothing was asked of the engine since, and stops
 * exactly `more` instructions later, still in the interval. -EAGAIN: it cannot stop there on the
 * way; the engine is then to be run from the start again. After another error it is gone. */
int wet_rerun_on(struct wet_rerun *rerun, uint64_t more);
/* Runs interval k in pieces of some `piece` instructions and calls back after each, while the ring
 * has it; a non-zero result ends it and is returned. After restart_fn() pieces begin with the first
 * again, cut elsewhere perhaps. The last one may end behind the interval. */
int wet_rerun_pieces(struct wet_rerun *rerun, uint64_t piece, int (*fn)(void *arg));
void wet_rerun_fini(struct wet_rerun *rerun);
/* A replayee for intervals of the file (DBI_COLLECT), which has the space behind the last of its
 * files, or one for the run as a whole (whole.c). */
int wet_engine_new(struct wetdbg *wet, enum dbi_mode mode, struct rep_engine **out);

/* Checked entries of an interval: calls back with each. */
int wet_entries_read(struct wetdbg *wet, uint64_t k, bool is_to_run, struct wd_buf *out);

/* Whether all instructions of these times are, by TURNS, of threads in this slot. */
bool wet_turns_are_of(const struct wetdbg *wet, uint32_t task, wetdbg_time from, wetdbg_time to);

/* A string of META: itself, or {"hex": digits} where it is no UTF-8. NULL if it is neither.
 * Borrowed. */
const char *wet_meta_text(struct wetdbg *wet, const json_t *value);

#endif
