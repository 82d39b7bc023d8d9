/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loader.c - one load at a time for each source, retries, and the state of the services: a file for
 * each of them, which `causeway source list` reads, and a count for health checks.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "catalogue/lint.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "source/registry/registry_int.h"
#include "source/remote/state_files.h"

#define CHECK_MS 1000u

static const char *state_of(const cw_registry_item *item)
{
    if (!item->source)
        return item->tried ? "down" : "loading";
    if (item->is_withheld)
        return "withheld";
    if (item->trouble)
        return "broken";
    return item->is_stale ? "stale" : "ready";
}

/* The problem of its calls is newer than that of its last load. */
static cw_str problem_of(const cw_registry_item *item)
{
    if (item->trouble)
        return cw_str_from(item->trouble);
    return cw_str_from(item->problem ? item->problem : item->left_out);
}

/* The methods that clients see of it. */
static cw_snapshot_counts counts_of(const cw_registry_item *item)
{
    const cw_source *source = item->source;
    bool has_less = source && source == item->published && item->left_out;
    if (!source)
        return (cw_snapshot_counts){0};
    return cw_snapshot_count(has_less ? item->all->last : NULL, source->methods, source->n_methods);
}

void cw_sources_count(const cw_sources *s, const cw_snapshot *snapshot, size_t *ret_tools,
                      size_t *ret_methods)
{
    size_t n;
    const cw_entry *entries = cw_snapshot_entries(snapshot, &n);
    *ret_tools = *ret_methods = 0;
    for (size_t i = 0; i < n; i++) {
        const cw_source *source = entries[i].method->source;
        if (source == s->builtin.source || source == s->builtin.published)
            continue;
        *ret_methods += 1;
        *ret_tools += entries[i].tool_name.n > 0;
    }
}

static void save(const cw_registry_item *item)
{
    const cw_sources *s = item->all;
    cw_err err = {0};
    cw_source_status status = {
        .name = cw_str_from(item->name),
        .state = cw_str_from(item->state),
        .pid = getpid(),
        .at_ms = cw_clock_wall_ms(),
        .since_ms = item->since_ms,
        .refreshed_ms = item->refreshed_ms,
        .tools = counts_of(item).tools,
        .methods = item->n_found,
        .withheld = item->n_withheld,
        .problem = problem_of(item),
    };
    if (s->opts.is_quiet)
        return;
    if (s->config->state.directory.n &&
        cw_state_save_status(s->config->state.directory, &status, &err))
        cw_log_err(CW_LOG_WARN, "sources", "the state of a source could not be written", &err);
}

static uint32_t slot_of(const cw_registry_item *item)
{
    return cw_metrics_slot(CW_METRICS_SOURCE, cw_str_from(item->name));
}

/* The series that alerts use exist from the start. */
static void add_zeros(const cw_registry_item *item)
{
    uint32_t slot = slot_of(item);
    cw_metrics_add(CW_METRIC_RUNNING, slot, 0, 0, 0);
    cw_metrics_add(CW_METRIC_SOURCE_ATTEMPTS, slot, 0, 0, 0);
    cw_metrics_add(CW_METRIC_SOURCE_BREAKER_OPENS, slot, 0, 0, 0);
    cw_metrics_add(item->path ? CW_METRIC_PLUGIN_QUEUE : CW_METRIC_SOURCE_QUEUE, slot, 0, 0, 0);
    if (!item->path)
        cw_metrics_add(CW_METRIC_SOURCE_CONNECTIONS, slot, 0, 0, 0);
    cw_metrics_add(item->path ? CW_METRIC_PLUGIN_EXITS : CW_METRIC_RESULTS, slot, 0, 0, 0);
}

static void write_report(const cw_registry_item *item, cw_source_report *ret)
{
    const cw_snapshot_counts counts = counts_of(item);
    *ret = (cw_source_report){.name = cw_str_from(item->name),
                              .is_plugin = item->path != NULL,
                              .state = item->state,
                              .since_ms = item->since_ms,
                              .refreshed_ms = item->refreshed_ms,
                              .tools = counts.tools,
                              .methods = item->n_found,
                              .withheld = item->n_withheld,
                              .approved_ms = item->approved_ms,
                              .approved_by = cw_str_from(item->approved_by),
                              .problem = problem_of(item)};
    if (item->path) {
        ret->state = item->source ? "ready" : (item->tried ? "down" : "loading");
        ret->methods = item->source ? (uint32_t)item->source->n_methods : 0;
    }
    if (!ret->state)
        ret->state = "loading";
    memcpy(ret->exposed, counts.exposed, sizeof ret->exposed);
    if (item->shared)
        ret->protocol = cw_shared_conn_protocol(item->shared);
}

/* A service that is gone is in no state. */
static void set_metrics(const cw_registry_item *item)
{
    static const char *const states[] = {"ready", "stale", "down", "broken", "withheld", "loading"};
    cw_source_report report;
    uint32_t slot = slot_of(item);
    write_report(item, &report);
    for (uint32_t i = 0; i < CW_COUNT(states); i++)
        cw_metrics_set(CW_METRIC_SOURCE_STATE, slot, i, 0,
                       !item->is_gone && strcmp(states[i], report.state) == 0);
    cw_metrics_set(CW_METRIC_SOURCE_BREAKER_OPEN, slot, 0, 0,
                   !item->is_gone && strcmp(report.state, "broken") == 0);
    cw_metrics_set(CW_METRIC_SOURCE_TOOLS, slot, CW_OFFER_OFFERED, 0,
                   item->is_gone ? 0 : report.tools);
    cw_metrics_set(CW_METRIC_SOURCE_TOOLS, slot, CW_OFFER_WITHHELD, 0,
                   item->is_gone ? 0 : report.withheld);
    if (report.refreshed_ms)
        cw_metrics_set(CW_METRIC_SOURCE_REFRESHED, slot, 0, 0, report.refreshed_ms);
}

static void record(cw_registry_item *item, bool must_save)
{
    item->trouble =
        item->source ? cw_remote_trouble(item->source, cw_loop_now(item->all->opts.loop)) : NULL;
    const char *state = state_of(item);
    bool is_other = state != item->state;
    if (is_other) {
        item->state = state;
        item->since_ms = cw_clock_wall_ms();
        if (strcmp(state, "broken") == 0)
            cw_metrics_count(CW_METRIC_SOURCE_BREAKER_OPENS, slot_of(item), 0, 0);
    }
    if (is_other || must_save)
        save(item);
}

static void count(cw_sources *s)
{
    unsigned ready = 0, stale = 0, down = 0, withheld = 0, plugins = 0, failed = 0;
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        if (cw_metrics_is_on())
            set_metrics(item);
        bool is_plugin = item->path && !item->is_gone;
        bool is_used = item->source && !item->is_left_out;
        plugins += is_plugin && is_used;
        failed += is_plugin && !is_used && item->tried;
        if (!item->remote || item->is_gone || !item->state)
            continue;
        bool is_ready = strcmp(item->state, "ready") == 0;
        bool is_stale = strcmp(item->state, "stale") == 0;
        ready += is_ready;
        stale += is_stale;
        down += !is_ready && !is_stale && strcmp(item->state, "loading") != 0;
        withheld += item->is_withheld;
    }
    if (!s->opts.health)
        return;
    atomic_store(&s->opts.health->ready, ready);
    atomic_store(&s->opts.health->stale, stale);
    atomic_store(&s->opts.health->down, down);
    atomic_store(&s->opts.health->withheld, withheld);
    atomic_store(&s->opts.health->plugins, plugins);
    atomic_store(&s->opts.health->failed, failed);
}

/* `others` are lines that operators need as well, and no failure of the load. */
static void on_loaded(cw_registry_item *item, cw_str problem, cw_str others)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, CW_BUF_MAX);
    cw_buf_printf(&lines, "%.*s%s%.*s", CW_STR_ARG(problem), problem.n && others.n ? "\n" : "",
                  CW_STR_ARG(others));
    free(item->problem);
    item->problem = lines.n ? cw_str_dup(cw_buf_str(&lines)) : NULL;
    if (!problem.n)
        item->refreshed_ms = cw_clock_wall_ms();
    add_zeros(item);
    cw_metrics_count(CW_METRIC_SOURCE_REFRESHES, slot_of(item),
                     problem.n ? CW_RESULT_FAILED : CW_RESULT_OK, 0);
    item->tried = true;
    record(item, /* must_save= */ true);
    count(item->all);
}

/* The problems of one item, a line each; NULL: none, or no memory. */
static char *left_out_of(const cw_registry_item *item, const cw_snapshot *catalogue,
                         cw_registry_item *const *items)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    size_t n;
    const cw_snapshot_problem *problems = cw_snapshot_problems(catalogue, &n);
    cw_buf_init(&lines, CW_BUF_MAX);
    for (size_t i = 0; i < n; i++) {
        if (items[problems[i].offer] == item)
            cw_buf_printf(&lines, "%s%.*s", lines.n ? "\n" : "", CW_STR_ARG(problems[i].text));
    }
    return lines.n && !lines.code ? cw_str_dup(cw_buf_str(&lines)) : NULL;
}

void cw_sources_note_left_out(cw_sources *s, cw_registry_item *const *items)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        char *lines = left_out_of(item, s->last, items);
        /* The number of its tools was not known when it was loaded. */
        bool must_save = lines || item->left_out;
        free(item->left_out);
        item->left_out = lines;
        if (must_save && item->remote && !item->is_gone)
            record(item, /* must_save= */ true);
    }
}

static void on_retire_poll(uv_timer_t *timer)
{
    cw_sources_check_health(timer->data);
}

void cw_sources_check_health(cw_sources *s)
{
    bool any = false;
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (!item->remote || item->is_gone)
            continue;
        any = true;
        if (cw_remote_needs_recheck(item->source) && !item->remote_job)
            cw_sources_load(item);
        record(item, /* must_save= */ false);
    }
    count(s);
    if (any && !s->is_closing)
        uv_timer_start(&s->health, on_retire_poll, CHECK_MS, 0);
    else
        uv_timer_stop(&s->health);
}

/* Plugins that are loaded at once: each takes a process, some descriptors and room for its
 * description, which may be large. */
#define LOADS_MAX 4u
/* Notes about one source that are logged; the others are counted. */
#define NOTES_MAX 100u
#define OPEN_SHOWN 10u /* methods in one line */
/* From an announcement of a service to its discovery. */
#define ANNOUNCED_MS 200u
/* Between two discoveries because of announcements, after the first ones: a service may send them
 * without end. */
#define ANNOUNCED_GAP_MS 2000u
#define ANNOUNCED_BURST_MS (4u * ANNOUNCED_GAP_MS)

bool cw_file_id_read(const char *path, cw_file_id *ret)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    *ret = (cw_file_id){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
    return true;
}

static void on_retry(uv_timer_t *timer);

/* ---- trying again ---- */

static void arm_retry(cw_sources *s)
{
    uint64_t next = UINT64_MAX, now = cw_loop_now(s->opts.loop);
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        if (item->retry_at && item->retry_at < next)
            next = item->retry_at;
    }
    if (next == UINT64_MAX)
        uv_timer_stop(&s->retry);
    else
        uv_timer_start(&s->retry, on_retry, next > now ? next - now : 0, 0);
}

static void on_retry(uv_timer_t *timer)
{
    cw_sources *s = timer->data;
    uint64_t now = cw_loop_now(s->opts.loop);
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->retry_at && item->retry_at <= now) {
            item->retry_at = 0;
            cw_sources_load(item);
        }
    }
    arm_retry(s);
}

/* Set the time of the next discovery. A random part spreads the services over time. */
static void refresh_later(cw_registry_item *item)
{
    uint64_t ms = item->remote ? item->remote->refresh_ms : 0;
    uint32_t dice = 0;
    /* The service may have announced another change during the discovery: that is sooner. */
    if (ms == 0 || item->is_gone || item->retry_at)
        return;
    (void)!cw_random_bytes(&dice, sizeof dice, NULL);
    ms = ms - ms / 10 + dice % (ms / 5 + 1);
    item->retry_at = cw_loop_now(item->all->opts.loop) + ms;
    arm_retry(item->all);
}

static void retry_later(cw_registry_item *item)
{
    uint32_t pause = item->pause_ms * 2;
    if (pause < CW_SOURCES_RETRY_MIN_MS)
        pause = CW_SOURCES_RETRY_MIN_MS;
    if (pause > CW_SOURCES_RETRY_MAX_MS)
        pause = CW_SOURCES_RETRY_MAX_MS;
    item->pause_ms = pause;
    /* Each further attempt would be another failed login. */
    if (item->is_refused)
        pause = CW_REMOTE_REFUSED_MS;
    item->retry_at = cw_loop_now(item->all->opts.loop) + pause;
    arm_retry(item->all);
}

/* ---- reports ---- */

void cw_sources_each(const cw_sources *s, void (*fn)(const cw_source_report *report, void *ctx),
                     void *ctx)
{
    for (const cw_registry_item *item = s->items; item; item = item->next) {
        cw_source_report report;
        if (item->is_gone)
            continue;
        write_report(item, &report);
        fn(&report, ctx);
    }
}

void cw_sources_call_waiters(cw_sources *s)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        cw_source_report report;
        if (item->plugin_job || item->remote_job || item->again || cw_list_is_empty(&item->waiters))
            continue;
        write_report(item, &report);
        for (cw_list *node; (node = cw_list_take_first(&item->waiters));) {
            cw_sources_waiter *w = CW_CONTAINER(node, cw_sources_waiter, node);
            w->fn(w, &report);
        }
    }
}

/* ---- the end of a load ---- */

/* One line of the log for each line of the problem. */
static void log_problem(const cw_registry_item *item, cw_str problem)
{
    const char *message = item->source ? "not loaded, the older version stays" : "not loaded";
    for (cw_str rest = problem; rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n)
            cw_log(CW_LOG_ERROR, "sources", message, CW_KV("source", cw_str_from(item->name)),
                   CW_KV("problem", line));
    }
}

static void failed(cw_registry_item *item, cw_str problem, bool try_again)
{
    if (item->must_replace) {
        item->must_replace = false;
        cw_source_unref(item->source);
        item->source = NULL;
        cw_sources_changed(item->all, /* is_change= */ true);
    }
    item->is_stale = item->source != NULL;
    log_problem(item, problem);
    if (try_again)
        retry_later(item);
}

typedef struct finding_log {
    const cw_registry_item *item;
    size_t n;
} finding_log;

/* A field, or the end of the fields. */
static cw_log_field suggestion_of(const cw_lint_finding *finding)
{
    return finding->suggestion.n ? CW_KV("suggestion", finding->suggestion) : (cw_log_field){0};
}

static bool on_finding(const cw_lint_finding *finding, void *ctx)
{
    finding_log *x = ctx;
    cw_str source = cw_str_from(x->item->name);
    if (++x->n > NOTES_MAX)
        return false;
    if (finding->scope.n)
        cw_log(CW_LOG_WARN, "sources", "a method requires an unknown scope",
               CW_KV("source", source), CW_KV("method", finding->method),
               CW_KV("scope", finding->scope));
    else if (finding->annotation.n)
        cw_log(finding->is_minor ? CW_LOG_DEBUG : CW_LOG_WARN, "sources", "unusual annotation",
               CW_KV("source", source), CW_KV("method", finding->method),
               CW_KV("annotation", finding->annotation),
               CW_KV("problem", cw_str_from(finding->text)), suggestion_of(finding));
    else if (finding->permission.n)
        cw_log(CW_LOG_WARN, "sources", "a method requires a permission that no role has",
               CW_KV("source", source), CW_KV("method", finding->method),
               CW_KV("permission", finding->permission), suggestion_of(finding));
    else if (finding->is_input)
        cw_log(CW_LOG_WARN, "sources", "declarations of headers are left out",
               CW_KV("source", source), CW_KV("method", finding->method),
               CW_KV("keyword", finding->keyword), CW_KV("problem", cw_str_from(finding->text)));
    else
        cw_log(CW_LOG_WARN, "sources", "a draft-07 schema means something else in 2020-12",
               CW_KV("source", source), CW_KV("method", finding->method),
               CW_KV("schema", finding->param.n ? finding->param : CW_STR("(result)")),
               CW_KV("pointer", finding->pointer), CW_KV("keyword", finding->keyword),
               CW_KV("problem", cw_str_from(finding->text)));
    return true;
}

/* Log the methods that every caller may use, in one line: their definitions do not show it. */
static void log_open(const cw_registry_item *item, const cw_source *source)
{
    CW_CLEANUP(cw_buf_done) cw_buf names;
    size_t n = 0;
    cw_buf_init(&names, CW_LOG_FIELD_MAX);
    for (size_t i = 0; i < source->n_methods; i++) {
        const cw_method *m = &source->methods[i];
        bool is_used = m->mark || m->exposed || m->is_callable;
        if (!is_used || !cw_requirements_are_empty(&m->needs))
            continue;
        if (++n <= OPEN_SHOWN)
            cw_buf_printf(&names, "%s%.*s", n > 1 ? ", " : "", CW_STR_ARG(m->id));
    }
    if (n)
        cw_log(CW_LOG_INFO, "sources", "any caller may use these methods",
               CW_KV("source", cw_str_from(item->name)), CW_KN("count", n),
               CW_KV("methods", cw_buf_str(&names)));
}

/* Log the findings of cw_lint about a source. A lack of memory for them is ignored. */
static void log_notes(const cw_registry_item *item, const cw_source *source)
{
    finding_log x = {.item = item};
    cw_lint_opts opts = cw_sources_lint_opts(item->all->config);
    if (item->all->opts.is_quiet)
        return;
    const cw_sources_opts *o = &item->all->opts;
    opts.annotations = item->path != NULL;
    if (o->permissions &&
        !o->permissions(item->all->config, &opts.permissions, &opts.n_permissions, o->ctx))
        opts.permissions = NULL;
    log_open(item, source);
    (void)!cw_lint(source->methods, source->n_methods, &opts, on_finding, &x);
    if (x.n > NOTES_MAX)
        cw_log(CW_LOG_WARN, "sources", "and more of these",
               CW_KV("source", cw_str_from(item->name)));
}

/* A service has announced changed lists, and its description is the same. The change may be in
 * parts that the description does not show, so clients are notified. */
static void pass_announcement(const cw_registry_item *item, unsigned lists)
{
    cw_change_sink *sink = item->all->opts.change;
    if (sink && item->published)
        sink->tell(sink, &(cw_change){.lists = lists, .source = item->published});
}

/* Takes the reference. A former source that was never published has no part open, and is freed. A
 * service with the same description has the same source, and nothing is published. */
static void succeeded(cw_registry_item *item, cw_source *source)
{
    bool is_same = source == item->source && !item->must_replace;
    /* The file of a plugin or the configuration of a service has changed, or it is there again. */
    bool is_change = item->path || item->must_replace || !item->source;
    if (source != item->source || !item->is_noted)
        log_notes(item, source);
    item->is_noted = true;
    cw_source_unref(item->source);
    item->source = source;
    item->has_old_rules = item->has_old_rules || item->must_replace;
    item->must_replace = false;
    item->pause_ms = 0;
    if (!is_same)
        cw_sources_changed(item->all, is_change);
    else if (item->announced)
        pass_announcement(item, item->announced);
    item->announced = 0;
}

static unsigned count_loads(const cw_sources *s)
{
    unsigned n = 0;
    for (const cw_registry_item *item = s->items; item; item = item->next)
        n += item->plugin_job != NULL;
    return n;
}

static void load_waiting(cw_sources *s)
{
    unsigned n = count_loads(s);
    for (cw_registry_item *item = s->items; item && n < LOADS_MAX; item = item->next) {
        if (!item->is_waiting)
            continue;
        cw_sources_load(item);
        n += item->plugin_job != NULL;
    }
}

static void after_load(cw_registry_item *item)
{
    cw_sources *s = item->all;
    item->tried = true;
    if (item->again) {
        item->again = false;
        cw_sources_load(item);
    }
    load_waiting(s);
    count(s);
    cw_sources_check_settled(s);
    /* After a change the waiters are called when it is published. */
    if (!s->is_dirty)
        cw_sources_call_waiters(s);
}

static void on_plugin(const cw_plugin_loaded *loaded, void *ctx)
{
    cw_registry_item *item = ctx;
    item->plugin_job = NULL;
    if (loaded->source)
        succeeded(item, loaded->source);
    else
        failed(item, loaded->problem, loaded->may_pass);
    after_load(item);
}

static void take_shared(cw_registry_item *item, cw_shared_conn *shared)
{
    if (item->shared == shared) {
        cw_shared_conn_unref(shared);
        return;
    }
    cw_shared_conn_retire(
        item->shared); /* its calls continue until the source that uses it is gone */
    item->shared = shared;
}

/* Warnings are logged only if they differ: each discovery of a service has the same ones. */
static void log_warnings(cw_registry_item *item, cw_str lines)
{
    uint64_t hash = lines.n ? cw_hash(lines) : 0;
    bool is_known = item->is_noted && hash == item->warned;
    item->warned = hash;
    if (is_known)
        return;
    for (cw_str rest = lines; rest.p;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n)
            cw_log(CW_LOG_WARN, "sources", "loaded with a warning",
                   CW_KV("source", cw_str_from(item->name)), CW_KV("warning", line));
    }
}

/* The approved definitions are lost: the running source is dropped unless another replaces it. */
static void check_lock(cw_registry_item *item, cw_str lock, bool has_source)
{
    item->is_withheld = lock.n > 0;
    if (!item->is_withheld)
        return;
    cw_log(CW_LOG_ERROR, "sources", "every tool is withheld",
           CW_KV("source", cw_str_from(item->name)), CW_KV("problem", lock));
    item->must_replace = item->must_replace || (!has_source && item->source);
}

static void take_stamp(cw_registry_item *item, const cw_remote_loaded *loaded)
{
    free(item->approved_by);
    item->approved_by = loaded->approved_by.n ? cw_str_dup(loaded->approved_by) : NULL;
    item->approved_ms = loaded->approved_at;
}

/* The lines for operators beside the problem: those of the lock, else the most important ones. */
static cw_str other_lines(const cw_remote_loaded *loaded)
{
    if (loaded->lock.n || loaded->problem.n)
        return loaded->lock;
    return loaded->missing.n ? loaded->missing : loaded->notice;
}

static void on_remote(const cw_remote_loaded *loaded, void *ctx)
{
    cw_registry_item *item = ctx;
    item->remote_job = NULL;
    take_shared(item, loaded->shared);
    log_warnings(item, loaded->warnings);
    check_lock(item, loaded->lock, loaded->source != NULL);
    take_stamp(item, loaded);
    item->is_refused = loaded->credentials == CW_REMOTE_CREDENTIALS_REFUSED;
    /* At a start, and with another address, the new source has a health of its own. */
    cw_remote_set_credentials(loaded->source ? loaded->source : item->source, loaded->credentials);
    if (!loaded->source) {
        failed(item, loaded->problem, /* try_again= */ true);
    } else {
        uint32_t pause_ms = item->pause_ms;
        item->n_found = (uint32_t)loaded->n_found;
        item->n_withheld = (uint32_t)loaded->n_withheld;
        item->is_stale = loaded->problem.n;
        succeeded(item, loaded->source);
        if (item->is_stale) {
            cw_log(CW_LOG_WARN, "sources", "its last description is used",
                   CW_KV("source", cw_str_from(item->name)), CW_KV("problem", loaded->problem));
            item->pause_ms = pause_ms;
            retry_later(item);
        } else {
            refresh_later(item);
        }
    }
    on_loaded(item, loaded->problem, other_lines(loaded));
    after_load(item);
}

/* The service announces a change. Several announcements in a row lead to one discovery. */
static void on_announced(void *ctx, unsigned lists)
{
    cw_registry_item *item = ctx;
    uint64_t soon = cw_loop_now(item->all->opts.loop) + ANNOUNCED_MS;
    if (item->announced_at > soon + ANNOUNCED_BURST_MS)
        soon = item->announced_at - ANNOUNCED_BURST_MS;
    if (item->is_gone || item->is_refused || item->all->is_closing)
        return;
    item->announced |= lists;
    if (item->retry_at && item->retry_at < soon)
        return;
    item->retry_at = soon;
    item->announced_at = (item->announced_at > soon ? item->announced_at : soon) + ANNOUNCED_GAP_MS;
    arm_retry(item->all);
}

/* ---- the begin of a load ---- */

static cw_remote_approvals approvals_of(const cw_sources *s)
{
    return (cw_remote_approvals){.lock = s->approved,
                                 .problem = s->unapproved
                                                ? cw_str_from(s->unapproved)
                                                : CW_STR("the approved definitions are not read "
                                                         "yet")};
}

static cw_code begin(cw_registry_item *item, cw_err *err)
{
    cw_sources *s = item->all;
    const char *file = item->remote ? item->remote->openrpc.p : item->path;
    /* Before the file is read: a change during the reading gives it another id. */
    if (!file || !cw_file_id_read(file, &item->file_id))
        item->file_id = (cw_file_id){0};
    if (item->path)
        return cw_plugin_load(s->opts.loop, &s->plugin_opts, cw_str_from(item->name), item->path,
                              on_plugin, item, &item->plugin_job, err);
    item->last_good = item->last_good ? item->last_good : cw_last_good_new();
    if (!item->last_good)
        return cw_fail_nomem(err);
    const cw_remote_approvals approvals = approvals_of(s);
    cw_remote_opts opts = {
        .config = item->remote,
        .owner = s->config,
        .n_loops = s->opts.n_loops,
        .answer_size = s->config->limits.max_result_size,
        .spawner = s->opts.spawner,
        .shared = item->shared,
        .before = item->source,
        .last_good = item->last_good,
        .state = s->config->state.directory,
        .is_quiet = s->opts.is_quiet,
        .lock = s->config->state.lock,
        .approvals = s->config->state.approvals_in_store ? &approvals : NULL,
        .policy = cw_sources_policy(s->config),
        .events = s->opts.events,
        .accounts = s->opts.accounts,
        .announced = on_announced,
        .updated = cw_sources_on_updated,
    };
    item->must_replace = item->must_replace || cw_remote_has_other_rules(item->source, &opts);
    return cw_remote_load(s->opts.loop, &opts, on_remote, item, &item->remote_job, err);
}

static void use_given(cw_registry_item *item)
{
    const cw_sources_given *given = item->all->opts.given;
    cw_source *source = NULL;
    for (size_t i = 0; i < given->n && !source; i++) {
        if (cw_str_is(given->items[i]->name, item->name))
            source = given->items[i];
    }
    if (source)
        succeeded(item, cw_source_ref(source));
    on_loaded(item, source ? CW_STR("") : CW_STR("it is not loaded"), CW_STR(""));
}

/* The load of a service could not begin. The lock is checked nevertheless: it may be lost together
 * with the file that the load needs. Without memory for that, the next load checks it. */
static void failed_at_once(cw_registry_item *item, cw_str problem)
{
    const cw_sources *s = item->all;
    const cw_remote_approvals approvals = approvals_of(s);
    CW_CLEANUP(cw_buf_done) cw_buf lost;
    cw_err err;
    cw_buf_init(&lost, CW_BUF_MAX);
    if (!cw_remote_check_lock(s->config->state.lock,
                              s->config->state.approvals_in_store ? &approvals : NULL, &lost, &err))
        check_lock(item, cw_buf_str(&lost), /* has_source= */ false);
    failed(item, problem, /* try_again= */ true);
    on_loaded(item, problem, cw_buf_str(&lost));
}

void cw_sources_load(cw_registry_item *item)
{
    if (item->remote && item->all->opts.given) {
        use_given(item);
        return;
    }
    if (item->plugin_job || item->remote_job) {
        item->again = true;
        return;
    }
    item->retry_at = 0;
    item->is_waiting = item->path && count_loads(item->all) >= LOADS_MAX;
    if (item->is_waiting)
        return;
    cw_err err = {0};
    cw_code rc = begin(item, &err);
    if (!rc)
        return;
    item->tried = true;
    cw_remote_set_credentials(item->source, CW_REMOTE_CREDENTIALS_UNKNOWN);
    /* A plugin's file is tried again when it changes; a lack of memory or of descriptors may pass
     * before. */
    if (item->remote)
        failed_at_once(item, cw_str_from(err.msg));
    else
        failed(item, cw_str_from(err.msg), rc == CW_NOMEM || rc == CW_LIMIT);
    count(item->all);
}

void cw_sources_reload(cw_registry_item *item)
{
    item->pause_ms = 0;
    item->is_refused = false;
    cw_remote_set_credentials(item->source, CW_REMOTE_CREDENTIALS_NEW);
    cw_sources_load(item);
}

/* Services that fail or reject the credentials have their own pauses. */
void cw_sources_ask_again(cw_sources *s)
{
    for (cw_registry_item *item = s->items; item; item = item->next) {
        if (item->remote && item->source && !item->is_gone && !item->is_refused && !item->is_stale)
            cw_sources_load(item);
    }
}

void cw_sources_cancel_load(cw_registry_item *item)
{
    bool was_loading = item->plugin_job;
    if (item->plugin_job)
        cw_plugin_load_cancel(item->plugin_job);
    if (item->remote_job)
        cw_remote_load_cancel(item->remote_job, item->all->is_closing);
    item->plugin_job = NULL;
    item->remote_job = NULL;
    item->again = item->is_waiting = false;
    item->retry_at = 0;
    if (was_loading && !item->all->is_closing)
        load_waiting(item->all);
}
