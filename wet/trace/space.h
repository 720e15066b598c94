/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program's memory outside the program: what builder and reader keep in step.
 *
 * Each mapping that the run ever makes is an *object* with a number and bytes of its own in one
 * sparse memory file; the program's addresses are *views* of objects. Unmapping takes a view away
 * and leaves the object, so that a walk backwards finds it as it was. Memory at the start of an
 * interval is what the objects' first contents become when the changes of all intervals before are
 * applied; changes are XORs, hence the same step leads forwards and backwards.
 */
#ifndef WET_TRACE_SPACE_H
#define WET_TRACE_SPACE_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/agent/views.h"
#include "recorder/event/queue.h"

#define WET_LINE_BYTES 256

/* Kept in .wet files (docs/format.md). */
struct wet_object {
    uint64_t start; /* address at which it was first mapped */
    uint64_t bytes;
    uint64_t file, file_off, file_bytes; /* first contents: as in EVQ_OP_MAP */
    uint64_t prot, name;
    uint64_t mirror_off; /* of its bytes in the memory file */
};

struct wet_space {
    int fd;         /* memory file; -1: private memory */
    uint8_t *bytes; /* mapped here */
    uint64_t used_bytes;
    struct wet_object *objects;
    size_t object_count, object_capacity;
    struct agt_views views; /* .file is the object's number, .file_off the place in it */
    uint64_t most_bytes;    /* that contents may take in the memory file; 0: as many as there are */
    uint64_t unasked;       /* bytes that have come since they were counted */
    bool forgetful;         /* give memory of what is unmapped back: nobody will walk backwards */
    /* Fills [to, +bytes) with a file's bytes; holes are zero already. */
    int (*file_read)(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes);
    /* How long a file is; NULL if nobody can say. */
    uint64_t (*file_size)(void *arg, uint64_t file);
    void *arg;
};

/* -ENOMEM, -WETDBG_ERR_MACHINE. The callback fields are for the caller to set. */
int wet_space_init(struct wet_space *space);

/* wet_space_init() in private memory, of which a process that is forked has a copy of its own. */
int wet_space_init_private(struct wet_space *space);
void wet_space_fini(struct wet_space *space);

/* Applies an op of an entry to the views; new mappings become objects. Ops that only change bytes
 * change nothing here. -ENOMEM, -WETDBG_ERR_CORRUPT, -WETDBG_ERR_UNSUPPORTED (too large). */
int wet_space_op(struct wet_space *space, const struct evq_op *op);

/*
 * What everybody trusts, for wd_checked() and tests. Views are sorted, disjoint and not empty, of
 * whole pages of the program's part of the address space (agt_views_find() and kin). The space's
 * show parts of their objects, which lie one behind the other in the memory file. 0, or what is
 * wrong.
 */
int wet_views_validate(const struct agt_views *views);
int wet_space_validate(const struct wet_space *space);

/* Adds an object without a view (reader: all objects are known when a file is opened). */
int wet_space_add_object(struct wet_space *space, const struct wet_object *shape);

/* Reads the first contents of object n from its file. -WETDBG_ERR_MACHINE if memory, or most_bytes,
 * do not suffice. */
int wet_space_fill_object(struct wet_space *space, size_t n);

/* Forgets the bytes of [from, to) of the memory file: they read as zeros. */
void wet_space_punch(const struct wet_space *space, uint64_t from, uint64_t to);

/* Gives what is mapped in [start, end) the first contents of its object again. */
int wet_space_discard(struct wet_space *space, uint64_t start, uint64_t end);

/* The byte at an address, with *left bytes following in the same view; NULL if not mapped. */
uint8_t *wet_space_at(struct wet_space *space, uint64_t address, uint64_t *left);

/*
 * Changes of one interval, per line: where it is in the memory file, which of its 32 words of 8
 * bytes changed, and the XOR of those.
 */
struct wet_changes {
    struct wd_buf places; /* varint: line number minus that of the line before */
    struct wd_buf masks;  /* u32 */
    struct wd_buf words;  /* u64 */
    uint64_t last_line, count;
};

void wet_changes_clear(struct wet_changes *changes);
void wet_changes_fini(struct wet_changes *changes);

/* Notes that the line at mirror_off (a multiple of WET_LINE_BYTES, not below the one before) has
 * become `now`, and makes it so in the space. */
int wet_changes_add(struct wet_changes *changes, struct wet_space *space, uint64_t mirror_off,
                    const uint8_t *now);

/* Encodes changes as bytes for the file, and applies such bytes to the space: applying twice is
 * applying never. What fails its checks (-WETDBG_ERR_CORRUPT), or for which there is no memory
 * (-WETDBG_ERR_MACHINE), is not applied at all. */
int wet_changes_encode(const struct wet_changes *changes, struct wd_buf *out);
int wet_changes_apply(struct wet_space *space, const void *bytes, size_t size_bytes);

#endif
