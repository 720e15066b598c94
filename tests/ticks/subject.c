/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ticks/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/ticks/trace_rewrite.h"
#include <wetdbg/errors.h>

static char *path_make(const char *work, const char *name)
{
    static unsigned made; /* what a failed test leaves is not taken for the next one's */
    char *path;
    assert_true(asprintf(&path, "%s/%s%u", work, name, made++) > 0);
    return path;
}

void subject_record(struct subject *subject, const char *work, const char *program,
                    const char *argument)
{
    const char *name = strrchr(program, '/');
    *subject = (struct subject){.work = work,
                                .dir = path_make(work, "trace"),
                                .copy = path_make(work, "t"),
                                .wet = path_make(work, "w")};
    snprintf(subject->name, sizeof(subject->name), "%s %s", name + 1, argument ? argument : "");
    const char *const argv[] = {RECORD_DRIVER, "-q",    "-o",     subject->dir,
                                "--",          program, argument, NULL};
    struct spawn_result result = spawn(argv, NULL);
    if (result.status == -1)
        fail_msg("%s: recording it does not end", program);
    subject->out = result.out;
    result.out = NULL;
    spawn_result_fini(&result);
    int err = counted_runs_make(subject->dir, &subject->runs);
    if (err)
        fail_msg("%s: %s", subject->name, wetdbg_error(err));
    subject->ticks = counted_ticks(subject->dir, &subject->runs, &subject->frames);
}

void subject_end(struct subject *subject)
{
    scratch_free(subject->dir);
    unlink(subject->wet);
    free(subject->copy);
    free(subject->wet);
    free(subject->out);
    free(subject->ticks);
    counted_runs_fini(&subject->runs);
}

void subject_copy_make(const struct subject *subject)
{
    trace_rewrite(subject->dir, subject->copy, subject->ticks, subject->frames);
}

void subject_copy_remove(struct subject *subject)
{
    scratch_free(subject->copy);
    subject->copy = path_make(subject->work, "t");
}
