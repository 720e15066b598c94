/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is kept from one slice of a run for the next. */
#ifndef SLICER_SESSION_H
#define SLICER_SESSION_H

#include "slicer/code.h"

/* Scans that keep no users, with address edges or without; scans that do. */
enum slc_session_code {
    SLC_CODE_PLAIN,
    SLC_CODE_ADDRESSES,
    SLC_CODE_USERS,
    SLC_SESSION_CODES,
};

struct slc_session {
    struct wet *wet;
    unsigned users;                           /* its holder, and each slice */
    struct slc_code codes[SLC_SESSION_CODES]; /* wet is NULL until one is needed */
};

/* One user more. */
void slc_session_hold(struct slc_session *session);

/* The code for a kind of scan, without counts; NULL if memory is short. */
struct slc_code *slc_session_code(struct slc_session *session, enum slc_session_code which);

#endif
