/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qmp.c - query-qmp-schema: every command and type of QEMU's monitor, by number.
 *
 *     {"name":"eject","meta-type":"command","arg-type":"123","ret-type":"0"}
 *     {"name":"123","meta-type":"object","members":[{"name":"id","type":"str","default":null}]}
 *
 * Types become JSON Schemas, written out as deep as DEPTH. Deeper parts accept anything, so a type
 * may refer to itself. Only the kind of a result is described.
 *
 * A type that has many members of types that have many is a few lines there and gigabytes written
 * out. So writing has a price, a command and all of them together have a budget, and a param that
 * is beyond it accepts anything.
 */
#include "source/describe/describe_ctx.h"

#include <stdio.h>

#include "base/map.h"
#include "source/openrpc/openrpc.h"

#define DEPTH 5u
#define TYPES_MAX 20000u
/* Maximum of entries that are read for one command, and for all of them. The largest command of
 * QEMU 7.2 needs 431, all of them need 5,742. */
#define COMMAND_MAX 100000u
#define ALL_MAX 4000000u
#define LOOKED_PER_ENTRY 8u /* members that are compared with a name at the price of an entry */
#define SCHEMA_MAX ((size_t)1 << 20)                /* bytes of one param */
#define TEXT_MAX (CW_DESCRIBE_DOCUMENT_MAX / 4 * 3) /* with room for params that accept anything */

typedef struct types {
    cw_map by_name; /* to cw_json */
    cw_openrpc_writer doc;
    size_t left, left_of_all; /* of the command's budget, and of all of them */
    bool is_cut;              /* the param that is being written is beyond it */
    cw_str first_cut;         /* the first command with such a param */
    size_t n_cut;
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

/* Subtract a price from the budgets. False: nothing is left, or no room. The caller then stops. */
static bool pay(types *t, const cw_json_writer *w, size_t price)
{
    t->is_cut = t->is_cut || w->code || t->doc.text.n > TEXT_MAX || price > t->left ||
                price > t->left_of_all;
    if (t->is_cut)
        return false;
    t->left -= price;
    t->left_of_all -= price;
    return true;
}

/* The price grows with the members, which are searched one by one. */
static size_t price_of(const cw_json *object)
{
    return 1 + (object ? cw_json_count(object) : 0);
}

static void write_type(types *t, cw_json_writer *w, cw_str name, unsigned depth);

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

/* Whether an earlier member has the name of `member`: the first one counts. */
static bool is_repeated(const cw_json *first, const cw_json *member)
{
    cw_str name = cw_describe_text(member, "name");
    for (const cw_json *m = first; m != member; m = cw_json_next(m)) {
        if (cw_str_eq(cw_describe_text(m, "name"), name))
            return true;
    }
    return false;
}

static void write_object(types *t, cw_json_writer *w, const cw_json *type, unsigned depth)
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    if (depth == 0)
        return;
    const cw_json *first = list_of(type, "members");
    size_t before = 0;
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    for (const cw_json *m = first; m && pay(t, w, price_of(m) + before / LOOKED_PER_ENTRY);
         m = cw_json_next(m), before++) {
        if (is_repeated(first, m))
            continue;
        cw_json_add_key(w, cw_describe_text(m, "name"));
        write_type(t, w, cw_describe_text(m, "type"), depth - 1);
    }
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("required"));
    cw_json_open_array(w);
    for (const cw_json *m = first; m && !t->is_cut; m = cw_json_next(m)) {
        if (!is_repeated(first, m) && !cw_json_get(m, CW_STR("default")))
            cw_json_add_string(w, cw_describe_text(m, "name"));
    }
    cw_json_close(w);
}

/* One of several types. */
static void write_alternate(types *t, cw_json_writer *w, const cw_json *type, unsigned depth)
{
    if (depth == 0)
        return;
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    for (const cw_json *m = list_of(type, "members"); m && pay(t, w, price_of(m));
         m = cw_json_next(m))
        write_type(t, w, cw_describe_text(m, "type"), depth - 1);
    cw_json_close(w);
}

static void write_enum(types *t, cw_json_writer *w, const cw_json *values)
{
    if (!cw_json_is(values, CW_JSON_ARRAY))
        return;
    if (!pay(t, w, (size_t)(cw_json_after(values) - values)))
        return;
    cw_json_add_key(w, CW_STR("enum"));
    cw_json_add_value(w, values);
}

static void write_type(types *t, cw_json_writer *w, cw_str name, unsigned depth)
{
    const cw_json *type = find(t, name);
    if (!pay(t, w, price_of(type))) {
        cw_json_add_bool(w, true);
        return;
    }
    cw_str kind = cw_describe_text(type, "meta-type");
    cw_json_open_object(w);
    if (cw_str_is(kind, "builtin")) {
        write_builtin(w, cw_describe_text(type, "json-type"));
    } else if (cw_str_is(kind, "enum")) {
        write_enum(t, w, cw_json_get(type, CW_STR("values")));
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

/* False: the param accepts anything, because its type is beyond the budget. */
static bool write_param(types *t, const cw_json *member)
{
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, SCHEMA_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &schema, CW_JSON_COMPACT);
    t->is_cut = false;
    write_type(t, &w, cw_describe_text(member, "type"), DEPTH);
    bool is_cut = t->is_cut || schema.code;
    if (schema.code == CW_NOMEM)
        t->doc.text.code = CW_NOMEM;
    cw_openrpc_writer_param(&t->doc, &(cw_openrpc_writer_param_opts){
                                         .name = cw_describe_text(member, "name"),
                                         .schema = is_cut ? CW_STR("") : cw_buf_str(&schema),
                                         .required = !cw_json_get(member, CW_STR("default"))});
    return !is_cut;
}

/* A union has other members for each value of its tag, which params cannot express. */
static bool has_variants(types *t, const cw_json *args)
{
    for (const cw_json *v = list_of(args, "variants"); v; v = cw_json_next(v)) {
        const cw_json *type = find(t, cw_describe_text(v, "type"));
        if (!pay(t, &t->doc.w, price_of(v) + price_of(type)) || list_of(type, "members"))
            return true;
    }
    return false;
}

/* False: some or all params accept anything, because of the budgets. */
static bool write_params(types *t, const cw_json *args)
{
    const cw_json *members = cw_json_get(args, CW_STR("members"));
    bool is_list = cw_json_is(members, CW_JSON_ARRAY), is_whole = true;
    bool is_long = is_list && cw_json_count(members) > CW_OPENRPC_MAX_PARAMS;
    t->left = COMMAND_MAX;
    t->is_cut = false;
    /* A param that is not described would be rejected, so all are described, or none. */
    bool is_any = is_long || has_variants(t, args) ||
                  (is_list && !pay(t, &t->doc.w, (size_t)(cw_json_after(members) - members)));
    if (is_any) {
        cw_openrpc_writer_any_params(&t->doc);
        return !is_long && !t->is_cut;
    }
    const cw_json *first = is_list ? cw_json_first(members) : NULL;
    for (const cw_json *m = first; m; m = cw_json_next(m)) {
        if (!is_repeated(first, m))
            is_whole = write_param(t, m) && is_whole;
    }
    return is_whole;
}

static void write_command(types *t, const cw_json *command)
{
    const cw_json *args = find(t, cw_describe_text(command, "arg-type"));
    const cw_json *result = find(t, cw_describe_text(command, "ret-type"));
    cw_str name = cw_describe_text(command, "name");
    cw_openrpc_writer_method(&t->doc, name, CW_STR(""));
    if (!write_params(t, args) && t->n_cut++ == 0)
        t->first_cut = name;
    cw_str kind = cw_describe_text(result, "meta-type");
    if (cw_str_is(kind, "object"))
        cw_openrpc_writer_result(&t->doc, CW_STR("{\"type\":\"object\"}"));
    else if (cw_str_is(kind, "array"))
        cw_openrpc_writer_result(&t->doc, CW_STR("{\"type\":\"array\"}"));
    if (cw_str_starts(name, CW_STR("query-")))
        cw_openrpc_writer_member(&t->doc, "x-mcp-tool",
                                 CW_STR("{\"annotations\":{\"readOnlyHint\":true}}"));
    cw_openrpc_writer_close_method(&t->doc);
}

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    return d->ops->query(d, CW_STR("query-qmp-schema"), CW_STR(""), 0, err);
}

static void write_all(cw_describe_ctx *d, types *t, const cw_json *list)
{
    t->left_of_all = ALL_MAX;
    cw_openrpc_writer_open(&t->doc, d->service, CW_STR(""));
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v)) {
        if (cw_str_is(cw_describe_text(v, "meta-type"), "command"))
            write_command(t, v);
    }
    if (t->n_cut) {
        char text[300];
        snprintf(text, sizeof text,
                 "query-qmp-schema: params of %zu commands are too large to be written out and "
                 "accept anything; the first is '%.*s'",
                 t->n_cut, CW_STR_ARG(t->first_cut));
        d->ops->warn(d, text);
    }
    cw_openrpc_writer_finish(&t->doc, d);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
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
    types t = {0};
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

const cw_describer cw_describe_qmp = {.name = "qmp", .begin = begin, .incoming = incoming};
