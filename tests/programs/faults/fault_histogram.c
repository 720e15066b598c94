/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uninitialised value: the second histogram is allocated without being cleared and gets a block
 * that the first report has just released. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUCKETS = 12,
};

struct histogram {
    unsigned counts[BUCKETS];
    unsigned total;
    unsigned longest;
};

static struct histogram *histogram_new(void)
{
#ifdef FIXED
    return calloc(1, sizeof(struct histogram));
#else
    struct histogram *made = malloc(sizeof(struct histogram)); /* FAULT */

    if (made)
        made->total = made->longest = 0;
    return made;
#endif
}

static void histogram_add(struct histogram *h, unsigned length)
{
    unsigned bucket = length < BUCKETS ? length : BUCKETS - 1;

    h->counts[bucket]++;
    h->total++;
    if (length > h->longest)
        h->longest = length;
}

static void histogram_print(const struct histogram *h, const char *title)
{
    printf("%s: %u, longest %u\n", title, h->total, h->longest);
    for (unsigned i = 0; i < BUCKETS; i++)
        if (h->counts[i])
            printf("  %2u %u\n", i, h->counts[i]);
}

static void measure_words(const char *text, struct histogram *h)
{
    unsigned length = 0;

    for (;; text++) {
        if (isalpha((unsigned char)*text)) {
            length++;
            continue;
        }
        if (length)
            histogram_add(h, length);
        length = 0;
        if (!*text)
            break;
    }
}

static void measure_sentences(const char *text, struct histogram *h)
{
    unsigned words = 0;

    for (; *text; text++) {
        if (*text == ' ')
            words++;
        if (*text == '.') {
            histogram_add(h, words);
            words = 0;
        }
    }
}

/* An unrelated table, so that other allocations happen in between. */
static unsigned long text_digest(const char *text)
{
    unsigned char *copy = malloc(strlen(text) + 1);
    unsigned long digest = 5381;

    if (!copy)
        return 0;
    for (size_t i = 0; i <= strlen(text); i++)
        copy[i] = (unsigned char)tolower((unsigned char)text[i]);
    for (const unsigned char *at = copy; *at; at++)
        digest = digest * 33 ^ *at;
    free(copy);
    return digest;
}

int main(int argc, char **argv)
{
    const char *text =
        argc > 1 ? argv[1] : "Short words win. Long explanations are rarely read. Stop.";
    struct histogram *words = histogram_new();
    struct histogram *sentences;

    if (!words)
        return 1;
    memset(words, 0, sizeof(*words));
    measure_words(text, words);
    histogram_print(words, "words");
    free(words);
    printf("digest %016lx\n", text_digest(text));
    sentences = histogram_new();
    if (!sentences)
        return 1;
    measure_sentences(text, sentences);
    histogram_print(sentences, "sentences");
    free(sentences);
    return 0;
}
