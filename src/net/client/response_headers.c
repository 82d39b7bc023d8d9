/* SPDX-License-Identifier: GPL-2.0-or-later */
/* response_headers.c - headers of answers that are wanted, held until the body is there.
 *
 * Their values lie one behind another in a buffer of the connection; the places
 * are offsets, since it may move while it grows.
 */
#include "net/client/client_int.h"

static cw_client_conn_place add(cw_client_conn *l, cw_str value)
{
    cw_client_conn_place place = {
        .at = (uint32_t)l->header_text.n, .n = (uint32_t)value.n, .is_there = true};
    cw_buf_add(&l->header_text, value);
    return place;
}

static cw_str at_place(const cw_client_conn *l, const cw_client_conn_place *place)
{
    cw_str text = cw_buf_str(&l->header_text);
    return place->is_there ? cw_str_make(text.p + place->at, place->n) : (cw_str){0};
}

/* "name=value" of a Set-Cookie field and the rest behind it; .p is NULL where it is none. */
static cw_str pair_of(cw_str field, cw_str *attributes)
{
    cw_str pair = cw_str_trim(cw_str_cut(field, ';', attributes));
    return pair.n && pair.p[0] != '=' && memchr(pair.p, '=', pair.n) ? pair : (cw_str){0};
}

static cw_str name_of(cw_str pair)
{
    cw_str value;
    return cw_str_trim(cw_str_cut(pair, '=', &value));
}

/* "Max-Age=0" or less: that is how a server takes a cookie back. */
static bool is_taken_back(cw_str attributes)
{
    const cw_str name = CW_STR("max-age=");
    while (attributes.p) {
        cw_str item = cw_str_trim(cw_str_cut(attributes, ';', &attributes));
        if (item.n > name.n && cw_str_ieq(cw_str_make(item.p, name.n), name) &&
            (item.p[name.n] == '-' ||
             cw_str_is(cw_str_make(item.p + name.n, item.n - name.n), "0")))
            return true;
    }
    return false;
}

/* The last one of several cookies with one name counts. */
static bool comes_again(const cw_client_conn *l, const char *p, cw_str name, size_t after)
{
    cw_str attributes;
    size_t i = after;
    while ((i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), i + 1)) != CW_HTTP1_NONE) {
        cw_str pair = pair_of(cw_http1_value(&l->head, p, i), &attributes);
        if (pair.p && cw_str_eq(name_of(pair), name))
            return true;
    }
    return false;
}

static void add_cookies(cw_client_conn *l, const char *p)
{
    size_t start = l->header_text.n;
    size_t i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), 0);
    for (; i != CW_HTTP1_NONE; i = cw_http1_find(&l->head, p, CW_STR("set-cookie"), i + 1)) {
        cw_str attributes;
        cw_str pair = pair_of(cw_http1_value(&l->head, p, i), &attributes);
        if (!pair.p || comes_again(l, p, name_of(pair), i) || is_taken_back(attributes) ||
            l->header_text.n - start + pair.n + 2 > CW_CLIENT_WANTED_MAX)
            continue;
        if (l->header_text.n > start)
            cw_buf_add(&l->header_text, CW_STR("; "));
        cw_buf_add(&l->header_text, pair);
    }
    l->cookies = (cw_client_conn_place){(uint32_t)start, (uint32_t)(l->header_text.n - start),
                                        l->header_text.n > start};
}

bool cw_client_conn_store_headers(cw_client_conn *l, const char *p)
{
    const cw_client_opts *opts = &l->client->opts;
    cw_buf_clear(&l->header_text);
    l->cookies = (cw_client_conn_place){0};
    for (size_t k = 0; k < opts->n_wanted; k++) {
        size_t i = cw_http1_find(&l->head, p, opts->wanted[k], 0);
        cw_str value = i == CW_HTTP1_NONE ? (cw_str){0} : cw_http1_value(&l->head, p, i);
        bool is_there = i != CW_HTTP1_NONE && value.n <= CW_CLIENT_WANTED_MAX;
        l->values[k] = is_there ? add(l, value) : (cw_client_conn_place){0};
    }
    if (l->client->wants_cookies)
        add_cookies(l, p);
    return !l->header_text.code;
}

void cw_client_conn_load_headers(const cw_client_conn *l, cw_client_response *answer)
{
    for (size_t k = 0; k < l->client->opts.n_wanted; k++)
        answer->wanted[k] = at_place(l, &l->values[k]);
    answer->cookies = at_place(l, &l->cookies);
}
