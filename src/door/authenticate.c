/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authenticate.c - the caller of a request: credentials, their audit records, and challenges. */
#include "door/authenticate.h"

#include <stdlib.h>

#include "access/credentials.h"
#include "access/scopes.h"
#include "base/clock.h"
#include "base/digits.h"
#include "door/browser.h"
#include "door/oauth_challenge.h"
#include "json/write.h"
#include "metrics/metrics.h"

const char *cw_authenticate_outcome(cw_login_status status)
{
    switch (status) {
    case CW_LOGIN_OK:
        return "ok";
    case CW_LOGIN_WRONG:
        return "wrong";
    case CW_LOGIN_TOO_MANY:
        return "too_many";
    case CW_LOGIN_UNAVAILABLE:
    case CW_LOGIN_PENDING:
        break;
    }
    return "unavailable";
}

static void count_login(const cw_http_req *req, const char *outcome)
{
    cw_str header = cw_http_req_authorization(req);
    cw_str kind = cw_credentials_is_basic(header) ? CW_STR("password") : CW_STR("token");
    if (!header.p)
        kind = CW_STR("session");
    cw_metrics_count(CW_METRIC_LOGINS, cw_metrics_value(CW_METRIC_LOGINS, 0, kind),
                     cw_metrics_value(CW_METRIC_LOGINS, 1, cw_str_from(outcome)), 0);
}

/* `caller` is NULL when the credentials were rejected. is_anonymous: they were not verified. */
static void add(const cw_http_req *req, const cw_runtime_loop *rl,
                const cw_auth_error_bodies *texts, const char *outcome, const cw_caller *caller,
                bool is_anonymous)
{
    cw_str header = cw_http_req_authorization(req);
    bool is_basic = cw_credentials_is_basic(header);
    cw_audit_record r = {.kind = CW_AUDIT_LOGIN,
                         .door = texts->door,
                         .outcome = outcome,
                         .is_anonymous = is_anonymous,
                         .address = cw_http_req_peer(req),
                         .detail = is_basic ? CW_STR("password") : CW_STR("token")};
    if (!header.p)
        r.detail = CW_STR("session");
    cw_credentials given = {.n_name = 0};
    if (caller) {
        r.caller = cw_caller_name(caller);
        r.caller_id = cw_caller_id(caller);
    } else if (is_basic && cw_credentials_parse(header, &given)) {
        /* The account name that a client claimed. */
        r.caller = cw_str_make(given.name, given.n_name);
    }
    cw_audit_add(cw_runtime_audit(rl), &r);
    cw_credentials_wipe(&given);
}

static void audit_login(const cw_http_req *req, const cw_runtime_loop *rl,
                        const cw_auth_error_bodies *texts, const cw_login *login)
{
    bool is_ok = login->status == CW_LOGIN_OK;
    if (is_ok && login->is_remembered)
        return;
    count_login(req, cw_authenticate_outcome(login->status));
    if (!cw_audit_is_on(cw_runtime_audit(rl)))
        return;
    add(req, rl, texts, cw_authenticate_outcome(login->status), is_ok ? login->caller : NULL,
        !is_ok);
}

static void audit_refused(const cw_http_req *req, const cw_runtime_loop *rl,
                          const cw_auth_error_bodies *texts, const char *outcome, bool is_anonymous)
{
    count_login(req, outcome);
    if (cw_audit_is_on(cw_runtime_audit(rl)))
        add(req, rl, texts, outcome, NULL, is_anonymous);
}

#define REALM "realm=\"MCP Tools\""
#define BEARER "Bearer " REALM
#define BASIC "Basic " REALM ", charset=\"UTF-8\""
#define INVALID                                                                                    \
    BEARER ", error=\"invalid_token\", error_description=\"The access token is invalid or "        \
           "expired\""
/* Bytes of scopes in a challenge; a head holds CW_HTTP_RESPONSE_HEAD. */
#define SCOPES_MAX 4096u
/* For so long the database is not asked for again. */
#define UNAVAILABLE_S 1u

const cw_auth_error_bodies cw_authenticate_rest = {
    .door = "rest",
    .wrong = CW_STR_INIT("{\"error\":{\"code\":\"unauthorized\",\"message\":"
                         "\"The credentials are invalid or expired.\"}}"),
    .clear_text = CW_STR_INIT("{\"error\":{\"code\":\"access_denied\",\"message\":"
                              "\"Passwords and sessions are only taken over encrypted "
                              "connections.\"}}"),
    .too_many = CW_STR_INIT("{\"error\":{\"code\":\"too_many_requests\",\"message\":"
                            "\"Too many attempts to log in.\"}}"),
    .unavailable = CW_STR_INIT("{\"error\":{\"code\":\"unavailable\",\"message\":"
                               "\"Logging in is not possible at the moment.\"}}"),
    .forged = CW_STR_INIT("{\"error\":{\"code\":\"access_denied\",\"message\":"
                          "\"" CW_BROWSER_FORGED ".\"}}"),
};

/* ---- who asks ---- */

/* A request that waits to be identified; in its arena. */
typedef struct pending {
    cw_login_waiter waiter;
    cw_http_req *req;
    cw_runtime *runtime;
    const cw_auth_error_bodies *texts;
    cw_authenticated_fn fn;
    void *self;
    cw_str session;    /* .p is NULL: a header is shown */
    uint64_t begun_ns; /* 0: not measured */
} pending;

static void send_refusal(cw_http_req *req, const cw_auth_error_bodies *texts,
                         cw_http_response *answer)
{
    if (texts->write)
        texts->write(req, answer->body, answer);
    cw_http_reply(req, answer);
}

static void reply(cw_http_req *req, const cw_auth_error_bodies *texts, unsigned status, cw_str body,
                  cw_http_header more)
{
    cw_http_header headers[] = {{CW_STR("Cache-Control"), CW_STR("no-store")}, more};
    cw_http_response answer = {
        .status = status, .body = body, .headers = headers, .n_headers = more.name.n ? 2 : 1};
    send_refusal(req, texts, &answer);
}

static bool offers_basic(const cw_runtime_loop *rl)
{
    cw_accounts *accounts = cw_runtime_accounts(rl);
    return accounts && cw_accounts_store(accounts);
}

/* Append ', resource_metadata="…"' where there is something to find. */
static void add_metadata_link(cw_buf *out, cw_http_req *req, const cw_runtime_loop *rl,
                              bool is_endpoint)
{
    if (!req || !cw_oauth_resource_has_issuers(rl))
        return;
    cw_str base = cw_oauth_resource_base(req, rl, NULL);
    if (!base.n)
        return;
    cw_str path = cw_oauth_resource_path(base);
    cw_buf_add(out, CW_STR(", resource_metadata=\""));
    cw_buf_add(out, cw_str_make(base.p, base.n - path.n));
    cw_buf_add(out, CW_STR(CW_OAUTH_RESOURCE_WELLKNOWN));
    cw_buf_add(out, path);
    if (is_endpoint)
        cw_buf_add(out, cw_oauth_resource_endpoint(req, cw_runtime_config(rl)));
    cw_buf_add_char(out, '"');
}

/* Append the scopes that are worth having, sorted, with spaces between them; as many as have room
 * in `max` bytes. */
static void add_scopes(cw_buf *out, cw_runtime_loop *rl, size_t max)
{
    cw_oauth_scope_list list;
    size_t used = 0;
    if (cw_oauth_resource_scopes(rl, &list)) {
        out->code = CW_NOMEM;
        return;
    }
    for (size_t i = 0; i < list.n && used + list.items[i].n + 1 <= max; i++) {
        if (used)
            cw_buf_add_char(out, ' ');
        cw_buf_add(out, list.items[i]);
        used += list.items[i].n + 1;
    }
    free(list.items);
}

/* The same bytes for every failure, so that they do not help to guess credentials. */
static void reply_wrong(cw_http_req *req, cw_runtime_loop *rl, const cw_auth_error_bodies *texts,
                        bool is_session)
{
    cw_buf b;
    cw_buf_init(&b, CW_HTTP_RESPONSE_HEAD);
    cw_buf_add(&b, CW_STR(INVALID));
    add_metadata_link(&b, req, rl, texts->is_endpoint);
    if (cw_oauth_resource_has_issuers(rl)) {
        cw_buf_add(&b, CW_STR(", scope=\""));
        add_scopes(&b, rl, SCOPES_MAX);
        cw_buf_add_char(&b, '"');
    }
    /* Browsers would ask for a password in a window of their own. */
    if (offers_basic(rl) && !is_session)
        cw_buf_add(&b, CW_STR(", " BASIC));
    cw_str kept =
        b.code ? (cw_str){NULL, 0} : cw_arena_dup_str(cw_http_req_arena(req), cw_buf_str(&b));
    cw_buf_done(&b);
    cw_http_header headers[] = {{CW_STR("Cache-Control"), CW_STR("no-store")},
                                {CW_STR("WWW-Authenticate"), kept.p ? kept : CW_STR(INVALID)},
                                {CW_STR("Set-Cookie"), cw_browser_cookie_kind(rl)->removal}};
    cw_http_response answer = {
        .status = 401, .body = texts->wrong, .headers = headers, .n_headers = is_session ? 3 : 2};
    send_refusal(req, texts, &answer);
}

static void reply_later(cw_http_req *req, const cw_auth_error_bodies *texts, unsigned status,
                        cw_str body, uint32_t seconds)
{
    char text[CW_DIGITS_SIZE];
    reply(req, texts, status, body,
          (cw_http_header){CW_STR("Retry-After"), cw_digits_u64(seconds, text)});
}

/* Whether another site's page may have made the request. The gate cannot check this: it does not
 * see how the caller logged in. */
static bool is_forged(const pending *p, cw_runtime_loop *rl)
{
    if (!p->session.p)
        return false;
    bool is_safe = !p->texts->calls_by_get && (cw_http_req_method(p->req) == CW_HTTP_GET ||
                                               cw_http_req_method(p->req) == CW_HTTP_HEAD);
    return !cw_browser_is_ours(p->req, rl, is_safe) ||
           (!is_safe && !cw_browser_has_proof(p->req, p->session));
}

/* Whether the token is for another resource of this server. */
static bool is_elsewhere(const cw_http_req *req, const cw_runtime_loop *rl, const cw_caller *caller)
{
    cw_str resource = cw_caller_credential_of(caller)->resource;
    return resource.n &&
           !cw_oauth_resource_covers(cw_runtime_config(rl), resource, cw_http_req_path(req));
}

static void take(const pending *p, const cw_login *login)
{
    cw_http_req *req = p->req;
    const cw_auth_error_bodies *texts = p->texts;
    cw_runtime_loop *rl = cw_runtime_at(p->runtime, cw_http_req_loop(req));
    cw_view *view = NULL;
    if (CW_UNLIKELY(p->begun_ns))
        cw_http_req_ids(req)->login_us = (uint32_t)((cw_clock_ns() - p->begun_ns) / 1000);
    if (login->status == CW_LOGIN_OK && is_elsewhere(req, rl, login->caller)) {
        audit_refused(req, rl, texts, "wrong", /* is_anonymous= */ false);
        reply_wrong(req, rl, texts, /* is_session= */ false);
        return;
    }
    audit_login(req, rl, texts, login);
    if (login->status == CW_LOGIN_OK && is_forged(p, rl)) {
        audit_refused(req, rl, texts, "forged", /* is_anonymous= */ false);
        reply(req, texts, 403, texts->forged, (cw_http_header){{0}, {0}});
        return;
    }
    switch (login->status) {
    case CW_LOGIN_OK:
        view = cw_runtime_view(rl, login->caller);
        if (view)
            p->fn(req, rl, view, p->self);
        else
            reply_later(req, texts, 503, texts->unavailable, UNAVAILABLE_S);
        return;
    case CW_LOGIN_WRONG:
        reply_wrong(req, rl, texts, p->session.p != NULL);
        return;
    case CW_LOGIN_TOO_MANY:
        reply_later(req, texts, 429, texts->too_many, login->retry_s);
        return;
    case CW_LOGIN_UNAVAILABLE:
        reply_later(req, texts, 503, texts->unavailable, UNAVAILABLE_S);
        return;
    case CW_LOGIN_PENDING:
        return;
    }
}

static void on_login(cw_login_waiter *waiter, const cw_login *login)
{
    /* A copy: the answer ends the arena that it lives in. */
    pending p = *CW_CONTAINER(waiter, pending, waiter);
    cw_ids *outer = cw_ids_enter(cw_http_req_ids(p.req));
    take(&p, login);
    cw_ids_leave(outer);
}

static cw_str peer_of(cw_login_waiter *waiter)
{
    return cw_http_req_peer(CW_CONTAINER(waiter, pending, waiter)->req);
}

static void on_event(cw_http_req *req, cw_http_event event, void *ctx)
{
    pending *p = ctx;
    (void)req;
    if (event == CW_HTTP_GONE)
        cw_login_cancel(&p->waiter);
}

static void log_in(const pending *asked, cw_accounts *accounts, cw_str header)
{
    cw_http_req *req = asked->req;
    pending *p = cw_arena_alloc(cw_http_req_arena(req), sizeof *p);
    if (!p) {
        reply_later(req, asked->texts, 503, asked->texts->unavailable, UNAVAILABLE_S);
        return;
    }
    *p = *asked;
    cw_loop *loop = cw_http_req_loop(req);
    cw_login login;
    if (!p->session.p)
        login = cw_accounts_login(accounts, loop, header, &p->waiter);
    else if (cw_browser_is_idle(req))
        login = cw_session_peek(accounts, loop, p->session, &p->waiter);
    else
        login = cw_session_resume(accounts, loop, p->session, &p->waiter);
    if (login.status == CW_LOGIN_PENDING)
        cw_http_listen(req, on_event, p);
    else
        take(asked, &login);
}

/* The anonymous caller's, that of a user of this machine on the local socket, or that of the console of
 * a demo. */
static cw_view *view_without_credentials(cw_http_req *req, cw_runtime_loop *rl)
{
    uid_t uid;
    if (CW_LIKELY(!cw_http_req_local_uid(req, &uid)))
        return cw_browser_is_guest(req, rl) ? cw_runtime_view(rl, cw_runtime_guest(rl))
                                            : cw_runtime_anonymous(rl);
    cw_caller *operator= cw_runtime_operator(rl, uid);
    return operator? cw_runtime_view(rl, operator) : NULL;
}

void cw_authenticate(cw_http_req *req, cw_runtime *runtime, const cw_auth_error_bodies *texts,
                     cw_authenticated_fn fn, void *self)
{
    cw_runtime_loop *rl = cw_runtime_at(runtime, cw_http_req_loop(req));
    cw_str header = cw_http_req_authorization(req);
    cw_str session = header.p ? (cw_str){NULL, 0} : cw_browser_session(req, rl);
    if (CW_LIKELY(!header.p && !session.p)) {
        cw_view *view = view_without_credentials(req, rl);
        if (view)
            fn(req, rl, view, self);
        else
            reply_later(req, texts, 503, texts->unavailable, UNAVAILABLE_S);
        return;
    }
    cw_accounts *accounts = cw_runtime_accounts(rl);
    if (!accounts) {
        audit_login(req, rl, texts, &(cw_login){.status = CW_LOGIN_WRONG});
        reply_wrong(req, rl, texts, /* is_session= */ false);
        return;
    }
    if ((session.p || cw_credentials_is_basic(header)) && !cw_browser_is_private(req, rl)) {
        audit_refused(req, rl, texts, "clear_text", /* is_anonymous= */ true);
        reply(req, texts, 403, texts->clear_text, (cw_http_header){{0}, {0}});
        return;
    }
    pending asked = {.waiter = {.peer = peer_of, .fn = on_login},
                     .req = req,
                     .runtime = runtime,
                     .self = self,
                     .texts = texts,
                     .session = session,
                     .begun_ns = cw_trace_is_on(cw_runtime_tracer(rl)) ? cw_clock_ns() : 0,
                     .fn = fn};
    log_in(&asked, accounts, header);
}

/* ---- challenges ---- */

static bool is_missing(const cw_challenge_input *r, cw_str scope)
{
    return !cw_caller_has_scope(cw_view_caller(r->view), scope);
}

static void write_challenge(cw_buf *out, const cw_challenge_input *r)
{
    bool any = false;
    cw_buf_add(out, CW_STR(BEARER));
    if (r->verdict == CW_VERDICT_NEEDS_SCOPES)
        cw_buf_add(out, CW_STR(", error=\"insufficient_scope\""));
    add_metadata_link(out, r->req, r->rl, r->names_all);
    for (size_t i = 0; r->needs && i < r->needs->n_scopes && out->n < SCOPES_MAX; i++) {
        cw_str scope = r->needs->scopes[i];
        /* Others cannot be named in a header. */
        if (!cw_scope_is_token(scope) || scope.n > SCOPES_MAX ||
            (!r->names_all && !is_missing(r, scope)))
            continue;
        cw_buf_add(out, any ? CW_STR(" ") : CW_STR(", scope=\""));
        cw_buf_add(out, scope);
        any = true;
    }
    if (any)
        cw_buf_add_char(out, '"');
    /* A password never satisfies scopes. */
    bool can_help = r->verdict == CW_VERDICT_NEEDS_LOGIN && !(r->needs && any);
    if (can_help && offers_basic(r->rl))
        cw_buf_add(out, CW_STR(", " BASIC));
}

static void write_scopes(cw_buf *out, cw_str name, const cw_challenge_input *r, bool only_missing)
{
    bool any = false;
    cw_json_escape(out, name);
    cw_buf_add(out, CW_STR(":["));
    for (size_t i = 0; r->needs && i < r->needs->n_scopes; i++) {
        if (only_missing && !is_missing(r, r->needs->scopes[i]))
            continue;
        if (any)
            cw_buf_add_char(out, ',');
        cw_json_escape(out, r->needs->scopes[i]);
        any = true;
    }
    cw_buf_add_char(out, ']');
}

/* The scopes of the token, which its holder can read anyway. */
static void write_current(cw_buf *out, const cw_challenge_input *r)
{
    size_t n;
    const cw_str *scopes = cw_caller_scopes(cw_view_caller(r->view), &n);
    cw_buf_add(out, CW_STR(",\"current_scopes\":["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        cw_json_escape(out, scopes[i]);
    }
    cw_buf_add_char(out, ']');
}

static cw_code keep(cw_buf *b, cw_arena *arena, cw_str *ret)
{
    cw_code rc = b->code;
    if (!rc) {
        *ret = cw_arena_dup_str(arena, cw_buf_str(b));
        rc = ret->p ? CW_OK : cw_arena_code(arena);
    }
    cw_buf_done(b);
    return rc;
}

static cw_challenge describe(cw_verdict verdict)
{
    switch (verdict) {
    case CW_VERDICT_NEEDS_LOGIN:
        return (cw_challenge){401, "Authentication required", "unauthorized", {0}, {0}};
    case CW_VERDICT_NEEDS_SCOPES:
        return (cw_challenge){403, "Insufficient scope", "insufficient_scope", {0}, {0}};
    case CW_VERDICT_ALLOW:
    case CW_VERDICT_HIDDEN:
    case CW_VERDICT_FORBIDDEN:
        break;
    }
    return (cw_challenge){403, "Access denied", "access_denied", {0}, {0}};
}

cw_code cw_challenge_make(const cw_challenge_input *refused, cw_arena *arena, cw_challenge *ret)
{
    cw_buf b;
    *ret = describe(refused->verdict);
    if (refused->verdict == CW_VERDICT_NEEDS_LOGIN || refused->verdict == CW_VERDICT_NEEDS_SCOPES) {
        cw_buf_init(&b, CW_HTTP_RESPONSE_HEAD * 2);
        write_challenge(&b, refused);
        cw_code rc = keep(&b, arena, &ret->challenge);
        if (rc)
            return rc;
    }
    cw_buf_init(&b, CW_BUF_MAX);
    cw_buf_add_char(&b, '{');
    write_scopes(&b, CW_STR("required_scopes"), refused, /* only_missing= */ false);
    cw_buf_add_char(&b, ',');
    write_scopes(&b, CW_STR("missing_scopes"), refused, /* only_missing= */ true);
    if (refused->verdict == CW_VERDICT_NEEDS_SCOPES)
        write_current(&b, refused);
    cw_buf_add_char(&b, '}');
    return keep(&b, arena, &ret->data);
}
