/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A potential dependence put to the proof: a switched run, and what becomes of uses in it. */
#ifndef PREDICATE_SWITCH_PROOF_H
#define PREDICATE_SWITCH_PROOF_H

#include "predicate_switch/asked.h"
#include "predicate_switch/reading.h"
#include "predicate_switch/run.h"
#include <wetdbg/implicit.h>

/* What switched runs are made with, and what is known of the recorded one. Embedded by its holder,
 * who sets the first five. */
struct psw_proving {
    struct wetdbg *wet;
    struct psw_session *session;
    const struct psw_predicates *predicates; /* of the candidates */
    const struct wetdbg_implicit_options *options;
    wetdbg_time fault; /* of the instruction that did not complete, if the slice has it; 0: none */
    struct psw_tracer *tracer;
    struct psw_readings readings; /* of uses in the recorded run */
};
void psw_proving_fini(struct psw_proving *proving);

struct psw_proof {
    struct wetdbg_implicit *items; /* edges that are proven; to be freed; `round` is not set */
    size_t count, capacity;
    char reason[96]; /* why at least one use remains open; "": none does */
    bool is_tried;   /* a run was made */
};

/*
 * Makes the switched run, and compares what the uses read in both. 0, also if the run is
 * unresolved; errors after which the session may not be used further, of running intervals, of the
 * tracer. *proof is always set.
 */
int psw_prove(struct psw_proving *proving, const struct wetdbg_candidate *candidate,
              const struct psw_uses *uses, struct psw_proof *proof);

#endif
