/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info types`: what is declared outside of functions, by file. */
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/declared.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/interrupt.h"
#include <wetdbg/errors.h>

struct search {
    bool is_json;
    struct cli_declared_list list;
};

static json_t *json_of(const struct wetdbg_declared_type *type)
{
    json_t *row = json_object();
    cli_json_set(row, "type", cli_json_text(type->type.name));
    cli_json_set(row, "bytes", cli_json_count(type->type.size_bytes));
    cli_json_set(row, "target", type->is_typedef ? cli_json_text(type->target.name) : json_null());
    return row;
}

/* "struct node;", "typedef long size_t;", and of basic types the name only, as gdb has them. */
static char *text_of(const struct wetdbg_declared_type *type)
{
    return type->is_typedef ? cli_asprintf("typedef %s %s;", type->target.name, type->name)
                            : cli_asprintf("%s%s", type->type.name, type->line ? ";" : "");
}

/* gdb takes C++'s classes and enumerations for global, all other types for their file's own, and
 * lists them apart. */
static bool is_class_of_cpp(const struct wetdbg_declared_type *type)
{
    return type->language && strcmp(type->language, "c++") == 0 && !type->is_typedef && type->line;
}

static int note(void *context, const struct wetdbg_declared_type *type)
{
    struct search *search = context;
    if (cli_interrupt_is_pending())
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    if (!type->file)
        return 0;
    cli_declared_add(&search->list, &(struct cli_declared){
                                        .group = !is_class_of_cpp(type),
                                        .name = type->name,
                                        .rank = type->is_typedef, /* as in typedef struct s s; */
                                        .file = type->file,
                                        .line = type->line,
                                        .text = search->is_json ? NULL : text_of(type),
                                        .json = search->is_json ? json_of(type) : NULL,
                                    });
    return 0;
}

int cli_info_types(struct cli_session *session, const char *regex)
{
    struct search search = {.is_json = session->out->json};
    int err = wetdbg_types_each(session->model, regex, note, &search);
    if (!err)
        err = cli_declared_show(&search.list, session->out, "types", regex, "wetdbg.types/1");
    cli_declared_free(&search.list);
    return err;
}
