/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_junit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/verbs/harness.h"
#include "dbgcli/verbs/junit.h"
#include "dbgcli/verbs/locate_words.h"

/* "shop.c:10 in shop_price"; to be freed. */
static char *place_of(const struct wetdbg_suspect *suspect)
{
    return cli_asprintf("%s:%" PRIu32 " in %s", cli_base_name(suspect->file), suspect->line,
                        suspect->function);
}

/* A line for each suspect; to be freed. */
static char *list_of(const struct cli_locating *self, const struct wetdbg_suspect *suspects,
                     size_t count)
{
    char *text = cli_strdup("");

    for (size_t i = 0; i < count; i++) {
        char *place = place_of(&suspects[i]), *reasons = cli_locate_reasons(self, &suspects[i]);
        char *more = cli_asprintf("%s%zu. %s: %s\n", text, i + 1, place, reasons);
        free(reasons);
        free(place);
        free(text);
        text = more;
    }
    return text;
}

/* "the crash: SIGSEGV at ...; first suspect: shop.c:10 in shop_price"; to be freed. */
static char *message_of(const struct cli_locating *self, const struct wetdbg_suspect *first)
{
    char *wrong = cli_locate_failure_words(self), *place = first ? place_of(first) : NULL;
    char *text =
        cli_asprintf("%s: %s%s%s", wrong, wetdbg_criterion_get_info(self->criterion)->description,
                     place ? "; first suspect: " : "", place ? place : "");

    free(place);
    free(wrong);
    return text;
}

static char *name_of(const struct cli_locating *self)
{
    const struct cli_harness *harness = self->right.harness;

    if (!harness)
        return cli_strdup(cli_base_name(self->session->info->program));
    const char *part = harness->target     ? harness->target
                       : harness->is_whole ? NULL
                                           : cli_base_name(harness->program);
    return cli_asprintf("%s%s%s", harness->test.name, part ? ": " : "", part ? part : "");
}

int cli_locate_junit(struct cli_locating *self, const char *path)
{
    const struct cli_harness *harness = self->right.harness;
    const struct wetdbg_suspect *suspects;
    size_t count;
    int err = wetdbg_locate_suspects(self->locate, &suspects, &count);

    if (err)
        return err;
    if (self->reported && count > self->reported)
        count = (size_t)self->reported;
    char *name = name_of(self), *message = message_of(self, count ? suspects : NULL);
    char *text = list_of(self, suspects, count);
    const struct cli_junit_property properties[] = {
        {"target", self->failure.criterion}, {"run", self->wet_path}, {NULL, NULL}};
    const struct cli_junit junit = {.suite = "wetdbg locate",
                                    .name = name,
                                    .classname = harness ? harness->test.name : "wetdbg.locate",
                                    .file = count ? suspects->file : NULL,
                                    .line = count ? suspects->line : 0,
                                    .seconds = cli_locating_seconds(self),
                                    .type = cli_failure_name(self->failure.kind),
                                    .message = message,
                                    .text = text,
                                    .properties = properties};
    err = cli_junit_write(&junit, path);
    free(text);
    free(message);
    free(name);
    return err;
}
