/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/recorder.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/page.h"
#include "recorder/event/buffered.h"
#include "slicer/scan/code_summary.h"

#define LOCALS (EVQ_STUBS + WD_PAGE) /* the library's own page of the thread */

/* Whether an instruction names the library's page of the thread: only code of rr's does. */
static bool names_locals(const struct ins_info *info)
{
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        uint64_t at = (uint64_t)mem->disp;
        if (mem->base < 0 && mem->index < 0 && at >= LOCALS && at < LOCALS + WD_PAGE)
            return true;
    }
    return false;
}

static bool is_in_a_module(const struct slc_code *code, uint64_t pc)
{
    struct wetdbg_module module;

    return wetdbg_module_at(code->model, pc, &module) == 0;
}

static bool has_page(const struct slc_code *code, uint64_t page)
{
    for (uint32_t i = 0; i < code->stub_page_count; i++)
        if (code->stub_pages[i] == page)
            return true;
    return false;
}

static int add_page(struct slc_code *code, uint64_t page)
{
    if (has_page(code, page))
        return 0;
    if (wd_grow(code->stub_pages, code->stub_page_capacity, code->stub_page_count + 1))
        return -ENOMEM;
    code->stub_pages[code->stub_page_count++] = page;
    return 0;
}

int slc_recorder_find(struct slc_code *code)
{
    const struct wet_node *node;
    int err = 0;

    for (uint32_t id = 0; id < code->node_limit && !err; id++) {
        if (!(node = wet_get_node(code->wet, id)))
            continue;
        for (uint32_t s = 0; s < node->statement_count && !err; s++) {
            const struct wet_statement *statement = &node->statements[s];
            if (names_locals(statement->info) && !is_in_a_module(code, statement->pc))
                err = add_page(code, wd_page_down(statement->pc));
        }
    }
    return err;
}

/* The library has functions of libc's too, which it replaces for other reasons: those alone have
 * lines (wet/model/line_table.c). */
static bool is_override(const struct slc_code *code, uint64_t pc)
{
    struct wetdbg_line line;

    return wetdbg_line_at(code->model, pc, &line) == 0;
}

bool slc_recorder_has(const struct slc_code *code, uint64_t pc)
{
    struct wetdbg_module module;

    if (!code->stub_page_count)
        return false;
    if (wetdbg_module_at(code->model, pc, &module))
        return has_page(code, wd_page_down(pc));
    if (strncmp(module.name, "librrpage", 9) == 0)
        return pc >= EVQ_STUBS && pc < LOCALS;
    return strncmp(module.name, "librrpreload", 12) == 0 && !is_override(code, pc);
}

bool slc_recorder_has_displaced(const char *function)
{
    static const char prefix[] = "_syscall_hook_trampoline_";

    return function && strncmp(function, prefix, sizeof(prefix) - 1) == 0;
}

bool slc_recorder_is_displaced(const struct ins_info *info)
{
    for (unsigned m = 0; m < info->mem_count; m++)
        if (info->mems[m].flags & INS_MEM_IMPLICIT)
            return false;
    return info->klass == INS_PLAIN && !names_locals(info);
}
