/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method_schemas.c - compiles the schemas of methods on demand. */
#include "catalogue/method_schemas.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"

/* A schema text that occurs, with what became of it. */
typedef struct text {
    const cw_str *schema;          /* of a parameter or method */
    _Atomic(cw_schema *) compiled; /* NULL: not needed yet */
} text;

struct cw_method_schemas {
    atomic_uint refs;
    cw_schema_policy policy;
    const cw_method *methods;
    size_t n_methods;
    uint32_t *firsts; /* of each method, in places */
    uint32_t *places; /* text of each parameter, of the result, of the input; 0: anything goes */
    text *texts;      /* [0] is none */
    size_t n_texts;
};

/* While contracts are made. */
typedef struct maker {
    cw_method_schemas *c;
    cw_map seen; /* schema text -> text */
    uint32_t n_places;
    cw_arena trees; /* of the schema that is being checked */
    cw_err *err;
} maker;

static cw_schema_opts options(const cw_schema_policy *policy)
{
    /* The validating code limits the work per value. */
    return (cw_schema_opts){.draft = policy->draft,
                            .annotate_formats = policy->annotate_formats,
                            .max_steps = UINT64_MAX};
}

static bool says_nothing(cw_str schema)
{
    return schema.n == 0 || cw_str_is(schema, "true") || cw_str_is(schema, "{}");
}

static cw_code compile_text(cw_str schema, const cw_schema_opts *opts, cw_arena *arena,
                            cw_schema **ret, cw_err *err)
{
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tree;
    cw_code rc = cw_json_read(schema, &deep, arena, &tree, NULL, err);
    return rc ? rc : cw_schema_compile(tree, opts, ret, err);
}

/* Everything but a lack of memory is a mistake in the schema, a ceiling that it is over included.
 */
static cw_code check(maker *m, cw_str schema)
{
    cw_schema_opts opts = options(&m->c->policy);
    cw_schema *compiled = NULL;
    cw_arena_reset(&m->trees);
    cw_code rc = compile_text(schema, &opts, &m->trees, &compiled, m->err);
    cw_schema_unref(compiled);
    if (rc && rc != CW_NOMEM)
        return cw_wrap(m->err, CW_PARAMS, "schema");
    return rc;
}

static cw_code add_place(maker *m, const cw_str *schema)
{
    cw_method_schemas *c = m->c;
    uint32_t *place = &c->places[m->n_places++];
    if (says_nothing(*schema))
        return CW_OK;
    const text *known = cw_map_find(&m->seen, *schema);
    if (known) {
        *place = (uint32_t)(known - c->texts);
        return CW_OK;
    }
    cw_code rc = check(m, *schema);
    if (rc)
        return rc;
    text *fresh = &c->texts[c->n_texts];
    if (cw_map_put(&m->seen, *schema, fresh, NULL))
        return cw_fail_nomem(m->err);
    fresh->schema = schema;
    atomic_init(&fresh->compiled, NULL);
    *place = (uint32_t)c->n_texts++;
    return CW_OK;
}

static cw_code add_method(maker *m, const cw_method *method)
{
    for (size_t i = 0; i < method->n_params; i++) {
        cw_code rc = add_place(m, &method->params[i].schema);
        if (rc)
            return cw_wrap(m->err, rc, "param '%.*s'", CW_STR_ARG(method->params[i].name));
    }
    cw_code rc = add_place(m, &method->output);
    if (rc)
        return cw_wrap(m->err, rc, "result");
    rc = add_place(m, &method->input);
    return rc ? cw_wrap(m->err, rc, "input") : CW_OK;
}

static cw_code fill(maker *m)
{
    cw_method_schemas *c = m->c;
    for (size_t i = 0; i < c->n_methods; i++) {
        c->firsts[i] = m->n_places;
        cw_code rc = add_method(m, &c->methods[i]);
        if (rc == CW_NOMEM)
            return cw_fail_nomem(m->err);
        if (rc)
            return cw_wrap(m->err, rc, "method '%.*s'", CW_STR_ARG(c->methods[i].id));
    }
    /* Many places have a text that another one has. */
    text *fitting = realloc(c->texts, c->n_texts * sizeof *c->texts);
    if (!fitting)
        return cw_fail_nomem(m->err);
    c->texts = fitting;
    return CW_OK;
}

cw_code cw_method_schemas_new(const cw_method *methods, size_t n, const cw_schema_policy *policy,
                              cw_method_schemas **ret, cw_err *err)
{
    size_t n_places = 2 * n; /* result and input of each */
    for (size_t i = 0; i < n; i++)
        n_places += methods[i].n_params;
    cw_method_schemas *c = calloc(1, sizeof *c);
    if (!c)
        return cw_fail_nomem(err);
    atomic_init(&c->refs, 1);
    c->policy = *policy;
    c->methods = methods;
    c->n_methods = n;
    c->n_texts = 1;
    c->firsts = calloc(n + 1, sizeof *c->firsts);
    c->places = calloc(n_places + 1, sizeof *c->places);
    c->texts = calloc(n_places + 1, sizeof *c->texts);
    maker m = {.c = c, .err = err};
    cw_map_init(&m.seen, n_places + 1);
    cw_arena_init(&m.trees, CW_ARENA_MAX);
    cw_code rc = c->firsts && c->places && c->texts ? fill(&m) : cw_fail_nomem(err);
    cw_arena_done(&m.trees);
    cw_map_done(&m.seen);
    if (rc)
        cw_method_schemas_unref(c);
    else
        *ret = c;
    return rc;
}

cw_method_schemas *cw_method_schemas_ref(cw_method_schemas *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

void cw_method_schemas_unref(cw_method_schemas *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 1; c->texts && i < c->n_texts; i++)
        cw_schema_unref(atomic_load_explicit(&c->texts[i].compiled, memory_order_relaxed));
    free(c->texts);
    free(c->places);
    free(c->firsts);
    free(c);
}

bool cw_method_schemas_fit(const cw_method_schemas *c, const cw_method *methods, size_t n,
                           const cw_schema_policy *policy)
{
    return c->methods == methods && c->n_methods == n && c->policy.draft == policy->draft &&
           c->policy.annotate_formats == policy->annotate_formats;
}

/* Two loops may do this at once: the first one's schema stays. */
static cw_code compile(const cw_method_schemas *c, text *t, const cw_schema **ret, cw_err *err)
{
    /* Its meta-schema has been asked already. */
    cw_schema_opts opts = options(&c->policy);
    opts.skip_meta = true;
    cw_schema *fresh;
    cw_arena trees;
    cw_arena_init(&trees, CW_ARENA_MAX);
    cw_code rc = compile_text(*t->schema, &opts, &trees, &fresh, err);
    cw_arena_done(&trees);
    if (rc)
        return rc;
    cw_schema *other = NULL;
    if (atomic_compare_exchange_strong_explicit(&t->compiled, &other, fresh, memory_order_acq_rel,
                                                memory_order_acquire)) {
        *ret = fresh;
        return CW_OK;
    }
    cw_schema_unref(fresh);
    *ret = other;
    return CW_OK;
}

static cw_code find(cw_method_schemas *c, size_t place, const cw_schema **ret, cw_err *err)
{
    uint32_t index = c->places[place];
    text *t = &c->texts[index];
    *ret = index ? atomic_load_explicit(&t->compiled, memory_order_acquire) : NULL;
    return CW_LIKELY(!index || *ret) ? CW_OK : compile(c, t, ret, err);
}

cw_code cw_method_schemas_param(cw_method_schemas *c, const cw_method *method, size_t param,
                                const cw_schema **ret, cw_err *err)
{
    return find(c, c->firsts[method - c->methods] + param, ret, err);
}

cw_code cw_method_schemas_result(cw_method_schemas *c, const cw_method *method,
                                 const cw_schema **ret, cw_err *err)
{
    return find(c, c->firsts[method - c->methods] + method->n_params, ret, err);
}

cw_code cw_method_schemas_input(cw_method_schemas *c, const cw_method *method,
                                const cw_schema **ret, cw_err *err)
{
    return find(c, c->firsts[method - c->methods] + method->n_params + 1, ret, err);
}
