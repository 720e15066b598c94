/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rr's tick counters on a machine that cannot count: descriptors that signal after some time, and
 * whose values are made up.
 *
 * What rr does with them (5.6 to 5.9): it opens one per task with a sample period in ticks, sets
 * owner and signal by fcntl, lets the task run, and at each stop reads 8 bytes and disables it; to
 * run on, it resets it, sets the period to what is left of the time slice, and enables it. A
 * slice ends when the ticks that were read add up to its length.
 *
 * Values. rr's own thread (its start-up checks): a large constant. A task: 0, until its slice has
 * lasted long enough; then once the period plus one, at the next system call if there is one.
 * A stop at an interrupt is an asynchronous event that replay must search for, so a slice ends
 * there only when no system call came for patience_ns. While there is but one task nothing ends.
 *
 * Lots. A race of some microseconds shows only if a slice ends in its midst. Of a recording in
 * chaos mode one slice in two is a drawn one: it lasts 4 to 1,000 us, each power of 2 as likely as
 * the next, or as long as rr says if that is less, and ends wherever the task is then.
 */
#ifndef RECORDER_TICKS_COUNTERS_H
#define RECORDER_TICKS_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Stands in for perf_event_open(attr, tid, ...); a descriptor, or -1 with errno. */
int tck_counter_open(const struct perf_event_attr *attr, pid_t tid);

/* Whether `fd` is one of ours; any number may be asked. */
bool tck_counter_is(int fd);

/* Whether `fd` counts for rr's own thread. */
bool tck_counter_is_own(int fd);

/* The value that a read of `fd` gives now. Called by the tracer of the (stopped) task. */
uint64_t tck_counter_value(int fd);

/* Stands in for ioctl(fd, PERF_EVENT_IOC_...). */
int tck_counter_ioctl(int fd, unsigned long request, const void *arg);

/* To be called before `fd` is closed. */
void tck_counter_forget(int fd);

/* Lots are drawn about slices from now on. */
void tck_counters_draw_lots(void);

/* A task was forked or cloned; from now on time slices end. */
void tck_counters_note_new_task(void);

/* Whether events have been refused, so that counters are imitated. */
bool tck_counters_are_imitated(void);

#endif
