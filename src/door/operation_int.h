/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operation_int.h - what the course of an operation and its spans share.
 *
 *     operation.c       contexts, outcomes, the end
 *     operation_span.c  attributes
 */
#ifndef CW_DOOR_OPERATION_INT_H
#define CW_DOOR_OPERATION_INT_H

#include "call/runtime.h"
#include "door/operation.h"

/* Bytes of arguments, and of a result, in a span. */
#define CW_OPERATION_VALUE 4096u

/* operation.c */
/* The tracestate of all headers of a request; empty: none. */
cw_str cw_operation_read_state(cw_http_req *req);
/* False: there is no traceparent, it is invalid, or it is repeated. */
bool cw_operation_read_parent(const cw_http_req *req, cw_trace_parent *ret);
bool cw_operation_is_trusted(const cw_runtime_loop *rl, const cw_view *view,
                             const cw_http_req *req);

/* operation_span.c */
bool cw_operation_is_mistake(int64_t code);
/* 16 hexadecimal digits of a digest, and a NUL. */
void cw_operation_digest(cw_str text, char out[CW_OPERATION_DIGEST]);
/* Set the pseudonym of the caller: the same in all spans of servers with the same key, and of no use
 * without the key. */
void cw_operation_set_caller(struct cw_rpc_item *item);
/* Record the span of a message that ends now. */
void cw_operation_record(const struct cw_rpc_item *item, cw_trace_loop *l, uint64_t now);

#endif
