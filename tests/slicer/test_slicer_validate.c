/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scan trusts, broken on purpose: each *_validate() finds it and gives the reason. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "slicer/scan/bypass.h"
#include "slicer/scan/change.h"
#include "slicer/scan/station.h"
#include <wetdbg/errors.h>

static const struct slc_want want = {.distance = 3, .edge = WETDBG_EDGE_VALUE};

static void assert_reason(int err, const char *reason)
{
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    if (!strstr(wetdbg_error(err), reason))
        fail_msg("\"%s\" does not say \"%s\"", wetdbg_error(err), reason);
}

/* One change to `what`, the reason that `call` gives, and all as it was. */
#define BREAK(what, change, call, reason)                                                          \
    do {                                                                                           \
        __typeof__(what) before_ = (what);                                                         \
        change;                                                                                    \
        assert_reason(call, reason);                                                               \
        (what) = before_;                                                                          \
        assert_int_equal(call, 0);                                                                 \
    } while (0)

static void registers(void **unused)
{
    struct slc_regs regs;
    (void)unused;
    assert_int_equal(slc_regs_init(&regs, true), 0);
    slc_regs_add(&regs, INS_LOC_GPR, &want, false);
    slc_regs_add_mask(&regs, INS_LOC_VEC, 1, &want);
    slc_regs_add_mask(&regs, INS_LOC_VEC + 1, SLC_HALF_MASK, &want);
    assert_int_equal(slc_regs_validate(&regs), 0);
    BREAK(regs.value, ins_regset_remove(&regs.value, &regs.narrow), slc_regs_validate(&regs),
          "is narrow and not wanted");
    BREAK(regs.masks[INS_LOC_VEC], regs.masks[INS_LOC_VEC] = 0, slc_regs_validate(&regs),
          "has bytes 0");
    BREAK(regs.masks[INS_LOC_VEC], regs.masks[INS_LOC_VEC] = slc_piece_mask(INS_LOC_VEC),
          slc_regs_validate(&regs), "is narrow and has bytes");
    slc_regs_fini(&regs);
}

static void wanted_memory(void **unused)
{
    struct slc_memory memory;
    (void)unused;
    assert_int_equal(slc_memory_init(&memory, true), 0);
    for (uint64_t i = 0; i < 2000; i++)
        assert_int_equal(slc_memory_add(&memory, i * 5000, 3, &want), 0);
    slc_memory_drop(&memory, 1000, 50000);
    assert_int_equal(slc_memory_mark_slot(&memory, 4096), 0);
    assert_int_equal(slc_memory_validate(&memory), 0);
    struct slc_page *page = slc_page_find(&memory, 0);
    BREAK(memory.word_count, memory.word_count++, slc_memory_validate(&memory), "words and");
    BREAK(memory.slot_count, memory.slot_count--, slc_memory_validate(&memory), "slots");
    BREAK(memory.page_count, memory.page_count++, slc_memory_validate(&memory), "pages were");
    BREAK(memory.capacity, memory.capacity--, slc_memory_validate(&memory), "the table");
    BREAK(page->number, page->number = 1, slc_memory_validate(&memory), "not found by its number");
    BREAK(page->bytes[0], page->bytes[0] |= 8, slc_memory_validate(&memory), "wants bytes 0xf");
    BREAK(page->wants[0][1], page->wants[0][1] = slc_no_want(), slc_memory_validate(&memory),
          "has wants of 0x5");
    BREAK(page->hidden, page->hidden = 1, slc_memory_validate(&memory), "has no log");
    slc_memory_fini(&memory);
}

static void hidden_memory(void **unused)
{
    struct slc_memory memory;
    (void)unused;
    assert_int_equal(slc_memory_init(&memory, false), 0);
    assert_int_equal(slc_memory_add(&memory, 64, 64, &want), 0);
    slc_memory_log(&memory);
    slc_memory_hide(&memory, slc_page_find(&memory, 0), 1, 0xff);
    assert_int_equal(slc_memory_validate(&memory), 0);
    struct slc_page *page = slc_page_find(&memory, 0), other = {0};
    BREAK(*(struct slc_page **)page->log, *(struct slc_page **)page->log = &other,
          slc_memory_validate(&memory), "has no log");
    slc_memory_unhide(&memory);
    assert_int_equal(slc_memory_validate(&memory), 0);
    slc_memory_fini(&memory);
}

static void saved_registers(void **unused)
{
    struct slc_memory memory;
    struct slc_bypass bypass = {0};
    const wetdbg_time refused[] = {5, 7};
    (void)unused;
    assert_int_equal(slc_memory_init(&memory, true), 0);
    assert_int_equal(slc_bypass_know(&bypass, refused, 2), 0);
    assert_int_equal(slc_bypass_wait(&bypass, &memory, 0, 1 << 16 | 0xff, 0x1000, 9), 0);
    assert_int_equal(slc_bypass_wait(&bypass, &memory, 0, 2 << 16 | 0xff, 0x2038, 8), 0);
#define CALL slc_bypass_validate(&bypass, &memory)
    assert_int_equal(CALL, 0);
    BREAK(memory.slot_count, memory.slot_count = 3, CALL, "2 registers wait, and 3 slots");
    BREAK(bypass.saved[0].slot, bypass.saved[0].slot += 4, CALL, "register 1 waits at 0x1004");
    BREAK(bypass.saved[0].slot, bypass.saved[0].slot = 0x2038, CALL, "not its alone");
    BREAK(bypass.saved[1].slot, bypass.saved[1].slot = 0x2040, CALL, "register 2 waits at 0x2040");
    BREAK(bypass.refused[0], bypass.refused[0] = 8, CALL, "refused pop 1");
#undef CALL
    slc_bypass_fini(&bypass);
    slc_memory_fini(&memory);
}

static void stack_frames(void **unused)
{
    struct slc_frames frames;
    struct slc_class classes[3] = {{0}};
    (void)unused;
    assert_int_equal(slc_frames_init(&frames), 0);
    assert_int_equal(slc_frames_demand(&frames, classes, 1, &want), 0);
    assert_int_equal(slc_frames_pass_return(&frames, 0x1000), 0);
    assert_int_equal(slc_frames_demand(&frames, classes, 1, &want), 0);
    assert_int_equal(slc_frames_demand(&frames, classes, 2, &want), 0);
#define CALL slc_frames_validate(&frames, 3)
    assert_int_equal(CALL, 0);
    assert_int_equal(frames.count, 2);
    BREAK(frames.count, frames.count = 0, CALL, "no frame");
    BREAK(frames.frames[0].first, frames.frames[0].first = 1, CALL, "demands that are of none");
    BREAK(frames.frames[1].first, frames.frames[1].first = 9, CALL, "demands 0 to 9 of 3");
    BREAK(frames.demand_count, frames.demand_count = 0, CALL, "frame 0 has demands");
    BREAK(frames.demands[2].klass, frames.demands[2].klass = 1, CALL, "waits for class 1 twice");
    BREAK(frames.demands[0].klass, frames.demands[0].klass = 3, CALL, "waits for class 3 of 3");
    BREAK(frames.frames[1].kind, frames.frames[1].kind = 9, CALL, "frame 1 of kind 9");
#undef CALL
    slc_frames_fini(&frames);
}

/* Two pages, of which three words and one. */
struct print {
    struct slc_footprint_page pages[2];
    uint64_t masks[4];
    struct slc_footprint is;
};

static void print_make(struct print *print)
{
    *print = (struct print){.pages = {{.number = 4, .groups = 0x8000000000000005},
                                      {.number = 9, .groups = 2, .first = 3}},
                            .masks = {0xff, 1, 0xff00, UINT64_MAX}};
    print->is = (struct slc_footprint){
        .page_count = 2, .word_count = 4, .pages = print->pages, .masks = print->masks};
}

static void footprints(void **unused)
{
    struct print print;
    (void)unused;
    print_make(&print);
#define CALL slc_footprint_validate(&print.is)
    assert_int_equal(CALL, 0);
    BREAK(print.pages[1].number, print.pages[1].number = 4, CALL, "page 1 of a footprint is not");
    BREAK(print.pages[1].first, print.pages[1].first = 2, CALL, "masks from 2 on, and not 3");
    BREAK(print.pages[0].groups, print.pages[0].groups = 0, CALL, "page 0 of a footprint has");
    BREAK(print.is.word_count, print.is.word_count = 5, CALL, "5 words, and not 4");
    BREAK(print.masks[3], print.masks[3] = 0, CALL, "word 3 of a footprint has no bytes");
#undef CALL
}

static void changes(void **unused)
{
    struct print print;
    struct slc_word before[] = {{.bytes = 3, .page = 0, .group = 0},
                                {.bytes = 1, .page = 0, .group = 2},
                                {.bytes = 8, .page = 1, .group = 1, .slots = 1}};
    struct slc_word after[] = {{.bytes = 0x1000, .page = 0, .group = 0}};
    struct slc_addition additions[] = {{.number = 4, .groups = 2},
                                       {.number = 7, .groups = 3, .first = 1}};
    uint64_t added[] = {1, 2, 3};
    struct slc_change change = {.before = {before, 3, 3},
                                .after = {after, 1, 1},
                                .additions = additions,
                                .addition_count = 2,
                                .added = added,
                                .added_count = 3};
    (void)unused;
    print_make(&print);
#define CALL slc_change_validate(&change, &print.is)
    assert_int_equal(CALL, 0);
    BREAK(before[1].group, before[1].group = 3, CALL, "word 1 of a change is not in the footprint");
    BREAK(before[2].page, before[2].page = 2, CALL, "word 2 of a change is not in the footprint");
    BREAK(before[1].group, before[1].group = 0, CALL, "word 1 of a change is not sorted");
    BREAK(before[0].bytes, before[0].bytes = 0x100, CALL, "word 0 of a change wants");
    BREAK(after[0].bytes, after[0].bytes = 0, CALL, "word 0 of a change wants nothing");
    BREAK(before[0].slots, before[0].slots = 2, CALL, "what the stretch leaves");
    BREAK(additions[0].groups, additions[0].groups = 1, CALL, "addition 0 of a change lies in");
    BREAK(additions[1].first, additions[1].first = 0, CALL, "addition 1 of a change");
    BREAK(change.added_count, change.added_count = 2, CALL, "adds 2 words, and not 3");
#undef CALL
}

static struct slc_stretch *stretch_new(struct wetdbg_slice_session *session,
                                       struct slc_station *station)
{
    struct slc_stretch *stretch = calloc(1, sizeof(*stretch));
    assert_non_null(stretch);
    stretch->bytes = sizeof(*stretch);
    slc_station_keep(session, station, stretch);
    return stretch;
}

static void stretches(void **unused)
{
    struct print print;
    struct wetdbg_slice_session session = {0};
    struct slc_station station = {.end_exec = 1};
    (void)unused;
    print_make(&print);
    station.footprint = &print.is;
    struct slc_stretch *older = stretch_new(&session, &station);
    struct slc_stretch *newer = stretch_new(&session, &station);
#define CALL slc_stations_validate(&session)
    assert_int_equal(CALL, 0);
    BREAK(session.stretch_bytes, session.stretch_bytes++, CALL, "were counted");
    BREAK(session.oldest, session.oldest = newer, CALL, "the oldest stretch is not");
    BREAK(older->newer, older->newer = NULL, CALL, "not in its lists");
    BREAK(newer->link, newer->link = &newer->next, CALL, "not in its lists");
    BREAK(station.footprint, station.footprint = NULL, CALL, "without a footprint");
    BREAK(station.end_exec, station.end_exec = 0, CALL, "has no station");
    BREAK(older->lowest, older->lowest = 1, CALL, "leaves 1 frames of 0");
    BREAK(older->frames_after.class_count, older->frames_after.class_count = 1, CALL,
          "wait for 1 classes, and not 0");
    BREAK(older->memory.added_count, older->memory.added_count = 1, CALL, "a change adds");
#undef CALL
    station.footprint = NULL;
    slc_stretch_free(older);
    slc_stretch_free(newer);
}

static void memos(void **unused)
{
    const struct wet_node wet = {.slot_count = 2};
    const struct slc_node node = {.statement_count = 3, .wet = &wet};
    struct slc_step steps[] = {{.statement = 2, .slot = 1, .kind = SLC_STEP_POP},
                               {.statement = 0, .slot = 0, .kind = SLC_STEP_WANT}};
    struct slc_meeting meetings[] = {{.store_slot = 0, .slot = 1}};
    uint32_t classes[] = {0, 4};
    struct slc_memo *memo = calloc(1, sizeof(*memo));
    (void)unused;
    assert_non_null(memo);
    *memo = (struct slc_memo){.members = 5,
                              .node = &node,
                              .step_count = 2,
                              .meeting_count = 1,
                              .class_count = 2,
                              .pop_count = 1,
                              .steps = steps,
                              .meetings = meetings,
                              .classes = classes};
#define CALL slc_memo_validate(memo, 5)
    assert_int_equal(CALL, 0);
    BREAK(memo->members, memo->members = 8, CALL, "members 0x8 of 3 statements");
    BREAK(steps[1].statement, steps[1].statement = 3, CALL, "step 1 of a memo");
    BREAK(steps[0].slot, steps[0].slot = 2, CALL, "step 0 of a memo is of statement 2 and slot 2");
    BREAK(steps[0].kind, steps[0].kind = 7, CALL, "step 0 of a memo");
    BREAK(memo->pop_count, memo->pop_count = 0, CALL, "has 0 pops, and not 1");
    BREAK(meetings[0].slot, meetings[0].slot = 2, CALL, "meeting 0 of a memo");
    BREAK(classes[1], classes[1] = 5, CALL, "waits for class 5 of 5");
#undef CALL
    free(memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(registers),     cmocka_unit_test(wanted_memory),
        cmocka_unit_test(hidden_memory), cmocka_unit_test(saved_registers),
        cmocka_unit_test(stack_frames),  cmocka_unit_test(footprints),
        cmocka_unit_test(changes),       cmocka_unit_test(stretches),
        cmocka_unit_test(memos),
    };
    return cmocka_run_group_tests_name("validate", tests, NULL, NULL);
}
