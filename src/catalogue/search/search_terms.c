/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_terms.c - BM25 with fields: a field has a weight, and loses by its length. */
#include "catalogue/search/search_terms.h"

#include <math.h>
#include <stdlib.h>

#define K1 1.2f
#define VERB 3 /* the weight of a verb where verbs stand */

enum { NAME, TITLE, USAGE, PARAM_NAMES, PARAM_TEXTS, TAGS, FIELDS };
_Static_assert(FIELDS == CW_SEARCH_FIELDS, "each has a count");

/* The weight of a word, and how much it loses in a long text. */
static const struct {
    float weight, b;
} fields[FIELDS] = {
    [NAME] = {3, 0.3f},           [TITLE] = {2, 0.3f},          [USAGE] = {1, 0.5f},
    [PARAM_NAMES] = {0.6f, 0.5f}, [PARAM_TEXTS] = {0.3f, 0.5f}, [TAGS] = {0.7f, 0.5f},
};

/* The i-th text of a field; .p is NULL behind the last one. */
static cw_str text_at(const cw_entry *tool, unsigned field, size_t i)
{
    const cw_method *m = tool->method;
    const cw_str none = {NULL, 0};
    switch (field) {
    case NAME:
        return i ? none : tool->tool_name;
    case TITLE:
        return i ? none : m->mark->title;
    case USAGE:
        return i ? none : m->usage;
    case PARAM_NAMES:
        return i < m->n_params ? m->params[i].name : none;
    case PARAM_TEXTS:
        return i < m->n_params ? m->params[i].description : none;
    default:
        return i < m->n_tags ? m->tags[i] : none;
    }
}

static uint32_t count_words(const cw_entry *tool, unsigned field)
{
    uint32_t n = 0;
    cw_str text;
    for (size_t i = 0; (text = text_at(tool, field, i)).p; i++) {
        cw_search_splitter s = cw_search_split(text);
        while (cw_search_next(&s))
            n++;
    }
    return n;
}

void *cw_search_find_or_add(cw_map *map, cw_arena *arena, cw_str key, size_t size)
{
    void *value = cw_map_find(map, key);
    if (value)
        return value;
    cw_str copy = cw_arena_dup_str(arena, key);
    value = cw_arena_calloc(arena, 1, size);
    return copy.p && value && !cw_map_put(map, copy, value, NULL) ? value : NULL;
}

static bool grow(cw_search_term *w)
{
    uint32_t cap = w->cap ? w->cap * 2 : 4;
    cw_search_posting *postings = realloc(w->postings, cap * sizeof *postings);
    if (!postings)
        return false;
    w->postings = postings;
    w->cap = cap;
    return true;
}

/* The posting of a term for the tool, which is the last one so far. NULL: out of memory. */
static cw_search_posting *posting_of(cw_search_terms *t, uint32_t tool, cw_str key)
{
    cw_search_term *w = cw_search_find_or_add(&t->map, t->arena, key, sizeof *w);
    if (!w)
        return NULL;
    bool is_new = !w->n || w->postings[w->n - 1].tool != tool;
    if (is_new && w->n == w->cap && !grow(w))
        return NULL;
    if (is_new)
        w->postings[w->n++] = (cw_search_posting){.tool = tool};
    return &w->postings[w->n - 1];
}

static void add_to(uint8_t *count, uint8_t n)
{
    *count = n < UINT8_MAX - *count ? (uint8_t)(*count + n) : UINT8_MAX;
}

/* Count a term that is no stem. False: out of memory. */
static bool add_term(cw_search_terms *t, uint32_t tool, cw_str key, uint8_t weight)
{
    cw_search_posting *p = posting_of(t, tool, key);
    if (p)
        add_to(&p->weight, weight);
    return p != NULL;
}

static bool add_marked(cw_search_terms *t, uint32_t tool, char mark, cw_str word, uint8_t weight)
{
    cw_search_key room;
    return add_term(t, tool, cw_search_marked(mark, word, &room), weight);
}

/* Pairs of words, and forms. */
static bool add_name(cw_search_terms *t, uint32_t index, cw_str name)
{
    cw_search_splitter s = cw_search_split(name), before = {.n_stem = 0};
    bool is_ok = true;
    for (; is_ok && cw_search_next(&s); before = s) {
        cw_search_key room;
        is_ok = add_marked(t, index, CW_SEARCH_FORM, cw_search_word(&s), 1);
        if (is_ok && before.n_stem)
            is_ok = add_term(t, index,
                             cw_search_pair(cw_search_stem(&before), cw_search_stem(&s), &room), 1);
    }
    return is_ok;
}

/* Without what is before the last dot: "invoice.delete" is a verb of invoices. */
static cw_str last_part(cw_str name)
{
    size_t i = name.n;
    while (i && name.p[i - 1] != '.' && name.p[i - 1] != '/' && name.p[i - 1] != ':')
        i--;
    return cw_str_make(name.p + i, name.n - i);
}

static bool add_verb(cw_search_terms *t, uint32_t index, const cw_search_splitter *s)
{
    return !s->n_stem || add_marked(t, index, CW_SEARCH_VERB, cw_search_stem(s), VERB);
}

static bool is_verb(const cw_map *verbs, const cw_search_splitter *s)
{
    return s->n_stem && cw_map_find(verbs, cw_search_stem(s));
}

/* The verbs of a tool: those at the ends of its name, else the first one of its text. */
static bool add_verbs(cw_search_terms *t, uint32_t index, const cw_entry *tool, const cw_map *verbs)
{
    cw_search_splitter first = cw_search_split(last_part(tool->tool_name));
    cw_search_splitter last = {.n_stem = 0}, text = cw_search_split(tool->method->usage);
    (void)cw_search_next(&first);
    (void)cw_search_next(&text);
    for (cw_search_splitter at = first; cw_search_next(&at);)
        last = at;
    if (!is_verb(verbs, &first) && !is_verb(verbs, &last))
        return add_verb(t, index, &text);
    return add_verb(t, index, &first) && add_verb(t, index, &last);
}

static bool add_field(cw_search_terms *t, uint32_t index, const cw_entry *tool, unsigned field)
{
    bool is_ok = true;
    cw_str text;
    for (size_t i = 0; is_ok && (text = text_at(tool, field, i)).p; i++) {
        cw_search_splitter s = cw_search_split(text);
        while (is_ok && cw_search_next(&s)) {
            cw_search_posting *p = posting_of(t, index, cw_search_stem(&s));
            is_ok = p != NULL;
            if (p)
                add_to(&p->counts[field], 1);
        }
    }
    return is_ok;
}

/* All fields of one tool. */
static bool add_tool(cw_search_terms *t, uint32_t index, const cw_entry *tool, const cw_map *verbs)
{
    bool is_ok = add_name(t, index, tool->tool_name) && add_verbs(t, index, tool, verbs);
    for (unsigned f = 0; f < FIELDS && is_ok; f++) {
        t->lengths[index].words[f] = count_words(tool, f);
        is_ok = add_field(t, index, tool, f);
    }
    return is_ok;
}

bool cw_search_terms_add(cw_search_terms *t, const cw_map *verbs, const cw_entry *const *tools,
                         size_t n)
{
    t->n_tools = n;
    t->lengths = cw_arena_calloc(t->arena, n + 1, sizeof *t->lengths);
    bool is_ok = t->lengths != NULL;
    for (size_t i = 0; i < n && is_ok; i++)
        is_ok = add_tool(t, (uint32_t)i, tools[i], verbs);
    return is_ok;
}

const cw_search_term *cw_search_terms_find(const cw_search_terms *t, cw_str key)
{
    return cw_map_find(&t->map, key);
}

/* ---- the tools that a caller is shown ---- */

cw_search_shown cw_search_shown_of(const cw_search_terms *t, const bool *tools)
{
    uint64_t sums[FIELDS] = {0};
    cw_search_shown s = {.terms = t, .tools = tools};
    for (size_t i = 0; i < t->n_tools; i++) {
        if (!tools[i])
            continue;
        s.n++;
        for (unsigned f = 0; f < FIELDS; f++)
            sums[f] += t->lengths[i].words[f];
    }
    for (unsigned f = 0; f < FIELDS; f++)
        s.averages[f] = sums[f] ? (float)sums[f] / (float)s.n : 1;
    return s;
}

bool cw_search_shown_has(const cw_search_shown *s, const cw_search_term *term)
{
    for (uint32_t i = 0; i < term->n; i++) {
        if (s->tools[term->postings[i].tool])
            return true;
    }
    return false;
}

float cw_search_shown_rarity(const cw_search_shown *s, const cw_search_term *term)
{
    uint32_t n = s->n == s->terms->n_tools ? term->n : 0;
    for (uint32_t i = 0; i < term->n && s->n < s->terms->n_tools; i++)
        n += s->tools[term->postings[i].tool];
    return n ? logf(1.0f + ((float)(s->n - n) + 0.5f) / ((float)n + 0.5f)) : 0;
}

float cw_search_shown_score(const cw_search_shown *s, const cw_search_posting *posting)
{
    const cw_search_lengths *lengths = &s->terms->lengths[posting->tool];
    float weight = posting->weight;
    for (unsigned f = 0; f < FIELDS; f++) {
        if (!posting->counts[f])
            continue;
        float length = (float)lengths->words[f] / s->averages[f], b = fields[f].b;
        weight += (float)posting->counts[f] * fields[f].weight / (1 - b + b * length);
    }
    return weight * (K1 + 1) / (weight + K1);
}

bool cw_search_is_word(cw_str key)
{
    return key.p[0] != CW_SEARCH_FORM && key.p[0] != CW_SEARCH_VERB && !memchr(key.p, ' ', key.n);
}

void cw_search_terms_init(cw_search_terms *t, cw_arena *arena)
{
    cw_map_init(&t->map, UINT32_MAX);
    t->arena = arena;
}

void cw_search_terms_done(cw_search_terms *t)
{
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&t->map, &at));)
        free(((cw_search_term *)e->value)->postings);
    cw_map_done(&t->map);
}
