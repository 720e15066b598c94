/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/nav/place.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/bookmark.h"
#include "dbgcli/eval/value.h"
#include <wetdbg/errors.h>

/* ---- to be shown ---- */

const char *cli_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* Warns of a newer source, once for each file: whoever edits while debugging knows it after the
 * first time. */
static void warn_newer(struct cli_session *session, const char *file)
{
    struct cli_out *out = session->out;
    for (size_t i = 0; i < session->newer_count; i++)
        if (strcmp(session->newer_files[i], file) == 0)
            return;
    session->newer_files =
        cli_realloc(session->newer_files, session->newer_count + 1, sizeof(*session->newer_files));
    session->newer_files[session->newer_count++] = file;
    struct cli_out to = {.stream = cli_out_aside(out)};
    fputs("wetdbg: warning: ", to.stream);
    cli_out_text(&to, file);
    fputs(" is newer than the program; its lines may have moved\n", to.stream);
}

const char *cli_source_text(struct cli_session *session, const char *file, uint32_t line,
                            uint64_t pc)
{
    const char *text = NULL;
    unsigned flags = 0;
    if (!file || !line || wetdbg_source_line(session->model, file, line, pc, &text, &flags) != 0)
        return NULL;
    if (text && flags & WETDBG_SOURCE_NEWER)
        warn_newer(session, file);
    return text ? text + strspn(text, " \t") : NULL;
}

void cli_place_of_pc(struct cli_session *session, uint64_t pc, struct cli_place *place)
{
    struct wetdbg_model *model = session->model;
    struct wetdbg_line line;
    struct wetdbg_function function;
    struct wetdbg_module module;
    *place = (struct cli_place){.pc = pc};
    if (wetdbg_module_at(model, pc, &module) == 0)
        place->module = module.name;
    if (wetdbg_function_at(model, pc, &function) == 0) {
        place->function = function.name;
        place->linkage_name = function.linkage_name;
    }
    if (wetdbg_line_of_instruction(model, pc, &line) == 0 && line.line) {
        place->file = line.file;
        place->line = line.line;
        if (line.function) {
            place->function = line.function;
            place->linkage_name = line.linkage_name;
        }
        place->text = cli_source_text(session, line.file, line.line, pc);
    }
}

void cli_place_print(struct cli_out *out, const struct cli_place *place)
{
    if (place->file) {
        cli_out_styled(out, CLI_STYLE_FILE, cli_base_name(place->file));
        fprintf(out->stream, ":%" PRIu32, place->line);
    } else {
        cli_out_text(out, place->module ? place->module : "?");
    }
}

void cli_place_print_exact(struct cli_session *session, const struct cli_place *place)
{
    if (place->file)
        cli_place_print(session->out, place);
    else
        cli_address_print(session->out->stream, session->model, place->pc);
}

void cli_place_to_json(json_t *object, const struct cli_place *place)
{
    cli_json_set(object, "pc", cli_json_address(place->pc));
    cli_json_set(object, "function", cli_json_text(place->function));
    cli_json_set(object, "linkage_name", cli_json_text(place->linkage_name));
    cli_json_set(object, "module", cli_json_text(place->module));
    cli_json_set(object, "file", cli_json_text(place->file));
    cli_json_set(object, "line", place->file ? json_integer(place->line) : json_null());
    cli_json_set(object, "text", cli_json_text(place->text));
}

/* ---- as typed ---- */

char *cli_debug_missing(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_module module;
    struct wetdbg_module_debug debug;
    if (wetdbg_module_at(model, pc, &module) != 0 || !module.is_elf ||
        wetdbg_module_debug(model, module.id, &debug) != 0 || debug.has_dwarf)
        return NULL;
    return debug.build_id[0] ? cli_asprintf("%s has no debug information (build-id %s)",
                                            module.name, debug.build_id)
                             : cli_asprintf("%s has no debug information", module.name);
}

int cli_line_parse(const char *text, char **file, uint32_t *line)
{
    const char *colon = strrchr(text, ':');
    uint64_t number;
    if (!colon || colon == text || !cli_number_parse(colon + 1, &number) || !number ||
        number > UINT32_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is not of the form FILE:LINE", text);
    *file = cli_strndup(text, (size_t)(colon - text));
    *line = (uint32_t)number;
    return 0;
}

int cli_line_pcs(struct wetdbg_model *model, const char *text, uint64_t **pcs, size_t *count)
{
    struct wetdbg_line_location *locations;
    size_t location_count;
    char *file;
    uint32_t line;
    int err = cli_line_parse(text, &file, &line);
    if (err)
        return err;
    err = wetdbg_line_locations(model, file, line, &locations, &location_count);
    free(file);
    if (err)
        return err;
    uint64_t *list = cli_realloc(NULL, location_count + 1, sizeof(*list));
    size_t used = 0;
    for (size_t i = 0; i < location_count; i++)
        if (locations[i].is_breakpoint)
            list[used++] = locations[i].pc;
    free(locations);
    if (!used) {
        free(list);
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no code begins at %s", text);
    }
    *pcs = list;
    *count = used;
    return 0;
}

static void add_pc(uint64_t **pcs, size_t *count, uint64_t pc)
{
    for (size_t i = 0; i < *count; i++)
        if ((*pcs)[i] == pc)
            return;
    *pcs = cli_realloc(*pcs, *count + 1, sizeof(**pcs));
    (*pcs)[(*count)++] = pc;
}

/* Adds where the functions of the name are inlined into others, as gdb does: not into a prologue.
 * 0, also where there are none. */
static int add_inlined(struct wetdbg_model *model, const char *name, uint64_t **pcs, size_t *count)
{
    uint64_t *entries, body;
    size_t found;
    int result = wetdbg_inlined_named(model, name, &entries, &found);
    if (result)
        return result == -WETDBG_ERR_NOT_FOUND ? 0 : result;
    for (size_t i = 0; i < found; i++) {
        bool is_before = wetdbg_function_body(model, entries[i], &body) == 0 && body > entries[i];
        add_pc(pcs, count, is_before ? body : entries[i]);
    }
    free(entries);
    return 0;
}

/* The addresses where breakpoints on all functions of the name would be. */
static int function_pcs(struct wetdbg_model *model, const char *name, uint64_t **pcs, size_t *count)
{
    struct wetdbg_function *functions = NULL;
    size_t found = 0, used = 0;
    int result = wetdbg_functions_named(model, name, &functions, &found);
    if (result && result != -WETDBG_ERR_NOT_FOUND)
        return result;
    uint64_t *list = cli_realloc(NULL, 1, sizeof(*list));
    for (size_t i = 0; i < found; i++) {
        uint64_t body = functions[i].start;
        if (functions[i].flags & WETDBG_FUNCTION_PLT)
            continue;
        if (wetdbg_function_body(model, functions[i].start, &body) != 0)
            body = functions[i].start;
        add_pc(&list, &used, body);
    }
    free(functions);
    int err = add_inlined(model, name, &list, &used);
    if (!err && result && !used)
        err = wetdbg_fail(result, "no function is called '%s'%s", name,
                          strchr(name, '.') ? "; a line is FILE:LINE" : "");
    if (err) {
        free(list);
        return err;
    }
    *pcs = list;
    *count = used;
    return 0;
}

bool cli_address_parse(struct wetdbg_model *model, const char *text, uint64_t *address)
{
    return *text == '*' ? cli_number_parse(text + 1, address) ||
                              wetdbg_address_named(model, text + 1, address) == 0
                        : wetdbg_address_named(model, text, address) == 0;
}

int cli_breakpoint_pcs(struct cli_session *session, const char *text, uint64_t **pcs, size_t *count)
{
    const char *colon = strrchr(text, ':');
    uint64_t address;
    if (cli_address_parse(session->model, text, &address)) {
        *pcs = cli_realloc(NULL, 1, sizeof(**pcs));
        **pcs = address;
        *count = 1;
        return 0;
    }
    if (*text == '*')
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s': behind '*' comes an address", text);
    if (colon && (colon == text || colon[-1] != ':'))
        return cli_line_pcs(session->model, text, pcs, count);
    return function_pcs(session->model, text, pcs, count);
}

/* Says how often a place ran, where it did not run so often as somebody thinks. */
static void fail_instance(int code, const char *where, const char *hash, uint64_t count)
{
    if (hash && count)
        wetdbg_fail(code, "%s has no instance %s: it ran %" PRIu64 " time%s", where, hash, count,
                    count == 1 ? "" : "s");
    else
        wetdbg_fail(code, "%s ran %" PRIu64 " time%s", where, count, count == 1 ? "" : "s");
}

/* Parses FILE:LINE[#K], FUNCTION[#K], *ADDRESS[#K] and what is shown in place of that. */
static int parse_instance(struct cli_session *session, const char *text, wetdbg_time *time)
{
    const char *hash = strrchr(text, '#');
    const char *digits = hash ? hash + 1 : "1";
    bool is_backwards = !hash || *digits == '-';
    uint64_t number = 1, count = 0, *pcs;
    size_t pc_count;
    if (hash &&
        (!cli_number_parse(digits + is_backwards, &number) || !number || number > INT64_MAX))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s': after '#' comes 1, 2, ... or -1, -2, ...",
                           text);
    char *where = cli_strndup(text, hash ? (size_t)(hash - text) : strlen(text));
    int result = cli_breakpoint_pcs(session, where, &pcs, &pc_count);
    if (!result) {
        result = wetdbg_find_instance(session->wet, pcs, pc_count,
                                      is_backwards ? -(int64_t)number : (int64_t)number, time);
        if (result == -WETDBG_ERR_NOT_FOUND &&
            wetdbg_count_instances(session->wet, pcs, pc_count, &count) == 0)
            fail_instance(result, where, hash, count);
        free(pcs);
    }
    free(where);
    return result;
}

/* output:...: when the program put the (last) byte there, or else when it was written. */
static int parse_output(struct cli_session *session, const char *text, wetdbg_time *time)
{
    struct wetdbg_criterion *criterion;
    int err = wetdbg_criterion_parse(session->wet, text, NULL, &criterion);
    if (err)
        return err;
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
    *time = info->born.time ? info->born.time : info->time;
    wetdbg_criterion_free(criterion);
    return 0;
}

static int fail_time(const char *text)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is no time: a number, start, end, crash, now, output:OFFSET, "
                       "FILE:LINE#K, FUNCTION#K or a bookmark",
                       text);
}

static bool is_function(struct cli_session *session, const char *text)
{
    uint64_t *pcs;
    size_t count;
    bool is_there = function_pcs(session->model, text, &pcs, &count) == 0;
    if (is_there)
        free(pcs);
    return is_there;
}

/* Parses the name of a bookmark or a function. A word that is none is more likely a misspelt time,
 * unless it nearly is a bookmark. */
static int parse_name(struct cli_session *session, const char *text, wetdbg_time *time)
{
    int result = cli_bookmarks_find(session->bookmarks, text, time);
    if (result != -WETDBG_ERR_NOT_FOUND)
        return result;
    if (is_function(session, text))
        return parse_instance(session, text, time);
    if (!cli_bookmarks_nearest(session->bookmarks, text))
        return fail_time(text);
    return cli_bookmarks_find(session->bookmarks, text, time);
}

/* Whether a text can only be a place in the code. */
static bool is_place(struct cli_session *session, const char *text)
{
    uint64_t address;
    return *text == '*' || strchr(text, ':') || (strchr(text, '#') && *text != '#') ||
           cli_address_parse(session->model, text, &address);
}

int cli_time_parse(struct cli_session *session, const char *text, wetdbg_time *time)
{
    if (strcmp(text, "start") == 0)
        *time = session->info->first_time;
    else if (strcmp(text, "end") == 0)
        *time = session->info->last_time + 1;
    else if (strcmp(text, "crash") == 0)
        return cli_session_crash_time(session, time);
    else if (strcmp(text, "now") == 0)
        *time = session->time;
    else if (strncmp(text, "output:", 7) == 0)
        return parse_output(session, text, time);
    else if (is_place(session, text))
        return parse_instance(session, text, time);
    else if (cli_number_parse(text, time))
        return 0;
    else if (cli_bookmark_is_name(text))
        return parse_name(session, text, time);
    else
        return fail_time(text);
    return 0;
}
