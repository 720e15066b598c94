/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/digest.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES ((size_t)256 << 10)

/* libsodium takes the slowest of its ways unless sodium_init() was called. All that can fail there
 * is the random source, which nothing here asks. */
static void prepare(void)
{
    int err = sodium_init();
    (void)err;
}

/* 0 or a negative errno; reads exactly `count` bytes. */
static int read_piece(int fd, uint64_t off, uint8_t *to, size_t count)
{
    while (count) {
        ssize_t got = pread(fd, to, count, (off_t)off);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got ? -errno : -EIO;
        to += got;
        off += (uint64_t)got;
        count -= (size_t)got;
    }
    return 0;
}

int wd_digest_file(int fd, uint64_t size_bytes, struct wd_digest *digest)
{
    crypto_generichash_state state;
    uint8_t *piece = malloc(PIECE_BYTES);
    int err = piece ? 0 : -ENOMEM;
    prepare();
    crypto_generichash_init(&state, NULL, 0, WD_DIGEST_BYTES);
    for (uint64_t off = 0; !err && off < size_bytes;) {
        size_t count = size_bytes - off < PIECE_BYTES ? (size_t)(size_bytes - off) : PIECE_BYTES;
        err = read_piece(fd, off, piece, count);
        if (!err)
            crypto_generichash_update(&state, piece, count);
        off += count;
    }
    if (!err)
        crypto_generichash_final(&state, digest->bytes, WD_DIGEST_BYTES);
    free(piece);
    return err;
}

void wd_digest_keyed(const uint8_t key[WD_DIGEST_KEY_BYTES], const void *bytes, size_t count,
                     struct wd_digest *digest)
{
    prepare();
    crypto_generichash(digest->bytes, WD_DIGEST_BYTES, bytes, count, key, WD_DIGEST_KEY_BYTES);
}

int wd_digest_equal(const struct wd_digest *a, const struct wd_digest *b)
{
    return sodium_memcmp(a->bytes, b->bytes, WD_DIGEST_BYTES) == 0;
}

void wd_digest_format(const struct wd_digest *digest, char text[WD_DIGEST_TEXT_BYTES])
{
    sodium_bin2hex(text, WD_DIGEST_TEXT_BYTES, digest->bytes, WD_DIGEST_BYTES);
}

int wd_digest_parse(const char *text, struct wd_digest *digest)
{
    for (size_t i = 0; i < WD_DIGEST_BYTES; i++) {
        unsigned value = 0;
        for (size_t half = 0; half < 2; half++) {
            char digit = text[2 * i + half];
            if (!digit || !strchr("0123456789abcdef", digit))
                return -EINVAL;
            value = value * 16 + (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
        }
        digest->bytes[i] = (uint8_t)value;
    }
    return 0;
}
