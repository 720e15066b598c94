/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/cfi.h"

#include <errno.h>
#include <stdlib.h>

#include "wet/model/image.h"
#include <wetdbg/errors.h>

void mdl_cfi_free(struct mdl_cfi *cfi)
{
    if (!cfi)
        return;
    if (cfi->eh)
        dwarf_cfi_end(cfi->eh);
    dwarf_end(cfi->debug_dwarf); /* ends `debug` too */
    free(cfi);
}

/* Opens .debug_frame of the first image that has one. */
static void open_debug_frame(struct mdl_mod *mod, struct mdl_cfi *cfi)
{
    static const enum mdl_image_kind kinds[] = {MDL_IMAGE_FILE, MDL_IMAGE_DEBUG};

    for (size_t i = 0; i < 2 && !cfi->debug; i++) {
        Elf *elf = mdl_mod_elf(mod, kinds[i]);
        GElf_Shdr shdr;
        Elf_Scn *scn;

        if (!elf || mdl_elf_section(elf, ".debug_frame", &shdr, &scn) < 0)
            continue;
        cfi->debug_dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
        cfi->debug = cfi->debug_dwarf ? dwarf_getcfi(cfi->debug_dwarf) : NULL;
        if (!cfi->debug) {
            dwarf_end(cfi->debug_dwarf);
            cfi->debug_dwarf = NULL;
        }
    }
}

static int cfi_get(struct mdl_mod *mod, struct mdl_cfi **cfi)
{
    Elf *elf = mdl_mod_elf(mod, MDL_IMAGE_FILE);

    if (!mod->cfi) {
        mod->cfi = calloc(1, sizeof(*mod->cfi));
        if (!mod->cfi)
            return -ENOMEM;
        mod->cfi->eh = elf ? dwarf_getcfi_elf(elf) : NULL;
        open_debug_frame(mod, mod->cfi);
    }
    *cfi = mod->cfi;
    return 0;
}

int mdl_cfi_frame(struct mdl_mod *mod, uint64_t pc, Dwarf_Frame **frame)
{
    Dwarf_Addr address = pc - mod->info.bias;
    struct mdl_cfi *cfi = NULL;
    int result = cfi_get(mod, &cfi);

    if (result < 0)
        return result;
    if (cfi->eh && dwarf_cfi_addrframe(cfi->eh, address, frame) == 0)
        return 0;
    if (cfi->debug && dwarf_cfi_addrframe(cfi->debug, address, frame) == 0)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no call frame information for 0x%llx (%s+0x%llx)",
                       (unsigned long long)pc, mod->info.name, (unsigned long long)address);
}
