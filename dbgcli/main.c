/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program: the command line (app.h) with readline. */
#include <locale.h>
#include <stdio.h>

#include "dbgcli/app.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/futex.h"
#include "dbgcli/repl/line.h"
#include <wetdbg/errors.h>

int main(int argc, char **argv)
{
    int err = cli_futex_check();
    if (err) {
        fprintf(stderr, "wetdbg: %s\n", wetdbg_error(err));
        return cli_exit_status(err);
    }
    setlocale(LC_CTYPE, ""); /* readline: widths of what is typed */
    return cli_app_main(argc, argv, &cli_line_readline);
}
