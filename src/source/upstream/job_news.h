/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_news.h - notifications of a service that are about its jobs, for the loops that follow them.
 *
 *     connection (main loop) ─ add ─► last CW_JOB_NEWS_KEPT notifications ─► wake ─► listeners
 *
 * A job may end before its number is known: the last notifications are kept for that.
 *
 * Ownership: reference counted.
 * Threads:   any; a listener belongs to one loop.
 * Limits:    CW_JOB_NEWS_KEPT notifications; CW_JOB_NEWS_ID and CW_JOB_NEWS_DATA bytes of one. One with
 *            more data only wakes.
 */
#ifndef CW_SOURCE_UPSTREAM_JOB_NEWS_H
#define CW_SOURCE_UPSTREAM_JOB_NEWS_H

#include "base/arena.h"
#include "config/config.h"
#include "json/json.h"
#include "net/loop/loop.h"

#define CW_JOB_NEWS_KEPT 1024u
#define CW_JOB_NEWS_ID 256u
#define CW_JOB_NEWS_DATA 4096u

typedef struct cw_job_news cw_job_news;
typedef struct cw_job_listener cw_job_listener;

/* NULL without memory. */
cw_job_news *cw_job_news_new(void);
/* NULL is fine. */
void cw_job_news_unref(cw_job_news *news);

/* A notification of the service has come. One that no job names is ignored. */
void cw_job_news_add(cw_job_news *news, const cw_config_jobs *jobs, cw_str method,
                     const cw_json *params);
/* The number of the last one. NULL: 0. */
uint64_t cw_job_news_now(cw_job_news *news);

/* A notification that reports the end of a job. */
typedef struct cw_job_end {
    cw_str data;  /* its params, JSON */
    cw_str error; /* pointer to the reason in them; empty: the job cannot fail so */
} cw_job_end;

/* The end of a job, of this id in JSON, that came after number `since`. The texts are in the arena.
 * False: none, or no memory. */
bool cw_job_news_find(cw_job_news *news, cw_str id, uint64_t since, cw_arena *arena,
                      cw_job_end *ret);

/* Have fn called on this loop for each job with news, until cw_job_listener_free. NULL without
 * memory. */
typedef void (*cw_job_news_fn)(void *ctx, cw_str id);
cw_job_listener *cw_job_news_listen(cw_job_news *news, cw_loop *loop, cw_job_news_fn fn, void *ctx);
/* On its loop. NULL is fine. */
void cw_job_listener_free(cw_job_listener *listener);

#endif
