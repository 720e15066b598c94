/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The state of a forward pass over a run.
 *
 * A pass goes from the source to the end of the run and carries along the *marked* places: those
 * whose value depends on the source. Marks are kept where a backward scan keeps its wants
 * (slicer/scan/want.h); a mark's `user` is the instance that defined the place, its `distance` that
 * of whoever uses it.
 *
 * The rules are those of <wetdbg/slice.h>, read the other way: an instance is in the forward slice
 * of another one if and only if that one is in the backward slice of all that the instance uses.
 */
#ifndef SLICER_FORWARD_FORWARD_H
#define SLICER_FORWARD_FORWARD_H

#include "slicer/criteria/criterion.h"
#include "slicer/forward/branches.h"
#include "slicer/forward/saves.h"
#include "slicer/scan/call_uses.h"
#include "slicer/slice_priv.h"

struct slc_fwd_memo; /* slicer/forward/forward_memo.h */
struct slc_bracket;  /* slicer/forward/linker.c */
struct slc_passages; /* slicer/forward/passage.h */

/* A task's last system call. */
struct slc_fwd_call {
    wetdbg_time time;  /* 0: none since the source */
    bool is_passed_by; /* in the dynamic linker */
    uint32_t pc_index;
    uint32_t distance;      /* SLC_NOT_WANTED: not in the slice */
    struct slc_want result; /* what it defines is marked so; or none */
    struct slc_want sent;   /* all that it sends is; or none */
    struct slc_want maker;  /* the frames that it made are; or none */
};

static inline struct slc_fwd_call slc_no_call(void)
{
    return (struct slc_fwd_call){.distance = SLC_NOT_WANTED,
                                 .result = slc_no_want(),
                                 .sent = slc_no_want(),
                                 .maker = slc_no_want()};
}

struct slc_fwd_task {
    struct slc_regs regs;
    struct slc_branches branches;
    const struct slc_node *last; /* that ran last; NULL if something came after it */
    wetdbg_time last_time;       /* of its last instruction */
    struct slc_want last_mark;   /* ... as whose dependents what it let run is marked; or none */
    uint64_t last_slot;          /* ... of the return address that it wrote or read */
    struct slc_fwd_call call;
    struct slc_bracket *bracket; /* of the dynamic linker, that it is in */
};

/* What calls sent that is marked; slicer/forward/sent.h. */
struct slc_sent {
    struct slc_memory marks; /* by place; no table: nothing yet */
    uint64_t event;          /* of the recording: the next one that may deliver */
    uint64_t last_event;     /* ... and the last one that is known to */
};

/* Who wrote the slots of some pops last; slicer/forward/pushed.c. */
#define SLC_POP_SLOTS 8
struct slc_pop_search {
    wetdbg_time exec;    /* when their execution began; 0: none */
    wetdbg_time time;    /* what was written before it counts */
    uint64_t first_slot; /* the others follow */
    uint64_t k;          /* interval that the search has come to */
    size_t end;          /* its executions from here on have been seen; 0: all */
    struct slc_writer {
        bool is_known, is_lost; /* lost: intervals were passed over that may have written it */
        int8_t reg;             /* that was pushed; -1: something else was written */
        uint32_t task;
    } writers[SLC_POP_SLOTS];
};

/* Something of the source. */
struct slc_start {
    wetdbg_time time;
    const struct slc_seed *seed;
    wetdbg_time maker; /* the instance that put the seed's bytes there; 0: none */
    bool is_maker;     /* this is it */
};

struct slc_forward {
    struct wetdbg *wet;
    const struct wetdbg_criterion *criterion; /* the source */
    struct wetdbg_slice *slice;
    struct slc_code *code; /* the slice's */
    struct slc_memory memory;
    struct slc_saves saves;
    struct slc_sent sent;
    struct slc_pop_search pop_search;
    struct slc_fwd_task *tasks[EVQ_TASKS_MAX];
    struct slc_passages *passages; /* the session's */
    struct slc_branch_ids *ids;    /* ... of the code */
    bool follows_data, follows_address, follows_control;
    bool follows_loader;
    bool is_stale;            /* control classes changed: another pass is needed */
    wetdbg_time look_end;     /* a first look ends here; 0: it goes on to the end */
    struct slc_start *starts; /* in order of time */
    size_t start_count, start_at;
    const struct slc_seed *probes; /* of the crash, latest first; of which probe_left are to come */
    size_t probe_count, probe_left;
    struct slc_channels *channels; /* the session's */
    uint32_t output_at;            /* the next call that may put something out */
    const struct wet_interval *interval;
    uint64_t *bits;                  /* the interval's members; NULL if there are none yet */
    struct slc_fwd_memo *used_memos; /* whose counts have not been collected */
    size_t event_at;                 /* the interval's next event */
    double reported;                 /* when progress was told of last; wd_seconds() */
};

/* NULL with -ENOMEM or -WETDBG_ERR_CORRUPT in *err. */
struct slc_fwd_task *slc_fwd_task(struct slc_forward *fwd, uint32_t number, int *err);

/* What is seen of the source where an instance looks. */
struct slc_sight {
    struct slc_want best; /* distance is the instance's; none if nothing marked was seen */
    uint64_t address;     /* of the byte seen, if it was memory */
};

static inline struct slc_sight slc_no_sight(void)
{
    return (struct slc_sight){.best = slc_no_want()};
}

static inline void slc_see(struct slc_sight *sight, const struct slc_want *mark,
                           enum wetdbg_edge edge, unsigned location, uint64_t address)
{
    if (mark->distance >= sight->best.distance)
        return;
    sight->best = *mark;
    sight->best.edge = (uint8_t)edge;
    sight->best.location = (uint16_t)location;
    sight->address = address;
}

/* Looks at registers, of value edges with only the lower half of those in `halves`; and at bytes of
 * memory. */
void slc_see_registers(const struct slc_regs *regs, const struct ins_regset *set, uint16_t halves,
                       enum wetdbg_edge edge, struct slc_sight *sight);
void slc_see_memory(struct slc_memory *memory, uint64_t address, uint64_t size,
                    enum wetdbg_edge edge, struct slc_sight *sight);

/*
 * Passes one instance of an instruction; `node` is not the dynamic linker's where that is passed
 * by. *as_parent: how what it lets run is marked. slicer/forward/step.c. 0 or an error.
 */
int slc_fwd_step(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                 const struct slc_node *node, uint32_t statement, struct slc_want *as_parent);

/* Whether a whole execution can be passed by slc_fwd_fast(): its instructions are compiled. */
bool slc_fwd_is_fast(const struct slc_forward *fwd, const struct slc_node *node);

/* Passes a whole execution in which nothing happens but instructions;
 * slicer/forward/forward_fast.c. */
int slc_fwd_fast(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                 struct slc_node *node, struct slc_want *as_parent);

/* A compiled instruction stores: of the bytes those in `bytes` are marked then. 0 or -ENOMEM. */
int slc_fwd_store(struct slc_memory *memory, uint64_t address, unsigned size, uint64_t bytes);

/* Passes what happened outside the instructions; slicer/forward/outside.c. */
int slc_fwd_event(struct slc_forward *fwd, const struct wet_event *event, size_t index);

/* Memory gets values from outside that nothing marked led to, or from something marked (`mark` not
 * NULL). Saved registers there are lost. */
int slc_fwd_written(struct slc_forward *fwd, uint64_t address, uint64_t size,
                    const struct slc_want *mark);

/* The control edge of an instruction of pcs[index]: the mark that it gets by it, or none. 0 or
 * -ENOMEM. */
int slc_fwd_control(struct slc_forward *fwd, struct slc_fwd_task *task, uint32_t pc_index,
                    struct slc_want *mark);

/* ---- saved registers; slicer/forward/pushed.c ---- */

/* A push or a pop of one. */
struct slc_saving {
    uint64_t slot; /* 1 if it has none */
    wetdbg_time time;
    const struct slc_node *node;
    uint32_t statement;
    uint32_t task;
    unsigned reg; /* enum ins_gpr */
};
struct slc_saving slc_fwd_saving(const struct slc_forward *fwd, const struct wet_exec *exec,
                                 const struct slc_node *node, uint32_t statement, int reg);

/* Passes a pop that has been passed as a load: the register's marks are those of before the push.
 * `save` is the note of that, or NULL; `is_marked`: the pop itself is. 0 or an error. */
int slc_fwd_pop(struct slc_forward *fwd, struct slc_fwd_task *task, const struct slc_saving *pop,
                const struct slc_save *save, bool is_marked);

/* Passes a push; one of a register that is not marked needs no note, unless the push itself is. */
int slc_fwd_push(struct slc_forward *fwd, struct slc_fwd_task *task, const struct slc_saving *push,
                 bool is_marked);

/* ---- the dynamic linker, where it is passed by; slicer/forward/linker.c ---- */

/* Passes from the task's last node to `node`, of which one at least is the linker's. 0 or
 * -ENOMEM. */
int slc_fwd_border(struct slc_fwd_task *task, const struct slc_node *node);

/* An instance in the linker. It is not in the slice, nothing that it computes is marked. */
void slc_fwd_linker(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                    const struct slc_node *node, uint32_t statement);

/* Forgets that the task is in the linker. */
void slc_fwd_leave_linker(struct slc_fwd_task *task);

/* A whole pass; slicer/forward/forward.c. */
int slc_fwd_run(struct slc_forward *fwd);

#endif
