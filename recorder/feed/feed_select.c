/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which program of a recording; the rules are in the header. */
#include "recorder/feed/feed_select.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <wetdbg/errors.h>

/* How many candidates a sentence lists at most. */
#define LISTED_MAX 12

static const char *basename_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---------------------------------------------------------------- what a user writes */

static bool parse_nth(const char *text, unsigned *nth)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *nth = (unsigned)number;
    return text[0] >= '0' && text[0] <= '9' && !*end && number > 0 && number <= UINT32_MAX;
}

int rep_selection_parse(const char *text, struct rep_selection *out)
{
    struct rep_selection found = {0};
    const char *hash = text ? strrchr(text, '#') : NULL;
    size_t length = hash ? (size_t)(hash - text) : text ? strlen(text) : 0;
    char *end;
    if (text && text[0] &&
        (!length || length >= sizeof(found.name) || (hash && !parse_nth(hash + 1, &found.nth))))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "\"%s\" is no process: write PID, NAME or NAME#N",
                           text);
    if (length)
        memcpy(found.name, text, length);
    long pid = strtol(found.name, &end, 10);
    if (length && !*end && pid > 0 && pid <= INT32_MAX) {
        found.pid = (int)pid;
        memset(found.name, 0, sizeof(found.name));
    }
    *out = found;
    return 0;
}

/* ---------------------------------------------------------------- programs, one by one */

const struct wetdbg_exec *wetdbg_program_exec(const struct wetdbg_process *list,
                                              struct wetdbg_program program)
{
    const struct wetdbg_process *process = &list[program.process];
    return program.exec == WETDBG_FORKED ? process->inherited : &process->execs[program.exec];
}

static struct wetdbg_program last_program(const struct wetdbg_process *list, size_t index)
{
    size_t execs = list[index].exec_count;
    return (struct wetdbg_program){index, execs ? execs - 1 : WETDBG_FORKED};
}

static bool is_last(const struct wetdbg_process *list, struct wetdbg_program program)
{
    return program.exec == last_program(list, program.process).exec;
}

/* Goes on to the next program of the list; false after the last. Starts at {WETDBG_NO_PROCESS}. */
static bool next_program(const struct wetdbg_process *list, size_t count,
                         struct wetdbg_program *program)
{
    bool is_first = program->process == WETDBG_NO_PROCESS;
    if (!is_first && !is_last(list, *program)) {
        program->exec++;
        return true;
    }
    program->process = is_first ? 0 : program->process + 1;
    if (program->process >= count)
        return false;
    program->exec = list[program->process].exec_count ? 0 : WETDBG_FORKED;
    return true;
}

#define EACH_PROGRAM(program, list, count)                                                         \
    for (struct wetdbg_program program = {WETDBG_NO_PROCESS, 0};                                   \
         next_program(list, count, &(program));)

static bool is_named(const struct wetdbg_process *list, struct wetdbg_program program,
                     const char *name)
{
    const struct wetdbg_exec *exec = wetdbg_program_exec(list, program);
    return exec && (!strcmp(basename_of(exec->file), name) ||
                    (exec->argc && !strcmp(basename_of(exec->argv[0]), name)));
}

static const char *name_of(const struct wetdbg_process *list, struct wetdbg_program program)
{
    const struct wetdbg_exec *exec = wetdbg_program_exec(list, program);
    return exec ? basename_of(exec->file) : "?";
}

static unsigned count_pid(const struct wetdbg_process *list, size_t count, int pid)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++)
        found += list[i].pid == pid;
    return found;
}

void wetdbg_program_handle(const struct wetdbg_process *list, size_t count,
                           struct wetdbg_program program, char *text, size_t size_bytes)
{
    const struct wetdbg_process *process = &list[program.process];
    unsigned nth = 0;
    if (is_last(list, program)) {
        if (count_pid(list, count, process->pid) == 1)
            snprintf(text, size_bytes, "%d", process->pid);
        else
            snprintf(text, size_bytes, "%d#%u", process->pid,
                     count_pid(list, program.process + 1, process->pid));
        return;
    }
    const char *name = name_of(list, program);
    EACH_PROGRAM(at, list, count)
    {
        nth += is_named(list, at, name);
        if (at.process == program.process && at.exec == program.exec)
            break;
    }
    snprintf(text, size_bytes, "%s#%u", name, nth);
}

/* ---------------------------------------------------------------- the default */

static bool has_failed(const struct wetdbg_process *process)
{
    return (process->end == WETDBG_PROCESS_EXITED || process->end == WETDBG_PROCESS_SIGNALED) &&
           process->wait_status;
}

static int signal_of(const struct wetdbg_process *process)
{
    if (process->end != WETDBG_PROCESS_SIGNALED)
        return 0;
    return process->fatal_signal ? process->fatal_signal : WTERMSIG(process->wait_status);
}

static bool is_crash(const struct wetdbg_process *process)
{
    switch (signal_of(process)) {
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
        return true;
    default:
        return false;
    }
}

static bool runs_one_of(const struct wetdbg_process *list, size_t index, const char *const *names)
{
    struct wetdbg_program program = last_program(list, index);
    for (size_t i = 0; names[i]; i++)
        if (is_named(list, program, names[i]))
            return true;
    return false;
}

/* Whether the process was a shell: any of its children may have given it its status, the last one
 * or not. */
static bool is_shell(const struct wetdbg_process *list, size_t index)
{
    static const char *const names[] = {"sh",  "dash", "bash", "zsh",  "ksh",     "mksh",
                                        "ash", "fish", "tcsh", "yash", "busybox", NULL};
    return runs_one_of(list, index, names);
}

/* Whether the program is one that ends with a status of its own when a child failed. */
static bool has_own_status(const struct wetdbg_process *list, size_t index)
{
    static const char *const names[] = {"make",  "gmake", "bmake", "ninja",     "samu",
                                        "xargs", "ctest", "prove", "run-parts", "parallel",
                                        "cargo", "meson", "rake",  "timeout",   NULL};
    return runs_one_of(list, index, names);
}

static uint64_t program_start(const struct wetdbg_process *process)
{
    return process->exec_count ? process->execs[process->exec_count - 1].time : process->start_time;
}

/* Whether `parent`'s last program started `child` and saw its end. */
static bool has_seen(const struct wetdbg_process *list, size_t parent, size_t child)
{
    return list[child].parent == parent && list[child].start_time >= program_start(&list[parent]) &&
           list[child].end_time < list[parent].end_time;
}

static bool has_started_more(const struct wetdbg_process *list, size_t count, size_t parent,
                             size_t child)
{
    for (size_t i = child + 1; i < count; i++)
        if (list[i].parent == parent && list[i].start_time > list[child].end_time)
            return true;
    return false;
}

static bool is_passed_on(const struct wetdbg_process *list, size_t count, size_t parent,
                         size_t child)
{
    if (!has_seen(list, parent, child) || !has_failed(&list[child]))
        return false;
    int signal = signal_of(&list[child]);
    if (list[parent].end == WETDBG_PROCESS_SIGNALED)
        return signal && signal == signal_of(&list[parent]);
    if (has_own_status(list, parent))
        return true;
    int status = signal ? 128 + signal : WEXITSTATUS(list[child].wait_status);
    return status == WEXITSTATUS(list[parent].wait_status) &&
           (is_shell(list, parent) || !has_started_more(list, count, parent, child));
}

/* Goes from a process that failed to the child whose failure it passed on, and so forth. Of several
 * children it is the last to start: in a pipeline that is the one whose status counts. */
static size_t find_origin(const struct wetdbg_process *list, size_t count, size_t failed)
{
    for (size_t child = count; --child > failed;)
        if (is_passed_on(list, count, failed, child)) {
            failed = child;
            child = count; /* children come after their parents, so this ends */
        }
    return failed;
}

static uint64_t crash_time(const struct wetdbg_process *process)
{
    return process->fatal_signal_time ? process->fatal_signal_time : process->end_time;
}

static size_t find_first_crash(const struct wetdbg_process *list, size_t count)
{
    size_t first = WETDBG_NO_PROCESS;
    for (size_t i = 0; i < count; i++)
        if (is_crash(&list[i]) &&
            (first == WETDBG_NO_PROCESS || crash_time(&list[i]) < crash_time(&list[first])))
            first = i;
    return first;
}

/* Finds a daemon that failed after whoever started it had ended. */
static size_t find_unseen_failure(const struct wetdbg_process *list, size_t count)
{
    size_t last = WETDBG_NO_PROCESS;
    for (size_t i = 1; i < count && list[0].end != WETDBG_PROCESS_ALIVE; i++)
        if (list[i].end == WETDBG_PROCESS_EXITED && list[i].wait_status &&
            list[i].end_time > list[0].end_time &&
            (last == WETDBG_NO_PROCESS || list[i].end_time > list[last].end_time))
            last = i;
    return last;
}

static size_t choose_default(const struct wetdbg_process *list, size_t count,
                             enum wetdbg_default_reason *reason)
{
    size_t origin = has_failed(&list[0]) ? find_origin(list, count, 0) : WETDBG_NO_PROCESS;
    size_t crash = find_first_crash(list, count);
    *reason = WETDBG_DEFAULT_CRASH;
    if (origin != WETDBG_NO_PROCESS && is_crash(&list[origin]))
        return origin;
    if (crash != WETDBG_NO_PROCESS)
        return crash;
    *reason = WETDBG_DEFAULT_FAILURE;
    if (origin != WETDBG_NO_PROCESS)
        return origin;
    size_t unseen = find_unseen_failure(list, count);
    *reason = unseen != WETDBG_NO_PROCESS ? WETDBG_DEFAULT_UNSEEN : WETDBG_DEFAULT_FIRST;
    return unseen != WETDBG_NO_PROCESS ? unseen : 0;
}

size_t wetdbg_default_process(const struct wetdbg_process *list, size_t count,
                              enum wetdbg_default_reason *reason)
{
    enum wetdbg_default_reason why;
    size_t chosen = choose_default(list, count, &why);
    if (reason)
        *reason = why;
    return chosen;
}

/* ---------------------------------------------------------------- errors that list what there
 * is */

struct sentence {
    char text[1024];
    size_t used;
    unsigned listed, left_out;
};

static void say(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(struct sentence *sentence, const char *format, ...)
{
    size_t room = sizeof(sentence->text) - sentence->used;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(sentence->text + sentence->used, room, format, args);
    va_end(args);
    if (length > 0)
        sentence->used += (size_t)length < room ? (size_t)length : room - 1;
}

static void say_candidate(struct sentence *sentence, const struct wetdbg_process *list,
                          size_t count, struct wetdbg_program program, const char *handle)
{
    char own[300];
    if (sentence->listed == LISTED_MAX) {
        sentence->left_out++;
        return;
    }
    if (!handle)
        wetdbg_program_handle(list, count, program, own, sizeof(own));
    say(sentence, "%s%.60s (%.60s%s)", sentence->listed++ ? ", " : "", handle ? handle : own,
        name_of(list, program), program.exec == WETDBG_FORKED ? ", forked" : "");
}

static int fail_with(const struct sentence *sentence, int code)
{
    char more[64] = "";
    if (sentence->left_out)
        snprintf(more, sizeof(more), " and %u more: see 'wetdbg ps'", sentence->left_out);
    return wetdbg_fail(code, "%s%s", sentence->text, more);
}

static int fail_not_found(const struct wetdbg_process *list, size_t count,
                          const struct rep_selection *which)
{
    struct sentence sentence = {0};
    if (!count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no program ran in the recording");
    if (which->pid)
        say(&sentence, "the recording has no process %d", which->pid);
    else
        say(&sentence, "the recording has no process \"%s\"", which->name);
    if (which->nth)
        say(&sentence, " number %u", which->nth);
    say(&sentence, "; it has ");
    for (size_t i = 0; i < count; i++)
        say_candidate(&sentence, list, count, last_program(list, i), NULL);
    return fail_with(&sentence, -WETDBG_ERR_NOT_FOUND);
}

static int fail_several_pids(const struct wetdbg_process *list, size_t count, int pid)
{
    struct sentence sentence = {0};
    say(&sentence, "%u processes had the number %d one after the other, say which: ",
        count_pid(list, count, pid), pid);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            say_candidate(&sentence, list, count, last_program(list, i), NULL);
    return fail_with(&sentence, -WETDBG_ERR_USAGE);
}

static int fail_several_names(const struct wetdbg_process *list, size_t count, const char *name,
                              unsigned total)
{
    struct sentence sentence = {0};
    unsigned nth = 0;
    say(&sentence, "%u processes are \"%s\", say which: ", total, name);
    EACH_PROGRAM(program, list, count)
    {
        char handle[320];
        if (!is_named(list, program, name))
            continue;
        snprintf(handle, sizeof(handle), "%.60s#%u", name, ++nth);
        if (sentence.listed == LISTED_MAX) {
            sentence.left_out++;
            continue;
        }
        say(&sentence, "%s%s (%d%s%s)", sentence.listed++ ? ", " : "", handle,
            list[program.process].pid, program.exec == WETDBG_FORKED ? ", forked" : "",
            is_last(list, program) ? "" : ", replaced by exec");
    }
    return fail_with(&sentence, -WETDBG_ERR_USAGE);
}

/* ---------------------------------------------------------------- the choice */

static int find_by_pid(const struct wetdbg_process *list, size_t count,
                       const struct rep_selection *which, struct wetdbg_program *out)
{
    unsigned wanted = which->nth ? which->nth : 1;
    if (!which->nth && count_pid(list, count, which->pid) > 1)
        return fail_several_pids(list, count, which->pid);
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == which->pid && !--wanted) {
            *out = last_program(list, i);
            return 0;
        }
    return fail_not_found(list, count, which);
}

static int find_by_name(const struct wetdbg_process *list, size_t count,
                        const struct rep_selection *which, struct wetdbg_program *out)
{
    struct wetdbg_program any = {0}, whole = {0};
    unsigned total = 0, wholes = 0;
    EACH_PROGRAM(program, list, count)
    {
        if (!is_named(list, program, which->name))
            continue;
        if (++total <= 1 || total == which->nth)
            any = program;
        if (program.exec != WETDBG_FORKED && is_last(list, program) && !wholes++)
            whole = program;
    }
    if (!total || total < which->nth)
        return fail_not_found(list, count, which);
    if (!which->nth && total > 1 && wholes != 1)
        return fail_several_names(list, count, which->name, total);
    *out = which->nth || total == 1 ? any : whole;
    return 0;
}

int rep_selection_find(const struct wetdbg_process *list, size_t count,
                       const struct rep_selection *which, struct wetdbg_program *out)
{
    if (!count)
        return fail_not_found(list, count, which);
    if (which->pid)
        return find_by_pid(list, count, which, out);
    if (which->name[0])
        return find_by_name(list, count, which, out);
    *out = last_program(list, wetdbg_default_process(list, count, NULL));
    return 0;
}
