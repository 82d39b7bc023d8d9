/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - methods about the keys that sign access tokens. No result holds a private key. */
#include "access/oauth/keys.h"
#include "admin/admin.h"
#include "base/clock.h"

static const char *const states[] = {
    [CW_DB_KEY_NEXT] = "next", [CW_DB_KEY_CURRENT] = "current", [CW_DB_KEY_OLD] = "old"};

static cw_code write_key(const cw_db_oauth_key *key, void *ctx, cw_err *err)
{
    cw_json_writer *w = ctx;
    if ((size_t)key->state >= CW_COUNT(states))
        return cw_fail(err, CW_IO, "a key has an unknown state");
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("id"), key->id);
    cw_json_add_string_member(w, CW_STR("alg"), key->alg);
    cw_json_add_string_member(w, CW_STR("state"), cw_str_from(states[key->state]));
    cw_admin_add_date_member(w, "created", key->created);
    cw_admin_add_date_member(w, "since", key->since);
    cw_admin_add_date_member(w, "ends", key->ends);
    cw_json_close(w);
    return CW_OK;
}

static cw_code list_keys(cw_admin_call *c, cw_err *err)
{
    cw_json_add_key(c->out, CW_STR("keys"));
    cw_json_open_array(c->out);
    cw_code rc = cw_db_each_oauth_key(c->db, write_key, c->out, err);
    cw_json_close(c->out);
    return rc;
}

static cw_code rotate(cw_admin_call *c, cw_err *err)
{
    cw_str id;
    const cw_oauth_keys_rotation rotation = {.token_ms = c->config->access.server.access_token_ms,
                                             .is_now = cw_admin_flag(c, "now"),
                                             .is_lost = cw_admin_flag(c, "lost")};
    cw_code rc = cw_oauth_keys_rotate(c->db, &rotation, cw_clock_wall_ms(), c->arena, &id, err);
    if (!rc)
        cw_json_add_string_member(c->out, CW_STR("current"), id);
    return rc;
}

#define FLAG "{\"type\":\"boolean\"}"

const cw_admin_method cw_admin_keys_methods[] = {
    {.name = "causeway.keys.list",
     .about = "List the keys that sign access tokens, without their private parts",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[]",
     .result = "{\"keys\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
               "\"id\",\"alg\",\"state\",\"created\",\"since\",\"ends\"]}}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_NEEDS_STORE,
     .run = list_keys},
    {.name = "causeway.keys.rotate",
     .about = "Sign access tokens with the next key; the current one stays published for a while",
     .permission = CW_PERMISSION_ADMINISTER_ACCESS,
     .params = "[{\"name\":\"now\",\"description\":\"Also if the next key was published less than "
               "24 hours ago\",\"schema\":" FLAG "},"
               "{\"name\":\"lost\",\"description\":\"The private parts are lost: all keys become "
               "old, and the server makes new ones\",\"schema\":" FLAG "}]",
     .result =
         "{\"current\":{\"type\":\"string\",\"description\":\"Its id; empty: the server makes "
         "one\"}}",
     .place = CW_ADMIN_STORE,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_GUARDED | CW_ADMIN_NEEDS_STORE,
     .n_audited = 2,
     .run = rotate},
    {.name = NULL},
};
