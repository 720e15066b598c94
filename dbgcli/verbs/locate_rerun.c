/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_rerun.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include "dbgcli/syscall_name.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/files.h>

#define PATH_BYTES 4096

/* ---- names ---- */

/* Or that directory itself, where a file without a name was. */
static bool is_below(const char *path, const char *directory)
{
    size_t length = directory ? strlen(directory) : 0;

    while (length && directory[length - 1] == '/')
        length--;
    return length && !strncmp(path, directory, length) && (path[length] == '/' || !path[length]);
}

/* What goes there is nobody's for long, or leaves the machine as it is. */
static bool is_temporary(const char *path)
{
    return (is_below(path, "/tmp") || is_below(path, "/var/tmp") || is_below(path, "/dev") ||
            is_below(path, getenv("TMPDIR"))) &&
           !strstr(path, "/../");
}

/* ---- files ---- */

static char *written_file(const struct wetdbg_files *files)
{
    for (size_t i = 0; i < wetdbg_files_count(files); i++) {
        const struct wetdbg_file file = wetdbg_files_get(files, i);
        if (!file.writes || (file.is_path && file.name && is_temporary(file.name)))
            continue;
        if (file.is_path)
            return file.name ? cli_asprintf("it wrote %s", file.name)
                             : cli_strdup("it wrote a file");
        if (file.name && strstr(file.name, "socket"))
            return cli_strdup("it wrote to a socket");
    }
    return NULL;
}

/* ---- calls ---- */

/* Calls that change something by its name, in the register that has it: rdi, or rsi behind a
 * directory; or without any. */
static const struct lasting_call {
    int number;
    enum { ANY, BY_RDI, BY_RSI } by;
} lasting_calls[] = {
    {SYS_unlink, BY_RDI},  {SYS_unlinkat, BY_RSI}, {SYS_rmdir, BY_RDI},    {SYS_mkdir, BY_RDI},
    {SYS_mkdirat, BY_RSI}, {SYS_rename, BY_RDI},   {SYS_renameat, BY_RSI}, {SYS_renameat2, BY_RSI},
    {SYS_creat, BY_RDI},   {SYS_truncate, BY_RDI}, {SYS_chmod, BY_RDI},    {SYS_fchmodat, BY_RSI},
    {SYS_link, ANY},       {SYS_linkat, ANY},      {SYS_symlink, ANY},     {SYS_symlinkat, ANY},
    {SYS_chown, ANY},      {SYS_lchown, ANY},      {SYS_fchownat, ANY},    {SYS_connect, ANY},
    {SYS_bind, ANY},       {SYS_fork, ANY},        {SYS_vfork, ANY},       {SYS_execve, ANY},
    {SYS_execveat, ANY},   {SYS_kill, ANY},        {SYS_mount, ANY},       {SYS_umount2, ANY},
    {SYS_shmget, ANY},     {SYS_mq_open, ANY},     {SYS_ptrace, ANY},      {SYS_setxattr, ANY},
};

struct look {
    struct wetdbg *wet;
    uint64_t clones;
    wetdbg_time time; /* of a call by whose path it is decided */
    const struct lasting_call *call;
};

static int look_at(void *arg, const struct wetdbg_event *event)
{
    struct look *look = arg;

    if (event->kind != WETDBG_EVENT_CALL || event->time < look->time)
        return 0;
    look->clones += event->number == SYS_clone || event->number == SYS_clone3;
    for (size_t i = 0; i < sizeof(lasting_calls) / sizeof(*lasting_calls); i++)
        if (event->number == lasting_calls[i].number) {
            look->time = event->time;
            look->call = &lasting_calls[i];
            return 1;
        }
    return 0;
}

/* The path that a call names; "" if it cannot be read. */
static int read_path(const struct look *look, char path[PATH_BYTES])
{
    struct wetdbg_state *state;
    size_t size = PATH_BYTES;
    int err = wetdbg_state_open(look->wet, look->time, &state);

    path[0] = 0;
    if (err)
        return err;
    const struct user_regs_struct *regs = wetdbg_state_registers(state);
    uint64_t address = look->call->by == BY_RDI ? regs->rdi : regs->rsi;
    while (size > 1 && wetdbg_state_read(state, address, path, size)) /* near a mapping's end */
        size /= 2;
    path[size > 1 ? size - 1 : 0] = 0;
    wetdbg_state_close(state);
    return 0;
}

static int find_call(struct wetdbg *wet, char **why)
{
    struct look look = {.wet = wet};
    char path[PATH_BYTES];
    int found;

    while ((found = wetdbg_each_event(wet, look_at, &look)) == 1) {
        int err = look.call->by == ANY ? 0 : read_path(&look, path);
        if (err)
            return err;
        if (look.call->by == ANY || !is_temporary(path)) {
            *why = cli_asprintf("it called %s", cli_syscall_name(look.call->number));
            return 0;
        }
        look.time++;
    }
    if (!found && look.clones >= wetdbg_get_info(wet)->threads)
        *why = cli_strdup("it started other processes");
    return found;
}

int cli_locate_rerun_check(struct cli_session *session, char **why)
{
    struct wetdbg_files *files;
    int err = find_call(session->wet, why);

    if (err || *why)
        return err;
    err = wetdbg_files_open(session->wet, &files);
    if (err)
        return err;
    *why = written_file(files);
    wetdbg_files_close(files);
    return 0;
}

/* ---- of a locating ---- */

static int ask(struct cli_locating *self)
{
    char *why = NULL;
    int err = 0;

    if (self->input.name)
        err = cli_locate_rerun_check(self->session, &why);
    else
        why = cli_strdup(self->input.why_not);
    if (err)
        return err;
    if (why && *why)
        cli_locating_miss(self, "the program is not run again with other inputs: %s", why);
    self->reruns = why ? CLI_RERUNS_NOT : CLI_RERUNS;
    free(why);
    return 0;
}

int cli_locate_may_rerun(struct cli_locating *self, bool *may_run)
{
    bool is_asked = self->reruns != CLI_RERUNS_UNKNOWN;
    bool is_possible = self->input.argv && !self->runs_once;
    int err = is_possible && !is_asked ? ask(self) : 0;

    *may_run = !err && is_possible && self->reruns == CLI_RERUNS;
    return err;
}
