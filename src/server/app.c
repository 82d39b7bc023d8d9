/* SPDX-License-Identifier: GPL-2.0-or-later */
/* app.c - the parts of a running server: publishing, accounts, configuration, start and end. */
#include "server/app.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "admin/callers.h"
#include "base/log.h"
#include "call/catalogue_wait.h"
#include "config/session_limits.h"
#include "net/server/tls.h"
#include "server/app_anonymous.h"
#include "server/app_callers.h"
#include "server/app_shared.h"
#include "server/files/own_files.h"
#include "server/files/plugin_host_path.h"
#include "server/files/seal_key.h"
#include "server/files/state_file.h"
#include "server/options/audit_opts.h"
#include "server/options/database.h"
#include "server/options/issuers.h"
#include "server/options/name_checks.h"
#include "server/options/oauth_server.h"
#include "server/options/permissions.h"
#include "server/options/trace_opts.h"
#include "server/replica_row.h"
#include "source/upstream/package.h"
#include "task/tasks.h"

/* How long a client may cache a list. Clients with a subscription are notified of changes. */
#define LIST_TTL_MS 5000u
#define PUBLISH_PAUSE_MS 1000u
#define FLUSH_MS 1000u        /* for the last spans */
#define FLUSH_TASKS_MS 2000u  /* for the ends of tasks */
#define LEAVE_MS 1000u        /* for the row of this server */
#define END_SESSIONS_MS 2000u /* for the ends of sessions with MCP servers */

/* ---- publishing ---- */

static void on_publish_again(uv_timer_t *timer);

/* Publish the catalogue with the callers and settings in force, unless all are published already.
 * After a failure it is tried again: loops must not go on with a catalogue whose sources are
 * retired. */
static void publish(cw_app *b, cw_source *const *retired, size_t n_retired)
{
    cw_err err = {0};
    if (!b->snapshot || !b->is_dirty)
        return;
    cw_code rc = cw_runtime_publish(b->runtime, cw_snapshot_ref(b->snapshot), b->anonymous,
                                    &b->settings, retired, n_retired, &err);
    b->is_dirty = rc != CW_OK;
    if (!rc) {
        cw_log(CW_LOG_DEBUG, "serve", "state published");
        return;
    }
    cw_log_err(CW_LOG_ERROR, "serve", "cannot publish catalogue, keeping the previous one", &err);
    if (b->is_open)
        uv_timer_start(&b->timer, on_publish_again, PUBLISH_PAUSE_MS, 0);
}

void cw_app_publish(cw_app *b)
{
    publish(b, NULL, 0);
}

static void on_publish_again(uv_timer_t *timer)
{
    cw_app_publish(timer->data);
}

static void set_loading(cw_app *b, bool is_loading)
{
    b->is_dirty = b->is_dirty || b->settings.is_loading != is_loading;
    b->settings.is_loading = is_loading;
}

static size_t add_texts(cw_str *to, size_t n, const cw_str *items, size_t n_items)
{
    if (n_items)
        memcpy(to + n, items, n_items * sizeof *to);
    return n + n_items;
}

/* A caller with all permissions and scopes that methods of the catalogue require. */
static cw_code new_owner(const cw_snapshot *snapshot, cw_caller **ret, cw_err *err)
{
    size_t n_classes, n_permissions = 2, n_scopes = 0;
    const cw_requirements *classes = cw_snapshot_classes(snapshot, &n_classes);
    for (size_t i = 0; i < n_classes; i++) {
        n_permissions += classes[i].n_permissions;
        n_scopes += classes[i].n_scopes;
    }
    cw_str *all = calloc(n_permissions + n_scopes, sizeof *all);
    if (!all)
        return cw_fail_nomem(err);
    cw_str *scopes = all + n_permissions;
    all[0] = CW_PERMISSION_DISCOVER;
    all[1] = CW_PERMISSION_CALL;
    n_permissions = 2;
    n_scopes = 0;
    for (size_t i = 0; i < n_classes; i++) {
        n_permissions =
            add_texts(all, n_permissions, classes[i].permissions, classes[i].n_permissions);
        n_scopes = add_texts(scopes, n_scopes, classes[i].scopes, classes[i].n_scopes);
    }
    cw_caller_opts opts = {.id = CW_STR("local"),
                           .name = CW_STR("local"),
                           .permissions = all,
                           .n_permissions = cw_requirements_sort(all, n_permissions),
                           .has_token = true,
                           .scopes = scopes,
                           .n_scopes = cw_requirements_sort(scopes, n_scopes)};
    cw_code rc = cw_caller_new(&opts, ret, err);
    free(all);
    return rc;
}

static void use_owner(cw_app *b)
{
    cw_caller *owner = NULL;
    cw_err err = {0};
    if (new_owner(b->snapshot, &owner, &err)) {
        cw_log_err(CW_LOG_ERROR, "serve", "the local caller keeps its old permissions", &err);
        return;
    }
    cw_app_set_anonymous(b, owner);
    cw_caller_unref(owner);
}

static void on_snapshot(cw_snapshot *snapshot, cw_source *const *retired, size_t n_retired,
                        void *ctx)
{
    cw_app *b = ctx;
    cw_snapshot_unref(b->snapshot);
    b->snapshot = snapshot;
    b->admin.snapshot = snapshot;
    b->is_dirty = true;
    b->is_shown = false;
    if (b->is_owner)
        use_owner(b);
    if (!b->is_read_only)
        cw_name_checks_log(b->settings.config, snapshot);
    publish(b, retired, n_retired);
}

#define UNLISTED_MAX 20u

/* Log the tools that MCP doors list for no client, because they require a login and none exists. */
static void log_unlisted(const cw_app *b)
{
    bool has_logins = cw_accounts_has_logins(b->accounts);
    bool is_other = b->account || b->token.p;
    size_t n = 0, n_all = 0;
    cw_buf names;
    if (!b->snapshot || !b->anonymous || (has_logins && !is_other))
        return;
    /* The account or token is refused, or not checked yet: it has no permissions. */
    if (is_other && cw_caller_is_anonymous(b->anonymous))
        return;
    const cw_entry *const *tools = cw_snapshot_tools(b->snapshot, &n_all);
    cw_verdict may_list = cw_gate_permission(b->anonymous, CW_PERMISSION_DISCOVER);
    cw_buf_init(&names, CW_BUF_MAX);
    for (size_t i = 0; i < n_all; i++) {
        cw_verdict verdict = cw_gate_check(b->anonymous, &tools[i]->method->needs);
        bool is_gated = verdict == CW_VERDICT_NEEDS_LOGIN || verdict == CW_VERDICT_NEEDS_SCOPES ||
                        (may_list == CW_VERDICT_NEEDS_LOGIN && verdict == CW_VERDICT_ALLOW);
        if (is_gated && n++ < UNLISTED_MAX)
            cw_buf_printf(&names, "%s%.*s", n > 1 ? ", " : "", CW_STR_ARG(tools[i]->tool_name));
    }
    if (n > UNLISTED_MAX)
        cw_buf_printf(&names, " and %zu more", n - UNLISTED_MAX);
    if (n && !names.code && may_list == CW_VERDICT_NEEDS_LOGIN)
        cw_log(CW_LOG_INFO, "serve",
               "MCP clients see no tools: no login is configured, and anonymous callers lack a "
               "permission",
               CW_KV("permission", CW_PERMISSION_DISCOVER), CW_KV("tools", cw_buf_str(&names)));
    else if (n && !names.code)
        cw_log(CW_LOG_INFO, "serve",
               "tools that require a login are not listed to MCP clients: no login is configured",
               CW_KV("tools", cw_buf_str(&names)));
    cw_buf_done(&names);
}

static void on_settled(void *ctx)
{
    cw_app *b = ctx;
    if (!b->is_settled && !b->is_read_only && !b->is_owner)
        log_unlisted(b);
    if (!b->is_settled && !b->is_read_only && !b->is_owner && !b->is_demo)
        cw_role_permissions_log_unused(b->settings.config, b->snapshot);
    b->is_settled = true;
    /* This may come just before the loop waits for events: it must not wait any more. */
    if (b->is_waiting)
        uv_stop(&b->loop->uv);
}

/* Calls do not wait longer for slow sources. */
static void on_loading_late(uv_timer_t *timer)
{
    cw_app *b = timer->data;
    set_loading(b, false);
    cw_app_publish(b);
}

static void on_loading(bool is_loading, void *ctx)
{
    cw_app *b = ctx;
    if (is_loading)
        uv_timer_start(&b->loading, on_loading_late, CW_CATALOGUE_WAIT_MS, 0);
    else
        uv_timer_stop(&b->loading);
    set_loading(b, is_loading);
    cw_app_publish(b);
}

/* ---- the audit ---- */

static void on_audit_status(void *ctx, const cw_err *err)
{
    (void)ctx;
    if (err)
        cw_log_err(CW_LOG_ERROR, "audit", "records cannot be written; they are queued", err);
    else
        cw_log(CW_LOG_INFO, "audit", "records can be written again");
}

static void close_audit(cw_app *b)
{
    uint64_t lost = cw_audit_free(b->audit);
    if (lost)
        cw_log(CW_LOG_ERROR, "audit", "records were lost", CW_KN("count", lost));
    b->audit = NULL;
}

/* ---- traces ---- */

static void close_tracer(cw_app *b)
{
    cw_trace_counts n;
    if (!b->tracer)
        return;
    cw_tracer_counts(b->tracer, &n);
    if (n.full || n.limited || n.large || n.failed || n.rejected)
        cw_log(CW_LOG_WARN, "trace", "spans were dropped", CW_KN("sent", n.sent),
               CW_KN("full", n.full), CW_KN("limited", n.limited), CW_KN("large", n.large),
               CW_KN("failed", n.failed), CW_KN("rejected", n.rejected));
    cw_tracer_close(b->tracer);
}

/* ---- accounts ---- */

static void on_status(void *ctx, const cw_err *err)
{
    cw_app *b = ctx;
    pthread_mutex_lock(&b->lock);
    b->store_error = err ? *err : (cw_err){0};
    pthread_mutex_unlock(&b->lock);
    atomic_store(&b->store_away, err != NULL);
    if (err)
        cw_log_err(CW_LOG_ERROR, "store", "database unavailable: logins fail", err);
    else
        cw_log(CW_LOG_INFO, "store", "the database can be used again");
}

static cw_code open_accounts(cw_app *b, const cw_config *config, bool keeps_state, cw_err *err)
{
    cw_accounts_opts opts = {.db = cw_database_opts(config, 0),
                             .n_loops = b->n_loops,
                             .tokens = config->limits.token_cache_entries,
                             .on_status = on_status,
                             .on_change = cw_app_on_store_change,
                             .on_news = cw_app_on_news,
                             .ctx = b,
                             .listen_url = config->store.listen_url.p};
    opts.db.may_create = !b->is_quiet;
    b->has_store = cw_config_store(config).n > 0;
    if (!b->has_store && !config->access.issuers.n)
        return CW_OK;
    cw_code rc = cw_issuers_new(b->loop, &b->issuers, err);
    if (!rc && b->has_store && keeps_state)
        rc = cw_app_open_replicas(b, config, err);
    if (!rc)
        rc = cw_accounts_new(&opts, &b->accounts, err);
    if (rc)
        return rc;
    if (b->replicas)
        cw_replicas_set_store(b->replicas, cw_accounts_store(b->accounts));
    cw_accounts_set_issuers(b->accounts, b->issuers);
    return CW_OK;
}

static void use_sessions(cw_app *b, const cw_config *config)
{
    cw_config_session_limits limits = cw_config_sessions(config);
    cw_session_rules rules = {.idle_ms = limits.idle_ms,
                              .lifetime_ms = limits.lifetime_ms,
                              .per_account = config->access.login.sessions};
    if (!config->access.login.enabled)
        rules.per_account = 0;
    if (b->accounts)
        cw_accounts_set_sessions(b->accounts, &rules);
}

/* ---- configuration ---- */

static cw_code new_anonymous(const cw_app *b, const cw_config *config, cw_caller **ret, cw_err *err)
{
    bool is_other = b->account || b->token.p || b->is_owner;
    for (size_t i = 0; !is_other && i < config->roles.n; i++) {
        const cw_config_role *role = &config->roles.items[i];
        if (!cw_str_is(role->name, "anonymous"))
            continue;
        return b->is_demo
                   ? cw_caller_new_confined(role->permissions.items, role->permissions.n, ret, err)
                   : cw_caller_new_anonymous(role->permissions.items, role->permissions.n, ret,
                                             err);
    }
    return cw_caller_new_anonymous(NULL, 0, ret, err);
}

/* Equal translations stay the same object, so that no client is notified. */
static cw_code load_translations(const cw_app *b, const cw_config *config, cw_translations **ret,
                                 cw_err *err)
{
    cw_translations *fresh = NULL;
    cw_str default_value = config->translations.default_value;
    cw_translations_opts opts = {
        .folder = config->translations.directory.p,
        .original = config->translations.source_language,
        .default_value = default_value.n ? default_value : config->translations.source_language,
        .max_bytes = config->translations.max_size};
    if (config->translations.directory.n) {
        cw_code rc = cw_translations_load(&opts, &fresh, err);
        if (rc)
            return rc;
    }
    bool is_new = !cw_translations_equal(fresh, b->translations);
    *ret = cw_translations_ref(is_new ? fresh : b->translations);
    cw_translations_unref(fresh);
    return CW_OK;
}

/* The objects of a configuration before they are in force. */
typedef struct draft {
    cw_caller *configured;
    cw_roles *roles;
    cw_translations *translations;
    cw_audit_setup *audit;
    cw_issuer_set *issuers;
    cw_oauth_settings *oauth; /* NULL: off */
} draft;

static cw_code draft_issuers(cw_app *b, const cw_config *config, draft *d, cw_err *err)
{
    cw_issuer_list list;
    cw_code rc = cw_issuer_list_init(&list, config, err);
    if (!rc && b->issuers)
        rc = cw_issuers_prepare(b->issuers, list.items, list.n, &d->issuers, err);
    else if (!rc && list.n)
        cw_log(CW_LOG_WARN, "config", "the first entry of access.issuers needs a restart");
    cw_issuer_list_done(&list);
    return rc;
}

/* Everything that can fail but the sources, which fail before they change anything. */
static cw_code make_draft(cw_app *b, const cw_config *config, draft *d, cw_err *err)
{
    cw_audit_opts audit = cw_app_audit_opts(config);
    cw_code rc = new_anonymous(b, config, &d->configured, err);
    if (!rc)
        rc = cw_admin_roles_new(config, &d->roles, err);
    if (!rc)
        rc = load_translations(b, config, &d->translations, err);
    if (!rc && !b->is_read_only)
        rc = cw_audit_prepare(b->audit, &audit, &d->audit, err);
    if (!rc)
        rc = draft_issuers(b, config, d, err);
    if (!rc)
        rc = cw_seal_key_reload(config, &b->seals, err);
    if (!rc && b->documents)
        rc = cw_oauth_server_settings(config, &b->seals.oauth, &d->oauth, err);
    else if (!rc && config->access.server.enabled)
        cw_log(CW_LOG_WARN, "config",
               "access.server.enabled needs a restart: it was off at the start");
    if (!rc && d->oauth && !b->is_read_only)
        rc = cw_oauth_server_check_store(cw_accounts_store(b->accounts), d->oauth, err);
    if (!rc && b->documents)
        rc = cw_cimd_cache_configure(b->documents,
                                     config->access.server.client_document_allow_private,
                                     config->access.server.client_document_ca_file, err);
    if (!rc && !b->is_read_only)
        rc = cw_app_configure_traces(b->tracer, config, err);
    return rc;
}

static void drop_draft(draft *d)
{
    cw_caller_unref(d->configured);
    cw_roles_unref(d->roles);
    cw_translations_unref(d->translations);
    cw_audit_drop(d->audit);
    cw_issuers_drop(d->issuers);
    cw_oauth_settings_unref(d->oauth);
}

/* True as of use_roles. */
static bool use_draft(cw_app *b, draft *d)
{
    cw_translations_unref(b->translations);
    b->translations = d->translations;
    if (b->audit)
        cw_audit_use(b->audit, d->audit);
    if (b->issuers)
        cw_issuers_use(b->issuers, d->issuers);
    if (b->accounts)
        cw_accounts_set_oauth(b->accounts, d->oauth);
    atomic_store(&b->has_oauth, d->oauth != NULL);
    d->translations = NULL;
    d->audit = NULL;
    d->issuers = NULL;
    use_sessions(b, b->settings.config);
    return cw_app_use_roles(b, d->configured, d->roles);
}

/* Settings of a configuration that differs from the one in force. An equal one keeps the settings
 * with their revision, so that no cached document is dropped. */
static void use_settings(cw_app *b, cw_config *config, cw_translations *translations)
{
    const cw_runtime_settings old = b->settings;
    if (old.config && old.translations == translations && cw_config_equal(old.config, config))
        return;
    b->settings = (cw_runtime_settings){
        .revision = old.revision + 1,
        .calls = (config->limits.max_calls + b->n_loops - 1) / b->n_loops,
        .list_ttl_ms = LIST_TTL_MS,
        .limits = cw_rate_limits_of(config),
        .is_loading = old.is_loading,
        .translations = translations,
        .config = config,
    };
    b->is_dirty = true;
}

/* Programs that may be others tomorrow, and programs from which nothing can be hidden. */
static void warn_of_programs(const cw_app *b, const cw_config *config)
{
    size_t n_programs = 0;
    for (size_t i = 0; i < config->sources.n && !b->is_quiet; i++) {
        const cw_config_remote *r = &config->sources.items[i];
        cw_str package = cw_package_unpinned(&r->command);
        n_programs += r->command.n > 0;
        if (package.n)
            cw_log(CW_LOG_WARN, "sources", "a package without a fixed version is downloaded",
                   CW_KV("source", r->name), CW_KV("package", package));
    }
    if (n_programs && !cw_own_files_can_hide())
        cw_log(CW_LOG_WARN, "sources",
               "programs can read the files of this server: the kernel has no Landlock");
}

/* Without them deliveries and documents fail one by one, long after the start. */
static void warn_of_authorities(const cw_app *b, const cw_config *config)
{
    const cw_config_pair files[] = {
        {CW_STR("mcp.events.webhook_ca_file"), config->mcp.events.ca_file},
        {CW_STR("access.server.client_document_ca_file"),
         config->access.server.client_document_ca_file},
    };
    for (size_t i = 0; i < CW_COUNT(files) && !b->is_quiet; i++) {
        cw_err err = {0};
        if (files[i].value.n && cw_tls_check_authorities(files[i].value.p, &err))
            cw_log(CW_LOG_WARN, "config", "CA certificates cannot be used",
                   CW_KV("key", files[i].name), CW_KV("problem", cw_str_from(err.msg)));
    }
}

/* A configuration that is not used leaves the secrets of the old one. They live as long as the seal. */
static void keep_secrets(cw_app *b, const cw_seal_key *keys, size_t n)
{
    cw_err err = {0};
    if (b->seals.is_in_files && cw_seal_keys_set(&b->seals, keys, n, &err))
        cw_log_err(CW_LOG_WARN, "config", "the new secrets of mcp.secret_file stay in use", &err);
}

cw_code cw_app_configure(cw_app *b, cw_config *config, cw_err *err)
{
    draft d = {0};
    cw_runtime_settings old = b->settings;
    size_t n_keys;
    const cw_seal_key *keys = cw_seal_get_keys(&b->seals.server, &n_keys);
    cw_code rc = make_draft(b, config, &d, err);
    if (!rc)
        rc = cw_own_files_hide(b->spawner, config, err);
    if (rc) {
        keep_secrets(b, keys, n_keys);
        drop_draft(&d);
        return rc;
    }
    bool was_dirty = b->is_dirty;
    use_settings(b, config, d.translations);
    if (!b->anonymous)
        cw_app_set_anonymous(b, d.configured); /* sources may publish at once */
    cw_app_use_approvals(b, config);
    rc = cw_sources_configure(b->sources, config, err);
    if (rc) {
        b->settings = old;
        b->is_dirty = was_dirty;
        keep_secrets(b, keys, n_keys);
        drop_draft(&d);
        return rc;
    }
    if (b->settings.config != old.config) {
        cw_config_ref(config);
        cw_config_unref(old.config);
    }
    b->admin.config = b->settings.config;
    cw_event_hub_set_steps(b->events, config->limits.validation_steps);
    b->is_shown = false;
    warn_of_programs(b, config);
    warn_of_authorities(b, config);
    /* Roles and settings are in force from now on, also while sources are still loading. */
    if (!use_draft(b, &d))
        cw_app_publish(b);
    drop_draft(&d);
    return CW_OK;
}

/* ---- begin and end ---- */

/* Read anew for each source that is loaded: roles may have changed since. */
static bool list_permissions(const cw_config *config, const cw_str **ret, size_t *ret_n, void *ctx)
{
    cw_app *b = ctx;
    bool is_known = false;
    cw_arena_done(&b->permissions.arena);
    b->permissions = (cw_name_list){0};
    cw_arena_init(&b->permissions.arena, CW_NAME_LIST_MAX_BYTES);
    cw_code rc = cw_role_permissions_of_roles(config, &b->permissions, &is_known);
    *ret = b->permissions.items;
    *ret_n = b->permissions.n;
    return !rc && is_known && !b->is_owner && !b->is_demo;
}

/* Sessions that were ended stay ended after a restart. */
static void keep_ends(cw_mcp *mcp, const char *path)
{
    int fd = -1;
    cw_err err = {0};
    cw_code rc = cw_state_file_open(path, &fd, &err);
    if (rc == CW_NOTFOUND) {
        rc = cw_state_file_make(path, CW_STR(""), &err);
        if (!rc)
            rc = cw_state_file_open(path, &fd, &err);
    }
    if (!rc)
        rc = cw_mcp_keep_ends(mcp, fd, &err);
    if (rc)
        cw_log_err(CW_LOG_WARN, "serve", "ended sessions are valid again after a restart", &err);
}

static cw_code make_door(cw_app *b, const cw_app_opts *opts, const cw_config *config, cw_err *err)
{
    char key[CW_STATE_FILE_PATH], ends[CW_STATE_FILE_PATH];
    cw_seal_key_opts from = {.store = b->accounts ? cw_accounts_store(b->accounts) : NULL};
    cw_err why = {0};
    bool has_files = opts->keeps_state &&
                     !cw_state_file_path(config, opts->config_path, "seal", key, &why) &&
                     !cw_state_file_path(config, opts->config_path, "ended", ends, &why);
    if (has_files)
        from.path = key;
    else if (opts->keeps_state)
        cw_log_err(CW_LOG_WARN, "serve", "the state of sessions ends with this process", &why);
    cw_code rc = cw_seal_key_load(config, &from, &b->seals, err);
    if (!rc)
        rc = cw_mcp_new(b->runtime, b->n_loops, &b->seals.server, &b->mcp, err);
    if (!rc)
        cw_mcp_follow_tasks(b->mcp, b->tasks, b->replicas, b->loop);
    if (!rc && has_files)
        keep_ends(b->mcp, ends);
    if (!rc && config->access.server.enabled && b->accounts)
        rc = cw_cimd_cache_new(b->loop, &b->documents, err);
    return rc;
}

/* Events of a type have arrived: its resource has changed. */
static void on_events(void *ctx, cw_str uri)
{
    cw_app *b = ctx;
    cw_change_sink *sink = cw_app_changes(b);
    sink->tell(sink, &(cw_change){.uri = uri, .from = CW_STR("events")});
}

static cw_code open_events(cw_app *b, const cw_config *config, cw_err *err)
{
    const cw_event_hub_opts opts = {.main = b->loop,
                                    .n_loops = b->n_loops,
                                    .validation_steps = config->limits.validation_steps,
                                    .updated = on_events,
                                    .ctx = b};
    return cw_event_hub_new(&opts, &b->events, err);
}

static cw_code open_runtime(cw_app *b, const cw_app_opts *app, const cw_config *config, cw_err *err)
{
    cw_code rc = cw_app_new_operator(geteuid(), &b->operator_self, err);
    if (!rc)
        rc = cw_app_new_operator(0, &b->operator_root, err);
    if (!rc && b->is_demo && app->console_host.n)
        rc = cw_app_new_guest(config, &b->guest, err);
    if (!rc)
        rc = cw_tasks_new(&b->tasks, err);
    if (!rc)
        rc = open_events(b, config, err);
    if (rc)
        return rc;
    const cw_runtime_opts opts = {.n_loops = b->n_loops,
                                  .accounts = b->accounts,
                                  .audit = b->audit,
                                  .tracer = b->tracer,
                                  .operator_self = b->operator_self,
                                  .operator_root = b->operator_root,
                                  .console_host = app->console_host,
                                  .guest = b->guest,
                                  .tasks = b->tasks,
                                  .replicas = b->replicas,
                                  .seal = &b->seals.server};
    rc = cw_runtime_new(&opts, &b->runtime, err);
    if (!rc && b->replicas)
        rc = cw_app_share_changes(b, err);
    if (!rc && b->replicas && cw_db_is_server(cw_config_store(config).p))
        rc = cw_shared_rates_new(b->loop, &b->rates_timer, cw_accounts_store(b->accounts),
                                 cw_runtime_limiter(b->runtime), &b->rates, err);
    return rc;
}

static void on_task_timer(uv_timer_t *timer)
{
    cw_app *b = CW_CONTAINER(timer, cw_app, task_timer);
    cw_tasks_tick(b->tasks, cw_replicas_number(b->replicas), cw_replicas_has_others(b->replicas));
    if (!b->is_shown && b->settings.config)
        cw_replica_row_show(b->replicas, &b->admin, b->settings.config, b->snapshot);
    b->is_shown = true;
    cw_replicas_tick(b->replicas);
    cw_shared_changes_tick(b->changes, b->sources);
    cw_shared_rates_tick(b->rates);
}

/* Before the first other job of the store: the tasks are known when the server starts. */
static void keep_tasks(cw_app *b, const cw_config *config)
{
    cw_tasks_set_store(b->tasks, cw_accounts_store(b->accounts), &config->mcp.tasks);
    uv_timer_start(&b->task_timer, on_task_timer, CW_TASKS_TICK_MS, CW_TASKS_TICK_MS);
}

static cw_code make_admin(const cw_config *config, cw_source **ret, void *ctx, cw_err *err)
{
    cw_app *b = ctx;
    bool has_methods = config->admin.enabled && !b->is_owner;
    return has_methods ? cw_admin_source_new(&b->admin, config, ret, err) : CW_OK;
}

static cw_code open_sources(cw_app *b, const cw_app_opts *opts, cw_err *err)
{
    cw_sources_opts sources = {
        .loop = b->loop,
        .n_loops = b->n_loops,
        .spawner = b->spawner,
        .host = b->host,
        .publish = on_snapshot,
        .settled = on_settled,
        .loading = on_loading,
        .change = cw_app_changes(b),
        .interest = cw_runtime_interest(b->runtime),
        .events = b->events,
        .accounts = b->accounts,
        .health = &b->health,
        .permissions = list_permissions,
        .builtin = make_admin,
        .ctx = b,
        .given = opts->services,
        .only = opts->plugin,
        .is_quiet = b->is_quiet,
    };
    cw_code rc = cw_sources_new(&sources, &b->sources, err);
    b->admin.runtime = b->runtime;
    b->admin.accounts = b->accounts;
    b->admin.sources = b->sources;
    b->admin.approvals = b->approvals;
    b->admin.tasks = b->tasks;
    b->admin.seals = &b->seals;
    b->admin.audit = b->audit;
    b->admin.spawner = b->spawner;
    b->admin.health = &b->health;
    b->admin.config_path = opts->config_path;
    return rc;
}

cw_code cw_app_open(cw_app *b, const cw_app_opts *opts, const cw_config *config, cw_err *err)
{
    uv_loop_t *uv = &opts->loop->uv;
    *b = (cw_app){.loop = opts->loop,
                  .n_loops = opts->n_loops,
                  .account = opts->account,
                  .token = opts->token,
                  .is_owner = opts->plugin != NULL,
                  .is_demo = opts->is_demo,
                  .is_quiet = opts->is_quiet || opts->is_read_only,
                  .is_read_only = opts->is_read_only};
    cw_app_init_anonymous(b);
    pthread_mutex_init(&b->lock, NULL);
    cw_admin_server_init(&b->admin, b->loop);
    b->admin.has_no_logins = b->is_demo;
    b->admin.has_console = opts->console_host.n > 0;
    cw_code rc = cw_seal_keys_init(&b->seals, err);
    if (!rc)
        rc = cw_plugin_host_find(config, config->plugins.directory.n > 0, &b->host, err);
    if (rc)
        return rc;
    uv_timer_init(uv, &b->timer);
    uv_timer_init(uv, &b->again);
    uv_timer_init(uv, &b->loading);
    uv_timer_init(uv, &b->token_timer);
    uv_timer_init(uv, &b->task_timer);
    uv_timer_init(uv, &b->rates_timer);
    b->timer.data = b->again.data = b->loading.data = b;
    b->is_open = true;
    rc = cw_spawner_new(&b->spawner, err);
    if (!rc)
        rc = cw_tracer_new(b->loop, b->n_loops, &b->tracer, err);
    if (!rc)
        rc = cw_audit_new(on_audit_status, NULL, &b->audit, err);
    if (!rc)
        rc = cw_approvals_new(b->loop, cw_app_on_approvals, b, &b->approvals, err);
    if (!rc)
        rc = open_accounts(b, config, opts->keeps_state, err);
    if (!rc)
        rc = open_runtime(b, opts, config, err);
    if (!rc && b->has_store && opts->keeps_state)
        keep_tasks(b, config);
    if (!rc)
        rc = make_door(b, opts, config, err);
    if (!rc)
        rc = open_sources(b, opts, err);
    if (!rc && b->token.p)
        cw_app_start_token_timer(b);
    return rc;
}

static void on_late(uv_timer_t *timer)
{
    cw_app *b = timer->data;
    b->is_late = true;
}

void cw_app_wait(cw_app *b, uint64_t ms, const bool *stop)
{
    uv_update_time(&b->loop->uv);
    uv_timer_start(&b->timer, on_late, ms, 0);
    b->is_waiting = true;
    while ((!b->is_settled || ((b->has_store || b->token.p) && !b->is_read)) && !b->is_late &&
           !*stop)
        uv_run(&b->loop->uv, UV_RUN_ONCE);
    b->is_waiting = false;
    uv_timer_stop(&b->timer);
    if (b->is_late)
        cw_log(CW_LOG_WARN, "serve", "starting before all sources have responded");
}

cw_code cw_app_check_account(cw_app *b, cw_err *err)
{
    if (!b->account || !cw_caller_is_anonymous(b->anonymous))
        return CW_OK;
    pthread_mutex_lock(&b->lock);
    const cw_err problem = b->store_error;
    pthread_mutex_unlock(&b->lock);
    if (problem.code)
        return cw_fail(err, problem.code, "%s", problem.msg);
    return cw_fail(err, CW_NOTFOUND, "there is no account '%s', or it is blocked", b->account);
}

void cw_app_attach(cw_app *b, cw_server *server)
{
    cw_loop *loops[CW_SERVER_MAX_LOOPS];
    for (unsigned i = 0; i < b->n_loops; i++)
        loops[i] = cw_server_loop_at(server, i);
    cw_runtime_attach(b->runtime, loops);
    if (b->replicas)
        cw_replicas_start(b->replicas);
}

static void on_spans_sent(void *ctx)
{
    cw_app *b = ctx;
    cw_sources_end_sessions(b->sources, END_SESSIONS_MS, b->on_flushed, b->flushed_ctx);
}

void cw_app_flush(cw_app *b, void (*fn)(void *ctx), void *ctx)
{
    b->on_flushed = fn;
    b->flushed_ctx = ctx;
    cw_tracer_flush(b->tracer, FLUSH_MS, on_spans_sent, b);
}

void cw_app_close(cw_app *b)
{
    if (!b->is_open)
        return;
    b->is_open = false;
    /* Owners of messages are freed here, before the loop ends. */
    cw_loop_drop_messages(b->loop);
    cw_event_hub_close(b->events);
    cw_sources_free(b->sources);
    b->sources = NULL;
    cw_admin_server_close(&b->admin);
    cw_issuers_close(b->issuers);
    cw_cimd_cache_close(b->documents);
    close_tracer(b);
    uv_close((uv_handle_t *)&b->timer, NULL);
    uv_close((uv_handle_t *)&b->again, NULL);
    uv_close((uv_handle_t *)&b->loading, NULL);
    uv_close((uv_handle_t *)&b->token_timer, NULL);
    uv_close((uv_handle_t *)&b->task_timer, NULL);
    uv_close((uv_handle_t *)&b->rates_timer, NULL);
    cw_shared_rates_close(b->rates);
    cw_login_cancel(&b->token_login);
}

void cw_app_done(cw_app *b)
{
    cw_app_close(b);
    cw_runtime_free(b->runtime);
    cw_tracer_free(b->tracer);
    close_audit(b);
    if (b->tasks)
        cw_tasks_flush(b->tasks, FLUSH_TASKS_MS);
    if (b->replicas)
        cw_replicas_leave(b->replicas, LEAVE_MS);
    cw_accounts_free(b->accounts); /* its threads end here: nothing comes from them any more */
    cw_issuers_free(b->issuers);
    cw_cimd_cache_free(b->documents);
    cw_tasks_free(b->tasks);
    cw_replicas_free(b->replicas);
    cw_shared_changes_free(b->changes);
    b->changes = NULL;
    cw_approvals_free(b->approvals);
    b->approvals = NULL;
    cw_shared_rates_free(b->rates);
    b->rates = NULL;
    cw_mcp_free(b->mcp); /* last: on standard input the main loop has its deadlines in a list */
    cw_seal_keys_done(&b->seals);
    cw_snapshot_unref(b->snapshot);
    cw_event_hub_free(b->events);
    b->events = NULL;
    cw_caller_unref(b->anonymous);
    cw_caller_unref(b->configured);
    cw_caller_unref(b->read);
    cw_caller_unref(b->operator_self);
    cw_caller_unref(b->operator_root);
    cw_caller_unref(b->guest);
    cw_translations_unref(b->translations);
    cw_config_unref(b->settings.config);
    pthread_mutex_destroy(&b->lock);
    pthread_cond_destroy(&b->has_no_readings);
    cw_spawner_free(b->spawner);
    cw_arena_done(&b->permissions.arena);
    free(b->host);
    /* The timers stay as they are: the main loop may still have to close them. */
    b->runtime = NULL;
    b->tracer = NULL;
    b->mcp = NULL;
    b->replicas = NULL;
    b->snapshot = NULL;
    b->accounts = NULL;
    b->issuers = NULL;
    b->documents = NULL;
    b->anonymous = b->configured = b->read = NULL;
    b->operator_self = b->operator_root = b->guest = NULL;
    b->spawner = NULL;
    b->host = NULL;
}
