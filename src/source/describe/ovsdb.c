/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ovsdb.c - a database server (RFC 7047): its methods are those of the RFC, its databases
 * and tables are requested and become the values that params may have.
 *
 *     list_dbs ─► get_schema of each
 */
#include "source/describe/describe_ctx.h"

#include "base/map.h"

#define MAX_DBS 32u

typedef struct databases {
    const cw_json *names;
    const cw_json *schemas[MAX_DBS];
    size_t n, n_open;
} databases;

static cw_code begin(cw_describe_ctx *d, cw_err *err)
{
    d->state = cw_arena_calloc(d->arena, 1, sizeof(databases));
    if (!d->state)
        return cw_arena_fail(d->arena, err);
    return d->ops->query(d, CW_STR("list_dbs"), CW_STR("[]"), 0, err);
}

/* {"type":"string","enum":[…]} of the databases. */
static void write_names(cw_json_writer *w, const databases *all)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("string"));
    cw_json_add_key(w, CW_STR("enum"));
    cw_json_add_value(w, all->names);
    cw_json_close(w);
}

/* Every table once. There may be many, so a map has the names that are written. */
static void write_tables(cw_json_writer *w, const databases *all)
{
    cw_map seen;
    cw_map_init(&seen, SIZE_MAX);
    cw_json_open_array(w);
    for (size_t i = 0; i < all->n; i++) {
        const cw_json *tables = cw_json_get(all->schemas[i], CW_STR("tables"));
        bool is_object = cw_json_is(tables, CW_JSON_OBJECT);
        for (const cw_json *k = is_object ? cw_json_first(tables) : NULL; k && !w->out->code;
             k = cw_json_next_key(k)) {
            void *other = NULL;
            if (cw_map_put(&seen, cw_json_text(k), (void *)(uintptr_t)k, &other))
                w->out->code = CW_NOMEM;
            else if (!other)
                cw_json_add_string(w, cw_json_text(k));
        }
    }
    cw_json_close(w);
    cw_map_done(&seen);
}

/* One operation of a transaction: its kind and its table. Other members may be anything. */
static void write_operation(cw_json_writer *w, const databases *all)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(w, CW_STR("required"));
    cw_json_add_span(w, CW_STR("[\"op\"]"));
    cw_json_add_key(w, CW_STR("properties"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("op"));
    cw_json_add_span(w, CW_STR("{\"enum\":[\"select\",\"insert\",\"update\",\"mutate\",\"delete\","
                               "\"wait\",\"commit\",\"abort\",\"comment\",\"assert\"]}"));
    cw_json_add_key(w, CW_STR("table"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("enum"));
    write_tables(w, all);
    cw_json_close(w);
    static const char *const free_members[] = {"where", "columns", "row", "mutations"};
    static const char *const types[] = {"array", "array", "object", "array"};
    for (size_t i = 0; i < CW_COUNT(free_members); i++) {
        cw_json_add_key(w, cw_str_from(free_members[i]));
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("type"), cw_str_from(types[i]));
        cw_json_close(w);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void add_param(cw_openrpc_writer *doc, const databases *all, const char *name,
                      void (*write)(cw_json_writer *, const databases *))
{
    CW_CLEANUP(cw_buf_done) cw_buf schema;
    cw_buf_init(&schema, CW_DESCRIBE_DOCUMENT_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &schema, CW_JSON_COMPACT);
    write(&w, all);
    if (schema.code)
        doc->text.code = schema.code;
    cw_openrpc_writer_param(doc, &(cw_openrpc_writer_param_opts){.name = cw_str_from(name),
                                                                 .schema = cw_buf_str(&schema),
                                                                 .required = true});
}

static void finish(cw_describe_ctx *d, const databases *all)
{
    static const cw_str reads = CW_STR_INIT("{\"annotations\":{\"readOnlyHint\":true}}");
    cw_openrpc_writer doc;
    cw_openrpc_writer_open(&doc, d->service, CW_STR(""));
    cw_openrpc_writer_method(&doc, CW_STR("list_dbs"), CW_STR("Names of the databases"));
    cw_openrpc_writer_result(&doc, CW_STR("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"));
    cw_openrpc_writer_member(&doc, "x-mcp-tool", reads);
    cw_openrpc_writer_close_method(&doc);
    cw_openrpc_writer_method(&doc, CW_STR("get_schema"),
                             CW_STR("Tables and columns of a database"));
    add_param(&doc, all, "db_name", write_names);
    cw_openrpc_writer_result(&doc, CW_STR("{\"type\":\"object\"}"));
    cw_openrpc_writer_member(&doc, "x-mcp-tool", reads);
    cw_openrpc_writer_close_method(&doc);
    cw_openrpc_writer_method(
        &doc, CW_STR("transact"),
        CW_STR("One operation on a table, as RFC 7047, 5.2, has them: select with "
               "where and columns, insert with row, update, mutate, delete"));
    add_param(&doc, all, "db_name", write_names);
    add_param(&doc, all, "operation", write_operation);
    cw_openrpc_writer_result(&doc, CW_STR("{\"type\":\"array\"}"));
    cw_openrpc_writer_member(&doc, "x-mcp-tool",
                             CW_STR("{\"annotations\":{\"destructiveHint\":true}}"));
    cw_openrpc_writer_close_method(&doc);
    cw_openrpc_writer_method(&doc, CW_STR("echo"), CW_STR("Gives back what it got"));
    cw_openrpc_writer_any_params(&doc);
    cw_openrpc_writer_member(&doc, "x-mcp-tool", reads);
    cw_openrpc_writer_close_method(&doc);
    cw_openrpc_writer_finish(&doc, d);
}

static void on_names(cw_describe_ctx *d, databases *all, const cw_json *names)
{
    cw_err err = {0};
    cw_code rc = cw_json_is(names, CW_JSON_ARRAY)
                     ? CW_OK
                     : cw_fail(&err, CW_PARAMS, "list_dbs: expected a list of names");
    all->names = names;
    for (const cw_json *v = rc ? NULL : cw_json_first(names); v && all->n < MAX_DBS && !rc;
         v = cw_json_next(v)) {
        CW_CLEANUP(cw_buf_done) cw_buf params;
        cw_buf_init(&params, 65536);
        cw_buf_add_char(&params, '[');
        cw_buf_add(&params, cw_json_span(v));
        cw_buf_add_char(&params, ']');
        rc = params.code ? cw_fail_nomem(&err)
                         : d->ops->query(d, CW_STR("get_schema"), cw_buf_str(&params),
                                         (unsigned)++all->n, &err);
        all->n_open = all->n;
    }
    if (rc)
        d->ops->fail(d, rc, err.msg);
    else if (all->n == 0)
        finish(d, all);
}

static void incoming(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome)
{
    databases *all = d->state;
    if (tag == 0 && outcome->kind != CW_OUTCOME_RESULT) {
        cw_describe_refused(d, "list_dbs", outcome);
        return;
    }
    if (tag == 0) {
        on_names(d, all, outcome->result);
        return;
    }
    if (outcome->kind == CW_OUTCOME_RESULT)
        all->schemas[tag - 1] = outcome->result;
    else
        d->ops->warn(d, "get_schema: the tables of a database are unknown");
    if (--all->n_open == 0)
        finish(d, all);
}

const cw_describer cw_describe_ovsdb = {.name = "ovsdb", .begin = begin, .incoming = incoming};
