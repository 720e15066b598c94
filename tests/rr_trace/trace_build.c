/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/rr_trace/trace_build.h"

#include <brotli/encode.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void require(bool is_fine, const char *what)
{
    if (is_fine)
        return;
    fprintf(stderr, "cannot build a test's input: %s\n", what);
    abort();
}

static void append(struct wd_buf *out, const void *bytes, size_t count)
{
    require(wd_buf_append(out, bytes, count) == 0, "out of memory");
}

/* ---------------------------------------------------------------- messages */

static size_t take(struct build *build, size_t count)
{
    size_t at = build->count;
    require(count <= BUILD_MAX_WORDS - at, "the message is too large");
    memset(build->words + at, 0, count * sizeof(build->words[0]));
    build->count += count;
    return at;
}

static uint64_t struct_word(size_t offset, unsigned data_words, unsigned pointer_words)
{
    return (uint64_t)offset << 2 | (uint64_t)data_words << 32 | (uint64_t)pointer_words << 48;
}

static uint64_t list_word(size_t offset, unsigned element, size_t count)
{
    return 1 | (uint64_t)offset << 2 | (uint64_t)element << 32 | (uint64_t)count << 35;
}

struct built build_struct(struct build *build, size_t pointer_at, unsigned data_words,
                          unsigned pointer_words)
{
    size_t at = take(build, data_words + pointer_words);
    build->words[pointer_at] = struct_word(at - pointer_at - 1, data_words, pointer_words);
    return (struct built){at, at + data_words};
}

struct built build_root(struct build *build, unsigned data_words, unsigned pointer_words)
{
    build->count = 0;
    take(build, 1);
    return build_struct(build, 0, data_words, pointer_words);
}

struct built build_structs(struct build *build, size_t pointer_at, size_t count,
                           unsigned data_words, unsigned pointer_words)
{
    size_t words = count * (data_words + pointer_words);
    size_t at = take(build, words + 1);
    build->words[pointer_at] = list_word(at - pointer_at - 1, 7, words);
    build->words[at] = struct_word(count, data_words, pointer_words);
    return (struct built){at + 1, at + 1 + data_words};
}

void build_bytes(struct build *build, size_t pointer_at, const void *bytes, size_t count)
{
    size_t at = take(build, (count + 7) / 8);
    build->words[pointer_at] = list_word(at - pointer_at - 1, 2, count);
    if (count > 0)
        memcpy(build->words + at, bytes, count);
}

void build_u32s(struct build *build, size_t pointer_at, const uint32_t *values, size_t count)
{
    size_t at = take(build, (count + 1) / 2);
    build->words[pointer_at] = list_word(at - pointer_at - 1, 4, count);
    memcpy(build->words + at, values, count * sizeof(*values));
}

size_t build_pointers(struct build *build, size_t pointer_at, size_t count)
{
    size_t at = take(build, count);
    build->words[pointer_at] = list_word(at - pointer_at - 1, 6, count);
    return at;
}

void build_set(struct build *build, struct built object, unsigned bit, uint64_t value)
{
    build->words[object.data + bit / 64] |= value << bit % 64;
}

static size_t run_length(const uint64_t *words, size_t count, bool zeros)
{
    size_t run = 0;
    while (run < count && run < 255 && (words[run] == 0) == zeros)
        run++;
    return run;
}

static uint8_t tag_of(uint64_t word, uint8_t bytes[9], size_t *used)
{
    *used = 1;
    bytes[0] = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint8_t byte = (uint8_t)(word >> 8 * i);
        if (byte == 0)
            continue;
        bytes[0] |= (uint8_t)(1u << i);
        bytes[(*used)++] = byte;
    }
    return bytes[0];
}

void build_pack_words(struct wd_buf *out, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count;) {
        uint8_t bytes[9];
        size_t used;
        uint8_t tag = tag_of(words[i++], bytes, &used);
        append(out, bytes, used);
        if (tag != 0x00 && tag != 0xff)
            continue;
        size_t run = run_length(words + i, count - i, tag == 0x00);
        uint8_t length = (uint8_t)run;
        append(out, &length, 1);
        if (tag == 0xff)
            append(out, words + i, run * sizeof(*words));
        i += run;
    }
}

void build_pack(struct wd_buf *out, const struct build *build)
{
    uint64_t table = (uint64_t)build->count << 32;
    build_pack_words(out, &table, 1);
    build_pack_words(out, build->words, build->count);
}

/* ---------------------------------------------------------------- blocks */

void build_block(struct wd_buf *out, const void *bytes, size_t count)
{
    size_t room = BrotliEncoderMaxCompressedSize(count) + 16;
    uint8_t *packed = malloc(room);
    require(packed != NULL, "out of memory");
    require(BrotliEncoderCompress(5, BROTLI_DEFAULT_WINDOW, BROTLI_DEFAULT_MODE, count, bytes,
                                  &room, packed),
            "compression failed");
    require(wd_buf_append_u32(out, (uint32_t)room) == 0, "out of memory");
    require(wd_buf_append_u32(out, (uint32_t)count) == 0, "out of memory");
    append(out, packed, room);
    free(packed);
}

/* ---------------------------------------------------------------- records */

void build_trace_fini(struct build_trace *trace)
{
    wd_buf_fini(&trace->version);
    wd_buf_fini(&trace->events);
    wd_buf_fini(&trace->mmaps);
    wd_buf_fini(&trace->tasks);
    wd_buf_fini(&trace->data);
}

void build_version(struct build_trace *trace)
{
    static const struct rrt_cpuid cpuid[] = {
        {0, RRT_CPUID_NO_SUBLEAF, 0x10, 0x68747541, 0x444d4163, 0x69746e65},
        {0xd, 0, 7, 832, 832, 0},
        {0xd, 2, 256, 576, 0, 0},
    };
    struct build build;
    struct built root = build_root(&build, 8, 2);
    build_set(&build, root, 0, 3);            /* bound to CPU 3 */
    build_set(&build, root, 36, 1);           /* clears FIP, FDP */
    build_set(&build, root, 39, 1);           /* forced tick */
    build_set(&build, root, 160, 1000 ^ 442); /* rrcall base */
    build_set(&build, root, 384, 3);          /* forward compatibility */
    build_bytes(&build, root.pointers, "0123456789abcdef", 16);
    build_bytes(&build, root.pointers + 1, cpuid, sizeof(cpuid));
    append(&trace->version, "85\n", 3);
    build_pack(&trace->version, &build);
}

struct built build_frame(struct build *build, int tid, enum rrt_event event)
{
    static const double seconds = 12.5;
    uint64_t bits;
    struct built root = build_root(build, 7, 5);
    memcpy(&bits, &seconds, sizeof(bits));
    build_set(build, root, 0, (uint32_t)tid);
    build_set(build, root, 32, RRT_ARCH_X86_64);
    build_set(build, root, 48, event);
    build_set(build, root, 128, bits);
    return root;
}

void build_syscall(struct build *build, struct built frame, enum rrt_syscall_state state,
                   int number)
{
    build_set(build, frame, 192, RRT_ARCH_X86_64);
    build_set(build, frame, 208, state);
    build_set(build, frame, 224, (uint32_t)number);
}

void build_regs(struct build *build, struct built frame, const struct rrt_regs *regs)
{
    struct built holder = build_struct(build, frame.pointers + 1, 0, 1);
    build_bytes(build, holder.pointers, regs, sizeof(*regs));
}

void build_signal(struct build *build, struct built frame, int number, bool deterministic,
                  enum rrt_disposition disposition)
{
    uint8_t siginfo[RRT_SIGINFO_BYTES] = {(uint8_t)number};
    struct built signal = build_struct(build, frame.pointers + 3, 1, 1);
    build_set(build, signal, 16, deterministic);
    build_set(build, signal, 32, disposition);
    build_bytes(build, signal.pointers, siginfo, sizeof(siginfo));
}

struct built build_mmap(struct build *build, uint64_t time, uint64_t start, uint64_t end,
                        enum rrt_mmap_source source, const char *name, const char *backing)
{
    struct built root = build_root(build, 11, 3);
    build_set(build, root, 0, time);
    build_set(build, root, 64, start);
    build_set(build, root, 128, end);
    build_set(build, root, 320, 3);
    build_set(build, root, 352, 2);
    build_set(build, root, 544, source);
    build_bytes(build, root.pointers, name, strlen(name));
    if (backing)
        build_bytes(build, root.pointers + 1, backing, strlen(backing));
    return root;
}

struct built build_task(struct build *build, uint64_t time, int tid, enum rrt_task_kind kind)
{
    struct built root = build_root(build, 5, 3);
    build_set(build, root, 0, time);
    build_set(build, root, 64, (uint32_t)tid);
    build_set(build, root, 192, kind);
    return root;
}

/* ---------------------------------------------------------------- a sample */

static void sample_syscall(struct build_trace *trace, enum rrt_syscall_state state, int number)
{
    struct build build;
    struct rrt_regs regs = {.rax = 7, .rip = 0x401000, .orig_rax = (uint64_t)number};
    struct built frame = build_frame(&build, 10, RRT_EVENT_SYSCALL);
    build_syscall(&build, frame, state, number);
    build_regs(&build, frame, &regs);
    build_pack(&trace->events, &build);
}

/* Two writes; the second has a hole of 4 bytes in the middle of its 12. */
static void sample_writes(struct build_trace *trace)
{
    struct build build;
    struct rrt_regs regs = {.rax = 0};
    struct built frame = build_frame(&build, 10, RRT_EVENT_SYSCALL);
    build_syscall(&build, frame, RRT_SYSCALL_EXITING, 59);
    build_regs(&build, frame, &regs);
    struct built write = build_structs(&build, frame.pointers, 2, 3, 1);
    for (int i = 0; i < 2; i++) {
        build_set(&build, write, 0, 10);
        build_set(&build, write, 64, 0x500000 + 0x1000 * (uint64_t)i);
        build_set(&build, write, 128, i ? 12 : 5);
        if (i == 1) {
            struct built hole = build_structs(&build, write.pointers, 1, 2, 0);
            build_set(&build, hole, 0, 4);
            build_set(&build, hole, 64, 4);
        }
        write.data += 4;
        write.pointers += 4;
    }
    build_pack(&trace->events, &build);
    append(&trace->data, "helloABCDEFGH", 13);
}

static void sample_signal(struct build_trace *trace, enum rrt_event event)
{
    struct build build;
    struct rrt_regs regs = {.rip = 0x401234};
    struct built frame = build_frame(&build, 11, event);
    build_regs(&build, frame, &regs);
    build_signal(&build, frame, 11, true, RRT_DISPOSITION_FATAL);
    build_pack(&trace->events, &build);
}

static void sample_exit(struct build_trace *trace, uint64_t time, int tid, int status)
{
    struct build build;
    build_frame(&build, tid, RRT_EVENT_EXIT);
    build_pack(&trace->events, &build);
    struct built task = build_task(&build, time, tid, RRT_TASK_EXIT);
    build_set(&build, task, 96, (uint32_t)status);
    build_pack(&trace->tasks, &build);
}

static void sample_exec(struct build_trace *trace, uint64_t time)
{
    struct build build;
    struct built task = build_task(&build, time, 10, RRT_TASK_EXEC);
    build_bytes(&build, task.pointers, "/bin/sample", 11);
    size_t argv = build_pointers(&build, task.pointers + 1, 2);
    build_bytes(&build, argv, "sample", 6);
    build_bytes(&build, argv + 1, "-x \"q\"\n\xff", 8);
    build_pack(&trace->tasks, &build);
    build_mmap(&build, time, 0x400000, 0x402000, RRT_SOURCE_FILE, "/bin/sample",
               "mmap_hardlink_1_sample");
    build_pack(&trace->mmaps, &build);
    build_mmap(&build, time, 0x500000, 0x510000, RRT_SOURCE_ZERO, "[stack]", NULL);
    build_pack(&trace->mmaps, &build);
}

/* 10 runs a program, forks 11, which dies of SIGSEGV; then 10 exits with 3. */
void build_sample(struct build_trace *trace)
{
    struct build build;
    build_version(trace);
    sample_syscall(trace, RRT_SYSCALL_ENTERING, 59);
    sample_writes(trace);
    sample_exec(trace, 2);
    sample_syscall(trace, RRT_SYSCALL_ENTERING, 57);
    struct built clone = build_task(&build, 3, 11, RRT_TASK_CLONE);
    build_set(&build, clone, 96, 10);
    build_set(&build, clone, 128, 17);
    build_set(&build, clone, 160, 11);
    build_pack(&trace->tasks, &build);
    sample_signal(trace, RRT_EVENT_SIGNAL);
    sample_signal(trace, RRT_EVENT_SIGNAL_DELIVERY);
    sample_exit(trace, 6, 11, 11);
    sample_syscall(trace, RRT_SYSCALL_ENTERING, 231);
    sample_exit(trace, 8, 10, 3 << 8);
}

/* ---------------------------------------------------------------- files */

void build_write_file(const char *dir, const char *name, const void *bytes, size_t count)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *file = fopen(path, "wb");
    require(file != NULL, path);
    if (count > 0)
        require(fwrite(bytes, 1, count, file) == count, path);
    require(fclose(file) == 0, path);
}

static void write_blocks(const char *dir, const char *name, const struct wd_buf *bytes,
                         size_t block_bytes)
{
    struct wd_buf out = {0};
    for (size_t at = 0; at < bytes->size_bytes; at += block_bytes) {
        size_t left = bytes->size_bytes - at;
        build_block(&out, bytes->data + at, left < block_bytes ? left : block_bytes);
    }
    build_write_file(dir, name, out.data, out.size_bytes);
    wd_buf_fini(&out);
}

void build_write(const struct build_trace *trace, const char *dir, size_t block_bytes)
{
    build_write_file(dir, "version", trace->version.data, trace->version.size_bytes);
    write_blocks(dir, "events", &trace->events, block_bytes);
    write_blocks(dir, "mmaps", &trace->mmaps, block_bytes);
    write_blocks(dir, "tasks", &trace->tasks, block_bytes);
    write_blocks(dir, "data", &trace->data, block_bytes);
}

char *build_temp_dir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir;
    require(asprintf(&dir, "%s/rr_trace_test.XXXXXX", base && *base ? base : "/tmp") > 0,
            "out of memory");
    require(mkdtemp(dir) != NULL, dir);
    return dir;
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st;
    (void)kind;
    (void)walk;
    return remove(path);
}

void build_remove_dir(char *dir)
{
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}
