/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_check.h - parse a head whole, cut in two at every byte, and byte by byte, and insist on one
 * answer. Each prefix lies in memory of exactly its size, so that a look beyond it is caught. */
#ifndef CW_TESTS_HTTP1_CHECK_H
#define CW_TESTS_HTTP1_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/http1.h"

/* A character array that ends in a NUL which does not count. */
#define TEXT(array) ((cw_str){(array), sizeof(array) - 1})

static const cw_http1_limits usual_limits = {CW_HTTP_MAX_TARGET, CW_HTTP_MAX_HEAD,
                                             CW_HTTP_MAX_FIELDS};

static inline cw_code parse_prefix(cw_http1_head *h, cw_str text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text.p, n);
    cw_code rc = cw_http1_parse_head(h, copy, n);
    free(copy);
    return rc;
}

static inline void assert_same_fields(const cw_http1_head *a, const cw_http1_head *b)
{
    assert_int_equal(a->n_fields, b->n_fields);
    for (size_t i = 0; i < a->n_fields; i++) {
        assert_int_equal(a->fields[i].name, b->fields[i].name);
        assert_int_equal(a->fields[i].name_len, b->fields[i].name_len);
        assert_int_equal(a->fields[i].value, b->fields[i].value);
        assert_int_equal(a->fields[i].value_len, b->fields[i].value_len);
    }
}

static inline void assert_same_head(const cw_http1_head *a, const cw_http1_head *b)
{
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->status, b->status);
    assert_string_equal(a->reason ? a->reason : "", b->reason ? b->reason : "");
    if (a->status)
        return;
    assert_int_equal(a->method, b->method);
    assert_int_equal(a->minor, b->minor);
    assert_int_equal(a->chunked, b->chunked);
    assert_int_equal(a->has_length, b->has_length);
    assert_int_equal(a->keep_alive, b->keep_alive);
    assert_int_equal(a->expect_continue, b->expect_continue);
    assert_int_equal(a->method_at, b->method_at);
    assert_int_equal(a->method_len, b->method_len);
    assert_int_equal(a->target_at, b->target_at);
    assert_int_equal(a->target_len, b->target_len);
    assert_int_equal(a->host, b->host);
    assert_int_equal(a->origin, b->origin);
    assert_int_equal(a->content_type, b->content_type);
    assert_int_equal(a->accept, b->accept);
    assert_int_equal(a->authorization, b->authorization);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->content_length, b->content_length);
    assert_same_fields(a, b);
}

/* Parse `text` in all the ways; *h is the head as parsed whole. */
static inline cw_code parse_all_ways(cw_http1_head *h, cw_str text, const cw_http1_limits *limits)
{
    cw_http1_head other;
    cw_http1_head_init(h, limits);
    cw_code rc = parse_prefix(h, text, text.n);
    assert_int_equal(cw_http1_parse_head(h, text.p, text.n), rc);
    for (size_t cut = 0; cut <= text.n; cut++) {
        cw_http1_head_init(&other, limits);
        parse_prefix(&other, text, cut);
        assert_int_equal(parse_prefix(&other, text, text.n), rc);
        assert_same_head(h, &other);
    }
    cw_http1_head_init(&other, limits);
    cw_code last = CW_AGAIN;
    for (size_t n = 1; n <= text.n && last == CW_AGAIN; n++)
        last = parse_prefix(&other, text, n);
    assert_int_equal(last, rc);
    assert_same_head(h, &other);
    return rc;
}

#endif
