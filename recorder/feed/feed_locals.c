/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rr's thread-locals page, where system calls are buffered.
 *
 * All tasks of a space see the page of rr's preload library at the same address, each with contents
 * of its own: rr puts them there when it lets another task go on, and no frame says so. Here the
 * contents of a task that does not run lie in a page aside, its *parked* page, and pages are moved
 * when another task goes on. So what was written into a page has the same bytes, and the same
 * writers, when its task comes back to it.
 */
#include <sys/mman.h>

#include "common/page.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

#define PARKED 0x70100000u /* a page for each slot of tasks */

/* Where the page begins: how deep the library is in its own stack, and where that ends. */
#define LOCALS_STACK_END 0

/* A task's number is above 0. */
enum { NOBODY = -1 };

static uint64_t parked_page(const struct feed_task *task)
{
    return PARKED + (uint64_t)task->slot * WD_PAGE;
}

int feed_locals_write_stack_end(struct feed_conv *conv, const struct feed_task *task)
{
    uint64_t end = task->scratch_end;
    return feed_op_bytes(conv, FEED_RECORDER_LOCALS + LOCALS_STACK_END, &end, sizeof(end));
}

/* A new task's page: rr has copied how deep its maker was in the library, which is not at all
 * (feed_convert_clone() refuses others), and flags that the library saved, which nobody reads
 * before they are saved again. */
static int page_make(struct feed_conv *conv, const struct feed_task *task)
{
    const struct rrt_mmap page = {.start = FEED_RECORDER_LOCALS,
                                  .end = FEED_RECORDER_END,
                                  .prot = PROT_READ | PROT_WRITE,
                                  .flags = MAP_PRIVATE | MAP_ANONYMOUS,
                                  .source = RRT_SOURCE_ZERO,
                                  .name = ""};
    int err = feed_op_map(conv, &page, FEED_VMA_RECORDER);
    return err ? err : feed_locals_write_stack_end(conv, task);
}

static int page_park(struct feed_conv *conv, struct feed_task *owner)
{
    const struct feed_vma *there = feed_vmas_above(&conv->space->vmas, parked_page(owner));
    if (there && there->start < parked_page(owner) + WD_PAGE)
        return feed_refuse(conv->frame,
                           "memory at %#llx, where the replay keeps what rr's library "
                           "knows of a thread",
                           (unsigned long long)parked_page(owner));
    owner->is_parked = true;
    return feed_op_move(conv, FEED_RECORDER_LOCALS, WD_PAGE, parked_page(owner), WD_PAGE, false);
}

static int page_take(struct feed_conv *conv, struct feed_task *task)
{
    if (!task->is_parked)
        return page_make(conv, task);
    task->is_parked = false;
    return feed_op_move(conv, parked_page(task), WD_PAGE, FEED_RECORDER_LOCALS, WD_PAGE, false);
}

int feed_locals_switch(struct feed_conv *conv, struct feed_task *task)
{
    struct rep_feed *feed = conv->feed;
    if (!conv->is_target || !feed->is_buffered || conv->frame->event == RRT_EVENT_EXIT)
        return 0;
    int was = conv->space->locals_tid;
    conv->space->locals_tid = task->tid;
    if (!was || was == task->tid)
        return 0;
    struct feed_task *owner = was == NOBODY ? NULL : feed_task_find(feed, was);
    int err = feed_begin_ops(conv, task);
    if (!err && owner)
        err = page_park(conv, owner);
    else if (!err)
        err = feed_op_unmap(conv, FEED_RECORDER_LOCALS, FEED_RECORDER_END);
    return err ? err : page_take(conv, task);
}

int feed_locals_unmap(struct feed_conv *conv, const struct feed_task *task)
{
    return task->is_parked ? feed_op_unmap(conv, parked_page(task), parked_page(task) + WD_PAGE)
                           : 0;
}

int feed_locals_leave(struct feed_conv *conv, struct feed_task *task)
{
    if (task->space->locals_tid == task->tid)
        task->space->locals_tid = NOBODY;
    if (!task->is_parked)
        return 0;
    int err = feed_begin_ops(conv, task);
    if (!err)
        err = feed_locals_unmap(conv, task);
    task->is_parked = false;
    return err;
}
