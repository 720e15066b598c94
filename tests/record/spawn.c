/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/record/spawn.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/record/unit.h"

char *slurp(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t length = 0, got;

    if (!file)
        return NULL;
    do {
        text = realloc(text, length + 65537);
        assert_non_null(text);
        got = fread(text + length, 1, 65536, file);
        length += got;
    } while (got);
    fclose(file);
    text[length] = 0;
    if (bytes)
        *bytes = length;
    return text;
}

static void run_child(const char *const argv[], const struct spawn_env *env, int out, int err)
{
    int null = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    dup2(null, 0);
    dup2(out, 1);
    dup2(err, 2);
    close(null);
    for (; env && env->name; env++) {
        if (env->value)
            setenv(env->name, env->value, 1);
        else
            unsetenv(env->name);
    }
    execvp(argv[0], (char *const *)argv);
    perror(argv[0]);
    _exit(126);
}

static int wait_or_kill(pid_t child)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    time_t limit = time(NULL) + SPAWN_SECONDS_MAX;
    int status;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (time(NULL) > limit) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    return status;
}

struct spawn_result spawn(const char *const argv[], const struct spawn_env *env)
{
    char *dir = scratch_new(), *paths[2];
    struct spawn_result result = {0};
    int fds[2];
    pid_t child;

    for (int i = 0; i < 2; i++) {
        assert_true(asprintf(&paths[i], "%s/%d", dir, i) > 0);
        fds[i] = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fds[i] >= 0);
    }
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_child(argv, env, fds[0], fds[1]);
    result.status = wait_or_kill(child);
    result.out = slurp(paths[0], &result.out_bytes);
    result.err = slurp(paths[1], NULL);
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
        free(paths[i]);
    }
    scratch_free(dir);
    return result;
}

void spawn_result_fini(struct spawn_result *result)
{
    free(result->out);
    free(result->err);
}

char *scratch_new(void)
{
    char *dir = strdup("/tmp/wetdbg-test-XXXXXX");

    assert_non_null(mkdtemp(dir));
    return dir;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

void scratch_free(char *dir)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}
