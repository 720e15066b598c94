/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What suites on a stage have in common. */
#ifndef TESTS_FEED_FEED_STAGE_H
#define TESTS_FEED_FEED_STAGE_H

#include <string.h>

#include "tests/feed/feed_frames.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

static inline int stage_set_up(void **state)
{
    *state = stage_new();
    return 0;
}

static inline int stage_tear_down(void **state)
{
    stage_free(*state);
    return 0;
}

static inline void stage_assert_refused(int err, const char *reason)
{
    assert_int_equal(err, -WETDBG_ERR_UNSUPPORTED);
    if (!strstr(wetdbg_error(err), reason) || !strstr(wetdbg_error(err), "frame "))
        fail_msg("%s", wetdbg_error(err));
}

#endif
