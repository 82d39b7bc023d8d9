/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "door/identify.h"

#include "json/write.h"

#define REALM "Bearer realm=\"causeway\""
/* Bytes of scopes in a challenge; a head holds CW_HTTP_ANSWER_HEAD. */
#define SCOPES_MAX 4096u

cw_view *cw_identify(cw_http_req *req, cw_bridge_loop *bl, cw_str body)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("WWW-Authenticate"),
         CW_STR_INIT(REALM ", error=\"invalid_token\", error_description=\"The credentials are "
                           "invalid or expired\"")},
    };
    if (!cw_http_req_header(req, CW_STR("Authorization")).p)
        return cw_bridge_anonymous(bl);
    cw_http_reply(
        req, &(cw_http_answer){
                 .status = 401, .body = body, .headers = headers, .n_headers = CW_COUNT(headers)});
    return NULL;
}

/* RFC 6749, 3.3: what may stand in a scope. Others cannot be named in a header. */
static bool is_scope_token(cw_str scope)
{
    for (size_t i = 0; i < scope.n; i++) {
        char c = scope.p[i];
        if (c < 0x21 || c > 0x7E || c == '"' || c == '\\')
            return false;
    }
    return scope.n > 0;
}

static void write_challenge(cw_buf *out, const cw_needs *needs)
{
    cw_buf_add(out, CW_STR(REALM));
    bool any = false;
    for (size_t i = 0; needs && i < needs->n_scopes && out->n < SCOPES_MAX; i++) {
        cw_str scope = needs->scopes[i];
        if (!is_scope_token(scope) || scope.n > SCOPES_MAX)
            continue;
        cw_buf_add(out, any ? CW_STR(" ") : CW_STR(", scope=\""));
        cw_buf_add(out, scope);
        any = true;
    }
    if (any)
        cw_buf_add_char(out, '"');
}

static void write_scopes(cw_buf *out, cw_str name, const cw_needs *needs)
{
    cw_json_escape(out, name);
    cw_buf_add(out, CW_STR(":["));
    for (size_t i = 0; needs && i < needs->n_scopes; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        cw_json_escape(out, needs->scopes[i]);
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

cw_code cw_refusal_make(cw_verdict verdict, const cw_needs *needs, cw_arena *arena, cw_refusal *ret)
{
    cw_buf b;
    *ret = (cw_refusal){.status = 403, .message = "Access denied"};
    if (verdict == CW_VERDICT_LOGIN) {
        ret->status = 401;
        ret->message = "Authentication required";
        cw_buf_init(&b, CW_HTTP_ANSWER_HEAD * 2);
        write_challenge(&b, needs);
        cw_code rc = keep(&b, arena, &ret->challenge);
        if (rc)
            return rc;
    }
    /* No caller has scopes yet, so all that are required are missing. */
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_buf_add_char(&b, '{');
    write_scopes(&b, CW_STR("required_scopes"), needs);
    cw_buf_add_char(&b, ',');
    write_scopes(&b, CW_STR("missing_scopes"), needs);
    cw_buf_add_char(&b, '}');
    return keep(&b, arena, &ret->data);
}
