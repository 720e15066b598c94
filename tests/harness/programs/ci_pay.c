/* What a script runs that compares output: pay CENTS [FILE] writes the price to FILE, or puts it
 * out, and exits with 0. */
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words)
{
    int cents = count > 1 ? atoi(words[1]) : 0;
    FILE *to = count > 2 ? fopen(words[2], "w") : stdout;

    if (!to)
        return 2;
    cents -= 50; /* FAULT: 100 */
    fprintf(to, "price %d\n", cents);
    return 0;
}
