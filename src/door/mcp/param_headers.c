/* SPDX-License-Identifier: GPL-2.0-or-later */
/* param_headers.c - Mcp-Param-… headers, which repeat arguments for whoever stands in front of us.
 *
 * Whoever routes by the header must not be led elsewhere than the body: one that is
 * missing, differs or cannot be read is refused. Headers that no schema declares
 * mean nothing.
 */
#include "catalogue/param_headers.h"

#include "door/mcp/mcp_int.h"

#define PREFIX "Mcp-Param-"

/* A number or boolean is what its text means: 42.0 is 42. */
static bool says(cw_str header, const cw_json *value, cw_arena *arena)
{
    const cw_json *read;
    if (cw_json_is(value, CW_JSON_STRING))
        return cw_str_eq(header, cw_json_text(value));
    return !cw_json_read(header, NULL, arena, &read, NULL, NULL) &&
           cw_json_type_of(read) == cw_json_type_of(value) && cw_json_equal(read, value);
}

static const char *check_header(const cw_mcp_request *r, cw_str name, cw_str raw,
                                const cw_json *value)
{
    bool is_there = value && !cw_json_is(value, CW_JSON_NULL);
    if (!raw.p)
        return is_there ? "is missing" : NULL;
    if (cw_responder_repeats(r->responder, name))
        return "stands more than once";
    cw_str header = cw_mcp_decode_header(cw_str_trim(raw), r->responder->arena);
    if (!header.p)
        return "is not encoded as it should be";
    if (!is_there)
        return "says what the body does not";
    return says(header, value, r->responder->arena) ? NULL : "is not what the body says";
}

static bool check(const cw_mcp_request *r, const cw_param_headers *mirror)
{
    char *text = cw_arena_printf(r->responder->arena, PREFIX "%.*s", CW_STR_ARG(mirror->header));
    if (!text) {
        cw_door_fail_nomem(r->item);
        return false;
    }
    cw_str name = cw_str_from(text), raw = cw_responder_header(r->responder, name);
    const char *problem = check_header(r, name, raw, mirror->value);
    if (problem)
        cw_mcp_fail_header(r, name, raw,
                           mirror->value ? cw_json_span(mirror->value) : CW_STR("null"), problem);
    return !problem;
}

bool cw_mcp_check_param_headers(const cw_mcp_request *r, const cw_method *method,
                                const cw_json *arguments)
{
    const cw_param_headers *mirrors;
    size_t n = 0;
    if (!r->responder->has_headers)
        return true;
    /* They were right when the catalogue was made: this fails without memory only. */
    if (cw_param_headers_find(method, arguments, r->responder->arena, &mirrors, &n, NULL)) {
        cw_door_fail_nomem(r->item);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!check(r, &mirrors[i]))
            return false;
    }
    return true;
}
