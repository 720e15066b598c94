/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `what-if`: how the run would have gone on with another value, or another way at a condition. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/code_patch.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/signal_name.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>
#include <wetdbg/switch.h>

static const struct cli_option options[] = {
    {"output", 0, "FD", "also write what the run then puts out there"},
    {"keep", 0, "FILE.wet", "keep that run in a file of its own, to be opened and asked"},
    {0},
};

const struct cli_syntax cli_cmd_what_if_syntax = {
    .example = "what-if parse.c:120#3 switch",
    .usage = "FILE:LINE[#K]|TIME switch |\n"
             "        VARIABLE=VALUE[@TIME], also *ADDRESS+LEN and $REGISTER |\n"
             "        input:OFFSET=BYTES, also argv:N and env:NAME |\n"
             "        code:ADDRESS=HEX[,ADDRESS=HEX][@TIME]",
    .options = options,
    .operands_min = 1,
    .operands_max = 2,
    .details =
        "Lets the run go on differently and says how it ends then. 'switch' has the K-th\n"
        "condition that was decided on a line (the last one without #K), or the one at TIME, go\n"
        "the other way; '=' gives what a criterion of 'slice' names another value just before\n"
        "TIME, or now: a number, 'c', or for strings and input as many bytes as are written.\n"
        "'code:' has the program other code from TIME on, at one place or two.\n"
        "A model answers the system calls of that run: it touches no file, process or network\n"
        "of this machine. What the model cannot know is said: the run is unresolved then.",
};

/* ---- what is asked for ---- */

static int find_decision(struct cli_session *session, const char *place, const uint64_t *pcs,
                         size_t count, int64_t k, wetdbg_time *time)
{
    uint64_t decided;
    int err = wetdbg_find_instance(session->wet, pcs, count, k, time);
    if (err == -WETDBG_ERR_NOT_FOUND &&
        wetdbg_count_instances(session->wet, pcs, count, &decided) == 0)
        wetdbg_fail(err, "%s has no decision #%" PRId64 ": it decided %" PRIu64 " time%s", place, k,
                    decided, decided == 1 ? "" : "s");
    return err;
}

/* The K-th decision of a line. */
static int switch_at_line(struct cli_session *session, const char *text, const char *hash,
                          wetdbg_time *time)
{
    char *place = cli_asprintf("%.*s", (int)(hash ? (size_t)(hash - text) : strlen(text)), text);
    char *file = NULL, *end = NULL;
    uint64_t *pcs = NULL;
    size_t count = 0;
    uint32_t line;
    int64_t k = hash ? strtoll(hash + 1, &end, 10) : -1;
    int err = cli_line_parse(place, &file, &line);
    if (!err && hash && (!k || *end || end == hash + 1))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: '%s' is no number of an instance", hash);
    if (!err)
        err = wetdbg_switch_points(session->wet, file, line, &pcs, &count);
    if (!err)
        err = find_decision(session, place, pcs, count, k, time);
    free(place);
    free(file);
    free(pcs);
    return err;
}

static int switch_parse(struct cli_session *session, const char *text, struct wetdbg_change *change)
{
    const char *hash = strrchr(text, '#'), *colon = strrchr(text, ':');
    *change = (struct wetdbg_change){.kind = WETDBG_CHANGE_SWITCH};
    return colon && text[0] != '*' ? switch_at_line(session, text, hash, &change->time)
                                   : cli_time_parse(session, text, &change->time);
}

/* A number or 'c' as `room` bytes, lowest first. */
static int number_parse(const char *text, uint64_t room, uint8_t bytes[8])
{
    char *end = NULL;
    errno = 0;
    bool is_char = text[0] == '\'' && text[1] && text[2] == '\'' && !text[3];
    uint64_t value = is_char          ? (uint8_t)text[1]
                     : text[0] == '-' ? (uint64_t)strtoll(text, &end, 0)
                                      : strtoull(text, &end, 0);
    if (!is_char && (errno || end == text || *end))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: '%s' is no number", text);
    uint64_t above = room >= 8 ? 0 : value >> 8 * room;
    bool is_negative = text[0] == '-' && room && room < 8;
    if (room > 8 || (above && !(is_negative && above == UINT64_MAX >> 8 * room)))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: %s does not fit into %" PRIu64 " bytes",
                           text, room);
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
    return 0;
}

static bool is_of_bytes(const char *what)
{
    return !strncmp(what, "input:", 6) || !strncmp(what, "argv:", 5) || !strncmp(what, "env:", 4);
}

/* What stands before '=', with a length where bytes are meant, and with its time. */
static char *criterion_text(const char *text, const char *equals, const char *at)
{
    int length = (int)(equals - text);
    bool is_input = !strncmp(text, "input:", 6) && !memchr(text, '+', (size_t)length);
    if (is_input)
        return cli_asprintf("%.*s+%zu", length, text, strlen(equals + 1));
    return cli_asprintf("%.*s%s", length, text, at);
}

/* What the criterion names gets the value. */
static int value_give(struct cli_session *session, const char *what, const char *value,
                      struct wetdbg_change *change)
{
    struct wetdbg_criterion *criterion;
    uint8_t bytes[8];
    int err = cli_origin_criterion(session, what, &criterion);
    if (err)
        return err;
    uint64_t room = wetdbg_change_room(criterion);
    if (is_of_bytes(what) || !room)
        err = wetdbg_change_of_criterion(criterion, value, strlen(value), change);
    else
        err = number_parse(value, room, bytes);
    if (!err && !is_of_bytes(what))
        err = wetdbg_change_of_criterion(criterion, bytes, room, change);
    wetdbg_criterion_free(criterion);
    return err;
}

/* CRITERION=VALUE, and @TIME as a word of its own or behind a number. */
static int value_parse(struct cli_session *session, const char *text, const char *second,
                       struct wetdbg_change *change)
{
    const char *equals = strchr(text, '=');
    const char *at = is_of_bytes(text) || *second ? NULL : strchr(equals, '@');
    char *value =
        at ? cli_asprintf("%.*s", (int)(at - equals - 1), equals + 1) : cli_strdup(equals + 1);
    char *what = criterion_text(text, equals, at ? at : second);
    int err = value_give(session, what, value, change);
    free(what);
    free(value);
    return err;
}

static int code_parse(struct cli_session *session, const char *text, const char *second,
                      struct wetdbg_change *change)
{
    const char *at;
    int err = cli_code_patch_parse(text, change, &at);
    if (err)
        return err;
    if (*second)
        at = second;
    change->time = session->time;
    return *at ? cli_time_parse(session, at + 1, &change->time) : 0;
}

static int change_parse(struct cli_session *session, const struct cli_args *args,
                        struct wetdbg_change *change)
{
    const char *text = args->operands[0];
    const char *second = args->operand_count > 1 ? args->operands[1] : "";
    if (!strcmp(second, "switch"))
        return switch_parse(session, text, change);
    if (cli_is_code_patch(text) && (!*second || *second == '@'))
        return code_parse(session, text, second, change);
    if (strchr(text, '=') && (!*second || *second == '@'))
        return value_parse(session, text, second, change);
    char *usage = cli_usage_line(cli_cmd_what_if_syntax.usage);
    wetdbg_fail(-WETDBG_ERR_USAGE, "what-if: what is changed? usage: what-if %s", usage);
    free(usage);
    return -WETDBG_ERR_USAGE;
}

/* ---- running ---- */

/* What the run put out: all of one descriptor, if that was asked for, and what stands where it
 * differs is looked for afterwards. */
struct outputs {
    int fd; /* -1: none */
    char *text;
    size_t size;
    FILE *to;
};

static int output_take(void *arg, int fd, const void *bytes, size_t size)
{
    struct outputs *outputs = arg;
    if (fd == outputs->fd)
        fwrite(bytes, 1, size, outputs->to);
    return 0;
}

/* The change in words, and where the run is kept; NULL: nowhere. */
struct keeping {
    const char *change, *path;
};

/* Runs and keeps it. A signal that ends the process does so when the unfinished file is gone. */
static int keep(struct cli_session *session, const struct wetdbg_change *change,
                const struct keeping *keeping, struct outputs *outputs,
                struct wetdbg_switch_result *result)
{
    cli_interrupt_hold_ends();
    int err = wetdbg_switcher_keep(session->switcher, change, 0, output_take, outputs,
                                   keeping->change, keeping->path, result);
    int number = cli_interrupt_let_ends();
    if (number)
        wetdbg_die_of(number);
    return err;
}

static int run(struct cli_session *session, const struct wetdbg_change *change,
               const struct keeping *keeping, struct outputs *outputs,
               struct wetdbg_switch_result *result)
{
    int err = session->switcher ? 0 : wetdbg_switcher_open(session->wet, &session->switcher);
    if (err)
        return err;
    outputs->to = open_memstream(&outputs->text, &outputs->size);
    if (!outputs->to)
        cli_die();
    result->end = WETDBG_SWITCH_EXIT;
    err = keeping->path
              ? keep(session, change, keeping, outputs, result)
              : wetdbg_switcher_run(session->switcher, change, 0, output_take, outputs, result);
    fclose(outputs->to);
    if (!outputs->text)
        cli_die();
    if (err && err != -WETDBG_ERR_NOT_FOUND && result->end == WETDBG_SWITCH_EXIT) {
        /* it may stand anywhere */
        wetdbg_switcher_close(session->switcher);
        session->switcher = NULL;
    }
    return err;
}

/* ---- showing ---- */

static const char *end_name(enum wetdbg_switch_end end)
{
    static const char *const names[] = {"exit", "unresolved", "hangs", "limit"};
    return names[end];
}

static void print_end(struct cli_out *out, const struct wetdbg_switch_result *result)
{
    int status = result->wait_status;
    switch (result->end) {
    case WETDBG_SWITCH_EXIT:
        if (WIFSIGNALED(status))
            fprintf(out->stream, "it ends by %s", cli_signal_name(WTERMSIG(status)));
        else
            fprintf(out->stream, "it exits with status %d", WEXITSTATUS(status));
        break;
    case WETDBG_SWITCH_HANGS:
        fputs("it waits for ever: ", out->stream);
        break;
    default:
        fputs("unresolved: ", out->stream);
    }
    cli_out_text(out, result->reason);
}

static void print_result(struct cli_session *session, const struct wetdbg_change *change,
                         const struct keeping *keeping, const struct outputs *outputs,
                         const struct wetdbg_switch_result *result)
{
    struct cli_out *out = session->out;
    print_end(out, result);
    fprintf(out->stream, ", %" PRIu64 " instructions (recorded: %" PRIu64 ")\n",
            result->instructions, session->info->instructions);
    fprintf(out->stream, "changed at time %" PRIu64, change->time);
    cli_thread_print_at(session, change->time);
    if (result->output_differs)
        fprintf(out->stream, "; output differs from byte %" PRIu64 " of descriptor %d on\n",
                result->output_offset, result->output_fd);
    else
        fprintf(out->stream, "; output is as recorded%s\n",
                result->end == WETDBG_SWITCH_EXIT ? "" : " so far");
    if (keeping->path) {
        fputs("kept in ", out->stream);
        cli_out_text(out, keeping->path);
        fputc('\n', out->stream);
    }
    if (outputs->fd < 0)
        return;
    if (!outputs->size) {
        fprintf(out->stream, "nothing is put out to descriptor %d\n", outputs->fd);
        return;
    }
    fputc('"', out->stream);
    cli_out_quoted(out, outputs->text, outputs->size);
    fputs("\"\n", out->stream);
}

static void result_to_json(struct cli_session *session, const char *text,
                           const struct wetdbg_change *change, const struct keeping *keeping,
                           const struct outputs *outputs, const struct wetdbg_switch_result *result)
{
    json_t *object = cli_json_object("wetdbg.what-if/1");
    bool has_ended = result->end == WETDBG_SWITCH_EXIT;
    bool is_signal = has_ended && WIFSIGNALED(result->wait_status);
    json_t *differs = result->output_differs ? json_object() : json_null();
    if (result->output_differs) {
        cli_json_set(differs, "fd", json_integer(result->output_fd));
        cli_json_set(differs, "offset", cli_json_count(result->output_offset));
    }
    cli_json_set(object, "change", cli_json_text(text));
    cli_json_set(object, "time", cli_json_count(change->time));
    cli_json_set(object, "end", cli_json_text(end_name(result->end)));
    cli_json_set(object, "exit",
                 has_ended && !is_signal ? json_integer(WEXITSTATUS(result->wait_status))
                                         : json_null());
    cli_json_set(object, "signal",
                 is_signal ? json_integer(WTERMSIG(result->wait_status)) : json_null());
    cli_json_set(object, "unresolved", has_ended ? json_null() : cli_json_text(result->reason));
    cli_json_set(object, "instructions", cli_json_count(result->instructions));
    cli_json_set(object, "output_differs_at", differs);
    if (keeping->path)
        cli_json_set(object, "kept", cli_json_text(keeping->path));
    if (outputs->fd >= 0)
        cli_json_set(object, "output", cli_json_bytes(outputs->text, outputs->size));
    cli_out_json(session->out, object);
}

/* The command's words, for who opens the file that was kept. */
static char *change_text(const struct cli_args *args)
{
    return args->operand_count > 1 ? cli_asprintf("%s %s", args->operands[0], args->operands[1])
                                   : cli_strdup(args->operands[0]);
}

int cli_cmd_what_if(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct wetdbg_change change;
    struct wetdbg_switch_result result;
    struct outputs outputs = {.fd = -1};
    uint64_t fd = UINT64_MAX;
    (void)format;
    int err = cli_args_number(args, "output", UINT64_MAX, &fd);
    if (!err)
        err = change_parse(session, args, &change);
    if (err)
        return err;
    if (fd < INT32_MAX)
        outputs.fd = (int)fd;
    char *text = change_text(args);
    const struct keeping keeping = {.change = text, .path = cli_args_value(args, "keep")};
    err = run(session, &change, &keeping, &outputs, &result);
    if (!err && session->out->json)
        result_to_json(session, args->operands[0], &change, &keeping, &outputs, &result);
    else if (!err)
        print_result(session, &change, &keeping, &outputs, &result);
    free(outputs.text);
    free(text);
    return err;
}
