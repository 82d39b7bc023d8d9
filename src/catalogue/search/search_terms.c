/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_terms.c - BM25 with fields: a field has a weight, and loses by its length. */
#include "catalogue/search/search_terms.h"

#include <math.h>
#include <stdlib.h>

#define K1 1.2f
#define VERB 3 /* the weight of a verb where verbs stand */

enum { NAME, TITLE, USAGE, PARAM_NAMES, PARAM_TEXTS, TAGS, FIELDS };

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

static size_t count_words(const cw_entry *tool, unsigned field)
{
    size_t n = 0;
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

/* Count a term of the tool, which is the last one so far. False: out of memory. */
static bool add_term(cw_search_terms *t, uint32_t tool, cw_str key, float weight)
{
    cw_search_term *w = cw_search_find_or_add(&t->map, t->arena, key, sizeof *w);
    if (!w)
        return false;
    bool is_new = !w->n || w->postings[w->n - 1].tool != tool;
    if (is_new && w->n == w->cap && !grow(w))
        return false;
    if (is_new)
        w->postings[w->n++] = (cw_search_posting){.tool = tool};
    w->postings[w->n - 1].score += weight;
    return true;
}

static bool add_marked(cw_search_terms *t, uint32_t tool, char mark, cw_str word, float weight)
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

static bool add_field(cw_search_terms *t, uint32_t index, const cw_entry *tool, unsigned field,
                      float weight)
{
    bool is_ok = true;
    cw_str text;
    for (size_t i = 0; is_ok && (text = text_at(tool, field, i)).p; i++) {
        cw_search_splitter s = cw_search_split(text);
        while (is_ok && cw_search_next(&s))
            is_ok = add_term(t, index, cw_search_stem(&s), weight);
    }
    return is_ok;
}

/* Set the score of each posting: the rarity of the term, and how much of the tool it is. */
static void finish(const cw_search_terms *t, size_t n_tools)
{
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&t->map, &at));) {
        const cw_search_term *w = e->value;
        float rarity = logf(1.0f + ((float)(n_tools - w->n) + 0.5f) / ((float)w->n + 0.5f));
        for (uint32_t i = 0; i < w->n; i++) {
            float weight = w->postings[i].score;
            w->postings[i].score = rarity * weight * (K1 + 1) / (weight + K1);
        }
    }
}

/* All fields of one tool. `averages` are the mean numbers of words. */
static bool add_tool(cw_search_terms *t, uint32_t index, const cw_entry *tool, const cw_map *verbs,
                     const float averages[FIELDS])
{
    bool is_ok = add_name(t, index, tool->tool_name) && add_verbs(t, index, tool, verbs);
    for (unsigned f = 0; f < FIELDS && is_ok; f++) {
        float length = (float)count_words(tool, f) / averages[f], b = fields[f].b;
        is_ok = add_field(t, index, tool, f, fields[f].weight / (1 - b + b * length));
    }
    return is_ok;
}

bool cw_search_terms_add(cw_search_terms *t, const cw_map *verbs, const cw_entry *const *tools,
                         size_t n)
{
    float averages[FIELDS];
    bool is_ok = true;
    for (unsigned f = 0; f < FIELDS; f++) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += count_words(tools[i], f);
        averages[f] = sum ? (float)sum / (float)n : 1;
    }
    for (size_t i = 0; i < n && is_ok; i++)
        is_ok = add_tool(t, (uint32_t)i, tools[i], verbs, averages);
    finish(t, n);
    return is_ok;
}

const cw_search_term *cw_search_terms_find(const cw_search_terms *t, cw_str key)
{
    return cw_map_find(&t->map, key);
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
