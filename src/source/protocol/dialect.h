/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dialect.h - the JSON-RPC dialects of services, as one table.
 *
 *     name          request, and below it the response
 *     2.0           {"jsonrpc":"2.0","id":7,"method":M,"params":P}
 *                   {"jsonrpc":"2.0","id":7,"result":R}
 *     1.0           {"id":7,"method":M,"params":[…]}
 *                   {"id":7,"result":R,"error":null}
 *     qmp           {"id":7,"execute":M,"arguments":P}
 *                   {"id":7,"return":R}
 *     transmission  {"tag":7,"method":M,"arguments":P}
 *                   {"tag":7,"result":"success","arguments":R}
 *     mcp           as 2.0; its methods are the tools of an MCP server (source/relay/relay.h)
 *
 * A request is a head with its number in it, a text made ready for each method,
 * and the params of the call (source/remote/mapping.h).
 *
 * Responses of 2.0 count with any HTTP status. They must have "jsonrpc":"2.0" and the id of their
 * request; an error may have the id null, as from a server that could not read the request;
 * "error":null beside a result is a result. 1.0: both members may be present, and the one that is
 * not null counts; an error may be of any type. With by_exchange (one HTTP request, one response)
 * the id is ignored.
 *
 * Errors are sanitized (source/remote/remote.h). If the message is one of the fixed texts of the
 * specification and `data` is a string, as in Drupal, the string is the message.
 *
 * Ownership: texts of a wire are in the arena that was given.
 * Threads:   constant.
 */
#ifndef CW_SOURCE_PROTOCOL_DIALECT_H
#define CW_SOURCE_PROTOCOL_DIALECT_H

#include "base/arena.h"
#include "base/redact.h"
#include "json/json.h"
#include "net/client/client.h"
#include "source/outcome.h"
#include "source/protocol/parsed_message.h"

typedef struct cw_dialect cw_dialect;

/* NULL: none has that name. */
const cw_dialect *cw_dialect_find(cw_str name);
bool cw_dialect_is_mcp(const cw_dialect *dialect);
/* "2.0, 1.0, …", for messages. */
const char *cw_dialect_names(void);

typedef enum cw_params_style {
    CW_PARAMS_NAMED,
    CW_PARAMS_POSITIONAL, /* in the order of the description */
    CW_PARAMS_MIXED, /* by position as far as they were given, the rest by name: {"args":[…],"x":1}
                      */
} cw_params_style;

/* The protocol of one service. */
typedef struct cw_protocol_opts {
    const cw_dialect *dialect;
    cw_params_style params;
    bool string_ids;
    bool sends_empty; /* empty params are sent, too */
    bool by_exchange;
    cw_str secret_first;  /* JSON: goes before all positional params; empty: none */
    cw_str secret_member; /* JSON: a member of named params, with its key: "auth":"x"; or empty */
    bool has_credentials; /* requests carry some */
    const cw_secrets *secrets; /* removed from texts of the service; may be NULL */
} cw_protocol_opts;

/* ---- requests ---- */

/* A method's part of a request, made once. */
typedef struct cw_request_template {
    cw_str text; /* ,"method":"a.b","params": */
    cw_str bare; /* the same without params */
} cw_request_template;

CW_MUST_USE cw_code cw_request_template_make(const cw_protocol_opts *protocol, cw_str method,
                                             cw_arena *arena, cw_request_template *ret,
                                             cw_err *err);

#define CW_REQUEST_TEMPLATE_PIECES 4u
#define CW_REQUEST_TEMPLATE_ROOM 64u
/* A request in pieces, of `room`, the wire and the params (a JSON text; empty: none). */
void cw_request_template_write(const cw_protocol_opts *protocol, const cw_request_template *wire,
                               uint64_t id, cw_str params, char room[CW_REQUEST_TEMPLATE_ROOM],
                               cw_str pieces[CW_REQUEST_TEMPLATE_PIECES]);
/* Remove the id of a written request, which then has no response. */
void cw_request_template_drop_id(const cw_protocol_opts *protocol,
                                 cw_str pieces[CW_REQUEST_TEMPLATE_PIECES]);

/* ---- incoming messages ---- */

typedef enum cw_incoming_kind {
    CW_INCOMING_INVALID, /* none of the others; the reason is in `why` */
    CW_INCOMING_RESPONSE,
    CW_INCOMING_ERROR_WITHOUT_ID, /* an error without an id */
    CW_INCOMING_REQUEST,
    CW_INCOMING_NOTIFICATION, /* a notification, an event */
    CW_INCOMING_GREETING,
} cw_incoming_kind;

typedef struct cw_incoming {
    cw_incoming_kind kind;
    uint64_t id;               /* RESPONSE */
    cw_str method;             /* REQUEST, NOTIFICATION */
    const cw_json *request_id; /* REQUEST: its id as it came */
    const cw_json *params;
    const char *why;
} cw_incoming;

/* Find the kind of a message of a stream. */
void cw_dialect_classify(const cw_protocol_opts *protocol, const cw_json *message,
                         cw_incoming *ret);
/* Append the response to a request of the service. `result`: JSON; empty: an unknown method. */
void cw_dialect_reply(const cw_protocol_opts *protocol, const cw_json *request_id, cw_str result,
                      cw_buf *out);

/* The end of a request. */
typedef struct cw_upstream_reply {
    cw_client_end end;
    const cw_client_response *answer; /* with CW_CLIENT_OK; its status is 0 without HTTP */
    const char *why;
    const cw_secrets *session;  /* secrets of this login, such as its token; may be NULL */
    cw_parsed_message *message; /* the body of the answer, parsed already; NULL: it is not */
} cw_upstream_reply;

/* The outcome of request `id` to the service of this name. Its texts and documents live as long as
 * the arena, which holds a reference to a parsed message. An error outcome contains no secrets. A
 * result is not changed. */
void cw_dialect_parse_response(const cw_protocol_opts *protocol, cw_str service, uint64_t id,
                               const cw_upstream_reply *reply, cw_arena *arena, cw_outcome *ret);
/* The end of a sentence about an HTTP status: for 401 and 403 a text about credentials, else
 * empty. */
const char *cw_dialect_auth_hint(const cw_protocol_opts *protocol, unsigned status);

#endif
