/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_int.h - what the files of the remote source share; nobody else includes it. */
#ifndef CW_SOURCE_REMOTE_INT_H
#define CW_SOURCE_REMOTE_INT_H

#include "net/client.h"
#include "source/remote.h"

/* Times are milliseconds of a loop's clock: the same clock for all of them. */
typedef struct cw_breaker {
    atomic_uint failures; /* in a row */
    atomic_uint pause_ms;
    _Atomic uint64_t open_until; /* 0: closed */
    atomic_bool trial;           /* one call is under way to see whether it is over */
} cw_breaker;

/* Whether a call may be made; *ret_trial is to be given back with what became of it. */
bool cw_breaker_allow(cw_breaker *b, uint64_t now, bool *ret_trial);
/* It was answered. */
void cw_breaker_success(cw_breaker *b, bool trial);
/* It was not reached, or hung. */
void cw_breaker_failure(cw_breaker *b, bool trial, uint64_t now);
/* It says nothing either way. */
void cw_breaker_neutral(cw_breaker *b, bool trial);

typedef struct cw_remote_part cw_remote_part;

/* A method's part of a request. */
typedef struct cw_remote_wire {
    cw_str text; /* ,"method":"a.b","params": */
    bool may_repeat;
} cw_remote_wire;

typedef struct cw_remote {
    cw_source base;
    cw_arena arena; /* everything below that is no number */
    cw_client_url url;
    uint32_t connections;
    size_t answer_size;
    unsigned n_loops;
    cw_remote_part **parts; /* by loop, each touched by its loop only */
    const cw_remote_wire *wires;
    cw_breaker breaker;
} cw_remote;

/* remote.c */
extern const cw_source_ops cw_remote_ops;
/* A client for the service; `answer_size` is the largest answer. */
CW_MUST_USE cw_code cw_remote_client(const cw_remote *r, cw_loop *loop, size_t answer_size,
                                     cw_client **ret, cw_err *err);
void cw_remote_free(cw_remote *r);

/* What came back for a request. */
typedef struct cw_remote_reply {
    cw_client_end end;
    const cw_client_answer *answer;
    const char *why;
} cw_remote_reply;

/* remote_answer.c: the outcome of request `id`; its texts and documents are in the arena. */
void cw_remote_judge(cw_str service, uint64_t id, const cw_remote_reply *reply, cw_arena *arena,
                     cw_outcome *ret);

/* remote_scrub.c. A message that is fit for callers, `message` itself where nothing had to be
 * changed; .p is NULL when there is no memory. */
cw_str cw_remote_scrub_message(cw_str message, cw_arena *arena);
bool cw_remote_is_fit(const cw_json *data);

/* remote_hidden.c. CW_PARAMS: a text of the method has characters that are not shown to people, so
 * that nobody could tell what models read there. */
CW_MUST_USE cw_code cw_remote_check_hidden(const cw_method *m, cw_err *err);

/* remote_overlay.c: from the document to the methods that the operator wants. Problems are added as
 * lines. CW_PARAMS: there are some. */
CW_MUST_USE cw_code cw_remote_read(cw_remote *r, const cw_config_remote *config, const cw_json *doc,
                                   cw_buf *problems);

#endif
