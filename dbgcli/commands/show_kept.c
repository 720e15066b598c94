/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/show_kept.h"

#include <stdlib.h>

#include "dbgcli/args.h"
#include "dbgcli/eval/kept.h"
#include <wetdbg/errors.h>

#define VALUES_SHOWN 10

static void print_value_row(struct cli_out *out, const struct cli_kept_row *row)
{
    fprintf(out->stream, "$%zu = ", row->number);
    cli_out_lines(out, row->text);
    putc('\n', out->stream);
}

static json_t *json_of_value_row(const struct cli_kept_row *row)
{
    json_t *object = json_object();
    cli_json_set(object, "history", cli_json_count(row->number));
    cli_json_set(object, "expression", cli_json_text(row->expression));
    cli_json_set(object, "time", cli_json_count(row->time));
    cli_json_set(object, "value", cli_json_text(row->text));
    return object;
}

int cli_show_values(struct cli_session *session, const char *number)
{
    struct cli_out *out = session->out;
    size_t count = cli_kept_history_count(session->kept);
    uint64_t last = count, middle;
    if (number && !cli_number_parse(number, &middle))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "show values: '%s' is no number of the history",
                           number);
    if (number && middle < count)
        last = middle < VALUES_SHOWN / 2 ? VALUES_SHOWN : middle + VALUES_SHOWN / 2 - 1;
    if (last > count)
        last = count;
    json_t *array = out->json ? json_array() : NULL;
    for (size_t i = last > VALUES_SHOWN ? last - VALUES_SHOWN : 0; i < last; i++) {
        struct cli_kept_row row = cli_kept_history_row(session->kept, i);
        if (array)
            cli_json_append(array, json_of_value_row(&row));
        else
            print_value_row(out, &row);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.values/1");
        cli_json_set(object, "values", array);
        cli_out_json(out, object);
    } else if (!count) {
        fputs("the history of values is empty: 'print' adds to it\n", out->stream);
    }
    return 0;
}

int cli_show_convenience(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    struct cli_moment *moment;
    size_t count = cli_kept_variable_count(session->kept);
    (void)operand;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    json_t *array = out->json ? json_array() : NULL;
    for (size_t i = count; i-- > 0;) {
        struct cli_kept_row row = cli_kept_variable_row(session->kept, i);
        char *text = cli_value_text(moment, row.value, "", false);
        if (array) {
            json_t *object = json_object();
            cli_json_set(object, "name", cli_json_text(row.name));
            cli_json_set(object, "type", cli_json_text(row.value->type.name));
            cli_json_set(object, "value", cli_json_text(text));
            cli_json_append(array, object);
        } else {
            fprintf(out->stream, "$%s = ", row.name);
            cli_out_lines(out, text);
            putc('\n', out->stream);
        }
        free(text);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.convenience/1");
        cli_json_set(object, "variables", array);
        cli_out_json(out, object);
    } else if (!count) {
        fputs("no variable is set; 'set $name = EXPRESSION' sets one\n", out->stream);
    }
    return 0;
}
