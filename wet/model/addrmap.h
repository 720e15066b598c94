/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hash table from addresses to pointers; address 0 is no key. */
#ifndef WET_MODEL_ADDRMAP_H
#define WET_MODEL_ADDRMAP_H

#include <stddef.h>
#include <stdint.h>

struct mdl_addrmap_slot {
    uint64_t key; /* 0 = empty */
    void *value;
};

struct mdl_addrmap {
    struct mdl_addrmap_slot *slots; /* power of two, at most half full */
    size_t slot_count;
    size_t count;
};

void mdl_addrmap_fini(struct mdl_addrmap *map);

/* NULL if absent. */
void *mdl_addrmap_get(const struct mdl_addrmap *map, uint64_t key);

/* Sets or replaces (a NULL value leaves the key in place). 0 or -ENOMEM. */
int mdl_addrmap_set(struct mdl_addrmap *map, uint64_t key, void *value);

#endif
