/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/eval/line_values.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/value.h"

struct walk {
    struct cli_moment *moment;
    char **names; /* that were shown */
    size_t count, most;
    cli_line_value_fn fn;
    void *arg;
};

static bool is_known(const struct walk *walk, const char *name)
{
    for (size_t i = 0; i < walk->count; i++)
        if (!strcmp(walk->names[i], name))
            return true;
    return false;
}

/* The text of a name's value, to be freed; NULL if it has none there. */
static char *value_text(const struct walk *walk, const char *name)
{
    struct cli_frame_view view = {walk->moment, cli_moment_first_frame(walk->moment)};
    struct cli_value value;
    char *text = NULL;
    size_t size;

    if (cli_value_evaluate(&view, name, &value) || value.type.kind == WETDBG_TYPE_FUNCTION)
        return NULL;
    struct cli_out to = {.stream = open_memstream(&text, &size)};
    if (!to.stream)
        cli_die();
    int err = cli_value_print(&to, walk->moment, &value, "", false);
    fclose(to.stream);
    if (!err)
        return text;
    free(text);
    return NULL;
}

/* `name` is taken over. */
static void show_value(struct walk *walk, char *name)
{
    char *text = walk->count == walk->most || is_known(walk, name) ? NULL : value_text(walk, name);

    if (!text) {
        free(name);
        return;
    }
    walk->fn(walk->arg, name, text);
    walk->names[walk->count++] = name;
    free(text);
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind what is quoted. */
static const char *quoted_end(const char *at)
{
    const char *end = at + 1;

    while (*end && *end != *at)
        end += *end == '\\' && end[1] ? 2 : 1;
    return end + (*end != 0);
}

static const char *name_end(const char *at)
{
    while (is_of_name(*at) || (*at == '.' && is_of_name(at[1])) || (at[0] == '-' && at[1] == '>'))
        at += *at == '-' ? 2 : 1;
    return at;
}

void cli_line_values_each(struct cli_moment *moment, const char *line, size_t most,
                          cli_line_value_fn fn, void *arg)
{
    struct walk walk = {.moment = moment,
                        .names = cli_realloc(NULL, most + 1, sizeof(char *)),
                        .most = most,
                        .fn = fn,
                        .arg = arg};

    for (const char *at = line; *at;) {
        if (*at == '"' || *at == '\'') {
            at = quoted_end(at);
        } else if (!is_of_name(*at)) {
            at++;
        } else {
            const char *end = name_end(at);
            if (!isdigit((unsigned char)*at))
                show_value(&walk, cli_strndup(at, (size_t)(end - at)));
            at = end;
        }
    }
    for (size_t i = 0; i < walk.count; i++)
        free(walk.names[i]);
    free(walk.names);
}
