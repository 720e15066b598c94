/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Use after free: the cache frees the evicted entry and then still reads its key, by then
 * overwritten by the next allocation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CAPACITY = 3,
};

struct entry {
    struct entry *newer;
    struct entry *older;
    char key[16];
    int value;
};

struct cache {
    struct entry *newest;
    struct entry *oldest;
    int count;
    int hits;
    int misses;
};

static void cache_unlink(struct cache *cache, struct entry *entry)
{
    if (entry->newer)
        entry->newer->older = entry->older;
    else
        cache->newest = entry->older;
    if (entry->older)
        entry->older->newer = entry->newer;
    else
        cache->oldest = entry->newer;
}

static void cache_push(struct cache *cache, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = cache->newest;
    if (cache->newest)
        cache->newest->newer = entry;
    else
        cache->oldest = entry;
    cache->newest = entry;
}

static struct entry *cache_find(struct cache *cache, const char *key)
{
    for (struct entry *entry = cache->newest; entry; entry = entry->older)
        if (strcmp(entry->key, key) == 0)
            return entry;
    return NULL;
}

static struct entry *entry_new(const char *key, int value)
{
    struct entry *entry = malloc(sizeof(*entry));

    if (!entry)
        exit(1);
    entry->newer = NULL;
    entry->older = NULL;
    snprintf(entry->key, sizeof(entry->key), "%s", key);
    entry->value = value;
    return entry;
}

static void cache_put(struct cache *cache, const char *key, int value)
{
    struct entry *victim = NULL;
    struct entry *entry;

    if (cache->count == CAPACITY) {
        victim = cache->oldest;
        cache_unlink(cache, victim);
        cache->count--;
#ifdef FIXED
        printf("  evicted %s=%d\n", victim->key, victim->value);
        free(victim);
        victim = NULL;
#else
        free(victim); /* FAULT */
#endif
    }
    entry = entry_new(key, value);
    if (victim)
        printf("  evicted %s=%d\n", victim->key, victim->value);
    cache_push(cache, entry);
    cache->count++;
}

static int slow_length(const char *word)
{
    int weight = 0;

    for (int i = 0; word[i]; i++)
        weight = weight * 7 % 1000 + word[i];
    return weight;
}

static int lookup(struct cache *cache, const char *key)
{
    struct entry *entry = cache_find(cache, key);

    if (entry) {
        cache->hits++;
        cache_unlink(cache, entry);
        cache_push(cache, entry);
        return entry->value;
    }
    cache->misses++;
    cache_put(cache, key, slow_length(key));
    return cache->newest->value;
}

int main(void)
{
    static const char *const words[] = {"oak", "elm", "oak", "ash", "elm", "fir", "oak", "yew"};
    struct cache cache = {0};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        printf("%s %d\n", words[i], lookup(&cache, words[i]));
    printf("hits %d misses %d\n", cache.hits, cache.misses);
    while (cache.oldest) {
        struct entry *entry = cache.oldest;
        cache_unlink(&cache, entry);
        free(entry);
    }
    return 0;
}
