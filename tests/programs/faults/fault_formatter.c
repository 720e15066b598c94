/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Overflow into a neighbour: a heading that is copied without a limit runs into the column width
 * stored behind it. */
#include <stdio.h>
#include <string.h>

enum {
    COLUMNS = 3,
    ROWS = 4,
};

struct column {
    char heading[8];
    char width;
    char align; /* '<' or '>' */
};

static struct column columns[COLUMNS];

__attribute__((noinline)) static void copy_text(char *to, const char *from, size_t limit)
{
#ifdef FIXED
    size_t length = strlen(from) < limit ? strlen(from) : limit - 1;
#else
    size_t length = limit ? strlen(from) : 0; /* FAULT */
#endif

    for (size_t i = 0; i < length; i++)
        to[i] = from[i];
    to[length] = '\0';
}

static void define_column(int i, const char *heading, int width, char align)
{
    columns[i].width = (char)width;
    columns[i].align = align;
    copy_text(columns[i].heading, heading, sizeof(columns[i].heading));
}

static void print_cell(const struct column *column, const char *text)
{
    int pad = column->width - (int)strlen(text);

    if (column->align == '>')
        for (int i = 0; i < pad; i++)
            putchar(' ');
    fputs(text, stdout);
    if (column->align == '<')
        for (int i = 0; i < pad; i++)
            putchar(' ');
    putchar('|');
}

static void print_rule(void)
{
    for (int i = 0; i < COLUMNS; i++) {
        for (int j = 0; j < columns[i].width; j++)
            putchar('-');
        putchar('+');
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const char *const cells[ROWS][COLUMNS] = {
        {"apple", "12", "0.50"},
        {"banana", "7", "0.25"},
        {"cherry", "300", "0.05"},
        {"date", "1", "1.75"},
    };

    define_column(0, "fruit", 10, '<');
    define_column(1, argc > 1 ? argv[1] : "count", 6, '>');
    define_column(2, "price", 8, '>');
    for (int i = 0; i < COLUMNS; i++)
        print_cell(&columns[i], columns[i].heading);
    putchar('\n');
    print_rule();
    for (int row = 0; row < ROWS; row++) {
        for (int i = 0; i < COLUMNS; i++)
            print_cell(&columns[i], cells[row][i]);
        putchar('\n');
    }
    print_rule();
    return 0;
}
