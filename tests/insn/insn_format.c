/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "insn_format.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const gpr64[16] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const gpr16[16] = {"ax",  "cx",  "dx",   "bx",   "sp",   "bp",   "si",   "di",
                                      "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"};
static const char *const gpr8[16] = {"al",  "cl",  "dl",   "bl",   "spl",  "bpl",  "sil",  "dil",
                                     "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"};

struct text {
    char *buf;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->buf + text->length, text->size - text->length, format, args);
    va_end(args);
    if (n > 0)
        text->length +=
            (size_t)n < text->size - text->length ? (size_t)n : text->size - text->length - 1;
}

static void say_word(struct text *text, const char *mark, const char *word)
{
    bool first = text->length == 0 || text->buf[text->length - 1] == ' ';
    say(text, "%s%s%s", first ? "" : " ", mark, word);
}

static unsigned pieces_of(const struct ins_regset *set, unsigned base, unsigned count)
{
    unsigned pieces = 0;
    for (unsigned i = 0; i < count; i++)
        pieces |= (unsigned)ins_regset_has(set, base + i) << i;
    return pieces;
}

static void say_gprs(struct text *text, const char *mark, const struct ins_regset *set)
{
    for (unsigned gpr = 0; gpr < 16; gpr++) {
        unsigned base = INS_LOC_GPR + 3 * gpr;
        unsigned pieces = pieces_of(set, base, 3);
        if (pieces == 7)
            say_word(text, mark, gpr64[gpr]);
        else if (pieces == 3)
            say_word(text, mark, gpr16[gpr]);
        else if (pieces == 1)
            say_word(text, mark, gpr8[gpr]);
        else {
            for (unsigned i = 0; i < 3; i++) {
                if (pieces >> i & 1)
                    say_word(text, mark, ins_location_name(base + i));
            }
        }
    }
}

static void say_vectors(struct text *text, const char *mark, const struct ins_regset *set)
{
    for (unsigned vector = 0; vector < 32; vector++) {
        unsigned base = INS_LOC_VEC + 5 * vector;
        unsigned pieces = pieces_of(set, base, 5);
        char name[16];
        const char *prefix = pieces == 31 ? "zmm" : pieces == 15 ? "ymm" : pieces == 7 ? "xmm" : "";
        snprintf(name, sizeof(name), "%s%u", prefix, vector);
        if (prefix[0] != '\0') {
            say_word(text, mark, name);
            continue;
        }
        for (unsigned i = 0; i < 5; i++) {
            if (pieces >> i & 1)
                say_word(text, mark, ins_location_name(base + i));
        }
    }
}

static void say_set(struct text *text, const char *mark, const struct ins_regset *set)
{
    static const char letters[] = "cpazsod";
    char flags[sizeof(letters)] = "";
    size_t count = 0;
    say_gprs(text, mark, set);
    say_vectors(text, mark, set);
    for (unsigned i = 0; i < 7; i++) {
        if (ins_regset_has(set, INS_LOC_CF + i))
            flags[count++] = letters[i];
    }
    flags[count] = '\0';
    if (count != 0) {
        char word[16];
        snprintf(word, sizeof(word), "+%s", flags);
        say_word(text, mark, word);
    }
    for (unsigned loc = INS_LOC_K; loc < INS_LOC_COUNT; loc++) {
        if (ins_regset_has(set, loc))
            say_word(text, mark, ins_location_name(loc));
    }
}

static void say_mems(struct text *text, const char *mark, unsigned mems)
{
    for (unsigned i = 0; i < INS_MEM_MAX; i++) {
        char name[8];
        snprintf(name, sizeof(name), "m%u", i);
        if (mems >> i & 1)
            say_word(text, mark, name);
    }
}

static void say_kinds(struct text *text, unsigned kinds)
{
    static const char *const names[] = {"{copy}", "{stack}",  "{taken}",
                                        "{not}",  "{branch}", "{stackaddr}"};
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (kinds >> i & 1)
            say_word(text, "", names[i]);
    }
}

static void say_flow(struct text *text, const struct ins_flow *flow)
{
    say_set(text, "", &flow->defs);
    say_mems(text, "", flow->mem_defs);
    say_set(text, "~", &flow->may_defs);
    say_mems(text, "~", flow->mem_may_defs);
    say_word(text, "", "=");
    say_set(text, "", &flow->value_uses);
    say_mems(text, "", flow->mem_uses);
    if (!ins_regset_is_empty(&flow->cond_uses)) {
        say_word(text, "", "?");
        say_set(text, "", &flow->cond_uses);
    }
    say_kinds(text, flow->kinds);
}

void insn_format_set(const struct ins_regset *set, char *buf, size_t size)
{
    struct text text = {.buf = buf, .size = size};
    buf[0] = '\0';
    say_set(&text, "", set);
}

void insn_format_flows(const struct ins_info *info, char *buf, size_t size)
{
    struct text text = {.buf = buf, .size = size};
    buf[0] = '\0';
    for (unsigned i = 0; i < info->flow_count; i++) {
        if (i != 0)
            say(&text, "; ");
        say_flow(&text, &info->flows[i]);
    }
}

static void say_address(struct text *text, const struct ins_mem *mem)
{
    const char *plus = "";
    say(text, "[%s%s", mem->flags & INS_MEM_FS ? "fs:" : "", mem->flags & INS_MEM_GS ? "gs:" : "");
    if (mem->base >= 0) {
        say(text, "%s", gpr64[mem->base]);
        plus = "+";
    }
    if (mem->index >= 0) {
        bool vector = mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
        if (vector)
            say(text, "%sv%d*%u", plus, mem->index, mem->scale);
        else
            say(text, "%s%s*%u", plus, gpr64[mem->index], mem->scale);
        plus = "+";
    }
    if (mem->disp < 0 && plus[0] != '\0')
        say(text, "-0x%" PRIx64, -(uint64_t)mem->disp);
    else if (mem->disp != 0 || plus[0] == '\0')
        say(text, "%s0x%" PRIx64, plus, (uint64_t)mem->disp);
    if (mem->bit_reg >= 0)
        say(text, "+bit(%s)", gpr64[mem->bit_reg]);
    say(text, "]");
}

void insn_format_mems(const struct ins_info *info, char *buf, size_t size)
{
    static const char *const words[] = {"",      "",       " impl", " stack", " rep", " lanes",
                                        "",      "",       " a32",  " v32",   " v64", "",
                                        " byte", " bound", " line", " k"};
    struct text text = {.buf = buf, .size = size};
    buf[0] = '\0';
    for (unsigned i = 0; i < info->mem_count; i++) {
        const struct ins_mem *mem = &info->mems[i];
        say(&text, "%s%s%s%u", i != 0 ? "; " : "", mem->flags & INS_MEM_READ ? "r" : "",
            mem->flags & INS_MEM_WRITE ? "w" : "", mem->size_bytes);
        say_address(&text, mem);
        for (unsigned bit = 0; bit < sizeof(words) / sizeof(words[0]); bit++) {
            if (mem->flags >> bit & 1)
                say(&text, "%s", words[bit]);
        }
    }
}
