/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/criteria/silence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "slicer/state_view.h"
#include <wetdbg/caller.h>
#include <wetdbg/model.h>

#define TURNS_MAX 32
#define OUTSIDE   UINT32_MAX       /* as who is called: what puts something out */
#define POINTED   (UINT32_MAX - 1) /* ... whoever's address is taken */

/* Addresses, each once, in the order in which they came. */
struct addresses {
    uint64_t *items;
    uint32_t count, capacity;
    struct wd_index by_address;
};

/* A call that puts something out, or one of an own function that might. */
struct call {
    uint64_t pc;
    uint32_t caller, callee; /* in functions; callee may be OUTSIDE or POINTED */
    bool is_taking;          /* not called, but its address is taken */
};

struct search {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    bool of_errors;             /* what is missing is on standard error */
    struct addresses ran;       /* own instructions */
    struct addresses functions; /* own ones that ran, then those that only others call; starts */
    uint32_t ran_functions;
    bool *speaks;       /* by function */
    bool pointed_speak; /* some of those whose addresses are taken */
    struct call *calls;
    size_t call_count, call_capacity;
    struct addresses guards;    /* branches that ran */
    struct addresses looked_at; /* whose guards are known */
    bool *is_open;              /* by guard: its last instance is not found yet */
    uint32_t *nodes;            /* that have guards */
    size_t node_count, node_capacity;
    struct slc_turn *turns;
    size_t turn_count, turn_capacity;
};

/* ---- addresses ---- */

static uint32_t *place_of(const struct addresses *set, uint64_t address)
{
    return wd_index_find(&set->by_address, wd_hash_u64(address) >> 32, n, set->items[n] == address);
}

/* Index of an address, or OUTSIDE. */
static uint32_t find_address(const struct addresses *set, uint64_t address)
{
    return set->count ? *place_of(set, address) - 1 : OUTSIDE;
}

static int add_address(struct addresses *set, uint64_t address)
{
    if (wd_grow(set->items, set->capacity, set->count + 1) ||
        wd_index_room(&set->by_address, set->count, 1024, i, place_of(set, set->items[i])))
        return -ENOMEM;
    uint32_t *place = place_of(set, address);
    if (!*place) {
        set->items[set->count] = address;
        *place = ++set->count;
    }
    return 0;
}

static void free_addresses(struct addresses *set)
{
    free(set->items);
    wd_index_fini(&set->by_address);
}

/* ---- what ran ---- */

static int add_function(struct search *search, uint64_t pc)
{
    struct wetdbg_function function;

    return wetdbg_function_at(search->model, pc, &function)
               ? 0
               : add_address(&search->functions, function.start);
}

static int add_node(struct search *search, const struct wet_node *node)
{
    int err = 0;

    for (uint32_t i = 0; i < node->statement_count && !err; i++)
        if (wetdbg_is_own(search->wet, node->statements[i].pc)) {
            err = add_address(&search->ran, node->statements[i].pc);
            if (!err)
                err = add_function(search, node->statements[i].pc);
        }
    return err;
}

static int find_ran(struct search *search)
{
    int err = 0;

    for (uint32_t id = 0; id < wet_node_limit(search->wet) && !err; id++) {
        const struct wet_node *node = wet_get_node(search->wet, id);
        if (node && node->executions)
            err = add_node(search, node);
    }
    search->ran_functions = search->functions.count;
    return err;
}

/* ---- calls ---- */

static bool is_among(const char *name, const char *const *names, size_t count)
{
    size_t length = strcspn(name, "@");

    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0)
            return true;
    return false;
}

#define IS_AMONG(name, names) is_among(name, names, sizeof(names) / sizeof((names)[0]))

/* Whether a library's function puts something out, by the name of it or of its stub. */
static bool is_speaking_name(const char *name)
{
    static const char *const names[] = {
        "__dprintf_chk",  "__fprintf_chk",   "__fwprintf_chk",   "__overflow",  "__printf_chk",
        "__vdprintf_chk", "__vfprintf_chk",  "__vprintf_chk",    "__woverflow", "__wprintf_chk",
        "_IO_putc",       "copy_file_range", "dprintf",          "fprintf",     "fputc",
        "fputc_unlocked", "fputs",           "fputs_unlocked",   "fputwc",      "fputws",
        "fwprintf",       "fwrite",          "fwrite_unlocked",  "printf",      "putc",
        "putc_unlocked",  "putchar",         "putchar_unlocked", "puts",        "putwc",
        "putwchar",       "pwrite",          "pwrite64",         "send",        "sendfile",
        "sendfile64",     "sendmsg",         "sendto",           "splice",      "vdprintf",
        "vfprintf",       "vprintf",         "vwprintf",         "wprintf",     "write",
        "writev",
    };

    /* std::ostream's members, its operator<< for text, and Rust's print macros */
    return IS_AMONG(name, names) || strncmp(name, "_ZNSo", 5) == 0 ||
           strncmp(name, "_ZStls", 6) == 0 || strncmp(name, "_ZSt16__ostream_insert", 22) == 0 ||
           strstr(name, "2io5stdio6_print");
}

/* Whether it writes to standard error only. */
static bool is_complaining_name(const char *name)
{
    static const char *const names[] = {"error", "err",   "errx",   "perror", "verr",
                                        "verrx", "vwarn", "vwarnx", "warn",   "warnx"};

    return IS_AMONG(name, names);
}

static bool puts_out(const struct search *search, const char *name, bool has_stderr)
{
    if (is_complaining_name(name))
        return search->of_errors;
    return is_speaking_name(name) && has_stderr == search->of_errors;
}

/* `has_stderr`: standard error's stream was read shortly before. */
static int add_call(struct search *search, uint64_t pc, uint32_t caller, uint64_t target,
                    bool has_stderr)
{
    struct wetdbg_function function;
    uint32_t callee = OUTSIDE;

    if (wetdbg_function_at(search->model, target, &function))
        return 0;
    if (!puts_out(search, function.linkage_name, has_stderr)) {
        if (function.flags & WETDBG_FUNCTION_PLT || !wetdbg_is_own(search->wet, target))
            return 0;
        if (add_address(&search->functions, function.start))
            return -ENOMEM;
        callee = find_address(&search->functions, function.start);
        if (callee == caller)
            return 0;
    }
    if (wd_grow(search->calls, search->call_capacity, search->call_count + 1))
        return -ENOMEM;
    search->calls[search->call_count++] = (struct call){pc, caller, callee, false};
    return 0;
}

/* Whether an instruction reads the variable stderr. */
static bool reads_stderr(const struct search *search, const struct ins_info *info)
{
    struct wetdbg_symbol symbol;

    for (uint8_t m = 0; m < info->mem_count; m++)
        if (info->mems[m].base < 0 && info->mems[m].index < 0 &&
            wetdbg_symbol_at(search->model, (uint64_t)info->mems[m].disp, &symbol) == 0 &&
            strncmp(symbol.name, "stderr", 6) == 0)
            return true;
    return false;
}

/* Whether an instruction has a constant that is an address as lea has it, relative to rip, or
 * mov, which may also store it; who takes a function's address has it called. */
static bool takes_address(const uint8_t *code, size_t size, uint64_t end, uint64_t *address)
{
    int32_t distance;
    uint32_t constant;

    if (size == 7 && (code[0] & 0xf8) == 0x48 && code[1] == 0x8d && (code[2] & 0xc7) == 0x05) {
        memcpy(&distance, code + 3, sizeof(distance));
        *address = end + (uint64_t)(int64_t)distance;
        return true;
    }
    bool is_store = size >= 7 && (code[0] & 0xf8) == 0x48 && code[1] == 0xc7;
    if (!is_store && (size != 5 || (code[0] & 0xf8) != 0xb8))
        return false;
    memcpy(&constant, code + size - sizeof(constant), sizeof(constant));
    *address = constant;
    return true;
}

/* Adds the taking of an own function's address as a call of it. */
static int add_taken(struct search *search, uint64_t pc, uint32_t caller, uint64_t address)
{
    struct wetdbg_function function;

    if (!wetdbg_is_own(search->wet, address) ||
        wetdbg_function_at(search->model, address, &function) || function.start != address)
        return 0;
    size_t before = search->call_count;
    int err = add_call(search, pc, caller, address, false);
    if (search->call_count > before)
        search->calls[before].is_taking = true;
    return err;
}

/* Adds a call through a pointer. */
static int add_pointed(struct search *search, uint64_t pc, uint32_t caller)
{
    if (wd_grow(search->calls, search->call_capacity, search->call_count + 1))
        return -ENOMEM;
    search->calls[search->call_count++] = (struct call){pc, caller, POINTED, false};
    return 0;
}

/* Adds the calls of a block, and its jump if that leads to another function. What ends the program
 * speaks of errors at most. */
static int add_calls_of_block(struct search *search, uint32_t caller,
                              const struct wetdbg_block *block)
{
    uint64_t pc = block->start, end = block->end;
    bool is_tail = block->kind == WETDBG_BLOCK_END_TAIL, has_stderr = false;
    struct ins_info info;
    uint8_t code[SLC_INSN_BYTES];
    int err = 0;

    if (block->kind == WETDBG_BLOCK_END_STOP && !search->of_errors)
        return 0;
    for (; pc < end && !err; pc += info.length) {
        if (!slc_decode_unrun(search->model, pc, end, code, &info))
            break;
        has_stderr |= reads_stderr(search, &info);
        if (info.klass == INS_CALL || (is_tail && info.klass == INS_JMP)) {
            err = add_call(search, pc, caller, info.target, has_stderr);
            has_stderr = false;
        }
        if (!err && info.klass == INS_CALL_INDIRECT)
            err = add_pointed(search, pc, caller);
        uint64_t address;
        if (!err && takes_address(code, info.length, pc + info.length, &address))
            err = add_taken(search, pc, caller, address);
    }
    return err;
}

static int add_calls_of(struct search *search, uint32_t caller)
{
    const struct wetdbg_graph *graph;
    int err = 0;

    if (wetdbg_graph_at(search->model, search->functions.items[caller], &graph))
        return 0;
    for (uint32_t i = 0; i < wetdbg_graph_block_count(graph) && !err; i++)
        err = add_calls_of_block(search, caller, wetdbg_graph_block(graph, i));
    return err;
}

/* Whether a call leads to somebody who speaks, as far as that is known. */
static bool is_speaking(const struct search *search, const struct call *call)
{
    if (call->callee == POINTED)
        return search->pointed_speak;
    return call->callee == OUTSIDE || search->speaks[call->callee];
}

/* Calls of own functions are looked at until nothing new speaks. */
static int find_speaking(struct search *search)
{
    bool is_new = true;

    for (uint32_t i = 0; i < search->functions.count; i++)
        if (add_calls_of(search, i))
            return -ENOMEM;
    search->speaks = calloc((size_t)search->functions.count + 1, sizeof(*search->speaks));
    if (!search->speaks)
        return -ENOMEM;
    while (is_new) {
        is_new = false;
        for (size_t i = 0; i < search->call_count; i++) {
            const struct call *call = &search->calls[i];
            bool speaks = is_speaking(search, call);
            bool points = speaks && call->is_taking;
            is_new |=
                (speaks && !search->speaks[call->caller]) || (points && !search->pointed_speak);
            search->speaks[call->caller] |= speaks;
            search->pointed_speak |= points;
        }
    }
    return 0;
}

/* ---- guards ---- */

/* Adds what controls an instruction that did not run: branches that ran, or what controls these. */
static int add_guards(struct search *search, uint64_t pc)
{
    const uint64_t *branches;
    struct addresses *looked_at = &search->looked_at;
    uint32_t next = looked_at->count;
    size_t count;
    int err = add_address(looked_at, pc);

    for (; next < looked_at->count && !err; next++) {
        if (wetdbg_controllers(search->model, looked_at->items[next], &branches, &count))
            continue;
        for (size_t i = 0; i < count && !err; i++)
            err = add_address(find_address(&search->ran, branches[i]) == OUTSIDE ? looked_at
                                                                                 : &search->guards,
                              branches[i]);
    }
    return err;
}

static int find_guards(struct search *search)
{
    int err = 0;

    for (size_t i = 0; i < search->call_count && !err; i++) {
        const struct call *call = &search->calls[i];
        if (call->caller < search->ran_functions && is_speaking(search, call) &&
            find_address(&search->ran, call->pc) == OUTSIDE)
            err = add_guards(search, call->pc);
    }
    return err;
}

/* ---- their last instances ---- */

static bool has_guard(const struct search *search, const struct wet_node *node)
{
    for (uint32_t i = 0; i < node->statement_count; i++) {
        uint32_t guard = find_address(&search->guards, node->statements[i].pc);
        if (guard != OUTSIDE && search->is_open[guard])
            return true;
    }
    return false;
}

static int list_nodes(struct search *search)
{
    for (uint32_t id = 0; id < wet_node_limit(search->wet); id++) {
        const struct wet_node *node = wet_get_node(search->wet, id);
        if (!node || !has_guard(search, node))
            continue;
        if (wd_grow(search->nodes, search->node_capacity, search->node_count + 1))
            return -ENOMEM;
        search->nodes[search->node_count++] = id;
    }
    return 0;
}

static int pass_exec(struct search *search, const struct wet_interval *interval,
                     const struct wet_exec *exec)
{
    const struct wet_node *node = wet_get_node(search->wet, exec->node);

    for (uint32_t i = node->statement_count; i-- > 0;) {
        uint32_t guard = find_address(&search->guards, node->statements[i].pc);
        if (guard == OUTSIDE || !search->is_open[guard])
            continue;
        search->is_open[guard] = false;
        if (wd_grow(search->turns, search->turn_capacity, search->turn_count + 1))
            return -ENOMEM;
        search->turns[search->turn_count++] = (struct slc_turn){
            .time = interval->first_time + exec->time_off + i, .pc = node->statements[i].pc};
        if (search->turn_count == TURNS_MAX)
            break;
    }
    return 0;
}

/* Looks back through interval k, if a branch whose last instance is wanted ran there. */
static int pass_interval(struct search *search, uint64_t k)
{
    const struct wet_interval *interval;
    bool is_there = false;

    for (size_t i = 0; i < search->node_count && !is_there; i++)
        is_there = wet_node_executions_in(search->wet, search->nodes[i], k) > 0 &&
                   has_guard(search, wet_get_node(search->wet, search->nodes[i]));
    if (!is_there)
        return 0;
    int err = wet_interval_get(search->wet, k, &interval);
    if (err)
        return err;
    for (size_t i = interval->exec_count; i-- > 0 && !err && search->turn_count < TURNS_MAX;)
        err = pass_exec(search, interval, &interval->execs[i]);
    wet_interval_put(search->wet, interval);
    return err;
}

static int find_turns(struct search *search)
{
    uint64_t k = wetdbg_get_info(search->wet)->intervals;
    int err;

    search->is_open = malloc((size_t)search->guards.count + 1);
    if (!search->is_open)
        return -ENOMEM;
    memset(search->is_open, true, search->guards.count);
    err = list_nodes(search);
    while (k-- > 0 && !err && search->turn_count < TURNS_MAX &&
           search->turn_count < search->guards.count)
        err = pass_interval(search, k);
    for (size_t i = 0; i < search->turn_count / 2; i++) {
        struct slc_turn turn = search->turns[i];
        search->turns[i] = search->turns[search->turn_count - 1 - i];
        search->turns[search->turn_count - 1 - i] = turn;
    }
    return err;
}

int slc_silent_turns(struct wetdbg *wet, bool of_errors, struct slc_turn **turns, size_t *count)
{
    struct search search = {.wet = wet, .model = wetdbg_get_model(wet), .of_errors = of_errors};
    int err = find_ran(&search);

    if (!err)
        err = find_speaking(&search);
    if (!err)
        err = find_guards(&search);
    if (!err)
        err = find_turns(&search);
    free_addresses(&search.ran);
    free_addresses(&search.functions);
    free_addresses(&search.guards);
    free_addresses(&search.looked_at);
    free(search.speaks);
    free(search.calls);
    free(search.is_open);
    free(search.nodes);
    if (err) {
        free(search.turns);
        return err;
    }
    *turns = search.turns;
    *count = search.turn_count;
    return 0;
}
