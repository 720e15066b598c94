/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/call_walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

#define HANDLER_STACK  (8u << 20) /* no handler's frames take more */
#define PUSHED_MAX     64         /* bytes of arguments that a call has pushed */
#define CALL_BYTES_MIN 2          /* how long a call instruction can be */
#define CALL_BYTES_MAX 9

/* Functions that take frames away without their returns. */
static const char *const leavers[] = {
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__longjmp",
    "setcontext",
    "swapcontext",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Resume_or_Rethrow",
    "_Unwind_ForcedUnwind",
};
#define LEAVER_COUNT (sizeof(leavers) / sizeof(*leavers))

/* Asked once for each interval: whether to end. */
static bool is_unwanted(void *context)
{
    struct cli_calls *calls = context;
    wetdbg_time now = wetdbg_walk_interval_time(calls->walk);
    wetdbg_time from = calls->session->time;
    /* how far it will go is not known: what it has passed of the rest of the run */
    uint64_t done = now > from ? now - from : from - now;
    uint64_t total = now > from ? calls->session->info->last_time - from : from;
    return cli_meter_update(&calls->meter, done, total);
}

/* ---- the frames ---- */

/* The next frame that has a place on the stack. */
static size_t machine_frame_end(const struct cli_moment *moment, size_t index)
{
    while (index < moment->frame_count && moment->frames[index].is_inlined)
        index++;
    index++;
    while (index < moment->frame_count && moment->frames[index].is_tail)
        index++;
    return index;
}

int cli_calls_frame(const struct cli_moment *moment, size_t index, uint64_t *slot,
                    uint64_t *address)
{
    size_t outer = machine_frame_end(moment, index);
    if (outer >= moment->frame_count || !(moment->frames[outer].regs.valid >> WETDBG_REG_RSP & 1))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the outermost frame");
    *slot = moment->frames[outer].regs.value[WETDBG_REG_RSP] - 8;
    *address = moment->frames[outer].regs.value[WETDBG_REG_RIP];
    return 0;
}

static void take_frames(struct cli_calls *calls, const struct cli_moment *moment)
{
    size_t count = 0;
    uint64_t slot, address;
    calls->slots = cli_realloc(calls->slots, moment->frame_count + 1, sizeof(*calls->slots));
    for (size_t i = 0; cli_calls_frame(moment, i, &slot, &address) == 0;
         i = machine_frame_end(moment, i))
        calls->slots[count++] = slot;
    for (size_t i = 0; i < count / 2; i++) {
        uint64_t other = calls->slots[i];
        calls->slots[i] = calls->slots[count - 1 - i];
        calls->slots[count - 1 - i] = other;
    }
    calls->depth = count;
}

int cli_calls_unwind(struct cli_calls *calls)
{
    struct cli_moment *moment;
    int err = cli_moment_open(calls->session->wet, wetdbg_walk_time(calls->walk), &moment);
    if (err)
        return err;
    take_frames(calls, moment);
    cli_moment_close(moment);
    return 0;
}

uint64_t cli_calls_slot(const struct cli_calls *calls)
{
    return calls->depth ? calls->slots[calls->depth - 1] : 0;
}

int cli_calls_init(struct cli_calls *calls, struct cli_session *session)
{
    struct cli_moment *moment;
    *calls = (struct cli_calls){.session = session, .skipped = session->skipped};
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    if (!moment->thread)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no thread runs here");
    take_frames(calls, moment);
    err = wetdbg_walk_open(session->wet, moment->thread, session->time, &calls->walk);
    if (err) {
        free(calls->slots);
        return err;
    }
    cli_meter_begin(&calls->meter, session->out, "walking");
    wetdbg_walk_watch(calls->walk, is_unwanted, calls);
    return 0;
}

void cli_calls_fini(struct cli_calls *calls)
{
    cli_meter_end(&calls->meter);
    wetdbg_walk_close(calls->walk);
    free(calls->slots);
    free(calls->leavers);
}

/* ---- which intervals to look at ---- */

static void learn_leavers(struct cli_calls *calls)
{
    if (calls->leavers_known)
        return;
    calls->leavers_known = true;
    for (size_t i = 0; i < LEAVER_COUNT; i++) {
        struct wetdbg_function *functions;
        size_t count;
        if (wetdbg_functions_named(calls->session->model, leavers[i], &functions, &count) != 0)
            continue;
        calls->leavers =
            cli_realloc(calls->leavers, calls->leaver_count + count, sizeof(*calls->leavers));
        for (size_t k = 0; k < count; k++)
            calls->leavers[calls->leaver_count++] = functions[k].start;
        free(functions);
    }
}

/* The addresses of which one is executed where a call with this return address is made, or ends. */
static size_t interesting(struct cli_calls *calls, uint64_t address, uint64_t **pcs)
{
    size_t count = 0;
    learn_leavers(calls);
    *pcs = cli_realloc(NULL, calls->leaver_count + CALL_BYTES_MAX + 2, sizeof(**pcs));
    for (size_t i = 0; i < calls->leaver_count; i++)
        (*pcs)[count++] = calls->leavers[i];
    (*pcs)[count++] = address;
    for (uint64_t bytes = CALL_BYTES_MIN; bytes <= CALL_BYTES_MAX; bytes++)
        (*pcs)[count++] = address - bytes;
    return count;
}

static int note_time(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)pc;
    *(wetdbg_time *)arg = time;
    return 1;
}

/* Goes to the start of the next interval with an interesting address, which may be this one. 1; 0:
 * there is none. */
static int skip_forward(struct cli_calls *calls, wetdbg_time from, const uint64_t *pcs,
                        size_t count)
{
    wetdbg_time time;
    int result = wetdbg_each_instance(calls->session->wet, pcs, count, from,
                                      wetdbg_walk_last_time(calls->walk), note_time, &time);
    if (result != 1) {
        wetdbg_walk_to_end(calls->walk);
        return result;
    }
    wetdbg_time start =
        wetdbg_interval_time(calls->session->wet, wetdbg_interval_at(calls->session->wet, time));
    result = wetdbg_walk_seek(calls->walk, start > from ? start : from);
    return result ? result : !wetdbg_walk_is_end(calls->walk);
}

/* Goes behind the last instruction of the thread in the last such interval before interval k. */
static int skip_back(struct cli_calls *calls, uint64_t k, const uint64_t *pcs, size_t count)
{
    struct wetdbg *wet = calls->session->wet;
    wetdbg_time time, end = wetdbg_interval_time(wet, k);
    while (k-- > 0 && end > wetdbg_walk_first_time(calls->walk)) {
        wetdbg_time start = wetdbg_interval_time(wet, k);
        if (is_unwanted(calls))
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        int result = wetdbg_each_instance(wet, pcs, count, start, end - 1, note_time, &time);
        if (result < 0)
            return result;
        if (result == 1)
            return wetdbg_walk_seek_back(calls->walk, end - 1);
        end = start;
    }
    return 0;
}

/* ---- calls ---- */

/* Whether a jump is one into the middle of another function: longjmp, or an exception's end. Not so
 * where a function has parts elsewhere. */
bool cli_calls_is_wild_jump(const struct wetdbg_walk_node *from, const struct wetdbg_walk_node *to)
{
    return from->transfer == WETDBG_TRANSFER_INDIRECT_JUMP && !to->is_entry &&
           to->function != from->function;
}

/* rsp before the instruction at which the walk stands. */
int cli_calls_stack_pointer(struct cli_calls *calls, uint64_t *rsp)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(calls->session->wet, wetdbg_walk_time(calls->walk), &state);
    if (err)
        return err;
    *rsp = wetdbg_state_registers(state)->rsp;
    wetdbg_state_close(state);
    return 0;
}

static bool is_outer_slot(const struct cli_calls *calls, uint64_t slot, uint64_t than)
{
    return calls->depth && slot > than && slot <= calls->slots[0];
}

/* Passes one node: 1 as long as the frame is there, else 0 and *end. */
static int pass_node(struct cli_calls *calls, uint64_t slot, int *end)
{
    struct wetdbg_walk *walk = calls->walk;
    const struct wetdbg_walk_node *from = wetdbg_walk_here(walk), *to;
    uint64_t rsp, left = from->transfer == WETDBG_TRANSFER_RETURN ? wetdbg_walk_slot(walk) : 0;
    int result = wetdbg_walk_next_node(walk, NULL);
    *end = CLI_CALLS_ENDED;
    if (result <= 0)
        return result;
    *end = left == slot ? CLI_CALLS_DONE : CLI_CALLS_LEFT;
    if (left == slot || is_outer_slot(calls, left, slot))
        return 0;
    to = wetdbg_walk_here(walk);
    if (!cli_calls_is_wild_jump(from, to))
        return 1;
    result = cli_calls_stack_pointer(calls, &rsp);
    return result ? result : !is_outer_slot(calls, rsp, slot);
}

int cli_calls_forward(struct cli_calls *calls, uint64_t slot, uint64_t address)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t *pcs;
    int end = CLI_CALLS_ENDED;
    size_t count = interesting(calls, address, &pcs);
    int result = wetdbg_walk_is_end(walk) ? 0 : 1;
    while (result > 0) {
        uint64_t k = wetdbg_walk_interval(walk);
        result = pass_node(calls, slot, &end);
        if (result > 0 && wetdbg_walk_interval(walk) != k)
            result = skip_forward(calls, wetdbg_walk_time(walk), pcs, count);
        if (result == 0 && wetdbg_walk_is_end(walk))
            end = CLI_CALLS_ENDED;
    }
    free(pcs);
    return result < 0 ? result : end;
}

int cli_calls_back(struct cli_calls *calls, uint64_t slot, uint64_t address)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t *pcs;
    size_t count = interesting(calls, address, &pcs);
    int result = 1;
    while (result > 0) {
        uint64_t k = wetdbg_walk_interval(walk);
        const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
        if (!wetdbg_walk_left(walk) && cli_calls_is_call(here) && wetdbg_walk_slot(walk) == slot)
            break;
        result = wetdbg_walk_previous_node(walk, NULL);
        if (result > 0 && wetdbg_walk_interval(walk) != k)
            result = skip_back(calls, wetdbg_walk_interval(walk) + 1, pcs, count);
    }
    free(pcs);
    return result < 0 ? result : result ? CLI_CALLS_DONE : CLI_CALLS_ENDED;
}

int cli_calls_back_to_call(struct cli_calls *calls, uint64_t slot)
{
    struct wetdbg_walk *walk = calls->walk;
    for (;;) {
        if (!wetdbg_walk_left(walk) && cli_calls_is_call(wetdbg_walk_here(walk)) &&
            wetdbg_walk_slot(walk) == slot)
            return 1;
        int result = wetdbg_walk_previous_node(walk, NULL);
        if (result <= 0)
            return result;
    }
}

int cli_calls_back_from_landing(struct cli_calls *calls, const struct wetdbg_walk_node *landing,
                                uint64_t rsp)
{
    struct wetdbg_walk *walk = calls->walk;
    size_t pending = 0; /* returns whose calls have not come yet */
    for (;;) {
        const struct wetdbg_walk_node *here = wetdbg_walk_here(walk);
        bool is_call = cli_calls_is_call(here);
        uint64_t slot = is_call ? wetdbg_walk_slot(walk) : 0;
        if (is_call && !pending && here->function == landing->function && slot + 8 <= rsp &&
            slot + 8 + PUSHED_MAX >= rsp)
            return 1;
        if (here->transfer == WETDBG_TRANSFER_RETURN)
            pending++;
        else if (is_call && pending)
            pending--;
        int result = wetdbg_walk_previous_node(walk, NULL);
        if (result <= 0)
            return result;
    }
}

/* ---- signal handlers ---- */

/* Goes forward out of the handlers that began before the instruction at which the walk stands. */
static int leave_handlers(struct cli_calls *calls, int nested)
{
    struct wetdbg_walk *walk = calls->walk;
    uint64_t rsp, stack = wetdbg_walk_handler_stack(walk);
    while (nested > 0) {
        int change;
        const struct wetdbg_walk_node *from = wetdbg_walk_here(walk);
        int result = wetdbg_walk_next_node(walk, &change);
        if (result <= 0)
            return result;
        nested += change;
        if (!cli_calls_is_wild_jump(from, wetdbg_walk_here(walk)))
            continue;
        result = cli_calls_stack_pointer(calls, &rsp);
        if (result)
            return result;
        if (rsp > stack || stack - rsp > HANDLER_STACK)
            return 1;
    }
    return 1;
}

int cli_calls_next(struct cli_calls *calls)
{
    int change, result = wetdbg_walk_next(calls->walk, &change);
    return result > 0 && change > 0 ? leave_handlers(calls, change) : result;
}

/* Goes back to before the handlers that ended before the instruction at which the walk stood. */
int cli_calls_previous(struct cli_calls *calls)
{
    int change, result = wetdbg_walk_previous(calls->walk, &change), nested = -change;
    while (result > 0 && nested > 0) {
        result = wetdbg_walk_previous_node(calls->walk, &change);
        nested -= change;
    }
    return result;
}
