/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_line.c - formats events: text, JSON, entries of the journal.
 *
 * The head (time, level, component, message) always fits: a message is cut at CW_LOG_FIELD_MAX bytes,
 * which escaping makes at most six times longer. After it each field goes in whole or not at all.
 * TAIL_MAX bytes stay free for the mark of a missing field and the end of the line.
 */
#include "base/log_line.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/digits.h"
#include "base/hex.h"
#include "base/ids.h"
#include "base/journal.h"
#include "base/utf8.h"

const char *const cw_log_level_names[CW_LOG_LEVELS] = {"error", "warn", "info", "debug"};

static const char *level_name(cw_log_level level)
{
    return level >= 0 && (size_t)level < CW_LOG_LEVELS ? cw_log_level_names[level] : "off";
}

/* A message in the journal: half of the entry holds it, however it is escaped. */
#define MESSAGE_MAX 512u

typedef struct event_parts {
    cw_log_level level;
    const char *component, *message;
    const cw_log_field *fields;
} event_parts;

#define TAIL_MAX 24u
/* The ids of the request: names, digits, quotes. */
#define IDS_MAX 160u

typedef struct log_line {
    char *p;
    size_t n;
    size_t max;
    bool json;
    bool full; /* something did not fit */
} log_line;

static void put(log_line *l, const char *p, size_t n)
{
    if (l->full || n > l->max - l->n) {
        l->full = true;
        return;
    }
    memcpy(l->p + l->n, p, n);
    l->n += n;
}

static void put_text(log_line *l, const char *text)
{
    put(l, text, strlen(text));
}

static void put_number(log_line *l, int64_t number)
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

static void put_control(log_line *l, uint32_t cp)
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

static void put_bad_byte(log_line *l, char c)
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

static void put_escaped(log_line *l, cw_str s, bool quotes)
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
static void put_cut(log_line *l, cw_str s, size_t max, bool quotes)
{
    size_t n = cw_utf8_cut(s, max);
    put_escaped(l, cw_str_make(s.p, n), quotes);
    if (n < s.n)
        put_text(l, "...");
}

static void put_quoted(log_line *l, cw_str s, size_t max)
{
    put(l, "\"", 1);
    put_cut(l, s, max, /* quotes= */ true);
    put(l, "\"", 1);
}

static void put_head(log_line *l, cw_log_level level, cw_str component, cw_str message)
{
    char time[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(cw_clock_wall_ms(), time);
    if (l->json) {
        put_text(l, "{\"time\":\"");
        put(l, time, CW_CLOCK_ISO_LEN);
        put_text(l, "\",\"level\":\"");
        put_text(l, level_name(level));
        put_text(l, "\",\"component\":");
        put_quoted(l, component, CW_LOG_COMPONENT_MAX);
        put_text(l, ",\"message\":");
        put_quoted(l, message, CW_LOG_FIELD_MAX);
        return;
    }
    put(l, time, CW_CLOCK_ISO_LEN);
    put(l, " ", 1);
    put_text(l, level_name(level));
    put(l, " ", 1);
    put_cut(l, component, CW_LOG_COMPONENT_MAX, /* quotes= */ false);
    put(l, ": ", 2);
    put_cut(l, message, CW_LOG_FIELD_MAX, /* quotes= */ false);
}

/* Whether the field went in. */
static bool put_field(log_line *l, const cw_log_field *f)
{
    size_t before = l->n;
    cw_str key = cw_str_from(f->key);
    if (!key.n)
        return true;
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

static void put_hex(log_line *l, const char *name, const char *hex)
{
    put_text(l, l->json ? ",\"" : " ");
    put_text(l, name);
    put_text(l, l->json ? "\":\"" : "=");
    put_text(l, hex);
    if (l->json)
        put(l, "\"", 1);
}

static void put_id(log_line *l, const char *name, const unsigned char *bytes, size_t n)
{
    char hex[2 * CW_IDS_TRACE + 1];
    cw_hex_write(hex, bytes, n);
    put_hex(l, name, hex);
}

/* The ids of the request that this thread works on, if it does. */
static void put_ids(log_line *l)
{
    const cw_ids *ids = cw_ids_current();
    char request[CW_IDS_HEX];
    if (!ids)
        return;
    cw_ids_format_request(ids->request, request);
    if (ids->request)
        put_hex(l, "request_id", request);
    if (!ids->has_trace)
        return;
    put_id(l, "trace_id", ids->trace_id, sizeof ids->trace_id);
    put_id(l, "span_id", ids->span_id, sizeof ids->span_id);
    put_id(l, "trace_flags", &ids->flags, sizeof ids->flags);
}

/* ---- entries of the journal ---- */

/* Ends a field; in values it is escaped, as all controls are. */
#define FIELD_END CW_JOURNAL_FIELD_END

static void begin_member(log_line *l, const char *prefix, const char *name)
{
    char separator = FIELD_END;
    put(l, &separator, 1);
    put_text(l, prefix);
    for (; *name; name++) {
        char c = *name;
        if (c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        else if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9'))
            c = '_';
        put(l, &c, 1);
    }
    put(l, "=", 1);
}

/* In whole, or not at all. */
static void put_member(log_line *l, const cw_log_field *f)
{
    size_t before = l->n;
    if (!f->key[0])
        return;
    begin_member(l, "CAUSEWAY_", f->key);
    if (f->text.p)
        put_cut(l, f->text, CW_LOG_FIELD_MAX, /* quotes= */ false);
    else
        put_number(l, f->number);
    if (l->full)
        l->n = before;
    l->full = false;
}

static void put_id_member(log_line *l, const char *name, const unsigned char *bytes, size_t n)
{
    char hex[2 * CW_IDS_TRACE + 1];
    cw_hex_write(hex, bytes, n);
    begin_member(l, "", name);
    put_text(l, hex);
}

static void put_id_members(log_line *l)
{
    const cw_ids *ids = cw_ids_current();
    char request[CW_IDS_HEX];
    if (!ids)
        return;
    cw_ids_format_request(ids->request, request);
    if (ids->request) {
        begin_member(l, "CAUSEWAY_", "request_id");
        put_text(l, request);
    }
    if (!ids->has_trace)
        return;
    put_id_member(l, "trace_id", ids->trace_id, sizeof ids->trace_id);
    put_id_member(l, "span_id", ids->span_id, sizeof ids->span_id);
}

/* MESSAGE is the text line without its time and level, which the journal has anyway. */
static size_t format_entry(char *to, const event_parts *parts)
{
    static const char *const priorities[] = {"3", "4", "6", "7"};
    log_line l = {.max = CW_LOG_LINE_MAX / 2};
    l.p = to;
    put_text(&l, "MESSAGE=");
    put_cut(&l, cw_str_from(parts->component), CW_LOG_COMPONENT_MAX, /* quotes= */ false);
    put(&l, ": ", 2);
    put_cut(&l, cw_str_from(parts->message), MESSAGE_MAX, /* quotes= */ false);
    for (const cw_log_field *f = parts->fields; f && f->key; f++)
        (void)!put_field(&l, f);
    l.max = CW_LOG_LINE_MAX - TAIL_MAX - IDS_MAX;
    begin_member(&l, "", "priority");
    put_text(&l, priorities[parts->level]);
    begin_member(&l, "", "syslog_identifier");
    put_text(&l, "causeway");
    put_member(&l, &CW_KV("component", cw_str_from(parts->component)));
    for (const cw_log_field *f = parts->fields; f && f->key; f++)
        put_member(&l, f);
    l.max = CW_LOG_LINE_MAX;
    put_id_members(&l);
    put(&l, "\n", 1);
    return l.n;
}

/* ---- the three forms ---- */

static size_t format_text(char *to, bool json, const event_parts *parts)
{
    log_line l = {.max = CW_LOG_LINE_MAX - TAIL_MAX, .json = json};
    l.p = to;
    l.max -= cw_ids_current() ? IDS_MAX : 0;
    bool cut = false;
    put_head(&l, parts->level, cw_str_from(parts->component), cw_str_from(parts->message));
    for (const cw_log_field *f = parts->fields; f && f->key; f++)
        if (!put_field(&l, f))
            cut = true;
    l.max = CW_LOG_LINE_MAX;
    put_ids(&l);
    if (cut)
        put_text(&l, json ? ",\"cut\":true" : " cut=true");
    put_text(&l, json ? "}\n" : "\n");
    return l.n;
}

size_t cw_log_line_format(char to[CW_LOG_LINE_MAX], cw_log_form form, cw_log_level level,
                          const char *component, const char *message, const cw_log_field *fields)
{
    const event_parts parts = {level, component, message, fields};
    return form == CW_LOG_FORM_JOURNAL ? format_entry(to, &parts)
                                       : format_text(to, form == CW_LOG_FORM_JSON, &parts);
}
