/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether the machine has memory for what a file wants: a few KiB can ask for many GiB. */
#ifndef COMMON_ROOM_H
#define COMMON_ROOM_H

#include <stdint.h>

/*
 * Asks for so many bytes before they are used: -WETDBG_ERR_MACHINE, with a sentence, if they would
 * leave the machine less than a 32nd of its memory. Small amounts are added up, and the machine is
 * asked when they come to 16 MiB: it costs next to nothing. Where /proc does not tell, there is
 * always room. For any thread.
 */
int wd_room_ask(uint64_t bytes);

#endif
