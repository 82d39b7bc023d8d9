/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arguments.c - matches params with the parameters of a method. */
#include "call/arguments.h"

#include "base/utf8.h"
#include "catalogue/method_schemas.h"
#include "json/write.h"
#include "schema/rewrite/nulls.h"
#include "schema/rewrite/portable.h"

/* How far a misspelt name may be from the one that is suggested. */
#define NEAR 2u

/* A value for each declared param, in declared order; NULL: not given and without default. */
typedef struct binding {
    const cw_method *method;
    const cw_json **values;
    size_t n_given;
    bool is_changed; /* the params cannot travel on as they came */
    bool lacks_required;
} binding;

static cw_code fail_unknown(const cw_method *method, cw_str name, cw_err *err)
{
    const cw_param *nearest = NULL;
    unsigned least = NEAR + 1;
    for (size_t i = 0; i < method->n_params; i++) {
        unsigned d = cw_str_distance_within(name, method->params[i].name, NEAR);
        if (d < least) {
            least = d;
            nearest = &method->params[i];
        }
    }
    int exposed = (int)cw_utf8_cut(name, 100);
    if (nearest)
        return cw_fail(err, CW_PARAMS, "Unknown parameter: %.*s; did you mean %.*s?", exposed,
                       name.p, CW_STR_ARG(nearest->name));
    return cw_fail(err, CW_PARAMS, "Unknown parameter: %.*s", exposed, name.p);
}

/* Keys are distinct, so one of the first n_params + 1 is unknown when there are more than that. */
static cw_code refuse_unknown(const cw_method *method, const cw_json *params, cw_err *err)
{
    for (const cw_json *k = cw_json_first(params); k; k = cw_json_next_key(k)) {
        if (!cw_method_param(method, cw_json_text(k)))
            return fail_unknown(method, cw_json_text(k), err);
    }
    return CW_OK;
}

static cw_code take_named(binding *b, const cw_json *params, bool ignore_unknown, cw_err *err)
{
    const cw_method *method = b->method;
    bool too_many = cw_json_count(params) > method->n_params;
    if (too_many && !ignore_unknown)
        return refuse_unknown(method, params, err);
    for (size_t i = 0; i < method->n_params; i++) {
        b->values[i] = cw_json_get(params, method->params[i].name);
        b->n_given += b->values[i] != NULL;
    }
    bool has_unknown = b->n_given != cw_json_count(params);
    if (has_unknown && !ignore_unknown)
        return refuse_unknown(method, params, err);
    b->is_changed = has_unknown || method->by_position;
    return CW_OK;
}

static cw_code take_listed(binding *b, const cw_json *params, cw_err *err)
{
    const cw_method *method = b->method;
    size_t i = 0;
    if (cw_json_count(params) > method->n_params)
        return cw_fail(err, CW_PARAMS, "Too many parameters: %u given, at most %zu taken",
                       cw_json_count(params), method->n_params);
    for (const cw_json *v = cw_json_first(params); v; v = cw_json_next(v))
        b->values[i++] = v;
    b->n_given = i;
    b->is_changed = !method->by_position;
    return CW_OK;
}

static cw_code fill(binding *b, cw_err *err)
{
    for (size_t i = 0; i < b->method->n_params; i++) {
        const cw_param *param = &b->method->params[i];
        if (b->values[i])
            continue;
        if (param->default_value) {
            b->values[i] = param->default_value;
            b->is_changed = true;
        } else if (param->is_required) {
            b->lacks_required = true;
            return cw_fail(err, CW_PARAMS, "Missing required parameter: %.*s",
                           CW_STR_ARG(param->name));
        }
    }
    return CW_OK;
}

static void write_list(const binding *b, cw_json_writer *w)
{
    size_t n = b->method->n_params;
    while (n && !b->values[n - 1])
        n--;
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++) {
        /* A hole between values that are there has no other spelling. */
        cw_json_add_span(w, b->values[i] ? cw_json_span(b->values[i]) : CW_STR("null"));
    }
    cw_json_close(w);
}

static void write_object(const binding *b, cw_json_writer *w)
{
    cw_json_open_object(w);
    for (size_t i = 0; i < b->method->n_params; i++) {
        if (!b->values[i])
            continue;
        cw_json_add_key(w, b->method->params[i].name);
        cw_json_add_span(w, cw_json_span(b->values[i]));
    }
    cw_json_close(w);
}

/* The names and values as they will be sent, so that the copy is made once. */
static size_t size_of(const binding *b)
{
    size_t n = 2;
    for (size_t i = 0; i < b->method->n_params; i++)
        n +=
            6 * b->method->params[i].name.n + 8 + (b->values[i] ? cw_json_span(b->values[i]).n : 0);
    return n;
}

static cw_code write_changed(const binding *b, cw_arena *arena, cw_str *ret, cw_err *err)
{
    cw_json_writer w;
    size_t max = size_of(b);
    /* A buffer over the arena's memory: sized for the worst case, it never grows. */
    cw_buf out = {.p = cw_arena_alloc(arena, max + 1), .cap = max + 1, .max = max};
    if (!out.p)
        return cw_arena_fail(arena, err);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    if (b->method->by_position)
        write_list(b, &w);
    else
        write_object(b, &w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    *ret = cw_buf_str(&out);
    return CW_OK;
}

cw_code cw_arguments_bind(const cw_method *method, const cw_json *params, bool ignore_unknown,
                          cw_arena *arena, cw_arguments *ret, cw_err *err)
{
    binding b = {.method = method};
    b.values = cw_arena_calloc(arena, method->n_params + 1, sizeof(cw_json *));
    if (!b.values)
        return cw_arena_fail(arena, err);
    cw_code rc = CW_OK;
    if (!params || (cw_json_is(params, CW_JSON_ARRAY) && cw_json_count(params) == 0))
        b.is_changed = true;
    else if (cw_json_is(params, CW_JSON_OBJECT))
        rc = take_named(&b, params, ignore_unknown, err);
    else
        rc = take_listed(&b, params, err);
    if (!rc)
        rc = fill(&b, err);
    ret->lacks_required = b.lacks_required;
    if (rc)
        return rc;
    ret->values = b.values;
    if (b.is_changed)
        return write_changed(&b, arena, &ret->text, err);
    ret->text = cw_arena_dup_str(arena, cw_json_span(params));
    return ret->text.p ? CW_OK : cw_arena_fail(arena, err);
}

/* ---- shown names ---- */

static const cw_schema_rename *find_shown(const cw_schema_portable *shown, cw_str name)
{
    for (size_t i = 0; i < shown->n_renames; i++) {
        if (cw_str_eq(shown->renames[i].shown, name))
            return &shown->renames[i];
    }
    return NULL;
}

cw_code cw_arguments_own_names(const cw_schema_portable *shown, const cw_json *params,
                               cw_arena *arena, const cw_json **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    const cw_json_opts deep = {.max_bytes = CW_BUF_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    bool is_changed = false;
    char separator = '{';
    *ret = params;
    cw_buf_init(&out, CW_BUF_MAX);
    for (const cw_json *k = params ? cw_json_first(params) : NULL; k; k = cw_json_next_key(k)) {
        const cw_schema_rename *one = find_shown(shown, cw_json_text(k));
        if (one && cw_json_get(params, one->own))
            return CW_PARAMS;
        is_changed |= one != NULL;
        cw_buf_add_char(&out, separator);
        separator = ',';
        if (one)
            cw_json_escape(&out, one->own);
        else
            cw_buf_add(&out, cw_json_span(k));
        cw_buf_add_char(&out, ':');
        cw_buf_add(&out, cw_json_span(k + 1));
    }
    cw_buf_add_char(&out, '}');
    if (!is_changed)
        return CW_OK;
    cw_str text = out.code ? (cw_str){0} : cw_arena_dup_str(arena, cw_buf_str(&out));
    return text.p ? cw_json_read(text, &deep, arena, ret, NULL, NULL) : CW_NOMEM;
}

/* Whether a name may begin at `at`: in quotes, as the first part of a pointer, or as the name of a
 * parameter. */
static bool may_begin(const char *text, size_t at)
{
    static const char *const before[] = {"'", "arameter: ", "did you mean ", "; /"};
    for (size_t i = 0; i < CW_COUNT(before); i++) {
        size_t n = strlen(before[i]);
        if (at >= n && memcmp(text + at - n, before[i], n) == 0)
            return true;
    }
    return at == 1 && text[0] == '/';
}

/* The rename whose own name begins there, and the bytes of that name; NULL: none. */
static const cw_schema_rename *find_own(const cw_schema_portable *shown, const char *text,
                                        size_t *ret_n)
{
    for (size_t i = 0; i < shown->n_renames; i++) {
        CW_CLEANUP(cw_buf_done) cw_buf token;
        cw_buf_init(&token, CW_ERR_MSG_MAX);
        cw_json_escape_token(&token, shown->renames[i].own);
        const cw_str forms[] = {shown->renames[i].own, cw_buf_str(&token)};
        for (size_t j = 0; j < CW_COUNT(forms); j++) {
            *ret_n = forms[j].n;
            if (forms[j].n && strncmp(text, forms[j].p, forms[j].n) == 0 &&
                strchr("/:;?'", text[forms[j].n])) /* or its end */
                return &shown->renames[i];
        }
    }
    return NULL;
}

void cw_arguments_show_names(const cw_schema_portable *shown, cw_err *err)
{
    char out[CW_ERR_MSG_MAX];
    size_t n = 0, own = 0;
    for (size_t i = 0; err->msg[i] && n + CW_PORTABLE_PROPERTY_MAX + 1 < sizeof out;) {
        const cw_schema_rename *one =
            may_begin(err->msg, i) ? find_own(shown, err->msg + i, &own) : NULL;
        if (!one) {
            out[n++] = err->msg[i++];
            continue;
        }
        memcpy(out + n, one->shown.p, one->shown.n);
        n += one->shown.n;
        i += own;
    }
    memcpy(err->msg, out, n);
    err->msg[n] = '\0';
}

/* ---- nulls ---- */

static bool has_null(const cw_json *params)
{
    for (const cw_json *v = params; v && v < cw_json_after(params); v++) {
        if (cw_json_is(v, CW_JSON_NULL))
            return true;
    }
    return false;
}

/* One argument without nulls, or nothing at all where it is one itself. */
static cw_code add_without_nulls(const cw_entry *entry, const cw_json *key, char *separator,
                                 cw_buf *out, uint32_t *n, int64_t *steps)
{
    const cw_param *param = cw_method_param(entry->method, cw_json_text(key));
    const cw_schema *schema = NULL;
    cw_code rc = CW_OK;
    if (param)
        rc = cw_method_schemas_param(entry->schemas, entry->method,
                                     (size_t)(param - entry->method->params), &schema, NULL);
    bool is_null = cw_json_is(key + 1, CW_JSON_NULL);
    if (!rc && is_null && schema && !param->is_required && !cw_schema_takes_null(schema, steps)) {
        ++*n;
        return CW_OK;
    }
    cw_buf_add_char(out, *separator);
    *separator = ',';
    cw_buf_add(out, cw_json_span(key));
    cw_buf_add_char(out, ':');
    if (!rc && schema && has_null(key + 1))
        rc = cw_schema_write_without_nulls(schema, key + 1, out, n, steps);
    else
        cw_buf_add(out, cw_json_span(key + 1));
    return rc;
}

cw_code cw_arguments_drop_nulls(const cw_entry *entry, const cw_json *params, cw_arena *arena,
                                int64_t *steps, const cw_json **ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf out = {0};
    const cw_json_opts deep = {.max_bytes = CW_BUF_MAX, .max_depth = CW_JSON_DEPTH_CEILING};
    uint32_t n = 0;
    char separator = '{';
    cw_code rc = CW_OK;
    *ret = NULL;
    if (!cw_json_is(params, CW_JSON_OBJECT) || !has_null(params))
        return CW_OK;
    cw_buf_init(&out, cw_json_span(params).n + 16);
    for (const cw_json *k = cw_json_first(params); k && !rc; k = cw_json_next_key(k))
        rc = add_without_nulls(entry, k, &separator, &out, &n, steps);
    cw_buf_add(&out, separator == '{' ? CW_STR("{}") : CW_STR("}"));
    if (rc || out.code)
        return rc ? rc : out.code;
    if (!n)
        return CW_OK;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&out));
    return text.p ? cw_json_read(text, &deep, arena, ret, NULL, NULL) : CW_NOMEM;
}

void cw_arguments_add_problem(cw_buf *out, cw_str name, const cw_schema_problem *problem)
{
    if (out->n)
        cw_buf_add(out, CW_STR("; "));
    if (name.n) {
        cw_buf_add_char(out, '/');
        cw_json_escape_token(out, name);
    }
    if (name.n && problem->instance_pointer.n == 0)
        cw_buf_add(out, CW_STR(": "));
    cw_schema_problem_text(problem, out);
}
