/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/backend.h"

#include <stdlib.h>

#include "base/log.h"
#include "cli/plugin.h"

/* A client that keeps a list for so long asks rarely enough; those that listen hear of a change. */
#define LIST_TTL_MS 5000u
#define PUBLISH_PAUSE_MS 1000u

/* ---- publishing ---- */

static void on_publish_again(uv_timer_t *timer);

/* What was published last, with the callers and settings in force. Without success it is tried
 * again: loops must not go on with a catalogue whose sources are retired. */
static void publish(cw_backend *b, cw_source *const *retired, size_t n_retired)
{
    cw_err err = {0};
    if (!b->snapshot)
        return;
    cw_code rc = cw_bridge_publish(b->bridge, cw_snapshot_ref(b->snapshot), b->anonymous,
                                   &b->settings, retired, n_retired, &err);
    if (!rc)
        return;
    cw_log_err(CW_LOG_ERROR, "serve", "the old catalogue stays for now", &err);
    if (b->is_open)
        uv_timer_start(&b->timer, on_publish_again, PUBLISH_PAUSE_MS, 0);
}

static void on_publish_again(uv_timer_t *timer)
{
    publish(timer->data, NULL, 0);
}

static void on_snapshot(cw_snapshot *snapshot, cw_source *const *retired, size_t n_retired,
                        void *ctx)
{
    cw_backend *b = ctx;
    cw_snapshot_unref(b->snapshot);
    b->snapshot = snapshot;
    publish(b, retired, n_retired);
}

static void on_settled(void *ctx)
{
    cw_backend *b = ctx;
    b->is_settled = true;
}

/* ---- configuration ---- */

static cw_code new_anonymous(const cw_config *config, cw_caller **ret, cw_err *err)
{
    for (size_t i = 0; i < config->roles.n; i++) {
        const cw_config_role *role = &config->roles.items[i];
        if (cw_str_is(role->name, "anonymous"))
            return cw_caller_new_anonymous(role->permissions.items, role->permissions.n, ret, err);
    }
    return cw_caller_new_anonymous(NULL, 0, ret, err);
}

static cw_bridge_settings settings_of(const cw_backend *b, const cw_config *config)
{
    return (cw_bridge_settings){
        .calls = (config->limits.calls + b->n_loops - 1) / b->n_loops,
        .batch = config->limits.batch,
        .list_ttl_ms = LIST_TTL_MS,
        .ignore_unknown_arguments = config->ignore_unknown_arguments,
    };
}

cw_code cw_backend_configure(cw_backend *b, cw_config *config, cw_err *err)
{
    cw_caller *anonymous;
    cw_code rc = new_anonymous(config, &anonymous, err);
    if (rc)
        return rc;
    cw_caller *old = b->anonymous;
    cw_bridge_settings old_settings = b->settings;
    b->anonymous = anonymous;
    b->settings = settings_of(b, config);
    rc = cw_sources_configure(b->sources, config, err);
    if (rc) {
        b->anonymous = old;
        b->settings = old_settings;
        cw_caller_unref(anonymous);
        return rc;
    }
    cw_caller_unref(old);
    /* Roles and settings count from now on, whatever the sources still have to load. */
    publish(b, NULL, 0);
    return CW_OK;
}

/* ---- begin and end ---- */

cw_code cw_backend_open(cw_backend *b, cw_loop *main_loop, unsigned n_loops,
                        const cw_config *config, cw_err *err)
{
    *b = (cw_backend){.loop = main_loop, .n_loops = n_loops};
    cw_code rc = cw_cli_find_host(config, config->plugins.folder.n > 0, &b->host, err);
    if (rc)
        return rc;
    uv_timer_init(&main_loop->uv, &b->timer);
    b->timer.data = b;
    b->is_open = true;
    rc = cw_spawner_new(&b->spawner, err);
    if (!rc)
        rc = cw_bridge_new(main_loop, n_loops, &b->bridge, err);
    if (rc)
        return rc;
    cw_sources_opts opts = {
        .loop = main_loop,
        .n_loops = n_loops,
        .spawner = b->spawner,
        .host = b->host,
        .publish = on_snapshot,
        .settled = on_settled,
        .ctx = b,
    };
    return cw_sources_new(&opts, &b->sources, err);
}

static void on_late(uv_timer_t *timer)
{
    cw_backend *b = timer->data;
    b->is_late = true;
}

void cw_backend_wait(cw_backend *b, uint64_t ms, const bool *stop)
{
    uv_update_time(&b->loop->uv);
    uv_timer_start(&b->timer, on_late, ms, 0);
    while (!b->is_settled && !b->is_late && !*stop)
        uv_run(&b->loop->uv, UV_RUN_ONCE);
    uv_timer_stop(&b->timer);
    if (b->is_late)
        cw_log(CW_LOG_WARN, "serve", "not every source has answered yet; starting without them");
}

void cw_backend_attach(cw_backend *b, cw_server *server)
{
    cw_loop *loops[CW_SERVER_MAX_LOOPS];
    for (unsigned i = 0; i < b->n_loops; i++)
        loops[i] = cw_server_loop_at(server, i);
    cw_bridge_attach(b->bridge, loops);
}

void cw_backend_started(cw_backend *b)
{
    cw_bridge_started(b->bridge);
}

void cw_backend_close(cw_backend *b)
{
    if (!b->is_open)
        return;
    b->is_open = false;
    cw_sources_free(b->sources);
    b->sources = NULL;
    uv_close((uv_handle_t *)&b->timer, NULL);
}

void cw_backend_done(cw_backend *b)
{
    cw_backend_close(b);
    cw_bridge_free(b->bridge);
    cw_snapshot_unref(b->snapshot);
    cw_caller_unref(b->anonymous);
    cw_spawner_free(b->spawner);
    free(b->host);
    /* The timer stays as it is: the main loop may still have to close it. */
    b->bridge = NULL;
    b->snapshot = NULL;
    b->anonymous = NULL;
    b->spawner = NULL;
    b->host = NULL;
}
