/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.c - the requests about a job, and the states that responses and notifications show. */
#include "source/remote/job.h"

#include <math.h>
#include <stdlib.h>

#include "source/protocol/sanitize.h"

#define JOB CW_STR("\"$job\"")
#define FAILED (-32000) /* for callers that are no MCP clients */
#define CALLS 4u /* of a rule: poll, result, dismiss, cancel, in the order of cw_follow_step */

struct cw_job_rule {
    const cw_config_job *config;
    cw_config_job_call calls[CALLS];
    cw_request_template wires[CALLS];
    cw_str paths[CALLS];
};

/* ---- rules ---- */

static const cw_config_job *find_config(const cw_config_jobs *jobs, cw_str method)
{
    for (size_t i = 0; i < jobs->n; i++) {
        const cw_config_strings *names = &jobs->items[i].methods;
        for (size_t k = 0; k < names->n; k++) {
            if (cw_str_matches(names->items[k], method, CW_STR_ANY_BYTE))
                return &jobs->items[i];
        }
    }
    return NULL;
}

/* Params with the secret in them, if the service requires it there. */
static cw_str add_secret(const cw_protocol_opts *protocol, cw_str params, cw_arena *arena)
{
    cw_str first = protocol->secret_first, member = protocol->secret_member;
    bool is_object = params.n ? params.p[0] == '{' : member.n > 0;
    cw_str secret = is_object ? member : first;
    bool is_empty = params.n <= 2;
    if (!secret.n)
        return params;
    cw_str rest =
        is_empty ? cw_str_from(is_object ? "}" : "]") : cw_str_make(params.p + 1, params.n - 1);
    char *text = cw_arena_printf(arena, "%c%.*s%s%.*s", is_object ? '{' : '[', CW_STR_ARG(secret),
                                 is_empty ? "" : ",", CW_STR_ARG(rest));
    return text ? cw_str_from(text) : (cw_str){NULL, 0};
}

cw_code cw_job_rule_make(const cw_endpoint *service, cw_str method, cw_arena *arena,
                         const cw_job_rule **ret, cw_err *err)
{
    const cw_config_job *config = find_config(&service->config.jobs, method);
    *ret = NULL;
    if (!config)
        return CW_OK;
    cw_job_rule *rule = cw_arena_calloc(arena, 1, sizeof *rule);
    if (!rule)
        return cw_arena_fail(arena, err);
    rule->config = config;
    rule->calls[CW_FOLLOW_POLL] = config->poll;
    rule->calls[CW_FOLLOW_RESULT] = config->result;
    rule->calls[CW_FOLLOW_DISMISS] = config->dismiss;
    rule->calls[CW_FOLLOW_CANCEL] = config->cancel;
    cw_code rc = CW_OK;
    for (size_t i = 0; i < CALLS && !rc; i++) {
        cw_str name = rule->calls[i].method;
        if (name.n == 0)
            continue;
        rule->calls[i].params = add_secret(&service->protocol, rule->calls[i].params, arena);
        if (!rule->calls[i].params.p)
            return cw_arena_fail(arena, err);
        rc = cw_request_template_make(&service->protocol, name, arena, &rule->wires[i], err);
        if (!rc)
            rc = cw_endpoint_call_path(service, name, arena, &rule->paths[i], err);
    }
    *ret = rule;
    return rc;
}

bool cw_job_can_cancel(const cw_job_rule *rule)
{
    return rule->calls[CW_FOLLOW_CANCEL].method.n > 0;
}

uint32_t cw_job_interval(const cw_job_rule *rule)
{
    return rule->config->interval_ms;
}

cw_str cw_job_id(const cw_job_rule *rule, const cw_json *result, cw_str params, cw_arena *arena)
{
    const cw_json *sent = NULL, *id = NULL;
    if (!rule->config->id_param.n)
        id = cw_json_pointer(result, rule->config->id);
    else if (params.n && !cw_json_read(params, NULL, arena, &sent, NULL, NULL))
        id = cw_json_pointer(sent, rule->config->id_param);
    bool is_id = cw_json_is(id, CW_JSON_STRING) || cw_json_is(id, CW_JSON_NUMBER);
    cw_str text = is_id ? cw_json_span(id) : (cw_str){NULL, 0};
    return text.n && text.n <= CW_FOLLOW_KEY ? text : (cw_str){NULL, 0};
}

/* ---- requests ---- */

/* Replace the mark by the id. Values are compact JSON, and a quote in a string has a backslash, so
 * a search for the text of the mark finds it. */
static cw_str fill_in(cw_str params, cw_str id, cw_arena *arena)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    while (params.n >= JOB.n) {
        const char *at = memmem(params.p, params.n, JOB.p, JOB.n);
        if (!at)
            break;
        size_t before = (size_t)(at - params.p);
        cw_buf_add(&out, cw_str_make(params.p, before));
        cw_buf_add(&out, id);
        params = cw_str_make(at + JOB.n, params.n - before - JOB.n);
    }
    cw_buf_add(&out, params);
    return out.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&out));
}

static cw_code write_step(const cw_follower *f, cw_follow_step step, cw_arena *arena,
                          cw_follow_request *ret)
{
    const cw_job_rule *rule = cw_follower_rule(f);
    if (step >= CALLS || rule->calls[step].method.n == 0)
        return CW_NOTFOUND;
    cw_str params = fill_in(rule->calls[step].params, cw_follower_key(f), arena);
    *ret = (cw_follow_request){
        .wire = &rule->wires[step], .params = params, .path = rule->paths[step]};
    return params.p ? CW_OK : CW_NOMEM;
}

/* ---- states ---- */

static cw_str text_of(const cw_json *v)
{
    if (!v || cw_json_is(v, CW_JSON_NULL))
        return CW_STR("");
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : cw_json_span(v);
}

static bool is_one_of(const cw_config_strings *values, cw_str text)
{
    for (size_t i = 0; i < values->n; i++) {
        if (cw_str_eq(values->items[i], text))
            return true;
    }
    return false;
}

static void fail(cw_follow_state *ret, const char *prefix, cw_str why, cw_arena *arena)
{
    char *text = cw_arena_printf(arena, "%s%.*s", prefix, CW_STR_ARG(why));
    cw_str clean = text ? cw_sanitize_message(cw_str_from(text), arena) : (cw_str){NULL, 0};
    ret->has_ended = true;
    ret->outcome = (cw_outcome){.kind = CW_OUTCOME_ERROR,
                                .code = FAILED,
                                .message = clean.p ? clean : CW_STR("The job has failed.")};
}

static void finish(cw_follow_state *ret, const cw_json *result)
{
    ret->has_ended = true;
    ret->outcome = (cw_outcome){.kind = CW_OUTCOME_RESULT, .result = result, .is_unchecked = true};
}

/* The job of this follower in a list. NULL: it is not there. */
static const cw_json *find_item(const cw_follower *f, const cw_json *list, cw_str pointer)
{
    bool is_list = cw_json_is(list, CW_JSON_ARRAY);
    for (const cw_json *v = is_list ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
        const cw_json *id = cw_json_pointer(v, pointer);
        if (id && cw_str_eq(cw_json_span(id), cw_follower_key(f)))
            return v;
    }
    return NULL;
}

/* Services write large numbers as strings. */
static double number_at(const cw_json *job, const cw_config_strings *pointers, size_t i)
{
    double number = (double)NAN;
    const cw_json *v = i < pointers->n ? cw_json_pointer(job, pointers->items[i]) : NULL;
    char text[32], *rest;
    if (cw_json_is(v, CW_JSON_STRING) && v->n && v->n < sizeof text) {
        memcpy(text, cw_json_text(v).p, v->n);
        text[v->n] = '\0';
        number = strtod(text, &rest);
        return *rest ? (double)NAN : number;
    }
    return cw_json_is(v, CW_JSON_NUMBER) && cw_json_to_double(v, &number) ? number : (double)NAN;
}

static void judge(cw_follower *f, cw_follow_step step, const cw_outcome *polled, cw_arena *arena,
                  cw_follow_state *ret)
{
    const cw_job_rule *rule = cw_follower_rule(f);
    const cw_config_job *config = rule->config;
    const cw_json *job = polled->result;
    if (step == CW_FOLLOW_RESULT) {
        finish(ret, job);
        return;
    }
    if (config->item.n)
        job = find_item(f, job, config->item);
    if (!job) {
        fail(ret, "The service does not list the job any more; how it ended is not known.",
             CW_STR(""), arena);
        return;
    }
    cw_str status = text_of(cw_json_pointer(job, config->status));
    cw_str error = config->error.n ? text_of(cw_json_pointer(job, config->error)) : CW_STR("");
    bool has_failed = is_one_of(&config->failed, status);
    if (has_failed || (is_one_of(&config->done, status) && error.n))
        fail(ret, error.n ? "The job has failed: " : "The job has ended with the status ",
             error.n ? error : status, arena);
    else if (is_one_of(&config->done, status))
        finish(ret, job);
    else
        ret->progress = (cw_progress){.progress = number_at(job, &config->progress, 0),
                                      .total = number_at(job, &config->progress, 1),
                                      .message = status};
}

static cw_code judge_news(const cw_follower *f, const cw_job_end *news, cw_arena *arena,
                          cw_follow_state *ret)
{
    const cw_json *params;
    (void)f;
    if (cw_json_read(news->data, NULL, arena, &params, NULL, NULL))
        return CW_NOTFOUND;
    cw_str error = news->error.n ? text_of(cw_json_pointer(params, news->error)) : CW_STR("");
    if (error.n)
        fail(ret, "The job has failed: ", error, arena);
    else
        finish(ret, params);
    return CW_OK;
}

const cw_follow_ops cw_job_ops = {.write = write_step, .judge = judge, .judge_news = judge_news};
