/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels against a second statement of the same rules: register piece by register piece, byte by
 * byte, over the intervals of a WET of the same recording.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/feed/feed.h"
#include "recorder/insn/insn_ranges.h"
#include "tests/wet/wet_fixture.h"
#include "wet/depend/depend.h"
#include "wet/trace/stored_entry.h"

#define PAGE_BYTES 4096u

RUN(run_printf, PROGRAMS "/prog_printf_O0_pie")
RUN(run_repstr, PROGRAMS "/prog_repstr_O2_static")
RUN(run_signals, PROGRAMS "/prog_signals_O0_pie")
RUN(run_simd, PROGRAMS "/prog_simd_O2_pie")
RUN(run_heap, PROGRAMS "/prog_heap_O2_pie")
RUN(run_threads, PROGRAMS "/thread_queue_O2_pie")
RUN(run_crash, PROGRAMS "/prog_crash_ud2_O2_pie")

/* ---- what was found, copied ---- */

struct found_exec {
    uint64_t number, pc;
    uint32_t statements, input_count;
    size_t inputs_at; /* of struct ins_regset */
    size_t labels_at; /* of u64 */
};

struct found {
    struct wd_buf execs, inputs, labels; /* labels are whole numbers here; runs as they were */
    struct wet_depend_result result;
    uint32_t number_max;
    uint64_t olds; /* labels that stood for older ones */
    int err;
};

static unsigned used_operands(const struct ins_info *info)
{
    unsigned used = 0;
    for (unsigned f = 0; f < info->flow_count; f++)
        used |= info->flows[f].mem_uses | info->flows[f].mem_may_defs;
    return used;
}

static void keep_word(struct found *found, uint64_t word)
{
    if (!found->err)
        found->err = wd_buf_append(&found->labels, &word, sizeof(word));
}

static void keep_label(struct found *found, const struct wet_label_block *block, uint32_t label)
{
    found->olds += label && label <= block->old_count;
    keep_word(found, wet_label_number(block, label));
}

/* Keeps the labels of one operand, gives back where the next one's are. */
static const uint32_t *keep_operand(struct found *found, const struct wet_label_block *block,
                                    const uint32_t *label)
{
    if (*label != WET_LABEL_RUNS) {
        keep_label(found, block, *label);
        return label + 1;
    }
    uint32_t runs = label[1];
    keep_word(found, WET_LABEL_RUNS);
    keep_word(found, runs);
    label += 2;
    for (uint32_t run = 0; run < runs; run++, label += 2) {
        keep_label(found, block, label[0]);
        keep_word(found, label[1]);
    }
    return label;
}

static const uint32_t *keep_exec(struct found *found, const struct wet_label_block *block,
                                 uint64_t number, const uint32_t *words)
{
    const struct wet_label_node *node = block->nodes[*words++];
    struct found_exec exec = {.number = number,
                              .pc = node->pc,
                              .statements = node->statement_count,
                              .input_count = node->input_count,
                              .inputs_at = found->inputs.size_bytes / sizeof(struct ins_regset),
                              .labels_at = found->labels.size_bytes / sizeof(uint64_t)};
    if (!found->err)
        found->err = wd_buf_append(&found->execs, &exec, sizeof(exec));
    if (!found->err)
        found->err =
            wd_buf_append(&found->inputs, node->inputs, node->input_count * sizeof(*node->inputs));
    for (uint32_t i = 0; i < node->input_count; i++)
        keep_label(found, block, *words++);
    for (uint32_t off = 0; off < node->code_bytes;) {
        struct ins_info info;
        if (ins_decode(node->code + off, node->code_bytes - off, node->pc + off, &info))
            info = (struct ins_info){.length = 1};
        off += info.length;
        for (unsigned used = used_operands(&info); used; used &= used - 1)
            words = keep_operand(found, block, words);
    }
    return words;
}

/* On the finder's thread: nothing is asserted here. */
static int keep_block(void *arg, const struct wet_label_block *block)
{
    struct found *found = arg;
    const uint32_t *words = block->words;
    for (uint64_t i = 0; i < block->executions && !found->err; i++)
        words = keep_exec(found, block, block->first + i, words);
    if (!found->err && words != block->words + block->word_count)
        found->err =
            wetdbg_fail(-WETDBG_ERR_CORRUPT, "a block's words do not end with its executions");
    return found->err;
}

static int find(const char *trace_dir, struct found *found)
{
    struct wetdbg_recording *trace;
    struct rep_feed *feed;
    struct rep_selection which = {0};
    struct wet_depend_options options = {
        .labels = keep_block, .arg = found, .number_max = found->number_max};
    ok(rep_selection_parse(NULL, &which));
    ok(wetdbg_recording_open(trace_dir, &trace));
    ok(rep_feed_open(trace, &which, &feed));
    int err = wet_find_dependences(feed, &options, &found->result);
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}

/* ---- the rules again ---- */

struct page {
    struct page *next;
    uint64_t number;
    uint32_t labels[PAGE_BYTES];
};

struct reference {
    struct page *pages[4096];
    uint32_t last[EVQ_TASKS_MAX][INS_LOC_COUNT];
    uint32_t number;
};

static uint32_t *byte_at(struct reference *reference, uint64_t address)
{
    uint64_t number = address / PAGE_BYTES;
    struct page **head = &reference->pages[number % 4096];
    for (struct page *page = *head; page; page = page->next)
        if (page->number == number)
            return &page->labels[address % PAGE_BYTES];
    struct page *page = calloc(1, sizeof(*page));
    assert_non_null(page);
    page->number = number;
    page->next = *head;
    *head = page;
    return &page->labels[address % PAGE_BYTES];
}

static void bytes_label(struct reference *reference, uint64_t address, uint64_t bytes,
                        uint32_t label)
{
    for (uint64_t i = 0; label && i < bytes; i++)
        *byte_at(reference, address + i) = label;
    if (label)
        return;
    for (size_t h = 0; h < 4096; h++) /* ranges without definition may be huge */
        for (struct page *page = reference->pages[h]; page; page = page->next)
            for (unsigned i = 0; i < PAGE_BYTES; i++)
                if (page->number * PAGE_BYTES + i - address < bytes)
                    page->labels[i] = 0;
}

static void locations_label(struct reference *reference, uint32_t task, unsigned first,
                            unsigned end)
{
    for (unsigned l = first; l < end; l++)
        reference->last[task][l] = reference->number;
}

static void gpr_label(struct reference *reference, uint32_t task, unsigned gpr)
{
    locations_label(reference, task, INS_LOC_GPR + 3 * gpr, INS_LOC_GPR + 3 * gpr + 3);
}

static void op_label(struct reference *reference, const struct evq_entry *entry,
                     const struct evq_op *op)
{
    /* madvise that loses contents is a mapping anew; a WET has it as zeros */
    bool is_loss = entry->kind == EVQ_SYSCALL_EXIT && entry->number == SYS_madvise;
    uint32_t label = reference->number;
    switch (op->op) {
    case EVQ_OP_WRITE:
    case EVQ_OP_ZERO:
        bytes_label(reference, op->range.start, op->range.size, is_loss ? 0 : label);
        break;
    case EVQ_OP_MAP:
    case EVQ_OP_UNMAP:
        bytes_label(reference, op->range.start, op->range.size, 0);
        break;
    case EVQ_OP_REMAP:
        assert_true(op->remap.start == op->remap.to &&
                    op->remap.to_size >= op->remap.size); /* no sample does more */
        break;
    case EVQ_OP_REGS:
        if (entry->kind == EVQ_SYSCALL_EXIT && entry->number != SYS_rt_sigreturn) {
            gpr_label(reference, entry->task, INS_RAX);
            gpr_label(reference, entry->task, INS_RCX);
            gpr_label(reference, entry->task, 11);
        } else if (entry->kind != EVQ_TRAP) {
            locations_label(reference, entry->task, INS_LOC_GPR, INS_LOC_VEC);
            locations_label(reference, entry->task, INS_LOC_FS_BASE, INS_LOC_GS_BASE + 1);
        }
        break;
    case EVQ_OP_XSTATE:
        locations_label(reference, entry->task, INS_LOC_VEC, INS_LOC_FS_BASE);
        break;
    case EVQ_OP_TASK_NEW:
        memcpy(reference->last[op->task_new.task], reference->last[entry->task],
               sizeof(reference->last[0]));
        gpr_label(reference, (uint32_t)op->task_new.task, INS_RAX);
        break;
    case EVQ_OP_CLEAR_SPACE:
        bytes_label(reference, 0, UINT64_MAX, 0);
        break;
    default:
        break;
    }
}

static void event_label(struct reference *reference, const struct evq_entry *entry)
{
    reference->number++;
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        op_label(reference, entry, op);
}

/* The bytes of an operand in the order of their labels. */
static unsigned operand_ranges(const struct wet_statement *statement, unsigned m,
                               const uint64_t *slots, struct ins_range *ranges)
{
    const struct ins_info *info = statement->info;
    const uint64_t *at = slots + statement->slot;
    if (info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64 | INS_MEM_SIZE_BOUND) ||
        (info->mems[m].flags & INS_MEM_LANES && info->choice.kind == INS_CHOICE_BYTES))
        return ins_operand_ranges(info, m, at, ranges);
    ranges[0] = (struct ins_range){at[m], info->mems[m].size_bytes};
    if (!(info->mems[m].flags & INS_MEM_REP))
        return 1;
    const uint64_t *rep = at + info->mem_count;
    uint64_t times = rep[0] - rep[1];
    bool down = times && (int64_t)(rep[2] - at[0]) < 0;
    if (down)
        ranges[0].address -= (times - 1) * ranges[0].size_bytes;
    ranges[0].size_bytes *= times;
    return 1;
}

/* Compares one operand's labels, gives back how many words they were. */
static size_t operand_compare(struct reference *reference, const struct ins_range *ranges,
                              unsigned count, bool is_bound, const uint64_t *labels)
{
    uint64_t runs = labels[0] == WET_LABEL_RUNS ? labels[1] : 0, run = 0;
    uint64_t left = runs ? labels[3] : 0;
    for (unsigned r = 0; r < count; r++)
        for (uint64_t i = 0; i < ranges[r].size_bytes; i++) {
            uint64_t label = runs ? labels[2 + 2 * run] : labels[0];
            /* an upper bound may reach beyond all memory, where there are no labels */
            if (label || !is_bound)
                assert_int_equal(label, *byte_at(reference, ranges[r].address + i));
            if (runs && --left == 0 && ++run < runs)
                left = labels[3 + 2 * run];
        }
    assert_int_equal(run, runs);
    return labels[0] == WET_LABEL_RUNS ? 2 + 2 * runs : 1;
}

static size_t statement_compare(struct reference *reference, const struct wet_statement *statement,
                                const uint64_t *slots, const uint64_t *labels)
{
    const struct ins_info *info = statement->info;
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned used = used_operands(info), defined = 0;
    size_t words = 0;
    for (unsigned m = 0; m < info->mem_count; m++)
        if (used >> m & 1) {
            unsigned count = operand_ranges(statement, m, slots, ranges);
            words += operand_compare(reference, ranges, count,
                                     info->mems[m].flags & INS_MEM_SIZE_BOUND, labels + words);
        }
    for (unsigned f = 0; f < info->flow_count; f++)
        defined |= info->flows[f].mem_defs | info->flows[f].mem_may_defs;
    for (unsigned m = 0; m < info->mem_count; m++)
        if (defined >> m & 1) {
            unsigned count = operand_ranges(statement, m, slots, ranges);
            for (unsigned r = 0; r < count; r++)
                bytes_label(reference, ranges[r].address, ranges[r].size_bytes, reference->number);
        }
    return words;
}

/* Register pieces that a node uses before it defines them, and all that it defines. */
static void node_registers(const struct wet_node *node, struct ins_regset *uses,
                           struct ins_regset *defines)
{
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct ins_info *info = node->statements[s].info;
        for (unsigned l = 0; l < INS_LOC_COUNT; l++) {
            bool is_used = false;
            for (unsigned f = 0; f < info->flow_count; f++)
                is_used |= ins_regset_has(&info->flows[f].value_uses, l) ||
                           ins_regset_has(&info->flows[f].cond_uses, l) ||
                           ins_regset_has(&info->flows[f].may_defs, l);
            for (unsigned m = 0; m < info->mem_count; m++) {
                struct ins_regset address = ins_addr_uses(info, m);
                is_used |= ins_regset_has(&address, l);
            }
            if (is_used && !ins_regset_has(defines, l))
                ins_regset_add(uses, l);
        }
        for (unsigned f = 0; f < info->flow_count; f++) {
            ins_regset_join(defines, &info->flows[f].defs);
            ins_regset_join(defines, &info->flows[f].may_defs);
        }
    }
}

static void inputs_compare(struct reference *reference, const struct found *found,
                           const struct found_exec *exec, uint32_t task,
                           const struct ins_regset *uses)
{
    const struct ins_regset *inputs =
        (const struct ins_regset *)found->inputs.data + exec->inputs_at;
    const uint64_t *labels = (const uint64_t *)found->labels.data + exec->labels_at;
    struct ins_regset all = {0};
    for (uint32_t i = 0; i < exec->input_count; i++) {
        assert_false(ins_regset_intersects(&all, &inputs[i]));
        ins_regset_join(&all, &inputs[i]);
        for (unsigned l = ins_regset_next(&inputs[i], 0); l < INS_LOC_COUNT;
             l = ins_regset_next(&inputs[i], l + 1))
            if (labels[i] != reference->last[task][l])
                fail_msg("execution %llu at %#llx: %s is of %u, said to be of %llu",
                         (unsigned long long)exec->number, (unsigned long long)exec->pc,
                         ins_location_name(l), reference->last[task][l],
                         (unsigned long long)labels[i]);
    }
    assert_memory_equal(&all, uses, sizeof(all));
}

static void exec_compare(struct reference *reference, const struct found *found, size_t i,
                         const struct wet_node *node, const struct wet_exec *exec,
                         const uint64_t *slots)
{
    const struct found_exec *is = (const struct found_exec *)found->execs.data + i;
    struct ins_regset uses = {0}, defines = {0};
    assert_true(i < found->execs.size_bytes / sizeof(*is));
    reference->number++;
    assert_int_equal(is->number, reference->number);
    assert_int_equal(is->pc, node->pc);
    assert_int_equal(is->statements, node->statement_count);
    node_registers(node, &uses, &defines);
    inputs_compare(reference, found, is, exec->task, &uses);
    const uint64_t *labels = (const uint64_t *)found->labels.data + is->labels_at + is->input_count;
    for (uint32_t s = 0; s < node->statement_count; s++)
        labels += statement_compare(reference, &node->statements[s], slots, labels);
    for (unsigned l = ins_regset_next(&defines, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&defines, l + 1))
        reference->last[exec->task][l] = reference->number;
}

static void reference_free(struct reference *reference)
{
    for (size_t h = 0; h < 4096; h++)
        for (struct page *page = reference->pages[h], *next; page; page = next) {
            next = page->next;
            free(page);
        }
    free(reference);
}

static void found_compare(struct fixture *fixture, const struct found *found)
{
    struct reference *reference = calloc(1, sizeof(*reference));
    size_t i = 0;
    for (uint64_t k = 0; k < wetdbg_get_info(fixture->whole)->intervals; k++) {
        const struct wet_interval *interval;
        ok(wet_interval_get(fixture->whole, k, &interval));
        size_t event = 0;
        for (size_t e = 0; e <= interval->exec_count; e++) {
            for (; event < interval->event_count && interval->events[event].exec + 1 == (uint32_t)e;
                 event++)
                event_label(reference, interval->events[event].entry);
            if (e == interval->exec_count)
                break;
            const struct wet_exec *exec = &interval->execs[e];
            exec_compare(reference, found, i++, wet_get_node(fixture->whole, exec->node), exec,
                         interval->slots + exec->slot_off);
        }
        assert_int_equal(event, interval->event_count);
        wet_interval_put(fixture->whole, interval);
    }
    assert_int_equal(i, found->result.executions);
    assert_int_equal(wetdbg_get_info(fixture->whole)->instructions, found->result.instructions);
    reference_free(reference);
}

static void found_free(struct found *found)
{
    wd_buf_fini(&found->execs);
    wd_buf_fini(&found->inputs);
    wd_buf_fini(&found->labels);
}

static void every_label_is_that_of_the_last_definition(void **state)
{
    struct fixture *fixture = *state;
    struct found found = {0};
    ok(find(fixture->run.trace, &found));
    found_compare(fixture, &found);
    print_message("%llu executions, %llu register labels, %llu of memory, %llu split\n",
                  (unsigned long long)found.result.executions,
                  (unsigned long long)found.result.register_labels,
                  (unsigned long long)found.result.memory_labels,
                  (unsigned long long)found.result.split_labels);
    assert_true(found.result.register_labels && found.result.memory_labels);
    assert_int_equal(found.olds, 0);
    found_free(&found);
}

static void labels_are_the_same_when_numbers_are_used_up_again_and_again(void **state)
{
    struct fixture *fixture = *state;
    struct found found = {.number_max = 2000}, few = {.number_max = 1000};
    int err;
    /* how many definitions are live at once is the libc's affair */
    while ((err = find(fixture->run.trace, &found)) == -WETDBG_ERR_UNSUPPORTED) {
        found_free(&found);
        found = (struct found){.number_max = 2 * found.number_max};
    }
    ok(err);
    assert_true(found.number_max < found.result.executions);
    found_compare(fixture, &found);
    assert_true(found.olds > 0);
    found_free(&found);
    /* more definitions are live than half of these */
    assert_int_equal(find(fixture->run.trace, &few), -WETDBG_ERR_UNSUPPORTED);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED), "still there"));
    found_free(&few);
}

#define TEST(run, test)                                                                            \
    {                                                                                              \
#run ": " #test, test, run, fixture_close, NULL                                            \
    }
#define LABELS(run) TEST(run, every_label_is_that_of_the_last_definition)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LABELS(run_printf),
        LABELS(run_repstr),
        LABELS(run_signals),
        LABELS(run_simd),
        LABELS(run_heap),
        LABELS(run_threads),
        LABELS(run_crash),
        TEST(run_heap, labels_are_the_same_when_numbers_are_used_up_again_and_again),
        TEST(run_threads, labels_are_the_same_when_numbers_are_used_up_again_and_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
