/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong condition, ending in a crash: removing a name from a hash chain leaves the chain's head
 * in place when the removed entry is the head and has a successor. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 4,
};

struct symbol {
    struct symbol *next;
    char *name;
    int value;
};

static struct symbol *table[BUCKETS];

static unsigned hash(const char *name)
{
    unsigned h = 0;

    while (*name)
        h = h * 5 + (unsigned char)*name++;
    return h % BUCKETS;
}

static struct symbol *find(const char *name)
{
    struct symbol *symbol = table[hash(name)];

    while (symbol && strcmp(symbol->name, name) != 0)
        symbol = symbol->next;
    return symbol;
}

static void set(const char *name, int value)
{
    struct symbol *symbol = find(name);
    unsigned slot = hash(name);

    if (!symbol) {
        symbol = calloc(1, sizeof(*symbol));
        if (!symbol)
            exit(1);
        symbol->name = strdup(name);
        symbol->next = table[slot];
        table[slot] = symbol;
    }
    symbol->value = value;
}

static void discard(struct symbol *symbol)
{
    free(symbol->name);
    symbol->name = NULL;
    symbol->next = NULL;
    symbol->value = -1;
}

static void unset(const char *name)
{
    unsigned slot = hash(name);
    struct symbol *before = NULL;
    struct symbol *symbol = table[slot];

    for (; symbol && strcmp(symbol->name, name) != 0; symbol = symbol->next)
        before = symbol;
    if (!symbol)
        return;
    if (before)
        before->next = symbol->next;
#ifdef FIXED
    else
#else
    else if (!symbol->next) /* FAULT */
#endif
        table[slot] = symbol->next;
    discard(symbol);
}

static void run(const char *command)
{
    char name[16];
    int value;
    const struct symbol *symbol;

    if (sscanf(command, "%15[a-z]=%d", name, &value) == 2) {
        set(name, value);
    } else if (sscanf(command, "-%15[a-z]", name) == 1) {
        unset(name);
    } else {
        symbol = find(command);
        printf("%s %d\n", command, symbol ? symbol->value : 0);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    return 0;
}
