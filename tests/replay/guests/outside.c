/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes the instruction that its argument names, whose result is no event of a recording; or
 * wrfsbase, to what is there already. */
#include <string.h>
#include <sys/syscall.h>

int main(int argc, char **argv)
{
    unsigned long result = 0;
    const char *name = argc > 1 ? argv[1] : "";
    if (!strcmp(name, "rdrand"))
        __asm__ volatile("rdrand %0" : "=r"(result) : : "cc");
    else if (!strcmp(name, "rdseed"))
        __asm__ volatile("rdseed %0" : "=r"(result) : : "cc");
    else if (!strcmp(name, "rdpid"))
        __asm__ volatile("rdpid %0" : "=r"(result));
    else if (!strcmp(name, "lsl"))
        __asm__ volatile("lsl %1, %0" : "+r"(result) : "r"(0x7bul) : "cc");
    else if (!strcmp(name, "wrfsbase"))
        __asm__ volatile("rdfsbase %0; wrfsbase %0" : "=r"(result));
    else
        return 2;
    register unsigned long seen __asm__("r14") = result; /* events are compared with it */
    long number = SYS_getpid;
    __asm__ volatile("syscall" : "+a"(number) : "r"(seen) : "rcx", "r11", "memory");
    return 0;
}
