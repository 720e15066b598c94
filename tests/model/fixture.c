/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "fixture.h"

#include <elf.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include <wetdbg/errors.h>

void *fixture_read(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    char *data;

    if (!file)
        fail_msg("cannot open %s", path);
    assert_int_equal(fstat(fileno(file), &status), 0);
    data = malloc((size_t)status.st_size + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, (size_t)status.st_size, file), status.st_size);
    data[status.st_size] = '\0';
    fclose(file);
    *size = (size_t)status.st_size;
    return data;
}

size_t fixture_segments(const void *data, size_t size, uint64_t base, struct mdl_segment **segments)
{
    const Elf64_Ehdr *header = data;
    size_t count = 0;

    *segments = NULL;
    if (size < sizeof(*header) || header->e_phoff > size ||
        header->e_phnum > (size - header->e_phoff) / sizeof(Elf64_Phdr))
        return 0;
    *segments = calloc(header->e_phnum + 1, sizeof(**segments));
    assert_non_null(*segments);
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr phdr;
        uint64_t skew;

        memcpy(&phdr, (const char *)data + header->e_phoff + i * sizeof(phdr), sizeof(phdr));
        if (phdr.p_type != PT_LOAD || phdr.p_filesz == 0)
            continue;
        skew = phdr.p_vaddr & 0xfff;
        (*segments)[count++] = (struct mdl_segment){
            .start = base + phdr.p_vaddr - skew,
            .size_bytes = (phdr.p_filesz + skew + 0xfff) & ~UINT64_C(0xfff),
            .file_off = phdr.p_offset - skew,
            .prot = (phdr.p_flags & PF_R ? PROT_READ : 0) | (phdr.p_flags & PF_W ? PROT_WRITE : 0) |
                    (phdr.p_flags & PF_X ? PROT_EXEC : 0),
        };
    }
    return count;
}

void fixture_add(struct wetdbg_model *model, const char *path, uint64_t base, int search_debug)
{
    struct mdl_module_input input = {
        .path = path, .debug = MDL_IMAGE_NONE, .alt = MDL_IMAGE_NONE, .search_debug = search_debug};
    struct mdl_segment *segments;
    size_t size;
    void *data = fixture_read(path, &size);
    int result;

    input.file.fd = open(path, O_RDONLY | O_CLOEXEC);
    input.segment_count = fixture_segments(data, size, base, &segments);
    input.segments = segments;
    result = mdl_add_module(model, &input, NULL);
    if (result < 0)
        fail_msg("%s: %s", path, wetdbg_error(result));
    close(input.file.fd);
    free(segments);
    free(data);
}

struct wetdbg_model *fixture_load(const char *path, uint64_t base)
{
    struct wetdbg_model *model = mdl_new();

    assert_non_null(model);
    fixture_add(model, path, base, 1);
    return model;
}

char *fixture_run(const char *format, ...)
{
    size_t size = 0, capacity = 1 << 16, got;
    char *command, *output;
    va_list args;
    FILE *pipe;
    int status;

    va_start(args, format);
    if (vasprintf(&command, format, args) < 0)
        fail_msg("out of memory");
    va_end(args);
    output = malloc(capacity);
    pipe = popen(command, "r");
    assert_non_null(output);
    assert_non_null(pipe);
    while ((got = fread(output + size, 1, capacity - size - 1, pipe)) > 0) {
        size += got;
        if (capacity - size < 4096) {
            capacity *= 2;
            output = realloc(output, capacity);
            assert_non_null(output);
        }
    }
    output[size] = '\0';
    status = pclose(pipe);
    if (status != 0)
        fail_msg("\"%s\" exits with status %d: %s", command, WEXITSTATUS(status), output);
    free(command);
    return output;
}

uint64_t fixture_function(struct wetdbg_model *model, const char *name)
{
    struct wetdbg_function *functions;
    size_t count;
    uint64_t start;
    int result = wetdbg_functions_named(model, name, &functions, &count);

    if (result < 0)
        fail_msg("%s", wetdbg_error(result));
    start = functions[0].start;
    free(functions);
    return start;
}

uint64_t fixture_line(struct wetdbg_model *model, const char *file, uint32_t line)
{
    struct wetdbg_line_location *locations;
    uint64_t pc = 0;
    size_t count;
    int result = wetdbg_line_locations(model, file, line, &locations, &count);

    if (result < 0)
        fail_msg("%s", wetdbg_error(result));
    for (size_t i = 0; i < count; i++)
        if (locations[i].is_breakpoint && pc == 0)
            pc = locations[i].pc;
    free(locations);
    assert_int_not_equal(pc, 0);
    return pc;
}

uint32_t fixture_marker(const char *file, const char *marker)
{
    size_t size;
    char *text = fixture_read(file, &size), *found = strstr(text, marker);
    uint32_t line = 1;

    if (!found)
        fail_msg("%s has no \"%s\"", file, marker);
    for (char *at = text; at < found; at++)
        line += *at == '\n';
    free(text);
    return line;
}

struct address_walk {
    struct wetdbg_model *model;
    uint64_t base;
    FILE *list;
    unsigned count;
};

static int put_addresses(void *context, const struct wetdbg_function *function)
{
    struct address_walk *walk = context;
    struct wetdbg_line line;

    if (wetdbg_line_at(walk->model, function->start, &line) < 0)
        return 0;
    for (uint64_t pc = function->start; pc < function->end; pc += 3, walk->count++)
        fprintf(walk->list, "0x%llx\n", (unsigned long long)(pc - walk->base));
    return 0;
}

unsigned fixture_put_addresses(struct wetdbg_model *model, uint64_t base, FILE *list)
{
    struct address_walk walk = {model, base, list, 0};

    assert_non_null(list);
    assert_int_equal(wetdbg_functions_each(model, NULL, put_addresses, &walk), 0);
    fclose(list);
    return walk.count;
}

struct wetdbg_model *fixture_generated(const uint8_t *code, size_t code_bytes, uint64_t size)
{
    struct mdl_segment segment = {FIXTURE_GENERATED, size, 0, PROT_EXEC};
    struct mdl_module_input input = {
        .path = "[generated]",
        .file = {-1, code, code_bytes},
        .debug = MDL_IMAGE_NONE,
        .alt = MDL_IMAGE_NONE,
        .segments = &segment,
        .segment_count = 1,
    };
    struct wetdbg_model *model = mdl_new();

    assert_int_equal(mdl_add_module(model, &input, NULL), 0);
    return model;
}
