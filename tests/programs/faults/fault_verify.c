/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong operator, seen in the exit status: the results of the checks are joined with & instead
 * of |, so a failed check goes unnoticed. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct record {
    const char *name;
    const char *payload;
    uint32_t sum;
};

enum {
    BAD_SUM = 1,
    BAD_NAME = 2,
    BAD_LENGTH = 4,
};

static uint32_t adler(const char *bytes, size_t count)
{
    uint32_t low = 1;
    uint32_t high = 0;

    for (size_t i = 0; i < count; i++) {
        low = (low + (unsigned char)bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static int check_sum(const struct record *record)
{
    return adler(record->payload, strlen(record->payload)) == record->sum ? 0 : BAD_SUM;
}

static int check_name(const struct record *record)
{
    for (const char *at = record->name; *at; at++)
        if (*at < 'a' || *at > 'z')
            return BAD_NAME;
    return 0;
}

static int check_length(const struct record *record, size_t limit)
{
    return strlen(record->payload) <= limit ? 0 : BAD_LENGTH;
}

static int check(const struct record *record, size_t limit)
{
    int bad = check_sum(record);

    bad |= check_name(record);
#ifdef FIXED
    bad |= check_length(record, limit);
#else
    bad &= check_length(record, limit); /* FAULT */
#endif
    return bad;
}

int main(int argc, char **argv)
{
    static const struct record records[] = {
        {"alpha", "Wikipedia", 0x11e60398},
        {"beta", "abc", 0x024d0127},
        {"Gamma", "spam", 0x044f01b2},
        {"delta", "a rather long payload that nobody wanted", 0},
    };
    size_t limit = argc > 1 ? strlen(argv[1]) : 20;
    int status = 0;

    for (unsigned i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        size_t length = strlen(records[i].payload);
        printf("%s: %zu bytes, %08x\n", records[i].name, length, adler(records[i].payload, length));
        status |= check(&records[i], limit);
    }
    return status;
}
