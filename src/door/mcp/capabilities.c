/* SPDX-License-Identifier: GPL-2.0-or-later */
/* capabilities.c - the capabilities of the server, as far as this caller can use them. */
#include "door/mcp/mcp_int.h"

#define CHUNK 64u

static bool sees(const cw_view *view, cw_view_list list)
{
    const cw_entry *entry;
    size_t n;
    bool more;
    cw_view_after(view, list, CW_STR(""), &entry, 1, &n, &more);
    return n > 0;
}

/* Whether a value of the method's params could be proposed. The word alone decides here: who asks
 * for values that are not there gets none. */
static bool completes(const cw_method *method)
{
    const cw_json *names = method->exposed->completes;
    if (names && cw_json_first(names))
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

/* Capabilities beside tools and logging, which are always present. */
typedef struct server_capabilities {
    bool prompts, resources, completions;
} server_capabilities;

static server_capabilities capabilities_of(cw_view *view)
{
    bool may_list = cw_view_discover_verdict(view) == CW_VERDICT_ALLOW;
    bool has_templates = may_list && sees(view, CW_VIEW_TEMPLATES);
    server_capabilities a = {.prompts = may_list && sees(view, CW_VIEW_PROMPTS),
                             .resources =
                                 has_templates || (may_list && sees(view, CW_VIEW_RESOURCES))};
    a.completions = (a.prompts && any_completes(view, CW_VIEW_PROMPTS)) ||
                    (has_templates && any_completes(view, CW_VIEW_TEMPLATES));
    return a;
}

void cw_mcp_add_capabilities(cw_buf *out, const cw_mcp_request *r)
{
    server_capabilities a = capabilities_of(r->view);
    /* A client without a stream gets no change notifications. */
    bool tells = r->era->is_stamped || r->responder->session ||
                 cw_runtime_settings_of(r->rl)->legacy_sessions;
    cw_str changes = tells ? CW_STR("{\"listChanged\":true}") : CW_STR("{}");
    cw_buf_add(out, CW_STR("{\"tools\":"));
    cw_buf_add(out, changes);
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
    cw_buf_add_char(out, '}');
}

void cw_mcp_add_capability_names(cw_json_writer *w, cw_view *view)
{
    server_capabilities a = capabilities_of(view);
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
