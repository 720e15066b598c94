/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * On whose behalf library code ran: the nearest function on the stack that is the program's own.
 *
 * Own is code of the main program, or of a library that has source lines; never that of the C and
 * C++ libraries, of the dynamic linker, of rr's preload and the kernel's page, whatever debug
 * information they have.
 * In a module with debug information only code that has lines is own (so that the C library in a
 * static program is not); a main program without any is own as a whole.
 */
#ifndef WETDBG_CALLER_H
#define WETDBG_CALLER_H

#include <stdbool.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

bool wetdbg_is_own(struct wetdbg *wet, uint64_t pc);

struct wetdbg_caller {
    wetdbg_time time; /* of the call; of the instruction itself if that is own; 0: not known */
    uint64_t pc;      /* an address in that instruction, for lines and functions */
    bool is_self;     /* the instruction asked about is own */
    unsigned depth;   /* frames in between, 0 if is_self */
    /* Where that is in the source, and the function there; of what is inlined from a header of the
     * system (/usr/include) where it was inlined. NULL and 0: not known. The model's. */
    const char *file, *function;
    uint32_t line;
};

/*
 * The nearest own code on the stack of the thread that runs at `time`, as it is just before that
 * instruction. -WETDBG_ERR_NOT_FOUND, without a sentence, if there is none, or where the stack
 * cannot be followed; errors of running an interval.
 */
int wetdbg_own_caller(struct wetdbg *wet, wetdbg_time time, struct wetdbg_caller *caller);

WETDBG_END

#endif
