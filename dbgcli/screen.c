/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An answer is held back until it is known to be longer than the screen, or until it ends, or until
 * the query takes its time: then what there is of it is shown. A pager that starts after that gets
 * the answer from its beginning all the same, since people search and scroll in it.
 *
 * The lock guards everything that the thread looks at. While a pager runs the thread draws nothing,
 * so the pager itself is the caller's alone.
 */
#include "dbgcli/screen.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/pager.h"
#include <wetdbg/errors.h>

#define PATIENCE_MS 600 /* without a word, before the line is drawn */
#define DRAW_MS     200

struct cli_screen {
    int fd, errors_fd;
    bool may_page, pages;
    struct cli_pager pager;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_ending, is_answering, is_paging;
    bool is_holding;            /* what is written goes to `held` */
    bool has_line;              /* the line is on the terminal */
    bool is_inside_line;        /* what was last written to the terminal was no newline */
    char *held;                 /* the answer from its beginning, while it fits the screen */
    size_t held_size, shown;    /* of that are on the terminal */
    unsigned rows, row, column; /* the screen's height less the prompt; where `held` ends */
    unsigned columns;
    bool is_escape; /* `held` ends inside of a sequence that takes no room */
    const char *what;
    uint64_t done, total;
    struct timespec start, quiet_since;
};

static int64_t ms_between(const struct timespec *from, const struct timespec *to)
{
    return (int64_t)(to->tv_sec - from->tv_sec) * 1000 + (to->tv_nsec - from->tv_nsec) / 1000000;
}

static struct timespec ms_later(const struct timespec *from, int64_t ms)
{
    int64_t ns = from->tv_nsec + ms * 1000000;
    return (struct timespec){from->tv_sec + ns / 1000000000, ns % 1000000000};
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t count = write(fd, bytes, size);
        if (count >= 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* ---- the line; the lock is held ---- */

static void clear_line(struct cli_screen *screen)
{
    static const char clear[] = "\r\033[K";
    if (screen->has_line)
        write_all(screen->errors_fd, clear, sizeof(clear) - 1);
    screen->has_line = false;
}

static int show_held(struct cli_screen *screen)
{
    if (screen->held_size == screen->shown)
        return 0;
    clear_line(screen);
    int err =
        write_all(screen->fd, screen->held + screen->shown, screen->held_size - screen->shown);
    screen->is_inside_line = screen->held[screen->held_size - 1] != '\n';
    screen->shown = screen->held_size;
    return err;
}

static void draw_line(struct cli_screen *screen, const struct timespec *now)
{
    char text[160], part[16] = "";
    int64_t seconds = ms_between(&screen->start, now) / 1000;
    show_held(screen);
    if (screen->is_inside_line)
        return;
    if (screen->total)
        snprintf(part, sizeof(part), " %.0f%%,",
                 100 * (double)screen->done / (double)screen->total);
    int length = snprintf(text, sizeof(text), "\r%s:%s %lld s (Ctrl-C %s it)\033[K",
                          screen->what ? screen->what : "working", part, (long long)seconds,
                          cli_interrupt_is_pending() ? "is ending" : "ends");
    write_all(screen->errors_fd, text, (size_t)length);
    screen->has_line = true;
}

static void *watch(void *arg)
{
    struct cli_screen *screen = arg;
    struct timespec now, next;
    pthread_mutex_lock(&screen->lock);
    while (!screen->is_ending) {
        if (!screen->is_answering || screen->is_paging) {
            pthread_cond_wait(&screen->changed, &screen->lock);
            continue;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t quiet_ms = ms_between(&screen->quiet_since, &now);
        if (quiet_ms >= PATIENCE_MS)
            draw_line(screen, &now);
        next = ms_later(&now, quiet_ms >= PATIENCE_MS ? DRAW_MS : PATIENCE_MS - quiet_ms);
        pthread_cond_timedwait(&screen->changed, &screen->lock, &next);
    }
    pthread_mutex_unlock(&screen->lock);
    return NULL;
}

/* Starts the thread, with signals blocked: they are for the caller's thread, which waits for lines
 * and is to be woken by them. */
static int start_thread(struct cli_screen *screen)
{
    pthread_condattr_t attributes;
    sigset_t all, before;
    pthread_mutex_init(&screen->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&screen->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = pthread_create(&screen->thread, NULL, watch, screen);
    int err = errno ? wetdbg_fail_errno("cannot start a thread") : 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        pthread_cond_destroy(&screen->changed);
        pthread_mutex_destroy(&screen->lock);
    }
    return err;
}

int cli_screen_new(int fd, int errors_fd, bool may_page, struct cli_screen **out)
{
    struct cli_screen *screen = cli_malloc(sizeof(*screen));
    *screen = (struct cli_screen){.fd = fd, .errors_fd = errors_fd, .may_page = may_page};
    int err = start_thread(screen);
    if (err) {
        free(screen);
        return err;
    }
    screen->pages = may_page && cli_pager_command();
    *out = screen;
    return 0;
}

void cli_screen_free(struct cli_screen *screen)
{
    if (!screen)
        return;
    cli_screen_end(screen);
    pthread_mutex_lock(&screen->lock);
    screen->is_ending = true;
    pthread_cond_signal(&screen->changed);
    pthread_mutex_unlock(&screen->lock);
    pthread_join(screen->thread, NULL);
    pthread_cond_destroy(&screen->changed);
    pthread_mutex_destroy(&screen->lock);
    free(screen);
}

bool cli_screen_set_pages(struct cli_screen *screen, bool pages)
{
    screen->pages = pages && screen->may_page && cli_pager_command();
    return screen->pages;
}

bool cli_screen_pages(const struct cli_screen *screen)
{
    return screen->pages;
}

/* ---- an answer ---- */

void cli_screen_begin(struct cli_screen *screen)
{
    struct winsize size;
    pthread_mutex_lock(&screen->lock);
    bool has_size = ioctl(screen->fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 1 && size.ws_col;
    screen->rows = has_size ? size.ws_row - 1u : 0;
    screen->columns = has_size ? size.ws_col : 0;
    screen->is_holding = screen->pages && has_size;
    screen->is_answering = true;
    screen->is_inside_line = false;
    screen->row = screen->column = 0;
    screen->is_escape = false;
    screen->what = NULL;
    screen->total = 0;
    clock_gettime(CLOCK_MONOTONIC, &screen->start);
    screen->quiet_since = screen->start;
    pthread_cond_signal(&screen->changed);
    pthread_mutex_unlock(&screen->lock);
}

static void count_rows(struct cli_screen *screen, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (screen->is_escape) {
            screen->is_escape = byte != 'm';
        } else if (byte == '\033') {
            screen->is_escape = true;
        } else if (byte == '\n') {
            screen->row++;
            screen->column = 0;
        } else if ((byte & 0xc0) != 0x80) {
            screen->column += byte == '\t' ? 8 - screen->column % 8 : 1;
            if (screen->column > screen->columns) {
                screen->row++;
                screen->column = 1;
            }
        }
    }
}

static void forget_held(struct cli_screen *screen)
{
    free(screen->held);
    screen->held = NULL;
    screen->held_size = screen->shown = 0;
    screen->is_holding = false;
}

/* Gives what was held to a pager; if there is none, to the terminal, and so does all that comes. */
static int turn_to_pager(struct cli_screen *screen)
{
    char *held = screen->held;
    size_t size = screen->held_size;
    clear_line(screen);
    int err = cli_pager_open(&screen->pager, cli_pager_command(), screen->fd);
    if (err) {
        dprintf(screen->errors_fd, "wetdbg: %s; answers are shown without it\n", wetdbg_error(err));
        screen->pages = false;
        err = show_held(screen);
        forget_held(screen);
        return err;
    }
    screen->is_paging = true;
    screen->held = NULL;
    forget_held(screen);
    pthread_mutex_unlock(&screen->lock); /* this may take until the person leaves */
    cli_pager_write(&screen->pager, held, size);
    pthread_mutex_lock(&screen->lock);
    free(held);
    return 0;
}

static int hold(struct cli_screen *screen, const char *bytes, size_t size)
{
    screen->held = cli_realloc(screen->held, screen->held_size + size, 1);
    memcpy(screen->held + screen->held_size, bytes, size);
    screen->held_size += size;
    count_rows(screen, bytes, size);
    return screen->row > screen->rows ? turn_to_pager(screen) : 0;
}

int cli_screen_write(struct cli_screen *screen, const char *bytes, size_t size_bytes)
{
    int err = 0;
    if (!size_bytes)
        return 0;
    if (screen->is_paging) {
        cli_pager_write(&screen->pager, bytes, size_bytes);
        return 0;
    }
    pthread_mutex_lock(&screen->lock);
    if (screen->is_holding) {
        err = hold(screen, bytes, size_bytes);
    } else {
        clear_line(screen);
        err = write_all(screen->fd, bytes, size_bytes);
        screen->is_inside_line = bytes[size_bytes - 1] != '\n';
        clock_gettime(CLOCK_MONOTONIC, &screen->quiet_since);
    }
    pthread_mutex_unlock(&screen->lock);
    return err;
}

void cli_screen_show(struct cli_screen *screen)
{
    pthread_mutex_lock(&screen->lock);
    clear_line(screen);
    show_held(screen);
    pthread_mutex_unlock(&screen->lock);
}

void cli_screen_end(struct cli_screen *screen)
{
    pthread_mutex_lock(&screen->lock);
    screen->is_answering = false;
    clear_line(screen);
    show_held(screen);
    forget_held(screen);
    pthread_mutex_unlock(&screen->lock);
    if (!screen->is_paging)
        return;
    int status = cli_pager_close(&screen->pager, screen->fd);
    pthread_mutex_lock(&screen->lock);
    screen->is_paging = false;
    pthread_mutex_unlock(&screen->lock);
    if (status != 126 && status != 127) /* the shell's for what it cannot run */
        return;
    dprintf(screen->errors_fd, "wetdbg: the pager failed; answers are shown without it\n");
    screen->pages = false;
}

bool cli_screen_is_paging(const struct cli_screen *screen)
{
    return screen->is_paging;
}

bool cli_screen_is_left(struct cli_screen *screen)
{
    return screen->is_paging && cli_pager_is_left(&screen->pager);
}

void cli_screen_progress(struct cli_screen *screen, const char *what, uint64_t done, uint64_t total)
{
    pthread_mutex_lock(&screen->lock);
    screen->what = what;
    screen->done = done < total ? done : total;
    screen->total = total;
    pthread_mutex_unlock(&screen->lock);
}
