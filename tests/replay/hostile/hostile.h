/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An agent that does its worst. It is the real one, but that what it says is spoiled on the way,
 * and that it makes system calls of the test's choice. The plan is part of its image: a test writes
 * it there before it starts an engine.
 */
#ifndef TESTS_REPLAY_HOSTILE_HOSTILE_H
#define TESTS_REPLAY_HOSTILE_HOSTILE_H

#include <stdint.h>

#define HOSTILE_MAGIC     "hostile agent 1"
#define HOSTILE_CALLS_MAX 4

enum hostile_kind {
    HOSTILE_NOT,       /* the real agent */
    HOSTILE_SPOIL,     /* spoils what it says, from turn `first` on, each `every`th time */
    HOSTILE_CALL,      /* makes the calls when it is asked for its state */
    HOSTILE_CALL_32,   /* the same by int $0x80 */
    HOSTILE_MUTE_COPY, /* a copy never says that it is there, and runs for ever */
    HOSTILE_EXIT,      /* ends instead of giving the turn away for the `first`th time */
    HOSTILE_EXIT_COPY, /* a copy ends before it says that it is there */
    HOSTILE_FULL_HASH, /* fills the hash of fragments each time from turn `first` on */
    HOSTILE_DEAF,      /* never gives the turn away any more, from turn `first` on */
    HOSTILE_NAGGING,   /* asks the same over and over, from the first request from then on */
    /* sends a written line and the one at `step` bytes from it, by turns, for ever */
    HOSTILE_LINES,
    HOSTILE_RING, /* each `ring_word` in the ring becomes `ring_other` */
};

struct hostile_call {
    uint64_t number, args[6];
};

struct hostile_plan {
    char magic[16];
    uint64_t kind;
    uint64_t seed, first, every;
    int64_t step;
    uint64_t ring_word, ring_other;
    uint64_t call_count;
    struct hostile_call calls[HOSTILE_CALLS_MAX];
};

#endif
