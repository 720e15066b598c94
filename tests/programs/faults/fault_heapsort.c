/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong condition: sift_down looks at the right child only if one more element follows it, so
 * the last leaf of an odd heap is missed. */
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_VALUES = 64,
};

static unsigned comparisons;

static int is_less(int a, int b)
{
    comparisons++;
    return a < b;
}

static void swap(int *a, int *b)
{
    int held = *a;

    *a = *b;
    *b = held;
}

static void sift_down(int *heap, int root, int count)
{
    for (;;) {
        int child = 2 * root + 1;
        if (child >= count)
            return;
#ifdef FIXED
        if (child + 1 < count && is_less(heap[child], heap[child + 1]))
#else
        if (child + 2 < count && is_less(heap[child], heap[child + 1])) /* FAULT */
#endif
            child++;
        if (!is_less(heap[root], heap[child]))
            return;
        swap(&heap[root], &heap[child]);
        root = child;
    }
}

static void heap_sort(int *values, int count)
{
    for (int i = count / 2 - 1; i >= 0; i--)
        sift_down(values, i, count);
    for (int end = count - 1; end > 0; end--) {
        swap(&values[0], &values[end]);
        sift_down(values, 0, end);
    }
}

static void insertion_sort(int *values, int count)
{
    for (int i = 1; i < count; i++) {
        int value = values[i];
        int at = i;
        for (; at > 0 && is_less(value, values[at - 1]); at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

static void print_values(const char *title, const int *values, int count)
{
    printf("%s:", title);
    for (int i = 0; i < count; i++)
        printf(" %d", values[i]);
    putchar('\n');
}

static int median(const int *values, int count)
{
    int copy[MAX_VALUES];

    for (int i = 0; i < count; i++)
        copy[i] = values[i];
    insertion_sort(copy, count);
    return count ? copy[count / 2] : 0;
}

int main(int argc, char **argv)
{
    int values[MAX_VALUES] = {0};
    int count = 0;

    for (int i = 1; i < argc && count < MAX_VALUES; i++)
        values[count++] = atoi(argv[i]);
    printf("median %d\n", median(values, count));
    print_values("given", values, count);
    heap_sort(values, count);
    print_values("sorted", values, count);
    printf("%s comparisons\n", comparisons > 10 ? "many" : "few");
    return 0;
}
