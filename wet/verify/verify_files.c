/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mapped files: their table, and what is kept of each. */
#include <errno.h>

#include "common/array.h"
#include "wet/verify/verify_priv.h"
#include <wetdbg/errors.h>

static bool say(struct wet_verifier *verifier, uint32_t kind, uint64_t key, uint64_t off,
                const char *what)
{
    return wet_verifier_say(verifier, kind, key, off, "%s", what);
}

static bool is_padded(struct wd_view *view)
{
    bool is_zero = true;
    while (view->at % 8 && !view->failed) {
        const uint8_t *byte = wd_view_bytes(view, 1);
        is_zero &= byte && !*byte;
    }
    return is_zero && !view->failed;
}

static bool file_keep(struct wet_verifier *verifier, const struct wet_file_record *file)
{
    verifier->err = wd_grow_one(verifier->files, verifier->file_count);
    if (verifier->err)
        return false;
    verifier->files[verifier->file_count++] =
        (struct wet_verified_file){.size_bytes = file->size_bytes, .is_module = file->is_module};
    return true;
}

bool wet_verify_file_table(struct wet_verifier *verifier)
{
    struct wd_buf bytes = {0};
    bool is_sound = wet_verifier_read(verifier, WET_SEC_FILES, 0, &bytes);
    struct wd_view view = wd_view_of(bytes.data, is_sound ? bytes.size_bytes : 0);
    while (is_sound && view.at < view.size_bytes) {
        uint64_t at = view.at;
        const struct wet_file_record *file = (const void *)wd_view_bytes(&view, sizeof(*file));
        if (!file || !wd_view_bytes(&view, file->path_bytes) || !is_padded(&view))
            is_sound = say(verifier, WET_SEC_FILES, 0, at, "a record is cut off or badly padded");
        else if (file->is_module > 1 || file->size_bytes > INT64_MAX)
            is_sound = say(verifier, WET_SEC_FILES, 0, at, "a size or is_module is out of bounds");
        else
            is_sound = file_keep(verifier, file);
    }
    wd_buf_fini(&bytes);
    return is_sound;
}

static bool pieces_check(struct wet_verifier *verifier, uint64_t n, const struct wd_buf *bytes)
{
    struct wd_view view = wd_view_of(bytes->data, bytes->size_bytes);
    uint64_t size = verifier->files[n].size_bytes;
    while (view.at < view.size_bytes) {
        uint64_t at = view.at, off = wd_view_u64(&view), count = wd_view_u64(&view);
        if (view.failed || !wd_view_bytes(&view, count) || !is_padded(&view))
            return say(verifier, WET_SEC_FILE_DATA, n, at, "a piece is cut off or badly padded");
        if (off > size || count > size - off)
            return say(verifier, WET_SEC_FILE_DATA, n, at, "a piece lies beyond the file's end");
    }
    return true;
}

static bool contents_check(struct wet_verifier *verifier, uint64_t n, struct wd_buf *bytes)
{
    const struct wet_verified_file *file = &verifier->files[n];
    if (!wet_verifier_read(verifier, WET_SEC_FILE_DATA, n, bytes))
        return false;
    if (!file->is_module)
        return pieces_check(verifier, n, bytes);
    if (bytes->size_bytes != file->size_bytes)
        return say(verifier, WET_SEC_FILE_DATA, n, 0, "a module is not as long as FILES has it");
    return true;
}

void wet_verify_files(struct wet_verifier *verifier)
{
    static const uint32_t debug[] = {WET_SEC_DEBUG, WET_SEC_ALT};
    struct wd_buf bytes = {0};
    for (uint64_t n = 0; n < verifier->file_count && !wet_verifier_stops(verifier); n++) {
        if (!wet_verifier_trusts(verifier, WET_SEC_FILES))
            break;
        contents_check(verifier, n, &bytes);
        for (unsigned i = 0; i < 2; i++) {
            if (!wet_store_has(verifier->store, debug[i], n))
                continue;
            if (!verifier->files[n].is_module)
                say(verifier, debug[i], n, 0, "debug information of what is no module");
            wet_verifier_read(verifier, debug[i], n, &bytes);
        }
    }
    wd_buf_fini(&bytes);
}
