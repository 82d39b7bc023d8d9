/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.c - sets of skills, and the skills that a caller sees. */
#include "catalogue/skills.h"

#include <stdlib.h>

cw_skills *cw_skills_ref(cw_skills *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void cw_skills_unref(cw_skills *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    cw_arena_done(&s->arena);
    free(s);
}

/* The entry of a skill has the digests of all its files. */
bool cw_skills_same(const cw_skills *a, const cw_skills *b)
{
    size_t n_a = a ? a->n : 0, n_b = b ? b->n : 0;
    bool is_same = n_a == n_b;
    for (size_t i = 0; is_same && i < n_a; i++)
        is_same = cw_str_eq(a->items[i].entry, b->items[i].entry);
    return is_same;
}

bool cw_skill_node_is_in(const cw_skill_node *node, cw_str directory)
{
    if (node->uri.n <= directory.n + 1 || !cw_str_starts(node->uri, directory) ||
        node->uri.p[directory.n] != '/')
        return false;
    size_t rest = node->uri.n - directory.n - 1;
    return !memchr(node->uri.p + directory.n + 1, '/', rest);
}

/* ---- of a caller ---- */

/* Whether the caller sees something of the source that the skill belongs to. */
static bool is_visible(const cw_view *v, const cw_snapshot_skill *s)
{
    const cw_snapshot *snapshot = cw_view_snapshot(v);
    for (size_t i = 0; i < s->n_methods; i++) {
        const cw_method *method = &s->methods[i];
        const cw_entry *entry = cw_snapshot_find_method(snapshot, method->id);
        bool is_shown = method->mark || method->exposed;
        if (is_shown && entry && entry->method == method && cw_view_shows(v, entry))
            return true;
    }
    return false;
}

/* The place of the first skill whose root is `root` or behind it. */
static size_t find_place(const cw_snapshot_skill *all, size_t n, cw_str root)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (cw_str_cmp(all[middle].skill->root, root) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void cw_view_skills_after(const cw_view *v, cw_str root, const cw_skill **ret, size_t n,
                          size_t *ret_n, bool *ret_more)
{
    size_t all, found = 0;
    const cw_snapshot_skill *skills = cw_snapshot_skills(cw_view_snapshot(v), &all);
    size_t i = root.n ? find_place(skills, all, root) : 0;
    if (root.n && i < all && cw_str_eq(skills[i].skill->root, root))
        i++;
    *ret_more = false;
    for (; i < all && !*ret_more; i++) {
        if (!is_visible(v, &skills[i]))
            continue;
        *ret_more = found == n;
        if (!*ret_more)
            ret[found++] = skills[i].skill;
    }
    *ret_n = found;
}

bool cw_view_has_skills(const cw_view *v)
{
    const cw_skill *skill;
    size_t n;
    bool has_more;
    cw_view_skills_after(v, CW_STR(""), &skill, 1, &n, &has_more);
    return n > 0;
}

/* "skill://SOURCE/NAME" of a URI in it; empty: it has no such beginning. */
static cw_str root_of(cw_str uri)
{
    size_t scheme = sizeof CW_SKILL_SCHEME - 1, slashes = 0, i = scheme;
    if (!cw_str_starts(uri, CW_STR(CW_SKILL_SCHEME)))
        return CW_STR("");
    while (i < uri.n && (uri.p[i] != '/' || ++slashes < 2))
        i++;
    return cw_str_make(uri.p, i);
}

bool cw_view_find_skill_node(const cw_view *v, cw_str uri, const cw_skill **ret,
                             const cw_skill_node **ret_node)
{
    size_t n;
    const cw_snapshot_skill *all = cw_snapshot_skills(cw_view_snapshot(v), &n);
    cw_str root = root_of(uri);
    size_t at = root.n ? find_place(all, n, root) : n;
    if (at == n || !cw_str_eq(all[at].skill->root, root) || !is_visible(v, &all[at]))
        return false;
    const cw_skill *skill = all[at].skill;
    *ret = skill;
    *ret_node = NULL;
    if (uri.n == root.n)
        return true;
    for (size_t i = 0; i < skill->n_nodes; i++) {
        if (!cw_str_eq(skill->nodes[i].uri, uri))
            continue;
        *ret_node = &skill->nodes[i];
        return true;
    }
    return false;
}

const cw_skill *cw_view_find_skill(const cw_view *v, cw_str uri)
{
    const cw_skill *skill;
    const cw_skill_node *node;
    bool is_there = cw_view_find_skill_node(v, uri, &skill, &node);
    return is_there && cw_str_eq(skill->uri, uri) ? skill : NULL;
}
