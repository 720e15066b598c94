/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a recorded program wrote on standard output, as its replay has it: the bytes that lay where
 * write(2) was told to take them. No recording holds them, so they come out right only if replay
 * made them again.
 */
#ifndef TESTS_REPLAY_REPLAYED_OUTPUT_H
#define TESTS_REPLAY_REPLAYED_OUTPUT_H

#include <stdint.h>

#include "common/buf.h"

/* One write. */
struct output_piece {
    uint64_t frame; /* of the call's entry; of a WET, its time */
    size_t at, count;
};

/* Output of one program or several. All zero is empty. */
struct replayed_output {
    struct wd_buf bytes;
    struct wd_buf pieces;  /* struct output_piece */
    uint64_t instructions; /* executed in all programs */
    unsigned programs;
};

/* What else a WET says. */
struct wet_facts {
    uint64_t threads; /* most that a program had */
    uint64_t places, ambiguous;
};

void replayed_output_fini(struct replayed_output *output);

/* The pieces in order of their frames, each frame once (what a parent wrote before it forked is
 * replayed for the child too), zero-terminated; to be freed. */
char *replayed_output_text(const struct replayed_output *output);

/* Adds another one's pieces. -ENOMEM. */
int replayed_output_append(struct replayed_output *output, const struct replayed_output *other);

/* Adds the output of a program (as in rep_selection_parse) of a recording, from a plain replay.
 * 0 or why there is none. */
int replayed_output_plain(const char *dir, const char *program, struct replayed_output *output);

/* Builds a WET of that program at `wet_path`, with intervals of `interval` instructions, and adds
 * the output that its states give. */
int replayed_output_wet(const char *dir, const char *program, const char *wet_path,
                        uint64_t interval, struct replayed_output *output, struct wet_facts *facts);

#endif
