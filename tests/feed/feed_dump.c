/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For developers: runs the feed over a recording and checks what comes out.
 *
 *     feed_dump [-p] DIR [PROCESS]     -p: print the entries
 *     feed_dump -a DIR                 every process
 *
 * Prints one line of counts each; status 1 and the reason if the recording is refused or an entry
 * makes no sense.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/feed/feed_simulator.h"
#include <wetdbg/errors.h>

static int take_all(struct simulator *sim, const struct wd_buf *buf, const char *dir, bool prints)
{
    for (size_t at = 0; at < buf->size_bytes;) {
        const struct evq_entry *entry = (const void *)(buf->data + at);
        int err = evq_entry_check(entry, buf->size_bytes - at);
        if (err)
            return err;
        if (prints)
            rep_entry_print(entry, stdout);
        const char *wrong = simulator_take(sim, entry);
        at += entry->bytes;
        if (!wrong && at == buf->size_bytes && entry->kind != EVQ_TASK_EXIT)
            wrong = simulator_compare_maps(sim, dir, entry->frame);
        if (wrong)
            return wetdbg_fail(-WETDBG_ERR_CORRUPT, "the entry for frame %llu: %s",
                               (unsigned long long)entry->frame, wrong);
    }
    return 0;
}

static int run(struct rep_feed *feed, const char *dir, bool prints)
{
    struct simulator *sim = simulator_new(feed);
    struct wd_buf buf = {0};
    int err;
    while ((err = rep_feed_next(feed, &buf)) == 1) {
        err = take_all(sim, &buf, dir, prints);
        buf.size_bytes = 0;
        if (err)
            break;
    }
    const struct simulator_counts *counts = simulator_counts(sim);
    printf("%d %s: %u calls, %u faults, %u traps, %u places (%u searched, %u with digests), "
           "%u more tasks, %u at once, status %#x signal %d, mappings compared at %u frames\n",
           rep_feed_info(feed)->pid, rep_feed_info(feed)->exe, counts->entries[EVQ_SYSCALL_ENTER],
           counts->entries[EVQ_FAULT], counts->entries[EVQ_TRAP], counts->entries[EVQ_PLACE],
           counts->places_searched, counts->places_with_digests, counts->ops[EVQ_OP_TASK_NEW],
           counts->tasks_at_once, rep_feed_info(feed)->wait_status,
           rep_feed_info(feed)->fatal_signal, counts->maps_compared);
    simulator_free(sim);
    wd_buf_fini(&buf);
    return err;
}

static int run_one(struct wetdbg_recording *trace, const char *process, bool prints)
{
    struct rep_selection which;
    struct rep_feed *feed;
    int err = rep_selection_parse(process, &which);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (!err) {
        err = run(feed, rrt_trace_dir(trace), prints);
        rep_feed_close(feed);
    }
    if (err)
        printf("%s: %s\n", process ? process : "default", wetdbg_error(err));
    return err;
}

static int run_all(struct wetdbg_recording *trace)
{
    const struct wetdbg_process *list;
    size_t count;
    int err = wetdbg_recording_processes(trace, &list, &count);
    for (size_t i = 0; i < count && err != -WETDBG_ERR_CORRUPT; i++) {
        char process[32];
        snprintf(process, sizeof(process), "%d", list[i].pid);
        int one = run_one(trace, process, false);
        err = one ? one : err;
    }
    return err;
}

int main(int argc, char **argv)
{
    struct wetdbg_recording *trace;
    bool prints = argc > 1 && !strcmp(argv[1], "-p"), all = argc > 1 && !strcmp(argv[1], "-a");
    char **words = argv + (prints || all);
    if (argc - (prints || all) < 2)
        return 2;
    int err = wetdbg_recording_open(words[1], &trace);
    if (err) {
        printf("%s\n", wetdbg_error(err));
        return 1;
    }
    err = all ? run_all(trace) : run_one(trace, words[2], prints);
    wetdbg_recording_close(trace);
    return err ? 1 : 0;
}
