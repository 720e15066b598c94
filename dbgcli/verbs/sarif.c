/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/sarif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/hop_value.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/caller.h>

#define STEPS_MAX 100 /* of a flow: both ends of a longer one */

json_t *cli_sarif_message(const char *text)
{
    json_t *object = json_object();

    cli_json_set(object, "text", cli_json_text(text));
    return object;
}

/* ---- files ---- */

char *cli_sarif_uri(const char *path)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                                "-._~/!$&'()*+,;=@";
    char *uri = cli_malloc(8 + 3 * strlen(path));
    char *to = uri + sprintf(uri, "%s", *path == '/' ? "file://" : "");

    for (; *path; path++)
        if (strchr(plain, *path))
            *to++ = *path;
        else
            to += sprintf(to, "%%%02X", (unsigned char)*path);
    *to = 0;
    return uri;
}

/* Where it is among the run's artifacts; their count if it is none yet. */
static size_t find_artifact(const struct cli_sarif *sarif, const char *uri)
{
    size_t count = json_array_size(sarif->artifacts), i = 0;

    for (; i < count; i++) {
        json_t *location = json_object_get(json_array_get(sarif->artifacts, i), "location");
        if (strcmp(json_string_value(json_object_get(location, "uri")), uri) == 0)
            break;
    }
    return i;
}

static json_t *location_of(const char *uri)
{
    json_t *object = json_object();

    cli_json_set(object, "uri", cli_json_text(uri));
    return object;
}

json_t *cli_sarif_artifact(struct cli_sarif *sarif, const char *path, const char *role)
{
    char *uri = cli_sarif_uri(path);
    size_t index = find_artifact(sarif, uri);
    json_t *location = location_of(uri);

    if (index == json_array_size(sarif->artifacts)) {
        json_t *artifact = json_object(), *roles = json_array();
        cli_json_append(roles, cli_json_text(role));
        cli_json_set(artifact, "location", location_of(uri));
        cli_json_set(artifact, "roles", roles);
        cli_json_append(sarif->artifacts, artifact);
    }
    cli_json_set(location, "index", json_integer((json_int_t)index));
    free(uri);
    return location;
}

/* ---- locations ---- */

static json_t *region_of(const struct cli_sarif *sarif, const char *file, uint32_t line,
                         uint64_t pc)
{
    json_t *region = json_object();
    const char *text = NULL;
    unsigned flags = 0;

    cli_json_set(region, "startLine", json_integer(line));
    if (wetdbg_source_line(sarif->session->model, file, line, pc, &text, &flags) == 0 && text)
        cli_json_set(region, "snippet", cli_sarif_message(text));
    return region;
}

json_t *cli_sarif_location(struct cli_sarif *sarif, const char *file, uint32_t line,
                           const char *function, uint64_t pc, const char *message)
{
    json_t *location = json_object(), *physical = json_object();

    cli_json_set(physical, "artifactLocation", cli_sarif_artifact(sarif, file, "tracedFile"));
    cli_json_set(physical, "region", region_of(sarif, file, line, pc));
    cli_json_set(location, "physicalLocation", physical);
    if (function) {
        json_t *logical = json_object(), *list = json_array();
        cli_json_set(logical, "name", cli_json_text(function));
        cli_json_set(logical, "kind", cli_json_text("function"));
        cli_json_append(list, logical);
        cli_json_set(location, "logicalLocations", list);
    }
    if (message)
        cli_json_set(location, "message", cli_sarif_message(message));
    return location;
}

/* ---- the steps of a path ---- */

/* What one line after another gives on; by index of the hops, which go back from what is wrong. */
struct step {
    size_t hop;    /* the one whose edge leaves the line */
    size_t hidden; /* hops of libraries between the step before and this one */
};

static bool is_one_line(const struct cli_place *a, const struct cli_place *b)
{
    return a->line == b->line && strcmp(a->file, b->file) == 0 &&
           (a->function == b->function ||
            (a->function && b->function && strcmp(a->function, b->function) == 0));
}

/* The steps in the order of time. *count of them, to be freed. */
static struct step *make_steps(struct cli_session *session, const struct wetdbg_slice_path *path,
                               size_t *count)
{
    struct step *steps = cli_realloc(NULL, path->count + 1, sizeof(*steps));
    struct cli_place last = {0}, place;
    size_t hidden = 0;

    *count = 0;
    for (size_t i = path->count; i-- > 0;) {
        cli_place_of_pc(session, path->hops[i].pc, &place);
        if (!place.file || !wetdbg_is_own(session->wet, path->hops[i].pc)) {
            hidden++;
            continue;
        }
        if (*count && !hidden && is_one_line(&last, &place))
            steps[*count - 1].hop = i;
        else
            steps[(*count)++] = (struct step){i, hidden};
        hidden = 0;
        last = place;
    }
    return steps;
}

/* What a step does for the next one; to be freed. */
static char *words_of(struct cli_session *session, const struct wetdbg_slice_instance *hop)
{
    static const char *const words[] = {
        [WETDBG_EDGE_VALUE] = "computes a value that the next step uses",
        [WETDBG_EDGE_ADDRESS] = "computes the address that the next step uses",
        [WETDBG_EDGE_CONDITION] = "computes what the next step chooses by",
        [WETDBG_EDGE_CONTROL] = "decides that the next step runs",
        [WETDBG_EDGE_IMPLICIT] = "decides otherwise than the next step would have needed",
    };
    char *value = cli_hop_value(session, hop);
    char *text = cli_asprintf("%s%s%s", words[hop->edge], value ? ": " : "", value ? value : "");

    free(value);
    return text;
}

/* The last step's; `hop` is how many hops of libraries come after it. To be freed. */
static char *words_of_end(size_t hop, const char *wrong)
{
    return hop ? cli_asprintf("leads, through %zu instructions of libraries, to what is wrong: %s",
                              hop, wrong)
               : cli_asprintf("what is wrong: %s", wrong);
}

/* With what came before it and is not shown; takes `text` over. */
static char *after(char *text, size_t hidden, size_t omitted)
{
    char *more = text;

    if (omitted)
        more = cli_asprintf("(after %zu steps that are left out) %s", omitted, text);
    else if (hidden)
        more = cli_asprintf("(through %zu instructions of libraries) %s", hidden, text);
    if (more != text)
        free(text);
    return more;
}

/* A threadFlowLocation (3.38); takes `text` over. */
static json_t *step_to_json(struct cli_sarif *sarif, const struct wetdbg_slice_instance *hop,
                            bool is_last, char *text)
{
    json_t *object = json_object(), *kinds = json_array(), *properties = json_object();
    bool is_decision = hop->edge == WETDBG_EDGE_CONTROL || hop->edge == WETDBG_EDGE_IMPLICIT;
    struct cli_place place;

    cli_place_of_pc(sarif->session, hop->pc, &place);
    cli_json_append(kinds, cli_json_text(is_last ? "danger" : is_decision ? "branch" : "value"));
    cli_json_set(properties, "time", cli_json_count(hop->time));
    cli_json_set(properties, "edge", cli_json_text(wetdbg_edge_name(hop->edge)));
    cli_json_set(object, "location",
                 cli_sarif_location(sarif, place.file, place.line, place.function, hop->pc, text));
    cli_json_set(object, "kinds", kinds);
    cli_json_set(object, "properties", properties);
    free(text);
    return object;
}

json_t *cli_sarif_flow(struct cli_sarif *sarif, const struct wetdbg_slice_path *path,
                       const char *wrong)
{
    size_t count, omitted = 0, shown = 0;
    struct step *steps = make_steps(sarif->session, path, &count);
    json_t *locations = json_array();

    for (size_t i = 0; i < count; i++) {
        const struct wetdbg_slice_instance *hop = &path->hops[steps[i].hop];
        if (count > STEPS_MAX && i == STEPS_MAX / 2) {
            omitted = count - STEPS_MAX;
            i += omitted - 1;
            continue;
        }
        bool is_last = i + 1 == count;
        char *text = is_last ? words_of_end(steps[i].hop, wrong) : words_of(sarif->session, hop);
        json_t *object = step_to_json(sarif, hop, is_last, after(text, steps[i].hidden, omitted));
        cli_json_set(object, "executionOrder", json_integer((json_int_t)++shown));
        cli_json_append(locations, object);
        omitted = 0;
    }
    free(steps);
    if (!shown) {
        json_decref(locations);
        return NULL;
    }
    json_t *flow = json_object(), *thread = json_object(), *threads = json_array();
    cli_json_set(thread, "locations", locations);
    cli_json_append(threads, thread);
    cli_json_set(flow, "threadFlows", threads);
    return flow;
}
