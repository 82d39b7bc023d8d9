/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remote_fixture.c - load a remote source from a description in a file. */
#include "support/remote_fixture.h"

char openrpc_path[96];

static void on_loaded(const cw_remote_loaded *loaded, void *ctx)
{
    remote_load_result *l = ctx;
    l->calls++;
    l->source = loaded->source;
    assert_true(cw_str_is(loaded->name, "shop"));
    snprintf(l->problem, sizeof l->problem, "%.*s", CW_STR_ARG(loaded->problem));
    snprintf(l->warnings, sizeof l->warnings, "%.*s", CW_STR_ARG(loaded->warnings));
    snprintf(l->missing, sizeof l->missing, "%.*s", CW_STR_ARG(loaded->missing));
    cw_shared_conn_retire(loaded->shared); /* of an MCP server; ends with its source */
}

int remote_fixture_setup(void **state)
{
    if (temp_dir_setup(state))
        return -1;
    snprintf(openrpc_path, sizeof openrpc_path, "%s/openrpc.json", temp_dir);
    return 0;
}

int remote_fixture_teardown(void **state)
{
    unlink(openrpc_path);
    return temp_dir_teardown(state);
}

void write_openrpc(const char *text)
{
    temp_dir_write("openrpc.json", text);
}

cw_config_remote remote_config(const char *url, const char *openrpc, const cw_config_overlay *items,
                               size_t n)
{
    return (cw_config_remote){
        .name = CW_STR("shop"),
        .url = cw_str_from(url),
        .openrpc = cw_str_from(openrpc),
        .prefix = CW_STR("shop."),
        .timeout_ms = 2000,
        .connections = 2,
        .methods = {items, n},
    };
}

cw_code remote_load_start(client_fixture *f, remote_load_result *l, const cw_config_remote *config,
                          cw_remote_job **job, cw_err *err)
{
    cw_remote_opts opts = {.config = config, .n_loops = 1, .answer_size = CLIENT_BODY_MAX};
    *l = (remote_load_result){0};
    return cw_remote_load(&f->loop, &opts, on_loaded, l, job, err);
}

void remote_load_wait(client_fixture *f, remote_load_result *l, const cw_config_remote *config)
{
    cw_err err = {0};
    cw_code rc = remote_load_start(f, l, config, NULL, &err);
    if (rc)
        fail_msg("%s", err.msg);
    assert_int_equal(l->calls, 0);
    client_run_until(f, l->calls);
}
