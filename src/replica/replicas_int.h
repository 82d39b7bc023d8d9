/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replicas_int.h - the parts of replicas.h, for replicas.c (the row) and letters.c. */
#ifndef CW_REPLICA_REPLICAS_INT_H
#define CW_REPLICA_REPLICAS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "base/process.h"
#include "replica/replicas.h"

#define CW_REPLICAS_DIGITS (2 * CW_REPLICAS_DIGEST + 1)

typedef struct cw_replicas_texts {
    char name[CW_DB_MAX_NAME + 1];
    char config[CW_REPLICAS_DIGITS], catalogue[CW_REPLICAS_DIGITS];
} cw_replicas_texts;

/* Letters that wait to be sent, under the lock: callers take turns. */
typedef struct cw_letter_outbox {
    cw_fair_queue queue;
    cw_fair_slots room; /* in units: each letter takes one, and one more for each `unit` bytes */
    uint32_t max;       /* units */
    size_t unit;
} cw_letter_outbox;

/* Letters that were received, under the lock. */
typedef struct cw_letter_queue {
    cw_list list;
    uint32_t n;
    size_t bytes;
} cw_letter_queue;

/* Hashes of the catalogues of other servers with the same configuration and version; 0: none. */
typedef struct cw_replicas_catalogues {
    uint64_t all, differing; /* from the catalogue of this server */
} cw_replicas_catalogues;

/* Catalogues of others, under the lock. */
typedef struct cw_replicas_difference {
    uint64_t all;        /* cw_replicas_catalogues.all */
    uint64_t others;     /* cw_replicas_catalogues.differing; 0: none */
    uint64_t changed_at; /* when the catalogue of this server changed */
    uint64_t ask_at;     /* when services are discovered again; 0: never */
    uint64_t asked_at;   /* the last time; 0: never */
    uint64_t pause_ms;   /* until the next time */
    bool must_repeat;    /* one has changed, and subscribers are not notified again yet */
} cw_replicas_difference;

struct cw_replicas {
    cw_replicas_opts opts;
    cw_store *store;
    char process[CW_PROCESS_ID];
    atomic_uint number;
    atomic_uint n_others;
    atomic_bool is_started;
    atomic_bool is_settled; /* no catalogue is known to differ */
    pthread_mutex_t lock;
    pthread_cond_t is_idle;
    /* Under the lock. */
    cw_store_job job;
    cw_replicas_texts shown;
    cw_replicas_difference difference;
    uint64_t due;    /* of the next renewal */
    bool is_asked;   /* the job waits or runs */
    bool is_closed;  /* the store has ended */
    bool is_leaving; /* the row is removed */
    cw_letter_outbox outbox;
    cw_letter_outbox lasting; /* letters that wait while the database is unavailable */
    cw_letter_queue inbox;
    bool is_waiting; /* lasting letters wait for the database: logged once */
    cw_store_job mail;
    bool is_mailing; /* that job waits or runs */
    /* The store's thread. */
    bool has_failed; /* the row could not be written */
    bool has_unread; /* the inbox had no room for a lasting letter */
    int64_t last;    /* the last lasting letter that was read, with these keys of the seal: */
    const cw_seal_key *opened_with;
    cw_message inform; /* to the main loop: letters are in the inbox */
};

/* difference.c: all with the lock */
typedef struct cw_db_replica cw_db_replica;
/* Add a row of another server to the hashes, which begin with 0. */
void cw_replicas_compare(const cw_replicas *r, const cw_db_replica *other,
                         cw_replicas_catalogues *found);
/* All rows were compared, at this time. */
void cw_replicas_compared(cw_replicas *r, const cw_replicas_catalogues *found, uint64_t now);
/* Whether services have to be discovered again at this time. */
bool cw_replicas_must_ask(cw_replicas *r, uint64_t now);
/* Whether subscribers have to be notified again, once. */
bool cw_replicas_must_repeat(cw_replicas *r);

/* letters.c */
void cw_letters_init(cw_replicas *r);
void cw_letters_done(cw_replicas *r);
/* Send the lasting letters that wait. With the lock. */
void cw_letters_retry(cw_replicas *r);
/* How many lasting letters wait. With the lock. */
uint32_t cw_letters_count_lasting(const cw_replicas *r);
/* Read the letters for this server. On the store's thread. has_unread: call it again soon. */
CW_MUST_USE cw_code cw_letters_receive(cw_replicas *r, cw_db *db, cw_err *err);

#endif
