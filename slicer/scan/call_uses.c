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

/* ---- wants ---- */

struct user {
    struct slc_scan *scan;
    struct slc_task *task;
    const struct slc_call_args *call;
    wetdbg_time time;
    struct slc_want *want;
};

static void want_register(const struct user *user, unsigned gpr, enum wetdbg_edge edge)
{
    if (edge == WETDBG_EDGE_ADDRESS && !user->scan->follows_address)
        return;
    user->want->edge = (uint8_t)edge;
    for (unsigned p = 0; p < INS_GPR_PIECES; p++)
        slc_regs_add(&user->task->regs, INS_LOC_GPR + INS_GPR_PIECES * gpr + p, user->want,
                     edge == WETDBG_EDGE_ADDRESS);
}

static int want_bytes(const struct user *user, uint64_t address, uint64_t bytes)
{
    user->want->edge = WETDBG_EDGE_VALUE;
    if (!address || !bytes || bytes > BYTES_MAX || address + bytes < address)
        return 0;
    return slc_memory_add(&user->scan->memory, address, bytes, user->want);
}

/* Wants what the buffers of a vectored write held: the wet lists them. */
static int want_sent_vector(const struct user *user)
{
    size_t count;
    const struct wetdbg_output *outputs = wetdbg_outputs(user->scan->wet, &count);
    int err = 0;

    for (size_t i = 0; i < count && !err; i++)
        if (outputs[i].time == user->time)
            err = want_bytes(user, outputs[i].address, outputs[i].size);
    return err;
}

/* Wants the buffers that one message lists, and their list. What cannot be read ends it. */
static int want_pieces(const struct user *user, struct wetdbg_state *state, uint64_t list,
                       uint64_t count, bool is_sent)
{
    int err = count > VECTORS_MAX ? 0 : want_bytes(user, list, count * sizeof(struct iovec));
    struct iovec piece;

    for (uint64_t i = 0; i < count && i < VECTORS_MAX && is_sent && !err; i++) {
        if (wetdbg_state_read(state, list + i * sizeof(piece), &piece, sizeof(piece)))
            break;
        err = want_bytes(user, (uint64_t)(uintptr_t)piece.iov_base, piece.iov_len);
    }
    return err;
}

/* Wants a struct msghdr, or argument `by` times struct mmsghdr; and all that they lead to where the
 * call itself is the criterion. */
static int want_messages(const struct user *user, const struct slc_arg *arg, uint64_t address,
                         bool is_whole)
{
    uint64_t count = arg->by ? user->call->args[arg->by] : 1;
    uint64_t stride = arg->by ? sizeof(struct mmsghdr) : sizeof(struct msghdr);
    bool is_sent = arg->kind == SLC_ARG_SENT_MESSAGE;
    struct wetdbg_state *state = NULL;
    struct msghdr header;
    int err = is_whole ? wetdbg_state_open(user->scan->wet, user->time, &state) : 0;

    for (uint64_t i = 0; i < count && i < VECTORS_MAX && !err; i++, address += stride) {
        err = want_bytes(user, address, sizeof(header));
        if (err || !state || wetdbg_state_read(state, address, &header, sizeof(header)))
            continue;
        err = want_pieces(user, state, (uint64_t)(uintptr_t)header.msg_iov, header.msg_iovlen,
                          is_sent);
        if (!err && is_sent)
            err = want_bytes(user, (uint64_t)(uintptr_t)header.msg_name, header.msg_namelen);
        if (!err && is_sent)
            err = want_bytes(user, (uint64_t)(uintptr_t)header.msg_control, header.msg_controllen);
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

static enum wetdbg_edge edge_of(enum slc_arg_kind kind)
{
    return kind == SLC_ARG_VALUE ? WETDBG_EDGE_VALUE : WETDBG_EDGE_ADDRESS;
}

static int want_memory(const struct user *user, const struct slc_arg *arg, uint64_t address,
                       bool is_whole)
{
    uint64_t by = arg->by < SLC_SYSCALL_ARGS ? user->call->args[arg->by] : 0, size;
    int err;

    switch ((enum slc_arg_kind)arg->kind) {
    case SLC_ARG_PATH:
        if (!address)
            return 0;
        err = slc_lengths_get(&user->scan->slice->session->lengths, user->scan->wet,
                              user->scan->interval, user->time, address, &size);
        return err ? err : want_bytes(user, address, size);
    case SLC_ARG_IN:
    case SLC_ARG_IN_OUT:
        return want_bytes(user, address, arg->bytes);
    case SLC_ARG_IN_SIZED:
    case SLC_ARG_IN_OUT_SIZED:
        return by > BYTES_MAX ? 0 : want_bytes(user, address, by * arg->bytes);
    case SLC_ARG_SENT:
        return is_whole ? want_bytes(user, address, by) : 0;
    case SLC_ARG_SENT_VECTOR:
        err = by > VECTORS_MAX ? 0 : want_bytes(user, address, by * arg->bytes);
        return err || !is_whole ? err : want_sent_vector(user);
    case SLC_ARG_OUT_VECTOR:
        return by > VECTORS_MAX ? 0 : want_bytes(user, address, by * arg->bytes);
    case SLC_ARG_SENT_MESSAGE:
    case SLC_ARG_OUT_MESSAGE:
        return want_messages(user, arg, address, is_whole);
    default:
        return 0;
    }
}

int slc_call_want(struct slc_scan *scan, struct slc_task *task, wetdbg_time time, bool is_whole,
                  bool has_sent, struct slc_want *want)
{
    const struct slc_call_args *call = &task->call;
    const struct slc_syscall *syscall = call->is_known ? slc_syscall_find(call->number) : NULL;
    struct user user = {scan, task, call, time, want};
    int err = 0;

    want_register(&user, INS_RAX, WETDBG_EDGE_VALUE);
    scan->slice->counts.unknown_calls += !syscall;
    for (unsigned a = 0; a < SLC_SYSCALL_ARGS && !err; a++) {
        const struct slc_arg unknown = {.kind = SLC_ARG_VALUE};
        const struct slc_arg *arg = syscall ? &syscall->args[a] : &unknown;
        bool is_passed = arg->kind == SLC_ARG_SENT && !is_whole && !has_sent;
        if (arg->kind == SLC_ARG_NONE || is_passed)
            continue;
        want_register(&user, slc_syscall_gpr[a], edge_of((enum slc_arg_kind)arg->kind));
        err = want_memory(&user, arg, call->args[a], is_whole);
    }
    return err;
}
