/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a move passes on is followed byte by byte, and so is what goes through the kernel: the slice
 * of each byte that guests/bytes.c or channels.c writes has the lines that computed it, and of the
 * others none; its origin ends there. Arguments: the guest's source and its builds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cpuid.h"
#include "slicer/slicer.h"
#include "tests/slicer/builds.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/origin.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

#define CASES_MAX  48
#define CASE_BYTES 16
#define SENT_BYTES 64
#define SENT_FD    50

/* What the source says. */
static struct {
    unsigned line[CASE_BYTES];               /* of each byte of the input */
    uint16_t sources[CASES_MAX][CASE_BYTES]; /* bit i: byte i of the input */
    bool is_chosen[CASES_MAX];               /* ... by which it was chosen, or computed */
    unsigned case_count;
    uint16_t sent[SENT_BYTES]; /* ... by descriptor SENT_FD */
    unsigned sent_count;
} guest;

static const char digits[] = "0123456789ABCDEF";

/* "0123..." is a byte each, "01 123 X" (is_set) a set for each, X being all. */
static void read_case(const char *text, bool is_set)
{
    uint16_t *sources = guest.sources[guest.case_count++];
    unsigned byte = 0;

    assert_true(guest.case_count <= CASES_MAX);
    for (; *text != '*'; text++) {
        const char *digit = *text == ' ' ? NULL : strchr(digits, *text);
        assert_true(byte < CASE_BYTES || *text == ' ');
        if (digit)
            sources[byte] |= (uint16_t)(1u << (digit - digits));
        if (*text == 'X')
            sources[byte] = UINT16_MAX;
        byte += is_set == (*text == ' ');
    }
}

static void read_sent(const char *text)
{
    const char *digit;

    for (; *text != ' ' && (digit = strchr(digits, *text)); text++) {
        assert_true(guest.sent_count < SENT_BYTES);
        guest.sent[guest.sent_count++] = (uint16_t)(1u << (digit - digits));
    }
}

/* Cases whose instructions the processor lacks are done in other ways. */
static void read_need(const char *text, unsigned line)
{
    static const struct {
        const char *name;
        unsigned leaf, reg, bit; /* reg: 0 ebx, 1 ecx, 2 edx */
    } features[] = {{"sse2", 1, 2, 26},     {"ssse3", 1, 1, 9},     {"sse4.1", 1, 1, 19},
                    {"avx2", 7, 0, 5},      {"avx512bw", 7, 0, 30}, {"avx512vl", 7, 0, 31},
                    {"avx512vbmi", 7, 1, 1}};

    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        size_t length = strlen(features[i].name);
        if (strncmp(text, features[i].name, length) != 0 || text[length] != ' ')
            continue;
        struct wd_cpuid is = wd_cpuid_ask(features[i].leaf, 0);
        uint32_t word = features[i].reg == 0 ? is.ebx : features[i].reg == 1 ? is.ecx : is.edx;
        if (!(word >> features[i].bit & 1))
            printf("SKIPPED: test_bytes: %s:%u: the processor has no %s\n", builds_source, line,
                   features[i].name);
        return;
    }
    fail_msg("%s:%u: an unknown feature", builds_source, line);
}

static void read_source(void)
{
    char text[256], digit;
    FILE *file = fopen(builds_source, "r");

    assert_non_null(file);
    for (unsigned line = 1; fgets(text, sizeof(text), file); line++) {
        const char *byte = strstr(text, "/* BYTE "), *moves = strstr(text, "/* MOVES ");
        const char *uses = strstr(text, "/* USES "), *needs = strstr(text, "/* NEEDS ");
        if (needs)
            read_need(needs + 9, line);
        if (byte && sscanf(byte, "/* BYTE %c", &digit) == 1)
            guest.line[strchr(digits, digit) - digits] = line;
        const char *sent = strstr(text, "/* SENT ");
        if (sent)
            read_sent(sent + 8);
        if (moves)
            read_case(moves + 9, false);
        const char *chosen = strstr(text, "/* CHOSEN ");
        if (chosen) {
            guest.is_chosen[guest.case_count] = true;
            read_case(chosen + 10, false);
        }
        const char *computes = strstr(text, "/* COMPUTES ");
        if (computes) {
            guest.is_chosen[guest.case_count] = true;
            read_case(computes + 12, true);
        }
        if (uses)
            read_case(uses + 8, true);
    }
    fclose(file);
    assert_true(guest.case_count >= 10);
}

static void check_byte(struct wetdbg *wet, const char *build, int fd, unsigned offset,
                       bool record_parents)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_THIN,
                                           .record_parents = record_parents};
    unsigned sources = fd == SENT_FD ? guest.sent[offset]
                                     : guest.sources[offset / CASE_BYTES][offset % CASE_BYTES];
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    char text[32];

    snprintf(text, sizeof(text), "output:%d:%u", fd, offset);
    assert_int_equal(wetdbg_criterion_parse(wet, text, NULL, &criterion), 0);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    for (unsigned i = 0; i < CASE_BYTES; i++)
        if (builds_slice_has(slice, guest.line[i]) != (sources >> i & 1))
            fail_msg("%s: %s, byte %u of case %u: byte %c is wrongly %s its slice", build, text,
                     offset % CASE_BYTES, offset / CASE_BYTES, digits[i],
                     builds_slice_has(slice, guest.line[i]) ? "in" : "not in");
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

/* The origin of a byte that is one byte of the input ends on the line that computed that. */
static void check_origin(struct wetdbg *wet, const char *build, unsigned offset)
{
    unsigned sources = guest.sources[offset / CASE_BYTES][offset % CASE_BYTES];
    struct wetdbg_criterion *criterion;
    struct wetdbg_origin *origin;
    struct wetdbg_line line;
    char text[32];

    if (sources == 0 || sources & (sources - 1) || guest.is_chosen[offset / CASE_BYTES])
        return;
    snprintf(text, sizeof(text), "output:%u", offset);
    assert_int_equal(wetdbg_criterion_parse(wet, text, NULL, &criterion), 0);
    assert_int_equal(wetdbg_origin(wet, criterion, NULL, &origin), 0);
    const struct wetdbg_hop *end = &origin->hops[origin->hop_count - 1];
    assert_int_equal(wetdbg_line_of_instruction(wetdbg_get_model(wet), end->pc, &line), 0);
    bool is_reversed = strncmp(end->text, "bswap", 5) == 0; /* it is an end, of an origin */
    if (line.line != guest.line[__builtin_ctz(sources)] && !is_reversed)
        fail_msg("%s: the origin of byte %u of case %u is %s at line %u", build,
                 offset % CASE_BYTES, offset / CASE_BYTES, wetdbg_hop_name(end->kind), line.line);
    wetdbg_origin_free(origin);
    wetdbg_criterion_free(criterion);
}

static void check_build(struct wetdbg *wet, const char *build)
{
    for (unsigned i = 0; i < guest.case_count * CASE_BYTES; i++)
        check_byte(wet, build, 1, i, i % 2);
    for (unsigned i = 0; i < guest.sent_count; i++)
        check_byte(wet, build, SENT_FD, i, i % 2);
    for (unsigned i = 0; i < guest.case_count * CASE_BYTES; i += 7)
        check_byte(wet, build, 1, i, i % 2 == 0);
    for (unsigned i = 0; i < guest.case_count * CASE_BYTES; i++)
        check_origin(wet, build, i);
}

static void a_byte_depends_on_the_byte_that_was_moved(void **state)
{
    (void)state;
    read_source();
    builds_each(check_build);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_byte_depends_on_the_byte_that_was_moved)};

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
