/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_int.h - what the files of the MCP door share.
 *
 *     mcp.c          which era a message belongs to
 *     mcp_modern.c   2026-07-28: envelope, headers, methods
 *     mcp_legacy.c   2024-11-05 to 2025-11-25: handshake, batches, methods
 *     mcp_tools.c    tools/list, tools/call
 *     mcp_result.c   the outcome of a call as a result
 *     mcp_stream.c   progress and answer as an event stream
 *     mcp_listen.c   subscriptions/listen
 *
 * An era is a table: what differs between them stands there and nowhere else.
 */
#ifndef CW_DOOR_MCP_INT_H
#define CW_DOOR_MCP_INT_H

#include "door/message.h"
#include "door/turn.h"

#define CW_MCP_META(name) "io.modelcontextprotocol/" name
#define CW_MCP_SERVER "{\"name\":\"Causeway\",\"version\":\"" CW_VERSION "\"}"
/* Behind the members of a stamped result. */
#define CW_MCP_STAMP                                                                               \
    "\"resultType\":\"complete\",\"_meta\":{\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER "}"

#define CW_MCP_FAILURE                                                                             \
    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,\"message\":\"Internal error\"}}"

enum {
    CW_MCP_TRANSPORT = -32000,   /* what HTTP says already: media type, legacy version header */
    CW_MCP_HEADER = -32020,      /* a header is missing or is not what the body says */
    CW_MCP_UNSUPPORTED = -32022, /* protocol version */
};

typedef struct cw_mcp_era cw_mcp_era;

/* One request on its way through the door; lives for the callback only. */
typedef struct cw_mcp_request {
    cw_http_req *req;
    cw_turn_item *item;
    const cw_mcp_era *era;
    cw_str method;
    const cw_json *params; /* an object, or NULL */
} cw_mcp_request;

typedef struct cw_mcp_method {
    cw_str name;
    void (*run)(const cw_mcp_request *r);
} cw_mcp_method;

struct cw_mcp_era {
    const cw_mcp_method *methods;
    size_t n_methods;
    unsigned unknown_status; /* HTTP, for an unknown method */
    cw_tool_form form;
    bool is_stamped;    /* results have resultType, serverInfo, and lists ttlMs and cacheScope */
    bool wants_objects; /* structuredContent that is no object becomes {"result": …} */
    bool detaches;      /* a client that leaves has not cancelled */
};

extern const cw_mcp_era cw_mcp_modern, cw_mcp_legacy;

/* mcp.c */
/* Run by name, or answer that the method is unknown. */
void cw_mcp_dispatch(const cw_mcp_request *r);
/* An error with the specification's message and `text` as data. */
void cw_mcp_fail(cw_turn_item *item, unsigned status, int64_t code, const char *text);
/* An error with this message and data (JSON, or empty). */
void cw_mcp_error(cw_turn_item *item, unsigned status, int64_t code, cw_str message, cw_str data);
void cw_mcp_refuse(cw_turn_item *item, cw_verdict verdict, const cw_needs *needs);
/* An error of the request as a whole, without id. */
void cw_mcp_fail_all(cw_http_req *req, unsigned status, int64_t code, const char *text);
const cw_json *cw_mcp_meta(const cw_json *params, cw_str name);

/* mcp_modern.c */
#define CW_MCP_CLAIM CW_MCP_META("protocolVersion")
bool cw_mcp_is_modern(cw_str version);
/* The i-th one, newest first; .p is NULL behind the last. */
cw_str cw_mcp_modern_version(size_t i);
/* A version that none of the older ones is, and that is not older than they are. */
bool cw_mcp_looks_modern(cw_str version);
/* Whether params carry everything a modern request must carry, in a version that we speak. */
bool cw_mcp_has_envelope(const cw_json *params);
void cw_mcp_run_modern(const cw_mcp_request *r);

/* mcp_legacy.c */
bool cw_mcp_is_legacy(cw_str version);
cw_str cw_mcp_legacy_version(size_t i);
cw_str cw_mcp_newest_legacy(void);
bool cw_mcp_allows_batch(cw_str version_header);
void cw_mcp_run_legacy(const cw_mcp_request *r);

/* mcp_tools.c */
void cw_mcp_list_tools(const cw_mcp_request *r);
void cw_mcp_call_tool(const cw_mcp_request *r);

/* mcp_result.c */
void cw_mcp_write_outcome(cw_buf *out, const cw_mcp_era *era, const cw_entry *entry,
                          const cw_outcome *outcome, cw_str id);
/* A result with isError and this text. */
void cw_mcp_write_problem(cw_buf *out, const cw_mcp_era *era, cw_str text, cw_str id);

/* mcp_stream.c */
/* An event stream that ends with an answer. */
typedef struct cw_mcp_stream {
    cw_http_req *req;
    cw_buf newest;  /* progress that waits for a slow reader */
    cw_str rest[3]; /* of the last event, while it is being sent */
    bool is_open;
    bool is_full;
} cw_mcp_stream;

/* Open it unless it is open. */
void cw_mcp_stream_open(cw_mcp_stream *s, cw_http_req *req);
/* Send an event; a slow reader gets the newest one only. */
void cw_mcp_stream_send(cw_mcp_stream *s, cw_str data);
/* Send the last event and close. Takes over what `b` holds. */
void cw_mcp_stream_end(cw_mcp_stream *s, cw_buf *b);
void cw_mcp_stream_drained(cw_mcp_stream *s);

/* mcp_listen.c */
void cw_mcp_listen(const cw_mcp_request *r);

#endif
