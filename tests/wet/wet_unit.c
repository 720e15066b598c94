/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/wet/wet_unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HEADER_TABLE_OFF 16 /* store.h */

uint64_t unit_random(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

uint64_t unit_seed(const char *what)
{
    const char *given = getenv("WETDBG_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 2654435761u;
    seed |= 1;
    print_message("%s: WETDBG_SEED=%llu\n", what, (unsigned long long)seed);
    return seed;
}

void unit_write(const char *path, const void *bytes, size_t size_bytes)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

char *unit_path(const char *dir, const char *name)
{
    char *path;
    assert_true(asprintf(&path, "%s/%s", dir, name) > 0);
    return path;
}

unsigned unit_count_names(const char *dir, const char *part)
{
    DIR *list = opendir(dir);
    unsigned count = 0;
    assert_non_null(list);
    for (const struct dirent *entry; (entry = readdir(list));)
        count += strstr(entry->d_name, part) != NULL;
    closedir(list);
    return count;
}

/* ---- changes ---- */

static const uint64_t numbers[] = {0,          1,          7,
                                   0xff,       4095,       4096,
                                   0xffff,     1u << 31,   UINT32_MAX,
                                   1ull << 32, 1ull << 40, 1ull << 47,
                                   1ull << 63, UINT64_MAX, UINT64_MAX - 7,
                                   INT64_MAX,  1ull << 43, 0x7ffffffff000};

static void change_once(struct wd_buf *bytes, uint64_t *seed)
{
    uint64_t what = unit_random(seed) % 8, at = unit_random(seed) % (bytes->size_bytes + 1);
    uint64_t number = numbers[unit_random(seed) % (sizeof(numbers) / sizeof(numbers[0]))];
    if (!bytes->size_bytes || what == 7) {
        assert_int_equal(wd_buf_append(bytes, &number, 1 + unit_random(seed) % 8), 0);
    } else if (what == 0) {
        bytes->size_bytes = at;
    } else if (what < 3) {
        bytes->data[at % bytes->size_bytes] ^= (uint8_t)(1u << unit_random(seed) % 8);
    } else if (what < 5 && bytes->size_bytes >= 8) {
        memcpy(bytes->data + at % (bytes->size_bytes / 8) * 8, &number, 8);
    } else if (bytes->size_bytes >= 4) {
        memcpy(bytes->data + at % (bytes->size_bytes / 4) * 4, &number, 4);
    }
}

void unit_bytes_change(struct wd_buf *bytes, uint64_t *seed)
{
    unsigned count = 1 + (unsigned)(unit_random(seed) % 3);
    for (unsigned i = 0; i < count; i++) {
        struct wd_buf head = *bytes;
        if (head.size_bytes > 256 && unit_random(seed) % 2) {
            head.size_bytes = 256;
            uint64_t at = unit_random(seed) % 32 * 8;
            uint64_t number = numbers[unit_random(seed) % (sizeof(numbers) / sizeof(numbers[0]))];
            memcpy(head.data + at, &number, 8);
        } else {
            change_once(bytes, seed);
        }
    }
}

/* ---- store files ---- */

static void read_at(int fd, void *to, size_t bytes, uint64_t off)
{
    assert_int_equal(pread(fd, to, bytes, (off_t)off), bytes);
}

void unit_sections_load(struct unit_sections *sections, const char *path)
{
    struct wet_store *store = NULL;
    uint64_t table_off, table_bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    read_at(fd, &table_off, 8, HEADER_TABLE_OFF);
    read_at(fd, &table_bytes, 8, HEADER_TABLE_OFF + 8);
    sections->count = table_bytes / sizeof(struct wet_section);
    sections->list = calloc(sections->count + 1, sizeof(*sections->list));
    assert_int_equal(wet_store_open(path, &store), 0);
    for (size_t i = 0; i < sections->count; i++) {
        struct wet_section section;
        read_at(fd, &section, sizeof(section), table_off + i * sizeof(section));
        sections->list[i].kind = section.kind;
        sections->list[i].key = section.key;
        assert_int_equal(wet_store_read(store, section.kind, section.key, &sections->list[i].bytes),
                         0);
    }
    wet_store_close(store);
    close(fd);
}

void unit_sections_fini(struct unit_sections *sections)
{
    for (size_t i = 0; i < sections->count; i++)
        wd_buf_fini(&sections->list[i].bytes);
    free(sections->list);
    *sections = (struct unit_sections){0};
}

struct unit_section *unit_section_find(struct unit_sections *sections, uint32_t kind, uint64_t key)
{
    for (size_t i = 0; i < sections->count; i++) {
        if (sections->list[i].kind == kind && sections->list[i].key == key)
            return &sections->list[i];
    }
    return NULL;
}

void unit_sections_store(const struct unit_sections *sections, const char *path, size_t left_out)
{
    struct wet_store_writer *writer;
    assert_int_equal(wet_store_create(path, &writer), 0);
    for (size_t i = 0; i < sections->count; i++) {
        const struct unit_section *section = &sections->list[i];
        if (i != left_out)
            assert_int_equal(wet_store_add(writer, section->kind, section->key, section->bytes.data,
                                           section->bytes.size_bytes, 1),
                             0);
    }
    assert_int_equal(wet_store_commit(writer), 0);
}
