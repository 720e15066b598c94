/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A row of items (tokens, and whole groups in brackets) is divided into elements by the first rule
 * that gives more than one; each element becomes a node, and is divided by the next rule. The
 * inside of a group begins with the first rule again. Blanks behind an element go with it.
 */
#include "delta/nesting.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "delta/nesting_xml.h"

/* Groups that nest deeper are tokens: the descent below is by recursion. */
#define DEPTH_MAX 200

enum rule {
    BY_STATEMENT,
    BY_COMMA,
    BY_LINE,
    BY_ITEM,
};

struct item {
    uint32_t first, end; /* without the blanks behind it */
    uint32_t next;       /* with them */
    uint32_t indent;     /* of the first item of a line */
    char what;           /* '(' for any group, ',' ';' or 'a' for other tokens */
    bool ends_line;
    bool is_brace; /* a group in braces, behind which a statement may end */
};

struct items {
    struct item *items;
    size_t count, capacity;
};

struct parse {
    const uint8_t *bytes;
    size_t size;
    uint32_t *closing; /* of each opening bracket that has one; else 0 */
    struct dlt_nodes nodes;
};

/* ---- brackets ---- */

/* The end of a literal in quotes that begins at `at`, or `at` + 1 if it does not end. A single
 * quote is an apostrophe unless its literal ends in the same line. */
static size_t literal_end(const uint8_t *bytes, size_t size, size_t at)
{
    for (size_t i = at + 1; i < size; i++) {
        if (bytes[i] == '\n' && bytes[at] == '\'')
            break;
        if (bytes[i] == '\\')
            i++;
        else if (bytes[i] == bytes[at])
            return i + 1;
    }
    return at + 1;
}

static bool is_quote(uint8_t byte)
{
    return byte == '"' || byte == '\'';
}

static uint8_t opening_of(uint8_t byte)
{
    switch (byte) {
    case ')':
        return '(';
    case ']':
        return '[';
    case '}':
        return '{';
    default:
        return 0;
    }
}

static bool is_opening(uint8_t byte)
{
    return byte == '(' || byte == '[' || byte == '{';
}

/* Pairs brackets; those without a partner stay tokens. */
static int brackets_pair(struct parse *parse)
{
    uint32_t *open = malloc((parse->size + 1) * sizeof(*open));
    size_t depth = 0, at = 0;
    parse->closing = calloc(parse->size + 1, sizeof(*parse->closing));
    if (!open || !parse->closing) {
        free(open);
        return -ENOMEM;
    }
    while (at < parse->size) {
        uint8_t byte = parse->bytes[at], opening = opening_of(byte);
        if (is_opening(byte))
            open[depth++] = (uint32_t)at;
        size_t partner = depth;
        while (opening && partner && parse->bytes[open[partner - 1]] != opening)
            partner--;
        if (opening && partner) {
            parse->closing[open[partner - 1]] = (uint32_t)at;
            depth = partner - 1;
        }
        at = is_quote(byte) ? literal_end(parse->bytes, parse->size, at) : at + 1;
    }
    free(open);
    return 0;
}

/* ---- items ---- */

static bool is_word(uint8_t byte)
{
    return isalnum(byte) || byte == '_' || byte >= 0x80;
}

static uint32_t token_end(const struct parse *parse, uint32_t at, uint32_t end)
{
    uint8_t byte = parse->bytes[at];
    if (is_quote(byte))
        return (uint32_t)literal_end(parse->bytes, end, at);
    if (!is_word(byte))
        return at + 1;
    while (at < end && (is_word(parse->bytes[at]) || parse->bytes[at] == '.'))
        at++;
    return at;
}

static struct item item_at(const struct parse *parse, uint32_t at, uint32_t end)
{
    uint8_t byte = parse->bytes[at];
    struct item item = {.first = at, .what = 'a'};
    if (is_opening(byte) && parse->closing[at]) {
        item.what = '(';
        item.end = parse->closing[at] + 1;
        item.is_brace = byte == '{';
    } else {
        item.end = token_end(parse, at, end);
        if (byte == ',' || byte == ';')
            item.what = (char)byte;
    }
    item.next = item.end;
    while (item.next < end && isspace(parse->bytes[item.next])) {
        item.ends_line = item.ends_line || parse->bytes[item.next] == '\n';
        item.next++;
    }
    /* the blanks before the next line's first item are its own */
    while (item.ends_line && parse->bytes[item.next - 1] != '\n')
        item.next--;
    return item;
}

static int items_find(const struct parse *parse, uint32_t first, uint32_t end, struct items *items)
{
    uint32_t at = first, line = first;
    while (at < end) {
        if (isspace(parse->bytes[at])) {
            line = parse->bytes[at++] == '\n' ? at : line;
            continue;
        }
        int err = wd_grow(items->items, items->capacity, items->count + 1);
        if (err)
            return err;
        struct item item = item_at(parse, at, end);
        item.indent = at - line;
        line = item.ends_line ? item.next : line;
        at = item.next;
        items->items[items->count++] = item;
    }
    return 0;
}

/* ---- elements ---- */

static bool starts_line(const struct item *items, size_t i)
{
    return i == 0 || items[i - 1].ends_line;
}

/* Where the element that begins at `from` ends by a rule. */
static size_t element_end(const struct item *items, size_t from, size_t end, enum rule rule)
{
    size_t i = from + 1;
    if (rule == BY_STATEMENT)
        while (i < end && items[i - 1].what != ';' &&
               !(items[i - 1].is_brace && items[i - 1].ends_line))
            i++;
    if (rule == BY_COMMA)
        while (i < end && items[i].what != ',')
            i++;
    if (rule == BY_LINE)
        while (i < end && (!starts_line(items, i) || items[i].indent > items[from].indent))
            i++;
    return i;
}

/* Whether a rule has something to say about these items. */
static bool rule_applies(const struct item *items, size_t count, enum rule rule)
{
    for (size_t i = 0; i < count; i++) {
        if (rule == BY_STATEMENT && items[i].what == ';')
            return true;
        if (rule == BY_COMMA && items[i].what == ',')
            return true;
        if (rule == BY_LINE && i + 1 < count && items[i].ends_line)
            return true;
    }
    return rule == BY_ITEM;
}

static int divide(struct parse *parse, const struct item *items, size_t count, uint32_t parent,
                  enum rule rule, unsigned depth);

static int divide_inside(struct parse *parse, const struct item *group, uint32_t node,
                         unsigned depth)
{
    struct items inside = {0};
    if (depth >= DEPTH_MAX)
        return 0;
    int err = items_find(parse, group->first + 1, group->end - 1, &inside);
    if (!err)
        err = divide(parse, inside.items, inside.count, node, BY_STATEMENT, depth + 1);
    free(inside.items);
    return err;
}

/* A line and the deeper ones below it: its own items, then those lines, are the node's children. */
static int divide_lines(struct parse *parse, const struct item *items, size_t count, uint32_t node,
                        unsigned depth)
{
    size_t head = 1;
    while (head < count && !starts_line(items, head))
        head++;
    int err = divide(parse, items, head, node, BY_ITEM, depth);
    return err || head == count || depth >= DEPTH_MAX
               ? err
               : divide(parse, items + head, count - head, node, BY_LINE, depth + 1);
}

static int element_add(struct parse *parse, const struct item *items, size_t count, uint32_t parent,
                       enum rule rule, const struct item *comma, unsigned depth)
{
    uint32_t node;
    struct wetdbg_delta_node made = {.parent = parent, .first = items[0].first};
    made.end = rule == BY_COMMA ? items[count - 1].end : items[count - 1].next;
    /* the blanks behind a last child may be behind its parent, too */
    if (parent != WETDBG_DELTA_NO_NODE && made.end > parse->nodes.nodes[parent].end)
        made.end = parse->nodes.nodes[parent].end;
    if (comma) {
        made.separator_first = comma->first;
        made.separator_end = made.first;
    }
    int err = dlt_node_add(&parse->nodes, &made, &node);
    if (err)
        return err;
    if (count == 1)
        return items[0].what == '(' ? divide_inside(parse, items, node, depth) : 0;
    if (rule == BY_LINE)
        return divide_lines(parse, items, count, node, depth);
    return divide(parse, items, count, node, rule + 1, depth);
}

static int divide(struct parse *parse, const struct item *items, size_t count, uint32_t parent,
                  enum rule rule, unsigned depth)
{
    int err = 0;
    if (!count)
        return 0;
    while (!rule_applies(items, count, rule))
        rule++;
    if (rule < BY_ITEM && element_end(items, 0, count, rule) == count && items[0].what != ',')
        return rule == BY_LINE ? divide_lines(parse, items, count, parent, depth)
                               : divide(parse, items, count, parent, rule + 1, depth);
    for (size_t from = 0, end; !err && from < count; from = end) {
        const struct item *comma = NULL;
        if (rule == BY_COMMA && items[from].what == ',') {
            comma = from ? &items[from] : NULL;
            if (++from == count || items[from].what == ',') {
                end = from;
                continue;
            }
        }
        end = element_end(items, from, count, rule);
        err = element_add(parse, items + from, end - from, parent, rule, comma, depth);
    }
    return err;
}

int dlt_nesting_find(const uint8_t *bytes, size_t size, struct wetdbg_delta_node **nodes,
                     size_t *count)
{
    struct parse parse = {.bytes = bytes, .size = size};
    struct items items = {0};
    int err;
    if (dlt_is_xml(bytes, size)) {
        err = dlt_xml_find(bytes, size, &parse.nodes);
    } else {
        err = brackets_pair(&parse);
        if (!err)
            err = items_find(&parse, 0, (uint32_t)size, &items);
        if (!err)
            err = divide(&parse, items.items, items.count, WETDBG_DELTA_NO_NODE, BY_STATEMENT, 0);
    }
    free(items.items);
    free(parse.closing);
    if (err) {
        free(parse.nodes.nodes);
        return err;
    }
    *nodes = parse.nodes.nodes;
    *count = parse.nodes.count;
    return 0;
}
