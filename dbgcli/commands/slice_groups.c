/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_groups.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/caller.h>

/* What is inlined from the system's headers is nobody's own. */
static bool is_of_system(const char *file)
{
    return strncmp(file, "/usr/include/", 13) == 0 || strncmp(file, "/usr/lib/", 9) == 0;
}

bool cli_slice_line_is_readable(struct cli_session *session, const struct wetdbg_slice_line *line)
{
    if (!line->file || is_of_system(line->file) || !wetdbg_is_own(session->wet, line->pc))
        return false;
    if (strcmp(line->module, cli_base_name(session->info->program)) == 0)
        return true;
    return cli_source_text(session, line->file, line->line, line->pc) != NULL;
}

static int by_name(const void *left, const void *right)
{
    const struct cli_slice_group *a = left, *b = right;
    int order = strcmp(a->module, b->module);
    return order ? order : strcmp(a->function, b->function);
}

static int by_recency(const void *left, const void *right)
{
    const struct cli_slice_group *a = left, *b = right;
    if (a->is_own != b->is_own)
        return a->is_own ? -1 : 1;
    if (a->last_time != b->last_time)
        return a->last_time < b->last_time ? 1 : -1;
    return by_name(left, right);
}

/* Makes neighbours of the same name one; returns how many are left. */
static size_t merge(struct cli_slice_group *groups, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && by_name(&groups[kept - 1], &groups[i]) == 0) {
            struct cli_slice_group *into = &groups[kept - 1];
            into->instances += groups[i].instances;
            into->lines += groups[i].lines;
            into->is_own |= groups[i].is_own;
            if (groups[i].last_time > into->last_time)
                into->last_time = groups[i].last_time;
        } else {
            groups[kept++] = groups[i];
        }
    }
    return kept;
}

void cli_slice_groups_make(struct cli_session *session, const struct wetdbg_slice_line *lines,
                           size_t count, struct cli_slice_group **groups, size_t *group_count)
{
    struct cli_slice_group *list = cli_realloc(NULL, count + 1, sizeof(*list));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (cli_slice_line_is_readable(session, &lines[i]))
            continue;
        list[used++] = (struct cli_slice_group){
            .module = lines[i].module,
            .function = lines[i].function,
            .instances = lines[i].instances,
            .lines = lines[i].file != NULL,
            .last_time = lines[i].last_time,
            .is_own = wetdbg_is_own(session->wet, lines[i].pc),
        };
    }
    qsort(list, used, sizeof(*list), by_name);
    *group_count = merge(list, used);
    qsort(list, *group_count, sizeof(*list), by_recency);
    *groups = list;
}

#define GROUPS_SHOWN 10 /* unless all are asked for */

void cli_slice_groups_print(struct cli_session *session, const struct wetdbg_slice_line *lines,
                            size_t line_count, bool shows_all)
{
    struct cli_out *out = session->out;
    struct cli_slice_group *groups;
    size_t count, shown;
    cli_slice_groups_make(session, lines, line_count, &groups, &count);
    shown = shows_all || count < GROUPS_SHOWN ? count : GROUPS_SHOWN;
    if (count)
        fputs("libraries, and code whose source is not here, by function:\n", out->stream);
    for (size_t i = 0; i < shown && !cli_out_is_gone(out); i++) {
        fprintf(out->stream, "  %s", cli_out_style(out, CLI_STYLE_DIM));
        if (strcmp(groups[i].module, "?") == 0) {
            fputs("code in no file", out->stream);
        } else {
            cli_out_text(out, groups[i].module);
            fputs("  ", out->stream);
            cli_out_text(out, groups[i].function);
        }
        fprintf(out->stream, "  x%" PRIu64 "%s\n", groups[i].instances,
                cli_out_style(out, CLI_STYLE_NONE));
    }
    if (shown < count)
        fprintf(out->stream, "  (%zu more; --all shows them and their lines)\n", count - shown);
    free(groups);
}
