/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How XML, HTML and kin nest: an element is a node from its start tag to its end tag, attributes
 * and text are nodes in it. Tags without a partner stand alone. */
#ifndef DELTA_NESTING_XML_H
#define DELTA_NESTING_XML_H

#include <stdbool.h>

#include <wetdbg/delta.h>

/* Nodes that grow in number; all zero is none. The holder frees `nodes`. */
struct dlt_nodes {
    struct wetdbg_delta_node *nodes;
    size_t count, capacity;
};

/* Appends one, whose number is *id. 0 or -ENOMEM. */
int dlt_node_add(struct dlt_nodes *nodes, const struct wetdbg_delta_node *node, uint32_t *id);

/* Whether it begins like XML. */
bool dlt_is_xml(const uint8_t *bytes, size_t size);

/* 0 or -ENOMEM. */
int dlt_xml_find(const uint8_t *bytes, size_t size, struct dlt_nodes *nodes);

#endif
