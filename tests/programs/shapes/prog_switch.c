/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense and sparse switches: jump tables and compare trees, driven by the argument's bytes. */
#include <stdio.h>

enum op {
    OP_PUSH,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DUP,
    OP_SWAP,
    OP_NOT,
    OP_JNZ,
    OP_EMIT,
    OP_HALT,
};

static const int code[] = {
    OP_PUSH, 10, OP_DUP,  OP_EMIT, OP_PUSH, 1,      OP_SUB, OP_DUP, OP_JNZ,  2,
    OP_PUSH, 6,  OP_PUSH, 7,       OP_SWAP, OP_MUL, OP_NOT, OP_NOT, OP_EMIT, OP_HALT,
};

static int run(void)
{
    int stack[16];
    int sp = 0;
    int pc = 0;
    int steps = 0;

    for (;;) {
        steps++;
        switch (code[pc++]) {
        case OP_PUSH:
            stack[sp++] = code[pc++];
            break;
        case OP_ADD:
            sp--;
            stack[sp - 1] += stack[sp];
            break;
        case OP_SUB:
            sp--;
            stack[sp - 1] -= stack[sp];
            break;
        case OP_MUL:
            sp--;
            stack[sp - 1] *= stack[sp];
            break;
        case OP_DUP:
            stack[sp] = stack[sp - 1];
            sp++;
            break;
        case OP_SWAP: {
            int top = stack[sp - 1];
            stack[sp - 1] = stack[sp - 2];
            stack[sp - 2] = top;
            break;
        }
        case OP_NOT:
            stack[sp - 1] = ~stack[sp - 1];
            break;
        case OP_JNZ:
            pc = stack[--sp] != 0 ? code[pc] : pc + 1;
            break;
        case OP_EMIT:
            printf("%d ", stack[--sp]);
            break;
        default:
            return steps;
        }
    }
}

static const char *classify(int c)
{
    switch (c) {
    case ' ':
    case '\t':
        return "blank";
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return "digit";
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return "vowel";
    case 1000:
    case 100000:
        return "never";
    case '+':
    case '-':
    case '*':
    case '/':
        return "operator";
    default:
        return "other";
    }
}

int main(int argc, char **argv)
{
    const char *text = argc > 1 ? argv[1] : "a1 + bee-9*x";
    int steps = run();

    printf("\n%d steps\n", steps);
    for (; *text; text++)
        printf("%c:%s%s", *text, classify((unsigned char)*text), text[1] ? "," : "\n");
    return 0;
}
