/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/eval/kept.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/eval/arithmetic.h"
#include <wetdbg/errors.h>

#define KEPT_BYTES_MAX (1 << 20) /* of one value */

struct entry {
    struct cli_value value;
    uint8_t *bytes; /* of a value that was in memory */
    bool is_lost;   /* it was too large, or its memory was not there */
    char *name;     /* of a variable */
    char *expression, *text;
    wetdbg_time time;
};

struct entries {
    struct entry *list;
    size_t count;
};

struct cli_kept {
    struct entries history, variables;
};

static void entry_fini(struct entry *entry)
{
    free(entry->bytes);
    free(entry->name);
    free(entry->expression);
    free(entry->text);
}

static void entries_fini(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        entry_fini(&entries->list[i]);
    free(entries->list);
}

static struct entry *add(struct entries *entries)
{
    entries->list = cli_realloc(entries->list, entries->count + 1, sizeof(*entries->list));
    entries->list[entries->count] = (struct entry){.is_lost = true};
    return &entries->list[entries->count++];
}

struct cli_kept *cli_kept_new(void)
{
    struct cli_kept *kept = cli_malloc(sizeof(*kept));
    *kept = (struct cli_kept){0};
    return kept;
}

void cli_kept_free(struct cli_kept *kept)
{
    if (!kept)
        return;
    entries_fini(&kept->history);
    entries_fini(&kept->variables);
    free(kept);
}

/* ---- taking a value over ---- */

/* A pointer that was optimized out points to a variable of its own moment only. */
static void drop_synthetic(struct cli_value *value)
{
    for (unsigned i = 0; i < value->synthetic_count; i++)
        for (size_t at = value->synthetic[i].at; at < value->synthetic[i].at + 8; at++)
            if (at < sizeof(value->bytes))
                value->missing[at / 8] |= (uint8_t)(1u << at % 8);
    value->synthetic_count = 0;
}

static size_t size_of(const struct cli_value *value)
{
    return value->bit_size ? (value->bit_offset + value->bit_size + 7) / 8 : value->type.size_bytes;
}

/* Copies a value with its bytes; its name and texts stay. */
static int take(struct entry *entry, struct cli_moment *moment, const struct cli_value *value)
{
    struct cli_value made = *value;
    uint8_t *bytes = NULL;
    size_t size = size_of(value);
    if (value->is_in_memory && value->type.kind != WETDBG_TYPE_FUNCTION && size) {
        if (size > KEPT_BYTES_MAX)
            return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                               "a value of %zu bytes is too large to be kept", size);
        bytes = cli_malloc(size);
        int err = cli_value_load(moment, value, bytes, size);
        if (err) {
            free(bytes);
            return err;
        }
        made.kept = bytes;
        made.kept_bytes = size;
    }
    drop_synthetic(&made);
    free(entry->bytes);
    entry->bytes = bytes;
    entry->value = made;
    entry->time = moment->time;
    entry->is_lost = false;
    return 0;
}

/* A variable is no place of the program's memory, as far as its value fits into itself. */
static void leave_memory(struct entry *entry)
{
    struct cli_value *value = &entry->value;
    if (!value->kept || value->kept_bytes > sizeof(value->bytes))
        return;
    memcpy(value->bytes, value->kept, value->kept_bytes);
    value->is_in_memory = false;
    value->address = 0;
    value->kept = NULL;
    value->kept_bytes = 0;
    free(entry->bytes);
    entry->bytes = NULL;
}

size_t cli_kept_add(struct cli_kept *kept, struct cli_moment *moment, const struct cli_value *value,
                    const char *expression, const char *text)
{
    struct entry *entry = add(&kept->history);
    take(entry, moment, value); /* where that fails it is lost */
    entry->time = moment->time;
    entry->expression = cli_strdup(expression);
    entry->text = cli_strdup(text);
    return kept->history.count;
}

static struct entry *find_variable(const struct cli_kept *kept, const char *name)
{
    for (size_t i = 0; i < kept->variables.count; i++)
        if (strcmp(kept->variables.list[i].name, name) == 0)
            return &kept->variables.list[i];
    return NULL;
}

/* Puts an entry into the place of the variable of that name. */
static void put_variable(struct cli_kept *kept, const char *name, struct entry made)
{
    struct entry *entry = find_variable(kept, name);
    made.name = cli_strdup(name);
    if (!entry)
        entry = add(&kept->variables);
    entry_fini(entry);
    *entry = made;
}

int cli_kept_set(struct cli_kept *kept, struct cli_moment *moment, const char *name,
                 const struct cli_value *value)
{
    struct entry made = {.is_lost = true};
    int err = take(&made, moment, value);
    if (err)
        return err;
    leave_memory(&made);
    put_variable(kept, name, made);
    return 0;
}

void cli_kept_set_integer(struct cli_kept *kept, const char *name, int64_t number)
{
    struct entry made = {.is_lost = false};
    bool is_int = number >= INT32_MIN && number <= INT32_MAX;
    cli_value_set(&made.value, cli_type_basic(is_int ? CLI_BASIC_INT : CLI_BASIC_LONG),
                  (uint64_t)number);
    put_variable(kept, name, made);
}

/* ---- looking one up ---- */

bool cli_kept_is_number(const char *name)
{
    name += *name == '$';
    return !name[strspn(name, "0123456789")];
}

static int find_number(const struct cli_kept *kept, const char *name, const struct entry **entry)
{
    size_t count = kept->history.count;
    bool is_from_end = *name == '$' || !*name;
    const char *digits = name + (*name == '$');
    uint64_t number = *name == '$';
    if (*digits && !cli_number_parse(digits, &number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'$%s' is no number of the history", name);
    if (!count && is_from_end)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the history of values is empty: 'print' adds to it");
    if (is_from_end && number >= count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the history of values does not go back to $%s%s: it has %zu", name,
                           *digits ? "" : "1", count);
    if (is_from_end)
        number = count - number;
    else if (!number)
        number = count; /* $0 is the last one, as in gdb */
    if (!number || number > count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the history of values has no $%s yet", name);
    *entry = &kept->history.list[number - 1];
    return 0;
}

int cli_kept_get(const struct cli_kept *kept, const char *name, struct cli_value *value)
{
    const struct entry *entry = NULL;
    int err = 0;
    if (cli_kept_is_number(name))
        err = find_number(kept, name, &entry);
    else
        entry = find_variable(kept, name);
    if (err)
        return err;
    if (!entry)
        *value = (struct cli_value){.type = *cli_type_basic(CLI_BASIC_VOID)};
    else if (entry->is_lost)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "$%s was too large to be kept; 'show values' has its text", name);
    else
        *value = entry->value;
    return err;
}

/* ---- all of them ---- */

size_t cli_kept_history_count(const struct cli_kept *kept)
{
    return kept->history.count;
}

size_t cli_kept_variable_count(const struct cli_kept *kept)
{
    return kept->variables.count;
}

static struct cli_kept_row row_of(const struct entry *entry, size_t number)
{
    return (struct cli_kept_row){
        .number = number,
        .name = entry->name,
        .expression = entry->expression,
        .text = entry->text,
        .time = entry->time,
        .value = entry->is_lost ? NULL : &entry->value,
    };
}

struct cli_kept_row cli_kept_history_row(const struct cli_kept *kept, size_t index)
{
    return row_of(&kept->history.list[index], index + 1);
}

struct cli_kept_row cli_kept_variable_row(const struct cli_kept *kept, size_t index)
{
    return row_of(&kept->variables.list[index], 0);
}
