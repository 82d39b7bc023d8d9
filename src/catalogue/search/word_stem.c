/* SPDX-License-Identifier: GPL-2.0-or-later */
/* word_stem.c - Porter's steps, on a word in a buffer.
 *
 * The measure of a word is the number of changes from vowels to consonants in it: tr-ee 0, tr-ouble-s 1.
 * Most endings are cut off only if enough of the word remains.
 */
#include "catalogue/search/word_stem.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "base/str.h"

/* A form, and the word that it belongs to. Sorted by nothing: a search reads few words. */
static const char *const irregular[][2] = {
    {"creation", "create"},
    {"people", "person"},
    {"children", "child"},
    {"men", "man"},
    {"women", "woman"},
    {"feet", "foot"},
    {"teeth", "tooth"},
    {"mice", "mouse"},
    {"lives", "life"},
    {"knives", "knife"},
    {"shelves", "shelf"},
    {"leaves", "leaf"},
    {"indices", "index"},
    {"criteria", "criterion"},
    {"sent", "send"},
    {"paid", "pay"},
    {"bought", "buy"},
    {"sold", "sell"},
    {"wrote", "write"},
    {"written", "write"},
    {"found", "find"},
    {"made", "make"},
    {"took", "take"},
    {"taken", "take"},
    {"gave", "give"},
    {"given", "give"},
    {"got", "get"},
    {"went", "go"},
    {"gone", "go"},
    {"came", "come"},
    {"ran", "run"},
    {"began", "begin"},
    {"begun", "begin"},
    {"spoke", "speak"},
    {"spoken", "speak"},
    {"chose", "choose"},
    {"chosen", "choose"},
    {"built", "build"},
    {"held", "hold"},
    {"kept", "keep"},
    {"left", "leave"},
    {"lost", "lose"},
    {"met", "meet"},
    {"told", "tell"},
    {"said", "say"},
    {"saw", "see"},
    {"seen", "see"},
    {"taught", "teach"},
    {"thought", "think"},
    {"drew", "draw"},
    {"drawn", "draw"},
    {"drove", "drive"},
    {"driven", "drive"},
    {"flew", "fly"},
    {"flown", "fly"},
    {"broke", "break"},
    {"broken", "break"},
    {"stole", "steal"},
    {"stolen", "steal"},
    {"wore", "wear"},
    {"worn", "wear"},
    {"grew", "grow"},
    {"grown", "grow"},
    {"knew", "know"},
    {"known", "know"},
    {"threw", "throw"},
    {"thrown", "throw"},
    {"fed", "feed"},
    {"led", "lead"},
    {"lent", "lend"},
    {"spent", "spend"},
    {"slept", "sleep"},
    {"dealt", "deal"},
    {"heard", "hear"},
    {"won", "win"},
    {"hung", "hang"},
    {"caught", "catch"},
    {"brought", "bring"},
    {"fought", "fight"},
    {"sought", "seek"},
    {"risen", "rise"},
    {"ate", "eat"},
    {"eaten", "eat"},
    {"forgot", "forget"},
    {"hid", "hide"},
    {"hidden", "hide"},
    {"understood", "understand"},
};

typedef struct stem {
    char *p;
    size_t n, room;
} stem;

static bool is_consonant(const char *p, size_t i)
{
    if (strchr("aeiou", p[i]))
        return false;
    return p[i] != 'y' || i == 0 || !is_consonant(p, i - 1);
}

static unsigned measure(const char *p, size_t n)
{
    unsigned changes = 0;
    for (size_t i = 1; i < n; i++)
        changes += is_consonant(p, i) && !is_consonant(p, i - 1);
    return changes;
}

static bool has_vowel(const char *p, size_t n)
{
    bool has = false;
    for (size_t i = 0; i < n && !has; i++)
        has = !is_consonant(p, i);
    return has;
}

static bool ends_double(const stem *s)
{
    return s->n >= 2 && s->p[s->n - 1] == s->p[s->n - 2] && is_consonant(s->p, s->n - 1);
}

/* Consonant, vowel, consonant, such as "hop": an e may have been there. */
static bool ends_short(const char *p, size_t n)
{
    return n >= 3 && is_consonant(p, n - 1) && !is_consonant(p, n - 2) && is_consonant(p, n - 3) &&
           !strchr("wxy", p[n - 1]);
}

static bool ends(const stem *s, const char *ending)
{
    size_t m = strlen(ending);
    return s->n > m && memcmp(s->p + s->n - m, ending, m) == 0;
}

static void add(stem *s, const char *text)
{
    size_t m = strlen(text);
    if (s->n + m > s->room)
        return;
    memcpy(s->p + s->n, text, m);
    s->n += m;
}

/* Replace the first ending of the list that the word has, if its rest has more than this measure. */
static void replace(stem *s, const char *const (*endings)[2], size_t n, unsigned least)
{
    for (size_t i = 0; i < n; i++) {
        if (!ends(s, endings[i][0]))
            continue;
        size_t rest = s->n - strlen(endings[i][0]);
        if (measure(s->p, rest) <= least)
            return;
        s->n = rest;
        add(s, endings[i][1]);
        return;
    }
}

static void cut_plural(stem *s)
{
    if (ends(s, "sses") || (ends(s, "ies") && s->n > strlen("ties")))
        s->n -= 2;
    else if (ends(s, "s") && !ends(s, "ss") && !ends(s, "us"))
        s->n--;
}

/* Forms of verbs: -ed and -ing. */
static void cut_verb(stem *s)
{
    size_t cut = ends(s, "ed") ? 2 : (ends(s, "ing") ? 3 : 0);
    if (ends(s, "eed")) {
        s->n -= measure(s->p, s->n - 3) > 0;
        return;
    }
    if (!cut || !has_vowel(s->p, s->n - cut))
        return;
    s->n -= cut;
    if (ends(s, "at") || ends(s, "bl") || ends(s, "iz"))
        add(s, "e");
    else if (ends_double(s) && !strchr("lsz", s->p[s->n - 1]))
        s->n--;
    else if (measure(s->p, s->n) == 1 && ends_short(s->p, s->n))
        add(s, "e");
}

static void cut_last_letters(stem *s)
{
    size_t rest = s->n - 1;
    unsigned m = measure(s->p, rest);
    if (s->p[rest] == 'e' && (m > 1 || (m == 1 && !ends_short(s->p, rest))))
        s->n--;
    if (measure(s->p, s->n) > 1 && ends_double(s) && s->p[s->n - 1] == 'l')
        s->n--;
}

/* The longest endings first. */
static void cut_endings(stem *s)
{
    static const char *const double_endings[][2] = {
        {"ational", "ate"}, {"ization", "ize"}, {"iveness", "ive"}, {"fulness", "ful"},
        {"ousness", "ous"}, {"tional", "tion"}, {"biliti", "ble"},  {"entli", "ent"},
        {"ousli", "ous"},   {"ation", "ate"},   {"alism", "al"},    {"aliti", "al"},
        {"iviti", "ive"},   {"enci", "ence"},   {"anci", "ance"},   {"izer", "ize"},
        {"abli", "able"},   {"alli", "al"},     {"ator", "ate"},    {"eli", "e"},
    };
    static const char *const single_endings[][2] = {
        {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
        {"ical", "ic"},  {"ness", ""},  {"ful", ""},
    };
    static const char *const last_endings[][2] = {
        {"ement", ""}, {"ance", ""}, {"ence", ""}, {"able", ""}, {"ible", ""}, {"ment", ""},
        {"ant", ""},   {"ent", ""},  {"ism", ""},  {"ate", ""},  {"iti", ""},  {"ous", ""},
        {"ive", ""},   {"ize", ""},  {"al", ""},   {"er", ""},   {"ic", ""},   {"ou", ""},
    };
    replace(s, double_endings, CW_COUNT(double_endings), 0);
    replace(s, single_endings, CW_COUNT(single_endings), 0);
    if (!ends(s, "ion"))
        replace(s, last_endings, CW_COUNT(last_endings), 1);
    else if ((ends(s, "sion") || ends(s, "tion")) && measure(s->p, s->n - 3) > 1)
        s->n -= 3;
}

static bool is_plain(const stem *s)
{
    bool is = s->n > 2;
    for (size_t i = 0; i < s->n && is; i++)
        is = cw_is_lower(s->p[i]);
    return is;
}

static void replace_irregular(stem *s)
{
    for (size_t i = 0; i < CW_COUNT(irregular); i++) {
        if (!cw_str_is(cw_str_make(s->p, s->n), irregular[i][0]))
            continue;
        s->n = 0;
        add(s, irregular[i][1]);
        return;
    }
}

size_t cw_word_stem(char *word, size_t n, size_t room)
{
    stem s = {.n = n, .room = room};
    s.p = word;
    if (!is_plain(&s))
        return n;
    replace_irregular(&s);
    cut_plural(&s);
    cut_verb(&s);
    if (s.n > 1 && s.p[s.n - 1] == 'y' && has_vowel(s.p, s.n - 1))
        s.p[s.n - 1] = 'i';
    cut_endings(&s);
    cut_last_letters(&s);
    return s.n;
}
