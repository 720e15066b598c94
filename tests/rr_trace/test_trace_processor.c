/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is believed of a file that says which processor a recording was made on. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "recorder/rr_trace/trace_processor.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"

#define NONE RRT_PROCESSOR_UNKNOWN

static struct rrt_processor read_of(const char *text, size_t bytes, int bound)
{
    struct rrt_processor found;
    char *dir = build_temp_dir();
    if (text)
        build_write_file(dir, RRT_PROCESSOR_NAME, text, bytes);
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    rrt_processor_read(fd, bound, &found);
    close(fd);
    build_remove_dir(dir);
    return found;
}

static void processor_is_read_as_it_was_put(void **state)
{
    static const struct rrt_processor rows[] = {{4099, 4099}, {0, 0},    {UINT32_MAX, 0},
                                                {NONE, 3},    {3, NONE}, {NONE, NONE}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wd_buf text = {0};
        assert_int_equal(rrt_processor_put(&text, 3, &rows[i]), 0);
        struct rrt_processor found = read_of((const char *)text.data, text.size_bytes, 3);
        assert_int_equal(found.rdpid, rows[i].rdpid);
        assert_int_equal(found.lsl, rows[i].lsl);
        found = read_of((const char *)text.data, text.size_bytes, 4);
        assert_true(found.rdpid == NONE && found.lsl == NONE);
        wd_buf_fini(&text);
    }
}

static void processor_of_another_form_is_unknown(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "wetdbg.processor 2\nbound 3\nrdpid 3\nlsl 3\n",
        "wetdbg.processor 1\nrdpid 3\nlsl 3\n",
        "wetdbg.processor 1\nbound 3\nlsl 3\nrdpid 3\n",
        "wetdbg.processor 1\nbound 3\nrdpid 3\nlsl 3",
        "wetdbg.processor 1\nbound 3\nrdpid 3\nlsl 4294967296\n",
        "wetdbg.processor 1\nbound 3\nrdpid -3\nlsl 3\n",
        "wetdbg.processor 1\nbound 3\nrdpid  3\nlsl 3\n",
        "wetdbg.processor 1\nbound 3\nrdpid 3x\nlsl 3\n",
        "wetdbg.processor 1\nbound 3\nrdpid 3\nlsl 3\nmore\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct rrt_processor found = read_of(texts[i], texts[i] ? strlen(texts[i]) : 0, 3);
        if (found.rdpid != NONE || found.lsl != NONE)
            fail_msg("row %zu is believed", i);
    }
    static const char with_zero[] = "wetdbg.processor 1\nbound 3\nrdpid 3\nlsl 3\n\0";
    struct rrt_processor found = read_of(with_zero, sizeof(with_zero), 3);
    assert_true(found.rdpid == NONE && found.lsl == NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processor_is_read_as_it_was_put),
        cmocka_unit_test(processor_of_another_form_is_unknown),
    };
    return cmocka_run_group_tests_name("rr_trace_processor", tests, NULL, NULL);
}
