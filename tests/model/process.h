/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A real process stopped at a real place, and the model of what it has mapped. */
#ifndef TESTS_MODEL_PROCESS_H
#define TESTS_MODEL_PROCESS_H

#include <sys/types.h>

#include "wet/model/make_model.h"

struct process {
    pid_t pid;
    int memory; /* /proc/PID/mem */
    struct wetdbg_model *model;
    struct wetdbg_machine machine; /* of the innermost frame */
    struct wetdbg_frame_regs regs;
    uint64_t fs_base;
};

/* Starts a program without address randomization, stops it at its entry and models its modules as
 * far as they are mapped then (the dynamic linker comes with them). Fails the test if it cannot. */
void process_start(struct process *process, const char *program);

/* Runs until an address is reached; models the modules that are mapped then. */
void process_run_to(struct process *process, uint64_t pc);

void process_end(struct process *process);

/* Reads memory of the process; the model's callback. */
int process_read(void *context, uint64_t address, void *bytes, size_t count);

#endif
