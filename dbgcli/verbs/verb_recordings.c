/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg ls` and `wetdbg rm`: looking after the recordings in rr's place. */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static const struct cli_option options[] = {
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct cli_syntax cli_ls_syntax = {
    .usage = "[--json]",
    .options = options,
    .details = "Lists the recordings in rr's place, oldest first.",
};

const struct cli_syntax cli_rm_syntax = {
    .usage = "TRACE...",
    .operands_min = 1,
    .operands_max = CLI_OPERANDS_ANY,
    .details = "Only directories that are recordings are removed, and none that is being written.",
};

static const char *state_of(const struct wetdbg_recording_entry *entry)
{
    return entry->is_running ? "running" : entry->is_finished ? "finished" : "unfinished";
}

static void print_time(const struct timespec *when, const char *format, bool utc, char *text,
                       size_t size)
{
    struct tm parts;
    if (!(utc ? gmtime_r(&when->tv_sec, &parts) : localtime_r(&when->tv_sec, &parts)) ||
        !strftime(text, size, format, &parts))
        text[0] = 0;
}

/* Prints a size as 1023 B, 1.5 KiB, 312 MiB: three digits are enough to choose what to remove. */
static void print_size(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;
    for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        value /= 1024;
    snprintf(text, size, "%.*f %s", unit && value < 10 ? 1 : 0, value, units[unit]);
}

static void print_entries(struct cli_out *out, const struct wetdbg_recording_entry *list,
                          size_t count)
{
    char when[64], size[32];
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++) {
        print_time(&list[i].when, "%Y-%m-%d %H:%M:%S", false, when, sizeof(when));
        print_size(list[i].size_bytes, size, sizeof(size));
        fprintf(out->stream, "%-19s %9s  %-10s %-8s  ", when, size, state_of(&list[i]),
                list[i].is_software_ticks ? "software" : "hardware");
        cli_out_text(out, list[i].name);
        putc('\n', out->stream);
    }
}

static json_t *json_of_entry(const struct wetdbg_recording_entry *entry)
{
    char when[64];
    json_t *object = json_object();
    print_time(&entry->when, "%Y-%m-%dT%H:%M:%SZ", true, when, sizeof(when));
    cli_json_set(object, "name", cli_json_text(entry->name));
    cli_json_set(object, "path", cli_json_text(entry->path));
    cli_json_set(object, "when", cli_json_text(when));
    cli_json_set(object, "bytes", cli_json_count(entry->size_bytes));
    cli_json_set(object, "state", cli_json_text(state_of(entry)));
    cli_json_set(object, "ticks",
                 cli_json_text(entry->is_software_ticks ? "software" : "hardware"));
    return object;
}

/* Says to people that there are none; what reads the list finds it empty. */
static int tell_of_none(struct cli_out *out)
{
    char *place;
    int err = wetdbg_recordings_place(&place);
    if (err)
        return err;
    fputs("wetdbg: there is no recording in ", out->errors);
    fputs(place, out->errors);
    fputs(" yet; 'wetdbg record' makes one\n", out->errors);
    free(place);
    return 0;
}

int cli_ls_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_recording_entry *list;
    size_t count;
    (void)args;
    int err = wetdbg_recordings_list(&list, &count);
    if (err)
        return err;
    if (app->out->json) {
        json_t *object = cli_json_object("wetdbg.ls/1");
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(array, json_of_entry(&list[i]));
        cli_json_set(object, "recordings", array);
        cli_out_json(app->out, object);
    } else {
        print_entries(app->out, list, count);
        err = count ? 0 : tell_of_none(app->out);
    }
    wetdbg_recordings_free(list, count);
    return err;
}

/* Removes recordings, and goes on after a failure, as rm(1) does; the status is that of the first
 * one. */
int cli_rm_run(struct cli_app *app, const struct cli_args *args)
{
    int status = 0;
    for (size_t i = 0; i < args->operand_count; i++) {
        int err = wetdbg_recording_remove(args->operands[i]);
        if (!err)
            continue;
        int failed = cli_out_error(app->out, "wetdbg", err);
        status = status ? status : failed;
    }
    return status;
}
