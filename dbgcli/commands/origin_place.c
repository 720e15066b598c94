/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/origin_place.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

/* ---- a variable in a frame ---- */

struct wish {
    struct cli_session *session;
    struct cli_moment *moment;
    size_t frame;
    const char *text; /* without @TIME */
};

/* Finds when a frame's function made the call that it waits for: until it returns, its own
 * registers are what they were then. The call wrote the return address below what is rsp after
 * it. */
static int find_call(const struct wish *wish, wetdbg_time *time)
{
    const struct cli_frame *frame = &wish->moment->frames[wish->frame];
    struct wetdbg_criterion *criterion;
    struct wetdbg_origin *origin;
    struct wetdbg_place slot = {.kind = WETDBG_PLACE_MEMORY,
                                .address = frame->regs.value[WETDBG_REG_RSP] - 8,
                                .size_bytes = 8};
    int err = wetdbg_criterion_of_variable(wish->session->wet, wish->moment->time, "caller", &slot,
                                           8, &criterion);
    if (err)
        return err;
    err = wetdbg_origin(wish->session->wet, criterion, NULL, &origin);
    wetdbg_criterion_free(criterion);
    if (err)
        return err;
    bool is_call = origin->hop_count == 1 && strncmp(origin->hops[0].text, "call", 4) == 0;
    if (is_call)
        *time = origin->hops[0].time;
    wetdbg_origin_free(origin);
    if (!is_call)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "'%s' is in a register, and when its frame made its call is not known",
                           wish->text);
    return 0;
}

/* Locates a variable. -WETDBG_ERR_NOT_FOUND without a message if it is no variable's name. */
static int locate_variable(const struct wish *wish, struct wetdbg_place *where, uint64_t *bytes)
{
    const struct cli_frame *frame = &wish->moment->frames[wish->frame];
    struct cli_frame_view view = {wish->moment, wish->frame};
    struct wetdbg_machine machine = cli_frame_machine(&view);
    struct wetdbg_model *model = wish->session->model;
    struct wetdbg_variable variable;
    int err = wetdbg_variable_find_at(model, frame->lookup_pc, frame->depth, wish->text, &variable);
    if (!err)
        err = wetdbg_variable_locate(model, &variable, frame->lookup_pc, &machine, where);
    if (!err)
        *bytes = variable.type.size_bytes;
    return err;
}

/* Locates members, elements, what pointers lead to: only if they are in memory. */
static int locate_expression(const struct wish *wish, struct wetdbg_place *where)
{
    struct cli_frame_view view = {wish->moment, wish->frame};
    struct cli_value value;
    int err = cli_value_evaluate(&view, wish->text, &value);
    if (err)
        return err;
    if (!value.is_in_memory)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "'%s' has no place in memory", wish->text);
    *where = (struct wetdbg_place){.kind = WETDBG_PLACE_MEMORY,
                                   .address = value.address,
                                   .size_bytes = value.type.size_bytes ? value.type.size_bytes : 1};
    return 0;
}

static int criterion_of_wish(const struct wish *wish, struct wetdbg_criterion **out)
{
    const struct cli_frame *frame = &wish->moment->frames[wish->frame];
    wetdbg_time time = wish->moment->time;
    struct wetdbg_place where;
    uint64_t bytes = 0;
    int result = locate_variable(wish, &where, &bytes);
    if (result == -WETDBG_ERR_NOT_FOUND)
        result = locate_expression(wish, &where);
    if (!result && where.kind == WETDBG_PLACE_REGISTER && !frame->is_top)
        result = find_call(wish, &time);
    if (!result)
        result =
            wetdbg_criterion_of_variable(wish->session->wet, time, wish->text, &where, bytes, out);
    return result;
}

/* The frame that is meant: at another time the innermost frame of the selected function, else the
 * first with source. */
static size_t frame_at(const struct cli_session *session, const struct cli_moment *moment)
{
    const char *function = NULL;
    if (session->moment)
        function = session->moment->frames[session->frame].function;
    for (size_t i = 0; function && i < moment->frame_count; i++)
        if (moment->frames[i].function && strcmp(moment->frames[i].function, function) == 0 &&
            moment->frames[i].file)
            return i;
    return cli_moment_first_frame(moment);
}

static int variable_criterion(struct cli_session *session, const char *text,
                              struct wetdbg_criterion **out)
{
    char *name = cli_strdup(text), *at = strrchr(name, '@');
    struct wish wish = {.session = session, .text = name};
    wetdbg_time time = session->time;
    int err = 0;
    if (at) {
        *at = 0;
        err = cli_time_parse(session, at + 1, &time);
    }
    if (!err && time == session->time) {
        err = cli_session_moment(session, &wish.moment);
        wish.frame = session->frame;
        if (!err)
            err = criterion_of_wish(&wish, out);
    } else if (!err) {
        err = cli_moment_open(session->wet, time, &wish.moment);
        if (!err) {
            cli_session_lend(session, wish.moment);
            wish.frame = frame_at(session, wish.moment);
            err = criterion_of_wish(&wish, out);
            cli_moment_close(wish.moment);
        }
    }
    free(name);
    return err;
}

/* Whether wetdbg_criterion_parse() takes the text, but for functions: their names are variables
 * here. */
static bool is_criterion(const char *text)
{
    static const char *const starts[] = {"output:", "input:", "argv:", "env:"};
    if (strcmp(text, "crash") == 0 || strcmp(text, "exit") == 0)
        return true;
    for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
        if (strncmp(text, starts[i], strlen(starts[i])) == 0)
            return true;
    if (*text == '$' || (*text == '*' && isdigit((unsigned char)text[1])))
        return true;
    const char *stop = strchr(text, '@');
    for (const char *colon = strchr(text, ':'); colon && (!stop || colon < stop);
         colon = strchr(colon + 1, ':'))
        if (isdigit((unsigned char)colon[1]) && colon > text)
            return true;
    return false;
}

int cli_origin_criterion(struct cli_session *session, const char *text,
                         struct wetdbg_criterion **out)
{
    if (is_criterion(text))
        return cli_criterion_parse(session, text, true, out);
    return variable_criterion(session, text, out);
}

int cli_slice_criterion(struct cli_session *session, const char *text, bool from_write,
                        struct wetdbg_criterion **out)
{
    bool is_other = is_criterion(text);
    int result = -WETDBG_ERR_USAGE;
    if (is_other || !strchr(text, '@'))
        result = cli_criterion_parse(session, text, from_write, out);
    if (result != -WETDBG_ERR_USAGE || is_other)
        return result;
    result = variable_criterion(session, text, out);
    if (result == -WETDBG_ERR_NOT_FOUND || result == -WETDBG_ERR_USAGE) {
        char *message = cli_strdup(wetdbg_error(result));
        wetdbg_fail(result, "%s; 'help slice' says what else can be asked for", message);
        free(message);
    }
    return result;
}

int cli_slice_times(struct cli_session *session, const char *text, wetdbg_time **times,
                    size_t *count)
{
    struct wetdbg_criterion *criterion;
    int err = cli_slice_criterion(session, text, false, &criterion);
    if (err)
        return err;
    err = wetdbg_criterion_times(criterion, times, count);
    wetdbg_criterion_free(criterion);
    return err;
}

/* ---- places in words ---- */

char *cli_spot_text(struct cli_session *session, const struct wetdbg_spot *spot)
{
    char *text = NULL, name[32] = "";
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        cli_die();
    if (spot->kind == WETDBG_SPOT_MEMORY)
        cli_address_print(to, session->model, spot->address);
    else
        wetdbg_spot_name(spot, name, sizeof(name));
    fputs(name, to);
    fclose(to);
    if (!text)
        cli_die();
    return text;
}

/* ---- what was there at the start ---- */

#define STRINGS_MAX 65536

static bool read_word(struct wetdbg_state *state, uint64_t address, uint64_t *word)
{
    return wetdbg_state_read(state, address, word, sizeof(*word)) == 0;
}

/* Whether the string at `start` holds `address`: its bytes up to its zero are read, or up to
 * `address` if that comes first. */
static bool holds(struct wetdbg_state *state, uint64_t start, uint64_t address)
{
    char byte;
    if (address < start || address - start > STRINGS_MAX)
        return false;
    for (uint64_t at = start; at < address; at++)
        if (wetdbg_state_read(state, at, &byte, 1) != 0 || byte == 0)
            return false;
    return true;
}

static char *environment_text(struct wetdbg_state *state, uint64_t start)
{
    char name[64] = "";
    for (size_t i = 0; i + 1 < sizeof(name); i++)
        if (wetdbg_state_read(state, start + i, &name[i], 1) != 0 || !name[i] || name[i] == '=') {
            name[i] = 0;
            break;
        }
    return cli_asprintf("the environment's %s", name);
}

/* What a byte of the first stack is, in words: argc, argv, NULL, environment, NULL lie there. */
static char *argument_text(struct wetdbg_state *state, uint64_t address)
{
    uint64_t at = wetdbg_state_registers(state)->rsp, count, start;
    if (!read_word(state, at, &count) || count > STRINGS_MAX)
        return NULL;
    if (address - at < 8)
        return cli_strdup("the number of arguments, argc");
    for (uint64_t i = 0; i < count; i++)
        if (read_word(state, at + 8 + 8 * i, &start) && holds(state, start, address))
            return cli_asprintf("argv[%" PRIu64 "], from its byte %" PRIu64 " on", i,
                                address - start);
    for (uint64_t i = 0; i < STRINGS_MAX; i++) {
        if (!read_word(state, at + 16 + 8 * (count + i), &start) || !start)
            return NULL;
        if (holds(state, start, address))
            return environment_text(state, start);
    }
    return NULL;
}

static char *mapping_text(struct cli_session *session, struct wetdbg_state *state, uint64_t address)
{
    const struct wetdbg_mapping *list;
    struct wetdbg_symbol symbol;
    size_t count;
    if (wetdbg_state_mappings(state, &list, &count) != 0)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const char *name = list[i].name;
        if (address < list[i].start || address >= list[i].end)
            continue;
        if (wetdbg_symbol_at(session->model, address, &symbol) == 0)
            return cli_asprintf("data of %s that nothing wrote (%s+%" PRIu64 ")",
                                *name ? cli_base_name(name) : "the program", symbol.name,
                                address - symbol.start);
        if (strcmp(name, "[stack]") == 0)
            return cli_strdup("what the kernel put onto the stack at the start");
        return cli_asprintf("data of %s that nothing wrote",
                            *name ? cli_base_name(name) : "the program");
    }
    return NULL;
}

char *cli_initial_text(struct cli_session *session, const struct wetdbg_spot *spot)
{
    struct wetdbg_state *state;
    char *text = NULL;
    if (session->info->is_window)
        return cli_strdup("what was there when the window began; where it came from is not in it");
    if (spot->kind != WETDBG_SPOT_MEMORY) {
        char *name = cli_spot_text(session, spot);
        text = cli_asprintf("what %s held when the run began", name);
        free(name);
        return text;
    }
    if (wetdbg_state_open(session->wet, 1, &state) == 0) {
        text = argument_text(state, spot->address);
        if (!text)
            text = mapping_text(session, state, spot->address);
        wetdbg_state_close(state);
    }
    return text ? text : cli_strdup("memory that nothing in the run wrote");
}
