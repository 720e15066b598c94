/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/jump_finder.h"

#include <stdlib.h>

#include "wet/trace/records.h"

struct taking {
    struct wet_jump_table *table;
    size_t at; /* in `sorted`: pairs come in the same order */
};

void wet_jump_table_fini(struct wet_jump_table *table)
{
    wd_buf_fini(&table->rows);
    wd_buf_fini(&table->sorted);
}

static int order(const void *a, const void *b)
{
    const struct wet_jump_record *x = a, *y = b;
    if (x->jump != y->jump)
        return x->jump < y->jump ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

int wet_jump_table_sort(struct wet_jump_table *table)
{
    struct wd_buf *sorted = &table->sorted;
    if (sorted->size_bytes == table->rows.size_bytes)
        return 0;
    sorted->size_bytes = 0;
    int err = wd_buf_append(sorted, table->rows.data, table->rows.size_bytes);
    if (!err)
        qsort(sorted->data, sorted->size_bytes / sizeof(struct wet_jump_record),
              sizeof(struct wet_jump_record), order);
    return err;
}

static int take(void *arg, uint64_t jump, uint64_t target)
{
    struct taking *taking = arg;
    const struct wd_buf *sorted = &taking->table->sorted;
    const struct wet_jump_record *known = (const void *)sorted->data, row = {jump, target};
    size_t count = sorted->size_bytes / sizeof(row);
    while (taking->at < count && order(&known[taking->at], &row) < 0)
        taking->at++;
    if (taking->at < count && order(&known[taking->at], &row) == 0)
        return 0;
    return wd_buf_append(&taking->table->rows, &row, sizeof(row));
}

int wet_jump_table_take(struct wet_jump_table *table, struct rep_engine *engine)
{
    struct taking taking = {.table = table};
    int err = wet_jump_table_sort(table);
    return err ? err : rep_engine_jumps(engine, take, &taking);
}
