/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places by themselves, at a time: *ADDRESS[+LEN][@TIME] and $REGISTER[@TIME]. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/criteria/criterion.h"
#include <wetdbg/errors.h>

#define BYTES_MAX (UINT64_C(16) << 20)

/* ---- times ---- */

static int read_number(const char *text, wetdbg_time *time)
{
    char *end;

    errno = 0;
    *time = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || errno || *end)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no time: a number is needed here", text);
    return 0;
}

/* Splits a copy of the text at its last '@'; *place is to be freed. */
static int split_time(const struct wetdbg_criterion *criterion, char **place, wetdbg_time *time)
{
    const struct wetdbg_standpoint *from = &criterion->from;
    const char *at = strrchr(criterion->text, '@');
    int err = 0;

    *time = from->now;
    if (at)
        err =
            from->read_time ? from->read_time(from->arg, at + 1, time) : read_number(at + 1, time);
    else if (from->now == 0)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "'%s': at which time? add @TIME", criterion->text);
    if (err)
        return err;
    size_t length = at ? (size_t)(at - criterion->text) : strlen(criterion->text);
    *place = strndup(criterion->text, length);
    return *place ? 0 : -ENOMEM;
}

/* ---- memory ---- */

static bool parse_bytes(const char *text, uint64_t *address, uint64_t *size)
{
    char *end;

    *size = 1;
    errno = 0;
    *address = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)*text) || errno)
        return false;
    if (*end == '+') {
        const char *digits = end + 1;
        *size = strtoull(digits, &end, 0);
        if (!isdigit((unsigned char)*digits) || errno || *size == 0)
            return false;
    }
    return *end == 0 && *address + *size > *address;
}

/* -WETDBG_ERR_NOT_FOUND where something was not mapped. */
static int check_mapped(struct wetdbg_state *state, uint64_t address, uint64_t size,
                        wetdbg_time time)
{
    uint8_t bytes[4096];

    for (uint64_t done = 0; done < size;) {
        uint64_t room = sizeof(bytes) - (address + done) % sizeof(bytes);
        uint64_t count = size - done < room ? size - done : room;
        int err = wetdbg_state_read(state, address + done, bytes, count);
        if (err == -EFAULT)
            return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing is mapped at 0x%llx at time %llu",
                               (unsigned long long)(address + done), (unsigned long long)time);
        if (err)
            return err;
        done += count;
    }
    return 0;
}

static void describe_memory(struct wetdbg_criterion *criterion, uint64_t address, uint64_t size,
                            wetdbg_time time)
{
    struct wetdbg_symbol symbol;
    char where[200] = "";

    if (wetdbg_symbol_at(wetdbg_get_model(criterion->wet), address, &symbol) == 0) {
        uint64_t off = address - symbol.start;
        if (off)
            snprintf(where, sizeof(where), " (%s+%llu)", symbol.name, (unsigned long long)off);
        else
            snprintf(where, sizeof(where), " (%s)", symbol.name);
    }
    snprintf(criterion->description, sizeof(criterion->description),
             "%llu byte%s at 0x%llx%s before time %llu", (unsigned long long)size,
             size == 1 ? "" : "s", (unsigned long long)address, where, (unsigned long long)time);
}

int slc_parse_memory(struct wetdbg_criterion *criterion)
{
    uint64_t address = 0, size = 0;
    struct wetdbg_state *state;
    struct slc_seed *seed;
    wetdbg_time time;
    char *text;
    int err = split_time(criterion, &text, &time);

    if (err)
        return err;
    bool is_good = parse_bytes(text + 1, &address, &size);
    free(text);
    if (!is_good)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'%s' is no place in memory: use *ADDRESS, *ADDRESS+LENGTH, with @TIME "
                           "behind it if need be",
                           criterion->text);
    if (size > BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s': %llu bytes are more than %llu",
                           criterion->text, (unsigned long long)size,
                           (unsigned long long)BYTES_MAX);
    err = slc_criterion_stand(criterion, time, &seed, &state);
    if (err)
        return err;
    err = check_mapped(state, address, size, time);
    wetdbg_state_close(state);
    if (!err)
        err = slc_seed_add_place(seed, address, size, WETDBG_EDGE_VALUE);
    if (!err)
        describe_memory(criterion, address, size, time);
    return err;
}

/* ---- registers ---- */

/* 4 for "eax" and "r9d", which stand for all of their register in a set; else 0. */
static uint8_t narrow_bytes(const char *name)
{
    bool is_new = tolower((unsigned char)*name) == 'r' && isdigit((unsigned char)name[1]);
    bool is_old = tolower((unsigned char)*name) == 'e' && strlen(name) == 3;

    return is_old || (is_new && tolower((unsigned char)name[strlen(name) - 1]) == 'd') ? 4 : 0;
}

int slc_parse_register(struct wetdbg_criterion *criterion)
{
    struct ins_regset set = {0};
    struct wetdbg_state *state;
    struct slc_seed *seed;
    wetdbg_time time;
    char *text;
    int err = split_time(criterion, &text, &time);

    if (err)
        return err;
    if (strcmp(text, "$rip") == 0 || strcmp(text, "$pc") == 0)
        err = wetdbg_fail(-WETDBG_ERR_USAGE,
                          "slices do not follow %s; FILE:LINE and FUNCTION with --control say how "
                          "the program got there",
                          text);
    else if (ins_regset_parse(text + 1, &set))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "no register is called '%s'", text);
    if (!err)
        err = slc_criterion_stand(criterion, time, &seed, &state);
    if (!err) {
        wetdbg_state_close(state);
        seed->regs[WETDBG_EDGE_VALUE] = set;
        seed->register_bytes = narrow_bytes(text + 1);
        snprintf(criterion->description, sizeof(criterion->description), "%s before time %llu",
                 text + 1, (unsigned long long)time);
    }
    free(text);
    return err;
}
