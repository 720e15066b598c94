/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sections that are there once: each by itself, then against those that were sound before
 * it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/page.h"
#include "recorder/agent/agent.h"
#include "recorder/rr_trace/input_format.h"
#include "recorder/rr_trace/trace_surroundings.h"
#include "wet/trace/rules.h"
#include "wet/verify/verify_priv.h"
#include <wetdbg/errors.h>

#define OUTPUT_FDS  65536u
#define CPUID_MAX   512u
#define SPACE_BYTES (1ull << 43)
#define DIGITS      16

static bool say(struct wet_verifier *verifier, uint32_t kind, uint64_t off, const char *what)
{
    return wet_verifier_say(verifier, kind, 0, off, "%s", what);
}

/* Reads a table of records. */
static bool table(struct wet_verifier *verifier, uint32_t kind, size_t record_bytes,
                  struct wd_buf *out, size_t *count)
{
    if (!wet_verifier_read(verifier, kind, 0, out)) {
        out->size_bytes = 0;
        return false;
    }
    *count = out->size_bytes / record_bytes;
    if (out->size_bytes % record_bytes) {
        say(verifier, kind, *count * record_bytes, "the last record is cut off");
        out->size_bytes = 0;
        return false;
    }
    return true;
}

/* ---- META ---- */

static bool is_text(const json_t *value)
{
    const char *hex = json_string_value(json_object_get(value, "hex"));
    return hex ? strlen(hex) % 2 == 0 && strspn(hex, "0123456789abcdef") == strlen(hex)
               : json_is_string(value);
}

static bool is_stream(const json_t *value)
{
    bool is_sound = json_array_size(value) == RRT_INHERITED_FIELDS;
    for (size_t i = 0; i < RRT_INHERITED_FIELDS && is_sound; i++)
        is_sound = json_is_integer(json_array_get(value, i));
    return is_sound || json_is_null(value);
}

static bool streams_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_META;
    const json_t *streams = json_object_get(verifier->meta, "streams");
    if (streams && json_array_size(streams) != RRT_INHERITED)
        return say(verifier, kind, 0, "'streams' is no list of three");
    for (size_t fd = 0; fd < json_array_size(streams); fd++)
        if (!is_stream(json_array_get(streams, fd)))
            return wet_verifier_say(verifier, kind, 0, 0,
                                    "'streams' has for descriptor %zu something else than %d "
                                    "numbers or null",
                                    fd, RRT_INHERITED_FIELDS);
    return true;
}

static bool is_fingerprint(const json_t *value)
{
    const char *text = json_string_value(value);
    /* whoever builds with the library may give another one */
    return text && (strspn(text, "0123456789abcdef") != DIGITS || text[DIGITS] == ' ');
}

static bool meta_check(struct wet_verifier *verifier)
{
    static const char *const numbers[] = {"pid",
                                          "wait_status",
                                          "signal",
                                          "signal_code",
                                          "signal_address",
                                          "signal_time",
                                          "first_time",
                                          "has_end",
                                          "instructions",
                                          "nodes",
                                          "node_executions",
                                          "loads",
                                          "stores",
                                          "syscalls",
                                          "events",
                                          "places",
                                          "xcr0"};
    const uint32_t kind = WET_SEC_META;
    struct wd_buf bytes = {0};
    json_error_t error = {.position = 0};
    if (wet_verifier_read(verifier, kind, 0, &bytes))
        verifier->meta =
            json_loadb((const char *)bytes.data, bytes.size_bytes, JSON_ALLOW_NUL, &error);
    bool is_read = bytes.size_bytes > 0;
    wd_buf_fini(&bytes);
    if (!json_is_object(verifier->meta))
        return is_read ? say(verifier, kind, (uint64_t)error.position, "no JSON object") : false;
    const json_t *argv = json_object_get(verifier->meta, "argv");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (!json_is_integer(json_object_get(verifier->meta, numbers[i])))
            return wet_verifier_say(verifier, kind, 0, 0, "there is no number '%s'", numbers[i]);
    }
    if (!is_text(json_object_get(verifier->meta, "program")) || !json_is_array(argv))
        return say(verifier, kind, 0, "'program' is no text or 'argv' no array");
    for (size_t i = 0; i < json_array_size(argv); i++) {
        if (!is_text(json_array_get(argv, i)))
            return wet_verifier_say(verifier, kind, 0, 0, "argv[%zu] is no text", i);
    }
    if (json_object_get(verifier->meta, "recorded_in") &&
        !is_text(json_object_get(verifier->meta, "recorded_in")))
        return say(verifier, kind, 0, "'recorded_in' is no text");
    if (!streams_check(verifier))
        return false;
    if (!is_fingerprint(json_object_get(verifier->meta, "fingerprint")))
        return say(verifier, kind, 0, "'fingerprint' is not 16 digits and a blank");
    verifier->first_time = wet_verifier_meta(verifier, "first_time");
    uint64_t instructions = wet_verifier_meta(verifier, "instructions");
    if (!verifier->first_time || verifier->first_time > INT64_MAX ||
        instructions > INT64_MAX - verifier->first_time)
        return say(verifier, kind, 0, "'first_time' or 'instructions' are no times of a run");
    verifier->last_time = verifier->first_time - 1 + instructions;
    verifier->is_window = verifier->first_time > 1 || !wet_verifier_meta(verifier, "has_end");
    if (wet_verifier_meta(verifier, "signal_time") > verifier->last_time + 1)
        return say(verifier, kind, 0, "'signal_time' is after the run's end");
    return true;
}

/* ---- the machine ---- */

static bool cpu_check(struct wet_verifier *verifier)
{
    struct wd_buf bytes = {0};
    size_t count = 0;
    bool is_read = table(verifier, WET_SEC_CPU, sizeof(struct agt_cpuid), &bytes, &count);
    wd_buf_fini(&bytes);
    return is_read && count > CPUID_MAX
               ? say(verifier, WET_SEC_CPU, CPUID_MAX * sizeof(struct agt_cpuid),
                     "more than 512 records")
               : is_read;
}

static bool spans_check(struct wet_verifier *verifier)
{
    size_t count;
    if (!table(verifier, WET_SEC_SPANS, sizeof(struct rep_span), &verifier->spans, &count))
        return false;
    const struct rep_span *spans = wet_verifier_spans(verifier, &count);
    for (size_t i = 0; i < count; i++) {
        if (!wet_rule_span(&spans[i], i ? spans[i - 1].end : 0))
            return say(verifier, WET_SEC_SPANS, i * sizeof(*spans),
                       "a span that is empty, not of whole pages, out of order or too high");
    }
    return true;
}

static bool names_check(struct wet_verifier *verifier)
{
    struct wd_buf bytes = {0};
    bool is_read = wet_verifier_read(verifier, WET_SEC_NAMES, 0, &bytes);
    if (is_read && bytes.size_bytes && bytes.data[bytes.size_bytes - 1])
        is_read = say(verifier, WET_SEC_NAMES, bytes.size_bytes, "the last name does not end");
    for (size_t at = 0; is_read && at < bytes.size_bytes;
         at += strlen((const char *)bytes.data + at) + 1)
        verifier->name_count++;
    wd_buf_fini(&bytes);
    return is_read;
}

/* ---- NODES ---- */

static bool is_padding(const uint8_t *bytes, size_t count)
{
    uint8_t all = 0;
    for (size_t i = 0; bytes && i < count; i++)
        all |= bytes[i];
    return bytes && !all;
}

static bool node_check(struct wet_verifier *verifier, struct wd_view *view)
{
    uint64_t at = view->at;
    const struct wet_node_record *node = (const void *)wd_view_bytes(view, sizeof(*node));
    const uint8_t *code = node ? wd_view_bytes(view, node->code_bytes) : NULL;
    size_t rest = -view->at & 7;
    const uint8_t *padding = wd_view_bytes(view, rest);
    if (!code || view->failed)
        return say(verifier, WET_SEC_NODES, at, "a node is cut off");
    if (!is_padding(padding, rest))
        return say(verifier, WET_SEC_NODES, at, "what follows a node's code is not zero");
    if (!wet_rule_node(node))
        return say(verifier, WET_SEC_NODES, at,
                   "a node's id, statements or code are out of bounds");
    if (verifier->nodes[node->id].statements)
        return wet_verifier_say(verifier, WET_SEC_NODES, 0, at, "node %u is there twice", node->id);
    if (!node->executions)
        return wet_verifier_say(verifier, WET_SEC_NODES, 0, at, "node %u never ran", node->id);
    verifier->nodes[node->id].statements = node->statements;
    verifier->nodes[node->id].executions = node->executions;
    return true;
}

static bool nodes_check(struct wet_verifier *verifier)
{
    struct wd_buf bytes = {0};
    bool is_sound = wet_verifier_read(verifier, WET_SEC_NODES, 0, &bytes);
    struct wd_view view = wd_view_of(bytes.data, is_sound ? bytes.size_bytes : 0);
    uint64_t count = 0, executions = 0;
    for (; is_sound && view.at < view.size_bytes; count++)
        is_sound = node_check(verifier, &view);
    wd_buf_fini(&bytes);
    for (uint32_t id = 0; is_sound && id < AGT_COUNT_MAX; id++)
        executions += verifier->nodes[id].executions;
    if (!is_sound || !wet_verifier_trusts(verifier, WET_SEC_META))
        return is_sound;
    if (count != wet_verifier_meta(verifier, "nodes"))
        return wet_verifier_say(verifier, WET_SEC_NODES, 0, 0, "%llu nodes, META has %llu",
                                (unsigned long long)count,
                                (unsigned long long)wet_verifier_meta(verifier, "nodes"));
    if (executions != wet_verifier_meta(verifier, "node_executions"))
        return wet_verifier_say(verifier, WET_SEC_NODES, 0, 0,
                                "they were executed %llu times, META has %llu",
                                (unsigned long long)executions,
                                (unsigned long long)wet_verifier_meta(verifier, "node_executions"));
    return true;
}

/* ---- OBJECTS ---- */

static bool objects_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_OBJECTS;
    size_t count, span_count;
    if (!table(verifier, kind, sizeof(struct wet_object), &verifier->objects, &count))
        return false;
    const struct rep_span *spans = wet_verifier_spans(verifier, &span_count);
    const struct wet_object *objects = (const void *)verifier->objects.data;
    uint64_t files =
        wet_verifier_trusts(verifier, WET_SEC_FILES) ? verifier->file_count : EVQ_FILE_NONE;
    uint64_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const struct wet_object *object = &objects[i];
        uint64_t at = i * sizeof(*object);
        if (!object->bytes || !wd_page_is_start(object->bytes) ||
            object->bytes > SPACE_BYTES - used)
            return say(verifier, kind, at, "an object is empty, not of whole pages or too large");
        if (object->mirror_off != used)
            return say(verifier, kind, at, "an object does not follow the one before in the image");
        if (!wet_rule_object(object, files))
            return say(verifier, kind, at,
                       "an object's address, protection or file are out of bounds");
        if (wet_verifier_trusts(verifier, WET_SEC_SPANS) &&
            !wet_rule_in_spans(spans, span_count, object->start, object->bytes))
            return say(verifier, kind, at, "an object lies outside SPANS");
        if (!wet_verifier_has_name(verifier, object->name))
            return say(verifier, kind, at, "an object's name is not in NAMES");
        used += object->bytes;
    }
    return true;
}

/* ---- INDEX ---- */

static bool index_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_INDEX;
    size_t count;
    uint64_t time = verifier->first_time, entries = 0;
    if (!table(verifier, kind, sizeof(struct wet_index_record), &verifier->index, &count))
        return false;
    const struct wet_index_record *index = (const void *)verifier->index.data;
    bool has_meta = wet_verifier_trusts(verifier, WET_SEC_META);
    if (!has_meta && count)
        time = index[0].first_time;
    for (size_t k = 0; k < count; k++) {
        if (!wet_rule_interval(&index[k], time))
            return wet_verifier_say(
                verifier, kind, 0, k * sizeof(*index),
                "interval %zu does not begin where the one before it ends, or is too long", k);
        if (k && index[k].first_entry != index[k - 1].first_entry + index[k - 1].entries)
            return wet_verifier_say(verifier, kind, 0, k * sizeof(*index) + 16,
                                    "entries of interval %zu do not follow those before", k);
        time += index[k].instructions;
        entries += index[k].entries;
    }
    if (!count)
        return say(verifier, kind, 0, "there is no interval");
    if (has_meta && time != verifier->last_time + 1)
        return say(verifier, kind, (count - 1) * sizeof(*index),
                   "the last interval does not end where the run does, as META has it");
    if (has_meta && !verifier->is_window && index[0].first_entry)
        return say(verifier, kind, 16, "the first interval's first entry is not number 0");
    if (has_meta && entries != wet_verifier_meta(verifier, "events"))
        return wet_verifier_say(verifier, kind, 0, 0, "%llu entries, META has %llu events",
                                (unsigned long long)entries,
                                (unsigned long long)wet_verifier_meta(verifier, "events"));
    return true;
}

/* ---- OUTPUTS ---- */

static bool outputs_walk(struct wet_verifier *verifier, uint64_t *written, size_t count)
{
    const struct wet_output_record *outputs = (const void *)verifier->outputs.data;
    bool has_meta = wet_verifier_trusts(verifier, WET_SEC_META);
    for (size_t i = 0; i < count; i++) {
        const struct wet_output_record *output = &outputs[i];
        uint64_t at = i * sizeof(*output);
        if (output->fd >= OUTPUT_FDS || !output->size || output->size > INT64_MAX)
            return say(verifier, WET_SEC_OUTPUTS, at, "a descriptor or size is out of bounds");
        if (has_meta && (output->time < verifier->first_time || output->time > verifier->last_time))
            return say(verifier, WET_SEC_OUTPUTS, at + 8, "a time is none of the run's");
        uint64_t *end = &written[output->fd];
        /* in a window the first one of each descriptor says what had been written before it */
        if (output->offset != *end - 1 && (*end || (output->offset && !verifier->is_window)))
            return wet_verifier_say(verifier, WET_SEC_OUTPUTS, 0, at + 16,
                                    "output to descriptor %llu does not follow what was before",
                                    (unsigned long long)output->fd);
        *end = output->offset + output->size + 1;
    }
    return true;
}

static bool outputs_check(struct wet_verifier *verifier)
{
    size_t count;
    if (!table(verifier, WET_SEC_OUTPUTS, sizeof(struct wet_output_record), &verifier->outputs,
               &count))
        return false;
    uint64_t *written = calloc(OUTPUT_FDS, sizeof(*written)); /* 1 + bytes; 0: none yet */
    if (!written) {
        verifier->err = -ENOMEM;
        return false;
    }
    bool is_sound = outputs_walk(verifier, written, count);
    free(written);
    return is_sound;
}

/* ---- THREADS, TURNS, AMBIGUOUS ---- */

static bool threads_check(struct wet_verifier *verifier)
{
    size_t count;
    if (!table(verifier, WET_SEC_THREADS, sizeof(struct wet_thread_record), &verifier->threads,
               &count))
        return false;
    const struct wet_thread_record *threads = (const void *)verifier->threads.data;
    uint64_t last = wet_verifier_trusts(verifier, WET_SEC_META) ? verifier->last_time : INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        if (!wet_rule_thread(&threads[i], i, last))
            return wet_verifier_say(verifier, WET_SEC_THREADS, 0, i * sizeof(*threads),
                                    "thread %zu's slot, parent, times or name are out of bounds",
                                    i);
        if (threads[i].flags & ~WET_THREAD_ENDED)
            return say(verifier, WET_SEC_THREADS, i * sizeof(*threads) + 12, "unknown flags");
    }
    return count ? true : say(verifier, WET_SEC_THREADS, 0, "there is no thread");
}

static bool turns_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_TURNS;
    size_t count, threads = verifier->threads.size_bytes / sizeof(struct wet_thread_record);
    if (!table(verifier, kind, sizeof(struct wet_turn_record), &verifier->turns, &count))
        return false;
    const struct wet_turn_record *turns = (const void *)verifier->turns.data;
    bool has_meta = wet_verifier_trusts(verifier, WET_SEC_META);
    for (size_t i = 0; i < count; i++) {
        uint64_t at = i * sizeof(*turns);
        if (i ? turns[i].first_time <= turns[i - 1].first_time
              : has_meta && turns[i].first_time != verifier->first_time)
            return say(verifier, kind, at, "a turn does not begin after the one before it");
        if (has_meta && turns[i].first_time > verifier->last_time)
            return say(verifier, kind, at, "a turn begins after the run's end");
        if (wet_verifier_trusts(verifier, WET_SEC_THREADS) && turns[i].thread >= threads)
            return say(verifier, kind, at + 8, "a turn of no thread");
        if (turns[i].zero)
            return say(verifier, kind, at + 12, "a word is not zero");
    }
    if (has_meta && !count && verifier->last_time >= verifier->first_time)
        return say(verifier, kind, 0, "there is no turn");
    return true;
}

static bool ambiguous_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_AMBIGUOUS;
    size_t count, threads = verifier->threads.size_bytes / sizeof(struct wet_thread_record);
    uint64_t last = 0;
    if (!table(verifier, kind, sizeof(struct wet_ambiguous_record), &verifier->ambiguous, &count))
        return false;
    const struct wet_ambiguous_record *events = (const void *)verifier->ambiguous.data;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = i * sizeof(*events);
        if (events[i].time < last ||
            (wet_verifier_trusts(verifier, WET_SEC_META) && events[i].time > verifier->last_time))
            return say(verifier, kind, at, "a time is out of order or of the run");
        if (wet_verifier_trusts(verifier, WET_SEC_THREADS) && events[i].thread >= threads)
            return say(verifier, kind, at + 16, "an event of no thread");
        last = events[i].time;
    }
    return true;
}

/* ---- JUMPS ---- */

static bool jumps_check(struct wet_verifier *verifier)
{
    struct wd_buf bytes = {0};
    size_t count = 0;
    bool is_sound = table(verifier, WET_SEC_JUMPS, sizeof(struct wet_jump_record), &bytes, &count);
    const struct wet_jump_record *jumps = (const void *)bytes.data;
    for (size_t i = 1; is_sound && i < count; i++)
        if (!wet_rule_jump(&jumps[i - 1], &jumps[i]))
            is_sound = say(verifier, WET_SEC_JUMPS, i * sizeof(*jumps),
                           "a pair is out of order or there twice");
    wd_buf_fini(&bytes);
    return is_sound;
}

/* ---- INPUT ---- */

/* The pieces: numbered without gaps, whole but for the last, with the head in the first. */
static bool input_check(struct wet_verifier *verifier)
{
    const uint32_t kind = WET_SEC_INPUT;
    struct wd_buf bytes = {0};
    struct rrt_input_head head;
    bool is_sound = true, is_last = false;
    size_t count;
    const struct wet_section *sections = wet_store_sections(verifier->store, &count);
    for (size_t i = 0, n = 0; is_sound && i < count; i++) {
        if (sections[i].kind != kind)
            continue;
        if (sections[i].key != n || is_last)
            is_sound = wet_verifier_say(verifier, kind, sections[i].key, 0,
                                        "the piece before it is missing or short");
        else if (!wet_verifier_read(verifier, kind, n, &bytes))
            is_sound = false;
        else if (!n && !rrt_input_is_sound(bytes.data, bytes.size_bytes, &head))
            is_sound = say(verifier, kind, 0, "it does not begin as kept input does");
        is_last = bytes.size_bytes != WET_INPUT_PIECE;
        n++;
    }
    wd_buf_fini(&bytes);
    return is_sound;
}

void wet_verify_tables(struct wet_verifier *verifier)
{
    static const struct {
        uint32_t kind;
        bool (*check)(struct wet_verifier *verifier);
    } rows[] = {{WET_SEC_META, meta_check},       {WET_SEC_CPU, cpu_check},
                {WET_SEC_SPANS, spans_check},     {WET_SEC_FILES, wet_verify_file_table},
                {WET_SEC_NAMES, names_check},     {WET_SEC_NODES, nodes_check},
                {WET_SEC_OBJECTS, objects_check}, {WET_SEC_INDEX, index_check},
                {WET_SEC_OUTPUTS, outputs_check}, {WET_SEC_THREADS, threads_check},
                {WET_SEC_TURNS, turns_check},     {WET_SEC_AMBIGUOUS, ambiguous_check},
                {WET_SEC_JUMPS, jumps_check},     {WET_SEC_INPUT, input_check}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!wet_verifier_stops(verifier) && rows[i].check(verifier))
            verifier->is_sound |= WET_SOUND(rows[i].kind);
    }
}
