/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replicas.h - this server among those that share its database.
 *
 * A server has a row in the database (store/replica.h) from its start to its end, and renews it. The
 * row shows operators which servers run, and whether they have the same configuration and the same
 * catalogue. It also gives the server a short number, for ids that have no room for the id of the node.
 *
 *     cw_replicas_new ─► cw_replicas_start ─► tick: row written, number known ─► … ─► cw_replicas_leave
 *
 * Servers send each other letters through the database: messages that arrived at one server and belong
 * to another. The body is sealed with the key that all of them have, so no port and no further secret is
 * needed.
 *
 *     loop ── cw_replicas_send ──► [outbox] ──► row in `letter` ··► [inbox] ──► on_letter, main thread
 *
 * Servers with one configuration and one version should have one catalogue. A server that sees another
 * catalogue at another one discovers its services again, once for each change and after growing
 * pauses. So the server with an old description gets the new one.
 *
 *     other digest ──► CW_REPLICAS_WAIT_MS and a random part ──► on_difference ──► pause, doubled
 *
 * A client that was notified of a change here may read its list at a server that has not changed yet. So
 * each change of another server is reported too (on_catalogue), and the client is notified again.
 *
 * A letter arrives once, or not at all: a server that has ended receives none. A letter to a server
 * without a row returns to its sender (on_returned); one to a server that was killed may be lost. Letters
 * are for messages that a load balancer routed to the wrong server, and for notices to all servers.
 * Callers take turns in the outbox, and one caller has at most half of it.
 *
 * Ownership: borrows the store, which ends before cw_replicas_free. Letters are copied.
 * Threads:   cw_replicas_number, _has_others, _is_settled and _send on any; _read_news on the
 *            store's; the others on the main one.
 * Limits:    CW_REPLICAS_MAX servers have a number; CW_LETTER_MAX bytes of a letter; CW_LETTERS_MAX letters
 *            and CW_LETTERS_BYTES bytes wait to be sent, and to be received, lasting ones not counted.
 *            Lasting letters wait until the database is back: at most CW_LETTERS_LASTING of them with
 *            CW_LETTERS_LASTING_BYTES, and one caller has at most half. More are lost, with a warning.
 */
#ifndef CW_REPLICA_REPLICAS_H
#define CW_REPLICA_REPLICAS_H

#include "access/seal.h"
#include "net/loop/loop.h"
#include "store/store.h"

#define CW_REPLICAS_TICK_MS 1000u
#define CW_REPLICAS_DIGEST 32u
#define CW_REPLICAS_MAX 1023u

typedef struct cw_replicas cw_replicas;

/* Increase it with each change of a message that becomes a letter (door/mcp/letter.h), or of its head.
 * Servers ignore letters of another form, so replicas of two versions with the same form work together. */
#define CW_LETTER_FORM 2u

#define CW_REPLICAS_WAIT_MS 500u     /* before a discovery, plus up to as long at random */
#define CW_REPLICAS_CHANGED_MS 3000u /* instead, on a server whose catalogue has just changed */
#define CW_REPLICAS_PAUSE_MS 5000u   /* between two discoveries, doubled each time */
#define CW_REPLICAS_PAUSE_MAX_MS 300000u

#define CW_LETTER_MAX ((size_t)1 << 20)
#define CW_LETTERS_MAX 1024u
#define CW_LETTERS_BYTES ((size_t)16 << 20)
#define CW_LETTERS_LASTING 8192u
#define CW_LETTERS_LASTING_BYTES ((size_t)4 << 20)
#define CW_LETTER_ALL 0u /* servers */
#define CW_LETTER_ALL_LOOPS UINT16_MAX

typedef struct cw_letter {
    uint32_t to;        /* the number of a server; CW_LETTER_ALL: all others */
    uint16_t loop;      /* of that server */
    uint16_t kind;      /* defined by sender and receiver */
    cw_str credentials; /* the Authorization header of the caller; empty: none */
    cw_str bytes;
    cw_fair_key by; /* the caller that causes it; all zero: the server itself */
    /* In a lasting letter: the caller's name, the same at all servers. Empty: the server itself. */
    cw_str owner;
    bool is_anonymous; /* the owner is a network */
} cw_letter;

typedef struct cw_replicas_opts {
    cw_loop *loop;       /* the main one */
    const cw_seal *seal; /* used from cw_replicas_start on */
    /* On the main thread; the letter lives until it returns. */
    void (*on_letter)(const cw_letter *letter, void *ctx);
    /* The same for a letter of this server to one other that was not delivered. `has_no_receiver`: that
     * server has ended or has too many letters; else the database is away. It may have taken the letter all
     * the same, if the connection ended with the commit. May be NULL. */
    void (*on_returned)(const cw_letter *letter, bool has_no_receiver, void *ctx);
    /* On the main thread: a server has another catalogue, so discover again. May be NULL. */
    void (*on_difference)(void *ctx);
    /* On the main thread, at most once in a tick: another server shows another catalogue than before, so
     * lists that clients have read there may be old. May be NULL. */
    void (*on_catalogue)(void *ctx);
    void *ctx;
    /* Renewals of a row in a file write to the disk, and the processes of one machine see each other:
     * one a minute is enough. */
    bool is_file;
    const char *version; /* of the program, for the row; a constant */
} cw_replicas_opts;

CW_MUST_USE cw_code cw_replicas_new(const cw_replicas_opts *opts, cw_replicas **ret, cw_err *err);
/* Before all other functions; borrowed. */
void cw_replicas_set_store(cw_replicas *replicas, cw_store *store);
/* NULL is fine. */
void cw_replicas_free(cw_replicas *replicas);

/* The contents of the row. A change is written with the next tick. */
typedef struct cw_replicas_shown {
    cw_str name;
    unsigned char config[CW_REPLICAS_DIGEST], catalogue[CW_REPLICAS_DIGEST];
} cw_replicas_shown;

void cw_replicas_show(cw_replicas *replicas, const cw_replicas_shown *shown);
/* The server can receive letters from now on. */
void cw_replicas_start(cw_replicas *replicas);
/* cw_store_opts.on_news: after the keys of the seal, which open letters. */
bool cw_replicas_read_news(cw_replicas *replicas, cw_db *db, bool is_new);
/* Whether other servers ran when their rows were last read. */
bool cw_replicas_has_others(const cw_replicas *replicas);
/* Whether no other server with the same configuration is known to have another catalogue. */
bool cw_replicas_is_settled(const cw_replicas *replicas);
/* Send a letter. `until` 0: an ordinary one. Otherwise it is a lasting one: all servers get it, also
 * those that start before `until` (wall clock, ms), and it waits while the database is unavailable.
 * CW_LIMIT: it is too large, or too many wait; CW_NOMEM. */
CW_MUST_USE cw_code cw_replicas_send(cw_replicas *replicas, const cw_letter *letter, int64_t until);
/* Each CW_REPLICAS_TICK_MS. */
void cw_replicas_tick(cw_replicas *replicas);
/* The server stops: send waiting lasting letters, and remove the row. Waits for at most `ms`. */
void cw_replicas_leave(cw_replicas *replicas, uint32_t ms);
/* The number of this server; 0: it has none, or none yet. */
uint32_t cw_replicas_number(const cw_replicas *replicas);

#endif
