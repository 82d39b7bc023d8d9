/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc_check.h - what tests of the OpenRPC reader share: documents, read and compared. */
#ifndef CW_TESTS_OPENRPC_CHECK_H
#define CW_TESTS_OPENRPC_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/buf.h"
#include "oom.h"
#include "source/openrpc.h"

/* A document that was read; `rc` and `err` when it could not be. */
typedef struct reading {
    cw_arena arena;
    cw_method *methods;
    size_t n;
    cw_code rc;
    cw_err err;
} reading;

static const cw_openrpc_opts plugin = {.trust_marks = true, .callable = true};
static const cw_openrpc_opts remote = {0};

static inline reading read_with(const cw_openrpc_opts *opts, const char *text)
{
    reading r = {0};
    const cw_json *doc = NULL;
    cw_err err = {0};
    cw_arena_init(&r.arena, (size_t)256 << 20);
    cw_str copy = cw_arena_dup_str(&r.arena, cw_str_from(text));
    if (cw_json_read(copy, NULL, &r.arena, &doc, NULL, &err))
        fail_msg("%s: %s", text, err.msg);
    r.rc = cw_openrpc_read(doc, opts, &r.arena, &r.methods, &r.n, &r.err);
    return r;
}

static inline void done(reading *r)
{
    cw_arena_done(&r->arena);
}

static inline void assert_text(cw_str text, const char *expected)
{
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.n ? text.p : "", text.n);
    copy[text.n] = '\0';
    assert_string_equal(copy, expected);
    free(copy);
}

static inline char *repeat(const char *front, const char *item, size_t n, const char *back)
{
    cw_buf b;
    cw_buf_init(&b, (size_t)64 << 20);
    cw_buf_add(&b, cw_str_from(front));
    for (size_t i = 0; i < n; i++) {
        const char *gap = strstr(item, "%");
        cw_buf_printf(&b, "%s%.*s%zu%s", i ? "," : "", (int)(gap - item), item, i, gap + 1);
    }
    cw_buf_add(&b, cw_str_from(back));
    return cw_buf_take(&b, NULL);
}

#define COMPONENTS                                                                                 \
    "\"components\":{\"contentDescriptors\":{\"Id\":{\"name\":\"id\",\"schema\":{\"$ref\":\"#/"    \
    "components/schemas/Id\"}},\"Again\":{\"$ref\":\"#/components/contentDescriptors/Id\"}},"      \
    "\"schemas\":{\"Id\":{\"type\":\"integer\",\"default\":7},\"Tree\":{\"type\":\"object\","      \
    "\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/components/schemas/Tree\"}},\"id\":{"       \
    "\"$ref\":\"#/components/schemas/Id\"}}},\"Loop\":{\"$ref\":\"#/components/schemas/Loop\"},"   \
    "\"Own\":{\"$defs\":{\"x\":{\"type\":\"null\"}},\"anyOf\":[{\"$ref\":\"#/$defs/x\"},{"         \
    "\"$ref\":\"#\"}]}},\"other\":{\"Id\":{\"type\":\"string\"},\"a/b\":false}},"

#endif
