/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the public headers begin and end with: their names are seen outside of libwetdbg, also from
 * C++. */
#ifndef WETDBG_API_H
#define WETDBG_API_H

#ifdef __cplusplus
#define WETDBG_BEGIN                                                                               \
    _Pragma("GCC visibility push(default)") extern "C"                                             \
    {
#define WETDBG_END                                                                                 \
    }                                                                                              \
    _Pragma("GCC visibility pop")
#else
#define WETDBG_BEGIN _Pragma("GCC visibility push(default)")
#define WETDBG_END   _Pragma("GCC visibility pop")
#endif

#endif
