/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instructions of the program's own code ran, and how often: by nodes, without running
 * anything. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "locate/locate_priv.h"
#include "wet/intervals.h"
#include <wetdbg/caller.h>

struct ran_list {
    struct loc_ran *items;
    size_t count, capacity;
};

static unsigned doing_of(const struct ins_info *info)
{
    switch (info->klass) {
    case INS_JCC:
    case INS_JMP_INDIRECT:
        return WETDBG_DOING_BRANCH;
    case INS_CALL:
    case INS_CALL_INDIRECT:
        return WETDBG_DOING_CALL;
    case INS_RET:
        return WETDBG_DOING_RETURN;
    default:
        return 0;
    }
}

static int add_node(struct ran_list *list, const struct wet_node *node)
{
    if (wd_grow(list->items, list->capacity, list->count + node->statement_count))
        return -ENOMEM;
    for (uint32_t i = 0; i < node->statement_count; i++) {
        const struct wet_statement *statement = &node->statements[i];
        list->items[list->count++] = (struct loc_ran){.pc = statement->pc,
                                                      .executions = node->executions,
                                                      .doing = doing_of(statement->info)};
    }
    return 0;
}

static int by_pc(const void *a, const void *b)
{
    const struct loc_ran *x = a, *y = b;

    return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* An instruction may be in several nodes. */
static void join(struct ran_list *list)
{
    size_t kept = 0;

    if (list->count)
        qsort(list->items, list->count, sizeof(*list->items), by_pc);
    for (size_t i = 0; i < list->count; i++)
        if (kept && list->items[kept - 1].pc == list->items[i].pc)
            list->items[kept - 1].executions += list->items[i].executions;
        else
            list->items[kept++] = list->items[i];
    list->count = kept;
}

int loc_ran_list(struct wetdbg *wet, struct loc_ran **items, size_t *count)
{
    struct ran_list list = {0};
    int err = 0;

    for (uint32_t id = 0; id < wet_node_limit(wet) && !err; id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        if (node && node->executions && wetdbg_is_own(wet, node->pc))
            err = add_node(&list, node);
    }
    if (err) {
        free(list.items);
        return err;
    }
    join(&list);
    *items = list.items;
    *count = list.count;
    return 0;
}

bool loc_is_system(const char *file)
{
    static const char *const places[] = {"/usr/include/", "/usr/lib/", "/usr/local/include/"};

    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
        if (!strncmp(file, places[i], strlen(places[i])))
            return true;
    return false;
}
