/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where indirect jumps went: a table of the file. */
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include <wetdbg/errors.h>

_Static_assert(sizeof(struct wetdbg_jump) == sizeof(struct wet_jump_record),
               "what is asked for is what is in the file");

int wet_jumps_open(struct wetdbg *wet)
{
    struct wd_buf *bytes = &wet->jumps_bytes;
    int err = wet_store_read(wet->store, WET_SEC_JUMPS, 0, bytes);
    if (err)
        return err;
    const struct wet_jump_record *jumps = (const void *)bytes->data;
    size_t count = bytes->size_bytes / sizeof(*jumps);
    bool is_sound = bytes->size_bytes % sizeof(*jumps) == 0;
    for (size_t i = 1; i < count && is_sound; i++)
        is_sound = wet_rule_jump(&jumps[i - 1], &jumps[i]);
    return is_sound ? 0
                    : wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged table of jumps",
                                  wet_store_path(wet->store));
}

const struct wetdbg_jump *wetdbg_jumps(const struct wetdbg *wet, size_t *count)
{
    *count = wet->jumps_bytes.size_bytes / sizeof(struct wetdbg_jump);
    return (const struct wetdbg_jump *)(const void *)wet->jumps_bytes.data;
}
