/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token_introspect.c - asks the issuers of a configuration about one token. */
#include "cli/account/token_introspect.h"

#include "access/credentials.h"
#include "cli/lib/loop.h"

/* One request to the issuers. */
typedef struct introspection {
    cw_token_check ask;
    cw_token_introspect *result;
    cw_issuers *issuers;
    cw_loop *loop;
    size_t pending;
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
    cw_verified_token_done(&ask->issued);
    cw_cli_loop_finish(a->loop, &a->pending);
}

static cw_code ask_issuers(introspection *a, cw_err *err)
{
    cw_token_introspect *t = a->result;
    const cw_issuer_opts *items = t->issuer ? t->issuer : t->list.items;
    cw_code rc = cw_issuers_configure(a->issuers, items, t->issuer ? 1 : t->list.n, err);
    if (rc)
        return rc;
    a->pending = 1;
    rc = cw_issuers_start_check(a->issuers, &a->ask);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    /* Every fetch has a timeout, so this wait ends. */
    cw_cli_loop_wait(a->loop, &a->pending);
    if (t->issuer)
        t->keys = cw_issuers_keys(a->issuers, t->issuer->rules.issuer);
    return CW_OK;
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    introspection *a = ctx;
    a->loop = loop;
    cw_code rc = cw_issuers_new(loop, &a->issuers, err);
    if (!rc)
        rc = ask_issuers(a, err);
    cw_issuers_close(a->issuers);
    return rc;
}

static void free_issuers(void *ctx)
{
    cw_issuers_free(((introspection *)ctx)->issuers);
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
    introspection a = {.ask = {.token = token, .arena = arena, .verifies = true, .done = on_done},
                       .result = ask};
    return cw_cli_loop_run(run_on_loop, free_issuers, &a, err);
}

void cw_token_introspect_done(cw_token_introspect *ask)
{
    cw_jwks_unref(ask->keys);
    cw_issuer_list_done(&ask->list);
}
