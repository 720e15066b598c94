/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/call_uses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "slicer/call_events.h"
#include "slicer/scan/scan.h"
#include "slicer/slice_session.h"
#include "slicer/syscalls.h"
#include <wetdbg/errors.h>

#define BYTES_MAX   (64u << 20) /* of a buffer that is passed on */
#define VECTORS_MAX 1024

void slc_call_note(struct slc_call_args *call, const struct evq_entry *enter)
{
    const struct evq_regs *regs = evq_entry_regs(enter);

    call->is_known = regs != NULL;
    call->number = enter->number;
    for (unsigned a = 0; regs && a < SLC_SYSCALL_ARGS; a++)
        call->args[a] = regs->r[slc_syscall_reg[a]];
}

/* ---- uses ---- */

struct asked {
    const struct slc_call_user *user;
    const struct slc_call_args *call;
};

static int use_bytes(const struct asked *asked, enum slc_call_part part, uint64_t address,
                     uint64_t bytes)
{
    if (part > asked->user->last || !address || !bytes || bytes > BYTES_MAX ||
        address + bytes < address)
        return 0;
    return asked->user->use_bytes(asked->user->arg, part, address, bytes);
}

/* What the buffers of a vectored write held: the wet lists them. */
static int use_sent_vector(const struct asked *asked)
{
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(asked->user->wet, &count);
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        if (outputs[i].time == asked->user->time)
            err = use_bytes(asked, SLC_CALL_SENT, outputs[i].address, outputs[i].size);
    return err;
}

/* The buffers that one message lists, and their list. What cannot be read ends it. */
static int use_pieces(const struct asked *asked, struct wetdbg_state *state, uint64_t list,
                      uint64_t count, bool is_sent)
{
    int err = 0;
    struct iovec piece;

    if (count <= VECTORS_MAX)
        err = use_bytes(asked, SLC_CALL_SENT, list, count * sizeof(struct iovec));
    for (uint64_t i = 0; i < count && i < VECTORS_MAX && is_sent && !err; i++) {
        if (wetdbg_state_read(state, list + i * sizeof(piece), &piece, sizeof(piece)))
            break;
        err = use_bytes(asked, SLC_CALL_SENT, (uint64_t)(uintptr_t)piece.iov_base, piece.iov_len);
    }
    return err;
}

/* A struct msghdr, or argument `by` times struct mmsghdr; and all that they lead to where the
 * call itself is the criterion. */
static int use_messages(const struct asked *asked, const struct slc_arg *arg, uint64_t address)
{
    uint64_t count = arg->by ? asked->call->args[arg->by] : 1;
    uint64_t stride = arg->by ? sizeof(struct mmsghdr) : sizeof(struct msghdr);
    bool is_sent = arg->kind == SLC_ARG_SENT_MESSAGE;
    struct wetdbg_state *state = NULL;
    struct msghdr header;
    int err = 0;

    if (asked->user->last == SLC_CALL_SENT)
        err = wetdbg_state_open(asked->user->wet, asked->user->time, &state);

    for (uint64_t i = 0; i < count && i < VECTORS_MAX && !err; i++, address += stride) {
        err = use_bytes(asked, SLC_CALL_RESULT, address, sizeof(header));
        if (err || !state || wetdbg_state_read(state, address, &header, sizeof(header)))
            continue;
        err = use_pieces(asked, state, (uint64_t)(uintptr_t)header.msg_iov, header.msg_iovlen,
                         is_sent);
        if (!err && is_sent)
            err = use_bytes(asked, SLC_CALL_SENT, (uint64_t)(uintptr_t)header.msg_name,
                            header.msg_namelen);
        if (!err && is_sent)
            err = use_bytes(asked, SLC_CALL_SENT, (uint64_t)(uintptr_t)header.msg_control,
                            header.msg_controllen);
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

static enum wetdbg_edge edge_of(enum slc_arg_kind kind)
{
    return kind == SLC_ARG_VALUE ? WETDBG_EDGE_VALUE : WETDBG_EDGE_ADDRESS;
}

static int use_memory(const struct asked *asked, const struct slc_arg *arg, uint64_t address)
{
    uint64_t by = arg->by < SLC_SYSCALL_ARGS ? asked->call->args[arg->by] : 0, size;
    int err;

    switch ((enum slc_arg_kind)arg->kind) {
    case SLC_ARG_PATH:
        if (!address)
            return 0;
        err = slc_lengths_get(asked->user->lengths, asked->user->wet, asked->user->interval,
                              asked->user->time, address, &size);
        return err ? err : use_bytes(asked, SLC_CALL_RESULT, address, size);
    case SLC_ARG_IN:
    case SLC_ARG_IN_OUT:
        return use_bytes(asked, SLC_CALL_RESULT, address, arg->bytes);
    case SLC_ARG_IN_SIZED:
    case SLC_ARG_IN_OUT_SIZED:
        return by > BYTES_MAX ? 0 : use_bytes(asked, SLC_CALL_RESULT, address, by * arg->bytes);
    case SLC_ARG_SENT:
        return use_bytes(asked, SLC_CALL_SENT, address, by);
    case SLC_ARG_SENT_VECTOR:
        err = by > VECTORS_MAX ? 0 : use_bytes(asked, SLC_CALL_RESULT, address, by * arg->bytes);
        return err || asked->user->last < SLC_CALL_SENT ? err : use_sent_vector(asked);
    case SLC_ARG_OUT_VECTOR:
        return by > VECTORS_MAX ? 0 : use_bytes(asked, SLC_CALL_RESULT, address, by * arg->bytes);
    case SLC_ARG_SENT_MESSAGE:
    case SLC_ARG_OUT_MESSAGE:
        return use_messages(asked, arg, address);
    default:
        return 0;
    }
}

int slc_call_uses(const struct slc_call_args *call, const struct slc_call_user *user,
                  bool *is_known)
{
    const struct slc_syscall *syscall = call->is_known ? slc_syscall_find(call->number) : NULL;
    const struct asked asked = {user, call};
    int err = user->use_register(user->arg, SLC_CALL_RESULT, INS_RAX, WETDBG_EDGE_VALUE);

    *is_known = syscall != NULL;
    for (unsigned a = 0; a < SLC_SYSCALL_ARGS && !err; a++) {
        const struct slc_arg unknown = {.kind = SLC_ARG_VALUE};
        const struct slc_arg *arg = syscall ? &syscall->args[a] : &unknown;
        enum slc_call_part part = arg->kind == SLC_ARG_SENT ? SLC_CALL_SENT_AT : SLC_CALL_RESULT;
        if (arg->kind == SLC_ARG_NONE || part > user->last)
            continue;
        err = user->use_register(user->arg, part, slc_syscall_gpr[a],
                                 edge_of((enum slc_arg_kind)arg->kind));
        if (!err)
            err = use_memory(&asked, arg, call->args[a]);
    }
    return err;
}

/* ---- wants ---- */

struct wanting {
    struct slc_scan *scan;
    struct slc_task *task;
    struct slc_want *want;
    enum slc_call_wants what;
};

static int want_register(void *arg, enum slc_call_part part, unsigned gpr, enum wetdbg_edge edge)
{
    const struct wanting *wanting = arg;

    (void)part;
    if (wanting->what == SLC_CALL_WANTS_BYTES ||
        (edge == WETDBG_EDGE_ADDRESS && !wanting->scan->follows_address))
        return 0;
    wanting->want->edge = (uint8_t)edge;
    for (unsigned p = 0; p < INS_GPR_PIECES; p++)
        slc_regs_add(&wanting->task->regs, INS_LOC_GPR + INS_GPR_PIECES * gpr + p, wanting->want,
                     edge == WETDBG_EDGE_ADDRESS);
    return 0;
}

static int want_bytes(void *arg, enum slc_call_part part, uint64_t address, uint64_t bytes)
{
    const struct wanting *wanting = arg;

    (void)part;
    if (wanting->what == SLC_CALL_WANTS_REGISTERS)
        return 0;
    wanting->want->edge = WETDBG_EDGE_VALUE;
    return slc_memory_add(&wanting->scan->memory, address, bytes, wanting->want);
}

int slc_call_want(struct slc_scan *scan, struct slc_task *task, wetdbg_time time,
                  enum slc_call_part last, enum slc_call_wants what, struct slc_want *want)
{
    struct wanting wanting = {scan, task, want, what};
    const struct slc_call_user user = {.wet = scan->wet,
                                       .lengths = &scan->slice->session->lengths,
                                       .interval = scan->interval,
                                       .time = time,
                                       .last = last,
                                       .use_register = want_register,
                                       .use_bytes = want_bytes,
                                       .arg = &wanting};
    bool is_known;
    int err = slc_call_uses(&task->call, &user, &is_known);

    scan->slice->counts.unknown_calls += !is_known && what != SLC_CALL_WANTS_REGISTERS;
    return err;
}
