/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wellknown.c - discovery documents: GET /.well-known/mcp.json, the server card below the endpoint, and the
 * entry of a registry.
 */
#include "config/keys/keys.h"
#include "door/mcp/mcp_int.h"
#include "door/rest/reply.h"
#include "json/write.h"

#define SCHEMAS "https://static.modelcontextprotocol.io/schemas/"
#define CARD_TYPE "application/mcp-server-card+json"

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
    cw_mcp_add_capability_names(&w, a->view);
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
    about a = {.config = cw_mcp_config(rl),
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
