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

typedef struct waiting {
    cw_list node;
    int64_t until;
    size_t n;
    char bytes[]; /* head, credentials, bytes */
} waiting;

/* ---- queues, with the lock ---- */

static bool has_room(const cw_letter_queue *q, uint32_t max, size_t n)
{
    return q->n < max && q->bytes + n <= CW_LETTERS_BYTES;
}

static void enqueue(cw_letter_queue *q, waiting *w)
{
    cw_list_add(&q->list, &w->node);
    q->n++;
    q->bytes += w->n;
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
    cw_metrics_count(CW_METRIC_LETTERS, 0, 0, 0);
    if (w->until)
        return cw_db_keep_letter(db, sealed, w->until, err);
    return cw_db_send_letter(db, cw_str_from(cw_node_text()), head.to, sealed, &n, err);
}

static cw_code run_mail(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, mail);
    cw_list letters;
    cw_code rc = CW_OK;
    pthread_mutex_lock(&r->lock);
    take_all(&r->outbox, &letters);
    pthread_mutex_unlock(&r->lock);
    for (cw_list *node; !rc && (node = cw_list_take_first(&letters));) {
        rc = write_letter(r, db, waiting_at(node), err);
        free_waiting(waiting_at(node));
    }
    drop_all(&letters);
    return rc;
}

/* With the lock. */
static void ask_mail(cw_replicas *r)
{
    if (!r->is_mailing && !r->is_closed && r->outbox.n)
        r->is_mailing = !cw_store_ask(r->store, &r->mail);
}

static void done_mail(cw_store_job *job, cw_code rc)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, mail);
    cw_list lost;
    cw_list_init(&lost);
    pthread_mutex_lock(&r->lock);
    r->is_mailing = false;
    r->is_closed = r->is_closed || rc == CW_GONE;
    /* Letters do not wait for a database that is away: no client waits for them that long. */
    if (rc)
        take_all(&r->outbox, &lost);
    ask_mail(r);
    pthread_mutex_unlock(&r->lock);
    drop_all(&lost);
}

static waiting *new_waiting(size_t n)
{
    waiting *w = malloc(sizeof *w + n);
    if (w)
        *w = (waiting){.n = n};
    return w;
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
    pthread_mutex_lock(&replicas->lock);
    bool is_queued = has_room(&replicas->outbox, CW_LETTERS_MAX, n);
    if (is_queued)
        enqueue(&replicas->outbox, w);
    ask_mail(replicas);
    pthread_mutex_unlock(&replicas->lock);
    if (!is_queued)
        free_waiting(w);
    return is_queued ? CW_OK : CW_LIMIT;
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
    cw_list_init(&r->outbox.list);
    cw_list_init(&r->inbox.list);
    r->mail = (cw_store_job){.run = run_mail, .done = done_mail};
    r->inform.fn = on_inform;
}

void cw_letters_done(cw_replicas *r)
{
    drop_all(&r->outbox.list);
    drop_all(&r->inbox.list);
}
