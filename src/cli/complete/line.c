/* SPDX-License-Identifier: GPL-2.0-or-later */
/* line.c - splits a command line at spaces outside quotes, and quotes words. */
#include "cli/complete/line.h"

typedef struct splitter {
    cw_str text;
    size_t at;
    size_t kept_at;  /* offset in the text at which the shell's replacement begins */
    size_t kept;     /* bytes of the last word in front of that offset */
    char quote;      /* the open one, or 0 */
    char *word, *to; /* the word that is being read, and its end */
} splitter;

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static void add(splitter *s, char c)
{
    *s->to++ = c;
    if (s->at < s->kept_at)
        s->kept = (size_t)(s->to - s->word);
}

/* In double quotes a backslash stands for itself, unless a special character follows. */
static bool is_escape(const splitter *s)
{
    if (s->text.p[s->at] != '\\' || s->quote == '\'' || s->at + 1 == s->text.n)
        return false;
    return !s->quote || strchr("$`\"\\", s->text.p[s->at + 1]);
}

/* Read the byte at the position, and the one behind it after a backslash. */
static void read_byte(splitter *s)
{
    char c = s->text.p[s->at];
    if (is_escape(s))
        add(s, s->text.p[++s->at]);
    else if (s->quote ? c == s->quote : c == '\'' || c == '"')
        s->quote = s->quote ? 0 : c;
    else if (c != '\\' || s->quote || s->at + 1 < s->text.n)
        add(s, c);
    s->at++;
}

/* The next word, up to a space outside quotes or the end. */
static void read_word(splitter *s, char *room)
{
    s->word = s->to = room;
    s->kept = 0;
    while (s->at < s->text.n && (s->quote || !is_space(s->text.p[s->at])))
        read_byte(s);
    *s->to = '\0';
}

cw_code cw_complete_split(cw_str text, cw_str typed, cw_arena *arena, cw_complete_line *ret,
                          cw_err *err)
{
    if (text.n > CW_COMPLETE_LINE_MAX || memchr(text.p, 0, text.n))
        return cw_fail(err, CW_LIMIT, "the line is too long");
    splitter s = {.text = text, .kept_at = cw_str_ends(text, typed) ? text.n - typed.n : text.n};
    const char **words = cw_arena_calloc(arena, CW_COMPLETE_WORDS_MAX, sizeof *words);
    /* Each word and its NUL fit in the bytes of the text and the space behind the word. */
    char *room = cw_arena_alloc(arena, text.n + 2);
    if (!words || !room)
        return cw_arena_fail(arena, err);
    size_t n = 0;
    do {
        while (s.at < text.n && is_space(text.p[s.at]))
            s.at++;
        if (n == CW_COMPLETE_WORDS_MAX)
            return cw_fail(err, CW_LIMIT, "the line has too many words");
        read_word(&s, room);
        words[n++] = room;
        room = s.to + 1;
    } while (s.at < text.n);
    *ret = (cw_complete_line){words, n, cw_str_make(s.word, s.kept), s.quote};
    return CW_OK;
}

bool cw_complete_quote(cw_buf *out, cw_str word, char quote)
{
    if (quote == '\'' && memchr(word.p, '\'', word.n))
        return false;
    const char *special = quote == '\'' ? "" : quote ? "$`\"\\" : "$`\"\\' &;|<>()*?[]{}!#~";
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] && strchr(special, word.p[i]))
            cw_buf_add_char(out, '\\');
        cw_buf_add_char(out, word.p[i]);
    }
    return true;
}
