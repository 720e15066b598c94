/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbols of .symtab (the module's or its debug file's) and .dynsym, ranges of call frame
 * information, and stubs of procedure linkage tables, which are named after the address slot that
 * they jump through.
 */
#include "wet/model/symload.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/model/ehframe.h"
#include "wet/model/insn_flow.h"

static int add_function(struct mdl_raw *raw, const struct mdl_raw_function *function)
{
    if (wd_grow(raw->functions, raw->capacity, raw->count + 1))
        return -ENOMEM;
    raw->functions[raw->count++] = *function;
    return 0;
}

/* ---- Symbols ----------------------------------------------------------------------------- */

/* The rank of a name, lower is better: exported before local, few leading underscores, global
 * before weak, then short. */
static unsigned name_rank(const char *name, const GElf_Sym *symbol)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    unsigned underscores = (unsigned)strspn(name, "_");
    size_t length = strlen(name);

    if (underscores > 15)
        underscores = 15;
    return ((GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE) << 30) | ((bind == STB_LOCAL) << 29) |
           (underscores << 24) | ((bind == STB_WEAK) << 20) |
           (unsigned)(length < 0xffff ? length : 0xffff);
}

/* The name without "@VERSION", or NULL. */
static const char *symbol_name(struct mdl_raw *raw, Elf *elf, size_t strings,
                               const GElf_Sym *symbol)
{
    const char *name = elf_strptr(elf, strings, symbol->st_name);
    const char *version = name ? strchr(name, '@') : NULL;

    if (!name || !*name || version == name)
        return NULL;
    if (version)
        return mdl_strings_intern(&raw->mod->model->strings, name, (size_t)(version - name));
    return name;
}

/* An assembler label without type counts as a function if it lies inside a code section and is
 * not one of the marks that linkers and assemblers make. */
static bool is_code_label(Elf *elf, const char *name, const GElf_Sym *symbol)
{
    GElf_Shdr shdr;
    Elf_Scn *scn;

    if (symbol->st_shndx >= SHN_LORESERVE || name[0] == '.' || name[0] == '$')
        return false;
    scn = elf_getscn(elf, symbol->st_shndx);
    return scn && gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_EXECINSTR) &&
           symbol->st_value - shdr.sh_addr < shdr.sh_size;
}

static bool is_cold_name(const char *name)
{
    const char *cold = strstr(name, ".cold");

    return cold && (cold[5] == '\0' || cold[5] == '.');
}

static int add_object(struct mdl_raw *raw, const char *name, const GElf_Sym *symbol)
{
    if (wd_grow(raw->objects, raw->object_capacity, raw->object_count + 1))
        return -ENOMEM;
    raw->objects[raw->object_count++] = (struct wetdbg_symbol){
        .name = name,
        .start = symbol->st_value + raw->mod->info.bias,
        .size_bytes = symbol->st_size,
        .module = raw->mod->info.id,
    };
    return 0;
}

static int add_symbol(struct mdl_raw *raw, Elf *elf, size_t strings, const GElf_Sym *symbol)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    struct mdl_raw_function function = {.flags = WETDBG_FUNCTION_SYMBOL};
    const char *name;

    if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && type != STT_OBJECT))
        return 0;
    name = symbol_name(raw, elf, strings, symbol);
    if (!name)
        return 0;
    if (type == STT_OBJECT)
        return add_object(raw, name, symbol);
    function.start = symbol->st_value + raw->mod->info.bias;
    if (!mdl_mod_is_code(raw->mod, function.start) ||
        (type == STT_NOTYPE && !is_code_label(elf, name, symbol)))
        return 0;
    if (symbol->st_size && function.start + symbol->st_size > function.start)
        function.end = function.start + symbol->st_size;
    function.name = name;
    function.rank = name_rank(name, symbol);
    if (type == STT_GNU_IFUNC)
        function.flags |= WETDBG_FUNCTION_IFUNC;
    if (is_cold_name(name))
        function.flags |= WETDBG_FUNCTION_COLD;
    return add_function(raw, &function);
}

static int add_symbols(struct mdl_raw *raw, Elf *elf)
{
    Elf_Scn *scn = NULL;

    while (elf && (scn = elf_nextscn(elf, scn))) {
        GElf_Shdr shdr;
        Elf_Data *data;
        size_t count;

        if (!gelf_getshdr(scn, &shdr) || (shdr.sh_type != SHT_SYMTAB && shdr.sh_type != SHT_DYNSYM))
            continue;
        data = elf_getdata(scn, NULL);
        count = data && data->d_buf ? data->d_size / sizeof(Elf64_Sym) : 0;
        for (size_t i = 1; i < count; i++) {
            GElf_Sym symbol;

            if (gelf_getsym(data, (int)i, &symbol) &&
                add_symbol(raw, elf, shdr.sh_link, &symbol) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- Call frame information -------------------------------------------------------------- */

static int add_frame(void *context, const struct mdl_frame_range *range)
{
    struct mdl_raw *raw = context;
    struct mdl_raw_function function = {
        .start = range->start + raw->mod->info.bias,
        .flags = WETDBG_FUNCTION_FRAME,
        .rank = UINT32_MAX,
        .is_continuation = range->is_continuation,
        .lsda = range->lsda ? range->lsda + raw->mod->info.bias : 0,
    };

    function.end = function.start + range->size_bytes;
    if (function.end <= function.start || !mdl_mod_is_code(raw->mod, function.start))
        return 0;
    return add_function(raw, &function);
}

/* ---- Address slots and stubs ------------------------------------------------------------- */

static int add_slot(struct mdl_raw *raw, Elf *elf, const GElf_Shdr *relocs, const GElf_Rela *rela)
{
    unsigned type = GELF_R_TYPE(rela->r_info);
    struct mdl_slot slot = {.address = rela->r_offset + raw->mod->info.bias};
    GElf_Shdr symtab;
    GElf_Sym symbol;
    Elf_Scn *scn;
    Elf_Data *data;

    if (type == R_X86_64_IRELATIVE) {
        slot.target = (uint64_t)rela->r_addend + raw->mod->info.bias;
    } else if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
        scn = elf_getscn(elf, relocs->sh_link);
        if (!scn || !gelf_getshdr(scn, &symtab) || !(data = elf_getdata(scn, NULL)) ||
            !gelf_getsym(data, (int)GELF_R_SYM(rela->r_info), &symbol))
            return 0;
        slot.name = symbol_name(raw, elf, symtab.sh_link, &symbol);
        if (!slot.name)
            return 0;
    } else {
        return 0;
    }
    if (wd_grow(raw->slots, raw->slot_capacity, raw->slot_count + 1))
        return -ENOMEM;
    raw->slots[raw->slot_count++] = slot;
    return 0;
}

static int compare_slots(const void *left, const void *right)
{
    const struct mdl_slot *a = left, *b = right;

    return a->address < b->address ? -1 : a->address > b->address;
}

static int add_slots(struct mdl_raw *raw, Elf *elf)
{
    Elf_Scn *scn = NULL;

    while (elf && (scn = elf_nextscn(elf, scn))) {
        GElf_Shdr shdr;
        Elf_Data *data;
        size_t count;

        if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA || !(shdr.sh_flags & SHF_ALLOC))
            continue;
        data = elf_getdata(scn, NULL);
        count = data && data->d_buf ? data->d_size / sizeof(Elf64_Rela) : 0;
        for (size_t i = 0; i < count; i++) {
            GElf_Rela rela;

            if (gelf_getrela(data, (int)i, &rela) && add_slot(raw, elf, &shdr, &rela) < 0)
                return -ENOMEM;
        }
    }
    if (raw->slot_count)
        qsort(raw->slots, raw->slot_count, sizeof(*raw->slots), compare_slots);
    return 0;
}

static const struct mdl_slot *slot_at(const struct mdl_raw *raw, uint64_t address)
{
    struct mdl_slot key = {.address = address};

    return raw->slot_count ? bsearch(&key, raw->slots, raw->slot_count, sizeof(key), compare_slots)
                           : NULL;
}

/* The best name of a function that symbols gave so far (only for resolvers: few, so no index). */
static const char *name_at(const struct mdl_raw *raw, uint64_t start)
{
    const struct mdl_raw_function *best = NULL;

    for (size_t i = 0; i < raw->count; i++)
        if (raw->functions[i].start == start && raw->functions[i].name &&
            (!best || raw->functions[i].rank < best->rank))
            best = &raw->functions[i];
    return best ? best->name : NULL;
}

/* The slot that a stub uses. Its code jumps through it, or, if it is the lazy half of a split
 * table, pushes its number in the jump slot relocations. */
static const struct mdl_slot *stub_slot(struct mdl_raw *raw, Elf *elf, uint64_t stub, size_t size,
                                        uint64_t *lazy_slot)
{
    struct mdl_insn insn;
    GElf_Shdr shdr;
    GElf_Rela rela;
    Elf_Scn *scn;
    Elf_Data *data;
    size_t available;
    const uint8_t *bytes = mdl_mod_bytes(raw->mod, stub, &available);

    if (available < size)
        size = available;
    for (size_t at = 0; bytes && at < size; at += insn.length) {
        if (mdl_decode(stub + at, bytes + at, size - at, &insn) < 0)
            return NULL;
        if (insn.kind == MDL_INSN_JUMP)
            return insn.slot ? slot_at(raw, insn.slot) : NULL;
        if (bytes[at] == 0x68 && insn.length == 5) { /* push imm32 */
            uint32_t number;

            memcpy(&number, bytes + at + 1, 4);
            if (mdl_elf_section(elf, ".rela.plt", &shdr, &scn) == 0 &&
                (data = elf_getdata(scn, NULL)) && number < INT32_MAX &&
                gelf_getrela(data, (int)number, &rela)) {
                *lazy_slot = rela.r_offset + raw->mod->info.bias;
                return slot_at(raw, *lazy_slot);
            }
            return NULL;
        }
    }
    return NULL;
}

static int add_stub(struct mdl_raw *raw, Elf *elf, uint64_t stub, size_t size)
{
    struct mdl_strings *strings = &raw->mod->model->strings;
    uint64_t lazy_slot = 0;
    const struct mdl_slot *slot = stub_slot(raw, elf, stub, size, &lazy_slot);
    struct mdl_raw_function function = {
        .start = stub, .end = stub + size, .flags = WETDBG_FUNCTION_PLT, .rank = UINT32_MAX - 1};
    const char *name = slot ? slot->name : NULL;

    if (slot && !name)
        name = name_at(raw, slot->target);
    if (name)
        function.name = mdl_strings_format(strings, "%s@plt", name);
    else if (slot)
        function.name =
            mdl_strings_format(strings, "%s+0x%llx@plt", raw->mod->info.name,
                               (unsigned long long)(slot->target - raw->mod->info.bias));
    else
        function.name = ".plt";
    return function.name ? add_function(raw, &function) : -ENOMEM;
}

static int add_stubs(struct mdl_raw *raw, Elf *elf)
{
    static const char *const sections[] = {".plt", ".plt.got", ".plt.sec", ".plt.bnd", ".iplt"};

    for (size_t i = 0; elf && i < sizeof(sections) / sizeof(sections[0]); i++) {
        GElf_Shdr shdr;
        Elf_Scn *scn;
        uint64_t start, size;

        if (mdl_elf_section(elf, sections[i], &shdr, &scn) < 0)
            continue;
        start = shdr.sh_addr + raw->mod->info.bias;
        size = shdr.sh_entsize == 8 ? 8 : 16;
        for (uint64_t at = 0; at + size <= shdr.sh_size; at += size) {
            if (!mdl_mod_is_code(raw->mod, start + at))
                break;
            if (add_stub(raw, elf, start + at, size) < 0)
                return -ENOMEM;
        }
    }
    return 0;
}

int mdl_symload(struct mdl_raw *raw)
{
    Elf *file = mdl_mod_elf(raw->mod, MDL_IMAGE_FILE);
    Elf *debug = mdl_mod_elf(raw->mod, MDL_IMAGE_DEBUG);

    if (add_symbols(raw, file) < 0 || add_symbols(raw, debug) < 0 || add_slots(raw, file) < 0 ||
        add_stubs(raw, file) < 0)
        return -ENOMEM;
    return mdl_ehframe_each(raw->mod, add_frame, raw);
}
