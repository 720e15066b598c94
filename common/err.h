/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Errors as values, explained once.
 *
 * A fallible function returns 0, a negative errno, or a negative enum wd_err. The lowest layer
 * that knows the path, offset or register calls wd_fail(), which keeps the code and one sentence for
 * the thread; everybody above passes the code up and main() prints the sentence that belongs to it.
 * A sentence is printed only for the code it was kept with. So nobody has to forget one: after a
 * failure that was expected, memory that runs out is not called by the older sentence. Whoever makes
 * another code of one that failed says a sentence of its own.
 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

/* Starts above errno values, grouped with gaps; numbers never change. */
enum wd_err {
    /* what was asked */
    WD_ERR_USAGE = 4100,
    WD_ERR_NOT_FOUND = 4110,
    WD_ERR_INTERRUPTED = 4120,
    /* what was given */
    WD_ERR_CORRUPT = 4200,     /* bytes that cannot be a trace or a .wet file */
    WD_ERR_UNSUPPORTED = 4210, /* well-formed, but needs what we or this CPU cannot do yet */
    WD_ERR_VERSION = 4220,     /* written by another version */
    WD_ERR_DIVERGED = 4230,    /* replay did not do what was recorded */
    /* the machine */
    WD_ERR_MACHINE = 4300, /* rr missing, ptrace forbidden, a child died */
};

/* Exit statuses of the command line (README, "Exit status"). */
enum wd_exit {
    WD_EXIT_OK = 0,
    WD_EXIT_NOT_FOUND = 1,
    WD_EXIT_USAGE = 2,
    WD_EXIT_TRACE = 3,
    WD_EXIT_DIVERGED = 4,
    WD_EXIT_MACHINE = 5,
    WD_EXIT_INTERRUPTED = 130,
};

/*
 * Keeps the formatted sentence as the thread's last error and is `code` (negative).
 * The sentence names what and where; no trailing newline or full stop is needed.
 * A macro, so that compilers see in the caller's caller too that a failure is not 0: what a function
 * gives back only on success would else seem unset to them.
 */
#define wd_fail(code, ...)                                                                         \
    ({                                                                                             \
        int wd_code_ = (code);                                                                     \
        wd_error_say(wd_code_, __VA_ARGS__);                                                       \
        wd_code_;                                                                                  \
    })

/* Like wd_fail(-errno) with ": strerror" appended. */
#define wd_fail_errno(...)                                                                         \
    ({                                                                                             \
        int wd_code_ = wd_error_of_errno();                                                        \
        wd_error_say_errno(wd_code_, __VA_ARGS__);                                                 \
        wd_code_;                                                                                  \
    })

/*
 * A failure that only the caller can put into words: is `code`, and forgets an older sentence that
 * was kept with the same one. Costs next to nothing, for questions that are often answered by no.
 */
#define wd_fail_plain(code)                                                                        \
    ({                                                                                             \
        int wd_code_ = (code);                                                                     \
        wd_error_say_nothing();                                                                    \
        wd_code_;                                                                                  \
    })

/* What the macros call. The format's arguments may be the kept sentence itself. */
void wd_error_say(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wd_error_say_errno(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
void wd_error_say_nothing(void);
static inline int wd_error_of_errno(void)
{
    return errno > 0 ? -errno : -WD_ERR_MACHINE;
}

/* The sentence of the thread's last wd_fail, if that was for `code`; else what `code` says in general.
 * Borrowed until the thread's next wd_fail. */
const char *wd_error_message(int code);

/* The exit status that belongs to a negative error code (0 gives 0). */
int wd_error_exit_status(int code);

#endif
