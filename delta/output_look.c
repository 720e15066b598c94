/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/output_look.h"

#include <errno.h>
#include <xxhash.h>

int dlt_output_begin(struct dlt_output_look *look, const struct wetdbg_dd_bytes *expected,
                     struct dlt_report *report)
{
    *look = (struct dlt_output_look){expected, report, XXH3_createState()};
    if (!look->hash)
        return -ENOMEM;
    XXH3_128bits_reset(look->hash);
    report->wrong_byte = DLT_OUTPUT_RIGHT;
    return 0;
}

static void compare_piece(struct dlt_report *report, const struct wetdbg_dd_bytes *expected,
                          const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && report->wrong_byte == DLT_OUTPUT_RIGHT; i++) {
        uint64_t offset = report->output_bytes + i;
        if (offset >= expected->size || expected->data[offset] != bytes[i]) {
            report->wrong_offset = offset;
            report->wrong_byte = bytes[i];
        }
    }
}

void dlt_output_piece(struct dlt_output_look *look, const void *bytes, size_t size)
{
    XXH3_128bits_update(look->hash, bytes, size);
    compare_piece(look->report, look->expected, bytes, size);
    look->report->output_bytes += size;
}

void dlt_output_end(struct dlt_output_look *look)
{
    struct dlt_report *report = look->report;
    if (report->wrong_byte == DLT_OUTPUT_RIGHT && report->output_bytes < look->expected->size) {
        report->wrong_offset = report->output_bytes;
        report->wrong_byte = DLT_OUTPUT_ENDS;
    }
    XXH128_hash_t hash = XXH3_128bits_digest(look->hash);
    report->output_low = hash.low64;
    report->output_high = hash.high64;
    XXH3_freeState(look->hash);
}
