/* SPDX-License-Identifier: GPL-2.0-or-later */
/* php_result.c - results that PHP wrote: an object without members is an empty list there.
 *
 * An empty list becomes an object where the schema of the result declares an object and no list.
 * Everything else stays the same. All schemas that apply to a value are collected first:
 *
 *     {"anyOf":[A,B],"$ref":"#/$defs/C"}     this one, A, B, C, and what applies because of them
 *
 * A const or enum of the value's members decides between alternatives, and between then and else.
 * Without one both count. A value with too many schemas stays as it is. So does the rest of a result
 * that takes too much work.
 */
#include <stdlib.h>

#include "json/write.h"
#include "schema/pattern/pattern.h"
#include "source/remote/remote_int.h"

#define REFS_MAX 16u          /* of a condition, that lead to each other */
#define STEPS_MAX 200000u     /* schemas that are looked at for one result */
#define SCHEMAS_MAX 128u      /* that apply to one value */
#define ENTRIES_MAX 10000000u /* that are compared for one result: about 10 ms */
#define COMPARED_BYTES 64u    /* that cost as much as an entry */
#define READ_BYTES 8u         /* the same, read one by one: pointers, numbers */
#define PATTERNS_MAX 1000u
#define PATTERN_STEPS 1000000 /* of one result: about 10 ms */

typedef struct known_pattern {
    const cw_json *key;  /* in the schema */
    cw_pattern *pattern; /* NULL: it cannot be compiled, or the others are too large */
} known_pattern;

struct cw_remote_php_schema {
    const cw_json *root;
    known_pattern *patterns; /* by the place of their keys */
    size_t n_patterns;
};

typedef struct reading {
    const cw_remote_php_schema *schema;
    cw_json_writer w;
    unsigned n_steps;
    size_t n_entries;
    int64_t pattern_steps;
    bool is_changed;
} reading;

/* The schemas that apply to a value. */
typedef struct schema_set {
    const cw_json *items[SCHEMAS_MAX];
    unsigned n;
    bool is_unknown; /* others may apply */
} schema_set;

/* The first key or element of a value of this type; NULL: of another type, or empty. */
static const cw_json *first_of(const cw_json *v, cw_json_type type)
{
    return cw_json_is(v, type) ? cw_json_first(v) : NULL;
}

static bool is_container(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_ARRAY) || cw_json_is(v, CW_JSON_OBJECT);
}

/* ---- the schema ---- */

static void free_pattern(void *pattern)
{
    cw_pattern_free(pattern);
}

/* One that cannot be compiled is left out. */
static cw_code compile(known_pattern *p, cw_arena *arena, cw_err *err)
{
    cw_code rc = cw_pattern_compile(cw_json_text(p->key), &p->pattern, NULL);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    rc = rc ? CW_OK : cw_arena_hold(arena, p->pattern, free_pattern);
    return rc ? cw_fail(err, rc, "%s", cw_code_text(rc)) : CW_OK;
}

/* The names below a member "patternProperties", wherever it is. In data they are of no use. */
static size_t list_patterns(const cw_json *key, known_pattern *ret, size_t n)
{
    bool has = cw_str_is(cw_json_text(key), "patternProperties");
    const cw_json *k = has ? first_of(cw_json_value(key), CW_JSON_OBJECT) : NULL;
    for (; k && n < PATTERNS_MAX; k = cw_json_next_key(k))
        ret[n++].key = k;
    return n;
}

static int by_place(const void *a, const void *b)
{
    const cw_json *x = ((const known_pattern *)a)->key, *y = ((const known_pattern *)b)->key;
    return (x > y) - (x < y);
}

static cw_code read_patterns(cw_remote_php_schema *s, cw_arena *arena, cw_err *err)
{
    known_pattern found[PATTERNS_MAX];
    size_t bytes = 0;
    cw_code rc = CW_OK;
    for (const cw_json *v = s->root; v < cw_json_after(s->root); v++) {
        if (v->meta & CW_JSON_KEY)
            s->n_patterns = list_patterns(v, found, s->n_patterns);
    }
    s->patterns = cw_arena_calloc(arena, s->n_patterns + 1, sizeof *s->patterns);
    if (!s->patterns)
        return cw_arena_fail(arena, err);
    qsort(found, s->n_patterns, sizeof *found, by_place);
    for (size_t i = 0; i < s->n_patterns && !rc; i++) {
        known_pattern *p = &s->patterns[i];
        p->key = found[i].key;
        rc = bytes > CW_SCHEMA_MAX_PATTERN_BYTES ? CW_OK : compile(p, arena, err);
        bytes += p->pattern ? cw_pattern_size(p->pattern) : 0;
    }
    return rc;
}

cw_code cw_remote_read_php_schema(cw_str text, cw_arena *arena, const cw_remote_php_schema **ret,
                                  cw_err *err)
{
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    cw_remote_php_schema *s = cw_arena_calloc(arena, 1, sizeof *s);
    if (!s)
        return cw_arena_fail(arena, err);
    cw_code rc = cw_json_read(text, &opts, arena, &s->root, NULL, err);
    if (!rc)
        rc = read_patterns(s, arena, err);
    if (!rc)
        *ret = s;
    return rc;
}

static cw_pattern_match matches(reading *x, const cw_json *key, cw_str name)
{
    const cw_remote_php_schema *s = x->schema;
    const known_pattern wanted = {.key = key};
    const known_pattern *found =
        bsearch(&wanted, s->patterns, s->n_patterns, sizeof *s->patterns, by_place);
    return found && found->pattern ? cw_pattern_test(found->pattern, name, &x->pattern_steps)
                                   : CW_PATTERN_TOO_HARD;
}

/* ---- work ---- */

static bool is_spent(const reading *x)
{
    return x->n_steps > STEPS_MAX || x->n_entries > ENTRIES_MAX;
}

/* False: there was too much work. */
static bool charge(reading *x, size_t n_entries)
{
    if (!is_spent(x))
        x->n_entries += n_entries;
    return !is_spent(x);
}

static size_t count(const cw_json *v)
{
    return is_container(v) ? cw_json_count(v) : 0;
}

/* Count the entries of a list or object that is searched. */
static bool spend(reading *x, const cw_json *v)
{
    return charge(x, count(v));
}

/* A member; NULL also after too much work. Each entry may have nearly the same name. */
static const cw_json *get(reading *x, const cw_json *object, cw_str name)
{
    bool may = charge(x, count(object) * (1 + name.n / COMPARED_BYTES));
    return may ? cw_json_get(object, name) : NULL;
}

/* `b` is no list or object. */
static bool is_equal(reading *x, const cw_json *a, const cw_json *b)
{
    if (cw_json_type_of(a) != cw_json_type_of(b))
        return false;
    size_t each = cw_json_is(b, CW_JSON_NUMBER) ? READ_BYTES : COMPARED_BYTES;
    return charge(x, (cw_json_text(a).n + cw_json_text(b).n) / each) && cw_json_equal(a, b);
}

/* ---- parts of a schema ---- */

/* Count what one token of a JSON pointer costs. An escaped one is read again for each member. */
static bool spend_token(reading *x, const cw_json *v, cw_str token)
{
    size_t each = memchr(token.p, '~', token.n) ? READ_BYTES : COMPARED_BYTES;
    return charge(x, token.n / READ_BYTES + count(v) * (1 + token.n / each));
}

/* The part of the schema that a JSON pointer leads to. */
static const cw_json *part_of(reading *x, cw_str pointer)
{
    const cw_json *v = x->schema->root;
    while (v && pointer.n && !is_spent(x)) {
        const char *next = memchr(pointer.p + 1, '/', pointer.n - 1);
        size_t n = next ? (size_t)(next - pointer.p) : pointer.n;
        cw_str token = cw_str_make(pointer.p, n);
        v = spend_token(x, v, token) ? cw_json_pointer(v, token) : NULL;
        pointer = cw_str_make(pointer.p + n, pointer.n - n);
    }
    return is_spent(x) ? NULL : v;
}

/* The schema that a $ref leads to; NULL: none. */
static const cw_json *target_of(reading *x, const cw_json *schema)
{
    const cw_json *ref = get(x, schema, CW_STR("$ref"));
    cw_str text = cw_json_is(ref, CW_JSON_STRING) ? cw_json_text(ref) : CW_STR("");
    return cw_str_starts(text, CW_STR("#")) ? part_of(x, cw_str_make(text.p + 1, text.n - 1))
                                            : NULL;
}

static bool has_type(reading *x, const cw_json *schema, const char *name)
{
    const cw_json *type = get(x, schema, CW_STR("type"));
    if (cw_json_is(type, CW_JSON_STRING))
        return cw_str_is(cw_json_text(type), name);
    if (!spend(x, type))
        return false;
    for (const cw_json *v = first_of(type, CW_JSON_ARRAY); v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), name))
            return true;
    }
    return false;
}

/* ---- conditions ---- */

/* Whether a value is valid, by the few keywords that are read here. */
typedef enum verdict {
    VERDICT_NO,
    VERDICT_UNKNOWN,
    VERDICT_YES,
} verdict;

static verdict worse(verdict a, verdict b)
{
    return a < b ? a : b;
}

/* A list or object may be written in another way in the schema. */
static verdict judge_member(reading *x, const cw_json *schema, const cw_json *v)
{
    const cw_json *only = get(x, schema, CW_STR("const"));
    const cw_json *list = get(x, schema, CW_STR("enum"));
    if (is_container(v) || (!only && !cw_json_is(list, CW_JSON_ARRAY)))
        return VERDICT_UNKNOWN;
    if (only)
        return is_equal(x, only, v) ? VERDICT_YES : VERDICT_NO;
    const cw_json *one = spend(x, list) ? cw_json_first(list) : NULL;
    for (; one; one = cw_json_next(one)) {
        if (is_equal(x, one, v))
            return VERDICT_YES;
    }
    return VERDICT_NO;
}

static verdict judge_members(reading *x, const cw_json *properties, const cw_json *v)
{
    verdict all = VERDICT_YES;
    const cw_json *k = spend(x, properties) ? first_of(properties, CW_JSON_OBJECT) : NULL;
    for (; k && all != VERDICT_NO; k = cw_json_next_key(k)) {
        const cw_json *member = get(x, v, cw_json_text(k));
        if (member)
            all = worse(all, judge_member(x, cw_json_value(k), member));
    }
    return all;
}

static verdict judge_required(reading *x, const cw_json *names, const cw_json *v)
{
    const cw_json *name = spend(x, names) ? first_of(names, CW_JSON_ARRAY) : NULL;
    for (; name; name = cw_json_next(name)) {
        if (!get(x, v, cw_json_text(name)))
            return VERDICT_NO;
    }
    return VERDICT_YES;
}

/* `v` is an object. */
static verdict judge(reading *x, const cw_json *schema, const cw_json *v, unsigned refs)
{
    verdict all = VERDICT_YES;
    x->n_steps += !is_spent(x);
    if (!cw_json_is(schema, CW_JSON_OBJECT) || !spend(x, schema) || refs == 0)
        return VERDICT_UNKNOWN;
    const cw_json *k = cw_json_first(schema);
    for (; k && all != VERDICT_NO; k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        verdict one = VERDICT_UNKNOWN;
        if (cw_str_is(name, "properties"))
            one = judge_members(x, cw_json_value(k), v);
        else if (cw_str_is(name, "required"))
            one = judge_required(x, cw_json_value(k), v);
        else if (cw_str_is(name, "$ref"))
            one = judge(x, target_of(x, schema), v, refs - 1);
        else if (cw_str_is(name, "type") && has_type(x, schema, "object"))
            one = VERDICT_YES;
        all = worse(all, one);
    }
    return all;
}

static verdict judge_value(reading *x, const cw_json *schema, const cw_json *v)
{
    return cw_json_is(v, CW_JSON_OBJECT) ? judge(x, schema, v, REFS_MAX) : VERDICT_UNKNOWN;
}

/* ---- the schemas of a value ---- */

static bool is_in(const schema_set *set, const cw_json *schema)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (set->items[i] == schema)
            return true;
    }
    return false;
}

static void add(reading *x, schema_set *set, const cw_json *schema, const cw_json *v);

static void add_alternatives(reading *x, schema_set *set, const cw_json *list, const cw_json *v)
{
    const cw_json *one = spend(x, list) ? first_of(list, CW_JSON_ARRAY) : NULL;
    for (; one && !set->is_unknown; one = cw_json_next(one)) {
        if (judge_value(x, one, v) != VERDICT_NO)
            add(x, set, one, v);
    }
}

static void add_conditional(reading *x, schema_set *set, const cw_json *schema, const cw_json *v)
{
    const cw_json *condition = cw_json_get(schema, CW_STR("if"));
    if (!condition)
        return;
    verdict holds = judge_value(x, condition, v);
    if (holds != VERDICT_NO)
        add(x, set, cw_json_get(schema, CW_STR("then")), v);
    if (holds != VERDICT_YES)
        add(x, set, cw_json_get(schema, CW_STR("else")), v);
}

/* Schemas that apply if the value has a member. "dependencies" of draft-07 has lists of names too. */
static void add_dependent(reading *x, schema_set *set, const cw_json *schemas, const cw_json *v)
{
    const cw_json *k = spend(x, schemas) ? first_of(schemas, CW_JSON_OBJECT) : NULL;
    for (; k && !set->is_unknown; k = cw_json_next_key(k)) {
        if (get(x, v, cw_json_text(k)))
            add(x, set, cw_json_value(k), v);
    }
}

/* Add a schema, and those that apply to the same value because of it. */
static void add(reading *x, schema_set *set, const cw_json *schema, const cw_json *v)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT) || set->is_unknown)
        return;
    x->n_steps += !is_spent(x);
    set->is_unknown = !spend(x, schema);
    if (set->is_unknown || is_in(set, schema))
        return;
    set->is_unknown = set->n == SCHEMAS_MAX;
    if (set->is_unknown)
        return;
    set->items[set->n++] = schema;
    add(x, set, target_of(x, schema), v);
    add_alternatives(x, set, cw_json_get(schema, CW_STR("allOf")), v);
    add_alternatives(x, set, cw_json_get(schema, CW_STR("anyOf")), v);
    add_alternatives(x, set, cw_json_get(schema, CW_STR("oneOf")), v);
    add_conditional(x, set, schema, v);
    add_dependent(x, set, cw_json_get(schema, CW_STR("dependentSchemas")), v);
    add_dependent(x, set, cw_json_get(schema, CW_STR("dependencies")), v);
}

/* Add what one schema of an object has for a member. Returns whether the schema names the member. */
static bool add_named(reading *x, schema_set *set, const cw_json *schema, const cw_json *key)
{
    cw_str name = cw_json_text(key);
    const cw_json *named = get(x, get(x, schema, CW_STR("properties")), name);
    const cw_json *patterns = get(x, schema, CW_STR("patternProperties"));
    bool is_found = named;
    add(x, set, named, cw_json_value(key));
    const cw_json *k = first_of(patterns, CW_JSON_OBJECT);
    for (; k && !set->is_unknown; k = cw_json_next_key(k)) {
        cw_pattern_match match = matches(x, k, name);
        set->is_unknown = match == CW_PATTERN_TOO_HARD;
        is_found = is_found || match == CW_PATTERN_YES;
        if (match == CW_PATTERN_YES)
            add(x, set, cw_json_value(k), cw_json_value(key));
    }
    return is_found;
}

static void find_member(reading *x, const schema_set *of_object, const cw_json *key,
                        schema_set *ret)
{
    for (unsigned i = 0; i < of_object->n && !is_spent(x); i++) {
        const cw_json *schema = of_object->items[i];
        if (!add_named(x, ret, schema, key))
            add(x, ret, get(x, schema, CW_STR("additionalProperties")), cw_json_value(key));
    }
}

/* The schemas of elements by their place are "prefixItems", in draft-07 a list in "items". */
static void find_element(reading *x, const schema_set *of_list, size_t index, const cw_json *v,
                         schema_set *ret)
{
    for (unsigned i = 0; i < of_list->n && !is_spent(x); i++) {
        const cw_json *schema = of_list->items[i];
        const cw_json *places = get(x, schema, CW_STR("prefixItems"));
        const cw_json *rest = get(x, schema, CW_STR("items"));
        if (cw_json_is(rest, CW_JSON_ARRAY)) {
            places = rest;
            rest = get(x, schema, CW_STR("additionalItems"));
        }
        const cw_json *placed = spend(x, places) ? cw_json_at(places, index) : NULL;
        add(x, ret, placed ? placed : rest, v);
    }
}

static bool declares(reading *x, const schema_set *set, const char *type)
{
    for (unsigned i = 0; i < set->n; i++) {
        if (has_type(x, set->items[i], type))
            return true;
    }
    return false;
}

/* ---- the result ---- */

static void write_value(reading *x, const cw_json *v, const schema_set *set);

static void write_element(reading *x, const schema_set *of_list, size_t index, const cw_json *v)
{
    schema_set set = {.n = 0};
    find_element(x, of_list, index, v, &set);
    write_value(x, v, &set);
}

static void write_member(reading *x, const schema_set *of_object, const cw_json *key)
{
    schema_set set = {.n = 0};
    find_member(x, of_object, key, &set);
    write_value(x, cw_json_value(key), &set);
}

static void write_list(reading *x, const cw_json *list, const schema_set *set)
{
    size_t index = 0;
    cw_json_open_array(&x->w);
    for (const cw_json *v = cw_json_first(list); v; v = cw_json_next(v), index++) {
        if (is_container(v))
            write_element(x, set, index, v);
        else
            cw_json_add_value(&x->w, v);
    }
    cw_json_close(&x->w);
}

static void write_object(reading *x, const cw_json *object, const schema_set *set)
{
    cw_json_open_object(&x->w);
    for (const cw_json *k = cw_json_first(object); k; k = cw_json_next_key(k)) {
        cw_json_add_key(&x->w, cw_json_text(k));
        if (is_container(cw_json_value(k)))
            write_member(x, set, k);
        else
            cw_json_add_value(&x->w, cw_json_value(k));
    }
    cw_json_close(&x->w);
}

/* Whether an empty list is an object, and surely no list. */
static bool is_object(reading *x, const schema_set *set)
{
    return declares(x, set, "object") && !declares(x, set, "array") && !is_spent(x);
}

/* The reader has bounded the depth of the recursion. */
static void write_value(reading *x, const cw_json *v, const schema_set *set)
{
    bool is_list = cw_json_is(v, CW_JSON_ARRAY);
    if (set->n == 0 || set->is_unknown || is_spent(x) || !is_container(v)) {
        cw_json_add_value(&x->w, v);
    } else if (is_list && cw_json_count(v) == 0 && is_object(x, set)) {
        x->is_changed = true;
        cw_json_open_object(&x->w);
        cw_json_close(&x->w);
    } else if (is_list) {
        write_list(x, v, set);
    } else {
        write_object(x, v, set);
    }
}

/* Whether a text contains "[]", also with white space in it. One in a string only costs time. */
static bool may_have_empty(cw_str text)
{
    for (const char *p = text.p, *end = text.p + text.n; p; p++) {
        p = memchr(p, '[', (size_t)(end - p));
        if (!p)
            return false;
        const char *next = p + 1;
        while (next < end && (*next == ' ' || *next == '\n' || *next == '\r' || *next == '\t'))
            next++;
        if (next < end && *next == ']')
            return true;
    }
    return false;
}

cw_code cw_remote_decode_php_result(const cw_remote_php_schema *schema, cw_arena *arena,
                                    const cw_json **result)
{
    cw_str span = cw_json_span(*result);
    if (!may_have_empty(span))
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    reading x = {.schema = schema, .pattern_steps = PATTERN_STEPS};
    schema_set of_result = {.n = 0};
    cw_buf_init(&out, span.n + 64); /* nothing gets longer */
    cw_json_writer_init(&x.w, &out, CW_JSON_COMPACT);
    add(&x, &of_result, schema->root, *result);
    write_value(&x, *result, &of_result);
    cw_code rc = cw_json_writer_end(&x.w, NULL);
    if (rc || !x.is_changed)
        return rc == CW_NOMEM ? rc : CW_OK;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&out));
    const cw_json_opts opts = {.max_bytes = text.n + 1, .max_depth = CW_JSON_DEPTH_CEILING};
    return text.p ? cw_json_read(text, &opts, arena, result, NULL, NULL) : CW_NOMEM;
}
