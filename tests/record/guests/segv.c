/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dirties stack and variables, then reads where nothing is mapped; the compiler is kept from
 * knowing. */
#define DEPTH 20

int *volatile nowhere = (int *)16;
volatile int visited[1000] = {7, 8};

static int dive(int depth)
{
    volatile char room[300];

    for (int i = 0; i < (int)sizeof(room); i++)
        room[i] = (char)(depth + i);
    visited[depth] += room[depth];
    return depth == DEPTH ? *nowhere : dive(depth + 1) + room[1];
}

int main(void)
{
    return dive(0);
}
