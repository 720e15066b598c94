/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/query/fingerprint.h"

#include <jansson.h>
#include <stdio.h>

#include "common/err.h"
#include "wet/store/store.h"

int wet_fingerprint_read(const char *path, char *out, size_t size)
{
    struct wet_store *store = NULL;
    struct wd_buf bytes = {0};
    json_t *meta = NULL;
    int err = wet_store_open(path, &store);
    if (!err)
        err = wet_store_read(store, WET_SEC_META, 0, &bytes);
    if (!err) {
        meta = json_loadb((const char *)bytes.data, bytes.size_bytes, 0, NULL);
        const char *text = json_string_value(json_object_get(meta, "fingerprint"));
        if (text)
            snprintf(out, size, "%s", text);
        else
            err = wd_fail(-WD_ERR_CORRUPT, "%s: damaged description of the run", path);
    }
    json_decref(meta);
    wd_buf_fini(&bytes);
    wet_store_close(store);
    return err;
}
