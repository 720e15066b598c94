/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/confidence/pins.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include "slicer/confidence/ranges.h"

#define BLOCK_BYTES  64u
#define BUDGET       16u
#define DEPTH_MAX    16 /* of alternatives that judge by others */
#define BLOCKS_FIRST 1024u
#define TESTS_FIRST  1024u
#define MEMOS        (1u << 13)

struct link {
    struct slc_test *test;
    slc_pin next;  /* a list, or none */
    uint8_t byte;  /* of the test's operand */
    uint8_t count; /* of the list that it is the first of */
};

struct block {
    uint64_t number; /* address / BLOCK_BYTES + 1; 0: free */
    uint32_t count;  /* of pins that are there */
    slc_pin bytes[BLOCK_BYTES];
};

struct slc_pins {
    struct link *links; /* list n is links[n - SLC_PIN_TESTS] */
    uint32_t link_count, link_capacity;
    slc_pin spare; /* list of links that are not in use */
    struct block *blocks;
    struct wd_index by_number;
    uint32_t block_count, block_capacity;
    struct slc_test **tests; /* by hash: the first of those with that place */
    size_t test_count, test_capacity;
    uint64_t alt_serial;
    struct slc_alt *memos[MEMOS]; /* by their judges' hash: the last one that was kept, or NULL */
};

int slc_pins_new(struct slc_pins **out)
{
    struct slc_pins *pins = calloc(1, sizeof(*pins));
    int err = pins ? wd_index_renew(&pins->by_number, BLOCKS_FIRST) : -ENOMEM;

    if (!err) {
        pins->tests = calloc(TESTS_FIRST, sizeof(struct slc_test *));
        pins->test_capacity = TESTS_FIRST;
        err = pins->tests ? 0 : -ENOMEM;
    }
    if (err)
        slc_pins_free(pins);
    else
        *out = pins;
    return err;
}

void slc_pins_free(struct slc_pins *pins)
{
    if (!pins)
        return;
    for (uint32_t i = 0; i < pins->link_count; i++)
        if (pins->links[i].test)
            slc_test_release(pins, pins->links[i].test);
    for (unsigned i = 0; i < MEMOS; i++)
        slc_alt_release(pins, pins->memos[i]);
    free(pins->tests);
    free(pins->links);
    free(pins->blocks);
    wd_index_fini(&pins->by_number);
    free(pins);
}

/* ---- tests ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* A place in the table of tests. */
static size_t place_of(uint64_t hash, size_t capacity)
{
    return (size_t)(hash * UINT64_C(0xd6e8feb86659fd93) >> 32) & (capacity - 1);
}

static uint64_t hash_check(uint64_t hash, const struct slc_check *check)
{
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++) {
        hash = mix(hash, check->values[i]);
        hash = mix(hash, check->masks[i] ^ check->alt_shifts[i]);
        hash = mix(hash, (check->alts[i] ? check->alts[i]->serial : 0) ^ check->alt_masks[i]);
    }
    for (unsigned i = 0; i < check->outcome_count; i++)
        hash = mix(hash, 2u * check->outcomes[i].condition + check->outcomes[i].holds);
    return hash;
}

static uint64_t hash_test(const struct slc_test *test)
{
    uint64_t hash = mix(test->varied ^ test->flags << 8, test->value);

    if (test->eval) {
        hash = mix(hash, test->eval->op);
        for (unsigned i = 0; i < INS_EVAL_INPUTS; i++)
            hash = mix(hash, test->inputs[i]);
        return hash_check(hash, &test->check);
    }
    return mix(hash, test->address ^ test->scale);
}

static bool is_same_check(const struct slc_check *a, const struct slc_check *b)
{
    if (a->outcome_count != b->outcome_count)
        return false;
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        if (a->values[i] != b->values[i] || a->masks[i] != b->masks[i] ||
            a->alts[i] != b->alts[i] || a->alt_masks[i] != b->alt_masks[i] ||
            a->alt_shifts[i] != b->alt_shifts[i])
            return false;
    for (unsigned i = 0; i < a->outcome_count; i++)
        if (a->outcomes[i].condition != b->outcomes[i].condition ||
            a->outcomes[i].holds != b->outcomes[i].holds)
            return false;
    return true;
}

static bool is_same_test(const struct slc_test *a, const struct slc_test *b)
{
    if (a->eval != b->eval || a->varied != b->varied || a->value != b->value ||
        a->flags != b->flags)
        return false;
    return memcmp(a->inputs, b->inputs, sizeof(a->inputs)) == 0 &&
           is_same_check(&a->check, &b->check);
}

/* Where the one of the table that is like this hangs, or the end of the list where it would. */
static struct slc_test **find_test(const struct slc_pins *pins, const struct slc_test *like,
                                   uint64_t hash)
{
    struct slc_test **at = &pins->tests[place_of(hash, pins->test_capacity)];

    while (*at && ((*at)->hash != hash || !is_same_test(*at, like)))
        at = &(*at)->next;
    return at;
}

/* More places. Where memory is short lists get longer. */
static void spread_tests(struct slc_pins *pins)
{
    size_t capacity = 2 * pins->test_capacity;
    struct slc_test **tests = calloc(capacity, sizeof(struct slc_test *));

    if (!tests)
        return;
    for (size_t i = 0; i < pins->test_capacity; i++)
        for (struct slc_test *test = pins->tests[i], *next; test; test = next) {
            struct slc_test **at = &tests[place_of(test->hash, capacity)];
            next = test->next;
            test->next = *at;
            *at = test;
        }
    free(pins->tests);
    pins->tests = tests;
    pins->test_capacity = capacity;
}

struct slc_test *slc_test_get(struct slc_pins *pins, const struct slc_test *like)
{
    uint64_t hash = hash_test(like);
    struct slc_test *none = NULL;
    struct slc_test **at = like->eval ? find_test(pins, like, hash) : &none;

    if (*at) {
        (*at)->users++;
        return *at;
    }
    struct slc_test *test = malloc(sizeof(*test));
    if (!test)
        return NULL;
    *test = *like;
    test->users = 1;
    test->hash = hash;
    test->next = NULL;
    test->tells_value = !test->check.outcome_count && !test->check.masks[1] && !test->check.alts[1];
    *at = test;
    if (test->eval && ++pins->test_count > pins->test_capacity)
        spread_tests(pins);
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        if (test->check.alts[i])
            test->check.alts[i]->users++;
    if (test->forbidden)
        test->forbidden->users++;
    return test;
}

void slc_alt_release(struct slc_pins *pins, struct slc_alt *alt)
{
    if (!alt || --alt->users)
        return;
    for (unsigned i = 0; alt->judge && i < alt->judge->test_count; i++)
        slc_test_release(pins, (struct slc_test *)alt->judge->tests[i].test);
    free(alt->judge);
    free(alt);
}

struct slc_alt *slc_alt_new(const struct slc_range *range)
{
    struct slc_alt *alt = calloc(1, sizeof(*alt) + (slc_range_places(range) / 64 + 1) * 8);

    if (alt) {
        alt->users = 1;
        alt->range = range;
    }
    return alt;
}

static uint64_t hash_judge(const struct slc_range *range, const struct slc_judge *judge)
{
    uint64_t hash = mix(mix(range->most ^ range->count, judge->value), judge->equal), from;

    for (unsigned i = 0; i < judge->test_count; i++) {
        memcpy(&from, judge->tests[i].from, sizeof(from));
        hash = mix(hash, judge->tests[i].test->hash ^ from);
    }
    return hash;
}

static bool is_same_judge(const struct slc_judge *a, const struct slc_judge *b)
{
    if (a->value != b->value || a->equal != b->equal || a->test_count != b->test_count)
        return false;
    for (unsigned i = 0; i < a->test_count; i++)
        if (a->tests[i].test != b->tests[i].test ||
            memcmp(a->tests[i].from, b->tests[i].from, sizeof(a->tests[i].from)) != 0)
            return false;
    return true;
}

struct slc_alt *slc_alt_find(struct slc_pins *pins, const struct slc_range *range,
                             const struct slc_judge *judge)
{
    uint64_t hash = hash_judge(range, judge);
    struct slc_alt *alt = pins->memos[hash % MEMOS];

    if (!alt || alt->hash != hash || alt->range != range || !is_same_judge(alt->judge, judge))
        return NULL;
    alt->users++;
    return alt;
}

void slc_alt_keep(struct slc_pins *pins, struct slc_alt *alt, const struct slc_judge *judge)
{
    size_t bytes = offsetof(struct slc_judge, tests) + judge->test_count * sizeof(judge->tests[0]);

    for (unsigned i = 0; i < judge->test_count; i++) {
        for (unsigned r = 0; r < INS_EVAL_RESULTS; r++) {
            const struct slc_alt *own = judge->tests[i].test->check.alts[r];
            if (own && own->depth >= alt->depth)
                alt->depth = own->depth + 1;
        }
    }
    alt->serial = ++pins->alt_serial;
    alt->hash = hash_judge(alt->range, judge);
    alt->judge = alt->depth < DEPTH_MAX ? malloc(bytes) : NULL;
    if (!alt->judge) {
        alt->depth = 0;
        return;
    }
    memcpy(alt->judge, judge, bytes);
    for (unsigned i = 0; i < judge->test_count; i++)
        ((struct slc_test *)judge->tests[i].test)->users++;
    struct slc_alt **memo = &pins->memos[alt->hash % MEMOS];
    slc_alt_release(pins, *memo);
    *memo = alt;
    alt->users++;
}

void slc_addresses_release(struct slc_addresses *addresses)
{
    if (addresses && --addresses->users == 0)
        free(addresses);
}

static void take_out(struct slc_pins *pins, const struct slc_test *test)
{
    struct slc_test **at = &pins->tests[place_of(test->hash, pins->test_capacity)];

    while (*at != test)
        at = &(*at)->next;
    *at = test->next;
    pins->test_count--;
}

void slc_test_release(struct slc_pins *pins, struct slc_test *test)
{
    if (!test || --test->users)
        return;
    if (test->eval)
        take_out(pins, test);
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        slc_alt_release(pins, test->check.alts[i]);
    slc_addresses_release(test->forbidden);
    free(test);
}

static bool judge_allows(const struct slc_judge *judge, uint64_t other, unsigned *budget);

static bool alt_allows(const struct slc_alt *alt, uint64_t value, unsigned *budget)
{
    size_t at = slc_range_find(alt->range, value);

    if (at < alt->judged)
        return !(alt->forbidden[at / 64] >> at % 64 & 1);
    return !alt->judge || judge_allows(alt->judge, value, budget);
}

static bool is_forbidden(const struct slc_addresses *addresses, uint64_t address)
{
    size_t at = wd_bisect(0, addresses->count, i, addresses->addresses[i] < address);
    return at < addresses->count && addresses->addresses[at] == address;
}

/* Whether one of the results would do, apart from the flags. */
static bool value_passes(const struct slc_check *check, unsigned i, uint64_t value,
                         unsigned *budget)
{
    if (value == check->values[i])
        return true;
    if ((value ^ check->values[i]) & check->masks[i])
        return false;
    return !check->alts[i] ||
           alt_allows(check->alts[i], (value << check->alt_shifts[i]) & check->alt_masks[i],
                      budget);
}

static bool check_passes(const struct slc_check *check, const struct ins_eval_result *result,
                         unsigned *budget)
{
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        if ((result->values[i] ^ check->values[i]) & check->masks[i])
            return false;
    for (unsigned i = 0; i < check->outcome_count; i++) {
        const struct slc_outcome *outcome = &check->outcomes[i];
        uint64_t flags = ins_condition_flags(outcome->condition);
        if ((result->known & flags) == flags &&
            ins_condition_holds(outcome->condition, result->flags, 0) != outcome->holds)
            return false;
    }
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++)
        if (!value_passes(check, i, result->values[i], budget))
            return false;
    return true;
}

bool slc_check_passes(const struct slc_check *check, const struct ins_eval_result *result)
{
    unsigned budget = BUDGET;
    return check_passes(check, result, &budget);
}

/* Whether a test's instruction would do with these inputs. */
static bool inputs_pass(const struct slc_test *test, const uint64_t inputs[INS_EVAL_INPUTS],
                        unsigned *budget)
{
    struct ins_eval_result result;

    if (test->tells_value && ins_eval_value(test->eval, inputs, &result.values[0]))
        return value_passes(&test->check, 0, result.values[0], budget);
    return !ins_eval_run(test->eval, inputs, test->flags, &result) ||
           check_passes(&test->check, &result, budget);
}

/* *budget: how many more tests may be made for one question; then nothing is ruled out any more. */
static bool test_allows(const struct slc_test *test, uint64_t other, unsigned *budget)
{
    uint64_t inputs[INS_EVAL_INPUTS];

    if (!*budget)
        return true;
    --*budget;
    if (!test->eval)
        return !is_forbidden(test->forbidden, test->address + (other - test->value) * test->scale);
    for (unsigned i = 0; i < INS_EVAL_INPUTS; i++)
        inputs[i] = test->varied >> i & 1 ? other : test->inputs[i];
    return inputs_pass(test, inputs, budget);
}

/* Two tests of one computation, of which both operands are other values at once. */
static bool both_allow(const struct slc_test *test, uint64_t other, const struct slc_test *twin,
                       uint64_t twin_other, unsigned *budget)
{
    uint64_t inputs[INS_EVAL_INPUTS];

    if (!*budget)
        return true;
    --*budget;
    for (unsigned i = 0; i < INS_EVAL_INPUTS; i++)
        inputs[i] = test->varied >> i & 1   ? other
                    : twin->varied >> i & 1 ? twin_other
                                            : test->inputs[i];
    return inputs_pass(test, inputs, budget);
}

/* ---- pins ---- */

static struct link *link_of(const struct slc_pins *pins, slc_pin pin)
{
    return &pins->links[pin - SLC_PIN_TESTS];
}

void slc_pin_drop(struct slc_pins *pins, slc_pin pin)
{
    while (pin >= SLC_PIN_TESTS) {
        struct link *link = link_of(pins, pin);
        slc_pin next = link->next;
        slc_test_release(pins, link->test);
        link->test = NULL;
        link->next = pins->spare;
        pins->spare = pin;
        pin = next;
    }
}

slc_pin slc_pin_test(struct slc_pins *pins, struct slc_test *test, unsigned byte)
{
    slc_pin pin = pins->spare;

    if (pin) {
        pins->spare = link_of(pins, pin)->next;
    } else {
        if (pins->link_count >= UINT32_MAX - SLC_PIN_TESTS ||
            wd_grow(pins->links, pins->link_capacity, pins->link_count + 1))
            return SLC_PIN_NONE;
        pin = SLC_PIN_TESTS + pins->link_count++;
    }
    *link_of(pins, pin) =
        (struct link){.test = test, .next = SLC_PIN_NONE, .byte = (uint8_t)byte, .count = 1};
    test->users++;
    return pin;
}

static bool has_test(const struct slc_pins *pins, slc_pin list, const struct link *of)
{
    for (; list; list = link_of(pins, list)->next)
        if (link_of(pins, list)->test == of->test && link_of(pins, list)->byte == of->byte)
            return true;
    return false;
}

slc_pin slc_pin_join(struct slc_pins *pins, slc_pin a, slc_pin b)
{
    if (a == SLC_PIN_NONE || b == SLC_PIN_NONE)
        return a ? a : b;
    if (a < SLC_PIN_TESTS || b < SLC_PIN_TESTS) {
        slc_pin kept = a < SLC_PIN_TESTS && (b >= SLC_PIN_TESTS || a > b) ? a : b;
        slc_pin_drop(pins, kept == a ? b : a);
        return kept;
    }
    while (b) {
        struct link *link = link_of(pins, b);
        unsigned count = link_of(pins, a)->count;
        slc_pin next = link->next;
        link->next = SLC_PIN_NONE;
        if (count >= SLC_TESTS_MAX || has_test(pins, a, link)) {
            slc_pin_drop(pins, b);
        } else {
            link->next = a;
            link->count = (uint8_t)(count + 1);
            a = b;
        }
        b = next;
    }
    return a;
}

/* ---- judging values ---- */

static void judge_add(struct slc_judge *judge, const struct link *link, unsigned b)
{
    unsigned i = 0;

    while (i < judge->test_count && judge->tests[i].test != link->test)
        i++;
    if (i == SLC_TESTS_MAX)
        return;
    if (i == judge->test_count)
        judge->tests[judge->test_count++] = (struct slc_judged){.test = link->test};
    judge->tests[i].from[link->byte] = (uint8_t)(b + 1);
}

/* Where all bytes move by the same way they are moved at once. */
static void judge_finish(struct slc_judged *judged)
{
    bool is_first = true;

    for (unsigned byte = 0; byte < 8; byte++) {
        if (!judged->from[byte])
            continue;
        int shift = 8 * ((int)byte - (judged->from[byte] - 1));
        judged->is_apart |= !is_first && shift != judged->shift;
        judged->shift = shift;
        judged->mask |= UINT64_C(0xff) << 8 * byte;
        is_first = false;
    }
}

/* Whether both may be of one execution: then the value came to it by two ways. */
static bool is_twin(const struct slc_test *a, const struct slc_test *b)
{
    return a->eval && a->eval == b->eval && !(a->varied & b->varied) && a->flags == b->flags &&
           memcmp(a->inputs, b->inputs, sizeof(a->inputs)) == 0 &&
           is_same_check(&a->check, &b->check);
}

static void find_twin(struct slc_judge *judge, unsigned i)
{
    for (unsigned j = 0; j < i && !judge->tests[i].twin; j++)
        if (is_twin(judge->tests[i].test, judge->tests[j].test)) {
            judge->tests[i].twin = (uint8_t)(j + 1);
            judge->tests[j].twin = (uint8_t)(i + 1);
        }
}

void slc_judge_make(const struct slc_pins *pins, const struct slc_pinned *pinned, uint64_t value,
                    struct slc_judge *judge)
{
    judge->value = value;
    judge->equal = 0;
    judge->test_count = 0;
    for (unsigned b = 0; b < pinned->count; b++) {
        slc_pin pin = pinned->bytes[b];
        if (pin && pin < SLC_PIN_TESTS)
            judge->equal |= UINT64_C(0xff) << 8 * b;
        for (; pin >= SLC_PIN_TESTS; pin = link_of(pins, pin)->next)
            judge_add(judge, link_of(pins, pin), b);
    }
    for (unsigned i = 0; i < judge->test_count; i++)
        judge_finish(&judge->tests[i]);
    for (unsigned i = 1; i < judge->test_count; i++)
        find_twin(judge, i);
}

static uint64_t operand_of(const struct slc_judged *judged, uint64_t other)
{
    uint64_t operand = judged->test->value;

    if (!judged->is_apart) {
        uint64_t moved = judged->shift >= 0 ? other << judged->shift : other >> -judged->shift;
        return (operand & ~judged->mask) | (moved & judged->mask);
    }
    for (unsigned byte = 0; byte < 8; byte++) {
        if (!judged->from[byte])
            continue;
        operand &= ~(UINT64_C(0xff) << 8 * byte);
        operand |= (other >> 8 * (judged->from[byte] - 1u) & 0xff) << 8 * byte;
    }
    return operand;
}

static bool is_allowed_by(const struct slc_judge *judge, unsigned i, uint64_t other,
                          unsigned *budget)
{
    const struct slc_judged *judged = &judge->tests[i];
    uint64_t operand = operand_of(judged, other);

    if (test_allows(judged->test, operand, budget))
        return true;
    if (!judged->twin)
        return false;
    const struct slc_judged *twin = &judge->tests[judged->twin - 1];
    return both_allow(judged->test, operand, twin->test, operand_of(twin, other), budget);
}

static bool judge_allows(const struct slc_judge *judge, uint64_t other, unsigned *budget)
{
    if ((other ^ judge->value) & judge->equal)
        return false;
    for (unsigned i = 0; i < judge->test_count; i++)
        if (!is_allowed_by(judge, i, other, budget))
            return false;
    return true;
}

bool slc_judge_allows_of(const struct slc_judge *judge, uint64_t other, unsigned *pool)
{
    unsigned budget = *pool < BUDGET ? *pool : BUDGET;

    *pool -= budget;
    bool is_allowed = judge_allows(judge, other, &budget);
    *pool += budget;
    return is_allowed;
}

bool slc_judge_allows(const struct slc_judge *judge, uint64_t other)
{
    unsigned budget = BUDGET;
    return judge_allows(judge, other, &budget);
}

/* ---- memory ---- */

static struct block *block_find(const struct slc_pins *pins, uint64_t address)
{
    uint64_t number = address / BLOCK_BYTES + 1;
    uint32_t at = *wd_index_find(&pins->by_number, wd_hash_u64(number) >> 32, n,
                                 pins->blocks[n].number == number);
    return at ? &pins->blocks[at - 1] : NULL;
}

static int block_make(struct slc_pins *pins, uint64_t address, struct block **block)
{
    *block = block_find(pins, address);
    if (*block)
        return 0;
    if (2 * (size_t)(pins->block_count + 1) > pins->by_number.capacity) {
        int err = wd_index_renew(&pins->by_number, 2 * pins->by_number.capacity);
        for (uint32_t i = 0; i < pins->block_count && !err; i++)
            *wd_index_find(&pins->by_number, wd_hash_u64(pins->blocks[i].number) >> 32, n,
                           pins->blocks[n].number == pins->blocks[i].number) = i + 1;
        if (err)
            return err;
    }
    if (wd_grow(pins->blocks, pins->block_capacity, pins->block_count + 1))
        return -ENOMEM;
    uint64_t number = address / BLOCK_BYTES + 1;
    *block = &pins->blocks[pins->block_count++];
    **block = (struct block){.number = number};
    *wd_index_find(&pins->by_number, wd_hash_u64(number) >> 32, n,
                   pins->blocks[n].number == number) = pins->block_count;
    return 0;
}

int slc_pins_add(struct slc_pins *pins, uint64_t address, slc_pin pin)
{
    struct block *block;

    if (pin == SLC_PIN_NONE)
        return 0;
    if (block_make(pins, address, &block)) {
        slc_pin_drop(pins, pin);
        return -ENOMEM;
    }
    slc_pin *at = &block->bytes[address % BLOCK_BYTES];
    block->count += *at == SLC_PIN_NONE;
    *at = slc_pin_join(pins, *at, pin);
    return 0;
}

slc_pin slc_pins_take(struct slc_pins *pins, uint64_t address)
{
    struct block *block = block_find(pins, address);

    if (!block || !block->count)
        return SLC_PIN_NONE;
    slc_pin pin = block->bytes[address % BLOCK_BYTES];
    block->bytes[address % BLOCK_BYTES] = SLC_PIN_NONE;
    block->count -= pin != SLC_PIN_NONE;
    return pin;
}

bool slc_pins_touch(const struct slc_pins *pins, uint64_t address, uint64_t size)
{
    uint64_t end = address + size;

    for (uint64_t at = address; at < end; at = (at / BLOCK_BYTES + 1) * BLOCK_BYTES) {
        const struct block *block = block_find(pins, at);
        if (!block || !block->count)
            continue;
        for (uint64_t i = at; i < end && i / BLOCK_BYTES == at / BLOCK_BYTES; i++)
            if (block->bytes[i % BLOCK_BYTES])
                return true;
    }
    return false;
}

static void block_drop(struct slc_pins *pins, struct block *block, uint64_t address, uint64_t size)
{
    uint64_t start = (block->number - 1) * BLOCK_BYTES;

    for (unsigned i = 0; i < BLOCK_BYTES && block->count; i++) {
        if (!block->bytes[i] || start + i - address >= size)
            continue;
        slc_pin_drop(pins, block->bytes[i]);
        block->bytes[i] = SLC_PIN_NONE;
        block->count--;
    }
}

void slc_pins_drop_range(struct slc_pins *pins, uint64_t address, uint64_t size)
{
    if (size / BLOCK_BYTES > pins->block_count) {
        for (uint32_t i = 0; i < pins->block_count; i++)
            block_drop(pins, &pins->blocks[i], address, size);
        return;
    }
    for (uint64_t at = address; at < address + size; at = (at / BLOCK_BYTES + 1) * BLOCK_BYTES) {
        struct block *block = block_find(pins, at);
        if (block && block->count)
            block_drop(pins, block, address, size);
    }
}
