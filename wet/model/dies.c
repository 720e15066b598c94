/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/dies.h"

#include <stddef.h>

uint64_t mdl_die_budget(const Dwarf_Die *unit)
{
    Dwarf_Die die = *unit;
    Dwarf_Off start = dwarf_dieoffset(&die);
    Dwarf_Off within = dwarf_cuoffset(&die);
    Dwarf_Off next;
    size_t header;
    Dwarf_Half version;
    uint8_t address_size, offset_size;
    Dwarf_Off abbrev;

    if (start == (Dwarf_Off)-1 || within == (Dwarf_Off)-1 ||
        dwarf_next_unit(dwarf_cu_getdwarf(die.cu), start - within, &next, &header, &version,
                        &abbrev, &address_size, &offset_size, NULL, NULL) != 0)
        return 1 << 20;
    return next - start;
}

int mdl_die_children(Dwarf_Die *parent, uint64_t *budget, mdl_die_fn fn, void *context)
{
    Dwarf_Die child, next;
    Dwarf_Off off;

    if (dwarf_child(parent, &child) != 0)
        return 0;
    off = dwarf_dieoffset(&child);
    while (*budget > 0) {
        int err;

        --*budget;
        next = child;
        err = fn(context, &child);
        if (err != 0)
            return err;
        if (dwarf_siblingof(&next, &child) != 0 || dwarf_dieoffset(&child) <= off)
            return 0;
        off = dwarf_dieoffset(&child);
    }
    return 0;
}
