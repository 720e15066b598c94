/* SPDX-License-Identifier: GPL-3.0-or-later */
/* catch: stops at system calls, signals, forks, exec and C++ exceptions. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/repl/words.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/errors.h>

#define CALLS_MAX   512
#define SIGNALS_MAX 65

/* Of x86-64's system calls. */
#define CALL_CLONE  56
#define CALL_FORK   57
#define CALL_VFORK  58
#define CALL_EXECVE 59

#define SHARES_MEMORY 0x100 /* of clone: CLONE_VM */

const struct cli_syntax cli_cmd_catch_syntax = {
    .example = "catch syscall write",
    .usage = "syscall [NAME|NUMBER]...|signal [NAME]...|fork|vfork|exec|throw|rethrow|catch\n"
             "      [if CONDITION]",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details =
        "From now on what goes through the run stops there:\n"
        "  syscall   where a system call begins, and where it has returned; all of them, or\n"
        "            those named\n"
        "  signal    where a signal has struck: all, or those named (SIGUSR1, USR1, 10)\n"
        "  fork, vfork, exec   where the program makes a process, or becomes another program\n"
        "  throw, rethrow, catch   where C++ throws an exception, again, or begins to handle one",
};

/* ---- what is wanted ---- */

static bool is_wanted(const struct cli_breakpoint *one, int number)
{
    for (size_t i = 0; i < one->number_count; i++)
        if (one->numbers[i] == number)
            return true;
    return one->number_count == 0;
}

static bool takes(void *arg, const struct wetdbg_event *event)
{
    const struct cli_breakpoint *one = arg;
    bool is_signal = event->kind == WETDBG_EVENT_FAULT || event->kind == WETDBG_EVENT_SIGNAL;
    if (is_signal != one->is_of_signals || !is_wanted(one, event->number))
        return false;
    /* forks and exec stop once */
    return !one->is_of_beginnings || event->kind == WETDBG_EVENT_CALL;
}

static int number_of(const char *text, const char *(*name_of)(int number), int limit)
{
    uint64_t number;
    if (cli_number_parse(text, &number))
        return number < (uint64_t)limit ? (int)number : -1;
    for (int i = 0; i < limit; i++) {
        const char *name = name_of(i);
        bool is_short = name && strncmp(name, "SIG", 3) == 0 && strcmp(name + 3, text) == 0;
        if (name && (strcmp(name, text) == 0 || is_short))
            return i;
    }
    return -1;
}

static const char *call_name(int number)
{
    return cli_syscall_name(number);
}

static int add_numbers(struct cli_breakpoint *one, char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int number = one->is_of_signals ? number_of(names[i], cli_signal_name, SIGNALS_MAX)
                                        : number_of(names[i], call_name, CALLS_MAX);
        if (one->is_of_signals && strcmp(names[i], "all") == 0)
            continue;
        if (number < 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "catch: no %s is called '%s'",
                               one->is_of_signals ? "signal" : "system call", names[i]);
        one->numbers = cli_realloc(one->numbers, one->number_count + 1, sizeof(*one->numbers));
        one->numbers[one->number_count++] = number;
    }
    return 0;
}

/* ---- the forms ---- */

static void set_numbers(struct cli_breakpoint *one, const int *numbers, size_t count)
{
    one->numbers = cli_realloc(NULL, count, sizeof(*numbers));
    memcpy(one->numbers, numbers, count * sizeof(*numbers));
    one->number_count = count;
    one->is_of_beginnings = true;
}

/* A call of clone makes a process if it does not share its memory; clone3's flags are in memory,
 * and it makes threads. */
static void want_forks(struct cli_breakpoint *one)
{
    static const int calls[] = {CALL_FORK, CALL_CLONE};
    set_numbers(one, calls, 2);
    one->clone_mask = SHARES_MEMORY;
}

static int want_events(struct cli_breakpoint *one, char *const *words, size_t count)
{
    static const int vfork_call[] = {CALL_VFORK}, exec_calls[] = {CALL_EXECVE, 322};
    one->is.takes = takes;
    one->is_of_signals = strcmp(words[0], "signal") == 0;
    if (one->is_of_signals || strcmp(words[0], "syscall") == 0)
        return add_numbers(one, words + 1, count - 1);
    if (strcmp(words[0], "fork") == 0)
        want_forks(one);
    else if (strcmp(words[0], "vfork") == 0)
        set_numbers(one, vfork_call, 1);
    else
        set_numbers(one, exec_calls, 2);
    return 0;
}

static const struct {
    const char *word;
    const char *function; /* of the C++ runtime; NULL: an event */
} forms[] = {
    {"syscall", NULL},
    {"signal", NULL},
    {"fork", NULL},
    {"vfork", NULL},
    {"exec", NULL},
    {"throw", "__cxa_throw"},
    {"rethrow", "__cxa_rethrow"},
    {"catch", "__cxa_begin_catch"},
};
#define FORM_COUNT (sizeof(forms) / sizeof(*forms))

static size_t find_form(const char *word)
{
    size_t i = 0;
    while (i < FORM_COUNT && strcmp(forms[i].word, word) != 0)
        i++;
    return i;
}

/* An exception is thrown by a call of the runtime: where that begins, before any prologue. */
static int want_function(struct cli_breakpoint *one, const char *name)
{
    struct wetdbg_function *functions;
    size_t count;
    int err = wetdbg_functions_named(one->session->model, name, &functions, &count);
    if (err == -WETDBG_ERR_NOT_FOUND)
        err = wetdbg_fail(err, "the program has no C++ exceptions: nothing is called '%s'", name);
    if (err)
        return err;
    one->pcs = cli_realloc(NULL, count, sizeof(*one->pcs));
    for (size_t i = 0; i < count; i++)
        if (!(functions[i].flags & WETDBG_FUNCTION_PLT))
            one->pcs[one->is.pc_count++] = functions[i].start;
    one->is.kind = WETDBG_BREAK_CODE;
    one->is.pcs = one->pcs;
    free(functions);
    return 0;
}

static int fill(struct cli_breakpoint *one, char *const *words, size_t count)
{
    size_t form = count ? find_form(words[0]) : FORM_COUNT;
    if (form == FORM_COUNT)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "catch: '%s' cannot be caught; usage: catch %s",
                           count ? words[0] : "",
                           "syscall, signal, fork, vfork, exec, throw, "
                           "rethrow or catch");
    return forms[form].function ? want_function(one, forms[form].function)
                                : want_events(one, words, count);
}

int cli_cmd_catch(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    const struct wetdbg_thread *thread;
    struct cli_words words;
    char *what, *condition;
    (void)format;
    int err = cli_break_clauses(session, args->operands[0], &what, &thread, &condition);
    if (err)
        return err;
    struct cli_breakpoint *one = cli_breakpoint_add(session, WETDBG_BREAK_CATCH);
    one->what = what;
    one->is.thread = thread;
    err = cli_words_split(&words, what);
    if (!err) {
        err = fill(one, words.list, words.count);
        cli_words_fini(&words);
    }
    cli_breakpoint_set_condition(one, condition);
    free(condition);
    if (err) {
        cli_breakpoint_remove(session, one);
        session->breakpoints->last_number--;
    } else {
        cli_breakpoint_print_new(one);
    }
    return err;
}
