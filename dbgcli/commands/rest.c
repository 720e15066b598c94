/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/rest.h"

#include <stdlib.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

struct cli_rest {
    char *text; /* of all lines, one behind the other */
    size_t size;
    size_t *ends; /* of each line in the text */
    size_t count, capacity;
    size_t shown;
    FILE *writer, *output; /* while it is written; the session's own output meanwhile */
};

void cli_rest_free(struct cli_session *session)
{
    struct cli_rest *rest = session->rest;
    session->rest = NULL;
    if (!rest)
        return;
    free(rest->text);
    free(rest->ends);
    free(rest);
}

void cli_rest_begin(struct cli_session *session)
{
    struct cli_rest *rest = session->rest;
    if (!rest) {
        rest = session->rest = cli_malloc(sizeof(*rest));
        *rest = (struct cli_rest){0};
    }
    char *before = rest->text;
    size_t size = rest->size;
    rest->text = NULL;
    rest->writer = open_memstream(&rest->text, &rest->size);
    if (!rest->writer || (size && fwrite(before, 1, size, rest->writer) != size))
        cli_die();
    free(before);
    rest->output = session->out->stream;
    session->out->stream = rest->writer;
}

void cli_rest_end_line(struct cli_session *session)
{
    struct cli_rest *rest = session->rest;
    if (fflush(rest->writer))
        cli_die();
    if (rest->count == rest->capacity) {
        rest->capacity = rest->capacity ? 2 * rest->capacity : 64;
        rest->ends = cli_realloc(rest->ends, rest->capacity, sizeof(*rest->ends));
    }
    rest->ends[rest->count++] = rest->size;
}

void cli_rest_end(struct cli_session *session)
{
    struct cli_rest *rest = session->rest;
    session->out->stream = rest->output;
    if (fclose(rest->writer) || !rest->text)
        cli_die();
    rest->writer = rest->output = NULL;
}

int cli_rest_print(struct cli_session *session, uint64_t limit)
{
    struct cli_rest *rest = session->rest;
    FILE *to = session->out->stream;
    if (!rest)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "more: no slice has lines that were not shown");
    size_t left = rest->count - rest->shown, begin = rest->shown ? rest->ends[rest->shown - 1] : 0;
    rest->shown += limit && limit < left ? (size_t)limit : left;
    fwrite(rest->text + begin, 1, rest->ends[rest->shown - 1] - begin, to);
    left = rest->count - rest->shown;
    if (left)
        fprintf(to, "(%zu more; 'more' shows the next, --limit 0 shows all)\n", left);
    else
        cli_rest_free(session);
    return 0;
}
