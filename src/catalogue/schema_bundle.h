/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema_bundle.h - copies a JSON Schema to another place without breaking its references.
 *
 * "$ref": "#/…" is relative to the root of the document that contains the schema. When a schema moves (a
 * parameter's into `properties` of an inputSchema, a result's into a wrapper, one out of an OpenRPC
 * document), its references are rewritten. Everything else is copied token by token, without the white
 * space between tokens.
 *
 * Values that are not schemas (enum, const, default, examples) and schemas with a base of their own
 * ("$id") are copied unchanged.
 *
 * Ownership: borrows.
 * Threads:   no state.
 * Limits:    recursion as deep as the document, which the reader limits.
 */
#ifndef CW_CATALOGUE_SCHEMA_BUNDLE_H
#define CW_CATALOGUE_SCHEMA_BUNDLE_H

#include "base/buf.h"
#include "json/json.h"

/* The kind of a keyword's value. */
typedef enum cw_bundle_kind {
    CW_BUNDLE_SCHEMA, /* a schema, or an array of them */
    CW_BUNDLE_NAMES,  /* names, each with a schema */
    CW_BUNDLE_DATA,   /* values that only look like schemas */
} cw_bundle_kind;

cw_bundle_kind cw_bundle_kind_of(cw_str keyword);

typedef struct cw_bundle {
    /* Append the JSON string that stands for the reference `ref` ("#", or begins with "#/"). */
    cw_code (*on_ref)(void *ctx, cw_str ref, cw_buf *out);
    void *ctx;
    const cw_str *description; /* set or replace this member of the root; NULL: as it is */
    bool drop_dialect;         /* leave "$schema" of the root out */
} cw_bundle;

/* Whether a schema's text may have references, anchors or a dialect, however they are spelt.
 * Without a '$' and without an escape it has none, and means the same wherever it stands. */
CW_INLINE bool cw_bundle_may_be_in(cw_str schema)
{
    return schema.n &&
           (memchr(schema.p, '$', schema.n) != NULL || memchr(schema.p, '\\', schema.n) != NULL);
}

/* Append `schema` (an object or a boolean). Returns what on_ref returned, or the buffer's code. */
CW_MUST_USE cw_code cw_bundle_copy(const cw_bundle *refs, const cw_json *schema, cw_buf *out);

/* An on_ref whose ctx is a cw_str: the place, as a JSON pointer, where the schema's root will
 * stand. */
cw_code cw_bundle_move(void *ctx, cw_str ref, cw_buf *out);
/* Append "/name" with what a pointer and a URI fragment reserve escaped. */
void cw_bundle_add_token(cw_buf *out, cw_str name);

#endif
