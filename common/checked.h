/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Structures of ours that are looked at as a whole.
 *
 * One that others trust has a function *_validate() beside it: 0, or a failure that gives the
 * reason. It looks at everything, in time that no release has. Builds that check (Debug, and under
 * a sanitizer) call it where the structure was made or changed, and pass the failure up like any
 * other:
 *
 *     err = wd_checked(wet_space_validate(space));
 *
 * In other builds that is 0, and the call is not made. What is to hold for bytes from outside is
 * checked in every build, and never by this.
 */
#ifndef COMMON_CHECKED_H
#define COMMON_CHECKED_H

#include <wetdbg/errors.h>

#ifdef WD_CHECKED
#define wd_checked(call) (call)
#else
#define wd_checked(call) 0
#endif

/* How a *_validate() fails: with a format of its own, and whose fault that is. */
#define wd_fail_defect(format, ...)                                                                \
    wetdbg_fail(-WETDBG_ERR_MACHINE, format "; this is a defect of wetdbg", ##__VA_ARGS__)

#endif
