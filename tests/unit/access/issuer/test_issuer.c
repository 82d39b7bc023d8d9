/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Issuers that are asked over loopback: metadata, keys, introspection, and who waits. Tokens are
 * not signed here (tests/unit/access/jwt/test_jwt.c, and the functional tests): a key that is
 * not there is enough. */
#include "access/issuer/issuer.h"

#include "access/credentials.h"
#include "access/issuer/issuer_int.h"
#include "support/client_fixture.h"

#define OK_HEAD "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: "

/* {"alg":"RS256","typ":"at+jwt","kid":"k"} . {"iss":"http://127.0.0.1:PORT"} . AAAA */
static char token[512];

static void add_part(char *out, size_t size, const char *json)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t n = strlen(json), at = strlen(out);
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = (unsigned)(unsigned char)json[i] << 16;
        bits |= i + 1 < n ? (unsigned)(unsigned char)json[i + 1] << 8 : 0;
        bits |= i + 2 < n ? (unsigned)(unsigned char)json[i + 2] : 0;
        for (unsigned j = 0; j < 4 && i + j <= n && at + 1 < size; j++)
            out[at++] = letters[bits >> (18 - 6 * j) & 63];
    }
    out[at] = 0;
}

static void make_token(const char *issuer)
{
    char claims[128], head[128] = "", body[256] = "";
    snprintf(claims, sizeof claims, "{\"iss\":\"%s\"}", issuer);
    add_part(head, sizeof head, "{\"alg\":\"RS256\",\"typ\":\"at+jwt\",\"kid\":\"k\"}");
    add_part(body, sizeof body, claims);
    snprintf(token, sizeof token, "%s.%s.AAAA", head, body);
}

typedef struct rig {
    client_fixture b;
    fake_server s;
    cw_issuers *issuers;
    char url[64];
    cw_issuer_opts opts;
    char metadata[512], keys[256];
    fake_step steps[2][5];
    const fake_step *scripts[2];
} rig;

static const cw_str audience = CW_STR_INIT("https://us.example");

static void rig_script(rig *r, size_t i, const char *text)
{
    r->steps[i][0] = (fake_step)DO_READ;
    r->steps[i][1] = (fake_step)DO_SEND(text);
    r->steps[i][2] = (fake_step)DO_CLOSE;
    r->steps[i][3] = (fake_step){FAKE_END, NULL, 0};
    r->scripts[i] = r->steps[i];
}

/* A server that says its metadata first and its keys to everybody else. */
static void rig_open(rig *r, const char *name_format)
{
    char body[256];
    memset(r, 0, sizeof *r);
    assert_int_equal(cw_secret_init(NULL), CW_OK);
    rig_script(r, 0, r->metadata);
    rig_script(r, 1, r->keys);
    fake_server_start(&r->s, r->scripts, 2);
    snprintf(r->url, sizeof r->url, "http://127.0.0.1:%u", r->s.port);
    int n = snprintf(body, sizeof body,
                     "{\"issuer\":\"http://127.0.0.1:%u%s\",\"jwks_uri\":\"%s/jwks\"}", r->s.port,
                     name_format, r->url);
    snprintf(r->metadata, sizeof r->metadata, OK_HEAD "%d\r\n\r\n%s", n, body);
    snprintf(r->keys, sizeof r->keys, OK_HEAD "11\r\n\r\n{\"keys\":[]}");
    make_token(r->url);
    client_fixture_init(&r->b);
    r->opts = (cw_issuer_opts){
        .rules = {.issuer = cw_str_from(r->url),
                  .audiences = &audience,
                  .n_audiences = 1,
                  .algs = CW_JOSE_ALL},
        .allow_private = true,
    };
}

static void rig_close(rig *r)
{
    cw_issuers_close(r->issuers);
    client_fixture_done(&r->b);
    cw_issuers_free(r->issuers);
    fake_server_stop(&r->s);
}

typedef struct asking {
    cw_token_check check;
    cw_arena arena;
    unsigned calls;
    cw_code rc;
} asking;

static void on_told(cw_token_check *check, cw_code rc)
{
    asking *a = CW_CONTAINER(check, asking, check);
    a->calls++;
    a->rc = rc;
    cw_verified_token_done(&check->issued);
}

static cw_code ask_about(rig *r, asking *a, const char *text)
{
    cw_arena_init(&a->arena, 2 * CW_JWT_MEMORY);
    a->calls = 0;
    a->check = (cw_token_check){.token = cw_str_from(text), .arena = &a->arena, .done = on_told};
    return cw_issuers_start_check(r->issuers, &a->check);
}

static cw_code use_issuer(cw_issuers *issuers, const cw_issuer_opts *opts)
{
    cw_issuer_set *set;
    cw_code rc = cw_issuers_prepare(issuers, opts, 1, &set, NULL);
    if (!rc)
        cw_issuers_use(issuers, set);
    return rc;
}

static void configure(rig *r)
{
    assert_int_equal(cw_issuers_new(&r->b.loop, &r->issuers, NULL), CW_OK);
    assert_false(cw_issuers_any(r->issuers));
    assert_int_equal(use_issuer(r->issuers, &r->opts), CW_OK);
    assert_true(cw_issuers_any(r->issuers));
}

static cw_code check(rig *r, const char *text)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_verified_token issued;
    cw_arena_init(&arena, CW_JWT_MEMORY);
    cw_code rc = cw_issuers_find(r->issuers, cw_str_from(text), &arena, &issued, NULL);
    if (!rc)
        rc = cw_verified_token_check(&issued, &arena, NULL);
    cw_verified_token_done(&issued);
    return rc;
}

TEST(who_asks_while_keys_are_fetched_waits_for_them)
{
    rig r;
    asking a, b;
    rig_open(&r, "");
    configure(&r);
    uint64_t before = cw_issuers_generation(r.issuers);
    assert_int_equal(check(&r, token), CW_AGAIN);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    assert_int_equal(ask_about(&r, &b, token), CW_OK);
    client_run_until(&r.b, a.calls && b.calls);
    /* No key of the set is it. One refresh is allowed for that, and then none for a minute. */
    assert_int_equal(a.rc, CW_INVALID);
    assert_int_equal(b.rc, CW_INVALID);
    assert_true(cw_issuers_generation(r.issuers) > before);
    cw_arena_done(&a.arena);
    cw_arena_done(&b.arena);
    assert_int_equal(check(&r, token), CW_AGAIN);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    client_run_until(&r.b, a.calls);
    assert_int_equal(a.rc, CW_INVALID);
    cw_arena_done(&a.arena);
    unsigned requests = atomic_load(&r.s.requests);
    assert_int_equal(requests, 3); /* metadata, keys, keys */
    assert_int_equal(check(&r, token), CW_INVALID);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    client_run_until(&r.b, a.calls);
    cw_arena_done(&a.arena);
    assert_int_equal(atomic_load(&r.s.requests), requests);
    rig_close(&r);
}

TEST(an_unknown_key_waits_for_the_refresh_that_runs)
{
    rig r;
    asking a, b;
    rig_open(&r, "");
    r.opts.jwks_uri = cw_str_from(r.url);
    rig_script(&r, 0, r.keys);
    const fake_step held[] = {DO_READ, DO_HOLD, DO_SEND(r.keys), DO_CLOSE, DO_END};
    memcpy(r.steps[1], held, sizeof held);
    configure(&r);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    client_run_until(&r.b, a.calls);
    cw_arena_done(&a.arena);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    client_run_until(&r.b, atomic_load(&r.s.held) == 1);
    /* The minute has begun, but what comes may have the key. */
    assert_int_equal(check(&r, token), CW_AGAIN);
    assert_int_equal(ask_about(&r, &b, token), CW_OK);
    client_run_for(&r.b, 30);
    assert_int_equal(a.calls + b.calls, 0);
    fake_server_release(&r.s);
    client_run_until(&r.b, a.calls && b.calls);
    assert_int_equal(b.rc, CW_INVALID);
    assert_int_equal(check(&r, token), CW_INVALID);
    assert_int_equal(atomic_load(&r.s.requests), 2);
    cw_arena_done(&a.arena);
    cw_arena_done(&b.arena);
    rig_close(&r);
}

TEST(metadata_of_another_issuer_gives_no_keys)
{
    rig r;
    asking a;
    rig_open(&r, "/");
    configure(&r);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    client_run_until(&r.b, a.calls);
    assert_int_equal(a.rc, CW_IO);
    cw_arena_done(&a.arena);
    assert_int_equal(atomic_load(&r.s.requests), 1);
    cw_issuer_report report;
    assert_true(cw_issuers_report(r.issuers, r.opts.rules.issuer, &report));
    assert_false(report.is_busy);
    assert_string_equal(report.problem, "the metadata is of another issuer");
    assert_int_equal(report.n_keys, 0);
    assert_false(cw_issuers_report(r.issuers, CW_STR("https://nowhere.example"), &report));
    rig_close(&r);
}

TEST(tokens_of_nobody_are_refused_at_once)
{
    rig r;
    rig_open(&r, "");
    configure(&r);
    make_token("https://other.example");
    assert_int_equal(check(&r, token), CW_INVALID);
    assert_int_equal(check(&r, "opaque"), CW_INVALID);
    assert_int_equal(check(&r, "a.b"), CW_INVALID);
    assert_int_equal(check(&r, "a.b.c.d.e"), CW_INVALID);
    rig_close(&r);
}

TEST(closing_tells_whoever_waits)
{
    rig r;
    asking a, b, c;
    rig_open(&r, "");
    r.opts.client_id = CW_STR("us");
    r.opts.client_secret = CW_STR("secret");
    r.opts.introspection = cw_str_from(r.url);
    configure(&r);
    assert_int_equal(ask_about(&r, &a, token), CW_OK);
    assert_int_equal(ask_about(&r, &b, "opaque"), CW_OK);
    uv_run(&r.b.loop.uv, UV_RUN_NOWAIT); /* both were taken, nothing is answered yet */
    assert_int_equal(ask_about(&r, &c, "opaque"), CW_OK);
    cw_issuers_close(r.issuers);
    assert_int_equal(a.calls + b.calls + c.calls, 3);
    assert_int_equal(a.rc, CW_IO);
    assert_int_equal(b.rc, CW_IO);
    assert_int_equal(c.rc, CW_IO);
    cw_arena_done(&a.arena);
    cw_arena_done(&b.arena);
    cw_arena_done(&c.arena);
    assert_int_equal(ask_about(&r, &a, token), CW_IO);
    cw_arena_done(&a.arena);
    rig_close(&r);
}

TEST(keys_that_may_not_be_kept_are_not_fetched_without_end)
{
    rig r;
    rig_open(&r, "");
    r.opts.jwks_uri = cw_str_from(r.url);
    r.scripts[0] = r.scripts[1];
    snprintf(r.keys, sizeof r.keys,
             "HTTP/1.1 200 OK\r\nConnection: close\r\nCache-Control: max-age=0\r\n"
             "Content-Length: 11\r\n\r\n{\"keys\":[]}");
    configure(&r);
    uint64_t before = cw_issuers_generation(r.issuers);
    client_run_until(&r.b, cw_issuers_generation(r.issuers) > before);
    client_run_for(&r.b, 200);
    assert_int_equal(atomic_load(&r.s.requests), 1);
    rig_close(&r);
}

TEST(so_many_may_ask_at_once)
{
    rig r;
    asking *all = calloc(CW_ISSUER_MAX_ASKS + 1, sizeof *all);
    assert_non_null(all);
    rig_open(&r, "");
    configure(&r);
    for (size_t i = 0; i < CW_ISSUER_MAX_ASKS; i++)
        assert_int_equal(ask_about(&r, &all[i], token), CW_OK);
    assert_int_equal(ask_about(&r, &all[CW_ISSUER_MAX_ASKS], token), CW_LIMIT);
    cw_issuers_close(r.issuers);
    for (size_t i = 0; i <= CW_ISSUER_MAX_ASKS; i++) {
        assert_int_equal(all[i].calls, i < CW_ISSUER_MAX_ASKS);
        cw_arena_done(&all[i].arena);
    }
    free(all);
    rig_close(&r);
}

TEST(bearer_tokens_have_few_characters)
{
    static const char *const good[] = {"a", "A-Z.a_z~0+9/=", "a==", "eyJ.eyJ.x"};
    static const char *const bad[] = {"", "=", "a=b", "a b", "a\"", "a,b", "\xc3\xa4", "a\x01"};
    static char large[CW_JWS_MAX_BYTES + 1];
    for (size_t i = 0; i < CW_COUNT(good); i++)
        assert_true(cw_issuer_may_be_token(cw_str_from(good[i])));
    for (size_t i = 0; i < CW_COUNT(bad); i++)
        assert_false(cw_issuer_may_be_token(cw_str_from(bad[i])));
    memset(large, 'a', sizeof large);
    assert_true(cw_issuer_may_be_token(cw_str_make(large, CW_JWS_MAX_BYTES)));
    assert_false(cw_issuer_may_be_token(cw_str_make(large, CW_JWS_MAX_BYTES + 1)));
    assert_false(cw_issuer_may_be_token(CW_STR("a\0b")));
}

/* The result, without the references. */
static cw_code find_trust(rig *r, const unsigned char *issuer, const unsigned char *key)
{
    cw_trust *by_issuer = NULL, *by_key = NULL;
    cw_code rc = cw_issuers_find_trust(r->issuers, issuer, key, &by_issuer, &by_key);
    assert_int_equal(by_issuer != NULL, rc == CW_OK);
    assert_int_equal(by_key != NULL, rc == CW_OK && key);
    cw_trust_unref(by_issuer);
    cw_trust_unref(by_key);
    return rc;
}

TEST(a_stored_trust_waits_for_the_keys_and_ends_with_its_key)
{
    static const char key[] = "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"k\","
                              "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";
    const cw_jws jws = {.alg = CW_JOSE_EDDSA, .kid = CW_STR("k")};
    rig r;
    cw_jwks *keys, *expected;
    rig_open(&r, "");
    snprintf(r.keys, sizeof r.keys, OK_HEAD "%zu\r\n\r\n%s", sizeof key - 1, key);
    assert_int_equal(cw_jwks_parse(cw_str_from(key), CW_JOSE_ALL, &expected, NULL), CW_OK);
    cw_trust *trust = cw_jwks_trust(expected, &jws);
    configure(&r);
    const unsigned char *id = r.issuers->set->items[0]->trust->id;
    assert_int_equal(find_trust(&r, id, trust->id), CW_AGAIN);
    assert_int_equal(find_trust(&r, id, NULL), CW_OK); /* opaque */
    assert_int_equal(find_trust(&r, trust->id, trust->id), CW_NOTFOUND);
    client_run_until(&r.b, (keys = cw_issuers_keys(r.issuers, r.opts.rules.issuer)));
    assert_int_equal(find_trust(&r, id, trust->id), CW_OK);
    assert_int_equal(find_trust(&r, id, id), CW_NOTFOUND);
    cw_jwks_unref(keys);
    cw_trust_unref(trust);
    cw_jwks_unref(expected);
    rig_close(&r);
}

TEST(a_stored_trust_ends_with_any_other_option_of_its_issuer)
{
    const cw_str two[] = {CW_STR("a"), CW_STR("b")}, one[] = {CW_STR("ab")};
    const cw_issuer_grant grants[] = {{CW_STR("s"), two, 2}, {CW_STR("s"), one, 1}};
    const cw_issuer_opts base = {.rules = {.issuer = CW_STR("http://127.0.0.1:1"),
                                           .audiences = two,
                                           .n_audiences = 2,
                                           .algs = CW_JOSE_ALL},
                                 .grants = grants,
                                 .n_grants = 1};
    cw_issuer_opts others[18];
    for (size_t i = 0; i < CW_COUNT(others); i++)
        others[i] = base;
    others[0].rules.issuer = CW_STR("http://127.0.0.1:2");
    others[1].rules.n_audiences = 1;
    others[2].rules.audiences = one;
    others[2].rules.n_audiences = 1;
    others[3].rules.roles = two;
    others[3].rules.n_roles = 2;
    others[4].rules.algs = CW_JOSE_RS256;
    others[5].rules.leeway_s = 1;
    others[6].rules.allow_missing_typ = true;
    others[7].rules.names_account = true;
    others[8].jwks_uri = CW_STR("x");
    others[9].account = CW_STR("x");
    others[10].introspection = CW_STR("x");
    others[11].client_id = CW_STR("x");
    others[12].client_secret = CW_STR("x");
    others[13].token_prefix = CW_STR("x");
    others[14].ca_file = CW_STR("x");
    others[15].allow_private = true;
    others[16].n_grants = 0;
    others[17].grants = &grants[1];
    rig r;
    rig_open(&r, "");
    r.opts = base;
    configure(&r);
    unsigned char id[CW_TRUST_ID];
    memcpy(id, r.issuers->set->items[0]->trust->id, sizeof id);
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        assert_int_equal(use_issuer(r.issuers, &others[i]), CW_OK);
        assert_int_equal(find_trust(&r, id, NULL), CW_NOTFOUND);
    }
    assert_int_equal(use_issuer(r.issuers, &base), CW_OK);
    assert_int_equal(find_trust(&r, id, NULL), CW_OK);
    cw_issuers_use(r.issuers, NULL);
    assert_int_equal(find_trust(&r, id, NULL), CW_NOTFOUND);
    rig_close(&r);
}

static void configure_once(void *ctx)
{
    rig *r = ctx;
    client_fixture b;
    cw_issuers *issuers = NULL;
    memset(&b, 0, sizeof b);
    if (cw_loop_init(&b.loop, 1024, NULL))
        return;
    client_fixture_start_tick(&b);
    cw_code rc = cw_issuers_new(&b.loop, &issuers, NULL);
    if (!rc)
        rc = use_issuer(issuers, &r->opts);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    client_run_for(&b, 30); /* metadata and keys, or not */
    cw_issuers_close(issuers);
    client_fixture_done(&b);
    cw_issuers_free(issuers);
}

TEST(fetching_keys_survives_every_failed_allocation)
{
    rig r;
    rig_open(&r, "");
    r.opts.jwks_uri = cw_str_from(r.url);
    r.scripts[0] = r.scripts[1];
    assert_true(oom_each(configure_once, &r) >= 10);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_asks_while_keys_are_fetched_waits_for_them),
        cmocka_unit_test(an_unknown_key_waits_for_the_refresh_that_runs),
        cmocka_unit_test(metadata_of_another_issuer_gives_no_keys),
        cmocka_unit_test(tokens_of_nobody_are_refused_at_once),
        cmocka_unit_test(closing_tells_whoever_waits),
        cmocka_unit_test(keys_that_may_not_be_kept_are_not_fetched_without_end),
        cmocka_unit_test(so_many_may_ask_at_once),
        cmocka_unit_test(bearer_tokens_have_few_characters),
        cmocka_unit_test(a_stored_trust_waits_for_the_keys_and_ends_with_its_key),
        cmocka_unit_test(a_stored_trust_ends_with_any_other_option_of_its_issuer),
        cmocka_unit_test(fetching_keys_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
