/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay_driver TRACE [plain|count|collect] [PROCESS]: replays and prints counts, for tests. */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "dbgcli/exit_status.h"
#include "recorder/feed/feed.h"
#include "recorder/replay/engine.h"
#include "recorder/replay/start.h"
#include <wetdbg/errors.h>

static int feed_next(void *arg, struct wd_buf *out)
{
    return rep_feed_next(arg, out);
}

static int line_count(void *arg, uint64_t address, const uint8_t *bytes)
{
    (void)address;
    (void)bytes;
    ++*(uint64_t *)arg;
    return 0;
}

int main(int argc, char **argv)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_engine *engine = NULL;
    struct rep_selection which = {0};
    const char *mode_name = argc > 2 ? argv[2] : "plain";
    enum dbi_mode mode = !strcmp(mode_name, "count")     ? DBI_COUNT
                         : !strcmp(mode_name, "collect") ? DBI_COLLECT
                                                         : DBI_PLAIN;
    if (argc < 2)
        return 2;
    int err = rep_selection_parse(argc > 3 ? argv[3] : NULL, &which);
    if (!err)
        err = wetdbg_recording_open(argv[1], &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err)
        err = rep_engine_from_feed(feed, mode, &engine);
    double start = wd_seconds();
    struct rep_source source = {.next = feed_next, .arg = feed};
    enum rep_stop why = REP_STOP_TIME;
    uint64_t stops = 0, lines = 0, ring = 0;
    while (!err && why == REP_STOP_TIME) {
        err = rep_engine_run(engine, &source, 4 << 20, false, &why);
        stops++;
        if (!err && mode == DBI_COUNT)
            err = rep_engine_lines(engine, line_count, &lines);
        size_t bytes = 0;
        if (!err && mode == DBI_COLLECT)
            rep_engine_ring(engine, &bytes);
        ring += bytes;
    }
    double seconds = wd_seconds() - start;
    if (engine)
        printf("instructions %llu events %llu stops %llu lines %llu ring %llu fragments %u seconds "
               "%.3f\n",
               (unsigned long long)rep_engine_time(engine),
               (unsigned long long)rep_engine_entries(engine), (unsigned long long)stops,
               (unsigned long long)lines, (unsigned long long)ring,
               rep_engine_fragment_count(engine), seconds);
    if (err)
        fprintf(stderr, "error: %s\n", wetdbg_error(err));
    rep_engine_free(engine);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return cli_exit_status(err);
}
