/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_news.c - the last notifications about jobs, in a ring. */
#include "source/upstream/job_news.h"

#include <stdlib.h>

typedef struct entry {
    char *text; /* the id, then the data; NULL: none */
    size_t n_id, n_data;
    cw_str error; /* of the configuration, which the connection keeps */
    bool ends;
} entry;

struct cw_job_news {
    atomic_uint refs;
    pthread_mutex_t lock;
    uint64_t n; /* notifications so far: the last one is at (n - 1) % CW_JOB_NEWS_KEPT */
    cw_list listeners;
    entry ring[CW_JOB_NEWS_KEPT];
};

struct cw_job_listener {
    cw_list node;
    cw_message wake;
    cw_job_news *news; /* a reference */
    cw_loop *loop;
    cw_job_news_fn fn; /* NULL: it was freed, and goes with its message */
    void *ctx;
    uint64_t seen;
};

cw_job_news *cw_job_news_new(void)
{
    cw_job_news *news = calloc(1, sizeof *news);
    if (!news)
        return NULL;
    if (pthread_mutex_init(&news->lock, NULL)) {
        free(news);
        return NULL;
    }
    atomic_init(&news->refs, 1);
    cw_list_init(&news->listeners);
    return news;
}

static cw_job_news *add_ref(cw_job_news *news)
{
    atomic_fetch_add(&news->refs, 1);
    return news;
}

void cw_job_news_unref(cw_job_news *news)
{
    if (!news || atomic_fetch_sub(&news->refs, 1) != 1)
        return;
    for (size_t i = 0; i < CW_JOB_NEWS_KEPT; i++)
        free(news->ring[i].text);
    pthread_mutex_destroy(&news->lock);
    free(news);
}

/* ---- in ---- */

/* Without memory for the notification, polls find the state of the job. */
static void keep(cw_job_news *news, const cw_config_job_notice *notice, cw_str id, cw_str data)
{
    if (id.n > CW_JOB_NEWS_ID)
        return;
    if (data.n > CW_JOB_NEWS_DATA || !notice->ends)
        data.n = 0;
    char *text = malloc(id.n + data.n + 1);
    if (!text)
        return;
    memcpy(text, id.p, id.n);
    if (data.n)
        memcpy(text + id.n, data.p, data.n);
    pthread_mutex_lock(&news->lock);
    entry *e = &news->ring[news->n++ % CW_JOB_NEWS_KEPT];
    free(e->text);
    *e = (entry){
        .text = text, .n_id = id.n, .n_data = data.n, .error = notice->error, .ends = data.n > 0};
    CW_LIST_EACH (node, &news->listeners) {
        cw_job_listener *l = CW_CONTAINER(node, cw_job_listener, node);
        cw_loop_notify(l->loop, &l->wake);
    }
    pthread_mutex_unlock(&news->lock);
}

void cw_job_news_add(cw_job_news *news, const cw_config_jobs *jobs, cw_str method,
                     const cw_json *params)
{
    for (size_t i = 0; i < jobs->n && params; i++) {
        const cw_config_job_notices *notices = &jobs->items[i].notifications;
        for (size_t k = 0; k < notices->n; k++) {
            const cw_config_job_notice *notice = &notices->items[k];
            if (!cw_str_eq(notice->method, method))
                continue;
            const cw_json *id = cw_json_pointer(params, notice->id);
            if (cw_json_is(id, CW_JSON_STRING) || cw_json_is(id, CW_JSON_NUMBER))
                keep(news, notice, cw_json_span(id), cw_json_span(params));
        }
    }
}

uint64_t cw_job_news_now(cw_job_news *news)
{
    if (!news)
        return 0;
    pthread_mutex_lock(&news->lock);
    uint64_t n = news->n;
    pthread_mutex_unlock(&news->lock);
    return n;
}

/* ---- out ---- */

/* The first number that is kept and comes after `since`. */
static uint64_t first_after(const cw_job_news *news, uint64_t since)
{
    uint64_t oldest = news->n > CW_JOB_NEWS_KEPT ? news->n - CW_JOB_NEWS_KEPT : 0;
    return since > oldest ? since : oldest;
}

bool cw_job_news_find(cw_job_news *news, cw_str id, uint64_t since, cw_arena *arena,
                      cw_job_end *ret)
{
    bool is_found = false;
    if (!news)
        return false;
    pthread_mutex_lock(&news->lock);
    for (uint64_t i = first_after(news, since); i < news->n; i++) {
        const entry *e = &news->ring[i % CW_JOB_NEWS_KEPT];
        if (!e->ends || !cw_str_eq(cw_str_make(e->text, e->n_id), id))
            continue;
        ret->data = cw_arena_dup_str(arena, cw_str_make(e->text + e->n_id, e->n_data));
        ret->error = cw_arena_dup_str(arena, e->error);
        is_found = ret->data.p && ret->error.p;
    }
    pthread_mutex_unlock(&news->lock);
    return is_found;
}

static void free_listener(cw_job_listener *l)
{
    cw_job_news_unref(l->news);
    free(l);
}

static void on_wake(cw_message *message)
{
    cw_job_listener *l = CW_CONTAINER(message, cw_job_listener, wake);
    if (!l->fn) {
        free_listener(l);
        return;
    }
    pthread_mutex_lock(&l->news->lock);
    for (uint64_t i = first_after(l->news, l->seen); i < l->news->n; i++) {
        const entry *e = &l->news->ring[i % CW_JOB_NEWS_KEPT];
        l->fn(l->ctx, cw_str_make(e->text, e->n_id));
    }
    l->seen = l->news->n;
    pthread_mutex_unlock(&l->news->lock);
}

static void on_dropped(cw_message *message)
{
    cw_job_listener *l = CW_CONTAINER(message, cw_job_listener, wake);
    if (!l->fn)
        free_listener(l);
}

cw_job_listener *cw_job_news_listen(cw_job_news *news, cw_loop *loop, cw_job_news_fn fn, void *ctx)
{
    cw_job_listener *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    *l = (cw_job_listener){.wake = {.fn = on_wake, .drop = on_dropped},
                           .news = add_ref(news),
                           .loop = loop,
                           .fn = fn,
                           .ctx = ctx};
    pthread_mutex_lock(&news->lock);
    l->seen = news->n;
    cw_list_add(&news->listeners, &l->node);
    pthread_mutex_unlock(&news->lock);
    return l;
}

void cw_job_listener_free(cw_job_listener *l)
{
    if (!l)
        return;
    pthread_mutex_lock(&l->news->lock);
    cw_list_remove(&l->node);
    l->fn = NULL;
    bool is_waiting = atomic_load(&l->wake.is_waiting);
    pthread_mutex_unlock(&l->news->lock);
    /* A listener whose message is under way is freed with the message. */
    if (!is_waiting)
        free_listener(l);
}
