/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "evex_forms.h"

#include <errno.h>
#include <string.h>

#include "insn_format.h"
#include "recorder/insn/insn.h"

void evex_list_fini(struct evex_list *list)
{
    wd_buf_fini(&list->forms);
}

size_t evex_list_count(const struct evex_list *list)
{
    return list->forms.size_bytes / sizeof(struct evex_form);
}

struct evex_form *evex_list_at(const struct evex_list *list, size_t i)
{
    return (struct evex_form *)list->forms.data + i;
}

/* ---- hashes ---- */

static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x01000193u;
    return hash;
}

static uint32_t hash_text(uint32_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

uint32_t evex_description_hash(const struct oracle_form *form)
{
    struct ins_info info;
    char text[4096];
    uint32_t hash = 0x811c9dc5u;
    if (ins_decode(form->code, form->length, 0x1000, &info) != 0)
        return 0;
    hash = hash_text(hash, ins_mnemonic_name(info.mnemonic));
    insn_format_flows(&info, text, sizeof(text));
    hash = hash_text(hash, text);
    insn_format_mems(&info, text, sizeof(text));
    hash = hash_text(hash, text);
    for (unsigned f = 0; f < info.flow_count; f++) {
        const struct ins_flow *flow = &info.flows[f];
        const uint8_t more[] = {flow->kinds, flow->copy_bytes, (uint8_t)flow->halves,
                                (uint8_t)(flow->halves >> 8)};
        hash = hash_bytes(hash, more, sizeof(more));
    }
    for (unsigned m = 0; m < info.mem_count; m++) {
        const uint8_t more[] = {(uint8_t)info.mems[m].lanes, (uint8_t)info.mems[m].mask};
        hash = hash_bytes(hash, more, sizeof(more));
    }
    if (info.choice.kind == INS_CHOICE_BYTES)
        hash = hash_bytes(hash, &info.choice, offsetof(struct ins_choice, top_step));
    return hash;
}

/* ---- all forms ---- */

/* What an encoding says beside its opcode. */
struct variant {
    uint8_t length; /* 0: 128 bits, 1: 256, 2: 512 */
    uint8_t mask;   /* 0: k0 */
    bool zeroing, broadcast;
    bool is_memory, is_list; /* operands in memory: one, or some by a vector of indices */
};

static const struct variant variants[] = {
    {0, 0, false, false, false, false}, {2, 0, false, false, false, false},
    {0, 0, false, false, true, false},  {2, 0, false, false, true, false},
    {2, 2, false, false, false, false}, {2, 2, true, false, false, false},
    {0, 2, false, false, true, false},  {2, 2, false, false, true, false},
    {2, 2, true, false, true, false},   {0, 0, false, true, true, false},
    {2, 2, false, true, true, false},   {2, 0, false, true, false, false},
    {0, 2, false, false, true, true},   {1, 2, false, false, true, true},
    {2, 2, false, false, true, true},
};

/* [rcx + 64], [rcx + zmm5 * 4 + 64], or registers 1 and 2; then a constant, which few have. */
static unsigned operands_put(const struct variant *variant, uint8_t *at)
{
    static const uint8_t list[] = {0x8c, 0xa9, 64, 0, 0, 0}, memory[] = {0x89, 64, 0, 0, 0};
    unsigned count = 1;
    if (variant->is_list)
        memcpy(at, list, count = sizeof(list));
    else if (variant->is_memory)
        memcpy(at, memory, count = sizeof(memory));
    else
        at[0] = 0xca;
    at[count] = 0x0b;
    return count + 1;
}

/* Adds the instruction at `code` if that is one of AVX-512. */
static bool form_add(struct oracle_forms *forms, const uint8_t *code, unsigned available, int *err)
{
    ZydisDecoder decoder;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, available, &zi, ops)))
        return false;
    bool has_mask = zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
    for (unsigned i = 0; i < zi.operand_count_visible; i++)
        has_mask |= ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                    ZydisRegisterGetClass(ops[i].reg.value) == ZYDIS_REGCLASS_MASK;
    if (has_mask)
        *err = oracle_forms_add_code(forms, code, zi.length);
    return true;
}

/* Sources that an encoding does not have must be named as none (15). */
static int evex_add(struct oracle_forms *forms, unsigned map, unsigned prefix, uint8_t opcode,
                    const struct variant *v)
{
    static const uint8_t sources[] = {3, 15};
    int err = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint8_t code[16] = {0x62, (uint8_t)(0xf0 | map)};
        code[2] = (uint8_t)((prefix & 4) << 5 | (~sources[i] & 15) << 3 | 4 | (prefix & 3));
        if (sources[i] == 15)
            code[2] |= 15 << 3;
        code[3] = (uint8_t)(v->zeroing << 7 | v->length << 5 | v->broadcast << 4 | 8 | v->mask);
        code[4] = opcode;
        unsigned count = 5 + operands_put(v, code + 5);
        if (form_add(forms, code, count, &err) || err)
            return err;
    }
    return err;
}

/* kmov, kand and kin, which are VEX. */
static int vex_add(struct oracle_forms *forms, unsigned map, unsigned prefix, uint8_t opcode,
                   const struct variant *v)
{
    static const uint8_t sources[] = {3, 15};
    int err = 0;
    if (v->mask || v->broadcast || v->length == 2 || map > 3)
        return 0;
    for (unsigned i = 0; i < 2; i++) {
        uint8_t code[16] = {0xc4, (uint8_t)(0xe0 | map)};
        code[2] =
            (uint8_t)((prefix & 4) << 5 | (~sources[i] & 15) << 3 | v->length << 2 | (prefix & 3));
        if (sources[i] == 15)
            code[2] |= 15 << 3;
        code[3] = opcode;
        unsigned count = 4 + operands_put(v, code + 4);
        if (form_add(forms, code, count, &err) || err)
            return err;
    }
    return err;
}

static int forms_generate(struct oracle_forms *forms)
{
    static const uint8_t maps[] = {1, 2, 3, 5, 6};
    int err = 0;
    for (unsigned m = 0; m < sizeof(maps); m++)
        for (unsigned opcode = 0; opcode < 256; opcode++)
            for (unsigned prefix = 0; prefix < 8 && !err; prefix++)
                for (unsigned v = 0; v < sizeof(variants) / sizeof(variants[0]) && !err; v++) {
                    err = evex_add(forms, maps[m], prefix, (uint8_t)opcode, &variants[v]);
                    if (!err)
                        err = vex_add(forms, maps[m], prefix, (uint8_t)opcode, &variants[v]);
                }
    return err;
}

int evex_list_generate(struct evex_list *list)
{
    struct oracle_forms forms = {0};
    int err = forms_generate(&forms);
    for (size_t i = 0; i < oracle_forms_count(&forms) && !err; i++) {
        struct evex_form form = {.form = *oracle_forms_at(&forms, i)};
        form.hash = evex_description_hash(&form.form);
        err = wd_buf_append(&list->forms, &form, sizeof(form));
    }
    oracle_forms_fini(&forms);
    return err;
}

/* ---- files ---- */

void evex_form_print(const struct evex_form *form, FILE *out)
{
    for (unsigned i = 0; i < form->form.length; i++)
        fprintf(out, "%02x", form->form.code[i]);
    fprintf(out, " %08x%s\n", form->hash, form->is_verified ? "" : " ?");
}

static bool line_parse(const char *line, struct evex_form *form)
{
    unsigned byte, length = 0, hash;
    int used;
    *form = (struct evex_form){0};
    while (length < sizeof(form->form.code) && sscanf(line, "%2x%n", &byte, &used) == 1 &&
           used == 2) {
        form->form.code[length++] = (uint8_t)byte;
        line += 2;
        if (*line == ' ')
            break;
    }
    form->form.length = (uint8_t)length;
    if (length == 0 || sscanf(line, " %8x%n", &hash, &used) != 1)
        return false;
    form->hash = hash;
    form->is_verified = strchr(line + used, '?') == NULL;
    memcpy(&form->form.key, form->form.code, sizeof(form->form.key));
    return true;
}

int evex_list_read(struct evex_list *list, const char *path)
{
    FILE *file = fopen(path, "re");
    char line[256];
    int err = file ? 0 : -errno;
    while (!err && fgets(line, sizeof(line), file)) {
        struct evex_form form;
        if (line[0] == '#')
            continue;
        err = line_parse(line, &form) ? wd_buf_append(&list->forms, &form, sizeof(form)) : -EINVAL;
    }
    if (file)
        fclose(file);
    return err;
}
