/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which processors the oracle takes for one on which a recording can be re-enacted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* clang-format off: cmocka.h wants the headers above first */
#include <cmocka.h>
/* clang-format on */

#include "common/cpuid.h"
#include "tests/oracle/oracle_processor.h"
#include <wetdbg/errors.h>

/* What a recording made here would hold. */
struct here {
    struct rrt_cpuid basic, features, layout, layout_more, name;
};

_Static_assert(sizeof(struct here) == 5 * sizeof(struct rrt_cpuid), "an array of answers");

static struct rrt_cpuid ask(uint32_t leaf, uint32_t subleaf)
{
    struct wd_cpuid is = wd_cpuid_ask(leaf, subleaf == RRT_CPUID_NO_SUBLEAF ? 0 : subleaf);

    return (struct rrt_cpuid){.eax_in = leaf,
                              .ecx_in = subleaf,
                              .eax = is.eax,
                              .ebx = is.ebx,
                              .ecx = is.ecx,
                              .edx = is.edx};
}

static struct here ask_all(void)
{
    return (struct here){
        .basic = ask(1, RRT_CPUID_NO_SUBLEAF),
        .features = ask(7, 0),
        .layout = ask(0xd, 0),
        .layout_more = ask(0xd, 1),
        .name = ask(0x80000002, RRT_CPUID_NO_SUBLEAF),
    };
}

static int check(const struct here *here, bool has_faulting)
{
    const struct rrt_header header = {
        .has_cpuid_faulting = has_faulting,
        .cpuid = &here->basic,
        .cpuid_count = sizeof(*here) / sizeof(here->basic),
    };
    return orc_processor_check(&header);
}

static void recording_made_here_is_taken(void **state)
{
    const struct here here = ask_all();

    (void)state;
    assert_int_equal(check(&here, false), 0);
    assert_int_equal(check(&here, true), 0);
}

static void another_core_is_the_same_processor(void **state)
{
    struct here here = ask_all();

    (void)state;
    here.basic.ebx ^= UINT32_C(0x01000000);
    assert_int_equal(check(&here, false), 0);
    assert_int_equal(check(&here, true), 0);
}

static void hidden_feature_matters_only_where_cpuid_runs(void **state)
{
    struct here here = ask_all();

    (void)state;
    assert_int_not_equal(here.basic.ecx, 0);
    here.basic.ecx &= here.basic.ecx - 1;
    here.layout_more.eax = 0;
    here.name.eax ^= 1;
    assert_int_equal(check(&here, false), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(check(&here, true), 0);
}

/* Sets, in each register that holds features, a bit that is not set here. */
static void feature_that_is_missing_here_is_refused(void **state)
{
    const struct here here = ask_all();
    struct here recorded = here;
    uint32_t *const registers[] = {&recorded.basic.ecx,    &recorded.basic.edx,
                                   &recorded.features.ebx, &recorded.features.ecx,
                                   &recorded.features.edx, &recorded.layout_more.eax};

    (void)state;
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        *registers[i] |= *registers[i] + 1;
        assert_int_equal(check(&recorded, false), -WETDBG_ERR_UNSUPPORTED);
        assert_int_equal(check(&recorded, true), -WETDBG_ERR_UNSUPPORTED);
        recorded = here;
    }
}

static void another_layout_is_refused(void **state)
{
    struct here here = ask_all();

    (void)state;
    here.layout.ebx += 64;
    assert_int_equal(check(&here, false), -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(check(&here, true), -WETDBG_ERR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recording_made_here_is_taken),
        cmocka_unit_test(another_core_is_the_same_processor),
        cmocka_unit_test(hidden_feature_matters_only_where_cpuid_runs),
        cmocka_unit_test(feature_that_is_missing_here_is_refused),
        cmocka_unit_test(another_layout_is_refused),
    };

    return cmocka_run_group_tests_name("oracle_processor", tests, NULL, NULL);
}
