/* SPDX-License-Identifier: GPL-2.0-or-later */
/* write.h - a JSON writer whose errors are sticky.
 *
 * Appends to a cw_buf. Commas and indentation are the writer's business; the
 * caller opens, names, adds and closes. A misuse (value without key in an
 * object, unbalanced end) is a programming mistake and asserts; running out of
 * memory or over the buffer's ceiling is remembered and asked for once.
 *
 *     cw_json_writer w;
 *     cw_json_writer_init(&w, &buf, CW_JSON_COMPACT);
 *     cw_json_open_object(&w);
 *     cw_json_add_key(&w, CW_STR("id"));
 *     cw_json_add_span(&w, cw_json_span(id));
 *     cw_json_close(&w);
 *     rc = cw_json_writer_end(&w, err);
 *
 * Ownership: borrows the buffer.
 * Threads:   one thread at a time.
 * Limits:    depth CW_JSON_WRITE_DEPTH; CW_LIMIT beyond it.
 */
#ifndef CW_JSON_WRITE_H
#define CW_JSON_WRITE_H

#include "base/buf.h"
#include "json/json.h"

#define CW_JSON_WRITE_DEPTH 128u

typedef enum cw_json_style {
    CW_JSON_COMPACT,
    CW_JSON_INDENT, /* two spaces, one member a line */
} cw_json_style;

typedef struct cw_json_writer {
    cw_buf *out;
    cw_json_style style;
    uint32_t depth;
    bool need_comma;
    bool after_key;
    cw_code code;
    uint64_t is_object[CW_JSON_WRITE_DEPTH / 64]; /* a bit per open container */
} cw_json_writer;

void cw_json_writer_init(cw_json_writer *w, cw_buf *out, cw_json_style style);
/* CW_OK, or CW_NOMEM or CW_LIMIT with its message. Asserts that everything opened is closed. */
cw_code cw_json_writer_end(cw_json_writer *w, cw_err *err);

void cw_json_open_object(cw_json_writer *w);
void cw_json_open_array(cw_json_writer *w);
void cw_json_close(cw_json_writer *w);
void cw_json_add_key(cw_json_writer *w, cw_str name);

/* Text should be UTF-8; an ill-formed byte is written as U+FFFD. '"', '\\' and C0 are escaped, also
 * DEL; '/' is not. */
void cw_json_add_string(cw_json_writer *w, cw_str text);
void cw_json_add_i64(cw_json_writer *w, int64_t value);
void cw_json_add_u64(cw_json_writer *w, uint64_t value);
/* The fewest digits that read back as the same double: 5, 0.1, 1e+21, -0; null for infinities and
 * NaN. */
void cw_json_add_double(cw_json_writer *w, double value);
void cw_json_add_bool(cw_json_writer *w, bool value);
void cw_json_add_null(cw_json_writer *w);
/* One JSON value verbatim, as cw_json_span gave it. */
void cw_json_add_span(cw_json_writer *w, cw_str json);
/* A document or part of one in the writer's style. Strings and numbers keep the spelling of their
 * source. Its own depth has no ceiling here. */
void cw_json_add_value(cw_json_writer *w, const cw_json *v);

/* Shorthands for members. */
void cw_json_add_string_member(cw_json_writer *w, cw_str name, cw_str text);
void cw_json_add_i64_member(cw_json_writer *w, cw_str name, int64_t value);
void cw_json_add_bool_member(cw_json_writer *w, cw_str name, bool value);

/* Append `v` in the one spelling of all values that are equal to it (cw_json_equal), for digests
 * and keys: members by name, 1.0 and 10e-1 as 1e0. Numbers with an exponent of more than 16 digits
 * keep their own. As deep as the document. */
void cw_json_add_canonical(cw_buf *out, const cw_json *v);
/* Append `v` without white space, and its strings as UTF-8 without escapes that are not needed. */
void cw_json_add_compact(cw_buf *out, const cw_json *v);
/* Whether its source is written so, and has no escapes at all. */
bool cw_json_is_compact(const cw_json *v);
/* Append `text` as a JSON string with quotes to any buffer. */
void cw_json_escape(cw_buf *out, cw_str text);
/* A name as a token of a JSON pointer (RFC 6901), without the '/' in front of it. */
void cw_json_escape_token(cw_buf *out, cw_str name);

#endif
