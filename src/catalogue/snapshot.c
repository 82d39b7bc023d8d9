/* SPDX-License-Identifier: GPL-2.0-or-later */
/* snapshot.c - the catalogue and how it is built.
 *
 * Offers are processed in order. A method claims its id and its tool name in the two tables. The first
 * failed claim withdraws the whole offer; in an offer that defers, only the method itself is left out.
 * After all offers, the entries are sorted, the tables get their final positions, and equal
 * requirements are numbered.
 */
#include "catalogue/snapshot.h"

#include <endian.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/map.h"
#include "catalogue/exposed.h"
#include "catalogue/search/search_index.h"
#include "catalogue/skills.h"
#include "catalogue/tool/mcp_tool.h"
#include "catalogue/tool/portable_name.h"
#include "catalogue/tool/tool_json.h"
#include "catalogue/ui.h"

/* Entries by one of their texts: open addressing, never more than half full. A slot has the place
 * of an entry, from 1 on; 0 is an empty one. */
typedef struct table {
    uint32_t *slots;
    size_t mask;
} table;

struct cw_snapshot {
    atomic_uint refs;
    cw_arena arena;
    cw_offer_ops ops;
    cw_source **sources;         /* referenced */
    cw_method_schemas **schemas; /* of each source; likewise */
    cw_str *names;               /* of each source */
    cw_skills **skill_sets;      /* of each source; referenced; NULL: none */
    size_t n_sources;
    cw_entry *entries;
    cw_metrics_cached_slot *slots; /* of the entries */
    size_t n_entries;
    const cw_entry **uis;
    size_t n_uis;
    cw_snapshot_skill *skills; /* of all sources */
    size_t n_skills;
    const cw_entry **tools;
    size_t n_tools;
    const cw_entry **exposed[CW_EXPOSED_KINDS];
    size_t n_shown[CW_EXPOSED_KINDS];
    cw_requirements *classes;
    size_t n_classes;
    cw_snapshot_problem *problems;
    size_t n_problems;
    table by_id;
    table by_name;
    bool has_portable_schemas;
    cw_toolset *toolsets;
    size_t n_toolsets;
    cw_search_index *search;               /* NULL: no toolset is searched */
    cw_map by_address[CW_EXPOSED_KINDS];   /* -> cw_entry */
    _Atomic(cw_portable_names *) portable; /* NULL: not wanted yet */
};

/* Data that is needed only while building. */
typedef struct builder {
    cw_snapshot *s;
    const cw_offer *offers;
    size_t n_offers;
    size_t n_left; /* methods that the present offer has yielded */
    cw_snapshot_opts opts;
    uint32_t *owners; /* offer of each entry, before sorting */
    cw_arena scratch;
    cw_arena trees; /* of the method that is being looked at */
    cw_buf text;    /* likewise */
    bool is_known;  /* the previous catalogue has the methods of this offer */
    cw_err *err;
} builder;

/* ---- tables ---- */

static cw_code table_init(table *t, size_t n, cw_arena *arena)
{
    size_t cap = 8;
    while (cap < n * 2)
        cap *= 2;
    t->slots = cw_arena_calloc(arena, cap, sizeof *t->slots);
    t->mask = cap - 1;
    return t->slots ? CW_OK : CW_NOMEM;
}

static cw_str text_of(const cw_snapshot *s, const table *t, const cw_entry *entry)
{
    return t == &s->by_id ? entry->method->id : entry->tool_name;
}

/* The slot with this text, or the empty one where it would be. */
static uint32_t *find_slot(const cw_snapshot *s, const table *t, cw_str text)
{
    size_t at = (size_t)cw_hash(text) & t->mask;
    while (t->slots[at] && !cw_str_eq(text_of(s, t, &s->entries[t->slots[at] - 1]), text))
        at = (at + 1) & t->mask;
    return &t->slots[at];
}

static cw_entry *find_entry(const cw_snapshot *s, const table *t, cw_str text)
{
    uint32_t place = *find_slot(s, t, text);
    return place ? &s->entries[place - 1] : NULL;
}

static uint32_t place_of(const cw_snapshot *s, const cw_entry *entry)
{
    return (uint32_t)(entry - s->entries) + 1;
}

/* Make the tables anew of the entries that there are. */
static void fill_tables(cw_snapshot *s)
{
    memset(s->by_id.slots, 0, (s->by_id.mask + 1) * sizeof *s->by_id.slots);
    memset(s->by_name.slots, 0, (s->by_name.mask + 1) * sizeof *s->by_name.slots);
    for (size_t i = 0; i < s->n_entries; i++) {
        const cw_entry *entry = &s->entries[i];
        *find_slot(s, &s->by_id, entry->method->id) = place_of(s, entry);
        if (entry->tool_name.n)
            *find_slot(s, &s->by_name, entry->tool_name) = place_of(s, entry);
    }
}

/* ---- offers ---- */

static cw_code problem(builder *b, size_t offer, const char *text, bool is_partial)
{
    CW_CLEANUP(cw_buf_done) cw_buf line;
    cw_buf_init(&line, CW_BUF_MAX);
    cw_buf_add(&line, cw_str_from(text));
    cw_buf_escape_controls(&line, 0);
    if (line.code)
        return cw_fail_nomem(b->err);
    cw_str copy = cw_arena_dup_str(&b->s->arena, cw_buf_str(&line));
    if (!copy.p)
        return cw_arena_fail(&b->s->arena, b->err);
    b->s->problems[b->s->n_problems++] =
        (cw_snapshot_problem){.offer = offer, .text = copy, .is_partial = is_partial};
    return CW_OK;
}

/* The owner of a name that this method claims: an earlier source, or this one. */
static cw_str owner_of(const builder *b, const cw_entry *entry)
{
    return b->offers[b->owners[entry - b->s->entries]].name;
}

static cw_code claim_id(builder *b, cw_entry *entry, cw_err *why)
{
    cw_str id = entry->method->id;
    if (id.n == 0)
        return cw_fail(why, CW_PARAMS, "a method has an empty id");
    uint32_t *slot = find_slot(b->s, &b->s->by_id, id);
    if (!*slot) {
        *slot = place_of(b->s, entry);
        return CW_OK;
    }
    cw_str owner = owner_of(b, &b->s->entries[*slot - 1]);
    return cw_fail(why, CW_PARAMS, "method '%.*s': also offered by '%.*s'", CW_STR_ARG(id),
                   CW_STR_ARG(owner));
}

static cw_code claim_name(builder *b, cw_entry *entry, cw_err *why)
{
    cw_str id = entry->method->id;
    uint32_t *slot = find_slot(b->s, &b->s->by_name, entry->tool_name);
    if (!*slot) {
        *slot = place_of(b->s, entry);
        return CW_OK;
    }
    const cw_entry *other = &b->s->entries[*slot - 1];
    cw_str name = entry->tool_name;
    cw_str other_id = other->method->id;
    cw_str owner = owner_of(b, other);
    /* The entry must not give back a name that it does not have. */
    entry->tool_name = (cw_str){0};
    return cw_fail(why, CW_PARAMS,
                   "method '%.*s': tool name '%.*s' is taken by method '%.*s' of '%.*s'",
                   CW_STR_ARG(id), CW_STR_ARG(name), CW_STR_ARG(other_id), CW_STR_ARG(owner));
}

/* A resource, template or prompt. */
static cw_code claim_address(builder *b, cw_entry *entry, cw_err *why)
{
    const cw_exposed *exposed = entry->method->exposed;
    cw_map *map = &b->s->by_address[exposed->kind];
    const cw_entry *other = cw_map_find(map, exposed->address);
    if (other)
        return cw_fail(why, CW_PARAMS, "'%.*s' is also offered by method '%.*s' of '%.*s'",
                       CW_STR_ARG(exposed->address), CW_STR_ARG(other->method->id),
                       CW_STR_ARG(owner_of(b, other)));
    cw_code rc = cw_exposed_write(entry->method, &b->s->arena, &entry->exposed_json, why);
    return rc ? rc : cw_map_put(map, exposed->address, entry, NULL);
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

static cw_code find_identity(builder *b, const cw_method *method, bool *ret, cw_err *why)
{
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    cw_code rc = CW_OK;
    *ret = false;
    for (size_t i = 0; i < method->n_params && !rc && !*ret; i++) {
        const cw_json *schema = NULL;
        if (method->params[i].schema.n)
            rc = cw_json_read(method->params[i].schema, &deep, &b->trees, &schema, NULL, why);
        *ret = !rc && has_identity(schema);
    }
    return rc;
}

/* The published schema must be valid as a whole too. */
static cw_code check_input(builder *b, const cw_entry *entry, cw_err *why)
{
    cw_str text = cw_buf_str(&b->text);
    /* No name in it can begin with a dollar without one of these: nearly always. */
    if (!memchr(text.p, '$', text.n) && !memchr(text.p, '\\', text.n))
        return CW_OK;
    cw_json_opts deep = {.max_depth = CW_JSON_DEPTH_CEILING};
    const cw_json *tool;
    bool has_any;
    cw_arena_reset(&b->trees);
    cw_code rc = find_identity(b, entry->method, &has_any, why);
    if (rc || !has_any)
        return rc;
    rc = cw_json_read(text, &deep, &b->trees, &tool, NULL, why);
    cw_schema_opts opts = {.draft = b->opts.policy.draft};
    cw_schema *compiled = NULL;
    if (!rc)
        rc = cw_schema_compile(cw_json_get(tool, CW_STR("inputSchema")), &opts, &compiled, why);
    cw_schema_unref(compiled);
    if (rc && rc != CW_NOMEM)
        return cw_wrap(why, CW_PARAMS, "inputSchema");
    return rc;
}

static cw_code take_portable(builder *b, cw_entry *entry, const cw_entry *known, cw_err *why)
{
    if (!known->portable || !b->opts.has_portable_schemas)
        return CW_OK;
    cw_code rc = cw_tool_copy_portable(known->portable, &b->s->arena, &entry->portable);
    entry->has_renames = known->has_renames;
    return rc ? cw_fail_nomem(why) : CW_OK;
}

/* The form for clients with portable schemas; b->text is the tool. */
static cw_code make_portable(builder *b, cw_entry *entry, cw_err *why)
{
    if (!b->opts.has_portable_schemas)
        return CW_OK;
    cw_arena_reset(&b->trees);
    cw_code rc = cw_tool_make_portable(entry, cw_buf_str(&b->text), b->opts.policy.draft, &b->trees,
                                       &b->s->arena, &entry->portable);
    entry->has_renames = !rc && entry->portable && entry->portable->n_renames;
    return rc ? cw_fail_nomem(why) : CW_OK;
}

/* The tool of an entry, or what the previous catalogue has found out about it. */
static cw_code make_tool(builder *b, cw_entry *entry, cw_err *why)
{
    const cw_method *method = entry->method;
    const cw_snapshot *old = b->opts.previous;
    const cw_entry *known = b->is_known ? find_entry(old, &old->by_id, method->id) : NULL;
    bool is_complete = known && (old->has_portable_schemas || !b->opts.has_portable_schemas);
    if (is_complete && known->method == method) {
        entry->tool_hash = known->tool_hash;
        entry->wraps_output = known->wraps_output;
        entry->returns_text = known->returns_text;
        entry->is_mirrored = known->is_mirrored;
        cw_code rc = take_portable(b, entry, known, why);
        return rc ? rc : cw_tool_name(method->id, &b->s->arena, &entry->tool_name, why);
    }
    cw_code rc = cw_tool_json(entry, &b->s->arena, &b->text, why);
    if (!rc)
        rc = check_input(b, entry, why);
    return rc ? rc : make_portable(b, entry, why);
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
    if (method->exposed)
        rc = claim_address(b, entry, why);
    if (rc) {
        entry->exposed_json = (cw_str){0};
        return cw_wrap(why, rc, "method '%.*s'", CW_STR_ARG(method->id));
    }
    if (!method->mark)
        return CW_OK;
    rc = make_tool(b, entry, why);
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
        if (entry->exposed_json.n)
            (void)cw_map_remove(&s->by_address[entry->method->exposed->kind],
                                entry->method->exposed->address);
    }
    fill_tables(s);
}

/* ---- offers that yield ---- */

static cw_str source_name(const cw_snapshot *s, const cw_entry *entry)
{
    size_t i = 0;
    while (s->schemas[i] != entry->schemas)
        i++;
    return s->names[i];
}

/* The entry of `s` that owns a name of the method, checked one after the other. */
static const cw_entry *find_rival(const cw_snapshot *s, const cw_method *method, cw_str tool_name,
                                  unsigned what)
{
    if (what == 0)
        return find_entry(s, &s->by_id, method->id);
    if (what == 1)
        return tool_name.n ? find_entry(s, &s->by_name, tool_name) : NULL;
    return method->exposed
               ? cw_map_find(&s->by_address[method->exposed->kind], method->exposed->address)
               : NULL;
}

/* The owner of the name, an earlier offer, and its entry. False: the name is free. Earlier
 * catalogues do not count, so that servers agree in whatever order their sources come. */
static bool is_taken(const builder *b, const cw_method *method, cw_str name, size_t index,
                     cw_str *ret_owner, const cw_entry **ret)
{
    for (unsigned what = 0; what < 3; what++) {
        *ret = find_rival(b->s, method, name, what);
        if (*ret && b->owners[*ret - b->s->entries] != index) {
            *ret_owner = owner_of(b, *ret);
            return true;
        }
    }
    return false;
}

/* Leave a method out if another owns its name; *ret_left reports it. */
static cw_code yield_method(builder *b, const cw_method *method, size_t index, bool *ret_left)
{
    const cw_entry *rival;
    cw_str owner;
    cw_err why = {0};
    cw_str name = {0};
    cw_arena_reset(&b->trees);
    /* A method that cannot have a name is refused for that later. */
    if (method->mark && cw_tool_name(method->id, &b->trees, &name, &why) == CW_NOMEM)
        return cw_fail_nomem(b->err);
    *ret_left = is_taken(b, method, name, index, &owner, &rival);
    if (!*ret_left || ++b->n_left > CW_SNAPSHOT_MAX_PARTIAL)
        return CW_OK;
    cw_str id = method->id, other = rival->method->id;
    if (cw_str_eq(id, other))
        (void)cw_fail(&why, CW_PARAMS, "method '%.*s': also offered by '%.*s'", CW_STR_ARG(id),
                      CW_STR_ARG(owner));
    else
        (void)cw_fail(&why, CW_PARAMS,
                      "method '%.*s': method '%.*s' of '%.*s' has its tool name or address",
                      CW_STR_ARG(id), CW_STR_ARG(other), CW_STR_ARG(owner));
    return problem(b, index, why.msg, /* is_partial= */ true);
}

static cw_code count_left(builder *b, size_t index)
{
    cw_err text = {0};
    if (b->n_left <= CW_SNAPSHOT_MAX_PARTIAL)
        return CW_OK;
    (void)cw_fail(&text, CW_PARAMS, "%zu more methods that others offer",
                  b->n_left - CW_SNAPSHOT_MAX_PARTIAL);
    return problem(b, index, text.msg, /* is_partial= */ true);
}

/* The previous catalogue's schemas for a source that has not changed, or NULL. */
static cw_method_schemas *find_contracts(const builder *b, const cw_offer *offer)
{
    const cw_snapshot *old = b->opts.previous;
    for (size_t i = 0; old && i < old->n_sources; i++) {
        if (old->sources[i] == offer->source &&
            cw_method_schemas_fit(old->schemas[i], offer->methods, offer->n_methods,
                                  &b->opts.policy))
            return old->schemas[i];
    }
    return NULL;
}

static cw_code take_contracts(builder *b, const cw_offer *offer, cw_method_schemas *known,
                              cw_err *why)
{
    cw_method_schemas **ret = &b->s->schemas[b->s->n_sources];
    if (!known)
        return cw_method_schemas_new(offer->methods, offer->n_methods, &b->opts.policy, ret, why);
    *ret = cw_method_schemas_ref(known);
    return CW_OK;
}

static cw_code add_methods(builder *b, const cw_offer *offer, size_t index, cw_err *why)
{
    bool defers = b->opts.defers && b->opts.defers[index];
    b->n_left = 0;
    for (size_t i = 0; i < offer->n_methods; i++) {
        bool is_left = false;
        cw_code rc = defers ? yield_method(b, &offer->methods[i], index, &is_left) : CW_OK;
        if (!rc && !is_left)
            rc = add_method(b, &offer->methods[i], index, why);
        if (rc)
            return rc;
    }
    return count_left(b, index);
}

static cw_code add_offer(builder *b, size_t index)
{
    cw_snapshot *s = b->s;
    const cw_offer *offer = &b->offers[index];
    size_t first = s->n_entries;
    cw_method_schemas *known = find_contracts(b, offer);
    cw_err why = {0};
    cw_code rc = CW_OK;
    b->is_known = known != NULL;
    if (offer->n_methods > CW_SNAPSHOT_MAX_METHODS - first)
        rc = cw_fail(&why, CW_PARAMS, "the catalogue would have more than %u methods",
                     CW_SNAPSHOT_MAX_METHODS);
    if (!rc)
        rc = add_methods(b, offer, index, &why);
    cw_str name = rc ? (cw_str){0} : cw_arena_dup_str(&s->arena, offer->name);
    if (!rc && !name.p)
        rc = CW_NOMEM;
    if (!rc)
        rc = take_contracts(b, offer, known, &why);
    if (rc == CW_PARAMS) {
        take_back(s, first);
        return problem(b, index, why.msg, /* is_partial= */ false);
    }
    if (rc)
        return cw_fail_nomem(b->err);
    for (size_t i = first; i < s->n_entries; i++)
        s->entries[i].schemas = s->schemas[s->n_sources];
    s->ops.ref(offer->source);
    s->names[s->n_sources] = name;
    cw_skills *skills = b->opts.skills ? b->opts.skills[index] : NULL;
    s->skill_sets[s->n_sources] = skills ? cw_skills_ref(skills) : NULL;
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

static int compare_addresses(const void *a, const void *b)
{
    return cw_str_cmp((*(const cw_entry *const *)a)->method->exposed->address,
                      (*(const cw_entry *const *)b)->method->exposed->address);
}

/* The resources, templates and prompts of the sorted entries. */
static cw_code settle_shown(builder *b)
{
    cw_snapshot *s = b->s;
    for (size_t kind = 0; kind < CW_EXPOSED_KINDS; kind++) {
        size_t n = s->by_address[kind].n;
        s->exposed[kind] = cw_arena_calloc(&s->arena, n + 1, sizeof(const cw_entry *));
        if (!s->exposed[kind])
            return cw_fail_nomem(b->err);
    }
    for (size_t i = 0; i < s->n_entries; i++) {
        cw_entry *entry = &s->entries[i];
        if (!entry->exposed_json.n)
            continue;
        cw_exposed_kind kind = entry->method->exposed->kind;
        (void)!cw_map_put(&s->by_address[kind], entry->method->exposed->address, entry, NULL);
        s->exposed[kind][s->n_shown[kind]++] = entry;
    }
    for (size_t kind = 0; kind < CW_EXPOSED_KINDS; kind++) {
        if (s->n_shown[kind])
            qsort(s->exposed[kind], s->n_shown[kind], sizeof(const cw_entry *), compare_addresses);
    }
    return CW_OK;
}

/* Sorting moves the entries: the tables must learn where they are. */
static void settle(cw_snapshot *s)
{
    if (s->n_entries)
        qsort(s->entries, s->n_entries, sizeof *s->entries, compare_ids);
    fill_tables(s);
    for (size_t i = 0; i < s->n_entries; i++) {
        s->entries[i].slot = &s->slots[i];
        if (s->entries[i].tool_name.n)
            s->tools[s->n_tools++] = &s->entries[i];
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
    uint32_t *numbers = cw_arena_calloc(&b->scratch, cap, sizeof *numbers);
    cw_requirements *classes = cw_arena_alloc(&b->scratch, s->n_entries * sizeof *classes);
    if (!numbers || !classes)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < s->n_entries; i++) {
        const cw_requirements *needs = &s->entries[i].method->needs;
        size_t at = (size_t)cw_requirements_hash(needs) & (cap - 1);
        while (numbers[at] && !cw_requirements_equal(needs, &classes[numbers[at] - 1]))
            at = (at + 1) & (cap - 1);
        if (!numbers[at]) {
            classes[s->n_classes++] = *needs;
            numbers[at] = (uint32_t)s->n_classes;
        }
        s->entries[i].class_index = numbers[at] - 1;
    }
    s->classes = cw_arena_alloc(&s->arena, s->n_classes * sizeof *s->classes);
    if (!s->classes)
        return cw_fail_nomem(b->err);
    memcpy(s->classes, classes, s->n_classes * sizeof *classes);
    return CW_OK;
}

/* ---- toolsets ---- */

static void fill_toolset(const cw_snapshot *s, const cw_toolset_rule *rule, cw_toolset *t)
{
    for (size_t i = 0; i < s->n_entries; i++) {
        const cw_entry *entry = &s->entries[i];
        if (cw_toolset_matches(rule, source_name(s, entry), entry->tool_name, entry->method,
                               t->is_read_only_address))
            cw_toolset_add(t, i);
    }
}

/* Two of each rule. */
static cw_code make_toolsets(builder *b)
{
    cw_snapshot *s = b->s;
    size_t n = 2 * b->opts.n_toolsets;
    s->toolsets = cw_arena_calloc(&s->arena, n ? n : 1, sizeof *s->toolsets);
    if (!s->toolsets)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < n; i++) {
        const cw_toolset_rule *rule = &b->opts.toolsets[i / 2];
        if (cw_toolset_init(&s->toolsets[i], rule, i % 2 == 1, s->n_entries, &s->arena))
            return cw_fail_nomem(b->err);
        fill_toolset(s, rule, &s->toolsets[i]);
        if (rule->is_search && !s->search)
            s->search = cw_search_index_new(s);
        if (rule->is_search && !s->search)
            return cw_fail_nomem(b->err);
    }
    s->n_toolsets = n;
    return CW_OK;
}

/* ---- views of tools ---- */

static int compare_uis(const void *a, const void *b)
{
    const cw_entry *x = *(const cw_entry *const *)a, *y = *(const cw_entry *const *)b;
    return cw_str_cmp(x->method->mark->ui->uri, y->method->mark->ui->uri);
}

static bool has_view(const cw_entry *entry)
{
    return entry->tool_name.n && entry->method->mark->ui;
}

/* When all resources are known. */
static cw_code collect_uis(builder *b)
{
    cw_snapshot *s = b->s;
    size_t n = 0;
    for (size_t i = 0; i < s->n_entries; i++)
        n += has_view(&s->entries[i]);
    s->uis = cw_arena_calloc(&s->arena, n + 1, sizeof(const cw_entry *));
    if (!s->uis)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < s->n_entries; i++) {
        cw_entry *entry = &s->entries[i];
        if (!has_view(entry))
            continue;
        entry->hides_ui = !cw_ui_is_offered(s, entry);
        if (!entry->hides_ui)
            s->uis[s->n_uis++] = entry;
    }
    qsort(s->uis, s->n_uis, sizeof(const cw_entry *), compare_uis);
    return CW_OK;
}

/* ---- skills ---- */

static int compare_skills(const void *a, const void *b)
{
    return cw_str_cmp(((const cw_snapshot_skill *)a)->skill->root,
                      ((const cw_snapshot_skill *)b)->skill->root);
}

/* The methods of a source that the snapshot has. */
static const cw_offer *offer_of(const builder *b, const cw_source *source)
{
    size_t i = 0;
    while (b->offers[i].source != source)
        i++;
    return &b->offers[i];
}

/* A plugin and a service may have one name, and then their skills one root: the first keeps it. */
static bool has_namesake(const cw_snapshot *s, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (s->skill_sets[i] && cw_str_eq(s->names[i], s->names[index]))
            return true;
    }
    return false;
}

static cw_code collect_skills(builder *b)
{
    cw_snapshot *s = b->s;
    size_t n = 0;
    for (size_t i = 0; i < s->n_sources; i++)
        n += s->skill_sets[i] ? s->skill_sets[i]->n : 0;
    s->skills = cw_arena_calloc(&s->arena, n + 1, sizeof *s->skills);
    if (!s->skills)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < s->n_sources; i++) {
        const cw_skills *set = s->skill_sets[i];
        if (!set || has_namesake(s, i))
            continue;
        const cw_offer *offer = offer_of(b, s->sources[i]);
        for (size_t k = 0; k < set->n; k++)
            s->skills[s->n_skills++] = (cw_snapshot_skill){
                .skill = &set->items[k], .methods = offer->methods, .n_methods = offer->n_methods};
    }
    qsort(s->skills, s->n_skills, sizeof *s->skills, compare_skills);
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
    s->slots = cw_arena_calloc(&s->arena, room, sizeof *s->slots);
    s->tools = cw_arena_calloc(&s->arena, room, sizeof(const cw_entry *));
    s->sources = cw_arena_calloc(&s->arena, n + 1, sizeof(cw_source *));
    s->schemas = cw_arena_calloc(&s->arena, n + 1, sizeof(cw_method_schemas *));
    s->names = cw_arena_calloc(&s->arena, n + 1, sizeof *s->names);
    s->skill_sets = cw_arena_calloc(&s->arena, n + 1, sizeof(cw_skills *));
    /* The methods that an offer has left out, how many more, and why the offer was dropped
     * nevertheless. */
    s->problems =
        cw_arena_calloc(&s->arena, n * (CW_SNAPSHOT_MAX_PARTIAL + 2) + 1, sizeof *s->problems);
    if (table_init(&s->by_id, room, &s->arena) || table_init(&s->by_name, room, &s->arena))
        return cw_fail_nomem(b->err);
    if (!b->owners || !s->entries || !s->slots || !s->tools || !s->sources || !s->schemas ||
        !s->names || !s->skill_sets || !s->problems)
        return cw_fail_nomem(b->err);
    for (size_t i = 0; i < n; i++) {
        cw_code rc = add_offer(b, i);
        if (rc)
            return rc;
    }
    settle(s);
    cw_code rc = settle_shown(b);
    if (!rc)
        rc = classify(b);
    if (!rc)
        rc = collect_uis(b);
    if (!rc)
        rc = collect_skills(b);
    return rc ? rc : make_toolsets(b);
}

cw_code cw_snapshot_build(const cw_offer *offers, size_t n, const cw_offer_ops *ops,
                          const cw_snapshot_opts *opts, cw_snapshot **ret, cw_err *err)
{
    cw_snapshot *s = calloc(1, sizeof *s);
    if (!s)
        return cw_fail_nomem(err);
    atomic_init(&s->refs, 1);
    atomic_init(&s->portable, NULL);
    s->ops = *ops;
    /* As large as what the sources offer, which has passed their ceilings. */
    cw_arena_init(&s->arena, CW_ARENA_MAX);
    for (size_t i = 0; i < CW_EXPOSED_KINDS; i++)
        cw_map_init(&s->by_address[i], CW_SNAPSHOT_MAX_METHODS);
    builder b = {.s = s, .offers = offers, .n_offers = n, .err = err};
    if (opts)
        b.opts = *opts;
    s->has_portable_schemas = b.opts.has_portable_schemas;
    cw_arena_init(&b.scratch, CW_ARENA_MAX);
    cw_arena_init(&b.trees, CW_ARENA_MAX);
    cw_buf_init(&b.text, CW_BUF_MAX);
    cw_code rc = build(&b, n);
    cw_buf_done(&b.text);
    cw_arena_done(&b.trees);
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
        cw_method_schemas_unref(s->schemas[i]);
        cw_skills_unref(s->skill_sets[i]);
        s->ops.unref(s->sources[i]);
    }
    for (size_t i = 0; i < CW_EXPOSED_KINDS; i++)
        cw_map_done(&s->by_address[i]);
    cw_portable_names_free(atomic_load(&s->portable));
    cw_search_index_free(s->search);
    cw_arena_done(&s->arena);
    free(s);
}

const cw_snapshot_problem *cw_snapshot_problems(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_problems;
    return s->problems;
}

static bool params_same(const cw_param *a, const cw_param *b)
{
    return cw_str_eq(a->name, b->name) && cw_str_eq(a->description, b->description) &&
           cw_str_eq(a->schema, b->schema) && a->is_required == b->is_required;
}

static bool methods_same(const cw_method *a, const cw_method *b)
{
    bool is_same = cw_str_eq(a->id, b->id) && cw_str_eq(a->usage, b->usage) &&
                   cw_str_eq(a->input, b->input) && cw_str_eq(a->output, b->output) &&
                   a->is_callable == b->is_callable && a->n_params == b->n_params &&
                   cw_requirements_equal(&a->needs, &b->needs);
    for (size_t i = 0; is_same && i < a->n_params; i++)
        is_same = params_same(&a->params[i], &b->params[i]);
    return is_same;
}

static bool entries_same(const cw_entry *a, const cw_entry *b)
{
    return cw_str_eq(a->tool_name, b->tool_name) && a->tool_hash == b->tool_hash &&
           cw_str_eq(a->exposed_json, b->exposed_json) &&
           cw_tool_same_portable(a->portable, b->portable) && methods_same(a->method, b->method);
}

bool cw_snapshot_same(const cw_snapshot *a, const cw_snapshot *b)
{
    bool is_same = a->n_entries == b->n_entries && a->n_problems == b->n_problems;
    for (size_t i = 0; is_same && i < a->n_problems; i++)
        is_same = cw_str_eq(a->problems[i].text, b->problems[i].text);
    for (size_t i = 0; is_same && i < a->n_entries; i++)
        is_same = entries_same(&a->entries[i], &b->entries[i]);
    is_same = is_same && a->n_skills == b->n_skills;
    for (size_t i = 0; is_same && i < a->n_skills; i++)
        is_same = cw_str_eq(a->skills[i].skill->entry, b->skills[i].skill->entry);
    is_same = is_same && a->n_toolsets == b->n_toolsets;
    for (size_t i = 0; is_same && i < a->n_toolsets; i++)
        is_same = cw_toolset_same(&a->toolsets[i], &b->toolsets[i]);
    return is_same;
}

/* Its length keeps two texts from running together. */
static void digest_text(EVP_MD_CTX *to, cw_str text)
{
    uint64_t n = htole64(text.n);
    EVP_DigestUpdate(to, &n, sizeof n);
    EVP_DigestUpdate(to, text.p, text.n);
}

static void digest_entry(EVP_MD_CTX *to, const cw_entry *e)
{
    const cw_method *m = e->method;
    const unsigned char flags[] = {m->is_callable, m->n_params > 0};
    const cw_str texts[] = {m->id, e->tool_name, e->exposed_json, m->usage, m->input, m->output};
    for (size_t i = 0; i < CW_COUNT(texts); i++)
        digest_text(to, texts[i]);
    for (size_t i = 0; i < m->n_params; i++) {
        digest_text(to, m->params[i].name);
        digest_text(to, m->params[i].description);
        digest_text(to, m->params[i].schema);
    }
    for (size_t i = 0; i < m->needs.n_permissions; i++)
        digest_text(to, m->needs.permissions[i]);
    for (size_t i = 0; i < m->needs.n_scopes; i++)
        digest_text(to, m->needs.scopes[i]);
    EVP_DigestUpdate(to, flags, sizeof flags);
    EVP_DigestUpdate(to, &e->tool_hash, sizeof e->tool_hash);
}

void cw_snapshot_digest(const cw_snapshot *s, unsigned char out[CW_SNAPSHOT_DIGEST])
{
    EVP_MD_CTX *to = EVP_MD_CTX_new();
    memset(out, 0, CW_SNAPSHOT_DIGEST);
    if (!to || !EVP_DigestInit_ex(to, EVP_sha256(), NULL)) {
        EVP_MD_CTX_free(to);
        return;
    }
    for (size_t i = 0; i < s->n_entries; i++)
        digest_entry(to, &s->entries[i]);
    EVP_DigestFinal_ex(to, out, NULL);
    EVP_MD_CTX_free(to);
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

const cw_toolset *cw_snapshot_find_toolset(const cw_snapshot *s, cw_str name, bool is_read_only)
{
    for (size_t i = is_read_only ? 1 : 0; i < s->n_toolsets; i += 2) {
        if (cw_str_eq(s->toolsets[i].name, name))
            return &s->toolsets[i];
    }
    return NULL;
}

const cw_entry *const *cw_snapshot_uis(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_uis;
    return s->uis;
}

const cw_snapshot_skill *cw_snapshot_skills(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_skills;
    return s->skills;
}

const cw_requirements *cw_snapshot_classes(const cw_snapshot *s, size_t *ret_n)
{
    *ret_n = s->n_classes;
    return s->classes;
}

const cw_entry *cw_snapshot_find_method(const cw_snapshot *s, cw_str id)
{
    return find_entry(s, &s->by_id, id);
}

const cw_entry *cw_snapshot_find_tool(const cw_snapshot *s, cw_str name)
{
    return find_entry(s, &s->by_name, name);
}

const cw_entry *const *cw_snapshot_exposed(const cw_snapshot *s, cw_exposed_kind kind,
                                           size_t *ret_n)
{
    *ret_n = s->n_shown[kind];
    return s->exposed[kind];
}

const cw_entry *cw_snapshot_find_exposed(const cw_snapshot *s, cw_exposed_kind kind, cw_str address)
{
    return cw_map_find(&s->by_address[kind], address);
}

cw_snapshot_counts cw_snapshot_count(const cw_snapshot *s, const cw_method *methods, size_t n)
{
    cw_snapshot_counts counts = {0};
    for (size_t i = 0; i < n; i++) {
        const cw_method *m = &methods[i];
        const cw_entry *entry = s ? cw_snapshot_find_method(s, m->id) : NULL;
        if (s && (!entry || entry->method != m))
            continue;
        counts.tools += m->mark != NULL;
        if (m->exposed)
            counts.exposed[m->exposed->kind]++;
    }
    return counts;
}

const cw_search_index *cw_snapshot_search_index(const cw_snapshot *s)
{
    return s->search;
}

const cw_portable_names *cw_snapshot_portable_names(const cw_snapshot *s)
{
    _Atomic(cw_portable_names *) *slot = &((cw_snapshot *)(uintptr_t)s)->portable;
    cw_portable_names *made, *there = atomic_load_explicit(slot, memory_order_acquire);
    if (there)
        return there;
    made = cw_portable_names_new(s);
    /* Two loops may make them at once: the first one's are kept. */
    if (made && atomic_compare_exchange_strong(slot, &there, made))
        return made;
    cw_portable_names_free(made);
    return there;
}
