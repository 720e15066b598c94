/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the program was given: bytes that it read, arguments, environment. The criterion's places
 * are where these bytes lay in memory just after the call that delivered them, or when the program
 * began; a byte that was read several times has several.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include "slicer/criteria/criterion.h"
#include <wetdbg/errors.h>

#define STRING_MAX     131072 /* of one argument or variable, as Linux has it */
#define NAME_MAX_BYTES 256    /* of a variable that can be named here */

/* ---- what was read ---- */

/* Part of what one call delivered. */
struct delivery {
    uint32_t call;
    uint64_t offset, size; /* in what it delivered */
    uint64_t ended;        /* the recording's event of its end */
    wetdbg_time time;      /* ... and the time of the instruction before that */
};

struct input {
    struct wetdbg_criterion *criterion;
    struct slc_channels *channels;
    int fd;
    const char *path; /* or NULL: of the descriptor */
    struct slc_piece piece;
    struct delivery *deliveries;
    size_t count, capacity;
    uint64_t read; /* bytes that were delivered: up to this position */
    uint32_t file; /* that the descriptor stood for; SLC_NO_FILE: none yet */
};

static bool is_asked(const struct input *input, const struct slc_transfer *transfer)
{
    if ((transfer->kind != SLC_TRANSFER_READ && transfer->kind != SLC_TRANSFER_MAP) ||
        transfer->size == 0)
        return false;
    if (!input->path)
        return transfer->fd == input->fd;
    const char *name = slc_files_plain(slc_channels_files(input->channels), transfer->file);
    return name && slc_path_is(name, input->path);
}

static int check_file(struct input *input, const struct slc_transfer *transfer)
{
    struct slc_files *files = slc_channels_files(input->channels);

    if (input->path || transfer->offset == SLC_OFFSET_UNKNOWN || transfer->file == input->file)
        return 0;
    if (input->file == SLC_NO_FILE) {
        input->file = transfer->file;
        return 0;
    }
    const char *one = slc_files_name(files, input->file),
               *other = slc_files_name(files, transfer->file);
    if (one && other && slc_path_is(one, other))
        return 0;
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "descriptor %d stood for several files (%s and %s): use input:PATH:OFFSET",
                       input->fd, one ? one : "?", other ? other : "?");
}

static int choose(struct input *input)
{
    const struct slc_transfer *transfer;
    int err = 0;

    for (uint32_t i = 0; !err && (transfer = slc_channels_call(input->channels, i)); i++) {
        if (!is_asked(input, transfer))
            continue;
        err = check_file(input, transfer);
        uint64_t start = transfer->offset == SLC_OFFSET_UNKNOWN ? input->read : transfer->offset;
        uint64_t end = start + transfer->size, from = input->piece.offset,
                 to = input->piece.offset + input->piece.size;
        if (end > input->read && !transfer->is_peek)
            input->read = end;
        if (from < start)
            from = start;
        if (to > end)
            to = end;
        if (err || from >= to)
            continue;
        if (wd_grow(input->deliveries, input->capacity, input->count + 1))
            return -ENOMEM;
        input->deliveries[input->count++] =
            (struct delivery){i, from - start, to - from, transfer->ended, 0};
    }
    return err;
}

/* Notes when what was delivered was there. */
static int note_end(void *arg, const struct wet_event *event)
{
    struct input *input = arg;

    for (size_t i = 0; i < input->count; i++)
        if (input->deliveries[i].ended == event->entry->frame)
            input->deliveries[i].time = event->time;
    return 0;
}

static int add_delivery(struct input *input, const struct delivery *delivery)
{
    const struct slc_transfer *transfer = slc_channels_call(input->channels, delivery->call);
    struct wetdbg_criterion *criterion = input->criterion;
    wetdbg_time time = (delivery->time ? delivery->time : transfer->time) + 1;
    uint64_t off = delivery->offset, left = delivery->size;
    struct slc_buffers buffers;
    int err = slc_channels_buffers(input->channels, delivery->call, &buffers);
    struct slc_seed *seed = err ? NULL : slc_criterion_add(criterion, time, 0);

    if (!seed)
        return err ? err : -ENOMEM;
    seed->maker = transfer->time;
    seed->is_fault = time > wetdbg_get_info(criterion->wet)->last_time;
    for (size_t i = 0; i < buffers.count && left && !err; i++) {
        uint64_t size = buffers.spans[i].size > off ? buffers.spans[i].size - off : 0;
        if (size > left)
            size = left;
        if (size)
            err = slc_seed_add_place(seed, buffers.spans[i].address + off, size, WETDBG_EDGE_VALUE);
        off -= off < buffers.spans[i].size ? off : buffers.spans[i].size;
        left -= size;
    }
    return err;
}

static int nothing_read(const struct input *input)
{
    char from[32];

    snprintf(from, sizeof(from), "descriptor %d", input->fd);
    if (!input->read)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program read nothing from %s",
                           input->path ? input->path : from);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "the program did not read byte %llu of %s: it read bytes up to %llu",
                       (unsigned long long)input->piece.offset, input->path ? input->path : from,
                       (unsigned long long)(input->read - 1));
}

static int add_deliveries(struct input *input)
{
    struct wetdbg_criterion *criterion = input->criterion;
    uint32_t task;
    int err = choose(input);

    if (!err && input->count == 0)
        err = nothing_read(input);
    if (!err)
        err = wet_each_entry(criterion->wet, note_end, input);
    for (size_t i = 0; i < input->count && !err; i++)
        err = add_delivery(input, &input->deliveries[i]);
    for (size_t i = 0; i < criterion->seed_count && !err; i++)
        err =
            slc_state_at(criterion->wet, criterion->seeds[i].time, &criterion->seeds[i].pc, &task);
    return err;
}

/* :OFFSET, :FD:OFFSET or :PATH:OFFSET; *path is to be freed. */
static bool parse_input(const char *text, struct input *input, char **path)
{
    const char *colon = strrchr(text, ':');
    uint64_t fd = 0;

    *path = NULL;
    if (*text != ':' || !slc_parse_piece(colon + 1, &input->piece))
        return false;
    if (colon == text)
        return true;
    const char *at = text + 1;
    if (slc_parse_number(&at, &fd) && at == colon && fd <= INT32_MAX) {
        input->fd = (int)fd;
        return true;
    }
    *path = strndup(text + 1, (size_t)(colon - text - 1));
    return colon > text + 1;
}

/* "input from in.txt, byte 0 and following, which was read 2 times", and where it ended if that is
 * within the piece. */
static void describe(const struct input *input)
{
    struct wetdbg_criterion *criterion = input->criterion;
    const struct slc_piece *piece = &input->piece;
    size_t size = sizeof(criterion->description);
    char from[32];

    snprintf(from, sizeof(from), "descriptor %d", input->fd);
    int length = snprintf(
        criterion->description, size, "input from %s, byte %llu%s, which was read %zu time%s",
        input->path ? input->path : from, (unsigned long long)piece->offset,
        piece->size > 1 ? " and following" : "", input->count, input->count == 1 ? "" : "s");
    if (input->read > piece->offset && input->read - piece->offset < piece->size && length > 0 &&
        (size_t)length < size)
        snprintf(criterion->description + length, size - (size_t)length,
                 " (of the %llu bytes asked for the program read the first %llu)",
                 (unsigned long long)piece->size,
                 (unsigned long long)(input->read - piece->offset));
}

int slc_parse_input(struct wetdbg_criterion *criterion, const char *rest)
{
    struct input input = {.criterion = criterion, .file = SLC_NO_FILE};
    char *path;

    if (!parse_input(rest, &input, &path)) {
        free(path);
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'%s' is no place in the input: use input:OFFSET, input:OFFSET+LENGTH, "
                           "input:DESCRIPTOR:OFFSET or input:PATH:OFFSET",
                           criterion->text);
    }
    input.path = path;
    int err = slc_criterion_channels(criterion, &input.channels);
    if (!err)
        err = add_deliveries(&input);
    slc_criterion_give_channels(criterion, input.channels);
    free(input.deliveries);
    describe(&input);
    free(path);
    return err;
}

/* ---- arguments and environment ---- */

/* The stack as the program found it: how many arguments, their addresses, 0, those of variables,
 * 0. */
static int open_start(struct wetdbg *wet, struct wetdbg_state **state, uint64_t *stack)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);

    if (info->first_time > 1)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "what the program was started with is outside the window, which begins "
                           "at time %llu",
                           (unsigned long long)info->first_time);
    int err = wetdbg_state_open(wet, 1, state);
    if (!err)
        *stack = wet_state_regs(*state)->r[EVQ_RSP];
    return err;
}

static int no_start(void)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the run does not begin with a program's start");
}

static bool read_word(struct wetdbg_state *state, uint64_t address, uint64_t *word)
{
    return wetdbg_state_read(state, address, word, sizeof(*word)) == 0;
}

static uint64_t string_length(struct wetdbg_state *state, uint64_t address)
{
    uint64_t length = 0;
    char byte;

    while (length < STRING_MAX && wetdbg_state_read(state, address + length, &byte, 1) == 0 && byte)
        length++;
    return length;
}

/* Adds a piece of a string that was there at the start; of an empty one its end. */
static int add_string(struct wetdbg_criterion *criterion, struct wetdbg_state *state,
                      uint64_t address, const struct slc_piece *piece, const char *what)
{
    uint64_t length = string_length(state, address);
    uint64_t size = piece->has_size ? piece->size : length - piece->offset;

    if (piece->offset > length || piece->offset + size > length)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s has %llu byte%s", what,
                           (unsigned long long)length, length == 1 ? "" : "s");
    struct slc_seed *seed = slc_criterion_add(criterion, 1, wet_state_regs(state)->r[EVQ_RIP]);
    if (!seed)
        return -ENOMEM;
    seed->task = wetdbg_state_task(state);
    return slc_seed_add_place(seed, address + piece->offset, size ? size : 1, WETDBG_EDGE_VALUE);
}

/* The colon before OFFSET[+LEN], or NULL: all of the string. */
static const char *find_piece(const char *text, struct slc_piece *piece)
{
    const char *colon = strrchr(text, ':');

    *piece = (struct slc_piece){0};
    if (!colon || !slc_parse_piece(colon + 1, piece))
        return NULL;
    if (!piece->has_size)
        piece->has_size = true, piece->size = 1;
    return colon;
}

int slc_parse_argument(struct wetdbg_criterion *criterion, const char *rest)
{
    struct wetdbg_state *state;
    struct slc_piece piece;
    uint64_t number, stack, count, address;
    const char *at = rest + 1, *colon = find_piece(at, &piece);
    char what[40];

    if (!slc_parse_number(&at, &number) || (*at && at != colon))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "'%s' is no argument: use argv:N, argv:N:OFFSET or argv:N:OFFSET+LENGTH",
                           criterion->text);
    int err = open_start(criterion->wet, &state, &stack);
    if (err)
        return err;
    snprintf(what, sizeof(what), "argv[%llu]", (unsigned long long)number);
    snprintf(criterion->description, sizeof(criterion->description), "%s, as the program got it",
             what);
    if (!read_word(state, stack, &count))
        err = no_start();
    else if (number >= count || !read_word(state, stack + 8 + 8 * number, &address))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no %s: argv has %llu element%s", what,
                          (unsigned long long)count, count == 1 ? "" : "s");
    else
        err = add_string(criterion, state, address, &piece, what);
    wetdbg_state_close(state);
    return err;
}

/* Whether "NAME=" is at an address. */
static bool has_name(struct wetdbg_state *state, uint64_t address, const char *name, size_t length)
{
    char byte;

    for (size_t i = 0; i <= length; i++)
        if (wetdbg_state_read(state, address + i, &byte, 1) ||
            byte != (i == length ? '=' : name[i]))
            return false;
    return true;
}

/* Reads the name of the variable at an address; false if it has none that fits. */
static bool read_name(struct wetdbg_state *state, uint64_t address, char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (wetdbg_state_read(state, address + i, &name[i], 1) || !name[i])
            return false;
        if (name[i] == '=') {
            name[i] = 0;
            return i > 0;
        }
    }
    return false;
}

int wetdbg_environment_each(struct wetdbg *wet, int (*on_name)(void *arg, const char *name),
                            void *arg)
{
    struct wetdbg_state *state;
    uint64_t stack, count, address;
    char name[NAME_MAX_BYTES + 1];

    int err = open_start(wet, &state, &stack);
    if (err)
        return err;
    if (!read_word(state, stack, &count))
        err = no_start();
    for (uint64_t at = stack + 8 + 8 * (count + 1);
         !err && read_word(state, at, &address) && address; at += 8)
        if (read_name(state, address, name, sizeof(name)))
            err = on_name(arg, name);
    wetdbg_state_close(state);
    return err;
}

int slc_parse_environment(struct wetdbg_criterion *criterion, const char *rest)
{
    struct wetdbg_state *state;
    struct slc_piece piece;
    uint64_t stack, count, address = 0;
    const char *name = rest + 1, *colon = find_piece(name, &piece);
    size_t length = colon ? (size_t)(colon - name) : strlen(name);

    if (length == 0 || length > NAME_MAX_BYTES)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' names no variable: use env:NAME",
                           criterion->text);
    int err = open_start(criterion->wet, &state, &stack);
    if (err)
        return err;
    snprintf(criterion->description, sizeof(criterion->description),
             "the environment's %.*s, as the program got it", (int)length, name);
    bool is_start = read_word(state, stack, &count);
    for (uint64_t at = stack + 8 + 8 * (count + 1); is_start; at += 8)
        if (!read_word(state, at, &address) || !address || has_name(state, address, name, length))
            break;
    if (!is_start || !address)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the program was given no variable %.*s",
                          (int)length, name);
    else
        err = add_string(criterion, state, address + length + 1, &piece, name);
    wetdbg_state_close(state);
    return err;
}
