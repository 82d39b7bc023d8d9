/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_format.c - one event as one line.
 *
 * The head (time, level, component, message) always fits: a message is cut at
 * CW_LOG_FIELD_MAX bytes, which escaping makes at most six times longer. After
 * it each field goes in whole or not at all, and TAIL_MAX bytes stay free for the
 * mark that says so and the end of the line.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/log_int.h"
#include "base/utf8.h"

#define TAIL_MAX 24u

typedef struct line {
    char *p;
    size_t n;
    size_t max;
    bool json;
    bool full; /* something did not fit */
} line;

static void put(line *l, const char *p, size_t n)
{
    if (l->full || n > l->max - l->n) {
        l->full = true;
        return;
    }
    memcpy(l->p + l->n, p, n);
    l->n += n;
}

static void put_text(line *l, const char *text)
{
    put(l, text, strlen(text));
}

static void put_number(line *l, int64_t number)
{
    char text[CW_DIGITS_SIZE];
    cw_str digits = cw_digits_i64(number, text);
    put(l, digits.p, digits.n);
}

/* Both forms know these; every other control is \uXXXX. */
static const char *short_escape(uint32_t cp)
{
    switch (cp) {
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    default:
        return NULL;
    }
}

static void put_control(line *l, uint32_t cp)
{
    char text[8];
    const char *s = short_escape(cp);
    if (s) {
        put_text(l, s);
        return;
    }
    int n = snprintf(text, sizeof(text), "\\u%04x", (unsigned)(cp & 0xFFFF));
    put(l, text, (size_t)n);
}

static void put_bad_byte(line *l, char c)
{
    char text[8];
    /* JSON has no escape for a byte that is no character. */
    if (l->json) {
        put_text(l, "\\ufffd");
        return;
    }
    int n = snprintf(text, sizeof(text), "\\x%02x", (unsigned)(unsigned char)c);
    put(l, text, (size_t)n);
}

static void put_escaped(line *l, cw_str s, bool quotes)
{
    size_t from = 0; /* start of the run that needs no escape */
    size_t i = 0;
    while (i < s.n) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= ' ' && c <= '~' && c != '"' && c != '\\') {
            i++;
            continue;
        }
        uint32_t cp = 0;
        unsigned len = cw_utf8_decode(s.p + i, s.n - i, &cp);
        bool quote = cp == '\\' || (quotes && cp == '"');
        if (len > 0 && !quote && !cw_utf8_is_control(cp)) {
            i += len;
            continue;
        }
        put(l, s.p + from, i - from);
        if (len == 0)
            put_bad_byte(l, s.p[i]);
        else if (quote)
            put(l, cp == '"' ? "\\\"" : "\\\\", 2);
        else
            put_control(l, cp);
        i += len ? len : 1;
        from = i;
    }
    if (s.n > from)
        put(l, s.p + from, s.n - from);
}

/* Escaped, and cut when it is over `max` bytes. */
static void put_cut(line *l, cw_str s, size_t max, bool quotes)
{
    size_t n = cw_utf8_cut(s, max);
    put_escaped(l, cw_str_make(s.p, n), quotes);
    if (n < s.n)
        put_text(l, "...");
}

static void put_quoted(line *l, cw_str s, size_t max)
{
    put(l, "\"", 1);
    put_cut(l, s, max, /* quotes= */ true);
    put(l, "\"", 1);
}

static void put_head(line *l, cw_log_level level, cw_str component, cw_str message)
{
    char time[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(cw_clock_wall_ms(), time);
    if (l->json) {
        put_text(l, "{\"time\":\"");
        put(l, time, CW_CLOCK_ISO_LEN);
        put_text(l, "\",\"level\":\"");
        put_text(l, cw_log_level_name(level));
        put_text(l, "\",\"component\":");
        put_quoted(l, component, CW_LOG_COMPONENT_MAX);
        put_text(l, ",\"message\":");
        put_quoted(l, message, CW_LOG_FIELD_MAX);
        return;
    }
    put(l, time, CW_CLOCK_ISO_LEN);
    put(l, " ", 1);
    put_text(l, cw_log_level_name(level));
    put(l, " ", 1);
    put_cut(l, component, CW_LOG_COMPONENT_MAX, /* quotes= */ false);
    put(l, ": ", 2);
    put_cut(l, message, CW_LOG_FIELD_MAX, /* quotes= */ false);
}

/* Whether the field went in. */
static bool put_field(line *l, const cw_log_field *f)
{
    size_t before = l->n;
    cw_str key = cw_str_from(f->key);
    if (l->json) {
        put(l, ",", 1);
        put_quoted(l, key, CW_LOG_FIELD_MAX);
        put(l, ":", 1);
    } else {
        put(l, " ", 1);
        put_cut(l, key, CW_LOG_FIELD_MAX, /* quotes= */ true);
        put(l, "=", 1);
    }
    if (f->text.p) {
        put_quoted(l, f->text, CW_LOG_FIELD_MAX);
    } else {
        put_number(l, f->number);
    }
    if (!l->full)
        return true;
    l->n = before;
    l->full = false;
    return false;
}

size_t cw_log_format(char out[CW_LOG_LINE_MAX], bool json, cw_log_level level,
                     const char *component, const char *message, const cw_log_field *fields)
{
    line l = {.max = CW_LOG_LINE_MAX - TAIL_MAX, .json = json};
    l.p = out;
    bool cut = false;
    put_head(&l, level, cw_str_from(component), cw_str_from(message));
    for (const cw_log_field *f = fields; f && f->key; f++)
        if (!put_field(&l, f))
            cut = true;
    l.max = CW_LOG_LINE_MAX;
    if (cut)
        put_text(&l, json ? ",\"cut\":true" : " cut=true");
    put_text(&l, json ? "}\n" : "\n");
    return l.n;
}
