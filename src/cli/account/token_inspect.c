/* SPDX-License-Identifier: GPL-2.0-or-later */
/* token inspect: reports whether a token of an issuer would be accepted, with the reasons. */
#include <stdio.h>
#include <unistd.h>

#include "access/credentials.h"
#include "access/jwt/jwt.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/lib/cli.h"
#include "cli/lib/loop.h"
#include "cli/lib/progress.h"
#include "cli/lib/table.h"
#include "config/syntax/quote.h"
#include "server/options/database.h"
#include "server/options/issuers.h"

#define INPUT_MAX_BYTES (2u * CW_JWS_MAX_BYTES)
#define OUTPUT_MAX_BYTES (1024u * 1024u)
#define BUSY_MS 2000u

/* ---- introspection: the answer of the configured issuers about one token ----
 *
 * Requests go to the issuers as a server sends them (access/issuer/issuer.h), with the same rules
 * for fetched documents. A JWT needs the metadata and keys of the issuer that it names. An opaque
 * token goes to every issuer with an introspection endpoint.
 */

typedef struct introspection {
    cw_issuer_list list;          /* all of them; borrows from the configuration */
    const cw_issuer_opts *issuer; /* the one that a JWT names; NULL: not configured */
    cw_jwks *keys;                /* its keys; NULL: not available */
    cw_jwt jwt;                   /* of an opaque token: the claims, in the arena */
    cw_code answer;               /* of an opaque token: CW_OK, CW_INVALID, CW_IO */
} introspection;

/* One request to the issuers. */
typedef struct request {
    cw_token_check ask;
    introspection *result;
    cw_issuers *issuers;
    cw_loop *loop;
    cw_cli_progress progress;
    size_t pending;
} request;

/* Whether it has the form of a JWT. */
static bool may_be_jwt(cw_str token)
{
    cw_str rest;
    cw_str_cut(token, '.', &rest);
    return rest.p && memchr(rest.p, '.', rest.n);
}

static void on_done(cw_token_check *ask, cw_code rc)
{
    request *r = CW_CONTAINER(ask, request, ask);
    r->result->answer = rc;
    r->result->jwt = ask->issued.jwt;
    cw_verified_token_done(&ask->issued);
    cw_cli_loop_finish(r->loop, &r->pending);
}

static void write_asking(cw_buf *out, void *ctx)
{
    (void)ctx;
    cw_buf_add(out, CW_STR("asking the issuer"));
}

static cw_code ask_issuers(request *r, cw_err *err)
{
    introspection *in = r->result;
    const cw_issuer_opts *items = in->issuer ? in->issuer : in->list.items;
    cw_issuer_set *set;
    cw_code rc = cw_issuers_prepare(r->issuers, items, in->issuer ? 1 : in->list.n, &set, err);
    if (rc)
        return rc;
    cw_issuers_use(r->issuers, set);
    r->pending = 1;
    rc = cw_issuers_start_check(r->issuers, &r->ask);
    if (rc)
        return cw_fail(err, rc, "%s", cw_code_text(rc));
    cw_cli_progress_start(&r->progress, &r->loop->uv, write_asking, NULL);
    /* Every fetch has a timeout, so this wait ends. */
    cw_cli_loop_wait(r->loop, &r->pending);
    cw_cli_progress_stop(&r->progress);
    if (in->issuer)
        in->keys = cw_issuers_keys(r->issuers, in->issuer->rules.issuer);
    return CW_OK;
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    request *r = ctx;
    r->loop = loop;
    cw_code rc = cw_issuers_new(loop, &r->issuers, err);
    if (!rc)
        rc = ask_issuers(r, err);
    cw_issuers_close(r->issuers);
    return rc;
}

static void free_issuers(void *ctx)
{
    cw_issuers_free(((request *)ctx)->issuers);
}

/* Check a JWT whose issuer is `named` (.p may be NULL), or an opaque token. Fails if no issuer could
 * be asked. Call introspection_done in any case. The token must live as long as the arena. */
static cw_code introspect(introspection *ask, const cw_config *config, cw_str token, cw_str named,
                          cw_arena *arena, cw_err *err)
{
    *ask = (introspection){.answer = CW_INVALID};
    bool is_jwt = may_be_jwt(token);
    cw_code rc = cw_issuer_list_init(&ask->list, config, err);
    if (!rc)
        rc = cw_secret_init(err);
    for (size_t i = 0; i < ask->list.n && is_jwt && !rc; i++) {
        if (named.p && cw_str_eq(ask->list.items[i].rules.issuer, named))
            ask->issuer = &ask->list.items[i];
    }
    if (rc || ask->list.n == 0 || (is_jwt && !ask->issuer))
        return rc;
    request r = {.ask = {.token = token, .arena = arena, .verifies = true, .done = on_done},
                 .result = ask};
    return cw_cli_loop_run(run_on_loop, free_issuers, &r, err);
}

static void introspection_done(introspection *ask)
{
    cw_jwks_unref(ask->keys);
    cw_issuer_list_done(&ask->list);
}

typedef struct inspection {
    const char *config; /* the options; NULL when not given */
    const char *jwks;
    const char *issuer;
    cw_cli_texts audiences;
    bool allow_missing_typ, json;
    cw_arena arena;
    cw_config *configured; /* the file of --config */
    introspection ask;     /* the answer of its issuers */
    cw_jwks *keys;
    cw_jwt jwt;
    struct {
        const char *name;
        char text[CW_ERR_MSG_MAX];
    } reasons[2]; /* of signature and claims; both may be wrong */
    size_t n_reasons;
    const char *unchecked[2];
    size_t n_unchecked;
} inspection;

static void add_reason(inspection *in, const char *name, const char *text)
{
    in->reasons[in->n_reasons].name = name;
    snprintf(in->reasons[in->n_reasons++].text, CW_ERR_MSG_MAX, "%s", text);
}

/* ---- judging ---- */

static void tell_left_out(const inspection *in)
{
    size_t n;
    char exposed[CW_EXCERPT_SIZE];
    const cw_jwks_left_out *keys = cw_jwks_left_out_keys(in->keys, &n);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "causeway: %s: key %zu (%s) is left out: %s\n", in->jwks, keys[i].index + 1,
                cw_excerpt(keys[i].kid, exposed), keys[i].why);
}

static cw_code read_keys(inspection *in, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_JWKS_MAX_BYTES);
    cw_code rc = cw_file_read(in->jwks, CW_FILE_ANY, &text, err);
    if (rc)
        return rc;
    rc = cw_jwks_parse(cw_buf_str(&text), CW_JOSE_ALL, &in->keys, err);
    if (rc)
        return cw_wrap(err, rc, "%s", in->jwks);
    tell_left_out(in);
    return CW_OK;
}

/* A rule without an option is not checked: the token's own value takes its place. */
static void own_audience(inspection *in, cw_str *ret)
{
    const cw_json *aud = cw_json_get(in->jwt.claims, CW_STR("aud"));
    if (cw_json_is(aud, CW_JSON_ARRAY))
        aud = cw_json_first(aud);
    *ret = cw_json_is(aud, CW_JSON_STRING) ? cw_json_text(aud) : CW_STR("");
    in->unchecked[in->n_unchecked++] = "audience";
}

static void own_issuer(inspection *in, cw_str *ret)
{
    *ret = in->jwt.issuer.p ? in->jwt.issuer : CW_STR("");
    in->unchecked[in->n_unchecked++] = "issuer";
}

static cw_code check_claims(inspection *in, cw_err *err)
{
    cw_str audiences[CW_CLI_MAX_TEXTS];
    cw_jwt_rules rules = {.issuer = cw_str_from(in->issuer),
                          .audiences = audiences,
                          .n_audiences = in->audiences.n,
                          .algs = CW_JOSE_ALL,
                          .leeway_s = CW_JWT_LEEWAY_S,
                          .allow_missing_typ = in->allow_missing_typ};
    for (size_t i = 0; i < in->audiences.n; i++)
        audiences[i] = cw_str_from(in->audiences.items[i]);
    if (!in->issuer)
        own_issuer(in, &rules.issuer);
    if (!in->audiences.n) {
        own_audience(in, &audiences[0]);
        rules.n_audiences = 1;
    }
    return cw_jwt_check_claims(&in->jwt, &rules, cw_clock_wall_ms(), &in->arena, err);
}

/* CW_INVALID becomes a reason; what is left is a failure. */
static cw_code note(inspection *in, cw_code rc, const cw_err *err)
{
    if (rc != CW_INVALID)
        return rc;
    add_reason(in, cw_token_reason_name(in->jwt.reason), err->msg);
    return CW_OK;
}

/* The account that the token acts for must exist, as for the server. */
static cw_code check_account(inspection *in, cw_err *err)
{
    cw_str name = cw_issuer_account_name(&in->jwt, in->ask.issuer);
    cw_account *account = NULL;
    cw_db *db = NULL;
    cw_db_opts opts = cw_database_opts(in->configured, BUSY_MS);
    if (!name.p) {
        add_reason(in, "account",
                   "it names no account in the claim that \"account_claim\" points to");
        return CW_OK;
    }
    if (!opts.where[0]) {
        add_reason(in, "account", "there is no database with its account: set store.path");
        return CW_OK;
    }
    cw_code rc = cw_db_open(&opts, &db, err);
    if (!rc)
        rc = cw_db_find_account(db, name, &in->arena, &account, err);
    cw_db_close(db);
    if (!rc && (!account || account->is_blocked))
        add_reason(in, "account",
                   account ? "its account is blocked" : "its account does not exist");
    return rc;
}

/* By what the configured issuer of the token says, and by the configured rules. */
static cw_code judge_configured(inspection *in, cw_str token, cw_err *err)
{
    introspection *ask = &in->ask;
    cw_code rc = introspect(ask, in->configured, token, in->jwt.issuer, &in->arena, err);
    if (rc)
        return rc;
    if (!ask->issuer) {
        add_reason(in, "issuer", "it comes from no issuer of the configuration");
        return CW_OK;
    }
    if (ask->keys)
        rc = note(in, cw_jwt_check_signature(&in->jwt, ask->keys, err), err);
    else
        add_reason(in, "unreachable", "the keys of its issuer cannot be had");
    if (rc)
        return rc;
    rc = note(
        in, cw_jwt_check_claims(&in->jwt, &ask->issuer->rules, cw_clock_wall_ms(), &in->arena, err),
        err);
    return rc || in->n_reasons || !ask->issuer->account.n ? rc : check_account(in, err);
}

static cw_code judge_opaque(inspection *in, cw_str token, cw_err *err)
{
    introspection *ask = &in->ask;
    cw_code rc = introspect(ask, in->configured, token, (cw_str){NULL, 0}, &in->arena, err);
    if (rc)
        return rc;
    in->jwt.claims = ask->jwt.claims;
    if (ask->answer == CW_INVALID)
        add_reason(in, "refused", "no configured issuer accepts it");
    else if (ask->answer)
        add_reason(in, "unreachable", "no issuer that could know it can be asked");
    return CW_OK;
}

static cw_code judge(inspection *in, cw_str token, cw_err *err)
{
    if (cw_str_starts(token, CW_STR("cw_"))) {
        add_reason(in, "own", "it is no JWT but a token of \"causeway token create\"");
        return CW_OK;
    }
    if (in->configured && cw_issuer_may_be_token(token) && !may_be_jwt(token))
        return judge_opaque(in, token, err);
    cw_code rc = cw_jwt_parse(token, &in->arena, &in->jwt, err);
    if (rc)
        return note(in, rc, err);
    if (in->configured)
        return judge_configured(in, token, err);
    if (in->keys)
        rc = note(in, cw_jwt_check_signature(&in->jwt, in->keys, err), err);
    else
        add_reason(in, "unchecked", "its signature is not checked: name a key set with --jwks");
    return rc ? rc : note(in, check_claims(in, err), err);
}

/* ---- printing ---- */

/* Terminal control characters are escaped in JSON too. Text outside strings is ASCII, and the only
 * control character inside them is DEL. */
static void add_safely(cw_buf *out, cw_str json)
{
    for (size_t i = 0; i < json.n;) {
        unsigned n = cw_utf8_len(json.p + i, json.n - i);
        n = n ? n : 1;
        if (n == 1 && json.p[i] > 0 && json.p[i] < 0x7F)
            cw_buf_add_char(out, json.p[i]);
        else
            cw_quote_bare(out, cw_str_make(json.p + i, n));
        i += n;
    }
}

static void add_document(cw_buf *out, const char *title, const cw_json *v)
{
    cw_json_writer w;
    cw_buf text;
    if (!v)
        return;
    cw_buf_init(&text, OUTPUT_MAX_BYTES);
    cw_json_writer_init(&w, &text, CW_JSON_INDENT);
    cw_json_add_value(&w, v);
    if (cw_json_writer_end(&w, NULL))
        out->code = CW_NOMEM;
    cw_buf_printf(out, "\n%s:\n", title);
    add_safely(out, cw_buf_str(&text));
    cw_buf_add_char(out, '\n');
    cw_buf_done(&text);
}

static void print_text(const inspection *in, cw_buf *out)
{
    cw_cli_style style = in->n_reasons ? CW_CLI_RED : CW_CLI_GREEN;
    cw_buf_printf(out, "%s%s%s\n", cw_cli_escape(1, style), in->n_reasons ? "refused" : "accepted",
                  cw_cli_escape(1, CW_CLI_PLAIN));
    for (size_t i = 0; i < in->n_reasons; i++)
        cw_buf_printf(out, "  %s\n", in->reasons[i].text);
    for (size_t i = 0; i < in->n_unchecked; i++)
        cw_buf_printf(out, "  its %s is not checked: name the right one with --%s\n",
                      in->unchecked[i], in->unchecked[i]);
    add_document(out, "header", in->jwt.jws.header);
    add_document(out, "claims", in->jwt.claims);
}

static void add_value_member(cw_json_writer *w, cw_str name, const cw_json *v)
{
    cw_json_add_key(w, name);
    if (v)
        cw_json_add_value(w, v);
    else
        cw_json_add_null(w);
}

static void print_json(const inspection *in, cw_buf *out)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, OUTPUT_MAX_BYTES);
    cw_json_writer_init(&w, &text, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_bool_member(&w, CW_STR("accepted"), in->n_reasons == 0);
    cw_json_add_key(&w, CW_STR("reasons"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < in->n_reasons; i++) {
        cw_json_open_object(&w);
        cw_json_add_string_member(&w, CW_STR("reason"), cw_str_from(in->reasons[i].name));
        cw_json_add_string_member(&w, CW_STR("text"), cw_str_from(in->reasons[i].text));
        cw_json_close(&w);
    }
    cw_json_close(&w);
    cw_json_add_key(&w, CW_STR("unchecked"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < in->n_unchecked; i++)
        cw_json_add_string(&w, cw_str_from(in->unchecked[i]));
    cw_json_close(&w);
    add_value_member(&w, CW_STR("header"), in->jwt.jws.header);
    add_value_member(&w, CW_STR("claims"), in->jwt.claims);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        out->code = CW_NOMEM;
    add_safely(out, cw_buf_str(&text));
    cw_buf_add_char(out, '\n');
}

/* ---- the command ---- */

static cw_str without_space(cw_str text)
{
    while (text.n && strchr(" \t\r\n", text.p[text.n - 1]) && text.p[text.n - 1])
        text.n--;
    while (text.n && strchr(" \t\r\n", text.p[0]) && text.p[0]) {
        text.p++;
        text.n--;
    }
    return text;
}

static cw_code inspect(inspection *in, cw_buf *out, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf input;
    cw_buf_init(&input, INPUT_MAX_BYTES);
    if (isatty(STDIN_FILENO))
        fprintf(stderr, "causeway: paste the token, then a new line and Ctrl-D\n");
    cw_code rc = in->jwks ? read_keys(in, err) : CW_OK;
    if (!rc)
        rc = cw_file_read_fd(STDIN_FILENO, "standard input", &input, err);
    /* A whole file by mistake is a token that is too long. */
    if (!rc || rc == CW_LIMIT)
        rc = judge(in, without_space(cw_buf_str(&input)), err);
    if (rc)
        return rc;
    if (in->json)
        print_json(in, out);
    else
        print_text(in, out);
    return CW_OK;
}

static int run(inspection *in)
{
    cw_err err = {0};
    cw_buf out;
    cw_arena_init(&in->arena, 2 * CW_JWT_MEMORY + INPUT_MAX_BYTES);
    cw_buf_init(&out, 2 * OUTPUT_MAX_BYTES);
    cw_code rc = inspect(in, &out, &err);
    if (rc) {
        cw_buf_done(&out);
        return cw_cli_failure("%s", err.msg);
    }
    int code = cw_cli_print_buf(&out);
    return code == CW_EXIT_OK && in->n_reasons ? CW_EXIT_FAILURE : code;
}

int cw_cli_token_inspect(int argc, char **argv)
{
    inspection in = {0};
    const cw_cli_option options[] = {
        {"config", 'c', CW_CLI_TEXT, &in.config, "FILE",
         "use the issuers of this configuration, and contact\n"
         "them as the server does"},
        {"jwks", 0, CW_CLI_TEXT, &in.jwks, "FILE",
         "the issuer's keys, as returned by its jwks_uri"},
        {"issuer", 0, CW_CLI_TEXT, &in.issuer, "URL", "required issuer"},
        {"audience", 0, CW_CLI_TEXTS, &in.audiences, "URL",
         "accepted audience; may be repeated, one is enough"},
        {"allow-missing-typ", 0, CW_CLI_FLAG, &in.allow_missing_typ, NULL,
         "do not require the type \"at+jwt\" and its claims"},
        CW_CLI_JSON_OPTION(&in.json),
        {0},
    };
    const cw_cli_spec spec = {
        "token inspect", "",
        "Read an access token of another issuer from standard input and print whether it\n"
        "would be accepted, and the reason if not. With --config the configured issuers\n"
        "decide, and their keys are fetched. Without it nothing is fetched. The token is\n"
        "not stored. The exit code is 0 if it would be accepted, otherwise 1.",
        options, 0};
    int code = cw_cli_parse(&spec, argc, argv, NULL);
    if (code >= 0)
        return code;
    if (in.config && (in.jwks || in.issuer || in.audiences.n || in.allow_missing_typ))
        return cw_cli_usage("--config cannot be combined with the options of the issuer");
    if (in.config)
        code = cw_cli_load_config(in.config, &in.configured);
    if (code >= 0)
        return code;
    /* Why an issuer cannot be asked stands on standard error. */
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_WARN}, NULL);
    code = run(&in);
    introspection_done(&in.ask);
    cw_jwks_unref(in.keys);
    cw_arena_done(&in.arena);
    cw_config_unref(in.configured);
    return code;
}
