/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program whose debug information describes types that are made of themselves: what no compiler writes. */
        .globl _start
        .text
_start: mov     $60, %eax
        mov     memory, %edi
        syscall
        ud2
.Lend:
        .data
memory: .zero   64

        .section .debug_abbrev, "", @progbits
        /* unit: name, low_pc, high_pc */
        .byte   1, 0x11, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        /* array: type */
        .byte   2, 0x01, 1, 0x49, 0x13, 0, 0
        /* subrange: upper bound */
        .byte   3, 0x21, 0, 0x2f, 0x0b, 0, 0
        /* pointer: size, type */
        .byte   4, 0x0f, 0, 0x0b, 0x0b, 0x49, 0x13, 0, 0
        /* variable: name, type, external, location */
        .byte   5, 0x34, 0, 0x03, 0x08, 0x49, 0x13, 0x3f, 0x0c, 0x02, 0x18, 0, 0
        /* structure: name, size */
        .byte   6, 0x13, 1, 0x03, 0x08, 0x0b, 0x0b, 0, 0
        /* member: name, type, offset */
        .byte   7, 0x0d, 0, 0x03, 0x08, 0x49, 0x13, 0x38, 0x0b, 0, 0
        /* typedef: name, type */
        .byte   8, 0x16, 0, 0x03, 0x08, 0x49, 0x13, 0, 0
        .byte   0

#define VARIABLE(name, type)                                                                       \
        .uleb128 5;                                                                                \
        .asciz  name;                                                                              \
        .long   type - .Lunit;                                                                     \
        .byte   1, 9, 0x03;                                                                        \
        .quad   memory

        .section .debug_info, "", @progbits
.Lunit: .long   .Lunit_end - .Lunit - 4
        .value  4
        .long   0
        .byte   8
        .uleb128 1
        .asciz  "circles.c"
        .quad   _start
        .quad   .Lend - _start
.Larray:
        .uleb128 2
        .long   .Larray - .Lunit
        .uleb128 3
        .byte   150
        .uleb128 3
        .byte   99
        .byte   0
.Lpointer:
        .uleb128 4
        .byte   8
        .long   .Lpointer - .Lunit
.Lstructure:
        .uleb128 6
        .asciz  "whole"
        .byte   8
        .uleb128 7
        .asciz  "first"
        .long   .Lstructure - .Lunit
        .byte   0
        .uleb128 7
        .asciz  "second"
        .long   .Lstructure - .Lunit
        .byte   0
        .byte   0
.Ltypedef:
        .uleb128 8
        .asciz  "other"
        .long   .Ltypedef - .Lunit
        VARIABLE("arrays", .Larray)
        VARIABLE("pointers", .Lpointer)
        VARIABLE("structures", .Lstructure)
        VARIABLE("types", .Ltypedef)
        .byte   0
.Lunit_end:
        .section .note.GNU-stack, "", @progbits
