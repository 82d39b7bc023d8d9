/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search_words.c - splits texts and identifiers, and lists words without a meaning of their own. */
#include "catalogue/search/search_words.h"

#include "base/ascii.h"
#include "catalogue/search/word_stem.h"

const char *const cw_search_stop_words[] = {
    "a",     "an",     "and",    "any",    "are",   "as",   "at",    "be",    "been", "but",
    "by",    "can",    "could",  "did",    "do",    "does", "doing", "for",   "from", "had",
    "has",   "have",   "having", "he",     "her",   "here", "hers",  "him",   "his",  "how",
    "i",     "if",     "in",     "into",   "is",    "it",   "its",   "just",  "me",   "might",
    "my",    "myself", "no",     "not",    "of",    "on",   "or",    "our",   "ours", "out",
    "over",  "please", "she",    "should", "so",    "some", "than",  "that",  "the",  "their",
    "them",  "then",   "there",  "these",  "they",  "this", "those", "to",    "too",  "up",
    "us",    "very",   "was",    "we",     "were",  "will", "with",  "would", "you",  "your",
    "yours", "want",   "wants",  "need",   "needs", "like", "let",   "id",    "im",   "ive",
    "d",     "m",      "s",      "t",      "ll",    "ve",   "re",    "am",    NULL,
};

const char *const cw_search_light_words[] = {
    /* verbs */
    "put",
    "take",
    "make",
    "give",
    "get",
    "go",
    "come",
    "keep",
    "see",
    "look",
    "turn",
    "set",
    "bring",
    "send",
    "hold",
    "say",
    "tell",
    "know",
    "think",
    "use",
    "try",
    "ask",
    "find",
    "show",
    "start",
    "stop",
    "begin",
    "open",
    "close",
    "leave",
    "move",
    "change",
    "add",
    "pass",
    "become",
    "happen",
    "seem",
    "help",
    /* directions, order, amount */
    "back",
    "off",
    "down",
    "away",
    "again",
    "now",
    "still",
    "already",
    "until",
    "since",
    "before",
    "after",
    "while",
    "first",
    "last",
    "next",
    "new",
    "old",
    "other",
    "another",
    "same",
    "much",
    "many",
    "more",
    "most",
    "few",
    "less",
    "least",
    "good",
    "bad",
    "right",
    "wrong",
    "big",
    "small",
    "long",
    "short",
    "high",
    "low",
    "own",
    "every",
    "each",
    "all",
    "both",
    "half",
    "one",
    "two",
    "three",
    "ten",
    "fine",
    "ok",
    "okay",
    "only",
    "also",
    "even",
    "ever",
    "never",
    "always",
    "often",
    "really",
    "quite",
    /* persons and things without a name */
    "thing",
    "something",
    "anything",
    "everything",
    "someone",
    "somebody",
    "anyone",
    "anybody",
    "everyone",
    "nobody",
    "mr",
    "mrs",
    "ms",
    "when",
    "where",
    "who",
    "what",
    "which",
    "why",
    /* days and months */
    "today",
    "tomorrow",
    "yesterday",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    NULL,
};

const char *const cw_search_persons[] = {
    "he",         "him",     "she",       "her",        "them",       "they",     "somebody",
    "someone",    "anybody", "anyone",    "everybody",  "everyone",   "nobody",   "others",
    "person",     "people",  "man",       "woman",      "guy",        "lady",     "boss",
    "manager",    "chief",   "director",  "colleague",  "coworker",   "team",     "crew",
    "employee",   "staff",   "assistant", "secretary",  "partner",    "friend",   "neighbour",
    "neighbor",   "wife",    "husband",   "mother",     "father",     "mum",      "mom",
    "dad",        "parents", "brother",   "sister",     "son",        "daughter", "family",
    "kids",       "doctor",  "nurse",     "lawyer",     "teacher",    "student",  "editor",
    "accountant", "auditor", "expert",    "specialist", "supervisor", "intern",   "agent",
    "officer",    "guest",   "visitor",   "public",     "client",     "customer", NULL,
};

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
    bool is_plural = next_is_lower && text.p[i + 1] == 's' &&
                     (i + 2 == text.n || !cw_is_lower(text.p[i + 2])); /* URLs */
    return !is_upper(before) || (next_is_lower && !is_plural);
}

/* The end of "customer's". */
static void skip_possessive(cw_search_splitter *s)
{
    cw_str rest = cw_str_make(s->text.p + s->at, s->text.n - s->at);
    if (cw_str_starts(rest, CW_STR("'s")) && (rest.n == 2 || !is_in_word(rest.p[2])))
        s->at += 2;
}

cw_search_splitter cw_search_split(cw_str text)
{
    size_t n = text.n < CW_SEARCH_MAX_TEXT ? text.n : CW_SEARCH_MAX_TEXT;
    return (cw_search_splitter){.text = cw_str_make(text.p, n)};
}

bool cw_search_next(cw_search_splitter *s)
{
    size_t n = 0;
    while (s->at < s->text.n && !is_in_word(s->text.p[s->at]))
        s->at++;
    s->start = s->at;
    for (; s->at < s->text.n && is_in_word(s->text.p[s->at]); s->at++) {
        if (s->at > s->start && is_border(s->text, s->at))
            break;
        if (n < CW_SEARCH_WORD)
            s->word[n++] = lower(s->text.p[s->at]);
    }
    skip_possessive(s);
    s->n_word = n;
    memcpy(s->stem, s->word, n);
    s->n_stem = cw_word_stem(s->stem, n, CW_SEARCH_WORD);
    return n > 0;
}

cw_str cw_search_pair(cw_str first, cw_str second, cw_search_key *room)
{
    memcpy(room->text, first.p, first.n);
    room->text[first.n] = ' ';
    memcpy(room->text + first.n + 1, second.p, second.n);
    return cw_str_make(room->text, first.n + 1 + second.n);
}

cw_str cw_search_marked(char mark, cw_str word, cw_search_key *room)
{
    room->text[0] = mark;
    memcpy(room->text + 1, word.p, word.n);
    return cw_str_make(room->text, word.n + 1);
}
