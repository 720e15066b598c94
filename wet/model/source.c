/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source text. Files are read once, whole, with an index of line starts. What cannot be read is
 * remembered as missing, so a report over thousands of lines does not try again for each.
 */
#include "wet/model/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "wet/model/addrmap.h"
#include "wet/model/module.h"
#include "wet/model/paths.h"
#include <wetdbg/errors.h>

#define SOURCE_BYTES_MAX (64 << 20)

struct source {
    char *text; /* newlines replaced by NUL; NULL = missing */
    uint32_t *line_off;
    uint32_t line_count;
    int64_t mtime_s;
};

struct source_map {
    char *from; /* normalized, without slash at the end */
    char *to;
};

struct mdl_sources {
    struct mdl_addrmap by_file; /* by interned path */
    struct source_map *maps;
    size_t map_count;
};

static void source_free(struct source *source)
{
    if (!source)
        return;
    free(source->text);
    free(source->line_off);
    free(source);
}

static void forget_sources(struct mdl_sources *sources)
{
    for (size_t i = 0; i < sources->by_file.slot_count; i++)
        source_free(sources->by_file.slots[i].value);
    mdl_addrmap_fini(&sources->by_file);
}

void mdl_sources_free(struct mdl_sources *sources)
{
    if (!sources)
        return;
    forget_sources(sources);
    for (size_t i = 0; i < sources->map_count; i++) {
        free(sources->maps[i].from);
        free(sources->maps[i].to);
    }
    free(sources->maps);
    free(sources);
}

static struct mdl_sources *sources_get(struct wetdbg_model *model)
{
    if (!model->sources)
        model->sources = calloc(1, sizeof(*model->sources));
    return model->sources;
}

int wetdbg_source_map(struct wetdbg_model *model, const char *from, const char *to)
{
    struct mdl_sources *sources = sources_get(model);
    struct source_map *grown, map;

    if (!sources)
        return -ENOMEM;
    grown = reallocarray(sources->maps, sources->map_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    sources->maps = grown;
    map = (struct source_map){strdup(from), strdup(to)};
    if (!map.from || !map.to) {
        free(map.from);
        free(map.to);
        return -ENOMEM;
    }
    mdl_path_normalize(map.from);
    grown[sources->map_count++] = map;
    forget_sources(sources);
    return 0;
}

/* Where a file is to be read; the caller frees. */
static char *mapped_path(const struct mdl_sources *sources, const char *file)
{
    char *path = strdup(file), *result;

    if (!path)
        return NULL;
    mdl_path_normalize(path);
    for (size_t i = sources->map_count; i-- > 0;) {
        size_t length = strlen(sources->maps[i].from);

        if (strncmp(path, sources->maps[i].from, length) != 0 ||
            (path[length] != '/' && path[length] != '\0' && strcmp(sources->maps[i].from, "/")))
            continue;
        if (asprintf(&result, "%s/%s", sources->maps[i].to, path + length + (path[length] == '/')) <
            0)
            result = NULL;
        free(path);
        return result;
    }
    return path;
}

static int index_lines(struct source *source, size_t size)
{
    uint32_t count = 1;

    for (size_t i = 0; i < size; i++)
        count += source->text[i] == '\n';
    source->line_off = calloc(count, sizeof(*source->line_off));
    if (!source->line_off)
        return -ENOMEM;
    for (size_t i = 0, start = 0; i <= size; i++) {
        if (i < size && source->text[i] != '\n')
            continue;
        if (i < size || i > start) /* no line after the last newline */
            source->line_off[source->line_count++] = (uint32_t)start;
        source->text[i] = '\0';
        if (i > start && source->text[i - 1] == '\r')
            source->text[i - 1] = '\0';
        start = i + 1;
    }
    return 0;
}

static int read_text(struct source *source, int fd, size_t size)
{
    size_t have = 0;

    source->text = malloc(size + 1);
    if (!source->text)
        return -ENOMEM;
    while (have < size) {
        ssize_t got = read(fd, source->text + have, size - have);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    source->text[have] = '\0';
    return index_lines(source, have);
}

static int source_load(const struct mdl_sources *sources, const char *file, struct source **loaded)
{
    struct source *source = calloc(1, sizeof(*source));
    char *path = mapped_path(sources, file);
    struct stat status;
    int fd = -1, result = 0;

    if (!source || !path) {
        free(source);
        free(path);
        return -ENOMEM;
    }
    /* the program's debug information has the name: it may lead to a device */
    bool is_open = wd_regular_try(AT_FDCWD, path, WD_LINKS_FOLLOW, &fd, &status) == 0;
    free(path);
    if (is_open && status.st_size < SOURCE_BYTES_MAX) {
        source->mtime_s = status.st_mtime;
        result = read_text(source, fd, (size_t)status.st_size);
    }
    if (fd >= 0)
        close(fd);
    if (result < 0) {
        source_free(source);
        return result;
    }
    *loaded = source;
    return 0;
}

static int source_get(struct wetdbg_model *model, const char *file, struct source **source)
{
    const char *key = mdl_strings_intern(&model->strings, file, SIZE_MAX);
    struct mdl_sources *sources = sources_get(model);
    int result;

    if (!key || !sources)
        return -ENOMEM;
    *source = mdl_addrmap_get(&sources->by_file, (uintptr_t)key);
    if (*source)
        return 0;
    result = source_load(sources, file, source);
    if (result < 0)
        return result;
    if (mdl_addrmap_set(&sources->by_file, (uintptr_t)key, *source) < 0) {
        source_free(*source);
        return -ENOMEM;
    }
    return 0;
}

int wetdbg_source_line(struct wetdbg_model *model, const char *file, uint32_t line, uint64_t pc,
                       const char **text, unsigned *flags)
{
    const struct mdl_mod *mod = pc ? mdl_mod_at(model, pc) : NULL;
    struct source *source;
    int result = source_get(model, file, &source);

    if (result < 0)
        return result;
    *text = NULL;
    *flags = 0;
    if (!source->text)
        *flags |= WETDBG_SOURCE_MISSING;
    else if (line == 0 || line > source->line_count)
        *flags |= WETDBG_SOURCE_SHORT;
    else
        *text = source->text + source->line_off[line - 1];
    if (source->text && mod && mod->mtime_s && source->mtime_s > mod->mtime_s)
        *flags |= WETDBG_SOURCE_NEWER;
    return 0;
}
