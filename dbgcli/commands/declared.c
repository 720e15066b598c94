/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/declared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

void cli_declared_add(struct cli_declared_list *list, const struct cli_declared *declared)
{
    if (declared->json) {
        cli_json_set(declared->json, "name", cli_json_text(declared->name));
        cli_json_set(declared->json, "file", cli_json_text(declared->file));
        cli_json_set(declared->json, "line",
                     declared->line ? json_integer(declared->line) : json_null());
    }
    list->items = cli_realloc(list->items, list->count + 1, sizeof(*list->items));
    list->items[list->count] = *declared;
    list->items[list->count++].name = cli_strdup(declared->name);
}

static int by_file(const void *left, const void *right)
{
    const struct cli_declared *a = left, *b = right;
    int order = strcmp(a->file, b->file);
    if (!order)
        order = a->group < b->group ? -1 : a->group > b->group;
    if (!order)
        order = strcmp(a->name, b->name);
    return order ? order : a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool is_same(const struct cli_declared *a, const struct cli_declared *b)
{
    return a->group == b->group && strcmp(a->file, b->file) == 0 && strcmp(a->name, b->name) == 0;
}

static void print_title(struct cli_out *out, const char *noun, const char *regex)
{
    if (!regex) {
        fprintf(out->stream, "All defined %s:\n", noun);
        return;
    }
    fprintf(out->stream, "All %s matching regular expression \"", noun);
    cli_out_text(out, regex);
    fputs("\":\n", out->stream);
}

static void print_row(struct cli_out *out, const struct cli_declared *row, bool is_first_of_file)
{
    if (is_first_of_file) {
        fputs("\nFile ", out->stream);
        cli_out_text(out, row->file);
        fputs(":\n", out->stream);
    }
    if (row->line)
        fprintf(out->stream, "%" PRIu32 ":", row->line);
    putc('\t', out->stream);
    cli_out_text(out, row->text);
    putc('\n', out->stream);
}

static void show_rows(const struct cli_declared_list *list, struct cli_out *out, json_t *array)
{
    const struct cli_declared *last = NULL;
    for (size_t i = 0; i < list->count && !cli_out_is_gone(out); i++) {
        const struct cli_declared *row = &list->items[i];
        if (last && is_same(last, row))
            continue;
        if (array)
            cli_json_append(array, json_incref(row->json));
        else
            print_row(out, row, !last || strcmp(last->file, row->file) != 0);
        last = row;
    }
}

int cli_declared_show(struct cli_declared_list *list, struct cli_out *out, const char *noun,
                      const char *regex, const char *schema)
{
    if (!list->count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no %.*s's name matches '%s'",
                           (int)strlen(noun) - 1, noun, regex ? regex : "");
    qsort(list->items, list->count, sizeof(*list->items), by_file);
    if (out->json) {
        json_t *object = cli_json_object(schema), *array = json_array();
        show_rows(list, out, array);
        cli_json_set(object, noun, array);
        cli_out_json(out, object);
    } else {
        print_title(out, noun, regex);
        show_rows(list, out, NULL);
    }
    return 0;
}

void cli_declared_free(struct cli_declared_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)list->items[i].name);
        free(list->items[i].text);
        json_decref(list->items[i].json);
    }
    free(list->items);
    *list = (struct cli_declared_list){0};
}
