/* SPDX-License-Identifier: GPL-2.0-or-later */
/* yaml.h - a YAML text as an ordinary JSON document that remembers lines and columns.
 *
 * Why ours: libyaml gives events; everything above wants cw_json values, and a
 * mistake must be shown where it stands in the file. The part of YAML that is
 * read is the part without surprises:
 *
 *   - plain scalars follow JSON: null, true, false and numbers as JSON spells
 *     them; everything else (yes, ~, 0x10, 1_000, 010, 12:30) is a string, and
 *     what is quoted always is;
 *   - keys are strings and appear once in their mapping;
 *   - one document; UTF-8 only;
 *   - no anchors, aliases, tags or merge keys, so a small file stays small.
 *
 * JSON is YAML: a text that is one JSON object is read as such, to the letter.
 * An empty text, or one of comments only, is null.
 *
 *     cw_yaml doc;
 *     cw_yaml_pos pos;
 *     rc = cw_yaml_read(text, &arena, &doc, &pos, err);
 *     pos = cw_yaml_locate(&doc, cw_json_get(doc.root, CW_STR("listen")));
 *
 * Ownership: everything is in the arena; the text may go after reading.
 * Threads:   a document is immutable and may be shared.
 * Limits:    CW_CONFIG_MAX_BYTES of text, CW_CONFIG_MAX_DEPTH containers inside one another,
 *            CW_JSON_MAX_MEMBERS keys of one mapping.
 */
#ifndef CW_CONFIG_SYNTAX_YAML_H
#define CW_CONFIG_SYNTAX_YAML_H

#include "json/json.h"

/* From 1, in characters. A zero line: nowhere. */
typedef struct cw_yaml_pos {
    uint32_t line;
    uint32_t column;
} cw_yaml_pos;

typedef struct cw_yaml {
    const cw_json *root;
    const cw_yaml_pos *positions; /* by tape index; NULL when the text was JSON */
    cw_str text;                  /* the JSON that `root` was read from */
} cw_yaml;

/* Read one document. Fails with CW_PARSE or CW_LIMIT, *ret_pos telling where and `err` what
 * (without the position), or with CW_NOMEM and *ret_pos zero. */
CW_MUST_USE cw_code cw_yaml_read(cw_str text, cw_arena *arena, cw_yaml *ret, cw_yaml_pos *ret_pos,
                                 cw_err *err);

/* The position at which a key or value of this document begins. */
cw_yaml_pos cw_yaml_locate(const cw_yaml *doc, const cw_json *v);

#endif
