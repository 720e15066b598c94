/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/meter.h"

#include <stdio.h>
#include <unistd.h>

#include "dbgcli/interrupt.h"

#define PATIENCE_SECONDS 0.8
#define DRAW_INTERVAL    0.1

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
    return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

void cli_meter_begin(struct cli_meter *meter, struct cli_out *out, const char *what, bool is_shown)
{
    FILE *errors = out->errors;
    int fd = errors ? fileno(errors) : -1;
    *meter = (struct cli_meter){.out = out, .what = what, .is_shown = is_shown};
    meter->is_shown = is_shown && fd >= 0 && isatty(fd);
    clock_gettime(CLOCK_MONOTONIC, &meter->start);
    meter->last = meter->start;
}

bool cli_meter_update(struct cli_meter *meter, uint64_t done, uint64_t total)
{
    struct timespec now;
    bool is_over = cli_interrupt_is_pending() || cli_out_is_gone(meter->out);
    if (!meter->is_shown || is_over)
        return is_over;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double spent = seconds_between(&meter->start, &now);
    if (spent < PATIENCE_SECONDS || seconds_between(&meter->last, &now) < DRAW_INTERVAL)
        return false;
    meter->last = now;
    cli_out_show(meter->out);
    fprintf(meter->out->errors, "\r%s: %.0f%%, %.0f s (Ctrl-C ends it)\033[K", meter->what,
            total ? 100 * (double)done / (double)total : 0, spent);
    fflush(meter->out->errors);
    meter->has_line = true;
    return false;
}

void cli_meter_clear(struct cli_meter *meter)
{
    if (!meter->has_line)
        return;
    fputs("\r\033[K", meter->out->errors);
    fflush(meter->out->errors);
    meter->has_line = false;
}
