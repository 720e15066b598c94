/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "declared.h"

struct node {
    unsigned char other;
};

static struct node first = {0};
shared_type shared;

static inline int with_code_in_header(void)
{
    return first.other;
}

int other(void)
{
    return with_code_in_header() + shared.count - 3;
}
