/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_fixture.c - arenas and JSON documents for tests. */
#include "support/json_fixture.h"

int arena_setup(void **state)
{
    cw_arena *a = calloc(1, sizeof *a);
    if (!a)
        return -1;
    cw_arena_init(a, TEST_ARENA_MAX);
    *state = a;
    return 0;
}

int arena_teardown(void **state)
{
    cw_arena_done(*state);
    free(*state);
    return 0;
}

cw_str exact_copy(cw_arena *a, cw_str text)
{
    char *p = cw_arena_alloc(a, text.n);
    assert_non_null(p);
    if (text.n)
        memcpy(p, text.p, text.n);
    return cw_str_make(p, text.n);
}

cw_code try_read(cw_arena *a, cw_str text, const cw_json_opts *opts, const cw_json **ret)
{
    return cw_json_read(exact_copy(a, text), opts, a, ret, NULL, NULL);
}

const cw_json *must_read_opts(cw_arena *a, cw_str text, const cw_json_opts *opts)
{
    const cw_json *root = NULL;
    cw_err err = {0};
    cw_code rc = cw_json_read(exact_copy(a, text), opts, a, &root, NULL, &err);
    if (rc)
        fail_msg("'%.*s': %s", CW_STR_ARG(text), err.msg);
    return root;
}

const cw_json *must_read(cw_arena *a, const char *text)
{
    return must_read_opts(a, cw_str_from(text), NULL);
}

cw_str text_of(const cw_json *v)
{
    return v ? cw_json_text(v) : CW_STR("(nothing)");
}

cw_str span_of(const cw_json *v)
{
    return v ? cw_json_span(v) : CW_STR("(nothing)");
}

const cw_json *json_of(cw_arena *a, const char *text)
{
    const cw_json *v = NULL;
    cw_err err = {0};
    if (cw_json_read(cw_str_from(text), NULL, a, &v, NULL, &err))
        fail_msg("%s: %s", text, err.msg);
    return v;
}
