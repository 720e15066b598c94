/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/record/record_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/record/spawn.h"
#include "tests/record/unit.h"

int fixture_set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->dir = scratch_new();
    assert_true(asprintf(&fixture->trace, "%s/trace", fixture->dir) > 0);
    *state = fixture;
    return 0;
}

int fixture_tear_down(void **state)
{
    struct fixture *fixture = *state;

    scratch_free(fixture->dir);
    free(fixture->trace);
    free(fixture);
    return 0;
}
