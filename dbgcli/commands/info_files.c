/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info files`: what the run read and wrote. */
#include <inttypes.h>

#include "dbgcli/commands/info_subject.h"
#include <wetdbg/files.h>

static void print_count(struct cli_out *out, uint64_t calls, uint64_t bytes)
{
    if (calls)
        fprintf(out->stream, "%12" PRIu64 " in %-7" PRIu64, bytes, calls);
    else
        fprintf(out->stream, "%12s    %-7s", "-", "");
}

static void print_file(struct cli_out *out, const struct wetdbg_file *file)
{
    print_count(out, file->reads, file->read_bytes);
    print_count(out, file->writes, file->written_bytes);
    fprintf(out->stream, " %-12" PRIu64 " ", file->first_time);
    cli_out_text(out, file->name ? file->name : "a path that cannot be read");
    fputs(file->is_mapped ? " (mapped)\n" : "\n", out->stream);
}

static json_t *json_of_file(const struct wetdbg_file *file)
{
    json_t *row = json_object();
    cli_json_set(row, "name", cli_json_text(file->name));
    cli_json_set(row, "is_path", json_boolean(file->is_path));
    cli_json_set(row, "is_mapped", json_boolean(file->is_mapped));
    cli_json_set(row, "reads", cli_json_count(file->reads));
    cli_json_set(row, "read_bytes", cli_json_count(file->read_bytes));
    cli_json_set(row, "writes", cli_json_count(file->writes));
    cli_json_set(row, "written_bytes", cli_json_count(file->written_bytes));
    cli_json_set(row, "first_time", cli_json_count(file->first_time));
    cli_json_set(row, "last_time", cli_json_count(file->last_time));
    return row;
}

int cli_info_files(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    struct wetdbg_files *files;
    (void)operand;
    int err = wetdbg_files_open(session->wet, &files);
    if (err)
        return err;
    size_t count = wetdbg_files_count(files);
    json_t *rows = out->json ? json_array() : NULL;
    if (!rows && count)
        fprintf(out->stream, "%12s %-10s%12s %-10s %-12s %s\n", "bytes read", "calls", "written",
                "calls", "first time", "file");
    else if (!rows)
        fputs("the run read and wrote nothing\n", out->stream);
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++) {
        const struct wetdbg_file file = wetdbg_files_get(files, i);
        if (rows)
            cli_json_append(rows, json_of_file(&file));
        else
            print_file(out, &file);
    }
    if (rows) {
        json_t *object = cli_json_object("wetdbg.files/1");
        cli_json_set(object, "files", rows);
        cli_out_json(out, object);
    }
    wetdbg_files_close(files);
    return 0;
}
