/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs as deltas: that they are the difference, that units are what they should be, that what
 * nests does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after the above */
#include <cmocka.h>
#include <jansson.h>

#include "delta/delta_input.h"
#include "delta/nesting.h"
#include <wetdbg/errors.h>

static uint64_t random_state;

static uint64_t next_random(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % below;
}

static struct wetdbg_dd_bytes bytes_of(const char *text)
{
    return (struct wetdbg_dd_bytes){(uint8_t *)text, strlen(text)};
}

/* ---- differences ---- */

static void check_render(const struct dlt_input *input, bool is_fail,
                         const struct wetdbg_dd_bytes *wanted)
{
    uint64_t *words = calloc(input->count / 64 + 1, sizeof(*words));
    uint64_t *origins = calloc(input->fail_bytes + input->pass_bytes + 1, sizeof(*origins));
    struct wd_buf made = {0};
    for (size_t i = 0; is_fail && i < input->count; i++)
        words[i / 64] |= UINT64_C(1) << (i % 64);
    struct wetdbg_delta_set set = {words, input->count};
    assert_int_equal(dlt_input_render(input, &set, &made, origins), 0);
    assert_int_equal(made.size_bytes, wanted->size);
    if (wanted->size)
        assert_memory_equal(made.data, wanted->data, wanted->size);
    for (size_t i = 0; i < made.size_bytes; i++) {
        if (is_fail)
            assert_int_equal(origins[i], i);
        else if (origins[i] != WETDBG_DD_NOWHERE)
            assert_int_equal(input->fail[origins[i]], made.data[i]);
    }
    wd_buf_fini(&made);
    free(words);
    free(origins);
}

static void check_units(const struct dlt_input *input)
{
    for (size_t u = 0; u < input->unit_count; u++) {
        const struct wetdbg_delta_unit *unit = &input->units[u];
        assert_int_equal(unit->starts[0], 0);
        for (size_t g = 1; g < unit->count; g++)
            assert_true(unit->starts[g] > unit->starts[g - 1]);
        assert_true(unit->starts[unit->count - 1] < input->count);
        assert_true(!u || unit->count > input->units[u - 1].count);
    }
}

static void check_difference(const struct wetdbg_dd_bytes *pass, const struct wetdbg_dd_bytes *fail,
                             enum wetdbg_dd_unit unit)
{
    struct dlt_input input;
    assert_int_equal(dlt_input_init(&input, pass, fail, unit), 0);
    check_render(&input, false, pass);
    check_render(&input, true, fail);
    check_units(&input);
    dlt_input_fini(&input);
}

/* Some text, and a copy with some edits. */
static void random_pair(char *pass, char *fail, size_t most)
{
    static const char letters[] = "ab \n(),;{}<>x/\"'\\";
    size_t size = next_random(most), at = 0;
    for (size_t i = 0; i < size; i++)
        pass[i] = letters[next_random(sizeof(letters) - 1)];
    pass[size] = 0;
    for (size_t i = 0; i < size && at + 2 < most; i++) {
        uint64_t edit = next_random(12);
        if (edit == 0)
            continue;
        if (edit == 1)
            fail[at++] = letters[next_random(sizeof(letters) - 1)];
        fail[at++] = edit == 2 ? letters[next_random(sizeof(letters) - 1)] : pass[i];
    }
    fail[at] = 0;
}

static void deltas_are_the_difference_of_any_two_texts(void **state)
{
    (void)state;
    for (random_state = 1; random_state % 3000 != 0; random_state++) {
        char pass[301], fail[301];
        uint64_t seed = random_state;
        random_pair(pass, fail, next_random(10) ? 40 : 300);
        struct wetdbg_dd_bytes of_pass = bytes_of(pass), of_fail = bytes_of(fail), none = {0};
        for (enum wetdbg_dd_unit unit = WETDBG_DD_BYTE; unit <= WETDBG_DD_TREE; unit++) {
            check_difference(&of_pass, &of_fail, unit);
            check_difference(&none, &of_fail, unit);
            check_difference(&of_pass, &none, unit);
        }
        random_state = seed;
    }
}

/* Two texts that have nothing in common, larger than what is compared in full. */
static void texts_without_anything_equal_are_one_replacement(void **state)
{
    (void)state;
    char *pass = malloc(5001), *fail = malloc(9001);
    memset(pass, 'p', 5000), pass[5000] = 0;
    memset(fail, 'f', 9000), fail[9000] = 0;
    struct wetdbg_dd_bytes of_pass = bytes_of(pass), of_fail = bytes_of(fail);
    struct dlt_input input;
    assert_int_equal(dlt_input_init(&input, &of_pass, &of_fail, WETDBG_DD_BYTE), 0);
    assert_int_equal(input.count, 9000);
    dlt_input_fini(&input);
    check_difference(&of_pass, &of_fail, WETDBG_DD_BYTE);
    free(pass);
    free(fail);
}

static void differences_are_as_small_as_people_see_them(void **state)
{
    (void)state;
    static const struct {
        const char *pass, *fail;
        size_t deltas;
    } rows[] = {
        {"", "", 0},
        {"same", "same", 0},
        {"aaaa", "aaaaa", 1},
        {"one\ntwo\nthree\n", "one\nthree\n", 4},
        {"one\ntwo\nthree\n", "one\ntoo\nthree\n", 1},
        {"begin x end", "begin xyz end", 2},
        {"abc", "xbz", 2},
        {"key=1\nkey=2\n", "key=1\nkey=2\nkey=3\n", 6},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct dlt_input input;
        struct wetdbg_dd_bytes pass = bytes_of(rows[i].pass), fail = bytes_of(rows[i].fail);
        assert_int_equal(dlt_input_init(&input, &pass, &fail, WETDBG_DD_BYTE), 0);
        if (input.count != rows[i].deltas)
            fail_msg("'%s' to '%s' has %zu deltas", rows[i].pass, rows[i].fail, input.count);
        dlt_input_fini(&input);
    }
}

static void units_are_lines_tokens_and_bytes(void **state)
{
    (void)state;
    static const size_t counts[] = {3, 11, 17};
    struct dlt_input input;
    struct wetdbg_dd_bytes none = {0}, fail = bytes_of("one  (two)\nx=3\n\n");
    assert_int_equal(dlt_input_init(&input, &none, &fail, WETDBG_DD_BYTE), 0);
    assert_int_equal(input.unit_count, 3);
    assert_int_equal(input.units[0].count, counts[0]);
    assert_int_equal(input.units[1].count, counts[1]);
    assert_int_equal(input.units[2].count, 16);
    dlt_input_fini(&input);
}

/* ---- what nests ---- */

/* The text without a node, for the caller to free. */
static char *text_without(const char *text, const struct wetdbg_delta_node *nodes, size_t count,
                          size_t gone)
{
    size_t size = strlen(text), kept = 0;
    char *made = calloc(size + 1, 1);
    const struct wetdbg_delta_node *node = &nodes[gone];
    uint32_t first = node->separator_first, end = node->separator_end;
    bool is_first = true;
    for (size_t i = 0; i < gone; i++)
        is_first = is_first && nodes[i].parent != node->parent;
    for (size_t i = count; is_first && i-- > gone + 1;)
        if (nodes[i].parent ==
            node->parent) /* the separator of the next one, which is the first then */
            first = nodes[i].separator_first, end = nodes[i].separator_end;
    for (size_t i = 0; i < size; i++)
        if ((i < node->first || i >= node->end) && (i < first || i >= end))
            made[kept++] = text[i];
    return made;
}

static bool is_json(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    json_decref(value);
    return value;
}

/* Members and elements, with their commas: what is left of JSON is JSON. */
static void json_without_a_member_is_json(void **state)
{
    (void)state;
    static const char text[] = "{ \"a\": [1, 2.5e3 ,[ ], {\"x\" : null , \"y\": \"a,b]}\\\"\"}],\n"
                               "  \"b\" : {\"c\": true,\n  \"d\": [[[1],2],3]},\n\"e\":\"\" }\n";
    /* "a", 1, 2.5e3, [ ], {...}, "x", "y", "b", "c", "d", [[1],2], [1], 1, 2, 3, "e" */
    const size_t removable = 16;
    struct wetdbg_delta_node *nodes;
    size_t count, found = 0;
    assert_true(is_json(text));
    assert_int_equal(dlt_nesting_find((const uint8_t *)text, strlen(text), &nodes, &count), 0);
    for (size_t i = 0; i < count; i++) {
        char *rest = text_without(text, nodes, count, i);
        found += is_json(rest);
        free(rest);
    }
    assert_true(found >= removable);
    free(nodes);
}

struct wanted {
    const char *text, *part;
    const char *inside; /* the part whose node is the parent of that of `part`, or NULL */
};

static uint32_t node_of(const char *text, const char *part, const struct wetdbg_delta_node *nodes,
                        size_t count)
{
    const char *found = strstr(text, part);
    assert_non_null(found);
    uint32_t first = (uint32_t)(found - text), end = first + (uint32_t)strlen(part);
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].first == first && nodes[i].end == end)
            return i;
    fail_msg("%s: no node is '%s'", text, part);
    return 0;
}

static void parts_of_texts_are_nodes(void **state)
{
    (void)state;
    static const char c[] =
        "int f(int a, int b)\n{\n    if (a) {\n        g(a, b);\n        h();\n    }\n"
        "    return b;\n}\n",
                      lisp[] = "(define (f x) (+ x (g 1 2)))",
                      yaml[] = "a:\n  b: 1\n  c:\n    - d\n    - e\nf: 2\n",
                      xml[] =
                          "<?xml version='1.0'?>\n<r a=\"1\" b='>'><x>text</x><y/><z><w></z></r>\n";
    static const struct wanted rows[] = {
        {c, "int a", NULL},
        {c, "g(a, b);\n", "{\n        g(a, b);\n        h();\n    }\n"},
        {c, "return b;\n", NULL},
        {lisp, "x ", NULL},
        {lisp, "(g 1 2)", "(+ x (g 1 2))"},
        {yaml, "b: 1\n", "a:\n  b: 1\n  c:\n    - d\n    - e\n"},
        {yaml, "- d\n", "c:\n    - d\n    - e\n"},
        {yaml, "f: 2\n", NULL},
        {xml, " a=\"1\"", "<r a=\"1\" b='>'><x>text</x><y/><z><w></z></r>"},
        {xml, "text", "<x>text</x>"},
        {xml, "<y/>", "<r a=\"1\" b='>'><x>text</x><y/><z><w></z></r>"},
        {xml, "<w>", "<z><w></z>"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wetdbg_delta_node *nodes;
        size_t count;
        const char *text = rows[i].text;
        assert_int_equal(dlt_nesting_find((const uint8_t *)text, strlen(text), &nodes, &count), 0);
        uint32_t node = node_of(text, rows[i].part, nodes, count);
        if (rows[i].inside)
            assert_int_equal(nodes[node].parent, node_of(text, rows[i].inside, nodes, count));
        free(nodes);
    }
}

static int test_needs_nothing(void *context, const struct wetdbg_delta_set *set,
                              enum wetdbg_delta_outcome *outcome)
{
    size_t *calls = context;
    *outcome = ++*calls == 1 ? WETDBG_DELTA_PASS : WETDBG_DELTA_FAIL;
    for (size_t i = 0; i < set->count; i += 7)
        if (!wetdbg_delta_has(set, i))
            *outcome = WETDBG_DELTA_PASS;
    return 0;
}

/* Whatever the bytes, nodes are such that the search takes them. */
static void nodes_of_any_bytes_nest(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        static const char letters[] = "a1 \n\t,;()[]{}<>/=\"'\\-!?";
        char text[200];
        struct wetdbg_delta_node *nodes;
        struct wetdbg_delta_result result;
        size_t count, calls = 0;
        random_state = seed;
        size_t size = 1 + next_random(sizeof(text) - 1);
        for (size_t i = 0; i < size; i++)
            text[i] = next_random(50) ? letters[next_random(sizeof(letters) - 1)]
                                      : (char)next_random(256);
        if (seed % 3 == 0)
            memcpy(text, "<a>", size < 3 ? size : 3);
        assert_int_equal(dlt_nesting_find((const uint8_t *)text, size, &nodes, &count), 0);
        struct wetdbg_delta_tests tests = {.context = &calls, .test = test_needs_nothing};
        assert_int_equal(wetdbg_delta_minimize_tree(&tests, size, nodes, count, &result), 0);
        wetdbg_delta_result_fini(&result);
        free(nodes);
    }
}

/* Deeper than any stack would bear. */
static void deep_nesting_ends(void **state)
{
    (void)state;
    static const char pairs[][2] = {{'(', ')'}, {'{', '}'}, {'[', ']'}};
    const size_t depth = 200000;
    char *text = malloc(8 * depth + 1);
    struct wetdbg_delta_node *nodes;
    size_t count;
    for (size_t i = 0; i < 3; i++) {
        memset(text, pairs[i][0], depth);
        memset(text + depth, pairs[i][1], depth);
        assert_int_equal(dlt_nesting_find((uint8_t *)text, 2 * depth, &nodes, &count), 0);
        assert_true(count >= 100);
        free(nodes);
    }
    for (size_t i = 0; i < depth; i++)
        memcpy(text + 3 * i, "<a>", 3);
    assert_int_equal(dlt_nesting_find((uint8_t *)text, 3 * depth, &nodes, &count), 0);
    assert_int_equal(count, depth);
    free(nodes);
    for (size_t i = 0, at = 0; i < 600; i++) {
        memset(text + at, ' ', i);
        memcpy(text + at + i, "x\n", 3);
        at += i + 2;
    }
    assert_int_equal(dlt_nesting_find((uint8_t *)text, strlen(text), &nodes, &count), 0);
    free(nodes);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deltas_are_the_difference_of_any_two_texts),
        cmocka_unit_test(texts_without_anything_equal_are_one_replacement),
        cmocka_unit_test(differences_are_as_small_as_people_see_them),
        cmocka_unit_test(units_are_lines_tokens_and_bytes),
        cmocka_unit_test(json_without_a_member_is_json),
        cmocka_unit_test(parts_of_texts_are_nodes),
        cmocka_unit_test(nodes_of_any_bytes_nest),
        cmocka_unit_test(deep_nesting_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
