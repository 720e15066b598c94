/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The caretaker: a process that removes a directory when this one ends, however that comes about,
 * unless it is told before that the directory stays.
 */
#ifndef DELTA_CARETAKER_H
#define DELTA_CARETAKER_H

#include <stdbool.h>
#include <sys/types.h>

/* Embedded by its holder; all zero is none. */
struct dlt_caretaker {
    pid_t pid;
    int fd;
};

/* Has `path` looked after, which need not be there yet. An errno, with a sentence. */
int dlt_caretaker_start(struct dlt_caretaker *caretaker, const char *path);

/* Ends the caretaker; unless the directory `stays`, it is gone afterwards. Nothing happens to
 * none. */
void dlt_caretaker_end(struct dlt_caretaker *caretaker, bool stays);

#endif
