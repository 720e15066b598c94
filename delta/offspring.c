/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sessions, process groups and parents that end do not matter: as their subreaper we are the
 * ancestor of all that a program started. Before anything is killed everything is stopped, or what
 * forks faster than we look would get away.
 */
#include "delta/offspring.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"

#define END_SECONDS  10.0
#define FORK_SECONDS 5.0
/* Rounds of stopping after which what still forks is killed in its midst. */
#define STOP_ROUNDS 50

pid_t dlt_fork(void)
{
    double begin = wd_seconds();
    pid_t pid;
    while ((pid = fork()) < 0 && errno == EAGAIN && wd_seconds() - begin < FORK_SECONDS)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    return pid;
}

struct pids {
    pid_t *pids;
    size_t count, capacity;
};

static void pids_add(struct pids *pids, pid_t pid)
{
    if (wd_grow(pids->pids, pids->capacity, pids->count + 1) == 0)
        pids->pids[pids->count++] = pid;
}

/* The children of one task, as the kernel lists them. False if it does not
 * (CONFIG_PROC_CHILDREN). */
static bool task_children(pid_t pid, const char *task, struct pids *pids)
{
    char name[64];
    int child;
    snprintf(name, sizeof(name), "/proc/%d/task/%.16s/children", (int)pid, task);
    FILE *file = fopen(name, "re");
    if (!file)
        return false;
    while (fscanf(file, "%d", &child) == 1)
        pids_add(pids, child);
    fclose(file);
    return true;
}

static void children_add(pid_t pid, struct pids *pids)
{
    char name[32];
    snprintf(name, sizeof(name), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(name);
    struct dirent *entry;
    while (tasks && (entry = readdir(tasks)))
        if (entry->d_name[0] != '.')
            task_children(pid, entry->d_name, pids);
    if (tasks)
        closedir(tasks);
}

/* The parent of a process, or 0. */
static pid_t parent_of(const char *pid)
{
    char name[64], text[512];
    snprintf(name, sizeof(name), "/proc/%.16s/stat", pid);
    FILE *file = fopen(name, "re");
    size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    int parent = 0;
    if (file)
        fclose(file);
    text[length] = 0;
    const char *end = strrchr(text, ')'); /* of its name, which may be anything */
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* The slow way: all processes whose parent is `pid`. */
static void children_look_up(pid_t pid, struct pids *pids)
{
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (proc && (entry = readdir(proc)))
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == pid)
            pids_add(pids, (pid_t)atoi(entry->d_name));
    if (proc)
        closedir(proc);
}

/* All below this process, parents first. */
static void offspring_find(struct pids *pids)
{
    char self[16];
    struct pids none = {0};
    snprintf(self, sizeof(self), "%d", (int)getpid());
    bool is_listed = task_children(getpid(), self, &none);
    free(none.pids);
    pids->count = 0;
    for (size_t next = 0;; next++) {
        pid_t pid = next ? pids->pids[next - 1] : getpid();
        if (is_listed)
            children_add(pid, pids);
        else
            children_look_up(pid, pids);
        if (next == pids->count)
            return;
    }
}

void dlt_offspring_measure(struct dlt_offspring *offspring)
{
    struct pids pids = {0};
    offspring_find(&pids);
    *offspring = (struct dlt_offspring){.processes = pids.count};
    for (size_t i = 0; i < pids.count; i++) {
        char name[32];
        unsigned long resident;
        snprintf(name, sizeof(name), "/proc/%d/statm", (int)pids.pids[i]);
        FILE *file = fopen(name, "re");
        if (file && fscanf(file, "%*u %lu", &resident) == 1)
            offspring->memory_bytes += (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
        if (file)
            fclose(file);
    }
    free(pids.pids);
}

static void kill_all(const struct pids *pids, int number)
{
    for (size_t i = 0; i < pids->count; i++)
        kill(pids->pids[i], number);
}

static void stop_and_kill(struct pids *pids)
{
    size_t before = SIZE_MAX;
    for (int round = 0; round < STOP_ROUNDS && before != pids->count; round++) {
        before = round ? pids->count : SIZE_MAX;
        offspring_find(pids);
        kill_all(pids, SIGSTOP);
    }
    kill_all(pids, SIGKILL);
}

/* Takes in what has ended. True if nothing is left. */
static bool reap(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
        ;
    return pid < 0 && errno == ECHILD;
}

int dlt_offspring_end(void)
{
    struct pids pids = {0};
    double begin = wd_seconds();
    long pause_ns = 20000;
    bool is_done = reap();
    while (!is_done && wd_seconds() - begin < END_SECONDS) {
        stop_and_kill(&pids);
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        pause_ns = pause_ns < 20000000 ? 2 * pause_ns : pause_ns;
        is_done = reap();
    }
    free(pids.pids);
    return is_done ? 0 : -EBUSY;
}
