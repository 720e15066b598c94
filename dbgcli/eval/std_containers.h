/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of libstdc++ that hold other values: what they hold, in their order, as gdb's printers of
 * that library show it. */
#ifndef DBGCLI_EVAL_STD_CONTAINERS_H
#define DBGCLI_EVAL_STD_CONTAINERS_H

#include "dbgcli/eval/value.h"

/* What stands before each value that is held. */
enum cli_std_labels {
    CLI_STD_BARE,     /* nothing */
    CLI_STD_NUMBERED, /* [0] = */
    CLI_STD_KEYED,    /* [key] = */
    CLI_STD_NAMED,    /* `label` =, which is that of the value given out last */
};

/* A value that is held; of a map with the key that it has. */
struct cli_std_held {
    struct cli_value key, value;
};

/* A container, and where in it the next value is. */
struct cli_std_container {
    const struct cli_std_class *class;
    struct cli_moment *moment;
    struct cli_value whole;
    struct wetdbg_type type; /* of what it holds */
    char title[400];         /* "std::map with 3 elements"; of a pair "" */
    enum cli_std_labels labels;
    const char *label;
    unsigned first_number;
    uint64_t count, index;     /* how many there are, and which one is next */
    uint64_t at, end, segment; /* of the next one: what they are depends on the class */
};

/* Takes a value, whose type is named as cli_std_value() does, for a container. False if its class
 * is none of these, or if it does not look like one (anything may be in memory that was not
 * constructed yet); a message may be left. */
bool cli_std_container_open(struct cli_moment *moment, const struct cli_value *value,
                            struct cli_std_container *container);

/* The next value that is held: 1; 0 behind the last one; or an error. */
int cli_std_container_next(struct cli_std_container *container, struct cli_std_held *held);

#endif
