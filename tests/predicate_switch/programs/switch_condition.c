/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A wrong condition: a leap year is taken for none if it divides by 400. One decision of one call
 * is wrong, and all that was printed before it is right. */
#include <stdio.h>
#include <stdlib.h>

static int is_leap(int year)
{
#ifdef FIXED
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
#else
    return year % 4 == 0 && year % 100 != 0; /* FAULT */
#endif
}

static int days_of_month(int year, int month)
{
    if (month == 2)
        return is_leap(year) ? 29 : 28;
    return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static int days_since(int year, int month, int day)
{
    int days = day;

    for (int y = 1995; y < year; y++)
        for (int m = 1; m <= 12; m++)
            days += days_of_month(y, m);
    for (int m = 1; m < month; m++)
        days += days_of_month(year, m);
    return days - 1;
}

int main(int argc, char **argv)
{
    int year, month, day;

    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "%d-%d-%d", &year, &month, &day) == 3)
            printf("%s %d\n", argv[i], days_since(year, month, day));
        else
            printf("%s is no date\n", argv[i]);
    return 0;
}
