/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t is_pending, last_signal;
static void (*tell_fn)(void *context);
static void *tell_context;

static void on_interrupt(int number)
{
    last_signal = number;
    is_pending = 1;
    if (tell_fn)
        tell_fn(tell_context);
}

static bool has_all;

static void set_handler(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler}, old;
    sigemptyset(&action.sa_mask);
    if (number == SIGHUP && sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
        return;
    sigaction(number, &action, NULL);
}

void cli_interrupt_catch(void (*tell)(void *context), void *context)
{
    /* Never a moment in which the handler could see one half of the pair. */
    cli_interrupt_release();
    tell_context = context;
    tell_fn = tell;
    is_pending = last_signal = 0;
    set_handler(SIGINT, on_interrupt);
}

void cli_interrupt_catch_all(void)
{
    cli_interrupt_catch(NULL, NULL);
    has_all = true;
    set_handler(SIGTERM, on_interrupt);
    set_handler(SIGHUP, on_interrupt);
}

void cli_interrupt_hold_ends(void)
{
    last_signal = 0;
    set_handler(SIGTERM, on_interrupt);
    set_handler(SIGHUP, on_interrupt);
}

int cli_interrupt_let_ends(void)
{
    set_handler(SIGTERM, SIG_DFL);
    set_handler(SIGHUP, SIG_DFL);
    return last_signal == SIGTERM || last_signal == SIGHUP ? (int)last_signal : 0;
}

int cli_interrupt_signal(void)
{
    return last_signal;
}

void cli_interrupt_release(void)
{
    set_handler(SIGINT, SIG_DFL);
    if (has_all) {
        set_handler(SIGTERM, SIG_DFL);
        set_handler(SIGHUP, SIG_DFL);
        has_all = false;
    }
    tell_fn = NULL;
}

bool cli_interrupt_is_pending(void)
{
    return is_pending != 0;
}

const volatile sig_atomic_t *cli_interrupt_flag(void)
{
    return &is_pending;
}

void cli_interrupt_clear(void)
{
    is_pending = 0;
}
