/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_related.c - reads the groups of the thesaurus against the terms of a catalogue. */
#include "catalogue/search/search_related.h"

#include "catalogue/search/thesaurus.h"

#define SAME 0.85f  /* words of the same meaning */
#define NEAR 0.7f   /* words of nearly the same meaning */
#define TOPIC 0.8f  /* the word that others make one think of */
#define DETAIL 0.5f /* those others, for that word */
#define GROUP_MAX 64u

/* A group while it is read. */
typedef struct group {
    cw_search_key room[GROUP_MAX];
    cw_str keys[GROUP_MAX];
    const cw_search_term *terms[GROUP_MAX];
    size_t n;
} group;

static void read_group(cw_str words, const cw_search_terms *terms, group *ret)
{
    ret->n = 0;
    for (cw_str rest = words; rest.p && ret->n < GROUP_MAX;) {
        cw_search_splitter s = cw_search_split(cw_str_cut(rest, ' ', &rest));
        if (!cw_search_next(&s))
            continue;
        cw_search_splitter first = s;
        cw_str second = cw_search_next(&s) ? cw_search_stem(&s) : cw_str_make("", 0);
        cw_str key = cw_search_pair(cw_search_stem(&first), second, &ret->room[ret->n]);
        if (!second.n)
            key.n--;
        ret->keys[ret->n] = key;
        ret->terms[ret->n++] = cw_search_terms_find(terms, key);
    }
}

/* The terms of a group that tools have, in the arena. False: out of memory. */
static bool keep_terms(cw_search_related *r, const group *g, cw_search_link *ret)
{
    const cw_search_term **kept = cw_arena_calloc(r->arena, g->n + 1, sizeof *kept);
    *ret = (cw_search_link){.terms = kept};
    for (size_t i = 0; kept && i < g->n; i++) {
        if (g->terms[i])
            kept[ret->n++] = g->terms[i];
    }
    return kept != NULL;
}

static bool has_terms(const group *g)
{
    size_t i = 0;
    while (i < g->n && !g->terms[i])
        i++;
    return i < g->n;
}

/* Lead the words of one group to the terms of another. False: out of memory. */
static bool link_groups(cw_search_related *r, const group *from, const group *to, float part)
{
    cw_search_link link;
    if (!has_terms(to))
        return true;
    if (!keep_terms(r, to, &link))
        return false;
    link.part = part;
    for (size_t i = 0; i < from->n; i++) {
        cw_search_link *l = cw_arena_alloc(r->arena, sizeof *l);
        const cw_search_link **head =
            cw_search_find_or_add(&r->map, r->arena, from->keys[i], sizeof *head);
        if (!l || !head)
            return false;
        *l = link;
        l->next = *head;
        *head = l;
    }
    return true;
}

/* Each line of a list is a number of groups. */
static bool add_groups(cw_search_related *r, const cw_search_terms *terms, const char *const *lines,
                       float part)
{
    bool is_ok = true;
    group g;
    for (; *lines && is_ok; lines++) {
        for (cw_str rest = cw_str_from(*lines); rest.p && is_ok;) {
            read_group(cw_str_cut(rest, ';', &rest), terms, &g);
            is_ok = link_groups(r, &g, &g, part);
        }
    }
    return is_ok;
}

static bool add_topics(cw_search_related *r, const cw_search_terms *terms)
{
    bool is_ok = true;
    group topic, details;
    for (const char *const *line = cw_thesaurus_topics; *line && is_ok; line++) {
        cw_str words;
        read_group(cw_str_cut(cw_str_from(*line), ':', &words), terms, &topic);
        read_group(words, terms, &details);
        is_ok = link_groups(r, &details, &topic, TOPIC) && link_groups(r, &topic, &details, DETAIL);
    }
    return is_ok;
}

bool cw_search_related_add(cw_search_related *r, const cw_search_terms *terms)
{
    return add_groups(r, terms, cw_thesaurus_same, SAME) &&
           add_groups(r, terms, cw_thesaurus_near, NEAR) && add_topics(r, terms);
}

const cw_search_link *cw_search_related_find(const cw_search_related *r, cw_str key)
{
    cw_search_link *const *head = cw_map_find(&r->map, key);
    return head ? *head : NULL;
}

void cw_search_related_init(cw_search_related *r, cw_arena *arena)
{
    cw_map_init(&r->map, UINT32_MAX);
    r->arena = arena;
}

void cw_search_related_done(cw_search_related *r)
{
    cw_map_done(&r->map);
}
