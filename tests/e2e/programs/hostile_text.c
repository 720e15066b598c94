/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source, names, input and output that would be markup in a page that let them: test_report.py puts bytes that
 * are no UTF-8 and controls in the place of QQQQ. </title></script><script>document.title = "owned"</script> */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const text =
    "QQQQ</script><script>document.title = 'owned'</script><img src=x onerror=alert(1)>";

static int
length_of(const char *given) /* <svg onload="document.title = 'owned'"> & &lt; &#60; {{story}} */
{
    return (int)strlen(given) + 1; /* QQQQ ' " > <!-- the right result is one less */
}

int main(int argc, char **argv)
{
    char line[256] = "";

    if (argc > 1 && fgets(line, sizeof(line), stdin))
        printf("%s \"%s\" %d\n", text, argv[1], length_of(line));
    return 0;
}
