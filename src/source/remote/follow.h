/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow.h - calls whose result comes later: a job of a service (job.h), a task of an MCP server
 * (source/remote/mcp/relayed_task.h). The service is polled until the job ends.
 *
 *     response of the call ─► follower ─► wait ─► (queue) ─► poll ─┬─ works ─► progress, wait
 *                                          ▲                       ├─ ended ─► result ─► done
 *                        notification ─────┘                       └─ failures in a row ─► done
 *     cancel ─► cancel call of the service
 *
 * A follower has one request under way at a time. Polls of one loop have few places, and wait for
 * them in their order. A job that does not change is polled less often, and so is a service that
 * fails. Polls respect the breaker of the source.
 *
 * Ownership: a follower is on the heap; it ends with done, with cancel, or with the part of its loop.
 * Threads:   one loop.
 * Limits:    CW_FOLLOW_MAX followers and CW_FOLLOW_POLLS polls of a source, for each loop;
 *            CW_FOLLOW_KEY bytes of a job's id; CW_FOLLOW_FAILURES and CW_FOLLOW_ERRORS in a row.
 */
#ifndef CW_SOURCE_REMOTE_FOLLOW_H
#define CW_SOURCE_REMOTE_FOLLOW_H

#include "base/list.h"
#include "source/protocol/dialect.h"
#include "source/relay/relay.h"
#include "source/source.h"
#include "source/upstream/job_news.h"

#define CW_FOLLOW_MAX 10000u
#define CW_FOLLOW_POLLS 16u
#define CW_FOLLOW_KEY CW_JOB_NEWS_ID
#define CW_FOLLOW_FAILURES 5u
#define CW_FOLLOW_ERRORS 3u
#define CW_FOLLOW_MIN_MS 100u
#define CW_FOLLOW_MAX_MS 60000u

typedef struct cw_follower cw_follower;
typedef struct cw_followers cw_followers;
struct cw_remote_loop_state;

typedef enum cw_follow_step {
    CW_FOLLOW_POLL,
    CW_FOLLOW_RESULT,  /* it has succeeded: read its result */
    CW_FOLLOW_DISMISS, /* it has ended: the service may forget it */
    CW_FOLLOW_CANCEL,
    CW_FOLLOW_UPDATE, /* answers to questions of an MCP server */
} cw_follow_step;

/* A request of one step; its texts live in the arena that was given, or longer. */
typedef struct cw_follow_request {
    const cw_request_template *wire; /* NULL: `relay` is the request */
    cw_str params, path;
    cw_relay_request relay;
} cw_follow_request;

/* The state that a response shows. */
typedef struct cw_follow_state {
    bool has_ended;
    bool cancels;         /* it has ended for its caller, and is to be cancelled at the service */
    cw_outcome outcome;   /* if it has ended */
    cw_progress progress; /* if it runs */
    uint32_t poll_ms;     /* until the next poll; 0: as before */
} cw_follow_state;

typedef struct cw_follow_ops {
    /* CW_NOTFOUND: the rule has no such step; CW_NOMEM. */
    cw_code (*write)(const cw_follower *f, cw_follow_step step, cw_arena *arena,
                     cw_follow_request *ret);
    /* `polled` is the outcome of the request: a result. The end may be put into the arena. */
    void (*judge)(cw_follower *f, cw_follow_step step, const cw_outcome *polled, cw_arena *arena,
                  cw_follow_state *ret);
    /* The end that a notification reports. CW_NOTFOUND: it reports none. NULL: no notifications. */
    cw_code (*judge_news)(const cw_follower *f, const cw_job_end *news, cw_arena *arena,
                          cw_follow_state *ret);
    /* As cw_source_ops.answer; NULL: the service sends no questions. */
    void (*answer)(cw_follower *f, uint32_t number, cw_str result, cw_str problem);
    /* Free what the rule keeps with it; NULL: nothing. */
    void (*free)(cw_follower *f);
} cw_follow_ops;

typedef struct cw_follow_start {
    const cw_follow_ops *ops;
    const void *rule; /* of ops; lives as long as the source */
    cw_str key;       /* id of the job; copied */
    void *self;       /* of ops; freed by it. Also if the follower could not be made */
    uint32_t poll_ms; /* between two polls */
    uint64_t since;   /* cw_job_news_now, when the call began */
    cw_source_call *call;
} cw_follow_start;

/* Follow a job from now on. CW_LIMIT: too many; CW_PARAMS: its id is too long;
 * CW_NOMEM. */
CW_MUST_USE cw_code cw_follow(struct cw_remote_loop_state *part, const cw_follow_start *start,
                              cw_follower **ret);
/* Its call is over: nothing is reported any more. The job is cancelled, unless it is kept. */
void cw_follow_cancel(cw_follower *f, bool keeps_job);
/* The answer to a question. */
void cw_follow_answer(cw_follower *f, uint32_t number, cw_str result, cw_str problem);
/* Whether one is left, also one that only cancels. NULL is fine. */
bool cw_followers_is_busy(const cw_followers *all);
/* Drop all followers. Their sinks are not called. NULL is fine. */
void cw_followers_free(cw_followers *all);

/* ---- for the rules ---- */

cw_str cw_follower_key(const cw_follower *f);
const void *cw_follower_rule(const cw_follower *f);
void *cw_follower_self(const cw_follower *f);
/* NULL: its call is over. */
cw_source_call *cw_follower_call(const cw_follower *f);
/* Send this step as soon as no other request is under way, and poll afterwards. */
void cw_follower_send(cw_follower *f, cw_follow_step step);

#endif
