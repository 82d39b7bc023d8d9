/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets in other people's words. */
#include "base/redact.c" /* NOLINT(bugprone-suspicious-include) */
#include "support/oom.h"
#include "support/test.h"

typedef struct job {
    cw_arena arena;
    cw_secrets all;
} job;

static void open_job(job *j, const char *const *texts)
{
    *j = (job){.all = {.n = 0}};
    cw_arena_init(&j->arena, 1 << 20);
    for (; *texts; texts++)
        assert_int_equal(cw_secrets_add(&j->all, cw_str_from(*texts), &j->arena), CW_OK);
}

static void hides_as(job *j, const char *text, const char *expected)
{
    cw_str exposed = redact(&j->all, cw_str_from(text), &j->arena);
    char got[300];
    snprintf(got, sizeof got, "%.*s", CW_STR_ARG(exposed));
    assert_string_equal(got, expected);
    assert_int_equal(cw_secrets_are_in(&j->all, cw_str_from(text)), strcmp(text, expected) != 0);
}

TEST(every_secret_is_taken_out)
{
    job j;
    open_job(&j, (const char *const[]){"hunter2", "user:hunter2", "dXNl", NULL});
    hides_as(&j, "", "");
    hides_as(&j, "nothing of it: hunter", "nothing of it: hunter");
    hides_as(&j, "hunter2", "[secret]");
    hides_as(&j, "bad hunter2, dXNlhunter2hunter2.", "bad [secret], [secret][secret][secret].");
    /* The longer of two that begin at the same place, and the one that begins first. */
    hides_as(&j, "user:hunter2 user:hunter3", "[secret] user:hunter3");
    cw_arena_done(&j.arena);
}

TEST(what_is_clean_is_not_copied)
{
    job j;
    open_job(&j, (const char *const[]){"hunter2", NULL});
    cw_str text = CW_STR("fine");
    assert_ptr_equal(redact(&j.all, text, &j.arena).p, text.p);
    assert_ptr_equal(redact(NULL, text, &j.arena).p, text.p);
    assert_false(cw_secrets_are_in(NULL, text));
    cw_arena_done(&j.arena);
}

TEST(short_ones_and_doubles_are_left_out)
{
    job j;
    open_job(&j, (const char *const[]){"", "abc", "abcd", "abcd", "wxyz", "abcd", NULL});
    assert_int_equal(j.all.n, 2);
    hides_as(&j, "abc abcd wxyz", "abc [secret] [secret]");
    cw_arena_done(&j.arena);
}

TEST(there_is_a_ceiling)
{
    job j;
    char text[16];
    open_job(&j, (const char *const[]){NULL});
    for (unsigned i = 0; i < CW_SECRETS_MAX; i++) {
        snprintf(text, sizeof text, "secret%u", i);
        assert_int_equal(cw_secrets_add(&j.all, cw_str_from(text), &j.arena), CW_OK);
    }
    assert_int_equal(cw_secrets_add(&j.all, CW_STR("one more"), &j.arena), CW_LIMIT);
    assert_int_equal(cw_secrets_add(&j.all, CW_STR("secret7"), &j.arena), CW_OK);
    hides_as(&j, "secret255", "[secret]");
    cw_arena_done(&j.arena);
}

/* Where a text is cut the begin of a secret would be left. */
TEST(one_that_is_cut_is_found)
{
    job j;
    open_job(&j, (const char *const[]){"hunter2hunter2", NULL});
    cw_str text = CW_STR("the token hunter2hunter2 is bad");
    cw_str exposed = cw_secrets_hide_begin(&j.all, text, 14, &j.arena);
    assert_true(cw_str_is(exposed, "the token [sec"));
    assert_true(cw_str_is(cw_secrets_hide_begin(&j.all, text, 3, &j.arena), "the"));
    assert_true(cw_str_is(cw_secrets_hide_begin(NULL, text, 3, &j.arena), "the"));
    assert_true(cw_str_is(cw_secrets_hide_begin(&j.all, CW_STR("short"), 9, &j.arena), "short"));
    cw_arena_done(&j.arena);
}

/* A text becomes shorter by what is hidden in it: what was behind the cut is before it then. */
TEST(a_second_one_is_hidden_as_the_first)
{
    job j;
    char secret[301], text[700];
    memset(secret, 'x', 300);
    secret[300] = 0;
    open_job(&j, (const char *const[]){secret, NULL});
    snprintf(text, sizeof text, "token %s is not %s", secret, secret);
    assert_true(cw_str_is(cw_secrets_hide_begin(&j.all, cw_str_from(text), 200, &j.arena),
                          "token [secret] is not [secret]"));
    cw_arena_done(&j.arena);
}

TEST(the_begin_of_one_at_a_cut_is_left_out)
{
    job j;
    open_job(&j, (const char *const[]){"hunter2hunter2", "hunger", NULL});
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {{"the token hunter2hun", 10},
                {"the token hunter2hunter2", 10},
                {"hunge", 0},
                {"the token hun", 13},
                {"clean", 5},
                {"", 0}};
    for (size_t i = 0; i < CW_COUNT(rows); i++)
        assert_int_equal(cw_secrets_cut(&j.all, cw_str_from(rows[i].text)), rows[i].n);
    assert_int_equal(cw_secrets_cut(NULL, CW_STR("any")), 3);
    cw_arena_done(&j.arena);
}

TEST(names_say_what_they_hold)
{
    static const char *const yes[] = {
        "Authorization",         "X-API-Key", "cookie",     "db_password", "clientSecret", "token",
        "AWS_SECRET_ACCESS_KEY", "authToken", "API_TOKENS", "apikey"};
    static const char *const no[] = {"Accept",          "user",     "",         "X-Trace", "LANG",
                                     "GIT_AUTHOR_NAME", "KEYBOARD", "keyspace", "monkey"};
    for (size_t i = 0; i < CW_COUNT(yes); i++)
        assert_true(cw_secrets_is_name(cw_str_from(yes[i])));
    for (size_t i = 0; i < CW_COUNT(no); i++)
        assert_false(cw_secrets_is_name(cw_str_from(no[i])));
}

static void hide_once(void *ctx)
{
    (void)ctx;
    job j = {.all = {.n = 0}};
    cw_arena_init(&j.arena, 1 << 20);
    cw_code rc = cw_secrets_add(&j.all, CW_STR("hunter2"), &j.arena);
    assert_true(rc == CW_OK || (oom_was_hit() && rc == CW_NOMEM && j.all.n == 0));
    if (!rc) {
        cw_str exposed = redact(&j.all, CW_STR("hunter2"), &j.arena);
        assert_true(cw_str_is(exposed, "[secret]") || (oom_was_hit() && !exposed.p));
    }
    cw_arena_done(&j.arena);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(hide_once, NULL) >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_secret_is_taken_out),
        cmocka_unit_test(what_is_clean_is_not_copied),
        cmocka_unit_test(short_ones_and_doubles_are_left_out),
        cmocka_unit_test(there_is_a_ceiling),
        cmocka_unit_test(one_that_is_cut_is_found),
        cmocka_unit_test(a_second_one_is_hidden_as_the_first),
        cmocka_unit_test(the_begin_of_one_at_a_cut_is_left_out),
        cmocka_unit_test(names_say_what_they_hold),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
