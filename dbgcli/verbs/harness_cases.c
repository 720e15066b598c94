/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/harness_cases.h"

#include <ctype.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

const char *cli_framework_name(enum cli_framework framework)
{
    static const char *const names[] = {"",           "cmocka", "Check", "CUnit",
                                        "GoogleTest", "TAP",    "Unity"};

    return names[framework];
}

/* ---- cases ---- */

/* A name, and where it is in the list. */
struct named {
    const char *name;
    size_t length, index;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);

    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static struct cli_case *find(const struct cli_cases *cases, const char *name, size_t length)
{
    struct named wanted = {name, length, 0};
    struct named **found = tfind(&wanted, &cases->by_name, by_name);

    return found ? &cases->list[(*found)->index] : NULL;
}

/* A case of that name: the one that is there, or a new one. Until the next is added. */
static struct cli_case *add(struct cli_cases *cases, const char *name, size_t length)
{
    struct cli_case *known = find(cases, name, length);

    if (known)
        return known;
    if ((cases->count & (cases->count - 1)) == 0)
        cases->list =
            cli_realloc(cases->list, cases->count ? 2 * cases->count : 1, sizeof(*cases->list));
    struct named *named = cli_malloc(sizeof(*named));
    cases->list[cases->count] = (struct cli_case){.name = cli_strndup(name, length)};
    *named = (struct named){cases->list[cases->count].name, length, cases->count};
    if (!tsearch(named, &cases->by_name, by_name))
        cli_die();
    return &cases->list[cases->count++];
}

void cli_cases_fini(struct cli_cases *cases)
{
    tdestroy(cases->by_name, free);
    for (size_t i = 0; i < cases->count; i++) {
        free(cases->list[i].name);
        free(cases->list[i].group);
        free(cases->list[i].file);
    }
    free(cases->list);
    *cases = (struct cli_cases){0};
}

static void set_place(struct cli_case *item, const char *file, size_t length, unsigned long line)
{
    if (item->file || !length || !line)
        return;
    item->file = cli_strndup(file, length);
    item->line = (unsigned)line;
}

/* ---- lines ---- */

/* One line, without its end. */
struct line {
    const char *text;
    size_t length;
};

static bool next_line(const char **at, struct line *line)
{
    if (!**at)
        return false;
    size_t length = strcspn(*at, "\n");
    *line = (struct line){*at, length};
    *at += length + ((*at)[length] == '\n');
    if (length && line->text[length - 1] == '\r')
        line->length--;
    return true;
}

static bool begins(struct line line, const char *prefix)
{
    size_t length = strlen(prefix);

    return line.length >= length && memcmp(line.text, prefix, length) == 0;
}

static struct line skip(struct line line, size_t bytes)
{
    return (struct line){line.text + bytes, line.length - bytes};
}

static struct line trim(struct line line)
{
    while (line.length && isspace((unsigned char)*line.text))
        line = skip(line, 1);
    while (line.length && isspace((unsigned char)line.text[line.length - 1]))
        line.length--;
    return line;
}

static const char *find_in(struct line line, const char *text)
{
    return memmem(line.text, line.length, text, strlen(text));
}

/* "FILE:LINE" before `end`, from the line's begin on. */
static bool read_place(struct line line, const char *end, size_t *length, unsigned long *number)
{
    const char *colon = end;

    while (colon > line.text && isdigit((unsigned char)colon[-1]))
        colon--;
    if (colon == end || colon == line.text || colon[-1] != ':')
        return false;
    *number = strtoul(colon, NULL, 10);
    *length = (size_t)(colon - 1 - line.text);
    return *length > 0;
}

/* ---- GoogleTest and cmocka ---- */

#define RUN_MARK    "[ RUN      ] "
#define OK_MARK     "[       OK ] "
#define FAILED_MARK "[  FAILED  ] "

/* "Suite.case (0 ms)", "Suite.case, where GetParam() = 3 (0 ms)". */
static struct line name_of_mark(struct line line)
{
    size_t mark = strlen(RUN_MARK);

    line = skip(line, line.length < mark ? line.length : mark);
    for (size_t i = 0; i < line.length; i++)
        if (line.text[i] == ' ' && i &&
            (line.text[i - 1] == ',' || (i + 1 < line.length && line.text[i + 1] == '('))) {
            line.length = line.text[i - 1] == ',' ? i - 1 : i;
            break;
        }
    return trim(line);
}

static void read_gtest(const char *text, struct cli_cases *cases)
{
    struct cli_case *now = NULL;
    struct line line;

    while (next_line(&text, &line)) {
        size_t length;
        unsigned long number;
        const char *failure = find_in(line, ": Failure");
        struct line name = begins(line, "[") ? name_of_mark(line) : line;
        if (begins(line, RUN_MARK)) {
            now = add(cases, name.text, name.length);
        } else if (begins(line, OK_MARK) && now) {
            now->is_ok = true;
            now = NULL;
        } else if (begins(line, FAILED_MARK)) {
            now = NULL;
        } else if (failure && now && read_place(line, failure, &length, &number)) {
            set_place(now, line.text, length, number);
        }
    }
}

/* Standard error has the places, standard output the names: they are joined by their order. */
static void read_cmocka(const char *text, struct cli_cases *cases)
{
    struct line line;
    const char *at = text;
    size_t place = 0;

    while (next_line(&at, &line)) {
        struct line name = begins(line, "[") ? name_of_mark(line) : line;
        if (begins(line, RUN_MARK))
            add(cases, name.text, name.length);
        else if (begins(line, OK_MARK))
            add(cases, name.text, name.length)->is_ok = true;
    }
    for (at = text; next_line(&at, &line);) {
        const char *end = find_in(line, ": error: Failure!");
        const char *mark = find_in(line, "--- ");
        size_t length;
        unsigned long number;
        if (!end)
            continue;
        if (mark && mark < end)
            line = skip(line, (size_t)(mark + 4 - line.text));
        while (place < cases->count && cases->list[place].is_ok)
            place++;
        if (place < cases->count && read_place(line, end, &length, &number))
            set_place(&cases->list[place++], line.text, length, number);
    }
}

/* ---- Check ---- */

static const char *field(struct line line, unsigned number)
{
    const char *end = line.text + line.length;

    for (const char *at = line.text; at < end; at++)
        if (*at == ':' && !--number)
            return at + 1;
    return NULL;
}

/* "FILE:LINE:F:TCASE:TEST:ITERATION: what". FILE has no colon. */
static void read_check_line(struct line line, struct cli_cases *cases)
{
    const char *number = field(line, 1), *how = field(line, 2), *group = field(line, 3),
               *test = field(line, 4), *iteration = field(line, 5), *what = field(line, 6);

    if (!what || !isdigit((unsigned char)*number) || how[1] != ':' || !strchr("PFE", *how) ||
        !isdigit((unsigned char)*iteration))
        return;
    const char *end = *iteration == '0' ? iteration - 1 : what - 1;
    struct cli_case *item = add(cases, test, (size_t)(end - test));
    item->is_ok = *how == 'P';
    if (!item->group)
        item->group = cli_strndup(group, (size_t)(test - 1 - group));
    if (!item->is_ok)
        set_place(item, line.text, (size_t)(number - 1 - line.text), strtoul(number, NULL, 10));
}

static void read_check(const char *text, struct cli_cases *cases)
{
    struct line line;

    cases->lists_failures_only = true;
    while (next_line(&text, &line)) {
        const char *checks = find_in(line, "%: Checks: ");
        if (checks) {
            cases->is_whole = true;
            cases->checks += strtoul(checks + strlen("%: Checks: "), NULL, 10);
        } else {
            read_check_line(line, cases);
        }
    }
}

/* ---- CUnit ---- */

/* "Test: NAME ...passed", and, where only failures are told, "Suite NAME, Test NAME had failures:".
 * NULL if the line is another one. */
static struct cli_case *read_cunit_test(struct line line, struct cli_cases *cases)
{
    const char *comma = find_in(line, ", Test "), *had = find_in(line, " had failures:");
    struct line name = trim(line);

    if (begins(line, "Suite ") && comma && had && comma < had)
        return add(cases, comma + 7, (size_t)(had - comma - 7));
    if (!begins(name, "Test: "))
        return NULL;
    name = skip(name, 6);
    const char *dots = find_in(name, " ...");
    if (!dots)
        return NULL;
    cases->lists_failures_only = false;
    struct cli_case *item = add(cases, name.text, (size_t)(dots - name.text));
    item->is_ok = strncmp(dots + 4, "passed", 6) == 0;
    return item;
}

/* "1. FILE:LINE  - what". */
static void read_cunit_place(struct line line, struct cli_case *item)
{
    struct line rest = trim(line);
    size_t digits = 0, length;
    unsigned long number;

    while (digits < rest.length && isdigit((unsigned char)rest.text[digits]))
        digits++;
    if (!digits || digits + 2 > rest.length || rest.text[digits] != '.')
        return;
    rest = skip(rest, digits + 2);
    const char *end = find_in(rest, "  - ");
    if (end && read_place(rest, end, &length, &number))
        set_place(item, rest.text, length, number);
}

static void read_cunit(const char *text, struct cli_cases *cases)
{
    struct cli_case *now = NULL;
    struct line line;

    cases->lists_failures_only = true;
    while (next_line(&text, &line)) {
        struct cli_case *item = read_cunit_test(line, cases);
        if (item)
            now = item;
        else if (now && !now->is_ok)
            read_cunit_place(line, now);
        cases->is_whole = cases->is_whole || find_in(line, "Run Summary:");
    }
}

/* ---- TAP ---- */

/* "ok 3 - what # TODO why": what is a TODO or skipped is no failure. */
static struct cli_case *read_tap_test(struct line line, struct cli_cases *cases, unsigned long next)
{
    bool is_ok = begins(line, "ok");
    struct line rest = trim(skip(line, is_ok ? 2 : 6));
    char number[24];
    size_t digits = 0;

    while (digits < rest.length && isdigit((unsigned char)rest.text[digits]))
        digits++;
    int length = digits ? 0 : snprintf(number, sizeof(number), "%lu", next);
    const char *hash = find_in(rest, " # ");
    size_t end = hash ? (size_t)(hash - rest.text) : rest.length;
    char *name =
        cli_asprintf("%.*s%s%.*s", length, number, length && end ? " " : "", (int)end, rest.text);
    struct cli_case *item = add(cases, name, strlen(name));
    item->is_ok =
        is_ok ||
        (hash && (strncasecmp(hash + 3, "todo", 4) == 0 || strncasecmp(hash + 3, "skip", 4) == 0));
    free(name);
    return item;
}

/* Of "# ... (FILE:FUNCTION() at line N)", "# ... at FILE line N", "# FILE:N: ...". */
static void read_tap_place(struct line line, struct cli_case *item)
{
    const char *at = find_in(line, " at line "), *open = find_in(line, "("),
               *by = find_in(line, " line "), *from = find_in(line, "at ");
    struct line rest = trim(skip(line, 1));
    size_t digits = 0;

    if (at && open && open < at) {
        size_t length = strcspn(open + 1, ":\n"), rest_length = (size_t)(at - open - 1);
        set_place(item, open + 1, length < rest_length ? length : rest_length,
                  strtoul(at + 9, NULL, 10));
    } else if (from && by && from < by) {
        set_place(item, from + 3, (size_t)(by - from - 3), strtoul(by + 6, NULL, 10));
    } else {
        size_t name = 0;
        while (name < rest.length && rest.text[name] != ':' && rest.text[name] != ' ')
            name++;
        while (name + 1 + digits < rest.length &&
               isdigit((unsigned char)rest.text[name + 1 + digits]))
            digits++;
        if (name < rest.length && rest.text[name] == ':' && digits)
            set_place(item, rest.text, name, strtoul(rest.text + name + 1, NULL, 10));
    }
}

static void read_tap(const char *text, struct cli_cases *cases)
{
    struct cli_case *now = NULL;
    struct line line;
    unsigned long next = 1;

    while (next_line(&text, &line))
        if (begins(line, "ok ") || begins(line, "not ok ")) {
            now = read_tap_test(line, cases, next++);
        } else if (begins(line, "#") && now && !now->is_ok) {
            read_tap_place(line, now);
        }
}

/* ---- Unity ---- */

/* "FILE:LINE:TEST:PASS", "FILE:LINE:TEST:FAIL: why", "FILE:LINE:TEST:IGNORE". False if the line is
 * another one. */
static bool read_unity_line(struct line line, struct cli_cases *cases)
{
    const char *number = field(line, 1), *test = field(line, 2), *how = field(line, 3);
    const char *end = line.text + line.length;

    if (!how || !isdigit((unsigned char)*number))
        return false;
    bool is_ok = end - how >= 4 && memcmp(how, "PASS", 4) == 0;
    bool is_failed = end - how >= 4 && memcmp(how, "FAIL", 4) == 0;
    if (!is_ok && !is_failed && (end - how < 6 || memcmp(how, "IGNORE", 6) != 0))
        return false;
    if (!cases)
        return true;
    struct cli_case *item = add(cases, test, (size_t)(how - 1 - test));
    item->is_ok = !is_failed;
    if (is_failed)
        set_place(item, line.text, (size_t)(number - 1 - line.text), strtoul(number, NULL, 10));
    return true;
}

static void read_unity(const char *text, struct cli_cases *cases)
{
    struct line line;

    while (next_line(&text, &line))
        read_unity_line(line, cases);
}

/* "3 Tests 1 Failures 0 Ignored" */
static bool is_unity_summary(struct line line)
{
    return find_in(line, " Tests ") && find_in(line, " Failures ") && find_in(line, " Ignored");
}

/* ---- which framework ---- */

static bool is_plan(struct line line)
{
    size_t digits = 3;

    while (digits < line.length && isdigit((unsigned char)line.text[digits]))
        digits++;
    return begins(line, "1..") && digits > 3;
}

static enum cli_framework framework_of(const char *text)
{
    struct line line;
    bool has_plan = false, has_test = false;

    while (next_line(&text, &line)) {
        if (begins(line, "[==========]") && find_in(line, "Running ")) {
            bool is_cmocka = find_in(line, " test(s).");
            return is_cmocka ? CLI_FRAMEWORK_CMOCKA : CLI_FRAMEWORK_GTEST;
        }
        if (begins(line, "Running suite(s): ") || find_in(line, "%: Checks: "))
            return CLI_FRAMEWORK_CHECK;
        if (find_in(line, "CUnit - A "))
            return CLI_FRAMEWORK_CUNIT;
        if (is_unity_summary(line) || read_unity_line(line, NULL))
            return CLI_FRAMEWORK_UNITY;
        has_plan = has_plan || is_plan(line);
        has_test = has_test || begins(line, "ok ") || begins(line, "not ok ");
    }
    return has_plan && has_test ? CLI_FRAMEWORK_TAP : CLI_FRAMEWORK_NONE;
}

void cli_cases_read(const char *text, struct cli_cases *cases)
{
    static void (*const readers[])(const char *, struct cli_cases *) = {
        [CLI_FRAMEWORK_CMOCKA] = read_cmocka, [CLI_FRAMEWORK_CHECK] = read_check,
        [CLI_FRAMEWORK_CUNIT] = read_cunit,   [CLI_FRAMEWORK_GTEST] = read_gtest,
        [CLI_FRAMEWORK_TAP] = read_tap,       [CLI_FRAMEWORK_UNITY] = read_unity,
    };

    *cases = (struct cli_cases){.framework = framework_of(text)};
    if (cases->framework != CLI_FRAMEWORK_NONE)
        readers[cases->framework](text, cases);
}

/* ---- questions ---- */

/* What a TAP test is called, without its number. */
static const char *without_number(const char *name)
{
    name += strspn(name, "0123456789");
    name += strspn(name, " ");
    return strncmp(name, "- ", 2) == 0 ? name + 2 : name;
}

const struct cli_case *cli_cases_find(const struct cli_cases *cases, const char *name)
{
    const struct cli_case *item = find(cases, name, strlen(name));
    size_t length = strlen(name);

    for (size_t i = 0; i < cases->count && !item && cases->framework == CLI_FRAMEWORK_TAP; i++) {
        const char *other = cases->list[i].name;
        bool is_number = strspn(other, "0123456789") == length && strncmp(other, name, length) == 0;
        if (is_number || strcmp(without_number(other), name) == 0)
            item = &cases->list[i];
    }
    return item;
}

const struct cli_case *cli_cases_failed(const struct cli_cases *cases)
{
    for (size_t i = 0; i < cases->count; i++)
        if (!cases->list[i].is_ok)
            return &cases->list[i];
    return NULL;
}

bool cli_cases_are_right(const struct cli_cases *now, const struct cli_cases *before,
                         const char *target, bool *is_all)
{
    const struct cli_case *item = find(now, target, strlen(target));
    bool is_right = item ? item->is_ok : now->lists_failures_only && now->is_whole;

    if (before->is_whole && before->checks != now->checks)
        is_right = false;
    for (size_t i = 0; i < now->count && is_right; i++)
        if (!now->list[i].is_ok) {
            const char *name = now->list[i].name;
            const struct cli_case *same = find(before, name, strlen(name));
            is_right = same && !same->is_ok;
        }
    *is_all = is_right && !cli_cases_failed(now);
    return is_right && now->framework == before->framework;
}

bool cli_assertion_read(const char *text, char **file, unsigned *line)
{
    struct line row;

    while (next_line(&text, &row)) {
        const char *end = find_in(row, ": Assertion `");
        struct line rest = row;
        if (!end)
            continue;
        /* "PROGRAM: FILE:LINE: FUNCTION" */
        const char *colon = find_in(rest, ": ");
        if (!colon || colon >= end)
            continue;
        rest = skip(rest, (size_t)(colon + 2 - rest.text));
        const char *stop = find_in(rest, ": ");
        size_t length;
        unsigned long number;
        if (stop && stop < end && read_place(rest, stop, &length, &number)) {
            *file = cli_strndup(rest.text, length);
            *line = (unsigned)number;
            return true;
        }
    }
    return false;
}
