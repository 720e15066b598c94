/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of commands: aliases, prefixes, and what to say of a wrong one. */
#include <stdio.h>
#include <string.h>

#include "dbgcli/repl/repl.h"
#include "dbgcli/suggest.h"
#include <wetdbg/errors.h>

static bool has_alias(const struct cli_command *command, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = command->aliases; at && *at;) {
        size_t word = strcspn(at, " ");
        if (word == length && memcmp(at, name, length) == 0)
            return true;
        at += word;
        at += strspn(at, " ");
    }
    return false;
}

static int fail_unknown(const struct cli_command *commands, const char *name)
{
    struct cli_suggestion suggestion = {.wanted = name};
    for (const struct cli_command *c = commands; c->name; c++)
        cli_suggestion_offer(&suggestion, c->name);
    if (suggestion.best)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "unknown command '%s'; did you mean '%s'?", name,
                           suggestion.best);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "unknown command '%s' (try 'help')", name);
}

static int fail_ambiguous(const struct cli_command *commands, const char *name)
{
    char list[512] = "";
    size_t used = 0;
    for (const struct cli_command *c = commands; c->name; c++)
        if (strncmp(c->name, name, strlen(name)) == 0 && used < sizeof(list))
            used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                     c->name);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "ambiguous command '%s': %s", name, list);
}

int cli_command_find(const struct cli_command *commands, const char *name,
                     const struct cli_command **command)
{
    const struct cli_command *found = NULL;
    size_t count = 0;
    for (const struct cli_command *c = commands; c->name; c++) {
        if (strcmp(c->name, name) == 0 || has_alias(c, name)) {
            *command = c;
            return 0;
        }
        if (*name && strncmp(c->name, name, strlen(name)) == 0) {
            found = c;
            count++;
        }
    }
    if (count == 0)
        return fail_unknown(commands, name);
    if (count > 1)
        return fail_ambiguous(commands, name);
    *command = found;
    return 0;
}
