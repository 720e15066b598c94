/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `thread apply` and `frame apply`: a command in several threads or frames, one after the other. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/apply.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

static const char blanks[] = " \t";

/* Where the session stood before, to be gone back to. */
struct stand {
    wetdbg_time time;
    const struct wetdbg_thread *thread;
    size_t frame;
};

static struct stand stand_of(const struct cli_session *session)
{
    return (struct stand){session->time, session->moment->thread, session->frame};
}

/* The command may have gone to another time: there the session stays. */
static void stand_again(struct cli_session *session, const struct stand *stand)
{
    if (session->time != stand->time || !session->moment)
        return;
    if (session->moment->thread != stand->thread &&
        cli_moment_select(session->moment, stand->thread) != 0)
        return;
    session->frame = stand->frame;
    session->list_file = NULL;
}

/* Takes "-s" and the like, gdb's flags for what fails: *is_quiet says nothing of it. */
static const char *take_flags(const char *text, bool *is_quiet, bool *is_bare)
{
    *is_quiet = *is_bare = false;
    while (text[0] == '-' && text[1] && strchr("sqc", text[1]) &&
           (!text[2] || strchr(blanks, text[2]))) {
        *is_quiet |= text[1] == 's';
        *is_bare |= text[1] == 'q';
        text += 2;
        text += strspn(text, blanks);
    }
    return text;
}

/* Runs the command; a failure ends what follows unless it is to be quiet. */
static int run(struct cli_repl *repl, const char *command, bool is_quiet)
{
    int err = cli_repl_run_inside(repl, command);
    if (cli_interrupt_is_pending())
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    return is_quiet && err != -WETDBG_ERR_INTERRUPTED ? 0 : err;
}

/* ---- threads ---- */

/* Reads "1", "2-4" or "all" off the list: the numbers that it has. False: it is none of them. */
static bool take_numbers(const char **text, size_t count, uint64_t *first, uint64_t *last)
{
    char *end;
    *first = 1;
    *last = count;
    if (strncmp(*text, "all", 3) == 0 && (!(*text)[3] || strchr(blanks, (*text)[3]))) {
        *text += 3 + strspn(*text + 3, blanks);
        return true;
    }
    if (!isdigit((unsigned char)**text))
        return false;
    *first = *last = strtoull(*text, &end, 10);
    if (*end == '-' && isdigit((unsigned char)end[1]))
        *last = strtoull(end + 1, &end, 10);
    if (*end && !strchr(blanks, *end))
        return false;
    *text = end + strspn(end, blanks);
    return true;
}

static void print_thread(struct cli_session *session)
{
    struct cli_out *out = session->out;
    if (out->json) {
        cli_out_json(out, cli_session_position(session));
        return;
    }
    fprintf(out->stream, "\n%s", cli_out_style(out, CLI_STYLE_BOLD));
    cli_thread_print(out, session->moment->thread);
    fprintf(out->stream, ":%s\n", cli_out_style(out, CLI_STYLE_NONE));
}

/* Runs the command in one thread; one that is not there at this time is passed over. */
static int run_in_thread(struct cli_repl *repl, const struct wetdbg_thread *thread,
                         const char *command, bool is_quiet, bool is_bare)
{
    struct cli_session *session = repl->session;
    if (cli_moment_select(session->moment, thread) != 0)
        return 0;
    session->frame = cli_moment_first_frame(session->moment);
    session->skipped = 0;
    if (!is_bare)
        print_thread(session);
    return run(repl, command, is_quiet);
}

int cli_thread_apply(struct cli_repl *repl, const char *text)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    uint64_t first, last;
    size_t count;
    bool is_quiet, is_bare;
    const struct wetdbg_thread *threads = wetdbg_threads(session->wet, &count);
    const char *numbers = text, *command = text;
    while (take_numbers(&command, count, &first, &last))
        if (!first || last > count || first > last)
            return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                               "thread apply: there is no thread %" PRIu64 ": the run has %zu",
                               first ? last : first, count);
    if (command == numbers)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "thread apply: in which threads? 'all', or numbers");
    command = take_flags(command, &is_quiet, &is_bare);
    if (!*command)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "thread apply: which command?");
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct stand stand = stand_of(session);
    while (!err && take_numbers(&numbers, count, &first, &last))
        for (uint64_t i = first; i <= last && !err && session->time == stand.time; i++)
            err = run_in_thread(repl, &threads[i - 1], command, is_quiet, is_bare);
    stand_again(session, &stand);
    return err;
}

/* ---- frames ---- */

int cli_frame_apply(struct cli_repl *repl, const char *text)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    bool is_quiet, is_bare, is_outer = *text == '-';
    size_t word = strcspn(text, blanks);
    char *number = cli_strndup(text + is_outer, word - is_outer);
    uint64_t limit = 0;
    bool is_all = strcmp(number, "all") == 0 && !is_outer;
    bool is_number = cli_number_parse(number, &limit) && limit;
    free(number);
    const char *command =
        take_flags(text + word + strspn(text + word, blanks), &is_quiet, &is_bare);
    if (!is_all && !is_number)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "frame apply: in how many frames? 'all', N or -N");
    if (!*command)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "frame apply: which command?");
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct stand stand = stand_of(session);
    size_t count = is_all || limit > moment->frame_count ? moment->frame_count : limit;
    size_t first = is_outer ? moment->frame_count - count : 0;
    for (size_t i = first; i < first + count && !err && session->time == stand.time; i++) {
        session->frame = i;
        session->list_file = NULL;
        if (!is_bare)
            cli_frame_show(session, i);
        err = run(repl, command, is_quiet);
    }
    stand_again(session, &stand);
    return err;
}

/* ---- short for both ---- */

const struct cli_syntax cli_cmd_taas_syntax = {
    .example = "taas print errno",
    .usage = "COMMAND",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "Is 'thread apply all -s COMMAND'.",
};

const struct cli_syntax cli_cmd_faas_syntax = {
    .example = "faas print i",
    .usage = "COMMAND",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "Is 'frame apply all -s COMMAND'.",
};

int cli_cmd_taas(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    char *text = cli_asprintf("all -s %s", args->operands[0]);
    int err = cli_thread_apply(repl, text);
    free(text);
    return err;
}

int cli_cmd_faas(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    char *text = cli_asprintf("all -s %s", args->operands[0]);
    int err = cli_frame_apply(repl, text);
    free(text);
    return err;
}
