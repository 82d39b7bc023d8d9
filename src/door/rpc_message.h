/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rpc_message.h - parts of HTTP and JSON-RPC messages that both JSON-RPC doors use.
 *
 * Threads: no state.
 */
#ifndef CW_DOOR_RPC_MESSAGE_H
#define CW_DOOR_RPC_MESSAGE_H

#include "base/buf.h"
#include "json/json.h"
#include "net/server/request_api.h"
#include "source/outcome.h"

enum {
    CW_RPC_PARSE = -32700,
    CW_RPC_INVALID = -32600,
    CW_RPC_METHOD = -32601,
    CW_RPC_PARAMS = -32602,
    CW_RPC_INTERNAL = -32603,
};

/* Whether the Content-Type is application/json, with any parameters. */
bool cw_rpc_is_json(const cw_http_req *req);

/* {"jsonrpc":"2.0","result": … ,"id":…}: the caller writes the result between the two. An id
 * without .p is left out. */
void cw_rpc_open_result(cw_buf *out);
void cw_rpc_close(cw_buf *out, cw_str id);
/* The result between the two, in a message with this id. False: it is an error, or another message. */
bool cw_rpc_result_of(cw_str message, cw_str id, cw_str *ret);
/* The result of a method, or its content if it has no result. */
void cw_rpc_add_returned(cw_buf *out, const cw_outcome *outcome);
/* The text beside a method's error message that a reader needs; empty where data is no text, or
 * repeats the message, as of a service that has only fixed words for a message. */
cw_str cw_rpc_error_detail(const cw_outcome *outcome);
/* A whole error. `data` is JSON, or empty for none. */
void cw_rpc_error(cw_buf *out, int64_t code, cw_str message, cw_str data, cw_str id);
/* The same with the specification's message and a readable string as data; empty: no data. */
void cw_rpc_fail(cw_buf *out, int64_t code, cw_str text, cw_str id);
/* The same with the text in the message too, "Invalid params: missing required parameter: nid",
 * because MCP clients show nothing else. With a code that is not the specification's, the text is
 * the message, and there is no data. */
void cw_rpc_explain(cw_buf *out, int64_t code, cw_str text, cw_str id);
/* Append text that follows a colon: the first letter becomes small, unless the word is a name. */
void cw_rpc_add_reason(cw_buf *out, cw_str text);

#endif
