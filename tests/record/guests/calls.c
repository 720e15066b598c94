/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes as many system calls as its argument says, each of which a recording has to keep. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--)
        (void)getppid();
    return 7;
}
