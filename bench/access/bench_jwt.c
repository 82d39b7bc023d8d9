/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench_jwt.c - what it costs to check a JWT access token.
 *
 *     bench_jwt           a table
 *     bench_jwt --json    the same as one JSON object
 *
 * "cold" takes the token apart, verifies its signature and checks its claims; "cached"
 * is the digest of the token and one look into a cache that knows it. CPU time of this
 * thread, the median of ROUNDS rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "access/issuer/token_cache.h"
#include "access/jwt/jwt.h"
#include "json/write.h"
#include "support/token_signer.h"

#define ROUNDS 9
#define ROUND_NS 50000000.0
#define WALL_MS INT64_C(1800000000000)
#define CACHED 5000u

typedef struct subject {
    cw_str token;
    cw_jwks *keys;
    cw_token_cache *cache;
} subject;

typedef void (*bench_fn)(const subject *s);

static const cw_str audience = CW_STR_INIT("https://mcp.example/mcp");
static cw_arena arena, scratch;

static void give_up(const char *what)
{
    fprintf(stderr, "bench_jwt: %s\n", what);
    exit(1);
}

static void cold(const subject *s)
{
    static cw_err err;
    const cw_jwt_rules rules = {.issuer = CW_STR("https://as.example"),
                                .audiences = &audience,
                                .n_audiences = 1,
                                .algs = CW_JOSE_ALL,
                                .leeway_s = CW_JWT_LEEWAY_S};
    cw_jwt jwt;
    if (cw_jwt_parse(s->token, &scratch, &jwt, &err) ||
        cw_jwt_check(&jwt, &rules, s->keys, WALL_MS, &scratch, &err))
        give_up(err.msg);
    cw_arena_reset(&scratch);
}

static void cached(const subject *s)
{
    static const cw_cache_time now = {1, 1, 1000, WALL_MS};
    unsigned char key[CW_DIGEST];
    void *value;
    cw_secret_digest(s->token, key);
    if (cw_token_cache_find(s->cache, key, &now, &value) != CW_TOKEN_GOOD)
        give_up("the cache has lost it");
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double measure(bench_fn fn, const subject *s)
{
    double times[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        unsigned n = 0;
        double start = cpu_ns(), spent = 0;
        do {
            for (unsigned k = 0; k < 50; k++)
                fn(s);
            n += 50;
            spent = cpu_ns() - start;
        } while (spent < ROUND_NS);
        times[i] = spent / n;
    }
    qsort(times, ROUNDS, sizeof times[0], compare_doubles);
    return times[ROUNDS / 2];
}

static void nothing(void *value)
{
    (void)value;
}

/* A cache with others in it, so that the chains have their usual length. */
static cw_token_cache *fill(cw_str token)
{
    static int value;
    const cw_token_cache_opts opts = {.unref = nothing};
    const cw_cache_time now = {1, 1, 1000, WALL_MS};
    cw_token_cache *cache;
    unsigned char key[CW_DIGEST];
    if (cw_secret_init(NULL) || cw_token_cache_new(&opts, &cache, NULL))
        give_up("no cache");
    for (unsigned i = 0; i < CACHED; i++) {
        cw_secret_digest(cw_str_make((const char *)&i, sizeof i), key);
        cw_token_cache_add(cache, key, &now, &value, 1, WALL_MS + 60000);
    }
    cw_secret_digest(token, key);
    cw_token_cache_add(cache, key, &now, &value, 1, WALL_MS + 60000);
    return cache;
}

static void start(cw_jose_alg alg, token_signer *key, subject *ret)
{
    token_signer_init(key, alg, "key-1");
    cw_str header =
        token_signer_text(&arena, "{\"alg\":\"%s\",\"kid\":\"key-1\",\"typ\":\"at+jwt\"}",
                          token_signer_alg_name(alg));
    cw_str claims =
        CW_STR("{\"iss\":\"https://as.example\",\"aud\":\"https://mcp.example/mcp\","
               "\"sub\":\"7c0e2a52-6f0d-4b1c-9a55-0d6f3a4d9b11\",\"client_id\":\"inspector\","
               "\"iat\":1799999990,\"exp\":1800000600,\"jti\":\"mYk2hN3Y0k1y2u\","
               "\"scope\":\"profile content:read content:write\"}");
    ret->token = token_signer_token(key, header, claims, &arena);
    if (cw_jwks_parse(token_signer_key_set(key, 1, "", &arena), CW_JOSE_ALL, &ret->keys, NULL))
        give_up("no keys");
    ret->cache = fill(ret->token);
}

static void add_result(cw_json_writer *w, const char *name, size_t bytes, double ns)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("what"), cw_str_from(name));
    cw_json_add_i64_member(w, CW_STR("bytes"), (int64_t)bytes);
    cw_json_add_i64_member(w, CW_STR("median_ns"), (int64_t)ns);
    cw_json_close(w);
}

static void run_one(cw_jose_alg alg, bool as_json, cw_json_writer *w)
{
    token_signer key;
    subject s;
    start(alg, &key, &s);
    double ns = measure(cold, &s);
    if (!as_json)
        printf("%-6s cold   %5zu B %9.0f ns\n", token_signer_alg_name(alg), s.token.n, ns);
    add_result(w, token_signer_alg_name(alg), s.token.n, ns);
    if (alg == CW_JOSE_RS256) {
        ns = measure(cached, &s);
        if (!as_json)
            printf("%-6s cached %5zu B %9.0f ns\n", token_signer_alg_name(alg), s.token.n, ns);
        add_result(w, "cached", s.token.n, ns);
    }
    cw_token_cache_free(s.cache);
    cw_jwks_unref(s.keys);
    token_signer_done(&key);
}

int main(int argc, char **argv)
{
    static const cw_jose_alg all[] = {CW_JOSE_RS256, CW_JOSE_PS256, CW_JOSE_ES256, CW_JOSE_ES384,
                                      CW_JOSE_EDDSA};
    bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
    cw_buf out;
    cw_json_writer w;
    if (argc > 1 && !as_json)
        give_up("usage: bench_jwt [--json]");
    cw_arena_init(&arena, 1u << 20);
    cw_arena_init(&scratch, CW_JWT_MEMORY);
    cw_buf_init(&out, 1u << 20);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_key(&w, CW_STR("results"));
    cw_json_open_array(&w);
    for (size_t i = 0; i < CW_COUNT(all); i++)
        run_one(all[i], as_json, &w);
    cw_json_close(&w);
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        give_up("cannot write the results");
    if (as_json)
        printf("%.*s\n", CW_STR_ARG(cw_buf_str(&out)));
    cw_buf_done(&out);
    cw_arena_done(&scratch);
    cw_arena_done(&arena);
    return 0;
}
