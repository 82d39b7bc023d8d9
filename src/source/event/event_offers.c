/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_offers.c - the events of a source among its methods, and their requirements. */
#include "source/event/event_offers.h"

#include "base/log.h"
#include "source/event/event_source.h"

#define SCRATCH_MAX (16u * 1024u * 1024u)

/* ---- requirements ---- */

static bool has_text(const cw_str *items, size_t n, cw_str text)
{
    for (size_t i = 0; i < n; i++) {
        if (cw_str_eq(items[i], text))
            return true;
    }
    return false;
}

static cw_code add_texts(const cw_str **list, size_t *n, const cw_str *more, size_t n_more,
                         cw_arena *arena)
{
    cw_str *all = cw_arena_calloc(arena, *n + n_more, sizeof *all);
    if (!all)
        return CW_NOMEM;
    if (*n)
        memcpy(all, *list, *n * sizeof *all);
    for (size_t i = 0; i < n_more; i++) {
        if (!has_text(all, *n, more[i]))
            all[(*n)++] = more[i];
    }
    *list = all;
    return CW_OK;
}

/* Add the requirements of another method. */
static cw_code require(cw_requirements *needs, const cw_requirements *more, cw_arena *arena)
{
    cw_code rc = add_texts(&needs->permissions, &needs->n_permissions, more->permissions,
                           more->n_permissions, arena);
    if (!rc)
        rc = add_texts(&needs->scopes, &needs->n_scopes, more->scopes, more->n_scopes, arena);
    if (more->level > needs->level)
        needs->level = more->level;
    needs->hidden_unless_met = needs->hidden_unless_met || more->hidden_unless_met;
    return rc;
}

static bool has_read_only(const cw_method *methods, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (methods[i].mark && methods[i].mark->is_read_only)
            return true;
    }
    return false;
}

static cw_code require_all(cw_requirements *needs, const cw_method *methods, size_t n,
                           bool only_reads, cw_arena *arena, bool *ret_any)
{
    cw_code rc = CW_OK;
    *ret_any = false;
    for (size_t i = 0; i < n && !rc; i++) {
        const cw_method *m = &methods[i];
        if (!m->mark || (only_reads && !m->mark->is_read_only))
            continue;
        rc = require(needs, &m->needs, arena);
        *ret_any = true;
    }
    return rc;
}

/* Everything that the read-only tools require together; without such tools, that all tools require.
 * The needs of a tool that is not offered may be incomplete, so it does not replace others.
 * *ret_is_known is false if the source has no tool. */
static cw_code read_tool_needs(const cw_source *source, const cw_event_list *events,
                               cw_arena *arena, cw_requirements *ret, bool *ret_is_known)
{
    bool unused;
    bool has_reads = has_read_only(source->methods, source->n_methods);
    bool has_absent = has_read_only(events->absent, events->n_absent);
    cw_code rc =
        require_all(ret, source->methods, source->n_methods, has_reads, arena, ret_is_known);
    *ret_is_known = *ret_is_known && !events->lacks_needs;
    return rc ? rc
              : require_all(ret, events->absent, events->n_absent, has_reads || has_absent, arena,
                            &unused);
}

static bool has_needs(const cw_config_event *e)
{
    return e->permissions.n || e->scopes.n || e->level != CW_CONFIG_AUTH_UNSET;
}

static cw_code own_needs(const cw_config_event *e, cw_arena *arena, cw_requirements *ret)
{
    cw_requirements own = {.permissions = e->permissions.items,
                           .n_permissions = e->permissions.n,
                           .scopes = e->scopes.items,
                           .n_scopes = e->scopes.n,
                           .hidden_unless_met = e->hidden_unless_met};
    switch (e->level) {
    case CW_CONFIG_AUTH_UNSET:
        own.level = e->scopes.n ? CW_AUTH_REQUIRED : CW_AUTH_NONE;
        break;
    case CW_CONFIG_AUTH_NONE:
        own.level = CW_AUTH_NONE;
        break;
    case CW_CONFIG_AUTH_OPTIONAL:
        own.level = CW_AUTH_OPTIONAL;
        break;
    case CW_CONFIG_AUTH_REQUIRED:
        own.level = CW_AUTH_REQUIRED;
        break;
    }
    return require(ret, &own, arena);
}

/* Lists of permissions are sorted (access/gate.h). This one is sorted as a copy. */
static cw_code sort_permissions(cw_requirements *needs, cw_arena *arena)
{
    cw_str *all = cw_arena_calloc(arena, needs->n_permissions, sizeof *all);
    if (!all)
        return CW_NOMEM;
    if (needs->n_permissions)
        memcpy(all, needs->permissions, needs->n_permissions * sizeof *all);
    needs->n_permissions = cw_requirements_sort(all, needs->n_permissions);
    needs->permissions = all;
    return CW_OK;
}

/* ---- rules ---- */

cw_code cw_event_source_open_rule(cw_event_hub *hub, cw_str source, cw_str name,
                                  const cw_config_event *config, cw_event_rule *ret, cw_err *err)
{
    const cw_event_rules rules = {
        .keep = config->keep, .max_age = config->keep_ms, .per_minute = config->per_minute};
    cw_event_rule rule = {.config = *config};
    rule.config.name = name;
    cw_code rc =
        config->schema.n ? cw_schema_compile_text(config->schema, NULL, &rule.schema, err) : CW_OK;
    if (rc)
        return rc == CW_NOMEM ? rc : cw_wrap(err, CW_PARAMS, "schema");
    rc = cw_event_open(hub, source, name, &rules, &rule.type, err);
    if (rc)
        cw_schema_unref(rule.schema);
    else
        *ret = rule;
    return rc;
}

void cw_event_source_close_rule(cw_event_rule *rule)
{
    cw_event_type_unref(rule->type);
    cw_schema_unref(rule->schema);
    rule->type = NULL;
    rule->schema = NULL;
}

/* ---- news ---- */

static void note_loss(cw_event_rule *rule, cw_event_loss loss)
{
    static const char *const texts[] = {
        [CW_EVENT_LOSS_SCHEMA] = "its data does not match its schema",
        [CW_EVENT_LOSS_WORK] = "its data is too much work to validate (limits.validation_steps)",
        [CW_EVENT_LOSS_LIMIT] = "there are too many, or it is too large",
        [CW_EVENT_LOSS_SECRET] = "it contains a secret of the source",
        [CW_EVENT_LOSS_MEMORY] = "there is not enough memory",
    };
    unsigned bit = 1u << loss;
    if (atomic_fetch_or(&rule->noted, bit) & bit)
        return;
    cw_log(CW_LOG_WARN, "source", "an event is dropped, as are others like it",
           CW_KV("source", cw_event_type_source(rule->type)),
           CW_KV("event", cw_event_type_name(rule->type)),
           CW_KV("problem", cw_str_from(texts[loss])));
}

void cw_event_source_drop(cw_event_rule *rule, cw_event_loss loss)
{
    cw_event_drop(rule->type, loss == CW_EVENT_LOSS_MEMORY   ? CW_EVENT_DROP_MEMORY
                              : loss == CW_EVENT_LOSS_SECRET ? CW_EVENT_DROP_SECRET
                                                             : CW_EVENT_DROP_SCHEMA);
    note_loss(rule, loss);
}

static cw_code check_data(const cw_event_rule *rule, cw_str text, const cw_json *data)
{
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    int64_t most = cw_event_type_steps(rule->type), left = most;
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, SCRATCH_MAX);
    cw_code rc = data ? CW_OK : cw_json_read(text, &opts, &scratch, &data, NULL, NULL);
    if (rc)
        return rc == CW_NOMEM ? rc : CW_PARAMS;
    rc = cw_schema_validate_within(rule->schema, data, NULL, &left);
    if (rc == CW_PARAMS || rc == CW_LIMIT)
        cw_event_type_add_waste(rule->type, most - left);
    return rc;
}

void cw_event_source_publish(cw_event_rule *rule, const cw_event_news *news, const cw_json *data)
{
    cw_code rc = cw_event_admit(rule->type, news);
    if (rc == CW_LIMIT)
        note_loss(rule, CW_EVENT_LOSS_LIMIT);
    if (rc)
        return;
    rc = rule->schema ? check_data(rule, news->data, data) : CW_OK;
    if (rc)
        cw_event_source_drop(rule, rc == CW_NOMEM   ? CW_EVENT_LOSS_MEMORY
                                   : rc == CW_LIMIT ? CW_EVENT_LOSS_WORK
                                                    : CW_EVENT_LOSS_SCHEMA);
    else if (cw_event_publish(rule->type, news) == CW_NOMEM)
        note_loss(rule, CW_EVENT_LOSS_MEMORY);
}

/* ---- events ---- */

static cw_code make_offer(const cw_event_rule *rule, const cw_requirements *usual, cw_arena *arena,
                          cw_event_offer *ret)
{
    const cw_config_pairs *pairs = &rule->config.arguments;
    cw_event_filter *filters = cw_arena_calloc(arena, pairs->n, sizeof *filters);
    if (!filters)
        return CW_NOMEM;
    for (size_t i = 0; i < pairs->n; i++)
        filters[i] = (cw_event_filter){pairs->items[i].name, pairs->items[i].value};
    *ret = (cw_event_offer){.event = {.type = rule->type,
                                      .description = rule->config.description,
                                      .schema = rule->config.schema,
                                      .filters = filters,
                                      .n_filters = pairs->n}};
    cw_code rc = has_needs(&rule->config) ? own_needs(&rule->config, arena, &ret->needs)
                                          : require(&ret->needs, usual, arena);
    return rc ? rc : sort_permissions(&ret->needs, arena);
}

static cw_code make_offers(const cw_source *source, const cw_event_list *events, cw_arena *arena,
                           cw_buf *warnings, cw_event_offer **ret, size_t *ret_n)
{
    size_t n_offers = 0;
    bool is_known;
    cw_requirements usual = {0};
    cw_event_offer *offers = cw_arena_calloc(arena, events->n, sizeof *offers);
    cw_code rc = offers ? read_tool_needs(source, events, arena, &usual, &is_known) : CW_NOMEM;
    for (size_t i = 0; i < events->n && !rc; i++) {
        const cw_event_rule *rule = &events->rules[i];
        if (has_needs(&rule->config) || is_known)
            rc = make_offer(rule, &usual, arena, &offers[n_offers++]);
        else
            cw_buf_printf(warnings, "%sevent '%.*s': %s, so set permissions, scopes or auth_level",
                          warnings->n ? "\n" : "", CW_STR_ARG(rule->config.name),
                          events->lacks_needs
                              ? "the requirements of a tool that is not offered are not known"
                              : "the source has no tools");
    }
    *ret = offers;
    *ret_n = n_offers;
    return rc;
}

/* The methods of the companion behind those of the source. */
static cw_code append_methods(cw_source *source, cw_arena *arena, cw_err *err)
{
    const cw_source *companion = source->companion;
    size_t n = source->n_methods;
    cw_method *all = cw_arena_calloc(arena, n + companion->n_methods, sizeof *all);
    if (!all)
        return cw_arena_fail(arena, err);
    if (n)
        memcpy(all, source->methods, n * sizeof *all);
    memcpy(all + n, companion->methods, companion->n_methods * sizeof *all);
    source->methods = all;
    source->n_methods = n + companion->n_methods;
    return CW_OK;
}

cw_code cw_event_source_add(cw_source *source, const cw_event_list *events, cw_arena *arena,
                            cw_buf *warnings, cw_err *err)
{
    cw_event_offer *offers;
    size_t n;
    cw_arena scratch;
    cw_arena_init(&scratch, SCRATCH_MAX);
    cw_code rc = make_offers(source, events, &scratch, warnings, &offers, &n);
    if (rc)
        rc = cw_fail_nomem(err);
    cw_event_source_opts opts = {.source = source->name,
                                 .n_loops = events->n_loops,
                                 .accounts = events->accounts,
                                 .offers = offers,
                                 .n = n};
    if (!rc && n)
        rc = cw_event_source_new(&opts, &source->companion, err);
    cw_arena_done(&scratch);
    return rc || !n ? rc : append_methods(source, arena, err);
}
