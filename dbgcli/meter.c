/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/meter.h"

#include "dbgcli/interrupt.h"
#include "dbgcli/screen.h"

void cli_meter_begin(struct cli_meter *meter, struct cli_out *out, const char *what)
{
    *meter = (struct cli_meter){.out = out, .what = what};
    if (out->screen)
        cli_screen_progress(out->screen, what, 0, 0);
}

bool cli_meter_update(struct cli_meter *meter, uint64_t done, uint64_t total)
{
    if (meter->out->screen)
        cli_screen_progress(meter->out->screen, meter->what, done, total);
    return cli_interrupt_is_pending() || cli_out_is_gone(meter->out);
}

void cli_meter_end(struct cli_meter *meter)
{
    if (meter->out->screen)
        cli_screen_progress(meter->out->screen, NULL, 0, 0);
}
