/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output that ends. What was written to a descriptor ended where it did because of the line marked END: in
 * the function that wrote, in its caller, or in what made the program leave.
 */
#include <stdlib.h>
#include <unistd.h>

enum { LOOP = 10, LEAVING, CALLER, EXIT };

static volatile int given = 2, sink;

__attribute__((noinline)) static void put(int fd)
{
    sink = (int)write(fd, "x", 1);
}

static void by_loop(void)
{
    for (int i = 0; i < given; i++) /* END loop */
        put(LOOP);
    sink = given;
}

static void by_leaving(void)
{
    for (int i = 0;; i++) {
        if (i == 3) /* no end: it never got here */
            return;
        if (i == given) /* END leaving */
            break;
        put(LEAVING);
    }
    sink = given;
}

__attribute__((noinline)) static void twice(void)
{
    put(CALLER);
    put(CALLER);
}

static void by_caller(void)
{
    int i = 0;
    do {
        twice();
        i++;
    } while (i < given); /* END caller */
    sink = given;
}

__attribute__((noinline)) static void check(int i)
{
    if (i > given) /* END exit */
        exit(0);
}

int main(void)
{
    for (int fd = LOOP; fd <= EXIT; fd++)
        if (dup2(STDOUT_FILENO, fd) != fd)
            return 1;
    by_loop();
    by_leaving();
    by_caller();
    for (int i = 0; i < 1000; i++) {
        put(EXIT);
        check(i);
    }
    return 1;
}
