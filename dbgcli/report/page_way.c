/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ways from the first suspects to what is wrong, step by step: what each did, with which
 * values, on whose behalf. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/hop_value.h"
#include "dbgcli/eval/line_values.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/nav/walker.h"
#include "dbgcli/report/html.h"
#include "dbgcli/report/marked_source.h"

#define STEPS_MAX  60 /* of a way; of more both ends */
#define FRAMES_MAX 12
#define VALUES_MAX 8
#define VALUE_MAX  200 /* bytes */
#define TEXT_MAX   160
#define AROUND     2 /* lines of the excerpt before and behind */

/* ---- values before and after ---- */

struct values {
    char *names[VALUES_MAX], *before[VALUES_MAX], *after[VALUES_MAX];
    size_t count;
};

static void take_before(void *arg, const char *name, const char *text)
{
    struct values *values = arg;

    values->names[values->count] = cli_strdup(name);
    values->before[values->count++] = cli_strdup(text);
}

static void take_after(void *arg, const char *name, const char *text)
{
    struct values *values = arg;

    for (size_t i = 0; i < values->count; i++)
        if (!values->after[i] && strcmp(values->names[i], name) == 0)
            values->after[i] = cli_strdup(text);
}

static void values_fini(struct values *values)
{
    for (size_t i = 0; i < values->count; i++) {
        free(values->names[i]);
        free(values->before[i]);
        free(values->after[i]);
    }
}

static void put_values(struct cli_page *page, const struct values *values)
{
    if (!values->count)
        return;
    fputs("<h4>Values on this line</h4>\n<dl class=\"values\">\n", page->to);
    for (size_t i = 0; i < values->count; i++) {
        bool has_changed = values->after[i] && strcmp(values->before[i], values->after[i]) != 0;
        fputs("<div><dt><code>", page->to);
        cli_html_text(page->to, values->names[i]);
        fputs("</code></dt><dd><code>", page->to);
        cli_html_cut(page->to, values->before[i], VALUE_MAX);
        if (has_changed) {
            fputs("</code> became <code class=\"new\">", page->to);
            cli_html_cut(page->to, values->after[i], VALUE_MAX);
        }
        fputs("</code></dd></div>\n", page->to);
    }
    fputs("</dl>\n", page->to);
}

/* ---- the stack ---- */

static void put_frame(FILE *to, struct cli_moment *moment, size_t index)
{
    char *text = NULL;
    size_t size;
    struct cli_out out = {.stream = open_memstream(&text, &size)};

    if (!out.stream)
        cli_die();
    cli_frame_print(&out, moment, index);
    fclose(out.stream);
    fputs("<li><code>", to);
    cli_html_cut(to, text, 2 * VALUE_MAX);
    fputs("</code></li>\n", to);
    free(text);
}

/* The stack as HTML, to be freed. */
static char *stack_html(struct cli_moment *moment)
{
    size_t shown = moment->frame_count < FRAMES_MAX ? moment->frame_count : FRAMES_MAX, size;
    char *html = NULL;
    FILE *to = open_memstream(&html, &size);

    if (!to)
        cli_die();
    fputs("<h4>Stack</h4>\n<ol class=\"stack\" start=\"0\">\n", to);
    for (size_t i = 0; i < shown; i++)
        put_frame(to, moment, i);
    fputs("</ol>\n", to);
    if (shown < moment->frame_count)
        fprintf(to, "<p class=\"more\">and %zu more frames</p>\n", moment->frame_count - shown);
    fclose(to);
    return html;
}

/* ---- one step ---- */

/* The line that a person looks at: of a library's step that of who called it. */
static void telling_place(struct cli_page *page, const struct cli_step *step,
                          struct cli_moment *moment, struct cli_place *place)
{
    const char *inner;

    *place = step->place;
    if (!step->is_own && moment)
        cli_telling_place(page->session, moment, place, &inner);
}

static void put_excerpt(struct cli_page *page, const struct cli_place *place)
{
    uint32_t first = place->line > AROUND ? place->line - AROUND : 1;

    if (!place->file || !place->text)
        return;
    fputs("<pre class=\"excerpt\">", page->to);
    for (uint32_t n = first; n <= place->line + AROUND; n++) {
        const char *text;
        unsigned flags;
        if (wetdbg_source_line(page->session->model, place->file, n, 0, &text, &flags) || !text)
            break;
        fprintf(page->to, "<span class=\"%s\"><b>%s%5" PRIu32 "</b> ",
                n == place->line ? "at" : "by", n == place->line ? "&#x25b6;" : " ", n);
        cli_html_cut(page->to, text, TEXT_MAX);
        fputs("\n</span>", page->to);
    }
    fputs("</pre>\n", page->to);
}

static const char *edge_words(enum wetdbg_edge edge)
{
    static const char *const words[] = {
        [WETDBG_EDGE_VALUE] = "gave the next step a value",
        [WETDBG_EDGE_ADDRESS] = "gave the next step an address",
        [WETDBG_EDGE_CONDITION] = "decided what the next step took",
        [WETDBG_EDGE_CONTROL] = "let the next step run",
        [WETDBG_EDGE_IMPLICIT] = "kept something from being written that the next step read",
        [WETDBG_EDGE_NONE] = "is where it shows",
    };

    return words[edge];
}

static void put_passed(struct cli_page *page, const struct wetdbg_slice_instance *hop)
{
    char *value = cli_page_has_time(page) ? cli_hop_value(page->session, hop) : NULL;

    fprintf(page->to, "<p class=\"gives\">It %s", edge_words(hop->edge));
    if (value) {
        fputs(": <code>", page->to);
        cli_html_text(page->to, value);
        fputs("</code>", page->to);
    }
    fputs(".</p>\n", page->to);
    free(value);
}

/* The values that the line's names have once the step is done, if the same call is still there. */
static void look_behind(struct cli_page *page, const struct cli_way *way,
                        const struct cli_step *step, struct cli_walker *walker,
                        const struct cli_frame *before, struct values *values)
{
    wetdbg_time behind = way->path->hops[step->late].time + 1;

    if (!values->count || behind > page->session->info->last_time || cli_walker_go(walker, behind))
        return;
    struct cli_moment *moment = cli_moment_of_state(page->session->wet, behind, walker->state);
    const struct cli_frame *frame = &moment->frames[cli_moment_first_frame(moment)];
    bool is_same = frame->function && before->function &&
                   strcmp(frame->function, before->function) == 0 &&
                   frame->regs.value[WETDBG_REG_RBP] == before->regs.value[WETDBG_REG_RBP];
    if (is_same)
        cli_line_values_each(moment, step->place.text, VALUES_MAX, take_after, values);
    cli_moment_close(moment);
}

/* What is to be seen of it at its time; the walker goes on to just after it. */
static void put_moment(struct cli_page *page, const struct cli_way *way,
                       const struct cli_step *step, struct cli_walker *walker)
{
    wetdbg_time time = way->path->hops[step->early].time;
    struct values values = {0};
    struct cli_place place;

    if (!cli_page_has_time(page) || cli_walker_go(walker, time)) {
        put_excerpt(page, &step->place);
        fputs("<p class=\"more\">There was no time to look at values and stack here.</p>\n",
              page->to);
        return;
    }
    struct cli_moment *moment = cli_moment_of_state(page->session->wet, time, walker->state);
    struct cli_frame frame = moment->frames[cli_moment_first_frame(moment)];
    telling_place(page, step, moment, &place);
    put_excerpt(page, &place);
    if (place.text)
        cli_line_values_each(moment, place.text, VALUES_MAX, take_before, &values);
    char *stack = stack_html(moment);
    cli_moment_close(moment);
    if (step->is_own)
        look_behind(page, way, step, walker, &frame, &values);
    put_values(page, &values);
    fputs(stack, page->to);
    free(stack);
    values_fini(&values);
}

static void put_where(struct cli_page *page, const struct cli_step *step)
{
    const struct cli_place *place = &step->place;
    FILE *to = page->to;

    fputs("<span class=\"where\">", to);
    if (step->is_own) {
        cli_html_text(to, cli_base_name(place->file));
        fprintf(to, ":%" PRIu32, place->line);
    } else {
        cli_html_text(to, place->module ? place->module : "other code");
    }
    fputs("</span> <span class=\"in\">in ", to);
    cli_html_cut(to, place->function ? place->function : "?", TEXT_MAX);
    fputs("</span>", to);
    if (!step->is_own)
        fprintf(to, " <span class=\"note\">%zu instruction%s</span>", cli_step_hops(step),
                cli_step_hops(step) == 1 ? "" : "s");
    if (!step->is_own || !place->text)
        return;
    fputs(" <code class=\"line\">", to);
    cli_html_cut(to, place->text, TEXT_MAX);
    fputs("</code>", to);
}

/* Where the page's source has it, for the script. */
static void put_anchor(struct cli_page *page, const struct cli_step *step)
{
    int file = step->is_own
                   ? cli_marked_source_find(page->source, step->place.file, step->place.line)
                   : -1;

    if (file >= 0)
        fprintf(page->to, " data-line=\"f%dL%" PRIu32 "\"", file, step->place.line);
}

static void put_step(struct cli_page *page, const struct cli_way *way, size_t index,
                     struct cli_walker *walker)
{
    const struct cli_step *step = &way->steps[index];
    wetdbg_time time = way->path->hops[step->early].time;

    if (step->repeats)
        fprintf(page->to,
                "<li class=\"loop\">A loop: the next %zu step%s happened %zu times more before "
                "this.</li>\n",
                step->turn, step->turn == 1 ? "" : "s", step->repeats);
    fputs("<li class=\"step\"", page->to);
    put_anchor(page, step);
    fprintf(page->to, "><details%s><summary><span class=\"rank\">%zu</span><span class=\"what\">",
            index ? "" : " open", index + 1);
    put_where(page, step);
    fputs("</span></summary>\n<div class=\"moment\">\n", page->to);
    put_moment(page, way, step, walker);
    put_passed(page, &way->path->hops[step->late]);
    fprintf(page->to, "<p class=\"more\">Time %" PRIu64, time);
    const struct wetdbg_thread *thread = cli_thread_at(page->session, time);
    if (cli_has_threads(page->session) && thread)
        fprintf(page->to, ", thread %" PRIu32, thread->index + 1);
    fputs(": ", page->to);
    char *command = cli_asprintf("goto %" PRIu64, time);
    cli_page_put_command(page, command);
    free(command);
    fputs("</p>\n</div></details></li>\n", page->to);
}

/* ---- a way ---- */

static void put_steps(struct cli_page *page, const struct cli_way *way)
{
    size_t head = way->count > STEPS_MAX ? STEPS_MAX / 2 : way->count;
    size_t rest = way->count > STEPS_MAX ? way->count - STEPS_MAX / 2 : way->count;
    struct cli_walker walker = {.session = page->session};

    fputs("<ol class=\"steps\" data-list=\"step\">\n", page->to);
    for (size_t i = 0; i < head; i++)
        put_step(page, way, i, &walker);
    if (head < rest)
        fprintf(page->to, "<li class=\"loop\">%zu steps are left out here.</li>\n", rest - head);
    for (size_t i = rest; i < way->count; i++)
        put_step(page, way, i, &walker);
    fputs("</ol>\n", page->to);
    cli_walker_fini(&walker);
}

static void put_way(struct cli_page *page, const struct cli_way *way, bool is_open)
{
    fprintf(page->to, "<details class=\"way\"%s><summary><h3>From suspect %zu, ",
            is_open ? " open" : "", way->rank);
    cli_html_text(page->to, cli_base_name(way->suspect->file));
    fprintf(page->to, ":%" PRIu32 "</h3> <span>%zu step%s, %zu dependence%s</span></summary>\n",
            way->suspect->line, way->count, way->count == 1 ? "" : "s", way->path->count - 1,
            way->path->count == 2 ? "" : "s");
    put_steps(page, way);
    fputs("</details>\n", page->to);
}

void cli_page_put_ways(struct cli_page *page)
{
    if (!page->way_count)
        fputs("<p>What is wrong depends on none of the suspects in the list, as far as the slice "
              "tells.</p>\n",
              page->to);
    for (size_t i = 0; i < page->way_count; i++)
        put_way(page, &page->ways[i], i == 0);
}
