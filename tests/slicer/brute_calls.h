/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_SLICER_BRUTE_CALLS_H
#define TESTS_SLICER_BRUTE_CALLS_H

#include <stdint.h>

/*
 * What a system call uses of its arguments; the test ends if the call is not known. A letter for
 * each argument:
 *   v  a value
 *   d  a descriptor or a pointer
 *   s  a pointer to a string
 *   [N]  a pointer to N bytes that are read
 *   >  a pointer to bytes that are passed on, as many as the next argument says
 *   <  a pointer to bytes that are read, as many as the next argument says
 *   *  a pointer to a list of as many buffers as the next argument says
 *   m  a pointer to a list of as many messages as the next argument says
 */
const char *brute_signature(uint64_t number);

#endif
