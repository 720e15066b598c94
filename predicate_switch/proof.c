/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/proof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/array.h"
#include "predicate_switch/align.h"
#include "predicate_switch/kept_run.h"
#include "predicate_switch/reading.h"
#include "predicate_switch/switcher.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>

#define MEMORY (UINT64_C(256) << 20) /* bytes of a switched run that are kept while it is asked */

/* ---- the private directory ---- */

/* Makes one, of which nothing is left once a run's file is open. 0 or -errno, explained. */
static int make_directory(char directory[64])
{
    const char *place = getenv("TMPDIR");
    int length =
        snprintf(directory, 64, "%s/wetdbg-XXXXXX", place && *place == '/' ? place : "/tmp");

    if (length >= 64)
        strcpy(directory, "/tmp/wetdbg-XXXXXX");
    return mkdtemp(directory) ? 0 : wetdbg_fail_errno("%s", directory);
}

/* ---- the switched run ---- */

struct switched {
    struct psw_kept kept;
    struct psw_result result;
    struct wd_buf output; /* to descriptor 1, all of the run */
    struct wetdbg *wet;
};

static int take_output(void *arg, const struct vk_output *output)
{
    struct switched *run = arg;

    return output->fd == 1 ? wd_buf_append(&run->output, output->bytes, output->size) : 0;
}

/* A condition is switched; the jump of a table is led elsewhere. */
static struct psw_change change_of(const struct psw_proving *proving,
                                   const struct wetdbg_candidate *candidate)
{
    bool is_table = proving->predicates->items[candidate->predicate].kind == WETDBG_PREDICATE_TABLE;

    return (struct psw_change){.kind = is_table ? PSW_JUMP : PSW_SWITCH,
                               .time = candidate->time,
                               .target = is_table ? candidate->to : 0};
}

/* Opens the run's file, which has no name any more then. */
static int open_kept(struct psw_proving *proving, struct switched *run, wetdbg_time time)
{
    char directory[64], path[sizeof(directory) + 16];
    int err = make_directory(directory);

    if (err)
        return err;
    snprintf(path, sizeof(path), "%s/run.wet", directory);
    err = psw_kept_write(proving->wet, &run->kept, &run->result, "switch", time, path);
    if (!err)
        err = wetdbg_open(path, &run->wet);
    unlink(path);
    rmdir(directory);
    if (err)
        return err;
    if (wet_whole_is_trusted(proving->wet)) /* else the program is somebody else's in both */
        wetdbg_trust(run->wet);
    wetdbg_set_memory(run->wet, MEMORY);
    return 0;
}

static int make_run(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
                    struct switched *run, char reason[96])
{
    const struct psw_change change = change_of(proving, candidate);
    const struct psw_settings settings = {.before = &run->kept.before,
                                          .entries = &run->kept.entries,
                                          .output = take_output,
                                          .arg = run};
    int err = 0;

    if (proving->options->expected)
        err = psw_session_output_read(proving->session, 1, candidate->time, &run->output);
    if (!err)
        err = psw_run(proving->session, &change, &settings, &run->result);
    if (err || run->result.end == PSW_EXIT)
        return err ? err : open_kept(proving, run, candidate->time);
    snprintf(reason, 96, "%.95s", *run->result.reason ? run->result.reason : "the run did not end");
    return 0;
}

static void forget_run(struct switched *run)
{
    if (run->wet)
        wetdbg_close(run->wet);
    psw_kept_fini(&run->kept);
    wd_buf_fini(&run->output);
}

/* ---- uses ---- */

static int add_item(struct psw_proof *proof, const struct wetdbg_implicit *item)
{
    if (wd_grow(proof->items, proof->capacity, proof->count + 1))
        return -ENOMEM;
    proof->items[proof->count++] = *item;
    return 0;
}

/* Compares what a use read with what its counterpart, if it has one, reads; *is_known is false if
 * that cannot be told. */
static int compare_use(struct psw_proving *proving, const struct switched *run,
                       const struct psw_use *use, const struct psw_counterpart *counterpart,
                       struct wetdbg_implicit *item, bool *is_edge, bool *is_known)
{
    struct psw_reading was, is;
    int err = psw_reading_take(proving->wet, use, &was);

    *is_edge = counterpart->fate != PSW_MET;
    *is_known = true;
    if (!err && counterpart->fate == PSW_MET) {
        err = psw_reading_take_like(run->wet, counterpart->there, &was, &is);
        *is_known = is.size != 0;
        *is_edge = !err && memcmp(was.bytes, is.bytes, was.size) != 0;
    }
    if (err || !*is_edge)
        return err;
    item->edge.use = use->time;
    item->effect = counterpart->fate == PSW_MET ? WETDBG_IMPLICIT_VALUE : WETDBG_IMPLICIT_MISSING;
    item->use_pc = was.pc;
    item->location = was.location;
    item->address = was.location == WETDBG_LOCATION_NONE ? was.address + was.off : 0;
    item->size = was.size;
    memcpy(item->was, was.bytes, was.size);
    if (counterpart->fate == PSW_MET)
        memcpy(item->is, is.bytes, was.size);
    return 0;
}

/* Why nothing can be said of a use; NULL: something can. */
static const char *open_reason(const struct switched *run,
                               const struct psw_counterpart *counterpart)
{
    if (counterpart->fate == PSW_LOST)
        return "the runs could not be aligned";
    if (counterpart->fate == PSW_ENDED && WIFSIGNALED(run->result.status))
        return "the switched run ends by a signal before the use";
    return NULL;
}

static bool is_output_right(const struct psw_proving *proving, const struct switched *run)
{
    const struct wetdbg_implicit_options *options = proving->options;

    return options->expected && run->output.size_bytes == options->expected_size &&
           (!options->expected_size ||
            !memcmp(run->output.data, options->expected, options->expected_size));
}

static int compare_uses(struct psw_proving *proving, const struct switched *run,
                        const struct wetdbg_candidate *candidate, const struct psw_uses *uses,
                        struct psw_counterpart *counterparts, struct psw_proof *proof)
{
    int err = psw_align(proving->wet, run->wet, candidate->time, counterparts, uses->count);

    for (size_t i = 0; i < uses->count && !err; i++) {
        struct wetdbg_implicit item = {.proof = *candidate,
                                       .edge.predicate = candidate->time,
                                       .is_strong = is_output_right(proving, run)};
        const char *reason = open_reason(run, &counterparts[i]);
        bool is_edge = false, is_known = true;
        if (!reason)
            err = compare_use(proving, run, &uses->items[i], &counterparts[i], &item, &is_edge,
                              &is_known);
        if (!is_known)
            reason = "what a register holds is not known";
        if (reason)
            snprintf(proof->reason, sizeof(proof->reason), "%s", reason);
        if (!err && is_edge)
            err = add_item(proof, &item);
    }
    return err;
}

/* Those in the predicate's thread; at the failure itself nothing executes. */
static int choose_uses(const struct psw_proving *proving, const struct wetdbg_candidate *candidate,
                       const struct psw_uses *uses, struct psw_uses *chosen)
{
    const struct wetdbg_thread *thread = wetdbg_thread_at(proving->wet, candidate->time);

    for (size_t i = 0; i < uses->count; i++) {
        const struct psw_use *use = &uses->items[i];
        if (wetdbg_thread_at(proving->wet, use->time) != thread)
            continue;
        if (wd_grow(chosen->items, chosen->capacity, chosen->count + 1))
            return -ENOMEM;
        chosen->items[chosen->count++] = *use;
    }
    return 0;
}

static int prove(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
                 const struct psw_uses *uses, struct psw_proof *proof)
{
    struct switched run = {.wet = NULL};
    struct psw_counterpart *counterparts = calloc(uses->count, sizeof(*counterparts));
    int err = counterparts ? make_run(proving, candidate, &run, proof->reason) : -ENOMEM;

    for (size_t i = 0; i < uses->count && counterparts; i++)
        counterparts[i].time = uses->items[i].time;
    if (!err && run.wet)
        err = compare_uses(proving, &run, candidate, uses, counterparts, proof);
    forget_run(&run);
    free(counterparts);
    return err;
}

int psw_prove(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
              const struct psw_uses *uses, struct psw_proof *proof)
{
    struct psw_uses chosen = {.items = NULL};

    *proof = (struct psw_proof){.items = NULL};
    int err = choose_uses(proving, candidate, uses, &chosen);
    if (!err && chosen.count)
        err = prove(proving, candidate, &chosen, proof);
    else if (!err)
        snprintf(proof->reason, sizeof(proof->reason), "the uses are in other threads");
    free(chosen.items);
    return err;
}
