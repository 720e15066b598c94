/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code cache's insides: each part is what its header says.
 *
 *   region.h, code_room.h           memory of translated code
 *   code_pages.h, code_read.h       the program's code
 *   fragment.h, fragment_table.h    fragments, and how we find them
 *   fragment_hash.h, pads.h         how the agent finds them; what calls land on
 *   sites.h                         where indirect jumps and calls look
 *   links.h                         who jumps to whom
 *   fragment_emit.h                 a fragment is made
 *   forget.h                        what is forgotten, and comes back
 *   dbi.c                           translation
 */
#ifndef RECORDER_DBI_DBI_PRIV_H
#define RECORDER_DBI_DBI_PRIV_H

#include "recorder/agent/agent.h"
#include "recorder/dbi/code_pages.h"
#include "recorder/dbi/dbi.h"
#include "recorder/dbi/forms.h"
#include "recorder/dbi/fragment.h"
#include "recorder/dbi/fragment_hash.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/links.h"
#include "recorder/dbi/pads.h"
#include "recorder/dbi/region.h"
#include "recorder/dbi/sites.h"
#include "recorder/dbi/translate.h"

struct dbi {
    struct dbi_config config;
    struct region regions[DBI_REGIONS_MAX];
    unsigned region_count;
    struct dbi_pages pages;
    struct fragment **fragments; /* by id */
    uint32_t fragment_count;
    size_t fragment_capacity;
    struct dbi_tables tables;
    struct dbi_exits exits;
    struct dbi_pads pads;
    struct dbi_sites sites;
    struct dbi_hash hash;
    uint64_t stop;                  /* dbi_stop_at; 0: none */
    struct fragment *stop_fragment; /* that begins there */
    bool has_filter;                /* for it: dbi_stop_filter */
    struct dbi_filter filter;
    uint64_t cut_round; /* how often a cut fragment was forgotten */
    struct dbi_forms *forms;
    struct dbi_code code;
    struct dbi_output output;
    struct chunk *chunks; /* fragments, with their places and code */
    uint8_t *expected;    /* expect.c; NULL: never needed */
    bool expects;
#ifdef WD_CHECKED
    uint32_t changes; /* since dbi_validate() */
#endif
};

#endif
