/* SPDX-License-Identifier: GPL-2.0-or-later */
/* uri.c - resolves URI references (RFC 3986, section 5). */
#include "schema/model/uri.h"

#include "base/ascii.h"
#include "base/hex.h"

typedef struct parts {
    cw_str scheme;    /* with ':' */
    cw_str authority; /* with "//" */
    cw_str path;
    cw_str query; /* with '?' */
} parts;

cw_str cw_schema_uri_cut(cw_str uri, cw_str *ret_fragment)
{
    const char *hash = uri.n ? memchr(uri.p, '#', uri.n) : NULL;
    *ret_fragment = (cw_str){0};
    if (!hash)
        return uri;
    size_t n = (size_t)(hash - uri.p);
    *ret_fragment = cw_str_make(hash + 1, uri.n - n - 1);
    return cw_str_make(uri.p, n);
}

/* Length of "scheme:", or 0. */
static size_t scheme_len(cw_str s)
{
    if (s.n == 0 || !cw_is_letter(s.p[0]))
        return 0;
    for (size_t i = 1; i < s.n; i++) {
        char c = s.p[i];
        if (c == ':')
            return i + 1;
        if (!cw_is_letter(c) && !(c >= '0' && c <= '9') && c != '+' && c != '-' && c != '.')
            return 0;
    }
    return 0;
}

static cw_str take(cw_str *s, size_t n)
{
    cw_str head = cw_str_make(s->p, n);
    *s = cw_str_make(s->p + n, s->n - n);
    return head;
}

static size_t span_until(cw_str s, size_t from, const char *stops)
{
    size_t i = from;
    while (i < s.n && !strchr(stops, s.p[i]))
        i++;
    return i;
}

static parts split(cw_str s)
{
    parts p = {0};
    p.scheme = take(&s, scheme_len(s));
    if (s.n >= 2 && s.p[0] == '/' && s.p[1] == '/')
        p.authority = take(&s, span_until(s, 2, "/?"));
    p.path = take(&s, span_until(s, 0, "?"));
    p.query = s;
    return p;
}

/* Section 5.2.4, in place from `start` on; returns the new end. */
static char *remove_dots(char *start, char *end)
{
    char *out = start;
    const char *in = start;
    while (in < end) {
        const char *slash = in < end - 1 ? memchr(in + 1, '/', (size_t)(end - in - 1)) : NULL;
        const char *next = slash ? slash : end;
        cw_str segment = cw_str_make(in, (size_t)(next - in)); /* with its leading slash */
        if (cw_str_is(segment, "/.") || cw_str_is(segment, "/..")) {
            if (segment.n == 3) {
                while (out > start && out[-1] != '/')
                    out--;
                out -= out > start;
            }
            if (next == end)
                *out++ = '/';
        } else {
            memmove(out, in, segment.n);
            out += segment.n;
        }
        in = next;
    }
    return out;
}

static char *put(char *at, cw_str s)
{
    if (s.n)
        memcpy(at, s.p, s.n);
    return at + s.n;
}

/* The directory of the base's path, to which a relative path is added. */
static cw_str folder_of(const parts *base)
{
    size_t n = base->path.n;
    while (n > 0 && base->path.p[n - 1] != '/')
        n--;
    if (n == 0 && base->authority.n)
        return CW_STR("/");
    return cw_str_make(base->path.p, n);
}

cw_str cw_schema_uri_resolve(cw_arena *arena, cw_str base, cw_str ref)
{
    if (ref.n == 0)
        return base.p ? base : CW_STR("");
    parts r = split(ref);
    if (base.n == 0 && !r.scheme.n)
        return ref;
    parts b = split(base);
    char *text = cw_arena_alloc(arena, base.n + ref.n + 2);
    if (!text)
        return (cw_str){0};
    char *p = put(text, r.scheme.n ? r.scheme : b.scheme);
    bool own_authority = r.scheme.n || r.authority.n;
    p = put(p, own_authority ? r.authority : b.authority);
    char *path = p;
    if (!own_authority && r.path.n == 0) {
        p = put(p, b.path);
        p = put(p, r.query.n ? r.query : b.query);
        return cw_str_make(text, (size_t)(p - text));
    }
    if (!own_authority && r.path.p[0] != '/')
        p = put(p, folder_of(&b));
    p = put(p, r.path);
    if (path < p && *path == '/')
        p = remove_dots(path, p);
    p = put(p, r.query);
    return cw_str_make(text, (size_t)(p - text));
}

cw_str cw_schema_uri_decode(cw_arena *arena, cw_str text)
{
    if (text.n == 0 || !memchr(text.p, '%', text.n))
        return text.p ? text : CW_STR("");
    char *out = cw_arena_alloc(arena, text.n);
    if (!out)
        return (cw_str){0};
    size_t n = 0;
    for (size_t i = 0; i < text.n; i++) {
        int high = text.p[i] == '%' && i + 2 < text.n ? cw_hex_value(text.p[i + 1]) : -1;
        int low = high >= 0 ? cw_hex_value(text.p[i + 2]) : -1;
        if (low >= 0) {
            out[n++] = (char)(high * 16 + low);
            i += 2;
        } else {
            out[n++] = text.p[i];
        }
    }
    return cw_str_make(out, n);
}
