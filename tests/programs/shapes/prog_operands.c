/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operands that lie a constant apart, and ones that only seem to: bases and indices copied, moved by
 * constants, by other things and by halves; the stack pointer by all that moves it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Below 4 GiB, so that addresses of 32 bits reach it. */
#define BUFFER_BYTES 16384
#define ROUNDS       400

void operands_run(uint8_t *buffer, uint64_t round);
void operands_gather(uint8_t *buffer);
extern uint64_t operands_table[16];

__asm__(".intel_syntax noprefix\n"
        ".data\n"
        ".balign 64\n"
        "operands_table: .fill 16, 8, 3\n"
        ".text\n"
        ".globl operands_run\n"
        "operands_run:\n"
        "    push rbx\n"
        "    push rbp\n"
        "    push r12\n"
        "    push r15\n"
        "    mov  rbx, rdi\n"
        "    mov  r15, rsi\n"
        /* copies, and constants added to them */
        "    mov  rcx, rbx\n"
        "    mov  rax, [rcx + 8]\n"
        "    add  [rbx + 16], rax\n"
        "    add  rcx, 24\n"
        "    add  [rcx], rsi\n"
        "    sub  rcx, -8\n"
        "    mov  [rcx + 8], rax\n"
        "    inc  rcx\n"
        "    movzx eax, byte ptr [rcx]\n"
        "    dec  rcx\n"
        "    mov  [rcx], rax\n"
        "    lea  rdx, [rcx + 40]\n"
        "    add  [rdx - 8], r15\n"
        "    lea  rdx, [rdx + r15]\n"
        "    mov  al, [rdx + 3]\n"
        "    lea  r12, [rbx + 64]\n"
        "    lea  r12, [r12 - 32]\n"
        "    mov  r15, r12\n"
        "    add  qword ptr [r15 + 8], 5\n"
        "    mov  r15, rsi\n"
        /* half and quarter registers */
        "    mov  edx, 3\n"
        "    mov  rax, [rbx + rdx * 8]\n"
        "    add  edx, 1\n"
        "    mov  rax, [rbx + rdx * 8]\n"
        "    add  rdx, 1\n"
        "    add  [rbx + rdx * 8], rax\n"
        "    dec  dl\n"
        "    mov  rax, [rbx + rdx * 8 + 16]\n"
        "    mov  dh, 1\n"
        "    mov  rax, [rbx + rdx * 8 + 16]\n"
        "    mov  edx, edx\n"
        "    mov  rax, [rbx + rdx * 4]\n"
        "    mov  rax, [rbx + rdx * 8]\n"
        "    mov  ecx, ebx\n"
        "    mov  rax, [rcx + 8]\n"
        "    mov  cx, 16\n"
        "    mov  rcx, rbx\n"
        /* addresses of 32 bits */
        "    mov  rdx, 0x100000000\n"
        "    add  rdx, rbx\n"
        "    mov  rax, [rbx + 8]\n"
        "    mov  rax, [edx + 8]\n"
        "    lea  rdx, [edx + 16]\n"
        "    mov  rax, [rdx]\n"
        "    add  edx, 8\n"
        "    mov  rax, [rdx + 8]\n"
        /* what writes a base perhaps, or otherwise */
        "    mov  rdx, rbx\n"
        "    lea  r8, [rbx + 128]\n"
        "    test r15, 1\n"
        "    mov  rax, [rdx + 32]\n"
        "    cmovz rdx, r8\n"
        "    mov  rax, [rdx + 32]\n"
        "    xchg rdx, r8\n"
        "    mov  rax, [rdx + 40]\n"
        "    mov  rax, [r8 + 40]\n"
        "    xor  eax, eax\n"
        "    lock cmpxchg [rbx + 256], r8\n"
        "    mov  r9d, 7\n"
        "    lock xadd [rbx + 264], r9\n"
        "    and  r9d, 31\n"
        "    mov  rax, [rbx + r9]\n"
        "    bswap r8\n"
        "    bswap r8\n"
        "    mov  rax, [r8 + 40]\n"
        "    neg  r9\n"
        "    mov  rax, [rbx + r9 + 64]\n"
        "    mov  eax, 9\n"
        "    mul  r9d\n"
        "    and  edx, 7\n"
        "    mov  rax, [rbx + rdx]\n"
        /* known addresses */
        "    lea  rdi, [rip + operands_table]\n"
        "    add  [rdi + 8], r15\n"
        "    mov  rax, [rip + operands_table + 8]\n"
        "    add  rdi, 16\n"
        "    mov  rax, [rdi]\n"
        "    mov  eax, 3\n"
        "    mov  rax, [rdi + rax * 8]\n"
        "    add  rdi, rax\n"
        "    sub  rdi, rax\n"
        "    mov  rax, [rdi + 8]\n"
        "    mov  rax, fs:[0]\n"
        "    mov  rax, [rax]\n"
        "    mov  rax, fs:[0]\n"
        "    mov  [rdi], r15\n"
        /* strings move their pointers */
        "    lea  rsi, [rbx + 512]\n"
        "    lea  rdi, [rbx + 1024]\n"
        "    lodsq\n"
        "    mov  rax, [rsi]\n"
        "    movsq\n"
        "    mov  rax, [rsi]\n"
        "    add  [rdi - 8], rax\n"
        "    mov  ecx, 13\n"
        "    rep  movsb\n"
        "    mov  rax, [rsi]\n"
        "    mov  [rdi], rax\n"
        "    std\n"
        "    stosq\n"
        "    cld\n"
        "    mov  [rdi], rax\n"
        "    mov  ecx, 9\n"
        "    repe cmpsb\n"
        "    mov  rax, [rdi + rcx]\n"
        "    lea  rdi, [rbx + 64]\n"
        "    mov  eax, 5\n"
        "    xlatb\n"
        "    movzx eax, al\n"
        "    mov  rax, [rbx + rax]\n"
        /* the stack */
        "    push rsp\n"
        "    pop  rax\n"
        "    mov  [rsp - 16], rax\n"
        "    push rax\n" /* what the pop below writes over */
        "    push qword ptr [rbx + 8]\n"
        "    push qword ptr [rsp]\n"
        "    pop  qword ptr [rsp + 8]\n"
        "    pop  qword ptr [rbx + 24]\n"
        "    pop  rcx\n"
        "    push 17\n"
        "    .byte 0x66, 0x6a, 4\n" /* push 4, in 16 bits: assemblers differ in its name */
        "    mov  ax, [rsp]\n"
        "    pop  dx\n"
        "    mov  rax, [rsp]\n"
        "    pushfq\n"
        "    mov  rdx, [rsp + 8]\n"
        "    pop  rdx\n" /* no popfq: whoever steps over it cannot stop stepping */
        "    pop  rcx\n"
        "    mov  rbp, rsp\n"
        "    sub  rsp, 200\n"
        "    mov  [rsp + 8], rbp\n"
        "    mov  [rbp - 8], rbp\n"
        "    and  rsp, -64\n"
        "    mov  [rsp + 8], rbp\n"
        "    push rax\n"
        "    lea  rsp, [rsp + 8]\n"
        "    mov  [rsp], rax\n"
        "    mov  rsp, rbp\n"
        "    mov  [rsp - 24], rax\n"
        "    enter 48, 0\n"
        "    mov  [rsp + 8], rax\n"
        "    mov  [rbp - 16], rax\n"
        "    leave\n"
        "    mov  rax, [rsp]\n"
        "    mov  [rbp - 8], rax\n"
        "    lea  rax, [rsp - 128]\n"
        "    mov  [rax], rsp\n"
        "    xchg rsp, rax\n"
        "    pop  rsp\n"
        "    mov  rax, [rsp]\n"
        "    call 1f\n"
        "    mov  rax, [rsp]\n"
        "    jmp  2f\n"
        "1:  add  qword ptr [rsp], 0\n"
        "    ret\n"
        "2:\n"
        /* large and rare ones, calls of the kernel, whose rcx and r11 change */
        "    fxsave64 [rbx + 2048]\n"
        "    mov  rax, [rbx + 2056]\n"
        "    fxrstor64 [rbx + 2048]\n"
        "    mov  rax, [rbx + 256]\n"
        "    xor  edx, edx\n"
        "    xor  ecx, ecx\n"
        "    lock cmpxchg16b [rbx + 272]\n"
        "    mov  rax, [rbx + 280]\n"
        "    mov  r11, rbx\n"
        "    mov  rcx, rbx\n"
        "    add  [rcx + 32], r11\n"
        "    mov  eax, 39\n"
        "    test r15, 63\n"
        "    jnz  3f\n"
        "    syscall\n"
        "3:  mov  rcx, [rbx + 32]\n"
        "    sub  [rbx + 32], rbx\n"
        "    pop  r15\n"
        "    pop  r12\n"
        "    pop  rbp\n"
        "    pop  rbx\n"
        "    ret\n"
        ".globl operands_gather\n"
        "operands_gather:\n"
        "    mov  rax, rdi\n"
        "    vpcmpeqd ymm2, ymm2, ymm2\n"
        "    vpxor ymm1, ymm1, ymm1\n"
        "    mov  rcx, [rax + 8]\n"
        "    vpgatherdd ymm0, [rax + ymm1 * 4 + 16], ymm2\n"
        "    add  rax, 8\n"
        "    mov  rcx, [rax]\n"
        "    vpcmpeqd ymm2, ymm2, ymm2\n"
        "    vpmaskmovd [rax], ymm2, ymm0\n"
        "    mov  rcx, [rdi + 16]\n"
        "    vzeroupper\n"
        "    ret\n"
        ".att_syntax\n");

int main(void)
{
    uint8_t *buffer = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    uint64_t sum = 0;

    if (buffer == MAP_FAILED)
        return 1;
    for (unsigned i = 0; i < BUFFER_BYTES; i++)
        buffer[i] = (uint8_t)(i * 7);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        operands_run(buffer, round);
        if (__builtin_cpu_supports("avx2"))
            operands_gather(buffer + 4096);
    }
    for (unsigned i = 0; i < 1024; i++)
        sum = sum * 31 + buffer[i];
    printf("%#llx %llu\n", (unsigned long long)sum, (unsigned long long)operands_table[1]);
    return 0;
}
