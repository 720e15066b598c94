/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the report's page that need no run: text in HTML, and two texts side by side. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/report/html.h"
#include "dbgcli/report/line_pairs.h"
#include "tests/cli/cli_unit.h"

/* ---- text in HTML ---- */

static void check_text(const char *bytes, size_t size, const char *wanted)
{
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    cli_html_bytes(to, bytes, size);
    fclose(to);
    assert_string_equal(text, wanted);
    free(text);
}

#define CHECK_TEXT(bytes, wanted) check_text(bytes, sizeof(bytes) - 1, wanted)

static void html_has_no_markup_and_no_control(void **state)
{
    (void)state;
    CHECK_TEXT("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    CHECK_TEXT("\t\n\r\0\x1b\x7f", "\t\n&#x240d;&#x2400;&#x241b;&#x2421;");
    CHECK_TEXT("\xff\xc2\x9b\xed\xa0\x80"
               "e\xcc\x81",
               "&#xfffd;&#xfffd;&#xfffd;&#xfffd;&#xfffd;&#xfffd;e\xcc\x81");
    CHECK_TEXT("\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\x94",
               "&#xfffd;&#xfffd;&#xfffd;\xe2\x80\x94");
}

static void html_cut_is_between_characters(void **state)
{
    char text[64] = "";
    FILE *to = fmemopen(text, sizeof(text), "w");

    (void)state;
    cli_html_cut(to, "ab\xc3\xa4<c", 3);
    cli_html_cut(to, "|", 3);
    cli_html_cut(to, "\xc3\xa4<", 3);
    fclose(to);
    assert_string_equal(text, "ab...|\xc3\xa4&lt;");
}

/* ---- texts side by side ---- */

/* Rows as "=text", "-left|right", "<left", ">right". */
static void check_pairs(const char *left, const char *right, const char *wanted)
{
    static struct cli_line_pairs pairs;
    char *text;
    size_t length;
    FILE *to = open_memstream(&text, &length);

    cli_line_pairs_make(&pairs, left, strlen(left), right, strlen(right), 1, 8);
    for (size_t i = 0; i < pairs.count; i++) {
        const struct cli_line_pair *row = &pairs.rows[i];
        putc(row->is_equal ? '=' : row->left && row->right ? '-' : row->left ? '<' : '>', to);
        if (row->left)
            fprintf(to, "%zu%.*s", row->left->number, (int)row->left->size, row->left->text);
        if (row->right && !row->is_equal)
            fprintf(to, "|%.*s", (int)row->right->size, row->right->text);
        putc(' ', to);
    }
    fputs(pairs.is_cut ? "cut" : pairs.differ ? "end" : "same", to);
    fclose(to);
    assert_string_equal(text, wanted);
    free(text);
}

static void pairs_begin_before_the_first_difference(void **state)
{
    (void)state;
    check_pairs("a\nb\n", "a\nb\n", "same");
    check_pairs("a\nb\nc\nd\n", "a\nb\nX\nd\n", "=2b -3c|X =4d end");
    check_pairs("a\nb\nc\nd\n", "a\nb\nd\n", "=2b <3c =4d end");
    check_pairs("a\nb\n", "a\nn\nb\n", "=1a >|n =2b end");
    check_pairs("", "x\n", ">|x end");
    check_pairs("a\nb", "a\nbc", "=1a -2b|bc end");
    check_pairs("a\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "a\n0\n",
                "=1a -21|0 <32 <43 <54 <65 <76 <87 cut");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_has_no_markup_and_no_control),
        cmocka_unit_test(html_cut_is_between_characters),
        cmocka_unit_test(pairs_begin_before_the_first_difference),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
