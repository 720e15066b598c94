/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The MMap, TaskEvent and Header messages. A field's default, where it is not 0, is stored
 * XORed with the value, so that an absent field reads as its default. */
#include <errno.h>
#include <string.h>

#include "common/page.h"
#include "recorder/rr_trace/trace_decode.h"
#include <wetdbg/errors.h>

#define CPUID_RECORD_BYTES 24

static int corrupt(const struct rrt_object *object, const char *what)
{
    return rrt_message_fail(object->message, -WETDBG_ERR_CORRUPT, "%s", what);
}

int rrt_decode_time(struct rrt_message *message, uint64_t *time)
{
    struct rrt_object root;
    int r = rrt_message_root(message, &root);
    if (r != 0)
        return r;
    int64_t value = rrt_object_i64(&root, 0);
    if (value < 0)
        return corrupt(&root, "a negative frame time");
    *time = (uint64_t)value;
    return 0;
}

/* A string field as C wants it: a byte of 0 inside ends it. */
static int decode_string(const struct rrt_object *object, unsigned index, struct rrt_arena *arena,
                         const char **out)
{
    struct rrt_bytes bytes;
    int r = rrt_object_bytes(object, index, &bytes);
    if (r != 0)
        return r;
    *out = rrt_arena_string(arena, bytes.data, bytes.size_bytes);
    return *out ? 0 : -ENOMEM;
}

/* ---------------------------------------------------------------- mappings */

static int decode_source(const struct rrt_object *root, struct rrt_arena *arena,
                         struct rrt_mmap *map)
{
    uint16_t source = rrt_object_u16(root, 544);
    if (source > RRT_SOURCE_FILE)
        return corrupt(root, "a mapping with an unknown source");
    map->source = (enum rrt_mmap_source)source;
    map->backing = "";
    if (source != RRT_SOURCE_FILE)
        return 0;
    int r = decode_string(root, 1, arena, &map->backing);
    if (r == 0 && map->backing[0] == 0)
        return corrupt(root, "a mapping of a file without a name");
    return r;
}

static int check_mmap(const struct rrt_object *root, const struct rrt_mmap *map)
{
    if (map->start > map->end || !wd_page_is_start(map->start) || !wd_page_is_start(map->end))
        return corrupt(root, "a mapping with an impossible range");
    if (map->stat_size_bytes < 0)
        return corrupt(root, "a mapping of a file of negative size");
    if (map->file_offset_bytes > INT64_MAX || !wd_page_is_start(map->file_offset_bytes))
        return corrupt(root, "a mapping with an impossible file offset");
    return 0;
}

int rrt_decode_mmap(struct rrt_message *message, struct rrt_arena *arena, struct rrt_mmap *map)
{
    struct rrt_object root;
    int r = rrt_message_root(message, &root);
    if (r != 0)
        return r;
    map->time = rrt_object_u64(&root, 0);
    map->start = rrt_object_u64(&root, 64);
    map->end = rrt_object_u64(&root, 128);
    map->device = rrt_object_u64(&root, 192);
    map->inode = rrt_object_u64(&root, 256);
    map->prot = rrt_object_i32(&root, 320);
    map->flags = rrt_object_i32(&root, 352);
    map->file_offset_bytes = rrt_object_u64(&root, 384);
    map->stat_mode = rrt_object_u32(&root, 448);
    map->stat_uid = rrt_object_u32(&root, 480);
    map->stat_gid = rrt_object_u32(&root, 512);
    map->skip_monitoring_mapped_fd = rrt_object_bit(&root, 560);
    map->stat_size_bytes = rrt_object_i64(&root, 576);
    map->stat_mtime_seconds = rrt_object_i64(&root, 640);
    r = decode_string(&root, 0, arena, &map->name);
    if (r == 0)
        r = decode_source(&root, arena, map);
    return r != 0 ? r : check_mmap(&root, map);
}

/* ---------------------------------------------------------------- task events */

static int decode_argv(const struct rrt_object *root, struct rrt_arena *arena,
                       struct rrt_task_event *event)
{
    struct rrt_list list;
    int r = rrt_object_list(root, 1, RRT_ELEMENT_POINTER, &list);
    if (r != 0)
        return r;
    const char **argv = rrt_arena_alloc(arena, (size_t)list.count + 1, sizeof(*argv));
    if (!argv)
        return -ENOMEM;
    for (uint32_t i = 0; i < list.count; i++) {
        struct rrt_bytes bytes;
        r = rrt_list_bytes(&list, i, &bytes);
        if (r != 0)
            return r;
        argv[i] = rrt_arena_string(arena, bytes.data, bytes.size_bytes);
        if (!argv[i])
            return -ENOMEM;
    }
    event->argv = argv;
    event->argc = list.count;
    return 0;
}

static int decode_exec(const struct rrt_object *root, struct rrt_arena *arena,
                       struct rrt_task_event *event)
{
    event->exe_base = rrt_object_u64(root, 128);
    event->interp_base = rrt_object_u64(root, 256);
    int r = decode_string(root, 0, arena, &event->exec_file);
    if (r == 0)
        r = decode_string(root, 2, arena, &event->interp);
    return r != 0 ? r : decode_argv(root, arena, event);
}

int rrt_decode_task_event(struct rrt_message *message, struct rrt_arena *arena,
                          struct rrt_task_event *event)
{
    static const char *const no_argv[] = {NULL};
    struct rrt_object root;
    int r = rrt_message_root(message, &root);
    if (r != 0)
        return r;
    uint16_t kind = rrt_object_u16(&root, 192);
    if (kind > RRT_TASK_DETACH)
        return rrt_message_fail(message, -WETDBG_ERR_VERSION,
                                "task event %u is unknown; written by a newer rr?", kind);
    event->time = rrt_object_u64(&root, 0);
    event->tid = rrt_object_i32(&root, 64);
    event->kind = (enum rrt_task_kind)kind;
    event->exec_file = "";
    event->interp = "";
    event->argv = no_argv;
    if (event->tid <= 0)
        return corrupt(&root, "a task event without a task");
    if (kind == RRT_TASK_CLONE) {
        event->parent_tid = rrt_object_i32(&root, 96);
        event->clone_flags = rrt_object_i32(&root, 128);
        event->own_ns_tid = rrt_object_i32(&root, 160);
    } else if (kind == RRT_TASK_EXIT) {
        event->wait_status = rrt_object_i32(&root, 96);
    }
    return kind == RRT_TASK_EXEC ? decode_exec(&root, arena, event) : 0;
}

/* ---------------------------------------------------------------- the header */

static bool bit_with_default(const struct rrt_object *root, unsigned bit, bool value)
{
    return rrt_object_bit(root, bit) != value;
}

static int decode_cpuid(const struct rrt_object *root, struct rrt_arena *arena,
                        struct rrt_header *header)
{
    struct rrt_bytes bytes;
    int r = rrt_object_bytes(root, 1, &bytes);
    if (r != 0)
        return r;
    if (bytes.size_bytes % CPUID_RECORD_BYTES != 0)
        return corrupt(root, "CPUID records of a wrong size");
    size_t count = bytes.size_bytes / CPUID_RECORD_BYTES;
    struct rrt_cpuid *cpuid = rrt_arena_alloc(arena, count, sizeof(*cpuid));
    if (!cpuid)
        return -ENOMEM;
    _Static_assert(sizeof(*cpuid) == CPUID_RECORD_BYTES, "copied as it is stored");
    if (count > 0)
        memcpy(cpuid, bytes.data, bytes.size_bytes);
    header->cpuid = cpuid;
    header->cpuid_count = count;
    return 0;
}

static uint64_t derive_xcr0(const struct rrt_header *header)
{
    for (size_t i = 0; i < header->cpuid_count; i++) {
        const struct rrt_cpuid *record = &header->cpuid[i];
        if (record->eax_in == 0xd && record->ecx_in == 0)
            return (uint64_t)record->edx << 32 | record->eax;
    }
    return 3; /* x87 and SSE, which every x86-64 has */
}

static int decode_quirk(const struct rrt_object *root, unsigned bit, enum rrt_quirk *quirk)
{
    uint16_t value = rrt_object_u16(root, bit);
    if (value > RRT_QUIRK_NO)
        return corrupt(root, "a flag of the header that is neither yes nor no");
    *quirk = (enum rrt_quirk)value;
    return 0;
}

static int decode_quirks(const struct rrt_object *root, struct rrt_header *header)
{
    int r = decode_quirk(root, 192, &header->xsave_fip_fdp_quirk);
    if (r == 0)
        r = decode_quirk(root, 208, &header->fdp_exception_only_quirk);
    if (r == 0)
        r = decode_quirk(root, 224, &header->chaos_mode);
    return r;
}

static void decode_plain_fields(const struct rrt_object *root, struct rrt_header *header)
{
    header->bind_to_cpu = rrt_object_i32(root, 0);
    header->has_cpuid_faulting = rrt_object_bit(root, 32);
    header->ended_normally = bit_with_default(root, 33, true);
    header->preload_thread_locals_recorded = rrt_object_bit(root, 34);
    header->clears_fip_fdp = rrt_object_bit(root, 36);
    header->pkey_alloc_has_extra_regs = rrt_object_bit(root, 38);
    header->buffered_syscall_forced_tick = rrt_object_bit(root, 39);
    header->uses_globals_in_replay = bit_with_default(root, 40, true);
    header->xcr0 = rrt_object_u64(root, 64);
    header->rrcall_base = rrt_object_i32(root, 160) ^ 442;
    header->max_virtual_address_bits = rrt_object_u8(root, 240);
    header->exclusion_start = rrt_object_u64(root, 256);
    header->exclusion_end = rrt_object_u64(root, 320);
    header->forward_compatibility = rrt_object_i32(root, 384);
    header->syscallbuf_fds_disabled_size = rrt_object_u32(root, 480) ^ 1024;
    header->syscallbuf_header_size_bytes = rrt_object_u32(root, 512) ^ 30;
}

#define FORWARD_COMPATIBILITY_MAX 3

static int check_header(const struct rrt_object *root, const struct rrt_header *header)
{
    uint16_t native_arch = rrt_object_u16(root, 144) ^ RRT_ARCH_X86_64;
    uint32_t page_bytes = rrt_object_u32(root, 416) ^ (uint32_t)WD_PAGE;
    if (header->forward_compatibility > FORWARD_COMPATIBILITY_MAX)
        return rrt_message_fail(root->message, -WETDBG_ERR_VERSION,
                                "needs forward compatibility %d, at most %d is known; "
                                "written by a newer rr",
                                header->forward_compatibility, FORWARD_COMPATIBILITY_MAX);
    if (rrt_object_u16(root, 48) != 0)
        return rrt_message_fail(root->message, -WETDBG_ERR_VERSION,
                                "syscall buffer protocol %u is unknown", rrt_object_u16(root, 48));
    if (native_arch != RRT_ARCH_X86_64)
        return rrt_message_fail(root->message, -WETDBG_ERR_UNSUPPORTED,
                                "recorded on another architecture than x86-64");
    if (page_bytes != WD_PAGE)
        return rrt_message_fail(root->message, -WETDBG_ERR_UNSUPPORTED, "pages of %u bytes",
                                page_bytes);
    return 0;
}

int rrt_decode_header(struct rrt_message *message, struct rrt_arena *arena,
                      struct rrt_header *header)
{
    struct rrt_object root;
    struct rrt_bytes uuid;
    int r = rrt_message_root(message, &root);
    if (r != 0)
        return r;
    decode_plain_fields(&root, header);
    uint16_t semantics = rrt_object_u16(&root, 128);
    r = check_header(&root, header);
    if (r == 0 && semantics > RRT_TICKS_TAKEN_BRANCHES)
        r = rrt_message_fail(message, -WETDBG_ERR_VERSION, "ticks of an unknown kind %u",
                             semantics);
    if (r == 0)
        r = rrt_object_bytes(&root, 0, &uuid);
    if (r == 0 && uuid.size_bytes != sizeof(header->uuid))
        r = corrupt(&root, "a uuid of a wrong size");
    if (r == 0)
        r = decode_cpuid(&root, arena, header);
    if (r == 0)
        r = decode_quirks(&root, header);
    if (r != 0)
        return r;
    memcpy(header->uuid, uuid.data, sizeof(header->uuid));
    header->ticks_semantics = (enum rrt_ticks_semantics)semantics;
    if (header->xcr0 == 0)
        header->xcr0 = derive_xcr0(header);
    return 0;
}
