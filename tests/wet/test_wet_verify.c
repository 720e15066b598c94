/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `wetdbg verify`: a sound file passes, and for each rule of docs/format.md a file that breaks only
 * that one, with correct checksums, is refused with section, number and reason.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "dbgcli/exit_status.h"
#include "recorder/agent/views.h"
#include "recorder/rr_trace/trace_surroundings.h"
#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/trace/records.h"
#include "wet/trace/space.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>
#include <wetdbg/verify.h>
#include <wetdbg/wet.h>

#define SHORT 10000
#define FLIPS 400

static struct good_wet here;

static int setup(void **state)
{
    (void)state;
    good_wet_make(&here, PROGRAM, SHORT, "spoiled.wet");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    good_wet_fini(&here);
    return 0;
}

/* ---- what is found ---- */

struct found {
    struct wetdbg_violation first;
    unsigned count;
};

static void found_note(void *arg, const struct wetdbg_violation *violation)
{
    struct found *found = arg;
    if (!found->count++)
        found->first = *violation;
}

static int look(const char *path, bool deep, struct found *found)
{
    struct wetdbg_verify_result result;
    *found = (struct found){.count = 0};
    const struct wetdbg_verify_options how = {.deep = deep, .found = found_note, .arg = found};
    int err = wetdbg_verify(path, &how, &result);
    if (!err)
        assert_int_equal(result.violations, found->count);
    return err;
}

static void assert_sound(const char *path, bool deep)
{
    struct found found;
    int err = look(path, deep, &found);
    if (err || found.count)
        fail_msg("%s %s", err ? wetdbg_error(err) : found.first.section,
                 err ? "" : found.first.what);
}

static void assert_found(const char *row, uint32_t kind, uint64_t key, const char *what)
{
    struct found found;
    int err = look(here.changed, false, &found);
    if (err || !found.count)
        fail_msg("%s: %s", row, err ? wetdbg_error(err) : "nothing was found");
    if (found.first.kind != kind || found.first.key != key || !strstr(found.first.what, what))
        fail_msg("%s: found in %s %llu at %llu: %s", row, found.first.section,
                 (unsigned long long)found.first.key, (unsigned long long)found.first.off,
                 found.first.what);
}

/* ---- spoiling ---- */

enum act { SET, ADD, CUT, APPEND };

struct row {
    const char *name;
    uint32_t kind;
    uint64_t key;
    enum act act;
    int64_t off; /* below 0: from the end */
    unsigned bytes;
    uint64_t value;
    const char *what;
    uint32_t told_of; /* another kind; 0: this one */
};

static void act(struct wd_buf *bytes, const struct row *row)
{
    size_t off = row->off < 0 ? bytes->size_bytes - (size_t)-row->off : (size_t)row->off;
    uint64_t number = 0;
    if (row->act == APPEND) {
        assert_int_equal(wd_buf_append_zeros(bytes, row->bytes), 0);
        memcpy(bytes->data + bytes->size_bytes - row->bytes, &row->value,
               row->bytes < 8 ? row->bytes : 8);
        return;
    }
    assert_true(off + row->bytes <= bytes->size_bytes);
    if (row->act == CUT) {
        bytes->size_bytes -= row->bytes;
        return;
    }
    memcpy(&number, bytes->data + off, row->bytes);
    number = row->act == ADD ? number + row->value : row->value;
    memcpy(bytes->data + off, &number, row->bytes);
}

/* Writes the spoiled file with `spoil` done to a copy of the section. */
static void spoil_with(struct unit_section *section,
                       void (*spoil)(struct wd_buf *bytes, const void *arg), const void *arg)
{
    struct wd_buf good = section->bytes;
    section->bytes = (struct wd_buf){0};
    assert_int_equal(wd_buf_append(&section->bytes, good.data, good.size_bytes), 0);
    spoil(&section->bytes, arg);
    unit_sections_store(&here.sections, here.changed, SIZE_MAX);
    wd_buf_fini(&section->bytes);
    section->bytes = good;
}

static void act_row(struct wd_buf *bytes, const void *arg)
{
    act(bytes, arg);
}

static struct unit_section *section_of(uint32_t kind, uint64_t key)
{
    struct unit_section *section = unit_section_find(&here.sections, kind, key);
    assert_non_null(section);
    return section;
}

static void rows_check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        spoil_with(section_of(rows[i].kind, rows[i].key), act_row, &rows[i]);
        assert_found(rows[i].name, rows[i].told_of ? rows[i].told_of : rows[i].kind, rows[i].key,
                     rows[i].what);
    }
}

#define ROWS(rows) rows_check(rows, sizeof(rows) / sizeof(rows[0]))

/* ---- tests ---- */

static void verify_sound_file_passes(void **state)
{
    (void)state;
    assert_sound(here.path, true);
    unit_sections_store(&here.sections, here.changed, SIZE_MAX);
    assert_sound(here.changed, false);
}

static void verify_what_is_no_wet_is_an_error(void **state)
{
    (void)state;
    struct found found;
    unit_write(here.changed, "just a text that is long enough to be a header of some file", 60);
    assert_int_equal(look(here.changed, false, &found), -WETDBG_ERR_CORRUPT);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_CORRUPT), "is not a .wet file"));
    assert_int_equal(look(here.run.dir, false, &found), -WETDBG_ERR_CORRUPT);
    assert_int_equal(look("/nonexistent/file", false, &found), -2 /* ENOENT */);
}

static void verify_missing_and_needless_sections_are_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < here.sections.count; i++) {
        const struct unit_section *section = &here.sections.list[i];
        if (section->kind == WET_SEC_DEBUG || section->kind == WET_SEC_ALT || section->key > 2)
            continue;
        unit_sections_store(&here.sections, here.changed, i);
        assert_found("missing", section->kind, section->key, "missing");
    }
    const struct {
        uint32_t kind;
        uint64_t key;
    } needless[] = {{WET_SEC_META, 1},
                    {WET_SEC_FILE_DATA, 999},
                    {WET_SEC_DEBUG, 999},
                    {WET_SEC_STATE, 1u << 20},
                    {WET_SEC_LINES, 1u << 20}};
    for (size_t i = 0; i < sizeof(needless) / sizeof(needless[0]); i++) {
        struct unit_section *list =
            realloc(here.sections.list, (here.sections.count + 1) * sizeof(*list));
        assert_non_null(list);
        here.sections.list = list;
        list[here.sections.count++] =
            (struct unit_section){.kind = needless[i].kind, .key = needless[i].key};
        unit_sections_store(&here.sections, here.changed, SIZE_MAX);
        here.sections.count--;
        assert_found("needless", needless[i].kind, needless[i].key, "nothing of that number");
    }
}

static void verify_sections_of_unknown_kinds_pass(void **state)
{
    (void)state;
    struct unit_section *list =
        realloc(here.sections.list, (here.sections.count + 1) * sizeof(*list));
    assert_non_null(list);
    here.sections.list = list;
    list[here.sections.count++] = (struct unit_section){.kind = 60, .key = 7};
    unit_sections_store(&here.sections, here.changed, SIZE_MAX);
    here.sections.count--;
    assert_sound(here.changed, false);
}

/* Stores a file with another description; the section stays as it is. */
static void meta_store(struct unit_section *section, const json_t *meta)
{
    struct wd_buf good = section->bytes;
    char *text = json_dumps(meta, JSON_SORT_KEYS);
    section->bytes = (struct wd_buf){
        .data = (uint8_t *)text, .size_bytes = strlen(text), .capacity_bytes = strlen(text)};
    unit_sections_store(&here.sections, here.changed, SIZE_MAX);
    free(text);
    section->bytes = good;
}

static void meta_number_add(const char *key, const char *what, uint32_t told_of)
{
    struct unit_section *section = section_of(WET_SEC_META, 0);
    struct wd_buf good = section->bytes;
    json_t *meta = json_loadb((const char *)good.data, good.size_bytes, 0, NULL);
    assert_non_null(meta);
    json_int_t value = json_integer_value(json_object_get(meta, key));
    for (int i = 0; i < 2; i++) {
        if (i)
            json_object_del(meta, key);
        else
            json_object_set_new(meta, key, json_integer(value + 1));
        meta_store(section, meta);
        if (i)
            assert_found(key, WET_SEC_META, 0, "there is no number");
        else
            assert_found(key, told_of, 0, what);
    }
    json_decref(meta);
}

/* Stores a file whose description has this in the place of what the streams were. */
static void streams_store(json_t *streams)
{
    struct unit_section *section = section_of(WET_SEC_META, 0);
    struct wd_buf good = section->bytes;
    json_t *meta = json_loadb((const char *)good.data, good.size_bytes, 0, NULL);
    assert_non_null(meta);
    json_object_set_new(meta, "streams", streams);
    meta_store(section, meta);
    json_decref(meta);
}

/* A list of so many numbers, of which the last one is `last`. */
static json_t *numbers_make(int count, json_t *last)
{
    json_t *numbers = json_array();
    for (int i = 1; i < count; i++)
        json_array_append_new(numbers, json_integer(i));
    json_array_append_new(numbers, last);
    return numbers;
}

static void assert_opens(int expected, const char *what)
{
    struct wetdbg *wet = NULL;
    assert_int_equal(wetdbg_open(here.changed, &wet), expected);
    if (expected && !strstr(wetdbg_error(expected), what))
        fail_msg("'%s' is not about '%s'", wetdbg_error(expected), what);
    wetdbg_close(wet);
}

static void streams_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    streams_store(json_pack("[noo]", numbers_make(RRT_INHERITED_FIELDS, json_integer(-1)),
                            numbers_make(RRT_INHERITED_FIELDS, json_integer(7))));
    assert_sound(here.changed, false);
    assert_opens(0, "");
    json_t *bad[] = {numbers_make(RRT_INHERITED_FIELDS, json_string("7")),
                     numbers_make(RRT_INHERITED_FIELDS, json_real(7.5)),
                     numbers_make(RRT_INHERITED_FIELDS, json_null()),
                     numbers_make(RRT_INHERITED_FIELDS - 1, json_integer(7)),
                     numbers_make(RRT_INHERITED_FIELDS + 1, json_integer(7)),
                     json_integer(7),
                     json_object()};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        streams_store(json_pack("[non]", bad[i]));
        assert_found("streams", WET_SEC_META, 0, "'streams' has for descriptor 1");
        assert_opens(-WETDBG_ERR_CORRUPT, "'streams' has for descriptor 1");
    }
    streams_store(json_pack("[nn]"));
    assert_found("streams", WET_SEC_META, 0, "no list of three");
    assert_opens(-WETDBG_ERR_CORRUPT, "no list of three");
    streams_store(json_integer(3));
    assert_opens(-WETDBG_ERR_CORRUPT, "no list of three");
}

static void verify_description_of_the_run_is_held_against_the_rest(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"no JSON", WET_SEC_META, 0, SET, 0, 1, '[', "no JSON object", 0},
        {"empty", WET_SEC_META, 0, SET, 1, 1, '}', "no JSON object", 0},
    };
    ROWS(rows);
    meta_number_add("nodes", "nodes, META has", WET_SEC_NODES);
    meta_number_add("node_executions", "executed", WET_SEC_NODES);
    meta_number_add("instructions", "does not end where the run does", WET_SEC_INDEX);
    meta_number_add("events", "entries, META has", WET_SEC_INDEX);
    meta_number_add("syscalls", "syscalls, ENTRIES have", WET_SEC_META);
    meta_number_add("places", "places, ENTRIES have", WET_SEC_META);
}

static void verify_tables_of_the_machine_and_files(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"cpu", WET_SEC_CPU, 0, CUT, -1, 1, 0, "cut off", 0},
        {"cpu many", WET_SEC_CPU, 0, APPEND, 0, 24 * 513, 0, "512", 0},
        {"span page", WET_SEC_SPANS, 0, ADD, 0, 8, 1, "span", 0},
        {"span end", WET_SEC_SPANS, 0, SET, -8, 8, 1ull << 47, "span", 0},
        {"span order", WET_SEC_SPANS, 0, APPEND, 0, 16, 4096, "span", 0},
        {"span cut", WET_SEC_SPANS, 0, CUT, -8, 8, 0, "cut off", 0},
        {"file cut", WET_SEC_FILES, 0, SET, 16, 4, 1u << 30, "cut off", 0},
        {"file flag", WET_SEC_FILES, 0, SET, 20, 4, 2, "is_module", 0},
        {"file size", WET_SEC_FILES, 0, ADD, 0, 8, 1, "not as long", WET_SEC_FILE_DATA},
        {"contents", WET_SEC_FILE_DATA, 0, CUT, -1, 1, 0, "not as long", 0},
        {"names", WET_SEC_NAMES, 0, SET, -1, 1, 'x', "does not end", 0},
    };
    ROWS(rows);
}

static void verify_nodes(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"id", WET_SEC_NODES, 0, SET, 16, 4, 1u << 20, "out of bounds", 0},
        {"statements", WET_SEC_NODES, 0, SET, 20, 2, 0, "out of bounds", 0},
        {"many statements", WET_SEC_NODES, 0, SET, 20, 2, 65, "out of bounds", 0},
        {"executions", WET_SEC_NODES, 0, ADD, 8, 8, 1, "META has", 0},
        {"never", WET_SEC_NODES, 0, SET, 8, 8, 0, "never ran", 0},
        {"cut", WET_SEC_NODES, 0, CUT, -8, 8, 0, "", 0},
        {"head", WET_SEC_NODES, 0, APPEND, 0, 8, 0, "cut off", 0},
    };
    ROWS(rows);
}

static void node_again(struct wd_buf *bytes, const void *arg)
{
    struct wet_node_record node;
    (void)arg;
    memcpy(&node, bytes->data, sizeof(node));
    size_t whole = sizeof(node) + ((node.code_bytes + 7u) & ~7u);
    uint8_t *copy = malloc(whole);
    memcpy(copy, bytes->data, whole);
    assert_int_equal(wd_buf_append(bytes, copy, whole), 0);
    free(copy);
}

static void verify_node_that_is_there_twice(void **state)
{
    (void)state;
    spoil_with(section_of(WET_SEC_NODES, 0), node_again, NULL);
    assert_found("twice", WET_SEC_NODES, 0, "twice");
}

static void verify_objects_and_intervals(void **state)
{
    (void)state;
    const int64_t object = sizeof(struct wet_object), index = sizeof(struct wet_index_record);
    const struct row rows[] = {
        {"start", WET_SEC_OBJECTS, 0, ADD, 0, 8, 8, "address", 0},
        {"empty", WET_SEC_OBJECTS, 0, SET, 8, 8, 0, "empty", 0},
        {"huge", WET_SEC_OBJECTS, 0, SET, 8, 8, 1ull << 44, "too large", 0},
        {"file", WET_SEC_OBJECTS, 0, SET, 16, 8, 999, "file", 0},
        {"prot", WET_SEC_OBJECTS, 0, SET, 40, 8, 8, "protection", 0},
        {"name", WET_SEC_OBJECTS, 0, SET, 48, 8, 9999, "NAMES", 0},
        {"image", WET_SEC_OBJECTS, 0, ADD, object + 56, 8, 4096, "image", 0},
        {"span", WET_SEC_OBJECTS, 0, SET, 0, 8, 4096, "SPANS", 0},
        {"object cut", WET_SEC_OBJECTS, 0, CUT, -8, 8, 0, "cut off", 0},
        {"first", WET_SEC_INDEX, 0, ADD, 0, 8, 1, "does not begin", 0},
        {"next", WET_SEC_INDEX, 0, ADD, index, 8, 1, "does not begin", 0},
        {"long", WET_SEC_INDEX, 0, SET, 8, 8, 1u << 30, "too long", 0},
        {"longer", WET_SEC_INDEX, 0, ADD, -24, 8, 1, "does not end", 0},
        {"entry", WET_SEC_INDEX, 0, ADD, index + 16, 8, 1, "do not follow", 0},
        {"first entry", WET_SEC_INDEX, 0, SET, 16, 8, 3, "", 0},
        {"entries", WET_SEC_INDEX, 0, ADD, -8, 8, 1, "META has", 0},
        {"gone", WET_SEC_INDEX, 0, CUT, -32, 32, 0, "", 0},
    };
    ROWS(rows);
}

static void verify_outputs_and_threads(void **state)
{
    (void)state;
    const struct row rows[] = {
        {"fd", WET_SEC_OUTPUTS, 0, SET, 0, 8, 1u << 20, "descriptor", 0},
        {"size", WET_SEC_OUTPUTS, 0, SET, 32, 8, 0, "size", 0},
        {"time 0", WET_SEC_OUTPUTS, 0, SET, 8, 8, 0, "none of the run", 0},
        {"time late", WET_SEC_OUTPUTS, 0, SET, 8, 8, 1ull << 50, "none of the run", 0},
        {"no call", WET_SEC_OUTPUTS, 0, ADD, 8, 8, -1ull, "no system call", 0},
        {"offset", WET_SEC_OUTPUTS, 0, ADD, 16, 8, 1, "does not follow", 0},
        {"slot", WET_SEC_THREADS, 0, SET, 4, 4, 512, "out of bounds", 0},
        {"parent", WET_SEC_THREADS, 0, SET, 8, 4, 0, "out of bounds", 0},
        {"flags", WET_SEC_THREADS, 0, SET, 12, 4, 2, "flags", 0},
        {"start", WET_SEC_THREADS, 0, ADD, 16, 8, 1, "otherwise", 0},
        {"end", WET_SEC_THREADS, 0, SET, 24, 8, 1ull << 50, "out of bounds", 0},
        {"ended", WET_SEC_THREADS, 0, ADD, 24, 8, -1ull, "otherwise", 0},
        {"name", WET_SEC_THREADS, 0, SET, 47, 1, 'x', "name", 0},
        {"none", WET_SEC_THREADS, 0, CUT, -48, 48, 0, "no thread", 0},
        {"turn", WET_SEC_TURNS, 0, ADD, 0, 8, 1, "begin", 0},
        {"turn of", WET_SEC_TURNS, 0, SET, 8, 4, 7, "no thread", 0},
        {"turn word", WET_SEC_TURNS, 0, SET, 12, 4, 1, "zero", 0},
        {"turn more", WET_SEC_TURNS, 0, APPEND, 0, 16, 9, "something else", 0},
        {"no turn", WET_SEC_TURNS, 0, CUT, -16, 16, 0, "no turn", 0},
        {"uncertain", WET_SEC_AMBIGUOUS, 0, APPEND, 0, 24, 1, "something else", 0},
        {"uncertain late", WET_SEC_AMBIGUOUS, 0, APPEND, 0, 24, 1ull << 50, "out of order", 0},
        {"jump cut", WET_SEC_JUMPS, 0, CUT, -8, 8, 0, "cut off", 0},
        {"jump order", WET_SEC_JUMPS, 0, APPEND, 0, 16, 0, "out of order", 0},
    };
    ROWS(rows);
}

static void verify_states(void **state)
{
    (void)state;
    struct wet_state_record head;
    memcpy(&head, section_of(WET_SEC_STATE, 1)->bytes.data, sizeof(head));
    const int64_t view = sizeof(head),
                  task = view + (int64_t)(head.view_count * sizeof(struct agt_view));
    const struct row rows[] = {
        {"first", WET_SEC_STATE, 0, APPEND, 0, 8, 0, "before it", 0},
        {"cut", WET_SEC_STATE, 1, CUT, -8, 8, 0, "cut off", 0},
        {"count", WET_SEC_STATE, 1, SET, 0, 8, 1ull << 60, "out of bounds", 0},
        {"page", WET_SEC_STATE, 1, ADD, view, 8, 1, "whole pages", 0},
        {"prot", WET_SEC_STATE, 1, SET, view + 16, 4, 9, "protected", 0},
        {"other prot", WET_SEC_STATE, 1, ADD, view + 16, 4, 2, "ENTRIES before make it", 0},
        {"order", WET_SEC_STATE, 1, SET, view + 56, 8, 4096, "order", 0},
        {"span", WET_SEC_STATE, 1, SET, view, 8, 4096, "SPANS", 0},
        {"object", WET_SEC_STATE, 1, SET, view + 24, 8, 99999, "no object", 0},
        {"place", WET_SEC_STATE, 1, SET, view + 32, 8, 1ull << 40, "no object", 0},
        {"name", WET_SEC_STATE, 1, SET, view + 48, 8, 99999, "NAMES", 0},
        {"running", WET_SEC_STATE, 1, SET, 12, 4, 5, "running", 0},
        {"task", WET_SEC_STATE, 1, SET, task, 4, 600, "task", 0},
        {"xsave", WET_SEC_STATE, 1, SET, task + 4, 4, 1u << 20, "vector state", 0},
        {"more", WET_SEC_STATE, 1, APPEND, 0, 8, 0, "follows", 0},
    };
    ROWS(rows);
}

static void verify_entries_and_counts(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (size_t i = 0; i < here.sections.count; i++) {
        if (here.sections.list[i].kind == WET_SEC_ENTRIES && here.sections.list[i].key > last)
            last = here.sections.list[i].key;
    }
    assert_true(last > 1);
    const int64_t end = -(int64_t)sizeof(struct evq_entry);
    const struct row rows[] = {
        {"time", WET_SEC_ENTRIES, 0, SET, 0, 8, 1ull << 40, "time", 0},
        {"size", WET_SEC_ENTRIES, 0, SET, 8, 4, 7, "", 0},
        {"kind", WET_SEC_ENTRIES, 0, SET, 12, 2, 99, "", 0},
        {"filler", WET_SEC_ENTRIES, 0, SET, 12, 2, EVQ_PAD, "", 0},
        {"task", WET_SEC_ENTRIES, 0, SET, 16, 4, 512, "", 0},
        {"cut", WET_SEC_ENTRIES, 0, CUT, -8, 8, 0, "", 0},
        {"no end", WET_SEC_ENTRIES, last, SET, end + 4, 2, EVQ_OPS, "not the end", 0},
        {"gone", WET_SEC_ENTRIES, last, CUT, -64, 64, 0, "", 0},
        {"count", WET_SEC_COUNTS, 1, SET, -1, 1, 0, "out of bounds", 0},
        {"counts", WET_SEC_COUNTS, 1, CUT, -1, 1, 0, "cut off", 0},
        {"more", WET_SEC_COUNTS, 1, APPEND, 0, 2, 0x0100, "not ascending", 0},
        {"node", WET_SEC_COUNTS, 1, APPEND, 0, 4, 0x01078080ull | 1ull << 24, "", 0},
    };
    ROWS(rows);
}

/* Instructions of an interval are those of its nodes' executions. */
static void verify_counts_add_up(void **state)
{
    (void)state;
    const struct wd_buf *bytes = &section_of(WET_SEC_COUNTS, 1)->bytes;
    uint8_t last = bytes->data[bytes->size_bytes - 1];
    const struct row row = {
        "sum", WET_SEC_COUNTS, 1, SET, -1, 1, last < 100 ? last + 1 : last - 1, "INDEX has", 0};
    rows_check(&row, 1);
}

static void verify_lines(void **state)
{
    (void)state;
    uint64_t count = 0, places, k = 0;
    const struct wd_buf *bytes = NULL;
    while (count < 3) { /* the first interval that wrote as many lines */
        bytes = &section_of(WET_SEC_LINES, ++k)->bytes;
        memcpy(&count, bytes->data, 8);
    }
    memcpy(&places, bytes->data + 8, 8);
    const int64_t masks = 16 + (int64_t)places;
    const struct row rows[] = {
        {"count", WET_SEC_LINES, k, SET, 0, 8, 1ull << 60, "cut off", 0},
        {"places", WET_SEC_LINES, k, SET, 8, 8, 1ull << 60, "cut off", 0},
        {"place", WET_SEC_LINES, k, SET, masks - 1, 1, 0, "", 0},
        {"image", WET_SEC_LINES, k, SET, 16, 8, INT64_MAX, "", 0},
        {"one fewer", WET_SEC_LINES, k, ADD, 0, 8, -1ull, "", 0},
        {"words", WET_SEC_LINES, k, CUT, -8, 8, 0, "cut off", 0},
        {"same", WET_SEC_LINES, k, SET, -8, 8, 0, "did not change", 0},
        {"more", WET_SEC_LINES, k, APPEND, 0, 8, 1, "follows the last word", 0},
    };
    ROWS(rows);
}

/* What only running it again can tell. */
static void verify_deep_finds_registers_that_are_others(void **state)
{
    (void)state;
    struct wet_state_record head;
    memcpy(&head, section_of(WET_SEC_STATE, 1)->bytes.data, sizeof(head));
    const struct row row = {
        "rip",
        WET_SEC_STATE,
        1,
        SET,
        (int64_t)(sizeof(head) + head.view_count * sizeof(struct agt_view) + 8 + EVQ_RIP * 8),
        8,
        4096,
        "run again",
        0};
    struct found found;
    spoil_with(section_of(WET_SEC_STATE, 1), act_row, &row);
    assert_sound(here.changed, false);
    assert_int_equal(look(here.changed, true, &found), 0);
    assert_true(found.count > 0);
    assert_int_equal(found.first.key, 1);
    assert_non_null(strstr(found.first.what, "run again"));
}

static void verify_gap_before_the_table_is_found(void **state)
{
    (void)state;
    size_t count;
    uint8_t *bytes = (uint8_t *)slurp(here.path, &count);
    uint64_t table_off, table_bytes, hash, size = count + 8;
    memcpy(&table_off, bytes + 16, 8);
    memcpy(&table_bytes, bytes + 24, 8);
    uint8_t *wide = calloc(1, size);
    memcpy(wide, bytes, table_off);
    memcpy(wide + table_off + 8, bytes + table_off, table_bytes);
    table_off += 8;
    memcpy(wide + 16, &table_off, 8);
    memcpy(wide + 40, &size, 8);
    hash = XXH64(wide, 48, 0);
    memcpy(wide + 48, &hash, 8);
    unit_write(here.changed, wide, size);
    assert_found("gap", 0, 0, "does not follow");
    free(wide);
    free(bytes);
}

static void verify_flipped_bits_of_a_file_are_noticed(void **state)
{
    (void)state;
    size_t count;
    uint64_t seed = unit_seed("bits of a file");
    uint8_t *bytes = (uint8_t *)slurp(here.path, &count);
    struct found found;
    for (unsigned i = 0; i < FLIPS / 4; i++) {
        size_t at = unit_random(&seed) % count;
        uint8_t bit = (uint8_t)(1u << unit_random(&seed) % 8);
        bytes[at] ^= bit;
        unit_write(here.changed, bytes, count);
        bytes[at] ^= bit;
        int err = look(here.changed, false, &found);
        if (!err && !found.count)
            fail_msg("byte %zu, bit %#x", at, bit);
    }
    free(bytes);
}

static void flip(struct wd_buf *bytes, const void *arg)
{
    uint64_t *seed = *(uint64_t *const *)arg;
    for (unsigned i = 0; bytes->size_bytes && i <= unit_random(seed) % 3; i++) {
        size_t among = unit_random(seed) % 2 && bytes->size_bytes > 64 ? 64 : bytes->size_bytes;
        bytes->data[unit_random(seed) % among] ^= (uint8_t)(1u << unit_random(seed) % 8);
    }
}

/* With correct checksums: found or not, it ends in order. */
static void verify_flipped_bits_of_sections_are_survived(void **state)
{
    (void)state;
    uint64_t seed = unit_seed("bits of sections");
    uint64_t *const at = &seed;
    struct found found;
    unsigned noticed = 0;
    for (unsigned i = 0; i < FLIPS; i++) {
        spoil_with(&here.sections.list[unit_random(&seed) % here.sections.count], flip, &at);
        int err = look(here.changed, false, &found);
        if (err && cli_exit_status(err) != CLI_EXIT_TRACE)
            fail_msg("%s", wetdbg_error(err));
        noticed += err || found.count;
    }
    assert_true(noticed > FLIPS / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verify_sound_file_passes),
        cmocka_unit_test(verify_what_is_no_wet_is_an_error),
        cmocka_unit_test(verify_missing_and_needless_sections_are_found),
        cmocka_unit_test(verify_sections_of_unknown_kinds_pass),
        cmocka_unit_test(verify_description_of_the_run_is_held_against_the_rest),
        cmocka_unit_test(streams_that_are_no_numbers_are_refused),
        cmocka_unit_test(verify_tables_of_the_machine_and_files),
        cmocka_unit_test(verify_nodes),
        cmocka_unit_test(verify_node_that_is_there_twice),
        cmocka_unit_test(verify_objects_and_intervals),
        cmocka_unit_test(verify_outputs_and_threads),
        cmocka_unit_test(verify_states),
        cmocka_unit_test(verify_entries_and_counts),
        cmocka_unit_test(verify_counts_add_up),
        cmocka_unit_test(verify_lines),
        cmocka_unit_test(verify_deep_finds_registers_that_are_others),
        cmocka_unit_test(verify_gap_before_the_table_is_found),
        cmocka_unit_test(verify_flipped_bits_of_a_file_are_noticed),
        cmocka_unit_test(verify_flipped_bits_of_sections_are_survived),
    };
    return cmocka_run_group_tests_name("wetdbg_verify", tests, setup, teardown);
}
