/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pointer.c - RFC 6901, without unescaping into a buffer. */
#include "json/json.h"
#include "json/write.h"

/* Whether a token ('~0' is '~', '~1' is '/') spells `name`. */
static bool token_is(cw_str token, cw_str name)
{
    size_t j = 0;
    for (size_t i = 0; i < token.n; i++, j++) {
        char c = token.p[i];
        if (c == '~')
            c = token.p[++i] == '0' ? '~' : '/';
        if (j == name.n || name.p[j] != c)
            return false;
    }
    return j == name.n;
}

static bool escapes_are_valid(cw_str token)
{
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~' && (++i == token.n || (token.p[i] != '0' && token.p[i] != '1')))
            return false;
    }
    return true;
}

static const cw_json *find_member(const cw_json *obj, cw_str token)
{
    if (!token.n || !memchr(token.p, '~', token.n))
        return cw_json_get(obj, token);
    const cw_json *found = NULL;
    for (const cw_json *k = cw_json_first(obj); k; k = cw_json_next_key(k)) {
        if (token_is(token, cw_json_text(k)))
            found = cw_json_value(k);
    }
    return found;
}

/* Digits without a leading zero; "-" names the element behind the last one, which is nowhere. */
static const cw_json *find_element(const cw_json *array, cw_str token)
{
    uint64_t index;
    if (!cw_str_to_u64(token, &index) || (token.n > 1 && token.p[0] == '0'))
        return NULL;
    return index < cw_json_count(array) ? cw_json_at(array, (size_t)index) : NULL;
}

const cw_json *cw_json_pointer(const cw_json *v, cw_str pointer)
{
    if (!v || pointer.n == 0)
        return v;
    if (*pointer.p != '/')
        return NULL;
    cw_str rest = cw_str_make(pointer.p + 1, pointer.n - 1);
    while (v && rest.p) {
        cw_str token = cw_str_cut(rest, '/', &rest);
        if (!escapes_are_valid(token))
            return NULL;
        if (cw_json_is(v, CW_JSON_OBJECT))
            v = find_member(v, token);
        else if (cw_json_is(v, CW_JSON_ARRAY))
            v = find_element(v, token);
        else
            v = NULL;
    }
    return v;
}

void cw_json_escape_token(cw_buf *out, cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '~')
            cw_buf_add(out, CW_STR("~0"));
        else if (name.p[i] == '/')
            cw_buf_add(out, CW_STR("~1"));
        else
            cw_buf_add_char(out, name.p[i]);
    }
}
