/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is the same for all runs of a search: the program, how it gets its input, what is asked of
 * it, and its limits. */
#ifndef DELTA_PLAN_H
#define DELTA_PLAN_H

#include "delta/run_once.h"
#include <wetdbg/delta_program.h>

/* How a candidate reaches the program. */
enum dlt_way {
    DLT_WAY_STDIN,
    DLT_WAY_WORD, /* a file, whose name is in the program's words */
    DLT_WAY_ARGV, /* its words behind the first */
    DLT_WAY_ENV,
    DLT_WAY_FILES, /* a directory: named by a word, or where it works */
};

/* A file that a run left. */
struct dlt_left_file {
    const char *name; /* relative, without "..", below the directory where the command works */
    struct wetdbg_dd_bytes bytes;
    /* Of a search's run: */
    bool is_directory, is_gone;
    bool is_of_scratch; /* `name` is below the run's own directory (warden.c) */
};

/* A run that is over, and of which a command is only asked. */
struct dlt_ended_run {
    struct dlt_how how;
    struct wetdbg_dd_bytes output;
    const struct dlt_left_file *files;
    size_t file_count;
    /*
     * Whether the run is one that a search would have made: the command then finds all of it where
     * a real run has it. If files were left outside of the run's directory, the command works in
     * one that looks as this process's own would: links to what is there, and what was left in its
     * place.
     */
    bool is_of_search;
    struct wetdbg_dd_bytes errors;
};

/* Made by dlt_plan_init(), and not changed while runs are under way. */
struct dlt_plan {
    const struct wetdbg_dd_options *options;
    enum dlt_way way;
    char *program; /* what is executed: argv[0]'s path; NULL: the command does everything */
    char **words;  /* argv; NULL at the end */
    const char *placeholder; /* what stands for the candidate's name in words; NULL: nothing does */
    bool is_whole_word;      /* it is all of a word, rather than a part */
    char *file_name;         /* of the candidate: the last part of the failing input's */
    bool is_command_file;    /* the command is a program's name rather than for sh */
    struct wetdbg_dd_bytes expected;
    double timeout_s;
    uint64_t memory_bytes, disk_bytes;
    uint64_t tasks_max; /* of this user */
    const struct dlt_stand_in
        *stand_in; /* has the program run; NULL: nothing does, it is the program */
    const struct dlt_ended_run *ended; /* nothing is run, and the command is asked of this. NULL */
};

/* What a run may take by default, if the failing one took so long. */
static inline double dlt_default_timeout_s(double seconds)
{
    return 10 * seconds + 1;
}

/* `options` are borrowed until dlt_plan_fini(), which is due after any result. -WETDBG_ERR_USAGE,
 * -WETDBG_ERR_NOT_FOUND; errnos of files, with sentences. */
int dlt_plan_init(struct dlt_plan *plan, const struct wetdbg_dd_options *options);
void dlt_plan_fini(struct dlt_plan *plan);

/* The same for a run that is over, and a command about it: nothing is looked for, and nothing is to
 * be freed. `jobs` commands at once. */
void dlt_plan_of_ended(struct dlt_plan *plan, const struct wetdbg_dd_options *options,
                       const struct dlt_ended_run *ended);

/* All of a regular file, up to DLT_INPUT_BYTES_MAX, or nothing, of /dev/null; `bytes->data` is for
 * the caller to free. */
int dlt_file_read(const char *path, struct wetdbg_dd_bytes *bytes);

#endif
