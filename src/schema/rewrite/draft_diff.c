/* SPDX-License-Identifier: GPL-2.0-or-later */
/* draft_diff.c - finds keywords that differ between drafts. */
#include "schema/rewrite/draft_diff.h"

#include "json/write.h"
#include "schema/model/model.h"

/* One step of the way from the root to a keyword. */
typedef struct step {
    const cw_json *in;    /* object or array */
    const cw_json *child; /* its key or item that was gone to */
    size_t index;         /* of the child */
    size_t n;             /* bytes of the pointer before it */
} step;

/* Finding each keyword from the root down would take as long as all that stands before it, every
 * time. The way to the last one is kept instead, and what lies on the way to the next as well is
 * not gone again. */
typedef struct differ {
    const cw_schema *s;
    cw_schema_difference_fn fn;
    void *ctx;
    const sub *at;
    bool is_over;
    cw_buf pointer; /* to the keyword */
    uint32_t n_steps;
    step steps[CW_JSON_DEPTH_CEILING];
} differ;

typedef struct row {
    const char *name;
    const char *text;
    bool (*applies)(const cw_json *schema, const cw_json *value); /* NULL: always */
} row;

/* ---- when it makes a difference ---- */

static bool is_array(const cw_json *schema, const cw_json *value)
{
    (void)schema;
    return cw_json_is(value, CW_JSON_ARRAY);
}

/* Without an array of items, both drafts ignore it. */
static bool follows_array(const cw_json *schema, const cw_json *value)
{
    (void)value;
    return cw_json_is(cw_json_get(schema, CW_STR("items")), CW_JSON_ARRAY);
}

static bool has_fragment(const cw_json *schema, const cw_json *value)
{
    (void)schema;
    cw_str id = cw_json_is(value, CW_JSON_STRING) ? cw_json_text(value) : CW_STR("");
    const char *hash = id.n ? memchr(id.p, '#', id.n) : NULL;
    return hash && hash + 1 < id.p + id.n;
}

static bool follows_contains(const cw_json *schema, const cw_json *value)
{
    (void)value;
    return cw_json_get(schema, CW_STR("contains")) != NULL;
}

#define ONLY_2020 "ignored in draft-07, counts in 2020-12"

static const row rows[] = {
    {"items", "an array is not allowed in 2020-12, which has prefixItems", is_array},
    {"additionalItems", "ignored in 2020-12, where items says what follows prefixItems",
     follows_array},
    {"dependencies", "ignored in 2020-12, which has dependentRequired and dependentSchemas", NULL},
    {"$id", "a name behind '#' is not allowed in 2020-12, which has $anchor", has_fragment},
    {"prefixItems", ONLY_2020, NULL},
    {"minContains", ONLY_2020, follows_contains},
    {"maxContains", ONLY_2020, follows_contains},
    {"dependentRequired", ONLY_2020, NULL},
    {"dependentSchemas", ONLY_2020, NULL},
    {"unevaluatedItems", ONLY_2020, NULL},
    {"unevaluatedProperties", ONLY_2020, NULL},
    {"$dynamicRef", ONLY_2020, NULL},
};

static const row beside_ref = {NULL, "ignored next to $ref in draft-07, counts in 2020-12", NULL};

static const row *find_row(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(rows); i++) {
        if (cw_str_is(name, rows[i].name))
            return &rows[i];
    }
    return NULL;
}

/* ---- one subschema ---- */

static bool holds(const cw_json *v, const cw_json *at)
{
    return v < at && at < cw_json_after(v);
}

static void enter(differ *d, const cw_json *v)
{
    d->steps[d->n_steps++] =
        (step){.in = v, .child = cw_json_first(v), .index = 0, .n = d->pointer.n};
}

/* To the child that is `key` or holds it, and its part of the pointer. */
static void go_on(differ *d, step *at, const cw_json *key)
{
    bool object = cw_json_is(at->in, CW_JSON_OBJECT);
    if (at->child > key) {
        at->child = cw_json_first(at->in);
        at->index = 0;
    }
    while (cw_json_after(at->child + object) <= key) {
        at->child = cw_json_next(at->child + object);
        at->index++;
    }
    d->pointer.n = at->n;
    cw_buf_add_char(&d->pointer, '/');
    if (object)
        cw_json_escape_token(&d->pointer, cw_json_text(at->child));
    else
        cw_buf_add_u64(&d->pointer, at->index);
}

/* Make the pointer to a key of the document. */
static void go_to(differ *d, const cw_json *key)
{
    while (d->n_steps > 0 && !holds(d->steps[d->n_steps - 1].in, key))
        d->n_steps--;
    if (d->n_steps == 0) {
        d->pointer.n = 0;
        enter(d, d->s->docs[0].root);
    }
    for (;;) {
        step *at = &d->steps[d->n_steps - 1];
        go_on(d, at, key);
        if (at->child == key || d->pointer.code)
            return;
        enter(d, at->child + cw_json_is(at->in, CW_JSON_OBJECT));
    }
}

static void report(differ *d, const cw_json *key, const row *r)
{
    go_to(d, key);
    cw_schema_difference found = {
        .pointer = cw_buf_str(&d->pointer), .keyword = cw_json_text(key), .text = r->text};
    if (!d->pointer.code)
        d->is_over = !d->fn(&found, d->ctx);
}

/* Draft-07 sees nothing but the reference; 2020-12 also sees what takes part in evaluation, and a
 * new base for the reference. */
static void scan_beside_ref(differ *d)
{
    for (const cw_json *k = cw_json_first(d->at->value); k && !d->is_over;
         k = cw_json_next_key(k)) {
        const kw_row *known = cw_schema_keyword(cw_json_text(k), CW_SCHEMA_2020_12, VOCAB_STANDARD);
        if (known && known->id != KW_REF && (known->id < KW_EVALUATED || known->id == KW_ID))
            report(d, k, &beside_ref);
    }
}

static void scan(differ *d)
{
    const cw_json *schema = d->at->value;
    if (cw_json_is(cw_json_get(schema, CW_STR("$ref")), CW_JSON_STRING)) {
        scan_beside_ref(d);
        return;
    }
    for (const cw_json *k = cw_json_first(schema); k && !d->is_over; k = cw_json_next_key(k)) {
        const row *r = find_row(cw_json_text(k));
        if (r && (!r->applies || r->applies(schema, k + 1)))
            report(d, k, r);
    }
}

/* ---- public ---- */

bool cw_schema_may_differ(const cw_json *doc)
{
    const cw_json *end = cw_json_after(doc);
    /* Every key and every string of the tape; a value that reads like a keyword costs a second
     * look. */
    for (const cw_json *v = doc; v < end; v++) {
        if (!cw_json_is(v, CW_JSON_STRING))
            continue;
        cw_str text = cw_json_text(v);
        if (cw_str_is(text, "$ref") || find_row(text))
            return true;
    }
    return false;
}

cw_code cw_schema_differences(const cw_schema *s, cw_schema_difference_fn fn, void *ctx)
{
    CW_UNINIT differ d;
    d.s = s;
    d.fn = fn;
    d.ctx = ctx;
    d.is_over = false;
    d.n_steps = 0;
    /* A pointer is hardly longer than the document, which has a ceiling. */
    cw_buf_init(&d.pointer, CW_BUF_MAX);
    for (uint32_t i = 1; i < s->n_subs && !d.pointer.code && !d.is_over; i++) {
        const resource *r = &s->resources[s->subs[i].resource];
        d.at = &s->subs[i];
        if (r->doc == 0 && r->draft == CW_SCHEMA_DRAFT_07 &&
            cw_json_is(d.at->value, CW_JSON_OBJECT))
            scan(&d);
    }
    cw_code rc = d.pointer.code;
    cw_buf_done(&d.pointer);
    return rc;
}
