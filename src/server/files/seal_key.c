/* SPDX-License-Identifier: GPL-2.0-or-later */
/* seal_key.c - the keys of the seals from secrets, the database, a file of the server, or random bytes. */
#include "server/files/seal_key.h"

#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "server/files/state_file.h"

#define SECRET_MIN 32u
#define SECRET_MAX 65536u

/* ---- the database ---- */

static cw_code read_rows(cw_db *db, void *ctx, cw_err *err)
{
    return cw_seal_keys_read(ctx, db, err);
}

/* Rows that cannot be read now are read as soon as they can (cw_store_opts.on_news). */
static void use_store(cw_store *store, cw_seal_keys *keys)
{
    cw_err err = {0};
    atomic_store(&keys->is_in_store, true);
    if (!cw_store_call(store, read_rows, keys, &err))
        return;
    atomic_store(&keys->has_used_own, true);
    cw_log_err(CW_LOG_WARN, "serve",
               "sessions of clients end with this process: the key of the database cannot be read",
               &err);
}

/* ---- files ---- */

static cw_code read_secret(const char *path, cw_seal_key *ret, cw_err *err)
{
    cw_buf secret;
    cw_buf_init(&secret, SECRET_MAX);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &secret, err);
    if (!rc && secret.n < SECRET_MIN)
        rc = cw_fail(err, CW_PARAMS, "'%s' has fewer than %u bytes", path, SECRET_MIN);
    if (!rc)
        *ret = cw_seal_make_key(cw_buf_str(&secret));
    if (secret.p)
        explicit_bzero(secret.p, secret.n);
    cw_buf_done(&secret);
    return rc;
}

static cw_code use_files(const cw_config *config, cw_seal_keys *keys, cw_err *err)
{
    const cw_config_strings *old = &config->mcp.old_secret_files;
    cw_seal_key list[CW_SEAL_MAX_KEYS];
    size_t n = 1;
    cw_code rc =
        cw_wrap(err, read_secret(config->mcp.secret_file.p, &list[0], err), "mcp.secret_file");
    for (size_t i = 0; i < old->n && n < CW_SEAL_MAX_KEYS && !rc; i++)
        rc = cw_wrap(err, read_secret(old->items[i].p, &list[n++], err), "mcp.old_secret_files");
    if (!rc)
        rc = cw_seal_keys_set(keys, list, n, err);
    explicit_bzero(list, sizeof list);
    return rc;
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
static cw_code read_or_make_key(const char *path, const cw_seal_keys *keys, cw_seal_key *ret,
                                cw_err *err)
{
    cw_code rc = read_key(path, ret->bytes, err);
    if (rc != CW_NOTFOUND)
        return rc;
    cw_str own = cw_str_make((const char *)keys->own.bytes, CW_SEAL_KEY);
    rc = cw_state_file_make(path, own, err);
    return rc ? rc : read_key(path, ret->bytes, err);
}

static void use_own_file(const char *path, cw_seal_keys *keys)
{
    cw_seal_key key = {.seals_from = 0};
    cw_err err = {0};
    cw_code rc = read_or_make_key(path, keys, &key, &err);
    if (!rc)
        rc = cw_seal_keys_set(keys, &key, 1, &err);
    explicit_bzero(&key, sizeof key);
    if (rc)
        cw_log_err(CW_LOG_WARN, "serve",
                   "sessions of clients end with this process: its key cannot be kept", &err);
}

cw_code cw_seal_key_load(const cw_config *config, const cw_seal_key_opts *opts, cw_seal_keys *keys,
                         cw_err *err)
{
    keys->is_in_files = config->mcp.secret_file.n > 0;
    if (keys->is_in_files)
        return use_files(config, keys, err);
    if (opts->store)
        use_store(opts->store, keys);
    else if (opts->path)
        use_own_file(opts->path, keys);
    return CW_OK;
}

cw_code cw_seal_key_reload(const cw_config *config, cw_seal_keys *keys, cw_err *err)
{
    bool is_in_files = config->mcp.secret_file.n > 0;
    if (is_in_files != keys->is_in_files)
        cw_log(CW_LOG_WARN, "config",
               is_in_files ? "mcp.secret_file needs a restart: none was set at the start"
                           : "mcp.secret_file needs a restart: it was set at the start");
    return is_in_files && keys->is_in_files ? use_files(config, keys, err) : CW_OK;
}
