/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_index.c - an inverted index of the tools of a snapshot, and BM25. */
#include "catalogue/search_index.h"

#include <math.h>
#include <stdlib.h>

#include "base/ascii.h"
#include "base/map.h"
#include "catalogue/portable_name.h"
#include "catalogue/related_words.h"

#define K1 1.2f
#define B 0.75f
#define EXACT 1e6f
#define PREFIX 1e5f
#define RELATED 0.6f     /* of the score of a word, for one that means nearly the same */
#define SIMILAR 0.5f     /* likewise, for one with nearly the same letters, or a part of it */
#define INTENT 0.5f      /* likewise, for a verb that a word of a wish stands for */
#define LINES_MAX 6u     /* of the thesaurus that have one word */
#define MEMBERS_MAX 8u   /* words of a line */
#define PART_MIN 4u      /* letters of a word that may be a part of another */
#define SPELLING_MIN 5u  /* letters of a word that may be misspelt */
#define COMMON_VERB 0.2f /* decides between tools that match equally well */

typedef struct posting {
    uint32_t tool; /* index among the tools of the snapshot */
    float weight;  /* of the word in it */
} posting;

typedef struct term {
    posting *postings;
    uint32_t n, cap;
    float rarity;
} term;

/* The lines of the thesaurus that have a word. */
typedef struct thesaurus_word {
    uint16_t lines[LINES_MAX];
    unsigned n;
} thesaurus_word;

/* The verbs that a word of a wish stands for: lines of `intents`. */
typedef struct intent_verbs {
    unsigned char lines[LINES_MAX];
    unsigned n;
} intent_verbs;

/* One line: those of its words that tools have. */
typedef struct thesaurus_line {
    const term *terms[MEMBERS_MAX];
    unsigned n;
} thesaurus_line;

struct cw_search_index {
    const cw_snapshot *snapshot;
    cw_map related; /* word -> thesaurus_word */
    thesaurus_line *lines;
    cw_map words;   /* -> term */
    cw_map aliases; /* of a stem -> the one that stands for it */
    cw_map stops;   /* stems of stop words */
    cw_map intents; /* stem -> intent_verbs */
    cw_arena arena;
    float *lengths; /* of each tool: weights of all its words; then the factor of BM25 */
    size_t n_tools;
};

/* ---- words ---- */

typedef struct splitter {
    const cw_map *aliases; /* cw_search_index.aliases */
    cw_str text;
    size_t at;
    char word[CW_SEARCH_WORD]; /* the stem of the last one */
    size_t n;
} splitter;

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static char lower(char c)
{
    return is_upper(c) ? (char)(c | 0x20) : c;
}

/* Bytes of other scripts belong to words as they are. */
static bool is_in_word(char c)
{
    return cw_is_alnum(c) || (unsigned char)c >= 0x80;
}

/* Whether a word ends between two characters of an identifier: getUser, HTTPServer. */
static bool is_border(cw_str text, size_t i)
{
    char before = text.p[i - 1], c = text.p[i];
    if (!is_upper(c))
        return cw_is_digit(c) != cw_is_digit(before);
    bool next_is_lower = i + 1 < text.n && cw_is_lower(text.p[i + 1]);
    return !is_upper(before) || next_is_lower;
}

static bool ends(const char *word, size_t n, const char *ending, size_t keeps)
{
    size_t m = strlen(ending);
    return n >= m + keeps && memcmp(word + n - m, ending, m) == 0;
}

/* Cut common endings off, so that forms of a word meet; what remains need not be a word. */
static size_t stem(char *word, size_t n)
{
    static const struct {
        const char *ending;
        unsigned char keeps, cut;
    } rules[] = {
        {"ations", 3, 5}, {"ation", 3, 4}, {"ingly", 3, 5}, {"ings", 3, 4}, {"ies", 2, 2},
        {"ied", 2, 2},    {"ing", 3, 3},   {"sses", 2, 2},  {"ers", 3, 3},  {"ed", 3, 2},
        {"es", 3, 2},     {"er", 3, 2},    {"ly", 4, 2},    {"s", 3, 1},
    };
    if (ends(word, n, "ss", 1) || ends(word, n, "us", 2))
        return n;
    for (size_t i = 0; i < CW_COUNT(rules); i++) {
        if (!ends(word, n, rules[i].ending, rules[i].keeps))
            continue;
        n -= rules[i].cut;
        break;
    }
    /* "stopped", "stopping" and "stop" meet, "delete" and "deleting", "query" and "queries". */
    if (n > 3 && word[n - 1] == word[n - 2] && !strchr("aeiouls", word[n - 1]))
        n--;
    if (n > 3 && word[n - 1] == 'e')
        n--;
    if (n > 2 && word[n - 1] == 'y')
        word[n - 1] = 'i';
    return n;
}

/* The next word; .n is 0 at the end. */
static cw_str next_word(splitter *s)
{
    size_t n = 0;
    while (s->at < s->text.n && !is_in_word(s->text.p[s->at]))
        s->at++;
    for (size_t first = s->at; s->at < s->text.n && is_in_word(s->text.p[s->at]); s->at++) {
        if (s->at > first && is_border(s->text, s->at))
            break;
        if (n < CW_SEARCH_WORD)
            s->word[n++] = lower(s->text.p[s->at]);
    }
    if (!n)
        return CW_STR("");
    s->n = stem(s->word, n);
    cw_str found = cw_str_make(s->word, s->n);
    const char *alias = cw_map_find(s->aliases, found);
    return alias ? cw_str_from(alias) : found;
}

static splitter split(const cw_search_index *x, cw_str text)
{
    size_t n = text.n < CW_SEARCH_MAX_TEXT ? text.n : CW_SEARCH_MAX_TEXT;
    return (splitter){.aliases = &x->aliases, .text = cw_str_make(text.p, n)};
}

/* ---- verbs that people use for one another: the first of each line stands for all ---- */

static const char *const synonyms[][16] = {
    {"get", "fetch", "read", "retrieve", "show", "look", "view", "display", "see", "inspect"},
    {"list", "enumerate", "browse", "overview"},
    {"create", "add", "make", "new", "insert", "register", "open", "compose", "reserve"},
    {"update", "change", "modify", "edit", "set", "adjust", "alter", "rewrite", "correct", "fix",
     "replace", "amend", "revise", "rename"},
    {"delete", "remove", "erase", "drop", "discard", "destroy", "purge", "cancel", "revoke"},
    {"search", "find", "query", "lookup", "locate", "seek"},
    {"send", "post", "submit", "deliver", "transmit"},
    {"start", "run", "launch", "begin", "execute"},
    {"stop", "end", "halt", "kill", "terminate", "abort"},
    {"copy", "duplicate", "clone", "replicate"},
    {"move", "transfer", "relocate", "migrate"},
    {"enable", "activate"},
    {"disable", "deactivate"},
    {"approve", "accept", "confirm", "grant", "authorize"},
    {"assign", "delegate", "allocate"},
    {"share", "invite"},
    {"restore", "recover", "undo", "reopen", "unarchive"},
    {"count", "many", "tally"},
    {"export", "download"},
    {"import", "upload"},
};

/* Words of a wish that stand for a verb, though tools do not use them for it: the first one of a line
 * is the verb. Only in queries. */
static const char *const intents[][16] = {
    {"get", "what", "when", "where", "who", "whose", "tell", "know", "check", "much"},
    {"list", "all", "every", "which", "everything", "these"},
    {"create", "write", "record", "report", "file", "book", "order", "build", "put", "plan", "sign",
     "ask", "save", "hire", "buy"},
    {"update", "turn", "switch", "renew", "rename", "move", "wrong", "instead", "different",
     "other", "block", "mark"},
    {"delete", "rid", "away", "throw", "off", "gone", "never", "clear"},
    {"search", "contain", "about", "called", "named", "mention"},
    {"export", "csv", "spreadsheet", "excel", "save", "backup"},
    {"import", "csv", "load", "bulk", "batch"},
    {"archive", "away", "old", "past", "store", "keep"},
    {"restore", "back", "return", "again", "mistake"},
    {"duplicate", "another", "same", "again", "twice", "second"},
    {"share", "access", "colleague", "together", "everybody", "others", "let", "allow"},
    {"assign", "charge", "responsible", "hand", "owner", "someone", "take"},
    {"approve", "yes", "allow", "okay", "permit", "release", "agree"},
    {"history", "changed", "who", "past", "before", "earlier", "last"},
    {"count", "number", "often", "total", "much"},
};

/* Words that say nothing about a tool; only in queries, where people write whole sentences. */
static const char *const stop_words[] = {
    "a",     "an",   "and",   "any",   "are",  "as",    "at",   "be",   "but",    "by",
    "can",   "did",  "do",    "does",  "for",  "from",  "had",  "has",  "have",   "he",
    "her",   "here", "his",   "how",   "i",    "if",    "in",   "into", "is",     "it",
    "its",   "me",   "my",    "need",  "of",   "on",    "or",   "our",  "out",    "over",
    "she",   "so",   "some",  "than",  "that", "the",   "them", "then", "they",   "this",
    "those", "to",   "up",    "us",    "want", "was",   "we",   "were", "what",   "when",
    "will",  "with", "where", "which", "who",  "would", "you",  "your", "please",
};

/* Add the stem of a verb; its value is that of the first of its line. False: out of memory. */
static bool add_alias(cw_search_index *x, const char *verb, char **first)
{
    char *copy = cw_arena_dup(&x->arena, verb, strlen(verb));
    if (!copy)
        return false;
    cw_str key = cw_str_make(copy, stem(copy, strlen(copy)));
    copy[key.n] = 0;
    if (!*first) {
        *first = copy;
        return true;
    }
    return !cw_map_put(&x->aliases, key, *first, NULL);
}

static bool add_aliases(cw_search_index *x)
{
    bool is_ok = true;
    for (size_t i = 0; i < CW_COUNT(synonyms); i++) {
        char *first = NULL;
        for (size_t j = 0; j < CW_COUNT(synonyms[i]) && synonyms[i][j] && is_ok; j++)
            is_ok = add_alias(x, synonyms[i][j], &first);
    }
    return is_ok;
}

static bool add_stops(cw_search_index *x)
{
    static char is_stop;
    bool is_ok = true;
    for (size_t i = 0; i < CW_COUNT(stop_words) && is_ok; i++) {
        char *copy = cw_arena_dup(&x->arena, stop_words[i], strlen(stop_words[i]));
        is_ok = copy &&
                !cw_map_put(&x->stops, cw_str_make(copy, stem(copy, strlen(copy))), &is_stop, NULL);
    }
    return is_ok;
}

static bool add_intent(cw_search_index *x, const char *word, size_t line)
{
    char *copy = cw_arena_dup(&x->arena, word, strlen(word));
    if (!copy)
        return false;
    cw_str key = cw_str_make(copy, stem(copy, strlen(copy)));
    intent_verbs *v = cw_map_find(&x->intents, key);
    if (!v) {
        v = cw_arena_calloc(&x->arena, 1, sizeof *v);
        if (!v || cw_map_put(&x->intents, key, v, NULL))
            return false;
    }
    if (v->n < LINES_MAX)
        v->lines[v->n++] = (unsigned char)line;
    return true;
}

static bool add_intents(cw_search_index *x)
{
    bool is_ok = true;
    for (size_t i = 0; i < CW_COUNT(intents); i++) {
        for (size_t j = 1; j < CW_COUNT(intents[i]) && intents[i][j] && is_ok; j++)
            is_ok = add_intent(x, intents[i][j], i);
    }
    return is_ok;
}

/* ---- building ---- */

static term *find_term(cw_search_index *x, cw_str text)
{
    term *w = cw_map_find(&x->words, text);
    if (w)
        return w;
    cw_str copy = cw_arena_dup_str(&x->arena, text);
    w = cw_arena_calloc(&x->arena, 1, sizeof *w);
    return copy.p && w && !cw_map_put(&x->words, copy, w, NULL) ? w : NULL;
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

/* Add the words of a text of the tool, which is the last one so far. False: out of memory. */
static bool add_text(cw_search_index *x, uint32_t tool, cw_str text, float weight)
{
    splitter s = split(x, text);
    for (cw_str t = next_word(&s); t.n; t = next_word(&s)) {
        term *w = find_term(x, t);
        if (!w)
            return false;
        bool is_new = !w->n || w->postings[w->n - 1].tool != tool;
        if (is_new && w->n == w->cap && !grow(w))
            return false;
        if (is_new)
            w->postings[w->n++] = (posting){.tool = tool};
        w->postings[w->n - 1].weight += weight;
        x->lengths[tool] += weight;
    }
    return true;
}

static bool add_tool(cw_search_index *x, uint32_t index, const cw_entry *tool)
{
    const cw_method *m = tool->method;
    bool is_ok = add_text(x, index, tool->tool_name, 3) && add_text(x, index, m->mark->title, 2) &&
                 add_text(x, index, m->usage, 1);
    for (size_t i = 0; i < m->n_params && is_ok; i++)
        is_ok = add_text(x, index, m->params[i].name, 1) &&
                add_text(x, index, m->params[i].description, 0.5f);
    for (size_t i = 0; i < m->n_tags && is_ok; i++)
        is_ok = add_text(x, index, m->tags[i], 1);
    return is_ok;
}

/* ---- the thesaurus ---- */

static thesaurus_word *find_related(cw_search_index *x, cw_str text)
{
    thesaurus_word *t = cw_map_find(&x->related, text);
    if (t)
        return t;
    cw_str copy = cw_arena_dup_str(&x->arena, text);
    t = cw_arena_calloc(&x->arena, 1, sizeof *t);
    return copy.p && t && !cw_map_put(&x->related, copy, t, NULL) ? t : NULL;
}

/* Verbs that stand for another have their own table, and would drag its whole line along. */
static bool is_verb(const cw_search_index *x, cw_str word)
{
    bool is = false;
    for (size_t i = 0; i < CW_COUNT(synonyms) && !is; i++) {
        splitter s = split(x, cw_str_from(synonyms[i][0]));
        is = cw_str_eq(next_word(&s), word);
    }
    return is;
}

static bool add_line(cw_search_index *x, uint16_t index)
{
    thesaurus_line *line = &x->lines[index];
    splitter s = split(x, cw_str_from(cw_related_words[index]));
    for (cw_str t = next_word(&s); t.n; t = next_word(&s)) {
        if (is_verb(x, t))
            continue;
        thesaurus_word *r = find_related(x, t);
        const term *w = cw_map_find(&x->words, t);
        if (!r)
            return false;
        if (r->n < LINES_MAX)
            r->lines[r->n++] = index;
        if (w && line->n < MEMBERS_MAX)
            line->terms[line->n++] = w;
    }
    return true;
}

/* After all tools: the words that they have are known. False: out of memory. */
static bool add_thesaurus(cw_search_index *x)
{
    uint16_t n = 0;
    while (cw_related_words[n])
        n++;
    x->lines = cw_arena_calloc(&x->arena, n, sizeof *x->lines);
    bool is_ok = x->lines != NULL;
    for (uint16_t i = 0; i < n && is_ok; i++)
        is_ok = add_line(x, i);
    return is_ok;
}

/* The part of BM25 that depends on the tool alone. */
static void finish(cw_search_index *x)
{
    float sum = 0;
    for (size_t i = 0; i < x->n_tools; i++)
        sum += x->lengths[i];
    float average = x->n_tools && sum > 0 ? sum / (float)x->n_tools : 1;
    for (size_t i = 0; i < x->n_tools; i++)
        x->lengths[i] = K1 * (1 - B + B * x->lengths[i] / average);
    size_t at = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&x->words, &at));) {
        term *w = e->value;
        w->rarity = logf(1.0f + ((float)(x->n_tools - w->n) + 0.5f) / ((float)w->n + 0.5f));
    }
}

cw_search_index *cw_search_index_new(const cw_snapshot *snapshot)
{
    cw_search_index *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    const cw_entry *const *tools = cw_snapshot_tools(snapshot, &x->n_tools);
    x->snapshot = snapshot;
    cw_map_init(&x->words, UINT32_MAX);
    cw_map_init(&x->aliases, UINT32_MAX);
    cw_map_init(&x->stops, UINT32_MAX);
    cw_map_init(&x->related, UINT32_MAX);
    cw_map_init(&x->intents, UINT32_MAX);
    cw_arena_init(&x->arena, CW_ARENA_MAX);
    x->lengths = calloc(x->n_tools + 1, sizeof *x->lengths);
    bool is_ok = x->lengths && add_aliases(x) && add_stops(x) && add_intents(x);
    for (size_t i = 0; i < x->n_tools && is_ok; i++)
        is_ok = add_tool(x, (uint32_t)i, tools[i]);
    if (!is_ok || !add_thesaurus(x)) {
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
    cw_map_done(&x->aliases);
    cw_map_done(&x->stops);
    cw_map_done(&x->related);
    cw_map_done(&x->intents);
    cw_arena_done(&x->arena);
    free(x->lengths);
    free(x);
}

/* ---- finding ---- */

static void add_scores(const cw_search_index *x, const term *w, float part, float *scores)
{
    for (uint32_t i = 0; i < w->n; i++) {
        const posting *p = &w->postings[i];
        scores[p->tool] +=
            part * w->rarity * p->weight * (K1 + 1) / (p->weight + x->lengths[p->tool]);
    }
}

/* Words of the same lines of the thesaurus, each once. */
static void score_related(const cw_search_index *x, cw_str word, const term *own, float *scores)
{
    const thesaurus_word *t = cw_map_find(&x->related, word);
    const term *seen[LINES_MAX * MEMBERS_MAX];
    size_t n = 0;
    for (unsigned i = 0; t && i < t->n; i++) {
        const thesaurus_line *line = &x->lines[t->lines[i]];
        for (unsigned j = 0; j < line->n; j++) {
            bool is_known = line->terms[j] == own;
            for (size_t k = 0; k < n && !is_known; k++)
                is_known = seen[k] == line->terms[j];
            if (is_known)
                continue;
            seen[n++] = line->terms[j];
            add_scores(x, line->terms[j], RELATED, scores);
        }
    }
}

/* Whether one is the beginning or the end of the other: "sheet" and "timesheet". */
static bool is_part_of(cw_str part, cw_str whole)
{
    return part.n >= PART_MIN && whole.n > part.n &&
           (cw_str_starts(whole, part) || memcmp(whole.p + whole.n - part.n, part.p, part.n) == 0);
}

/* A word that no tool has may be misspelt, or a part of a compound. */
static void score_similar(const cw_search_index *x, cw_str word, float *scores)
{
    size_t at = 0;
    if (word.n < PART_MIN)
        return;
    for (const cw_map_entry *e; (e = cw_map_next(&x->words, &at));) {
        bool may_be = word.n >= SPELLING_MIN && e->key.n + 1 >= word.n && e->key.n <= word.n + 1 &&
                      e->key.p[0] == word.p[0];
        if ((may_be && cw_str_distance_within(e->key, word, 1) <= 1) || is_part_of(word, e->key) ||
            is_part_of(e->key, word))
            add_scores(x, e->value, SIMILAR, scores);
    }
}

/* The part of a verb for tools that match the query in another way. */
static void prefer_verb(const cw_search_index *x, const char *verb, float part, float *scores)
{
    splitter s = split(x, cw_str_from(verb));
    const term *w = cw_map_find(&x->words, next_word(&s));
    for (uint32_t i = 0; w && i < w->n; i++) {
        const posting *p = &w->postings[i];
        if (scores[p->tool] > 0)
            scores[p->tool] +=
                part * w->rarity * p->weight * (K1 + 1) / (p->weight + x->lengths[p->tool]);
    }
}

/* Among the things that can be done with what was found, those that the query may mean, and
 * those that most people want. */
static void score_verbs(const cw_search_index *x, cw_str query, float *scores)
{
    static const char *const common[] = {"get", "list", "create", "update", "search", "delete"};
    splitter s = split(x, query);
    for (cw_str t = next_word(&s); t.n; t = next_word(&s)) {
        bool is_own = cw_map_find(&x->words, t) && !cw_map_find(&x->stops, t);
        const intent_verbs *v = is_own ? NULL : cw_map_find(&x->intents, cw_str_make(s.word, s.n));
        for (unsigned i = 0; v && i < v->n; i++)
            prefer_verb(x, intents[v->lines[i]][0], INTENT, scores);
    }
    for (size_t i = 0; i < CW_COUNT(common); i++)
        prefer_verb(x, common[i], COMMON_VERB, scores);
}

/* False: the query has no word but stop words. */
static bool score_words(const cw_search_index *x, cw_str query, bool skips, float *scores)
{
    const term *seen[CW_SEARCH_MAX_WORDS];
    size_t n = 0;
    bool has_words = false;
    splitter s = split(x, query);
    for (cw_str t = next_word(&s); t.n && n < CW_SEARCH_MAX_WORDS; t = next_word(&s)) {
        if (skips && cw_map_find(&x->stops, t))
            continue;
        has_words = true;
        const term *w = cw_map_find(&x->words, t);
        bool is_known = false;
        for (size_t i = 0; w && i < n && !is_known; i++)
            is_known = seen[i] == w;
        if (is_known)
            continue;
        if (w) {
            seen[n++] = w;
            add_scores(x, w, 1, scores);
        } else if (!cw_map_find(&x->related, t)) {
            score_similar(x, t, scores);
        }
        score_related(x, t, w, scores);
    }
    score_verbs(x, query, scores);
    return has_words;
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

cw_code cw_search_index_find(const cw_view *view, cw_str query, bool only_callable,
                             const cw_entry **ret, size_t n, size_t *ret_n, size_t *ret_total)
{
    size_t n_tools, found = 0;
    const cw_search_index *x = cw_snapshot_search_index(cw_view_snapshot(view));
    const cw_entry *const *tools = cw_snapshot_tools(x->snapshot, &n_tools);
    float *scores = calloc(n_tools + 1, sizeof *scores);
    uint32_t *best = calloc(n + 1, sizeof *best);
    *ret_total = *ret_n = 0;
    if (!scores || !best) {
        free(scores);
        free(best);
        return CW_NOMEM;
    }
    if (!score_words(x, query, /* skips= */ true, scores))
        (void)score_words(x, query, /* skips= */ false, scores);
    score_names(x, cw_str_trim(query), scores);
    for (size_t i = 0; i < n_tools; i++) {
        if (scores[i] <= 0 || !is_shown(view, tools[i], only_callable))
            continue;
        *ret_total += 1;
        insert(best, &found, n, scores, (uint32_t)i);
    }
    for (size_t i = 0; i < found; i++)
        ret[i] = tools[best[i]];
    *ret_n = found;
    free(scores);
    free(best);
    return CW_OK;
}
