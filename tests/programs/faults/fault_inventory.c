/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong operator: an inventory report adds what was returned to the supplier instead of
 * subtracting it. */
#include <stdio.h>
#include <string.h>

enum movement_kind {
    RECEIVED,
    SOLD,
    RETURNED_BY_CUSTOMER,
    RETURNED_TO_SUPPLIER,
};

struct movement {
    const char *item;
    enum movement_kind kind;
    int count;
};

struct item {
    const char *name;
    int price_cents;
    int reorder_below;
    int stock;
    int touched;
};

static struct item items[] = {
    {"bolt", 12, 100, 250, 0},
    {"nut", 8, 100, 300, 0},
    {"washer", 3, 500, 450, 0},
    {"gear", 1250, 5, 9, 0},
};
static const int item_count = sizeof(items) / sizeof(items[0]);

static const struct movement movements[] = {
    {"bolt", SOLD, 40},
    {"gear", SOLD, 3},
    {"washer", RECEIVED, 200},
    {"nut", SOLD, 120},
    {"bolt", RETURNED_BY_CUSTOMER, 5},
    {"gear", RETURNED_BY_CUSTOMER, 1},
    {"washer", SOLD, 180},
    {"gear", RETURNED_TO_SUPPLIER, 4},
    {"nut", RECEIVED, 50},
    {"bolt", SOLD, 70},
};

static struct item *find_item(const char *name)
{
    for (int i = 0; i < item_count; i++)
        if (strcmp(items[i].name, name) == 0)
            return &items[i];
    return NULL;
}

static void apply(const struct movement *movement)
{
    struct item *item = find_item(movement->item);

    if (!item)
        return;
    item->touched++;
    switch (movement->kind) {
    case RECEIVED:
    case RETURNED_BY_CUSTOMER:
        item->stock += movement->count;
        break;
    case SOLD:
        item->stock -= movement->count;
        break;
    case RETURNED_TO_SUPPLIER:
#ifdef FIXED
        item->stock -= movement->count;
#else
        item->stock += movement->count; /* FAULT */
#endif
        break;
    }
}

static void print_item(const struct item *item)
{
    printf("%-8s %4d pieces %5d.%02d %s\n", item->name, item->stock,
           item->stock * item->price_cents / 100, item->stock * item->price_cents % 100,
           item->stock < item->reorder_below ? "reorder" : "-");
}

int main(int argc, char **argv)
{
    int limit = argc > 1 ? (int)strlen(argv[1]) : (int)(sizeof(movements) / sizeof(movements[0]));
    long value = 0;

    for (int i = 0; i < limit; i++)
        apply(&movements[i]);
    for (int i = 0; i < item_count; i++) {
        print_item(&items[i]);
        value += (long)items[i].stock * items[i].price_cents;
    }
    printf("total value %ld.%02ld\n", value / 100, value % 100);
    return 0;
}
