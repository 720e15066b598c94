/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/joined.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/scan/scan.h"

#define NODES_MAX      4096 /* joined ones of a code */
#define STATEMENTS_MAX 64   /* of one: as many as a memo can have */
#define STORES_MAX     12
#define KEYS_MAX       12
#define SPOILS_MAX     32

void slc_joining_init(struct slc_node *node)
{
    node->joining = (struct slc_joining){.head = node, .node_count = 1};
    for (unsigned i = 0; i < SLC_JOINS; i++)
        node->joining.joins[i].before = UINT32_MAX;
}

/* ---- making one ---- */

/* Nodes of which slots choose what they use have a memo for each choice: joined, too many. */
static bool can_join(const struct slc_node *node, const struct slc_node *before)
{
    return node->memos.is_fit && before->memos.is_fit && !node->compiled.pick_slots &&
           !before->compiled.pick_slots && before->function && before->function == node->function &&
           !(before->flags & (SLC_NODE_CALL | SLC_NODE_RET | SLC_NODE_INDIRECT)) &&
           node->statement_count + before->statement_count <= STATEMENTS_MAX &&
           node->store_count + before->store_count <= STORES_MAX &&
           node->joining.node_count < SLC_NODES_MAX;
}

static void free_node(struct slc_node *node)
{
    free((void *)node->wet);
    free(node->stores);
    free(node->pc_index);
    free(node->pushed);
    free(node->compiled.ops);
    free(node->compiled.choices);
    free(node->joining.joints);
    slc_memos_free(&node->memos);
    free(node);
}

/* The two as one node of the file would be, with its statements behind it. */
static struct wet_node *join_wet(const struct wet_node *a, const struct wet_node *b)
{
    uint32_t count = a->statement_count + b->statement_count;
    struct wet_node *wet = malloc(sizeof(*wet) + count * sizeof(*wet->statements));

    if (!wet)
        return NULL;
    struct wet_statement *statements = (struct wet_statement *)(wet + 1);
    memcpy(statements, a->statements, a->statement_count * sizeof(*statements));
    for (uint32_t s = 0; s < b->statement_count; s++) {
        statements[a->statement_count + s] = b->statements[s];
        statements[a->statement_count + s].slot += (uint16_t)a->slot_count;
    }
    *wet = *a;
    wet->statement_count = count;
    wet->slot_count = a->slot_count + b->slot_count;
    wet->statements = statements;
    return wet;
}

/* Ways stay those of the nodes that it is made of. */
static int join_ops(struct slc_op_list *list, const struct slc_node *a, const struct slc_node *b)
{
    uint32_t shift = a->statement_count, choices = a->compiled.choice_count;
    uint16_t slots = (uint16_t)a->wet->slot_count;

    list->ops = malloc((shift + b->statement_count) * sizeof(*list->ops));
    list->choices = malloc((choices + b->compiled.choice_count + 1) * sizeof(*list->choices));
    if (!list->ops || !list->choices)
        return -ENOMEM;
    memcpy(list->ops, a->compiled.ops, shift * sizeof(*list->ops));
    for (uint32_t s = 0; s < b->statement_count; s++) {
        struct slc_op *op = &list->ops[shift + s];
        *op = b->compiled.ops[s];
        op->slot += slots;
        op->store_slot += slots;
        op->choice_slot += slots;
    }
    if (choices)
        memcpy(list->choices, a->compiled.choices, choices * sizeof(*list->choices));
    for (uint32_t i = 0; i < b->compiled.choice_count; i++) {
        struct slc_choice choice = b->compiled.choices[i];
        list->choices[choices + i] =
            (struct slc_choice){choice.statement + shift, (uint16_t)(choice.slot + slots)};
    }
    list->choice_count = choices + b->compiled.choice_count;
    return 0;
}

static int join_statements(struct slc_node *node, const struct slc_node *a,
                           const struct slc_node *b)
{
    uint32_t shift = a->statement_count, count = shift + b->statement_count;

    node->stores = malloc((a->store_count + b->store_count + 1) * sizeof(*node->stores));
    node->pc_index = malloc(count * sizeof(*node->pc_index));
    node->pushed = malloc(2 * (size_t)count);
    node->popped = node->pushed ? node->pushed + count : NULL;
    if (!node->stores || !node->pc_index || !node->pushed)
        return -ENOMEM;
    memcpy(node->stores, a->stores, a->store_count * sizeof(*node->stores));
    for (uint32_t i = 0; i < b->store_count; i++) {
        struct slc_store *store = &node->stores[a->store_count + i];
        *store = b->stores[i];
        store->statement += (uint16_t)shift;
        store->slot += (uint16_t)a->wet->slot_count;
    }
    memcpy(node->pc_index, a->pc_index, shift * sizeof(*node->pc_index));
    memcpy(node->pc_index + shift, b->pc_index, b->statement_count * sizeof(*node->pc_index));
    memcpy(node->pushed, a->pushed, shift);
    memcpy(node->pushed + shift, b->pushed, b->statement_count);
    memcpy(node->popped, a->popped, shift);
    memcpy(node->popped + shift, b->popped, b->statement_count);
    return 0;
}

static int join_joints(struct slc_node *node, const struct slc_node *a, const struct slc_node *b)
{
    struct slc_joining *joining = &node->joining;

    joining->joints = malloc((b->joining.joint_count + 1) * sizeof(*joining->joints));
    if (!joining->joints)
        return -ENOMEM;
    if (a->flags & SLC_NODE_BRANCH)
        joining->joints[joining->joint_count++] =
            (struct slc_joint){a->last_pc, a->branch_bit, a->statement_count - 1};
    for (uint32_t i = 0; i < b->joining.joint_count; i++) {
        joining->joints[joining->joint_count] = b->joining.joints[i];
        joining->joints[joining->joint_count++].statement += a->statement_count;
    }
    return 0;
}

/* `a` and then `b`; NULL if memory is short. */
static struct slc_node *node_make(struct slc_node *a, struct slc_node *b)
{
    struct slc_node *node = aligned_alloc(64, (sizeof(*node) + 63) & ~(size_t)63);

    if (!node)
        return NULL;
    *node = *a; /* as it begins, but for: */
    node->memos = (struct slc_memos){0};
    node->glance = NULL;
    node->needs = NULL;
    node->stores = NULL;
    node->pc_index = NULL;
    node->pushed = node->popped = NULL;
    node->compiled = (struct slc_op_list){0};
    slc_joining_init(node);
    node->is_joined = true;
    node->has_joins = false;
    node->joining.head = a;
    node->joining.rest = b;
    node->joining.node_count = (uint8_t)(b->joining.node_count + 1);
    node->wet = join_wet(a->wet, b->wet);
    if (!node->wet || join_ops(&node->compiled, a, b) || join_statements(node, a, b) ||
        join_joints(node, a, b)) {
        free_node(node);
        return NULL;
    }
    ins_regset_join(&node->defs, &b->defs);
    node->statement_count = a->statement_count + b->statement_count;
    node->store_count = a->store_count + b->store_count;
    node->has_pops |= b->has_pops;
    node->flags = b->flags;
    node->exit_slot = b->exit_slot == SLC_UNKNOWN ? SLC_UNKNOWN : b->exit_slot + a->wet->slot_count;
    node->last_pc = b->last_pc;
    node->branch_bit = b->branch_bit;
    slc_memos_init(node);
    return node;
}

int slc_join(struct slc_code *code, struct slc_node *node, struct slc_node *before)
{
    struct slc_join *join = node->joining.joins;

    if (code->joined_count == NODES_MAX || !can_join(node, before))
        return 0;
    while (join < node->joining.joins + SLC_JOINS && join->before != UINT32_MAX)
        if ((join++)->before == before->wet->id)
            return 0;
    if (join == node->joining.joins + SLC_JOINS)
        return 0;
    if (wd_grow(code->joined, code->joined_capacity, code->joined_count + 1))
        return -ENOMEM;
    struct slc_node *made = node_make(before, node);
    if (!made)
        return -ENOMEM;
    assert(made->memos.is_fit);
    code->joined[code->joined_count++] = made;
    *join = (struct slc_join){before->wet->id, made};
    node->has_joins = true;
    return 0;
}

void slc_join_judge(struct slc_node *node)
{
    struct slc_node *rest = node->joining.rest;

    if (!rest || (++node->joining.spoils < SPOILS_MAX && node->memos.count < KEYS_MAX))
        return;
    for (unsigned i = 0; i < SLC_JOINS; i++)
        if (rest->joining.joins[i].node == node)
            rest->joining.joins[i].node = NULL;
}

void slc_joined_free(struct slc_code *code)
{
    for (uint32_t i = 0; i < code->joined_count; i++)
        free_node(code->joined[i]);
    free(code->joined);
}

void slc_joined_forget(struct slc_code *code)
{
    for (uint32_t i = 0; i < code->joined_count; i++) {
        struct slc_node *node = code->joined[i];
        slc_memos_free(&node->memos);
        for (uint32_t s = 0; s < node->statement_count; s++)
            node->compiled.ops[s].klass = SLC_UNKNOWN;
    }
}

/* ---- passing one ---- */

/* What waits for a joint does so since before the node, or for an instance in it: who passes the
 * node takes out the former of all joints first. */
void slc_joints_pass(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node)
{
    const struct slc_joining *joining = &node->joining;

    scan->joints = 0;
    for (uint32_t i = joining->joint_count; i-- > 0;)
        if (slc_frames_top(&task->frames)->bloom & joining->joints[i].bit &&
            slc_frames_guard(&task->frames, scan->code->classes, joining->joints[i].pc))
            scan->joints |= 1u << i;
}

bool slc_joint_pass(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node,
                    uint32_t i)
{
    const struct slc_joint *joint = &node->joining.joints[i];
    bool is_control = scan->joints >> i & 1;

    if (slc_frames_top(&task->frames)->bloom & joint->bit &&
        slc_frames_guard(&task->frames, scan->code->classes, joint->pc))
        is_control = true;
    if (!scan->draft)
        return is_control;
    for (unsigned k = 0; k < scan->draft->class_count;) {
        uint32_t *klass = &scan->draft->classes[k];
        if (slc_class_has(&scan->code->classes[*klass], joint->pc))
            *klass = scan->draft->classes[--scan->draft->class_count];
        else
            k++;
    }
    return is_control;
}
