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

/* Letters that wait, under the lock. */
typedef struct cw_letter_queue {
    cw_list list;
    uint32_t n;
    size_t bytes;
} cw_letter_queue;

/* Catalogues of others that differ from ours, under the lock. */
typedef struct cw_replicas_difference {
    uint64_t others;     /* a hash of them; 0: none differs */
    uint64_t changed_at; /* of our own catalogue */
    uint64_t ask_at;     /* when services are asked; 0: never */
    uint64_t asked_at;   /* the last time; 0: never */
    uint64_t pause_ms;   /* until the next time */
} cw_replicas_difference;

struct cw_replicas {
    cw_replicas_opts opts;
    cw_store *store;
    char process[CW_PROCESS_ID];
    atomic_uint number;
    atomic_uint n_others;
    atomic_bool is_started;
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
    cw_letter_queue outbox, inbox;
    cw_store_job mail;
    bool is_mailing; /* that job waits or runs */
    /* The store's thread. */
    bool has_failed;   /* the row could not be written */
    int64_t last;      /* lasting letter that was read */
    cw_message inform; /* to the main loop: letters are in the inbox */
};

/* difference.c: all with the lock */
typedef struct cw_db_replica cw_db_replica;
/* Add a row of another server to a hash of the differing ones, which begins with 0. */
void cw_replicas_compare(const cw_replicas *r, const cw_db_replica *other, uint64_t *hash);
/* All rows were compared, at this time. */
void cw_replicas_compared(cw_replicas *r, uint64_t hash, uint64_t now);
/* Whether services have to be asked at this time. */
bool cw_replicas_must_ask(cw_replicas *r, uint64_t now);

/* letters.c */
void cw_letters_init(cw_replicas *r);
void cw_letters_done(cw_replicas *r);
/* Read what is for this server. On the store's thread. */
CW_MUST_USE cw_code cw_letters_receive(cw_replicas *r, cw_db *db, cw_err *err);

#endif
