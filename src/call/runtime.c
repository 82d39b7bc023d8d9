/* SPDX-License-Identifier: GPL-2.0-or-later */
/* runtime.c - publishes a state and installs it on the loops; the views that a loop caches; messages
 * from one loop to the others.
 */
#include "call/runtime.h"

#include <errno.h>
#include <stdlib.h>

#include "base/assoc.h"
#include "base/thread.h"
#include "call/call_int.h"
#include "net/server/server.h"

#define INCOMING_MAX 4096u

typedef struct delivery {
    cw_runtime_loop *rl;
    cw_runtime_state *state;
    cw_view *view;  /* until the loop takes it */
    unsigned lists; /* of the anonymous caller that have changed on this loop */
    cw_message message, notice;
} delivery;

struct cw_runtime_state {
    cw_runtime *runtime;
    cw_runtime_state *next, **at; /* in the runtime's list; the pointer to this */
    cw_snapshot *snapshot;
    cw_caller *anonymous;
    cw_runtime_settings settings;
    bool has_logins;
    atomic_uint holds;    /* loops that have it or will have it, and their notices */
    atomic_uint sweeps;   /* loops that have not swept yet */
    atomic_uint installs; /* loops that do not have it yet */
    cw_source **retired;
    size_t n_retired;
    delivery deliveries[];
};

struct cw_runtime {
    pthread_mutex_t lock; /* of the list of states and n_installing */
    pthread_cond_t is_installed;
    unsigned n_installing; /* states that some loop does not have yet */
    cw_runtime_state *states;
    cw_accounts *accounts;                    /* may be NULL */
    cw_audit *audit;                          /* may be NULL */
    cw_tracer *tracer;                        /* may be NULL */
    cw_caller *operator_self, *operator_root; /* may be NULL */
    cw_str console_host;                      /* may be empty */
    cw_caller *guest;                         /* may be NULL */
    cw_tasks *tasks;                          /* may be NULL */
    cw_replicas *replicas;                    /* may be NULL */
    const cw_seal *seal;                      /* may be NULL */
    cw_limiter *limiter;
    unsigned n_loops;
    bool is_started;
    cw_change_sink change;
    cw_interest interest;
    cw_runtime_loop loops[];
};

static cw_snapshot *snapshot_of(const cw_runtime_loop *rl)
{
    return rl->state->snapshot;
}

static cw_runtime *runtime_of(cw_change_sink *sink)
{
    return CW_CONTAINER(sink, cw_runtime, change);
}

static cw_runtime_loop *loop_at(cw_runtime *b, uint32_t index)
{
    return index < b->n_loops ? &b->loops[index] : NULL;
}

static void notify_watches(cw_runtime_loop *rl, const cw_change *change, unsigned lists)
{
    /* Moved to a list of their own first: a watch may remove itself or another. */
    cw_list todo, *node;
    cw_list_init(&todo);
    cw_list_move(&rl->watches, &rl->watches, &todo);
    while ((node = cw_list_take_first(&todo))) {
        cw_runtime_watch *w = CW_CONTAINER(node, cw_runtime_watch, node);
        cw_list_add(&rl->watches, node);
        if (change && w->on_change_event)
            w->on_change_event(w, change);
        else if (!change && (lists || w->is_always))
            w->on_change(w, lists);
    }
}

/* ---- views of callers ---- */

typedef struct view_key {
    cw_caller *caller;
    const cw_toolset *toolset;
} view_key;

static bool is_of_key(const void *entry, const void *key)
{
    const cw_cached_view *kept = entry;
    const view_key *wanted = key;
    return kept->view && cw_view_caller(kept->view) == wanted->caller &&
           cw_view_toolset(kept->view) == wanted->toolset;
}

static uint64_t last_use_of(const void *entry)
{
    const cw_cached_view *kept = entry;
    return kept->view ? kept->last_use : 0;
}

static const cw_assoc view_table = {sizeof(cw_cached_view), CW_RUNTIME_VIEWS, 4, is_of_key,
                                    last_use_of};

static uint64_t hash_of(const view_key *key)
{
    /* Objects are aligned: the low bits carry no information. */
    uint64_t hash = ((uint64_t)(uintptr_t)key->caller >> 4) + (uint64_t)(uintptr_t)key->toolset;
    return hash * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static cw_view *find_view(cw_runtime_loop *rl, const view_key *key)
{
    if (!rl->views)
        rl->views = calloc(CW_RUNTIME_VIEWS, sizeof *rl->views);
    if (!rl->views)
        return NULL;
    cw_cached_view *kept = cw_assoc_find(&view_table, rl->views, hash_of(key), key);
    if (!kept) {
        cw_view *view;
        if (cw_view_new_in(snapshot_of(rl), key->caller, key->toolset, &view, NULL))
            return NULL;
        kept = cw_assoc_victim(&view_table, rl->views, hash_of(key));
        cw_view_unref(kept->view);
        kept->view = view;
    }
    kept->last_use = ++rl->views_tick;
    return kept->view;
}

cw_view *cw_runtime_view(cw_runtime_loop *rl, cw_caller *caller)
{
    return find_view(rl, &(view_key){.caller = caller});
}

cw_view *cw_runtime_view_in(cw_runtime_loop *rl, cw_caller *caller, const cw_toolset *toolset)
{
    view_key key = {.caller = caller ? caller : cw_view_caller(rl->view)};
    if (!toolset)
        return caller ? find_view(rl, &key) : rl->view;
    key.toolset =
        cw_snapshot_find_toolset(snapshot_of(rl), toolset->name, toolset->is_read_only_address);
    return key.toolset ? find_view(rl, &key) : NULL;
}

bool cw_runtime_is_anonymous(const cw_runtime_loop *rl, const cw_view *view)
{
    return cw_view_caller(view) == cw_view_caller(rl->view);
}

static void drop_views(cw_runtime_loop *rl)
{
    for (size_t i = 0; rl->views && i < CW_RUNTIME_VIEWS; i++) {
        cw_view_unref(rl->views[i].view);
        rl->views[i] = (cw_cached_view){0};
    }
}

static void free_views(cw_runtime_loop *rl)
{
    drop_views(rl);
    free(rl->views);
    rl->views = NULL;
}

/* Messages on their way to one loop: a loop that is busy for long does not collect more. */

/* ---- messages to other loops ---- */

/* One loop's copy. */
typedef struct message_copy {
    cw_message message;
    cw_runtime_loop *rl;
    cw_caller *caller; /* a reference, or NULL */
    cw_runtime_fn fn;
    size_t n;
    char bytes[];
} message_copy;

static void free_copy(cw_message *message)
{
    message_copy *c = CW_CONTAINER(message, message_copy, message);
    atomic_fetch_sub(&c->rl->n_incoming, 1);
    cw_caller_unref(c->caller);
    free(c);
}

static void on_message(cw_message *message)
{
    message_copy *c = CW_CONTAINER(message, message_copy, message);
    c->fn(c->rl, cw_str_make(c->bytes, c->n));
    free_copy(message);
}

static message_copy *make_copy(cw_runtime_loop *rl, cw_caller *caller, cw_runtime_fn fn,
                               cw_str bytes)
{
    bool is_full = atomic_fetch_add(&rl->n_incoming, 1) >= INCOMING_MAX;
    message_copy *c = is_full ? NULL : malloc(sizeof *c + bytes.n);
    if (!c) {
        atomic_fetch_sub(&rl->n_incoming, 1);
        return NULL;
    }
    *c = (message_copy){
        .message = {.fn = on_message, .drop = free_copy}, .rl = rl, .fn = fn, .n = bytes.n};
    if (caller)
        c->caller = cw_caller_ref(caller);
    if (bytes.n)
        memcpy(c->bytes, bytes.p, bytes.n);
    return c;
}

/* False: it is lost. */
static bool post(cw_runtime_loop *rl, cw_caller *caller, cw_runtime_fn fn, cw_str bytes)
{
    message_copy *c = make_copy(rl, caller, fn, bytes);
    if (c)
        cw_loop_post(rl->loop, &c->message);
    else
        cw_log(CW_LOG_WARN, "call", "message to event loop dropped",
               CW_KN("loop", rl->loop->index));
    return c != NULL;
}

bool cw_runtime_send(cw_runtime_loop *from, uint32_t index, cw_caller *caller, cw_runtime_fn fn,
                     cw_str bytes)
{
    cw_runtime_loop *rl = loop_at(from->runtime, index);
    if (rl == from)
        fn(rl, bytes);
    return rl == from || (rl && post(rl, caller, fn, bytes));
}

void cw_runtime_post(cw_runtime *runtime, uint32_t index, cw_runtime_fn fn, cw_str bytes)
{
    cw_runtime_loop *rl = loop_at(runtime, index);
    if (rl)
        post(rl, NULL, fn, bytes);
}

void cw_runtime_broadcast(cw_runtime_loop *from, cw_runtime_fn fn, cw_str bytes)
{
    for (uint32_t i = 0; loop_at(from->runtime, i); i++)
        cw_runtime_send(from, i, NULL, fn, bytes);
}

/* ---- changes ---- */

/* In front of the address of the resource. */
typedef struct change_head {
    unsigned lists;
    const void *source;
} change_head;

static void on_change_event(cw_runtime_loop *rl, cw_str bytes)
{
    change_head head;
    memcpy(&head, bytes.p, sizeof head);
    cw_change change = {.lists = head.lists,
                        .uri = cw_str_make(bytes.p + sizeof head, bytes.n - sizeof head),
                        .source = head.source};
    notify_watches(rl, &change, 0);
}

static void on_change(cw_change_sink *sink, const cw_change *change)
{
    cw_runtime *b = runtime_of(sink);
    char small[512];
    change_head head = {change->lists, change->source};
    size_t n = change->uri.n + sizeof head;
    char *bytes = n <= sizeof small ? small : malloc(n);
    if (!bytes) {
        cw_log(CW_LOG_WARN, "call", "out of memory: change not reported");
        return;
    }
    memcpy(bytes, &head, sizeof head);
    if (change->uri.n)
        memcpy(bytes + sizeof head, change->uri.p, change->uri.n);
    for (uint32_t i = 0; loop_at(b, i); i++)
        post(loop_at(b, i), NULL, on_change_event, cw_str_make(bytes, n));
    if (bytes != small)
        free(bytes);
}

/* ---- states ---- */

static void drop_retired(cw_runtime_state *state)
{
    for (size_t i = 0; i < state->n_retired; i++)
        cw_source_unref(state->retired[i]);
    state->n_retired = 0;
}

static const cw_config *config_of(const cw_runtime_state *state)
{
    return state->settings.config ? state->settings.config : &cw_config_defaults;
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
    atomic_init(&state->installs, b->n_loops);
    return state;
}

/* ---- on a loop ---- */

static void sweep_retired(cw_runtime_loop *rl, cw_runtime_state *state)
{
    /* All sources that this loop has called: an unpublished state may have retired some. */
    for (cw_active_source *active = rl->sources; active; active = active->next) {
        if (atomic_load(&active->source->retired))
            active->source->ops->sweep(active->source, rl->loop, /* now= */ false);
    }
    if (atomic_fetch_sub(&state->sweeps, 1) == 1)
        drop_retired(state);
    cw_active_sources_tidy(rl);
}

/* Keep cached pages that do not depend on the replaced state. */
static void renew_cache(cw_runtime_loop *rl, const cw_runtime_state *old)
{
    const cw_runtime_state *state = rl->state;
    if (old && old->snapshot == state->snapshot &&
        old->settings.revision == state->settings.revision && old->has_logins == state->has_logins)
        cw_page_cache_drop(&rl->cache, CW_PAGE_CACHE_PERMISSIONS);
    else
        cw_page_cache_clear(&rl->cache);
    cw_page_cache_limit(&rl->cache, config_of(state)->limits.cache_size);
}

static void on_drop(cw_message *message)
{
    cw_runtime_loop *rl = CW_CONTAINER(message, cw_runtime_loop, on_drop);
    cw_page_cache_drop(&rl->cache, atomic_exchange(&rl->dropping, 0));
}

/* Whether the same tools are shown in another form or language. */
static bool shows_otherwise(const cw_runtime_state *a, const cw_runtime_state *b)
{
    const cw_config *x = config_of(a), *y = config_of(b);
    return a->settings.translations != b->settings.translations ||
           x->mcp.tool_names != y->mcp.tool_names || x->mcp.schemas != y->mcp.schemas;
}

static void on_notice(cw_message *message)
{
    delivery *d = CW_CONTAINER(message, delivery, notice);
    notify_watches(d->rl, NULL, d->lists);
    unhold(d->state);
}

/* Clients that are notified ask again, maybe on another loop: all loops have the state before. */
static void post_notices(cw_runtime_state *state)
{
    cw_runtime *b = state->runtime;
    pthread_mutex_lock(&b->lock);
    if (--b->n_installing == 0)
        pthread_cond_broadcast(&b->is_installed);
    pthread_mutex_unlock(&b->lock);
    for (unsigned i = 0; i < b->n_loops; i++)
        cw_loop_post(state->deliveries[i].rl->loop, &state->deliveries[i].notice);
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
    unsigned lists = !cw_list_is_empty(&rl->watches) ? cw_view_changes(old_view, rl->view) : 0;
    /* The language and name of each client are not stored, so all of them are notified. */
    if (shows_otherwise(old_state, rl->state))
        lists |= CW_CHANGED_TOOLS | CW_CHANGED_FORM;
    /* Lists show what requires a login only if callers can log in. */
    if (old_state->has_logins != rl->state->has_logins)
        lists |= cw_view_gated_lists(rl->view);
    cw_view_unref(old_view);
    /* A view follows from the catalogue and its caller alone. */
    if (old_state->snapshot != rl->state->snapshot)
        drop_views(rl);
    renew_cache(rl, old_state);
    if (old_state->anonymous != rl->state->anonymous)
        cw_exchange_set_anonymous(rl, rl->state->anonymous);
    sweep_retired(rl, rl->state);
    unhold(old_state);
    d->lists = lists;
    if (atomic_fetch_sub(&rl->state->installs, 1) == 1)
        post_notices(rl->state);
}

/* Everything that calls left on this loop is freed now; the loop cannot end before. */
static void on_loop_end(cw_loop_hook *hook)
{
    cw_runtime_loop *rl = CW_CONTAINER(hook, cw_runtime_loop, hook);
    for (cw_active_source *active = rl->sources; active; active = active->next)
        active->source->ops->sweep(active->source, rl->loop, /* now= */ true);
    cw_exchange_end_all(rl);
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
        drop_views(rl);
        renew_cache(rl, old);
        unhold(old);
    }
    drop_retired(state);
}

static void post_all(cw_runtime_state *state)
{
    cw_runtime *b = state->runtime;
    atomic_fetch_add(&state->holds, b->n_loops); /* for the notices */
    pthread_mutex_lock(&b->lock);
    b->n_installing++;
    pthread_mutex_unlock(&b->lock);
    for (unsigned i = 0; i < b->n_loops; i++)
        cw_loop_post(state->deliveries[i].rl->loop, &state->deliveries[i].message);
}

cw_code cw_runtime_new(const cw_runtime_opts *opts, cw_runtime **ret, cw_err *err)
{
    cw_runtime *b = calloc(1, sizeof *b + opts->n_loops * sizeof *b->loops);
    if (!b)
        return cw_fail_nomem(err);
    cw_code rc = cw_limiter_new(&b->limiter, err);
    if (rc) {
        free(b);
        return rc;
    }
    pthread_mutex_init(&b->lock, NULL);
    cw_thread_cond_init(&b->is_installed);
    b->n_loops = opts->n_loops;
    b->accounts = opts->accounts;
    b->audit = opts->audit;
    b->tracer = opts->tracer;
    b->operator_self = opts->operator_self;
    b->operator_root = opts->operator_root;
    b->console_host = opts->console_host;
    b->guest = opts->guest;
    b->tasks = opts->tasks;
    b->replicas = opts->replicas;
    b->seal = opts->seal;
    b->change.tell = on_change;
    cw_interest_init(&b->interest);
    for (unsigned i = 0; i < b->n_loops; i++) {
        cw_runtime_loop *rl = &b->loops[i];
        rl->runtime = b;
        cw_list_init(&rl->watches);
        rl->limiter = b->limiter;
        rl->tracer = cw_tracer_loop(b->tracer, i);
        rl->hook.on_end = on_loop_end;
        rl->on_drop.fn = on_drop;
        cw_schema_scratch_init(&rl->scratch);
        cw_fair_slots_init(&rl->crowd);
        cw_page_cache_init(&rl->cache);
    }
    *ret = b;
    return CW_OK;
}

cw_limiter *cw_runtime_limiter(cw_runtime *b)
{
    return b->limiter;
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
    state->has_logins = cw_accounts_has_logins(b->accounts);
    cw_translations_ref(settings->translations);
    if (settings->config)
        cw_config_ref(settings->config);
    for (unsigned i = 0; i < b->n_loops && !rc; i++) {
        delivery *d = &state->deliveries[i];
        *d = (delivery){
            .rl = &b->loops[i], .state = state, .message.fn = on_delivery, .notice.fn = on_notice};
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

bool cw_runtime_wait(cw_runtime *b, uint32_t ms)
{
    struct timespec until = cw_thread_deadline(ms);
    int rc = 0;
    pthread_mutex_lock(&b->lock);
    while (b->n_installing && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&b->is_installed, &b->lock, &until);
    bool is_installed = b->n_installing == 0;
    pthread_mutex_unlock(&b->lock);
    return is_installed;
}

cw_interest *cw_runtime_interest(cw_runtime *b)
{
    return &b->interest;
}

cw_change_sink *cw_runtime_changes(cw_runtime *b)
{
    return &b->change;
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
        free_views(&b->loops[i]);
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
    cw_interest_done(&b->interest);
    pthread_cond_destroy(&b->is_installed);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

/* ---- what doors see ---- */

unsigned cw_runtime_n_loops(const cw_runtime *b)
{
    return b->n_loops;
}

cw_runtime_loop *cw_runtime_part(cw_runtime *b, unsigned index)
{
    return &b->loops[index];
}

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

cw_caller *cw_runtime_operator(const cw_runtime_loop *rl, uid_t uid)
{
    return uid == geteuid() ? rl->runtime->operator_self : rl->runtime->operator_root;
}

cw_str cw_runtime_console_host(const cw_runtime_loop *rl)
{
    return rl->runtime->console_host;
}

cw_caller *cw_runtime_guest(const cw_runtime_loop *rl)
{
    return rl->runtime->guest;
}

cw_replicas *cw_runtime_replicas(const cw_runtime_loop *rl)
{
    return rl->runtime->replicas;
}

cw_tasks *cw_runtime_tasks(const cw_runtime_loop *rl)
{
    return rl->runtime->tasks;
}

cw_page_cache *cw_runtime_cache(cw_runtime_loop *rl)
{
    return &rl->cache;
}

cw_audit *cw_runtime_audit(const cw_runtime_loop *rl)
{
    return rl->runtime->audit;
}

const cw_seal *cw_runtime_seal(const cw_runtime_loop *rl)
{
    return rl->runtime->seal;
}

cw_trace_loop *cw_runtime_tracer(const cw_runtime_loop *rl)
{
    return rl->tracer;
}

cw_accounts *cw_runtime_accounts(const cw_runtime_loop *rl)
{
    return rl->runtime->accounts;
}

const cw_runtime_settings *cw_runtime_settings_of(const cw_runtime_loop *rl)
{
    return &rl->state->settings;
}

const cw_config *cw_runtime_config(const cw_runtime_loop *rl)
{
    return config_of(rl->state);
}

bool cw_runtime_has_logins(const cw_runtime_loop *rl)
{
    return rl->state->has_logins;
}

void cw_runtime_watch_add(cw_runtime_loop *rl, cw_runtime_watch *w)
{
    w->rl = rl;
    cw_list_add(&rl->watches, &w->node);
}
