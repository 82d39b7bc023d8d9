/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bridge.c - publish states and install them.
 *
 * A state has one delivery per loop, made when it is published, so that a loop
 * needs no memory to take it over. The state goes when the last loop has replaced
 * it; until then it stands in the bridge's list, which alone is locked.
 */
#include "call/bridge.h"

#include <stdlib.h>

#include "call/call_int.h"
#include "net/server.h"

#define RETRY_MS 10u

typedef struct delivery {
    cw_bridge_loop *bl;
    cw_bridge_state *state;
    cw_view *view;         /* until the loop takes it */
    struct delivery *next; /* of those that found a full mailbox */
} delivery;

struct cw_bridge_state {
    cw_bridge *bridge;
    cw_bridge_state *next, **at; /* in the bridge's list; what points here */
    cw_snapshot *snapshot;
    cw_caller *anonymous;
    cw_bridge_settings settings;
    atomic_uint holds;  /* loops that have it or will have it */
    atomic_uint sweeps; /* loops that have not swept yet */
    cw_source **retired;
    size_t n_retired;
    delivery deliveries[];
};

struct cw_bridge {
    pthread_mutex_t lock; /* of the list of states */
    cw_bridge_state *states;
    cw_loop *main_loop;
    cw_accounts *accounts; /* or NULL */
    cw_audit *audit;       /* likewise */
    cw_limiter *limiter;
    cw_deadline_list retries;
    cw_deadline retry;
    delivery *waiting; /* oldest first */
    unsigned n_loops;
    bool is_started;
    cw_news_port news;
    cw_letters letters;
    cw_bridge_loop loops[];
};

/* ---- states ---- */

static void drop_retired(cw_bridge_state *state)
{
    for (size_t i = 0; i < state->n_retired; i++)
        cw_source_unref(state->retired[i]);
    state->n_retired = 0;
}

static void free_state(cw_bridge_state *state)
{
    if (!state)
        return;
    drop_retired(state);
    free(state->retired);
    for (unsigned i = 0; i < state->bridge->n_loops; i++)
        cw_view_unref(state->deliveries[i].view);
    cw_snapshot_unref(state->snapshot);
    cw_caller_unref(state->anonymous);
    cw_translations_unref(state->settings.translations);
    cw_config_unref(state->settings.config);
    free(state);
}

static void link_state(cw_bridge_state *state)
{
    cw_bridge *b = state->bridge;
    pthread_mutex_lock(&b->lock);
    state->next = b->states;
    state->at = &b->states;
    if (state->next)
        state->next->at = &state->next;
    b->states = state;
    pthread_mutex_unlock(&b->lock);
}

static void unhold(cw_bridge_state *state)
{
    if (!state || atomic_fetch_sub(&state->holds, 1) != 1)
        return;
    pthread_mutex_lock(&state->bridge->lock);
    *state->at = state->next;
    if (state->next)
        state->next->at = state->at;
    pthread_mutex_unlock(&state->bridge->lock);
    free_state(state);
}

static cw_bridge_state *make_state(cw_bridge *b, cw_source *const *retired, size_t n_retired)
{
    cw_bridge_state *state = calloc(1, sizeof *state + b->n_loops * sizeof *state->deliveries);
    cw_source **copy = calloc(n_retired + 1, sizeof *copy);
    if (!state || !copy) {
        free(state);
        free(copy);
        return NULL;
    }
    for (size_t i = 0; i < n_retired; i++)
        copy[i] = cw_source_ref(retired[i]);
    state->bridge = b;
    state->retired = copy;
    state->n_retired = n_retired;
    atomic_init(&state->holds, b->n_loops);
    atomic_init(&state->sweeps, b->n_loops);
    return state;
}

/* ---- on a loop ---- */

void cw_bridge_tell_watches(cw_bridge_loop *bl, const cw_news *news, unsigned lists)
{
    /* Moved to a ring of their own first: a watch may remove itself or another. */
    cw_bridge_watch todo;
    cw_bridge_watch *root = &bl->watches;
    if (root->next == root)
        return;
    todo = *root;
    todo.next->prev = todo.prev->next = &todo;
    root->prev = root->next = root;
    while (todo.next != &todo) {
        cw_bridge_watch *w = todo.next;
        cw_bridge_watch_remove(w);
        cw_bridge_watch_add(bl, w);
        if (news && w->on_news)
            w->on_news(w, news);
        else if (!news && (lists || w->is_always))
            w->on_change(w, lists);
    }
}

static void sweep_retired(cw_bridge_loop *bl, cw_bridge_state *state)
{
    /* Whatever this loop has called: a state that could not be published may have retired some. */
    for (cw_used *used = bl->used; used; used = used->next) {
        if (atomic_load(&used->source->retired))
            used->source->ops->sweep(used->source, bl->loop, /* now= */ false);
    }
    if (atomic_fetch_sub(&state->sweeps, 1) == 1)
        drop_retired(state);
    cw_used_tidy(bl);
}

/* What does not follow from the state that went stays. */
static void renew_cache(cw_bridge_loop *bl, const cw_bridge_state *old)
{
    const cw_bridge_state *state = bl->state;
    if (old && old->snapshot == state->snapshot &&
        old->settings.revision == state->settings.revision)
        cw_cache_drop(&bl->cache, CW_CACHE_PERMISSIONS);
    else
        cw_cache_clear(&bl->cache);
    cw_cache_limit(&bl->cache, state->settings.cache_size);
}

static void on_drop(void *arg)
{
    cw_bridge_loop *bl = arg;
    cw_cache_drop(&bl->cache, atomic_exchange(&bl->dropping, 0));
}

static void on_delivery(void *arg)
{
    delivery *d = arg;
    cw_bridge_loop *bl = d->bl;
    cw_bridge_state *old_state = bl->state;
    cw_view *old_view = bl->view;
    bl->state = d->state;
    bl->view = d->view;
    d->view = NULL;
    unsigned lists = bl->n_watches ? cw_view_changes(old_view, bl->view) : 0;
    /* Nobody keeps in mind who reads which language: other translations are news for all. */
    if (old_state->settings.translations != bl->state->settings.translations)
        lists |= CW_NEWS_TOOLS;
    cw_view_unref(old_view);
    cw_views_drop(bl);
    renew_cache(bl, old_state);
    sweep_retired(bl, bl->state);
    unhold(old_state);
    cw_bridge_tell_watches(bl, NULL, lists);
}

/* Whatever a call left on this loop goes now: the loop cannot end before. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_bridge_loop *bl = CW_CONTAINER(hook, cw_bridge_loop, hook);
    for (cw_used *used = bl->used; used; used = used->next)
        used->source->ops->sweep(used->source, bl->loop, /* now= */ true);
    cw_exchange_end_all(bl);
    cw_used_done(bl);
    bl->is_begun = false;
}

/* ---- the main thread ---- */

static void install_now(cw_bridge_state *state)
{
    cw_bridge *b = state->bridge;
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_bridge_loop *bl = &b->loops[i];
        cw_bridge_state *old = bl->state;
        cw_view_unref(bl->view);
        bl->view = state->deliveries[i].view;
        bl->state = state;
        state->deliveries[i].view = NULL;
        cw_views_drop(bl);
        renew_cache(bl, old);
        unhold(old);
    }
    drop_retired(state);
}

/* Post in order; what does not fit waits, and whatever follows it for the same loop too. */
static void post_waiting(cw_bridge *b)
{
    bool full[CW_SERVER_MAX_LOOPS] = {false};
    delivery **at = &b->waiting;
    while (*at) {
        delivery *d = *at;
        bool *is_full = &full[d->bl - b->loops];
        if (!*is_full) {
            delivery *next = d->next; /* the loop may be done with it before we look again */
            if (!cw_loop_post(d->bl->loop, on_delivery, d)) {
                *at = next;
                continue;
            }
            *is_full = true;
        }
        at = &d->next;
    }
    if (b->waiting)
        cw_loop_set_deadline(b->main_loop, &b->retry, &b->retries);
}

/* Without memory of its own: a loop that is told twice finds nothing the second time. */
static void post_drops(cw_bridge *b)
{
    bool is_late = false;
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_bridge_loop *bl = &b->loops[i];
        if (atomic_load(&bl->dropping) && cw_loop_post(bl->loop, on_drop, bl))
            is_late = true;
    }
    if (is_late)
        cw_loop_set_deadline(b->main_loop, &b->retry, &b->retries);
}

static void on_retry(cw_deadline *d)
{
    cw_bridge *b = CW_CONTAINER(d, cw_bridge, retry);
    post_waiting(b);
    post_drops(b);
}

static void post_all(cw_bridge_state *state)
{
    cw_bridge *b = state->bridge;
    delivery **end = &b->waiting;
    while (*end)
        end = &(*end)->next;
    for (unsigned i = 0; i < b->n_loops; i++) {
        *end = &state->deliveries[i];
        end = &(*end)->next;
    }
    post_waiting(b);
}

cw_code cw_bridge_new(cw_loop *main_loop, unsigned n_loops, cw_bridge **ret, cw_err *err)
{
    cw_bridge *b = calloc(1, sizeof *b + n_loops * sizeof *b->loops);
    if (!b)
        return cw_fail_nomem(err);
    cw_code rc = cw_limiter_new(&b->limiter, err);
    if (rc) {
        free(b);
        return rc;
    }
    pthread_mutex_init(&b->lock, NULL);
    cw_letters_init(&b->letters);
    b->main_loop = main_loop;
    b->n_loops = n_loops;
    b->news.tell = cw_bridge_on_news;
    cw_deadline_list_init(&b->retries, RETRY_MS, on_retry);
    cw_loop_watch(main_loop, &b->retries);
    for (unsigned i = 0; i < n_loops; i++) {
        cw_bridge_loop *bl = &b->loops[i];
        bl->bridge = b;
        bl->watches.prev = bl->watches.next = &bl->watches;
        bl->hook.on_end = on_loop_end;
        cw_schema_scratch_init(&bl->scratch);
        cw_places_init(&bl->crowd);
        cw_cache_init(&bl->cache);
    }
    *ret = b;
    return CW_OK;
}

void cw_bridge_attach(cw_bridge *b, cw_loop *const *loops)
{
    for (unsigned i = 0; i < b->n_loops; i++)
        b->loops[i].loop = loops[i];
}

cw_code cw_bridge_publish(cw_bridge *b, cw_snapshot *snapshot, cw_caller *anonymous,
                          const cw_bridge_settings *settings, cw_source *const *retired,
                          size_t n_retired, cw_err *err)
{
    cw_code rc = CW_OK;
    cw_bridge_state *state = make_state(b, retired, n_retired);
    if (!state) {
        cw_snapshot_unref(snapshot);
        return cw_fail_nomem(err);
    }
    state->snapshot = snapshot;
    state->anonymous = cw_caller_ref(anonymous);
    state->settings = *settings;
    cw_translations_ref(settings->translations);
    if (settings->config)
        cw_config_ref(settings->config);
    for (unsigned i = 0; i < b->n_loops && !rc; i++) {
        delivery *d = &state->deliveries[i];
        *d = (delivery){.bl = &b->loops[i], .state = state};
        rc = cw_view_new(snapshot, anonymous, &d->view, err);
    }
    if (rc) {
        free_state(state);
        return rc;
    }
    link_state(state);
    if (b->is_started)
        post_all(state);
    else
        install_now(state);
    return CW_OK;
}

void cw_bridge_drop(cw_bridge *b, unsigned tags)
{
    for (unsigned i = 0; i < b->n_loops; i++) {
        if (b->is_started)
            atomic_fetch_or(&b->loops[i].dropping, tags);
        else
            cw_cache_drop(&b->loops[i].cache, tags);
    }
    if (b->is_started)
        post_drops(b);
}

void cw_bridge_set_accounts(cw_bridge *b, cw_accounts *accounts)
{
    b->accounts = accounts;
}

cw_news_port *cw_bridge_news(cw_bridge *b)
{
    return &b->news;
}

cw_bridge *cw_bridge_of_news(cw_news_port *port)
{
    return CW_CONTAINER(port, cw_bridge, news);
}

cw_letters *cw_bridge_letters(cw_bridge *b)
{
    return &b->letters;
}

cw_bridge_loop *cw_bridge_loop_at(cw_bridge *b, uint32_t index)
{
    return index < b->n_loops ? &b->loops[index] : NULL;
}

void cw_bridge_started(cw_bridge *b)
{
    b->is_started = true;
}

void cw_bridge_free(cw_bridge *b)
{
    if (!b)
        return;
    cw_deadline_clear(&b->retry);
    cw_loop_unwatch(b->main_loop, &b->retries);
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_view_unref(b->loops[i].view);
        cw_views_done(&b->loops[i]);
        cw_cache_done(&b->loops[i].cache);
        cw_exchange_pool_done(&b->loops[i]);
        cw_schema_scratch_done(&b->loops[i].scratch);
        cw_places_done(&b->loops[i].crowd);
    }
    while (b->states) {
        cw_bridge_state *state = b->states;
        b->states = state->next;
        free_state(state);
    }
    cw_letters_done(&b->letters);
    cw_limiter_free(b->limiter);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---- what doors see ---- */

cw_bridge_loop *cw_bridge_at(cw_bridge *b, const cw_loop *loop)
{
    cw_bridge_loop *bl = &b->loops[loop->index];
    if (CW_UNLIKELY(!bl->is_begun)) {
        bl->is_begun = true;
        cw_loop_add_hook(bl->loop, &bl->hook);
    }
    return bl;
}

cw_loop *cw_bridge_loop_of(const cw_bridge_loop *bl)
{
    return bl->loop;
}

cw_view *cw_bridge_anonymous(cw_bridge_loop *bl)
{
    return bl->view;
}

cw_cache *cw_bridge_cache(cw_bridge_loop *bl)
{
    return &bl->cache;
}

void cw_bridge_set_audit(cw_bridge *b, cw_audit *audit)
{
    b->audit = audit;
}

cw_audit *cw_bridge_audit(const cw_bridge_loop *bl)
{
    return bl->bridge->audit;
}

cw_limiter *cw_bridge_limiter(const cw_bridge_loop *bl)
{
    return bl->bridge->limiter;
}

cw_accounts *cw_bridge_accounts(const cw_bridge_loop *bl)
{
    return bl->bridge->accounts;
}

cw_snapshot *cw_bridge_snapshot(const cw_bridge_loop *bl)
{
    return bl->state->snapshot;
}

const cw_bridge_settings *cw_bridge_settings_of(const cw_bridge_loop *bl)
{
    return &bl->state->settings;
}

void cw_bridge_watch_add(cw_bridge_loop *bl, cw_bridge_watch *w)
{
    w->bl = bl;
    w->next = &bl->watches;
    w->prev = bl->watches.prev;
    w->prev->next = w;
    bl->watches.prev = w;
    bl->n_watches++;
}

void cw_bridge_watch_remove(cw_bridge_watch *w)
{
    if (!w->next)
        return;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->prev = w->next = NULL;
    w->bl->n_watches--;
}

size_t cw_bridge_watching(const cw_bridge_loop *bl)
{
    return bl->n_watches;
}
