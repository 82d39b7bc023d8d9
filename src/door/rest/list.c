/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - tools page by page, and one by its name. */
#include "base/digits.h"
#include "catalogue/cursor.h"
#include "catalogue/translate.h"
#include "door/negotiate.h"
#include "door/rest/reply.h"
#include "json/write.h"

typedef struct page {
    cw_view *view;
    const cw_language *language;
    uint64_t offset;
    uint32_t size;
} page;

/* ---- GET /mcp/tools/list ---- */

static void write_page(cw_buf *out, void *ctx)
{
    const page *p = ctx;
    const cw_entry *entries[CW_PAGE_SIZE_MAX];
    size_t n, total;
    cw_code rc = cw_view_page(p->view, CW_VIEW_TOOLS, p->offset, entries, p->size, &n, &total);
    if (rc) {
        out->code = rc;
        return;
    }
    cw_buf_add(out, CW_STR("{\"tools\":["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        cw_translate_tool(out, entries[i], CW_TOOL_ANY_OUTPUT, p->language);
    }
    cw_buf_add(out, CW_STR("],\"nextCursor\":"));
    if (p->offset + n < total) {
        char cursor[CW_CURSOR_SIZE];
        size_t len = cw_cursor_format(p->offset + n, cursor);
        cw_json_escape(out, cw_str_make(cursor, len));
    } else {
        cw_buf_add(out, CW_STR("null"));
    }
    cw_buf_add_char(out, '}');
}

/* Where the page begins; false: the request is answered. */
static bool read_offset(cw_http_req *req, uint64_t *ret)
{
    cw_str cursor;
    *ret = 0;
    switch (cw_query_param(req, CW_STR("cursor"), &cursor)) {
    case CW_PARAM_ABSENT:
        return true;
    case CW_PARAM_ONCE:
        if (cursor.n == 0 || cw_cursor_parse(cursor, ret))
            return true;
        break;
    case CW_PARAM_NOMEM:
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return false;
    case CW_PARAM_INVALID:
        break;
    }
    cw_rest_fail(req, 400, "invalid_cursor", "Parameter \"cursor\" is not a cursor of this list");
    return false;
}

/* Every offset behind the end is the same empty page. */
static cw_code clamp(page *p)
{
    size_t n, total;
    if (p->offset == 0)
        return CW_OK;
    cw_code rc = cw_view_page(p->view, CW_VIEW_TOOLS, 0, NULL, 0, &n, &total);
    if (!rc && p->offset > total)
        p->offset = total;
    return rc;
}

static void list(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    page p = {.view = view,
              .language = cw_rest_language(req, rl, view),
              .size = cw_runtime_settings_of(rl)->page_size};
    char offset[CW_DIGITS_SIZE];
    if (!p.size)
        p.size = CW_PAGE_SIZE;
    if (!cw_rest_may_discover(req, rl, view) || !read_offset(req, &p.offset))
        return;
    if (clamp(&p)) {
        cw_door_fail_nomem_all(req, &cw_door_rest);
        return;
    }
    cw_rest_document doc = {
        .key = {.kind = CW_STR("list"),
                .view = view,
                .language = cw_language_tag(p.language),
                .name = cw_digits_u64(p.offset, offset),
                /* No cursor of ours leads there. */
                .is_transient = p.offset % p.size != 0},
        .write = write_page,
        .ctx = &p,
        .language = p.language,
        .contexts = "user languages url.query_args:cursor",
    };
    cw_rest_send(req, rl, &doc);
}

void cw_rest_on_list(cw_http_req *req, void *runtime)
{
    static const cw_http_header headers[] = {
        {CW_STR_INIT("Cache-Control"), CW_STR_INIT("no-store")},
        {CW_STR_INIT("Allow"), CW_STR_INIT("POST, OPTIONS")},
    };
    if (cw_negotiate_only_events(req)) {
        /* A client of the protocol that was given this address: it goes on with POST. */
        cw_http_reply(req, &(cw_http_response){
                               .status = 405,
                               .body = CW_STR("{\"error\":{\"code\":\"method_not_allowed\","
                                              "\"message\":\"There is no event stream here\"}}"),
                               .headers = headers,
                               .n_headers = CW_COUNT(headers)});
        return;
    }
    cw_authenticate(req, runtime, &cw_authenticate_rest, list, runtime);
}

/* ---- GET /mcp/tools/describe ---- */

typedef struct tool {
    const cw_entry *entry;
    const cw_language *language;
} tool;

static void write_tool(cw_buf *out, void *ctx)
{
    const tool *t = ctx;
    cw_buf_add(out, CW_STR("{\"tool\":"));
    cw_translate_tool(out, t->entry, CW_TOOL_ANY_OUTPUT, t->language);
    cw_buf_add_char(out, '}');
}

/* False: the request is answered. */
static bool read_name(cw_http_req *req, cw_str *ret)
{
    cw_param_state state = cw_query_param(req, CW_STR("name"), ret);
    /* "0" is none, as for the original. */
    if (state == CW_PARAM_ONCE && ret->n && !cw_str_is(*ret, "0"))
        return true;
    if (state == CW_PARAM_NOMEM)
        cw_door_fail_nomem_all(req, &cw_door_rest);
    else if (state == CW_PARAM_INVALID)
        cw_rest_fail(req, 400, "invalid_arguments",
                     "Parameter \"name\" must stand there once, as one text");
    else
        cw_rest_fail(req, 400, "missing_parameter", "Required parameter \"name\" is missing");
    return false;
}

static void describe(cw_http_req *req, cw_runtime_loop *rl, cw_view *view, void *self)
{
    (void)self;
    cw_str name;
    if (!cw_rest_may_discover(req, rl, view) || !read_name(req, &name))
        return;
    cw_call_lookup lookup = {.view = view, .discovers = true, .in = CW_FIND_TOOL, .name = name};
    cw_call_found found;
    cw_code rc = cw_rest_find(req, rl, lookup, &found);
    tool t = {found.entry, cw_rest_language(req, rl, view)};
    if (rc) {
        cw_rest_fail_unknown(req, name);
        return;
    }
    cw_rest_document doc = {
        .key = {.kind = CW_STR("describe"),
                .view = view,
                .language = cw_language_tag(t.language),
                .name = t.entry->tool_name},
        .write = write_tool,
        .ctx = &t,
        .language = t.language,
        .contexts = "user languages url.query_args:name",
    };
    cw_rest_send(req, rl, &doc);
}

void cw_rest_on_describe(cw_http_req *req, void *runtime)
{
    cw_authenticate(req, runtime, &cw_authenticate_rest, describe, runtime);
}
