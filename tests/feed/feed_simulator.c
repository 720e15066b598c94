/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/feed/feed_simulator.h"

#include <glob.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder/event/ops.h"

enum { PAGE = 4096, BUCKETS = 1 << 15, LEFT_MAX = 16 };

/* Contents are a file's until something is written. */
struct page {
    struct page *next;
    uint64_t number;
    unsigned prot;
    uint64_t file, offset, valid; /* bytes of the page that come from the file */
    uint8_t *bytes;
};

struct simulator {
    const struct rep_feed *feed;
    struct page *buckets[BUCKETS];
    bool live[EVQ_TASKS_MAX];
    struct evq_regs regs[EVQ_TASKS_MAX]; /* loaded last */
    unsigned live_count;
    bool has_ended;
    enum { LISTS_UNKNOWN, LISTS_NONE, LISTS_SOME } lists; /* rr's own, of mappings */
    struct rep_range left[LEFT_MAX];                      /* see take_unmap() */
    unsigned left_count;
    struct simulator_counts counts;
    char message[256];
};

static const char *complain(struct simulator *sim, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(sim->message, sizeof(sim->message), format, args);
    va_end(args);
    return sim->message;
}

/* ---------------------------------------------------------------- pages */

static struct page **find_slot(struct simulator *sim, uint64_t number)
{
    struct page **slot = &sim->buckets[number * 0x9e3779b97f4a7c15u >> 49];
    while (*slot && (*slot)->number != number)
        slot = &(*slot)->next;
    return slot;
}

static struct page *find_page(struct simulator *sim, uint64_t address)
{
    return *find_slot(sim, address / PAGE);
}

static void drop_page(struct simulator *sim, uint64_t number)
{
    struct page **slot = find_slot(sim, number), *page = *slot;
    if (!page)
        return;
    *slot = page->next;
    free(page->bytes);
    free(page);
}

static struct page *add_page(struct simulator *sim, uint64_t number, unsigned prot)
{
    drop_page(sim, number);
    struct page **slot = find_slot(sim, number);
    *slot = calloc(1, sizeof(**slot));
    if (!*slot)
        abort();
    (*slot)->number = number;
    (*slot)->prot = prot;
    (*slot)->file = EVQ_FILE_NONE;
    return *slot;
}

static uint8_t *bytes_of(struct simulator *sim, struct page *page)
{
    size_t count;
    if (page->bytes)
        return page->bytes;
    page->bytes = calloc(1, PAGE);
    if (!page->bytes)
        abort();
    if (page->file == EVQ_FILE_NONE || !page->valid)
        return page->bytes;
    const struct rep_file *files = rep_feed_files(sim->feed, &count);
    if (pread(files[page->file].fd, page->bytes, page->valid, (off_t)page->offset) !=
        (ssize_t)page->valid)
        abort();
    return page->bytes;
}

static uint64_t mapped_until(struct simulator *sim, uint64_t start, uint64_t count)
{
    uint64_t at = start;
    while (at < start + count && find_page(sim, at))
        at = (at / PAGE + 1) * PAGE;
    return at < start + count ? at : start + count;
}

static const char *write_bytes(struct simulator *sim, uint64_t address, const uint8_t *bytes,
                               uint64_t count)
{
    uint64_t until = mapped_until(sim, address, count);
    if (until < address + count)
        return complain(sim, "nothing is mapped at %#llx", (unsigned long long)until);
    for (uint64_t i = 0; i < count; i++) {
        struct page *page = find_page(sim, address + i);
        bytes_of(sim, page)[(address + i) % PAGE] = bytes ? bytes[i] : 0;
    }
    return NULL;
}

static bool in_ranges(struct simulator *sim, uint64_t start, uint64_t end)
{
    size_t count;
    const struct rep_range *ranges = rep_feed_ranges(sim->feed, &count);
    for (size_t i = 0; i < count; i++)
        if (ranges[i].start <= start && end <= ranges[i].end)
            return true;
    return false;
}

/* ---------------------------------------------------------------- ops */

static const char *take_map(struct simulator *sim, const struct evq_op *op)
{
    size_t file_count, name_count;
    const struct rep_file *files = rep_feed_files(sim->feed, &file_count);
    rep_feed_names(sim->feed, &name_count);
    if (op->map.name != EVQ_NAME_NONE && op->map.name >= name_count)
        return complain(sim, "name %llu", (unsigned long long)op->map.name);
    if (op->map.file != EVQ_FILE_NONE &&
        (op->map.file >= file_count ||
         op->map.file_off + op->map.file_bytes > files[op->map.file].size_bytes))
        return complain(sim, "file %llu", (unsigned long long)op->map.file);
    if (!in_ranges(sim, op->map.start, op->map.start + op->map.size))
        return complain(sim, "a mapping outside the announced ranges");
    for (uint64_t at = 0; at < op->map.size; at += PAGE) {
        struct page *page = add_page(sim, (op->map.start + at) / PAGE, (unsigned)op->map.prot);
        if (op->map.file == EVQ_FILE_NONE || at >= op->map.file_bytes)
            continue;
        page->file = op->map.file;
        page->offset = op->map.file_off + at;
        page->valid = op->map.file_bytes - at < PAGE ? op->map.file_bytes - at : PAGE;
    }
    return NULL;
}

/*
 * A task of another process (after vfork) leaves the space when it execs, and its scratch area is
 * unmapped by an entry of its own, which nothing else is. rr itself needs a task of the space that
 * stands still to unmap it, and leaves it there for good if it finds none: whether the parent has
 * come back from its call by then is a matter of time, and the recording does not tell. No program
 * knows of the area.
 */
static const char *take_unmap(struct simulator *sim, const struct evq_entry *entry,
                              const struct evq_op *op)
{
    for (uint64_t at = 0; at < op->range.size; at += PAGE)
        drop_page(sim, (op->range.start + at) / PAGE);
    if (entry->kind != EVQ_OPS)
        return NULL;
    if (sim->left_count == LEFT_MAX)
        return complain(sim, "more than %d tasks have left", LEFT_MAX);
    sim->left[sim->left_count++] =
        (struct rep_range){op->range.start, op->range.start + op->range.size};
    return NULL;
}

static const char *take_protect(struct simulator *sim, const struct evq_op *op)
{
    if (mapped_until(sim, op->protect.start, op->protect.size) <
        op->protect.start + op->protect.size)
        return complain(sim, "protects what is not mapped");
    for (uint64_t at = 0; at < op->protect.size; at += PAGE)
        find_page(sim, op->protect.start + at)->prot = (unsigned)op->protect.prot;
    return NULL;
}

static const char *take_remap(struct simulator *sim, const struct evq_op *op)
{
    if (mapped_until(sim, op->remap.start, op->remap.size) < op->remap.start + op->remap.size)
        return complain(sim, "moves what is not mapped");
    if (!in_ranges(sim, op->remap.to, op->remap.to + op->remap.to_size))
        return complain(sim, "moves outside the announced ranges");
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    struct page *moved = calloc(kept / PAGE + 1, sizeof(*moved));
    if (!moved)
        abort();
    for (uint64_t at = 0; at < kept; at += PAGE) {
        struct page *page = find_page(sim, op->remap.start + at);
        moved[at / PAGE] = *page;
        page->bytes = NULL;
    }
    for (uint64_t at = 0; at < op->remap.size && !op->remap.stays; at += PAGE)
        drop_page(sim, (op->remap.start + at) / PAGE);
    unsigned prot = moved[0].prot;
    for (uint64_t at = 0; at < op->remap.to_size; at += PAGE) {
        struct page *page = add_page(sim, (op->remap.to + at) / PAGE, prot);
        if (at >= kept)
            continue;
        struct page *next = page->next;
        *page = moved[at / PAGE];
        page->next = next;
        page->number = (op->remap.to + at) / PAGE;
    }
    free(moved);
    return NULL;
}

static const char *take_discard(struct simulator *sim, const struct evq_op *op)
{
    if (mapped_until(sim, op->range.start, op->range.size) < op->range.start + op->range.size)
        return complain(sim, "discards what is not mapped");
    for (uint64_t at = 0; at < op->range.size; at += PAGE) {
        struct page *page = find_page(sim, op->range.start + at);
        free(page->bytes);
        page->bytes = NULL;
    }
    return NULL;
}

static void clear_space(struct simulator *sim)
{
    for (size_t i = 0; i < BUCKETS; i++)
        while (sim->buckets[i])
            drop_page(sim, sim->buckets[i]->number);
}

static const char *take_task_new(struct simulator *sim, const struct evq_op *op)
{
    if (sim->live[op->task_new.task])
        return complain(sim, "task %llu begins twice", (unsigned long long)op->task_new.task);
    sim->live[op->task_new.task] = true;
    sim->regs[op->task_new.task] = *evq_op_regs(op);
    if (!op->task_new.tid)
        return complain(sim, "a task without a thread's number");
    if (++sim->live_count > sim->counts.tasks_at_once)
        sim->counts.tasks_at_once = sim->live_count;
    return NULL;
}

static const char *check_readable(struct simulator *sim, uint64_t start, uint64_t count)
{
    if (mapped_until(sim, start, count) < start + count)
        return complain(sim, "a digest of what is not mapped");
    for (uint64_t at = start; at < start + count; at = (at / PAGE + 1) * PAGE)
        if (!(find_page(sim, at)->prot & PROT_READ))
            return complain(sim, "a digest of what cannot be read");
    return NULL;
}

static const char *check_here(struct simulator *sim, const struct evq_entry *entry)
{
    struct evq_regs regs;
    memcpy(&regs, entry + 1, sizeof(regs));
    for (int i = 0; i < EVQ_REG_COUNT; i++)
        if (EVQ_MASK_GENERAL & EVQ_BIT(i) && regs.r[i] != sim->regs[entry->task].r[i])
            return complain(sim, "the task is not there");
    return NULL;
}

static const char *take_place(struct simulator *sim, const struct evq_entry *entry,
                              const uint8_t *payload)
{
    struct evq_place place;
    const char *wrong = NULL;
    memcpy(&place, payload, sizeof(place));
    if (place.flags & EVQ_PLACE_HERE)
        return check_here(sim, entry);
    if (!place.limit)
        return complain(sim, "a place without a limit");
    sim->counts.places_searched++;
    sim->counts.places_with_digests += place.flags & EVQ_PLACE_STACK ? 1 : 0;
    if (place.flags & EVQ_PLACE_STACK)
        wrong = check_readable(sim, place.stack_start, place.stack_bytes);
    if (!wrong && place.flags & EVQ_PLACE_DATA)
        wrong = check_readable(sim, place.data_start, place.data_bytes);
    return wrong;
}

static const char *take_op(struct simulator *sim, const struct evq_entry *entry,
                           const struct evq_op *op, const uint8_t *payload)
{
    sim->counts.ops[op->op]++;
    switch (op->op) {
    case EVQ_OP_REGS:
        memcpy(&sim->regs[entry->task], payload, sizeof(struct evq_regs));
        return NULL;
    case EVQ_OP_PLACE:
        return take_place(sim, entry, payload);
    case EVQ_OP_WRITE:
        return write_bytes(sim, op->range.start, payload, op->range.size);
    case EVQ_OP_ZERO:
        return write_bytes(sim, op->range.start, NULL, op->range.size);
    case EVQ_OP_MAP:
        return take_map(sim, op);
    case EVQ_OP_UNMAP:
        return take_unmap(sim, entry, op);
    case EVQ_OP_PROTECT:
        return take_protect(sim, op);
    case EVQ_OP_REMAP:
        return take_remap(sim, op);
    case EVQ_OP_DISCARD:
        return take_discard(sim, op);
    case EVQ_OP_CLEAR_SPACE:
        clear_space(sim);
        sim->left_count = 0;
        return NULL;
    case EVQ_OP_TASK_NEW:
        return take_task_new(sim, op);
    case EVQ_OP_CAPTURE:
        sim->counts.captured_tags |= 1ull << op->capture.tag;
        return mapped_until(sim, op->capture.start, op->capture.size) ==
                       op->capture.start + op->capture.size
                   ? NULL
                   : complain(sim, "captures what is not mapped");
    default:
        return NULL;
    }
}

/* ---------------------------------------------------------------- entries */

/* Whether there is one of `codes` (2 or 3 bytes each, NULL-terminated) just before the address? */
static const char *check_code(struct simulator *sim, uint64_t rip, const char *const *codes)
{
    for (; *codes; codes++) {
        size_t length = strlen(*codes), i;
        for (i = 0; i < length; i++) {
            struct page *page = find_page(sim, rip - length + i);
            if (!page || !(page->prot & PROT_EXEC) ||
                bytes_of(sim, page)[(rip - length + i) % PAGE] != (uint8_t)(*codes)[i])
                break;
        }
        if (i == length) {
            sim->counts.instructions_checked++;
            return NULL;
        }
    }
    return complain(sim, "no such instruction before %#llx", (unsigned long long)rip);
}

static const char *check_place(struct simulator *sim, const struct evq_entry *entry,
                               const struct evq_regs *regs)
{
    static const char *const calls[] = {"\x0f\x05", NULL};
    static const char *const traps[] = {"\x0f\x31", "\x0f\x01\xf9", "\x0f\xa2", NULL};
    switch (entry->kind) {
    case EVQ_SYSCALL_ENTER:
        return check_code(sim, regs->r[EVQ_RIP], calls);
    case EVQ_TRAP:
        return check_code(sim, regs->r[EVQ_RIP], traps);
    case EVQ_FAULT:
    case EVQ_PLACE: {
        struct page *page = find_page(sim, regs->r[EVQ_RIP]);
        return page && page->prot & PROT_EXEC ? NULL : complain(sim, "code is not mapped");
    }
    default:
        return NULL;
    }
}

static const char *check_task(struct simulator *sim, const struct evq_entry *entry)
{
    if (sim->has_ended)
        return complain(sim, "an entry after the end");
    if (entry->kind == EVQ_END) {
        sim->has_ended = true;
        return NULL;
    }
    if (!sim->counts.entries[EVQ_OPS] && entry->kind == EVQ_OPS) {
        sim->live[entry->task] = true;
        sim->live_count = sim->counts.tasks_at_once = 1;
    }
    if (!sim->live[entry->task])
        return complain(sim, "task %u is not alive", entry->task);
    if (entry->kind == EVQ_TASK_EXIT) {
        sim->live[entry->task] = false;
        sim->live_count--;
    }
    return NULL;
}

const char *simulator_take(struct simulator *sim, const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_regs(entry);
    const char *wrong = check_task(sim, entry);
    sim->counts.entries[entry->kind]++;
    if (!wrong && regs) {
        wrong = check_place(sim, entry, regs);
        if (entry->kind != EVQ_PLACE)
            sim->regs[entry->task] = *regs;
    }
    for (const struct evq_op *op = NULL; !wrong && (op = evq_op_next(entry, op));)
        wrong = take_op(sim, entry, op, evq_op_payload(op));
    return wrong;
}

/* ---------------------------------------------------------------- rr's own list */

/* Whether an address is in the scratch area of a task that has left. */
static bool is_left(const struct simulator *sim, uint64_t address)
{
    for (unsigned i = 0; i < sim->left_count; i++)
        if (sim->left[i].start <= address && address < sim->left[i].end)
            return true;
    return false;
}

static const char *compare_line(struct simulator *sim, const char *line, uint64_t *pages)
{
    unsigned long long start, end;
    if (sscanf(line, "(%*x) %llx-%llx", &start, &end) != 2)
        return complain(sim, "not a checksum: %s", line);
    if (start >> 47) /* the kernel's own page */
        return NULL;
    for (uint64_t at = start; at < end; at += PAGE) {
        bool is_mapped = find_page(sim, at);
        if (!is_mapped && !is_left(sim, at))
            return complain(sim, "%#llx is not mapped", (unsigned long long)at);
        *pages += is_mapped;
    }
    return NULL;
}

static const char *compare_file(struct simulator *sim, FILE *file)
{
    char line[4096];
    uint64_t recorded = 0, found = 0;
    const char *wrong = NULL;
    while (!wrong && fgets(line, sizeof(line), file))
        wrong = compare_line(sim, line, &recorded);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct page *page = sim->buckets[i]; page; page = page->next)
            found++;
    if (!wrong && found != recorded)
        return complain(sim, "%llu pages are mapped, recorded were %llu", (unsigned long long)found,
                        (unsigned long long)recorded);
    return wrong;
}

/* Looked for once: a directory of many files is slow to search for each frame. */
static bool has_lists(struct simulator *sim, const char *trace_dir)
{
    char pattern[512];
    glob_t found;
    if (sim->lists == LISTS_UNKNOWN) {
        snprintf(pattern, sizeof(pattern), "%s/[0-9]*_[0-9]*", trace_dir);
        bool is_none = glob(pattern, GLOB_NOSORT, NULL, &found) == GLOB_NOMATCH;
        sim->lists = is_none ? LISTS_NONE : LISTS_SOME;
        globfree(&found);
    }
    return sim->lists == LISTS_SOME;
}

const char *simulator_compare_maps(struct simulator *sim, const char *trace_dir, uint64_t frame)
{
    char pattern[512];
    glob_t found;
    const char *wrong = NULL;
    if (!has_lists(sim, trace_dir))
        return NULL;
    snprintf(pattern, sizeof(pattern), "%s/%llu_*", trace_dir, (unsigned long long)frame);
    int err = glob(pattern, 0, NULL, &found);
    if (err == GLOB_NOMATCH)
        return NULL;
    FILE *file = err ? NULL : fopen(found.gl_pathv[0], "re");
    globfree(&found);
    if (!file)
        return complain(sim, "%s cannot be read", pattern);
    wrong = compare_file(sim, file);
    fclose(file);
    sim->counts.maps_compared++;
    return wrong;
}

struct simulator *simulator_new(const struct rep_feed *feed)
{
    struct simulator *sim = calloc(1, sizeof(*sim));
    if (!sim)
        abort();
    sim->feed = feed;
    return sim;
}

void simulator_free(struct simulator *sim)
{
    if (!sim)
        return;
    clear_space(sim);
    free(sim);
}

const struct rep_range *simulator_left(const struct simulator *sim, unsigned *count)
{
    *count = sim->left_count;
    return sim->left;
}

const struct simulator_counts *simulator_counts(const struct simulator *sim)
{
    return &sim->counts;
}
