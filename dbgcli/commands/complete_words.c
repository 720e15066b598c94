/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules by command: what kinds of words its first and its later operands are. Of an expression the
 * name at the cursor is completed: a variable in scope, a member behind '.' and "->", a register
 * behind '$'.
 */
#include "dbgcli/commands/complete_words.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/bookmark.h"
#include "dbgcli/commands/complete_criteria.h"
#include "dbgcli/commands/complete_paths.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/settings.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>
#include <wetdbg/spectrum.h>

enum words {
    WORDS_NONE = 0,
    WORDS_FILES = 1,
    WORDS_FUNCTIONS = 2,
    WORDS_TIMES = 4, /* keywords and bookmarks */
    WORDS_EXPRESSION = 8,
    WORDS_CRITERIA = 16,
    WORDS_BOOKMARKS = 32,
    WORDS_COMMANDS = 64,
    WORDS_SUBJECTS = 128,
    WORDS_DIRECTION = 256,
    WORDS_REGISTERS = 512,
    WORDS_SETTINGS = 1024,
    WORDS_SWITCH = 2048,
    WORDS_SLICES = 4096,
    WORDS_VERDICTS = 8192,
    WORDS_MEASURES = 16384,
    WORDS_ORDERS = 32768,
    WORDS_PATHS = 65536, /* of the disk */
    WORDS_INPUTS = 131072,
    WORDS_CHANGE = 262144,
    WORDS_CAUGHT = 524288,
    WORDS_NUMBERED = 1048576, /* what has numbers */
    WORDS_FRAMES = 4194304,
    WORDS_APPLY = 8388608,
    WORDS_SAVED = 16777216, /* what `save` has beside slices */
    WORDS_SHOWN = 2097152,  /* what `show` has beside slices and settings */
};

static const struct {
    const char *command;
    unsigned first, later;
} rules[] = {
    {"slice", WORDS_DIRECTION | WORDS_CRITERIA | WORDS_FILES | WORDS_EXPRESSION,
     WORDS_CRITERIA | WORDS_FILES | WORDS_EXPRESSION},
    {"chop", WORDS_CRITERIA | WORDS_FILES | WORDS_EXPRESSION,
     WORDS_CRITERIA | WORDS_FILES | WORDS_EXPRESSION},
    {"more", WORDS_NONE, WORDS_NONE},
    {"expand", WORDS_NONE, WORDS_NONE},
    {"let", WORDS_SLICES, WORDS_SLICES}, /* what makes one is completed as a line of its own */
    {"show", WORDS_SLICES | WORDS_SETTINGS | WORDS_SHOWN, WORDS_SLICES},
    {"diff", WORDS_SLICES, WORDS_SLICES},
    {"save", WORDS_SLICES | WORDS_SAVED, WORDS_PATHS},
    {"prune", WORDS_NONE, WORDS_NONE},
    {"mark", WORDS_VERDICTS, WORDS_FILES | WORDS_TIMES},
    {"what-if", WORDS_INPUTS | WORDS_FILES | WORDS_EXPRESSION, WORDS_CHANGE},
    {"switch", WORDS_NONE, WORDS_NONE},
    {"why", WORDS_FILES | WORDS_FUNCTIONS | WORDS_TIMES, WORDS_NONE},
    {"decisions", WORDS_CRITERIA | WORDS_FILES | WORDS_EXPRESSION, WORDS_NONE},
    {"origin", WORDS_CRITERIA | WORDS_EXPRESSION, WORDS_NONE},
    {"instances", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"labels", WORDS_FUNCTIONS, WORDS_NONE},
    {"history", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"search", WORDS_NONE, WORDS_NONE},
    {"goto", WORDS_TIMES | WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"bookmark", WORDS_BOOKMARKS, WORDS_TIMES | WORDS_FILES},
    {"step", WORDS_NONE, WORDS_NONE},
    {"next", WORDS_NONE, WORDS_NONE},
    {"finish", WORDS_NONE, WORDS_NONE},
    {"continue", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"stepi", WORDS_NONE, WORDS_NONE},
    {"nexti", WORDS_NONE, WORDS_NONE},
    {"reverse-step", WORDS_NONE, WORDS_NONE},
    {"reverse-next", WORDS_NONE, WORDS_NONE},
    {"reverse-finish", WORDS_NONE, WORDS_NONE},
    {"reverse-continue", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"reverse-stepi", WORDS_NONE, WORDS_NONE},
    {"reverse-nexti", WORDS_NONE, WORDS_NONE},
    {"until", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"advance", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"run", WORDS_NONE, WORDS_NONE},
    {"start", WORDS_NONE, WORDS_NONE},
    {"break", WORDS_FILES | WORDS_FUNCTIONS, WORDS_EXPRESSION},
    {"tbreak", WORDS_FILES | WORDS_FUNCTIONS, WORDS_EXPRESSION},
    {"rbreak", WORDS_FUNCTIONS, WORDS_NONE},
    {"watch", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"rwatch", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"awatch", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"catch", WORDS_CAUGHT, WORDS_NONE},
    {"delete", WORDS_NUMBERED, WORDS_NONE},
    {"clear", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"enable", WORDS_NUMBERED, WORDS_NUMBERED},
    {"disable", WORDS_NUMBERED, WORDS_NONE},
    {"ignore", WORDS_NONE, WORDS_NONE},
    {"condition", WORDS_NONE, WORDS_EXPRESSION},
    {"commands", WORDS_NONE, WORDS_NONE},
    {"display", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"undisplay", WORDS_NONE, WORDS_NONE},
    {"backtrace", WORDS_NONE, WORDS_NONE},
    {"thread", WORDS_APPLY, WORDS_COMMANDS},
    {"frame", WORDS_FRAMES, WORDS_FUNCTIONS},
    {"taas", WORDS_COMMANDS, WORDS_EXPRESSION},
    {"faas", WORDS_COMMANDS, WORDS_EXPRESSION},
    {"up", WORDS_NONE, WORDS_NONE},
    {"down", WORDS_NONE, WORDS_NONE},
    {"print", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"whatis", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"ptype", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"x", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"disassemble", WORDS_FUNCTIONS, WORDS_NONE},
    {"list", WORDS_FILES | WORDS_FUNCTIONS, WORDS_NONE},
    {"output", WORDS_NONE, WORDS_NONE},
    {"info", WORDS_SUBJECTS, WORDS_NONE},
    {"set", WORDS_SETTINGS | WORDS_EXPRESSION, WORDS_SWITCH},
    {"define", WORDS_NONE, WORDS_NONE},
    {"document", WORDS_NONE, WORDS_NONE},
    {"source", WORDS_PATHS, WORDS_NONE},
    {"if", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"while", WORDS_EXPRESSION, WORDS_EXPRESSION},
    {"loop_break", WORDS_NONE, WORDS_NONE},
    {"loop_continue", WORDS_NONE, WORDS_NONE},
    {"shell", WORDS_PATHS, WORDS_PATHS},
    {"echo", WORDS_NONE, WORDS_NONE},
    {"printf", WORDS_NONE, WORDS_EXPRESSION},
    {"apropos", WORDS_NONE, WORDS_NONE},
    {"help", WORDS_COMMANDS, WORDS_NONE},
};
#define RULE_COUNT (sizeof(rules) / sizeof(*rules))

/* Of the values of options; of one that is not here nothing is offered. */
static const struct {
    const char *command, *option;
    unsigned words;
} value_rules[] = {
    {"slice", "measure", WORDS_MEASURES},
    {"slice", "expect", WORDS_PATHS},
    {"slice", "against", WORDS_PATHS},
    {"slice", "dot", WORDS_PATHS},
    {"slice", "svg", WORDS_PATHS},
    {"chop", "dot", WORDS_PATHS},
    {"chop", "svg", WORDS_PATHS},
    {"what-if", "keep", WORDS_PATHS},
    {"switch", "expect", WORDS_PATHS},
    {"switch", "passing", WORDS_PATHS},
    {"switch", "order", WORDS_ORDERS},
    {"switch", "target", WORDS_CRITERIA | WORDS_FILES},
    {"switch", "ok", WORDS_CRITERIA | WORDS_FILES},
    {"switch", "pass", WORDS_CRITERIA | WORDS_FILES},
    {"prune", "ok", WORDS_CRITERIA | WORDS_FILES},
    {"prune", "wrong", WORDS_CRITERIA | WORDS_FILES},
    {"prune", "from", WORDS_CRITERIA | WORDS_FILES},
    {"prune", "through", WORDS_CRITERIA | WORDS_FILES},
    {"prune", "within", WORDS_SLICES},
    {"let", "delete", WORDS_SLICES},
    {"bookmark", "delete", WORDS_BOOKMARKS},
    {"search", "from", WORDS_TIMES | WORDS_FILES},
    {"search", "to", WORDS_TIMES | WORDS_FILES},
};
/* Of runs up to here instances are counted for Tab. */
#define COUNTED_INSTRUCTIONS (UINT64_C(16) << 20)

#define VALUE_RULE_COUNT (sizeof(value_rules) / sizeof(*value_rules))

struct adding {
    struct cli_completions *to;
    const char *typed;
};

/* ---- words of the model ---- */

/* Adds a file with the colon that a line number follows. */
static int add_file(void *context, const char *file, wetdbg_module_id module)
{
    struct adding *adding = context;
    (void)module;
    char *word = cli_asprintf("%s:", cli_base_name(file));
    cli_completions_add(adding->to, adding->typed, word);
    free(word);
    return adding->to->count == CLI_COMPLETIONS_MAX;
}

static void add_files(struct cli_session *session, struct adding *adding)
{
    size_t before = adding->to->count;
    wetdbg_files_each(session->model, add_file, adding);
    if (adding->to->count > before)
        adding->to->is_open = true;
}

static int add_function(void *context, const struct wetdbg_function *function)
{
    struct adding *adding = context;
    if (!(function->flags & (WETDBG_FUNCTION_PLT | WETDBG_FUNCTION_COLD)))
        cli_completions_add(adding->to, adding->typed, function->name);
    return adding->to->count == CLI_COMPLETIONS_MAX;
}

/* Adds functions, once a first letter is typed: all of them are tens of thousands. */
static void add_functions(struct cli_session *session, struct adding *adding)
{
    size_t length = strlen(adding->typed);
    if (!length)
        return;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)adding->typed[i]) && !strchr("_:", adding->typed[i]))
            return;
    char *pattern = cli_asprintf("^%s", adding->typed);
    wetdbg_functions_each(session->model, pattern, add_function, adding);
    free(pattern);
}

static int add_variable(void *context, const struct wetdbg_variable *variable)
{
    struct adding *adding = context;
    if (variable->name)
        cli_completions_add(adding->to, adding->typed, variable->name);
    return 0;
}

static int add_global(void *context, const char *name)
{
    struct adding *adding = context;
    cli_completions_add(adding->to, adding->typed, name);
    return adding->to->count == CLI_COMPLETIONS_MAX;
}

static void add_variables(struct cli_session *session, struct adding *adding)
{
    struct cli_moment *moment;
    if (cli_session_moment(session, &moment) != 0)
        return;
    const struct cli_frame *frame = &moment->frames[session->frame];
    wetdbg_variables_each_at(session->model, frame->lookup_pc, frame->depth, add_variable, adding);
    /* Globals are many: by a letter. */
    if (*adding->typed)
        wetdbg_globals_each(session->model, frame->lookup_pc, add_global, adding);
}

/* ---- members ---- */

struct member_walk {
    struct wetdbg_model *model;
    struct adding *adding;
    unsigned depth;
};

static int add_member(void *context, const struct wetdbg_member *member)
{
    struct member_walk *walk = context;
    if (member->name && !member->is_base) {
        cli_completions_add(walk->adding->to, walk->adding->typed, member->name);
    } else if (walk->depth < 8) {
        walk->depth++;
        wetdbg_type_members_each(walk->model, member->type.handle, add_member, walk);
        walk->depth--;
    }
    return 0;
}

/* Adds the members of what the text before '.' or "->" is; nothing if that is no structure. */
static void add_members(struct cli_session *session, const char *whole, struct adding *adding)
{
    struct cli_moment *moment;
    struct cli_value value, target;
    if (cli_session_moment(session, &moment) != 0)
        return;
    struct cli_frame_view view = {moment, session->frame};
    if (cli_value_evaluate(&view, whole, &value) != 0)
        return;
    if (value.type.kind == WETDBG_TYPE_POINTER && cli_value_target(moment, &value, &target) == 0)
        value = target;
    struct member_walk walk = {.model = session->model, .adding = adding};
    if (value.type.kind == WETDBG_TYPE_STRUCT || value.type.kind == WETDBG_TYPE_UNION)
        wetdbg_type_members_each(session->model, value.type.handle, add_member, &walk);
}

/* ---- expressions ---- */

static void add_registers(const struct cli_session *session, struct adding *adding)
{
    static const char *const names[] = {
        "$rax", "$rbx", "$rcx", "$rdx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8",
        "$r9",  "$r10", "$r11", "$r12", "$r13", "$r14", "$r15", "$rip",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        cli_completions_add(adding->to, adding->typed, names[i]);
    for (size_t i = 0; i < cli_kept_variable_count(session->kept); i++) {
        char *word = cli_asprintf("$%s", cli_kept_variable_row(session->kept, i).name);
        cli_completions_add(adding->to, adding->typed, word);
        free(word);
    }
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '$' ||
           (unsigned char)byte >= 0x80;
}

/* What "a + list->head" has before the "->": "list". Brackets are taken as a whole. */
static char *value_before(const char *typed, size_t end)
{
    size_t start = end;
    unsigned depth = 0;
    while (start) {
        char byte = typed[start - 1];
        depth += byte == ']' || byte == ')';
        if (!depth && !is_name_byte(byte) && byte != '.' && byte != '>' &&
            !(byte == '-' && typed[start] == '>'))
            break;
        if (byte == '[' || byte == '(') {
            if (!depth)
                break;
            depth--;
        }
        start--;
    }
    return cli_strndup(typed + start, end - start);
}

static void add_expression(struct cli_session *session, const char *typed,
                           struct cli_completions *completions)
{
    size_t at = strlen(typed);
    while (at && is_name_byte(typed[at - 1]))
        at--;
    struct adding adding = {completions, typed + at};
    size_t operator= at && typed[at - 1] == '.'             ? 1
    : at> 1 && typed[at - 1] == '>' && typed[at - 2] == '-' ? 2
                                                            : 0;
    completions->start += at;
    completions->is_open = true;
    if (operator) {
        char *whole = value_before(typed, at - operator);
        add_members(session, whole, &adding);
        free(whole);
    } else if (typed[at] == '$') {
        add_registers(session, &adding);
    } else {
        add_variables(session, &adding);
    }
}

/* ---- times and criteria ---- */

static void add_bookmarks(struct cli_session *session, struct adding *adding)
{
    const struct cli_bookmark *list;
    size_t count;
    if (cli_bookmarks_list(session->bookmarks, &list, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++)
        cli_completions_add(adding->to, adding->typed, list[i].name);
}

/* Adds the names of slices, also behind an operator: "A|B", "(A". */
static void add_slices(struct cli_session *session, const char *typed,
                       struct cli_completions *completions)
{
    struct cli_named_slice *list;
    size_t count, at = strlen(typed);
    while (at && (isalnum((unsigned char)typed[at - 1]) || typed[at - 1] == '_'))
        at--;
    completions->start += at;
    cli_named_slices_list(session->named, &list, &count);
    for (size_t i = 0; i < count; i++)
        cli_completions_add(completions, typed + at, list[i].name);
}

static void add_measures(struct adding *adding)
{
    for (unsigned i = 0; wetdbg_measure_name((enum wetdbg_measure)i); i++)
        cli_completions_add(adding->to, adding->typed, wetdbg_measure_name((enum wetdbg_measure)i));
}

static void add_each(struct adding *adding, const char *const *words)
{
    for (; *words; words++)
        cli_completions_add(adding->to, adding->typed, *words);
}

static void add_commands(struct cli_repl *repl, struct adding *adding)
{
    for (const struct cli_command *c = repl->commands; c->name; c++)
        cli_completions_add(adding->to, adding->typed, c->name);
}

/* Adds the first words of settings, or the second words of those that begin with `first`. */
static void add_settings(const char *first, struct adding *adding)
{
    for (size_t i = 0; cli_setting_name(i); i++) {
        const char *name = cli_setting_name(i);
        size_t length = strcspn(name, " ");
        if (first &&
            (strlen(first) != length || strncmp(name, first, length) != 0 || !name[length]))
            continue;
        char *word = first ? cli_strdup(name + length + 1) : cli_strndup(name, length);
        cli_completions_add(adding->to, adding->typed, word);
        free(word);
    }
}

/* Completes VARIABLE@TIME. */
static bool complete_time(struct cli_session *session, const char *typed,
                          struct cli_completions *completions)
{
    static const char *const times[] = {"start", "end", "crash", "now", NULL};
    const char *at = strrchr(typed, '@');
    if (!at)
        return false;
    struct adding adding = {completions, at + 1};
    completions->start += (size_t)(at + 1 - typed);
    add_each(&adding, times);
    add_bookmarks(session, &adding);
    add_files(session, &adding);
    return true;
}

/* Completes FILE:LINE#K and its like: the first and the last instance, and that by its number. Of a
 * long run they are not counted while somebody waits for a key. */
static bool complete_instance(struct cli_session *session, const char *typed,
                              struct cli_completions *completions)
{
    const char *hash = strrchr(typed, '#');
    uint64_t *pcs, count = 0;
    size_t pc_count;
    if (!hash || hash == typed || strchr(hash, ':'))
        return false;
    char *place = cli_strndup(typed, (size_t)(hash - typed));
    bool is_there = cli_breakpoint_pcs(session, place, &pcs, &pc_count) == 0;
    if (is_there && session->info->instructions <= COUNTED_INSTRUCTIONS)
        wetdbg_count_instances(session->wet, pcs, pc_count, &count);
    if (is_there)
        free(pcs);
    for (unsigned i = 0; is_there && i < 3; i++) {
        if (i == 2 && count < 2)
            break;
        char *word = i < 2 ? cli_asprintf("%s#%d", place, i ? -1 : 1)
                           : cli_asprintf("%s#%" PRIu64, place, count);
        cli_completions_add(completions, typed, word);
        free(word);
    }
    free(place);
    return true;
}

static void add_words(struct cli_repl *repl, unsigned words, const char *typed,
                      struct cli_completions *completions)
{
    static const char *const times[] = {"start", "end", "crash", "now", NULL};
    static const char *const directions[] = {"backward", "forward", "both", NULL};
    static const char *const switches[] = {"off", "on", NULL};
    static const char *const frames[] = {"apply", "function", "level", NULL};
    static const char *const shown[] = {"values", "convenience", NULL};
    static const char *const verdicts[] = {"bad", "clear", "good", NULL};
    static const char *const caught[] = {"catch",   "exec",  "fork",  "rethrow", "signal",
                                         "syscall", "throw", "vfork", NULL};
    static const char *const numbered[] = {"breakpoints", "display", NULL};
    static const char *const orders[] = {"near", "lefs", "prior", "spectrum", NULL};
    struct cli_session *session = repl->session;
    struct adding adding = {completions, typed};
    if (words & (WORDS_EXPRESSION | WORDS_CRITERIA | WORDS_CHANGE) &&
        complete_time(session, typed, completions))
        return;
    if (words & (WORDS_FILES | WORDS_FUNCTIONS) && complete_instance(session, typed, completions))
        return;
    if (words & WORDS_TIMES)
        add_each(&adding, times);
    if (words & WORDS_CRITERIA)
        cli_complete_criterion(session, typed, completions);
    if (words & WORDS_INPUTS)
        cli_complete_input(session, typed, completions);
    if (words & WORDS_CHANGE)
        cli_completions_add(completions, typed, "switch");
    if (words & WORDS_PATHS)
        cli_complete_path(typed, completions);
    if (words & WORDS_DIRECTION)
        add_each(&adding, directions);
    if (words & WORDS_SETTINGS)
        add_settings(NULL, &adding);
    if (words & WORDS_FRAMES)
        add_each(&adding, frames);
    if (words & WORDS_APPLY)
        cli_completions_add(completions, typed, "apply");
    if (words & WORDS_SAVED)
        cli_completions_add(completions, typed, "breakpoints");
    if (words & WORDS_SHOWN)
        add_each(&adding, shown);
    if (words & WORDS_SWITCH)
        add_each(&adding, switches);
    if (words & WORDS_VERDICTS)
        add_each(&adding, verdicts);
    if (words & WORDS_CAUGHT)
        add_each(&adding, caught);
    if (words & WORDS_NUMBERED)
        add_each(&adding, numbered);
    if (words & WORDS_MEASURES)
        add_measures(&adding);
    if (words & WORDS_ORDERS)
        add_each(&adding, orders);
    if (words & WORDS_SLICES)
        add_slices(session, typed, completions);
    if (words & WORDS_SUBJECTS)
        cli_info_subjects_each(typed, completions);
    if (words & WORDS_COMMANDS)
        add_commands(repl, &adding);
    if (words & (WORDS_BOOKMARKS | WORDS_TIMES))
        add_bookmarks(session, &adding);
    if (words & WORDS_FUNCTIONS || (words & WORDS_CRITERIA && *typed))
        add_functions(session, &adding);
    /* Files are many: asked for by a letter, or where nothing else is meant. */
    if (words & WORDS_FILES && (*typed || words == WORDS_FILES))
        add_files(session, &adding);
    /* What is offered already replaces the whole word, an expression's name only the end of it. */
    if (words & WORDS_EXPRESSION && (!completions->count || !strchr(typed, ':')))
        add_expression(session, typed, completions);
}

/* ---- the rules ---- */

static size_t find_rule(const char *command)
{
    size_t i = 0;
    while (i < RULE_COUNT && strcmp(rules[i].command, command) != 0)
        i++;
    return i;
}

static unsigned find_value_rule(const char *command, const char *option)
{
    for (size_t i = 0; i < VALUE_RULE_COUNT; i++)
        if (strcmp(value_rules[i].command, command) == 0 &&
            strcmp(value_rules[i].option, option) == 0)
            return value_rules[i].words;
    return WORDS_NONE;
}

bool cli_complete_knows(const char *command)
{
    return find_rule(command) < RULE_COUNT;
}

void cli_complete_operand(struct cli_repl *repl, const struct cli_command *command, size_t index,
                          const char *before, const char *typed,
                          struct cli_completions *completions)
{
    size_t rule = find_rule(command->name);
    if (rule == RULE_COUNT)
        return;
    unsigned words = index == CLI_COMPLETE_VALUE ? find_value_rule(command->name, before)
                     : index                     ? rules[rule].later
                                                 : rules[rule].first;
    bool has_settings = strcmp(command->name, "set") == 0 || strcmp(command->name, "show") == 0;
    if (index == 1 && before && has_settings) {
        struct adding adding = {completions, typed};
        add_settings(before, &adding);
        if (completions->count || strcmp(before, "print") == 0)
            return;
    }
    if (index == 1 && before && strcmp(before, "load") == 0 && strcmp(command->name, "let") == 0)
        words = WORDS_PATHS;
    if (index == 1 && before && strcmp(command->name, "info") == 0) {
        if (strncmp(before, "functions", strlen(before)) == 0)
            words = WORDS_FUNCTIONS;
        else if (strcmp(before, "line") == 0)
            words = WORDS_FILES | WORDS_FUNCTIONS;
        else if (strncmp(before, "symbol", strlen(before)) == 0)
            words = WORDS_EXPRESSION;
        else if (strlen(before) > 1 && strncmp(before, "lines", strlen(before)) == 0)
            words = WORDS_FILES;
    }
    add_words(repl, words, typed, completions);
    if (words == WORDS_FILES && strcmp(command->name, "info") == 0)
        completions->is_open = false;
}
