/* SPDX-License-Identifier: GPL-2.0-or-later */
/* relay.h - an MCP server as a service: the eras of its protocol, and requests in the form of each.
 *
 *     era       how it is found                                request
 *     modern    server/discover returns a modern version       _meta has version, client, capabilities
 *     legacy    any other response                             after initialize; _meta has a token only
 *     unknown   no response, or 401, 403, 5xx and the like     legacy, for this request only
 *
 * A request is kept as its parts until the era of the connection that it leaves on is known. Keys of
 * _meta that begin with "io.modelcontextprotocol/" belong to one hop: those of a client do not pass.
 *
 * Ownership: texts of a request belong to its maker, and outlive it.
 * Threads:   pure functions.
 * Limits:    CW_RELAY_VERSION_MAX, CW_RELAY_SESSION_MAX for texts of a server.
 */
#ifndef CW_SOURCE_RELAY_RELAY_H
#define CW_SOURCE_RELAY_RELAY_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"

#define CW_RELAY_MODERN_VERSION "2026-07-28"
#define CW_RELAY_LEGACY_VERSION "2025-11-25"
#define CW_RELAY_META "io.modelcontextprotocol/"
#define CW_RELAY_VERSION_MAX 32u
#define CW_RELAY_SESSION_MAX 512u

typedef enum cw_relay_era {
    CW_RELAY_UNKNOWN,
    CW_RELAY_LEGACY,
    CW_RELAY_MODERN,
} cw_relay_era;

/* "unknown", "legacy", "modern". */
const char *cw_relay_era_name(cw_relay_era era);

/* Capabilities of a client that a server may use. */
enum {
    CW_RELAY_FORM = 1,
    CW_RELAY_URL = 2,
    CW_RELAY_SAMPLING = 4,
    CW_RELAY_ROOTS = 8,
    CW_RELAY_SAMPLING_TOOLS = 16,
};

/* The bit of a name: form, url, sampling, roots; 0: none. `sampling` has tools too. */
unsigned cw_relay_capability(cw_str name);
/* The bits that a client has: names of the member "client" of a call (docs/plugin-protocol.md). */
unsigned cw_relay_client_capabilities(const cw_json *names);
/* The capability that a request of the server needs; 0: it is no question. */
unsigned cw_relay_question(cw_str method, const cw_json *params);

/* An argument that a modern server gets in a header, too. */
typedef struct cw_relay_header {
    cw_str name;  /* "Mcp-Param-Region" */
    cw_str value; /* encoded, if need be */
} cw_relay_header;
#define CW_RELAY_HEADERS 16u

typedef struct cw_relay_request {
    cw_str method;  /* "tools/call" */
    cw_str members; /* of params: JSON without braces and without _meta; may be empty */
    cw_str meta;    /* further members of _meta, JSON without braces; may be empty */
    cw_str traceparent, tracestate; /* of the call's span, also members of _meta; empty: none */
    cw_str name;                    /* that the header Mcp-Name repeats; empty: none */
    cw_str caller;                  /* id of the caller, for sessions; empty: Causeway's own */
    cw_str log_level;               /* of log lines that a modern server sends; empty: none */
    cw_str last_event;              /* of a stream: Last-Event-ID; empty: none */
    const cw_relay_header *headers; /* at most CW_RELAY_HEADERS; not copied by cw_relay_copy */
    size_t n_headers;
    unsigned capabilities; /* CW_RELAY_… that the client has and the source may use */
    bool wants_progress;   /* the token is the id of the request */
    bool takes_tasks;      /* a modern server may answer with a task */
    bool is_stream;        /* for unsolicited messages; of a legacy server by GET */
    const struct cw_relay_ticket *ticket; /* the session that it is sent in; NULL: its caller's */
} cw_relay_request;

/* Bytes of its texts, and a copy of it with the texts in `room`. */
size_t cw_relay_size(const cw_relay_request *r);
cw_relay_request cw_relay_copy(const cw_relay_request *r, char *room);
/* A text as the value of a header: itself, or encoded in the arena. .p is NULL without memory. */
cw_str cw_relay_header_value(cw_str text, cw_arena *arena);
/* Append the message. Errors are sticky in `out`. */
void cw_relay_write(cw_buf *out, const cw_relay_request *r, cw_relay_era era, uint64_t id);
/* The first request of a legacy session, and the notification after its response. */
void cw_relay_write_initialize(cw_buf *out, unsigned capabilities, uint64_t id);
#define CW_RELAY_INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
/* The request that asks for the era. */
void cw_relay_write_discover(cw_buf *out, unsigned capabilities, uint64_t id);
/* The rank of a level of log lines: error is 1, debug 4; 0: none. */
unsigned cw_relay_level(cw_str name);
/* Set the level of a legacy session. */
void cw_relay_write_level(cw_buf *out, cw_str level, uint64_t id);
/* Cancel request `id`. */
void cw_relay_write_cancelled(cw_buf *out, uint64_t id);
/* Answer a request of the server: `result` is JSON; empty: an error with this code and text. */
void cw_relay_write_answer(cw_buf *out, cw_str request_id, cw_str result, int64_t code,
                           cw_str message);

/* The era that the response to server/discover shows. `status` is that of HTTP, or 0. `answer` is
 * the message; NULL: it is not JSON. */
cw_relay_era cw_relay_judge(unsigned status, const cw_json *answer);
/* The version that a server has chosen in its response to initialize; .p is NULL: the response
 * opens no session. Every version of the legacy era is accepted. */
cw_str cw_relay_negotiated(const cw_json *answer);

#endif
