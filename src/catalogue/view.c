/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - the catalogue as one caller sees it: lookups, lists, pages. */
#include "catalogue/view.h"

#include <stdlib.h>

#include "catalogue/exposed.h"
#include "catalogue/skills.h"
#include "catalogue/tool/portable_name.h"

#define BLOCK 64u       /* entries that are counted together */
#define MATCH_CHUNK 64u /* templates that are looked up at once */

struct cw_view {
    unsigned refs;
    cw_snapshot *snapshot;
    cw_caller *caller;
    const cw_toolset *toolset; /* NULL: everything */
    const cw_entry *entries;   /* of the snapshot */
    cw_verdict discover, call;
    uint32_t *counts[CW_VIEW_LISTS]; /* visible ones before each block, and in all; NULL: not wanted
                                        yet */
    uint64_t number;                 /* of the cache */
    const void *asked;               /* of cw_view_lists_with_source: the source */
    unsigned asked_for;              /* and the lists */
    unsigned answer;
    size_t n_classes;
    unsigned char verdicts[]; /* cw_verdict of each class, then a bit for each */
};

static bool is_visible(const cw_view *v, const cw_entry *entry)
{
    if (!entry || v->verdicts[entry->class_index] == CW_VERDICT_HIDDEN)
        return false;
    return !v->toolset || cw_toolset_has(v->toolset, (size_t)(entry - v->entries));
}

cw_code cw_view_new_in(cw_snapshot *snapshot, cw_caller *caller, const cw_toolset *toolset,
                       cw_view **ret, cw_err *err)
{
    size_t n, n_entries;
    const cw_requirements *classes = cw_snapshot_classes(snapshot, &n);
    cw_view *v = calloc(1, sizeof *v + n + (n + 7) / 8);
    if (!v)
        return cw_fail_nomem(err);
    v->refs = 1;
    v->snapshot = cw_snapshot_ref(snapshot);
    v->caller = cw_caller_ref(caller);
    v->toolset = toolset;
    v->entries = cw_snapshot_entries(snapshot, &n_entries);
    v->discover = cw_gate_permission(caller, CW_PERMISSION_DISCOVER);
    v->call = cw_gate_permission(caller, CW_PERMISSION_CALL);
    v->n_classes = n;
    for (size_t i = 0; i < n; i++) {
        v->verdicts[i] = (unsigned char)cw_gate_check(caller, &classes[i]);
        if (v->verdicts[i] != CW_VERDICT_HIDDEN)
            v->verdicts[n + i / 8] |= (unsigned char)(1u << i % 8);
    }
    *ret = v;
    return CW_OK;
}

cw_code cw_view_new(cw_snapshot *snapshot, cw_caller *caller, cw_view **ret, cw_err *err)
{
    return cw_view_new_in(snapshot, caller, /* toolset= */ NULL, ret, err);
}

cw_view *cw_view_ref(cw_view *v)
{
    v->refs++;
    return v;
}

void cw_view_unref(cw_view *v)
{
    if (!v || --v->refs)
        return;
    for (size_t i = 0; i < CW_VIEW_LISTS; i++)
        free(v->counts[i]);
    cw_snapshot_unref(v->snapshot);
    cw_caller_unref(v->caller);
    free(v);
}

const cw_snapshot *cw_view_snapshot(const cw_view *v)
{
    return v->snapshot;
}

cw_caller *cw_view_caller(const cw_view *v)
{
    return v->caller;
}

const cw_toolset *cw_view_toolset(const cw_view *v)
{
    return v->toolset;
}

cw_verdict cw_view_verdict(const cw_view *v, const cw_entry *entry)
{
    return (cw_verdict)v->verdicts[entry->class_index];
}

bool cw_view_shows(const cw_view *v, const cw_entry *entry)
{
    return is_visible(v, entry);
}

cw_verdict cw_view_discover_verdict(const cw_view *v)
{
    return v->discover;
}

cw_verdict cw_view_call_verdict(const cw_view *v)
{
    return v->call;
}

const cw_entry *cw_view_find_tool(const cw_view *v, cw_str name)
{
    const cw_entry *entry = cw_snapshot_find_tool(v->snapshot, name);
    return is_visible(v, entry) ? entry : NULL;
}

const cw_entry *cw_view_find_portable(const cw_view *v, cw_str name)
{
    const cw_entry *found = NULL;
    const cw_portable_names *names = cw_snapshot_portable_names(v->snapshot);
    const cw_portable_tool *one = names ? cw_portable_names_find(names, name) : NULL;
    for (; one; one = one->next) {
        if (!is_visible(v, one->tool))
            continue;
        if (found)
            return NULL;
        found = one->tool;
    }
    return found;
}

const cw_entry *cw_view_find_method(const cw_view *v, cw_str id)
{
    const cw_entry *entry = cw_snapshot_find_method(v->snapshot, id);
    if (!is_visible(v, entry))
        return NULL;
    return entry->method->mark || entry->method->is_callable ? entry : NULL;
}

const cw_entry *cw_view_find_exposed(const cw_view *v, cw_exposed_kind kind, cw_str address)
{
    const cw_entry *entry = cw_snapshot_find_exposed(v->snapshot, kind, address);
    return is_visible(v, entry) ? entry : NULL;
}

/* ---- pages ---- */

static cw_exposed_kind kind_of(cw_view_list list)
{
    return (cw_exposed_kind)(list - CW_VIEW_RESOURCES);
}

static size_t count_all(const cw_view *v, cw_view_list list)
{
    size_t n;
    if (list == CW_VIEW_TOOLS)
        (void)cw_snapshot_tools(v->snapshot, &n);
    else if (list == CW_VIEW_METHODS)
        (void)cw_snapshot_entries(v->snapshot, &n);
    else
        (void)cw_snapshot_exposed(v->snapshot, kind_of(list), &n);
    return n;
}

/* The i-th of all. */
static const cw_entry *at_index(const cw_view *v, cw_view_list list, size_t i)
{
    size_t n;
    if (list == CW_VIEW_TOOLS)
        return cw_snapshot_tools(v->snapshot, &n)[i];
    if (list == CW_VIEW_METHODS)
        return &cw_snapshot_entries(v->snapshot, &n)[i];
    return cw_snapshot_exposed(v->snapshot, kind_of(list), &n)[i];
}

/* The i-th of all, or NULL when the caller does not see it. */
static const cw_entry *lookup(const cw_view *v, cw_view_list list, size_t i)
{
    const cw_entry *entry = at_index(v, list, i);
    if (!is_visible(v, entry))
        return NULL;
    if (list != CW_VIEW_METHODS)
        return entry;
    return entry->method->mark || entry->method->is_callable ? entry : NULL;
}

static uint32_t *count_blocks(const cw_view *v, cw_view_list list)
{
    size_t n = count_all(v, list), n_blocks = (n + BLOCK - 1) / BLOCK;
    uint32_t *counts = calloc(n_blocks + 1, sizeof *counts);
    for (size_t i = 0; counts && i < n; i++)
        counts[i / BLOCK + 1] += lookup(v, list, i) != NULL;
    for (size_t i = 0; counts && i < n_blocks; i++)
        counts[i + 1] += counts[i];
    return counts;
}

/* The last block with at most `offset` visible entries before it. */
static size_t find_block(const uint32_t *counts, size_t n_blocks, size_t offset)
{
    size_t low = 0, high = n_blocks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (counts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

cw_code cw_view_page(cw_view *v, cw_view_list list, size_t offset, const cw_entry **ret, size_t n,
                     size_t *ret_n, size_t *ret_total)
{
    if (!v->counts[list])
        v->counts[list] = count_blocks(v, list);
    const uint32_t *counts = v->counts[list];
    if (!counts)
        return CW_NOMEM;
    size_t all = count_all(v, list), n_blocks = (all + BLOCK - 1) / BLOCK, found = 0;
    *ret_total = counts[n_blocks];
    size_t block = offset < *ret_total ? find_block(counts, n_blocks, offset) : n_blocks;
    size_t skip = offset - counts[block];
    for (; block < n_blocks && found < n; block++) {
        if (counts[block] == counts[block + 1])
            continue; /* nothing here for this caller */
        size_t end = (block + 1) * BLOCK < all ? (block + 1) * BLOCK : all;
        for (size_t i = block * BLOCK; i < end && found < n; i++) {
            const cw_entry *entry = lookup(v, list, i);
            if (entry && skip)
                skip--;
            else if (entry)
                ret[found++] = entry;
        }
    }
    *ret_n = found;
    return CW_OK;
}

/* ---- resources ---- */

/* A URI that does not begin like the template is not matched against it. */
static cw_code match_template(const cw_entry *entry, cw_str uri, cw_arena *arena, cw_str *ret)
{
    const cw_exposed *exposed = entry->method->exposed;
    cw_str template = exposed->address;
    const char *open = memchr(template.p, '{', template.n);
    cw_str literal = cw_str_make(template.p, open ? (size_t)(open - template.p) : template.n);
    if (!cw_str_starts(uri, literal))
        return CW_NOTFOUND;
    if (exposed->is_relayed)
        return cw_exposed_covers(template, uri) ? CW_OK : CW_NOTFOUND;
    if (!cw_exposed_match(template, uri, arena, ret))
        return CW_NOTFOUND;
    return ret->p ? CW_OK : CW_NOMEM;
}

/* A resource of an MCP server that is hidden from the caller stays so: a template that covers it would
 * read the same. */
static bool is_hidden_resource(const cw_view *v, cw_str uri)
{
    const cw_entry *entry = cw_snapshot_find_exposed(v->snapshot, CW_EXPOSED_RESOURCE, uri);
    return entry && entry->method->exposed->is_relayed;
}

cw_code cw_view_match_resource(cw_view *v, cw_str uri, cw_arena *arena, const cw_entry **ret,
                               cw_str *ret_variables)
{
    const cw_entry *entries[MATCH_CHUNK];
    size_t n, total, at = 0;
    *ret_variables = CW_STR("");
    *ret = cw_view_find_exposed(v, CW_EXPOSED_RESOURCE, uri);
    if (*ret)
        return CW_OK;
    if (is_hidden_resource(v, uri))
        return CW_NOTFOUND;
    do {
        cw_code rc = cw_view_page(v, CW_VIEW_TEMPLATES, at, entries, MATCH_CHUNK, &n, &total);
        for (size_t i = 0; !rc && i < n; i++) {
            cw_code found = match_template(entries[i], uri, arena, ret_variables);
            *ret = entries[i];
            if (found != CW_NOTFOUND)
                return found;
        }
        if (rc)
            return rc;
        at += n;
    } while (n && at < total);
    *ret = NULL;
    *ret_variables = CW_STR("");
    return CW_NOTFOUND;
}

cw_str cw_view_name(cw_view_list list, const cw_entry *entry)
{
    if (list == CW_VIEW_TOOLS)
        return entry->tool_name;
    return list == CW_VIEW_METHODS ? entry->method->id : entry->method->exposed->address;
}

void cw_view_after(const cw_view *v, cw_view_list list, cw_str name, const cw_entry **ret, size_t n,
                   size_t *ret_n, bool *ret_more)
{
    size_t all = count_all(v, list), low = 0, high = all, found = 0;
    while (name.n && low < high) {
        size_t middle = low + (high - low) / 2;
        if (cw_str_cmp(cw_view_name(list, at_index(v, list, middle)), name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_more = false;
    for (size_t i = low; i < all; i++) {
        const cw_entry *entry = lookup(v, list, i);
        if (entry && found == n) {
            *ret_more = true;
            break;
        }
        if (entry)
            ret[found++] = entry;
    }
    *ret_n = found;
}

cw_str cw_view_visibility_key(const cw_view *v)
{
    return cw_str_make((const char *)v->verdicts + v->n_classes, (v->n_classes + 7) / 8);
}

uint64_t cw_view_cache_id(const cw_view *v)
{
    return v->number;
}

void cw_view_set_cache_id(cw_view *v, uint64_t number)
{
    v->number = number;
}

/* ---- changes ---- */

static const cw_entry *next_visible(const cw_view *v, cw_view_list list, size_t *at)
{
    size_t n = count_all(v, list);
    while (*at < n) {
        const cw_entry *entry = lookup(v, list, (*at)++);
        if (entry)
            return entry;
    }
    return NULL;
}

static bool sees_any(const cw_view *v, cw_view_list list, const void *source)
{
    size_t at = 0;
    const cw_entry *entry;
    while ((entry = next_visible(v, list, &at))) {
        if (entry->method->source == source)
            return true;
    }
    return false;
}

static const struct {
    cw_view_list list;
    unsigned change;
} changes[] = {{CW_VIEW_TOOLS, CW_CHANGED_TOOLS},
               {CW_VIEW_PROMPTS, CW_CHANGED_PROMPTS},
               {CW_VIEW_RESOURCES, CW_CHANGED_RESOURCES},
               {CW_VIEW_TEMPLATES, CW_CHANGED_RESOURCES}};

unsigned cw_view_lists_with_source(cw_view *v, const void *source, unsigned lists)
{
    if (v->asked == source && v->asked_for == lists)
        return v->answer;
    v->asked = source;
    v->asked_for = lists;
    v->answer = 0;
    for (size_t i = 0; i < CW_COUNT(changes); i++) {
        unsigned change = changes[i].change & lists & ~v->answer;
        if (change && sees_any(v, changes[i].list, source))
            v->answer |= change;
    }
    return v->answer;
}

static bool is_gated(const cw_view *v, cw_view_list list)
{
    size_t at = 0;
    const cw_entry *entry;
    while ((entry = next_visible(v, list, &at))) {
        if (cw_view_verdict(v, entry) != CW_VERDICT_ALLOW)
            return true;
    }
    return false;
}

unsigned cw_view_gated_lists(const cw_view *v)
{
    unsigned lists = 0;
    for (size_t i = 0; i < CW_COUNT(changes); i++)
        lists |= is_gated(v, changes[i].list) ? changes[i].change : 0;
    return lists;
}

static bool lists_equal(const cw_view *a, const cw_view *b, cw_view_list list)
{
    size_t at_a = 0;
    size_t at_b = 0;
    for (;;) {
        const cw_entry *x = next_visible(a, list, &at_a);
        const cw_entry *y = next_visible(b, list, &at_b);
        if (!x || !y)
            return x == y;
        bool is_same = list == CW_VIEW_TOOLS ? x->tool_hash == y->tool_hash
                                             : cw_str_eq(x->exposed_json, y->exposed_json);
        if (!is_same)
            return false;
    }
}

/* An entry has the digests of all files. */
static bool skills_equal(const cw_view *a, const cw_view *b)
{
    const cw_skill *x = NULL, *y = NULL;
    size_t n_x, n_y;
    bool more;
    do {
        cw_view_skills_after(a, x ? x->root : CW_STR(""), &x, 1, &n_x, &more);
        cw_view_skills_after(b, y ? y->root : CW_STR(""), &y, 1, &n_y, &more);
        if (n_x != n_y || (n_x && !cw_str_eq(x->entry, y->entry)))
            return false;
    } while (n_x);
    return true;
}

unsigned cw_view_changes(const cw_view *a, const cw_view *b)
{
    bool same_form = !a->toolset || !b->toolset || cw_toolset_same_form(a->toolset, b->toolset);
    unsigned lists = same_form && lists_equal(a, b, CW_VIEW_TOOLS) ? 0 : CW_CHANGED_TOOLS;
    if (!lists_equal(a, b, CW_VIEW_PROMPTS))
        lists |= CW_CHANGED_PROMPTS;
    if (!lists_equal(a, b, CW_VIEW_RESOURCES) || !lists_equal(a, b, CW_VIEW_TEMPLATES) ||
        !skills_equal(a, b))
        lists |= CW_CHANGED_RESOURCES;
    return lists;
}
