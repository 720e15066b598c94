/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_pieces.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/verbs/harness.h"

/* Which output is looked at, and how many bytes of it are right: those before the wrong one; of
 * what is no output all of standard output before. -1: none. */
static int right_output(const struct cli_locating *self, uint64_t *size)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(self->criterion);
    size_t count;
    const struct wetdbg_output *list = wetdbg_outputs(self->session->wet, &count);

    if (info->kind == WETDBG_CRITERION_OUTPUT) {
        *size = info->output_offset;
        return info->output_fd;
    }
    *size = 0;
    for (size_t i = 0; i < count && list[i].time < info->time; i++)
        *size += list[i].fd == 1 ? list[i].size : 0;
    return 1;
}

/* When a byte was put out, or into the buffer from which it was; 0: not known. */
static wetdbg_time time_of_byte(struct cli_locating *self, int fd, uint64_t offset)
{
    char *text = cli_asprintf("output:%d:%" PRIu64, fd, offset);
    struct wetdbg_criterion *criterion;
    wetdbg_time time = 0;

    if (cli_slice_criterion(self->session, text, false, &criterion) == 0) {
        const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
        time = info->born.time ? info->born.time : info->time;
        wetdbg_criterion_free(criterion);
    }
    free(text);
    return time;
}

/* The ends of lines are where pieces end, and so is the last right byte; the latest are taken, so
 * that the first piece has all that was before. */
static size_t ends_find(const char *text, uint64_t right, uint64_t *ends)
{
    size_t count = 0;

    for (uint64_t at = right; at-- > 0 && count < WETDBG_PIECES_MAX;)
        if (at + 1 == right || text[at] == '\n')
            ends[count++] = at;
    return count;
}

static size_t times_find(struct cli_locating *self, int fd, const uint64_t *ends, size_t count,
                         wetdbg_time *times)
{
    size_t found = 0;

    while (count-- > 0) {
        wetdbg_time time = time_of_byte(self, fd, ends[count]);
        if (time && (!found || time > times[found - 1]))
            times[found++] = time;
    }
    return found;
}

/* ---- steps of a test ---- */

static int latest_first(const void *left, const void *right)
{
    wetdbg_time a = *(const wetdbg_time *)left, b = *(const wetdbg_time *)right;

    return a > b ? -1 : a < b;
}

/* When each of the test's own lines was last at work; the latest ones, ascending. */
static size_t steps_find(const struct cli_locating *self, wetdbg_time until, wetdbg_time *times)
{
    size_t line_count, count = 0, found = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(self->slice, &line_count);
    wetdbg_time *all = cli_realloc(NULL, line_count + 1, sizeof(*all));

    for (size_t i = 0; i < line_count; i++)
        if (lines[i].file && lines[i].last_time < until &&
            cli_harness_only_checks(self->right.harness, lines[i].file))
            all[count++] = lines[i].last_time;
    qsort(all, count, sizeof(*all), latest_first);
    if (count > WETDBG_PIECES_MAX)
        count = WETDBG_PIECES_MAX;
    while (count-- > 0)
        if (!found || all[count] > times[found - 1])
            times[found++] = all[count];
    free(all);
    return found;
}

/* ---- right output ---- */

static int take_output(struct cli_locating *self, bool (*is_unwanted)(void *arg))
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(self->criterion);
    uint64_t right, ends[WETDBG_PIECES_MAX];
    wetdbg_time times[WETDBG_PIECES_MAX];
    int fd = right_output(self, &right);
    size_t size, count;
    char *text;

    if (fd < 0 || !right)
        return 0;
    int err = cli_failure_output(self->session, fd, &text, &size);
    count =
        err ? 0
            : times_find(self, fd, ends, ends_find(text, right < size ? right : size, ends), times);
    if (!err && count)
        err = wetdbg_locate_take_pieces(self->locate, WETDBG_PIECES_OUTPUT, times, count,
                                        info->born.time ? info->born.time : info->time, is_unwanted,
                                        self);
    free(text);
    return err;
}

int cli_locating_take_pieces(struct cli_locating *self, bool (*is_unwanted)(void *arg))
{
    wetdbg_time times[WETDBG_PIECES_MAX];
    wetdbg_time until = wetdbg_criterion_get_info(self->criterion)->time;
    size_t count = self->right.harness ? steps_find(self, until, times) : 0;

    if (!count)
        return take_output(self, is_unwanted);
    return wetdbg_locate_take_pieces(self->locate, WETDBG_PIECES_STEPS, times, count, until,
                                     is_unwanted, self);
}
