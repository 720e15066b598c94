/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Computed goto: an interpreter whose every operation ends in its own indirect jump. */
#include <stdio.h>

enum op {
    LOAD,
    ADD,
    MUL,
    LESS,
    BRANCH,
    PRINT,
    STOP,
};

/* op, a, b, c */
static const int program[][4] = {
    {LOAD, 0, 1, 0},  {LOAD, 1, 1, 0}, {LOAD, 2, 1, 0}, {LOAD, 3, 13, 0},  {MUL, 0, 0, 1},
    {PRINT, 0, 0, 0}, {ADD, 1, 1, 2},  {LESS, 4, 1, 3}, {BRANCH, 4, 4, 0}, {STOP, 0, 0, 0},
};

int main(void)
{
    static const void *const labels[] = {&&load, &&add, &&mul, &&less, &&branch, &&print, &&stop};
    unsigned regs[8] = {0};
    int pc = 0;
    int steps = 0;

#define NEXT()                                                                                     \
    do {                                                                                           \
        steps++;                                                                                   \
        goto *labels[program[pc][0]];                                                              \
    } while (0)
    NEXT();
load:
    regs[program[pc][1]] = (unsigned)program[pc][2];
    pc++;
    NEXT();
add:
    regs[program[pc][1]] = regs[program[pc][2]] + regs[program[pc][3]];
    pc++;
    NEXT();
mul:
    regs[program[pc][1]] = regs[program[pc][2]] * regs[program[pc][3]];
    pc++;
    NEXT();
less:
    regs[program[pc][1]] = regs[program[pc][2]] < regs[program[pc][3]];
    pc++;
    NEXT();
branch:
    pc = regs[program[pc][1]] ? program[pc][2] : pc + 1;
    NEXT();
print:
    printf("%u ", regs[program[pc][1]]);
    pc++;
    NEXT();
stop:
    printf("\n%d steps\n", steps);
    return 0;
}
