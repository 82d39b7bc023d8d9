/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable.c - finds schemas that a model API would reject, and rewrites them within limits. */
#include "schema/rewrite/portable.h"

#include "schema/rewrite/portable_int.h"

#define CANNOT_SHOW "The server checks rules that this schema does not show."

bool cw_portable_is_name_char(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' ||
           c == '.' || c == '-';
}

bool cw_portable_is_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (!cw_portable_is_name_char(name.p[i]))
            return false;
    }
    return name.n > 0 && name.n <= CW_PORTABLE_PROPERTY_MAX;
}

/* ---- the check ---- */

/* A subschema that is checked. */
typedef struct place {
    cw_schema_draft draft;
    bool is_root;
    bool must_be_exact; /* under not, if or oneOf: readers must agree on its meaning */
} place;

static bool is_fit(const cw_json *schema, place at);

static bool is_fit_below(const cw_json *v, kw_shape shape, place at)
{
    bool is_all = true;
    bool is_map =
        shape == SHAPE_SCHEMA_MAP || shape == SHAPE_PATTERN_MAP || shape == SHAPE_DEPENDENCIES;
    at.is_root = false;
    if (cw_json_is(v, CW_JSON_ARRAY)) {
        for (const cw_json *c = cw_json_first(v); c && is_all; c = cw_json_next(c))
            is_all = is_fit(c, at);
    } else if (is_map && cw_json_is(v, CW_JSON_OBJECT)) {
        for (const cw_json *k = cw_json_first(v); k && is_all; k = cw_json_next_key(k))
            is_all = is_fit(k + 1, at);
    } else {
        is_all = is_fit(v, at);
    }
    return is_all;
}

/* Whether a keyword can stand at the top level of a tool's schema. */
static bool is_fit_for_root(kw_id id, const cw_json *v)
{
    switch (id) {
    case KW_ALL_OF:
    case KW_ANY_OF:
    case KW_ONE_OF:
    case KW_NOT:
    case KW_IF:
    case KW_ENUM:
    case KW_CONST:
    case KW_DEPENDENT_SCHEMAS:
        return false;
    case KW_TYPE:
        return cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), "object");
    case KW_PROPERTIES:
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
            if (!cw_portable_is_name(cw_json_text(k)))
                return false;
        }
        return true;
    default:
        return true;
    }
}

/* Only readers of 2020-12 apply it. */
static bool is_only_2020(kw_id id)
{
    switch (id) {
    case KW_PREFIX_ITEMS:
    case KW_MIN_CONTAINS:
    case KW_MAX_CONTAINS:
    case KW_DEPENDENT_REQUIRED:
    case KW_DEPENDENT_SCHEMAS:
    case KW_UNEVALUATED_ITEMS:
    case KW_UNEVALUATED_PROPERTIES:
        return true;
    default:
        return false;
    }
}

static bool is_anything(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_TRUE) || (cw_json_is(v, CW_JSON_OBJECT) && !cw_json_count(v));
}

/* Keywords that depend on each other. */
static bool are_fit_together(const cw_json *schema, cw_schema_draft draft)
{
    static const cw_str names[] = {CW_STR_INIT("type"),        CW_STR_INIT("items"),
                                   CW_STR_INIT("prefixItems"), CW_STR_INIT("enum"),
                                   CW_STR_INIT("const"),       CW_STR_INIT("minContains")};
    const cw_json *v[CW_COUNT(names)];
    int64_t n = 1;
    cw_json_get_all(schema, names, CW_COUNT(names), v);
    if (cw_json_is(v[0], CW_JSON_ARRAY))
        return false;
    bool is_array = v[0] && (cw_schema_type_bits(v[0]) & TYPE_BIT(CW_JSON_ARRAY)) != 0;
    if ((is_array && !v[1]) || cw_json_is(v[1], CW_JSON_ARRAY))
        return false;
    if (v[2] && v[1] && !is_anything(v[1]))
        return false;
    if (v[5] && draft == CW_SCHEMA_2020_12 && cw_json_to_i64(v[5], &n) && n == 0)
        return false;
    return v[0] || !cw_portable_type_of(v[3], v[4]);
}

static bool is_fit_member(const cw_json *key, place at)
{
    cw_str name = cw_json_text(key);
    const kw_row *row = cw_schema_keyword(name, CW_SCHEMA_2020_12, VOCAB_STANDARD);
    if (!row)
        return true;
    kw_id id = (kw_id)row->id;
    bool is_old = at.draft == CW_SCHEMA_DRAFT_07;
    if (id == KW_REF || id == KW_DYNAMIC_REF || (id == KW_SCHEMA && !at.is_root))
        return false;
    if (is_only_2020(id) && (is_old || at.must_be_exact))
        return false;
    /* 2020-12 has no `dependencies`, and draft-07 alone applies it. */
    if (id == KW_DEPENDENCIES && at.must_be_exact)
        return false;
    if (at.is_root && !is_fit_for_root(id, key + 1))
        return false;
    if (row->shape < SHAPE_SCHEMA)
        return true;
    at.must_be_exact |= id == KW_NOT || id == KW_IF || id == KW_ONE_OF;
    return is_fit_below(key + 1, (kw_shape)row->shape, at);
}

static bool is_fit(const cw_json *schema, place at)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT))
        return true;
    bool is_all = are_fit_together(schema, at.draft);
    for (const cw_json *k = cw_json_first(schema); k && is_all; k = cw_json_next_key(k))
        is_all = is_fit_member(k, at);
    return is_all;
}

static cw_schema_draft draft_of(const cw_json *schema, cw_schema_draft otherwise)
{
    const cw_json *dialect = cw_json_get(schema, CW_STR("$schema"));
    if (!cw_json_is(dialect, CW_JSON_STRING))
        return otherwise;
    cw_str text = cw_json_text(dialect);
    return memmem(text.p, text.n, "/draft-0", 8) ? CW_SCHEMA_DRAFT_07 : CW_SCHEMA_2020_12;
}

bool cw_schema_is_portable(const cw_json *schema, cw_schema_draft draft)
{
    return cw_json_get(schema, CW_STR("type")) &&
           is_fit(schema, (place){.draft = draft_of(schema, draft), .is_root = true});
}

/* ---- the rewriting ---- */

static void write_wide_property(cw_json_writer *w, const cw_json *key)
{
    const cw_json *description = cw_json_get(key + 1, CW_STR("description"));
    cw_json_add_key(w, cw_json_text(key));
    cw_json_open_object(w);
    if (cw_json_is(description, CW_JSON_STRING)) {
        cw_json_add_key(w, CW_STR("description"));
        cw_json_add_value(w, description);
    }
    cw_json_close(w);
}

/* Names, descriptions and `required`: a schema that no limit stops. A root that is a reference shows
 * nothing, because its siblings may not count. */
static cw_code write_wide(const cw_json *schema, cw_arena *arena, cw_schema_portable *ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_json_writer w;
    const cw_json *ref = cw_json_get(schema, CW_STR("$ref"));
    const cw_json *all = ref ? NULL : cw_json_get(schema, CW_STR("properties"));
    const cw_json *required = ref ? NULL : cw_json_get(schema, CW_STR("required"));
    cw_buf_init(&text, CW_BUF_MAX);
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(&w, CW_STR("properties"));
    cw_json_open_object(&w);
    for (const cw_json *k = cw_json_is(all, CW_JSON_OBJECT) ? cw_json_first(all) : NULL; k;
         k = cw_json_next_key(k)) {
        if (cw_portable_is_name(cw_json_text(k)))
            write_wide_property(&w, k);
    }
    cw_json_close(&w);
    if (cw_json_is(required, CW_JSON_ARRAY) && cw_json_count(required)) {
        cw_json_add_key(&w, CW_STR("required"));
        cw_json_add_value(&w, required);
    }
    cw_json_close(&w);
    if (cw_json_writer_end(&w, NULL))
        return CW_NOMEM;
    *ret = (cw_schema_portable){.shown = CW_SCHEMA_SHOWN_NAMES,
                                .text = cw_arena_dup_str(arena, cw_buf_str(&text)),
                                .note = CW_STR(CANNOT_SHOW)};
    return ret->text.p ? CW_OK : CW_NOMEM;
}

static cw_code rewrite(const cw_schema *s, cw_arena *arena, cw_schema_portable *ret)
{
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    cw_code rc = cw_portable_write_top(s, /* has_defs= */ false, &scratch, arena, ret);
    if (rc == CW_LIMIT)
        rc = cw_portable_write_top(s, /* has_defs= */ true, &scratch, arena, ret);
    else
        return rc;
    ret->shown = CW_SCHEMA_SHOWN_WITH_REFS;
    return rc;
}

cw_code cw_schema_make_portable(const cw_json *schema, cw_schema_draft draft, cw_arena *arena,
                                cw_schema_portable *ret)
{
    /* The schemas of single parameters have passed the usual limit of depth. */
    const cw_schema_opts opts = {.draft = draft,
                                 .skip_meta = true,
                                 .annotate_formats = true,
                                 .skip_program = true,
                                 .max_depth = 2 * CW_SCHEMA_MAX_DEPTH};
    cw_schema *s = NULL;
    cw_code rc = cw_schema_compile(schema, &opts, &s, NULL);
    if (!rc)
        rc = rewrite(s, arena, ret);
    cw_schema_unref(s);
    return rc && rc != CW_NOMEM ? write_wide(schema, arena, ret) : rc;
}
