/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * elfutils finds the FDE for an address, but does not list FDEs. This walks the section with its
 * dwarf_next_cfi() and decodes only what names a range, plus the CFA rule at the range's start.
 */
#include "wet/model/ehframe.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <string.h>

struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static uint64_t read_fixed(struct reader *reader, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(reader->end - reader->at) < bytes) {
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, bytes);
    reader->at += bytes;
    return value;
}

static uint64_t read_uleb(struct reader *reader)
{
    uint64_t value = 0;

    for (unsigned shift = 0; reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;

        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            break;
    }
    return value;
}

/* What of a CIE concerns us. */
struct cie {
    Dwarf_Off off;
    bool is_valid;
    uint8_t encoding; /* DW_EH_PE_* of FDE addresses */
    uint8_t lsda_encoding;
    bool has_sized_augmentation;
    bool is_entry_frame; /* CFA = rsp + 8 at the start */
};

/* Where a walk is: one section. */
struct walk {
    const unsigned char *ident;
    Elf_Data *data;
    uint64_t address; /* the section's virtual address */
    bool is_eh;
    struct cie cie; /* the last one seen */
    mdl_frame_range_fn fn;
    void *context;
};

/* Whether the program up to the first advance keeps (or makes) CFA = rsp + 8. */
static bool keeps_entry_frame(struct reader reader, bool is_entry_frame)
{
    while (reader.at < reader.end) {
        uint8_t op = *reader.at++;

        if ((op & 0xc0) == DW_CFA_offset)
            read_uleb(&reader);
        else if ((op & 0xc0) == DW_CFA_restore || op == DW_CFA_nop)
            continue;
        else if (op == DW_CFA_def_cfa) {
            uint64_t reg = read_uleb(&reader);

            is_entry_frame = reg == 7 && read_uleb(&reader) == 8;
        } else if (op == DW_CFA_def_cfa_offset)
            is_entry_frame = read_uleb(&reader) == 8;
        else if (op == DW_CFA_def_cfa_register)
            is_entry_frame = is_entry_frame && read_uleb(&reader) == 7;
        else if (op == DW_CFA_def_cfa_expression)
            return false;
        else
            break; /* advances, and what entries do not start with */
    }
    return is_entry_frame;
}

static void parse_augmentation(struct cie *cie, const Dwarf_CIE *raw)
{
    struct reader data = {raw->augmentation_data,
                          raw->augmentation_data + raw->augmentation_data_size};

    cie->has_sized_augmentation = raw->augmentation[0] == 'z';
    for (const char *letter = raw->augmentation + cie->has_sized_augmentation; *letter; letter++) {
        if (*letter == 'R')
            cie->encoding = (uint8_t)read_fixed(&data, 1);
        else if (*letter == 'L')
            cie->lsda_encoding = (uint8_t)read_fixed(&data, 1);
        else if (*letter == 'P') {
            static const uint8_t sizes[8] = {8, 0, 2, 4, 8, 0, 0, 0};

            read_fixed(&data, sizes[read_fixed(&data, 1) & 7]);
        } else if (*letter != 'S' && *letter != 'B')
            break;
    }
}

/* Makes walk->cie the one at an offset. */
static int load_cie(struct walk *walk, Dwarf_Off off)
{
    Dwarf_CFI_Entry entry;
    Dwarf_Off next;
    struct reader program;

    if (walk->cie.is_valid && walk->cie.off == off)
        return 0;
    if (off >= walk->data->d_size ||
        dwarf_next_cfi(walk->ident, walk->data, walk->is_eh, off, &next, &entry) != 0 ||
        !dwarf_cfi_cie_p(&entry))
        return -1;
    walk->cie = (struct cie){
        .off = off, .is_valid = true, .encoding = DW_EH_PE_absptr, .lsda_encoding = DW_EH_PE_omit};
    if (entry.cie.augmentation && entry.cie.augmentation_data)
        parse_augmentation(&walk->cie, &entry.cie);
    program = (struct reader){entry.cie.initial_instructions, entry.cie.initial_instructions_end};
    walk->cie.is_entry_frame = keeps_entry_frame(program, 0);
    return 0;
}

/* An encoded address or size; `is_address` adds what the encoding is relative to. */
static int read_encoded(const struct walk *walk, struct reader *reader, uint8_t encoding,
                        bool is_address, uint64_t *value)
{
    uint64_t field = walk->address + (uint64_t)(reader->at - (uint8_t *)walk->data->d_buf);

    switch (encoding & 0x0f) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        *value = read_fixed(reader, 8);
        break;
    case DW_EH_PE_udata4:
        *value = read_fixed(reader, 4);
        break;
    case DW_EH_PE_sdata4:
        *value = read_fixed(reader, 4);
        if (is_address)
            *value = (uint64_t)(int64_t)(int32_t)*value;
        break;
    case DW_EH_PE_udata2:
        *value = read_fixed(reader, 2);
        break;
    default:
        return -1;
    }
    if (!is_address || (encoding & 0x70) == DW_EH_PE_absptr)
        return 0;
    if ((encoding & 0xf0) != DW_EH_PE_pcrel)
        return -1;
    *value += field;
    return 0;
}

/* The address of the language specific data, which is in the augmentation data; 0 if there is
 * none. */
static uint64_t read_lsda(const struct walk *walk, struct reader reader, uint64_t size)
{
    uint64_t lsda = 0;

    reader.end = reader.at + size;
    if (walk->cie.lsda_encoding == DW_EH_PE_omit || size < 4)
        return 0;
    for (const uint8_t *byte = reader.at; byte < reader.end; byte++)
        lsda |= *byte;
    /* all zero: there is none, whatever it would be relative to */
    if (!lsda || read_encoded(walk, &reader, walk->cie.lsda_encoding, 1, &lsda) < 0)
        return 0;
    return lsda;
}

static int report_fde(struct walk *walk, const Dwarf_FDE *fde)
{
    struct reader reader = {fde->start, fde->end};
    struct mdl_frame_range range;

    if (load_cie(walk, fde->CIE_pointer) < 0)
        return 0;
    if (read_encoded(walk, &reader, walk->cie.encoding, 1, &range.start) < 0 ||
        read_encoded(walk, &reader, walk->cie.encoding, 0, &range.size_bytes) < 0 ||
        range.size_bytes == 0)
        return 0;
    range.lsda = 0;
    if (walk->cie.has_sized_augmentation) {
        uint64_t size = read_uleb(&reader);

        if (size > (uint64_t)(reader.end - reader.at))
            return 0;
        range.lsda = read_lsda(walk, reader, size);
        reader.at += size;
    }
    range.is_continuation = !keeps_entry_frame(reader, walk->cie.is_entry_frame);
    return walk->fn(walk->context, &range);
}

static int walk_section(struct walk *walk)
{
    Dwarf_Off off = 0, next = 0;
    Dwarf_CFI_Entry entry;
    int status, err;

    for (;; off = next) {
        status = dwarf_next_cfi(walk->ident, walk->data, walk->is_eh, off, &next, &entry);
        if (status > 0 || next <= off)
            return 0;
        if (status < 0 || dwarf_cfi_cie_p(&entry))
            continue;
        err = report_fde(walk, &entry.fde);
        if (err != 0)
            return err;
    }
}

/* .eh_frame of an image without section headers, through PT_GNU_EH_FRAME; ends where the PT_LOAD
 * ends (a zero terminator stops the walk earlier). */
static int locate_by_phdr(Elf *elf, Elf_Data *data, uint64_t *address)
{
    size_t count, size;
    const uint8_t *image = (const uint8_t *)elf_rawfile(elf, &size);
    uint64_t header = 0;
    GElf_Phdr phdr;
    int32_t relative;

    if (!image || elf_getphdrnum(elf, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (gelf_getphdr(elf, (int)i, &phdr) && phdr.p_type == PT_GNU_EH_FRAME &&
            phdr.p_offset < size && size - phdr.p_offset >= 8 && image[phdr.p_offset] == 1 &&
            image[phdr.p_offset + 1] == (DW_EH_PE_pcrel | DW_EH_PE_sdata4)) {
            memcpy(&relative, image + phdr.p_offset + 4, 4);
            header = phdr.p_vaddr + 4 + (uint64_t)(int64_t)relative;
        }
    for (size_t i = 0; header && i < count; i++) {
        uint64_t into;

        if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD)
            continue;
        into = header - phdr.p_vaddr;
        if (into >= phdr.p_filesz || phdr.p_offset >= size || into >= size - phdr.p_offset)
            continue;
        data->d_buf = (void *)(image + phdr.p_offset + into);
        data->d_size = phdr.p_filesz - into;
        if (data->d_size > size - phdr.p_offset - into)
            data->d_size = size - phdr.p_offset - into;
        *address = header;
        return 0;
    }
    return -1;
}

static int walk_image(struct walk *walk, Elf *elf, const char *section)
{
    Elf_Data from_phdr = {.d_type = ELF_T_BYTE, .d_version = EV_CURRENT};
    GElf_Shdr shdr;
    Elf_Scn *scn;

    if (!elf)
        return 0;
    walk->ident = (const unsigned char *)elf_getident(elf, NULL);
    walk->cie.is_valid = false;
    if (mdl_elf_section(elf, section, &shdr, &scn) == 0) {
        if (shdr.sh_type == SHT_NOBITS)
            return 0;
        if (shdr.sh_flags & SHF_COMPRESSED)
            elf_compress(scn, 0, 0);
        walk->data = elf_getdata(scn, NULL);
        walk->address = shdr.sh_addr;
    } else if (walk->is_eh && locate_by_phdr(elf, &from_phdr, &walk->address) == 0) {
        walk->data = &from_phdr;
    } else {
        return 0;
    }
    if (!walk->data || !walk->data->d_buf)
        return 0;
    return walk_section(walk);
}

int mdl_ehframe_each(struct mdl_mod *mod, mdl_frame_range_fn fn, void *context)
{
    struct walk walk = {.fn = fn, .context = context, .is_eh = true};
    int result = walk_image(&walk, mdl_mod_elf(mod, MDL_IMAGE_FILE), ".eh_frame");

    walk.is_eh = false;
    if (result == 0)
        result = walk_image(&walk, mdl_mod_elf(mod, MDL_IMAGE_FILE), ".debug_frame");
    if (result == 0)
        result = walk_image(&walk, mdl_mod_elf(mod, MDL_IMAGE_DEBUG), ".debug_frame");
    return result;
}
