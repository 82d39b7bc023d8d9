/* SPDX-License-Identifier: GPL-2.0-or-later */
/* args.c - the arguments of a call. A cw_value is a cw_json of the request's document.
 *
 * A member's value on the tape has its key right before it, an element of an array
 * has not: so neither needs to know its container. The params themselves are a
 * member of the request, and a declared default is in an array of its own.
 */
#include "host/call.h"

static const cw_json *json_of(const cw_value *value)
{
    return (const cw_json *)(const void *)value;
}

static const cw_value *value_of(const cw_json *json)
{
    return (const cw_value *)(const void *)json;
}

static bool is_member(const cw_json *v)
{
    return (v[-1].meta & CW_JSON_KEY) != 0;
}

/* The container of a value, NULL for a root. Walks back over what is in front of it. */
static const cw_json *container_of(const cw_json *v)
{
    const cw_json *p = v - (is_member(v) ? 2 : 1);
    while (!cw_json_is(p, CW_JSON_ARRAY) && !cw_json_is(p, CW_JSON_OBJECT)) {
        if (cw_json_is(p, CW_JSON_END))
            p -= p->n;
        p--;
    }
    return p;
}

static size_t index_of(const cw_json *array, const cw_json *element)
{
    size_t i = 0;
    for (const cw_json *v = cw_json_first(array); v != element; v = cw_json_next(v))
        i++;
    return i;
}

/* "/tags/0" of a value below `base`, in the arena; NULL when out of memory. */
static const char *pointer_to(cw_call *call, const cw_json *base, const cw_json *v)
{
    const char *path = "";
    for (int depth = 0; v != base && depth < (int)CW_JSON_DEPTH_CEILING; depth++) {
        const cw_json *up = container_of(v);
        if (is_member(v))
            path = cw_arena_printf(call->arena, "/%.*s%s", CW_STR_ARG(cw_json_text(v - 1)), path);
        else
            path = cw_arena_printf(call->arena, "/%zu%s", index_of(up, v), path);
        if (!path)
            return NULL;
        v = up;
    }
    return path;
}

static bool is_below(const cw_json *base, const cw_json *v)
{
    return base && v >= base && v < base + base->n;
}

/* The path of a value as text; NULL without memory. */
static const char *describe_place(cw_call *call, const cw_json *v)
{
    const cw_json *answers = cw_json_get(call->root, CW_STR("answers"));
    if (is_below(call->params, v))
        return pointer_to(call, call->params, v);
    if (!is_below(answers, v))
        return "a default value";
    const char *path = pointer_to(call, answers, v);
    return path ? cw_arena_printf(call->arena, "answer %s", path) : NULL;
}

/* Remember the first argument that is not what the method wants. */
static void refuse(cw_call *call, const cw_json *v, const char *what)
{
    if (call->bad_args)
        return;
    const char *where = describe_place(call, v);
    const char *text = where ? cw_arena_printf(call->arena, "%s: %s", where, what) : NULL;
    call->bad_args = text ? text : what;
}

/* Whether there is a value of this type. */
static bool has_type(cw_call *call, const cw_json *v, cw_json_type type, const char *type_name)
{
    if (!v || cw_json_is(v, CW_JSON_NULL))
        return false;
    if (cw_json_is(v, type))
        return true;
    const char *what =
        cw_arena_printf(call->arena, "expected %s, got %s", type_name, cw_json_type_name(v));
    refuse(call, v, what ? what : "unexpected type");
    return false;
}

/* A NUL-terminated copy; out of memory is remembered by the answer's buffer. */
static const char *copy_text(cw_call *call, cw_str text)
{
    const char *copy = cw_arena_dup(call->arena, text.p, text.n);
    if (!copy)
        call->wire->out.code = CW_NOMEM;
    return copy;
}

static const cw_json *find(const cw_json *v, cw_str path)
{
    if (!v || path.n == 0)
        return v;
    return path.p[0] == '/' ? cw_json_pointer(v, path) : cw_json_get(v, path);
}

/* The declared default of a parameter that was omitted, or NULL. */
static const cw_json *find_default(const cw_hosted_method *method, cw_str path)
{
    cw_str rest = path;
    cw_str name = path;
    if (path.n > 0 && path.p[0] == '/') {
        name = cw_str_cut(cw_str_make(path.p + 1, path.n - 1), '/', &rest);
        rest = rest.p ? cw_str_make(rest.p - 1, rest.n + 1) : CW_STR("");
    } else {
        rest = CW_STR("");
    }
    for (size_t i = 0; method && i < method->n_params; i++)
        if (cw_str_eq(method->params[i].name, name))
            return find(method->params[i].default_value, rest);
    return NULL;
}

const cw_value *cw_arg(cw_call *call, const char *path)
{
    cw_str wanted = cw_str_from(path);
    const cw_json *v = find(call->params, wanted);
    return value_of(v ? v : find_default(call->method, wanted));
}

cw_type cw_value_type(const cw_value *value)
{
    static const cw_type types[] = {
        [CW_JSON_NULL] = CW_TYPE_NULL,     [CW_JSON_FALSE] = CW_TYPE_BOOL,
        [CW_JSON_TRUE] = CW_TYPE_BOOL,     [CW_JSON_NUMBER] = CW_TYPE_NUMBER,
        [CW_JSON_STRING] = CW_TYPE_STRING, [CW_JSON_ARRAY] = CW_TYPE_ARRAY,
        [CW_JSON_OBJECT] = CW_TYPE_OBJECT, [CW_JSON_END] = CW_TYPE_ABSENT,
    };
    return value ? types[cw_json_type_of(json_of(value))] : CW_TYPE_ABSENT;
}

const char *cw_value_text(cw_call *call, const cw_value *value, const char *fallback)
{
    const cw_json *v = json_of(value);
    if (!has_type(call, v, CW_JSON_STRING, "string"))
        return fallback;
    if (memchr(v->p, '\0', v->n)) {
        refuse(call, v, "contains U+0000");
        return fallback;
    }
    const char *text = copy_text(call, cw_json_text(v));
    return text ? text : fallback;
}

const char *cw_value_string(cw_call *call, const cw_value *value, size_t *ret_n)
{
    const cw_json *v = json_of(value);
    const char *text = NULL;
    if (has_type(call, v, CW_JSON_STRING, "string"))
        text = copy_text(call, cw_json_text(v));
    if (ret_n)
        *ret_n = text ? v->n : 0;
    return text;
}

int64_t cw_value_int(cw_call *call, const cw_value *value, int64_t fallback)
{
    const cw_json *v = json_of(value);
    int64_t number = fallback;
    if (has_type(call, v, CW_JSON_NUMBER, "integer") && !cw_json_to_i64(v, &number))
        refuse(call, v, cw_json_is_integer(v) ? "integer out of range" : "expected integer");
    return number;
}

double cw_value_double(cw_call *call, const cw_value *value, double fallback)
{
    const cw_json *v = json_of(value);
    double number = fallback;
    if (has_type(call, v, CW_JSON_NUMBER, "number") && !cw_json_to_double(v, &number))
        refuse(call, v, "number out of range");
    return number;
}

bool cw_value_bool(cw_call *call, const cw_value *value, bool fallback)
{
    const cw_json *v = json_of(value);
    if (cw_json_is(v, CW_JSON_FALSE))
        return false;
    return has_type(call, v, CW_JSON_TRUE, "boolean") ? true : fallback;
}

const char *cw_value_json(cw_call *call, const cw_value *value)
{
    return value ? copy_text(call, cw_json_span(json_of(value))) : NULL;
}

size_t cw_value_count(const cw_value *value)
{
    return value ? cw_json_count(json_of(value)) : 0;
}

const cw_value *cw_value_first(const cw_value *container)
{
    const cw_json *v = container ? cw_json_first(json_of(container)) : NULL;
    return value_of(v && (v->meta & CW_JSON_KEY) ? v + 1 : v);
}

const cw_value *cw_value_next(const cw_value *value)
{
    const cw_json *v = value ? cw_json_next(json_of(value)) : NULL;
    return value_of(v && (v->meta & CW_JSON_KEY) ? v + 1 : v);
}

const char *cw_value_key(cw_call *call, const cw_value *value)
{
    if (!value || !is_member(json_of(value)))
        return NULL;
    return copy_text(call, cw_json_text(json_of(value) - 1));
}

const cw_value *cw_value_get(const cw_value *value, const char *path)
{
    return value_of(find(json_of(value), cw_str_from(path)));
}
