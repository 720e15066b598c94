/* What `wetdbg ci` runs: a test that fails in the way that it is told. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told, also;

static void on_signal(int number)
{
    if (number == SIGUSR1)
        also++;
    else
        told++;
}

/* Fails in the first run of each `every`; a file keeps the count. */
static int count_runs(const char *path, int every)
{
    int runs = 0;
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "%d", &runs) != 1)
        runs = 0;
    if (file)
        fclose(file);
    file = fopen(path, "w");
    fprintf(file, "%d\n", runs + 1);
    fclose(file);
    printf("run %d\n", runs);
    return runs % every ? 0 : 3;
}

/* Fails if the sum of what it reads is above 10. */
static int read_numbers(void)
{
    int number, sum = 0;
    while (scanf("%d", &number) == 1)
        sum += number;
    printf("sum %d\n", sum);
    return sum > 10;
}

static int wait_for_signals(void)
{
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGUSR1, on_signal);
    puts("ready");
    fflush(stdout);
    while (!told)
        pause();
    usleep(200000); /* for one that comes twice */
    printf("told %d, also %d\n", (int)told, (int)also);
    return 9;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "count") == 0)
        return count_runs(argv[2], atoi(argv[3]));
    if (strcmp(what, "read") == 0)
        return read_numbers();
    if (strcmp(what, "wait") == 0)
        return wait_for_signals();
    if (strcmp(what, "terminal") == 0)
        printf("%s\n", isatty(0) && isatty(1) && isatty(2) ? "a terminal" : "none");
    if (strcmp(what, "crash") == 0)
        *(volatile char *)(long)(argc - 2) = 1;
    return 0;
}
