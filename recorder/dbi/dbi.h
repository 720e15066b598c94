/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The translator: recorded code in, fragments in a code cache out.
 *
 * A *fragment* is the straight run of instructions from some address to the first control transfer,
 * event instruction (syscall, rdtsc, cpuid...) or DBI_INSN_MAX instructions. In memory that the
 * program may write, a store ends it too, so no fragment can change itself; nor does one go on from
 * such memory into other, or back. That rule depends on nothing but the code and the protection of
 * its pages, so every mode cuts a run into the same fragments.
 *
 * Instructions are copied; what names r15, or rip out of reach, is re-encoded. Invariants of
 * translated code:
 *  - all registers hold the program's values except r15 (agent.h has what is in it); the
 *    program's r15 is in its home (agt_ctx.gpr[15]), always up to date;
 *  - a register borrowed inside a fragment is saved in its home first and restored before the
 *    next instruction that names it and before the fragment ends;
 *  - the program's stack below rsp is never touched; flags only where no instruction of the
 *    fragment reads them before they are all written.
 *
 * Advice behind this: Bruening, Garnett, Amarasinghe, "An infrastructure for adaptive dynamic
 * optimization", CGO 2003 (links, in-line look-up of indirect branches).
 */
#ifndef RECORDER_DBI_DBI_H
#define RECORDER_DBI_DBI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/agent/agent.h"
#include "recorder/insn/insn.h"

enum dbi_mode {
    DBI_PLAIN,   /* instructions counted in r15 */
    DBI_COUNT,   /* and executions per fragment, and written lines marked */
    DBI_COLLECT, /* and written to the ring: fragment ids and the addresses of memory operands */
};

#define DBI_INSN_MAX     64
#define DBI_REGION_BYTES (64ull << 20)
#define DBI_REGION_ALIGN (2ull << 20) /* a huge page; both addresses of a region */
#define DBI_REGIONS_MAX  32

/* What fetch() says of a page. */
enum dbi_page_flags {
    DBI_PAGE_WRITABLE = 1,  /* the program may write to it */
    DBI_PAGE_UNWATCHED = 2, /* and nobody tells dbi_forget() when it does */
};

struct dbi_config {
    enum dbi_mode mode;
    bool ticks;       /* count conditional branches (jcc) in agt_ctx.ticks */
    bool x87_is_lost; /* keep the data pointer, too: recorder/agent/x87.h */
    bool values; /* DBI_COLLECT: results behind an instruction's addresses; see dbi_value_words() */
    uint8_t *shm; /* the supervisor's mapping of the agent's shared memory (agent.h) */
    /* The code page at `address` (a multiple of 4096) into page[4096] and *flags (enum
     * dbi_page_flags): 0; a positive reason as for AGT_CMD_FETCH if the program could not execute
     * there; a negative error ends translation. */
    int (*fetch)(void *arg, uint64_t address, uint8_t *page, unsigned *flags);
    /* Places region `index` within reach of `near` if possible: its address in the replayee and
     * where this process may write it. 0 or a negative error. */
    int (*place)(void *arg, unsigned index, uint64_t near, uint64_t *address, uint8_t **writable);
    /* Not NULL: there is a wall (wall.c). Whether memory of the program's is in the granule of
     * `address`. */
    bool (*is_programs)(void *arg, uint64_t address);
    void *arg;
};

struct dbi;

#define DBI_VALUE_BYTES_MAX 512 /* of a memory operand; longer ones have no words */

/*
 * With dbi_config.values an instruction that does not end its fragment by a control transfer
 * (INS_PLAIN) has more ring words after its addresses: for each memory operand that it writes the
 * bytes there after it, in pieces of 8, 4, 2 and 1, a word for each; then each general register
 * that it defines, but rsp, by number. This is how many words an operand takes: 0 for those whose
 * extent is not certain (lanes, bounds) and for what is only read; 1 for a rep range, rax.
 */
static inline unsigned dbi_value_words(const struct ins_mem *mem)
{
    if (!(mem->flags & INS_MEM_WRITE))
        return 0;
    if (mem->flags & INS_MEM_REP)
        return 1;
    if (mem->flags & (INS_MEM_LANES | INS_MEM_SIZE_BOUND) || mem->size_bytes > DBI_VALUE_BYTES_MAX)
        return 0;
    return mem->size_bytes / 8u + (mem->size_bytes >> 2 & 1) + (mem->size_bytes >> 1 & 1) +
           (mem->size_bytes & 1);
}

/* Bit n: general register n has a word. */
static inline uint16_t dbi_value_registers(const struct ins_info *info)
{
    struct ins_regset defs = ins_all_defs(info);
    uint16_t registers = 0;
    for (unsigned loc = 0; loc < INS_GPR_PIECES * INS_GPR_COUNT; loc++)
        if (ins_regset_has(&defs, INS_LOC_GPR + loc))
            registers |= (uint16_t)(1u << loc / INS_GPR_PIECES);
    return registers & (uint16_t) ~(1u << INS_RSP);
}

/*
 * One slot of an execution (wet/intervals.h, struct wet_exec, has what they are): `word` of its
 * ring record, counted from 1 behind the record's first word, plus `more`; just `more` if that is
 * 0.
 */
struct dbi_slot {
    int64_t more;
    uint16_t word;
};

struct dbi_fragment {
    uint64_t pc;
    uint32_t id;         /* index of its counter; never reused */
    uint16_t insn_count; /* executed when it runs to its end */
    uint16_t code_bytes;
    uint16_t slot_count;
    uint16_t word_count; /* of its records, behind the first word */
    bool cut;            /* shorter than the rule says (a fault or an exact stop) */
    bool ends_by_rule;   /* cut, and not longer without the cut */
    uint64_t host_body;  /* 0 once the cache has been emptied */
    uint64_t host_inner; /* behind the filter of dbi_stop_filter(), else the body */
    uint64_t host_prefix;
    uint64_t host_end;
    const uint8_t *code; /* code_bytes bytes, kept for good */
    /* DBI_COLLECT without values: slot_count, kept for good; NULL: slot n is word n + 1. */
    const struct dbi_slot *slots;
};

static inline struct dbi_slot dbi_slot_get(const struct dbi_fragment *fragment, unsigned slot)
{
    return fragment->slots ? fragment->slots[slot] : (struct dbi_slot){0, (uint16_t)(slot + 1)};
}

/* What the ring has of an execution: `record` is its first word. */
static inline uint64_t dbi_slot_value(const struct dbi_fragment *fragment, unsigned slot,
                                      const uint64_t *record)
{
    struct dbi_slot is = dbi_slot_get(fragment, slot);
    return (is.word ? record[is.word] : 0) + (uint64_t)is.more;
}

/* Whether programs may set segment bases by instructions here, and so translated code. */
bool dbi_has_fsgsbase(void);

/* 0 or -ENOMEM; `config` is copied. */
int dbi_new(const struct dbi_config *config, struct dbi **out);
void dbi_free(struct dbi *dbi);

/* Why there is no fragment: what the program would have met fetching at `pc`. */
struct dbi_fetch_fault {
    int reason;       /* as for AGT_CMD_FETCH */
    uint64_t address; /* of the first byte that cannot be executed */
};

/*
 * The fragment at `pc`, translated if there is none, with its direct successors in pages already
 * seen. 0; 1 with *fault if the program cannot execute there; negative on error
 * (-WETDBG_ERR_UNSUPPORTED, -ENOMEM, those of the callbacks).
 */
int dbi_translate(struct dbi *dbi, uint64_t pc, const struct dbi_fragment **out,
                  struct dbi_fetch_fault *fault);

/*
 * From now on dbi_translate() has only those successors translated that begin at one of these
 * addresses (a few others may be, too). NULL: all, as at first. 0 or -ENOMEM, which leaves it at
 * that.
 */
int dbi_expect(struct dbi *dbi, const uint64_t *pcs, size_t count);

/* Whether `pc` is one of them, and there is no fragment yet. */
bool dbi_is_missing(struct dbi *dbi, uint64_t pc);

/* Like dbi_translate, but a fragment of at most `limit` instructions that always leaves for the
 * agent and never stops for time: for exact stops. Not entered in the look-up tables. */
int dbi_translate_exact(struct dbi *dbi, uint64_t pc, unsigned limit,
                        const struct dbi_fragment **out, struct dbi_fetch_fault *fault);

/* Never 0. While this stays what it is, no code that dbi_translate_exact() gave is forgotten. */
uint64_t dbi_cut_round(const struct dbi *dbi);

/* The bytes at `pc`, `count` at most, of the page that it is in: how many. 0 if the page was not
 * fetched, or may have changed unseen. */
size_t dbi_code_seen(struct dbi *dbi, uint64_t pc, uint8_t *bytes, size_t count);

/* Describes (without code) the first `count` instructions of `whole` as a fragment of its own. */
int dbi_fragment_head(struct dbi *dbi, const struct dbi_fragment *whole, unsigned count,
                      const struct dbi_fragment **out);

/* The fragment with an id; NULL if there is none. Fragments stay valid until dbi_free. */
const struct dbi_fragment *dbi_fragment_get(const struct dbi *dbi, uint32_t id);
uint32_t dbi_fragment_count(const struct dbi *dbi);

/* Empties the code cache and all tables: code has changed. */
void dbi_flush(struct dbi *dbi);

/*
 * Code in [start, end) has changed, or may have: every fragment made from bytes there leaves for
 * the agent when it is next entered, and the pages are fetched again. A fragment whose code is then
 * found unchanged comes back with its id. 0 or an error of the callbacks. The replayee must stand
 * in the agent.
 */
int dbi_forget(struct dbi *dbi, uint64_t start, uint64_t end);

/*
 * Until the next call, every arrival at `pc` (0: none) leaves for the agent: no fragment goes on
 * over it, and the one that dbi_translate() gives for `pc` itself is in no table. Cuts the run into
 * other fragments than the rule says, but into the same instructions.
 */
int dbi_stop_at(struct dbi *dbi, uint64_t pc);

/*
 * Arrivals where a register or a word of memory (that can be read) does not have `value`, or the
 * ticks have not come to it, need not leave for the agent: most are sorted out in translated code.
 * dbi_translate() then gives the code behind that filter for the address.
 */
struct dbi_filter {
    unsigned what;    /* number of a general register, or DBI_FILTER_* */
    uint64_t address; /* of the word */
    uint64_t value;
};
#define DBI_FILTER_TICKS  AGT_FILTER_TICKS /* agt_ctx.ticks */
#define DBI_FILTER_MEMORY AGT_FILTER_MEMORY
int dbi_stop_filter(struct dbi *dbi, const struct dbi_filter *filter);

/* Fetches every page that fragments were made from again and forgets those that are not as they
 * were. 0 or an error of the callbacks. The replayee must stand in the agent. */
int dbi_verify(struct dbi *dbi);

/*
 * An indirect jump of fragment `fragment` (any number) went to `target` by way of the agent.
 * Whatever jumps have gone to did so once. 0, -ENOMEM or -WETDBG_ERR_UNSUPPORTED.
 */
int dbi_jump_note(struct dbi *dbi, uint32_t fragment, uint64_t target);

/* Targets of that fragment's jump share an entry of its table: they get a better one, if there is
 * one. The replayee must stand in the agent. */
void dbi_site_grow(struct dbi *dbi, uint32_t fragment);

/* An indirect jump (not a call) and where it went to. */
struct dbi_jump {
    uint64_t pc;
    uint64_t target;
};

/* All jumps noted so far, each once, in order; *out is to be freed. 0 or -ENOMEM. */
int dbi_jumps_get(const struct dbi *dbi, struct dbi_jump **out, size_t *count);

/* Whether the first `count` instructions of a fragment surely write all status flags. */
bool dbi_flags_written(const struct dbi_fragment *fragment, unsigned count);

/* What a fault at a host address means for the program. */
struct dbi_fault {
    const struct dbi_fragment *fragment;
    unsigned insn; /* index of the instruction at fault (for int3: the one after) */
    uint64_t pc;
    uint16_t spilled; /* registers whose values are in their homes */
    bool flags_inexact;
    bool counted; /* the fragment's execution has been counted */
};

/* With a wall: whether not the operand's address was looked at, but the register that it is
 * near. */
bool dbi_wall_is_plain(const struct ins_mem *mem);

/* Finds what a fault means: 0, or -ENOENT if the address is no instruction of the program's. */
int dbi_fault_find(const struct dbi *dbi, uint64_t host, bool after, struct dbi_fault *out);

#endif
