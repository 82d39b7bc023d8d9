/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every key: that its value arrives in its field, and what is said of a wrong one. */
#include "support/config_fixture.h"

#include "base/limits.h"
#include "config/keys/keys.h"

TEST(without_a_file_everything_has_its_default)
{
    cw_config *c = config_of("");
    assert_int_equal(c->listen.n, 1);
    assert_string_equal(c->listen.items[0].address.text.p, "127.0.0.1:8080");
    assert_string_equal(c->listen.items[0].address.host.p, "127.0.0.1");
    assert_int_equal(c->listen.items[0].address.port, 8080);
    assert_false(c->listen.items[0].tls);
    assert_int_equal(c->loops, 0);
    assert_int_equal(c->tls.certificate.n, 0);
    assert_int_equal(c->tls.key.n, 0);
    assert_int_equal(c->tls.min_version, CW_CONFIG_TLS_1_2);
    assert_int_equal(c->hosts.n, 3);
    assert_string_equal(c->hosts.items[0].p, "localhost");
    assert_string_equal(c->hosts.items[1].p, "127.0.0.1");
    assert_string_equal(c->hosts.items[2].p, "[::1]");
    assert_int_equal(c->origins.n, 0);
    assert_int_equal(c->limits.connections, CW_HTTP_MAX_CONNECTIONS);
    assert_int_equal(c->limits.connections_per_address, 0);
    assert_int_equal(c->limits.header_size, CW_HTTP_MAX_HEAD);
    assert_int_equal(c->limits.header_fields, CW_HTTP_MAX_FIELDS);
    assert_int_equal(c->limits.target_size, CW_HTTP_MAX_TARGET);
    assert_int_equal(c->limits.body_size, CW_HTTP_MAX_BODY);
    assert_int_equal(c->limits.body_memory, CW_HTTP_MAX_BODY_MEMORY);
    assert_int_equal(c->limits.pipelined_requests, CW_HTTP_MAX_PIPELINED);
    assert_int_equal(c->limits.stream_queue, CW_HTTP_MAX_STREAM_QUEUE);
    assert_int_equal(c->limits.min_body_rate, CW_HTTP_MIN_RATE);
    assert_int_equal(c->timeouts.header_ms, CW_HTTP_HEADER_MS);
    assert_int_equal(c->timeouts.body_ms, CW_HTTP_BODY_MS);
    assert_int_equal(c->timeouts.idle_ms, CW_HTTP_IDLE_MS);
    assert_int_equal(c->timeouts.write_ms, CW_HTTP_WRITE_MS);
    assert_int_equal(c->timeouts.drain_ms, CW_HTTP_DRAIN_MS);
    assert_int_equal(c->timeouts.linger_ms, CW_HTTP_LINGER_MS);
    assert_int_equal(c->timeouts.upgrade_ms, CW_UPGRADE_MS);
    assert_int_equal(c->timeouts.sse_keepalive_ms, CW_HTTP_PING_MS);
    assert_int_equal(c->log.level, CW_LOG_INFO);
    assert_int_equal(c->log.format, CW_CONFIG_LOG_TEXT);
    assert_int_equal(c->log.file.n, 0);
    assert_int_equal(c->log.levels.n, 0);
    assert_string_equal(c->log.levels.text.p, "");
    assert_true(c->access_log);
    assert_int_equal(c->limits.max_calls, 10000);
    assert_int_equal(c->limits.batch, 100);
    assert_int_equal(c->limits.max_result_size, 16 << 20);
    assert_int_equal(c->limits.cache_size, 32 << 20);
    assert_int_equal(c->plugins.directory.n, 0);
    assert_int_equal(c->plugins.data.n, 0);
    assert_int_equal(c->plugins.host.n, 0);
    assert_int_equal(c->plugins.workers, 4);
    assert_int_equal(c->plugins.queue, 1000);
    assert_int_equal(c->plugins.timeout_ms, 30000);
    assert_int_equal(c->plugins.grace_ms, 1000);
    assert_int_equal(c->plugins.load_ms, 10000);
    assert_int_equal(c->plugins.idle_ms, 60000);
    assert_int_equal(c->plugins.max_memory, 512 << 20);
    assert_int_equal(c->plugins.max_open_files, 64);
    assert_int_equal(c->schema.default_draft, CW_SCHEMA_2020_12);
    assert_true(c->schema.assert_formats);
    assert_int_equal(c->sources.n, 0);
    assert_int_equal(c->roles.n, 0);
    assert_false(c->ignore_unknown_arguments);
    assert_string_equal(c->public_url.p, "");
    assert_int_equal(c->page_size, 50);
    assert_false(c->debug_headers);
    cw_config_unref(c);
}

TEST(empty_sections_keep_their_defaults)
{
    cw_config *c = config_of("limits:\ntimeouts: {}\nlog:\n  levels:\ntls: null\n");
    assert_int_equal(c->limits.header_size, CW_HTTP_MAX_HEAD);
    assert_int_equal(c->log.levels.n, 0);
    cw_config_unref(c);
}

TEST(listen_takes_every_spelling)
{
    cw_config *c = config_of("listen: \"[::1]:0\"\n");
    assert_int_equal(c->listen.n, 1);
    assert_string_equal(c->listen.items[0].address.text.p, "[::1]:0");
    assert_string_equal(c->listen.items[0].address.host.p, "::1");
    assert_int_equal(c->listen.items[0].address.port, 0);
    cw_config_unref(c);

    c = config_of("listen: {address: 0.0.0.0:443, tls: true}\ntls: {certificate: c.pem, key: k}\n");
    assert_int_equal(c->listen.n, 1);
    assert_true(c->listen.items[0].tls);
    assert_int_equal(c->listen.items[0].address.port, 443);
    cw_config_unref(c);

    c = config_of("listen:\n"
                  "  - localhost:80\n"
                  "  - unix:/run/c.sock\n"
                  "  - tls: false\n"
                  "    address: unix:c.sock\n");
    assert_int_equal(c->listen.n, 3);
    assert_string_equal(c->listen.items[0].address.host.p, "localhost");
    assert_string_equal(c->listen.items[0].address.unix_path.p, "");
    assert_string_equal(c->listen.items[1].address.unix_path.p, "/run/c.sock");
    assert_string_equal(c->listen.items[1].address.host.p, "");
    /* Relative paths are taken from the folder of the file. */
    assert_string_equal(c->listen.items[2].address.unix_path.p, "/etc/causeway/c.sock");
    assert_string_equal(c->listen.items[2].address.text.p, "unix:/etc/causeway/c.sock");
    cw_config_unref(c);
}

TEST(the_other_keys_fill_their_fields)
{
    cw_config *c = config_of("loops: 64\n"
                             "tls: {certificate: tls/c.pem, key: /secret/k.pem, min_version: 1.3}\n"
                             "hosts: [a.example, \"*.b.example:80\"]\n"
                             "origins: https://a.example\n"
                             "limits:\n"
                             "  connections: 10\n"
                             "  connections_per_address: 5\n"
                             "  header_size: 32KB\n"
                             "  header_fields: 50\n"
                             "  target_size: 100\n"
                             "  body_size: 1GB\n"
                             "  pipelined_requests: 7\n"
                             "  stream_queue: 1MB\n"
                             "  min_body_rate: 0\n"
                             "timeouts: {header: 1, body: 500ms, idle: 5m, write: 1h, drain: 0s,\n"
                             "  linger: 1m, upgrade: 2s, sse_keepalive: 0}\n"
                             "log:\n"
                             "  level: \"off\"\n"
                             "  format: json\n"
                             "  file: log/c.log\n"
                             "  levels: {net: debug, access: off}\n"
                             "access_log: false\n");
    assert_int_equal(c->loops, 64);
    assert_string_equal(c->tls.certificate.p, "/etc/causeway/tls/c.pem");
    assert_string_equal(c->tls.key.p, "/secret/k.pem");
    assert_int_equal(c->tls.min_version, CW_CONFIG_TLS_1_3);
    assert_int_equal(c->hosts.n, 2);
    assert_string_equal(c->hosts.items[1].p, "*.b.example:80");
    assert_int_equal(c->origins.n, 1);
    assert_string_equal(c->origins.items[0].p, "https://a.example");
    assert_int_equal(c->limits.connections, 10);
    assert_int_equal(c->limits.connections_per_address, 5);
    assert_int_equal(c->limits.header_size, 32768);
    assert_int_equal(c->limits.header_fields, 50);
    assert_int_equal(c->limits.target_size, 100);
    assert_int_equal(c->limits.body_size, 1073741824);
    assert_int_equal(c->limits.pipelined_requests, 7);
    assert_int_equal(c->limits.stream_queue, 1048576);
    assert_int_equal(c->limits.min_body_rate, 0);
    assert_int_equal(c->timeouts.header_ms, 1000);
    assert_int_equal(c->timeouts.body_ms, 500);
    assert_int_equal(c->timeouts.idle_ms, 300000);
    assert_int_equal(c->timeouts.write_ms, 3600000);
    assert_int_equal(c->timeouts.drain_ms, 0);
    assert_int_equal(c->timeouts.linger_ms, 60000);
    assert_int_equal(c->timeouts.upgrade_ms, 2000);
    assert_int_equal(c->timeouts.sse_keepalive_ms, 0);
    assert_int_equal(c->log.level, CW_LOG_OFF);
    assert_int_equal(c->log.format, CW_CONFIG_LOG_JSON);
    assert_string_equal(c->log.file.p, "/etc/causeway/log/c.log");
    assert_int_equal(c->log.levels.n, 2);
    assert_string_equal(c->log.levels.items[0].component.p, "net");
    assert_int_equal(c->log.levels.items[0].level, CW_LOG_DEBUG);
    assert_int_equal(c->log.levels.items[1].level, CW_LOG_OFF);
    assert_string_equal(c->log.levels.text.p, "net=debug,access=off");
    assert_false(c->access_log);
    cw_config_unref(c);
}

TEST(plugins_and_limits_of_calls_fill_their_fields)
{
    cw_config *c =
        config_of("limits: {max_calls: 5, batch: 6, max_result_size: 7KB}\n"
                  "plugins: {directory: p, data: d, host: /h, workers: 1, queue: 2,\n"
                  "  timeout: 3, grace: 4ms, load_timeout: 5m, idle_timeout: 0, max_memory: 0,\n"
                  "  max_open_files: 9}\n"
                  "unknown_arguments: ignore\n");
    assert_int_equal(c->limits.max_calls, 5);
    assert_int_equal(c->limits.batch, 6);
    assert_int_equal(c->limits.max_result_size, 7168);
    assert_string_equal(c->plugins.directory.p, "/etc/causeway/p");
    assert_string_equal(c->plugins.data.p, "/etc/causeway/d");
    assert_string_equal(c->plugins.host.p, "/h");
    assert_int_equal(c->plugins.workers, 1);
    assert_int_equal(c->plugins.queue, 2);
    assert_int_equal(c->plugins.timeout_ms, 3000);
    assert_int_equal(c->plugins.grace_ms, 4);
    assert_int_equal(c->plugins.load_ms, 300000);
    assert_int_equal(c->plugins.idle_ms, 0);
    assert_int_equal(c->plugins.max_memory, 0);
    assert_int_equal(c->plugins.max_open_files, 9);
    assert_true(c->ignore_unknown_arguments);
    cw_config_unref(c);
    c = config_of("unknown_arguments: reject\n");
    assert_false(c->ignore_unknown_arguments);
    cw_config_unref(c);
}

TEST(pages_and_addresses_are_read_as_configured)
{
    cw_config *c = config_of("limits: {cache_size: 0}\n"
                             "public_url: https://a.example:8443/tools/x~1\n"
                             "page_size: 1000\ndebug_headers: true\n");
    assert_int_equal(c->limits.cache_size, 0);
    assert_string_equal(c->public_url.p, "https://a.example:8443/tools/x~1");
    assert_int_equal(c->page_size, 1000);
    assert_true(c->debug_headers);
    cw_config_unref(c);
    c = config_of("public_url: null\n");
    assert_string_equal(c->public_url.p, "");
    cw_config_unref(c);
    static const struct {
        const char *text, *shown; /* NULL: as it is, in quotes */
    } wrong[] = {
        {"https://a/", NULL},    {"ftp://a", NULL},
        {"a.example", NULL},     {"https://a?b", "\"https://a\" and a query"},
        {"https://a#b", NULL},   {"https://u@a", "a URL with a user name, which is not shown"},
        {"https://", NULL},      {"https://*.a", NULL},
        {"https://a//b", NULL},  {"https://a/b/", NULL},
        {"https:/a", NULL},      {"https://a:x", NULL},
        {"https://a/%20", NULL}, {"https://[::1", NULL},
    };
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        char text[64], quoted[64], expected[256];
        snprintf(text, sizeof text, "public_url: '%s'\n", wrong[i].text);
        snprintf(quoted, sizeof quoted, "\"%s\"", wrong[i].text);
        snprintf(expected, sizeof expected,
                 "f:1:13: public_url: expected a URL such as \"https://example.org\" or "
                 "\"https://example.org/tools\", got %s",
                 wrong[i].shown ? wrong[i].shown : quoted);
        assert_problems(text, expected);
    }
    assert_problems("page_size: 0", "f:1:12: page_size: expected an integer from 1 to 1000, got 0");
}

TEST(schemas_are_read_as_configured)
{
    cw_config *c = config_of("schema: {default_draft: draft-07, assert_formats: false}\n");
    assert_int_equal(c->schema.default_draft, CW_SCHEMA_DRAFT_07);
    assert_false(c->schema.assert_formats);
    cw_config_unref(c);
    c = config_of("schema: {default_draft: 2020-12}\n");
    assert_int_equal(c->schema.default_draft, CW_SCHEMA_2020_12);
    assert_true(c->schema.assert_formats);
    cw_config_unref(c);
    assert_problems("schema: {default_draft: 7}",
                    "f:1:25: schema.default_draft: expected \"2020-12\" or \"draft-07\", got 7");
    assert_problems("schema: {assert_formats: maybe}",
                    "f:1:26: schema.assert_formats: expected true or false, got \"maybe\"");
}

TEST(a_source_has_defaults)
{
    cw_config *c = config_of("sources: {name: a, url: \"http://h\", methods: m}\n");
    assert_int_equal(c->sources.n, 1);
    const cw_config_remote *s = &c->sources.items[0];
    assert_string_equal(s->name.p, "a");
    assert_string_equal(s->url.p, "http://h");
    assert_string_equal(s->openrpc.p, "");
    assert_string_equal(s->prefix.p, "");
    assert_int_equal(s->timeout_ms, CW_REMOTE_CALL_MS);
    assert_int_equal(s->connections, CW_REMOTE_MAX_CONNECTIONS);
    assert_int_equal(s->refresh_ms, 10 * 60 * 1000);
    assert_int_equal(s->connect_ms, 5000);
    assert_int_equal(s->first_byte_ms, 0);
    assert_int_equal(s->queue, 1024);
    assert_int_equal(s->retries, 1);
    assert_false(s->warns_only);
    assert_int_equal(s->line, 1);
    assert_int_equal(s->methods.n, 1);
    const cw_config_overlay *m = &s->methods.items[0];
    assert_string_equal(m->method.p, "m");
    assert_true(m->tool);
    assert_false(m->rpc);
    assert_string_equal(m->title.p, "");
    assert_string_equal(m->description.p, "");
    assert_string_equal(m->annotations.p, "");
    assert_int_equal(m->permissions.n, 0);
    cw_config_unref(c);
}

TEST(no_sources_and_no_roles_are_fine)
{
    static const char *const texts[] = {"sources:\nroles:\n", "sources: []\nroles: {}\n"};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        cw_config *c = config_of(texts[i]);
        assert_int_equal(c->sources.n, 0);
        assert_int_equal(c->roles.n, 0);
        cw_config_unref(c);
    }
}

TEST(a_source_says_what_can_be_used)
{
    cw_config *c = config_of("sources:\n"
                             "  - name: stock_1-x\n"
                             "    url: unix:s.sock:/rpc\n"
                             "    openrpc: stock.json\n"
                             "    prefix: stock.\n"
                             "    timeout: 5s\n"
                             "    connections: 3\n"
                             "    methods:\n"
                             "      - find\n"
                             "      - method: order\n"
                             "        tool: false\n"
                             "        expose_on_jsonrpc: true\n"
                             "        title: Order\n"
                             "        description: |\n"
                             "          Two\n"
                             "          lines.\n"
                             "        annotations: {n: 1e400, auth: {scopes: [a, \"b\"]}}\n"
                             "        permissions: [order goods, x]\n"
                             "  - {name: b, url: \"http://[::1]:8/p?q\", prefix: \"\"}\n"
                             "  - {name: c, url: unix:/c.sock, methods: {method: m, title: ,\n"
                             "     annotations: {}}}\n");
    assert_int_equal(c->sources.n, 3);
    const cw_config_remote *s = c->sources.items;
    assert_string_equal(s[0].name.p, "stock_1-x");
    assert_string_equal(s[0].url.p, "unix:/etc/causeway/s.sock:/rpc");
    assert_string_equal(s[0].openrpc.p, "/etc/causeway/stock.json");
    assert_string_equal(s[0].prefix.p, "stock.");
    assert_int_equal(s[0].timeout_ms, 5000);
    assert_int_equal(s[0].connections, 3);
    assert_int_equal(s[0].methods.n, 2);
    const cw_config_overlay *m = s[0].methods.items;
    assert_string_equal(m[0].method.p, "find");
    assert_true(m[0].tool);
    assert_string_equal(m[1].method.p, "order");
    assert_false(m[1].tool);
    assert_true(m[1].rpc);
    assert_string_equal(m[1].title.p, "Order");
    assert_string_equal(m[1].description.p, "Two\nlines.\n");
    assert_string_equal(m[1].annotations.p, "{\"n\":1e400,\"auth\":{\"scopes\":[\"a\",\"b\"]}}");
    assert_int_equal(m[1].permissions.n, 2);
    assert_string_equal(m[1].permissions.items[0].p, "order goods");
    assert_string_equal(s[1].url.p, "http://[::1]:8/p?q");
    assert_string_equal(s[1].prefix.p, "");
    assert_string_equal(s[2].url.p, "unix:/c.sock");
    assert_string_equal(s[2].methods.items[0].title.p, "");
    assert_string_equal(s[2].methods.items[0].annotations.p, "");
    cw_config_unref(c);
}

TEST(roles_have_permissions)
{
    cw_config *c = config_of("roles:\n  anonymous: [a b, c]\n  \"content editor\": x\n  none:\n");
    assert_int_equal(c->roles.n, 3);
    assert_string_equal(c->roles.items[0].name.p, "anonymous");
    assert_int_equal(c->roles.items[0].permissions.n, 2);
    assert_string_equal(c->roles.items[0].permissions.items[0].p, "a b");
    assert_string_equal(c->roles.items[1].name.p, "content editor");
    assert_string_equal(c->roles.items[1].permissions.items[0].p, "x");
    assert_int_equal(c->roles.items[2].permissions.n, 0);
    cw_config_unref(c);
}

TEST(wrong_sources_and_roles_are_explained)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"sources: x", "f:1:10: sources: expected a mapping of keys to values, got \"x\""},
        {"sources: [x]", "f:1:11: sources[0]: expected a mapping of keys to values, got \"x\""},
        {"sources: {name: a}", "f:1:10: sources: missing key \"url\" or \"command\""},
        {"sources: [{url: \"http://a\"}]", "f:1:11: sources[0]: missing key \"name\""},
        {"sources: [{name: A, url: \"http://a\"}]",
         "f:1:18: sources[0].name: expected a name of a-z, 0-9, '_' and '-', got \"A\""},
        {"sources: [{name: , url: \"http://a\"}]",
         "f:1:18: sources[0].name: expected a name of a-z, 0-9, '_' and '-', got nothing"},
        {"sources: [{name: \"\", url: \"http://a\"}]",
         "f:1:18: sources[0].name: expected a name of a-z, 0-9, '_' and '-', got \"\""},
        {"sources: [{name: a, url: \"wss://u@a\"}]",
         "f:1:26: sources[0].url: expected a URL such as \"http://HOST:PORT/PATH\", "
         "\"tcp://HOST:PORT\" or "
         "\"unix:SOCKET\", got a URL with a user name, which is not shown (a user name or password "
         "does not belong into a URL)"},
        {"sources: [{name: a, url: 5}]", "f:1:26: sources[0].url: expected a URL such as "
                                         "\"http://HOST:PORT/PATH\", \"tcp://HOST:PORT\" or "
                                         "\"unix:SOCKET\", got 5"},
        {"sources: [{name: a, url: \"unix:/a\\tb\"}]",
         "f:1:26: sources[0].url: expected a URL such as \"http://HOST:PORT/PATH\", "
         "\"tcp://HOST:PORT\" or "
         "\"unix:SOCKET\", got \"unix:/a\\u0009b\""},
        {"sources: [{name: a, url: \"http://a\", methods: [{title: x}]}]",
         "f:1:48: sources[0].methods[0]: missing key \"method\""},
        {"sources: [{name: a, url: \"http://a\", methods: [5]}]",
         "f:1:48: sources[0].methods[0]: expected the name of a method such as \"user.get\", got "
         "5"},
        {"sources: [{name: a, url: \"http://a\", methods: [{method: m, toool: true}]}]",
         "f:1:60: sources[0].methods[0].toool: unknown key; did you mean \"tool\"?"},
        {"sources: [{name: a, url: \"http://a\", methods: [{method: m, title: \"a\\nb\"}]}]",
         "f:1:67: sources[0].methods[0].title: expected a text without control characters, got "
         "\"a\\u000ab\""},
        {"sources: [{name: a, url: \"http://a\", methods: [{method: m, description: \"\\a\"}]}]",
         "f:1:73: sources[0].methods[0].description: expected a text without control characters "
         "but line breaks and tabs, got \"\\u0007\""},
        {"sources: [{name: a, url: \"http://a\", methods: [{method: m, annotations: [a]}]}]",
         "f:1:73: sources[0].methods[0].annotations: expected a mapping, got a list"},
        {"sources: [{name: a, url: \"http://a\", methods: [{method: m, permissions: [\"\"]}]}]",
         "f:1:74: sources[0].methods[0].permissions[0]: expected a permission such as \"access "
         "content\", got \"\""},
        {"roles: [a]", "f:1:8: roles: expected a mapping of roles to lists of permissions, got a "
                       "list"},
        {"roles: {\"\": [a]}", "f:1:9: roles.\"\": expected the name of a role"},
        {"roles: {a: 5}", "f:1:12: roles.a: expected a list of strings, got 5"},
        {"unknown_arguments: drop",
         "f:1:20: unknown_arguments: expected \"reject\" or \"ignore\", got \"drop\""},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_problems(cases[i].text, cases[i].problem);
}

TEST(the_socket_of_a_url_has_a_length)
{
    char text[256];
    snprintf(text, sizeof text, "sources: {name: a, url: \"unix:/%0107d:/\"}", 0);
    assert_problems(text, "f:1:25: sources.url: the path of a unix socket has at most 107 bytes "
                          "and no ':'");
    snprintf(text, sizeof text, "sources: {name: a, url: \"unix:/%0106d:/\"}", 0);
    cw_config_unref(config_of(text));
}

TEST(json_files_work)
{
    cw_config *c = config_of("{\n\t\"listen\": [\"127.0.0.1:0\"],\n\t\"loops\": 2,\n"
                             "\t\"timeouts\": {\"idle\": \"1h\"}\n}\n");
    assert_int_equal(c->loops, 2);
    assert_int_equal(c->timeouts.idle_ms, 3600000);
    cw_config_unref(c);
    assert_problems("{\n\t\"loops\": \"x\"\n}\n",
                    "f:2:11: loops: expected an integer from 0 to 64, got \"x\"");
}

TEST(null_unsets_a_path)
{
    cw_config *c = config_of("tls: {certificate: null, key: }\nlog: {file: null}\n");
    assert_int_equal(c->tls.certificate.n, 0);
    assert_int_equal(c->tls.key.n, 0);
    assert_int_equal(c->log.file.n, 0);
    cw_config_unref(c);
}

/* Both ends of every range are in it, and the numbers beside them are not. */
TEST(ranges_hold_at_both_ends)
{
    static const struct {
        const char *format; /* of a whole file */
        const char *first, *last, *below, *above;
    } cases[] = {
        {"loops: %s", "0", "64", "-1", "65"},
        {"limits: {connections: %s}", "1", "1000000", "0", "1000001"},
        {"limits: {connections: 1000000, connections_per_address: %s}", "0", "1000000", "-1",
         "1000001"},
        {"limits: {target_size: 64, header_size: %s}", "1KB", "65535", "1023", "64KB"},
        {"limits: {header_fields: %s}", "1", "100", "0", "101"},
        {"limits: {header_size: 65535, target_size: %s}", "64", "65535", "63", "65536"},
        {"limits: {body_size: %s}", "0", "1GB", "-1", "1073741825"},
        {"limits: {body_memory: %s}", "0", "64GB", "-1", "65GB"},
        {"limits: {pipelined_requests: %s}", "1", "1000000", "0", "1000001"},
        {"limits: {stream_queue: %s}", "4096", "1GB", "4095", "2GB"},
        {"limits: {min_body_rate: %s}", "0", "1GB", "-1", "2GB"},
        {"timeouts: {header: %s}", "1ms", "1h", "0ms", "3601s"},
        {"timeouts: {body: %s}", "1ms", "1h", "0", "3601"},
        {"timeouts: {idle: %s}", "1ms", "24h", "0s", "25h"},
        {"timeouts: {write: %s}", "1ms", "3600", "0s", "3600001ms"},
        {"timeouts: {drain: %s}", "0", "24h", "-1", "86401"},
        {"timeouts: {linger: %s}", "0", "1h", "-1", "3601"},
        {"timeouts: {upgrade: %s}", "1ms", "60s", "0", "61s"},
        {"timeouts: {sse_keepalive: %s}", "0s", "1h", "-1s", "2h"},
        {"limits: {max_calls: %s}", "1", "1000000", "0", "1000001"},
        {"limits: {batch: %s}", "1", "10000", "0", "10001"},
        {"limits: {max_result_size: %s}", "1KB", "1GB", "1023", "2GB"},
        {"plugins: {workers: %s}", "1", "64", "0", "65"},
        {"plugins: {queue: %s}", "1", "1000000", "0", "1000001"},
        {"plugins: {timeout: %s}", "1ms", "24h", "0", "25h"},
        {"plugins: {grace: %s}", "0", "1h", "-1", "2h"},
        {"plugins: {load_timeout: %s}", "1ms", "1h", "0", "2h"},
        {"plugins: {idle_timeout: %s}", "0", "24h", "-1", "25h"},
        {"plugins: {max_memory: %s}", "0", "1024GB", "-1", "1025GB"},
        {"plugins: {max_open_files: %s}", "8", "65536", "7", "65537"},
        {"sources: {name: a, url: \"http://a\", timeout: %s}", "1ms", "24h", "0", "25h"},
        {"sources: {name: a, url: \"http://a\", connections: %s}", "1", "10000", "0", "10001"},
        {"sources: {name: a, url: \"http://a\", refresh: %s}", "0", "720h", "-1", "721h"},
        {"sources: {name: a, url: \"http://a\", connect_timeout: %s}", "1ms", "1h", "0", "2h"},
        {"sources: {name: a, url: \"http://a\", first_byte_timeout: %s}", "0", "24h", "-1", "25h"},
        {"sources: {name: a, url: \"http://a\", queue: %s}", "0", "1000000", "-1", "1000001"},
        {"sources: {name: a, url: \"http://a\", retries: %s}", "0", "10", "-1", "11"},
        {"sources: {name: a, url: \"http://a\", handshake: {status: %s}}", "0", "599", "-1", "600"},
        {"sources: {name: a, url: \"http://a\", methods: {method: m, max_result_size: %s}}", "0",
         "1GB", "-1", "2GB"},
        {"sources: {name: a, url: \"http://a\", methods: {method: m, timeout: %s}}", "0", "24h",
         "-1", "25h"},
        {"sources: {name: a, url: \"http://a\", methods: {method: m, cache: %s}}", "0", "24h", "-1",
         "25h"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[128];
        const char *values[] = {cases[i].first, cases[i].last, cases[i].below, cases[i].above};
        for (size_t j = 0; j < CW_COUNT(values); j++) {
            /* "%s" is in every format; a variable format would not be checked. */
            const char *gap = strstr(cases[i].format, "%s");
            snprintf(text, sizeof text, "%.*s%s%s", (int)(gap - cases[i].format), cases[i].format,
                     values[j], gap + 2);
            cw_config *config = NULL;
            cw_config_problems problems;
            cw_config_problems_init(&problems);
            cw_code rc = cw_config_read(cw_str_from(text), "f", &config, &problems, NULL);
            if ((rc == CW_OK) != (j < 2))
                fail_msg("%s: %s", text, rc ? problems.items[0].text : "accepted");
            cw_config_unref(config);
            cw_config_problems_done(&problems);
        }
    }
}

TEST(wrong_values_are_explained)
{
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"loops: many", "f:1:8: loops: expected an integer from 0 to 64, got \"many\""},
        {"loops: 1.5", "f:1:8: loops: expected an integer from 0 to 64, got 1.5"},
        {"loops: 100000000000000000000000000000000000000000000",
         "f:1:8: loops: expected an integer from 0 to 64, got "
         "1000000000000000000000000000000000000000..."},
        {"loops:", "f:1:7: loops: expected an integer from 0 to 64, got nothing"},
        {"loops: true", "f:1:8: loops: expected an integer from 0 to 64, got true"},
        {"loops: [1]", "f:1:8: loops: expected an integer from 0 to 64, got a list"},
        {"loops: {a: 1}", "f:1:8: loops: expected an integer from 0 to 64, got a mapping"},
        {"access_log: yes", "f:1:13: access_log: expected true or false, got \"yes\""},
        {"access_log: 1", "f:1:13: access_log: expected true or false, got 1"},
        {"timeouts:\n  idle: soon",
         "f:2:9: timeouts.idle: expected a duration such as \"75s\" or \"500ms\", got \"soon\""},
        {"timeouts:\n  idle: -5",
         "f:2:9: timeouts.idle: expected a duration such as \"75s\" or \"500ms\", got -5"},
        {"timeouts:\n  idle: 25h", "f:2:9: timeouts.idle: expected a duration from 1ms to 24h, got "
                                   "\"25h\""},
        {"timeouts: {idle: 18446744073709551615}",
         "f:1:18: timeouts.idle: expected a duration from 1ms to 24h, got 18446744073709551615"},
        {"limits: {body_size: 16kb}",
         "f:1:21: limits.body_size: expected a size such as \"16KB\" or 4096 (bytes), got "
         "\"16kb\""},
        {"limits: {body_size: 2GB}",
         "f:1:21: limits.body_size: expected a size from 0 to 1GB, got \"2GB\""},
        {"log: {level: verbose}", "f:1:14: log.level: expected \"error\", \"warn\", \"info\", "
                                  "\"debug\" or \"off\", got \"verbose\""},
        {"log: {format: xml}", "f:1:15: log.format: expected \"text\" or \"json\", got \"xml\""},
        {"tls: {min_version: 1.1}",
         "f:1:20: tls.min_version: expected \"1.2\" or \"1.3\", got 1.1"},
        {"tls: {certificate: 5}", "f:1:20: tls.certificate: expected the path of a file, got 5"},
        {"tls: {certificate: \"\"}",
         "f:1:20: tls.certificate: expected the path of a file, got \"\""},
        {"tls: {key: \"a\\0b\"}",
         "f:1:12: tls.key: expected the path of a file, got \"a\\u0000b\""},
        {"hosts: [ok, \"http://x\"]",
         "f:1:13: hosts[1]: expected a host such as \"example.org\", \"example.org:8080\", "
         "\"*.example.org\" or \"[::1]\", got \"http://x\""},
        {"hosts: 5", "f:1:8: hosts: expected a list of strings, got 5"},
        {"hosts: []", "f:1:8: hosts: expected at least one entry, got an empty list"},
        {"hosts: [5]", "f:1:9: hosts[0]: expected a host such as \"example.org\", "
                       "\"example.org:8080\", \"*.example.org\" or \"[::1]\", got 5"},
        {"origins: example.org",
         "f:1:10: origins: expected an origin such as \"https://example.org\" or "
         "\"http://localhost:3000\", got \"example.org\""},
        {"log: {levels: [net]}", "f:1:15: log.levels: expected a mapping of components to levels "
                                 "such as \"net: debug\", got a list"},
        {"log: {levels: {net: loud}}",
         "f:1:21: log.levels.net: expected \"error\", \"warn\", \"info\", \"debug\" or \"off\", "
         "got \"loud\""},
        {"log: {levels: {\"a b\": info}}",
         "f:1:16: log.levels.\"a b\": expected the name of a component such as \"net\""},
        {"limits: 5", "f:1:9: limits: expected a mapping of keys to values, got 5"},
        {"- a", "f:1:1: expected a mapping of keys to values, got a list"},
        {"hello", "f:1:1: expected a mapping of keys to values, got \"hello\""},
        {"listen: []", "f:1:9: listen: expected at least one entry, got an empty list"},
        {"listen: 8080", "f:1:9: listen: expected \"HOST:PORT\", \"[IPV6]:PORT\" or "
                         "\"unix:PATH\", got 8080"},
        {"listen: localhost", "f:1:9: listen: expected \"HOST:PORT\", \"[IPV6]:PORT\" or "
                              "\"unix:PATH\", got \"localhost\" (no port)"},
        {"listen:\n  - address: a:1\n  - [a]",
         "f:3:5: listen[1]: expected \"HOST:PORT\", \"[IPV6]:PORT\" or \"unix:PATH\", got a list"},
        {"listen: [{address: \"a:1\\n\"}]",
         "f:1:20: listen[0].address: expected \"HOST:PORT\", \"[IPV6]:PORT\" or \"unix:PATH\", "
         "got \"a:1\\u000a\""},
        {"listen: {tls: true}", "f:1:9: listen: missing key \"address\""},
        {"listen: [{}]", "f:1:10: listen[0]: missing key \"address\""},
        {"a: [1", "f:2:1: did not find expected ',' or ']' while parsing a flow sequence that "
                  "begins on line 1"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++)
        assert_problems(cases[i].text, cases[i].problem);
}

TEST(unknown_keys_get_the_nearest_right_one)
{
    assert_problems(
        "limits:\n  max: 1\n  header_sise: 1\n",
        "f:2:3: limits.max: unknown key; known here: connections, "
        "connections_per_address, header_size, header_fields, target_size, body_size, "
        "body_memory, pipelined_requests, stream_queue, min_body_rate, max_calls, batch, "
        "validation_steps, detached_calls, detached_calls_per_caller, "
        "max_result_size, cache_size, subscriptions, console_streams, token_cache_entries, rates, "
        "calls_per_tool, "
        "calls_per_source, tools, sources\n"
        "f:3:3: limits.header_sise: unknown key; did you mean \"header_size\"?");
    assert_problems("lisetn: a:1\n", "f:1:1: lisetn: unknown key; did you mean \"listen\"?");
    assert_problems("LOOPS: 1\n",
                    "f:1:1: LOOPS: unknown key; known here: listen, loops, tls, hosts, origins, "
                    "trusted_proxies, limits, timeouts, log, access_log, traces, audit, metrics, "
                    "plugins, schema, "
                    "store, access, mcp, toolsets, admin, console, "
                    "translations, state, sources, "
                    "roles, "
                    "unknown_arguments, public_url, page_size, debug_headers");
    /* Too far to left or right. */
    assert_problems("header_size: 1KB\n",
                    "f:1:1: header_size: unknown key here; did you mean \"limits.header_size\"?");
    assert_problems("log:\n  access_log: true\n",
                    "f:2:3: log.access_log: unknown key here; \"access_log\" stands at the top, "
                    "without indentation");
    assert_problems("listen: [{ddress: \"a:1\"}]\n",
                    "f:1:11: listen[0].ddress: unknown key; did you mean \"address\"?");
    /* Nothing in a file can drive a terminal or end a line. */
    assert_problems("\"\\e[2J\\n\": 1\n",
                    "f:1:1: \"\\u001b[2J\\u000a\": unknown key; known here: listen, loops, tls, "
                    "hosts, origins, trusted_proxies, limits, timeouts, log, access_log, traces, "
                    "audit, metrics, plugins, "
                    "schema, store, "
                    "access, mcp, toolsets, admin, console, translations, "
                    "state, sources, "
                    "roles, unknown_arguments, public_url, page_size, debug_headers");
}

TEST(lists_have_ceilings)
{
    static const struct {
        const char *front, *item, *back;
        unsigned max;
    } cases[] = {
        {"listen: [", "\"a:0\",", "]", 16},
        {"hosts: [", "a,", "]", 1000},
        {"origins: [", "http://a,", "]", 1000},
        {"roles: {a: [", "p,", "]}", 1000},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_buf b;
        cw_buf_init(&b, 1 << 16);
        cw_buf_add(&b, cw_str_from(cases[i].front));
        for (unsigned n = 0; n < cases[i].max; n++)
            cw_buf_add(&b, cw_str_from(cases[i].item));
        size_t full = b.n;
        cw_buf_printf(&b, "%s%c", cases[i].back, '\0');
        cw_config_unref(config_of(b.p));
        b.n = full;
        cw_buf_printf(&b, "%s%s%c", cases[i].item, cases[i].back, '\0');
        char expected[128];
        unsigned column = (unsigned)strlen(cases[i].front);
        snprintf(expected, sizeof expected, "f:1:%u: %.*s%s: expected at most %u entries, got %u",
                 column, (int)strcspn(cases[i].front, ":"), cases[i].front,
                 strchr(cases[i].front, '{') ? ".a" : "", cases[i].max, cases[i].max + 1);
        assert_problems(b.p, expected);
        cw_buf_done(&b);
    }
}

TEST(levels_have_a_ceiling)
{
    cw_buf b;
    cw_buf_init(&b, 1 << 16);
    cw_buf_add(&b, CW_STR("log: {levels: {"));
    for (unsigned i = 0; i < 64; i++)
        cw_buf_printf(&b, "c%u: info,", i);
    size_t full = b.n;
    cw_buf_printf(&b, "}}%c", '\0');
    cw_config *c = config_of(b.p);
    assert_int_equal(c->log.levels.n, 64);
    cw_config_unref(c);
    b.n = full;
    cw_buf_printf(&b, "more: info}}%c", '\0');
    assert_problems(b.p, "f:1:15: log.levels: expected at most 64 entries, got 65");
    cw_buf_done(&b);
}

TEST(sources_methods_and_roles_have_ceilings)
{
    static const struct {
        const char *front, *item, *back, *problem;
        unsigned max;
    } cases[] = {
        {"sources: [", "{name: s%u, url: \"http://a\"},", "]",
         "f:1:10: sources: expected at most 500 entries, got 501", 500},
        {"sources: {name: a, url: \"http://a\", methods: [", "m%u,", "]}",
         "f:1:46: sources.methods: expected at most 10000 entries, got 10001", 10000},
        {"sources: {name: a, url: \"http://a\", headers: {", "h%u: x,", "}}",
         "f:1:46: sources.headers: expected at most 100 entries, got 101", 100},
        {"sources: {name: a, command: c, environment: {", "E%u: x,", "}}",
         "f:1:45: sources.environment: expected at most 100 entries, got 101", 100},
        {"sources: {name: a, command: [", "c%u,", "]}",
         "f:1:29: sources.command: expected at most 256 entries, got 257", 256},
        {"sources: {name: a, url: \"http://a\", init_calls: [", "p%u,", "]}",
         "f:1:49: sources.init_calls: expected at most 32 entries, got 33", 32},
        {"sources: {name: a, url: \"http://a\", methods: {method: m, params: {", "p%u: ,", "}}}",
         "f:1:66: sources.methods.params: expected at most 1000 entries, got 1001", 1000},
        {"roles: {", "r%u: ,", "}", "f:1:8: roles: expected at most 100 entries, got 101", 100},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        cw_buf b;
        cw_buf_init(&b, 1 << 20);
        cw_buf_add(&b, cw_str_from(cases[i].front));
        size_t full = 0;
        for (unsigned n = 0; n <= cases[i].max; n++) {
            const char *gap = strstr(cases[i].item, "%u");
            full = b.n;
            cw_buf_printf(&b, "%.*s%u%s", (int)(gap - cases[i].item), cases[i].item, n, gap + 2);
        }
        cw_buf_printf(&b, "%s%c", cases[i].back, '\0');
        assert_problems(b.p, cases[i].problem);
        b.n = full;
        cw_buf_printf(&b, "%s%c", cases[i].back, '\0');
        cw_config_unref(config_of(b.p));
        cw_buf_done(&b);
    }
}

TEST(rates_are_read_with_their_bursts)
{
    cw_config *c =
        config_of("limits:\n  rates: {global: 10/s, tool: 600/m burst 20, caller: null}\n"
                  "  tools:\n    - {name: a.b, rate: 1/h, calls: 3}\n");
    assert_int_equal(c->limits.rates.global.n, 10);
    assert_int_equal(c->limits.rates.global.period_ms, 1000);
    assert_int_equal(c->limits.rates.global.burst, 10);
    assert_int_equal(c->limits.rates.tool.n, 600);
    assert_int_equal(c->limits.rates.tool.period_ms, 60000);
    assert_int_equal(c->limits.rates.tool.burst, 20);
    assert_int_equal(c->limits.rates.caller.n, 0);
    assert_int_equal(c->limits.rates.address.n, 0);
    assert_int_equal(c->limits.tools.n, 1);
    assert_int_equal(c->limits.tools.items[0].rate.period_ms, 3600000);
    assert_int_equal(c->limits.tools.items[0].calls, 3);
    cw_config_unref(c);
    static const char *const wrong[] = {"10",    "10/",  "10/d",       "0/s",          "01/s",
                                        "-1/s",  "/s",   "10/s burst", "10/s burst 0", "10/s x",
                                        "10/ss", "1 /s", "1000000/s",  "10/s  burst 5"};
    for (size_t i = 0; i < CW_COUNT(wrong); i++) {
        char text[64], problem[160];
        snprintf(text, sizeof text, "limits: {rates: {global: \"%s\"}}", wrong[i]);
        snprintf(problem, sizeof problem,
                 "f:1:26: limits.rates.global: expected a rate such as \"10/s\" or "
                 "\"600/m burst 20\", got \"%s\"",
                 wrong[i]);
        assert_problems(text, problem);
    }
}

TEST(redacted_arguments_are_named_by_pointers)
{
    cw_config *c = config_of("audit: {path: /a, redact: [/password, /a~1b/*/c~0]}\n");
    assert_int_equal(c->audit.redact.n, 2);
    cw_config_unref(c);
    assert_problems("audit: {redact: [password]}\n",
                    "f:1:18: audit.redact[0]: expected a JSON pointer such as \"/password\", got "
                    "\"password\"");
    assert_problems("audit: {redact: [/a~2]}\n",
                    "f:1:18: audit.redact[0]: expected a JSON pointer such as \"/password\", got "
                    "\"/a~2\"");
}

/* A row that is inconsistent in itself would be found only by the user who needs it. */
static void check_table(const cw_key *keys)
{
    for (; keys->name; keys++) {
        assert_non_null(keys->help);
        assert_true(strlen(keys->help) > 3);
        char help[CW_KEY_HELP_SIZE];
        assert_true(strlen(cw_key_help(keys, help)) + 1 < sizeof help); /* not cut */
        assert_true(keys->help[strlen(keys->help) - 1] != '.');
        assert_non_null(keys->type->read);
        assert_non_null(keys->type->write);
        assert_non_null(keys->type->describe);
        assert_true(keys->min <= keys->max);
        if (keys->type->range && keys->size == sizeof(uint32_t))
            assert_true(keys->max <= UINT32_MAX);
        if (keys->type == &cw_type_enum)
            assert_true(keys->size == sizeof(int) || keys->size == sizeof(bool));
        if (keys->type == &cw_type_text || keys->type == &cw_type_scalar ||
            keys->type == &cw_type_strings || keys->type == &cw_type_pairs ||
            keys->type == &cw_type_mapped)
            assert_true(keys->is_valid && keys->expected && keys->pattern);
        if (keys->type == &cw_type_items || keys->type == &cw_type_mapped)
            assert_true(keys->item_size && keys->item_defaults);
        /* The one row of these has no name. */
        if (keys->children && keys->type != &cw_type_pairs)
            check_table(keys->children);
    }
}

TEST(the_table_is_consistent)
{
    check_table(cw_config_root.children);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_file_everything_has_its_default),
        cmocka_unit_test(empty_sections_keep_their_defaults),
        cmocka_unit_test(listen_takes_every_spelling),
        cmocka_unit_test(the_other_keys_fill_their_fields),
        cmocka_unit_test(plugins_and_limits_of_calls_fill_their_fields),
        cmocka_unit_test(pages_and_addresses_are_read_as_configured),
        cmocka_unit_test(schemas_are_read_as_configured),
        cmocka_unit_test(a_source_has_defaults),
        cmocka_unit_test(no_sources_and_no_roles_are_fine),
        cmocka_unit_test(a_source_says_what_can_be_used),
        cmocka_unit_test(roles_have_permissions),
        cmocka_unit_test(wrong_sources_and_roles_are_explained),
        cmocka_unit_test(the_socket_of_a_url_has_a_length),
        cmocka_unit_test(json_files_work),
        cmocka_unit_test(null_unsets_a_path),
        cmocka_unit_test(ranges_hold_at_both_ends),
        cmocka_unit_test(wrong_values_are_explained),
        cmocka_unit_test(unknown_keys_get_the_nearest_right_one),
        cmocka_unit_test(lists_have_ceilings),
        cmocka_unit_test(levels_have_a_ceiling),
        cmocka_unit_test(sources_methods_and_roles_have_ceilings),
        cmocka_unit_test(rates_are_read_with_their_bursts),
        cmocka_unit_test(redacted_arguments_are_named_by_pointers),
        cmocka_unit_test(the_table_is_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
