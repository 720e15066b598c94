/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames and variables of every kind, stopped at known places by test_process.c. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct point {
    int x;
    unsigned low : 3, high : 5;
    struct point *next;
    char name[8];
};

enum color { RED, GREEN = 5, BLUE = -2 };

int64_t global_long = 0x1122334455667788;
static unsigned short file_static = 4660;
const char *global_text = "hello";
__thread int thread_value = 4711;
__thread char thread_more = 'q';
struct point global_point = {.x = 12, .low = 5, .high = 9, .name = "origin"};
enum color global_color = BLUE;
double global_double = 2.5;

static int leaf(int depth, const char *text)
{
    int local = depth * 3;
    static int counted = 100;
    unsigned char byte = 200;
    int numbers[4] = {1, 2, 3, 4};
    {
        int local = 77; /* hides the outer one */
        struct point here = {.x = local, .next = &global_point};
        counted += local + here.x;
        global_long += numbers[depth & 3]; /* @inner */
    }
    local += byte;
    printf("%d %s\n", local, text); /* @leaf */
    return local;
}

static int middle(int depth, const char *text)
{
    char padding[100];

    memset(padding, depth, sizeof(padding));
    if (depth > 0)
        return middle(depth - 1, text) + padding[3];
    return leaf(depth + 5, text) + padding[7];
}

static int compare(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return left < right ? -1 : left > right; /* @compare */
}

static void on_signal(int number)
{
    thread_value = number;
    global_color = GREEN; /* @handler */
}

int main(void)
{
    int values[] = {5, 3, 9, 1, 7};

    middle(3, global_text);
    qsort(values, 5, sizeof(values[0]), compare);
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    thread_more = (char)values[0];
    return file_static == 0;
}
