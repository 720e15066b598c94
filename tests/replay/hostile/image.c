/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/replay/hostile/image.h"

#include <stdlib.h>
#include <string.h>

#include "recorder/replay/agent_image.h"

__asm__(".pushsection .data\n"
        ".balign 16\n"
        ".globl rep_agent_image\n.hidden rep_agent_image\nrep_agent_image:\n"
        ".incbin \"" HOSTILE_IMAGE "\"\n"
        ".globl rep_agent_image_end\n.hidden rep_agent_image_end\nrep_agent_image_end:\n"
        ".byte 0\n.popsection\n");

struct hostile_plan *hostile_plan(void)
{
    size_t bytes = (size_t)(rep_agent_image_end - rep_agent_image);
    void *at = memmem(rep_agent_image, bytes, HOSTILE_MAGIC, sizeof(HOSTILE_MAGIC));
    if (!at)
        abort();
    return at;
}
