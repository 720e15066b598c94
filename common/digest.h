/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Digests of contents that an attacker may have chosen: BLAKE2b with 32 bytes (RFC 7693). Against
 * accidents XXH64 is enough, and ten times as fast.
 */
#ifndef COMMON_DIGEST_H
#define COMMON_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#define WD_DIGEST_BYTES     32
#define WD_DIGEST_KEY_BYTES 32

struct wd_digest {
    uint8_t bytes[WD_DIGEST_BYTES];
};

/* Digests the first size_bytes bytes of an open regular file, wherever its position is. -EIO if it
 * ends before; an errno of reading; -ENOMEM. Says nothing (wetdbg_fail): the caller knows the
 * name. */
int wd_digest_file(int fd, uint64_t size_bytes, struct wd_digest *digest);

/* Digests bytes in memory under a key: nobody without the key can make the digest, or tell it from
 * noise. */
void wd_digest_keyed(const uint8_t key[WD_DIGEST_KEY_BYTES], const void *bytes, size_t count,
                     struct wd_digest *digest);

/* Compares in constant time, so that nobody learns by trying how much was right. */
int wd_digest_equal(const struct wd_digest *a, const struct wd_digest *b);

/* 64 lower-case hex digits; `text` has room for 65 bytes. */
#define WD_DIGEST_TEXT_BYTES (2 * WD_DIGEST_BYTES + 1)
void wd_digest_format(const struct wd_digest *digest, char text[WD_DIGEST_TEXT_BYTES]);

/* The first 64 characters of `text` as a digest; -EINVAL if they are no lower-case hex digits. */
int wd_digest_parse(const char *text, struct wd_digest *digest);

#endif
