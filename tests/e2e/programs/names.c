/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every QQQQ of the program's file is overwritten with an escape sequence by the test that runs it, after it was
 * compiled: in names of files, types, members, variables, functions and of this line. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

enum kind_QQQQ {
    FIRST_QQQQ = 1,
    SECOND_QQQQ,
};

struct inner_QQQQ {
    int number_QQQQ;
};

struct outer_QQQQ {
    enum kind_QQQQ kind_QQQQ;
    struct inner_QQQQ inner_QQQQ;
    char text_QQQQ[16];
    int (*function_QQQQ)(struct outer_QQQQ *);
    union {
        int left_QQQQ;
        float right_QQQQ;
    } either_QQQQ;
};

struct outer_QQQQ global_QQQQ, *plain = &global_QQQQ; /* what can be typed is plain */
typedef struct outer_QQQQ alias_QQQQ;

__attribute__((noinline)) int work_QQQQ(alias_QQQQ *argument_QQQQ)
{
    int local_QQQQ = argument_QQQQ->inner_QQQQ.number_QQQQ * 3;
    argument_QQQQ->kind_QQQQ = SECOND_QQQQ;
    strcpy(argument_QQQQ->text_QQQQ, "QQQQ");
    return local_QQQQ; /* QQQQ */
}

int main(int argc, char **argv)
{
    prctl(PR_SET_NAME, "QQQQ");
    global_QQQQ.inner_QQQQ.number_QQQQ = argc + 3;
    global_QQQQ.function_QQQQ = work_QQQQ;
    printf("QQQQ %s %d\n", argv[0], global_QQQQ.function_QQQQ(&global_QQQQ));
    return global_QQQQ.kind_QQQQ == FIRST_QQQQ;
}
