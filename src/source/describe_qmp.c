/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe_qmp.c - query-qmp-schema: every command and type of QEMU's monitor, by number.
 *
 *     {"name":"eject","meta-type":"command","arg-type":"123","ret-type":"0"}
 *     {"name":"123","meta-type":"object","members":[{"name":"id","type":"str","default":null}]}
 *
 * Types become JSON Schemas, written out as deep as DEPTH; what lies deeper, and what names itself,
 * is left open. What a command returns is told by its kind alone.
 */
#include "source/describe_int.h"

#include "base/map.h"

#define DEPTH 5u
#define TYPES_MAX 20000u

typedef struct types {
    cw_map by_name; /* to cw_json */
    cw_document doc;
} types;

static const cw_json *list_of(const cw_json *object, const char *key)
{
    const cw_json *v = cw_json_get(object, cw_str_from(key));
    return cw_json_is(v, CW_JSON_ARRAY) ? cw_json_first(v) : NULL;
}

static const cw_json *find(const types *t, cw_str name)
{
    return cw_map_find(&t->by_name, name);
}

static void write_type(const types *t, cw_json_writer *w, cw_str name, unsigned depth);

static void write_builtin(cw_json_writer *w, cw_str kind)
{
    static const char *const words[] = {"string", "integer", "number", "boolean",
                                        "null",   "object",  "array"};
    cw_str word = cw_str_is(kind, "int") ? CW_STR("integer") : kind;
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        if (cw_str_is(word, words[i]))
            cw_json_add_string_member(w, CW_STR("type"), word);
    }
}

static void write_object(const types *t, cw_json_writer *w, const cw_json *type, unsigned depth)
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    if (depth == 0)
        return;
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    for (const cw_json *m = list_of(type, "members"); m; m = cw_json_next(m)) {
        cw_json_add_key(w, cw_describe_text(m, "name"));
        write_type(t, w, cw_describe_text(m, "type"), depth - 1);
    }
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("required"));
    cw_json_open_array(w);
    for (const cw_json *m = list_of(type, "members"); m; m = cw_json_next(m)) {
        if (!cw_json_get(m, CW_STR("default")))
            cw_json_add_string(w, cw_describe_text(m, "name"));
    }
    cw_json_close(w);
}

/* One of several types. */
static void write_alternate(const types *t, cw_json_writer *w, const cw_json *type, unsigned depth)
{
    if (depth == 0)
        return;
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    for (const cw_json *m = list_of(type, "members"); m; m = cw_json_next(m))
        write_type(t, w, cw_describe_text(m, "type"), depth - 1);
    cw_json_close(w);
}

static void write_type(const types *t, cw_json_writer *w, cw_str name, unsigned depth)
{
    const cw_json *type = find(t, name);
    cw_str kind = cw_describe_text(type, "meta-type");
    cw_json_open_object(w);
    if (cw_str_is(kind, "builtin")) {
        write_builtin(w, cw_describe_text(type, "json-type"));
    } else if (cw_str_is(kind, "enum")) {
        const cw_json *values = cw_json_get(type, CW_STR("values"));
        if (cw_json_is(values, CW_JSON_ARRAY)) {
            cw_json_add_key(w, CW_STR("enum"));
            cw_json_add_value(w, values);
        }
    } else if (cw_str_is(kind, "array")) {
        cw_json_add_string_member(w, CW_STR("type"), CW_STR("array"));
        if (depth) {
            cw_json_add_key(w, CW_STR("items"));
            write_type(t, w, cw_describe_text(type, "element-type"), depth - 1);
        }
    } else if (cw_str_is(kind, "object")) {
        write_object(t, w, type, depth);
    } else if (cw_str_is(kind, "alternate")) {
        write_alternate(t, w, type, depth);
    }
    cw_json_close(w);
}

static void write_param(types *t, const cw_json *member)
{
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &schema, CW_JSON_COMPACT);
    write_type(t, &w, cw_describe_text(member, "type"), DEPTH);
    if (schema.code)
        t->doc.text.code = schema.code;
    cw_document_param(
        &t->doc, &(cw_document_param_opts){.name = cw_describe_text(member, "name"),
                                           .schema = cw_buf_str(&schema),
                                           .required = !cw_json_get(member, CW_STR("default"))});
}

/* A union has other members for each value of its tag, which params cannot say. */
static bool has_variants(const types *t, const cw_json *args)
{
    for (const cw_json *v = list_of(args, "variants"); v; v = cw_json_next(v)) {
        if (list_of(find(t, cw_describe_text(v, "type")), "members"))
            return true;
    }
    return false;
}

static void write_command(types *t, const cw_json *command)
{
    const cw_json *args = find(t, cw_describe_text(command, "arg-type"));
    const cw_json *result = find(t, cw_describe_text(command, "ret-type"));
    cw_str name = cw_describe_text(command, "name");
    cw_document_method(&t->doc, name, CW_STR(""));
    if (has_variants(t, args)) {
        cw_document_any_params(&t->doc);
    } else {
        for (const cw_json *m = list_of(args, "members"); m; m = cw_json_next(m))
            write_param(t, m);
    }
    cw_str kind = cw_describe_text(result, "meta-type");
    if (cw_str_is(kind, "object"))
        cw_document_result(&t->doc, CW_STR("{\"type\":\"object\"}"));
    else if (cw_str_is(kind, "array"))
        cw_document_result(&t->doc, CW_STR("{\"type\":\"array\"}"));
    if (cw_str_starts(name, CW_STR("query-")))
        cw_document_member(&t->doc, "x-mcp-tool",
                           CW_STR("{\"annotations\":{\"readOnlyHint\":true}}"));
    cw_document_close_method(&t->doc);
}

static cw_code begin(cw_describing *d, cw_err *err)
{
    return d->ops->ask(d, CW_STR("query-qmp-schema"), CW_STR(""), 0, err);
}

static void write_all(cw_describing *d, types *t, const cw_json *list)
{
    cw_document_open(&t->doc, d->service, CW_STR(""));
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_str_is(cw_describe_text(v, "meta-type"), "command"))
            write_command(t, v);
    }
    cw_document_finish(&t->doc, d);
}

static void heard(cw_describing *d, unsigned tag, const cw_outcome *outcome)
{
    (void)tag;
    if (outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, "query-qmp-schema", outcome);
        return;
    }
    const cw_json *list = outcome->result;
    if (!cw_json_is(list, CW_JSON_ARRAY)) {
        d->ops->fail(d, CW_PARAMS, "query-qmp-schema: expected a list");
        return;
    }
    types t;
    cw_map_init(&t.by_name, TYPES_MAX);
    cw_code rc = CW_OK;
    for (const cw_json *v = cw_json_first(list); v && !rc; v = cw_json_next(v)) {
        if (!cw_str_is(cw_describe_text(v, "meta-type"), "command"))
            rc = cw_map_put(&t.by_name, cw_describe_text(v, "name"), (void *)(uintptr_t)v, NULL);
    }
    if (rc)
        d->ops->fail(d, rc, cw_code_text(rc));
    else
        write_all(d, &t, list);
    cw_map_done(&t.by_name);
}

const cw_describer cw_describe_qmp = {.name = "qmp", .begin = begin, .heard = heard};
