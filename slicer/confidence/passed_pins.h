/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pins of bytes that went through the kernel: what a call delivered is as right as what the call
 * that sent it had in its buffer, byte for byte (slicer/channels/channels.h). Seen backward the
 * call that delivered comes first: from there on the pins are kept at the bytes' places among all
 * that calls sent, until the sender is met.
 */
#ifndef SLICER_CONFIDENCE_PASSED_PINS_H
#define SLICER_CONFIDENCE_PASSED_PINS_H

#include "slicer/confidence/pins.h"
#include "slicer/slice_session.h"

/* Takes the pins off what the kernel wrote with an op of `entry`, and keeps those of bytes that the
 * run had sent itself, with the values that they had. To be called before that range is dropped. 0
 * or an error. */
int slc_passed_pins_take(struct slc_pins *pins, struct wetdbg_slice_session *session,
                         const struct evq_entry *entry, const struct evq_op *op);

/* Pins what the calls that began at `time` had in their buffers, if it is kept. 0 or an error. */
int slc_passed_pins_give(struct slc_pins *pins, struct wetdbg_slice_session *session,
                         wetdbg_time time);

#endif
