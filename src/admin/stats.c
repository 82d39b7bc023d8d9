/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats.c - methods about calls: rates and durations over time, and the last calls. */
#include "admin/stats.h"

#include <stdlib.h>

#include "admin/server.h"
#include "admin/source.h"
#include "base/clock.h"
#include "call/running.h"
#include "metrics/metrics.h"
#include "metrics/names.h"
#include "metrics/recent.h"
#include "metrics/step.h"

#define OUTCOMES 12u /* of CW_METRIC_CALLS */
#define DOORS 8u
#define ERROR_TYPES 9u /* of CW_METRIC_MCP_TOOL */
#define LONG_STEPS 60u /* short steps in a long one */
#define HOUR_MS INT64_C(3600000)
#define BUSIEST 10u

/* The sums at one time. */
typedef struct sample {
    int64_t at_ms;
    uint64_t outcomes[OUTCOMES];
    uint64_t buckets[CW_METRICS_BUCKETS_MAX + 1]; /* of the calls of all sources */
    int64_t running;
    uint32_t idle_ms[CW_SERVER_MAX_LOOPS]; /* of each loop; it overflows */
} sample;

typedef struct history {
    sample *samples;
    uint32_t size;
    uint32_t n;    /* that were taken */
    uint32_t most; /* samples of a result; 0: all */
    uint32_t step_ms;
} history;

/* Calls of a tool at the last two short steps. */
typedef struct tool_sums {
    uint64_t calls[2], failed[2];
} tool_sums;

struct cw_admin_stats {
    uv_timer_t timer;
    const cw_admin_server *server;
    history fine, coarse;
    sample fine_samples[CW_STATS_SHORT], coarse_samples[CW_STATS_LONG];
    uint32_t n_loops;
    tool_sums tools[CW_METRICS_TOOLS];
    struct {
        uint64_t calls[2], failed[2];
    } sources[CW_METRICS_SOURCES];
    int64_t at_ms[2]; /* of the sums above: the newest first */
};

/* ---- taking samples ---- */

static uint64_t count_calls(uint32_t tool, uint32_t outcome)
{
    uint64_t n = 0;
    for (uint32_t door = 0; door < DOORS; door++)
        n += (uint64_t)cw_metrics_read(CW_METRIC_CALLS, tool, door, outcome);
    return n;
}

/* The methods of an operator who watches are left out. */
static bool is_own_tool(uint32_t tool)
{
    return cw_str_starts(cw_metrics_slot_name(CW_METRICS_TOOL, tool),
                         CW_STR(CW_ADMIN_SOURCE_NAME "."));
}

static bool is_own_source(uint32_t source)
{
    return cw_str_is(cw_metrics_slot_name(CW_METRICS_SOURCE, source), CW_ADMIN_SOURCE_NAME);
}

static void sample_tools(cw_admin_stats *stats, sample *s)
{
    for (uint32_t tool = 0; tool < cw_metrics_slots(CW_METRICS_TOOL); tool++) {
        tool_sums *t = &stats->tools[tool];
        bool is_own = is_own_tool(tool);
        t->calls[1] = t->calls[0];
        t->failed[1] = t->failed[0];
        t->calls[0] = t->failed[0] = 0;
        for (uint32_t i = 0; i < OUTCOMES; i++) {
            uint64_t n = count_calls(tool, i);
            s->outcomes[i] += is_own ? 0 : n;
            t->calls[0] += n;
            if (i == CW_OUTCOME_WORD_FAILED || i == CW_OUTCOME_WORD_UNAVAILABLE ||
                i == CW_OUTCOME_WORD_ERROR)
                t->failed[0] += n;
        }
    }
}

static uint64_t count_attempts(uint32_t source, cw_metrics_attempt from, cw_metrics_attempt to)
{
    uint64_t n = 0;
    for (uint32_t i = from; i <= to; i++)
        n += (uint64_t)cw_metrics_read(CW_METRIC_SOURCE_ATTEMPTS, source, i, 0);
    return n;
}

/* The call that asks is left out. */
static int64_t count_running(uint32_t source)
{
    return is_own_source(source) ? 0 : cw_metrics_read(CW_METRIC_RUNNING, source, 0, 0);
}

static void sample_sources(cw_admin_stats *stats, sample *s)
{
    for (uint32_t i = 0; i < cw_metrics_slots(CW_METRICS_SOURCE); i++) {
        cw_metrics_summary sum;
        cw_metrics_summarize(CW_METRIC_SOURCE_CALL, i, 0, 0, &sum);
        for (size_t k = 0; k < CW_COUNT(s->buckets) && !is_own_source(i); k++)
            s->buckets[k] += sum.buckets[k];
        s->running += count_running(i);
        stats->sources[i].calls[1] = stats->sources[i].calls[0];
        stats->sources[i].failed[1] = stats->sources[i].failed[0];
        stats->sources[i].calls[0] = count_attempts(i, CW_ATTEMPT_OK, CW_ATTEMPT_CANCELLED);
        stats->sources[i].failed[0] = count_attempts(i, CW_ATTEMPT_TIMEOUT, CW_ATTEMPT_QUEUE_FULL);
    }
}

/* A loop that runs has been idle for some time. */
static void sample_loops(cw_admin_stats *stats, sample *s)
{
    cw_metrics_run_probes();
    for (uint32_t i = 0; i < CW_SERVER_MAX_LOOPS; i++) {
        int64_t ns = cw_metrics_read(CW_METRIC_LOOP_IDLE, i + 1, 0, 0);
        if (!ns)
            break;
        s->idle_ms[i] = (uint32_t)(ns / 1000000);
        stats->n_loops = i + 1;
    }
}

static void post_step(const cw_admin_stats *stats);

static void on_timer(uv_timer_t *timer)
{
    cw_admin_stats *stats = timer->data;
    sample *s = &stats->fine.samples[stats->fine.n % stats->fine.size];
    *s = (sample){.at_ms = cw_clock_wall_ms()};
    stats->at_ms[1] = stats->at_ms[0];
    stats->at_ms[0] = s->at_ms;
    sample_tools(stats, s);
    sample_sources(stats, s);
    sample_loops(stats, s);
    if (stats->fine.n++ % LONG_STEPS == 0)
        stats->coarse.samples[stats->coarse.n++ % stats->coarse.size] = *s;
    if (cw_metrics_step_is_watched())
        post_step(stats);
}

cw_admin_stats *cw_admin_stats_start(const cw_admin_server *server)
{
    cw_admin_stats *stats = calloc(1, sizeof *stats);
    if (!stats)
        return NULL;
    stats->fine = (history){
        .samples = stats->fine_samples, .size = CW_STATS_SHORT, .step_ms = CW_STATS_STEP_MS};
    stats->coarse = (history){.samples = stats->coarse_samples,
                              .size = CW_STATS_LONG,
                              .step_ms = CW_STATS_STEP_MS * LONG_STEPS};
    stats->server = server;
    uv_timer_init(&server->loop->uv, &stats->timer);
    stats->timer.data = stats;
    uv_timer_start(&stats->timer, on_timer, 0, CW_STATS_STEP_MS);
    return stats;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void cw_admin_stats_stop(cw_admin_stats *stats)
{
    if (stats)
        uv_close((uv_handle_t *)&stats->timer, on_closed);
}

/* ---- causeway.stats ---- */

static uint32_t n_samples(const history *h)
{
    uint32_t most = h->most && h->most < h->size ? h->most : h->size;
    return h->n < most ? h->n : most;
}

/* The samples of a history, the oldest first. */
static const sample *sample_at(const history *h, uint32_t i)
{
    return &h->samples[(h->n - n_samples(h) + i) % h->size];
}

static uint32_t n_steps(const history *h)
{
    uint32_t n = n_samples(h);
    return n ? n - 1 : 0;
}

static void write_outcomes(cw_json_writer *w, const history *h)
{
    cw_json_add_key(w, CW_STR("calls"));
    cw_json_open_object(w);
    for (uint32_t o = 0; o < OUTCOMES; o++) {
        cw_json_add_key(w, cw_metrics_value_text(CW_METRIC_CALLS, 2, o));
        cw_json_open_array(w);
        for (uint32_t i = 0; i < n_steps(h); i++)
            cw_json_add_i64(
                w, (int64_t)(sample_at(h, i + 1)->outcomes[o] - sample_at(h, i)->outcomes[o]));
        cw_json_close(w);
    }
    cw_json_close(w);
}

/* Null for a step without calls. */
static void add_quantile(cw_json_writer *w, const cw_metrics_summary *sum, double share)
{
    if (sum->count)
        cw_json_add_i64(w, (int64_t)(cw_metrics_quantile(sum, share) / 1000));
    else
        cw_json_add_null(w);
}

static void write_durations(cw_json_writer *w, const history *h, const char *name, double share)
{
    cw_metrics_summary bounds;
    cw_metrics_summarize(CW_METRIC_SOURCE_CALL, 0, 0, 0, &bounds);
    cw_json_add_key(w, cw_str_from(name));
    cw_json_open_array(w);
    for (uint32_t i = 0; i < n_steps(h); i++) {
        cw_metrics_summary sum = {.bounds_ns = bounds.bounds_ns, .n_bounds = bounds.n_bounds};
        for (size_t k = 0; k < CW_COUNT(sum.buckets); k++)
            sum.count += sum.buckets[k] =
                sample_at(h, i + 1)->buckets[k] - sample_at(h, i)->buckets[k];
        add_quantile(w, &sum, share);
    }
    cw_json_close(w);
}

static void write_running(cw_json_writer *w, const history *h)
{
    cw_json_add_key(w, CW_STR("running"));
    cw_json_open_array(w);
    for (uint32_t i = 0; i < n_steps(h); i++)
        cw_json_add_i64(w, sample_at(h, i + 1)->running);
    cw_json_close(w);
}

/* For each loop, the percentage of each step in which its thread did not run. */
static void write_idle(cw_json_writer *w, const cw_admin_stats *stats, const history *h)
{
    cw_json_add_key(w, CW_STR("idle"));
    cw_json_open_array(w);
    for (uint32_t loop = 0; loop < stats->n_loops; loop++) {
        cw_json_open_array(w);
        for (uint32_t i = 0; i < n_steps(h); i++) {
            const sample *from = sample_at(h, i), *to = sample_at(h, i + 1);
            int64_t ms = to->at_ms - from->at_ms;
            uint32_t idle_ms = to->idle_ms[loop] - from->idle_ms[loop];
            int64_t share = ms > 0 ? 100 * (int64_t)idle_ms / ms : 0;
            cw_json_add_i64(w, share < 100 ? share : 100);
        }
        cw_json_close(w);
    }
    cw_json_close(w);
}

static double per_second(const cw_admin_stats *stats, const uint64_t sums[2])
{
    int64_t ms = stats->at_ms[0] - stats->at_ms[1];
    return stats->at_ms[1] && ms > 0 ? (double)(sums[0] - sums[1]) * 1000.0 / (double)ms : 0;
}

/* One tool or source: its rate now, and its sums since the start. */
static void write_sums(cw_json_writer *w, const cw_admin_stats *stats, const uint64_t calls[2],
                       const uint64_t failed[2], const cw_metrics_summary *sum)
{
    cw_json_add_key(w, CW_STR("per_s"));
    cw_json_add_double(w, per_second(stats, calls));
    cw_json_add_i64_member(w, CW_STR("calls"), (int64_t)calls[0]);
    cw_json_add_i64_member(w, CW_STR("failed"), (int64_t)failed[0]);
    cw_json_add_key(w, CW_STR("p50_us"));
    add_quantile(w, sum, 0.5);
    cw_json_add_key(w, CW_STR("p95_us"));
    add_quantile(w, sum, 0.95);
}

static bool is_busier(const cw_admin_stats *stats, uint32_t a, uint32_t b)
{
    const tool_sums *x = &stats->tools[a], *y = &stats->tools[b];
    uint64_t now_x = x->calls[0] - x->calls[1], now_y = y->calls[0] - y->calls[1];
    return now_x != now_y ? now_x > now_y : x->calls[0] > y->calls[0];
}

/* The tools with the most calls, in order. */
static size_t find_busiest(const cw_admin_stats *stats, uint32_t out[BUSIEST])
{
    size_t n = 0;
    for (uint32_t tool = 1; tool < cw_metrics_slots(CW_METRICS_TOOL); tool++) {
        size_t at = n;
        if (!stats->tools[tool].calls[0] || is_own_tool(tool))
            continue;
        while (at && is_busier(stats, tool, out[at - 1]))
            at--;
        if (at == BUSIEST)
            continue;
        for (size_t i = n < BUSIEST ? n : BUSIEST - 1; i > at; i--)
            out[i] = out[i - 1];
        out[at] = tool;
        n += n < BUSIEST;
    }
    return n;
}

static void write_tools(cw_json_writer *w, const cw_admin_stats *stats)
{
    uint32_t busiest[BUSIEST];
    size_t n = find_busiest(stats, busiest);
    cw_json_add_key(w, CW_STR("tools"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        cw_metrics_summary all = {0}, sum;
        for (uint32_t e = 0; e < ERROR_TYPES; e++) {
            cw_metrics_summarize(CW_METRIC_MCP_TOOL, busiest[i], e, 0, &sum);
            all.bounds_ns = sum.bounds_ns;
            all.n_bounds = sum.n_bounds;
            all.count += sum.count;
            for (size_t k = 0; k < CW_COUNT(sum.buckets); k++)
                all.buckets[k] += sum.buckets[k];
        }
        const tool_sums *t = &stats->tools[busiest[i]];
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"),
                                  cw_metrics_slot_name(CW_METRICS_TOOL, busiest[i]));
        write_sums(w, stats, t->calls, t->failed, &all);
        cw_json_close(w);
    }
    cw_json_close(w);
}

typedef struct source_writer {
    cw_json_writer *w;
    const cw_admin_stats *stats;
} source_writer;

/* Why calls of a source failed, since the start. */
static void write_failures(cw_json_writer *w, uint32_t slot)
{
    cw_json_add_key(w, CW_STR("failures"));
    cw_json_open_object(w);
    for (uint32_t i = CW_ATTEMPT_TIMEOUT; i <= CW_ATTEMPT_QUEUE_FULL; i++) {
        int64_t n = cw_metrics_read(CW_METRIC_SOURCE_ATTEMPTS, slot, i, 0);
        if (n)
            cw_json_add_i64_member(w, cw_metrics_value_text(CW_METRIC_SOURCE_ATTEMPTS, 1, i), n);
    }
    cw_json_close(w);
}

static void on_source(const cw_source_report *report, void *ctx)
{
    const source_writer *of = ctx;
    uint32_t slot = cw_metrics_slot(CW_METRICS_SOURCE, report->name);
    cw_metrics_summary sum;
    cw_metrics_summarize(CW_METRIC_SOURCE_CALL, slot, 0, 0, &sum);
    cw_json_open_object(of->w);
    cw_json_add_string_member(of->w, CW_STR("name"), report->name);
    cw_json_add_string_member(of->w, CW_STR("state"), cw_str_from(report->state));
    write_sums(of->w, of->stats, of->stats->sources[slot].calls, of->stats->sources[slot].failed,
               &sum);
    cw_json_add_i64_member(of->w, CW_STR("running"),
                           cw_metrics_read(CW_METRIC_RUNNING, slot, 0, 0));
    cw_json_add_i64_member(of->w, CW_STR("queue"),
                           cw_metrics_read(CW_METRIC_SOURCE_QUEUE, slot, 0, 0) +
                               cw_metrics_read(CW_METRIC_PLUGIN_QUEUE, slot, 0, 0));
    write_failures(of->w, slot);
    cw_json_close(of->w);
}

static int64_t count_refusals(uint32_t reason)
{
    int64_t n = 0;
    for (uint32_t door = 0; door < DOORS; door++)
        n += cw_metrics_read(CW_METRIC_REFUSALS, door, reason, 0);
    return n;
}

/* The sample of an hour ago; NULL: the server is younger. */
static const sample *hour_ago(const cw_admin_stats *stats)
{
    const history *h = &stats->coarse;
    const sample *found = NULL;
    int64_t then = cw_clock_wall_ms() - HOUR_MS;
    for (uint32_t i = 0; i < n_steps(h) && sample_at(h, i)->at_ms <= then; i++)
        found = sample_at(h, i);
    return found;
}

/* Since the start, and of the last hour: to the step of an hour ago. */
static void write_refusals(cw_json_writer *w, const cw_admin_stats *stats)
{
    const sample *then = hour_ago(stats);
    cw_json_add_key(w, CW_STR("refusals"));
    cw_json_open_object(w);
    for (uint32_t o = CW_OUTCOME_WORD_INVALID; o < OUTCOMES; o++)
        cw_json_add_i64_member(w, cw_metrics_value_text(CW_METRIC_REFUSALS, 1, o),
                               count_refusals(o));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("refusals_last_hour"));
    cw_json_open_object(w);
    for (uint32_t o = CW_OUTCOME_WORD_INVALID; o < OUTCOMES; o++)
        cw_json_add_i64_member(w, cw_metrics_value_text(CW_METRIC_REFUSALS, 1, o),
                               count_refusals(o) - (then ? (int64_t)then->outcomes[o] : 0));
    cw_json_close(w);
}

/* The members of a result about the steps of `h`. */
static void write_stats(cw_json_writer *w, const cw_admin_stats *stats, const history *h)
{
    const cw_admin_server *server = stats->server;
    int64_t running = 0;
    for (uint32_t i = 0; i < cw_metrics_slots(CW_METRICS_SOURCE); i++)
        running += count_running(i);
    cw_json_add_i64_member(w, CW_STR("step_s"), h->step_ms / 1000);
    cw_json_add_i64_member(w, CW_STR("from"), h->n ? sample_at(h, 0)->at_ms : 0);
    cw_json_add_i64_member(w, CW_STR("until"), h->n ? sample_at(h, n_steps(h))->at_ms : 0);
    write_outcomes(w, h);
    write_durations(w, h, "p50_us", 0.5);
    write_durations(w, h, "p95_us", 0.95);
    write_durations(w, h, "p99_us", 0.99);
    write_running(w, h);
    write_idle(w, stats, h);
    write_tools(w, stats);
    cw_json_add_key(w, CW_STR("sources"));
    cw_json_open_array(w);
    cw_sources_each(server->sources, on_source, &(source_writer){w, stats});
    cw_json_close(w);
    write_refusals(w, stats);
    cw_json_add_i64_member(w, CW_STR("running_now"), running);
    cw_json_add_i64_member(w, CW_STR("max_calls"), server->config->limits.max_calls);
    cw_json_add_i64_member(w, CW_STR("connections"), server->connections(server->ctx));
}

/* The last steps of a history, and one at least: that has the rates of now. */
static history last_of(const history *h, uint32_t ms)
{
    history last = *h;
    last.most = h->step_ms && ms >= h->step_ms ? ms / h->step_ms + 1 : 2;
    return last;
}

/* The last step has the form of the whole result, with one value in each array. */
static void post_step(const cw_admin_stats *stats)
{
    CW_CLEANUP(cw_buf_done) cw_buf b;
    cw_json_writer w;
    cw_buf_init(&b, CW_METRICS_STEP_MAX);
    history last = last_of(&stats->fine, 0);
    if (!n_steps(&last))
        return;
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    write_stats(&w, stats, &last);
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL))
        cw_metrics_step_post(cw_buf_str(&b));
}

static cw_code stats_now(cw_admin_call *c, cw_err *err)
{
    const cw_admin_stats *stats = c->server->stats;
    if (!stats)
        return cw_fail(err, CW_CONFIG, "nothing is counted: set metrics.enabled");
    bool is_day = cw_str_is(cw_admin_text(c, "range"), "24h");
    uint32_t history_ms = c->config->console.history_ms;
    history h = last_of(is_day ? &stats->coarse : &stats->fine, history_ms);
    write_stats(c->out, stats, &h);
    cw_json_add_i64_member(c->out, CW_STR("history_s"), history_ms / 1000);
    return CW_OK;
}

/* ---- causeway.calls.recent ---- */

static cw_code recent(cw_admin_call *c, cw_err *err)
{
    (void)err;
    const cw_recent_query query = {(uint64_t)cw_admin_number(c, "after", 0),
                                   cw_admin_text(c, "tool"), cw_admin_text(c, "caller"),
                                   cw_admin_text(c, "outcome")};
    cw_recent_write(c->out, &query, (size_t)cw_admin_number(c, "limit", CW_RECENT_WRITE));
    return CW_OK;
}

/* ---- causeway.calls.running ---- */

#define RUNNING_MAX 100u

static void write_call(cw_json_writer *w, const cw_running_call *call, uint64_t now)
{
    char request[CW_IDS_HEX];
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("tool"), cw_str_make(call->tool, call->n_tool));
    cw_json_add_string_member(w, CW_STR("source"), cw_str_make(call->source, call->n_source));
    cw_json_add_string_member(w, CW_STR("caller"), cw_str_make(call->caller, call->n_caller));
    cw_json_add_string_member(w, CW_STR("door"), cw_str_from(call->door));
    cw_json_add_string_member(w, CW_STR("state"),
                              call->is_waiting ? CW_STR("waiting") : CW_STR("running"));
    if (call->begun_ns)
        cw_json_add_i64_member(w, CW_STR("us"), (int64_t)((now - call->begun_ns) / 1000));
    if (call->request) {
        cw_ids_format_request(call->request, request);
        cw_json_add_string_member(w, CW_STR("request_id"), cw_str_from(request));
    }
    cw_json_close(w);
}

/* The operation of a call that waits for its list. */
typedef struct listing {
    cw_admin_call *call;
    const cw_admin_server *server;
} listing;

static void on_listed(const cw_running_list *list, void *ctx)
{
    listing l = *(const listing *)ctx;
    uint64_t now = cw_clock_ns();
    free(ctx);
    if (!list || l.server->is_closed) /* the call has ended, and its memory is gone */
        return;
    cw_json_writer *w = l.call->out;
    size_t n = list->n < RUNNING_MAX ? list->n : RUNNING_MAX;
    cw_json_add_key(w, CW_STR("calls"));
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        write_call(w, &list->items[i], now);
    cw_json_close(w);
    cw_json_add_i64_member(w, CW_STR("left_out"), (int64_t)(list->n - n + list->left_out));
    l.call->finish(l.call, CW_OK, NULL);
}

static cw_code running(cw_admin_call *c, cw_err *err)
{
    listing *l = malloc(sizeof *l);
    if (!l)
        return cw_fail_nomem(err);
    *l = (listing){c, c->server};
    cw_code rc = cw_runtime_list_calls(c->server->runtime, c->server->loop, on_listed, l, err);
    if (rc)
        free(l);
    return rc ? rc : CW_AGAIN;
}

#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define OBJECT "{\"type\":\"object\"}"
#define OBJECTS "{\"type\":\"array\",\"items\":" OBJECT "}"
#define NUMBERS "{\"type\":\"array\",\"items\":{\"type\":[\"integer\",\"null\"]}}"

const cw_admin_method cw_admin_stats_methods[] = {
    {.name = "causeway.stats",
     .about = "Return rates, durations and failures of calls over time, by tool and by source",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[{\"name\":\"range\",\"description\":\"15m by default\",\"schema\":{\"enum\":"
               "[\"15m\",\"24h\"]}}]",
     .result = "{\"step_s\":" NUMBER ",\"from\":" NUMBER ",\"until\":" NUMBER ",\"calls\":" OBJECT
               ",\"p50_us\":" NUMBERS ",\"p95_us\":" NUMBERS ",\"p99_us\":" NUMBERS
               ",\"running\":" NUMBERS ",\"idle\":{\"type\":\"array\",\"items\":" NUMBERS
               "},\"tools\":" OBJECTS ",\"sources\":" OBJECTS ",\"refusals\":" OBJECT
               ",\"refusals_last_hour\":" OBJECT ",\"running_now\":" NUMBER ",\"max_calls\":" NUMBER
               ",\"connections\":" NUMBER ",\"history_s\":" NUMBER "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = stats_now},
    {.name = "causeway.calls.recent",
     .about = "Return the last calls, the newest first, without arguments and results",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[{\"name\":\"after\",\"description\":\"Only calls with a higher seq\",\"schema\":"
               "{\"type\":\"integer\",\"minimum\":0}},"
               "{\"name\":\"tool\",\"schema\":" TEXT "},{\"name\":\"outcome\",\"schema\":" TEXT
               "},{\"name\":\"caller\",\"schema\":" TEXT "},"
               "{\"name\":\"limit\",\"description\":\"100 by default\",\"schema\":{\"type\":"
               "\"integer\",\"minimum\":1,\"maximum\":100}}]",
     .result = "{\"calls\":" OBJECTS ",\"left_out\":" NUMBER ",\"last\":" NUMBER "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = recent},
    {.name = "causeway.calls.running",
     .about = "Return the calls that run now, the oldest first, without arguments",
     .permission = CW_PERMISSION_VIEW_TRAFFIC,
     .params = "[]",
     .result = "{\"calls\":" OBJECTS ",\"left_out\":" NUMBER "}",
     .place = CW_ADMIN_MAIN,
     .flags = CW_ADMIN_NEEDS_SERVER,
     .run = running},
    {.name = NULL},
};
