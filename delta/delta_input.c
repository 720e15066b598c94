/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/delta_input.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "delta/nesting.h"
#include <wetdbg/errors.h>

/* ---- deltas ---- */

/* Replaced bytes in pairs, then what one side has more. */
static void hunk_cut(const struct dlt_hunk *hunk, struct dlt_hunk *deltas, size_t *count)
{
    struct dlt_hunk at = *hunk;
    while (at.pass_first < hunk->pass_end || at.fail_first < hunk->fail_end) {
        at.pass_end = at.pass_first + (at.pass_first < hunk->pass_end);
        at.fail_end = at.fail_first + (at.fail_first < hunk->fail_end);
        deltas[(*count)++] = at;
        at.pass_first = at.pass_end;
        at.fail_first = at.fail_end;
    }
}

static int deltas_of_bytes(struct dlt_input *input)
{
    struct dlt_hunk *hunks = NULL;
    size_t count = 0, needed = 0;
    int err = dlt_edit_script(input->pass, input->pass_bytes, input->fail, input->fail_bytes,
                              &hunks, &count);
    for (size_t i = 0; !err && i < count; i++) {
        size_t pass = hunks[i].pass_end - hunks[i].pass_first;
        size_t fail = hunks[i].fail_end - hunks[i].fail_first;
        needed += pass > fail ? pass : fail;
    }
    if (!err && !(input->deltas = malloc((needed + 1) * sizeof(*input->deltas))))
        err = -ENOMEM;
    for (size_t i = 0; !err && i < count; i++)
        hunk_cut(&hunks[i], input->deltas, &input->count);
    free(hunks);
    return err;
}

/* One past the zero byte that ends the item at `at`. */
static uint32_t item_end(const uint8_t *bytes, size_t size, uint32_t at)
{
    const uint8_t *zero = memchr(bytes + at, 0, size - at);
    return zero ? (uint32_t)(zero - bytes) + 1 : (uint32_t)size;
}

/* Names of files below two directories, in order; the directories' names, up to the first "//",
 * differ. */
static int names_compare(const uint8_t *a, const uint8_t *b)
{
    const char *x = strstr((const char *)a, "//"), *y = strstr((const char *)b, "//");
    return strcmp(x ? x : (const char *)a, y ? y : (const char *)b);
}

/* Items that both inputs have in the same order, or that one replaces in the other. */
static int deltas_of_items(struct dlt_input *input, bool is_files)
{
    uint32_t p = 0, f = 0;
    size_t capacity = 0;
    while (p < input->pass_bytes || f < input->fail_bytes) {
        struct dlt_hunk delta = {p, p, f, f};
        int order = p == input->pass_bytes ? 1 : f == input->fail_bytes ? -1 : 0;
        if (!order && is_files)
            order = names_compare(input->pass + p, input->fail + f);
        if (order <= 0)
            delta.pass_end = item_end(input->pass, input->pass_bytes, p);
        if (order >= 0)
            delta.fail_end = item_end(input->fail, input->fail_bytes, f);
        p = delta.pass_end;
        f = delta.fail_end;
        uint32_t size = delta.fail_end - delta.fail_first;
        if (size == delta.pass_end - delta.pass_first &&
            memcmp(input->pass + delta.pass_first, input->fail + delta.fail_first, size) == 0)
            continue;
        int err = wd_grow(input->deltas, capacity, input->count + 1);
        if (err)
            return err;
        input->deltas[input->count++] = delta;
    }
    return 0;
}

/* ---- units ---- */

enum { CLASS_BLANK, CLASS_WORD, CLASS_OTHER };

static int class_of(uint8_t byte)
{
    if (isalnum(byte) || byte == '_' || byte >= 0x80)
        return CLASS_WORD;
    return isspace(byte) && byte != '\n' ? CLASS_BLANK : CLASS_OTHER;
}

/* The byte that a delta is about: of the failing input, else of the passing one. */
static uint8_t byte_of(const struct dlt_input *input, size_t i)
{
    const struct dlt_hunk *delta = &input->deltas[i];
    return delta->fail_first < delta->fail_end ? input->fail[delta->fail_first]
                                               : input->pass[delta->pass_first];
}

static bool ends_line(const struct dlt_input *input, size_t i)
{
    const struct dlt_hunk *delta = &input->deltas[i];
    return (delta->fail_first < delta->fail_end && input->fail[delta->fail_first] == '\n') ||
           (delta->pass_first < delta->pass_end && input->pass[delta->pass_first] == '\n');
}

/* Whether delta i + 1 begins another line, or token, than delta i. */
static bool is_other_line(const struct dlt_input *input, size_t i)
{
    uint32_t from = input->deltas[i].fail_end, to = input->deltas[i + 1].fail_first;
    return ends_line(input, i) || memchr(input->fail + from, '\n', to - from);
}

static bool is_other_token(const struct dlt_input *input, size_t i)
{
    int class = class_of(byte_of(input, i));
    return input->deltas[i + 1].fail_first > input->deltas[i].fail_end || class == CLASS_OTHER ||
           class != class_of(byte_of(input, i + 1)) || is_other_line(input, i);
}

static bool is_other_byte(const struct dlt_input *input, size_t i)
{
    (void)input, (void)i;
    return true;
}

typedef bool (*is_other_fn)(const struct dlt_input *input, size_t i);

/* Adds the unit whose groups part where `is_other` says, unless it is that of before. */
static int unit_add(struct dlt_input *input, is_other_fn is_other)
{
    uint32_t *starts = malloc((input->count + 1) * sizeof(*starts));
    size_t count = 0;
    if (!starts)
        return -ENOMEM;
    for (size_t i = 0; i < input->count; i++)
        if (!i || is_other(input, i - 1))
            starts[count++] = (uint32_t)i;
    if (input->unit_count && input->units[input->unit_count - 1].count == count) {
        free(starts);
        return 0;
    }
    input->units[input->unit_count++] = (struct wetdbg_delta_unit){starts, count};
    return 0;
}

/* ---- trees as units, for the difference of two inputs ---- */

/* The level of the outermost node that begins or ends at each offset of the failing input. */
static uint8_t *boundaries_find(const struct dlt_input *input,
                                const struct wetdbg_delta_node *nodes, size_t count)
{
    uint8_t *levels = malloc(count + 1), *boundaries = malloc(input->fail_bytes + 1);
    if (levels && boundaries)
        memset(boundaries, UINT8_MAX, input->fail_bytes + 1);
    for (size_t i = 0; levels && boundaries && i < count; i++) {
        uint32_t parent = nodes[i].parent;
        levels[i] = parent == WETDBG_DELTA_NO_NODE ? 0 : levels[parent];
        if (parent != WETDBG_DELTA_NO_NODE && levels[i] < UINT8_MAX - 1)
            levels[i]++;
        if (boundaries[nodes[i].first] > levels[i])
            boundaries[nodes[i].first] = levels[i];
        if (boundaries[nodes[i].end] > levels[i])
            boundaries[nodes[i].end] = levels[i];
    }
    free(levels);
    return levels ? boundaries : (free(boundaries), NULL);
}

static int unit_add_level(struct dlt_input *input, const uint8_t *boundaries, unsigned level)
{
    uint32_t *starts = malloc((input->count + 1) * sizeof(*starts));
    size_t count = 0;
    if (!starts)
        return -ENOMEM;
    for (size_t i = 0; i < input->count; i++) {
        bool is_other = i == 0;
        uint32_t from = i ? input->deltas[i - 1].fail_first : 0;
        for (uint32_t at = from + 1; !is_other && at <= input->deltas[i].fail_first; at++)
            is_other = boundaries[at] <= level;
        if (is_other)
            starts[count++] = (uint32_t)i;
    }
    if (input->unit_count && input->units[input->unit_count - 1].count == count) {
        free(starts);
        return 0;
    }
    input->units[input->unit_count++] = (struct wetdbg_delta_unit){starts, count};
    return 0;
}

static int units_of_tree(struct dlt_input *input)
{
    struct wetdbg_delta_node *nodes = NULL;
    size_t count = 0;
    int err = dlt_nesting_find(input->fail, input->fail_bytes, &nodes, &count);
    if (err)
        return err;
    if (!input->pass_bytes) {
        input->nodes = nodes;
        input->node_count = count;
        return 0;
    }
    uint8_t *boundaries = boundaries_find(input, nodes, count);
    err = boundaries ? 0 : -ENOMEM;
    for (unsigned level = 0; !err && level < DLT_UNITS_MAX - 1; level++)
        err = unit_add_level(input, boundaries, level);
    free(boundaries);
    free(nodes);
    return err;
}

static int units_make(struct dlt_input *input, enum wetdbg_dd_unit unit)
{
    int err = 0;
    if (unit == WETDBG_DD_TREE)
        return units_of_tree(input);
    if (unit > WETDBG_DD_TREE)
        return unit_add(input, is_other_byte);
    if (!err)
        err = unit_add(input, is_other_line);
    if (!err && unit != WETDBG_DD_LINE)
        err = unit_add(input, is_other_token);
    if (!err && unit == WETDBG_DD_BYTE)
        err = unit_add(input, is_other_byte);
    return err;
}

/* ---- life ---- */

int dlt_input_init(struct dlt_input *input, const struct wetdbg_dd_bytes *pass,
                   const struct wetdbg_dd_bytes *fail, enum wetdbg_dd_unit unit)
{
    static const uint8_t nothing[1];
    *input = (struct dlt_input){.pass = pass->size ? pass->data : nothing,
                                .pass_bytes = pass->size,
                                .fail = fail->size ? fail->data : nothing,
                                .fail_bytes = fail->size};
    int err = unit > WETDBG_DD_TREE ? deltas_of_items(input, unit == WETDBG_DD_FILES)
                                    : deltas_of_bytes(input);
    return err || !input->count ? err : units_make(input, unit);
}

void dlt_input_fini(struct dlt_input *input)
{
    for (size_t u = 0; u < input->unit_count; u++)
        free((void *)input->units[u].starts);
    free(input->deltas);
    free(input->nodes);
    *input = (struct dlt_input){0};
}

static int put(const uint8_t *bytes, uint32_t first, uint32_t end, bool is_fail, struct wd_buf *to,
               size_t base, uint64_t *origins)
{
    for (uint32_t at = first; origins && at < end; at++)
        origins[to->size_bytes - base + at - first] = is_fail ? at : WETDBG_DD_NOWHERE;
    return wd_buf_append(to, bytes + first, end - first);
}

int dlt_input_render(const struct dlt_input *input, const struct wetdbg_delta_set *set,
                     struct wd_buf *to, uint64_t *origins)
{
    size_t base = to->size_bytes;
    uint32_t at = 0; /* of the failing input */
    int err = 0;
    for (size_t i = 0; !err && i <= input->count; i++) {
        const struct dlt_hunk *delta = &input->deltas[i];
        uint32_t until = i < input->count ? delta->fail_first : (uint32_t)input->fail_bytes;
        if (at < until)
            err = put(input->fail, at, until, true, to, base, origins);
        if (i == input->count || err)
            break;
        if (wetdbg_delta_has(set, i))
            err = put(input->fail, delta->fail_first, delta->fail_end, true, to, base, origins);
        else
            err = put(input->pass, delta->pass_first, delta->pass_end, false, to, base, origins);
        at = delta->fail_end;
    }
    return err;
}
