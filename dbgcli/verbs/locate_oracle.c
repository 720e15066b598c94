/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_oracle.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/shell_word.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/errors.h>

/* ---- a sanitizer's report ---- */

/* What is the same in each report of the fault: "a.c:7:3: runtime error: ", or the line of a
 * summary, which has the kind, the place and the function. NULL: there is none. */
static const char *find_sign(const char *text, size_t *size)
{
    const char *runtime = strstr(text, ": runtime error: ");
    const char *summary = strstr(text, "SUMMARY: "), *begin = runtime;

    while (begin && begin > text && begin[-1] != '\n')
        begin--;
    if (runtime) {
        *size = (size_t)(runtime - begin) + strlen(": runtime error: ");
        return begin;
    }
    *size = summary ? strcspn(summary, "\n") : 0;
    return summary;
}

static int of_report(struct cli_locating *self, struct wetdbg_dd_options *how, char **command)
{
    char *text;
    size_t size;
    int err = cli_failure_output(self->session, 2, &text, &size);
    const char *sign = err ? NULL : find_sign(text, &size);

    if (!err && !sign)
        err =
            wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the report has no line that tells it from others");
    if (!err) {
        char *word = cli_shell_word(sign, size);
        *command = cli_asprintf("if grep -aqF -e %s \"$WETDBG_ERRORS\"; then exit 1; fi\n"
                                "test \"$WETDBG_STATUS\" = 0 || exit 2",
                                word);
        free(word);
        how->oracle = WETDBG_DD_COMMAND;
        how->command = *command;
    }
    free(text);
    return err;
}

/* ---- all ---- */

static int nothing_tells(const struct cli_locating *self)
{
    return self->right.expected
               ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                             "for a smaller one than --expect is for nobody knows what is right; "
                             "--oracle=CMD would say")
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                             "nothing says whether a smaller one fails in the same way; "
                             "--oracle=CMD would");
}

int cli_locate_oracle(struct cli_locating *self, struct wetdbg_dd_options *how, char **command)
{
    const struct cli_right *right = &self->right;
    bool is_crash = self->failure.kind == CLI_FAILURE_CRASH ||
                    (right->target && !strcmp(right->target, "crash"));

    *command = NULL;
    if (is_crash && !right->command) {
        how->oracle = WETDBG_DD_CRASH;
        return 0;
    }
    if (self->failure.kind == CLI_FAILURE_REPORT && !right->command)
        return of_report(self, how, command);
    if (right->target || !right->command)
        return nothing_tells(self);
    how->oracle = WETDBG_DD_COMMAND;
    how->command = right->command;
    return 0;
}
