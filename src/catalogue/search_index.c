/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_index.c - an inverted index of the tools of a snapshot, and BM25 with fields. */
#include "catalogue/search_index.h"

#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "catalogue/portable_name.h"
#include "catalogue/search_words.h"
#include "catalogue/thesaurus.h"

#define K1 1.2f
#define EXACT 1e6f
#define PREFIX 1e5f
/* Parts of the score of a word: */
#define SAME 0.85f        /* one of the same meaning */
#define NEAR 0.7f         /* one of nearly the same meaning */
#define SIMILAR 0.6f      /* one with nearly the same letters */
#define COMPOUND 0.5f     /* one that contains it, or that it contains */
#define LIGHT 0.5f        /* a word that says little */
#define BESIDE_OWN 0.8f   /* others, if tools have the word itself */
#define FORM 0.2f         /* more, for a name with the word in this form */
#define MATCHED 0.4f      /* how much the part of the words counts that a tool matches */
#define INTENT 0.8f       /* a verb that a word of a wish stands for */
#define INTENT_MAX 1.2f   /* of several such words */
#define PLURAL 0.4f       /* "list", for things in the plural */
#define COMMON_VERB 0.15f /* what most people want */
#define LINES_MAX 16u     /* groups of the thesaurus that have one word */
#define MEMBERS_MAX 16u   /* words of a group */
#define INTENTS_MAX 8u    /* verbs that one word stands for */
#define VERBS_MAX 64u     /* of all intents */
#define PART_MIN 4u       /* letters of a word that may be a part of another */
#define SPELLING_MIN 5u   /* letters of a word that may be misspelt */
#define FORM_MARK "="     /* before a word of a name as it is, in the map of terms */

typedef struct posting {
    uint32_t tool; /* index among the tools of the snapshot */
    float weight;  /* of the word in it; when the index is made: what it scores */
} posting;

typedef struct term {
    posting *postings;
    uint32_t n, cap;
} term;

/* The groups of the thesaurus that have a word. */
typedef struct thesaurus_word {
    uint16_t groups[LINES_MAX];
    unsigned n;
} thesaurus_word;

/* One group: those of its words that tools have. */
typedef struct thesaurus_group {
    const term *terms[MEMBERS_MAX];
    unsigned n;
    float part;
} thesaurus_group;

/* The verbs that a word of a wish stands for. */
typedef struct intent_verbs {
    unsigned char verbs[INTENTS_MAX];
    unsigned n;
} intent_verbs;

struct cw_search_index {
    const cw_snapshot *snapshot;
    cw_map words;   /* stem -> term */
    cw_map related; /* stem -> thesaurus_word */
    cw_map stops;   /* words */
    cw_map lights;  /* stems */
    cw_map intents; /* stem -> intent_verbs */
    thesaurus_group *groups;
    const term *verbs[VERBS_MAX]; /* of intents; NULL: no tool has it */
    char verb_names[VERBS_MAX][CW_SEARCH_WORD];
    unsigned n_verbs;
    cw_arena arena;
    size_t n_tools;
};

/* ---- fields ---- */

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

/* ---- building ---- */

/* The value of a word in a map, made if it has none. NULL: out of memory. */
static void *find_or_add(cw_search_index *x, cw_map *map, cw_str word, size_t size)
{
    void *value = cw_map_find(map, word);
    if (value)
        return value;
    cw_str copy = cw_arena_dup_str(&x->arena, word);
    value = cw_arena_calloc(&x->arena, 1, size);
    return copy.p && value && !cw_map_put(map, copy, value, NULL) ? value : NULL;
}

static bool grow(term *w)
{
    uint32_t cap = w->cap ? w->cap * 2 : 4;
    posting *postings = realloc(w->postings, cap * sizeof *postings);
    if (!postings)
        return false;
    w->postings = postings;
    w->cap = cap;
    return true;
}

/* Count a word of the tool, which is the last one so far. False: out of memory. */
static bool add_word(cw_search_index *x, uint32_t tool, cw_str word, float weight)
{
    term *w = find_or_add(x, &x->words, word, sizeof *w);
    if (!w)
        return false;
    bool is_new = !w->n || w->postings[w->n - 1].tool != tool;
    if (is_new && w->n == w->cap && !grow(w))
        return false;
    if (is_new)
        w->postings[w->n++] = (posting){.tool = tool};
    w->postings[w->n - 1].weight += weight;
    return true;
}

/* A word of a name as it is, for queries with the same form of it. */
static cw_str form_key(cw_str word, char room[CW_SEARCH_WORD + 1])
{
    room[0] = FORM_MARK[0];
    memcpy(room + 1, word.p, word.n);
    return cw_str_make(room, word.n + 1);
}

static bool add_field(cw_search_index *x, uint32_t index, const cw_entry *tool, unsigned field,
                      float weight)
{
    char room[CW_SEARCH_WORD + 1];
    bool is_ok = true;
    cw_str text;
    for (size_t i = 0; is_ok && (text = text_at(tool, field, i)).p; i++) {
        cw_search_splitter s = cw_search_split(text);
        while (is_ok && cw_search_next(&s)) {
            is_ok = add_word(x, index, cw_search_stem(&s), weight);
            if (is_ok && field == NAME)
                is_ok = add_word(x, index, form_key(cw_search_word(&s), room), 1);
        }
    }
    return is_ok;
}

static bool add_tools(cw_search_index *x, const cw_entry *const *tools)
{
    bool is_ok = true;
    for (unsigned f = 0; f < FIELDS && is_ok; f++) {
        size_t sum = 0;
        for (size_t i = 0; i < x->n_tools; i++)
            sum += count_words(tools[i], f);
        float average = sum ? (float)sum / (float)x->n_tools : 1, b = fields[f].b;
        for (size_t i = 0; i < x->n_tools && is_ok; i++) {
            float length = (float)count_words(tools[i], f) / average;
            is_ok = add_field(x, (uint32_t)i, tools[i], f, fields[f].weight / (1 - b + b * length));
        }
    }
    return is_ok;
}

static bool add_list(cw_search_index *x, cw_map *map, const char *const *words, bool is_stemmed)
{
    bool is_ok = true;
    for (; *words && is_ok; words++) {
        cw_search_splitter s = cw_search_split(cw_str_from(*words));
        (void)cw_search_next(&s);
        is_ok = find_or_add(x, map, is_stemmed ? cw_search_stem(&s) : cw_search_word(&s), 1);
    }
    return is_ok;
}

/* Set the score of each posting: the rarity of the word, and how much of the tool it is. */
static void finish(const cw_search_index *x)
{
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&x->words, &at));) {
        const term *w = e->value;
        float rarity = logf(1.0f + ((float)(x->n_tools - w->n) + 0.5f) / ((float)w->n + 0.5f));
        for (uint32_t i = 0; i < w->n; i++) {
            float weight = w->postings[i].weight;
            w->postings[i].weight = rarity * weight * (K1 + 1) / (weight + K1);
        }
    }
}

/* ---- the thesaurus ---- */

static bool add_group(cw_search_index *x, uint16_t index, cw_str words, float part)
{
    thesaurus_group *g = &x->groups[index];
    cw_search_splitter s = cw_search_split(words);
    g->part = part;
    while (cw_search_next(&s)) {
        thesaurus_word *r = find_or_add(x, &x->related, cw_search_stem(&s), sizeof *r);
        const term *w = cw_map_find(&x->words, cw_search_stem(&s));
        if (!r)
            return false;
        if (r->n < LINES_MAX)
            r->groups[r->n++] = index;
        if (w && g->n < MEMBERS_MAX)
            g->terms[g->n++] = w;
    }
    return true;
}

static bool add_groups(cw_search_index *x, const char *const *lines, float part, uint16_t *n)
{
    bool is_ok = true;
    for (; *lines && is_ok; lines++) {
        for (cw_str rest = cw_str_from(*lines); rest.p && is_ok;)
            is_ok = add_group(x, (*n)++, cw_str_cut(rest, ';', &rest), part);
    }
    return is_ok;
}

static size_t count_groups(const char *const *lines)
{
    size_t n = 0;
    for (; *lines; lines++) {
        for (cw_str rest = cw_str_from(*lines); rest.p; n++)
            (void)cw_str_cut(rest, ';', &rest);
    }
    return n;
}

/* The number of a verb; VERBS_MAX: there are too many. */
static unsigned verb_number(cw_search_index *x, cw_str stem)
{
    unsigned i = 0;
    while (i < x->n_verbs && !cw_str_is(stem, x->verb_names[i]))
        i++;
    if (i < x->n_verbs || i == VERBS_MAX || stem.n >= CW_SEARCH_WORD)
        return i;
    memcpy(x->verb_names[i], stem.p, stem.n);
    x->verbs[i] = cw_map_find(&x->words, stem);
    x->n_verbs++;
    return i;
}

static bool add_intent(cw_search_index *x, cw_str words)
{
    cw_search_splitter s = cw_search_split(words);
    (void)cw_search_next(&s);
    unsigned verb = verb_number(x, cw_search_stem(&s));
    while (verb < VERBS_MAX && cw_search_next(&s)) {
        intent_verbs *v = find_or_add(x, &x->intents, cw_search_stem(&s), sizeof *v);
        if (!v)
            return false;
        bool is_known = false;
        for (unsigned i = 0; i < v->n && !is_known; i++)
            is_known = v->verbs[i] == verb;
        if (!is_known && v->n < INTENTS_MAX)
            v->verbs[v->n++] = (unsigned char)verb;
    }
    return true;
}

static bool add_intents(cw_search_index *x)
{
    bool is_ok = true;
    for (const char *const *line = cw_thesaurus_intents; *line && is_ok; line++) {
        for (cw_str rest = cw_str_from(*line); rest.p && is_ok;)
            is_ok = add_intent(x, cw_str_cut(rest, ';', &rest));
    }
    return is_ok;
}

/* After all tools: the words that they have are known. False: out of memory. */
static bool add_thesaurus(cw_search_index *x)
{
    uint16_t n = 0;
    size_t count = count_groups(cw_thesaurus_same) + count_groups(cw_thesaurus_near);
    x->groups = cw_arena_calloc(&x->arena, count, sizeof *x->groups);
    return x->groups && add_groups(x, cw_thesaurus_same, SAME, &n) &&
           add_groups(x, cw_thesaurus_near, NEAR, &n) && add_intents(x);
}

cw_search_index *cw_search_index_new(const cw_snapshot *snapshot)
{
    cw_search_index *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &x->n_tools);
    x->snapshot = snapshot;
    cw_map_init(&x->words, UINT32_MAX);
    cw_map_init(&x->related, UINT32_MAX);
    cw_map_init(&x->stops, UINT32_MAX);
    cw_map_init(&x->lights, UINT32_MAX);
    cw_map_init(&x->intents, UINT32_MAX);
    cw_arena_init(&x->arena, CW_ARENA_MAX);
    bool is_ok = add_list(x, &x->stops, cw_search_stop_words, /* is_stemmed= */ false) &&
                 add_list(x, &x->lights, cw_search_light_words, /* is_stemmed= */ true) &&
                 add_tools(x, tools) && add_thesaurus(x);
    if (!is_ok) {
        cw_search_index_free(x);
        return NULL;
    }
    finish(x);
    return x;
}

void cw_search_index_free(cw_search_index *x)
{
    if (!x)
        return;
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&x->words, &at));)
        free(((term *)e->value)->postings);
    cw_map_done(&x->words);
    cw_map_done(&x->related);
    cw_map_done(&x->stops);
    cw_map_done(&x->lights);
    cw_map_done(&x->intents);
    cw_arena_done(&x->arena);
    free(x);
}

/* ---- finding ---- */

/* A search. The arrays have an element for each tool. */
typedef struct search {
    const cw_search_index *x;
    float *scores;
    float *matched; /* the weights of the words of the query that it has */
    float *word;    /* its score for the present word of the query */
    uint32_t *touched;
    size_t n_touched; /* tools with a score for the present word */
    float total;      /* the weights of all words that tools have */
    const term *seen[2 * CW_SEARCH_MAX_WORDS];
    size_t n_seen;
    bool is_plural;
    float verbs[VERBS_MAX];
} search;

static void score_term(search *s, const term *w, float part)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const posting *p = &w->postings[i];
        float score = part * p->weight;
        if (s->word[p->tool] <= 0)
            s->touched[s->n_touched++] = p->tool;
        if (s->word[p->tool] < score)
            s->word[p->tool] = score;
    }
}

/* Words of the same groups of the thesaurus. */
static void score_related(search *s, cw_str stem, float part)
{
    const thesaurus_word *t = cw_map_find(&s->x->related, stem);
    for (unsigned i = 0; t && i < t->n; i++) {
        const thesaurus_group *g = &s->x->groups[t->groups[i]];
        for (unsigned j = 0; j < g->n; j++)
            score_term(s, g->terms[j], part * g->part);
    }
}

/* Whether one is the beginning or the end of the other: "sheet" and "timesheet". */
static bool is_part_of(cw_str part, cw_str whole)
{
    return part.n >= PART_MIN && whole.n > part.n &&
           (cw_str_starts(whole, part) || memcmp(whole.p + whole.n - part.n, part.p, part.n) == 0);
}

/* A word that no tool has may be misspelt, or a part of a compound. */
static void score_similar(search *s, cw_str stem)
{
    size_t at = 0;
    if (stem.n < PART_MIN)
        return;
    for (const cw_map_entry *e; (e = cw_map_next(&s->x->words, &at));) {
        bool may_be = stem.n >= SPELLING_MIN && e->key.n + 1 >= stem.n && e->key.n <= stem.n + 1 &&
                      e->key.p[0] == stem.p[0];
        if (e->key.p[0] == FORM_MARK[0])
            continue;
        if (may_be && cw_str_distance_within(e->key, stem, 1) <= 1)
            score_term(s, e->value, SIMILAR);
        else if (is_part_of(stem, e->key) || is_part_of(e->key, stem))
            score_term(s, e->value, COMPOUND);
    }
}

/* Add the scores of the present word to those of the tools. */
static void end_word(search *s, cw_str word, float weight)
{
    char room[CW_SEARCH_WORD + 1];
    const term *form = cw_map_find(&s->x->words, form_key(word, room));
    for (uint32_t i = 0; form && i < form->n; i++)
        s->word[form->postings[i].tool] *= 1 + FORM;
    for (size_t i = 0; i < s->n_touched; i++) {
        uint32_t tool = s->touched[i];
        s->scores[tool] += s->word[tool];
        s->matched[tool] += weight;
        s->word[tool] = 0;
    }
    if (s->n_touched)
        s->total += weight;
    s->n_touched = 0;
}

/* Whether this word was scored before. */
static bool is_seen(search *s, const term *w)
{
    for (size_t i = 0; i < s->n_seen; i++) {
        if (s->seen[i] == w)
            return true;
    }
    if (s->n_seen < CW_COUNT(s->seen))
        s->seen[s->n_seen++] = w;
    return false;
}

static bool is_plural(cw_str word, cw_str stem)
{
    return word.n > PART_MIN - 1 && word.p[word.n - 1] == 's' && word.p[word.n - 2] != 's' &&
           !cw_str_eq(word, stem);
}

static void score_word(search *s, const cw_search_splitter *at)
{
    cw_str stem = cw_search_stem(at), word = cw_search_word(at);
    bool is_light = cw_map_find(&s->x->lights, stem) != NULL;
    const term *own = cw_map_find(&s->x->words, stem);
    if (own && is_seen(s, own))
        return;
    if (own)
        score_term(s, own, is_light ? LIGHT : 1);
    if (!is_light)
        score_related(s, stem, own ? BESIDE_OWN : 1);
    if (!is_light && !s->n_touched)
        score_similar(s, stem);
    if (!is_light && s->n_touched && is_plural(word, stem))
        s->is_plural = true;
    end_word(s, word, is_light ? LIGHT : 1);
}

/* Two words that tools write as one: "time sheet". */
static void score_pair(search *s, cw_str first, cw_str second)
{
    char room[2 * CW_SEARCH_WORD];
    memcpy(room, first.p, first.n);
    memcpy(room + first.n, second.p, second.n);
    cw_search_splitter pair = cw_search_split(cw_str_make(room, first.n + second.n));
    const term *w = cw_search_next(&pair) ? cw_map_find(&s->x->words, cw_search_stem(&pair)) : NULL;
    if (!w || is_seen(s, w))
        return;
    score_term(s, w, 1);
    end_word(s, cw_search_word(&pair), 1);
}

static void note_intents(search *s, cw_str stem)
{
    const intent_verbs *v = cw_map_find(&s->x->intents, stem);
    for (unsigned i = 0; v && i < v->n; i++)
        s->verbs[v->verbs[i]] += INTENT / sqrtf((float)v->n);
}

/* False: the query has no word but stop words. */
static bool score_words(search *s, cw_str query, bool skips)
{
    cw_search_splitter at = cw_search_split(query);
    cw_search_splitter before = {.n_word = 0};
    bool has_words = false, follows = false;
    for (size_t n = 0; n < CW_SEARCH_MAX_WORDS && cw_search_next(&at); n++) {
        bool is_stop = skips && cw_map_find(&s->x->stops, cw_search_word(&at));
        if (skips)
            note_intents(s, cw_search_stem(&at));
        if (follows)
            score_pair(s, cw_search_word(&before), cw_search_word(&at));
        if (!is_stop)
            score_word(s, &at);
        has_words = has_words || !is_stop;
        follows = !is_stop;
        before = at;
    }
    return has_words;
}

/* Tools that match more of the words are better. */
static void weigh_matches(search *s)
{
    for (size_t i = 0; i < s->x->n_tools && s->total > 0; i++)
        s->scores[i] *= 1 - MATCHED + MATCHED * s->matched[i] / s->total;
}

/* The part of a verb for tools that match the query in another way. */
static void prefer_verb(search *s, const term *w, float part)
{
    for (uint32_t i = 0; w && i < w->n; i++) {
        const posting *p = &w->postings[i];
        if (s->scores[p->tool] > 0)
            s->scores[p->tool] += part * p->weight;
    }
}

static const term *verb_term(const cw_search_index *x, const char *verb)
{
    cw_search_splitter at = cw_search_split(cw_str_from(verb));
    return cw_search_next(&at) ? cw_map_find(&x->words, cw_search_stem(&at)) : NULL;
}

/* Among the things that can be done with what was found, those that the query may mean, and
 * those that most people want. */
static void score_verbs(search *s)
{
    static const char *const common[] = {"get", "list", "create", "update", "search", "delete"};
    for (unsigned i = 0; i < s->x->n_verbs; i++) {
        float part = s->verbs[i];
        if (part > 0)
            prefer_verb(s, s->x->verbs[i], part < INTENT_MAX ? part : INTENT_MAX);
    }
    if (s->is_plural)
        prefer_verb(s, verb_term(s->x, "list"), PLURAL);
    for (size_t i = 0; i < CW_COUNT(common); i++)
        prefer_verb(s, verb_term(s->x, common[i]), COMMON_VERB);
}

static float score_name(cw_str name, cw_str query)
{
    if (cw_str_eq(name, query))
        return EXACT;
    return cw_str_starts(name, query) ? PREFIX : 0;
}

/* A query that may be a name. */
static void score_names(const cw_search_index *x, cw_str query, float *scores)
{
    char room[CW_PORTABLE_NAME_MAX];
    size_t n;
    const cw_entry *const *tools = cw_snapshot_tools(x->snapshot, &n);
    if (!query.n || query.n > CW_TOOL_NAME_MAX || memchr(query.p, ' ', query.n))
        return;
    for (size_t i = 0; i < n; i++) {
        cw_str own = tools[i]->tool_name;
        float score = score_name(own, query);
        if (score <= 0)
            score = score_name(cw_portable_name(own, room), query);
        scores[i] += score;
    }
}

/* Put a tool at its place among the best; equal ones stay in the order of names. */
static void insert(uint32_t *best, size_t *n, size_t max, const float *scores, uint32_t tool)
{
    size_t at = *n;
    if (at == max) {
        if (scores[best[at - 1]] >= scores[tool])
            return;
        at--;
    } else {
        (*n)++;
    }
    for (; at && scores[best[at - 1]] < scores[tool]; at--)
        best[at] = best[at - 1];
    best[at] = tool;
}

static bool is_shown(const cw_view *view, const cw_entry *tool, bool only_callable)
{
    return cw_view_shows(view, tool) &&
           (!only_callable || cw_view_verdict(view, tool) == CW_VERDICT_ALLOW);
}

/* False: out of memory. */
static bool open_search(search *s, const cw_search_index *x)
{
    size_t n = x->n_tools + 1;
    *s = (search){.x = x,
                  .scores = calloc(n, sizeof *s->scores),
                  .matched = calloc(n, sizeof *s->matched),
                  .word = calloc(n, sizeof *s->word),
                  .touched = calloc(n, sizeof *s->touched)};
    return s->scores && s->matched && s->word && s->touched;
}

static void close_search(search *s)
{
    free(s->scores);
    free(s->matched);
    free(s->word);
    free(s->touched);
}

static void score_all(search *s, cw_str query)
{
    if (!score_words(s, query, /* skips= */ true))
        (void)score_words(s, query, /* skips= */ false);
    weigh_matches(s);
    score_verbs(s);
    score_names(s->x, cw_str_trim(query), s->scores);
}

cw_code cw_search_index_find(const cw_view *view, cw_str query, bool only_callable,
                             const cw_entry **ret, size_t n, size_t *ret_n, size_t *ret_total)
{
    size_t n_tools, found = 0;
    const cw_search_index *x = cw_snapshot_search_index(cw_view_snapshot(view));
    const cw_entry *const *tools = cw_snapshot_tools(x->snapshot, &n_tools);
    uint32_t *best = calloc(n + 1, sizeof *best);
    search s;
    *ret_total = *ret_n = 0;
    if (!open_search(&s, x) || !best) {
        close_search(&s);
        free(best);
        return CW_NOMEM;
    }
    score_all(&s, query);
    for (size_t i = 0; i < n_tools; i++) {
        if (s.scores[i] <= 0 || !is_shown(view, tools[i], only_callable))
            continue;
        *ret_total += 1;
        insert(best, &found, n, s.scores, (uint32_t)i);
    }
    for (size_t i = 0; i < found; i++)
        ret[i] = tools[best[i]];
    *ret_n = found;
    close_search(&s);
    free(best);
    return CW_OK;
}
