/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values as C knows them, at a moment of the run: what `print x` and the arguments of a backtrace
 * show. Written as gdb writes them: 97 'a', (int *) 0x7ffe0, {x = 1, y = 2}, "text".
 */
#ifndef DBGCLI_EVAL_VALUE_H
#define DBGCLI_EVAL_VALUE_H

#include "dbgcli/nav/moment.h"
#include "dbgcli/out.h"

/* How values are written, as the user set it. */
struct cli_manner {
    uint64_t elements; /* at most so many of an array or a text; 0: all */
    uint64_t repeats;  /* so many equal elements are not yet put together; 0: they never are */
    bool is_pretty;    /* each member on a line of its own */
};
extern const struct cli_manner cli_manner_usual;

#define CLI_VALUE_BYTES_MAX 256
#define CLI_SYNTHETIC_MAX   4

/* Types that are ours and not the model's go by these names. */
#define CLI_TYPE_VEC128 "vec128"
#define CLI_TYPE_VEC256 "vec256"
#define CLI_TYPE_VEC512 "vec512"
#define CLI_TYPE_FLAGS  "i386_eflags"
#define CLI_TYPE_MXCSR  "i386_mxcsr"

/* A pointer that was optimized out, though what it points to was not: gdb's synthetic pointer. */
struct cli_synthetic {
    uint64_t at;     /* where in the value */
    uint64_t target; /* the model's handle of a variable, so many bytes into which it points */
    int64_t target_offset;
    size_t frame; /* of that variable */
};

struct cli_value {
    struct wetdbg_type type;
    bool is_in_memory;
    uint64_t address;    /* if it is */
    const uint8_t *kept; /* the bytes that were there once, so many; NULL: those of the moment */
    size_t kept_bytes;
    uint8_t bytes[CLI_VALUE_BYTES_MAX];                /* if it is not; little-endian */
    uint8_t missing[CLI_VALUE_BYTES_MAX / 8];          /* bit per byte: it was optimized out */
    struct cli_synthetic synthetic[CLI_SYNTHETIC_MAX]; /* instead of some of these */
    unsigned synthetic_count;
    uint32_t bit_offset, bit_size; /* a bit field of the bytes, if bit_size is not 0 */
};

/* Whether bytes of [offset, offset + size) were optimized out, some or all. */
bool cli_value_is_missing(const struct cli_value *value, uint64_t offset, uint64_t size);
bool cli_value_is_all_missing(const struct cli_value *value, uint64_t offset, uint64_t size);

/* The synthetic pointer that a value is, or NULL. */
const struct cli_synthetic *cli_value_synthetic(const struct cli_value *value);

enum cli_basic {
    CLI_BASIC_CHAR,
    CLI_BASIC_SIGNED_CHAR,
    CLI_BASIC_UNSIGNED_CHAR,
    CLI_BASIC_SHORT,
    CLI_BASIC_UNSIGNED_SHORT,
    CLI_BASIC_INT,
    CLI_BASIC_UNSIGNED_INT,
    CLI_BASIC_LONG,
    CLI_BASIC_UNSIGNED_LONG,
    CLI_BASIC_LONG_LONG,
    CLI_BASIC_UNSIGNED_LONG_LONG,
    CLI_BASIC_FLOAT,
    CLI_BASIC_DOUBLE,
    CLI_BASIC_LONG_DOUBLE,
    CLI_BASIC_BOOL,
    CLI_BASIC_C_BOOL, /* _Bool */
    CLI_BASIC_VOID,
};

/* A basic type of C; needs no debug information. */
const struct wetdbg_type *cli_type_basic(enum cli_basic basic);

/*
 * Reads a type's name at *text, "const struct node **" or "unsigned char [4]", as the code of a
 * frame knows it, and moves *text behind it. -WETDBG_ERR_NOT_FOUND without a message if no type is
 * called so.
 */
int cli_type_parse(struct cli_frame_view *view, const char **text, struct wetdbg_type *type);

/*
 * Evaluates an expression as the code of a frame sees its names: C's operators but assignments and
 * calls, casts, sizeof, gdb's a@N (N values from a on) and {TYPE} ADDRESS, enumerators, functions,
 * $rax and the other registers. -WETDBG_ERR_USAGE for other text; -WETDBG_ERR_NOT_FOUND for unknown
 * names and values that are optimized out; -EFAULT for memory that is not there.
 */
int cli_value_evaluate(struct cli_frame_view *view, const char *text, struct cli_value *value);

/* The type that an expression has, also where its variables are optimized out. Errors as above. */
int cli_value_type(struct cli_frame_view *view, const char *text, struct wetdbg_type *type);

/* A variable that is already known, in a frame. */
int cli_value_of_variable(struct cli_frame_view *view, const struct wetdbg_variable *variable,
                          struct cli_value *value);

/* The value that a parameter was passed as, where the caller's debug information tells it.
 * -WETDBG_ERR_NOT_FOUND, without a sentence, if it does not. */
int cli_value_at_entry(struct cli_frame_view *view, const struct wetdbg_variable *variable,
                       struct cli_value *value);

/* The variable of that name which a function declares, or a file (is_file): gdb's function::x and
 * 'f.c'::x. */
int cli_value_scoped(struct cli_frame_view *view, const char *text, bool is_file, const char *name,
                     struct cli_value *value);

/* A member of a structure, its base classes' included. -WETDBG_ERR_NOT_FOUND without a message if
 * it has none of that name. */
int cli_value_member(struct cli_moment *moment, const struct cli_value *value, const char *name,
                     struct cli_value *member);

/* A member of a member: "a.b.c". Errors of cli_value_member(). */
int cli_value_path(struct cli_moment *moment, const struct cli_value *value, const char *path,
                   struct cli_value *member);

/* What `value` points to (or an array's first element). -WETDBG_ERR_USAGE for other types. */
int cli_value_target(struct cli_moment *moment, const struct cli_value *value,
                     struct cli_value *target);

/* Loads `size` bytes of a value; a bit field is not shifted. */
int cli_value_load(struct cli_moment *moment, const struct cli_value *value, void *bytes,
                   size_t size);

/* A part of a value, `offset` bytes from its start. */
int cli_value_part(const struct cli_value *value, uint64_t offset, const struct wetdbg_type *type,
                   struct cli_value *part);

/* Makes a reference what it refers to, in place; other values stay. */
int cli_value_dereference(struct cli_moment *moment, struct cli_value *value);

/* Evaluates an expression; a reference is what it refers to. Errors of both. */
int cli_value_evaluate_through(struct cli_frame_view *view, const char *text,
                               struct cli_value *value);

/* Element `index` of an array or of what a pointer points to. */
int cli_value_element(struct cli_moment *moment, const struct cli_value *value, int64_t index,
                      struct cli_value *element);

/* What a function with this result left in registers (or memory) when it had just returned.
 * -WETDBG_ERR_UNSUPPORTED for types of which that is not simple. */
int cli_value_of_result(struct cli_moment *moment, const struct wetdbg_type *type,
                        struct cli_value *value);

/* A scalar's bits, sign-extended if its type is signed. */
int cli_value_bits(struct cli_moment *moment, const struct cli_value *value, uint64_t *bits);

/*
 * Writes a value. `format` is "" or a letter as of gdb: x, z, d, u, o, t, c, a, f, s;
 * cli_value_format_check says whether it is one. With `is_brief` structures and arrays are shown as
 * "...".
 */
int cli_value_print(struct cli_out *out, struct cli_moment *moment, const struct cli_value *value,
                    const char *format, bool is_brief);
int cli_value_format_check(const char *format);

/* The text that cli_value_print() writes, to be freed; never NULL: a failure is shown as
 * "<message>". */
char *cli_value_text(struct cli_moment *moment, const struct cli_value *value, const char *format,
                     bool is_brief);

/* A value's text as `info locals` and the arguments of a backtrace show it: without a type before a
 * pointer. */
char *cli_value_plain_text(struct cli_moment *moment, const struct cli_value *value, bool is_brief);

/* "0x401136 <main+4>", symbol only if there is one. */
void cli_address_print(FILE *stream, struct wetdbg_model *model, uint64_t address);

#endif
