/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of the replayee.
 *
 * The replayee clones itself, since only the kernel can copy a process cheaply; but what is in it
 * is enemy code, and a process that may clone may do so for ever. So a second seccomp filter sends
 * each clone to the supervisor as a notification, where it waits. It is let through when the
 * supervisor has asked for it, once; at any other time it is an error. Without the supervisor the
 * call fails.
 *
 *     supervisor                    replayee                         copy
 *     starts the keeper, once
 *     AGT_CMD_FORK ---------------> clone (waits)
 *     that one may go on ---------> clone returns ---------------->  prctl(PR_SET_PDEATHSIG,
 *                                                                    SIGKILL) (waits)
 *     this is who waits: pidfd ------------------------------------> goes on
 *     waits for the answer <------- "done"
 *     waits for the copy's turn <----------------------------------- "ready"
 *
 * So nothing that the replayee writes says which process the copy is: the kernel says who waits,
 * and that it is a child of ours. What else could not be trusted is the copy's death signal: the
 * keeper makes up for it (keeper.h).
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/replay/filter.h"
#include "recorder/replay/host.h"
#include "recorder/replay/keeper.h"
#include <wetdbg/errors.h>

/* ---- the listener's way here ---- */

bool rep_listener_send(int socket)
{
    int listener = rep_filter_listen();
    int err = listener < 0 ? listener : 0;
    struct iovec data = {&err, sizeof(err)};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(listener))];
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(listener)),
                          .cmsg_level = SOL_SOCKET,
                          .cmsg_type = SCM_RIGHTS}};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    if (listener >= 0) {
        memcpy(CMSG_DATA(&control.head), &listener, sizeof(listener));
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
    }
    if (sendmsg(socket, &message, 0) != (ssize_t)sizeof(err))
        _exit(AGT_STATUS_LISTENER);
    return listener >= 0;
}

int rep_listener_receive(int socket)
{
    int listener = -1, result = -EPROTO;
    struct iovec data = {&result, sizeof(result)};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(listener))];
    } control;
    struct msghdr message = {.msg_iov = &data,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof(control)};
    ssize_t count;
    do
        count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (count < 0 && errno == EINTR);
    const struct cmsghdr *head = count > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(listener)))
        memcpy(&listener, CMSG_DATA(head), sizeof(listener));
    if (count != (ssize_t)sizeof(result) || (!result && listener < 0))
        return -EPROTO;
    return result ? result : listener;
}

/* ---- notifications ---- */

/* The kernel's structures may be longer than those that we were built with. */
union notification {
    struct seccomp_notif is;
    char room[1024];
};

union reply {
    struct seccomp_notif_resp is;
    char room[1024];
};

static bool has_notification(const struct rep_host *host, int timeout_ms)
{
    struct pollfd at = {.fd = host->listener, .events = POLLIN};
    return host->listener >= 0 && poll(&at, 1, timeout_ms) > 0 && at.revents & POLLIN;
}

int rep_listener_check(const struct rep_host *host)
{
    return has_notification(host, 0)
               ? wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process tries to copy itself unasked")
               : 0;
}

static bool sizes_fit(void)
{
    struct seccomp_notif_sizes sizes;
    return !syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) &&
           sizes.seccomp_notif <= sizeof(union notification) &&
           sizes.seccomp_notif_resp <= sizeof(union reply);
}

/* Waits for a notification: 0, or an error, told. 1: the replayee has the answer to AGT_CMD_FORK
 * instead. */
static int notification_get(const struct rep_host *host, const volatile sig_atomic_t *flag,
                            union notification *out)
{
    while (!has_notification(host, 100)) {
        int err = rep_host_check(host);
        if (err)
            return err;
        if (flag && __atomic_load_n(flag, __ATOMIC_RELAXED))
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        if (__atomic_load_n(&host->ctx->mail.turn, __ATOMIC_ACQUIRE) == 1)
            return 1;
    }
    memset(out, 0, sizeof(*out));
    return ioctl(host->listener, SECCOMP_IOCTL_NOTIF_RECV, out)
               ? wetdbg_fail_errno("what a replay process waits for")
               : 0;
}

static int notification_pass(const struct rep_host *host, const union notification *notification)
{
    union reply reply = {
        .is = {.id = notification->is.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE}};
    return ioctl(host->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply)
               ? wetdbg_fail_errno("letting a replay process go on")
               : 0;
}

static int unexpected(void)
{
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process tries to copy itself unasked");
}

/* ---- start and end ---- */

static int clone_pass(struct rep_host *host, const volatile sig_atomic_t *flag)
{
    union notification wanted;
    int err = notification_get(host, flag, &wanted);
    if (err > 0)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process does not copy itself");
    if (err)
        return err;
    if (wanted.is.data.nr != SYS_clone || (pid_t)wanted.is.pid != host->pid)
        return unexpected();
    host->strangers++;
    return notification_pass(host, &wanted);
}

/* The copy is the only one of the group that may have ended: the replayee was looked at. */
static bool has_copy_ended(const struct rep_host *host)
{
    siginfo_t info = {0};
    return !waitid(P_PGID, (id_t)host->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* The process has announced itself, and waits: it cannot be gone, and its number nobody else's. */
static int copy_meet(struct rep_host *host, const volatile sig_atomic_t *flag,
                     struct rep_host *probe)
{
    union notification wanted;
    int err;
    while ((err = notification_get(host, flag, &wanted)) > 0) {
        rep_turn_take(&host->turn, host->ctx);
        int64_t result = (int64_t)host->turn.args[0];
        if (result < 0 && result > -4096)
            return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process cannot be copied: %s",
                               strerror((int)-result));
        if (has_copy_ended(host))
            return wetdbg_fail(-WETDBG_ERR_MACHINE, "a copy of the replay process ended at once");
    }
    if (err)
        return err;
    if (wanted.is.data.nr != SYS_prctl || (pid_t)wanted.is.pid == host->pid)
        return unexpected();
    int pidfd = (int)syscall(SYS_pidfd_open, (pid_t)wanted.is.pid, 0);
    siginfo_t info;
    bool is_ours = pidfd >= 0 &&
                   !ioctl(host->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &wanted.is.id) &&
                   !waitid((idtype_t)P_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG | WNOWAIT);
    if (!is_ours) {
        if (pidfd >= 0)
            close(pidfd);
        return unexpected();
    }
    host->strangers--;
    *probe = *host;
    probe->ctx = host->probe_ctx;
    probe->pid = (pid_t)wanted.is.pid;
    probe->pidfd = pidfd;
    return notification_pass(host, &wanted);
}

static int can_probe(struct rep_host *host)
{
    if (host->listener == -EPROTO) /* no probes were asked for (rep_engine_setup) */
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the replay process asks for a copy where none is needed");
    if (host->listener < 0 || !sizes_fit())
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "whether a signal or a switch could have struck elsewhere too cannot be tried here: "
            "the "
            "system refuses the seccomp listener by which copies of the replay process are watched "
            "(%s); a container or sandbox has to allow seccomp with "
            "SECCOMP_FILTER_FLAG_NEW_LISTENER, or replay outside of it",
            strerror(host->listener < 0 ? -host->listener : ENOSYS));
    if (!host->keeper) {
        pid_t keeper = rep_keeper_start(host->pid);
        if (keeper < 0)
            return keeper;
        host->keeper = keeper;
    }
    return rep_listener_check(host);
}

static int copy_start(struct rep_host *host, struct rep_host *probe, uint64_t what,
                      const volatile sig_atomic_t *flag)
{
    int err = can_probe(host);
    if (err)
        return err;
    memcpy(host->probe_ctx, host->ctx, sizeof(*host->ctx));
    rep_turn_give(&host->turn, host->probe_ctx);
    host->probe_ctx->mail.turn = 0;
    host->probe_ctx->is_probe = what == AGT_FORK_PROBE;
    host->turn.command = AGT_CMD_FORK;
    host->turn.cargs[0] = what;
    probe->pidfd = -1;
    rep_host_send(host);
    err = clone_pass(host, flag);
    if (!err)
        err = copy_meet(host, flag, probe);
    if (!err)
        err = rep_host_wait(host, flag, false);
    if (!err && host->turn.request != AGT_REQ_REPLY)
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged answer");
    if (!err)
        err = rep_host_wait(probe, flag, true);
    if (err)
        rep_host_probe_stop(probe);
    return err;
}

int rep_host_probe_start(struct rep_host *host, struct rep_host *probe,
                         const volatile sig_atomic_t *flag)
{
    return copy_start(host, probe, AGT_FORK_PROBE, flag);
}

int rep_host_branch_start(struct rep_host *host, struct rep_host *branch,
                          const volatile sig_atomic_t *flag)
{
    return copy_start(host, branch, AGT_FORK_BRANCH, flag);
}

void rep_host_probe_stop(struct rep_host *probe)
{
    siginfo_t info;
    if (probe->pidfd < 0)
        return;
    syscall(SYS_pidfd_send_signal, probe->pidfd, SIGKILL, NULL, 0);
    while (waitid((idtype_t)P_PIDFD, (id_t)probe->pidfd, &info, WEXITED) && errno == EINTR)
        ;
    close(probe->pidfd);
    probe->pidfd = -1;
}
