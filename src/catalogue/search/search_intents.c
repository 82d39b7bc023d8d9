/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_intents.c - finds the phrases of the thesaurus in a query. */
#include "catalogue/search/search_intents.h"

#include <math.h>

#include "catalogue/search/thesaurus.h"

#define WORDS_MAX 4u /* of an intent */
#define GAP 4u       /* so many words may be between two of an intent */
#define WORD 0.7f    /* what one word says, if it stands for one verb alone */
#define PHRASE 1.0f  /* what several words say */
#define MOST 1.6f    /* what all of them say together */
#define PLURAL 0.4f  /* what a thing in the plural says */
#define COMMON 0.15f /* for what most people want */
#define ASKED 0.5f   /* of verbs that change something, in a question */
/* Marks in the lists: */
#define IS_COMMON '+'
#define IS_READING '?'
#define IS_FIRST '^'
#define IS_PLURAL "*s"
#define PERSON "somebody"

typedef struct intent {
    const struct intent *next; /* with the same first word */
    cw_str more[WORDS_MAX - 1];
    unsigned char n_more, verb;
    bool is_first;
} intent;

typedef struct first_word {
    const intent *intents;
} first_word;

static bool add_intent(cw_search_intents *w, cw_str words, unsigned char verb)
{
    cw_search_splitter s = cw_search_split(words);
    intent *one = cw_arena_calloc(w->arena, 1, sizeof *one);
    if (!one || !cw_search_next(&s))
        return false;
    first_word *first = cw_search_find_or_add(&w->map, w->arena, cw_search_stem(&s), sizeof *first);
    if (!first)
        return false;
    *one = (intent){.next = first->intents, .verb = verb, .is_first = words.p[0] == IS_FIRST};
    while (one->n_more < WORDS_MAX - 1 && cw_search_next(&s)) {
        cw_str copy = cw_arena_dup_str(w->arena, cw_search_stem(&s));
        if (!copy.p)
            return false;
        one->more[one->n_more++] = copy;
    }
    first->intents = one;
    return true;
}

static void find_verb(cw_str words, const cw_search_terms *terms, cw_search_verb *ret)
{
    cw_search_splitter s = cw_search_split(words);
    while (ret->n < CW_SEARCH_MAX_SYNONYMS && cw_search_next(&s)) {
        cw_search_key room;
        const cw_search_term *term = cw_search_terms_find(
            terms, cw_search_marked(CW_SEARCH_VERB, cw_search_stem(&s), &room));
        if (term)
            ret->terms[ret->n++] = term;
    }
}

bool cw_search_intents_add(cw_search_intents *w, const cw_search_terms *terms)
{
    cw_search_splitter person = cw_search_split(CW_STR(PERSON));
    (void)cw_search_next(&person);
    w->person = cw_arena_dup_str(w->arena, cw_search_stem(&person));
    bool is_ok = w->person.p != NULL;
    for (const char *const *line = cw_thesaurus_intents; *line && is_ok; line++) {
        cw_str rest, verb = cw_str_cut(cw_str_from(*line), ':', &rest);
        cw_search_verb *v = &w->verbs[w->n_verbs];
        if (w->n_verbs == CW_SEARCH_MAX_VERBS)
            break;
        find_verb(verb, terms, v);
        if (!v->n)
            continue; /* no tool does it */
        v->is_common = memchr(verb.p, IS_COMMON, verb.n) != NULL;
        v->is_reading = memchr(verb.p, IS_READING, verb.n) != NULL;
        while (rest.p && is_ok) {
            cw_str words = cw_str_trim(cw_str_cut(rest, ';', &rest));
            if (cw_str_is(words, IS_PLURAL))
                v->is_for_plurals = true;
            else
                is_ok = add_intent(w, words, (unsigned char)w->n_verbs);
        }
        w->n_verbs++;
    }
    return is_ok;
}

/* Whether a word comes first, or after a comma or the end of a sentence. */
static bool is_first(const cw_search_splitter *words, size_t i)
{
    if (!i)
        return true;
    cw_str text = words[i].text;
    size_t end = words[i - 1].at;
    return end < text.n && text.p[end] && strchr(",.;:!?-", text.p[end]);
}

static bool is_word(const cw_search_intents *w, const cw_search_query *query, size_t i, cw_str stem)
{
    return cw_str_eq(cw_search_stem(&query->words[i]), stem) ||
           (query->is_person[i] && cw_str_eq(w->person, stem));
}

/* Whether the intent that begins with the i-th word is there. */
static bool is_there(const cw_search_intents *w, const intent *one, const cw_search_query *query,
                     size_t i)
{
    if (one->is_first && !is_first(query->words, i))
        return false;
    for (unsigned m = 0; m < one->n_more; m++) {
        size_t last = i + 1 + GAP < query->n ? i + 1 + GAP : query->n - 1;
        bool is_found = false;
        while (!is_found && i < last)
            is_found = is_word(w, query, ++i, one->more[m]);
        if (!is_found)
            return false;
    }
    return true;
}

bool cw_search_verb_is_shown(const cw_search_verb *verb, const cw_search_shown *shown)
{
    bool is_shown = false;
    for (unsigned i = 0; i < verb->n && !is_shown; i++)
        is_shown = cw_search_shown_has(shown, verb->terms[i]);
    return is_shown;
}

/* The number of verbs that a word stands for alone. */
static unsigned count_alone(const first_word *first, const cw_search_query *query)
{
    unsigned n = 0;
    for (const intent *one = first ? first->intents : NULL; one; one = one->next)
        n += !one->n_more && query->has_verb[one->verb];
    return n;
}

/* Add what the intents say that begin with the i-th word, which is `stem`. */
static void read_intents(const cw_search_intents *w, const cw_search_query *query, size_t i,
                         cw_str stem, float parts[CW_SEARCH_MAX_VERBS])
{
    const first_word *first = cw_map_find(&w->map, stem);
    unsigned n_alone = count_alone(first, query);
    for (const intent *one = first ? first->intents : NULL; one; one = one->next) {
        if (query->has_verb[one->verb] && is_there(w, one, query, i))
            parts[one->verb] += one->n_more ? PHRASE : WORD / sqrtf((float)n_alone);
    }
}

/* Whether it begins like a question, and has one sentence. */
static bool is_question(const cw_search_query *query)
{
    static const char *const words[] = {"what", "which", "who",  "whose", "when",   "where", "how",
                                        "why",  "is",    "are",  "was",   "were",   "do",    "does",
                                        "did",  "has",   "have", "any",   "anybody"};
    bool is = false;
    for (size_t i = 0; i < CW_COUNT(words) && query->n && !is; i++)
        is = cw_str_is(cw_search_word(&query->words[0]), words[i]);
    for (size_t i = 1; i < query->n && is; i++)
        is = !is_first(query->words, i);
    return is;
}

void cw_search_intents_read(const cw_search_intents *w, const cw_search_query *query,
                            float ret_parts[CW_SEARCH_MAX_VERBS])
{
    for (unsigned v = 0; v < CW_SEARCH_MAX_VERBS; v++)
        ret_parts[v] = w->verbs[v].is_common ? COMMON : 0;
    for (unsigned v = 0; query->is_plural && v < w->n_verbs; v++)
        ret_parts[v] += w->verbs[v].is_for_plurals ? PLURAL : 0;
    for (size_t i = 0; i < query->n; i++) {
        read_intents(w, query, i, cw_search_stem(&query->words[i]), ret_parts);
        if (query->is_person[i])
            read_intents(w, query, i, w->person, ret_parts);
    }
    bool asks = is_question(query);
    for (unsigned v = 0; v < CW_SEARCH_MAX_VERBS; v++) {
        ret_parts[v] *= asks && !w->verbs[v].is_reading ? ASKED : 1;
        ret_parts[v] = ret_parts[v] < MOST ? ret_parts[v] : MOST;
    }
}

bool cw_search_is_intent(const cw_search_intents *w, const cw_search_query *query, size_t i)
{
    const first_word *first = cw_map_find(&w->map, cw_search_stem(&query->words[i]));
    return count_alone(first, query) && is_first(query->words, i);
}

void cw_search_intents_init(cw_search_intents *w, cw_arena *arena)
{
    *w = (cw_search_intents){.arena = arena};
    cw_map_init(&w->map, UINT32_MAX);
}

void cw_search_intents_done(cw_search_intents *w)
{
    cw_map_done(&w->map);
}
