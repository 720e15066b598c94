/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report's template as bytes: page.html of the build's folder, which CMake made of page.html,
 * page.css and page.js. */
    .section .rodata
    .globl cli_page_template, cli_page_template_end
    .hidden cli_page_template, cli_page_template_end
cli_page_template:
    .incbin "page.html"
cli_page_template_end:
    .byte 0
    .section .note.GNU-stack, "", @progbits
