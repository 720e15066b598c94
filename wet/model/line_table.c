/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source lines by address, inlined chains, and the rows and ranges of a file. */
#include "wet/model/line_table.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/range_join.h"
#include "wet/model/image.h"
#include <wetdbg/errors.h>

/* The innermost function at pc, inlined or not. */
static void fill_function(struct mdl_unit *unit, uint64_t pc, struct wetdbg_line *line)
{
    if (mdl_unit_scopes(unit) == 0)
        line->function = mdl_unit_scope_name(
            unit, mdl_unit_function_scope(unit, mdl_unit_scope_at(unit, pc)), &line->linkage_name);
}

/* ---- By address -------------------------------------------------------------------------- */

/* Fills all but the function. `row` is not the unit's last (that is an end row). */
static void fill_line(const struct mdl_row *row, struct wetdbg_line *line)
{
    const struct mdl_row *first = row, *last = row + 1;

    while (first->flags & MDL_ROW_SAME)
        first--;
    while (last->flags & MDL_ROW_SAME)
        last++;
    *line = (struct wetdbg_line){
        .file = row->file,
        .line = row->line,
        .column = row->column,
        .is_stmt = (row->flags & MDL_ROW_STMT) != 0,
        .start = row->address,
        .end = row[1].address,
        .run_start = first->address,
        .run_end = last->address,
    };
}

/* Whether a line is one of rr's library where that makes system calls in the program's place: such
 * code is nobody's who debugs a program. The functions that it has instead of libc's are. */
static bool is_recorders(const struct mdl_mod *mod, const struct mdl_row *row)
{
    static const char overrides[] = "overrides.c";
    const char *name = row->file ? strrchr(row->file, '/') : NULL;

    return strncmp(mod->info.name, "librrpreload", 12) == 0 &&
           strcmp(name ? name + 1 : "", overrides) != 0;
}

/* Unit and row at pc. -WETDBG_ERR_NOT_FOUND with a message. */
static int row_need(struct wetdbg_model *model, uint64_t pc, struct mdl_unit **unit,
                    const struct mdl_row **row)
{
    struct mdl_units *units;
    struct mdl_mod *mod;
    int result = mdl_mod_need(model, pc, &mod);

    if (result == 0)
        result = mdl_units_get(mod, &units);
    if (result < 0)
        return result;
    *unit = mdl_unit_at(mod, pc);
    if (*unit)
        result = mdl_unit_lines(*unit);
    if (result < 0)
        return result;
    *row = *unit ? mdl_unit_row_at(*unit, pc) : NULL;
    if (!*row || is_recorders(mod, *row))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no line information for 0x%llx (%s+0x%llx)%s",
                           (unsigned long long)pc, mod->info.name,
                           (unsigned long long)(pc - mod->info.bias),
                           units->dwarf ? "" : ": the module has no debug information");
    return 0;
}

/* At -O2 several rows can share an address; the last is pc's line, but a statement among them is
 * where a breakpoint stops. */
static const struct mdl_row *prefer_stmt(const struct mdl_unit *unit, const struct mdl_row *row)
{
    const struct mdl_row *other = row;

    while (!(other->flags & MDL_ROW_STMT) && other > unit->rows &&
           other[-1].address == row->address && !(other[-1].flags & MDL_ROW_END))
        other--;
    return other->flags & MDL_ROW_STMT ? other : row;
}

int wetdbg_line_of_instruction(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line)
{
    const struct mdl_row *row;
    struct mdl_unit *unit;
    int result = row_need(model, pc, &unit, &row);

    if (result < 0)
        return result;
    fill_line(row, line);
    fill_function(unit, pc, line);
    return 0;
}

int wetdbg_line_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line)
{
    const struct mdl_row *row, *stmt;
    struct mdl_unit *unit;
    int result = row_need(model, pc, &unit, &row);

    if (result < 0)
        return result;
    stmt = prefer_stmt(unit, row);
    fill_line(row, line);
    line->file = stmt->file;
    line->line = stmt->line;
    line->column = stmt->column;
    line->is_stmt = (stmt->flags & MDL_ROW_STMT) != 0;
    fill_function(unit, pc, line);
    return 0;
}

/* The call that an inlined scope stands for. */
static int fill_call(struct mdl_unit *unit, uint32_t scope, struct wetdbg_line *line)
{
    Dwarf_Die *die = &unit->scopes[scope].die;
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    Dwarf_Files *files;
    const char *path = NULL;
    size_t count;

    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &value) == 0 &&
        value <= UINT32_MAX)
        line->line = (uint32_t)value;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_column, &attribute), &value) == 0 &&
        value <= UINT32_MAX)
        line->column = (uint32_t)value;
    if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && value < count)
        path = dwarf_filesrc(files, value, NULL, NULL);
    line->file = path ? mdl_unit_file(unit->mod->model, &unit->die, path) : NULL;
    return path && !line->file ? -ENOMEM : 0;
}

/* Whether the scope has the code before pc, too. */
static bool has_code_before(const struct mdl_unit *unit, uint32_t scope, uint64_t pc)
{
    uint32_t before = mdl_unit_scope_at(unit, pc - 1);

    while (before != MDL_NO_SCOPE && before != scope)
        before = unit->scopes[before].parent;
    return before == scope;
}

int wetdbg_inline_chain(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *chain,
                        size_t max, size_t *count)
{
    const struct mdl_row *row;
    struct mdl_unit *unit;
    struct wetdbg_line line;
    uint32_t scope;
    size_t made = 0;
    int result = row_need(model, pc, &unit, &row);

    if (result == 0)
        result = mdl_unit_scopes(unit);
    if (result < 0)
        return result;
    fill_line(prefer_stmt(unit, row), &line);
    scope = mdl_unit_function_scope(unit, mdl_unit_scope_at(unit, pc));
    for (;;) {
        line.function = mdl_unit_scope_name(unit, scope, &line.linkage_name);
        line.begins_here = scope != MDL_NO_SCOPE &&
                           unit->scopes[scope].tag == DW_TAG_inlined_subroutine &&
                           !has_code_before(unit, scope, pc);
        if (made < max)
            chain[made] = line;
        made++;
        if (scope == MDL_NO_SCOPE || unit->scopes[scope].tag != DW_TAG_inlined_subroutine)
            break;
        memset(&line, 0, sizeof(line));
        result = fill_call(unit, scope, &line);
        if (result < 0)
            return result;
        scope = mdl_unit_function_scope(unit, unit->scopes[scope].parent);
    }
    *count = made;
    return 0;
}

/* ---- By file ----------------------------------------------------------------------------- */

/* Whether a section has the name, with its NUL. 1 also where it cannot be looked at. */
static int section_has(Elf *elf, const char *section, const char *name)
{
    GElf_Shdr shdr;
    Elf_Scn *scn;
    Elf_Data *data;

    if (mdl_elf_section(elf, section, &shdr, &scn) < 0)
        return 0;
    if (shdr.sh_flags & SHF_COMPRESSED && elf_compress(scn, 0, 0) < 0)
        return 1;
    data = elf_getdata(scn, NULL);
    return !data || !data->d_buf ||
           memmem(data->d_buf, data->d_size, name, strlen(name) + 1) != NULL;
}

/*
 * Whether a module can have lines of the file. Its last part must stand where line tables have
 * names; to look for it there is much faster than to open the DWARF and read all line tables.
 */
static int may_have_file(struct mdl_mod *mod, const struct mdl_file_match *match)
{
    static const char *const sections[] = {".debug_line", ".debug_line_str", ".debug_str"};
    Elf *elf = mod->units ? NULL : mdl_units_elf(mod);
    const char *slash, *name;
    GElf_Shdr shdr;
    Elf_Scn *scn;

    if (!match || !match->wanted)
        return 1;
    if (mod->units)
        elf = mod->units->dwarf ? dwarf_getelf(mod->units->dwarf) : NULL;
    if (!elf)
        return 0;
    if (mdl_elf_section(elf, ".zdebug_line", &shdr, &scn) == 0)
        return 1;
    slash = strrchr(match->wanted, '/');
    name = slash ? slash + 1 : match->wanted;
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (section_has(elf, sections[i], name))
            return 1;
    return 0;
}

int mdl_units_each(struct wetdbg_model *model, const struct mdl_file_match *match, mdl_unit_fn fn,
                   void *context)
{
    for (size_t i = 0; i < model->mod_count; i++) {
        struct mdl_units *units;
        int result;

        if (!may_have_file(model->mods[i], match))
            continue;
        result = mdl_units_get(model->mods[i], &units);
        for (size_t u = 0; result == 0 && u < units->count; u++) {
            result = mdl_check_interrupt(model);
            if (result == 0)
                result = mdl_unit_lines(&units->units[u]);
            if (result == 0)
                result = fn(context, &units->units[u]);
        }
        if (result != 0)
            return result;
    }
    return 0;
}

void mdl_near_see(struct mdl_near *near, const struct mdl_row *row, uint32_t wanted)
{
    if (row->line == 0 || (row->flags & MDL_ROW_END))
        return;
    near->file = row->file;
    if (row->line < wanted && row->line > near->below)
        near->below = row->line;
    if (row->line > wanted && (near->above == 0 || row->line < near->above))
        near->above = row->line;
}

int mdl_near_fail(const struct mdl_near *near, const char *file, uint32_t line)
{
    if (!near->file)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "no source file \"%s\" in any module's debug information", file);
    if (near->below && near->above)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no code at %s:%u; nearest lines are %u and %u",
                           file, line, near->below, near->above);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no code at %s:%u; the %s line with code is %u", file,
                       line, near->below ? "last" : "first",
                       near->below ? near->below : near->above);
}

/* A search for the ranges of one line. */
struct range_search {
    struct mdl_file_match match;
    uint32_t line;
    struct wetdbg_range *ranges;
    size_t count;
    struct mdl_near near;
};

static int add_range(struct range_search *search, uint64_t start, uint64_t end)
{
    struct wetdbg_range *grown = reallocarray(search->ranges, search->count + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    search->ranges = grown;
    grown[search->count++] = (struct wetdbg_range){start, end};
    return 0;
}

static int ranges_in_unit(void *context, struct mdl_unit *unit)
{
    struct range_search *search = context;

    for (size_t i = 0; i + 1 < unit->row_count; i++) {
        const struct mdl_row *row = &unit->rows[i];
        int result = mdl_file_matches(&search->match, row->file);

        if (result < 0)
            return result;
        if (result == 0)
            continue;
        mdl_near_see(&search->near, row, search->line);
        if (row->line == search->line && !(row->flags & MDL_ROW_END) &&
            row[1].address > row->address && add_range(search, row->address, row[1].address) < 0)
            return -ENOMEM;
    }
    return 0;
}

int wetdbg_line_ranges(struct wetdbg_model *model, const char *file, uint32_t line,
                       struct wetdbg_range **ranges, size_t *count)
{
    struct range_search search = {.line = line};
    int result = mdl_file_match_init(&search.match, file);

    if (result == 0)
        result = mdl_units_each(model, &search.match, ranges_in_unit, &search);
    mdl_file_match_fini(&search.match);
    if (result == 0 && search.count == 0)
        result = mdl_near_fail(&search.near, file, line);
    if (result < 0) {
        free(search.ranges);
        return result;
    }
    *count = wd_ranges_join(search.ranges, search.count);
    *ranges = search.ranges;
    return 0;
}

/* ---- Enumerating ------------------------------------------------------------------------- */

struct line_walk {
    struct mdl_file_match match;
    wetdbg_line_fn fn;
    void *context;
};

static int lines_in_unit(void *context, struct mdl_unit *unit)
{
    struct line_walk *walk = context;

    for (size_t i = 0; i + 1 < unit->row_count; i++) {
        struct wetdbg_line line;
        int result = mdl_file_matches(&walk->match, unit->rows[i].file);

        if (result < 0)
            return result;
        if (result == 0 || (unit->rows[i].flags & MDL_ROW_END))
            continue;
        fill_line(&unit->rows[i], &line);
        fill_function(unit, line.start, &line);
        result = walk->fn(walk->context, &line);
        if (result != 0)
            return result;
    }
    return 0;
}

int wetdbg_lines_each(struct wetdbg_model *model, const char *file, wetdbg_line_fn fn,
                      void *context)
{
    struct line_walk walk = {.fn = fn, .context = context};
    int result = mdl_file_match_init(&walk.match, file);

    if (result == 0)
        result = mdl_units_each(model, &walk.match, lines_in_unit, &walk);
    mdl_file_match_fini(&walk.match);
    return result;
}

struct file_walk {
    struct mdl_addrmap seen; /* by file: 1 + module */
    wetdbg_file_fn fn;
    void *context;
};

static int files_in_unit(void *context, struct mdl_unit *unit)
{
    struct file_walk *walk = context;
    uintptr_t mark = (uintptr_t)unit->mod->info.id + 1;

    for (size_t i = 0; i < unit->row_count; i++) {
        const char *file = unit->rows[i].file;
        int err;

        if ((uintptr_t)mdl_addrmap_get(&walk->seen, (uintptr_t)file) == mark)
            continue;
        if (mdl_addrmap_set(&walk->seen, (uintptr_t)file, (void *)mark) < 0)
            return -ENOMEM;
        err = walk->fn(walk->context, file, unit->mod->info.id);
        if (err != 0)
            return err;
    }
    return 0;
}

int wetdbg_files_each(struct wetdbg_model *model, wetdbg_file_fn fn, void *context)
{
    struct file_walk walk = {.fn = fn, .context = context};
    int err = mdl_units_each(model, NULL, files_in_unit, &walk);

    mdl_addrmap_fini(&walk.seen);
    return err;
}
