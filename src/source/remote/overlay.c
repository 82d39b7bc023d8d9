/* SPDX-License-Identifier: GPL-2.0-or-later */
/* overlay.c - the operator's settings for the methods of a service.
 *
 *     document: all methods   x   overlay: some of them, marked   ->   offer
 *
 * A method that no overlay names is left out. Entries with wildcards name all methods that match,
 * except those named by an earlier entry or by one without wildcards. The service's own
 * values (title, annotations, scopes) apply unless the operator sets others. They can require more
 * of callers. They never expose a method, and never allow a call to be repeated.
 */
#include "base/file.h"
#include "base/map.h"
#include "base/percent.h"
#include "catalogue/method_schemas.h"
#include "catalogue/tool/portable_name.h"
#include "json/write.h"
#include "source/openrpc/openrpc.h"
#include "source/remote/mcp/exposure.h"
#include "source/remote/mcp/relayed.h"
#include "source/remote/remote_int.h"
#include "source/remote/required_access.h"
#include "source/remote/views.h"

#define NEAR 8u            /* edits, for "did you mean" */
#define WITHHELD_TOLD 200u /* differences from the lock that have a line each */

typedef struct reading {
    size_t list; /* of the overlay, that is being applied: source/remote/mcp/exposure.h */
    cw_remote *remote;
    const cw_remote_reading *given;
    const cw_json *doc;
    cw_method *found;          /* all of the document */
    const cw_json **described; /* as the document has them */
    size_t n_found;
    bool *is_named; /* by an entry */
    cw_map by_id;
    cw_map requires;  /* by method: its former requirements */
    cw_map kept;      /* methods that keep their former requirements */
    bool *is_settled; /* by index: the operator has accepted its present requirements */
    cw_arena scratch; /* of one mark */
    cw_method *offer;
    cw_remote_tool *tools;
    size_t n;
    size_t n_told;  /* differences from the lock */
    size_t n_unfit; /* resources and prompts that cannot be shown; the first has a line */
    cw_remote_defaults defaults;
    cw_remote_views views;
    bool omits_more;         /* the method that is being made is shown without icons and _meta */
    size_t n_met, n_missing; /* entries that expose a method, and that name a missing one */
    cw_remote_definition *definitions; /* NULL: not requested */
    size_t n_definitions;
} reading;

static void add_line(cw_buf *lines, const char *text)
{
    cw_buf_add_line(lines, "%s", text);
}

static cw_code nomem(const reading *x, cw_err *err)
{
    return cw_arena_fail(&x->remote->arena, err);
}

/* ---- names ---- */

static bool is_pattern(cw_str text)
{
    return memchr(text.p, '*', text.n) || memchr(text.p, '?', text.n);
}

/* Report the portable name of a method, which is no name here: a pattern such as "a_*" would match
 * more. False: it is none. */
static bool report_portable(const reading *x, cw_str id, cw_err *err)
{
    char room[CW_PORTABLE_NAME_MAX];
    for (size_t i = 0; i < x->n_found; i++) {
        cw_str own = x->found[i].id;
        bool is_tool = own.n && !x->found[i].exposed;
        if (!is_tool || !cw_str_eq(cw_portable_name(own, room), id))
            continue;
        cw_fail(err, CW_PARAMS, "method '%.*s' is the portable name of '%.*s': use that one here",
                CW_STR_ARG(id), CW_STR_ARG(own));
        return true;
    }
    return false;
}

static void report_unknown(const reading *x, cw_str id, cw_err *err)
{
    const char *word = cw_exposure_word(x->list);
    cw_str nearest = {NULL, 0};
    unsigned best = NEAR + 1;
    if (x->list == 0 && report_portable(x, id, err))
        return;
    for (size_t i = 0; i < x->n_found; i++) {
        if (cw_exposure_list(&x->found[i]) != x->list)
            continue;
        unsigned d = cw_str_distance_within(cw_exposure_name(&x->found[i]), id, NEAR);
        if (d < best) {
            best = d;
            nearest = cw_exposure_name(&x->found[i]);
        }
    }
    if (nearest.p)
        cw_fail(err, CW_PARAMS, "%s '%.*s': the service has no such %s; did you mean '%.*s'?", word,
                CW_STR_ARG(id), word, CW_STR_ARG(nearest));
    else
        cw_fail(err, CW_PARAMS, "%s '%.*s': the service has no such %s", word, CW_STR_ARG(id),
                word);
}

/* A service may drop a method at any time, or hide it from this account. The other methods stay.
 * After all entries, check_missing() decides whether this is a warning or a problem. */
static void miss_method(reading *x, cw_str id)
{
    cw_err text;
    x->n_missing++;
    report_unknown(x, id, &text);
    add_line(x->given->missing, text.msg);
}

/* Set the id for clients: the operator's name for the method, or the prefix and its own id. */
static cw_code rename_method(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    cw_str prefix = x->given->config->prefix;
    if (m->exposed)
        return cw_exposure_apply(o, prefix, &x->remote->arena, m, err);
    if (o->name.n == 0 && prefix.n == 0)
        return CW_OK;
    char *id = o->name.n ? cw_arena_dup(&x->remote->arena, o->name.p, o->name.n)
                         : cw_arena_printf(&x->remote->arena, "%.*s%.*s", CW_STR_ARG(prefix),
                                           CW_STR_ARG(m->id));
    if (!id)
        return nomem(x, err);
    m->id = cw_str_from(id);
    return CW_OK;
}

/* ---- the lock ---- */

static cw_code keep_definition(reading *x, cw_str id, cw_str text)
{
    cw_remote_definition *d = &x->definitions[x->n_definitions];
    *d = (cw_remote_definition){id, cw_arena_dup_str(&x->remote->arena, text)};
    if (!d->definition.p)
        return CW_NOMEM;
    x->n_definitions++;
    return CW_OK;
}

/* Limited, so that a service with thousands of resources leaves room for other warnings. */
static void warn_of_lock(reading *x, cw_str id, const char *problem, const char *effect)
{
    if (++x->n_told > WITHHELD_TOLD)
        return;
    cw_buf_add_line(x->given->warnings, "method '%.*s': %s; %s `causeway source approve`",
                    CW_STR_ARG(id), problem, effect);
}

static void warn_of_others(const reading *x)
{
    cw_err text;
    if (x->n_told <= WITHHELD_TOLD)
        return;
    cw_fail(&text, CW_PARAMS, "%zu more are new or have changed; see `causeway source diff`",
            x->n_told - WITHHELD_TOLD);
    add_line(x->given->warnings, text.msg);
}

/* Whether the lock has the same tool without its icons and _meta. */
static bool has_plain(const reading *x, const cw_method *found, const cw_json *described)
{
    if (!cw_json_get(described, CW_STR("x-mcp-more")))
        return false;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_lock_define_plain(found, described, &text);
    return !text.code && cw_lock_check(x->given->lock, x->given->config->name, found->id,
                                       cw_buf_str(&text), NULL) == CW_LOCK_SAME;
}

/* Whether an entry with this definition may be shown. A difference is added to the warnings.
 * `found` is NULL for instructions. */
static bool is_approved_as(reading *x, cw_str id, cw_str definition, const cw_method *found,
                           const cw_json *described)
{
    const cw_remote_reading *given = x->given;
    bool warns = given->config->warns_only;
    cw_lock_verdict verdict = cw_lock_check(given->lock, given->config->name, id, definition, NULL);
    if (verdict == CW_LOCK_SAME)
        return true;
    if (found && !warns && has_plain(x, found, described)) {
        x->omits_more = true;
        warn_of_lock(x, id, "its icons and _meta were never approved", "they are withheld until");
        return true;
    }
    warn_of_lock(x, id,
                 verdict == CW_LOCK_NEW ? "it was never approved" : "its definition has changed",
                 warns ? "see `causeway source diff` and" : "it is withheld until");
    return warns;
}

/* Whether a tool may be shown. A difference from the lock is added to the warnings. */
static bool may_show(reading *x, const cw_method *found, const cw_json *described, cw_code *ret)
{
    const cw_remote_reading *given = x->given;
    x->omits_more = false;
    if (given->withholds_all)
        return false;
    if (!given->lock && !given->defines)
        return true;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_LOCK_MAX_BYTES);
    cw_lock_define(found, described, &text);
    *ret = text.code;
    if (!*ret && given->defines)
        *ret = keep_definition(x, found->id, cw_buf_str(&text));
    if (*ret)
        return false;
    return !given->lock || is_approved_as(x, found->id, cw_buf_str(&text), found, described);
}

/* ---- instructions of an MCP server ---- */

static cw_code show_instructions(reading *x, cw_str text, cw_err *err)
{
    const cw_remote_reading *given = x->given;
    const cw_str id = CW_STR(CW_EXPOSURE_INSTRUCTIONS);
    CW_CLEANUP(cw_buf_done) cw_buf definition;
    cw_buf_init(&definition, CW_LOCK_MAX_BYTES);
    cw_lock_define_text(id, text, &definition);
    cw_code rc = definition.code;
    if (!rc && given->defines)
        rc = keep_definition(x, id, cw_buf_str(&definition));
    if (rc)
        return cw_fail_nomem(err);
    bool is_shown = !given->withholds_all &&
                    (!given->lock || is_approved_as(x, id, cw_buf_str(&definition), NULL, NULL));
    if (!is_shown) {
        x->remote->n_withheld++;
        return CW_OK;
    }
    x->remote->base.instructions = cw_arena_dup_str(&x->remote->arena, text);
    return x->remote->base.instructions.p ? CW_OK : nomem(x, err);
}

/* Models read instructions as they read tools, so hidden text in them is a problem too. */
static cw_code read_instructions(reading *x, cw_err *err)
{
    const cw_json *text = cw_json_get(x->doc, CW_STR("x-instructions"));
    cw_err hidden;
    if (!x->given->config->relays_instructions || !cw_json_is(text, CW_JSON_STRING))
        return CW_OK;
    const cw_method as_method = {.id = CW_STR(CW_EXPOSURE_INSTRUCTIONS),
                                 .usage = cw_json_text(text)};
    if (!cw_remote_check_hidden(&as_method, &hidden))
        return show_instructions(x, cw_json_text(text), err);
    cw_fail(&hidden, CW_PARAMS, "the instructions of the server are left out: %s", hidden.msg);
    add_line(x->given->warnings, hidden.msg);
    return CW_OK;
}

/* ---- one method ---- */

/* A copy in the arena of the source; NULL without memory. */
static cw_str *copy_texts(cw_arena *arena, cw_config_strings texts)
{
    cw_str *items = cw_arena_calloc(arena, texts.n, sizeof *items);
    for (size_t i = 0; items && i < texts.n; i++) {
        items[i] = cw_arena_dup_str(arena, texts.items[i]);
        if (!items[i].p)
            return NULL;
    }
    return items;
}

static cw_code read_permissions(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    size_t n = o->permissions.n;
    if (n == 0)
        return CW_OK;
    cw_str *items = copy_texts(&x->remote->arena, o->permissions);
    if (!items)
        return nomem(x, err);
    m->needs.permissions = items;
    m->needs.n_permissions = cw_requirements_sort(items, n);
    return CW_OK;
}

/* The operator's tags replace those of the service. */
static cw_code read_tags(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    if (o->tags.n == 0)
        return CW_OK;
    m->tags = copy_texts(&x->remote->arena, o->tags);
    m->n_tags = o->tags.n;
    return m->tags ? CW_OK : nomem(x, err);
}

/* The definition is approved, and with it the hash of the view that it contains. */
static cw_code lock_view(const cw_json *described, cw_arena *arena, cw_relayed_target *ret,
                         cw_err *err)
{
    const cw_json *view = cw_json_get(described, CW_STR("x-mcp-view"));
    cw_str hash = cw_json_is(view, CW_JSON_STRING) ? cw_json_text(view) : CW_STR("");
    ret->has_lock = true;
    ret->view = cw_arena_dup_str(arena, hash);
    return ret->view.p ? CW_OK : cw_arena_fail(arena, err);
}

static cw_code make_tool(reading *x, const cw_config_overlay *o, const cw_json *described,
                         cw_method *m, cw_remote_tool *tool, cw_err *err)
{
    const cw_protocol_opts *protocol = &x->remote->service->protocol;
    bool reads = o->read_only || (m->mark && m->mark->is_read_only);
    *tool = (cw_remote_tool){
        .may_repeat = reads || (m->mark && m->mark->is_idempotent),
        .reads = reads,
        .cache_ms = reads ? o->cache_ms : 0,
        .is_notice = cw_json_is(cw_json_get(described, CW_STR("x-notification")), CW_JSON_TRUE),
    };
    cw_arena *arena = &x->remote->arena;
    cw_code rc = cw_request_template_make(protocol, m->id, arena, &tool->wire, err);
    if (!rc)
        rc = cw_endpoint_call_path(x->remote->service, m->id, arena, &tool->path, err);
    bool is_mcp = cw_dialect_is_mcp(protocol->dialect);
    if (!rc && !reads && !tool->is_notice)
        rc = cw_job_rule_make(x->remote->service, m->id, arena, &tool->job, err);
    m->has_result_size = o->result_size != CW_CONFIG_NO_SIZE;
    m->result_size = m->has_result_size ? o->result_size : is_mcp ? 0 : CW_MCP_RESULT_SIZE;
    if (!rc && is_mcp)
        rc = cw_relayed_target_make(m, arena, &tool->target, err);
    if (!rc && is_mcp && x->given->lock && !x->given->config->warns_only)
        rc = lock_view(described, arena, &tool->target, err);
    tool->has_headers = is_mcp && !m->exposed && cw_relayed_has_headers(m);
    if (!rc)
        rc = cw_param_map_make(protocol, o, m, arena, &tool->map, err);
    /* The call may return the id of the job or the result of the job, so no schema fits both. */
    if (tool->job && o->output.n == 0)
        m->output = CW_STR("");
    return rc;
}

/* ---- schemas ---- */

/* Whether the schemas of these parts can be used; CW_PARAMS: they cannot. */
static cw_code try_parts(const reading *x, const cw_method *m, const cw_param *param, cw_str input,
                         cw_str output, cw_err *err)
{
    cw_method_schemas *schemas = NULL;
    cw_method part = *m;
    part.params = param;
    part.n_params = param ? 1 : 0;
    part.input = input;
    part.output = output;
    cw_code rc = cw_method_schemas_new(&part, 1, &x->given->policy, &schemas, err);
    cw_method_schemas_unref(schemas);
    return rc;
}

/* Replace an invalid schema by one that accepts anything: the tool stays usable. Adds a warning. */
static void open_schema(reading *x, cw_str *schema, const cw_err *why)
{
    *schema = CW_STR("");
    cw_err text;
    cw_fail(&text, CW_PARAMS, "a schema that cannot be used is left out: %s", why->msg);
    add_line(x->given->warnings, text.msg);
}

/* The schemas of the operator are rules: an invalid one must not become one that accepts anything. */
static cw_code check_own_schemas(const reading *x, const cw_config_overlay *o, const cw_method *m,
                                 cw_err *err)
{
    const cw_str none = CW_STR("");
    cw_code rc = CW_OK;
    for (size_t i = 0; i < o->params.n && !rc; i++) {
        const cw_config_param *own = &o->params.items[i];
        const cw_param param = {.name = own->name, .schema = own->schema};
        if (own->schema.n)
            rc = try_parts(x, m, &param, none, none, err);
    }
    return rc || !o->output.n ? rc : try_parts(x, m, NULL, none, o->output, err);
}

static cw_code tolerate(reading *x, const cw_config_overlay *o, cw_method *m, cw_err *err)
{
    const cw_str none = CW_STR("");
    cw_method_schemas *schemas = NULL;
    cw_code rc = cw_method_schemas_new(m, 1, &x->given->policy, &schemas, err);
    cw_method_schemas_unref(schemas);
    if (rc != CW_PARAMS)
        return rc;
    rc = check_own_schemas(x, o, m, err);
    if (rc)
        return rc;
    cw_param *params = cw_arena_calloc(&x->remote->arena, m->n_params, sizeof *params);
    if (!params)
        return nomem(x, err);
    for (size_t i = 0; i < m->n_params; i++) {
        params[i] = m->params[i];
        rc = try_parts(x, m, &params[i], none, none, err);
        if (rc == CW_PARAMS)
            open_schema(x, &params[i].schema, err);
        else if (rc)
            return rc;
    }
    m->params = params;
    rc = try_parts(x, m, NULL, m->input, none, err);
    if (rc == CW_PARAMS)
        open_schema(x, &m->input, err);
    else if (rc)
        return rc;
    rc = try_parts(x, m, NULL, none, m->output, err);
    if (rc == CW_PARAMS)
        open_schema(x, &m->output, err);
    return rc == CW_PARAMS ? CW_OK : rc;
}

/* Keep the schema of the result for services in PHP, whose results are corrected with it. */
static cw_code keep_output(reading *x, const cw_method *m, cw_remote_tool *tool, cw_err *err)
{
    if (!x->remote->service->words.is_php || m->output.n == 0)
        return CW_OK;
    return cw_remote_read_php_schema(m->output, &x->remote->arena, &tool->output, err);
}

/* Icons and _meta of a tool of an MCP server. */
static cw_code add_more(reading *x, const cw_json *described, cw_method *m, cw_err *err)
{
    const cw_json *more = cw_json_get(described, CW_STR("x-mcp-more"));
    bool is_mcp = cw_dialect_is_mcp(x->remote->service->protocol.dialect);
    if (!is_mcp || x->omits_more || !cw_json_is(more, CW_JSON_OBJECT))
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_add_compact(&text, more);
    cw_mark *mark = cw_arena_alloc(&x->remote->arena, sizeof *mark);
    if (!mark || text.code)
        return nomem(x, err);
    *mark = *m->mark;
    mark->more = cw_arena_dup_str(&x->remote->arena, cw_buf_str(&text));
    m->mark = mark;
    return mark->more.p ? CW_OK : nomem(x, err);
}

static cw_code make_method(reading *x, const cw_config_overlay *o, const cw_json *described,
                           cw_method *m, cw_err *err)
{
    m->needs = (cw_requirements){0};
    m->mark = NULL;
    m->is_callable = o->rpc;
    m->index = (uint32_t)x->n;
    m->call_ms = o->timeout_ms;
    m->keeps_nulls = !o->null_is_absent;
    if (o->description.n) {
        m->usage = cw_arena_dup_str(&x->remote->arena, o->description);
        if (!m->usage.p)
            return nomem(x, err);
    }
    cw_code rc = CW_OK;
    if (o->tool || o->rpc)
        rc = cw_remote_make_mark(x->remote, o, described, &x->scratch, x->given->warnings, m, err);
    if (m->exposed || !o->tool)
        m->mark = NULL; /* only the requirements were needed */
    else if (rc == CW_OK && o->tool)
        rc = add_more(x, described, m, err);
    if (rc == CW_OK && m->mark)
        rc = cw_remote_add_view(&x->views, x->remote, o, m, err);
    if (rc == CW_OK)
        rc = cw_remote_check_hidden(m, err);
    if (rc == CW_OK)
        rc = read_permissions(x, o, m, err);
    if (rc == CW_OK)
        rc = read_tags(x, o, m, err);
    if (rc == CW_OK)
        rc = make_tool(x, o, described, m, &x->tools[x->n], err);
    if (rc == CW_OK)
        rc = tolerate(x, o, m, err);
    if (rc == CW_OK)
        rc = cw_remote_check_defaults(x->remote, o, described, &x->defaults, m, err);
    if (rc == CW_OK)
        rc = keep_output(x, m, &x->tools[x->n], err);
    return rc ? rc : rename_method(x, o, m, err);
}

/* ---- the former requirements ---- */

/* Whether a lock withholds other definitions, so that the operator has approved this one. */
static bool is_approved(const reading *x)
{
    return x->given->lock && !x->given->config->warns_only;
}

/* The requirements of a method with this description (NULL: none) and overlay. */
static cw_code read_needs(reading *x, const cw_config_overlay *o, const cw_json *described,
                          const cw_method *found, cw_requirements *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf unused;
    cw_buf_init(&unused, CW_CONFIG_MAX_BYTES);
    cw_method m = *found;
    m.needs = (cw_requirements){0};
    cw_code rc = cw_remote_make_mark(x->remote, o, described, &x->scratch, &unused, &m, err);
    *ret = m.needs;
    return rc;
}

/* Require the former scopes of a method in addition to the present ones. */
static cw_code add_needs(reading *x, const cw_requirements *was, cw_method *m, cw_err *err)
{
    size_t n = m->needs.n_scopes + was->n_scopes;
    cw_str *scopes = cw_arena_calloc(&x->remote->arena, n, sizeof *scopes);
    if (!scopes)
        return nomem(x, err);
    for (size_t i = 0; i < m->needs.n_scopes; i++)
        scopes[i] = m->needs.scopes[i];
    for (size_t i = 0; i < was->n_scopes; i++)
        scopes[m->needs.n_scopes + i] = was->scopes[i];
    m->needs.scopes = scopes;
    m->needs.n_scopes = cw_requirements_sort(scopes, n);
    m->needs.level = CW_AUTH_REQUIRED;
    return CW_OK;
}

/* Without memory for its line, the loss would go unnoticed. */
static cw_code add_widened(const reading *x, const char *text, cw_err *err)
{
    add_line(x->given->widened, text);
    return x->given->widened->code == CW_NOMEM ? cw_fail_nomem(err) : CW_OK;
}

static cw_code report_widened(const reading *x, cw_str id, cw_str scope, cw_err *err)
{
    cw_err text;
    if (scope.n)
        cw_fail(&text, CW_PARAMS, "method '%.*s': the service no longer asks for scope '%.*s'",
                CW_STR_ARG(id), CW_STR_ARG(scope));
    else
        cw_fail(&text, CW_PARAMS, "method '%.*s': the service no longer asks for a login",
                CW_STR_ARG(id));
    return add_widened(x, text.msg, err);
}

/* Compare a method with requirements that were invalid, so that it was withheld. CW_INVALID: it has
 * to be withheld again. */
static cw_code compare_with_invalid(const reading *x, const cw_method *m, cw_str id, cw_err *err)
{
    if (x->given->enforces)
        return cw_fail(err, CW_INVALID, "it is withheld, since its requirements were invalid");
    if (m->needs.level == CW_AUTH_REQUIRED)
        return CW_OK;
    cw_err text;
    cw_fail(&text, CW_PARAMS,
            "method '%.*s': the service asks for no login in place of invalid "
            "requirements",
            CW_STR_ARG(id));
    return add_widened(x, text.msg, err);
}

static cw_code compare_needs(reading *x, const cw_config_overlay *o, size_t index, cw_method *m,
                             cw_err *err)
{
    const cw_method *found = &x->found[index];
    const cw_json *before = cw_map_find(&x->requires, found->id);
    cw_requirements was;
    cw_str scope;
    x->is_settled[index] = x->given->accepts || is_approved(x);
    if (!before || is_approved(x))
        return CW_OK;
    cw_code rc = read_needs(x, o, before, found, &was, err);
    if (rc)
        return rc == CW_NOMEM ? rc : compare_with_invalid(x, m, found->id, err);
    if (cw_required_access_covers(&m->needs, &was, &scope))
        return CW_OK;
    if (x->given->enforces)
        return add_needs(x, &was, m, err);
    return report_widened(x, found->id, scope, err);
}

/* Whether a method requires less than before under this overlay. */
static cw_code has_widened_under(reading *x, const cw_config_overlay *o, size_t index, bool *ret,
                                 cw_err *err)
{
    const cw_method *found = &x->found[index];
    cw_requirements was, now;
    cw_str scope;
    cw_code rc = read_needs(x, o, x->described[index], found, &now, err);
    *ret = true;
    if (rc)
        return rc == CW_NOMEM ? rc : CW_OK;
    rc = read_needs(x, o, cw_map_find(&x->requires, found->id), found, &was, err);
    *ret = rc ? now.level != CW_AUTH_REQUIRED : !cw_required_access_covers(&now, &was, &scope);
    return rc == CW_NOMEM ? rc : CW_OK;
}

/* Whether a method requires less than before, under any overlay that it may get later. Its former
 * requirements are kept then, unless the operator has accepted the present ones. Without a login,
 * scopes have no effect, and an overlay may add the login: so there are two comparisons. */
static cw_code has_widened(reading *x, size_t index, bool *ret, cw_err *err)
{
    static const cw_config_overlay without = {0}, with_login = {.level = CW_CONFIG_AUTH_REQUIRED};
    const cw_json *before = cw_map_find(&x->requires, x->found[index].id);
    *ret = false;
    if (!before || x->is_settled[index] || cw_required_access_is_same(before, x->described[index]))
        return CW_OK;
    cw_code rc = has_widened_under(x, &without, index, ret, err);
    return rc || *ret ? rc : has_widened_under(x, &with_login, index, ret, err);
}

/* Find methods that keep their former requirements, in addition to those that cannot be read. */
static cw_code find_kept(reading *x, cw_err *err)
{
    for (size_t i = 0; i < x->n_found; i++) {
        bool is_wider;
        cw_code rc = has_widened(x, i, &is_wider, err);
        if (rc)
            return rc;
        if (is_wider && cw_map_put(&x->kept, x->found[i].id, x, NULL))
            return cw_fail_nomem(err);
    }
    return CW_OK;
}

/* Write the requirements of all methods, for the next comparison. */
static cw_code write_requires(reading *x, cw_err *err)
{
    const cw_remote_reading *given = x->given;
    cw_code rc = find_kept(x, err);
    if (rc)
        return rc;
    size_t n = cw_required_access_write(x->doc, given->requires, &x->kept, given->required);
    if (n == 0)
        return CW_OK;
    cw_err text;
    cw_fail(
        &text, CW_LIMIT,
        "the requirements of %zu method%s that no longer exist are over the limit of %u bytes, and "
        "would be forgotten",
        n, n == 1 ? "" : "s", CW_REQUIRED_ACCESS_MAX);
    return add_widened(x, text.msg, err);
}

/* ---- tools that are not offered ---- */

/* Record what a selected tool required before, or with this description (NULL: none) requires, for the
 * events of the source. */
static cw_code note_absent(reading *x, const cw_config_overlay *o, cw_str id,
                           const cw_json *described, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf unused;
    cw_buf_init(&unused, CW_CONFIG_MAX_BYTES);
    const cw_json *before = cw_map_find(&x->requires, id);
    cw_method *m = &x->remote->absent[x->remote->n_absent];
    if (x->list || !o->tool)
        return CW_OK;
    *m = (cw_method){0};
    cw_code rc = cw_remote_make_mark(x->remote, o, before ? before : described, &x->scratch,
                                     &unused, m, err);
    if (!rc)
        rc = read_permissions(x, o, m, err);
    x->remote->n_absent += rc == CW_OK;
    x->remote->lacks_needs = x->remote->lacks_needs || rc;
    return rc == CW_NOMEM ? rc : CW_OK;
}

static const cw_config_overlay *find_entry(const reading *x, cw_str id)
{
    const cw_config_overlays *lists[] = {&x->given->config->methods, &x->given->more.methods};
    for (size_t i = 0; i < 2 * CW_COUNT(lists); i++) {
        const cw_config_overlays *list = lists[i % CW_COUNT(lists)];
        bool patterns = i >= CW_COUNT(lists);
        for (size_t j = 0; j < list->n; j++) {
            const cw_config_overlay *o = &list->items[j];
            if (is_pattern(o->method) == patterns && cw_str_matches(o->method, id, CW_STR_ANY_BYTE))
                return o;
        }
    }
    return NULL;
}

/* Record the tools that the service had before. */
static cw_code note_gone(reading *x, cw_err *err)
{
    cw_code rc = CW_OK;
    const cw_map_entry *e;
    x->list = 0;
    for (size_t pos = 0; !rc && (e = cw_map_next(&x->requires, &pos));) {
        const cw_method *found = cw_map_find(&x->by_id, e->key);
        bool is_there = found && x->is_named[found - x->found];
        const cw_config_overlay *o = is_there ? NULL : find_entry(x, e->key);
        rc = o ? note_absent(x, o, e->key, NULL, err) : CW_OK;
    }
    return rc;
}

static cw_code withhold(reading *x, const cw_config_overlay *o, size_t index, cw_err *err)
{
    x->remote->n_withheld++;
    return note_absent(x, o, x->found[index].id, x->described[index], err);
}

static cw_code offer_method(reading *x, const cw_config_overlay *o, size_t index, cw_err *err)
{
    const cw_method *found = &x->found[index];
    cw_code rc = CW_OK;
    x->is_named[index] = true;
    if (!o->tool && !o->rpc)
        return CW_OK;
    if (!may_show(x, found, x->described[index], &rc))
        return rc ? cw_fail_nomem(err) : withhold(x, o, index, err);
    cw_method m = *found;
    rc = make_method(x, o, x->described[index], &m, err);
    if (!rc)
        rc = compare_needs(x, o, index, &m, err);
    if (rc)
        cw_wrap(err, rc, "method '%.*s'", CW_STR_ARG(found->id));
    if (rc == CW_INVALID) {
        add_line(x->given->warnings, err->msg);
        return withhold(x, o, index, err);
    }
    /* There may be thousands of resources. One that cannot be shown does not affect the others. */
    if (rc == CW_PARAMS && m.exposed) {
        if (x->n_unfit++ == 0)
            add_line(x->given->warnings, err->msg);
        return CW_OK;
    }
    if (!rc)
        x->offer[x->n++] = m;
    return rc;
}

/* ---- all methods ---- */

static cw_code index_requires(reading *x, cw_err *err)
{
    const cw_json *all = x->given->requires;
    bool is_map = cw_json_is(all, CW_JSON_OBJECT);
    for (const cw_json *k = is_map ? cw_json_first(all) : NULL; k; k = cw_json_next_key(k)) {
        void *value = (void *)(uintptr_t)cw_json_value(k); /* only read from the map */
        if (cw_map_put(&x->requires, cw_json_text(k), value, NULL))
            return cw_fail_nomem(err);
    }
    return CW_OK;
}

/* Find the description of each method in the document. A method that cannot be read keeps its former
 * requirements. */
static cw_code find_described(reading *x)
{
    cw_code rc = CW_OK;
    cw_json_pointer_index index;
    cw_json_pointer_index_init(&index);
    const cw_json *methods = cw_json_get(x->doc, CW_STR("methods"));
    for (const cw_json *entry = cw_json_first(methods); entry && !rc; entry = cw_json_next(entry)) {
        const cw_json *m = entry;
        if (cw_openrpc_follow(x->doc, &index, &m, NULL))
            continue;
        const cw_json *name = cw_json_get(m, CW_STR("name"));
        if (!cw_json_is(name, CW_JSON_STRING))
            continue;
        const cw_method *found = cw_map_find(&x->by_id, cw_json_text(name));
        /* If two have the same name the first counts. */
        if (found && !x->described[found - x->found])
            x->described[found - x->found] = m;
        if (!found && cw_map_find(&x->requires, cw_json_text(name)))
            rc = cw_map_put(&x->kept, cw_json_text(name), x, NULL);
    }
    cw_json_pointer_index_done(&index);
    return rc;
}

static cw_code index_methods(reading *x, cw_err *err)
{
    cw_arena *arena = &x->remote->arena;
    x->is_named = cw_arena_calloc(arena, x->n_found, sizeof *x->is_named);
    x->is_settled = cw_arena_calloc(arena, x->n_found, sizeof *x->is_settled);
    x->described = cw_arena_calloc(arena, x->n_found, sizeof *x->described);
    const cw_config_overlays *own = &x->given->config->exposed[CW_CONFIG_TEMPLATES];
    size_t n = x->n_found + own->n + x->given->more.exposed[CW_CONFIG_TEMPLATES].n;
    x->offer = cw_arena_calloc(arena, n, sizeof *x->offer);
    x->tools = cw_arena_calloc(arena, n, sizeof *x->tools);
    /* Withheld, named by an entry, or known from before. */
    size_t most = x->n_found + x->given->config->methods.n + x->given->more.methods.n;
    x->remote->absent = cw_arena_calloc(arena, most + x->requires.n, sizeof *x->remote->absent);
    if (!x->is_named || !x->is_settled || !x->described || !x->offer || !x->tools ||
        !x->remote->absent)
        return nomem(x, err);
    if (x->given->defines) {
        /* One more, for the instructions of the server. */
        x->definitions = cw_arena_calloc(arena, x->n_found + 1, sizeof *x->definitions);
        if (!x->definitions)
            return nomem(x, err);
    }
    for (size_t i = 0; i < x->n_found; i++) {
        if (cw_map_put(&x->by_id, x->found[i].id, &x->found[i], NULL))
            return cw_fail_nomem(err);
    }
    return find_described(x) ? cw_fail_nomem(err) : CW_OK;
}

/* An unlisted template is defined by the operator alone, so it needs no approval. */
static cw_code offer_unlisted(reading *x, const cw_config_overlay *o, cw_err *err)
{
    cw_method m;
    if (x->given->withholds_all) {
        x->remote->n_withheld++;
        return CW_OK;
    }
    cw_code rc = cw_exposure_unlisted(o->method, &x->remote->base, &x->remote->arena, &m, err);
    if (!rc)
        rc = make_method(x, o, NULL, &m, err);
    if (rc)
        return cw_wrap(err, rc, "template '%.*s'", CW_STR_ARG(o->method));
    x->offer[x->n++] = m;
    return CW_OK;
}

/* Apply an entry without wildcards. */
static cw_code apply_name(reading *x, const cw_config_overlay *o, cw_err *err)
{
    cw_str id = cw_exposure_id(x->list, o->method, &x->scratch);
    if (!id.p)
        return cw_arena_fail(&x->scratch, err);
    const cw_method *found = cw_map_find(&x->by_id, id);
    if (found && cw_exposure_list(found) != x->list)
        found = NULL; /* a tool whose name looks like the id of another kind */
    if (!o->tool && o->hidden_unless_met)
        return cw_fail(err, CW_PARAMS, "method '%.*s': visibility: only a tool can be hidden",
                       CW_STR_ARG(o->method));
    if (!found && o->unlisted && o->tool) {
        x->n_met++;
        return offer_unlisted(x, o, err);
    }
    if (!found) {
        if (o->tool || o->rpc)
            miss_method(x, o->method);
        return note_absent(x, o, id, NULL, err);
    }
    x->n_met += o->tool || o->rpc;
    size_t index = (size_t)(found - x->found);
    return x->is_named[index] ? CW_OK : offer_method(x, o, index, err);
}

/* Wildcards match nothing while the scopes of the methods are unknown. */
static void refuse_pattern(reading *x, cw_str pattern)
{
    cw_err text;
    x->n_missing++;
    cw_fail(&text, CW_PARAMS,
            "methods: '%.*s' fits nothing, since the list of tools cannot be read with these "
            "credentials: name the methods, or set `discovery: drupal-methods`",
            CW_STR_ARG(pattern));
    add_line(x->given->missing, text.msg);
}

static cw_code apply_pattern(reading *x, const cw_config_overlay *o, cw_err *err)
{
    bool any = false;
    if (x->given->is_partial && (o->tool || o->rpc)) {
        refuse_pattern(x, o->method);
        return note_absent(x, o, o->method, NULL, err);
    }
    for (size_t i = 0; i < x->n_found; i++) {
        if (cw_exposure_list(&x->found[i]) != x->list ||
            !cw_str_matches(o->method, cw_exposure_name(&x->found[i]), CW_STR_ANY_BYTE))
            continue;
        any = true;
        cw_code rc = x->is_named[i] ? CW_OK : offer_method(x, o, i, err);
        if (rc)
            return rc;
    }
    x->n_met += any && (o->tool || o->rpc);
    if (any)
        return CW_OK;
    cw_err text;
    cw_fail(&text, CW_PARAMS, "%s: '%.*s' fits none", cw_exposure_list_name(x->list),
            CW_STR_ARG(o->method));
    add_line(x->given->warnings, text.msg);
    return note_absent(x, o, o->method, NULL, err);
}

/* Apply all entries, so that every mistake is reported. A lack of memory ends it. */
static cw_code apply_list(reading *x, const cw_config_overlays *list, bool patterns, cw_code *worst,
                          cw_err *err)
{
    for (size_t i = 0; i < list->n; i++) {
        const cw_config_overlay *o = &list->items[i];
        if ((is_pattern(o->method) && !o->unlisted) != patterns)
            continue;
        cw_code rc = patterns ? apply_pattern(x, o, err) : apply_name(x, o, err);
        if (rc == CW_NOMEM)
            return rc;
        if (rc) {
            add_line(x->given->problems, err->msg);
            *worst = rc;
        }
    }
    return CW_OK;
}

/* Missing methods are a warning. If no named method exists, they are a problem: most likely it is
 * the wrong service, or a mistake. */
static cw_code check_missing(const reading *x, cw_code worst)
{
    const cw_remote_reading *given = x->given;
    if (x->n_missing == 0)
        return worst;
    bool is_problem = worst || x->n_met == 0;
    cw_buf *lines = is_problem ? given->problems : given->warnings;
    cw_buf_printf(lines, "%s%.*s", lines->n ? "\n" : "", CW_STR_ARG(cw_buf_str(given->missing)));
    return worst ? worst : is_problem ? CW_PARAMS : CW_OK;
}

static cw_code apply(reading *x, cw_err *err)
{
    const cw_remote_reading *given = x->given;
    cw_code worst = CW_OK;
    cw_code rc = index_requires(x, err);
    if (!rc)
        rc = index_methods(x, err);
    for (x->list = 0; x->list < CW_EXPOSURE_LISTS && !rc; x->list++) {
        const cw_config_overlays *own = &given->config->methods, *more = &given->more.methods;
        if (x->list) {
            own = &given->config->exposed[x->list - 1];
            more = &given->more.exposed[x->list - 1];
        }
        for (int patterns = 0; patterns < 2 && !rc; patterns++) {
            rc = apply_list(x, own, patterns, &worst, err);
            if (!rc)
                rc = apply_list(x, more, patterns, &worst, err);
        }
    }
    if (!rc)
        rc = note_gone(x, err);
    if (!rc)
        rc = read_instructions(x, err);
    if (!rc && given->required)
        rc = write_requires(x, err);
    warn_of_others(x);
    return rc ? rc : check_missing(x, worst);
}

cw_code cw_remote_read(cw_remote *r, const cw_remote_reading *given, const cw_json *doc)
{
    reading x = {.remote = r,
                 .given = given,
                 .doc = doc,
                 .views = {.warnings = given->warnings},
                 .defaults = {given, &x.scratch, CW_REMOTE_DEFAULT_STEPS, CW_REMOTE_DEFAULT_STEPS}};
    cw_openrpc_opts opts = {.source = &r->base,
                            .relays = cw_dialect_is_mcp(r->service->protocol.dialect),
                            .warnings = given->warnings};
    cw_err err = {0};
    cw_code rc = cw_openrpc_read(doc, &opts, &r->arena, &x.found, &x.n_found, &err);
    if (rc) {
        add_line(given->problems, err.msg);
        return rc;
    }
    cw_map_init(&x.by_id, x.n_found ? x.n_found : 1);
    cw_map_init(&x.requires, SIZE_MAX);
    cw_map_init(&x.kept, SIZE_MAX);
    cw_arena_init(&x.scratch, CW_ARENA_MAX);
    rc = apply(&x, &err);
    cw_arena_done(&x.scratch);
    cw_map_done(&x.by_id);
    cw_map_done(&x.requires);
    cw_map_done(&x.kept);
    if (rc && given->problems->n == 0)
        add_line(given->problems, err.msg);
    if (rc)
        return rc;
    r->base.methods = x.offer;
    r->base.n_methods = x.n;
    r->tools = x.tools;
    r->n_found = x.n_found;
    r->definitions = x.definitions;
    r->n_definitions = x.n_definitions;
    return CW_OK;
}
