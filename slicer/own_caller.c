/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "slicer/state_view.h"
#include "slicer/writers.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

#define DEPTH_MAX 4096

static bool is_runtime(const char *module)
{
    static const char *const names[] = {
        "libc.so",     "libc-2.",    "ld-linux",   "ld-2.",       "libm.so",      "libm-2.",
        "libmvec.so",  "libpthread", "librt.so",   "libdl.so",    "libresolv.so", "librrpreload",
        "librrpage",   "[vdso]",     "libstdc++.", "libc++.so",   "libgcc_s",     "libasan.so",
        "libubsan.so", "libtsan.so", "liblsan.so", "libc++abi.so"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(module, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool wetdbg_is_own(struct wetdbg *wet, uint64_t pc)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    const char *program = wetdbg_get_info(wet)->program;
    struct wetdbg_module_debug debug;
    struct wetdbg_module module;
    struct wetdbg_line line;

    if (wetdbg_module_at(model, pc, &module) || is_runtime(module.name))
        return false;
    if (wetdbg_module_debug(model, module.id, &debug) == 0 && debug.has_dwarf)
        return wetdbg_line_at(model, pc, &line) == 0 && line.file && line.line;
    return program && strcmp(module.name, base_name(program)) == 0;
}

static int note_latest(void *arg, const struct slc_writer *writer)
{
    struct slc_writer *latest = arg;

    if (writer->time > latest->time)
        *latest = *writer;
    return 0;
}

#define CALL_BYTES_MAX 15
#define TRIES_MAX      8 /* what saves all registers perhaps wrote there: its bytes are a bound */

/* When the call was made that put `target`, where it returns to, into a stack slot; 0: not
 * known. */
static int find_call(struct wetdbg *wet, wetdbg_time before, uint64_t slot, uint64_t target,
                     wetdbg_time *time)
{
    struct slc_writer_finder finder;
    int err = slc_writer_finder_init(&finder, wet);

    *time = 0;
    if (err)
        return err;
    for (unsigned i = 0; i < TRIES_MAX && before && !*time && !err; i++) {
        struct slc_writer latest = {.time = 0};
        err = slc_last_writers(&finder, before, slot, 8, note_latest, &latest);
        if (latest.pc && target - latest.pc <= CALL_BYTES_MAX)
            *time = latest.time;
        before = latest.time;
    }
    slc_writer_finder_fini(&finder);
    return err;
}

#define INLINE_MAX 32

/* Where an address is in the source, for people. */
static void find_line(struct wetdbg_model *model, struct wetdbg_caller *caller)
{
    static const char system_headers[] = "/usr/include/";
    struct wetdbg_line chain[INLINE_MAX];
    struct wetdbg_function function;
    size_t count = 0, at = 0;

    if (wetdbg_inline_chain(model, caller->pc, chain, INLINE_MAX, &count))
        count = 0;
    count = count < INLINE_MAX ? count : INLINE_MAX;
    while (at + 1 < count && chain[at].file &&
           strncmp(chain[at].file, system_headers, strlen(system_headers)) == 0)
        at++;
    if (at < count && chain[at].file && chain[at].line) {
        caller->file = chain[at].file;
        caller->line = chain[at].line;
        caller->function = chain[at].function;
    }
    if (!caller->function && wetdbg_function_at(model, caller->pc, &function) == 0)
        caller->function = function.name;
}

/* Goes up to an own frame. 1, or 0 if there is none; *slot is where its call put the return
 * address. */
static int climb(struct wetdbg *wet, struct wetdbg_state *state, struct wetdbg_frame_regs *regs,
                 struct wetdbg_caller *caller, uint64_t *slot)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);

    while (caller->depth < DEPTH_MAX) {
        caller->pc = wetdbg_frame_lookup_pc(regs);
        if (wetdbg_is_own(wet, caller->pc))
            return 1;
        int result = wetdbg_unwind(model, regs, slc_read_memory, state);
        if (result == -WETDBG_ERR_INTERRUPTED)
            return result;
        if (result <= 0)
            return 0;
        *slot = regs->value[WETDBG_REG_RSP] - 8;
        caller->depth++;
    }
    return 0;
}

int wetdbg_own_caller(struct wetdbg *wet, wetdbg_time time, struct wetdbg_caller *caller)
{
    struct wetdbg_state *state;
    struct wetdbg_frame_regs regs;
    uint64_t slot = 0;
    int result = wetdbg_state_open(wet, time, &state);

    if (result)
        return result;
    *caller = (struct wetdbg_caller){.time = time};
    regs = slc_frame_regs(state);
    result = climb(wet, state, &regs, caller, &slot);
    wetdbg_state_close(state);
    if (result <= 0)
        return result < 0 ? result : wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    find_line(wetdbg_get_model(wet), caller);
    caller->is_self = caller->depth == 0;
    if (caller->is_self)
        return 0;
    return find_call(wet, time, slot, regs.value[WETDBG_REG_RIP], &caller->time);
}
