/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/run_facts.h"

#include <inttypes.h>
#include <sys/wait.h>

#include "dbgcli/signal_name.h"

static json_t *json_of_argv(const struct wet_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->argc; i++)
        cli_json_append(array, cli_json_text(info->argv[i]));
    return array;
}

static json_t *json_of_signal(const struct wet_info *info)
{
    json_t *object = json_object();
    cli_json_set(object, "name", cli_json_text(cli_signal_name(info->signal)));
    cli_json_set(object, "number", json_integer(info->signal));
    cli_json_set(object, "code", json_integer(info->signal_code));
    cli_json_set(object, "address", cli_json_address(info->signal_address));
    cli_json_set(object, "time", cli_json_count(info->signal_time));
    return object;
}

static bool has_exited(const struct wet_info *info)
{
    return !info->signal && info->wait_status >= 0 && WIFEXITED(info->wait_status);
}

/* One row per number; text and JSON are made from the same ones. */
struct row {
    const char *key;
    const char *label;
    uint64_t value;
};

#define ROW_COUNT 12

static void fill_rows(struct row *rows, const struct wet_info *info)
{
    const struct row list[ROW_COUNT] = {
        {"threads", "threads", info->threads},
        {"instructions", "instructions", info->instructions},
        {"nodes", "nodes", info->nodes},
        {"node_executions", "node executions", info->node_executions},
        {"loads", "loads", info->loads},
        {"stores", "stores", info->stores},
        {"syscalls", "system calls", info->syscalls},
        {"events", "events checked", info->events},
        {"intervals", "intervals", info->intervals},
        {"wet_bytes", "bytes of the .wet file", info->wet_bytes},
        {"static_bytes", "of these static", info->static_bytes},
        {"pid", "process id", (uint64_t)info->pid},
    };
    for (size_t i = 0; i < ROW_COUNT; i++)
        rows[i] = list[i];
}

static void print_json(struct cli_out *out, const struct wet_info *info)
{
    json_t *object = cli_json_object("wetdbg.info/1");
    struct row rows[ROW_COUNT];
    fill_rows(rows, info);
    cli_json_set(object, "program", cli_json_text(info->program));
    cli_json_set(object, "argv", json_of_argv(info));
    cli_json_set(object, "exit",
                 has_exited(info) ? json_integer(WEXITSTATUS(info->wait_status)) : json_null());
    cli_json_set(object, "signal", info->signal ? json_of_signal(info) : json_null());
    for (size_t i = 0; i < ROW_COUNT; i++)
        cli_json_set(object, rows[i].key, cli_json_count(rows[i].value));
    cli_json_set(object, "build_seconds", json_real(info->build_seconds));
    cli_json_set(object, "bits_per_instruction", json_real(info->bits_per_instruction));
    cli_out_json(out, object);
}

static void print_end(struct cli_out *out, const struct wet_info *info)
{
    fprintf(out->stream, "%-24s", "end");
    if (info->signal)
        fprintf(out->stream, "%s, time %" PRIu64 "\n", cli_signal_name(info->signal),
                info->signal_time);
    else if (has_exited(info))
        fprintf(out->stream, "exit status %d\n", WEXITSTATUS(info->wait_status));
    else
        fputs("not recorded\n", out->stream);
}

void cli_facts_print(struct cli_out *out, const struct wet_info *info)
{
    struct row rows[ROW_COUNT];
    if (out->json) {
        print_json(out, info);
        return;
    }
    fill_rows(rows, info);
    fprintf(out->stream, "%-24s", "program");
    cli_out_text(out, info->program);
    fprintf(out->stream, "\n%-24s", "arguments");
    for (size_t i = 0; i < info->argc; i++) {
        cli_out_text(out, i ? " " : "");
        cli_out_text(out, info->argv[i]);
    }
    putc('\n', out->stream);
    print_end(out, info);
    for (size_t i = 0; i < ROW_COUNT; i++)
        fprintf(out->stream, "%-24s%" PRIu64 "\n", rows[i].label, rows[i].value);
    fprintf(out->stream, "%-24s%.2f\n%-24s%.2f\n", "bits per instruction",
            info->bits_per_instruction, "seconds to build", info->build_seconds);
}
