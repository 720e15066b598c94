/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facade: joins recorder and WET, which do not know each other's makers. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/clock.h"
#include "recorder/record/trust.h"
#include "recorder/replay/start.h"
#include "wet/build/build_wet.h"
#include "wet/trace/records.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/build.h>
#include <wetdbg/errors.h>
#include <wetdbg/wet.h>

#define STEP_INSTRUCTIONS (64ull << 20)

const char *wetdbg_version(void)
{
    return WETDBG_VERSION;
}

/* ---- where a WET is kept ---- */

/* To be counted up when the same recording gives other times or nodes than before: what was built
 * until then does not reproduce itself, and is built anew where it is kept. */
#define RULES 2

/* Changes whenever a stream of the recording does. */
static int fingerprint_make(const char *trace_dir, const struct wetdbg_build_options *options,
                            char *out, size_t size)
{
    static const char *const streams[] = {"version", "events", "tasks", "mmaps", "data"};
    XXH64_state_t *hash = XXH64_createState();
    if (!hash)
        return -ENOMEM;
    XXH64_reset(hash, 0);
    XXH64_update(hash, &(uint64_t){RULES}, sizeof(uint64_t));
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
        char path[4096];
        struct stat stat_of = {0};
        snprintf(path, sizeof(path), "%s/%s", trace_dir, streams[i]);
        if (stat(path, &stat_of) && i > 0)
            continue; /* the reader says what is missing */
        uint64_t facts[] = {(uint64_t)stat_of.st_size, (uint64_t)stat_of.st_mtim.tv_sec,
                            (uint64_t)stat_of.st_mtim.tv_nsec};
        XXH64_update(hash, facts, sizeof(facts));
    }
    int used = snprintf(out, size, "%016llx %s", (unsigned long long)XXH64_digest(hash),
                        options->process ? options->process : "");
    if ((options->from || options->to) && used >= 0 && (size_t)used < size)
        snprintf(out + used, size - (size_t)used, " from=%s to=%s",
                 options->from ? options->from : "", options->to ? options->to : "");
    XXH64_freeState(hash);
    return 0;
}

/* Whoever can write to the place may have put a file there that says what he likes of our
 * recording: what answers for it was built by us, or by him whose recording it is. */
static bool is_trusted(const char *path, const char *trace_dir)
{
    struct stat file, dir;
    if (stat(path, &file) || !S_ISREG(file.st_mode) || file.st_mode & S_IWOTH)
        return false;
    return file.st_uid == geteuid() || (stat(trace_dir, &dir) == 0 && file.st_uid == dir.st_uid);
}

static bool is_fresh(const char *path, const char *trace_dir, const char *fingerprint)
{
    char found[512];
    return is_trusted(path, trace_dir) && access(path, R_OK) == 0 &&
           wetdbg_fingerprint_read(path, found, sizeof(found)) == 0 &&
           strcmp(found, fingerprint) == 0;
}

static void name_clean(char *name)
{
    for (; *name; name++) {
        if (*name == '/')
            *name = '_';
    }
}

/* In a directory like /tmp nobody renames what is ours. */
static bool is_safe_above(const struct stat *st)
{
    bool is_ours = st->st_uid == geteuid() || st->st_uid == 0;
    return is_ours && (!(st->st_mode & S_IWOTH) || st->st_mode & S_ISVTX);
}

/* A directory of ours, to which nobody may write but those of our group: it may be the user's
 * own. */
static int own_dir_make(const char *path)
{
    struct stat st;
    if ((mkdir(path, 0700) && errno != EEXIST) || stat(path, &st))
        return wetdbg_fail_errno("%s", path);
    if (st.st_uid == geteuid() && !(st.st_mode & S_IWOTH))
        return 0;
    return wetdbg_fail(-EPERM, "%s is somebody else's: nothing is kept there; say where with -o",
                       path);
}

static int cache_dir(const char *trace_dir, char *out, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char absolute[4096], parent[2048];
    struct stat st;
    if (cache && *cache)
        snprintf(parent, sizeof(parent), "%s", cache);
    else if (home && *home)
        snprintf(parent, sizeof(parent), "%s/.cache", home);
    else
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "%s cannot be written, and neither XDG_CACHE_HOME nor HOME "
                           "is set; say where with -o",
                           trace_dir);
    mkdir(parent, 0700);
    if (stat(parent, &st) == 0 && !is_safe_above(&st))
        return wetdbg_fail(
            -EPERM, "%s is somebody else's: nothing is kept there; say where with -o", parent);
    size_t used = strlen(parent);
    snprintf(parent + used, sizeof(parent) - used, "/wetdbg");
    int err = own_dir_make(parent);
    if (err)
        return err;
    if (!realpath(trace_dir, absolute))
        return wetdbg_fail_errno("%s", trace_dir);
    snprintf(out, size, "%s/%016llx", parent,
             (unsigned long long)XXH64(absolute, strlen(absolute), 0));
    return own_dir_make(out);
}

/* "wetdbg", the process, the window. */
static void name_make(const struct wetdbg_build_options *options, char *out, size_t size)
{
    char window[64] = "";
    if (options->from || options->to)
        snprintf(window, sizeof(window), "@%.24s-%.24s", options->from ? options->from : "",
                 options->to ? options->to : "");
    snprintf(out, size, "wetdbg%s%.200s%s.wet", options->process ? "-" : "",
             options->process ? options->process : "", window);
    name_clean(out);
}

int wetdbg_wet_path(const char *trace_dir, const char *process, char **path, bool *fresh)
{
    const struct wetdbg_build_options options = {.process = process};
    return wetdbg_window_path(trace_dir, &options, path, fresh);
}

int wetdbg_window_path(const char *trace_dir, const struct wetdbg_build_options *options,
                       char **path, bool *fresh)
{
    char fingerprint[512], dir[4096], name[300];
    int err = fingerprint_make(trace_dir, options, fingerprint, sizeof(fingerprint));
    if (err)
        return err;
    name_make(options, name, sizeof(name));
    snprintf(dir, sizeof(dir), "%s", trace_dir);
    if (access(trace_dir, W_OK) && access(trace_dir, F_OK) == 0)
        err = cache_dir(trace_dir, dir, sizeof(dir));
    if (err)
        return err;
    if (asprintf(path, "%s/%s", dir, name) < 0)
        return -ENOMEM;
    *fresh = is_fresh(*path, trace_dir, fingerprint);
    return 0;
}

/* ---- windows ---- */

/* "T", "eN" or "N%"; NULL is none. */
static int moment_parse(const char *option, const char *text, struct wet_moment *out)
{
    char *end = NULL;
    *out = (struct wet_moment){0};
    if (!text)
        return 0;
    bool is_event = text[0] == 'e';
    const char *digits = text + is_event;
    errno = 0;
    uint64_t value = *digits >= '0' && *digits <= '9' ? strtoull(digits, &end, 10) : 0;
    bool is_percent = end && *end == '%' && !is_event;
    if (!end || errno || end[is_percent] || (is_percent && value > 100) || value > INT64_MAX)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "--%s=%s: no moment of a run; it is a time (12345), an event (e12345), or a "
            "percentage of the events (50%%)",
            option, text);
    out->kind = is_event ? WET_MOMENT_EVENT : is_percent ? WET_MOMENT_PERCENT : WET_MOMENT_TIME;
    out->value = value;
    return 0;
}

static int window_parse(const struct wetdbg_build_options *options, struct wet_moment *from,
                        struct wet_moment *to)
{
    int err = moment_parse("from", options->from, from);
    if (!err)
        err = moment_parse("to", options->to, to);
    if (!err && from->kind == to->kind && from->kind != WET_MOMENT_NONE && from->value >= to->value)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "--from=%s --to=%s: the window is empty",
                          options->from, options->to);
    return err;
}

/* ---- replay ---- */

struct plain_run {
    struct rep_feed *feed;
    uint64_t last_frame;
    uint64_t asynchronous, ambiguous;
};

static int next_entries(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct plain_run *)arg)->feed, out);
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct plain_run *run = arg;
    const struct evq_place *place = evq_entry_place(entry);
    (void)time;
    (void)ring_bytes;
    run->last_frame = entry->frame;
    if (place && !(place->flags & EVQ_PLACE_HERE)) {
        run->asynchronous++;
        run->ambiguous += (place->flags & EVQ_PLACE_AMBIGUOUS) != 0;
    }
    return 0;
}

static int replay_plain(struct rep_feed *feed, const struct wetdbg_build_options *options,
                        struct wetdbg_replay_result *result)
{
    struct rep_engine *engine = NULL;
    struct plain_run run = {.feed = feed};
    struct rep_source source = {.next = next_entries, .taken = entry_taken, .arg = &run};
    enum rep_stop why = REP_STOP_TIME;
    double start = wd_seconds();
    int err = rep_engine_from_feed(feed, DBI_PLAIN, &engine);
    if (!err)
        rep_engine_watch(engine, options->interrupted);
    while (!err && why == REP_STOP_TIME) {
        err = rep_engine_run(engine, &source, STEP_INSTRUCTIONS, false, &why);
        if (!err && options->progress)
            options->progress(options->progress_arg, run.last_frame, rep_feed_info(feed)->end_frame,
                              rep_engine_time(engine));
        if (!err && options->interrupted && *options->interrupted)
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    if (!err)
        *result = (struct wetdbg_replay_result){.events_checked = rep_engine_entries(engine),
                                                .instructions = rep_engine_time(engine),
                                                .seconds = wd_seconds() - start,
                                                .asynchronous = run.asynchronous,
                                                .ambiguous = run.ambiguous};
    rep_engine_free(engine);
    return err;
}

static int build(const char *trace_dir, struct rep_feed *feed,
                 const struct wetdbg_build_options *options, struct wetdbg_replay_result *result,
                 char **wet_path)
{
    char fingerprint[512], maker[REC_SECRET_BYTES];
    char *path = options->output ? strdup(options->output) : NULL;
    bool fresh;
    struct wet_moment from, to;
    int err = fingerprint_make(trace_dir, options, fingerprint, sizeof(fingerprint));
    if (!err)
        err = window_parse(options, &from, &to);
    if (!err && !path)
        err = options->output ? -ENOMEM : wetdbg_window_path(trace_dir, options, &path, &fresh);
    if (!err) {
        rec_secret_of(fingerprint, maker);
        struct wet_build_options how = {
            .fingerprint = fingerprint,
            .maker = maker,
            .level = options->compact ? WET_BUILD_LEVEL_COMPACT : 0,
            .interval_instructions = options->compact ? WET_INTERVAL_INSTRUCTIONS_COMPACT : 0,
            .from = from,
            .to = to,
            .jobs = options->jobs,
            .memory_bytes = options->memory_bytes,
            .notice = options->notice,
            .notice_arg = options->notice_arg,
            .interrupted = options->interrupted,
            .progress = options->progress,
            .progress_arg = options->progress_arg};
        struct wet_build_result built = {0};
        err = wet_build(feed, path, &how, &built);
        *result = (struct wetdbg_replay_result){.events_checked = built.events_checked,
                                                .instructions = built.instructions,
                                                .nodes = built.nodes,
                                                .seconds = built.seconds};
    }
    if (!err && wet_path)
        *wet_path = path;
    else
        free(path);
    return err;
}

/* A file or a program that is missing from a recording is the recording's fault, unless the user
 * asked for that program; and each sentence names the recording. */
static int explain_open(const struct wetdbg_recording *trace, const char *trace_dir,
                        const char *process, int err)
{
    char said[1024];
    int code =
        err == -ENOENT || (err == -WETDBG_ERR_NOT_FOUND && !process) ? -WETDBG_ERR_CORRUPT : err;
    snprintf(said, sizeof(said), "%s", wetdbg_error(err));
    if (rrt_has_named_itself(trace))
        return wetdbg_fail(code, "%s", said);
    return wetdbg_fail(code, "%s: %s", trace_dir, said);
}

/* What is taken on trust: without a list of digests an altered file of the same size and time
 * passes. */
static void tell_unproven(struct rep_feed *feed, const struct wetdbg_build_options *options,
                          bool is_unfinished)
{
    const char *first = NULL;
    size_t count, others = 0;
    bool has_times = false;
    char more[64] = "", sentence[4608];
    const struct rep_file *files = rep_feed_files(feed, &count);
    for (size_t i = 0; i < count; i++) {
        if (files[i].proof == RRT_PROOF_DIGEST)
            continue;
        others += first != NULL;
        has_times |= files[i].proof == RRT_PROOF_SIZE_TIME;
        first = first ? first : files[i].name;
    }
    if (!first || !options->notice)
        return;
    if (others)
        snprintf(more, sizeof(more), " and of %zu more files", others);
    snprintf(sentence, sizeof(sentence), "the contents of %s%s cannot be checked, only %s: %s",
             first, more, has_times ? "size and time" : "the size",
             is_unfinished ? "the list of their digests is made when a recording ends"
                           : "`wetdbg record` did not make this recording, or an earlier version "
                             "did");
    options->notice(options->notice_arg, sentence);
}

/* Why a recording does not count as the user's own. */
static const char *doubt_of(struct wetdbg_recording *trace, bool is_unfinished)
{
    if (is_unfinished)
        return "nothing marks this recording as yours, since it did not end";
    return rrt_is_packed(trace) == 1
               ? "this recording was packed, and so it is not known who made its list of mappings"
               : "this recording was not made here, or was altered since";
}

/* What the user's own recorder made needs no wall; the sums have been looked at. */
static void trust_settle(struct wetdbg_recording *trace, struct rep_feed *feed,
                         const struct wetdbg_build_options *options, bool is_unfinished)
{
    char sentence[256];
    if (options->is_trusted || rec_is_ours(rrt_trace_dir_fd(trace))) {
        rep_feed_trust(feed);
    } else if (options->notice) {
        snprintf(sentence, sizeof(sentence),
                 "%s: what was recorded runs behind a wall, which takes longer (--trust: without)",
                 doubt_of(trace, is_unfinished));
        options->notice(options->notice_arg, sentence);
    }
}

static bool tell_unfinished(const struct wetdbg_recording *trace,
                            const struct wetdbg_build_options *options)
{
    char sentence[512];
    if (!wetdbg_recording_notice(trace, sentence, sizeof(sentence)))
        return false;
    if (options->notice)
        options->notice(options->notice_arg, sentence);
    return true;
}

bool wetdbg_is_trusted(const char *trace_dir)
{
    int dir = open(trace_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    bool is_ours = dir >= 0 && rec_is_ours(dir);
    if (dir >= 0)
        close(dir);
    return is_ours;
}

int wetdbg_replay(const char *trace_dir, const struct wetdbg_build_options *options,
                  struct wetdbg_replay_result *result, char **wet_path)
{
    struct wetdbg_recording *trace = NULL;
    struct rep_feed *feed = NULL;
    struct rep_selection which;
    bool is_unfinished = false;
    if (wet_path)
        *wet_path = NULL;
    int err = rep_selection_parse(options->process, &which);
    if (!err)
        err = wetdbg_recording_open(trace_dir, &trace);
    if (!err)
        err = rep_feed_open(trace, &which, &feed);
    if (err && trace)
        err = explain_open(trace, trace_dir, options->process, err);
    if (!err)
        err = rrt_check_sums(trace);
    if (!err)
        is_unfinished = tell_unfinished(trace, options);
    if (!err)
        tell_unproven(feed, options, is_unfinished);
    if (!err)
        trust_settle(trace, feed, options, is_unfinished);
    if (!err)
        err = options->no_trace ? replay_plain(feed, options, result)
                                : build(trace_dir, feed, options, result, wet_path);
    if (!err)
        result->is_unfinished = is_unfinished;
    rep_feed_close(feed);
    wetdbg_recording_close(trace);
    return err;
}
