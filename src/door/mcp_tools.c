/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/translate.h"
#include "door/mcp_int.h"

#define CHUNK 64u    /* tools that are looked up at once */
#define TRAILER 320u /* bytes behind a list */

/* ---- tools/list ---- */

typedef struct translated {
    cw_view *view;
    cw_tool_form form;
    const cw_language *language;
} translated;

static void write_translated(cw_buf *out, void *ctx)
{
    const translated *t = ctx;
    const cw_entry *entries[CHUNK];
    size_t n, total, at = 0;
    cw_buf_add_char(out, '[');
    do {
        cw_code rc = cw_view_page(t->view, CW_VIEW_TOOLS, at, entries, CHUNK, &n, &total);
        if (rc) {
            out->code = rc;
            return;
        }
        for (size_t i = 0; i < n; i++) {
            if (at + i)
                cw_buf_add_char(out, ',');
            cw_translate_tool(out, entries[i], t->form, t->language);
        }
        at += n;
    } while (n && at < total);
    cw_buf_add_char(out, ']');
}

/* Append the list of tools as the caller reads it: as they are, which the view has ready, or in
 * the language of the request, which is kept with the other documents. */
static cw_code add_tools(const cw_mcp_request *r, cw_buf *out)
{
    cw_turn_opts *opts = &r->item->turn->opts;
    translated t = {.view = opts->view, .form = r->era->form};
    t.language = cw_mcp_language(r->port, opts);
    if (!t.language) {
        cw_str tools = cw_view_tools(t.view, t.form);
        cw_buf_reserve(out, tools.n + r->item->id.n + TRAILER);
        cw_buf_add(out, tools);
        return tools.p ? CW_OK : CW_NOMEM;
    }
    cw_cache_key key = {.kind = t.form == CW_TOOL_ANY_OUTPUT ? CW_STR("tools")
                                                             : CW_STR("tools-of-objects"),
                        .view = t.view,
                        .language = cw_language_tag(t.language)};
    cw_document *d;
    cw_code rc = cw_cache_get(cw_bridge_cache(opts->bl), &key, write_translated, &t, &d, NULL);
    if (rc)
        return rc;
    cw_buf_reserve(out, d->body.n + r->item->id.n + TRAILER);
    cw_buf_add(out, cw_buf_str(&d->body));
    cw_document_unref(d);
    /* The rest of a batch may be answered when there are other translations. */
    cw_str tag = cw_arena_dup_str(r->port->arena, key.language);
    opts->language = tag.p ? tag : CW_STR("");
    return CW_OK;
}

void cw_mcp_list_tools(const cw_mcp_request *r)
{
    const cw_turn_opts *opts = &r->item->turn->opts;
    cw_verdict verdict = cw_view_discover_verdict(opts->view);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    if (cw_json_get(r->params, CW_STR("cursor"))) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, "Unknown cursor");
        return;
    }
    cw_buf b;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_message_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"tools\":"));
    if (add_tools(r, &b)) {
        cw_buf_done(&b);
        cw_mcp_fail(r->item, 500, CW_RPC_INTERNAL, "out of memory");
        return;
    }
    if (r->era->is_stamped) {
        cw_buf_add(&b, CW_STR(",\"ttlMs\":"));
        cw_buf_add_i64(&b, cw_bridge_settings_of(opts->bl)->list_ttl_ms);
        cw_buf_add(&b, CW_STR(",\"cacheScope\":\"private\"," CW_MCP_STAMP));
    }
    cw_buf_add_char(&b, '}');
    cw_message_close(&b, r->item->id);
    cw_turn_answer(r->item, 200, &b, CW_STR(""));
}

/* ---- tools/call ---- */

static void fail_unknown(const cw_mcp_request *r, cw_str name)
{
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, CW_STR("Unknown tool: "));
    cw_buf_add(&text, name);
    cw_mcp_error(r->item, 200, CW_RPC_PARAMS, cw_buf_str(&text), CW_STR(""));
    cw_buf_done(&text);
}

static void answer_problem(cw_turn_item *item, const cw_mcp_era *era, cw_code rc, const char *text)
{
    cw_buf b;
    (void)rc;
    cw_buf_init(&b, SIZE_MAX / 2);
    cw_mcp_write_problem(&b, era, cw_str_from(text), item->id);
    cw_turn_answer(item, 200, &b, CW_STR(""));
}

void cw_mcp_call_tool(const cw_mcp_request *r)
{
    static const cw_mcp_kind kind = {.write = cw_mcp_write_outcome, .refuse = answer_problem};
    const cw_turn_opts *opts = &r->item->turn->opts;
    const cw_json *name = cw_json_get(r->params, CW_STR("name"));
    const cw_json *arguments = cw_json_get(r->params, CW_STR("arguments"));
    cw_verdict verdict = cw_view_call_verdict(opts->view);
    if (verdict != CW_VERDICT_ALLOW) {
        cw_mcp_refuse(r->item, verdict, NULL);
        return;
    }
    const char *problem = NULL;
    if (!cw_json_is(name, CW_JSON_STRING))
        problem = "name must be a string";
    else if (arguments && !cw_json_is(arguments, CW_JSON_OBJECT))
        problem = "arguments must be an object";
    if (problem) {
        cw_mcp_fail(r->item, 200, CW_RPC_PARAMS, problem);
        return;
    }
    const cw_entry *entry = cw_view_find_tool(opts->view, cw_json_text(name));
    if (!entry) {
        fail_unknown(r, cw_json_text(name));
        return;
    }
    cw_mcp_start(r, &(cw_mcp_job){.kind = &kind, .entry = entry, .params = arguments});
}
