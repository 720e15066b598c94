/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/nesting_xml.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct xml {
    const uint8_t *bytes;
    size_t size;
    struct dlt_nodes *nodes;
    uint32_t *open; /* elements whose end tag is still to come */
    size_t depth, capacity;
};

int dlt_node_add(struct dlt_nodes *nodes, const struct wetdbg_delta_node *node, uint32_t *id)
{
    int err = wd_grow(nodes->nodes, nodes->capacity, nodes->count + 1);
    if (err)
        return err;
    *id = (uint32_t)nodes->count;
    nodes->nodes[nodes->count++] = *node;
    return 0;
}

bool dlt_is_xml(const uint8_t *bytes, size_t size)
{
    size_t at = 0;
    while (at < size && isspace(bytes[at]))
        at++;
    return at + 1 < size && bytes[at] == '<' &&
           (isalpha(bytes[at + 1]) || bytes[at + 1] == '?' || bytes[at + 1] == '!');
}

static bool begins(const struct xml *xml, size_t at, const char *text)
{
    size_t length = strlen(text);
    return xml->size - at >= length && memcmp(xml->bytes + at, text, length) == 0;
}

/* One past the text that ends something, or the end of all. */
static size_t behind(const struct xml *xml, size_t at, const char *text)
{
    while (at < xml->size && !begins(xml, at, text))
        at++;
    return at < xml->size ? at + strlen(text) : xml->size;
}

/* One past the > of a tag; those in attributes' values do not count. */
static size_t tag_end(const struct xml *xml, size_t at)
{
    uint8_t quote = 0;
    for (; at < xml->size; at++) {
        uint8_t byte = xml->bytes[at];
        if (quote)
            quote = byte == quote ? 0 : quote;
        else if (byte == '"' || byte == '\'')
            quote = byte;
        else if (byte == '>')
            return at + 1;
    }
    return xml->size;
}

static bool is_name(uint8_t byte)
{
    return isalnum(byte) || strchr("_-.:", byte) || byte >= 0x80;
}

static size_t name_length(const struct xml *xml, size_t at)
{
    size_t length = 0;
    while (at + length < xml->size && xml->bytes[at + length] && is_name(xml->bytes[at + length]))
        length++;
    return length;
}

static int leaf_add(struct xml *xml, size_t first, size_t end)
{
    uint32_t id;
    struct wetdbg_delta_node node = {.parent = xml->depth ? xml->open[xml->depth - 1]
                                                          : WETDBG_DELTA_NO_NODE,
                                     .first = (uint32_t)first,
                                     .end = (uint32_t)end};
    return first < end ? dlt_node_add(xml->nodes, &node, &id) : 0;
}

/* The attributes in [at, end) of a start tag, each with the blanks before it. */
static int attributes_add(struct xml *xml, size_t at, size_t end)
{
    int err = 0;
    while (!err && at < end) {
        size_t first = at;
        uint8_t quote = 0;
        while (at < end && isspace(xml->bytes[at]))
            at++;
        size_t name = at;
        for (; at < end && (quote || !isspace(xml->bytes[at])); at++) {
            uint8_t byte = xml->bytes[at];
            if (quote)
                quote = byte == quote ? 0 : quote;
            else if (byte == '"' || byte == '\'')
                quote = byte;
        }
        if (at > name)
            err = leaf_add(xml, first, at);
    }
    return err;
}

/* A start tag: its element is open from here on, unless it ends at once. */
static int start_tag(struct xml *xml, size_t at, size_t end)
{
    bool is_closed = end - at >= 2 && xml->bytes[end - 2] == '/';
    size_t rest = at + 1 + name_length(xml, at + 1);
    size_t last = end - at >= 1 && xml->bytes[end - 1] == '>' ? end - 1 - is_closed : end;
    uint32_t id;
    struct wetdbg_delta_node node = {.parent = xml->depth ? xml->open[xml->depth - 1]
                                                          : WETDBG_DELTA_NO_NODE,
                                     .first = (uint32_t)at,
                                     .end = (uint32_t)end};
    int err = dlt_node_add(xml->nodes, &node, &id);
    if (!err)
        err = wd_grow(xml->open, xml->capacity, xml->depth + 1);
    if (err)
        return err;
    xml->open[xml->depth++] = id;
    err = rest < last ? attributes_add(xml, rest, last) : 0;
    xml->depth -= is_closed;
    return err;
}

static bool is_of(const struct xml *xml, uint32_t id, size_t name, size_t length)
{
    size_t first = xml->nodes->nodes[id].first + 1;
    return name_length(xml, first) == length &&
           memcmp(xml->bytes + first, xml->bytes + name, length) == 0;
}

/* An end tag ends the nearest element of its name, and those in it that have none. */
static int end_tag(struct xml *xml, size_t at, size_t end)
{
    size_t length = name_length(xml, at + 2), depth = xml->depth;
    while (depth && !is_of(xml, xml->open[depth - 1], at + 2, length))
        depth--;
    if (!depth)
        return leaf_add(xml, at, end);
    for (size_t i = depth; i < xml->depth; i++)
        xml->nodes->nodes[xml->open[i]].end = (uint32_t)at;
    xml->nodes->nodes[xml->open[depth - 1]].end = (uint32_t)end;
    xml->depth = depth - 1;
    return 0;
}

static int text_add(struct xml *xml, size_t first, size_t end)
{
    while (first < end && isspace(xml->bytes[first]))
        first++;
    return leaf_add(xml, first, end);
}

/* What begins with < at `at`; *end is one past it. */
static int markup(struct xml *xml, size_t at, size_t *end)
{
    if (begins(xml, at, "<!--")) {
        *end = behind(xml, at, "-->");
        return leaf_add(xml, at, *end);
    }
    if (begins(xml, at, "<![CDATA[")) {
        *end = behind(xml, at, "]]>");
        return leaf_add(xml, at, *end);
    }
    *end = tag_end(xml, at);
    if (begins(xml, at, "</"))
        return end_tag(xml, at, *end);
    if (name_length(xml, at + 1))
        return start_tag(xml, at, *end);
    return leaf_add(xml, at, *end);
}

int dlt_xml_find(const uint8_t *bytes, size_t size, struct dlt_nodes *nodes)
{
    struct xml xml = {.bytes = bytes, .size = size, .nodes = nodes};
    int err = 0;
    for (size_t at = 0; !err && at < size;) {
        const uint8_t *next = memchr(bytes + at, '<', size - at);
        size_t text = next ? (size_t)(next - bytes) : size;
        err = text_add(&xml, at, text);
        at = text;
        if (!err && at < size)
            err = markup(&xml, at, &at);
    }
    for (size_t i = 0; i < xml.depth; i++)
        nodes->nodes[xml.open[i]].end = (uint32_t)size;
    free(xml.open);
    return err;
}
