/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorted array against a table with one cell per page. */
#include <stdlib.h>
#include <string.h>

#include "recorder/feed/feed_space.h"
#include "tests/feed/feed_unit.h"

enum { PAGES = 64, BASE = 0x10000 };

struct cell {
    uint32_t prot; /* 0: not mapped */
    uint32_t flags;
    uint64_t inode, offset;
};

static uint64_t address(unsigned page)
{
    return BASE + (uint64_t)page * WD_PAGE;
}

static void check_equal(const struct feed_vmas *vmas, const struct cell *cells)
{
    size_t covered = 0;
    for (size_t i = 0; i < vmas->count; i++) {
        const struct feed_vma *vma = &vmas->list[i];
        assert_true(vma->start < vma->end);
        assert_true(i == 0 || vmas->list[i - 1].end <= vma->start);
        covered += (vma->end - vma->start) / WD_PAGE;
    }
    for (unsigned page = 0; page < PAGES; page++) {
        const struct feed_vma *vma = feed_vmas_above(vmas, address(page));
        if (!cells[page].prot) {
            assert_true(!vma || vma->start > address(page));
            continue;
        }
        covered--;
        assert_true(vma && vma->start <= address(page));
        assert_int_equal(vma->prot, cells[page].prot);
        assert_int_equal(vma->flags, cells[page].flags);
        assert_int_equal(vma->inode, cells[page].inode);
        assert_int_equal(vma->offset + (address(page) - vma->start), cells[page].offset);
    }
    assert_int_equal(covered, 0);
}

static unsigned below(unsigned limit)
{
    return (unsigned)random() % limit;
}

static void map_both(struct feed_vmas *vmas, struct cell *cells, unsigned from, unsigned to)
{
    struct feed_vma vma = {.start = address(from),
                           .end = address(to),
                           .prot = 1 + below(7),
                           .flags = below(64) & ~FEED_VMA_DONTFORK,
                           .inode = below(5),
                           .offset = below(9) * (uint64_t)WD_PAGE};
    assert_int_equal(feed_vmas_map(vmas, &vma), 0);
    for (unsigned page = from; page < to; page++)
        cells[page] = (struct cell){vma.prot, vma.flags, vma.inode,
                                    vma.offset + (uint64_t)(page - from) * WD_PAGE};
}

static void unmap_both(struct feed_vmas *vmas, struct cell *cells, unsigned from, unsigned to)
{
    assert_int_equal(feed_vmas_unmap(vmas, address(from), address(to)), 0);
    memset(&cells[from], 0, (to - from) * sizeof(*cells));
}

static void protect_both(struct feed_vmas *vmas, struct cell *cells, unsigned from, unsigned to)
{
    unsigned prot = 1 + below(7);
    assert_int_equal(feed_vmas_protect(vmas, address(from), address(to), prot), 0);
    for (unsigned page = from; page < to; page++)
        if (cells[page].prot)
            cells[page].prot = prot;
}

static void random_changes_match_page_table(void **state)
{
    (void)state;
    struct feed_vmas vmas = {0};
    struct cell cells[PAGES] = {0};
    srandom(1);
    for (int step = 0; step < 20000; step++) {
        unsigned from = below(PAGES), to = from + below(PAGES - from + 1);
        switch (below(4)) {
        case 0:
            map_both(&vmas, cells, from, to);
            break;
        case 1:
            unmap_both(&vmas, cells, from, to);
            break;
        default:
            protect_both(&vmas, cells, from, to);
            break;
        }
        check_equal(&vmas, cells);
    }
    feed_vmas_fini(&vmas);
}

static void mapped_until_stops_at_the_first_gap(void **state)
{
    (void)state;
    struct feed_vmas vmas = {0};
    struct cell cells[PAGES] = {0};
    map_both(&vmas, cells, 2, 4);
    map_both(&vmas, cells, 4, 6);
    map_both(&vmas, cells, 7, 8);
    assert_int_equal(feed_vmas_mapped_until(&vmas, address(2) + 5, address(8)), address(6));
    assert_int_equal(feed_vmas_mapped_until(&vmas, address(3), address(5)), address(5));
    assert_int_equal(feed_vmas_mapped_until(&vmas, address(1), address(5)), address(1));
    feed_vmas_fini(&vmas);
}

static void move_takes_the_parts_along_and_grows_the_last(void **state)
{
    (void)state;
    struct feed_vmas vmas = {0};
    struct cell cells[PAGES] = {0};
    map_both(&vmas, cells, 2, 4);
    map_both(&vmas, cells, 4, 6);
    map_both(&vmas, cells, 20, 30);
    assert_int_equal(
        feed_vmas_move(&vmas, address(2), 4 * WD_PAGE, address(18), 6 * WD_PAGE, false), 0);
    memcpy(&cells[18], &cells[2], 4 * sizeof(*cells));
    for (unsigned page = 22; page < 24; page++) {
        cells[page] = cells[page - 1];
        cells[page].offset += WD_PAGE;
    }
    memset(&cells[2], 0, 4 * sizeof(*cells));
    check_equal(&vmas, cells);
    feed_vmas_fini(&vmas);
}

static void move_to_less_frees_the_rest(void **state)
{
    (void)state;
    struct feed_vmas vmas = {0};
    struct cell cells[PAGES] = {0};
    map_both(&vmas, cells, 2, 8);
    assert_int_equal(feed_vmas_move(&vmas, address(2), 6 * WD_PAGE, address(2), WD_PAGE, false), 0);
    memset(&cells[3], 0, 5 * sizeof(*cells));
    check_equal(&vmas, cells);
    feed_vmas_fini(&vmas);
}

static void fork_leaves_out_what_was_excluded(void **state)
{
    (void)state;
    struct feed_vmas vmas = {0}, child = {0};
    struct cell cells[PAGES] = {0};
    map_both(&vmas, cells, 2, 8);
    assert_int_equal(feed_vmas_flag(&vmas, address(3), address(4), FEED_VMA_DONTFORK, 0), 0);
    assert_int_equal(feed_vmas_fork(&vmas, &child), 0);
    memset(&cells[3], 0, sizeof(*cells));
    for (unsigned page = 0; page < PAGES; page++)
        cells[page].flags |= FEED_VMA_INHERITED;
    check_equal(&child, cells);
    feed_vmas_fini(&vmas);
    feed_vmas_fini(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_changes_match_page_table),
        cmocka_unit_test(mapped_until_stops_at_the_first_gap),
        cmocka_unit_test(move_takes_the_parts_along_and_grows_the_last),
        cmocka_unit_test(move_to_less_frees_the_rest),
        cmocka_unit_test(fork_leaves_out_what_was_excluded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
