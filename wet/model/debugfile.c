/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Separate debug files. A candidate is taken only if it proves that it belongs: the same build-id,
 * or the checksum that .gnu_debuglink states.
 */
#include "wet/model/debugfile.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

#define DEBUG_ROOT   "/usr/lib/debug"
#define BUILD_ID_MAX 64
#define BUILD_ID_MIN 2

void mdl_debugfile_map(const char *path, struct mdl_image_bytes *image)
{
    struct stat status;
    int fd;

    if (wd_regular_try(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &status))
        return;
    mdl_image_map(image, fd, path);
    close(fd);
}

/* What a candidate must prove. */
struct proof {
    const uint8_t *build_id; /* NULL: not known */
    size_t build_id_size;
    uint32_t crc; /* used if there is no build-id */
};

static uint32_t crc32_of(const uint8_t *data, size_t size)
{
    uint32_t crc = 0xffffffff;

    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320 & (0u - (crc & 1)));
    }
    return ~crc;
}

static int candidate_fits(const char *path, const struct proof *proof)
{
    struct mdl_image_bytes image = {0};
    const void *id;
    ssize_t id_size;
    Elf *elf;
    int fits = 0;

    mdl_debugfile_map(path, &image);
    if (!image.data)
        return 0;
    elf = elf_memory(image.scratch, image.size_bytes);
    if (elf && elf_kind(elf) == ELF_K_ELF) {
        id_size = dwelf_elf_gnu_build_id(elf, &id);
        if (proof->build_id && id_size > 0)
            fits = (size_t)id_size == proof->build_id_size &&
                   memcmp(id, proof->build_id, proof->build_id_size) == 0;
        else if (!proof->build_id)
            fits = crc32_of(image.data, image.size_bytes) == proof->crc;
    }
    elf_end(elf);
    mdl_image_fini(&image);
    return fits;
}

/* Takes a candidate path (freed here unless it becomes the result). */
static int try_candidate(char *path, const struct proof *proof, char **found)
{
    if (path && candidate_fits(path, proof)) {
        *found = path;
        return 0;
    }
    free(path);
    return -1;
}

static char *format_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *format_path(const char *format, ...)
{
    va_list args;
    char *path;

    va_start(args, format);
    if (vasprintf(&path, format, args) < 0)
        path = NULL;
    va_end(args);
    return path;
}

static void write_hex(const uint8_t *id, size_t size, char *hex)
{
    for (size_t i = 0; i < size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
}

void mdl_debugfile_build_id(Elf *elf, char *hex, size_t size)
{
    const void *id;
    ssize_t id_size = elf ? dwelf_elf_gnu_build_id(elf, &id) : 0;

    hex[0] = 0;
    if (id_size > 0 && (size_t)id_size < size / 2)
        write_hex(id, (size_t)id_size, hex);
}

static int try_build_id(const char *directory, const struct proof *proof, char **found)
{
    char hex[2 * BUILD_ID_MAX + 1];

    if (!proof->build_id || proof->build_id_size < BUILD_ID_MIN ||
        proof->build_id_size > BUILD_ID_MAX)
        return -1;
    write_hex(proof->build_id, proof->build_id_size, hex);
    return try_candidate(format_path("%s/%.2s/%s.debug", directory, hex, hex + 2), proof, found);
}

/* The places gdb looks in for a named link. `directory` has no slash at its end. `self` is the
 * file's own base name: it has its own build-id, but is not its debug file. */
static int try_link(const char *directory, const char *link, const char *self,
                    const struct proof *proof, char **found)
{
    if (strcmp(link, self) != 0 &&
        try_candidate(format_path("%s/%s", directory, link), proof, found) == 0)
        return 0;
    if (try_candidate(format_path("%s/.debug/%s", directory, link), proof, found) == 0)
        return 0;
    return try_candidate(format_path(DEBUG_ROOT "%s/%s", directory, link), proof, found);
}

/* The directory of a path; caller frees. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
}

static int find_debug_of(Elf *elf, const char *path, char **found)
{
    struct proof proof = {0};
    const void *id;
    ssize_t id_size = dwelf_elf_gnu_build_id(elf, &id);
    GElf_Word crc;
    const char *link, *self = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    char *directory;
    int result;

    if (id_size > 0) {
        proof.build_id = id;
        proof.build_id_size = (size_t)id_size;
    }
    if (try_build_id(DEBUG_ROOT "/.build-id", &proof, found) == 0)
        return 0;
    link = dwelf_elf_gnu_debuglink(elf, &crc);
    if (!link || !*link || strchr(link, '/'))
        return -1;
    proof.crc = crc;
    directory = directory_of(path);
    if (!directory)
        return -1;
    result = try_link(directory, link, self, &proof, found);
    if (result < 0 && strncmp(directory, "/usr/", 5) != 0) {
        /* merged /usr: /lib/x may be packaged as /usr/lib/x and the other way round */
        char *merged = format_path("/usr%s", directory);

        if (merged)
            result = try_link(merged, link, self, &proof, found);
        free(merged);
    } else if (result < 0) {
        result = try_link(directory + 4, link, self, &proof, found);
    }
    free(directory);
    return result;
}

/* Name and build-id in .gnu_debugaltlink: a string, then the id. */
static int read_alt_link(Elf *elf, const char **link, struct proof *proof)
{
    const Elf_Data *data;
    GElf_Shdr shdr;
    Elf_Scn *scn;
    size_t length;

    if (mdl_elf_section(elf, ".gnu_debugaltlink", &shdr, &scn) < 0 ||
        !(data = elf_rawdata(scn, NULL)) || !data->d_buf)
        return -1;
    *link = data->d_buf;
    length = strnlen(*link, data->d_size);
    if (length == 0 || length + 1 >= data->d_size)
        return -1;
    proof->build_id = (const uint8_t *)data->d_buf + length + 1;
    proof->build_id_size = data->d_size - length - 1;
    return 0;
}

static int find_alt_of(Elf *elf, const char *path, char **found)
{
    struct proof proof = {0};
    const char *link, *common;
    char *directory;
    int result = -1;

    if (read_alt_link(elf, &link, &proof) < 0)
        return -1;
    directory = directory_of(path);
    if (*link == '/')
        result = try_candidate(strdup(link), &proof, found);
    else if (directory)
        result = try_candidate(format_path("%s/%s", directory, link), &proof, found);
    free(directory);
    if (result < 0)
        result = try_build_id(DEBUG_ROOT "/.build-id", &proof, found);
    /* relative links are from the debug file, whose place we may not know */
    common = strstr(link, ".dwz/");
    if (result < 0 && common)
        result = try_candidate(format_path(DEBUG_ROOT "/%s", common), &proof, found);
    return result;
}

static int find_file(const void *data, size_t size_bytes, const char *path, char **found,
                     int (*find)(Elf *, const char *, char **), const char *what)
{
    Elf *elf;
    int result = -1;

    elf_version(EV_CURRENT);
    elf = elf_memory((char *)data, size_bytes);
    if (elf && elf_kind(elf) == ELF_K_ELF)
        result = find(elf, path, found);
    elf_end(elf);
    if (result < 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no %s found for %s", what, path);
    return 0;
}

int mdl_find_debug_file(const void *data, size_t size_bytes, const char *path, char **found)
{
    return find_file(data, size_bytes, path, found, find_debug_of, "separate debug file");
}

int mdl_find_alt_file(const void *data, size_t size_bytes, const char *path, char **found)
{
    return find_file(data, size_bytes, path, found, find_alt_of, "shared debug file");
}
