/* SPDX-License-Identifier: GPL-3.0-or-later */
/* strict WORD FILE: an oracle. 125 if FILE is no JSON, else 1 if it has WORD in it, else 0. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char *argv[])
{
    json_t *value = argc == 3 ? json_load_file(argv[2], JSON_DECODE_ANY, NULL) : NULL;
    char *text = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    int status = !text ? 125 : strstr(text, argv[1]) ? 1 : 0;
    json_decref(value);
    free(text);
    return status;
}
