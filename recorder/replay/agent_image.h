/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent as a flat image. A test that links another one under these names runs that. */
#ifndef RECORDER_REPLAY_AGENT_IMAGE_H
#define RECORDER_REPLAY_AGENT_IMAGE_H

#include <stdint.h>

extern const uint8_t rep_agent_image[], rep_agent_image_end[];

#endif
