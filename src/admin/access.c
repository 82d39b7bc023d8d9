/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access.c - methods about access: one decision in detail, and the matrix of all decisions. */
#include "admin/access.h"

#include "access/rights.h"
#include "admin/callers.h"
#include "catalogue/tool/portable_name.h"
#include "source/source.h"

#define ROWS_MAX 1000u                         /* of one matrix */
#define MATRIX_BYTES (CW_ADMIN_RESULT_MAX / 2) /* further rows are left for another call */

const cw_entry *cw_admin_find_entry(const cw_snapshot *snapshot, cw_str name)
{
    const cw_portable_tool *one = NULL;
    const cw_entry *entry = snapshot ? cw_snapshot_find_tool(snapshot, name) : NULL;
    if (!entry && snapshot)
        entry = cw_snapshot_find_method(snapshot, name);
    if (!entry && snapshot && cw_snapshot_portable_names(snapshot))
        one = cw_portable_names_find(cw_snapshot_portable_names(snapshot), name);
    return one ? one->tool : entry;
}

/* ---- why ---- */

typedef struct rules_writer {
    cw_gate_trace trace;
    cw_json_writer *out;
    const char *rule; /* instead of the gate's name for it, or NULL */
} rules_writer;

static void on_step(cw_gate_trace *trace, const char *rule, cw_str what, bool passes)
{
    rules_writer *r = CW_CONTAINER(trace, rules_writer, trace);
    cw_json_open_object(r->out);
    cw_json_add_string_member(r->out, CW_STR("rule"), cw_str_from(r->rule ? r->rule : rule));
    cw_json_add_string_member(r->out, CW_STR("what"), what);
    cw_json_add_bool_member(r->out, CW_STR("passes"), passes);
    cw_json_close(r->out);
}

cw_str cw_admin_verdict_name(cw_verdict verdict)
{
    static const char *const names[] = {"allowed", "hidden", "login", "forbidden", "scopes"};
    return cw_str_from(names[verdict]);
}

static const char *credentials_of(const cw_caller *caller)
{
    if (cw_caller_is_anonymous(caller))
        return "none";
    return cw_caller_has_token(caller) ? "token" : "password";
}

static void begin(cw_json_writer *out, const cw_entry *entry, const cw_caller *caller)
{
    cw_str name = entry->tool_name.n ? entry->tool_name : entry->method->id;
    cw_json_add_string_member(out, CW_STR("tool"), name);
    cw_json_add_string_member(out, CW_STR("method"), entry->method->id);
    cw_json_add_string_member(out, CW_STR("source"), entry->method->source->name);
    cw_json_add_string_member(out, CW_STR("caller"), cw_caller_name(caller));
    cw_json_add_string_member(out, CW_STR("credentials"), cw_str_from(credentials_of(caller)));
    cw_json_add_key(out, CW_STR("rules"));
    cw_json_open_array(out);
}

/* In the order of the one path: calling at all, then this method. */
cw_code cw_admin_explain(const cw_snapshot *snapshot, const cw_caller *caller, cw_str tool,
                         cw_json_writer *out, cw_err *err)
{
    const cw_entry *entry = cw_admin_find_entry(snapshot, tool);
    if (!entry)
        return cw_fail(err, CW_NOTFOUND, "no loaded source has a tool or method '%.*s'",
                       CW_STR_ARG(tool));
    rules_writer r = {.trace = {on_step}, .out = out, .rule = "discover"};
    begin(out, entry, caller);
    cw_verdict discover = cw_gate_explain_permission(caller, CW_PERMISSION_DISCOVER, &r.trace);
    r.rule = "call";
    cw_verdict verdict = cw_gate_explain_permission(caller, CW_PERMISSION_CALL, &r.trace);
    r.rule = NULL;
    cw_verdict own = cw_gate_explain(caller, &entry->method->needs, &r.trace);
    bool is_offered = entry->tool_name.n || entry->method->is_callable;
    if (!is_offered)
        on_step(&r.trace, "marked", CW_STR("it is neither a tool nor callable on /jsonrpc"), false);
    cw_json_close(out);
    bool is_listed = discover == CW_VERDICT_ALLOW && own != CW_VERDICT_HIDDEN && entry->tool_name.n;
    if (verdict == CW_VERDICT_ALLOW)
        verdict = own == CW_VERDICT_ALLOW && !is_offered ? CW_VERDICT_HIDDEN : own;
    cw_json_add_string_member(out, CW_STR("list"),
                              is_listed ? CW_STR("shown") : CW_STR("not shown"));
    cw_json_add_string_member(out, CW_STR("call"), cw_admin_verdict_name(verdict));
    return CW_OK;
}

/* ---- the callers that a question can name ---- */

static cw_code fail_account(cw_str name, cw_err *err)
{
    return cw_fail(err, CW_NOTFOUND, "there is no account '%.*s', or it is blocked",
                   CW_STR_ARG(name));
}

static cw_code fail_store(const cw_admin_call *c, cw_err *err)
{
    cw_str where = cw_config_store(c->config);
    if (where.n)
        return cw_fail(err, CW_NOTFOUND, "database '%s' does not exist", where.p);
    return cw_fail(err, CW_CONFIG, "no database: set store.path in the configuration");
}

/* An account that can log in, in the arena of the call. */
static cw_code find_account(const cw_admin_call *c, cw_str name, cw_account **ret, cw_err *err)
{
    if (!c->db)
        return fail_store(c, err);
    cw_code rc = cw_db_find_account(c->db, name, c->arena, ret, err);
    if (rc)
        return rc;
    return !*ret || (*ret)->is_blocked ? fail_account(name, err) : CW_OK;
}

typedef struct token_search {
    int64_t id;
    cw_arena *arena;
    cw_token token; /* id 0: not found */
} token_search;

static cw_code on_token(const cw_token *token, void *ctx, cw_err *err)
{
    token_search *s = ctx;
    if (token->id != s->id)
        return CW_OK;
    s->token = *token;
    s->token.account_name = cw_arena_dup_str(s->arena, token->account_name);
    return s->token.account_name.p ? CW_DONE : cw_arena_fail(s->arena, err);
}

static cw_code caller_of_token(const cw_admin_callers *of, int64_t id, cw_caller **ret, cw_err *err)
{
    const cw_admin_call *c = of->c;
    token_search s = {.id = id, .arena = c->arena};
    cw_account *account = NULL;
    cw_code rc = c->db ? cw_db_each_token(c->db, 0, on_token, &s, err) : fail_store(c, err);
    if (rc && rc != CW_DONE)
        return rc;
    if (!s.token.id || s.token.revoked)
        return cw_fail(err, CW_NOTFOUND, "there is no token %lld, or it is revoked", (long long)id);
    rc = find_account(c, s.token.account_name, &account, err);
    return rc ? rc : cw_admin_caller_of_account(of, account, &s.token, ret, err);
}

static cw_code check_role(const cw_admin_callers *of, cw_str role, cw_err *err)
{
    bool is_known = cw_str_is(role, CW_ROLE_ANONYMOUS) || cw_str_is(role, CW_ROLE_AUTHENTICATED) ||
                    cw_roles_find(of->roles, role);
    cw_code rc = is_known || !of->c->db ? CW_OK : cw_db_has_role(of->c->db, role, &is_known, err);
    if (rc || is_known)
        return rc;
    return cw_fail(err, CW_NOTFOUND, "there is no role '%.*s'", CW_STR_ARG(role));
}

bool cw_admin_names_caller(const cw_admin_call *c)
{
    return cw_admin_text(c, "account").n || cw_admin_text(c, "role").n ||
           cw_admin_number(c, "token", 0);
}

static cw_code caller_of_params(const cw_admin_callers *of, cw_caller **ret, cw_err *err)
{
    const cw_admin_call *c = of->c;
    cw_str account = cw_admin_text(c, "account"), role = cw_admin_text(c, "role");
    int64_t token = cw_admin_number(c, "token", 0);
    cw_account *found = NULL;
    cw_code rc = CW_OK;
    if ((account.n > 0) + (role.n > 0) + (token != 0) > 1)
        return cw_fail(err, CW_PARAMS, "name one caller: an account, a role or a token");
    if (token)
        return caller_of_token(of, token, ret, err);
    if (account.n) {
        rc = find_account(c, account, &found, err);
        return rc ? rc : cw_admin_caller_of_account(of, found, NULL, ret, err);
    }
    if (role.n)
        rc = check_role(of, role, err);
    return rc ? rc
              : cw_admin_caller_of_role(of, role.n ? role : cw_str_from(CW_ROLE_ANONYMOUS), ret,
                                        err);
}

cw_code cw_admin_named_caller(const cw_admin_call *c, cw_caller **ret, cw_err *err)
{
    cw_admin_callers of;
    cw_code rc = cw_admin_callers_init(&of, c, err);
    if (!rc)
        rc = caller_of_params(&of, ret, err);
    cw_admin_callers_done(&of);
    return rc;
}

static cw_code why(cw_admin_call *c, cw_err *err)
{
    cw_caller *caller = NULL;
    cw_code rc = cw_admin_named_caller(c, &caller, err);
    if (!rc)
        rc = cw_admin_explain(c->snapshot, caller, cw_admin_text(c, "tool"), c->out, err);
    cw_caller_unref(caller);
    return rc;
}

/* ---- matrix ---- */

typedef struct matrix {
    cw_admin_call *c;
    cw_admin_callers of;
    const cw_json *names; /* the wanted rows; NULL: all */
    cw_str text;          /* in the names of the wanted rows */
    cw_str after;         /* rows behind this one */
    size_t limit, total;  /* rows of the result, and all that are wanted */
    bool has_accounts;    /* rows are accounts, not roles */
    cw_account *rows;     /* roles have a name only */
    size_t n, cap;
    const char **cells; /* of the row that is written, by class */
    bool has_more;
    cw_str tool; /* in the names of the wanted tools */
    const char *
        *first;    /* cells of the first row, if only tools are wanted about which rows differ */
    bool *differs; /* by class; NULL: all classes are wanted */
    const cw_entry **tools; /* the columns */
    size_t n_tools, tools_limit, tools_total;
} matrix;

static bool is_wanted(const matrix *m, cw_str name)
{
    if (!m->names)
        return cw_str_icontains(name, m->text);
    for (const cw_json *n = cw_json_first(m->names); n; n = cw_json_next(n)) {
        if (cw_str_eq(cw_json_text(n), name))
            return true;
    }
    return false;
}

/* Add a row that is wanted, in order of names. */
static cw_code add_row(matrix *m, const cw_account *row, cw_err *err)
{
    cw_arena *arena = m->c->arena;
    if (!is_wanted(m, row->name))
        return CW_OK;
    m->total++;
    if (m->after.n && cw_str_cmp(row->name, m->after) <= 0)
        return CW_OK;
    if (m->n == m->limit) {
        m->has_more = true;
        return CW_OK;
    }
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 64;
        cw_account *rows =
            cw_arena_resize(arena, m->rows, m->cap * sizeof *rows, cap * sizeof *rows);
        if (!rows)
            return cw_arena_fail(arena, err);
        m->rows = rows;
        m->cap = cap;
    }
    cw_str name = cw_arena_dup_str(arena, row->name);
    if (!name.p)
        return cw_arena_fail(arena, err);
    m->rows[m->n++] = (cw_account){.id = row->id, .name = name};
    return CW_OK;
}

/* A blocked account cannot log in: it has no row. */
static cw_code on_account(const cw_account *account, void *ctx, cw_err *err)
{
    return account->is_blocked ? CW_OK : add_row(ctx, account, err);
}

static cw_code collect_accounts(matrix *m, cw_err *err)
{
    if (!m->c->db)
        return fail_store(m->c, err);
    return cw_db_each_account(m->c->db, on_account, m, err);
}

/* All roles that exist, sorted, each once. */
static cw_code list_roles(const matrix *m, cw_rights *all, cw_err *err)
{
    const cw_config_roles *configured = &m->c->config->roles;
    cw_code rc = cw_rights_add(all, cw_str_from(CW_ROLE_ANONYMOUS), err);
    if (!rc)
        rc = cw_rights_add(all, cw_str_from(CW_ROLE_AUTHENTICATED), err);
    for (size_t i = 0; i < configured->n && !rc; i++)
        rc = cw_rights_add(all, configured->items[i].name, err);
    if (!rc && m->c->db)
        rc = cw_db_each_role(m->c->db, cw_rights_add_text, all, err);
    if (!rc)
        all->n = cw_requirements_sort(all->items, all->n);
    return rc;
}

static cw_code collect_roles(matrix *m, cw_err *err)
{
    cw_rights all = {.arena = m->c->arena};
    cw_code rc = list_roles(m, &all, err);
    for (size_t i = 0; i < all.n && !rc; i++)
        rc = add_row(m, &(cw_account){.name = all.items[i]}, err);
    return rc;
}

/* Each name that was asked for must have a row. */
static cw_code check_names(const matrix *m, cw_err *err)
{
    for (const cw_json *n = m->names ? cw_json_first(m->names) : NULL; n; n = cw_json_next(n)) {
        bool is_there = false;
        for (size_t i = 0; i < m->n && !is_there; i++)
            is_there = cw_str_eq(m->rows[i].name, cw_json_text(n));
        if (!is_there && m->has_accounts)
            return fail_account(cw_json_text(n), err);
        if (!is_there)
            return cw_fail(err, CW_NOTFOUND, "there is no role '%.*s'",
                           CW_STR_ARG(cw_json_text(n)));
    }
    return CW_OK;
}

/* The outcome of a call by this caller. `own` is the gate's verdict on the tool. */
static const char *cell_of(cw_verdict discover, cw_verdict call, cw_verdict own)
{
    if (own == CW_VERDICT_HIDDEN)
        return "hidden";
    if (call == CW_VERDICT_FORBIDDEN)
        return discover == CW_VERDICT_ALLOW ? "listed" : "hidden";
    return call == CW_VERDICT_ALLOW && own == CW_VERDICT_ALLOW ? "yes" : "asks";
}

/* The gate is asked once for each class of requirements. */
static void fill_cells(const matrix *m, const cw_caller *caller, const char **cells)
{
    size_t n_classes;
    const cw_requirements *classes = cw_snapshot_classes(m->c->snapshot, &n_classes);
    cw_verdict discover = cw_gate_permission(caller, CW_PERMISSION_DISCOVER);
    cw_verdict call = cw_gate_permission(caller, CW_PERMISSION_CALL);
    for (size_t i = 0; i < n_classes; i++)
        cells[i] = cell_of(discover, call, cw_gate_check(caller, &classes[i]));
}

static void write_row(matrix *m, const cw_account *row, const cw_caller *caller)
{
    cw_json_writer *out = m->c->out;
    fill_cells(m, caller, m->cells);
    cw_json_open_object(out);
    cw_json_add_string_member(out, CW_STR("name"), row->name);
    cw_json_add_bool_member(out, CW_STR("discover"),
                            cw_gate_permission(caller, CW_PERMISSION_DISCOVER) == CW_VERDICT_ALLOW);
    cw_json_add_bool_member(out, CW_STR("call"),
                            cw_gate_permission(caller, CW_PERMISSION_CALL) == CW_VERDICT_ALLOW);
    cw_json_add_key(out, CW_STR("cells"));
    cw_json_open_array(out);
    for (size_t i = 0; i < m->n_tools; i++)
        cw_json_add_string(out, cw_str_from(m->cells[m->tools[i]->class_index]));
    cw_json_close(out);
    cw_json_close(out);
}

/* Mark the classes about which this row differs from the first one. */
static void compare_row(matrix *m, const cw_account *row, const cw_caller *caller)
{
    size_t n_classes;
    (void)cw_snapshot_classes(m->c->snapshot, &n_classes);
    fill_cells(m, caller, row == m->rows ? m->first : m->cells);
    for (size_t i = 0; i < n_classes && row != m->rows; i++)
        m->differs[i] = m->differs[i] || strcmp(m->cells[i], m->first[i]) != 0;
}

static cw_code with_caller(matrix *m, const cw_account *row,
                           void (*use)(matrix *m, const cw_account *row, const cw_caller *caller),
                           cw_err *err)
{
    cw_caller *caller = NULL;
    cw_code rc = m->has_accounts ? cw_admin_caller_of_account(&m->of, row, NULL, &caller, err)
                                 : cw_admin_caller_of_role(&m->of, row->name, &caller, err);
    if (!rc)
        use(m, row, caller);
    cw_caller_unref(caller);
    return rc;
}

static cw_code compare_rows(matrix *m, size_t n_classes, cw_err *err)
{
    cw_code rc = CW_OK;
    m->first = cw_arena_calloc(m->c->arena, n_classes + 1, sizeof *m->first);
    m->differs = cw_arena_calloc(m->c->arena, n_classes + 1, sizeof *m->differs);
    if (!m->first || !m->differs)
        return cw_arena_fail(m->c->arena, err);
    for (size_t i = 0; i < m->n && !rc; i++)
        rc = with_caller(m, &m->rows[i], compare_row, err);
    return rc;
}

static cw_code pick_tools(matrix *m, cw_err *err)
{
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(m->c->snapshot, &n);
    m->tools = cw_arena_calloc(m->c->arena, n + 1, sizeof *m->tools);
    if (!m->tools)
        return cw_arena_fail(m->c->arena, err);
    for (size_t i = 0; i < n; i++) {
        if (!cw_str_icontains(tools[i]->tool_name, m->tool) ||
            (m->differs && !m->differs[tools[i]->class_index]))
            continue;
        if (m->tools_total++ < m->tools_limit)
            m->tools[m->n_tools++] = tools[i];
    }
    return CW_OK;
}

static void write_tools(const matrix *m)
{
    cw_json_add_i64_member(m->c->out, CW_STR("tools_total"), (int64_t)m->tools_total);
    cw_json_add_key(m->c->out, CW_STR("tools"));
    cw_json_open_array(m->c->out);
    for (size_t i = 0; i < m->n_tools; i++)
        cw_json_add_string(m->c->out, m->tools[i]->tool_name);
    cw_json_close(m->c->out);
}

static cw_code write_rows(matrix *m, cw_err *err)
{
    cw_code rc = CW_OK;
    cw_json_add_key(m->c->out, CW_STR("rows"));
    cw_json_open_array(m->c->out);
    for (size_t i = 0; i < m->n && !rc; i++) {
        if (i && m->c->out->out->n > MATRIX_BYTES) {
            m->has_more = true;
            break;
        }
        rc = with_caller(m, &m->rows[i], write_row, err);
    }
    cw_json_close(m->c->out);
    cw_json_add_bool_member(m->c->out, CW_STR("more"), m->has_more);
    cw_json_add_i64_member(m->c->out, CW_STR("total"), (int64_t)m->total);
    return rc;
}

static cw_code write_matrix(matrix *m, cw_err *err)
{
    size_t n_classes;
    cw_code rc = CW_OK;
    (void)cw_snapshot_classes(m->c->snapshot, &n_classes);
    m->cells = cw_arena_calloc(m->c->arena, n_classes + 1, sizeof *m->cells);
    if (!m->cells)
        return cw_arena_fail(m->c->arena, err);
    if (cw_admin_flag(m->c, "different"))
        rc = compare_rows(m, n_classes, err);
    if (!rc)
        rc = pick_tools(m, err);
    if (rc)
        return rc;
    write_tools(m);
    return write_rows(m, err);
}

static cw_code make_matrix(cw_admin_call *c, cw_err *err)
{
    matrix m = {.c = c,
                .names = cw_json_get(c->params, CW_STR("names")),
                .text = cw_admin_text(c, "text"),
                .after = cw_admin_text(c, "after"),
                .limit = (size_t)cw_admin_number(c, "limit", ROWS_MAX),
                .tool = cw_admin_text(c, "tool"),
                .tools_limit = (size_t)cw_admin_number(c, "tools_limit", INT32_MAX),
                .has_accounts = cw_admin_flag(c, "accounts")};
    if (!c->snapshot)
        return cw_fail(err, CW_NOTFOUND, "no catalogue has been published yet");
    cw_code rc = cw_admin_callers_init(&m.of, c, err);
    if (!rc)
        rc = m.has_accounts ? collect_accounts(&m, err) : collect_roles(&m, err);
    if (!rc && !m.after.n)
        rc = check_names(&m, err);
    if (!rc)
        rc = write_matrix(&m, err);
    cw_admin_callers_done(&m.of);
    return rc;
}

#define TEXT "{\"type\":\"string\"}"
#define TEXTS "{\"type\":\"array\",\"items\":" TEXT "}"
#define FLAG "{\"type\":\"boolean\"}"

const cw_admin_method cw_admin_access_methods[] = {
    {.name = "causeway.access.why",
     .about = "Explain whether a caller can see and call a tool: each rule of the gate",
     .permission = CW_PERMISSION_VIEW_AUDIT,
     .params = "[{\"name\":\"tool\",\"required\":true,\"description\":\"Name of a tool or method\","
               "\"schema\":" TEXT "},"
               "{\"name\":\"account\",\"description\":\"The caller: an account with its password\","
               "\"schema\":" TEXT "},"
               "{\"name\":\"role\",\"description\":\"The caller: one who has this role alone\","
               "\"schema\":" TEXT "},"
               "{\"name\":\"token\",\"description\":\"The caller: the id of a token; without a "
               "caller: the anonymous one\",\"schema\":{\"type\":\"integer\",\"minimum\":1}}]",
     .result = "{\"tool\":" TEXT ",\"method\":" TEXT ",\"source\":" TEXT ",\"caller\":" TEXT
               ",\"credentials\":{\"enum\":[\"none\",\"token\",\"password\"]},"
               "\"rules\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
               "\"rule\":" TEXT ",\"what\":" TEXT ",\"passes\":" FLAG "},\"required\":[\"rule\","
               "\"what\",\"passes\"]}},\"list\":{\"enum\":[\"shown\",\"not shown\"]},"
               "\"call\":{\"enum\":[\"allowed\",\"hidden\",\"login\",\"forbidden\",\"scopes\"]}}",
     .place = CW_ADMIN_STORE,
     .run = why},
    {.name = "causeway.access.matrix",
     .about = "Return for roles, or accounts, and all tools: yes, asks, listed or hidden",
     .permission = CW_PERMISSION_VIEW_AUDIT,
     .params = "[{\"name\":\"accounts\",\"description\":\"Rows are accounts instead of roles\","
               "\"schema\":" FLAG "},"
               "{\"name\":\"names\",\"description\":\"Names of the wanted rows\",\"schema\":{"
               "\"type\":\"array\",\"items\":" TEXT ",\"minItems\":1,\"maxItems\":100}},"
               "{\"name\":\"text\",\"description\":\"Only rows with this text in their "
               "names\",\"schema\":" TEXT "},"
               "{\"name\":\"limit\",\"description\":\"Maximum number of rows; 1000 by "
               "default\",\"schema\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":1000}},"
               "{\"name\":\"after\",\"description\":\"Rows behind this name, when a result has "
               "more\",\"schema\":" TEXT "},"
               "{\"name\":\"tool\",\"description\":\"Only tools with this text in their "
               "names\",\"schema\":" TEXT "},"
               "{\"name\":\"different\",\"description\":\"Only tools about which the rows of "
               "this result differ\",\"schema\":" FLAG "},"
               "{\"name\":\"tools_limit\",\"description\":\"Maximum number of tools; all by "
               "default\",\"schema\":{\"type\":\"integer\",\"minimum\":1}}]",
     .result = "{\"tools\":" TEXTS ",\"tools_total\":{\"type\":\"integer\"},"
               "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"object\","
               "\"properties\":{\"name\":" TEXT ",\"discover\":" FLAG ",\"call\":" FLAG
               ",\"cells\":" TEXTS "},\"required\":[\"name\",\"discover\",\"call\",\"cells\"]}},"
               "\"more\":" FLAG ",\"total\":{\"type\":\"integer\"}}",
     .place = CW_ADMIN_STORE,
     .run = make_matrix},
    {.name = NULL},
};
