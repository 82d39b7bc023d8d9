/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable_top.c - the top level of a portable schema: merged properties, portable names, the note.
 *
 * Subschemas that apply to all arguments are either certain (the root, allOf, $ref) or branches, of
 * which some apply (anyOf, oneOf, then and else, dependentSchemas). A property of a certain one is
 * shown with its schema. A property of branches is shown with the schemas of those that declare it,
 * and accepts any value if a branch that accepts other properties does not declare it.
 */
#include <stdio.h>

#include "base/ascii.h"
#include "base/fnv.h"
#include "schema/rewrite/portable_int.h"

#define MAX_SCHEMAS 8u   /* of one property; the rest is dropped, or accepts anything */
#define MAX_GROUPS 16u   /* groups of branches */
#define MAX_BRANCHES 64u /* of one group */
#define NOTE_MAX 1000u   /* bytes */
#define DIGEST 10u       /* hexadecimal digits of a name's hash */

#define MORE_RULES "The server checks more rules than this schema shows."

typedef struct property {
    struct property *next;
    cw_str name, shown;
    uint32_t certain[MAX_SCHEMAS], n_certain;
    uint32_t branches[MAX_SCHEMAS], n_branches;
    uint32_t group;          /* that the branches belong to; 0: none */
    uint32_t last_branch;    /* of the group that is being read, that declares it */
    uint32_t last_requiring; /* likewise, that requires it */
    uint32_t n_open,
        n_requiring; /* of its branches: open ones that declare it, ones that need it */
    bool is_any;     /* a branch accepts any value of it */
    bool is_declared, is_required;
} property;

/* Branches of which some apply to the arguments. */
typedef struct group {
    kw_id kind;         /* KW_ANY_OF, KW_ONE_OF, KW_IF, KW_DEPENDENT_SCHEMAS */
    const cw_json *key; /* of a dependent schema: the name that it depends on */
    uint32_t subs[MAX_BRANCHES], n;
    bool has_other; /* arguments may match none of them */
} group;

typedef struct merger {
    portable_writer p;
    cw_arena *arena; /* of the result */
    property *first, **last;
    cw_map by_name;
    cw_map by_shown; /* of those whose own names are not portable */
    property shared; /* stands there for two that would have one name */
    group *groups[MAX_GROUPS];
    uint32_t n_groups;
    uint32_t group, branch; /* that are being read, from 1 */
    bool has_inplace;       /* the root applies other schemas to the arguments */
    size_t n_renames;
    cw_buf note;
} merger;

static void merger_done(merger *m)
{
    cw_map_done(&m->by_name);
    cw_map_done(&m->by_shown);
    cw_buf_done(&m->note);
}

/* ---- properties ---- */

/* NULL without memory. */
static property *property_of(merger *m, cw_str name)
{
    property *one = cw_map_find(&m->by_name, name);
    if (one || m->p.code)
        return one;
    one = cw_arena_calloc(m->p.arena, 1, sizeof *one);
    if (!one || cw_map_put(&m->by_name, name, one, NULL)) {
        m->p.code = CW_NOMEM;
        return NULL;
    }
    one->name = one->shown = name;
    *m->last = one;
    m->last = &one->next;
    return one;
}

static bool is_trivial(const cw_json *schema)
{
    if (!cw_json_is(schema, CW_JSON_OBJECT))
        return cw_json_is(schema, CW_JSON_TRUE);
    for (const cw_json *k = cw_json_first(schema); k; k = cw_json_next_key(k)) {
        const kw_row *row = cw_schema_keyword(cw_json_text(k), CW_SCHEMA_2020_12, VOCAB_STANDARD);
        if (row && row->id < KW_EVALUATED)
            return false;
    }
    return true;
}

static void add_certain(merger *m, cw_str name, uint32_t index)
{
    property *one = property_of(m, name);
    if (!one)
        return;
    one->is_declared = true;
    if (one->n_certain == 1 && is_trivial(m->p.s->subs[one->certain[0]].value))
        one->n_certain = 0;
    bool is_new = one->n_certain == 0 || !is_trivial(m->p.s->subs[index].value);
    for (uint32_t i = 0; i < one->n_certain; i++)
        is_new &= one->certain[i] != index;
    if (is_new && one->n_certain < MAX_SCHEMAS)
        one->certain[one->n_certain++] = index;
    else
        m->p.is_widened |= is_new;
}

static void add_branch(merger *m, cw_str name, uint32_t index, bool is_open)
{
    property *one = property_of(m, name);
    if (!one)
        return;
    one->is_declared = true;
    if (one->group && one->group != m->group)
        return; /* another group shows it */
    one->group = m->group;
    if (one->last_branch != m->branch)
        one->n_open += is_open;
    one->last_branch = m->branch;
    if (one->n_branches < MAX_SCHEMAS)
        one->branches[one->n_branches++] = index;
    else
        one->is_any = true;
}

/* ---- certain subschemas ---- */

static void collect(merger *m, uint32_t index, uint32_t depth);

static void collect_all(merger *m, const sub *at, const cw_json *list, uint32_t depth)
{
    for (const cw_json *c = cw_json_first(list); c; c = cw_json_next(c))
        collect(m, cw_schema_link(m->p.s, at, c), depth);
}

static group *new_group(merger *m, kw_id kind)
{
    group *g = m->n_groups < MAX_GROUPS ? cw_arena_calloc(m->p.arena, 1, sizeof *g) : NULL;
    if (!g) {
        m->p.code = m->n_groups < MAX_GROUPS ? CW_NOMEM : CW_LIMIT;
        return NULL;
    }
    g->kind = kind;
    m->groups[m->n_groups++] = g;
    return g;
}

/* A false branch never applies. */
static void add_to_group(merger *m, group *g, const sub *at, const cw_json *v)
{
    if (!g || cw_json_is(v, CW_JSON_FALSE))
        return;
    if (g->n == MAX_BRANCHES)
        m->p.code = CW_LIMIT;
    else
        g->subs[g->n++] = cw_portable_follow(&m->p, cw_schema_link(m->p.s, at, v));
}

static void group_branches(merger *m, const sub *at, const cw_json *list, kw_id kind)
{
    group *g = new_group(m, kind);
    for (const cw_json *c = cw_json_first(list); c && !m->p.code; c = cw_json_next(c))
        add_to_group(m, g, at, c);
}

static void group_conditional(merger *m, const sub *at)
{
    const cw_json *then = cw_json_get(at->value, CW_STR("then"));
    const cw_json *otherwise = cw_json_get(at->value, CW_STR("else"));
    group *g = then || otherwise ? new_group(m, KW_IF) : NULL;
    if (!g)
        return;
    g->key = cw_json_get(at->value, CW_STR("if"));
    g->has_other = !then || !otherwise;
    if (then)
        add_to_group(m, g, at, then);
    if (otherwise)
        add_to_group(m, g, at, otherwise);
}

static void group_dependent(merger *m, const sub *at, const cw_json *map)
{
    for (const cw_json *k = cw_json_first(map); k && !m->p.code; k = cw_json_next_key(k)) {
        if (cw_json_is(k + 1, CW_JSON_ARRAY))
            continue; /* of `dependencies`: a list of names */
        group *g = new_group(m, KW_DEPENDENT_SCHEMAS);
        if (!g)
            return;
        g->key = k;
        g->has_other = true;
        add_to_group(m, g, at, k + 1);
    }
}

static void collect_keyword(merger *m, const sub *at, const keyword *k, bool is_root,
                            uint32_t depth)
{
    const cw_json *v = k->key + 1;
    switch (k->id) {
    case KW_PROPERTIES:
        for (const cw_json *n = cw_json_first(v); n; n = cw_json_next_key(n))
            add_certain(m, cw_json_text(n), cw_schema_link(m->p.s, at, n + 1));
        return;
    case KW_REQUIRED:
        for (const cw_json *n = cw_json_first(v); n; n = cw_json_next(n)) {
            property *one = property_of(m, cw_json_text(n));
            if (one)
                one->is_required = true;
        }
        return;
    case KW_TYPE:
    case KW_THEN:
    case KW_ELSE:
        return;
    default:
        break;
    }
    bool is_inplace = true;
    switch (k->id) {
    case KW_REF:
    case KW_DYNAMIC_REF: {
        uint32_t to = cw_portable_target(&m->p, at, NULL);
        m->p.is_widened |= !to;
        if (to)
            collect(m, to, depth);
        break;
    }
    case KW_ALL_OF:
        collect_all(m, at, v, depth);
        break;
    case KW_ANY_OF:
    case KW_ONE_OF:
        group_branches(m, at, v, k->id);
        break;
    case KW_IF:
        group_conditional(m, at);
        break;
    case KW_DEPENDENT_SCHEMAS:
    case KW_DEPENDENCIES:
        group_dependent(m, at, v);
        break;
    case KW_NOT:
    case KW_ENUM:
    case KW_CONST:
        break;
    default:
        is_inplace = false;
        m->p.is_widened |= !is_root; /* write_rest keeps those of the root */
        break;
    }
    m->has_inplace |= is_inplace;
}

static void collect(merger *m, uint32_t index, uint32_t depth)
{
    const sub *at = &m->p.s->subs[index];
    if (depth > CW_PORTABLE_REF_DEPTH) {
        m->p.is_widened = true;
        return;
    }
    for (uint32_t i = 0; i < at->count && cw_portable_visit(&m->p); i++)
        collect_keyword(m, at, &m->p.s->keywords[at->first + i], depth == 0, depth + 1);
}

/* ---- branches ---- */

/* Only names that it declares itself. */
static bool is_closed(const sub *at)
{
    return cw_json_is(cw_json_get(at->value, CW_STR("additionalProperties")), CW_JSON_FALSE) &&
           !cw_json_get(at->value, CW_STR("patternProperties"));
}

static void require_in_branch(merger *m, const cw_json *names)
{
    for (const cw_json *n = cw_json_first(names); n; n = cw_json_next(n)) {
        property *one = property_of(m, cw_json_text(n));
        if (one && one->last_requiring != m->branch)
            one->n_requiring++;
        if (one)
            one->last_requiring = m->branch;
    }
}

/* The properties and requirements of one branch. */
static void read_branch(merger *m, uint32_t index, bool is_open, uint32_t depth)
{
    const sub *at = &m->p.s->subs[index];
    for (uint32_t i = 0; i < at->count && cw_portable_visit(&m->p); i++) {
        const keyword *k = &m->p.s->keywords[at->first + i];
        const cw_json *v = k->key + 1;
        uint32_t to = 0;
        if (k->id == KW_PROPERTIES) {
            for (const cw_json *n = cw_json_first(v); n; n = cw_json_next_key(n))
                add_branch(m, cw_json_text(n), cw_schema_link(m->p.s, at, n + 1), is_open);
        } else if (k->id == KW_REQUIRED) {
            require_in_branch(m, v);
        } else if (depth < CW_PORTABLE_REF_DEPTH && k->id == KW_ALL_OF) {
            for (const cw_json *c = cw_json_first(v); c; c = cw_json_next(c))
                read_branch(m, cw_schema_link(m->p.s, at, c), is_open, depth + 1);
        } else if (k->id == KW_REF || k->id == KW_DYNAMIC_REF) {
            to = cw_portable_target(&m->p, at, NULL);
        }
        if (to && depth < CW_PORTABLE_REF_DEPTH)
            read_branch(m, to, is_open, depth + 1);
    }
}

static void settle_group(merger *m, const group *g, uint32_t n_open)
{
    for (property *one = m->first; one; one = one->next) {
        if (one->group == m->group && one->n_open < n_open)
            one->is_any = true;
        if (g->n && !g->has_other && one->n_requiring == g->n)
            one->is_required = true;
        one->n_requiring = one->n_open = one->last_branch = one->last_requiring = 0;
    }
}

static void read_group(merger *m, const group *g)
{
    uint32_t n_open = g->has_other;
    m->branch = 0;
    for (uint32_t i = 0; i < g->n && !m->p.code; i++) {
        bool is_open = !is_closed(&m->p.s->subs[g->subs[i]]);
        n_open += is_open;
        m->branch++;
        read_branch(m, g->subs[i], is_open, 0);
    }
    settle_group(m, g, n_open);
}

/* ---- names ---- */

/* The name with '_' for each run of other characters, from its first letter or digit on: Python
 * clients make attributes of properties, and refuse a leading '_'. From the second try on, with a
 * hash. */
static cw_str spell_name(cw_str name, uint64_t try, char room[CW_PORTABLE_PROPERTY_MAX + 1])
{
    size_t n = 0, most = CW_PORTABLE_PROPERTY_MAX - (try ? DIGEST + 2 : 0);
    for (size_t i = 0; i < name.n && n < most; i++) {
        bool is_fit = cw_portable_is_name_char(name.p[i]);
        bool goes_on = i > 0 && !is_fit && !cw_portable_is_name_char(name.p[i - 1]);
        if (n ? !goes_on : cw_is_alnum(name.p[i]))
            room[n++] = is_fit ? name.p[i] : '_';
    }
    if (try && n == 0)
        room[n++] = 'p';
    if (try)
        n += (size_t)snprintf(
            room + n, DIGEST + 2, "_%010llx",
            (unsigned long long)(cw_fnv1a(CW_FNV1A_START ^ try, name) & 0xffffffffffu));
    return cw_str_make(room, n);
}

/* Whether it is the name of a property, or one is shown under it. Two that would be shown under the
 * same name both get a hash, so that their order does not matter. */
static bool is_taken(const merger *m, const property *by, cw_str name)
{
    const property *other = cw_map_find(&m->by_shown, name);
    return name.n == 0 || cw_map_find(&m->by_name, name) || (other && other != by);
}

static void claim_name(merger *m, property *one, cw_str name)
{
    cw_str copy = cw_arena_dup_str(m->arena, name);
    if (!copy.p || cw_map_put(&m->by_shown, copy, one, NULL)) {
        m->p.code = CW_NOMEM;
        return;
    }
    one->shown = copy;
}

/* First the plain spelling of all names. */
static void spell_all(merger *m)
{
    char room[CW_PORTABLE_PROPERTY_MAX + 1];
    for (property *one = m->first; one && !m->p.code; one = one->next) {
        if (!one->is_declared || cw_portable_is_name(one->name))
            continue;
        cw_str name = spell_name(one->name, 0, room);
        m->n_renames++;
        const property *other = cw_map_find(&m->by_shown, name);
        if (!other && name.n)
            claim_name(m, one, name);
        /* The copy of the other one is the key: the map keeps it, and `room` ends here. */
        if (other && other != &m->shared)
            (void)!cw_map_put(&m->by_shown, other->shown, &m->shared, NULL);
    }
}

static void rename_all(merger *m)
{
    char room[CW_PORTABLE_PROPERTY_MAX + 1];
    spell_all(m);
    for (property *one = m->first; one && !m->p.code; one = one->next) {
        if (!one->is_declared || cw_portable_is_name(one->name))
            continue;
        cw_str name = spell_name(one->name, 0, room);
        uint64_t try = 0;
        while (is_taken(m, one, name) && cw_portable_visit(&m->p))
            name = spell_name(one->name, ++try, room);
        if (try)
            claim_name(m, one, name);
    }
}

static cw_code keep_renames(const merger *m, cw_schema_portable *ret)
{
    cw_schema_rename *all = cw_arena_calloc(m->arena, m->n_renames + 1, sizeof *all);
    if (!all)
        return CW_NOMEM;
    for (const property *one = m->first; one; one = one->next) {
        if (one->shown.p == one->name.p)
            continue;
        cw_str own = cw_arena_dup_str(m->arena, one->name);
        if (!own.p)
            return CW_NOMEM;
        all[ret->n_renames++] = (cw_schema_rename){own, one->shown};
    }
    ret->renames = all;
    return CW_OK;
}

static cw_str shown_name(const merger *m, cw_str own)
{
    const property *one = cw_map_find(&m->by_name, own);
    return one ? one->shown : own;
}

/* ---- the note ---- */

/* Add a sentence, or remember that a rule is not described. */
static void tell(merger *m, cw_buf *sentence)
{
    size_t more = sizeof MORE_RULES;
    if (sentence->code == CW_NOMEM)
        m->p.code = CW_NOMEM;
    bool fits = !sentence->code && sentence->n && m->note.n + sentence->n + 1 + more <= NOTE_MAX;
    if (fits && m->note.n)
        cw_buf_add_char(&m->note, ' ');
    if (fits)
        cw_buf_add(&m->note, cw_buf_str(sentence));
    else
        m->p.is_widened = true;
    cw_buf_done(sentence);
}

static void add_name(merger *m, cw_buf *out, cw_str own)
{
    cw_buf_add_char(out, '`');
    cw_buf_add(out, shown_name(m, own));
    cw_buf_add_char(out, '`');
}

/* "`a`, `b` and `c`": names of a list that are not required anyway. */
static size_t add_names(merger *m, cw_buf *out, const cw_json *names, const cw_json *without)
{
    size_t n = 0, begin = out->n, last = 0;
    for (const cw_json *v = names ? cw_json_first(names) : NULL; v; v = cw_json_next(v)) {
        const property *one = cw_map_find(&m->by_name, cw_json_text(v));
        bool is_skipped = without && cw_str_eq(cw_json_text(v), cw_json_text(without));
        if (is_skipped || !one || one->is_required)
            continue;
        if (n++)
            cw_buf_add(out, CW_STR(", "));
        last = out->n;
        add_name(m, out, cw_json_text(v));
    }
    if (n < 2 || out->code)
        return n;
    /* The last comma becomes "and". */
    CW_CLEANUP(cw_buf_done) cw_buf tail;
    cw_buf_init(&tail, NOTE_MAX);
    cw_buf_add_bytes(&tail, out->p + last, out->n - last);
    out->n = last - 2 > begin ? last - 2 : begin;
    cw_buf_add(out, CW_STR(" and "));
    cw_buf_add(out, cw_buf_str(&tail));
    if (tail.code)
        m->p.code = tail.code;
    return n;
}

/* Whether nothing but required names is in a branch. */
static bool only_requires(const sub *at)
{
    for (const cw_json *k = cw_json_first(at->value); k; k = cw_json_next_key(k)) {
        const kw_row *row = cw_schema_keyword(cw_json_text(k), CW_SCHEMA_2020_12, VOCAB_STANDARD);
        if (row && row->id < KW_EVALUATED && row->id != KW_REQUIRED && row->id != KW_TYPE)
            return false;
    }
    return true;
}

/* A property whose value tells that a branch is meant: its key, or NULL. */
static const cw_json *discriminator(const cw_json *schema, const cw_json **ret_value)
{
    const cw_json *all = cw_json_get(schema, CW_STR("properties"));
    for (const cw_json *k = all ? cw_json_first(all) : NULL; k; k = cw_json_next_key(k)) {
        const cw_json *v = cw_json_get(k + 1, CW_STR("const"));
        const cw_json *list = cw_json_get(k + 1, CW_STR("enum"));
        if (!v && cw_json_is(list, CW_JSON_ARRAY) && cw_json_count(list) == 1)
            v = cw_json_first(list);
        *ret_value = v;
        if (v && cw_json_span(v).n <= 100)
            return k;
    }
    return NULL;
}

/* "If `kind` is "circle", give `radius`." */
static void tell_condition(merger *m, const cw_json *schema, const cw_json *names)
{
    cw_buf out;
    const cw_json *value;
    const cw_json *key = discriminator(schema, &value);
    cw_buf_init(&out, NOTE_MAX);
    if (key) {
        cw_buf_add(&out, CW_STR("If "));
        add_name(m, &out, cw_json_text(key));
        cw_buf_add(&out, CW_STR(" is "));
        cw_buf_add(&out, cw_json_span(value));
        cw_buf_add(&out, CW_STR(", give "));
    }
    bool is_told = key && add_names(m, &out, names, key) > 0;
    if (is_told)
        cw_buf_add_char(&out, '.');
    else
        cw_buf_clear(&out);
    tell(m, &out);
}

/* "Give `a` or `b`.": each branch requires something else. False: one requires nothing. */
static bool tell_choice(merger *m, const group *g)
{
    cw_buf out;
    bool is_all = g->n > 1;
    cw_buf_init(&out, NOTE_MAX);
    cw_buf_add(&out, g->kind == KW_ONE_OF ? CW_STR("Give exactly one: ") : CW_STR("Give "));
    for (uint32_t i = 0; i < g->n && is_all; i++) {
        const sub *at = &m->p.s->subs[g->subs[i]];
        if (i)
            cw_buf_add(&out, i + 1 < g->n ? CW_STR(", ") : CW_STR(" or "));
        is_all = add_names(m, &out, cw_json_get(at->value, CW_STR("required")), NULL) > 0;
    }
    cw_buf_add_char(&out, '.');
    if (is_all)
        tell(m, &out);
    else
        cw_buf_done(&out);
    return is_all;
}

/* "With `a`, give `b`." */
static void tell_dependency(merger *m, const group *g)
{
    cw_buf out;
    cw_buf_init(&out, NOTE_MAX);
    cw_buf_add(&out, CW_STR("With "));
    add_name(m, &out, cw_json_text(g->key));
    cw_buf_add(&out, CW_STR(", give "));
    const sub *at = g->n ? &m->p.s->subs[g->subs[0]] : NULL;
    const cw_json *names = at ? cw_json_get(at->value, CW_STR("required")) : NULL;
    if (add_names(m, &out, names, NULL) > 0)
        cw_buf_add_char(&out, '.');
    else
        cw_buf_clear(&out);
    m->p.is_widened |= !at || !only_requires(at);
    tell(m, &out);
}

static void tell_group(merger *m, const group *g)
{
    bool is_plain = true;
    for (uint32_t i = 0; i < g->n; i++)
        is_plain &= only_requires(&m->p.s->subs[g->subs[i]]);
    m->p.is_widened |= !is_plain || g->kind == KW_IF;
    if (g->kind == KW_DEPENDENT_SCHEMAS) {
        tell_dependency(m, g);
        return;
    }
    if (g->kind == KW_IF) {
        if (g->n && !cw_json_is(g->key, CW_JSON_FALSE))
            tell_condition(m, g->key,
                           cw_json_get(m->p.s->subs[g->subs[0]].value, CW_STR("required")));
        return;
    }
    const cw_json *ignored;
    bool has_kinds = g->n > 1;
    for (uint32_t i = 0; i < g->n; i++)
        has_kinds &= discriminator(m->p.s->subs[g->subs[i]].value, &ignored) != NULL;
    if (!has_kinds && tell_choice(m, g))
        return;
    m->p.is_widened = true;
    for (uint32_t i = 0; i < g->n && has_kinds; i++) {
        const cw_json *schema = m->p.s->subs[g->subs[i]].value;
        tell_condition(m, schema, cw_json_get(schema, CW_STR("required")));
    }
}

/* "Do not give `a` and `b` together." */
static void tell_not(merger *m, const cw_json *schema)
{
    cw_buf out;
    const cw_json *names = cw_json_get(schema, CW_STR("required"));
    cw_buf_init(&out, NOTE_MAX);
    cw_buf_add(&out, CW_STR("Do not give "));
    bool is_told = names && cw_json_count(schema) == 1;
    size_t n = is_told ? add_names(m, &out, names, NULL) : 0;
    if (n && n == cw_json_count(names))
        cw_buf_add(&out, n > 1 ? CW_STR(" together.") : CW_STR("."));
    else
        cw_buf_clear(&out);
    tell(m, &out);
}

static void tell_all(merger *m, uint32_t root)
{
    const sub *at = &m->p.s->subs[root];
    for (uint32_t i = 0; i < m->n_groups && !m->p.code; i++)
        tell_group(m, m->groups[i]);
    for (uint32_t i = 0; i < at->count; i++) {
        const keyword *k = &m->p.s->keywords[at->first + i];
        if (k->id == KW_NOT)
            tell_not(m, k->key + 1);
        m->p.is_widened |= k->id == KW_ENUM || k->id == KW_CONST;
    }
}

/* ---- writing ---- */

static void write_list(merger *m, cw_str name, const uint32_t *subs, uint32_t n, bool is_any)
{
    cw_json_open_object(&m->p.w);
    cw_json_add_key(&m->p.w, name);
    cw_json_open_array(&m->p.w);
    for (uint32_t i = 0; i < n; i++)
        cw_portable_write_sub(&m->p, subs[i], NULL);
    if (is_any)
        cw_json_add_span(&m->p.w, CW_STR("{}"));
    cw_json_close(&m->p.w);
    cw_json_close(&m->p.w);
}

static void write_property(merger *m, const property *one)
{
    cw_json_add_key(&m->p.w, one->shown);
    bool is_shown = one->n_certain && !is_trivial(m->p.s->subs[one->certain[0]].value);
    if (one->n_certain > 1)
        write_list(m, CW_STR("allOf"), one->certain, one->n_certain, false);
    else if (is_shown || (one->n_certain && !one->n_branches))
        cw_portable_write_sub(&m->p, one->certain[0], NULL);
    else if (one->n_branches == 1 && !one->is_any)
        cw_portable_write_sub(&m->p, one->branches[0], NULL);
    else
        write_list(m, CW_STR("anyOf"), one->branches, one->n_branches, one->is_any);
}

static void write_properties(merger *m)
{
    size_t n_required = 0;
    cw_json_add_key(&m->p.w, CW_STR("properties"));
    cw_json_open_object(&m->p.w);
    for (const property *one = m->first; one && cw_portable_visit(&m->p); one = one->next) {
        n_required += one->is_required;
        if (one->is_declared)
            write_property(m, one);
    }
    cw_json_close(&m->p.w);
    if (!n_required)
        return;
    cw_json_add_key(&m->p.w, CW_STR("required"));
    cw_json_open_array(&m->p.w);
    for (const property *one = m->first; one; one = one->next) {
        if (one->is_required)
            cw_json_add_string(&m->p.w, one->shown);
    }
    cw_json_close(&m->p.w);
}

/* Lists of names by name, with shown names. */
static void write_dependent(merger *m, const cw_json *map)
{
    if (!cw_json_count(map))
        return;
    cw_json_add_key(&m->p.w, CW_STR("dependentRequired"));
    cw_json_open_object(&m->p.w);
    for (const cw_json *k = cw_json_first(map); k; k = cw_json_next_key(k)) {
        if (!cw_json_is(k + 1, CW_JSON_ARRAY))
            continue;
        cw_json_add_key(&m->p.w, shown_name(m, cw_json_text(k)));
        cw_json_open_array(&m->p.w);
        for (const cw_json *v = cw_json_first(k + 1); v; v = cw_json_next(v))
            cw_json_add_string(&m->p.w, shown_name(m, cw_json_text(v)));
        cw_json_close(&m->p.w);
    }
    cw_json_close(&m->p.w);
}

/* A keyword of the root that stays. */
static void write_rest_member(merger *m, const sub *at, const cw_json *key, const kw_row *row)
{
    cw_str name = cw_json_text(key);
    const cw_json *v = key + 1;
    switch (row ? (kw_id)row->id : KW_DEFAULT) {
    case KW_DEPENDENT_REQUIRED:
        write_dependent(m, v);
        return;
    case KW_DEPENDENCIES:
        if (cw_portable_draft(m->p.s, at) == CW_SCHEMA_DRAFT_07)
            write_dependent(m, v);
        else
            m->p.is_widened = true;
        return;
    case KW_PATTERN_PROPERTIES:
    case KW_PROPERTY_NAMES:
    case KW_ADDITIONAL_PROPERTIES:
        /* A pattern would judge the shown name, and the rest counts from the patterns. */
        if (m->n_renames && (row->id != KW_ADDITIONAL_PROPERTIES ||
                             cw_json_get(at->value, CW_STR("patternProperties")))) {
            m->p.is_widened = true;
            return;
        }
        break;
    case KW_UNEVALUATED_PROPERTIES:
        if (m->has_inplace || m->n_renames) {
            m->p.is_widened = true;
            return;
        }
        break;
    case KW_MIN_PROPERTIES:
    case KW_MAX_PROPERTIES:
    case KW_DEFAULT:
        break;
    default:
        return; /* merged, told, or of no effect on an object */
    }
    const open_sub here = {NULL, m->p.s->root};
    cw_json_add_key(&m->p.w, name);
    if (row && row->shape >= SHAPE_SCHEMA)
        cw_portable_write_below(&m->p, at, v, &here);
    else
        cw_json_add_value(&m->p.w, v);
}

static void write_rest(merger *m, uint32_t root)
{
    const sub *at = &m->p.s->subs[root];
    cw_schema_draft draft = cw_portable_draft(m->p.s, at);
    for (const cw_json *k = cw_json_first(at->value); k && cw_portable_visit(&m->p);
         k = cw_json_next_key(k)) {
        cw_str name = cw_json_text(k);
        const kw_row *row = cw_schema_keyword(name, draft, VOCAB_STANDARD);
        bool is_known = cw_schema_keyword(name, CW_SCHEMA_2020_12, VOCAB_STANDARD) != NULL ||
                        cw_schema_keyword(name, CW_SCHEMA_DRAFT_07, VOCAB_STANDARD) != NULL;
        bool is_skipped = is_known && !row; /* of the other draft */
        if (!is_skipped && !cw_str_is(name, "$vocabulary"))
            write_rest_member(m, at, k, row);
    }
}

static void write_root(merger *m, uint32_t root)
{
    cw_json_open_object(&m->p.w);
    cw_json_add_string_member(&m->p.w, CW_STR("type"), CW_STR("object"));
    write_properties(m);
    write_rest(m, root);
    cw_portable_write_defs(&m->p);
    cw_json_close(&m->p.w);
}

/* ---- the whole ---- */

static cw_code keep_result(merger *m, const cw_buf *text, cw_schema_portable *ret)
{
    if (m->p.is_widened) {
        if (m->note.n)
            cw_buf_add_char(&m->note, ' ');
        cw_buf_add(&m->note, CW_STR(MORE_RULES));
    }
    *ret = (cw_schema_portable){0};
    ret->text = cw_arena_dup_str(m->arena, cw_buf_str(text));
    ret->note = cw_arena_dup_str(m->arena, cw_buf_str(&m->note));
    if (!ret->text.p || !ret->note.p || m->note.code)
        return CW_NOMEM;
    return keep_renames(m, ret);
}

cw_code cw_portable_write_top(const cw_schema *s, bool has_defs, cw_arena *scratch, cw_arena *arena,
                              cw_schema_portable *ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    CW_CLEANUP(merger_done) merger m = {.arena = arena};
    cw_buf_init(&text, CW_PORTABLE_BYTES);
    cw_buf_init(&m.note, NOTE_MAX + sizeof MORE_RULES);
    cw_map_init(&m.by_name, CW_PORTABLE_WORK);
    cw_map_init(&m.by_shown, CW_PORTABLE_WORK);
    m.last = &m.first;
    m.p =
        (portable_writer){.s = s, .arena = scratch, .has_defs = has_defs, .work = CW_PORTABLE_WORK};
    m.p.last_def = &m.p.first_def;
    cw_json_writer_init(&m.p.w, &text, CW_JSON_COMPACT);
    uint32_t root = cw_portable_follow(&m.p, s->root);
    collect(&m, root, 0);
    for (m.group = 1; m.group <= m.n_groups && !m.p.code; m.group++)
        read_group(&m, m.groups[m.group - 1]);
    rename_all(&m);
    tell_all(&m, root);
    write_root(&m, root);
    cw_code rc = cw_json_writer_end(&m.p.w, NULL);
    if (m.p.code || rc)
        return m.p.code ? m.p.code : rc;
    return keep_result(&m, &text, ret);
}
