/* SPDX-License-Identifier: GPL-2.0-or-later */
/* otlp.c - the fields of spans, and the heads of batches. */
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

/* ---- numbers ---- */

static size_t encode_varint(uint64_t value, char *out)
{
    size_t n = 0;
    while (value > ONE_BYTE_MAX) {
        out[n++] = (char)(value | 0x80);
        value >>= 7;
    }
    out[n++] = (char)value;
    return n;
}

static size_t varint_size(uint64_t value)
{
    char bytes[VARINT_MAX];
    return encode_varint(value, bytes);
}

/* ---- fields, for which the caller has made room ---- */

CW_INLINE char *put_tag(char *to, unsigned field, unsigned wire)
{
    unsigned tag = field << 3 | wire;
    if (tag > ONE_BYTE_MAX) {
        *to++ = (char)(tag | 0x80);
        tag >>= 7;
    }
    *to++ = (char)tag;
    return to;
}

CW_INLINE char *put_fixed32(char *to, unsigned field, uint32_t value)
{
    uint32_t bytes = htole32(value);
    to = put_tag(to, field, FIXED32);
    memcpy(to, &bytes, sizeof bytes);
    return to + sizeof bytes;
}

CW_INLINE char *put_fixed64(char *to, unsigned field, uint64_t value)
{
    uint64_t bytes = htole64(value);
    to = put_tag(to, field, FIXED64);
    memcpy(to, &bytes, sizeof bytes);
    return to + sizeof bytes;
}

/* The tag and the length of a field with so many bytes. */
CW_INLINE char *put_length(char *to, unsigned field, size_t n)
{
    to = put_tag(to, field, BYTES);
    if (CW_LIKELY(n <= ONE_BYTE_MAX)) {
        *to++ = (char)n;
        return to;
    }
    return to + encode_varint(n, to);
}

/* Bytes of a known number, which are few. */
CW_INLINE char *put_bytes(char *to, unsigned field, const void *p, size_t n)
{
    to = put_length(to, field, n);
    memcpy(to, p, n);
    return to + n;
}

static char *put_text(char *to, unsigned field, cw_str text)
{
    return put_bytes(to, field, text.p, text.n);
}

/* ---- a span ---- */

#define SPAN_HEAD 3u /* its tag, and two bytes of its length */
/* Bytes of all fields but the attributes, without the texts in them. */
#define FIXED_PART 128u

static CW_NOINLINE char *put_status(char *to, cw_str message)
{
    enum { SPAN_STATUS = 15, STATUS_MESSAGE = 2, STATUS_CODE = 3 };
    size_t n = message.n ? 1 + varint_size(message.n) + message.n : 0;
    to = put_length(to, SPAN_STATUS, n + 2);
    if (message.n)
        to = put_text(to, STATUS_MESSAGE, message);
    to = put_tag(to, STATUS_CODE, VARINT);
    *to++ = STATUS_ERROR;
    return to;
}

static CW_NOINLINE char *put_link(char *to, const cw_trace_parent *link)
{
    enum { SPAN_LINK = 13, LINK_TRACE = 1, LINK_SPAN = 2, LINK_FLAGS = 6 };
    to = put_length(to, SPAN_LINK, 2 + CW_IDS_TRACE + 2 + CW_IDS_SPAN + 1 + sizeof(uint32_t));
    to = put_bytes(to, LINK_TRACE, link->trace_id, CW_IDS_TRACE);
    to = put_bytes(to, LINK_SPAN, link->span_id, CW_IDS_SPAN);
    return put_fixed32(to, LINK_FLAGS, link->flags | FLAG_REMOTE_KNOWN | FLAG_REMOTE);
}

CW_INLINE char *put_name(char *to, cw_str name, cw_str target)
{
    enum { SPAN_NAME = 5 };
    if (!target.n)
        return put_text(to, SPAN_NAME, name);
    to = put_length(to, SPAN_NAME, name.n + 1 + target.n);
    memcpy(to, name.p, name.n);
    to += name.n;
    *to++ = ' ';
    memcpy(to, target.p, target.n);
    return to + target.n;
}

void cw_otlp_open(cw_otlp_writer *w, const cw_span *span, const cw_span_report *report,
                  uint64_t wall_offset, char *room, size_t size)
{
    enum { TRACE = 1, ID = 2, STATE = 3, PARENT = 4, KIND = 6, START = 7, END = 8, FLAGS = 16 };
    const cw_ids *ids = &span->ids;
    size_t texts = report->name.n + report->target.n + report->message.n + ids->tracestate.n;
    size = size < CW_SPAN_MAX ? size : CW_SPAN_MAX;
    w->room = room;
    w->is_full = FIXED_PART > size || texts > size - FIXED_PART;
    w->at = room + SPAN_HEAD;
    w->end = w->is_full ? w->at : room + size;
    if (CW_UNLIKELY(w->is_full))
        return;
    char *to = put_bytes(w->at, TRACE, ids->trace_id, CW_IDS_TRACE);
    to = put_bytes(to, ID, ids->span_id, CW_IDS_SPAN);
    if (ids->tracestate.n)
        to = put_text(to, STATE, ids->tracestate);
    if (span->has_parent)
        to = put_bytes(to, PARENT, span->parent, CW_IDS_SPAN);
    to = put_name(to, report->name, report->target);
    to = put_tag(to, KIND, VARINT);
    *to++ = (char)report->kind;
    to = put_fixed64(to, START, span->begun_ns + wall_offset);
    to = put_fixed64(to, END, report->end_ns + wall_offset);
    if (span->has_link)
        to = put_link(to, &span->link);
    if (report->is_error)
        to = put_status(to, report->message);
    w->at = put_fixed32(to, FLAGS,
                        ids->flags | FLAG_REMOTE_KNOWN | (span->is_remote ? FLAG_REMOTE : 0));
}

size_t cw_otlp_close(cw_otlp_writer *w)
{
    enum { SCOPE_SPANS = 2 };
    char *fields = w->room + SPAN_HEAD;
    size_t n = (size_t)(w->at - fields);
    if (w->is_full)
        return 0;
    put_tag(w->room, SCOPE_SPANS, BYTES);
    size_t n_length = encode_varint(n, w->room + 1);
    if (CW_UNLIKELY(n_length < SPAN_HEAD - 1))
        memmove(fields - 1, fields, n);
    return 1 + n_length + n;
}

/* ---- attributes ---- */

/* The tag, length and key of an attribute whose value, a field of AnyValue, has so many bytes. NULL:
 * it does not fit. */
static char *open_attr(cw_otlp_writer *w, unsigned field, cw_str key, size_t value)
{
    size_t inner = 1 + varint_size(key.n) + key.n + 1 + varint_size(value) + value;
    if (w->is_full || 1 + varint_size(inner) + inner > (size_t)(w->end - w->at)) {
        w->is_full = true;
        return NULL;
    }
    char *to = put_length(w->at, field, inner);
    to = put_text(to, CW_OTLP_KEY, key);
    return put_length(to, CW_OTLP_VALUE, value);
}

void cw_otlp_add_long_text(cw_otlp_writer *w, unsigned field, cw_str key, cw_str text)
{
    char *to = open_attr(w, field, key, 1 + varint_size(text.n) + text.n);
    if (to)
        w->at = put_text(to, CW_OTLP_STRING, text);
}

enum { ANY_INT = 3 };

static CW_NOINLINE void put_long_number(cw_otlp_writer *w, unsigned field, cw_str key,
                                        uint64_t number)
{
    char *to = open_attr(w, field, key, 1 + varint_size(number));
    if (to)
        w->at = put_tag(to, ANY_INT, VARINT) + encode_varint(number, to + 1);
}

/* As cw_otlp_put_text: each length of an attribute with a short key is one byte. */
static void put_number(cw_otlp_writer *w, unsigned field, cw_str key, uint64_t number)
{
    enum { KEY_HEAD = 4, VALUE_HEAD = 3 };
    size_t most = KEY_HEAD + key.n + VALUE_HEAD + VARINT_MAX;
    if (CW_UNLIKELY(most > ONE_BYTE_MAX || most > (size_t)(w->end - w->at))) {
        put_long_number(w, field, key, number);
        return;
    }
    char *to = w->at, *value = to + KEY_HEAD + key.n;
    size_t n = encode_varint(number, value + VALUE_HEAD);
    to[0] = CW_OTLP_FIELD(field);
    to[1] = (char)(KEY_HEAD - 2 + key.n + VALUE_HEAD + n);
    to[2] = CW_OTLP_FIELD(CW_OTLP_KEY);
    to[3] = (char)key.n;
    memcpy(to + KEY_HEAD, key.p, key.n);
    value[0] = CW_OTLP_FIELD(CW_OTLP_VALUE);
    value[1] = (char)(1 + n);
    value[2] = ANY_INT << 3 | VARINT;
    w->at = value + VALUE_HEAD + n;
}

void cw_otlp_add_number(cw_otlp_writer *w, cw_str key, int64_t number)
{
    put_number(w, CW_OTLP_SPAN_ATTR, key, (uint64_t)number);
}

/* ---- batches ---- */

#define HEAD_ROOM 16384u

static void add_length(cw_buf *out, unsigned field, uint64_t n)
{
    char bytes[VARINT_MAX];
    cw_buf_add_char(out, CW_OTLP_FIELD(field));
    cw_buf_add(out, cw_str_make(bytes, encode_varint(n, bytes)));
}

static void add_text(cw_buf *out, unsigned field, cw_str text)
{
    add_length(out, field, text.n);
    cw_buf_add(out, text);
}

void cw_otlp_add_resource(cw_buf *out, const cw_otlp_attr *attrs, size_t n)
{
    enum { RESOURCE = 1, RESOURCE_ATTR = 1 };
    CW_UNINIT char room[HEAD_ROOM];
    cw_otlp_writer w = {.room = room, .at = room, .end = room + sizeof room};
    for (size_t i = 0; i < n; i++) {
        if (attrs[i].text.p)
            cw_otlp_put_text(&w, RESOURCE_ATTR, attrs[i].key, attrs[i].text);
        else
            put_number(&w, RESOURCE_ATTR, attrs[i].key, (uint64_t)attrs[i].number);
    }
    if (w.is_full && !out->code)
        out->code = CW_LIMIT;
    add_text(out, RESOURCE, cw_str_make(room, (size_t)(w.at - room)));
}

void cw_otlp_add_scope(cw_buf *out, cw_str name, cw_str version)
{
    enum { SCOPE = 1, SCOPE_NAME = 1, SCOPE_VERSION = 2 };
    add_length(out, SCOPE,
               1 + varint_size(name.n) + name.n + 1 + varint_size(version.n) + version.n);
    add_text(out, SCOPE_NAME, name);
    add_text(out, SCOPE_VERSION, version);
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
