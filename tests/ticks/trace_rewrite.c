/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ticks/trace_rewrite.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/rr_trace/block_stream.h"
#include "recorder/rr_trace/capnp.h"
#include "tests/replay/replay_unit.h"
#include "tests/rr_trace/trace_build.h"

#define EVENTS      "events"
#define OURS        "wetdbg."
#define BLOCK_BYTES ((size_t)1 << 20)

enum {
    TICKS_WORD = 1, /* of a frame's data section */
};

static void link_files(const char *from, const char *to)
{
    char source[4096], target[4096];
    DIR *dir = opendir(from);
    assert_non_null(dir);
    for (const struct dirent *file; (file = readdir(dir));) {
        if (file->d_name[0] == '.' || !strcmp(file->d_name, EVENTS) ||
            !strncmp(file->d_name, OURS, strlen(OURS)))
            continue;
        snprintf(source, sizeof(source), "%s/%s", from, file->d_name);
        snprintf(target, sizeof(target), "%s/%s", to, file->d_name);
        if (link(source, target))
            fail_msg("%s: %m", target);
    }
    closedir(dir);
}

/* Packs a message as it was: the segment table, then each segment on its own. */
static void message_pack(struct wd_buf *out, const struct rrt_message *message)
{
    uint64_t table[RRT_MESSAGE_MAX_SEGMENTS / 2 + 1] = {message->segment_count - 1};
    for (uint32_t i = 0; i < message->segment_count; i++)
        table[(i + 1) / 2] |= (uint64_t)message->segments[i].word_count << (i + 1) % 2 * 32;
    build_pack_words(out, table, message->segment_count / 2 + 1);
    for (uint32_t i = 0; i < message->segment_count; i++)
        build_pack_words(out, message->words + message->segments[i].first_word,
                         message->segments[i].word_count);
}

static void ticks_set(struct rrt_message *message, int64_t ticks)
{
    struct rrt_object root;
    unit_check(rrt_message_root(message, &root), "a frame");
    assert_true(root.data_words > TICKS_WORD);
    size_t at = message->segments[root.segment].first_word + root.data_at + TICKS_WORD;
    message->words[at] = (uint64_t)ticks;
}

static void blocks_write(const char *dir, const struct wd_buf *bytes)
{
    struct wd_buf out = {0};
    for (size_t at = 0; at < bytes->size_bytes; at += BLOCK_BYTES) {
        size_t left = bytes->size_bytes - at;
        build_block(&out, bytes->data + at, left < BLOCK_BYTES ? left : BLOCK_BYTES);
    }
    build_write_file(dir, EVENTS, out.data, out.size_bytes);
    wd_buf_fini(&out);
}

void trace_rewrite(const char *from, const char *to, const int64_t *ticks, size_t count)
{
    static struct rrt_message message;
    struct rrt_stream stream = {0};
    struct wd_buf bytes = {0};
    size_t frames = 0;
    int dir = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    if (mkdir(to, 0700))
        fail_msg("%s: %m", to);
    link_files(from, to);
    unit_check(rrt_stream_open(&stream, dir, from, EVENTS), EVENTS);
    for (int err; (err = rrt_message_read(&message, &stream)) != 0; frames++) {
        unit_check(err < 0 ? err : 0, EVENTS);
        assert_true(frames < count);
        ticks_set(&message, ticks[frames]);
        message_pack(&bytes, &message);
    }
    assert_int_equal(frames, count);
    blocks_write(to, &bytes);
    rrt_stream_close(&stream);
    rrt_message_fini(&message);
    wd_buf_fini(&bytes);
    close(dir);
}
