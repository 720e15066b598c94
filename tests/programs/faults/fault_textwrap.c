/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Off by one: the line breaker forgets that the blank before a word takes a column, so some lines
 * come out one character too long. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
    char text[128];
    int used;
    int words;
};

struct totals {
    int lines;
    int words;
    int longest;
};

static void line_flush(struct line *line, struct totals *totals)
{
    if (line->words == 0)
        return;
    line->text[line->used] = '\0';
    printf("|%s|\n", line->text);
    totals->lines++;
    totals->words += line->words;
    if (line->used > totals->longest)
        totals->longest = line->used;
    line->used = 0;
    line->words = 0;
}

static int fits(const struct line *line, int length, int width)
{
    if (line->words == 0)
        return 1;
#ifdef FIXED
    return line->used + 1 + length <= width;
#else
    return line->used + length <= width; /* FAULT */
#endif
}

static void line_add(struct line *line, const char *word, int length)
{
    if (line->words > 0)
        line->text[line->used++] = ' ';
    memcpy(line->text + line->used, word, (size_t)length);
    line->used += length;
    line->words++;
}

static void wrap(const char *text, int width, struct totals *totals)
{
    struct line line = {.used = 0};

    while (*text) {
        int length = (int)strcspn(text, " \n");
        if (length > width)
            length = width;
        if (length > 0) {
            if (!fits(&line, length, width))
                line_flush(&line, totals);
            line_add(&line, text, length);
        }
        text += length;
        if (*text == '\n' && text[1] == '\n')
            line_flush(&line, totals);
        while (*text == ' ' || *text == '\n')
            text++;
    }
    line_flush(&line, totals);
}

int main(int argc, char **argv)
{
    char text[1024];
    struct totals totals = {0};
    int width = argc > 1 ? atoi(argv[1]) : 30;
    size_t size = fread(text, 1, sizeof(text) - 1, stdin);

    if (width < 1 || width > 100)
        return 2;
    text[size] = '\0';
    wrap(text, width, &totals);
    printf("%d lines, %d words, %s\n", totals.lines, totals.words,
           totals.longest <= width ? "fits" : "too wide");
    return 0;
}
