/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forged unfinished files: records of the journal and sections of the part file are changed and get
 * right checksums again, so that what is tested is the sense of the contents. Whatever they say,
 * the build that goes on with them comes to a file, or says what stands in the way: it does not end
 * in a signal, goes on for ever, or takes memory that nobody has.
 *
 * An argument multiplies the number of changes.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "recorder/agent/views.h"
#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include "wet/store/pack.h"
#include "wet/trace/records.h"
#include <wetdbg/errors.h>

#define INTERVALS    8 /* of the unfinished file */
#define SECTIONS     4 /* of an interval */
#define PATIENCE     60
#define SAID_BYTES   4096
#define MEMORY_KIB   (1l << 20)
#define CHANGE_COUNT 16

static struct rebuilt *here;
static struct wd_buf part;                   /* the unfinished file ... */
static struct wd_buf records[INTERVALS + 2]; /* ... and its journal, decompressed */
static size_t record_count;
static unsigned factor = 1;

/* ---- an unfinished file ---- */

static volatile sig_atomic_t interrupted;

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    unsigned *left = arg;
    (void)done;
    (void)total;
    (void)instructions;
    if (*left && --*left == 0)
        interrupted = 1;
}

static int build(unsigned intervals, bool is_private)
{
    interrupted = 0;
    struct wet_build_options options = {.fingerprint = "test",
                                        .interval_instructions = here->interval,
                                        .interrupted = &interrupted,
                                        .jobs = 1,
                                        .side_by_side =
                                            is_private ? WET_SIDE_ALWAYS : WET_SIDE_NEVER,
                                        .progress = on_progress,
                                        .progress_arg = &intervals};
    return run_build_with(&here->run, here->path, &options);
}

static char *beside(const char *suffix)
{
    char *name;
    assert_true(asprintf(&name, "%s%s", here->path, suffix) > 0);
    return name;
}

static void read_file(const char *suffix, struct wd_buf *out)
{
    char *name = beside(suffix);
    size_t size_bytes;
    char *bytes = slurp(name, &size_bytes);
    assert_non_null(bytes);
    assert_int_equal(wd_buf_append(out, bytes, size_bytes), 0);
    free(bytes);
    free(name);
}

static void records_read(void)
{
    struct wd_buf log = {0};
    read_file(".part-log", &log);
    struct wd_view view = wd_view_of(log.data, log.size_bytes);
    while (view.at < view.size_bytes && record_count < INTERVALS + 2) {
        uint64_t stored_bytes = wd_view_u64(&view);
        wd_view_u64(&view);
        const uint8_t *stored = wd_view_bytes(&view, stored_bytes);
        assert_non_null(stored);
        struct wd_buf *record = &records[record_count++];
        size_t raw = ZSTD_getFrameContentSize(stored, stored_bytes);
        assert_int_equal(wd_buf_append_zeros(record, raw), 0);
        assert_int_equal(ZSTD_decompress(record->data, raw, stored, stored_bytes), raw);
    }
    wd_buf_fini(&log);
}

static int setup(void **state)
{
    void *made;
    (void)state;
    rebuilt_make(&made, 3000, "journal", (const char *const[]){PROGRAMS "/prog_heap_O2_pie", NULL});
    here = made;
    assert_int_equal(build(INTERVALS, false), -WETDBG_ERR_INTERRUPTED);
    read_file(".part", &part);
    records_read();
    assert_true(record_count > INTERVALS / 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    void *made = here;
    for (size_t i = 0; i < record_count; i++)
        wd_buf_fini(&records[i]);
    wd_buf_fini(&part);
    return rebuilt_drop(&made);
}

/* ---- forging ---- */

static void record_append(struct wd_buf *log, size_t n, const struct wd_buf *record)
{
    size_t bound = ZSTD_compressBound(record->size_bytes);
    uint8_t *stored = malloc(bound);
    size_t stored_bytes = ZSTD_compress(stored, bound, record->data, record->size_bytes, 1);
    assert_false(ZSTD_isError(stored_bytes));
    assert_int_equal(wd_buf_append_u64(log, stored_bytes), 0);
    assert_int_equal(wd_buf_append_u64(log, XXH64(stored, stored_bytes, n)), 0);
    assert_int_equal(wd_buf_append(log, stored, stored_bytes), 0);
    free(stored);
}

/* The unfinished file again, with `forged` for record n and with `more` at the part file's end. */
static void files_write(size_t n, const struct wd_buf *forged, const struct wd_buf *more)
{
    struct wd_buf log = {0}, whole = {0};
    for (size_t i = 0; i < record_count; i++)
        record_append(&log, i, i == n ? forged : &records[i]);
    assert_int_equal(wd_buf_append(&whole, part.data, part.size_bytes), 0);
    assert_int_equal(wd_buf_append(&whole, more->data, more->size_bytes), 0);
    char *log_name = beside(".part-log"), *part_name = beside(".part");
    unit_write(log_name, log.data, log.size_bytes);
    unit_write(part_name, whole.data, whole.size_bytes);
    free(log_name);
    free(part_name);
    wd_buf_fini(&log);
    wd_buf_fini(&whole);
}

static void on_alarm(int number)
{
    (void)number;
    interrupted = 1;
    alarm(PATIENCE); /* and then without a word */
}

/* Forged registers and counts are followed like any: the program then does what it did not. */
static bool is_astray(int err)
{
    return err == -WETDBG_ERR_DIVERGED || err == -WETDBG_ERR_UNSUPPORTED ||
           err == -WETDBG_ERR_INTERRUPTED;
}

/* Goes on with the forged files in another process. Nothing is wrong with the recording, so a file
 * comes of it, built anew if need be; or, if the program `may_stray`, a sentence. */
static void go_on(const char *what, bool is_private, bool may_stray)
{
    char *said = mmap(NULL, SAID_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(said, MAP_FAILED);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        signal(SIGALRM, on_alarm);
        alarm(PATIENCE);
        int err = build(0, is_private);
        if (err)
            snprintf(said, SAID_BYTES, "%s", wetdbg_error(err));
        _exit(err && !(may_stray && is_astray(err)));
    }
    int status;
    struct rusage usage;
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    if (status)
        fail_msg("%s: wait status %#x %s", what, (unsigned)status, said);
    if (usage.ru_maxrss > MEMORY_KIB)
        fail_msg("%s: %ld KiB of memory", what, usage.ru_maxrss);
    munmap(said, SAID_BYTES);
}

static void try(const char *what, size_t n, const struct wd_buf *forged, const struct wd_buf *more,
                bool is_private, bool may_stray)
{
    files_write(n, forged, more);
    go_on(what, is_private, may_stray);
    char *part_name = beside(".part"), *log_name = beside(".part-log");
    unlink(part_name);
    unlink(log_name);
    free(part_name);
    free(log_name);
    unlink(here->path);
}

/* ---- any change ---- */

static void copy_of(const struct wd_buf *from, struct wd_buf *to)
{
    to->size_bytes = 0;
    assert_int_equal(wd_buf_append(to, from->data, from->size_bytes), 0);
}

/* The state of the random numbers of one change: seeds next to each other begin alike. */
static uint64_t seed_of(uint64_t number)
{
    unit_random(&number);
    unit_random(&number);
    return number;
}

static void changed_records_are_survived(void **state)
{
    uint64_t start = unit_seed("records");
    (void)state;
    for (unsigned i = 0; i < CHANGE_COUNT * factor; i++) {
        char what[80];
        uint64_t seed = seed_of(start + 2 * i);
        size_t n = unit_random(&seed) % record_count;
        struct wd_buf forged = {0}, none = {0};
        copy_of(&records[n], &forged);
        unit_bytes_change(&forged, &seed);
        snprintf(what, sizeof(what), "WETDBG_SEED=%llu, record %zu",
                 (unsigned long long)(start + 2 * i), n);
        try(what, n, &forged, &none, unit_random(&seed) % 2, true);
        wd_buf_fini(&forged);
    }
}

static void section_read(const struct wet_section *row, struct wd_buf *out)
{
    assert_int_equal(wd_buf_append_zeros(out, row->raw_bytes), 0);
    assert_int_equal(
        wet_decode(row->form, part.data + row->off, row->stored_bytes, out->data, row->raw_bytes),
        0);
}

/* Record n, which names a section of other contents at the part file's end. */
static void section_forge(size_t n, unsigned which, const struct wd_buf *bytes, struct wd_buf *more,
                          struct wd_buf *forged)
{
    struct wet_packer *packer = wet_packer_new();
    struct wet_packed packed = {0};
    copy_of(&records[n], forged);
    struct wet_section *row = (struct wet_section *)forged->data + which;
    assert_int_equal(
        wet_packer_pack(packer, row->kind, row->key, bytes->data, bytes->size_bytes, 1, &packed),
        0);
    copy_of(&packed.frame, more);
    row->off = part.size_bytes;
    row->stored_bytes = packed.frame.size_bytes;
    row->raw_bytes = packed.raw_bytes;
    row->hash = packed.hash;
    row->form = packed.form;
    wet_packed_fini(&packed);
    wet_packer_free(packer);
}

static void changed_sections_are_survived(void **state)
{
    uint64_t start = unit_seed("sections");
    (void)state;
    for (unsigned i = 0; i < CHANGE_COUNT * factor; i++) {
        char what[80];
        uint64_t seed = seed_of(start + 2 * i);
        size_t n = 1 + unit_random(&seed) % (record_count - 1);
        unsigned which = (unsigned)(unit_random(&seed) % SECTIONS);
        struct wd_buf bytes = {0}, more = {0}, forged = {0};
        section_read((const struct wet_section *)records[n].data + which, &bytes);
        unit_bytes_change(&bytes, &seed);
        section_forge(n, which, &bytes, &more, &forged);
        snprintf(what, sizeof(what), "WETDBG_SEED=%llu, section %u of record %zu",
                 (unsigned long long)(start + 2 * i), which, n);
        try(what, n, &forged, &more, unit_random(&seed) % 2, true);
        wd_buf_fini(&bytes);
        wd_buf_fini(&more);
        wd_buf_fini(&forged);
    }
}

/* ---- certain ones ---- */

/* Memory of the builder beside the program's image is not to be given back for it. */
static void views_that_show_more_than_there_is_are_not_followed(void **state)
{
    (void)state;
    size_t last = record_count - 1;
    for (unsigned i = 0; i < 4; i++) {
        struct wd_buf bytes = {0}, more = {0}, forged = {0};
        section_read((const struct wet_section *)records[last].data, &bytes);
        struct agt_view *views = (struct agt_view *)(bytes.data + sizeof(struct wet_state_record));
        if (i % 2)
            views[0].file_off = 1ull << 45;
        else
            views[0].end = views[0].start + (1ull << 46);
        section_forge(last, 0, &bytes, &more, &forged);
        try("a view", last, &forged, &more, i / 2, false);
        wd_buf_fini(&bytes);
        wd_buf_fini(&more);
        wd_buf_fini(&forged);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_that_show_more_than_there_is_are_not_followed),
        cmocka_unit_test(changed_records_are_survived),
        cmocka_unit_test(changed_sections_are_survived),
    };
    factor = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    return cmocka_run_group_tests_name("wet_journal", tests, setup, teardown);
}
