/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info frame`: where the selected frame lies, its neighbours, and where it keeps what of its
 * caller; as gdb tells it. */
#include <inttypes.h>
#include <string.h>

#include "dbgcli/args.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

/* What is known of a frame. */
struct facts {
    bool has_address, has_base, has_saved_pc;
    uint64_t address; /* the canonical frame address */
    uint64_t base;    /* of arguments and locals */
    uint64_t saved_pc;
    uint64_t saved[WETDBG_FRAME_REG_COUNT];
    uint32_t saved_mask;
};

/* The frames of functions that have none of their own: inlined ones, and those that ended by a
 * jump. */
static bool is_artificial(const struct cli_frame *frame)
{
    return frame->is_inlined || frame->is_tail;
}

/* Where a frame begins, as call frame information tells it; false if that is not known. */
static bool frame_address(struct cli_moment *moment, size_t index, uint64_t *cfa)
{
    struct cli_frame_view view = {moment, index};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    return wetdbg_frame_cfa(moment->model, moment->frames[index].lookup_pc, &machine, cfa) == 0;
}

/* Where the nearest function that has a frame goes on in its caller. */
static bool saved_pc(const struct cli_moment *moment, size_t index, uint64_t *pc)
{
    while (index < moment->frame_count && is_artificial(&moment->frames[index]))
        index++;
    if (index + 1 >= moment->frame_count)
        return false;
    *pc = moment->frames[index + 1].regs.value[WETDBG_REG_RIP];
    return true;
}

static struct facts facts_of(struct cli_moment *moment, size_t index)
{
    struct facts facts = {0};
    const struct cli_frame *frame = &moment->frames[index];
    struct cli_frame_view view = {moment, index};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    facts.has_address = frame_address(moment, index, &facts.address);
    facts.has_saved_pc = saved_pc(moment, index, &facts.saved_pc);
    if (is_artificial(frame))
        return facts;
    facts.has_base = !frame->is_signal &&
                     wetdbg_frame_base(moment->model, frame->lookup_pc, &machine, &facts.base) == 0;
    if (wetdbg_frame_saved(moment->model, frame->lookup_pc, &machine, facts.saved,
                           &facts.saved_mask) != 0)
        facts.saved_mask = 0;
    /* a function called by a jump returns to where that function's caller goes on */
    if (index + 1 < moment->frame_count && moment->frames[index + 1].is_tail)
        facts.saved_mask &= ~(1u << WETDBG_REG_RIP);
    return facts;
}

/* The registers in the order of their names' numbers in gdb, by DWARF number. */
static const struct {
    unsigned dwarf;
    const char *name;
} registers[] = {
    {0, "rax"},  {3, "rbx"},  {2, "rcx"},  {1, "rdx"},  {4, "rsi"},  {5, "rdi"},
    {6, "rbp"},  {8, "r8"},   {9, "r9"},   {10, "r10"}, {11, "r11"}, {12, "r12"},
    {13, "r13"}, {14, "r14"}, {15, "r15"}, {16, "rip"},
};
#define REGISTER_COUNT (sizeof(registers) / sizeof(*registers))

static void print_code(struct cli_session *session, const struct facts *facts)
{
    struct cli_out *out = session->out;
    const struct cli_frame *frame = &session->moment->frames[session->frame];
    fprintf(out->stream, " rip = 0x%" PRIx64, frame->regs.value[WETDBG_REG_RIP]);
    if (frame->function && !frame->is_signal) {
        fputs(" in ", out->stream);
        cli_out_text(out, frame->function);
    }
    if (frame->file) {
        fputs(" (", out->stream);
        cli_out_text(out, cli_base_name(frame->file));
        fprintf(out->stream, ":%" PRIu32 ")", frame->line);
    }
    if (facts->has_saved_pc)
        fprintf(out->stream, "; saved rip = 0x%" PRIx64 "\n", facts->saved_pc);
    else
        fputs("; saved rip = <not saved>\n", out->stream);
}

static void print_neighbours(struct cli_session *session)
{
    struct cli_out *out = session->out;
    struct cli_moment *moment = session->moment;
    size_t index = session->frame;
    const struct cli_frame *frame = &moment->frames[index];
    uint64_t other;
    bool has_caller = true;
    if (index + 1 == moment->frame_count) {
        fputs(" Outermost frame: ", out->stream);
        cli_out_text(out, moment->broken ? moment->broken : "outermost");
        putc('\n', out->stream);
        has_caller = false;
    } else if (frame->is_tail) {
        fputs(" tail call frame", out->stream);
    } else if (frame->is_inlined) {
        fprintf(out->stream, " inlined into frame %zu", index + 1);
    } else if (frame_address(moment, index + 1, &other)) {
        fprintf(out->stream, " called by frame at 0x%" PRIx64, other);
    } else {
        fputs(" called by a frame at an unknown place", out->stream);
    }
    bool has_callee = index && frame_address(moment, index - 1, &other);
    if (has_callee)
        fprintf(out->stream, "%s caller of frame at 0x%" PRIx64, has_caller ? "," : "", other);
    if (has_caller || has_callee)
        putc('\n', out->stream);
}

/* The caller's rsp is where this frame begins, unless a signal handler's frame has it in memory;
 * functions without a frame left it alone. */
static void print_previous_sp(struct cli_session *session, const struct facts *facts)
{
    FILE *stream = session->out->stream;
    if (is_artificial(&session->moment->frames[session->frame]))
        fputs(" Previous frame's sp in rsp\n", stream);
    else if (facts->saved_mask & (1u << WETDBG_REG_RSP))
        fprintf(stream, " Previous frame's sp at 0x%" PRIx64 "\n", facts->saved[WETDBG_REG_RSP]);
    else if (facts->has_address)
        fprintf(stream, " Previous frame's sp is 0x%" PRIx64 "\n", facts->address);
    else
        putc('\n', stream);
}

static void print_saved(struct cli_session *session, const struct facts *facts)
{
    FILE *stream = session->out->stream;
    const char *before = " Saved registers:\n  ";
    for (size_t i = 0; i < REGISTER_COUNT; i++) {
        if (!(facts->saved_mask & (1u << registers[i].dwarf)))
            continue;
        fprintf(stream, "%s%s at 0x%" PRIx64, before, registers[i].name,
                facts->saved[registers[i].dwarf]);
        before = ", ";
    }
    if (strcmp(before, ", ") == 0)
        putc('\n', stream);
}

static void print_frame(struct cli_session *session, const struct facts *facts)
{
    struct cli_out *out = session->out;
    const struct cli_frame *frame = &session->moment->frames[session->frame];
    const char *language = wetdbg_language_at(session->model, frame->lookup_pc);
    fprintf(out->stream, "Stack level %zu, frame at ", session->frame);
    if (facts->has_address)
        fprintf(out->stream, "0x%" PRIx64 ":\n", facts->address);
    else
        fputs("an unknown place:\n", out->stream);
    print_code(session, facts);
    print_neighbours(session);
    if (language && frame->file)
        fprintf(out->stream, " source language %s.\n", language);
    if (facts->has_base) {
        fprintf(out->stream, " Arglist at 0x%" PRIx64 ", args: ", facts->base);
        cli_frame_arguments(out, session->moment, session->frame, NULL);
        fprintf(out->stream, "\n Locals at 0x%" PRIx64 ",", facts->base);
    } else {
        fputs(" Arglist at unknown address.\n Locals at unknown address,", out->stream);
    }
    print_previous_sp(session, facts);
    print_saved(session, facts);
}

static json_t *json_of_saved(const struct facts *facts)
{
    json_t *object = json_object();
    for (size_t i = 0; i < REGISTER_COUNT; i++)
        if (facts->saved_mask & (1u << registers[i].dwarf))
            cli_json_set(object, registers[i].name,
                         cli_json_address(facts->saved[registers[i].dwarf]));
    return object;
}

static json_t *json_of_address(bool is_known, uint64_t address)
{
    return is_known ? cli_json_address(address) : json_null();
}

static void json_of_neighbours(struct cli_session *session, json_t *object)
{
    struct cli_moment *moment = session->moment;
    size_t index = session->frame;
    uint64_t caller = 0, callee = 0;
    bool has_caller = index + 1 < moment->frame_count && frame_address(moment, index + 1, &caller);
    bool has_callee = index && frame_address(moment, index - 1, &callee);
    cli_json_set(object, "caller_address", json_of_address(has_caller, caller));
    cli_json_set(object, "callee_address", json_of_address(has_callee, callee));
}

static json_t *json_of_frame(struct cli_session *session, const struct facts *facts)
{
    const struct cli_frame *frame = &session->moment->frames[session->frame];
    json_t *object = cli_json_object("wetdbg.stack_frame/1"), *arguments = json_array();
    cli_json_set(object, "frame", cli_json_count(session->frame));
    cli_json_set(object, "address", json_of_address(facts->has_address, facts->address));
    cli_json_set(object, "pc", cli_json_address(frame->regs.value[WETDBG_REG_RIP]));
    cli_json_set(object, "saved_pc", json_of_address(facts->has_saved_pc, facts->saved_pc));
    cli_json_set(object, "function", cli_json_text(frame->function));
    cli_json_set(object, "language",
                 cli_json_text(wetdbg_language_at(session->model, frame->lookup_pc)));
    cli_json_set(object, "inlined", json_boolean(frame->is_inlined));
    cli_json_set(object, "tail_call", json_boolean(frame->is_tail));
    json_of_neighbours(session, object);
    cli_json_set(object, "base", json_of_address(facts->has_base, facts->base));
    cli_frame_arguments(NULL, session->moment, session->frame, arguments);
    cli_json_set(object, "arguments", arguments);
    cli_json_set(object, "saved", json_of_saved(facts));
    return object;
}

int cli_info_frame(struct cli_session *session, const char *operand)
{
    struct cli_moment *moment;
    (void)operand;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct facts facts = facts_of(moment, session->frame);
    if (session->out->json)
        cli_out_json(session->out, json_of_frame(session, &facts));
    else
        print_frame(session, &facts);
    return 0;
}
