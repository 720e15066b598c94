/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages lie in a table by number, open addressing. A mapping that the interval makes is kept as a
 * *layer*: pages that are first looked at later come from it, the latest layer winning.
 *
 * What is written where is the replayee's word, so a page is made only where the program had
 * memory: in a mapping of the interval's start, or in one made since (`spans`; what has been
 * unmapped again stays among them).
 */
#include "wet/query/replica.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/page.h"
#include "recorder/agent/views.h"
#include <wetdbg/errors.h>

#define TABLE_FIRST 4096u
#define MOVE_MAX    (1ull << 30)

struct page {
    uint64_t number;
    uint8_t bytes[WD_PAGE];
};

struct layer {
    uint64_t start, end;
    uint64_t file, file_off, file_bytes; /* EVQ_FILE_NONE: zeros */
};

struct wet_replica {
    struct wetdbg *wet;
    uint64_t k;
    struct page **table;
    size_t table_size, page_count;
    struct page **spare; /* of earlier intervals */
    size_t spare_count;
    struct page *last; /* looked at */
    struct wd_buf layers;
    struct wd_buf spans; /* struct rep_span: mapped since the interval's start */
};

int wet_replica_new(struct wetdbg *wet, struct wet_replica **out)
{
    struct wet_replica *replica = calloc(1, sizeof(*replica));
    if (!replica)
        return -ENOMEM;
    replica->wet = wet;
    replica->table_size = TABLE_FIRST;
    replica->table = calloc(replica->table_size, sizeof(*replica->table));
    replica->spare = calloc(replica->table_size, sizeof(*replica->spare));
    if (!replica->table || !replica->spare) {
        wet_replica_free(replica);
        return -ENOMEM;
    }
    *out = replica;
    return 0;
}

void wet_replica_free(struct wet_replica *replica)
{
    if (!replica)
        return;
    for (size_t i = 0; replica->table && i < replica->table_size; i++)
        free(replica->table[i]);
    for (size_t i = 0; i < replica->spare_count; i++)
        free(replica->spare[i]);
    free(replica->table);
    free(replica->spare);
    wd_buf_fini(&replica->layers);
    wd_buf_fini(&replica->spans);
    free(replica);
}

static void page_drop(struct wet_replica *replica, struct page *page)
{
    assert(replica->spare_count < replica->table_size);
    replica->spare[replica->spare_count++] = page;
}

int wet_replica_start(struct wet_replica *replica, uint64_t k)
{
    const struct wet_written *written;
    for (size_t i = 0; i < replica->table_size; i++) {
        if (replica->table[i])
            page_drop(replica, replica->table[i]);
        replica->table[i] = NULL;
    }
    replica->page_count = 0;
    replica->last = NULL;
    replica->layers.size_bytes = replica->spans.size_bytes = 0;
    replica->k = k;
    return wet_written_load(replica->wet, k, &written);
}

/* ---- what is mapped ---- */

/* Where the mapping ends that `address` is in; 0: it is in none. */
static uint64_t mapped_end(struct wet_replica *replica, uint64_t address)
{
    const struct rep_span *spans = (const struct rep_span *)replica->spans.data;
    const struct wet_written *written;
    for (size_t i = replica->spans.size_bytes / sizeof(*spans); i-- > 0;) {
        if (address >= spans[i].start && address < spans[i].end)
            return spans[i].end;
    }
    if (wet_written_load(replica->wet, replica->k, &written))
        return 0;
    const struct agt_view *view = agt_views_at(&written->start, address);
    return view ? view->end : 0;
}

bool wet_replica_is_mapped(struct wet_replica *replica, uint64_t address, uint64_t size)
{
    while (size) {
        uint64_t end = mapped_end(replica, address);
        if (!end)
            return false;
        uint64_t here = end - address < size ? end - address : size;
        address += here;
        size -= here;
    }
    return true;
}

static int span_note(struct wet_replica *replica, uint64_t start, uint64_t bytes)
{
    struct rep_span span = {start, start + bytes};
    return wd_buf_append(&replica->spans, &span, sizeof(span));
}

/* ---- pages ---- */

static size_t slot_of(const struct wet_replica *replica, uint64_t number)
{
    assert(replica->page_count < replica->table_size);
    return wd_hash_find(wd_hash_u64(number) >> 20, replica->table_size, i,
                        !replica->table[i] || replica->table[i]->number == number);
}

static int table_grow(struct wet_replica *replica)
{
    size_t size = replica->table_size, bigger = 2 * size;
    struct page **old = replica->table, **table = calloc(bigger, sizeof(*table));
    struct page **spare = realloc(replica->spare, bigger * sizeof(*spare));
    if (spare)
        replica->spare = spare;
    if (!table || !spare) {
        free(table);
        return -ENOMEM;
    }
    replica->table = table;
    replica->table_size = bigger;
    for (size_t i = 0; i < size; i++)
        if (old[i])
            replica->table[slot_of(replica, old[i]->number)] = old[i];
    free(old);
    return 0;
}

/* Fills a page as the interval's start has it. */
static void fill_from_image(struct wet_replica *replica, uint64_t address, uint8_t *to)
{
    struct wetdbg *wet = replica->wet;
    const struct wet_written *written;
    memset(to, 0, WD_PAGE);
    if (wet_written_load(wet, replica->k, &written))
        return;
    const struct agt_view *view = agt_views_at(&written->start, address);
    if (!view || view->file >= wet->space.object_count)
        return;
    const struct wet_object *object = &wet->space.objects[view->file];
    uint64_t off = view->file_off + (address - view->start);
    if (off < object->bytes && object->bytes - off >= WD_PAGE)
        memcpy(to, wet->space.bytes + object->mirror_off + off, WD_PAGE);
}

static int fill_from_layer(struct wet_replica *replica, const struct layer *layer, uint64_t address,
                           uint8_t *to)
{
    uint64_t off = address - layer->start;
    memset(to, 0, WD_PAGE);
    if (layer->file == EVQ_FILE_NONE || off >= layer->file_bytes)
        return 0;
    uint64_t left = layer->file_bytes - off;
    return wet_file_read(replica->wet, layer->file, layer->file_off + off, to,
                         left < WD_PAGE ? left : WD_PAGE);
}

static int fill(struct wet_replica *replica, uint64_t address, uint8_t *to)
{
    const struct layer *layers = (const struct layer *)replica->layers.data;
    for (size_t i = replica->layers.size_bytes / sizeof(*layers); i-- > 0;)
        if (address >= layers[i].start && address < layers[i].end)
            return fill_from_layer(replica, &layers[i], address, to);
    fill_from_image(replica, address, to);
    return 0;
}

static int page_make(struct wet_replica *replica, uint64_t number)
{
    int err = 2 * replica->page_count >= replica->table_size ? table_grow(replica) : 0;
    if (err)
        return err;
    struct page *page =
        replica->spare_count ? replica->spare[--replica->spare_count] : malloc(sizeof(*page));
    err = page ? fill(replica, number * WD_PAGE, page->bytes) : -ENOMEM;
    if (err) {
        free(page);
        return err;
    }
    page->number = number;
    replica->table[slot_of(replica, number)] = page;
    replica->page_count++;
    return 0;
}

/* *out is NULL where nothing is mapped. */
static int page_get(struct wet_replica *replica, uint64_t address, struct page **out)
{
    uint64_t number = address / WD_PAGE;
    *out = replica->last;
    if (replica->last && replica->last->number == number)
        return 0;
    *out = replica->table[slot_of(replica, number)];
    if (!*out && !mapped_end(replica, address))
        return 0;
    int err = *out ? 0 : page_make(replica, number);
    if (!err)
        *out = replica->last = replica->table[slot_of(replica, number)];
    return err;
}

int wet_replica_read(struct wet_replica *replica, uint64_t address, void *bytes, uint64_t size)
{
    uint8_t *to = bytes;
    struct page *page;
    int err = 0;
    while (size && !err) {
        uint64_t off = address % WD_PAGE;
        uint64_t here = wd_page_left(address) < size ? wd_page_left(address) : size;
        err = page_get(replica, address, &page);
        if (!err && page)
            memcpy(to, page->bytes + off, here);
        else
            memset(to, 0, here);
        to += here;
        address += here;
        size -= here;
    }
    return err;
}

int wet_replica_write(struct wet_replica *replica, uint64_t address, const void *bytes,
                      uint64_t size)
{
    const uint8_t *from = bytes;
    struct page *page;
    int err = 0;
    while (size && !err) {
        uint64_t off = address % WD_PAGE;
        uint64_t here = wd_page_left(address) < size ? wd_page_left(address) : size;
        err = page_get(replica, address, &page);
        if (!err && !page)
            err = wetdbg_fail(-WETDBG_ERR_DIVERGED,
                              "the replay process wrote to %#llx, where nothing is mapped",
                              (unsigned long long)address);
        if (!err)
            memcpy(page->bytes + off, from, here);
        from += here;
        address += here;
        size -= here;
    }
    return err;
}

/* ---- mappings ---- */

/* Fills pages in [start, end) that are there anew. */
static int refill(struct wet_replica *replica, uint64_t start, uint64_t end)
{
    int err = 0;
    for (size_t i = 0; i < replica->table_size && !err; i++) {
        struct page *page = replica->table[i];
        if (page && page->number * WD_PAGE >= start && page->number * WD_PAGE < end)
            err = fill(replica, page->number * WD_PAGE, page->bytes);
    }
    return err;
}

static int layer_add(struct wet_replica *replica, const struct layer *layer)
{
    int err = wd_buf_append(&replica->layers, layer, sizeof(*layer));
    return err ? err : refill(replica, layer->start, layer->end);
}

/* Zeroes a range: whole pages at once, what sticks out of them byte by byte. */
static int zero(struct wet_replica *replica, uint64_t start, uint64_t size)
{
    static const uint8_t zeros[WD_PAGE];
    uint64_t end = start + size;
    uint64_t inner = wd_page_up(start);
    uint64_t inner_end = wd_page_down(end);
    int err = 0;
    if (inner >= inner_end) {
        for (uint64_t here; size && !err; start += here, size -= here) {
            here = size < WD_PAGE ? size : WD_PAGE;
            err = wet_replica_write(replica, start, zeros, here);
        }
        return err;
    }
    struct layer layer = {.start = inner, .end = inner_end, .file = EVQ_FILE_NONE};
    err = wet_replica_write(replica, start, zeros, inner - start);
    if (!err)
        err = wet_replica_write(replica, inner_end, zeros, end - inner_end);
    return err ? err : layer_add(replica, &layer);
}

static int move(struct wet_replica *replica, const struct evq_op *op)
{
    uint64_t size = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    if (!wet_replica_is_mapped(replica, op->remap.start, size))
        return wetdbg_fail(-WETDBG_ERR_DIVERGED, "mremap of %#llx, where nothing is mapped",
                           (unsigned long long)op->remap.start);
    uint8_t *bytes = malloc(size && size <= MOVE_MAX ? size : 1);
    int err = bytes ? span_note(replica, op->remap.to, op->remap.to_size) : -ENOMEM;
    if (!err && size <= MOVE_MAX)
        err = wet_replica_read(replica, op->remap.start, bytes, size);
    if (!err)
        err = zero(replica, op->remap.to, op->remap.to_size);
    if (!err && size <= MOVE_MAX)
        err = wet_replica_write(replica, op->remap.to, bytes, size);
    free(bytes);
    return err;
}

int wet_replica_op(struct wet_replica *replica, const struct evq_op *op)
{
    struct layer layer = {op->map.start, op->map.start + op->map.size, op->map.file,
                          op->map.file_off, op->map.file_bytes};
    int err;
    switch (op->op) {
    case EVQ_OP_ZERO:
    case EVQ_OP_DISCARD:
        return zero(replica, op->range.start, op->range.size);
    case EVQ_OP_MAP:
        err = span_note(replica, op->range.start, op->range.size);
        return err ? err : layer_add(replica, &layer);
    case EVQ_OP_REMAP:
        return op->remap.start == op->remap.to && op->remap.size >= op->remap.to_size
                   ? 0
                   : move(replica, op);
    case EVQ_OP_CLEAR_SPACE:
        layer = (struct layer){.start = 0, .end = UINT64_MAX, .file = EVQ_FILE_NONE};
        return layer_add(replica, &layer);
    default:
        return 0;
    }
}
