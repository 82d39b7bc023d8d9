/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - methods about the keys that sign access tokens, and those that seal what clients carry. No result
 * holds a secret part. */
#include "access/oauth/keys.h"
#include "access/seal_keys.h"
#include "admin/admin.h"
#include "base/clock.h"
#include "base/log.h"

#define SEAL_ALG "XC20P" /* XChaCha20-Poly1305 */
#define SEAL_IN_FILE                                                                               \
    "mcp.secret_file has the key of the seal: write a new secret into another file, name it in "   \
    "mcp.secret_file and the old file in mcp.old_secret_files, and reload every server"
#define SEAL_IN_OWN_FILE                                                                           \
    "without a database the key of the seal is the file seal-DIGEST in the state directory: stop " \
    "the server, remove that file, and start the server; sessions of clients end"

static const char *const states[] = {
    [CW_DB_KEY_NEXT] = "next", [CW_DB_KEY_CURRENT] = "current", [CW_DB_KEY_OLD] = "old"};

static cw_code write_key(const cw_db_oauth_key *key, void *ctx, cw_err *err)
{
    cw_json_writer *w = ctx;
    if ((size_t)key->state >= CW_COUNT(states))
        return cw_fail(err, CW_IO, "a key has an unknown state");
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), key->id);
    cw_json_add_string_member(w, CW_STR("use"), CW_STR("sign"));
    cw_json_add_string_member(w, CW_STR("alg"), key->alg);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(states[key->state]));
    cw_admin_add_date_member(w, "created", key->created);
    cw_admin_add_date_member(w, "since", key->since);
    cw_admin_add_date_member(w, "ends", key->ends);
    cw_json_close(w);
    return CW_OK;
}

static cw_str seal_id(const cw_admin_call *c, int64_t number)
{
    return cw_str_from(cw_arena_printf(c->arena, "seal/%lld", (long long)number));
}

/* The newest whose time has come seals. One that is older has done so until the next one began. */
static void write_seal_key(const cw_admin_call *c, const cw_db_seal_key *key, int64_t since,
                           cw_db_oauth_key_state state)
{
    cw_json_open_object(c->out);
    cw_json_add_string_member(c->out, CW_STR("id"), seal_id(c, key->number));
    cw_json_add_string_member(c->out, CW_STR("use"), CW_STR("seal"));
    cw_json_add_string_member(c->out, CW_STR("alg"), CW_STR(SEAL_ALG));
    cw_json_add_string_member(c->out, CW_STR("state"), cw_str_from(states[state]));
    cw_admin_add_date_member(c->out, "created", key->created);
    cw_admin_add_date_member(c->out, "since", since);
    cw_admin_add_date_member(c->out, "ends", 0);
    cw_json_close(c->out);
}

static cw_code list_seal_keys(const cw_admin_call *c, cw_err *err)
{
    cw_db_seal_key keys[CW_DB_SEAL_KEYS];
    size_t n = 0;
    int64_t now = 0;
    bool has_current = false;
    cw_code rc = cw_db_read_seal_keys(c->db, keys, &n, err);
    if (!rc)
        rc = cw_db_now(c->db, &now, err);
    for (size_t i = 0; i < n && !rc; i++) {
        bool is_next = !has_current && keys[i].begins > now;
        if (has_current)
            write_seal_key(c, &keys[i], keys[i - 1].begins, CW_DB_KEY_OLD);
        else
            write_seal_key(c, &keys[i], keys[i].begins,
                           is_next ? CW_DB_KEY_NEXT : CW_DB_KEY_CURRENT);
        has_current = !is_next;
    }
    explicit_bzero(keys, sizeof keys);
    return rc;
}

static cw_code list_keys(cw_admin_call *c, cw_err *err)
{
    cw_json_add_key(c->out, CW_STR("keys"));
    cw_json_open_array(c->out);
    cw_code rc = cw_db_each_oauth_key(c->db, write_key, c->out, err);
    if (!rc && !c->config->mcp.secret_file.n)
        rc = list_seal_keys(c, err);
    cw_json_close(c->out);
    return rc;
}

/* A database file that is configured may not exist yet: the first server creates it. */
static cw_code fail_no_database(const cw_admin_call *c, const char *why, cw_err *err)
{
    if (cw_config_store(c->config).n)
        return cw_fail(err, CW_NOTFOUND, "the database does not exist yet: start the server first");
    return cw_fail(err, CW_CONFIG, "%s", why);
}

/* Other servers read the key soon; this one has written it itself. */
static void use_own_change(const cw_admin_call *c)
{
    cw_err err = {0};
    if (c->seals && cw_seal_keys_read(c->seals, c->db, &err))
        cw_log_err(CW_LOG_WARN, "serve", "the keys of the seal are read later", &err);
}

static cw_code rotate_seal(const cw_admin_call *c, cw_err *err)
{
    cw_db_seal_key key;
    const cw_seal_keys_rotation rotation = {.session_ms = (int64_t)c->config->mcp.session_ms,
                                            .is_now = cw_admin_flag(c, "now")};
    if (c->config->mcp.secret_file.n)
        return cw_fail(err, CW_CONFIG, "%s", SEAL_IN_FILE);
    if (!c->db)
        return fail_no_database(c, SEAL_IN_OWN_FILE, err);
    if (cw_admin_flag(c, "lost"))
        return cw_fail(err, CW_PARAMS, "a key of the seal cannot be lost: use lost without seal");
    cw_code rc = cw_seal_keys_rotate(c->db, &rotation, &key, err);
    explicit_bzero(key.key, sizeof key.key);
    if (rc)
        return rc;
    cw_json_add_string_member(c->out, CW_STR("current"), seal_id(c, key.number));
    cw_admin_add_date_member(c->out, "since", key.begins);
    use_own_change(c);
    return CW_OK;
}

static cw_code rotate_signing(const cw_admin_call *c, cw_err *err)
{
    cw_str id;
    const cw_oauth_keys_rotation rotation = {.token_ms = c->config->access.server.access_token_ms,
                                             .is_now = cw_admin_flag(c, "now"),
                                             .is_lost = cw_admin_flag(c, "lost")};
    int64_t now = cw_clock_wall_ms();
    if (!c->db)
        return fail_no_database(c, "no database: set store.path in the configuration", err);
    cw_code rc = cw_oauth_keys_rotate(c->db, &rotation, now, c->arena, &id, err);
    if (rc)
        return rc;
    cw_json_add_string_member(c->out, CW_STR("current"), id);
    cw_admin_add_date_member(c->out, "since", now);
    return CW_OK;
}

static cw_code rotate(cw_admin_call *c, cw_err *err)
{
    return cw_admin_flag(c, "seal") ? rotate_seal(c, err) : rotate_signing(c, err);
}

#define FLAG "{\"type\":\"boolean\"}"

const cw_admin_method cw_admin_keys_methods[] = {
    {.name = "causeway.keys.list",
     .about =
         "List the keys that sign access tokens and those that seal what clients carry, without "
         "their secret parts",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[]",
     .result = "{\"keys\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"use\",\"alg\",\"state\",\"created\",\"since\",\"ends\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list_keys},
    {.name = "causeway.keys.rotate",
     .about =
         "Sign access tokens with the next key, or seal what clients carry with a new one; old "
         "keys count for a while",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params =
         "[{\"name\":\"now\",\"description\":\"Also if the next key was published less than "
         "24 hours ago; with seal: also if sessions end\",\"schema\":" FLAG "},"
         "{\"name\":\"lost\",\"description\":\"The private parts are lost: all keys become "
         "old, and the server makes new ones\",\"schema\":" FLAG "},"
         "{\"name\":\"seal\",\"description\":\"Rotate the key that seals what clients carry\","
         "\"schema\":" FLAG "}]",
     .result =
         "{\"current\":{\"type\":\"string\",\"description\":\"Its id; empty: the server makes "
         "one\"},\"since\":{\"type\":\"integer\",\"description\":\"It signs or seals from then "
         "on\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_GUARDED,
     .n_audited = 3,
     .run = rotate},
    {.name = NULL},
};
