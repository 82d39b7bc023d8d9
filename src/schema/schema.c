/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema.c - from a document to a compiled schema, and its life. */
#include <stdlib.h>

#include "schema/model/model.h"

#define DEPTH_CEILING 256u

/* The schema's own memory: tape and tables of all its documents. */
#define ARENA_FACTOR 64u

/* Far beyond what 10,000 subschemas need; candidates of dynamic references multiply, though. */
#define CODE_MAX (64u * 1024u * 1024u)

static cw_schema_opts with_defaults(const cw_schema_opts *opts)
{
    cw_schema_opts o = opts ? *opts : (cw_schema_opts){0};
    if (!o.max_bytes)
        o.max_bytes = CW_SCHEMA_MAX_BYTES;
    if (!o.max_depth)
        o.max_depth = CW_SCHEMA_MAX_DEPTH;
    if (o.max_depth > DEPTH_CEILING)
        o.max_depth = DEPTH_CEILING;
    if (!o.max_subschemas)
        o.max_subschemas = CW_SCHEMA_MAX_SUBSCHEMAS;
    if (!o.max_refs)
        o.max_refs = CW_SCHEMA_MAX_REFS;
    if (!o.max_recursion)
        o.max_recursion = CW_SCHEMA_MAX_RECURSION;
    if (!o.max_steps)
        o.max_steps = CW_SCHEMA_MAX_STEPS;
    if (!o.base_uri.p)
        o.base_uri = CW_STR("");
    return o;
}

static void destroy(cw_schema *s)
{
    for (uint32_t i = 0; i < s->n_patterns; i++)
        cw_pattern_free(s->patterns[i]);
    free(s->patterns);
    free(s->formats);
    free(s->consts);
    free(s->docs);
    free(s->resources);
    free(s->keywords);
    free(s->subs);
    free(s->dynamics);
    cw_buf_done(&s->code);
    cw_arena_done(&s->arena);
    free(s);
}

/* Entry 0 of the tables that links point into stays empty. */
static cw_code reserve_zero(builder *b)
{
    cw_schema *s = b->s;
    if (!GROW(s, subs) || !GROW(s, patterns))
        return cw_fail_nomem(b->err);
    s->subs[s->n_subs++] = (sub){0};
    s->patterns[s->n_patterns++] = NULL;
    return CW_OK;
}

static cw_code check_meta(builder *b)
{
    /* A part with another dialect, or a meta-schema of its own, is checked by the scan alone. */
    if (b->opts.skip_meta || b->mixed || b->custom)
        return CW_OK;
    cw_schema *s = b->s;
    const cw_schema *meta;
    cw_schema_draft draft = (cw_schema_draft)s->resources[s->subs[s->root].resource].draft;
    cw_code rc = cw_schema_meta(draft, &meta, b->err);
    if (rc)
        return rc;
    rc = cw_schema_validate(meta, s->docs[0].root, NULL);
    if (rc == CW_OK)
        return CW_OK;
    if (rc != CW_PARAMS)
        return cw_fail(b->err, rc, "checking the schema: %s", cw_code_text(rc));
    cw_arena arena;
    cw_arena_init(&arena, 1u << 20);
    cw_schema_report report = {0};
    const cw_schema_explain_opts opts = {.max_problems = 1};
    rc = cw_schema_explain(meta, s->docs[0].root, &opts, &arena, &report, b->err);
    if (rc == CW_PARAMS && report.n > 0) {
        const cw_schema_problem *p = &report.problems[0];
        cw_fail(b->err, rc, "%.*s: %.*s",
                CW_STR_ARG(p->instance_pointer.n ? p->instance_pointer : CW_STR("the schema")),
                CW_STR_ARG(p->message));
    }
    cw_arena_done(&arena);
    return rc ? rc : cw_fail(b->err, CW_INTERNAL, "the meta-schema check contradicts itself");
}

static cw_code build(builder *b, cw_str text)
{
    cw_schema *s = b->s;
    uint32_t doc = 0;
    cw_code rc = reserve_zero(b);
    if (!rc)
        rc = cw_schema_add_document(b, b->opts.base_uri, text, /* copy= */ true, &doc);
    if (rc)
        return rc;
    s->root = s->docs[doc].links[0];
    rc = check_meta(b);
    if (!rc)
        rc = cw_schema_resolve(b);
    if (!rc && !b->opts.skip_program)
        rc = cw_schema_emit(b);
    return rc;
}

cw_code cw_schema_compile_text(cw_str text, const cw_schema_opts *opts, cw_schema **ret,
                               cw_err *err)
{
    builder b = {.opts = with_defaults(opts), .err = err};
    if (text.n > b.opts.max_bytes)
        return cw_fail(err, CW_LIMIT, "the schema is larger than %zu bytes", b.opts.max_bytes);
    b.s = calloc(1, sizeof *b.s);
    if (!b.s)
        return cw_fail_nomem(err);
    atomic_init(&b.s->refs, 1);
    b.s->max_steps = b.opts.max_steps > INT64_MAX ? INT64_MAX : (int64_t)b.opts.max_steps;
    b.s->max_recursion = b.opts.max_recursion;
    cw_arena_init(&b.s->arena, ARENA_FACTOR * b.opts.max_bytes + (1u << 20));
    cw_buf_init(&b.s->code, CODE_MAX);
    cw_buf_init(&b.list, CODE_MAX);
    cw_buf_init(&b.leaf, CODE_MAX);
    cw_map_init(&b.ids, (size_t)b.opts.max_subschemas * 4 + 16);
    cw_json_pointer_index_init(&b.index);
    cw_code rc = build(&b, text);
    cw_json_pointer_index_done(&b.index);
    cw_map_done(&b.ids);
    free(b.work);
    cw_buf_done(&b.list);
    cw_buf_done(&b.leaf);
    if (rc) {
        destroy(b.s);
        return rc;
    }
    *ret = b.s;
    return CW_OK;
}

cw_code cw_schema_compile(const cw_json *doc, const cw_schema_opts *opts, cw_schema **ret,
                          cw_err *err)
{
    return cw_schema_compile_text(cw_json_span(doc), opts, ret, err);
}

void cw_schema_unref(cw_schema *s)
{
    if (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1)
        destroy(s);
}

const cw_json *cw_schema_root(const cw_schema *s)
{
    return s->docs[0].root;
}

cw_schema_draft cw_schema_draft_of(const cw_schema *s)
{
    return (cw_schema_draft)s->resources[s->subs[s->root].resource].draft;
}
