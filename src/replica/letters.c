/* SPDX-License-Identifier: GPL-2.0-or-later */
/* letters.c - letters to other servers: queues, sealing, rows. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/node.h"
#include "metrics/metrics.h"
#include "replica/replicas_int.h"
#include "store/letter.h"

#define PURPOSE CW_STR("letter")
/* Bytes: a letter takes one unit of the outbox, and one more for each of these. */
#define UNIT (CW_LETTERS_BYTES / CW_LETTERS_MAX)
/* Letters, and lasting ones, that one job of the store writes: others wait for the store, too. */
#define MAIL_MAX 32u
/* Sealed and as text, with its head. */
_Static_assert(CW_LETTER_MAX * 3 / 2 < CW_DB_LETTER, "a letter fits into its row");

/* In front of the texts. The form comes first: programs of other versions may have another head. */
typedef struct letter_head {
    uint32_t form;
    uint32_t to, n_credentials;
    uint16_t loop, kind;
} letter_head;

/* Keys and versions of other servers: each of their letters could be a line. */
static cw_log_kind ignored =
    CW_LOG_KIND(CW_LOG_WARN, "replica", "a letter of another server is ignored", "reason");
/* Each end of a session could be a line while the database is away. */
static cw_log_kind dropped = CW_LOG_KIND(
    CW_LOG_WARN, "replica",
    "too many letters to all servers wait for the database: the oldest are lost", "reason");

typedef struct waiting {
    cw_list node;      /* of the inbox, of the lasting, or of a list of those that are written */
    cw_fair_item turn; /* in the outbox */
    cw_fair_group *room;
    size_t n_units; /* of the outbox */
    int64_t until;
    size_t n;
    char bytes[]; /* head, credentials, bytes */
} waiting;

static waiting *waiting_at(cw_list *node)
{
    return CW_CONTAINER(node, waiting, node);
}

/* It has credentials. */
static void free_waiting(waiting *w)
{
    explicit_bzero(w->bytes, w->n);
    free(w);
}

/* ---- queues, with the lock ---- */

static void give_room(cw_replicas *r, waiting *w)
{
    for (; w->n_units; w->n_units--)
        cw_fair_slots_leave(&r->outbox.room, w->room);
}

/* Take room in the outbox. CW_LIMIT: the share of the caller is used up; CW_NOMEM. */
static cw_code take_room(cw_replicas *r, waiting *w, const cw_fair_key *by)
{
    size_t n = 1 + w->n / UNIT;
    cw_code rc = CW_OK;
    while (!rc && w->n_units < n) {
        cw_fair_group *room;
        rc = cw_fair_slots_enter(&r->outbox.room, by, CW_LETTERS_MAX, /* each= */ 0, &room);
        if (!rc) {
            w->room = room;
            w->n_units++;
        }
    }
    if (rc)
        give_room(r, w);
    return rc;
}

static cw_code enter_outbox(cw_replicas *r, waiting *w, const cw_fair_key *by)
{
    cw_fair_item *lost;
    cw_code rc = take_room(r, w, by);
    if (rc)
        return rc;
    rc = cw_fair_push(&r->outbox.queue, &w->turn, by, UINT32_MAX, &lost);
    if (rc)
        give_room(r, w);
    return rc;
}

/* Some of the outbox, in turn, in a list of the caller. */
static void take_some(cw_replicas *r, cw_list *to, uint32_t max)
{
    cw_list_init(to);
    for (cw_fair_item *item; max && (item = cw_fair_first(&r->outbox.queue)); max--) {
        waiting *w = CW_CONTAINER(item, waiting, turn);
        cw_fair_take(&r->outbox.queue, item);
        give_room(r, w);
        cw_list_add(to, &w->node);
    }
}

static bool has_room(const cw_letter_queue *q, uint32_t max, size_t n)
{
    return q->n < max && q->bytes + n <= CW_LETTERS_BYTES;
}

static bool has_lasting_room(const cw_letter_queue *q, size_t n)
{
    return q->n < CW_LETTERS_LASTING && q->bytes + n <= CW_LETTERS_LASTING_BYTES;
}

static void enqueue(cw_letter_queue *q, waiting *w)
{
    cw_list_add(&q->list, &w->node);
    q->n++;
    q->bytes += w->n;
}

static waiting *dequeue(cw_letter_queue *q)
{
    cw_list *node = cw_list_take_first(&q->list);
    if (!node)
        return NULL;
    q->n--;
    q->bytes -= waiting_at(node)->n;
    return waiting_at(node);
}

/* All of them, in a list of the caller. */
static void take_all(cw_letter_queue *q, cw_list *to)
{
    cw_list_init(to);
    for (cw_list *node; (node = cw_list_take_first(&q->list));)
        cw_list_add(to, node);
    q->n = 0;
    q->bytes = 0;
}

static void drop_all(cw_list *list)
{
    for (cw_list *node; (node = cw_list_take_first(list));)
        free_waiting(waiting_at(node));
}

/* ---- sending ---- */

static cw_code write_letter(cw_replicas *r, cw_db *db, const waiting *w, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    letter_head head;
    cw_str sealed;
    int64_t n = 0;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    memcpy(&head, w->bytes, sizeof head);
    cw_code rc =
        cw_seal_close(r->opts.seal, PURPOSE, cw_str_make(w->bytes, w->n), &arena, &sealed, err);
    if (rc)
        return rc;
    rc = w->until ? cw_db_keep_letter(db, sealed, w->until, err)
                  : cw_db_send_letter(db, cw_str_from(cw_node_text()), head.to, sealed, &n, err);
    if (!rc)
        cw_metrics_count(CW_METRIC_LETTERS, 0, 0, 0);
    return rc;
}

static cw_code send_outbox(cw_replicas *r, cw_db *db, cw_err *err)
{
    cw_list letters;
    cw_code rc = CW_OK;
    pthread_mutex_lock(&r->lock);
    take_some(r, &letters, MAIL_MAX);
    pthread_mutex_unlock(&r->lock);
    for (cw_list *node; !rc && (node = cw_list_take_first(&letters));) {
        rc = write_letter(r, db, waiting_at(node), err);
        free_waiting(waiting_at(node));
    }
    drop_all(&letters);
    return rc;
}

/* The database may take it later. A commit whose outcome is unknown may send a letter twice: the second
 * one changes nothing. */
static bool is_passing(cw_code rc)
{
    return rc == CW_IO || rc == CW_TIMEOUT || rc == CW_NOTFOUND || rc == CW_NOMEM;
}

/* Put it back as the oldest, unless the bounds leave no room. */
static void put_back(cw_replicas *r, waiting *w)
{
    pthread_mutex_lock(&r->lock);
    bool has_place = has_lasting_room(&r->lasting, w->n);
    if (has_place) {
        cw_list_add_first(&r->lasting.list, &w->node);
        r->lasting.n++;
        r->lasting.bytes += w->n;
    }
    pthread_mutex_unlock(&r->lock);
    if (!has_place) {
        cw_log_limited(&dropped, CW_STR("bounds"), CW_KV("reason", CW_STR("bounds")));
        free_waiting(w);
    }
}

static waiting *next_lasting(cw_replicas *r)
{
    pthread_mutex_lock(&r->lock);
    waiting *w = dequeue(&r->lasting);
    pthread_mutex_unlock(&r->lock);
    return w;
}

/* One at a time: those that are not sent stay in their order. Logins wait meanwhile, so the rest of a
 * long outage is left to further jobs. */
static cw_code send_lasting(cw_replicas *r, cw_db *db, cw_err *err)
{
    cw_code rc = CW_OK;
    for (unsigned i = 0; i < MAIL_MAX && !rc; i++) {
        waiting *w = next_lasting(r);
        if (!w)
            break;
        if (w->until > cw_clock_wall_ms())
            rc = write_letter(r, db, w, err);
        if (is_passing(rc))
            put_back(r, w);
        else
            free_waiting(w);
    }
    return rc;
}

/* First those that a client waits for. */
static cw_code run_mail(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, mail);
    cw_code rc = send_outbox(r, db, err);
    return rc ? rc : send_lasting(r, db, err);
}

/* With the lock. */
static void ask_mail(cw_replicas *r)
{
    bool has_mail = cw_fair_count(&r->outbox.queue) || r->lasting.n;
    if (!r->is_mailing && !r->is_closed && has_mail)
        r->is_mailing = !cw_store_ask(r->store, &r->mail);
}

void cw_letters_retry(cw_replicas *r)
{
    ask_mail(r);
}

static void log_mail(bool is_waiting, uint32_t n)
{
    if (is_waiting)
        cw_log(CW_LOG_WARN, "replica", "the database is away: letters to all servers wait for it",
               CW_KN("n", n));
    else
        cw_log(CW_LOG_INFO, "replica", "letters to all servers that waited are sent");
}

static void done_mail(cw_store_job *job, cw_code rc)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, mail);
    cw_list lost;
    cw_list_init(&lost);
    pthread_mutex_lock(&r->lock);
    r->is_mailing = false;
    r->is_closed = r->is_closed || rc == CW_GONE;
    uint32_t n = r->lasting.n;
    bool was_waiting = r->is_waiting;
    /* Letters do not wait for a database that is away: no client waits for them that long. An end of a
     * session counts until the session would end by itself, so it waits for the next tick. */
    if (rc)
        take_some(r, &lost, UINT32_MAX);
    else
        ask_mail(r);
    r->is_waiting = n && (rc || was_waiting);
    bool is_waiting = r->is_waiting;
    pthread_mutex_unlock(&r->lock);
    drop_all(&lost);
    if (is_waiting != was_waiting && rc != CW_GONE)
        log_mail(is_waiting, n);
}

static waiting *new_waiting(size_t n)
{
    waiting *w = malloc(sizeof *w + n);
    if (w)
        *w = (waiting){.n = n};
    return w;
}

static cw_code send_soon(cw_replicas *r, waiting *w, const cw_fair_key *by)
{
    pthread_mutex_lock(&r->lock);
    cw_code rc = enter_outbox(r, w, by);
    ask_mail(r);
    pthread_mutex_unlock(&r->lock);
    if (rc)
        free_waiting(w);
    return rc;
}

/* The oldest give way: their sessions end by themselves first. */
static cw_code send_later(cw_replicas *r, waiting *w)
{
    cw_list old;
    cw_list_init(&old);
    pthread_mutex_lock(&r->lock);
    while (!has_lasting_room(&r->lasting, w->n)) {
        waiting *oldest = dequeue(&r->lasting);
        if (!oldest)
            break;
        cw_list_add(&old, &oldest->node);
    }
    enqueue(&r->lasting, w);
    ask_mail(r);
    pthread_mutex_unlock(&r->lock);
    if (!cw_list_is_empty(&old))
        cw_log_limited(&dropped, CW_STR("bounds"), CW_KV("reason", CW_STR("bounds")));
    drop_all(&old);
    return CW_OK;
}

cw_code cw_replicas_send(cw_replicas *replicas, const cw_letter *letter, int64_t until)
{
    letter_head head;
    size_t n = sizeof head + letter->credentials.n + letter->bytes.n;
    waiting *w = n <= CW_LETTER_MAX ? new_waiting(n) : NULL;
    if (!w)
        return n <= CW_LETTER_MAX ? CW_NOMEM : CW_LIMIT;
    memset(&head, 0, sizeof head);
    head.form = CW_LETTER_FORM;
    head.to = letter->to;
    head.loop = letter->loop;
    head.kind = letter->kind;
    head.n_credentials = (uint32_t)letter->credentials.n;
    memcpy(w->bytes, &head, sizeof head);
    if (letter->credentials.n)
        memcpy(w->bytes + sizeof head, letter->credentials.p, letter->credentials.n);
    if (letter->bytes.n)
        memcpy(w->bytes + sizeof head + letter->credentials.n, letter->bytes.p, letter->bytes.n);
    w->until = until;
    return until ? send_later(replicas, w) : send_soon(replicas, w, &letter->by);
}

/* ---- receiving ---- */

/* Why the letter is not for this server; NULL: it is. */
static const char *reason_against(const cw_replicas *r, cw_str plain)
{
    letter_head head = {0};
    memcpy(&head.form, plain.p, plain.n < sizeof head.form ? plain.n : sizeof head.form);
    if (head.form != CW_LETTER_FORM || plain.n < sizeof head)
        return "another version";
    memcpy(&head, plain.p, sizeof head);
    bool is_to_us = head.to == CW_LETTER_ALL || head.to == atomic_load(&r->number);
    return is_to_us && head.n_credentials <= plain.n - sizeof head ? NULL : "another receiver";
}

/* A letter that cannot be opened was sealed with another key, or was changed. */
static const char *open_body(const cw_replicas *r, cw_str body, cw_arena *arena, cw_str *ret)
{
    cw_code rc = cw_seal_open(r->opts.seal, PURPOSE, body, arena, ret);
    if (rc)
        return rc == CW_NOMEM ? "out of memory" : "another key";
    return reason_against(r, *ret);
}

/* Put it into the inbox, unless that has `max` letters. */
static void take_body(cw_replicas *r, cw_str body, uint32_t max)
{
    CW_CLEANUP(cw_arena_wipe) cw_arena arena;
    cw_str plain;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    const char *reason = open_body(r, body, &arena, &plain);
    if (reason) {
        cw_log_limited(&ignored, cw_str_from(reason), CW_KV("reason", cw_str_from(reason)));
        return;
    }
    waiting *w = new_waiting(plain.n);
    if (!w)
        return; /* as if it had been lost on the way */
    memcpy(w->bytes, plain.p, plain.n);
    pthread_mutex_lock(&r->lock);
    bool is_queued = has_room(&r->inbox, max, w->n);
    if (is_queued)
        enqueue(&r->inbox, w);
    pthread_mutex_unlock(&r->lock);
    if (is_queued)
        cw_loop_notify(r->opts.loop, &r->inform);
    else
        free_waiting(w);
}

static cw_code on_body(cw_str body, void *ctx, cw_err *err)
{
    (void)err;
    take_body(ctx, body, CW_LETTERS_MAX);
    return CW_OK;
}

/* A server that starts reads all that are kept. They are small. */
static cw_code on_lasting(cw_str body, void *ctx, cw_err *err)
{
    (void)err;
    take_body(ctx, body, CW_LETTERS_MAX + CW_DB_LASTING_LETTERS);
    return CW_OK;
}

cw_code cw_letters_receive(cw_replicas *r, cw_db *db, cw_err *err)
{
    cw_code rc = cw_db_take_letters(db, cw_str_from(cw_node_text()), on_body, r, err);
    return rc ? rc : cw_db_read_letters(db, &r->last, on_lasting, r, err);
}

static void deliver(const cw_replicas *r, const waiting *w)
{
    letter_head head;
    memcpy(&head, w->bytes, sizeof head);
    const char *credentials = w->bytes + sizeof head;
    const char *bytes = credentials + head.n_credentials;
    const cw_letter letter = {.to = head.to,
                              .loop = head.loop,
                              .kind = head.kind,
                              .credentials = cw_str_make(credentials, head.n_credentials),
                              .bytes = cw_str_make(bytes, w->n - sizeof head - head.n_credentials)};
    r->opts.on_letter(&letter, r->opts.ctx);
}

static void on_inform(cw_message *message)
{
    cw_replicas *r = CW_CONTAINER(message, cw_replicas, inform);
    cw_list letters;
    pthread_mutex_lock(&r->lock);
    take_all(&r->inbox, &letters);
    pthread_mutex_unlock(&r->lock);
    for (cw_list *node; (node = cw_list_take_first(&letters));) {
        deliver(r, waiting_at(node));
        free_waiting(waiting_at(node));
    }
}

/* ---- both ---- */

void cw_letters_init(cw_replicas *r)
{
    cw_fair_init(&r->outbox.queue);
    cw_fair_slots_init(&r->outbox.room);
    cw_list_init(&r->lasting.list);
    cw_list_init(&r->inbox.list);
    r->mail = (cw_store_job){.run = run_mail, .done = done_mail};
    r->inform.fn = on_inform;
}

void cw_letters_done(cw_replicas *r)
{
    cw_list letters;
    take_some(r, &letters, UINT32_MAX);
    drop_all(&letters);
    drop_all(&r->lasting.list);
    drop_all(&r->inbox.list);
    cw_fair_done(&r->outbox.queue);
    cw_fair_slots_done(&r->outbox.room);
}
