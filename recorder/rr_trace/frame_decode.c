/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Frame message. Places of fields are bits of a struct's data section ("where" in the
 * format's description) and are named once, at the one spot that reads them. */
#include <errno.h>
#include <string.h>

#include "recorder/rr_trace/trace_decode.h"
#include <wetdbg/errors.h>

#define X86_REGS_BYTES  68 /* 17 x i32 */
#define XSAVE_MIN_BYTES 512

_Static_assert(sizeof(struct rrt_regs) == 27 * 8, "as in struct user_regs_struct");

static int corrupt(const struct rrt_object *object, const char *what)
{
    return rrt_message_fail(object->message, -WETDBG_ERR_CORRUPT, "%s", what);
}

/* Which events come with registers in every version. */
static bool has_to_have_regs(enum rrt_event event)
{
    switch (event) {
    case RRT_EVENT_SYSCALLBUF_ABORT_COMMIT:
    case RRT_EVENT_SYSCALLBUF_RESET:
    case RRT_EVENT_GROW_MAP:
    case RRT_EVENT_EXIT:
    case RRT_EVENT_SYSCALLBUF_FLUSH:
        return false;
    default:
        return true;
    }
}

static int decode_regs(const struct rrt_object *root, struct rrt_frame *frame)
{
    struct rrt_object holder;
    struct rrt_bytes raw;
    int r = rrt_object_struct(root, 1, &holder);
    if (r == 0)
        r = rrt_object_bytes(&holder, 0, &raw);
    if (r != 0)
        return r;
    if (raw.size_bytes == 0 && has_to_have_regs(frame->event))
        return corrupt(root, "an event without its registers");
    if (raw.size_bytes == 0)
        return 0;
    if (frame->arch == RRT_ARCH_X86)
        return raw.size_bytes == X86_REGS_BYTES ? 0 : corrupt(root, "registers of a wrong size");
    if (raw.size_bytes != sizeof(frame->regs))
        return corrupt(root, "registers of a wrong size");
    memcpy(&frame->regs, raw.data, sizeof(frame->regs));
    frame->has_regs = true;
    return 0;
}

static int decode_extra_regs(const struct rrt_object *root, struct rrt_frame *frame)
{
    struct rrt_object holder;
    struct rrt_bytes raw;
    int r = rrt_object_struct(root, 2, &holder);
    if (r == 0)
        r = rrt_object_bytes(&holder, 0, &raw);
    if (r != 0)
        return r;
    if (raw.size_bytes > 0 && raw.size_bytes < XSAVE_MIN_BYTES)
        return corrupt(root, "extra registers of a wrong size");
    frame->extra_regs = raw.data;
    frame->extra_regs_bytes = raw.size_bytes;
    return 0;
}

/* ---------------------------------------------------------------- memory writes */

static int decode_holes(const struct rrt_object *object, struct rrt_arena *arena,
                        struct rrt_write *write)
{
    struct rrt_list list;
    uint64_t end = 0;
    write->stored_bytes = write->size_bytes;
    int r = rrt_object_list(object, 0, RRT_ELEMENT_STRUCT, &list);
    if (r != 0 || list.count == 0)
        return r;
    struct rrt_hole *holes = rrt_arena_alloc(arena, list.count, sizeof(*holes));
    if (!holes)
        return -ENOMEM;
    for (uint32_t i = 0; i < list.count; i++) {
        struct rrt_object hole = rrt_list_struct(&list, i);
        holes[i].offset_bytes = rrt_object_u64(&hole, 0);
        holes[i].size_bytes = rrt_object_u64(&hole, 64);
        if (holes[i].offset_bytes < end || holes[i].offset_bytes > write->size_bytes ||
            holes[i].size_bytes > write->size_bytes - holes[i].offset_bytes)
            return corrupt(object, "a hole outside its memory record");
        end = holes[i].offset_bytes + holes[i].size_bytes;
        write->stored_bytes -= holes[i].size_bytes;
    }
    write->holes = holes;
    write->hole_count = list.count;
    return 0;
}

static int decode_write(const struct rrt_object *object, struct rrt_arena *arena,
                        struct rrt_write *write)
{
    write->tid = rrt_object_i32(object, 0);
    write->size_is_conservative = rrt_object_bit(object, 32);
    write->addr = rrt_object_u64(object, 64);
    write->size_bytes = rrt_object_u64(object, 128);
    if (write->size_bytes > UINT64_MAX - write->addr)
        return corrupt(object, "a memory record that wraps around");
    return decode_holes(object, arena, write);
}

static int decode_writes(const struct rrt_object *root, struct rrt_arena *arena,
                         struct rrt_frame *frame)
{
    struct rrt_list list;
    int r = rrt_object_list(root, 0, RRT_ELEMENT_STRUCT, &list);
    if (r != 0 || list.count == 0)
        return r;
    struct rrt_write *writes = rrt_arena_alloc(arena, list.count, sizeof(*writes));
    if (!writes)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < list.count; i++) {
        struct rrt_object object = rrt_list_struct(&list, i);
        r = decode_write(&object, arena, &writes[i]);
    }
    frame->writes = writes;
    frame->write_count = list.count;
    return r;
}

/* ---------------------------------------------------------------- system calls */

static int decode_fds_to_close(const struct rrt_object *root, struct rrt_arena *arena,
                               struct rrt_syscall *call)
{
    struct rrt_list list;
    int r = rrt_object_list(root, 3, RRT_ELEMENT_U32, &list);
    if (r != 0 || list.count == 0)
        return r;
    int32_t *fds = rrt_arena_alloc(arena, list.count, sizeof(*fds));
    if (!fds)
        return -ENOMEM;
    for (uint32_t i = 0; i < list.count; i++)
        fds[i] = (int32_t)rrt_list_u32(&list, i);
    call->exec_fds_to_close = fds;
    call->exec_fd_count = list.count;
    return 0;
}

static int decode_opened_fds(const struct rrt_object *root, struct rrt_arena *arena,
                             struct rrt_syscall *call)
{
    struct rrt_list list;
    int r = rrt_object_list(root, 3, RRT_ELEMENT_STRUCT, &list);
    if (r != 0 || list.count == 0)
        return r;
    struct rrt_opened_fd *fds = rrt_arena_alloc(arena, list.count, sizeof(*fds));
    if (!fds)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < list.count; i++) {
        struct rrt_object object = rrt_list_struct(&list, i);
        fds[i].fd = rrt_object_i32(&object, 0);
        fds[i].device = rrt_object_u64(&object, 64);
        fds[i].inode = rrt_object_u64(&object, 128);
        r = rrt_object_bytes(&object, 0, &fds[i].path);
    }
    call->opened_fds = fds;
    call->opened_fd_count = list.count;
    return r;
}

static int decode_madvise_ranges(const struct rrt_object *root, struct rrt_arena *arena,
                                 struct rrt_syscall *call)
{
    struct rrt_list list;
    int r = rrt_object_list(root, 3, RRT_ELEMENT_STRUCT, &list);
    if (r != 0 || list.count == 0)
        return r;
    struct rrt_range *ranges = rrt_arena_alloc(arena, list.count, sizeof(*ranges));
    if (!ranges)
        return -ENOMEM;
    for (uint32_t i = 0; i < list.count; i++) {
        struct rrt_object object = rrt_list_struct(&list, i);
        ranges[i].start = rrt_object_u64(&object, 0);
        ranges[i].end = rrt_object_u64(&object, 64);
        if (ranges[i].start > ranges[i].end)
            return corrupt(root, "a range that ends before it starts");
    }
    call->madvise_ranges = ranges;
    call->madvise_range_count = list.count;
    return 0;
}

static int decode_syscall_extra(const struct rrt_object *root, struct rrt_arena *arena,
                                struct rrt_syscall *call)
{
    int r;
    switch (call->extra) {
    case RRT_EXTRA_NONE:
        return 0;
    case RRT_EXTRA_WRITE_OFFSET:
        call->write_offset = rrt_object_i64(root, 320);
        return 0;
    case RRT_EXTRA_EXEC_FDS_TO_CLOSE:
        return decode_fds_to_close(root, arena, call);
    case RRT_EXTRA_OPENED_FDS:
        return decode_opened_fds(root, arena, call);
    case RRT_EXTRA_SOCKET_ADDRS:
        r = rrt_object_bytes(root, 3, &call->socket_local);
        return r != 0 ? r : rrt_object_bytes(root, 4, &call->socket_remote);
    case RRT_EXTRA_MADVISE_RANGES:
        return decode_madvise_ranges(root, arena, call);
    }
    return rrt_message_fail(root->message, -WETDBG_ERR_VERSION,
                            "system call detail %d is unknown; written by a newer rr?",
                            (int)call->extra);
}

static int decode_syscall(const struct rrt_object *root, struct rrt_arena *arena,
                          struct rrt_syscall *call)
{
    uint16_t arch = rrt_object_u16(root, 192);
    uint16_t state = rrt_object_u16(root, 208);
    if (arch > RRT_ARCH_X86_64)
        return corrupt(root, "a system call of an unknown architecture");
    if (state > RRT_SYSCALL_EXITING)
        return corrupt(root, "a system call in an unknown state");
    call->arch = (enum rrt_arch)arch;
    call->state = (enum rrt_syscall_state)state;
    call->number = rrt_object_i32(root, 224);
    call->failed_during_preparation = rrt_object_bit(root, 256);
    call->extra = (enum rrt_syscall_extra)rrt_object_u16(root, 272);
    return decode_syscall_extra(root, arena, call);
}

/* ---------------------------------------------------------------- signals */

static int decode_signal(const struct rrt_object *root, struct rrt_signal *signal)
{
    struct rrt_object object;
    struct rrt_bytes siginfo;
    int32_t number;
    int r = rrt_object_struct(root, 3, &object);
    if (r == 0)
        r = rrt_object_bytes(&object, 0, &siginfo);
    if (r != 0)
        return r;
    if (siginfo.size_bytes != RRT_SIGINFO_BYTES)
        return corrupt(root, "a signal without a whole siginfo");
    memcpy(&number, siginfo.data, sizeof(number)); /* si_signo comes first */
    uint16_t disposition = rrt_object_u16(&object, 32);
    if (number < 1 || number > 64)
        return corrupt(root, "a signal number out of range");
    if (disposition > RRT_DISPOSITION_IGNORED)
        return corrupt(root, "a signal with an unknown disposition");
    signal->siginfo = siginfo.data;
    signal->number = number;
    signal->deterministic = rrt_object_bit(&object, 16);
    signal->disposition = (enum rrt_disposition)disposition;
    return 0;
}

/* ---------------------------------------------------------------- buffered calls */

#define PROTECT_BYTES    24
#define PROTECT_SIZE_OFF 8
#define PROTECT_PROT_OFF 16

static int decode_protects(const struct rrt_object *root, struct rrt_arena *arena,
                           struct rrt_frame *frame)
{
    struct rrt_bytes raw;
    int r = rrt_object_bytes(root, 3, &raw);
    if (r != 0 || raw.size_bytes == 0)
        return r;
    if (raw.size_bytes % PROTECT_BYTES)
        return corrupt(root, "buffered mprotect records of a wrong size");
    size_t count = raw.size_bytes / PROTECT_BYTES;
    struct rrt_protect *protects = rrt_arena_alloc(arena, count, sizeof(*protects));
    if (!protects)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = raw.data + i * PROTECT_BYTES;
        int32_t prot;
        memcpy(&protects[i].start, at, sizeof(protects[i].start));
        memcpy(&protects[i].size_bytes, at + PROTECT_SIZE_OFF, sizeof(protects[i].size_bytes));
        memcpy(&prot, at + PROTECT_PROT_OFF, sizeof(prot));
        protects[i].prot = prot;
    }
    frame->protects = protects;
    frame->protect_count = count;
    return 0;
}

/* ---------------------------------------------------------------- the frame */

static int decode_kind(const struct rrt_object *root, struct rrt_frame *frame)
{
    uint16_t arch = rrt_object_u16(root, 32);
    uint16_t event = rrt_object_u16(root, 48);
    if (arch > RRT_ARCH_X86_64)
        return rrt_message_fail(root->message, -WETDBG_ERR_UNSUPPORTED,
                                "a task of an architecture other than x86");
    if (event >= RRT_EVENT_COUNT)
        return rrt_message_fail(root->message, -WETDBG_ERR_VERSION,
                                "event kind %u is unknown; written by a newer rr?", event);
    frame->arch = (enum rrt_arch)arch;
    frame->event = (enum rrt_event)event;
    return 0;
}

static int decode_payload(const struct rrt_object *root, struct rrt_arena *arena,
                          struct rrt_frame *frame)
{
    switch (frame->event) {
    case RRT_EVENT_SYSCALL:
        return decode_syscall(root, arena, &frame->syscall);
    case RRT_EVENT_SIGNAL:
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_SIGNAL_HANDLER:
        return decode_signal(root, &frame->signal);
    case RRT_EVENT_SYSCALLBUF_FLUSH:
        return decode_protects(root, arena, frame);
    default:
        return 0;
    }
}

int rrt_decode_frame(struct rrt_message *message, struct rrt_arena *arena, struct rrt_frame *frame)
{
    struct rrt_object root;
    int r = rrt_message_root(message, &root);
    if (r != 0)
        return r;
    frame->tid = rrt_object_i32(&root, 0);
    frame->ticks = rrt_object_i64(&root, 64);
    uint64_t seconds = rrt_object_u64(&root, 128);
    memcpy(&frame->monotonic_seconds, &seconds, sizeof(seconds));
    frame->in_syscallbuf_hook = rrt_object_u64(&root, 384);
    if (frame->tid <= 0)
        return corrupt(&root, "a frame without a task");
    r = decode_kind(&root, frame);
    if (r == 0)
        r = decode_regs(&root, frame);
    if (r == 0)
        r = decode_extra_regs(&root, frame);
    if (r == 0)
        r = decode_writes(&root, arena, frame);
    if (r == 0)
        r = decode_payload(&root, arena, frame);
    return r;
}
