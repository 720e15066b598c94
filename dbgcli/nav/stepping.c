/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/stepping.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/errors.h>

#define INLINE_MAX 32

/* The line that is being stepped out of. */
struct place {
    bool has_line;
    uint64_t start, end; /* of the line table's row; without lines, of the function */
    const char *file;    /* the model's */
    uint32_t line;
    bool is_stmt;
    const char
        *inlined[INLINE_MAX]; /* the functions inlined there, and the one around: outermost first */
    size_t inlined_count;
};

/* Passes a failure on as it is; else `outcome`. */
static int unless_failed(int result, int outcome)
{
    return result < 0 ? result : outcome;
}

size_t cli_inlined_beginning(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_line chain[INLINE_MAX];
    size_t count = 0, skipped = 0;
    if (wetdbg_inline_chain(model, pc, chain, INLINE_MAX, &count) != 0 || count > INLINE_MAX)
        count = 0;
    while (skipped + 1 < count && chain[skipped].begins_here)
        skipped++;
    return skipped;
}

/* Looks at a place as if the `skipped` innermost functions were called there and not inlined. */
static void look(struct cli_calls *calls, uint64_t pc, size_t skipped, struct place *place)
{
    struct wetdbg_model *model = calls->session->model;
    struct wetdbg_line chain[INLINE_MAX], line;
    struct wetdbg_function function;
    size_t count = 0;
    *place = (struct place){.start = pc, .end = pc + 1};
    if (wetdbg_line_at(model, pc, &line) == 0 && line.line) {
        place->has_line = true;
        place->start = line.run_start;
        place->end = line.run_end;
        place->file = line.file;
        place->line = line.line;
        place->is_stmt = line.is_stmt != 0;
        if (wetdbg_inline_chain(model, pc, chain, INLINE_MAX, &count) != 0 || count > INLINE_MAX)
            count = 0;
        if (skipped && skipped < count) {
            place->file = chain[skipped].file;
            place->line = chain[skipped].line;
            count -= skipped;
            memmove(chain, chain + skipped, count * sizeof(*chain));
        }
        for (size_t i = 0; i < count; i++)
            place->inlined[i] = chain[count - 1 - i].function;
        place->inlined_count = count;
    } else if (wetdbg_function_at(model, pc, &function) == 0) {
        place->start = function.start;
        place->end = function.end;
    }
}

static bool is_same_line(const struct place *one, const struct place *two)
{
    return one->has_line == two->has_line && one->line == two->line && one->file == two->file;
}

/* Whether `inner` is in a function that is inlined, perhaps by way of others, into the one of
 * `outer`. */
static bool is_inlined_into(const struct place *inner, const struct place *outer)
{
    return inner->inlined_count > outer->inlined_count &&
           memcmp(inner->inlined, outer->inlined, outer->inlined_count * sizeof(*outer->inlined)) ==
               0;
}

static bool has_lines(struct cli_calls *calls, uint64_t pc)
{
    struct wetdbg_line line;
    bool has = wetdbg_line_at(calls->session->model, pc, &line) == 0 && line.line;
    return has;
}

/* ---- into functions ---- */

static bool is_stub(struct cli_calls *calls, uint64_t pc)
{
    struct wetdbg_function function;
    bool is = wetdbg_function_at(calls->session->model, pc, &function) == 0 &&
              function.flags & WETDBG_FUNCTION_PLT;
    return is;
}

static bool is_in_linker(struct cli_calls *calls, uint64_t pc)
{
    struct wetdbg_module module;
    bool is = wetdbg_module_at(calls->session->model, pc, &module) == 0 &&
              (strncmp(module.name, "ld-", 3) == 0 || strncmp(module.name, "ld.so", 5) == 0);
    return is;
}

/*
 * Goes from a stub of the procedure linkage table to the function that it stands for, by way of the
 * dynamic linker if that has to find it first: to where a jump, not a call, enters a function. 1; 0
 * if the call ended before, and the walk is behind it; or an error.
 */
static int pass_stub(struct cli_calls *calls, uint64_t slot)
{
    struct wetdbg_walk *walk = calls->walk;
    int depth = 0, result = 1;
    while (result > 0) {
        const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
        if (here->transfer == WETDBG_TRANSFER_RETURN && wetdbg_walk_slot(walk) == slot) {
            result = cli_calls_next(calls);
            return result < 0 ? result : 0;
        }
        depth += cli_calls_is_call(here);
        depth -= here->transfer == WETDBG_TRANSFER_RETURN;
        bool is_jump = here->transfer == WETDBG_TRANSFER_JUMP ||
                       here->transfer == WETDBG_TRANSFER_INDIRECT_JUMP;
        wetdbg_walk_to_last(walk);
        result = cli_calls_next(calls);
        if (result <= 0)
            break;
        uint64_t pc = wetdbg_walk_pc(walk);
        if (is_jump && depth <= 0 && wetdbg_walk_here(walk)->is_entry && !is_stub(calls, pc) &&
            !is_in_linker(calls, pc))
            return 1;
    }
    return result;
}

static int push_frame(struct cli_calls *calls, uint64_t slot)
{
    uint64_t *slots = realloc(calls->slots, (calls->depth + 1) * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    calls->slots = slots;
    slots[calls->depth++] = slot;
    return 0;
}

/* Goes past the prologue of the function in whose frame the walk stands at the entry. */
static int pass_prologue(struct cli_calls *calls, uint64_t slot)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t body, entry = wetdbg_walk_pc(walk);
    int result = wetdbg_function_body(calls->session->model, entry, &body) == 0 ? 1 : 0;
    if (!result || body == entry)
        return 1;
    wetdbg_time start = wetdbg_walk_time(walk);
    while (result > 0 && wetdbg_walk_pc(walk) != body) {
        const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
        bool is_last = !wetdbg_walk_left(walk);
        /* the prologue is not run through: stay at the entry */
        if (is_last && here->transfer == WETDBG_TRANSFER_RETURN && wetdbg_walk_slot(walk) == slot)
            return unless_failed(wetdbg_walk_seek(walk, start), 1);
        if (is_last && cli_calls_is_call(here)) {
            uint64_t inner = wetdbg_walk_slot(walk);
            result = cli_calls_next(calls);
            if (result > 0)
                result = cli_calls_forward(calls, inner, here->end);
            result = result < 0 ? result : result == CLI_CALLS_DONE;
        } else {
            result = cli_calls_next(calls);
        }
    }
    return result;
}

enum { PASSED, ENTERED, LEFT, ENDED };

/* The walk stands at a call: enters the function if that has lines, else passes it. */
static int pass_call(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t slot = wetdbg_walk_slot(walk), address = wetdbg_walk_here(walk)->end;
    int result = cli_calls_next(calls);
    if (result <= 0)
        return result ? result : ENDED;
    if (!over && is_stub(calls, wetdbg_walk_pc(walk))) {
        result = pass_stub(calls, slot);
        if (result <= 0)
            return result ? result : wetdbg_walk_is_end(walk) ? ENDED : PASSED;
    }
    if (!over && has_lines(calls, wetdbg_walk_pc(walk))) {
        result = push_frame(calls, slot);
        if (!result)
            result = pass_prologue(calls, slot);
        return result < 0 ? result : result ? ENTERED : ENDED;
    }
    result = cli_calls_forward(calls, slot, address);
    if (result < 0 || result == CLI_CALLS_ENDED)
        return result < 0 ? result : ENDED;
    return result == CLI_CALLS_DONE ? PASSED : LEFT;
}

/* ---- a line ---- */

static bool is_return_of(struct cli_calls *calls, uint64_t slot)
{
    return !wetdbg_walk_left(calls->walk) &&
           wetdbg_walk_here(calls->walk)->transfer == WETDBG_TRANSFER_RETURN && slot &&
           wetdbg_walk_slot(calls->walk) >= slot;
}

/* Passes the trampoline: behind the return from a signal handler the kernel is asked for what it
 * interrupted. */
static int pass_trampoline(struct cli_calls *calls)
{
    struct wetdbg_walk *walk = calls->walk;
    const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
    int change = 0, result;
    if (here->transfer != WETDBG_TRANSFER_SYSCALL || wetdbg_walk_left(walk) > 1)
        return 1;
    wetdbg_time start = wetdbg_walk_time(walk);
    wetdbg_walk_to_last(walk);
    result = wetdbg_walk_next(walk, &change);
    if (result > 0 && change >= 0)
        return unless_failed(wetdbg_walk_seek(walk, start), 1);
    return result > 0 ? unless_failed(cli_calls_unwind(calls), 1) : result;
}

/* The walk stands at a return of the innermost frame, or one further out. */
static int leave_frame(struct cli_calls *calls)
{
    uint64_t slot = wetdbg_walk_slot(calls->walk);
    int result = cli_calls_next(calls);
    while (calls->depth && calls->slots[calls->depth - 1] <= slot)
        calls->depth--;
    if (result > 0 && !has_lines(calls, wetdbg_walk_pc(calls->walk)))
        result = pass_trampoline(calls);
    if (result > 0 && !calls->depth)
        result = unless_failed(cli_calls_unwind(calls), 1);
    return result;
}

/* Whether a node lies in the same inlined functions. */
static bool is_inlined_as(const struct wetdbg_walk_node *node, const struct place *place)
{
    size_t count = place->inlined_count;
    return node->inlined_count == count &&
           node->inlined == (count ? place->inlined[count - 1] : NULL);
}

/* Passes whole nodes of the same line, as a loop has by the million. */
static int pass_same_line(struct cli_calls *calls, const struct place *place)
{
    struct wetdbg_walk *walk = calls->walk;
    int result = 1, change = 0;
    while (result > 0 && !change) {
        const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
        if (!here->is_of_line || here->line != place->line || here->file != place->file ||
            (here->transfer != WETDBG_TRANSFER_BRANCH && here->transfer != WETDBG_TRANSFER_JUMP &&
             here->transfer != WETDBG_TRANSFER_NONE) ||
            !is_inlined_as(here, place))
            return 1;
        uint64_t interval = wetdbg_walk_interval(walk);
        wetdbg_time time = wetdbg_walk_time(walk);
        result = wetdbg_walk_next_node(walk, &change);
        if (result <= 0)
            return result;
        const struct wetdbg_walk_node *next = wetdbg_walk_here(walk);
        if (change || next->line != place->line || next->file != place->file) {
            /* the last instructions of the line one by one: signals, other lines */
            if (wetdbg_walk_interval(walk) != interval)
                return wetdbg_walk_seek_back(walk, wetdbg_walk_time(walk) - 1);
            return unless_failed(wetdbg_walk_seek(walk, time), 1);
        }
    }
    return result;
}

/* Decides, after the walk has moved, as gdb does at a stop. 1: this is it; 0: further, perhaps with
 * another place to step out of. */
static int judge(struct cli_calls *calls, struct place *from, bool is_other_frame, bool over)
{
    struct place now, caller;
    uint64_t pc = wetdbg_walk_pc(calls->walk);
    calls->skipped = 0;
    if (!is_other_frame && pc >= from->start && pc < from->end)
        return 0;
    look(calls, pc, 0, &now);
    if (!now.has_line)
        return 1;
    calls->skipped = cli_inlined_beginning(calls->session->model, pc);
    if (!is_other_frame && calls->skipped) {
        look(calls, pc, calls->skipped, &caller);
        if (caller.inlined_count == from->inlined_count) { /* a call, so to speak */
            if (!is_same_line(&caller, from))
                return 1;
            calls->skipped -= !over;
            return !over;
        }
    }
    if (!is_other_frame && is_inlined_into(&now, from))
        return !over;
    if (!is_same_line(&now, from)) {
        if (pc == now.start && now.is_stmt)
            return 1;
        /* in the middle of another line: it is stepped out of only where it is the caller's */
        if (!is_other_frame && now.inlined_count == from->inlined_count) {
            from->start = now.start;
            from->end = now.end;
            return 0;
        }
        if (pc == now.start) { /* the caller's, and no statement: the next one, whatever its line */
            now.file = NULL;
            now.line = 0;
        }
    }
    *from = now; /* to its end, or back at the same one */
    return 0;
}

/* Follows a jump to another function, a tail call; one without lines is passed as a call would
 * be. */
static int pass_tail_call(struct cli_calls *calls)
{
    uint64_t slot = cli_calls_slot(calls);
    struct wetdbg_walk *walk = calls->walk;
    if (!slot || has_lines(calls, wetdbg_walk_pc(walk)))
        return 1;
    uint64_t address;
    struct cli_moment *moment;
    int result = cli_moment_open(calls->session->wet, wetdbg_walk_time(walk), &moment);
    if (result)
        return result;
    result = wetdbg_state_read(moment->state, slot, &address, sizeof(address));
    cli_moment_close(moment);
    if (result)
        return result;
    result = cli_calls_forward(calls, slot, address);
    if (result < 0)
        return result;
    if (result == CLI_CALLS_ENDED)
        return 0;
    calls->depth--;
    return calls->depth ? 1 : unless_failed(cli_calls_unwind(calls), 1);
}

/* Goes on by one instruction or call. 1; 2 in another frame; 3 in a function that was entered; 0 at
 * the end. */
static int advance(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    const struct wetdbg_walk_node *here = wetdbg_walk_here(walk), *to;
    int result;
    if (wetdbg_walk_left(walk))
        return cli_calls_next(calls);
    if (cli_calls_is_call(here)) {
        result = pass_call(calls, over);
        if (result == LEFT)
            return unless_failed(cli_calls_unwind(calls), 2);
        return result < 0 ? result : result == ENDED ? 0 : result == ENTERED ? 3 : 1;
    }
    if (is_return_of(calls, cli_calls_slot(calls))) {
        result = leave_frame(calls);
        return result > 0 ? 2 : result;
    }
    result = cli_calls_next(calls);
    if (result <= 0)
        return result;
    to = wetdbg_walk_here(walk);
    if (to->function == here->function ||
        (here->transfer != WETDBG_TRANSFER_JUMP && here->transfer != WETDBG_TRANSFER_INDIRECT_JUMP))
        return 1;
    if (to->is_entry) {
        wetdbg_time time = wetdbg_walk_time(walk);
        result = pass_tail_call(calls);
        return result > 0 && wetdbg_walk_time(walk) != time ? 2 : result;
    }
    if (here->transfer == WETDBG_TRANSFER_INDIRECT_JUMP)
        return unless_failed(cli_calls_unwind(calls), 2);
    return 1;
}

void cli_step_stay_outside(struct cli_calls *calls)
{
    calls->skipped = cli_inlined_beginning(calls->session->model, wetdbg_walk_pc(calls->walk));
}

/* Goes on until gdb would stop, stepping out of `from`. */
static int run_line(struct cli_calls *calls, struct place *from, bool over)
{
    int result = 1;
    /* as gdb: in a function without lines until it returns */
    bool is_over = over || !from->has_line;
    while (result > 0) {
        if (from->has_line)
            result = pass_same_line(calls, from);
        if (result > 0)
            result = advance(calls, is_over);
        if (result == 3) {
            cli_step_stay_outside(calls);
            return 1;
        }
        if (result > 0 && judge(calls, from, result != 1, over))
            return 1;
        if (from->has_line)
            is_over = over;
    }
    return result;
}

int cli_step_line(struct cli_calls *calls, bool over)
{
    struct place from;
    if (wetdbg_walk_is_end(calls->walk))
        return 0;
    if (!over && calls->skipped) {
        calls->skipped--; /* into the function, without executing anything */
        return 1;
    }
    look(calls, wetdbg_walk_pc(calls->walk), calls->skipped, &from);
    calls->skipped = 0;
    return run_line(calls, &from, over);
}

int cli_step_out_inlined(struct cli_calls *calls, uint64_t lookup_pc, size_t depth)
{
    struct place from;
    if (wetdbg_walk_is_end(calls->walk))
        return 0;
    look(calls, lookup_pc, depth + 1, &from);
    /* as in gdb, it steps out of no line at all: any is another one */
    from.start = from.end = 0;
    from.file = NULL;
    from.line = 0;
    calls->skipped = 0;
    if (wetdbg_walk_pc(calls->walk) != lookup_pc && judge(calls, &from, false, true))
        return 1; /* behind the call that it was in, and out of it already */
    return run_line(calls, &from, true);
}

/* ---- backward ---- */

/* The walk stands at a return that led here: goes back to its call. */
static int back_over_call(struct cli_calls *calls, uint64_t address)
{
    int result = cli_calls_back(calls, wetdbg_walk_slot(calls->walk), address);
    return result < 0 ? result : result == CLI_CALLS_DONE;
}

/*
 * Goes back by one instruction or call. 1; 2 in the caller, at its call; 3 in a function that had
 * returned; 0 at the start.
 */
static int leave_to_caller(struct cli_calls *calls, uint64_t slot)
{
    int result = 1;
    if (calls->depth)
        calls->depth--;
    if (!slot || wetdbg_walk_slot(calls->walk) != slot || !calls->depth)
        result = unless_failed(cli_calls_unwind(calls), 1);
    return result < 0 ? result : 2;
}

/* Goes back over a jump that led here from another function: by longjmp, through a stub, or a tail
 * call. */
static int retreat_from_jump(struct cli_calls *calls, const struct wetdbg_walk_node *to,
                             uint64_t rsp)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t slot = cli_calls_slot(calls);
    const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
    if (cli_calls_is_wild_jump(here, to))
        return cli_calls_back_from_landing(calls, to, rsp);
    uint64_t pc = wetdbg_walk_pc(walk);
    if (!to->is_entry || !slot || (!is_stub(calls, pc) && !is_in_linker(calls, pc)))
        return 1;
    int result = cli_calls_back_to_call(calls, slot);
    return result > 0 ? leave_to_caller(calls, slot) : result;
}

static int retreat(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t address = wetdbg_walk_is_end(walk) ? 0 : wetdbg_walk_pc(walk), rsp = 0;
    const struct wetdbg_walk_node *to = wetdbg_walk_is_end(walk) ? NULL : wetdbg_walk_here(walk);
    int result = cli_calls_previous(calls);
    if (result <= 0 || wetdbg_walk_left(walk))
        return result;
    const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
    if (cli_calls_is_call(here))
        return leave_to_caller(calls, cli_calls_slot(calls));
    if (to && to->function != here->function &&
        (here->transfer == WETDBG_TRANSFER_INDIRECT_JUMP ||
         here->transfer == WETDBG_TRANSFER_JUMP)) {
        if (cli_calls_is_wild_jump(here, to)) {
            wetdbg_time time = wetdbg_walk_time(walk);
            result = wetdbg_walk_next(walk, NULL);
            if (result >= 0)
                result = cli_calls_stack_pointer(calls, &rsp);
            if (result >= 0)
                result = wetdbg_walk_seek_back(walk, time);
            if (result < 0)
                return result;
        }
        return retreat_from_jump(calls, to, rsp);
    }
    if (here->transfer != WETDBG_TRANSFER_RETURN)
        return 1;
    if (!over && has_lines(calls, wetdbg_walk_pc(walk))) {
        result = push_frame(calls, wetdbg_walk_slot(walk));
        return result < 0 ? result : 3;
    }
    return back_over_call(calls, address);
}

/* Whether the walk stands where a step into the function would have stopped. */
static bool is_body(struct cli_calls *calls, uint64_t pc)
{
    struct wetdbg_function function;
    uint64_t body;
    bool is = wetdbg_function_at(calls->session->model, pc, &function) == 0 &&
              wetdbg_function_body(calls->session->model, function.start, &body) == 0 && body == pc;
    return is;
}

/* Passes nodes of the same line backward, but for the first of them. */
static int retreat_same_line(struct cli_calls *calls, const struct place *place)
{
    struct wetdbg_walk *walk = calls->walk;
    const struct wetdbg_walk_node *node;
    int result = 1;
    while (result > 0 && !wetdbg_walk_is_end(walk) &&
           wetdbg_walk_left(walk) + 1 == wetdbg_walk_here(walk)->count &&
           (node = wetdbg_walk_before(walk)) != NULL) {
        if (!node->is_of_line || node->line != place->line || node->file != place->file ||
            !is_inlined_as(node, place) ||
            (node->transfer != WETDBG_TRANSFER_BRANCH && node->transfer != WETDBG_TRANSFER_JUMP))
            return 1;
        result = wetdbg_walk_previous_node(walk, NULL);
        wetdbg_walk_to_first(walk);
    }
    return result;
}

/* The line whose start is looked for, and the earliest instruction of it so far. */
struct goal {
    struct place line;
    wetdbg_time time;
    uint64_t pc;
    bool is_set;
};

static void set_goal(struct cli_calls *calls, struct goal *goal)
{
    goal->time = wetdbg_walk_time(calls->walk);
    goal->pc = wetdbg_walk_pc(calls->walk);
    look(calls, goal->pc, 0, &goal->line);
    goal->is_set = goal->line.has_line;
}

/* Whether a step forward would have stopped there. */
static bool is_reached(struct cli_calls *calls, const struct goal *goal, wetdbg_time from)
{
    struct place row;
    if (!goal->is_set || goal->time == from)
        return false;
    look(calls, goal->pc, 0, &row);
    return row.start == goal->pc && row.is_stmt;
}

/* Decides after a move back to an instruction of the same frame. 1: it is the goal. */
static int judge_back(struct cli_calls *calls, struct goal *goal, wetdbg_time from, bool over)
{
    struct place now;
    look(calls, wetdbg_walk_pc(calls->walk), 0, &now);
    if (goal->is_set && is_same_line(&now, &goal->line)) {
        goal->time = wetdbg_walk_time(calls->walk);
        goal->pc = wetdbg_walk_pc(calls->walk);
        return 0;
    }
    if (goal->is_set && over && is_inlined_into(&now, &goal->line))
        return 0;
    if (is_reached(calls, goal, from))
        return 1;
    if (now.has_line)
        set_goal(calls, goal);
    return 0;
}

int cli_step_line_back(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    struct goal goal = {.is_set = false};
    wetdbg_time from = 0;
    int result;
    calls->skipped = 0;
    if (!wetdbg_walk_is_end(walk)) {
        set_goal(calls, &goal);
        from = goal.time;
        /* from the start of a line to that of the one before */
        goal.is_set = goal.is_set && goal.pc != goal.line.start;
    }
    for (;;) {
        if (goal.is_set && goal.time != from && is_body(calls, goal.pc))
            break;
        if (goal.is_set) {
            result = retreat_same_line(calls, &goal.line);
            if (result < 0)
                return result;
            goal.time = wetdbg_walk_time(walk);
            goal.pc = wetdbg_walk_pc(walk);
        }
        result = retreat(calls, over);
        if (result < 0)
            return result;
        if (result == 0)
            return is_reached(calls, &goal, from);
        if (result == 3 && is_reached(calls, &goal, from)) {
            calls->depth--;
            break; /* the line begins behind that call */
        }
        if (result == 1 && judge_back(calls, &goal, from, over))
            break;
        if (result > 1)
            set_goal(calls, &goal);
        if (result == 2 && !goal.is_set)
            return 1; /* a caller without lines */
    }
    result = wetdbg_walk_seek(walk, goal.time);
    return result ? result : 1;
}

/* ---- instructions ---- */

int cli_step_instruction(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    calls->skipped = 0;
    if (wetdbg_walk_is_end(walk))
        return 0;
    if (!over)
        return wetdbg_walk_next(walk, NULL);
    if (!wetdbg_walk_left(walk) && cli_calls_is_call(wetdbg_walk_here(walk))) {
        int result = pass_call(calls, true);
        return result < 0 ? result : result != ENDED;
    }
    return cli_calls_next(calls);
}

int cli_step_instruction_back(struct cli_calls *calls, bool over)
{
    struct wetdbg_walk *walk = calls->walk;
    calls->skipped = 0;
    uint64_t address = wetdbg_walk_is_end(walk) ? 0 : wetdbg_walk_pc(walk);
    if (!over)
        return wetdbg_walk_previous(walk, NULL);
    int result = cli_calls_previous(calls);
    if (result > 0 && !wetdbg_walk_left(walk) &&
        wetdbg_walk_here(walk)->transfer == WETDBG_TRANSFER_RETURN)
        result = back_over_call(calls, address);
    return result;
}
