/* SPDX-License-Identifier: GPL-3.0-or-later */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>
#include <sys/resource.h>

#include <wetdbg/errors.h>

static void a_sentence_is_its_codes_only(void **unused)
{
    (void)unused;
    assert_int_equal(wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function is called '%s'", "f"),
                     -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "no function is called 'f'");
    assert_string_equal(wetdbg_error(-ENOMEM), strerror(ENOMEM));
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "no function is called 'f'");
}

static void a_plain_failure_has_no_older_sentence(void **unused)
{
    (void)unused;
    wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function is called 'f'");
    assert_int_equal(wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND), -WETDBG_ERR_NOT_FOUND);
    assert_string_equal(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "not found");
}

static void errno_is_said_and_is_the_code(void **unused)
{
    (void)unused;
    errno = ENOENT;
    assert_int_equal(wetdbg_fail_errno("/a/%s", "b"), -ENOENT);
    assert_string_equal(wetdbg_error(-ENOENT), "/a/b: No such file or directory");
}

static void a_limit_of_the_shell_is_named(void **unused)
{
    struct rlimit before, small;
    (void)unused;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){.rlim_cur = 1 << 20, .rlim_max = before.rlim_max};
    errno = EFBIG;
    assert_int_equal(wetdbg_fail_errno("x"), -EFBIG);
    assert_string_equal(wetdbg_error(-EFBIG), before.rlim_cur == RLIM_INFINITY
                                                  ? "x: File too large"
                                                  : "x: larger than files may be here (ulimit -f)");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    errno = EFBIG;
    wetdbg_fail_errno("x");
    setrlimit(RLIMIT_FSIZE, &before);
    assert_string_equal(wetdbg_error(-EFBIG), "x: larger than files may be here (ulimit -f)");
}

static void a_sentence_can_go_on_with_the_kept_one(void **unused)
{
    (void)unused;
    int err = wetdbg_fail(-EINVAL, "segments overlap");
    err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "libc.so: %s", wetdbg_error(err));
    assert_string_equal(wetdbg_error(err), "libc.so: segments overlap");
    assert_string_equal(wetdbg_error(-EINVAL), strerror(EINVAL));
}

static void a_long_sentence_is_cut(void **unused)
{
    char name[4000];

    (void)unused;
    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = 0;
    errno = EIO;
    int err = wetdbg_fail_errno("%s", name);
    size_t length = strlen(wetdbg_error(err));
    assert_in_range(length, 1000, sizeof(name) - 2);
    assert_int_equal(wetdbg_error(err)[length - 1], 'x');
}

static void every_code_says_something(void **unused)
{
    static const int codes[] = {WETDBG_ERR_USAGE,    WETDBG_ERR_NOT_FOUND,   WETDBG_ERR_INTERRUPTED,
                                WETDBG_ERR_CORRUPT,  WETDBG_ERR_UNSUPPORTED, WETDBG_ERR_VERSION,
                                WETDBG_ERR_DIVERGED, WETDBG_ERR_MACHINE};

    (void)unused;
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        wetdbg_fail_plain(-codes[i]);
        assert_string_not_equal(wetdbg_error(-codes[i]), "unknown error");
    }
    assert_string_equal(wetdbg_error(-9999), "unknown error");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sentence_is_its_codes_only),
        cmocka_unit_test(a_plain_failure_has_no_older_sentence),
        cmocka_unit_test(errno_is_said_and_is_the_code),
        cmocka_unit_test(a_limit_of_the_shell_is_named),
        cmocka_unit_test(a_sentence_can_go_on_with_the_kept_one),
        cmocka_unit_test(a_long_sentence_is_cut),
        cmocka_unit_test(every_code_says_something),
    };
    return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
