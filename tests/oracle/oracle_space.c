/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private mappings are real private mappings of the backing file or of nothing. Shared ones are
 * mapped from one memfd per (device, inode).
 *
 * /proc/PID/mem writes to read-only private pages but refuses read-only shared ones; those are
 * written through the memfd. The list of shared mappings is searched only then, newest first, so
 * an entry whose range has been unmapped or replaced since does no harm.
 */
#include "tests/oracle/oracle_space.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#define PAGE           UINT64_C(4096)
#define COPY_BYTES     65536
#define RR_PAGE        UINT64_C(0x70000000)
#define RR_LIBRARY     UINT64_C(0x6fffd000) /* where librrpage begins */
#define RR_PAGE_OFFSET 0x3000               /* of the page's recorded variant in librrpage */

void orc_space_fini(struct orc_space *space)
{
    for (size_t i = 0; i < space->object_count; i++)
        close(space->objects[i].fd);
    free(space->objects);
    free(space->shared);
    *space = (struct orc_space){0};
}

/* ---------------------------------------------------------------- mapping */

static int map_at(struct orc_space *space, uint64_t start, uint64_t size, int prot, int flags,
                  int fd, uint64_t offset)
{
    const uint64_t args[6] = {start,
                              size,
                              (uint64_t)prot,
                              (uint64_t)(flags | MAP_FIXED | MAP_NORESERVE),
                              (uint64_t)(int64_t)fd,
                              offset};

    if (size == 0)
        return 0;
    return orc_child_must(space->child, "mmap", SYS_mmap, args, start);
}

int orc_space_unmap(struct orc_space *space, uint64_t start, uint64_t size_bytes)
{
    const uint64_t args[6] = {start, size_bytes};

    if (size_bytes == 0)
        return 0;
    return orc_child_must(space->child, "munmap", SYS_munmap, args, 0);
}

/* How much of the mapping the file can fill, in whole pages. */
static uint64_t file_part_bytes(const struct rrt_mmap *map)
{
    uint64_t size = map->end - map->start;
    uint64_t file = map->stat_size_bytes > 0 ? (uint64_t)map->stat_size_bytes : 0;

    if (file <= map->file_offset_bytes)
        return 0;
    file = (file - map->file_offset_bytes + PAGE - 1) & ~(PAGE - 1);
    return file < size ? file : size;
}

static int map_private(struct orc_space *space, struct wetdbg_recording *trace,
                       const struct rrt_mmap *map)
{
    uint64_t from_file = map->source == RRT_SOURCE_FILE ? file_part_bytes(map) : 0;
    struct rrt_backing backing;
    int err;

    err = map_at(space, map->start, map->end - map->start, map->prot, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
    if (err != 0 || from_file == 0)
        return err;
    err = rrt_backing_open(trace, map, &backing);
    if (err != 0)
        return err;
    err = map_at(space, map->start, from_file, map->prot, MAP_PRIVATE, backing.fd,
                 map->file_offset_bytes);
    close(backing.fd);
    return err;
}

/* ---------------------------------------------------------------- shared objects */

static int copy_file(int from, int to)
{
    char block[COPY_BYTES];
    off_t at = 0;
    ssize_t got;

    while ((got = pread(from, block, sizeof(block), at)) > 0) {
        if (pwrite(to, block, (size_t)got, at) != got)
            return wetdbg_fail_errno("cannot fill a shared object");
        at += got;
    }
    return got < 0 ? wetdbg_fail_errno("cannot read a mapped file") : 0;
}

static int object_new(struct orc_space *space, struct wetdbg_recording *trace,
                      const struct rrt_mmap *map, size_t *index)
{
    struct orc_object *grown =
        realloc(space->objects, (space->object_count + 1) * sizeof(*space->objects));
    struct orc_object made = {.device = map->device, .inode = map->inode};
    struct rrt_backing backing;
    int err = 0;

    if (!grown)
        return -ENOMEM;
    space->objects = grown;
    made.fd = memfd_create("oracle", MFD_CLOEXEC);
    if (made.fd < 0)
        return wetdbg_fail_errno("memfd_create");
    if (map->source == RRT_SOURCE_FILE) {
        err = rrt_backing_open(trace, map, &backing);
        if (err == 0) {
            err = copy_file(backing.fd, made.fd);
            close(backing.fd);
        }
    }
    if (err == 0)
        made.size_bytes = (uint64_t)lseek(made.fd, 0, SEEK_END);
    if (err != 0) {
        close(made.fd);
        return err;
    }
    *index = space->object_count++;
    space->objects[*index] = made;
    return 0;
}

static int object_find(struct orc_space *space, struct wetdbg_recording *trace,
                       const struct rrt_mmap *map, size_t *index)
{
    for (size_t i = 0; i < space->object_count; i++) {
        if (space->objects[i].device == map->device && space->objects[i].inode == map->inode) {
            *index = i;
            return 0;
        }
    }
    return object_new(space, trace, map, index);
}

static int map_shared(struct orc_space *space, struct wetdbg_recording *trace,
                      const struct rrt_mmap *map)
{
    uint64_t end_bytes = map->file_offset_bytes + (map->end - map->start);
    struct orc_shared *grown;
    struct orc_object *object;
    size_t index = 0;
    int err = object_find(space, trace, map, &index);

    if (err != 0)
        return err;
    object = &space->objects[index];
    if (end_bytes > object->size_bytes) {
        if (end_bytes > INT64_MAX || ftruncate(object->fd, (off_t)end_bytes) != 0)
            return wetdbg_fail_errno("cannot extend a shared object to %" PRIu64 " bytes",
                                     end_bytes);
        object->size_bytes = end_bytes;
    }
    grown = realloc(space->shared, (space->shared_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    space->shared = grown;
    space->shared[space->shared_count++] =
        (struct orc_shared){map->start, map->end, map->file_offset_bytes, index};
    return map_at(space, map->start, map->end - map->start, map->prot, MAP_SHARED, object->fd,
                  map->file_offset_bytes);
}

int orc_space_map(struct orc_space *space, struct wetdbg_recording *trace,
                  const struct rrt_mmap *map)
{
    /* inode 0: rr's thread-locals page, which is shared only with rr */
    if ((map->flags & MAP_TYPE) == MAP_SHARED && map->inode != 0)
        return map_shared(space, trace, map);
    return map_private(space, trace, map);
}

uint64_t orc_space_segment_end(const struct orc_space *space, uint64_t start)
{
    for (size_t i = space->shared_count; i-- > 0;)
        if (space->shared[i].start == start)
            return space->shared[i].end;
    return 0;
}

/* ---------------------------------------------------------------- contents */

static int write_bytes(struct orc_space *space, uint64_t address, const uint8_t *bytes,
                       uint64_t count)
{
    int err;

    if (count == 0)
        return 0;
    err = orc_child_write(space->child, address, bytes, count);
    if (err == 0)
        return 0;
    for (size_t i = space->shared_count; i-- > 0;) {
        const struct orc_shared *s = &space->shared[i];
        if (s->start <= address && address + count <= s->end) {
            off_t at = (off_t)(address - s->start + s->offset_bytes);
            if (pwrite(space->objects[s->object].fd, bytes, count, at) == (ssize_t)count)
                return 0;
        }
    }
    return err;
}

static int write_zeros(struct orc_space *space, uint64_t address, uint64_t count)
{
    static const uint8_t zeros[COPY_BYTES];
    int err = 0;

    while (err == 0 && count > 0) {
        uint64_t part = count < sizeof(zeros) ? count : sizeof(zeros);
        err = write_bytes(space, address, zeros, part);
        address += part;
        count -= part;
    }
    return err;
}

int orc_space_write(struct orc_space *space, const struct rrt_write *write)
{
    const uint8_t *from = write->bytes;
    uint64_t done = 0;
    int err = 0;

    for (size_t i = 0; err == 0 && i <= write->hole_count; i++) {
        uint64_t next = i < write->hole_count ? write->holes[i].offset_bytes : write->size_bytes;
        err = write_bytes(space, write->addr + done, from, next - done);
        from += next - done;
        done = next;
        if (err == 0 && i < write->hole_count) {
            err = write_zeros(space, write->addr + done, write->holes[i].size_bytes);
            done += write->holes[i].size_bytes;
        }
    }
    return err;
}

int orc_space_fill_rr_page(struct orc_space *space, struct wetdbg_recording *trace,
                           const struct rrt_mmap *maps, size_t count)
{
    uint8_t page[PAGE];
    struct rrt_backing backing;
    int err;
    size_t i = 0;

    while (i < count && (maps[i].start != RR_LIBRARY || maps[i].source != RRT_SOURCE_FILE))
        i++;
    if (i == count)
        return 0;
    err = rrt_backing_open(trace, &maps[i], &backing);
    if (err != 0)
        return err;
    if (pread(backing.fd, page, sizeof(page), RR_PAGE_OFFSET) == (ssize_t)sizeof(page))
        err = orc_child_write(space->child, RR_PAGE, page, sizeof(page));
    else
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s has no page at %#x", maps[i].backing,
                          RR_PAGE_OFFSET);
    close(backing.fd);
    return err;
}
