/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recorded code runs on the real processor, so that has to be one on which it does the same. */
#ifndef TESTS_ORACLE_ORACLE_PROCESSOR_H
#define TESTS_ORACLE_ORACLE_PROCESSOR_H

#include "recorder/rr_trace/rr_trace.h"

/*
 * 0 if this processor can run what the recorded one ran. Where cpuid is answered by the recording
 * (CPUID faulting) it needs the features that the recorded answers promise and the recorded layout
 * of XSAVE images; elsewhere cpuid runs, and its answers must be the recorded ones. Otherwise
 * -WETDBG_ERR_UNSUPPORTED names the leaf that differs.
 */
int orc_processor_check(const struct rrt_header *header);

#endif
