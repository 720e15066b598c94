/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a sendmsg or sendmmsg is the criterion, its slice has what made the bytes that it sends,
 * and not what lies beside them. Arguments: guests/messages.c and its builds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "slicer/slicer.h"
#include "tests/slicer/builds.h"
#include <wetdbg/errors.h>

/* cmocka.h needs the headers above. */
#include <cmocka.h>

/* The time of the call with that number; there is one. */
static wetdbg_time time_of(struct wetdbg *wet, uint64_t number)
{
    for (wetdbg_time t = wetdbg_get_info(wet)->instructions; t > 0; t--) {
        struct wetdbg_state *state;
        if (fake_step(wet, t)->info->klass != INS_SYSCALL)
            continue;
        assert_int_equal(wetdbg_state_open(wet, t, &state), 0);
        uint64_t own = wet_state_regs(state)->r[EVQ_RAX];
        wetdbg_state_close(state);
        if (own == number)
            return t;
    }
    fail_msg("no call %llu was made", (unsigned long long)number);
    return 0;
}

/* Lines marked "USED <call>" and no others that are marked. */
static unsigned check_lines(const struct wetdbg_slice *slice, const char *build, unsigned call)
{
    FILE *file = fopen(builds_source, "r");
    char text[256], mark[32];
    unsigned used = 0;

    assert_non_null(file);
    snprintf(mark, sizeof(mark), "/* USED %u */", call);
    for (unsigned line = 1; fgets(text, sizeof(text), file); line++) {
        bool is_used = strstr(text, mark) != NULL;
        if (!strstr(text, "/* USED ") && !strstr(text, "/* UNUSED "))
            continue;
        used += is_used;
        if (builds_slice_has(slice, line) != is_used)
            fail_msg("%s: call %u: line %u is wrongly %s the slice", build, call, line,
                     is_used ? "not in" : "in");
    }
    fclose(file);
    return used;
}

static void check_call(struct wetdbg *wet, const char *build, unsigned call, uint64_t number)
{
    const struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_THIN};
    const struct ins_regset none = {{0}};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;

    assert_int_equal(slc_criterion_of_places(wet, time_of(wet, number), &none, 0, 0, &criterion),
                     0);
    assert_int_equal(wetdbg_slice_backward(wet, criterion, &options, &slice), 0);
    assert_int_equal(check_lines(slice, build, call), 3);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
}

static void check_build(struct wetdbg *wet, const char *build)
{
    check_call(wet, build, 1, SYS_sendmsg);
    check_call(wet, build, 2, SYS_sendmmsg);
}

static void what_a_message_leads_to_is_sent(void **state)
{
    (void)state;
    builds_each(check_build);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_message_leads_to_is_sent)};

    return builds_take(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
