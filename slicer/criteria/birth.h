/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the program itself put bytes that were written later. */
#ifndef SLICER_CRITERIA_BIRTH_H
#define SLICER_CRITERIA_BIRTH_H

#include "slicer/criteria/criterion.h"

/*
 * Moves a criterion of output back from the calls that wrote it to what last stored each of its
 * bytes where the calls found them: putc's or memcpy's store into the buffer of stdio, or the
 * program's own. What decided that the buffer was full, or that the program left, is no part of the
 * criterion then. Bytes that nothing in the run stored stay where they are. 0 or an error of
 * running an interval.
 */
int slc_criterion_to_birth(struct wetdbg_criterion *criterion);

/* Notes in the info, and says in the description, by which of the program's own code the latest
 * byte was put there. */
int slc_criterion_name_birth(struct wetdbg_criterion *criterion);

#endif
