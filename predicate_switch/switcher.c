/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <wetdbg/switch.h>, from sessions and criteria. */
#include "predicate_switch/switcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predicate_switch/kept_run.h"
#include "recorder/insn/insn.h"
#include "slicer/criteria/criterion.h"
#include "slicer/state_view.h"
#include "wet/whole.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/switch.h>

/* ---- changes ---- */

/* The general register that a seed wants, if it wants nothing else; else 16. */
static unsigned seed_register(const struct slc_seed *seed)
{
    const struct ins_regset *set = &seed->regs[WETDBG_EDGE_VALUE];
    unsigned found = 16;
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        if (!ins_regset_has(set, loc))
            continue;
        unsigned piece = loc - INS_LOC_GPR; /* none of the others is below */
        unsigned reg = piece < INS_GPR_PIECES * INS_GPR_COUNT ? piece / INS_GPR_PIECES : 16;
        if (reg == 16 || (found != 16 && found != reg))
            return 16;
        found = reg;
    }
    return found;
}

static uint64_t register_bytes(const struct slc_seed *seed)
{
    return seed->register_bytes ? seed->register_bytes : 8;
}

/* A seed names one place: memory, adjacent pieces of it, or a register. */
static bool place_of(const struct wetdbg_criterion *criterion, uint64_t *address, uint64_t *size,
                     unsigned *reg)
{
    if (criterion->seed_count != 1)
        return false;
    const struct slc_seed *seed = &criterion->seeds[0];
    *reg = seed_register(seed);
    if (seed->uses != SLC_USES_NONE)
        return false;
    if (!seed->place_count) {
        *size = register_bytes(seed);
        return *reg < 16;
    }
    *address = seed->places[0].address;
    *size = 0;
    for (size_t i = 0; i < seed->place_count; i++) {
        if (seed->places[i].is_after || seed->places[i].address != *address + *size)
            return false;
        *size += seed->places[i].size_bytes;
    }
    *reg = 16;
    return true;
}

uint64_t wetdbg_change_room(const struct wetdbg_criterion *criterion)
{
    uint64_t address, size;
    unsigned reg;
    return place_of(criterion, &address, &size, &reg) ? size : 0;
}

static uint64_t low_bytes(size_t size)
{
    return size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1;
}

int wetdbg_change_of_criterion(const struct wetdbg_criterion *criterion, const void *bytes,
                               size_t size, struct wetdbg_change *out)
{
    const char *text = criterion->info.text;
    uint64_t address = 0, room;
    unsigned reg;
    if (!place_of(criterion, &address, &room, &reg))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'%s' is no single place in memory or in a general register, so it "
                           "cannot get another value",
                           text);
    if (!size || size > room || size > WETDBG_CHANGE_BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' has %llu bytes, and the value has %zu", text,
                           (unsigned long long)room, size);
    *out = (struct wetdbg_change){
        .kind = WETDBG_CHANGE_VALUE, .time = criterion->seeds[0].time, .reg = reg};
    if (reg < 16) {
        out->mask = low_bytes(size);
        memcpy(&out->value, bytes, size);
    } else {
        out->address = address;
        out->size = size;
        memcpy(out->bytes, bytes, size);
    }
    return 0;
}

static int points_add(struct wetdbg_model *model, const struct wetdbg_range *range,
                      struct wd_buf *pcs)
{
    int err = 0;
    for (uint64_t pc = range->start; !err && pc < range->end;) {
        struct ins_info info;
        uint8_t code[SLC_INSN_BYTES];
        if (!slc_decode_unrun(model, pc, range->end, code, &info))
            return 0;
        if (info.condition != INS_COND_NONE)
            err = wd_buf_append_u64(pcs, pc);
        pc += info.length;
    }
    return err;
}

int wetdbg_switch_points(struct wetdbg *wet, const char *file, uint32_t line, uint64_t **pcs,
                         size_t *count)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_range *ranges;
    struct wd_buf found = {0};
    size_t range_count;
    int err = wetdbg_line_ranges(model, file, line, &ranges, &range_count);
    if (err)
        return err;
    for (size_t i = 0; i < range_count && !err; i++)
        err = points_add(model, &ranges[i], &found);
    free(ranges);
    if (!err && !found.size_bytes)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "nothing on %s:%u depends on a condition", file,
                          line);
    if (err) {
        wd_buf_fini(&found);
        return err;
    }
    *pcs = (uint64_t *)found.data;
    *count = found.size_bytes / sizeof(**pcs);
    return 0;
}

/* ---- runs ---- */

/* The program's PWD: where it began, as far as its environment tells. For files that do not say
 * it. */
static void cwd_find(struct wetdbg *wet, char *cwd, size_t room)
{
    struct wetdbg_criterion *criterion;
    struct wetdbg_state *state;
    uint64_t address = 0, size = 0;
    unsigned reg;
    cwd[0] = 0;
    if (wetdbg_criterion_parse(wet, "env:PWD", NULL, &criterion))
        return;
    bool is_there = place_of(criterion, &address, &size, &reg) && reg == 16 && size < room &&
                    !wetdbg_state_open(wet, 1, &state);
    if (is_there) {
        is_there = !wetdbg_state_read(state, address, cwd, size) && cwd[0] == '/';
        wetdbg_state_close(state);
    }
    cwd[is_there ? size : 0] = 0;
    wetdbg_criterion_free(criterion);
}

/* A recording that somebody else made may name any file of this user's: then the disk is not looked
 * at. */
static struct psw_surroundings surroundings_find(struct wetdbg *wet,
                                                 struct wetdbg_switcher *switcher)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    bool is_trusted = wet_whole_is_trusted(wet);
    if (info->recorded_in && strlen(info->recorded_in) < sizeof(switcher->cwd))
        strcpy(switcher->cwd, info->recorded_in);
    else
        cwd_find(wet, switcher->cwd, sizeof(switcher->cwd));
    return (struct psw_surroundings){.cwd = switcher->cwd[0] ? switcher->cwd : NULL,
                                     .disk_before_ns = is_trusted ? info->recorded_at_ns : 0,
                                     .disk_until_ns = is_trusted ? info->recorded_until_ns : 0};
}

int wetdbg_switcher_open(struct wetdbg *wet, struct wetdbg_switcher **out)
{
    struct wetdbg_switcher *switcher = calloc(1, sizeof(*switcher));
    if (!switcher)
        return -ENOMEM;
    switcher->wet = wet;
    struct psw_surroundings where = surroundings_find(wet, switcher);
    int err = psw_session_open(wet, &where, &switcher->session);
    if (err)
        free(switcher);
    else
        *out = switcher;
    return err;
}

void wetdbg_switcher_close(struct wetdbg_switcher *switcher)
{
    if (!switcher)
        return;
    psw_session_close(switcher->session);
    free(switcher);
}

static struct psw_change inner_change(const struct wetdbg_change *change,
                                      struct psw_write writes[2])
{
    static const enum psw_change_kind kinds[] = {[WETDBG_CHANGE_NOTHING] = PSW_NOTHING,
                                                 [WETDBG_CHANGE_SWITCH] = PSW_SWITCH,
                                                 [WETDBG_CHANGE_VALUE] = PSW_SET};
    struct psw_change inner = {.kind = kinds[change->kind], .time = change->time};
    if (change->kind != WETDBG_CHANGE_VALUE)
        return inner;
    if (change->size) {
        writes[0] = (struct psw_write){change->address, change->size, change->bytes};
        writes[1] = (struct psw_write){change->more.address, change->more.size, change->more.bytes};
        inner.writes = writes;
        inner.write_count = change->more.size ? 2 : 1;
    } else {
        inner.reg = evq_reg_of_gpr[change->reg & 15];
        inner.value = change->value;
        inner.mask = change->mask;
    }
    return inner;
}

struct told {
    wetdbg_switch_output_fn fn;
    void *arg;
    int err;
};

static int output_tell(void *arg, const struct vk_output *output)
{
    struct told *told = arg;
    if (told->fn)
        told->err = told->fn(told->arg, output->fd, output->bytes, output->size);
    return told->err;
}

/* Runs on, telling of the output. */
static int run(struct psw_session *session, const struct psw_change *change,
               const struct psw_settings *settings, struct told *told, struct psw_result *ran)
{
    struct psw_settings telling = *settings;
    telling.output = output_tell;
    telling.arg = told;
    int err = psw_run(session, change, &telling, ran);
    return err ? err : told->err;
}

static void result_give(const struct psw_result *ran, struct wetdbg_switch_result *result)
{
    static const enum wetdbg_switch_end ends[] = {[PSW_EXIT] = WETDBG_SWITCH_EXIT,
                                                  [PSW_UNRESOLVED] = WETDBG_SWITCH_UNRESOLVED,
                                                  [PSW_HANGS] = WETDBG_SWITCH_HANGS,
                                                  [PSW_STOPPED] = WETDBG_SWITCH_UNRESOLVED,
                                                  [PSW_LIMIT] = WETDBG_SWITCH_LIMIT};
    *result = (struct wetdbg_switch_result){.end = ends[ran->end],
                                            .wait_status = ran->status,
                                            .instructions = ran->instructions,
                                            .output_differs = ran->difference.is_there,
                                            .output_fd = ran->difference.fd,
                                            .output_offset = ran->difference.offset};
    snprintf(result->reason, sizeof(result->reason), "%s", ran->reason);
}

int psw_switcher_run(struct psw_session *session, const struct psw_change *change,
                     const struct psw_settings *settings, wetdbg_switch_output_fn output, void *arg,
                     struct wetdbg_switch_result *result)
{
    struct told told = {.fn = output, .arg = arg};
    struct psw_result ran;
    int err = run(session, change, settings, &told, &ran);
    if (!err)
        result_give(&ran, result);
    return err;
}

int wetdbg_switcher_keep(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                         uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                         const char *change_text, const char *path,
                         struct wetdbg_switch_result *result)
{
    struct told told = {.fn = output, .arg = arg};
    struct psw_kept kept = {0};
    const struct psw_settings settings = {
        .instructions = instructions, .before = &kept.before, .entries = &kept.entries};
    struct psw_write writes[2];
    struct psw_change inner = inner_change(change, writes);
    struct psw_result ran;
    int err = run(switcher->session, &inner, &settings, &told, &ran);
    if (!err) {
        result_give(&ran, result);
        err = psw_kept_write(switcher->wet, &kept, &ran, change_text, change->time, path);
    }
    psw_kept_fini(&kept);
    return err;
}

int wetdbg_switcher_run(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                        uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                        struct wetdbg_switch_result *result)
{
    const struct psw_settings settings = {.instructions = instructions};
    struct psw_write writes[2];
    struct psw_change inner = inner_change(change, writes);
    return psw_switcher_run(switcher->session, &inner, &settings, output, arg, result);
}
