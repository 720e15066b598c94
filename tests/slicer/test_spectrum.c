/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures of suspicion, worked out by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* after the above */
#include <cmocka.h>

#include <wetdbg/errors.h>
#include <wetdbg/spectrum.h>

static void measures_of_counts_are_those_of_the_papers(void **state)
{
    static const struct {
        struct wetdbg_spectrum counts;
        double scores[5]; /* ochiai, tarantula, dstar, jaccard, op2 */
    } rows[] = {
        {{1, 0, 0, 2}, {1, 1, 2, 1, 1}},
        {{1, 0, 2, 0}, {0.5773502691896258, 0.5, 0.5, 1.0 / 3, 1.0 / 3}},
        {{2, 2, 1, 3}, {0.5773502691896258, 2.0 / 3, 4.0 / 3, 0.4, 1.8}},
        {{3, 0, 0, 0}, {1, 1, 10, 1, 3}},
        {{0, 4, 5, 1}, {0, 0, 0, 0, -5.0 / 7}},
        {{0, 0, 0, 0}, {0, 0, 0, 0, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (unsigned m = 0; m < 5; m++) {
            double score = wetdbg_measure_score((enum wetdbg_measure)m, &rows[i].counts);
            if (fabs(score - rows[i].scores[m]) > 1e-12)
                fail_msg("row %zu, %s: %g in place of %g", i,
                         wetdbg_measure_name((enum wetdbg_measure)m), score, rows[i].scores[m]);
        }
}

static void measures_have_names(void **state)
{
    enum wetdbg_measure measure;
    (void)state;
    for (unsigned m = 0; m < 5; m++) {
        assert_int_equal(
            wetdbg_measure_parse(wetdbg_measure_name((enum wetdbg_measure)m), &measure), 0);
        assert_int_equal(measure, m);
    }
    assert_null(wetdbg_measure_name((enum wetdbg_measure)5));
    assert_int_equal(wetdbg_measure_parse("Ochiai", &measure), -WETDBG_ERR_USAGE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_USAGE), "there are ochiai, tarantula"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measures_of_counts_are_those_of_the_papers),
        cmocka_unit_test(measures_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
