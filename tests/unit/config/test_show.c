/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "support/config_fixture.h"

#include "config/keys/keys.h"
#include "support/oom.h"

static char *show(const cw_config *config)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    cw_config_show(config, &out);
    assert_int_equal(out.code, CW_OK);
    return cw_buf_take(&out, NULL);
}

/* The values of a configuration as JSON, through the table: equal text, equal configuration. */
static char *values(const cw_config *config)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_config_root.type->write(&w, &cw_config_root, config);
    assert_int_equal(cw_json_writer_end(&w, NULL), CW_OK);
    return cw_buf_take(&out, NULL);
}

static void assert_reads_back(const char *text)
{
    cw_config *first = config_of(text);
    char *exposed = show(first), *before = values(first);
    cw_config *second = config_of(exposed);
    char *again = show(second), *after = values(second);
    assert_string_equal(after, before);
    assert_string_equal(again, exposed);
    cw_config_unref(first);
    cw_config_unref(second);
    free(exposed);
    free(again);
    free(before);
    free(after);
}

TEST(what_is_shown_reads_back_equal)
{
    assert_reads_back("");
    assert_reads_back(
        "listen: [\"[::1]:0\", {address: \"a:1\", tls: true}, unix:x.sock]\n"
        "loops: 3\n"
        "tls: {certificate: \"c \\\"q\\\".pem\", key: k\\k.pem, min_version: 1.3}\n"
        "hosts: [\"*\", \"*.a:80\", on, 1.2.3, \"null\"]\n"
        "origins: [\"null\", \"*\", https://a]\n"
        "limits: {header_size: 20001, body_size: 0, min_body_rate: 1MB}\n"
        "timeouts: {idle: 1ms, body: 61s, drain: 0, sse_keepalive: 90s}\n"
        "log: {level: off, format: json, file: \"l\\u0085\\u2028\\u202e\\ufeff.log\",\n"
        "  levels: {null-ish: debug, off: off, \"true\": info}}\n"
        "access_log: false\n"
        "plugins: {directory: p, host: h, grace: 0, max_memory: 0}\n"
        "sources:\n"
        "  - {name: a, url: unix:a.sock:/x, openrpc: o.json, prefix: \"on\"}\n"
        "  - name: b\n"
        "    url: http://b/\n"
        "    methods:\n"
        "      - m\n"
        "      - method: \"a \\\"b\\\"\"\n"
        "        description: |\n"
        "          Two\n"
        "          lines: 2\n"
        "        annotations:\n"
        "          list: [[1, [2, [], {}]], {a: [x], b: {c: d}}, [], {}, null, \"1\", 1e5, 0.0]\n"
        "          \"1\": {\"\": \"\", \"a: b\": \"# c\"}\n"
        "          auth: {scopes: [\"a:b\"], level: required}\n"
        "        permissions: [p, \"no\"]\n"
        "roles: {anonymous: [\"a: b\", off], \"a: b\": [], none: }\n"
        "schema: {default_draft: draft-07, assert_formats: false}\n"
        "store: {path: a b.db}\n"
        "access: {allow_plaintext_passwords: true}\n"
        "unknown_arguments: ignore\n"
        "public_url: http://[::1]:80/a\n"
        "page_size: 7\n"
        "debug_headers: true\n"
        "");
    assert_reads_back(
        "state: {directory: s, lock: l}\n"
        "sources:\n"
        "  - name: a\n"
        "    command: [\"a b\", \"\", \"- x\", \"true\"]\n"
        "    environment: {A: 1, B: \"two\\nlines\", C: \"\", D: \"# x\"}\n"
        "    dialect: 1.0\n"
        "    speaks_first: false\n"
        "    init_calls: [a, {method: b, params: {c: [null, \"\", 1.50]}, notify: true}, {method: "
        "c,\n"
        "      params: []}]\n"
        "    answers_to_service: {}\n"
        "    change_notifications: x\n"
        "  - name: b\n"
        "    url: tcp://[::1]:1\n"
        "    headers: {X-A: \"\", \"null\": \"null\"}\n"
        "    tls: {ca_file: a, certificate: b, key: c, server_name: \"1\"}\n"
        "    handshake: {status: 409, header: X-B}\n"
        "    secret: {as: param, name: \"a: b\", prefix: \" x \", environment: E}\n"
        "    oauth: {token_url: https://a/t, client_id: \"5\", client_secret_file: f, scope: a b}\n"
        "    on_change: warn\n"
        "    refresh: 0\n"
        "    methods:\n"
        "      - {method: a, auth_level: none, params: {\"0\": {value: false, schema: {}}, \"a: "
        "b\":\n"
        "          {default: {\"\": \"\"}, hidden: true, rename: \"no\"}, c: }}\n"
        "      - {method: b, result_pointer: /a~1b/0, max_result_size: 1000, cache: 90s, output: "
        "{}}\n");
    /* A JSON file keeps its escapes in annotations; YAML does not know all of them. */
    assert_reads_back(
        "{\"sources\":[{\"name\":\"a\",\"url\":\"http://a\",\"methods\":[{"
        "\"method\":\"m\",\"annotations\":{\"\\u0061\\/\":\"\\ud83d\\ude00\\/\"}}]}]}");
}

TEST(every_key_is_shown_with_its_help)
{
    cw_config *config = config_of("");
    char *exposed = show(config);
    for (const cw_key *top = cw_config_root.children; top->name; top++) {
        char line[400];
        snprintf(line, sizeof line, "\n%s:", top->name);
        assert_non_null(strstr(exposed, line));
        for (const cw_key *k = top->type == &cw_type_section ? top->children : NULL; k && k->name;
             k++) {
            char help[CW_KEY_HELP_SIZE];
            snprintf(line, sizeof line, "\n  # %s\n  %s:", cw_key_help(k, help), k->name);
            assert_non_null(strstr(exposed, line));
        }
    }
    assert_non_null(strstr(exposed, "\n  idle: 75s\n"));
    assert_non_null(strstr(exposed, "\n  - address: \"127.0.0.1:8080\"\n    tls: false\n"));
    assert_non_null(strstr(exposed, "\n  min_version: \"1.2\"\n"));
    assert_non_null(
        strstr(exposed, "\n  # Body of a request; 413 beyond (0 to 1GB)\n  body_size: 4MB\n"));
    cw_config_unref(config);
    free(exposed);
}

TEST(a_full_buffer_is_sticky)
{
    cw_config *config = config_of("");
    cw_buf out;
    cw_buf_init(&out, 100);
    cw_config_show(config, &out);
    assert_int_equal(out.code, CW_LIMIT);
    cw_buf_clear(&out);
    cw_err err = {0};
    assert_int_equal(cw_config_schema(&out, &err), CW_LIMIT);
    assert_true(err.msg[0]);
    cw_buf_done(&out);
    cw_config_unref(config);
}

/* ---- schema ---- */

/* Every key of the table is a property with a description, and nothing else is. */
static void check_properties(const cw_json *schema, const cw_key *keys)
{
    const cw_json *properties = cw_json_get(schema, CW_STR("properties"));
    uint32_t n = 0;
    for (; keys->name; keys++, n++) {
        const cw_json *p = cw_json_get(properties, cw_str_from(keys->name));
        assert_non_null(p);
        assert_true(cw_json_is(cw_json_get(p, CW_STR("description")), CW_JSON_STRING));
        if (keys->type == &cw_type_section)
            check_properties(p, keys->children);
        else
            assert_non_null(cw_json_get(p, CW_STR("default")));
    }
    assert_int_equal(cw_json_count(properties), n);
    assert_true(cw_json_is(cw_json_get(schema, CW_STR("additionalProperties")), CW_JSON_FALSE));
}

TEST(the_schema_describes_every_key)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    assert_int_equal(cw_config_schema(&out, NULL), CW_OK);
    assert_int_equal(out.p[out.n - 1], '\n');
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    const cw_json *schema;
    assert_int_equal(cw_json_read(cw_buf_str(&out), NULL, &arena, &schema, NULL, NULL), CW_OK);
    assert_true(cw_str_is(cw_json_text(cw_json_get(schema, CW_STR("$schema"))),
                          "https://json-schema.org/draft/2020-12/schema"));
    check_properties(schema, cw_config_root.children);
    const cw_json *loops = cw_json_pointer(schema, CW_STR("/properties/loops"));
    assert_true(cw_str_is(cw_json_text(cw_json_get(loops, CW_STR("type"))), "integer"));
    assert_true(cw_str_is(cw_json_text(cw_json_get(loops, CW_STR("maximum"))), "64"));
    const cw_json *idle =
        cw_json_pointer(schema, CW_STR("/properties/timeouts/properties/idle/anyOf/0/minimum"));
    assert_true(cw_str_is(cw_json_text(idle), "1")); /* 1 ms is one whole second */
    const cw_json *required =
        cw_json_pointer(schema, CW_STR("/properties/listen/anyOf/2/items/anyOf/1/required/0"));
    assert_true(cw_str_is(cw_json_text(required), "address"));
    const cw_json *versions =
        cw_json_pointer(schema, CW_STR("/properties/tls/properties/min_version/enum"));
    assert_int_equal(cw_json_count(versions), 4);
    cw_arena_done(&arena);
    cw_buf_done(&out);
}

/* ---- no memory ---- */

static void print_once(void *ctx)
{
    cw_buf out;
    cw_buf_init(&out, 1 << 20);
    cw_config_show(ctx, &out);
    assert_true(out.code == CW_OK || out.code == CW_NOMEM);
    bool exposed = out.code == CW_OK;
    cw_buf_done(&out);
    cw_buf_init(&out, 1 << 20);
    cw_code rc = cw_config_schema(&out, NULL);
    assert_true(rc == CW_OK || rc == CW_NOMEM);
    if (oom_was_hit())
        assert_true(!exposed || rc == CW_NOMEM);
    cw_buf_done(&out);
}

TEST(printing_survives_every_failed_allocation)
{
    cw_config *config = config_of("hosts: [a, b]\nroles: {a: [b]}\n"
                                  "sources: {name: a, url: \"http://a\", headers: {a: b},\n"
                                  "  methods: {method: m, params: {a: {value: [1]}}}}\n");
    assert_true(oom_each(print_once, config) >= 6);
    cw_config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_reads_back_equal),
        cmocka_unit_test(every_key_is_shown_with_its_help),
        cmocka_unit_test(a_full_buffer_is_sticky),
        cmocka_unit_test(the_schema_describes_every_key),
        cmocka_unit_test(printing_survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
