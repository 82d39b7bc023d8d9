/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposed.c - resources, templates and prompts: their JSON, and URI matching. */
#include "catalogue/exposed.h"

#include "base/hex.h"
#include "base/template.h"
#include "base/utf8.h"
#include "json/write.h"

/* ---- templates ---- */

cw_code cw_exposed_check(const cw_method *method, cw_err *err)
{
    cw_str names[CW_EXPOSED_MAX_VARIABLES], rest = method->exposed->address;
    cw_template_part part;
    size_t n = 0;
    while (rest.n) {
        if (!cw_template_next(&rest, &part) || (part.name.p && !part.name.n))
            return cw_fail(err, CW_PARAMS, "expected {name} for each variable");
        if (!part.name.p)
            break;
        if (n && !part.literal.n)
            return cw_fail(err, CW_PARAMS, "two variables need text between them");
        if (n == CW_EXPOSED_MAX_VARIABLES)
            return cw_fail(err, CW_LIMIT, "more than %u variables", CW_EXPOSED_MAX_VARIABLES);
        if (!cw_method_param(method, part.name))
            return cw_fail(err, CW_PARAMS, "variable '%.*s' is no param of the method",
                           CW_STR_ARG(part.name));
        for (size_t i = 0; i < n; i++) {
            if (cw_str_eq(names[i], part.name))
                return cw_fail(err, CW_PARAMS, "variable '%.*s' stands twice",
                               CW_STR_ARG(part.name));
        }
        names[n++] = part.name;
    }
    return n ? CW_OK : cw_fail(err, CW_PARAMS, "a template needs a variable");
}

/* Percent-decoded in place of `out`; false when the escapes are wrong or it is not UTF-8. */
static bool decode(cw_str in, char *out, size_t *ret_n)
{
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++) {
        if (in.p[i] != '%') {
            out[n++] = in.p[i];
            continue;
        }
        int high = i + 2 < in.n ? cw_hex_value(in.p[i + 1]) : -1;
        int low = high >= 0 ? cw_hex_value(in.p[i + 2]) : -1;
        if (low < 0)
            return false;
        out[n++] = (char)(high << 4 | low);
        i += 2;
    }
    *ret_n = n;
    return cw_utf8_is_valid(cw_str_make(out, n));
}

/* The position of the next literal in `uri`, from 1 on: a variable is never empty. Without a
 * literal the variable extends to the end. */
static bool find_literal(cw_str uri, cw_str literal, size_t *ret)
{
    if (uri.n == 0)
        return false;
    const char *at = uri.p + uri.n;
    if (literal.n)
        at = memmem(uri.p + 1, uri.n - 1, literal.p, literal.n);
    if (at)
        *ret = (size_t)(at - uri.p);
    return at != NULL;
}

/* One variable of a template that has begun to match: a member of the object. */
static bool take_variable(cw_json_writer *w, cw_str name, cw_str value, cw_arena *arena)
{
    size_t n;
    /* A variable of level 1 cannot stand for a part of the hierarchy. */
    if (memchr(value.p, '/', value.n))
        return false;
    char *text = cw_arena_alloc(arena, value.n + 1);
    /* Without memory it is not known to be a mismatch. */
    if (!text) {
        w->out->code = CW_NOMEM;
        return true;
    }
    if (!decode(value, text, &n))
        return false;
    cw_json_add_string_member(w, name, cw_str_make(text, n));
    return true;
}

static bool match(cw_json_writer *w, cw_str template, cw_str uri, cw_arena *arena)
{
    cw_template_part part, next;
    if (!cw_template_next(&template, &part) || !cw_str_starts(uri, part.literal))
        return false;
    uri = cw_str_make(uri.p + part.literal.n, uri.n - part.literal.n);
    while (part.name.p) {
        size_t at;
        if (!cw_template_next(&template, &next))
            return false;
        cw_str after = next.literal;
        /* The last text must stand at the very end. */
        bool is_last = !next.name.p && after.n;
        if (is_last && !cw_str_ends(uri, after))
            return false;
        if (is_last)
            at = uri.n - after.n;
        else if (!find_literal(uri, after, &at))
            return false;
        if (at == 0 || !take_variable(w, part.name, cw_str_make(uri.p, at), arena))
            return false;
        uri = cw_str_make(uri.p + at + after.n, uri.n - at - after.n);
        part = next;
    }
    return uri.n == 0;
}

/* ---- templates of MCP servers: RFC 6570 ---- */

/* A literal text, and the expression behind it. */
typedef struct expression {
    cw_str literal;
    bool is_any;  /* there is an expression */
    char op;      /* 0: none */
    cw_str names; /* "a,b*" */
    bool is_exploded;
} expression;

/* Take the next one of *rest. False: it is no template. */
static bool take_expression(cw_str *rest, expression *ret)
{
    const char *open = rest->n ? memchr(rest->p, '{', rest->n) : NULL;
    size_t at = open ? (size_t)(open - rest->p) : rest->n;
    *ret = (expression){.literal = cw_str_make(rest->p, at)};
    if (at && memchr(rest->p, '}', at))
        return false;
    if (!open) {
        *rest = cw_str_make(rest->p + at, 0);
        return true;
    }
    const char *close = memchr(open, '}', rest->n - at);
    if (!close || close == open + 1)
        return false;
    cw_str inner = cw_str_make(open + 1, (size_t)(close - open - 1));
    ret->is_any = true;
    static const char operators[] = {'+', '#', '.', '/', ';', '?', '&'};
    if (memchr(operators, inner.p[0], sizeof operators)) {
        ret->op = inner.p[0];
        inner = cw_str_make(inner.p + 1, inner.n - 1);
    }
    ret->names = inner;
    ret->is_exploded = inner.n && memchr(inner.p, '*', inner.n);
    *rest = cw_str_make(close + 1, rest->n - at - inner.n - 2 - (ret->op ? 1 : 0));
    return inner.n > 0;
}

/* "b" of "b*" and "b:3". */
static cw_str variable_name(cw_str spec)
{
    const char *length = spec.n ? memchr(spec.p, ':', spec.n) : NULL;
    if (length)
        spec.n = (size_t)(length - spec.p);
    else if (spec.n && spec.p[spec.n - 1] == '*')
        spec.n--;
    return spec;
}

static bool is_variable_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c <= ' ' || c == 0x7f || strchr("{}\"'<>\\^`|,*:", c))
            return false;
    }
    return name.n > 0;
}

static cw_code add_variable(cw_str name, cw_str names[CW_EXPOSED_MAX_VARIABLES], size_t *n,
                            cw_err *err)
{
    if (!is_variable_name(name))
        return cw_fail(err, CW_PARAMS, "expected a template of RFC 6570");
    for (size_t i = 0; i < *n; i++) {
        if (cw_str_eq(names[i], name))
            return CW_OK;
    }
    if (*n == CW_EXPOSED_MAX_VARIABLES)
        return cw_fail(err, CW_LIMIT, "more than %u variables", CW_EXPOSED_MAX_VARIABLES);
    names[(*n)++] = name;
    return CW_OK;
}

cw_code cw_exposed_variables(cw_str template, cw_str names[CW_EXPOSED_MAX_VARIABLES], size_t *ret_n,
                             cw_err *err)
{
    size_t n = 0;
    cw_code rc = CW_OK;
    while (template.n && !rc) {
        expression e;
        if (!take_expression(&template, &e))
            return cw_fail(err, CW_PARAMS, "expected a template of RFC 6570");
        for (cw_str rest = e.names; e.is_any && !rc;) {
            const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
            size_t at = comma ? (size_t)(comma - rest.p) : rest.n;
            rc = add_variable(variable_name(cw_str_make(rest.p, at)), names, &n, err);
            if (!comma)
                break;
            rest = cw_str_make(comma + 1, rest.n - at - 1);
        }
    }
    if (rc)
        return rc;
    *ret_n = n;
    return n ? CW_OK : cw_fail(err, CW_PARAMS, "a template needs a variable");
}

/* Whether a part of a URI can be the expansion of an expression. */
static bool can_be(const expression *e, cw_str part)
{
    const char *excluded = "/?#";
    switch (e->op) {
    case '+':
    case '#':
        excluded = "";
        break;
    case '/':
        excluded = "?#";
        break;
    case '?':
    case '&':
        excluded = "#";
        break;
    case 0:
        excluded = e->is_exploded ? "?#" : "/?#";
        break;
    default:
        break;
    }
    if (part.n == 0)
        return e->op && e->op != '+';
    if (e->op && e->op != '+' && part.p[0] != e->op)
        return false;
    for (size_t i = e->op == '/' ? 0 : 1; i < part.n; i++) {
        if (strchr(excluded, part.p[i]))
            return false;
    }
    return e->op || !strchr(excluded, part.p[0]);
}

/* Find the end of the part that matches an expression; `next` follows it. */
static bool find_end(const expression *e, const expression *next, cw_str uri, size_t *ret)
{
    size_t first = e->op && e->op != '+' ? 0 : 1;
    const char *at = uri.p + uri.n;
    if (!next->is_any) { /* the last text must stand at the very end */
        *ret = uri.n - next->literal.n;
        return cw_str_ends(uri, next->literal);
    }
    if (first > uri.n)
        return false;
    if (next->literal.n)
        at = memmem(uri.p + first, uri.n - first, next->literal.p, next->literal.n);
    else if (next->op && next->op != '+' && memchr(uri.p, next->op, uri.n))
        at = memchr(uri.p, next->op, uri.n);
    *ret = at ? (size_t)(at - uri.p) : 0;
    return at != NULL;
}

/* Whether a segment of the URI is "..", as a server may read it. */
static bool climbs(cw_str uri)
{
    size_t dots = 0, others = 0;
    for (size_t i = 0; i <= uri.n; i++) {
        char c = i < uri.n ? uri.p[i] : '/';
        int high = c == '%' && i + 2 < uri.n ? cw_hex_value(uri.p[i + 1]) : -1;
        int low = high >= 0 ? cw_hex_value(uri.p[i + 2]) : -1;
        if (low >= 0) {
            c = (char)(high << 4 | low);
            i += 2;
        }
        bool is_end = strchr("/\\?#", c) || i >= uri.n;
        if (is_end && dots == 2 && others == 0)
            return true;
        dots = is_end ? 0 : dots + (c == '.');
        others = is_end ? 0 : others + (c != '.');
    }
    return false;
}

bool cw_exposed_covers(cw_str template, cw_str uri)
{
    expression e, next;
    if (uri.n > CW_RESOURCE_MAX_URI || climbs(uri) || !take_expression(&template, &e) ||
        !cw_str_starts(uri, e.literal))
        return false;
    uri = cw_str_make(uri.p + e.literal.n, uri.n - e.literal.n);
    while (e.is_any) {
        size_t at;
        if (!take_expression(&template, &next) || !find_end(&e, &next, uri, &at) ||
            !can_be(&e, cw_str_make(uri.p, at)))
            return false;
        at += next.literal.n;
        uri = cw_str_make(uri.p + at, uri.n - at);
        e = next;
    }
    return uri.n == 0;
}

static void free_buf(void *b)
{
    cw_buf_done(b);
}

/* A buffer that goes with the arena. */
static cw_buf *new_buf(cw_arena *arena)
{
    cw_buf *b = cw_arena_alloc(arena, sizeof *b);
    if (!b)
        return NULL;
    cw_buf_init(b, CW_BUF_MAX);
    return cw_arena_hold(arena, b, free_buf) ? NULL : b;
}

bool cw_exposed_match(cw_str template, cw_str uri, cw_arena *arena, cw_str *ret)
{
    cw_json_writer w;
    *ret = (cw_str){NULL, 0};
    if (uri.n > CW_RESOURCE_MAX_URI)
        return false;
    cw_buf *b = new_buf(arena);
    if (!b)
        return true;
    cw_json_writer_init(&w, b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    bool matches = match(&w, template, uri, arena);
    cw_json_close(&w);
    if (!cw_json_writer_end(&w, NULL) && !b->code)
        *ret = cw_buf_str(b);
    return matches;
}

/* ---- what lists show ---- */

static void write_arguments(cw_json_writer *w, const cw_method *method)
{
    if (method->n_params == 0)
        return;
    cw_json_add_key(w, CW_STR("arguments"));
    cw_json_open_array(w);
    for (size_t i = 0; i < method->n_params; i++) {
        const cw_param *p = &method->params[i];
        cw_json_open_object(w);
        cw_json_add_string_member(w, CW_STR("name"), p->name);
        if (p->description.n)
            cw_json_add_string_member(w, CW_STR("description"), p->description);
        if (p->is_required) {
            cw_json_add_key(w, CW_STR("required"));
            cw_json_add_bool(w, true);
        }
        cw_json_close(w);
    }
    cw_json_close(w);
}

/* What an MCP server lists is complete (source/describe/mcp.c, source/remote/mcp/exposure.c). */
static cw_code write_relayed(const cw_exposed *exposed, cw_arena *arena, cw_str *ret, cw_err *err)
{
    *ret = cw_arena_dup_str(arena, cw_json_span(exposed->json));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

cw_code cw_exposed_write(const cw_method *method, cw_arena *arena, cw_str *ret, cw_err *err)
{
    const cw_exposed *exposed = method->exposed;
    if (exposed->is_relayed)
        return write_relayed(exposed, arena, ret, err);
    cw_json_writer w;
    cw_buf b;
    cw_buf_init(&b, CW_BUF_MAX);
    cw_json_writer_init(&w, &b, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    bool is_described = false, is_named = false;
    for (const cw_json *k = cw_json_first(exposed->json); k; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        if (cw_str_is(name, "completes"))
            continue; /* between the source and us */
        is_described = is_described || cw_str_is(name, "description");
        is_named = is_named || cw_str_is(name, "name");
        cw_json_add_key(&w, name);
        cw_json_add_value(&w, cw_json_value(k));
    }
    /* All of them must have a name. */
    if (!is_named)
        cw_json_add_string_member(&w, CW_STR("name"), method->id);
    /* Clients refuse a prompt without a description. */
    if (!is_described)
        cw_json_add_string_member(&w, CW_STR("description"),
                                  method->usage.n ? method->usage : method->id);
    if (exposed->kind == CW_EXPOSED_PROMPT)
        write_arguments(&w, method);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (!rc) {
        *ret = cw_arena_dup_str(arena, cw_buf_str(&b));
        rc = ret->p ? CW_OK : cw_arena_fail(arena, err);
    }
    cw_buf_done(&b);
    return rc;
}
