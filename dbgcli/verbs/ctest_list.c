/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/ctest_list.h"

#include <limits.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/suggest.h"
#include "dbgcli/verbs/child_run.h"
#include <wetdbg/errors.h>

#define NEAR_MAX 3 /* names that are told */

/* ---- the build directory ---- */

static bool has_tests(const char *directory)
{
    char *path = cli_asprintf("%s/CTestTestfile.cmake", directory);
    bool is_there = access(path, F_OK) == 0;

    free(path);
    return is_there;
}

static int find_build(const char *given, const char **build)
{
    struct stat status;

    if (!given && has_tests("."))
        *build = ".";
    else if (!given && has_tests("build"))
        *build = "build";
    else if (!given)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no build directory with tests here, nor in ./build: "
                                              "which is it (--build=DIR)?");
    else if (stat(given, &status) || !S_ISDIR(status.st_mode))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "there is no build directory %s", given);
    else if (!has_tests(given))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s has no CTestTestfile.cmake: it is no build directory of "
                           "CMake's, or its project has no enable_testing()",
                           given);
    else
        *build = given;
    return 0;
}

/* ---- one test ---- */

static const char *name_of(const json_t *test)
{
    const char *name = json_string_value(json_object_get(test, "name"));

    return name ? name : "";
}

static bool is_offered(const char *const *near, unsigned count, const char *name)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(near[i], name) == 0)
            return true;
    return false;
}

/* The nearest names that were not offered yet, else those that hold what was asked for. */
static const char *offer(const json_t *tests, const char *wanted, const char *const *near,
                         unsigned count)
{
    struct cli_suggestion suggestion = {.wanted = wanted};
    const json_t *test;
    const char *holds = NULL;
    size_t i;

    json_array_foreach(tests, i, test)
    {
        const char *name = name_of(test);
        if (is_offered(near, count, name))
            continue;
        cli_suggestion_offer(&suggestion, name);
        if (!holds && strcasestr(name, wanted))
            holds = name;
    }
    return suggestion.best ? suggestion.best : holds;
}

static int fail_unknown(const json_t *tests, const char *build, const char *name)
{
    const char *near[NEAR_MAX];
    unsigned count = 0;
    char *text = cli_strdup("");

    while (count < NEAR_MAX && (near[count] = offer(tests, name, near, count))) {
        char *longer =
            cli_asprintf("%s%s'%s'", text, count ? ", " : "; did you mean ", near[count]);
        free(text);
        text = longer;
        count++;
    }
    int err = wetdbg_fail(-WETDBG_ERR_USAGE, "none of the %zu tests of %s is called '%s'%s%s",
                          json_array_size(tests), build, name, text, count ? "?" : "");
    free(text);
    return err;
}

static int find_test(const json_t *root, const char *build, const char *name, const json_t **found)
{
    const json_t *tests = json_object_get(root, "tests"), *test;
    size_t i;

    json_array_foreach(tests, i, test) if (strcmp(name_of(test), name) == 0)
    {
        *found = test;
        return 0;
    }
    if (!json_array_size(tests))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s has no tests", build);
    return fail_unknown(tests, build, name);
}

/* The strings of an array, or of a single string; to be freed. NULL if there are none. */
static const char **strings_of(const json_t *value)
{
    size_t count = json_is_string(value) ? 1 : json_array_size(value), kept = 0;
    const char **list;

    if (!count)
        return NULL;
    list = cli_malloc((count + 1) * sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_is_string(value) ? value : json_array_get(value, i);
        if (json_is_string(item))
            list[kept++] = json_string_value(item);
    }
    list[kept] = NULL;
    return list;
}

/* ---- its environment ---- */

struct variables {
    char **list;
    size_t count;
};

static size_t place_of(const struct variables *all, const char *name, size_t length)
{
    size_t i = 0;

    while (i < all->count &&
           (strncmp(all->list[i], name, length) != 0 || all->list[i][length] != '='))
        i++;
    return i;
}

/* Sets to `value`, which is taken over ("NAME=..."), or removes, if that is NULL. */
static void set(struct variables *all, const char *name, size_t length, char *value)
{
    size_t at = place_of(all, name, length);

    if (at < all->count) {
        free(all->list[at]);
        all->list[at] = value ? value : all->list[--all->count];
    } else if (value) {
        all->list = cli_realloc(all->list, all->count + 2, sizeof(*all->list));
        all->list[all->count++] = value;
    }
    all->list[all->count] = NULL;
}

/* "NAME=OPERATION:VALUE" of ENVIRONMENT_MODIFICATION. */
static void modify(struct variables *all, const char *text)
{
    static const struct {
        const char *name, *separator;
        bool is_front;
    } rows[] = {
        {"string_append", "", false},      {"string_prepend", "", true},
        {"path_list_append", ":", false},  {"path_list_prepend", ":", true},
        {"cmake_list_append", ";", false}, {"cmake_list_prepend", ";", true},
    };
    size_t length = strcspn(text, "=");
    if (!text[length])
        return;
    const char *how = text + length + 1, *value = strchr(how, ':');
    size_t how_length = strcspn(how, ":"), at = place_of(all, text, length);
    const char *old = at < all->count ? all->list[at] + length + 1 : NULL;

    value = value ? value + 1 : "";
    if (strncmp(how, "unset:", 6) == 0 || strcmp(how, "unset") == 0)
        set(all, text, length, NULL);
    if (strncmp(how, "set:", 4) == 0)
        set(all, text, length, cli_asprintf("%.*s=%s", (int)length, text, value));
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        if (strlen(rows[i].name) != how_length || strncmp(rows[i].name, how, how_length) != 0)
            continue;
        const char *separator = old && *old ? rows[i].separator : "", *was = old ? old : "";
        set(all, text, length,
            cli_asprintf("%.*s=%s%s%s", (int)length, text, rows[i].is_front ? value : was,
                         separator, rows[i].is_front ? was : value));
    }
}

static void make_environment(struct cli_ctest *test, const json_t *given, const json_t *changes)
{
    struct variables all = {.list = cli_malloc(sizeof(char *))};
    const json_t *item;
    size_t i;

    all.list[0] = NULL;
    for (char **at = environ; *at; at++)
        set(&all, *at, strcspn(*at, "="), cli_strdup(*at));
    json_array_foreach(given, i,
                       item) if (json_is_string(item) && strchr(json_string_value(item), '='))
    {
        const char *text = json_string_value(item);
        set(&all, text, strcspn(text, "="), cli_strdup(text));
    }
    json_array_foreach(changes, i, item) if (json_is_string(item))
        modify(&all, json_string_value(item));
    test->environment = all.list;
}

static const json_t *property(const json_t *test, const char *name)
{
    const json_t *list = json_object_get(test, "properties"), *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *is = json_string_value(json_object_get(item, "name"));
        if (is && strcmp(is, name) == 0)
            return json_object_get(item, "value");
    }
    return NULL;
}

static void read_properties(struct cli_ctest *test, const json_t *from)
{
    const json_t *skip = property(from, "SKIP_RETURN_CODE");
    const json_t *timeout = property(from, "TIMEOUT");

    test->directory = json_string_value(property(from, "WORKING_DIRECTORY"));
    test->will_fail = json_is_true(property(from, "WILL_FAIL"));
    test->pass = strings_of(property(from, "PASS_REGULAR_EXPRESSION"));
    test->fail = strings_of(property(from, "FAIL_REGULAR_EXPRESSION"));
    test->skip = strings_of(property(from, "SKIP_REGULAR_EXPRESSION"));
    test->skip_status = json_is_integer(skip) ? (int)json_integer_value(skip) : -1;
    test->seconds = json_is_number(timeout) ? json_number_value(timeout) : 0;
    make_environment(test, property(from, "ENVIRONMENT"),
                     property(from, "ENVIRONMENT_MODIFICATION"));
}

/* ---- CTest ---- */

/* What ctest prints. The variable keeps cmake/WetdbgCTest.cmake from standing before commands. */
static int ask(const char *build, json_t **root)
{
    char *argv[] = {"ctest", "--show-only=json-v1", NULL};
    const struct cli_ctest ours = {.argv = NULL};
    char **environment =
        cli_ctest_environment(&ours, (const char *const[]){"WETDBG_WRAPPED=1", NULL});
    struct cli_child child = {.argv = argv, .directory = build, .environment = environment};
    struct cli_child_result result;
    json_error_t error;
    int err = cli_child_run(&child, &result);

    cli_environment_free(environment);
    if (err == -WETDBG_ERR_NOT_FOUND)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "ctest is not installed (Debian: cmake)");
    if (err)
        return err;
    const char *begin = strchr(result.text, '{');
    *root = begin ? json_loads(begin, JSON_DISABLE_EOF_CHECK, &error) : NULL;
    if (!json_is_array(json_object_get(*root, "tests"))) {
        json_decref(*root);
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "ctest --show-only=json-v1 in %s gave no list: %.*s",
                          build, (int)strcspn(result.text, "\n"), result.text);
    }
    cli_child_result_fini(&result);
    return err;
}

int cli_ctest_find(const char *build, const char *name, struct cli_ctest *test)
{
    const json_t *found;

    *test = (struct cli_ctest){.name = name, .skip_status = -1};
    int err = find_build(build, &build);
    if (!err)
        err = ask(build, &test->root);
    if (err)
        return err;
    err = find_test(test->root, build, name, &found);
    if (!err) {
        test->argv = (char **)strings_of(json_object_get(found, "command"));
        if (!test->argv || !test->argv[0])
            err = wetdbg_fail(-WETDBG_ERR_USAGE,
                              "the program of test '%s' is not there: is it built?", name);
    }
    if (!err) {
        read_properties(test, found);
    } else {
        cli_ctest_fini(test);
    }
    return err;
}

void cli_ctest_of_command(char *const *argv, struct cli_ctest *test)
{
    size_t count = 0;

    while (argv[count])
        count++;
    *test = (struct cli_ctest){.name = argv[0], .skip_status = -1};
    test->argv = cli_malloc((count + 1) * sizeof(*test->argv));
    memcpy(test->argv, argv, (count + 1) * sizeof(*test->argv));
}

char **cli_ctest_environment(const struct cli_ctest *test, const char *const *more)
{
    struct variables all = {.list = cli_malloc(sizeof(char *))};

    all.list[0] = NULL;
    for (char **at = test->environment ? test->environment : environ; *at; at++)
        set(&all, *at, strcspn(*at, "="), cli_strdup(*at));
    for (; more && *more; more++)
        set(&all, *more, strcspn(*more, "="), cli_strdup(*more));
    return all.list;
}

void cli_environment_free(char **environment)
{
    for (char **at = environment; at && *at; at++)
        free(*at);
    free(environment);
}

void cli_ctest_fini(struct cli_ctest *test)
{
    cli_environment_free(test->environment);
    free(test->argv);
    free(test->pass);
    free(test->fail);
    free(test->skip);
    json_decref(test->root);
    *test = (struct cli_ctest){.skip_status = -1};
}

/* ---- whether a run passes ---- */

/* CTest's expressions are a subset of POSIX's extended ones; one that is not matches nothing. */
static bool matches_one(const char **list, const char *text)
{
    bool is_match = false;
    regex_t regex;

    for (; list && *list && !is_match; list++)
        if (regcomp(&regex, *list, REG_EXTENDED | REG_NOSUB) == 0) {
            is_match = regexec(&regex, text, 0, NULL, 0) == 0;
            regfree(&regex);
        }
    return is_match;
}

bool cli_ctest_passes(const struct cli_ctest *test, int status, const char *text)
{
    bool exits = WIFEXITED(status), is_right = exits && WEXITSTATUS(status) == 0;

    if (test->skip_status >= 0 && exits && WEXITSTATUS(status) == test->skip_status)
        return true;
    if (matches_one(test->skip, text))
        return true;
    if (test->pass)
        is_right = exits && matches_one(test->pass, text);
    if (is_right && matches_one(test->fail, text))
        is_right = false;
    /* What crashes fails, whatever was expected. */
    return exits && is_right != test->will_fail;
}

bool cli_ctest_is_swayed(const struct cli_ctest *test, const char *text)
{
    return matches_one(test->skip, text) || (!test->will_fail && matches_one(test->pass, text)) ||
           (test->will_fail && matches_one(test->fail, text));
}
