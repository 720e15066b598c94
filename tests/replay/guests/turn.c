/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library of which two builds differ in FACTOR alone, and so in size hardly at all. */
static long kept[16];

long turn(long n)
{
    kept[n & 15] += n;
    return n * FACTOR + kept[n & 15];
}
