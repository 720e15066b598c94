/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The function table: candidates for one start become one entry, entries are disjoint or nested,
 * and code that nobody claims gets an entry of its own, so that every code address has a function.
 *
 * Sizes come from symbols first and call frame information second (one FDE may cover a whole PLT).
 * Of two entries that overlap partly the first ends where the second starts.
 */
#include "wet/model/functions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/bisect.h"
#include "wet/model/image.h"
#include "wet/model/insn_flow.h"
#include "wet/model/names.h"
#include "wet/model/symload.h"
#include <wetdbg/errors.h>

void mdl_functions_free(struct mdl_functions *functions)
{
    if (!functions)
        return;
    free(functions->entries);
    free(functions->names);
    free(functions->objects);
    free(functions->slots);
    free(functions);
}

/* ---- Making the table -------------------------------------------------------------------- */

static int compare_raw(const void *left, const void *right)
{
    const struct mdl_raw_function *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->name && b->name && a->name != b->name)
        return strcmp(a->name, b->name);
    return (a->end < b->end) - (a->end > b->end);
}

static int compare_names(const void *left, const void *right)
{
    const struct mdl_function_name *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    return order ? order : a->start < b->start ? -1 : a->start > b->start;
}

static int compare_objects(const void *left, const void *right)
{
    const struct wetdbg_symbol *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->size_bytes != b->size_bytes)
        return a->size_bytes > b->size_bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Merges candidates [first, end), which share a start; the best name comes first. */
static struct mdl_function_entry merge_candidates(const struct mdl_raw_function *first,
                                                  const struct mdl_raw_function *end)
{
    struct mdl_function_entry entry = {.start = first->start, .name = first->name};
    uint64_t frame_end = 0;

    entry.flags = first->flags & WETDBG_FUNCTION_IFUNC;
    for (; first < end; first++) {
        entry.flags |= first->flags & ~(unsigned)WETDBG_FUNCTION_IFUNC;
        if (!(first->flags & WETDBG_FUNCTION_FRAME)) {
            if (first->end > entry.end)
                entry.end = first->end;
        } else {
            if (first->end > frame_end)
                frame_end = first->end;
            entry.is_continuation |= first->is_continuation;
            if (first->lsda)
                entry.lsda = first->lsda;
        }
    }
    if (entry.end == 0)
        entry.end = frame_end;
    return entry;
}

/* Whether an unnamed range or untyped label lies inside a sized function already. */
static bool is_redundant(const struct mdl_function_entry *entry,
                         const struct mdl_raw_function *best, uint64_t covered_end)
{
    bool is_label = best->name && (best->rank >> 30) == 1;

    return entry->start < covered_end && (!best->name || is_label);
}

static size_t merge_all(const struct mdl_raw *raw, struct mdl_function_entry *entries)
{
    uint64_t covered_end = 0;
    size_t count = 0;

    for (size_t first = 0, end; first < raw->count; first = end) {
        struct mdl_function_entry entry;

        for (end = first + 1;
             end < raw->count && raw->functions[end].start == raw->functions[first].start; end++)
            ;
        entry = merge_candidates(&raw->functions[first], &raw->functions[end]);
        if (is_redundant(&entry, &raw->functions[first], covered_end))
            continue;
        if (entry.end > covered_end)
            covered_end = entry.end;
        entries[count++] = entry;
    }
    return count;
}

/* Gives unsized entries an end: the next start, the section's or segment's end. */
static void bound_entries(struct mdl_mod *mod, struct mdl_function_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct mdl_segment *segment = mdl_mod_segment(mod, entries[i].start);
        uint64_t limit = segment->start + segment->size_bytes;

        if (entries[i].end == 0)
            entries[i].end =
                i + 1 < count && entries[i + 1].start < limit ? entries[i + 1].start : limit;
        if (entries[i].end > limit)
            entries[i].end = limit;
    }
}

/* Makes entries nested or disjoint and links each to its parent. */
static int nest_entries(struct mdl_function_entry *entries, size_t count)
{
    uint32_t *stack = calloc(count + 1, sizeof(*stack));
    size_t depth = 0;

    if (!stack)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        while (depth && entries[stack[depth - 1]].end <= entries[i].start)
            depth--;
        /* a partial overlap cuts the earlier one, and with it those around it that end early too */
        while (depth && entries[stack[depth - 1]].end < entries[i].end) {
            entries[stack[depth - 1]].end = entries[i].start;
            depth--;
        }
        entries[i].parent = depth ? stack[depth - 1] : MDL_NO_FUNCTION;
        stack[depth++] = (uint32_t)i;
    }
    free(stack);
    return 0;
}

/* Where code starts in [start, end): past padding. */
static uint64_t skip_padding(const struct mdl_mod *mod, uint64_t start, uint64_t end)
{
    while (start < end) {
        size_t available;
        const uint8_t *bytes = mdl_mod_bytes(mod, start, &available);
        struct mdl_insn insn;

        if (!bytes)
            return end;
        if (*bytes == 0) {
            start++;
            continue;
        }
        if (mdl_decode(start, bytes, available, &insn) < 0 || insn.kind != MDL_INSN_NOP)
            return start;
        start += insn.length;
    }
    return end;
}

/* Growing list of ranges that hold code. */
struct ranges {
    struct wetdbg_range *items;
    size_t count;
};

static int add_range(struct ranges *ranges, uint64_t start, uint64_t end)
{
    struct wetdbg_range *grown = reallocarray(ranges->items, ranges->count + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    ranges->items = grown;
    ranges->items[ranges->count++] = (struct wetdbg_range){start, end};
    return 0;
}

static int compare_ranges(const void *left, const void *right)
{
    const struct wetdbg_range *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* Code ranges: executable sections, or executable segments where there are no section headers
 * (a segment may hold headers and constants too). */
static int code_ranges(struct mdl_mod *mod, struct ranges *ranges)
{
    Elf *elf = mdl_mod_elf(mod, MDL_IMAGE_FILE);
    Elf_Scn *scn = NULL;

    while (elf && (scn = elf_nextscn(elf, scn))) {
        GElf_Shdr shdr;
        const struct mdl_segment *segment;
        uint64_t start, end;

        if (!gelf_getshdr(scn, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR))
            continue;
        start = shdr.sh_addr + mod->info.bias;
        segment = mdl_mod_segment(mod, start);
        if (!segment || !(segment->prot & PROT_EXEC))
            continue;
        end = segment->start + segment->size_bytes;
        if (shdr.sh_size < end - start)
            end = start + shdr.sh_size;
        if (add_range(ranges, start, end) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; ranges->count == 0 && i < mod->segment_count; i++)
        if ((mod->segments[i].prot & PROT_EXEC) &&
            add_range(ranges, mod->segments[i].start,
                      mod->segments[i].start + mod->segments[i].size_bytes) < 0)
            return -ENOMEM;
    if (ranges->count)
        qsort(ranges->items, ranges->count, sizeof(*ranges->items), compare_ranges);
    return 0;
}

/* Adds entries for what no function claims; they go to the end and are sorted in by the caller. */
static int fill_gaps(struct mdl_mod *mod, struct mdl_functions *functions,
                     const struct ranges *ranges)
{
    size_t known = functions->count, capacity = known + ranges->count + known + 1;
    struct mdl_function_entry *entries =
        reallocarray(functions->entries, capacity, sizeof(*entries));
    size_t next = 0;
    uint64_t at = 0;

    if (!entries)
        return -ENOMEM;
    functions->entries = entries;
    for (size_t r = 0; r < ranges->count; r++) {
        uint64_t end = ranges->items[r].end;

        if (at < ranges->items[r].start)
            at = ranges->items[r].start;
        while (at < end) {
            uint64_t gap_end = end;

            while (next < known && entries[next].start <= at) {
                if (entries[next].end > at)
                    at = entries[next].end;
                next++;
            }
            if (next < known && entries[next].start < end)
                gap_end = entries[next].start;
            if (at < gap_end)
                at = skip_padding(mod, at, gap_end);
            if (at < gap_end && functions->count < capacity)
                entries[functions->count++] = (struct mdl_function_entry){
                    .start = at, .end = gap_end, .flags = WETDBG_FUNCTION_GUESSED};
            if (at < gap_end)
                at = gap_end;
        }
    }
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct mdl_function_entry *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static int name_entries(struct mdl_mod *mod, struct mdl_functions *functions)
{
    for (size_t i = 0; i < functions->count; i++) {
        struct mdl_function_entry *entry = &functions->entries[i];

        if (entry->name)
            continue;
        entry->flags |= WETDBG_FUNCTION_NAMELESS;
        entry->name = mdl_strings_format(&mod->model->strings, "%s+0x%llx", mod->info.name,
                                         (unsigned long long)(entry->start - mod->info.bias));
        if (!entry->name)
            return -ENOMEM;
    }
    return 0;
}

static int index_names(struct mdl_functions *functions, const struct mdl_raw *raw)
{
    size_t count = 0;

    functions->names = calloc(raw->count + 1, sizeof(*functions->names));
    if (!functions->names)
        return -ENOMEM;
    for (size_t i = 0; i < raw->count; i++)
        if (raw->functions[i].name)
            functions->names[count++] = (struct mdl_function_name){
                .name = raw->functions[i].name, .start = raw->functions[i].start};
    qsort(functions->names, count, sizeof(*functions->names), compare_names);
    functions->name_count = count;
    return 0;
}

static int build_table(struct mdl_mod *mod, struct mdl_functions *functions, struct mdl_raw *raw)
{
    struct ranges ranges = {0};
    int result;

    if (raw->count)
        qsort(raw->functions, raw->count, sizeof(*raw->functions), compare_raw);
    if (raw->object_count)
        qsort(raw->objects, raw->object_count, sizeof(*raw->objects), compare_objects);
    functions->entries = calloc(raw->count + 1, sizeof(*functions->entries));
    if (!functions->entries)
        return -ENOMEM;
    functions->count = merge_all(raw, functions->entries);
    bound_entries(mod, functions->entries, functions->count);
    result = nest_entries(functions->entries, functions->count);
    if (result == 0)
        result = code_ranges(mod, &ranges);
    if (result == 0)
        result = fill_gaps(mod, functions, &ranges);
    free(ranges.items);
    if (result < 0)
        return result;
    qsort(functions->entries, functions->count, sizeof(*functions->entries), compare_entries);
    result = nest_entries(functions->entries, functions->count);
    if (result == 0)
        result = name_entries(mod, functions);
    return result < 0 ? result : index_names(functions, raw);
}

static bool has_section(struct mdl_mod *mod, const char *name)
{
    Elf *elf = mdl_mod_elf(mod, MDL_IMAGE_FILE);
    GElf_Shdr shdr;
    Elf_Scn *scn;

    return elf && mdl_elf_section(elf, name, &shdr, &scn) == 0;
}

int mdl_functions_get(struct mdl_mod *mod, struct mdl_functions **functions)
{
    struct mdl_raw raw = {.mod = mod};
    struct mdl_functions *made;
    int result;

    if (mod->functions) {
        *functions = mod->functions;
        return 0;
    }
    made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    result = mdl_symload(&raw);
    if (result == 0)
        result = build_table(mod, made, &raw);
    free(raw.functions);
    made->objects = raw.objects;
    made->object_count = raw.object_count;
    made->slots = raw.slots;
    made->is_go = has_section(mod, ".gopclntab") || has_section(mod, ".note.go.buildid");
    made->slot_count = raw.slot_count;
    if (result < 0) {
        mdl_functions_free(made);
        return result;
    }
    mod->functions = made;
    *functions = made;
    return 0;
}

/* ---- Looking up -------------------------------------------------------------------------- */

uint32_t mdl_functions_find(const struct mdl_functions *functions, uint64_t address)
{
    size_t low = wd_bisect(0, functions->count, i, functions->entries[i].start <= address);
    uint32_t at;
    at = low ? (uint32_t)(low - 1) : MDL_NO_FUNCTION;
    while (at != MDL_NO_FUNCTION && functions->entries[at].end <= address)
        at = functions->entries[at].parent;
    return at;
}

int mdl_function_need(struct wetdbg_model *model, uint64_t pc, struct mdl_mod **mod,
                      uint32_t *index)
{
    struct mdl_functions *functions;
    int result = mdl_mod_need(model, pc, mod);

    if (result == 0)
        result = mdl_functions_get(*mod, &functions);
    if (result < 0)
        return result;
    *index = mdl_functions_find(functions, pc);
    if (*index == MDL_NO_FUNCTION)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function at 0x%llx (%s+0x%llx)",
                           (unsigned long long)pc, (*mod)->info.name,
                           (unsigned long long)(pc - (*mod)->info.bias));
    return 0;
}

const struct mdl_slot *mdl_functions_slot(const struct mdl_functions *functions, uint64_t address)
{
    size_t low = wd_bisect(0, functions->slot_count, i, functions->slots[i].address < address);
    return low < functions->slot_count && functions->slots[low].address == address
               ? &functions->slots[low]
               : NULL;
}

void mdl_functions_by_name(const struct mdl_functions *functions, const char *name, size_t *first,
                           size_t *end)
{
    size_t low = wd_bisect(0, functions->name_count, i, strcmp(functions->names[i].name, name) < 0);
    *first = low;
    for (*end = low; *end < functions->name_count; ++*end)
        if (strcmp(functions->names[*end].name, name) != 0)
            break;
}

void mdl_function_fill(struct mdl_mod *mod, struct mdl_function_entry *entry,
                       struct wetdbg_function *function)
{
    if (!entry->plain_name)
        entry->plain_name = mdl_name_demangle(mod->model, entry->name, MDL_NAME_PLAIN);
    *function = (struct wetdbg_function){
        .name = entry->plain_name ? entry->plain_name : entry->name,
        .linkage_name = entry->name,
        .start = entry->start,
        .end = entry->end,
        .flags = entry->flags,
        .module = mod->info.id,
    };
}

int wetdbg_function_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_function *function)
{
    struct mdl_mod *mod;
    uint32_t index;
    int result = mdl_function_need(model, pc, &mod, &index);

    if (result == 0)
        mdl_function_fill(mod, &mod->functions->entries[index], function);
    return result;
}

/* ---- Data symbols ------------------------------------------------------------------------ */

/* Puts what people call a symbol in the place of its linker's name. */
static int name_symbol(struct wetdbg_model *model, struct wetdbg_symbol *symbol)
{
    symbol->name = mdl_name_demangle(model, symbol->name, MDL_NAME_PLAIN);
    return symbol->name ? 0 : -ENOMEM;
}

int wetdbg_symbol_at(struct wetdbg_model *model, uint64_t address, struct wetdbg_symbol *symbol)
{
    struct mdl_functions *table;

    /* .bss is in no file, so an address need not be in a segment of its module: ask them all */
    for (size_t i = 0; i < model->mod_count; i++) {
        int result = mdl_functions_get(model->mods[i], &table);

        if (result < 0)
            return result;
        size_t low = wd_bisect(0, table->object_count, n, table->objects[n].start <= address);
        if (low && address - table->objects[low - 1].start < table->objects[low - 1].size_bytes) {
            while (low > 1 && table->objects[low - 2].start == table->objects[low - 1].start)
                low--;
            *symbol = table->objects[low - 1];
            return name_symbol(model, symbol);
        }
    }
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no symbol at 0x%llx", (unsigned long long)address);
}

/* The first data symbol whose name is exactly this one (pattern NULL), or matches. 1: found. */
static int find_symbol(struct wetdbg_model *model, const struct mdl_functions *table,
                       const char *name, const struct mdl_name_pattern *pattern,
                       struct wetdbg_symbol *symbol)
{
    for (size_t at = 0; at < table->object_count; at++) {
        const char *known = table->objects[at].name;
        int result =
            pattern ? mdl_name_pattern_matches(model, pattern, known) : strcmp(known, name) == 0;

        if (result > 0)
            *symbol = table->objects[at];
        if (result)
            return result;
    }
    return 0;
}

int wetdbg_symbol_named(struct wetdbg_model *model, const char *name, struct wetdbg_symbol *symbol)
{
    struct mdl_name_pattern pattern;
    int result = mdl_name_pattern_init(&pattern, name);

    for (size_t i = 0; result == 0 && i < 2 * model->mod_count; i++) {
        struct mdl_mod *mod = model->mods[i % model->mod_count];
        struct mdl_functions *table;

        result = mdl_functions_get(mod, &table);
        if (result == 0)
            result =
                find_symbol(model, table, name, i < model->mod_count ? NULL : &pattern, symbol);
    }
    mdl_name_pattern_fini(&pattern);
    if (result < 0)
        return result;
    return result ? name_symbol(model, symbol)
                  : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no data symbol named \"%s\"", name);
}
