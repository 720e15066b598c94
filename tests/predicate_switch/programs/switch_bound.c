/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop bound: the smoothing of a row ends one element early where the row's length is even. */
#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 6,
    COLUMNS = 16,
};

static int lengths[ROWS] = {5, 9, 7, 12, 3, 11};
static int cells[ROWS][COLUMNS];

static void fill(void)
{
    for (int row = 0; row < ROWS; row++)
        for (int at = 0; at < lengths[row]; at++)
            cells[row][at] = (row * 31 + at * 29) % 50;
}

static void smooth(int *row, int length)
{
    int before = row[0];

#ifdef FIXED
    for (int at = 1; at < length; at++) {
#else
    for (int at = 1; at < length - (length % 2 == 0); at++) { /* FAULT */
#endif
        int here = row[at];
        if (here < before)
            row[at] = (here + before) / 2;
        before = here;
    }
}

static int sum(const int *row, int length)
{
    int total = 0;

    for (int at = 0; at < length; at++)
        total += row[at] % 7 == 0 ? 2 * row[at] : row[at];
    return total;
}

int main(void)
{
    fill();
    for (int row = 0; row < ROWS; row++)
        smooth(cells[row], lengths[row]);
    for (int row = 0; row < ROWS; row++)
        printf("row %d: %d\n", row, sum(cells[row], lengths[row]));
    return 0;
}
