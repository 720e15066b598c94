/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is reached in the graph, backward from a criterion or forward from a source. */
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_pick.h"
#include "tests/slicer/brute_priv.h"

/* ---- reachability ---- */

struct search {
    struct brute *b;
    enum wetdbg_slice_kinds kinds;
    uint8_t *defs;      /* bit 0: reached */
    uint8_t *instances; /* bit 0: in the slice, bit 1: branch flows done */
    VEC(uint32_t) todo; /* definitions */
    VEC(uint32_t) members;
};

static bool follows(const struct search *s, enum wetdbg_edge edge)
{
    if (s->kinds == WETDBG_SLICE_CONTROL)
        return edge == WETDBG_EDGE_CONTROL;
    if (edge == WETDBG_EDGE_ADDRESS)
        return s->kinds != WETDBG_SLICE_THIN;
    return edge != WETDBG_EDGE_CONTROL || s->kinds == WETDBG_SLICE_FULL;
}

static void add_edge(struct search *s, wetdbg_time user, wetdbg_time definition,
                     enum wetdbg_edge kind)
{
    struct edge edge = {(uint32_t)user, (uint32_t)definition, (uint8_t)kind};
    PUSH(s->b->edges, edge);
}

static void reach_instance(struct search *s, uint32_t t);

static void reach_use(struct search *s, wetdbg_time user, const struct use *use)
{
    if (!follows(s, (enum wetdbg_edge)use->edge))
        return;
    for (uint32_t d = use->def; d; d = s->b->defs.at[d].before) {
        if (s->b->defs.at[d].flow == JOIN_FLOW) {
            for (uint32_t i = s->b->defs.at[d].join; s->b->joins.at[i]; i++) {
                struct use one = {use->place, s->b->joins.at[i], use->edge, use->is_memory};
                reach_use(s, user, &one);
            }
            return;
        }
        const struct def *def = &s->b->defs.at[d];
        unsigned kinds = 0;
        if (def->flow != KERNEL_FLOW && def->flow != SENT_FLOW)
            kinds = fake_step(s->b->wet, def->time)->info->flows[def->flow].kinds;
        if (!def->is_memory && (kinds & INS_FLOW_STACK || (kinds & INS_FLOW_STACK_ADDRESS &&
                                                           use->edge == WETDBG_EDGE_ADDRESS)))
            continue;
        add_edge(s, user, def->time, (enum wetdbg_edge)use->edge);
        if (!s->defs[d]) {
            s->defs[d] = 1;
            PUSH(s->todo, d);
        }
        reach_instance(s, def->time);
    }
}

static void reach_flow(struct search *s, uint32_t t, unsigned f)
{
    const struct instance *in = &s->b->instances[t];
    for (size_t u = in->uses[f]; u < in->uses[f + 1]; u++)
        reach_use(s, t, &s->b->uses.at[u]);
}

static void reach_branch(struct search *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->b->wet, t)->info;

    if (s->instances[t] & 2)
        return;
    s->instances[t] |= 2;
    reach_instance(s, t);
    for (unsigned f = 0; f < info->flow_count && s->kinds != WETDBG_SLICE_CONTROL; f++)
        if (info->flows[f].kinds & INS_FLOW_BRANCH)
            reach_flow(s, t, f);
}

static void reach_instance(struct search *s, uint32_t t)
{
    if (s->instances[t] & 1)
        return;
    s->instances[t] |= 1;
    PUSH(s->members, t);
}

static bool is_sign_copy(const struct ins_flow *flow)
{
    return flow->kinds & INS_FLOW_SIGN_COPY;
}

static bool is_reversed_copy(const struct ins_flow *flow)
{
    return flow->kinds & INS_FLOW_REVERSED_COPY;
}

static bool is_plain_copy(const struct ins_flow *flow)
{
    if (!(flow->kinds & INS_FLOW_COPY) && !is_sign_copy(flow) && !is_reversed_copy(flow))
        return false;
    for (unsigned l = 0; l < INS_LOC_COUNT; l++)
        if ((ins_regset_has(&flow->value_uses, l) || ins_regset_has(&flow->defs, l) ||
             ins_regset_has(&flow->may_defs, l)) &&
            !brute_is_gpr(l) && !brute_is_vector(l))
            return false;
    return true;
}

/* The first place of the register pieces of a set. */
static unsigned first_place(const struct ins_regset *a, const struct ins_regset *b)
{
    unsigned first = 0, from, to;

    while (!ins_regset_has(a, first) && !ins_regset_has(b, first))
        first++;
    brute_loc_places(first, &from, &to);
    return from;
}

/* How many bytes of a register an instruction moves, and whether it extends their sign. */
static unsigned moved_bytes(const struct search *s, wetdbg_time t, bool *is_sign)
{
    const struct fake_step *step = fake_step(s->b->wet, t);
    uint32_t *known = brute_map_at(&s->b->moved, step->pc);
    uint8_t code[16];
    struct wetdbg_state *state;
    unsigned count = 0;

    if (*known) {
        *is_sign = *known >> 8;
        return (*known & 255) - 1;
    }
    if (wetdbg_state_open(s->b->wet, t, &state))
        abort();
    while (count < step->info->length &&
           wetdbg_state_read(state, step->pc + count, &code[count], 1) == 0)
        count++;
    wetdbg_state_close(state);
    unsigned moved = ins_moved_bytes(code, count, is_sign);
    *known = (moved + 1) | (uint32_t)*is_sign << 8;
    return moved;
}

/* Whether byte `at` of the destination (counted from its start) is that byte of the source. */
static bool is_source_byte(const struct search *s, const struct def *def, const struct use *use)
{
    const struct ins_info *info = fake_step(s->b->wet, def->time)->info;
    const struct ins_flow *flow = &info->flows[def->flow];
    uint64_t to, from, size = 8;
    bool is_sign = false;

    if (def->is_memory) {
        unsigned m = (unsigned)__builtin_ctz((unsigned)(flow->mem_defs | flow->mem_may_defs));
        struct span span = brute_operand_span(s->b->wet, def->time, m);
        to = def->place - span.address;
        if (info->mems[m].flags & INS_MEM_REP && !flow->mem_uses)
            to %= info->mems[m].size_bytes;
    } else {
        to = def->place - first_place(&flow->defs, &flow->may_defs);
    }
    if (use->is_memory) {
        struct span span =
            brute_operand_span(s->b->wet, def->time, (unsigned)__builtin_ctz(flow->mem_uses));
        from = use->place - span.address;
        size = span.size;
        if (is_sign_copy(flow))
            moved_bytes(s, def->time, &is_sign);
    } else {
        from = use->place - first_place(&flow->value_uses, &flow->value_uses);
        size = REG_BYTES;
        if (use->place < brute_gpr_place(16))
            size = moved_bytes(s, def->time, &is_sign);
    }
    if (size && to >= size)
        return is_sign && from == size - 1;
    return is_reversed_copy(flow) ? from + to == size - 1 : from == to;
}

/* Whether a register is one that elements are computed of. */
static bool is_computed_of(const struct ins_info *info, const struct use *use)
{
    const struct ins_regset uses = ins_computed_uses(info);
    unsigned from, to;

    for (unsigned l = ins_regset_next(&uses, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&uses, l + 1)) {
        brute_loc_places(l, &from, &to);
        if (use->place >= from && use->place < to)
            return true;
    }
    return false;
}

/* Whether a use is of what a byte of a pick's destination was taken from, or of what chose it. */
static bool is_picked(const struct search *s, const struct def *def, const struct use *use)
{
    const struct fake_step *step = fake_step(s->b->wet, def->time);
    const struct ins_choice *choice = &step->info->choice;
    uint64_t first = fake_slots(s->b->wet)[step->slot_off];
    uint64_t to = def->is_memory ? def->place - first : def->place % REG_BYTES;
    struct ins_pick pick;

    brute_pick_at(s->b->wet, def->time, &pick);
    bool is_computed = pick.place[to] == INS_PLACE_COMPUTED;
    bool takes_memory = ins_place_is_memory(step->info, pick.place[to]);
    bool is_chosen = pick.chooser[to] != INS_PLACE_NONE;
    bool asks_memory = is_chosen && choice->selector == INS_PLACE_MEMORY;
    if (use->edge == WETDBG_EDGE_ADDRESS)
        return takes_memory || asks_memory || def->is_memory;
    if (use->is_memory)
        return (takes_memory && (is_computed || use->place == first + pick.from[to])) ||
               (asks_memory && use->place == first + pick.chooser[to]);
    if (is_computed && use->edge == WETDBG_EDGE_VALUE)
        return is_computed_of(step->info, use);
    if (use->place >= REG_OTHERS)
        return use->edge == WETDBG_EDGE_CONDITION && pick.masked >> to & 1;
    unsigned vector = (unsigned)(use->place / REG_BYTES) - 16, byte = use->place % REG_BYTES;
    if (use->place < brute_gpr_place(16))
        return false;
    if (use->edge == WETDBG_EDGE_CONDITION)
        return is_chosen && vector == choice->selector && byte == pick.chooser[to];
    return vector == pick.place[to] && byte == pick.from[to];
}

/* rep movs, element after element, as the processor does it: where byte `at` came from. */
static uint64_t moved_from(const struct search *s, const struct def *def)
{
    const struct ins_info *info = fake_step(s->b->wet, def->time)->info;
    struct span to = brute_operand_span(s->b->wet, def->time, 0);
    struct span from = brute_operand_span(s->b->wet, def->time, 1);
    uint64_t size = info->mems[0].size_bytes, count = to.size / size;
    struct map origin = {0}; /* byte of the destination: where it came from, + 1 by offset */
    uint64_t result = 0;
    uint64_t *sources = calloc(to.size, sizeof(*sources));

    for (uint64_t e = 0; e < count; e++) {
        uint64_t base = (to.down ? count - 1 - e : e) * size;
        uint64_t read[8];
        for (uint64_t i = 0; i < size; i++) {
            uint64_t at = from.address + base + i;
            uint32_t earlier = brute_map_get(&origin, at);
            read[i] = earlier ? sources[earlier - 1] : at;
        }
        for (uint64_t i = 0; i < size; i++) {
            sources[base + i] = read[i];
            *brute_map_at(&origin, to.address + base + i) = (uint32_t)(base + i) + 1;
        }
    }
    result = sources[def->place - to.address];
    free(sources);
    free(origin.keys);
    free(origin.values);
    return result;
}

static void reach_def(struct search *s, uint32_t d)
{
    const struct def def = s->b->defs.at[d];
    const struct instance *in = &s->b->instances[def.time];

    bool is_call = fake_step(s->b->wet, def.time)->info->klass == INS_SYSCALL;
    if (is_call && (def.flow == KERNEL_FLOW || def.flow == SENT_FLOW || def.flow == 0))
        reach_flow(s, def.time, CALL_USES);
    if (def.flow == SENT_FLOW)
        reach_flow(s, def.time, BUFFER_USES);
    if (def.source) {
        const struct use passed = {def.place, def.source, WETDBG_EDGE_VALUE, true};
        reach_use(s, def.time, &passed);
    }
    if (def.flow == KERNEL_FLOW || is_call)
        return;
    const struct ins_info *info = fake_step(s->b->wet, def.time)->info;
    const struct ins_flow *flow = &info->flows[def.flow];
    bool copies = is_plain_copy(flow);
    bool moves = copies && def.is_memory && flow->mem_uses && info->flags & INS_IS_REP;
    uint64_t source = moves ? moved_from(s, &def) : 0;
    for (size_t u = in->uses[def.flow]; u < in->uses[def.flow + 1]; u++) {
        const struct use use = s->b->uses.at[u];
        if (ins_is_pick_flow(info, def.flow) && !is_picked(s, &def, &use))
            continue;
        if (use.edge == WETDBG_EDGE_VALUE && copies &&
            (moves ? use.place != source : !is_source_byte(s, &def, &use)))
            continue;
        reach_use(s, def.time, &use);
    }
}

static void reach_all(struct search *s)
{
    size_t member = 0;

    for (;;) {
        if (s->todo.count) {
            reach_def(s, s->todo.at[--s->todo.count]);
            continue;
        }
        if (member == s->members.count)
            return;
        uint32_t t = s->members.at[member++];
        uint32_t parent = s->b->instances[t].parent;
        if (follows(s, WETDBG_EDGE_CONTROL) && parent) {
            add_edge(s, t, parent, WETDBG_EDGE_CONTROL);
            reach_branch(s, parent);
        }
    }
}

static int by_user(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    if (x->definition != y->definition)
        return x->definition < y->definition ? -1 : 1;
    return (int)x->kind - (int)y->kind;
}

static size_t first_edge(const struct brute *b, uint32_t user)
{
    size_t low = 0, high = b->edges.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (b->edges.at[middle].user < user)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t *distances(struct brute *b, wetdbg_time from)
{
    uint32_t *distance = malloc(((size_t)b->steps + 2) * sizeof(*distance));
    VEC(uint32_t) queue = {0};

    memset(distance, 0xff, ((size_t)b->steps + 2) * sizeof(*distance));
    if (b->edges.count)
        qsort(b->edges.at, b->edges.count, sizeof(*b->edges.at), by_user);
    distance[from] = 0;
    PUSH(queue, (uint32_t)from);
    for (size_t i = 0; i < queue.count; i++) {
        uint32_t user = queue.at[i];
        for (size_t e = first_edge(b, user); e < b->edges.count && b->edges.at[e].user == user;
             e++) {
            uint32_t to = b->edges.at[e].definition;
            if (distance[to] != UINT32_MAX)
                continue;
            distance[to] = distance[user] + 1;
            PUSH(queue, to);
        }
    }
    free(queue.at);
    return distance;
}

static void reach_all_flows(struct search *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->b->wet, t)->info;
    bool is_call = info->klass == INS_SYSCALL;

    for (unsigned f = is_call; f < (is_call ? SENT_USES + 1u : info->flow_count); f++)
        reach_flow(s, t, f);
    for (size_t d = is_call ? s->b->first_defs[t] : s->b->defs.count; d < s->b->defs.count; d++) {
        const struct def *def = &s->b->defs.at[d];
        const struct use passed = {def->place, def->source, WETDBG_EDGE_VALUE, true};
        if (def->time == t && def->flow != JOIN_FLOW && def->source)
            reach_use(s, t, &passed);
    }
}

uint32_t *brute_slice(struct brute *b, const struct brute_criterion *criterion,
                      enum wetdbg_slice_kinds kinds)
{
    struct search s = {.b = b, .kinds = kinds};
    uint32_t t = (uint32_t)criterion->time;
    const struct picture *picture = &b->pictures.at[criterion->picture];

    s.defs = calloc(b->defs.count, 1);
    s.instances = calloc((size_t)b->steps + 2, 1);
    b->edges.count = 0;
    reach_instance(&s, t);
    for (size_t i = 0; i < picture->uses.count; i++)
        reach_use(&s, t, &picture->uses.at[i]);
    if (picture->uses.count == 0 && !criterion->fault_pc)
        reach_all_flows(&s, t);
    reach_all(&s);
    free(s.defs);
    free(s.instances);
    free(s.todo.at);
    free(s.members.at);
    return distances(b, t);
}

bool brute_has_edge(const struct brute *b, wetdbg_time user, wetdbg_time definition,
                    enum wetdbg_edge kind)
{
    for (size_t e = first_edge(b, (uint32_t)user);
         e < b->edges.count && b->edges.at[e].user == user; e++)
        if (b->edges.at[e].definition == definition && b->edges.at[e].kind == kind)
            return true;
    return false;
}

/* ---- forward: what depends on a source ---- */

struct spread {
    struct search search; /* for kinds, and where bytes of copies come from */
    uint8_t *defs;        /* 1: the definition depends on the source */
    uint8_t *parents;     /* 1: what the instance lets run does */
    uint32_t *distance;   /* of instances */
    wetdbg_time source;
    uint32_t before; /* the last definition before the source, on which none up to it depends */
    const struct picture *picture; /* places of the source; NULL: the instance */
};

static bool is_of_picture(const struct spread *s, wetdbg_time user, const struct use *use)
{
    for (size_t i = 0; s->picture && user >= s->source && i < s->picture->uses.count; i++)
        if (s->picture->uses.at[i].def == use->def && s->picture->uses.at[i].place == use->place &&
            s->picture->uses.at[i].is_memory == use->is_memory)
            return true;
    return false;
}

/* The same also where definitions since may have kept what the source holds. */
static bool may_be_of_picture(const struct spread *s, wetdbg_time user, const struct use *use)
{
    const struct def *defs = s->search.b->defs.at;
    struct use kept = *use;

    for (; kept.def && defs[kept.def].is_may && !is_of_picture(s, user, &kept);)
        kept.def = defs[kept.def].before;
    return is_of_picture(s, user, &kept);
}

static bool is_lost_stack(const struct spread *s, const struct def *def, const struct use *use)
{
    unsigned kinds = 0;

    if (def->flow != KERNEL_FLOW && def->flow != SENT_FLOW)
        kinds = fake_step(s->search.b->wet, def->time)->info->flows[def->flow].kinds;
    return !def->is_memory && (kinds & INS_FLOW_STACK || (kinds & INS_FLOW_STACK_ADDRESS &&
                                                          use->edge == WETDBG_EDGE_ADDRESS));
}

/* Whether what a use of `user` reads depends on the source; keeps the least distance. */
static bool spreads(struct spread *s, wetdbg_time user, const struct use *use)
{
    struct brute *b = s->search.b;
    bool found = false;

    if (!follows(&s->search, (enum wetdbg_edge)use->edge))
        return false;
    if (may_be_of_picture(s, user, use)) {
        found = true;
        if (s->distance[user] > 1)
            s->distance[user] = 1;
    }
    for (uint32_t d = use->def; d > s->before; d = b->defs.at[d].before) {
        const struct def *def = &b->defs.at[d];
        if (def->flow == JOIN_FLOW) {
            for (uint32_t i = def->join; b->joins.at[i]; i++) {
                struct use one = {use->place, b->joins.at[i], use->edge, use->is_memory};
                found |= spreads(s, user, &one);
            }
            return found;
        }
        if (!s->defs[d] || is_lost_stack(s, def, use))
            continue;
        found = true;
        if (s->distance[def->time] + 1 < s->distance[user])
            s->distance[user] = s->distance[def->time] + 1;
        add_edge(&s->search, user, def->time, (enum wetdbg_edge)use->edge);
    }
    return found;
}

static bool flow_spreads(struct spread *s, uint32_t t, unsigned f)
{
    const struct instance *in = &s->search.b->instances[t];
    bool found = false;

    for (size_t u = in->uses[f]; u < in->uses[f + 1]; u++)
        found |= spreads(s, t, &s->search.b->uses.at[u]);
    return found;
}

static bool is_let(struct spread *s, uint32_t t)
{
    uint32_t parent = s->search.b->instances[t].parent;

    return follows(&s->search, WETDBG_EDGE_CONTROL) && parent && s->parents[parent];
}

static void spread_instance(struct spread *s, uint32_t t)
{
    const struct ins_info *info = fake_step(s->search.b->wet, t)->info;
    bool is_call = info->klass == INS_SYSCALL, is_source = !s->picture && t == s->source;

    s->parents[t] = is_source;
    for (unsigned f = is_call; f < (is_call ? SENT_USES + 1u : info->flow_count); f++) {
        bool found = flow_spreads(s, t, f);
        if (found && f < info->flow_count && info->flows[f].kinds & INS_FLOW_BRANCH)
            s->parents[t] = 1;
    }
    if (is_let(s, t)) {
        uint32_t parent = s->search.b->instances[t].parent;
        s->parents[t] = 1;
        if (s->distance[parent] + 1 < s->distance[t])
            s->distance[t] = s->distance[parent] + 1;
        add_edge(&s->search, t, parent, WETDBG_EDGE_CONTROL);
    }
    if (is_source)
        s->distance[t] = 0;
    if (!follows(&s->search, WETDBG_EDGE_CONTROL))
        s->parents[t] = 0;
}

static void spread_fault(struct spread *s)
{
    struct brute *b = s->search.b;
    const struct picture *fault = &b->pictures.at[b->pictures.count - 1];
    uint32_t t = b->steps + 1, parent = b->instances[t].parent;

    for (size_t i = 0; i < fault->uses.count; i++)
        spreads(s, t, &fault->uses.at[i]);
    if (is_let(s, t) && s->distance[parent] + 1 < s->distance[t])
        s->distance[t] = s->distance[parent] + 1;
}

static bool def_spreads(struct spread *s, uint32_t d)
{
    struct brute *b = s->search.b;
    const struct def def = b->defs.at[d];
    const struct instance *in = &b->instances[def.time];

    if (def.flow == JOIN_FLOW)
        return false; /* looked through by whoever uses it */
    bool found = false;
    if (def.source) {
        const struct use passed = {def.place, def.source, WETDBG_EDGE_VALUE, true};
        found = spreads(s, def.time, &passed);
    }
    if ((!s->picture && def.time == s->source) || is_let(s, def.time))
        return true;
    bool is_call = fake_step(b->wet, def.time)->info->klass == INS_SYSCALL;
    if (is_call && (def.flow == KERNEL_FLOW || def.flow == SENT_FLOW || def.flow == 0))
        found |= flow_spreads(s, def.time, CALL_USES);
    if (def.flow == SENT_FLOW)
        found |= flow_spreads(s, def.time, BUFFER_USES);
    if (def.flow == KERNEL_FLOW || is_call)
        return found;
    const struct ins_info *info = fake_step(b->wet, def.time)->info;
    const struct ins_flow *flow = &info->flows[def.flow];
    bool copies = is_plain_copy(flow);
    bool moves = copies && def.is_memory && flow->mem_uses && info->flags & INS_IS_REP;
    uint64_t source = moves ? moved_from(&s->search, &def) : 0;
    for (size_t u = in->uses[def.flow]; u < in->uses[def.flow + 1]; u++) {
        const struct use use = b->uses.at[u];
        if (ins_is_pick_flow(info, def.flow) && !is_picked(&s->search, &def, &use))
            continue;
        if (use.edge == WETDBG_EDGE_VALUE && copies &&
            (moves ? use.place != source : !is_source_byte(&s->search, &def, &use)))
            continue;
        found |= spreads(s, def.time, &use);
    }
    return found;
}

uint32_t *brute_forward(struct brute *b, const struct brute_criterion *source,
                        enum wetdbg_slice_kinds kinds)
{
    const struct picture *picture = &b->pictures.at[source->picture];
    struct spread s = {.search = {.b = b, .kinds = kinds},
                       .source = source->time,
                       .before = (uint32_t)b->first_defs[source->time] - 1,
                       .picture = picture->uses.count ? picture : NULL};

    b->edges.count = 0;
    s.defs = calloc(b->defs.count, 1);
    s.parents = calloc((size_t)b->steps + 2, 1);
    s.distance = malloc(((size_t)b->steps + 2) * sizeof(*s.distance));
    memset(s.distance, 0xff, ((size_t)b->steps + 2) * sizeof(*s.distance));
    for (uint32_t t = (uint32_t)source->time; t <= b->steps; t++) {
        spread_instance(&s, t);
        for (size_t d = b->first_defs[t]; d < b->first_defs[t + 1]; d++)
            if (b->defs.at[d].flow != JOIN_FLOW)
                s.defs[d] = (b->defs.at[d].time >= source->time || b->defs.at[d].source) &&
                            def_spreads(&s, (uint32_t)d);
    }
    if (b->has_fault)
        spread_fault(&s);
    if (b->edges.count)
        qsort(b->edges.at, b->edges.count, sizeof(*b->edges.at), by_user);
    free(s.defs);
    free(s.parents);
    return s.distance;
}
