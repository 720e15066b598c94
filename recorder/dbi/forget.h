/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is forgotten, and comes back.
 *
 * Nobody knows all the jumps that lead to a fragment, so forgetting one leaves them alone: the
 * first bytes of its body become a jump out to the agent, or to the fragment that took its place.
 * The bytes are kept, and put back if the same code is wanted again. (dbi_forget(), dbi_flush(),
 * dbi_stop_at() and dbi_verify() are in dbi.h.)
 */
#ifndef RECORDER_DBI_FORGET_H
#define RECORDER_DBI_FORGET_H

#include "recorder/dbi/fragment.h"

/* Enters a fragment in all tables; whatever waited for its address, or was forgotten there, leads
 * to it from now on. */
int dbi_fragment_enter(struct dbi *dbi, struct fragment *fragment);

/* Undoes forgetting and enters. */
int dbi_fragment_revive(struct dbi *dbi, struct fragment *fragment);

#endif
