/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_splits.c - parse a head in every split and compare the results. */
#include "support/http1_splits.h"

const cw_http1_limits http1_usual_limits = {CW_HTTP_MAX_TARGET, CW_HTTP_MAX_HEAD,
                                            CW_HTTP_MAX_FIELDS};

cw_code http1_parse_prefix(cw_http1_head *h, cw_str text, size_t n)
{
    char *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text.p, n);
    cw_code rc = cw_http1_parse_head(h, copy, n);
    free(copy);
    return rc;
}

static void assert_same_fields(const cw_http1_head *a, const cw_http1_head *b)
{
    assert_int_equal(a->n_fields, b->n_fields);
    for (size_t i = 0; i < a->n_fields; i++) {
        assert_int_equal(a->fields[i].name, b->fields[i].name);
        assert_int_equal(a->fields[i].name_len, b->fields[i].name_len);
        assert_int_equal(a->fields[i].value, b->fields[i].value);
        assert_int_equal(a->fields[i].value_len, b->fields[i].value_len);
    }
}

void assert_same_http1_head(const cw_http1_head *a, const cw_http1_head *b)
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

cw_code http1_parse_all_splits(cw_http1_head *h, cw_str text, const cw_http1_limits *limits)
{
    cw_http1_head other;
    cw_http1_head_init(h, limits);
    cw_code rc = http1_parse_prefix(h, text, text.n);
    assert_int_equal(cw_http1_parse_head(h, text.p, text.n), rc);
    for (size_t cut = 0; cut <= text.n; cut++) {
        cw_http1_head_init(&other, limits);
        http1_parse_prefix(&other, text, cut);
        assert_int_equal(http1_parse_prefix(&other, text, text.n), rc);
        assert_same_http1_head(h, &other);
    }
    cw_http1_head_init(&other, limits);
    cw_code last = CW_AGAIN;
    for (size_t n = 1; n <= text.n && last == CW_AGAIN; n++)
        last = http1_parse_prefix(&other, text, n);
    assert_int_equal(last, rc);
    assert_same_http1_head(h, &other);
    return rc;
}
