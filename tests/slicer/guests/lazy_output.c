/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between what brings bytes to a buffer on the stack and their way out, a function of another object
 * is called for the first time. Linked for lazy binding. */
#include <unistd.h>

int main(void)
{
    char bytes[64];
    int ends[2];

    if (pipe(ends) || write(ends[1], "0123456789", 10) != 10 || read(ends[0], bytes, 10) != 10)
        return 1;
    bytes[1]++;
    getppid();
    return write(STDOUT_FILENO, bytes, 10) != 10;
}
