/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit.c - two lanes of records and the thread that empties them.
 *
 * Records are added to the `fill` of a lane under the lock. The thread swaps the buffers, and turns
 * the batch into lines without the lock. Records that cannot be written stay in the batch, and are
 * tried again. New records go to `fill`, up to the room of the lane for both.
 */
#include "audit/audit.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "audit/audit_int.h"
#include "base/clock.h"
#include "base/thread.h"

#define RETRY_MS 1000u
/* How long a first record waits for others, so that many share one fdatasync. */
#define BATCH_MS 10u
/* Lines are written in pieces of about this size. */
#define PIECE (256u * 1024u)
#define PIECE_MAX (PIECE + 8u * CW_AUDIT_MAX_ARGUMENTS)
#define SCRATCH_MAX (32u * CW_AUDIT_MAX_ARGUMENTS)
/* For how long the end waits for a disk. */
#define PATIENCE_S 3

enum { SECURITY, CALLS, LANES };

typedef struct lane {
    char *fill, *batch;
    size_t n_fill, n_batch;
    size_t at;   /* the thread's own, of the batch: what was written */
    size_t held; /* of the batch: what was not, when the thread looked last */
    size_t room; /* for what is in both */
    atomic_uint_fast64_t lost;
    uint64_t reported; /* of those, in the file */
} lane;

/* The settings in force, for the thread and for cw_audit_add. */
typedef struct cw_audit_setup {
    cw_audit_file file;
    cw_arena arena; /* of the rules */
    cw_audit_rules rules;
    size_t arguments;
} setup;

struct cw_audit {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool is_running, is_stopping;
    lane lanes[LANES];
    uint64_t number;
    setup *next;  /* to be used from the next batch on, or NULL */
    setup *setup; /* the thread's own from the first one on; NULL: it waits for that */
    atomic_bool is_on, is_failing;
    atomic_size_t arguments;
    cw_audit_status_fn on_status;
    void *ctx;
    /* the thread's own */
    cw_buf lines;
    cw_arena scratch;
};

/* ---- settings ---- */

void cw_audit_drop(cw_audit_setup *s)
{
    if (!s)
        return;
    cw_audit_file_close(&s->file);
    cw_arena_done(&s->arena);
    free(s);
}

static cw_code make_setup(const cw_audit_opts *opts, setup **ret, cw_err *err)
{
    setup *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    cw_arena_init(&s->arena, CW_AUDIT_MAX_ARGUMENTS);
    s->file.fd = -1;
    s->arguments =
        opts->arguments < CW_AUDIT_MAX_ARGUMENTS ? opts->arguments : CW_AUDIT_MAX_ARGUMENTS;
    cw_code rc = cw_audit_rules_make(opts->redact, opts->n_redact, &s->arena, &s->rules, err);
    if (!rc)
        rc = cw_audit_file_open(&s->file, opts, err);
    if (rc) {
        cw_audit_drop(s);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

static bool has_file(const setup *s)
{
    return s && s->file.path;
}

/* ---- the thread ---- */

static bool has_more(const lane *l)
{
    return l->at < l->n_batch;
}

static uint64_t number_at(const lane *l)
{
    cw_audit_packed p;
    memcpy(&p, l->batch + l->at, sizeof p);
    return p.number;
}

/* The lane of the next record: in order of arrival, but security records first while writing fails. */
static lane *choose(cw_audit *a)
{
    lane *security = &a->lanes[SECURITY], *calls = &a->lanes[CALLS];
    if (!has_more(security))
        return has_more(calls) ? calls : NULL;
    if (!has_more(calls) || atomic_load(&a->is_failing))
        return security;
    return number_at(security) < number_at(calls) ? security : calls;
}

static void report_status(cw_audit *a, const cw_err *err)
{
    bool is_failing = err != NULL;
    if (atomic_exchange(&a->is_failing, is_failing) != is_failing && a->on_status)
        a->on_status(a->ctx, err);
}

static cw_code write_lost(cw_audit *a, cw_err *err)
{
    uint64_t lost[LANES];
    bool any = false;
    for (int i = 0; i < LANES; i++) {
        lost[i] = atomic_load(&a->lanes[i].lost) - a->lanes[i].reported;
        any = any || lost[i];
    }
    if (!any)
        return CW_OK;
    cw_buf_clear(&a->lines);
    int64_t now = cw_clock_wall_ms();
    cw_audit_add_lost(&a->lines, now, lost[SECURITY], lost[CALLS]);
    cw_code rc = a->lines.code;
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    rc = cw_audit_file_append(&a->setup->file, cw_buf_str(&a->lines), now, err);
    for (int i = 0; i < LANES && !rc; i++)
        a->lanes[i].reported += lost[i];
    return rc;
}

/* Write the next records at once. Records that cannot be written stay in the batch. */
static cw_code write_piece(cw_audit *a, cw_err *err)
{
    size_t before[LANES] = {a->lanes[SECURITY].at, a->lanes[CALLS].at};
    lane *l;
    cw_buf_clear(&a->lines);
    while (a->lines.n < PIECE && (l = choose(a))) {
        cw_audit_add_line(&a->lines, l->batch + l->at, &a->setup->rules, &a->scratch);
        l->at += cw_audit_packed_step(l->batch + l->at);
    }
    cw_code rc = a->lines.code;
    if (rc)
        cw_fail(err, rc, "%s", cw_code_text(rc));
    else
        rc = cw_audit_file_append(&a->setup->file, cw_buf_str(&a->lines), cw_clock_wall_ms(), err);
    for (int i = 0; i < LANES && rc; i++)
        a->lanes[i].at = before[i];
    return rc;
}

static uint64_t count_left(const char *p, size_t at, size_t n)
{
    uint64_t count = 0;
    for (; at < n; at += cw_audit_packed_step(p + at))
        count++;
    return count;
}

static void give_up(lane *l)
{
    atomic_fetch_add(&l->lost, count_left(l->batch, l->at, l->n_batch));
    l->at = l->n_batch;
}

/* Whether all of the batch is in the file. */
static bool write_batch(cw_audit *a)
{
    cw_err err = {0};
    if (!has_file(a->setup)) {
        /* Switched off, and the file that was there before did not take these. */
        give_up(&a->lanes[SECURITY]);
        give_up(&a->lanes[CALLS]);
        return true;
    }
    cw_code rc = CW_OK;
    while (!rc && choose(a))
        rc = write_piece(a, &err);
    if (!rc)
        rc = write_lost(a, &err);
    if (!rc)
        rc = cw_audit_file_sync(&a->setup->file, &err);
    report_status(a, rc ? &err : NULL);
    return !choose(a);
}

static struct timespec in_ms(uint64_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t ns = (uint64_t)t.tv_nsec + ms * 1000000;
    t.tv_sec += (time_t)(ns / 1000000000);
    t.tv_nsec = (long)(ns % 1000000000);
    return t;
}

/* With the lock held: whether records wait. */
static bool has_work(const cw_audit *a)
{
    return a->lanes[SECURITY].n_fill || a->lanes[CALLS].n_fill;
}

static bool has_loss(const cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        if (atomic_load(&a->lanes[i].lost) != a->lanes[i].reported)
            return true;
    }
    return false;
}

/* With the lock held. */
static void wait_for_work(cw_audit *a)
{
    bool is_late = atomic_load(&a->is_failing) || has_loss(a);
    struct timespec until = in_ms(is_late ? RETRY_MS : BATCH_MS);
    while (!is_late && !has_work(a) && !a->next && !a->is_stopping) {
        pthread_cond_wait(&a->wake, &a->lock);
        until = in_ms(BATCH_MS);
    }
    while (!a->is_stopping && !a->next &&
           pthread_cond_timedwait(&a->wake, &a->lock, &until) != ETIMEDOUT)
        continue;
}

/* With the lock held. The batch that is left from last time goes first. */
static void swap_lanes(cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        lane *l = &a->lanes[i];
        if (has_more(l))
            continue;
        char *empty = l->batch;
        l->batch = l->fill;
        l->n_batch = l->n_fill;
        l->at = 0;
        l->held = l->n_batch;
        l->fill = empty;
        l->n_fill = 0;
    }
}

/* With the lock held, when the batch of the old file is written or has to be given up. The file is
 * closed without it: a disk may take its time for that. */
static void take_next(cw_audit *a)
{
    setup *old = a->setup;
    if (!a->next)
        return;
    a->setup = a->next;
    a->next = NULL;
    pthread_mutex_unlock(&a->lock);
    cw_audit_drop(old);
    pthread_mutex_lock(&a->lock);
}

static void *thread_main(void *arg)
{
    cw_audit *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->setup && !a->is_stopping)
        pthread_cond_wait(&a->wake, &a->lock);
    for (;;) {
        wait_for_work(a);
        /* Records of the old settings are written with them, if possible. */
        if (!has_file(a->setup))
            take_next(a);
        bool is_last = a->is_stopping;
        swap_lanes(a);
        bool is_next = a->next != NULL;
        pthread_mutex_unlock(&a->lock);
        bool is_done = write_batch(a);
        pthread_mutex_lock(&a->lock);
        for (int i = 0; i < LANES; i++)
            a->lanes[i].held = a->lanes[i].n_batch - a->lanes[i].at;
        if (is_next)
            take_next(a);
        if (is_last && (!is_done || !has_work(a)))
            break;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- from outside ---- */

static cw_code start(cw_audit *a, size_t room, cw_err *err)
{
    size_t rooms[LANES] = {CW_AUDIT_ROOM, room};
    for (int i = 0; i < LANES; i++) {
        lane *l = &a->lanes[i];
        l->room = rooms[i];
        l->fill = malloc(l->room);
        l->batch = malloc(l->room);
        if (!l->fill || !l->batch)
            return cw_fail_nomem(err);
    }
    int errnum = cw_thread_start(&a->thread, thread_main, a);
    if (errnum)
        return cw_fail_errno(err, errnum, "start the audit's thread");
    a->is_running = true;
    return CW_OK;
}

static void free_lanes(cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        free(a->lanes[i].fill);
        free(a->lanes[i].batch);
        a->lanes[i].fill = a->lanes[i].batch = NULL;
    }
}

cw_code cw_audit_new(cw_audit_status_fn on_status, void *ctx, cw_audit **ret, cw_err *err)
{
    pthread_condattr_t attr;
    cw_audit *a = sodium_init() < 0 ? NULL : calloc(1, sizeof *a);
    if (!a)
        return cw_fail_nomem(err);
    a->on_status = on_status;
    a->ctx = ctx;
    pthread_mutex_init(&a->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->wake, &attr);
    pthread_condattr_destroy(&attr);
    cw_buf_init(&a->lines, PIECE_MAX);
    cw_arena_init(&a->scratch, SCRATCH_MAX);
    *ret = a;
    return CW_OK;
}

cw_code cw_audit_prepare(cw_audit *a, const cw_audit_opts *opts, cw_audit_setup **ret, cw_err *err)
{
    *ret = NULL;
    if (!a->is_running && (!opts->path || !opts->path[0]))
        return CW_OK;
    cw_code rc = make_setup(opts, ret, err);
    if (rc || a->is_running)
        return rc;
    rc = start(a, opts->room, err);
    if (rc) {
        cw_audit_drop(*ret);
        *ret = NULL;
        free_lanes(a);
    }
    return rc;
}

void cw_audit_use(cw_audit *a, cw_audit_setup *fresh)
{
    if (!fresh)
        return;
    size_t arguments = fresh->arguments;
    bool is_on = has_file(fresh);
    pthread_mutex_lock(&a->lock);
    setup *unused = a->next;
    if (a->setup)
        a->next = fresh;
    else
        a->setup = fresh;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    cw_audit_drop(unused);
    atomic_store(&a->arguments, arguments);
    atomic_store(&a->is_on, is_on);
}

cw_code cw_audit_configure(cw_audit *a, const cw_audit_opts *opts, cw_err *err)
{
    cw_audit_setup *fresh;
    cw_code rc = cw_audit_prepare(a, opts, &fresh, err);
    if (!rc)
        cw_audit_use(a, fresh);
    return rc;
}

/* With the lock held, or without the thread: what was not written when the thread looked last. */
static uint64_t count_waiting(const cw_audit *a)
{
    uint64_t count = 0;
    for (int i = 0; i < LANES; i++) {
        const lane *l = &a->lanes[i];
        count += count_left(l->batch, l->n_batch - l->held, l->n_batch);
        count += count_left(l->fill, 0, l->n_fill);
    }
    return count;
}

/* The thread hangs in the kernel, because the disk does not respond. Its memory is not freed. */
static uint64_t abandon(cw_audit *a)
{
    pthread_detach(a->thread);
    pthread_mutex_lock(&a->lock);
    uint64_t lost = cw_audit_lost(a) + count_waiting(a);
    pthread_mutex_unlock(&a->lock);
    return lost;
}

uint64_t cw_audit_free(cw_audit *a)
{
    if (!a)
        return 0;
    if (a->is_running) {
        pthread_mutex_lock(&a->lock);
        a->is_stopping = true;
        pthread_cond_signal(&a->wake);
        pthread_mutex_unlock(&a->lock);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += PATIENCE_S;
        if (pthread_timedjoin_np(a->thread, NULL, &until))
            return abandon(a);
    }
    uint64_t lost = cw_audit_lost(a) + count_waiting(a);
    free_lanes(a);
    cw_audit_drop(a->next);
    cw_audit_drop(a->setup);
    cw_buf_done(&a->lines);
    cw_arena_done(&a->scratch);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return lost;
}

bool cw_audit_is_on(const cw_audit *a)
{
    return a && atomic_load_explicit(&a->is_on, memory_order_relaxed);
}

size_t cw_audit_arguments(const cw_audit *a)
{
    return atomic_load_explicit(&a->arguments, memory_order_relaxed);
}

bool cw_audit_is_failing(const cw_audit *a)
{
    return a && atomic_load(&a->is_failing);
}

uint64_t cw_audit_lost(const cw_audit *a)
{
    return atomic_load(&a->lanes[SECURITY].lost) + atomic_load(&a->lanes[CALLS].lost);
}

void cw_audit_add(cw_audit *a, const cw_audit_record *record)
{
    if (!cw_audit_is_on(a))
        return;
    size_t arguments = cw_audit_arguments(a);
    size_t n = cw_audit_packed_size(record, arguments);
    lane *l = &a->lanes[record->kind == CW_AUDIT_CALL ? CALLS : SECURITY];
    pthread_mutex_lock(&a->lock);
    if (n > l->room - l->n_fill - l->held) {
        atomic_fetch_add(&l->lost, 1);
        pthread_mutex_unlock(&a->lock);
        return;
    }
    cw_audit_pack(record, arguments, a->number++, l->fill + l->n_fill);
    bool is_first = !has_work(a);
    l->n_fill += n;
    if (is_first)
        pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
}

cw_code cw_audit_write(const cw_audit_opts *opts, const cw_audit_record *record, cw_err *err)
{
    setup *s = NULL;
    cw_buf line;
    cw_arena scratch;
    if (sodium_init() < 0)
        return cw_fail(err, CW_INTERNAL, "libsodium cannot be used");
    size_t n = cw_audit_packed_size(record, opts->arguments);
    char *packed = malloc(n);
    cw_code rc = packed ? make_setup(opts, &s, err) : cw_fail_nomem(err);
    if (rc) {
        free(packed);
        return rc;
    }
    cw_audit_pack(record, opts->arguments, 0, packed);
    cw_buf_init(&line, PIECE_MAX);
    cw_arena_init(&scratch, SCRATCH_MAX);
    cw_audit_add_line(&line, packed, &s->rules, &scratch);
    rc = line.code ? cw_fail(err, line.code, "%s", cw_code_text(line.code))
                   : cw_audit_file_append(&s->file, cw_buf_str(&line), cw_clock_wall_ms(), err);
    if (!rc)
        rc = cw_audit_file_sync(&s->file, err);
    cw_arena_done(&scratch);
    cw_buf_done(&line);
    free(packed);
    cw_audit_drop(s);
    return rc;
}
