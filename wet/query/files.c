/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mapped files that a .wet holds: as descriptors to map again, and as modules of the model. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "wet/model/make_model.h"
#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

static int damaged(const struct wetdbg *wet, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged %s", wet_store_path(wet->store), what);
}

int wet_files_open(struct wetdbg *wet)
{
    int err = wet_store_read(wet->store, WET_SEC_FILES, 0, &wet->files_bytes);
    if (err)
        return err;
    struct wd_view view = wd_view_of(wet->files_bytes.data, wet->files_bytes.size_bytes);
    while (view.at < view.size_bytes) {
        const struct wet_file_record *record = (const void *)wd_view_bytes(&view, sizeof(*record));
        const uint8_t *path = record ? wd_view_bytes(&view, record->path_bytes) : NULL;
        wd_view_bytes(&view, -view.at & 7);
        if (wd_grow_one(wet->files, wet->file_count))
            return -ENOMEM;
        if (view.failed)
            return damaged(wet, "table of files");
        struct wet_file *file = &wet->files[wet->file_count];
        file->wet = wet;
        file->record = record;
        file->fd = -1;
        file->path = strndup((const char *)path, record->path_bytes);
        wet->file_count++;
        if (!file->path)
            return -ENOMEM;
    }
    return 0;
}

void wet_files_close(struct wetdbg *wet)
{
    for (size_t i = 0; i < wet->file_count; i++) {
        free(wet->files[i].path);
        if (wet->files[i].fd >= 0)
            close(wet->files[i].fd);
    }
    free(wet->files);
}

static int write_at(int fd, const uint8_t *bytes, uint64_t count, uint64_t off)
{
    while (count) {
        ssize_t done = pwrite(fd, bytes, count, (off_t)off);
        if (done <= 0)
            return wetdbg_fail_errno("memory for a mapped file");
        bytes += done;
        count -= (uint64_t)done;
        off += (uint64_t)done;
    }
    return 0;
}

static int pieces_write(struct wetdbg *wet, int fd, const struct wd_buf *pieces)
{
    struct wd_view view = wd_view_of(pieces->data, pieces->size_bytes);
    while (view.at < view.size_bytes) {
        uint64_t off = wd_view_u64(&view), count = wd_view_u64(&view);
        const uint8_t *bytes = wd_view_bytes(&view, count);
        wd_view_bytes(&view, -view.at & 7);
        if (view.failed || off > 1ull << 40)
            return damaged(wet, "file contents");
        int err = write_at(fd, bytes, count, off);
        if (err)
            return err;
    }
    return 0;
}

/* A file's contents, which stay in memory as long as the wet is open. */
static int contents_read(struct wetdbg *wet, uint32_t kind, uint64_t n, struct wd_buf *out)
{
    uint64_t bytes = wet_store_raw_bytes(wet->store, kind, n), most = wet->space.most_bytes;
    if (bytes > most || wet->files_taken > most - bytes)
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "the files that the program mapped take more than %llu MiB; --memory=SIZE allows more",
            (unsigned long long)most >> 20);
    int err = wet_store_read(wet->store, kind, n, out);
    wet->files_taken += err ? 0 : bytes;
    return err;
}

int wet_file_fd(struct wetdbg *wet, uint64_t n, int *fd)
{
    if (n >= wet->file_count)
        return damaged(wet, "file number");
    struct wet_file *file = &wet->files[n];
    if (file->fd < 0) {
        struct wd_buf bytes = {0};
        int err = contents_read(wet, WET_SEC_FILE_DATA, n, &bytes);
        int made = memfd_create("wetdbg-file", MFD_CLOEXEC);
        if (!err && made < 0)
            err = wetdbg_fail_errno("memory for a mapped file");
        /* the model maps that many bytes of it */
        if (!err && file->record->is_module && bytes.size_bytes != file->record->size_bytes)
            err = damaged(wet, "file contents");
        if (!err)
            err = file->record->is_module ? write_at(made, bytes.data, bytes.size_bytes, 0)
                                          : pieces_write(wet, made, &bytes);
        wd_buf_fini(&bytes);
        if (err) {
            if (made >= 0)
                close(made);
            return err == -WETDBG_ERR_NOT_FOUND ? damaged(wet, "file number") : err;
        }
        file->fd = made;
    }
    *fd = file->fd;
    return 0;
}

uint64_t wet_file_size(void *arg, uint64_t n)
{
    struct stat stat;
    int fd;
    /* what cannot be had is for wet_file_read() to name */
    return wet_file_fd(arg, n, &fd) || fstat(fd, &stat) ? UINT64_MAX : (uint64_t)stat.st_size;
}

int wet_file_read(void *arg, uint64_t n, uint64_t off, uint8_t *to, uint64_t bytes)
{
    int fd, err = wet_file_fd(arg, n, &fd);
    while (!err && bytes) {
        ssize_t done = pread(fd, to, bytes, (off_t)off);
        if (done < 0)
            return wetdbg_fail_errno("a mapped file's contents");
        if (done == 0)
            break;
        to += done;
        off += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return err;
}

/* ---- modules ---- */

/*
 * Loads a debug file for the model. Debug files are most of what large programs' files hold: they
 * are decompressed when the model first needs one. One that is damaged is as good as none then,
 * which wetdbg_check_model() tells.
 */
static void debug_load(void *arg, enum mdl_image_kind kind, struct mdl_image *image)
{
    struct wet_file *file = arg;
    struct wd_buf bytes = {0};
    uint32_t section = kind == MDL_IMAGE_DEBUG ? WET_SEC_DEBUG : WET_SEC_ALT;
    int err = contents_read(file->wet, section, (uint64_t)(file - file->wet->files), &bytes);
    if (err && err != -WETDBG_ERR_NOT_FOUND)
        snprintf(file->wet->damage, sizeof(file->wet->damage), "%s", wetdbg_error(err));
    int fd = err ? -1 : memfd_create("wetdbg-debug", MFD_CLOEXEC);
    if (fd >= 0 && write_at(fd, bytes.data, bytes.size_bytes, 0)) {
        close(fd);
        fd = -1;
    }
    if (fd >= 0)
        *image = (struct mdl_image){.fd = fd, .size_bytes = bytes.size_bytes};
    wd_buf_fini(&bytes);
}

int wetdbg_check_model(const struct wetdbg *wet)
{
    return wet->damage[0] ? wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s", wet->damage) : 0;
}

/* Finds the first mapping of each part of the file: later mappings at other places (dlopen again)
 * are not told apart yet. */
static size_t segments_find(const struct wetdbg *wet, uint64_t n, struct mdl_segment *list,
                            size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < wet->space.object_count && count < max; i++) {
        const struct wet_object *object = &wet->space.objects[i];
        if (object->file != n || !object->bytes)
            continue;
        bool overlaps = false;
        for (size_t j = 0; j < count; j++)
            overlaps |= object->start < list[j].start + list[j].size_bytes &&
                        list[j].start < object->start + object->bytes;
        if (overlaps && !(object->prot & PROT_EXEC))
            continue;
        for (size_t j = 0; overlaps && j < count;) {
            /* a library is first mapped whole, then its parts over that: the parts count */
            if (object->start < list[j].start + list[j].size_bytes &&
                list[j].start < object->start + object->bytes)
                list[j] = list[--count];
            else
                j++;
        }
        list[count++] = (struct mdl_segment){.start = object->start,
                                             .size_bytes = object->bytes,
                                             .file_off = object->file_off,
                                             .prot = (uint32_t)object->prot};
    }
    return count;
}

static int module_add(struct wetdbg *wet, uint64_t n)
{
    struct wet_file *file = &wet->files[n];
    struct mdl_segment segments[64];
    struct mdl_module_input input = {.path = file->path,
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .load = debug_load,
                                     .load_arg = file,
                                     .segments = segments,
                                     .mtime_s = file->record->mtime_s};
    input.segment_count = segments_find(wet, n, segments, 64);
    if (!input.segment_count)
        return 0;
    int fd, err = wet_file_fd(wet, n, &fd);
    if (err)
        return err;
    input.file = (struct mdl_image){.fd = fd, .size_bytes = file->record->size_bytes};
    err = mdl_add_module(wet->model, &input, NULL);
    if (err == -EINVAL) /* segments that no module has; the model has said which */
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s", wetdbg_error(err));
    return err == -EEXIST ? 0 : err;
}

/* Whether an object of the run, of which no file is known, holds all that a part of a module
 * would. */
static bool is_unnamed(void *arg, uint64_t start, uint64_t size_bytes)
{
    const struct wetdbg *wet = arg;

    for (size_t i = 0; i < wet->space.object_count; i++) {
        const struct wet_object *object = &wet->space.objects[i];
        if (object->file >= wet->file_count && object->start <= start &&
            object->start + object->bytes >= start + size_bytes)
            return true;
    }
    return false;
}

int wet_model_make(struct wetdbg *wet)
{
    wet->model = mdl_new();
    if (!wet->model)
        return -ENOMEM;
    mdl_set_interrupt(wet->model, &wet->interrupted);
    for (size_t i = 0; i < wet->file_count; i++) {
        int err = wet->files[i].record->is_module ? module_add(wet, i) : 0;
        if (err)
            return err;
    }
    return mdl_add_unnamed_parts(wet->model, is_unnamed, wet);
}
