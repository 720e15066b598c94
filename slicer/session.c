/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/session.h"

#include <errno.h>
#include <stdlib.h>

int slc_session_new(struct wet *wet, struct slc_session **out)
{
    struct slc_session *session = calloc(1, sizeof(*session));

    if (!session)
        return -ENOMEM;
    session->wet = wet;
    session->users = 1;
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
