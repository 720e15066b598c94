/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contents of files: what the run wrote lies over what the file held before. Of that the recording
 * tells what it read, then and later; the rest is on the disk, or not known.
 *
 *     0 ............... base_size ........... size
 *     the run's, else   the run's, else
 *     the base's        zero
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "predicate_switch/kernel/vk_calls.h"

#define TRANSFER_MAX (UINT64_C(64) << 20) /* bytes of one call */
#define KERNEL_MAX   0x7ffff000u          /* what Linux transfers at most */

int64_t vk_file_size(struct vk_run *run, uint32_t inode, uint64_t *size)
{
    *size = 0;
    vk_inode_ask(run->k, inode);
    static const char why[] = "how long the file is, is not known";
    const struct vk_inode *row = vk_inode(run->k, inode);
    if (!row->has_size)
        return vk_is_own(run->k, row) ? vk_unknown_own(run, why) : vk_unknown(run, why);
    *size = row->size;
    return 0;
}

/* Stores to a shared mapping have gone to the file. */
static int64_t take_shared(struct vk_run *run, uint32_t inode)
{
    struct vk_kernel *k = run->k;
    for (uint32_t i = 0; i < vk_count(&k->maps); i++) {
        const struct vk_map map = *(const struct vk_map *)vk_row(&k->maps, i);
        uint8_t bytes[VK_BLOCK];
        if (map.inode != inode || !map.is_shared || !(map.prot & PROT_WRITE) || run->told)
            continue;
        uint64_t size = vk_inode(k, inode)->size;
        for (uint64_t at = map.start; at < map.end && map.offset + (at - map.start) < size;
             at += sizeof(bytes)) {
            uint64_t offset = map.offset + (at - map.start);
            uint64_t count = size - offset < sizeof(bytes) ? size - offset : sizeof(bytes);
            struct vk_inode *row = vk_inode_edit(k, inode);
            if (run->memory->read(run->memory->arg, at, bytes, count))
                break;
            if (!row || vk_content_put(&row->content, offset, bytes, count))
                return VK_NOMEM;
            vk_inode_changed(k, row);
        }
    }
    return 0;
}

/* Bytes that are all the run's, all the base's, or zeros: how many were copied. */
static int64_t read_part(struct vk_run *run, uint32_t inode, uint64_t offset, uint8_t *bytes,
                         uint64_t size)
{
    const struct vk_inode *row = vk_inode(run->k, inode);
    bool known;
    uint64_t part = vk_content_run(&row->content, offset, size, &known);
    if (known) {
        vk_content_get(&row->content, offset, bytes, part);
        return (int64_t)part;
    }
    if (row->base == VK_NONE || offset >= row->base_size) {
        memset(bytes, 0, part);
        return (int64_t)part;
    }
    part = part < row->base_size - offset ? part : row->base_size - offset;
    const struct vk_base *base = vk_base_at(run->h, row->base);
    uint64_t has = vk_content_run(&base->content, offset, part, &known);
    bool is_lost = !known && (!row->has_size || vk_base_fill(run->h, row->base, offset, has));
    if (is_lost && vk_is_own(run->k, row))
        return vk_unknown_own(run, "what the file holds besides what was written is not known");
    if (is_lost)
        return vk_unknown(run, "bytes %llu to %llu of the file are not known",
                          (unsigned long long)offset, (unsigned long long)(offset + has));
    vk_content_get(&base->content, offset, bytes, has);
    return (int64_t)has;
}

int64_t vk_file_read(struct vk_run *run, uint32_t inode, uint64_t offset, uint8_t *bytes,
                     uint64_t size)
{
    uint64_t done = 0;
    vk_inode_ask(run->k, inode);
    if (vk_inode(run->k, inode)->is_untouched)
        vk_inode_edit(run->k, inode)->is_untouched = false;
    const struct vk_inode *row = vk_inode(run->k, inode);
    if (row->has_size)
        size = offset >= row->size ? 0 : size < row->size - offset ? size : row->size - offset;
    int64_t err = take_shared(run, inode);
    while (done < size && !err) {
        int64_t part = read_part(run, inode, offset + done, bytes + done, size - done);
        if (part < 0)
            err = part;
        else
            done += (uint64_t)part;
    }
    return err ? err : (int64_t)done;
}

/* ---- writing ---- */

/* What is mapped from a file shows what is written to it. */
static int64_t show_shared(struct vk_run *run, uint32_t inode, uint64_t offset,
                           const uint8_t *bytes, uint64_t size)
{
    struct vk_kernel *k = run->k;
    for (uint32_t i = 0; i < vk_count(&k->maps); i++) {
        const struct vk_map *map = vk_row(&k->maps, i);
        uint64_t map_end = map->offset + (map->end - map->start);
        if (map->inode != inode || offset >= map_end || offset + size <= map->offset)
            continue;
        if (!map->is_shared)
            return vk_unknown(run, "the file is mapped privately");
        uint64_t from = offset > map->offset ? offset : map->offset;
        uint64_t end = offset + size < map_end ? offset + size : map_end;
        void *copy = vk_op_bytes(k, end - from);
        struct vk_op *op = vk_op_add(k, VK_OP_WRITE, map->start + (from - map->offset), end - from);
        if (!copy || !op)
            return VK_NOMEM;
        memcpy(copy, bytes + (from - offset), end - from);
        op->bytes = copy;
    }
    return 0;
}

static int64_t grow_check(struct vk_run *run, uint64_t before, uint64_t after)
{
    struct vk_kernel *k = run->k;
    uint64_t most = run->h->start.limits.file_bytes;
    if (k->s.limits_known & 1u << RLIMIT_FSIZE && after > k->s.limit_cur[RLIMIT_FSIZE])
        return vk_unknown(run, "the file would be longer than RLIMIT_FSIZE");
    if (after > before && vk_is_live(k))
        k->s.grown += after - before;
    if ((vk_is_live(k) && k->s.grown > most) || after > VK_CONTENT_MAX)
        return vk_unknown(run, "the limit of %llu bytes in files is reached",
                          (unsigned long long)most);
    return 0;
}

int64_t vk_file_write(struct vk_run *run, uint32_t inode, uint64_t offset, const uint8_t *bytes,
                      uint64_t size)
{
    vk_inode_ask(run->k, inode);
    struct vk_inode *row = vk_inode_edit(run->k, inode);
    if (!row)
        return VK_NOMEM;
    int64_t err = grow_check(run, row->has_size ? row->size : offset, offset + size);
    if (!err && row->opens)
        err = show_shared(run, inode, offset, bytes, size);
    if (err)
        return err;
    vk_inode_changed(run->k, row);
    row->has_unseen |= row->appended && !row->has_size;
    if (vk_content_put(&row->content, offset, bytes, size))
        return VK_NOMEM;
    if (row->has_size && row->base_size > row->size)
        row->base_size = row->size;
    if (row->has_size && size && offset + size > row->size)
        row->size = offset + size;
    if (size)
        vk_times_touch(run->k, row, true);
    return (int64_t)size;
}

int64_t vk_file_resize(struct vk_run *run, uint32_t inode, uint64_t size)
{
    vk_inode_ask(run->k, inode);
    struct vk_inode *row = vk_inode_edit(run->k, inode);
    if (!row)
        return VK_NOMEM;
    int64_t err = grow_check(run, row->has_size ? row->size : size, size);
    if (err)
        return err;
    row->has_unseen |= !row->has_size && row->appended;
    if (vk_content_cut(&row->content, size))
        return VK_NOMEM;
    if (row->base_size > size)
        row->base_size = size;
    if (row->has_size && row->base_size > row->size)
        row->base_size = row->size;
    row->size = size;
    row->has_size = true;
    vk_times_touch(run->k, row, true);
    return 0;
}

/* ---- transfers: memory on one side, a description on the other ---- */

struct piece {
    uint64_t address, size;
};

struct transfer {
    struct vk_run *run;
    struct piece one, *pieces;
    uint32_t count;
    uint64_t size; /* in all */
    uint8_t *bytes;
    bool has_at;
    uint64_t at;
};

static int64_t pieces_of_vector(struct transfer *t, uint64_t address, uint64_t count)
{
    struct iovec vector[16];
    if (count > 1024)
        return -EINVAL;
    t->pieces = calloc(count ? count : 1, sizeof(*t->pieces));
    if (!t->pieces)
        return VK_NOMEM;
    for (uint64_t i = 0; i < count; i++) {
        if (i % 16 == 0) {
            uint64_t some = count - i < 16 ? count - i : 16;
            if (vk_get(t->run, address + i * sizeof(*vector), vector, some * sizeof(*vector)))
                return -EFAULT;
        }
        const struct iovec *v = &vector[i % 16];
        if ((int64_t)v->iov_len < 0)
            return -EINVAL;
        uint64_t left = KERNEL_MAX - t->size;
        uint64_t size = v->iov_len < left ? v->iov_len : left;
        t->pieces[t->count++] = (struct piece){(uint64_t)v->iov_base, size};
        t->size += size;
    }
    return 0;
}

static void transfer_fini(struct transfer *t)
{
    if (t->pieces != &t->one)
        free(t->pieces);
    free(t->bytes);
}

/* The arguments, by the call: is it a vector, and does it say where? */
static int64_t transfer_init(struct transfer *t, struct vk_run *run, bool is_vector, bool has_at)
{
    uint64_t size = run->a[2] < KERNEL_MAX ? run->a[2] : KERNEL_MAX;
    *t = (struct transfer){.run = run, .has_at = has_at, .at = run->a[3]};
    t->pieces = &t->one;
    if (has_at && (int64_t)t->at < 0)
        return -EINVAL;
    if (is_vector)
        return pieces_of_vector(t, run->a[1], run->a[2]);
    if ((int64_t)run->a[2] < 0)
        return -EINVAL;
    t->one = (struct piece){run->a[1], size};
    t->count = 1;
    t->size = size;
    return 0;
}

/* How many bytes of the pieces are memory that may be accessed so: Linux stops at the first that
 * may not, -EFAULT if that is the first of all. */
static int64_t transfer_clip(struct transfer *t, bool writes)
{
    uint64_t fits = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        const struct piece *p = &t->pieces[i];
        if (p->size && !vk_may_access(t->run->k, p->address, p->size, writes)) {
            uint64_t page = p->address;
            while (page < p->address + p->size && vk_may_access(t->run->k, page, 1, writes))
                page = (page | (VK_BLOCK - 1)) + 1;
            fits += page > p->address ? page - p->address : 0;
            t->size = fits;
            return fits ? 0 : -EFAULT;
        }
        fits += p->size;
    }
    return 0;
}

static int64_t transfer_room(struct transfer *t)
{
    if (t->size > TRANSFER_MAX)
        t->size = TRANSFER_MAX;
    t->bytes = malloc(t->size ? t->size : 1);
    return t->bytes ? 0 : VK_NOMEM;
}

static int64_t transfer_get(struct transfer *t)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < t->count && done < t->size; i++) {
        uint64_t part = t->pieces[i].size < t->size - done ? t->pieces[i].size : t->size - done;
        if (vk_get(t->run, t->pieces[i].address, t->bytes + done, part))
            return -EFAULT;
        done += part;
    }
    return 0;
}

static int64_t transfer_put(struct transfer *t, uint64_t count)
{
    uint64_t done = 0;
    for (uint32_t i = 0; i < t->count && done < count; i++) {
        uint64_t part = t->pieces[i].size < count - done ? t->pieces[i].size : count - done;
        if (part && vk_put(t->run, t->pieces[i].address, t->bytes + done, part))
            return -EFAULT;
        done += part;
    }
    return (int64_t)count;
}

/* ---- reading ---- */

static void moved(struct vk_run *run, uint32_t index, const struct transfer *t, int64_t count)
{
    if (count > 0 && !t->has_at)
        vk_open_edit(run->k, index)->offset += (uint64_t)count;
}

/* How many bytes a read of what was open already gives at once: what the recorded ones did. */
static uint64_t chunk_at(const struct vk_history *h, uint32_t outside, uint64_t at, uint64_t size)
{
    for (size_t i = 0; i < h->chunk_count; i++) {
        const struct vk_chunk *chunk = &h->chunks[i];
        if (chunk->outside == outside && chunk->start <= at && at < chunk->end)
            return size < chunk->end - at ? size : chunk->end - at;
    }
    return size;
}

static int64_t read_outside(struct vk_run *run, uint32_t index, struct transfer *t)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    if (!open->outside || open->inode == VK_NONE || t->has_at)
        return vk_next_recorded(run);
    uint64_t size = chunk_at(run->h, open->outside, open->offset, t->size);
    return vk_file_read(run, open->inode, open->offset, t->bytes, size);
}

static int64_t read_inode(struct vk_run *run, const struct vk_open *open, struct transfer *t)
{
    const struct vk_inode *inode = vk_inode(run->k, open->inode);
    if (S_ISDIR(inode->mode))
        return -EISDIR;
    if (inode->is_live) {
        if (open->path && !strcmp(open->path->text, "/dev/null"))
            return 0;
        if (open->path && !strcmp(open->path->text, "/dev/zero")) {
            memset(t->bytes, 0, t->size);
            return (int64_t)t->size;
        }
        return vk_next_recorded(run);
    }
    if (inode->mode & S_IFMT && !S_ISREG(inode->mode))
        return vk_unknown(run, "reading a device");
    return vk_file_read(run, open->inode, t->has_at ? t->at : open->offset, t->bytes, t->size);
}

static int64_t read_open(struct vk_run *run, uint32_t index, struct transfer *t, bool *is_put)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    *is_put = false;
    switch (open->kind) {
    case VK_OPEN_FILE: {
        int64_t count = read_inode(run, open, t);
        *is_put = vk_inode(run->k, open->inode)->is_live && run->has_taken;
        return count;
    }
    case VK_OPEN_PIPE:
    case VK_OPEN_PAIR:
        return t->has_at ? -ESPIPE : vk_pipe_read(run, index, t->bytes, t->size);
    case VK_OPEN_EVENTFD:
    case VK_OPEN_TIMERFD:
    case VK_OPEN_SIGNALFD:
        return t->has_at ? -ESPIPE : vk_special_read(run, index, t->bytes, t->size);
    case VK_OPEN_EPOLL:
        return -EINVAL;
    default: {
        int64_t count = read_outside(run, index, t);
        *is_put = run->has_taken;
        return count;
    }
    }
}

/* Whether no bytes are read where none are asked for. A list of no bytes comes to no file; read()
 * is refused by directories and counters all the same. */
static bool reads_nothing(const struct vk_run *run, const struct vk_open *open, bool is_vector)
{
    switch (open->kind) {
    case VK_OPEN_FILE:
        return is_vector || !S_ISDIR(vk_inode(run->k, open->inode)->mode);
    case VK_OPEN_EVENTFD:
    case VK_OPEN_TIMERFD:
    case VK_OPEN_SIGNALFD:
        return is_vector;
    default:
        return open->kind != VK_OPEN_OUTSIDE;
    }
}

static int64_t read_any(struct vk_run *run, bool is_vector, bool has_at)
{
    struct transfer t;
    uint32_t index;
    bool is_put;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open || (open->flags != VK_NONE && (open->flags & O_ACCMODE) == O_WRONLY))
        return -EBADF;
    int64_t result = transfer_init(&t, run, is_vector, has_at);
    if (!result)
        result = transfer_clip(&t, true);
    if (!result && !t.size && reads_nothing(run, open, is_vector))
        result = 0;
    else if (!result && !(result = transfer_room(&t))) {
        result = read_open(run, index, &t, &is_put);
        if (result > 0 && !is_put)
            result = transfer_put(&t, (uint64_t)result);
        moved(run, index, &t, result);
    }
    transfer_fini(&t);
    return result;
}

int64_t vk_call_read(struct vk_run *run)
{
    return read_any(run, false, false);
}

int64_t vk_call_pread64(struct vk_run *run)
{
    return read_any(run, false, true);
}

int64_t vk_call_readv(struct vk_run *run)
{
    return read_any(run, true, false);
}

int64_t vk_call_preadv(struct vk_run *run)
{
    return read_any(run, true, true);
}

/* ---- what a recorded read tells of a file ---- */

static void learn_end(struct vk_run *run, struct vk_base *base, const struct vk_open *open,
                      const struct transfer *t, uint64_t offset, uint64_t count)
{
    bool is_stream = open->kind == VK_OPEN_OUTSIDE && base->format != S_IFREG;
    if (!t->size || !run->learns)
        return;
    if (!count || (!is_stream && count < t->size)) {
        if (!base->has_size && !vk_inode(run->k, open->inode)->is_written) {
            base->has_size = true;
            base->st.st_size = (off_t)(offset + count);
        }
    } else if (is_stream && count < t->size) {
        vk_chunk_learn(run->h, open->outside, offset, offset + count);
    }
}

/* Bytes that were read are what the file held before, but for those that the run had written. */
static void learn_old(struct vk_base *base, const struct vk_inode *row, uint64_t offset,
                      const uint8_t *bytes, uint64_t size)
{
    bool is_lost = (row->appended && !row->has_size) || row->has_unseen;
    uint64_t end = row->base_size < offset + size ? row->base_size : offset + size, part;
    for (uint64_t at = offset; at < end && !is_lost; at += part) {
        bool is_own;
        part = vk_content_run(&row->content, at, end - at, &is_own);
        if (!is_own)
            vk_content_add(&base->content, at, bytes + (at - offset), part);
    }
}

static void learn_bytes(struct vk_run *run, const struct vk_open *open, struct transfer *t,
                        uint64_t offset, uint64_t count)
{
    uint64_t done = 0;
    const struct vk_inode *row = open->inode == VK_NONE ? NULL : vk_inode(run->k, open->inode);
    if (!row || row->is_live || row->base == VK_NONE || transfer_room(t))
        return;
    count = count < t->size ? count : t->size;
    for (uint32_t i = 0; i < t->count && done < count; i++) {
        uint64_t part = t->pieces[i].size < count - done ? t->pieces[i].size : count - done;
        done += vk_told_bytes(run, t->pieces[i].address, t->bytes + done, part);
    }
    struct vk_base *base = vk_base_at(run->h, row->base);
    if (run->learns)
        learn_old(base, row, offset, t->bytes, done);
    learn_end(run, base, open, t, offset, count);
}

static void adopt_read(struct vk_run *run, bool is_vector, bool has_at)
{
    struct transfer t;
    uint32_t index;
    if (!vk_adopt_open(run, run->a[0], run->told->result != -EBADF))
        return;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!transfer_init(&t, run, is_vector, has_at) && run->told->result >= 0) {
        learn_bytes(run, open, &t, has_at ? t.at : open->offset, (uint64_t)run->told->result);
        moved(run, index, &t, run->told->result);
    }
    transfer_fini(&t);
}

void vk_adopt_read(struct vk_run *run)
{
    adopt_read(run, false, false);
}

void vk_adopt_pread64(struct vk_run *run)
{
    adopt_read(run, false, true);
}

void vk_adopt_readv(struct vk_run *run)
{
    adopt_read(run, true, false);
}

void vk_adopt_preadv(struct vk_run *run)
{
    adopt_read(run, true, true);
}

/* ---- writing ---- */

int64_t vk_put_out(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size,
                   uint64_t offset)
{
    struct vk_kernel *k = run->k;
    const struct vk_open *open = vk_row(&k->opens, index);
    if (!vk_is_live(k) || !size)
        return 0;
    bool is_file = open->kind == VK_OPEN_FILE && !open->outside;
    uint64_t most = run->h->start.limits.output_bytes;
    struct vk_output output = {.when = run->call->when,
                               .task = run->call->task,
                               .fd = (int)run->a[0],
                               .is_file = is_file,
                               .path = open->path ? open->path->text : NULL,
                               .offset = is_file ? offset : open->put_out,
                               .bytes = bytes,
                               .size = size};
    if (!is_file) {
        vk_open_edit(k, index)->put_out += size;
        k->s.output += size;
        if (k->s.output > most)
            return vk_unknown(run, "the limit of %llu bytes of output is reached",
                              (unsigned long long)most);
    }
    return k->on_output && k->on_output(k->on_output_arg, &output) ? VK_STOP : 0;
}

static bool is_sink(const struct vk_open *open)
{
    const char *path = open->path ? open->path->text : "";
    return !strcmp(path, "/dev/null") || !strcmp(path, "/dev/zero");
}

static bool is_terminal(const struct vk_open *open)
{
    return open->path && !strncmp(open->path->text, "/dev/", 5) && !is_sink(open);
}

/* Whether what is written to a descriptor goes out, so that vk_put_out() is told of it. What a
 * process writes to the kernel's own files, in /proc for instance, does not. */
static bool goes_out(const struct vk_kernel *k, int fd)
{
    uint32_t index;
    const struct vk_open *open = fd < 0 ? NULL : vk_open_of(k, (uint64_t)fd, &index);
    if (!open || open->kind == VK_OPEN_OUTSIDE)
        return true;
    if (open->kind != VK_OPEN_FILE || is_sink(open))
        return false;
    return open->inode == VK_NONE || !vk_inode(k, open->inode)->is_live || is_terminal(open);
}

bool vk_history_puts_out(const struct vk_history *h, int fd)
{
    return !h->kernel || goes_out(h->kernel, fd);
}

static int64_t write_inode(struct vk_run *run, uint32_t index, struct transfer *t)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    const struct vk_inode *inode = vk_inode(run->k, open->inode);
    uint64_t offset = t->has_at ? t->at : open->offset;
    if (inode->is_live) {
        if (is_sink(open))
            return (int64_t)t->size;
        if (!is_terminal(open))
            return vk_unknown(run, "writing to %s", open->path ? open->path->text : "a device");
        int64_t err = vk_put_out(run, index, t->bytes, t->size, 0);
        return err ? err : (int64_t)t->size;
    }
    if (open->flags & O_APPEND) {
        int64_t err = vk_file_size(run, open->inode, &offset);
        if (err)
            return err;
        if (!t->has_at)
            vk_open_edit(run->k, index)->offset = offset;
    }
    int64_t err = vk_put_out(run, index, t->bytes, t->size, offset);
    return err ? err : vk_file_write(run, open->inode, offset, t->bytes, t->size);
}

static int64_t write_open(struct vk_run *run, uint32_t index, struct transfer *t)
{
    const struct vk_open *open = vk_row(&run->k->opens, index);
    int64_t err;
    switch (open->kind) {
    case VK_OPEN_FILE:
        return write_inode(run, index, t);
    case VK_OPEN_PIPE:
    case VK_OPEN_PAIR:
        return t->has_at ? -ESPIPE : vk_pipe_write(run, index, t->bytes, t->size);
    case VK_OPEN_EVENTFD:
        return t->has_at ? -ESPIPE : vk_event_write(run, index, t->bytes, t->size);
    case VK_OPEN_OUTSIDE:
        if (!open->outside)
            return vk_unknown(run, "writing to what is outside");
        if (run->told && run->told->result < 0)
            return vk_unknown(run, "a write that fails");
        err = vk_put_out(run, index, t->bytes, t->size, 0);
        return err ? err : (int64_t)t->size;
    default:
        return -EINVAL;
    }
}

static int64_t write_any(struct vk_run *run, bool is_vector, bool has_at)
{
    struct transfer t;
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open || (open->flags != VK_NONE && (open->flags & O_ACCMODE) == O_RDONLY))
        return -EBADF;
    int64_t result = transfer_init(&t, run, is_vector, has_at);
    if (!result)
        result = transfer_clip(&t, false);
    if (!result)
        result = transfer_room(&t);
    if (!result)
        result = transfer_get(&t);
    if (!result)
        result = write_open(run, index, &t);
    if (result > 0)
        moved(run, index, &t, result);
    transfer_fini(&t);
    return result;
}

int64_t vk_call_write(struct vk_run *run)
{
    return write_any(run, false, false);
}

int64_t vk_call_pwrite64(struct vk_run *run)
{
    return write_any(run, false, true);
}

int64_t vk_call_writev(struct vk_run *run)
{
    return write_any(run, true, false);
}

int64_t vk_call_pwritev(struct vk_run *run)
{
    return write_any(run, true, true);
}

/* A recorded write of which it is not known where the bytes went: to the end, or just somewhere. */
static void written_somewhere(struct vk_kernel *k, const struct vk_open *open, uint64_t size)
{
    struct vk_inode *row = vk_inode_edit(k, open->inode);
    if (!row)
        return;
    row->appended += size;
    row->has_unseen |= !(open->flags & O_APPEND);
    row->is_untouched = false;
    vk_inode_changed(k, row);
}

/* A write that did something else than the model says: as many bytes as it wrote. */
static void adopt_write(struct vk_run *run, bool is_vector, bool has_at)
{
    struct transfer t;
    uint32_t index;
    if (!vk_adopt_open(run, run->a[0], run->told->result != -EBADF) || run->told->result <= 0)
        return;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!transfer_init(&t, run, is_vector, has_at)) {
        if ((uint64_t)run->told->result < t.size)
            t.size = (uint64_t)run->told->result;
        if (open->kind == VK_OPEN_FILE && !transfer_room(&t) && !transfer_get(&t) &&
            write_inode(run, index, &t) < 0 && open->inode != VK_NONE)
            written_somewhere(run->k, open, t.size);
        moved(run, index, &t, (int64_t)t.size);
    }
    transfer_fini(&t);
}

void vk_adopt_write(struct vk_run *run)
{
    adopt_write(run, false, false);
}

void vk_adopt_pwrite64(struct vk_run *run)
{
    adopt_write(run, false, true);
}

void vk_adopt_writev(struct vk_run *run)
{
    adopt_write(run, true, false);
}

/* ---- positions and lengths ---- */

static int64_t seek_base(struct vk_run *run, const struct vk_open *open, int whence, uint64_t *base)
{
    uint64_t size;
    int64_t err = 0;
    switch (whence) {
    case SEEK_SET:
        *base = 0;
        return 0;
    case SEEK_CUR:
        *base = open->offset;
        return 0;
    case SEEK_END:
        return vk_file_size(run, open->inode, base);
    case SEEK_DATA:
    case SEEK_HOLE:
        err = vk_file_size(run, open->inode, &size);
        if (err)
            return err;
        if (run->a[1] >= size)
            return -ENXIO;
        return vk_unknown(run, "where a file has holes");
    default:
        return -EINVAL;
    }
}

int64_t vk_call_lseek(struct vk_run *run)
{
    uint32_t index;
    uint64_t base;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE ||
        (open->kind == VK_OPEN_FILE && vk_inode(run->k, open->inode)->is_live))
        return vk_next_recorded(run);
    if (open->kind != VK_OPEN_FILE)
        return open->kind == VK_OPEN_PIPE || open->kind == VK_OPEN_PAIR ? -ESPIPE
                                                                        : vk_next_recorded(run);
    uint32_t mode = vk_inode(run->k, open->inode)->mode;
    if (S_ISDIR(mode) && (run->a[1] || run->a[2] == SEEK_END))
        return vk_unknown(run, "positions in directories are not modelled");
    int64_t err = seek_base(run, open, (int)run->a[2], &base);
    if (err)
        return err;
    int64_t to = (int64_t)(base + run->a[1]);
    if (to < 0)
        return (int64_t)run->a[1] > 0 ? -EOVERFLOW : -EINVAL;
    vk_open_edit(run->k, index)->offset = (uint64_t)to;
    return to;
}

void vk_adopt_lseek(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_adopt_open(run, run->a[0], run->told->result != -EBADF);
    if (!open || run->told->result < 0)
        return;
    vk_open_of(run->k, (uint32_t)run->a[0], &index);
    struct vk_open *row = vk_open_edit(run->k, index);
    uint32_t stream = row->outside - 1;
    bool tells_start = run->a[2] == SEEK_CUR && !run->a[1] && stream < 3 && run->learns;
    if (tells_start && !run->h->stream_starts[stream] && (uint64_t)run->told->result > row->offset)
        run->h->stream_starts[stream] = (uint64_t)run->told->result - row->offset;
    row->offset = (uint64_t)run->told->result;
    if (run->a[2] != SEEK_END || row->inode == VK_NONE)
        return;
    const struct vk_inode *inode = vk_inode(run->k, row->inode);
    int64_t size = run->told->result - (int64_t)run->a[1];
    if (inode->base == VK_NONE || !run->learns)
        return;
    if (inode->is_written) {
        vk_size_learn(run->k, row->inode, (uint64_t)size);
        return;
    }
    struct vk_base *base = vk_base_at(run->h, inode->base);
    base->has_size = true;
    base->st.st_size = (off_t)size;
}

static int64_t truncate_inode(struct vk_run *run, uint32_t inode)
{
    uint32_t mode = vk_inode(run->k, inode)->mode;
    if ((int64_t)run->a[1] < 0)
        return -EINVAL;
    if (S_ISDIR(mode))
        return -EISDIR;
    if (vk_inode(run->k, inode)->is_live)
        return vk_unknown(run, "a file of the kernel's");
    return vk_file_resize(run, inode, run->a[1]);
}

int64_t vk_call_ftruncate(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE)
        return vk_unknown(run, "a file that was open already");
    if (open->kind != VK_OPEN_FILE || S_ISDIR(vk_inode(run->k, open->inode)->mode) ||
        (open->flags & O_ACCMODE) == O_RDONLY)
        return -EINVAL;
    return truncate_inode(run, open->inode);
}

int64_t vk_call_truncate(struct vk_run *run)
{
    struct vk_where where;
    if ((int64_t)run->a[1] < 0)
        return -EINVAL;
    int64_t err = vk_walk(run, AT_FDCWD, run->a[0], VK_WALK_FOLLOW, &where);
    if (err)
        return err;
    if (where.inode == VK_NONE)
        return -ENOENT;
    if (!vk_may(run->k, vk_inode(run->k, where.inode), 2))
        return -EACCES;
    return truncate_inode(run, where.inode);
}

int64_t vk_call_fallocate(struct vk_run *run)
{
    uint32_t index;
    uint64_t size, end = run->a[2] + run->a[3];
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if ((int64_t)run->a[2] < 0 || (int64_t)run->a[3] <= 0)
        return -EINVAL;
    if (open->flags != VK_NONE && (open->flags & O_ACCMODE) == O_RDONLY)
        return -EBADF;
    if (open->kind != VK_OPEN_FILE || run->a[1] & ~(uint64_t)FALLOC_FL_KEEP_SIZE)
        return vk_unknown(run, "mode %#llx is not modelled", (unsigned long long)run->a[1]);
    int64_t err = vk_file_size(run, open->inode, &size);
    if (err || end <= size || run->a[1] & FALLOC_FL_KEEP_SIZE)
        return err;
    return vk_file_resize(run, open->inode, end);
}

/* fsync and kin: nothing to do for memory. */
int64_t vk_call_fsync(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE)
        return vk_unknown(run, "of what is outside");
    return open->kind == VK_OPEN_FILE ? 0 : -EINVAL;
}

int64_t vk_call_fadvise64(struct vk_run *run)
{
    uint32_t index;
    const struct vk_open *open = vk_open_of(run->k, (uint32_t)run->a[0], &index);
    if (!open)
        return -EBADF;
    if (open->kind == VK_OPEN_OUTSIDE)
        return vk_next_recorded(run);
    if (open->kind == VK_OPEN_PIPE || open->kind == VK_OPEN_PAIR)
        return open->kind == VK_OPEN_PIPE ? -ESPIPE : -EINVAL;
    return run->a[3] <= POSIX_FADV_NOREUSE ? 0 : -EINVAL;
}

/* ---- from one description to another ---- */

static int64_t pass_on(struct vk_run *run, uint64_t to, uint64_t from, uint64_t *from_at,
                       uint64_t *to_at, uint64_t size)
{
    uint32_t in_index, out_index;
    const struct vk_open *in = vk_open_of(run->k, from, &in_index);
    const struct vk_open *out = vk_open_of(run->k, to, &out_index);
    if (!in || !out)
        return -EBADF;
    if (in->kind != VK_OPEN_FILE || vk_inode(run->k, in->inode)->is_live)
        return vk_unknown(run, "what is read is no plain file");
    struct transfer t = {.run = run, .size = size < TRANSFER_MAX ? size : TRANSFER_MAX};
    if (to_at) {
        t.has_at = true;
        t.at = *to_at;
    }
    int64_t result = transfer_room(&t);
    if (!result)
        result = vk_file_read(run, in->inode, from_at ? *from_at : in->offset, t.bytes, t.size);
    if (result > 0) {
        t.size = (uint64_t)result;
        result = write_open(run, out_index, &t);
    }
    if (result > 0) {
        moved(run, out_index, &t, result);
        if (from_at)
            *from_at += (uint64_t)result;
        else
            vk_open_edit(run->k, in_index)->offset += (uint64_t)result;
        if (to_at)
            *to_at += (uint64_t)result;
    }
    free(t.bytes);
    return result;
}

int64_t vk_call_sendfile(struct vk_run *run)
{
    uint64_t at;
    if (run->a[2] && vk_get(run, run->a[2], &at, sizeof(at)))
        return -EFAULT;
    int64_t result = pass_on(run, (uint32_t)run->a[0], (uint32_t)run->a[1], run->a[2] ? &at : NULL,
                             NULL, run->a[3]);
    if (result >= 0 && run->a[2] && vk_put(run, run->a[2], &at, sizeof(at)))
        return -EFAULT;
    return result;
}

int64_t vk_call_copy_file_range(struct vk_run *run)
{
    uint64_t in = 0, out = 0;
    if ((run->a[1] && vk_get(run, run->a[1], &in, sizeof(in))) ||
        (run->a[3] && vk_get(run, run->a[3], &out, sizeof(out))))
        return -EFAULT;
    int64_t result = pass_on(run, (uint32_t)run->a[2], (uint32_t)run->a[0], run->a[1] ? &in : NULL,
                             run->a[3] ? &out : NULL, run->a[4]);
    if (result >= 0 && ((run->a[1] && vk_put(run, run->a[1], &in, sizeof(in))) ||
                        (run->a[3] && vk_put(run, run->a[3], &out, sizeof(out)))))
        return -EFAULT;
    return result;
}
