/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program's memory while an interval passes by, outside of the replayee: a copy of each page
 * that is looked at, made from the image of the interval's start, to which all that was written is
 * done.
 */
#ifndef WET_QUERY_REPLICA_H
#define WET_QUERY_REPLICA_H

#include "wet/query/wet_priv.h"

struct wet_replica;

/* -ENOMEM */
int wet_replica_new(struct wetdbg *wet, struct wet_replica **out);
void wet_replica_free(struct wet_replica *replica);

/* Forgets all; from now on it is the memory at the start of interval k, where the space must stand
 * as long as pages are added. */
int wet_replica_start(struct wet_replica *replica, uint64_t k);

/* Whether the program has had memory in all of [address, +size) since the interval's start; what it
 * has unmapped since counts, too. */
bool wet_replica_is_mapped(struct wet_replica *replica, uint64_t address, uint64_t size);

/* What is not mapped reads as zeros, and cannot be written (-WETDBG_ERR_DIVERGED). -ENOMEM, errors
 * of reading mapped files. */
int wet_replica_read(struct wet_replica *replica, uint64_t address, void *bytes, uint64_t size);
int wet_replica_write(struct wet_replica *replica, uint64_t address, const void *bytes,
                      uint64_t size);

/* Applies an op to the replica's memory; not EVQ_OP_WRITE. */
int wet_replica_op(struct wet_replica *replica, const struct evq_op *op);

#endif
