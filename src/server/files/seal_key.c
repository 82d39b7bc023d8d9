/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.c - the seal key from a secret, the database, a file of the server, or random bytes. */
#include "server/files/seal_key.h"

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "server/files/state_file.h"

#define SECRET_MIN 32u
#define SECRET_MAX 65536u
#define KEY_NAME CW_STR("seal")

_Static_assert(CW_SEAL_KEY == CW_DB_KEY, "a key fits its column");

typedef struct key_request {
    unsigned char key[CW_SEAL_KEY]; /* ours to offer, then the one that counts */
    bool is_there;
    cw_err err;
} key_request;

/* A database that can be read but not written is of use for all else: that is no failure of it. */
static cw_code read_or_offer(cw_db *db, void *ctx, cw_err *err)
{
    key_request *a = ctx;
    unsigned char key[CW_SEAL_KEY];
    cw_code rc = cw_db_find_key(db, KEY_NAME, key, &a->is_there, err);
    if (!rc && !a->is_there && !cw_db_offer_key(db, KEY_NAME, a->key, &a->err))
        rc = cw_db_find_key(db, KEY_NAME, key, &a->is_there, err);
    if (!rc && a->is_there)
        memcpy(a->key, key, sizeof key);
    return rc;
}

static void use_store(cw_store *store, cw_seal *seal)
{
    key_request a = {.is_there = false};
    memcpy(a.key, seal->key, sizeof a.key);
    cw_code rc = cw_store_call(store, read_or_offer, &a, &a.err);
    if (!rc && a.is_there)
        memcpy(seal->key, a.key, sizeof a.key);
    else
        cw_log_err(CW_LOG_WARN, "serve",
                   "sessions of clients end with this process: the database has no key", &a.err);
}

static cw_code use_file(const char *path, cw_seal *seal, cw_err *err)
{
    cw_buf secret;
    cw_buf_init(&secret, SECRET_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &secret, err);
    if (!rc && secret.n < SECRET_MIN)
        rc = cw_fail(err, CW_PARAMS, "'%s' has fewer than %u bytes", path, SECRET_MIN);
    if (!rc)
        cw_seal_init_from(seal, cw_buf_str(&secret));
    cw_buf_done(&secret);
    return cw_wrap(err, rc, "mcp.secret_file");
}

static cw_code read_key(const char *path, unsigned char key[CW_SEAL_KEY], cw_err *err)
{
    int fd = -1;
    cw_code rc = cw_state_file_open(path, &fd, err);
    if (rc)
        return rc;
    if (read(fd, key, CW_SEAL_KEY) != (ssize_t)CW_SEAL_KEY)
        rc = cw_fail(err, CW_IO, "'%s' has fewer than %u bytes", path, CW_SEAL_KEY);
    close(fd);
    return rc;
}

/* The key that is there counts; ours only if none is. */
static void use_own_file(const char *path, cw_seal *seal)
{
    unsigned char key[CW_SEAL_KEY];
    cw_err err = {0};
    cw_code rc = read_key(path, key, &err);
    if (rc == CW_NOTFOUND) {
        rc = cw_state_file_make(path, cw_str_make((const char *)seal->key, CW_SEAL_KEY), &err);
        if (!rc)
            rc = read_key(path, key, &err);
    }
    if (!rc)
        memcpy(seal->key, key, sizeof key);
    else
        cw_log_err(CW_LOG_WARN, "serve",
                   "sessions of clients end with this process: its key cannot be kept", &err);
}

cw_code cw_seal_key_load(const cw_config *config, const cw_seal_key_opts *opts, cw_seal *ret,
                         cw_err *err)
{
    cw_code rc = cw_seal_init(ret, err);
    if (rc)
        return rc;
    if (config->mcp.secret_file.n)
        return use_file(config->mcp.secret_file.p, ret, err);
    if (opts->store)
        use_store(opts->store, ret);
    else if (opts->path)
        use_own_file(opts->path, ret);
    return CW_OK;
}
