/* SPDX-License-Identifier: GPL-2.0-or-later */
/* otlp.h - spans as bytes of OTLP: the protobuf messages of opentelemetry-proto, written by hand.
 *
 * A span is written from its front, into the room that it stays in: a `spans` field whose length is
 * filled in at its end. Protobuf allows fields in any order, so attributes come last.
 *
 *     cw_otlp_writer w;
 *     cw_otlp_open(&w, &span, &report, offset, room, sizeof room);
 *     cw_otlp_add_text(&w, CW_STR("rpc.method"), method);
 *     size_t n = cw_otlp_close(&w);
 *
 * A batch is a head followed by any number of such fields:
 *
 *     head: ResourceSpans{ Resource ScopeSpans{ Scope    spans: 12 len Span 12 len Span …   }}
 *
 * Ownership: borrows; bytes go into the caller's room.
 * Threads:   no state.
 * Limits:    the room, and CW_SPAN_MAX bytes per span. A span that does not fit is not written.
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

/* One attribute of a resource: a text, or a number where text.p is NULL. */
typedef struct cw_otlp_attr {
    cw_str key, text;
    int64_t number;
} cw_otlp_attr;

/* Bytes of a span: two bytes of protobuf have its length. */
#define CW_SPAN_MAX 16384u

/* A span that has begun. */
typedef struct cw_span {
    cw_ids ids;
    bool is_on; /* the members below are valid */
    bool has_parent, is_remote, has_link;
    unsigned char parent[CW_IDS_SPAN]; /* is_remote: it is in another process */
    cw_trace_parent link;
    uint64_t begun_ns; /* of the monotonic clock */
} cw_span;

/* The end of a span. */
typedef struct cw_span_report {
    cw_str name, target; /* "name target", or "name" where the target is empty */
    cw_span_kind kind;
    uint64_t end_ns; /* of the monotonic clock */
    bool is_error;
    cw_str message; /* of the error; empty: none */
} cw_span_report;

/* A span that is being written. */
typedef struct cw_otlp_writer {
    char *room, *at, *end;
    bool is_full;
} cw_otlp_writer;

/* Begin to write a span. The offset leads from the monotonic clock to that since 1970, in ns. */
void cw_otlp_open(cw_otlp_writer *w, const cw_span *span, const cw_span_report *report,
                  uint64_t wall_offset, char *room, size_t size);
/* The length of the span, from the beginning of the room; 0: it does not fit. */
size_t cw_otlp_close(cw_otlp_writer *w);

/* Tags of protobuf: the number of a field, and that its length follows. */
#define CW_OTLP_FIELD(number) ((char)((number) << 3 | 2))
#define CW_OTLP_SPAN_ATTR 9u
enum { CW_OTLP_KEY = 1, CW_OTLP_VALUE = 2, CW_OTLP_STRING = 1 };
/* Bytes of key and text of an attribute whose lengths fit in one byte each. */
#define CW_OTLP_SHORT (0x7Fu - 6u)

void cw_otlp_add_long_text(cw_otlp_writer *w, unsigned field, cw_str key, cw_str text);
void cw_otlp_add_number(cw_otlp_writer *w, cw_str key, int64_t number);

/* Nearly every attribute is a short text: each of its lengths is one byte. Where the key is a
 * literal, the compiler writes all that does not depend on the text as constants. */
CW_INLINE void cw_otlp_put_text(cw_otlp_writer *w, unsigned field, cw_str key, cw_str text)
{
    enum { HEAD = 4 }; /* tags and lengths before a key, and before a text */
    char *to = w->at;
    if (CW_UNLIKELY(key.n + text.n > CW_OTLP_SHORT ||
                    2 * HEAD + key.n + text.n > (size_t)(w->end - to))) {
        cw_otlp_add_long_text(w, field, key, text);
        return;
    }
    to[0] = CW_OTLP_FIELD(field);
    to[1] = (char)(2 * HEAD - 2 + key.n + text.n);
    to[2] = CW_OTLP_FIELD(CW_OTLP_KEY);
    to[3] = (char)key.n;
    memcpy(to + HEAD, key.p, key.n);
    to += HEAD + key.n;
    to[0] = CW_OTLP_FIELD(CW_OTLP_VALUE);
    to[1] = (char)(2 + text.n);
    to[2] = CW_OTLP_FIELD(CW_OTLP_STRING);
    to[3] = (char)text.n;
    memcpy(to + HEAD, text.p, text.n);
    w->at = to + HEAD + text.n;
}

/* An empty text is no attribute. */
CW_INLINE void cw_otlp_add_text(cw_otlp_writer *w, cw_str key, cw_str text)
{
    if (text.n)
        cw_otlp_put_text(w, CW_OTLP_SPAN_ATTR, key, text);
}

/* Append the fields `resource` with these attributes, and `scope` with a name and a version. Both
 * are parts of a head. */
void cw_otlp_add_resource(cw_buf *out, const cw_otlp_attr *attrs, size_t n);
void cw_otlp_add_scope(cw_buf *out, cw_str name, cw_str version);
/* The head of a batch with so many bytes of spans. */
void cw_otlp_add_head(cw_buf *out, cw_str resource, cw_str scope, uint64_t spans);

/* The number of spans that a response reports as rejected; 0 for any other body. */
uint64_t cw_otlp_read_rejected(cw_str body);

#endif
