/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The structures in a .wet file's sections (docs/format.md says the same in words). */
#ifndef WET_TRACE_RECORDS_H
#define WET_TRACE_RECORDS_H

#include <stdint.h>

#define WET_INTERVAL_INSTRUCTIONS (4u << 20)
/* The intervals' length in a file that is to be small: lines that are written again and again are
 * kept once. */
#define WET_INTERVAL_INSTRUCTIONS_COMPACT (16u << 20)
/* An interval ends where stopping is possible. One that gets longer than this is refused: when it
 * runs again the ring has to hold it, also one of gathers, which take 6.3 words an instruction. */
#define WET_INTERVAL_MAX (17u << 20)

/* WET_SEC_INDEX: one per interval. */
struct wet_index_record {
    uint64_t first_time; /* of its first instruction, from 1 */
    uint64_t instructions;
    uint64_t first_entry; /* number of the first entry taken in it */
    uint64_t entries;
};

/* WET_SEC_NODES: a header, then code_bytes bytes padded to 8. */
struct wet_node_record {
    uint64_t pc;
    uint64_t executions;
    uint32_t id;
    uint16_t statements;
    uint16_t code_bytes;
};

/* WET_SEC_FILES: header, then the path, padded to 8. Debug files are in sections of their own. */
struct wet_file_record {
    uint64_t size_bytes; /* of the file as recorded */
    int64_t mtime_s;
    uint32_t path_bytes;
    uint32_t is_module; /* ELF and mapped executable: its section holds the whole file */
};

/* WET_SEC_FILE_DATA: a module is the file itself; of other files pieces, each u64 offset, u64
 * bytes, then the bytes padded to 8. */

/* WET_SEC_STATE: this, then the views (struct agt_view), then per task struct wet_task_record and
 * its XSAVE image padded to 8. */
struct wet_state_record {
    uint64_t view_count;
    uint32_t task_count;
    uint32_t running;
};

struct wet_task_record {
    uint32_t task;
    uint32_t xsave_bytes;
    uint64_t regs[27];
};

/* WET_SEC_ENTRIES: per entry this, then the entry (struct evq_entry...). */
struct wet_entry_record {
    uint64_t time;
};

/* WET_SEC_COUNTS: varints: node id minus the one before, executions. */

/* WET_SEC_OUTPUTS */
struct wet_output_record {
    uint64_t fd;
    uint64_t time, offset, address, size;
};

#define WET_THREAD_NAME_BYTES 16
#define WET_THREAD_NONE       UINT32_MAX
#define WET_THREAD_ENDED      1u /* flag: its end was seen */

/* WET_SEC_THREADS, in the order in which they began. */
struct wet_thread_record {
    int32_t tid;   /* as recorded; 0: not known */
    uint32_t slot; /* the `task` of its entries */
    uint32_t parent;
    uint32_t flags;
    uint64_t start, end; /* times at which it lived; end may be start - 1 */
    char name[WET_THREAD_NAME_BYTES];
};

/* WET_SEC_TURNS: from first_time on until the next one, instructions are this thread's. */
struct wet_turn_record {
    uint64_t first_time;
    uint32_t thread;
    uint32_t zero;
};

/* WET_SEC_AMBIGUOUS: asynchronous events whose place is one of several that fit. */
struct wet_ambiguous_record {
    uint64_t time, frame;
    uint32_t thread;
    int32_t signal; /* 0: a switch to another thread */
};

/* WET_SEC_JUMPS, by jump and target: an indirect jump went there at least once. */
struct wet_jump_record {
    uint64_t jump, target;
};

/* WET_SEC_INPUT: recorder/rr_trace/input_format.h, cut into pieces of so many bytes. */
#define WET_INPUT_PIECE (8u << 20)

#endif
