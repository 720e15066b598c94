/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs with threads and asynchronous signals: intervals that begin inside threads and handlers
 * reproduce themselves, whose instructions are whose, and slices across threads and handlers.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "recorder/event/ops.h"
#include "slicer/slicer.h"
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include "wet/store/store.h"
#include "wet/trace/records.h"
#include <wetdbg/errors.h>

#define SHORT  9000
#define LONGER 700000 /* for runs of millions */
#define TIMES  12

RUN_CUT(run_tls, SHORT, PROGRAMS "/thread_tls_O0_static")
RUN_CUT(run_queue, SHORT, PROGRAMS "/thread_queue_O2_pie")
RUN_CUT(run_altstack, SHORT, PROGRAMS "/signal_altstack_O0_static")
RUN_CUT(run_nested, SHORT, PROGRAMS "/signal_nested_O0_static")
RUN_CUT(run_culprit, SHORT, CULPRIT)
RUN_CUT(run_alarmed, LONGER, ALARMED)

/* One whose signal came while the program computed: in some recordings each meets a system call. */
static int run_placed(void **state)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        if (run_alarmed(state))
            return -1;
        if (wetdbg_get_info(((const struct fixture *)*state)->cut)->places)
            return 0;
        fixture_close(state);
    }
    return -1;
}

/* ---- instructions ---- */

struct instruction {
    uint64_t pc;
    uint32_t task;
    uint64_t slots; /* hash */
};

/* By time. Nodes may be cut otherwise in another run of the same interval, instructions not. */
/* Of the slot that tells TOP the other bits depend on where the node begins. */
static uint64_t meaning_of(const struct wet_statement *statement, uint32_t slot)
{
    const struct ins_info *info = statement->info;

    return info->choice.kind == INS_CHOICE_TOP && slot == info->mem_count ? 0x3800 : UINT64_MAX;
}

static struct instruction *instructions_of(struct wetdbg *wet)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct instruction *all = calloc(info->instructions + 2, sizeof(*all));
    wetdbg_time time = 1;
    for (uint64_t k = 0; k < info->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(wet, k, &interval));
        for (size_t i = 0; i < interval->exec_count; i++) {
            const struct wet_exec *exec = &interval->execs[i];
            const struct wet_node *node = wet_get_node(wet, exec->node);
            assert_int_equal(interval->first_time + exec->time_off, time);
            for (uint32_t s = 0; s < node->statement_count; s++, time++) {
                const struct wet_statement *statement = &node->statements[s];
                uint64_t hash = 1;
                for (uint32_t n = 0; n < statement->slot_count; n++)
                    hash = hash * 0x9e3779b97f4a7c15ull +
                           (interval->slots[exec->slot_off + statement->slot + n] &
                            meaning_of(statement, n));
                all[time] = (struct instruction){statement->pc, exec->task, hash};
            }
        }
        wet_interval_put(wet, interval);
    }
    assert_int_equal(time, info->instructions + 1);
    return all;
}

static void assert_same(const struct instruction *a, const struct instruction *b, uint64_t count)
{
    for (uint64_t t = 1; t <= count; t++) {
        if (a[t].pc != b[t].pc || a[t].task != b[t].task || a[t].slots != b[t].slots)
            fail_msg("time %llu: %#llx of task %u, %#llx of task %u", (unsigned long long)t,
                     (unsigned long long)a[t].pc, a[t].task, (unsigned long long)b[t].pc,
                     b[t].task);
    }
}

static void states_are_those_of_instructions(struct wetdbg *wet, const struct instruction *all)
{
    uint64_t count = wetdbg_get_info(wet)->instructions, seed = unit_seed("times");
    for (unsigned i = 0; i < TIMES; i++) {
        wetdbg_time time = 1 + unit_random(&seed) % count;
        struct wetdbg_state *state;
        ok(wetdbg_state_open(wet, time, &state));
        assert_int_equal(wet_state_regs(state)->r[EVQ_RIP], all[time].pc);
        assert_int_equal(wetdbg_state_task(state), all[time].task);
        wetdbg_state_close(state);
    }
}

static void threads_are_those_of_instructions(struct wetdbg *wet, const struct instruction *all)
{
    size_t count;
    uint64_t total = wetdbg_get_info(wet)->instructions;
    const struct wetdbg_thread *threads = wetdbg_threads(wet, &count);
    uint64_t *executed = calloc(count, sizeof(*executed));
    assert_int_equal(count, wetdbg_get_info(wet)->threads);
    for (wetdbg_time t = 1; t <= total; t++) {
        const struct wetdbg_thread *thread = wetdbg_thread_at(wet, t);
        assert_non_null(thread);
        assert_int_equal(thread->task, all[t].task);
        assert_ptr_equal(wetdbg_thread_of(wet, all[t].task, t), thread);
        assert_in_range(t, thread->start, thread->end);
        executed[thread->index]++;
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(executed[i], threads[i].instructions);
        assert_true(threads[i].tid > 0);
        assert_true(!threads[i].parent == (i == 0));
    }
    assert_null(wetdbg_thread_at(wet, 0));
    assert_null(wetdbg_thread_at(wet, total + 1));
    free(executed);
}

static void short_intervals_hold_the_same_instructions(void **state)
{
    const struct fixture *fixture = *state;
    struct instruction *whole = instructions_of(fixture->whole);
    struct instruction *cut = instructions_of(fixture->cut);
    uint64_t count = wetdbg_get_info(fixture->whole)->instructions;
    assert_int_equal(count, wetdbg_get_info(fixture->cut)->instructions);
    assert_true(wetdbg_get_info(fixture->cut)->intervals > 3);
    assert_same(whole, cut, count);
    free(cut);
    cut = instructions_of(fixture->cut); /* walked back to the first one, and again */
    assert_same(whole, cut, count);
    threads_are_those_of_instructions(fixture->whole, whole);
    threads_are_those_of_instructions(fixture->cut, cut);
    states_are_those_of_instructions(fixture->cut, cut);
    states_are_those_of_instructions(fixture->whole, whole);
    free(whole);
    free(cut);
}

static int count_place(void *arg, const struct wet_event *event)
{
    const struct evq_place *place = evq_entry_place(event->entry);
    uint64_t *places = arg;
    if (event->entry->kind != EVQ_PLACE)
        return 0;
    assert_non_null(place);
    assert_true(place->flags & EVQ_PLACE_TIME);
    assert_int_equal(place->time, event->time);
    *places += !(place->flags & EVQ_PLACE_HERE);
    return 0;
}

static void places_are_kept_with_their_times(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t places = 0;
    size_t count;
    ok(wet_each_entry(fixture->cut, count_place, &places));
    assert_int_equal(places, wetdbg_get_info(fixture->cut)->places);
    assert_true(places > 0);
    wetdbg_ambiguous_events(fixture->cut, &count);
    assert_true(count <= places);
    assert_int_equal(count, wetdbg_get_info(fixture->cut)->ambiguous);
}

/* ---- slices ---- */

static unsigned line_of(const char *source, const char *mark)
{
    char text[512];
    unsigned line = 0, found = 0;
    FILE *file = fopen(source, "re");
    assert_non_null(file);
    while (!found && fgets(text, sizeof(text), file)) {
        line++;
        if (strstr(text, mark))
            found = line;
    }
    fclose(file);
    assert_true(found > 0);
    return found;
}

static struct wetdbg_slice *slice_of(struct wetdbg *wet, const char *text, bool parents,
                                     struct wetdbg_criterion **criterion)
{
    struct wetdbg_slice_options options = {.record_parents = parents};
    struct wetdbg_slice *slice;
    ok(wetdbg_criterion_parse(wet, text, NULL, criterion));
    ok(wetdbg_slice_backward(wet, *criterion, &options, &slice));
    return slice;
}

static size_t index_of_line(const struct wetdbg_slice *slice, const char *file, unsigned line)
{
    size_t count, i;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    for (i = 0; i < count; i++) {
        const char *base = lines[i].file ? strrchr(lines[i].file, '/') : NULL;
        if (base && !strcmp(base + 1, file) && lines[i].line == line)
            return i;
    }
    fail_msg("%s:%u is not in the slice", file, line);
    return 0;
}

struct named {
    const struct wetdbg_slice *slice;
    const char *name;
    unsigned count;
};

static int check_name(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct named *named = arg;
    const struct wetdbg_thread *thread = wetdbg_slice_instance_thread(named->slice, instance);
    assert_non_null(thread);
    assert_string_equal(thread->name, named->name);
    named->count++;
    return 0;
}

static void assert_line_is_thread(const struct wetdbg_slice *slice, const char *file, unsigned line,
                                  const char *name)
{
    struct named named = {slice, name, 0};
    size_t at = index_of_line(slice, file, line);
    ok(wetdbg_slice_each_line_instance(slice, at, check_name, &named));
    assert_true(named.count > 0);
}

static void slice_of_a_crash_holds_what_the_other_thread_computed(void **state)
{
    const struct fixture *fixture = *state;
    unsigned wrong = line_of(SOURCES "/culprit.c", "/* WRONG */");
    unsigned crash = line_of(SOURCES "/culprit.c", "/* CRASH */");
    struct wetdbg *wets[] = {fixture->whole, fixture->cut};
    for (unsigned i = 0; i < 4; i++) {
        struct wetdbg_criterion *criterion;
        struct wetdbg_slice *slice = slice_of(wets[i % 2], "crash", i < 2, &criterion);
        assert_line_is_thread(slice, "culprit.c", wrong, "wrong");
        assert_line_is_thread(slice, "culprit.c", crash, "victim");
        if (i < 2) {
            struct wetdbg_slice_path *path;
            ok(wetdbg_slice_path_to_line(slice, index_of_line(slice, "culprit.c", wrong), &path));
            assert_true(path->count > 2);
            wetdbg_slice_path_free(path);
        }
        wetdbg_slice_free(slice);
        wetdbg_criterion_free(criterion);
    }
    assert_int_equal(wetdbg_get_info(fixture->whole)->signal, SIGSEGV);
    assert_int_equal(wetdbg_get_info(fixture->whole)->threads, 3);
}

static void slice_of_an_exit_holds_what_the_handler_did(void **state)
{
    const struct fixture *fixture = *state;
    unsigned handler = line_of(SOURCES "/alarmed.c", "/* HANDLER */");
    struct wetdbg *wets[] = {fixture->whole, fixture->cut};
    assert_true(WIFEXITED(fixture->run.status));
    for (unsigned i = 0; i < 4; i++) {
        struct wetdbg_criterion *criterion;
        struct wetdbg_slice *slice = slice_of(wets[i % 2], "exit", i < 2, &criterion);
        index_of_line(slice, "alarmed.c", handler);
        index_of_line(slice, "alarmed.c", line_of(SOURCES "/alarmed.c", "x * 1664525"));
        wetdbg_slice_free(slice);
        wetdbg_criterion_free(criterion);
    }
}

/* ---- a table that says otherwise ---- */

/* The first refusal of any interval, or 0. */
static int intervals_read(const char *path)
{
    struct wetdbg *wet;
    const struct wet_interval *interval;
    int err = 0;
    ok(wetdbg_open(path, &wet));
    for (uint64_t k = 0; !err && k < wetdbg_get_info(wet)->intervals; k++)
        err = wet_interval_get(wet, k, &interval);
    wetdbg_close(wet);
    return err;
}

/* The file with one change of its turns, and with right checksums, is refused for its turns. */
struct turned {
    struct unit_sections sections;
    struct wet_turn_record *turns;
    size_t count;
};

static void turned_load(struct turned *turned, const struct fixture *fixture)
{
    unit_sections_load(&turned->sections, fixture->short_path);
    struct wd_buf *bytes = &unit_section_find(&turned->sections, WET_SEC_TURNS, 0)->bytes;
    turned->turns = (struct wet_turn_record *)bytes->data;
    turned->count = bytes->size_bytes / sizeof(*turned->turns);
}

static uint64_t interval_first(struct turned *turned, uint64_t k)
{
    const struct unit_section *index = unit_section_find(&turned->sections, WET_SEC_INDEX, 0);
    return ((const struct wet_index_record *)index->bytes.data)[k].first_time;
}

/* By the interval that holds the first changed instruction: no earlier one is wrong, and that one
 * is not shown. */
static void assert_turns_are_refused(struct turned *turned, const struct fixture *fixture,
                                     wetdbg_time first)
{
    char *path = unit_path(fixture->run.dir, "turns.wet"), expected[64];
    snprintf(expected, sizeof(expected), "they disagree, of interval %llu",
             (unsigned long long)wetdbg_interval_at(fixture->cut, first));
    unit_sections_store(&turned->sections, path, SIZE_MAX);
    unit_sections_fini(&turned->sections);
    int err = intervals_read(path);
    const char *message = err ? wetdbg_error(err) : "it was taken";
    const char *found = strstr(message, expected);
    if (err != -WETDBG_ERR_CORRUPT || !found || found[strlen(expected)])
        fail_msg("%s, not \"%s\"", message, expected);
    free(path);
}

/* A thread in another slot. */
static uint32_t other_thread(const struct fixture *fixture, uint32_t thread)
{
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(fixture->cut, &count);
    uint32_t other = thread;
    do
        other = (other + 1) % (uint32_t)count;
    while (threads[other].task == threads[thread].task && other != thread);
    assert_int_not_equal(other, thread);
    return other;
}

/* Each turn is one of some other thread's, or begins some instructions later. */
static void turns_that_entries_do_not_make_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct turned turned;
    assert_int_equal(intervals_read(fixture->short_path), 0);
    for (unsigned way = 0; way < 2; way++) {
        turned_load(&turned, fixture);
        assert_true(turned.count > 4);
        struct wet_turn_record *turn = &turned.turns[turned.count / 2];
        if (way == 0)
            turn->thread = other_thread(fixture, turn->thread);
        else
            turn->first_time = (turn->first_time + turn[-1].first_time) / 2;
        assert_turns_are_refused(&turned, fixture, turn->first_time);
    }
}

/*
 * The instructions after an interval's last entry are no entry's of that interval, and a run of
 * another thread's in their place shows only by chance that they are not what was. The table is
 * wrong of one of them, and of what comes next: a turn begins right before an interval's end, and
 * not where it did, in the next one.
 */
static void turns_after_the_last_entry_are_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct turned turned;
    unsigned tried = 0;
    size_t count = 2;
    for (size_t i = 1; i < count && tried < 4; i++) {
        turned_load(&turned, fixture);
        count = turned.count;
        struct wet_turn_record *turn = &turned.turns[i];
        uint64_t k = wetdbg_interval_at(fixture->cut, turn->first_time);
        uint64_t last = interval_first(&turned, k) - 1;
        if (k && last > turn[-1].first_time && last + 1 < turn->first_time) {
            turn->first_time = last;
            tried++;
            assert_turns_are_refused(&turned, fixture, last);
        } else {
            unit_sections_fini(&turned.sections);
        }
    }
    assert_true(tried > 0);
}

int main(void)
{
#define CASE(name, run)                                                                            \
    {                                                                                              \
#name " (" #run ")", name, run, fixture_close, NULL                                        \
    }
    const struct CMUnitTest tests[] = {
        CASE(short_intervals_hold_the_same_instructions, run_tls),
        CASE(short_intervals_hold_the_same_instructions, run_queue),
        CASE(short_intervals_hold_the_same_instructions, run_altstack),
        CASE(short_intervals_hold_the_same_instructions, run_nested),
        CASE(turns_that_entries_do_not_make_are_refused, run_queue),
        CASE(turns_after_the_last_entry_are_refused, run_queue),
        CASE(places_are_kept_with_their_times, run_placed),
        CASE(slice_of_a_crash_holds_what_the_other_thread_computed, run_culprit),
        CASE(slice_of_an_exit_holds_what_the_handler_did, run_alarmed),
    };
    return cmocka_run_group_tests_name("wetdbg_threads", tests, NULL, NULL);
}
