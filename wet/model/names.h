/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names as people write them: demangled from the linker's, and matched against what is typed. */
#ifndef WET_MODEL_NAMES_H
#define WET_MODEL_NAMES_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>

struct wetdbg_model;

enum mdl_name_style {
    /* "ns::box<int>::get": no parameters, no result, no default template arguments of std, and
     * std::string for what it stands for; a clone's suffix stays */
    MDL_NAME_PLAIN,
    MDL_NAME_FULL /* "ns::box<int>::get(long) const" */
};

/*
 * Demangles a linker's name of C++ or Rust, also one of a stub ("_Z1fv@plt"). The name itself if
 * it is not mangled, or is longer than anybody reads; NULL if memory is short. Interned.
 */
const char *mdl_name_demangle(struct wetdbg_model *model, const char *linkage,
                              enum mdl_name_style style);

/* Leaves out std's default template arguments, in place; "std::vector<std::string>". */
void mdl_name_abbreviate(char *text);

/* Whether a name may be a mangled one. */
int mdl_name_is_mangled(const char *name);

/* Compiles a POSIX extended expression that names are to match, for regfree().
 * -WETDBG_ERR_USAGE with the reason. */
int mdl_name_regex(const char *text, regex_t *regex);

/* The part behind the last "::" that is in no template argument; without arguments itself. */
const char *mdl_name_last_part(const char *name);

/* A function's name as somebody typed it. */
struct mdl_name_pattern {
    char *text;         /* without what a person leaves out */
    const char *typed;  /* borrowed */
    char *last;         /* part of text that each matching linker's name must contain; may be "" */
    bool has_arguments; /* of templates */
    bool has_parameters;
};

/* 0 or -ENOMEM. */
int mdl_name_pattern_init(struct mdl_name_pattern *pattern, const char *typed);
void mdl_name_pattern_fini(struct mdl_name_pattern *pattern);

/* Whether a name that is demangled already matches, as below: 1, 0 or -ENOMEM. */
int mdl_name_pattern_matches_text(const struct mdl_name_pattern *pattern, const char *name);

/*
 * Whether a linker's name of C++ or Rust matches. It does if what was typed is its demangled name
 * or the end of it from some part on ("::x" is all of it): "get", "box::get", "ns::box<int>::get"
 * and "ns::box<int>::get(long) const" all match the one above. Inline and unnamed namespaces need
 * not be typed. 1, 0 or -ENOMEM.
 */
int mdl_name_pattern_matches(struct wetdbg_model *model, const struct mdl_name_pattern *pattern,
                             const char *linkage);

#endif
