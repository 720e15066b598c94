/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_prefix.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/verbs/locate_rerun.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/errors.h>

#define SHARE         0.2 /* of the time that is left */
#define FIRST_SECONDS 5.0 /* a run may take, before it is known how long one does */

struct search {
    struct cli_locating *self;
    struct wetdbg_dd_options how;
    int status; /* that is right */
    double until;
    /* The longest part that passes with some output; size 0: none yet. */
    size_t size;
    uint64_t output_bytes;
    size_t failing; /* the shortest one that does not */
};

/* ---- runs ---- */

/* The right output for `dd`, which reads it from a file. */
static int write_expected(const struct cli_right *right, char name[40], int *fd)
{
    size_t done = 0;
    ssize_t wrote = 1;

    *fd = memfd_create("expected", MFD_CLOEXEC);
    while (*fd >= 0 && done < right->expected_size && wrote > 0) {
        wrote = write(*fd, right->expected + done, right->expected_size - done);
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    snprintf(name, 40, "/proc/self/fd/%d", *fd);
    return *fd >= 0 && done == right->expected_size ? 0 : wetdbg_fail_errno("the expected output");
}

static int right_status(const struct cli_locating *self)
{
    int recorded = self->session->info->wait_status;
    bool exits = recorded != -1 && WIFEXITED(recorded);

    return self->right.status >= 0 ? self->right.status : exits ? WEXITSTATUS(recorded) : 0;
}

static bool passes(const struct search *search, const struct wetdbg_dd_trial *trial)
{
    return trial->is_ended && !trial->signal && trial->exit_status == search->status &&
           (trial->wrong_offset == WETDBG_DD_NOWHERE || trial->wrong_offset == trial->output_bytes);
}

/* All of the input has to fail, else what its parts do says nothing. Sets the time of a run. */
static int run_whole(struct search *search, bool *fails)
{
    struct wetdbg_dd_trial trial;

    search->how.timeout_s = FIRST_SECONDS;
    int err = wetdbg_dd_try(&search->how, &search->self->input.bytes, &trial);
    if (err)
        return err;
    *fails = trial.is_ended &&
             (trial.wrong_offset != WETDBG_DD_NOWHERE || trial.exit_status != search->status);
    search->how.timeout_s = 10 * trial.seconds + 0.5;
    return 0;
}

static int run_part(struct search *search, size_t size)
{
    struct wetdbg_dd_trial trial;
    const struct wetdbg_dd_bytes part = {search->self->input.bytes.data, size};
    int err = wetdbg_dd_try(&search->how, &part, &trial);

    if (err)
        return err;
    if (!passes(search, &trial)) {
        search->failing = size;
    } else if (size > search->size && trial.output_bytes) {
        search->size = size;
        search->output_bytes = trial.output_bytes;
    }
    return passes(search, &trial);
}

/* ---- which part ---- */

static bool ends_piece(const struct wetdbg_dd_bytes *bytes, size_t at, bool is_line)
{
    uint8_t byte = bytes->data[at];

    return byte == '\n' || (!is_line && (byte == ' ' || byte == '\t'));
}

/* Where pieces of [first, end) end, but for the last one; to be freed. */
static size_t *find_ends(const struct wetdbg_dd_bytes *bytes, size_t first, size_t end,
                         bool is_line, size_t *count)
{
    size_t *ends = cli_malloc((end - first + 1) * sizeof(*ends));

    *count = 0;
    for (size_t i = first; i + 1 < end; i++)
        if (ends_piece(bytes, i, is_line))
            ends[(*count)++] = i + 1;
    return ends;
}

/* By halves, as if all parts shorter than one that passes did, too. */
static int search_pieces(struct search *search, size_t first, size_t end, bool is_line)
{
    size_t low = 0, high;
    size_t *ends = find_ends(&search->self->input.bytes, first, end, is_line, &high);
    int passed = 0;

    while (low < high && passed >= 0 && cli_locating_seconds(search->self) < search->until) {
        size_t middle = low + (high - low) / 2;
        passed = run_part(search, ends[middle]);
        if (passed > 0)
            low = middle + 1;
        else
            high = middle;
    }
    free(ends);
    return passed < 0 ? passed : 0;
}

static int search_parts(struct search *search)
{
    const struct wetdbg_dd_bytes *whole = &search->self->input.bytes;

    search->failing = whole->size;
    int err = search_pieces(search, 0, whole->size, true);
    if (err || search->size)
        return err;
    size_t first = search->failing; /* the line at whose end it fails for the first time */
    while (first > 1 && whole->data[first - 2] != '\n')
        first--;
    return search_pieces(search, first - 1, search->failing, false);
}

/* ---- what was found ---- */

static size_t count_lines(const uint8_t *bytes, size_t size)
{
    size_t count = 0;

    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\n' || i + 1 == size;
    return count;
}

static char *words_of(const struct search *search)
{
    const struct cli_locate_input *input = &search->self->input;
    const uint8_t *bytes = input->bytes.data;
    bool is_line = bytes[search->size - 1] == '\n';
    size_t part = is_line ? count_lines(bytes, search->size) : search->size;
    size_t whole = is_line ? count_lines(bytes, input->bytes.size) : input->bytes.size;

    return cli_asprintf("the first %zu of %zu %s of %s: what it puts out, %" PRIu64
                        " byte%s, begins what is expected",
                        part, whole, is_line ? "lines" : "bytes", input->what, search->output_bytes,
                        search->output_bytes == 1 ? "" : "s");
}

static int take(struct search *search)
{
    struct cli_locating *self = search->self;
    const struct wetdbg_dd_bytes part = {self->input.bytes.data, search->size};
    char *file;
    int err = cli_locate_input_keep(&part, self->wet_path, "passing-input", &file);

    if (!err)
        self->prefix = (struct cli_prefix){.file = file,
                                           .words = words_of(search),
                                           .bytes = search->size,
                                           .output_bytes = search->output_bytes};
    return err;
}

/* ---- the step ---- */

static int find(struct cli_locating *self, const char *expected)
{
    struct search search = {
        .self = self, .how = cli_locate_input_runs(&self->input), .status = right_status(self)};
    bool fails = false;

    search.how.oracle = WETDBG_DD_EXPECT;
    search.how.expect = expected;
    search.until = cli_locating_seconds(self) + SHARE * cli_locating_seconds_left(self);
    int err = run_whole(&search, &fails);
    if (!err && !fails)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "run once more, %s did not fail",
                           self->input.what);
    if (!err)
        err = search_parts(&search);
    if (err)
        return err;
    return search.size ? take(&search)
                       : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "none of %s puts out what is expected",
                                     self->input.what);
}

int cli_prefix_find(struct cli_locating *self)
{
    char expected[40];
    bool may_run = false;
    int fd = -1;
    int err = self->right.expected ? cli_locate_may_rerun(self, &may_run) : 0;

    if (!err && may_run)
        err = write_expected(&self->right, expected, &fd);
    if (!err && may_run)
        err = find(self, expected);
    if (fd >= 0)
        close(fd);
    return cli_locating_miss_step(self, "a beginning of the input that passes", err);
}

void cli_prefix_fini(struct cli_prefix *prefix)
{
    free(prefix->file);
    free(prefix->words);
    *prefix = (struct cli_prefix){0};
}
