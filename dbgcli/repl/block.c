/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that are no commands of their own: those that wait for their turn, and those that a command
 * collects up to `end`. */
#include "dbgcli/repl/block.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

static const char blanks[] = " \t\r\n\f\v";

/* ---- what waits ---- */

static void insert(struct cli_repl *repl, const char *line, const char *place, unsigned depth)
{
    repl->queue = cli_realloc(repl->queue, repl->queue_count + 1, sizeof(*repl->queue));
    struct cli_waiting *made = &repl->queue[repl->queue_at];
    memmove(made + 1, made, (repl->queue_count - repl->queue_at) * sizeof(*made));
    repl->queue_at++;
    repl->queue_count++;
    *made =
        (struct cli_waiting){cli_strdup(line), place ? cli_strdup(place) : NULL, .depth = depth};
}

void cli_repl_queue_from(struct cli_repl *repl, const char *line, const char *place)
{
    insert(repl, line, place, repl->depth + 1);
}

void cli_repl_queue(struct cli_repl *repl, const char *line)
{
    cli_repl_queue_from(repl, line, repl->place);
}

void cli_queue_lines(struct cli_repl *repl, char *const *lines, size_t count)
{
    for (size_t i = 0; i < count; i++)
        insert(repl, lines[i], repl->place, repl->depth);
}

void cli_queue_turn(struct cli_repl *repl, char *const *lines, size_t count)
{
    size_t first = repl->queue_at;
    cli_queue_lines(repl, lines, count);
    repl->queue[first].repeats = count;
}

/* Drops the first `count` lines. */
static void drop_first(struct cli_repl *repl, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cli_waiting_fini(&repl->queue[i]);
    repl->queue_count -= count;
    memmove(repl->queue, repl->queue + count, repl->queue_count * sizeof(*repl->queue));
}

bool cli_queue_leave_turn(struct cli_repl *repl, bool is_break)
{
    size_t at = 0;
    /* what a command of the user's, or a file, runs is not in the loop that runs that */
    while (at < repl->queue_count && repl->queue[at].depth >= repl->depth &&
           !(repl->queue[at].repeats && repl->queue[at].depth == repl->depth))
        at++;
    if (at == repl->queue_count || repl->queue[at].depth < repl->depth)
        return false;
    drop_first(repl, is_break ? at + repl->queue[at].repeats : at);
    return true;
}

bool cli_queue_take(struct cli_repl *repl, struct cli_waiting *line)
{
    repl->queue_at = 0;
    if (!repl->queue_count)
        return false;
    *line = repl->queue[0];
    repl->queue[0] = (struct cli_waiting){0};
    drop_first(repl, 1);
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
    bool is_text;   /* its lines begin no blocks */
    unsigned depth; /* blocks begun in it */
    cli_block_fn done;
    void *arg;
};

void cli_repl_collect(struct cli_repl *repl, cli_block_fn done, void *arg)
{
    repl->block = cli_malloc(sizeof(*repl->block));
    *repl->block = (struct cli_block){.done = done, .arg = arg};
}

void cli_repl_collect_text(struct cli_repl *repl, cli_block_fn done, void *arg)
{
    cli_repl_collect(repl, done, arg);
    repl->block->is_text = true;
}

bool cli_line_is(const char *line, const char *word)
{
    size_t length = strlen(word);
    line += strspn(line, blanks);
    return strncmp(line, word, length) == 0 &&
           (!line[length] || line[length] == '(' || strchr(blanks, line[length]));
}

int cli_line_nesting(const char *line)
{
    static const char *const words[] = {"commands", "define", "document", "if", "while"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (cli_line_is(line, words[i]))
            return 1;
    return cli_line_is(line, "end") ? -1 : 0;
}

static int finish(struct cli_repl *repl, bool is_whole)
{
    struct cli_block *block = repl->block;
    char *none[] = {NULL};
    char **lines = block->count ? block->lines : none;
    repl->block = NULL;
    int err = block->done(repl, is_whole ? lines : NULL, is_whole ? block->count : 0, block->arg);
    for (size_t i = 0; i < block->count; i++)
        free(block->lines[i]);
    free(block->lines);
    free(block);
    return err;
}

int cli_block_take(struct cli_repl *repl, const char *line)
{
    struct cli_block *block = repl->block;
    int nesting = cli_line_nesting(line);
    line += strspn(line, blanks);
    if (nesting < 0 && !block->depth)
        return finish(repl, true);
    if (!block->is_text)
        block->depth += (unsigned)nesting;
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
