/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * STATE, and what is mapped between two of them.
 *
 * Objects are not followed: an entry that gives pages their source back is kept as a mapping, which
 * makes no object where the file was built. But what is mapped, with which protection, follows from
 * the entries alone, and each STATE has to say the same.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/page.h"
#include "recorder/agent/agent.h"
#include "recorder/agent/views.h"
#include "wet/trace/rules.h"
#include "wet/verify/verify_priv.h"
#include <wetdbg/errors.h>

#define XSAVE_MIN 576u

struct wet_verify_views {
    struct agt_views views;
    bool is_known;
};

struct wet_verify_views *wet_verify_views_new(void)
{
    struct wet_verify_views *made = calloc(1, sizeof(*made));
    void *list = mmap(NULL, AGT_HEAP_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!made || list == MAP_FAILED) {
        free(made);
        if (list != MAP_FAILED)
            munmap(list, AGT_HEAP_BYTES);
        return NULL;
    }
    made->views.list = list;
    return made;
}

void wet_verify_views_free(struct wet_verify_views *views)
{
    if (views)
        munmap(views->views.list, AGT_HEAP_BYTES);
    free(views);
}

static bool map(struct wet_verify_views *views, uint64_t start, uint64_t bytes, uint32_t prot)
{
    struct agt_view view = {.start = start, .end = start + bytes, .prot = prot};
    return !bytes || (agt_views_remove(&views->views, start, view.end) &&
                      agt_views_add(&views->views, &view));
}

static bool protect(struct wet_verify_views *views, uint64_t start, uint64_t end, uint32_t prot)
{
    struct agt_views *all = &views->views;
    if (!agt_views_split(all, start) || !agt_views_split(all, end))
        return false;
    for (size_t i = agt_views_find(all, start); i < all->count && all->list[i].start < end; i++)
        all->list[i].prot = prot;
    return true;
}

/* Does a remap: what stays of [a, +b) goes to c with its protections; what is new there has that of
 * the last. */
static bool remap(struct wet_verify_views *views, const struct evq_op *op)
{
    struct agt_views *all = &views->views;
    uint64_t kept = op->remap.size < op->remap.to_size ? op->remap.size : op->remap.to_size;
    const struct agt_view *last =
        op->remap.size ? agt_views_at(all, op->remap.start + op->remap.size - 1) : NULL;
    if (!last || !agt_views_cover(all, op->remap.start, op->remap.start + op->remap.size))
        return false;
    uint32_t prot = last->prot;
    for (uint64_t at = 0; op->remap.start != op->remap.to && at < kept;) {
        const struct agt_view *view = agt_views_at(all, op->remap.start + at);
        if (!view)
            return false;
        uint64_t bytes = view->end - (op->remap.start + at) < kept - at
                             ? view->end - (op->remap.start + at)
                             : kept - at;
        uint32_t here = view->prot;
        if (!map(views, op->remap.to + at, bytes, here))
            return false;
        at += bytes;
    }
    bool ok = op->remap.start == op->remap.to
                  ? agt_views_remove(all, op->remap.start + kept, op->remap.start + op->remap.size)
                  : agt_views_remove(all, op->remap.start, op->remap.start + op->remap.size);
    ok = ok && map(views, op->remap.to + kept, op->remap.to_size - kept, prot);
    return ok && (!op->remap.stays || map(views, op->remap.start, op->remap.size, prot));
}

void wet_verify_views_op(struct wet_verify_views *views, const struct evq_op *op)
{
    struct agt_views *all = &views->views;
    bool ok = true;
    switch (op->op) {
    case EVQ_OP_MAP:
        ok = map(views, op->map.start, op->map.size, (uint32_t)op->map.prot);
        break;
    case EVQ_OP_UNMAP:
        ok = agt_views_remove(all, op->range.start, op->range.start + op->range.size);
        break;
    case EVQ_OP_PROTECT:
        ok = protect(views, op->protect.start, op->protect.start + op->protect.size,
                     (uint32_t)op->protect.prot);
        break;
    case EVQ_OP_REMAP:
        ok = remap(views, op);
        break;
    case EVQ_OP_CLEAR_SPACE:
        all->count = 0;
        views->is_known = true;
        break;
    default:
        break;
    }
    if (!ok) /* more than can be followed: from the next STATE on again */
        views->is_known = false;
}

/* ---- STATE ---- */

static bool say(struct wet_verifier *verifier, uint64_t k, uint64_t off, const char *what)
{
    return wet_verifier_say(verifier, WET_SEC_STATE, k, off, "%s", what);
}

static bool view_check(struct wet_verifier *verifier, uint64_t k, uint64_t off,
                       const struct agt_view *view, uint64_t previous_end)
{
    size_t span_count;
    const struct rep_span *spans = wet_verifier_spans(verifier, &span_count);
    const struct wet_object *objects = (const void *)verifier->objects.data;
    if (view->start >= view->end || !wd_page_is_start(view->start | view->end) || view->prot > 7)
        return say(verifier, k, off, "a view is empty, not of whole pages or badly protected");
    if (view->start < previous_end)
        return say(verifier, k, off, "views are out of order or overlap");
    if (wet_verifier_trusts(verifier, WET_SEC_SPANS) &&
        !wet_rule_in_spans(spans, span_count, view->start, view->end - view->start))
        return say(verifier, k, off, "a view lies outside SPANS");
    if (wet_verifier_trusts(verifier, WET_SEC_OBJECTS) &&
        !wet_rule_view(view, objects, verifier->objects.size_bytes / sizeof(*objects)))
        return say(verifier, k, off + 24, "a view shows what is in no object");
    if (!wet_verifier_has_name(verifier, view->name))
        return say(verifier, k, off + 48, "a view's name is not in NAMES");
    return true;
}

static bool tasks_check(struct wet_verifier *verifier, uint64_t k, struct wd_view *bytes,
                        const struct wet_state_record *head)
{
    uint8_t seen[EVQ_TASKS_MAX] = {0};
    uint32_t xsave_bytes = 0;
    for (uint32_t i = 0; i < head->task_count; i++) {
        uint64_t off = bytes->at;
        const struct wet_task_record *task = (const void *)wd_view_bytes(bytes, sizeof(*task));
        if (!task || task->task >= EVQ_TASKS_MAX || seen[task->task])
            return say(verifier, k, off, "a task is cut off, out of bounds or there twice");
        if (task->xsave_bytes < XSAVE_MIN || task->xsave_bytes > AGT_XSAVE_MAX ||
            (i && task->xsave_bytes != xsave_bytes))
            return say(verifier, k, off + 4, "vector state of a size that no processor has");
        seen[task->task] = 1;
        xsave_bytes = task->xsave_bytes;
        const uint8_t *image = wd_view_bytes(bytes, xsave_bytes);
        if (!image || !wd_view_bytes(bytes, -bytes->at & 7))
            return say(verifier, k, off, "a task's vector state is cut off");
    }
    if (head->running >= EVQ_TASKS_MAX || !seen[head->running])
        return say(verifier, k, 12, "the running task is not among the tasks");
    if (bytes->at != bytes->size_bytes)
        return say(verifier, k, bytes->at, "something follows the last task");
    return true;
}

/* The first address at which two tables differ in what is mapped how; UINT64_MAX: none. */
static uint64_t views_differ(const struct agt_view *a, size_t a_count, const struct agt_view *b,
                             size_t b_count)
{
    uint64_t at = 0;
    for (size_t i = 0, j = 0; i < a_count || j < b_count;) {
        uint64_t a_start = i < a_count ? (a[i].start > at ? a[i].start : at) : UINT64_MAX;
        uint64_t b_start = j < b_count ? (b[j].start > at ? b[j].start : at) : UINT64_MAX;
        if (a_start != b_start || a[i].prot != b[j].prot)
            return a_start < b_start ? a_start : b_start;
        at = a[i].end < b[j].end ? a[i].end : b[j].end;
        i += a[i].end == at;
        j += b[j].end == at;
    }
    return UINT64_MAX;
}

static bool views_follow(struct wet_verifier *verifier, uint64_t k, const struct agt_view *list,
                         size_t count, struct wet_verify_views *views)
{
    uint64_t at = UINT64_MAX;
    if (views->is_known)
        at = views_differ(views->views.list, views->views.count, list, count);
    memcpy(views->views.list, list, count * sizeof(*list));
    views->views.count = count;
    views->is_known = true;
    return at == UINT64_MAX ||
           wet_verifier_say(verifier, WET_SEC_STATE, k, sizeof(struct wet_state_record),
                            "what is mapped at %#llx is not what STATE and ENTRIES before make it",
                            (unsigned long long)at);
}

bool wet_verify_state(struct wet_verifier *verifier, uint64_t k, const struct wd_buf *bytes,
                      struct wet_verify_views *views)
{
    struct wd_view view = wd_view_of(bytes->data, bytes->size_bytes);
    bool is_start = !k && wet_verifier_trusts(verifier, WET_SEC_META) && verifier->first_time == 1;
    if (is_start) {
        views->is_known = true; /* nothing is mapped */
        return !bytes->size_bytes || say(verifier, k, 0, "the run's start has a state before it");
    }
    const struct wet_state_record *head = (const void *)wd_view_bytes(&view, sizeof(*head));
    uint64_t off = view.at, end = 0;
    if (!head || head->view_count >= AGT_VIEWS_MAX || head->task_count > EVQ_TASKS_MAX)
        return say(verifier, k, 0, "it is cut off, or a count is out of bounds");
    const struct agt_view *list =
        (const void *)wd_view_bytes(&view, head->view_count * sizeof(*list));
    if (!list)
        return say(verifier, k, off, "views are cut off");
    for (uint64_t i = 0; i < head->view_count; end = list[i++].end) {
        if (!view_check(verifier, k, off + i * sizeof(*list), &list[i], end))
            return false;
    }
    return tasks_check(verifier, k, &view, head) &&
           views_follow(verifier, k, list, head->view_count, views);
}
