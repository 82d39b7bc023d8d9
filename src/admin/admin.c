/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin.c - the tables of methods, their description, and their results. */
#include "admin/admin.h"

#include <unistd.h>

#include "access/credentials.h"
#include "admin/access.h"
#include "config/syntax/check.h"
#include "config/syntax/quote.h"

#define RPC_PARAMS (-32602)
#define RPC_INTERNAL (-32603)

const cw_admin_method *const cw_admin_tables[] = {
    cw_admin_access_methods,  cw_admin_accounts_methods, cw_admin_audit_methods,
    cw_admin_keys_methods,    cw_admin_oauth_methods,    cw_admin_replicas_methods,
    cw_admin_roles_methods,   cw_admin_server_methods,   cw_admin_sessions_methods,
    cw_admin_sources_methods, cw_admin_stats_methods,    cw_admin_tasks_methods,
    cw_admin_tokens_methods,  cw_admin_tools_methods,    NULL,
};

const cw_admin_method *cw_admin_find(cw_str name)
{
    for (size_t i = 0; cw_admin_tables[i]; i++) {
        for (const cw_admin_method *m = cw_admin_tables[i]; m->name; m++) {
            if (cw_str_is(name, m->name))
                return m;
        }
    }
    return NULL;
}

/* ---- description ---- */

static bool is_in(const cw_config_strings *list, const char *name)
{
    for (size_t i = 0; list && i < list->n; i++) {
        if (cw_str_is(list->items[i], name))
            return true;
    }
    return false;
}

static void describe_access(cw_json_writer *w, const cw_admin_method *m)
{
    cw_json_add_key(w, CW_STR("x-access"));
    cw_json_open_object(w);
    cw_json_add_key(w, CW_STR("permissions"));
    cw_json_open_array(w);
    cw_json_add_string(w, cw_str_from(m->permission));
    cw_json_close(w);
    cw_json_close(w);
}

static void describe_mark(cw_json_writer *w, const cw_admin_method *m)
{
    cw_json_add_key(w, CW_STR("x-mcp-tool"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("title"), cw_str_from(m->about));
    cw_json_add_key(w, CW_STR("annotations"));
    cw_json_add_span(w, CW_STR("{\"readOnlyHint\":true,\"openWorldHint\":false}"));
    cw_json_close(w);
}

/* Every result has the member `server`. */
static void describe_result(cw_json_writer *w, const cw_admin_method *m, cw_buf *out)
{
    cw_json_add_key(w, CW_STR("result"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), CW_STR("result"));
    cw_json_add_key(w, CW_STR("schema"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(w, CW_STR("properties"));
    /* The members of m->result, then one more. */
    cw_str members = cw_str_from(m->result);
    cw_json_add_span(w, cw_str_make(members.p, members.n - 1));
    cw_buf_printf(out, "%s\"server\":{\"type\":\"object\"}}", members.n > 2 ? "," : "");
    cw_json_close(w);
    cw_json_close(w);
}

static void describe_method(cw_json_writer *w, const cw_admin_method *m, bool is_tool, cw_buf *out)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("name"), cw_str_from(m->name));
    cw_json_add_string_member(w, CW_STR("description"), cw_str_from(m->about));
    cw_json_add_key(w, CW_STR("params"));
    cw_json_add_span(w, cw_str_from(m->params));
    describe_result(w, m, out);
    describe_access(w, m);
    if (is_tool)
        describe_mark(w, m);
    cw_json_close(w);
}

cw_code cw_admin_describe(const cw_config_strings *tools, bool has_console, cw_buf *out)
{
    cw_json_writer w;
    cw_json_writer_init(&w, out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("openrpc"), CW_STR("1.3.2"));
    cw_json_add_key(&w, CW_STR("info"));
    cw_json_add_span(
        &w, CW_STR("{\"title\":\"Causeway administration\",\"version\":\"" CW_VERSION "\"}"));
    cw_json_add_key(&w, CW_STR("methods"));
    cw_json_open_array(&w);
    for (size_t i = 0; cw_admin_tables[i]; i++) {
        for (const cw_admin_method *m = cw_admin_tables[i]; m->name; m++) {
            if (has_console || !(m->flags & CW_ADMIN_CONSOLE))
                describe_method(&w, m, is_in(tools, m->name) && !(m->flags & CW_ADMIN_CHANGES),
                                out);
        }
    }
    cw_json_close(&w);
    cw_json_close(&w);
    return cw_json_writer_end(&w, NULL);
}

/* ---- results ---- */

void cw_admin_open_result(cw_admin_call *c, cw_json_writer *w, cw_buf *buf)
{
    cw_buf_init(buf, CW_ADMIN_RESULT_MAX);
    cw_json_writer_init(w, buf, CW_JSON_COMPACT);
    cw_json_open_object(w);
    c->out = w;
}

static void add_server(cw_json_writer *w, const cw_admin_identity *identity)
{
    cw_json_add_key(w, CW_STR("server"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("version"), CW_STR(CW_VERSION));
    cw_json_add_i64_member(w, CW_STR("pid"), getpid());
    if (identity->started)
        cw_json_add_i64_member(w, CW_STR("started"), identity->started);
    cw_json_close(w);
}

cw_code cw_admin_close_result(cw_admin_call *c, const cw_admin_identity *identity, cw_code rc,
                              const cw_json **ret, cw_err *err)
{
    cw_buf *buf = c->out->out;
    if (rc == CW_DONE)
        rc = CW_OK;
    if (rc)
        return rc;
    add_server(c->out, identity);
    cw_json_close(c->out);
    rc = cw_json_writer_end(c->out, err);
    if (rc)
        return rc;
    cw_str text = cw_arena_dup_str(c->arena, cw_buf_str(buf));
    if (!text.p)
        return cw_arena_fail(c->arena, err);
    cw_json_opts opts = {.max_bytes = CW_ADMIN_RESULT_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    return cw_json_read(text, &opts, c->arena, ret, NULL, err);
}

bool cw_admin_uses_store(const cw_admin_call *c)
{
    return c->method->place == CW_ADMIN_STORE &&
           (!(c->method->flags & CW_ADMIN_STORE_FOR_CALLER) || cw_admin_names_caller(c));
}

int64_t cw_admin_error_code(cw_code rc)
{
    switch (rc) {
    case CW_PARAMS:
    case CW_PARSE:
    case CW_CONFIG:
        return RPC_PARAMS;
    case CW_NOTFOUND:
        return CW_ADMIN_ERROR_NOT_FOUND;
    case CW_INVALID:
        return CW_ADMIN_ERROR_CONFLICT;
    case CW_IO:
    case CW_TIMEOUT:
    case CW_LIMIT:
    case CW_GONE:
        return CW_ADMIN_ERROR_UNAVAILABLE;
    case CW_OK:
    case CW_AGAIN:
    case CW_DONE:
    case CW_DECLINED:
    case CW_NOMEM:
    case CW_INTERNAL:
        break;
    }
    return RPC_INTERNAL;
}

cw_code cw_admin_error_meaning(int64_t code)
{
    switch (code) {
    case RPC_PARAMS:
        return CW_PARAMS;
    case CW_ADMIN_ERROR_NOT_FOUND:
        return CW_NOTFOUND;
    case CW_ADMIN_ERROR_CONFLICT:
    case CW_ADMIN_ERROR_OLD_LOGIN:
        return CW_INVALID;
    case CW_ADMIN_ERROR_UNAVAILABLE:
        return CW_IO;
    default:
        return CW_INTERNAL;
    }
}

/* ---- params ---- */

cw_str cw_admin_text(const cw_admin_call *c, const char *name)
{
    const cw_json *v = cw_json_get(c->params, cw_str_from(name));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

int64_t cw_admin_number(const cw_admin_call *c, const char *name, int64_t absent)
{
    int64_t value;
    const cw_json *v = cw_json_get(c->params, cw_str_from(name));
    return v && cw_json_to_i64(v, &value) ? value : absent;
}

bool cw_admin_flag(const cw_admin_call *c, const char *name)
{
    return cw_json_is(cw_json_get(c->params, cw_str_from(name)), CW_JSON_TRUE);
}

cw_code cw_admin_add_text(cw_str text, void *writer, cw_err *err)
{
    (void)err;
    cw_json_add_string(writer, text);
    return CW_OK;
}

cw_code cw_admin_texts(const cw_admin_call *c, const char *name, cw_str **ret, size_t *ret_n,
                       cw_err *err)
{
    const cw_json *list = cw_json_get(c->params, cw_str_from(name));
    size_t n = list ? cw_json_count(list) : 0;
    *ret_n = 0;
    *ret = cw_arena_calloc(c->arena, n + 1, sizeof **ret);
    if (!*ret)
        return cw_arena_fail(c->arena, err);
    for (const cw_json *v = n ? cw_json_first(list) : NULL; v; v = cw_json_next(v))
        (*ret)[(*ret_n)++] = cw_json_text(v);
    return CW_OK;
}

bool cw_admin_is_named(const cw_json *names, cw_str name)
{
    bool is_all = !names || !cw_json_count(names);
    for (const cw_json *n = is_all ? NULL : cw_json_first(names); n; n = cw_json_next(n)) {
        if (cw_str_eq(cw_json_text(n), name))
            return true;
    }
    return is_all;
}

cw_code cw_admin_check_name(const char *what, cw_str name, cw_err *err)
{
    char excerpt[CW_EXCERPT_SIZE];
    if (name.n <= CW_DB_MAX_NAME && cw_check_is_clean(name))
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "not the name of a %s: %s; it has 1 to %u bytes and no control characters", what,
                   cw_excerpt(name, excerpt), CW_DB_MAX_NAME);
}

cw_code cw_admin_check_account_name(cw_str name, cw_err *err)
{
    char excerpt[CW_EXCERPT_SIZE];
    if (cw_account_name_is_valid(name))
        return CW_OK;
    return cw_fail(err, CW_PARAMS,
                   "not the name of an account: %s; it has 1 to %u bytes, no control characters "
                   "and no colon, and is not \"anonymous\"",
                   cw_excerpt(name, excerpt), CW_DB_MAX_NAME);
}

cw_code cw_admin_account_id(const cw_admin_call *c, const char *name, int64_t *ret, cw_err *err)
{
    cw_account *account = NULL;
    cw_str text = cw_admin_text(c, name);
    *ret = 0;
    if (!cw_json_get(c->params, cw_str_from(name)))
        return CW_OK;
    cw_code rc = cw_db_find_account(c->db, text, c->arena, &account, err);
    if (rc)
        return rc;
    if (!account)
        return cw_fail(err, CW_NOTFOUND, "no account '%.*s'", CW_STR_ARG(text));
    *ret = account->id;
    return CW_OK;
}

cw_code cw_admin_end_change(const cw_admin_call *c, cw_code rc)
{
    cw_json_add_bool_member(c->out, CW_STR("changed"), rc != CW_DONE);
    return rc;
}

void cw_admin_add_date_member(cw_json_writer *w, const char *name, int64_t wall_ms)
{
    cw_json_add_key(w, cw_str_from(name));
    if (wall_ms)
        cw_json_add_i64(w, wall_ms);
    else
        cw_json_add_null(w);
}
