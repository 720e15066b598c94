/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module's DWARF: compilation units by address, and each unit's line rows and scopes. */
#ifndef WET_MODEL_UNITS_H
#define WET_MODEL_UNITS_H

#include <elfutils/libdw.h>

#include "wet/model/module.h"

enum mdl_row_flag {
    MDL_ROW_STMT = 1,
    MDL_ROW_END = 2,
    MDL_ROW_PROLOGUE_END = 4,
    MDL_ROW_HIDDEN = 8,         /* gdb does not see it: another file has a row at the address */
    MDL_ROW_DISCRIMINATED = 16, /* DWARF tells several blocks of its line apart */
    MDL_ROW_SAME = 32           /* goes on with the line of the row before: gdb sees one row */
};

/* A row of a line table; `file` is interned, so equal files are equal pointers. */
struct mdl_row {
    uint64_t address; /* guest */
    const char *file;
    uint32_t line;
    uint16_t column;
    uint8_t flags;
};

#define MDL_NO_SCOPE UINT32_MAX

/* A function, inlined function or lexical block that has code. */
struct mdl_scope_entry {
    Dwarf_Die die;
    int tag;
    uint32_t parent; /* enclosing scope, or MDL_NO_SCOPE */
    /* a function's, once it was asked for: see mdl_unit_scope_name() */
    const char *name;
    const char *linkage_name;
};

/* One of the scopes' address ranges. */
struct mdl_scope_range {
    uint64_t start; /* guest */
    uint64_t end;
    uint32_t scope;
    uint32_t outer; /* the range that contains this one, or MDL_NO_SCOPE */
};

struct mdl_unit {
    struct mdl_mod *mod;
    Dwarf_Die die;
    int lines_known;
    struct mdl_row *rows; /* sorted by address */
    size_t row_count;
    int scopes_known;
    struct mdl_scope_entry *scopes; /* outer before inner */
    size_t scope_count;
    struct mdl_scope_range *scope_ranges; /* sorted by start, outer first */
    size_t scope_range_count;
    struct mdl_call_sites *call_sites; /* call_sites.h; NULL: not needed yet */
    int loclists; /* 0 unknown, 1 has variables with location lists, -1 has none */
};

struct mdl_unit_range {
    uint64_t start; /* guest */
    uint64_t end;
    uint32_t unit;
};

struct mdl_units {
    Dwarf *dwarf; /* NULL: the module has no DWARF */
    Dwarf *alt;
    struct mdl_unit *units;
    size_t count;
    struct mdl_unit_range *ranges; /* sorted by start */
    size_t range_count;
    struct mdl_globals *globals;       /* globals.h */
    struct mdl_qualifiers *qualifiers; /* qualify.h */
};

/* The module's ELF image that has DWARF, or NULL. Cheap, but for a search for its file. */
Elf *mdl_units_elf(struct mdl_mod *mod);

/* The module's units; without DWARF there are none. 0 or -ENOMEM. */
int mdl_units_get(struct mdl_mod *mod, struct mdl_units **units);

/* The unit that has code at pc; NULL if none (or memory is short). */
struct mdl_unit *mdl_unit_at(struct mdl_mod *mod, uint64_t pc);

/* Interned, with the unit's directory before a file name that is relative to it; NULL: out of
 * memory. libdw leaves the names of DWARF 5 relative. */
const char *mdl_unit_file(struct wetdbg_model *model, Dwarf_Die *unit, const char *path);

/* The file that a DIE was declared in, interned; NULL: unknown, or out of memory. */
const char *mdl_die_file(struct mdl_mod *mod, Dwarf_Die *die);

/* Loads rows, scopes; damaged tables give none. 0 or -ENOMEM. */
int mdl_unit_lines(struct mdl_unit *unit);
int mdl_unit_scopes(struct mdl_unit *unit);

/* The row that covers pc (never an end row), or NULL; the next row's address is its end. */
const struct mdl_row *mdl_unit_row_at(const struct mdl_unit *unit, uint64_t pc);

/* Innermost scope at pc; needs mdl_unit_scopes(). MDL_NO_SCOPE if there is none. */
uint32_t mdl_unit_scope_at(const struct mdl_unit *unit, uint64_t pc);

/* Unit and innermost scope at pc; *unit is NULL if there is no DWARF there. 0 or -ENOMEM. */
int mdl_scope_at(struct mdl_mod *mod, uint64_t pc, struct mdl_unit **unit, uint32_t *scope);

/* From a scope outwards (itself included) to the next function, inlined or not. */
uint32_t mdl_unit_function_scope(const struct mdl_unit *unit, uint32_t scope);

/* The same way outwards, to the function that all these are inlined into. */
uint32_t mdl_unit_subprogram_scope(const struct mdl_unit *unit, uint32_t scope);

/* A function scope's name: qualified and demangled ("ns::box<int>::get"), without parameters. NULL
 * if it has none. *linkage_name (may be NULL) is the linker's, or the same. Borrowed until
 * mdl_free(). */
const char *mdl_unit_scope_name(struct mdl_unit *unit, uint32_t scope, const char **linkage_name);

/* Frees the units, but for what globals.h, qualify.h and call_sites.h keep in them. NULL is
 * fine. */
void mdl_units_free(struct mdl_units *units);

#endif
