/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operation.h - what is observed of one JSON-RPC message: its span, its outcome, its time.
 *
 * A door begins the operation of a message when the message is parsed, and adds what it learns. The
 * operation ends with the answer (rpc_batch.c). Only then its time is added to the metrics, and the
 * attributes of its span are written. Its time begins with the last reading of the loop's clock,
 * which the read of the message made.
 *
 *     cw_operation_begin(item, &start);   … cw_operation_set_entry(item, entry, false);
 *     cw_operation_set_outcome(item, outcome);   cw_rpc_item_reply(item, …);
 *
 * From the beginning on, the ids of the current request (base/ids.h) have the trace of the operation.
 *
 * Ownership: embedded in its item; texts live as long as the item.
 * Threads:   the loop of the request.
 */
#ifndef CW_DOOR_OPERATION_H
#define CW_DOOR_OPERATION_H

#include "access/gate.h"
#include "catalogue/snapshot.h"
#include "net/server/request_api.h"
#include "source/outcome.h"
#include "trace/tracer.h"

struct cw_rpc_item;
struct cw_json;

typedef enum cw_operation_kind {
    CW_OPERATION_MCP,
    CW_OPERATION_JSONRPC,
} cw_operation_kind;

#define CW_OPERATION_DIGEST 17u /* hexadecimal digits of a digest, and a NUL */

/* The end of a call. */
typedef enum cw_operation_failure {
    CW_OPERATION_FINE,
    CW_OPERATION_REPORTED, /* an error for the caller: it is no failure of a service */
    CW_OPERATION_FAILED,   /* spans of failures are kept */
} cw_operation_failure;

typedef struct cw_operation {
    cw_span span; /* off where traces are */
    uint64_t begun_ns;
    cw_operation_kind kind;
    bool is_open;         /* begun, and not over */
    bool is_measured;     /* in the metrics of MCP */
    bool is_call;         /* tools/call, of a tool that was found */
    bool is_tool_error;   /* the answer is a result that reports an error */
    uint32_t method;      /* MCP: label of CW_METRIC_MCP_METHOD */
    uint32_t tool;        /* is_call: slot of the tool */
    uint32_t source_slot; /* 0: name and source are texts; else they are those of the two slots */
    const char *door;     /* as in the audit */
    cw_str name;          /* of the tool or prompt in the catalogue; empty: none is known */
    bool is_prompt;       /* what has the name */
    cw_str source;        /* of the method that ran; empty: none */
    cw_str uri;           /* of a resource; empty: none */
    cw_str version;       /* of the MCP protocol; empty: not known */
    char session[CW_OPERATION_DIGEST]; /* of a legacy client: a digest; empty: none */
    char caller[CW_OPERATION_DIGEST];  /* a pseudonym; empty: none */
    bool wants_values;                 /* traces.arguments is set */
    bool shows_values;                 /* arguments and result are attributes of the span */
    const struct cw_json *arguments;   /* NULL: none */
    cw_str result;                     /* without secrets; empty: none */
    uint32_t queue_us;                 /* in the queue of its source */
    cw_str outcome;                    /* as in the audit; empty: no call was made */
    cw_operation_failure failure;      /* of that call */
    const char *fault;                 /* of outcome "failed"; or NULL */
    int64_t code;                      /* of the error that is the answer; 0: none */
    cw_str message;                    /* of the error; empty: none */
} cw_operation;

/* The beginning of an operation. */
typedef struct cw_operation_start {
    cw_operation_kind kind;
    const char *door;
    cw_str method;                     /* as the client sent it */
    const struct cw_json *traceparent; /* of params._meta; NULL: none */
    const struct cw_json *tracestate;
} cw_operation_start;

void cw_operation_begin(struct cw_rpc_item *item, const cw_operation_start *start);
/* The caller sees this tool or prompt, and called it. */
void cw_operation_set_entry(struct cw_rpc_item *item, const cw_entry *entry, bool is_prompt);
/* Its arguments, which live as long as the item; for its span, if traces.arguments is set. */
void cw_operation_set_arguments(struct cw_rpc_item *item, const cw_entry *entry,
                                const struct cw_json *arguments);
/* The id of its MCP session. */
void cw_operation_set_session(struct cw_rpc_item *item, cw_str id);
/* A method ran to this end. */
void cw_operation_set_outcome(struct cw_rpc_item *item, const cw_outcome *outcome);
/* The tool or prompt is not known, or hidden. */
void cw_operation_set_hidden(struct cw_rpc_item *item);
/* A call was refused: the code of cw_call_start, and its verdict where that is CW_DECLINED. */
void cw_operation_set_refused(struct cw_rpc_item *item, cw_code rc, cw_verdict verdict);
/* The answer is an error. */
void cw_operation_set_error(struct cw_rpc_item *item, int64_t code, cw_str message);

typedef enum cw_operation_last {
    CW_OPERATION_ANSWERED,
    CW_OPERATION_UNANSWERED, /* it has no answer */
    CW_OPERATION_GONE,       /* its client has gone */
} cw_operation_last;

/* Twice is fine. */
void cw_operation_end(struct cw_rpc_item *item, cw_operation_last last);

/* The span of a request that no operation belongs to: a page, a list. For cw_server_opts. */
void cw_operation_on_response(cw_http_req *req, unsigned status, uint64_t begun_ns, void *runtime);

#endif
