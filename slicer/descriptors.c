/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/descriptors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/call_events.h"
#include "slicer/syscalls.h"
#include <wetdbg/errors.h>

#define FD_MAX     65536
#define PATH_BYTES 4096
#define TRACE_MAX  (UINT64_C(1) << 20) /* bytes of a file that are traced at once */
#define NO_FILE    UINT32_MAX

/* What open() makes: a name, and a position that all copies of the descriptor share. */
struct file {
    wetdbg_time time;      /* of the call that opened it; 0: inherited */
    uint64_t path_address; /* 0: has none */
    const char *what;      /* instead of a path */
    char *name;            /* once it has been asked for */
    bool is_named, is_appending, is_written;
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
};

struct slc_files {
    struct wetdbg *wet;
    struct file *files;
    size_t file_count, file_capacity;
    struct slc_transfer *transfers;
    size_t transfer_count, transfer_capacity;
    struct table *tables[EVQ_TASKS_MAX]; /* while the events are passed */
    wetdbg_time call_times[EVQ_TASKS_MAX];
};

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
    struct file file = {.what = fd < 3 ? names[fd] : "a descriptor that was already open",
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

static int transfer_add(struct slc_files *files, struct slc_transfer transfer)
{
    assert(transfer.file < files->file_count);
    if (wd_grow(files->transfers, files->transfer_capacity, files->transfer_count + 1))
        return -ENOMEM;
    files->transfers[files->transfer_count++] = transfer;
    files->files[transfer.file].is_written |= transfer.kind == SLC_TRANSFER_WRITE;
    return 0;
}

/* Notes a transfer of bytes at the file's position, which moves on, or at `at`. */
static int pass_bytes(struct slc_files *files, struct table *table, const struct call *call,
                      enum slc_transfer_kind kind, uint64_t at)
{
    uint32_t index;
    uint64_t size = (uint64_t)call->result;
    int err = file_of(files, table, call->args[0], &index);

    if (err || index == NO_FILE)
        return err;
    struct file *file = &files->files[index];
    bool moves = at == SLC_OFFSET_UNKNOWN;
    if (moves)
        at = kind == SLC_TRANSFER_WRITE && file->is_appending ? file->end : file->position;
    if (at != SLC_OFFSET_UNKNOWN && at + size < at)
        at = SLC_OFFSET_UNKNOWN;
    bool is_known = at != SLC_OFFSET_UNKNOWN;
    if (moves)
        file->position = is_known ? at + size : SLC_OFFSET_UNKNOWN;
    if (is_known && kind == SLC_TRANSFER_WRITE && file->end != SLC_OFFSET_UNKNOWN &&
        at + size > file->end)
        file->end = at + size;
    return transfer_add(files, (struct slc_transfer){.time = call->time,
                                                     .kind = kind,
                                                     .fd = (int)call->args[0],
                                                     .file = index,
                                                     .offset = at,
                                                     .size = size});
}

static int pass_truncate(struct slc_files *files, uint32_t index, const struct call *call,
                         uint64_t length)
{
    assert(index < files->file_count);
    files->files[index].end = length;
    return transfer_add(files, (struct slc_transfer){.time = call->time,
                                                     .kind = SLC_TRANSFER_TRUNCATE,
                                                     .fd = -1,
                                                     .file = index,
                                                     .offset = length});
}

/* ---- calls ---- */

static int pass_open(struct slc_files *files, struct table *table, const struct call *call,
                     uint64_t path, uint64_t flags)
{
    bool is_new = flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL);
    struct file file = {.time = call->time,
                        .path_address = path,
                        .is_appending = flags & O_APPEND,
                        .end = is_new ? 0 : SLC_OFFSET_UNKNOWN};
    uint32_t index;
    int err = file_add(files, &file, &index);

    if (!err)
        err = table_set(table, (uint64_t)call->result, index);
    if (!err && is_new)
        err = pass_truncate(files, index, call, 0);
    return err;
}

static int pass_other(struct slc_files *files, struct table *table, const struct call *call,
                      uint64_t fd, const char *what)
{
    struct file file = {.time = call->time,
                        .what = what,
                        .position = SLC_OFFSET_UNKNOWN,
                        .end = SLC_OFFSET_UNKNOWN};
    uint32_t index;
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

static int pass_pair(struct slc_files *files, struct table *table, const struct call *call,
                     uint64_t address, const char *what)
{
    int32_t fds[2];
    const void *bytes = written_at(call, address, sizeof(fds));
    int err = 0;

    if (!bytes)
        return 0;
    memcpy(fds, bytes, sizeof(fds));
    for (unsigned i = 0; i < 2 && !err; i++)
        err = pass_other(files, table, call, (uint64_t)fds[i], what);
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

/* Notes how long a file is, which fstat says. */
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
        files->files[index].end = (uint64_t)stat.st_size;
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
    uint32_t index;
    int err = (int32_t)call->args[4] >= 0 ? file_of(files, table, call->args[4], &index) : 1;

    if (err)
        return err < 0 ? err : 0;
    if (index == NO_FILE)
        return 0;
    return transfer_add(files, (struct slc_transfer){.time = call->time,
                                                     .kind = SLC_TRANSFER_MAP,
                                                     .fd = (int)call->args[4],
                                                     .file = index,
                                                     .offset = call->args[5],
                                                     .size = call->args[1]});
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
        return pass_open(files, table, call, a[0], a[1]);
    case SYS_creat:
        return pass_open(files, table, call, a[0], O_CREAT | O_TRUNC);
    case SYS_openat:
        return pass_open(files, table, call, a[1], a[2]);
    case SYS_openat2:
        return pass_open(files, table, call, a[1], 0);
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
        return pass_pair(files, table, call, a[0], "a pipe");
    case SYS_socketpair:
        return pass_pair(files, table, call, a[3], "a socket");
    default:
        if (maker_of(call->number))
            return pass_other(files, table, call, (uint64_t)call->result, maker_of(call->number));
        return 0;
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
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendfile:
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
    case SYS_ftruncate:
        return pass_ftruncate(files, table, call);
    case SYS_mmap:
        return pass_map(files, table, call);
    default:
        return pass_descriptors(files, table, call);
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
            op->task_new.task != event->task)
            err = table_inherit(files, event->task, (uint32_t)op->task_new.task, shares);
    return err;
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
    if (entry->kind == EVQ_SYSCALL_ENTER)
        files->call_times[task] = event->time;
    if (entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT) {
        int err = note_births(files, event);
        if (err)
            return err;
    }
    const struct evq_regs *regs = entry->kind == EVQ_SYSCALL_EXIT ? evq_entry_loads(entry) : NULL;
    if (!regs || (int64_t)regs->r[EVQ_RAX] < 0)
        return 0;
    struct call call = {.time = files->call_times[task],
                        .number = entry->number,
                        .result = (int64_t)regs->r[EVQ_RAX],
                        .exit = entry};
    for (unsigned a = 0; a < SLC_SYSCALL_ARGS; a++)
        call.args[a] = regs->r[slc_syscall_reg[a]];
    return pass_call(files, files->tables[task], &call);
}

static int by_time(const void *a, const void *b)
{
    const struct slc_transfer *x = a, *y = b;
    return x->time < y->time ? -1 : x->time > y->time;
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
    for (size_t i = 0; i < files->file_count; i++)
        free(files->files[i].name);
    free(files->files);
    free(files->transfers);
    free(files);
}

/* ---- queries ---- */

const struct slc_transfer *slc_files_at(const struct slc_files *files, wetdbg_time time)
{
    size_t at = wd_bisect(0, files->transfer_count, i, files->transfers[i].time < time);

    return at < files->transfer_count && files->transfers[at].time == time ? &files->transfers[at]
                                                                           : NULL;
}

static char *read_path(struct wetdbg *wet, const struct file *file)
{
    char path[PATH_BYTES];
    struct wetdbg_state *state;
    size_t length = 0;

    if (!file->path_address || wetdbg_state_open(wet, file->time, &state))
        return NULL;
    while (length < sizeof(path) &&
           wetdbg_state_read(state, file->path_address + length, &path[length], 1) == 0 &&
           path[length])
        length++;
    wetdbg_state_close(state);
    return length && length < sizeof(path) ? strndup(path, length) : NULL;
}

const char *slc_files_name(struct slc_files *files, uint32_t index)
{
    struct file *file = index < files->file_count ? &files->files[index] : NULL;

    if (!file || file->what)
        return file ? file->what : NULL;
    if (!file->is_named) {
        file->name = read_path(files->wet, file);
        file->is_named = true;
    }
    return file->name;
}

/* ---- a file as the run left it ---- */

static const char *plain(const char *path)
{
    while (strncmp(path, "./", 2) == 0)
        path += 2;
    return path;
}

/* Whether one path is the end of the other, in whole parts. */
static bool is_same_path(const char *a, const char *b)
{
    a = plain(a);
    b = plain(b);
    size_t x = strlen(a), y = strlen(b);
    const char *longer = x > y ? a : b, *shorter = x > y ? b : a;
    size_t rest = x > y ? x - y : y - x;
    if (strcmp(longer + rest, shorter) != 0 || !*shorter)
        return false;
    return rest == 0 || longer[rest - 1] == '/';
}

static bool is_same_file(struct slc_files *files, uint32_t a, uint32_t b)
{
    if (a == b || files->files[a].what || files->files[b].what)
        return a == b;
    const char *name = slc_files_name(files, a), *other = slc_files_name(files, b);
    return name && other && strcmp(plain(name), plain(other)) == 0;
}

#define WRITTEN_MAX 64

/* Each path that is read for the first time costs an interval. */
static bool are_many_written(const struct slc_files *files)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < files->file_count; i++)
        count += files->files[i].is_written && !files->files[i].what && !files->files[i].is_named;
    return count > WRITTEN_MAX;
}

wetdbg_time slc_files_writer(struct slc_files *files, uint32_t file, uint64_t offset,
                             wetdbg_time before, uint64_t *skipped)
{
    const struct slc_transfer *writer = NULL;

    if (are_many_written(files))
        return 0;
    for (size_t t = 0; t < files->transfer_count && files->transfers[t].time < before; t++) {
        const struct slc_transfer *transfer = &files->transfers[t];
        bool is_write = transfer->kind == SLC_TRANSFER_WRITE;
        if ((!is_write && transfer->kind != SLC_TRANSFER_TRUNCATE) ||
            !is_same_file(files, file, transfer->file))
            continue;
        if (is_write && transfer->offset == SLC_OFFSET_UNKNOWN)
            return 0;
        if (!is_write && transfer->offset <= offset)
            writer = NULL;
        if (is_write && offset - transfer->offset < transfer->size)
            writer = transfer;
    }
    if (writer)
        *skipped = offset - writer->offset;
    return writer ? writer->time : 0;
}

struct trace {
    uint64_t offset, size;
    uint32_t *writers; /* of each byte: transfer + 1 */
    bool *is_chosen;   /* by file */
    uint64_t written;  /* bytes that the run wrote to the file: up to here */
    bool has_unknown;
};

static int choose_files(struct slc_files *files, const char *path, struct trace *trace)
{
    const char *found = NULL;

    for (uint32_t i = 0; i < files->file_count; i++) {
        const char *name =
            files->files[i].is_written && !files->files[i].what ? slc_files_name(files, i) : NULL;
        if (!name || !is_same_path(name, path))
            continue;
        if (found && strcmp(plain(found), plain(name)) != 0)
            return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' may be '%s' or '%s': say more of the path",
                               path, found, name);
        found = name;
        trace->is_chosen[i] = true;
    }
    if (!found)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program wrote to no file '%s'", path);
    /* Opening it for something else may have emptied it. */
    for (uint32_t i = 0; i < files->file_count; i++) {
        const char *name = files->files[i].end != SLC_OFFSET_UNKNOWN && !files->files[i].what
                               ? slc_files_name(files, i)
                               : NULL;
        trace->is_chosen[i] |= name && strcmp(plain(name), plain(found)) == 0;
    }
    return 0;
}

static void replay_transfer(const struct slc_transfer *transfer, uint32_t number,
                            struct trace *trace)
{
    if (transfer->kind == SLC_TRANSFER_TRUNCATE) {
        for (uint64_t i = 0; i < trace->size; i++)
            if (trace->offset + i >= transfer->offset)
                trace->writers[i] = 0;
        if (trace->written > transfer->offset)
            trace->written = transfer->offset;
    }
    if (transfer->kind != SLC_TRANSFER_WRITE)
        return;
    trace->has_unknown |= transfer->offset == SLC_OFFSET_UNKNOWN;
    if (transfer->offset == SLC_OFFSET_UNKNOWN)
        return;
    uint64_t end = transfer->offset + transfer->size;
    if (end > trace->written)
        trace->written = end;
    for (uint64_t i = 0; i < trace->size; i++)
        if (trace->offset + i >= transfer->offset && trace->offset + i < end)
            trace->writers[i] = number;
}

static int list_pieces(const struct slc_files *files, const char *path, const struct trace *trace,
                       struct slc_file_piece **out, size_t *count)
{
    struct slc_file_piece *pieces = malloc((size_t)trace->size * sizeof(*pieces));

    *count = 0;
    for (uint64_t i = 0; pieces && i < trace->size; i++) {
        const struct slc_transfer *transfer =
            trace->writers[i] ? &files->transfers[trace->writers[i] - 1] : NULL;
        if (!transfer) {
            free(pieces);
            if (trace->has_unknown)
                return wetdbg_fail(
                    -WETDBG_ERR_NOT_FOUND,
                    "byte %llu of %s: where in it the program wrote is not known (it "
                    "appended to a file of unknown length)",
                    (unsigned long long)(trace->offset + i), path);
            return wetdbg_fail(
                -WETDBG_ERR_NOT_FOUND,
                "the program did not write byte %llu of %s; what it wrote ends before "
                "byte %llu",
                (unsigned long long)(trace->offset + i), path, (unsigned long long)trace->written);
        }
        if (i && trace->writers[i] == trace->writers[i - 1])
            pieces[*count - 1].size++;
        else
            pieces[(*count)++] =
                (struct slc_file_piece){transfer->time, trace->offset + i - transfer->offset, 1};
    }
    *out = pieces;
    return pieces ? 0 : -ENOMEM;
}

int slc_files_size(struct slc_files *files, const char *path, uint64_t *size)
{
    struct trace trace = {.size = 0};

    trace.is_chosen = calloc(files->file_count + 1, sizeof(*trace.is_chosen));
    int err = trace.is_chosen ? choose_files(files, path, &trace) : -ENOMEM;
    for (uint32_t t = 0; t < files->transfer_count && !err; t++)
        if (trace.is_chosen[files->transfers[t].file])
            replay_transfer(&files->transfers[t], t + 1, &trace);
    free(trace.is_chosen);
    *size = trace.written;
    return err;
}

int slc_files_trace(struct slc_files *files, const char *path, uint64_t offset, uint64_t size,
                    struct slc_file_piece **pieces, size_t *count)
{
    struct trace trace = {.offset = offset, .size = size};

    if (size == 0 || size > TRACE_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%llu bytes of a file cannot be traced: 1 to %llu can",
                           (unsigned long long)size, (unsigned long long)TRACE_MAX);
    trace.writers = calloc(size, sizeof(*trace.writers));
    trace.is_chosen = calloc(files->file_count + 1, sizeof(*trace.is_chosen));
    int err = trace.writers && trace.is_chosen ? choose_files(files, path, &trace) : -ENOMEM;
    for (uint32_t t = 0; t < files->transfer_count && !err; t++)
        if (trace.is_chosen[files->transfers[t].file])
            replay_transfer(&files->transfers[t], t + 1, &trace);
    if (!err)
        err = list_pieces(files, path, &trace, pieces, count);
    free(trace.writers);
    free(trace.is_chosen);
    return err;
}
