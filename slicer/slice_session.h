/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept from one slice of a run for the next. */
#ifndef SLICER_SLICE_SESSION_H
#define SLICER_SLICE_SESSION_H

#include "slicer/scan/code_summary.h"
#include "slicer/scan/footprint.h"
#include "slicer/scan/lengths.h"

/* Scans that keep no users, with address edges or without; scans that do. And once more of each,
 * with other control classes. */
enum slc_session_code {
    SLC_CODE_PLAIN,
    SLC_CODE_ADDRESSES,
    SLC_CODE_USERS,
    SLC_CODE_KINDS,
    SLC_SESSION_CODES = 2 * SLC_CODE_KINDS,
};

/* Pops of saved registers of which forward slices asked whether their slot was pushed from their
 * register; slicer/forward/pushed.c. All zero is empty. */
struct slc_pops {
    struct slc_known_pop {
        wetdbg_time time;
        bool is_pushed;
    } * list;
    uint32_t count, capacity;
    struct wd_index by_time;
};
void slc_pops_fini(struct slc_pops *pops);
bool slc_pops_find(const struct slc_pops *pops, wetdbg_time time, bool *is_pushed);
int slc_pops_note(struct slc_pops *pops, wetdbg_time time, bool is_pushed); /* 0 or -ENOMEM */

struct slc_channels;
struct slc_stretch; /* slicer/scan/station.h */
struct slc_stations;
struct slc_passages; /* slicer/forward/passage.h */
struct slc_answers;  /* slicer/forward/answers.h */

#define SLC_STRETCH_BITS  19                    /* a stretch has 2 to this instructions */
#define SLC_STRETCHES_MAX 32                    /* kept of one place */
#define SLC_SPARE_WORDS   (UINT64_C(16) << 20)  /* in bitmaps that wait to be used again */
#define SLC_STRETCH_BYTES (UINT64_C(512) << 20) /* ... of all */

/* Bitmaps of slices that are gone. */
struct slc_spare {
    uint64_t *bits;
    size_t words;
};

/*
 * Pops that are loads (slicer/scan/bypass.h), sorted. A scan that follows the dynamic linker also
 * meets its own pops, and what it wrote is no longer from outside: pops that are loads there may be
 * none elsewhere.
 */
struct slc_refusals {
    wetdbg_time *pops;
    size_t count;
};

struct wetdbg_slice_session {
    struct wetdbg *wet;
    uint64_t interval_count;
    unsigned stretch_bits;        /* SLC_STRETCH_BITS, but for tests */
    unsigned join_mask;           /* SLC_JOIN_MASK, but for tests */
    struct slc_stations **places; /* by interval; NULL where no scan was */
    struct slc_footprint_maker maker;
    struct slc_spare *spares;
    size_t spare_count, spare_capacity;
    uint64_t spare_words;                /* of all */
    struct slc_stretch *newest, *oldest; /* by last use */
    uint64_t stretch_bytes;
    uint64_t taken;                  /* stretches that were taken over, ever */
    struct slc_refusals refusals[2]; /* [1]: of scans that follow the dynamic linker */
    struct slc_lengths lengths;
    struct slc_pops pops;
    struct slc_passages *passages;            /* NULL until a forward slice is made */
    struct slc_answers *answers;              /* NULL: none are kept */
    struct slc_channels *channels;            /* NULL until slc_session_channels() */
    bool has_told_jumps;                      /* the model knows where indirect jumps went */
    unsigned users;                           /* its holder, and each slice */
    struct slc_code codes[SLC_SESSION_CODES]; /* wet is NULL until one is needed */
};

/* Counts one user more. */
void slc_session_hold(struct wetdbg_slice_session *session);

/*
 * A bitmap of so many words, all zero; NULL if memory is short. Given back it is used again: pages
 * that are touched for the first time cost more than filling it.
 */
uint64_t *slc_session_bits(struct wetdbg_slice_session *session, size_t words);
void slc_session_give_bits(struct wetdbg_slice_session *session, uint64_t *bits, size_t words);

/* The code for a kind of scan, with options.no_exits or without, and with no counts in it; NULL if
 * memory is short. */
struct slc_code *slc_session_code(struct wetdbg_slice_session *session, enum slc_session_code which,
                                  bool no_exits);

/* What went through the kernel and came back; made when the first slice asks. 0, -ENOMEM or errors
 * of the wet. */
int slc_session_channels(struct wetdbg_slice_session *session, struct slc_channels **channels);

/* Tells the model where the run's indirect jumps went. 0 or -ENOMEM. */
int slc_tell_jumps(struct wetdbg *wet);

/* The same once: a pass that learns of one on its way is
 * void. 0 or -ENOMEM. */
int slc_session_tell_jumps(struct wetdbg_slice_session *session);

/* All pops that were found to be loads, sorted, by scans that follow the dynamic linker or by
 * others: those known before are among them. 0 or -ENOMEM. */
int slc_session_refuse(struct wetdbg_slice_session *session, bool follows_loader,
                       const wetdbg_time *pops, size_t count);

#endif
