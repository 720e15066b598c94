/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t is_pending;
static void (*tell_fn)(void *context);
static void *tell_context;

static void on_interrupt(int number)
{
    (void)number;
    is_pending = 1;
    if (tell_fn)
        tell_fn(tell_context);
}

static void set_handler(void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
}

void cli_interrupt_catch(void (*tell)(void *context), void *context)
{
    /* Never a moment in which the handler could see one half of the pair. */
    cli_interrupt_release();
    tell_context = context;
    tell_fn = tell;
    is_pending = 0;
    set_handler(on_interrupt);
}

void cli_interrupt_release(void)
{
    set_handler(SIG_DFL);
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
