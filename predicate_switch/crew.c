/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/crew.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include <wetdbg/errors.h>

#define LOOK_MS       100 /* how often it is looked whether somebody interrupted */
#define SHARES        8   /* for each process, of a batch */
#define SENTENCE_MAX  400
#define PLANS_AT_ONCE 32

/* What a process is told: some neighbouring plans. A message of a socket. */
struct order {
    size_t first, count;
    struct psw_plan plans[PLANS_AT_ONCE];
};

/* What it says: one answer, or why it has none. */
struct report {
    size_t index;
    struct wetdbg_trial_answer answer;
    int err;
    char sentence[SENTENCE_MAX];
};

struct worker {
    pid_t pid; /* 0: none */
    int fd;
    size_t pending; /* answers that it owes */
};

struct psw_crew {
    const struct psw_judge *judge;
    unsigned jobs;
    struct worker workers[WETDBG_TRIAL_JOBS_MAX];
};

int psw_plan_run(const struct psw_judge *judge, const struct psw_plan *plan,
                 struct wetdbg_trial_answer *answer)
{
    struct psw_write writes[PSW_PLAN_WRITES];
    struct psw_change change = plan->change;
    change.writes = writes;
    for (unsigned i = 0; i < PSW_PLAN_WRITES; i++)
        if (plan->writes[i].size)
            writes[change.write_count++] = (struct psw_write){
                plan->writes[i].address, plan->writes[i].size, plan->writes[i].bytes};
    return psw_judge_run(judge, &change, plan->detours, plan->detour_count, answer);
}

/* ---- a process ---- */

static void say(int fd, const struct report *report)
{
    while (send(fd, report, sizeof(*report), MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            _exit(1);
}

static void order_carry_out(const struct psw_judge *judge, const struct order *order, int fd)
{
    for (size_t i = 0; i < order->count; i++) {
        struct report report = {.index = order->first + i};
        report.err = psw_plan_run(judge, &order->plans[i], &report.answer);
        if (report.err)
            snprintf(report.sentence, sizeof(report.sentence), "%s", wetdbg_error(report.err));
        say(fd, &report);
        if (report.err)
            _exit(1);
    }
}

/*
 * Where every processor is wanted, each process keeps to one of them, and so does its replayee: the
 * two take turns, dozens of times in a run, and who sleeps on another processor is woken there in
 * several times as long. Where fewer are wanted the system chooses: others may do as we do.
 */
static void processor_take(unsigned index, unsigned jobs)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof(all), &all))
        return;
    unsigned count = (unsigned)CPU_COUNT(&all), left = count ? index % count : 0;
    if (count < 2 || jobs < count)
        return;
    CPU_ZERO(&one);
    for (unsigned i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
        if (CPU_ISSET(i, &all) && !left--)
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof(one), &one); /* refused: as the system likes */
}

/* What is typed on the terminal is for the process that made us. */
static _Noreturn void worker_life(const struct psw_judge *judge, int fd, pid_t parent)
{
    static struct order order;
    struct report report = {.index = SIZE_MAX};
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(1);
    report.err = psw_session_adopt(judge->session);
    if (report.err) {
        snprintf(report.sentence, sizeof(report.sentence), "%s", wetdbg_error(report.err));
        say(fd, &report);
        _exit(1);
    }
    for (;;) {
        ssize_t got = recv(fd, &order, sizeof(order), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            _exit(0);
        order_carry_out(judge, &order, fd);
    }
}

static int worker_start(struct psw_crew *crew, struct worker *worker)
{
    int sockets[2];
    pid_t parent = getpid();
    if (worker->pid)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
        return wetdbg_fail_errno("cannot make a socket");
    pid_t pid = fork();
    if (pid == 0) {
        close(sockets[0]);
        if (crew->judge->expected.kind != WETDBG_RIGHT_COMMAND) /* which may want them all */
            processor_take((unsigned)(worker - crew->workers), crew->jobs);
        worker_life(crew->judge, sockets[1], parent);
    }
    int err = pid < 0 ? wetdbg_fail_errno("cannot start a process") : 0;
    close(sockets[1]);
    if (err)
        close(sockets[0]);
    else
        *worker = (struct worker){.pid = pid, .fd = sockets[0]};
    return err;
}

static void worker_end(struct worker *worker)
{
    if (!worker->pid)
        return;
    close(worker->fd);
    kill(worker->pid, SIGKILL); /* not reaped: nobody else has that number */
    while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *worker = (struct worker){0};
}

static void all_end(struct psw_crew *crew)
{
    for (unsigned i = 0; i < crew->jobs; i++)
        worker_end(&crew->workers[i]);
}

/* ---- a batch ---- */

struct batch {
    struct psw_crew *crew;
    const struct psw_plan *plans;
    size_t count, given; /* of plans; those before were given to somebody */
    size_t share;        /* plans at once */
    double until;        /* 0: no end */
    struct wetdbg_trial_answer *answers;
    bool *are_there;
    size_t told; /* answers before were passed on */
    wetdbg_trial_fn answered;
    void *arg;
};

static int take(struct batch *batch, struct worker *worker)
{
    struct report report;
    ssize_t got = recv(worker->fd, &report, sizeof(report), 0);
    if (got < 0 && errno == EINTR)
        return 0;
    if (got != (ssize_t)sizeof(report))
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "a process that made switched runs has ended");
    report.sentence[SENTENCE_MAX - 1] = 0;
    if (report.err)
        return wetdbg_fail(report.err, "%s", report.sentence);
    if (report.index >= batch->given || batch->are_there[report.index] || !worker->pending)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "a process answered what nobody asked");
    batch->answers[report.index] = report.answer;
    batch->are_there[report.index] = true;
    worker->pending--;
    return 0;
}

/* Gives a worker that has nothing to do the next plans. One that could not begin has said why. */
static int give(struct batch *batch, struct worker *worker)
{
    struct order order;
    size_t left = batch->count - batch->given;
    if (worker->pending || !left)
        return 0;
    order.first = batch->given;
    order.count = left < batch->share ? left : batch->share;
    memcpy(order.plans, batch->plans + order.first, order.count * sizeof(*order.plans));
    size_t bytes = offsetof(struct order, plans) + order.count * sizeof(*order.plans);
    while (send(worker->fd, &order, bytes, MSG_NOSIGNAL) < 0)
        if (errno != EINTR)
            return take(batch, worker);
    batch->given += order.count;
    worker->pending = order.count;
    return 0;
}

static int give_all(struct batch *batch)
{
    int err = 0;
    for (unsigned i = 0; i < batch->crew->jobs && !err; i++) {
        struct worker *worker = &batch->crew->workers[i];
        if (batch->given < batch->count)
            err = worker_start(batch->crew, worker);
        if (!err && worker->pid)
            err = give(batch, worker);
    }
    return err;
}

/* Passes answers on in the order of the plans, as far as they are there. */
static int tell(struct batch *batch)
{
    int err = 0;
    while (!err && batch->told < batch->count && batch->are_there[batch->told]) {
        size_t index = batch->told++;
        err = batch->answered(batch->arg, index, &batch->answers[index]);
    }
    return err;
}

static int listen_once(struct batch *batch)
{
    struct pollfd ready[WETDBG_TRIAL_JOBS_MAX];
    struct psw_crew *crew = batch->crew;
    int err = 0;
    for (unsigned i = 0; i < crew->jobs; i++)
        ready[i] = (struct pollfd){.fd = crew->workers[i].pending ? crew->workers[i].fd : -1,
                                   .events = POLLIN};
    if (*psw_session_interrupted(crew->judge->session))
        return wetdbg_fail_plain(-WETDBG_ERR_INTERRUPTED);
    if (batch->until > 0 && wd_seconds() >= batch->until)
        return wetdbg_fail_plain(-ETIMEDOUT);
    int got = poll(ready, crew->jobs, LOOK_MS);
    for (unsigned i = 0; got > 0 && i < crew->jobs && !err; i++)
        if (ready[i].revents)
            err = take(batch, &crew->workers[i]);
    return err;
}

static int batch_run(struct batch *batch)
{
    int err = 0;
    while (!err && batch->told < batch->count) {
        err = give_all(batch);
        if (!err)
            err = listen_once(batch);
        if (!err)
            err = tell(batch);
    }
    return err;
}

int psw_crew_run(struct psw_crew *crew, const struct psw_plan *plans, size_t count, double until,
                 wetdbg_trial_fn answered, void *arg)
{
    struct batch batch = {.crew = crew,
                          .plans = plans,
                          .count = count,
                          .share = 1 + count / (SHARES * crew->jobs),
                          .until = until,
                          .answers = calloc(count + 1, sizeof(*batch.answers)),
                          .are_there = calloc(count + 1, sizeof(*batch.are_there)),
                          .answered = answered,
                          .arg = arg};
    if (batch.share > PLANS_AT_ONCE)
        batch.share = PLANS_AT_ONCE;
    int err = batch.answers && batch.are_there ? batch_run(&batch) : -ENOMEM;
    if (err)
        all_end(crew);
    free(batch.answers);
    free(batch.are_there);
    return err;
}

/* ---- life ---- */

void psw_crew_free(struct psw_crew *crew)
{
    if (!crew)
        return;
    all_end(crew);
    free(crew);
}

int psw_crew_new(const struct psw_judge *judge, unsigned jobs, struct psw_crew **out)
{
    struct psw_crew *crew = calloc(1, sizeof(*crew));
    if (!crew)
        return -ENOMEM;
    *crew = (struct psw_crew){.judge = judge, .jobs = jobs};
    int err = 0;
    for (unsigned i = 0; i < jobs && !err; i++)
        err = worker_start(crew, &crew->workers[i]);
    if (err) {
        psw_crew_free(crew);
        return err;
    }
    *out = crew;
    return 0;
}
