/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/moment.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/general.h"
#include <wetdbg/errors.h>

/* A runaway recursion has hundreds of thousands of frames; nobody reads them. */
#define FRAMES_MAX     10000
#define INLINE_MAX     32
#define RED_ZONE_BYTES 128

/* By the System V ABI's numbering. */
#define DWARF_XMM16 67
#define DWARF_K0    118

static int read_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    struct cli_moment *moment = context;
    return wetdbg_state_read(moment->state, address, bytes, count);
}

static struct cli_frame *add_frame(struct cli_moment *moment, const struct wetdbg_frame_regs *regs)
{
    moment->frames = cli_realloc(moment->frames, moment->frame_count + 1, sizeof(*moment->frames));
    struct cli_frame *frame = &moment->frames[moment->frame_count++];
    *frame = (struct cli_frame){.regs = *regs, .lookup_pc = wetdbg_frame_lookup_pc(regs)};
    return frame;
}

/* Adds one frame for the machine's frame and one for each function inlined at its pc. */
static void add_frames(struct cli_moment *moment, const struct wetdbg_frame_regs *regs, bool is_top,
                       bool is_tail)
{
    struct wetdbg_line chain[INLINE_MAX];
    struct wetdbg_function function;
    struct wetdbg_module module;
    uint64_t pc = wetdbg_frame_lookup_pc(regs);
    bool has_function = wetdbg_function_at(moment->model, pc, &function) == 0;
    bool has_module = wetdbg_module_at(moment->model, pc, &module) == 0;
    size_t count = 0;
    if (wetdbg_inline_chain(moment->model, pc, chain, INLINE_MAX, &count) != 0)
        count = 0;
    if (count > INLINE_MAX)
        count = INLINE_MAX;
    if (count == 0) {
        chain[0] = (struct wetdbg_line){0};
        if (wetdbg_line_at(moment->model, pc, &chain[0]) != 0)
            chain[0] = (struct wetdbg_line){0};
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        struct cli_frame *frame = add_frame(moment, regs);
        frame->depth = (unsigned)i;
        frame->is_inlined = i + 1 < count;
        frame->is_top = is_top;
        frame->is_tail = is_tail;
        frame->module = has_module ? module.name : NULL;
        frame->function = chain[i].function;
        frame->linkage_name = chain[i].linkage_name;
        if (!frame->function && !frame->is_inlined && has_function) {
            frame->function = function.name;
            frame->linkage_name = function.linkage_name;
        }
        frame->file = chain[i].line ? chain[i].file : NULL;
        frame->line = chain[i].line;
    }
}

/* Adds the functions that jumped to the one of a frame instead of calling it. */
static void add_tail_frames(struct cli_moment *moment, const struct wetdbg_frame_regs *callee,
                            const struct wetdbg_frame_regs *caller)
{
    uint64_t pcs[WETDBG_TAIL_CALLERS_MAX];
    size_t count = wetdbg_tail_callers(moment->model, callee, caller, pcs);
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_frame_regs regs = *caller;
        wetdbg_frame_enter_tail(&regs, pcs[i]);
        add_frames(moment, &regs, false, true);
    }
}

static struct wetdbg_frame_regs add_top(struct cli_moment *moment)
{
    const struct user_regs_struct *regs = wetdbg_state_registers(moment->state);
    struct wetdbg_frame_regs at = {.valid = (1u << WETDBG_FRAME_REG_COUNT) - 1, .is_innermost = 1};
    for (unsigned i = 0; i < WETDBG_FRAME_REG_COUNT; i++)
        at.value[i] = cli_register_at(regs, cli_dwarf_offset(i));
    add_frames(moment, &at, true, false);
    return at;
}

static bool is_recorders(const struct cli_frame *frame)
{
    return frame->module && (strncmp(frame->module, "librrpreload", 12) == 0 ||
                             strncmp(frame->module, "librrpage", 9) == 0);
}

/* Where rr's library makes a system call in the program's place, the program is in that call: the
 * library's frames go. */
static void hide_recorders(struct cli_moment *moment)
{
    size_t count = 0;
    while (count < moment->frame_count && is_recorders(&moment->frames[count]))
        count++;
    if (!wetdbg_get_info(moment->wet)->is_buffered || count == moment->frame_count)
        return;
    moment->frame_count -= count;
    memmove(moment->frames, moment->frames + count, moment->frame_count * sizeof(*moment->frames));
}

static void unwind_all(struct cli_moment *moment)
{
    struct wetdbg_frame_regs at = add_top(moment);
    while (moment->frame_count < FRAMES_MAX) {
        const struct wetdbg_frame_regs callee = at;
        int result = wetdbg_unwind(moment->model, &at, read_memory, moment);
        if (result == 0)
            return;
        if (result < 0) {
            moment->broken = cli_strdup(wetdbg_error(result));
            return;
        }
        moment->frames[moment->frame_count - 1].is_signal = at.is_innermost;
        add_tail_frames(moment, &callee, &at);
        add_frames(moment, &at, false, false);
    }
    moment->broken = cli_asprintf("only the innermost %d frames are shown", FRAMES_MAX);
}

static void unwind(struct cli_moment *moment)
{
    unwind_all(moment);
    hide_recorders(moment);
}

static struct cli_moment *make(struct wetdbg *wet, wetdbg_time time, struct wetdbg_state *state)
{
    struct cli_moment *moment = cli_malloc(sizeof(*moment));
    *moment = (struct cli_moment){
        .wet = wet,
        .model = wetdbg_get_model(wet),
        .time = time,
        .state = state,
    };
    moment->running = wetdbg_thread_at(wet, time);
    if (!moment->running)
        moment->running = wetdbg_thread_of(wet, wetdbg_state_task(state), time - 1);
    moment->thread = moment->running;
    return moment;
}

int cli_moment_open(struct wetdbg *wet, wetdbg_time time, struct cli_moment **out)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(wet, time, &state);
    if (err)
        return err;
    *out = make(wet, time, state);
    unwind(*out);
    return 0;
}

struct cli_moment *cli_moment_of_state(struct wetdbg *wet, wetdbg_time time,
                                       struct wetdbg_state *state)
{
    struct cli_moment *moment = make(wet, time, state);
    moment->is_borrowed = true;
    unwind(moment);
    return moment;
}

struct cli_moment *cli_moment_of_top(struct wetdbg *wet, wetdbg_time time,
                                     struct wetdbg_state *state)
{
    struct cli_moment *moment = make(wet, time, state);
    moment->is_borrowed = true;
    add_top(moment);
    return moment;
}

int cli_moment_select(struct cli_moment *moment, const struct wetdbg_thread *thread)
{
    if (!thread)
        thread = moment->running;
    if (!thread || thread == moment->thread)
        return 0;
    /* a thread's last state is the one after its last instruction */
    bool has_task = thread->start <= moment->time &&
                    (!thread->has_ended || thread->end + 1 >= moment->time) &&
                    wetdbg_thread_of(moment->wet, thread->task, moment->time) == thread;
    int err = has_task ? wetdbg_state_select(moment->state, thread->task) : -WETDBG_ERR_NOT_FOUND;
    if (err)
        return err;
    free(moment->frames);
    free(moment->broken);
    moment->frames = NULL;
    moment->frame_count = 0;
    moment->broken = NULL;
    moment->thread = thread;
    unwind(moment);
    return 0;
}

void cli_moment_close(struct cli_moment *moment)
{
    if (!moment)
        return;
    if (!moment->is_borrowed)
        wetdbg_state_close(moment->state);
    free(moment->frames);
    free(moment->broken);
    free(moment);
}

size_t cli_moment_first_frame(const struct cli_moment *moment)
{
    for (size_t i = 0; i < moment->frame_count; i++)
        if (moment->frames[i].file)
            return i;
    return 0;
}

int cli_dwarf_vector(unsigned dwarf_reg)
{
    if (dwarf_reg >= WETDBG_REG_XMM0 && dwarf_reg < WETDBG_REG_XMM0 + 16)
        return (int)(dwarf_reg - WETDBG_REG_XMM0);
    return dwarf_reg >= DWARF_XMM16 && dwarf_reg < DWARF_XMM16 + 16
               ? (int)(dwarf_reg - DWARF_XMM16) + 16
               : -1;
}

/* Reads the low 8 bytes of a vector register. */
static int read_vector(const struct cli_moment *moment, unsigned number, uint64_t *value)
{
    uint8_t bytes[64];
    int err = wetdbg_state_vector(moment->state, number, bytes, NULL);
    memcpy(value, bytes, sizeof(*value));
    return err;
}

int cli_frame_register(const struct cli_frame_view *view, unsigned dwarf_reg, uint64_t *value)
{
    const struct cli_frame *frame = &view->moment->frames[view->frame];
    const struct user_regs_struct *regs = wetdbg_state_registers(view->moment->state);
    if (dwarf_reg < WETDBG_FRAME_REG_COUNT && frame->regs.valid >> dwarf_reg & 1) {
        *value = frame->regs.value[dwarf_reg];
        return 0;
    }
    if (dwarf_reg == WETDBG_REG_FS_BASE || dwarf_reg == WETDBG_REG_GS_BASE) {
        *value = dwarf_reg == WETDBG_REG_FS_BASE ? regs->fs_base : regs->gs_base;
        return 0;
    }
    if (frame->is_top && cli_dwarf_vector(dwarf_reg) >= 0)
        return read_vector(view->moment, (unsigned)cli_dwarf_vector(dwarf_reg), value);
    if (frame->is_top && dwarf_reg >= DWARF_K0 && dwarf_reg < DWARF_K0 + 8)
        return wetdbg_state_mask(view->moment->state, dwarf_reg - DWARF_K0, value);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "a register of this frame was overwritten by its callees");
}

static int machine_register(void *context, unsigned dwarf_reg, uint64_t *value)
{
    return cli_frame_register(context, dwarf_reg, value);
}

static int machine_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    const struct cli_frame_view *view = context;
    return wetdbg_state_read(view->moment->state, address, bytes, count);
}

struct wetdbg_machine cli_frame_machine(struct cli_frame_view *view)
{
    return (struct wetdbg_machine){view, machine_register, machine_memory};
}

bool cli_frame_holding(struct cli_moment *moment, uint64_t address, uint64_t *return_slot,
                       size_t *index)
{
    uint64_t low = 0, cfa;
    for (size_t i = 0; i < moment->frame_count; i++) {
        struct cli_frame_view view = {moment, i};
        struct wetdbg_machine machine = cli_frame_machine(&view);
        if (moment->frames[i].is_inlined)
            continue;
        if (!low)
            low = moment->frames[i].regs.value[WETDBG_REG_RSP] - RED_ZONE_BYTES;
        if (address < low ||
            wetdbg_frame_cfa(moment->model, moment->frames[i].lookup_pc, &machine, &cfa) != 0)
            break;
        if (address < cfa) {
            *return_slot = cfa - 8;
            *index = i;
            return true;
        }
        low = cfa;
    }
    return false;
}
