/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The static program model: what a recorded process's code is, apart from any run of it.
 * Modules, functions, source lines, control-flow graphs, control dependence, variables, frames.
 *
 * Everything is asked by guest address, as the recorded process saw it. Symbols, call frame
 * information and DWARF are parsed when a query first needs them, line tables and variables per
 * compilation unit.
 *
 * Images are untrusted: damaged ones give errors or missing answers, never a crash.
 *
 * Results: 0, or a negative errno / -WETDBG_ERR_*. Unless a function says otherwise,
 * -WETDBG_ERR_NOT_FOUND means that the model knows nothing there, -WETDBG_ERR_CORRUPT that an image
 * is damaged, -ENOMEM what it says. Out parameters are written only on success. A string or array
 * that comes back is borrowed and lives as long as the model, unless the function says otherwise.
 *
 * A model is used by one thread at a time: queries fill caches.
 */
#ifndef WETDBG_MODEL_H
#define WETDBG_MODEL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

struct wetdbg_model;

/* ---- Modules ---------------------------------------------------------------------------- */

typedef uint32_t wetdbg_module_id; /* 0, 1, ... in order of adding */

struct wetdbg_module {
    wetdbg_module_id id;
    const char *path;
    const char *name; /* last part of path */
    uint64_t start;   /* lowest mapped address */
    uint64_t end;     /* one past the highest */
    uint64_t bias;    /* guest address = ELF virtual address + bias (mod 2^64) */
    bool is_elf;      /* 0: code bytes only */
};

size_t wetdbg_module_count(const struct wetdbg_model *model);
int wetdbg_module_get(const struct wetdbg_model *model, wetdbg_module_id id,
                      struct wetdbg_module *module);
int wetdbg_module_at(const struct wetdbg_model *model, uint64_t pc, struct wetdbg_module *module);

#define WETDBG_BUILD_ID_CHARS 129

struct wetdbg_module_debug {
    bool has_dwarf;                       /* in the file itself or in its debug file */
    char build_id[WETDBG_BUILD_ID_CHARS]; /* in hexadecimal; "" if the file has none */
};

/* What there is of a module's debug information; looks for the debug file as search_debug says. */
int wetdbg_module_debug(struct wetdbg_model *model, wetdbg_module_id id,
                        struct wetdbg_module_debug *debug);

/* Copies file bytes that are mapped at a guest address; -WETDBG_ERR_NOT_FOUND unless all are.
 * Writable data has its initial value here, not that of any time in the run. */
int wetdbg_read_bytes(const struct wetdbg_model *model, uint64_t address, void *bytes,
                      size_t count);

/* ---- Functions -------------------------------------------------------------------------- */

enum wetdbg_function_flag {
    WETDBG_FUNCTION_SYMBOL = 1,   /* named by .symtab or .dynsym */
    WETDBG_FUNCTION_FRAME = 2,    /* bounds from call frame information */
    WETDBG_FUNCTION_PLT = 4,      /* a stub, "printf@plt" */
    WETDBG_FUNCTION_IFUNC = 8,    /* resolver of an indirect function */
    WETDBG_FUNCTION_COLD = 16,    /* a split-off part of another function ("f.cold") */
    WETDBG_FUNCTION_GUESSED = 32, /* called in the run, or code between known functions */
    WETDBG_FUNCTION_NAMELESS = 64 /* goes by where it lies: "bc+0x2bb0" */
};

struct wetdbg_function {
    /* "main", "ns::box<int>::get"; "libc.so.6+0x1234" (offset from the bias) where there is none */
    const char *name;
    const char *linkage_name; /* as the linker has it: "_ZN2ns3boxIiE3getEv"; often equal to name */
    uint64_t start;
    uint64_t end; /* one past the last byte */
    unsigned flags;
    wetdbg_module_id module;
};

/* The function that contains pc. Of aliases: exported before local, then the plainest name. */
int wetdbg_function_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_function *function);

/* Returns nonzero to stop the enumeration, which then returns that value. */
typedef int (*wetdbg_function_fn)(void *context, const struct wetdbg_function *function);

/* A linker's name as people read it, with the parameters that tell overloads apart:
 * "ns::box<int>::get() const". What is not mangled comes back as it is. */
const char *wetdbg_name_full(struct wetdbg_model *model, const char *linkage_name);

/* All functions in all modules whose name (any alias; mangled, or demangled with parameters)
 * matches a POSIX extended regular expression; NULL matches all. In order of module, then address.
 * -WETDBG_ERR_USAGE for a bad expression. */
int wetdbg_functions_each(struct wetdbg_model *model, const char *regex, wetdbg_function_fn fn,
                          void *context);

/*
 * All functions of this name: a linker's name (any alias) exactly; a demangled one also without
 * parameters, template arguments and enclosing namespaces and classes ("get" and "box::get" for
 * ns::box<int>::get() const); a method of Go without its package. Exact ones first, then by module
 * and address; copies that the compiler specialised count, split-off cold parts do not.
 * "MODULE+0xOFFSET" is the function that begins there.
 * -WETDBG_ERR_NOT_FOUND if none. `functions` is for the caller to free.
 */
int wetdbg_functions_named(struct wetdbg_model *model, const char *name,
                           struct wetdbg_function **functions, size_t *count);

/* Where the code of each function of this name begins that is inlined into others: sorted, as a gdb
 * breakpoint on the function takes them. Parameters tell them apart, also those that have no
 * linker's name, but for C's. -WETDBG_ERR_NOT_FOUND, without a sentence, if there is
 * none. `pcs` is for the caller to free. */
int wetdbg_inlined_named(struct wetdbg_model *model, const char *name, uint64_t **pcs,
                         size_t *count);

/* The address that is shown as "MODULE+0xOFFSET" (from the bias) or "FUNCTION+OFFSET" (inside of
 * it). -WETDBG_ERR_NOT_FOUND, without a sentence, for other texts and places that are in neither;
 * -ENOMEM. */
int wetdbg_address_named(struct wetdbg_model *model, const char *text, uint64_t *address);

/* Where a breakpoint on a function goes, by gdb's rules: past its prologue, which in optimized code
 * is the entry itself. Any address in the function may be given. */
int wetdbg_function_body(struct wetdbg_model *model, uint64_t entry_pc, uint64_t *body_pc);

/* A symbol for data: the object that contains the address. name is borrowed. */
struct wetdbg_symbol {
    const char *name;
    uint64_t start;
    uint64_t size_bytes;
    wetdbg_module_id module;
};
int wetdbg_symbol_at(struct wetdbg_model *model, uint64_t address, struct wetdbg_symbol *symbol);
int wetdbg_symbol_named(struct wetdbg_model *model, const char *name, struct wetdbg_symbol *symbol);

/* ---- Source lines ----------------------------------------------------------------------- */

struct wetdbg_line {
    const char *file; /* absolute where DWARF allows it */
    /* The innermost inlined function by DWARF, qualified ("ns::box<int>::get"); NULL if unknown. */
    const char *function;
    const char *linkage_name; /* the linker's name of `function`, or the same; NULL if unknown */
    uint32_t line;            /* 1..; code that DWARF gives to no line counts to the row before */
    uint32_t column;          /* 0 = unknown */
    bool is_stmt;
    uint64_t start; /* the line table's row: [start, end) */
    uint64_t end;
    uint64_t run_start; /* with the rows before and behind that gdb takes for the same one */
    uint64_t run_end;
    bool begins_here; /* of wetdbg_inline_chain(): the code of this inlined function begins at pc */
};

/*
 * The line that gdb shows at pc. Optimized code has addresses at which several lines begin: then it
 * is the last one that begins a statement there, which need not be the one that the instruction was
 * made for.
 */
int wetdbg_line_at(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line);

/* The line that pc's instruction was made for: of several at its address the last. */
int wetdbg_line_of_instruction(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *line);

/* The inlined functions around pc, innermost first, ending with the out-of-line function.
 * line/file of [0] are pc's, those of [i+1] the call of [i]. At most `max` are written, *count is
 * how many there are. */
int wetdbg_inline_chain(struct wetdbg_model *model, uint64_t pc, struct wetdbg_line *chain,
                        size_t max, size_t *count);

struct wetdbg_range {
    uint64_t start;
    uint64_t end; /* one past the last byte */
};

struct wetdbg_line_location {
    uint64_t pc;
    const char *file;     /* as in struct wetdbg_line */
    const char *function; /* as of struct wetdbg_function, or NULL */
    uint32_t line;
    /* 1 for the place that a gdb breakpoint takes: the first one in each lexical block, past the
     * prologue if the line is that of a function's opening. 0: a later start of the same line.
     * (Where a cold part lies before its function gdb breaks at the function's entry instead.) */
    bool is_breakpoint;
    bool is_hidden; /* gdb sees no code at this line, and breaks at a later one */
};

/*
 * Places where FILE:LINE starts. `file` may be a base name or any suffix of whole path parts.
 * Sorted by pc; for the caller to free. If nothing starts there: -WETDBG_ERR_NOT_FOUND, and the
 * message names the nearest lines with code, or says that no module knows the file.
 */
int wetdbg_line_locations(struct wetdbg_model *model, const char *file, uint32_t line,
                          struct wetdbg_line_location **locations, size_t *count);

/* All code that belongs to FILE:LINE, sorted, disjoint; for the caller to free. Errors as above. */
int wetdbg_line_ranges(struct wetdbg_model *model, const char *file, uint32_t line,
                       struct wetdbg_range **ranges, size_t *count);

/* Each row of the line tables of FILE (as above; NULL: all files) in address order per unit. */
typedef int (*wetdbg_line_fn)(void *context, const struct wetdbg_line *line);
int wetdbg_lines_each(struct wetdbg_model *model, const char *file, wetdbg_line_fn fn,
                      void *context);

/* Each source file that contributes lines, once per module. */
typedef int (*wetdbg_file_fn)(void *context, const char *file, wetdbg_module_id module);
int wetdbg_files_each(struct wetdbg_model *model, wetdbg_file_fn fn, void *context);

enum wetdbg_source_flag {
    WETDBG_SOURCE_MISSING = 1, /* the file cannot be read */
    WETDBG_SOURCE_NEWER =
        2, /* changed since the module was built: text may not belong to the code */
    WETDBG_SOURCE_SHORT = 4 /* the file has no such line */
};

/* Where sources of `from` (a path prefix of whole parts) are now. Later calls win. */
int wetdbg_source_map(struct wetdbg_model *model, const char *from, const char *to);

/*
 * The text of a line without its newline. *text is NULL where *flags says MISSING or SHORT.
 * `file` is a path as the functions above give it. `pc` names the module whose age is compared
 * (0: none). Returns 0 in all these cases; files are cached.
 */
int wetdbg_source_line(struct wetdbg_model *model, const char *file, uint32_t line, uint64_t pc,
                       const char **text, unsigned *flags);

/* ---- Control flow ----------------------------------------------------------------------- */

enum wetdbg_block_end {
    WETDBG_BLOCK_END_FALL,     /* into the next block, without branching */
    WETDBG_BLOCK_END_JUMP,     /* unconditional, direct */
    WETDBG_BLOCK_END_BRANCH,   /* conditional */
    WETDBG_BLOCK_END_INDIRECT, /* jmp through a register or memory */
    WETDBG_BLOCK_END_RETURN,
    WETDBG_BLOCK_END_TAIL, /* a jump to another function */
    /* nothing follows: a call that never returns, hlt, ud2, bytes that are no code */
    WETDBG_BLOCK_END_STOP
};

#define WETDBG_BLOCK_EXIT UINT32_MAX /* as a successor or post-dominator: the virtual exit */

struct wetdbg_block {
    uint64_t start;
    uint64_t last; /* address of the last instruction */
    uint64_t end;  /* one past its last byte */
    enum wetdbg_block_end kind;
    bool is_complete;           /* 0: an indirect jump whose targets may not all be known */
    const uint32_t *successors; /* block indexes or WETDBG_BLOCK_EXIT, without repetition */
    uint32_t successor_count;
    uint32_t ipdom; /* immediate post-dominator, block index or WETDBG_BLOCK_EXIT */
};

/* The graph of one function together with its cold parts. Blocks are sorted by start. */
struct wetdbg_graph;

/*
 * The graph of the function that contains pc, built on first use and cached. Borrowed until a slice
 * follows a jump that the graph did not know, or a query at a pc that the graph did not contain
 * (such a pc becomes a further entry: exception landing pads are found so).
 */
int wetdbg_graph_at(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_graph **graph);

uint64_t wetdbg_graph_entry(const struct wetdbg_graph *graph);
uint32_t wetdbg_graph_block_count(const struct wetdbg_graph *graph);
const struct wetdbg_block *wetdbg_graph_block(const struct wetdbg_graph *graph, uint32_t index);

/* Index of the block that contains an instruction address; -WETDBG_ERR_NOT_FOUND if none does. */
int wetdbg_graph_find(const struct wetdbg_graph *graph, uint64_t pc, uint32_t *index);

/*
 * The branch instructions (conditional, or indirect with several targets) that the instruction at
 * pc is directly control dependent on (Ferrante, Ottenstein, Warren), sorted by address. The jump
 * of an exception to a landing pad is such a branch, too: it is named by the pad's address. None:
 * it depends on the call of its function only. Post-dominators take calls to return, except those
 * known not to (exit, abort, a failed assert, longjmp, throw, and what always ends in one of them):
 * these leave for the exit, or for the handlers of their exception, so that what follows `if (!p)
 * abort();` depends on that branch. An endless loop is taken to leave for the exit from its
 * header's back edges. Constant time after a function's first query. Borrowed as wetdbg_graph_at()
 * says.
 */
int wetdbg_controllers(struct wetdbg_model *model, uint64_t pc, const uint64_t **branch_pcs,
                       size_t *count);

/* The same where paths that end in calls which never return do not count: what follows
 * `if (!p) abort();` does not depend on it. */
int wetdbg_controllers_no_exits(struct wetdbg_model *model, uint64_t pc,
                                const uint64_t **branch_pcs, size_t *count);

/* Start of the block that immediately post-dominates (as wetdbg_controllers() takes it) the one
 * that contains pc; 0 for the virtual exit of the function. */
int wetdbg_ipdom(struct wetdbg_model *model, uint64_t pc, uint64_t *ipdom_pc);

/* The same as wetdbg_controllers_no_exits() takes it: where the ways of a branch come together, if
 * none of them ends the program. */
int wetdbg_ipdom_no_exits(struct wetdbg_model *model, uint64_t pc, uint64_t *ipdom_pc);

/* ---- Machine state ---------------------------------------------------------------------- */

/* Registers by DWARF number: rax 0, rdx 1, rcx 2, rbx 3, rsi 4, rdi 5, rbp 6, rsp 7, r8..r15 8..15,
 * rip 16, xmm0..15 17..32, fs.base 58, gs.base 59. */
enum {
    WETDBG_REG_RBP = 6,
    WETDBG_REG_RSP = 7,
    WETDBG_REG_RIP = 16,
    WETDBG_REG_XMM0 = 17,
    WETDBG_REG_FS_BASE = 58,
    WETDBG_REG_GS_BASE = 59,
    WETDBG_FRAME_REG_COUNT = 17
};

/* How queries look at the run. Callbacks return 0 or a negative error, which is passed on. */
struct wetdbg_machine {
    void *context;
    /* Low 64 bits of a register in the frame that is looked at. */
    int (*read_register)(void *context, unsigned dwarf_reg, uint64_t *value);
    int (*read_memory)(void *context, uint64_t address, void *bytes, size_t count);
};

/* ---- Variables -------------------------------------------------------------------------- */

enum wetdbg_type_kind {
    WETDBG_TYPE_UNKNOWN, /* no DWARF: an ELF symbol's size only */
    WETDBG_TYPE_VOID,
    WETDBG_TYPE_SIGNED,
    WETDBG_TYPE_UNSIGNED,
    WETDBG_TYPE_BOOL,
    WETDBG_TYPE_CHAR, /* is_signed says which; more than 1 byte: char16_t, char32_t */
    WETDBG_TYPE_FLOAT,
    WETDBG_TYPE_ENUM,
    WETDBG_TYPE_POINTER, /* and references */
    WETDBG_TYPE_STRUCT,  /* and classes */
    WETDBG_TYPE_UNION,
    WETDBG_TYPE_ARRAY,
    WETDBG_TYPE_FUNCTION,
    WETDBG_TYPE_OTHER
};

struct wetdbg_type {
    enum wetdbg_type_kind kind;
    bool is_signed;
    bool is_reference;   /* of WETDBG_TYPE_POINTER: C++'s & or && */
    uint64_t size_bytes; /* 0 = unknown (flexible or variable arrays) */
    /* As the unit's language writes it, cut if long: "const char *", "int [10]", "struct node",
     * "ns::box<int>". Default template arguments of std are left out. */
    char name[256];
    uint64_t handle; /* of the model; 0 = no DWARF */
};

enum wetdbg_scope {
    WETDBG_SCOPE_LOCAL,
    WETDBG_SCOPE_PARAM,
    WETDBG_SCOPE_FILE,
    WETDBG_SCOPE_GLOBAL
};

struct wetdbg_variable {
    const char *name;
    struct wetdbg_type type;
    enum wetdbg_scope scope;
    const char *decl_file; /* NULL = unknown */
    uint32_t decl_line;
    wetdbg_module_id module;
    uint64_t handle;         /* of the model: the variable's DIE; 0 for an ELF symbol */
    uint64_t symbol_address; /* of an ELF symbol */
    /* A member of what `this` points to, named without it; handle is then that of `this`. */
    bool is_of_this;
    uint64_t base_handle;       /* of a virtual base class that has it, or 0 */
    uint64_t base_offset_bytes; /* of what has that base class */
    uint64_t offset_bytes;      /* in the base class, or in *this */
    uint32_t bit_offset;        /* as in struct wetdbg_member */
    uint32_t bit_size;
};

/*
 * Finds a variable by name as the code at pc sees it: innermost block outwards (inlined functions
 * included), members of *this, then statics and globals of the unit, then locals of an inlined
 * function's callers, then globals and statics of the module, then of any other module, then data
 * symbols without type. pc 0: globals and statics of all modules only.
 *
 * A name with "::" is that of a variable of a namespace or class, or the end of it ("box::count"
 * for ns::box<int>::count; "::x" is only x itself). Without, one in a namespace or class is found
 * too; of several that in the innermost scope around pc.
 */
int wetdbg_variable_find(struct wetdbg_model *model, uint64_t pc, const char *name,
                         struct wetdbg_variable *variable);

/* wetdbg_variable_find() as the function sees it into which the `depth` innermost functions of
 * wetdbg_inline_chain() are inlined. */
int wetdbg_variable_find_at(struct wetdbg_model *model, uint64_t pc, size_t depth, const char *name,
                            struct wetdbg_variable *variable);

/* Each variable of the blocks and the function around pc, innermost first; not globals. */
typedef int (*wetdbg_variable_fn)(void *context, const struct wetdbg_variable *variable);
int wetdbg_variables_each(struct wetdbg_model *model, uint64_t pc, wetdbg_variable_fn fn,
                          void *context);

/* The names of globals and statics of the module that contains pc, sorted; a name may come several
 * times. -WETDBG_ERR_NOT_FOUND without a module there. */
typedef int (*wetdbg_name_fn)(void *context, const char *name);
int wetdbg_globals_each(struct wetdbg_model *model, uint64_t pc, wetdbg_name_fn fn, void *context);

/* Each variable of one function of the inline chain only: depth as in wetdbg_variable_find_at(). */
int wetdbg_variables_each_at(struct wetdbg_model *model, uint64_t pc, size_t depth,
                             wetdbg_variable_fn fn, void *context);

enum wetdbg_place_kind {
    WETDBG_PLACE_MEMORY,   /* address */
    WETDBG_PLACE_REGISTER, /* reg, offset_bytes */
    WETDBG_PLACE_VALUE,    /* computed: value; no storage of its own */
    WETDBG_PLACE_NONE      /* optimized out at this pc */
};

struct wetdbg_place {
    enum wetdbg_place_kind kind;
    uint64_t address;
    unsigned reg; /* DWARF number */
    unsigned offset_bytes;
    uint64_t size_bytes;
    uint64_t value;
    char reason[96]; /* of WETDBG_PLACE_NONE, for people */
};

/* A part of a variable, which may be spread over several places. */
struct wetdbg_piece {
    uint64_t size_bits; /* 0: the whole variable */
    struct wetdbg_place place;
    /* Of WETDBG_PLACE_NONE: a constant of so many bytes (borrowed), or NULL ... */
    const uint8_t *bytes;
    size_t byte_count;
    /* ... or a pointer that was optimized out: to what is so many bytes into the variable of this
     * handle (0: there is none). */
    uint64_t target;
    int64_t target_offset_bytes;
};

/*
 * Where a variable is at pc. `machine` gives the registers of that frame. A frame that is not the
 * innermost is asked with its call instruction's address (return address - 1).
 * -WETDBG_ERR_UNSUPPORTED for thread-local variables that are not in the static block of the main
 * executable. pc may be 0 for globals and statics, and `machine` NULL, of which those that are
 * thread-local are -WETDBG_ERR_UNSUPPORTED then.
 */
int wetdbg_variable_locate(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_place *place);

/* Where the parts of a variable are at pc, the lowest bits first, if it may be spread over several
 * places or have a constant as its value. Otherwise as wetdbg_variable_locate(). *pieces is for the
 * caller to free. */
int wetdbg_variable_pieces(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_piece **pieces, size_t *count);

/* The value that a parameter was passed as, by what debug information says of the call; by gdb's
 * rules. -WETDBG_ERR_NOT_FOUND, without a sentence, if that does not tell. */
int wetdbg_variable_entry_value(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                                uint64_t pc, const struct wetdbg_machine *machine, uint64_t *value);

/* The type of what a pointer points to, or of an array's elements (of several dimensions: arrays,
 * too). */
int wetdbg_type_target(struct wetdbg_model *model, uint64_t type_handle, struct wetdbg_type *target,
                       uint64_t *element_count);

/* A type that a class of C++ is made from: of its template's arguments that are types the
 * `index`-th, from 0, those of a parameter pack one by one. -WETDBG_ERR_NOT_FOUND if there is
 * none. */
int wetdbg_type_argument(struct wetdbg_model *model, uint64_t type_handle, unsigned index,
                         struct wetdbg_type *argument);

/* The type behind a name: without typedefs and qualifiers. */
int wetdbg_type_plain(struct wetdbg_model *model, const struct wetdbg_type *type,
                      struct wetdbg_type *plain);

/* Types that the program need not have: a pointer to `target`, an array. -WETDBG_ERR_USAGE for an
 * array that is empty or too large. */
int wetdbg_type_pointer(struct wetdbg_model *model, const struct wetdbg_type *target,
                        struct wetdbg_type *pointer);
int wetdbg_type_array(struct wetdbg_model *model, const struct wetdbg_type *element, uint64_t count,
                      struct wetdbg_type *array);

/* A type by name as the code at pc sees it (0: anywhere): "struct tag", "enum tag", "tag" in C++, a
 * typedef, "unsigned long", "ns::box<int>" or the end of it. -WETDBG_ERR_NOT_FOUND. */
int wetdbg_type_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                      struct wetdbg_type *type);

/* The enumerator of a name, and the enumeration that it is of. -WETDBG_ERR_NOT_FOUND. */
int wetdbg_enumerator_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                            struct wetdbg_type *type, int64_t *value);

/* The type of the function around pc, "int (int, char **)"; what it returns (of the `depth`-th
 * function of wetdbg_inline_chain()). -WETDBG_ERR_NOT_FOUND without DWARF. */
int wetdbg_function_type(struct wetdbg_model *model, uint64_t pc, struct wetdbg_type *type);
int wetdbg_function_result(struct wetdbg_model *model, uint64_t pc, size_t depth,
                           struct wetdbg_type *type);

/* A type that has a name and is declared outside functions. */
struct wetdbg_declared_type {
    /* Qualified, without "struct" and the like: "ns::box<int>::kind". Of a basic type this is good
     * only as long as the structure is. */
    const char *name;
    struct wetdbg_type type;
    bool is_typedef;
    struct wetdbg_type target; /* of a typedef: what it is a name for */
    const char *language;      /* as of wetdbg_language_at() */
    const char *file;          /* of a basic type its unit's main file; NULL = unknown */
    uint32_t line;             /* 0 = unknown: basic types are declared on no line */
    wetdbg_module_id module;
};

/* Each of them in all modules whose name matches a POSIX extended regular expression (NULL: all),
 * by module, then name. What several units declare comes several times; what is only declared, but
 * defined nowhere, does not. -WETDBG_ERR_USAGE for a bad expression. */
typedef int (*wetdbg_declared_type_fn)(void *context, const struct wetdbg_declared_type *type);
int wetdbg_types_each(struct wetdbg_model *model, const char *regex, wetdbg_declared_type_fn fn,
                      void *context);

/* Whether the code at pc is of C (or assembler, or unknown). */
bool wetdbg_is_of_c(struct wetdbg_model *model, uint64_t pc);

/* The language that the code at pc was written in, as gdb calls it ("c", "c++", "rust", "asm");
 * NULL if debug information does not tell. */
const char *wetdbg_language_at(struct wetdbg_model *model, uint64_t pc);

struct wetdbg_member {
    const char *name; /* NULL: unnamed, or a base class */
    struct wetdbg_type type;
    bool is_base;
    bool is_virtual; /* a virtual base class: see wetdbg_member_offset() */
    uint64_t handle; /* of a virtual base class */
    uint64_t offset_bytes;
    uint32_t bit_offset; /* of bit_size bits from offset_bytes' lowest bit, if bit_size != 0 */
    uint32_t bit_size;
};
/* Static members are none: they are variables. */
typedef int (*wetdbg_member_fn)(void *context, const struct wetdbg_member *member);
int wetdbg_type_members_each(struct wetdbg_model *model, uint64_t type_handle, wetdbg_member_fn fn,
                             void *context);

/* Where in the object at `address` a virtual base class lies: its virtual table says. */
int wetdbg_member_offset(struct wetdbg_model *model, const struct wetdbg_member *member,
                         const struct wetdbg_machine *machine, uint64_t address,
                         uint64_t *offset_bytes);

/* The name of an enumerator; -WETDBG_ERR_NOT_FOUND if no enumerator has the value. */
int wetdbg_type_enumerator(struct wetdbg_model *model, uint64_t type_handle, int64_t value,
                           const char **name);

/* Each enumerator, in order of declaration; names are not qualified. */
typedef int (*wetdbg_enumerator_fn)(void *context, const char *name, int64_t value);
int wetdbg_type_enumerators_each(struct wetdbg_model *model, uint64_t type_handle,
                                 wetdbg_enumerator_fn fn, void *context);

/* ---- Frames ----------------------------------------------------------------------------- */

struct wetdbg_frame_regs {
    uint64_t value[WETDBG_FRAME_REG_COUNT]; /* by DWARF number; [16] is the pc */
    uint32_t valid;                         /* bit n: value[n] is known */
    bool is_innermost; /* 1: pc is the next instruction; 0: pc is a return address */
};

typedef int (*wetdbg_read_memory_fn)(void *context, uint64_t address, void *bytes, size_t count);

/*
 * Steps to the caller. Set is_innermost = true for the first frame; it comes back 0, or 1 past a
 * signal frame, whose pc was interrupted anywhere. Returns 1 if `regs` now holds the caller, 0 at
 * the outermost frame (regs unchanged), -WETDBG_ERR_NOT_FOUND where no call frame information
 * covers pc, -WETDBG_ERR_CORRUPT if it makes no sense (no progress, unaligned stack), or
 * read_memory's error.
 */
int wetdbg_unwind(struct wetdbg_model *model, struct wetdbg_frame_regs *regs,
                  wetdbg_read_memory_fn read_memory, void *context);

/*
 * Functions between a frame and its caller that are no longer on the stack, since each ended by a
 * jump to the next: by the pc behind that jump, the last one first. Only those of which the debug
 * information leaves no doubt; by gdb's rules. The registers of such a function's frame are the
 * caller's, as wetdbg_frame_enter_tail() changes them.
 */
#define WETDBG_TAIL_CALLERS_MAX 32
size_t wetdbg_tail_callers(struct wetdbg_model *model, const struct wetdbg_frame_regs *callee,
                           const struct wetdbg_frame_regs *caller,
                           uint64_t pcs[WETDBG_TAIL_CALLERS_MAX]);
void wetdbg_frame_enter_tail(struct wetdbg_frame_regs *caller, uint64_t pc);

/* Where in memory the frame at pc keeps registers of its caller: saved[n], if bit n of *valid is
 * set. Errors as of wetdbg_frame_cfa(). */
int wetdbg_frame_saved(struct wetdbg_model *model, uint64_t pc,
                       const struct wetdbg_machine *machine, uint64_t saved[WETDBG_FRAME_REG_COUNT],
                       uint32_t *valid);

/* The address that gdb calls that of a frame's arguments and locals: what rbp is once `push %rbp;
 * mov %rsp,%rbp` has run, also where it has not or the function does without. */
int wetdbg_frame_base(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                      uint64_t *base);

/* The canonical frame address (rsp before the call was made, plus 8 for the return address). */
int wetdbg_frame_cfa(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                     uint64_t *cfa);

/* pc to look up lines, blocks and scopes with: a return address is past its call. */
static inline uint64_t wetdbg_frame_lookup_pc(const struct wetdbg_frame_regs *regs)
{
    return regs->is_innermost ? regs->value[WETDBG_REG_RIP] : regs->value[WETDBG_REG_RIP] - 1;
}

WETDBG_END

#endif
