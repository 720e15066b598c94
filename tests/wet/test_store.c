/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The container: what is written comes back, what is damaged is noticed, writers replace a file
 * whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "dbgcli/exit_status.h"
#include "tests/record/spawn.h"
#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>

#define HEADER_BYTES 56

static const struct {
    uint32_t kind;
    uint64_t key;
    size_t size_bytes;
} shape[] = {{WET_SEC_META, 0, 120},  {WET_SEC_FILES, 0, 0}, {WET_SEC_FILE_DATA, 3, 5000},
             {WET_SEC_NODES, 0, 700}, {WET_SEC_STATE, 0, 1}, {WET_SEC_STATE, UINT64_MAX, 300000}};

#define SHAPES (sizeof(shape) / sizeof(shape[0]))

struct fixture {
    char *dir, *path, *other;
    uint8_t *whole; /* bytes of a good file */
    size_t whole_bytes;
};

/* Compressible up to a point, different for each section. */
static uint8_t *content(size_t n, size_t size_bytes)
{
    uint64_t seed = n * 77 + 1;
    uint8_t *bytes = malloc(size_bytes + 1);
    for (size_t i = 0; i < size_bytes; i++)
        bytes[i] = i % 3 ? (uint8_t)n : (uint8_t)unit_random(&seed);
    return bytes;
}

static void add_all(struct wet_store_writer *writer)
{
    for (size_t i = 0; i < SHAPES; i++) {
        uint8_t *bytes = content(i, shape[i].size_bytes);
        assert_int_equal(
            wet_store_add(writer, shape[i].kind, shape[i].key, bytes, shape[i].size_bytes, 3), 0);
        free(bytes);
    }
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct wet_store_writer *writer;
    fixture->dir = scratch_new();
    fixture->path = unit_path(fixture->dir, "good.wet");
    fixture->other = unit_path(fixture->dir, "other.wet");
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    add_all(writer);
    assert_int_equal(wet_store_commit(writer), 0);
    fixture->whole = (uint8_t *)slurp(fixture->path, &fixture->whole_bytes);
    assert_non_null(fixture->whole);
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    scratch_free(fixture->dir);
    free(fixture->path);
    free(fixture->other);
    free(fixture->whole);
    free(fixture);
    return 0;
}

/* Opens and reads every section: the first error. */
static int read_all(const char *path)
{
    struct wet_store *store = NULL;
    struct wd_buf bytes = {0};
    int err = wet_store_open(path, &store);
    for (size_t i = 0; !err && i < SHAPES; i++) {
        err = wet_store_read(store, shape[i].kind, shape[i].key, &bytes);
        uint8_t *wanted = content(i, shape[i].size_bytes);
        if (!err) {
            assert_int_equal(bytes.size_bytes, shape[i].size_bytes);
            assert_memory_equal(bytes.data, wanted, shape[i].size_bytes);
        }
        free(wanted);
    }
    wd_buf_fini(&bytes);
    wet_store_close(store);
    return err;
}

static void assert_refused(const char *path, int code)
{
    int err = read_all(path);
    assert_int_equal(err, -code);
    assert_non_null(strstr(wetdbg_error(err), path));
}

/* `other` becomes the good file with these bytes in place of its own. */
static void put(const struct fixture *fixture, size_t at, const void *bytes, size_t count)
{
    uint8_t *copy = malloc(fixture->whole_bytes);
    memcpy(copy, fixture->whole, fixture->whole_bytes);
    memcpy(copy + at, bytes, count);
    unit_write(fixture->other, copy, fixture->whole_bytes);
    free(copy);
}

static uint64_t table_off(const struct fixture *fixture)
{
    uint64_t off;
    memcpy(&off, fixture->whole + 16, 8);
    return off;
}

static void store_written_sections_come_back(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store *store;
    struct wd_buf bytes = {0};
    uint64_t static_bytes;
    assert_int_equal(read_all(fixture->path), 0);
    assert_int_equal(wet_store_open(fixture->path, &store), 0);
    assert_int_equal(wet_store_read(store, WET_SEC_STATE, 1, &bytes), -WETDBG_ERR_NOT_FOUND);
    assert_false(wet_store_has(store, WET_SEC_STATE, 1));
    assert_true(wet_store_has(store, WET_SEC_STATE, UINT64_MAX));
    assert_int_equal(wet_store_size(store, &static_bytes), fixture->whole_bytes);
    assert_in_range(static_bytes, 1, table_off(fixture));
    wet_store_close(store);
    wd_buf_fini(&bytes);
}

static void store_every_flipped_bit_of_header_and_table_is_noticed(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t table = table_off(fixture);
    for (size_t at = 0; at < fixture->whole_bytes; at = at == HEADER_BYTES - 1 ? table : at + 1) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t byte = fixture->whole[at] ^ (uint8_t)(1u << bit);
            put(fixture, at, &byte, 1);
            assert_refused(fixture->other,
                           at >= 8 && at < 12 ? WETDBG_ERR_VERSION : WETDBG_ERR_CORRUPT);
        }
    }
}

static void store_flipped_bits_of_sections_are_noticed(void **state)
{
    const struct fixture *fixture = *state;
    uint64_t seed = unit_seed("bits of sections");
    for (unsigned i = 0; i < 600; i++) {
        size_t at = HEADER_BYTES + unit_random(&seed) % (table_off(fixture) - HEADER_BYTES);
        uint8_t byte = fixture->whole[at] ^ (uint8_t)(1u << unit_random(&seed) % 8);
        put(fixture, at, &byte, 1);
        assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    }
}

static void store_cut_off_file_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    size_t table = table_off(fixture), whole = fixture->whole_bytes;
    const size_t lengths[] = {0,
                              1,
                              7,
                              8,
                              12,
                              55,
                              56,
                              57,
                              table / 2,
                              table - 1,
                              table,
                              table + 1,
                              table + sizeof(struct wet_section),
                              whole - 1};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        unit_write(fixture->other, fixture->whole, lengths[i]);
        assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    }
    uint8_t *longer = calloc(1, whole + 64);
    memcpy(longer, fixture->whole, whole);
    unit_write(fixture->other, longer, whole + 64);
    assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    free(longer);
}

/* ---- files that somebody changes while they are read ---- */

static void store_file_cut_off_after_opening_is_an_error(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store *store;
    struct wd_buf bytes = {0};
    unit_write(fixture->other, fixture->whole, fixture->whole_bytes);
    assert_int_equal(wet_store_open(fixture->other, &store), 0);
    assert_int_equal(truncate(fixture->other, HEADER_BYTES), 0);
    for (size_t i = 0; i < SHAPES; i++) {
        int err = wet_store_read(store, shape[i].kind, shape[i].key, &bytes);
        if (shape[i].size_bytes)
            assert_int_equal(err, -WETDBG_ERR_CORRUPT);
    }
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_CORRUPT), fixture->other));
    wet_store_close(store);
    wd_buf_fini(&bytes);
}

struct changer {
    const struct fixture *fixture;
    atomic_bool is_done;
};

/* By turns the good file, and one whose table is the whole of a larger file. */
static void *file_change(void *arg)
{
    struct changer *changer = arg;
    const struct fixture *fixture = changer->fixture;
    uint64_t table[2] = {0, 1 << 20}, good[2];
    int fd = open(fixture->other, O_WRONLY | O_CLOEXEC);
    memcpy(good, fixture->whole + 16, sizeof(good));
    while (fd >= 0 && !atomic_load(&changer->is_done)) {
        if (pwrite(fd, table, sizeof(table), 16) != sizeof(table) ||
            pwrite(fd, good, sizeof(good), 16) != sizeof(good))
            break;
    }
    close(fd);
    return NULL;
}

static void store_header_that_changes_is_read_once(void **state)
{
    struct changer changer = {.fixture = *state};
    const char *path = changer.fixture->other;
    struct wet_store *store;
    pthread_t thread;
    unsigned opened = 0, refused = 0;
    unit_write(path, changer.fixture->whole, changer.fixture->whole_bytes);
    assert_int_equal(pthread_create(&thread, NULL, file_change, &changer), 0);
    for (unsigned i = 0; i < 20000; i++) {
        int err = wet_store_open(path, &store);
        opened += !err;
        refused += err == -WETDBG_ERR_CORRUPT;
        if (!err)
            wet_store_close(store);
    }
    atomic_store(&changer.is_done, true);
    pthread_join(thread, NULL);
    assert_int_equal(opened + refused, 20000);
    assert_true(opened);
}

/* Header and table with correct checksums again. */
static void rehash(uint8_t *file)
{
    uint64_t off, bytes, hash;
    memcpy(&off, file + 16, 8);
    memcpy(&bytes, file + 24, 8);
    hash = XXH64(file + off, bytes, 0);
    memcpy(file + 32, &hash, 8);
    hash = XXH64(file, HEADER_BYTES - 8, 0);
    memcpy(file + 48, &hash, 8);
}

static void store_table_with_correct_checksums_but_wrong_numbers_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    const struct {
        size_t field, from; /* byte offsets in struct wet_section; value of `from`th section */
        uint64_t value;
    } rows[] = {
        {offsetof(struct wet_section, off), 2, 0},
        {offsetof(struct wet_section, off), 2, UINT64_MAX},
        {offsetof(struct wet_section, off), 2, fixture->whole_bytes},
        {offsetof(struct wet_section, stored_bytes), 2, UINT64_MAX},
        {offsetof(struct wet_section, stored_bytes), 2, 0},
        {offsetof(struct wet_section, raw_bytes), 2, 1ull << 35},
        {offsetof(struct wet_section, raw_bytes), 2, UINT64_MAX},
        {offsetof(struct wet_section, raw_bytes), 2, 4999},
        {offsetof(struct wet_section, raw_bytes), 2, 5001},
        {offsetof(struct wet_section, hash), 2, 1},
        {offsetof(struct wet_section, kind), 2, 1ull << 32 | WET_SEC_FILE_DATA}, /* form 1 */
        {offsetof(struct wet_section, kind), 2, 2ull << 32 | WET_SEC_FILE_DATA}, /* form 2 */
        {offsetof(struct wet_section, key), 4, UINT64_MAX}, /* now there twice */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t *copy = malloc(fixture->whole_bytes);
        memcpy(copy, fixture->whole, fixture->whole_bytes);
        memcpy(copy + table_off(fixture) + rows[i].from * sizeof(struct wet_section) +
                   rows[i].field,
               &rows[i].value, 8);
        rehash(copy);
        unit_write(fixture->other, copy, fixture->whole_bytes);
        free(copy);
        assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    }
}

/* Nothing else than what a program has in memory is one byte so many times. */
static void store_table_of_a_few_bytes_that_fills_memory_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    size_t size_bytes = WET_TABLE_BYTES + 1;
    uint8_t *zeros = calloc(1, size_bytes);
    static const uint32_t kinds[] = {WET_SEC_NODES, WET_SEC_STATE, WET_SEC_LINES,
                                     WET_SEC_FILE_DATA};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct wet_store_writer *writer;
        struct wet_store *store = NULL;
        assert_int_equal(wet_store_create(fixture->other, &writer), 0);
        assert_int_equal(wet_store_add(writer, kinds[i], 0, zeros, size_bytes, 1), 0);
        assert_int_equal(wet_store_commit(writer), 0);
        if (i < 2) {
            assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
        } else {
            assert_int_equal(wet_store_open(fixture->other, &store), 0);
            wet_store_close(store);
        }
    }
    free(zeros);
}

static void store_other_version_is_named(void **state)
{
    const struct fixture *fixture = *state;
    uint32_t version = WET_STORE_VERSION + 1;
    uint8_t *copy = malloc(fixture->whole_bytes);
    memcpy(copy, fixture->whole, fixture->whole_bytes);
    memcpy(copy + 8, &version, 4);
    rehash(copy);
    unit_write(fixture->other, copy, fixture->whole_bytes);
    free(copy);
    assert_refused(fixture->other, WETDBG_ERR_VERSION);
    char found[32];
    snprintf(found, sizeof(found), "version %u", version);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_VERSION), found));
    assert_int_equal(cli_exit_status(-WETDBG_ERR_VERSION), CLI_EXIT_TRACE);
}

static void store_what_is_no_wet_file_is_refused(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store *store;
    char text[200];
    memset(text, 'x', sizeof(text));
    unit_write(fixture->other, text, sizeof(text));
    assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    assert_refused(fixture->dir, WETDBG_ERR_CORRUPT);
    assert_refused("/dev/null", WETDBG_ERR_CORRUPT);
    unlink(fixture->other);
    assert_refused(fixture->other, ENOENT);
    assert_int_equal(mkfifo(fixture->other, 0600), 0);
    alarm(20); /* an open that waits for a writer would wait for ever */
    assert_refused(fixture->other, WETDBG_ERR_CORRUPT);
    alarm(0);
    unlink(fixture->other);
    assert_int_equal(symlink("other.wet", fixture->other), 0);
    assert_int_equal(wet_store_open(fixture->other, &store), -ELOOP);
}

static void store_abort_leaves_the_old_file(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    size_t bytes;
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    assert_int_equal(wet_store_add(writer, WET_SEC_META, 0, "x", 1, 3), 0);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 1);
    wet_store_abort(writer);
    wet_store_abort(NULL);
    char *now = slurp(fixture->path, &bytes);
    assert_int_equal(bytes, fixture->whole_bytes);
    assert_memory_equal(now, fixture->whole, bytes);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 0);
    free(now);
}

/* Whoever opens the name while a writer works sees the old file or the new one, whole. */
static void store_commit_replaces_the_file_at_once(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store *old, *new;
    struct wet_store_writer *writer;
    struct wd_buf bytes = {0};
    assert_int_equal(wet_store_open(fixture->path, &old), 0);
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    assert_int_equal(wet_store_add(writer, WET_SEC_META, 0, "new", 3, 3), 0);
    assert_int_equal(read_all(fixture->path), 0);
    assert_int_equal(wet_store_commit(writer), 0);
    assert_int_equal(wet_store_open(fixture->path, &new), 0);
    assert_int_equal(wet_store_read(new, WET_SEC_META, 0, &bytes), 0);
    assert_memory_equal(bytes.data, "new", 3);
    assert_int_equal(wet_store_read(old, WET_SEC_FILE_DATA, 3, &bytes), 0);
    assert_int_equal(bytes.size_bytes, 5000);
    wet_store_close(old);
    wet_store_close(new);
    wd_buf_fini(&bytes);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 0);
}

static void store_temporary_file_of_a_dead_writer_goes_with_the_next(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *alive, *next;
    pid_t child = fork();
    if (child == 0) {
        struct wet_store_writer *writer;
        wet_store_create(fixture->path, &writer);
        raise(SIGKILL);
    }
    waitpid(child, NULL, 0);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 1);
    char *lookalike = unit_path(fixture->dir, "good.wet.tmp-1");
    unit_write(lookalike, "mine", 4);
    assert_int_equal(wet_store_create(fixture->path, &alive), 0);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 2);
    /* a living writer's file stays */
    assert_int_equal(wet_store_create(fixture->path, &next), 0);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 3);
    assert_int_equal(wet_store_commit(alive), 0);
    assert_int_equal(wet_store_commit(next), 0);
    assert_int_equal(unit_count_names(fixture->dir, ".tmp-"), 1);
    assert_int_equal(unlink(lookalike), 0);
    free(lookalike);
}

static void store_where_nothing_can_be_written_the_path_is_named(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    char *nowhere = unit_path(fixture->dir, "none/a.wet"), *below = unit_path(fixture->path, "a");
    int err = wet_store_create(nowhere, &writer);
    assert_int_equal(err, -ENOENT);
    assert_non_null(strstr(wetdbg_error(err), nowhere));
    err = wet_store_create(below, &writer);
    assert_int_equal(err, -ENOTDIR);
    assert_non_null(strstr(wetdbg_error(err), below));
    free(nowhere);
    free(below);
}

static void store_file_size_limit_is_an_error_and_the_old_file_stays(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    struct rlimit before, small;
    size_t bytes;
    uint8_t *much = content(1, 400000);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 65536;
    setrlimit(RLIMIT_FSIZE, &small);
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    int err = wet_store_add(writer, WET_SEC_FILE_DATA, 0, much, 400000, 3);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(err, -EFBIG);
    assert_non_null(strstr(wetdbg_error(err), fixture->path));
    assert_int_equal(cli_exit_status(err), CLI_EXIT_MACHINE);
    wet_store_abort(writer);
    char *now = slurp(fixture->path, &bytes);
    assert_int_equal(bytes, fixture->whole_bytes);
    assert_memory_equal(now, fixture->whole, bytes);
    free(now);
    free(much);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(store_written_sections_come_back),
        CASE(store_every_flipped_bit_of_header_and_table_is_noticed),
        CASE(store_flipped_bits_of_sections_are_noticed),
        CASE(store_cut_off_file_is_refused),
        CASE(store_file_cut_off_after_opening_is_an_error),
        CASE(store_header_that_changes_is_read_once),
        CASE(store_table_with_correct_checksums_but_wrong_numbers_is_refused),
        CASE(store_table_of_a_few_bytes_that_fills_memory_is_refused),
        CASE(store_other_version_is_named),
        CASE(store_what_is_no_wet_file_is_refused),
        CASE(store_abort_leaves_the_old_file),
        CASE(store_commit_replaces_the_file_at_once),
        CASE(store_temporary_file_of_a_dead_writer_goes_with_the_next),
        CASE(store_where_nothing_can_be_written_the_path_is_named),
        CASE(store_file_size_limit_is_an_error_and_the_old_file_stays),
    };
    return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
