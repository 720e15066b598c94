/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `list`: source lines around a place, or from where the last list ended. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_list_syntax = {
    .example = "list parse_line",
    .usage = "[FILE:LINE|LINE|FUNCTION|*ADDRESS][,LAST]|-",
    .operands_max = 1,
    .goes_on = true,
    .details =
        "Ten lines of source around a place; without one, around the current line, and\n"
        "then the lines that follow, as an empty line does. A line alone is one of the file\n"
        "that was listed last, or of the current line's. With LAST, the lines from the place to\n"
        "that one; with -, the ten before those that were listed last.",
};

static void stand_at(struct cli_session *session, const char *file, uint32_t line)
{
    session->list_file = file;
    session->list_line = session->list_first = line;
}

static int stand_at_line(struct cli_session *session, const char *text)
{
    struct wetdbg_line_location *locations;
    size_t count;
    char *file;
    uint32_t line;
    int err = cli_line_parse(text, &file, &line);
    if (err)
        return err;
    err = wetdbg_line_locations(session->model, file, line, &locations, &count);
    free(file);
    if (err)
        return err;
    stand_at(session, locations[0].file, line);
    free(locations);
    return 0;
}

#define CANDIDATES_NAMED 10

/* A function that a name may mean. */
struct candidate {
    const struct wetdbg_function *function;
    struct wetdbg_line line;
};

/* Functions with source, of the first module that has any: the program's come before a library's.
 * Of several at one line (constructors, instances of a template) the first. */
static size_t find_candidates(struct cli_session *session, const struct wetdbg_function *functions,
                              size_t count, struct candidate *candidates)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct candidate *last = &candidates[found];
        *last = (struct candidate){.function = &functions[i]};
        if (wetdbg_line_at(session->model, functions[i].start, &last->line) != 0 ||
            !last->line.line)
            continue;
        if (found && candidates[0].function->module != functions[i].module)
            continue;
        size_t same = 0;
        while (same < found && (candidates[same].line.line != last->line.line ||
                                strcmp(candidates[same].line.file, last->line.file) != 0))
            same++;
        found += same == found;
    }
    return found;
}

static int fail_ambiguous(struct cli_session *session, const char *name,
                          const struct candidate *candidates, size_t count)
{
    char *text = cli_asprintf("'%s' is ambiguous:", name);
    for (size_t i = 0; i < count && i < CANDIDATES_NAMED; i++) {
        char *longer =
            cli_asprintf("%s%s %s at %s:%" PRIu32, text, i ? "," : "",
                         wetdbg_name_full(session->model, candidates[i].function->linkage_name),
                         cli_base_name(candidates[i].line.file), candidates[i].line.line);
        free(text);
        text = longer;
    }
    int err = wetdbg_fail(-WETDBG_ERR_USAGE, "%s%s", text, count > CANDIDATES_NAMED ? ", ..." : "");
    free(text);
    return err;
}

/* Says that there are no lines, and why. Frees `text`. */
static int fail_without_lines(struct cli_session *session, uint64_t pc, char *text)
{
    char *missing = cli_debug_missing(session->model, pc);
    int err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s%s%s", text, missing ? ": " : "",
                          missing ? missing : "");
    free(text);
    free(missing);
    return err;
}

static int stand_at_address(struct cli_session *session, const char *text, uint64_t address)
{
    struct wetdbg_line line;
    if (wetdbg_line_at(session->model, address, &line) != 0 || !line.line)
        return fail_without_lines(session, address,
                                  cli_asprintf("'%s' has no line information", text));
    stand_at(session, line.file, line.line);
    return 0;
}

static int stand_at_function(struct cli_session *session, const char *name)
{
    struct wetdbg_function *functions;
    size_t count;
    int result = wetdbg_functions_named(session->model, name, &functions, &count);
    if (result == -WETDBG_ERR_NOT_FOUND)
        return wetdbg_fail(result, "no function is called '%s'", name);
    if (result)
        return result;
    struct candidate *candidates = cli_realloc(NULL, count + 1, sizeof(*candidates));
    size_t found = find_candidates(session, functions, count, candidates);
    /* the one that is called so in full, if there is one */
    size_t chosen = 0;
    while (chosen < found && strcmp(candidates[chosen].function->name, name) != 0)
        chosen++;
    if (!found)
        result = fail_without_lines(session, functions[0].start,
                                    cli_asprintf("'%s' has no line information", name));
    else if (found > 1 && chosen == found)
        result = fail_ambiguous(session, name, candidates, found);
    else
        stand_at(session, candidates[chosen % found].line.file,
                 candidates[chosen % found].line.line);
    free(candidates);
    free(functions);
    return result;
}

static int stand_at_frame(struct cli_session *session)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    const struct cli_frame *frame = &moment->frames[session->frame];
    if (!frame->file) {
        const char *where = frame->function ? frame->function : "the code that runs here";
        return fail_without_lines(session, frame->lookup_pc,
                                  cli_asprintf("no line information for %s", where));
    }
    stand_at(session, frame->file, frame->line);
    return 0;
}

/* A line's text with its indentation, borrowed; NULL past the end or without source. */
static const char *text_of(struct cli_session *session, uint32_t line, unsigned *flags)
{
    const char *text = NULL;
    int result = wetdbg_source_line(session->model, session->list_file, line, 0, &text, flags);
    return result == 0 ? text : NULL;
}

static void show_line(struct cli_session *session, uint32_t line, uint32_t current,
                      const char *text, json_t *array)
{
    struct cli_out *out = session->out;
    if (array) {
        json_t *row = json_object();
        cli_json_set(row, "line", json_integer(line));
        cli_json_set(row, "text", cli_json_text(text));
        cli_json_append(array, row);
        return;
    }
    fprintf(out->stream, "%s%s%" PRIu32 "%s\t",
            line == current ? cli_out_style(out, CLI_STYLE_BOLD) : "", line == current ? ">" : " ",
            line, line == current ? cli_out_style(out, CLI_STYLE_NONE) : "");
    cli_out_text(out, text);
    putc('\n', out->stream);
}

/* The line to be marked, if the selected frame stands in the file that is shown. */
static uint32_t current_line(const struct cli_session *session)
{
    if (!session->moment)
        return 0;
    const struct cli_frame *frame = &session->moment->frames[session->frame];
    return frame->file && strcmp(frame->file, session->list_file) == 0 ? frame->line : 0;
}

/* How many lines are listed where nobody says how many. */
static uint64_t lines_shown(const struct cli_session *session)
{
    return session->list_size ? session->list_size : UINT32_MAX;
}

static int show_lines(struct cli_session *session, uint64_t count)
{
    uint32_t first = session->list_line, current = current_line(session);
    unsigned flags = 0;
    const char *text = text_of(session, first, &flags);
    if (!text && flags & WETDBG_SOURCE_MISSING)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the source %s cannot be read",
                           session->list_file);
    if (!text)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s has no line %" PRIu32, session->list_file,
                           first);
    json_t *array = session->out->json ? json_array() : NULL;
    session->list_first = first;
    for (; text && session->list_line < first + count; session->list_line++) {
        show_line(session, session->list_line, current, text, array);
        text = text_of(session, session->list_line + 1, &flags);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.list/1");
        cli_json_set(object, "file", cli_json_text(session->list_file));
        cli_json_set(object, "lines", array);
        cli_out_json(session->out, object);
    }
    return 0;
}

/* Whether the text is FILE:LINE, and not ns::function. */
static bool is_file_and_line(const char *text)
{
    const char *colon = strrchr(text, ':');
    return colon && (colon == text || colon[-1] != ':' || strspn(colon + 1, "0123456789"));
}

/* Whether the text is a number: a line of the file that is listed, or that the frame is in. */
static bool is_line(const char *text, uint64_t *line)
{
    return text[0] >= '1' && text[0] <= '9' && !text[strspn(text, "0123456789")] &&
           cli_number_parse(text, line) && *line <= UINT32_MAX;
}

static int stand_at_number(struct cli_session *session, uint64_t line)
{
    int err = session->list_file ? 0 : stand_at_frame(session);
    if (!err)
        stand_at(session, session->list_file, (uint32_t)line);
    return err;
}

static int stand_at_place(struct cli_session *session, const char *where)
{
    uint64_t line, address;
    if (is_line(where, &line))
        return stand_at_number(session, line);
    if (is_file_and_line(where))
        return stand_at_line(session, where);
    if (cli_address_parse(session->model, where, &address))
        return stand_at_address(session, where, address);
    return stand_at_function(session, where);
}

/* Shows lines around a place (NULL: that of the selected frame). */
static int show_around(struct cli_session *session, const char *where)
{
    int err = where ? stand_at_place(session, where) : stand_at_frame(session);
    if (err)
        return err;
    uint64_t count = lines_shown(session);
    session->list_line =
        session->list_line > count / 2 ? session->list_line - (uint32_t)(count / 2) : 1;
    return show_lines(session, count);
}

/* The lines from a place to line `last`. */
static int show_range(struct cli_session *session, const char *from, uint64_t last)
{
    int err = stand_at_place(session, from);
    if (!err && last < session->list_line)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "list: line %" PRIu64 " comes before line %" PRIu32,
                          last, session->list_line);
    return err ? err : show_lines(session, last - session->list_line + 1);
}

/* The lines before those that were listed last; as in gdb, around the current line at first. */
static int show_before(struct cli_session *session)
{
    if (!session->list_file)
        return show_around(session, NULL);
    uint32_t end = session->list_first;
    if (end <= 1)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s begins with the lines that were listed",
                           session->list_file);
    uint64_t count = lines_shown(session);
    session->list_line = end > count ? end - (uint32_t)count : 1;
    return show_lines(session, end - session->list_line);
}

int cli_cmd_list(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    const char *where = args->operands[0], *comma = where ? strrchr(where, ',') : NULL;
    uint64_t last;
    (void)format;
    if (where && strcmp(where, "-") == 0)
        return show_before(session);
    if (comma && comma > where && is_line(comma + 1, &last)) {
        char *from = cli_strndup(where, (size_t)(comma - where));
        int err = show_range(session, from, last);
        free(from);
        return err;
    }
    if (!where && session->list_file)
        return show_lines(session, lines_shown(session));
    return show_around(session, where);
}
