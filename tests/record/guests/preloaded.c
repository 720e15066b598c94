/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A user's own preload. */
int wetdbg_test_preloaded = 1;
