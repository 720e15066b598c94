/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/own_process.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const struct wetdbg_exec *cli_last_exec(const struct wetdbg_process *list, size_t process)
{
    const struct wetdbg_process *it = &list[process];

    return it->exec_count ? &it->execs[it->exec_count - 1] : it->inherited;
}

/* ---- whose program ---- */

static bool is_here(const char *path)
{
    char *full = realpath(path, NULL), *here = realpath(".", NULL);
    size_t length = here ? strlen(here) : 0;
    bool is_below = full && here && !strncmp(full, here, length) && full[length] == '/';

    free(full);
    free(here);
    return is_below;
}

static bool has_debug_sections(Elf *elf)
{
    size_t names;
    Elf_Scn *section = NULL;

    if (elf_getshdrstrndx(elf, &names))
        return false;
    while ((section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && !strcmp(name, ".debug_info"))
            return true;
    }
    return false;
}

/* What a distribution installs has its debug information elsewhere, and a script has none. */
static bool has_debug_information(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool has = false;

    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    if (elf)
        has = has_debug_sections(elf);
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    return has;
}

static bool is_own(const struct wetdbg_process *list, size_t process)
{
    const struct wetdbg_exec *exec = cli_last_exec(list, process);

    return exec && is_here(exec->file) && has_debug_information(exec->file);
}

/* ---- who compared ---- */

static bool is_below(const struct wetdbg_process *list, size_t process, size_t ancestor)
{
    while (process != WETDBG_NO_PROCESS && process > ancestor)
        process = list[process].parent;
    return process == ancestor;
}

static bool runs_one_of(const struct wetdbg_process *list, size_t process, const char *const *names)
{
    const struct wetdbg_exec *exec = cli_last_exec(list, process);
    const char *slash = exec ? strrchr(exec->file, '/') : NULL;
    const char *name = slash ? slash + 1 : exec ? exec->file : "";

    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

static bool has_found_difference(const struct wetdbg_process *process)
{
    return process->end == WETDBG_PROCESS_EXITED && WEXITSTATUS(process->wait_status) == 1;
}

/* The tool that found a difference: the process itself, or the first below it. That grep finds
 * nothing is everyday, unless all failed by it. */
static size_t find_comparer(const struct wetdbg_process *list, size_t count, size_t failed)
{
    static const char *const comparing[] = {"cmp", "diff", "colordiff", NULL};
    static const char *const searching[] = {"grep", "egrep", "fgrep", NULL};

    if (runs_one_of(list, failed, searching) && has_found_difference(&list[failed]))
        return failed;
    for (size_t i = failed; i < count; i++)
        if (runs_one_of(list, i, comparing) && has_found_difference(&list[i]) &&
            is_below(list, i, failed))
            return i;
    return WETDBG_NO_PROCESS;
}

/* Whose output it was: the last own program that was started before the tool, of those that the
 * same shell started; if there is none, of those that the shell's parent did, and so on. */
static size_t find_compared(const struct wetdbg_process *list, size_t comparer)
{
    for (size_t above = list[comparer].parent; above != WETDBG_NO_PROCESS;
         above = list[above].parent) {
        for (size_t i = comparer; i-- > above;)
            if (is_below(list, i, above) && !is_below(list, comparer, i) && is_own(list, i))
                return i;
        if (is_own(list, above))
            return above;
    }
    return WETDBG_NO_PROCESS;
}

/* ---- who failed ---- */

static bool has_failed(const struct wetdbg_process *process)
{
    return (process->end == WETDBG_PROCESS_EXITED || process->end == WETDBG_PROCESS_SIGNALED) &&
           process->wait_status;
}

static size_t find_failed(const struct wetdbg_process *list, size_t count, size_t failed)
{
    for (size_t i = count; --i > failed;)
        if (has_failed(&list[i]) && is_below(list, i, failed) && is_own(list, i))
            return i;
    return WETDBG_NO_PROCESS;
}

bool cli_own_process_find(const struct wetdbg_process *list, size_t count, size_t failed,
                          struct cli_own_process *found)
{
    if (is_own(list, failed))
        return false;
    found->comparer = find_comparer(list, count, failed);
    found->process = WETDBG_NO_PROCESS;
    if (found->comparer != WETDBG_NO_PROCESS)
        found->process = find_compared(list, found->comparer);
    if (found->process != WETDBG_NO_PROCESS)
        return true;
    found->comparer = WETDBG_NO_PROCESS;
    found->process = find_failed(list, count, failed);
    return found->process != WETDBG_NO_PROCESS;
}
