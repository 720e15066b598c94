/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Missing statement: after a negative number the calculator forgets to reset the sign, so the
 * next number turns negative too. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_DEPTH = 16,
};

struct machine {
    long stack[MAX_DEPTH];
    int depth;
    int negative;
    const char *trouble;
};

static void push(struct machine *m, long value)
{
    if (m->depth == MAX_DEPTH) {
        m->trouble = "stack is full";
        return;
    }
    m->stack[m->depth++] = value;
}

static long pop(struct machine *m)
{
    if (m->depth == 0) {
        m->trouble = "stack is empty";
        return 0;
    }
    return m->stack[--m->depth];
}

static const char *read_number(struct machine *m, const char *at)
{
    long value = 0;

    if (*at == '-') {
        m->negative = 1;
        at++;
    }
    while (isdigit((unsigned char)*at))
        value = value * 10 + (*at++ - '0');
    push(m, m->negative ? -value : value);
#ifdef FIXED
    m->negative = 0;
#endif
    return at; /* FAULT: missing before this line */
}

static void apply(struct machine *m, char op)
{
    long right = pop(m);
    long left = pop(m);

    switch (op) {
    case '+':
        push(m, left + right);
        break;
    case '-':
        push(m, left - right);
        break;
    case '*':
        push(m, left * right);
        break;
    case '/':
        if (right == 0)
            m->trouble = "division by zero";
        else
            push(m, left / right);
        break;
    default:
        m->trouble = "unknown operator";
    }
}

static void evaluate(const char *text)
{
    struct machine m = {0};
    const char *at = text;
    long result;

    while (*at && !m.trouble) {
        if (*at == ' ')
            at++;
        else if (isdigit((unsigned char)*at) || (*at == '-' && isdigit((unsigned char)at[1])))
            at = read_number(&m, at);
        else
            apply(&m, *at++);
    }
    result = m.trouble ? 0 : pop(&m);
    if (m.trouble)
        printf("%s -> %s\n", text, m.trouble);
    else
        printf("%s -> %ld%s\n", text, result, m.depth ? " (and more)" : "");
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        evaluate(argv[i]);
    return 0;
}
