/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What if: a recorded run goes on differently from some time on.
 *
 * A condition takes its other way, or something of the program has another value, and from there on
 * the run is a live one: a model of the system answers what the program asks of it, so that no
 * file, process or network of this machine is touched. The same change gives the same run, to the
 * byte. Where the model cannot know what the system would have done, the run is *unresolved*, and
 * it is said why.
 *
 * Source: X. Zhang, N. Gupta, R. Gupta: Locating Faults Through Automated Predicate Switching, ICSE
 * 2006, section 3, for switching a predicate instance and letting the run go on; changes of other
 * state are ours.
 *
 * Functions return 0 or a negative code (errors.h).
 */
#ifndef WETDBG_SWITCH_H
#define WETDBG_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/slice.h>
#include <wetdbg/switch_search.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* ---- what is changed ---- */

enum wetdbg_change_kind {
    WETDBG_CHANGE_NOTHING, /* goes on as it was, but live */
    WETDBG_CHANGE_SWITCH,  /* the conditional instruction at `time` does the other thing */
    WETDBG_CHANGE_VALUE,   /* just before `time` something has another value */
};

#define WETDBG_CHANGE_BYTES_MAX 4096
#define WETDBG_CHANGE_MORE_MAX  128

/* A second place, whose bytes change together with the first one's. */
struct wetdbg_change_more {
    uint64_t address, size; /* 0 bytes: there is none */
    uint8_t bytes[WETDBG_CHANGE_MORE_MAX];
};

struct wetdbg_change {
    enum wetdbg_change_kind kind;
    wetdbg_time time; /* 1 to the run's last one */
    /* WETDBG_CHANGE_VALUE: `size` bytes of memory at `address`; or, with size 0, the bits of `mask`
     * of general register `reg` (as instructions number them), which get those of `value`. */
    uint64_t address, size;
    uint8_t bytes[WETDBG_CHANGE_BYTES_MAX];
    struct wetdbg_change_more more; /* with memory */
    unsigned reg;
    uint64_t value, mask;
};

/*
 * What a criterion names (memory or a general register at its time) gets `size` bytes. Fewer bytes
 * than it has change its first ones. -WETDBG_ERR_USAGE if it is too small for them, or names
 * several places, or none that has a value; -WETDBG_ERR_UNSUPPORTED for other registers.
 */
int wetdbg_change_of_criterion(const struct wetdbg_criterion *criterion, const void *bytes,
                               size_t size, struct wetdbg_change *out);

/* How many bytes the criterion's one place has; 0 if wetdbg_change_of_criterion() refuses it. */
uint64_t wetdbg_change_room(const struct wetdbg_criterion *criterion);

/* The addresses of a line's instructions that can be switched: conditional jumps and, where a
 * condition chooses a value, conditional moves and sets. *pcs is to be freed.
 * -WETDBG_ERR_NOT_FOUND if there is none, or no such line. */
int wetdbg_switch_points(struct wetdbg *wet, const char *file, uint32_t line, uint64_t **pcs,
                         size_t *count);

/* ---- runs ---- */

struct wetdbg_switcher;

/*
 * Makes what runs are made with, which takes a replay of the recorded run. `wet` lives longer.
 * Errors: -WETDBG_ERR_UNSUPPORTED if the file has a window of the run only; those of replay.
 */
int wetdbg_switcher_open(struct wetdbg *wet, struct wetdbg_switcher **out);
void wetdbg_switcher_close(struct wetdbg_switcher *switcher); /* NULL is fine */

enum wetdbg_switch_end {
    WETDBG_SWITCH_EXIT,       /* the process has ended */
    WETDBG_SWITCH_UNRESOLVED, /* `reason` */
    WETDBG_SWITCH_HANGS,      /* all its threads wait for what never comes: `reason` */
    WETDBG_SWITCH_LIMIT,      /* it did not end within its instructions: unresolved, too */
};

struct wetdbg_switch_result {
    enum wetdbg_switch_end end;
    int wait_status;       /* WETDBG_SWITCH_EXIT */
    char reason[256];      /* others; a sentence without full stop */
    uint64_t instructions; /* of the whole run */
    /* The first byte of output that is not as recorded, in all that was written to a descriptor; a
     * byte that is missing at the end, or too much, is one. */
    bool output_differs;
    int output_fd;
    uint64_t output_offset;
};

/* What a live run puts out, in order; not 0 ends the run, as a negative error of
 * wetdbg_switcher_run(). */
typedef int (*wetdbg_switch_output_fn)(void *arg, int fd, const void *bytes, size_t size);

/*
 * Goes on from change->time on. `instructions`: the most that may be executed from there on; 0: 10
 * times the recorded run. `output` may be NULL. The changes of a switcher are cheapest in the order
 * of their times. 0, also for runs that are unresolved; -WETDBG_ERR_NOT_FOUND if there is no such
 * time, or nothing there that could be switched; -WETDBG_ERR_INTERRUPTED; -ENOMEM.
 */
int wetdbg_switcher_run(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                        uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                        struct wetdbg_switch_result *result);

/*
 * The same, and keeps the run in a file of its own: `path` becomes a .wet that is opened and asked
 * like that of a recording; `change_text` says in it what was changed. Only of a run that has ended
 * (WETDBG_SWITCH_EXIT): else -WETDBG_ERR_UNSUPPORTED, and *result is true. Other errors: those of
 * writing and of a replay.
 */
int wetdbg_switcher_keep(struct wetdbg_switcher *switcher, const struct wetdbg_change *change,
                         uint64_t instructions, wetdbg_switch_output_fn output, void *arg,
                         const char *change_text, const char *path,
                         struct wetdbg_switch_result *result);

/* ---- trials of a search ---- */

enum wetdbg_right {
    WETDBG_RIGHT_OUTPUT,  /* standard output and exit status are what they should be */
    WETDBG_RIGHT_COMMAND, /* a command says so: 0 right, 1 wrong, else nothing */
    WETDBG_RIGHT_EXIT,    /* the program exits */
    WETDBG_RIGHT_CALLER,  /* `is_right` says so */
};

#define WETDBG_TRIAL_JOBS_MAX 64

/* What the program should have done. What is pointed to is borrowed. */
struct wetdbg_expectation {
    enum wetdbg_right kind;
    /* WETDBG_RIGHT_OUTPUT: all that belongs on descriptor 1 */
    const void *output;
    size_t output_size;
    int exit_status;
    /* WETDBG_RIGHT_COMMAND: for sh, or the name of a program. It works in a directory of its own,
     * in which are the regular files that the run changed, by their names from the program's own
     * directory on, or by their whole names; standard input is the run's output. WETDBG_OUTPUT
     * names that, WETDBG_STATUS is the exit status (128 + N for signal N). */
    const char *command;
    double timeout_s; /* of a command; 0: a minute */
    double budget_s;  /* for asking it about the recorded run, twice; 0: no end */
    /*
     * WETDBG_RIGHT_CALLER: asked of each run that ends by itself, in the process that made it:
     * `text` is what it put out to descriptors 1 and 2, in the order in which it did, with a 0
     * behind it; `status` as wait(2) has it.
     */
    bool (*is_right)(void *arg, const char *text, size_t size, int status);
    void *arg;
    unsigned jobs; /* runs side by side, WETDBG_TRIAL_JOBS_MAX at most; 0 is 1 */
};

struct wetdbg_trials;

/*
 * Gets ready for a search's runs, which are made here: side by side in so many processes, each in
 * the order of the runs' times; what is found, and in which order, is the same for any number. A
 * run of which more output cannot make another verdict ends there. The recorded run is judged
 * first: -WETDBG_ERR_USAGE, explained, if it is right, if a command gives it two answers, or if
 * that knows nothing of it, or not within the budget. A run that waits for ever is wrong. The
 * switcher outlives it; *out is for wetdbg_trials_free(). -WETDBG_ERR_INTERRUPTED, -ENOMEM.
 */
int wetdbg_trials_new(struct wetdbg_switcher *switcher, const struct wetdbg_expectation *expected,
                      struct wetdbg_trials **out);
void wetdbg_trials_free(struct wetdbg_trials *trials); /* NULL is fine */

/* What is wrong with the recorded run, as a criterion: "crash", "output:OFFSET", "output:end" or
 * "exit". Lives as long as the trials. */
const char *wetdbg_trials_failure(const struct wetdbg_trials *trials);

/* The runner, for trials of these candidates. When a budget's seconds are over, neither a command
 * nor, where there are several jobs, a run is waited for. */
struct wetdbg_trial_runner wetdbg_trials_runner(struct wetdbg_trials *trials,
                                                struct wetdbg_candidates *candidates);

/* Makes a trial's run once more, without judging it: as wetdbg_switcher_run() tells of runs, with
 * its errors. The candidates are those of the runner. */
int wetdbg_trials_show(struct wetdbg_trials *trials, const struct wetdbg_trial *trial,
                       wetdbg_switch_output_fn output, void *arg,
                       struct wetdbg_switch_result *result);

WETDBG_END

#endif
