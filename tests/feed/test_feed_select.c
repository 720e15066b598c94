/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which program is replayed: by name or number, and by default, on lists of processes made by
 * hand. */
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "recorder/feed/feed_select.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

#define PROCESSES_MAX 32
#define EXIT(status)  ((status) << 8)
#define COUNT(array)  (sizeof(array) / sizeof(*(array)))
#define RUNNING       (-1)
#define FIRST         (-1)

/* Process i has number 100 + i unless `pid` is set, starts at 10 * (i + 1) unless `start` is. */
struct made {
    const char *program;  /* NULL: forked without exec */
    const char *replaced; /* what it ran before, from its start to `exec_time` */
    int parent;           /* index; FIRST */
    int status;           /* of waitpid(2), or RUNNING */
    uint64_t end, start, exec_time;
    int pid;
};

static struct wetdbg_process list[PROCESSES_MAX];
static struct wetdbg_exec execs[PROCESSES_MAX][2];
static const char *arguments[PROCESSES_MAX][2];

static void make_process(size_t i, const struct made *from)
{
    size_t programs = 0;
    uint64_t start = from->start ? from->start : 10 * (i + 1);
    size_t parent = from->parent == FIRST ? WETDBG_NO_PROCESS : (size_t)from->parent;
    arguments[i][0] = from->program;
    if (from->replaced)
        execs[i][programs++] = (struct wetdbg_exec){start, from->replaced, NULL, 0};
    if (from->program)
        execs[i][programs++] = (struct wetdbg_exec){from->exec_time ? from->exec_time : start,
                                                    from->program, arguments[i], 1};
    list[i] = (struct wetdbg_process){
        .pid = from->pid ? from->pid : 100 + (int)i,
        .parent = parent,
        .parent_pid = parent == WETDBG_NO_PROCESS ? 0 : list[parent].pid,
        .start_time = start,
        .end_time = from->end,
        .end = from->status == RUNNING ? WETDBG_PROCESS_ALIVE
               : (from->status & 0x7f) ? WETDBG_PROCESS_SIGNALED
                                       : WETDBG_PROCESS_EXITED,
        .wait_status = from->status == RUNNING ? 0 : from->status,
        .execs = execs[i],
        .exec_count = programs,
    };
    if (!programs && parent != WETDBG_NO_PROCESS)
        list[i].inherited =
            list[parent].exec_count ? &execs[parent][list[parent].exec_count - 1] : NULL;
}

/* ---------------------------------------------------------------- the default */

struct story {
    const char *what;
    struct made made[6]; /* ends with one that ends at 0 */
    size_t expected;
    enum wetdbg_default_reason reason;
};

static const struct story stories[] = {
    {"one program", {{"/bin/true", .parent = FIRST, .end = 50}}, 0, WETDBG_DEFAULT_FIRST},
    {"make -j2: the compiler proper, not make, gcc or the job that went well",
     {{"make", .parent = FIRST, .status = EXIT(2), .end = 90},
      {"gcc", .parent = 0, .status = EXIT(1), .end = 60},
      {"gcc", .parent = 0, .status = 0, .end = 80},
      {"cc1", .parent = 1, .status = EXIT(1), .end = 55},
      {"cc1", .parent = 2, .status = 0, .end = 75}},
     3,
     WETDBG_DEFAULT_FAILURE},
    {"sh -c 'a | b': SIGPIPE in a is how pipelines end",
     {{"sh", .parent = FIRST, .status = 0, .end = 90},
      {"a", .parent = 0, .status = SIGPIPE, .end = 70},
      {"b", .parent = 0, .status = 0, .end = 60}},
     0,
     WETDBG_DEFAULT_FIRST},
    {"sh -c 'a | b', both with status 1: the shell's is that of b, which ended first",
     {{"sh", .parent = FIRST, .status = EXIT(1), .end = 90},
      {"a", .parent = 0, .status = EXIT(1), .end = 70},
      {"b", .parent = 0, .status = EXIT(1), .end = 60}},
     2,
     WETDBG_DEFAULT_FAILURE},
    {"set -o pipefail: a's SIGPIPE is the shell's status",
     {{"bash", .parent = FIRST, .status = EXIT(128 + SIGPIPE), .end = 90},
      {"a", .parent = 0, .status = SIGPIPE, .end = 70},
      {"b", .parent = 0, .status = 0, .end = 60}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"git commit: a helper's status 1 is an answer",
     {{"git", .parent = FIRST, .status = 0, .end = 90},
      {"git", .parent = 0, .status = EXIT(1), .end = 60},
      {"git", .parent = 0, .status = 0, .end = 80}},
     0,
     WETDBG_DEFAULT_FIRST},
    {"pyenv: what the wrapper's helpers said is not what the program failed of",
     {{"python3", "sh", FIRST, EXIT(1), 90, .exec_time = 70},
      {"pyenv", .parent = 0, .status = EXIT(1), .end = 40},
      {"grep", .parent = 0, .status = EXIT(1), .end = 60}},
     0,
     WETDBG_DEFAULT_FAILURE},
    {"pyenv: the program went well",
     {{"python3", "sh", FIRST, 0, 90, .exec_time = 70},
      {"grep", .parent = 0, .status = EXIT(1), .end = 60}},
     0,
     WETDBG_DEFAULT_FIRST},
    {"set -e with a trap that cleans up",
     {{"sh", .parent = FIRST, .status = EXIT(3), .end = 90},
      {"prog", .parent = 0, .status = EXIT(3), .end = 25},
      {"rm", .parent = 0, .status = 0, .end = 50}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"a program with status 1 went on after a helper's status 1",
     {{"python3", .parent = FIRST, .status = EXIT(1), .end = 90},
      {"ldconfig", .parent = 0, .status = EXIT(1), .end = 25},
      {"uname", .parent = 0, .status = 0, .end = 50}},
     0,
     WETDBG_DEFAULT_FAILURE},
    {"gcc -pipe: cc1 failed while as was already there",
     {{"gcc", .parent = FIRST, .status = EXIT(1), .end = 90},
      {"cc1", .parent = 0, .status = EXIT(1), .end = 50},
      {"as", .parent = 0, .status = 0, .end = 60}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"a status that no child had",
     {{"sh", .parent = FIRST, .status = EXIT(7), .end = 90},
      {"prog", .parent = 0, .status = EXIT(3), .end = 50}},
     0,
     WETDBG_DEFAULT_FAILURE},
    {"a crash of which the shell says 139",
     {{"sh", .parent = FIRST, .status = EXIT(128 + SIGSEGV), .end = 90},
      {"prog", .parent = 0, .status = SIGSEGV, .end = 50}},
     1,
     WETDBG_DEFAULT_CRASH},
    {"a crash that nobody minded",
     {{"sh", .parent = FIRST, .status = 0, .end = 90},
      {"prog", .parent = 0, .status = SIGABRT | 0x80, .end = 50},
      {"true", .parent = 0, .status = 0, .end = 60}},
     1,
     WETDBG_DEFAULT_CRASH},
    {"two crashes: the one that the command failed of",
     {{"sh", .parent = FIRST, .status = EXIT(128 + SIGABRT), .end = 90},
      {"probe", .parent = 0, .status = SIGSEGV, .end = 25},
      {"prog", .parent = 0, .status = SIGABRT, .end = 50}},
     2,
     WETDBG_DEFAULT_CRASH},
    {"two crashes that do not explain the failure: the first",
     {{"runner", .parent = FIRST, .status = EXIT(3), .end = 90},
      {"worker", .parent = 0, .status = SIGBUS, .end = 50},
      {"worker", .parent = 0, .status = SIGSEGV, .end = 60}},
     1,
     WETDBG_DEFAULT_CRASH},
    {"the command itself crashed, after a child did",
     {{"runner", .parent = FIRST, .status = SIGABRT, .end = 90},
      {"worker", .parent = 0, .status = SIGBUS, .end = 50}},
     0,
     WETDBG_DEFAULT_CRASH},
    {"a forked child that crashed",
     {{"server", .parent = FIRST, .status = 0, .end = 90},
      {NULL, .parent = 0, .status = SIGSEGV, .end = 50}},
     1,
     WETDBG_DEFAULT_CRASH},
    {"a forked child's status, passed on by the program",
     {{"server", .parent = FIRST, .status = EXIT(5), .end = 90},
      {NULL, .parent = 0, .status = EXIT(5), .end = 50}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"killed from outside",
     {{"prog", .parent = FIRST, .status = SIGKILL, .end = 90},
      {"helper", .parent = 0, .status = EXIT(1), .end = 50}},
     0,
     WETDBG_DEFAULT_FAILURE},
    {"Ctrl-C: the program that ran, not the shell that waited",
     {{"bash", .parent = FIRST, .status = SIGINT, .end = 90},
      {"prog", .parent = 0, .status = SIGINT, .end = 50}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"timeout: the program that it ended",
     {{"timeout", .parent = FIRST, .status = EXIT(124), .end = 90},
      {"prog", .parent = 0, .status = SIGTERM, .end = 50}},
     1,
     WETDBG_DEFAULT_FAILURE},
    {"a daemon that failed when its starter was gone",
     {{"daemon", .parent = FIRST, .status = 0, .end = 30},
      {NULL, .parent = 0, .status = 0, .end = 40},
      {NULL, .parent = 1, .status = EXIT(3), .end = 90}},
     2,
     WETDBG_DEFAULT_UNSEEN},
    {"a daemon that was asked to end",
     {{"daemon", .parent = FIRST, .status = 0, .end = 30},
      {NULL, .parent = 0, .status = SIGTERM, .end = 90}},
     0,
     WETDBG_DEFAULT_FIRST},
    {"a recording that ends before the program does",
     {{"prog", .parent = FIRST, .status = RUNNING, .end = 90},
      {"helper", .parent = 0, .status = EXIT(1), .end = 95}},
     0,
     WETDBG_DEFAULT_FIRST},
};

static size_t tell(const struct story *story)
{
    size_t count = 0;
    while (count < COUNT(story->made) && story->made[count].end) {
        make_process(count, &story->made[count]);
        count++;
    }
    return count;
}

static void default_is_what_the_story_is_about(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(stories); i++) {
        enum wetdbg_default_reason reason;
        size_t count = tell(&stories[i]);
        size_t chosen = wetdbg_default_process(list, count, &reason);
        if (chosen != stories[i].expected || reason != stories[i].reason)
            fail_msg("%s: process %zu for reason %d", stories[i].what, chosen, (int)reason);
    }
}

static void default_is_the_last_program_of_its_process(void **state)
{
    (void)state;
    struct rep_selection which = {0};
    struct wetdbg_program program;
    size_t count = tell(&stories[6]);
    assert_int_equal(rep_selection_find(list, count, &which, &program), 0);
    assert_int_equal(program.process, 0);
    assert_int_equal(program.exec, 1);
}

/* ---------------------------------------------------------------- by name or number */

static const struct made family[] = {
    {"/usr/bin/make", .parent = FIRST, .end = 500},                   /* 100 */
    {"/bin/cc", "/bin/sh", .parent = 0, .exec_time = 25, .end = 100}, /* 101 */
    {"/bin/cc", "/bin/sh", .parent = 0, .exec_time = 35, .end = 200}, /* 102 */
    {NULL, .parent = 0, .end = 210},                                  /* 103 */
    {"/bin/awk", .parent = 0, .end = 220},                            /* 104 */
    {NULL, .parent = 4, .end = 230},                                  /* 105 */
    {"/bin/ls", .parent = 0, .start = 240, .end = 250, .pid = 104},   /* 104 again */
};

static void make_family(void)
{
    for (size_t i = 0; i < COUNT(family); i++)
        make_process(i, &family[i]);
}

static void selection_finds_each_program(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int err;
        size_t process, exec;
        const char *says;
    } rows[] = {
        {"100", 0, 0, 0, NULL},
        {"make", 0, 0, 0, NULL}, /* the fork is no make of its own */
        {"make#1", 0, 0, 0, NULL},
        {"make#2", 0, 3, WETDBG_FORKED, NULL},
        {"103", 0, 3, WETDBG_FORKED, NULL},
        {"101", 0, 1, 1, NULL},
        {"cc#1", 0, 1, 1, NULL},
        {"cc#2", 0, 2, 1, NULL},
        {"sh#1", 0, 1, 0, NULL},
        {"sh#2", 0, 2, 0, NULL},
        {"ls", 0, 6, 0, NULL},
        {"104#1", 0, 4, 0, NULL},
        {"104#2", 0, 6, 0, NULL},
        {"cc", -WETDBG_ERR_USAGE, 0, 0,
         "2 processes are \"cc\", say which: cc#1 (101), cc#2 (102)"},
        {"sh", -WETDBG_ERR_USAGE, 0, 0,
         "2 processes are \"sh\", say which: sh#1 (101, replaced by exec), sh#2 (102, replaced by "
         "exec)"},
        {"104", -WETDBG_ERR_USAGE, 0, 0,
         "2 processes had the number 104 one after the other, say which: 104#1 (awk), 104#2 (ls)"},
        {"cc#3", -WETDBG_ERR_NOT_FOUND, 0, 0,
         "no process \"cc\" number 3; it has 100 (make), 101 (cc)"},
        {"104#3", -WETDBG_ERR_NOT_FOUND, 0, 0, "no process 104 number 3; it has 100 (make)"},
        {"7", -WETDBG_ERR_NOT_FOUND, 0, 0,
         "no process 7; it has 100 (make), 101 (cc), 102 (cc), "
         "103 (make, forked), 104#1 (awk)"},
        {"emacs", -WETDBG_ERR_NOT_FOUND, 0, 0, "no process \"emacs\"; it has"},
    };
    make_family();
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rep_selection which;
        struct wetdbg_program got = {0};
        assert_int_equal(rep_selection_parse(rows[i].text, &which), 0);
        int err = rep_selection_find(list, COUNT(family), &which, &got);
        if (err != rows[i].err || got.process != rows[i].process || got.exec != rows[i].exec ||
            (err && !strstr(wetdbg_error(err), rows[i].says)))
            fail_msg("%s: %d, process %zu, exec %zu: %s", rows[i].text, err, got.process, got.exec,
                     err ? wetdbg_error(err) : "");
    }
}

static void handles_lead_back_to_their_programs(void **state)
{
    (void)state;
    make_family();
    for (size_t i = 0; i < COUNT(family); i++) {
        size_t programs = list[i].exec_count ? list[i].exec_count : 1;
        for (size_t exec = 0; exec < programs; exec++) {
            struct wetdbg_program program = {i, list[i].exec_count ? exec : WETDBG_FORKED}, found;
            struct rep_selection which;
            char text[300];
            wetdbg_program_handle(list, COUNT(family), program, text, sizeof(text));
            assert_int_equal(rep_selection_parse(text, &which), 0);
            assert_int_equal(rep_selection_find(list, COUNT(family), &which, &found), 0);
            assert_int_equal(found.process, program.process);
            assert_int_equal(found.exec, program.exec);
        }
    }
}

static void selection_of_many_candidates_is_cut(void **state)
{
    (void)state;
    struct rep_selection which;
    struct wetdbg_program program;
    struct made one = {"/bin/same", .parent = FIRST, .end = 900};
    for (size_t i = 0; i < PROCESSES_MAX; i++) {
        make_process(i, &one);
        one.parent = 0;
    }
    assert_int_equal(rep_selection_parse("same", &which), 0);
    assert_int_equal(rep_selection_find(list, PROCESSES_MAX, &which, &program), -WETDBG_ERR_USAGE);
    assert_non_null(
        strstr(wetdbg_error(-WETDBG_ERR_USAGE), "same#12 (111) and 20 more: see 'wetdbg ps'"));
}

static void selection_in_nothing_says_so(void **state)
{
    (void)state;
    struct rep_selection which = {0};
    struct wetdbg_program program;
    assert_int_equal(rep_selection_find(list, 0, &which, &program), -WETDBG_ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_is_what_the_story_is_about),
        cmocka_unit_test(default_is_the_last_program_of_its_process),
        cmocka_unit_test(selection_finds_each_program),
        cmocka_unit_test(handles_lead_back_to_their_programs),
        cmocka_unit_test(selection_of_many_candidates_is_cut),
        cmocka_unit_test(selection_in_nothing_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
