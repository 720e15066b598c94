/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/replay/agent_image.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        ".globl rep_agent_image\n.hidden rep_agent_image\nrep_agent_image:\n"
        ".incbin \"" WD_AGENT_IMAGE "\"\n"
        ".globl rep_agent_image_end\n.hidden rep_agent_image_end\nrep_agent_image_end:\n"
        ".byte 0\n.previous\n");
