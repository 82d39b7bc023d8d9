/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search.c - toolsets with mode: search: find_tools and call_tool in place of a long list.
 *
 * A call through call_tool is a call of the tool that it names: gate, limits, schemas and audit see that
 * tool (tools.c).
 */
#include "door/mcp/feature/search.h"
#include "catalogue/search/search_index.h"
#include "catalogue/tool/short_text.h"
#include "door/mcp/feature/list.h"
#include "door/mcp/instructions.h"
#include "door/mcp/mcp_int.h"

#define QUERY_MAX 1024u
#define LIMIT_DEFAULT 8
#define LIMIT_MAX 50
#define SUMMARY_MAX (4u * CW_CONFIG_MAX_INSTRUCTIONS)

bool cw_mcp_is_search(const cw_view *view)
{
    const cw_toolset *toolset = cw_view_toolset(view);
    return toolset && toolset->is_search;
}

/* ---- the list ---- */

#define FIND_SCHEMA                                                                                \
    "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":"         \
    "\"What the tool shall do, in a few words, or its name\"},\"limit\":{\"type\":\"integer\","    \
    "\"minimum\":1,\"maximum\":50,\"default\":8},\"detail\":{\"type\":\"string\",\"enum\":["       \
    "\"brief\",\"params\",\"full\"],\"default\":\"params\",\"description\":\"brief: names and "    \
    "descriptions; params: also parameters; full: whole definitions\"}},\"required\":[\"query\"]," \
    "\"additionalProperties\":false}"
#define CALL_SCHEMA                                                                                \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"description\":\"Name "   \
    "of a tool that find_tools has returned\"},\"arguments\":{\"type\":\"object\","                \
    "\"description\":\"Its arguments, as its inputSchema describes them\",\"properties\":{},"      \
    "\"additionalProperties\":true}},\"required\":[\"name\"],\"additionalProperties\":false}"

void cw_mcp_search_write_list(cw_buf *out, const cw_mcp_request *r)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SUMMARY_MAX);
    cw_buf_add(&text, CW_STR("Search the tools of this server by what they do. The list of tools "
                             "has only this search: use it before you conclude that a tool does "
                             "not exist. Call a tool that it returns with call_tool.\n"));
    cw_mcp_add_summary(&text, r);
    bool reads = cw_view_toolset(r->view)->is_read_only;
    cw_buf_add(out, CW_STR("\"tools\":[{\"name\":\"find_tools\",\"title\":\"Find tools\","
                           "\"description\":"));
    cw_json_escape(out, cw_buf_str(&text));
    cw_buf_add(out, CW_STR(",\"inputSchema\":" FIND_SCHEMA
                           ",\"annotations\":{\"readOnlyHint\":true,\"openWorldHint\":false}},"
                           "{\"name\":\"call_tool\",\"title\":\"Call a tool\",\"description\":"
                           "\"Call a tool that find_tools has returned. The result is that of the "
                           "tool.\",\"inputSchema\":" CALL_SCHEMA ",\"annotations\":"));
    /* The union of what it can reach. */
    cw_buf_add(out, reads ? CW_STR("{\"readOnlyHint\":true}}]")
                          : CW_STR("{\"readOnlyHint\":false,\"destructiveHint\":true}}]"));
    if (text.code && !out->code)
        out->code = text.code;
}

/* ---- find_tools ---- */

typedef enum detail { BRIEF, PARAMS, FULL } detail;

typedef struct question {
    cw_str query;
    int64_t limit;
    detail detail;
} question;

static bool read_detail(const cw_json *v, detail *ret)
{
    static const char *const names[] = {[BRIEF] = "brief", [PARAMS] = "params", [FULL] = "full"};
    for (size_t i = 0; i < CW_COUNT(names) && cw_json_is(v, CW_JSON_STRING); i++) {
        if (cw_str_is(cw_json_text(v), names[i])) {
            *ret = (detail)i;
            return true;
        }
    }
    return false;
}

/* NULL, or what is wrong; static. */
static const char *read_question(const cw_json *arguments, question *ret)
{
    *ret = (question){.limit = LIMIT_DEFAULT, .detail = PARAMS};
    for (const cw_json *k = arguments ? cw_json_first(arguments) : NULL; k;
         k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_value(k);
        if (cw_str_is(cw_json_text(k), "query")) {
            if (!cw_json_is(v, CW_JSON_STRING) || cw_json_text(v).n > QUERY_MAX)
                return "query must be a string of at most 1024 bytes";
            ret->query = cw_json_text(v);
        } else if (cw_str_is(cw_json_text(k), "limit")) {
            if (!cw_json_is_integer(v) || !cw_json_to_i64(v, &ret->limit) || ret->limit < 1 ||
                ret->limit > LIMIT_MAX)
                return "limit must be an integer from 1 to 50";
        } else if (cw_str_is(cw_json_text(k), "detail")) {
            if (!read_detail(v, &ret->detail))
                return "detail must be brief, params or full";
        } else {
            return "find_tools takes query, limit and detail only";
        }
    }
    return ret->query.n ? NULL : "query is missing";
}

static void add_brief(cw_buf *out, const cw_entry *tool, const cw_mcp_reader *reader)
{
    char room[CW_PORTABLE_NAME_MAX];
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_SHORT_TEXT_MAX + 8);
    cw_short_text_add(&text, tool->method->usage);
    cw_buf_add(out, CW_STR("{\"name\":"));
    cw_json_escape(out, reader->has_portable_names ? cw_portable_name(tool->tool_name, room)
                                                   : tool->tool_name);
    cw_buf_add(out, CW_STR(",\"description\":"));
    cw_json_escape(out, cw_buf_str(&text));
    cw_buf_add_char(out, '}');
}

static void write_found(cw_buf *out, const question *q, const cw_mcp_reader *reader,
                        const cw_entry *const *tools, size_t n, size_t total)
{
    cw_buf_add(out, CW_STR("{\"tools\":["));
    for (size_t i = 0; i < n; i++) {
        if (i)
            cw_buf_add_char(out, ',');
        if (q->detail == BRIEF)
            add_brief(out, tools[i], reader);
        else
            cw_tool_write_mcp(out, tools[i], reader);
    }
    cw_buf_printf(out, "],\"total\":%zu}", total);
}

static void answer_text(const cw_mcp_request *r, const cw_buf *text, bool is_error)
{
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_rpc_open_result(&b);
    cw_buf_add(&b, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    cw_json_escape(&b, cw_buf_str(text));
    cw_buf_add(&b, CW_STR("}]"));
    if (is_error)
        cw_buf_add(&b, CW_STR(",\"isError\":true"));
    cw_buf_add(&b, r->era->is_modern ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(&b, r->item->id);
    if (text->code && !b.code)
        b.code = text->code;
    cw_rpc_item_reply(r->item, 200, &b, CW_STR(""));
}

static void answer_problem(const cw_mcp_request *r, const char *problem)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_buf_printf(&text, "Invalid params: %s", problem);
    answer_text(r, &text, /* is_error= */ true);
}

/* Matching tools as the client's list would show them. */
static cw_code find(const cw_mcp_request *r, const question *q, cw_buf *text)
{
    const cw_entry *tools[LIMIT_MAX];
    size_t n, total;
    cw_code rc = cw_search_index_find(r->view, q->query, cw_mcp_has_no_login(r->rl, r->responder),
                                      tools, (size_t)q->limit, &n, &total);
    if (rc)
        return rc;
    cw_mcp_reader reader = cw_mcp_reader_of(r);
    reader.omits_output_schemas = reader.has_short_descriptions = q->detail != FULL;
    reader.has_signatures = reader.has_signatures && q->detail != FULL;
    write_found(text, q, &reader, tools, n, total);
    return text->code;
}

void cw_mcp_search_find(const cw_mcp_request *r, const cw_json *arguments)
{
    question q;
    cw_call_error refusal = {0};
    const char *problem = read_question(arguments, &q);
    if (!cw_mcp_may(r, /* discovers= */ true))
        return;
    if (problem) {
        answer_problem(r, problem);
        return;
    }
    if (cw_call_may_list(r->rl, r->view, cw_responder_peer(r->responder), &refusal)) {
        cw_door_fail_rate_limited(r->item, &refusal);
        return;
    }
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    if (find(r, &q, &text))
        cw_door_fail_nomem(r->item);
    else
        answer_text(r, &text, /* is_error= */ false);
}
