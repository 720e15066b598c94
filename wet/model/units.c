/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens a module's DWARF and indexes its units by address. The index comes from each unit's own
 * ranges, not from .debug_aranges, which some compilers do not write.
 */
#include "wet/model/units.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bisect.h"
#include "wet/model/dies.h"
#include "wet/model/image.h"
#include "wet/model/paths.h"
#include "wet/model/qualify.h"

void mdl_units_free(struct mdl_units *units)
{
    if (!units)
        return;
    for (size_t i = 0; i < units->count; i++) {
        free(units->units[i].rows);
        free(units->units[i].scopes);
        free(units->units[i].scope_ranges);
    }
    free(units->units);
    free(units->ranges);
    dwarf_end(units->dwarf);
    dwarf_end(units->alt);
    free(units);
}

static bool has_debug_info(Elf *elf)
{
    GElf_Shdr shdr;
    Elf_Scn *scn;

    return elf &&
           ((mdl_elf_section(elf, ".debug_info", &shdr, &scn) == 0 && shdr.sh_type != SHT_NOBITS) ||
            mdl_elf_section(elf, ".zdebug_info", &shdr, &scn) == 0);
}

Elf *mdl_units_elf(struct mdl_mod *mod)
{
    Elf *elf = mdl_mod_elf(mod, MDL_IMAGE_FILE);

    if (!has_debug_info(elf))
        elf = mdl_mod_elf(mod, MDL_IMAGE_DEBUG);
    return has_debug_info(elf) ? elf : NULL;
}

static void open_dwarf(struct mdl_mod *mod, struct mdl_units *units)
{
    Elf *elf = mdl_units_elf(mod);
    GElf_Shdr shdr;
    Elf_Scn *scn;

    if (!elf)
        return;
    units->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
    if (!units->dwarf || mdl_elf_section(elf, ".gnu_debugaltlink", &shdr, &scn) < 0)
        return;
    elf = mdl_mod_elf(mod, MDL_IMAGE_ALT);
    units->alt = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    if (units->alt)
        dwarf_setalt(units->dwarf, units->alt);
}

static int add_unit(struct mdl_mod *mod, struct mdl_units *units, const Dwarf_Die *die,
                    size_t *capacity)
{
    if (units->count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 32;
        struct mdl_unit *grown = reallocarray(units->units, wanted, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        units->units = grown;
        *capacity = wanted;
    }
    units->units[units->count++] = (struct mdl_unit){.mod = mod, .die = *die};
    return 0;
}

static int list_units(struct mdl_mod *mod, struct mdl_units *units)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    size_t capacity = 0;
    uint8_t unit_type;

    while (units->dwarf &&
           dwarf_get_units(units->dwarf, cu, &cu, NULL, &unit_type, &die, NULL) == 0) {
        int tag = dwarf_tag(&die);

        if (tag != DW_TAG_compile_unit && tag != DW_TAG_skeleton_unit)
            continue;
        if (add_unit(mod, units, &die, &capacity) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int add_range(struct mdl_units *units, size_t *capacity, uint64_t start, uint64_t end,
                     uint32_t unit)
{
    if (units->range_count == *capacity) {
        size_t wanted = *capacity ? *capacity * 2 : 64;
        struct mdl_unit_range *grown = reallocarray(units->ranges, wanted, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        units->ranges = grown;
        *capacity = wanted;
    }
    units->ranges[units->range_count++] = (struct mdl_unit_range){start, end, unit};
    return 0;
}

/* Takes the ranges of a unit that does not say where its code is from its line table. */
static int ranges_from_lines(struct mdl_units *units, size_t *capacity, uint32_t index)
{
    struct mdl_unit *unit = &units->units[index];
    uint64_t start = 0;
    int in_sequence = 0;

    if (mdl_unit_lines(unit) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < unit->row_count; i++) {
        if (!in_sequence)
            start = unit->rows[i].address;
        in_sequence = !(unit->rows[i].flags & MDL_ROW_END);
        if (!in_sequence && unit->rows[i].address > start &&
            add_range(units, capacity, start, unit->rows[i].address, index) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct mdl_unit_range *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return (a->end < b->end) - (a->end > b->end);
}

static int index_units(struct mdl_mod *mod, struct mdl_units *units)
{
    size_t capacity = 0;

    for (uint32_t i = 0; i < units->count; i++) {
        Dwarf_Addr base, start, end;
        ptrdiff_t at = 0;
        size_t before = units->range_count;
        /* damaged lists could go on for long; no unit has as many ranges as it has bytes */
        uint64_t budget = mdl_die_budget(&units->units[i].die) + 16;

        while (budget-- && (at = dwarf_ranges(&units->units[i].die, at, &base, &start, &end)) > 0) {
            uint64_t first = start + mod->info.bias;

            if (start >= end || !mdl_mod_is_code(mod, first))
                continue;
            if (add_range(units, &capacity, first, end + mod->info.bias, i) < 0)
                return -ENOMEM;
        }
        if (units->range_count == before && dwarf_hasattr(&units->units[i].die, DW_AT_stmt_list) &&
            !dwarf_hasattr(&units->units[i].die, DW_AT_ranges) &&
            !dwarf_hasattr(&units->units[i].die, DW_AT_high_pc) &&
            ranges_from_lines(units, &capacity, i) < 0)
            return -ENOMEM;
    }
    if (units->range_count)
        qsort(units->ranges, units->range_count, sizeof(*units->ranges), compare_ranges);
    return 0;
}

int mdl_units_get(struct mdl_mod *mod, struct mdl_units **units)
{
    struct mdl_units *made;
    int result;

    if (mod->units) {
        *units = mod->units;
        return 0;
    }
    made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    open_dwarf(mod, made);
    result = list_units(mod, made);
    if (result == 0)
        result = index_units(mod, made);
    if (result < 0) {
        mdl_units_free(made);
        return result;
    }
    mod->units = made;
    *units = made;
    return 0;
}

struct mdl_unit *mdl_unit_at(struct mdl_mod *mod, uint64_t pc)
{
    struct mdl_units *units;

    if (mdl_units_get(mod, &units) < 0)
        return NULL;
    size_t low = wd_bisect(0, units->range_count, i, units->ranges[i].start <= pc);
    /* ranges of different units do not overlap, save in damaged files: look back a little */
    for (int tries = 0; low > 0 && tries < 4; low--, tries++)
        if (units->ranges[low - 1].end > pc)
            return &units->units[units->ranges[low - 1].unit];
    return NULL;
}

/* ---- Line rows --------------------------------------------------------------------------- */

const char *mdl_unit_file(struct wetdbg_model *model, Dwarf_Die *unit, const char *path)
{
    Dwarf_Attribute attribute;
    const char *directory = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    char *whole;

    if (path[0] == '/' || !directory || directory[0] != '/')
        return mdl_strings_intern(&model->strings, path, SIZE_MAX);
    if (asprintf(&whole, "%s/%s", directory, path) < 0)
        return NULL;
    mdl_path_normalize(whole);
    const char *file = mdl_strings_intern(&model->strings, whole, SIZE_MAX);
    free(whole);
    return file;
}

const char *mdl_die_file(struct mdl_mod *mod, Dwarf_Die *die)
{
    const char *path = dwarf_decl_file(die);
    Dwarf_Die unit;

    return path && dwarf_diecu(die, &unit, NULL, NULL) ? mdl_unit_file(mod->model, &unit, path)
                                                       : NULL;
}

/* Remembers the last file name, since rows come in runs of one file. */
struct file_cache {
    const char *from;
    const char *interned;
};

static const char *intern_file(struct mdl_unit *unit, Dwarf_Line *line, struct file_cache *cache)
{
    const char *path = dwarf_linesrc(line, NULL, NULL);

    if (!path)
        return mdl_strings_intern(&unit->mod->model->strings, "??", 2);
    if (path != cache->from) {
        cache->from = path;
        cache->interned = mdl_unit_file(unit->mod->model, &unit->die, path);
    }
    return cache->interned;
}

/* Fills a row; 1 if it is one of this module's code, 0 to leave it out, -ENOMEM. */
static int make_row(struct mdl_unit *unit, Dwarf_Line *line, struct file_cache *cache,
                    struct mdl_row *row)
{
    Dwarf_Addr address;
    int number = 0, column = 0;
    unsigned discriminator = 0;
    bool is_stmt = false, is_end = false, is_prologue_end = false;

    if (!line || dwarf_lineaddr(line, &address) != 0 || dwarf_lineno(line, &number) != 0)
        return 0;
    dwarf_linecol(line, &column);
    dwarf_linebeginstatement(line, &is_stmt);
    dwarf_lineendsequence(line, &is_end);
    if (number <= 0 && !is_end)
        return 0; /* code of no line counts to the line before, as in gdb */
    dwarf_lineprologueend(line, &is_prologue_end);
    dwarf_linediscriminator(line, &discriminator);
    *row = (struct mdl_row){
        .address = address + unit->mod->info.bias,
        .line = number > 0 ? (uint32_t)number : 0,
        .column = column > 0 && column < UINT16_MAX ? (uint16_t)column : 0,
        .flags = (uint8_t)((is_stmt ? MDL_ROW_STMT : 0) | (is_end ? MDL_ROW_END : 0) |
                           (discriminator ? MDL_ROW_DISCRIMINATED : 0) |
                           (is_prologue_end ? MDL_ROW_PROLOGUE_END : 0)),
    };
    /* sequences of functions that the linker dropped start at 0 or at a tombstone */
    if (!mdl_mod_is_code(unit->mod, row->address - (is_end ? 1 : 0)))
        return 0;
    row->file = intern_file(unit, line, cache);
    return row->file ? 1 : -ENOMEM;
}

static bool is_empty_tail(struct mdl_unit *unit, const struct mdl_row *before,
                          const struct mdl_row *row)
{
    return (before->flags & MDL_ROW_END) && !(row->flags & MDL_ROW_END) &&
           before->address == row->address &&
           dwarf_haspc(&unit->die, row->address - unit->mod->info.bias) == 0;
}

/*
 * Marks the rows that gdb leaves out, so that breakpoints are where it has them. It keeps a table
 * per file. When the rows change from one file to another at an address, the first file's rows
 * there cover nothing; and a row without statement is not worth a change if one at the address had
 * it.
 */
static void hide_rows(struct mdl_unit *unit)
{
    const char *file = NULL;
    uint64_t address = 0;
    bool has_stmt = false;

    for (size_t i = 0; i < unit->row_count; i++) {
        struct mdl_row *row = &unit->rows[i];

        if (row->flags & MDL_ROW_END) {
            file = NULL;
            continue;
        }
        if (row->address != address)
            has_stmt = false;
        address = row->address;
        if (row->file != file && file && !(row->flags & MDL_ROW_STMT) && has_stmt) {
            row->flags |= MDL_ROW_HIDDEN;
            continue;
        }
        has_stmt |= row->flags & MDL_ROW_STMT;
        for (size_t before = i; row->file != file && before-- > 0;) {
            if (unit->rows[before].address != address || (unit->rows[before].flags & MDL_ROW_END))
                break;
            if (unit->rows[before].file == file)
                unit->rows[before].flags |= MDL_ROW_HIDDEN;
        }
        file = row->file;
    }
}

/* gdb drops a row of the same line as the one before if it has seen a discriminator in that
 * line. */
static void join_rows(struct mdl_unit *unit)
{
    bool has_discriminator = false;

    for (size_t i = 0; i < unit->row_count; i++) {
        struct mdl_row *row = &unit->rows[i];
        bool is_same = i > 0 && !((row[-1].flags | row->flags) & MDL_ROW_END) &&
                       row->file == row[-1].file && row->line == row[-1].line;

        has_discriminator =
            (is_same && has_discriminator) || (row->flags & MDL_ROW_DISCRIMINATED) != 0;
        if (is_same && has_discriminator)
            row->flags |= MDL_ROW_SAME;
    }
}

int mdl_unit_lines(struct mdl_unit *unit)
{
    struct file_cache cache = {0};
    Dwarf_Lines *lines;
    size_t count;
    int knows_ranges;

    if (unit->lines_known)
        return 0;
    knows_ranges =
        dwarf_hasattr(&unit->die, DW_AT_ranges) || dwarf_hasattr(&unit->die, DW_AT_high_pc);
    if (dwarf_getsrclines(&unit->die, &lines, &count) != 0 || count == 0) {
        unit->lines_known = 1;
        return 0;
    }
    unit->rows = reallocarray(NULL, count, sizeof(*unit->rows));
    if (!unit->rows)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        int kept = make_row(unit, dwarf_onesrcline(lines, i), &cache, &unit->rows[unit->row_count]);

        if (kept < 0) {
            free(unit->rows);
            unit->rows = NULL;
            unit->row_count = 0;
            return kept;
        }
        /* elfutils sorts the end of a sequence before rows of the same address; such a row either
         * starts the next sequence or was the last one of this, and then covers nothing */
        if (kept && unit->row_count && knows_ranges &&
            is_empty_tail(unit, &unit->rows[unit->row_count - 1], &unit->rows[unit->row_count]))
            kept = 0;
        unit->row_count += (size_t)kept;
    }
    hide_rows(unit);
    join_rows(unit);
    unit->lines_known = 1;
    return 0;
}

const struct mdl_row *mdl_unit_row_at(const struct mdl_unit *unit, uint64_t pc)
{
    size_t low = wd_bisect(0, unit->row_count, i, unit->rows[i].address <= pc);
    if (low == 0 || low == unit->row_count || (unit->rows[low - 1].flags & MDL_ROW_END))
        return NULL;
    return &unit->rows[low - 1];
}
