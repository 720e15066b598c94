/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/junit.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/out.h"
#include "dbgcli/whole_file.h"

/* Bytes that XML 1.0 has no character for become '?': controls, and what JSON's reader of untrusted
 * bytes leaves of UTF-8 that is none. */
static void put_xml(FILE *file, const char *text)
{
    static const struct {
        char byte;
        const char *name;
    } names[] = {{'&', "&amp;"},   {'<', "&lt;"},   {'>', "&gt;"}, {'"', "&quot;"},
                 {'\'', "&apos;"}, {'\n', "&#10;"}, {'\t', "&#9;"}};
    json_t *clean = cli_json_text(text);
    const char *at = json_is_string(clean) ? json_string_value(clean) : "";

    for (; *at; at++) {
        const char *name = NULL;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            name = names[i].byte == *at ? names[i].name : name;
        bool is_none = strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
        if (name)
            fputs(name, file);
        else
            putc(is_none || (unsigned char)*at < 0x20 ? '?' : *at, file);
        at += is_none ? 2 : 0;
    }
    json_decref(clean);
}

static void put_attribute(FILE *file, const char *name, const char *value)
{
    fprintf(file, " %s=\"", name);
    put_xml(file, value);
    putc('"', file);
}

static void put_properties(FILE *file, const struct cli_junit_property *property)
{
    fputs("    <properties>\n", file);
    for (; property->name; property++) {
        fputs("      <property", file);
        put_attribute(file, "name", property->name);
        put_attribute(file, "value", property->value);
        fputs("/>\n", file);
    }
    fputs("    </properties>\n", file);
}

/* In a failure's text, unlike in an attribute, line breaks may stay as they are. */
static void put_lines(FILE *file, const char *text)
{
    while (*text) {
        char *line = cli_strndup(text, strcspn(text, "\n"));
        put_xml(file, line);
        putc('\n', file);
        text += strlen(line);
        text += *text == '\n';
        free(line);
    }
}

static void put_case(FILE *file, const struct cli_junit *junit)
{
    fputs("    <testcase", file);
    put_attribute(file, "name", junit->name);
    put_attribute(file, "classname", junit->classname);
    if (junit->file) {
        put_attribute(file, "file", junit->file);
        fprintf(file, " line=\"%" PRIu32 "\"", junit->line);
    }
    fprintf(file, " time=\"%.3f\">\n      <failure", junit->seconds);
    put_attribute(file, "type", junit->type);
    put_attribute(file, "message", junit->message);
    putc('>', file);
    put_lines(file, junit->text);
    fputs("</failure>\n    </testcase>\n", file);
}

int cli_junit_write(const struct cli_junit *junit, const char *path)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    if (!file)
        cli_die();
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite", file);
    put_attribute(file, "name", junit->suite);
    fprintf(file, " tests=\"1\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n",
            junit->seconds);
    put_properties(file, junit->properties);
    put_case(file, junit);
    fputs("  </testsuite>\n</testsuites>\n", file);
    if (fclose(file))
        cli_die();
    int err = cli_whole_file_write(path, text, size);
    free(text);
    return err;
}
