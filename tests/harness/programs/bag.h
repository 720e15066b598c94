/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>

struct bag {
    int items[8];
    int count;
};

bool bag_add(struct bag *bag, int item);
bool bag_remove(struct bag *bag, int item);
int bag_at(const struct bag *bag, int index);

void test_adding(void);
void test_removing(void);
