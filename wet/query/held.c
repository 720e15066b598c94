/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files of the machine that it was made on a .wet holds, and how it came to them. */
#include "wet/query/wet_priv.h"

size_t wetdbg_held_file_count(const struct wetdbg *wet)
{
    return wet->file_count;
}

static uint64_t section_bytes(const struct wetdbg *wet, uint32_t kind, uint64_t key)
{
    size_t count;
    const struct wet_section *sections = wet_store_sections(wet->store, &count);
    for (size_t i = 0; i < count; i++) {
        if (sections[i].kind == kind && sections[i].key == key)
            return sections[i].raw_bytes;
    }
    return 0;
}

void wetdbg_held_file_get(struct wetdbg *wet, size_t n, struct wetdbg_held_file *out)
{
    const struct wet_file *file = &wet->files[n];
    const json_t *origin = json_array_get(json_object_get(wet->meta, "files"), n);
    *out = (struct wetdbg_held_file){
        .path = file->path,
        .size_bytes = file->record->size_bytes,
        .is_whole = file->record->is_module,
        .backing = wet_meta_text(wet, json_object_get(origin, "backing")),
        .proof = json_string_value(json_object_get(origin, "proof")),
        .debug_path = wet_meta_text(wet, json_object_get(origin, "debug")),
        .alt_path = wet_meta_text(wet, json_object_get(origin, "alt")),
        .debug_bytes = section_bytes(wet, WET_SEC_DEBUG, n),
        .alt_bytes = section_bytes(wet, WET_SEC_ALT, n),
    };
}
