/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.c - skills/list, skills/get, resources/directory/read, and the files of skills. */
#include "door/mcp/feature/skills.h"

#include "door/mcp/feature/static_resource.h"

#define PURPOSE CW_STR("mcp skills cursor")
#define CHUNK 16u /* skills that are looked up at once */

/* ---- answers ---- */

/* {"jsonrpc":…,"result":{ */
static void open_answer(cw_buf *out)
{
    cw_buf_init(out, CW_BUF_MAX);
    cw_rpc_open_result(out);
    cw_buf_add_char(out, '{');
}

static void send_answer(const cw_mcp_request *r, cw_buf *out, bool is_cacheable)
{
    if (is_cacheable)
        cw_mcp_add_lifetime(out, r);
    cw_buf_add(out, r->era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(out, r->item->id);
    cw_rpc_item_reply(r->item, 200, out, CW_STR(""));
}

static void fail_uri(const cw_mcp_request *r, const char *problem, cw_str uri)
{
    cw_buf text, data;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_init(&data, CW_BUF_MAX);
    cw_buf_add(&text, cw_str_from(problem));
    cw_buf_add(&text, cw_door_excerpt(uri));
    cw_door_fail_with(r->item, 200, CW_RPC_PARAMS, &text, &data);
}

/* params.uri; .p is NULL when the message is answered. */
static cw_str take_uri(const cw_mcp_request *r)
{
    const cw_json *uri = cw_mcp_string(r->params, CW_STR("uri"));
    if (!cw_mcp_may_read(r))
        return (cw_str){NULL, 0};
    if (uri)
        return cw_json_text(uri);
    cw_door_fail(r->item, 200, CW_RPC_PARAMS, "uri must be a string");
    return (cw_str){NULL, 0};
}

/* ---- skills/list ---- */

/* The root of the last skill of the page before. False: the message is answered. */
static bool read_cursor(const cw_mcp_request *r, cw_str *ret)
{
    const cw_json *cursor = r->members.cursor;
    *ret = CW_STR("");
    if (!cursor)
        return true;
    cw_code rc = CW_PARSE;
    if (cw_json_is(cursor, CW_JSON_STRING))
        rc = cw_seal_open(r->door->seal, PURPOSE, cw_json_text(cursor), r->responder->arena, ret);
    if (rc == CW_NOMEM)
        cw_door_fail_nomem(r->item);
    else if (rc)
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "cursor is not one of this list");
    return !rc;
}

/* As many as have room; *ret_last: the root of the last one. Returns whether others follow. */
static bool write_skills(cw_buf *out, const cw_mcp_request *r, cw_str root, cw_str *ret_last)
{
    const cw_skill *skills[CHUNK];
    uint32_t size = cw_runtime_config(r->rl)->mcp.page_size;
    size_t n, n_written = 0, left = size ? size : CW_MCP_PAGE_SIZE, begin = out->n;
    bool has_more;
    do {
        cw_view_skills_after(r->view, root, skills, left < CHUNK ? left : CHUNK, &n, &has_more);
        for (size_t i = 0; i < n; i++) {
            /* A skill is never divided: one that is larger than a page is a page. */
            if (n_written && out->n - begin + skills[i]->entry.n > CW_MCP_SKILLS_PAGE)
                return true;
            cw_buf_add(out, n_written++ ? CW_STR(",") : CW_STR(""));
            cw_buf_add(out, skills[i]->entry);
            root = *ret_last = skills[i]->root;
        }
        left -= n;
    } while (n && has_more && left);
    return has_more;
}

void cw_mcp_list_skills(const cw_mcp_request *r)
{
    cw_buf out;
    cw_str root, last = CW_STR(""), cursor = {NULL, 0};
    if (!cw_mcp_may_read(r) || !read_cursor(r, &root))
        return;
    open_answer(&out);
    cw_buf_add(&out, CW_STR("\"skills\":["));
    bool has_more = write_skills(&out, r, root, &last);
    cw_buf_add_char(&out, ']');
    if (has_more &&
        cw_seal_close(r->door->seal, PURPOSE, last, r->responder->arena, &cursor, NULL)) {
        cw_buf_done(&out);
        cw_door_fail_nomem(r->item);
        return;
    }
    if (has_more) {
        cw_buf_add(&out, CW_STR(",\"nextCursor\":"));
        cw_json_escape(&out, cursor);
    }
    send_answer(r, &out, /* is_cacheable= */ true);
}

/* ---- skills/get ---- */

void cw_mcp_get_skill(const cw_mcp_request *r)
{
    cw_buf out;
    cw_str uri = take_uri(r);
    if (!uri.p)
        return;
    const cw_skill *skill = cw_view_find_skill(r->view, uri);
    if (!skill) {
        fail_uri(r, "Unknown skill: ", uri);
        return;
    }
    open_answer(&out);
    cw_buf_add(&out, CW_STR("\"skill\":"));
    cw_buf_add(&out, skill->entry);
    send_answer(r, &out, /* is_cacheable= */ true);
}

/* ---- resources/directory/read ---- */

static void write_child(cw_buf *out, const cw_skill *skill, const cw_skill_node *node)
{
    if (cw_str_eq(node->uri, skill->uri)) {
        cw_buf_add(out, skill->resource);
        return;
    }
    cw_buf_add(out, CW_STR("{\"uri\":"));
    cw_json_escape(out, node->uri);
    cw_buf_add(out, CW_STR(",\"name\":"));
    cw_json_escape(out, node->name);
    cw_buf_add(out, CW_STR(",\"mimeType\":"));
    cw_json_escape(out, node->mime_type);
    if (!node->is_directory) {
        cw_buf_add(out, CW_STR(",\"size\":"));
        cw_buf_add_u64(out, node->bytes.n);
    }
    cw_buf_add_char(out, '}');
}

/* All children are one page: a skill has few files. */
void cw_mcp_read_directory(const cw_mcp_request *r)
{
    cw_buf out;
    const cw_skill *skill;
    const cw_skill_node *node;
    char separator = '[';
    cw_str uri = take_uri(r);
    if (!uri.p)
        return;
    if (r->members.cursor) {
        cw_door_fail(r->item, 200, CW_RPC_PARAMS, "cursor is not one of this list");
        return;
    }
    if (!cw_view_find_skill_node(r->view, uri, &skill, &node) || (node && !node->is_directory)) {
        fail_uri(r, "Not a directory: ", uri);
        return;
    }
    open_answer(&out);
    cw_buf_add(&out, CW_STR("\"resources\":"));
    for (size_t i = 0; i < skill->n_nodes; i++) {
        if (!cw_skill_node_is_in(&skill->nodes[i], uri))
            continue;
        cw_buf_add_char(&out, separator);
        write_child(&out, skill, &skill->nodes[i]);
        separator = ',';
    }
    cw_buf_add(&out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
    send_answer(r, &out, /* is_cacheable= */ false);
}

/* ---- resources/read ---- */

bool cw_mcp_read_skill_file(const cw_mcp_request *r, cw_str uri)
{
    const cw_skill *skill;
    const cw_skill_node *node;
    if (!cw_view_find_skill_node(r->view, uri, &skill, &node) || !node || node->is_directory)
        return false;
    cw_mcp_reply_static(r, &(cw_mcp_static_resource){.uri = node->uri,
                                                     .mime_type = node->mime_type,
                                                     .bytes = node->bytes,
                                                     .is_text = node->is_text});
    return true;
}
