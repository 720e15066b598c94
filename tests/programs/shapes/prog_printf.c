/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Floating point formatting and parsing: libc's multi-precision code, widths and flags. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static const double values[] = {0.1,   1.0 / 3, 6.02214076e23, -1.5e-7, 123456.789,
                                    1e300, 2.5,     -0.0,          1e-310};
    char line[128];
    double sum = 0;

    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        printf("%f|%.3e|%g|%+8.2f|%a\n", values[i] > 1e20 ? 1e20 : values[i], values[i], values[i],
               values[i] > 1e6 ? 99 : values[i], values[i]);
        snprintf(line, sizeof(line), "%.17g", values[i]);
        sum += strtod(line, NULL) == values[i];
    }
    printf("%g came back; %5d|%-5d|%05d|%x|%#o|%s\n", sum, 42, 42, 42, 48879u, 8u, "text");
    return 0;
}
