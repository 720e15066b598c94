/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/progress.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define BAR_CELLS     24
#define DRAW_INTERVAL 0.1
/* Seconds before which an estimate says more about the program's start than about the run. */
#define ESTIMATE_AFTER 0.5

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

void cli_progress_begin(struct cli_progress *progress, FILE *to)
{
    *progress = (struct cli_progress){.to = to, .is_shown = isatty(fileno(to))};
    clock_gettime(CLOCK_MONOTONIC, &progress->start);
}

static void format_time(char *text, size_t size, double seconds)
{
    uint64_t whole = (uint64_t)(seconds + 0.5);
    if (whole >= 3600)
        snprintf(text, size, "%" PRIu64 ":%02u:%02u", whole / 3600, (unsigned)(whole / 60 % 60),
                 (unsigned)(whole % 60));
    else
        snprintf(text, size, "%u:%02u", (unsigned)(whole / 60), (unsigned)(whole % 60));
}

void cli_progress_format(char *text, size_t size, uint64_t done, uint64_t total,
                         uint64_t instructions, double seconds)
{
    char cells[BAR_CELLS + 1], left[32] = "";
    double part = total ? (double)(done < total ? done : total) / (double)total : 0;
    size_t filled = (size_t)(part * BAR_CELLS);
    double rate = seconds > 0 ? (double)instructions / seconds / 1e6 : 0;
    memset(cells, '.', BAR_CELLS);
    memset(cells, '#', filled);
    cells[BAR_CELLS] = 0;
    if (seconds >= ESTIMATE_AFTER && part > 0 && part < 1)
        format_time(left, sizeof(left), seconds / part - seconds);
    snprintf(text, size, "[%s] %3.0f%%  %.1f M instructions, %.1f M/s%s%s", cells, part * 100,
             (double)instructions / 1e6, rate, *left ? ", left " : "", left);
}

/* Whether it is time to draw, and then it counts as drawn. */
static bool is_due(struct cli_progress *progress)
{
    struct timespec now;
    if (!progress->is_shown)
        return false;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (progress->has_bar && seconds_between(&progress->last, &now) < DRAW_INTERVAL)
        return false;
    progress->last = now;
    progress->has_bar = true;
    return true;
}

static void draw(const struct cli_progress *progress, const char *text)
{
    fprintf(progress->to, "\r%s\033[K", text);
    fflush(progress->to);
}

void cli_progress_update(struct cli_progress *progress, uint64_t done, uint64_t total,
                         uint64_t instructions)
{
    char text[160];
    if (!is_due(progress))
        return;
    cli_progress_format(text, sizeof(text), done, total, instructions,
                        seconds_between(&progress->start, &progress->last));
    draw(progress, text);
}

void cli_progress_say(struct cli_progress *progress, const char *text)
{
    if (is_due(progress))
        draw(progress, text);
}

void cli_progress_end(struct cli_progress *progress)
{
    if (progress->has_bar)
        fputs("\r\033[K", progress->to);
    progress->has_bar = false;
}
