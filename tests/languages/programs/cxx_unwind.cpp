/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recursion that throws where it should not. All that is left of it is which handler ran: nothing of
 * what was thrown is looked at. Frames in between are cleaned up. */
#include <cstdio>

struct Guard {
    int *count;
    explicit Guard(int *count) : count(count)
    {
    }
    ~Guard()
    {
        ++*count;
    }
};

static __attribute__((noinline)) int limit_of(int base)
{
#ifdef FIXED
    return base;
#else
    return base - 1; /* FAULT */
#endif
}

static __attribute__((noinline)) int descend(int level, int limit, int *count)
{
    Guard guard(count);
    if (level > limit) /* DECIDES */
        throw level;   /* THROW */
    if (level == 5)
        return level;
    return descend(level + 1, limit, count) + 1;
}

int main(int argc, char **)
{
    int status = 0, cleanups = 0, noise = 3, limit = limit_of(5 * argc);

    for (int i = 0; i < 3; i++)
        noise = noise * 7 + argc; /* UNRELATED */
    try {
        noise += descend(1, limit, &cleanups);
    } catch (...) {
        status = 2; /* SETS */
    }
    std::printf("status %d\n", status);
    std::fflush(stdout);
    std::printf("%d cleanups, noise %d\n", cleanups, noise);
    return 0;
}
