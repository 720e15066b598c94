/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layouts of libstdc++ since GCC 5. What does not look like one is taken for none: anything may
 * be in memory that was not constructed yet. */
#include "dbgcli/eval/std_values.h"

#include <string.h>

#include <wetdbg/errors.h>

static const char *plain_name(const struct cli_value *value)
{
    const char *name = value->type.name;
    return strncmp(name, "const ", 6) == 0 ? name + 6 : name;
}

bool cli_is_std_string(const struct cli_value *value)
{
    return strcmp(plain_name(value), "std::string") == 0;
}

bool cli_is_std_vector(const struct cli_value *value)
{
    const char *name = plain_name(value);
    return strncmp(name, "std::vector<", 12) == 0 && strncmp(name, "std::vector<bool", 16) != 0;
}

/* Gets a member of a member; false if there is none. */
static bool get_inner(struct cli_moment *moment, const struct cli_value *whole, const char *outer,
                      const char *inner, struct cli_value *value)
{
    struct cli_value middle;
    return cli_value_member(moment, whole, outer, &middle) == 0 &&
           cli_value_member(moment, &middle, inner, value) == 0;
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
    return get_inner(moment, value, "_M_dataplus", "_M_p", &start) &&
           cli_value_member(moment, value, "_M_string_length", &length) == 0 &&
           get_target(moment, &start, first) && cli_value_bits(moment, &length, count) == 0;
}

bool cli_std_vector(struct cli_moment *moment, const struct cli_value *value,
                    struct cli_value *first, uint64_t *count)
{
    struct cli_value start, finish;
    uint64_t end;
    uint8_t byte;
    if (!get_inner(moment, value, "_M_impl", "_M_start", &start) ||
        !get_inner(moment, value, "_M_impl", "_M_finish", &finish) ||
        !get_target(moment, &start, first) || cli_value_bits(moment, &finish, &end) != 0 ||
        end < first->address || (end - first->address) % first->type.size_bytes)
        return false;
    *count = (end - first->address) / first->type.size_bytes;
    return !*count || wetdbg_state_read(moment->state, end - 1, &byte, 1) == 0;
}

int cli_std_element(struct cli_moment *moment, const struct cli_value *value, int64_t index,
                    struct cli_value *element)
{
    struct cli_value first;
    uint64_t count = 0;
    bool is_string = cli_is_std_string(value);
    bool is_known = is_string ? cli_std_string(moment, value, &first, &count)
                              : cli_std_vector(moment, value, &first, &count);
    if (!is_known)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the %s is not constructed here, or not libstdc++'s", value->type.name);
    count += is_string; /* and its NUL */
    if (index < 0 || (uint64_t)index >= count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is no element %lld: the %s has %llu",
                           (long long)index, is_string ? "string" : "vector",
                           (unsigned long long)(count - is_string));
    return cli_value_part(&first, (uint64_t)index * first.type.size_bytes, &first.type, element);
}
