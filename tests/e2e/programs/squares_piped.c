/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes right numbers through a pipe and a file, writes them as one character each, and a sum that
 * is wrong. */
#include <fcntl.h>
#include <unistd.h>

#define COUNT 8

/* What comes back of what one descriptor takes, by the other one. */
static int pass(int to, int from, int *numbers, const int *given)
{
    return write(to, given, COUNT * sizeof(int)) == COUNT * sizeof(int) &&
           read(from, numbers, COUNT * sizeof(int)) == COUNT * sizeof(int);
}

int main(void)
{
    int squares[COUNT], piped[COUNT], back[COUNT], ends[2], sum = 1; /* FAULT: 0 */
    char text[COUNT + 1];
    for (int i = 0; i < COUNT; i++)
        squares[i] = i * i; /* SQUARE */
    int to = open("squares", O_CREAT | O_TRUNC | O_WRONLY, 0600), from = open("squares", O_RDONLY);
    if (pipe(ends) || !pass(ends[1], ends[0], piped, squares) || !pass(to, from, back, piped))
        return 1;
    for (int i = 0; i < COUNT; i++) {
        text[i] = (char)('!' + back[i]);
        sum += back[i];
    }
    text[COUNT] = (char)('!' + sum % 90);
    return write(1, text, sizeof(text)) != sizeof(text);
}
