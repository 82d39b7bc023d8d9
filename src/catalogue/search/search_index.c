/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_index.c - scores the tools of a snapshot for the words of a query. */
#include "catalogue/search/search_index.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "catalogue/search/search_intents.h"
#include "catalogue/search/search_related.h"
#include "catalogue/search/search_terms.h"
#include "catalogue/search/thesaurus.h"
#include "catalogue/tool/portable_name.h"

#define EXACT 1e6f
#define PREFIX 1e5f
/* Parts of the score of a word: */
#define SIMILAR 0.6f    /* one with nearly the same letters */
#define COMPOUND 0.5f   /* one that contains it, or that it contains */
#define LIGHT 0.5f      /* a word that says little */
#define COMMAND 0.6f    /* a verb that comes first */
#define BESIDE_OWN 0.7f /* others, if tools have the word itself */
#define IN_PAIR 0.5f    /* one of two that mean something together */
#define PAIR 0.5f       /* two words that follow each other in a name, beside their own scores */
#define FORM 0.2f       /* more, for a name with the word in this form */
#define MATCHED 0.4f    /* how much the part of the words counts that a tool matches */
#define PART_MIN 4u     /* letters of a word that may be a part of another */
#define SPELLING_MIN 5u /* letters of a word that may be misspelt */
#define UNKNOWN_MAX 8u  /* words that all terms are compared with, which takes long */

struct cw_search_index {
    const cw_snapshot *snapshot;
    cw_search_terms terms;
    cw_search_related related;
    cw_search_intents intents;
    cw_map stops;   /* words */
    cw_map lights;  /* stems */
    cw_map verbs;   /* stems of verbs in names of tools */
    cw_map persons; /* words */
    cw_arena arena;
    size_t n_tools;
};

/* ---- building ---- */

static bool add_list(cw_search_index *x, cw_map *map, const char *const *words, bool is_stemmed)
{
    bool is_ok = true;
    for (; *words && is_ok; words++) {
        cw_search_splitter s = cw_search_split(cw_str_from(*words));
        (void)cw_search_next(&s);
        cw_str key = is_stemmed ? cw_search_stem(&s) : cw_search_word(&s);
        is_ok = cw_search_find_or_add(map, &x->arena, key, 1);
    }
    return is_ok;
}

static bool add_verbs(cw_search_index *x)
{
    bool is_ok = true;
    for (const char *const *line = cw_thesaurus_intents; *line && is_ok; line++) {
        cw_str rest;
        cw_search_splitter s = cw_search_split(cw_str_cut(cw_str_from(*line), ':', &rest));
        while (is_ok && cw_search_next(&s))
            is_ok = cw_search_find_or_add(&x->verbs, &x->arena, cw_search_stem(&s), 1);
    }
    return is_ok;
}

cw_search_index *cw_search_index_new(const cw_snapshot *snapshot)
{
    cw_search_index *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &x->n_tools);
    x->snapshot = snapshot;
    cw_arena_init(&x->arena, CW_ARENA_MAX);
    cw_search_terms_init(&x->terms, &x->arena);
    cw_search_related_init(&x->related, &x->arena);
    cw_search_intents_init(&x->intents, &x->arena);
    cw_map_init(&x->stops, UINT32_MAX);
    cw_map_init(&x->lights, UINT32_MAX);
    cw_map_init(&x->verbs, UINT32_MAX);
    cw_map_init(&x->persons, UINT32_MAX);
    bool is_ok = add_list(x, &x->stops, cw_search_stop_words, /* is_stemmed= */ false) &&
                 add_list(x, &x->lights, cw_search_light_words, /* is_stemmed= */ true) &&
                 add_list(x, &x->persons, cw_search_persons, /* is_stemmed= */ false) &&
                 add_verbs(x) && cw_search_terms_add(&x->terms, &x->verbs, tools, x->n_tools) &&
                 cw_search_related_add(&x->related, &x->terms) &&
                 cw_search_intents_add(&x->intents, &x->terms);
    if (!is_ok) {
        cw_search_index_free(x);
        return NULL;
    }
    return x;
}

void cw_search_index_free(cw_search_index *x)
{
    if (!x)
        return;
    cw_search_terms_done(&x->terms);
    cw_search_related_done(&x->related);
    cw_search_intents_done(&x->intents);
    cw_map_done(&x->stops);
    cw_map_done(&x->lights);
    cw_map_done(&x->verbs);
    cw_map_done(&x->persons);
    cw_arena_done(&x->arena);
    free(x);
}

/* ---- finding ---- */

/* A search. The arrays have an element for each tool. Tools that are not shown do not influence it: neither
 * their words nor their number count. */
typedef struct search {
    const cw_search_index *x;
    bool *is_shown;
    cw_search_shown shown;
    float *scores;
    float *matched; /* the weights of the words of the query that it has */
    float *word;    /* its score for the present word of the query */
    uint32_t *touched;
    size_t n_touched; /* tools with a score for the present word */
    float total;      /* the weights of all words that tools have */
    const cw_search_term *seen[2 * CW_SEARCH_MAX_WORDS];
    size_t n_seen;
    unsigned n_unknown; /* words that no tool has */
    cw_search_query query;
    bool is_stop[CW_SEARCH_MAX_WORDS], is_in_pair[CW_SEARCH_MAX_WORDS];
} search;

/* NULL: no tool that is shown has it. */
static const cw_search_term *find_term(const search *s, cw_str key)
{
    const cw_search_term *w = cw_search_terms_find(&s->x->terms, key);
    return w && cw_search_shown_has(&s->shown, w) ? w : NULL;
}

static void score_term(search *s, const cw_search_term *w, float part)
{
    if (!w)
        return;
    float rarity = cw_search_shown_rarity(&s->shown, w);
    for (uint32_t i = 0; i < w->n; i++) {
        const cw_search_posting *p = &w->postings[i];
        if (!s->is_shown[p->tool])
            continue;
        float score = part * rarity * cw_search_shown_score(&s->shown, p);
        if (s->word[p->tool] <= 0)
            s->touched[s->n_touched++] = p->tool;
        if (s->word[p->tool] < score)
            s->word[p->tool] = score;
    }
}

/* Terms that the thesaurus relates to a key. */
static void score_related(search *s, cw_str key, float part)
{
    for (const cw_search_link *l = cw_search_related_find(&s->x->related, key); l; l = l->next) {
        for (unsigned i = 0; i < l->n; i++)
            score_term(s, l->terms[i], part * l->part);
    }
}

/* Whether the thesaurus relates a key to a term of a tool that is shown. */
static bool is_related(const search *s, cw_str key)
{
    for (const cw_search_link *l = cw_search_related_find(&s->x->related, key); l; l = l->next) {
        for (unsigned i = 0; i < l->n; i++) {
            if (cw_search_shown_has(&s->shown, l->terms[i]))
                return true;
        }
    }
    return false;
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
    if (stem.n < PART_MIN || s->n_unknown++ >= UNKNOWN_MAX)
        return;
    for (const cw_map_entry *e; (e = cw_map_next(&s->x->terms.map, &at));) {
        bool may_be = stem.n >= SPELLING_MIN && e->key.n + 1 >= stem.n && e->key.n <= stem.n + 1 &&
                      e->key.p[0] == stem.p[0];
        if (!cw_search_is_word(e->key))
            continue;
        if (may_be && cw_str_distance_within(e->key, stem, 1) <= 1)
            score_term(s, e->value, SIMILAR);
        else if (is_part_of(stem, e->key) || is_part_of(e->key, stem))
            score_term(s, e->value, COMPOUND);
    }
}

/* Names with the word as it is score more. */
static void prefer_form(search *s, cw_str word)
{
    cw_search_key room;
    const cw_search_term *form =
        cw_search_terms_find(&s->x->terms, cw_search_marked(CW_SEARCH_FORM, word, &room));
    for (uint32_t i = 0; form && i < form->n; i++)
        s->word[form->postings[i].tool] *= 1 + FORM;
}

/* Add the scores of the present word to those of the tools. */
static void end_word(search *s, float weight)
{
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

/* Whether this term was scored before. */
static bool is_seen(search *s, const cw_search_term *w)
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

/* "Plan a walk": a word that comes first, and asks for something, is hardly the name of a thing. */
static bool is_command(const search *s, size_t i)
{
    return i + 1 < s->query.n && cw_search_is_intent(&s->x->intents, &s->query, i);
}

static void score_word(search *s, size_t i)
{
    cw_str stem = cw_search_stem(&s->query.words[i]), word = cw_search_word(&s->query.words[i]);
    bool is_light = cw_map_find(&s->x->lights, stem) != NULL;
    const cw_search_term *own = find_term(s, stem);
    float part = s->is_in_pair[i] ? IN_PAIR : 1;
    if (own && is_seen(s, own))
        return;
    score_term(s, own, is_light ? LIGHT : (is_command(s, i) ? COMMAND : part));
    if (!is_light)
        score_related(s, stem, own ? part * BESIDE_OWN : part);
    if (!is_light && !s->n_touched)
        score_similar(s, stem);
    if (!is_light && s->n_touched && is_plural(word, stem))
        s->query.is_plural = true;
    prefer_form(s, word);
    end_word(s, is_light ? LIGHT : 1);
}

/* Two words that tools write as one: "time sheet". */
static void score_as_one(search *s, size_t i, size_t j)
{
    char room[2 * CW_SEARCH_WORD];
    cw_str first = cw_search_word(&s->query.words[i]), second = cw_search_word(&s->query.words[j]);
    memcpy(room, first.p, first.n);
    memcpy(room + first.n, second.p, second.n);
    cw_search_splitter both = cw_search_split(cw_str_make(room, first.n + second.n));
    const cw_search_term *w = cw_search_next(&both) ? find_term(s, cw_search_stem(&both)) : NULL;
    if (!w || is_seen(s, w))
        return;
    score_term(s, w, 1);
    end_word(s, 1);
}

/* Two words that mean something together: in a name, or in the thesaurus. */
static void score_pair(search *s, size_t i, size_t j)
{
    cw_search_key room;
    cw_str key = cw_search_pair(cw_search_stem(&s->query.words[i]),
                                cw_search_stem(&s->query.words[j]), &room);
    const cw_search_term *own = find_term(s, key);
    if (own && !is_seen(s, own)) {
        score_term(s, own, PAIR);
        end_word(s, 0);
    }
    score_related(s, key, 1);
    if (!s->n_touched)
        return;
    end_word(s, 1);
    s->is_in_pair[i] = s->is_in_pair[j] = true;
}

/* The next word that is no stop word, at most one stop word further; query.n: none. */
static size_t following(const search *s, size_t i)
{
    size_t j = i + 1;
    if (j < s->query.n && s->is_stop[j])
        j++;
    return j < s->query.n && !s->is_stop[j] ? j : s->query.n;
}

static void score_pairs(search *s)
{
    for (size_t i = 0; i < s->query.n; i++) {
        if (i + 1 < s->query.n)
            score_pair(s, i, i + 1);
        if (s->is_stop[i])
            continue;
        size_t j = following(s, i);
        if (j < s->query.n && j > i + 1)
            score_pair(s, i, j);
        if (j == i + 1 && j < s->query.n)
            score_as_one(s, i, j);
    }
}

/* "Anna": a word in small letters but for the first, which is no word that the search knows. */
static bool is_name(const search *s, size_t i)
{
    const cw_search_splitter *w = &s->query.words[i];
    cw_str stem = cw_search_stem(w);
    char first = w->text.p[w->start], second = w->n_word > 1 ? w->text.p[w->start + 1] : 'A';
    return first >= 'A' && first <= 'Z' && cw_is_lower(second) && !s->is_stop[i] &&
           !cw_map_find(&s->x->lights, stem) && !find_term(s, stem) && !is_related(s, stem) &&
           !cw_search_is_intent(&s->x->intents, &s->query, i);
}

/* Without stop words, unless the query has no others. */
static void read_words(search *s, cw_str query)
{
    cw_search_splitter at = cw_search_split(query);
    bool has_words = false;
    while (s->query.n < CW_SEARCH_MAX_WORDS && cw_search_next(&at)) {
        bool is_stop = cw_map_find(&s->x->stops, cw_search_word(&at)) != NULL;
        s->is_stop[s->query.n] = is_stop;
        s->query.words[s->query.n++] = at;
        has_words = has_words || !is_stop;
    }
    for (size_t i = 0; i < s->query.n; i++)
        s->query.is_person[i] =
            cw_map_find(&s->x->persons, cw_search_word(&s->query.words[i])) || is_name(s, i);
    for (size_t i = 0; i < s->query.n && !has_words; i++)
        s->is_stop[i] = false;
}

static void score_words(search *s)
{
    score_pairs(s);
    for (size_t i = 0; i < s->query.n; i++) {
        if (!s->is_stop[i])
            score_word(s, i);
    }
}

/* Tools that match more of the words are better. */
static void weigh_matches(search *s)
{
    for (size_t i = 0; i < s->x->n_tools && s->total > 0; i++)
        s->scores[i] *= 1 - MATCHED + MATCHED * s->matched[i] / s->total;
}

/* Whether a name is one word: it is the verb, and nothing else in it can match. */
static bool is_lone(const search *s, uint32_t tool)
{
    size_t n;
    cw_str name = cw_snapshot_tools(s->x->snapshot, &n)[tool]->tool_name;
    size_t i = 0;
    while (i < name.n && cw_is_lower(name.p[i]))
        i++;
    return i == name.n;
}

/* A verb, for tools that match the query in another way. */
static void prefer_verb(search *s, const cw_search_verb *verb, float part)
{
    for (unsigned i = 0; i < verb->n; i++)
        score_term(s, verb->terms[i], part);
    for (size_t i = 0; i < s->n_touched; i++) {
        uint32_t tool = s->touched[i];
        if (s->scores[tool] > 0 || is_lone(s, tool))
            s->scores[tool] += s->word[tool];
        s->word[tool] = 0;
    }
    s->n_touched = 0;
}

/* Among the things that can be done with what was found, those that the query may mean. */
static void score_verbs(search *s)
{
    float parts[CW_SEARCH_MAX_VERBS];
    cw_search_intents_read(&s->x->intents, &s->query, parts);
    for (unsigned i = 0; i < s->x->intents.n_verbs; i++) {
        if (parts[i] > 0)
            prefer_verb(s, &s->x->intents.verbs[i], parts[i]);
    }
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
                  .is_shown = calloc(n, sizeof *s->is_shown),
                  .scores = calloc(n, sizeof *s->scores),
                  .matched = calloc(n, sizeof *s->matched),
                  .word = calloc(n, sizeof *s->word),
                  .touched = calloc(n, sizeof *s->touched)};
    return s->is_shown && s->scores && s->matched && s->word && s->touched;
}

static void close_search(search *s)
{
    free(s->is_shown);
    free(s->scores);
    free(s->matched);
    free(s->word);
    free(s->touched);
}

static void score_all(search *s, cw_str query)
{
    const cw_search_intents *intents = &s->x->intents;
    s->shown = cw_search_shown_of(&s->x->terms, s->is_shown);
    for (unsigned v = 0; v < intents->n_verbs; v++)
        s->query.has_verb[v] = cw_search_verb_is_shown(&intents->verbs[v], &s->shown);
    read_words(s, query);
    score_words(s);
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
    for (size_t i = 0; i < n_tools; i++)
        s.is_shown[i] = is_shown(view, tools[i], only_callable);
    score_all(&s, query);
    for (size_t i = 0; i < n_tools; i++) {
        if (s.scores[i] <= 0 || !s.is_shown[i])
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
