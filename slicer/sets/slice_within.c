/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a slice has in a set, with what is known of its members. */
#include <errno.h>

#include "common/array.h"
#include "common/clock.h"
#include "slicer/sets/instance_set.h"
#include "slicer/slice_priv.h"
#include <wetdbg/errors.h>

/* Counts a member of a share, and marks its bit. */
static int keep(struct wetdbg_slice *slice, struct slc_share *share,
                const struct slc_member *member)
{
    wetdbg_time time = share->first_time + member->time_off;

    if (wd_grow(share->members, share->member_capacity, share->member_count + 1))
        return -ENOMEM;
    share->members[share->member_count++] = *member;
    share->bits[member->time_off / 64] |= UINT64_C(1) << member->time_off % 64;
    slc_code_tally(slice->code, member->pc_index, 1, time, time, member->distance);
    return 0;
}

static int keep_share(struct wetdbg_slice *slice, struct slc_share *to,
                      const struct slc_share *from, const struct wetdbg_set *set)
{
    int err = 0;

    if (!from->bits)
        return 0;
    to->first_time = from->first_time;
    to->instructions = from->instructions;
    to->bits = slc_session_bits(slice->session, (size_t)((from->instructions + 63) / 64 + 1));
    if (!to->bits)
        return -ENOMEM;
    for (size_t i = 0; i < from->member_count && !err; i++)
        if (wetdbg_set_contains_time(set, from->first_time + from->members[i].time_off))
            err = keep(slice, to, &from->members[i]);
    return err ? err : slc_slice_collect(slice);
}

int wetdbg_slice_within(const struct wetdbg_slice *slice, const struct wetdbg_set *set,
                        struct wetdbg_slice **out)
{
    double began = wd_seconds();

    if (!slice->options.record_parents || slice->wet != set->wet)
        return wetdbg_fail(-EINVAL, "the slice was made without parents, or of another run");
    struct wetdbg_slice_options how = slice->options;
    how.session = slice->session;
    how.on_line = NULL;
    struct wetdbg_slice *part = slc_slice_new(slice->wet, &how);
    int err = part ? 0 : -ENOMEM;

    if (part)
        part->is_forward = slice->is_forward;
    for (uint64_t k = 0; k < slice->share_count && !err; k++)
        err = keep_share(part, &part->shares[k], &slice->shares[k], set);
    if (!err && slice->has_fault && wetdbg_set_contains_time(set, slice->fault_time))
        err = slc_slice_add_fault(part, slice->fault_time, slice->code->pcs[slice->fault_pc].pc,
                                  slice->fault_task, &slice->fault_want, slice->fault_address);
    if (!err)
        err = slc_slice_finish(part);
    if (err) {
        wetdbg_slice_free(part);
        return err;
    }
    part->counts.seconds = wd_seconds() - began;
    *out = part;
    return 0;
}
