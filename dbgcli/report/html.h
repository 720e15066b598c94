/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Text in HTML. Whatever comes from a program, its files and its names is untrusted, and gets into
 * a page through here only: it is text then, between tags and in quoted attributes alike.
 */
#ifndef DBGCLI_REPORT_HTML_H
#define DBGCLI_REPORT_HTML_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes text: what HTML has a meaning for becomes a reference, a control character but tab and
 * newline its picture (U+2400 and on), what turns the direction of writing, and what is no UTF-8,
 * U+FFFD. NULL writes nothing.
 */
void cli_html_text(FILE *to, const char *text);
void cli_html_bytes(FILE *to, const void *bytes, size_t size);

/* cli_html_text() of at most `most` bytes of a text, and "..." if that is not all; never a part of
 * a character. */
void cli_html_cut(FILE *to, const char *text, size_t most);

/* "1,234,567" */
void cli_html_count(FILE *to, uint64_t count);

#endif
