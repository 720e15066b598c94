/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/compared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/shell_word.h"
#include "dbgcli/verbs/locate_failure.h"
#include <wetdbg/files.h>

#define OUTPUT_MAX (UINT64_C(64) << 20)

struct bytes {
    uint8_t *data;
    size_t size;
};

/* The two files that are compared; "-" is standard input. Words of options may stand before. */
static bool find_names(char *const *words, const char *names[2])
{
    names[0] = names[1] = "-";
    for (words += *words != NULL; *words; words++) {
        if (**words == '-' && (*words)[1])
            continue;
        names[0] = names[1];
        names[1] = *words;
    }
    return strcmp(names[0], names[1]) != 0;
}

static bool read_file(const char *name, struct bytes *bytes)
{
    return strcmp(name, "-") != 0 && !cli_expected_read(name, &bytes->data, &bytes->size);
}

static size_t first_difference(const struct bytes *a, const struct bytes *b)
{
    size_t at = 0;

    while (at < a->size && at < b->size && a->data[at] == b->data[at])
        at++;
    return at;
}

static bool are_equal(const struct bytes *a, const struct bytes *b)
{
    return a->size == b->size && first_difference(a, b) == a->size;
}

/* ---- a file that the run wrote ---- */

static int read_pieces(struct wetdbg *wet, const struct wetdbg_output *list, size_t count,
                       struct bytes *bytes, bool *is_known)
{
    struct wetdbg_state *state = NULL;
    int err = 0;

    for (size_t i = 0; i < count; i++) {
        *is_known &= list[i].size <= OUTPUT_MAX && list[i].offset <= OUTPUT_MAX - list[i].size &&
                     list[i].address != WETDBG_OUTPUT_PASSED;
        if (*is_known && list[i].offset + list[i].size > bytes->size)
            bytes->size = list[i].offset + list[i].size;
    }
    bytes->data = cli_realloc(NULL, bytes->size + 1, 1);
    memset(bytes->data, 0, bytes->size);
    for (size_t i = 0; i < count && *is_known && !err; i++) {
        err = state ? wetdbg_state_advance(state, list[i].time)
                    : wetdbg_state_open(wet, list[i].time, &state);
        if (!err)
            err = wetdbg_state_read(state, list[i].address, bytes->data + list[i].offset,
                                    list[i].size);
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

/* What the run put into a file of that name; *is_known is false if it wrote none. */
static int read_written(struct wetdbg *wet, const char *name, struct bytes *bytes, bool *is_known)
{
    struct wetdbg_files *files;
    struct wetdbg_output *list = NULL;
    size_t n, count;
    int err = wetdbg_files_open(wet, &files);

    *is_known = false;
    if (err)
        return err;
    if (strcmp(name, "-") != 0 && !wetdbg_files_find_written(files, name, &n)) {
        *is_known = true;
        err = wetdbg_files_outputs(files, n, &list, &count);
        if (!err)
            err = read_pieces(wet, list, count, bytes, is_known);
        free(list);
    }
    wetdbg_files_close(files);
    return err;
}

/* The tool's own words; it works in another directory, so the right file has its full name. */
static char *make_command(char *const *words, const char *right)
{
    char *text = cli_strdup(""), *full = realpath(right, NULL);

    for (; *words; words++) {
        const char *word = full && !strcmp(*words, right) ? full : *words;
        char *quoted = cli_shell_word(word, strlen(word));
        char *longer = cli_asprintf("%s%s%s", text, *text ? " " : "", quoted);
        free(quoted);
        free(text);
        text = longer;
    }
    free(full);
    return text;
}

static void tell_file(char *const *words, const char *name, const char *right_name,
                      const struct bytes *output, const struct bytes *right,
                      struct cli_compared *compared)
{
    size_t at = first_difference(output, right);

    compared->target = at < output->size ? cli_asprintf("output:%s:%zu", name, at)
                                         : cli_asprintf("output:%s:end", name);
    compared->command = make_command(words, right_name);
}

static int look_at_files(struct cli_session *session, char *const *words, const char *names[2],
                         struct cli_compared *compared)
{
    int err = 0;

    for (unsigned i = 0; i < 2 && !err && !compared->target; i++) {
        struct bytes output = {0}, right = {0};
        bool is_known;
        err = read_written(session->wet, names[i], &output, &is_known);
        if (!err && is_known && read_file(names[1 - i], &right) && !are_equal(&output, &right))
            tell_file(words, names[i], names[1 - i], &output, &right, compared);
        free(output.data);
        free(right.data);
    }
    return err;
}

/* ---- standard output ---- */

/* The run's output came to the tool by standard input, or is in one of the files. */
static int look_at_output(struct cli_session *session, const char *names[2],
                          struct cli_compared *compared)
{
    struct bytes output = {0}, files[2] = {{0}};
    bool is_there[2] = {false, false};
    char *text;
    int err = cli_failure_output(session, 1, &text, &output.size);

    output.data = (uint8_t *)text;
    for (unsigned i = 0; i < 2 && !err; i++)
        is_there[i] = read_file(names[i], &files[i]);
    for (unsigned i = 0; i < 2 && !err && !compared->expected; i++) {
        struct bytes *right = &files[1 - i];
        bool is_output = !strcmp(names[i], "-") || (is_there[i] && are_equal(&files[i], &output));
        if (!is_output || !is_there[1 - i] || are_equal(right, &output))
            continue;
        compared->expected = right->data;
        compared->expected_size = right->size;
        right->data = NULL;
    }
    free(files[0].data);
    free(files[1].data);
    free(text);
    return err;
}

int cli_compared_look(struct cli_session *session, char *const *words,
                      struct cli_compared *compared)
{
    const char *names[2];

    *compared = (struct cli_compared){0};
    if (!find_names(words, names))
        return 0;
    int err = look_at_files(session, words, names, compared);
    return err || compared->target ? err : look_at_output(session, names, compared);
}

void cli_compared_fini(struct cli_compared *compared)
{
    free(compared->expected);
    free(compared->target);
    free(compared->command);
}
