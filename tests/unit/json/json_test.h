/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_test.h - what the JSON tests share. */
#ifndef CW_TESTS_JSON_TEST_H
#define CW_TESTS_JSON_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "json/write.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_IS_SLOW 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
    __has_feature(undefined_behavior_sanitizer)
#define TEST_IS_SLOW 1
#endif
#endif
#ifndef TEST_IS_SLOW
#define TEST_IS_SLOW 0
#endif

#define TEST_ARENA_MAX ((size_t)512 << 20)

/* A setup and teardown that give every test an arena in *state. */
static inline int arena_setup(void **state)
{
    cw_arena *a = calloc(1, sizeof *a);
    if (!a)
        return -1;
    cw_arena_init(a, TEST_ARENA_MAX);
    *state = a;
    return 0;
}

static inline int arena_teardown(void **state)
{
    cw_arena_done(*state);
    free(*state);
    return 0;
}

#define arena_test(f) cmocka_unit_test_setup_teardown(f, arena_setup, arena_teardown)

/* The bytes in memory of exactly their size, so that a sanitizer sees a step too far. */
static inline cw_str exact_copy(cw_arena *a, cw_str text)
{
    char *p = cw_arena_alloc(a, text.n);
    assert_non_null(p);
    if (text.n)
        memcpy(p, text.p, text.n);
    return cw_str_make(p, text.n);
}

static inline cw_code try_read(cw_arena *a, cw_str text, const cw_json_opts *opts,
                               const cw_json **ret)
{
    return cw_json_read(exact_copy(a, text), opts, a, ret, NULL, NULL);
}

static inline const cw_json *must_read_opts(cw_arena *a, cw_str text, const cw_json_opts *opts)
{
    const cw_json *root = NULL;
    cw_err err = {0};
    cw_code rc = cw_json_read(exact_copy(a, text), opts, a, &root, NULL, &err);
    if (rc)
        fail_msg("'%.*s': %s", CW_STR_ARG(text), err.msg);
    return root;
}

static inline const cw_json *must_read(cw_arena *a, const char *text)
{
    return must_read_opts(a, cw_str_from(text), NULL);
}

static inline cw_str text_of(const cw_json *v)
{
    return v ? cw_json_text(v) : CW_STR("(nothing)");
}

static inline cw_str span_of(const cw_json *v)
{
    return v ? cw_json_span(v) : CW_STR("(nothing)");
}

#define assert_str(actual, expected_cstr)                                                          \
    do {                                                                                           \
        cw_str str_a_ = (actual);                                                                  \
        cw_str str_b_ = cw_str_from(expected_cstr);                                                \
        if (!cw_str_eq(str_a_, str_b_))                                                            \
            fail_msg("'%.*s' is not '%.*s'", CW_STR_ARG(str_a_), CW_STR_ARG(str_b_));              \
    } while (0)

#endif
