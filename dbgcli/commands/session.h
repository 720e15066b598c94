/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One opened run and where in it the user stands: what the prompt's commands share.
 *
 * The current time has a *moment* (registers, memory and stack frames just before that
 * instruction); it is opened when a command first needs it, since that runs an interval again.
 */
#ifndef DBGCLI_COMMANDS_SESSION_H
#define DBGCLI_COMMANDS_SESSION_H

#include <stdbool.h>

#include "dbgcli/eval/value.h"
#include "dbgcli/nav/moment.h"
#include "dbgcli/out.h"
#include "dbgcli/repl/repl.h"
#include <wetdbg/model.h>
#include <wetdbg/slice.h>
#include <wetdbg/wet.h>

struct cli_session {
    struct cli_out *out;
    char *wet_path;
    struct wetdbg *wet;
    struct wetdbg_slice_session *slices; /* what slices have found out so far */
    const struct wetdbg_info *info;
    struct wetdbg_model *model;
    double build_seconds; /* 0: the file was there before */
    wetdbg_time time;
    struct cli_moment *moment;          /* of `time`; NULL until needed: cli_session_moment() */
    const struct wetdbg_thread *struck; /* that the fatal signal struck; NULL: none did */
    size_t frame;                       /* the selected one, an index into the moment's frames */
    size_t skipped; /* inlined functions that begin here and that a step has not entered yet */
    /* The last criterion and how it was sliced: what `why` explains. */
    struct wetdbg_criterion *criterion;
    enum wetdbg_slice_kinds kinds;
    bool no_exits;
    bool is_forward;
    struct wetdbg_slice *slice;  /* with parents, once `why` was asked; else NULL */
    struct cli_implied *implied; /* its implicit dependences; commands/slice_implied.h */
    /* Where `list` goes on: a borrowed path of the model and the next line, or NULL. */
    const char *list_file;
    uint32_t list_line;
    uint32_t list_first; /* of the lines that were listed last */
    /* How x goes on, and with which format. */
    uint64_t examine_next;
    char examine_format, examine_size;
    bool examine_is_set;
    const char **newer_files; /* sources of which it was said that they are newer; the model's */
    size_t newer_count;
    struct cli_bookmarks *bookmarks;
    struct cli_named_slices *named;      /* commands/named_slices.h */
    struct cli_slice_tree *tree;         /* that `expand` unfolds, or NULL */
    struct cli_rest *rest;               /* lines that `more` shows, or NULL; commands/rest.h */
    struct wetdbg_switcher *switcher;    /* for `what-if`, `switch`; NULL until it is needed */
    struct cli_breakpoints *breakpoints; /* commands/breakpoints.h */
    unsigned stopped_at;                 /* the breakpoint that stopped here; 0: none did */
    struct cli_displays *displays;       /* commands/display.h */
    struct cli_kept *kept;               /* $1 and $x; eval/kept.h */
    /* What `set` sets; commands/settings.h. */
    struct cli_manner manner;
    uint64_t list_size;          /* lines; 0: all */
    bool is_intel;               /* the syntax of instructions */
    struct cli_pruning *pruning; /* what is right and wrong; NULL until something is said of it */
};

/* The prompt's commands; ends with a row without name. */
extern const struct cli_command cli_commands[];

/* What is no command here though people type it; ends with a row without word. */
extern const struct cli_other_word cli_other_words[];

/* Opens FILE.wet and stands at the crash, else at the end. Ctrl-C ends queries from here on.
 * 0, and cli_session_close() is due; or an error of wetdbg_open(). */
int cli_session_open(struct cli_session *session, struct cli_out *out, const char *wet_path);
void cli_session_close(struct cli_session *session);

/* Has Ctrl-C end the session's queries again, after something else took it for itself. */
void cli_session_catch(struct cli_session *session);

/* For struct cli_repl: forgets an interrupt that came while nothing ran. */
void cli_session_prepare(struct cli_session *session);

/* For struct cli_repl: an error if debug files that were needed so far are damaged. */
int cli_session_check(struct cli_session *session);

/* -WETDBG_ERR_NOT_FOUND, in a sentence, if the file has no such time. */
int cli_session_check_time(const struct cli_session *session, wetdbg_time time);

/* Stands at another time, in its innermost frame with a source line. -WETDBG_ERR_NOT_FOUND outside
 * 1..instructions + 1; errors of wetdbg_state_open(). On failure nothing has changed. */
int cli_session_go(struct cli_session *session, wetdbg_time time);

/* The same, and selects a thread if it is there; NULL: the one that runs. */
int cli_session_go_to(struct cli_session *session, wetdbg_time time,
                      const struct wetdbg_thread *thread);

/* The moment of the current time. Borrowed until the time changes. */
int cli_session_moment(struct cli_session *session, struct cli_moment **moment);

/* Has expressions at a moment of another time know the session's values, and values be written as
 * it was set. */
void cli_session_lend(const struct cli_session *session, struct cli_moment *moment);

/* Time of the crash; -WETDBG_ERR_NOT_FOUND if the run did not crash. */
int cli_session_crash_time(const struct cli_session *session, wetdbg_time *time);

/* Where the session stands, as an object of schema wetdbg.position/1. The moment is open. */
json_t *cli_session_position(struct cli_session *session);

/* Prints where the session stands, as after `goto`. */
int cli_session_print_position(struct cli_session *session);

/* What the user sees on opening: how the run ended, and for a crash where, with the inner
 * frames. */
int cli_session_print_opening(struct cli_session *session);

/* One line that says how to go on from there. */
void cli_session_print_ways_on(struct cli_session *session);

#define CLI_DECLARE_COMMAND(name)                                                                  \
    extern const struct cli_syntax cli_cmd_##name##_syntax;                                        \
    int cli_cmd_##name(struct cli_repl *repl, const struct cli_args *args, const char *format)

CLI_DECLARE_COMMAND(info);
CLI_DECLARE_COMMAND(thread);
CLI_DECLARE_COMMAND(goto);
CLI_DECLARE_COMMAND(backtrace);
CLI_DECLARE_COMMAND(frame);
CLI_DECLARE_COMMAND(printf);
CLI_DECLARE_COMMAND(taas);
CLI_DECLARE_COMMAND(faas);
CLI_DECLARE_COMMAND(up);
CLI_DECLARE_COMMAND(down);
CLI_DECLARE_COMMAND(list);
CLI_DECLARE_COMMAND(slice);
CLI_DECLARE_COMMAND(chop);
CLI_DECLARE_COMMAND(more);
CLI_DECLARE_COMMAND(expand);
CLI_DECLARE_COMMAND(let);
CLI_DECLARE_COMMAND(show);
CLI_DECLARE_COMMAND(diff);
CLI_DECLARE_COMMAND(save);
CLI_DECLARE_COMMAND(prune);
CLI_DECLARE_COMMAND(what_if);
CLI_DECLARE_COMMAND(switch);
CLI_DECLARE_COMMAND(mark);
CLI_DECLARE_COMMAND(why);
CLI_DECLARE_COMMAND(decisions);
CLI_DECLARE_COMMAND(instances);
CLI_DECLARE_COMMAND(labels);
CLI_DECLARE_COMMAND(print);
CLI_DECLARE_COMMAND(output);
CLI_DECLARE_COMMAND(origin);
CLI_DECLARE_COMMAND(bookmark);
CLI_DECLARE_COMMAND(history);
CLI_DECLARE_COMMAND(search);
CLI_DECLARE_COMMAND(step);
CLI_DECLARE_COMMAND(next);
CLI_DECLARE_COMMAND(reverse_step);
CLI_DECLARE_COMMAND(reverse_next);
CLI_DECLARE_COMMAND(stepi);
CLI_DECLARE_COMMAND(nexti);
CLI_DECLARE_COMMAND(reverse_stepi);
CLI_DECLARE_COMMAND(reverse_nexti);
CLI_DECLARE_COMMAND(finish);
CLI_DECLARE_COMMAND(reverse_finish);
CLI_DECLARE_COMMAND(continue);
CLI_DECLARE_COMMAND(reverse_continue);
CLI_DECLARE_COMMAND(break);
CLI_DECLARE_COMMAND(tbreak);
CLI_DECLARE_COMMAND(rbreak);
CLI_DECLARE_COMMAND(watch);
CLI_DECLARE_COMMAND(rwatch);
CLI_DECLARE_COMMAND(awatch);
CLI_DECLARE_COMMAND(catch);
CLI_DECLARE_COMMAND(delete);
CLI_DECLARE_COMMAND(enable);
CLI_DECLARE_COMMAND(disable);
CLI_DECLARE_COMMAND(ignore);
CLI_DECLARE_COMMAND(condition);
CLI_DECLARE_COMMAND(commands);
CLI_DECLARE_COMMAND(clear);
CLI_DECLARE_COMMAND(display);
CLI_DECLARE_COMMAND(undisplay);
CLI_DECLARE_COMMAND(until);
CLI_DECLARE_COMMAND(advance);
CLI_DECLARE_COMMAND(run);
CLI_DECLARE_COMMAND(start);
CLI_DECLARE_COMMAND(whatis);
CLI_DECLARE_COMMAND(ptype);
CLI_DECLARE_COMMAND(x);
CLI_DECLARE_COMMAND(set);
CLI_DECLARE_COMMAND(disassemble);
CLI_DECLARE_COMMAND(if);
CLI_DECLARE_COMMAND(while);
CLI_DECLARE_COMMAND(loop_break);
CLI_DECLARE_COMMAND(loop_continue);

/* "f (a=1, b=...) at a.c:12": a frame as `backtrace` shows it, without its number and address. */
void cli_frame_print(struct cli_out *out, struct cli_moment *moment, size_t index);

/* The arguments of a frame's function, "a=1, b=2@entry=3"; or as rows of an array (NULL: none). */
void cli_frame_arguments(struct cli_out *out, struct cli_moment *moment, size_t index,
                         json_t *array);

/* `until` without a place. */
int cli_step_until(struct cli_repl *repl);

/* The frames of the current moment, as `backtrace --limit` prints them; a limit of 0: all. */
int cli_backtrace_print(struct cli_session *session, uint64_t limit);

#endif
