/* SPDX-License-Identifier: GPL-2.0-or-later */
/* read_fail.c - where reading stopped and why, worked out only after the fact. */
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/read_int.h"
#include "json/scan.h"

#define FOUND_MAX 32
#define KEY_SHOWN 64 /* bytes of a key in a message */

static void describe(const reader *r, const char *p, char out[FOUND_MAX])
{
    if (p == r->end) {
        snprintf(out, FOUND_MAX, "the end of the text");
        return;
    }
    unsigned c = (unsigned char)*p;
    if (c > 0x20 && c < 0x7F)
        snprintf(out, FOUND_MAX, "'%c'", (char)c);
    else
        snprintf(out, FOUND_MAX, "byte 0x%02X", c);
}

/* `quoted` is the key with its quotes as it stands in the source: escaped already. */
static bool fail_duplicate(reader *r, cw_str quoted)
{
    size_t n = cw_utf8_cut(quoted, KEY_SHOWN);
    return cw_json_read_fail(r, quoted.p, CW_PARSE, "duplicate key %.*s%s", (int)n, quoted.p,
                             n < quoted.n ? "...\"" : "");
}

cw_json_pos cw_json_locate(cw_str src, size_t offset)
{
    cw_json_pos pos = {.offset = offset < src.n ? offset : src.n, .line = 1, .column = 1};
    const char *p = src.p;
    const char *stop = src.p + pos.offset;
    while (p < stop) {
        size_t n = (unsigned char)*p < 0x80 ? 1 : sequence_len(p, stop);
        pos.column++;
        if (*p == '\n') {
            pos.line++;
            pos.column = 1;
        }
        p += n ? n : 1;
    }
    return pos;
}

bool cw_json_read_fail(reader *r, const char *p, cw_code code, const char *fmt, ...)
{
    char msg[CW_ERR_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(msg, sizeof msg, fmt, args);
    va_end(args);
    cw_json_pos pos = cw_json_locate(r->src, (size_t)(p - r->src.p));
    if (r->pos)
        *r->pos = pos;
    r->code = cw_fail(r->err, code, "line %u, column %u: %s", pos.line, pos.column, msg);
    return false;
}

bool cw_json_read_fail_arena(reader *r, const char *p)
{
    if (r->pos)
        *r->pos = cw_json_locate(r->src, (size_t)(p - r->src.p));
    r->code = cw_arena_fail(r->arena, r->err);
    return false;
}

bool cw_json_read_expected(reader *r, const char *p, const char *what)
{
    char found[FOUND_MAX];
    describe(r, p, found);
    return cw_json_read_fail(r, p, CW_PARSE, "expected %s, found %s", what, found);
}

bool cw_json_read_fail_key(reader *r, const cw_json *key, cw_code code)
{
    cw_str quoted = cw_json_span(key);
    return code == CW_PARSE ? fail_duplicate(r, quoted) : cw_json_read_fail_arena(r, quoted.p);
}
