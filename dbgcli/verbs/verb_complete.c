/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `wetdbg complete WORD...`, which the shell's completion asks (dbgcli/wetdbg.bash): what the last
 * word may become, one a line. "*" stands for names of files, "*.wet" for those that end so. Not in
 * the table of verbs: nobody types it.
 */
#include <string.h>

#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static void offer(struct cli_out *out, const char *typed, const char *word)
{
    if (strncmp(word, typed, strlen(typed)) == 0)
        fprintf(out->stream, "%s\n", word);
}

static void offer_verbs(struct cli_out *out, const char *typed)
{
    for (const struct cli_verb *verb = cli_verbs; verb->name; verb++)
        offer(out, typed, verb->name);
}

static void offer_options(struct cli_out *out, const struct cli_syntax *syntax, const char *typed)
{
    for (const struct cli_option *o = syntax->options; o && (o->name || o->letter); o++) {
        char word[64];
        if (o->name)
            snprintf(word, sizeof(word), "--%s", o->name);
        else
            snprintf(word, sizeof(word), "-%c", o->letter);
        offer(out, typed, word);
    }
    offer(out, typed, "--help");
}

/* The option of which the word before is the name, or NULL. */
static const struct cli_option *option_before(const struct cli_syntax *syntax, const char *word)
{
    for (const struct cli_option *o = syntax->options; o && (o->name || o->letter); o++) {
        bool is_long = o->name && strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0;
        bool is_short = o->letter && word[0] == '-' && word[1] == o->letter && !word[2];
        if ((is_long || is_short) && o->value)
            return o;
    }
    return NULL;
}

/* The option whose value is typed: --option VALUE, or --option = VALUE, as bash cuts
 * --option=VALUE. */
static const struct cli_option *option_typed(const struct cli_syntax *syntax, int argc, char **argv,
                                             const char **typed)
{
    bool is_empty = strcmp(argv[argc - 1], "=") == 0;
    int at = argc - 2;
    if (!is_empty && at > 0 && strcmp(argv[at], "=") == 0)
        at--;
    const struct cli_option *option = at > 0 ? option_before(syntax, argv[at]) : NULL;
    if (option && is_empty)
        *typed = "";
    return option;
}

static void offer_value(struct cli_out *out, const struct cli_option *option, const char *typed)
{
    static const char *const ticks[] = {"auto", "hardware", "software"};
    static const char *const colors[] = {"auto", "always", "never"};
    static const char *const units[] = {"byte", "line", "token", "tree", "argv", "env", "files"};
    static const char *const orders[] = {"near", "lefs", "prior", "spectrum"};
    static const char *const runs[] = {"quickest", "live", "real"};
    static const char *const of_files[] = {"fail",  "pass", "expect", "passing", "build", "junit",
                                           "sarif", "html", "dot",    "svg",     "report"};
    const char *name = option->name ? option->name : "";
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(name, "ticks") == 0)
            offer(out, typed, ticks[i]);
        if (strcmp(name, "color") == 0)
            offer(out, typed, colors[i]);
        if (strcmp(name, "runs") == 0)
            offer(out, typed, runs[i]);
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && strcmp(name, "unit") == 0; i++)
        offer(out, typed, units[i]);
    for (size_t i = 0; i < sizeof(orders) / sizeof(*orders) && strcmp(name, "order") == 0; i++)
        offer(out, typed, orders[i]);
    for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
        if (strcmp(name, of_files[i]) == 0)
            fputs("*\n", out->stream);
    if (option->letter == 'o' || option->letter == 'x')
        fputs("*\n", out->stream);
}

static void offer_recordings(struct cli_out *out, const char *typed)
{
    struct wetdbg_recording_entry *list;
    size_t count;
    if (wetdbg_recordings_list(&list, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        offer(out, typed, list[i].name);
    wetdbg_recordings_free(list, count);
}

static void offer_operands(struct cli_out *out, const char *verb, const char *typed)
{
    static const char *const of_recordings[] = {"replay", "info",   "ps",    "dump",
                                                "rm",     "switch", "locate"};
    static const char *const of_files[] = {"open", "info", "verify"};
    for (size_t i = 0; i < sizeof(of_recordings) / sizeof(*of_recordings); i++)
        if (strcmp(verb, of_recordings[i]) == 0) {
            offer_recordings(out, typed);
            fputs("*\n", out->stream);
        }
    for (size_t i = 0; i < sizeof(of_files) / sizeof(*of_files); i++)
        if (strcmp(verb, of_files[i]) == 0)
            fputs("*.wet\n", out->stream);
    if (strcmp(verb, "record") == 0 || strcmp(verb, "dd") == 0 || strcmp(verb, "ci") == 0)
        fputs("*\n", out->stream);
    if (strcmp(verb, "help") == 0)
        offer_verbs(out, typed);
}

int cli_complete_run(struct cli_out *out, int argc, char **argv)
{
    const char *typed = argc ? argv[argc - 1] : "";
    if (argc < 2) {
        offer_verbs(out, typed);
        offer(out, typed, "--help");
        offer(out, typed, "--version");
        return 0;
    }
    const struct cli_verb *verb = cli_verb_find(argv[0]);
    if (!verb)
        return 0;
    const struct cli_option *option = option_typed(verb->syntax, argc, argv, &typed);
    if (option)
        offer_value(out, option, typed);
    else if (typed[0] == '-')
        offer_options(out, verb->syntax, typed);
    else
        offer_operands(out, verb->name, typed);
    return 0;
}
