/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layouts of libstdc++ since GCC 5. What does not look like one is taken for none: anything may
 * be in memory that was not constructed yet. */
#include "dbgcli/eval/std_values.h"

#include <string.h>

#include "dbgcli/eval/std_containers.h"
#include "dbgcli/interrupt.h"
#include <wetdbg/errors.h>

struct cli_value cli_std_value(struct cli_moment *moment, const struct cli_value *value)
{
    struct cli_value own = *value;
    wetdbg_type_plain(moment->model, &value->type, &own.type); /* else it has no other name */
    return own;
}

static bool is_of(const struct cli_value *value, const char *begin)
{
    return strncmp(value->type.name, begin, strlen(begin)) == 0;
}

static bool is_view(const struct cli_value *value)
{
    return strcmp(value->type.name, "std::string_view") == 0 ||
           is_of(value, "std::basic_string_view<");
}

bool cli_is_std_string(const struct cli_value *value)
{
    return strcmp(value->type.name, "std::string") == 0 || is_of(value, "std::basic_string<") ||
           is_of(value, "std::__cxx11::basic_string<") || is_view(value);
}

bool cli_is_std_vector(const struct cli_value *value)
{
    return is_of(value, "std::vector<") && !is_of(value, "std::vector<bool");
}

static bool get_target(struct cli_moment *moment, const struct cli_value *pointer,
                       struct cli_value *first)
{
    uint64_t one;
    *first = (struct cli_value){.is_in_memory = true};
    return pointer->type.kind == WETDBG_TYPE_POINTER &&
           wetdbg_type_target(moment->model, pointer->type.handle, &first->type, &one) == 0 &&
           first->type.size_bytes && cli_value_bits(moment, pointer, &first->address) == 0;
}

bool cli_std_string(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count)
{
    struct cli_value start, length;
    bool view = is_view(value);
    return cli_value_path(moment, value, view ? "_M_str" : "_M_dataplus._M_p", &start) == 0 &&
           cli_value_member(moment, value, view ? "_M_len" : "_M_string_length", &length) == 0 &&
           get_target(moment, &start, first) && cli_value_bits(moment, &length, count) == 0;
}

bool cli_std_vector(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count, uint64_t *capacity)
{
    struct cli_value start, finish, last;
    uint64_t end, room;
    uint8_t byte;
    if (cli_value_path(moment, value, "_M_impl._M_start", &start) != 0 ||
        cli_value_path(moment, value, "_M_impl._M_finish", &finish) != 0 ||
        cli_value_path(moment, value, "_M_impl._M_end_of_storage", &last) != 0 ||
        !get_target(moment, &start, first) || cli_value_bits(moment, &finish, &end) != 0 ||
        cli_value_bits(moment, &last, &room) != 0 || room < end || end < first->address ||
        (end - first->address) % first->type.size_bytes)
        return false;
    *count = (end - first->address) / first->type.size_bytes;
    *capacity = (room - first->address) / first->type.size_bytes;
    return !*count || wetdbg_state_read(moment->state, end - 1, &byte, 1) == 0;
}

/* ---- elements ---- */

static int fail_element(const struct cli_value *value, const struct cli_std_key *key, bool is_keyed)
{
    if (key->text)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the %s has no key \"%.*s\"", value->type.name,
                           (int)key->size, key->text);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the %s has no %s %lld", value->type.name,
                       is_keyed ? "key" : "element", (long long)key->number);
}

static int fail_unmade(const struct cli_value *value)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "the %s is not constructed here, or not libstdc++'s",
                       value->type.name);
}

/* Of a string or a vector, whose elements lie side by side. */
static int array_element(struct cli_moment *moment, const struct cli_value *value,
                         const struct cli_std_key *key, struct cli_value *element)
{
    struct cli_value first;
    uint64_t count = 0, capacity;
    bool is_string = cli_is_std_string(value);
    bool is_known = is_string ? cli_std_string(moment, value, &first, &count)
                              : cli_std_vector(moment, value, &first, &count, &capacity);
    if (!is_known)
        return fail_unmade(value);
    bool has_nul = is_string && !is_view(value);
    if (key->text || key->number < 0 || (uint64_t)key->number >= count + has_nul)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no element %lld: the %s has %llu",
                           (long long)key->number, is_string ? "string" : "vector",
                           (unsigned long long)count);
    return cli_value_part(&first, (uint64_t)key->number * first.type.size_bytes, &first.type,
                          element);
}

static bool is_key(struct cli_moment *moment, const struct cli_value *value,
                   const struct cli_std_key *key)
{
    struct cli_value own = cli_std_value(moment, value), first;
    uint64_t size, number;
    char byte;
    if (!key->text)
        return cli_value_bits(moment, &own, &number) == 0 && (int64_t)number == key->number;
    if (!cli_is_std_string(&own) || !cli_std_string(moment, &own, &first, &size) ||
        first.type.size_bytes != 1 || size != key->size)
        return false;
    for (uint64_t i = 0; i < size; i++)
        if (wetdbg_state_read(moment->state, first.address + i, &byte, 1) != 0 ||
            byte != key->text[i])
            return false;
    return true;
}

int cli_std_element(struct cli_moment *moment, const struct cli_value *whole,
                    const struct cli_std_key *key, struct cli_value *element)
{
    struct cli_std_container container;
    struct cli_value value, array;
    struct cli_std_held held;
    int more;
    if (whole->type.kind != WETDBG_TYPE_STRUCT)
        return -WETDBG_ERR_USAGE;
    value = cli_std_value(moment, whole);
    if (cli_is_std_string(&value) || cli_is_std_vector(&value))
        return array_element(moment, &value, key, element);
    if (is_of(&value, "std::array<") && !key->text &&
        cli_value_member(moment, &value, "_M_elems", &array) == 0)
        return cli_value_element(moment, &array, key->number, element);
    if (!cli_std_container_open(moment, &value, &container))
        return container.class ? fail_unmade(&value) : -WETDBG_ERR_USAGE;
    while ((more = cli_std_container_next(&container, &held)) > 0) {
        bool is_it = container.labels == CLI_STD_KEYED
                         ? is_key(moment, &held.key, key)
                         : !key->text && (int64_t)container.index - 1 == key->number;
        if (is_it) {
            *element = held.value;
            return 0;
        }
        if (cli_interrupt_is_pending())
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    return more < 0 ? more : fail_element(&value, key, container.labels == CLI_STD_KEYED);
}

int cli_std_target(struct cli_moment *moment, const struct cli_value *whole,
                   struct cli_value *target)
{
    struct cli_std_container container;
    struct cli_std_held held;
    struct cli_value value;
    if (whole->type.kind != WETDBG_TYPE_STRUCT)
        return -WETDBG_ERR_USAGE;
    value = cli_std_value(moment, whole);
    if (!is_of(&value, "std::unique_ptr<") && !is_of(&value, "std::shared_ptr<") &&
        !is_of(&value, "std::optional<"))
        return -WETDBG_ERR_USAGE;
    if (!cli_std_container_open(moment, &value, &container))
        return fail_unmade(&value);
    int more = cli_std_container_next(&container, &held);
    if (more <= 0)
        return more ? more : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "it holds nothing");
    *target = held.value;
    return held.value.is_in_memory ? 0 : cli_value_target(moment, &held.value, target);
}
