/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `bookmark` and `bookmarks`: times of the run that get a name (bookmark.h). */
#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/commands/bookmark.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"delete", 'd', "NAME", "forget a bookmark"},
    {0},
};

const struct cli_syntax cli_cmd_bookmark_syntax = {
    .example = "bookmark overrun parse.c:120#3",
    .usage = "[NAME [TIME] | --delete NAME]",
    .options = options,
    .operands_max = 2,
    .details =
        "Names a time of the run, the current one unless TIME is given; without NAME, lists\n"
        "the bookmarks. Wherever a time is expected the name will do: 'goto NAME',\n"
        "'print x@NAME'. Bookmarks outlive the session, and are kept apart from the .wet\n"
        "file, below $XDG_STATE_HOME/wetdbg.",
};

static json_t *json_of(const struct cli_bookmark *bookmark)
{
    json_t *row = json_object();
    cli_json_set(row, "name", cli_json_text(bookmark->name));
    cli_json_set(row, "time", cli_json_count(bookmark->time));
    cli_json_set(row, "place", cli_json_text(bookmark->place));
    return row;
}

static int list_bookmarks(struct cli_session *session)
{
    struct cli_out *out = session->out;
    const struct cli_bookmark *list;
    size_t count;
    int err = cli_bookmarks_list(session->bookmarks, &list, &count);
    if (err)
        return err;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.bookmarks/1");
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(array, json_of(&list[i]));
        cli_json_set(object, "bookmarks", array);
        cli_out_json(out, object);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(out->stream, "%s%-16s%s time %-14" PRIu64 " ", cli_out_style(out, CLI_STYLE_BOLD),
                list[i].name, cli_out_style(out, CLI_STYLE_NONE), list[i].time);
        cli_out_text(out, list[i].place);
        putc('\n', out->stream);
    }
    if (!count)
        fputs("no bookmarks\n", out->stream);
    return 0;
}

/* Describes where the moment is, "main at main.c:12", so that the list needs to run nothing. */
static void describe(struct cli_session *session, struct cli_bookmark *bookmark)
{
    struct cli_moment *moment = session->moment, *other = NULL;
    if (!moment || moment->time != bookmark->time) {
        if (cli_moment_open(session->wet, bookmark->time, &other) != 0)
            return;
        moment = other;
    }
    const struct cli_frame *frame = &moment->frames[cli_moment_first_frame(moment)];
    const char *function = frame->function ? frame->function : "?";
    if (frame->file)
        snprintf(bookmark->place, sizeof(bookmark->place), "%s at %s:%" PRIu32, function,
                 cli_base_name(frame->file), frame->line);
    else
        snprintf(bookmark->place, sizeof(bookmark->place), "%s", function);
    for (char *at = bookmark->place; *at; at++)
        if (*at == '\t' || *at == '\n')
            *at = ' ';
    cli_moment_close(other);
}

static int set_bookmark(struct cli_session *session, const char *name, wetdbg_time time)
{
    struct cli_bookmark bookmark = {.time = time};
    if (!cli_bookmark_is_name(name))
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "'%s' cannot be the name of a bookmark: letters, digits, '_', '-' and '.', "
            "at most %d, and not start, end, crash or now",
            name, CLI_BOOKMARK_NAME_MAX - 1);
    int outside = cli_session_check_time(session, time);
    if (outside)
        return outside;
    snprintf(bookmark.name, sizeof(bookmark.name), "%s", name);
    describe(session, &bookmark);
    int err = cli_bookmarks_set(session->bookmarks, &bookmark);
    if (err)
        return err;
    if (session->out->json) {
        json_t *object = cli_json_object("wetdbg.bookmark/1");
        cli_json_set(object, "bookmark", json_of(&bookmark));
        cli_out_json(session->out, object);
    } else {
        fprintf(session->out->stream, "%s is time %" PRIu64, name, time);
        if (*bookmark.place) {
            fputs(": ", session->out->stream);
            cli_out_text(session->out, bookmark.place);
        }
        putc('\n', session->out->stream);
    }
    return 0;
}

static int delete_bookmark(struct cli_session *session, const struct cli_args *args,
                           const char *name)
{
    if (args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "bookmark: --delete NAME takes nothing else ('%s')",
                           args->operands[0]);
    int err = cli_bookmarks_delete(session->bookmarks, name);
    if (!err && session->out->json) {
        json_t *object = cli_json_object("wetdbg.bookmark/1");
        cli_json_set(object, "deleted", cli_json_text(name));
        cli_out_json(session->out, object);
    }
    return err;
}

int cli_cmd_bookmark(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    const char *unwanted = cli_args_value(args, "delete");
    wetdbg_time time = session->time;
    (void)format;
    if (unwanted)
        return delete_bookmark(session, args, unwanted);
    if (!args->operand_count)
        return list_bookmarks(session);
    int result = args->operand_count > 1 ? cli_time_parse(session, args->operands[1], &time) : 0;
    return result ? result : set_bookmark(session, args->operands[0], time);
}
