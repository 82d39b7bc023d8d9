/* SPDX-License-Identifier: GPL-2.0-or-later */
/* id_scan.c - finds the id of a JSON-RPC request without keeping the request. */
#include "json/id_scan.h"

#include "base/utf8.h"
#include "json/scan.h"

enum state {
    BEFORE,    /* the message */
    FIRST_KEY, /* a key, or the end of the outermost object */
    KEY,
    COLON,
    VALUE,
    SCALAR, /* inside a number or literal, a member's value */
    NESTED, /* inside a container, a member's value */
    NEXT,   /* a comma, or the end of the outermost object */
    AFTER,  /* the message */
    FAILED,
};

enum string { NO_STRING, KEY_STRING, ID_STRING, OTHER_STRING };

enum member { OTHER, ID, METHOD };

/* ---- bytes that are kept ---- */

static void keep_key(cw_json_id_scan *s, const char *p, size_t n)
{
    size_t room = CW_JSON_ID_KEY - s->n_key;
    if (s->n_key > CW_JSON_ID_KEY || n > room) {
        s->n_key = CW_JSON_ID_KEY + 1;
        return;
    }
    memcpy(s->key + s->n_key, p, n);
    s->n_key = (uint16_t)(s->n_key + n);
}

static void keep_id(cw_json_id_scan *s, const char *p, size_t n)
{
    size_t room = CW_JSON_ID_MAX - s->n_id;
    if (s->n_id > CW_JSON_ID_MAX || n > room) {
        s->n_id = CW_JSON_ID_MAX + 1;
        return;
    }
    memcpy(s->id + s->n_id, p, n);
    s->n_id = (uint16_t)(s->n_id + n);
}

static void keep(cw_json_id_scan *s, const char *p, size_t n)
{
    if (s->string == KEY_STRING)
        keep_key(s, p, n);
    else if (s->string == ID_STRING)
        keep_id(s, p, n);
}

/* ---- keys ---- */

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The code unit of "\u0069" at p, or -1. */
static int decode_escape(const char *p, size_t n)
{
    int value = 0;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        int digit = hex_of(p[i]);
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* Whether the key stands for this name; the same name can be spelt with escapes. */
static bool is_key(const cw_json_id_scan *s, cw_str name)
{
    size_t at = 0, i = 0;
    if (s->n_key > CW_JSON_ID_KEY)
        return false;
    for (; at < s->n_key && i < name.n; i++) {
        bool is_escape = s->key[at] == '\\';
        int c = is_escape ? decode_escape(s->key + at, s->n_key - at) : s->key[at];
        if (c != name.p[i]) /* no other escape stands for a letter */
            return false;
        at += is_escape ? 6 : 1;
    }
    return at == s->n_key && i == name.n;
}

static void end_key(cw_json_id_scan *s)
{
    s->member = OTHER;
    if (is_key(s, CW_STR("id")))
        s->member = ID;
    else if (is_key(s, CW_STR("method")))
        s->member = METHOD;
    if (s->member == ID && s->n_ids < 2)
        s->n_ids++;
    s->state = COLON;
}

/* ---- strings ---- */

static void open_string(cw_json_id_scan *s)
{
    s->is_escaped = false;
    if (s->state == KEY || s->state == FIRST_KEY) {
        s->string = KEY_STRING;
        s->n_key = 0;
    } else if (s->state == VALUE && s->member == ID) {
        s->string = ID_STRING;
        s->n_id = 0;
        keep_id(s, "\"", 1);
    } else if (s->state == VALUE || s->state == NESTED) {
        s->string = OTHER_STRING;
    } else {
        s->state = FAILED;
    }
}

static void close_string(cw_json_id_scan *s)
{
    uint8_t string = s->string;
    s->string = NO_STRING;
    if (string == KEY_STRING) {
        end_key(s);
        return;
    }
    if (string == ID_STRING)
        keep_id(s, "\"", 1);
    if (s->state != VALUE)
        return;
    if (s->member == METHOD)
        s->has_method = true;
    s->state = NEXT;
}

/* Read a string up to its end, or the end of the piece; returns the byte behind. */
static const char *read_string(cw_json_id_scan *s, const char *p, const char *end)
{
    while (p < end) {
        const char *from = p;
        if (s->is_escaped) {
            s->is_escaped = false;
            keep(s, p++, 1);
            continue;
        }
        p = skip_plain(p, end);
        keep(s, from, (size_t)(p - from));
        if (p == end)
            return p;
        if (*p == '"') {
            close_string(s);
            return p + 1;
        }
        s->is_escaped = *p == '\\';
        keep(s, p++, 1);
    }
    return p;
}

/* ---- outside of strings ---- */

static void open_container(cw_json_id_scan *s, bool is_object)
{
    bool may_open = (s->state == BEFORE && is_object) || s->state == VALUE || s->state == NESTED;
    if (!may_open || s->depth == CW_JSON_MAX_DEPTH) {
        s->state = FAILED;
        return;
    }
    uint64_t bit = UINT64_C(1) << s->depth;
    s->objects = is_object ? s->objects | bit : s->objects & ~bit;
    s->depth++;
    s->state = s->depth == 1 ? FIRST_KEY : NESTED;
}

static void close_container(cw_json_id_scan *s, bool is_object)
{
    bool may_close = s->state == NESTED || s->state == NEXT || s->state == FIRST_KEY;
    if (!may_close || (s->objects >> (s->depth - 1) & 1) != is_object) {
        s->state = FAILED;
        return;
    }
    s->depth--;
    if (s->depth == 0)
        s->state = AFTER;
    else if (s->depth == 1)
        s->state = NEXT;
}

/* A byte of a number or a literal. */
static void add_scalar(cw_json_id_scan *s, char c)
{
    if (s->state == VALUE) {
        s->state = SCALAR;
        if (s->member == ID)
            s->n_id = 0;
    }
    if (s->state == SCALAR && s->member == ID)
        keep_id(s, &c, 1);
    else if (s->state != SCALAR && s->state != NESTED)
        s->state = FAILED;
}

static void add_byte(cw_json_id_scan *s, char c)
{
    bool is_blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (s->state == SCALAR && (is_blank || c == ',' || c == '}' || c == ']'))
        s->state = NEXT;
    if (is_blank)
        return;
    switch (c) {
    case '{':
    case '[':
        open_container(s, c == '{');
        return;
    case '}':
    case ']':
        close_container(s, c == '}');
        return;
    case ':':
        if (s->state != NESTED)
            s->state = s->state == COLON ? VALUE : FAILED;
        return;
    case ',':
        if (s->state != NESTED)
            s->state = s->state == NEXT ? KEY : FAILED;
        return;
    default:
        add_scalar(s, c);
    }
}

void cw_json_id_scan_init(cw_json_id_scan *s)
{
    *s = (cw_json_id_scan){.state = BEFORE};
}

void cw_json_id_scan_add(cw_json_id_scan *s, cw_str piece)
{
    const char *p = piece.p, *end = piece.p + piece.n;
    while (piece.n && p < end && s->state != FAILED) {
        if (s->string) {
            p = read_string(s, p, end);
            continue;
        }
        if (*p == '"')
            open_string(s);
        else
            add_byte(s, *p);
        p++;
    }
}

/* ---- the id ---- */

static bool is_integer(cw_str text)
{
    size_t at = text.n && text.p[0] == '-' ? 1 : 0;
    if (at == text.n || (text.p[at] == '0' && text.n > at + 1))
        return false;
    for (; at < text.n; at++) {
        if (text.p[at] < '0' || text.p[at] > '9')
            return false;
    }
    return true;
}

/* Bytes of the escape at p, 2, 6 or (a pair of surrogates) 12; 0: it is none. */
static size_t escape_len(const char *p, size_t n)
{
    if (n >= 2 && p[1] && strchr("\"\\/bfnrt", p[1]))
        return 2;
    int unit = decode_escape(p, n);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF))
        return 0;
    if (unit < 0xD800 || unit > 0xDBFF)
        return 6;
    int low = decode_escape(p + 6, n - 6);
    return low >= 0xDC00 && low <= 0xDFFF ? 12 : 0;
}

/* Whether an answer may repeat this text as a string. */
static bool is_string(cw_str text)
{
    if (text.n < 2 || text.p[0] != '"' || !cw_utf8_is_valid(text))
        return false;
    for (size_t i = 1; i < text.n - 1;) {
        size_t n = text.p[i] == '\\' ? escape_len(text.p + i, text.n - 1 - i) : 1;
        if (n == 0 || (unsigned char)text.p[i] < 0x20)
            return false;
        i += n;
    }
    return true;
}

cw_str cw_json_id_scan_end(const cw_json_id_scan *s)
{
    cw_str id = cw_str_make(s->id, s->n_id);
    bool is_request = s->state == AFTER && s->n_ids == 1 && s->has_method;
    if (!is_request || s->n_id > CW_JSON_ID_MAX || (!is_integer(id) && !is_string(id)))
        return (cw_str){NULL, 0};
    return id;
}
