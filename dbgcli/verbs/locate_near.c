/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_near.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/verbs/locate_oracle.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/errors.h>

#define SIZE_MAX_KEPT (1u << 20) /* of one input: 64 MiB for all */
#define SHARE         0.2        /* of the time that is left */
#define FIRST_SECONDS 5.0
#define WANTED        2  /* of either kind */
#define TRIES         32 /* runs of either kind */

/* ---- what was tried ---- */

void cli_near_keep(struct cli_near *near, const struct wetdbg_dd_bytes *input)
{
    struct wetdbg_dd_bytes *place = &near->kept[near->count % CLI_NEAR_KEPT];

    if (!input->size || input->size > SIZE_MAX_KEPT)
        return;
    free(place->data);
    place->data = cli_malloc(input->size);
    memcpy(place->data, input->data, input->size);
    place->size = input->size;
    near->count++;
}

void cli_near_fini(struct cli_near *near)
{
    for (size_t i = 0; i < CLI_NEAR_KEPT; i++)
        free(near->kept[i].data);
    *near = (struct cli_near){0};
}

/* How many bytes of either input are between what both begin and end with: those that one edit
 * takes away and puts in. */
static size_t distance(const struct wetdbg_dd_bytes *a, const struct wetdbg_dd_bytes *b)
{
    size_t least = a->size < b->size ? a->size : b->size, first = 0, last = 0;

    while (first < least && a->data[first] == b->data[first])
        first++;
    while (last < least - first && a->data[a->size - 1 - last] == b->data[b->size - 1 - last])
        last++;
    return a->size + b->size - 2 * (first + last);
}

/* ---- one of them ---- */

struct search {
    struct cli_locating *self;
    struct wetdbg_dd_options how;
    const struct wetdbg_dd_bytes *fail;
    double until;
    unsigned tries;
    bool is_told; /* by a command, whatever the exit status is */
};

/* Runs it, and takes it among the passing runs if it is one. 1: it was; 0: it does not pass. */
static int take(struct search *search, const struct wetdbg_dd_bytes *input, const char *what)
{
    struct wetdbg_dd_trial trial;
    int err = wetdbg_dd_try(&search->how, input, &trial);

    search->tries++;
    if (err)
        return err;
    if (trial.outcome != WETDBG_DELTA_PASS || (!search->is_told && trial.exit_status))
        return 0;
    const struct cli_neighbour_run run = {
        .how = &search->how, .input = *input, .exit_status = trial.exit_status};
    char *words = cli_asprintf(
        "%s: %s", what, search->is_told ? "the oracle says that it passes" : "it exits with 0");
    err = cli_neighbours_add(search->self, &run, words);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err ? err : 1;
}

static bool goes_on(const struct search *search, int found, unsigned count)
{
    return found >= 0 && count < WANTED && search->tries < TRIES &&
           cli_locating_seconds(search->self) < search->until;
}

/* ---- parts of the failing input ---- */

/* The nearest one that was kept, which is kept no more then; NULL: none is left. */
static struct wetdbg_dd_bytes *nearest(struct cli_near *near, const struct wetdbg_dd_bytes *fail)
{
    struct wetdbg_dd_bytes *best = NULL;
    size_t least = 0;

    for (size_t i = 0; i < CLI_NEAR_KEPT; i++) {
        size_t far = near->kept[i].data ? distance(&near->kept[i], fail) : 0;
        if (near->kept[i].data && (!best || far < least)) {
            best = &near->kept[i];
            least = far;
        }
    }
    return best;
}

static int find_parts(struct search *search)
{
    struct cli_near *near = &search->self->reduced.near;
    struct wetdbg_dd_bytes *input;
    unsigned count = 0;
    int found = 0;

    search->tries = 0;
    while (goes_on(search, found, count) && (input = nearest(near, search->fail))) {
        char *what = cli_asprintf("%zu bytes, of which %zu are not as in the failing input",
                                  input->size, distance(input, search->fail));
        found = take(search, input, what);
        count += found > 0;
        free(what);
        free(input->data);
        *input = (struct wetdbg_dd_bytes){0};
    }
    return found < 0 ? found : 0;
}

/* ---- replaced bytes ---- */

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Another byte of the same kind; the same one where there is none. */
static uint8_t replaced(uint8_t byte)
{
    if (is_digit(byte))
        return byte == '0' ? '1' : byte - 1;
    if ((byte >= 'a' && byte < 'z') || (byte >= 'A' && byte < 'Z'))
        return byte + 1;
    if (byte == 'z' || byte == 'Z')
        return byte - 1;
    return byte >= 0x80 || byte < ' ' ? byte ^ 1 : byte;
}

static bool is_replaceable(uint8_t byte)
{
    return byte != '\n' && byte != '\t' && byte != '\r' && replaced(byte) != byte;
}

/* Tries another byte in the place of one. As take(). */
static int take_replaced(struct search *search, struct wetdbg_dd_bytes *input, size_t at)
{
    uint8_t was = input->data[at];
    char *what = cli_asprintf("the failing input with another byte %zu", at);

    input->data[at] = replaced(was);
    int found = take(search, input, what);
    input->data[at] = was;
    free(what);
    return found;
}

/* Of digits and of others every so-many-th, so that the tries are spread over all of the input. A
 * number that is another one is most likely to be taken the same way by the program. */
static int find_replaced(struct search *search, bool is_of_digits, unsigned *count)
{
    size_t size = search->fail->size, of_kind = 0, seen = 0;
    struct wetdbg_dd_bytes input = {cli_malloc(size), size};
    int found = 0;

    memcpy(input.data, search->fail->data, size);
    for (size_t i = 0; i < size; i++)
        of_kind += is_digit(input.data[i]) == is_of_digits && is_replaceable(input.data[i]);
    for (size_t i = 0; i < size && goes_on(search, found, *count); i++) {
        bool is_wanted = is_digit(input.data[i]) == is_of_digits && is_replaceable(input.data[i]);
        if (!is_wanted || seen++ % (of_kind / TRIES + 1))
            continue;
        found = take_replaced(search, &input, i);
        *count += found > 0;
    }
    free(input.data);
    return found < 0 ? found : 0;
}

/* ---- all ---- */

int cli_near_find(struct cli_locating *self)
{
    struct search search = {.self = self,
                            .how = cli_locate_input_runs(&self->input),
                            .fail =
                                self->reduced.wet_path ? &self->reduced.input : &self->input.bytes};
    unsigned count = 0;
    char *command;
    int err = cli_locate_oracle(self, &search.how, &command);

    search.is_told = search.how.oracle == WETDBG_DD_COMMAND;
    search.how.timeout_s = FIRST_SECONDS;
    search.until = cli_locating_seconds(self) + SHARE * cli_locating_seconds_left(self);
    if (err == -WETDBG_ERR_NOT_FOUND)
        return 0; /* who reduces has said so */
    for (int kind = 1; kind >= 0 && !err && search.fail->size <= SIZE_MAX_KEPT; kind--) {
        search.tries = 0;
        err = find_replaced(&search, kind, &count);
    }
    if (!err)
        err = find_parts(&search);
    free(command);
    return err;
}
