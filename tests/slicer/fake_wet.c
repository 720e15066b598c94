/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queries of wet/intervals.h, from what fake_run.c has seen. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/slicer/fake_priv.h"
#include "wet/model/make_model.h"
#include <wetdbg/errors.h>

struct wetdbg_state {
    struct wetdbg *wet;
    wetdbg_time time;
    struct evq_regs regs;
};

/* The processor's registers before the instruction at the state's time. */
const struct user_regs_struct *wetdbg_state_registers(const struct wetdbg_state *state)
{
    return &state->wet->regs.at[state->time - 1];
}

const struct fake_step *fake_step(const struct wetdbg *wet, wetdbg_time time)
{
    return &wet->steps.at[time - 1];
}

const uint64_t *fake_slots(const struct wetdbg *wet)
{
    return wet->slots.at;
}

const struct fake_happening *fake_happenings(const struct wetdbg *wet, size_t *count)
{
    *count = wet->happenings.count;
    return wet->happenings.at;
}

const struct fake_object *fake_object(const struct wetdbg *wet, uint32_t object)
{
    return &wet->objects.at[object];
}

/* ---- the end of the run ---- */

static void take_picture(struct wetdbg *wet)
{
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%d/maps", wet->pid);
    FILE *maps = fopen(path, "r");
    wet->regions.count = wet->mappings.count = 0;
    while (maps && fgets(line, sizeof(line), maps)) {
        struct region region = {0};
        char prot[8];
        unsigned long long start, end, off;
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, prot, &off,
                   region.name) < 4)
            continue;
        region.start = start;
        region.end = end;
        region.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
                      (prot[2] == 'x' ? PROT_EXEC : 0);
        region.bytes = calloc(1, end - start);
        if (pread(wet->memory, region.bytes, end - start, (off_t)start) < 0)
            region.prot = 0;
        PUSH(wet->regions, region);
    }
    if (maps)
        fclose(maps);
    for (size_t i = 0; i < wet->regions.count; i++) {
        struct region *region = &wet->regions.at[i];
        struct wetdbg_mapping mapping = {region->start, region->end, region->prot, region->name};
        PUSH(wet->mappings, mapping);
    }
}

static void add_module(struct wetdbg *wet, const char *name)
{
    struct mdl_segment segments[16];
    struct mdl_module_input input = {.path = name,
                                     .file = MDL_IMAGE_NONE,
                                     .debug = MDL_IMAGE_NONE,
                                     .alt = MDL_IMAGE_NONE,
                                     .segments = segments};
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%d/maps", wet->pid);
    FILE *maps = fopen(path, "r");
    while (maps && fgets(line, sizeof(line), maps) && input.segment_count < 16) {
        unsigned long long start, end, off;
        char prot[8], file[256] = "";
        if (sscanf(line, "%llx-%llx %7s %llx %*s %*s %255s", &start, &end, prot, &off, file) < 5 ||
            strcmp(file, name) != 0)
            continue;
        segments[input.segment_count++] =
            (struct mdl_segment){start, end - start, off,
                                 (uint32_t)(prot[2] == 'x' ? PROT_READ | PROT_EXEC : PROT_READ)};
    }
    if (maps)
        fclose(maps);
    input.file.fd = open(name, O_RDONLY | O_CLOEXEC);
    if (input.file.fd >= 0 && input.segment_count)
        mdl_add_module(wet->model, &input, NULL);
    if (input.file.fd >= 0)
        close(input.file.fd);
}

void fake_keep_end(struct wetdbg *wet)
{
    if (wet->model)
        return;
    take_picture(wet);
    wet->model = mdl_new();
    for (size_t i = 0; i < wet->regions.count; i++) {
        bool seen = wet->regions.at[i].name[0] != '/';
        for (size_t k = 0; k < i; k++)
            seen |= strcmp(wet->regions.at[k].name, wet->regions.at[i].name) == 0;
        if (!seen)
            add_module(wet, wet->regions.at[i].name);
    }
}

/* ---- nodes and intervals ---- */

static bool ends_node(const struct ins_info *info)
{
    return info->klass != INS_PLAIN && info->klass < INS_CPUID;
}

static uint32_t slot_words(const struct ins_info *info)
{
    uint32_t words = info->mem_count;
    for (unsigned m = 0; m < info->mem_count; m++)
        if (info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            words += 16;
    words += info->choice.slots;
    return words + (info->mem_count && info->mems[0].flags & INS_MEM_REP ? 3 : 0);
}

#define INSTRUCTION_MAX 15 /* bytes */

static uint32_t find_node(struct wetdbg *wet, size_t first, uint32_t count)
{
    uint32_t *heads = wet->node_heads;

    uint64_t pc = wet->steps.at[first].pc;
    uint32_t at = (uint32_t)((pc * 64 + count) * 0x9e3779b97f4a7c15u >> 48);
    for (; heads[at]; at = (at + 1) & 0xffff) {
        const struct wet_node *node = &wet->nodes.at[heads[at] - 1];
        if (node->pc == pc && node->statement_count == count)
            return node->id;
    }
    struct wet_statement *statements = calloc(count, sizeof(*statements));
    uint8_t *code = calloc(count, INSTRUCTION_MAX);
    struct wet_node node = {.id = (uint32_t)wet->nodes.count,
                            .pc = pc,
                            .statement_count = count,
                            .code = code,
                            .statements = statements};
    for (uint32_t s = 0; s < count; s++) {
        const struct fake_step *step = &wet->steps.at[first + s];
        const struct code *own =
            (const void *)((const char *)step->described - offsetof(struct code, info));
        memcpy(code + node.code_bytes, own->bytes, step->info->length);
        statements[s] = (struct wet_statement){.info = step->described,
                                               .pc = step->pc,
                                               .byte_off = (uint16_t)node.code_bytes,
                                               .slot = (uint16_t)node.slot_count,
                                               .slot_count = slot_words(step->info)};
        node.slot_count += statements[s].slot_count;
        node.code_bytes += step->info->length;
    }
    PUSH(wet->nodes, node);
    heads[at] = (uint32_t)wet->nodes.count;
    return node.id;
}

static void close_interval(struct wetdbg *wet, struct wet_interval *interval, size_t end)
{
    interval->instructions = end + 1 - interval->first_time;
    interval->exec_count = wet->execs.count - wet->first_execs.at[interval->index];
    interval->event_count = wet->events.count - wet->first_events.at[interval->index];
    PUSH(wet->intervals, *interval);
}

static void open_interval(struct wetdbg *wet, struct wet_interval *interval, size_t at)
{
    *interval = (struct wet_interval){.index = wet->intervals.count, .first_time = at + 1};
    PUSH(wet->first_execs, wet->execs.count);
    PUSH(wet->first_events, wet->events.count);
    PUSH(wet->first_slots, wet->exec_slots.count);
}

/* Forgets jumps: what is no instruction's doing comes between a jump and what its task executes
 * next. */
static void forget_jumps(const struct wetdbg *wet, wetdbg_time time, size_t *happening,
                         wetdbg_time *jumps)
{
    for (; *happening < wet->happenings.count && wet->happenings.at[*happening].time < time;
         (*happening)++) {
        const struct fake_happening *is = &wet->happenings.at[*happening];
        if (is->kind == FAKE_HANDLER || is->kind == FAKE_HANDLER_END)
            jumps[is->task] = 0;
        else if (is->kind == FAKE_THREAD)
            jumps[is->other] = 0;
    }
}

static int jump_order(const void *a, const void *b)
{
    const struct wetdbg_jump *x = a, *y = b;
    if (x->jump != y->jump)
        return x->jump < y->jump ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

/* Lists where indirect jumps went, each pair once. */
static void list_jumps(struct wetdbg *wet)
{
    wetdbg_time jumps[FAKE_TASKS_MAX] = {0};
    size_t happening = 0, kept = 0;

    for (wetdbg_time t = 1; t <= wet->steps.count; t++) {
        const struct fake_step *step = &wet->steps.at[t - 1];
        forget_jumps(wet, t, &happening, jumps);
        if (jumps[step->task])
            PUSH(wet->jumps,
                 (struct wetdbg_jump){wet->steps.at[jumps[step->task] - 1].pc, step->pc});
        jumps[step->task] = step->info->klass == INS_JMP_INDIRECT ? t : 0;
    }
    if (wet->jumps.count)
        qsort(wet->jumps.at, wet->jumps.count, sizeof(struct wetdbg_jump), jump_order);
    for (size_t i = 0; i < wet->jumps.count; i++)
        if (i == 0 || jump_order(&wet->jumps.at[i], &wet->jumps.at[kept - 1]))
            wet->jumps.at[kept++] = wet->jumps.at[i];
    wet->jumps.count = kept;
}

void fake_build_intervals(struct wetdbg *wet)
{
    struct wet_interval interval;
    size_t event = 0;

    list_jumps(wet);
    open_interval(wet, &interval, 0);
    for (size_t i = 0; i < wet->steps.count;) {
        uint32_t count = 1;
        while (count < 64 && i + count < wet->steps.count &&
               !ends_node(wet->steps.at[i + count - 1].info) &&
               wet->steps.at[i].task == wet->steps.at[i + count].task &&
               (event == wet->fake_events.count || wet->fake_events.at[event].time > i + count))
            count++;
        if (i + 1 - interval.first_time >= FAKE_INTERVAL) {
            close_interval(wet, &interval, i);
            open_interval(wet, &interval, i);
        }
        struct wet_exec exec = {
            .node = find_node(wet, i, count),
            .time_off = (uint32_t)(i + 1 - interval.first_time),
            .slot_off = (uint32_t)(wet->exec_slots.count - wet->first_slots.at[interval.index]),
            .task = wet->steps.at[i].task};
        const struct wet_node *node = &wet->nodes.at[exec.node];
        for (uint32_t k = 0; k < node->slot_count; k++)
            PUSH(wet->exec_slots, wet->slots.at[wet->steps.at[i].slot_off + k]);
        for (uint32_t s = 0; s < count; s++) {
            wet->steps.at[i + s].node = exec.node;
            wet->steps.at[i + s].statement = s;
        }
        PUSH(wet->execs, exec);
        wet->nodes.at[exec.node].executions++;
        i += count;
        for (; event < wet->fake_events.count && wet->fake_events.at[event].time <= i; event++) {
            struct wet_event seen = {
                .time = wet->fake_events.at[event].time,
                .task = wet->fake_events.at[event].task,
                .exec = (uint32_t)(wet->execs.count - 1 - wet->first_execs.at[interval.index]),
                .entry = (const struct evq_entry *)(wet->event_words.at +
                                                    wet->fake_events.at[event].off)};
            PUSH(wet->events, seen);
        }
    }
    close_interval(wet, &interval, wet->steps.count);
    wet->info.intervals = wet->intervals.count;
    for (size_t k = 0; k < wet->intervals.count; k++) {
        wet->intervals.at[k].execs = wet->execs.at + wet->first_execs.at[k];
        wet->intervals.at[k].events = wet->events.at + wet->first_events.at[k];
        wet->intervals.at[k].slots = wet->exec_slots.at + wet->first_slots.at[k];
    }
}

static void code_free(struct code *code)
{
    for (unsigned top = 0; code && top < 8; top++)
        free(code->settled[top]);
    free(code);
}

void wetdbg_close(struct wetdbg *wet)
{
    if (!wet)
        return;
    for (size_t i = 0; i < wet->code.count; i++)
        code_free(wet->code.at[i]);
    for (size_t i = 0; i < wet->nodes.count; i++) {
        free((void *)(uintptr_t)wet->nodes.at[i].statements);
        free((void *)(uintptr_t)wet->nodes.at[i].code);
    }
    for (size_t i = 0; i < wet->regions.count; i++)
        free(wet->regions.at[i].bytes);
    void *all[] = {
        wet->code.at,      wet->steps.at,       wet->regs.at,         wet->slots.at,
        wet->undo.at,      wet->undo_bytes.at,  wet->happenings.at,   wet->shown.at,
        wet->threads.at,   wet->executors.at,   wet->objects.at,      wet->outputs.at,
        wet->regions.at,   wet->fake_events.at, wet->event_words.at,  wet->mappings.at,
        wet->nodes.at,     wet->execs.at,       wet->exec_slots.at,   wet->events.at,
        wet->intervals.at, wet->first_execs.at, wet->first_events.at, wet->first_slots.at,
        wet->jumps.at};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
    mdl_free(wet->model);
    if (wet->memory >= 0)
        close(wet->memory);
    free(wet);
}

/* ---- queries ---- */

const struct wetdbg_info *wetdbg_get_info(const struct wetdbg *wet)
{
    return &wet->info;
}

struct wetdbg_model *wetdbg_get_model(struct wetdbg *wet)
{
    return wet->model;
}

const struct wet_node *wet_get_node(struct wetdbg *wet, uint32_t id)
{
    return id < wet->nodes.count ? &wet->nodes.at[id] : NULL;
}

uint32_t wet_node_limit(const struct wetdbg *wet)
{
    return (uint32_t)wet->nodes.count;
}

uint32_t wet_node_executions_in(const struct wetdbg *wet, uint32_t node, uint64_t k)
{
    const struct wet_interval *interval = &wet->intervals.at[k];
    uint32_t count = 0;

    for (size_t i = 0; i < interval->exec_count; i++)
        count += interval->execs[i].node == node;
    return count;
}

int wet_interval_get(struct wetdbg *wet, uint64_t k, const struct wet_interval **out)
{
    *out = &wet->intervals.at[k];
    return 0;
}

void wet_interval_put(struct wetdbg *wet, const struct wet_interval *interval)
{
    (void)wet;
    (void)interval;
}

void wet_prefetch(struct wetdbg *wet, uint64_t k)
{
    (void)wet;
    (void)k;
}

wetdbg_time wetdbg_interval_time(const struct wetdbg *wet, uint64_t k)
{
    return k < wet->intervals.count ? wet->intervals.at[k].first_time : wet->steps.count + 1;
}

uint64_t wetdbg_interval_at(const struct wetdbg *wet, wetdbg_time t)
{
    uint64_t k = 0;
    while (k + 1 < wet->intervals.count && wet->intervals.at[k + 1].first_time <= t)
        k++;
    return k;
}

static bool meets(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a < b + b_size && a + a_size > b;
}

bool wetdbg_interval_may_write(const struct wetdbg *wet, uint64_t k, uint64_t address,
                               uint64_t size)
{
    const struct wet_interval *interval = &wet->intervals.at[k];
    wetdbg_time first = interval->first_time, end = first + interval->instructions;

    address &= ~UINT64_C(255);
    size = (size + 511) & ~UINT64_C(255);
    for (size_t i = 0; i < wet->undo.count; i++)
        if (wet->undo.at[i].time >= first && wet->undo.at[i].time < end &&
            meets(wet->undo.at[i].address, wet->undo.at[i].size, address, size))
            return true;
    for (size_t i = 0; i < wet->happenings.count; i++)
        if (wet->happenings.at[i].time >= first && wet->happenings.at[i].time < end &&
            meets(wet->happenings.at[i].address, wet->happenings.at[i].size, address, size))
            return true;
    return false;
}

int wetdbg_each_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, wetdbg_time from,
                         wetdbg_time to, wetdbg_instance_fn fn, void *arg)
{
    int result = 0;

    for (wetdbg_time t = from ? from : 1; t <= to && t <= wet->steps.count && !result; t++)
        for (size_t i = 0; i < pc_count; i++)
            if (pcs[i] == wet->steps.at[t - 1].pc) {
                result = fn(arg, t, pcs[i]);
                break;
            }
    return result;
}

static int count_one(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)time;
    (void)pc;
    ++*(uint64_t *)arg;
    return 0;
}

int wetdbg_count_instances(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count,
                           uint64_t *count)
{
    *count = 0;
    return wetdbg_each_instance(wet, pcs, pc_count, 1, wet->steps.count, count_one, count);
}

struct nth {
    uint64_t left;
    wetdbg_time time;
};

static int find_nth(void *arg, wetdbg_time time, uint64_t pc)
{
    struct nth *nth = arg;
    (void)pc;
    nth->time = time;
    return --nth->left == 0;
}

int wetdbg_find_instance(struct wetdbg *wet, const uint64_t *pcs, size_t pc_count, int64_t k,
                         wetdbg_time *time)
{
    uint64_t count;

    wetdbg_count_instances(wet, pcs, pc_count, &count);
    int64_t rank = k < 0 ? (int64_t)count + k + 1 : k;
    if (rank < 1 || rank > (int64_t)count)
        return -WETDBG_ERR_NOT_FOUND;
    struct nth nth = {(uint64_t)rank, 0};
    wetdbg_each_instance(wet, pcs, pc_count, 1, wet->steps.count, find_nth, &nth);
    *time = nth.time;
    return 0;
}

int wetdbg_state_open(struct wetdbg *wet, wetdbg_time t, struct wetdbg_state **out)
{
    struct wetdbg_state *state = malloc(sizeof(*state));

    *state = (struct wetdbg_state){wet, t, fake_queue_regs(&wet->regs.at[t - 1])};
    *out = state;
    return 0;
}

int wetdbg_state_advance(struct wetdbg_state *state, wetdbg_time t)
{
    *state = (struct wetdbg_state){state->wet, t, fake_queue_regs(&state->wet->regs.at[t - 1])};
    return 0;
}

void wetdbg_state_close(struct wetdbg_state *state)
{
    free(state);
}

const struct evq_regs *wet_state_regs(const struct wetdbg_state *state)
{
    return &state->regs;
}

uint32_t wetdbg_state_task(const struct wetdbg_state *state)
{
    const struct wetdbg *wet = state->wet;
    return state->time > wet->steps.count ? wet->last_task : wet->steps.at[state->time - 1].task;
}

/* A task's registers are those before its next instruction, whenever that comes. */
int wetdbg_state_select(struct wetdbg_state *state, uint32_t task)
{
    const struct wetdbg *wet = state->wet;

    if (task == wetdbg_state_task(state))
        return 0;
    for (wetdbg_time t = state->time; t <= wet->steps.count; t++)
        if (wet->steps.at[t - 1].task == task) {
            state->regs = fake_queue_regs(&wet->regs.at[t - 1]);
            return 0;
        }
    return -WETDBG_ERR_NOT_FOUND;
}

const struct wetdbg_thread *wetdbg_threads(const struct wetdbg *wet, size_t *count)
{
    *count = wet->threads.count;
    return wet->threads.at;
}

const struct wetdbg_jump *wetdbg_jumps(const struct wetdbg *wet, size_t *count)
{
    *count = wet->jumps.count;
    return wet->jumps.at;
}

const struct wetdbg_thread *wetdbg_thread_at(const struct wetdbg *wet, wetdbg_time t)
{
    return t >= 1 && t <= wet->steps.count ? &wet->threads.at[wet->executors.at[t - 1]] : NULL;
}

const struct wetdbg_thread *wetdbg_thread_of(const struct wetdbg *wet, uint32_t task, wetdbg_time t)
{
    for (size_t i = wet->threads.count; i-- > 0;)
        if (wet->threads.at[i].task == task && wet->threads.at[i].start <= t + 1)
            return &wet->threads.at[i];
    return NULL;
}

/* The part of a range of memory that one region has. */
static size_t read_region(const struct wetdbg_state *state, const struct region *region,
                          uint64_t address, uint8_t *bytes, size_t size)
{
    const struct wetdbg *wet = state->wet;

    if (size > region->end - address)
        size = (size_t)(region->end - address);
    memcpy(bytes, region->bytes + (address - region->start), size);
    for (size_t u = wet->undo.count; u-- > 0 && wet->undo.at[u].time >= state->time;) {
        const struct undo *undo = &wet->undo.at[u];
        uint64_t from = undo->address > address ? undo->address : address;
        uint64_t end = undo->address + undo->size < address + size ? undo->address + undo->size
                                                                   : address + size;
        if (from < end)
            memcpy(bytes + (from - address), wet->undo_bytes.at + undo->off + from - undo->address,
                   end - from);
    }
    return size;
}

int wetdbg_state_read(struct wetdbg_state *state, uint64_t address, void *bytes, size_t size)
{
    const struct wetdbg *wet = state->wet;
    uint8_t *to = bytes;

    while (size) {
        size_t count = 0;
        for (size_t i = 0; i < wet->regions.count && !count; i++) {
            const struct region *region = &wet->regions.at[i];
            if (address >= region->start && address < region->end && region->prot)
                count = read_region(state, region, address, to, size);
        }
        if (!count)
            return wetdbg_fail(-EFAULT, "nothing is mapped at 0x%llx", (unsigned long long)address);
        address += count;
        to += count;
        size -= count;
    }
    return 0;
}

int wetdbg_state_mappings(struct wetdbg_state *state, const struct wetdbg_mapping **list,
                          size_t *count)
{
    *list = state->wet->mappings.at;
    *count = state->wet->mappings.count;
    return 0;
}

const struct wetdbg_output *wetdbg_outputs(const struct wetdbg *wet, size_t *count)
{
    *count = wet->outputs.count;
    return wet->outputs.at;
}

int wet_each_entry(struct wetdbg *wet, int (*fn)(void *arg, const struct wet_event *event),
                   void *arg)
{
    int result = 0;
    for (size_t i = 0; i < wet->events.count && !result; i++)
        result = fn(arg, &wet->events.at[i]);
    return result;
}

int wetdbg_state_vector(const struct wetdbg_state *state, unsigned number, uint8_t bytes[64],
                        unsigned *width)
{
    (void)state;
    (void)number;
    memset(bytes, 0, 64);
    *width = 16;
    return -WETDBG_ERR_NOT_FOUND;
}

int wetdbg_state_mask(const struct wetdbg_state *state, unsigned number, uint64_t *mask)
{
    (void)state;
    *mask = UINT64_C(0x8877665544332211) + number; /* whoever executes the guest may have none */
    return 0;
}

const uint8_t *wetdbg_state_xstate(const struct wetdbg_state *state, size_t *size_bytes)
{
    (void)state;
    *size_bytes = 0;
    return NULL;
}
