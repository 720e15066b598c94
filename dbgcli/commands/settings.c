/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/settings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/screen.h"
#include <wetdbg/errors.h>

enum kind {
    KIND_SWITCH, /* on or off */
    KIND_COUNT,  /* a number; 0 and "unlimited" are none */
    KIND_FLAVOR, /* att or intel */
    KIND_NOTHING /* of gdb's: taken, since its files have it, and of no use here */
};

static const struct setting {
    const char *name;
    enum kind kind;
} settings[] = {
    {"pager", KIND_SWITCH},
    {"listsize", KIND_COUNT},
    {"print elements", KIND_COUNT},
    {"print repeats", KIND_COUNT},
    {"print pretty", KIND_SWITCH},
    {"disassembly-flavor", KIND_FLAVOR},
    {"pagination", KIND_SWITCH},
    {"confirm", KIND_NOTHING},
    {"width", KIND_NOTHING},
    {"height", KIND_NOTHING},
    {"verbose", KIND_NOTHING},
    {"history save", KIND_NOTHING},
    {"history size", KIND_NOTHING},
    {"history filename", KIND_NOTHING},
    {"history expansion", KIND_NOTHING},
    {"breakpoint pending", KIND_NOTHING},
    {"can-use-hw-watchpoints", KIND_NOTHING},
    {"debuginfod enabled", KIND_NOTHING},
    {"auto-load safe-path", KIND_NOTHING},
    {"disable-randomization", KIND_NOTHING},
    {"startup-with-shell", KIND_NOTHING},
    {"non-stop", KIND_NOTHING},
    {"editing", KIND_NOTHING},
};
#define SETTING_COUNT (sizeof(settings) / sizeof(*settings))
#define SHOWN_COUNT   6 /* those that `set` lists */

/* What is set elsewhere, or stands as it was recorded. */
static const struct cli_other_word others[] = {
    {"args", "they are as they were recorded: 'info program' shows them"},
    {"environment", "it is as it was recorded: 'slice forward env:NAME' tells what came of it"},
    {"logging", "'!wetdbg replay TRACE --batch -e COMMAND > FILE' keeps answers"},
    {"substitute-path", "sources are looked for where the debug information says"},
    {"sysroot", "the trace holds the program and its libraries"},
    {"version", "'!wetdbg --version' shows it"},
    {NULL, NULL},
};

int cli_setting_explain(const char *text, int code)
{
    const struct cli_other_word *other = others;
    size_t length = strcspn(text, " \t");
    while (other->word && (length < 3 || strncmp(other->word, text, length) != 0))
        other++;
    return other->word ? wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is nothing to set or show here: %s",
                                     other->word, other->instead)
                       : code;
}

/* Length of the words of `name` that `text` begins with, each of which may be cut behind its first
 * letters; 0 if it does not. */
static size_t matched(const char *name, const char *text)
{
    const char *at = text;
    for (;;) {
        size_t word = strcspn(name, " "), typed = strcspn(at, " \t");
        if (typed < 2 || typed > word || strncmp(name, at, typed) != 0)
            return 0;
        name += word;
        at += typed;
        if (!*name)
            return (size_t)(at - text);
        name++;
        at += strspn(at, " \t");
    }
}

bool cli_setting_find(const char *text, size_t *index, const char **behind)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        size_t length = matched(settings[i].name, text);
        if (!length)
            continue;
        *index = i;
        *behind = text + length + strspn(text + length, " \t");
        return true;
    }
    return false;
}

const char *cli_setting_name(size_t index)
{
    return index < SHOWN_COUNT ? settings[index].name : NULL;
}

/* ---- giving it a value ---- */

static int fail_value(const struct setting *setting, const char *value, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE, "set: %s is %s, not '%s'", setting->name, what, value);
}

/* As in gdb no value is on. */
static int set_switch(struct cli_session *session, const struct setting *setting, const char *value)
{
    bool is_on = !*value || strcmp(value, "on") == 0 || strcmp(value, "1") == 0;
    if (!is_on && strcmp(value, "off") != 0 && strcmp(value, "0") != 0)
        return fail_value(setting, value, "on or off");
    if (strcmp(setting->name, "print pretty") == 0)
        session->manner.is_pretty = is_on;
    else if (session->out->screen)
        cli_screen_set_pages(session->out->screen, is_on);
    return 0;
}

static uint64_t *count_of(struct cli_session *session, const struct setting *setting)
{
    if (strcmp(setting->name, "print elements") == 0)
        return &session->manner.elements;
    if (strcmp(setting->name, "print repeats") == 0)
        return &session->manner.repeats;
    return &session->list_size;
}

static int set_count(struct cli_session *session, const struct setting *setting, const char *value)
{
    uint64_t number = 0;
    if (strcmp(value, "unlimited") != 0 && (!*value || !cli_number_parse(value, &number)))
        return fail_value(setting, value, "a number, or unlimited");
    *count_of(session, setting) = number;
    return 0;
}

static int set_flavor(struct cli_session *session, const struct setting *setting, const char *value)
{
    if (strcmp(value, "intel") != 0 && strcmp(value, "att") != 0)
        return fail_value(setting, value, "att or intel");
    session->is_intel = *value == 'i';
    return 0;
}

int cli_setting_set(struct cli_session *session, size_t index, const char *value)
{
    const struct setting *setting = &settings[index];
    switch (setting->kind) {
    case KIND_SWITCH:
        return set_switch(session, setting, value);
    case KIND_COUNT:
        return set_count(session, setting, value);
    case KIND_FLAVOR:
        return set_flavor(session, setting, value);
    case KIND_NOTHING:
        break;
    }
    return 0;
}

/* ---- showing it ---- */

static bool is_on(const struct cli_session *session, const struct setting *setting)
{
    if (strcmp(setting->name, "print pretty") == 0)
        return session->manner.is_pretty;
    return session->out->screen && cli_screen_pages(session->out->screen);
}

static json_t *json_of(struct cli_session *session, const struct setting *setting)
{
    switch (setting->kind) {
    case KIND_SWITCH:
        return json_boolean(is_on(session, setting));
    case KIND_COUNT:
        return cli_json_count(*count_of(session, setting));
    case KIND_FLAVOR:
        return cli_json_text(session->is_intel ? "intel" : "att");
    case KIND_NOTHING:
        break;
    }
    return json_null();
}

static void print(struct cli_session *session, const struct setting *setting)
{
    FILE *stream = session->out->stream;
    fprintf(stream, "%-18s  ", setting->name);
    switch (setting->kind) {
    case KIND_SWITCH:
        fputs(is_on(session, setting) ? "on" : "off", stream);
        break;
    case KIND_COUNT:
        if (*count_of(session, setting))
            fprintf(stream, "%" PRIu64, *count_of(session, setting));
        else
            fputs("unlimited", stream);
        break;
    case KIND_FLAVOR:
        fputs(session->is_intel ? "intel" : "att", stream);
        break;
    case KIND_NOTHING:
        fputs("of no use here", stream);
    }
    putc('\n', stream);
}

static void show(struct cli_session *session, size_t first, size_t end)
{
    if (!session->out->json) {
        for (size_t i = first; i < end; i++)
            print(session, &settings[i]);
        return;
    }
    json_t *object = cli_json_object("wetdbg.settings/1");
    for (size_t i = first; i < end; i++) {
        char *key = cli_strdup(settings[i].name);
        for (char *at = key; *at; at++)
            *at = *at == ' ' || *at == '-' ? '_' : *at;
        cli_json_set(object, key, json_of(session, &settings[i]));
        free(key);
    }
    cli_out_json(session->out, object);
}

void cli_setting_show(struct cli_session *session, size_t index)
{
    show(session, index, index + 1);
}

void cli_settings_show(struct cli_session *session)
{
    show(session, 0, SHOWN_COUNT);
}
