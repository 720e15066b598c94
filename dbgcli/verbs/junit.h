/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One failing test, as JUnit's XML has it and CI services read it. */
#ifndef DBGCLI_VERBS_JUNIT_H
#define DBGCLI_VERBS_JUNIT_H

#include <stdint.h>

struct cli_junit_property {
    const char *name; /* NULL behind the last one */
    const char *value;
};

/* All borrowed. Texts are untrusted: what XML has no character for becomes '?'. */
struct cli_junit {
    const char *suite, *name, *classname;
    const char *file; /* where to look; NULL: not known */
    uint32_t line;
    double seconds;
    const char *type, *message, *text; /* of the failure */
    const struct cli_junit_property *properties;
};

/* A suite with that one test case. Errors of cli_whole_file_write(). */
int cli_junit_write(const struct cli_junit *junit, const char *path);

#endif
