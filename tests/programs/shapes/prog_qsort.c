/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Library code that calls back: qsort and bsearch over structures and strings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct city {
    const char *name;
    int people;
};

static int compare_calls;

static int by_people(const void *a, const void *b)
{
    const struct city *left = a;
    const struct city *right = b;

    compare_calls++;
    return (left->people > right->people) - (left->people < right->people);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct city *)a)->name, ((const struct city *)b)->name);
}

int main(void)
{
    struct city cities[] = {{"Lund", 94},   {"Oulu", 209},  {"Bergen", 286}, {"Aarhus", 285},
                            {"Turku", 195}, {"Espoo", 297}, {"Odense", 181}, {"Visby", 25}};
    const size_t count = sizeof(cities) / sizeof(cities[0]);
    struct city wanted = {"Turku", 0};
    const struct city *found;

    qsort(cities, count, sizeof(cities[0]), by_people);
    for (size_t i = 0; i < count; i++)
        printf("%s %d\n", cities[i].name, cities[i].people);
    qsort(cities, count, sizeof(cities[0]), by_name);
    found = bsearch(&wanted, cities, count, sizeof(cities[0]), by_name);
    printf("first %s, found %d, compared %s\n", cities[0].name, found ? found->people : -1,
           compare_calls > 10 ? "often" : "rarely");
    return 0;
}
