/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_methods.c - methods about the running server: status, log, caches, configuration. */
#include "admin/server.h"

#include <unistd.h>

#include "access/caller.h"
#include "base/clock.h"
#include "base/log.h"
#include "catalogue/page_cache.h"
#include "config/session_limits.h"
#include "net/server/tls.h"

/* ---- status ---- */

static void write_sources(cw_json_writer *w, const cw_sources_health *health)
{
    cw_json_add_key(w, CW_STR("sources"));
    cw_json_open_object(w);
    cw_json_add_i64_member(w, CW_STR("ready"), atomic_load(&health->ready));
    cw_json_add_i64_member(w, CW_STR("stale"), atomic_load(&health->stale));
    cw_json_add_i64_member(w, CW_STR("down"), atomic_load(&health->down));
    cw_json_add_i64_member(w, CW_STR("withheld"), atomic_load(&health->withheld));
    cw_json_add_i64_member(w, CW_STR("plugins"), atomic_load(&health->plugins));
    cw_json_close(w);
}

/* The keys whose new values wait for a restart. */
static cw_code write_restart(const cw_admin_call *c, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf keys;
    cw_buf_init(&keys, CW_CONFIG_MAX_BYTES);
    if (c->server->at_start)
        cw_config_changed_keys(c->server->at_start, c->config, /* needs_restart= */ true, &keys);
    if (keys.code)
        return cw_fail(err, keys.code, "%s", cw_code_text(keys.code));
    cw_json_add_key(c->out, CW_STR("restart"));
    cw_json_open_array(c->out);
    for (cw_str rest = cw_buf_str(&keys); rest.p && rest.n;)
        cw_json_add_string(c->out, cw_str_trim(cw_str_cut(rest, ',', &rest)));
    cw_json_close(c->out);
    return CW_OK;
}

/* Whether records reach the audit, and how long the certificate of the listeners is valid. */
static void write_upkeep(const cw_admin_call *c)
{
    const char *audit = cw_audit_is_failing(c->server->audit) ? "failing" : "ok";
    cw_str certificate = c->config->tls.certificate;
    cw_tls_validity validity = {0};
    /* A file that cannot be read has no date: the certificate in use is in memory. */
    if (certificate.n && cw_tls_file_validity(certificate.p, &validity, NULL))
        validity.until = 0;
    cw_json_add_string_member(c->out, CW_STR("audit"),
                              cw_str_from(c->config->audit.path.n ? audit : "off"));
    cw_admin_add_date_member(c->out, "certificate_ends", validity.until);
}

static cw_code status(cw_admin_call *c, cw_err *err)
{
    const cw_admin_server *s = c->server;
    size_t n_tools = 0, n_methods = 0;
    if (c->snapshot)
        cw_sources_count(s->sources, c->snapshot, &n_tools, &n_methods);
    cw_json_add_string_member(c->out, CW_STR("config"),
                              cw_str_from(s->config_path ? s->config_path : ""));
    cw_json_add_key(c->out, CW_STR("listen"));
    cw_json_open_array(c->out);
    for (size_t i = 0; i < s->n_addresses; i++)
        cw_json_add_string(c->out, cw_str_from(s->addresses[i]));
    cw_json_close(c->out);
    cw_json_add_i64_member(c->out, CW_STR("connections"), s->connections(s->ctx));
    cw_json_add_i64_member(c->out, CW_STR("tools"), (int64_t)n_tools);
    cw_json_add_i64_member(c->out, CW_STR("methods"), (int64_t)n_methods);
    write_sources(c->out, s->health);
    write_upkeep(c);
    return write_restart(c, err);
}

/* When the session ends if this call is its last use, which may not have been recorded. */
static int64_t session_end(const cw_admin_call *c)
{
    int64_t idle = cw_config_sessions(c->config).idle_ms;
    int64_t unused = cw_clock_wall_ms() + idle - idle / CW_SESSION_TOUCHES;
    return c->logged_in && unused < c->session_ends ? unused : c->session_ends;
}

static cw_code whoami(cw_admin_call *c, cw_err *err)
{
    int64_t recent = c->logged_in ? c->logged_in + cw_config_sessions(c->config).confirm_ms : 0;
    (void)err;
    cw_json_add_key(c->out, CW_STR("caller"));
    cw_json_add_span(c->out, c->caller);
    cw_admin_add_date_member(c->out, "session_ends", session_end(c));
    cw_admin_add_date_member(c->out, "recent_until", recent);
    return CW_OK;
}

/* ---- log ---- */

static const char *level_name(cw_log_level level)
{
    static const char *const names[] = {"off", "error", "warn", "info", "debug"};
    return names[level + 1];
}

/* The configured level is in force again. */
static void on_level_over(uv_timer_t *timer)
{
    const cw_admin_server *server = timer->data;
    cw_log_opts opts = cw_config_log_opts(server->config);
    cw_err err = {0};
    if (cw_log_configure(&opts, &err))
        cw_log_err(CW_LOG_ERROR, "serve", "the level of the log stays as it is", &err);
    else
        cw_log(CW_LOG_INFO, "serve", "the level of the log is the configured one again");
}

static void start_timer(cw_admin_server *server, int64_t seconds)
{
    uv_timer_t *timer = &server->log_timer;
    if (!timer->data)
        uv_timer_init(&server->loop->uv, timer);
    timer->data = server;
    uv_timer_stop(timer);
    if (seconds)
        uv_timer_start(timer, on_level_over, (uint64_t)seconds * 1000, 0);
}

static cw_code set_level(cw_admin_call *c, cw_err *err)
{
    cw_log_opts opts = cw_config_log_opts(c->config);
    cw_str level = cw_admin_text(c, "level"), components = cw_admin_text(c, "components");
    int64_t seconds = cw_admin_number(c, "for_s", 0);
    if (level.n && !cw_log_level_parse(level, &opts.level))
        return cw_fail(err, CW_PARAMS, "level: expected error, warn, info, debug or off");
    cw_str kept = cw_arena_dup_str(c->arena, components);
    if (!kept.p)
        return cw_arena_fail(c->arena, err);
    if (components.n)
        opts.levels = kept.p;
    cw_code rc = cw_log_configure(&opts, err);
    if (rc)
        return rc == CW_CONFIG ? CW_PARAMS : rc;
    start_timer(c->server, seconds);
    if (seconds)
        cw_admin_add_date_member(c->out, "until", cw_clock_wall_ms() + seconds * 1000);
    cw_json_add_string_member(c->out, CW_STR("level"), cw_str_from(level_name(opts.level)));
    cw_json_add_string_member(c->out, CW_STR("components"),
                              cw_str_from(opts.levels ? opts.levels : ""));
    return CW_OK;
}

/* ---- caches ---- */

static cw_code invalidate(cw_admin_call *c, cw_err *err)
{
    cw_str tag = cw_admin_text(c, "tag");
    unsigned tags = cw_page_cache_tag_find(tag);
    if (!tags)
        return cw_fail(err, CW_PARAMS, "tag: expected %s or %s",
                       cw_page_cache_tags_text(CW_PAGE_CACHE_DISCOVERY).p,
                       cw_page_cache_tags_text(CW_PAGE_CACHE_PERMISSIONS).p);
    cw_runtime_invalidate(c->server->runtime, tags);
    cw_log(CW_LOG_INFO, "serve", "cache invalidated", CW_KV("tags", cw_page_cache_tags_text(tags)));
    cw_json_add_string_member(c->out, CW_STR("tag"), tag);
    return CW_OK;
}

static cw_code rebuild(cw_admin_call *c, cw_err *err)
{
    (void)err;
    cw_runtime_invalidate(c->server->runtime, CW_PAGE_CACHE_ALL_TAGS);
    cw_sources_rebuild(c->server->sources);
    cw_log(CW_LOG_INFO, "serve", "cache rebuild",
           CW_KV("tags", cw_page_cache_tags_text(CW_PAGE_CACHE_ALL_TAGS)));
    return CW_OK;
}

/* ---- configuration ---- */

static cw_code reload(cw_admin_call *c, cw_err *err)
{
    return c->server->reload(c->out, c->server->ctx, err);
}

static cw_code upgrade(cw_admin_call *c, cw_err *err)
{
    int64_t own = getpid();
    if (cw_admin_number(c, "pid", own) != own)
        return cw_fail(err, CW_INVALID, "the server is another process than the one named");
    return c->server->upgrade(c, c->server->ctx, err);
}

static cw_code show(cw_admin_call *c, cw_err *err)
{
    cw_json_add_key(c->out, CW_STR("config"));
    return cw_config_write_masked(c->config, c->out, err);
}

#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define TEXTS "{\"type\":\"array\",\"items\":" TEXT "}"

const cw_admin_method cw_admin_server_methods[] = {
    {.name = "causeway.status",
     .about = "Report the state of the server: addresses, connections, catalogue and sources",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[]",
     .result =
         "{\"config\":" TEXT ",\"listen\":" TEXTS ",\"connections\":" NUMBER ",\"tools\":" NUMBER
         ",\"methods\":" NUMBER ",\"sources\":{\"type\":\"object\"},\"audit\":{\"enum\":[\"off\","
         "\"ok\",\"failing\"]},\"certificate_ends\":{\"type\":[\"integer\",\"null\"]},"
         "\"restart\":" TEXTS "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = status},
    {.name = "causeway.whoami",
     .about = "Return the caller of this method: its name, permissions and session",
     .permission = CW_PERMISSION_USE_CONSOLE,
     .params = "[]",
     .result = "{\"caller\":{\"type\":\"object\"},\"session_ends\":{\"type\":[\"integer\","
               "\"null\"]},\"recent_until\":{\"type\":[\"integer\",\"null\"]}}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER | CW_ADMIN_CONSOLE,
     .run = whoami},
    {.name = "causeway.log.level",
     .about = "Set the level of the log for a time, or until the next reload or restart",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"level\",\"description\":\"The configured one by default\",\"schema\":"
               "{\"enum\":[\"error\",\"warn\",\"info\",\"debug\",\"off\"]}},{\"name\":"
               "\"components\",\"description\":\"Levels of "
               "single components, such as net=debug,access=off\",\"schema\":" TEXT "},"
               "{\"name\":\"for_s\",\"description\":\"Seconds until the configured level "
               "returns\",\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":86400}}]",
     .result =
         "{\"level\":" TEXT ",\"components\":" TEXT ",\"until\":{\"type\":[\"integer\",\"null\"]}}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .n_audited = 1,
     .run = set_level},
    {.name = "causeway.cache.invalidate",
     .about = "Drop the cached documents with a tag",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"tag\",\"required\":true,\"schema\":" TEXT "}]",
     .result = "{\"tag\":" TEXT "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .n_audited = 1,
     .run = invalidate},
    {.name = "causeway.cache.rebuild",
     .about = "Load all plugins and read all descriptions again, and clear the caches",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[]",
     .result = "{}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .run = rebuild},
    {.name = "causeway.reload",
     .about = "Read the configuration file again, and report what changed or what is wrong",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[]",
     .result = "{\"applied\":{\"type\":\"boolean\"},\"changed\":" TEXTS ",\"restart\":" TEXTS
               ",\"problems\":" TEXTS "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .run = reload},
    {.name = "causeway.upgrade",
     .about = "Start the program again, which takes over without a dropped connection",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[{\"name\":\"pid\",\"description\":\"The process to replace; any if it is "
               "omitted\",\"schema\":" NUMBER "}]",
     .result = "{\"upgraded\":{\"type\":\"boolean\"},\"pid\":" NUMBER ",\"version\":" TEXT
               ",\"problem\":" TEXT "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_CHANGES | CW_ADMIN_NEEDS_SERVER,
     .run = upgrade},
    {.name = "causeway.config.show",
     .about = "Return the effective configuration; values that may hold secrets are masked",
     .permission = CW_PERMISSION_ADMINISTER_SOURCES,
     .params = "[]",
     .result = "{\"config\":{\"type\":\"object\"}}",
     .place = CW_ADMIN_MAIN,
     .run = show},
    {.name = NULL},
};
