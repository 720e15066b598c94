/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a criterion tells a scan: where to begin, with which places. */
#ifndef SLICER_CRITERIA_CRITERION_H
#define SLICER_CRITERIA_CRITERION_H

#include "slicer/scan/want.h"
#include "slicer/slicer.h"
#include "wet/model/make_model.h"

enum slc_seed_uses {
    SLC_USES_NONE,   /* only the places below */
    SLC_USES_ALL,    /* all that the instance's flows use */
    SLC_USES_BRANCH, /* what decided where its jump, call or return went */
};

struct slc_place {
    uint64_t address;
    uint64_t size_bytes;
    enum wetdbg_edge edge;
    bool is_after; /* what the seed's instance itself made of it; else as it was before */
};

/* Bytes of what a call took from one descriptor and put into another:
 * slicer/channels/channels.h. */
struct slc_passed_bytes {
    uint32_t call;
    uint64_t offset, size;
};

/* One instance of a criterion. */
struct slc_seed {
    wetdbg_time time; /* state just before it counts */
    uint64_t pc;
    uint32_t task;
    bool is_fault; /* the instruction at pc faulted with the state at `time` */
    enum slc_seed_uses uses;
    enum slc_force force;
    struct ins_regset regs[3]; /* by WETDBG_EDGE_VALUE, _ADDRESS, _CONDITION */
    /* How many bytes of the one register in regs are meant: pieces cannot tell eax from rax. 0:
     * all. */
    uint8_t register_bytes;
    struct slc_place *places;
    size_t place_count;
    wetdbg_time maker; /* the call that put the bytes of `places` there just before `time`; or 0 */
    struct slc_passed_bytes passed; /* size 0: none */
    /* Not of a criterion, but of a predicate on which these depend implicitly, all at `time`: it
     * counts if one of their uses is in the slice. Borrowed. */
    const struct wetdbg_implicit_edge *implicit;
    size_t implicit_count;
};

struct wetdbg_criterion {
    struct wetdbg *wet;
    struct wetdbg_standpoint from;
    struct wetdbg_criterion_info info;
    char *text;
    char *path; /* NULL unless it is about a file's output */
    char description[512], source[512];
    struct slc_seed *seeds; /* the latest first */
    size_t seed_count, seed_capacity;
};

/* An all-zero seed with this time and pc; NULL if memory is short. Borrowed until the next one. */
struct slc_seed *slc_criterion_add(struct wetdbg_criterion *criterion, wetdbg_time time,
                                   uint64_t pc);
int slc_seed_add_place(struct slc_seed *seed, uint64_t address, uint64_t size,
                       enum wetdbg_edge edge);

/* Gives address and registers of the state at a time. */
int slc_state_at(struct wetdbg *wet, wetdbg_time time, uint64_t *pc, uint32_t *task);

/*
 * Adds a seed for the state just before the instruction at `time`, 1 to instructions + 1 (the run's
 * end), and opens that state, which is for wetdbg_state_close(). -WETDBG_ERR_NOT_FOUND outside the
 * run.
 */
int slc_criterion_stand(struct wetdbg_criterion *criterion, wetdbg_time time,
                        struct slc_seed **seed, struct wetdbg_state **state);

/* Fails with -WETDBG_ERR_USAGE and the list of what there is. */
int slc_criterion_refuse(const struct wetdbg_criterion *criterion);

/* "#K" at the end of a text, or nothing (-1): K-th instance. -WETDBG_ERR_USAGE, explained. `text`
 * is all of it, for the message. */
int slc_parse_instance(const char *text, const char *hash, int64_t *instance, const char **end);

/* A number in C's notation at the start of a text, which is moved behind it; false if there is
 * none, or one over 64 bits. */
bool slc_parse_number(const char **text, uint64_t *number);

/* OFFSET[+LENGTH]: bytes of something. */
struct slc_piece {
    uint64_t offset, size;
    bool has_size; /* else size is 1 */
};
/* Takes all of a text; false if it is no piece, or one that ends behind 64 bits. */
bool slc_parse_piece(const char *text, struct slc_piece *piece);

/* The part of a place in memory or in a register that a variable takes; WETDBG_PLACE_MEMORY or
 * WETDBG_PLACE_REGISTER. -WETDBG_ERR_UNSUPPORTED for registers that slices do not follow. */
int slc_seed_add_variable(struct slc_seed *seed, const struct wetdbg_place *where,
                          uint64_t type_bytes);

/* "a.c:12 in f", or "f in libc.so.6", or "0x1234". */
void slc_describe_pc(struct wetdbg *wet, uint64_t pc, char *text, size_t size);

/* What calls sent and got: the session's, if the criterion's standpoint has one, else made anew. To
 * be given back, NULL too. 0 or an error. */
struct slc_channels;
int slc_criterion_channels(const struct wetdbg_criterion *criterion,
                           struct slc_channels **channels);
void slc_criterion_give_channels(const struct wetdbg_criterion *criterion,
                                 struct slc_channels *channels);

/* Each fills the seeds, info and description of a criterion whose text is known to be of its
 * kind. */
int slc_parse_crash(struct wetdbg_criterion *criterion);
int slc_parse_exit(struct wetdbg_criterion *criterion);
int slc_parse_output(struct wetdbg_criterion *criterion, const char *rest);
/* Output that is missing. */
struct slc_end {
    const char *what; /* "descriptor 1", or a path */
    wetdbg_time last; /* when its last byte was put into its buffer; 0: there is none */
    uint64_t size;    /* bytes that were written */
    bool of_errors;   /* it is standard error */
};
/* Fills the seeds and the description: why there is no more. criterion_end.c.
 * -WETDBG_ERR_NOT_FOUND. */
int slc_criterion_of_end(struct wetdbg_criterion *criterion, const struct slc_end *end);
int slc_parse_input(struct wetdbg_criterion *criterion, const char *rest);
int slc_parse_argument(struct wetdbg_criterion *criterion, const char *rest);
int slc_parse_environment(struct wetdbg_criterion *criterion, const char *rest);
int slc_parse_line(struct wetdbg_criterion *criterion);
int slc_parse_function(struct wetdbg_criterion *criterion);
int slc_parse_memory(struct wetdbg_criterion *criterion);   /* "*..." */
int slc_parse_register(struct wetdbg_criterion *criterion); /* "$..." */

/* Whether a text has the form FILE:LINE... */
bool slc_is_line(const char *text);

#endif
