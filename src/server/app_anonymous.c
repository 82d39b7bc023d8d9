/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app_anonymous.c - the anonymous caller: read from the database, or checked by its token. */
#include "server/app_anonymous.h"

#include <errno.h>

#include "base/log.h"
#include "base/thread.h"

#define RETRY_PAUSE_MS 100u

void cw_app_set_anonymous(cw_app *b, cw_caller *caller)
{
    cw_caller *old = b->anonymous;
    if (cw_caller_equal(old, caller))
        return;
    b->anonymous = cw_caller_ref(caller);
    b->is_dirty = true;
    cw_caller_unref(old);
}

/* Use the caller that the store's thread has left here, if it is new. Callers who have logged in are
 * checked on their loops (login_watch.h). */
static void use_read_caller(cw_app *b)
{
    pthread_mutex_lock(&b->lock);
    cw_caller *caller = b->read;
    bool is_new = b->has_read;
    b->read = NULL;
    b->has_read = false;
    pthread_mutex_unlock(&b->lock);
    if (!is_new)
        return;
    cw_app_set_anonymous(b, caller ? caller : b->configured);
    cw_caller_unref(caller);
    b->is_read = true;
    cw_app_publish(b);
}

static void on_anonymous(cw_message *message)
{
    use_read_caller(CW_CONTAINER(message, cw_app, on_anonymous));
}

bool cw_app_wait_roles(cw_app *b, uint32_t ms)
{
    struct timespec until = cw_thread_deadline(ms);
    int rc = atomic_load(&b->store_away) ? ETIMEDOUT : 0;
    pthread_mutex_lock(&b->lock);
    while (b->n_readings && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&b->has_no_readings, &b->lock, &until);
    bool is_read = b->n_readings == 0;
    pthread_mutex_unlock(&b->lock);
    use_read_caller(b);
    return is_read;
}

static void on_read(cw_caller *caller, void *ctx)
{
    cw_app *b = ctx;
    pthread_mutex_lock(&b->lock);
    if (--b->n_readings == 0)
        pthread_cond_signal(&b->has_no_readings);
    cw_caller_unref(b->read);
    b->read = caller ? cw_caller_ref(caller) : NULL;
    b->has_read = true;
    pthread_mutex_unlock(&b->lock);
    cw_loop_notify(b->loop, &b->on_anonymous);
}

static void on_retry(uv_timer_t *timer);

/* ---- a token that stands for the anonymous ---- */

/* While a token cannot be checked, the last answer counts. */
static void on_token(cw_login_waiter *w, const cw_login *login)
{
    cw_app *b = CW_CONTAINER(w, cw_app, token_login);
    bool is_checked = login->status == CW_LOGIN_OK || login->status == CW_LOGIN_WRONG;
    b->is_read = true;
    if (!is_checked)
        return;
    if (login->status == CW_LOGIN_WRONG && !cw_caller_equal(b->anonymous, b->configured))
        cw_log(CW_LOG_WARN, "access", "the token of this program is rejected");
    cw_app_set_anonymous(b, login->caller ? login->caller : b->configured);
    cw_app_publish(b);
}

static cw_str no_peer(cw_login_waiter *w)
{
    (void)w;
    return CW_STR("");
}

static void check_token(cw_app *b)
{
    if (cw_list_is_in(&b->token_login.node))
        return;
    b->token_login = (cw_login_waiter){.peer = no_peer, .fn = on_token};
    cw_login login = cw_accounts_login(b->accounts, b->loop, b->token, &b->token_login);
    if (login.status != CW_LOGIN_PENDING)
        on_token(&b->token_login, &login);
}

static void on_token_timer(uv_timer_t *timer)
{
    cw_app *b = CW_CONTAINER(timer, cw_app, token_timer);
    if (b->is_open)
        check_token(b);
}

static void add_readings(cw_app *b, int n)
{
    pthread_mutex_lock(&b->lock);
    b->n_readings += n;
    pthread_mutex_unlock(&b->lock);
}

static cw_code read_caller(cw_app *b)
{
    if (b->token.p) {
        check_token(b);
        return CW_OK;
    }
    add_readings(b, 1);
    cw_code rc = b->account
                     ? cw_accounts_read_account(b->accounts, cw_str_from(b->account), on_read, b)
                     : cw_accounts_read_anonymous(b->accounts, on_read, b);
    if (rc)
        add_readings(b, -1);
    return rc;
}

/* Read the rights of the anonymous caller. False: not now, but later. */
static bool read_store(cw_app *b)
{
    cw_err err = {0};
    cw_code rc = read_caller(b);
    if (!rc)
        return true;
    cw_fail(&err, rc, "%s", cw_code_text(rc));
    cw_log_err(CW_LOG_WARN, "serve", "a change of the database is read later", &err);
    uv_timer_start(&b->again, on_retry, RETRY_PAUSE_MS, 0);
    return false;
}

static void on_retry(uv_timer_t *timer)
{
    (void)read_store(timer->data);
}

static void on_store_changed(cw_message *message)
{
    cw_app *b = CW_CONTAINER(message, cw_app, on_store_changed);
    if (b->has_store && b->is_open)
        (void)read_store(b);
}

void cw_app_on_store_change(void *ctx)
{
    cw_app *b = ctx;
    cw_loop_notify(b->loop, &b->on_store_changed);
}

bool cw_app_use_roles(cw_app *b, cw_caller *configured, cw_roles *roles)
{
    cw_caller_unref(b->configured);
    b->configured = cw_caller_ref(configured);
    if (b->accounts)
        cw_accounts_set_roles(b->accounts, roles);
    if (b->has_store)
        return read_store(b) && !b->token.p;
    if (b->token.p && b->accounts)
        check_token(b);
    else if (!b->is_owner || !b->snapshot)
        cw_app_set_anonymous(b, configured);
    return false;
}

void cw_app_start_token_timer(cw_app *b)
{
    uv_timer_start(&b->token_timer, on_token_timer, CW_APP_TOKEN_MS, CW_APP_TOKEN_MS);
}

void cw_app_init_anonymous(cw_app *b)
{
    cw_thread_cond_init(&b->has_no_readings);
    b->on_anonymous.fn = on_anonymous;
    b->on_store_changed.fn = on_store_changed;
}
