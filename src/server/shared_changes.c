/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shared_changes.c - changes on their way to other servers, and from them. */
#include "server/shared_changes.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"

/* One resource, or the lists of one source. */
typedef struct entry {
    char *texts;                /* of the two */
    cw_str from;                /* name of the source */
    cw_str uri;                 /* empty: lists */
    unsigned pending, received; /* lists; RESOURCE for the resource */
    uint64_t sent_at, told_at;  /* the last letter, the last change that subscribers here know of */
} entry;

#define RESOURCE 0x80u

/* In front of name and address. */
typedef struct record {
    uint8_t what; /* entry.pending */
    uint8_t n_from;
    uint16_t n_uri;
} record;

struct cw_shared_changes {
    cw_shared_changes_opts opts;
    cw_change_sink sink;
    cw_message message; /* to the main loop: something is pending */
    pthread_mutex_t lock;
    /* Under the lock. */
    entry entries[CW_SHARED_CHANGES_MAX];
    size_t n;
    uint64_t n_lost;
};

/* ---- entries, with the lock ---- */

static bool is_idle(const entry *e, uint64_t now)
{
    return !e->pending && !e->received && now - e->sent_at >= CW_SHARED_CHANGES_MS &&
           now - e->told_at >= CW_SHARED_CHANGES_MS;
}

static void forget_idle(cw_shared_changes *s, uint64_t now)
{
    for (size_t i = 0; i < s->n;) {
        if (!is_idle(&s->entries[i], now)) {
            i++;
            continue;
        }
        free(s->entries[i].texts);
        s->entries[i] = s->entries[--s->n];
    }
}

/* NULL: too many, or out of memory. */
static entry *find_or_add(cw_shared_changes *s, cw_str from, cw_str uri, uint64_t now)
{
    for (size_t i = 0; i < s->n; i++) {
        if (cw_str_eq(s->entries[i].uri, uri) && cw_str_eq(s->entries[i].from, from))
            return &s->entries[i];
    }
    if (s->n == CW_SHARED_CHANGES_MAX)
        forget_idle(s, now);
    char *texts = s->n < CW_SHARED_CHANGES_MAX ? malloc(from.n + uri.n + 1) : NULL;
    if (!texts) {
        s->n_lost++;
        return NULL;
    }
    memcpy(texts, from.p, from.n);
    if (uri.n)
        memcpy(texts + from.n, uri.p, uri.n);
    s->entries[s->n] = (entry){.texts = texts,
                               .from = cw_str_make(texts, from.n),
                               .uri = cw_str_make(texts + from.n, uri.n)};
    return &s->entries[s->n++];
}

/* ---- to others ---- */

static void on_change(cw_change_sink *sink, const cw_change *change)
{
    cw_shared_changes *s = CW_CONTAINER(sink, cw_shared_changes, sink);
    uint64_t now = cw_clock_ms();
    s->opts.here->tell(s->opts.here, change);
    if (!change->from.n || change->from.n > UINT8_MAX || change->uri.n > CW_RESOURCE_MAX_URI ||
        !cw_replicas_has_others(s->opts.replicas))
        return;
    pthread_mutex_lock(&s->lock);
    entry *e = find_or_add(s, change->from, change->uri, now);
    bool is_due = e && now - e->sent_at >= CW_SHARED_CHANGES_MS;
    if (e) {
        e->pending |= change->uri.n ? RESOURCE : change->lists;
        e->told_at = now;
    }
    pthread_mutex_unlock(&s->lock);
    if (is_due) /* otherwise with a tick */
        cw_loop_notify(s->opts.loop, &s->message);
}

static void send_letter(const cw_shared_changes *s, cw_buf *bytes)
{
    const cw_letter letter = {.to = CW_LETTER_ALL,
                              .loop = CW_LETTER_ALL_LOOPS,
                              .kind = CW_SHARED_CHANGES_LETTER,
                              .bytes = cw_buf_str(bytes)};
    if (bytes->code || (bytes->n && cw_replicas_send(s->opts.replicas, &letter, 0)))
        cw_log(CW_LOG_WARN, "replica", "other servers do not learn of changes: too many wait");
    cw_buf_done(bytes);
    cw_buf_init(bytes, CW_LETTER_MAX);
}

static void add_record(cw_buf *bytes, const entry *e)
{
    const record head = {
        .what = (uint8_t)e->pending, .n_from = (uint8_t)e->from.n, .n_uri = (uint16_t)e->uri.n};
    cw_buf_add(bytes, cw_str_make((const char *)&head, sizeof head));
    cw_buf_add(bytes, e->from);
    cw_buf_add(bytes, e->uri);
}

static void send_pending(cw_shared_changes *s)
{
    CW_CLEANUP(cw_buf_done) cw_buf bytes;
    uint64_t now = cw_clock_ms();
    cw_buf_init(&bytes, CW_LETTER_MAX);
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++) {
        entry *e = &s->entries[i];
        if (!e->pending || now - e->sent_at < CW_SHARED_CHANGES_MS)
            continue;
        if (bytes.n + sizeof(record) + e->from.n + e->uri.n > CW_LETTER_MAX)
            send_letter(s, &bytes);
        add_record(&bytes, e);
        e->pending = 0;
        e->sent_at = now;
    }
    uint64_t n_lost = s->n_lost;
    s->n_lost = 0;
    pthread_mutex_unlock(&s->lock);
    send_letter(s, &bytes);
    if (n_lost)
        cw_log(CW_LOG_WARN, "replica", "other servers do not learn of changes: too many at once",
               CW_KN("changes", n_lost));
}

static void on_message(cw_message *message)
{
    send_pending(CW_CONTAINER(message, cw_shared_changes, message));
}

/* ---- from others ---- */

static void tell(const cw_shared_changes *s, const entry *e, const cw_sources *sources)
{
    cw_change change = {.lists = e->received & ~RESOURCE, .uri = e->uri};
    if (change.lists)
        change.source = cw_sources_find(sources, e->from);
    /* A source that this server does not have has no lists here. */
    if (e->uri.n || change.source)
        s->opts.here->tell(s->opts.here, &change);
}

static void tell_received(cw_shared_changes *s, const cw_sources *sources)
{
    uint64_t now = cw_clock_ms();
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < s->n; i++) {
        entry *e = &s->entries[i];
        if (!e->received || now - e->told_at < CW_SHARED_CHANGES_MS)
            continue;
        tell(s, e, sources);
        e->received = 0;
        e->told_at = now;
    }
    forget_idle(s, now);
    pthread_mutex_unlock(&s->lock);
}

/* Only servers with our key write letters, but the bytes are checked all the same. */
void cw_shared_changes_receive(cw_shared_changes *s, cw_str bytes, const cw_sources *sources)
{
    record head;
    uint64_t now = cw_clock_ms();
    pthread_mutex_lock(&s->lock);
    while (bytes.n >= sizeof head) {
        memcpy(&head, bytes.p, sizeof head);
        size_t n = sizeof head + head.n_from + head.n_uri;
        if (n > bytes.n || !head.n_from)
            break;
        cw_str from = cw_str_make(bytes.p + sizeof head, head.n_from);
        cw_str uri = cw_str_make(from.p + from.n, head.n_uri);
        entry *e = find_or_add(s, from, uri, now);
        if (e)
            e->received |= head.what;
        bytes = cw_str_make(bytes.p + n, bytes.n - n);
    }
    pthread_mutex_unlock(&s->lock);
    tell_received(s, sources);
}

void cw_shared_changes_tick(cw_shared_changes *s, const cw_sources *sources)
{
    send_pending(s);
    tell_received(s, sources);
}

/* ---- begin and end ---- */

cw_code cw_shared_changes_new(const cw_shared_changes_opts *opts, cw_shared_changes **ret,
                              cw_err *err)
{
    cw_shared_changes *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->opts = *opts;
    s->sink.tell = on_change;
    s->message.fn = on_message;
    pthread_mutex_init(&s->lock, NULL);
    *ret = s;
    return CW_OK;
}

void cw_shared_changes_free(cw_shared_changes *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++)
        free(s->entries[i].texts);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

cw_change_sink *cw_shared_changes_sink(cw_shared_changes *s)
{
    return &s->sink;
}
