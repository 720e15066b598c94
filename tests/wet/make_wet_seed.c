/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * make_wet_seed FILE.wet WHOLE BARE: turns a .wet file into inputs of fuzz_wet.c, one with
 * everything in it and one without the files' contents, since a fuzzer wants small inputs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/event/queue.h"
#include "tests/wet/wet_unit.h"
#include "wet/trace/records.h"

#define HEAD_BYTES 5
#define ENTRY_MAX  2000

static void put(FILE *out, const struct unit_section *section, size_t size)
{
    const uint8_t head[HEAD_BYTES] = {(uint8_t)section->kind, (uint8_t)section->key, (uint8_t)size,
                                      (uint8_t)(size >> 8), (uint8_t)(size >> 16)};
    fwrite(head, 1, sizeof(head), out);
    fwrite(section->bytes.data, 1, size, out);
}

/* Makes no file a module: the seed has no contents of files. */
static void modules_forget(struct wd_buf *files)
{
    for (size_t at = 0; at + sizeof(struct wet_file_record) <= files->size_bytes;) {
        struct wet_file_record *record = (struct wet_file_record *)(files->data + at);
        record->is_module = 0;
        at += sizeof(*record) + ((record->path_bytes + 7) & ~7u);
    }
}

/* Large entries are pages that were written; a fuzzer finds nothing in them. */
static void large_entries_drop(struct wd_buf *entries)
{
    size_t to = 0;
    for (size_t at = 0; at < entries->size_bytes;) {
        struct evq_entry entry;
        memcpy(&entry, entries->data + at + sizeof(struct wet_entry_record), sizeof(entry));
        size_t bytes = sizeof(struct wet_entry_record) + entry.bytes;
        if (bytes <= ENTRY_MAX) {
            memmove(entries->data + to, entries->data + at, bytes);
            to += bytes;
        }
        at += bytes;
    }
    entries->size_bytes = to;
}

static int seed_write(const struct unit_sections *sections, const char *path, int bare)
{
    FILE *out = fopen(path, "wbe");
    if (!out)
        return EXIT_FAILURE;
    for (size_t i = 0; i < sections->count; i++) {
        const struct unit_section *section = &sections->list[i];
        int is_contents = section->kind == WET_SEC_FILE_DATA || section->kind == WET_SEC_CPU;
        /* nobody reads these without a replayee */
        int is_state = section->kind == WET_SEC_STATE || section->kind == WET_SEC_LINES;
        int is_left_out = is_state || (bare && is_contents);
        put(out, section, is_left_out ? 0 : section->bytes.size_bytes);
    }
    return fclose(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct unit_sections sections;
    if (argc != 4)
        return EXIT_FAILURE;
    unit_sections_load(&sections, argv[1]);
    large_entries_drop(&unit_section_find(&sections, WET_SEC_ENTRIES, 0)->bytes);
    int status = seed_write(&sections, argv[2], 0);
    modules_forget(&unit_section_find(&sections, WET_SEC_FILES, 0)->bytes);
    status |= seed_write(&sections, argv[3], 1);
    unit_sections_fini(&sections);
    return status;
}
