/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info variables`: what is declared outside of functions, by file. */
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/declaration.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

struct search {
    struct cli_session *session;
    const regex_t *regex; /* NULL: all */
    uint64_t pc;          /* in the module that is looked through */
    const char *last;     /* a name may come several times */
    struct wetdbg_variable *list;
    size_t count;
};

static int note(void *context, const char *name)
{
    struct search *search = context;
    struct wetdbg_variable variable;
    if (cli_interrupt_is_pending())
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    if ((search->last && strcmp(search->last, name) == 0) ||
        (search->regex && regexec(search->regex, name, 0, NULL, 0) != 0))
        return 0;
    search->last = name;
    if (wetdbg_variable_find(search->session->model, search->pc, name, &variable) != 0 ||
        !variable.decl_file)
        return 0;
    search->list = cli_realloc(search->list, search->count + 1, sizeof(*search->list));
    search->list[search->count++] = variable;
    return 0;
}

static int look_through(struct search *search)
{
    size_t count = wetdbg_module_count(search->session->model);
    int err = 0;
    for (size_t i = 0; i < count && !err; i++) {
        struct wetdbg_module module;
        if (wetdbg_module_get(search->session->model, (wetdbg_module_id)i, &module) != 0)
            continue;
        search->pc = module.start;
        search->last = NULL;
        err = wetdbg_globals_each(search->session->model, module.start, note, search);
        err = err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    }
    return err;
}

static int by_file(const void *left, const void *right)
{
    const struct wetdbg_variable *a = left, *b = right;
    int order = strcmp(a->decl_file, b->decl_file);
    return order ? order : strcmp(a->name, b->name);
}

static json_t *json_of(const struct wetdbg_variable *variable)
{
    json_t *row = json_object();
    cli_json_set(row, "name", cli_json_text(variable->name));
    cli_json_set(row, "type", cli_json_text(variable->type.name));
    cli_json_set(row, "file", cli_json_text(variable->decl_file));
    cli_json_set(row, "line", json_integer(variable->decl_line));
    cli_json_set(row, "static", json_boolean(variable->scope == WETDBG_SCOPE_FILE));
    return row;
}

static void print(struct cli_out *out, const struct wetdbg_variable *variable)
{
    fprintf(out->stream, "%" PRIu32 ":\t%s", variable->decl_line,
            variable->scope == WETDBG_SCOPE_FILE ? "static " : "");
    cli_declaration_print(out->stream, variable->type.name, variable->name);
    fputs(";\n", out->stream);
}

static void show(struct cli_session *session, const struct search *search)
{
    struct cli_out *out = session->out;
    json_t *array = out->json ? json_array() : NULL;
    for (size_t i = 0; i < search->count && !cli_out_is_gone(out); i++) {
        const struct wetdbg_variable *variable = &search->list[i];
        if (array) {
            cli_json_append(array, json_of(variable));
            continue;
        }
        if (!i || strcmp(search->list[i - 1].decl_file, variable->decl_file) != 0) {
            fprintf(out->stream, "%sFile ", i ? "\n" : "");
            cli_out_text(out, variable->decl_file);
            fputs(":\n", out->stream);
        }
        print(out, variable);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.globals/1");
        cli_json_set(object, "variables", array);
        cli_out_json(out, object);
    }
}

int cli_info_variables(struct cli_session *session, const char *regex)
{
    struct search search = {.session = session};
    regex_t compiled;
    if (regex) {
        if (regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB) != 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "info variables: '%s' is no regular expression",
                               regex);
        search.regex = &compiled;
    }
    int err = look_through(&search);
    if (!err && !search.count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no variable's name matches '%s'",
                          regex ? regex : "");
    if (!err) {
        qsort(search.list, search.count, sizeof(*search.list), by_file);
        show(session, &search);
    }
    free(search.list);
    if (regex)
        regfree(&compiled);
    return err;
}
