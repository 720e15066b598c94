/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_drawing.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/errors.h>

/* ---- Graphviz's text ---- */

#define TEXT_MAX 60 /* bytes of a source line that are drawn */

/* Writes a part of a label: of names that a program chose, nothing gets out of the quotes. */
static void put_label(FILE *to, const char *text, size_t most)
{
    size_t used = 0;
    for (; text && *text && used < most; text++, used++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            fprintf(to, "\\%c", byte);
        else
            putc(byte >= 0x20 && byte < 0x7f ? byte : '?', to);
    }
    if (text && *text)
        fputs("...", to);
}

static void write_node(FILE *to, struct cli_session *session, const struct cli_slice_graph *graph,
                       size_t index)
{
    const struct cli_graph_node *node = &graph->nodes[index];
    char *name = cli_graph_node_text(node);
    fprintf(to, "  n%zu [label=\"", index);
    put_label(to, name, 2 * TEXT_MAX);
    fprintf(to, "  x%" PRIu64, node->instances);
    if (node->file) {
        fputs("\\l", to);
        put_label(to, cli_source_text(session, node->file, node->line, node->pc), TEXT_MAX);
    }
    fprintf(to, "\\l\"%s];\n", index == 0 ? ", penwidth=2" : node->file ? "" : ", style=dashed");
    free(name);
}

static void write_link(FILE *to, const struct cli_graph_link *link)
{
    static const char *const styles[] = {"solid", "dotted", "solid", "dashed"};
    enum wetdbg_edge edge = cli_graph_link_edge(link);
    fprintf(to, "  n%zu -> n%zu [style=%s, label=\"%s x%" PRIu64 "\"];\n", link->user, link->node,
            styles[edge], wetdbg_edge_name(edge), link->total);
}

static void write_graph(FILE *to, struct cli_session *session, const struct cli_slice_graph *graph,
                        size_t count)
{
    fputs("digraph slice {\n  node [shape=box, fontname=\"monospace\", fontsize=10];\n"
          "  edge [fontname=\"monospace\", fontsize=8];\n",
          to);
    for (size_t i = 0; i < count; i++)
        write_node(to, session, graph, i);
    for (size_t i = 0; i < graph->link_count; i++)
        if (graph->links[i].user < count && graph->links[i].node < count)
            write_link(to, &graph->links[i]);
    fputs("}\n", to);
}

/* ---- files ---- */

/* Runs `dot` on a text, which a file holds that is gone by then. */
static int run_dot(FILE *input, int output)
{
    char *argv[] = {"dot", "-Tsvg", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    int failed = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed == ENOENT)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "--svg needs Graphviz's 'dot', which is not installed (Debian: "
                           "graphviz); --dot FILE writes what it draws");
    if (failed)
        return wetdbg_fail(-failed, "cannot run 'dot': %s", strerror(failed));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return wetdbg_fail_errno("dot");
    return status ? wetdbg_fail(-WETDBG_ERR_MACHINE, "'dot' failed (status %d)",
                                WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status))
                  : 0;
}

static int draw_svg(const char *path, const char *text, size_t size)
{
    struct cli_whole_file file;
    int err = cli_whole_file_open(&file, path);
    FILE *input = err ? NULL : tmpfile();
    if (!err && (!input || fwrite(text, 1, size, input) != size || fflush(input)))
        err = wetdbg_fail_errno("a temporary file");
    if (!err) {
        rewind(input);
        err = run_dot(input, file.fd);
    }
    if (input)
        fclose(input);
    return cli_whole_file_close(&file, err);
}

static void say(struct cli_session *session, const char *path, size_t drawn, size_t count)
{
    struct cli_out *out = session->out;
    fprintf(out->stream, "drawn in ");
    cli_out_text(out, path);
    if (drawn < count)
        fprintf(out->stream, ": the nearest %zu of %zu lines and functions; --limit N draws more",
                drawn, count);
    putc('\n', out->stream);
}

int cli_slice_draw(struct cli_session *session, const struct cli_slice_graph *graph, size_t limit,
                   const char *dot_path, const char *svg_path)
{
    size_t count = limit && limit < graph->node_count ? limit : graph->node_count, size;
    char *text = NULL;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        cli_die();
    write_graph(to, session, graph, count);
    if (fclose(to) || !text)
        cli_die();
    int err = dot_path ? cli_whole_file_write(dot_path, text, size) : 0;
    if (!err && svg_path)
        err = draw_svg(svg_path, text, size);
    free(text);
    for (unsigned i = 0; i < 2 && !err && !session->out->json; i++)
        if (i ? svg_path : dot_path)
            say(session, i ? svg_path : dot_path, count, graph->node_count);
    return err;
}
