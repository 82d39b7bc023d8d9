/* SPDX-License-Identifier: GPL-2.0-or-later */
/* audit_login.c - what the audit is told of logins. */
#include "access/credentials.h"
#include "door/authenticate.h"

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

/* `caller` is NULL: somebody whose credentials were not taken. */
static void add(const cw_http_req *req, const cw_runtime_loop *rl,
                const cw_auth_error_bodies *texts, const char *outcome, const cw_caller *caller)
{
    cw_str header = cw_http_req_header(req, CW_STR("Authorization"));
    bool is_basic = cw_credentials_is_basic(header);
    cw_audit_record r = {.kind = CW_AUDIT_LOGIN,
                         .door = texts->door,
                         .outcome = outcome,
                         .address = cw_http_req_peer(req),
                         .detail = is_basic ? CW_STR("password") : CW_STR("token")};
    if (!header.p)
        r.detail = CW_STR("session");
    cw_credentials given = {.n_name = 0};
    if (caller) {
        r.caller = cw_caller_name(caller);
        r.caller_id = cw_caller_id(caller);
    } else if (is_basic && cw_credentials_parse(header, &given)) {
        /* Whom somebody claimed to be. */
        r.caller = cw_str_make(given.name, given.n_name);
    }
    cw_audit_add(cw_runtime_audit(rl), &r);
    cw_credentials_wipe(&given);
}

void cw_authenticate_audit(const cw_http_req *req, const cw_runtime_loop *rl,
                           const cw_auth_error_bodies *texts, const cw_login *login)
{
    bool is_ok = login->status == CW_LOGIN_OK;
    if (!cw_audit_is_on(cw_runtime_audit(rl)) || (is_ok && login->is_remembered))
        return;
    add(req, rl, texts, cw_authenticate_outcome(login->status), is_ok ? login->caller : NULL);
}

void cw_authenticate_audit_refused(const cw_http_req *req, const cw_runtime_loop *rl,
                                   const cw_auth_error_bodies *texts, const char *outcome)
{
    if (cw_audit_is_on(cw_runtime_audit(rl)))
        add(req, rl, texts, outcome, NULL);
}

void cw_authenticate_audit_page(const cw_http_req *req, const cw_runtime_loop *rl,
                                const char *outcome, const cw_caller *caller, cw_str name)
{
    cw_audit_record r = {.kind = CW_AUDIT_LOGIN,
                         .door = "login",
                         .outcome = outcome,
                         .address = cw_http_req_peer(req),
                         .caller = caller ? cw_caller_name(caller) : name,
                         .detail = CW_STR("password")};
    if (caller)
        r.caller_id = cw_caller_id(caller);
    if (cw_audit_is_on(cw_runtime_audit(rl)))
        cw_audit_add(cw_runtime_audit(rl), &r);
}
