/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors as values, explained once.
 *
 * A fallible function returns 0, a negative errno, or a negative enum wetdbg_err. The lowest layer
 * that knows the path, offset or register calls wetdbg_fail(), which keeps the code and one
 * sentence for the thread; everybody above passes the code up and main() prints the sentence that
 * belongs to it. A sentence is printed only for the code it was kept with. So nobody has to forget
 * one: after a failure that was expected, memory that runs out is not called by the older sentence.
 * Whoever makes another code of one that failed says a sentence of its own.
 */
#ifndef WETDBG_ERRORS_H
#define WETDBG_ERRORS_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

/* Starts above errno values, grouped with gaps; numbers never change. */
enum wetdbg_err {
    /* what was asked */
    WETDBG_ERR_USAGE = 4100,
    WETDBG_ERR_NOT_FOUND = 4110,
    WETDBG_ERR_INTERRUPTED = 4120,
    /* what was given */
    WETDBG_ERR_CORRUPT = 4200,     /* bytes that cannot be a trace or a .wet file */
    WETDBG_ERR_UNSUPPORTED = 4210, /* well-formed, but needs what we or this CPU cannot do yet */
    WETDBG_ERR_VERSION = 4220,     /* written by another version */
    WETDBG_ERR_DIVERGED = 4230,    /* replay did not do what was recorded */
    /* the machine */
    WETDBG_ERR_MACHINE = 4300, /* rr missing, ptrace forbidden, a child died */
};

/*
 * Keeps the formatted sentence as the thread's last error and is `code` (negative). The sentence
 * names what and where; no trailing newline or full stop is needed. A macro, so that compilers see
 * in the caller's caller too that a failure is not 0: what a function gives back only on success
 * would else seem unset to them.
 */
#define wetdbg_fail(code, ...)                                                                     \
    __extension__({                                                                                \
        int wd_code_ = (code);                                                                     \
        wetdbg_error_say(wd_code_, __VA_ARGS__);                                                   \
        wd_code_;                                                                                  \
    })

/* Like wetdbg_fail(-errno) with ": strerror" appended. */
#define wetdbg_fail_errno(...)                                                                     \
    __extension__({                                                                                \
        int wd_code_ = wetdbg_error_of_errno();                                                    \
        wetdbg_error_say_errno(wd_code_, __VA_ARGS__);                                             \
        wd_code_;                                                                                  \
    })

/*
 * A failure that only the caller can put into words: is `code`, and forgets an older sentence that
 * was kept with the same one. Costs next to nothing, for questions that are often answered by no.
 */
#define wetdbg_fail_plain(code)                                                                    \
    __extension__({                                                                                \
        int wd_code_ = (code);                                                                     \
        wetdbg_error_say_nothing();                                                                \
        wd_code_;                                                                                  \
    })

/* What the macros call. The format's arguments may be the kept sentence itself. */
void wetdbg_error_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wetdbg_error_say_errno(int code, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void wetdbg_error_say_nothing(void);
static inline int wetdbg_error_of_errno(void)
{
    return errno > 0 ? -errno : -WETDBG_ERR_MACHINE;
}

/* The sentence of the thread's last wetdbg_fail, if that was for `code`; else what `code` says in
 * general. Borrowed until the thread's next wetdbg_fail. */
const char *wetdbg_error(int code);

WETDBG_END

#endif
