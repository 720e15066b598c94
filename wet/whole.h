/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The run of a .wet from its first instruction on, in an engine of the caller's own: for those who
 * let it go on differently from some time on.
 */
#ifndef WET_WHOLE_H
#define WET_WHOLE_H

#include "recorder/feed/feed.h"
#include "recorder/replay/engine.h"
#include "recorder/rr_trace/input_format.h"
#include <wetdbg/wet.h>

/* An engine in DBI_PLAIN, with probes; the entries of interval after interval make it run as
 * recorded. Errors are those of rep_engine_new(); -WETDBG_ERR_UNSUPPORTED if the file has a window
 * of the run. Its replayee is behind a wall unless wetdbg_trust() was called. */
int wet_whole_engine(struct wetdbg *wet, struct rep_engine **out);

/* Appends interval k's entries, which are checked: 0 or a negative error. There may be none. */
int wet_whole_entries(struct wetdbg *wet, uint64_t k, struct wd_buf *out);

/* CPUID as recorded: 0, or -WETDBG_ERR_NOT_FOUND where the file has no such leaf. */
int wet_whole_cpuid(const struct wetdbg *wet, uint32_t leaf, uint32_t subleaf,
                    struct agt_cpuid *out);

/* What rdpid, and rdtscp in rcx, tell; 0 if it is not known. */
uint64_t wet_whole_processor(const struct wetdbg *wet);

/* Whether wetdbg_trust() was called. */
bool wet_whole_is_trusted(const struct wetdbg *wet);

/* What descriptors 0 to 2 were when the program began; RRT_INHERITED of them. */
const struct rrt_inherited *wet_whole_inherited(const struct wetdbg *wet);

/*
 * What standard input still held when the program ended: *head and, behind it in `out`, the bytes.
 * -WETDBG_ERR_NOT_FOUND without a message if the file has none; -WETDBG_ERR_CORRUPT.
 */
int wet_whole_input(const struct wetdbg *wet, struct rrt_input_head *head, struct wd_buf *out);

/*
 * A run that went on differently from the file's, by its entries, as a feed: with the file's
 * tables, and what it mapped beyond the addresses that the file's run uses.
 */
struct wet_whole_run {
    const struct wd_buf *entries; /* from the first instruction to EVQ_END; borrowed */
    int wait_status;
    int fatal_signal;           /* 0: none */
    uint8_t fatal_siginfo[128]; /* siginfo_t */
};
struct wet_branch;
int wet_branch_open(struct wetdbg *wet, const struct wet_whole_run *run, struct wet_branch **out);
void wet_branch_close(struct wet_branch *branch); /* NULL is fine */
struct rep_feed *wet_branch_feed(const struct wet_branch *branch);

/* The fingerprint in META. */
const char *wet_whole_fingerprint(const struct wetdbg *wet);
const char *wet_whole_path(const struct wetdbg *wet);

/* What name number `n` of a mapping means; "" if there is none. */
const char *wet_whole_name(const struct wetdbg *wet, uint64_t n);

/* What wetdbg_interrupt() sets. */
const volatile sig_atomic_t *wet_whole_interrupted(const struct wetdbg *wet);

#endif
