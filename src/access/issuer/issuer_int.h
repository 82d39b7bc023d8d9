/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuer_int.h - the issuers, for issuer.c and issuer_keys.c.
 *
 *     issuer.c        configuration, checks of tokens, introspection
 *     issuer_keys.c   metadata and keys of one issuer, on the main loop
 */
#ifndef CW_ACCESS_ISSUER_ISSUER_INT_H
#define CW_ACCESS_ISSUER_ISSUER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "access/credentials.h"
#include "access/issuer/issuer.h"

struct cw_issuer {
    atomic_uint refs;
    cw_arena arena;
    cw_issuer_opts opts;
    cw_trust *trust;                   /* withdrawn when it is removed or its options change */
    cw_issuers *all;                   /* the main thread's, until it is retired */
    atomic_uint_least64_t next_forced; /* when a token may cause the next refresh */
    atomic_bool is_fetching;           /* metadata or keys; stored before next_forced */

    pthread_mutex_t lock; /* of keys */
    cw_jwks *keys;        /* NULL: none yet */

    /* The main thread's: */
    uv_timer_t timer;
    cw_fetch fetch;
    unsigned candidate;              /* which metadata URL is tried */
    char url[CW_FETCH_MAX_URL + 64]; /* what is fetched */
    char jwks_uri[CW_FETCH_MAX_URL]; /* found in the metadata; "": not yet */
    char introspection[CW_FETCH_MAX_URL];
    unsigned char keys_digest[CW_DIGEST]; /* of the text that the keys are from */
    uint64_t keys_at;
    unsigned failures;
    char problem[CW_ERR_MSG_MAX]; /* of the last fetch; "": none */
    int64_t clock_ms;             /* its clock minus ours, by the last answer */
    uint64_t next_complaint;      /* when the log may hear again that it does not introspect */
    cw_token_check *waiting;      /* for keys, or for metadata */
    bool is_retired;
};

/* The issuers of a configuration; immutable. */
struct cw_issuer_set {
    atomic_uint refs;
    size_t n;
    cw_issuer *items[];
};

struct cw_issuers {
    cw_loop *loop;
    cw_fetcher *fetcher; /* NULL: no issuer yet */
    atomic_uint_least64_t generation;
    atomic_bool has_any;
    cw_token_check *introspecting; /* the main thread's */
    pthread_mutex_t lock;          /* of what follows */
    cw_issuer_set *set;            /* NULL: none */
    cw_token_check *checks, **checks_end;
    unsigned n_asks;
    cw_message on_checks; /* to the main loop: some are in the queue */
    bool is_closed;
};

/* issuer.c */
void cw_issuer_unref(cw_issuer *issuer);
/* The keys or the metadata of this issuer have come, or cannot be had: continue the checks that wait
 * for them. */
void cw_issuer_finish_check(cw_issuer *issuer);

/* issuer_keys.c */
/* Fetch keys, and the metadata if that is needed, unless a fetch is running. */
void cw_issuer_refresh(cw_issuer *issuer);
/* Whether a fetch is running. */
bool cw_issuer_is_busy(const cw_issuer *issuer);
void cw_issuer_retire(cw_issuer *issuer);
/* The endpoint for introspection; empty: not known (yet). */
cw_str cw_issuer_introspection(const cw_issuer *issuer);

#endif
