/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_string.c - strings with escapes or characters beyond ASCII.
 *
 * First the whole string is checked up to its closing quote; decoding then trusts
 * what it sees.
 */
#include "base/utf8.h"
#include "json/read_int.h"
#include "json/scan.h"

/* The value of four hex digits at p, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    if (end - p < 4)
        return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned letter = (unsigned)((p[i] | 0x20) - 'a');
        if (cw_is_digit(p[i]))
            value = value * 16 + (p[i] - '0');
        else if (letter < 6)
            value = value * 16 + 10 + (int32_t)letter;
        else
            return -1;
    }
    return value;
}

static char control_of(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter; /* '"', '\\' and '/' stand for themselves */
    }
}

/* Decode the body of a string that has been checked: at most as long as `raw`. Returns the length.
 */
static size_t decode(cw_str raw, char *out)
{
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    char *o = out;
    for (;;) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((slash ? slash : end) - p);
        memcpy(o, p, run);
        o += run;
        if (!slash)
            return (size_t)(o - out);
        p = slash + 2;
        if (slash[1] != 'u') {
            *o++ = control_of(slash[1]);
            continue;
        }
        uint32_t cp = (uint32_t)hex4(p, end);
        p += 4;
        if (cp >= 0xD800 && cp < 0xDC00) {
            cp = 0x10000 + ((cp - 0xD800) << 10) + ((uint32_t)hex4(p + 2, end) - 0xDC00);
            p += 6;
        }
        o += cw_utf8_encode(cp, o);
    }
}

/* Check the escape whose backslash is at p; returns what is behind it, or NULL. */
static const char *scan_escape(reader *r, const char *p)
{
    const char *letter = p + 1;
    if (letter == r->end || !*letter || !strchr("\"\\/bfnrtu", *letter)) {
        cw_json_read_expected(r, letter, "one of \"\\/bfnrtu after a backslash");
        return NULL;
    }
    if (*letter != 'u')
        return letter + 1;
    int32_t unit = hex4(letter + 1, r->end);
    if (unit < 0) {
        cw_json_read_fail(r, p, CW_PARSE, "expected four hex digits after \\u");
        return NULL;
    }
    const char *behind = letter + 5;
    if (unit < 0xD800 || unit > 0xDFFF)
        return behind;
    int32_t low = -1;
    if (unit < 0xDC00 && r->end - behind >= 2 && behind[0] == '\\' && behind[1] == 'u')
        low = hex4(behind + 2, r->end);
    if (low < 0xDC00 || low > 0xDFFF) {
        cw_json_read_fail(r, p, CW_PARSE, "\\u%04X is half of a surrogate pair", (unsigned)unit);
        return NULL;
    }
    return behind + 6;
}

/* The closing quote of a string, from any place in it; NULL after a failure. */
static const char *scan_string(reader *r, const char *p, bool *ret_escaped)
{
    while (p) {
        p = skip_plain(p, r->end);
        int byte = peek(r, p);
        if (byte == '"')
            return p;
        if (byte == '\\') {
            *ret_escaped = true;
            p = scan_escape(r, p);
            continue;
        }
        size_t n = byte >= 0x80 ? sequence_len(p, r->end) : 0;
        if (n > 0) {
            p += n;
            continue;
        }
        if (byte < 0)
            cw_json_read_expected(r, p, "'\"' at the end of a string");
        else if (byte < 0x20)
            cw_json_read_fail(r, p, CW_PARSE,
                              "control character U+%04X in a string must be escaped",
                              (unsigned)byte);
        else
            cw_json_read_fail(r, p, CW_PARSE, "invalid UTF-8 in a string (byte 0x%02X)",
                              (unsigned)byte);
        return NULL;
    }
    return NULL;
}

bool cw_json_read_rich(reader *r, const char *open, const char *p, rich_string *ret)
{
    bool escaped = false;
    const char *close = scan_string(r, p, &escaped);
    if (!close)
        return false;
    cw_str raw = cw_str_make(open + 1, (size_t)(close - open) - 1);
    *ret = (rich_string){.text = raw, .close = close};
    if (!escaped)
        return true;
    char *memory = cw_arena_alloc(r->arena, DECODED_HEAD + raw.n);
    if (!memory)
        return cw_json_read_fail_arena(r, open);
    char *text = memory + DECODED_HEAD;
    decoded_set_source(text, cw_str_make(open, raw.n + 2));
    ret->text = cw_str_make(text, decode(raw, text));
    ret->meta = CW_JSON_DECODED;
    return true;
}
