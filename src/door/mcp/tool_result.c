/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tool_result.c - what a method returned, as the result of a tool.
 *
 * Spans are copied once, into the answer. A result that is a string is its own
 * text; anything else is shown as the JSON that it is.
 */
#include "door/mcp/mcp_int.h"
#include "json/write.h"

/* Everything but id, text and structured content. */
#define FRAME 320u
#define NO_RESULT "The method made content only, although it declares the schema of a result."

static void close_result(cw_buf *out, const cw_mcp_era *era, cw_str id)
{
    cw_buf_add(out, era->is_stamped ? CW_STR("," CW_MCP_RESULT_META "}") : CW_STR("}"));
    cw_rpc_close(out, id);
}

static void add_structured(cw_buf *out, const cw_mcp_era *era, const cw_entry *entry,
                           const cw_json *result)
{
    bool wraps = era->wants_objects && (entry->wraps_output || !cw_json_is(result, CW_JSON_OBJECT));
    cw_buf_add(out, wraps ? CW_STR(",\"structuredContent\":{\"result\":")
                          : CW_STR(",\"structuredContent\":"));
    cw_buf_add(out, cw_json_span(result));
    if (wraps)
        cw_buf_add_char(out, '}');
}

static void write_result(cw_buf *out, const cw_mcp_era *era, const cw_entry *entry,
                         const cw_json *result, cw_str id)
{
    size_t n = cw_json_span(result).n;
    cw_buf_reserve(out, 2 * n + n / 8 + id.n + FRAME);
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    cw_mcp_add_text(out, result);
    cw_buf_add(out, CW_STR("}]"));
    add_structured(out, era, entry, result);
    close_result(out, era, id);
}

/* Blocks take the place of the text; the result stands beside them when there is one. */
static void write_content(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *job,
                          const cw_outcome *outcome, cw_str id)
{
    const cw_entry *entry = job->entry;
    bool has_result = outcome->result && !cw_json_is(outcome->result, CW_JSON_NULL);
    char separator = '[';
    /* Clients refuse a result without the part that the tool has promised. */
    if (!has_result && entry->method->output.n) {
        cw_mcp_write_problem(out, era, CW_STR(NO_RESULT), id);
        return;
    }
    cw_buf_reserve(out, cw_json_span(outcome->content).n + id.n + FRAME);
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":"));
    for (const cw_json *b = cw_json_first(outcome->content); b; b = cw_json_next(b)) {
        cw_buf_add_char(out, separator);
        cw_mcp_add_block(out, job, b);
        separator = ',';
    }
    cw_buf_add(out, separator == '[' ? CW_STR("[]") : CW_STR("]"));
    if (has_result)
        add_structured(out, era, entry, outcome->result);
    close_result(out, era, id);
}

/* "Node 5 not found (error -32602): details" */
static void write_error(cw_buf *out, const cw_mcp_era *era, const cw_outcome *outcome, cw_str id)
{
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, outcome->message);
    cw_buf_add(&text, CW_STR(" (error "));
    cw_buf_add_i64(&text, outcome->code);
    cw_buf_add_char(&text, ')');
    bool is_text = outcome->data && cw_json_is(outcome->data, CW_JSON_STRING);
    bool has_data = outcome->data && !cw_json_is(outcome->data, CW_JSON_NULL);
    cw_str more = cw_rpc_error_detail(outcome);
    if (more.n || (has_data && !is_text))
        cw_buf_add(&text, CW_STR(": "));
    if (is_text)
        cw_buf_add(&text, more);
    else if (has_data)
        cw_json_add_compact(&text, outcome->data);
    cw_mcp_write_problem(out, era, cw_buf_str(&text), id);
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

void cw_mcp_write_problem(cw_buf *out, const cw_mcp_era *era, cw_str text, cw_str id)
{
    cw_rpc_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    cw_json_escape(out, text);
    cw_buf_add(out, CW_STR("}],\"isError\":true"));
    close_result(out, era, id);
}

void cw_mcp_write_outcome(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *job,
                          const cw_outcome *outcome, cw_str id)
{
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT:
        if (outcome->content)
            write_content(out, era, job, outcome, id);
        else
            write_result(out, era, job->entry, outcome->result, id);
        break;
    case CW_OUTCOME_ERROR:
        write_error(out, era, outcome, id);
        break;
    case CW_OUTCOME_FAILED:
    case CW_OUTCOME_INPUT_REQUIRED:
        cw_mcp_write_problem(out, era, outcome->message, id);
        break;
    }
}
