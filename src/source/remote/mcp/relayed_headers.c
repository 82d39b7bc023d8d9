/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relayed_headers.c - arguments that a modern MCP server gets in headers, too: Mcp-Param-…. */
#include "catalogue/tool/param_headers.h"
#include "source/remote/mcp/relayed.h"

bool cw_relayed_has_headers(const cw_method *method)
{
    for (size_t i = 0; i < method->n_params; i++) {
        if (cw_param_headers_may_be_in(method->params[i].schema))
            return true;
    }
    return false;
}

/* A string as its text, anything else as JSON. */
static cw_code add_header(const cw_param_headers *found, cw_arena *arena, cw_relay_header *ret)
{
    const cw_json *v = found->value;
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : cw_json_span(v);
    char *name = cw_arena_printf(arena, "Mcp-Param-%.*s", CW_STR_ARG(found->header));
    *ret = (cw_relay_header){cw_str_from(name), cw_relay_header_value(text, arena)};
    return name && ret->value.p ? CW_OK : CW_NOMEM;
}

cw_code cw_relayed_headers(const cw_source_call *call, cw_str arguments, cw_relay_request *request,
                           cw_err *err)
{
    cw_arena *arena = call->arena;
    const cw_json *sent = NULL;
    const cw_param_headers *found = NULL;
    size_t n = 0;
    cw_relay_header *all = cw_arena_calloc(arena, CW_RELAY_HEADERS, sizeof *all);
    if (!all)
        return cw_fail_nomem(err);
    cw_code rc = arguments.n ? cw_json_read(arguments, NULL, arena, &sent, NULL, err) : CW_OK;
    if (!rc)
        rc = cw_param_headers_find(call->method, sent, arena, &found, &n, err);
    /* An invalid declaration is ignored. The server ignores it too, and checks nothing. */
    if (rc == CW_PARAMS)
        return CW_OK;
    for (size_t i = 0; i < n && !rc && request->n_headers < CW_RELAY_HEADERS; i++) {
        if (found[i].value && !cw_json_is(found[i].value, CW_JSON_NULL))
            rc = add_header(&found[i], arena, &all[request->n_headers++]);
    }
    request->headers = all;
    return rc == CW_NOMEM ? cw_fail_nomem(err) : rc;
}
