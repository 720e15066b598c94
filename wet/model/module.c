/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modules: adding them and finding them by address. Nothing is parsed here but program headers. */
#include "wet/model/module.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/bisect.h"
#include "wet/model/debugfile.h"
#include <wetdbg/errors.h>

void mdl_mod_free(struct mdl_mod *mod)
{
    if (!mod)
        return;
    for (int kind = 0; kind < MDL_IMAGE_KINDS; kind++) {
        elf_end(mod->elfs[kind]);
        mdl_image_fini(&mod->images[kind]);
    }
    free(mod->segments);
    free(mod);
}

/* ---- Adding ------------------------------------------------------------------------------ */

static int image_take(const struct mdl_image *from, const char *path, struct mdl_image_bytes *image)
{
    if (from->data)
        *image = (struct mdl_image_bytes){.data = from->data, .size_bytes = from->size_bytes};
    else if (from->fd >= 0)
        return mdl_image_map(image, from->fd, path);
    return 0;
}

static int compare_segments(const void *left, const void *right)
{
    const struct mdl_segment *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_spans(const void *left, const void *right)
{
    const struct mdl_model_span *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

static void find_limits(struct mdl_mod *mod)
{
    const struct mdl_segment *last = &mod->segments[mod->segment_count - 1];

    mod->info.start = mod->segments[0].start;
    mod->info.end = last->start + last->size_bytes;
}

static int segments_copy(struct mdl_mod *mod, const struct mdl_module_input *input)
{
    mod->segments = calloc(input->segment_count, sizeof(*mod->segments));
    if (!mod->segments)
        return -ENOMEM;
    memcpy(mod->segments, input->segments, input->segment_count * sizeof(*mod->segments));
    mod->segment_count = input->segment_count;
    qsort(mod->segments, mod->segment_count, sizeof(*mod->segments), compare_segments);
    for (size_t i = 0; i < mod->segment_count; i++) {
        const struct mdl_segment *segment = &mod->segments[i];

        if (segment->size_bytes == 0 || segment->start + segment->size_bytes < segment->start ||
            segment->file_off + segment->size_bytes < segment->file_off)
            return wetdbg_fail(-EINVAL, "%s: segment at 0x%llx has an impossible size", input->path,
                               (unsigned long long)segment->start);
    }
    find_limits(mod);
    return 0;
}

/* The bias that one segment implies, if a PT_LOAD covers its file offset. */
static int segment_bias(Elf *elf, const struct mdl_segment *segment, uint64_t *bias)
{
    size_t count;

    if (elf_getphdrnum(elf, &count) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr phdr;
        uint64_t first;

        if (!gelf_getphdr(elf, (int)i, &phdr) || phdr.p_type != PT_LOAD || phdr.p_filesz == 0)
            continue;
        first = phdr.p_offset & ~(uint64_t)0xfff;
        if (segment->file_off < first || segment->file_off - first >= phdr.p_filesz + 0xfff)
            continue;
        *bias = segment->start - (phdr.p_vaddr - phdr.p_offset + segment->file_off);
        return 0;
    }
    return -1;
}

/* Finds the module's bias, by executable segments first: a file offset can lie in two PT_LOADs'
 * pages, and code is what matters. Where nothing fits (no ELF, damaged headers) addresses are file
 * offsets. */
static void find_bias(struct mdl_mod *mod, Elf *elf)
{
    for (int want_exec = 1; elf && want_exec >= 0; want_exec--)
        for (size_t i = 0; i < mod->segment_count; i++) {
            bool is_exec = (mod->segments[i].prot & PROT_EXEC) != 0;

            if (is_exec == want_exec && segment_bias(elf, &mod->segments[i], &mod->info.bias) == 0)
                return;
        }
    mod->info.bias = mod->segments[0].start - mod->segments[0].file_off;
}

static int spans_add(struct wetdbg_model *model, struct mdl_mod *mod)
{
    size_t count = model->span_count + mod->segment_count;
    struct mdl_model_span *spans = calloc(count, sizeof(*spans));

    if (!spans)
        return -ENOMEM;
    if (model->span_count)
        memcpy(spans, model->spans, model->span_count * sizeof(*spans));
    for (size_t i = 0; i < mod->segment_count; i++)
        spans[model->span_count + i] = (struct mdl_model_span){
            .start = mod->segments[i].start,
            .end = mod->segments[i].start + mod->segments[i].size_bytes,
            .mod = mod,
        };
    qsort(spans, count, sizeof(*spans), compare_spans);
    for (size_t i = 1; i < count; i++)
        if (spans[i].start < spans[i - 1].end) {
            wetdbg_fail(-EEXIST, "%s at 0x%llx overlaps %s", spans[i].mod->info.path,
                        (unsigned long long)spans[i].start, spans[i - 1].mod->info.path);
            free(spans);
            return -EEXIST;
        }
    free(model->spans);
    model->spans = spans;
    model->span_count = count;
    return 0;
}

static int mod_init(struct mdl_mod *mod, const struct mdl_module_input *input)
{
    const struct mdl_image *images[MDL_IMAGE_KINDS] = {&input->file, &input->debug, &input->alt};
    const char *slash;
    int result;

    mod->info.path = mdl_strings_intern(&mod->model->strings, input->path, SIZE_MAX);
    if (!mod->info.path)
        return -ENOMEM;
    slash = strrchr(mod->info.path, '/');
    mod->info.name = slash && slash[1] ? slash + 1 : mod->info.path;
    mod->search_debug = input->search_debug;
    mod->load = input->load;
    mod->load_arg = input->load_arg;
    mod->mtime_s = input->mtime_s;
    result = segments_copy(mod, input);
    for (int kind = 0; result == 0 && kind < MDL_IMAGE_KINDS; kind++)
        result = image_take(images[kind], input->path, &mod->images[kind]);
    if (result < 0)
        return result;
    mod->info.is_elf = mdl_mod_elf(mod, MDL_IMAGE_FILE) != NULL;
    find_bias(mod, mod->elfs[MDL_IMAGE_FILE]);
    return 0;
}

int mdl_add_module(struct wetdbg_model *model, const struct mdl_module_input *input,
                   wetdbg_module_id *id)
{
    struct mdl_mod **mods;
    struct mdl_mod *mod;
    int result;

    if (!input->path || input->segment_count == 0 || (!input->file.data && input->file.fd < 0))
        return wetdbg_fail(-EINVAL, "a module needs a path, an image and segments");
    mods = realloc(model->mods, (model->mod_count + 1) * sizeof(struct mdl_mod *));
    mod = calloc(1, sizeof(*mod));
    if (mods)
        model->mods = mods;
    if (!mods || !mod) {
        free(mod);
        return -ENOMEM;
    }
    mod->model = model;
    mod->info.id = (wetdbg_module_id)model->mod_count;
    result = mod_init(mod, input);
    if (result == 0)
        result = spans_add(model, mod);
    if (result < 0) {
        mdl_mod_free(mod);
        return result;
    }
    model->mods[model->mod_count++] = mod;
    if (id)
        *id = mod->info.id;
    return 0;
}

/* ---- What the mappings do not tell -------------------------------------------------------- */

/* Where a part of an ELF file belongs, in whole pages; false if that cannot be. */
static bool part_of(const struct mdl_mod *mod, const GElf_Phdr *phdr, struct mdl_segment *part)
{
    uint64_t before = phdr->p_vaddr & 0xfff, size = before + phdr->p_filesz + 0xfff;

    if (phdr->p_type != PT_LOAD || phdr->p_filesz == 0 || size < phdr->p_filesz)
        return false;
    *part = (struct mdl_segment){.start = mod->info.bias + phdr->p_vaddr - before,
                                 .size_bytes = size & ~UINT64_C(0xfff),
                                 .file_off = phdr->p_offset & ~UINT64_C(0xfff),
                                 .prot = (phdr->p_flags & PF_R ? PROT_READ : 0u) |
                                         (phdr->p_flags & PF_W ? PROT_WRITE : 0u) |
                                         (phdr->p_flags & PF_X ? PROT_EXEC : 0u)};
    return part->start + part->size_bytes > part->start &&
           part->file_off + part->size_bytes > part->file_off;
}

/* Adds a segment to a module, where nothing else is. */
static int add_segment(struct wetdbg_model *model, struct mdl_mod *mod,
                       const struct mdl_segment *segment)
{
    uint64_t end = segment->start + segment->size_bytes;
    size_t at = wd_bisect(0, model->span_count, i, model->spans[i].end <= segment->start);

    if (at < model->span_count && model->spans[at].start < end)
        return 0;
    struct mdl_segment *segments =
        realloc(mod->segments, (mod->segment_count + 1) * sizeof(*segments));
    if (segments)
        mod->segments = segments;
    struct mdl_model_span *spans = realloc(model->spans, (model->span_count + 1) * sizeof(*spans));
    if (spans)
        model->spans = spans;
    if (!segments || !spans)
        return -ENOMEM;
    segments[mod->segment_count++] = *segment;
    qsort(segments, mod->segment_count, sizeof(*segments), compare_segments);
    find_limits(mod);
    memmove(spans + at + 1, spans + at, (model->span_count - at) * sizeof(*spans));
    spans[at] = (struct mdl_model_span){.start = segment->start, .end = end, .mod = mod};
    model->span_count++;
    return 0;
}

/* Of a module; files have some four. Each costs a look at all spans of the model. */
#define PARTS_MAX   64
#define HEADERS_MAX 1024

int mdl_add_unnamed_parts(struct wetdbg_model *model, mdl_is_mapped_fn is_mapped, void *arg)
{
    for (size_t m = 0; m < model->mod_count; m++) {
        struct mdl_mod *mod = model->mods[m];
        Elf *elf = mod->elfs[MDL_IMAGE_FILE];
        size_t count;
        if (!elf || elf_getphdrnum(elf, &count) < 0)
            continue;
        for (size_t i = 0; i < count && i < HEADERS_MAX && mod->segment_count < PARTS_MAX; i++) {
            struct mdl_segment part;
            GElf_Phdr phdr;
            if (!gelf_getphdr(elf, (int)i, &phdr) || !part_of(mod, &phdr, &part) ||
                !is_mapped(arg, part.start, part.size_bytes))
                continue;
            if (add_segment(model, mod, &part))
                return -ENOMEM;
        }
    }
    return 0;
}

/* ---- Finding ----------------------------------------------------------------------------- */

static const struct mdl_model_span *span_at(const struct wetdbg_model *model, uint64_t address)
{
    size_t low = wd_bisect(0, model->span_count, i, model->spans[i].end <= address);
    if (low == model->span_count || model->spans[low].start > address)
        return NULL;
    return &model->spans[low];
}

struct mdl_mod *mdl_mod_at(const struct wetdbg_model *model, uint64_t pc)
{
    const struct mdl_model_span *span = span_at(model, pc);

    return span ? span->mod : NULL;
}

int mdl_mod_need(const struct wetdbg_model *model, uint64_t pc, struct mdl_mod **mod)
{
    *mod = mdl_mod_at(model, pc);
    if (!*mod) {
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no module at 0x%llx", (unsigned long long)pc);
    }
    return 0;
}

const struct mdl_segment *mdl_mod_segment(const struct mdl_mod *mod, uint64_t address)
{
    for (size_t i = 0; i < mod->segment_count; i++)
        if (address - mod->segments[i].start < mod->segments[i].size_bytes)
            return &mod->segments[i];
    return NULL;
}

int mdl_mod_is_code(const struct mdl_mod *mod, uint64_t address)
{
    const struct mdl_segment *segment = mdl_mod_segment(mod, address);

    return segment && (segment->prot & PROT_EXEC);
}

const uint8_t *mdl_mod_bytes(const struct mdl_mod *mod, uint64_t address, size_t *available)
{
    const struct mdl_image_bytes *image = &mod->images[MDL_IMAGE_FILE];
    const struct mdl_segment *segment = mdl_mod_segment(mod, address);
    uint64_t off, left;

    if (!segment)
        return NULL;
    off = segment->file_off + (address - segment->start);
    if (off >= image->size_bytes)
        return NULL;
    left = segment->size_bytes - (address - segment->start);
    *available = left < image->size_bytes - off ? (size_t)left : image->size_bytes - (size_t)off;
    return image->data + off;
}

int wetdbg_read_bytes(const struct wetdbg_model *model, uint64_t address, void *bytes, size_t count)
{
    uint8_t *out = bytes;

    while (count > 0) {
        struct mdl_mod *mod = mdl_mod_at(model, address);
        size_t available = 0;
        const uint8_t *from = mod ? mdl_mod_bytes(mod, address, &available) : NULL;

        if (!from)
            return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no file bytes at 0x%llx",
                               (unsigned long long)address);
        if (available > count)
            available = count;
        memcpy(out, from, available);
        out += available;
        address += available;
        count -= available;
    }
    return 0;
}

size_t wetdbg_module_count(const struct wetdbg_model *model)
{
    return model->mod_count;
}

void mdl_set_interrupt(struct wetdbg_model *model, const volatile sig_atomic_t *flag)
{
    model->interrupt = flag;
}

int mdl_check_interrupt(const struct wetdbg_model *model)
{
    if (!model->interrupt || !*model->interrupt)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
}

static int mod_by_id(const struct wetdbg_model *model, wetdbg_module_id id, struct mdl_mod **mod)
{
    if (id >= model->mod_count) {
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no module number %u", id);
    }
    *mod = model->mods[id];
    return 0;
}

int wetdbg_module_get(const struct wetdbg_model *model, wetdbg_module_id id,
                      struct wetdbg_module *module)
{
    struct mdl_mod *mod;
    int result = mod_by_id(model, id, &mod);

    if (result == 0)
        *module = mod->info;
    return result;
}

int wetdbg_module_at(const struct wetdbg_model *model, uint64_t pc, struct wetdbg_module *module)
{
    struct mdl_mod *mod;
    int result = mdl_mod_need(model, pc, &mod);

    if (result == 0)
        *module = mod->info;
    return result;
}

/* ---- Images ------------------------------------------------------------------------------ */

/* Asks whoever added the module for an absent debug or alt image. */
static void image_load(struct mdl_mod *mod, enum mdl_image_kind kind)
{
    struct mdl_image image = MDL_IMAGE_NONE;

    if (!mod->load || kind == MDL_IMAGE_FILE || mod->images[kind].data)
        return;
    mod->load(mod->load_arg, kind, &image);
    if (image.data || image.fd >= 0)
        image_take(&image, mod->info.path, &mod->images[kind]);
    if (image.fd >= 0)
        close(image.fd);
}

/* Looks for an absent debug or alt image; leaves it absent if there is none. */
static void image_search(struct mdl_mod *mod, enum mdl_image_kind kind)
{
    const struct mdl_image_bytes *of = &mod->images[MDL_IMAGE_FILE];
    char *path = NULL;
    int result = -1;

    if (!mod->search_debug || mod->images[kind].data)
        return;
    if (kind == MDL_IMAGE_ALT && mod->images[MDL_IMAGE_DEBUG].data)
        of = &mod->images[MDL_IMAGE_DEBUG];
    if (kind == MDL_IMAGE_DEBUG)
        result = mdl_find_debug_file(of->data, of->size_bytes, mod->info.path, &path);
    else if (kind == MDL_IMAGE_ALT)
        result = mdl_find_alt_file(of->data, of->size_bytes, mod->info.path, &path);
    if (result == 0)
        mdl_debugfile_map(path, &mod->images[kind]);
    free(path);
}

static Elf *elf_of(void *data, size_t size)
{
    Elf *elf = elf_memory(data, size);

    if (elf && (elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) != ELFCLASS64)) {
        elf_end(elf);
        return NULL;
    }
    return elf;
}

static bool has_compressed(Elf *elf)
{
    Elf_Scn *scn = NULL;
    GElf_Shdr shdr;

    while ((scn = elf_nextscn(elf, scn)))
        if (gelf_getshdr(scn, &shdr) && (shdr.sh_flags & SHF_COMPRESSED))
            return true;
    return false;
}

Elf *mdl_mod_elf(struct mdl_mod *mod, enum mdl_image_kind kind)
{
    struct mdl_image_bytes *image = &mod->images[kind];
    Elf *elf;

    if (mod->elf_tried & (1u << kind))
        return mod->elfs[kind];
    mod->elf_tried |= 1u << kind;
    image_load(mod, kind);
    image_search(mod, kind);
    if (!image->data)
        return NULL;
    elf = elf_of(image->scratch ? image->scratch : (void *)image->data, image->size_bytes);
    if (elf && !image->scratch && has_compressed(elf)) {
        elf_end(elf);
        elf = NULL;
        image->scratch = mmap(NULL, image->size_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (image->scratch == MAP_FAILED) {
            image->scratch = NULL;
            return NULL;
        }
        memcpy(image->scratch, image->data, image->size_bytes);
        elf = elf_of(image->scratch, image->size_bytes);
    }
    mod->elfs[kind] = elf;
    return elf;
}

int mdl_module_image(struct wetdbg_model *model, wetdbg_module_id id, enum mdl_image_kind kind,
                     const void **data, size_t *size_bytes)
{
    static const char *const names[] = {"image", "debug file", "shared debug file"};
    struct mdl_mod *mod;
    int result = mod_by_id(model, id, &mod);

    if (result < 0)
        return result;
    if (kind == MDL_IMAGE_ALT)
        mdl_mod_elf(mod, MDL_IMAGE_DEBUG); /* the alt file's link is in the debug file */
    mdl_mod_elf(mod, kind);
    if (!mod->images[kind].data)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s has no %s", mod->info.path, names[kind]);
    *data = mod->images[kind].data;
    *size_bytes = mod->images[kind].size_bytes;
    return 0;
}

static bool has_dwarf_in(struct mdl_mod *mod, enum mdl_image_kind kind)
{
    Elf *elf = mdl_mod_elf(mod, kind);
    GElf_Shdr shdr;
    Elf_Scn *scn;

    return elf && mdl_elf_section(elf, ".debug_info", &shdr, &scn) == 0 &&
           shdr.sh_type != SHT_NOBITS;
}

int wetdbg_module_debug(struct wetdbg_model *model, wetdbg_module_id id,
                        struct wetdbg_module_debug *debug)
{
    struct mdl_mod *mod;
    int result = mod_by_id(model, id, &mod);

    if (result < 0)
        return result;
    if (!mod->has_debug) {
        mod->debug.has_dwarf =
            has_dwarf_in(mod, MDL_IMAGE_FILE) || has_dwarf_in(mod, MDL_IMAGE_DEBUG);
        mdl_debugfile_build_id(mdl_mod_elf(mod, MDL_IMAGE_FILE), mod->debug.build_id,
                               sizeof(mod->debug.build_id));
        mod->has_debug = true;
    }
    *debug = mod->debug;
    return 0;
}
