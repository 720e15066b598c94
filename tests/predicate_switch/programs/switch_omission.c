/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An omitted definition: the flag that a name was kept is set only for names with a dot, so that
 * the header is written without it. Nothing in the run leads from the header to that decision. */
#include <stdio.h>
#include <string.h>

enum {
    FLAG_TEXT = 1,
    FLAG_NAME = 8,
};

struct packer {
    unsigned char flags;
    unsigned crc;
    char name[32];
    unsigned char out[128];
    int used;
};

static void put(struct packer *packer, int byte)
{
    if (packer->used < (int)sizeof(packer->out))
        packer->out[packer->used++] = (unsigned char)byte;
}

static void begin(struct packer *packer, const char *name, const char *text)
{
    size_t length = strlen(name);

    packer->flags = 0;
    packer->used = 0;
    packer->crc = 0;
    for (const char *at = text; *at; at++)
        if (*at >= ' ')
            packer->flags |= FLAG_TEXT;
    if (length >= sizeof(packer->name))
        length = sizeof(packer->name) - 1;
    memcpy(packer->name, name, length);
    packer->name[length] = '\0';
#ifdef FIXED
    if (length > 0)
#else
    if (strchr(name, '.')) /* FAULT */
#endif
        packer->flags |= FLAG_NAME;
}

static void pack(struct packer *packer, const char *text)
{
    put(packer, 0x1f);
    put(packer, 0x8b);
    put(packer, packer->flags);
    if (packer->flags & FLAG_NAME)
        for (const char *at = packer->name; *at; at++)
            put(packer, *at);
    for (const char *at = text; *at;) {
        int run = 1;
        while (at[run] == *at && run < 9)
            run++;
        packer->crc = packer->crc * 31 + (unsigned char)*at * (unsigned)run;
        if (run > 2)
            put(packer, '0' + run);
        put(packer, *at);
        at += run > 2 ? run : 1;
    }
}

static void show(const struct packer *packer)
{
    for (int i = 0; i < packer->used; i++)
        printf("%02x%s", packer->out[i], i % 16 == 15 ? "\n" : " ");
    printf("\ncrc %u\n", packer->crc);
}

int main(int argc, char **argv)
{
    struct packer packer;

    for (int i = 1; i + 1 < argc; i += 2) {
        begin(&packer, argv[i], argv[i + 1]);
        pack(&packer, argv[i + 1]);
        show(&packer);
    }
    return 0;
}
