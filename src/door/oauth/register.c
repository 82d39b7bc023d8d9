/* SPDX-License-Identifier: GPL-2.0-or-later */
/* register.c - registrations of OAuth clients. */
#include "door/oauth/register.h"

#include "access/oauth/dcr.h"
#include "base/clock.h"
#include "door/oauth/reply.h"
#include "door/rpc_batch.h"
#include "json/write.h"
#include "net/addr/network.h"

#define RESPONSE_MAX 16384u

/* ---- responses ---- */

static void add_list(cw_json_writer *w, cw_str name, const cw_str *items, size_t n)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, items[i]);
    cw_json_close(w);
}

/* The registration as it is in force, which need not be the one that was asked for. */
static void write_client(cw_buf *out, const cw_oauth_client *client)
{
    static const cw_str grants[] = {CW_STR_INIT("authorization_code"),
                                    CW_STR_INIT("refresh_token")};
    static const cw_str responses[] = {CW_STR_INIT("code")};
    char secret[CW_DCR_SECRET + 1];
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("client_id"), client->id);
    cw_json_add_i64_member(&w, CW_STR("client_id_issued_at"), cw_clock_wall_ms() / 1000);
    if (client->has_secret) {
        cw_dcr_secret(client, secret);
        cw_json_add_string_member(&w, CW_STR("client_secret"), cw_str_from(secret));
        cw_json_add_i64_member(&w, CW_STR("client_secret_expires_at"), 0);
    }
    if (client->name.n)
        cw_json_add_string_member(&w, CW_STR("client_name"), client->name);
    add_list(&w, CW_STR("redirect_uris"), client->redirect_uris, client->n_redirect_uris);
    add_list(&w, CW_STR("grant_types"), grants, CW_COUNT(grants));
    add_list(&w, CW_STR("response_types"), responses, CW_COUNT(responses));
    cw_json_add_string_member(&w, CW_STR("token_endpoint_auth_method"),
                              cw_str_from(client->has_secret ? "client_secret_basic" : "none"));
    cw_json_close(&w);
    (void)!cw_json_writer_end(&w, NULL);
}

/* ---- requests ---- */

static void register_client(cw_http_req *req, const cw_oauth_settings *settings,
                            const cw_redirect_rules *rules)
{
    cw_oauth_client client;
    cw_err err = {0};
    const char *error;
    cw_buf b;
    cw_code rc = cw_dcr_register(settings->seal, cw_http_req_body(req), rules,
                                 cw_http_req_arena(req), &client, &error, &err);
    if (rc == CW_PARAMS) {
        cw_oauth_reply_error(req, 400, error, err.msg);
        return;
    }
    cw_buf_init(&b, RESPONSE_MAX);
    if (!rc)
        write_client(&b, &client);
    cw_str body = cw_rpc_batch_keep(cw_http_req_arena(req), &b);
    if (rc || !body.p)
        cw_oauth_reply_later(req, 503, 1);
    else
        cw_oauth_reply(req, 201, body);
}

static void on_post(cw_http_req *req, void *self)
{
    cw_oauth_register *door = self;
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    cw_accounts *accounts = cw_runtime_accounts(rl);
    cw_oauth_settings *settings = accounts ? cw_accounts_take_oauth(accounts) : NULL;
    const cw_config_strings *listed = &cw_runtime_config(rl)->access.server.redirect_uris;
    const cw_redirect_rules rules = {listed->items, listed->n};
    cw_network network;
    cw_network_of(cw_http_req_peer(req), &network);
    if (!settings || !settings->is_dynamic) {
        cw_oauth_reply_error(req, 403, "access_denied", "this server does not register clients");
    } else {
        uint32_t wait = cw_per_minute_take(&door->rates, network.keys[0], cw_clock_ms());
        if (wait)
            cw_oauth_reply_later(req, 429, wait);
        else
            register_client(req, settings, &rules);
    }
    cw_oauth_settings_unref(settings);
}

cw_code cw_oauth_register_add_routes(cw_router *router, cw_oauth_register *door,
                                     cw_runtime *runtime)
{
    door->runtime = runtime;
    cw_per_minute_init(&door->rates, CW_OAUTH_REGISTER_PER_MINUTE);
    cw_code rc = cw_router_add(router, CW_HTTP_POST, CW_OAUTH_REGISTER_PATH, on_post, door);
    if (!rc) {
        cw_router_open(router, CW_OAUTH_REGISTER_PATH);
        cw_router_set_errors(router, CW_OAUTH_REGISTER_PATH, cw_oauth_reply_write_error);
    }
    return rc;
}

void cw_oauth_register_done(cw_oauth_register *door)
{
    cw_per_minute_done(&door->rates);
}
