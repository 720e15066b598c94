/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_processor.h"

#include "common/cpuid.h"
#include <wetdbg/errors.h>

#define LEAF_BASIC     1u
#define LEAF_FEATURES  7u
#define LEAF_XSAVE     0xdu
#define LEAF_AMD       0x80000001u
#define LEAF_NAME_LAST 0x80000004u

static struct rrt_cpuid ask_here(const struct rrt_cpuid *recorded)
{
    struct rrt_cpuid here = *recorded;
    struct wd_cpuid is = wd_cpuid_ask(
        recorded->eax_in, recorded->ecx_in == RRT_CPUID_NO_SUBLEAF ? 0 : recorded->ecx_in);

    here.eax = is.eax;
    here.ebx = is.ebx;
    here.ecx = is.ecx;
    here.edx = is.edx;
    return here;
}

/* ---------------------------------------------------------------- cpuid runs */

static bool is_compared(uint32_t leaf)
{
    return leaf == 0 || leaf == LEAF_BASIC || leaf == LEAF_FEATURES || leaf == LEAF_XSAVE ||
           (leaf >= LEAF_AMD && leaf <= LEAF_NAME_LAST);
}

static bool is_same(const struct rrt_cpuid *recorded, const struct rrt_cpuid *here)
{
    if (!is_compared(recorded->eax_in))
        return true;
    /* leaf 1 ebx has the APIC id */
    return recorded->eax == here->eax &&
           (recorded->ebx == here->ebx || recorded->eax_in == LEAF_BASIC) &&
           recorded->ecx == here->ecx && recorded->edx == here->edx;
}

/* ---------------------------------------------------------------- cpuid traps */

static bool is_subset(uint32_t recorded, uint32_t here)
{
    return (recorded & ~here) == 0;
}

/* Leaf 0xd: which components there are, and where they lie. Of subleaf 1, ebx is the size for
 * XSAVES, which no program runs. */
static bool has_same_layout(const struct rrt_cpuid *recorded, const struct rrt_cpuid *here)
{
    if (recorded->ecx_in == 1)
        return is_subset(recorded->eax, here->eax);
    return recorded->eax == here->eax && recorded->ebx == here->ebx && recorded->ecx == here->ecx &&
           recorded->edx == here->edx;
}

static bool has_features(const struct rrt_cpuid *recorded, const struct rrt_cpuid *here)
{
    switch (recorded->eax_in) {
    case LEAF_FEATURES:
        /* eax of subleaf 0 is the number of subleaves, the others' are features */
        return (recorded->ecx_in == 0 || is_subset(recorded->eax, here->eax)) &&
               is_subset(recorded->ebx, here->ebx) && is_subset(recorded->ecx, here->ecx) &&
               is_subset(recorded->edx, here->edx);
    case LEAF_BASIC:
    case LEAF_AMD:
        return is_subset(recorded->ecx, here->ecx) && is_subset(recorded->edx, here->edx);
    case LEAF_XSAVE:
        return has_same_layout(recorded, here);
    default:
        return true;
    }
}

int orc_processor_check(const struct rrt_header *header)
{
    for (size_t i = 0; i < header->cpuid_count; i++) {
        const struct rrt_cpuid *recorded = &header->cpuid[i];
        const struct rrt_cpuid here = ask_here(recorded);

        if (header->has_cpuid_faulting ? !has_features(recorded, &here) : !is_same(recorded, &here))
            return wetdbg_fail(
                -WETDBG_ERR_UNSUPPORTED,
                "the oracle needs the processor of the recording; cpuid leaf %#x differs",
                recorded->eax_in);
    }
    return 0;
}
