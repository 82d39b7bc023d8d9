/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.c - the catalogue and how it is built.
 *
 * Offers are taken one after the other. A method claims its id and its tool name
 * in the two maps; the first claim that fails takes back all of its offer. When
 * every offer is in or out, the entries are sorted, the maps are pointed at their
 * final places, and equal needs are numbered.
 */
#include "catalogue/snapshot.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/map.h"
#include "catalogue/normalise.h"

struct cw_snapshot {
    atomic_uint refs;
    cw_arena arena;
    cw_offer_ops ops;
    cw_source **sources;      /* referenced */
    cw_contracts **contracts; /* of each source; likewise */
    size_t n_sources;
    cw_entry *entries;
    size_t n_entries;
    const cw_entry **tools;
    size_t n_tools;
    cw_needs *classes;
    size_t n_classes;
    cw_snapshot_problem *problems;
    size_t n_problems;
    cw_map by_id;   /* -> cw_entry */
    cw_map by_name; /* -> cw_entry */
};

/* What is needed while building only. */
typedef struct builder {
    cw_snapshot *s;
    const cw_offer *offers;
    cw_snapshot_opts opts;
    uint32_t *owners; /* offer of each entry, before sorting */
    cw_arena scratch;
    cw_err *err;
} builder;

static cw_code problem(builder *b, size_t offer, const char *text)
{
    cw_str copy = cw_arena_dup_str(&b->s->arena, cw_str_from(text));
    if (!copy.p)
        return cw_arena_fail(&b->s->arena, b->err);
    b->s->problems[b->s->n_problems++] = (cw_snapshot_problem){.offer = offer, .text = copy};
    return CW_OK;
}

/* Who else has what this method wants: an earlier source, or this one. */
static cw_str owner_of(const builder *b, const cw_entry *entry)
{
    return b->offers[b->owners[entry - b->s->entries]].name;
}

static cw_code claim_id(builder *b, cw_entry *entry, cw_err *why)
{
    cw_str id = entry->method->id;
    if (id.n == 0)
        return cw_fail(why, CW_PARAMS, "a method has an empty id");
    const cw_entry *other = cw_map_find(&b->s->by_id, id);
    if (!other)
        return cw_map_put(&b->s->by_id, id, entry, NULL);
    cw_str owner = owner_of(b, other);
    return cw_fail(why, CW_PARAMS, "method '%.*s': also offered by '%.*s'", CW_STR_ARG(id),
                   CW_STR_ARG(owner));
}

static cw_code claim_name(builder *b, cw_entry *entry, cw_err *why)
{
    cw_str id = entry->method->id;
    const cw_entry *other = cw_map_find(&b->s->by_name, entry->tool_name);
    if (!other)
        return cw_map_put(&b->s->by_name, entry->tool_name, entry, NULL);
    cw_str name = entry->tool_name;
    cw_str other_id = other->method->id;
    cw_str owner = owner_of(b, other);
    /* The entry must not give back a name that it does not have. */
    entry->tool_name = (cw_str){0};
    return cw_fail(why, CW_PARAMS,
                   "method '%.*s': tool name '%.*s' is taken by method '%.*s' of '%.*s'",
                   CW_STR_ARG(id), CW_STR_ARG(name), CW_STR_ARG(other_id), CW_STR_ARG(owner));
}

/* Whether a schema has a name or a dialect of its own, so that it may be right alone and wrong
 * beside others. */
static bool has_identity(const cw_json *schema)
{
    static const cw_str names[] = {CW_STR_INIT("$id"), CW_STR_INIT("$schema"),
                                   CW_STR_INIT("$anchor"), CW_STR_INIT("$dynamicAnchor")};
    for (const cw_json *v = schema; v && v < cw_json_after(schema); v++) {
        if (!(v->meta & CW_JSON_KEY) || v->n == 0 || v->p[0] != '$')
            continue;
        for (size_t i = 0; i < CW_COUNT(names); i++) {
            if (cw_str_eq(cw_json_text(v), names[i]))
                return true;
        }
    }
    return false;
}

/* What is published must be a valid schema as a whole too. */
static cw_code check_input(builder *b, const cw_entry *entry, cw_err *why)
{
    const cw_method *method = entry->method;
    size_t i = 0;
    while (i < method->n_params && !has_identity(method->params[i].schema))
        i++;
    if (i == method->n_params)
        return CW_OK;
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tool;
    cw_code rc = cw_json_read(entry->tool_json, &deep, &b->scratch, &tool, NULL, why);
    cw_schema_opts opts = {.draft = b->opts.policy.draft};
    cw_schema *compiled = NULL;
    if (!rc)
        rc = cw_schema_compile(cw_json_get(tool, CW_STR("inputSchema")), &opts, &compiled, why);
    cw_schema_unref(compiled);
    if (rc && rc != CW_NOMEM)
        return cw_wrap(why, CW_PARAMS, "inputSchema");
    return rc;
}

/* CW_PARAMS with a reason in `why` when the method cannot be had. */
static cw_code add_method(builder *b, const cw_method *method, size_t offer, cw_err *why)
{
    cw_snapshot *s = b->s;
    cw_entry *entry = &s->entries[s->n_entries];
    *entry = (cw_entry){.method = method};
    cw_code rc = claim_id(b, entry, why);
    if (rc)
        return rc;
    b->owners[s->n_entries++] = (uint32_t)offer;
    if (!method->mark)
        return CW_OK;
    rc = cw_normalise(entry, &s->arena, why);
    if (!rc)
        rc = check_input(b, entry, why);
    if (rc) {
        entry->tool_name = (cw_str){0};
        return cw_wrap(why, rc, "method '%.*s'", CW_STR_ARG(method->id));
    }
    return claim_name(b, entry, why);
}

static void take_back(cw_snapshot *s, size_t first)
{
    while (s->n_entries > first) {
        const cw_entry *entry = &s->entries[--s->n_entries];
        (void)cw_map_remove(&s->by_id, entry->method->id);
        if (entry->tool_name.n)
            (void)cw_map_remove(&s->by_name, entry->tool_name);
    }
}

/* Those that the previous catalogue has for a source that is still the same, or new ones. */
static cw_code take_contracts(builder *b, const cw_offer *offer, cw_err *why)
{
    cw_snapshot *s = b->s;
    const cw_snapshot *old = b->opts.previous;
    const cw_contract_policy *policy = &b->opts.policy;
    cw_contracts **ret = &s->contracts[s->n_sources];
    for (size_t i = 0; old && i < old->n_sources; i++) {
        if (old->sources[i] != offer->source ||
            !cw_contracts_fit(old->contracts[i], offer->methods, offer->n_methods, policy))
            continue;
        *ret = cw_contracts_ref(old->contracts[i]);
        return CW_OK;
    }
    return cw_contracts_new(offer->methods, offer->n_methods, policy, ret, why);
}

static cw_code add_offer(builder *b, size_t index)
{
    cw_snapshot *s = b->s;
    const cw_offer *offer = &b->offers[index];
    size_t first = s->n_entries;
    cw_err why = {0};
    cw_code rc = CW_OK;
    if (offer->n_methods > CW_SNAPSHOT_MAX_METHODS - first)
        rc = cw_fail(&why, CW_PARAMS, "the catalogue would have more than %u methods",
                     CW_SNAPSHOT_MAX_METHODS);
    for (size_t i = 0; i < offer->n_methods && !rc; i++)
        rc = add_method(b, &offer->methods[i], index, &why);
    if (!rc)
        rc = take_contracts(b, offer, &why);
    if (rc == CW_PARAMS) {
        take_back(s, first);
        return problem(b, index, why.msg);
    }
    if (rc)
        return cw_fail_nomem(b->err);
    for (size_t i = first; i < s->n_entries; i++)
        s->entries[i].contracts = s->contracts[s->n_sources];
    s->ops.ref(offer->source);
    s->sources[s->n_sources++] = offer->source;
    return CW_OK;
}

static int compare_ids(const void *a, const void *b)
{
    return cw_str_cmp(((const cw_entry *)a)->method->id, ((const cw_entry *)b)->method->id);
}

static int compare_names(const void *a, const void *b)
{
    return cw_str_cmp((*(const cw_entry *const *)a)->tool_name,
                      (*(const cw_entry *const *)b)->tool_name);
}

/* Sorting has moved the entries: point the maps at them again. The keys are there already, so
 * neither map grows and nothing can fail. */
static void settle(cw_snapshot *s)
{
    if (s->n_entries)
        qsort(s->entries, s->n_entries, sizeof *s->entries, compare_ids);
    for (size_t i = 0; i < s->n_entries; i++) {
        cw_entry *entry = &s->entries[i];
        (void)!cw_map_put(&s->by_id, entry->method->id, entry, NULL);
        if (!entry->tool_name.n)
            continue;
        (void)!cw_map_put(&s->by_name, entry->tool_name, entry, NULL);
        s->tools[s->n_tools++] = entry;
    }
    if (s->n_tools)
        qsort(s->tools, s->n_tools, sizeof(const cw_entry *), compare_names);
}

/* Number equal needs. The table has a slot for every entry twice over, 0 for an empty one, so that
 * a search always ends; it is as good as its hash, which is seeded. */
static cw_code classify(builder *b)
{
    cw_snapshot *s = b->s;
    size_t cap = 8;
    while (cap < s->n_entries * 2)
        cap *= 2;
    uint32_t *table = cw_arena_calloc(&b->scratch, cap, sizeof *table);
    s->classes = cw_arena_calloc(&s->arena, s->n_entries + 1, sizeof *s->classes);
    if (!table || !s->classes)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < s->n_entries; i++) {
        const cw_needs *needs = &s->entries[i].method->needs;
        size_t at = (size_t)cw_needs_hash(needs) & (cap - 1);
        while (table[at] && !cw_needs_equal(needs, &s->classes[table[at] - 1]))
            at = (at + 1) & (cap - 1);
        if (!table[at]) {
            s->classes[s->n_classes++] = *needs;
            table[at] = (uint32_t)s->n_classes;
        }
        s->entries[i].class_index = table[at] - 1;
    }
    return CW_OK;
}

static cw_code build(builder *b, size_t n)
{
    cw_snapshot *s = b->s;
    size_t room = 1;
    for (size_t i = 0; i < n; i++)
        room += b->offers[i].n_methods < CW_SNAPSHOT_MAX_METHODS ? b->offers[i].n_methods
                                                                 : CW_SNAPSHOT_MAX_METHODS;
    if (room > CW_SNAPSHOT_MAX_METHODS + 1)
        room = CW_SNAPSHOT_MAX_METHODS + 1;
    b->owners = cw_arena_calloc(&b->scratch, room, sizeof *b->owners);
    s->entries = cw_arena_calloc(&s->arena, room, sizeof *s->entries);
    s->tools = cw_arena_calloc(&s->arena, room, sizeof(const cw_entry *));
    s->sources = cw_arena_calloc(&s->arena, n + 1, sizeof(cw_source *));
    s->contracts = cw_arena_calloc(&s->arena, n + 1, sizeof(cw_contracts *));
    s->problems = cw_arena_calloc(&s->arena, n + 1, sizeof *s->problems);
    if (!b->owners || !s->entries || !s->tools || !s->sources || !s->contracts || !s->problems)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < n; i++) {
        cw_code rc = add_offer(b, i);
        if (rc)
            return rc;
    }
    settle(s);
    return classify(b);
}

cw_code cw_snapshot_build(const cw_offer *offers, size_t n, const cw_offer_ops *ops,
                          const cw_snapshot_opts *opts, cw_snapshot **ret, cw_err *err)
{
    cw_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    atomic_init(&s->refs, 1);
    s->ops = *ops;
    /* As large as what the sources offer, which has passed their ceilings. */
    cw_arena_init(&s->arena, SIZE_MAX);
    cw_map_init(&s->by_id, CW_SNAPSHOT_MAX_METHODS);
    cw_map_init(&s->by_name, CW_SNAPSHOT_MAX_METHODS);
    builder b = {.s = s, .offers = offers, .err = err};
    if (opts)
        b.opts = *opts;
    cw_arena_init(&b.scratch, SIZE_MAX);
    cw_code rc = build(&b, n);
    cw_arena_done(&b.scratch);
    if (rc) {
        cw_snapshot_unref(s);
        return rc;
    }
    *ret = s;
    return CW_OK;
}

cw_snapshot *cw_snapshot_ref(cw_snapshot *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cw_snapshot_unref(cw_snapshot *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < s->n_sources; i++) {
        cw_contracts_unref(s->contracts[i]);
        s->ops.unref(s->sources[i]);
    }
    cw_map_done(&s->by_id);
    cw_map_done(&s->by_name);
    cw_arena_done(&s->arena);
    free(s);
}

const cw_snapshot_problem *cw_snapshot_problems(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_problems;
    return s->problems;
}

const cw_entry *cw_snapshot_entries(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_entries;
    return s->entries;
}

const cw_entry *const *cw_snapshot_tools(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_tools;
    return s->tools;
}

const cw_needs *cw_snapshot_classes(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_classes;
    return s->classes;
}

const cw_entry *cw_snapshot_find_method(const cw_snapshot *s, cw_str id)
{
    return cw_map_find(&s->by_id, id);
}

const cw_entry *cw_snapshot_find_tool(const cw_snapshot *s, cw_str name)
{
    return cw_map_find(&s->by_name, name);
}
