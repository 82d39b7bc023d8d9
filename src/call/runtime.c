/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime.c - publish states and install them.
 *
 * A state has one delivery per loop, made when it is published, so that a loop
 * needs no memory to take it over. The state goes when the last loop has replaced
 * it; until then it stands in the bridge's list, which alone is locked.
 */
#include "call/runtime.h"

#include <stdlib.h>

#include "call/call_int.h"
#include "net/server/server.h"

typedef struct delivery {
    cw_runtime_loop *rl;
    cw_runtime_state *state;
    cw_view *view; /* until the loop takes it */
    cw_message message;
} delivery;

struct cw_runtime_state {
    cw_runtime *runtime;
    cw_runtime_state *next, **at; /* in the bridge's list; what points here */
    cw_snapshot *snapshot;
    cw_caller *anonymous;
    cw_runtime_settings settings;
    atomic_uint holds;  /* loops that have it or will have it */
    atomic_uint sweeps; /* loops that have not swept yet */
    cw_source **retired;
    size_t n_retired;
    delivery deliveries[];
};

struct cw_runtime {
    pthread_mutex_t lock; /* of the list of states */
    cw_runtime_state *states;
    cw_accounts *accounts; /* or NULL */
    cw_audit *audit;       /* likewise */
    cw_limiter *limiter;
    unsigned n_loops;
    bool is_started;
    cw_change_sink change;
    cw_runtime_loop loops[];
};

/* ---- states ---- */

static void drop_retired(cw_runtime_state *state)
{
    for (size_t i = 0; i < state->n_retired; i++)
        cw_source_unref(state->retired[i]);
    state->n_retired = 0;
}

static void free_state(cw_runtime_state *state)
{
    if (!state)
        return;
    drop_retired(state);
    free(state->retired);
    for (unsigned i = 0; i < state->runtime->n_loops; i++)
        cw_view_unref(state->deliveries[i].view);
    cw_snapshot_unref(state->snapshot);
    cw_caller_unref(state->anonymous);
    cw_translations_unref(state->settings.translations);
    cw_config_unref(state->settings.config);
    free(state);
}

static void link_state(cw_runtime_state *state)
{
    cw_runtime *b = state->runtime;
    pthread_mutex_lock(&b->lock);
    state->next = b->states;
    state->at = &b->states;
    if (state->next)
        state->next->at = &state->next;
    b->states = state;
    pthread_mutex_unlock(&b->lock);
}

static void unhold(cw_runtime_state *state)
{
    if (!state || atomic_fetch_sub(&state->holds, 1) != 1)
        return;
    pthread_mutex_lock(&state->runtime->lock);
    *state->at = state->next;
    if (state->next)
        state->next->at = state->at;
    pthread_mutex_unlock(&state->runtime->lock);
    free_state(state);
}

static cw_runtime_state *make_state(cw_runtime *b, cw_source *const *retired, size_t n_retired)
{
    cw_runtime_state *state = calloc(1, sizeof *state + b->n_loops * sizeof *state->deliveries);
    cw_source **copy = calloc(n_retired + 1, sizeof *copy);
    if (!state || !copy) {
        free(state);
        free(copy);
        return NULL;
    }
    for (size_t i = 0; i < n_retired; i++)
        copy[i] = cw_source_ref(retired[i]);
    state->runtime = b;
    state->retired = copy;
    state->n_retired = n_retired;
    atomic_init(&state->holds, b->n_loops);
    atomic_init(&state->sweeps, b->n_loops);
    return state;
}

/* ---- on a loop ---- */

void cw_runtime_notify_watches(cw_runtime_loop *rl, const cw_change *change, unsigned lists)
{
    /* Moved to a ring of their own first: a watch may remove itself or another. */
    cw_runtime_watch todo;
    cw_runtime_watch *root = &rl->watches;
    if (root->next == root)
        return;
    todo = *root;
    todo.next->prev = todo.prev->next = &todo;
    root->prev = root->next = root;
    while (todo.next != &todo) {
        cw_runtime_watch *w = todo.next;
        cw_runtime_watch_remove(w);
        cw_runtime_watch_add(rl, w);
        if (change && w->on_change_event)
            w->on_change_event(w, change);
        else if (!change && (lists || w->is_always))
            w->on_change(w, lists);
    }
}

static void sweep_retired(cw_runtime_loop *rl, cw_runtime_state *state)
{
    /* Whatever this loop has called: a state that could not be published may have retired some. */
    for (cw_active_source *source_entry = rl->source_entry; source_entry;
         source_entry = source_entry->next) {
        if (atomic_load(&source_entry->source->retired))
            source_entry->source->ops->sweep(source_entry->source, rl->loop, /* now= */ false);
    }
    if (atomic_fetch_sub(&state->sweeps, 1) == 1)
        drop_retired(state);
    cw_active_sources_tidy(rl);
}

/* What does not follow from the state that went stays. */
static void renew_cache(cw_runtime_loop *rl, const cw_runtime_state *old)
{
    const cw_runtime_state *state = rl->state;
    if (old && old->snapshot == state->snapshot &&
        old->settings.revision == state->settings.revision)
        cw_page_cache_drop(&rl->cache, CW_PAGE_CACHE_PERMISSIONS);
    else
        cw_page_cache_clear(&rl->cache);
    cw_page_cache_limit(&rl->cache, state->settings.cache_size);
}

static void on_drop(cw_message *message)
{
    cw_runtime_loop *rl = CW_CONTAINER(message, cw_runtime_loop, on_drop);
    cw_page_cache_drop(&rl->cache, atomic_exchange(&rl->dropping, 0));
}

static void on_delivery(cw_message *message)
{
    delivery *d = CW_CONTAINER(message, delivery, message);
    cw_runtime_loop *rl = d->rl;
    cw_runtime_state *old_state = rl->state;
    cw_view *old_view = rl->view;
    rl->state = d->state;
    rl->view = d->view;
    d->view = NULL;
    unsigned lists = rl->n_watches ? cw_view_changes(old_view, rl->view) : 0;
    /* Nobody keeps in mind who reads which language: other translations are news for all. */
    if (old_state->settings.translations != rl->state->settings.translations)
        lists |= CW_CHANGED_TOOLS;
    cw_view_unref(old_view);
    cw_view_cache_drop(rl);
    renew_cache(rl, old_state);
    sweep_retired(rl, rl->state);
    unhold(old_state);
    cw_runtime_notify_watches(rl, NULL, lists);
}

/* Whatever a call left on this loop goes now: the loop cannot end before. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_runtime_loop *rl = CW_CONTAINER(hook, cw_runtime_loop, hook);
    for (cw_active_source *source_entry = rl->source_entry; source_entry;
         source_entry = source_entry->next)
        source_entry->source->ops->sweep(source_entry->source, rl->loop, /* now= */ true);
    cw_exchange_end_all(rl);
    cw_active_sources_done(rl);
    rl->is_begun = false;
}

/* ---- the main thread ---- */

static void install_now(cw_runtime_state *state)
{
    cw_runtime *b = state->runtime;
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_runtime_loop *rl = &b->loops[i];
        cw_runtime_state *old = rl->state;
        cw_view_unref(rl->view);
        rl->view = state->deliveries[i].view;
        rl->state = state;
        state->deliveries[i].view = NULL;
        cw_view_cache_drop(rl);
        renew_cache(rl, old);
        unhold(old);
    }
    drop_retired(state);
}

static void post_all(cw_runtime_state *state)
{
    for (unsigned i = 0; i < state->runtime->n_loops; i++)
        cw_loop_post(state->deliveries[i].rl->loop, &state->deliveries[i].message);
}

cw_code cw_runtime_new(unsigned n_loops, cw_runtime **ret, cw_err *err)
{
    cw_runtime *b = calloc(1, sizeof *b + n_loops * sizeof *b->loops);
    if (!b)
        return cw_fail_nomem(err);
    cw_code rc = cw_limiter_new(&b->limiter, err);
    if (rc) {
        free(b);
        return rc;
    }
    pthread_mutex_init(&b->lock, NULL);
    b->n_loops = n_loops;
    b->change.tell = cw_runtime_on_change;
    for (unsigned i = 0; i < n_loops; i++) {
        cw_runtime_loop *rl = &b->loops[i];
        rl->runtime = b;
        rl->watches.prev = rl->watches.next = &rl->watches;
        rl->hook.on_end = on_loop_end;
        rl->on_drop.fn = on_drop;
        cw_schema_scratch_init(&rl->scratch);
        cw_fair_slots_init(&rl->crowd);
        cw_page_cache_init(&rl->cache);
    }
    *ret = b;
    return CW_OK;
}

void cw_runtime_attach(cw_runtime *b, cw_loop *const *loops)
{
    for (unsigned i = 0; i < b->n_loops; i++)
        b->loops[i].loop = loops[i];
}

cw_code cw_runtime_publish(cw_runtime *b, cw_snapshot *snapshot, cw_caller *anonymous,
                           const cw_runtime_settings *settings, cw_source *const *retired,
                           size_t n_retired, cw_err *err)
{
    cw_code rc = CW_OK;
    cw_runtime_state *state = make_state(b, retired, n_retired);
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
        *d = (delivery){.rl = &b->loops[i], .state = state, .message.fn = on_delivery};
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

void cw_runtime_invalidate(cw_runtime *b, unsigned tags)
{
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_runtime_loop *rl = &b->loops[i];
        if (!b->is_started) {
            cw_page_cache_drop(&rl->cache, tags);
            continue;
        }
        atomic_fetch_or(&rl->dropping, tags);
        cw_loop_notify(rl->loop, &rl->on_drop);
    }
}

void cw_runtime_set_accounts(cw_runtime *b, cw_accounts *accounts)
{
    b->accounts = accounts;
}

cw_change_sink *cw_runtime_changes(cw_runtime *b)
{
    return &b->change;
}

cw_runtime *cw_runtime_of_changes(cw_change_sink *port)
{
    return CW_CONTAINER(port, cw_runtime, change);
}

cw_runtime_loop *cw_runtime_loop_at(cw_runtime *b, uint32_t index)
{
    return index < b->n_loops ? &b->loops[index] : NULL;
}

void cw_runtime_started(cw_runtime *b)
{
    b->is_started = true;
}

void cw_runtime_free(cw_runtime *b)
{
    if (!b)
        return;
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_view_unref(b->loops[i].view);
        cw_view_cache_done(&b->loops[i]);
        cw_page_cache_done(&b->loops[i].cache);
        cw_exchange_pool_done(&b->loops[i]);
        cw_schema_scratch_done(&b->loops[i].scratch);
        cw_fair_slots_done(&b->loops[i].crowd);
    }
    while (b->states) {
        cw_runtime_state *state = b->states;
        b->states = state->next;
        free_state(state);
    }
    cw_limiter_free(b->limiter);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---- what doors see ---- */

cw_runtime_loop *cw_runtime_at(cw_runtime *b, const cw_loop *loop)
{
    cw_runtime_loop *rl = &b->loops[loop->index];
    if (CW_UNLIKELY(!rl->is_begun)) {
        rl->is_begun = true;
        cw_loop_add_hook(rl->loop, &rl->hook);
    }
    return rl;
}

cw_loop *cw_runtime_loop_of(const cw_runtime_loop *rl)
{
    return rl->loop;
}

cw_view *cw_runtime_anonymous(cw_runtime_loop *rl)
{
    return rl->view;
}

cw_page_cache *cw_runtime_cache(cw_runtime_loop *rl)
{
    return &rl->cache;
}

void cw_runtime_set_audit(cw_runtime *b, cw_audit *audit)
{
    b->audit = audit;
}

cw_audit *cw_runtime_audit(const cw_runtime_loop *rl)
{
    return rl->runtime->audit;
}

cw_limiter *cw_runtime_limiter(const cw_runtime_loop *rl)
{
    return rl->runtime->limiter;
}

cw_accounts *cw_runtime_accounts(const cw_runtime_loop *rl)
{
    return rl->runtime->accounts;
}

cw_snapshot *cw_runtime_snapshot(const cw_runtime_loop *rl)
{
    return rl->state->snapshot;
}

const cw_runtime_settings *cw_runtime_settings_of(const cw_runtime_loop *rl)
{
    return &rl->state->settings;
}

void cw_runtime_watch_add(cw_runtime_loop *rl, cw_runtime_watch *w)
{
    w->rl = rl;
    w->next = &rl->watches;
    w->prev = rl->watches.prev;
    w->prev->next = w;
    rl->watches.prev = w;
    rl->n_watches++;
}

void cw_runtime_watch_remove(cw_runtime_watch *w)
{
    if (!w->next)
        return;
    w->prev->next = w->next;
    w->next->prev = w->prev;
    w->prev = w->next = NULL;
    w->rl->n_watches--;
}

size_t cw_runtime_watching(const cw_runtime_loop *rl)
{
    return rl->n_watches;
}
