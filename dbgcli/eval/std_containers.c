/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layouts of libstdc++ since GCC 5. */
#include "dbgcli/eval/std_containers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <wetdbg/errors.h>

struct cli_std_class {
    const char *name;
    bool (*open)(struct cli_std_container *container);
    int (*next)(struct cli_std_container *container, struct cli_std_held *held);
};

/* ---- what they are made of ---- */

static bool part_get(const struct cli_std_container *container, const char *path,
                     struct cli_value *part)
{
    return cli_value_path(container->moment, &container->whole, path, part) == 0;
}

static bool number_get(const struct cli_std_container *container, const char *path,
                       uint64_t *number)
{
    struct cli_value value;
    return part_get(container, path, &value) &&
           cli_value_bits(container->moment, &value, number) == 0;
}

static bool argument_get(const struct cli_std_container *container, const struct cli_value *value,
                         unsigned index, struct wetdbg_type *type)
{
    return wetdbg_type_argument(container->moment->model, value->type.handle, index, type) == 0 &&
           type->size_bytes;
}

/* The address of what is held is taken for good only where the whole is in memory. */
static bool is_at_hand(const struct cli_std_container *container)
{
    return container->whole.is_in_memory;
}

static int word_read(const struct cli_std_container *container, uint64_t address, uint64_t *word)
{
    return wetdbg_state_read(container->moment->state, address, word, sizeof(*word));
}

static struct cli_value held_at(const struct wetdbg_type *type, uint64_t address)
{
    return (struct cli_value){.type = *type, .is_in_memory = true, .address = address};
}

/* Of maps and sets: what they hold has labels. */
static void labels_take(struct cli_std_container *container)
{
    container->labels = strstr(container->class->name, "map") ? CLI_STD_KEYED : CLI_STD_NUMBERED;
}

static void title_counted(struct cli_std_container *container)
{
    snprintf(container->title, sizeof(container->title), "%s with %" PRIu64 " element%s",
             container->class->name, container->count, container->count == 1 ? "" : "s");
}

/* Of a pair of a map's: both of its members. */
static int pair_take(const struct cli_std_container *container, struct cli_std_held *held)
{
    struct cli_value pair = held->value;
    if (container->labels != CLI_STD_KEYED)
        return 0;
    int err = cli_value_member(container->moment, &pair, "first", &held->key);
    return err ? err : cli_value_member(container->moment, &pair, "second", &held->value);
}

/* ---- trees ---- */

#define TREE_PARENT 8
#define TREE_LEFT   16
#define TREE_RIGHT  24
#define TREE_VALUE  32
#define TREE_DEPTH  128 /* more than a balanced one has */

static bool tree_open(struct cli_std_container *container)
{
    struct cli_value tree;
    labels_take(container);
    if (!is_at_hand(container) || !part_get(container, "_M_t", &tree) ||
        !argument_get(container, &tree, 1, &container->type) ||
        !number_get(container, "_M_t._M_impl._M_node_count", &container->count) ||
        !number_get(container, "_M_t._M_impl._M_header._M_left", &container->at))
        return false;
    title_counted(container);
    return true;
}

/* To the first node below this one. What is no tree may have circles. */
static int tree_leftmost(const struct cli_std_container *container, uint64_t *node)
{
    uint64_t left = *node;
    int err = 0;
    for (unsigned depth = 0; !err && left; depth++) {
        *node = left;
        err = depth == TREE_DEPTH
                  ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the tree at 0x%" PRIx64 " is none",
                                container->whole.address)
                  : word_read(container, left + TREE_LEFT, &left);
    }
    return err;
}

/* To the first ancestor of which it is in the left part. */
static int tree_climb(const struct cli_std_container *container, uint64_t *node)
{
    uint64_t child, right = 0;
    int err = 0;
    unsigned depth = 0;
    do {
        child = *node;
        err = word_read(container, child + TREE_PARENT, node);
        if (!err)
            err = word_read(container, *node + TREE_RIGHT, &right);
    } while (!err && right == child && depth++ < TREE_DEPTH);
    return err;
}

static int tree_step(struct cli_std_container *container)
{
    uint64_t right;
    int err = word_read(container, container->at + TREE_RIGHT, &right);
    if (err || !right)
        return err ? err : tree_climb(container, &container->at);
    container->at = right;
    return tree_leftmost(container, &container->at);
}

static int tree_next(struct cli_std_container *container, struct cli_std_held *held)
{
    held->value = held_at(&container->type, container->at + TREE_VALUE);
    int err = pair_take(container, held);
    return err || container->index + 1 == container->count ? err : tree_step(container);
}

/* ---- chains of nodes: the next one is the first word ---- */

static bool hash_open(struct cli_std_container *container)
{
    struct cli_value table;
    labels_take(container);
    container->segment = 8;
    if (!part_get(container, "_M_h", &table) ||
        !argument_get(container, &table, 1, &container->type) ||
        !number_get(container, "_M_h._M_element_count", &container->count) ||
        !number_get(container, "_M_h._M_before_begin._M_nxt", &container->at))
        return false;
    title_counted(container);
    return true;
}

/* Of lists nobody counted the elements. */
static bool chain_open(struct cli_std_container *container, const char *first, uint64_t end,
                       unsigned value_at, const char *name)
{
    container->labels = CLI_STD_NUMBERED;
    container->segment = value_at;
    container->end = end;
    if (!argument_get(container, &container->whole, 0, &container->type) ||
        !number_get(container, first, &container->at))
        return false;
    container->count = container->at == end ? 0 : UINT64_MAX;
    snprintf(container->title, sizeof(container->title), "%s%s", container->count ? "" : "empty ",
             name);
    return true;
}

static bool list_open(struct cli_std_container *container)
{
    struct cli_value node;
    return is_at_hand(container) && part_get(container, "_M_impl._M_node", &node) &&
           chain_open(container, "_M_impl._M_node._M_next", node.address, 16,
                      container->class->name);
}

static bool forward_list_open(struct cli_std_container *container)
{
    return chain_open(container, "_M_impl._M_head._M_next", 0, 8, container->class->name);
}

static int chain_next(struct cli_std_container *container, struct cli_std_held *held)
{
    held->value = held_at(&container->type, container->at + container->segment);
    int err = word_read(container, container->at, &container->at);
    if (!err && container->at == container->end && container->count == UINT64_MAX)
        container->count = container->index + 1;
    return err ? err : pair_take(container, held);
}

/* ---- segments of an array ---- */

#define SEGMENT_BYTES 512

static uint64_t segment_elements(const struct wetdbg_type *type)
{
    return type->size_bytes < SEGMENT_BYTES ? SEGMENT_BYTES / type->size_bytes : 1;
}

static bool deque_open(struct cli_std_container *container)
{
    uint64_t node, last, first, start, end;
    if (!argument_get(container, &container->whole, 0, &container->type) ||
        !number_get(container, "_M_impl._M_start._M_cur", &container->at) ||
        !number_get(container, "_M_impl._M_start._M_last", &end) ||
        !number_get(container, "_M_impl._M_start._M_node", &node) ||
        !number_get(container, "_M_impl._M_finish._M_node", &last) ||
        !number_get(container, "_M_impl._M_finish._M_first", &first) ||
        !number_get(container, "_M_impl._M_finish._M_cur", &start) || last < node)
        return false;
    uint64_t size = container->type.size_bytes, segments = (last - node) / 8;
    container->end = end;
    container->segment = node;
    container->count = segments ? (segments - 1) * segment_elements(&container->type) +
                                      (end - container->at) / size + (start - first) / size
                                : (start - container->at) / size;
    title_counted(container);
    return true;
}

static int deque_next(struct cli_std_container *container, struct cli_std_held *held)
{
    uint64_t size = container->type.size_bytes;
    held->value = held_at(&container->type, container->at);
    container->at += size;
    if (container->at != container->end || container->index + 1 == container->count)
        return 0;
    container->segment += 8;
    int err = word_read(container, container->segment, &container->at);
    container->end = container->at + segment_elements(&container->type) * size;
    return err;
}

/* ---- arrays ---- */

/* How many there may be: the last template argument, which its name has; or a member. */
static bool span_count(const struct cli_std_container *container, uint64_t *count)
{
    const char *last = strrchr(container->whole.type.name, ',');
    unsigned long long number;
    if (last && sscanf(last + 1, "%llu", &number) == 1 && number != UINT64_MAX) {
        *count = number;
        return true;
    }
    return number_get(container, "_M_extent._M_extent_value", count);
}

static bool span_open(struct cli_std_container *container)
{
    if (!argument_get(container, &container->whole, 0, &container->type) ||
        !number_get(container, "_M_ptr", &container->at) ||
        !span_count(container, &container->count))
        return false;
    snprintf(container->title, sizeof(container->title), "std::span of length %" PRIu64,
             container->count);
    return true;
}

static int array_next(struct cli_std_container *container, struct cli_std_held *held)
{
    held->value =
        held_at(&container->type, container->at + container->index * container->type.size_bytes);
    return 0;
}

static bool bits_open(struct cli_std_container *container)
{
    uint64_t first, last, offset, end;
    if (!argument_get(container, &container->whole, 0, &container->type) ||
        !number_get(container, "_M_impl._M_start._M_p", &first) ||
        !number_get(container, "_M_impl._M_start._M_offset", &offset) ||
        !number_get(container, "_M_impl._M_finish._M_p", &last) ||
        !number_get(container, "_M_impl._M_finish._M_offset", &end) ||
        !number_get(container, "_M_impl._M_end_of_storage", &container->end) || last < first)
        return false;
    container->at = first;
    container->segment = offset;
    container->count = (last - first) * 8 + end - offset;
    snprintf(container->title, sizeof(container->title),
             "std::vector<bool> of length %" PRIu64 ", capacity %" PRIu64, container->count,
             container->end > first ? (container->end - first) * 8 : 0);
    return true;
}

static int bits_next(struct cli_std_container *container, struct cli_std_held *held)
{
    uint64_t bit = container->segment + container->index;
    uint8_t byte = 0;
    int err = wetdbg_state_read(container->moment->state, container->at + bit / 8, &byte, 1);
    held->value = (struct cli_value){.type = container->type};
    held->value.bytes[0] = byte >> bit % 8 & 1;
    return err;
}

/* ---- one value, or none ---- */

static int one_next(struct cli_std_container *container, struct cli_std_held *held)
{
    held->value = held_at(&container->type, container->at);
    return 0;
}

static bool optional_open(struct cli_std_container *container)
{
    struct cli_value inside;
    uint64_t is_engaged;
    if (!is_at_hand(container) || !number_get(container, "_M_payload._M_engaged", &is_engaged) ||
        !part_get(container, "_M_payload._M_payload._M_value", &inside))
        return false;
    container->type = inside.type;
    container->at = inside.address;
    container->count = (uint8_t)is_engaged;
    container->labels = CLI_STD_NAMED;
    container->label = "[contained value]";
    snprintf(container->title, sizeof(container->title), "%s%s", container->whole.type.name,
             container->count ? "" : " [no contained value]");
    return container->count <= 1;
}

static bool variant_open(struct cli_std_container *container)
{
    struct cli_value inside, index;
    uint64_t which;
    if (!is_at_hand(container) || !part_get(container, "_M_index", &index) ||
        !index.type.size_bytes || index.type.size_bytes > 8 ||
        cli_value_bits(container->moment, &index, &which) != 0 ||
        !part_get(container, "_M_u", &inside))
        return false;
    bool is_valueless = which == UINT64_MAX >> (64 - 8 * index.type.size_bytes);
    if (!is_valueless &&
        !argument_get(container, &container->whole, (unsigned)which, &container->type))
        return false;
    container->at = inside.address;
    container->count = !is_valueless;
    if (is_valueless)
        snprintf(container->title, sizeof(container->title), "%s [no contained value]",
                 container->whole.type.name);
    else
        snprintf(container->title, sizeof(container->title), "%s [index %" PRIu64 "]",
                 container->whole.type.name, which);
    return true;
}

/* The type that a manager of std::any is for: that in the angles of
 * "std::any::_Manager_internal<int>::_S_manage(...)". */
static bool any_type(const struct cli_std_container *container, uint64_t manager, bool *is_internal,
                     struct wetdbg_type *type)
{
    struct wetdbg_function function;
    char name[256];
    if (wetdbg_function_at(container->moment->model, manager, &function) != 0)
        return false;
    const char *start = strstr(function.name, "_Manager_");
    const char *open = start ? strchr(start, '<') : NULL;
    const char *end = open ? strstr(open, ">::_S_manage") : NULL;
    if (!end || (size_t)(end - open) > sizeof(name))
        return false;
    *is_internal = strncmp(start, "_Manager_internal", 17) == 0;
    snprintf(name, sizeof(name), "%.*s", (int)(end - open - 1), open + 1);
    return wetdbg_type_named(container->moment->model, manager, name, type) == 0;
}

static bool any_open(struct cli_std_container *container)
{
    struct cli_value storage;
    uint64_t manager;
    bool is_internal = false;
    if (!is_at_hand(container) || !number_get(container, "_M_manager", &manager) ||
        !part_get(container, "_M_storage", &storage))
        return false;
    container->labels = CLI_STD_NAMED;
    container->label = "[contained value]";
    container->count = manager != 0;
    if (manager && !any_type(container, manager, &is_internal, &container->type))
        return false;
    container->at = storage.address;
    snprintf(container->title, sizeof(container->title), manager ? "std::any containing %s" : "%s",
             manager ? container->type.name : "std::any [no contained value]");
    return !manager || is_internal || word_read(container, storage.address, &container->at) == 0;
}

static bool pair_open(struct cli_std_container *container)
{
    container->labels = CLI_STD_NAMED;
    container->count = 2;
    return true;
}

static int pair_next(struct cli_std_container *container, struct cli_std_held *held)
{
    container->label = container->index ? "second" : "first";
    return cli_value_member(container->moment, &container->whole, container->label, &held->value);
}

/* ---- tuples and pointers ---- */

struct base_search {
    const char *prefix; /* of its name */
    struct wetdbg_member found;
    uint64_t offset;
    struct wetdbg_model *model;
    unsigned depth;
};

/* 1: it is there. */
static int base_match(void *context, const struct wetdbg_member *member)
{
    struct base_search *search = context;
    if (!member->is_base || member->is_virtual || search->depth > 64)
        return 0;
    uint64_t outer = search->offset;
    search->offset = outer + member->offset_bytes;
    if (strncmp(member->type.name, search->prefix, strlen(search->prefix)) == 0) {
        search->found = *member;
        return 1;
    }
    search->depth++;
    int result = wetdbg_type_members_each(search->model, member->type.handle, base_match, search);
    search->depth--;
    if (!result)
        search->offset = outer;
    return result;
}

/* The `index`-th of a tuple's values: the member of a base class that has that number. */
static bool tuple_get(struct cli_moment *moment, const struct cli_value *tuple, uint64_t index,
                      struct cli_value *value)
{
    char prefix[48];
    snprintf(prefix, sizeof(prefix), "std::_Head_base<%" PRIu64 ", ", index);
    struct base_search search = {.prefix = prefix, .model = moment->model};
    struct cli_value base;
    return wetdbg_type_members_each(moment->model, tuple->type.handle, base_match, &search) == 1 &&
           cli_value_part(tuple, search.offset, &search.found.type, &base) == 0 &&
           cli_value_member(moment, &base, "_M_head_impl", value) == 0;
}

static bool tuple_open(struct cli_std_container *container)
{
    struct cli_value value;
    container->labels = CLI_STD_NUMBERED;
    container->first_number = 1;
    while (tuple_get(container->moment, &container->whole, container->count, &value))
        container->count++;
    snprintf(container->title, sizeof(container->title),
             container->count ? "std::tuple containing" : "empty std::tuple");
    return true;
}

static int tuple_next(struct cli_std_container *container, struct cli_std_held *held)
{
    return tuple_get(container->moment, &container->whole, container->index, &held->value)
               ? 0
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no such value");
}

static int pointer_next(struct cli_std_container *container, struct cli_std_held *held)
{
    held->value = (struct cli_value){.type = container->type};
    held->value.type.is_reference = false;
    memcpy(held->value.bytes, &container->at, sizeof(container->at));
    return 0;
}

static bool pointer_take(struct cli_std_container *container, const struct cli_value *pointer)
{
    container->type = pointer->type;
    container->count = 1;
    container->labels = CLI_STD_NAMED;
    container->label = "get()";
    return pointer->type.kind == WETDBG_TYPE_POINTER &&
           cli_value_bits(container->moment, pointer, &container->at) == 0;
}

static bool unique_open(struct cli_std_container *container)
{
    struct cli_value tuple, pointer;
    if (!part_get(container, "_M_t._M_t", &tuple) ||
        !tuple_get(container->moment, &tuple, 0, &pointer) || !pointer_take(container, &pointer))
        return false;
    snprintf(container->title, sizeof(container->title), "%s", container->whole.type.name);
    return true;
}

static bool shared_open(struct cli_std_container *container)
{
    struct cli_value pointer, control, counts, value;
    uint64_t block, uses = 0, weak = 0;
    char state[80] = "empty";
    if (!part_get(container, "_M_ptr", &pointer) || !pointer_take(container, &pointer) ||
        !part_get(container, "_M_refcount._M_pi", &control) ||
        cli_value_bits(container->moment, &control, &block) != 0)
        return false;
    if (block && (cli_value_target(container->moment, &control, &counts) != 0 ||
                  cli_value_member(container->moment, &counts, "_M_use_count", &value) != 0 ||
                  cli_value_bits(container->moment, &value, &uses) != 0 ||
                  cli_value_member(container->moment, &counts, "_M_weak_count", &value) != 0 ||
                  cli_value_bits(container->moment, &value, &weak) != 0))
        return false;
    if (block && uses) /* all that share it are one that is weak */
        snprintf(state, sizeof(state), "use count %d, weak count %d", (int)uses, (int)weak - 1);
    else if (block)
        snprintf(state, sizeof(state), "expired, weak count %d", (int)weak);
    snprintf(container->title, sizeof(container->title), "%s (%s)", container->whole.type.name,
             state);
    return true;
}

/* ---- all of them ---- */

static const struct cli_std_class classes[] = {
    {"std::map", tree_open, tree_next},
    {"std::multimap", tree_open, tree_next},
    {"std::set", tree_open, tree_next},
    {"std::multiset", tree_open, tree_next},
    {"std::unordered_map", hash_open, chain_next},
    {"std::unordered_multimap", hash_open, chain_next},
    {"std::unordered_set", hash_open, chain_next},
    {"std::unordered_multiset", hash_open, chain_next},
    {"std::deque", deque_open, deque_next},
    {"std::__cxx11::list", list_open, chain_next},
    {"std::forward_list", forward_list_open, chain_next},
    {"std::span", span_open, array_next},
    {"std::vector<bool", bits_open, bits_next},
    {"std::optional", optional_open, one_next},
    {"std::variant", variant_open, one_next},
    {"std::any", any_open, one_next},
    {"std::pair", pair_open, pair_next},
    {"std::tuple", tuple_open, tuple_next},
    {"std::unique_ptr", unique_open, pointer_next},
    {"std::shared_ptr", shared_open, pointer_next},
    {"std::weak_ptr", shared_open, pointer_next},
};

static const struct cli_std_class *class_find(const char *name)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        size_t length = strlen(classes[i].name);
        if (strncmp(name, classes[i].name, length) == 0 && strchr("<,>", name[length]))
            return &classes[i]; /* strchr finds the end of the name, too */
    }
    return NULL;
}

bool cli_std_container_open(struct cli_moment *moment, const struct cli_value *value,
                            struct cli_std_container *container)
{
    *container = (struct cli_std_container){
        .moment = moment, .whole = *value, .class = class_find(value->type.name)};
    return container->class && container->class->open(container);
}

int cli_std_container_next(struct cli_std_container *container, struct cli_std_held *held)
{
    if (container->index == container->count)
        return 0;
    int err = container->class->next(container, held);
    container->index++;
    return err ? err : 1;
}
