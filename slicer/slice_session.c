/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/slice_session.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include "slicer/forward/answers.h"
#include "slicer/forward/passage.h"
#include "slicer/scan/station.h"

int wetdbg_slice_session_new(struct wetdbg *wet, struct wetdbg_slice_session **out)
{
    struct wetdbg_slice_session *session = calloc(1, sizeof(*session));

    if (!session)
        return -ENOMEM;
    session->wet = wet;
    session->interval_count = wetdbg_get_info(wet)->intervals;
    session->users = 1;
    session->stretch_bits = SLC_STRETCH_BITS;
    session->join_mask = SLC_JOIN_MASK;
    *out = session;
    return 0;
}

void slc_session_hold(struct wetdbg_slice_session *session)
{
    assert(session->users);
    session->users++;
}

void wetdbg_slice_session_free(struct wetdbg_slice_session *session)
{
    if (!session || --session->users)
        return;
    slc_answers_free(session);
    for (unsigned i = 0; i < SLC_SESSION_CODES; i++)
        slc_code_fini(&session->codes[i]);
    slc_stations_free(session);
    slc_passages_free(session->passages);
    for (size_t i = 0; i < session->spare_count; i++)
        free(session->spares[i].bits);
    free(session->spares);
    for (unsigned i = 0; i < 2; i++)
        free(session->refusals[i].pops);
    slc_lengths_fini(&session->lengths);
    slc_pops_fini(&session->pops);
    slc_channels_free(session->channels);
    free(session);
}

uint64_t *slc_session_bits(struct wetdbg_slice_session *session, size_t words)
{
    assert(words);
    for (size_t i = session->spare_count; i-- > 0;) {
        struct slc_spare spare = session->spares[i];
        if (spare.words != words)
            continue;
        session->spares[i] = session->spares[--session->spare_count];
        session->spare_words -= words;
        memset(spare.bits, 0, words * sizeof(*spare.bits));
        return spare.bits;
    }
    return calloc(words, sizeof(uint64_t));
}

void slc_session_give_bits(struct wetdbg_slice_session *session, uint64_t *bits, size_t words)
{
    assert(bits && words);
    if (session->spare_words + words > SLC_SPARE_WORDS ||
        wd_grow(session->spares, session->spare_capacity, session->spare_count + 1)) {
        free(bits);
        return;
    }
    session->spares[session->spare_count++] = (struct slc_spare){bits, words};
    session->spare_words += words;
}

struct slc_code *slc_session_code(struct wetdbg_slice_session *session, enum slc_session_code which,
                                  bool no_exits)
{
    struct slc_code *code = &session->codes[which + (no_exits ? SLC_CODE_KINDS : 0)];

    assert(which < SLC_CODE_KINDS);
    if (!code->wet) {
        int err =
            slc_code_init(code, session->wet, which != SLC_CODE_USERS, which != SLC_CODE_PLAIN);
        code->session = session;
        code->no_exits = no_exits;
        if (err) {
            slc_code_fini(code);
            return NULL;
        }
    }
    slc_code_clear_tallies(code);
    if (code->is_outdated)
        slc_code_forget(code);
    return code;
}

/* ---- what is true of the run, whatever a slice wants ---- */

int slc_session_channels(struct wetdbg_slice_session *session, struct slc_channels **channels)
{
    int err = session->channels ? 0 : slc_channels_make(session->wet, &session->channels);

    *channels = session->channels;
    return err;
}

static bool is_loaded(struct wetdbg_model *model, uint64_t pc, struct wetdbg_function *function)
{
    return wetdbg_function_at(model, pc, function) == 0;
}

int slc_tell_jumps(struct wetdbg *wet)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_function from, to;
    size_t count;
    const struct wetdbg_jump *jumps = wetdbg_jumps(wet, &count);

    for (size_t i = 0; i < count; i++)
        if (is_loaded(model, jumps[i].jump, &from) && is_loaded(model, jumps[i].target, &to) &&
            slc_code_is_inner_jump(&from, &to, jumps[i].target) &&
            mdl_add_indirect_target(model, jumps[i].jump, jumps[i].target) == -ENOMEM)
            return -ENOMEM;
    return 0;
}

int slc_session_tell_jumps(struct wetdbg_slice_session *session)
{
    int err = session->has_told_jumps ? 0 : slc_tell_jumps(session->wet);

    session->has_told_jumps |= !err;
    return err;
}

int slc_session_refuse(struct wetdbg_slice_session *session, bool follows_loader,
                       const wetdbg_time *pops, size_t count)
{
    struct slc_refusals *known = &session->refusals[follows_loader];
    wetdbg_time *refused = malloc((count + 1) * sizeof(*refused));

    if (!refused)
        return -ENOMEM;
    for (size_t i = 0, own = 0; i < count; i++) {
        refused[i] = pops[i];
        while (own < known->count && known->pops[own] < pops[i])
            own++;
        if (own == known->count || known->pops[own] != pops[i])
            slc_stretches_forget(session, wetdbg_interval_at(session->wet, pops[i]));
    }
    free(known->pops);
    known->pops = refused;
    known->count = count;
    return 0;
}
