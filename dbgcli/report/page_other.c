/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the run would have ended, had its critical decision gone the other way, or a value been
 * another one: both outcomes side by side. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/eval/line_values.h"
#include "dbgcli/nav/general.h"
#include "dbgcli/report/html.h"
#include "dbgcli/report/line_pairs.h"
#include "dbgcli/report/page_parts.h"
#include "dbgcli/signal_name.h"

#define VALUES_MAX   12
#define TEXT_MAX     160
#define BEFORE       2  /* equal lines that are shown before the first difference */
#define ROWS_MAX     24 /* of both outputs */
#define OUTPUT_LIMIT (UINT64_C(16) << 20)

/* One change that repairs something, and what came of it. */
struct other {
    const struct wetdbg_finding *finding;    /* a switched decision, or */
    const struct wetdbg_replacement *repair; /* a replaced value */
    wetdbg_time time;                        /* from where on the run is another one */
    struct wetdbg_switch_result result;
    int fd;                  /* whose output is compared */
    char *recorded, *output; /* of it */
    size_t recorded_size, output_size;
};

static enum wetdbg_verdict verdict_of(const struct other *other)
{
    return other->finding ? other->finding->verdict : other->repair->verdict;
}

/* The best one that was found; of equal ones a decision. */
static bool choose(const struct cli_page *page, struct other *other)
{
    const struct wetdbg_search_result *found = &page->run->found;
    const struct wetdbg_replacement_result *replaced = &page->run->replaced;

    *other = (struct other){.finding = found->count ? &found->findings[0] : NULL};
    if (replaced->count &&
        (!other->finding || replaced->items[0].verdict > other->finding->verdict)) {
        other->finding = NULL;
        other->repair = &replaced->items[0];
    }
    if (other->finding)
        other->time = other->finding->trial.switches[0].time;
    else if (other->repair)
        other->time = other->repair->time + 1;
    return other->finding || other->repair;
}

/* ---- running ---- */

struct taking {
    int fd;
    FILE *to;
    uint64_t left;
};

static int take_output(void *arg, int fd, const void *bytes, size_t size)
{
    struct taking *taking = arg;
    size_t taken = size < taking->left ? size : (size_t)taking->left;

    if (fd != taking->fd)
        return 0;
    fwrite(bytes, 1, taken, taking->to);
    taking->left -= taken;
    return 0;
}

static int run_repair(struct cli_page *page, const struct wetdbg_replacement *repair,
                      struct taking *taking, struct wetdbg_switch_result *result)
{
    struct wetdbg_change *change = cli_malloc(sizeof(*change));

    *change = (struct wetdbg_change){.kind = WETDBG_CHANGE_VALUE, .time = repair->time + 1};
    if (repair->reg >= 0) {
        change->reg = (unsigned)repair->reg;
        change->value = repair->is;
        change->mask = UINT64_MAX;
    } else {
        change->address = repair->address;
        change->size = repair->size;
        memcpy(change->bytes, &repair->is, repair->size);
    }
    int err = wetdbg_switcher_run(page->session->switcher, change, 0, take_output, taking, result);
    free(change);
    return err;
}

/* What the run put out before the change is as recorded: the rest is what comes now. */
static size_t size_before(const struct cli_page *page, const struct other *other)
{
    size_t count;
    uint64_t size = 0;
    const struct wetdbg_output *pieces = wetdbg_outputs(page->session->wet, &count);

    for (size_t i = 0; i < count; i++)
        if (pieces[i].fd == other->fd && pieces[i].time < other->time)
            size += pieces[i].size;
    return size < other->recorded_size ? (size_t)size : other->recorded_size;
}

static int run(struct cli_page *page, struct other *other)
{
    int fd = wetdbg_criterion_get_info(page->run->criterion)->output_fd;
    struct taking taking = {.fd = fd > 0 ? fd : 1, .left = OUTPUT_LIMIT};

    other->fd = taking.fd;
    int err = cli_failure_output(page->session, other->fd, &other->recorded, &other->recorded_size);
    taking.to = open_memstream(&other->output, &other->output_size);
    if (!taking.to)
        cli_die();
    fwrite(other->recorded, 1, size_before(page, other), taking.to);
    if (!err)
        err = other->finding ? wetdbg_trials_show(page->run->trials, &other->finding->trial,
                                                  take_output, &taking, &other->result)
                             : run_repair(page, other->repair, &taking, &other->result);
    fclose(taking.to);
    return err;
}

/* ---- what was changed ---- */

static const struct wetdbg_predicate *predicate_of(const struct cli_page *page,
                                                   const struct wetdbg_candidate *switched)
{
    size_t count;

    return &wetdbg_candidates_predicates(page->run->candidates, &count)[switched->predicate];
}

static void put_code_line(struct cli_page *page, const char *file, uint32_t line, uint64_t pc)
{
    const char *text = cli_source_text(page->session, file, line, pc);

    if (!text)
        return;
    fputs("<pre class=\"excerpt\"><span class=\"at\">", page->to);
    cli_html_cut(page->to, text, TEXT_MAX);
    fputs("</span></pre>\n", page->to);
}

static void put_switched(struct cli_page *page, const struct wetdbg_candidate *switched)
{
    const struct wetdbg_predicate *predicate = predicate_of(page, switched);
    char *when = cli_switching_when(switched, predicate->instances);

    fputs("<p>The decision at ", page->to);
    if (predicate->file)
        cli_page_put_place(page, predicate->file, predicate->line);
    else
        fprintf(page->to, "<code>%#" PRIx64 "</code>", switched->pc);
    fputs(" in <code>", page->to);
    cli_html_text(page->to, predicate->function ? predicate->function : "?");
    fputs("</code>, made the other way", page->to);
    cli_html_text(page->to, when);
    fputs(".</p>\n", page->to);
    put_code_line(page, predicate->file, predicate->line, predicate->pc);
    free(when);
}

static void put_replaced(struct cli_page *page, const struct wetdbg_replacement *repair)
{
    struct cli_place place;

    cli_place_of_pc(page->session, repair->pc, &place);
    fputs("<p>What ", page->to);
    if (place.file)
        cli_page_put_place(page, place.file, place.line);
    else
        fprintf(page->to, "<code>%#" PRIx64 "</code>", repair->pc);
    fprintf(page->to, " computed at time %" PRIu64 ", ", (uint64_t)repair->time);
    if (repair->reg >= 0)
        fprintf(page->to, "in <code>%s</code>, ", cli_general_name((unsigned)repair->reg));
    fprintf(page->to, "was <code>%" PRIu64 "</code>; <code>%" PRIu64 "</code> was put there.</p>\n",
            repair->was, repair->is);
    put_code_line(page, place.file, place.line, repair->pc);
}

static void put_change(struct cli_page *page, const struct other *other)
{
    if (other->repair) {
        put_replaced(page, other->repair);
        return;
    }
    for (unsigned i = 0; i < other->finding->trial.count; i++)
        put_switched(page, &other->finding->trial.switches[i]);
}

/* ---- both ends ---- */

static void put_status(struct cli_page *page, int status)
{
    if (status == -1)
        fputs("not known", page->to);
    else if (WIFSIGNALED(status))
        fprintf(page->to, "%s", cli_signal_name(WTERMSIG(status)));
    else
        fprintf(page->to, "exit status %d", WEXITSTATUS(status));
}

static const char *verdict_words(enum wetdbg_verdict verdict)
{
    static const char *const words[] = {
        [WETDBG_VERDICT_WRONG] = "wrong",
        [WETDBG_VERDICT_EQUAL] = "wrong",
        [WETDBG_VERDICT_UNRESOLVED] = "not known",
        [WETDBG_VERDICT_NO_CRASH] = "it does not crash; whether it is right, nobody has said",
        [WETDBG_VERDICT_PREFIX] = "the first wrong byte is right, but not all output",
        [WETDBG_VERDICT_EXACT] = "\xe2\x9c\x93 right",
    };

    return words[verdict];
}

static void put_row(struct cli_page *page, const char *name)
{
    fprintf(page->to, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void put_ends(struct cli_page *page, const struct other *other)
{
    const struct wetdbg_switch_result *result = &other->result;
    FILE *to = page->to;

    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Both outcomes\">"
          "<table class=\"ends\"><caption>Both outcomes</caption>\n"
          "<thead><tr><th scope=\"col\">Outcome</th><th scope=\"col\">As recorded</th>"
          "<th scope=\"col\">Changed</th></tr></thead>\n<tbody>\n",
          to);
    put_row(page, "Verdict");
    fprintf(to, "&#x2717; wrong</td><td>%s</td></tr>\n", verdict_words(verdict_of(other)));
    put_row(page, "End");
    put_status(page, page->session->info->wait_status);
    fputs("</td><td>", to);
    if (result->end == WETDBG_SWITCH_EXIT)
        put_status(page, result->wait_status);
    else
        cli_html_text(to, result->reason);
    fputs("</td></tr>\n", to);
    put_row(page, "Instructions");
    cli_html_count(to, page->session->info->instructions);
    fputs("</td><td>", to);
    cli_html_count(to, result->instructions);
    fputs("</td></tr>\n", to);
    put_row(page, "Output");
    fprintf(to, "%zu bytes to descriptor %d</td><td>%zu bytes; ", other->recorded_size, other->fd,
            other->output_size);
    if (result->output_differs)
        fprintf(to, "another one from byte %" PRIu64 " of descriptor %d on", result->output_offset,
                result->output_fd);
    else
        fputs("as recorded", to);
    fputs("</td></tr>\n</tbody></table></div>\n", to);
}

/* ---- both outputs ---- */

static void put_side(struct cli_page *page, const struct cli_text_line *line,
                     const char *class_name)
{
    fprintf(page->to, "<td class=\"%s\"><code>", class_name);
    if (line)
        cli_html_bytes(page->to, line->text, line->size < TEXT_MAX ? line->size : TEXT_MAX);
    fputs(line && line->size > TEXT_MAX ? "...</code></td>" : "</code></td>", page->to);
}

static void put_pair(struct cli_page *page, const struct cli_line_pair *pair)
{
    const char *sign = pair->is_equal ? "" : "&#x2260;";

    fprintf(page->to, "<tr><th scope=\"row\">%zu</th><td>%s</td>",
            pair->left ? pair->left->number : pair->right->number, sign);
    put_side(page, pair->left, pair->is_equal ? "" : "is");
    put_side(page, pair->right, pair->is_equal ? "" : "should");
    fputs("</tr>\n", page->to);
}

static void put_outputs(struct cli_page *page, const struct other *other)
{
    struct cli_line_pairs pairs;

    cli_line_pairs_make(&pairs, other->recorded, other->recorded_size, other->output,
                        other->output_size, BEFORE, ROWS_MAX);
    if (pairs.differ) {
        fprintf(page->to,
                "<h3>Output to descriptor %d, where they part</h3>\n"
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Both outputs\">"
                "<table class=\"outputs\"><caption>Both outputs</caption>\n<thead><tr>"
                "<th scope=\"col\">Line</th><th scope=\"col\">Differs</th>"
                "<th scope=\"col\">As recorded</th><th scope=\"col\">Changed</th></tr></thead>\n"
                "<tbody>\n",
                other->fd);
        for (size_t i = 0; i < pairs.count; i++)
            put_pair(page, &pairs.rows[i]);
        fputs("</tbody></table></div>\n", page->to);
        if (pairs.is_cut)
            fputs("<p class=\"more\">More lines follow in both.</p>\n", page->to);
    }
}

/* ---- values before ---- */

static void put_value(void *arg, const char *name, const char *text)
{
    FILE *to = arg;

    fputs("<div><dt><code>", to);
    cli_html_text(to, name);
    fputs("</code></dt><dd><code>", to);
    cli_html_cut(to, text, TEXT_MAX);
    fputs("</code></dd></div>\n", to);
}

/* Both runs have these: they part just after. */
static void put_values(struct cli_page *page, const struct other *other)
{
    struct cli_moment *moment;
    const struct cli_frame *frame;

    if (cli_moment_open(page->session->wet, other->time, &moment))
        return;
    frame = &moment->frames[cli_moment_first_frame(moment)];
    const char *text = cli_source_text(page->session, frame->file, frame->line, frame->lookup_pc);
    if (text) {
        fputs("<h3>Values on this line just before</h3>\n<dl class=\"values\">\n", page->to);
        cli_line_values_each(moment, text, VALUES_MAX, put_value, page->to);
        fputs("</dl>\n", page->to);
    }
    cli_moment_close(moment);
}

/* ---- all of it ---- */

static void put_none(struct cli_page *page)
{
    const struct cli_locating *run = page->run;

    if (!run->trials) {
        fputs(
            "<p>Nothing was tried out: what a right run does, nobody has said, or it could not be "
            "run. See <a href=\"#missing\">what is missing</a>.</p>\n",
            page->to);
        return;
    }
    fputs("<p>", page->to);
    cli_html_count(page->to, run->found.progress.tried + run->found.progress.known);
    fputs(" decisions were made the other way, and ", page->to);
    cli_html_count(page->to, run->replaced.tried);
    fputs(" values replaced: none of it repairs the run.</p>\n", page->to);
}

static void put_outcome(struct cli_page *page, struct other *other)
{
    put_change(page, other);
    if (!cli_page_has_time(page) || run(page, other)) {
        fputs("<p class=\"more\">There was no time to look at that run here.</p>\n", page->to);
        return;
    }
    put_ends(page, other);
    put_values(page, other);
    put_outputs(page, other);
}

void cli_page_put_other(struct cli_page *page)
{
    struct other other;
    size_t count = page->run->found.count + page->run->replaced.count;

    if (!choose(page, &other)) {
        put_none(page);
        return;
    }
    put_outcome(page, &other);
    if (count > 1)
        fprintf(page->to,
                "<p class=\"more\">%zu other change%s repair%s the run, too, at least in part: the "
                "suspects' reasons name them.</p>\n",
                count - 1, count == 2 ? "" : "s", count == 2 ? "s" : "");
    free(other.recorded);
    free(other.output);
}
