/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `print`: the value of an expression in the selected frame, now or at another time. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/bookmark.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_print_syntax = {
    .example = "print/x *list->next@overrun",
    .usage = "[--at=TIME] [EXPRESSION]",
    .operands_max = 1,
    .is_raw = true,
    .details =
        "The value of an expression in the selected frame, now or (--at) just before "
        "another time (as\n"
        "for goto), in the thread that runs then. All of C but assignments and calls; also "
        "$rax and\n"
        "the other registers, array[1]@5 (five values from there on), {int} 0x1234. "
        "EXPRESSION@TIME\n"
        "means --at too, if TIME is start, end, crash, a bookmark or FILE:LINE#K. print/x\n"
        "and the like choose a format: x, z (padded), d, u, o, t (binary), c (character),\n"
        "a (address), f (floating), s (text).\n"
        "Each value has a number, from $1 on: $ is the last one, $$ the one before, $$2 the\n"
        "one before that; 'show values' lists them. $name = EXPRESSION keeps a value under a\n"
        "name. They have the bytes of their time; what they point to is that of the time\n"
        "where you are. Without an expression the last value is shown again.",
};

static void print_json(const struct cli_session *session, struct cli_moment *moment,
                       const char *expression, const struct cli_value *value, const char *text,
                       size_t number)
{
    json_t *object = cli_json_object("wetdbg.print/1");
    uint64_t bits;
    enum wetdbg_type_kind kind = value->type.kind;
    bool is_number = kind == WETDBG_TYPE_SIGNED || kind == WETDBG_TYPE_UNSIGNED ||
                     kind == WETDBG_TYPE_CHAR || kind == WETDBG_TYPE_BOOL ||
                     kind == WETDBG_TYPE_ENUM;
    cli_json_set(object, "expression", cli_json_text(expression));
    cli_json_set(object, "time", cli_json_count(moment->time));
    cli_json_set(object, "type", cli_json_text(value->type.name));
    cli_json_set(object, "value", cli_json_text(text));
    if (is_number && cli_value_bits(moment, value, &bits) == 0)
        cli_json_set(object, "number",
                     value->type.is_signed || kind == WETDBG_TYPE_SIGNED
                         ? json_integer((json_int_t)bits)
                         : cli_json_count(bits));
    if (value->is_in_memory)
        cli_json_set(object, "address", cli_json_address(value->address));
    cli_json_set(object, "history", cli_json_count(number));
    cli_thread_to_json(object, session, moment->thread);
    cli_uncertain_to_json(object, session, moment->time);
    cli_out_json(session->out, object);
}

/* Length of the part of an expression that names its value: "$x" of "$x = 5". */
static size_t name_length(const char *expression)
{
    size_t name = 1 + strspn(expression + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                                             "0123456789");
    const char *behind = expression + name + strspn(expression + name, " \t");
    behind += strspn(behind, "+-*/%&|^");
    bool is_assignment = *expression == '$' && *behind == '=' && behind[1] != '=';
    return is_assignment ? name : strlen(expression);
}

/* What a value is shown as: whoever typed the expression sees it in the line above and wants to
 * know the number, as in gdb; in an answer to a script's line it has to be named. */
static void print_title(struct cli_repl *repl, const char *expression, size_t number)
{
    if (repl->is_typed) {
        fprintf(repl->out->stream, "$%zu = ", number);
        return;
    }
    char *name = cli_strndup(expression, name_length(expression));
    cli_out_styled(repl->out, CLI_STYLE_VARIABLE, name);
    fputs(" = ", repl->out->stream);
    free(name);
}

/* Prints a value, to memory first: what fails half-way has not been printed at all. */
static int print_value(struct cli_repl *repl, struct cli_moment *moment, const char *expression,
                       const struct cli_value *value, const char *format)
{
    const struct cli_session *session = repl->session;
    struct cli_out *out = repl->out;
    char *text = NULL;
    size_t size;
    struct cli_out to = {.stream = open_memstream(&text, &size)};
    if (!to.stream)
        return wetdbg_fail_errno("cannot print");
    int err = cli_value_print(&to, moment, value, format, false);
    fclose(to.stream);
    size_t number = err ? 0 : cli_kept_add(session->kept, moment, value, expression, text);
    if (!err && out->json) {
        print_json(session, moment, expression, value, text, number);
    } else if (!err) {
        print_title(repl, expression, number);
        cli_out_lines(out, text);
        putc('\n', out->stream);
        cli_uncertain_print(session, moment->time);
    }
    free(text);
    return err;
}

/* The frame to evaluate in at another time: the innermost one of the selected one's function, else
 * that with which a moment begins. */
static size_t frame_for(const struct cli_session *session, const struct cli_moment *moment)
{
    const char *function = NULL;
    if (session->moment)
        function = session->moment->frames[session->frame].function;
    for (size_t i = 0; function && i < moment->frame_count; i++)
        if (moment->frames[i].function && strcmp(moment->frames[i].function, function) == 0 &&
            moment->frames[i].file)
            return i;
    return cli_moment_first_frame(moment);
}

static int print_in(struct cli_repl *repl, struct cli_moment *moment, size_t frame,
                    const char *expression, const char *format)
{
    struct cli_frame_view view = {moment, frame};
    struct cli_value value;
    int err = cli_value_evaluate(&view, expression, &value);
    if (!err)
        err = print_value(repl, moment, expression, &value, format);
    return err;
}

/* At a place that is named, FILE:LINE#K, the names are those of the code there; what it has not is
 * the selected frame's function's. */
static int print_then(struct cli_repl *repl, wetdbg_time time, bool is_place,
                      const char *expression, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    int err = cli_session_check_time(session, time);
    if (!err)
        err = cli_moment_open(session->wet, time, &moment);
    if (err)
        return err;
    cli_session_lend(session, moment);
    err = -WETDBG_ERR_NOT_FOUND;
    if (is_place)
        err = print_in(repl, moment, cli_moment_first_frame(moment), expression, format);
    if (err == -WETDBG_ERR_NOT_FOUND)
        err = print_in(repl, moment, frame_for(session, moment), expression, format);
    cli_moment_close(moment);
    return err;
}

/* Cuts "--at=TIME" or "--at TIME" off the front; *time is to be freed, NULL if there is none. */
static int take_option(const char **text, char **time)
{
    const char *at = *text;
    *time = NULL;
    if (strncmp(at, "--at", 4) != 0 || !strchr("= \t", at[4]))
        return 0;
    at += 4;
    at += *at == '=' ? 1 : strspn(at, " \t");
    size_t length = strcspn(at, " \t");
    if (!length || !at[length + strspn(at + length, " \t")])
        return wetdbg_fail(-WETDBG_ERR_USAGE, "print: something is missing; usage: print %s",
                           cli_cmd_print_syntax.usage);
    *time = cli_strndup(at, length);
    at += length;
    *text = at + strspn(at, " \t");
    return 0;
}

/* What is behind the last '@' if it can only be a time: numbers are gdb's "so many values". */
static const char *find_time(struct cli_session *session, const char *text)
{
    const char *at = strrchr(text, '@');
    wetdbg_time time;
    if (!at)
        return NULL;
    at += 1 + strspn(at + 1, " \t");
    if (strcmp(at, "start") == 0 || strcmp(at, "end") == 0 || strcmp(at, "crash") == 0 ||
        strcmp(at, "now") == 0)
        return at;
    if (cli_bookmark_is_name(at) && cli_bookmarks_find(session->bookmarks, at, &time) == 0)
        return at;
    const char *colon = strrchr(at, ':');
    bool is_instance = colon && colon > at && colon[-1] != ':' && strchr("0123456789", colon[1]) &&
                       !strpbrk(at, "?()[] ");
    return is_instance && colon[1] ? at : NULL;
}

/* Takes "/x" off the front, as gdb does where a blank is behind the command. */
static const char *take_format(const char **text, const char *format, char letters[4])
{
    size_t length = **text == '/' ? strcspn(*text + 1, " \t") : 0;
    if (*format || !length || length > 3 || !(*text)[1 + length])
        return format;
    memcpy(letters, *text + 1, length);
    letters[length] = 0;
    *text += 1 + length;
    *text += strspn(*text, " \t");
    return letters;
}

int cli_cmd_print(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    const char *text = args->operand_count ? args->operands[0] : "$", *behind;
    char *at, *expression, letters[4];
    wetdbg_time time;
    format = take_format(&text, format, letters);
    int err = cli_value_format_check(format);
    if (!err)
        err = take_option(&text, &at);
    if (err)
        return err;
    expression = cli_strdup(text);
    behind = at ? NULL : find_time(session, text);
    if (behind) {
        at = cli_strdup(behind);
        *strrchr(expression, '@') = 0;
        for (size_t end = strlen(expression); end && strchr(" \t", expression[end - 1]);)
            expression[--end] = 0;
    }
    if (at) {
        err = cli_time_parse(session, at, &time);
        if (!err)
            err = print_then(repl, time, strchr(at, ':') != NULL, expression, format);
    } else {
        err = cli_session_moment(session, &moment);
        if (!err)
            err = print_in(repl, moment, session->frame, expression, format);
    }
    free(at);
    free(expression);
    return err;
}
