/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locations (recorder/insn/insn.h) for those who see only <wetdbg/slice.h>. */
#include "recorder/insn/insn.h"
#include "slicer/slicer.h"

_Static_assert(WETDBG_LOCATION_NONE == INS_LOC_COUNT, "the number that is no location's");

enum wetdbg_location_kind wetdbg_location_kind(unsigned location, unsigned *number)
{
    static const unsigned char flag_bits[] = {0, 2, 4, 6, 7, 11, 10};
    *number = 0;
    if (location < INS_LOC_CF) {
        *number = (location - INS_LOC_GPR) / INS_GPR_PIECES;
        return WETDBG_LOCATION_GENERAL;
    }
    if (location < INS_LOC_VEC) {
        *number = flag_bits[location - INS_LOC_CF];
        return WETDBG_LOCATION_FLAG;
    }
    if (location < INS_LOC_K) {
        *number = (location - INS_LOC_VEC) / INS_VEC_PIECES;
        return WETDBG_LOCATION_VECTOR;
    }
    if (location < INS_LOC_ST) {
        *number = location - INS_LOC_K;
        return WETDBG_LOCATION_MASK;
    }
    return WETDBG_LOCATION_OTHER;
}

const char *wetdbg_location_name(unsigned location)
{
    return ins_location_name(location);
}
