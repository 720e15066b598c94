/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that are no commands of their own: those that wait for their turn, and those that a command
 * collects up to `end`. */
#include "dbgcli/repl/block.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

static const char blanks[] = " \t\r\n\f\v";

/* ---- what waits ---- */

void cli_repl_queue_from(struct cli_repl *repl, const char *line, const char *place)
{
    repl->queue = cli_realloc(repl->queue, repl->queue_count + 1, sizeof(*repl->queue));
    memmove(&repl->queue[repl->queue_at + 1], &repl->queue[repl->queue_at],
            (repl->queue_count - repl->queue_at) * sizeof(*repl->queue));
    repl->queue[repl->queue_at++] =
        (struct cli_waiting){cli_strdup(line), place ? cli_strdup(place) : NULL, repl->depth + 1};
    repl->queue_count++;
}

void cli_repl_queue(struct cli_repl *repl, const char *line)
{
    cli_repl_queue_from(repl, line, repl->place);
}

bool cli_queue_take(struct cli_repl *repl, struct cli_waiting *line)
{
    repl->queue_at = 0;
    if (!repl->queue_count)
        return false;
    *line = repl->queue[0];
    repl->queue_count--;
    memmove(repl->queue, repl->queue + 1, repl->queue_count * sizeof(*repl->queue));
    return true;
}

void cli_waiting_fini(struct cli_waiting *line)
{
    free(line->line);
    free(line->place);
}

void cli_queue_drop(struct cli_repl *repl)
{
    for (size_t i = 0; i < repl->queue_count; i++)
        cli_waiting_fini(&repl->queue[i]);
    free(repl->queue);
    repl->queue = NULL;
    repl->queue_count = repl->queue_at = 0;
}

/* ---- blocks ---- */

struct cli_block {
    char **lines;
    size_t count;
    unsigned depth; /* blocks begun in it */
    cli_block_fn done;
    void *arg;
};

void cli_repl_collect(struct cli_repl *repl, cli_block_fn done, void *arg)
{
    repl->block = cli_malloc(sizeof(*repl->block));
    *repl->block = (struct cli_block){.done = done, .arg = arg};
}

/* Whether the line is this word, or begins with it. */
static bool is_word(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && (!line[length] || strchr(blanks, line[length]));
}

static int finish(struct cli_repl *repl, bool is_whole)
{
    struct cli_block *block = repl->block;
    repl->block = NULL;
    int err =
        block->done(repl, is_whole ? block->lines : NULL, is_whole ? block->count : 0, block->arg);
    for (size_t i = 0; i < block->count; i++)
        free(block->lines[i]);
    free(block->lines);
    free(block);
    return err;
}

int cli_block_take(struct cli_repl *repl, const char *line)
{
    struct cli_block *block = repl->block;
    line += strspn(line, blanks);
    if (is_word(line, "end") && !block->depth)
        return finish(repl, true);
    if (is_word(line, "end"))
        block->depth--;
    else if (is_word(line, "commands") || is_word(line, "define") || is_word(line, "document"))
        block->depth++;
    size_t length = strlen(line);
    while (length && strchr(blanks, line[length - 1]))
        length--;
    block->lines = cli_realloc(block->lines, block->count + 1, sizeof(*block->lines));
    block->lines[block->count++] = cli_strndup(line, length);
    return 0;
}

void cli_block_drop(struct cli_repl *repl)
{
    if (repl->block)
        finish(repl, false);
}
