/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of a few KiB that wants GiBs: nothing of them is taken. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include "wet/query/wet_priv.h"
#include "wet/store/pack.h"
#include "wet/trace/records.h"
#include <wetdbg/errors.h>

#define BLOCK_BYTES (128u << 10)
#define HUGE_BYTES  (2ull << 30)
#define MEMORY_KIB  (600l << 10)

static struct good_wet here;

static int setup(void **state)
{
    (void)state;
    good_wet_make(&here, PROGRAM, 10000, "huge.wet");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    good_wet_fini(&here);
    return 0;
}

/* A zstd frame of one byte again and again, by hand: 4 bytes for each block of 128 KiB. */
static void frame_of_ones(uint64_t raw_bytes, struct wd_buf *out)
{
    assert_int_equal(wd_buf_append_u32(out, 0xfd2fb528), 0);
    assert_int_equal(wd_buf_append(out, "\xe0", 1), 0); /* one segment, its size in 8 bytes */
    assert_int_equal(wd_buf_append_u64(out, raw_bytes), 0);
    for (uint64_t left = raw_bytes; left; left -= BLOCK_BYTES) {
        uint32_t head = BLOCK_BYTES << 3 | 1u << 1 | (left == BLOCK_BYTES);
        assert_int_equal(wd_buf_append(out, &head, 3), 0);
        assert_int_equal(wd_buf_append(out, "\1", 1), 0);
    }
}

/* The good file, with so many ones for the contents of file 0. */
static void file_write(uint64_t raw_bytes)
{
    struct wet_store_writer *writer;
    struct unit_section *contents = unit_section_find(&here.sections, WET_SEC_FILE_DATA, 0);
    struct wet_packed packed = {.kind = WET_SEC_FILE_DATA, .raw_bytes = raw_bytes};
    assert_non_null(contents);
    frame_of_ones(raw_bytes, &packed.frame);
    packed.hash = XXH64(packed.frame.data, packed.frame.size_bytes, 0);
    assert_int_equal(wet_store_create(here.changed, &writer), 0);
    for (size_t i = 0; i < here.sections.count; i++) {
        const struct unit_section *section = &here.sections.list[i];
        int err = section == contents
                      ? wet_store_put(writer, &packed)
                      : wet_store_add(writer, section->kind, section->key, section->bytes.data,
                                      section->bytes.size_bytes, 1);
        assert_int_equal(err, 0);
    }
    assert_int_equal(wet_store_commit(writer), 0);
    wet_packed_fini(&packed);
}

static void mapped_files_that_fill_memory_are_not_taken(void **state)
{
    struct wetdbg *wet = NULL;
    struct rusage usage;
    const struct wet_interval *interval;
    (void)state;
    file_write(HUGE_BYTES);
    int err = wetdbg_open(here.changed, &wet);
    if (!err)
        err = wet_interval_get(wet, 0, &interval);
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    assert_non_null(strstr(wetdbg_error(err), "the files that the program mapped take more"));
    wetdbg_close(wet);
    getrusage(RUSAGE_SELF, &usage);
    assert_in_range(usage.ru_maxrss, 1, MEMORY_KIB);
}

/* What is asked of a file that is the user's own has no bound but the machine's. */
static void own_files_take_what_they_take(void **state)
{
    struct wetdbg *wet;
    (void)state;
    assert_int_equal(wetdbg_open(here.path, &wet), 0);
    assert_in_range(wet->space.most_bytes, 1, HUGE_BYTES);
    wetdbg_trust(wet);
    assert_true(wet->space.most_bytes == UINT64_MAX);
    wetdbg_close(wet);
}

/* As the sentence says that refuses more. */
static void what_is_granted_may_be_taken(void **state)
{
    struct wetdbg *wet;
    (void)state;
    assert_int_equal(wetdbg_open(here.path, &wet), 0);
    uint64_t most = wet->space.most_bytes;
    wetdbg_set_memory(wet, most - 1);
    assert_true(wet->space.most_bytes == most);
    wetdbg_set_memory(wet, most + 1);
    assert_true(wet->space.most_bytes == most + 1);
    wetdbg_close(wet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mapped_files_that_fill_memory_are_not_taken),
        cmocka_unit_test(own_files_take_what_they_take),
        cmocka_unit_test(what_is_granted_may_be_taken),
    };
    return cmocka_run_group_tests_name("wet_room", tests, setup, teardown);
}
