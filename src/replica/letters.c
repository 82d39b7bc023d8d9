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
#define SHARE_PURPOSE CW_STR("share of letters")
/* Maximum of letters, and of lasting ones, in one job of the store: other jobs wait for it. */
#define MAIL_MAX 32u
/* A row holds the letter with its head, sealed and encoded as text. */
_Static_assert(CW_LETTER_MAX * 3 / 2 < CW_DB_LETTER, "a letter fits into its row");

/* In front of the texts. The form comes first: programs of other versions may have another head. */
typedef struct letter_head {
    uint32_t form;
    uint32_t to, n_credentials;
    uint16_t loop, kind;
} letter_head;

/* Limited: each letter of a server with another key or version would be a line of the log. */
static cw_log_kind ignored =
    CW_LOG_KIND(CW_LOG_WARN, "replica", "a letter of another server is ignored", "reason");
/* Limited: each end of a session would be a line of the log while the database is unavailable. */
static cw_log_kind dropped =
    CW_LOG_KIND(CW_LOG_WARN, "replica",
                "too many letters to all servers wait for the database: some are lost", "reason");

typedef struct waiting {
    cw_list node;      /* of the inbox, or of a list of letters that are being written */
    cw_fair_item turn; /* in its outbox */
    cw_fair_group *room;
    size_t n_units; /* of that outbox */
    cw_fair_key by;
    int64_t until;        /* 0: not a lasting letter */
    int64_t share;        /* cw_db_lasting.share */
    bool is_back;         /* a letter of this server that was not delivered */
    bool has_no_receiver; /* the reason of that */
    size_t n;
    char bytes[]; /* head, credentials, bytes */
} waiting;

static waiting *waiting_at(cw_list *node)
{
    return CW_CONTAINER(node, waiting, node);
}

/* The memory is wiped because letters contain credentials. */
static void free_waiting(waiting *w)
{
    explicit_bzero(w->bytes, w->n);
    free(w);
}

/* ---- queues, with the lock ---- */

static void give_room(cw_letter_outbox *box, waiting *w)
{
    for (; w->n_units; w->n_units--)
        cw_fair_slots_leave(&box->room, w->room);
}

/* Take room in an outbox. CW_LIMIT: the share of the caller is used up; CW_NOMEM. */
static cw_code take_room(cw_letter_outbox *box, waiting *w, const cw_fair_key *by)
{
    size_t n = 1 + w->n / box->unit;
    cw_code rc = CW_OK;
    while (!rc && w->n_units < n) {
        cw_fair_group *room;
        rc = cw_fair_slots_enter(&box->room, by, box->max, /* each= */ 0, &room);
        if (!rc) {
            w->room = room;
            w->n_units++;
        }
    }
    if (rc)
        give_room(box, w);
    return rc;
}

static cw_code enter_outbox(cw_letter_outbox *box, waiting *w, const cw_fair_key *by)
{
    cw_fair_item *lost;
    cw_code rc = take_room(box, w, by);
    if (rc)
        return rc;
    rc = cw_fair_push(&box->queue, &w->turn, by, UINT32_MAX, &lost);
    if (rc)
        give_room(box, w);
    return rc;
}

/* Take the next letter, by the turns of the callers; NULL: none. */
static waiting *take_next(cw_letter_outbox *box)
{
    cw_fair_item *item = cw_fair_first(&box->queue);
    if (!item)
        return NULL;
    waiting *w = CW_CONTAINER(item, waiting, turn);
    cw_fair_take(&box->queue, item);
    give_room(box, w);
    return w;
}

/* Move at most `max` letters of an outbox, in turn, to a list of the caller. */
static void take_some(cw_letter_outbox *box, cw_list *to, uint32_t max)
{
    cw_list_init(to);
    for (waiting *w; max && (w = take_next(box)); max--)
        cw_list_add(to, &w->node);
}

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

/* Move all letters of a queue to a list of the caller. */
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

/* Give a letter to the main thread. Frees it, and returns false, if so many wait already. */
static bool put_in(cw_replicas *r, waiting *w, uint32_t max)
{
    pthread_mutex_lock(&r->lock);
    bool is_queued = has_room(&r->inbox, max, w->n);
    if (is_queued)
        enqueue(&r->inbox, w);
    pthread_mutex_unlock(&r->lock);
    if (is_queued)
        cw_loop_notify(r->opts.loop, &r->inform);
    else
        free_waiting(w);
    return is_queued;
}

/* ---- sending ---- */

/* Return a letter to its sender, which may wait for its effect; drop a letter to all servers. */
static void give_back(cw_replicas *r, waiting *w, bool has_no_receiver)
{
    letter_head head;
    memcpy(&head, w->bytes, sizeof head);
    w->is_back = head.to != CW_LETTER_ALL && r->opts.on_returned;
    w->has_no_receiver = has_no_receiver;
    if (w->is_back)
        (void)put_in(r, w, CW_LETTERS_MAX);
    else
        free_waiting(w);
}

static void give_all_back(cw_replicas *r, cw_list *list)
{
    for (cw_list *node; (node = cw_list_take_first(list));)
        give_back(r, waiting_at(node), /* has_no_receiver= */ false);
}

/* *ret_n: the number of servers that get the letter. It is not set for a lasting letter. */
static cw_code write_letter(cw_replicas *r, cw_db *db, const waiting *w, int64_t *ret_n,
                            cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    letter_head head;
    cw_str sealed;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    memcpy(&head, w->bytes, sizeof head);
    cw_code rc =
        cw_seal_close(r->opts.seal, PURPOSE, cw_str_make(w->bytes, w->n), &arena, &sealed, err);
    if (rc)
        return rc;
    const cw_db_lasting lasting = {.body = sealed, .until = w->until, .share = w->share};
    rc = w->until ? cw_db_keep_letter(db, &lasting, err)
                  : cw_db_send_letter(db, cw_str_from(cw_node_text()), head.to, sealed, ret_n, err);
    if (!rc)
        cw_metrics_count(CW_METRIC_LETTERS, 0, 0, 0);
    return rc;
}

static cw_code send_outbox(cw_replicas *r, cw_db *db, cw_err *err)
{
    cw_list letters;
    cw_code rc = CW_OK;
    pthread_mutex_lock(&r->lock);
    take_some(&r->outbox, &letters, MAIL_MAX);
    pthread_mutex_unlock(&r->lock);
    for (cw_list *node; !rc && (node = cw_list_take_first(&letters));) {
        int64_t n = 0;
        rc = write_letter(r, db, waiting_at(node), &n, err);
        if (rc || !n)
            give_back(r, waiting_at(node), /* has_no_receiver= */ !rc);
        else
            free_waiting(waiting_at(node));
    }
    give_all_back(r, &letters);
    return rc;
}

/* Whether the database may accept the letter later. A commit whose outcome is unknown may send a
 * letter twice: the second one changes nothing. */
static bool is_passing(cw_code rc)
{
    return rc == CW_IO || rc == CW_TIMEOUT || rc == CW_NOTFOUND || rc == CW_NOMEM;
}

static void log_dropped(cw_code rc)
{
    cw_str reason = cw_str_from(cw_code_text(rc));
    cw_log_limited(&dropped, reason, CW_KV("reason", reason));
}

/* Put a letter back, unless other letters have taken its room meanwhile. */
static void put_back(cw_replicas *r, waiting *w)
{
    pthread_mutex_lock(&r->lock);
    cw_code rc = enter_outbox(&r->lasting, w, &w->by);
    pthread_mutex_unlock(&r->lock);
    if (!rc)
        return;
    log_dropped(rc);
    free_waiting(w);
}

static waiting *next_lasting(cw_replicas *r)
{
    pthread_mutex_lock(&r->lock);
    waiting *w = take_next(&r->lasting);
    pthread_mutex_unlock(&r->lock);
    return w;
}

/* Letters leave the outbox one at a time, so unsent ones stay in it. Logins wait for this job, so the
 * letters of a long outage are spread over several jobs. */
static cw_code send_lasting(cw_replicas *r, cw_db *db, cw_err *err)
{
    cw_code rc = CW_OK;
    int64_t n;
    for (unsigned i = 0; i < MAIL_MAX && !rc; i++) {
        waiting *w = next_lasting(r);
        if (!w)
            break;
        if (w->until > cw_clock_wall_ms())
            rc = write_letter(r, db, w, &n, err);
        if (is_passing(rc)) {
            put_back(r, w);
            break;
        }
        if (rc)
            log_dropped(rc);
        free_waiting(w);
    }
    return rc;
}

/* Letters that clients wait for are sent first. */
static cw_code run_mail(cw_store_job *job, cw_db *db, cw_err *err)
{
    cw_replicas *r = CW_CONTAINER(job, cw_replicas, mail);
    cw_code rc = send_outbox(r, db, err);
    return rc ? rc : send_lasting(r, db, err);
}

uint32_t cw_letters_count_lasting(const cw_replicas *r)
{
    return cw_fair_count(&r->lasting.queue);
}

/* With the lock. */
static void ask_mail(cw_replicas *r)
{
    bool has_mail = cw_fair_count(&r->outbox.queue) || cw_letters_count_lasting(r);
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
    uint32_t n = cw_letters_count_lasting(r);
    bool was_waiting = r->is_waiting;
    /* Letters do not wait for an unavailable database: no client waits for them that long. The end of
     * a session counts until the session would expire, so lasting letters wait for the next tick. */
    if (rc)
        take_some(&r->outbox, &lost, UINT32_MAX);
    else
        ask_mail(r);
    r->is_waiting = n && (rc || was_waiting);
    bool is_waiting = r->is_waiting;
    pthread_cond_broadcast(&r->is_idle);
    pthread_mutex_unlock(&r->lock);
    /* The server stops: its waiting requests end in another way. */
    if (rc == CW_GONE)
        drop_all(&lost);
    else
        give_all_back(r, &lost);
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

static cw_code send_from(cw_replicas *r, cw_letter_outbox *box, waiting *w, const cw_fair_key *by)
{
    pthread_mutex_lock(&r->lock);
    cw_code rc = enter_outbox(box, w, by);
    ask_mail(r);
    pthread_mutex_unlock(&r->lock);
    if (rc && w->until)
        log_dropped(rc);
    if (rc)
        free_waiting(w);
    return rc;
}

/* A digest of the caller's name, the same at all servers with the key, so that a caller has one share.
 * It hides the name from the database. Never 0, which is the share of the server itself. */
static int64_t share_of(const cw_replicas *r, const cw_letter *letter)
{
    unsigned char digest[CW_SEAL_DIGEST];
    int64_t share;
    if (!letter->owner.n)
        return 0;
    cw_seal_derive(cw_seal_get_current(r->opts.seal), SHARE_PURPOSE, letter->owner, digest);
    memcpy(&share, digest, sizeof share);
    share = (share & INT64_MAX) | 1;
    return letter->is_anonymous ? -share : share;
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
    w->by = letter->by;
    w->until = until;
    w->share = until ? share_of(replicas, letter) : 0;
    return send_from(replicas, until ? &replicas->lasting : &replicas->outbox, w, &letter->by);
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

/* Put a letter into the inbox, if it is for this server. CW_LIMIT: the inbox has `max` letters, or no
 * room for its bytes; CW_NOMEM. */
static cw_code take_body(cw_replicas *r, cw_str body, uint32_t max)
{
    CW_CLEANUP(cw_arena_wipe) cw_arena arena;
    cw_str plain;
    cw_arena_init(&arena, 4 * CW_DB_LETTER);
    const char *reason = open_body(r, body, &arena, &plain);
    if (reason) {
        cw_log_limited(&ignored, cw_str_from(reason), CW_KV("reason", cw_str_from(reason)));
        return cw_arena_code(&arena) == CW_NOMEM ? CW_NOMEM : CW_OK;
    }
    waiting *w = new_waiting(plain.n);
    if (!w)
        return CW_NOMEM;
    memcpy(w->bytes, plain.p, plain.n);
    return put_in(r, w, max) ? CW_OK : CW_LIMIT;
}

/* A letter that does not fit into the inbox is lost. */
static cw_code on_body(cw_str body, void *ctx, cw_err *err)
{
    (void)err;
    (void)!take_body(ctx, body, CW_LETTERS_MAX);
    return CW_OK;
}

/* A server that starts reads all kept letters. None may be lost, else an ended session would stay valid
 * here. If the inbox is full, the reading ends, and the next one begins with the same letter. */
static cw_code on_lasting(cw_str body, void *ctx, cw_err *err)
{
    cw_replicas *r = ctx;
    cw_code rc = take_body(r, body, CW_LETTERS_MAX + CW_DB_LASTING_LETTERS);
    r->has_unread = rc != CW_OK;
    return rc ? cw_fail(err, rc, "%s", cw_code_text(rc)) : CW_OK;
}

/* New keys may open letters that this server has ignored, so all of them are read again. */
static void begin_again_with_new_keys(cw_replicas *r)
{
    size_t n;
    const cw_seal_key *keys = cw_seal_get_keys(r->opts.seal, &n);
    if (r->opened_with != keys)
        r->last = 0;
    r->opened_with = keys;
}

cw_code cw_letters_receive(cw_replicas *r, cw_db *db, cw_err *err)
{
    begin_again_with_new_keys(r);
    r->has_unread = false;
    cw_code rc = cw_db_read_letters(db, &r->last, on_lasting, r, err);
    if (rc && !r->has_unread)
        return rc;
    return cw_db_take_letters(db, cw_str_from(cw_node_text()), on_body, r, err);
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
    if (w->is_back)
        r->opts.on_returned(&letter, w->has_no_receiver, r->opts.ctx);
    else
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

static void init_outbox(cw_letter_outbox *box, uint32_t max, size_t bytes)
{
    cw_fair_init(&box->queue);
    cw_fair_slots_init(&box->room);
    box->max = max;
    box->unit = bytes / max;
}

static void end_outbox(cw_letter_outbox *box)
{
    cw_list letters;
    take_some(box, &letters, UINT32_MAX);
    drop_all(&letters);
    cw_fair_done(&box->queue);
    cw_fair_slots_done(&box->room);
}

void cw_letters_init(cw_replicas *r)
{
    init_outbox(&r->outbox, CW_LETTERS_MAX, CW_LETTERS_BYTES);
    init_outbox(&r->lasting, CW_LETTERS_LASTING, CW_LETTERS_LASTING_BYTES);
    cw_list_init(&r->inbox.list);
    r->mail = (cw_store_job){.run = run_mail, .done = done_mail};
    r->inform.fn = on_inform;
}

void cw_letters_done(cw_replicas *r)
{
    end_outbox(&r->outbox);
    end_outbox(&r->lasting);
    drop_all(&r->inbox.list);
}
