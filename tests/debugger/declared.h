/* SPDX-License-Identifier: GPL-3.0-or-later */
typedef struct shared {
    short count;
} shared_type;

extern shared_type shared;
int other(void);
