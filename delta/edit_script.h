/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between two byte strings: hunks, found by lines first and then, where lines differ,
 * by bytes. E. W. Myers: An O(ND) Difference Algorithm and Its Variations, Algorithmica 1, 1986,
 * section 4. Where it would take too long, what lies between the nearest equal pieces is one hunk.
 */
#ifndef DELTA_EDIT_SCRIPT_H
#define DELTA_EDIT_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/* pass[pass_first, pass_end) became fail[fail_first, fail_end); one of them may be empty. */
struct dlt_hunk {
    uint32_t pass_first, pass_end, fail_first, fail_end;
};

/* The hunks in order, with something equal between any two; for the caller to free. 0 or
 * -ENOMEM. */
int dlt_edit_script(const uint8_t *pass, size_t pass_bytes, const uint8_t *fail, size_t fail_bytes,
                    struct dlt_hunk **hunks, size_t *count);

#endif
