/* SPDX-License-Identifier: GPL-3.0-or-later */
/* backtrace, frame, up, down. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/apply.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

static const struct cli_option backtrace_options[] = {
    {"limit", 0, "N", "at most N frames; 0: all (the default)"},
    {"all", 0, NULL, "the calls of every thread that there is at this time"},
    {0},
};

const struct cli_syntax cli_cmd_backtrace_syntax = {
    .example = "backtrace full 5",
    .usage = "[--limit N] [--all] [full] [N|-N]",
    .operands_max = 2,
    .options = backtrace_options,
    .details = "N is --limit; -N shows the outermost N frames, full the locals of each.",
};

const struct cli_syntax cli_cmd_frame_syntax = {
    .example = "frame function main",
    .usage = "[N|level N|function NAME|apply all|N|-N COMMAND]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Selects the frame whose variables print and info locals show: by number, or the\n"
               "innermost one of a function. 'frame apply' runs a command in all frames, in the\n"
               "innermost or (-N) outermost N; -q before it leaves the frames' titles out, with\n"
               "-s what fails in one is passed over.",
};

const struct cli_syntax cli_cmd_up_syntax = {
    .example = "up 2",
    .usage = "[N]",
    .operands_max = 1,
};

const struct cli_syntax cli_cmd_down_syntax = {
    .example = "down",
    .usage = "[N]",
    .operands_max = 1,
};

/* ---- arguments ---- */

struct argument_walk {
    struct cli_frame_view view;

    struct cli_out *out; /* text, or */
    json_t *json;        /* an array */
    size_t count;
};

/* An argument's texts, to be freed. */
struct argument {
    char *now;   /* NULL: optimized out */
    char *entry; /* as it was passed; NULL: not known */
    bool is_same;
};

static struct argument argument_of(struct cli_frame_view *view,
                                   const struct wetdbg_variable *variable)
{
    struct argument argument = {NULL, NULL, false};
    struct cli_value now, entry;
    uint64_t bits[2];
    bool has_now = cli_value_of_variable(view, variable, &now) == 0;
    bool has_entry = cli_value_at_entry(view, variable, &entry) == 0;
    if (has_now)
        argument.now = cli_value_text(view->moment, &now, "", true);
    if (has_entry)
        argument.entry = cli_value_text(view->moment, &entry, "", true);
    argument.is_same = has_now && has_entry &&
                       cli_value_load(view->moment, &now, &bits[0], now.type.size_bytes) == 0 &&
                       cli_value_load(view->moment, &entry, &bits[1], now.type.size_bytes) == 0 &&
                       memcmp(&bits[0], &bits[1], now.type.size_bytes) == 0;
    return argument;
}

/* Prints "x=5", as gdb does; "x=x@entry=5" if it still has the value that it was passed as,
 * "x=6, x@entry=5" if not. */
static void print_argument(struct cli_out *out, const char *name, const struct argument *argument)
{
    cli_out_styled(out, CLI_STYLE_VARIABLE, name);
    putc('=', out->stream);
    if (!argument->is_same)
        cli_out_text(out, argument->now ? argument->now : "<optimized out>");
    if (!argument->entry)
        return;
    fputs(argument->is_same ? "" : ", ", out->stream);
    cli_out_styled(out, CLI_STYLE_VARIABLE, name);
    fputs("@entry=", out->stream);
    cli_out_text(out, argument->entry);
}

static int show_argument(void *context, const struct wetdbg_variable *variable)
{
    struct argument_walk *walk = context;
    if (variable->scope != WETDBG_SCOPE_PARAM || !variable->name)
        return 0;
    struct argument argument = argument_of(&walk->view, variable);
    if (walk->json) {
        json_t *row = json_object();
        cli_json_set(row, "name", cli_json_text(variable->name));
        cli_json_set(row, "value", cli_json_text(argument.now));
        cli_json_set(row, "entry", cli_json_text(argument.entry));
        cli_json_append(walk->json, row);
    } else {
        fputs(walk->count ? ", " : "", walk->out->stream);
        print_argument(walk->out, variable->name, &argument);
    }
    walk->count++;
    free(argument.now);
    free(argument.entry);
    return 0;
}

void cli_frame_arguments(struct cli_out *out, struct cli_moment *moment, size_t index,
                         json_t *array)
{
    struct argument_walk walk = {.view = {moment, index}, .out = out, .json = array};
    const struct cli_frame *frame = &moment->frames[index];
    wetdbg_variables_each_at(moment->model, frame->lookup_pc, frame->depth, show_argument, &walk);
}

/* ---- frames ---- */

/* As gdb, shows the address of code that is not the start of a line's. */
static bool has_address(const struct cli_moment *moment, size_t index)
{
    const struct cli_frame *frame = &moment->frames[index];
    struct wetdbg_line line;
    if (!frame->file)
        return true;
    if (index > 0)
        return !moment->frames[index - 1].is_inlined;
    return wetdbg_line_at(moment->model, frame->lookup_pc, &line) == 0 &&
           (line.run_start != frame->lookup_pc || !line.is_stmt);
}

void cli_frame_print(struct cli_out *out, struct cli_moment *moment, size_t index)
{
    const struct cli_frame *frame = &moment->frames[index];
    if (frame->is_signal) {
        fputs("<signal handler called>", out->stream);
        return;
    }
    cli_out_styled(out, CLI_STYLE_FUNCTION, frame->function ? frame->function : "??");
    fputs(" (", out->stream);
    cli_frame_arguments(out, moment, index, NULL);
    putc(')', out->stream);
    if (frame->file) {
        fputs(" at ", out->stream);
        cli_out_styled(out, CLI_STYLE_FILE, cli_base_name(frame->file));
        fprintf(out->stream, ":%" PRIu32, frame->line);
    } else if (frame->module) {
        fputs(" from ", out->stream);
        cli_out_styled(out, CLI_STYLE_FILE, frame->module);
    }
}

static void print_frame(struct cli_session *session, size_t index)
{
    struct cli_out *out = session->out;
    struct cli_moment *moment = session->moment;
    const struct cli_frame *frame = &moment->frames[index];
    fprintf(out->stream, "%s#%-2zu ", index == session->frame ? "*" : " ", index);
    if (has_address(moment, index) && !frame->is_signal)
        fprintf(out->stream, "%s0x%016" PRIx64 "%s in ", cli_out_style(out, CLI_STYLE_ADDRESS),
                frame->regs.value[WETDBG_REG_RIP], cli_out_style(out, CLI_STYLE_NONE));
    cli_frame_print(out, moment, index);
    putc('\n', out->stream);
}

static json_t *json_of_frame(struct cli_session *session, size_t index)
{
    const struct cli_frame *frame = &session->moment->frames[index];
    struct cli_place place = {
        .pc = frame->regs.value[WETDBG_REG_RIP],
        .function = frame->function,
        .linkage_name = frame->linkage_name,
        .module = frame->module,
        .file = frame->file,
        .line = frame->line,
        .text = cli_source_text(session, frame->file, frame->line, frame->lookup_pc),
    };
    json_t *row = json_object();
    json_t *arguments = json_array();
    cli_json_set(row, "frame", json_integer((json_int_t)index));
    cli_place_to_json(row, &place);
    cli_json_set(row, "inlined", json_boolean(frame->is_inlined));
    cli_json_set(row, "tail_call", json_boolean(frame->is_tail));
    cli_json_set(row, "signal", json_boolean(frame->is_signal));
    cli_frame_arguments(NULL, session->moment, index, arguments);
    cli_json_set(row, "arguments", arguments);
    return row;
}

/* Which frames are shown. */
struct frame_choice {
    uint64_t limit; /* at most so many; 0: all */
    bool is_outer;  /* the outermost ones */
    bool is_full;   /* with their locals */
};

static size_t shown_of(const struct cli_moment *moment, const struct frame_choice *choice)
{
    return choice->limit && choice->limit < moment->frame_count ? choice->limit
                                                                : moment->frame_count;
}

static size_t first_of(const struct cli_moment *moment, const struct frame_choice *choice)
{
    return choice->is_outer ? moment->frame_count - shown_of(moment, choice) : 0;
}

static json_t *json_of_frames(struct cli_session *session, const struct frame_choice *choice)
{
    const struct cli_moment *moment = session->moment;
    size_t first = first_of(moment, choice), shown = shown_of(moment, choice);
    json_t *object = cli_json_object("wetdbg.backtrace/1");
    json_t *frames = json_array();
    for (size_t i = first; i < first + shown; i++) {
        json_t *row = json_of_frame(session, i);
        if (choice->is_full) {
            json_t *locals = json_array();
            cli_frame_locals(session, i, locals);
            cli_json_set(row, "locals", locals);
        }
        cli_json_append(frames, row);
    }
    cli_json_set(object, "time", cli_json_count(session->time));
    cli_thread_to_json(object, session, moment->thread);
    cli_json_set(object, "frames", frames);
    cli_json_set(object, "more", cli_json_count(moment->frame_count - shown));
    cli_json_set(object, "broken", cli_json_text(moment->broken));
    cli_uncertain_to_json(object, session, session->time);
    return object;
}

static void write_frames(struct cli_session *session, const struct frame_choice *choice)
{
    struct cli_out *out = session->out;
    const struct cli_moment *moment = session->moment;
    size_t first = first_of(moment, choice), shown = shown_of(moment, choice);
    if (cli_has_threads(session)) {
        cli_thread_print(out, moment->thread);
        fputs(":\n", out->stream);
    }
    for (size_t i = first; i < first + shown && !cli_out_is_gone(out); i++) {
        print_frame(session, i);
        if (choice->is_full)
            cli_frame_locals(session, i, NULL);
    }
    if (!choice->is_outer && shown < moment->frame_count)
        fprintf(out->stream, "(%s%zu more frames)\n", moment->broken ? "at least " : "",
                moment->frame_count - shown);
    else if (moment->broken)
        fprintf(out->stream, "(the stack cannot be followed further: %s)\n", moment->broken);
}

static int print_frames(struct cli_session *session, const struct frame_choice *choice)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    if (session->out->json) {
        cli_out_json(session->out, json_of_frames(session, choice));
        return 0;
    }
    write_frames(session, choice);
    cli_uncertain_print(session, session->time);
    return 0;
}

int cli_backtrace_print(struct cli_session *session, uint64_t limit)
{
    return print_frames(session, &(struct frame_choice){.limit = limit});
}

/* Prints the frames of each thread in turn; then the thread that was selected is so again, with its
 * frame. */
static int print_all_threads(struct cli_session *session, const struct frame_choice *choice)
{
    struct cli_moment *moment;
    struct cli_out *out = session->out;
    size_t count, frame = session->frame;
    int result = cli_session_moment(session, &moment);
    if (result)
        return result;
    const struct wetdbg_thread *threads = wetdbg_threads(session->wet, &count);
    const struct wetdbg_thread *selected = moment->thread;
    json_t *array = out->json ? json_array() : NULL;
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++) {
        if (cli_moment_select(moment, &threads[i]) != 0)
            continue;
        session->frame = moment->thread == selected ? frame : SIZE_MAX;
        if (array)
            cli_json_append(array, json_of_frames(session, choice));
        else
            write_frames(session, choice);
    }
    result = cli_moment_select(moment, selected);
    session->frame = result ? cli_moment_first_frame(moment) : frame;
    if (array) {
        json_t *object = cli_json_object("wetdbg.backtraces/1");
        cli_json_set(object, "time", cli_json_count(session->time));
        cli_json_set(object, "threads", array);
        cli_out_json(out, object);
    } else {
        cli_uncertain_print(session, session->time);
    }
    return result;
}

/* Reads "full", "3" and "-3". */
static int take_choice(const struct cli_args *args, struct frame_choice *choice)
{
    int err = cli_args_number(args, "limit", 0, &choice->limit);
    for (size_t i = 0; !err && i < args->operand_count; i++) {
        const char *word = args->operands[i];
        if (strcmp(word, "full") == 0) {
            choice->is_full = true;
            continue;
        }
        choice->is_outer = *word == '-';
        word += choice->is_outer;
        char *end = NULL;
        choice->limit = *word >= '0' && *word <= '9' ? strtoull(word, &end, 10) : 0;
        if (!choice->limit || *end)
            err = wetdbg_fail(-WETDBG_ERR_USAGE,
                              "backtrace: '%s' is no number of frames; usage: backtrace %s",
                              args->operands[i], cli_cmd_backtrace_syntax.usage);
    }
    return err;
}

int cli_cmd_backtrace(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct frame_choice choice = {0};
    (void)format;
    int err = take_choice(args, &choice);
    if (err)
        return err;
    return cli_args_has(args, "all") ? print_all_threads(repl->session, &choice)
                                     : print_frames(repl->session, &choice);
}

/* ---- selecting one ---- */

void cli_frame_show(struct cli_session *session, size_t index)
{
    struct cli_out *out = session->out;
    if (out->json) {
        json_t *object = json_of_frame(session, index);
        cli_json_set(object, "schema", json_string("wetdbg.frame/1"));
        cli_json_set(object, "time", cli_json_count(session->time));
        cli_thread_to_json(object, session, session->moment->thread);
        cli_uncertain_to_json(object, session, session->time);
        cli_out_json(out, object);
        return;
    }
    const struct cli_frame *frame = &session->moment->frames[index];
    const char *text = cli_source_text(session, frame->file, frame->line, frame->lookup_pc);
    print_frame(session, index);
    if (text) {
        fprintf(out->stream, "%" PRIu32 "\t", frame->line);
        cli_out_text(out, text);
        putc('\n', out->stream);
    }
    cli_uncertain_print(session, session->time);
}

static int select_frame(struct cli_session *session, size_t index)
{
    session->frame = index;
    session->list_file = NULL;
    cli_frame_show(session, index);
    return 0;
}

/* Reads the number that was typed, or takes `otherwise`; and opens the moment. */
static int prepare(struct cli_repl *repl, const struct cli_args *args, uint64_t otherwise,
                   uint64_t *number, struct cli_moment **moment)
{
    *number = otherwise;
    if (args->operand_count && !cli_number_parse(args->operands[0], number))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: '%s' is no number", args->name,
                           args->operands[0]);
    return cli_session_moment(repl->session, moment);
}

static bool is_of_function(const struct cli_session *session, const struct cli_frame *frame,
                           const char *name)
{
    if (!frame->function)
        return false;
    const char *full = wetdbg_name_full(session->model, frame->linkage_name);
    size_t length = strlen(name);
    return strcmp(frame->function, name) == 0 ||
           (full && strncmp(full, name, length) == 0 && (!full[length] || full[length] == '('));
}

static int select_function(struct cli_session *session, const char *name)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    for (size_t i = 0; i < moment->frame_count; i++)
        if (is_of_function(session, &moment->frames[i], name))
            return select_frame(session, i);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no frame is of a function '%s'", name);
}

static int select_level(struct cli_session *session, const char *number)
{
    struct cli_moment *moment;
    uint64_t level;
    if (!cli_number_parse(number, &level))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "frame: '%s' is no number", number);
    int err = cli_session_moment(session, &moment);
    if (!err && level >= moment->frame_count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no frame %" PRIu64 ": there are %zu", level,
                          moment->frame_count);
    return err ? err : select_frame(session, level);
}

/* What stands behind a first word, or NULL if that is another one. */
static const char *behind_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    bool is_there = strncmp(text, word, length) == 0 && (text[length] == ' ' || !text[length]);
    return is_there ? text + length + strspn(text + length, " \t") : NULL;
}

int cli_cmd_frame(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const char *text = args->operand_count ? args->operands[0] : "", *behind;
    struct cli_moment *moment;
    (void)format;
    if ((behind = behind_word(text, "apply")) != NULL)
        return cli_frame_apply(repl, behind);
    if ((behind = behind_word(text, "function")) != NULL)
        return select_function(repl->session, behind);
    if ((behind = behind_word(text, "level")) != NULL)
        text = behind;
    if (*text)
        return select_level(repl->session, text);
    int err = cli_session_moment(repl->session, &moment);
    return err ? err : select_frame(repl->session, repl->session->frame);
}

int cli_cmd_up(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_moment *moment;
    uint64_t number;
    (void)format;
    int err = prepare(repl, args, 1, &number, &moment);
    if (err)
        return err;
    size_t last = moment->frame_count - 1, now = repl->session->frame;
    if (now == last && number)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the outermost frame");
    return select_frame(repl->session, number > last - now ? last : now + number);
}

int cli_cmd_down(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_moment *moment;
    uint64_t number;
    (void)format;
    int err = prepare(repl, args, 1, &number, &moment);
    if (err)
        return err;
    size_t now = repl->session->frame;
    if (now == 0 && number)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the innermost frame");
    return select_frame(repl->session, number > now ? 0 : now - number);
}
