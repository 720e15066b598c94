/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     SCRATCH/input/NAME   the candidate, or a directory of files
 *     SCRATCH/temporary/   what TMPDIR names
 *     SCRATCH/work/        where the program works, if it is not to work where we do
 *     SCRATCH/here/        where we work as a live run left it
 *     SCRATCH/output, SCRATCH/errors
 *     SCRATCH/said         what the oracle's command says on standard error
 *     SCRATCH/told         ... on standard output, which nobody reads; it may not be endless
 */
#include "delta/warden.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "delta/delta_scratch.h"
#include "delta/offspring.h"
#include "delta/output_look.h"
#include "delta/run_once.h"
#include <wetdbg/errors.h>

#define WARDEN_NICER 10

/* Names of files below the scratch directory. */
struct names {
    char input[DLT_SCRATCH_PATH_BYTES];
    char temporary[DLT_SCRATCH_PATH_BYTES], work[DLT_SCRATCH_PATH_BYTES];
    char here[DLT_SCRATCH_PATH_BYTES];
    char output[DLT_SCRATCH_PATH_BYTES], errors[DLT_SCRATCH_PATH_BYTES],
        said[DLT_SCRATCH_PATH_BYTES], told[DLT_SCRATCH_PATH_BYTES];
};

struct warden {
    const struct dlt_plan *plan;
    const struct wetdbg_dd_bytes *candidate;
    const char *scratch;
    struct names *names;
    int signals;
    int priority; /* nice value that we were given */
    struct dlt_report report;
};

/* There is room: dlt_scratch_make() leaves it. */
static void name_make(char *name, const char *scratch, const char *last)
{
    if (snprintf(name, DLT_SCRATCH_PATH_BYTES, "%s/%s", scratch, last) >= DLT_SCRATCH_PATH_BYTES)
        name[0] = 0;
}

/* ---- the input ---- */

static int file_write(const char *name, const void *bytes, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t done = 0;
    ssize_t wrote = 0;
    while (fd >= 0 && done < size &&
           (wrote = write(fd, (const char *)bytes + done, size - done)) > 0)
        done += (size_t)wrote;
    int err = fd < 0 || done < size ? wetdbg_fail_errno("%s", name) : 0;
    if (fd >= 0)
        close(fd);
    return err;
}

/* Makes the directories that a name below `root` has. */
static void directories_make(const char *root, char *name)
{
    for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(name, 0700);
        *slash = '/';
    }
}

static int file_copy(const char *from, const char *to)
{
    char buffer[65536];
    struct stat st;
    ssize_t got = -1;
    int in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (in < 0 || fstat(in, &st)) {
        int err = wetdbg_fail_errno("%s", from);
        if (in >= 0)
            close(in);
        return err;
    }
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (st.st_mode & 0777) | 0600);
    while (out >= 0 && (got = read(in, buffer, sizeof(buffer))) > 0)
        if (write(out, buffer, (size_t)got) != got)
            break;
    int err = out < 0 || got != 0 ? wetdbg_fail_errno("%s", to) : 0;
    close(in);
    if (out >= 0)
        close(out);
    return err;
}

/* Copies the files that the candidate names; what follows "//" in a name is their name here. */
static int files_copy(struct warden *warden)
{
    const char *name = (const char *)warden->candidate->data;
    const char *end = name + warden->candidate->size;
    int err = mkdir(warden->names->input, 0700) ? wetdbg_fail_errno("%s", warden->names->input) : 0;
    for (; !err && name < end; name += strlen(name) + 1) {
        char to[2 * DLT_SCRATCH_PATH_BYTES];
        const char *below = strstr(name, "//");
        snprintf(to, sizeof(to), "%s/%s", warden->names->input, below ? below + 2 : name);
        directories_make(warden->names->input, to);
        err = file_copy(name, to);
    }
    return err;
}

/* What a run that is over put out. */
static int ended_put(struct warden *warden)
{
    const struct dlt_ended_run *ended = warden->plan->ended;
    struct names *names = warden->names;
    int err = file_write(names->output, ended->output.data, ended->output.size);
    if (!err && ended->is_of_search)
        err = file_write(names->errors, ended->errors.data, ended->errors.size);
    warden->report.program = ended->how;
    return err;
}

/* What it left. Of files, two of which have one name there, the first one stays. */
static int left_put(const struct dlt_left_file *left, const char *root)
{
    char name[2 * DLT_SCRATCH_PATH_BYTES];
    snprintf(name, sizeof(name), "%s/%s", root, left->name);
    directories_make(root, name);
    if (left->is_directory)
        return mkdir(name, 0700) && errno != EEXIST ? wetdbg_fail_errno("%s", name) : 0;
    if (left->is_gone)
        return remove(name) && errno != ENOENT ? wetdbg_fail_errno("%s", name) : 0;
    int err = file_write(name, left->bytes.data, left->bytes.size);
    return err == -EEXIST ? 0 : err;
}

static int ended_leave(struct warden *warden)
{
    const struct dlt_ended_run *ended = warden->plan->ended;
    const char *root = ended->is_of_search ? warden->names->here : warden->names->work;
    char name[2 * DLT_SCRATCH_PATH_BYTES];
    int err = 0;
    for (size_t i = 0; i < ended->file_count && !err; i++) {
        const struct dlt_left_file *left = &ended->files[i];
        snprintf(name, sizeof(name), "%s/%s", warden->scratch, left->name);
        if (left->is_of_scratch && !left->is_directory)
            unlink(name); /* the input, changed */
        err = left_put(left, left->is_of_scratch ? warden->scratch : root);
    }
    return err;
}

/* ---- the directory where we work, as it would be ---- */

#define VIEW_ENTRIES_MAX 4096

/* Whether the run left something of that name (2), or below it (1). */
static int is_left(const struct dlt_ended_run *ended, const char *name)
{
    size_t bytes = strlen(name);
    int found = 0;
    for (size_t i = 0; i < ended->file_count && found < 2; i++) {
        const struct dlt_left_file *left = &ended->files[i];
        if (left->is_of_scratch || strncmp(left->name, name, bytes) != 0)
            continue;
        if (!left->name[bytes])
            found = left->is_directory ? 1 : 2;
        else if (left->name[bytes] == '/')
            found = 1;
    }
    return found;
}

/* Links in `to` to all that `from` has and the run did not touch. `below` is its name from where we
 * work on, with a slash, or "". */
static int view_make(const struct dlt_ended_run *ended, const char *from, const char *to,
                     const char *below, unsigned *entries)
{
    DIR *dir = opendir(from);
    struct dirent *entry;
    int err = mkdir(to, 0700) ? wetdbg_fail_errno("%s", to) : 0;
    while (dir && !err && (entry = readdir(dir))) {
        char source[PATH_MAX], target[PATH_MAX], name[PATH_MAX];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        bool fits = snprintf(source, PATH_MAX, "%s/%s", from, entry->d_name) < PATH_MAX - 1 &&
                    snprintf(target, PATH_MAX, "%s/%s", to, entry->d_name) < PATH_MAX - 1 &&
                    snprintf(name, PATH_MAX, "%s%s", below, entry->d_name) < PATH_MAX - 1;
        int left = fits ? is_left(ended, name) : 2;
        if (!fits || ++*entries > VIEW_ENTRIES_MAX)
            err = wetdbg_fail(-E2BIG, "%s: too many files for a live run's oracle", from);
        else if (left == 1)
            err = view_make(ended, source, target, strcat(name, "/"), entries);
        else if (!left && symlink(source, target))
            err = wetdbg_fail_errno("%s", target);
    }
    if (dir)
        closedir(dir);
    return err;
}

/* Whether the command needs such a directory. */
static bool has_view(const struct dlt_ended_run *ended)
{
    bool is_here = false;
    for (size_t i = 0; ended && ended->is_of_search && i < ended->file_count; i++)
        is_here = is_here || !ended->files[i].is_of_scratch;
    return is_here;
}

static int view_put(struct warden *warden)
{
    unsigned entries = 0;
    char *cwd = getcwd(NULL, 0);
    int err = cwd ? view_make(warden->plan->ended, cwd, warden->names->here, "", &entries)
                  : wetdbg_fail_errno("getcwd");
    free(cwd);
    return err;
}

static int scratch_fill(struct warden *warden)
{
    struct names *names = warden->names;
    char folder[DLT_SCRATCH_PATH_BYTES];
    name_make(folder, warden->scratch, "input");
    name_make(names->temporary, warden->scratch, "temporary");
    name_make(names->work, warden->scratch, "work");
    name_make(names->here, warden->scratch, "here");
    name_make(names->output, warden->scratch, "output");
    name_make(names->errors, warden->scratch, "errors");
    name_make(names->said, warden->scratch, "said");
    name_make(names->told, warden->scratch, "told");
    if (mkdir(folder, 0700) || mkdir(names->temporary, 0700) || mkdir(names->work, 0700))
        return wetdbg_fail_errno("%s", warden->scratch);
    name_make(names->input, folder, warden->plan->file_name);
    const struct dlt_ended_run *ended = warden->plan->ended;
    int err = ended ? ended_put(warden) : 0;
    if (!err && (!ended || ended->is_of_search))
        err = warden->plan->way == DLT_WAY_FILES
                  ? files_copy(warden)
                  : file_write(names->input, warden->candidate->data, warden->candidate->size);
    if (!err && has_view(ended))
        err = view_put(warden);
    return err || !ended ? err : ended_leave(warden);
}

/* ---- words and variables ---- */

/* `word` with the candidate's name where it is meant. To be freed; NULL if memory is short. */
static char *word_make(const struct warden *warden, const char *word)
{
    const char *placeholder = warden->plan->placeholder, *found;
    const char *name = warden->names->input;
    char *made;
    if (!placeholder || (warden->plan->is_whole_word && strcmp(word, placeholder) != 0))
        return strdup(word);
    if (!(found = strstr(word, placeholder)))
        return strdup(word);
    char *rest = word_make(warden, found + strlen(placeholder));
    if (!rest || asprintf(&made, "%.*s%s%s", (int)(found - word), word, name, rest) < 0)
        made = NULL;
    free(rest);
    return made;
}

static size_t items_count(const struct wetdbg_dd_bytes *items)
{
    size_t count = 0;
    for (size_t i = 0; i < items->size; i++)
        count += !items->data[i];
    return count;
}

/* The items of a candidate behind `count` words, then NULL. */
static void items_put(const struct wetdbg_dd_bytes *items, char **words, size_t count)
{
    char *at = (char *)items->data, *end = at + items->size;
    for (; at < end; at += strlen(at) + 1)
        words[count++] = at;
    words[count] = NULL;
}

/* What the warden allocates lives as long as it does. */
static char **words_make(const struct warden *warden)
{
    char *const *given = warden->plan->words;
    bool is_items = warden->plan->way == DLT_WAY_ARGV;
    size_t count = 0, more = is_items ? items_count(warden->candidate) : 0;
    while (given[count])
        count++;
    char **words = calloc(count + more + 1, sizeof(*words));
    for (size_t i = 0; words && i < count && !(is_items && i); i++)
        if (!(words[i] = word_make(warden, given[i])))
            return NULL;
    if (words && is_items)
        items_put(warden->candidate, words, 1);
    return words;
}

static bool is_variable(const char *assignment, const char *name)
{
    size_t length = strlen(name);
    return strncmp(assignment, name, length) == 0 && assignment[length] == '=';
}

/* An environment with further variables in the place of those of their names. */
static char **environment_with(char *const *given, char *const *more, const char *const *names,
                               size_t more_count)
{
    size_t count = 0, kept = 0;
    while (given[count])
        count++;
    char **made = calloc(count + more_count + 1, sizeof(*made));
    for (size_t i = 0; made && i < count; i++) {
        bool is_replaced = false;
        for (size_t m = 0; m < more_count; m++)
            is_replaced = is_replaced || is_variable(given[i], names[m]);
        if (!is_replaced)
            made[kept++] = given[i];
    }
    for (size_t m = 0; made && m < more_count; m++)
        made[kept++] = more[m];
    return made;
}

static char **environment_make(const struct warden *warden)
{
    static const char *const names[] = {"TMPDIR"};
    char *temporary;
    if (warden->plan->way == DLT_WAY_ENV) {
        char **made = calloc(items_count(warden->candidate) + 1, sizeof(*made));
        if (made)
            items_put(warden->candidate, made, 0);
        return made;
    }
    if (asprintf(&temporary, "TMPDIR=%s", warden->names->temporary) < 0)
        return NULL;
    return environment_with(environ, &temporary, names, 1);
}

/* ---- the program ---- */

static int program_run(struct warden *warden)
{
    const struct dlt_plan *plan = warden->plan;
    struct names *names = warden->names;
    struct dlt_report *report = &warden->report;
    bool is_crash = plan->options->oracle == WETDBG_DD_CRASH;
    bool works_in_input = plan->way == DLT_WAY_FILES && !plan->placeholder;
    struct dlt_command command = {
        .program = plan->program,
        .argv = words_make(warden),
        .environment = environment_make(warden),
        .directory = works_in_input              ? names->input
                     : plan->options->is_scratch ? names->work
                                                 : NULL,
        .input = plan->way == DLT_WAY_STDIN ? names->input : "/dev/null",
        .output = names->output,
        .errors = names->errors,
        .scratch = warden->scratch,
        .timeout_s = plan->timeout_s,
        .memory_bytes = plan->memory_bytes,
        .disk_bytes = plan->disk_bytes,
        .tasks_max = plan->tasks_max,
        .priority = warden->priority,
        .is_traced = is_crash && !plan->stand_in,
        .stand_in = plan->stand_in,
        .signals = warden->signals,
    };
    if (!command.argv || !command.environment)
        return -ENOMEM;
    return dlt_run_once(&command, &report->program, &report->place, &report->crash_signal);
}

/* ---- its output ---- */

/* Size and hash of the output, and where it is not what was expected. */
static int output_look(struct warden *warden)
{
    struct dlt_report *report = &warden->report;
    uint8_t buffer[65536];
    ssize_t got;
    struct dlt_output_look look;
    int fd = open(warden->names->output, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wetdbg_fail_errno("%s", warden->names->output);
    int err = dlt_output_begin(&look, &warden->plan->expected, report);
    while (!err && (got = read(fd, buffer, sizeof(buffer))) > 0)
        dlt_output_piece(&look, buffer, (size_t)got);
    if (!err)
        dlt_output_end(&look);
    close(fd);
    return err;
}

/* ---- the oracle's command ---- */

static void status_format(const struct dlt_how *how, char *text, size_t size)
{
    snprintf(text, size, "%d", how->ending == DLT_SIGNALED ? 128 + how->number : how->number);
}

static char **oracle_environment(const struct warden *warden)
{
    static const char *const names[] = {"WETDBG_INPUT", "WETDBG_OUTPUT", "WETDBG_ERRORS",
                                        "WETDBG_STATUS", "TMPDIR"};
    char status[16] = "", *more[5];
    const struct dlt_ended_run *ended = warden->plan->ended;
    bool has_program = warden->plan->program || ended, is_alone = ended && !ended->is_of_search;
    const char *values[] = {
        is_alone ? "" : warden->names->input, has_program ? warden->names->output : "",
        has_program && !is_alone ? warden->names->errors : "", status, warden->names->temporary};
    if (has_program)
        status_format(&warden->report.program, status, sizeof(status));
    for (size_t i = 0; i < 5; i++)
        if (asprintf(&more[i], "%s=%s", names[i], values[i]) < 0)
            return NULL;
    return environment_with(environ, more, names, 5);
}

/* The first line of what the command said, for a sentence about it. */
static void said_read(struct warden *warden)
{
    char *text = warden->report.sentence;
    int fd = open(warden->names->said, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(warden->report.sentence) - 1);
    text[got > 0 ? got : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    if (fd >= 0)
        close(fd);
}

static int oracle_ask(struct warden *warden)
{
    const struct dlt_plan *plan = warden->plan;
    char *const for_shell[] = {
        "sh", "-c", (char *)plan->options->command, "oracle", warden->names->input, NULL};
    char *const alone[] = {(char *)plan->options->command, warden->names->input, NULL};
    struct dlt_crash_place place;
    int crash_signal = 0;
    bool is_input_file = plan->way != DLT_WAY_FILES;
    struct dlt_command command = {
        .program = plan->is_command_file ? plan->options->command : "/bin/sh",
        .argv = plan->is_command_file ? alone : for_shell,
        .environment = oracle_environment(warden),
        .directory = has_view(plan->ended)                       ? warden->names->here
                     : plan->ended && !plan->ended->is_of_search ? warden->names->work
                                                                 : NULL,
        .input = plan->program || plan->ended ? warden->names->output
                 : is_input_file              ? warden->names->input
                                              : "/dev/null",
        .output = warden->names->told,
        .errors = warden->names->said,
        .scratch = warden->scratch,
        .timeout_s = plan->timeout_s,
        .memory_bytes = plan->memory_bytes,
        .disk_bytes = plan->disk_bytes,
        .tasks_max = plan->tasks_max,
        .priority = warden->priority,
        .signals = warden->signals,
    };
    if (!command.environment)
        return -ENOMEM;
    int err = dlt_run_once(&command, &warden->report.command, &place, &crash_signal);
    if (!err)
        said_read(warden);
    return err;
}

/* ---- life ---- */

static int work(struct warden *warden)
{
    const struct dlt_plan *plan = warden->plan;
    double begin = wd_seconds();
    int err = dlt_scratch_make(warden->scratch);
    if (!err)
        err = scratch_fill(warden);
    if (!err && plan->program)
        err = program_run(warden);
    if (!err && plan->program)
        err = output_look(warden);
    if (!err && plan->options->oracle == WETDBG_DD_COMMAND &&
        warden->report.program.ending <= DLT_SIGNALED)
        err = oracle_ask(warden);
    warden->report.seconds = wd_seconds() - begin;
    return err;
}

/* Signals wait for us in a descriptor, and whoever outlives its parent becomes our child. */
static int settle(struct warden *warden, pid_t parent)
{
    sigset_t waited;
    sigemptyset(&waited);
    sigaddset(&waited, SIGCHLD);
    sigaddset(&waited, SIGTERM);
    sigprocmask(SIG_SETMASK, &waited, NULL);
    signal(SIGINT, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setsid();
    /* where it is allowed: to get a turn also amid very many processes */
    warden->priority = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PROCESS, 0, warden->priority - WARDEN_NICER);
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) || prctl(PR_SET_PDEATHSIG, SIGTERM))
        return wetdbg_fail_errno("prctl");
    if (getppid() != parent)
        return -ECANCELED;
    warden->signals = signalfd(-1, &waited, SFD_NONBLOCK | SFD_CLOEXEC);
    return warden->signals < 0 ? wetdbg_fail_errno("signalfd") : 0;
}

_Noreturn void dlt_warden(const struct dlt_plan *plan, const struct wetdbg_dd_bytes *candidate,
                          const char *scratch, int fd, pid_t parent)
{
    struct warden warden = {.plan = plan, .candidate = candidate, .scratch = scratch};
    struct names *names = calloc(1, sizeof(*names));
    warden.names = names;
    int err = names ? settle(&warden, parent) : -ENOMEM;
    if (!err)
        err = work(&warden);
    if (err) {
        warden.report.program.ending = DLT_BROKEN;
        warden.report.error = err;
        snprintf(warden.report.sentence, sizeof(warden.report.sentence), "%s", wetdbg_error(err));
    }
    dlt_offspring_end();
    dlt_scratch_remove(scratch);
    if (err != -ECANCELED && write(fd, &warden.report, sizeof(warden.report)) < 0)
        _exit(1);
    _exit(0);
}
