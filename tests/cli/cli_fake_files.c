/* SPDX-License-Identifier: GPL-3.0-or-later */
/* More of the run made of constants: what it was built from; and intervals, in which nothing is
 * written. */
#include <stdio.h>
#include <string.h>

#include "wet/intervals.h"
#include "wet/model/make_model.h"
#include <wetdbg/build.h>
#include <wetdbg/errors.h>
#include <wetdbg/slice.h>
#include <wetdbg/spectrum.h>
#include <wetdbg/wet.h>

int wetdbg_fingerprint_read(const char *path, char *out, size_t size)
{
    snprintf(out, size, "fingerprint of %s", path);
    return 0;
}

static const struct wetdbg_held_file held[] = {
    {"/bin/prog", 5000, true, "mmap_hardlink_1_prog", "digest", "/usr/lib/debug/prog", NULL, 70, 0},
    {"/lib/libold.so", 60, true, "/lib/libold.so", "size and time", NULL, NULL, 0, 8},
    {"/etc/table", 20, false, "mmap_copy_2_table", "size", NULL, NULL, 0, 0},
    {"/old", 3, true, NULL, NULL, NULL, NULL, 0, 0},
};

size_t wetdbg_held_file_count(const struct wetdbg *wet)
{
    (void)wet;
    return sizeof(held) / sizeof(*held);
}

void wetdbg_held_file_get(struct wetdbg *wet, size_t n, struct wetdbg_held_file *out)
{
    (void)wet;
    *out = held[n];
}

wetdbg_time wetdbg_interval_time(const struct wetdbg *wet, uint64_t k)
{
    (void)wet;
    return k ? UINT64_MAX : 1;
}

uint64_t wetdbg_interval_at(const struct wetdbg *wet, wetdbg_time t)
{
    (void)wet;
    (void)t;
    return 0;
}

bool wetdbg_interval_may_write(const struct wetdbg *wet, uint64_t k, uint64_t address,
                               uint64_t size)
{
    (void)wet;
    (void)k;
    (void)address;
    (void)size;
    return false;
}

int wet_interval_get(struct wetdbg *wet, uint64_t k, const struct wet_interval **out)
{
    (void)wet;
    (void)out;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no interval %lu", (unsigned long)k);
}

void wet_interval_put(struct wetdbg *wet, const struct wet_interval *interval)
{
    (void)wet;
    (void)interval;
}

void wet_prefetch(struct wetdbg *wet, uint64_t k)
{
    (void)wet;
    (void)k;
}

uint32_t wet_node_limit(const struct wetdbg *wet)
{
    (void)wet;
    return 0;
}

const struct wet_node *wet_get_node(struct wetdbg *wet, uint32_t id)
{
    (void)wet;
    (void)id;
    return NULL;
}

uint32_t wet_node_executions_in(const struct wetdbg *wet, uint32_t node, uint64_t k)
{
    (void)wet;
    (void)node;
    (void)k;
    return 0;
}

int wetdbg_effects_open(struct wetdbg *wet, struct wetdbg_effects **out)
{
    *out = (struct wetdbg_effects *)wet;
    return 0;
}

void wetdbg_effects_close(struct wetdbg_effects *effects)
{
    (void)effects;
}

int wetdbg_effects_each(struct wetdbg_effects *effects, uint64_t k, bool registers,
                        wetdbg_effect_fn fn, void *arg)
{
    (void)effects;
    (void)k;
    (void)registers;
    (void)fn;
    (void)arg;
    return 0;
}

int wetdbg_effects_read(struct wetdbg_effects *effects, uint64_t address, void *bytes, size_t size)
{
    (void)effects;
    (void)bytes;
    (void)size;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no memory at 0x%lx", (unsigned long)address);
}

uint64_t wetdbg_effects_unknown(const struct wetdbg_effects *effects)
{
    (void)effects;
    return 0;
}

int wetdbg_globals_each(struct wetdbg_model *model, uint64_t pc, wetdbg_name_fn fn, void *context)
{
    (void)model;
    (void)pc;
    return fn(context, "verbose");
}

int wetdbg_types_each(struct wetdbg_model *model, const char *regex, wetdbg_declared_type_fn fn,
                      void *context)
{
    static const struct wetdbg_declared_type rows[] = {
        {.name = "size_t",
         .is_typedef = true,
         .type = {.name = "size_t", .size_bytes = 8},
         .target = {.name = "unsigned long", .size_bytes = 8},
         .file = "/src/main.c",
         .line = 3},
        {.name = "node",
         .is_typedef = true,
         .type = {.name = "node", .size_bytes = 16},
         .target = {.name = "struct node", .size_bytes = 16},
         .file = "/src/main.c",
         .line = 5},
        {.name = "node",
         .type = {.name = "struct node", .size_bytes = 16},
         .file = "/src/main.c",
         .line = 4},
        {.name = "int", .type = {.name = "int", .size_bytes = 4}, .file = "/src/lib/util.c"},
    };
    int result = 0;
    (void)model;
    for (size_t i = 0; !result && i < sizeof(rows) / sizeof(*rows); i++)
        result = regex && !strstr(rows[i].name, regex) ? 0 : fn(context, &rows[i]);
    return result;
}

int wetdbg_files_each(struct wetdbg_model *model, wetdbg_file_fn fn, void *context)
{
    int result = fn(context, "/src/main.c", 0);
    (void)model;
    return result ? result : fn(context, "/src/lib/util.c", 0);
}

int wetdbg_frame_cfa(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                     uint64_t *cfa)
{
    (void)model;
    (void)pc;
    (void)machine;
    (void)cfa;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no frame information");
}

int wetdbg_frame_saved(struct wetdbg_model *model, uint64_t pc,
                       const struct wetdbg_machine *machine, uint64_t saved[WETDBG_FRAME_REG_COUNT],
                       uint32_t *valid)
{
    (void)model;
    (void)pc;
    (void)machine;
    (void)saved;
    (void)valid;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no frame information");
}

int wetdbg_frame_base(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                      uint64_t *base)
{
    (void)model;
    (void)pc;
    return machine->read_register(machine->context, WETDBG_REG_RSP, base);
}

/* ---- other runs: there are none ---- */

static int no_other_run(void)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no other run here");
}

bool wetdbg_is_trusted(const char *trace_dir)
{
    (void)trace_dir;
    return false;
}

int wetdbg_replay(const char *trace_dir, const struct wetdbg_build_options *options,
                  struct wetdbg_replay_result *result, char **wet_path)
{
    (void)trace_dir;
    (void)options;
    (void)result;
    (void)wet_path;
    return no_other_run();
}

int wetdbg_window_path(const char *trace_dir, const struct wetdbg_build_options *options,
                       char **path, bool *fresh)
{
    (void)trace_dir;
    (void)options;
    (void)path;
    (void)fresh;
    return no_other_run();
}

int wetdbg_check_same_program(struct wetdbg *wet, struct wetdbg *other, const char *name)
{
    (void)wet;
    (void)other;
    (void)name;
    return no_other_run();
}

int wetdbg_pc_in_other(struct wetdbg *wet, uint64_t pc, struct wetdbg *other, uint64_t *other_pc)
{
    (void)wet;
    (void)pc;
    (void)other;
    (void)other_pc;
    return no_other_run();
}

int wetdbg_slice_hold_against(const struct wetdbg_slice *slice,
                              const struct wetdbg_passing *passing, size_t count,
                              bool (*is_unwanted)(void *arg), void *arg,
                              struct wetdbg_against **lines)
{
    (void)slice;
    (void)passing;
    (void)count;
    (void)is_unwanted;
    (void)arg;
    (void)lines;
    return no_other_run();
}
