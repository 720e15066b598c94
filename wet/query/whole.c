/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/whole.h"

#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

int wet_whole_engine(struct wetdbg *wet, struct rep_engine **out)
{
    if (wet->info.is_window)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "%s holds a window of the run only: to go on differently takes all "
                           "from its first instruction on",
                           wet_store_path(wet->store));
    return wet_engine_new(wet, DBI_PLAIN, out);
}

int wet_whole_entries(struct wetdbg *wet, uint64_t k, struct wd_buf *out)
{
    struct wd_buf stored = {0};
    int err = wet_entries_read(wet, k, true, &stored);
    for (size_t at = 0; !err && at < stored.size_bytes;) {
        at += sizeof(struct wet_entry_record);
        const struct evq_entry *entry = (const struct evq_entry *)(stored.data + at);
        err = wd_buf_append(out, entry, entry->bytes);
        at += entry->bytes;
    }
    wd_buf_fini(&stored);
    return err;
}

int wet_whole_cpuid(const struct wetdbg *wet, uint32_t leaf, uint32_t subleaf,
                    struct agt_cpuid *out)
{
    const struct agt_cpuid *table = (const struct agt_cpuid *)wet->cpu_bytes.data;
    uint32_t count = (uint32_t)(wet->cpu_bytes.size_bytes / sizeof(*table));
    return agt_cpuid_find(table, count, leaf, subleaf, out) ? 0 : -WETDBG_ERR_NOT_FOUND;
}

uint64_t wet_whole_processor(const struct wetdbg *wet)
{
    return wet->processor.rdpid == AGT_PROCESSOR_UNKNOWN ? 0 : wet->processor.rdpid;
}

const struct rrt_inherited *wet_whole_inherited(const struct wetdbg *wet)
{
    return wet->streams;
}

bool wet_whole_is_trusted(const struct wetdbg *wet)
{
    return wet->is_trusted;
}

int wet_whole_input(const struct wetdbg *wet, struct rrt_input_head *head, struct wd_buf *out)
{
    struct wd_buf piece = {0};
    int err = wet_store_has(wet->store, WET_SEC_INPUT, 0) ? 0 : -WETDBG_ERR_NOT_FOUND;
    for (uint64_t n = 0; !err && wet_store_has(wet->store, WET_SEC_INPUT, n); n++) {
        err = wet_store_read(wet->store, WET_SEC_INPUT, n, &piece);
        if (!err)
            err = wd_buf_append(out, piece.data, piece.size_bytes);
    }
    wd_buf_fini(&piece);
    if (!err && !rrt_input_is_sound(out->data, out->size_bytes, head))
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged input", wet_store_path(wet->store));
    return err;
}

const char *wet_whole_fingerprint(const struct wetdbg *wet)
{
    const char *text = json_string_value(json_object_get(wet->meta, "fingerprint"));
    return text ? text : "";
}

const char *wet_whole_path(const struct wetdbg *wet)
{
    return wet_store_path(wet->store);
}

const char *wet_whole_name(const struct wetdbg *wet, uint64_t n)
{
    return n < wet->name_count ? wet->names[n] : "";
}

const volatile sig_atomic_t *wet_whole_interrupted(const struct wetdbg *wet)
{
    return &wet->interrupted;
}
