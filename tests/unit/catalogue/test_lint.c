/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/lint.h"
#include "support/assert_str.h"
#include "support/oom.h"
#include "support/patience.h"
#include "support/test.h"

#define OLD "{\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define MIXED                                                                                      \
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"prefixItems\":[true]}"

static const cw_mark mark;
static const cw_str scopes[] = {CW_STR_INIT("known"), CW_STR_INIT("nobodys"), CW_STR_INIT("else")};
static const cw_param params[] = {
    {.name = CW_STR_INIT("p"), .schema = CW_STR_INIT(OLD "\"items\":[true],\"dependencies\":{}}")},
    {.name = CW_STR_INIT("q"), .schema = CW_STR_INIT(MIXED)},
    {.name = CW_STR_INIT("h"),
     .schema = CW_STR_INIT("{\"type\":\"array\",\"x-mcp-header\":\"H\"}")},
};
static const cw_method methods[] = {
    {.id = CW_STR_INIT("a"),
     .needs = {.scopes = scopes, .n_scopes = 3},
     .params = params,
     .n_params = 3,
     .output = CW_STR_INIT(OLD "\"anyOf\":[{\"dependencies\":{}},{\"dependencies\":{}}]}"),
     .mark = &mark},
    {.id = CW_STR_INIT("b"), .needs = {.scopes = scopes, .n_scopes = 2}},
};

typedef struct hearing {
    cw_buf text;
    unsigned n, enough;
} hearing;

static bool on_note(const cw_lint_finding *note, void *ctx)
{
    hearing *h = ctx;
    cw_lint_write(note, &h->text);
    cw_buf_add_char(&h->text, '\n');
    return ++h->n != h->enough;
}

static cw_code review(hearing *h, unsigned enough)
{
    const cw_lint_opts opts = {.scopes = scopes, .n_scopes = 1};
    *h = (hearing){.enough = enough};
    cw_buf_init(&h->text, 1 << 16);
    cw_code rc = cw_lint(methods, CW_COUNT(methods), &opts, on_note, h);
    cw_buf_add_char(&h->text, '\0');
    return rc;
}

TEST(everything_odd_is_told)
{
    static const char *const expected[] = {
        "method 'a': scope 'nobodys' is not a known scope\n",
        "method 'a': scope 'else' is not a known scope\n",
        "method 'a': result: /anyOf/0/dependencies: ignored in 2020-12",
        "method 'a': result: /anyOf/1/dependencies: ignored in 2020-12",
        "method 'a': param 'p': /items: an array is not allowed in 2020-12",
        "method 'a': param 'p': /dependencies: ignored in 2020-12",
        "method 'a': param 'q': 2020-12 here, but",
        "method 'a': params: ",
        "method 'b': scope 'nobodys' is not a known scope\n",
    };
    hearing h;
    assert_int_equal(review(&h, 0), CW_OK);
    const char *at = h.text.p;
    for (size_t i = 0; i < CW_COUNT(expected); i++) {
        const char *found = strstr(at, expected[i]);
        if (!found)
            fail_msg("'%s' is not in '%s'", expected[i], at);
        at = found + 1;
    }
    assert_int_equal(h.n, CW_COUNT(expected));
    cw_buf_done(&h.text);
}

/* Wherever it is that somebody has heard enough. */
TEST(whoever_has_heard_enough_is_told_no_more)
{
    for (unsigned enough = 1; enough <= 9; enough++) {
        hearing h;
        assert_int_equal(review(&h, enough), CW_OK);
        assert_int_equal(h.n, enough);
        cw_buf_done(&h.text);
    }
}

static void review_once(void *ctx)
{
    hearing h;
    (void)ctx;
    cw_code rc = review(&h, 0);
    assert_true(rc == CW_OK || (rc == CW_NOMEM && oom_was_hit()));
    cw_buf_done(&h.text);
}

TEST(a_failed_allocation_is_reported)
{
    review_once(NULL); /* meta-schemas are compiled once */
    assert_true(oom_each(review_once, NULL) >= 10);
}

static bool keep_text(const cw_lint_finding *finding, void *ctx)
{
    cw_lint_write(finding, ctx);
    return true;
}

/* Definitions that hold the next one twice, so that in place they are too large. */
TEST(schemas_that_cannot_be_made_portable_are_told)
{
    cw_buf schema, text;
    cw_buf_init(&schema, 1 << 16);
    cw_buf_init(&text, 1 << 16);
    cw_buf_add(&schema, CW_STR("{\"$ref\":\"#/$defs/d0\",\"$defs\":{"));
    for (unsigned i = 0; i < 20; i++)
        cw_buf_printf(&schema,
                      "\"d%u\":{\"items\":{\"$ref\":\"#/$defs/d%u\"},\"contains\":{\"$ref\":"
                      "\"#/$defs/d%u\"}},",
                      i, i + 1, i + 1);
    cw_buf_add(&schema, CW_STR("\"d20\":{}}}"));
    const cw_param param = {.name = CW_STR("p"), .schema = cw_buf_str(&schema)};
    const cw_method method = {.id = CW_STR("m"), .params = &param, .n_params = 1, .mark = &mark};
    cw_lint_opts opts = {.portable = true};
    assert_int_equal(cw_lint(&method, 1, &opts, keep_text, &text), CW_OK);
    assert_str(cw_buf_str(&text),
               "method 'm': params: the schema is too large without references: some models do not "
               "get the parts that they lead to");
    cw_buf_clear(&text);
    opts.portable = false;
    assert_int_equal(cw_lint(&method, 1, &opts, keep_text, &text), CW_OK);
    assert_int_equal(text.n, 0);
    cw_buf_done(&schema);
    cw_buf_done(&text);
}

/* A permission that some role has needs no suggestion. The search for one would take seconds here. */
TEST(known_permissions_cost_little)
{
    enum { N = 2000 };
    static char names[N][24];
    static cw_str list[N];
    static cw_method many[N];
    cw_buf text;
    cw_buf_init(&text, 1 << 16);
    for (unsigned i = 0; i < N; i++) {
        int n = snprintf(names[i], sizeof names[i], "permission number %u", i);
        list[i] = cw_str_make(names[i], (size_t)n);
        many[i] =
            (cw_method){.id = CW_STR("m"), .needs = {.permissions = &list[i], .n_permissions = 1}};
    }
    const cw_lint_opts opts = {.permissions = list, .n_permissions = N};
    uint64_t began = cpu_time_ms();
    assert_int_equal(cw_lint(many, N, &opts, keep_text, &text), CW_OK);
    assert_in_range(cpu_time_ms() - began, 0, 300 * SANITIZER_SLOWNESS);
    assert_int_equal(text.n, 0);
    cw_buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_odd_is_told),
        cmocka_unit_test(whoever_has_heard_enough_is_told_no_more),
        cmocka_unit_test(a_failed_allocation_is_reported),
        cmocka_unit_test(schemas_that_cannot_be_made_portable_are_told),
        cmocka_unit_test(known_permissions_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
