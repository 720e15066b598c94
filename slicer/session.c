/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/session.h"

#include <errno.h>
#include <stdlib.h>

#include "slicer/stretch.h"

int slc_session_new(struct wet *wet, struct slc_session **out)
{
    struct slc_session *session = calloc(1, sizeof(*session));

    if (!session)
        return -ENOMEM;
    session->wet = wet;
    session->interval_count = wet_get_info(wet)->intervals;
    session->users = 1;
    session->stretch_bits = SLC_STRETCH_BITS;
    *out = session;
    return 0;
}

void slc_session_hold(struct slc_session *session)
{
    session->users++;
}

void slc_session_free(struct slc_session *session)
{
    if (!session || --session->users)
        return;
    for (unsigned i = 0; i < SLC_SESSION_CODES; i++)
        slc_code_fini(&session->codes[i]);
    slc_stretches_forget(session, UINT64_MAX);
    for (uint64_t k = 0; session->places && k < session->interval_count; k++)
        free(session->places[k]);
    free(session->places);
    free(session->refused);
    free(session->learnt);
    free(session);
}

struct slc_code *slc_session_code(struct slc_session *session, enum slc_session_code which)
{
    struct slc_code *code = &session->codes[which];

    if (!code->wet) {
        int error =
            slc_code_init(code, session->wet, which != SLC_CODE_USERS, which != SLC_CODE_PLAIN);
        code->session = session;
        if (error) {
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

bool slc_session_has_learnt(const struct slc_session *session, uint64_t interval)
{
    return session->learnt && session->learnt[interval / 8] >> (interval % 8) & 1;
}

int slc_session_learnt(struct slc_session *session, uint64_t interval)
{
    if (!session->learnt && !(session->learnt = calloc(session->interval_count / 8 + 1, 1)))
        return -ENOMEM;
    session->learnt[interval / 8] |= (uint8_t)(1u << (interval % 8));
    return 0;
}

int slc_session_refuse(struct slc_session *session, const wet_time *pops, size_t count)
{
    wet_time *refused = malloc((count + 1) * sizeof(*refused));

    if (!refused)
        return -ENOMEM;
    for (size_t i = 0, own = 0; i < count; i++) {
        refused[i] = pops[i];
        while (own < session->refused_count && session->refused[own] < pops[i])
            own++;
        if (own == session->refused_count || session->refused[own] != pops[i])
            slc_stretches_forget(session, wet_interval_at(session->wet, pops[i]));
    }
    free(session->refused);
    session->refused = refused;
    session->refused_count = count;
    return 0;
}
