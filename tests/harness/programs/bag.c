/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What test_bag.c tests. */
#include "bag.h"

bool bag_add(struct bag *bag, int item)
{
    if (bag->count == 8)
        return false;
    bag->items[bag->count] = item;
    bag->count++;
    return true;
}

static int place_of(const struct bag *bag, int item)
{
    for (int i = 0; i < bag->count; i++)
        if (bag->items[i] == item)
            return i;
    return -1;
}

bool bag_remove(struct bag *bag, int item)
{
    int place = place_of(bag, item);

    if (place < 0)
        return false;
    for (int i = place + 1; i < bag->count - 1; i++) /* FAULT: all behind it move */
        bag->items[i - 1] = bag->items[i];
    bag->count--;
    return true;
}

int bag_at(const struct bag *bag, int index)
{
    return index < bag->count ? bag->items[index] : -1;
}
