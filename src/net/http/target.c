/* SPDX-License-Identifier: GPL-2.0-or-later */
/* target.c - request targets: form, path and query (RFC 9112 3.2, RFC 3986). */
#include "net/http/target.h"
#include "base/utf8.h"
#include "net/http/hostcheck.h"
#include "net/http/http1_chars.h"

static cw_code refuse(const char **ret_reason, const char *reason)
{
    *ret_reason = reason;
    return CW_INVALID;
}

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

/* Well-formed UTF-8 without C0 and C1 controls. */
static bool is_text(cw_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (is_control(c))
            return false;
        /* U+0080 to U+009F are C2 80 to C2 9F. */
        if (c == 0xc2 && i + 1 < s.n && (unsigned char)s.p[i + 1] < 0xa0)
            return false;
    }
    return cw_utf8_is_valid(s);
}

/* Undo percent-encoding. `plus`: '+' is a space, as in queries. Text without anything to decode is
 * borrowed. CW_INVALID for a bad escape. */
static cw_code decode(cw_str s, bool plus, cw_arena *arena, cw_str *ret)
{
    size_t i = 0, n = 0;
    char *out;

    while (i < s.n && s.p[i] != '%' && !(plus && s.p[i] == '+'))
        i++;
    if (i == s.n) {
        *ret = s;
        return CW_OK;
    }
    out = cw_arena_alloc(arena, s.n);
    if (!out)
        return cw_arena_code(arena);
    for (i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (c == '%') {
            if (s.n - i < 3 || !cw_http_is(s.p[i + 1], CW_HTTP_XDIGIT) ||
                !cw_http_is(s.p[i + 2], CW_HTTP_XDIGIT))
                return CW_INVALID;
            c = (char)(cw_http_hex(s.p[i + 1]) << 4 | cw_http_hex(s.p[i + 2]));
            i += 2;
        } else if (plus && c == '+') {
            c = ' ';
        }
        out[n++] = c;
    }
    *ret = (cw_str){out, n};
    return CW_OK;
}

/* An encoded '/' or '\' would be a separator to one reader and a character to another. */
static bool has_encoded_slash(cw_str raw)
{
    for (size_t i = 0; i + 2 < raw.n; i++) {
        if (raw.p[i] != '%')
            continue;
        if (raw.p[i + 1] == '2' && (raw.p[i + 2] | 0x20) == 'f')
            return true;
        if (raw.p[i + 1] == '5' && (raw.p[i + 2] | 0x20) == 'c')
            return true;
    }
    return false;
}

static bool has_dot_segment(cw_str path)
{
    cw_str rest = path;

    if (!memchr(path.p, '.', path.n))
        return false;
    while (rest.p) {
        cw_str segment = cw_str_cut(rest, '/', &rest);

        if (cw_str_is(segment, ".") || cw_str_is(segment, ".."))
            return true;
    }
    return false;
}

static cw_code decode_path(cw_str raw, cw_arena *arena, cw_str *ret, const char **ret_reason)
{
    cw_code rc;

    if (has_encoded_slash(raw))
        return refuse(ret_reason, "encoded slash in the path");
    rc = decode(raw, /* plus= */ false, arena, ret);
    if (rc == CW_INVALID)
        return refuse(ret_reason, "invalid percent-encoding in the path");
    if (rc) {
        *ret_reason = cw_code_text(rc);
        return rc;
    }
    if (!is_text(*ret))
        return refuse(ret_reason, "control character or ill-formed UTF-8 in the path");
    return CW_OK;
}

/* `raw` begins with '/' and consists of URI characters. */
static cw_code parse_path(cw_str raw, cw_arena *arena, cw_str *ret, const char **ret_reason)
{
    cw_str path = raw;

    /* "//x" is an empty first segment here, and an authority to a client that resolves it. */
    if (raw.n > 1 && raw.p[1] == '/')
        return refuse(ret_reason, "request target begins with '//'");
    if (memchr(raw.p, '%', raw.n)) {
        cw_code rc = decode_path(raw, arena, &path, ret_reason);

        if (rc)
            return rc;
    }
    if (has_dot_segment(path))
        return refuse(ret_reason, "dot segment in the path");
    *ret = path;
    return CW_OK;
}

/* Behind "http://" or "https://"; 0 when `raw` begins with neither. */
static size_t scheme_len(cw_str raw)
{
    if (raw.n >= 7 && cw_str_ieq((cw_str){raw.p, 7}, CW_STR("http://")))
        return 7;
    if (raw.n >= 8 && cw_str_ieq((cw_str){raw.p, 8}, CW_STR("https://")))
        return 8;
    return 0;
}

/* Take the authority of an absolute form off the front of *raw. */
static cw_code cut_authority(cw_str *raw, cw_str *ret, const char **ret_reason)
{
    size_t start = scheme_len(*raw), end = start;

    if (start == 0)
        return refuse(ret_reason, "request target is neither a path nor an http URL");
    while (end < raw->n && raw->p[end] != '/' && raw->p[end] != '?')
        end++;
    *ret = (cw_str){raw->p + start, end - start};
    if (!cw_host_is_valid(*ret))
        return refuse(ret_reason, "invalid host in the request target");
    *raw = (cw_str){raw->p + end, raw->n - end};
    return CW_OK;
}

cw_code cw_target_parse(cw_str raw, cw_arena *arena, cw_target *ret, const char **ret_reason)
{
    cw_target t = {0};
    cw_str path;
    cw_code rc;

    if (cw_http_span(raw, CW_HTTP_URI) != raw.n)
        return refuse(ret_reason, "invalid character in the request target");
    if (cw_str_eq(raw, CW_STR("*"))) {
        *ret = (cw_target){.path = raw};
        return CW_OK;
    }
    if (raw.n == 0 || raw.p[0] != '/') {
        rc = cut_authority(&raw, &t.authority, ret_reason);
        if (rc)
            return rc;
    }
    path = cw_str_cut(raw, '?', &t.query);
    if (path.n == 0)
        path = CW_STR("/");
    rc = parse_path(path, arena, &t.path, ret_reason);
    if (rc)
        return rc;
    *ret = t;
    return CW_OK;
}

static cw_code decode_text(cw_str raw, cw_arena *arena, cw_str *ret)
{
    cw_code rc = decode(raw, /* plus= */ true, arena, ret);

    if (rc == CW_OK && !is_text(*ret))
        return CW_INVALID;
    return rc;
}

cw_code cw_query_next(cw_str *rest, cw_arena *arena, cw_str *ret_name, cw_str *ret_value)
{
    cw_str after = *rest, pair = {0}, name, value;
    cw_code rc;

    while (pair.n == 0) {
        if (after.n == 0)
            return CW_DONE;
        pair = cw_str_cut(after, '&', &after);
    }
    name = cw_str_cut(pair, '=', &value);
    if (!value.p)
        value = CW_STR("");
    rc = decode_text(name, arena, &name);
    if (rc)
        return rc;
    rc = decode_text(value, arena, &value);
    if (rc)
        return rc;
    *rest = after;
    *ret_name = name;
    *ret_value = value;
    return CW_OK;
}
