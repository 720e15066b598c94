/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/finish.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "recorder/insn/insn.h"
#include "recorder/rr_trace/input_format.h"
#include "wet/model/make_model.h"
#include "wet/trace/records.h"
#include <wetdbg/errors.h>

struct totals {
    uint64_t nodes, node_executions, loads, stores;
    json_t *files; /* META: where the contents of each file come from */
};

static json_t *text(const char *bytes);

static int add(struct wet_store_writer *store, const struct wet_finish *finish, uint32_t kind,
               uint64_t key, const void *bytes, size_t size_bytes)
{
    return wet_store_add(store, kind, key, bytes, size_bytes, finish->level);
}

static int pad8(struct wd_buf *buf)
{
    return wd_buf_append_zeros(buf, -buf->size_bytes & 7);
}

/* ---- nodes ---- */

static void memory_operands(const struct wet_table_node *node, struct totals *totals)
{
    for (unsigned off = 0, i = 0; i < node->statements; i++) {
        struct ins_info info;
        if (ins_decode(node->code + off, node->code_bytes - off, node->pc + off, &info))
            return;
        for (unsigned m = 0; m < info.mem_count; m++) {
            totals->loads += info.mems[m].flags & INS_MEM_READ ? node->executions : 0;
            totals->stores += info.mems[m].flags & INS_MEM_WRITE ? node->executions : 0;
        }
        off += info.length;
    }
}

static int nodes_section(const struct wet_finish *finish, struct wet_store_writer *store,
                         struct totals *totals)
{
    struct wd_buf out = {0};
    int err = 0;
    for (uint32_t id = 0; !err && id < finish->nodes->count; id++) {
        const struct wet_table_node *node = &finish->nodes->nodes[id];
        totals->nodes++;
        totals->node_executions += node->executions;
        memory_operands(node, totals);
        struct wet_node_record record = {.pc = node->pc,
                                         .executions = node->executions,
                                         .id = id,
                                         .statements = node->statements,
                                         .code_bytes = node->code_bytes};
        err = wd_buf_append(&out, &record, sizeof(record));
        if (!err)
            err = wd_buf_append(&out, node->code, node->code_bytes);
        if (!err)
            err = pad8(&out);
    }
    if (!err)
        err = add(store, finish, WET_SEC_NODES, 0, out.data, out.size_bytes);
    wd_buf_fini(&out);
    return err;
}

/* ---- files ---- */

static bool is_mapped_executable(const struct wet_space *space, uint64_t file)
{
    for (size_t i = 0; i < space->object_count; i++) {
        if (space->objects[i].file == file && space->objects[i].prot & PROT_EXEC)
            return true;
    }
    return false;
}

/* *is_kept tells whether there was something to be kept. */
static int path_section(const struct wet_finish *finish, struct wet_store_writer *store,
                        uint32_t kind, uint64_t key, const char *path, bool *is_kept)
{
    struct stat stat;
    int fd;
    if (wd_regular_try(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &stat))
        return 0; /* debug files are found, not promised */
    if (!stat.st_size) {
        close(fd);
        return 0;
    }
    int err = 0;
    void *map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map != MAP_FAILED) {
        err = add(store, finish, kind, key, map, (size_t)stat.st_size);
        *is_kept = !err;
        munmap(map, (size_t)stat.st_size);
    }
    close(fd);
    return err;
}

/* A debug file goes into a section of its own, its path into `origin` under the name `key`. */
static int debug_section(const struct wet_finish *finish, struct wet_store_writer *store,
                         enum wet_section_kind kind, uint64_t n, const char *path, json_t *origin)
{
    bool is_kept = false;
    int err = path_section(finish, store, kind, n, path, &is_kept);
    if (is_kept)
        json_object_set_new(origin, kind == WET_SEC_DEBUG ? "debug" : "alt", text(path));
    return err;
}

/* Adds a module's whole file, and what holds its debug information if that is elsewhere. */
static int module_section(const struct wet_finish *finish, struct wet_store_writer *store,
                          uint64_t n, const struct rep_file *file, json_t *origin)
{
    char *debug = NULL, *alt = NULL;
    void *map = mmap(NULL, file->size_bytes, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (map == MAP_FAILED)
        return wetdbg_fail_errno("%s", file->backing);
    int err = add(store, finish, WET_SEC_FILE_DATA, n, map, file->size_bytes);
    if (!err && mdl_find_debug_file(map, file->size_bytes, file->name, &debug) == 0)
        err = debug_section(finish, store, WET_SEC_DEBUG, n, debug, origin);
    if (!err && mdl_find_alt_file(map, file->size_bytes, file->name, &alt) == 0)
        err = debug_section(finish, store, WET_SEC_ALT, n, alt, origin);
    free(debug);
    free(alt);
    munmap(map, file->size_bytes);
    return err;
}

static int piece_append(struct wd_buf *out, const struct rep_file *file, uint64_t off,
                        uint64_t bytes)
{
    int err = wd_buf_append_u64(out, off);
    if (!err)
        err = wd_buf_append_u64(out, bytes);
    if (!err)
        err = wd_buf_reserve(out, bytes);
    for (uint64_t done = 0; !err && done < bytes;) {
        ssize_t now =
            pread(file->fd, out->data + out->size_bytes, bytes - done, (off_t)(off + done));
        if (now <= 0)
            return wetdbg_fail_errno("%s", file->backing);
        out->size_bytes += (size_t)now;
        done += (uint64_t)now;
    }
    return err ? err : pad8(out);
}

static int data_section(const struct wet_finish *finish, struct wet_store_writer *store, uint64_t n,
                        const struct rep_file *file)
{
    struct wd_buf out = {0};
    uint64_t covered = 0;
    int err = 0;
    /* objects in order of mapping; a piece that an earlier one holds is left out */
    for (size_t i = 0; !err && i < finish->space->object_count; i++) {
        const struct wet_object *object = &finish->space->objects[i];
        uint64_t bytes = object->file_bytes < object->bytes ? object->file_bytes : object->bytes;
        uint64_t off = object->file_off;
        if (object->file != n || off >= file->size_bytes)
            continue;
        if (bytes > file->size_bytes - off)
            bytes = file->size_bytes - off;
        if (off < covered && off + bytes <= covered)
            continue;
        err = piece_append(&out, file, off, bytes);
        if (off <= covered && off + bytes > covered)
            covered = off + bytes;
    }
    if (!err)
        err = add(store, finish, WET_SEC_FILE_DATA, n, out.data, out.size_bytes);
    wd_buf_fini(&out);
    return err;
}

static json_t *origin_of(const struct rep_file *file)
{
    static const char *const proofs[] = {[RRT_PROOF_DIGEST] = "digest",
                                         [RRT_PROOF_SIZE_TIME] = "size and time",
                                         [RRT_PROOF_SIZE] = "size"};
    json_t *origin = json_object();
    json_object_set_new(origin, "backing", text(file->backing));
    json_object_set_new(origin, "proof", json_string(proofs[file->proof]));
    return origin;
}

static int files_sections(const struct wet_finish *finish, struct wet_store_writer *store,
                          json_t *origins)
{
    struct wd_buf out = {0};
    size_t count;
    const struct rep_file *files = rep_feed_files(finish->feed, &count);
    int err = 0;
    for (size_t i = 0; !err && i < count; i++) {
        struct stat stat;
        char head[4] = "";
        bool elf = pread(files[i].fd, head, 4, 0) == 4 && !memcmp(head, "\177ELF", 4);
        struct wet_file_record record = {.size_bytes = files[i].size_bytes,
                                         .path_bytes = (uint32_t)strlen(files[i].name),
                                         .is_module =
                                             elf && is_mapped_executable(finish->space, i)};
        json_t *origin = origin_of(&files[i]);
        json_array_append_new(origins, origin);
        if (!fstat(files[i].fd, &stat))
            record.mtime_s = stat.st_mtime;
        err = wd_buf_append(&out, &record, sizeof(record));
        if (!err)
            err = wd_buf_append(&out, files[i].name, record.path_bytes);
        if (!err)
            err = pad8(&out);
        if (!err)
            err = record.is_module ? module_section(finish, store, i, &files[i], origin)
                                   : data_section(finish, store, i, &files[i]);
    }
    if (!err)
        err = add(store, finish, WET_SEC_FILES, 0, out.data, out.size_bytes);
    wd_buf_fini(&out);
    return err;
}

/* ---- a run that left another one ---- */

static bool is_taken_over(uint32_t kind)
{
    return kind == WET_SEC_FILES || kind == WET_SEC_FILE_DATA || kind == WET_SEC_DEBUG ||
           kind == WET_SEC_ALT || kind == WET_SEC_INPUT;
}

/* Where the contents of files come from, as that file's META has it. */
static int origins_take(const struct wet_store *from, json_t *origins)
{
    struct wd_buf bytes = {0};
    int err = wet_store_read(from, WET_SEC_META, 0, &bytes);
    json_t *meta =
        err ? NULL : json_loadb((const char *)bytes.data, bytes.size_bytes, JSON_ALLOW_NUL, NULL);
    const json_t *files = json_object_get(meta, "files");
    if (json_is_array(files))
        json_array_extend(origins, (json_t *)files);
    json_decref(meta);
    wd_buf_fini(&bytes);
    return err;
}

/* What the other file holds of the disk, and of standard input. */
static int sections_take_over(const struct wet_finish *finish, struct wet_store_writer *store,
                              json_t *origins)
{
    struct wet_store *from;
    struct wd_buf bytes = {0};
    size_t count;
    int err = wet_store_open(finish->branch->path, &from);
    if (err)
        return err;
    const struct wet_section *sections = wet_store_sections(from, &count);
    for (size_t i = 0; !err && i < count; i++) {
        if (!is_taken_over(sections[i].kind))
            continue;
        err = wet_store_read(from, sections[i].kind, sections[i].key, &bytes);
        if (!err)
            err =
                add(store, finish, sections[i].kind, sections[i].key, bytes.data, bytes.size_bytes);
    }
    if (!err)
        err = origins_take(from, origins);
    wd_buf_fini(&bytes);
    wet_store_close(from);
    return err;
}

/* What standard input still held, if that is known. */
static int input_sections(const struct wet_finish *finish, struct wet_store_writer *store)
{
    int fd = rep_feed_input(finish->feed), err = 0;
    uint8_t *bytes = fd >= 0 ? malloc(WET_INPUT_PIECE) : NULL;
    ssize_t got = 1;
    for (uint64_t n = 0; !err && fd >= 0 && got > 0; n++) {
        got = bytes ? pread(fd, bytes, WET_INPUT_PIECE, (off_t)(n * WET_INPUT_PIECE)) : -1;
        err = !bytes    ? -ENOMEM
              : got < 0 ? wetdbg_fail_errno(RRT_INPUT_NAME)
              : got > 0 ? add(store, finish, WET_SEC_INPUT, n, bytes, (size_t)got)
                        : 0;
    }
    free(bytes);
    return err;
}

/* ---- tables ---- */

static int names_section(const struct wet_finish *finish, struct wet_store_writer *store)
{
    struct wd_buf out = {0};
    size_t count;
    const char *const *names = rep_feed_names(finish->feed, &count);
    int err = 0;
    for (size_t i = 0; !err && i < count; i++)
        err = wd_buf_append(&out, names[i], strlen(names[i]) + 1);
    if (!err)
        err = add(store, finish, WET_SEC_NAMES, 0, out.data, out.size_bytes);
    wd_buf_fini(&out);
    return err;
}

static int tables_sections(const struct wet_finish *finish, struct wet_store_writer *store)
{
    size_t count;
    const struct rep_range *ranges = rep_feed_ranges(finish->feed, &count);
    const struct rep_cpu *cpu = rep_feed_cpu(finish->feed);
    int err = add(store, finish, WET_SEC_SPANS, 0, ranges, count * sizeof(*ranges));
    if (!err)
        err =
            add(store, finish, WET_SEC_CPU, 0, cpu->cpuid, cpu->cpuid_count * sizeof(*cpu->cpuid));
    if (!err)
        err = add(store, finish, WET_SEC_OBJECTS, 0, finish->space->objects,
                  finish->space->object_count * sizeof(*finish->space->objects));
    if (!err)
        err = add(store, finish, WET_SEC_INDEX, 0, finish->index->data, finish->index->size_bytes);
    if (!err)
        err = add(store, finish, WET_SEC_OUTPUTS, 0, finish->outputs->outputs.data,
                  finish->outputs->outputs.size_bytes);
    const struct {
        uint32_t kind;
        const struct wd_buf *bytes;
    } tables[] = {{WET_SEC_THREADS, &finish->threads->threads},
                  {WET_SEC_TURNS, &finish->threads->turns},
                  {WET_SEC_AMBIGUOUS, &finish->threads->ambiguous},
                  {WET_SEC_JUMPS, finish->jumps}};
    for (size_t i = 0; !err && i < sizeof(tables) / sizeof(tables[0]); i++)
        err = add(store, finish, tables[i].kind, 0, tables[i].bytes->data,
                  tables[i].bytes->size_bytes);
    return err;
}

/* ---- meta ---- */

/* A string for META. Arguments and paths may be any bytes; those that are no UTF-8 are kept as
 * {"hex": digits}. */
static json_t *text(const char *bytes)
{
    static const char digits[] = "0123456789abcdef";
    json_t *string = json_string(bytes);
    if (string)
        return string;
    struct wd_buf hex = {0};
    int err = 0;
    for (; *bytes && !err; bytes++) {
        uint8_t byte = (uint8_t)*bytes;
        char pair[2] = {digits[byte >> 4], digits[byte & 15]};
        err = wd_buf_append(&hex, pair, sizeof(pair));
    }
    if (!err)
        string = json_pack("{s:s%}", "hex", (const char *)hex.data, hex.size_bytes);
    wd_buf_fini(&hex);
    return string;
}

/* Puts which processor recorded; what is not known has no number. */
static void processor_put(json_t *meta, const struct rrt_processor *processor)
{
    if (processor->rdpid != RRT_PROCESSOR_UNKNOWN)
        json_object_set_new(meta, "rdpid", json_integer((json_int_t)processor->rdpid));
    if (processor->lsl != RRT_PROCESSOR_UNKNOWN)
        json_object_set_new(meta, "lsl", json_integer((json_int_t)processor->lsl));
}

/* Puts what descriptors 0 to 2 were: a list of numbers for each, null for one that is not known. */
static void streams_put(json_t *meta, const struct rrt_inherited *streams)
{
    json_t *list = json_array();
    for (int fd = 0; fd < RRT_INHERITED; fd++) {
        json_t *stream = streams[fd].is_known ? json_array() : json_null();
        for (int i = 0; i < RRT_INHERITED_FIELDS && streams[fd].is_known; i++)
            json_array_append_new(stream, json_integer(streams[fd].fields[i]));
        json_array_append_new(list, stream);
    }
    json_object_set_new(meta, "streams", list);
}

/* Puts when and where the program was recorded, as far as that is known. */
static void surroundings_put(json_t *meta, const struct rrt_surroundings *surroundings)
{
    if (surroundings->began_ns > 0)
        json_object_set_new(meta, "recorded_at", json_integer(surroundings->began_ns));
    if (surroundings->ended_ns > 0)
        json_object_set_new(meta, "recorded_until", json_integer(surroundings->ended_ns));
    if (surroundings->cwd)
        json_object_set_new(meta, "recorded_in", text(surroundings->cwd));
    streams_put(meta, surroundings->streams);
}

static void branch_put(json_t *meta, const struct wet_branch_of *branch)
{
    json_t *object = json_object();
    json_object_set_new(object, "of", text(branch->fingerprint));
    json_object_set_new(object, "change", text(branch->change));
    json_object_set_new(object, "time", json_integer((json_int_t)branch->time));
    json_object_set_new(meta, "branch", object);
}

static int meta_section(const struct wet_finish *finish, struct wet_store_writer *store,
                        const struct totals *totals)
{
    const struct rep_info *info = rep_feed_info(finish->feed);
    siginfo_t siginfo;
    memcpy(&siginfo, info->fatal_siginfo, sizeof(siginfo));
    json_t *meta = json_object(), *argv = json_array();
    for (size_t i = 0; i < info->argc; i++)
        json_array_append_new(argv, text(info->argv[i]));
    json_object_set_new(meta, "program", text(info->exe));
    json_object_set_new(meta, "argv", argv);
    json_object_set(meta, "files", totals->files);
    json_object_set_new(meta, "fingerprint", text(finish->fingerprint ? finish->fingerprint : ""));
    bool has_end = finish->has_end, has_signal = has_end && info->fatal_signal;
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"pid", (uint64_t)info->pid},
        {"wait_status",
         has_end && info->has_wait_status ? (uint64_t)info->wait_status : UINT64_MAX},
        {"signal", has_signal ? (uint64_t)info->fatal_signal : 0},
        {"signal_code", has_signal ? (uint64_t)(int64_t)siginfo.si_code : 0},
        {"signal_address", has_signal ? (uint64_t)siginfo.si_addr : 0},
        {"signal_time", has_signal ? finish->signal_time : 0},
        {"first_time", finish->first_time},
        {"has_end", has_end},
        {"instructions", finish->last_time + 1 - finish->first_time},
        {"places", finish->threads->places},
        {"nodes", totals->nodes},
        {"node_executions", totals->node_executions},
        {"loads", totals->loads},
        {"stores", totals->stores},
        {"syscalls", finish->outputs->syscalls},
        {"buffered", info->is_buffered},
        {"events", finish->entries},
        {"xcr0", rep_feed_cpu(finish->feed)->xcr0},
        {"x87", rep_feed_cpu(finish->feed)->x87},
        {"cpuid_recorded", rep_feed_cpu(finish->feed)->cpuid_is_recorded},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_object_set_new(meta, numbers[i].key, json_integer((json_int_t)numbers[i].value));
    processor_put(meta, &rep_feed_cpu(finish->feed)->processor);
    if (finish->branch)
        branch_put(meta, finish->branch);
    surroundings_put(meta, rep_feed_surroundings(finish->feed));
    char *bytes = json_dumps(meta, JSON_SORT_KEYS | JSON_ENSURE_ASCII);
    json_decref(meta);
    if (!bytes)
        return -ENOMEM;
    int err = add(store, finish, WET_SEC_META, 0, bytes, strlen(bytes));
    free(bytes);
    return err;
}

int wet_finish_sections(const struct wet_finish *finish, struct wet_store_writer *store,
                        struct wet_build_result *result)
{
    struct totals totals = {.files = json_array()};
    int err = nodes_section(finish, store, &totals);
    if (!err && finish->branch)
        err = sections_take_over(finish, store, totals.files);
    else if (!err)
        err = files_sections(finish, store, totals.files);
    if (!err && !finish->branch)
        err = input_sections(finish, store);
    if (!err)
        err = names_section(finish, store);
    if (!err)
        err = tables_sections(finish, store);
    if (!err)
        err = meta_section(finish, store, &totals);
    json_decref(totals.files);
    if (err)
        return err;
    result->events_checked = finish->entries;
    result->instructions = finish->last_time + 1 - finish->first_time;
    result->nodes = totals.nodes;
    return 0;
}
