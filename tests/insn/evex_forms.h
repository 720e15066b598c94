/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions of AVX-512, one of each form, and a file that lists them with a hash of the
 * description that each has. Few machines have AVX-512; the list says which descriptions one has
 * confirmed.
 */
#ifndef TESTS_INSN_EVEX_FORMS_H
#define TESTS_INSN_EVEX_FORMS_H

#include <stdbool.h>
#include <stdio.h>

#include "oracle_forms.h"

struct evex_form {
    struct oracle_form form;
    uint32_t hash;
    bool is_verified;
};

struct evex_list {
    struct wd_buf forms; /* struct evex_form */
};

void evex_list_fini(struct evex_list *list);
size_t evex_list_count(const struct evex_list *list);
struct evex_form *evex_list_at(const struct evex_list *list, size_t i);

/* Adds all forms that the decoder knows, none verified. 0 or -ENOMEM. */
int evex_list_generate(struct evex_list *list);

/* Adds the lines of a file. 0, a negative errno, or -EINVAL for a line that is none. */
int evex_list_read(struct evex_list *list, const char *path);

/* Prints a form as one line: the code, the hash, and "?" if that is not verified. */
void evex_form_print(const struct evex_form *form, FILE *out);

/* The hash of all that insn.h tells of the instruction but for numbers that another decoder may
 * give it. */
uint32_t evex_description_hash(const struct oracle_form *form);

#endif
