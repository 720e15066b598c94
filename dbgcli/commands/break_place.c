/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands behind `break`: a location, "thread N", "if CONDITION". */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define LINES_TRIED 64 /* behind one without code */

/* ---- clauses ---- */

static bool is_word_at(const char *text, const char *at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && (at == text || isspace((unsigned char)at[-1])) &&
           (!at[length] || isspace((unsigned char)at[length]) || at[length] == '(');
}

static const char *find_word(const char *text, const char *word)
{
    const char *at = text;
    while (*at && !is_word_at(text, at, word))
        at++;
    return *at ? at : NULL;
}

static char *trimmed(const char *start, const char *end)
{
    while (start < end && isspace((unsigned char)*start))
        start++;
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    return cli_strndup(start, (size_t)(end - start));
}

int cli_break_clauses(struct cli_session *session, const char *text, char **what,
                      const struct wetdbg_thread **thread, char **condition)
{
    const char *end = text + strlen(text);
    const char *is_if = find_word(text, "if");
    const char *head_end = is_if ? is_if : end;
    char *head = trimmed(text, head_end);
    const char *of_thread = find_word(head, "thread");
    *condition = is_if ? trimmed(is_if + 2, end) : NULL;
    *thread = NULL;
    int err = 0;
    if (*condition && !**condition)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "behind 'if' comes a condition");
    if (of_thread && !err) {
        char *number = trimmed(of_thread + strlen("thread"), head + strlen(head));
        err = cli_thread_find(session, number, thread);
        free(number);
    }
    *what = trimmed(head, of_thread ? of_thread : head + strlen(head));
    free(head);
    if (err) {
        free(*what);
        free(*condition);
    }
    return err;
}

/* ---- locations ---- */

static int one_pc(uint64_t pc, uint64_t **pcs, size_t *count)
{
    *pcs = cli_realloc(NULL, 1, sizeof(**pcs));
    **pcs = pc;
    *count = 1;
    return 0;
}

/* The addresses of a line, or of the first one with code behind it. */
static int line_pcs(struct cli_session *session, const char *file, uint64_t line, uint64_t **pcs,
                    size_t *count)
{
    int result = -WETDBG_ERR_NOT_FOUND;
    for (uint64_t i = 0; i < LINES_TRIED && result == -WETDBG_ERR_NOT_FOUND; i++) {
        char *text = cli_asprintf("%s:%" PRIu64, file, line + i);
        result = cli_line_pcs(session->model, text, pcs, count);
        free(text);
    }
    if (result != -WETDBG_ERR_NOT_FOUND)
        return result;
    char *text = cli_asprintf("%s:%" PRIu64, file, line);
    result = cli_line_pcs(session->model, text, pcs, count); /* says what there is */
    free(text);
    return result;
}

/* The selected frame, as far as it has a line. */
static int current_frame(struct cli_session *session, const struct cli_frame **frame)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (!err)
        *frame = &moment->frames[session->frame];
    return err;
}

/* N is a line of the file that is listed, or that the frame is in; +N and -N count from the
 * frame's. */
static int number_pcs(struct cli_session *session, const char *text, uint64_t **pcs, size_t *count)
{
    const struct cli_frame *frame;
    uint64_t number;
    int err = current_frame(session, &frame);
    if (err)
        return err;
    bool is_relative = *text == '+' || *text == '-';
    const char *file = !is_relative && session->list_file ? session->list_file : frame->file;
    if (!cli_number_parse(text + is_relative, &number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no line", text);
    if (!file)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "line %s of which file? use FILE:LINE", text);
    if (*text == '-')
        number = frame->line > number ? frame->line - number : 1;
    else if (*text == '+')
        number += frame->line;
    return line_pcs(session, file, number, pcs, count);
}

/* Keeps the addresses whose code is of a file. */
static size_t keep_of_file(struct cli_session *session, const char *file, uint64_t *pcs,
                           size_t count)
{
    size_t kept = 0, length = strlen(file);
    for (size_t i = 0; i < count; i++) {
        struct cli_place place;
        cli_place_of_pc(session, pcs[i], &place);
        size_t whole = place.file ? strlen(place.file) : 0;
        if (whole >= length && strcmp(place.file + whole - length, file) == 0 &&
            (whole == length || place.file[whole - length - 1] == '/'))
            pcs[kept++] = pcs[i];
    }
    return kept;
}

static int file_and_function_pcs(struct cli_session *session, const char *text, const char *colon,
                                 uint64_t **pcs, size_t *count)
{
    int result = cli_breakpoint_pcs(session, colon + 1, pcs, count);
    if (result)
        return result;
    char *file = cli_strndup(text, (size_t)(colon - text));
    *count = keep_of_file(session, file, *pcs, *count);
    if (!*count) {
        free(*pcs);
        *pcs = NULL;
        result =
            wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function of %s is called '%s'", file, colon + 1);
    }
    free(file);
    return result;
}

int cli_break_location(struct cli_session *session, const char *text, uint64_t **pcs, size_t *count)
{
    const struct cli_frame *frame;
    const char *colon = strrchr(text, ':');
    uint64_t number;
    if (!*text) {
        int err = current_frame(session, &frame);
        return err ? err : one_pc(frame->regs.value[WETDBG_REG_RIP], pcs, count);
    }
    if (isdigit((unsigned char)text[*text == '+' || *text == '-']))
        return number_pcs(session, text, pcs, count);
    bool is_file = colon && colon > text && colon[-1] != ':' && *text != '*';
    if (is_file && cli_number_parse(colon + 1, &number)) {
        char *file = cli_strndup(text, (size_t)(colon - text));
        int result = line_pcs(session, file, number, pcs, count);
        free(file);
        return result;
    }
    if (is_file && colon[1])
        return file_and_function_pcs(session, text, colon, pcs, count);
    int result = cli_breakpoint_pcs(session, text, pcs, count);
    if (!result && !*count) {
        free(*pcs);
        *pcs = NULL;
        result = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "'%s' has no code of its own to stop at", text);
    }
    return result;
}
