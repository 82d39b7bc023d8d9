/* SPDX-License-Identifier: GPL-2.0-or-later */
/* revived.c - compares the withdrawals of an audit with a database. */
#include "cli/store/revived.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/oauth/exchange.h"
#include "base/buf.h"
#include "base/map.h"
#include "config/session_limits.h"
#include "store/oauth.h"

#define ARENA_MAX ((size_t)64 << 20)
#define KEY_MAX 1024u

/* The newest record about one right. */
typedef struct event {
    char when[CW_CLOCK_ISO_LEN + 1];
    cw_str by;
    bool is_withdrawn;
} event;

struct cw_withdrawals {
    cw_map events; /* by kind and target */
    cw_arena arena;
    cw_arena scratch; /* of one record */
    bool is_full;
    uint64_t n_damaged, n_lost;
};

cw_code cw_withdrawals_new(cw_withdrawals **ret, cw_err *err)
{
    cw_withdrawals *w = calloc(1, sizeof *w);
    if (!w)
        return cw_fail_nomem(err);
    cw_map_init(&w->events, CW_WITHDRAWALS_MAX);
    cw_arena_init(&w->arena, ARENA_MAX);
    cw_arena_init(&w->scratch, ARENA_MAX);
    *ret = w;
    return CW_OK;
}

void cw_withdrawals_free(cw_withdrawals *w)
{
    if (!w)
        return;
    cw_map_done(&w->events);
    cw_arena_done(&w->arena);
    cw_arena_done(&w->scratch);
    free(w);
}

uint64_t cw_withdrawals_n_damaged(const cw_withdrawals *w)
{
    return w->n_damaged;
}

uint64_t cw_withdrawals_n_lost(const cw_withdrawals *w)
{
    return w->n_lost;
}

/* ---- records ---- */

/* Changes of rights: by a method, or by a command without a server. */
static const struct rule {
    const char *method, *command;
    cw_revived_kind kind;
    bool withdraws;
} rules[] = {
    {"causeway.tokens.revoke", "token revoke", CW_REVIVED_TOKEN, true},
    {"causeway.grants.revoke", "grant revoke", CW_REVIVED_GRANT, true},
    {"causeway.sessions.end", "session revoke", CW_REVIVED_SESSION, true},
    {"causeway.accounts.revoke", "account revoke", CW_REVIVED_ACCOUNT_ROLE, true},
    {"causeway.accounts.grant", "account grant", CW_REVIVED_ACCOUNT_ROLE, false},
    {"causeway.accounts.block", "account block", CW_REVIVED_BLOCK, true},
    {"causeway.accounts.unblock", "account unblock", CW_REVIVED_BLOCK, false},
    {"causeway.accounts.remove", "account remove", CW_REVIVED_ACCOUNT, true},
    {"causeway.accounts.add", "account add", CW_REVIVED_ACCOUNT, false},
    {"causeway.roles.deny", "role deny", CW_REVIVED_PERMISSION, true},
    {"causeway.roles.allow", "role allow", CW_REVIVED_PERMISSION, false},
    {"causeway.roles.remove", "role remove", CW_REVIVED_ROLE, true},
    {"causeway.roles.add", "role add", CW_REVIVED_ROLE, false},
};

static bool has_number(cw_revived_kind kind)
{
    return kind == CW_REVIVED_TOKEN || kind == CW_REVIVED_GRANT || kind == CW_REVIVED_SESSION;
}

static cw_str text_of(const cw_json *record, const char *name)
{
    const cw_json *v = cw_json_get(record, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

/* The number as a caller may have written it: 7, 007 or 7.0. */
static bool parse_number(cw_withdrawals *w, cw_str text, int64_t *ret)
{
    uint64_t number;
    const cw_json *v = NULL;
    if (cw_str_to_u64(text, &number) && number <= INT64_MAX) {
        *ret = (int64_t)number;
        return true;
    }
    return !cw_json_read(text, NULL, &w->scratch, &v, NULL, NULL) && cw_json_to_i64(v, ret);
}

/* Writes the key of a right; false: no record can have it. */
static bool write_key(cw_buf *key, cw_revived_kind kind, int64_t id, cw_str target)
{
    cw_buf_clear(key);
    cw_buf_printf(key, "%d:", (int)kind);
    if (has_number(kind))
        cw_buf_printf(key, "%lld", (long long)id);
    else
        cw_buf_add(key, target);
    return !key->code;
}

static cw_code add_event(cw_withdrawals *w, cw_str key, const cw_json *record, bool is_withdrawn,
                         cw_err *err)
{
    cw_str when = text_of(record, "time");
    event *e = cw_map_find(&w->events, key);
    if (when.n != CW_CLOCK_ISO_LEN || (e && cw_str_cmp(when, cw_str_from(e->when)) <= 0))
        return CW_OK;
    if (!e) {
        cw_str kept = cw_arena_dup_str(&w->arena, key);
        e = cw_arena_calloc(&w->arena, 1, sizeof *e);
        cw_code rc = kept.p && e ? cw_map_put(&w->events, kept, e, NULL) : cw_arena_code(&w->arena);
        if (rc == CW_LIMIT) {
            w->is_full = true;
            return CW_DONE;
        }
        if (rc)
            return cw_fail_nomem(err);
    }
    memcpy(e->when, when.p, when.n);
    e->by = cw_arena_dup_str(&w->arena, text_of(record, "caller"));
    e->is_withdrawn = is_withdrawn;
    return e->by.p ? CW_OK : cw_fail_nomem(err);
}

static cw_code add_change(cw_withdrawals *w, cw_revived_kind kind, cw_str target,
                          const cw_json *record, bool is_withdrawn, cw_err *err)
{
    int64_t id = 0;
    CW_CLEANUP(cw_buf_done) cw_buf key;
    cw_buf_init(&key, KEY_MAX);
    if ((has_number(kind) && !parse_number(w, target, &id)) || !write_key(&key, kind, id, target))
        return key.code == CW_NOMEM ? cw_fail_nomem(err) : CW_OK;
    return add_event(w, cw_buf_str(&key), record, is_withdrawn, err);
}

static cw_code take_change(cw_withdrawals *w, const cw_json *record, cw_err *err)
{
    cw_str method = text_of(record, "method");
    if (!cw_str_is(text_of(record, "outcome"), "ok"))
        return CW_OK;
    for (size_t i = 0; i < CW_COUNT(rules); i++) {
        if (cw_str_is(method, rules[i].method) || cw_str_is(method, rules[i].command))
            return add_change(w, rules[i].kind, text_of(record, "detail"), record,
                              rules[i].withdraws, err);
    }
    return CW_OK;
}

/* A grant that is used after a client has revoked one of its access tokens was not ended. */
static cw_code take_grant(cw_withdrawals *w, const cw_json *record, cw_err *err)
{
    cw_str outcome = text_of(record, "outcome");
    bool is_end = cw_str_is(outcome, "revoked") || cw_str_is(outcome, "reused");
    if (!is_end && !cw_str_is(outcome, "refreshed") && !cw_str_is(outcome, "issued"))
        return CW_OK;
    return add_change(w, CW_REVIVED_GRANT, text_of(record, "method"), record, is_end, err);
}

static void count_lost(cw_withdrawals *w, const cw_json *record)
{
    int64_t n = 0;
    const cw_json *v = cw_json_get(record, CW_STR("security"));
    if (v && cw_json_to_i64(v, &n) && n > 0)
        w->n_lost += (uint64_t)n;
}

static cw_code take_record(const cw_json *record, void *ctx, cw_err *err)
{
    cw_withdrawals *w = ctx;
    cw_str kind = text_of(record, "kind");
    cw_arena_reset(&w->scratch);
    if (cw_str_is(kind, "change"))
        return take_change(w, record, err);
    if (cw_str_is(kind, "grant"))
        return take_grant(w, record, err);
    if (cw_str_is(kind, "lost"))
        count_lost(w, record);
    return CW_OK;
}

cw_code cw_withdrawals_read(cw_withdrawals *w, const char *path, unsigned files, const char *since,
                            cw_err *err)
{
    cw_audit_search s = {.path = path, .files = files, .fn = take_record, .ctx = w};
    snprintf(s.filter.since, sizeof s.filter.since, "%s", since);
    w->is_full = false;
    for (unsigned round = 0; round < CW_WITHDRAWALS_ROUNDS; round++) {
        cw_code rc = cw_audit_search_run(&s, err);
        w->n_damaged += s.n_damaged;
        if (rc == CW_DONE)
            break;
        if (rc || !s.is_late)
            return rc;
        s.from = s.end;
    }
    return cw_fail(err, CW_LIMIT, "'%s': records before %s were not read: %s", path,
                   s.oldest[0] ? s.oldest : "its end",
                   w->is_full ? "too many changes" : "it takes too long");
}

/* ---- the database ---- */

typedef struct finder {
    const cw_withdrawals *w;
    cw_db *db;
    cw_arena *arena;
    int64_t now;
    int64_t grant_idle_ms, session_idle_ms, session_ms;
    cw_buf key;
    cw_buf target;
    cw_str role;       /* whose permissions are compared */
    cw_str account;    /* whose roles are compared */
    int64_t created;   /* of this account */
    cw_revived **last; /* where the next one is linked */
} finder;

/* Whether the newest record withdraws what exists since `created`. */
static bool is_withdrawn(const event *e, int64_t created)
{
    char since[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(created, since);
    return e && e->is_withdrawn && strcmp(since, e->when) <= 0;
}

static bool copy(cw_arena *arena, cw_str *text)
{
    *text = cw_arena_dup_str(arena, *text);
    return text->p != NULL;
}

/* Add it to the list if its withdrawal is recorded. */
static cw_code compare(finder *f, const cw_revived *what, cw_str target, int64_t created,
                       cw_err *err)
{
    if (!write_key(&f->key, what->kind, what->id, target) || f->target.code)
        return cw_fail_nomem(err);
    const event *e = cw_map_find(&f->w->events, cw_buf_str(&f->key));
    if (!is_withdrawn(e, created))
        return CW_OK;
    cw_revived *r = cw_arena_calloc(f->arena, 1, sizeof *r);
    if (!r)
        return cw_arena_fail(f->arena, err);
    *r = *what;
    r->when = cw_str_from(e->when);
    r->by = e->by;
    if (!copy(f->arena, &r->account) || !copy(f->arena, &r->name) ||
        !copy(f->arena, &r->permission) || !copy(f->arena, &r->when) || !copy(f->arena, &r->by))
        return cw_arena_fail(f->arena, err);
    *f->last = r;
    f->last = &r->next;
    return CW_OK;
}

static cw_code compare_token(const cw_token *token, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_TOKEN,
                       .id = token->id,
                       .account = token->account_name,
                       .name = token->name,
                       .permission = CW_STR("")};
    if (token->revoked || (token->expires && token->expires <= f->now))
        return CW_OK;
    return compare(f, &what, CW_STR(""), token->created, err);
}

static cw_code compare_grant(const cw_db_oauth_grant *grant, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_GRANT,
                       .id = grant->id,
                       .account = grant->account_name,
                       .name = grant->client,
                       .permission = CW_STR("")};
    if (cw_oauth_grant_end(grant, f->grant_idle_ms) <= f->now)
        return CW_OK;
    return compare(f, &what, CW_STR(""), grant->created, err);
}

static cw_code compare_session(const cw_session *s, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_SESSION,
                       .id = s->id,
                       .account = s->account_name,
                       .name = CW_STR(""),
                       .permission = CW_STR("")};
    if (s->created + f->session_ms <= f->now || s->used + f->session_idle_ms <= f->now)
        return CW_OK;
    return compare(f, &what, CW_STR(""), s->created, err);
}

/* Two names, as records have them. */
static cw_str join(finder *f, cw_str a, cw_str b)
{
    cw_buf_clear(&f->target);
    cw_buf_add(&f->target, a);
    cw_buf_add_char(&f->target, ' ');
    cw_buf_add(&f->target, b);
    return cw_buf_str(&f->target);
}

static cw_code compare_account_role(cw_str role, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_ACCOUNT_ROLE,
                       .account = f->account,
                       .name = role,
                       .permission = CW_STR("")};
    return compare(f, &what, join(f, f->account, role), f->created, err);
}

static cw_code compare_roles_of(const cw_account *account, void *ctx, cw_err *err)
{
    finder *f = ctx;
    f->account = account->name;
    f->created = account->created;
    return cw_db_each_role_of(f->db, account->id, compare_account_role, f, err);
}

static cw_code compare_account(const cw_account *account, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_BLOCK,
                       .id = account->id,
                       .account = account->name,
                       .name = CW_STR(""),
                       .permission = CW_STR("")};
    cw_code rc =
        account->is_blocked ? CW_OK : compare(f, &what, account->name, account->created, err);
    what.kind = CW_REVIVED_ACCOUNT;
    return rc ? rc : compare(f, &what, account->name, account->created, err);
}

static cw_code compare_permission(cw_str permission, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_PERMISSION,
                       .account = CW_STR(""),
                       .name = f->role,
                       .permission = permission};
    return compare(f, &what, join(f, f->role, permission), 0, err);
}

static cw_code compare_role(cw_str role, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {
        .kind = CW_REVIVED_ROLE, .account = CW_STR(""), .name = role, .permission = CW_STR("")};
    f->role = role;
    cw_code rc = cw_db_each_permission(f->db, role, compare_permission, f, err);
    return rc ? rc : compare(f, &what, role, 0, err);
}

static cw_code compare_all(finder *f, cw_err *err)
{
    cw_code rc = cw_db_each_token(f->db, 0, compare_token, f, err);
    if (!rc)
        rc = cw_db_each_oauth_grant(f->db, 0, compare_grant, f, err);
    if (!rc)
        rc = cw_db_each_session(f->db, 0, compare_session, f, err);
    if (!rc)
        rc = cw_db_each_account(f->db, compare_roles_of, f, err);
    if (!rc)
        rc = cw_db_each_account(f->db, compare_account, f, err);
    return rc ? rc : cw_db_each_role(f->db, compare_role, f, err);
}

cw_code cw_revived_find(const cw_withdrawals *w, cw_db *db, const cw_config *config,
                        cw_arena *arena, cw_revived **ret, cw_err *err)
{
    cw_revived *first = NULL;
    finder f = {.w = w,
                .db = db,
                .arena = arena,
                .now = cw_clock_wall_ms(),
                .grant_idle_ms = (int64_t)config->access.server.grant_idle_ms,
                .session_idle_ms = cw_config_sessions(config).idle_ms,
                .session_ms = cw_config_sessions(config).lifetime_ms,
                .last = &first};
    cw_buf_init(&f.key, KEY_MAX);
    cw_buf_init(&f.target, KEY_MAX);
    cw_code rc = compare_all(&f, err);
    cw_buf_done(&f.key);
    cw_buf_done(&f.target);
    if (!rc)
        *ret = first;
    return rc;
}
