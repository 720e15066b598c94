/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The hostile agent's image, which engines of this program start in place of the real one. */
#ifndef TESTS_REPLAY_HOSTILE_IMAGE_H
#define TESTS_REPLAY_HOSTILE_IMAGE_H

#include "tests/replay/hostile/hostile.h"

/* What the agents do that are started from now on. */
struct hostile_plan *hostile_plan(void);

#endif
