/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads where nothing is mapped; the compiler is kept from knowing. */
int *volatile nowhere = (int *)16;

int main(void)
{
    return *nowhere;
}
