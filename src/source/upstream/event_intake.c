/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_intake.c - the notifications that are events, and their parts for clients. */
#include "source/upstream/event_intake.h"

#include <stdlib.h>

#include "json/write.h"
#include "source/protocol/sanitize.h"
#include "source/upstream/preset_events.h"

#define ARENA_MAX (4u * 1024u * 1024u)
#define MS_FROM 100000000000 /* a larger number of a time is in milliseconds */

struct cw_event_intake {
    atomic_uint refs;
    cw_arena arena;
    cw_endpoint *service; /* a reference */
    cw_str source;        /* its name */
    cw_event_rule *rules;
    size_t n;
    cw_event_subscription *subscriptions;
    size_t n_subscriptions;
};

/* ---- the rules ---- */

static bool is_pattern(cw_str name)
{
    return memchr(name.p, '*', name.n) || memchr(name.p, '?', name.n);
}

static bool is_there(const cw_event_intake *intake, cw_str name)
{
    for (size_t i = 0; i < intake->n; i++) {
        if (cw_str_eq(intake->rules[i].config.name, name))
            return true;
    }
    return false;
}

static void add_subscription(cw_event_intake *intake, const cw_config_event *e)
{
    if (e->subscribe.method.n == 0)
        return;
    for (size_t i = 0; i < intake->n_subscriptions; i++) {
        const cw_event_subscription *s = &intake->subscriptions[i];
        if (cw_str_eq(s->method, e->subscribe.method) && cw_str_eq(s->params, e->subscribe.params))
            return;
    }
    intake->subscriptions[intake->n_subscriptions++] =
        (cw_event_subscription){e->subscribe.method, e->subscribe.params};
}

/* An event with an invalid schema is left out: its data could not be checked. */
static cw_code add_rule(cw_event_intake *intake, cw_event_hub *hub, const cw_config_event *e,
                        cw_buf *warnings, cw_err *err)
{
    cw_event_rule *rule = &intake->rules[intake->n];
    if (is_there(intake, e->name) || intake->n == CW_EVENT_MAX_TYPES)
        return CW_OK;
    cw_code rc = cw_event_source_open_rule(hub, intake->source, e->name, e, rule, err);
    if (rc == CW_PARAMS)
        cw_buf_printf(warnings, "%sevents: '%.*s' is left out: %s", warnings->n ? "\n" : "",
                      CW_STR_ARG(e->name), err ? err->msg : "");
    if (rc)
        return rc == CW_PARAMS ? CW_OK : rc;
    if (e->method.n == 0)
        rule->config.method = rule->config.name;
    add_subscription(intake, &rule->config);
    intake->n++;
    return CW_OK;
}

/* An entry without wildcards goes before those with some. */
static cw_code add_entry(cw_event_intake *intake, cw_event_hub *hub, const cw_config_event *own,
                         cw_str preset, cw_buf *warnings, cw_err *err)
{
    size_t n, n_found = 0;
    cw_code rc = CW_OK;
    const cw_config_event *rows = cw_preset_events(preset, &n);
    for (size_t i = 0; i < n && !rc; i++) {
        if (!cw_str_matches(own->name, rows[i].name, CW_STR_ANY_BYTE))
            continue;
        cw_config_event all = cw_preset_event_merge(own, &rows[i]);
        rc = add_rule(intake, hub, &all, warnings, err);
        n_found++;
    }
    if (!rc && n_found == 0 && !is_pattern(own->name))
        return add_rule(intake, hub, own, warnings, err);
    if (!rc && n_found == 0)
        cw_buf_printf(warnings, "%sevents: '%.*s' fits none of the preset", warnings->n ? "\n" : "",
                      CW_STR_ARG(own->name));
    return rc;
}

static size_t count_rules(const cw_config_remote *config)
{
    size_t n, n_rows;
    (void)cw_preset_events(config->preset, &n_rows);
    n = config->events.n + n_rows;
    return n < CW_EVENT_MAX_TYPES ? n : CW_EVENT_MAX_TYPES;
}

static cw_code fill(cw_event_intake *intake, cw_event_hub *hub, cw_buf *warnings, cw_err *err)
{
    const cw_config_remote *config = &intake->service->config;
    size_t n = count_rules(config);
    cw_code rc = CW_OK;
    intake->rules = cw_arena_calloc(&intake->arena, n + 1, sizeof *intake->rules);
    intake->subscriptions = cw_arena_calloc(&intake->arena, n + 1, sizeof *intake->subscriptions);
    intake->source = config->name;
    if (!intake->rules || !intake->subscriptions)
        return cw_arena_fail(&intake->arena, err);
    for (int patterns = 0; patterns < 2; patterns++) {
        for (size_t i = 0; i < config->events.n && !rc; i++) {
            const cw_config_event *e = &config->events.items[i];
            if (is_pattern(e->name) == (patterns == 1))
                rc = add_entry(intake, hub, e, config->preset, warnings, err);
        }
    }
    return rc;
}

cw_code cw_event_intake_new(cw_event_hub *hub, cw_endpoint *service, cw_buf *warnings,
                            cw_event_intake **ret, cw_err *err)
{
    if (!hub || service->config.events.n == 0)
        return CW_OK;
    cw_event_intake *intake = calloc(1, sizeof *intake);
    if (!intake)
        return cw_fail_nomem(err);
    atomic_init(&intake->refs, 1);
    cw_arena_init(&intake->arena, ARENA_MAX);
    intake->service = cw_endpoint_ref(service);
    cw_code rc = fill(intake, hub, warnings, err);
    if (rc || intake->n == 0)
        cw_event_intake_unref(intake);
    else
        *ret = intake;
    return rc;
}

cw_event_intake *cw_event_intake_ref(cw_event_intake *intake)
{
    atomic_fetch_add(&intake->refs, 1);
    return intake;
}

void cw_event_intake_unref(cw_event_intake *intake)
{
    if (!intake || atomic_fetch_sub(&intake->refs, 1) != 1)
        return;
    for (size_t i = 0; i < intake->n; i++)
        cw_event_source_close_rule(&intake->rules[i]);
    cw_arena_done(&intake->arena);
    cw_endpoint_unref(intake->service);
    free(intake);
}

const cw_event_rule *cw_event_intake_rules(const cw_event_intake *intake, size_t *ret_n)
{
    *ret_n = intake->n;
    return intake->rules;
}

const cw_event_subscription *cw_event_intake_subscriptions(const cw_event_intake *intake,
                                                           size_t *ret_n)
{
    *ret_n = intake->n_subscriptions;
    return intake->subscriptions;
}

/* ---- notifications ---- */

/* Seconds or milliseconds since 1970, or {"seconds":…,"microseconds":…}; 0: it is none of these. */
static int64_t read_time(const cw_json *v)
{
    double n = 0, us = 0;
    if (cw_json_is(v, CW_JSON_OBJECT)) {
        const cw_json *more = cw_json_get(v, CW_STR("microseconds"));
        if (!cw_json_to_double(cw_json_get(v, CW_STR("seconds")), &n) || n >= MS_FROM)
            return 0;
        if (more && cw_json_to_double(more, &us))
            n += us / 1e6;
    } else if (!cw_json_is(v, CW_JSON_NUMBER) || !cw_json_to_double(v, &n)) {
        return 0;
    }
    if (n < 1 || n >= MS_FROM * 1000.0)
        return 0;
    return (int64_t)(n >= MS_FROM ? n : n * 1000);
}

/* Whether the event has a secret: in its data, its id, or in names of tables and rows. */
static bool has_secret(const cw_event_intake *intake, const cw_event_news *news,
                       const cw_json *from)
{
    const cw_secrets *secrets = &intake->service->secrets;
    return !cw_sanitize_has_no_secret(secrets, from) || cw_secrets_are_in(secrets, news->id) ||
           cw_secrets_are_in(secrets, news->data);
}

/* `from`: the part of the message that the data is made of. `data`: the same, if it is the data
 * unchanged; else NULL. */
static void publish(const cw_event_intake *intake, cw_event_rule *rule, cw_event_news news,
                    const cw_json *from, const cw_json *data)
{
    if (has_secret(intake, &news, from))
        cw_event_source_drop(rule, CW_EVENT_LOSS_SECRET);
    else
        cw_event_source_publish(rule, &news, data);
}

/* ---- rows of OVSDB: {TABLE: {UUID: {"old":…,"new":…}}} ---- */

static cw_config_rows change_of(const cw_json *row)
{
    bool has_old = cw_json_is(cw_json_get(row, CW_STR("old")), CW_JSON_OBJECT);
    bool has_new = cw_json_is(cw_json_get(row, CW_STR("new")), CW_JSON_OBJECT);
    if (has_old && has_new)
        return CW_CONFIG_ROWS_MODIFIED;
    return has_new   ? CW_CONFIG_ROWS_INSERTED
           : has_old ? CW_CONFIG_ROWS_DELETED
                     : CW_CONFIG_ROWS_NONE;
}

/* `old` or `new`, if it is an object. A row may have other members, even of the names that are added. */
static void add_state(cw_json_writer *w, const cw_json *row, cw_str name)
{
    const cw_json *state = cw_json_get(row, name);
    if (!cw_json_is(state, CW_JSON_OBJECT))
        return;
    cw_json_add_key(w, name);
    cw_json_add_span(w, cw_json_span(state));
}

static void publish_row(const cw_event_intake *intake, cw_event_rule *rule, cw_str table,
                        cw_str uuid, const cw_json *row)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("table"), table);
    cw_json_add_string_member(&w, CW_STR("uuid"), uuid);
    add_state(&w, row, CW_STR("old"));
    add_state(&w, row, CW_STR("new"));
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        cw_event_source_drop(rule, CW_EVENT_LOSS_MEMORY);
    else
        publish(intake, rule, (cw_event_news){.data = cw_buf_str(&text)}, row, NULL);
}

static void publish_rows(const cw_event_intake *intake, cw_event_rule *rule, const cw_json *tables)
{
    if (!cw_json_is(tables, CW_JSON_OBJECT))
        return;
    for (const cw_json *t = cw_json_first(tables); t; t = cw_json_next_key(t)) {
        const cw_json *rows = cw_json_value(t);
        bool is_map = cw_json_is(rows, CW_JSON_OBJECT);
        for (const cw_json *u = is_map ? cw_json_first(rows) : NULL; u; u = cw_json_next_key(u)) {
            const cw_json *row = cw_json_value(u);
            if (cw_json_is(row, CW_JSON_OBJECT) && change_of(row) == rule->config.rows)
                publish_row(intake, rule, cw_json_text(t), cw_json_text(u), row);
        }
    }
}

static void receive(const cw_event_intake *intake, cw_event_rule *rule, const cw_json *message)
{
    const cw_config_event *c = &rule->config;
    const cw_json *data = c->has_whole ? message
                          : c->data.n  ? cw_json_pointer(message, c->data)
                                       : cw_json_get(message, CW_STR("params"));
    if (c->rows) {
        publish_rows(intake, rule, data);
        return;
    }
    const cw_json *id = c->id.n ? cw_json_pointer(message, c->id) : NULL;
    const cw_json *time = c->time.n ? cw_json_pointer(message, c->time) : NULL;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    if (data)
        cw_json_add_compact(&text, data);
    else
        cw_buf_add(&text, CW_STR("{}"));
    if (text.code) {
        cw_event_source_drop(rule, CW_EVENT_LOSS_MEMORY);
        return;
    }
    publish(intake, rule,
            (cw_event_news){.id = id ? cw_json_text(id) : CW_STR(""),
                            .time = read_time(time),
                            .data = cw_buf_str(&text)},
            data ? data : message, data);
}

void cw_event_intake_receive(cw_event_intake *intake, cw_str method, const cw_json *message)
{
    for (size_t i = 0; i < intake->n; i++) {
        if (cw_str_eq(intake->rules[i].config.method, method))
            receive(intake, &intake->rules[i], message);
    }
}

void cw_event_intake_gap(cw_event_intake *intake)
{
    for (size_t i = 0; i < intake->n; i++)
        cw_event_gap(intake->rules[i].type);
}
