/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/proof.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/array.h"
#include "predicate_switch/align.h"
#include "predicate_switch/kept_run.h"
#include "predicate_switch/switcher.h"
#include "slicer/descriptors.h"
#include <wetdbg/errors.h>

/* ---- the switched run ---- */

struct switched {
    struct psw_kept kept;
    struct psw_result result;
    const struct psw_proving *proving;
    struct wd_buf output;  /* to descriptor 1, all of the run */
    bool has_right_file;   /* the file that is asked about is as expected */
    struct wd_buf entries; /* the whole run's */
    bool is_there;         /* it has ended, and the tracer has taken it */
};

static int take_output(void *arg, const struct vk_output *output)
{
    struct switched *run = arg;

    return output->fd == 1 ? wd_buf_append(&run->output, output->bytes, output->size) : 0;
}

static bool is_expected(const struct psw_proving *proving, const void *bytes, size_t size)
{
    const struct wetdbg_implicit_options *options = proving->options;

    return options->expected && size == options->expected_size &&
           (!size || !memcmp(bytes, options->expected, size));
}

static bool is_file_right(const struct psw_proving *proving, struct vk_kernel *kernel, size_t index)
{
    char path[PATH_MAX];
    struct vk_file file;

    if (vk_kernel_file(kernel, index, &file, path, sizeof(path)) || file.is_gone ||
        file.size != proving->options->expected_size ||
        !slc_path_is(path, proving->options->expected_file))
        return false;
    void *bytes = malloc(file.size + 1);
    bool is_known = bytes && !vk_kernel_file_read(kernel, index, 0, bytes, file.size);
    bool is_right = is_known && is_expected(proving, bytes, file.size);
    free(bytes);
    return is_right;
}

/* What the run left. */
static void look_at_files(void *arg, struct vk_kernel *kernel)
{
    struct switched *run = arg;
    size_t count = vk_kernel_file_count(kernel);

    for (size_t i = 0; i < count && !run->has_right_file; i++)
        run->has_right_file = is_file_right(run->proving, kernel, i);
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

static int make_run(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
                    struct switched *run, char reason[96])
{
    const struct psw_change change = change_of(proving, candidate);
    const struct psw_settings settings = {.before = &run->kept.before,
                                          .entries = &run->kept.entries,
                                          .output = take_output,
                                          .ended = proving->options->expected_file ? look_at_files
                                                                                   : NULL,
                                          .arg = run};
    int err = 0;

    if (proving->options->expected && !proving->options->expected_file)
        err = psw_session_output_read(proving->session, 1, candidate->time, &run->output);
    if (!err)
        err = psw_run(proving->session, &change, &settings, &run->result);
    if (err)
        return err;
    if (run->result.end != PSW_EXIT) {
        const char *why = run->result.reason;
        snprintf(reason, 96, "%.95s", *why ? why : "the run did not end");
        return 0;
    }
    err = psw_kept_join(&run->kept, &run->entries);
    if (!err)
        err = psw_tracer_take(proving->tracer, &run->entries);
    run->is_there = !err;
    return err;
}

static void forget_run(struct switched *run)
{
    wd_buf_fini(&run->entries);
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
static int compare_use(struct psw_proving *proving, const struct psw_use *use,
                       const struct psw_counterpart *counterpart, struct wetdbg_implicit *item,
                       bool *is_edge, bool *is_known)
{
    struct psw_reading is = {.size = 1};
    const struct psw_reading *was;
    int err = psw_readings_get(&proving->readings, proving->wet, use, &was);

    if (!err && counterpart->fate == PSW_MET)
        err = psw_reading_take_like(proving->tracer, counterpart->there, was, &is);
    *is_known = err != -WETDBG_ERR_NOT_FOUND && was->size && is.size;
    if (err || !*is_known)
        return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    *is_edge = counterpart->fate != PSW_MET || memcmp(was->bytes, is.bytes, was->size) != 0;
    item->edge.use = use->time;
    item->effect = counterpart->fate == PSW_MET ? WETDBG_IMPLICIT_VALUE : WETDBG_IMPLICIT_MISSING;
    item->use_pc = was->pc;
    item->location = was->location;
    item->address = was->location == WETDBG_LOCATION_NONE ? was->address + was->off : 0;
    item->size = was->size;
    memcpy(item->was, was->bytes, was->size);
    if (counterpart->fate == PSW_MET)
        memcpy(item->is, is.bytes, was->size);
    return 0;
}

/* Why nothing can be said of a use; NULL: something can. */
static const char *open_reason(const struct switched *run,
                               const struct psw_counterpart *counterpart)
{
    if (counterpart->fate == PSW_ENDS)
        return "the switched run ends there, too";
    if (counterpart->fate == PSW_LOST)
        return "the runs could not be aligned";
    if (counterpart->fate == PSW_ENDED && WIFSIGNALED(run->result.status))
        return "the switched run ends by a signal before the use";
    return NULL;
}

static bool is_output_right(const struct psw_proving *proving, const struct switched *run)
{
    return proving->options->expected_file
               ? run->has_right_file
               : is_expected(proving, run->output.data, run->output.size_bytes);
}

/* Compares uses of one thread. */
static int compare_uses(struct psw_proving *proving, const struct switched *run,
                        const struct wetdbg_candidate *candidate, const struct psw_uses *uses,
                        const struct psw_counterpart *counterparts, struct psw_proof *proof)
{
    int err = 0;

    for (size_t i = 0; i < uses->count && !err; i++) {
        struct wetdbg_implicit item = {.proof = *candidate,
                                       .edge.predicate = candidate->time,
                                       .is_strong = is_output_right(proving, run)};
        const char *reason = open_reason(run, &counterparts[i]);
        bool is_edge = false, is_known = true;
        if (!reason)
            err =
                compare_use(proving, &uses->items[i], &counterparts[i], &item, &is_edge, &is_known);
        if (!is_known)
            reason = "what the use reads in the switched run is not known";
        if (reason)
            snprintf(proof->reason, sizeof(proof->reason), "%s", reason);
        if (!err && is_edge)
            err = add_item(proof, &item);
    }
    return err;
}

/* Aligns the runs of one thread, and compares its uses. */
static int prove_thread(struct psw_proving *proving, const struct switched *run,
                        const struct wetdbg_candidate *candidate,
                        const struct wetdbg_thread *thread, const struct psw_uses *uses,
                        struct psw_proof *proof)
{
    struct psw_counterpart *counterparts = calloc(uses->count, sizeof(*counterparts));

    if (!counterparts)
        return -ENOMEM;
    for (size_t i = 0; i < uses->count; i++)
        counterparts[i].time = uses->items[i].time;
    int err = psw_align(proving->wet, thread, proving->tracer, candidate->time, counterparts,
                        uses->count);
    if (!err)
        err = compare_uses(proving, run, candidate, uses, counterparts, proof);
    free(counterparts);
    return err;
}

/* ---- threads ---- */

/* The thread that executed a use, or was to; NULL: none did. */
static const struct wetdbg_thread *thread_of(const struct psw_proving *proving,
                                             const struct psw_use *use)
{
    return wetdbg_thread_at(proving->wet, use->time == proving->fault ? use->time - 1 : use->time);
}

/* Those of one thread. */
static int choose_uses(const struct psw_proving *proving, const struct wetdbg_thread *thread,
                       const struct psw_uses *uses, struct psw_uses *chosen)
{
    chosen->count = 0;
    for (size_t i = 0; i < uses->count; i++) {
        if (thread_of(proving, &uses->items[i]) != thread)
            continue;
        if (wd_grow(chosen->items, chosen->capacity, chosen->count + 1))
            return -ENOMEM;
        chosen->items[chosen->count++] = uses->items[i];
    }
    return 0;
}

/* Whether a thread was there at the switch: then the same one is in its slot in both runs. */
static bool is_common(const struct wetdbg_thread *thread, wetdbg_time time)
{
    return thread->start <= time;
}

static int prove_threads(struct psw_proving *proving, const struct switched *run,
                         const struct wetdbg_candidate *candidate, const struct psw_uses *uses,
                         struct psw_proof *proof)
{
    struct psw_uses chosen = {.items = NULL};
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(proving->wet, &count);
    int err = 0;

    for (size_t i = 0; i < count && !err; i++) {
        if (!is_common(&threads[i], candidate->time))
            continue;
        err = choose_uses(proving, &threads[i], uses, &chosen);
        if (!err && chosen.count)
            err = prove_thread(proving, run, candidate, &threads[i], &chosen, proof);
    }
    free(chosen.items);
    return err;
}

/* Whether at least one use can be looked for; says why one cannot. At the failure itself nothing
 * executes, but for the instruction that faulted. */
static bool has_uses(const struct psw_proving *proving, const struct wetdbg_candidate *candidate,
                     const struct psw_uses *uses, char reason[96])
{
    bool is_there = false, is_later = false;

    for (size_t i = 0; i < uses->count; i++) {
        const struct wetdbg_thread *thread = thread_of(proving, &uses->items[i]);
        is_there |= thread && is_common(thread, candidate->time);
        is_later |= thread && !is_common(thread, candidate->time);
    }
    if (is_later || !is_there)
        snprintf(reason, 96, "%s",
                 is_later ? "a use is in a thread that begins after the switch"
                          : "the uses are where the run ends");
    return is_there;
}

int psw_prove(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
              const struct psw_uses *uses, struct psw_proof *proof)
{
    struct switched run = {.proving = proving};
    int err = 0;

    *proof = (struct psw_proof){.items = NULL};
    if (!has_uses(proving, candidate, uses, proof->reason))
        return 0;
    if (!proving->tracer)
        err = psw_tracer_new(proving->wet, &proving->tracer);
    if (!err)
        err = make_run(proving, candidate, &run, proof->reason);
    proof->is_tried = !err;
    if (!err && run.is_there)
        err = prove_threads(proving, &run, candidate, uses, proof);
    forget_run(&run);
    return err;
}

void psw_proving_fini(struct psw_proving *proving)
{
    psw_tracer_free(proving->tracer);
    psw_readings_fini(&proving->readings);
}
