/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds Cap'n Proto messages and recordings for the tests. Failures (of memory, of the file
 * system) end the test program: nothing here has to be checked. */
#ifndef TESTS_RR_TRACE_TRACE_BUILD_H
#define TESTS_RR_TRACE_TRACE_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "recorder/rr_trace/rr_trace.h"

/* ---- one message: a single segment, word 0 is the root pointer */

#define BUILD_MAX_WORDS 4096
struct build {
    uint64_t words[BUILD_MAX_WORDS];
    size_t count;
};

/* A struct with its data at word `data` and its pointers behind. */
struct built {
    size_t data;
    size_t pointers;
};

struct built build_root(struct build *build, unsigned data_words, unsigned pointer_words);
struct built build_struct(struct build *build, size_t pointer_at, unsigned data_words,
                          unsigned pointer_words);
/* The first of `count` structs, one after the other. */
struct built build_structs(struct build *build, size_t pointer_at, size_t count,
                           unsigned data_words, unsigned pointer_words);
void build_bytes(struct build *build, size_t pointer_at, const void *bytes, size_t count);
void build_u32s(struct build *build, size_t pointer_at, const uint32_t *values, size_t count);
/* The first of `count` pointers. */
size_t build_pointers(struct build *build, size_t pointer_at, size_t count);

/* ORs `value` into the data section at bit `bit`. */
void build_set(struct build *build, struct built object, unsigned bit, uint64_t value);

/* Appends the packed form. */
void build_pack_words(struct wd_buf *out, const uint64_t *words, size_t count);
void build_pack(struct wd_buf *out, const struct build *build);

/* ---- Brotli blocks */

void build_block(struct wd_buf *out, const void *bytes, size_t count);

/* ---- recordings: the streams' bytes without blocks */

struct build_trace {
    struct wd_buf version, events, mmaps, tasks, data;
};

void build_trace_fini(struct build_trace *trace);

/* The first line, and a header like rr 5.6.0's. */
void build_version(struct build_trace *trace);

/* A frame with the fields that all have; more can be added before build_pack(). */
struct built build_frame(struct build *build, int tid, enum rrt_event event);
void build_syscall(struct build *build, struct built frame, enum rrt_syscall_state state,
                   int number);
void build_regs(struct build *build, struct built frame, const struct rrt_regs *regs);
void build_signal(struct build *build, struct built frame, int number, bool deterministic,
                  enum rrt_disposition disposition);

struct built build_mmap(struct build *build, uint64_t time, uint64_t start, uint64_t end,
                        enum rrt_mmap_source source, const char *name, const char *backing);
struct built build_task(struct build *build, uint64_t time, int tid, enum rrt_task_kind kind);

/* A small recording of most kinds of record: 8 frames, which build_sample_frames counts. */
#define BUILD_SAMPLE_FRAMES 8
void build_sample(struct build_trace *trace);

/* Writes the recording into the existing directory, in blocks of `block_bytes`. */
void build_write(const struct build_trace *trace, const char *dir, size_t block_bytes);

/* ---- files */

/* A fresh directory below TMPDIR, to be freed; and its end with all that is in it. */
char *build_temp_dir(void);
void build_remove_dir(char *dir);
void build_write_file(const char *dir, const char *name, const void *bytes, size_t count);

#endif
