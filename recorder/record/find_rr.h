/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where programs and our preload are. Results are to be freed. */
#ifndef RECORDER_RECORD_FIND_RR_H
#define RECORDER_RECORD_FIND_RR_H

/* The file that execvp would run. -WETDBG_ERR_NOT_FOUND, or -EACCES, -EISDIR, -ENOEXEC. */
int rec_locate_program(const char *name, char **path);

/* $WETDBG_RR or rr in PATH; -WETDBG_ERR_MACHINE with advice on how to install it. */
int rec_locate_rr(char **path);

/* libwetdbg-ticks.so of the build tree or of the installation that this program is from;
 * -WETDBG_ERR_MACHINE if it is nowhere. */
int rec_locate_preload(char **path);

#endif
