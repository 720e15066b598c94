/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ties a .wet file to the recording that it was built from. */
#include <jansson.h>
#include <stdio.h>

#include "wet/store/store.h"
#include <wetdbg/errors.h>
#include <wetdbg/wet.h>

int wetdbg_fingerprint_read(const char *path, char *out, size_t size)
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
            err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged description of the run", path);
    }
    json_decref(meta);
    wd_buf_fini(&bytes);
    wet_store_close(store);
    return err;
}
