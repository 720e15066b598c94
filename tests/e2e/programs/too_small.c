/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A heap buffer that is allocated too small: there is room for as many bytes as there are numbers. The numbers
 * that are put into it come to lie over the pointer of the list that was allocated next.
 */
#include <stdio.h>
#include <stdlib.h>

struct list {
    int *first;
    int count;
};

static int sum_of(const struct list *list)
{
    int sum = 0;
    for (int i = 0; i < list->count; i++)
        sum += list->first[i]; /* CRASH */
    return sum;
}

int main(int argc, char **argv)
{
    static int numbers[] = {1, 2, 3};
    int count = argc > 1 ? atoi(argv[1]) : 4;  /* COUNT */
    int *squares = malloc((size_t)count);      /* ALLOCATE */
    struct list *list = malloc(sizeof(*list)); /* NEXT */
    int checked = count * 2;                   /* UNRELATED */
    list->first = numbers;                     /* RIGHT */
    list->count = 3;
    for (int i = 0; i < count; i++)
        squares[i] = i * i; /* STORE */
    printf("%d, %d\n", sum_of(list), checked);
    return 0;
}
