/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/account/token_introspect.h"

#include "access/credentials.h"
#include "net/loop/loop.h"

#define MAX_FD 1024

/* One question on its way. */
typedef struct introspection {
    cw_token_check ask;
    cw_token_introspect *result;
    bool is_done;
} introspection;

bool cw_token_introspect_is_jwt(cw_str token)
{
    cw_str rest;
    cw_str_cut(token, '.', &rest);
    return rest.p && memchr(rest.p, '.', rest.n);
}

static void on_done(cw_token_check *ask, cw_code rc)
{
    introspection *a = CW_CONTAINER(ask, introspection, ask);
    a->result->answer = rc;
    a->result->jwt = ask->issued.jwt;
    a->is_done = true;
    cw_verified_token_done(&ask->issued);
}

static cw_code ask_issuers(cw_token_introspect *t, cw_issuers *issuers, cw_loop *loop, cw_str token,
                           cw_arena *arena, cw_err *err)
{
    introspection a = {.ask = {.token = token, .arena = arena, .verifies = true, .done = on_done},
                       .result = t};
    const cw_issuer_opts *items = t->issuer ? t->issuer : t->list.items;
    cw_code rc = cw_issuers_configure(issuers, items, t->issuer ? 1 : t->list.n, err);
    if (rc)
        return rc;
    rc = cw_issuers_start_check(issuers, &a.ask);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    /* Every fetch has an end, so this has one. */
    while (!a.is_done)
        uv_run(&loop->uv, UV_RUN_ONCE);
    if (t->issuer)
        t->keys = cw_issuers_keys(issuers, t->issuer->rules.issuer);
    return CW_OK;
}

static cw_code run_loop(cw_token_introspect *t, cw_str token, cw_arena *arena, cw_err *err)
{
    cw_loop loop;
    cw_issuers *issuers = NULL;
    cw_code rc = cw_loop_init(&loop, MAX_FD, err);
    if (rc)
        return rc;
    rc = cw_issuers_new(&loop, &issuers, err);
    if (!rc)
        rc = ask_issuers(t, issuers, &loop, token, arena, err);
    cw_issuers_close(issuers);
    cw_loop_end(&loop);
    cw_loop_run(&loop);
    cw_loop_done(&loop);
    cw_issuers_free(issuers);
    return rc;
}

cw_code cw_token_introspect_run(cw_token_introspect *ask, const cw_config *config, cw_str token,
                                cw_str named, cw_arena *arena, cw_err *err)
{
    *ask = (cw_token_introspect){.answer = CW_INVALID};
    bool is_jwt = cw_token_introspect_is_jwt(token);
    cw_code rc = cw_issuer_list_init(&ask->list, config, err);
    if (!rc)
        rc = cw_secret_init(err);
    for (size_t i = 0; i < ask->list.n && is_jwt && !rc; i++) {
        if (named.p && cw_str_eq(ask->list.items[i].rules.issuer, named))
            ask->issuer = &ask->list.items[i];
    }
    if (rc || ask->list.n == 0 || (is_jwt && !ask->issuer))
        return rc;
    return run_loop(ask, token, arena, err);
}

void cw_token_introspect_done(cw_token_introspect *ask)
{
    cw_jwks_unref(ask->keys);
    cw_issuer_list_done(&ask->list);
}
