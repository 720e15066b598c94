/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A system call of 32-bit programs, made by a 64-bit one. */
int main(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20l /* getpid */) : "memory");
    return result < 0;
}
