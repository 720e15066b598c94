/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/live_runs.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "delta/offspring.h"
#include <wetdbg/delta.h>
#include <wetdbg/errors.h>

enum slot_state { PREPARING, FREE, BUSY, CANCELLED, OVER };

struct slot {
    int fd;
    enum slot_state state;
};

struct dlt_live {
    pid_t pid;
    unsigned jobs;
    struct slot slots[WETDBG_DELTA_JOBS_MAX];
    char reason[256];
};

/* What a process says: that it is ready, an answer, or why there will be none. */
struct message {
    enum { READY, ANSWER, FAILED } kind;
    struct dlt_live_answer answer;
};

/* ---- bytes through a socket ---- */

static bool send_all(int fd, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t sent = send(fd, (const char *)bytes + done, size - done, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        done += (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = recv(fd, (char *)bytes + done, size - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* ---- a process that answers ---- */

static void say(int fd, const struct message *message)
{
    if (!send_all(fd, message, sizeof(*message)))
        _exit(1);
}

static _Noreturn void say_failed(int fd, int err)
{
    struct message message = {.kind = FAILED};
    snprintf(message.answer.reason, sizeof(message.answer.reason), "%s", wetdbg_error(err));
    say(fd, &message);
    _exit(1);
}

/* What is typed on the terminal is for the process that made us. */
static void settle(pid_t parent)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
        _exit(1);
}

static _Noreturn void serve(const struct dlt_live_engine *engine, void *session, int fd)
{
    struct message message = {.kind = READY};
    struct wetdbg_dd_bytes candidate = {0};
    size_t room = 0;
    say(fd, &message);
    while (receive_all(fd, &candidate.size, sizeof(candidate.size))) {
        if (candidate.size > room || !candidate.data) {
            room = candidate.size + 1;
            free(candidate.data);
            candidate.data = malloc(room);
        }
        if (!candidate.data || !receive_all(fd, candidate.data, candidate.size))
            break;
        message = (struct message){.kind = ANSWER};
        int err = engine->run(session, &candidate, &message.answer);
        if (err)
            say_failed(fd, err);
        say(fd, &message);
    }
    _exit(0);
}

/* The first process: makes the others when all is ready. They end with it. */
static _Noreturn void first_life(const struct dlt_live_engine *engine, const struct dlt_plan *plan,
                                 const struct wetdbg_dd_bytes *fail, const int *fds, unsigned jobs,
                                 pid_t parent)
{
    void *session;
    pid_t own = getpid();
    settle(parent);
    int err = engine->prepare(plan, fail, &session);
    if (err)
        say_failed(fds[0], err);
    for (unsigned i = 1; i < jobs; i++) {
        if (dlt_fork() == 0) {
            for (unsigned other = 0; other < jobs; other++)
                if (other == 0 || other > i) /* those between are closed */
                    close(fds[other]);
            settle(own);
            err = engine->adopt(session);
            if (err)
                say_failed(fds[i], err);
            serve(engine, session, fds[i]);
        }
        close(fds[i]);
    }
    serve(engine, session, fds[0]);
}

/* ---- life ---- */

static void fds_close(const int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        close(fds[i]);
}

int dlt_live_open(const struct dlt_live_engine *engine, const struct dlt_plan *plan,
                  const struct wetdbg_dd_bytes *fail, unsigned jobs, struct dlt_live **out)
{
    int theirs[WETDBG_DELTA_JOBS_MAX], sockets[2], err = 0;
    pid_t parent = getpid();
    struct dlt_live *live = calloc(1, sizeof(*live));
    if (!live)
        return -ENOMEM;
    for (; !err && live->jobs < jobs; live->jobs++) {
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
            err = wetdbg_fail_errno("cannot make a socket");
            break;
        }
        theirs[live->jobs] = sockets[1];
        live->slots[live->jobs].fd = sockets[0];
    }
    live->pid = err ? -1 : dlt_fork();
    if (live->pid == 0) {
        for (unsigned i = 0; i < jobs; i++)
            close(live->slots[i].fd);
        first_life(engine, plan, fail, theirs, jobs, parent);
    }
    if (!err && live->pid < 0)
        err = wetdbg_fail_errno("cannot start a process");
    fds_close(theirs, live->jobs);
    if (err)
        dlt_live_close(live);
    else
        *out = live;
    return err;
}

static void slot_end(struct slot *slot)
{
    if (slot->fd >= 0)
        close(slot->fd);
    *slot = (struct slot){.fd = -1, .state = OVER};
}

void dlt_live_close(struct dlt_live *live)
{
    if (!live)
        return;
    for (unsigned i = 0; i < live->jobs; i++)
        slot_end(&live->slots[i]);
    if (live->pid > 0) {
        kill(live->pid, SIGKILL); /* not reaped: nobody else has that number */
        while (waitpid(live->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    free(live);
}

/* ---- questions ---- */

int dlt_live_fd(const struct dlt_live *live, unsigned slot)
{
    return live->slots[slot].fd;
}

bool dlt_live_is_free(const struct dlt_live *live, unsigned slot)
{
    return live->slots[slot].state == FREE;
}

bool dlt_live_is_coming(const struct dlt_live *live, unsigned slot)
{
    return live->slots[slot].state == PREPARING;
}

bool dlt_live_is_over(const struct dlt_live *live)
{
    for (unsigned i = 0; i < live->jobs; i++)
        if (live->slots[i].state != OVER)
            return false;
    return true;
}

int dlt_live_ask(struct dlt_live *live, unsigned slot, const struct wetdbg_dd_bytes *candidate)
{
    struct slot *asked = &live->slots[slot];
    if (!send_all(asked->fd, &candidate->size, sizeof(candidate->size)) ||
        !send_all(asked->fd, candidate->data, candidate->size)) {
        slot_end(asked);
        return wetdbg_fail_plain(-WETDBG_ERR_MACHINE);
    }
    asked->state = BUSY;
    return 0;
}

int dlt_live_take(struct dlt_live *live, unsigned slot, struct dlt_live_answer *answer)
{
    struct slot *asked = &live->slots[slot];
    struct message message = {.kind = FAILED};
    bool is_asked = asked->state == BUSY;
    if (!receive_all(asked->fd, &message, sizeof(message)))
        snprintf(message.answer.reason, sizeof(message.answer.reason),
                 "the process that makes live runs has ended");
    message.answer.reason[sizeof(message.answer.reason) - 1] = 0;
    message.answer.report.sentence[sizeof(message.answer.report.sentence) - 1] = 0;
    if (message.kind == FAILED) {
        message.answer.is_resolved = false;
        if (!live->reason[0])
            memcpy(live->reason, message.answer.reason, sizeof(live->reason));
        slot_end(asked);
    } else {
        asked->state = FREE;
    }
    *answer = message.answer;
    return is_asked;
}

void dlt_live_cancel(struct dlt_live *live, unsigned slot)
{
    if (live->slots[slot].state == BUSY)
        live->slots[slot].state = CANCELLED;
}

const char *dlt_live_reason(const struct dlt_live *live)
{
    return live->reason;
}
