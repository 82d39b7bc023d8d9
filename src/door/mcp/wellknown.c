/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wellknown.c - the capabilities of the server, and discovery documents: GET /.well-known/mcp.json, the server card below the endpoint, and the
 * entry of a registry.
 */
#include "catalogue/ui.h"
#include "door/mcp/event/events.h"
#include "door/mcp/feature/skills.h"
#include "door/mcp/feature/static_resource.h"
#include "door/mcp/task/task_legacy.h"
#include "door/rest/reply.h"
#include "json/write.h"

#define SCHEMAS "https://static.modelcontextprotocol.io/schemas/"
#define CHUNK 64u
#define CARD_TYPE "application/mcp-server-card+json"

/* ---- capabilities, as far as a caller can use them ---- */

/* callable: only what the caller could call without another login counts. */
static bool sees(const cw_view *view, cw_view_list list, bool callable)
{
    const cw_entry *entry;
    cw_str last = CW_STR("");
    size_t n;
    bool more;
    do {
        cw_view_after(view, list, last, &entry, 1, &n, &more);
        if (n && (!callable || cw_view_verdict(view, entry) == CW_VERDICT_ALLOW))
            return true;
        if (n)
            last = cw_view_name(list, entry);
    } while (more);
    return false;
}

bool cw_mcp_sees_anything(const cw_view *view)
{
    static const cw_view_list lists[] = {CW_VIEW_TOOLS, CW_VIEW_PROMPTS, CW_VIEW_RESOURCES,
                                         CW_VIEW_TEMPLATES};
    bool found = false;
    for (size_t i = 0; i < CW_COUNT(lists); i++)
        found = found || sees(view, lists[i], /* callable= */ false);
    return found && cw_view_discover_verdict(view) == CW_VERDICT_ALLOW;
}

/* Whether a value of the method's params could be proposed. The word alone decides here: who asks
 * for values that are not there gets none. */
static bool completes(const cw_method *method)
{
    const cw_json *names = method->exposed->completes;
    bool is_relayed = method->exposed->is_relayed && method->n_params;
    if (is_relayed || (names && cw_json_first(names)))
        return true;
    for (size_t i = 0; i < method->n_params; i++) {
        cw_str schema = method->params[i].schema;
        if (memmem(schema.p, schema.n, "\"enum\"", 6) || memmem(schema.p, schema.n, "\"const\"", 7))
            return true;
    }
    return false;
}

static bool any_completes(cw_view *view, cw_view_list list)
{
    const cw_entry *entries[CHUNK];
    size_t n, total, at = 0;
    do {
        if (cw_view_page(view, list, at, entries, CHUNK, &n, &total))
            return false;
        for (size_t i = 0; i < n; i++) {
            if (completes(entries[i]->method))
                return true;
        }
        at += n;
    } while (n && at < total);
    return false;
}

/* Whether results of a tool may be cut: the rest of one is a resource. */
static bool any_cuts(const cw_view *view)
{
    const cw_entry *entries[CHUNK];
    cw_str last = CW_STR("");
    size_t n;
    bool more;
    do {
        cw_view_after(view, CW_VIEW_TOOLS, last, entries, CHUNK, &n, &more);
        for (size_t i = 0; i < n; i++) {
            if (entries[i]->method->result_size)
                return true;
        }
        if (n)
            last = cw_view_name(CW_VIEW_TOOLS, entries[n - 1]);
    } while (n && more);
    return false;
}

/* Capabilities beside tools and logging, which do not depend on the caller. */
typedef struct server_capabilities {
    bool prompts, resources, completions;
} server_capabilities;

static server_capabilities capabilities_of(cw_view *view, bool callable)
{
    bool may_list = cw_view_discover_verdict(view) == CW_VERDICT_ALLOW;
    bool has_templates = may_list && sees(view, CW_VIEW_TEMPLATES, callable);
    server_capabilities a = {
        .prompts = may_list && sees(view, CW_VIEW_PROMPTS, callable),
        .resources = has_templates || (may_list && sees(view, CW_VIEW_RESOURCES, callable)) ||
                     (may_list && any_cuts(view)) ||
                     (may_list && (cw_view_has_skills(view) || cw_view_has_ui(view)))};
    a.completions = (a.prompts && any_completes(view, CW_VIEW_PROMPTS)) ||
                    (has_templates && any_completes(view, CW_VIEW_TEMPLATES));
    return a;
}

/* Capabilities of a session are agreed upon once, and a caller that logs in later may see more. */
static server_capabilities capabilities_for(const cw_mcp_request *r)
{
    bool has_no_login = cw_mcp_has_no_login(r->rl, r->responder);
    bool may_log_in = !has_no_login && cw_caller_is_anonymous(cw_view_caller(r->view));
    if (may_log_in && !r->era->is_modern)
        return (server_capabilities){.prompts = true, .resources = true, .completions = true};
    return capabilities_of(r->view, has_no_login);
}

/* The extensions that the client can use; a member with a comma in front, or nothing. */
static void add_extensions(cw_buf *out, const cw_mcp_request *r)
{
    bool may_list = cw_view_discover_verdict(r->view) == CW_VERDICT_ALLOW;
    const struct {
        bool has;
        cw_str text;
    } extensions[] = {
        {cw_mcp_has_tasks(r), CW_STR("\"" CW_MCP_TASKS "\":{}")},
        {r->era->is_modern && may_list && cw_view_has_skills(r->view),
         CW_STR("\"" CW_MCP_SKILLS "\":{\"directoryRead\":true}")},
        {cw_mcp_has_events(r), CW_STR("\"" CW_MCP_EVENTS "\":{\"listChanged\":true}")},
        {may_list && cw_view_has_ui(r->view), CW_STR("\"" CW_MCP_UI "\":{}")},
    };
    size_t n = 0;
    for (size_t i = 0; i < CW_COUNT(extensions); i++) {
        if (!extensions[i].has)
            continue;
        cw_buf_add(out, n++ ? CW_STR(",") : CW_STR(",\"extensions\":{"));
        cw_buf_add(out, extensions[i].text);
    }
    if (n)
        cw_buf_add_char(out, '}');
}

void cw_mcp_add_capabilities(cw_buf *out, const cw_mcp_request *r)
{
    server_capabilities a = capabilities_for(r);
    /* A client without a stream gets no change notifications, and its log level has no place. */
    bool tells = r->era->is_modern || cw_mcp_keeps_state(r);
    cw_str changes = tells ? CW_STR("{\"listChanged\":true}") : CW_STR("{}");
    cw_buf_add(out, CW_STR("{\"tools\":"));
    cw_buf_add(out, changes);
    if (tells)
        cw_buf_add(out, CW_STR(",\"logging\":{}"));
    if (a.prompts) {
        cw_buf_add(out, CW_STR(",\"prompts\":"));
        cw_buf_add(out, changes);
    }
    if (a.resources)
        cw_buf_add(out, tells ? CW_STR(",\"resources\":{\"listChanged\":true,\"subscribe\":true}")
                              : CW_STR(",\"resources\":{}"));
    if (a.completions)
        cw_buf_add(out, CW_STR(",\"completions\":{}"));
    /* Some clients of the draft look for events among the capabilities. */
    if (cw_mcp_has_events(r))
        cw_buf_add(out, CW_STR(",\"events\":{}"));
    if (cw_mcp_has_legacy_tasks(r))
        cw_buf_add(out, CW_STR(",\"tasks\":{\"cancel\":{},"
                               "\"requests\":{\"tools\":{\"call\":{}}}}"));
    add_extensions(out, r);
    cw_buf_add_char(out, '}');
}

/* Their names alone, as this view has them: {"tools":true,…}. */
static void add_capability_names(cw_json_writer *w, cw_view *view)
{
    server_capabilities a = capabilities_of(view, /* callable= */ false);
    cw_json_open_object(w);
    cw_json_add_bool_member(w, CW_STR("tools"), true);
    cw_json_add_bool_member(w, CW_STR("logging"), true);
    if (a.prompts)
        cw_json_add_bool_member(w, CW_STR("prompts"), true);
    if (a.resources)
        cw_json_add_bool_member(w, CW_STR("resources"), true);
    if (a.completions)
        cw_json_add_bool_member(w, CW_STR("completions"), true);
    cw_json_close(w);
}

typedef struct about {
    const cw_config *config;
    cw_str base; /* of all addresses */
    cw_str path, card_path;
    cw_view *view; /* of the anonymous caller */
} about;

static void add_versions(cw_json_writer *w, cw_str name)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; cw_mcp_modern_version(i).p; i++)
        cw_json_add_string(w, cw_mcp_modern_version(i));
    for (size_t i = 0; cw_mcp_legacy_version(i).p; i++)
        cw_json_add_string(w, cw_mcp_legacy_version(i));
    cw_json_close(w);
}

static void end(cw_json_writer *w)
{
    cw_json_close(w);
    cw_code rc = cw_json_writer_end(w, NULL);
    if (rc && !w->out->code)
        w->out->code = rc;
}

/* ---- /.well-known/mcp.json ---- */

static void write_document(cw_buf *out, void *ctx)
{
    const about *a = ctx;
    const struct {
        cw_str name, path;
    } endpoints[] = {
        {CW_STR("mcp"), a->path},
        {CW_STR("tools"), CW_STR("/mcp/tools/list")},
        {CW_STR("describe"), CW_STR("/mcp/tools/describe")},
        {CW_STR("invoke"), CW_STR("/mcp/tools/invoke")},
        {CW_STR("jsonrpc"), CW_STR("/jsonrpc")},
        {CW_STR("methods"), CW_STR("/jsonrpc/methods")},
        {CW_STR("serverCard"), a->card_path},
    };
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("name"), CW_STR("Causeway"));
    cw_json_add_string_member(&w, CW_STR("version"), CW_STR(CW_VERSION));
    cw_json_add_key(&w, CW_STR("capabilities"));
    add_capability_names(&w, a->view);
    add_versions(&w, CW_STR("protocolVersions"));
    cw_json_add_key(&w, CW_STR("endpoints"));
    cw_json_open_object(&w);
    for (size_t i = 0; i < CW_COUNT(endpoints); i++)
        cw_rest_add_url(&w, endpoints[i].name, a->base, endpoints[i].path);
    cw_json_close(&w);
    end(&w);
}

/* ---- cards ---- */

/* The members that a card and a registry entry share, and the beginning of the address. */
static void open_card(cw_json_writer *w, const about *a, cw_str schema)
{
    cw_str name = a->config->mcp.name, description = a->config->mcp.description;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("$schema"), schema);
    cw_json_add_string_member(w, CW_STR("name"), name.n ? name : cw_config_defaults.mcp.name);
    cw_json_add_string_member(w, CW_STR("version"), CW_STR(CW_VERSION));
    cw_json_add_string_member(w, CW_STR("description"),
                              description.n ? description : cw_config_defaults.mcp.description);
    if (a->config->mcp.title.n)
        cw_json_add_string_member(w, CW_STR("title"), a->config->mcp.title);
    if (a->config->mcp.website.n)
        cw_json_add_string_member(w, CW_STR("websiteUrl"), a->config->mcp.website);
    cw_json_add_key(w, CW_STR("remotes"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("streamable-http"));
    cw_rest_add_url(w, CW_STR("url"), a->base, a->path);
}

static void close_card(cw_json_writer *w)
{
    cw_json_close(w);
    cw_json_close(w);
    end(w);
}

static void write_card(cw_buf *out, void *ctx)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    open_card(&w, ctx, CW_STR(SCHEMAS "v1/server-card.schema.json"));
    add_versions(&w, CW_STR("supportedProtocolVersions"));
    close_card(&w);
}

cw_code cw_mcp_write_registry(const cw_config *config, cw_buf *out, cw_err *err)
{
    about a = {.config = config, .base = config->public_url, .path = config->mcp.path};
    cw_json_writer w;
    if (!config->public_url.n)
        return cw_fail(err, CW_CONFIG,
                       "public_url is not set: a registry has to know where the server is");
    cw_json_writer_init(&w, out, CW_JSON_INDENT);
    open_card(&w, &a, CW_STR(SCHEMAS "2025-12-11/server.schema.json"));
    close_card(&w);
    cw_buf_add_char(out, '\n');
    return out->code ? cw_fail_nomem(err) : CW_OK;
}

/* ---- sending ---- */

static void send_about(cw_http_req *req, const cw_mcp *door, cw_rest_document *doc)
{
    cw_runtime_loop *rl = cw_runtime_at(door->runtime, cw_http_req_loop(req));
    if (!cw_rest_set_base(req, rl, doc))
        return;
    about a = {.config = cw_runtime_config(rl),
               .base = doc->key.base,
               .path = cw_str_from(door->path),
               .card_path = cw_str_from(door->card_path),
               .view = doc->key.view};
    doc->ctx = &a;
    doc->contexts = "url.site";
    doc->is_public = true;
    cw_rest_send(req, rl, doc);
}

void cw_mcp_on_wellknown(cw_http_req *req, void *self)
{
    const cw_mcp *door = self;
    /* The same for all clients: the anonymous caller's view. */
    cw_view *view = cw_runtime_anonymous(cw_runtime_at(door->runtime, cw_http_req_loop(req)));
    send_about(req, door,
               &(cw_rest_document){.key = {.kind = CW_STR("mcp.json"), .view = view},
                                   .write = write_document});
}

void cw_mcp_on_card(cw_http_req *req, void *door)
{
    send_about(req, door,
               &(cw_rest_document){.key = {.kind = CW_STR("card")},
                                   .write = write_card,
                                   .is_open = true,
                                   .type = CW_STR(CARD_TYPE)});
}
