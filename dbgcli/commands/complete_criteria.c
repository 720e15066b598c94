/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/complete_criteria.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/files.h>
#include <wetdbg/slice.h>

struct adding {
    struct cli_completions *to;
    const char *typed;
};

static bool begins(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Whether more follows a word. */
static bool is_unfinished(const char *word)
{
    return word[strlen(word) - 1] == ':';
}

static void add_each(struct adding *adding, const char *const *words)
{
    for (; *words; words++)
        cli_completions_add(adding->to, adding->typed, *words);
}

/* Whether a name can be typed as a part of one word; names of files may hold anything. */
static bool is_word(const char *name)
{
    while ((unsigned char)*name > ' ' && *name != 0x7f)
        name++;
    return !*name;
}

/* Adds the paths of files that were read, or written. */
static void add_paths(struct cli_session *session, struct adding *adding, bool is_output)
{
    struct wetdbg_files *files;
    if (wetdbg_files_open(session->wet, &files) != 0)
        return;
    for (size_t i = 0; i < wetdbg_files_count(files); i++) {
        const struct wetdbg_file file = wetdbg_files_get(files, i);
        if (!file.name || !file.is_path || !is_word(file.name) ||
            !(is_output ? file.writes : file.reads))
            continue;
        char *word = cli_asprintf("%s:%s:", is_output ? "output" : "input", file.name);
        cli_completions_add(adding->to, adding->typed, word);
        free(word);
    }
    wetdbg_files_close(files);
}

/* Adds a descriptor to which something was written. */
static void add_descriptor(struct cli_session *session, struct adding *adding, int fd)
{
    struct wetdbg_output *list;
    size_t count;
    if (wetdbg_descriptor_outputs(session->wet, fd, &list, &count) != 0)
        return;
    free(list);
    char *word = cli_asprintf("output:%d:", fd);
    if (count)
        cli_completions_add(adding->to, adding->typed, word);
    free(word);
}

/* Adds what follows "output:", or "output:1:". */
static void add_outputs(struct cli_session *session, struct adding *adding)
{
    const char *rest = adding->typed + strlen("output:"), *colon = strrchr(rest, ':');
    add_descriptor(session, adding, 1);
    add_descriptor(session, adding, 2);
    cli_completions_add(adding->to, adding->typed, "output:end");
    add_paths(session, adding, true);
    if (colon && colon > rest) {
        char *word = cli_asprintf("%.*send", (int)(colon + 1 - adding->typed), adding->typed);
        cli_completions_add(adding->to, adding->typed, word);
        free(word);
    }
}

static void add_inputs(struct cli_session *session, struct adding *adding)
{
    cli_completions_add(adding->to, adding->typed, "input:0:");
    add_paths(session, adding, false);
}

static void add_arguments(struct cli_session *session, struct adding *adding)
{
    for (size_t i = 0; i < session->info->argc; i++) {
        char *word = cli_asprintf("argv:%zu", i);
        cli_completions_add(adding->to, adding->typed, word);
        free(word);
    }
}

static int add_variable(void *arg, const char *name)
{
    struct adding *adding = arg;
    if (!is_word(name))
        return 0;
    char *word = cli_asprintf("env:%s", name);
    cli_completions_add(adding->to, adding->typed, word);
    free(word);
    return adding->to->count == CLI_COMPLETIONS_MAX;
}

/* Adds what follows a word with a colon, or one of the words. */
static void complete(struct cli_session *session, const char *const *words,
                     struct cli_completions *completions, const char *typed)
{
    struct adding adding = {completions, typed};
    if (begins(typed, "input:"))
        add_inputs(session, &adding);
    else if (begins(typed, "argv:"))
        add_arguments(session, &adding);
    else if (begins(typed, "env:"))
        wetdbg_environment_each(session->wet, add_variable, &adding);
    else
        add_each(&adding, words);
    if (completions->count == 1 && is_unfinished(completions->list[0]))
        completions->is_open = true;
}

void cli_complete_criterion(struct cli_session *session, const char *typed,
                            struct cli_completions *completions)
{
    static const char *const words[] = {
        "crash", "exit", "output:", "input:", "argv:", "env:", NULL};
    struct adding adding = {completions, typed};
    if (begins(typed, "output:"))
        add_outputs(session, &adding);
    else
        complete(session, words, completions, typed);
}

void cli_complete_input(struct cli_session *session, const char *typed,
                        struct cli_completions *completions)
{
    static const char *const words[] = {"input:", "argv:", "env:", NULL};
    complete(session, words, completions, typed);
}
