/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/json_fixture.h"
#include "support/oom.h"
#include "support/temp_dir.h"

#include "source/upstream/preset.h"

static const cw_str address = CW_STR_INIT("http://127.0.0.1:1/rpc");
static const cw_str stream = CW_STR_INIT("tcp://127.0.0.1:1");

TEST(every_name_of_the_list_is_a_preset_that_can_be_applied)
{
    unsigned n = 0;
    for (cw_str rest = cw_str_from(cw_preset_names()); rest.p; n++) {
        cw_str name = cw_str_trim(cw_str_cut(rest, ',', &rest));
        const cw_str urls[] = {address, stream};
        assert_non_null(cw_preset_find(name));
        for (size_t i = 0; i < CW_COUNT(urls); i++) {
            cw_config_remote c = {.preset = name, .url = urls[i]};
            cw_preset_values words;
            cw_err err = {0};
            cw_code rc = cw_preset_apply(&c, &words, &err);
            /* Exchanges are the only thing that some need and streams do not have. */
            if (rc && !(i == 1 && strstr(err.msg, "match_replies")))
                fail_msg("%.*s: %s", CW_STR_ARG(name), err.msg);
            assert_non_null(words.protocol.dialect);
        }
    }
    assert_int_equal(n, 13);
    assert_null(cw_preset_find(CW_STR("")));
}

TEST(what_is_usual_needs_no_words)
{
    cw_config_remote c = {.url = address};
    cw_preset_values words;
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_ptr_equal(words.protocol.dialect, cw_dialect_find(CW_STR("2.0")));
    assert_int_equal(words.protocol.params, CW_PARAMS_NAMED);
    assert_false(words.protocol.string_ids || words.protocol.sends_empty ||
                 words.protocol.by_exchange);
    assert_int_equal(words.framing, CW_FRAMING_LINES);
    assert_null(words.describer);
    assert_false(words.gets || words.gets_reads);
    assert_str(c.secret.as, "bearer");
    assert_str(c.replies, "");
}

TEST(a_preset_fills_what_the_operator_leaves_open)
{
    cw_config_remote c = {
        .preset = CW_STR("ovsdb"), .url = CW_STR("unix:/run/db.sock"), .params = CW_STR("named")};
    cw_preset_values words;
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_ptr_equal(words.protocol.dialect, cw_dialect_find(CW_STR("1.0")));
    assert_int_equal(words.protocol.params, CW_PARAMS_NAMED); /* the operator's word */
    assert_int_equal(words.framing, CW_FRAMING_JSON);
    assert_string_equal(words.describer->name, "ovsdb");
    assert_str(c.replies, "{\"echo\":\"$params\"}");
    c = (cw_config_remote){.preset = CW_STR("qmp"), .url = CW_STR("unix:/run/qmp.sock")};
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_int_equal(c.init_calls.n, 1);
    assert_str(c.greeting, "yes");
    c = (cw_config_remote){.preset = CW_STR("transmission"), .url = address};
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_int_equal(c.handshake_status, 409);
    assert_str(c.handshake_header, "X-Transmission-Session-Id");
    /* Applying it again changes nothing. */
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
}

TEST(every_word_has_its_meaning)
{
    cw_config_remote c = {.url = address,
                          .params = CW_STR("mixed"),
                          .ids = CW_STR("string"),
                          .empty_params = CW_STR("send"),
                          .match_replies = CW_STR("http_exchange"),
                          .http_method = CW_STR("AUTO")};
    cw_preset_values words;
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_int_equal(words.protocol.params, CW_PARAMS_MIXED);
    assert_true(words.protocol.string_ids && words.protocol.sends_empty &&
                words.protocol.by_exchange);
    assert_true(words.gets_reads && !words.gets);
    c.http_method = CW_STR("GET");
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_true(words.gets && !words.gets_reads);
    assert_int_equal(words.trace, CW_TRACE_PLACE_AUTO);
    c.http_method = CW_STR("POST");
    c.trace = CW_STR("meta");
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
    assert_int_equal(words.trace, CW_TRACE_PLACE_META);
    static const struct {
        cw_str word;
        cw_framing framing;
    } framings[] = {
        {CW_STR_INIT("lines"), CW_FRAMING_LINES},
        {CW_STR_INIT("crlf"), CW_FRAMING_CRLF},
        {CW_STR_INIT("content-length"), CW_FRAMING_CONTENT_LENGTH},
        {CW_STR_INIT("length"), CW_FRAMING_LENGTH},
        {CW_STR_INIT("json"), CW_FRAMING_JSON},
    };
    for (size_t i = 0; i < CW_COUNT(framings); i++) {
        c = (cw_config_remote){.url = stream, .framing = framings[i].word};
        assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
        assert_int_equal(words.framing, framings[i].framing);
    }
}

static const cw_str program[] = {CW_STR_INIT("clangd")};
static const cw_config_pair header[] = {{CW_STR_INIT("X"), CW_STR_INIT("y")}};

TEST(what_is_wrong_is_named)
{
    static const cw_str names[] = {CW_STR_INIT("m")};
    static const cw_config_job no_methods = {0};
    static const cw_config_job no_poll = {.methods = {names, 1}};
    static const cw_config_job no_status = {.methods = {names, 1}, .poll.method = CW_STR_INIT("p")};
    static const cw_config_job no_done = {
        .methods = {names, 1}, .poll.method = CW_STR_INIT("p"), .status = CW_STR_INIT("/s")};
    static const cw_config_job half = {.methods = {names, 1},
                                       .poll.method = CW_STR_INIT("p"),
                                       .status = CW_STR_INIT("/s"),
                                       .done = {names, 1},
                                       .progress = {names, 1}};
    const struct {
        cw_config_remote config;
        const char *part;
    } bad[] = {
        {{.preset = CW_STR("aria3"), .url = address},
         "preset: there is no \"aria3\"; did you mean "
         "\"aria2\"?"},
        {{.preset = CW_STR("somewhat"), .url = address}, "there are aria2, bitcoin"},
        {{.dialect = CW_STR("qpm"), .url = address},
         "dialect: there is no \"qpm\"; did you mean "
         "\"qmp\"?"},
        {{.params = CW_STR("poistional"), .url = address}, "did you mean \"positional\"?"},
        {{.ids = CW_STR("letters"), .url = address}, "ids: there is no \"letters\""},
        {{.empty_params = CW_STR("sned"), .url = address}, "empty_params: there is no"},
        {{.match_replies = CW_STR("sometimes"), .url = address}, "match_replies: there is no"},
        {{.framing = CW_STR("line"), .url = stream},
         "framing: there is no \"line\"; did you mean "
         "\"lines\"?"},
        {{.http_method = CW_STR("DELETE"), .url = address}, "http_method: there is no"},
        {{.greeting = CW_STR("perhaps"), .url = stream}, "speaks_first: there is no"},
        {{.trace = CW_STR("body"), .url = address}, "trace: there is no \"body\"; there are auto"},
        {{.trace = CW_STR("meta"), .params = CW_STR("positional"), .url = address},
         "trace: \"meta\" is for named params"},
        {{.trace = CW_STR("meta"), .http_method = CW_STR("GET"), .url = address},
         "trace: \"meta\" is for POST"},
        {{.describe = CW_STR("koid"), .url = address},
         "discovery: there is no \"koid\"; did you "
         "mean \"kodi\"?"},
        {{.secret.as = CW_STR("cookie"), .url = address}, "secret.as: there is no"},
        {{.url = address, .jobs = {&no_methods, 1}}, "jobs[0].methods: missing"},
        {{.url = address, .jobs = {&no_poll, 1}}, "jobs[0].poll.method: missing"},
        {{.url = address, .jobs = {&no_status, 1}}, "jobs[0].status: missing"},
        {{.url = address, .jobs = {&no_done, 1}}, "jobs[0].done: missing"},
        {{.url = address, .jobs = {&half, 1}}, "jobs[0].progress: two pointers"},
        {{.url = address, .dialect = CW_STR("mcp"), .jobs = {&half, 1}}, "has tasks instead"},
        {{.url = CW_STR("")}, "exactly one of url and command"},
        {{.url = address, .command = {program, 1}}, "exactly one of url and command"},
        {{.url = stream, .http_method = CW_STR("GET")}, "http_method: only for HTTP"},
        {{.url = stream, .call_path = CW_STR("/{method}")}, "call_path: only for HTTP"},
        {{.url = stream, .headers = {header, 1}}, "headers: only for HTTP and WebSocket"},
        {{.url = stream, .oauth.token_url = address}, "oauth: only for HTTP and WebSocket"},
        {{.url = stream, .proxy = address}, "proxy: only for HTTP"},
        {{.url = CW_STR("wss://a/b"), .proxy = address}, "proxy: only for HTTP"},
        {{.url = CW_STR("wss://a/b"), .call_path = CW_STR("/{method}")},
         "call_path: only for HTTP"},
        {{.url = stream, .match_replies = CW_STR("http_exchange")},
         "match_replies: a stream has no exchanges"},
        {{.command = {program, 1}, .match_replies = CW_STR("http_exchange")},
         "match_replies: a stream"},
        {{.url = address, .framing = CW_STR("lines")}, "framing: HTTP has its own"},
        {{.url = CW_STR("unix:/run/x:/rpc"), .framing = CW_STR("lines")}, "framing: HTTP"},
        {{.url = address, .oauth.token_url = address, .secret.file = CW_STR("x")},
         "goes to the same header"},
        {{.url = address, .secret = {.file = CW_STR("x"), .environment = CW_STR("Y")}},
         "both a file and an environment"},
        {{.url = stream, .secret.file = CW_STR("x")}, "\"bearer\" is for HTTP and WebSocket"},
        {{.url = address, .secret = {.as = CW_STR("header"), .file = CW_STR("x")}},
         "secret.name: missing"},
        {{.url = stream, .secret = {.as = CW_STR("param"), .environment = CW_STR("X")}},
         "secret.name: missing"},
        {{.url = address, .secret = {.as = CW_STR("first_param"), .file = CW_STR("x")}},
         "\"first\" is for positional params"},
    };
    for (size_t i = 0; i < CW_COUNT(bad); i++) {
        cw_config_remote c = bad[i].config;
        cw_preset_values words;
        cw_err err = {0};
        cw_code rc = cw_preset_apply(&c, &words, &err);
        if (rc != CW_CONFIG || !strstr(err.msg, bad[i].part))
            fail_msg("%d, \"%s\" instead of \"%s\"", rc, err.msg, bad[i].part);
    }
}

TEST(the_same_goes_together_where_it_should)
{
    const cw_config_remote good[] = {
        {.url = CW_STR("HTTPS://x/rpc"), .http_method = CW_STR("GET")},
        {.url = CW_STR("unix:/run/x:/rpc"), .headers = {header, 1}},
        {.url = CW_STR("UNIX:/run/x:/rpc"), .headers = {header, 1}},
        {.url = address, .oauth.token_url = address},
        {.url = stream,
         .secret = {.as = CW_STR("param"), .name = CW_STR("auth"), .file = CW_STR("x")}},
        {.url = stream,
         .params = CW_STR("positional"),
         .secret = {.as = CW_STR("first_param"), .environment = CW_STR("X")}},
        {.command = {program, 1}, .preset = CW_STR("lsp")},
        {.url = address, .preset = CW_STR("core-lightning")}, /* its framing is for its socket */
    };
    for (size_t i = 0; i < CW_COUNT(good); i++) {
        cw_config_remote c = good[i];
        cw_preset_values words;
        cw_err err = {0};
        if (cw_preset_apply(&c, &words, &err))
            fail_msg("%zu: %s", i, err.msg);
    }
}

static void apply_once(void *ctx)
{
    (void)ctx;
    cw_config_remote c = {.preset = CW_STR("qmp"), .url = stream};
    cw_preset_values words;
    assert_int_equal(cw_preset_apply(&c, &words, NULL), CW_OK);
}

TEST(nothing_is_allocated)
{
    assert_int_equal(oom_each(apply_once, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_of_the_list_is_a_preset_that_can_be_applied),
        cmocka_unit_test(what_is_usual_needs_no_words),
        cmocka_unit_test(a_preset_fills_what_the_operator_leaves_open),
        cmocka_unit_test(every_word_has_its_meaning),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(the_same_goes_together_where_it_should),
        cmocka_unit_test(nothing_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
