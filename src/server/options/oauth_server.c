/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_server.c - settings of the authorization server, with the secrets of clients from files. */
#include "server/options/oauth_server.h"

#include <pthread.h>
#include <sodium.h>
#include <stdlib.h>

#include "access/jwt/jwks.h"
#include "access/oauth/keys.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"

#define KEYS_MAX_BYTES ((size_t)8 << 20) /* of all clients */
#define SECRET_MAX 1024u
#define SECRET_MIN 16u

/* The SHA-256 of the first line of a file. */
static cw_code hash_secret(cw_str path, unsigned char out[CW_DIGEST], cw_err *err)
{
    cw_buf b;
    cw_str rest;
    cw_buf_init(&b, SECRET_MAX);
    cw_code rc = cw_file_read(path.p, CW_FILE_PLAIN, &b, err);
    cw_str line = cw_str_cut(cw_buf_str(&b), '\n', &rest);
    if (!rc && line.n < SECRET_MIN)
        rc = cw_fail(err, CW_CONFIG, "the first line of '%s' has fewer than %u characters", path.p,
                     SECRET_MIN);
    if (!rc)
        crypto_hash_sha256(out, (const unsigned char *)line.p, line.n);
    if (b.p)
        sodium_memzero(b.p, b.n);
    cw_buf_done(&b);
    return rc;
}

/* Whether a key of the set can verify something. */
static cw_code check_keys(const cw_oauth_client *client, cw_err *err)
{
    cw_jwks *keys = NULL;
    size_t n_bad = 0;
    cw_err why = {0};
    cw_code rc = cw_jwks_parse(client->jwks, CW_JOSE_ALL, &keys, &why);
    const cw_jwks_left_out *bad = rc ? NULL : cw_jwks_left_out_keys(keys, &n_bad);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc)
        rc = cw_fail(err, CW_CONFIG, "keys of client '%.*s': %s", CW_STR_ARG(client->id), why.msg);
    else if (!cw_jwks_count(keys))
        rc = cw_fail(err, CW_CONFIG, "keys of client '%.*s': none can be used: %s",
                     CW_STR_ARG(client->id), n_bad ? bad[0].why : "the set is empty");
    cw_jwks_unref(keys);
    return rc;
}

static cw_code read_keys(const cw_config_oauth_client *from, cw_arena *arena, cw_oauth_client *to,
                         cw_err *err)
{
    cw_buf b;
    if (!from->jwks_file.n)
        return from->jwks.n ? check_keys(to, err) : CW_OK;
    cw_buf_init(&b, CW_JWKS_MAX_BYTES);
    cw_code rc = cw_file_read(from->jwks_file.p, CW_FILE_PLAIN, &b, err);
    if (rc)
        cw_wrap(err, rc, "access.server.clients: '%.*s': jwks_file", CW_STR_ARG(from->id));
    if (!rc) {
        to->jwks = cw_arena_dup_str(arena, cw_buf_str(&b));
        rc = to->jwks.p ? check_keys(to, err) : cw_arena_fail(arena, err);
    }
    cw_buf_done(&b);
    return rc;
}

cw_code cw_oauth_server_check_client(const cw_config_oauth_client *client, cw_err *err)
{
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    unsigned char secret[CW_DIGEST];
    cw_oauth_client keys = {.id = client->id, .jwks = client->jwks};
    cw_arena_init(&arena, KEYS_MAX_BYTES);
    if (!client->secret_file.n)
        return read_keys(client, &arena, &keys, err);
    cw_code rc = hash_secret(client->secret_file, secret, err);
    sodium_memzero(secret, sizeof secret);
    return rc;
}

/* Keys of files live in the arena. */
static cw_code fill_client(const cw_config_oauth_client *from, cw_arena *arena, cw_oauth_client *to,
                           cw_err *err)
{
    bool is_document = cw_str_starts(from->id, CW_STR(CW_OAUTH_DOCUMENT_PREFIX));
    *to = (cw_oauth_client){.kind = is_document ? CW_OAUTH_DOCUMENT : CW_OAUTH_REGISTERED,
                            .id = from->id,
                            .name = from->name.n ? from->name : from->id,
                            .redirect_uris = from->redirect_uris.items,
                            .n_redirect_uris = from->redirect_uris.n,
                            .has_secret = from->secret_file.n > 0,
                            .jwks = from->jwks,
                            .is_for_endpoint =
                                from->assertion_audience == CW_ASSERTION_FOR_TOKEN_ENDPOINT,
                            .may_refresh = true,
                            .may_use_device = from->device,
                            .ceiling = from->ceiling.items,
                            .n_ceiling = from->ceiling.n,
                            .account = from->account,
                            .scopes = from->scopes.items,
                            .n_scopes = from->scopes.n};
    cw_code rc = to->has_secret ? hash_secret(from->secret_file, to->secret, err) : CW_OK;
    if (rc)
        return cw_wrap(err, rc, "access.server.clients: '%.*s': secret_file", CW_STR_ARG(from->id));
    return read_keys(from, arena, to, err);
}

cw_code cw_oauth_server_settings(const cw_config *config, const cw_seal *seal,
                                 cw_oauth_settings **ret, cw_err *err)
{
    const cw_config_server *server = &config->access.server;
    cw_oauth_settings s = {.seal = seal,
                           .n_clients = server->clients.n,
                           .ceiling = server->ceiling.items,
                           .n_ceiling = server->ceiling.n,
                           .is_dynamic = server->dynamic_registration,
                           .has_documents = server->client_documents,
                           .is_jwt = server->token_format == CW_TOKEN_JWT,
                           .signs_with_rsa = server->signing_algorithm == CW_SIGNING_RS256,
                           .access_ms = server->access_token_ms,
                           .idle_ms = (int64_t)server->grant_idle_ms,
                           .life_ms = (int64_t)server->grant_lifetime_ms,
                           .grace_ms = server->refresh_grace_ms,
                           .grants = server->grants,
                           .access_tokens = server->access_tokens};
    *ret = NULL;
    if (!server->enabled)
        return CW_OK;
    cw_oauth_client *clients = calloc(server->clients.n + 1, sizeof *clients);
    if (!clients)
        return cw_fail_nomem(err);
    cw_code rc = CW_OK;
    cw_arena arena;
    cw_arena_init(&arena, KEYS_MAX_BYTES);
    for (size_t i = 0; i < server->clients.n && !rc; i++)
        rc = fill_client(&server->clients.items[i], &arena, &clients[i], err);
    s.clients = clients;
    if (!rc)
        rc = cw_oauth_settings_new(&s, ret, err);
    cw_arena_done(&arena);
    free(clients);
    return rc;
}

/* ---- the store ---- */

/* A question to the store's thread, and its answer. */
typedef struct store_check {
    cw_store_job job;
    const cw_oauth_settings *settings;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_done;
    int64_t behind_ms; /* the clock, behind the newest row */
    cw_code rc;
    cw_err err;
} store_check;

static cw_code run_check(cw_store_job *job, cw_db *db, cw_err *err)
{
    store_check *k = CW_CONTAINER(job, store_check, job);
    (void)err;
    int64_t now = cw_clock_wall_ms(), newest = 0;
    k->rc = cw_db_newest_oauth_row(db, &newest, &k->err);
    k->behind_ms = newest - now;
    if (!k->rc && k->settings->is_jwt)
        k->rc = cw_oauth_keys_prepare(db, k->settings, now, &k->err);
    /* The store logs its own failures; a sealed key is none. */
    return k->rc == CW_CONFIG ? CW_OK : k->rc;
}

static void on_checked(cw_store_job *job, cw_code rc)
{
    store_check *k = CW_CONTAINER(job, store_check, job);
    pthread_mutex_lock(&k->lock);
    k->rc = rc ? rc : k->rc;
    k->is_done = true;
    pthread_cond_signal(&k->wake);
    pthread_mutex_unlock(&k->lock);
}

cw_code cw_oauth_server_check_store(cw_store *store, const cw_oauth_settings *settings, cw_err *err)
{
    store_check k = {.job = {.run = run_check, .done = on_checked}, .settings = settings};
    pthread_mutex_init(&k.lock, NULL);
    pthread_cond_init(&k.wake, NULL);
    cw_code rc = cw_store_ask(store, &k.job);
    pthread_mutex_lock(&k.lock);
    while (!rc && !k.is_done)
        pthread_cond_wait(&k.wake, &k.lock);
    pthread_mutex_unlock(&k.lock);
    pthread_cond_destroy(&k.wake);
    pthread_mutex_destroy(&k.lock);
    rc = rc ? rc : k.rc;
    if (rc == CW_CONFIG)
        return cw_fail(err, rc, "%s", k.err.msg);
    if (rc)
        cw_log_err(CW_LOG_WARN, "serve", "cannot read the tables of the authorization server yet",
                   &k.err);
    else if (k.behind_ms > 0)
        cw_log(CW_LOG_WARN, "serve",
               "the clock is behind the newest grant: tokens seem to come from the future",
               CW_KN("behind_ms", k.behind_ms));
    return CW_OK;
}
