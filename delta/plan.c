/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/plan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/regular.h"
#include "delta/delta_input.h"
#include <wetdbg/errors.h>

#define DISK_BYTES   (UINT64_C(1) << 30)
#define MEMORY_LEAST (UINT64_C(64) << 20)
/* Tasks that the user may have beyond those that he has now: a last limit for what multiplies
 * faster than wardens look. Root has none. */
#define TASKS_MORE 4000

#define FIRST_TIMEOUT_S 60.0 /* of runs before the first one that ended */

static bool is_null_device(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int dlt_file_read(const char *path, struct wetdbg_dd_bytes *bytes)
{
    struct stat st;
    int fd;
    if (is_null_device(path)) {
        *bytes = (struct wetdbg_dd_bytes){.data = malloc(1)};
        return bytes->data ? 0 : -ENOMEM;
    }
    int err = wd_regular_open(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &st);
    if (err == -WETDBG_ERR_CORRUPT) /* a file of another kind; it is no recording */
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s", wetdbg_error(err));
    if (err)
        return err;
    if (st.st_size > DLT_INPUT_BYTES_MAX)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "%s: larger than %u MiB", path,
                          DLT_INPUT_BYTES_MAX >> 20);
    bytes->data = err ? NULL : malloc((size_t)st.st_size + 1);
    if (!err && !bytes->data)
        err = -ENOMEM;
    bytes->size = 0;
    while (!err && bytes->size < (size_t)st.st_size) {
        ssize_t got = read(fd, bytes->data + bytes->size, (size_t)st.st_size - bytes->size);
        if (got == 0)
            break;
        if (got > 0)
            bytes->size += (size_t)got;
        else if (errno != EINTR)
            err = wetdbg_fail_errno("%s", path);
    }
    close(fd);
    if (err) {
        free(bytes->data);
        *bytes = (struct wetdbg_dd_bytes){0};
    }
    return err;
}

/* ---- what goes together ---- */

static int options_check(const struct wetdbg_dd_options *options)
{
    bool is_of_command_line = options->unit == WETDBG_DD_ARGV || options->unit == WETDBG_DD_ENV;
    if (!options->argv[0] && (options->oracle != WETDBG_DD_COMMAND || is_of_command_line))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no program is given that could fail");
    if (is_of_command_line && (options->fail || options->pass))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no input: what fails are the program's %s",
                           options->fail ? options->fail : options->pass,
                           options->unit == WETDBG_DD_ARGV ? "arguments" : "variables");
    if (!is_of_command_line && !options->fail)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no failing input is given");
    if (options->oracle == WETDBG_DD_EXPECT && !options->expect)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no expected output is given");
    if (options->oracle == WETDBG_DD_COMMAND && !options->command)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no oracle is given");
    return 0;
}

/* ---- the program ---- */

static bool is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static char *absolute(const char *path)
{
    char *here, *made;
    if (path[0] == '/')
        return strdup(path);
    here = getcwd(NULL, 0);
    if (!here || asprintf(&made, "%s/%s", here, path) < 0)
        made = NULL;
    free(here);
    return made;
}

/* Looks for a program without a slash along PATH. NULL if it is not there. */
static char *program_search(const char *name)
{
    const char *path = getenv("PATH");
    for (path = path ? path : "/usr/bin:/bin"; *path; path += strcspn(path, ":")) {
        char *candidate;
        path += *path == ':';
        int length = (int)strcspn(path, ":");
        if (asprintf(&candidate, "%.*s/%s", length ? length : 1, length ? path : ".", name) < 0)
            return NULL;
        char *found = is_executable(candidate) ? absolute(candidate) : NULL;
        free(candidate);
        if (found)
            return found;
    }
    return NULL;
}

static int program_find(struct dlt_plan *plan)
{
    const char *name = plan->options->argv[0];
    if (!name)
        return 0;
    if (!strchr(name, '/'))
        plan->program = program_search(name);
    else if (is_executable(name))
        plan->program = absolute(name);
    return plan->program ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s: no such program", name);
}

/* ---- its words, and the input's place in them ---- */

static void placeholder_find(struct dlt_plan *plan, const char *fail)
{
    for (size_t i = 1; plan->words[0] && plan->words[i]; i++)
        if (strstr(plan->words[i], "@@")) {
            plan->placeholder = "@@";
            plan->is_whole_word = false;
            return;
        } else if (strcmp(plan->words[i], fail) == 0) {
            plan->placeholder = fail;
            plan->is_whole_word = true;
        }
}

static void way_find(struct dlt_plan *plan)
{
    const struct wetdbg_dd_options *options = plan->options;
    if (options->unit == WETDBG_DD_ARGV || options->unit == WETDBG_DD_ENV) {
        plan->way = options->unit == WETDBG_DD_ARGV ? DLT_WAY_ARGV : DLT_WAY_ENV;
        return;
    }
    placeholder_find(plan, options->fail);
    if (options->unit == WETDBG_DD_FILES)
        plan->way = DLT_WAY_FILES;
    else
        plan->way = plan->placeholder || !plan->program ? DLT_WAY_WORD : DLT_WAY_STDIN;
}

static int words_copy(struct dlt_plan *plan)
{
    char *const *argv = plan->options->argv;
    size_t count = 0;
    while (argv[count])
        count++;
    plan->words = calloc(count + 1, sizeof(*plan->words));
    for (size_t i = 0; plan->words && i < count; i++) {
        bool is_moved = i && plan->options->is_scratch && argv[i][0] != '/' &&
                        access(argv[i], F_OK) == 0 &&
                        (!plan->options->fail || strcmp(argv[i], plan->options->fail) != 0);
        plan->words[i] = is_moved ? absolute(argv[i]) : strdup(argv[i]);
        if (!plan->words[i])
            return -ENOMEM;
    }
    return plan->words ? 0 : -ENOMEM;
}

/* The last part of a name; trailing slashes do not count. */
static char *last_part(const char *path)
{
    size_t end = path ? strlen(path) : 0, first;
    while (end > 1 && path[end - 1] == '/')
        end--;
    for (first = end; first && path[first - 1] != '/';)
        first--;
    return end > first ? strndup(path + first, end - first) : strdup("input");
}

/* ---- limits ---- */

/* How many tasks this user has. */
static uint64_t tasks_count(void)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    uint64_t count = 0;
    while (proc && (entry = readdir(proc))) {
        char name[64];
        struct stat st;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(name, sizeof(name), "/proc/%.16s/task", entry->d_name);
        if (stat(name, &st) == 0 && st.st_uid == getuid() && st.st_nlink > 2)
            count += st.st_nlink - 2; /* a directory for each */
    }
    if (proc)
        closedir(proc);
    return count;
}

static void limits_set(struct dlt_plan *plan)
{
    const struct wetdbg_dd_options *options = plan->options;
    uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t share = machine / 2 / (options->jobs ? options->jobs : 1);
    plan->timeout_s = options->timeout_s > 0 ? options->timeout_s : FIRST_TIMEOUT_S;
    plan->tasks_max = tasks_count() + TASKS_MORE;
    plan->disk_bytes = options->disk_bytes ? options->disk_bytes : DISK_BYTES;
    plan->memory_bytes = options->memory_bytes  ? options->memory_bytes
                         : share < MEMORY_LEAST ? MEMORY_LEAST
                                                : share;
}

void dlt_plan_of_ended(struct dlt_plan *plan, const struct wetdbg_dd_options *options,
                       const struct dlt_ended_run *ended)
{
    *plan = (struct dlt_plan){
        .options = options, .way = DLT_WAY_STDIN, .file_name = "input", .ended = ended};
    limits_set(plan);
    plan->is_command_file = strchr(options->command, '/') && is_executable(options->command);
}

int dlt_plan_init(struct dlt_plan *plan, const struct wetdbg_dd_options *options)
{
    *plan = (struct dlt_plan){.options = options};
    int err = options_check(options);
    if (!err)
        err = program_find(plan);
    if (!err)
        err = words_copy(plan);
    if (!err && !(plan->file_name = last_part(options->fail)))
        err = -ENOMEM;
    if (!err && options->oracle == WETDBG_DD_EXPECT)
        err = dlt_file_read(options->expect, &plan->expected);
    if (err)
        return err;
    way_find(plan);
    limits_set(plan);
    plan->is_command_file =
        options->command && strchr(options->command, '/') && is_executable(options->command);
    return 0;
}

void dlt_plan_fini(struct dlt_plan *plan)
{
    for (size_t i = 0; plan->words && plan->words[i]; i++)
        free(plan->words[i]);
    free(plan->words);
    free(plan->program);
    free(plan->file_name);
    free(plan->expected.data);
    *plan = (struct dlt_plan){0};
}
