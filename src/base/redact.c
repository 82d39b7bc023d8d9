/* SPDX-License-Identifier: GPL-2.0-or-later */
/* redact.c - replaces known secrets in the text of others. */
#include "base/redact.h"

#define HIDDEN CW_STR("[secret]")
#define SEARCHED_MAX 65536u /* beyond what is wanted: secrets make a text shorter */

cw_code cw_secrets_add(cw_secrets *s, cw_str text, cw_arena *arena)
{
    size_t at = 0;
    if (text.n < CW_SECRETS_SHORTEST)
        return CW_OK;
    for (; at < s->n && s->items[at].n >= text.n; at++) {
        if (cw_str_eq(s->items[at], text))
            return CW_OK;
    }
    if (s->n == CW_SECRETS_MAX)
        return CW_LIMIT;
    cw_str copy = cw_arena_dup_str(arena, text);
    if (!copy.p)
        return cw_arena_code(arena);
    memmove(&s->items[at + 1], &s->items[at], (s->n - at) * sizeof *s->items);
    s->items[at] = copy;
    s->n++;
    return CW_OK;
}

/* The offset of the first one, and its length; SIZE_MAX: none. */
static size_t find(const cw_secrets *s, cw_str text, size_t *ret_n)
{
    size_t first = SIZE_MAX;
    for (size_t i = 0; s && i < s->n && text.n; i++) {
        const char *p = memmem(text.p, text.n, s->items[i].p, s->items[i].n);
        /* If two begin at the same place, the longer one was found before. */
        if (!p || (size_t)(p - text.p) >= first)
            continue;
        first = (size_t)(p - text.p);
        *ret_n = s->items[i].n;
    }
    return first;
}

bool cw_secrets_are_in(const cw_secrets *s, cw_str text)
{
    size_t n;
    return find(s, text, &n) != SIZE_MAX;
}

void cw_secrets_write(const cw_secrets *s, cw_str text, cw_buf *out)
{
    while (text.n && !out->code) {
        size_t n = 0, at = find(s, text, &n);
        if (at == SIZE_MAX) {
            cw_buf_add(out, text);
            return;
        }
        cw_buf_add_bytes(out, text.p, at);
        cw_buf_add(out, HIDDEN);
        text = cw_str_make(text.p + at + n, text.n - at - n);
    }
}

/* `text` with "[secret]" in the place of each, in the arena; `text` itself if it has none, .p NULL
 * without memory. */
static cw_str redact(const cw_secrets *s, cw_str text, cw_arena *arena)
{
    if (!cw_secrets_are_in(s, text))
        return text;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, CW_BUF_MAX);
    cw_secrets_write(s, text, &out);
    return out.code ? (cw_str){NULL, 0} : cw_arena_dup_str(arena, cw_buf_str(&out));
}

size_t cw_secrets_cut(const cw_secrets *s, cw_str text)
{
    size_t longest = s && s->n ? s->items[0].n : 0;
    for (size_t n = longest < text.n ? longest : text.n; n >= CW_SECRETS_SHORTEST; n--) {
        for (size_t i = 0; i < s->n && s->items[i].n >= n; i++) {
            if (memcmp(text.p + text.n - n, s->items[i].p, n) == 0)
                return text.n - n;
        }
    }
    return text.n;
}

cw_str cw_secrets_hide_begin(const cw_secrets *s, cw_str text, size_t max, cw_arena *arena)
{
    if (text.n > max + SEARCHED_MAX) {
        text.n = max + SEARCHED_MAX;
        text.n = cw_secrets_cut(s, text);
    }
    cw_str exposed = redact(s, text, arena);
    if (exposed.n > max)
        exposed.n = max;
    return exposed;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_letter(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* Whether a word ends, and another one may begin, between these: "api_key", "apiKey". */
static bool is_between(char a, char b)
{
    return !is_letter(a) || !is_letter(b) || (is_lower(a) && !is_lower(b));
}

static bool has_word(cw_str name, cw_str word)
{
    for (size_t at = 0; at + word.n <= name.n; at++) {
        size_t end = at + word.n;
        if (!cw_str_ieq(cw_str_make(name.p + at, word.n), word))
            continue;
        if (end < name.n && (name.p[end] == 's' || name.p[end] == 'S'))
            end++;
        if ((at == 0 || is_between(name.p[at - 1], name.p[at])) &&
            (end == name.n || is_between(name.p[end - 1], name.p[end])))
            return true;
    }
    return false;
}

bool cw_secrets_is_name(cw_str name)
{
    static const char *const words[] = {"apikey",     "auth",   "authorization", "cookie",
                                        "credential", "key",    "passphrase",    "passwd",
                                        "password",   "secret", "token"};
    for (size_t i = 0; i < CW_COUNT(words); i++) {
        if (has_word(name, cw_str_from(words[i])))
            return true;
    }
    return false;
}
