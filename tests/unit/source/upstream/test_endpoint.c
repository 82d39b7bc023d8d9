/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a service must not say again, and what a program is told of us: found when it is made. */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/upstream/endpoint.h"

static const cw_str address = CW_STR_INIT("http://127.0.0.1:1/rpc");

static cw_endpoint *make(const cw_config_remote *config)
{
    cw_endpoint *s = NULL;
    cw_err err = {0};
    if (cw_endpoint_new(config, NULL, &s, &err))
        fail_msg("%s", err.msg);
    assert_ptr_equal(s->protocol.secrets, &s->secrets);
    assert_ptr_equal(s->channel.secrets, &s->secrets);
    return s;
}

static void redacts(const cw_endpoint *s, const char *text, const char *expected)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, 10000);
    cw_secrets_write(&s->secrets, cw_str_from(text), &out);
    assert_str(cw_buf_str(&out), expected);
}

/* However it goes there. */
TEST(a_secret_is_known_in_every_spelling)
{
    static const char *const ways[] = {"bearer", "basic", "header", "first_param", "param"};
    assert_int_equal(setenv("CHECK_SECRET", "robot:a \"b\"/c+d", 1), 0);
    for (size_t i = 0; i < CW_COUNT(ways); i++) {
        bool is_first = strcmp(ways[i], "first_param") == 0;
        const cw_config_remote config = {
            .url = address,
            .params = is_first ? CW_STR("positional") : CW_STR(""),
            .secret = {.environment = CW_STR("CHECK_SECRET"),
                       .as = cw_str_from(ways[i]),
                       .name = CW_STR("x"),
                       .prefix = CW_STR("")},
        };
        cw_endpoint *s = make(&config);
        redacts(s, "no: robot:a \"b\"/c+d!", "no: [secret]!");
        redacts(s, "[\"robot:a \\\"b\\\"/c+d\"]", "[\"[secret]\"]");
        redacts(s, "?x=robot%3Aa%20%22b%22%2Fc%2Bd", "?x=[secret]");
        bool is_basic = strcmp(ways[i], "basic") == 0;
        redacts(s, "Basic cm9ib3Q6YSAiYiIvYytk",
                is_basic ? "Basic [secret]" : "Basic cm9ib3Q6YSAiYiIvYytk");
        redacts(s, "for robot: a \"b\"/c+d",
                is_basic ? "for robot: [secret]" : "for robot: a \"b\"/c+d");
        cw_endpoint_unref(s);
    }
}

static cw_config_remote full(void)
{
    static cw_config_pair headers[] = {
        {CW_STR_INIT("X-Api-Key"), CW_STR_INIT("key-12345")},
        {CW_STR_INIT("Authorization"), CW_STR_INIT("Bearer bearer-12345")},
        {CW_STR_INIT("X-Trace"), CW_STR_INIT("plain-12345")},
    };
    static cw_config_init_call init_calls[] = {
        {.method = CW_STR_INIT("login"),
         .params = CW_STR_INIT("{\"user\":\"plain-name\",\"password\":\"word-12345\","
                               "\"more\":[{\"token\":\"deep-12345\",\"key\":5}]}")},
        {.method = CW_STR_INIT("hello")},
    };
    assert_int_equal(setenv("CHECK_SECRET", "client-12345", 1), 0);
    return (cw_config_remote){
        .url = address,
        .headers = {.items = headers, .n = CW_COUNT(headers)},
        .init_calls = {.items = init_calls, .n = CW_COUNT(init_calls)},
        .oauth = {.token_url = CW_STR("https://127.0.0.1:1/token"),
                  .client_id = CW_STR("me"),
                  .client_secret_environment = CW_STR("CHECK_SECRET")},
    };
}

TEST(the_configuration_has_some_too)
{
    const cw_config_remote config = full();
    cw_endpoint *s = make(&config);
    redacts(s, "key-12345 bearer-12345 plain-12345", "[secret] [secret] plain-12345");
    redacts(s, "plain-name word-12345 deep-12345", "plain-name [secret] [secret]");
    redacts(s, "me client-12345 bWU6Y2xpZW50LTEyMzQ1", "me [secret] [secret]");
    cw_endpoint_unref(s);
}

TEST(one_without_secrets_hides_nothing)
{
    const cw_config_remote config = {.url = address};
    cw_endpoint *s = make(&config);
    assert_int_equal(s->secrets.n, 0);
    cw_endpoint_unref(s);
}

TEST(a_program_gets_the_usual_environment_and_what_is_configured)
{
    static const char *const expected[] = {"PATH=/bin", "HOME=/home", "TMPDIR=/tmp", "OWN=1"};
    static const cw_str command[] = {CW_STR_INIT("cat")};
    static const cw_config_pair own[] = {{CW_STR_INIT("OWN"), CW_STR_INIT("1")}};
    const cw_config_remote config = {.command = {command, 1}, .environment = {own, 1}};
    assert_int_equal(setenv("PATH", "/bin", 1), 0);
    assert_int_equal(setenv("HOME", "/home", 1), 0);
    assert_int_equal(setenv("TMPDIR", "/tmp", 1), 0);
    assert_int_equal(unsetenv("LANG"), 0);
    assert_int_equal(setenv("CHECK_SECRET", "client-12345", 1), 0);
    cw_endpoint *s = make(&config);
    for (size_t i = 0; i < CW_COUNT(expected); i++)
        assert_string_equal(s->channel.environment[i], expected[i]);
    assert_null(s->channel.environment[CW_COUNT(expected)]);
    cw_endpoint_unref(s);
}

static void make_once(void *ctx)
{
    cw_endpoint *s = NULL;
    cw_code rc = cw_endpoint_new(ctx, NULL, &s, NULL);
    assert_int_equal(rc, oom_was_hit() ? CW_NOMEM : CW_OK);
    cw_endpoint_unref(s);
}

TEST(every_failed_allocation_is_survived)
{
    cw_config_remote config = full();
    assert_true(oom_each(make_once, &config) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_secret_is_known_in_every_spelling),
        cmocka_unit_test(the_configuration_has_some_too),
        cmocka_unit_test(one_without_secrets_hides_nothing),
        cmocka_unit_test(a_program_gets_the_usual_environment_and_what_is_configured),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
