/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable.h - the schema of a tool's arguments, rewritten so that every model API accepts it.
 *
 * A model API rejects a whole request for one schema with a combinator at the top, a tuple, an array
 * without `items`, a long or unusual property name, or a reference that it does not resolve. Some clients
 * fail on a list of types.
 *
 *     {"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}
 *     -> text {"type":"object","properties":{"a":{},"b":{}}}, note "Give `a` or `b`."
 *
 * The text is for readers of 2020-12 and of draft-07. It accepts each value that the schema accepts,
 * and may accept more: a keyword whose rewritten form could reject such a value is dropped. The note
 * describes dropped rules of the top level, and mentions that others exist.
 *
 *     top level     properties of allOf, anyOf, oneOf, then, else, dependentSchemas and $ref join
 *                   `properties`; `required` is their union where all apply, else the intersection
 *     references    replaced by their targets; a target inside itself is written twice, then as a
 *                   schema for any value. Beyond the limits they lead to $defs at the root
 *     draft-07      tuples become prefixItems, and siblings of $ref do not count
 *     arrays        have `items`; behind prefixItems, `items` accepts each position
 *     types         a list of them becomes an anyOf; keywords of one type stand in its branch
 *     enum, const   have the `type` that all of their values share
 *     names         of top-level properties outside [a-zA-Z0-9_.-]{1,64} are replaced
 *
 * Ownership: results live in the caller's arena.
 * Threads:   no state.
 * Limits:    CW_PORTABLE_REF_BYTES and CW_PORTABLE_REF_DEPTH of references in place,
 *            CW_PORTABLE_BYTES of the text, CW_PORTABLE_WORK visited values. A schema beyond them
 *            keeps names, descriptions and `required` of its properties only.
 */
#ifndef CW_SCHEMA_REWRITE_PORTABLE_H
#define CW_SCHEMA_REWRITE_PORTABLE_H

#include "schema/schema.h"

#define CW_PORTABLE_REF_BYTES (16u * 1024u)
#define CW_PORTABLE_REF_DEPTH 16u
#define CW_PORTABLE_BYTES (1024u * 1024u)
#define CW_PORTABLE_WORK 200000u
#define CW_PORTABLE_PROPERTY_MAX 64u /* characters of a property name */

/* A property of the top level that is shown under another name. */
typedef struct cw_schema_rename {
    cw_str own, shown;
} cw_schema_rename;

/* How much of a schema its text shows. */
typedef enum cw_schema_shown {
    CW_SCHEMA_SHOWN,           /* without references */
    CW_SCHEMA_SHOWN_WITH_REFS, /* to $defs at the root: in place they are beyond the limits */
    CW_SCHEMA_SHOWN_NAMES,     /* names of properties alone: it is beyond all limits */
} cw_schema_shown;

typedef struct cw_schema_portable {
    cw_schema_shown shown;
    cw_str text;
    cw_str note; /* sentences for the description of the tool; empty: none */
    const cw_schema_rename *renames;
    size_t n_renames;
} cw_schema_portable;

/* Whether the schema can be shown as it is. `draft` is that of schemas without $schema. */
bool cw_schema_is_portable(const cw_json *schema, cw_schema_draft draft);
/* Rewrite the schema, an object. CW_NOMEM. */
CW_MUST_USE cw_code cw_schema_make_portable(const cw_json *schema, cw_schema_draft draft,
                                            cw_arena *arena, cw_schema_portable *ret);

#endif
