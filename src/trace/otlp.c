/* SPDX-License-Identifier: GPL-2.0-or-later */
/* otlp.c - a writer of protobuf that goes backwards, and the fields of spans. */
#include "trace/otlp.h"

#include <endian.h>

/* Wire types of protobuf. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

#define STATUS_ERROR 2u
/* Bits of Span.flags beside those of W3C: whether the parent is remote is known, and it is. */
#define FLAG_REMOTE_KNOWN 0x100u
#define FLAG_REMOTE 0x200u

#define VARINT_MAX 10u
#define ONE_BYTE_MAX 0x7Fu /* the largest varint of one byte */
/* Bytes of key and text of an attribute whose lengths fit in one byte each. */
#define SHORT_ATTR (ONE_BYTE_MAX - 6u)

/* ---- writing backwards ---- */

typedef struct writer {
    char *room;
    size_t at; /* the first byte that is written */
    bool is_full;
} writer;

/* Make room for n more bytes; NULL: they do not fit. */
CW_INLINE char *take(writer *w, size_t n)
{
    if (CW_UNLIKELY(w->is_full || n > w->at)) {
        w->is_full = true;
        return NULL;
    }
    w->at -= n;
    return w->room + w->at;
}

CW_INLINE void put(writer *w, const void *p, size_t n)
{
    char *to = take(w, n);
    if (to && n)
        memcpy(to, p, n);
}

static size_t encode_varint(uint64_t value, unsigned char out[VARINT_MAX])
{
    size_t n = 0;
    while (value >= 0x80) {
        out[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (unsigned char)value;
    return n;
}

static CW_NOINLINE void put_long_varint(writer *w, uint64_t value)
{
    unsigned char bytes[VARINT_MAX];
    put(w, bytes, encode_varint(value, bytes));
}

CW_INLINE void put_varint(writer *w, uint64_t value)
{
    if (CW_UNLIKELY(value > ONE_BYTE_MAX)) {
        put_long_varint(w, value);
        return;
    }
    char *to = take(w, 1);
    if (to)
        *to = (char)value;
}

CW_INLINE void put_tag(writer *w, unsigned field, unsigned wire)
{
    put_varint(w, (uint64_t)field << 3 | wire);
}

static void put_number(writer *w, unsigned field, uint64_t value)
{
    put_varint(w, value);
    put_tag(w, field, VARINT);
}

static void put_fixed32(writer *w, unsigned field, uint32_t value)
{
    uint32_t bytes = htole32(value);
    put(w, &bytes, sizeof bytes);
    put_tag(w, field, FIXED32);
}

static void put_fixed64(writer *w, unsigned field, uint64_t value)
{
    uint64_t bytes = htole64(value);
    put(w, &bytes, sizeof bytes);
    put_tag(w, field, FIXED64);
}

/* The length and tag of a message whose bytes begin at w->at and ended at `end`. */
CW_INLINE void close_message(writer *w, unsigned field, size_t end)
{
    put_varint(w, end - w->at);
    put_tag(w, field, BYTES);
}

CW_INLINE void put_bytes(writer *w, unsigned field, const void *p, size_t n)
{
    size_t end = w->at;
    put(w, p, n);
    close_message(w, field, end);
}

static void put_text(writer *w, unsigned field, cw_str text)
{
    if (text.n)
        put_bytes(w, field, text.p, text.n);
}

/* ---- fields ---- */

enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2, ANY_STRING = 1, ANY_INT = 3 };

/* Nearly every attribute is a short text: each of its lengths is one byte, so it is written from its
 * front in one piece. */
static void put_short_attr(writer *w, unsigned field, cw_str key, cw_str text)
{
    enum { HEAD = 4 }; /* tags and lengths before a key, and before a text */
    char *to = take(w, 2 * HEAD + key.n + text.n);
    if (!to)
        return;
    *to++ = (char)(field << 3 | BYTES);
    *to++ = (char)(2 * HEAD - 2 + key.n + text.n);
    *to++ = KEY_VALUE_KEY << 3 | BYTES;
    *to++ = (char)key.n;
    memcpy(to, key.p, key.n);
    to += key.n;
    *to++ = KEY_VALUE_VALUE << 3 | BYTES;
    *to++ = (char)(2 + text.n);
    *to++ = ANY_STRING << 3 | BYTES;
    *to++ = (char)text.n;
    if (text.n)
        memcpy(to, text.p, text.n);
}

static void put_attr(writer *w, unsigned field, const cw_span_attr *attr)
{
    size_t end = w->at;
    if (CW_LIKELY(attr->text.p && attr->key.n + attr->text.n <= SHORT_ATTR)) {
        put_short_attr(w, field, attr->key, attr->text);
        return;
    }
    if (attr->text.p)
        put_bytes(w, ANY_STRING, attr->text.p, attr->text.n);
    else
        put_number(w, ANY_INT, (uint64_t)attr->number);
    close_message(w, KEY_VALUE_VALUE, end);
    put_bytes(w, KEY_VALUE_KEY, attr->key.p, attr->key.n);
    close_message(w, field, end);
}

static void put_attrs(writer *w, unsigned field, const cw_span_attr *attrs, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (attrs[i].key.n)
            put_attr(w, field, &attrs[i]);
    }
}

static void put_status(writer *w, const cw_otlp_span *span)
{
    enum { SPAN_STATUS = 15, STATUS_MESSAGE = 2, STATUS_CODE = 3 };
    size_t end = w->at;
    if (!span->is_error)
        return;
    put_number(w, STATUS_CODE, STATUS_ERROR);
    put_text(w, STATUS_MESSAGE, span->message);
    close_message(w, SPAN_STATUS, end);
}

static void put_link(writer *w, const cw_trace_parent *link)
{
    enum { SPAN_LINK = 13, LINK_TRACE = 1, LINK_SPAN = 2, LINK_FLAGS = 6 };
    size_t end = w->at;
    if (!link)
        return;
    put_fixed32(w, LINK_FLAGS, link->flags | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
    put_bytes(w, LINK_SPAN, link->span_id, CW_IDS_SPAN);
    put_bytes(w, LINK_TRACE, link->trace_id, CW_IDS_TRACE);
    close_message(w, SPAN_LINK, end);
}

static void put_name(writer *w, cw_str name, cw_str target)
{
    enum { SPAN_NAME = 5 };
    size_t end = w->at;
    if (target.n) {
        put(w, target.p, target.n);
        put(w, " ", 1);
    }
    put(w, name.p, name.n);
    close_message(w, SPAN_NAME, end);
}

static void put_span(writer *w, const cw_otlp_span *span)
{
    enum { TRACE = 1, ID = 2, STATE = 3, PARENT = 4, KIND = 6, START = 7, END = 8, ATTR = 9 };
    enum { FLAGS = 16 };
    const cw_ids *ids = span->ids;
    unsigned remote = span->is_remote ? FLAG_REMOTE : 0;
    put_fixed32(w, FLAGS, ids->flags | FLAG_REMOTE_KNOWN | remote);
    put_status(w, span);
    put_link(w, span->link);
    put_attrs(w, ATTR, span->attrs, span->n_attrs);
    put_fixed64(w, END, span->end_ns);
    put_fixed64(w, START, span->start_ns);
    put_number(w, KIND, span->kind);
    put_name(w, span->name, span->target);
    if (span->parent)
        put_bytes(w, PARENT, span->parent, CW_IDS_SPAN);
    put_text(w, STATE, ids->tracestate);
    put_bytes(w, ID, ids->span_id, CW_IDS_SPAN);
    put_bytes(w, TRACE, ids->trace_id, CW_IDS_TRACE);
}

size_t cw_otlp_write_span(const cw_otlp_span *span, char *room, /* NOLINT: w fills it */
                          size_t size)
{
    enum { SCOPE_SPANS = 2 };
    writer w = {.room = room, .at = size};
    put_span(&w, span);
    close_message(&w, SCOPE_SPANS, size);
    return w.is_full ? 0 : size - w.at;
}

/* ---- batches ---- */

#define HEAD_ROOM 16384u

static void add_written(cw_buf *out, const writer *w)
{
    if (w->is_full && !out->code)
        out->code = CW_LIMIT;
    cw_buf_add(out, cw_str_make(w->room + w->at, HEAD_ROOM - w->at));
}

void cw_otlp_add_resource(cw_buf *out, const cw_span_attr *attrs, size_t n)
{
    enum { RESOURCE = 1, RESOURCE_ATTR = 1 };
    char room[HEAD_ROOM];
    writer w = {.room = room, .at = sizeof room};
    put_attrs(&w, RESOURCE_ATTR, attrs, n);
    close_message(&w, RESOURCE, sizeof room);
    add_written(out, &w);
}

void cw_otlp_add_scope(cw_buf *out, cw_str name, cw_str version)
{
    enum { SCOPE = 1, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
    char room[HEAD_ROOM];
    writer w = {.room = room, .at = sizeof room};
    put_text(&w, SCOPE_VERSION, version);
    put_text(&w, SCOPE_NAME, name);
    close_message(&w, SCOPE, sizeof room);
    add_written(out, &w);
}

static size_t varint_size(uint64_t value)
{
    unsigned char bytes[VARINT_MAX];
    return encode_varint(value, bytes);
}

static void add_length(cw_buf *out, unsigned field, uint64_t n)
{
    unsigned char bytes[VARINT_MAX];
    cw_buf_add_char(out, (char)(field << 3 | BYTES));
    cw_buf_add(out, cw_str_make((const char *)bytes, encode_varint(n, bytes)));
}

void cw_otlp_add_head(cw_buf *out, cw_str resource, cw_str scope, uint64_t spans)
{
    enum { RESOURCE_SPANS = 1, SCOPE_SPANS = 2 };
    uint64_t inner = scope.n + spans;
    uint64_t outer = resource.n + 1 + varint_size(inner) + inner;
    add_length(out, RESOURCE_SPANS, outer);
    cw_buf_add(out, resource);
    add_length(out, SCOPE_SPANS, inner);
    cw_buf_add(out, scope);
}

/* ---- responses ---- */

static bool read_varint(cw_str *in, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; shift < 64 && in->n; shift += 7) {
        unsigned char byte = (unsigned char)in->p[0];
        *in = cw_str_make(in->p + 1, in->n - 1);
        *ret |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

typedef struct field {
    uint64_t number;
    uint64_t value; /* of a varint */
    cw_str bytes;   /* of a message */
} field;

/* Take the next field. False: the end, or bytes that are no message. */
static bool read_field(cw_str *in, field *ret)
{
    uint64_t tag, n;
    if (!in->n || !read_varint(in, &tag))
        return false;
    *ret = (field){.number = tag >> 3};
    switch (tag & 7) {
    case VARINT:
        return read_varint(in, &ret->value);
    case FIXED64:
        n = 8;
        break;
    case FIXED32:
        n = 4;
        break;
    case BYTES:
        if (!read_varint(in, &n))
            return false;
        break;
    default:
        return false;
    }
    if (n > in->n)
        return false;
    ret->bytes = cw_str_make(in->p, (size_t)n);
    *in = cw_str_make(in->p + n, in->n - (size_t)n);
    return true;
}

uint64_t cw_otlp_read_rejected(cw_str body)
{
    enum { PARTIAL_SUCCESS = 1, REJECTED = 1 };
    field f, inner;
    while (read_field(&body, &f)) {
        cw_str message = f.bytes;
        while (f.number == PARTIAL_SUCCESS && read_field(&message, &inner)) {
            if (inner.number == REJECTED && (int64_t)inner.value > 0)
                return inner.value;
        }
    }
    return 0;
}
