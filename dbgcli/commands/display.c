/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/display.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_display_syntax = {
    .example = "display/x table[3].width",
    .usage = "[EXPRESSION]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Shows the value of an expression from now on wherever a command comes to stand,\n"
               "if it has one there; display/x and the like choose a format, as for print.\n"
               "Without an expression shows all of them now.",
};

const struct cli_syntax cli_cmd_undisplay_syntax = {
    .example = "undisplay 1",
    .usage = "[N]...",
    .operands_max = CLI_OPERANDS_ANY,
    .details = "Takes displays away, by the numbers that they are shown with; without one, all.",
};

struct display {
    unsigned number;
    bool is_enabled;
    char *text, *format;
};

struct cli_displays {
    struct display *list;
    size_t count;
    unsigned last_number;
};

struct cli_displays *cli_displays_new(void)
{
    struct cli_displays *all = cli_malloc(sizeof(*all));
    *all = (struct cli_displays){.count = 0};
    return all;
}

static void forget(struct cli_displays *all, size_t at)
{
    free(all->list[at].text);
    free(all->list[at].format);
    all->count--;
    memmove(&all->list[at], &all->list[at + 1], (all->count - at) * sizeof(*all->list));
}

void cli_displays_free(struct cli_displays *all)
{
    if (!all)
        return;
    while (all->count)
        forget(all, all->count - 1);
    free(all->list);
    free(all);
}

/* ---- showing ---- */

/* What a display shows at the session's moment, to be freed; NULL if its expression has no value
 * there. */
static char *text_here(struct cli_session *session, const struct display *display)
{
    struct cli_frame_view view = {session->moment, session->frame};
    struct cli_value value;
    if (cli_value_evaluate(&view, display->text, &value) != 0)
        return NULL;
    return cli_value_text(session->moment, &value, display->format, false);
}

static void print_one(struct cli_session *session, const struct display *display)
{
    struct cli_out *out = session->out;
    char *text = text_here(session, display);
    if (!text)
        return;
    fprintf(out->stream, "%u: %s%s%s", display->number, *display->format ? "/" : "",
            display->format, *display->format ? " " : "");
    cli_out_text(out, display->text);
    fputs(" = ", out->stream);
    cli_out_lines(out, text);
    putc('\n', out->stream);
    free(text);
}

void cli_displays_print(struct cli_session *session)
{
    const struct cli_displays *all = session->displays;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i].is_enabled)
            print_one(session, &all->list[i]);
}

static json_t *json_of(struct cli_session *session, const struct display *display)
{
    json_t *row = json_object();
    char *text = session->moment ? text_here(session, display) : NULL;
    cli_json_set(row, "number", json_integer(display->number));
    cli_json_set(row, "enabled", json_boolean(display->is_enabled));
    cli_json_set(row, "expression", cli_json_text(display->text));
    cli_json_set(row, "format", cli_json_text(display->format));
    cli_json_set(row, "value", cli_json_text(text));
    free(text);
    return row;
}

static json_t *json_of_all(struct cli_session *session)
{
    const struct cli_displays *all = session->displays;
    json_t *array = json_array();
    for (size_t i = 0; i < all->count; i++)
        cli_json_append(array, json_of(session, &all->list[i]));
    return array;
}

void cli_displays_to_json(json_t *object, struct cli_session *session)
{
    if (session->displays->count)
        cli_json_set(object, "displays", json_of_all(session));
}

int cli_info_display(struct cli_session *session, const char *operand)
{
    const struct cli_displays *all = session->displays;
    struct cli_out *out = session->out;
    (void)operand;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.displays/1");
        cli_json_set(object, "displays", json_of_all(session));
        cli_out_json(out, object);
        return 0;
    }
    if (!all->count)
        fputs("nothing is displayed at each stop (see 'help display')\n", out->stream);
    for (size_t i = 0; i < all->count; i++) {
        const struct display *display = &all->list[i];
        fprintf(out->stream, "%-4u %s  %s%s%s", display->number, display->is_enabled ? "y" : "n",
                *display->format ? "/" : "", display->format, *display->format ? " " : "");
        cli_out_text(out, display->text);
        putc('\n', out->stream);
    }
    return 0;
}

/* ---- changing ---- */

static int find(const struct cli_displays *all, const char *number, size_t *at)
{
    uint64_t wanted;
    if (!cli_number_parse(number, &wanted))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no number of a display", number);
    for (*at = 0; *at < all->count; ++*at)
        if (all->list[*at].number == wanted)
            return 0;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no display number %s", number);
}

static void change_one(struct cli_displays *all, size_t at, enum cli_display_change change)
{
    if (change == CLI_DISPLAY_DELETE)
        forget(all, at);
    else
        all->list[at].is_enabled = change == CLI_DISPLAY_ENABLE;
}

int cli_displays_change(struct cli_session *session, char *const *numbers, size_t count,
                        enum cli_display_change change)
{
    struct cli_displays *all = session->displays;
    size_t at;
    for (size_t i = 0; i < count; i++) {
        int err = find(all, numbers[i], &at);
        if (err)
            return err;
        change_one(all, at, change);
    }
    for (at = count ? 0 : all->count; at-- > 0;)
        change_one(all, at, change);
    return session->out->json ? cli_info_display(session, NULL) : 0;
}

int cli_cmd_display(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_displays *all = session->displays;
    struct cli_moment *moment;
    struct cli_value value;
    int err = cli_value_format_check(format);
    if (!err)
        err = cli_session_moment(session, &moment);
    if (err)
        return err;
    if (args->operand_count) {
        struct cli_frame_view view = {moment, session->frame};
        err = cli_value_evaluate(&view, args->operands[0], &value);
        if (err)
            return err;
        all->list = cli_realloc(all->list, all->count + 1, sizeof(*all->list));
        all->list[all->count++] = (struct display){
            .number = ++all->last_number,
            .is_enabled = true,
            .text = cli_strdup(args->operands[0]),
            .format = cli_strdup(format),
        };
    }
    if (repl->out->json)
        return cli_info_display(session, NULL);
    if (args->operand_count)
        print_one(session, &all->list[all->count - 1]);
    else
        cli_displays_print(session);
    return 0;
}

int cli_cmd_undisplay(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return cli_displays_change(repl->session, args->operands, args->operand_count,
                               CLI_DISPLAY_DELETE);
}
