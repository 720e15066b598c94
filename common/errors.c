/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sentence of the thread's last failure, beside its code (<wetdbg/errors.h>). */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include <wetdbg/errors.h>

static _Thread_local struct {
    int code; /* 0 = nothing was said */
    char message[2048];
} last;

static void say(int code, const char *format, va_list args, const char *reason)
{
    char message[sizeof(last.message)];
    int used = vsnprintf(message, sizeof(message), format, args);
    if (reason && used >= 0 && (size_t)used < sizeof(message))
        snprintf(message + used, sizeof(message) - (size_t)used, ": %s", reason);
    memcpy(last.message, message, sizeof(message));
    last.code = code;
}

void wetdbg_error_say(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(code, format, args, NULL);
    va_end(args);
}

/* "File too large" is said of memory files, too: few will think of the shell's limit then. */
static const char *reason_of(int err)
{
    struct rlimit limit;
    if (err == EFBIG && !getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY)
        return "larger than files may be here (ulimit -f)";
    return strerror(err);
}

void wetdbg_error_say_errno(int code, const char *format, ...)
{
    const char *reason = reason_of(errno);
    va_list args;
    va_start(args, format);
    say(code, format, args, reason);
    va_end(args);
}

void wetdbg_error_say_nothing(void)
{
    last.code = 0;
}

static const char *general_message(int code)
{
    switch (-code) {
    case WETDBG_ERR_USAGE:
        return "that cannot be asked in this way";
    case WETDBG_ERR_NOT_FOUND:
        return "not found";
    case WETDBG_ERR_INTERRUPTED:
        return "interrupted";
    case WETDBG_ERR_CORRUPT:
        return "the bytes are damaged, or those of something else";
    case WETDBG_ERR_UNSUPPORTED:
        return "that is not supported";
    case WETDBG_ERR_VERSION:
        return "written by another version";
    case WETDBG_ERR_DIVERGED:
        return "the replay did not do what was recorded";
    case WETDBG_ERR_MACHINE:
        return "the machine does not do what is needed";
    default:
        return -code > 0 && -code < WETDBG_ERR_USAGE ? strerror(-code) : "unknown error";
    }
}

const char *wetdbg_error(int code)
{
    return last.code && last.code == code ? last.message : general_message(code);
}
