/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/wet/wet_same.h"

#include <stdlib.h>
#include <string.h>

#include "tests/record/spawn.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"

struct file {
    uint8_t *bytes;
    size_t size_bytes;
    const struct wet_section *table;
    size_t count;
};

static struct file file_read(const char *path)
{
    struct file file;
    uint64_t head[4];
    file.bytes = (uint8_t *)slurp(path, &file.size_bytes);
    if (!file.bytes)
        fail_msg("%s is not there", path);
    memcpy(head, file.bytes, sizeof(head));
    file.table = (const struct wet_section *)(file.bytes + head[2]);
    file.count = head[3] / sizeof(*file.table);
    return file;
}

/* Says where two files' sections differ. */
static void fail_section(const char *path, const char *wanted, uint32_t kind, uint64_t key)
{
    struct unit_sections a, b;
    unit_sections_load(&a, path);
    unit_sections_load(&b, wanted);
    const struct wd_buf *x = &unit_section_find(&a, kind, key)->bytes;
    const struct wd_buf *y = &unit_section_find(&b, kind, key)->bytes;
    size_t at = 0;
    while (at < x->size_bytes && at < y->size_bytes && x->data[at] == y->data[at])
        at++;
    fail_msg("section %u.%llu is another one at byte %zu of %zu and %zu: %#x and %#x", kind,
             (unsigned long long)key, at, x->size_bytes, y->size_bytes,
             at < x->size_bytes ? x->data[at] : 0u, at < y->size_bytes ? y->data[at] : 0u);
}

void same_file(const char *path, const char *wanted)
{
    struct file a = file_read(path), b = file_read(wanted);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; i++) {
        if (memcmp(&a.table[i], &b.table[i], sizeof(*a.table)))
            fail_section(path, wanted, a.table[i].kind, a.table[i].key);
    }
    assert_int_equal(a.size_bytes, b.size_bytes);
    assert_memory_equal(a.bytes, b.bytes, a.size_bytes);
    free(a.bytes);
    free(b.bytes);
}

void same_facts(const char *path, const char *wanted)
{
    struct wetdbg *a, *b;
    assert_int_equal(wetdbg_open(path, &a), 0);
    assert_int_equal(wetdbg_open(wanted, &b), 0);
    const struct wetdbg_info *x = wetdbg_get_info(a), *y = wetdbg_get_info(b);
    assert_int_equal(x->instructions, y->instructions);
    assert_int_equal(x->first_time, y->first_time);
    assert_int_equal(x->node_executions, y->node_executions);
    assert_int_equal(x->loads, y->loads);
    assert_int_equal(x->stores, y->stores);
    assert_int_equal(x->events, y->events);
    assert_int_equal(x->syscalls, y->syscalls);
    assert_int_equal(x->places, y->places);
    assert_int_equal(x->ambiguous, y->ambiguous);
    assert_int_equal(x->signal_time, y->signal_time);
    assert_int_equal(x->has_end, y->has_end);
    wetdbg_close(a);
    wetdbg_close(b);
}
