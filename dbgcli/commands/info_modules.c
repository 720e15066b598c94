/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `info modules`: what was mapped where; and which files of the machine the trace holds, since who
 * passes a trace on passes them on, too.
 */
#include <inttypes.h>
#include <string.h>

#include "dbgcli/commands/info_subject.h"

/* ---- files ---- */

static const char *proof_text(const char *proof)
{
    if (!proof)
        return "";
    if (strcmp(proof, "digest") == 0)
        return ": the contents that were recorded";
    return strcmp(proof, "size") == 0 ? ": only its size was checked"
                                      : ": only size and time were checked";
}

static void print_size_and_path(struct cli_out *out, uint64_t bytes, const char *path)
{
    fprintf(out->stream, "%12" PRIu64 "  ", bytes);
    cli_out_text(out, path);
}

static void print_debug_file(struct cli_out *out, uint64_t bytes, const char *path,
                             const char *module)
{
    if (!bytes)
        return;
    print_size_and_path(out, bytes, path ? path : "a debug file");
    fputs(", from the disk, belongs to ", out->stream);
    cli_out_text(out, module);
    putc('\n', out->stream);
}

static void print_held_file(struct cli_out *out, const struct wetdbg_held_file *file)
{
    print_size_and_path(out, file->size_bytes, file->path);
    if (!file->is_whole)
        fputs(", the parts that were mapped", out->stream);
    if (file->backing && file->backing[0] != '/') {
        fputs(", from the recording's ", out->stream);
        cli_out_text(out, file->backing);
    } else if (file->backing) {
        fputs(", from the disk", out->stream);
    }
    fprintf(out->stream, "%s\n", proof_text(file->proof));
    print_debug_file(out, file->debug_bytes, file->debug_path, file->path);
    print_debug_file(out, file->alt_bytes, file->alt_path, file->path);
}

static void print_held_files(struct cli_session *session)
{
    size_t count = wetdbg_held_file_count(session->wet);
    if (count)
        fputs("files of the recorded machine in this trace:\n", session->out->stream);
    for (size_t i = 0; i < count && !cli_out_is_gone(session->out); i++) {
        struct wetdbg_held_file file;
        wetdbg_held_file_get(session->wet, i, &file);
        print_held_file(session->out, &file);
    }
}

static void set_debug_json(json_t *row, const char *key, uint64_t bytes, const char *path)
{
    if (!bytes)
        return;
    json_t *object = json_object();
    cli_json_set(object, "path", cli_json_text(path));
    cli_json_set(object, "bytes", cli_json_count(bytes));
    cli_json_set(row, key, object);
}

static json_t *held_files_json(struct cli_session *session)
{
    json_t *array = json_array();
    for (size_t i = 0; i < wetdbg_held_file_count(session->wet); i++) {
        struct wetdbg_held_file file;
        json_t *row = json_object();
        wetdbg_held_file_get(session->wet, i, &file);
        cli_json_set(row, "path", cli_json_text(file.path));
        cli_json_set(row, "bytes", cli_json_count(file.size_bytes));
        cli_json_set(row, "whole", json_boolean(file.is_whole));
        cli_json_set(row, "backing", cli_json_text(file.backing));
        cli_json_set(row, "checked", cli_json_text(file.proof));
        set_debug_json(row, "debug_file", file.debug_bytes, file.debug_path);
        set_debug_json(row, "alt_file", file.alt_bytes, file.alt_path);
        cli_json_append(array, row);
    }
    return array;
}

/* ---- modules ---- */

json_t *cli_module_json(const struct wetdbg_module *module, const struct wetdbg_module_debug *debug)
{
    json_t *row = json_object();
    cli_json_set(row, "path", cli_json_text(module->path));
    cli_json_set(row, "start", cli_json_address(module->start));
    cli_json_set(row, "end", cli_json_address(module->end));
    cli_json_set(row, "has_debug_information", json_boolean(debug->has_dwarf));
    return row;
}

int cli_info_modules(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    struct wetdbg_module module;
    struct wetdbg_module_debug debug;
    json_t *array = out->json ? json_array() : NULL;
    size_t count = wetdbg_module_count(session->model);
    (void)operand;
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++) {
        if (wetdbg_module_get(session->model, (wetdbg_module_id)i, &module) != 0 ||
            wetdbg_module_debug(session->model, (wetdbg_module_id)i, &debug) != 0)
            continue;
        if (array) {
            json_t *row = cli_module_json(&module, &debug);
            cli_json_set(row, "build_id", cli_json_text(debug.build_id[0] ? debug.build_id : NULL));
            cli_json_append(array, row);
        } else {
            fprintf(out->stream, "0x%016" PRIx64 " 0x%016" PRIx64 "  ", module.start, module.end);
            cli_out_text(out, module.path);
            if (module.is_elf && !debug.has_dwarf)
                fputs(": no debug information", out->stream);
            if (module.is_elf && !debug.has_dwarf && debug.build_id[0])
                fprintf(out->stream, ", build-id %s", debug.build_id);
            putc('\n', out->stream);
        }
    }
    if (!array) {
        print_held_files(session);
        return 0;
    }
    json_t *object = cli_json_object("wetdbg.modules/1");
    cli_json_set(object, "modules", array);
    cli_json_set(object, "files", held_files_json(session));
    cli_out_json(out, object);
    return 0;
}
