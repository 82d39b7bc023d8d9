/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit.c - records, two lanes of them, and the thread that writes them as lines.
 *
 * Records are added to the `fill` of a lane under the lock. The thread swaps the buffers, and turns
 * the batch into lines without the lock. Records that cannot be written stay in the batch, and are
 * tried again. New records go to `fill`, up to the room of the lane for both.
 */
#include "audit/audit.h"

#include <errno.h>
#include <pthread.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "audit/file.h"
#include "audit/rules.h"
#include "audit/sums.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/node.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "json/write.h"
#include "metrics/metrics.h"

#define ALIGN 8u
#define MAX_ADDRESS 64u

#define RETRY_MS 1000u
/* How long a first record waits for others, so that many share one fdatasync. */
#define BATCH_MS 10u
/* Lines are written in pieces of about this size. */
#define PIECE (256u * 1024u)
#define PIECE_MAX (PIECE + 8u * CW_AUDIT_MAX_ARGUMENTS)
#define SCRATCH_MAX (32u * CW_AUDIT_MAX_ARGUMENTS)
/* For how long the end waits for a disk. */
#define PATIENCE_S 3

/* ---- records as bytes in a lane ---- */

/* Followed by its texts, and by bytes up to the next multiple of 8. */
typedef struct packed_record {
    uint32_t size; /* of all of it */
    uint32_t n_arguments;
    uint64_t number; /* in the order they came, over both lanes */
    int64_t when;
    uint64_t us;
    uint64_t count;
    int64_t code, since;
    const char *door, *outcome;
    uint16_t n_caller, n_caller_id, n_method, n_tool, n_address, n_detail;
    uint8_t kind;
    bool has_us, has_code, has_hash, has_trace, is_cut; /* the arguments were too long */
    uint64_t request;                                   /* 0: none */
    unsigned char trace_id[CW_IDS_TRACE];
    unsigned char hash[CW_AUDIT_HASH];
} packed_record;

static size_t cut(cw_str text, size_t max)
{
    return text.n <= max ? text.n : cw_utf8_cut(text, max);
}

static size_t arguments_of(const cw_audit_record *r, size_t max)
{
    return r->arguments.n <= max ? r->arguments.n : 0;
}

/* Bytes that the record takes. */
static size_t packed_size(const cw_audit_record *r, size_t max_arguments)
{
    size_t n = sizeof(packed_record) + cut(r->caller, CW_AUDIT_MAX_NAME) +
               cut(r->caller_id, CW_AUDIT_MAX_NAME) + cut(r->method, CW_AUDIT_MAX_NAME) +
               cut(r->tool, CW_AUDIT_MAX_NAME) + cut(r->address, MAX_ADDRESS) +
               cut(r->detail, CW_AUDIT_MAX_NAME) + arguments_of(r, max_arguments);
    return (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static uint16_t put(char **to, cw_str text, size_t max)
{
    size_t n = cut(text, max);
    if (n)
        memcpy(*to, text.p, n);
    *to += n;
    return (uint16_t)n;
}

/* The ids of the request that this thread works on. A count belongs to many. */
static void put_ids(packed_record *p)
{
    const cw_ids *ids = p->count ? NULL : cw_ids_current();
    if (!ids)
        return;
    p->request = ids->request;
    p->has_trace = ids->has_trace;
    if (ids->has_trace)
        memcpy(p->trace_id, ids->trace_id, sizeof p->trace_id);
}

/* Write it to `to`, which has that many. */
static void pack(const cw_audit_record *r, size_t max_arguments, uint64_t number, char *to)
{
    char *at = to + sizeof(packed_record);
    packed_record p = {
        .size = (uint32_t)packed_size(r, max_arguments),
        .number = number,
        .when = cw_clock_wall_ms(),
        .us = r->us,
        .count = r->count,
        .code = r->code,
        .since = r->since,
        .door = r->door,
        .outcome = r->outcome,
        .kind = (uint8_t)r->kind,
        .has_us = r->has_us,
        .has_code = r->has_code,
        .has_hash = r->arguments_hash != NULL,
        .is_cut = max_arguments > 0 && r->arguments.n > max_arguments,
    };
    if (p.has_hash)
        memcpy(p.hash, r->arguments_hash, CW_AUDIT_HASH);
    put_ids(&p);
    p.n_caller = put(&at, r->caller, CW_AUDIT_MAX_NAME);
    p.n_caller_id = put(&at, r->caller_id, CW_AUDIT_MAX_NAME);
    p.n_method = put(&at, r->method, CW_AUDIT_MAX_NAME);
    p.n_tool = put(&at, r->tool, CW_AUDIT_MAX_NAME);
    p.n_address = put(&at, r->address, MAX_ADDRESS);
    p.n_detail = put(&at, r->detail, CW_AUDIT_MAX_NAME);
    p.n_arguments = (uint32_t)arguments_of(r, max_arguments);
    if (p.n_arguments)
        memcpy(at, r->arguments.p, p.n_arguments);
    memcpy(to, &p, sizeof p);
}

/* The size of the record that begins here. */
static uint32_t packed_step(const char *packed)
{
    packed_record p;
    memcpy(&p, packed, sizeof p);
    return p.size;
}

/* ---- records as lines ---- */

static void open_line(cw_json_writer *w, cw_buf *out, int64_t when, const char *kind)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(when, date);
    cw_json_writer_init(w, out, CW_JSON_COMPACT);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("time"), cw_str_from(date));
    cw_json_add_string_member(w, CW_STR("kind"), cw_str_from(kind));
}

/* The bytes from `from` on with controls beyond ASCII as \uXXXX: they stand in texts only, and
 * JSON lets them stand there as they are. */
static void escape_controls(cw_buf *out, size_t from, cw_arena *scratch)
{
    size_t n = out->n - from, done = 0;
    char *copy = NULL;
    for (size_t i = 0; i < n;) {
        const char *p = copy ? copy : out->p + from;
        uint32_t cp = 0;
        unsigned len = (unsigned char)p[i] < 0x7f ? 1 : cw_utf8_decode(p + i, n - i, &cp);
        if (len == 0)
            len = 1;
        if (cp < 0x7f || !cw_utf8_is_control(cp)) {
            i += len;
            continue;
        }
        if (!copy) {
            cw_arena_reset(scratch);
            copy = cw_arena_dup(scratch, p, n);
            if (!copy) {
                out->code = CW_NOMEM;
                return;
            }
            out->n = from;
        }
        cw_buf_add_bytes(out, copy + done, i - done);
        cw_buf_printf(out, "\\u%04x", (unsigned)cp);
        done = i += len;
    }
    if (copy)
        cw_buf_add_bytes(out, copy + done, n - done);
}

static void close_object(cw_json_writer *w)
{
    cw_json_close(w);
    (void)!cw_json_writer_end(w, NULL); /* sticky in the buffer */
}

static void add_text(cw_json_writer *w, const char *name, const char **at, size_t n)
{
    if (n)
        cw_json_add_string_member(w, cw_str_from(name), cw_str_make(*at, n));
    *at += n;
}

static void add_count(cw_json_writer *w, const packed_record *p)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    if (!p->count)
        return;
    cw_clock_format_iso(p->since, date);
    cw_json_add_i64_member(w, CW_STR("count"), (int64_t)p->count);
    cw_json_add_string_member(w, CW_STR("since"), cw_str_from(date));
}

static void add_hash(cw_json_writer *w, const packed_record *p)
{
    char hex[2 * CW_AUDIT_HASH + 1];
    if (!p->has_hash)
        return;
    sodium_bin2hex(hex, sizeof hex, p->hash, sizeof p->hash);
    cw_json_add_string_member(w, CW_STR("arguments_hash"), cw_str_from(hex));
}

static void add_ids(cw_json_writer *w, const packed_record *p)
{
    char request[CW_IDS_HEX], trace[2 * CW_IDS_TRACE + 1];
    cw_ids_format_request(p->request, request);
    if (p->request)
        cw_json_add_string_member(w, CW_STR("request_id"), cw_str_from(request));
    cw_hex_write(trace, p->trace_id, sizeof p->trace_id);
    if (p->has_trace)
        cw_json_add_string_member(w, CW_STR("trace_id"), cw_str_from(trace));
}

/* Records of several servers can be searched together, and a missing number is a lost record. */
static void add_place(cw_json_writer *w, uint64_t number)
{
    cw_json_add_string_member(w, CW_STR("node"), cw_str_from(cw_node_text()));
    if (number)
        cw_json_add_i64_member(w, CW_STR("seq"), (int64_t)number);
}

/* Append the line of a record. `scratch` is reset. Errors are sticky in `out`. */
static void add_line(cw_buf *out, const char *packed, const cw_audit_rules *rules,
                     cw_arena *scratch)
{
    static const char *const kinds[] = {"call",    "refusal", "login", "change",
                                        "consent", "grant",   "task"};
    cw_json_writer w;
    packed_record p;
    memcpy(&p, packed, sizeof p);
    const char *at = packed + sizeof p;
    size_t from = out->n;
    open_line(&w, out, p.when, kinds[p.kind]);
    if (p.door)
        cw_json_add_string_member(&w, CW_STR("door"), cw_str_from(p.door));
    add_text(&w, "caller", &at, p.n_caller);
    add_text(&w, "caller_id", &at, p.n_caller_id);
    add_text(&w, "method", &at, p.n_method);
    add_text(&w, "tool", &at, p.n_tool);
    cw_json_add_string_member(&w, CW_STR("outcome"), cw_str_from(p.outcome));
    if (p.has_code)
        cw_json_add_i64_member(&w, CW_STR("code"), p.code);
    add_text(&w, "address", &at, p.n_address);
    add_text(&w, "detail", &at, p.n_detail);
    if (p.has_us)
        cw_json_add_i64_member(&w, CW_STR("us"), (int64_t)p.us);
    add_count(&w, &p);
    add_ids(&w, &p);
    add_place(&w, p.number);
    add_hash(&w, &p);
    bool is_cut = p.is_cut;
    cw_arena_reset(scratch);
    if (p.n_arguments)
        is_cut = !cw_audit_rules_write(rules, CW_STR("arguments"), cw_str_make(at, p.n_arguments),
                                       scratch, &w);
    if (is_cut)
        cw_json_add_bool_member(&w, CW_STR("arguments_left_out"), true);
    close_object(&w);
    if (!out->code)
        escape_controls(out, from, scratch);
    cw_buf_add_char(out, '\n');
}

/* The line with the number of lost records. */
static void add_lost(cw_buf *out, int64_t when, uint64_t security, uint64_t calls)
{
    cw_json_writer w;
    open_line(&w, out, when, "lost");
    cw_json_add_i64_member(&w, CW_STR("security"), (int64_t)security);
    cw_json_add_i64_member(&w, CW_STR("calls"), (int64_t)calls);
    add_place(&w, /* number= */ 0);
    close_object(&w);
    cw_buf_add_char(out, '\n');
}

/* ---- lanes ---- */

enum { SECURITY, CALLS, LANES };

typedef struct lane {
    char *fill, *batch;
    size_t n_fill, n_batch;
    size_t at;   /* the thread's own, of the batch: what was written */
    size_t held; /* of the batch: what was not, when the thread looked last */
    size_t room; /* for what is in both */
    atomic_uint_fast64_t lost;
    uint64_t reported; /* of those, in the file */
} lane;

/* The settings in force, for the thread and for cw_audit_add. */
typedef struct cw_audit_setup {
    cw_audit_file file;
    cw_arena arena; /* of the rules */
    cw_audit_rules rules;
    size_t arguments;
} setup;

struct cw_audit {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool is_running, is_stopping;
    lane lanes[LANES];
    cw_audit_sums sums;
    uint64_t number;
    setup *next;  /* to be used from the next batch on, or NULL */
    setup *setup; /* the thread's own from the first one on; NULL: it waits for that */
    atomic_bool is_on, is_failing;
    atomic_size_t arguments;
    cw_audit_status_fn on_status;
    void *ctx;
    /* the thread's own */
    cw_buf lines;
    cw_arena scratch;
};

/* ---- settings ---- */

void cw_audit_drop(cw_audit_setup *s)
{
    if (!s)
        return;
    cw_audit_file_close(&s->file);
    cw_arena_done(&s->arena);
    free(s);
}

static cw_code make_setup(const cw_audit_opts *opts, setup **ret, cw_err *err)
{
    setup *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    cw_arena_init(&s->arena, CW_AUDIT_MAX_ARGUMENTS);
    s->file.fd = -1;
    s->arguments =
        opts->arguments < CW_AUDIT_MAX_ARGUMENTS ? opts->arguments : CW_AUDIT_MAX_ARGUMENTS;
    cw_code rc = cw_audit_rules_make(opts->redact, opts->n_redact, &s->arena, &s->rules, err);
    if (!rc)
        rc = cw_audit_file_open(&s->file, opts, err);
    if (rc) {
        cw_audit_drop(s);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

static bool has_file(const setup *s)
{
    return s && s->file.path;
}

/* ---- the thread ---- */

static bool has_more(const lane *l)
{
    return l->at < l->n_batch;
}

static uint64_t number_at(const lane *l)
{
    packed_record p;
    memcpy(&p, l->batch + l->at, sizeof p);
    return p.number;
}

/* The lane of the next record: in order of arrival, but security records first while writing fails. */
static lane *choose(cw_audit *a)
{
    lane *security = &a->lanes[SECURITY], *calls = &a->lanes[CALLS];
    if (!has_more(security))
        return has_more(calls) ? calls : NULL;
    if (!has_more(calls) || atomic_load(&a->is_failing))
        return security;
    return number_at(security) < number_at(calls) ? security : calls;
}

static void report_status(cw_audit *a, const cw_err *err)
{
    bool is_failing = err != NULL;
    if (atomic_exchange(&a->is_failing, is_failing) != is_failing && a->on_status)
        a->on_status(a->ctx, err);
}

static cw_code write_lost(cw_audit *a, cw_err *err)
{
    uint64_t lost[LANES];
    bool any = false;
    for (int i = 0; i < LANES; i++) {
        lost[i] = atomic_load(&a->lanes[i].lost) - a->lanes[i].reported;
        any = any || lost[i];
    }
    if (!any)
        return CW_OK;
    cw_buf_clear(&a->lines);
    int64_t now = cw_clock_wall_ms();
    add_lost(&a->lines, now, lost[SECURITY], lost[CALLS]);
    cw_code rc = a->lines.code;
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    rc = cw_audit_file_append(&a->setup->file, cw_buf_str(&a->lines), now, err);
    for (int i = 0; i < LANES && !rc; i++)
        a->lanes[i].reported += lost[i];
    return rc;
}

/* Write the next records at once. Records that cannot be written stay in the batch. */
static cw_code write_piece(cw_audit *a, cw_err *err)
{
    size_t before[LANES] = {a->lanes[SECURITY].at, a->lanes[CALLS].at};
    lane *l;
    cw_buf_clear(&a->lines);
    while (a->lines.n < PIECE && (l = choose(a))) {
        add_line(&a->lines, l->batch + l->at, &a->setup->rules, &a->scratch);
        l->at += packed_step(l->batch + l->at);
    }
    cw_code rc = a->lines.code;
    if (rc)
        cw_fail(err, rc, "%s", cw_code_text(rc));
    else
        rc = cw_audit_file_append(&a->setup->file, cw_buf_str(&a->lines), cw_clock_wall_ms(), err);
    for (int i = 0; i < LANES && rc; i++)
        a->lanes[i].at = before[i];
    return rc;
}

static uint64_t count_left(const char *p, size_t at, size_t n)
{
    uint64_t count = 0;
    for (; at < n; at += packed_step(p + at))
        count++;
    return count;
}

static void give_up(lane *l)
{
    atomic_fetch_add(&l->lost, count_left(l->batch, l->at, l->n_batch));
    l->at = l->n_batch;
}

/* Whether all of the batch is in the file. */
static bool write_batch(cw_audit *a)
{
    cw_err err = {0};
    if (!has_file(a->setup)) {
        /* Switched off, and the file that was there before did not take these. */
        give_up(&a->lanes[SECURITY]);
        give_up(&a->lanes[CALLS]);
        atomic_store(&a->is_failing, false);
        return true;
    }
    cw_code rc = CW_OK;
    while (!rc && choose(a))
        rc = write_piece(a, &err);
    if (!rc)
        rc = write_lost(a, &err);
    if (!rc)
        rc = cw_audit_file_sync(&a->setup->file, &err);
    report_status(a, rc ? &err : NULL);
    return !choose(a);
}

/* With the lock held: whether records wait. */
static bool has_records(const cw_audit *a)
{
    return a->lanes[SECURITY].n_fill || a->lanes[CALLS].n_fill;
}

static bool has_sums(const cw_audit *a)
{
    return a->sums.due_ms != UINT64_MAX;
}

/* With the lock held: up to which time counts are due. The end of the server writes all of them. */
static uint64_t sums_until(const cw_audit *a)
{
    return a->is_stopping ? UINT64_MAX - 1 : cw_clock_ms();
}

/* With the lock held: whether the thread has something to write. */
static bool has_work(const cw_audit *a)
{
    return has_records(a) || a->sums.due_ms <= sums_until(a);
}

static lane *lane_of(cw_audit *a, const cw_audit_record *record)
{
    bool is_call = record->kind == CW_AUDIT_CALL || record->kind == CW_AUDIT_TASK;
    return &a->lanes[is_call ? CALLS : SECURITY];
}

/* With the lock held. False: the lane of the record is full. */
static bool enqueue(cw_audit *a, const cw_audit_record *record, size_t arguments)
{
    size_t n = packed_size(record, arguments);
    lane *l = lane_of(a, record);
    /* A lost record has a number too: it is missing in the file. */
    uint64_t number = ++a->number;
    if (n > l->room - l->n_fill - l->held)
        return false;
    pack(record, arguments, number, l->fill + l->n_fill);
    l->n_fill += n;
    return true;
}

/* The log has no line for a refused call that was counted. */
static void log_sum(const cw_audit_sum *sum)
{
    cw_audit_record r = cw_audit_sum_record(sum);
    if (sum->kind != CW_AUDIT_REFUSAL)
        return;
    if (r.count)
        cw_log(CW_LOG_INFO, "call", "calls refused", CW_KV("caller", r.caller),
               CW_KV("verdict", cw_str_from(r.outcome)),
               CW_KV("door", cw_str_from(r.door ? r.door : "")), CW_KV("address", r.address),
               CW_KN("count", r.count));
    else
        cw_log(CW_LOG_INFO, "call", "call refused", CW_KV(r.method.n ? "method" : "", r.method),
               CW_KV("caller", r.caller), CW_KV("verdict", cw_str_from(r.outcome)),
               CW_KV("door", cw_str_from(r.door ? r.door : "")));
}

/* With the lock held. A count that finds its lane full goes on. */
static void enqueue_sums(cw_audit *a)
{
    size_t at = 0;
    cw_audit_sum *sum;
    while ((sum = cw_audit_sums_next(&a->sums, &at, sums_until(a)))) {
        cw_audit_record r = cw_audit_sum_record(sum);
        if (!enqueue(a, &r, 0))
            continue;
        log_sum(sum);
        sum->count = 0;
    }
    if (at)
        cw_audit_sums_refresh(&a->sums);
}

static bool has_loss(const cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        if (atomic_load(&a->lanes[i].lost) != a->lanes[i].reported)
            return true;
    }
    return false;
}

/* With the lock held: until a record is added, or a count is due. */
static void wait_for_record(cw_audit *a)
{
    uint64_t now = cw_clock_ms();
    if (!has_sums(a)) {
        pthread_cond_wait(&a->wake, &a->lock);
    } else if (a->sums.due_ms > now) {
        struct timespec due = cw_thread_deadline(a->sums.due_ms - now);
        pthread_cond_timedwait(&a->wake, &a->lock, &due);
    }
}

/* With the lock held. */
static void wait_for_work(cw_audit *a)
{
    bool is_late = atomic_load(&a->is_failing) || has_loss(a);
    struct timespec until = cw_thread_deadline(is_late ? RETRY_MS : BATCH_MS);
    while (!is_late && !has_work(a) && !a->next && !a->is_stopping) {
        wait_for_record(a);
        until = cw_thread_deadline(BATCH_MS);
    }
    while (!a->is_stopping && !a->next &&
           pthread_cond_timedwait(&a->wake, &a->lock, &until) != ETIMEDOUT)
        continue;
}

/* With the lock held. The batch that is left from last time goes first. */
static void swap_lanes(cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        lane *l = &a->lanes[i];
        if (has_more(l))
            continue;
        char *empty = l->batch;
        l->batch = l->fill;
        l->n_batch = l->n_fill;
        l->at = 0;
        l->held = l->n_batch;
        l->fill = empty;
        l->n_fill = 0;
    }
}

/* With the lock held, when the batch of the old file is written or has to be given up. The file is
 * closed without it: a disk may take its time for that. */
static void take_next(cw_audit *a)
{
    setup *old = a->setup;
    if (!a->next)
        return;
    a->setup = a->next;
    a->next = NULL;
    pthread_mutex_unlock(&a->lock);
    cw_audit_drop(old);
    pthread_mutex_lock(&a->lock);
}

static void *thread_main(void *arg)
{
    cw_audit *a = arg;
    pthread_mutex_lock(&a->lock);
    while (!a->setup && !a->is_stopping)
        pthread_cond_wait(&a->wake, &a->lock);
    for (;;) {
        wait_for_work(a);
        /* Records of the old settings are written with them, if possible. */
        if (!has_file(a->setup))
            take_next(a);
        bool is_last = a->is_stopping;
        enqueue_sums(a);
        swap_lanes(a);
        bool is_next = a->next != NULL;
        pthread_mutex_unlock(&a->lock);
        bool is_done = write_batch(a);
        pthread_mutex_lock(&a->lock);
        for (int i = 0; i < LANES; i++)
            a->lanes[i].held = a->lanes[i].n_batch - a->lanes[i].at;
        if (is_next)
            take_next(a);
        if (is_last && (!is_done || !has_work(a)))
            break;
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* ---- from outside ---- */

static cw_code start(cw_audit *a, size_t room, cw_err *err)
{
    size_t rooms[LANES] = {CW_AUDIT_ROOM, room};
    for (int i = 0; i < LANES; i++) {
        lane *l = &a->lanes[i];
        l->room = rooms[i];
        l->fill = malloc(l->room);
        l->batch = malloc(l->room);
        if (!l->fill || !l->batch)
            return cw_fail_nomem(err);
    }
    cw_code rc = cw_audit_sums_init(&a->sums, err);
    if (rc)
        return rc;
    int errnum = cw_thread_start(&a->thread, thread_main, a);
    if (errnum)
        return cw_fail_errno(err, errnum, "start the audit's thread");
    a->is_running = true;
    return CW_OK;
}

static void free_lanes(cw_audit *a)
{
    for (int i = 0; i < LANES; i++) {
        free(a->lanes[i].fill);
        free(a->lanes[i].batch);
        a->lanes[i].fill = a->lanes[i].batch = NULL;
    }
    cw_audit_sums_done(&a->sums);
}

cw_code cw_audit_new(cw_audit_status_fn on_status, void *ctx, cw_audit **ret, cw_err *err)
{
    cw_audit *a = sodium_init() < 0 ? NULL : calloc(1, sizeof *a);
    if (!a)
        return cw_fail_nomem(err);
    a->on_status = on_status;
    a->ctx = ctx;
    pthread_mutex_init(&a->lock, NULL);
    cw_thread_cond_init(&a->wake);
    cw_buf_init(&a->lines, PIECE_MAX);
    cw_arena_init(&a->scratch, SCRATCH_MAX);
    *ret = a;
    return CW_OK;
}

cw_code cw_audit_prepare(cw_audit *a, const cw_audit_opts *opts, cw_audit_setup **ret, cw_err *err)
{
    *ret = NULL;
    if (!a->is_running && (!opts->path || !opts->path[0]))
        return CW_OK;
    cw_code rc = make_setup(opts, ret, err);
    if (rc || a->is_running)
        return rc;
    rc = start(a, opts->room, err);
    if (rc) {
        cw_audit_drop(*ret);
        *ret = NULL;
        free_lanes(a);
    }
    return rc;
}

void cw_audit_use(cw_audit *a, cw_audit_setup *fresh)
{
    if (!fresh)
        return;
    size_t arguments = fresh->arguments;
    bool is_on = has_file(fresh);
    pthread_mutex_lock(&a->lock);
    setup *unused = a->next;
    if (a->setup)
        a->next = fresh;
    else
        a->setup = fresh;
    pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    cw_audit_drop(unused);
    atomic_store(&a->arguments, arguments);
    atomic_store(&a->is_on, is_on);
}

static uint64_t count_lost(const cw_audit *a)
{
    return atomic_load(&a->lanes[SECURITY].lost) + atomic_load(&a->lanes[CALLS].lost);
}

/* With the lock held, or without the thread: what was not written when the thread looked last. */
static uint64_t count_waiting(const cw_audit *a)
{
    uint64_t count = 0;
    for (int i = 0; i < LANES; i++) {
        const lane *l = &a->lanes[i];
        count += count_left(l->batch, l->n_batch - l->held, l->n_batch);
        count += count_left(l->fill, 0, l->n_fill);
    }
    size_t at = 0;
    const cw_audit_sum *sum;
    while ((sum = cw_audit_sums_next(&a->sums, &at, UINT64_MAX)))
        count += sum->count;
    return count;
}

/* The thread hangs in the kernel, because the disk does not respond. Its memory is not freed. */
static uint64_t abandon(cw_audit *a)
{
    pthread_detach(a->thread);
    pthread_mutex_lock(&a->lock);
    uint64_t lost = count_lost(a) + count_waiting(a);
    pthread_mutex_unlock(&a->lock);
    return lost;
}

uint64_t cw_audit_free(cw_audit *a)
{
    if (!a)
        return 0;
    if (a->is_running) {
        pthread_mutex_lock(&a->lock);
        a->is_stopping = true;
        pthread_cond_signal(&a->wake);
        pthread_mutex_unlock(&a->lock);
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += PATIENCE_S;
        if (pthread_timedjoin_np(a->thread, NULL, &until))
            return abandon(a);
    }
    uint64_t lost = count_lost(a) + count_waiting(a);
    free_lanes(a);
    cw_audit_drop(a->next);
    cw_audit_drop(a->setup);
    cw_buf_done(&a->lines);
    cw_arena_done(&a->scratch);
    pthread_cond_destroy(&a->wake);
    pthread_mutex_destroy(&a->lock);
    free(a);
    return lost;
}

bool cw_audit_is_on(const cw_audit *a)
{
    return a && atomic_load_explicit(&a->is_on, memory_order_relaxed);
}

size_t cw_audit_arguments(const cw_audit *a)
{
    return atomic_load_explicit(&a->arguments, memory_order_relaxed);
}

bool cw_audit_is_failing(const cw_audit *a)
{
    return a && atomic_load(&a->is_failing);
}

void cw_audit_hash(cw_str bytes, unsigned char out[CW_AUDIT_HASH])
{
    crypto_generichash(out, CW_AUDIT_HASH, (const unsigned char *)bytes.p, bytes.n, NULL, 0);
}

void cw_audit_queued(cw_audit *a, size_t *ret_calls, size_t *ret_security)
{
    if (!a)
        return;
    pthread_mutex_lock(&a->lock);
    *ret_calls = a->lanes[CALLS].n_fill + a->lanes[CALLS].held;
    *ret_security = a->lanes[SECURITY].n_fill + a->lanes[SECURITY].held;
    pthread_mutex_unlock(&a->lock);
}

static cw_metrics_lane lane_label(cw_audit *a, const cw_audit_record *record)
{
    return lane_of(a, record) == &a->lanes[CALLS] ? CW_LANE_CALLS : CW_LANE_SECURITY;
}

bool cw_audit_add(cw_audit *a, const cw_audit_record *record)
{
    if (!cw_audit_is_on(a))
        return false;
    cw_network network;
    bool may_count = record->is_anonymous && record->address.n;
    if (may_count)
        cw_network_of(record->address, &network);
    pthread_mutex_lock(&a->lock);
    bool had_records = has_records(a), had_sums = has_sums(a);
    bool is_counted = may_count && cw_audit_sums_count(&a->sums, record, &network, cw_clock_ms());
    if (!is_counted && !enqueue(a, record, cw_audit_arguments(a))) {
        atomic_fetch_add(&lane_of(a, record)->lost, 1);
        cw_metrics_count(CW_METRIC_AUDIT_LOST, lane_label(a, record), 0, 0);
    } else {
        cw_metrics_count(CW_METRIC_AUDIT_RECORDS, record->kind, 0, 0);
    }
    if (has_records(a) != had_records || has_sums(a) != had_sums)
        pthread_cond_signal(&a->wake);
    pthread_mutex_unlock(&a->lock);
    return is_counted;
}

cw_code cw_audit_write(const cw_audit_opts *opts, const cw_audit_record *record, cw_err *err)
{
    setup *s = NULL;
    cw_buf line;
    cw_arena scratch;
    if (sodium_init() < 0)
        return cw_fail(err, CW_INTERNAL, "libsodium cannot be used");
    size_t n = packed_size(record, opts->arguments);
    char *packed = malloc(n);
    cw_code rc = packed ? make_setup(opts, &s, err) : cw_fail_nomem(err);
    if (rc) {
        free(packed);
        return rc;
    }
    pack(record, opts->arguments, 0, packed);
    cw_buf_init(&line, PIECE_MAX);
    cw_arena_init(&scratch, SCRATCH_MAX);
    add_line(&line, packed, &s->rules, &scratch);
    rc = line.code ? cw_fail(err, line.code, "%s", cw_code_text(line.code))
                   : cw_audit_file_append(&s->file, cw_buf_str(&line), cw_clock_wall_ms(), err);
    if (!rc)
        rc = cw_audit_file_sync(&s->file, err);
    cw_arena_done(&scratch);
    cw_buf_done(&line);
    free(packed);
    cw_audit_drop(s);
    return rc;
}
