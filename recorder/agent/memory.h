/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's memory as the agent changes and reads it: the ops of event queue entries. */
#ifndef RECORDER_AGENT_MEMORY_H
#define RECORDER_AGENT_MEMORY_H

#include "recorder/agent/agent.h"
#include "recorder/agent/guards.h"
#include "recorder/agent/views.h"

/* The state of the agent; one per replayee. */
struct agt {
    uint64_t base;
    struct agt_ctx *ctx;
    uint8_t *lines; /* one byte per AGT_LINE_BYTES of memory, indexed by 32 bits of address */
    struct agt_views views;
    struct agt_guards guards;
    /* Marks may be where nothing is mapped: what is mapped there later was not written by them. */
    bool has_stray_marks;
    bool is_reset;       /* what it was doing is of no program any more */
    uint64_t huge_bytes; /* of the program's memory, asked for in huge pages */
    uint64_t branches;   /* copies that were made of it, to go another way */
};

/* Gives the turn away with a request and serves commands until the supervisor says continue. */
void agt_ask(struct agt *agt, uint32_t request, uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3);

/* As agt_ask for what cannot go on; never returns. */
__attribute__((noreturn)) void agt_stop(struct agt *agt, uint32_t request, uint64_t a0, uint64_t a1,
                                        uint64_t a2, uint64_t a3);

/* Instructions executed. */
uint64_t agt_time(const struct agt *agt);

/* Memory ops (EVQ_OP_WRITE, ZERO, MAP, UNMAP, PROTECT, REMAP, DISCARD, CLEAR_SPACE). */
void agt_memory_op(struct agt *agt, const struct evq_op *op);

/* Unmaps all of the program's memory and forgets written lines. */
void agt_memory_clear(struct agt *agt);

/* To be called before each copy that goes another way: where there are many, memory that came in
 * small pieces is put into huge pages, so that copying it costs little. */
void agt_memory_gather(struct agt *agt);

/* Copies what can be read of [address, +bytes) to `to`; returns how many bytes. */
uint64_t agt_memory_read(struct agt *agt, void *to, uint64_t address, uint64_t bytes);

/* Whether the program itself could read all of [address, +bytes). */
bool agt_memory_readable(const struct agt *agt, uint64_t address, uint64_t bytes);

/* Marks [address, +bytes) as written, as far up as it is mapped. */
void agt_memory_mark(struct agt *agt, uint64_t address, uint64_t bytes);

/* Marks the `bytes` before `end` as written, as far down as they are mapped. */
void agt_memory_mark_down(struct agt *agt, uint64_t end, uint64_t bytes);

/* Puts all written lines (address, then AGT_LINE_BYTES) into the transfer area, asking
 * AGT_REQ_LINES whenever it is full; returns the bytes that remain there. Forgets the marks. */
uint64_t agt_memory_lines(struct agt *agt);

/* The code page at `address` into the transfer area; a reply as for AGT_CMD_FETCH. From then on
 * the page is guarded if the program may write to it. */
uint64_t agt_memory_fetch(struct agt *agt, uint64_t address);

/* A store to `address` faulted. True if that was because of a guard, which is now open: what was
 * made from the page is forgotten, and the store succeeds if tried again. */
bool agt_memory_unguard(struct agt *agt, uint64_t address);

#endif
