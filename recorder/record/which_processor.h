/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notes what the processor of a finished recording tells programs of itself
 * (rr_trace/trace_processor.h). */
#ifndef RECORDER_RECORD_WHICH_PROCESSOR_H
#define RECORDER_RECORD_WHICH_PROCESSOR_H

/*
 * Asks the processor that rr was bound to, by running there for a moment, and leaves
 * `wetdbg.processor` in the trace directory. No file is made if rr was not bound (-u), or if the
 * calling thread may not run there. Errors are named.
 */
int rec_processor_write(const char *trace_dir);

#endif
