/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_result.c - what a method returned, as the result of a tool.
 *
 * Spans are copied once, into the answer. A result that is a string is its own
 * text; anything else is shown as the JSON that it is.
 */
#include "door/mcp_int.h"
#include "json/write.h"

/* Everything but id, text and structured content. */
#define FRAME 320u

static void close_result(cw_buf *out, const cw_mcp_era *era, cw_str id)
{
    cw_buf_add(out, era->is_stamped ? CW_STR("," CW_MCP_STAMP "}") : CW_STR("}"));
    cw_message_close(out, id);
}

static void write_result(cw_buf *out, const cw_mcp_era *era, const cw_entry *entry,
                         const cw_json *result, cw_str id)
{
    cw_str span = cw_json_span(result);
    bool wraps = era->wants_objects && (entry->wraps_output || !cw_json_is(result, CW_JSON_OBJECT));
    cw_buf_reserve(out, 2 * span.n + span.n / 8 + id.n + FRAME);
    cw_message_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    if (cw_json_is(result, CW_JSON_STRING))
        cw_buf_add(out, span);
    else
        cw_json_escape(out, span);
    cw_buf_add(out, wraps ? CW_STR("}],\"structuredContent\":{\"result\":")
                          : CW_STR("}],\"structuredContent\":"));
    cw_buf_add(out, span);
    if (wraps)
        cw_buf_add_char(out, '}');
    close_result(out, era, id);
}

/* "Node 5 not found (error -32602): details" */
static void write_error(cw_buf *out, const cw_mcp_era *era, const cw_outcome *outcome, cw_str id)
{
    cw_buf text;
    cw_buf_init(&text, SIZE_MAX / 2);
    cw_buf_add(&text, outcome->message);
    cw_buf_add(&text, CW_STR(" (error "));
    cw_message_add_i64(&text, outcome->code);
    cw_buf_add_char(&text, ')');
    if (outcome->data && !cw_json_is(outcome->data, CW_JSON_NULL)) {
        cw_buf_add(&text, CW_STR(": "));
        cw_buf_add(&text, cw_json_text(outcome->data));
    }
    cw_mcp_write_problem(out, era, cw_buf_str(&text), id);
    if (text.code && !out->code)
        out->code = text.code;
    cw_buf_done(&text);
}

void cw_mcp_write_problem(cw_buf *out, const cw_mcp_era *era, cw_str text, cw_str id)
{
    cw_message_open_result(out);
    cw_buf_add(out, CW_STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    cw_json_escape(out, text);
    cw_buf_add(out, CW_STR("}],\"isError\":true"));
    close_result(out, era, id);
}

void cw_mcp_write_outcome(cw_buf *out, const cw_mcp_era *era, const cw_entry *entry,
                          const cw_outcome *outcome, cw_str id)
{
    switch (outcome->kind) {
    case CW_OUTCOME_RESULT:
        write_result(out, era, entry, outcome->result, id);
        break;
    case CW_OUTCOME_ERROR:
        write_error(out, era, outcome, id);
        break;
    case CW_OUTCOME_FAILED:
        cw_mcp_write_problem(out, era, outcome->message, id);
        break;
    }
}
