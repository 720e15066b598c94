/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>
#include <string.h>

#include <wetdbg/errors.h>
#include <wetdbg/spectrum.h>

static const char *const names[] = {
    [WETDBG_MEASURE_OCHIAI] = "ochiai", [WETDBG_MEASURE_TARANTULA] = "tarantula",
    [WETDBG_MEASURE_DSTAR] = "dstar",   [WETDBG_MEASURE_JACCARD] = "jaccard",
    [WETDBG_MEASURE_OP2] = "op2",
};

#define MEASURES (sizeof(names) / sizeof(*names))

const char *wetdbg_measure_name(enum wetdbg_measure measure)
{
    return (size_t)measure < MEASURES ? names[measure] : NULL;
}

int wetdbg_measure_parse(const char *name, enum wetdbg_measure *measure)
{
    for (size_t i = 0; i < MEASURES; i++)
        if (strcmp(name, names[i]) == 0) {
            *measure = (enum wetdbg_measure)i;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       "'%s' is no measure: there are ochiai, tarantula, dstar, jaccard and op2",
                       name);
}

double wetdbg_measure_score(enum wetdbg_measure measure, const struct wetdbg_spectrum *spectrum)
{
    double ef = (double)spectrum->fail_with, ep = (double)spectrum->pass_with;
    double nf = (double)spectrum->fail_without, fails = ef + nf;
    double passes = ep + (double)spectrum->pass_without;
    double passing = passes > 0 ? ep / passes : 0;

    if (measure == WETDBG_MEASURE_OP2)
        return ef - ep / (passes + 1);
    if (ef == 0)
        return 0;
    switch (measure) {
    case WETDBG_MEASURE_OCHIAI:
        return ef / sqrt(fails * (ef + ep));
    case WETDBG_MEASURE_TARANTULA:
        return ef / fails / (ef / fails + passing);
    case WETDBG_MEASURE_JACCARD:
        return ef / (fails + ep);
    default:
        return ep + nf > 0 ? ef * ef / (ep + nf) : fails * fails + 1;
    }
}
