/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>
#include <stdio.h>

#include "common/err.h"
#include "common/futex.h"
#include "dbgcli/app.h"
#include "dbgcli/repl/line.h"

int main(int argc, char **argv)
{
    int err = wd_futex_check();
    if (err) {
        fprintf(stderr, "wetdbg: %s\n", wd_error_message(err));
        return wd_error_exit_status(err);
    }
    setlocale(LC_CTYPE, ""); /* readline: widths of what is typed */
    return cli_app_main(argc, argv, &cli_line_readline);
}
