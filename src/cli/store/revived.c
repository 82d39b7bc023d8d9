/* SPDX-License-Identifier: GPL-2.0-or-later */
/* revived.c - compares the withdrawals of an audit with a database. */
#include "cli/store/revived.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/oauth/exchange.h"
#include "audit/audit.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/sort.h"
#include "config/session_limits.h"
#include "store/oauth.h"

#define ARENA_MAX ((size_t)64 << 20)
#define KEY_MAX 1024u
#define CUT_MIN (CW_AUDIT_MAX_NAME - 3) /* the audit cuts long texts, at a character */

typedef struct stamp {
    char when[CW_CLOCK_ISO_LEN + 1]; /* empty: never */
    cw_str by;
} stamp;

/* The records about one right. */
typedef struct event {
    stamp newest;      /* of all */
    stamp withdrawn;   /* the newest that withdraws it */
    bool is_withdrawn; /* by the newest of all */
} event;

struct cw_withdrawals {
    cw_map events; /* by kind and target */
    cw_arena arena;
    cw_arena scratch; /* of one record */
    bool is_full;
    bool has_backup_time; /* records begin with it */
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
    {"causeway.clients.remove", "client remove", CW_REVIVED_CLIENT, true},
    {"causeway.clients.remove", "client remove", CW_REVIVED_DENIAL, false},
    {"causeway.clients.deny", "client deny", CW_REVIVED_DENIAL, true},
    {"causeway.accounts.password", "account password", CW_REVIVED_PASSWORD, true},
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

/* The events of a key, made if there are none. CW_DONE: too many. */
static cw_code find_or_make(cw_withdrawals *w, cw_str key, event **ret, cw_err *err)
{
    *ret = cw_map_find(&w->events, key);
    if (*ret)
        return CW_OK;
    cw_str kept = cw_arena_dup_str(&w->arena, key);
    *ret = cw_arena_calloc(&w->arena, 1, sizeof **ret);
    cw_code rc =
        kept.p && *ret ? cw_map_put(&w->events, kept, *ret, NULL) : cw_arena_code(&w->arena);
    w->is_full = w->is_full || rc == CW_LIMIT;
    if (rc == CW_LIMIT)
        return CW_DONE;
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code add_event(cw_withdrawals *w, cw_str key, const cw_json *record, bool is_withdrawn,
                         cw_err *err)
{
    stamp at = {.by = text_of(record, "caller")};
    cw_str when = text_of(record, "time");
    event *e = NULL;
    if (when.n != CW_CLOCK_ISO_LEN)
        return CW_OK;
    memcpy(at.when, when.p, when.n);
    cw_code rc = find_or_make(w, key, &e, err);
    if (rc)
        return rc;
    bool is_newest = strcmp(at.when, e->newest.when) > 0;
    bool is_last = is_withdrawn && strcmp(at.when, e->withdrawn.when) > 0;
    if (!is_newest && !is_last)
        return CW_OK;
    at.by = cw_arena_dup_str(&w->arena, at.by);
    if (is_newest) {
        e->newest = at;
        e->is_withdrawn = is_withdrawn;
    }
    if (is_last)
        e->withdrawn = at;
    return at.by.p ? CW_OK : cw_fail_nomem(err);
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
    cw_code rc = CW_OK;
    if (!cw_str_is(text_of(record, "outcome"), "ok"))
        return CW_OK;
    for (size_t i = 0; i < CW_COUNT(rules) && !rc; i++) {
        if (cw_str_is(method, rules[i].method) || cw_str_is(method, rules[i].command))
            rc = add_change(w, rules[i].kind, text_of(record, "detail"), record, rules[i].withdraws,
                            err);
    }
    return rc;
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
    w->has_backup_time = since[0] != '\0';
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
    cw_revived **last; /* where the next sure one is linked */
    cw_revived_lists found;
} finder;

/* ---- events ---- */

/* The events of a right; *ret is NULL for none. */
static cw_code find_event(finder *f, cw_revived_kind kind, int64_t id, cw_str target,
                          const event **ret, cw_err *err)
{
    *ret = NULL;
    if (!write_key(&f->key, kind, id, target) || f->target.code)
        return f->key.code == CW_NOMEM || f->target.code ? cw_fail_nomem(err) : CW_OK;
    *ret = cw_map_find(&f->w->events, cw_buf_str(&f->key));
    return CW_OK;
}

/* Whether something existed before a record. */
static bool is_older(int64_t created, const stamp *at)
{
    char since[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(created, since);
    return at->when[0] && strcmp(since, at->when) <= 0;
}

/* The newest record, if it withdraws something that existed; else NULL. */
static const stamp *withdrawal_of(const event *e, int64_t created)
{
    return e && e->is_withdrawn && is_older(created, &e->newest) ? &e->newest : NULL;
}

/* The last withdrawal of something that existed, also if its name was given again; else NULL. */
static const stamp *removal_of(const event *e, int64_t created)
{
    return e && is_older(created, &e->withdrawn) ? &e->withdrawn : NULL;
}

/* The last withdrawal, if it is not in force any more: one in force is listed itself. */
static const stamp *undone_of(const event *e, int64_t created)
{
    return e && !e->is_withdrawn ? removal_of(e, created) : NULL;
}

/* ---- the list ---- */

static bool copy(cw_arena *arena, cw_str *text)
{
    *text = cw_arena_dup_str(arena, *text);
    return text->p != NULL;
}

static cw_code make(finder *f, const cw_revived *what, const stamp *at, cw_revived **ret,
                    cw_err *err)
{
    cw_revived *r = cw_arena_calloc(f->arena, 1, sizeof *r);
    if (!r)
        return cw_arena_fail(f->arena, err);
    *r = *what;
    r->when = cw_str_from(at->when);
    r->by = at->by;
    if (!copy(f->arena, &r->account) || !copy(f->arena, &r->name) ||
        !copy(f->arena, &r->permission) || !copy(f->arena, &r->when) || !copy(f->arena, &r->by))
        return cw_arena_fail(f->arena, err);
    *ret = r;
    return CW_OK;
}

/* Add it to the list. NULL: it is not revived. */
static cw_code add(finder *f, const cw_revived *what, const stamp *at, cw_err *err)
{
    cw_revived *r = NULL;
    cw_code rc = at ? make(f, what, at, &r, err) : CW_OK;
    if (r) {
        *f->last = r;
        f->last = &r->next;
    }
    return rc;
}

static cw_code add_unsure(finder *f, cw_revived **list, const cw_revived *what, const stamp *at,
                          cw_err *err)
{
    cw_revived *r = NULL;
    cw_code rc = make(f, what, at, &r, err);
    if (r) {
        r->next = *list;
        *list = r;
    }
    return rc;
}

/* A thing with a number, which another thing may have had; `also` is another reason, or NULL. */
static cw_code compare_numbered(finder *f, const cw_revived *what, int64_t created,
                                const stamp *also, cw_err *err)
{
    const event *e;
    cw_code rc = find_event(f, what->kind, what->id, CW_STR(""), &e, err);
    if (rc)
        return rc;
    const stamp *at = withdrawal_of(e, created);
    bool is_young = !at && !also && withdrawal_of(e, created - CW_REVIVED_CLOCKS_MS);
    if (is_young)
        return add_unsure(f, &f->found.young, what, &e->newest, err);
    return add(f, what, at ? at : also, err);
}

/* A new password ends sessions and grants of its account, and so does a block. */
static cw_code find_end(finder *f, cw_str account, int64_t created, const stamp **ret, cw_err *err)
{
    const event *e;
    cw_code rc = find_event(f, CW_REVIVED_PASSWORD, 0, account, &e, err);
    *ret = removal_of(e, created);
    if (rc || *ret)
        return rc;
    rc = find_event(f, CW_REVIVED_BLOCK, 0, account, &e, err);
    *ret = undone_of(e, created);
    return rc;
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
    return compare_numbered(f, &what, token->created, NULL, err);
}

static cw_code compare_grant(const cw_db_oauth_grant *grant, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_GRANT,
                       .id = grant->id,
                       .account = grant->account_name,
                       .name = grant->client,
                       .permission = CW_STR("")};
    const stamp *end = NULL;
    const event *denial = NULL;
    if (cw_oauth_grant_end(grant, f->grant_idle_ms) <= f->now)
        return CW_OK;
    cw_code rc = find_end(f, grant->account_name, grant->created, &end, err);
    if (!rc && !end) {
        rc = find_event(f, CW_REVIVED_DENIAL, 0, grant->client, &denial, err);
        end = undone_of(denial, grant->created);
    }
    return rc ? rc : compare_numbered(f, &what, grant->created, end, err);
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
    const stamp *end = NULL;
    cw_code rc = find_end(f, s->account_name, s->created, &end, err);
    return rc ? rc : compare_numbered(f, &what, s->created, end, err);
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

/* The removal of a role that was added again: it took along what was not given again since. */
static cw_code find_lost_with_role(finder *f, cw_str role, const event *own, int64_t created,
                                   const stamp **ret, cw_err *err)
{
    const event *e;
    cw_code rc = find_event(f, CW_REVIVED_ROLE, 0, role, &e, err);
    const stamp *at = undone_of(e, created);
    bool is_given_again = at && own && strcmp(own->newest.when, at->when) > 0;
    *ret = is_given_again ? NULL : at;
    return rc;
}

/* Something of a role: its own withdrawal counts, or that of the role. */
static cw_code compare_of_role(finder *f, const cw_revived *what, cw_str target, int64_t created,
                               cw_err *err)
{
    const event *own;
    const stamp *at = NULL;
    cw_code rc = find_event(f, what->kind, 0, target, &own, err);
    if (!rc)
        at = withdrawal_of(own, created);
    if (!rc && !at)
        rc = find_lost_with_role(f, what->name, own, created, &at, err);
    return rc ? rc : add(f, what, at, err);
}

static cw_code compare_account_role(cw_str role, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_ACCOUNT_ROLE,
                       .account = f->account,
                       .name = role,
                       .permission = CW_STR("")};
    return compare_of_role(f, &what, join(f, f->account, role), f->created, err);
}

static cw_code compare_roles_of(const cw_account *account, void *ctx, cw_err *err)
{
    finder *f = ctx;
    f->account = account->name;
    f->created = account->created;
    return cw_db_each_role_of(f->db, account->id, compare_account_role, f, err);
}

/* Without the time of the backup, a change of a password may be part of it. */
static cw_code compare_account(const cw_account *account, void *ctx, cw_err *err)
{
    finder *f = ctx;
    const event *e;
    cw_revived what = {.kind = CW_REVIVED_BLOCK,
                       .id = account->id,
                       .account = account->name,
                       .name = CW_STR(""),
                       .permission = CW_STR("")};
    cw_code rc = find_event(f, CW_REVIVED_BLOCK, 0, account->name, &e, err);
    if (!rc && !account->is_blocked)
        rc = add(f, &what, withdrawal_of(e, account->created), err);
    if (!rc)
        rc = find_event(f, CW_REVIVED_ACCOUNT, 0, account->name, &e, err);
    what.kind = CW_REVIVED_ACCOUNT;
    if (!rc)
        rc = add(f, &what, removal_of(e, account->created), err);
    if (rc || !f->w->has_backup_time || !account->password.n)
        return rc;
    rc = find_event(f, CW_REVIVED_PASSWORD, 0, account->name, &e, err);
    what.kind = CW_REVIVED_PASSWORD;
    return rc ? rc : add(f, &what, removal_of(e, account->created), err);
}

static cw_code compare_permission(cw_str permission, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {.kind = CW_REVIVED_PERMISSION,
                       .account = CW_STR(""),
                       .name = f->role,
                       .permission = permission};
    return compare_of_role(f, &what, join(f, f->role, permission), 0, err);
}

static cw_code compare_role(cw_str role, void *ctx, cw_err *err)
{
    finder *f = ctx;
    cw_revived what = {
        .kind = CW_REVIVED_ROLE, .account = CW_STR(""), .name = role, .permission = CW_STR("")};
    f->role = role;
    const event *e = NULL;
    cw_code rc = cw_db_each_permission(f->db, role, compare_permission, f, err);
    if (!rc)
        rc = find_event(f, CW_REVIVED_ROLE, 0, role, &e, err);
    return rc ? rc : add(f, &what, withdrawal_of(e, 0), err);
}

/* ---- clients ---- */

static cw_code compare_client(const cw_db_oauth_client *client, void *ctx, cw_err *err)
{
    finder *f = ctx;
    const event *e;
    cw_revived what = {.kind = CW_REVIVED_CLIENT,
                       .account = CW_STR(""),
                       .name = client->id,
                       .permission = CW_STR("")};
    cw_code rc = find_event(f, CW_REVIVED_CLIENT, 0, client->id, &e, err);
    return rc || client->denied ? rc : add(f, &what, removal_of(e, client->created), err);
}

typedef struct denied_search {
    cw_str begin; /* of the id */
    bool is_denied;
} denied_search;

static cw_code look_for_denied(const cw_db_oauth_client *client, void *ctx, cw_err *err)
{
    denied_search *d = ctx;
    (void)err;
    d->is_denied = d->is_denied || (client->denied && cw_str_starts(client->id, d->begin));
    return CW_OK;
}

/* The id of a record may be cut. */
static cw_code is_denied(finder *f, cw_str id, bool *ret, cw_err *err)
{
    cw_db_oauth_client *row = NULL;
    denied_search d = {.begin = id};
    if (id.n >= CUT_MIN) {
        cw_code rc = cw_db_each_oauth_client(f->db, look_for_denied, &d, err);
        *ret = d.is_denied;
        return rc;
    }
    cw_code rc = cw_db_find_oauth_client(f->db, id, f->arena, &row, err);
    *ret = row && row->denied;
    return rc;
}

/* A denied client of another kind has no row in an older database: the records name it. */
static cw_code compare_denial(finder *f, cw_str id, const event *e, cw_err *err)
{
    bool is_known = false;
    cw_revived what = {
        .kind = CW_REVIVED_DENIAL, .account = CW_STR(""), .name = id, .permission = CW_STR("")};
    cw_code rc = is_denied(f, id, &is_known, err);
    if (rc || is_known)
        return rc;
    return id.n >= CUT_MIN ? add_unsure(f, &f->found.cut, &what, &e->newest, err)
                           : add(f, &what, &e->newest, err);
}

static cw_code compare_denials(finder *f, cw_err *err)
{
    const cw_map *events = &f->w->events;
    cw_str *keys = cw_arena_calloc(f->arena, events->n + 1, sizeof *keys);
    size_t n = 0, pos = 0;
    cw_code rc = CW_OK;
    if (!keys)
        return cw_arena_fail(f->arena, err);
    if (!write_key(&f->key, CW_REVIVED_DENIAL, 0, CW_STR("")))
        return cw_fail_nomem(err);
    cw_str prefix = cw_buf_str(&f->key);
    for (const cw_map_entry *entry; (entry = cw_map_next(events, &pos));) {
        const event *e = entry->value;
        if (e->is_withdrawn && cw_str_starts(entry->key, prefix))
            keys[n++] = entry->key;
    }
    qsort(keys, n, sizeof *keys, cw_sort_texts);
    for (size_t i = 0; i < n && !rc; i++)
        rc = compare_denial(f, cw_str_make(keys[i].p + prefix.n, keys[i].n - prefix.n),
                            cw_map_find(events, keys[i]), err);
    return rc;
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
    if (!rc)
        rc = cw_db_each_role(f->db, compare_role, f, err);
    if (!rc)
        rc = cw_db_each_oauth_client(f->db, compare_client, f, err);
    return rc ? rc : compare_denials(f, err);
}

cw_code cw_revived_find(const cw_withdrawals *w, cw_db *db, const cw_config *config,
                        cw_arena *arena, cw_revived_lists *ret, cw_err *err)
{
    finder f = {.w = w,
                .db = db,
                .arena = arena,
                .now = cw_clock_wall_ms(),
                .grant_idle_ms = (int64_t)config->access.server.grant_idle_ms,
                .session_idle_ms = cw_config_sessions(config).idle_ms,
                .session_ms = cw_config_sessions(config).lifetime_ms};
    f.last = &f.found.sure;
    cw_buf_init(&f.key, KEY_MAX);
    cw_buf_init(&f.target, KEY_MAX);
    cw_code rc = compare_all(&f, err);
    cw_buf_done(&f.key);
    cw_buf_done(&f.target);
    if (!rc)
        *ret = f.found;
    return rc;
}
