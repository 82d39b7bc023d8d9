/* SPDX-License-Identifier: GPL-2.0-or-later */
/* endpoint.c - from an entry of the configuration to an endpoint with its texts and secrets. */
#include "source/upstream/endpoint.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/percent.h"
#include "base/template.h"
#include "json/write.h"
#include "net/http/http1.h"

#define SPELLED_MAX (1024u * 1024u)
#define NAMED_MIN 6u /* bytes of a value that is a secret because of its name; excludes "true" */

static cw_code add(cw_endpoint *s, cw_str text, cw_err *err)
{
    cw_code rc = cw_secrets_add(&s->secrets, text, &s->arena);
    if (rc == CW_LIMIT)
        return cw_fail(err, CW_CONFIG, "more than %u secrets", CW_SECRETS_MAX);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

static cw_code redact(cw_endpoint *s, cw_str secret, cw_err *err)
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

static cw_code redact_basic(cw_endpoint *s, cw_str pair, cw_str header, cw_err *err)
{
    cw_str password, encoded;
    cw_str_cut(pair, ':', &password);
    cw_str_cut(header, ' ', &encoded);
    cw_code rc = redact(s, pair, err);
    if (!rc && password.p)
        rc = redact(s, password, err);
    return rc || !encoded.p ? rc : add(s, encoded, err);
}

/* The secret part of "Bearer X" is X. */
static cw_code hide_value(cw_endpoint *s, cw_str value, cw_err *err)
{
    cw_str rest;
    cw_str first = cw_str_cut(value, ' ', &rest);
    bool has_scheme =
        rest.p && (cw_str_ieq(first, CW_STR("Bearer")) || cw_str_ieq(first, CW_STR("Basic")));
    value = has_scheme ? rest : value;
    return value.n < NAMED_MIN ? CW_OK : redact(s, value, err);
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

/* The params of an initial call may contain a password. */
static cw_code hide_members(cw_endpoint *s, cw_str json, cw_err *err)
{
    const cw_json *root = NULL;
    if (json.n == 0)
        return CW_OK;
    cw_code rc = cw_json_read(json, NULL, &s->arena, &root, NULL, err);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK; /* the login reports the error */
    for (const cw_json *v = root, *end = cw_json_after(root); v < end && !rc; v++) {
        bool is_key = v->meta & CW_JSON_KEY;
        if (is_key && cw_json_is(v + 1, CW_JSON_STRING) && cw_secrets_is_name(cw_json_text(v)))
            rc = hide_value(s, cw_json_text(v + 1), err);
    }
    return rc;
}

static cw_code redact_config(cw_endpoint *s, cw_err *err)
{
    cw_code rc = hide_pairs(s, &s->config.headers, err);
    if (!rc)
        rc = hide_pairs(s, &s->config.environment, err);
    for (size_t i = 0; i < s->config.init_calls.n && !rc; i++)
        rc = hide_members(s, s->config.init_calls.items[i].params, err);
    return rc;
}

#define ARENA_MAX (4u * 1024u * 1024u)
#define SECRET_MAX 16384u

static cw_code nomem(const cw_endpoint *s, cw_err *err)
{
    return cw_arena_fail(&s->arena, err);
}

/* ---- secrets ---- */

/* The text of a file or of a variable, without white space at its end. *ret.p is NULL where neither
 * is named. */
static cw_code read_secret(cw_endpoint *s, cw_str file, cw_str variable, cw_str *ret, cw_err *err)
{
    *ret = (cw_str){NULL, 0};
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SECRET_MAX);
    if (file.n) {
        cw_code rc = cw_file_read(file.p, CW_FILE_PLAIN, &text, err);
        if (rc)
            return rc;
    } else if (variable.n) {
        const char *value = getenv(variable.p);
        if (!value)
            return cw_fail(err, CW_CONFIG, "the variable %s is not set", variable.p);
        cw_buf_add(&text, cw_str_from(value));
    } else {
        return CW_OK;
    }
    cw_str secret = cw_arena_dup_str(&s->arena, cw_buf_str(&text));
    if (!secret.p)
        return nomem(s, err);
    while (secret.n && strchr(" \t\r\n", secret.p[secret.n - 1]))
        secret.n--;
    if (text.code || secret.n == 0)
        return cw_fail(err, text.code ? text.code : CW_CONFIG, "the secret is empty or too long");
    *ret = secret;
    return CW_OK;
}

static cw_str join(cw_endpoint *s, cw_str prefix, cw_str secret)
{
    char *text = cw_arena_printf(&s->arena, "%.*s%.*s", CW_STR_ARG(prefix), CW_STR_ARG(secret));
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

static cw_str basic(cw_endpoint *s, cw_str pair)
{
    char *out = cw_arena_alloc(&s->arena, CW_BASE64_TEXT(pair.n) + sizeof "Basic ");
    if (!out)
        return (cw_str){NULL, 0};
    memcpy(out, "Basic ", 6);
    size_t n = 6 + cw_base64_encode(pair, out + 6);
    out[n] = 0;
    return cw_str_make(out, n);
}

static cw_code add_header(cw_endpoint *s, cw_str name, cw_str value, cw_err *err)
{
    if (!value.p)
        return nomem(s, err);
    if (!cw_http_is_value(value))
        return cw_fail(err, CW_CONFIG, "a line break or control character cannot be in a header");
    if (s->n_headers == CW_ENDPOINT_HEADERS)
        return cw_fail(err, CW_CONFIG, "headers: more than %u", CW_ENDPOINT_HEADERS);
    s->headers[s->n_headers++] = (cw_http_header){name, value};
    return CW_OK;
}

/* A JSON string; if `key` is not empty, with the key and a colon before it. */
static cw_code quote(cw_endpoint *s, cw_str key, cw_str text, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 8 * SECRET_MAX);
    if (key.n) {
        cw_json_escape(&out, key);
        cw_buf_add_char(&out, ':');
    }
    cw_json_escape(&out, text);
    if (out.code)
        return cw_fail_nomem(err);
    *ret = cw_arena_dup_str(&s->arena, cw_buf_str(&out));
    return ret->p ? CW_OK : nomem(s, err);
}

/* Put the secret into the place that `secret.as` names. preset.c has checked it. */
static cw_code place_secret(cw_endpoint *s, cw_str secret, cw_err *err)
{
    cw_str as = s->config.secret.as, name = s->config.secret.name;
    cw_str text = join(s, s->config.secret.prefix, secret);
    if (!text.p)
        return nomem(s, err);
    if (cw_str_is(as, "first_param"))
        return quote(s, CW_STR(""), text, &s->protocol.secret_first, err);
    if (cw_str_is(as, "param"))
        return quote(s, name, text, &s->protocol.secret_member, err);
    if (cw_str_is(as, "header"))
        return add_header(s, name, text, err);
    bool is_basic = cw_str_is(as, "basic");
    cw_str value = is_basic ? basic(s, text) : join(s, CW_STR("Bearer "), text);
    cw_code rc = add_header(s, CW_STR("Authorization"), value, err);
    return rc || !is_basic ? rc : redact_basic(s, text, value, err);
}

static cw_code take_secret(cw_endpoint *s, cw_err *err)
{
    cw_str secret;
    cw_code rc = read_secret(s, s->config.secret.file, s->config.secret.environment, &secret, err);
    if (!rc && secret.p)
        rc = redact(s, secret, err);
    if (!rc && secret.p)
        rc = place_secret(s, secret, err);
    return rc ? cw_wrap(err, rc, "secret") : CW_OK;
}

/* The value of a variable or header that is in a file: a secret. */
static cw_code read_own_file(cw_endpoint *s, const cw_config_pair *pair, cw_str *ret, cw_err *err)
{
    cw_code rc = read_secret(s, pair->value, CW_STR(""), ret, err);
    if (!rc && !ret->p)
        rc = cw_fail(err, CW_CONFIG, "there is no file");
    if (!rc)
        rc = redact(s, *ret, err);
    return rc ? cw_wrap(err, rc, "%s", pair->name.p) : CW_OK;
}

static void add_form(cw_buf *out, const char *name, cw_str value)
{
    if (value.n == 0)
        return;
    cw_buf_printf(out, "&%s=", name);
    cw_percent_encode(out, value);
}

/* "Basic …" of a client: both parts are encoded as in a form (RFC 6749, 2.3.1). */
static cw_str client_pair(cw_endpoint *s, cw_str secret)
{
    CW_CLEANUP(cw_buf_done) cw_buf pair;
    cw_buf_init(&pair, 8 * SECRET_MAX);
    cw_percent_encode(&pair, s->config.oauth.client_id);
    cw_buf_add_char(&pair, ':');
    cw_percent_encode(&pair, secret);
    return pair.code ? (cw_str){NULL, 0} : basic(s, cw_buf_str(&pair));
}

static cw_code take_oauth(cw_endpoint *s, cw_err *err)
{
    cw_str secret;
    if (s->config.oauth.token_url.n == 0)
        return CW_OK;
    cw_code rc = read_secret(s, s->config.oauth.client_secret_file,
                             s->config.oauth.client_secret_environment, &secret, err);
    if (rc || !secret.p)
        return rc ? cw_wrap(err, rc, "oauth")
                  : cw_fail(err, CW_CONFIG, "oauth: there is no client_secret");
    s->oauth_basic = client_pair(s, secret);
    CW_CLEANUP(cw_buf_done) cw_buf form;
    cw_buf_init(&form, SECRET_MAX);
    cw_buf_add(&form, CW_STR("grant_type=client_credentials"));
    add_form(&form, "scope", s->config.oauth.scope);
    add_form(&form, "audience", s->config.oauth.audience);
    s->oauth_form = form.code ? (cw_str){NULL, 0} : cw_arena_dup_str(&s->arena, cw_buf_str(&form));
    if (!s->oauth_basic.p || !s->oauth_form.p)
        return nomem(s, err);
    rc = redact(s, secret, err);
    return rc ? rc : redact_basic(s, CW_STR(""), s->oauth_basic, err);
}

/* ---- address ---- */

static bool has_scheme(cw_str url, const char *scheme)
{
    cw_str s = cw_str_from(scheme);
    return url.n >= s.n && cw_str_ieq(cw_str_make(url.p, s.n), s);
}

/* Parse the URL with the scheme `as`, whose rules for host, port and path are the same. */
static cw_code parse_as(cw_endpoint *s, const char *as, cw_client_url *url, cw_err *err)
{
    cw_str rest = s->config.url;
    cw_str_cut(rest, ':', &rest);
    char *text = cw_arena_printf(&s->arena, "%s:%.*s", as, CW_STR_ARG(rest));
    return text ? cw_client_url_parse(cw_str_from(text), url, err) : nomem(s, err);
}

static cw_code find_kind(cw_endpoint *s, cw_err *err)
{
    cw_str url = s->config.url;
    cw_client_url at = {0};
    cw_code rc = CW_OK;
    if (s->config.command.n) {
        s->kind = CW_ENDPOINT_PROGRAM;
    } else if (has_scheme(url, "unix:") && !memchr(url.p + 5, ':', url.n - 5)) {
        s->kind = CW_ENDPOINT_STREAM;
        s->channel.unix_path = cw_str_make(url.p + 5, url.n - 5);
    } else if (has_scheme(url, "tcp://") || has_scheme(url, "ws://") || has_scheme(url, "wss://")) {
        bool is_ws = !has_scheme(url, "tcp://");
        s->kind = is_ws ? CW_ENDPOINT_WEBSOCKET : CW_ENDPOINT_STREAM;
        rc = parse_as(s, has_scheme(url, "wss://") ? "https" : "http", &at, err);
        s->channel.host = at.host;
        s->channel.port = at.port;
        s->channel.websocket = is_ws ? at.path : CW_STR("");
        s->channel.is_tls = at.is_tls;
    } else {
        s->kind = CW_ENDPOINT_HTTP;
        rc = cw_client_url_parse(url, &s->url, err);
    }
    return rc ? cw_wrap(err, rc, "url '%.*s'", CW_STR_ARG(url)) : CW_OK;
}

/* The environment of the program: the variables that programs need, and those of the operator. */
static cw_code make_environment(cw_endpoint *s, cw_err *err)
{
    static const char *const usual[] = {"PATH", "HOME", "LANG", "TMPDIR"};
    const cw_config_pairs *own = &s->config.environment, *files = &s->config.environment_files;
    const char **all =
        cw_arena_calloc(&s->arena, CW_COUNT(usual) + own->n + files->n + 1, sizeof *all);
    size_t n = 0;
    if (!all)
        return nomem(s, err);
    for (size_t i = 0; i < CW_COUNT(usual); i++) {
        const char *value = getenv(usual[i]);
        if (!value)
            continue;
        all[n] = cw_arena_printf(&s->arena, "%s=%s", usual[i], value);
        if (!all[n++])
            return nomem(s, err);
    }
    for (size_t i = 0; i < own->n; i++) {
        all[n] = cw_arena_printf(&s->arena, "%s=%s", own->items[i].name.p, own->items[i].value.p);
        if (!all[n++])
            return nomem(s, err);
    }
    for (size_t i = 0; i < files->n; i++) {
        cw_str value;
        cw_code rc = read_own_file(s, &files->items[i], &value, err);
        if (rc)
            return cw_wrap(err, rc, "environment_files");
        all[n] = cw_arena_printf(&s->arena, "%s=%.*s", files->items[i].name.p, CW_STR_ARG(value));
        if (!all[n++])
            return nomem(s, err);
    }
    s->channel.environment = all;
    return CW_OK;
}

/* The paths of a list, which ends with NULL; NULL without memory. */
static const char *const *list_of(cw_endpoint *s, const cw_config_strings *paths)
{
    const char **all = cw_arena_calloc(&s->arena, paths->n + 1, sizeof *all);
    for (size_t i = 0; i < paths->n && all; i++)
        all[i] = paths->items[i].p;
    return all;
}

static cw_code make_confinement(cw_endpoint *s, cw_err *err)
{
    s->confinement = (cw_confinement){.memory = s->config.confine.max_memory,
                                      .files = s->config.confine.max_open_files,
                                      .processes = s->config.confine.max_processes,
                                      .readable = list_of(s, &s->config.confine.readable),
                                      .writable = list_of(s, &s->config.confine.writable)};
    s->channel.confinement = &s->confinement;
    return s->confinement.readable && s->confinement.writable ? CW_OK : nomem(s, err);
}

static cw_code make_command(cw_endpoint *s, cw_err *err)
{
    const cw_config_strings *command = &s->config.command;
    const char **argv = cw_arena_calloc(&s->arena, command->n + 1, sizeof *argv);
    if (!argv)
        return nomem(s, err);
    for (size_t i = 0; i < command->n; i++)
        argv[i] = command->items[i].p;
    s->channel.command = argv;
    s->channel.folder = s->config.folder.n ? s->config.folder.p : NULL;
    cw_code rc = make_confinement(s, err);
    return rc ? rc : make_environment(s, err);
}

/* The handshake of a WebSocket has no content, so it has neither Content-Type nor Accept. */
static cw_code make_headers(cw_endpoint *s, cw_err *err)
{
    bool is_http = s->kind == CW_ENDPOINT_HTTP;
    const cw_str json = CW_STR("application/json");
    cw_str accepted = cw_dialect_is_mcp(s->protocol.dialect)
                          ? CW_STR("application/json, text/event-stream")
                          : json;
    cw_code rc = is_http ? add_header(s, CW_STR("Content-Type"), json, err) : CW_OK;
    if (!rc && is_http)
        rc = add_header(s, CW_STR("Accept"), accepted, err);
    if (!rc)
        rc = add_header(s, CW_STR("User-Agent"), CW_STR("causeway"), err);
    const cw_config_pairs *own = &s->config.headers;
    for (size_t i = 0; i < own->n && !rc; i++)
        rc = add_header(s, own->items[i].name, own->items[i].value, err);
    const cw_config_pairs *files = &s->config.header_files;
    for (size_t i = 0; i < files->n && !rc; i++) {
        cw_str value;
        rc = read_own_file(s, &files->items[i], &value, err);
        if (!rc)
            rc = cw_wrap(err, add_header(s, files->items[i].name, value, err), "%s",
                         files->items[i].name.p);
        if (rc)
            rc = cw_wrap(err, rc, "header_files");
    }
    return rc;
}

static cw_code read_replies(cw_endpoint *s, cw_err *err)
{
    if (s->config.replies.n == 0)
        return CW_OK;
    cw_code rc = cw_json_read(s->config.replies, NULL, &s->arena, &s->replies, NULL, err);
    return rc ? cw_wrap(err, rc, "answers_to_service") : CW_OK;
}

static cw_code resolve(cw_endpoint *s, cw_err *err)
{
    cw_code rc = cw_preset_apply(&s->config, &s->words, err);
    if (rc)
        return rc;
    s->protocol = s->words.protocol;
    s->protocol.secret_first = s->protocol.secret_member = CW_STR("");
    s->protocol.secrets = &s->secrets;
    s->protocol.has_credentials = cw_config_has_credentials(&s->config);
    s->oauth_basic = s->oauth_form = CW_STR("");
    s->channel = (cw_channel_opts){
        .framing = s->words.framing,
        .connect_ms = s->config.connect_ms,
        .name = s->config.name,
        .secrets = &s->secrets,
        .tls = {s->config.tls.ca_file, s->config.tls.certificate, s->config.tls.key,
                s->config.tls.server_name},
    };
    rc = find_kind(s, err);
    if (!rc && s->kind == CW_ENDPOINT_PROGRAM)
        rc = make_command(s, err);
    if (!rc && (s->kind == CW_ENDPOINT_HTTP || s->kind == CW_ENDPOINT_WEBSOCKET))
        rc = make_headers(s, err);
    if (!rc)
        rc = take_secret(s, err);
    if (!rc)
        rc = redact_config(s, err);
    s->channel.headers = s->headers;
    s->channel.n_headers = s->n_headers;
    if (!rc)
        rc = take_oauth(s, err);
    return rc ? rc : read_replies(s, err);
}

cw_code cw_endpoint_new(const cw_config_remote *config, cw_config *owner, cw_endpoint **ret,
                        cw_err *err)
{
    cw_endpoint *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    atomic_init(&s->refs, 1);
    cw_arena_init(&s->arena, ARENA_MAX);
    s->config = *config;
    s->owner = owner ? cw_config_ref(owner) : NULL;
    cw_code rc = resolve(s, err);
    if (rc) {
        cw_endpoint_unref(s);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

cw_endpoint *cw_endpoint_ref(cw_endpoint *s)
{
    atomic_fetch_add(&s->refs, 1);
    return s;
}

void cw_endpoint_unref(cw_endpoint *s)
{
    if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    cw_arena_done(&s->arena);
    cw_config_unref(s->owner);
    free(s);
}

/* ---- comparisons, paths, replies ---- */

static bool same_list(const char *const *a, const char *const *b)
{
    if (!a || !b)
        return a == b;
    size_t i = 0;
    while (a[i] && b[i] && strcmp(a[i], b[i]) == 0)
        i++;
    return !a[i] && !b[i];
}

static bool same_preludes(const cw_config_preludes *a, const cw_config_preludes *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = cw_str_eq(a->items[i].method, b->items[i].method) &&
               cw_str_eq(a->items[i].params, b->items[i].params) &&
               a->items[i].notify == b->items[i].notify;
    return same;
}

static bool same_tls(const cw_client_tls *a, const cw_client_tls *b)
{
    return cw_str_eq(a->ca_file, b->ca_file) && cw_str_eq(a->certificate, b->certificate) &&
           cw_str_eq(a->key, b->key) && cw_str_eq(a->server_name, b->server_name);
}

/* Whether both use the same credentials. */
static bool same_credentials(const cw_endpoint *a, const cw_endpoint *b)
{
    bool same = a->n_headers == b->n_headers;
    for (size_t i = 0; i < a->n_headers && same; i++)
        same = cw_str_eq(a->headers[i].name, b->headers[i].name) &&
               cw_str_eq(a->headers[i].value, b->headers[i].value);
    return same && cw_str_eq(a->protocol.secret_first, b->protocol.secret_first) &&
           cw_str_eq(a->protocol.secret_member, b->protocol.secret_member) &&
           same_tls(&a->channel.tls, &b->channel.tls) &&
           cw_str_eq(a->config.oauth.token_url, b->config.oauth.token_url) &&
           cw_str_eq(a->oauth_basic, b->oauth_basic) && cw_str_eq(a->oauth_form, b->oauth_form);
}

static bool same_strings(const cw_config_strings *a, const cw_config_strings *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++)
        same = cw_str_eq(a->items[i], b->items[i]);
    return same;
}

/* Whether both have the same notifications about jobs. */
static bool same_job_notices(const cw_config_jobs *a, const cw_config_jobs *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; i < a->n && same; i++) {
        const cw_config_job_notices *x = &a->items[i].notifications,
                                    *y = &b->items[i].notifications;
        same = x->n == y->n;
        for (size_t k = 0; k < x->n && same; k++)
            same = cw_str_eq(x->items[k].method, y->items[k].method) &&
                   cw_str_eq(x->items[k].id, y->items[k].id) &&
                   cw_str_eq(x->items[k].error, y->items[k].error) &&
                   x->items[k].ends == y->items[k].ends;
    }
    return same;
}

/* Whether a shared connection behaves the same for both, with the same limits. */
static bool same_behaviour(const cw_config_remote *a, const cw_config_remote *b)
{
    return a->queue == b->queue && a->connections == b->connections &&
           cw_str_eq(a->replies, b->replies) && cw_str_eq(a->greeting, b->greeting) &&
           same_strings(&a->change_notifications, &b->change_notifications) &&
           same_job_notices(&a->jobs, &b->jobs) && cw_str_eq(a->protocol, b->protocol) &&
           cw_str_eq(a->session, b->session) && same_strings(&a->questions, &b->questions) &&
           same_preludes(&a->init_calls, &b->init_calls);
}

static bool same_confinement(const cw_endpoint *a, const cw_endpoint *b)
{
    const cw_confinement *x = &a->confinement, *y = &b->confinement;
    return x->memory == y->memory && x->files == y->files && x->processes == y->processes &&
           same_list(x->readable, y->readable) && same_list(x->writable, y->writable);
}

bool cw_endpoint_is_same_address(const cw_endpoint *a, const cw_endpoint *b)
{
    return a->kind == b->kind && cw_str_eq(a->config.url, b->config.url) &&
           same_list(a->channel.command, b->channel.command);
}

bool cw_endpoint_is_same_protocol(const cw_endpoint *a, const cw_endpoint *b)
{
    return cw_endpoint_is_same_address(a, b) && a->config.timeout_ms == b->config.timeout_ms &&
           a->channel.connect_ms == b->channel.connect_ms &&
           same_list(a->channel.environment, b->channel.environment) &&
           cw_str_eq(a->config.folder, b->config.folder) && same_confinement(a, b) &&
           a->channel.framing == b->channel.framing && a->protocol.dialect == b->protocol.dialect &&
           a->protocol.params == b->protocol.params &&
           a->protocol.string_ids == b->protocol.string_ids &&
           a->protocol.sends_empty == b->protocol.sends_empty &&
           a->protocol.by_exchange == b->protocol.by_exchange && same_credentials(a, b) &&
           same_behaviour(&a->config, &b->config);
}

cw_code cw_endpoint_call_path(const cw_endpoint *s, cw_str method, cw_arena *arena, cw_str *ret,
                              cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf path;
    cw_template_part part;
    *ret = CW_STR("");
    cw_buf_init(&path, CW_HTTP_MAX_TARGET);
    for (cw_str rest = s->config.call_path; rest.n && cw_template_next(&rest, &part);) {
        cw_buf_add(&path, part.literal);
        if (part.name.p)
            cw_percent_encode(&path, method);
    }
    if (path.code == CW_LIMIT)
        return cw_fail(err, CW_CONFIG, "call_path: too long with '%.*s' in it", CW_STR_ARG(method));
    if (path.code)
        return cw_fail_nomem(err);
    if (path.n == 0)
        return CW_OK;
    *ret = cw_arena_dup_str(arena, cw_buf_str(&path));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

cw_str cw_endpoint_reply(const cw_endpoint *s, cw_str method, const cw_json *params)
{
    const cw_json *v = s->replies ? cw_json_get(s->replies, method) : NULL;
    if (!v)
        return CW_STR("");
    if (!cw_json_is(v, CW_JSON_STRING) || !cw_str_is(cw_json_text(v), "$params"))
        return cw_json_span(v);
    return params ? cw_json_span(params) : CW_STR("[]");
}
