/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema_bundle.c - copies schemas and rewrites their references. */
#include "catalogue/schema_bundle.h"

#include "json/write.h"

/* The kinds of an object's members. */
typedef cw_bundle_kind kind;
#define SCHEMA CW_BUNDLE_SCHEMA
#define NAMES CW_BUNDLE_NAMES
#define DATA CW_BUNDLE_DATA

cw_bundle_kind cw_bundle_kind_of(cw_str keyword)
{
    static const struct {
        cw_str keyword;
        kind kind;
    } table[] = {
        {CW_STR_INIT("properties"), NAMES},
        {CW_STR_INIT("patternProperties"), NAMES},
        {CW_STR_INIT("$defs"), NAMES},
        {CW_STR_INIT("definitions"), NAMES},
        {CW_STR_INIT("dependentSchemas"), NAMES},
        {CW_STR_INIT("dependencies"), NAMES},
        {CW_STR_INIT("enum"), DATA},
        {CW_STR_INIT("const"), DATA},
        {CW_STR_INIT("default"), DATA},
        {CW_STR_INIT("examples"), DATA},
        {CW_STR_INIT("example"), DATA},
    };
    for (size_t i = 0; i < CW_COUNT(table); i++) {
        if (cw_str_eq(table[i].keyword, keyword))
            return table[i].kind;
    }
    return SCHEMA;
}

/* "#anchor" names a place wherever it is, so only pointers move with their schema. */
static bool is_pointer_ref(cw_str keyword, const cw_json *v)
{
    if (!cw_str_is(keyword, "$ref") && !cw_str_is(keyword, "$dynamicRef"))
        return false;
    return cw_json_is(v, CW_JSON_STRING) && v->n > 0 && v->p[0] == '#' &&
           (v->n == 1 || v->p[1] == '/');
}

/* An "$id" other than a plain anchor makes a schema its own root. */
static bool is_resource(const cw_json *object)
{
    const cw_json *id = cw_json_get(object, CW_STR("$id"));
    return cw_json_is(id, CW_JSON_STRING) && id->n > 0 && id->p[0] != '#';
}

static void add_verbatim(cw_buf *out, const cw_json *v)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_add_value(&w, v);
}

static cw_code copy(const cw_bundle *refs, const cw_json *v, kind as, cw_buf *out);

static cw_code copy_member(const cw_bundle *refs, const cw_json *key, kind as, cw_buf *out)
{
    const cw_json *v = cw_json_value(key);
    cw_str name = cw_json_text(key);
    cw_buf_add(out, cw_json_span(key));
    cw_buf_add_char(out, ':');
    if (as != SCHEMA)
        return copy(refs, v, as == NAMES ? SCHEMA : DATA, out);
    if (is_pointer_ref(name, v))
        return refs->on_ref(refs->ctx, cw_json_text(v), out);
    return copy(refs, v, cw_bundle_kind_of(name), out);
}

static cw_code copy(const cw_bundle *refs, const cw_json *v, kind as, cw_buf *out)
{
    bool is_object = cw_json_is(v, CW_JSON_OBJECT);
    bool is_array = cw_json_is(v, CW_JSON_ARRAY);
    bool stays = as == DATA || (as == SCHEMA && is_object && is_resource(v));
    if (stays || (!is_object && !is_array)) {
        add_verbatim(out, v);
        return out->code;
    }
    cw_code rc = CW_OK;
    char separator = is_object ? '{' : '[';
    if (cw_json_count(v) == 0)
        cw_buf_add_char(out, separator);
    for (const cw_json *at = cw_json_first(v); at && !rc;
         at = is_object ? cw_json_next_key(at) : cw_json_next(at)) {
        cw_buf_add_char(out, separator);
        separator = ',';
        rc = is_object ? copy_member(refs, at, as, out) : copy(refs, at, as, out);
    }
    cw_buf_add_char(out, is_object ? '}' : ']');
    return rc ? rc : out->code;
}

static void add_description(const cw_bundle *refs, char separator, cw_buf *out)
{
    cw_buf_add_char(out, separator);
    cw_buf_add(out, CW_STR("\"description\":"));
    cw_json_escape(out, *refs->description);
}

/* The root's members, with a description that is replaced where it stands or added at the end. */
static cw_code copy_root(const cw_bundle *refs, const cw_json *schema, cw_buf *out)
{
    cw_code rc = CW_OK;
    bool own = is_resource(schema);
    bool described = refs->description == NULL;
    char separator = '{';
    for (const cw_json *k = cw_json_first(schema); k && !rc; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (refs->drop_dialect && !own && cw_str_is(name, "$schema"))
            continue;
        if (refs->description && cw_str_is(name, "description")) {
            add_description(refs, separator, out);
            described = true;
        } else {
            cw_buf_add_char(out, separator);
            rc = copy_member(refs, k, own ? DATA : SCHEMA, out);
        }
        separator = ',';
    }
    if (!described) {
        add_description(refs, separator, out);
        separator = ',';
    }
    if (separator == '{')
        cw_buf_add_char(out, '{');
    cw_buf_add_char(out, '}');
    return rc ? rc : out->code;
}

cw_code cw_bundle_copy(const cw_bundle *refs, const cw_json *schema, cw_buf *out)
{
    if (cw_json_is(schema, CW_JSON_OBJECT))
        return copy_root(refs, schema, out);
    if (!refs->description) {
        add_verbatim(out, schema);
        return out->code;
    }
    /* A boolean has no members: these objects mean the same. */
    cw_buf_add(out, cw_json_is(schema, CW_JSON_FALSE) ? CW_STR("{\"not\":{}") : CW_STR(""));
    add_description(refs, cw_json_is(schema, CW_JSON_FALSE) ? ',' : '{', out);
    cw_buf_add_char(out, '}');
    return out->code;
}

cw_code cw_bundle_move(void *ctx, cw_str ref, cw_buf *out)
{
    const cw_str *place = ctx;
    cw_buf_add(out, CW_STR("\"#"));
    cw_buf_add(out, *place);
    size_t quote = out->n;
    cw_json_escape(out, cw_str_make(ref.p + 1, ref.n - 1));
    if (out->code)
        return out->code;
    /* One string, not two: the opening quote is there already. */
    memmove(out->p + quote, out->p + quote + 1, out->n - quote - 1);
    out->n--;
    return CW_OK;
}

void cw_bundle_add_token(cw_buf *out, cw_str name)
{
    cw_buf_add_char(out, '/');
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '-' || c == '.' || c == '_' || c == '$';
        if (plain)
            cw_buf_add_char(out, (char)c);
        else if (c == '~' || c == '/')
            cw_buf_add(out, c == '~' ? CW_STR("~0") : CW_STR("~1"));
        else
            cw_buf_printf(out, "%%%02X", c);
    }
}
