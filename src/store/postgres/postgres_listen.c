/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgres_listen.c - the thread that waits for notifications. */
#include "store/postgres/postgres_listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/node.h"
#include "base/thread.h"
#include "store/stmt.h"

#define FIRST_MS 5000u /* until the first notification to itself has arrived */
#define WAIT_MS 1000u
#define PAUSE_MIN_MS 500u
#define PAUSE_MAX_MS 60000u

struct cw_postgres_listener {
    cw_postgres_listener_opts opts;
    char *where, *password_file;
    pthread_t thread;
    int wake[2];
    atomic_bool is_alive, is_ending;
    /* the thread's own */
    uint64_t heard; /* when a notification to itself has arrived; 0: none has */
    bool was_told;  /* that none arrives */
};

static cw_code begin(cw_db *db, cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db, "LISTEN causeway");
    return cw_stmt_run(&q, err);
}

static cw_code probe(cw_db *db, cw_err *err)
{
    cw_db_query q;
    cw_stmt_open(&q, db, "SELECT pg_notify('causeway', ?1)");
    cw_stmt_bind_text(&q, 1, cw_str_from(cw_node_text()));
    return cw_stmt_run(&q, err);
}

/* From another connection: a pooler passes on what a client sends to itself, and nothing else. */
static cw_code probe_apart(const cw_postgres_listener *l, cw_err *err)
{
    cw_db *db = NULL;
    cw_code rc = cw_postgres_connect(&l->opts.db, &db, err);
    if (!rc)
        rc = probe(db, err);
    cw_db_close(db);
    return rc;
}

/* A payload names the listener that has sent it to itself. */
static void on_notification(const char *payload, void *ctx)
{
    cw_postgres_listener *l = ctx;
    bool is_own = strcmp(payload, cw_node_text()) == 0;
    if (is_own && !l->heard) {
        atomic_store(&l->is_alive, true);
        if (l->was_told)
            cw_log(CW_LOG_INFO, "store", "notifications of the database arrive again");
        l->was_told = false;
    }
    if (is_own)
        l->heard = cw_clock_ms();
    /* What changed before this listener was there is read now. */
    if (is_own || !*payload)
        l->opts.on_hint(l->opts.ctx);
}

/* The time of a notification is later than that of the wait for it. */
static bool is_silent(const cw_postgres_listener *l, uint64_t began)
{
    uint64_t now = cw_clock_ms();
    return l->heard ? now - l->heard > 2 * (uint64_t)l->opts.probe_ms : now - began > FIRST_MS;
}

/* Until the connection is lost, or notifications to itself do not arrive. */
static cw_code listen_on(cw_postgres_listener *l, cw_db *db, cw_err *err)
{
    uint64_t began = cw_clock_ms(), probed = 0;
    int wait_ms = (int)(l->opts.probe_ms < WAIT_MS ? l->opts.probe_ms : WAIT_MS);
    l->heard = 0;
    cw_code rc = begin(db, err);
    while (!rc && !atomic_load(&l->is_ending)) {
        uint64_t now = cw_clock_ms();
        if (!probed || now - probed >= l->opts.probe_ms) {
            rc = probed ? probe(db, err) : probe_apart(l, err);
            probed = now;
        }
        if (!rc)
            rc = cw_postgres_wait(db, l->wake[0], wait_ms, on_notification, l, err);
        if (!rc && is_silent(l, began))
            rc = cw_fail(err, CW_TIMEOUT, "a notification to itself does not arrive");
    }
    return rc;
}

static void pause_for(cw_postgres_listener *l, uint64_t ms)
{
    struct pollfd fd = {.fd = l->wake[0], .events = POLLIN};
    if (!atomic_load(&l->is_ending))
        (void)!poll(&fd, 1, (int)ms);
}

static void tell(cw_postgres_listener *l, cw_code rc, const cw_err *err)
{
    /* The store reports a server that is away. */
    if (rc != CW_TIMEOUT || l->was_told)
        return;
    cw_log_err(CW_LOG_WARN, "store",
               "notifications of the database do not arrive, as behind a pooler: changes are found "
               "by polling (store.listen_url)",
               err);
    l->was_told = true;
}

static void *run(void *arg)
{
    cw_postgres_listener *l = arg;
    uint64_t pause = PAUSE_MIN_MS;
    while (!atomic_load(&l->is_ending)) {
        cw_db *db = NULL;
        cw_err err = {0};
        cw_code rc = cw_postgres_connect(&l->opts.db, &db, &err);
        if (!rc)
            rc = listen_on(l, db, &err);
        bool was_alive = atomic_exchange(&l->is_alive, false);
        cw_db_close(db);
        if (was_alive)
            pause = PAUSE_MIN_MS;
        tell(l, rc, &err);
        pause_for(l, pause);
        pause = pause * 2 > PAUSE_MAX_MS ? PAUSE_MAX_MS : pause * 2;
    }
    return NULL;
}

static void free_listener(cw_postgres_listener *l)
{
    if (l->wake[0] >= 0)
        close(l->wake[0]);
    if (l->wake[1] >= 0)
        close(l->wake[1]);
    free(l->where);
    free(l->password_file);
    free(l);
}

cw_code cw_postgres_listener_new(const cw_postgres_listener_opts *opts, cw_postgres_listener **ret,
                                 cw_err *err)
{
    cw_postgres_listener *l = calloc(1, sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    l->wake[0] = l->wake[1] = -1;
    l->opts = *opts;
    l->where = strdup(opts->db.where);
    l->password_file = opts->db.password_file ? strdup(opts->db.password_file) : NULL;
    l->opts.db.where = l->where;
    l->opts.db.password_file = l->password_file;
    int rc = ENOMEM;
    if (l->where && (l->password_file || !opts->db.password_file))
        rc = pipe2(l->wake, O_CLOEXEC) ? errno : cw_thread_start(&l->thread, run, l);
    if (rc) {
        free_listener(l);
        return cw_fail_errno(err, rc, "start the listener of the database");
    }
    *ret = l;
    return CW_OK;
}

void cw_postgres_listener_free(cw_postgres_listener *listener)
{
    if (!listener)
        return;
    atomic_store(&listener->is_ending, true);
    (void)!write(listener->wake[1], "", 1);
    pthread_join(listener->thread, NULL);
    free_listener(listener);
}

bool cw_postgres_listener_is_alive(const cw_postgres_listener *listener)
{
    return listener && atomic_load(&listener->is_alive);
}
