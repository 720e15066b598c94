/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machine code that labels the executions of one node, made when it is first met. What a node uses and
 * defines is known by then; a loop that asks the lists again for each execution takes twice to three times as long,
 * mostly for branches that nobody can predict. Each node's code ends by jumping to the next one's.
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
 *       cmp   edx, [rsi + rax + 4]            ; (read at once, two that were stored each would have to wait)
 *       jne   slow
 *       cmp   edx, DEP_MIXED
 *       je    slow
 *       mov   [rbp + words], edx
 *
 * A slow way asks dep_machine.slow, which may put more words than one: rbp moves by as many.
 */
#include "wet/depend/label_code.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <wetdbg/errors.h>

#define MACHINE(field) ((int32_t)offsetof(struct dep_machine, field))
/* The code of one node takes NODE_BYTES_MAX at most: 64 instructions of four operands, each defined too. */
#define NODE_BYTES_MAX (128u << 10)
#define WAYS_MAX       1024

/* ---- instructions ---- */

static void branch(struct emit *e, uint8_t opcode, uint64_t target)
{
    emit_branch(e, opcode, target);
}

static void site_set(const struct emit *e, uint8_t *site, uint64_t target)
{
    uint32_t distance = (uint32_t)(target - ((uint64_t)(uintptr_t)site + e->host + 4));
    memcpy(site, &distance, sizeof(distance));
}

/* ---- what all nodes share ---- */

/* To the code of the next word's node. */
static void next_emit(struct emit *e, uint64_t at_end)
{
    BYTES(e, 0x4c, 0x39, 0xdb); /* cmp rbx, r11 */
    branch(e, IF_NOT_BELOW, at_end);
    load32(e, RAX, RBX, 0);
    emit_u8(e, 0x25); /* and eax, ...: agt_ring_fragment() */
    emit_u32(e, AGT_COUNT_MAX - 1);
    op_memory(e, false, 0x8b, RAX, R14, RAX, 4, MACHINE(codes));
    BYTES(e, 0x4c, 0x01, 0xd0, 0xff, 0xe0); /* add rax, r10; jmp rax */
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
    BYTES(&e, 0x48, 0x83, 0xc4, 0x08);                         /* add rsp, 8 */
    BYTES(&e, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c); /* pop r15, r14, r13, r12 */
    BYTES(&e, 0x5d, 0x5b, 0xc3);                               /* pop rbp, rbx; ret */
    for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        e = emit_from(code, ways[i].at, 16);
        emit_mov_imm(&e, RAX, ways[i].status);
        branch(&e, JMP, fixed_at(code, LEAVE_AT));
    }
    e = emit_from(code, FAILED_AT, LEAVE_AT - FAILED_AT);
    BYTES(&e, 0x48, 0x83, 0xc4, 0x08); /* add rsp, 8: the return address to a node */
    emit_mov_imm(&e, RAX, DEP_NO_MEMORY);
    branch(&e, JMP, fixed_at(code, LEAVE_AT));
}

/* Registers that a call does not keep and that follow from others. */
static void derived_emit(const struct dep_code *code, struct emit *e)
{
    emit_mov_imm(e, R10, (uintptr_t)code->runnable);
    load64(e, R11, R14, MACHINE(end));
    BYTES(e, 0x66, 0x49, 0x0f, 0x6e, 0xf5); /* movq xmm6, r13 */
    BYTES(e, 0x66, 0x0f, 0x6c, 0xf6);       /* punpcklqdq xmm6, xmm6 */
    BYTES(e, 0x66, 0x49, 0x0f, 0x6e, 0xfc); /* movq xmm7, r12 */
    BYTES(e, 0x66, 0x0f, 0x6c, 0xff);       /* punpcklqdq xmm7, xmm7 */
}

/* rsi: the operand, rcx: where labels go. Gives where they go on, in rax. */
static void slow_emit(struct dep_code *code)
{
    struct emit e = emit_from(code, SLOW_AT, ENTER_AT - SLOW_AT);

    BYTES(&e, 0x4c, 0x89, 0xf7); /* mov rdi, r14 */
    BYTES(&e, 0x48, 0x89, 0xda); /* mov rdx, rbx */
    BYTES(&e, 0x45, 0x89, 0xe0); /* mov r8d, r12d */
    BYTES(&e, 0x41, 0x51);       /* push r9: the stack is aligned too */
    op_memory(&e, false, 0xff, 2, R14, -1, 1, MACHINE(slow));
    BYTES(&e, 0x41, 0x59); /* pop r9 */
    derived_emit(code, &e);
    BYTES(&e, 0x48, 0x85, 0xc0); /* test rax, rax */
    branch(&e, IF_ZERO, fixed_at(code, FAILED_AT));
    emit_u8(&e, 0xc3);
}

static void enter_emit(struct dep_code *code)
{
    struct emit e = emit_from(code, ENTER_AT, FIXED_BYTES - ENTER_AT);

    BYTES(&e, 0x53, 0x55);                                     /* push rbx, rbp */
    BYTES(&e, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* push r12, r13, r14, r15 */
    BYTES(&e, 0x48, 0x83, 0xec, 0x08);                         /* sub rsp, 8 */
    BYTES(&e, 0x49, 0x89, 0xfe);                               /* mov r14, rdi */
    load64(&e, RBX, R14, MACHINE(words));
    load64(&e, RBP, R14, MACHINE(out));
    load64(&e, R12, R14, MACHINE(number_twice));
    load64(&e, R15, R14, MACHINE(last));
    emit_mov_imm(&e, R13, UINT64_C(0x100000001));
    BYTES(&e, 0x45, 0x31, 0xc9); /* xor r9d, r9d */
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

static void slow_if(struct node_code *node, struct way *way, uint8_t condition)
{
    way->slow[way->slow_count++] = emit_branch(&node->e, condition, 0);
}

/* eax: low half of a word of the record plus a constant; ecx: the two bytes above it. */
static void sum_emit(struct emit *e, int32_t disp, uint64_t more)
{
    load32(e, RAX, RBX, disp);
    load32(e, RCX, RBX, disp + 4);
    emit_u8(e, 0x05); /* add eax, */
    emit_u32(e, (uint32_t)more);
    BYTES(e, 0x81, 0xd1); /* adc ecx, */
    emit_u32(e, (uint32_t)(more >> 32));
    BYTES(e, 0x0f, 0xb7, 0xc9); /* movzx ecx, cx */
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
        op_memory(e, false, 0x0fb7, RCX, RBX, -1, 1, disp + 4);
    }
    op_memory(e, true, 0x8b, RSI, R14, RCX, 8, MACHINE(shadow.granules));
    BYTES(e, 0x48, 0x85, 0xf6); /* test rsi, rsi */
    slow_if(node, way, IF_ZERO);
}

/* Out of the way unless the operand lies in whole granules, or within one; in edx the granule's offset then. */
static void alignment_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    unsigned bytes = way->operand->size_bytes;

    if (bytes >= 4) {
        BYTES(e, 0xa8, (uint8_t)(bytes - 1)); /* test al, */
        slow_if(node, way, IF_NOT_ZERO);
        return;
    }
    if (bytes == 2) {
        BYTES(e, 0x8d, 0x50, 0x01, 0xf6, 0xc2, 0x03); /* lea edx, [rax + 1]; test dl, 3 */
        slow_if(node, way, IF_ZERO);
    }
    BYTES(e, 0x89, 0xc2, 0x83, 0xe2, 0xfc); /* mov edx, eax; and edx, -4 */
}

static void vectors_equal_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;

    BYTES(e, 0xf3, 0x0f, 0x6f, 0x04, 0x06); /* movdqu xmm0, [rsi + rax] */
    BYTES(e, 0x66, 0x0f, 0x70, 0xc8, 0x00); /* pshufd xmm1, xmm0, 0 */
    BYTES(e, 0x66, 0x0f, 0x7e, 0xc2);       /* movd edx, xmm0 */
    BYTES(e, 0x66, 0x0f, 0x76, 0xc1);       /* pcmpeqd xmm0, xmm1 */
    for (unsigned off = 16; off < way->operand->size_bytes; off += 16) {
        BYTES(e, 0xf3, 0x0f, 0x6f, 0x54, 0x06, (uint8_t)off); /* movdqu xmm2, [rsi + rax + off] */
        BYTES(e, 0x66, 0x0f, 0x76, 0xd1);                     /* pcmpeqd xmm2, xmm1 */
        BYTES(e, 0x66, 0x0f, 0xdb, 0xc2);                     /* pand xmm0, xmm2 */
    }
    BYTES(e, 0x66, 0x0f, 0xd7, 0xf8);             /* pmovmskb edi, xmm0 */
    BYTES(e, 0x81, 0xff, 0xff, 0xff, 0x00, 0x00); /* cmp edi, 0xffff */
    slow_if(node, way, IF_NOT_ZERO);
}

static void load_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;
    unsigned bytes = way->operand->size_bytes;

    address_emit(node, way);
    alignment_emit(node, way);
    if (bytes < 4) {
        BYTES(e, 0x8b, 0x14, 0x16); /* mov edx, [rsi + rdx] */
    } else if (bytes == 4) {
        BYTES(e, 0x8b, 0x14, 0x06); /* mov edx, [rsi + rax] */
    } else if (bytes == 8) {
        BYTES(e, 0x8b, 0x14, 0x06);       /* mov edx, [rsi + rax] */
        BYTES(e, 0x3b, 0x54, 0x06, 0x04); /* cmp edx, [rsi + rax + 4] */
        slow_if(node, way, IF_NOT_ZERO);
    } else {
        vectors_equal_emit(node, way);
    }
    BYTES(e, 0x83, 0xfa, 0xff); /* cmp edx, DEP_MIXED */
    if (bytes >= 4) {
        slow_if(node, way, IF_ZERO);
    } else if (bytes == 2) {
        way->mixed = emit_branch(e, IF_ZERO, 0);
    } else {
        uint8_t *whole = emit_branch(e, IF_NOT_ZERO, 0);
        op_memory(e, true, 0x8b, RSI, R14, RCX, 8, MACHINE(shadow.sides));
        BYTES(e, 0x8b, 0x14, 0x86); /* mov edx, [rsi + rax*4] */
        site_set(e, whole, emit_host(e));
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
        BYTES(e, 0x83, 0x3c, 0x16, 0xff); /* cmp dword [rsi + rdx], DEP_MIXED */
        slow_if(node, way, IF_NOT_ZERO);
        op_memory(e, true, 0x8b, RSI, R14, RCX, 8, MACHINE(shadow.sides));
        op_memory(e, bytes == 2, 0x89, R12, RSI, RAX, 4, 0);
    } else if (bytes <= 8) {
        op_memory(e, bytes == 8, 0x89, R12, RSI, RAX, 1, 0);
    } else {
        for (unsigned off = 0; off < bytes; off += 16)
            BYTES(e, 0xf3, 0x0f, 0x7f, 0x7c, 0x06,
                  (uint8_t)off); /* movdqu [rsi + rax + off], xmm7 */
    }
}

/* Calls for an operand; after it rbp is where it has to be for the words that follow. */
static void call_emit(struct node_code *node, const struct dep_operand *operand, uint32_t word)
{
    struct emit *e = &node->e;

    emit_mov_imm(e, RSI, (uintptr_t)operand);
    emit_lea(e, RCX, RBP, -1, 1, (int32_t)(4 * word), false);
    branch(e, CALL, fixed_at(node->code, SLOW_AT));
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

/* The bytes of a mixed granule have their labels beside it. */
static void mixed_emit(struct node_code *node, struct way *way)
{
    struct emit *e = &node->e;

    site_set(e, way->mixed, emit_host(e));
    op_memory(e, true, 0x8b, RSI, R14, RCX, 8, MACHINE(shadow.sides));
    BYTES(e, 0x48, 0x8b, 0x14, 0x86);                             /* mov rdx, [rsi + rax*4] */
    BYTES(e, 0x48, 0x89, 0xd7, 0x48, 0xc1, 0xef, 32, 0x39, 0xd7); /* both the same? */
    slow_if(node, way, IF_NOT_ZERO);
    store32(e, RDX, RBP, (int32_t)(4 * way->word));
    branch(e, JMP, way->back);
}

static void way_emit(struct node_code *node, struct way *way)
{
    if (way->mixed)
        mixed_emit(node, way);
    for (unsigned i = 0; i < way->slow_count; i++)
        site_set(&node->e, way->slow[i], emit_host(&node->e));
    call_emit(node, way->operand, way->word);
    branch(&node->e, JMP, way->back);
}

/* ---- one node ---- */

static void node_emit(struct node_code *code, const struct dep_node *node,
                      const struct dep_lists *lists, uint32_t id)
{
    struct emit *e = &code->e;

    BYTES(e, 0x4d, 0x01, 0xec);       /* add r12, r13 */
    BYTES(e, 0x66, 0x0f, 0xfe, 0xfe); /* paddd xmm7, xmm6 */
    BYTES(e, 0x49, 0x81, 0xc1);       /* add r9, ... */
    emit_u32(e, node->is.statement_count << DEP_COUNTED_LOAD_BITS | node->load_count);
    emit_store_imm(e, RBP, 0, id);
    code->word = 1 + dep_inputs_emit(e, lists);
    for (unsigned i = 0; i < node->operand_count; i++)
        operand_emit(code, &node->operands[i]);
    dep_defs_emit(e, &node->defines);
    emit_lea(e, RBX, RBX, -1, 1, (int32_t)(8 * (1 + node->word_count)), false);
    emit_lea(e, RBP, RBP, -1, 1, (int32_t)(4 * code->word), false);
    next_emit(e, fixed_at(code->code, AT_END_AT));
}

/* In the cold half, so that what always runs lies close together. */
static void ways_emit(struct node_code *code)
{
    for (unsigned i = 0; i < code->way_count; i++)
        way_emit(code, &code->ways[i]);
}

int dep_code_make(struct dep_code *code, const struct dep_node *node, const struct dep_lists *lists,
                  uint32_t id, uint32_t *place)
{
    struct node_code made; /* large: not cleared */

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
