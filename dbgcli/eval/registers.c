/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/eval/registers.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/nav/general.h"
#include <wetdbg/errors.h>

#define XSAVE_HEADER  512
#define XSAVE_MXCSR   24
#define XSAVE_ST      32
#define ST_BYTES      16
#define COMPONENT_X87 1u
#define MASK_COUNT    8

enum shape { SHAPE_LONG, SHAPE_POINTER, SHAPE_CODE, SHAPE_FLAGS, SHAPE_INT };

#define AT(name) (int)offsetof(struct user_regs_struct, name)

/* Names of registers, by DWARF number or (not of the unwinder) by place in struct
 * user_regs_struct. */
static const struct {
    const char *name;
    unsigned dwarf;
    int offset; /* -1: dwarf */
    enum shape shape;
} whole[] = {
    {"rax", 0, -1, SHAPE_LONG},
    {"rbx", 3, -1, SHAPE_LONG},
    {"rcx", 2, -1, SHAPE_LONG},
    {"rdx", 1, -1, SHAPE_LONG},
    {"rsi", 4, -1, SHAPE_LONG},
    {"rdi", 5, -1, SHAPE_LONG},
    {"rbp", 6, -1, SHAPE_POINTER},
    {"rsp", 7, -1, SHAPE_POINTER},
    {"r8", 8, -1, SHAPE_LONG},
    {"r9", 9, -1, SHAPE_LONG},
    {"r10", 10, -1, SHAPE_LONG},
    {"r11", 11, -1, SHAPE_LONG},
    {"r12", 12, -1, SHAPE_LONG},
    {"r13", 13, -1, SHAPE_LONG},
    {"r14", 14, -1, SHAPE_LONG},
    {"r15", 15, -1, SHAPE_LONG},
    {"rip", 16, -1, SHAPE_CODE},
    {"eflags", 0, AT(eflags), SHAPE_FLAGS},
    {"cs", 0, AT(cs), SHAPE_INT},
    {"ss", 0, AT(ss), SHAPE_INT},
    {"ds", 0, AT(ds), SHAPE_INT},
    {"es", 0, AT(es), SHAPE_INT},
    {"fs", 0, AT(fs), SHAPE_INT},
    {"gs", 0, AT(gs), SHAPE_INT},
    {"fs_base", 0, AT(fs_base), SHAPE_LONG},
    {"gs_base", 0, AT(gs_base), SHAPE_LONG},
};
#define WHOLE_COUNT (sizeof(whole) / sizeof(*whole))

static const char *const aliases[][2] = {{"pc", "rip"}, {"sp", "rsp"}, {"fp", "rbp"}};

static const struct {
    const char *name, *of;
    unsigned offset, size;
} parts[] = {
    {"eax", "rax", 0, 4}, {"ebx", "rbx", 0, 4}, {"ecx", "rcx", 0, 4}, {"edx", "rdx", 0, 4},
    {"esi", "rsi", 0, 4}, {"edi", "rdi", 0, 4}, {"ebp", "rbp", 0, 4}, {"esp", "rsp", 0, 4},
    {"ax", "rax", 0, 2},  {"bx", "rbx", 0, 2},  {"cx", "rcx", 0, 2},  {"dx", "rdx", 0, 2},
    {"si", "rsi", 0, 2},  {"di", "rdi", 0, 2},  {"bp", "rbp", 0, 2},  {"al", "rax", 0, 1},
    {"bl", "rbx", 0, 1},  {"cl", "rcx", 0, 1},  {"dl", "rdx", 0, 1},  {"sil", "rsi", 0, 1},
    {"dil", "rdi", 0, 1}, {"bpl", "rbp", 0, 1}, {"spl", "rsp", 0, 1}, {"ah", "rax", 1, 1},
    {"bh", "rbx", 1, 1},  {"ch", "rcx", 1, 1},  {"dh", "rdx", 1, 1},
};
#define PART_COUNT (sizeof(parts) / sizeof(*parts))

static struct wetdbg_type type_of(enum shape shape)
{
    switch (shape) {
    case SHAPE_POINTER:
        return (struct wetdbg_type){.kind = WETDBG_TYPE_POINTER, .size_bytes = 8, .name = "void *"};
    case SHAPE_CODE:
        return (struct wetdbg_type){
            .kind = WETDBG_TYPE_POINTER, .size_bytes = 8, .name = "void (*)()"};
    case SHAPE_FLAGS:
        return (struct wetdbg_type){
            .kind = WETDBG_TYPE_UNSIGNED, .size_bytes = 4, .name = CLI_TYPE_FLAGS};
    case SHAPE_INT:
        return *cli_type_basic(CLI_BASIC_INT);
    case SHAPE_LONG:
        break;
    }
    return *cli_type_basic(CLI_BASIC_LONG);
}

static int whole_value(struct cli_frame_view *view, size_t index, struct cli_value *value)
{
    const struct cli_moment *moment = view->moment;
    uint64_t bits = 0;
    int err = 0;
    if (whole[index].offset < 0)
        err = cli_frame_register(view, whole[index].dwarf, &bits);
    else if (whole[index].shape == SHAPE_FLAGS && !moment->frames[view->frame].is_top)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "eflags of this frame were overwritten by its callees");
    else
        bits = cli_register_at(wetdbg_state_registers(moment->state), (size_t)whole[index].offset);
    if (err)
        return err;
    *value = (struct cli_value){.type = type_of(whole[index].shape)};
    memcpy(value->bytes, &bits, sizeof(bits));
    return 0;
}

static int find_whole(const char *name)
{
    for (size_t i = 0; i < sizeof(aliases) / sizeof(*aliases); i++)
        if (strcmp(aliases[i][0], name) == 0)
            name = aliases[i][1];
    for (size_t i = 0; i < WHOLE_COUNT; i++)
        if (strcmp(whole[i].name, name) == 0)
            return (int)i;
    return -1;
}

static const struct wetdbg_type *type_of_size(unsigned size)
{
    static const struct wetdbg_type byte = {WETDBG_TYPE_SIGNED, 1, 0, 1, "int8_t", 0};
    if (size == 1)
        return &byte;
    return cli_type_basic(size == 2 ? CLI_BASIC_SHORT : CLI_BASIC_INT);
}

static int part_value(struct cli_frame_view *view, const char *of, unsigned offset, unsigned size,
                      struct cli_value *value)
{
    int err = whole_value(view, (size_t)find_whole(of), value);
    if (err)
        return err;
    value->type = *type_of_size(size);
    memmove(value->bytes, value->bytes + offset, size);
    memset(value->bytes + size, 0, sizeof(value->bytes) - size);
    return 0;
}

/* The value of a part of an extended register: r8d, r8w, r8l (r8b) to r15l. */
static int extended_part(struct cli_frame_view *view, const char *name, struct cli_value *value)
{
    char of[4], letter;
    unsigned number, size;
    int end = 0;
    if (sscanf(name, "r%2u%c%n", &number, &letter, &end) != 2 || name[end] || number < 8 ||
        number > 15 || !strchr("dwlb", letter))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no register is called '$%s'", name);
    size = letter == 'd' ? 4 : letter == 'w' ? 2 : 1;
    snprintf(of, sizeof(of), "r%u", number % 100);
    return part_value(view, of, 0, size, value);
}

/* ---- vector and x87 registers: the XSAVE image, of which parts may be in their first state
 * ---- */

static bool image_part(const struct cli_moment *moment, size_t offset, size_t size,
                       uint64_t component, void *bytes)
{
    size_t image_size;
    uint64_t present;
    const uint8_t *image = wetdbg_state_xstate(moment->state, &image_size);
    memset(bytes, 0, size);
    if (!image || image_size < XSAVE_HEADER + sizeof(present) || offset + size > image_size)
        return false;
    memcpy(&present, image + XSAVE_HEADER, sizeof(present));
    if (present & component)
        memcpy(bytes, image + offset, size);
    return true;
}

static int check_innermost(const struct cli_frame_view *view)
{
    return view->moment->frames[view->frame].is_top
               ? 0
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                             "vector registers are known in the innermost frame only");
}

/* The value of xmm, ymm or zmm of a number; `letter` is the name's first one. */
static int vector_value(struct cli_frame_view *view, unsigned number, char letter,
                        struct cli_value *value)
{
    unsigned size = letter == 'x' ? 16 : letter == 'y' ? 32 : 64, width;
    uint8_t bytes[64];
    int err = check_innermost(view);
    if (!err)
        err = wetdbg_state_vector(view->moment->state, number, bytes, &width);
    if (!err && size == 64 && width < 64)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "this processor has no AVX-512, and so no zmm%u",
                          number);
    if (err)
        return err;
    *value = (struct cli_value){.type = {.kind = WETDBG_TYPE_OTHER, .size_bytes = size}};
    strcpy(value->type.name, size == 16   ? CLI_TYPE_VEC128
                             : size == 32 ? CLI_TYPE_VEC256
                                          : CLI_TYPE_VEC512);
    memcpy(value->bytes, bytes, size);
    return 0;
}

static int mask_value(struct cli_frame_view *view, unsigned number, struct cli_value *value)
{
    uint64_t mask;
    int err = check_innermost(view);
    if (!err)
        err = wetdbg_state_mask(view->moment->state, number, &mask);
    if (err)
        return err;
    *value = (struct cli_value){.type = *cli_type_basic(CLI_BASIC_UNSIGNED_LONG)};
    memcpy(value->bytes, &mask, sizeof(mask));
    return 0;
}

static int float_value(struct cli_frame_view *view, const char *name, struct cli_value *value)
{
    bool is_mxcsr = strcmp(name, "mxcsr") == 0, is_known;
    unsigned number = is_mxcsr ? 0 : (unsigned)(name[2] - '0');
    if (!view->moment->frames[view->frame].is_top)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is known in the innermost frame only", name);
    *value = (struct cli_value){.type = *cli_type_basic(CLI_BASIC_LONG_DOUBLE)};
    if (is_mxcsr)
        value->type = (struct wetdbg_type){
            .kind = WETDBG_TYPE_UNSIGNED, .size_bytes = 4, .name = CLI_TYPE_MXCSR};
    if (is_mxcsr)
        is_known = image_part(view->moment, XSAVE_MXCSR, 4, ~UINT64_C(0), value->bytes);
    else
        is_known = image_part(view->moment, XSAVE_ST + ST_BYTES * (size_t)number, 10, COMPONENT_X87,
                              value->bytes);
    return is_known ? 0 : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is not known here", name);
}

/* ---- the x87 unit's control registers ---- */

#define CONTROL_FIRST 0x37f /* in the first state, of which the image has nothing */
#define TAG_VALID     0u
#define TAG_ZERO      1u
#define TAG_SPECIAL   2u
#define TAG_EMPTY     3u

/* Of the image; gdb's pointers are those of 32-bit code, with selectors. */
static const struct {
    const char *name;
    unsigned offset, size;
} controls[] = {
    {"fctrl", 0, 2}, {"fstat", 2, 2},  {"ftag", 4, 1},   {"fiseg", 12, 2},
    {"fioff", 8, 4}, {"foseg", 20, 2}, {"fooff", 16, 4}, {"fop", 6, 2},
};
#define CONTROL_COUNT (sizeof(controls) / sizeof(*controls))

static bool is_x87_present(const struct cli_moment *moment)
{
    size_t size;
    uint64_t present = 0;
    const uint8_t *image = wetdbg_state_xstate(moment->state, &size);
    if (image && size >= XSAVE_HEADER + sizeof(present))
        memcpy(&present, image + XSAVE_HEADER, sizeof(present));
    return present & COMPONENT_X87;
}

/* What the tag word says of a register that is not empty. */
static unsigned tag_of(const uint8_t st[10])
{
    uint64_t mantissa;
    unsigned exponent = (st[8] | st[9] << 8) & 0x7fffu;
    memcpy(&mantissa, st, sizeof(mantissa));
    if (exponent == 0 && mantissa == 0)
        return TAG_ZERO;
    return exponent && exponent != 0x7fff && mantissa >> 63 ? TAG_VALID : TAG_SPECIAL;
}

/* The tag word: the image has only which registers are in use. */
static uint64_t full_tags(const struct cli_moment *moment, uint64_t in_use)
{
    uint64_t tags = 0;
    uint16_t status = 0;
    image_part(moment, 2, sizeof(status), COMPONENT_X87, &status);
    for (unsigned i = 0; i < 8; i++) {
        unsigned place = (i - (status >> 11 & 7u)) & 7u, tag = TAG_EMPTY;
        uint8_t st[10];
        if (in_use >> i & 1 &&
            image_part(moment, XSAVE_ST + ST_BYTES * (size_t)place, sizeof(st), COMPONENT_X87, st))
            tag = tag_of(st);
        tags |= (uint64_t)tag << 2 * i;
    }
    return tags;
}

static int control_value(struct cli_frame_view *view, size_t index, struct cli_value *value)
{
    uint64_t bits = 0;
    int err = check_innermost(view);
    if (!err && !image_part(view->moment, controls[index].offset, controls[index].size,
                            COMPONENT_X87, &bits))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is not known here", controls[index].name);
    if (err)
        return err;
    if (strcmp(controls[index].name, "fctrl") == 0 && !is_x87_present(view->moment))
        bits = CONTROL_FIRST;
    if (strcmp(controls[index].name, "ftag") == 0)
        bits = full_tags(view->moment, bits);
    *value = (struct cli_value){.type = *cli_type_basic(CLI_BASIC_INT)};
    memcpy(value->bytes, &bits, sizeof(bits));
    return 0;
}

/* ---- by name ---- */

int cli_register_value(struct cli_frame_view *view, const char *name, struct cli_value *value)
{
    unsigned number;
    int index = find_whole(name), end = 0;
    if (index >= 0)
        return whole_value(view, (size_t)index, value);
    for (size_t i = 0; i < PART_COUNT; i++)
        if (strcmp(parts[i].name, name) == 0)
            return part_value(view, parts[i].of, parts[i].offset, parts[i].size, value);
    if (*name && strchr("xyz", *name) && sscanf(name + 1, "mm%2u%n", &number, &end) == 1 &&
        !name[1 + end] && number < 32)
        return vector_value(view, number, *name, value);
    if (sscanf(name, "k%1u%n", &number, &end) == 1 && !name[end] && number < MASK_COUNT)
        return mask_value(view, number, value);
    if (strcmp(name, "mxcsr") == 0 ||
        (strncmp(name, "st", 2) == 0 && name[2] >= '0' && name[2] <= '7' && !name[3]))
        return float_value(view, name, value);
    for (size_t i = 0; i < CONTROL_COUNT; i++)
        if (strcmp(controls[i].name, name) == 0)
            return control_value(view, i, value);
    return extended_part(view, name, value);
}

const char *cli_register_name(enum cli_register_group group, size_t index)
{
    static const char *const vectors[] = {
        "xmm0", "xmm1", "xmm2",  "xmm3",  "xmm4",  "xmm5",  "xmm6",  "xmm7",
        "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "ymm0", "ymm1", "ymm2",  "ymm3",  "ymm4",  "ymm5",  "ymm6",  "ymm7",
        "ymm8", "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15",
    };
    static const char *const of_avx512[] = {
        "k0",    "k1",    "k2",    "k3",    "k4",    "k5",    "k6",    "k7",    "zmm0",  "zmm1",
        "zmm2",  "zmm3",  "zmm4",  "zmm5",  "zmm6",  "zmm7",  "zmm8",  "zmm9",  "zmm10", "zmm11",
        "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18", "zmm19", "zmm20", "zmm21",
        "zmm22", "zmm23", "zmm24", "zmm25", "zmm26", "zmm27", "zmm28", "zmm29", "zmm30", "zmm31",
    };
    static const char *const floats[] = {"st0",   "st1",   "st2",   "st3",   "st4",  "st5",
                                         "st6",   "st7",   "fctrl", "fstat", "ftag", "fiseg",
                                         "fioff", "foseg", "fooff", "fop",   "mxcsr"};
    switch (group) {
    case CLI_REGISTERS_GENERAL:
        return index < WHOLE_COUNT ? whole[index].name : NULL;
    case CLI_REGISTERS_VECTOR:
        return index < sizeof(vectors) / sizeof(*vectors) ? vectors[index] : NULL;
    case CLI_REGISTERS_AVX512:
        return index < sizeof(of_avx512) / sizeof(*of_avx512) ? of_avx512[index] : NULL;
    case CLI_REGISTERS_FLOAT:
        return index < sizeof(floats) / sizeof(*floats) ? floats[index] : NULL;
    case CLI_REGISTERS_PART:
        return index < PART_COUNT ? parts[index].name : NULL;
    }
    return NULL;
}

void cli_flags_print(FILE *stream, uint64_t flags, bool is_mxcsr)
{
    static const char *const eflags[] = {"CF", NULL, "PF", NULL,  "AF",  NULL, "ZF", "SF",
                                         "TF", "IF", "DF", "OF",  NULL,  NULL, "NT", NULL,
                                         "RF", "VM", "AC", "VIF", "VIP", "ID"};
    static const char *const mxcsr[] = {"IE", "DE", "ZE", "OE", "UE", "PE", "DAZ", "IM",
                                        "DM", "ZM", "OM", "UM", "PM", NULL, NULL,  "FZ"};
    const char *const *names = is_mxcsr ? mxcsr : eflags;
    size_t count = is_mxcsr ? sizeof(mxcsr) / sizeof(*mxcsr) : sizeof(eflags) / sizeof(*eflags);
    fputs("[", stream);
    for (size_t i = 0; i < count; i++)
        if (names[i] && flags >> i & 1)
            fprintf(stream, " %s", names[i]);
    fputs(" ]", stream);
}
