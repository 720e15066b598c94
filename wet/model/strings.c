/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

void mdl_strings_fini(struct mdl_strings *strings)
{
    for (size_t i = 0; i < strings->slot_count; i++)
        free(strings->slots[i]);
    free(strings->slots);
    memset(strings, 0, sizeof(*strings));
}

/* The slot that holds the text, or the empty one where it belongs. */
static size_t find_slot(char *const *slots, size_t slot_count, const char *text, size_t length)
{
    size_t at = XXH3_64bits(text, length) & (slot_count - 1);

    while (slots[at] && (strncmp(slots[at], text, length) != 0 || slots[at][length] != '\0'))
        at = (at + 1) & (slot_count - 1);
    return at;
}

static int grow(struct mdl_strings *strings)
{
    size_t slot_count = strings->slot_count ? strings->slot_count * 2 : 256;
    char **slots = calloc(slot_count, sizeof(*slots));

    if (!slots)
        return -1;
    for (size_t i = 0; i < strings->slot_count; i++) {
        char *text = strings->slots[i];

        if (text)
            slots[find_slot(slots, slot_count, text, strlen(text))] = text;
    }
    free(strings->slots);
    strings->slots = slots;
    strings->slot_count = slot_count;
    return 0;
}

const char *mdl_strings_intern(struct mdl_strings *strings, const char *text, size_t length)
{
    size_t slot;

    length = strnlen(text, length);
    if (strings->count * 2 >= strings->slot_count && grow(strings) < 0)
        return NULL;
    slot = find_slot(strings->slots, strings->slot_count, text, length);
    if (!strings->slots[slot]) {
        strings->slots[slot] = strndup(text, length);
        if (!strings->slots[slot])
            return NULL;
        strings->count++;
    }
    return strings->slots[slot];
}

const char *mdl_strings_format(struct mdl_strings *strings, const char *format, ...)
{
    va_list args;
    char *text;
    const char *interned;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    interned = mdl_strings_intern(strings, text, (size_t)length);
    free(text);
    return interned;
}
