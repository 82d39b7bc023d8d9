/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "catalogue/search/search_index.h"

#include "catalogue/search/thesaurus.h"
#include "catalogue/tool/short_text.h"
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

static const cw_method others[] = {
    {.id = CW_STR_INIT("peakLoad.archive"), .usage = CW_STR_INIT("Keeps it."), .mark = &plain},
    {.id = CW_STR_INIT("peakLoad.assign"), .usage = CW_STR_INIT("Gives it."), .mark = &plain},
    {.id = CW_STR_INIT("peakLoad.create"), .usage = CW_STR_INIT("Makes it."), .mark = &plain},
    {.id = CW_STR_INIT("peakLoad.get"), .usage = CW_STR_INIT("Returns it."), .mark = &plain},
    {.id = CW_STR_INIT("gift.card"), .usage = CW_STR_INIT("Removes a thing."), .mark = &plain},
    {.id = CW_STR_INIT("gift.ribbon"), .usage = CW_STR_INIT("Ties a thing."), .mark = &plain},
    {.id = CW_STR_INIT("outage"), .usage = CW_STR_INIT("Measures darkness."), .mark = &plain},
    {.id = CW_STR_INIT("quit"), .usage = CW_STR_INIT("Ends it."), .mark = &plain},
    {.id = CW_STR_INIT("URLs"), .usage = CW_STR_INIT("Reads them."), .mark = &plain},
};

static const cw_toolset_rule rule = {.name = CW_STR_INIT("all"),
                                     .title = CW_STR_INIT(""),
                                     .instructions = CW_STR_INIT(""),
                                     .is_search = true};

static cw_code build(const cw_method *some, size_t n, cw_snapshot **ret)
{
    const cw_offer offer = {CW_STR("test"), some, n, NULL};
    const cw_snapshot_opts opts = {.toolsets = &rule, .n_toolsets = 1};
    return cw_snapshot_build(&offer, 1, &ops, &opts, ret, NULL);
}

/* Search some methods. The best one is `first`, unless that is NULL. The number of all that
 * match is returned. */
static size_t search(const cw_method *some, size_t n_some, const char *query, const char *first)
{
    cw_snapshot *s = NULL;
    cw_caller *caller = NULL;
    cw_view *v = NULL;
    const cw_entry *found[2];
    size_t n, all;
    assert_int_equal(build(some, n_some, &s), CW_OK);
    assert_int_equal(cw_caller_new_anonymous(NULL, 0, &caller, NULL), CW_OK);
    assert_int_equal(cw_view_new(s, caller, &v, NULL), CW_OK);
    assert_int_equal(cw_search_index_find(v, cw_str_from(query), false, found, 2, &n, &all), CW_OK);
    assert_int_equal(n, all < 2 ? all : 2);
    if (first) {
        assert_true(n);
        assert_true(cw_str_is(found[0]->tool_name, first));
    }
    cw_view_unref(v);
    cw_caller_unref(caller);
    cw_snapshot_unref(s);
    return all;
}

static void check(const char *query, const char *first, size_t total)
{
    assert_int_equal(search(methods, CW_COUNT(methods), query, first), total);
}

static void check_others(const char *query, const char *first)
{
    (void)search(others, CW_COUNT(others), query, first);
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

TEST(many_unknown_words_are_not_compared_with_all_terms)
{
    check("qqaaaa qqbbbb qqcccc qqdddd qqeeee qqffff qqgggg invoyce", NULL, 2);
    check("qqaaaa qqbbbb qqcccc qqdddd qqeeee qqffff qqgggg qqhhhh invoyce", NULL, 0);
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

TEST(phrases_of_a_query_choose_the_verb)
{
    check_others("put the peak load aside", "peakLoad.archive");
    check_others("what is the peak load", "peakLoad.get");
    check_others("peak load, no longer of use", "peakLoad.archive");
    /* "aside" and "put" in another order are not the phrase. */
    check_others("put it there: the peak load", "peakLoad.get");
}

TEST(names_of_persons_are_part_of_phrases)
{
    check_others("Zora should do the peak load", "peakLoad.assign");
    check_others("the peak load: send Zora", "peakLoad.assign");
    check_others("the peak load: put her there", "peakLoad.assign");
}

TEST(a_question_prefers_verbs_that_change_nothing)
{
    check_others("write a new peak load", "peakLoad.create");
    check_others("what do you write into a new peak load", "peakLoad.get");
}

TEST(the_verb_of_a_name_without_one_is_in_its_text)
{
    check_others("get rid of the gift", "gift.card");
    check_others("tie the gift", "gift.ribbon");
}

TEST(a_name_that_is_a_verb_is_found_by_its_phrases)
{
    check_others("turn off the zebra", "quit");
    check_others("switch it off", "quit");
}

TEST(two_words_can_mean_something_together)
{
    check_others("power cut", "outage");
    check_others("the power is cut", "outage");
}

TEST(a_plural_in_capitals_is_one_word)
{
    check_others("url", "URLs");
    check_others("short URLs", "URLs");
}

TEST(hidden_tools_are_not_found)
{
    check("audit", NULL, 0);
    check("invoice.audit", NULL, 2);
}

#define HIDDEN(name, text)                                                                         \
    {                                                                                              \
        .id = CW_STR_INIT(name), .usage = CW_STR_INIT(text), .mark = &plain, .needs = {            \
            .permissions = &secret,                                                                \
            .n_permissions = 1                                                                     \
        }                                                                                          \
    }
#define N_SEEN 5u

/* Those behind the first few are hidden. */
static const cw_method mixed[] = {
    {.id = CW_STR_INIT("invoice.pay"), .usage = CW_STR_INIT("Pays it."), .mark = &plain},
    {.id = CW_STR_INIT("letter.list"), .usage = CW_STR_INIT("Lists letters."), .mark = &plain},
    {.id = CW_STR_INIT("room.book"),
     .usage = CW_STR_INIT("Takes a room for a time, if it is free, and sends a letter."),
     .mark = &plain},
    {.id = CW_STR_INIT("timesheet.close"), .usage = CW_STR_INIT("Ends it."), .mark = &plain},
    {.id = CW_STR_INIT("timesheet.get"), .usage = CW_STR_INIT("Returns it."), .mark = &plain},
    HIDDEN("sheet.burn", "Burns a sheet."),
    HIDDEN("letters.list_all", "Lists all letters, those of other people as well, without an end."),
    HIDDEN("letters.list_old", "Lists old letters."),
    HIDDEN("payroll.list", "Lists payrolls."),
    HIDDEN("peakLoad.archive", "Keeps a peak load in the archive."),
    HIDDEN("salary.raise", "Raises the salary of Anna."),
    HIDDEN("invoice.forgive", "Forgives an invoice."),
};

/* The names of the tools that are found, and the number of all that match. */
static void list_found(const cw_method *some, size_t n_some, const char *query, cw_buf *out)
{
    cw_snapshot *s = NULL;
    cw_caller *caller = NULL;
    cw_view *v = NULL;
    const cw_entry *found[8];
    size_t n, all;
    assert_int_equal(build(some, n_some, &s), CW_OK);
    assert_int_equal(cw_caller_new_anonymous(NULL, 0, &caller, NULL), CW_OK);
    assert_int_equal(cw_view_new(s, caller, &v, NULL), CW_OK);
    assert_int_equal(cw_search_index_find(v, cw_str_from(query), false, found, 8, &n, &all), CW_OK);
    for (size_t i = 0; i < n; i++)
        cw_buf_printf(out, "%.*s ", CW_STR_ARG(found[i]->tool_name));
    cw_buf_printf(out, "%zu", all);
    cw_view_unref(v);
    cw_caller_unref(caller);
    cw_snapshot_unref(s);
}

/* Neither their words nor their number. */
TEST(threat_C2_hidden_tools_change_no_results)
{
    static const char *const queries[] = {
        "sheet",
        "list close",
        "close list",
        "the letter list",
        "paroll",
        "pay",
        "put the letter away",
        "Anna should close the timesheet",
        "list a room",
        "invoice letter",
        "archive the sheet",
        "what is the letter",
        "rooms",
        "letters",
        "Salary of timesheet",
        "forgive the pay",
        "time sheet",
        "book letter",
        "letter book",
        "keep the timesheet",
    };
    for (size_t i = 0; i < CW_COUNT(queries); i++) {
        CW_CLEANUP(cw_buf_done) cw_buf bare, full;
        cw_buf_init(&bare, 4096);
        cw_buf_init(&full, 4096);
        list_found(mixed, N_SEEN, queries[i], &bare);
        list_found(mixed, CW_COUNT(mixed), queries[i], &full);
        if (!cw_str_eq(cw_buf_str(&bare), cw_buf_str(&full)))
            fail_msg("%s: %.*s, not %.*s", queries[i], CW_STR_ARG(cw_buf_str(&full)),
                     CW_STR_ARG(cw_buf_str(&bare)));
    }
}

TEST(a_failed_allocation_fails_the_build)
{
    size_t live = oom_live();
    for (size_t n = 1;; n++) {
        cw_snapshot *s = NULL;
        oom_fail_at(n);
        cw_code rc = build(methods, CW_COUNT(methods), &s);
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

/* Two lines without a comma between them are one line with two colons. */
TEST(every_line_of_the_thesaurus_has_one_colon)
{
    const char *const *tables[] = {cw_thesaurus_topics, cw_thesaurus_intents};
    for (size_t t = 0; t < CW_COUNT(tables); t++) {
        for (const char *const *line = tables[t]; *line; line++) {
            const char *colon = strchr(*line, ':');
            if (!colon || strchr(colon + 1, ':'))
                fail_msg("%s", *line);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_parts_of_names_and_forms_find_tools),
        cmocka_unit_test(words_of_nearly_the_same_meaning_or_letters_find_tools),
        cmocka_unit_test(many_unknown_words_are_not_compared_with_all_terms),
        cmocka_unit_test(words_that_say_little_lead_nowhere),
        cmocka_unit_test(things_in_the_plural_are_listed),
        cmocka_unit_test(phrases_of_a_query_choose_the_verb),
        cmocka_unit_test(every_line_of_the_thesaurus_has_one_colon),
        cmocka_unit_test(names_of_persons_are_part_of_phrases),
        cmocka_unit_test(a_question_prefers_verbs_that_change_nothing),
        cmocka_unit_test(the_verb_of_a_name_without_one_is_in_its_text),
        cmocka_unit_test(a_name_that_is_a_verb_is_found_by_its_phrases),
        cmocka_unit_test(two_words_can_mean_something_together),
        cmocka_unit_test(a_plural_in_capitals_is_one_word),
        cmocka_unit_test(hidden_tools_are_not_found),
        cmocka_unit_test(threat_C2_hidden_tools_change_no_results),
        cmocka_unit_test(a_failed_allocation_fails_the_build),
        cmocka_unit_test(a_short_text_is_the_first_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
