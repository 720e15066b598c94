/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/page.h"
#include "slicer/call_events.h"
#include "slicer/syscalls.h"
#include <wetdbg/errors.h>

#define FD_MAX        65536
#define PATH_BYTES    4096
#define TRANSFERS_MAX (UINT32_C(1) << 24) /* what further ones did is not known */
#define NO_FILE       SLC_NO_FILE

/* What open() makes: a name, and a position that all copies of the descriptor share. */
struct file {
    struct slc_file is;
    const char *what; /* instead of a path */
    char *name;       /* once it has been asked for */
    char *plain;      /* the same without "." and ".." */
    bool is_named, is_appending;
    uint64_t position, end; /* SLC_OFFSET_UNKNOWN */
};

struct table {
    uint32_t *files; /* by descriptor; NO_FILE */
    size_t count;
    unsigned users;
};

struct call {
    wetdbg_time time;
    int32_t number;
    uint64_t args[SLC_SYSCALL_ARGS];
    int64_t result;
    const struct evq_entry *exit;
    uint64_t began;
};

struct slc_files {
    struct wetdbg *wet;
    struct file *files;
    size_t file_count, file_capacity;
    struct slc_transfer *transfers;
    size_t transfer_count, transfer_capacity;
    struct slc_fifo *fifos;
    size_t fifo_count, fifo_capacity;
    struct table *tables[EVQ_TASKS_MAX]; /* while the events are passed */
    struct {
        wetdbg_time time;
        uint64_t frame;
        bool has_made_task;
    } calls[EVQ_TASKS_MAX];
};

static const struct slc_file no_file = {
    .directory = NO_FILE, .reads_fifo = SLC_NO_FIFO, .writes_fifo = SLC_NO_FIFO};

/* ---- descriptors ---- */

static int table_set(struct table *table, uint64_t fd, uint32_t file)
{
    if (fd >= FD_MAX)
        return 0;
    if (fd >= table->count) {
        size_t count = (size_t)(fd + 64);
        uint32_t *grown = realloc(table->files, count * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        for (size_t i = table->count; i < count; i++)
            grown[i] = NO_FILE;
        table->files = grown;
        table->count = count;
    }
    table->files[fd] = file;
    return 0;
}

static int file_add(struct slc_files *files, const struct file *file, uint32_t *index)
{
    if (wd_grow(files->files, files->file_capacity, files->file_count + 1))
        return -ENOMEM;
    *index = (uint32_t)files->file_count;
    files->files[files->file_count++] = *file;
    return 0;
}

/* The file of a descriptor; one that nothing in the run opened came with the process. */
static int file_of(struct slc_files *files, struct table *table, uint64_t fd, uint32_t *index)
{
    static const char *const names[] = {"standard input", "standard output", "standard error"};
    struct file file = {.is = no_file,
                        .what = fd < 3 ? names[fd] : "a descriptor that was already open",
                        .position = SLC_OFFSET_UNKNOWN,
                        .end = SLC_OFFSET_UNKNOWN};

    *index = NO_FILE;
    if (fd >= FD_MAX)
        return 0;
    if (fd < table->count && table->files[fd] != NO_FILE) {
        *index = table->files[fd];
        return 0;
    }
    int err = file_add(files, &file, index);
    return err ? err : table_set(table, fd, *index);
}

static struct table *table_new(void)
{
    struct table *table = calloc(1, sizeof(*table));
    if (table)
        table->users = 1;
    return table;
}

static void table_drop(struct table *table)
{
    if (!table || --table->users)
        return;
    free(table->files);
    free(table);
}

/* Gives a new task its table: threads share their table, children by fork and vfork have a copy. */
static int table_inherit(struct slc_files *files, uint32_t parent, uint32_t child, bool shares)
{
    struct table *from = files->tables[parent], *to = from;

    if (shares) {
        from->users++;
    } else {
        to = table_new();
        if (!to)
            return -ENOMEM;
        int err = 0;
        for (size_t fd = 0; fd < from->count && !err; fd++)
            err = table_set(to, fd, from->files[fd]);
        if (err) {
            table_drop(to);
            return err;
        }
    }
    table_drop(files->tables[child]);
    files->tables[child] = to;
    return 0;
}

/* ---- transfers ---- */

/* What all transfers of a call have. */
static struct slc_transfer transfer_of(const struct call *call, enum slc_transfer_kind kind,
                                       uint32_t file)
{
    return (struct slc_transfer){.time = call->time,
                                 .began = call->began,
                                 .ended = call->exit->frame,
                                 .kind = kind,
                                 .number = call->number,
                                 .fd = -1,
                                 .file = file,
                                 .offset = SLC_OFFSET_UNKNOWN,
                                 .from_file = NO_FILE,
                                 .to_directory = NO_FILE};
}

static int transfer_add(struct slc_files *files, const struct slc_transfer *transfer)
{
    assert(transfer->file < files->file_count || transfer->file == NO_FILE);
    if (files->transfer_count >= TRANSFERS_MAX)
        return 0;
    if (wd_grow(files->transfers, files->transfer_capacity, files->transfer_count + 1))
        return -ENOMEM;
    files->transfers[files->transfer_count] = *transfer;
    files->transfers[files->transfer_count].sequence = (uint32_t)files->transfer_count;
    files->transfer_count++;
    if (transfer->kind == SLC_TRANSFER_WRITE || transfer->kind == SLC_TRANSFER_PASS)
        files->files[transfer->file].is.is_written = true;
    return 0;
}

/* Where a call that read or wrote at `at` (SLC_OFFSET_UNKNOWN: at the file's position, which moves
 * on) did so. */
static uint64_t pass_position(struct file *file, bool is_write, uint64_t size, uint64_t at)
{
    bool moves = at == SLC_OFFSET_UNKNOWN;

    if (is_write && file->is_appending) /* whatever pwrite says */
        at = file->end;
    else if (moves)
        at = file->position;
    if (at != SLC_OFFSET_UNKNOWN && at + size < at)
        at = SLC_OFFSET_UNKNOWN;
    bool is_known = at != SLC_OFFSET_UNKNOWN;
    if (moves)
        file->position = is_known ? at + size : SLC_OFFSET_UNKNOWN;
    if (is_known && is_write && file->end != SLC_OFFSET_UNKNOWN && at + size > file->end)
        file->end = at + size;
    return at;
}

/* A call that put bytes into a file wrote memory where shared mappings show them, too. */
static int pass_shown(struct slc_files *files, const struct call *call, uint32_t file)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_SHOW, file);
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(call->exit, op));) {
        if (op->op != EVQ_OP_WRITE)
            continue;
        transfer.address = op->range.start;
        transfer.size = op->range.size;
        err = transfer_add(files, &transfer);
    }
    return err;
}

static enum slc_transfer_layout layout_of(int32_t number)
{
    switch (number) {
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_vmsplice:
        return SLC_LAYOUT_VECTOR;
    case SYS_recvmsg:
    case SYS_sendmsg:
        return SLC_LAYOUT_MESSAGE;
    default:
        return SLC_LAYOUT_BUFFER;
    }
}

static bool is_peek(const struct call *call)
{
    switch (call->number) {
    case SYS_recvfrom:
        return call->args[3] & MSG_PEEK;
    case SYS_recvmsg:
        return call->args[2] & MSG_PEEK;
    default:
        return false;
    }
}

/* Notes a transfer of bytes at the file's position, which moves on, or at `at`. */
static int pass_bytes(struct slc_files *files, struct table *table, const struct call *call,
                      enum slc_transfer_kind kind, uint64_t at)
{
    uint32_t index;
    uint64_t size = (uint64_t)call->result;
    bool is_write = kind == SLC_TRANSFER_WRITE;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE)
        return err;
    struct slc_transfer transfer = transfer_of(call, kind, index);
    struct file *file = &files->files[index];
    transfer.is_append = is_write && file->is_appending;
    transfer.offset = pass_position(file, is_write, size, at);
    transfer.fd = (int)call->args[0];
    transfer.size = size;
    transfer.layout = layout_of(call->number);
    transfer.address = call->args[1];
    transfer.count = transfer.layout == SLC_LAYOUT_VECTOR ? call->args[2] : 1;
    transfer.is_peek = is_peek(call);
    int added = transfer_add(files, &transfer);
    return added || !is_write ? added : pass_shown(files, call, index);
}

static int pass_truncate(struct slc_files *files, uint32_t index, const struct call *call,
                         uint64_t length)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_TRUNCATE, index);

    assert(index < files->file_count);
    transfer.count = call->number == SYS_ftruncate ? files->files[index].end : SLC_OFFSET_UNKNOWN;
    files->files[index].end = length;
    transfer.offset = length;
    return transfer_add(files, &transfer);
}

/* ---- calls ---- */

/* The descriptor that a path is relative to; NO_FILE: none, or the current directory. */
static int directory_of(struct slc_files *files, struct table *table, uint64_t fd, uint32_t *index)
{
    *index = NO_FILE;
    return (int32_t)fd < 0 ? 0 : file_of(files, table, (uint32_t)fd, index);
}

static int pass_open(struct slc_files *files, struct table *table, const struct call *call,
                     uint64_t directory, uint64_t path, uint64_t flags)
{
    bool is_new = flags & O_CREAT && flags & O_EXCL, is_empty = is_new || flags & O_TRUNC;
    struct file file = {
        .is = no_file, .is_appending = flags & O_APPEND, .end = is_empty ? 0 : SLC_OFFSET_UNKNOWN};
    uint32_t index;

    file.is.kind = SLC_FILE_PATH;
    file.is.time = call->time;
    file.is.path_address = path;
    file.is.is_new = is_new;
    int err = directory_of(files, table, directory, &file.is.directory);
    if (!err)
        err = file_add(files, &file, &index);
    if (!err)
        err = table_set(table, (uint64_t)call->result, index);
    if (!err) {
        const struct slc_transfer named = transfer_of(call, SLC_TRANSFER_NAME, index);
        err = transfer_add(files, &named);
    }
    if (!err && is_empty)
        err = pass_truncate(files, index, call, 0);
    return err;
}

/* Calls that change what paths mean. */
static int pass_paths(struct slc_files *files, struct table *table, const struct call *call,
                      enum slc_transfer_kind kind, bool has_directories)
{
    struct slc_transfer transfer = transfer_of(call, kind, NO_FILE);
    const uint64_t *a = call->args;
    unsigned first = has_directories ? 1 : 0;
    int err = 0;

    transfer.address = a[first];
    transfer.to_address = a[2 * first + 1];
    transfer.count = kind == SLC_TRANSFER_RENAME && call->number == SYS_renameat2 ? a[4] : 0;
    if (has_directories)
        err = directory_of(files, table, a[0], &transfer.file);
    if (has_directories && kind != SLC_TRANSFER_UNLINK && !err)
        err = directory_of(files, table, a[2], &transfer.to_directory);
    return err ? err : transfer_add(files, &transfer);
}

static int pass_symlink(struct slc_files *files, struct table *table, const struct call *call)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_SYMLINK, NO_FILE);
    const uint64_t *a = call->args;
    bool has_directory = call->number == SYS_symlinkat;

    transfer.address = a[0];
    transfer.to_address = has_directory ? a[2] : a[1];
    int err = has_directory ? directory_of(files, table, a[1], &transfer.to_directory) : 0;
    return err ? err : transfer_add(files, &transfer);
}

static int pass_cut(struct slc_files *files, const struct call *call)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_CUT, NO_FILE);

    transfer.address = call->args[0];
    transfer.offset = call->args[1];
    return transfer_add(files, &transfer);
}

static int pass_chdir(struct slc_files *files, struct table *table, const struct call *call)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_CHDIR, NO_FILE);
    int err = 0;

    if (call->number == SYS_chdir)
        transfer.address = call->args[0];
    if (call->number == SYS_fchdir)
        err = directory_of(files, table, call->args[0], &transfer.file);
    return err ? err : transfer_add(files, &transfer);
}

static int pass_other(struct slc_files *files, struct table *table, const struct call *call,
                      uint64_t fd, const char *what)
{
    struct file file = {
        .is = no_file, .what = what, .position = SLC_OFFSET_UNKNOWN, .end = SLC_OFFSET_UNKNOWN};
    uint32_t index;

    file.is.time = call->time;
    if (call->number == SYS_memfd_create) {
        file.is.kind = SLC_FILE_MEMORY;
        file.position = file.end = 0;
    }
    int err = file_add(files, &file, &index);
    return err ? err : table_set(table, fd, index);
}

static int pass_copy(struct slc_files *files, struct table *table, uint64_t from, uint64_t to)
{
    uint32_t index;
    int err = file_of(files, table, from, &index);

    return err || index == NO_FILE ? err : table_set(table, to, index);
}

/* The bytes that a call wrote at an address; NULL if it did not write so many there. */
static const void *written_at(const struct call *call, uint64_t address, uint64_t size)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(call->exit, op));)
        if (op->op == EVQ_OP_WRITE && op->range.start == address && op->range.size >= size &&
            op->bytes >= sizeof(*op) + size)
            return op + 1;
    return NULL;
}

static int fifo_add(struct slc_files *files, bool has_messages)
{
    if (wd_grow(files->fifos, files->fifo_capacity, files->fifo_count + 1))
        return -ENOMEM;
    files->fifos[files->fifo_count++] =
        (struct slc_fifo){.has_messages = has_messages, .foreign = UINT64_MAX};
    return 0;
}

static int add_end(struct slc_files *files, struct table *table, const struct call *call,
                   const struct file *file, int32_t fd)
{
    uint32_t index;
    struct file end = *file;

    end.is.kind = SLC_FILE_FIFO;
    end.is.time = call->time;
    end.position = end.end = SLC_OFFSET_UNKNOWN;
    int err = file_add(files, &end, &index);
    return err ? err : table_set(table, (uint32_t)fd, index);
}

/* A pipe: the second descriptor writes, the first one reads. */
static int pass_pipe(struct slc_files *files, struct table *table, const struct call *call)
{
    int32_t fds[2];
    const void *bytes = written_at(call, call->args[0], sizeof(fds));
    struct file ends[2] = {{.is = no_file, .what = "a pipe"}, {.is = no_file, .what = "a pipe"}};
    int err = 0;

    if (!bytes)
        return 0;
    memcpy(fds, bytes, sizeof(fds));
    ends[0].is.reads_fifo = ends[1].is.writes_fifo = (uint32_t)files->fifo_count;
    err = fifo_add(files, false);
    for (unsigned i = 0; i < 2 && !err; i++)
        err = add_end(files, table, call, &ends[i], fds[i]);
    return err;
}

#define SOCKET_TYPE 0xf

static int pass_socketpair(struct slc_files *files, struct table *table, const struct call *call)
{
    int32_t fds[2];
    const void *bytes = written_at(call, call->args[3], sizeof(fds));
    bool has_messages = (call->args[1] & SOCKET_TYPE) != SOCK_STREAM;
    int err = 0;

    if (!bytes)
        return 0;
    memcpy(fds, bytes, sizeof(fds));
    uint32_t first = (uint32_t)files->fifo_count;
    for (unsigned i = 0; i < 2 && !err; i++)
        err = fifo_add(files, has_messages);
    for (uint32_t i = 0; i < 2 && !err; i++) {
        struct file end = {.is = no_file, .what = "a socket"};
        end.is.reads_fifo = first + i;
        end.is.writes_fifo = first + 1 - i;
        err = add_end(files, table, call, &end, fds[i]);
    }
    return err;
}

static int pass_fcntl(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;

    if (call->args[1] == F_DUPFD || call->args[1] == F_DUPFD_CLOEXEC)
        return pass_copy(files, table, call->args[0], (uint64_t)call->result);
    int err = file_of(files, table, call->args[0], &index);
    if (!err && index != NO_FILE && call->args[1] == F_SETFL)
        files->files[index].is_appending = call->args[2] & O_APPEND;
    return err;
}

static int pass_seek(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE)
        return err;
    files->files[index].position = (uint64_t)call->result;
    if (call->args[2] == SEEK_END)
        files->files[index].end = (uint64_t)call->result - call->args[1];
    return 0;
}

static void note_stat(struct file *file, uint64_t size, uint64_t device, uint64_t inode)
{
    file->end = size;
    file->is.has_inode = true;
    file->is.device = device;
    file->is.inode = inode;
}

/* Notes how long a file is and which, as fstat says. */
static int pass_stat(struct slc_files *files, struct table *table, const struct call *call,
                     uint64_t address)
{
    struct stat stat;
    const void *bytes = written_at(call, address, sizeof(stat));
    uint32_t index;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE || !bytes)
        return err;
    memcpy(&stat, bytes, sizeof(stat));
    if (S_ISREG(stat.st_mode))
        note_stat(&files->files[index], (uint64_t)stat.st_size, stat.st_dev, stat.st_ino);
    return 0;
}

/* ... and statx, of a descriptor. */
static int pass_statx(struct slc_files *files, struct table *table, const struct call *call)
{
    struct statx stat;
    const void *bytes = written_at(call, call->args[4], sizeof(stat));
    uint32_t index;
    int err = call->args[2] & AT_EMPTY_PATH ? file_of(files, table, call->args[0], &index) : 0;

    if (err || !(call->args[2] & AT_EMPTY_PATH) || index == NO_FILE || !bytes)
        return err;
    memcpy(&stat, bytes, sizeof(stat));
    if (S_ISREG(stat.stx_mode) && (~stat.stx_mask & (STATX_SIZE | STATX_INO)) == 0)
        note_stat(&files->files[index], stat.stx_size,
                  makedev(stat.stx_dev_major, stat.stx_dev_minor), stat.stx_ino);
    return 0;
}

static int pass_ftruncate(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;
    int err = file_of(files, table, call->args[0], &index);

    return err || index == NO_FILE ? err : pass_truncate(files, index, call, call->args[1]);
}

static int pass_map(struct slc_files *files, struct table *table, const struct call *call)
{
    const uint64_t *a = call->args;
    struct slc_transfer gone = transfer_of(call, SLC_TRANSFER_UNMAP, NO_FILE);
    uint32_t index = NO_FILE;
    int err = a[3] & MAP_ANONYMOUS ? 0 : directory_of(files, table, a[4], &index);

    gone.address = (uint64_t)call->result;
    gone.size = wd_page_up(a[1]);
    if (!err)
        err = transfer_add(files, &gone);
    if (err || index == NO_FILE)
        return err;
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_MAP, index);
    transfer.fd = (int)a[4];
    transfer.offset = a[5];
    transfer.size = a[1];
    transfer.address = (uint64_t)call->result;
    transfer.is_shared = a[3] & MAP_SHARED;
    return transfer_add(files, &transfer);
}

static int pass_unmap(struct slc_files *files, const struct call *call, uint64_t address,
                      uint64_t size)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_UNMAP, NO_FILE);

    transfer.address = address;
    transfer.size = wd_page_up(size);
    return size ? transfer_add(files, &transfer) : 0;
}

/* What the mapping covers where it comes to, and what it loses at its end, goes. */
static int pass_remap(struct slc_files *files, const struct call *call)
{
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_MOVE, NO_FILE);
    uint64_t from = call->args[0], size = wd_page_up(call->args[1]), to = (uint64_t)call->result;
    uint64_t new_size = wd_page_up(call->args[2]), kept = size < new_size ? size : new_size;
    int err = pass_unmap(files, call, from + kept, size - kept);

    if (!err && to != from)
        err = pass_unmap(files, call, to, new_size);
    transfer.address = from;
    transfer.size = kept;
    transfer.to_address = to;
    transfer.count = new_size;
    return err ? err : transfer_add(files, &transfer);
}

/* Where the call began whose offset is in memory, where it left the one after its end. */
static uint64_t offset_given(const struct call *call, uint64_t address)
{
    uint64_t after;
    const void *bytes = written_at(call, address, sizeof(after));

    if (!bytes)
        return SLC_OFFSET_UNKNOWN;
    memcpy(&after, bytes, sizeof(after));
    return after - (uint64_t)call->result;
}

/* From one descriptor to another. Addresses of offsets are 0 where there are none. */
static int pass_through(struct slc_files *files, struct table *table, const struct call *call,
                        uint64_t from, uint64_t from_at, uint64_t to, uint64_t to_at)
{
    uint32_t source, index;
    uint64_t size = (uint64_t)call->result;
    int err = file_of(files, table, from, &source);

    if (!err)
        err = file_of(files, table, to, &index);
    if (err || source == NO_FILE || index == NO_FILE)
        return err;
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_PASS, index);
    struct file *file = &files->files[source];
    transfer.from_file = source;
    transfer.fd = (int)to;
    transfer.size = size;
    transfer.is_peek = call->number == SYS_tee;
    transfer.from_offset = from_at ? offset_given(call, from_at)
                                   : pass_position(file, false, size, SLC_OFFSET_UNKNOWN);
    file = &files->files[index];
    transfer.is_append = file->is_appending && !to_at;
    transfer.offset = to_at ? offset_given(call, to_at) : SLC_OFFSET_UNKNOWN;
    if (!to_at || transfer.offset != SLC_OFFSET_UNKNOWN)
        transfer.offset = pass_position(file, true, size, transfer.offset);
    err = transfer_add(files, &transfer);
    return err ? err : pass_shown(files, call, index);
}

static int pass_hole(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE)
        return err;
    uint64_t mode = call->args[1], end = call->args[2] + call->args[3];
    bool has_moved = mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE);
    uint64_t *known = &files->files[index].end;
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_HOLE, index);
    transfer.offset = call->args[2];
    transfer.size = has_moved ? UINT64_MAX : call->args[3];
    if (has_moved)
        *known = SLC_OFFSET_UNKNOWN;
    else if (!(mode & FALLOC_FL_KEEP_SIZE) && *known < end)
        *known = end;
    return has_moved || mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)
               ? transfer_add(files, &transfer)
               : 0;
}

#define MESSAGES_MAX 1024

/* Several messages by one call: the list says how long each was. */
static int pass_messages(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;
    uint64_t count = (uint64_t)call->result;
    struct mmsghdr message;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE || count > MESSAGES_MAX)
        return err;
    const uint8_t *list = written_at(call, call->args[1], count * sizeof(message));
    for (uint64_t i = 0; i < count && list && !err; i++) {
        bool is_read = call->number == SYS_recvmmsg;
        struct slc_transfer transfer =
            transfer_of(call, is_read ? SLC_TRANSFER_READ : SLC_TRANSFER_WRITE, index);
        memcpy(&message, list + i * sizeof(message), sizeof(message));
        transfer.fd = (int)call->args[0];
        transfer.size = message.msg_len;
        transfer.layout = SLC_LAYOUT_MESSAGE;
        transfer.address = call->args[1] + i * sizeof(message);
        transfer.count = 1;
        transfer.is_peek = is_read && call->args[3] & MSG_PEEK;
        err = transfer_add(files, &transfer);
    }
    return err;
}

/* Copies of the process's own memory, out of one list of buffers into another. */
static int pass_own_memory(struct slc_files *files, const struct call *call)
{
    const uint64_t *a = call->args, *from = &a[3], *to = &a[1];

    if ((int64_t)a[0] != wetdbg_get_info(files->wet)->pid)
        return 0;
    if (call->number == SYS_process_vm_writev) {
        from = &a[1];
        to = &a[3];
    }
    struct slc_transfer transfer = transfer_of(call, SLC_TRANSFER_LEND, NO_FILE);
    transfer.layout = SLC_LAYOUT_VECTOR;
    transfer.size = (uint64_t)call->result;
    transfer.address = from[0];
    transfer.count = from[1];
    int err = transfer_add(files, &transfer);
    transfer.kind = SLC_TRANSFER_BORROW;
    transfer.address = to[0];
    transfer.count = to[1];
    return err ? err : transfer_add(files, &transfer);
}

static int pass_close(struct table *table, uint64_t first, uint64_t last)
{
    for (uint64_t fd = first; fd <= last && fd < table->count; fd++)
        table->files[fd] = NO_FILE;
    return 0;
}

/* Makers of descriptors that are no files. */
static const char *maker_of(int32_t number)
{
    switch (number) {
    case SYS_socket:
    case SYS_accept:
    case SYS_accept4:
        return "a socket";
    case SYS_memfd_create:
        return "a memory file";
    case SYS_epoll_create:
    case SYS_epoll_create1:
    case SYS_eventfd:
    case SYS_eventfd2:
    case SYS_signalfd:
    case SYS_signalfd4:
    case SYS_timerfd_create:
    case SYS_inotify_init:
    case SYS_inotify_init1:
    case SYS_pidfd_open:
    case SYS_perf_event_open:
    case SYS_userfaultfd:
    case SYS_fanotify_init:
    case SYS_io_uring_setup:
        return "a descriptor of the kernel";
    default:
        return NULL;
    }
}

static int pass_descriptors(struct slc_files *files, struct table *table, const struct call *call)
{
    const uint64_t *a = call->args;

    switch (call->number) {
    case SYS_open:
        return pass_open(files, table, call, NO_FILE, a[0], a[1]);
    case SYS_creat:
        return pass_open(files, table, call, NO_FILE, a[0], O_CREAT | O_TRUNC);
    case SYS_openat:
        return pass_open(files, table, call, a[0], a[1], a[2]);
    case SYS_openat2:
        return pass_open(files, table, call, a[0], a[1], 0);
    case SYS_close:
        return pass_close(table, a[0], a[0]);
    case SYS_close_range:
        return a[2] ? 0 : pass_close(table, a[0], a[1]);
    case SYS_dup:
        return pass_copy(files, table, a[0], (uint64_t)call->result);
    case SYS_dup2:
    case SYS_dup3:
        return pass_copy(files, table, a[0], a[1]);
    case SYS_fcntl:
        return pass_fcntl(files, table, call);
    case SYS_pipe:
    case SYS_pipe2:
        return pass_pipe(files, table, call);
    case SYS_socketpair:
        return pass_socketpair(files, table, call);
    default:
        if (maker_of(call->number))
            return pass_other(files, table, call, (uint64_t)call->result, maker_of(call->number));
        return 0;
    }
}

/* Into a pipe, or out of it: as the descriptor has it. */
static int pass_vmsplice(struct slc_files *files, struct table *table, const struct call *call)
{
    uint32_t index;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE)
        return err;
    bool is_read = files->files[index].is.reads_fifo != SLC_NO_FIFO;
    return pass_bytes(files, table, call, is_read ? SLC_TRANSFER_READ : SLC_TRANSFER_WRITE,
                      SLC_OFFSET_UNKNOWN);
}

/* Calls by which bytes go from descriptor to descriptor, and those about paths. */
static int pass_between(struct slc_files *files, struct table *table, const struct call *call)
{
    const uint64_t *a = call->args;

    switch (call->number) {
    case SYS_sendfile:
        return pass_through(files, table, call, a[1], a[2], a[0], 0);
    case SYS_splice:
    case SYS_copy_file_range:
        return pass_through(files, table, call, a[0], a[1], a[2], a[3]);
    case SYS_tee:
        return pass_through(files, table, call, a[0], 0, a[1], 0);
    case SYS_rename:
    case SYS_link:
        return pass_paths(files, table, call,
                          call->number == SYS_link ? SLC_TRANSFER_LINK : SLC_TRANSFER_RENAME,
                          false);
    case SYS_renameat:
    case SYS_renameat2:
        return pass_paths(files, table, call, SLC_TRANSFER_RENAME, true);
    case SYS_linkat:
        return pass_paths(files, table, call, SLC_TRANSFER_LINK, true);
    case SYS_unlink:
        return pass_paths(files, table, call, SLC_TRANSFER_UNLINK, false);
    case SYS_unlinkat:
        return pass_paths(files, table, call, SLC_TRANSFER_UNLINK, true);
    case SYS_symlink:
    case SYS_symlinkat:
        return pass_symlink(files, table, call);
    case SYS_truncate:
        return pass_cut(files, call);
    case SYS_chdir:
    case SYS_fchdir:
    case SYS_chroot:
        return pass_chdir(files, table, call);
    default:
        return pass_descriptors(files, table, call);
    }
}

static int pass_call(struct slc_files *files, struct table *table, const struct call *call)
{
    const uint64_t *a = call->args;

    switch (call->number) {
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
        return pass_bytes(files, table, call, SLC_TRANSFER_READ, SLC_OFFSET_UNKNOWN);
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        return pass_bytes(files, table, call, SLC_TRANSFER_READ, a[3]);
    case SYS_vmsplice:
        return pass_vmsplice(files, table, call);
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
        return pass_bytes(files, table, call, SLC_TRANSFER_WRITE, SLC_OFFSET_UNKNOWN);
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        return pass_bytes(files, table, call, SLC_TRANSFER_WRITE, a[3]);
    case SYS_lseek:
        return pass_seek(files, table, call);
    case SYS_fstat:
        return pass_stat(files, table, call, a[1]);
    case SYS_newfstatat:
        return a[3] & AT_EMPTY_PATH ? pass_stat(files, table, call, a[2]) : 0;
    case SYS_statx:
        return pass_statx(files, table, call);
    case SYS_ftruncate:
        return pass_ftruncate(files, table, call);
    case SYS_fallocate:
        return pass_hole(files, table, call);
    case SYS_mmap:
        return pass_map(files, table, call);
    case SYS_munmap:
        return pass_unmap(files, call, a[0], a[1]);
    case SYS_mremap:
        return pass_remap(files, call);
    case SYS_recvmmsg:
    case SYS_sendmmsg:
        return pass_messages(files, table, call);
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
        return pass_own_memory(files, call);
    default:
        return pass_between(files, table, call);
    }
}

/* ---- events ---- */

static int note_births(struct slc_files *files, const struct wet_event *event)
{
    const struct evq_regs *regs = evq_entry_regs(event->entry);
    int32_t number = event->entry->number;
    bool shares =
        number == SYS_clone3 || (number == SYS_clone && regs && regs->r[EVQ_RDI] & CLONE_FILES);
    int err = 0;

    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(event->entry, op));)
        if (op->op == EVQ_OP_TASK_NEW && op->task_new.task < EVQ_TASKS_MAX &&
            op->task_new.task != event->task) {
            files->calls[event->task].has_made_task = true;
            err = table_inherit(files, event->task, (uint32_t)op->task_new.task, shares);
        }
    return err;
}

/* A process that shares the task's pipes from now on, and of which there is no trace: a child. */
static void note_child(struct slc_files *files, const struct call *call, struct table *table,
                       bool has_made_task)
{
    bool is_thread = call->number == SYS_clone3
                         ? has_made_task
                         : call->number == SYS_clone && call->args[0] & CLONE_THREAD;

    if (is_thread || call->result == 0)
        return;
    for (size_t fd = 0; fd < table->count; fd++) {
        const struct slc_file *file =
            table->files[fd] == NO_FILE ? &no_file : &files->files[table->files[fd]].is;
        const uint32_t fifos[] = {file->reads_fifo, file->writes_fifo};
        for (unsigned i = 0; i < 2; i++)
            if (fifos[i] != SLC_NO_FIFO && files->fifos[fifos[i]].foreign > call->began)
                files->fifos[fifos[i]].foreign = call->began;
    }
}

static int note_event(void *arg, const struct wet_event *event)
{
    struct slc_files *files = arg;
    const struct evq_entry *entry = event->entry;
    uint32_t task = event->task;

    if (task >= EVQ_TASKS_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "an event names task %u", task);
    if (!files->tables[task] && !(files->tables[task] = table_new()))
        return -ENOMEM;
    if (entry->kind == EVQ_SYSCALL_ENTER) {
        files->calls[task].time = event->time;
        files->calls[task].frame = entry->frame;
        files->calls[task].has_made_task = false;
    }
    if (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT) {
        int err = note_births(files, event);
        if (err)
            return err;
    }
    const struct evq_regs *regs = entry->kind == EVQ_SYSCALL_EXIT ? evq_entry_loads(entry) : NULL;
    if (!regs || (int64_t)regs->r[EVQ_RAX] < 0)
        return 0;
    struct call call = {.time = files->calls[task].time,
                        .began = files->calls[task].frame,
                        .number = entry->number,
                        .result = (int64_t)regs->r[EVQ_RAX],
                        .exit = entry};
    for (unsigned a = 0; a < SLC_SYSCALL_ARGS; a++)
        call.args[a] = regs->r[slc_syscall_reg[a]];
    if (call.number == SYS_clone || call.number == SYS_clone3 || call.number == SYS_fork ||
        call.number == SYS_vfork)
        note_child(files, &call, files->tables[task], files->calls[task].has_made_task);
    return pass_call(files, files->tables[task], &call);
}

static int by_time(const void *a, const void *b)
{
    const struct slc_transfer *x = a, *y = b;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

int slc_files_make(struct wetdbg *wet, struct slc_files **out)
{
    struct slc_files *files = calloc(1, sizeof(*files));

    if (!files)
        return -ENOMEM;
    files->wet = wet;
    int err = wet_each_entry(wet, note_event, files);
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        table_drop(files->tables[i]);
    memset(files->tables, 0, sizeof(files->tables));
    if (err) {
        slc_files_free(files);
        return err;
    }
    /* Calls that waited came back in another order. */
    if (files->transfer_count)
        qsort(files->transfers, files->transfer_count, sizeof(*files->transfers), by_time);
    *out = files;
    return 0;
}

void slc_files_free(struct slc_files *files)
{
    if (!files)
        return;
    for (size_t i = 0; i < files->file_count; i++) {
        free(files->files[i].name);
        free(files->files[i].plain);
    }
    free(files->files);
    free(files->transfers);
    free(files->fifos);
    free(files);
}

/* ---- queries ---- */

static bool is_of_bytes(const struct slc_transfer *transfer)
{
    return transfer->kind <= SLC_TRANSFER_MAP || transfer->kind == SLC_TRANSFER_PASS;
}

const struct slc_transfer *slc_files_at(const struct slc_files *files, wetdbg_time time)
{
    const struct slc_transfer *list = files->transfers;
    size_t at = wd_bisect(0, files->transfer_count, i, list[i].time < time);

    while (at < files->transfer_count && list[at].time == time && !is_of_bytes(&list[at]))
        at++;
    return at < files->transfer_count && list[at].time == time ? &list[at] : NULL;
}

const struct slc_transfer *slc_files_transfers(const struct slc_files *files, size_t *count)
{
    *count = files->transfer_count;
    return files->transfers;
}

uint32_t slc_files_count(const struct slc_files *files)
{
    return (uint32_t)files->file_count;
}

const struct slc_file *slc_files_get(const struct slc_files *files, uint32_t index)
{
    assert(index < files->file_count);
    return &files->files[index].is;
}

bool slc_files_knows_end(const struct slc_files *files, uint32_t index)
{
    assert(index < files->file_count);
    return files->files[index].end != SLC_OFFSET_UNKNOWN;
}

uint32_t slc_files_fifo_count(const struct slc_files *files)
{
    return (uint32_t)files->fifo_count;
}

const struct slc_fifo *slc_files_fifo(const struct slc_files *files, uint32_t index)
{
    assert(index < files->fifo_count);
    return &files->fifos[index];
}

static char *read_path(struct wetdbg *wet, const struct file *file)
{
    char path[PATH_BYTES];
    struct wetdbg_state *state;
    size_t length = 0;

    if (!file->is.path_address || wetdbg_state_open(wet, file->is.time, &state))
        return NULL;
    while (length < sizeof(path) &&
           wetdbg_state_read(state, file->is.path_address + length, &path[length], 1) == 0 &&
           path[length])
        length++;
    wetdbg_state_close(state);
    return length && length < sizeof(path) ? strndup(path, length) : NULL;
}

/* Takes "." and ".." out of a path, in place: by its text, whatever is a link. */
static void make_plain(char *path)
{
    bool is_absolute = *path == '/';
    char *to = path + is_absolute;

    for (char *part = path + is_absolute, *next; part; part = next) {
        size_t length = strcspn(part, "/");
        next = part[length] ? part + length + 1 : NULL;
        bool is_up = length == 2 && strncmp(part, "..", 2) == 0;
        if (length == 0 || (length == 1 && *part == '.'))
            continue;
        char *last = to; /* where the last part begins that is there */
        while (last > path + is_absolute && (last == to || last[-1] != '/'))
            last--;
        bool has_last = to > path + is_absolute && strncmp(last, "../", 3) != 0;
        if (is_up && (has_last || is_absolute)) {
            to = has_last ? last : to;
            continue;
        }
        memmove(to, part, length);
        to += length;
        *to++ = '/';
    }
    if (to > path + is_absolute)
        to--;
    *to = '\0';
}

static struct file *named_file(struct slc_files *files, uint32_t index)
{
    struct file *file = index < files->file_count ? &files->files[index] : NULL;

    if (!file || file->what || file->is_named)
        return file;
    file->name = read_path(files->wet, file);
    file->plain = file->name ? strdup(file->name) : NULL;
    if (file->plain)
        make_plain(file->plain);
    file->is_named = true;
    return file;
}

const char *slc_files_name(struct slc_files *files, uint32_t index)
{
    const struct file *file = named_file(files, index);

    return !file ? NULL : file->what ? file->what : file->name;
}

const char *slc_files_plain(struct slc_files *files, uint32_t index)
{
    const struct file *file = named_file(files, index);

    return file ? file->plain : NULL;
}

/* ---- what a path means ---- */

/* Whether one path is the end of the other, in whole parts. */
static bool is_end(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);
    const char *longer = x > y ? a : b, *shorter = x > y ? b : a;
    size_t rest = x > y ? x - y : y - x;

    if (strcmp(longer + rest, shorter) != 0 || !*shorter)
        return false;
    return rest == 0 || longer[rest - 1] == '/';
}

static const char *behind_ups(const char *path)
{
    while (strncmp(path, "../", 3) == 0)
        path += 3;
    return path;
}

bool slc_path_is(const char *plain, const char *meant)
{
    char *other = strdup(meant);

    if (!other)
        return false;
    make_plain(other);
    bool is = is_end(behind_ups(plain), behind_ups(other));
    free(other);
    return is;
}
