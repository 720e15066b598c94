/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Joins delta debugging and recording. The recorder stands in for the program in a trial's process,
 * below a warden that ends all of it; what it says comes back in a page that both share.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "delta/caretaker.h"
#include "delta/extra_run.h"
#include "recorder/record/trace_place.h"
#include <wetdbg/delta_record.h>
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

/* Recording takes longer than running, and rr has needs of its own. */
#define RECORD_SECONDS 300.0
#define RECORD_BYTES   (UINT64_C(1) << 30)

/* What the recording process leaves in the shared page. */
struct told {
    int err; /* -ECANCELED until it says something else */
    char sentence[600];
    int exit_status, signal;
};

struct wetdbg_dd_recording {
    char *dir;
    struct dlt_caretaker caretaker;
    struct dlt_extra_run run;
    struct wetdbg_dd_recorded recorded;
};

/* ---- in the trial's process ---- */

struct stand_in {
    const struct wetdbg_dd_options *options;
    const char *dir;
    struct told *told; /* shared */
};

/* A name with a slash means another file where the program works in a directory of its own; and
 * with an environment of its own there may be no PATH. */
static char *const *words_for(const struct stand_in *self, const char *program, char *const argv[])
{
    size_t count = 0;
    while (argv[count])
        count++;
    char **words = calloc(count + 1, sizeof(*words));
    if (!words)
        return NULL;
    memcpy(words, argv, count * sizeof(*words));
    if (strchr(argv[0], '/') || self->options->unit == WETDBG_DD_ENV)
        words[0] = (char *)program;
    return words;
}

static int record_here(void *arg, const char *program, char *const argv[],
                       char *const environment[])
{
    struct stand_in *self = arg;
    struct wetdbg_record_outcome outcome = {0};
    const struct wetdbg_record_options how = {
        .out_dir = self->dir, .quiet = true, .environment = environment};
    char *const *words = words_for(self, program, argv);
    int err = words ? wetdbg_record(&how, words, &outcome) : -ENOMEM;
    if (err)
        snprintf(self->told->sentence, sizeof(self->told->sentence), "%s", wetdbg_error(err));
    self->told->exit_status = outcome.exit_status;
    self->told->signal = outcome.signal;
    self->told->err = err;
    return err ? WETDBG_EXIT_FAILED : outcome.exit_status;
}

/* ---- where it goes ---- */

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* A name in rr's place that nobody has. */
static int dir_choose(const struct wetdbg_dd_options *options, char **dir)
{
    char *place;
    const char *slash = strrchr(options->argv[0], '/');
    const char *program = slash ? slash + 1 : options->argv[0];
    int err = rec_place_make();
    if (!err)
        err = wetdbg_recordings_place(&place);
    if (err)
        return err;
    for (unsigned i = 0; !err; i++) {
        if (asprintf(dir, "%s/%s-dd-%u", place, program, i) < 0)
            err = -ENOMEM;
        else if (!is_there(*dir))
            break;
        else
            free(*dir);
    }
    free(place);
    return err;
}

static int dir_temporary(char **dir)
{
    char path[DLT_SCRATCH_PATH_BYTES];
    int err = dlt_scratch_name(path);
    if (!err && !(*dir = strdup(path)))
        err = -ENOMEM;
    return err;
}

static int dir_find(const struct wetdbg_dd_options *options, const struct wetdbg_dd_place *place,
                    char **dir)
{
    if (place->dir)
        return rec_place_check_new(place->dir, dir);
    return place->is_temporary ? dir_temporary(dir) : dir_choose(options, dir);
}

/* ---- the whole ---- */

static int outcome_take(struct wetdbg_dd_recording *made, const struct told *told)
{
    if (told->err == -ECANCELED)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "recorded, %s", made->run.ended);
    if (told->err)
        return wetdbg_fail(told->err, "%s", told->sentence);
    made->recorded = (struct wetdbg_dd_recorded){
        .trace_dir = made->dir,
        .input = made->run.input[0] ? made->run.input : NULL,
        .scratch = made->run.scratch,
        .exit_status = told->exit_status,
        .signal = told->signal,
        .fails = made->run.fails,
    };
    return 0;
}

static int record(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                  struct wetdbg_dd_recording *made)
{
    struct told *told =
        mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct stand_in self = {options, made->dir, told};
    const struct dlt_stand_in stand_in = {record_here, &self};
    if (told == MAP_FAILED)
        return wetdbg_fail_errno("no memory to be shared");
    told->err = -ECANCELED;
    int err = dlt_extra_run(options, input, &stand_in, RECORD_SECONDS, RECORD_BYTES, &made->run);
    if (!err)
        err = outcome_take(made, told);
    munmap(told, sizeof(*told));
    return err;
}

int wetdbg_dd_record(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                     const struct wetdbg_dd_place *place, struct wetdbg_dd_recording **out)
{
    if (!options->argv[0])
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "no program is given: what the oracle's command does is not recorded");
    struct wetdbg_dd_recording *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    int err = dir_find(options, place, &made->dir);
    if (!err)
        err = dlt_caretaker_start(&made->caretaker, made->dir);
    if (!err)
        err = record(options, input, made);
    if (err)
        wetdbg_dd_recording_close(made, err == -EEXIST); /* somebody else's by now */
    else
        *out = made;
    return err;
}

const struct wetdbg_dd_recorded *
wetdbg_dd_recording_get(const struct wetdbg_dd_recording *recording)
{
    return &recording->recorded;
}

void wetdbg_dd_recording_close(struct wetdbg_dd_recording *recording, bool is_kept)
{
    if (!recording)
        return;
    dlt_caretaker_end(&recording->caretaker, is_kept);
    free(recording->dir);
    free(recording);
}
