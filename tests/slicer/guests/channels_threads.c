/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread reads what another one writes: it waits for the first bytes, and later the writer for it, since
 * there is room for a page only. What came through goes into a sum. Another thread waits for what it
 * hands on from pipe to pipe.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#define MUCH 6000
#define PAGE 4096

static int fds[2];
static char much[MUCH], got[MUCH];
static volatile unsigned sum;
static int first[2], second[2];
static char few[40], passed[40];

static void *reader(void *arg)
{
    size_t done = 0;

    (void)arg;
    while (done < MUCH) {
        ssize_t count = read(fds[0], got + done, 1700);
        if (count <= 0)
            break;
        sum = sum * 3 + (unsigned)count + (unsigned)got[done];
        done += (size_t)count;
    }
    return NULL;
}

/* Waits for what it hands on. */
static void *passer(void *arg)
{
    (void)arg;
    if (splice(first[0], NULL, second[1], NULL, sizeof(few), 0) != sizeof(few))
        sum = 1;
    return NULL;
}

static int pass_on(const pthread_attr_t *attributes)
{
    pthread_t thread;

    if (pipe(first) || pipe(second) || pthread_create(&thread, attributes, passer, NULL))
        return 4;
    for (volatile unsigned i = 0; i < 500; i++)
        ;
    for (unsigned i = 0; i < sizeof(few); i += 3)
        few[i] = (char)(sum + i * 7);
    if (write(first[1], few, sizeof(few)) != sizeof(few))
        return 5;
    pthread_join(thread, NULL);
    if (read(second[0], passed, sizeof(passed)) != sizeof(passed))
        return 6;
    for (unsigned i = 0; i < sizeof(passed); i++)
        sum = sum * 3 + (unsigned char)passed[i];
    return 0;
}

static void fill(unsigned from, unsigned end, char value)
{
    for (unsigned i = from; i < end; i += 97)
        much[i] = (char)(value + (char)i);
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;

    pthread_attr_init(&attributes); /* brute force follows each byte of a stack */
    pthread_attr_setstacksize(&attributes, 64 << 10);
    if (pipe(fds) || fcntl(fds[1], F_SETPIPE_SZ, PAGE) < 0 ||
        pthread_create(&thread, &attributes, reader, NULL))
        return 1;
    fill(0, 10, 1);
    for (volatile unsigned i = 0; i < 500; i++)
        ;
    if (write(fds[1], much, 10) != 10)
        return 2;
    fill(10, MUCH, 2);
    if (write(fds[1], much + 10, MUCH - 10) != MUCH - 10)
        return 3;
    pthread_join(thread, NULL);
    for (unsigned i = 0; i < MUCH; i += 5)
        sum = sum * 3 + (unsigned char)got[i];
    int failed = pass_on(&attributes);
    return failed ? failed : sum == 0;
}
