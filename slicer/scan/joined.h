/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes whose executions often follow each other, joined to one: a scan passes them together, by
 * one key and one memo (slicer/scan/memo.h). What a node defines for a later one is no part of the
 * key then, nor what it stores for it.
 *
 * A joined node is as if its nodes had been one, in whose middle are branches (its *joints*). It is
 * made of a node and what comes after that, which may be joined, too; all are of one function, and
 * one leads to the next by a jump that is told by the code. So no frame is entered or left inside,
 * and what waits in the frame for a branch inside is all that has to be known besides: a bit for
 * each joint in the key.
 */
#ifndef SLICER_SCAN_JOINED_H
#define SLICER_SCAN_JOINED_H

#include "slicer/slicer.h"

struct slc_code;
struct slc_node;
struct slc_scan;
struct slc_task;

#define SLC_NODES_MAX 16   /* of a joined one */
#define SLC_JOINS     2    /* a node is joined with so many others at most */
#define SLC_JOIN_MASK 0x3f /* ... that came before it when its count had these bits clear */

/* A branch inside. */
struct slc_joint {
    uint64_t pc, bit; /* slc_pc_bit() */
    uint32_t statement;
};

/* A node with one before it. */
struct slc_join {
    uint32_t before;       /* its number; UINT32_MAX: none */
    struct slc_node *node; /* NULL: joined they have too many keys */
};

/* Embedded in its node. */
struct slc_joining {
    struct slc_join joins[SLC_JOINS];
    struct slc_node *head; /* the node that it begins with: itself, if it is not joined */
    struct slc_node *rest; /* what comes after that; NULL: it is not joined */
    struct slc_joint *joints;
    uint32_t tries; /* how often it was passed with another node before it */
    uint8_t joint_count;
    uint8_t spoils;     /* executions without a memo */
    uint8_t node_count; /* that it is made of; 1: it is not joined */
};

/* To be called for a node that is no joined one. */
void slc_joining_init(struct slc_node *node);

/* Joins a node with one before it, if they can be. 0 or -ENOMEM. */
int slc_join(struct slc_code *code, struct slc_node *node, struct slc_node *before);

/* Gives a joined node up, of which too many executions have no memo, or too many keys. */
void slc_join_judge(struct slc_node *node);

/* Frees all joined nodes of `code`; or only what depends on control classes. */
void slc_joined_free(struct slc_code *code);
void slc_joined_forget(struct slc_code *code);

/* Before a joined node is passed: which of its joints something waited for before it; to
 * scan->joints. */
void slc_joints_pass(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node);

/* While its instructions are followed: whether something waited for joint `i`. */
bool slc_joint_pass(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node,
                    uint32_t i);

#endif
