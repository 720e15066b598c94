/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an attacker does to a recording or a .wet: other bytes in the place of some, and all digests
 * and checksums made right again.
 *
 *   alter recording DIRECTORY CHANGE...     in place: copies of mapped files, and recorded memory
 *   alter wet FILE CHANGE...                in place: every section
 *   alter offsets                           of the context's words, for those who want to aim at
 *                                           them
 *
 * CHANGE is OLD=NEW in hexadecimal, as long as each other. Each has to be there, or the status is
 * 1.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/agent/agent.h"
#include "recorder/record/sums.h"
#include "recorder/rr_trace/block_stream.h"
#include "tests/rr_trace/trace_build.h"
#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>

#define BLOCK_BYTES   ((size_t)1 << 20)
#define CHANGES_MAX   32
#define CHANGE_BYTES  64
#define MAPPED_PREFIX "mmap_"

struct change {
    uint8_t from[CHANGE_BYTES], to[CHANGE_BYTES];
    size_t bytes;
    unsigned made;
};

static struct change changes[CHANGES_MAX];
static size_t change_count;

static void give_up(const char *what)
{
    fprintf(stderr, "alter: %s\n", what);
    exit(2);
}

/* ---- changes ---- */

static size_t hex_read(const char *text, size_t digits, uint8_t *to)
{
    for (size_t i = 0; i + 1 < digits; i += 2) {
        unsigned byte = 0;
        if (i / 2 == CHANGE_BYTES || sscanf(text + i, "%2x", &byte) != 1)
            give_up(text);
        to[i / 2] = (uint8_t)byte;
    }
    return digits / 2;
}

static void changes_read(int count, char *const words[])
{
    if (count > CHANGES_MAX)
        give_up("too many changes");
    for (int i = 0; i < count; i++) {
        struct change *change = &changes[change_count++];
        const char *middle = strchr(words[i], '=');
        if (!middle)
            give_up(words[i]);
        change->bytes = hex_read(words[i], (size_t)(middle - words[i]), change->from);
        if (!change->bytes || hex_read(middle + 1, strlen(middle + 1), change->to) != change->bytes)
            give_up(words[i]);
    }
}

/* Whether any was made. */
static bool changes_make(uint8_t *bytes, size_t count)
{
    bool any = false;
    for (size_t i = 0; i < change_count; i++) {
        struct change *change = &changes[i];
        uint8_t *at = bytes, *end = bytes + count;
        while ((at = memmem(at, (size_t)(end - at), change->from, change->bytes))) {
            memcpy(at, change->to, change->bytes);
            at += change->bytes;
            change->made++;
            any = true;
        }
    }
    return any;
}

static int changes_check(void)
{
    for (size_t i = 0; i < change_count; i++) {
        if (!changes[i].made)
            fprintf(stderr, "alter: change %zu is nowhere\n", i);
        if (!changes[i].made)
            return 1;
    }
    return 0;
}

/* ---- recordings ---- */

/* A new file, as the old one may be the system's. */
static void file_alter(int dir, const char *name)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        give_up(name);
    uint8_t *bytes = malloc((size_t)st.st_size + 1);
    if (!bytes || pread(fd, bytes, (size_t)st.st_size, 0) != st.st_size)
        give_up(name);
    close(fd);
    if (changes_make(bytes, (size_t)st.st_size)) {
        unlinkat(dir, name, 0);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0 || write(fd, bytes, (size_t)st.st_size) != st.st_size || fchmod(fd, st.st_mode))
            give_up(name);
        futimens(fd, (const struct timespec[]){st.st_atim, st.st_mtim});
        close(fd);
    }
    free(bytes);
}

/* Recorded memory: blocks of what was read and written, one after the other. */
static void data_alter(int dir, const char *path)
{
    struct rrt_stream stream = {0};
    struct wd_buf bytes = {0}, out = {0};
    uint8_t byte;
    if (rrt_stream_open(&stream, dir, path, "data"))
        give_up("data");
    while (!rrt_stream_at_end(&stream)) {
        if (rrt_stream_read(&stream, &byte, 1) || wd_buf_append(&bytes, &byte, 1))
            give_up("data");
    }
    rrt_stream_close(&stream);
    if (changes_make(bytes.data, bytes.size_bytes)) {
        for (size_t at = 0; at < bytes.size_bytes; at += BLOCK_BYTES) {
            size_t left = bytes.size_bytes - at;
            build_block(&out, bytes.data + at, left < BLOCK_BYTES ? left : BLOCK_BYTES);
        }
        unlinkat(dir, "data", 0);
        build_write_file(path, "data", out.data, out.size_bytes);
    }
    wd_buf_fini(&bytes);
    wd_buf_fini(&out);
}

static void recording_alter(const char *path)
{
    DIR *list = opendir(path);
    if (!list)
        give_up(path);
    for (const struct dirent *entry; (entry = readdir(list));) {
        if (!strncmp(entry->d_name, MAPPED_PREFIX, strlen(MAPPED_PREFIX)))
            file_alter(dirfd(list), entry->d_name);
    }
    data_alter(dirfd(list), path);
    unlinkat(dirfd(list), "wetdbg.sums", 0);
    closedir(list);
    if (rec_sums_write(path))
        give_up(wetdbg_error(-WETDBG_ERR_CORRUPT));
}

/* ---- .wet files ---- */

static void wet_alter(const char *path)
{
    struct unit_sections sections = {0};
    unit_sections_load(&sections, path);
    for (size_t i = 0; i < sections.count; i++)
        changes_make(sections.list[i].bytes.data, sections.list[i].bytes.size_bytes);
    unit_sections_store(&sections, path, SIZE_MAX);
    unit_sections_fini(&sections);
}

int main(int argc, char *argv[])
{
    if (argc == 2 && !strcmp(argv[1], "offsets")) {
        printf("%zu %zu %zu\n", (size_t)AGT_CTX_AGENT_EXIT, offsetof(struct agt_ctx, mail.turn),
               offsetof(struct agt_ctx, mail.args));
        return 0;
    }
    if (argc < 3)
        give_up("alter recording|wet PATH OLD=NEW...");
    changes_read(argc - 3, argv + 3);
    if (!strcmp(argv[1], "recording"))
        recording_alter(argv[2]);
    else if (!strcmp(argv[1], "wet"))
        wet_alter(argv[2]);
    else
        give_up(argv[1]);
    return changes_check();
}
