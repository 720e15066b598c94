/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Four threads, by argument:
 *   join           they count under a lock, and are waited for
 *   spin           they count until told to stop
 *   exit           exit_group while they sleep
 *   spinexit       the same while they count
 *   kill           SIGKILL while they count
 *   exec, execself another program while they sleep, run by the first thread or one of them
 *   fork           one more process while they sleep, which aborts
 *   leader         the first thread ends first
 *   robust         one ends holding a robust lock */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, OWNER_DIED = 130 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int started, has_to_stop;
static volatile long counts[THREADS], total;

static void note_start(void)
{
    __atomic_add_fetch(&started, 1, __ATOMIC_SEQ_CST);
}

static void *count(void *arg)
{
    prctl(PR_SET_NAME, "counting");
    note_start();
    for (int i = 0; i < 200; i++) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
        if (i % 50 == 0)
            sched_yield();
    }
    return arg;
}

static void *spin(void *arg)
{
    note_start();
    while (!has_to_stop)
        counts[(long)arg]++;
    return arg;
}

static void *rest(void *arg)
{
    note_start();
    for (;;)
        pause();
    return arg;
}

static void run_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
    _exit(99);
}

static void *become_program(void *arg)
{
    if (!arg)
        return rest(arg);
    note_start();
    usleep(20000);
    run_program();
    return NULL;
}

static void *hold(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

static int leave_robust_lock(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    if (pthread_create(&thread, NULL, hold, &mutex) || pthread_join(thread, NULL))
        return 99;
    return pthread_mutex_lock(&mutex) != OWNER_DIED;
}

static int fork_from_thread_group(void)
{
    pthread_t thread;
    int status;
    pid_t pid = fork();
    if (!pid) {
        if (pthread_create(&thread, NULL, count, NULL) || pthread_join(thread, NULL))
            _exit(99);
        abort();
    }
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 9 : 99;
}

static int finish(const char *what, const pthread_t *threads)
{
    if (!strcmp(what, "exit") || !strcmp(what, "spinexit"))
        _exit(3);
    if (!strcmp(what, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(what, "exec"))
        run_program();
    if (!strcmp(what, "fork"))
        return fork_from_thread_group();
    if (!strcmp(what, "leader"))
        pthread_exit(NULL);
    if (!strcmp(what, "execself"))
        rest(NULL);
    usleep(strcmp(what, "spin") ? 0 : 200000);
    has_to_stop = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "join";
    pthread_t threads[THREADS];
    void *(*run)(void *) = rest;
    if (!strcmp(what, "robust"))
        return leave_robust_lock();
    if (!strcmp(what, "join") || !strcmp(what, "leader"))
        run = count;
    if (!strncmp(what, "spin", 4) || !strcmp(what, "kill"))
        run = spin;
    if (!strcmp(what, "execself"))
        run = become_program;
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i))
            return 99;
    while (started < THREADS)
        sched_yield();
    return finish(what, threads);
}
