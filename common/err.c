/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/err.h"

#include <errno.h>
#include <string.h>

static _Thread_local char message[2048];

void wd_error_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
}

void wd_error_say_errno(const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    int used = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (used >= 0 && (size_t)used < sizeof message)
        snprintf(message + used, sizeof message - (size_t)used, ": %s", strerror(saved));
}

void wd_error_clear(void)
{
    message[0] = 0;
}

const char *wd_error_message(int code)
{
    if (message[0])
        return message;
    if (-code > 0 && -code < 4096)
        return strerror(-code);
    return "unknown error";
}

int wd_error_exit_status(int code)
{
    switch (-code) {
    case 0:
        return WD_EXIT_OK;
    case WD_ERR_USAGE:
        return WD_EXIT_USAGE;
    case WD_ERR_NOT_FOUND:
        return WD_EXIT_NOT_FOUND;
    case WD_ERR_INTERRUPTED:
        return WD_EXIT_INTERRUPTED;
    case WD_ERR_CORRUPT:
    case WD_ERR_UNSUPPORTED:
    case WD_ERR_VERSION:
        return WD_EXIT_TRACE;
    case WD_ERR_DIVERGED:
        return WD_EXIT_DIVERGED;
    default:
        return WD_EXIT_MACHINE;
    }
}
