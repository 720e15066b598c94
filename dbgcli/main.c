/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>

#include "dbgcli/app.h"
#include "dbgcli/repl/line.h"

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* readline: widths of what is typed */
    return cli_app_main(argc, argv, &cli_line_readline);
}
