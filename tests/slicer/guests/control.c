/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ways of control. In each case the line marked EFFECT ran because of what the line marked CONTROL
 * decided, and uses no value of it: only control dependence leads from one to the other. What a line
 * marked GUARD decided is whether the run went on, to the line marked AFTER; UNGUARDED: it did in any case.
 */
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

static volatile int given = 5, sink;
static jmp_buf back;
static sigjmp_buf away;

static void by_table(int n)
{
    switch (n) { /* CONTROL table */
    case 0:
        sink = 10;
        break;
    case 1:
        sink = 21;
        break;
    case 2:
        sink = 34;
        break;
    case 3:
        sink = 47;
        break;
    case 4:
        sink = 59;
        break;
    case 5:
        sink = given; /* EFFECT table */
        break;
    default:
        sink = 99;
    }
}

__attribute__((noinline)) static void reached(void)
{
    sink = given; /* EFFECT tail */
}

__attribute__((noinline)) static void other(void)
{
    sink = 3;
}

__attribute__((noinline)) static void by_tail_call(int n)
{
    if (n > 2) /* CONTROL tail */
        reached();
    else
        other();
}

__attribute__((noinline)) static void leave(int n)
{
    if (n > 2) /* CONTROL longjmp */
        longjmp(back, 1);
}

static void by_longjmp(int n)
{
    if (setjmp(back) == 0) {
        leave(n);
        sink = 1;
    } else {
        sink = given; /* EFFECT longjmp */
    }
}

static void on_fault(int signal)
{
    sink = given; /* EFFECT fault */
    siglongjmp(away, signal);
}

static void by_fault(int n)
{
    volatile int *nowhere = NULL;

    if (sigsetjmp(away, 1))
        return;
    sink = 2;  /* or the two conditions may become one, of the first's line */
    if (n > 4) /* CONTROL fault */
        sink = *nowhere;
}

static void on_raise(int signal)
{
    (void)signal;
    sink = given; /* EFFECT raise */
}

static void by_raise(int n)
{
    if (n > 3) /* CONTROL raise */
        raise(SIGUSR1);
}

__attribute__((noinline)) static void give_up(void)
{
    exit(1);
}

/* Never returns either, though nothing declares it. */
__attribute__((noinline)) static void die(int code)
{
    sink = code;
    give_up();
}

__attribute__((noinline)) static void complain(int code)
{
    if (code == 8)
        give_up();
    sink = code;
}

static void by_exit(int n)
{
    if (n > 6) /* GUARD exit */
        exit(1);
    sink = given; /* AFTER exit */
}

static void by_die(int n)
{
    if (n > 6) /* GUARD die */
        die(n);
    sink = given; /* AFTER die */
}

static void by_assert(int n)
{
    assert(n < 7); /* GUARD assert */
    sink = given;  /* AFTER assert */
}

static void by_jump_back(int n)
{
    if (n > 6) /* GUARD jump */
        longjmp(back, 1);
    sink = given; /* AFTER jump */
}

static void by_complaint(int n)
{
    if (n > 6) /* GUARD complaint */
        complain(n);
    sink = given; /* UNGUARDED complaint */
}

int main(void)
{
    signal(SIGSEGV, on_fault);
    signal(SIGUSR1, on_raise);
    by_table(given);
    by_tail_call(given);
    by_longjmp(given);
    by_fault(given);
    by_raise(given);
    by_exit(given);
    by_die(given);
    by_assert(given);
    by_jump_back(given);
    by_complaint(given);
    return 0;
}
