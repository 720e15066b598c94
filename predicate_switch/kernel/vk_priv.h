/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parts of the virtual kernel. A kernel is tables of rows that name each other by index (a
 * descriptor names an open description, that an inode), so that copying it copies no graph.
 *
 * Each call is one function, which asks for its arguments' memory (vk_get), says what it writes
 * (vk_put) and gives its result, or one of the special ones below. The same function serves the
 * recorded calls: it is asked on a copy of the kernel; where its answer is the recorded one, the
 * copy is the state from then on. Where not, the call's other function, `adopt`, makes the state
 * what the recorded answer says, and learns.
 */
#ifndef PREDICATE_SWITCH_KERNEL_VK_PRIV_H
#define PREDICATE_SWITCH_KERNEL_VK_PRIV_H

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "common/hash.h"
#include "predicate_switch/kernel/vk.h"
#include "predicate_switch/kernel/vk_table.h"

#define VK_NONE UINT32_MAX

/* Results beside 0.. and -errno. */
#define VK_UNKNOWN       (INT64_MIN)     /* unresolved; run->reason says why */
#define VK_WAIT          (INT64_MIN + 1) /* the task waits; run->deadline */
#define VK_NOMEM         (INT64_MIN + 2) /* ours */
#define VK_NO_RETURN     (INT64_MIN + 3) /* the call does not come back, or said all itself */
#define VK_STOP          (INT64_MIN + 4) /* the callback for output ended the run */
#define VK_RESTART       (-512)          /* a signal interrupts it; made again if SA_RESTART */
#define VK_NO_HAND       (-514)          /* ... made again if no handler runs, else EINTR */
#define VK_IS_SPECIAL(r) ((r) < -4095)

/* ---- the file system as it was when the run began: the history's ---- */

/* Of a file that an open with O_CREAT may have made: whether it did. */
enum vk_birth { VK_BIRTH_UNKNOWN, VK_BIRTH_BEFORE, VK_BIRTH_IN_RUN };

enum vk_presence { VK_PRESENCE_UNKNOWN, VK_PRESENCE_ABSENT, VK_PRESENCE_THERE };

struct vk_base {
    uint32_t parent;
    char *name;
    enum vk_presence presence;
    bool has_asked_disk,
        is_on_disk;       /* the disk has it, unchanged (of directories: entries may have) */
    bool is_other_now;    /* the disk has it not, or another one, and nobody knows since when */
    bool is_stat_told;    /* the recording said it, not the disk */
    bool is_absence_told; /* likewise */
    bool is_way;   /* not there but for what lies behind it: a file that only the recorder has */
    bool has_stat; /* `st` is what it was, but for st_size of one that was not told */
    bool has_identity; /* `st` has its mode, owner, links and numbers */
    bool has_size, has_list, is_list_same;
    bool is_changed;  /* by the recorded run, at some time */
    bool may_be_made; /* by an open with O_CREAT: that does not tell whether it was there before */
    enum vk_birth birth;
    bool has_size_before; /* how long it was follows from how long it was later: */
    uint64_t size_before;
    bool is_size_found; /* ... on the disk */
    bool is_asked;      /* since `asked` a recorded call knows of its bytes, or of their number */
    uint64_t asked;
    uint32_t format; /* S_IFMT bits; 0: not known */
    struct stat st;
    char *link;              /* what a symbolic link says */
    struct vk_table content; /* bytes that are known */
    struct vk_table list;    /* struct vk_dirent, of a directory that was listed */
};

struct vk_dirent {
    struct vk_text *name;
    uint64_t inode;
    int64_t next; /* d_off */
    uint8_t type;
};
extern const struct vk_row_kind vk_dirent_row;

/* ---- a kernel's rows ---- */

struct vk_fd {
    uint32_t open; /* VK_NONE: closed */
    bool is_cloexec;
};

enum vk_open_kind {
    VK_OPEN_FREE,
    VK_OPEN_FILE,     /* an inode: regular file, directory, device */
    VK_OPEN_PIPE,     /* `object`: a pipe; can read or write by flags */
    VK_OPEN_PAIR,     /* end of a socket pair: reads `object`, writes `other` */
    VK_OPEN_EVENTFD,  /* `count` */
    VK_OPEN_EPOLL,    /* `object` names its items */
    VK_OPEN_TIMERFD,  /* `object`: a timer */
    VK_OPEN_SIGNALFD, /* `count`: the mask */
    VK_OPEN_OUTSIDE,  /* inherited, or a socket: what it hands on is recorded, or not known */
};

struct vk_open {
    uint32_t kind; /* enum vk_open_kind */
    uint32_t users;
    uint32_t flags; /* O_ACCMODE, O_APPEND, O_NONBLOCK, O_DIRECT... */
    uint32_t inode, object, other;
    uint64_t offset, count, put_out;
    uint32_t outside; /* 1 + the descriptor that it came with; 0: the run opened it */
    struct vk_text *path;
};
extern const struct vk_row_kind vk_open_row;

struct vk_inode {
    uint32_t base; /* VK_NONE: made by the run */
    uint32_t mode; /* with S_IFMT; 0: not known */
    uint32_t uid, gid, nlink, opens;
    uint64_t number, rdev;
    bool has_mode, has_size, has_owner, has_nlink; /* known */
    bool is_new, is_written, is_live; /* live: /proc and the like, whose contents change */
    bool is_relabelled;               /* its mode, owner or links were changed, too */
    bool is_opened;                   /* with O_CREAT: it is there */
    bool is_untouched;                /* since that, in a recorded run: neither written nor read */
    bool has_unseen;                  /* what was written to it is not all known */
    uint64_t appended;                /* bytes, at an end that was not known */
    uint64_t size, base_size;         /* bytes from base_size on are not the base's any more */
    struct timespec atime, mtime, ctime;
    bool has_times;
    struct vk_table content;
    struct vk_text *link;
    uint32_t parent; /* of a directory */
};
extern const struct vk_row_kind vk_inode_row;

/* An entry of a directory that the run looked at or changed; sorted by directory, then name. */
struct vk_name {
    uint32_t directory;
    uint32_t inode; /* VK_NONE: nothing there */
    struct vk_text *name;
    bool is_changed; /* by the run */
};
extern const struct vk_row_kind vk_name_row;

struct vk_pipe {
    struct vk_table bytes; /* by offset; those before `start` are gone */
    uint64_t start, end, capacity;
    uint32_t readers, writers;
    bool is_foreign; /* other processes may use it */
    bool is_reset;   /* of a pair: the other end was closed with bytes unread */
};
extern const struct vk_row_kind vk_pipe_row;

struct vk_watch {   /* of an epoll */
    uint32_t epoll; /* open */
    uint32_t open;
    int fd;
    uint32_t events;
    uint64_t data;
    uint64_t order; /* among those that are ready: first come, first told; 0: it is not */
    uint32_t last;  /* what was ready when it was last told, for EPOLLET */
    uint64_t stamp;
};

struct vk_map {
    uint64_t start, end;
    uint32_t prot;
    bool is_shared, grows_down;
    bool is_accounted; /* private memory that could be written once: does not join with other */
    uint32_t advice;   /* of madvise(): likewise */
    uint32_t inode;    /* VK_NONE: none */
    uint64_t offset;   /* of start, in the inode */
    struct vk_text *name;
};
extern const struct vk_row_kind vk_map_row;

struct vk_action {
    uint64_t handler, flags, restorer, mask;
};

struct vk_pending {
    uint32_t task; /* VK_NONE: the process */
    int number;
    uint8_t info[128];
};

enum vk_timer_kind {
    VK_TIMER_FREE,
    VK_TIMER_REAL,
    VK_TIMER_VIRTUAL,
    VK_TIMER_PROF,
    VK_TIMER_POSIX,
    VK_TIMER_FD
};

struct vk_timer {
    uint32_t kind;
    int clock, signal, notify; /* SIGEV_* */
    uint32_t task;
    uint64_t value;          /* sigev_value */
    uint64_t next, interval; /* nanoseconds of virtual_ns(); next 0: not armed */
    uint64_t expired;
    uint64_t id;
};

/* CHILD: by vfork, with a table of descriptors of its own; what it does is not looked at. */
enum vk_task_state { VK_TASK_FREE, VK_TASK_READY, VK_TASK_WAITS, VK_TASK_CHILD };

struct vk_task {
    uint32_t state; /* enum vk_task_state */
    int tid;
    uint64_t mask, saved_mask;
    bool has_saved_mask;
    uint64_t alt_stack, alt_size;
    int alt_flags;
    uint64_t clear_tid, robust, robust_size;
    /* the call that it is in, or comes back from when it runs */
    struct vk_call call;
    bool returns, restarts, sigreturns, faults, has_waited, is_woken;
    int64_t result;
    uint64_t deadline; /* virtual ns, while it waits; VK_NEVER */
    uint64_t wait_order;
    uint64_t futex; /* that it waits at; 0: none */
    uint32_t futex_bits;
    uint64_t done;     /* bytes that a call which waits has written */
    uint32_t in_call;  /* the history's call + 1 while one is told; 0: none */
    uint32_t foretold; /* live: the history's call + 1 that began at the same time; 0: none */
    uint64_t area;     /* where the recorder has its own memory for it; 0: nowhere */
    int made;          /* the thread that this call has made, which has not come back; 0: none */
    char name[16];
};

struct vk_clock {
    bool is_known;
    uint64_t ns, at; /* its value when the process had run for virtual time `at` */
};
#define VK_CLOCKS 12

struct vk_scalars {
    int pid, parent, pgid, sid;
    uint32_t uid, euid, suid, gid, egid, sgid;
    bool knows_ids;
    uint32_t ids_told; /* bits: uid, euid, gid, egid */
    uint32_t umask, cwd, root;
    bool knows_umask;
    uint64_t brk, brk_start, mmap_base;
    uint64_t reachable_at_start, mapped; /* bytes */
    uint64_t memory_more;                /* vk_kernel_limit_memory(); 0: nobody did */
    uint64_t now, idle_ns;               /* last time seen; nanoseconds in which all waited */
    uint32_t running;
    uint64_t wait_count, slice_end, stamp;
    uint64_t live_from; /* VK_NEVER: not live */
    uint64_t output, grown;
    uint64_t random; /* how many words were made up */
    uint64_t inode_next, timer_next;
    int tid_next;
    uint64_t limit_cur[16], limit_max[16];
    uint32_t limits_known;
    uint32_t input; /* 1 + the inode whose bytes are not the recorded ones; 0: none */
    uint32_t event; /* next of the history's */
    uint32_t schedule, signals, counters; /* next of the history's, live */
    struct vk_clock clock[VK_CLOCKS];
    uint64_t counter, counter_at;
    bool has_ended, is_dumpable, no_new_privs;
    int death_signal, keep_caps, name_changes;
    uint64_t timer_slack;
};

struct vk_ops { /* of the last outcome: the kernel's own, never shared */
    struct vk_op *list;
    size_t count, capacity;
    void **chunks;
    size_t chunk_count, chunk_capacity;
};

struct vk_kernel {
    struct vk_history *history;
    struct vk_table fds, opens, inodes, names, inode_of_base, pipes, watches, maps, tasks, actions,
        pending, timers, cursors;
    struct vk_scalars s;
    struct vk_ops ops;
    struct vk_signal signal;
    char reason[256];
    vk_output_fn on_output;
    void *on_output_arg;
};

/* ---- a call being answered ---- */

struct vk_told {
    int64_t result;
    const struct vk_piece *writes;
    size_t write_count;
    uint64_t when;
};

struct vk_run {
    struct vk_kernel *k;
    struct vk_history *h;
    const struct vk_call *call;
    const uint64_t *a;
    const struct vk_memory *memory;
    const struct vk_told *told; /* of a recorded call: its answer */
    struct vk_log *log;         /* keeps what is read */
    uint64_t deadline;          /* with VK_WAIT: virtual ns */
    bool is_retry;              /* the task waited in it */
    bool learns;                /* the history may be added to */
    bool has_taken;             /* the answer is the recording's, in part */
    bool may_differ;            /* ... or would be, of something that the run may have otherwise */
    uint32_t told_slot;         /* of the thread that a recorded clone made; VK_NONE */
    int exit_status;
};

/* What a call read of memory. */
struct vk_log {
    struct vk_piece *pieces;
    size_t count, capacity;
    int err;
};

typedef int64_t vk_call_fn(struct vk_run *run);
typedef void vk_adopt_fn(struct vk_run *run);

struct vk_call_row {
    const char *name;
    vk_call_fn *fn;
    vk_adopt_fn *adopt;
    uint8_t how;     /* enum vk_modelled */
    uint16_t key;    /* what tells recorded answers apart: VK_KEY_*; 0: they are not asked */
    const char *why; /* not modelled */
};
#define VK_KEY_ARG(n) (1u << (n)) /* its value */
#define VK_KEY_PATH0  0x40        /* argument 0 is a path */
#define VK_KEY_PATH1  0x80
#define VK_KEY_FD0    0x100 /* argument 0 is a descriptor */
#define VK_KEY_ANY    0x200 /* nothing but the number */
const struct vk_call_row *vk_row_of(int64_t number);

/* ---- vk_calls.c ---- */
int64_t vk_unknown(struct vk_run *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int vk_get(struct vk_run *run, uint64_t address, void *bytes, uint64_t size); /* 0, -EFAULT */
int vk_put(struct vk_run *run, uint64_t address, const void *bytes, uint64_t size);
/* A string of less than `room` bytes: its length, -EFAULT, or -ENAMETOOLONG. */
int vk_get_string(struct vk_run *run, uint64_t address, char *out, size_t room);
struct vk_op *vk_op_add(struct vk_kernel *k, enum vk_op_kind kind, uint64_t start, uint64_t size);
void *vk_op_bytes(struct vk_kernel *k, uint64_t size); /* lives as long as the outcome */
void vk_ops_clear(struct vk_ops *ops);
void vk_ops_fini(struct vk_ops *ops);
int64_t vk_answer(struct vk_run *run); /* the call's function, or why there is none */
/* What the recorded call wrote from an address on: how many bytes, at most `room`. */
size_t vk_told_bytes(const struct vk_run *run, uint64_t address, void *bytes, size_t room);
/* What the recording answers next to a call with the same key; false if nothing. Takes it. */
struct vk_answer {
    int64_t result;
    const uint64_t *args;
    const struct vk_piece *writes;
    size_t write_count;
};
bool vk_next_answer(struct vk_run *run, struct vk_answer *answer);
/* What it answered first to such a call, whenever that was. Of a live run. */
bool vk_first_answer(struct vk_run *run, struct vk_answer *answer);
int64_t vk_give_answer(struct vk_run *run, const struct vk_answer *answer);
void vk_again(struct vk_run *run);
/* Gives that answer: its writes, where the arguments of this call say, and its result. */
int64_t vk_next_recorded(struct vk_run *run);
/* Bytes that an answer wrote from its argument `arg` on, at most `room`. */
size_t vk_answer_bytes(const struct vk_answer *answer, uint64_t address, void *bytes, size_t room);
bool vk_is_live(const struct vk_kernel *k);
uint64_t vk_random(struct vk_kernel *k);

/* ---- vk_history.c ---- */
struct vk_history_call {
    struct vk_call call;
    uint64_t ended;
    int64_t result;
    struct vk_piece *reads, *writes;
    uint32_t read_count, write_count;
    uint32_t key; /* VK_NONE */
    bool has_ended, is_adopted;
    bool waits;     /* the model had it wait */
    bool is_late;   /* it was made when its thread ran again, and not before others did */
    bool is_left;   /* other threads ran before it came back */
    bool is_thread; /* a clone that made one */
};
enum vk_event_kind {
    VK_EVENT_BEGIN,
    VK_EVENT_END,
    VK_EVENT_TASK_NEW,
    VK_EVENT_TASK_END,
    VK_EVENT_SWITCH,
    VK_EVENT_SIGNAL,
    VK_EVENT_COUNTER,
    VK_EVENT_SPACE
};
struct vk_event {
    uint8_t kind;
    uint32_t task;
    uint64_t when;
    uint32_t index; /* of the call, signal, space change... */
    uint32_t parent;
    int tid;
};
struct vk_told_signal {
    uint64_t when;
    uint32_t task;
    int number;
    bool is_fault, calls_handler, has_info;
    uint8_t info[128];
};
struct vk_told_counter {
    uint64_t when, value;
};
struct vk_told_space {
    uint64_t start, size;
    int prot; /* -1: unmapped */
    struct vk_text *name;
};
struct vk_turn { /* from `when` on, `task` runs */
    uint64_t when;
    uint32_t task;
};
struct vk_chunk { /* what a read of an inherited stream gave, as it gave less than was asked for */
    uint32_t outside;
    uint64_t start, end;
};
struct vk_key { /* calls with equal keys, in order of time */
    uint64_t hash;
    uint32_t *calls;
    uint32_t count, capacity;
};
#define VK_CALLS_MAX        1024
#define VK_ANSWERED_MISSING 1 /* -ENOSYS */
#define VK_ANSWERED_OTHER   2
struct vk_history {
    struct vk_start start;
    char *exe, *cwd;
    struct vk_scalars first;   /* what the process began with, as far as its calls told */
    uint64_t stream_starts[3]; /* where in their files descriptors 0 to 2 stood */
    uint32_t stream_flags[3];  /* of descriptors 0 to 2; VK_NONE: not known */
    struct vk_kernel *kernel;  /* that the pass uses */
    bool is_finished;
    uint64_t last, end_when;
    struct vk_history_call *calls;
    size_t call_count, call_capacity;
    struct vk_event *events;
    size_t event_count, event_capacity;
    struct vk_told_signal *signals;
    size_t signal_count, signal_capacity;
    struct vk_told_counter *counters;
    size_t counter_count, counter_capacity;
    struct vk_told_space *spaces;
    size_t space_count, space_capacity;
    struct vk_turn *turns;
    size_t turn_count, turn_capacity;
    struct vk_key *keys;
    size_t key_count, key_capacity;
    struct wd_index key_index;
    struct vk_base **bases;
    uint32_t base_count, base_capacity;
    uint32_t *base_places; /* open hashing: 1 + index */
    uint32_t base_place_count;
    pthread_mutex_t lock; /* of bases, once the history is finished */
    struct vk_chunk *chunks;
    size_t chunk_count, chunk_capacity;
    struct {
        struct vk_difference is;
        char *text;
    } * differences;
    size_t difference_count, difference_capacity;
    struct vk_score score;
    uint32_t in_call[VK_TASKS_MAX]; /* 1 + call */
    uint32_t own_fds[8]; /* that the recorder has in the process, as far as a call told of them */
    uint32_t own_fd_count;
    uint64_t area_bytes;            /* memory that the recorder maps for each thread; 0: none */
    uint8_t answered[VK_CALLS_MAX]; /* by number of the call: VK_ANSWERED_* */
};
/* The recorded call that begins there; NULL: none. */
const struct vk_history_call *vk_call_at(const struct vk_history *h, uint64_t when, uint32_t task,
                                         int32_t number);
/* Whether the recorded call waited, and what ended it was that its time was up. */
bool vk_timed_out(const struct vk_history_call *call);
/* Whether the recorded system, or its recorder, has no such call: it was asked, and always said
 * so. */
bool vk_is_missing(const struct vk_history *h, int64_t number);
uint32_t vk_key_find(const struct vk_history *h, uint64_t hash);       /* VK_NONE */
uint64_t vk_key_of(struct vk_run *run, const struct vk_call_row *row); /* 0: none */
void vk_chunk_learn(struct vk_history *h, uint32_t outside, uint64_t start, uint64_t end);
void vk_first_facts(struct vk_scalars *s, const struct vk_scalars *first);
int vk_apply_event(struct vk_kernel *k, const struct vk_event *event);

/* ---- vk_base.c: the disk before the run ---- */
uint32_t vk_base_child(struct vk_history *h, uint32_t parent, const char *name, size_t bytes);
struct vk_base *vk_base_at(const struct vk_history *h, uint32_t base);
/* Looks at the disk, once: presence, format, stat, link. */
void vk_base_ask(struct vk_history *h, uint32_t base);
/* Reads from the disk what is not known, if the file is the same: 0, or -ENODATA. */
int vk_base_fill(struct vk_history *h, uint32_t base, uint64_t offset, uint64_t size);
int vk_base_list(struct vk_history *h, uint32_t index);
int vk_base_path(const struct vk_history *h, uint32_t base, char *out, size_t room);
void vk_bases_free(struct vk_history *h);
bool vk_path_is_live(const char *path);
int64_t vk_time_ns(const struct timespec *time);
/* Whether the bytes that are known are those of the open file. */
bool vk_content_agrees(const struct vk_table *content, int fd);
/* Takes bytes that are not known from it. 0, -ENODATA, -ENOMEM. */
int vk_base_take(struct vk_base *base, int fd, uint64_t offset, uint64_t size);

/* ---- vk_made.c: what was changed before anybody asked about it ---- */
/* A recorded stat of a file (base `index`) that an open with O_CREAT gave, and that nobody has
 * touched since. */
void vk_birth_learn(struct vk_history *h, uint32_t index, const struct stat *st);
/* An inode is mapped: the program reads it, and perhaps writes to it. */
void vk_inode_show(struct vk_kernel *k, uint32_t inode, bool may_write);
/* The recorded run is told how long a file is now that it has changed. */
void vk_size_learn(struct vk_kernel *k, uint32_t inode, uint64_t size);
/* All has been told: finishes the history. -ENOMEM. */
int vk_made_settle(struct vk_history *h);

/* ---- vk_tree.c: names, inodes, paths ---- */
struct vk_where {
    uint32_t directory; /* inode */
    uint32_t inode;     /* VK_NONE: nothing there */
    const char *name;   /* its last part, "" for a directory itself */
    char text[4097];
    bool is_slashed; /* the path ended with a slash */
};
/* PARENT: of a name that is to come or go, with no look at what it leads to. Else a link in the
 * last part is followed if the path ends with a slash, or with FOLLOW. CREATE: a file is to be
 * there, so a slash at the end is EISDIR. */
enum vk_walk { VK_WALK_FOLLOW = 1, VK_WALK_PARENT = 2, VK_WALK_CREATE = 4 };
/* 0 (also if nothing is there), -errno, or VK_UNKNOWN. `at` is a descriptor or AT_FDCWD. */
int64_t vk_walk(struct vk_run *run, int at, uint64_t path, unsigned how, struct vk_where *where);
int64_t vk_walk_text(struct vk_run *run, int at, const char *path, unsigned how,
                     struct vk_where *where);
uint32_t vk_inode_new(struct vk_kernel *k, uint32_t mode); /* VK_NONE: no memory */
uint32_t vk_inode_of_base(struct vk_kernel *k, uint32_t base);
const struct vk_inode *vk_inode(const struct vk_kernel *k, uint32_t inode);
struct vk_inode *vk_inode_edit(struct vk_kernel *k, uint32_t inode);
/* Asks the disk for what is not known. */
void vk_inode_learn(struct vk_kernel *k, uint32_t index);
int vk_name_set(struct vk_kernel *k, uint32_t directory, const char *name, uint32_t inode);
/* An inode's absolute path; false if it has none. */
bool vk_inode_path(const struct vk_kernel *k, uint32_t inode, char *out, size_t room);
bool vk_where_path(const struct vk_kernel *k, const struct vk_where *where, char *out, size_t room);
void vk_learn_path(struct vk_run *run, int at, uint64_t path, bool follows, bool is_there);
bool vk_may(const struct vk_kernel *k, const struct vk_inode *inode, unsigned rwx);
void vk_inode_changed(struct vk_kernel *k, struct vk_inode *inode);
void vk_times_touch(struct vk_kernel *k, struct vk_inode *inode, bool modified);

/* ---- vk_kernel.c ---- */
/* What an inode holds: 0, -ENODATA if not all of it is known, or there; -ENOMEM. */
int vk_inode_read(struct vk_kernel *k, uint32_t inode, uint64_t offset, void *bytes, size_t size);

/* ---- vk_input.c ---- */
/* A call comes to an inode's bytes, or to their number: what is known of it, and by when. */
void vk_inode_ask(struct vk_kernel *k, uint32_t inode);
bool vk_is_input(const struct vk_kernel *k, uint32_t inode);
/* Whether what the recording answers to the call may be about the input's recorded bytes. */
bool vk_is_about_input(struct vk_run *run, const struct vk_call_row *row);

/* ---- vk_descriptors.c ---- */
/* What the recorder found of a descriptor that the program began with, and that is no regular file;
 * NULL: nothing, or it is another one. */
const struct vk_stream *vk_stream_of(const struct vk_history *h, const struct vk_open *open);
const struct vk_open *vk_open_of(const struct vk_kernel *k, uint64_t fd, uint32_t *index);
struct vk_open *vk_open_edit(struct vk_kernel *k, uint32_t open);
uint32_t vk_open_new(struct vk_kernel *k, const struct vk_open *open);
/* The lowest free descriptor from `from` on; -EMFILE, VK_NOMEM. */
int64_t vk_fd_new(struct vk_run *run, uint32_t open, uint64_t from, bool is_cloexec);
int vk_fd_set(struct vk_kernel *k, uint64_t fd, uint32_t open, bool is_cloexec);
int vk_fd_close(struct vk_kernel *k, uint64_t fd);
void vk_stream_is_file(struct vk_kernel *k, uint64_t fd);
void vk_open_drop(struct vk_kernel *k, uint32_t index);

/* ---- vk_files.c ---- */
int64_t vk_file_read(struct vk_run *run, uint32_t inode, uint64_t offset, uint8_t *bytes,
                     uint64_t size); /* count, VK_UNKNOWN */
int64_t vk_file_write(struct vk_run *run, uint32_t inode, uint64_t offset, const uint8_t *bytes,
                      uint64_t size);
int64_t vk_file_resize(struct vk_run *run, uint32_t inode, uint64_t size);
/* Whether a file may be another one than it was in the recording: the run has changed it, or the
 * recorded one did. */
bool vk_is_own(const struct vk_kernel *k, const struct vk_inode *inode);
/* Like vk_unknown(), where the answer depends on what the run did before: a run that goes on
 * differently does not take the recording's. */
int64_t vk_unknown_own(struct vk_run *run, const char *why);
int64_t vk_file_size(struct vk_run *run, uint32_t inode, uint64_t *size);

/* ---- vk_maps.c ---- */
bool vk_may_access(const struct vk_kernel *k, uint64_t address, uint64_t size, bool writes);
uint64_t vk_maps_first(const struct vk_kernel *k,
                       uint64_t address); /* index: first that ends above */
int vk_maps_cut(struct vk_kernel *k, uint64_t start, uint64_t end);
int vk_maps_add(struct vk_kernel *k, const struct vk_map *map);
/* The recorder's own memory for a thread: maps it, and gives its address; 0: there is no room. */
uint64_t vk_maps_area(struct vk_kernel *k, uint64_t bytes);
int vk_maps_told(struct vk_kernel *k, const struct vk_told_space *space);
int64_t vk_maps_grow_stack(struct vk_run *run, uint64_t address);
void vk_maps_start(struct vk_kernel *k);
uint64_t vk_maps_reachable(const struct vk_kernel *k); /* bytes that may be accessed at all */

/* ---- vk_clocks.c ---- */
uint64_t vk_ns(const struct vk_kernel *k); /* virtual nanoseconds: executed and waited */
uint64_t vk_clock_now(struct vk_kernel *k, int clock);
void vk_clock_learn(struct vk_kernel *k, int clock, uint64_t ns);
uint64_t vk_next_timer(const struct vk_kernel *k); /* virtual ns; VK_NEVER */
int vk_timers_fire(struct vk_kernel *k);
/* A recorded signal has come: the timer that sends it has fired. */
void vk_timers_told(struct vk_kernel *k, int number);
/* A timer that is set live fires when the recording had its next signal, if it has one left. */
void vk_timer_align(struct vk_kernel *k, uint32_t index);

/* ---- vk_signals.c ---- */
int vk_signal_send(struct vk_kernel *k, uint32_t task, int number, const uint8_t info[128]);
void vk_info_make(uint8_t info[128], int number, int code, int pid, uint32_t uid, uint64_t value);
uint64_t vk_pending_mask(const struct vk_kernel *k, uint32_t task);
/* Index of the signal that `task` would get next; VK_NONE. */
uint32_t vk_signal_next(const struct vk_kernel *k, uint32_t task, uint64_t mask);
const struct vk_action *vk_action_of(const struct vk_kernel *k, int number);
bool vk_signal_is_ignored(const struct vk_kernel *k, int number);

/* ---- vk_threads.c ---- */
const struct vk_task *vk_task(const struct vk_kernel *k, uint32_t task);
struct vk_task *vk_task_edit(struct vk_kernel *k, uint32_t task);
int vk_task_end(struct vk_run *run, uint32_t slot);
bool vk_clone_told(struct vk_run *run); /* false: it made a process */
uint32_t vk_futex_wake(struct vk_kernel *k, uint64_t address, uint32_t count, uint32_t bits);

/* ---- vk_pipes.c ---- */
uint32_t vk_ready(const struct vk_kernel *k, uint32_t open); /* POLLIN...; VK_READY_UNKNOWN */
#define VK_READY_UNKNOWN 0x80000000u
int64_t vk_pipe_read(struct vk_run *run, uint32_t index, uint8_t *bytes, uint64_t size);
int64_t vk_pipe_write(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size);

/* Sends SIGPIPE to the caller. */
int64_t vk_broken_pipe(struct vk_run *run);
int64_t vk_special_read(struct vk_run *run, uint32_t index, uint8_t *bytes, uint64_t size);
int64_t vk_event_write(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size);
/* Tells the callback for output: 0, VK_STOP, VK_UNKNOWN at a limit. */
int64_t vk_put_out(struct vk_run *run, uint32_t index, const uint8_t *bytes, uint64_t size,
                   uint64_t offset);

#endif
