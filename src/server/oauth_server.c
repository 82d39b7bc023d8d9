/* SPDX-License-Identifier: GPL-2.0-or-later */
/* oauth_server.c - settings of the authorization server, with the secrets of clients from files. */
#include "server/oauth_server.h"

#include <sodium.h>
#include <stdlib.h>

#include "base/file.h"

#define SECRET_MAX 1024u
#define SECRET_MIN 16u
#define PURPOSE "causeway oauth\n"

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

static cw_code fill_client(const cw_config_oauth_client *from, cw_oauth_client *to, cw_err *err)
{
    bool is_document = cw_str_starts(from->id, CW_STR(CW_OAUTH_DOCUMENT_PREFIX));
    *to = (cw_oauth_client){.kind = is_document ? CW_OAUTH_DOCUMENT : CW_OAUTH_REGISTERED,
                            .id = from->id,
                            .name = from->name.n ? from->name : from->id,
                            .redirect_uris = from->redirect_uris.items,
                            .n_redirect_uris = from->redirect_uris.n,
                            .has_secret = from->secret_file.n > 0,
                            .may_refresh = true,
                            .ceiling = from->ceiling.items,
                            .n_ceiling = from->ceiling.n,
                            .account = from->account,
                            .scopes = from->scopes.items,
                            .n_scopes = from->scopes.n};
    return to->has_secret ? hash_secret(from->secret_file, to->secret, err) : CW_OK;
}

/* A key of its own: text that one part of the server sealed means nothing to another. */
static void derive(const cw_seal *seal, cw_seal *ret)
{
    unsigned char bytes[sizeof PURPOSE - 1 + CW_SEAL_KEY];
    memcpy(bytes, PURPOSE, sizeof PURPOSE - 1);
    memcpy(bytes + sizeof PURPOSE - 1, seal->key, CW_SEAL_KEY);
    cw_seal_init_from(ret, cw_str_make((const char *)bytes, sizeof bytes));
    sodium_memzero(bytes, sizeof bytes);
}

cw_code cw_oauth_server_settings(const cw_config *config, const cw_seal *seal,
                                 cw_oauth_settings **ret, cw_err *err)
{
    const cw_config_server *server = &config->access.server;
    cw_oauth_settings s = {.n_clients = server->clients.n,
                           .ceiling = server->ceiling.items,
                           .n_ceiling = server->ceiling.n,
                           .is_dynamic = server->dynamic_registration,
                           .has_documents = server->client_documents,
                           .access_ms = server->access_token_ms,
                           .idle_ms = (int64_t)server->grant_idle_ms,
                           .life_ms = (int64_t)server->grant_lifetime_ms,
                           .grace_ms = server->refresh_grace_ms,
                           .grants = server->grants};
    *ret = NULL;
    if (!server->enabled)
        return CW_OK;
    cw_oauth_client *clients = calloc(server->clients.n + 1, sizeof *clients);
    if (!clients)
        return cw_fail_nomem(err);
    cw_code rc = CW_OK;
    for (size_t i = 0; i < server->clients.n && !rc; i++)
        rc = fill_client(&server->clients.items[i], &clients[i], err);
    s.clients = clients;
    derive(seal, &s.seal);
    if (!rc)
        rc = cw_oauth_settings_new(&s, ret, err);
    sodium_memzero(&s.seal, sizeof s.seal);
    free(clients);
    return rc;
}
