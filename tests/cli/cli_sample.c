/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What test_cli_engine records: a list is searched for a value that is not in it. Compiled at -O0;
 * the test finds its lines by their marks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int same; /* written once, with what is there */

struct item {
    int value;
    char tag;
    struct item *next;
};

static struct item *find(struct item *list, int value)
{
    while (list && list->value != value)
        list = list->next; /* STEP */
    return list;
}

static int tag_of(struct item *list, int value)
{
    struct item *found = find(list, value);
    return found->tag; /* CRASH */
}

/* Goes to the same crash with as many calls on the stack as `depth` says. */
static int descend(unsigned depth)
{
    return depth == 0 ? tag_of(NULL, 0) : descend(depth - 1) + 1;
}

int main(int argc, char **argv)
{
    struct item *list = NULL;
    int last = 4; /* FAULT: should be 5 */
    int sum = 0;
    char letter = 'a';
    same = 0;
    for (int i = 0; i < last; i++) {
        struct item *item = malloc(sizeof(*item));
        item->value = i * 3;
        item->tag = (char)(letter + i);
        item->next = list;
        list = item; /* PUSH */
    }
    if (argc > 1)
        printf("argument %s\n", argv[1]);
    fflush(stdout);
    if (argc > 2)
        return descend((unsigned)atoi(argv[2])); /* DEEP */
    for (int k = 0; k <= 12; k += 3)
        sum += tag_of(list, k); /* CALL */
    printf("sum %d\n", sum);
    return 0;
}
