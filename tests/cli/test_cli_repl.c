/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grammar of the prompt, with commands that only write down what they were given. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/repl/repl.h"
#include "dbgcli/repl/words.h"
#include "tests/cli/cli_caught.h"
#include "tests/cli/cli_unit.h"
#include <wetdbg/errors.h>

struct cli_session {
    unsigned prepared;
};

/* "name/format|operand|operand" */
static int note(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    fputs(args->name, repl->out->stream);
    if (*format)
        fprintf(repl->out->stream, "/%s", format);
    if (cli_args_has(args, "loud"))
        fputs("!", repl->out->stream);
    for (size_t i = 0; i < args->operand_count; i++)
        fprintf(repl->out->stream, "|%s", args->operands[i]);
    putc('\n', repl->out->stream);
    return 0;
}

static int break_down(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)repl;
    (void)args;
    (void)format;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "it is not there");
}

static int interrupt_itself(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)repl;
    (void)args;
    (void)format;
    raise(SIGINT);
    return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
}

static const struct cli_option loud[] = {{"loud", 0, NULL, "louder"}, {0}};
static const struct cli_syntax any = {
    .usage = "[WORD]...", .options = loud, .operands_max = CLI_OPERANDS_ANY};
static const struct cli_syntax on = {.usage = "[PLACE]", .operands_max = 1, .goes_on = true};
static const struct cli_syntax followed = {.usage = "", .next = "list"};
static const struct cli_syntax raw = {.usage = "TEXT", .operands_max = 1, .is_raw = true};

static const struct cli_command commands[] = {
    {"print", note, "print it", &raw, "p", true},
    {"list", note, "list it", &any, NULL, false},
    {"info", note, "say it", &any, "i", false},
    {"instances", note, "when", &any, NULL, false},
    {"examine", note, "what follows", &on, NULL, true},
    {"followed", note, "then the list", &followed, NULL, false},
    {"break", break_down, "fail", &any, NULL, false},
    {"interrupt", interrupt_itself, "Ctrl-C", &any, NULL, false},
    {"help", cli_cmd_help, "explain", &cli_cmd_help_syntax, NULL, false},
    {"quit", cli_cmd_quit, "leave", &cli_cmd_quit_syntax, "q", false},
    {NULL, NULL, NULL, NULL, NULL, false},
};

struct fixture {
    struct cli_caught said;
    struct cli_session session;
    struct cli_repl repl;
};

static void prepare(struct cli_session *session)
{
    session->prepared++;
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    cli_caught_open(&f->said);
    f->repl = (struct cli_repl){
        .out = &f->said.out,
        .commands = commands,
        .session = &f->session,
        .prepare = prepare,
        .place = "here",
    };
    cli_interrupt_catch(NULL, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    cli_interrupt_release();
    cli_repl_fini(&f->repl);
    cli_caught_close(&f->said);
    free(f);
    return 0;
}

static void expect(struct fixture *f, const char *answer, const char *errors)
{
    fflush(f->said.out.stream);
    fflush(f->said.out.errors);
    assert_string_equal(f->said.answer, answer);
    assert_string_equal(f->said.errors, errors);
}

/* A pipe (or what looks like one) with `text` in it. */
static FILE *lines_of(const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    return file;
}

static char kept[256];

static void keep(const char *line)
{
    strcat(kept, line);
    strcat(kept, "\n");
}

static void start(void)
{
    kept[0] = 0;
}

static int read_plain(FILE *from, const char *prompt, char **line)
{
    return cli_line_plain.read(from, prompt, line);
}

static const struct cli_line_hooks person = {
    .is_interactive = true, .start = start, .read = read_plain, .keep = keep};

static int loop(struct fixture *f, const struct cli_line_hooks *hooks, const char *text)
{
    FILE *file = lines_of(text);
    int status = cli_repl_loop(&f->repl, hooks, file, "(wetdbg) ");
    fclose(file);
    return status;
}

/* ---- words ---- */

static void words_are_split_and_quotes_kept_together(void **state)
{
    (void)state;
    struct {
        const char *line, *joined;
    } rows[] = {
        {"a b\tc", "a|b|c"},
        {"  a  ", "a"},
        {"", ""},
        {"'a b' c", "a b|c"},
        {"\"a \\\" b\" c", "a \" b|c"},
        {"x'y z'w", "xy zw"},
        {"''", ""},
        {"f\\.o 'a\\b'", "f\\.o|a\\b"},
        {"a.c:12#3", "a.c:12#3"},
        {"x='c' y=' '@3 *p='=' a==' '", "x='c'|y=' '@3|*p='='|a==' '"},
        {"x='cd' x='' x=\"'c'\" x=\"c\"", "x=cd|x=|x='c'|x=c"},
        {"--expect='c' input:0='c' env:A='c' 'c' x'c'", "--expect=c|input:0=c|env:A=c|c|xc"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct cli_words words;
        char joined[64] = "";
        assert_int_equal(cli_words_split(&words, rows[i].line), 0);
        for (size_t j = 0; j < words.count; j++) {
            strcat(joined, j ? "|" : "");
            strcat(joined, words.list[j]);
        }
        assert_string_equal(joined, rows[i].joined);
        assert_null(words.list[words.count]);
        cli_words_fini(&words);
    }
}

static void words_quote_not_closed_is_refused(void **state)
{
    (void)state;
    struct cli_words words;
    assert_int_equal(cli_words_split(&words, "a 'b"), -WETDBG_ERR_USAGE);
    assert_int_equal(cli_words_split(&words, "\"b\\\""), -WETDBG_ERR_USAGE);
}

/* ---- names ---- */

static void command_unique_prefixes_and_aliases_are_found(void **state)
{
    (void)state;
    struct {
        const char *typed, *name;
    } rows[] = {{"list", "list"},     {"l", "list"}, {"p", "print"},
                {"pri", "print"},     {"i", "info"}, {"inf", "info"},
                {"ins", "instances"}, {"q", "quit"}, {"int", "interrupt"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct cli_command *command;
        assert_int_equal(cli_command_find(commands, rows[i].typed, &command), 0);
        assert_string_equal(command->name, rows[i].name);
    }
}

static void command_ambiguous_prefix_lists_candidates(void **state)
{
    (void)state;
    const struct cli_command *command;
    assert_int_equal(cli_command_find(commands, "in", &command), -WETDBG_ERR_USAGE);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_USAGE),
                        "ambiguous command 'in': info, instances, interrupt");
}

static void command_unknown_suggests_the_nearest(void **state)
{
    (void)state;
    const struct cli_command *command;
    assert_int_equal(cli_command_find(commands, "lsit", &command), -WETDBG_ERR_USAGE);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_USAGE),
                        "unknown command 'lsit'; did you mean 'list'?");
    assert_int_equal(cli_command_find(commands, "xyzzy", &command), -WETDBG_ERR_USAGE);
    assert_int_equal(cli_command_find(commands, "", &command), -WETDBG_ERR_USAGE);
}

/* ---- lines ---- */

static void execute_passes_words_options_and_formats(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(cli_repl_execute(&f->repl, "list a 'b c' --loud"), 0);
    assert_int_equal(cli_repl_execute(&f->repl, " print/x  p->m [ 3 ] @ 5  "), 0);
    assert_int_equal(cli_repl_execute(&f->repl, "p"), 0);
    expect(f, "list!|a|b c\nprint/x|p->m [ 3 ] @ 5\nprint\n", "");
    assert_int_equal(f->session.prepared, 3);
}

static void execute_comments_and_empty_lines_do_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(cli_repl_execute(&f->repl, "# list"), 0);
    assert_int_equal(cli_repl_execute(&f->repl, "   \t"), 0);
    assert_int_equal(cli_repl_execute(&f->repl, "list a.c:1#2"), 0);
    expect(f, "list|a.c:1#2\n", "");
}

static void execute_errors_give_their_status(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(cli_repl_execute(&f->repl, "break"), CLI_EXIT_NOT_FOUND);
    assert_int_equal(cli_repl_execute(&f->repl, "nonsense"), CLI_EXIT_USAGE);
    assert_int_equal(cli_repl_execute(&f->repl, "list --lout"), CLI_EXIT_USAGE);
    assert_int_equal(cli_repl_execute(&f->repl, "list/x"), CLI_EXIT_USAGE);
    assert_int_equal(cli_repl_execute(&f->repl, "list 'a"), CLI_EXIT_USAGE);
    expect(f, "",
           "here: it is not there\n"
           "here: unknown command 'nonsense' (try 'help')\n"
           "here: list: unknown option '--lout'; did you mean '--loud'?\n"
           "here: list: takes no format ('/x')\n"
           "here: a quote (') is not closed\n");
}

static void execute_errors_in_json_are_objects(void **state)
{
    struct fixture *f = *state;
    f->said.out.json = true;
    assert_int_equal(cli_repl_execute(&f->repl, "break"), CLI_EXIT_NOT_FOUND);
    fflush(f->said.out.stream);
    json_t *object = json_loads(f->said.answer, 0, NULL);
    assert_non_null(object);
    assert_string_equal(json_string_value(json_object_get(object, "schema")), "wetdbg.error/1");
    assert_int_equal(json_integer_value(json_object_get(object, "status")), 1);
    assert_string_equal(json_string_value(json_object_get(object, "message")), "it is not there");
    json_decref(object);
    expect(f, f->said.answer, "");
}

static void help_lists_all_commands_and_explains_one(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(cli_repl_execute(&f->repl, "help"), 0);
    fflush(f->said.out.stream);
    for (const struct cli_command *c = commands; c->name; c++)
        assert_non_null(strstr(f->said.answer, c->summary));
    assert_int_equal(cli_repl_execute(&f->repl, "help li"), 0);
    assert_int_equal(cli_repl_execute(&f->repl, "list --help"), 0);
    fflush(f->said.out.stream);
    const char *usage = strstr(f->said.answer, "usage: list [WORD]...");
    assert_non_null(usage);
    assert_non_null(strstr(usage + 1, "usage: list [WORD]..."));
    assert_int_equal(cli_repl_execute(&f->repl, "help in"), CLI_EXIT_USAGE);
}

/* ---- the loop ---- */

static void loop_empty_line_repeats_for_a_person(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &person, "\nlist a\n\n# note\n\nprint b\n   \n"), 0);
    expect(f, "list|a\nlist|a\nlist|a\nprint|b\nprint|b\n", "");
    assert_string_equal(kept, "list a\n# note\nprint b\n");
}

static void loop_empty_line_goes_on_where_the_command_does(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &person, "exam/16xb here\n\n\nlist a\n\n"), 0);
    expect(f, "examine/16xb|here\nexamine/16xb\nexamine/16xb\nlist|a\nlist|a\n", "");
    assert_int_equal(loop(f, &person, "foll\n\n\n"), 0);
    expect(f,
           "examine/16xb|here\nexamine/16xb\nexamine/16xb\nlist|a\nlist|a\n"
           "followed\nlist\nlist\n",
           "");
}

static void loop_empty_line_from_a_pipe_does_nothing(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &cli_line_plain, "list a\n\n\nlist b"), 0);
    expect(f, "list|a\nlist|b\n", "");
}

static void loop_from_a_pipe_gives_the_last_failure(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &cli_line_plain, "nonsense\nbreak\nlist\n"), CLI_EXIT_NOT_FOUND);
    assert_int_equal(loop(f, &person, "break\n"), 0);
}

static void loop_quit_ends_it(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &cli_line_plain, "list\nquit\nlist\n"), 0);
    expect(f, "list\n", "");
    assert_true(f->repl.is_quitting);
}

static void loop_interrupt_ends_the_command_of_a_person_only(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(loop(f, &person, "interrupt\nlist\n"), 0);
    expect(f, "list\n", "here: interrupted\n");
    assert_int_equal(loop(f, &cli_line_plain, "interrupt\nlist\n"), CLI_EXIT_INTERRUPTED);
    expect(f, "list\n", "here: interrupted\nhere: interrupted\n");
}

/* ---- scripts ---- */

static int run_script(struct fixture *f, const char *text)
{
    char path[] = "/tmp/wetdbg-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    int status = cli_repl_run_script(&f->repl, path, stdin);
    unlink(path);
    return status;
}

static void script_ends_at_the_first_error_and_says_where(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(run_script(f, "# first\nlist a\n\nbreak\nlist b\n"), CLI_EXIT_NOT_FOUND);
    fflush(f->said.out.errors);
    assert_non_null(strstr(f->said.errors, ":4: it is not there\n"));
    expect(f, "list|a\n", f->said.errors);
    assert_string_equal(f->repl.place, "here");
}

static void script_from_the_input_and_one_that_is_missing(void **state)
{
    struct fixture *f = *state;
    FILE *input = lines_of("list x\nbreak\n");
    assert_int_equal(cli_repl_run_script(&f->repl, "-", input), CLI_EXIT_NOT_FOUND);
    fclose(input);
    assert_int_equal(cli_repl_run_script(&f->repl, "/nonexistent/script", stdin), CLI_EXIT_MACHINE);
    assert_int_equal(cli_repl_run_script(&f->repl, "/", stdin), CLI_EXIT_MACHINE);
    expect(f, "list|x\n",
           "standard input:2: it is not there\n"
           "here: cannot read '/nonexistent/script': No such file or directory\n"
           "here: cannot read '/': Is a directory\n");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_split_and_quotes_kept_together),
        cmocka_unit_test(words_quote_not_closed_is_refused),
        cmocka_unit_test(command_unique_prefixes_and_aliases_are_found),
        cmocka_unit_test(command_ambiguous_prefix_lists_candidates),
        cmocka_unit_test(command_unknown_suggests_the_nearest),
        CASE(execute_passes_words_options_and_formats),
        CASE(execute_comments_and_empty_lines_do_nothing),
        CASE(execute_errors_give_their_status),
        CASE(execute_errors_in_json_are_objects),
        CASE(help_lists_all_commands_and_explains_one),
        CASE(loop_empty_line_repeats_for_a_person),
        CASE(loop_empty_line_goes_on_where_the_command_does),
        CASE(loop_empty_line_from_a_pipe_does_nothing),
        CASE(loop_from_a_pipe_gives_the_last_failure),
        CASE(loop_quit_ends_it),
        CASE(loop_interrupt_ends_the_command_of_a_person_only),
        CASE(script_ends_at_the_first_error_and_says_where),
        CASE(script_from_the_input_and_one_that_is_missing),
    };
    return cmocka_run_group_tests_name("repl", tests, NULL, NULL);
}
