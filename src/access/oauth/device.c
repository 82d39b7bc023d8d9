/* SPDX-License-Identifier: GPL-2.0-or-later */
/* device.c - device codes, user codes, and the decision between them. */
#include "access/oauth/device.h"

#include <sodium.h>

#include "access/oauth/exchange_int.h"
#include "base/ascii.h"
#include "base/random.h"

#define PURPOSE CW_STR("device code")
#define TRIES 8u

/* No vowels, so that no word appears, and no two letters that look alike (RFC 8628, 6.1). */
static const char letters[] = "BCDFGHJKLMNPQRSTVWXZ";
#define N_LETTERS (sizeof letters - 1)

/* ---- user codes ---- */

bool cw_device_read_code(cw_str text, char out[CW_DEVICE_USER_CODE + 1])
{
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '-' || c == ' ')
            continue;
        c = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
        if (n == CW_DEVICE_USER_CODE || !memchr(letters, c, N_LETTERS))
            return false;
        out[n++] = c;
    }
    out[n] = '\0';
    return n == CW_DEVICE_USER_CODE;
}

/* Bytes beyond the last multiple of the number of letters are left out: all letters are as likely. */
static cw_code make_user_code(char out[CW_DEVICE_USER_CODE + 1], cw_err *err)
{
    for (size_t n = 0; n < CW_DEVICE_USER_CODE;) {
        unsigned char byte;
        cw_code rc = cw_random_bytes(&byte, 1, err);
        if (rc)
            return rc;
        if (byte < 256 / N_LETTERS * N_LETTERS)
            out[n++] = letters[byte % N_LETTERS];
    }
    out[CW_DEVICE_USER_CODE] = '\0';
    return CW_OK;
}

/* Keyed: all user codes could be tried on a plain digest. */
static void digest_user_code(const cw_seal_key *key, cw_str code, unsigned char out[CW_DIGEST])
{
    _Static_assert(CW_SEAL_DIGEST == CW_DIGEST, "a digest is one");
    cw_seal_derive(key, PURPOSE, code, out);
}

/* ---- requests of devices ---- */

static cw_code add_row(const cw_oauth_exchange_op *x, cw_db_oauth_device *row, cw_device_codes *ret,
                       cw_err *err)
{
    cw_code rc = CW_DONE;
    for (unsigned i = 0; i < TRIES && rc == CW_DONE; i++) {
        rc = make_user_code(ret->user_code, err);
        if (rc)
            return rc;
        digest_user_code(cw_seal_get_current(x->settings->seal), cw_str_from(ret->user_code),
                         row->code);
        rc = cw_db_add_oauth_device(x->db, row, CW_DEVICE_MAX, err);
    }
    return rc == CW_DONE ? CW_LIMIT : rc;
}

static cw_code run_begin(cw_oauth_exchange_op *x, cw_device_codes *ret, cw_err *err)
{
    const cw_oauth_token_request *r = x->request;
    cw_db_oauth_device row = {.resource = r->resource.p ? r->resource : CW_STR(""),
                              .scopes = r->scope.p ? r->scope : CW_STR(""),
                              .address = r->address,
                              .created = x->now,
                              .expires = x->now + CW_DEVICE_LIFE_MS,
                              .pause = CW_DEVICE_PAUSE_MS};
    cw_code rc = cw_oauth_exchange_authenticate(x, err);
    if (rc || x->ret->error)
        return rc;
    if (!x->client.may_use_device)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_UNAUTHORIZED_CLIENT,
                                        "The client is not registered for the device grant");
    if (r->is_foreign_resource)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_TARGET, "resource is not here");
    row.client = x->client.id;
    rc = cw_oauth_client_format(&x->client, x->arena, &row.record, err);
    if (!rc)
        rc = cw_access_token_make(CW_DEVICE_PREFIX, ret->device_code, err);
    if (!rc && !cw_access_token_digest(CW_DEVICE_PREFIX, cw_str_from(ret->device_code), row.hash))
        rc = cw_fail(err, CW_INTERNAL, "the new device code is malformed");
    return rc ? rc : add_row(x, &row, ret, err);
}

cw_code cw_device_begin(cw_db *db, const cw_oauth_settings *settings,
                        const cw_oauth_token_request *request, int64_t now, cw_arena *arena,
                        cw_device_codes *ret, cw_err *err)
{
    cw_oauth_exchange_op x = {.db = db,
                              .settings = settings,
                              .request = request,
                              .now = now,
                              .arena = arena,
                              .ret = &ret->refusal};
    ret->refusal = (cw_oauth_tokens){.grant = 0};
    cw_code rc = cw_db_begin(db, err);
    return rc ? rc : cw_db_end(db, run_begin(&x, ret, err), err);
}

/* ---- polls of devices ---- */

#define BAD_CODE "The device code is not valid, or belongs to another client"

static cw_code redeem(const cw_oauth_exchange_op *x, const cw_db_oauth_device *row, cw_err *err)
{
    cw_db_oauth_grant grant = {.account = row->account,
                               .account_name = row->account_name,
                               .client = row->client,
                               .record = row->record,
                               .redirect_uri = CW_STR(CW_DEVICE_GRANT_TYPE),
                               .resource = row->resource,
                               .scopes = row->scopes};
    cw_code rc = cw_db_remove_oauth_device(x->db, row->hash, err);
    return rc ? rc : cw_oauth_exchange_issue(x, &grant, x->client.may_refresh, err);
}

/* Not decided yet. A device that asks too early must wait longer. */
static cw_code delay(const cw_oauth_exchange_op *x, const cw_db_oauth_device *row, cw_err *err)
{
    bool is_early = row->polled && x->now < row->polled + row->pause;
    int64_t pause = row->pause + (is_early ? CW_DEVICE_PAUSE_MS : 0);
    cw_code rc = cw_db_poll_oauth_device(x->db, row->hash, x->now, pause, err);
    if (rc)
        return rc;
    return is_early ? cw_oauth_exchange_refuse(x, CW_OAUTH_SLOW_DOWN,
                                               "Wait 5 seconds longer between two requests")
                    : cw_oauth_exchange_refuse(x, CW_OAUTH_AUTHORIZATION_PENDING,
                                               "The person has not decided yet");
}

cw_code cw_device_poll(cw_oauth_exchange_op *x, cw_err *err)
{
    unsigned char hash[CW_DIGEST];
    cw_db_oauth_device *row = NULL;
    if (!cw_access_token_digest(CW_DEVICE_PREFIX, x->request->code, hash))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
    cw_code rc = cw_db_find_oauth_device(x->db, hash, x->arena, &row, err);
    if (rc)
        return rc;
    if (!row || !cw_str_eq(row->client, x->client.id) || !x->client.may_use_device)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_GRANT, BAD_CODE);
    if (cw_oauth_exchange_is_other_resource(x, row->resource))
        return cw_oauth_exchange_refuse(x, CW_OAUTH_INVALID_TARGET,
                                        "resource is not the one of the device code");
    if (x->now >= row->expires)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_EXPIRED_TOKEN, "The device code has expired");
    if (row->is_denied)
        return cw_oauth_exchange_refuse(x, CW_OAUTH_ACCESS_DENIED,
                                        "The person has denied the access");
    return row->account ? redeem(x, row, err) : delay(x, row, err);
}

/* ---- people ----
 *
 * A row does not say which key has made the digest of its user code: each is tried, the newest first. */

cw_code cw_device_find(cw_db *db, const cw_oauth_settings *settings, cw_str user_code, int64_t now,
                       cw_arena *arena, cw_device *ret, cw_err *err)
{
    unsigned char code[CW_DIGEST];
    size_t n_keys;
    const cw_seal_key *keys = cw_seal_get_keys(settings->seal, &n_keys);
    cw_db_oauth_device *row = NULL;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < n_keys && !row && !rc; i++) {
        digest_user_code(&keys[i], user_code, code);
        rc = cw_db_find_oauth_device_by_code(db, code, arena, &row, err);
    }
    if (rc)
        return rc;
    if (!row || row->account || row->is_denied || now >= row->expires)
        return CW_NOTFOUND;
    /* As the configuration has it now. */
    rc = cw_oauth_client_find(db, settings, row->client, arena, &ret->client, err);
    if (rc == CW_DECLINED || (!rc && !ret->client.may_use_device))
        rc = CW_NOTFOUND;
    ret->resource = row->resource;
    ret->scopes = row->scopes;
    ret->address = row->address;
    ret->created = row->created;
    return rc;
}

cw_code cw_device_decide(cw_db *db, const cw_oauth_settings *settings, cw_str user_code,
                         int64_t account, cw_str scopes, int64_t now, cw_err *err)
{
    unsigned char code[CW_DIGEST];
    size_t n_keys;
    const cw_seal_key *keys = cw_seal_get_keys(settings->seal, &n_keys);
    cw_code rc = CW_DONE;
    for (size_t i = 0; i < n_keys && rc == CW_DONE; i++) {
        digest_user_code(&keys[i], user_code, code);
        rc = cw_db_decide_oauth_device(db, code, account, scopes, now, err);
    }
    return rc == CW_DONE ? CW_NOTFOUND : rc;
}
