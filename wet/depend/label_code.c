/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machine code that labels the executions of one node, made when it is first met. What a node uses
 * and defines is known by then; a loop that asks the lists again for each execution takes twice to
 * three times as long, mostly for branches that nobody can predict. Each node's code ends by
 * jumping to the next one's.
 *
 *   rbx  the execution's word in the ring (agt_ring_word); its slots follow
 *   rbp  where its words go
 *   r12  its number, in both halves
 *   r13  1 in both halves
 *   r14  struct dep_machine
 *   r15  labels of the registers' pieces, by place (dep_place)
 *   r9   dep_machine.counted
 *   r10  the code's start
 *   r11  the end of the words
 *   xmm6, xmm7: r13 and r12 twice
 *
 * The code for a load of eight bytes, behind which are its ways out:
 *
 *       mov   eax, [rbx + slot]               ; low half of the address
 *       movzx ecx, word [rbx + slot + 4]      ; its chunk
 *       mov   rsi, [r14 + rcx*8 + granules]
 *       test  rsi, rsi
 *       jz    slow
 *       test  al, 7                           ; so that it lies in one chunk and in whole granules
 *       jnz   slow
 *       mov   edx, [rsi + rax]
 *       cmp   edx, [rsi + rax + 4]            ; (read at once, two that were stored each would have
 *             to wait)
 *       jne   slow
 *       cmp   edx, DEP_MIXED
 *       je    slow
 *       mov   [rbp + words], edx
 *
 * A slow way asks dep_machine.slow, which may put more words than one: rbp moves by as many.
 */
#include "wet/depend/label_code.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#define MACHINE(field) ((int32_t)offsetof(struct dep_machine, field))
/* The code of one node takes NODE_BYTES_MAX at most: 64 instructions of four operands, each defined
 * too. */
#define NODE_BYTES_MAX (128u << 10)
#define WAYS_MAX       1024

/* ---- what all nodes share ---- */

/* Emits the jump to the code of the next word's node. */
static void next_emit(struct emit *e, uint64_t at_end)
{
    emit_op(e, true, EMIT_CMP_TO, R11, RBX);
    emit_branch(e, EMIT_IF_NOT_BELOW, at_end);
    load32(e, RAX, RBX, 0);
    emit_arith_eax(e, EMIT_AND, AGT_COUNT_MAX - 1); /* agt_ring_fragment() */
    emit_op_memory(e, false, EMIT_MOV_FROM, RAX, R14, RAX, 4, MACHINE(codes));
    emit_op(e, true, EMIT_ADD_TO, R10, RAX);
    emit_jmp_reg(e, RAX);
}

/* Offsets of the shared pieces from the start. */
#define UNKNOWN_AT  0 /* so says dep_machine.codes */
#define AT_END_AT   16
#define FAILED_AT   32
#define LEAVE_AT    64
#define SLOW_AT     128
#define ENTER_AT    256
#define FIXED_BYTES 512

static struct emit emit_from(const struct dep_code *code, size_t off, size_t bytes)
{
    return (struct emit){.at = code->writable + off,
                         .limit = code->writable + off + bytes,
                         .host = (uintptr_t)code->runnable - (uintptr_t)code->writable};
}

static uint64_t fixed_at(const struct dep_code *code, size_t off)
{
    return (uintptr_t)code->runnable + off;
}

/* Registers that belong to whoever enters, in the order in which they are pushed. */
static const uint8_t kept[] = {RBX, RBP, R12, R13, R14, R15};
#define KEPT_COUNT (sizeof(kept) / sizeof(kept[0]))

static void leave_emit(struct dep_code *code)
{
    static const struct {
        size_t at;
        enum dep_status status;
    } ways[] = {{UNKNOWN_AT, DEP_UNKNOWN}, {AT_END_AT, DEP_AT_END}};
    struct emit e = emit_from(code, LEAVE_AT, SLOW_AT - LEAVE_AT);

    store64(&e, RBX, R14, MACHINE(words));
    store64(&e, RBP, R14, MACHINE(out));
    store64(&e, R12, R14, MACHINE(number_twice));
    store64(&e, R9, R14, MACHINE(counted));
    emit_arith_imm8(&e, true, EMIT_ADD, RSP, 8);
    for (unsigned i = KEPT_COUNT; i-- > 0;)
        emit_pop(&e, kept[i]);
    emit_ret(&e);
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        e = emit_from(code, ways[i].at, 16);
        emit_mov_imm(&e, RAX, ways[i].status);
        emit_branch(&e, EMIT_JMP, fixed_at(code, LEAVE_AT));
    }
    e = emit_from(code, FAILED_AT, LEAVE_AT - FAILED_AT);
    emit_arith_imm8(&e, true, EMIT_ADD, RSP, 8); /* the return address to a node */
    emit_mov_imm(&e, RAX, DEP_NO_MEMORY);
    emit_branch(&e, EMIT_JMP, fixed_at(code, LEAVE_AT));
}

/* Registers that a call does not keep and that follow from others. */
static void derived_emit(const struct dep_code *code, struct emit *e)
{
    emit_mov_imm(e, R10, (uintptr_t)code->runnable);
    load64(e, R11, R14, MACHINE(end));
    emit_xmm_from_reg(e, 6, R13);
    emit_xmm_op(e, EMIT_PUNPCKLQDQ, 6, 6);
    emit_xmm_from_reg(e, 7, R12);
    emit_xmm_op(e, EMIT_PUNPCKLQDQ, 7, 7);
}

/* Emits the call of the slow way. rsi: the operand, rcx: where labels go. Gives where they go on,
 * in rax. */
static void slow_emit(struct dep_code *code)
{
    struct emit e = emit_from(code, SLOW_AT, ENTER_AT - SLOW_AT);

    emit_op(&e, true, EMIT_MOV_TO, R14, RDI);
    emit_op(&e, true, EMIT_MOV_TO, RBX, RDX);
    emit_op(&e, false, EMIT_MOV_TO, R12, R8);
    emit_push(&e, R9); /* the stack is aligned too */
    emit_call_memory(&e, R14, MACHINE(slow));
    emit_pop(&e, R9);
    derived_emit(code, &e);
    emit_op(&e, true, EMIT_TEST, RAX, RAX);
    emit_branch(&e, EMIT_IF_ZERO, fixed_at(code, FAILED_AT));
    emit_ret(&e);
}

static void enter_emit(struct dep_code *code)
{
    struct emit e = emit_from(code, ENTER_AT, FIXED_BYTES - ENTER_AT);

    for (unsigned i = 0; i < KEPT_COUNT; i++)
        emit_push(&e, kept[i]);
    emit_arith_imm8(&e, true, EMIT_SUB, RSP, 8);
    emit_op(&e, true, EMIT_MOV_TO, RDI, R14);
    load64(&e, RBX, R14, MACHINE(words));
    load64(&e, RBP, R14, MACHINE(out));
    load64(&e, R12, R14, MACHINE(number_twice));
    load64(&e, R15, R14, MACHINE(last));
    emit_mov_imm(&e, R13, UINT64_C(0x100000001));
    emit_op(&e, false, EMIT_XOR_TO, R9, R9);
    derived_emit(code, &e);
    next_emit(&e, fixed_at(code, AT_END_AT));
}

static int maps_make(struct dep_code *code, int fd)
{
    if (ftruncate(fd, (off_t)DEP_CODE_BYTES))
        return -errno;
    void *at = mmap(NULL, DEP_CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    code->writable = at;
    at = mmap(NULL, DEP_CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    code->runnable = at;
    return 0;
}

int dep_code_init(struct dep_code *code)
{
    *code = (struct dep_code){0};
    int fd = memfd_create("wetdbg-labels", MFD_CLOEXEC);
    int err = fd < 0 ? -errno : maps_make(code, fd);

    if (fd >= 0)
        close(fd);
    if (err)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "no memory for code that finds dependences: %s",
                           strerror(-err));
    leave_emit(code);
    slow_emit(code);
    enter_emit(code);
    void *enter = code->runnable + ENTER_AT;
    memcpy(&code->enter, &enter, sizeof(enter));
    dep_code_forget(code);
    return 0;
}

void dep_code_fini(struct dep_code *code)
{
    if (code->writable)
        munmap(code->writable, DEP_CODE_BYTES);
    if (code->runnable)
        munmap(code->runnable, DEP_CODE_BYTES);
    *code = (struct dep_code){0};
}

void dep_code_forget(struct dep_code *code)
{
    code->hot_bytes = FIXED_BYTES;
    code->cold_bytes = 0;
}

/* ---- one node: operands ---- */

/* A way out of the straight code, and back. */
struct way {
    const struct dep_operand *operand;
    uint8_t *slow[4]; /* branches that take it */
    uint8_t *mixed;   /* one that does if the granule is mixed; NULL: none */
    unsigned slow_count;
    uint32_t word; /* where the operand's label goes */
    uint64_t back;
};

struct node_code {
    const struct dep_code *code;
    struct emit e;
    struct way ways[WAYS_MAX];
    unsigned way_count;
    uint32_t word; /* the next label's */
};

static void slow_if(struct node_code *node, struct way *way, enum emit_branch condition)
{
    way->slow[way->slow_count++] = emit_branch(&node->e, condition, 0);
}

/* eax: low half of a word of the record plus a constant; ecx: the two bytes above it. */
static void sum_emit(struct emit *e, int32_t disp, uint64_t more)
{
    load32(e, RAX, RBX, disp);
    load32(e, RCX, RBX, disp + 4);
    emit_arith_eax(e, EMIT_ADD, (uint32_t)more);
    emit_arith_imm32(e, false, EMIT_ADC, RCX, (uint32_t)(more >> 32));
    emit_op(e, false, EMIT_MOVZX16, RCX, RCX);
}

/* eax: low half of the address, rcx: chunk, rsi: the chunk's granules */
static void address_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    int32_t disp = 8 * way->operand->word;
    uint64_t more = (uint64_t)way->operand->more;

    if (!way->operand->word) {
        emit_mov_imm(e, RAX, (uint32_t)more);
        emit_mov_imm(e, RCX, more >> 32 & 0xffff);
    } else if (more) {
        sum_emit(e, disp, more);
    } else {
        load32(e, RAX, RBX, disp);
        emit_op_memory(e, false, EMIT_MOVZX16, RCX, RBX, -1, 1, disp + 4);
    }
    emit_op_memory(e, true, EMIT_MOV_FROM, RSI, R14, RCX, 8, MACHINE(shadow.granules));
    emit_op(e, true, EMIT_TEST, RSI, RSI);
    slow_if(node, way, EMIT_IF_ZERO);
}

/* Emits the tests that leave the straight way unless the operand lies in whole granules, or within
 * one; in edx the granule's offset then. */
static void alignment_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    unsigned bytes = way->operand->size_bytes;

    if (bytes >= 4) {
        emit_test_al(e, (uint8_t)(bytes - 1));
        slow_if(node, way, EMIT_IF_NOT_ZERO);
        return;
    }
    if (bytes == 2) {
        emit_op_memory(e, false, EMIT_LEA, RDX, RAX, -1, 1, 1);
        emit_test_imm8(e, RDX, 3);
        slow_if(node, way, EMIT_IF_ZERO);
    }
    emit_op(e, false, EMIT_MOV_TO, RAX, RDX);
    emit_arith_imm8(e, false, EMIT_AND, RDX, (uint8_t)-4);
}

static void vectors_equal_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;

    emit_load_xmm_sum(e, 0, RSI, RAX);
    emit_xmm_spread32(e, 1, 0);
    emit_reg32_from_xmm(e, RDX, 0);
    emit_xmm_op(e, EMIT_PCMPEQD, 0, 1);
    for (unsigned off = 16; off < way->operand->size_bytes; off += 16) {
        emit_load_xmm_index(e, 2, RSI, RAX, (int32_t)off);
        emit_xmm_op(e, EMIT_PCMPEQD, 2, 1);
        emit_xmm_op(e, EMIT_PAND, 0, 2);
    }
    emit_xmm_mask(e, RDI, 0);
    emit_arith_imm32(e, false, EMIT_CMP, RDI, 0xffff);
    slow_if(node, way, EMIT_IF_NOT_ZERO);
}

static void load_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    unsigned bytes = way->operand->size_bytes;

    address_emit(node, way);
    alignment_emit(node, way);
    if (bytes < 4) {
        emit_op_sum(e, false, EMIT_MOV_FROM, RDX, RSI, RDX, 1);
    } else if (bytes == 4) {
        emit_op_sum(e, false, EMIT_MOV_FROM, RDX, RSI, RAX, 1);
    } else if (bytes == 8) {
        emit_op_sum(e, false, EMIT_MOV_FROM, RDX, RSI, RAX, 1);
        emit_op_memory(e, false, EMIT_CMP_FROM, RDX, RSI, RAX, 1, 4);
        slow_if(node, way, EMIT_IF_NOT_ZERO);
    } else {
        vectors_equal_emit(node, way);
    }
    emit_arith_imm8(e, false, EMIT_CMP, RDX, (uint8_t)DEP_MIXED);
    if (bytes >= 4) {
        slow_if(node, way, EMIT_IF_ZERO);
    } else if (bytes == 2) {
        way->mixed = emit_branch(e, EMIT_IF_ZERO, 0);
    } else {
        uint8_t *whole = emit_branch(e, EMIT_IF_NOT_ZERO, 0);
        emit_op_memory(e, true, EMIT_MOV_FROM, RSI, R14, RCX, 8, MACHINE(shadow.sides));
        emit_op_sum(e, false, EMIT_MOV_FROM, RDX, RSI, RAX, 4);
        emit_land(e, whole);
    }
    store32(e, RDX, RBP, (int32_t)(4 * way->word));
}

static void store_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    unsigned bytes = way->operand->size_bytes;

    address_emit(node, way);
    alignment_emit(node, way);
    if (bytes < 4) {
        emit_cmp_sum_imm8(e, RSI, RDX, (uint8_t)DEP_MIXED);
        slow_if(node, way, EMIT_IF_NOT_ZERO);
        emit_op_memory(e, true, EMIT_MOV_FROM, RSI, R14, RCX, 8, MACHINE(shadow.sides));
        emit_op_memory(e, bytes == 2, EMIT_MOV_TO, R12, RSI, RAX, 4, 0);
    } else if (bytes <= 8) {
        emit_op_memory(e, bytes == 8, EMIT_MOV_TO, R12, RSI, RAX, 1, 0);
    } else {
        for (unsigned off = 0; off < bytes; off += 16)
            emit_store_xmm_index(e, RSI, RAX, (int32_t)off, 7);
    }
}

/* Emits the call for an operand; after it rbp is where it has to be for the words that follow. */
static void call_emit(struct node_code *node, const struct dep_operand *operand, uint32_t word)
{
    struct emit *e = &node->e;

    emit_mov_imm(e, RSI, (uintptr_t)operand);
    emit_lea(e, RCX, RBP, -1, 1, (int32_t)(4 * word), false);
    emit_branch(e, EMIT_CALL, fixed_at(node->code, SLOW_AT));
    if (operand->access & DEP_LOAD)
        emit_lea(e, RBP, RAX, -1, 1, -(int32_t)(4 * (word + 1)), false);
}

static bool is_usual(const struct dep_operand *operand)
{
    unsigned bytes = operand->size_bytes;

    return !(operand->access & DEP_HARD) && bytes && bytes <= 64 && (bytes & (bytes - 1)) == 0;
}

static void operand_emit(struct node_code *node, const struct dep_operand *operand)
{
    if (!is_usual(operand)) {
        call_emit(node, operand, node->word);
    } else {
        struct way *way = &node->ways[node->way_count++];
        *way = (struct way){.operand = operand, .word = node->word};
        if (operand->access & DEP_LOAD)
            load_emit(node, way);
        else
            store_emit(node, way);
        way->back = emit_host(&node->e);
    }
    node->word += (operand->access & DEP_LOAD) != 0;
}

/* Emits what a mixed granule needs, whose bytes have their labels beside it. */
static void mixed_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;

    emit_land(e, way->mixed);
    emit_op_memory(e, true, EMIT_MOV_FROM, RSI, R14, RCX, 8, MACHINE(shadow.sides));
    emit_op_sum(e, true, EMIT_MOV_FROM, RDX, RSI, RAX, 4);
    emit_op(e, true, EMIT_MOV_TO, RDX, RDI); /* both the same? */
    emit_shift(e, true, EMIT_SHR, RDI, 32);
    emit_op(e, false, EMIT_CMP_TO, RDX, RDI);
    slow_if(node, way, EMIT_IF_NOT_ZERO);
    store32(e, RDX, RBP, (int32_t)(4 * way->word));
    emit_branch(e, EMIT_JMP, way->back);
}

static void way_emit(struct node_code *node, struct way *way)
{
    if (way->mixed)
        mixed_emit(node, way);
    for (unsigned i = 0; i < way->slow_count; i++)
        emit_land(&node->e, way->slow[i]);
    call_emit(node, way->operand, way->word);
    emit_branch(&node->e, EMIT_JMP, way->back);
}

/* ---- one node ---- */

static void node_emit(struct node_code *code, const struct dep_node *node,
                      const struct dep_lists *lists, uint32_t id)
{
    struct emit *e = &code->e;

    emit_op(e, true, EMIT_ADD_TO, R13, R12);
    emit_xmm_op(e, EMIT_PADDD, 7, 6);
    emit_arith_imm32(e, true, EMIT_ADD, R9,
                     node->is.statement_count << DEP_COUNTED_LOAD_BITS | node->load_count);
    emit_store_imm(e, RBP, 0, id);
    code->word = 1 + dep_inputs_emit(e, lists);
    for (unsigned i = 0; i < node->operand_count; i++)
        operand_emit(code, &node->operands[i]);
    dep_defs_emit(e, &node->defines);
    emit_lea(e, RBX, RBX, -1, 1, (int32_t)(8 * (1 + node->word_count)), false);
    emit_lea(e, RBP, RBP, -1, 1, (int32_t)(4 * code->word), false);
    next_emit(e, fixed_at(code->code, AT_END_AT));
}

/* Emits the ways out in the cold half, so that what always runs lies close together. */
static void ways_emit(struct node_code *code)
{
    for (unsigned i = 0; i < code->way_count; i++)
        way_emit(code, &code->ways[i]);
}

int dep_code_make(struct dep_code *code, const struct dep_node *node, const struct dep_lists *lists,
                  uint32_t id, uint32_t *place)
{
    struct node_code made; /* large: not cleared */

    assert(id < AGT_COUNT_MAX);
    if (DEP_CODE_BYTES / 2 - code->hot_bytes < 2 * NODE_BYTES_MAX ||
        DEP_CODE_BYTES / 2 - code->cold_bytes < 2 * NODE_BYTES_MAX)
        return -ENOSPC;
    made.code = code;
    made.way_count = 0;
    made.e = emit_from(code, code->hot_bytes, NODE_BYTES_MAX);
    size_t at = code->hot_bytes;
    node_emit(&made, node, lists, id);
    struct emit hot = made.e;
    made.e = emit_from(code, DEP_CODE_BYTES / 2 + code->cold_bytes, NODE_BYTES_MAX);
    ways_emit(&made);
    if (hot.overflow || made.e.overflow)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "too many operands in the code at %#llx",
                           (unsigned long long)node->is.pc);
    *place = (uint32_t)at;
    code->hot_bytes = (size_t)(hot.at - code->writable + 15) & ~(size_t)15;
    code->cold_bytes = (size_t)(made.e.at - code->writable) - DEP_CODE_BYTES / 2;
    return 0;
}
