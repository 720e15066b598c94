/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The space against a model that knows every page by itself, under random mappings; and lists of
 * changes, there and back. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/event/ops.h"
#include "tests/wet/wet_unit.h"
#include "wet/trace/space.h"
#include <wetdbg/errors.h>

#define PAGE  4096ull
#define BASE  0x10000000ull
#define PAGES 96u
#define NONE  UINT64_MAX

/* What a page holds: its first word, which nobody else's page has. */
struct model {
    struct {
        uint64_t token; /* NONE: not mapped */
        uint32_t prot;
    } pages[PAGES];
    uint64_t last_token;
};

struct fixture {
    struct wet_space space;
    struct model model;
};

/* File n's bytes: each word is its offset and n. */
static int file_read(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes)
{
    (void)arg;
    for (uint64_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t word = (file << 48) + off + at;
        memcpy(to + at, &word, 8);
    }
    return 0;
}

static int setup_with(void **state, int (*init)(struct wet_space *space))
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_int_equal(init(&fixture->space), 0);
    fixture->space.file_read = file_read;
    for (unsigned i = 0; i < PAGES; i++)
        fixture->model.pages[i].token = NONE;
    *state = fixture;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, wet_space_init);
}

static int setup_private(void **state)
{
    return setup_with(state, wet_space_init_private);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    wet_space_fini(&fixture->space);
    free(fixture);
    return 0;
}

static uint64_t *word_at(struct fixture *fixture, unsigned page)
{
    uint64_t left;
    uint8_t *at = wet_space_at(&fixture->space, BASE + page * PAGE, &left);
    if (at)
        assert_true(left >= PAGE && left % PAGE == 0);
    return (uint64_t *)at;
}

/* Pages without a token get one: they are new, and zero. */
static void claim(struct fixture *fixture, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        uint64_t *word = word_at(fixture, i);
        assert_non_null(word);
        assert_int_equal(*word, 0);
        *word = fixture->model.pages[i].token = ++fixture->model.last_token;
    }
}

static void assert_as_model(struct fixture *fixture)
{
    const struct agt_views *views = &fixture->space.views;
    for (unsigned i = 0; i < PAGES; i++) {
        const uint64_t *word = word_at(fixture, i);
        if (fixture->model.pages[i].token == NONE) {
            assert_null(word);
            continue;
        }
        assert_non_null(word);
        assert_int_equal(*word, fixture->model.pages[i].token);
        assert_int_equal(agt_views_at(views, BASE + i * PAGE)->prot, fixture->model.pages[i].prot);
    }
    assert_int_equal(wet_space_validate(&fixture->space), 0);
}

/* ---- random mappings ---- */

static void op_map(struct fixture *fixture, unsigned at, unsigned count, uint32_t prot)
{
    struct evq_op op = {.op = EVQ_OP_MAP,
                        .map = {.start = BASE + at * PAGE,
                                .size = count * PAGE,
                                .prot = prot,
                                .file = EVQ_FILE_NONE,
                                .name = EVQ_NAME_NONE}};
    assert_int_equal(wet_space_op(&fixture->space, &op), 0);
    for (unsigned i = at; i < at + count; i++)
        fixture->model.pages[i].prot = prot;
    claim(fixture, at, at + count);
}

static void op_unmap(struct fixture *fixture, unsigned at, unsigned count)
{
    struct evq_op op = evq_op_range(EVQ_OP_UNMAP, BASE + at * PAGE, count * PAGE);
    assert_int_equal(wet_space_op(&fixture->space, &op), 0);
    for (unsigned i = at; i < at + count; i++)
        fixture->model.pages[i].token = NONE;
}

static void op_protect(struct fixture *fixture, unsigned at, unsigned count, uint32_t prot)
{
    struct evq_op op = {.op = EVQ_OP_PROTECT, .protect = {BASE + at * PAGE, count * PAGE, prot}};
    assert_int_equal(wet_space_op(&fixture->space, &op), 0);
    for (unsigned i = at; i < at + count; i++)
        fixture->model.pages[i].prot = prot;
}

static bool all_mapped(const struct model *model, unsigned at, unsigned count)
{
    for (unsigned i = at; i < at + count; i++) {
        if (model->pages[i].token == NONE)
            return false;
    }
    return true;
}

/* Does what mremap does: in place, or to a range that does not overlap; `keep` leaves zeros
 * behind. */
static void op_remap(struct fixture *fixture, unsigned from, unsigned count, unsigned to,
                     unsigned to_count, bool keep)
{
    struct model *model = &fixture->model;
    bool apart = from + count <= to || to + to_count <= from;
    if ((from != to && !apart) || (keep && from == to) || !all_mapped(model, from, count))
        return;
    struct evq_op op = {.op = EVQ_OP_REMAP,
                        .remap = {.start = BASE + from * PAGE,
                                  .size = count * PAGE,
                                  .to = BASE + to * PAGE,
                                  .to_size = to_count * PAGE,
                                  .stays = keep}};
    unsigned kept = count < to_count ? count : to_count;
    uint32_t prot = model->pages[from + count - 1].prot;
    struct model before = *model;
    assert_int_equal(wet_space_op(&fixture->space, &op), 0);
    for (unsigned i = from; i < from + count; i++)
        model->pages[i].token = NONE;
    for (unsigned i = 0; i < to_count; i++)
        model->pages[to + i].prot = i < kept ? before.pages[from + i].prot : prot;
    for (unsigned i = 0; i < kept; i++)
        model->pages[to + i].token = before.pages[from + i].token;
    claim(fixture, to + kept, to + to_count);
    if (keep) {
        for (unsigned i = from; i < from + count; i++)
            model->pages[i].prot = prot;
        claim(fixture, from, from + count);
    }
}

static void random_op(struct fixture *fixture, uint64_t *seed)
{
    unsigned at = (unsigned)(unit_random(seed) % PAGES);
    unsigned count = 1 + (unsigned)(unit_random(seed) % (PAGES - at < 12 ? PAGES - at : 12));
    unsigned to = (unsigned)(unit_random(seed) % PAGES);
    unsigned to_count = 1 + (unsigned)(unit_random(seed) % (PAGES - to < 12 ? PAGES - to : 12));
    uint32_t prot = (uint32_t)(unit_random(seed) % 8);
    switch (unit_random(seed) % 8) {
    case 0:
    case 1:
    case 2:
        op_map(fixture, at, count, prot);
        break;
    case 3:
        op_unmap(fixture, at, count);
        break;
    case 4:
        op_protect(fixture, at, count, prot);
        break;
    case 5:
        if (at + to_count <= PAGES)
            op_remap(fixture, at, count, at, to_count, false);
        break;
    default:
        op_remap(fixture, at, count, to, to_count, prot & 1);
    }
}

static void space_random_mappings_are_as_in_the_model(void **state)
{
    struct fixture *fixture = *state;
    uint64_t seed = unit_seed("mappings");
    for (unsigned i = 0; i < 4000; i++) {
        random_op(fixture, &seed);
        assert_as_model(fixture);
    }
    struct evq_op clear = evq_op_new(EVQ_OP_CLEAR_SPACE);
    assert_int_equal(wet_space_op(&fixture->space, &clear), 0);
    assert_int_equal(fixture->space.views.count, 0);
}

static void space_forgetful_one_shows_the_same(void **state)
{
    struct fixture *fixture = *state;
    fixture->space.forgetful = true;
    space_random_mappings_are_as_in_the_model(state);
}

static void space_unmapped_object_keeps_its_bytes(void **state)
{
    struct fixture *fixture = *state;
    op_map(fixture, 4, 2, 3);
    uint64_t off = fixture->space.objects[0].mirror_off;
    op_unmap(fixture, 4, 2);
    op_map(fixture, 4, 2, 3);
    assert_int_equal(*(uint64_t *)(fixture->space.bytes + off), 1);
    assert_int_equal(fixture->space.object_count, 2);
}

static void space_file_mapping_has_the_files_bytes_then_zeros(void **state)
{
    struct fixture *fixture = *state;
    uint64_t left;
    struct evq_op op = {.op = EVQ_OP_MAP,
                        .map = {.start = BASE,
                                .size = 3 * PAGE,
                                .prot = 1,
                                .file = 7,
                                .file_off = 2 * PAGE,
                                .file_bytes = PAGE + 16,
                                .name = EVQ_NAME_NONE}};
    assert_int_equal(wet_space_op(&fixture->space, &op), 0);
    const uint64_t *words = (uint64_t *)wet_space_at(&fixture->space, BASE, &left);
    assert_int_equal(left, 3 * PAGE);
    assert_int_equal(words[0], (7ull << 48) + 2 * PAGE);
    assert_int_equal(words[PAGE / 8 + 1], (7ull << 48) + 3 * PAGE + 8);
    assert_int_equal(words[PAGE / 8 + 2], 0);
    assert_null(wet_space_at(&fixture->space, BASE - 1, &left));
    assert_null(wet_space_at(&fixture->space, BASE + 3 * PAGE, &left));
}

static void space_discarded_pages_have_their_first_contents(void **state)
{
    struct fixture *fixture = *state;
    const struct evq_op file = {.op = EVQ_OP_MAP,
                                .map = {.start = BASE,
                                        .size = 4 * PAGE,
                                        .file = 7,
                                        .file_off = 3 * PAGE,
                                        .file_bytes = 2 * PAGE + 8}};
    const struct evq_op none = {
        .op = EVQ_OP_MAP,
        .map = {.start = BASE + 4 * PAGE, .size = 2 * PAGE, .file = EVQ_FILE_NONE}};
    assert_int_equal(wet_space_op(&fixture->space, &file), 0);
    assert_int_equal(wet_space_op(&fixture->space, &none), 0);
    for (unsigned i = 0; i < 6; i++)
        *word_at(fixture, i) = 99;
    assert_int_equal(wet_space_discard(&fixture->space, BASE + PAGE, BASE + 5 * PAGE), 0);
    const uint64_t words[] = {
        99, (7ull << 48) + 4 * PAGE, (7ull << 48) + 5 * PAGE, 0, 0, 99,
    };
    for (unsigned i = 0; i < 6; i++)
        assert_int_equal(*word_at(fixture, i), words[i]);
    assert_int_equal(word_at(fixture, 2)[1], 0);
}

/* Windows that are built at once rest on this. */
static void space_in_private_memory_is_each_process_own(void **state)
{
    struct fixture *fixture = *state;
    int status;
    op_map(fixture, 0, 2, PROT_READ);
    *word_at(fixture, 0) = 1;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool is_as_left = *word_at(fixture, 0) == 1;
        *word_at(fixture, 0) = 2;
        wet_space_punch(&fixture->space, 0, PAGE);
        _exit(is_as_left && *word_at(fixture, 0) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(*word_at(fixture, 0), 1);
}

static void space_wrong_ops_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct evq_op nowhere = {
        .op = EVQ_OP_REMAP,
        .remap = {.start = BASE, .size = PAGE, .to = BASE + 8 * PAGE, .to_size = PAGE}};
    assert_int_equal(wet_space_op(&fixture->space, &nowhere), -WETDBG_ERR_CORRUPT);
    const uint64_t sizes[] = {0, 1, PAGE + 1, 1ull << 43 | 4096, ~0ull << 12};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct wet_object shape = {.start = BASE, .bytes = sizes[i], .file = EVQ_FILE_NONE};
        assert_int_equal(wet_space_add_object(&fixture->space, &shape), -WETDBG_ERR_UNSUPPORTED);
    }
    assert_int_equal(fixture->space.object_count, 0);
}

/* ---- changes ---- */

/* Changes random lines; `before` becomes the space's bytes as they were. */
static void random_changes(struct fixture *fixture, struct wet_changes *changes, uint64_t *seed,
                           uint8_t *before)
{
    struct wet_space *space = &fixture->space;
    memcpy(before, space->bytes, space->used_bytes);
    for (uint64_t line = 0; line < space->used_bytes / WET_LINE_BYTES; line++) {
        uint64_t now[WET_LINE_BYTES / 8];
        if (unit_random(seed) % 4)
            continue;
        memcpy(now, space->bytes + line * WET_LINE_BYTES, sizeof(now));
        for (unsigned word = 0; word < WET_LINE_BYTES / 8; word++) {
            if (unit_random(seed) % 5 == 0)
                now[word] ^= unit_random(seed);
        }
        assert_int_equal(
            wet_changes_add(changes, space, line * WET_LINE_BYTES, (const uint8_t *)now), 0);
        assert_memory_equal(space->bytes + line * WET_LINE_BYTES, now, sizeof(now));
    }
}

static void changes_applied_again_give_what_was_before(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    struct wet_changes changes = {0};
    struct wd_buf bytes = {0};
    uint64_t seed = unit_seed("changes");
    op_map(fixture, 0, PAGES, 3);
    uint8_t *before = malloc(space->used_bytes), *after = malloc(space->used_bytes);
    for (unsigned round = 0; round < 10; round++) {
        wet_changes_clear(&changes);
        bytes.size_bytes = 0;
        if (round) /* no change at all is a list, too */
            random_changes(fixture, &changes, &seed, before);
        else
            memcpy(before, space->bytes, space->used_bytes);
        memcpy(after, space->bytes, space->used_bytes);
        assert_int_equal(wet_changes_encode(&changes, &bytes), 0);
        assert_int_equal(wet_changes_apply(space, bytes.data, bytes.size_bytes), 0);
        assert_memory_equal(space->bytes, before, space->used_bytes);
        assert_int_equal(wet_changes_apply(space, bytes.data, bytes.size_bytes), 0);
        assert_memory_equal(space->bytes, after, space->used_bytes);
    }
    free(before);
    free(after);
    wet_changes_fini(&changes);
    wd_buf_fini(&bytes);
}

/* Damage that is noticed changes nothing; damage that is not stays within the space. */
static void changes_damaged_list_is_refused_whole(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    struct wet_changes changes = {0};
    struct wd_buf bytes = {0};
    uint64_t seed = unit_seed("damage");
    unsigned refused = 0;
    op_map(fixture, 0, PAGES, 3);
    uint8_t *before = malloc(space->used_bytes);
    random_changes(fixture, &changes, &seed, before);
    assert_int_equal(wet_changes_encode(&changes, &bytes), 0);
    for (unsigned i = 0; i < 3000; i++) {
        /* a copy of its own, so that a sanitizer sees its end */
        size_t size = i % 2 ? unit_random(&seed) % bytes.size_bytes : bytes.size_bytes;
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, bytes.data, size);
        if (!(i % 2))
            copy[unit_random(&seed) % (i % 4 ? size : 64)] ^=
                (uint8_t)(1 + unit_random(&seed) % 255);
        memcpy(before, space->bytes, space->used_bytes);
        int err = wet_changes_apply(space, copy, size);
        if (err) {
            assert_int_equal(err, -WETDBG_ERR_CORRUPT);
            assert_memory_equal(space->bytes, before, space->used_bytes);
            refused++;
        } else {
            assert_int_equal(i % 2, 0); /* what is cut off is always noticed */
        }
        free(copy);
    }
    assert_true(refused > 1500);
    free(before);
    wet_changes_fini(&changes);
    wd_buf_fini(&bytes);
}

/* One word is to change on each of more pages than there is room for: none of them is changed. */
static void changes_that_take_too_much_memory_are_not_made(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    struct wet_changes changes = {0};
    struct wd_buf bytes = {0};
    const uint64_t pages = (80ull << 20) / PAGE;
    const struct evq_op op = {.op = EVQ_OP_MAP,
                              .map = {.start = BASE,
                                      .size = pages * PAGE,
                                      .prot = 3,
                                      .file = EVQ_FILE_NONE,
                                      .name = EVQ_NAME_NONE}};
    assert_int_equal(wet_space_op(space, &op), 0);
    for (uint64_t i = 0; i < pages; i++) {
        uint8_t line[WET_LINE_BYTES] = {1};
        assert_int_equal(wet_changes_add(&changes, space, i * PAGE, line), 0);
    }
    assert_int_equal(wet_changes_encode(&changes, &bytes), 0);
    wet_space_punch(space, 0, space->used_bytes);
    space->most_bytes = 64ull << 20;
    int err = wet_changes_apply(space, bytes.data, bytes.size_bytes);
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    assert_non_null(strstr(wetdbg_error(err), "more than 64 MiB; --memory=SIZE allows more"));
    for (uint64_t i = 0; i < pages; i++)
        assert_int_equal(space->bytes[i * PAGE], 0);
    space->most_bytes = 128ull << 20;
    assert_int_equal(wet_changes_apply(space, bytes.data, bytes.size_bytes), 0);
    for (uint64_t i = 0; i < pages; i++)
        assert_int_equal(space->bytes[i * PAGE], 1);
    wet_changes_fini(&changes);
    wd_buf_fini(&bytes);
}

static int file_of_ones(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes)
{
    (void)arg;
    (void)file;
    (void)off;
    memset(to, 1, bytes);
    return 0;
}

static void space_files_that_take_too_much_memory_are_refused(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    struct wet_object object = {
        .start = BASE, .bytes = 1ull << 40, .file = 0, .file_bytes = 1ull << 40, .prot = 3};
    space->file_read = file_of_ones;
    space->most_bytes = 64ull << 20;
    assert_int_equal(wet_space_add_object(space, &object), 0);
    assert_int_equal(wet_space_fill_object(space, space->object_count - 1), -WETDBG_ERR_MACHINE);
}

static uint64_t file_of_a_page(void *arg, uint64_t file)
{
    (void)arg;
    (void)file;
    return PAGE;
}

static int count_reads(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes)
{
    (void)file;
    (void)off;
    (void)to;
    assert_int_equal(bytes, PAGE);
    ++*(unsigned *)arg;
    return 0;
}

/* The space does not go byte by byte through TiBs that only a damaged table speaks of. */
static void space_beyond_a_files_end_nothing_is_read(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    struct wet_object object = {
        .start = BASE, .bytes = 1ull << 42, .file = 0, .file_bytes = 1ull << 42, .prot = 3};
    unsigned reads = 0;
    space->file_read = count_reads;
    space->file_size = file_of_a_page;
    space->arg = &reads;
    assert_int_equal(wet_space_add_object(space, &object), 0);
    assert_int_equal(wet_space_fill_object(space, space->object_count - 1), 0);
    assert_int_equal(reads, 1);
}

/* ---- a space that is broken ---- */

static void assert_broken(struct fixture *fixture, const char *reason)
{
    int err = wet_space_validate(&fixture->space);
    assert_int_equal(err, -WETDBG_ERR_MACHINE);
    if (!strstr(wetdbg_error(err), reason))
        fail_msg("\"%s\" does not say \"%s\"", wetdbg_error(err), reason);
}

static void space_that_is_broken_is_told_why(void **state)
{
    struct fixture *fixture = *state;
    struct wet_space *space = &fixture->space;
    op_map(fixture, 0, 2, 3);
    op_map(fixture, 4, 2, 3);
    struct agt_view *views = space->views.list, views_before[2] = {views[0], views[1]};
    struct wet_object *objects = space->objects, objects_before[2] = {objects[0], objects[1]};
    assert_int_equal(space->views.count, 2);
    assert_int_equal(wet_space_validate(space), 0);
#define BREAK(change, reason)                                                                      \
    change;                                                                                        \
    assert_broken(fixture, reason);                                                                \
    memcpy(views, views_before, sizeof(views_before));                                             \
    memcpy(objects, objects_before, sizeof(objects_before))
    BREAK(views[0].end = views[0].start, "view 0 has a range");
    BREAK(views[0].start += 8, "view 0 has a range");
    BREAK(views[1].end = UINT64_MAX & ~(PAGE - 1), "view 1 has a range");
    BREAK(views[0].end = views[1].start + PAGE, "view 1 at 0x10004000 begins before");
    BREAK(views[0].prot = 8, "protection 0x8");
    BREAK(views[1].file = 2, "view 1 shows object 2 of 2");
    BREAK(views[1].file_off = PAGE, "view 1 shows more than object 1 has");
    BREAK(views[1].file_off = UINT64_MAX, "view 1 shows more than object 1 has");
    BREAK(objects[1].mirror_off -= PAGE, "object 1 has no place");
    BREAK(objects[1].bytes += PAGE, "objects have");
    assert_int_equal(wet_space_validate(space), 0);
}

int main(void)
{
#define CASE(name)    cmocka_unit_test_setup_teardown(name, setup, teardown)
#define PRIVATE(name) cmocka_unit_test_setup_teardown(name, setup_private, teardown)
    const struct CMUnitTest tests[] = {
        CASE(space_random_mappings_are_as_in_the_model),
        CASE(space_forgetful_one_shows_the_same),
        CASE(space_unmapped_object_keeps_its_bytes),
        CASE(space_file_mapping_has_the_files_bytes_then_zeros),
        CASE(space_discarded_pages_have_their_first_contents),
        PRIVATE(space_random_mappings_are_as_in_the_model),
        PRIVATE(space_forgetful_one_shows_the_same),
        PRIVATE(space_discarded_pages_have_their_first_contents),
        PRIVATE(space_in_private_memory_is_each_process_own),
        CASE(space_wrong_ops_are_refused),
        CASE(changes_applied_again_give_what_was_before),
        CASE(changes_damaged_list_is_refused_whole),
        CASE(changes_that_take_too_much_memory_are_not_made),
        CASE(space_files_that_take_too_much_memory_are_refused),
        CASE(space_beyond_a_files_end_nothing_is_read),
        CASE(space_that_is_broken_is_told_why),
    };
    return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
