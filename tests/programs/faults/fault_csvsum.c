/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integer truncation: sums of columns pass through a 16-bit variable. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 6,
};

struct column {
    char name[16];
    long sum;
    long largest;
    int values;
    int errors;
};

static struct column columns[MAX_COLUMNS];
static int column_count;

/* Cuts the next field off *cursor; NULL at the end of the line. */
static char *next_field(char **cursor)
{
    char *field = *cursor;
    char *comma;

    if (!field)
        return NULL;
    comma = strchr(field, ',');
    if (comma)
        *comma++ = '\0';
    *cursor = comma;
    while (*field == ' ')
        field++;
    return field;
}

static void read_header(char *line)
{
    char *field;

    while (column_count < MAX_COLUMNS && (field = next_field(&line)) != NULL)
        snprintf(columns[column_count++].name, sizeof(columns[0].name), "%.15s", field);
}

static void add_value(struct column *column, long value)
{
#ifdef FIXED
    long sum = column->sum + value;
#else
    int16_t sum = (int16_t)(column->sum + value); /* FAULT */
#endif

    column->sum = sum;
    if (value > column->largest)
        column->largest = value;
    column->values++;
}

static void read_row(char *line)
{
    char *field;

    for (int i = 0; i < column_count && (field = next_field(&line)) != NULL; i++) {
        char *end;
        long value = strtol(field, &end, 10);
        if (end == field || *end != '\0')
            columns[i].errors++;
        else
            add_value(&columns[i], value);
    }
}

static void print_column(const struct column *column)
{
    printf("%-8s sum %6ld largest %5ld mean %5ld", column->name, column->sum, column->largest,
           column->values ? column->sum / column->values : 0);
    if (column->errors)
        printf(" (%d not numbers)", column->errors);
    putchar('\n');
}

int main(void)
{
    char line[256];
    int rows = 0;

    while (fgets(line, sizeof(line), stdin)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[0] == '\0' || line[0] == '#')
            continue;
        if (column_count == 0) {
            read_header(line);
            continue;
        }
        read_row(line);
        rows++;
    }
    printf("%d rows\n", rows);
    for (int i = 0; i < column_count; i++)
        print_column(&columns[i]);
    return 0;
}
