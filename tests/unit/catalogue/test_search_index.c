/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/search_index.h"

#include "catalogue/short_text.h"
#include "support/json_fixture.h"
#include "support/oom.h"

static void nothing(cw_source *source)
{
    (void)source;
}

static const cw_offer_ops ops = {nothing, nothing};
static const cw_mark plain = {.title = CW_STR_INIT("")};
static const cw_str secret = CW_STR_INIT("secret");
static const cw_method methods[] = {
    {.id = CW_STR_INIT("getUserInfo"),
     .usage = CW_STR_INIT("Tells who somebody is."),
     .mark = &plain},
    {.id = CW_STR_INIT("invoice.delete"),
     .usage = CW_STR_INIT("Deletes an invoice."),
     .mark = &plain},
    {.id = CW_STR_INIT("invoice.list"), .usage = CW_STR_INIT("Lists invoices."), .mark = &plain},
    {.id = CW_STR_INIT("invoice.audit"),
     .usage = CW_STR_INIT("Audits invoices."),
     .mark = &plain,
     .needs = {.permissions = &secret, .n_permissions = 1}},
    {.id = CW_STR_INIT("query_HTTPServer"), .usage = CW_STR_INIT("Runs queries."), .mark = &plain},
};

static const cw_toolset_rule rule = {.name = CW_STR_INIT("all"),
                                     .title = CW_STR_INIT(""),
                                     .instructions = CW_STR_INIT(""),
                                     .is_search = true};

static cw_code build(cw_snapshot **ret)
{
    const cw_offer offer = {CW_STR("test"), methods, CW_COUNT(methods), NULL};
    const cw_snapshot_opts opts = {.toolsets = &rule, .n_toolsets = 1};
    return cw_snapshot_build(&offer, 1, &ops, &opts, ret, NULL);
}

static void check(const char *query, const char *first, size_t total)
{
    cw_snapshot *s = NULL;
    cw_caller *caller = NULL;
    cw_view *v = NULL;
    const cw_entry *found[2];
    size_t n, all;
    assert_int_equal(build(&s), CW_OK);
    assert_int_equal(cw_caller_new_anonymous(NULL, 0, &caller, NULL), CW_OK);
    assert_int_equal(cw_view_new(s, caller, &v, NULL), CW_OK);
    assert_int_equal(cw_search_index_find(v, cw_str_from(query), false, found, 2, &n, &all), CW_OK);
    assert_int_equal(all, total);
    assert_int_equal(n, total < 2 ? total : 2);
    if (first)
        assert_true(cw_str_is(found[0]->tool_name, first));
    cw_view_unref(v);
    cw_caller_unref(caller);
    cw_snapshot_unref(s);
}

TEST(words_parts_of_names_and_forms_find_tools)
{
    check("user info", "getUserInfo", 1);
    check("removing an invoice", "invoice.delete", 2);
    check("listed INVOICES", "invoice.list", 2);
    check("http", "query_HTTPServer", 1);
    check("invoice.l", "invoice.list", 2);
    check("getUserInfo", "getUserInfo", 1);
    check("zebra", NULL, 0);
    check("", NULL, 0);
}

TEST(words_of_nearly_the_same_meaning_or_letters_find_tools)
{
    check("which bills are there", "invoice.list", 2);
    check("throw the bill away", "invoice.delete", 2);
    check("delete the invoyce", "invoice.delete", 2);
    check("throw the zebra away", NULL, 0);
    check("the customer's bill, please", "invoice.list", 2);
    check("in voice list", "invoice.list", 2); /* tools write it as one word */
}

TEST(words_that_say_little_lead_nowhere)
{
    /* "open" and "get" have the same meaning as many verbs, and no tool has them. */
    check("get it back and put it there again", "getUserInfo", 1);
    check("open", NULL, 0);
}

TEST(things_in_the_plural_are_listed)
{
    check("invoices", "invoice.list", 2);
    check("my bills", "invoice.list", 2);
}

TEST(hidden_tools_are_not_found)
{
    check("audit", NULL, 0);
    check("invoice.audit", NULL, 2);
}

TEST(a_failed_allocation_fails_the_build)
{
    size_t live = oom_live();
    for (size_t n = 1;; n++) {
        cw_snapshot *s = NULL;
        oom_fail_at(n);
        cw_code rc = build(&s);
        oom_reset();
        cw_snapshot_unref(s);
        assert_int_equal(oom_live(), live);
        if (rc == CW_OK)
            break;
        assert_int_equal(rc, CW_NOMEM);
    }
}

static void check_short(const char *text, const char *expected)
{
    cw_buf b;
    cw_buf_init(&b, 4096);
    cw_short_text_add(&b, cw_str_from(text));
    assert_int_equal(b.code, CW_OK);
    assert_true(cw_str_is(cw_buf_str(&b), expected));
    cw_buf_done(&b);
}

TEST(a_short_text_is_the_first_sentence)
{
    check_short("", "");
    check_short("  One.  Two.", "One.");
    check_short("One, e.g. two\n of them. Three", "One, e.g. two of them.");
    check_short("No end\n\nbut a new part", "No end");
    check_short("Really? Yes", "Really?");
    check_short("Version 1.2 is it ", "Version 1.2 is it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_parts_of_names_and_forms_find_tools),
        cmocka_unit_test(words_of_nearly_the_same_meaning_or_letters_find_tools),
        cmocka_unit_test(words_that_say_little_lead_nowhere),
        cmocka_unit_test(things_in_the_plural_are_listed),
        cmocka_unit_test(hidden_tools_are_not_found),
        cmocka_unit_test(a_failed_allocation_fails_the_build),
        cmocka_unit_test(a_short_text_is_the_first_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
