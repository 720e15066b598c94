/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding separate debug files; the search itself is in model.h. */
#ifndef WET_MODEL_DEBUGFILE_H
#define WET_MODEL_DEBUGFILE_H

#include "wet/model/image.h"

/* Maps a file; the image stays absent if that fails. */
void mdl_debugfile_map(const char *path, struct mdl_image_bytes *image);

/* The build-id in hexadecimal; "" if there is none, or `size` is too small. `elf` may be NULL. */
void mdl_debugfile_build_id(Elf *elf, char *hex, size_t size);

#endif
