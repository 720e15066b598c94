/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file made on a processor with more vector state than this one has: what needs no run is
 * answered; what does is, if the run used nothing of it, and else says what is missing, and what to
 * do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/feed/feed_xsave.h"
#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include "wet/trace/records.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

enum { INTERVAL = 10000, MORE_BYTES = 64 };

static struct good_wet here;
static struct feed_xsave_layout layout; /* of this processor */
static unsigned lacking;                /* a component that it does not have */

static void ok(int err)
{
    if (err)
        fail_msg("%s", wetdbg_error(err));
}

/* ---- the file ---- */

static void bytes_insert(struct wd_buf *buf, size_t at, size_t count)
{
    assert_int_equal(wd_buf_append_zeros(buf, count), 0);
    memmove(buf->data + at + count, buf->data + at, buf->size_bytes - count - at);
    memset(buf->data + at, 0, count);
}

/* The image at `at` gets a component more, of zeros or of something. */
static void image_enlarge(struct wd_buf *buf, size_t at, uint64_t bytes, bool is_used)
{
    uint64_t used;
    memcpy(&used, buf->data + at + FEED_XSAVE_LEGACY_BYTES, sizeof(used));
    used |= UINT64_C(1) << lacking;
    memcpy(buf->data + at + FEED_XSAVE_LEGACY_BYTES, &used, sizeof(used));
    bytes_insert(buf, at + bytes, MORE_BYTES);
    buf->data[at + bytes] = is_used;
}

static unsigned state_enlarge(struct wd_buf *state, bool is_used)
{
    struct wet_state_record head;
    if (!state->size_bytes)
        return 0;
    memcpy(&head, state->data, sizeof(head));
    size_t at = sizeof(head) + head.view_count * sizeof(struct agt_view);
    for (uint32_t i = 0; i < head.task_count; i++) {
        struct wet_task_record *task = (struct wet_task_record *)(state->data + at);
        uint32_t bytes = task->xsave_bytes;
        task->xsave_bytes += MORE_BYTES;
        image_enlarge(state, at + sizeof(*task), bytes, is_used);
        at += sizeof(*task) + bytes + MORE_BYTES;
        at += -at & 7;
    }
    return head.task_count;
}

static unsigned entries_enlarge(struct wd_buf *entries, bool is_used)
{
    unsigned count = 0;
    size_t at = 0, op_at, entry_at;
    for (; at < entries->size_bytes;
         at = entry_at + ((struct evq_entry *)(entries->data + entry_at))->bytes) {
        entry_at = at + sizeof(struct wet_entry_record);
        for (const struct evq_op *op = NULL;
             (op = evq_op_next((struct evq_entry *)(entries->data + entry_at), op));) {
            if (op->op != EVQ_OP_XSTATE)
                continue;
            op_at = (size_t)((const uint8_t *)op - entries->data);
            image_enlarge(entries, op_at + sizeof(*op), op->xstate.size, is_used);
            ((struct evq_entry *)(entries->data + entry_at))->bytes += MORE_BYTES;
            struct evq_op *larger = (struct evq_op *)(entries->data + op_at);
            larger->bytes += MORE_BYTES;
            larger->xstate.size += MORE_BYTES;
            op = larger;
            count++;
        }
    }
    return count;
}

/* The recording's CPUID tells of it: where it is, and how long an image then is. */
static void layout_tell(struct wd_buf *cpu)
{
    struct agt_cpuid *records = (struct agt_cpuid *)cpu->data;
    size_t count = cpu->size_bytes / sizeof(*records), own = count;
    bool is_told = false;
    for (size_t i = 0; i < count; i++) {
        if (records[i].eax_in != 0xd)
            continue;
        if (records[i].ecx_in == 0) {
            records[i].ebx += MORE_BYTES;
            is_told = true;
        }
        if (records[i].ecx_in == lacking)
            own = i;
    }
    assert_true(is_told);
    if (own == count)
        assert_int_equal(wd_buf_append_zeros(cpu, sizeof(*records)), 0);
    records = (struct agt_cpuid *)cpu->data;
    records[own] = (struct agt_cpuid){
        .eax_in = 0xd, .ecx_in = lacking, .eax = MORE_BYTES, .ebx = layout.size_bytes};
}

/* As it may be: not even told of, never used, or used. */
enum kind { UNTOLD, UNUSED, USED };

static void file_make(enum kind kind)
{
    struct unit_sections sections;
    unsigned states = 0, entries = 0;
    unit_sections_load(&sections, here.path);
    for (size_t i = 0; i < sections.count; i++) {
        struct unit_section *section = &sections.list[i];
        if (section->kind == WET_SEC_STATE)
            states += state_enlarge(&section->bytes, kind == USED);
        else if (section->kind == WET_SEC_ENTRIES)
            entries += entries_enlarge(&section->bytes, kind == USED);
        else if (section->kind == WET_SEC_CPU && kind != UNTOLD)
            layout_tell(&section->bytes);
    }
    assert_true(states > 1 && entries > 0);
    unit_sections_store(&sections, here.changed, SIZE_MAX);
    unit_sections_fini(&sections);
}

static int setup(void **state)
{
    (void)state;
    good_wet_make(&here, PROGRAM, INTERVAL, "other.wet");
    assert_int_equal(feed_xsave_layout_here(&layout), 0);
    lacking = layout.xcr0 >> 9 & 1 ? layout.xcr0 >> 17 & 1 ? 62 : 17 : 9;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    good_wet_fini(&here);
    return 0;
}

/* ---- what it answers ---- */

static int event_count(void *arg, const struct wet_event *event)
{
    (void)event;
    ++*(uint64_t *)arg;
    return 0;
}

static uint64_t events_of(const char *path)
{
    uint64_t count = 0;
    struct wetdbg *wet;
    assert_int_equal(wetdbg_open(path, &wet), 0);
    assert_int_equal(wet_each_entry(wet, event_count, &count), 0);
    wetdbg_close(wet);
    return count;
}

static void questions_without_a_run_are_answered(void **state)
{
    uint64_t events = events_of(here.path);
    (void)state;
    assert_true(events > 0);
    for (enum kind kind = UNTOLD; kind <= USED; kind++) {
        struct wetdbg *wet;
        size_t outputs, threads;
        file_make(kind);
        assert_int_equal(events_of(here.changed), events);
        assert_int_equal(wetdbg_open(here.changed, &wet), 0);
        assert_true(wetdbg_get_info(wet)->instructions > 0);
        assert_non_null(wetdbg_get_model(wet));
        assert_non_null(wetdbg_outputs(wet, &outputs));
        assert_non_null(wetdbg_threads(wet, &threads));
        assert_true(outputs > 0 && threads > 0);
        wetdbg_close(wet);
    }
}

static const wetdbg_time times[] = {100, 3 * INTERVAL};

static struct evq_regs regs_at(const char *path, wetdbg_time time)
{
    struct wetdbg *wet;
    struct wetdbg_state *at;
    ok(wetdbg_open(path, &wet));
    ok(wetdbg_state_open(wet, time, &at));
    struct evq_regs regs = *wet_state_regs(at);
    wetdbg_state_close(at);
    wetdbg_close(wet);
    return regs;
}

static void what_was_never_used_is_not_missed(void **state)
{
    (void)state;
    file_make(UNUSED);
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        struct evq_regs native = regs_at(here.path, times[i]);
        struct evq_regs other = regs_at(here.changed, times[i]);
        assert_memory_equal(&native, &other, sizeof(native));
    }
}

static void assert_runs_are_refused(const char *const parts[], size_t part_count)
{
    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        struct wetdbg *wet;
        struct wetdbg_state *at = NULL;
        ok(wetdbg_open(here.changed, &wet));
        int err = wetdbg_state_open(wet, times[i], &at);
        assert_int_equal(err, -WETDBG_ERR_UNSUPPORTED);
        for (size_t p = 0; p < part_count; p++)
            if (!strstr(wetdbg_error(err), parts[p]))
                fail_msg("no \"%s\" in: %s", parts[p], wetdbg_error(err));
        wetdbg_close(wet);
    }
}

static void what_was_used_is_named(void **state)
{
    const char *const parts[] = {here.changed, feed_xsave_component(lacking),
                                 "this processor does not have", "replay it where it is"};
    (void)state;
    file_make(USED);
    assert_runs_are_refused(parts, sizeof(parts) / sizeof(*parts));
}

static void other_sizes_are_named(void **state)
{
    char here_bytes[32], there_bytes[32];
    const char *const parts[] = {here.changed, here_bytes, there_bytes, "cannot be run here",
                                 "wetdbg replay"};
    (void)state;
    snprintf(here_bytes, sizeof(here_bytes), "%u", layout.size_bytes);
    snprintf(there_bytes, sizeof(there_bytes), "%u", layout.size_bytes + MORE_BYTES);
    file_make(UNTOLD);
    assert_runs_are_refused(parts, sizeof(parts) / sizeof(*parts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_without_a_run_are_answered),
        cmocka_unit_test(what_was_never_used_is_not_missed),
        cmocka_unit_test(what_was_used_is_named),
        cmocka_unit_test(other_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
