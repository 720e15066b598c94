/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where paths lead, through directories and links, as path_resolution(7) has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "slicer/channels/channel_names.h"

/* cmocka.h needs the headers above. */
#include <cmocka.h>

static void paths_lead_where_the_kernel_goes(void **state)
{
    static const struct {
        const char *path, *text;
    } links[] = {{"/tmp", "/private/tmp"},
                 {"/home/u/here", "there/deep"},
                 {"/home/u/file", "../v/file"},
                 {"/a", "b"},
                 {"/b", "a"},
                 {"@0/known", "/etc"}};
    static const struct {
        const char *base, *path, *all, *but_last; /* NULL: the same */
    } rows[] = {
        {"/home/u", "x//y/./z", "/home/u/x/y/z", NULL},
        {"/home/u", "/x", "/x", NULL},
        {"/home/u", "..", "/home", NULL},
        {"/home/u", "../../../..//etc", "/etc", NULL},
        {"/home/u", "x/../y", "/home/u/y", NULL},
        {"/home/u", "/tmp/x", "/private/tmp/x", NULL},
        {"/home/u", "/tmp/../x", "/private/x", NULL},
        {"/home/u", "/tmp", "/private/tmp", "/tmp"},
        {"/home/u", "here/../x", "/home/u/there/x", NULL},
        {"/home/u", "file", "/home/v/file", "/home/u/file"},
        {"/tmp", "x", "/tmp/x", NULL}, /* a base has been resolved */
        {"@0", "x/../y", "@0/y", NULL},
        {"@0", "../x", "@0/../x", NULL},
        {"@0", "../../x/..", "@0/../..", NULL},
        {"@0", "known/x", "/etc/x", NULL},
    };
    struct slc_symlinks symlinks = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
        assert_int_equal(slc_symlinks_add(&symlinks, links[i].path, links[i].text), 0);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (unsigned follows = 0; follows < 2; follows++) {
            char *found = slc_path_resolve(&symlinks, rows[i].base, rows[i].path, follows);
            assert_non_null(found);
            assert_string_equal(found,
                                follows || !rows[i].but_last ? rows[i].all : rows[i].but_last);
            free(found);
        }
    char *circle = slc_path_resolve(&symlinks, "/", "/a", true); /* it ends */
    assert_non_null(circle);
    free(circle);
    slc_symlinks_fini(&symlinks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(paths_lead_where_the_kernel_goes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
