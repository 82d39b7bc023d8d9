/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scan.c - one walk over a document: which values are schemas, which keywords they have, which
 * identifiers they carry, and whether every keyword's value has the right shape.
 *
 * Only what the dialect knows as a place for schemas is walked, so that an $id
 * inside `const` or an unknown keyword is no identifier. A reference may lead to
 * such a place later: it is scanned then.
 */
#include <assert.h>
#include <stdlib.h>

#include "schema/model/model.h"
#include "schema/model/uri.h"

/* ==== dialects ==== */

#define META_DEPTH_MAX 4u /* meta-schemas that name meta-schemas */

static bool known_draft(cw_str uri, cw_schema_draft *ret)
{
    static const struct {
        const char *name;
        cw_schema_draft draft;
    } drafts[] = {
        {"json-schema.org/draft/2020-12/schema", CW_SCHEMA_2020_12},
        {"json-schema.org/draft-07/schema", CW_SCHEMA_DRAFT_07},
        {"json-schema.org/draft-06/schema", CW_SCHEMA_DRAFT_07},
    };
    cw_str rest;
    if (cw_str_starts(uri, CW_STR("http://")))
        rest = cw_str_make(uri.p + 7, uri.n - 7);
    else if (cw_str_starts(uri, CW_STR("https://")))
        rest = cw_str_make(uri.p + 8, uri.n - 8);
    else
        return false;
    for (size_t i = 0; i < CW_COUNT(drafts); i++) {
        if (cw_str_is(rest, drafts[i].name)) {
            *ret = drafts[i].draft;
            return true;
        }
    }
    return false;
}

static uint8_t vocab_bit(cw_str uri)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } vocabs[] = {
        {"core", VOCAB_CORE},
        {"applicator", VOCAB_APPLICATOR},
        {"unevaluated", VOCAB_UNEVALUATED},
        {"validation", VOCAB_VALIDATION},
        {"meta-data", VOCAB_META},
        {"format-annotation", VOCAB_FORMAT},
        {"format-assertion", VOCAB_FORMAT_ASSERTION},
        {"content", VOCAB_CONTENT},
    };
    cw_str prefix = CW_STR("https://json-schema.org/draft/2020-12/vocab/");
    if (!cw_str_starts(uri, prefix))
        return 0;
    cw_str name = cw_str_make(uri.p + prefix.n, uri.n - prefix.n);
    for (size_t i = 0; i < CW_COUNT(vocabs); i++) {
        if (cw_str_is(name, vocabs[i].name))
            return vocabs[i].bit;
    }
    return 0;
}

bool cw_schema_find_document(const builder *b, cw_str uri, cw_str *ret_text)
{
    for (size_t i = 0; i < b->opts.n_documents; i++) {
        if (cw_str_eq(b->opts.documents[i].uri, uri)) {
            *ret_text = b->opts.documents[i].text;
            return true;
        }
    }
    return cw_schema_standard_document(uri, ret_text);
}

static cw_code read_vocabularies(builder *b, const cw_json *at, const cw_json *list, resource *ret)
{
    uint32_t vocab = 0;
    for (const cw_json *k = cw_json_first(list); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        uint8_t bit = vocab_bit(name);
        if (!bit && cw_json_is(k + 1, CW_JSON_TRUE))
            return cw_schema_fail_at(b, at, CW_PARAMS, "requires the unknown vocabulary '%.*s'",
                                     CW_STR_ARG(name));
        vocab |= bit;
    }
    if (vocab & VOCAB_FORMAT_ASSERTION) {
        vocab |= VOCAB_FORMAT;
        ret->assert_format = true;
    }
    ret->vocab = (uint8_t)(vocab | VOCAB_CORE);
    return CW_OK;
}

/* Select the dialect of a resource by its $schema, and by the $vocabulary of a registered
 * meta-schema. */
static cw_code select_dialect(builder *b, const cw_json *value, resource *ret)
{
    if (!cw_json_is(value, CW_JSON_STRING))
        return cw_schema_fail_at(b, value, CW_PARAMS, "must be a string");
    cw_str fragment;
    cw_str uri = cw_schema_uri_cut(cw_json_text(value), &fragment);
    cw_schema_draft draft;
    if (fragment.n == 0 && known_draft(uri, &draft)) {
        ret->draft = (uint8_t)draft;
        ret->vocab = VOCAB_STANDARD;
        ret->assert_format = !b->opts.annotate_formats;
        return CW_OK;
    }
    cw_str text;
    if (fragment.n || b->meta_depth >= META_DEPTH_MAX || !cw_schema_find_document(b, uri, &text))
        return cw_schema_fail_at(b, value, CW_PARAMS,
                                 "dialect '%.*s' is not supported: draft-07 and 2020-12 are",
                                 CW_STR_ARG(cw_json_text(value)));
    const cw_json *meta;
    const cw_json_opts read = {.max_bytes = b->opts.max_bytes};
    cw_code rc = cw_json_read(text, &read, &b->s->arena, &meta, NULL, b->err);
    if (rc)
        return cw_wrap(b->err, rc, "meta-schema '%.*s'", CW_STR_ARG(uri));
    b->custom = true;
    const cw_json *own = cw_json_get(meta, CW_STR("$schema"));
    if (own) {
        b->meta_depth++;
        rc = select_dialect(b, own, ret);
        b->meta_depth--;
        if (rc)
            return rc;
    }
    const cw_json *list = cw_json_get(meta, CW_STR("$vocabulary"));
    if (!cw_json_is(list, CW_JSON_OBJECT) || ret->draft != CW_SCHEMA_2020_12)
        return CW_OK;
    return read_vocabularies(b, value, list, ret);
}

/* ==== the walk ==== */

bool cw_schema_grow(void **items, uint32_t n, uint32_t *cap, size_t size)
{
    if (n < *cap)
        return true;
    uint32_t more = *cap ? *cap * 2 : 16;
    void *p = realloc(*items, more * size);
    if (!p)
        return false;
    *items = p;
    *cap = more;
    return true;
}

/* The sub that is being scanned. */
typedef struct place {
    uint32_t doc;
    uint32_t resource;
    uint32_t depth;
    uint32_t sub;
} place;

static cw_code put_id(builder *b, const cw_json *at, cw_str uri, uint32_t sub_index,
                      bool is_dynamic)
{
    void *old = NULL;
    uintptr_t value = (uintptr_t)sub_index * 2 + is_dynamic;
    cw_code rc = cw_map_put(&b->ids, uri, (void *)value, &old); /* NOLINT: a number in disguise */
    if (rc)
        return cw_fail(b->err, rc, "too many identifiers");
    if (old && (uintptr_t)old / 2 != sub_index)
        return cw_schema_fail_at(b, at, CW_PARAMS, "identifier '%.*s' is used twice",
                                 CW_STR_ARG(uri));
    return CW_OK;
}

static bool is_anchor_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !(c == '-' || c == '.' || c == ':' || (c >= '0' && c <= '9'))))
            return false;
    }
    return name.n > 0;
}

static cw_code add_anchor(builder *b, const place *at, const cw_json *value, cw_str name,
                          bool is_dynamic)
{
    if (!is_anchor_name(name))
        return cw_schema_fail_at(b, value, CW_PARAMS, "is not a name for an anchor");
    cw_schema *s = b->s;
    cw_str uri = s->resources[at->resource].uri;
    char *text = cw_arena_alloc(&s->arena, uri.n + 1 + name.n);
    if (!text)
        return cw_arena_fail(&s->arena, b->err);
    memcpy(text, uri.p, uri.n);
    text[uri.n] = '#';
    memcpy(text + uri.n + 1, name.p, name.n);
    if (is_dynamic) {
        if (!GROW(s, dynamics))
            return cw_fail_nomem(b->err);
        s->dynamics[s->n_dynamics++] = (dynamic){name, at->resource, at->sub};
    }
    return put_id(b, value, cw_str_make(text, uri.n + 1 + name.n), at->sub, is_dynamic);
}

static cw_code add_resource(builder *b, const place *at, cw_str uri, const cw_json *schema_at,
                            uint32_t *ret)
{
    cw_schema *s = b->s;
    if (!GROW(s, resources))
        return cw_fail_nomem(b->err);
    resource r = {.uri = uri, .doc = at->doc, .root = at->sub};
    r.draft = (uint8_t)b->opts.draft;
    r.vocab = VOCAB_STANDARD;
    r.assert_format = !b->opts.annotate_formats;
    bool inner = at->resource != UINT32_MAX;
    if (inner) {
        const resource *outer = &s->resources[at->resource];
        r.draft = outer->draft;
        r.vocab = outer->vocab;
        r.assert_format = outer->assert_format;
    }
    if (schema_at) {
        cw_code rc = select_dialect(b, schema_at, &r);
        if (rc)
            return rc;
        b->mixed |= inner && r.draft != s->resources[at->resource].draft;
    }
    *ret = s->n_resources;
    s->resources[s->n_resources++] = r;
    return CW_OK;
}

/* $id, $schema and $ref, which decide how everything else is read. */
typedef struct head {
    const cw_json *id;
    const cw_json *schema;
    const cw_json *ref;
} head;

static head find_head(const cw_json *object)
{
    head h = {0};
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        if (k->n < 3 || k->p[0] != '$')
            continue;
        cw_str name = cw_json_text(k);
        if (cw_str_eq(name, CW_STR("$id")))
            h.id = k + 1;
        else if (cw_str_eq(name, CW_STR("$schema")))
            h.schema = k + 1;
        else if (cw_str_eq(name, CW_STR("$ref")))
            h.ref = k + 1;
    }
    return h;
}

/* An $id that begins a resource: at->resource becomes that one. In draft-07 an $id may be, or end
 * in, an anchor. */
static cw_code enter_resource(builder *b, place *at, const head *h)
{
    cw_schema *s = b->s;
    const cw_json *id = h->id;
    if (!cw_json_is(id, CW_JSON_STRING))
        return cw_schema_fail_at(b, id, CW_PARAMS, "must be a string");
    cw_str fragment;
    cw_str part = cw_schema_uri_cut(cw_json_text(id), &fragment);
    cw_code rc = CW_OK;
    if (part.n > 0) {
        cw_str base =
            at->resource == UINT32_MAX ? s->docs[at->doc].uri : s->resources[at->resource].uri;
        cw_str uri = cw_schema_uri_resolve(&s->arena, base, part);
        if (!uri.p)
            return cw_arena_fail(&s->arena, b->err);
        uint32_t index = 0;
        rc = add_resource(b, at, uri, h->schema, &index);
        if (rc)
            return rc;
        at->resource = index;
        s->subs[at->sub].resource = index;
        rc = put_id(b, id, uri, at->sub, /* is_dynamic= */ false);
    }
    if (!rc && fragment.n > 0) {
        if (s->resources[at->resource].draft != CW_SCHEMA_DRAFT_07)
            return cw_schema_fail_at(b, id, CW_PARAMS, "must not have a fragment");
        rc = add_anchor(b, at, id, fragment, /* is_dynamic= */ false);
    }
    return rc;
}

static cw_code add_pattern(builder *b, const place *at, const cw_json *text)
{
    cw_schema *s = b->s;
    if (!GROW(s, patterns))
        return cw_fail_nomem(b->err);
    cw_err why = {0};
    cw_pattern *pattern = NULL;
    cw_code rc = cw_pattern_compile(cw_json_text(text), &pattern, &why);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(b->err);
    if (rc)
        return cw_schema_fail_at(b, text, rc, "is no pattern: %s", why.msg);
    const document *doc = &s->docs[at->doc];
    doc->links[text - doc->root] = s->n_patterns;
    s->patterns[s->n_patterns++] = pattern;
    b->patterns += cw_pattern_size(pattern);
    if (b->patterns > CW_SCHEMA_MAX_PATTERN_BYTES)
        return cw_schema_fail_at(b, text, CW_LIMIT,
                                 "the patterns of the schema take more than %u MiB",
                                 CW_SCHEMA_MAX_PATTERN_BYTES >> 20);
    return CW_OK;
}

static cw_code check_strings(builder *b, const cw_json *list)
{
    if (!cw_json_is(list, CW_JSON_ARRAY))
        return cw_schema_fail_at(b, list, CW_PARAMS, "must be an array of strings");
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (!cw_json_is(v, CW_JSON_STRING))
            return cw_schema_fail_at(b, v, CW_PARAMS, "must be a string");
    }
    return CW_OK;
}

static cw_code check_type(builder *b, const cw_json *type)
{
    if (cw_json_is(type, CW_JSON_STRING))
        return cw_schema_type_bit(cw_json_text(type))
                   ? CW_OK
                   : cw_schema_fail_at(b, type, CW_PARAMS, "'%.*s' is not a type",
                                       CW_STR_ARG(cw_json_text(type)));
    if (!cw_json_is(type, CW_JSON_ARRAY))
        return cw_schema_fail_at(b, type, CW_PARAMS, "must be a type or an array of types");
    cw_code rc = check_strings(b, type);
    for (const cw_json *v = rc ? NULL : cw_json_first(type); v && !rc; v = cw_json_next(v))
        rc = check_type(b, v);
    return rc;
}

static cw_code check_number(builder *b, const cw_json *v, kw_shape shape)
{
    if (!cw_json_is(v, CW_JSON_NUMBER))
        return cw_schema_fail_at(b, v, CW_PARAMS, "must be a number");
    if (shape == SHAPE_NUMBER)
        return CW_OK;
    bool negative = v->meta & CW_JSON_NEGATIVE;
    static const cw_json zero = {"0", 1, CW_JSON_NUMBER};
    bool is_zero = cw_json_compare_numbers(v, &zero) == 0;
    if (shape == SHAPE_COUNT && ((negative && !is_zero) || !cw_json_is_integer(v)))
        return cw_schema_fail_at(b, v, CW_PARAMS, "must be a whole number of at least 0");
    if (shape == SHAPE_POSITIVE && (negative || is_zero))
        return cw_schema_fail_at(b, v, CW_PARAMS, "must be a number greater than 0");
    if (shape == SHAPE_POSITIVE && v->n > CW_SCHEMA_MAX_DIVISOR)
        return cw_schema_fail_at(b, v, CW_LIMIT, "has more than %u digits", CW_SCHEMA_MAX_DIVISOR);
    return CW_OK;
}

static cw_code scan_child(builder *b, const place *at, const cw_json *value)
{
    uint32_t ignored;
    return cw_schema_scan(b, at->doc, value, at->resource, at->depth + 1, &ignored);
}

static cw_code scan_list(builder *b, const place *at, const cw_json *list)
{
    if (!cw_json_is(list, CW_JSON_ARRAY) || cw_json_count(list) == 0)
        return cw_schema_fail_at(b, list, CW_PARAMS, "must be a non-empty array of schemas");
    cw_code rc = CW_OK;
    for (const cw_json *v = cw_json_first(list); v && !rc; v = cw_json_next(v))
        rc = scan_child(b, at, v);
    return rc;
}

/* Objects whose members are schemas, arrays of strings, or either. */
static cw_code scan_map(builder *b, const place *at, const cw_json *map, kw_shape shape)
{
    if (!cw_json_is(map, CW_JSON_OBJECT))
        return cw_schema_fail_at(b, map, CW_PARAMS, "must be an object");
    cw_code rc = CW_OK;
    for (const cw_json *k = cw_json_first(map); k && !rc; k = cw_json_next_key(k)) {
        bool strings = shape == SHAPE_STRINGS_MAP ||
                       (shape == SHAPE_DEPENDENCIES && cw_json_is(k + 1, CW_JSON_ARRAY));
        rc = strings ? check_strings(b, k + 1) : scan_child(b, at, k + 1);
        if (!rc && shape == SHAPE_PATTERN_MAP)
            rc = add_pattern(b, at, k);
    }
    return rc;
}

static cw_code scan_value(builder *b, const place *at, const cw_json *v, kw_shape shape)
{
    switch (shape) {
    case SHAPE_ANY:
        return CW_OK;
    case SHAPE_BOOL:
        if (!cw_json_is(v, CW_JSON_TRUE) && !cw_json_is(v, CW_JSON_FALSE))
            return cw_schema_fail_at(b, v, CW_PARAMS, "must be a boolean");
        return CW_OK;
    case SHAPE_STRING:
    case SHAPE_PATTERN:
        if (!cw_json_is(v, CW_JSON_STRING))
            return cw_schema_fail_at(b, v, CW_PARAMS, "must be a string");
        return shape == SHAPE_PATTERN ? add_pattern(b, at, v) : CW_OK;
    case SHAPE_STRINGS:
        return check_strings(b, v);
    case SHAPE_NUMBER:
    case SHAPE_POSITIVE:
    case SHAPE_COUNT:
        return check_number(b, v, shape);
    case SHAPE_ARRAY:
        if (!cw_json_is(v, CW_JSON_ARRAY))
            return cw_schema_fail_at(b, v, CW_PARAMS, "must be an array");
        return CW_OK;
    case SHAPE_TYPE:
        return check_type(b, v);
    case SHAPE_SCHEMA:
        return scan_child(b, at, v);
    case SHAPE_SCHEMA_OR_SCHEMAS:
        return cw_json_is(v, CW_JSON_ARRAY) && cw_json_count(v) == 0 ? CW_OK
               : cw_json_is(v, CW_JSON_ARRAY)                        ? scan_list(b, at, v)
                                                                     : scan_child(b, at, v);
    case SHAPE_SCHEMAS:
        return scan_list(b, at, v);
    case SHAPE_STRINGS_MAP:
    case SHAPE_SCHEMA_MAP:
    case SHAPE_PATTERN_MAP:
    case SHAPE_DEPENDENCIES:
        return scan_map(b, at, v, shape);
    }
    return CW_OK;
}

/* Keep the keywords that take part in evaluation, then look into all of them. */
static cw_code scan_keywords(builder *b, const place *at, const head *h)
{
    cw_schema *s = b->s;
    const cw_json *object = s->subs[at->sub].value;
    cw_schema_draft draft = (cw_schema_draft)s->resources[at->resource].draft;
    uint32_t vocab = s->resources[at->resource].vocab;
    /* In draft-07 nothing next to a reference counts. */
    bool only_ref = h->ref && draft == CW_SCHEMA_DRAFT_07;
    uint32_t first = s->n_keywords;
    const kw_row *row;
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        row = cw_schema_keyword(cw_json_text(k), draft, vocab);
        if (!row || row->id >= KW_EVALUATED || (only_ref && row->id != KW_REF))
            continue;
        if (!GROW(s, keywords))
            return cw_fail_nomem(b->err);
        s->keywords[s->n_keywords++] = (keyword){k, (kw_id)row->id};
    }
    s->subs[at->sub].first = first;
    s->subs[at->sub].count = s->n_keywords - first;
    cw_code rc = CW_OK;
    for (const cw_json *k = cw_json_first(object); k && !rc; k = cw_json_next_key(k)) {
        row = cw_schema_keyword(cw_json_text(k), draft, vocab);
        if (!row || (only_ref && row->id != KW_REF))
            continue;
        rc = scan_value(b, at, k + 1, (kw_shape)row->shape);
        if (!rc && (row->id == KW_ANCHOR || row->id == KW_DYNAMIC_ANCHOR))
            rc = add_anchor(b, at, k + 1, cw_json_text(k + 1), row->id == KW_DYNAMIC_ANCHOR);
    }
    return rc;
}

static cw_code add_sub(builder *b, place *at, const cw_json *value)
{
    cw_schema *s = b->s;
    if (at->depth > b->opts.max_depth)
        return cw_schema_fail_at(b, value, CW_LIMIT, "schemas are nested deeper than %u",
                                 b->opts.max_depth);
    if (s->n_subs > b->opts.max_subschemas)
        return cw_schema_fail_at(b, value, CW_LIMIT, "there are more than %u subschemas",
                                 b->opts.max_subschemas);
    if (!GROW(s, subs))
        return cw_fail_nomem(b->err);
    at->sub = s->n_subs++;
    s->subs[at->sub] = (sub){.value = value, .resource = at->resource};
    const document *doc = &s->docs[at->doc];
    doc->links[value - doc->root] = at->sub;
    return CW_OK;
}

cw_code cw_schema_scan(builder *b, uint32_t doc, const cw_json *value, uint32_t resource_index,
                       uint32_t depth, uint32_t *ret_sub)
{
    cw_schema *s = b->s;
    bool object = cw_json_is(value, CW_JSON_OBJECT);
    if (!object && !cw_json_is(value, CW_JSON_TRUE) && !cw_json_is(value, CW_JSON_FALSE))
        return cw_schema_fail_at(b, value, CW_PARAMS, "must be a schema: an object or a boolean");
    uint32_t known = s->docs[doc].links[value - s->docs[doc].root];
    if (known) {
        *ret_sub = known;
        return CW_OK;
    }
    place at = {.doc = doc, .resource = resource_index, .depth = depth};
    cw_code rc = add_sub(b, &at, value);
    if (rc)
        return rc;
    *ret_sub = at.sub;
    head h = {0};
    if (object)
        h = find_head(value);
    bool is_root = resource_index == UINT32_MAX;
    if (is_root) {
        /* The document itself is a resource, under the address it came from. */
        rc = add_resource(b, &at, s->docs[doc].uri, h.schema, &at.resource);
        if (rc)
            return rc;
        s->subs[at.sub].resource = at.resource;
    }
    bool sibling = h.ref && s->resources[at.resource].draft == CW_SCHEMA_DRAFT_07;
    if (h.id && !sibling)
        rc = enter_resource(b, &at, &h);
    if (!rc && object)
        rc = scan_keywords(b, &at, &h);
    return rc;
}

static cw_code add_links(builder *b, document *doc)
{
    doc->count = (uint32_t)(cw_json_after(doc->root) - doc->root);
    doc->links = cw_arena_calloc(&b->s->arena, doc->count, sizeof doc->links[0]);
    return doc->links ? CW_OK : cw_arena_fail(&b->s->arena, b->err);
}

cw_code cw_schema_add_document(builder *b, cw_str uri, cw_str text, bool copy, uint32_t *ret_doc)
{
    cw_schema *s = b->s;
    if (!GROW(s, docs))
        return cw_fail_nomem(b->err);
    document doc = {.text = text, .uri = uri};
    if (copy) {
        doc.text = cw_arena_dup_str(&s->arena, text);
        doc.uri = cw_arena_dup_str(&s->arena, uri);
        if (!doc.text.p || !doc.uri.p)
            return cw_arena_fail(&s->arena, b->err);
    }
    const cw_json_opts read = {.max_bytes = b->opts.max_bytes,
                               .max_depth = 3 * b->opts.max_depth + 16};
    cw_code rc = cw_json_read(doc.text, &read, &s->arena, &doc.root, NULL, b->err);
    if (!rc)
        rc = add_links(b, &doc);
    if (rc)
        return rc;
    *ret_doc = s->n_docs;
    s->docs[s->n_docs++] = doc;
    uint32_t root = 0;
    rc = cw_schema_scan(b, *ret_doc, doc.root, UINT32_MAX, /* depth= */ 0, &root);
    if (!rc && doc.uri.n)
        rc = put_id(b, doc.root, doc.uri, root, /* is_dynamic= */ false);
    return rc;
}
