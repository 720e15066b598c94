/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/edit_script.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"

/* Edits up to which two sequences are compared in full: the rows that are kept take its square in
 * words. */
#define EDITS_MAX 1500

/* Two sequences of symbols, and what is found. Hunks are in symbols here. */
struct compared {
    const uint64_t *a, *b;
    size_t a_count, b_count;
    struct dlt_hunk *hunks;
    size_t count, capacity;
};

static int hunk_add(struct compared *compared, size_t a_first, size_t a_end, size_t b_first,
                    size_t b_end)
{
    int err = wd_grow(compared->hunks, compared->capacity, compared->count + 1);
    if (!err)
        compared->hunks[compared->count++] = (struct dlt_hunk){(uint32_t)a_first, (uint32_t)a_end,
                                                               (uint32_t)b_first, (uint32_t)b_end};
    return err;
}

/* ---- Myers: row d holds, for each diagonal k = x - y from -d to d, how far x gets with d edits
 * ---- */

struct rows {
    const struct compared *compared;
    size_t first, a_end, b_end; /* compared is [first, a_end) with [first, b_end) */
    int32_t *reached[EDITS_MAX + 1];
    int edits;
};

static int32_t reach(const struct rows *rows, int d, int k)
{
    return k < -d || k > d ? -1 : rows->reached[d][k + d];
}

/* Where diagonal k starts with d edits, before it slides over what is equal. */
static int32_t reach_by_edit(const struct rows *rows, int d, int k)
{
    if (d == 0)
        return 0;
    int32_t by_removal = reach(rows, d - 1, k - 1), by_addition = reach(rows, d - 1, k + 1);
    return by_removal >= 0 && by_removal + 1 > by_addition ? by_removal + 1 : by_addition;
}

static int32_t slide(const struct rows *rows, int32_t x, int k)
{
    size_t a = rows->first + (size_t)x, b = rows->first + (size_t)(x - k);
    for (; a < rows->a_end && b < rows->b_end && rows->compared->a[a] == rows->compared->b[b];
         a++, b++)
        x++;
    return x;
}

/* Makes rows until one reaches both ends: 1; 0 if that takes too many; -ENOMEM. */
static int rows_make(struct rows *rows)
{
    int32_t n = (int32_t)(rows->a_end - rows->first), m = (int32_t)(rows->b_end - rows->first);
    for (int d = 0; d <= EDITS_MAX; d++) {
        rows->edits = d;
        rows->reached[d] = malloc(((size_t)d * 2 + 1) * sizeof(int32_t));
        if (!rows->reached[d])
            return -ENOMEM;
        for (int k = -d; k <= d; k++)
            rows->reached[d][k + d] = -1;
        for (int k = -d; k <= d; k += 2) {
            int32_t x = reach_by_edit(rows, d, k);
            if (x < 0 || x > n || x - k < 0 || x - k > m)
                continue;
            x = slide(rows, x, k);
            rows->reached[d][k + d] = x;
            if (x == n && x - k == m)
                return 1;
        }
    }
    return 0;
}

/* Goes back along the edits, and marks what was removed of a, and added of b. */
static void rows_mark(const struct rows *rows, bool *removed, bool *added)
{
    int k = (int)(rows->a_end - rows->first) - (int)(rows->b_end - rows->first);
    for (int d = rows->edits; d > 0; d--) {
        int32_t x = reach_by_edit(rows, d, k);
        int32_t by_removal = reach(rows, d - 1, k - 1);
        if (by_removal >= 0 && by_removal + 1 == x && by_removal + 1 > reach(rows, d - 1, k + 1)) {
            removed[x - 1] = true;
            k--;
        } else {
            added[x - k - 1] = true;
            k++;
        }
    }
}

static int marks_to_hunks(struct compared *compared, const struct rows *rows, const bool *removed,
                          const bool *added)
{
    size_t a = rows->first, b = rows->first;
    int err = 0;
    while (!err && (a < rows->a_end || b < rows->b_end)) {
        size_t a_first = a, b_first = b;
        while (a < rows->a_end && removed[a - rows->first])
            a++;
        while (b < rows->b_end && added[b - rows->first])
            b++;
        if (a > a_first || b > b_first)
            err = hunk_add(compared, a_first, a, b_first, b);
        else
            a++, b++;
    }
    return err;
}

static int rows_to_hunks(struct compared *compared, const struct rows *rows)
{
    bool *removed = calloc(rows->a_end - rows->first + 1, 1);
    bool *added = calloc(rows->b_end - rows->first + 1, 1);
    int err = removed && added ? 0 : -ENOMEM;
    if (!err) {
        rows_mark(rows, removed, added);
        err = marks_to_hunks(compared, rows, removed, added);
    }
    free(removed);
    free(added);
    return err;
}

static int compare(struct compared *compared)
{
    struct rows rows = {
        .compared = compared, .a_end = compared->a_count, .b_end = compared->b_count};
    const uint64_t *a = compared->a, *b = compared->b;
    while (rows.first < rows.a_end && rows.first < rows.b_end && a[rows.first] == b[rows.first])
        rows.first++;
    while (rows.a_end > rows.first && rows.b_end > rows.first &&
           a[rows.a_end - 1] == b[rows.b_end - 1])
        rows.a_end--, rows.b_end--;
    if (rows.first == rows.a_end && rows.first == rows.b_end)
        return 0;
    if (rows.first == rows.a_end || rows.first == rows.b_end)
        return hunk_add(compared, rows.first, rows.a_end, rows.first, rows.b_end);
    int found = rows_make(&rows);
    int err = found < 0 ? found : 0;
    if (found > 0)
        err = rows_to_hunks(compared, &rows);
    else if (!found)
        err = hunk_add(compared, rows.first, rows.a_end, rows.first, rows.b_end);
    for (int d = 0; d <= rows.edits; d++)
        free(rows.reached[d]);
    return err;
}

/* ---- lines, then bytes ---- */

/* The ends of lines, and a hash of each. */
struct lines {
    uint32_t *ends;
    uint64_t *hashes;
    size_t count, ends_capacity, capacity;
};

static int lines_find(struct lines *lines, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *newline = memchr(bytes + at, '\n', size - at);
        size_t end = newline ? (size_t)(newline - bytes) + 1 : size;
        int err = wd_grow(lines->ends, lines->ends_capacity, lines->count + 1);
        if (!err)
            err = wd_grow(lines->hashes, lines->capacity, lines->count + 1);
        if (err)
            return err;
        lines->hashes[lines->count] = XXH3_64bits(bytes + at, end - at);
        lines->ends[lines->count++] = (uint32_t)end;
        at = end;
    }
    return 0;
}

static uint32_t line_start(const struct lines *lines, size_t line)
{
    return line ? lines->ends[line - 1] : 0;
}

static uint64_t *symbols_of(const uint8_t *bytes, size_t count)
{
    uint64_t *symbols = malloc((count + 1) * sizeof(*symbols));
    for (size_t i = 0; symbols && i < count; i++)
        symbols[i] = bytes[i];
    return symbols;
}

/* Compares the bytes of a hunk of lines; what is found is appended. */
static int bytes_compare(const uint8_t *pass, const uint8_t *fail, const struct dlt_hunk *where,
                         struct compared *all)
{
    uint64_t *a = symbols_of(pass + where->pass_first, where->pass_end - where->pass_first);
    uint64_t *b = symbols_of(fail + where->fail_first, where->fail_end - where->fail_first);
    struct compared bytes = {.a = a, .b = b};
    bytes.a_count = where->pass_end - where->pass_first;
    bytes.b_count = where->fail_end - where->fail_first;
    int err = a && b ? compare(&bytes) : -ENOMEM;
    for (size_t i = 0; !err && i < bytes.count; i++) {
        const struct dlt_hunk *hunk = &bytes.hunks[i];
        err =
            hunk_add(all, where->pass_first + hunk->pass_first, where->pass_first + hunk->pass_end,
                     where->fail_first + hunk->fail_first, where->fail_first + hunk->fail_end);
    }
    free(bytes.hunks);
    free(a);
    free(b);
    return err;
}

int dlt_edit_script(const uint8_t *pass, size_t pass_bytes, const uint8_t *fail, size_t fail_bytes,
                    struct dlt_hunk **hunks, size_t *count)
{
    struct lines a = {0}, b = {0};
    struct compared by_lines = {0}, all = {0};
    int err = lines_find(&a, pass, pass_bytes);
    if (!err)
        err = lines_find(&b, fail, fail_bytes);
    by_lines.a = a.hashes, by_lines.a_count = a.count;
    by_lines.b = b.hashes, by_lines.b_count = b.count;
    if (!err)
        err = compare(&by_lines);
    for (size_t i = 0; !err && i < by_lines.count; i++) {
        const struct dlt_hunk *hunk = &by_lines.hunks[i];
        const struct dlt_hunk where = {
            line_start(&a, hunk->pass_first), line_start(&a, hunk->pass_end),
            line_start(&b, hunk->fail_first), line_start(&b, hunk->fail_end)};
        err = bytes_compare(pass, fail, &where, &all);
    }
    free(by_lines.hunks);
    free(a.ends), free(a.hashes);
    free(b.ends), free(b.hashes);
    if (err) {
        free(all.hunks);
        return err;
    }
    *hunks = all.hunks;
    *count = all.count;
    return 0;
}
