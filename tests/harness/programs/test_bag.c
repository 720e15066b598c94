/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests of bag.c without a framework: the first wrong answer ends the program. */
#include <stdio.h>
#include <stdlib.h>

#include "bag.h"

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

void test_adding(void)
{
    struct bag bag = {.count = 0};

    for (int i = 0; i < 8; i++)
        if (!bag_add(&bag, 3 * i))
            fail("there is room");
    if (bag_add(&bag, 99))
        fail("there is no room");
    if (bag_at(&bag, 0) != 0)
        fail("the first");
    if (bag_at(&bag, 7) != 21)
        fail("the last");
    if (bag_at(&bag, 8) != -1)
        fail("none");
}

void test_removing(void)
{
    struct bag bag = {.count = 0};

    bag_add(&bag, 5);
    bag_add(&bag, 6);
    bag_add(&bag, 7);
    if (bag_remove(&bag, 8))
        fail("it is not there");
    if (!bag_remove(&bag, 5))
        fail("it was there");
    if (bag.count != 2)
        fail("one less");
    if (bag_at(&bag, 0) != 6)
        fail("the next one");
    if (bag_at(&bag, 1) != 7)
        fail("the one behind it");
}
