/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/repl/words.h"
#include <wetdbg/errors.h>

#define PAGER_DEFAULT "less -FRX"
#define LESS_DEFAULT  "FRX"

const char *cli_pager_command(void)
{
    const char *command = getenv("PAGER");
    if (!command)
        return PAGER_DEFAULT;
    return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Runs the command directly unless it is more than words, so that a missing program is told from
 * its failure. */
static int spawn(struct cli_pager *pager, const char *command, int input, int terminal_fd)
{
    char *by_shell[] = {"sh", "-c", (char *)command, NULL};
    posix_spawn_file_actions_t actions;
    struct cli_words words;
    bool is_plain = !command[strcspn(command, "|&;<>()$`\\\"'*?[#~=%")];
    int err = cli_words_split(&words, is_plain ? command : "");
    if (err)
        return err;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, terminal_fd, STDOUT_FILENO);
    setenv("LESS", LESS_DEFAULT, 0); /* for a $PAGER that is less */
    char **argv = words.count ? words.list : by_shell;
    errno = posix_spawnp(&pager->pid, argv[0], &actions, NULL, argv, environ);
    if (errno) {
        pager->pid = 0;
        err = wetdbg_fail_errno("cannot run the pager '%s'", argv[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    cli_words_fini(&words);
    return err;
}

int cli_pager_open(struct cli_pager *pager, const char *command, int terminal_fd)
{
    int ends[2];
    *pager = (struct cli_pager){.fd = -1};
    if (pipe2(ends, O_CLOEXEC) != 0)
        return wetdbg_fail_errno("cannot run a pager");
    pager->has_modes = tcgetattr(terminal_fd, &pager->modes) == 0;
    int err = spawn(pager, command, ends[0], terminal_fd);
    close(ends[0]);
    if (err)
        close(ends[1]);
    else
        pager->fd = ends[1];
    return err;
}

void cli_pager_write(struct cli_pager *pager, const char *bytes, size_t size_bytes)
{
    while (size_bytes && !pager->is_left) {
        ssize_t count = write(pager->fd, bytes, size_bytes);
        if (count >= 0) {
            bytes += count;
            size_bytes -= (size_t)count;
        } else if (errno != EINTR || cli_interrupt_is_pending()) {
            pager->is_left = true;
        }
    }
}

bool cli_pager_is_left(struct cli_pager *pager)
{
    struct pollfd end = {.fd = pager->fd};
    if (!pager->is_left && poll(&end, 1, 0) == 1)
        pager->is_left = end.revents & POLLERR; /* nobody has the other end any more */
    return pager->is_left;
}

int cli_pager_close(struct cli_pager *pager, int terminal_fd)
{
    struct termios modes;
    int status = 0;
    close(pager->fd);
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    /* One that was killed leaves the terminal as it had it. */
    if (pager->has_modes && tcgetattr(terminal_fd, &modes) == 0 &&
        memcmp(&modes, &pager->modes, sizeof(modes)) != 0)
        tcsetattr(terminal_fd, TCSADRAIN, &pager->modes);
    *pager = (struct cli_pager){0};
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
