/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of instances: put together they hold what their members say; as slices they have the lines
 * of these; and files of them come back as they were, or not at all. Argument: a program. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/slicer/runs.h"
#include <wetdbg/errors.h>
#include <wetdbg/set.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

struct fixture {
    struct wetdbg *wet;
    uint64_t steps;
    struct wetdbg_criterion *source, *target;
    struct wetdbg_slice *forward, *backward;
    struct wetdbg_set *a, *b;
    char path[64];
};

static char *program;

static int set_up(void **state)
{
    static struct fixture f;
    const struct run_kind kind = {0};
    const struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};

    f.wet = run_program(&kind, program, 1);
    f.steps = wetdbg_get_info(f.wet)->instructions;
    snprintf(f.path, sizeof(f.path), "sets-%d", (int)getpid());
    *state = &f;
    if (slc_criterion_of_places(f.wet, f.steps / 2, NULL, 0, 0, &f.source) ||
        wetdbg_slice_forward(f.wet, f.source, &options, &f.forward))
        return -1;
    wetdbg_time last = f.steps;
    while (last > 1 && !wetdbg_slice_contains_time(f.forward, last))
        last--;
    return slc_criterion_of_places(f.wet, last, NULL, 0, 0, &f.target) ||
           wetdbg_slice_backward(f.wet, f.target, &options, &f.backward) ||
           wetdbg_set_of_slice(f.forward, &f.a) || wetdbg_set_of_slice(f.backward, &f.b);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->path);
    wetdbg_set_free(f->a);
    wetdbg_set_free(f->b);
    wetdbg_slice_free(f->forward);
    wetdbg_slice_free(f->backward);
    wetdbg_criterion_free(f->source);
    wetdbg_criterion_free(f->target);
    wetdbg_close(f->wet);
    return 0;
}

static bool holds(enum wetdbg_set_operation operation, bool a, bool b)
{
    return operation == WETDBG_SET_AND ? a && b : operation == WETDBG_SET_OR ? a || b : a && !b;
}

static void sets_hold_what_their_members_say(void **state)
{
    struct fixture *f = *state;
    uint64_t in_both = 0;

    assert_int_equal(wetdbg_set_count(f->a), wetdbg_slice_get_counts(f->forward)->instances);
    assert_int_equal(wetdbg_set_count(f->b), wetdbg_slice_get_counts(f->backward)->instances);
    for (int operation = WETDBG_SET_AND; operation <= WETDBG_SET_MINUS; operation++) {
        struct wetdbg_set *set;
        uint64_t count = 0;
        assert_int_equal(wetdbg_set_combine(f->a, (enum wetdbg_set_operation)operation, f->b, &set),
                         0);
        for (wetdbg_time t = 1; t <= f->steps; t++) {
            bool a = wetdbg_slice_contains_time(f->forward, t);
            bool b = wetdbg_slice_contains_time(f->backward, t);
            bool is_in = holds((enum wetdbg_set_operation)operation, a, b);
            in_both += a && b;
            count += is_in;
            assert_int_equal(wetdbg_set_contains_time(set, t), is_in);
        }
        assert_int_equal(wetdbg_set_count(set), count);
        assert_false(wetdbg_set_contains_time(set, 0));
        assert_false(wetdbg_set_contains_time(set, f->steps + 2));
        wetdbg_set_free(set);
    }
    assert_true(in_both > 0);
}

static void a_set_as_a_slice_has_the_lines_of_its_own(void **state)
{
    struct fixture *f = *state;
    const struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL};
    struct wetdbg_slice *slice;
    size_t count, expected_count;

    assert_int_equal(wetdbg_slice_of_set(f->b, &options, &slice), 0);
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    const struct wetdbg_slice_line *expected = wetdbg_slice_lines(f->backward, &expected_count);
    assert_int_equal(count, expected_count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(lines[i].function, expected[i].function);
        assert_int_equal(lines[i].line, expected[i].line);
        assert_int_equal(lines[i].instances, expected[i].instances);
        assert_int_equal(lines[i].statements, expected[i].statements);
        assert_int_equal(lines[i].first_time, expected[i].first_time);
        assert_int_equal(lines[i].last_time, expected[i].last_time);
    }
    wetdbg_slice_free(slice);
}

/* ---- first looks ---- */

struct seen {
    const struct wetdbg_slice *whole;
    wetdbg_time first;
    uint64_t count;
};

/* Whether an instance is in the whole slice with the same distance. */
static int find_again(void *arg, const struct wetdbg_slice_instance *instance)
{
    const struct wetdbg_slice_instance *wanted = arg;

    return instance->time == wanted->time &&
           (instance->distance != wanted->distance || instance->edge != wanted->edge);
}

static int compare_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct seen *seen = arg;
    struct wetdbg_slice_instance wanted = *instance;

    seen->count++;
    assert_true(instance->time >= seen->first);
    assert_true(wetdbg_slice_contains_time(seen->whole, instance->time));
    if (seen->count % 97 == 0) /* a walk over all for each */
        assert_int_equal(
            wetdbg_slice_each_instance(seen->whole, &instance->pc, 1, find_again, &wanted), 0);
    return 0;
}

static int count_since(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct seen *seen = arg;

    seen->count += instance->time >= seen->first;
    return 0;
}

static void a_first_look_is_the_end_of_the_whole_slice(void **state)
{
    struct fixture *f = *state;
    struct wetdbg_slice_options options = {.record_parents = true, .copies_are_near = true};
    struct wetdbg_slice *whole, *look;

    assert_int_equal(wetdbg_slice_backward(f->wet, f->target, &options, &whole), 0);
    options.look = f->steps / 20;
    assert_int_equal(wetdbg_slice_backward(f->wet, f->target, &options, &look), 0);
    assert_int_equal(wetdbg_slice_get_counts(whole)->looked_to, 0);
    struct seen in_look = {whole, wetdbg_slice_get_counts(look)->looked_to, 0};
    struct seen in_whole = in_look;
    assert_true(in_look.first > 1);
    assert_int_equal(wetdbg_slice_each_instance(look, NULL, 0, compare_instance, &in_look), 0);
    assert_int_equal(wetdbg_slice_each_instance(whole, NULL, 0, count_since, &in_whole), 0);
    assert_int_equal(in_look.count, in_whole.count);
    assert_true(in_look.count > 0 && in_look.count < wetdbg_slice_get_counts(whole)->instances);
    wetdbg_slice_free(whole);
    wetdbg_slice_free(look);
}

static int compare_ahead(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct seen *seen = arg;
    struct wetdbg_slice_instance wanted = *instance;

    seen->count++;
    assert_true(instance->time < seen->first);
    assert_true(wetdbg_slice_contains_time(seen->whole, instance->time));
    if (seen->count % 97 == 0)
        assert_int_equal(
            wetdbg_slice_each_instance(seen->whole, &instance->pc, 1, find_again, &wanted), 0);
    return 0;
}

static int count_until(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct seen *seen = arg;

    seen->count += instance->time < seen->first;
    return 0;
}

/* Looks ahead from an instance. True if that did not see all. */
static bool check_ahead(struct fixture *f, wetdbg_time time)
{
    struct wetdbg_slice_options options = {.record_parents = true, .copies_are_near = true};
    struct wetdbg_criterion *source;
    struct wetdbg_slice *whole, *look;

    assert_int_equal(slc_criterion_of_places(f->wet, time, NULL, 0, 0, &source), 0);
    assert_int_equal(wetdbg_slice_forward(f->wet, source, &options, &whole), 0);
    options.look = f->steps / 20;
    assert_int_equal(wetdbg_slice_forward(f->wet, source, &options, &look), 0);
    assert_int_equal(wetdbg_slice_get_counts(whole)->looked_to, 0);
    struct seen in_look = {whole, wetdbg_slice_get_counts(look)->looked_to, 0};
    struct seen in_whole = in_look;
    assert_true(in_look.first > time);
    assert_int_equal(wetdbg_slice_each_instance(look, NULL, 0, compare_ahead, &in_look), 0);
    assert_int_equal(wetdbg_slice_each_instance(whole, NULL, 0, count_until, &in_whole), 0);
    assert_int_equal(in_look.count, in_whole.count);
    assert_true(in_look.count > 0);
    bool is_cut = in_look.count < wetdbg_slice_get_counts(whole)->instances;
    wetdbg_slice_free(whole);
    wetdbg_slice_free(look);
    wetdbg_criterion_free(source);
    return is_cut;
}

static void a_first_look_ahead_is_the_beginning_of_the_whole_slice(void **state)
{
    struct fixture *f = *state;
    unsigned cut = 0;

    for (unsigned i = 1; i < 8; i++)
        cut += check_ahead(f, f->steps * i / 10);
    assert_true(cut > 0);
}

/* ---- cut by a set ---- */

struct family {
    const struct wetdbg_slice *whole, *part;
    uint64_t count, orphans;
};

static int check_member(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct family *family = arg;
    struct wetdbg_slice_instance wanted = *instance;

    family->count++;
    if (family->count % 31 == 0)
        assert_int_equal(
            wetdbg_slice_each_instance(family->whole, &instance->pc, 1, find_again, &wanted), 0);
    family->orphans +=
        instance->parent && !wetdbg_slice_contains_time(family->part, instance->parent);
    return 0;
}

static void a_slice_within_its_chop_keeps_distances_and_parents(void **state)
{
    struct fixture *f = *state;
    struct wetdbg_slice_options options = {.record_parents = true};
    struct wetdbg_slice *whole, *part, *plain;
    struct wetdbg_set *chop;
    size_t count, line_count;

    assert_int_equal(wetdbg_slice_backward(f->wet, f->target, &options, &whole), 0);
    assert_int_equal(wetdbg_set_combine(f->a, WETDBG_SET_AND, f->b, &chop), 0);
    assert_int_equal(wetdbg_slice_within(whole, chop, &part), 0);
    assert_int_equal(wetdbg_slice_get_counts(part)->instances, wetdbg_set_count(chop));
    struct family family = {whole, part, 0, 0};
    assert_int_equal(wetdbg_slice_each_instance(part, NULL, 0, check_member, &family), 0);
    assert_int_equal(family.count, wetdbg_set_count(chop));
    assert_int_equal(family.orphans, 0);
    assert_int_equal(wetdbg_slice_of_set(chop, &options, &plain), 0);
    wetdbg_slice_lines(part, &count);
    wetdbg_slice_lines(plain, &line_count);
    assert_int_equal(count, line_count);
    struct wetdbg_slice_link *links;
    assert_int_equal(wetdbg_slice_links(part, NULL, &links, &count), 0);
    assert_true(count > 0);
    free(links);
    struct wetdbg_slice *refused;
    assert_int_equal(wetdbg_slice_within(plain, chop, &refused), -EINVAL);
    wetdbg_slice_free(plain);
    wetdbg_slice_free(part);
    wetdbg_slice_free(whole);
    wetdbg_set_free(chop);
}

/* ---- files ---- */

static size_t read_file(const char *path, uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(bytes, 1, size, file) : 0;

    assert_non_null(file);
    fclose(file);
    return got;
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Of the target's slice with two edges: the first one's use is in the slice, the second one's is
 * among what the first predicate depends on, or in neither. */
static void check_edges(const struct fixture *f, const struct wetdbg_implicit_edge edges[2],
                        bool has_parents)
{
    const struct wetdbg_slice_options plain = {.kinds = WETDBG_SLICE_FULL};
    const struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL,
                                                 .implicit = edges,
                                                 .implicit_count = 2,
                                                 .record_parents = has_parents};
    struct wetdbg_criterion *predicates[2];
    struct wetdbg_slice *grown, *parts[2];

    assert_int_equal(wetdbg_slice_backward(f->wet, f->target, &options, &grown), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wetdbg_criterion_of_instance(f->wet, edges[i].predicate, &predicates[i]),
                         0);
        assert_int_equal(wetdbg_slice_backward(f->wet, predicates[i], &plain, &parts[i]), 0);
    }
    bool has_second = wetdbg_slice_contains_time(f->backward, edges[1].use) ||
                      wetdbg_slice_contains_time(parts[0], edges[1].use);
    for (wetdbg_time t = 1; t <= f->steps; t++) {
        bool is_in = wetdbg_slice_contains_time(f->backward, t) ||
                     wetdbg_slice_contains_time(parts[0], t) ||
                     (has_second && wetdbg_slice_contains_time(parts[1], t));
        assert_int_equal(wetdbg_slice_contains_time(grown, t), is_in);
    }
    for (int i = 0; i < 2; i++) {
        wetdbg_slice_free(parts[i]);
        wetdbg_criterion_free(predicates[i]);
    }
    wetdbg_slice_free(grown);
}

static void an_edge_adds_what_its_predicate_depends_on(void **state)
{
    struct fixture *f = *state;
    wetdbg_time use = f->steps, outside, further;
    struct wetdbg_slice *slice;

    while (!wetdbg_slice_contains_time(f->backward, use))
        use--;
    for (int i = 1; i <= 4; i++) {
        outside = use - use / (wetdbg_time)(i + 1) - 1;
        while (outside > 1 && wetdbg_slice_contains_time(f->backward, outside))
            outside--;
        further = outside / 2;
        const struct wetdbg_implicit_edge chain[2] = {{use, outside}, {outside, further}};
        const struct wetdbg_implicit_edge apart[2] = {{use, outside}, {outside + 1, further}};
        check_edges(f, chain, i % 2);
        check_edges(f, apart, i % 2);
    }
    const struct wetdbg_implicit_edge later = {use, use};
    const struct wetdbg_slice_options wrong = {.implicit = &later, .implicit_count = 1};
    assert_int_equal(wetdbg_slice_backward(f->wet, f->target, &wrong, &slice), -EINVAL);
}

static int find_implicit(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct wetdbg_slice_instance *found = arg;

    if (instance->edge == WETDBG_EDGE_IMPLICIT)
        *found = *instance;
    return 0;
}

static void an_edge_leads_from_its_use(void **state)
{
    struct fixture *f = *state;
    struct wetdbg_slice_instance found = {.time = 0};
    struct wetdbg_slice *slice;
    wetdbg_time use = f->steps, outside;

    while (!wetdbg_slice_contains_time(f->backward, use))
        use--;
    for (outside = use - 1; wetdbg_slice_contains_time(f->backward, outside);)
        outside--;
    const struct wetdbg_implicit_edge edge = {use, outside};
    const struct wetdbg_slice_options options = {
        .implicit = &edge, .implicit_count = 1, .record_parents = true};
    int err = wetdbg_slice_backward(f->wet, f->target, &options, &slice);
    if (err)
        fail_msg("use %llu, outside %llu: %s", (unsigned long long)use, (unsigned long long)outside,
                 wetdbg_error(err));
    assert_int_equal(wetdbg_slice_each_instance(slice, NULL, 0, find_implicit, &found), 0);
    assert_int_equal(found.time, outside);
    assert_int_equal(found.parent, use);
    assert_int_equal(found.distance, 1);
    wetdbg_slice_free(slice);
}

static void files_come_back_or_are_refused(void **state)
{
    static uint8_t bytes[1 << 20];
    struct fixture *f = *state;
    struct wetdbg_set *set;
    unsigned refused = 0;

    char *note;
    assert_int_equal(wetdbg_set_save(f->b, "how it was made", f->path), 0);
    assert_int_equal(wetdbg_set_load(f->wet, f->path, &set, &note), 0);
    assert_string_equal(note, "how it was made");
    free(note);
    assert_int_equal(wetdbg_set_count(set), wetdbg_set_count(f->b));
    for (wetdbg_time t = 1; t <= f->steps; t++)
        assert_int_equal(wetdbg_set_contains_time(set, t), wetdbg_set_contains_time(f->b, t));
    wetdbg_set_free(set);
    size_t size = read_file(f->path, bytes, sizeof(bytes));
    assert_true(size > 0 && size < sizeof(bytes));
    for (size_t i = 0; i < size; i += 1 + size / 200) {
        bytes[i] ^= 0x55;
        write_file(f->path, bytes, i % 3 ? size : i); /* altered, or cut off */
        bytes[i] ^= 0x55;
        int err = wetdbg_set_load(f->wet, f->path, &set, NULL);
        refused += err != 0;
        assert_true(err == 0 || err == -WETDBG_ERR_CORRUPT || err == -WETDBG_ERR_USAGE);
        if (err)
            assert_non_null(strstr(wetdbg_error(err), f->path));
        else
            wetdbg_set_free(set);
    }
    assert_true(refused > 20);
    unlink(f->path);
    assert_true(wetdbg_set_load(f->wet, f->path, &set, NULL) < 0);
    assert_true(wetdbg_set_save(f->b, "", "/no/such/folder/set") < 0);
    char *long_note = calloc(1, WETDBG_SET_NOTE_MAX + 2);
    assert_non_null(long_note);
    memset(long_note, 'x', WETDBG_SET_NOTE_MAX + 1);
    assert_int_equal(wetdbg_set_save(f->b, long_note, f->path), -EINVAL);
    free(long_note);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_hold_what_their_members_say),
        cmocka_unit_test(a_set_as_a_slice_has_the_lines_of_its_own),
        cmocka_unit_test(a_first_look_is_the_end_of_the_whole_slice),
        cmocka_unit_test(a_first_look_ahead_is_the_beginning_of_the_whole_slice),
        cmocka_unit_test(a_slice_within_its_chop_keeps_distances_and_parents),
        cmocka_unit_test(an_edge_adds_what_its_predicate_depends_on),
        cmocka_unit_test(an_edge_leads_from_its_use),
        cmocka_unit_test(files_come_back_or_are_refused),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: %s PROGRAM\n", argv[0]);
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
