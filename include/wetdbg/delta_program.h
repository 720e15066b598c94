/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Delta debugging of a program's input: what of a failing input makes the program fail, or what of
 * the difference between a passing and a failing one. The searches are those of delta.h; here are
 * the inputs cut into deltas, the program run on candidates, and the outcomes told apart.
 *
 * The program runs as it is, not recorded, by an ordinary user. Each run has a process of ours
 * above it (its *warden*), a session and a directory of its own, and limits; whatever it started is
 * ended with it, and the directory removed, also if wetdbg itself is killed.
 */
#ifndef WETDBG_DELTA_PROGRAM_H
#define WETDBG_DELTA_PROGRAM_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/delta.h>

WETDBG_BEGIN

/* What tells whether a run shows the same failure. */
enum wetdbg_dd_oracle {
    /* FAIL: the same signal ended it, or a process that it started, in the same function (the
     * innermost that is not the C library's); PASS: none did, and its exit status is that of the
     * passing input. */
    WETDBG_DD_CRASH,
    /* FAIL: any signal that dumps core; PASS: as above. */
    WETDBG_DD_ANY_CRASH,
    /* FAIL: the output is right up to the failing run's first wrong byte and has the same wrong
     * byte there (or ends there, too); PASS: it is right up to and with that byte, or all of it is
     * what the passing input's is. */
    WETDBG_DD_EXPECT,
    /* A command's exit status: 0 PASS, 1 FAIL, any other UNRESOLVED. */
    WETDBG_DD_COMMAND,
};

/* What is taken away or put in. */
enum wetdbg_dd_unit {
    WETDBG_DD_BYTE, /* bytes of a file, by lines and tokens first */
    WETDBG_DD_LINE,
    WETDBG_DD_TOKEN, /* words, runs of blanks, single other characters */
    WETDBG_DD_TREE,  /* what nests, by brackets, tags or indentation */
    WETDBG_DD_ARGV,  /* the program's arguments */
    WETDBG_DD_ENV,   /* the environment's variables */
    WETDBG_DD_FILES, /* the files of a directory */
};

/*
 * How candidates are tried. A *live* run starts no program: the failing run is recorded once, and
 * goes on from where it first asked for its input, with other bytes, in a virtual kernel
 * (predicate_switch/); it cannot touch the machine. What it cannot tell, a real run does. Only of
 * standard input or a file, and without limits of memory and disk. A command of WETDBG_DD_COMMAND
 * is asked as ever; where the run changed files below the working directory it works in one that
 * has links to what else is there.
 */
enum wetdbg_dd_runs {
    WETDBG_DD_RUNS_QUICKEST, /* live where that is possible, and measured to be quicker */
    WETDBG_DD_RUNS_LIVE,     /* live where that is possible */
    WETDBG_DD_RUNS_REAL,
};

struct wetdbg_dd_bytes {
    uint8_t *data;
    size_t size;
};

/*
 * `fail` and `pass` are names of files (directories for WETDBG_DD_FILES; NULL for WETDBG_DD_ARGV
 * and WETDBG_DD_ENV, whose input is the command line and the environment as they are). Where the
 * program finds its input: in a file, whose name replaces each "@@" in its words, or each word that
 * is `fail`; else it is its standard input. Files are temporary, and have the name of `fail` in a
 * directory of their own. Of WETDBG_DD_FILES without such a word, that directory is its working
 * directory.
 */
struct wetdbg_dd_options {
    char *const *
        /* ends with NULL; none at all with WETDBG_DD_COMMAND: then the command does everything */
        argv;
    const char *fail;
    const char *pass; /* NULL: the empty input */
    /* of WETDBG_DD_COMMAND: for sh, or the name of a program that gets the candidate's name */
    const char *command;
    const char *expect; /* of WETDBG_DD_EXPECT: a file with the right output for `fail` */
    /* where tests are kept until the end, so that the next call goes on; NULL: nowhere */
    const char *journal;
    enum wetdbg_dd_oracle oracle;
    enum wetdbg_dd_unit unit;
    enum wetdbg_dd_runs runs;
    unsigned jobs; /* 0: as many as there are processors */
    /* of one run; 0: ten times as long as the failing one, and a second. Where a run passes that,
     * the failing one is run again: if it takes longer now, the run may, too, and is repeated. */
    double timeout_s;
    uint64_t
        memory_bytes;    /* of one run with all that it starts; 0: half of the machine's, by jobs */
    uint64_t disk_bytes; /* of one run, and of each file that it writes; 0: 1 GiB */
    /* it works in a directory of its own; names of files that exist are made absolute */
    bool is_scratch;
    bool is_fresh;                            /* what the journal holds is forgotten */
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    /* Told after each test; may be NULL. `live` of them were live runs. `left`: deltas that are
     * still to be told apart, of `total`. */
    void (*progress)(void *arg, uint64_t tests, uint64_t live, size_t left, size_t total);
    void *arg;
    /* Told of each outcome that a test gave, with the candidate, which is borrowed for the call;
     * `is_live`: a live run alone said so. May be NULL. */
    void (*tested)(void *arg, const struct wetdbg_dd_bytes *candidate,
                   enum wetdbg_delta_outcome outcome, bool is_live);
    /* Without `pass`: seconds, after which the search ends, and the smallest input that failed so
     * far is the result; so is it when the search is interrupted. 0: it ends when it is done. */
    double budget_s;
};

#define WETDBG_DD_NOWHERE       UINT64_MAX
#define WETDBG_DD_CONFIRMED_MAX 64

/* A piece of the minimal difference: bytes that the failing input has, that it lacks, or both. */
struct wetdbg_dd_piece {
    uint64_t offset,
        length; /* in the original failing input; length 0: only something is missing there */
    uint64_t fail_offset;          /* in the minimal failing input; its length there is the same */
    uint64_t pass_offset, missing; /* bytes of the minimal passing input that stand there instead */
};

struct wetdbg_dd_result {
    uint64_t tests; /* runs of the program, with those that ask a second time */
    uint64_t live;  /* those of them that were live */
    /* Candidates on which it rests that the result is minimal (parts of it), and that live runs had
     * told: those that real runs confirmed, and those that nobody asked a second time, as they were
     * too many. */
    uint64_t confirmed, unconfirmed;
    char not_live[320];           /* why there were none, or no more from some test on; "" */
    uint64_t unresolved;          /* real runs that were made since a live one could not tell */
    char unresolved_because[256]; /* why the first of these could not */
    uint64_t recalled;            /* candidates whose outcome was known, also from a journal */
    uint64_t resumed;             /* tests that a journal knew at the beginning */
    double seconds;
    bool
        is_cut; /* `budget_s` was over, or it was interrupted: `fail` is smaller, but not minimal */
    /* The two minimal inputs. Words, variables and names of files end with a zero byte each. */
    struct wetdbg_dd_bytes pass, fail;
    uint64_t
        *origins; /* of each byte of `fail`: its offset in the original one, or WETDBG_DD_NOWHERE */
    struct wetdbg_dd_piece *pieces; /* their difference, in order */
    size_t piece_count;
    uint64_t original_bytes; /* of the failing input */
    char failure[512];       /* what a failing run is: "SIGSEGV in main (prog)" */
    uint64_t wrong_offset;   /* of WETDBG_DD_EXPECT: the first wrong byte; else WETDBG_DD_NOWHERE */
};

/*
 * Searches. Both inputs are tried twice at first, the two results once more at the end, by real
 * runs, and so is what makes them minimal, up to WETDBG_DD_CONFIRMED_MAX candidates. Should those
 * say something else than live ones, the search goes through again without. 0,
 * and wetdbg_dd_result_fini() is due. -WETDBG_ERR_USAGE: the failing input does not fail, the
 * passing one does not pass, both are equal, an empty input fails too, or something was asked for
 * that does not go together; -WETDBG_ERR_NOT_FOUND: no such program, or one that is flaky: the same
 * input gave two outcomes; -WETDBG_ERR_INTERRUPTED; errnos. The sentence says what and where.
 */
int wetdbg_dd(const struct wetdbg_dd_options *options, struct wetdbg_dd_result *result);

void wetdbg_dd_result_fini(struct wetdbg_dd_result *result);

/* How one run went. */
struct wetdbg_dd_trial {
    bool is_ended;         /* by itself, within all limits */
    int exit_status;       /* 128 + N if signal N ended it; -1 unless it `is_ended` */
    int signal;            /* that ended it, or 0 */
    uint64_t output_bytes; /* to standard output */
    /* Of WETDBG_DD_EXPECT: the first byte of the output that is not as expected; output_bytes if
     * all of it is right, and more was expected. WETDBG_DD_NOWHERE: it is as expected. */
    uint64_t wrong_offset;
    /* As far as this run alone tells: FAIL is a failure of the oracle's kind, wherever it was; PASS
     * is that a command said so or, of the others, that no signal ended it. */
    enum wetdbg_delta_outcome outcome;
    double seconds;
};

/*
 * Runs the program once on an input, as a search would: with the words, the directory, the
 * environment, the limits and the oracle of `options`; a run may take 60 s by default. Errors of
 * wetdbg_dd(), but for those of outcomes.
 */
int wetdbg_dd_try(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                  struct wetdbg_dd_trial *trial);

WETDBG_END

#endif
