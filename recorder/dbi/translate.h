/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From one decoded fragment to host code; pure: knows no cache, no agent. */
#ifndef RECORDER_DBI_TRANSLATE_H
#define RECORDER_DBI_TRANSLATE_H

#include "recorder/dbi/decode.h"
#include "recorder/dbi/emit.h"
#include "recorder/dbi/slots.h"

/* Where a piece of the program lies in translated code. */
struct dbi_place {
    uint32_t host_off; /* from the fragment's first byte */
    uint16_t spilled;  /* registers whose values are in their homes */
    uint8_t insn;
    uint8_t flags_inexact;
};

/* A branch that wants to go to the fragment at `target`. */
struct dbi_exit_site {
    uint64_t target;
    uint8_t *rel32;
};

/* Code that all fragments of a region share; addresses in the replayee. */
struct dbi_shared {
    uint64_t leave;         /* for the agent, to rip, which is set */
    uint64_t time;          /* the same, because time is up */
    uint64_t missed;        /* failed look-up of a jump's or call's target, in r11: for the agent */
    uint64_t returned;      /* to an address, in r11, whose entry in the table is empty */
    uint64_t missed_return; /* failed look-up of such an address */
};

#define DBI_PLACES_MAX (DBI_INSN_MAX * 12 + 8)
#define DBI_CHECKS_MAX (DBI_INSN_MAX * 15 / 4 + 4)

/* What calls share that push the same return address and go to the same target (lookup.c). */
struct dbi_pad {
    uint64_t next;   /* the return address */
    uint64_t target; /* 0: indirect, in r11 */
    uint64_t call;
    uint64_t landing;
};

struct dbi_output {
    struct dbi_place places[DBI_PLACES_MAX];
    unsigned place_count;
    struct dbi_exit_site exits[2];
    unsigned exit_count;
    bool falls; /* the last exit is a jmp that ends the code: it may be overwritten by its target */
    struct dbi_slot slots[DBI_SLOTS_MAX]; /* DBI_COLLECT without values */
    unsigned slot_count;
    unsigned word_count; /* of a ring record, behind the first one */
    bool has_pad;        /* one was made */
    struct dbi_pad pad;
    uint8_t *lookup; /* what dbi_site_patch() may change; NULL: none */
    uint8_t *body;
    uint8_t *inner;                   /* behind the filter; the body if there is none */
    uint8_t *differs[DBI_CHECKS_MAX]; /* while it is emitted: branches for changed code */
};

/* Ring words of one instruction with dbi_config.values. */
unsigned dbi_insn_words(const struct dbi_insn *insn);

/* As in struct dbi_config. */
struct dbi_wall {
    bool (*is_programs)(void *arg, uint64_t address);
    void *arg;
};

struct dbi_emit_how {
    enum dbi_mode mode;
    bool ticks;       /* count conditional branches */
    bool x87_is_lost; /* as in struct dbi_config */
    bool values;      /* as in struct dbi_config */
    bool exact;       /* never stops for time, is never linked */
    uint32_t id;
    struct emit *cold;               /* where what seldom runs goes, within reach */
    const struct dbi_shared *shared; /* of the region */
    const struct dbi_pad *pad;       /* for a call at the end; NULL: none yet */
    const struct agt_site *site;     /* for an indirect jump or call at the end; not if exact */
    const struct dbi_filter *filter; /* leave for the agent only if that holds; NULL: none */
    const struct dbi_wall *wall;     /* NULL: there is none */
};

/* Emits body and stubs. 0; -ENOSPC if the region is full (nothing counts then);
 * -WETDBG_ERR_UNSUPPORTED. */
int dbi_emit_fragment(struct emit *e, const struct dbi_emit_how *how, struct dbi_code *code,
                      struct dbi_output *out);

#define DBI_LEAVE_BYTES 29u /* of what dbi_emit_leave() emits; at least DBI_FAR_BYTES */
#define DBI_FAR_BYTES   14u

/* Emits code that leaves for the agent to go on at `pc`. */
void dbi_emit_leave(struct emit *e, const struct dbi_shared *shared, uint64_t pc);

/* Emits a jump to code that may be out of reach: DBI_FAR_BYTES. */
void dbi_emit_far(struct emit *e, uint64_t host);

/* Emits a prefix: what a look-up comes to, which goes on to `body` if r11 is `pc`. */
void dbi_emit_prefix(struct emit *e, const struct dbi_shared *shared, uint64_t pc, uint64_t body);

#define DBI_LOOKUP_BYTES 21u

/* Changes the code at `lookup` to look in another table. */
void dbi_site_patch(uint8_t *lookup, const struct agt_site *site);

/* Emits what a region's fragments share. */
void dbi_emit_shared(struct emit *e, struct dbi_shared *out);

/* Look-up tables are indexed by this many bits of the target, from this one on. */
unsigned dbi_lookup_shift(void);

#endif
