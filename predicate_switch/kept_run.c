/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/kept_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <xxhash.h>

#include "recorder/event/ops.h"
#include "wet/build/build_wet.h"
#include "wet/trace/records.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>

#define FINGERPRINT_BYTES 512
#define INFO_ADDRESS      16 /* in a siginfo_t */

void psw_kept_fini(struct psw_kept *kept)
{
    wd_buf_fini(&kept->before);
    wd_buf_fini(&kept->entries);
}

int psw_kept_join(const struct psw_kept *kept, struct wd_buf *out)
{
    const struct wd_buf *since = &kept->entries;
    int err = wd_buf_append(out, kept->before.data, kept->before.size_bytes);
    for (size_t at = 0; !err && at < since->size_bytes;) {
        at += sizeof(struct wet_entry_record);
        const struct evq_entry *entry = (const struct evq_entry *)(since->data + at);
        err = wd_buf_append(out, entry, entry->bytes);
        at += entry->bytes;
    }
    return err;
}

/* The last fault since the change, or NULL. */
static const struct evq_entry *last_fault(const struct psw_kept *kept)
{
    const struct wd_buf *since = &kept->entries;
    const struct evq_entry *fault = NULL;
    for (size_t at = 0; at < since->size_bytes;) {
        at += sizeof(struct wet_entry_record);
        const struct evq_entry *entry = (const struct evq_entry *)(since->data + at);
        if (entry->kind == EVQ_FAULT)
            fault = entry;
        at += entry->bytes;
    }
    return fault;
}

/* With si_code and si_addr of the signal that ended it. */
static void siginfo_make(uint8_t siginfo[128], int signal, const struct evq_entry *fault)
{
    bool is_it = fault && fault->number == signal;
    const int32_t head[3] = {signal, 0, is_it ? (int32_t)fault->code : 0};
    memcpy(siginfo, head, sizeof(head));
    if (is_it)
        memcpy(siginfo + INFO_ADDRESS, &fault->address, sizeof(fault->address));
}

/* 16 digits that come of the recording and of the change, and the change. */
static void fingerprint_make(const struct wetdbg *wet, const char *change, wetdbg_time time,
                             char out[FINGERPRINT_BYTES])
{
    char text[2 * FINGERPRINT_BYTES];
    int length = snprintf(text, sizeof(text), "%.450s %llu %.450s", wet_whole_fingerprint(wet),
                          (unsigned long long)time, change);
    snprintf(out, FINGERPRINT_BYTES, "%016llx what-if %.400s",
             (unsigned long long)XXH64(text, (size_t)length, 0), change);
}

static int branch_write(struct wetdbg *wet, const struct wet_whole_run *run, const char *change,
                        wetdbg_time time, const char *path)
{
    char fingerprint[FINGERPRINT_BYTES];
    struct wet_build_result built;
    struct wet_branch *branch;
    int err = wet_branch_open(wet, run, &branch);
    if (err)
        return err;
    fingerprint_make(wet, change, time, fingerprint);
    const struct wet_branch_of of = {.path = wet_whole_path(wet),
                                     .fingerprint = wet_whole_fingerprint(wet),
                                     .change = change,
                                     .time = time};
    const struct wet_build_options options = {.fingerprint = fingerprint,
                                              .branch = &of,
                                              .side_by_side = WET_SIDE_NEVER,
                                              .interrupted = wet_whole_interrupted(wet),
                                              .is_once = true};
    err = wet_build(wet_branch_feed(branch), path, &options, &built);
    wet_branch_close(branch);
    return err;
}

/* Whether a path leads to the file that is open, whose place the kept run would take. */
static bool is_own_file(const struct wetdbg *wet, const char *path)
{
    struct stat own, there;
    return stat(wet_whole_path(wet), &own) == 0 && stat(path, &there) == 0 &&
           own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

int psw_kept_write(struct wetdbg *wet, const struct psw_kept *kept, const struct psw_result *result,
                   const char *change, wetdbg_time time, const char *path)
{
    struct wd_buf entries = {0};
    struct wet_whole_run run = {.entries = &entries, .wait_status = result->status};
    if (result->end != PSW_EXIT)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "%s: the run did not come to its end (%s), so it is not kept", path,
                           result->reason);
    if (is_own_file(wet, path))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s is the file that is open: a run that is kept needs another one",
                           path);
    int err = psw_kept_join(kept, &entries);
    if (!err && WIFSIGNALED(result->status)) {
        run.fatal_signal = WTERMSIG(result->status);
        siginfo_make(run.fatal_siginfo, run.fatal_signal, last_fault(kept));
    }
    if (!err)
        err = branch_write(wet, &run, change, time, path);
    wd_buf_fini(&entries);
    return err;
}
