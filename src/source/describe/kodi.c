/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kodi.c - JSONRPC.Introspect: methods and types in JSON Schema draft-03, put into
 * 2020-12.
 *
 *     "$ref": "Player.Id"            "$ref": "#/components/schemas/Player.Id"
 *     "required": true of a member   its name in "required" of the object
 *     "type": [{…}, "null"]          "anyOf"
 *     "extends"                      "allOf"
 *     "enums", "divisibleBy",        "enum", "multipleOf",
 *     "disallow", "id"               "not", nothing
 */
#include "source/describe/describe_ctx.h"

#define INTROSPECT "JSONRPC.Introspect"

static void write_schema(cw_json_writer *w, const cw_json *v);

static void write_ref(cw_json_writer *w, cw_str name)
{
    static const cw_str where = CW_STR_INIT("#/components/schemas/");
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 65536);
    cw_buf_add(&text, where);
    /* A name is one token of a JSON pointer, so '~' and '/' are escaped. */
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        cw_buf_add(&text, c == '~'   ? CW_STR("~0")
                          : c == '/' ? CW_STR("~1")
                                     : cw_str_make(name.p + i, 1));
    }
    if (text.code)
        w->out->code = text.code;
    cw_json_add_string_member(w, CW_STR("$ref"), cw_buf_str(&text));
}

static bool is_type(cw_str word)
{
    static const char *const words[] = {"string", "integer", "number", "boolean",
                                        "null",   "object",  "array"};
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        if (cw_str_is(word, words[i]))
            return true;
    }
    return false;
}

/* A word, or a schema. */
static void write_choice(cw_json_writer *w, const cw_json *v)
{
    if (!cw_json_is(v, CW_JSON_STRING)) {
        write_schema(w, v);
        return;
    }
    cw_json_open_object(w);
    if (is_type(cw_json_text(v)))
        cw_json_add_string_member(w, CW_STR("type"), cw_json_text(v));
    cw_json_close(w);
}

static void write_choices(cw_json_writer *w, const char *keyword, const cw_json *list)
{
    cw_json_add_key(w, cw_str_from(keyword));
    cw_json_open_array(w);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v))
        write_choice(w, v);
    cw_json_close(w);
}

static void write_types(cw_json_writer *w, const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_ARRAY))
        write_choices(w, "anyOf", v);
    else if (cw_json_is(v, CW_JSON_STRING) && is_type(cw_json_text(v)))
        cw_json_add_string_member(w, CW_STR("type"), cw_json_text(v));
}

static void write_extends(cw_json_writer *w, const cw_json *v)
{
    cw_json_add_key(w, CW_STR("allOf"));
    cw_json_open_array(w);
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    for (const cw_json *i = is_list ? cw_json_first(v) : v; i;
         i = is_list ? cw_json_next(i) : NULL) {
        if (cw_json_is(i, CW_JSON_STRING)) {
            cw_json_open_object(w);
            write_ref(w, cw_json_text(i));
            cw_json_close(w);
        } else {
            write_schema(w, i);
        }
    }
    cw_json_close(w);
}

static void write_properties(cw_json_writer *w, const cw_json *v)
{
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        write_schema(w, cw_json_value(k));
    }
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("required"));
    cw_json_open_array(w);
    for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k)) {
        if (cw_json_is(cw_json_get(cw_json_value(k), CW_STR("required")), CW_JSON_TRUE))
            cw_json_add_string(w, cw_json_text(k));
    }
    cw_json_close(w);
}

/* A bound that a flag beside it makes exclusive. */
static void write_bound(cw_json_writer *w, const cw_json *schema, const char *name,
                        const char *exclusive, const cw_json *v)
{
    bool is_exclusive = cw_json_is(cw_json_get(schema, cw_str_from(exclusive)), CW_JSON_TRUE);
    cw_json_add_key(w, cw_str_from(is_exclusive ? exclusive : name));
    cw_json_add_value(w, v);
}

/* Keywords that mean the same in both, and those that have other names. */
static void write_plain(cw_json_writer *w, cw_str key, const cw_json *v)
{
    static const char *const same[] = {"description", "default",   "title",    "pattern",
                                       "minLength",   "maxLength", "minItems", "maxItems",
                                       "uniqueItems", "format",    "enum"};
    for (size_t i = 0; i < CW_COUNT(same); i++) {
        if (!cw_str_is(key, same[i]))
            continue;
        cw_json_add_key(w, key);
        cw_json_add_value(w, v);
        return;
    }
    bool is_enum = cw_str_is(key, "enums"), is_step = cw_str_is(key, "divisibleBy");
    if (!is_enum && !is_step)
        return;
    cw_json_add_key(w, is_enum ? CW_STR("enum") : CW_STR("multipleOf"));
    cw_json_add_value(w, v);
}

static void write_schemas(cw_json_writer *w, const cw_json *schema, cw_str key, const cw_json *v)
{
    bool is_object = cw_json_is(v, CW_JSON_OBJECT);
    bool is_flag = cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
    if (cw_str_is(key, "$ref") && cw_json_is(v, CW_JSON_STRING)) {
        write_ref(w, cw_json_text(v));
    } else if (cw_str_is(key, "type")) {
        write_types(w, v);
    } else if (cw_str_is(key, "extends")) {
        write_extends(w, v);
    } else if (cw_str_is(key, "properties") && is_object) {
        write_properties(w, v);
    } else if (cw_str_is(key, "items") && cw_json_is(v, CW_JSON_ARRAY)) {
        write_choices(w, "prefixItems", v);
    } else if ((cw_str_is(key, "items") || cw_str_is(key, "additionalProperties")) && is_object) {
        cw_json_add_key(w, key);
        write_schema(w, v);
    } else if (cw_str_is(key, "additionalProperties") && is_flag) {
        cw_json_add_key(w, key);
        cw_json_add_value(w, v);
    } else if (cw_str_is(key, "disallow")) {
        cw_json_add_key(w, CW_STR("not"));
        write_choice(w, v);
    } else if (cw_str_is(key, "minimum")) {
        write_bound(w, schema, "minimum", "exclusiveMinimum", v);
    } else if (cw_str_is(key, "maximum")) {
        write_bound(w, schema, "maximum", "exclusiveMaximum", v);
    } else {
        write_plain(w, key, v);
    }
}

/* The recursion is as deep as the document, whose depth has a maximum. */
static void write_schema(cw_json_writer *w, const cw_json *v)
{
    cw_json_open_object(w);
    if (cw_json_is(v, CW_JSON_OBJECT)) {
        for (const cw_json *k = cw_json_first(v); k; k = cw_json_next_key(k))
            write_schemas(w, v, cw_json_text(k), cw_json_value(k));
    }
    cw_json_close(w);
}

/* ---- methods ---- */

static cw_str schema_text(cw_openrpc_writer *doc, const cw_json *v, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    write_choice(&w, v);
    if (out->code)
        doc->text.code = out->code;
    return cw_buf_str(out);
}

static void write_param(cw_openrpc_writer *doc, const cw_json *p)
{
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_openrpc_writer_param(
        doc, &(cw_openrpc_writer_param_opts){
                 .name = cw_describe_text(p, "name"),
                 .description = cw_describe_text(p, "description"),
                 .schema = schema_text(doc, p, &schema),
                 .required = cw_json_is(cw_json_get(p, CW_STR("required")), CW_JSON_TRUE)});
}

/* The annotations that follow from the permission of a method. */
static void write_mark(cw_openrpc_writer *doc, cw_str permission)
{
    CW_CLEANUP(cw_buf_done) cw_buf mark;
    cw_buf_init(&mark, 4096);
    if (permission.n == 0)
        return;
    bool reads = cw_str_is(permission, "ReadData");
    bool destroys = cw_str_is(permission, "RemoveData") || cw_str_is(permission, "ControlPower");
    cw_buf_add(&mark, CW_STR("{\"annotations\":{\"kodi_permission\":"));
    cw_json_escape(&mark, permission);
    if (reads || destroys)
        cw_buf_printf(&mark, ",\"%s\":true", reads ? "readOnlyHint" : "destructiveHint");
    cw_buf_add(&mark, CW_STR("}}"));
    if (mark.code)
        doc->text.code = mark.code;
    else
        cw_openrpc_writer_member(doc, "x-mcp-tool", cw_buf_str(&mark));
}

static void write_method(cw_openrpc_writer *doc, cw_str name, const cw_json *about)
{
    const cw_json *params = cw_json_get(about, CW_STR("params"));
    const cw_json *returns = cw_json_get(about, CW_STR("returns"));
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_openrpc_writer_method(doc, name, cw_describe_text(about, "description"));
    for (const cw_json *p = cw_json_is(params, CW_JSON_ARRAY) ? cw_json_first(params) : NULL; p;
         p = cw_json_next(p)) {
        if (cw_describe_text(p, "name").n)
            write_param(doc, p);
    }
    bool has_result = returns && !cw_json_is(returns, CW_JSON_NULL);
    cw_openrpc_writer_result(doc, has_result ? schema_text(doc, returns, &schema) : CW_STR(""));
    write_mark(doc, cw_describe_text(about, "permission"));
    cw_openrpc_writer_close_method(doc);
}

static void write_types_of(cw_openrpc_writer *doc, const cw_json *types)
{
    cw_json_writer *w = &doc->w;
    cw_openrpc_writer_end_methods(doc);
    cw_json_add_key(w, CW_STR("components"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("schemas"));
    cw_json_open_object(w);
    for (const cw_json *k = types ? cw_json_first(types) : NULL; k; k = cw_json_next_key(k)) {
        cw_json_add_key(w, cw_json_text(k));
        write_schema(w, cw_json_value(k));
    }
    cw_json_close(w);
    cw_json_close(w);
}

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR(INTROSPECT),
                         CW_STR("{\"getdescriptions\":true,\"getmetadata\":true}"), 0, err);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, INTROSPECT, outcome);
        return;
    }
    const cw_json *methods = cw_json_get(outcome->result, CW_STR("methods"));
    const cw_json *types = cw_json_get(outcome->result, CW_STR("types"));
    if (!cw_json_is(methods, CW_JSON_OBJECT)) {
        d->ops->fail(d, CW_PARAMS, INTROSPECT ": the answer has no methods");
        return;
    }
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, cw_describe_text(outcome->result, "version"));
    for (const cw_json *k = cw_json_first(methods); k; k = cw_json_next_key(k))
        write_method(&doc, cw_json_text(k), cw_json_value(k));
    write_types_of(&doc, cw_json_is(types, CW_JSON_OBJECT) ? types : NULL);
    cw_openrpc_writer_finish(&doc, d);
}

const cw_describer cw_describe_kodi = {
    .name = "kodi", .is_quick = true, .begin = begin, .incoming = incoming};
