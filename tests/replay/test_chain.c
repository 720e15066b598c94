/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a recording could take over its replay: a program stores what it read where it read, and
 * somebody has changed what it read. Here the store hits where translated code goes when it leaves
 * for the agent. With the wall it is a fault that was not recorded; without, the replayee runs
 * wild, and is confined. Either way there is one sentence, and no harm done.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/event/ops.h"
#include "recorder/replay/start.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

#define PAIRS 4

#define PATIENCE 20 /* seconds: what runs wild may run for ever */

static char *recording;
static pid_t canary;
static volatile sig_atomic_t interrupted;

static void on_alarm(int signo)
{
    (void)signo;
    interrupted = 1;
}

struct altered {
    struct rep_feed *feed;
    uint64_t address, value; /* what pairs become */
    unsigned changed;
};

/* The entries, but that each pair the program reads has another address and value. */
static void ops_alter(struct altered *altered, struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        uint64_t *pair = (uint64_t *)evq_op_payload(op);
        if (op->op == EVQ_OP_WRITE && op->range.size == 16 && pair[0] - STORES_AT < 4096) {
            pair[0] = altered->address;
            pair[1] = altered->value;
            altered->changed++;
        }
    }
}

static int altered_next(void *arg, struct wd_buf *out)
{
    struct altered *altered = arg;
    size_t from = out->size_bytes;
    int more = rep_feed_next(altered->feed, out);
    for (size_t at = from; altered->address && more > 0 && at < out->size_bytes;) {
        struct evq_entry *entry = (struct evq_entry *)(out->data + at);
        ops_alter(altered, entry);
        at += entry->bytes;
    }
    return more;
}

/* Where the context of an engine of this process is in its replayee; 0: not found. */
static uint64_t context_address(pid_t pid)
{
    char path[64], line[512];
    unsigned long long start, found = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        if (!found && strstr(line, "memfd:wetdbg (deleted)") && sscanf(line, "%llx", &start) == 1)
            found = start;
    }
    fclose(maps);
    return found;
}

/* What becomes of a store of `value` at `off` in the context; 0: of no such store. */
static int replay(bool is_trusted, enum dbi_mode mode, uint64_t off, uint64_t value)
{
    struct unit_replay replay;
    struct rep_start start;
    enum rep_stop why = REP_STOP_TIME;
    unit_check(unit_open(&replay, recording, NULL, mode), "open");
    rep_engine_free(replay.engine);
    unit_check(rep_start_init(&start, replay.feed, mode), "start");
    start.setup.is_trusted = is_trusted;
    unit_check(rep_engine_new(&start.setup, &replay.engine), "engine");
    uint64_t context = context_address(rep_engine_pid(replay.engine));
    assert_int_not_equal(context, 0);
    struct altered altered = {
        .feed = replay.feed, .address = off ? context + off : 0, .value = value};
    struct rep_source source = {.next = altered_next, .arg = &altered};
    int err = 0;
    interrupted = 0;
    alarm(PATIENCE);
    rep_engine_watch(replay.engine, &interrupted);
    while (!err && why == REP_STOP_TIME)
        err = rep_engine_run(replay.engine, &source, 1 << 20, false, &why);
    alarm(0);
    assert_true(!off || altered.changed);
    unit_close(&replay);
    rep_start_fini(&start);
    assert_int_equal(kill(canary, 0), 0);
    assert_int_equal(waitpid(canary, NULL, WNOHANG), 0);
    return err;
}

static void unaltered_recording_replays(void **state)
{
    (void)state;
    unit_check(replay(false, DBI_PLAIN, 0, 0), "behind the wall");
    unit_check(replay(true, DBI_PLAIN, 0, 0), "without it");
}

static void store_to_the_exit_is_a_fault_behind_the_wall(void **state)
{
    static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};
    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(replay(false, modes[i], AGT_CTX_AGENT_EXIT, 0x400000),
                         -WETDBG_ERR_DIVERGED);
        if (!strstr(wetdbg_error(-WETDBG_ERR_DIVERGED), "a fault"))
            fail_msg("%s", wetdbg_error(-WETDBG_ERR_DIVERGED));
    }
}

static void store_to_the_exit_without_the_wall_is_confined(void **state)
{
    static const uint64_t targets[] = {0, 1, 0x400000, 0x7fffffffffff, UINT64_MAX, 1ull << 63};
    unsigned blamed = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        int err = replay(true, DBI_PLAIN, AGT_CTX_AGENT_EXIT, targets[i]);
        assert_int_not_equal(err, 0);
        const char *message = wetdbg_error(err);
        assert_true(*message);
        /* what it comes to next is nothing of ours: the program led there */
        if (strstr(message, "a defect of wetdbg") &&
            !strstr(message, "where its recording is trusted"))
            fail_msg("%s", message);
        blamed += strstr(message, "where its recording is trusted") != NULL;
    }
    assert_true(blamed > 0);
}

/* The mailbox, too, is within reach without the wall: the process number that was read from there
 * is the canary's. */
static void store_to_the_mailbox_without_the_wall_harms_nobody(void **state)
{
    (void)state;
    for (uint64_t off = offsetof(struct agt_ctx, mail); off < offsetof(struct agt_ctx, cpuid);
         off += 8) {
        if (off / 8 != offsetof(struct agt_ctx, mail.turn) / 8) /* it is its own turn there */
            replay(true, DBI_PLAIN, off, (uint64_t)canary);
    }
}

static int recording_make(void **state)
{
    uint64_t pairs[PAIRS][2];
    char path[512];
    signal(SIGALRM, on_alarm);
    unit_work_new(state);
    for (unsigned i = 0; i < PAIRS; i++) {
        pairs[i][0] = STORES_AT + 8ull * i;
        pairs[i][1] = i + 1;
    }
    snprintf(path, sizeof(path), "%s/pairs", unit_work);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, pairs, sizeof(pairs)), sizeof(pairs));
    close(fd);
    recording = unit_record(unit_work, "stores", (const char *const[]){GUEST, path, NULL});
    canary = fork();
    while (canary == 0)
        pause();
    return canary < 0;
}

static int recording_forget(void **state)
{
    if (canary > 0) {
        kill(canary, SIGKILL);
        waitpid(canary, NULL, 0);
    }
    free(recording);
    return unit_work_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unaltered_recording_replays),
        cmocka_unit_test(store_to_the_exit_is_a_fault_behind_the_wall),
        cmocka_unit_test(store_to_the_exit_without_the_wall_is_confined),
        cmocka_unit_test(store_to_the_mailbox_without_the_wall_harms_nobody),
    };
    return cmocka_run_group_tests_name("chain", tests, recording_make, recording_forget);
}
