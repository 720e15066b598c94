/* SPDX-License-Identifier: GPL-3.0-or-later */
/* More of the run made of constants: what it was built from; and intervals, in which nothing is
 * written. */
#include <stdio.h>

#include "common/err.h"
#include "wet/model/model.h"
#include "wet/query/fingerprint.h"
#include "wet/wet.h"

int wet_fingerprint_read(const char *path, char *out, size_t size)
{
    snprintf(out, size, "fingerprint of %s", path);
    return 0;
}

static const struct wet_held_file held[] = {
    {"/bin/prog", 5000, true, "mmap_hardlink_1_prog", "digest", "/usr/lib/debug/prog", NULL, 70, 0},
    {"/lib/libold.so", 60, true, "/lib/libold.so", "size and time", NULL, NULL, 0, 8},
    {"/etc/table", 20, false, "mmap_copy_2_table", "size", NULL, NULL, 0, 0},
    {"/old", 3, true, NULL, NULL, NULL, NULL, 0, 0},
};

size_t wet_held_file_count(const struct wet *wet)
{
    (void)wet;
    return sizeof(held) / sizeof(*held);
}

void wet_held_file_get(struct wet *wet, size_t n, struct wet_held_file *out)
{
    (void)wet;
    *out = held[n];
}

uint64_t wet_interval_at(const struct wet *wet, wet_time t)
{
    (void)wet;
    (void)t;
    return 0;
}

bool wet_interval_may_write(const struct wet *wet, uint64_t k, uint64_t address, uint64_t size)
{
    (void)wet;
    (void)k;
    (void)address;
    (void)size;
    return false;
}

int wet_interval_get(struct wet *wet, uint64_t k, const struct wet_interval **out)
{
    (void)wet;
    (void)out;
    return wd_fail(-WD_ERR_NOT_FOUND, "there is no interval %lu", (unsigned long)k);
}

void wet_interval_put(struct wet *wet, const struct wet_interval *interval)
{
    (void)wet;
    (void)interval;
}

void wet_prefetch(struct wet *wet, uint64_t k)
{
    (void)wet;
    (void)k;
}

uint32_t wet_node_limit(const struct wet *wet)
{
    (void)wet;
    return 0;
}

const struct wet_node *wet_get_node(struct wet *wet, uint32_t id)
{
    (void)wet;
    (void)id;
    return NULL;
}

uint32_t wet_node_executions_in(const struct wet *wet, uint32_t node, uint64_t k)
{
    (void)wet;
    (void)node;
    (void)k;
    return 0;
}

int wet_state_advance(struct wet_state *state, wet_time t)
{
    (void)state;
    return wd_fail(-WD_ERR_NOT_FOUND, "there is no time %lu", (unsigned long)t);
}

int wet_effects_open(struct wet *wet, struct wet_effects **out)
{
    *out = (struct wet_effects *)wet;
    return 0;
}

void wet_effects_close(struct wet_effects *effects)
{
    (void)effects;
}

int wet_effects_each(struct wet_effects *effects, uint64_t k, bool registers, wet_effect_fn fn,
                     void *arg)
{
    (void)effects;
    (void)k;
    (void)registers;
    (void)fn;
    (void)arg;
    return 0;
}

int wet_effects_read(struct wet_effects *effects, uint64_t address, void *bytes, size_t size)
{
    (void)effects;
    (void)bytes;
    (void)size;
    return wd_fail(-WD_ERR_NOT_FOUND, "no memory at 0x%lx", (unsigned long)address);
}

uint64_t wet_effects_unknown(const struct wet_effects *effects)
{
    (void)effects;
    return 0;
}

int mdl_globals_each(struct mdl_model *model, uint64_t pc, mdl_name_fn fn, void *context)
{
    (void)model;
    (void)pc;
    return fn(context, "verbose");
}

int mdl_files_each(struct mdl_model *model, mdl_file_fn fn, void *context)
{
    int result = fn(context, "/src/main.c", 0);
    (void)model;
    return result ? result : fn(context, "/src/lib/util.c", 0);
}

int mdl_frame_cfa(struct mdl_model *model, uint64_t pc, const struct mdl_machine *machine,
                  uint64_t *cfa)
{
    (void)model;
    (void)pc;
    (void)machine;
    (void)cfa;
    return wd_fail(-WD_ERR_NOT_FOUND, "no frame information");
}
