/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong table entry: the days before a month, of which one is off; dates of autumn come out on
 * the wrong weekday. */
#include <stdio.h>
#include <stdlib.h>

struct date {
    int year;
    int month;
    int day;
};

static const char *const weekdays[] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

static const short days_before[] = {
    0,   /* January */
    31,  /* February */
    59,  /* March */
    90,  /* April */
    120, /* May */
    151, /* June */
    181, /* July */
    212, /* August */
#ifdef FIXED
    243, /* September */
#else
    242,
/* September */ /* FAULT */
#endif
    273, /* October */
    304, /* November */
    334, /* December */
};

static int is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* Days since 1 January of the year 1, a Monday. */
static long day_number(const struct date *date)
{
    long years = date->year - 1;
    long days = years * 365 + years / 4 - years / 100 + years / 400;

    days += days_before[date->month - 1] + date->day - 1;
    if (date->month > 2 && is_leap(date->year))
        days++;
    return days;
}

static const char *weekday(const struct date *date)
{
    return weekdays[day_number(date) % 7];
}

static int parse_date(const char *text, struct date *date)
{
    return sscanf(text, "%d-%d-%d", &date->year, &date->month, &date->day) == 3 && date->year > 0 &&
           date->month >= 1 && date->month <= 12 && date->day >= 1 && date->day <= 31;
}

static void print_gap(const struct date *from, const struct date *to)
{
    long gap = day_number(to) - day_number(from);

    printf("  %ld days, %ld weeks and %ld\n", gap, gap / 7, gap % 7);
}

int main(int argc, char **argv)
{
    struct date last = {0};
    struct date date;

    for (int i = 1; i < argc; i++) {
        if (!parse_date(argv[i], &date)) {
            printf("%s: not a date\n", argv[i]);
            continue;
        }
        printf("%04d-%02d-%02d %s%s\n", date.year, date.month, date.day, weekday(&date),
               is_leap(date.year) ? " leap" : "");
        if (last.year)
            print_gap(&last, &date);
        last = date;
    }
    return 0;
}
