/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The address space: ranges with their protection and what they map, sorted. Where mmap() without
 * an address puts memory is Linux' choice (mm/mmap.c): the highest gap below mmap_base that is
 * large enough, and for anonymous memory of whole huge pages and files that hold one (since 6.7 and
 * before that for some file systems) one that is aligned to them, if there is such a gap.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/mman.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "common/bisect.h"
#include "common/page.h"
#include "predicate_switch/kernel/vk_calls.h"

#define TASK_END  UINT64_C(0x7ffffffff000)
#define HUGE_PAGE (UINT64_C(2) << 20)
#define STACK_GAP (256 * WD_PAGE)
#define LOWEST    UINT64_C(65536)
#define MAPS_MAX  65530
/* What keeps maps from joining, as bits. */
#define ADVICE_NO_RESERVE 1u
#define ADVICE_RANDOM     2u
#define ADVICE_SEQUENTIAL 4u
#define ADVICE_NO_FORK    8u
#define ADVICE_NO_DUMP    16u
#define ADVICE_HUGE       32u
#define ADVICE_NO_HUGE    64u
#define RIGHTS            (PROT_READ | PROT_WRITE | PROT_EXEC)

static void map_keep(void *row)
{
    vk_text_keep(((struct vk_map *)row)->name);
}

static void map_drop(void *row)
{
    vk_text_drop(((struct vk_map *)row)->name);
}

const struct vk_row_kind vk_map_row = {sizeof(struct vk_map), map_keep, map_drop};

static const struct vk_map *map_at(const struct vk_kernel *k, uint64_t index)
{
    return index < vk_count(&k->maps) ? vk_row(&k->maps, (uint32_t)index) : NULL;
}

uint64_t vk_maps_first(const struct vk_kernel *k, uint64_t address)
{
    return wd_bisect(0, vk_count(&k->maps), i, map_at(k, i)->end <= address);
}

bool vk_may_access(const struct vk_kernel *k, uint64_t address, uint64_t size, bool writes)
{
    uint64_t end = address + size, at = address;
    if (end < address)
        return false;
    if (!vk_count(&k->maps)) /* nothing is known of the space: the memory itself tells */
        return true;
    for (uint64_t i = vk_maps_first(k, address); at < end; i++) {
        const struct vk_map *map = map_at(k, i);
        if (!map || map->start > at)
            return false;
        if (writes ? !(map->prot & PROT_WRITE) : !(map->prot & RIGHTS))
            return false;
        at = map->end;
    }
    return true;
}

/* Makes `address` the begin of a map, if it is inside one. */
static int split(struct vk_kernel *k, uint64_t address)
{
    uint64_t i = vk_maps_first(k, address);
    const struct vk_map *map = map_at(k, i);
    if (!map || map->start >= address)
        return 0;
    struct vk_map upper = *map;
    upper.offset += address - upper.start;
    upper.start = address;
    vk_text_keep(upper.name);
    if (vk_insert(&k->maps, (uint32_t)i + 1, &upper)) {
        vk_text_drop(upper.name);
        return -ENOMEM;
    }
    ((struct vk_map *)vk_edit(&k->maps, (uint32_t)i))->end = address;
    return 0;
}

static uint64_t bytes_in(const struct vk_kernel *k, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;
    for (uint64_t i = vk_maps_first(k, start); map_at(k, i) && map_at(k, i)->start < end; i++) {
        const struct vk_map *map = map_at(k, i);
        bytes += (map->end < end ? map->end : end) - (map->start > start ? map->start : start);
    }
    return bytes;
}

int vk_maps_cut(struct vk_kernel *k, uint64_t start, uint64_t end)
{
    uint64_t gone = bytes_in(k, start, end);
    if (split(k, start) || split(k, end))
        return -ENOMEM;
    uint32_t first = (uint32_t)vk_maps_first(k, start), last = first;
    while (map_at(k, last) && map_at(k, last)->start < end)
        last++;
    k->s.mapped -= gone;
    return vk_remove(&k->maps, first, last - first);
}

static bool joins(const struct vk_map *low, const struct vk_map *high)
{
    return low->end == high->start && low->prot == high->prot &&
           low->is_shared == high->is_shared && low->grows_down == high->grows_down &&
           low->inode == high->inode && low->is_accounted == high->is_accounted &&
           low->advice == high->advice &&
           (low->inode == VK_NONE || low->offset + (low->end - low->start) == high->offset) &&
           (low->name == high->name ||
            (low->name && high->name && !strcmp(low->name->text, high->name->text)));
}

/* Joins map `i` with the next one, if they are of one kind: Linux does, and counts them. */
static void join(struct vk_kernel *k, uint64_t i)
{
    const struct vk_map *low = map_at(k, i), *high = map_at(k, i + 1);
    if (!low || !high || !joins(low, high))
        return;
    uint64_t end = high->end;
    vk_remove(&k->maps, (uint32_t)i + 1, 1);
    ((struct vk_map *)vk_edit(&k->maps, (uint32_t)i))->end = end;
}

/* The range is free. Takes over what the map owns. */
int vk_maps_add(struct vk_kernel *k, const struct vk_map *map)
{
    uint64_t i = vk_maps_first(k, map->start);
    if (vk_insert(&k->maps, (uint32_t)i, map)) {
        vk_text_drop(map->name);
        return -ENOMEM;
    }
    k->s.mapped += map->end - map->start;
    join(k, i);
    if (i)
        join(k, i - 1);
    return 0;
}

static bool is_special(const char *name)
{
    return !strcmp(name, "[vdso]") || !strcmp(name, "[vvar]") || !strcmp(name, "[vsyscall]") ||
           !strcmp(name, "[stack]") || !strncmp(name, "[vvar", 5);
}

void vk_maps_start(struct vk_kernel *k)
{
    const struct vk_start *start = &k->history->start;
    for (size_t i = 0; i < start->mapping_count; i++) {
        const struct vk_mapping *from = &start->mappings[i];
        struct vk_map map = {.start = from->start,
                             .end = from->end,
                             .prot = (uint32_t)from->prot & RIGHTS,
                             .inode = VK_NONE,
                             .grows_down = !strcmp(from->name, "[stack]")};
        if (*from->name)
            map.name = vk_text_new(from->name, strlen(from->name));
        if (map.start >= map.end || map.end > UINT64_C(1) << 47 || !wd_page_is_start(map.start) ||
            !wd_page_is_start(map.end) || bytes_in(k, map.start, map.end)) {
            vk_text_drop(map.name);
            continue;
        }
        vk_maps_add(k, &map);
        if (!is_special(from->name) && from->end > k->s.mmap_base && from->end < TASK_END)
            k->s.mmap_base = from->end;
        if (!strcmp(from->name, "[heap]"))
            k->s.brk_start = from->start;
    }
}

/* ---- where there is room ---- */

/* The highest `size` free bytes below `top`, as Linux counts: maps that grow down keep a gap. */
static uint64_t find_below(const struct vk_kernel *k, uint64_t top, uint64_t size)
{
    uint64_t end = top;
    for (uint64_t i = vk_maps_first(k, top - 1) + 1; i-- > 0;) {
        const struct vk_map *map = map_at(k, i);
        if (!map)
            continue;
        if (map->start >= top) {
            uint64_t room =
                map->grows_down && map->start - top < STACK_GAP ? map->start - STACK_GAP : end;
            end = room < end ? room : end;
            continue;
        }
        if (map->end <= end && end - map->end >= size)
            return end - size;
        uint64_t start = map->start - (map->grows_down && map->start > STACK_GAP ? STACK_GAP : 0);
        end = start < end ? start : end;
        if (end < LOWEST + size)
            return 0;
    }
    return end >= LOWEST + size ? end - size : 0;
}

static bool is_free(const struct vk_kernel *k, uint64_t start, uint64_t size)
{
    const struct vk_map *next = map_at(k, vk_maps_first(k, start));
    uint64_t end = start + size;
    if (!next)
        return true;
    return next->start >= end && (!next->grows_down || next->start - end >= STACK_GAP);
}

static bool has_huge(uint64_t size, bool is_file, uint64_t offset)
{
    if (!is_file)
        return size % HUGE_PAGE == 0 && size;
    uint64_t end = offset + size, aligned = (offset + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    return end > aligned && end - aligned >= HUGE_PAGE;
}

static uint64_t find_huge(const struct vk_kernel *k, uint64_t hint, uint64_t size, uint64_t offset)
{
    if (hint && is_free(k, hint, size + HUGE_PAGE))
        return hint;
    uint64_t at = find_below(k, k->s.mmap_base, size + HUGE_PAGE);
    if (!at)
        return 0;
    uint64_t sub = (offset - at) & (HUGE_PAGE - 1);
    return at + sub + (sub ? 0 : HUGE_PAGE);
}

static uint64_t find_room(const struct vk_kernel *k, uint64_t hint, uint64_t size, bool is_file,
                          uint64_t offset)
{
    hint = wd_page_down(hint);
    if (hint && hint < LOWEST)
        hint = LOWEST;
    if (hint + size > TASK_END || hint + size < hint)
        hint = 0;
    if ((is_file || !hint) && has_huge(size, is_file, offset)) {
        uint64_t huge = find_huge(k, hint, size, is_file ? offset : 0);
        if (huge)
            return huge;
    }
    if (hint && is_free(k, hint, size))
        return hint;
    return find_below(k, k->s.mmap_base, size);
}

/* ---- mmap ---- */

struct mmap_args {
    uint64_t hint, size, prot, flags, offset;
    uint32_t open;
    uint32_t inode;
    bool is_shared;
    bool may_write; /* to the file: now, or by mprotect() */
};

static int64_t mmap_file(struct vk_run *run, struct mmap_args *m)
{
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[4], &m->open);
    if (!open)
        return -EBADF;
    unsigned access = open->flags & O_ACCMODE;
    if (open->kind != VK_OPEN_FILE)
        return open->kind == VK_OPEN_OUTSIDE ? vk_unknown(run, "of what is outside") : -ENODEV;
    if (access == O_WRONLY || (m->is_shared && m->prot & PROT_WRITE && access != O_RDWR))
        return -EACCES;
    m->may_write = m->is_shared && access == O_RDWR;
    const struct vk_inode *inode = vk_inode(run->k, open->inode);
    if (S_ISDIR(inode->mode))
        return -ENODEV;
    if (inode->is_live)
        return vk_unknown(run, "a device");
    vk_inode_ask(run->k, open->inode);
    m->inode = open->inode;
    return 0;
}

static int64_t mmap_check(struct vk_run *run, struct mmap_args *m)
{
    uint64_t kind = run->a[3] & MAP_TYPE;
    *m = (struct mmap_args){run->a[0], run->a[1], run->a[2], run->a[3], run->a[5],
                            VK_NONE,   VK_NONE,   false,     false};
    m->is_shared = kind != MAP_PRIVATE;
    if (!m->size || !wd_page_is_start(m->offset) ||
        (kind != MAP_PRIVATE && kind != MAP_SHARED && kind != MAP_SHARED_VALIDATE))
        return -EINVAL;
    if (!(m->flags & MAP_ANONYMOUS)) {
        int64_t err = mmap_file(run, m);
        if (err)
            return err;
    }
    m->size = wd_page_up(m->size);
    if (!m->size || m->size > TASK_END)
        return -ENOMEM;
    if (m->flags & (MAP_HUGETLB | MAP_32BIT))
        return vk_unknown(run, "flags %#llx are not modelled", (unsigned long long)m->flags);
    if (vk_count(&run->k->maps) > MAPS_MAX)
        return -ENOMEM;
    return 0;
}

uint64_t vk_maps_reachable(const struct vk_kernel *k)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; map_at(k, i); i++)
        bytes += map_at(k, i)->prot ? map_at(k, i)->end - map_at(k, i)->start : 0;
    return bytes;
}

/* A reservation costs nothing, so only what may be accessed counts. */
static int64_t reach_check(struct vk_run *run, uint64_t more)
{
    const struct vk_kernel *k = run->k;
    uint64_t most = run->h->start.limits.memory_bytes, before = k->s.reachable_at_start;
    uint64_t now = vk_is_live(k) ? vk_maps_reachable(k) + more : 0;
    if (k->s.memory_more && before + k->s.memory_more < most)
        most = before + k->s.memory_more;
    if (now <= before || now - before <= most)
        return 0;
    return vk_unknown(run, "the limit of %llu bytes of memory is reached",
                      (unsigned long long)most);
}

static int64_t memory_check(struct vk_run *run, uint64_t more, uint64_t prot)
{
    const struct vk_kernel *k = run->k;
    if (k->s.limits_known & 1u << RLIMIT_AS && k->s.mapped + more > k->s.limit_cur[RLIMIT_AS])
        return -ENOMEM;
    return prot ? reach_check(run, more) : 0;
}

static int64_t mmap_place(struct vk_run *run, const struct mmap_args *m, uint64_t *address)
{
    bool is_fixed = m->flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    *address = m->hint;
    if (is_fixed) {
        if (!wd_page_is_start(m->hint))
            return -EINVAL;
        if (m->hint < LOWEST)
            return -EPERM;
        if (m->hint > TASK_END - m->size)
            return -ENOMEM;
        if (m->flags & MAP_FIXED_NOREPLACE && bytes_in(run->k, m->hint, m->hint + m->size))
            return -EEXIST;
        return 0;
    }
    if (!run->k->s.mmap_base)
        return vk_unknown(run, "where memory is mapped is not known");
    *address = find_room(run->k, m->hint, m->size, m->inode != VK_NONE, m->offset);
    return *address ? 0 : -ENOMEM;
}

/* What a file has for [offset, offset + size), for an op. Bytes beyond its end are zeros. */
static int64_t file_bytes(struct vk_run *run, uint32_t inode, uint64_t offset, uint64_t size,
                          struct vk_op *op)
{
    uint64_t length;
    int64_t err = vk_file_size(run, inode, &length);
    if (err)
        return err;
    uint64_t count = offset >= length ? 0 : length - offset < size ? length - offset : size;
    uint8_t *bytes = vk_op_bytes(run->k, count);
    if (!bytes)
        return VK_NOMEM;
    int64_t got = vk_file_read(run, inode, offset, bytes, count);
    if (got < 0)
        return got;
    op->bytes = bytes;
    op->byte_count = (uint64_t)got;
    return 0;
}

static struct vk_text *name_of(const struct vk_kernel *k, uint32_t inode)
{
    char path[4096];
    if (inode == VK_NONE || !vk_inode_path(k, inode, path, sizeof(path)))
        return NULL;
    return vk_text_new(path, strlen(path));
}

static int64_t mmap_do(struct vk_run *run, const struct mmap_args *m, uint64_t address)
{
    struct vk_kernel *k = run->k;
    struct vk_op op = {.kind = VK_OP_MAP};
    /* What a recorded mapping showed is in the program's memory: the model need not know it. */
    int64_t err =
        m->inode == VK_NONE || run->told ? 0 : file_bytes(run, m->inode, m->offset, m->size, &op);
    if (err)
        return err;
    struct vk_map map = {.start = address,
                         .end = address + m->size,
                         .prot = (uint32_t)m->prot & RIGHTS,
                         .is_shared = m->is_shared,
                         .grows_down = m->flags & MAP_GROWSDOWN,
                         .is_accounted =
                             !m->is_shared && m->prot & PROT_WRITE && !(m->flags & MAP_NORESERVE),
                         .advice = m->flags & MAP_NORESERVE ? ADVICE_NO_RESERVE : 0,
                         .inode = m->inode,
                         .offset = m->offset,
                         .name = name_of(k, m->inode)};
    if (m->inode != VK_NONE)
        vk_inode_show(k, m->inode, m->may_write);
    struct vk_op *made = vk_op_add(k, VK_OP_MAP, address, m->size);
    if (!made || vk_maps_cut(k, map.start, map.end) || vk_maps_add(k, &map))
        return VK_NOMEM;
    made->bytes = op.bytes;
    made->byte_count = op.byte_count;
    made->prot = (int)map.prot;
    made->name = map.name ? map.name->text : "";
    return (int64_t)address;
}

int64_t vk_call_mmap(struct vk_run *run)
{
    struct mmap_args m;
    uint64_t address;
    if (!wd_page_is_start(run->a[5]))
        return -EINVAL;
    int64_t err = mmap_check(run, &m);
    if (!err)
        err = mmap_place(run, &m, &address);
    if (!err)
        err = memory_check(run, m.size, (uint64_t)m.prot & RIGHTS);
    return err ? err : mmap_do(run, &m, address);
}

void vk_adopt_mmap(struct vk_run *run)
{
    struct mmap_args m;
    if (run->told->result < 0 && run->told->result > -4096)
        return;
    int64_t err = mmap_check(run, &m);
    if (err)
        m.inode = VK_NONE;
    if (m.size && wd_page_is_start((uint64_t)run->told->result) &&
        (uint64_t)run->told->result <= TASK_END - m.size)
        mmap_do(run, &m, (uint64_t)run->told->result);
}

/* What the recording says that is mapped: other than by the calls, or as they did. */
int vk_maps_told(struct vk_kernel *k, const struct vk_told_space *space)
{
    uint64_t end = space->start + space->size;
    if (space->prot < 0)
        return vk_maps_cut(k, space->start, end);
    const struct vk_map *old = map_at(k, vk_maps_first(k, space->start));
    if (old && bytes_in(k, space->start, end) == space->size) {
        bool is_same = true;
        for (uint64_t i = vk_maps_first(k, space->start); map_at(k, i) && map_at(k, i)->start < end;
             i++)
            is_same = is_same && map_at(k, i)->prot == ((uint32_t)space->prot & RIGHTS);
        if (is_same)
            return 0;
    }
    struct vk_map map = {.start = space->start,
                         .end = end,
                         .prot = (uint32_t)space->prot & RIGHTS,
                         .inode = VK_NONE,
                         .name = vk_text_keep(space->name)};
    if (old && old->grows_down && old->start == end)
        map.grows_down = true;
    if (vk_maps_cut(k, map.start, map.end)) {
        vk_text_drop(map.name);
        return -ENOMEM;
    }
    return vk_maps_add(k, &map);
}

uint64_t vk_maps_area(struct vk_kernel *k, uint64_t bytes)
{
    uint64_t at = k->s.mmap_base ? find_room(k, 0, bytes, false, 0) : 0;
    struct vk_op *op = at ? vk_op_add(k, VK_OP_MAP, at, bytes) : NULL;
    struct vk_map map = {.start = at, .end = at + bytes, .prot = RIGHTS, .inode = VK_NONE};
    if (!op || vk_maps_add(k, &map))
        return 0;
    op->prot = RIGHTS;
    return at;
}

/* Ops for what is mapped in [start, end), which may be most of the address space: what is between
 * is nobody's. */
static int unmap(struct vk_kernel *k, uint64_t start, uint64_t end)
{
    for (uint64_t i = vk_maps_first(k, start); map_at(k, i) && map_at(k, i)->start < end; i++) {
        const struct vk_map *map = map_at(k, i);
        uint64_t from = map->start > start ? map->start : start;
        uint64_t to = map->end < end ? map->end : end;
        if (!vk_op_add(k, VK_OP_UNMAP, from, to - from))
            return -ENOMEM;
    }
    return vk_maps_cut(k, start, end);
}

int64_t vk_call_munmap(struct vk_run *run)
{
    uint64_t start = run->a[0], size = wd_page_up(run->a[1]);
    if (!wd_page_is_start(start) || start > TASK_END || run->a[1] > TASK_END - start || !size)
        return -EINVAL;
    return unmap(run->k, start, start + size) ? VK_NOMEM : 0;
}

/* ---- protection ---- */

/* Up to where the range is mapped without a gap. */
static uint64_t mapped_until(const struct vk_kernel *k, uint64_t start, uint64_t end)
{
    uint64_t at = start;
    for (uint64_t i = vk_maps_first(k, start); at < end; i++) {
        const struct vk_map *map = map_at(k, i);
        if (!map || map->start > at)
            break;
        at = map->end;
    }
    return at < end ? at : end;
}

static int protect(struct vk_run *run, uint64_t start, uint64_t end, uint32_t prot)
{
    struct vk_kernel *k = run->k;
    if (start >= end)
        return 0;
    struct vk_op *op = vk_op_add(k, VK_OP_PROTECT, start, end - start);
    if (!op || split(k, start) || split(k, end))
        return -ENOMEM;
    op->prot = (int)prot;
    uint64_t first = vk_maps_first(k, start), i = first;
    for (; map_at(k, i) && map_at(k, i)->start < end; i++)
        if (map_at(k, i)->prot != prot) {
            struct vk_map *map = vk_edit(&k->maps, (uint32_t)i);
            map->prot = prot;
            if (prot & PROT_WRITE && !map->is_shared && !(map->advice & ADVICE_NO_RESERVE))
                map->is_accounted = true;
            else if (!(prot & PROT_WRITE) && map->inode == VK_NONE)
                map->is_accounted = false; /* of memory that was never written; since 6.6 */
        }
    while (i-- > (first ? first - 1 : 0))
        join(k, i);
    return 0;
}

/* How many bytes of the range could not be accessed at all. */
static uint64_t opened(const struct vk_kernel *k, uint64_t start, uint64_t end)
{
    uint64_t bytes = 0;
    for (uint64_t i = vk_maps_first(k, start); map_at(k, i) && map_at(k, i)->start < end; i++) {
        const struct vk_map *map = map_at(k, i);
        uint64_t from = map->start > start ? map->start : start;
        bytes += map->prot ? 0 : (map->end < end ? map->end : end) - from;
    }
    return bytes;
}

int64_t vk_call_mprotect(struct vk_run *run)
{
    uint64_t start = run->a[0], size = wd_page_up(run->a[1]), prot = run->a[2];
    if (!wd_page_is_start(start))
        return -EINVAL;
    if (!run->a[1])
        return 0;
    if (start + size <= start)
        return -ENOMEM;
    if (prot & PROT_GROWSDOWN) {
        const struct vk_map *map = map_at(run->k, vk_maps_first(run->k, start));
        if (!map || !map->grows_down || map->start > start)
            return -EINVAL;
        size += start - map->start;
        start = map->start;
        prot &= ~(uint64_t)PROT_GROWSDOWN;
    }
    if (prot & ~(uint64_t)RIGHTS)
        return -EINVAL;
    uint64_t until = mapped_until(run->k, start, start + size);
    int64_t err = prot ? reach_check(run, opened(run->k, start, until)) : 0;
    if (err)
        return err;
    if (protect(run, start, until, (uint32_t)prot))
        return VK_NOMEM;
    return until == start + size ? 0 : -ENOMEM;
}

/* ---- brk ---- */

static bool is_brk_known(const struct vk_kernel *k)
{
    return k->s.brk;
}

int64_t vk_call_brk(struct vk_run *run)
{
    struct vk_kernel *k = run->k;
    uint64_t to = run->a[0], old = wd_page_up(k->s.brk), end = wd_page_up(to);
    if (!is_brk_known(k))
        return vk_unknown(run, "where the heap begins is not known");
    if (to < k->s.brk_start)
        return (int64_t)k->s.brk;
    if (end < old) {
        if (!vk_op_add(k, VK_OP_UNMAP, end, old - end) || vk_maps_cut(k, end, old))
            return VK_NOMEM;
    } else if (end > old) {
        if (end > TASK_END || !is_free(k, old, end - old))
            return (int64_t)k->s.brk;
        int64_t err = memory_check(run, end - old, PROT_READ);
        if (err)
            return err == -ENOMEM ? (int64_t)k->s.brk : err;
        struct vk_map map = {.start = old,
                             .end = end,
                             .prot = PROT_READ | PROT_WRITE,
                             .inode = VK_NONE,
                             .name = vk_text_new("[heap]", 6)};
        struct vk_op *op = vk_op_add(k, VK_OP_MAP, old, end - old);
        if (!op || vk_maps_add(k, &map))
            return VK_NOMEM;
        op->prot = PROT_READ | PROT_WRITE;
        op->name = "[heap]";
    }
    k->s.brk = to;
    return (int64_t)to;
}

void vk_adopt_brk(struct vk_run *run)
{
    struct vk_kernel *k = run->k;
    uint64_t told = (uint64_t)run->told->result;
    if (told > TASK_END)
        return;
    if (!k->s.brk_start)
        k->s.brk_start = told;
    k->s.brk = told;
    if (run->learns && !run->h->first.brk && !run->a[0])
        run->h->first.brk = run->h->first.brk_start = told;
}

/* ---- mremap ---- */

struct move {
    uint64_t from, size, to, to_size, flags;
    struct vk_map map;
};

static int64_t move_shrink(struct vk_run *run, struct move *m)
{
    if (!vk_op_add(run->k, VK_OP_UNMAP, m->from + m->to_size, m->size - m->to_size) ||
        vk_maps_cut(run->k, m->from + m->to_size, m->from + m->size))
        return VK_NOMEM;
    return (int64_t)m->from;
}

static int64_t move_bytes(struct vk_run *run, struct move *m)
{
    /* What is new of a file's mapping shows the file. */
    if (m->map.inode == VK_NONE || m->to_size <= m->size || run->told)
        return 0;
    struct vk_op op = {0};
    uint64_t offset = m->map.offset + (m->from - m->map.start) + m->size;
    int64_t err = file_bytes(run, m->map.inode, offset, m->to_size - m->size, &op);
    struct vk_op *write = err || !op.byte_count
                              ? NULL
                              : vk_op_add(run->k, VK_OP_WRITE, m->to + m->size, op.byte_count);
    if (write)
        write->bytes = op.bytes;
    return err;
}

static int64_t move_to(struct vk_run *run, struct move *m)
{
    struct vk_kernel *k = run->k;
    struct vk_op *op = vk_op_add(k, VK_OP_REMAP, m->from, m->size);
    bool stays = m->flags & MREMAP_DONTUNMAP;
    if (!op)
        return VK_NOMEM;
    op->to = m->to;
    op->to_size = m->to_size;
    op->stays = stays;
    op->prot = (int)m->map.prot;
    struct vk_map map = m->map;
    map.offset += m->from - map.start;
    map.start = m->to;
    map.end = m->to + m->to_size;
    vk_text_keep(map.name);
    if ((!stays && vk_maps_cut(k, m->from, m->from + m->size)) ||
        vk_maps_cut(k, map.start, map.end) || vk_maps_add(k, &map))
        return VK_NOMEM;
    int64_t err = move_bytes(run, m);
    return err ? err : (int64_t)m->to;
}

static int64_t move_check(struct vk_run *run, struct move *m)
{
    *m = (struct move){.from = run->a[0],
                       .size = wd_page_up(run->a[1]),
                       .to_size = wd_page_up(run->a[2]),
                       .flags = run->a[3]};
    bool is_fixed = m->flags & MREMAP_FIXED, stays = m->flags & MREMAP_DONTUNMAP;
    if (m->flags & ~(uint64_t)(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) ||
        ((is_fixed || stays) && !(m->flags & MREMAP_MAYMOVE)) || !wd_page_is_start(m->from) ||
        !m->to_size || (stays && m->size != m->to_size))
        return -EINVAL;
    const struct vk_map *map = map_at(run->k, vk_maps_first(run->k, m->from));
    if (!map || map->start > m->from)
        return -EFAULT;
    m->map = *map;
    if (!m->size)
        return vk_unknown(run, "a second mapping of the same memory");
    if (m->from + m->size > map->end && (is_fixed || m->to_size > m->size))
        return -EFAULT;
    return 0;
}

static int64_t move_fixed(struct vk_run *run, struct move *m)
{
    m->to = run->a[4];
    if (!wd_page_is_start(m->to) || m->to > TASK_END - m->to_size ||
        (m->to < m->from + m->size && m->from < m->to + m->to_size))
        return -EINVAL;
    if (!vk_op_add(run->k, VK_OP_UNMAP, m->to, m->to_size))
        return VK_NOMEM;
    return move_to(run, m);
}

int64_t vk_call_mremap(struct vk_run *run)
{
    struct move m;
    struct vk_kernel *k = run->k;
    int64_t err = move_check(run, &m);
    if (err)
        return err;
    if (m.flags & MREMAP_FIXED)
        return move_fixed(run, &m);
    bool stays = m.flags & MREMAP_DONTUNMAP;
    if (!stays && m.to_size == m.size)
        return (int64_t)m.from;
    if (!stays && m.to_size < m.size)
        return move_shrink(run, &m);
    err = memory_check(run, m.to_size - m.size, m.map.prot);
    if (err)
        return err;
    uint64_t end = m.from + m.size;
    m.to = m.from;
    if (!stays && end == m.map.end && is_free(k, end, m.to_size - m.size))
        return move_to(run, &m);
    if (!(m.flags & MREMAP_MAYMOVE))
        return -ENOMEM;
    m.to =
        find_room(k, 0, m.to_size, m.map.inode != VK_NONE, m.map.offset + (m.from - m.map.start));
    return m.to ? move_to(run, &m) : -ENOMEM;
}

void vk_adopt_mremap(struct vk_run *run)
{
    struct move m;
    if ((run->told->result < 0 && run->told->result > -4096) || move_check(run, &m))
        return;
    m.to = (uint64_t)run->told->result;
    if (wd_page_is_start(m.to) && m.to <= TASK_END - m.to_size)
        move_to(run, &m);
}

/* ---- madvise and others ---- */

static int64_t discard(struct vk_run *run, uint64_t start, uint64_t end)
{
    for (uint64_t i = vk_maps_first(run->k, start); start < end; i++) {
        const struct vk_map *map = map_at(run->k, i);
        if (!map || map->start >= end)
            break;
        uint64_t from = map->start > start ? map->start : start;
        uint64_t to = map->end < end ? map->end : end;
        start = to;
        if (map->is_shared)
            continue;
        struct vk_op bytes = {0};
        int64_t err =
            map->inode == VK_NONE || run->told
                ? 0
                : file_bytes(run, map->inode, map->offset + (from - map->start), to - from, &bytes);
        if (err)
            return err;
        if (map->inode == VK_NONE && map->name && map->name->text[0] == '/' && !run->told)
            return vk_unknown(run, "what a file that was mapped before held");
        struct vk_op *op = vk_op_add(run->k, VK_OP_DISCARD, from, to - from);
        if (!op)
            return VK_NOMEM;
        op->bytes = bytes.bytes;
        op->byte_count = bytes.byte_count;
    }
    return 0;
}

/* Bits that an advice clears and sets; false: it changes nothing that is kept. */
static bool advice_bits(int advice, uint32_t *clears, uint32_t *sets)
{
    static const struct {
        int advice;
        uint32_t clears, sets;
    } known[] = {
        {MADV_NORMAL, ADVICE_RANDOM | ADVICE_SEQUENTIAL, 0},
        {MADV_RANDOM, ADVICE_SEQUENTIAL, ADVICE_RANDOM},
        {MADV_SEQUENTIAL, ADVICE_RANDOM, ADVICE_SEQUENTIAL},
        {MADV_DONTFORK, 0, ADVICE_NO_FORK},
        {MADV_DOFORK, ADVICE_NO_FORK, 0},
        {MADV_DONTDUMP, 0, ADVICE_NO_DUMP},
        {MADV_DODUMP, ADVICE_NO_DUMP, 0},
        {MADV_HUGEPAGE, ADVICE_NO_HUGE, ADVICE_HUGE},
        {MADV_NOHUGEPAGE, ADVICE_HUGE, ADVICE_NO_HUGE},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (known[i].advice != advice)
            continue;
        *clears = known[i].clears;
        *sets = known[i].sets;
        return true;
    }
    return false;
}

static int advise(struct vk_kernel *k, uint64_t start, uint64_t end, uint32_t clears, uint32_t sets)
{
    if (start >= end)
        return 0;
    if (split(k, start) || split(k, end))
        return -ENOMEM;
    uint64_t first = vk_maps_first(k, start), i = first;
    for (; map_at(k, i) && map_at(k, i)->start < end; i++) {
        struct vk_map *map = vk_edit(&k->maps, (uint32_t)i);
        if (!map)
            return -ENOMEM;
        map->advice = (map->advice & ~clears) | sets;
    }
    while (i-- > (first ? first - 1 : 0))
        join(k, i);
    return 0;
}

int64_t vk_call_madvise(struct vk_run *run)
{
    uint64_t start = run->a[0], end = start + wd_page_up(run->a[1]);
    uint32_t clears, sets;
    int advice = (int)run->a[2];
    if (!wd_page_is_start(start) || end < start || (run->a[1] && !wd_page_up(run->a[1])))
        return -EINVAL;
    int64_t gap = start < end && mapped_until(run->k, start, end) < end ? -ENOMEM : 0;
    if (advice_bits(advice, &clears, &sets))
        return advise(run->k, start, end, clears, sets) ? VK_NOMEM : gap;
    switch (advice) {
    case MADV_WILLNEED:
    case MADV_COLD:
    case MADV_PAGEOUT:
    case MADV_FREE: /* contents may stay, and do */
        return gap;
    case MADV_DONTNEED: {
        int64_t err = discard(run, start, end);
        return err ? err : gap;
    }
    default:
        return vk_unknown(run, "advice %d is not modelled", advice);
    }
}

int64_t vk_call_msync(struct vk_run *run)
{
    uint64_t end = run->a[0] + wd_page_up(run->a[1]);
    if (!wd_page_is_start(run->a[0]) ||
        run->a[2] & ~(uint64_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) ||
        (run->a[2] & (MS_ASYNC | MS_SYNC)) == (MS_ASYNC | MS_SYNC))
        return -EINVAL;
    if (end < run->a[0])
        return -ENOMEM;
    return mapped_until(run->k, run->a[0], end) < end ? -ENOMEM : 0;
}

int64_t vk_call_mlock(struct vk_run *run)
{
    uint64_t start = wd_page_down(run->a[0]), end = wd_page_up(run->a[0] + run->a[1]);
    return end < start || mapped_until(run->k, start, end) < end ? -ENOMEM : 0;
}

/* A push just below a stack makes it grow. */
int64_t vk_maps_grow_stack(struct vk_run *run, uint64_t address)
{
    struct vk_kernel *k = run->k;
    uint64_t i = vk_maps_first(k, address), start = wd_page_down(address);
    const struct vk_map *map = map_at(k, i), *below = i ? map_at(k, i - 1) : NULL;
    if (!map || map->start <= address || !map->grows_down || !(map->prot & PROT_WRITE))
        return -EFAULT;
    uint64_t most =
        k->s.limits_known & 1u << RLIMIT_STACK ? k->s.limit_cur[RLIMIT_STACK] : UINT64_C(8) << 20;
    if (map->end - start > most ||
        (below && start - below->end < STACK_GAP && below->prot & RIGHTS))
        return -EFAULT;
    int64_t err = memory_check(run, map->start - start, map->prot);
    if (err)
        return err;
    struct vk_op *op = vk_op_add(k, VK_OP_MAP, start, map->start - start);
    struct vk_map *row = vk_edit(&k->maps, (uint32_t)i);
    if (!op || !row)
        return VK_NOMEM;
    op->prot = (int)row->prot;
    op->name = "[stack]";
    k->s.mapped += row->start - start;
    row->start = start;
    return 0;
}
