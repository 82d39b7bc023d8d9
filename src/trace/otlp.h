/* SPDX-License-Identifier: GPL-2.0-or-later */
/* otlp.h - spans as bytes of OTLP: the protobuf messages of opentelemetry-proto, written by hand.
 *
 * A span is written backwards, from its last field to its first, so each length is known when it is
 * written. The bytes are a whole `spans` field. A batch is a head followed by any number of them:
 *
 *     head: ResourceSpans{ Resource ScopeSpans{ Scope    spans: 12 len Span 12 len Span …   }}
 *
 * Ownership: borrows; bytes go into the caller's room.
 * Threads:   no state.
 * Limits:    the room. A span that does not fit is not written.
 */
#ifndef CW_TRACE_OTLP_H
#define CW_TRACE_OTLP_H

#include "base/buf.h"
#include "trace/context.h"

typedef enum cw_span_kind {
    CW_SPAN_INTERNAL = 1,
    CW_SPAN_SERVER = 2,
    CW_SPAN_CLIENT = 3,
} cw_span_kind;

/* One attribute: a text, or a number where text.p is NULL. */
typedef struct cw_span_attr {
    cw_str key; /* empty: no attribute */
    cw_str text;
    int64_t number;
} cw_span_attr;

#define CW_SPAN_TEXT(k, v) ((cw_span_attr){.key = cw_str_from(k), .text = (v)})
#define CW_SPAN_NUMBER(k, v) ((cw_span_attr){.key = cw_str_from(k), .number = (int64_t)(v)})

typedef struct cw_otlp_span {
    const cw_ids *ids;
    const unsigned char *parent; /* CW_IDS_SPAN bytes; NULL: it is the first of its trace */
    bool is_remote;              /* the parent is in another process */
    const cw_trace_parent *link; /* or NULL */
    cw_str name, target;         /* "name target", or "name" where the target is empty */
    cw_span_kind kind;
    uint64_t start_ns, end_ns; /* since 1970 */
    const cw_span_attr *attrs;
    size_t n_attrs;
    bool is_error;
    cw_str message; /* of the error; empty: none */
} cw_otlp_span;

/* Write a span to the end of the room. Returns its length; 0: it does not fit. */
size_t cw_otlp_write_span(const cw_otlp_span *span, char *room, size_t size);

/* Append the fields `resource` with these attributes, and `scope` with a name and a version. Both
 * are parts of a head. */
void cw_otlp_add_resource(cw_buf *out, const cw_span_attr *attrs, size_t n);
void cw_otlp_add_scope(cw_buf *out, cw_str name, cw_str version);
/* The head of a batch with so many bytes of spans. */
void cw_otlp_add_head(cw_buf *out, cw_str resource, cw_str scope, uint64_t spans);

/* The number of spans that a response reports as rejected; 0 for any other body. */
uint64_t cw_otlp_read_rejected(cw_str body);

#endif
