/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endpoint_secrets.c - what we tell a service and nobody is to hear from it again. */
#include "base/percent.h"
#include "json/write.h"
#include "source/upstream/endpoint_int.h"

#define SPELLED_MAX (1024u * 1024u)
#define NAMED_MIN 6u /* bytes of a value that only its name makes a secret: "true" is none */

static cw_code add(cw_endpoint *s, cw_str text, cw_err *err)
{
    cw_code rc = cw_secrets_add(&s->secrets, text, &s->arena);
    if (rc == CW_LIMIT)
        return cw_fail(err, CW_CONFIG, "more than %u secrets", CW_SECRETS_MAX);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

cw_code cw_endpoint_redact(cw_endpoint *s, cw_str secret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SPELLED_MAX);
    cw_code rc = add(s, secret, err);
    cw_json_escape(&text, secret);
    if (!rc && !text.code)
        rc = add(s, cw_str_make(text.p + 1, text.n - 2), err); /* without the quotes */
    if (rc || text.code)
        return rc ? rc : cw_fail_nomem(err);
    cw_buf_clear(&text);
    cw_percent_encode(&text, secret);
    return text.code ? cw_fail_nomem(err) : add(s, cw_buf_str(&text), err);
}

cw_code cw_endpoint_redact_basic(cw_endpoint *s, cw_str pair, cw_str header, cw_err *err)
{
    cw_str password, encoded;
    cw_str_cut(pair, ':', &password);
    cw_str_cut(header, ' ', &encoded);
    cw_code rc = cw_endpoint_redact(s, pair, err);
    if (!rc && password.p)
        rc = cw_endpoint_redact(s, password, err);
    return rc || !encoded.p ? rc : add(s, encoded, err);
}

/* "Bearer X": what is secret of it is X. */
static cw_code hide_value(cw_endpoint *s, cw_str value, cw_err *err)
{
    cw_str rest;
    cw_str first = cw_str_cut(value, ' ', &rest);
    bool has_scheme =
        rest.p && (cw_str_ieq(first, CW_STR("Bearer")) || cw_str_ieq(first, CW_STR("Basic")));
    value = has_scheme ? rest : value;
    return value.n < NAMED_MIN ? CW_OK : cw_endpoint_redact(s, value, err);
}

static cw_code hide_pairs(cw_endpoint *s, const cw_config_pairs *pairs, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < pairs->n && !rc; i++) {
        if (cw_secrets_is_name(pairs->items[i].name))
            rc = hide_value(s, pairs->items[i].value, err);
    }
    return rc;
}

/* A login has a password among its params. */
static cw_code hide_members(cw_endpoint *s, cw_str json, cw_err *err)
{
    const cw_json *root = NULL;
    if (json.n == 0)
        return CW_OK;
    cw_code rc = cw_json_read(json, NULL, &s->arena, &root, NULL, err);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK; /* who sends it will say so */
    for (const cw_json *v = root, *end = cw_json_after(root); v < end && !rc; v++) {
        bool is_key = v->meta & CW_JSON_KEY;
        if (is_key && cw_json_is(v + 1, CW_JSON_STRING) && cw_secrets_is_name(cw_json_text(v)))
            rc = hide_value(s, cw_json_text(v + 1), err);
    }
    return rc;
}

cw_code cw_endpoint_redact_config(cw_endpoint *s, cw_err *err)
{
    cw_code rc = hide_pairs(s, &s->config.headers, err);
    if (!rc)
        rc = hide_pairs(s, &s->config.environment, err);
    for (size_t i = 0; i < s->config.init_calls.n && !rc; i++)
        rc = hide_members(s, s->config.init_calls.items[i].params, err);
    return rc;
}
