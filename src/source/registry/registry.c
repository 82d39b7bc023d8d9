/* SPDX-License-Identifier: GPL-2.0-or-later */
/* registry.c - the list of all sources, the plugin folder, the configuration, and the snapshots.
 *
 * An event of the plugin folder shows only that something changed. The whole folder is read a
 * little later, so that a file that is being written is mostly read when it is complete. If it was
 * not, the load fails, the older version stays, and the next write causes another scan.
 */
#include "source/registry/registry.h"

#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "catalogue/method_errors.h"
#include "config/overlay.h"
#include "source/registry/registry_int.h"

#define CALM_MS 200u /* without events, before a scan */
#define CALM_MAX_MS 400u
#define POLL_MS 2000u
#define PATH_MAX_BYTES 4096u
#define SUFFIX CW_STR(".so")

static bool is_same_file(const cw_file_id *a, const cw_file_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
           a->mtime.tv_sec == b->mtime.tv_sec && a->mtime.tv_nsec == b->mtime.tv_nsec;
}

static cw_registry_item *add_item(cw_sources *s, cw_str name, const char *path);
static void drop_item(cw_sources *s, cw_registry_item *item);

static const char *folder_of(const cw_sources *s)
{
    return s->config->plugins.directory.p;
}

/* ---- the files of the folder ---- */

/* The plugin of a file name; empty: none. A name that begins with a dot is a temporary file. */
static cw_str plugin_name(const char *file)
{
    cw_str name = cw_str_from(file);
    if (!cw_str_ends(name, SUFFIX) || file[0] == '.')
        return CW_STR("");
    return cw_str_make(file, name.n - SUFFIX.n);
}

static cw_registry_item *find_plugin(cw_sources *s, const char *path)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->path && strcmp(item->path, path) == 0)
            return item;
    }
    return NULL;
}

static cw_code scan_file(cw_sources *s, const char *file, cw_err *err)
{
    cw_str name = plugin_name(file);
    if (name.n == 0 || (s->opts.only && strcmp(file, s->opts.only) != 0))
        return CW_OK;
    char path[PATH_MAX_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", folder_of(s), file);
    if (n < 0 || (size_t)n >= sizeof path)
        return CW_OK; /* no system call accepts such a path */
    cw_file_id file_id;
    if (!cw_file_id_read(path, &file_id))
        return CW_OK;
    cw_registry_item *item = find_plugin(s, path);
    if (!item)
        item = add_item(s, name, path);
    if (!item)
        return cw_fail_nomem(err);
    item->is_seen = true;
    if (item->is_gone) {
        item->is_gone = false;
        item->file_id = (cw_file_id){0};
    }
    if (!is_same_file(&file_id, &item->file_id))
        cw_sources_load(item);
    return CW_OK;
}

/* Mark and load the plugins of the folder. CW_DECLINED: no folder; after another failure its
 * contents are unknown. */
static cw_code read_folder(cw_sources *s, cw_err *err)
{
    if (s->config->plugins.directory.n == 0)
        return CW_DECLINED;
    DIR *dir = opendir(folder_of(s));
    if (!dir && (errno == ENOENT || errno == ENOTDIR)) {
        cw_fail_errno(err, errno, "'%s'", folder_of(s));
        return CW_DECLINED;
    }
    if (!dir)
        return cw_fail_errno(err, errno, "'%s'", folder_of(s));
    cw_code rc = CW_OK;
    errno = 0;
    for (const struct dirent *e = readdir(dir); e && !rc; e = readdir(dir)) {
        rc = scan_file(s, e->d_name, err);
        errno = 0;
    }
    if (!rc && errno)
        rc = cw_fail_errno(err, errno, "'%s'", folder_of(s));
    closedir(dir);
    return rc;
}

/* True: the whole folder was read. */
static bool scan(cw_sources *s, cw_err *err)
{
    for (cw_registry_item *item = s->items; item; item = item->next)
        item->is_seen = false;
    cw_code rc = read_folder(s, err);
    if (rc && rc != CW_DECLINED)
        return false;
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->path && !item->is_seen && !item->is_gone)
            drop_item(s, item);
    }
    return rc == CW_OK;
}

/* ---- watching ---- */

static void on_retire_poll(uv_timer_t *timer);

static void on_event(uv_fs_event_t *event, const char *file, int events, int status)
{
    (void)file, (void)events, (void)status;
    cw_sources *s = event->data;
    uint64_t now = cw_loop_now(s->opts.loop);
    if (!s->folder.changed_at)
        s->folder.changed_at = now;
    uint64_t latest = s->folder.changed_at + CALM_MAX_MS;
    uint64_t pause = latest <= now ? 0 : (latest - now < CALM_MS ? latest - now : CALM_MS);
    uv_timer_start(&s->folder.timer, on_retire_poll, pause, 0);
}

/* The folder that is watched may have been moved away and another put in its place. */
static bool still_watched(const cw_sources *s)
{
    struct stat st;
    return s->folder.is_watched && stat(folder_of(s), &st) == 0 &&
           st.st_dev == s->folder.watched.dev && st.st_ino == s->folder.watched.ino;
}

static bool watch(cw_sources *s, cw_err *err)
{
    cw_dir_watch *f = &s->folder;
    if (still_watched(s))
        return true;
    uv_fs_event_stop(&f->event);
    f->is_watched = false;
    struct stat st;
    if (stat(folder_of(s), &st) != 0) {
        cw_fail_errno(err, errno, "'%s'", folder_of(s));
        return false;
    }
    int rc = uv_fs_event_start(&f->event, on_event, folder_of(s), 0);
    if (rc) {
        cw_fail(err, CW_IO, "'%s': %s", folder_of(s), uv_strerror(rc));
        return false;
    }
    f->watched = (cw_file_id){.dev = st.st_dev, .ino = st.st_ino};
    f->is_watched = true;
    return true;
}

/* The watch begins before the scan: a change in between is seen twice rather than never. */
static void scan_and_watch(cw_sources *s)
{
    cw_dir_watch *f = &s->folder;
    f->changed_at = 0;
    cw_err err = {0};
    bool watched = watch(s, &err);
    bool looked = scan(s, &err);
    cw_sources_look_at_skills(s);
    if (watched && looked) {
        if (f->is_reported)
            cw_log(CW_LOG_INFO, "sources", "the plugin directory is watched");
        f->is_reported = false;
        return;
    }
    if (!f->is_reported)
        cw_log_err(CW_LOG_WARN, "sources",
                   watched ? "the plugin directory cannot be read; looking every 2 s"
                           : "the plugin directory cannot be watched; looking every 2 s",
                   &err);
    f->is_reported = true;
    uv_timer_start(&f->timer, on_retire_poll, POLL_MS, 0);
}

static void on_retire_poll(uv_timer_t *timer)
{
    cw_sources *s = timer->data;
    scan_and_watch(s);
    cw_sources_check_settled(s);
}

static void open_dir_watch(cw_sources *s)
{
    cw_err err = {0};
    if (s->config->plugins.directory.n == 0)
        scan(s, &err); /* drops the plugins of another configuration */
    else
        scan_and_watch(s);
}

static void close_dir_watch(cw_sources *s)
{
    uv_fs_event_stop(&s->folder.event);
    uv_timer_stop(&s->folder.timer);
    s->folder.is_watched = false;
    s->folder.is_reported = false;
    s->folder.changed_at = 0;
}

/* Several loads that end shortly after each other give one snapshot. A large one takes long to
 * build, so while sources are still being loaded, most of the time is left to the loads. */
#define COALESCE_MS 100u
#define COALESCE_BUILDS 4u
/* By then the loops have released the former catalogue. The memory of many methods lies between
 * other allocations and does not return to the system by itself. */
#define TRIM_MS 1000u
#define TOOLSETS_MAX_BYTES (256u * 1024u)
#define MISTAKES_MAX (256u * 1024u)
#define TRIM_METHODS 1000u
#define NOMEM_PAUSE_MS 1000u

/* ---- items ---- */

static void free_item(cw_registry_item *item)
{
    cw_sources_cancel_load(item);
    while (cw_list_take_first(&item->waiters))
        ;
    cw_source_unref(item->source);
    cw_source_unref(item->published);
    cw_skills_unref(item->skills);
    cw_last_good_free(item->last_good);
    /* When the registry closes, the loops have ended. Otherwise calls may still be under way. */
    if (item->all->is_closing)
        cw_shared_conn_close(item->shared, /* loops_ended= */ true);
    else
        cw_shared_conn_retire(item->shared);
    free(item->name);
    free(item->path);
    free(item->problem);
    free(item->left_out);
    free(item->approved_by);
    free(item);
}

/* Plugins by name and before the services, which keep their order. */
static bool comes_before(const cw_registry_item *a, const cw_registry_item *b)
{
    if (!a->path || !b->path)
        return a->path || !b->path;
    return strcmp(a->name, b->name) < 0;
}

static cw_registry_item *add_item(cw_sources *s, cw_str name, const char *path)
{
    cw_registry_item *item = calloc(1, sizeof *item);
    if (!item)
        return NULL;
    item->all = s;
    cw_list_init(&item->waiters);
    item->name = cw_str_dup(name);
    item->path = path ? strdup(path) : NULL;
    if (!item->name || (path && !item->path)) {
        free_item(item);
        return NULL;
    }
    cw_registry_item **at = &s->items;
    while (*at && comes_before(*at, item))
        at = &(*at)->next;
    item->next = *at;
    *at = item;
    return item;
}

static void drop_item(cw_sources *s, cw_registry_item *item)
{
    cw_sources_cancel_load(item);
    cw_source_unref(item->source);
    item->source = NULL;
    item->is_gone = true;
    cw_sources_changed(s, /* is_change= */ true);
}

static void free_gone(cw_sources *s)
{
    for (cw_registry_item **at = &s->items; *at;) {
        cw_registry_item *item = *at;
        if (!item->is_gone || item->published) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        free_item(item);
    }
}

static size_t count_items(const cw_sources *s)
{
    size_t n = 0;
    for (const cw_registry_item *item = s->items; item; item = item->next)
        n++;
    return n;
}

/* ---- publishing ---- */

static void ref_source(cw_source *source)
{
    cw_source_ref(source);
}

/* Room for one publish: as many of each as there are items. */
typedef struct draft {
    cw_offer *offers;
    cw_registry_item **items; /* of the offers */
    bool *defers;             /* likewise: services do, plugins are taken whole or not at all */
    cw_skills **skills;       /* likewise; borrowed */
    size_t n;
    cw_source **retired;
    size_t n_retired;
    cw_snapshot *snapshot;
} draft;

static void draft_done(draft *d)
{
    cw_snapshot_unref(d->snapshot);
    free(d->offers);
    free(d->items);
    free(d->defers);
    free(d->skills);
    free(d->retired);
}

cw_schema_policy cw_sources_policy(const cw_config *config)
{
    return (cw_schema_policy){.draft = config->schema.default_draft,
                              .annotate_formats = !config->schema.assert_formats};
}

cw_lint_opts cw_sources_lint_opts(const cw_config *config)
{
    return (cw_lint_opts){.policy = cw_sources_policy(config),
                          .scopes = config->access.scopes.items,
                          .n_scopes = config->access.scopes.n};
}

/* Some MCP client gets portable schemas. */
static bool has_portable_schemas(const cw_config *config)
{
    bool has = config->mcp.schemas == CW_CONFIG_FORM_PORTABLE;
    for (size_t i = 0; i < config->mcp.clients.n; i++)
        has |= config->mcp.clients.items[i].schemas == CW_CONFIG_FORM_PORTABLE;
    return has;
}

static void offer(draft *d, cw_registry_item *item, bool defers)
{
    d->items[d->n] = item;
    d->defers[d->n] = defers;
    d->skills[d->n] = item->skills;
    d->offers[d->n++] = (cw_offer){item->source->name, item->source->methods,
                                   item->source->n_methods, item->source};
}

/* ---- toolsets ---- */

static cw_toolset_names names_of(cw_config_strings strings)
{
    return (cw_toolset_names){strings.items, strings.n};
}

/* The rules of the toolsets, in the arena. They borrow from the configuration. NULL: no memory. */
static const cw_toolset_rule *toolset_rules(const cw_config *config, cw_arena *arena)
{
    size_t n = config->toolsets.n;
    cw_toolset_rule *rules = cw_arena_calloc(arena, n ? n : 1, sizeof *rules);
    for (size_t i = 0; rules && i < n; i++) {
        const cw_config_toolset *t = &config->toolsets.items[i];
        rules[i] =
            (cw_toolset_rule){.name = t->name,
                              .title = t->title,
                              .instructions = t->instructions,
                              .sources = names_of(t->sources),
                              .tools = names_of(t->tools),
                              .exclude = names_of(t->exclude),
                              .tags = names_of(t->tags),
                              .read_only = t->read_only,
                              .omits_output_schemas = t->output_schemas == CW_CONFIG_DETAIL_LEAN,
                              .has_short_descriptions = t->descriptions == CW_CONFIG_DETAIL_LEAN,
                              .has_signatures = t->input_schemas == CW_CONFIG_DETAIL_LEAN,
                              .is_search = t->is_search};
    }
    return rules;
}

static bool same_strings(cw_config_strings a, cw_config_strings b)
{
    bool is_same = a.n == b.n;
    for (size_t i = 0; is_same && i < a.n; i++)
        is_same = cw_str_eq(a.items[i], b.items[i]);
    return is_same;
}

static bool same_toolset(const cw_config_toolset *a, const cw_config_toolset *b)
{
    return cw_str_eq(a->name, b->name) && cw_str_eq(a->title, b->title) &&
           cw_str_eq(a->instructions, b->instructions) && same_strings(a->sources, b->sources) &&
           same_strings(a->tools, b->tools) && same_strings(a->tags, b->tags) &&
           same_strings(a->exclude, b->exclude) && a->read_only == b->read_only &&
           a->output_schemas == b->output_schemas && a->descriptions == b->descriptions &&
           a->input_schemas == b->input_schemas && a->is_search == b->is_search;
}

static bool same_toolsets(const cw_config_toolsets *a, const cw_config_toolsets *b)
{
    bool is_same = a->n == b->n;
    for (size_t i = 0; is_same && i < a->n; i++)
        is_same = same_toolset(&a->items[i], &b->items[i]);
    return is_same;
}

static cw_code build(cw_sources *s, draft *d, cw_err *err)
{
    static const cw_offer_ops ops = {.ref = ref_source, .unref = cw_source_unref};
    cw_snapshot_unref(d->snapshot);
    d->snapshot = NULL;
    d->n = 0;
    /* The built-in source comes first, so that no other source can take its names. */
    if (s->builtin.source)
        offer(d, &s->builtin, /* defers= */ false);
    for (cw_registry_item *item = s->items; item; item = item->next) {
        item->is_left_out = false;
        if (item->source)
            offer(d, item, !item->path);
    }
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_arena_init(&arena, TOOLSETS_MAX_BYTES);
    cw_snapshot_opts opts = {.policy = cw_sources_policy(s->config),
                             .previous = s->last,
                             .defers = d->defers,
                             .skills = d->skills,
                             .has_portable_schemas = has_portable_schemas(s->config),
                             .toolsets = toolset_rules(s->config, &arena),
                             .n_toolsets = s->config->toolsets.n};
    if (!opts.toolsets)
        return cw_fail_nomem(err);
    return cw_snapshot_build(d->offers, d->n, &ops, &opts, &d->snapshot, err);
}

static void log_left_out(const cw_registry_item *item, bool older, cw_str problem)
{
    cw_log(CW_LOG_ERROR, "sources", older ? "left out, the older version stays" : "left out",
           CW_KV("source", item->source->name), CW_KV("problem", problem));
}

/* Log all mistakes of a plugin together, for its author. The first one is logged already. */
static void log_other_mistakes(const cw_sources *s, const cw_registry_item *item, bool older,
                               cw_str first)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_schema_policy policy = cw_sources_policy(s->config);
    cw_buf_init(&lines, MISTAKES_MAX);
    if (!item->path || cw_method_errors_list(item->source->methods, item->source->n_methods,
                                             &policy, CW_METHOD_ERRORS_ALL, &lines) != CW_OK)
        return;
    for (cw_str rest = cw_buf_str(&lines); rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n && !cw_str_eq(line, first))
            log_left_out(item, older, line);
    }
}

/* A version that cannot be published is not better than one that cannot be loaded: the older one
 * stays, unless the operator has changed its rules. Returns whether something was put back, so that a new snapshot must be built. */
static bool put_back(const cw_sources *s, const draft *d)
{
    bool any = false;
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(d->snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        cw_registry_item *item = d->items[problems[i].offer];
        if (problems[i].is_partial)
            continue;
        bool older = item->published && item->published != item->source && !item->must_replace &&
                     !item->has_old_rules;
        log_left_out(item, older, problems[i].text);
        log_other_mistakes(s, item, older, problems[i].text);
        item->is_left_out = !older;
        if (!older)
            continue;
        cw_source_unref(item->source);
        item->source = cw_source_ref(item->published);
        any = true;
    }
    return any;
}

static cw_code make_draft(cw_sources *s, draft *d, cw_err *err)
{
    size_t n = count_items(s) + 1; /* and the built-in one */
    d->offers = calloc(n, sizeof *d->offers);
    d->items = calloc(n, sizeof *d->items);
    d->defers = calloc(n, sizeof *d->defers);
    d->skills = calloc(n, sizeof(cw_skills *));
    d->retired = calloc(n, sizeof *d->retired);
    if (!d->offers || !d->items || !d->defers || !d->skills || !d->retired)
        return cw_fail_nomem(err);
    do {
        cw_code rc = build(s, d, err);
        if (rc)
            return rc;
    } while (put_back(s, d));
    return CW_OK;
}

static void log_partial(const draft *d)
{
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(d->snapshot, &n);
    for (size_t i = 0; i < n; i++) {
        if (problems[i].is_partial)
            cw_log(CW_LOG_WARN, "sources", "methods are left out",
                   CW_KV("source", d->items[problems[i].offer]->source->name),
                   CW_KV("problem", problems[i].text));
    }
}

static void log_publish(cw_sources *s, const draft *d)
{
    size_t n_methods, n_tools;
    /* A service was discovered again and offers the same. */
    if (!s->is_change && s->last && cw_snapshot_same(s->last, d->snapshot))
        return;
    s->is_change = false;
    log_partial(d);
    cw_sources_count(s, d->snapshot, &n_tools, &n_methods);
    /* A server that never had a source logs nothing. The built-in one is not counted. */
    size_t n_sources = d->n - (s->builtin.source ? 1 : 0);
    if (n_sources == 0 && !s->was_logged)
        return;
    s->was_logged = true;
    cw_log(CW_LOG_INFO, "sources", "catalogue published", CW_KN("tools", n_tools),
           CW_KN("methods", n_methods), CW_KN("sources", n_sources));
}

static void commit_item(cw_registry_item *item, draft *d)
{
    bool is_coming = item->plugin_job || item->remote_job || item->is_waiting;
    item->must_replace = item->must_replace && is_coming;
    item->has_old_rules = false;
    if (item->published == item->source)
        return;
    if (item->published) {
        cw_source_retire(item->published);
        d->retired[d->n_retired++] = item->published; /* with its reference */
    }
    item->published = item->source ? cw_source_ref(item->source) : NULL;
}

static void commit(cw_sources *s, draft *d)
{
    commit_item(&s->builtin, d);
    for (cw_registry_item *item = s->items; item; item = item->next)
        commit_item(item, d);
    s->is_dirty = false;
    log_publish(s, d);
    cw_snapshot *snapshot = d->snapshot;
    d->snapshot = NULL;
    cw_snapshot_unref(s->last);
    s->last = cw_snapshot_ref(snapshot);
    cw_sources_note_left_out(s, d->items);
    s->opts.publish(snapshot, d->retired, d->n_retired, s->opts.ctx);
    for (size_t i = 0; i < d->n_retired; i++)
        cw_source_unref(d->retired[i]);
    cw_sources_call_waiters(s);
    free_gone(s);
    cw_sources_check_health(s);
    cw_sources_follow(s);
}

static void on_publish(uv_timer_t *timer);

static void on_trim(uv_timer_t *timer)
{
    (void)timer;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

static void trim_later(cw_sources *s)
{
    size_t n;
    (void)cw_snapshot_entries(s->last, &n);
    if (n >= TRIM_METHODS || uv_is_active((uv_handle_t *)&s->trim))
        uv_timer_start(&s->trim, on_trim, TRIM_MS, 0);
}

static void publish_now(cw_sources *s)
{
    uv_timer_stop(&s->publish);
    draft d = {0};
    cw_err err = {0};
    uint64_t began = cw_clock_ns();
    cw_code rc = make_draft(s, &d, &err);
    s->build_ms = (cw_clock_ns() - began) / 1000000;
    if (!rc) {
        commit(s, &d);
    } else {
        cw_log_err(CW_LOG_ERROR, "sources", "cannot publish catalogue, keeping the previous one",
                   &err);
        uv_timer_start(&s->publish, on_publish, NOMEM_PAUSE_MS, 0);
    }
    draft_done(&d);
    if (s->last)
        trim_later(s);
}

static void on_publish(uv_timer_t *timer)
{
    publish_now(timer->data);
}

static bool is_loading(const cw_sources *s)
{
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        if (item->plugin_job || item->remote_job || item->is_waiting)
            return true;
    }
    return false;
}

/* Publish at the end of this turn if nothing else is being loaded, else after a short while. */
void cw_sources_changed(cw_sources *s, bool is_change)
{
    s->is_dirty = true;
    s->is_change = s->is_change || is_change;
    if (s->is_closing)
        return;
    uint64_t wait =
        s->build_ms * COALESCE_BUILDS > COALESCE_MS ? s->build_ms * COALESCE_BUILDS : COALESCE_MS;
    uint64_t pause = is_loading(s) ? wait : 0;
    if (pause == 0 || !uv_is_active((uv_handle_t *)&s->publish))
        uv_timer_start(&s->publish, on_publish, pause, 0);
}

static bool has_untried(const cw_sources *s, bool plugins_only)
{
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        if (!item->tried && !item->is_gone && (item->path || !plugins_only))
            return true;
    }
    return false;
}

bool cw_sources_is_loading_plugins(const cw_sources *s)
{
    return has_untried(s, /* plugins_only= */ true);
}

static void set_loading(cw_sources *s, bool is_loading)
{
    if (s->is_loading == is_loading)
        return;
    s->is_loading = is_loading;
    if (s->opts.loading)
        s->opts.loading(is_loading, s->opts.ctx);
}

void cw_sources_check_settled(cw_sources *s)
{
    if (s->is_closing)
        return;
    bool is_loading = has_untried(s, /* plugins_only= */ false);
    bool is_end = !is_loading && (s->is_loading || !s->is_settled);
    /* The catalogue comes first: the callback relies on it. */
    if (is_end && s->is_dirty)
        publish_now(s);
    set_loading(s, is_loading);
    if (is_loading || s->is_settled)
        return;
    s->is_settled = true;
    s->opts.settled(s->opts.ctx);
}

/* ---- configuration ---- */

static cw_plugin_opts plugin_opts(const cw_sources *s, const cw_config *c)
{
    return (cw_plugin_opts){
        .host = s->opts.host,
        .data = c->plugins.data,
        .spawner = s->opts.spawner,
        .n_loops = s->opts.n_loops,
        .workers = c->plugins.workers,
        .queue = c->plugins.queue,
        .call_ms = c->plugins.timeout_ms,
        .grace_ms = c->plugins.grace_ms,
        .load_ms = c->plugins.load_ms,
        .idle_ms = c->plugins.idle_ms,
        .memory = c->plugins.max_memory,
        .files = c->plugins.max_open_files,
        .frame_size = c->limits.max_result_size,
        .change = s->opts.change,
        .policy = cw_sources_policy(c),
        .events = s->opts.events,
        .config = s->config,
        .accounts = s->opts.accounts,
    };
}

static bool same_plugin_opts(const cw_plugin_opts *a, const cw_plugin_opts *b)
{
    return a->workers == b->workers && a->queue == b->queue && a->call_ms == b->call_ms &&
           a->grace_ms == b->grace_ms && a->load_ms == b->load_ms && a->idle_ms == b->idle_ms &&
           a->memory == b->memory && a->files == b->files && a->frame_size == b->frame_size &&
           cw_str_eq(a->data, b->data) &&
           cw_config_events_equal(&a->config->plugins.events, &b->config->plugins.events);
}

static cw_registry_item *find_remote(cw_sources *s, cw_str name)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (!item->path && !item->is_gone && cw_str_is(name, item->name))
            return item;
    }
    return NULL;
}

/* The steps that can fail, before anything is changed. */
static cw_code add_remotes(cw_sources *s, const cw_config *config, cw_err *err)
{
    cw_code rc = CW_OK;
    for (size_t i = 0; i < config->sources.n && !rc; i++) {
        cw_str name = config->sources.items[i].name;
        cw_registry_item *item = find_remote(s, name);
        if (item)
            continue;
        item = add_item(s, name, NULL);
        if (item)
            item->is_new = true;
        else
            rc = cw_fail_nomem(err);
    }
    for (cw_registry_item *item = s->items; item && rc; item = item->next)
        item->is_gone = item->is_gone || item->is_new;
    free_gone(s);
    return rc;
}

/* The methods of an unchanged entry may have changed: the service is discovered again, unless an
 * unchanged document describes it. */
static void update_remote(cw_registry_item *item, const cw_config_remote *fresh)
{
    bool same = item->remote && cw_config_remote_equal(item->remote, fresh);
    cw_file_id file_id = {0};
    bool has_secret = fresh->secret.file.n || fresh->oauth.client_secret_file.n ||
                      fresh->header_files.n || fresh->environment_files.n;
    bool has_others =
        has_secret || fresh->overlay.n || cw_config_needs_approvals(item->all->config);
    for (size_t i = 0; i < fresh->methods.n; i++)
        has_others = has_others || fresh->methods.items[i].ui_file.n;
    bool same_document = fresh->openrpc.n && !has_others &&
                         cw_file_id_read(fresh->openrpc.p, &file_id) &&
                         is_same_file(&file_id, &item->file_id);
    item->is_new = false;
    item->is_seen = true;
    item->remote = fresh;
    if (!same && item->source)
        item->must_replace = true;
    if (!same)
        cw_sources_cancel_load(item); /* of the former configuration */
    if (same && same_document && item->source) {
        cw_remote_set_credentials(item->source, CW_REMOTE_CREDENTIALS_NEW);
        return;
    }
    cw_sources_reload(item);
}

static void update_remotes(cw_sources *s)
{
    const cw_config_remotes *all = &s->config->sources;
    for (cw_registry_item *item = s->items; item; item = item->next)
        item->is_seen = false;
    for (size_t i = 0; i < all->n; i++) {
        cw_registry_item *item = find_remote(s, all->items[i].name);
        if (item)
            update_remote(item, &all->items[i]);
    }
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (!item->path && !item->is_seen && !item->is_gone)
            drop_item(s, item);
    }
    if (cw_sources_order(s))
        cw_sources_changed(s, /* is_change= */ true);
}

static void update_plugins(cw_sources *s, const cw_config *old)
{
    cw_plugin_opts fresh = plugin_opts(s, s->config);
    bool same = old && same_plugin_opts(&s->plugin_opts, &fresh);
    s->plugin_opts = fresh;
    for (cw_registry_item *item = s->items; item && !same; item = item->next) {
        if (item->path)
            item->file_id = (cw_file_id){0}; /* loaded again by the scan of the folder */
    }
    close_dir_watch(s);
    open_dir_watch(s);
}

bool cw_sources_refresh(cw_sources *s, cw_str name, cw_sources_waiter *w)
{
    cw_registry_item *item = find_remote(s, name);
    if (!item)
        return false;
    if (w)
        cw_list_add(&item->waiters, &w->node);
    cw_sources_reload(item);
    /* A load that could not begin has ended already. The waiter is called later nevertheless. */
    if (w && !item->remote_job)
        cw_sources_changed(s, /* is_change= */ false);
    return true;
}

void cw_sources_rebuild(cw_sources *s)
{
    if (!s->config)
        return;
    for (cw_registry_item *item = s->items; item; item = item->next) {
        item->file_id = (cw_file_id){0}; /* of a plugin: loaded by the scan of the folder */
        item->pause_ms = 0;
        if (!item->path && !item->is_gone)
            cw_sources_reload(item);
    }
    close_dir_watch(s);
    open_dir_watch(s);
    cw_sources_check_settled(s);
}

static bool same_admin(const cw_config *a, const cw_config *b)
{
    if (a->admin.enabled != b->admin.enabled || a->admin.tools.n != b->admin.tools.n ||
        a->admin.recent_login_ms != b->admin.recent_login_ms)
        return false;
    for (size_t i = 0; i < a->admin.tools.n; i++) {
        if (!cw_str_eq(a->admin.tools.items[i], b->admin.tools.items[i]))
            return false;
    }
    return true;
}

/* The built-in source of a new configuration. *ret_is_new: it replaces the one in force. */
static cw_code make_builtin(cw_sources *s, const cw_config *config, cw_source **ret,
                            bool *ret_is_new, cw_err *err)
{
    *ret_is_new = s->opts.builtin && !(s->config && same_admin(s->config, config));
    return *ret_is_new ? s->opts.builtin(config, ret, s->opts.ctx, err) : CW_OK;
}

cw_code cw_sources_configure(cw_sources *s, cw_config *config, cw_err *err)
{
    cw_source *builtin = NULL;
    bool has_new_builtin = false;
    cw_code rc = make_builtin(s, config, &builtin, &has_new_builtin, err);
    if (!rc)
        rc = add_remotes(s, config, err);
    if (rc) {
        cw_source_unref(builtin);
        return rc;
    }
    cw_config *old = s->config;
    /* Roles and scopes may have changed, so the notes are logged again. */
    for (cw_registry_item *item = s->items; item; item = item->next)
        item->is_noted = false;
    if (has_new_builtin) {
        cw_source_unref(s->builtin.source);
        s->builtin.source = builtin;
    }
    s->config = cw_config_ref(config);
    bool is_first = !old;
    update_remotes(s);
    cw_sources_check_health(s);
    update_plugins(s, old);
    cw_sources_look_at_skills(s);
    bool same_policy = old && config->schema.default_draft == old->schema.default_draft &&
                       config->schema.assert_formats == old->schema.assert_formats &&
                       has_portable_schemas(config) == has_portable_schemas(old) &&
                       same_toolsets(&config->toolsets, &old->toolsets);
    cw_config_unref(old);
    /* A catalogue exists from the beginning, even if it is empty. */
    if (is_first || !same_policy || has_new_builtin)
        cw_sources_changed(s, /* is_change= */ true);
    cw_sources_check_settled(s);
    return CW_OK;
}

/* ---- begin and end ---- */

static void on_closed(uv_handle_t *handle)
{
    cw_sources *s = handle->data;
    if (--s->open_handles == 0)
        free(s);
}

static void on_wanted(uv_async_t *async)
{
    cw_sources_follow(async->data);
}

/* On any thread. Several calls in a row lead to one update. */
static void on_interest(void *ctx)
{
    cw_sources *s = ctx;
    uv_async_send(&s->wanted);
}

cw_code cw_sources_new(const cw_sources_opts *opts, cw_sources **ret, cw_err *err)
{
    cw_sources *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    s->opts = *opts;
    s->builtin.all = s;
    uv_loop_t *uv = &opts->loop->uv;
    if (uv_async_init(uv, &s->wanted, on_wanted)) {
        free(s);
        return cw_fail_nomem(err);
    }
    uv_unref((uv_handle_t *)&s->wanted);
    uv_timer_init(uv, &s->retry);
    uv_timer_init(uv, &s->publish);
    uv_timer_init(uv, &s->trim);
    uv_timer_init(uv, &s->health);
    uv_timer_init(uv, &s->skills);
    uv_timer_init(uv, &s->folder.timer);
    uv_fs_event_init(uv, &s->folder.event);
    uv_handle_t *handles[] = {(uv_handle_t *)&s->retry,        (uv_handle_t *)&s->publish,
                              (uv_handle_t *)&s->trim,         (uv_handle_t *)&s->health,
                              (uv_handle_t *)&s->folder.timer, (uv_handle_t *)&s->folder.event,
                              (uv_handle_t *)&s->wanted,       (uv_handle_t *)&s->skills};
    for (size_t i = 0; i < CW_COUNT(handles); i++)
        handles[i]->data = s;
    s->open_handles = CW_COUNT(handles);
    if (opts->interest)
        cw_interest_listen(opts->interest, on_interest, s);
    *ret = s;
    return CW_OK;
}

void cw_sources_free(cw_sources *s)
{
    if (!s)
        return;
    s->is_closing = true;
    cw_sources_end_drop(&s->end);
    if (s->opts.interest)
        cw_interest_listen(s->opts.interest, NULL, NULL);
    close_dir_watch(s);
    while (s->items) {
        cw_registry_item *item = s->items;
        s->items = item->next;
        free_item(item);
    }
    cw_source_unref(s->builtin.source);
    cw_source_unref(s->builtin.published);
    cw_snapshot_unref(s->last);
    cw_config_unref(s->config);
    cw_sources_free_approvals(s);
    uv_handle_t *handles[] = {(uv_handle_t *)&s->retry,        (uv_handle_t *)&s->publish,
                              (uv_handle_t *)&s->trim,         (uv_handle_t *)&s->health,
                              (uv_handle_t *)&s->folder.timer, (uv_handle_t *)&s->folder.event,
                              (uv_handle_t *)&s->wanted,       (uv_handle_t *)&s->skills};
    for (size_t i = 0; i < CW_COUNT(handles); i++)
        uv_close(handles[i], on_closed);
}
