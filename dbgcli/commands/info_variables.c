/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info variables`: what is declared outside of functions, by file. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/declaration.h"
#include "dbgcli/commands/declared.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/interrupt.h"
#include <wetdbg/errors.h>

struct search {
    struct cli_session *session;
    const regex_t *regex; /* NULL: all */
    uint64_t pc;          /* in the module that is looked through */
    const char *last;     /* a name may come several times */
    struct cli_declared_list list;
};

static json_t *json_of(const struct wetdbg_variable *variable)
{
    json_t *row = json_object();
    cli_json_set(row, "type", cli_json_text(variable->type.name));
    cli_json_set(row, "static", json_boolean(variable->scope == WETDBG_SCOPE_FILE));
    return row;
}

/* "static char *name;" */
static char *text_of(const struct wetdbg_variable *variable)
{
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    if (!stream)
        cli_die();
    fputs(variable->scope == WETDBG_SCOPE_FILE ? "static " : "", stream);
    cli_declaration_print(stream, variable->type.name, variable->name);
    putc(';', stream);
    if (fclose(stream) != 0)
        cli_die();
    return text;
}

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
    bool is_json = search->session->out->json;
    cli_declared_add(&search->list, &(struct cli_declared){
                                        .name = variable.name,
                                        .file = variable.decl_file,
                                        .line = variable.decl_line,
                                        .text = is_json ? NULL : text_of(&variable),
                                        .json = is_json ? json_of(&variable) : NULL,
                                    });
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
    if (!err)
        err = cli_declared_show(&search.list, session->out, "variables", regex, "wetdbg.globals/1");
    cli_declared_free(&search.list);
    if (regex)
        regfree(&compiled);
    return err;
}
