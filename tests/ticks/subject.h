/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program recorded with software ticks, the counts of its replay, and copies with ticks. */
#ifndef TESTS_TICKS_SUBJECT_H
#define TESTS_TICKS_SUBJECT_H

#include "tests/ticks/counted.h"

struct subject {
    const char *work;
    char name[128];
    char *dir, *copy, *wet; /* the copy is what has ticks */
    char *out;              /* what was printed */
    struct counted_runs runs;
    int64_t *ticks; /* by frame, from frame 1 on */
    size_t frames;
};

/* Records the program below the directory `work`, which must outlive the subject, and replays it.
 * `argument` may be NULL. Fails the test if either does not work. */
void subject_record(struct subject *subject, const char *work, const char *program,
                    const char *argument);
void subject_end(struct subject *subject);

/* The copy, with the ticks that subject->ticks has now; and its end. */
void subject_copy_make(const struct subject *subject);
void subject_copy_remove(struct subject *subject);

#endif
