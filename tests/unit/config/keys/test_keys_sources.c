/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every key of a service: that its value arrives, what is said of a wrong one, and that none is
 * forgotten when two services are compared. */
#include "support/config_fixture.h"

#include "config/keys/keys.h"
#include "config/overlay.h"
#include "support/oom.h"

TEST(the_addresses_of_a_service_fill_their_fields)
{
    cw_config *c = config_of("sources:\n"
                             "  - name: a\n"
                             "    preset: aria2\n"
                             "    url: https://h:8443/rpc\n"
                             "    http_method: AUTO\n"
                             "    headers: {X-Tenant: 5, X-Debug: true, X-Empty: , X-T: \"a b\"}\n"
                             "    tls: {ca_file: ca.pem, certificate: /c.pem, key: k.pem,\n"
                             "      server_name: s}\n"
                             "    proxy: http://p:3128\n"
                             "\n"
                             "  - name: b\n"
                             "    command: [clangd, --log=error, \"\"]\n"
                             "    environment: {A: \"x\\ny\", B_1: 1e5}\n"
                             "    working_directory: work\n"
                             "    framing: content-length\n"
                             "  - {name: c, command: clangd}\n"
                             "  - {name: d, url: \"unix:d.sock\", command: []}\n"
                             "  - {name: e, url: tcp://h:1}\n"
                             "  - {name: f, url: ws://h/s, tls: , headers: , environment: }\n");
    assert_int_equal(c->sources.n, 6);
    const cw_config_remote *s = c->sources.items;
    assert_int_equal(s[0].line, 2);
    assert_string_equal(s[0].preset.p, "aria2");
    assert_string_equal(s[0].url.p, "https://h:8443/rpc");
    assert_string_equal(s[0].http_method.p, "AUTO");
    assert_int_equal(s[0].headers.n, 4);
    assert_string_equal(s[0].headers.items[0].name.p, "X-Tenant");
    assert_string_equal(s[0].headers.items[0].value.p, "5");
    assert_string_equal(s[0].headers.items[1].value.p, "true");
    assert_string_equal(s[0].headers.items[2].value.p, "");
    assert_string_equal(s[0].headers.items[3].value.p, "a b");
    assert_string_equal(s[0].tls.ca_file.p, "/etc/causeway/ca.pem");
    assert_string_equal(s[0].tls.certificate.p, "/c.pem");
    assert_string_equal(s[0].tls.key.p, "/etc/causeway/k.pem");
    assert_string_equal(s[0].tls.server_name.p, "s");
    assert_string_equal(s[0].proxy.p, "http://p:3128");
    assert_int_equal(s[1].line, 11);
    assert_string_equal(s[1].url.p, "");
    assert_int_equal(s[1].command.n, 3);
    assert_string_equal(s[1].command.items[0].p, "clangd");
    assert_string_equal(s[1].command.items[2].p, "");
    assert_int_equal(s[1].environment.n, 2);
    assert_string_equal(s[1].environment.items[0].value.p, "x\ny");
    assert_string_equal(s[1].environment.items[1].name.p, "B_1");
    assert_string_equal(s[1].environment.items[1].value.p, "1e5");
    assert_string_equal(s[1].folder.p, "/etc/causeway/work");
    assert_string_equal(s[1].framing.p, "content-length");
    assert_int_equal(s[2].command.n, 1);
    assert_string_equal(s[3].url.p, "unix:/etc/causeway/d.sock");
    assert_int_equal(s[3].command.n, 0);
    assert_string_equal(s[4].url.p, "tcp://h:1");
    assert_string_equal(s[5].url.p, "ws://h/s");
    assert_int_equal(s[5].headers.n, 0);
    cw_config_unref(c);
}

TEST(how_a_service_speaks_fills_its_fields)
{
    cw_config *c = config_of("sources:\n"
                             "  name: a\n"
                             "  url: http://a\n"
                             "  dialect: 1.0\n"
                             "  params: positional\n"
                             "  ids: string\n"
                             "  empty_params: send\n"
                             "  match_replies: http_exchange\n"
                             "  init_calls:\n"
                             "    - hello\n"
                             "    - {method: login, params: [u, {p: null}], notify: true}\n"
                             "    - {method: zero, params: 0}\n"
                             "  speaks_first: yes\n"
                             "  handshake: {status: 409, header: X-Session-Id}\n"
                             "  answers_to_service: {echo: $params, x: null, \"y\": [1.0]}\n"
                             "  change_notifications: [changed, tools/listChanged]\n"
                             "  secret: {as: first_param, name: n, prefix: \"token: \", file: s}\n"
                             "  oauth:\n"
                             "    token_url: https://login/token\n"
                             "    client_id: me\n"
                             "    client_secret_environment: OAUTH_1\n"
                             "    scope: a b\n"
                             "    audience: https://a\n");
    const cw_config_remote *s = c->sources.items;
    assert_string_equal(s->dialect.p, "1.0");
    assert_string_equal(s->params.p, "positional");
    assert_string_equal(s->ids.p, "string");
    assert_string_equal(s->empty_params.p, "send");
    assert_string_equal(s->match_replies.p, "http_exchange");
    assert_int_equal(s->init_calls.n, 3);
    assert_string_equal(s->init_calls.items[0].method.p, "hello");
    assert_string_equal(s->init_calls.items[0].params.p, "");
    assert_false(s->init_calls.items[0].notify);
    assert_string_equal(s->init_calls.items[1].params.p, "[\"u\",{\"p\":null}]");
    assert_true(s->init_calls.items[1].notify);
    assert_string_equal(s->init_calls.items[2].params.p, "0");
    assert_string_equal(s->greeting.p, "yes");
    assert_int_equal(s->handshake_status, 409);
    assert_string_equal(s->handshake_header.p, "X-Session-Id");
    assert_string_equal(s->replies.p, "{\"echo\":\"$params\",\"x\":null,\"y\":[1.0]}");
    assert_int_equal(s->change_notifications.n, 2);
    assert_string_equal(s->change_notifications.items[1].p, "tools/listChanged");
    assert_string_equal(s->secret.as.p, "first_param");
    assert_string_equal(s->secret.name.p, "n");
    assert_string_equal(s->secret.prefix.p, "token: ");
    assert_string_equal(s->secret.file.p, "/etc/causeway/s");
    assert_string_equal(s->secret.environment.p, "");
    assert_string_equal(s->oauth.token_url.p, "https://login/token");
    assert_string_equal(s->oauth.client_id.p, "me");
    assert_string_equal(s->oauth.client_secret_file.p, "");
    assert_string_equal(s->oauth.client_secret_environment.p, "OAUTH_1");
    assert_string_equal(s->oauth.scope.p, "a b");
    assert_string_equal(s->oauth.audience.p, "https://a");
    cw_config_unref(c);
}

TEST(a_greeting_is_yes_or_no_in_every_spelling)
{
    static const char *const spellings[][2] = {{"yes", "yes"},  {"\"no\"", "no"}, {"true", "yes"},
                                               {"false", "no"}, {"null", ""},     {"", ""}};
    for (size_t i = 0; i < CW_COUNT(spellings); i++) {
        char text[100];
        snprintf(text, sizeof text, "sources: {name: a, url: unix:a, speaks_first: %s}",
                 spellings[i][0]);
        cw_config *c = config_of(text);
        assert_string_equal(c->sources.items[0].greeting.p, spellings[i][1]);
        cw_config_unref(c);
    }
    assert_problems("sources: {name: a, url: unix:a, speaks_first: maybe}",
                    "f:1:47: sources.speaks_first: expected \"yes\" or \"no\", got \"maybe\"");
    assert_problems("sources: {name: a, url: unix:a, speaks_first: \"true\"}",
                    "f:1:47: sources.speaks_first: expected \"yes\" or \"no\", got \"true\"");
}

/* The service's own say in replies can be taken back: {} is an answer, null is none. */
TEST(an_empty_mapping_is_not_nothing)
{
    cw_config *c =
        config_of("sources:\n"
                  "  - {name: a, url: unix:a, answers_to_service: {}, methods: {method: m,\n"
                  "     output: {}, params: {p: {schema: {}, value: {}, default: []}}}}\n"
                  "  - {name: b, url: unix:a, answers_to_service: , methods: {method: m,\n"
                  "     output: , params: {p: {schema: , value: , default: }}}}\n");
    for (size_t i = 0; i < 2; i++) {
        const cw_config_remote *s = &c->sources.items[i];
        const cw_config_param *p = &s->methods.items[0].params.items[0];
        assert_string_equal(s->replies.p, i ? "" : "{}");
        assert_string_equal(s->methods.items[0].output.p, i ? "" : "{}");
        assert_string_equal(p->schema.p, i ? "" : "{}");
        assert_string_equal(p->value.p, i ? "" : "{}");
        assert_string_equal(p->default_value.p, i ? "" : "[]");
    }
    cw_config_unref(c);
}

TEST(what_a_service_offers_fills_its_fields)
{
    cw_config *c = config_of("state: {directory: kept, lock: causeway.lock}\n"
                             "sources:\n"
                             "  name: a\n"
                             "  url: http://a\n"
                             "  discovery: system\n"
                             "  openrpc: o.json\n"
                             "  overlay: more.yaml\n"
                             "  refresh: 0\n"
                             "  on_change: warn\n"
                             "  connect_timeout: 1s\n"
                             "  first_byte_timeout: 2s\n"
                             "  queue: 0\n"
                             "  retries: 3\n"
                             "  methods:\n"
                             "    - method: aria2.*\n"
                             "      tool: false\n"
                             "    - method: order\n"
                             "      name: shop.order\n"
                             "      scopes: [content:read, x]\n"
                             "      auth_level: optional\n"
                             "      params:\n"
                             "        secret: {value: [1, \"x\"]}\n"
                             "        \"0\": {rename: gid, description: \"Two\\nlines\",\n"
                             "          schema: {type: string}, default: null, hidden: true,\n"
                             "          required: true}\n"
                             "        bare:\n"
                             "      result_pointer: /items/0\n"
                             "      max_result_size: 64KB\n"
                             "      timeout: 2s\n"
                             "      read_only: true\n"
                             "      cache: 10m\n"
                             "      output: {type: object}\n"
                             "    - {method: l1, auth_level: none}\n"
                             "    - {method: l2, auth_level: required}\n"
                             "    - {method: l3, auth_level: }\n");
    assert_string_equal(c->state.directory.p, "/etc/causeway/kept");
    assert_string_equal(c->state.lock.p, "/etc/causeway/causeway.lock");
    const cw_config_remote *s = c->sources.items;
    assert_string_equal(s->describe.p, "system");
    assert_string_equal(s->openrpc.p, "/etc/causeway/o.json");
    assert_string_equal(s->overlay.p, "/etc/causeway/more.yaml");
    assert_int_equal(s->refresh_ms, 0);
    assert_true(s->warns_only);
    assert_int_equal(s->connect_ms, 1000);
    assert_int_equal(s->first_byte_ms, 2000);
    assert_int_equal(s->queue, 0);
    assert_int_equal(s->retries, 3);
    assert_int_equal(s->methods.n, 5);
    const cw_config_overlay *m = s->methods.items;
    assert_string_equal(m[0].name.p, "");
    assert_int_equal(m[0].level, CW_CONFIG_AUTH_UNSET);
    assert_int_equal(m[0].params.n, 0);
    assert_string_equal(m[0].output.p, "");
    assert_string_equal(m[1].name.p, "shop.order");
    assert_int_equal(m[1].scopes.n, 2);
    assert_string_equal(m[1].scopes.items[0].p, "content:read");
    assert_int_equal(m[1].level, CW_CONFIG_AUTH_OPTIONAL);
    assert_int_equal(m[1].params.n, 3);
    const cw_config_param *p = m[1].params.items;
    assert_string_equal(p[0].name.p, "secret");
    assert_string_equal(p[0].value.p, "[1,\"x\"]");
    assert_false(p[0].hidden);
    assert_string_equal(p[1].name.p, "0");
    assert_string_equal(p[1].rename.p, "gid");
    assert_string_equal(p[1].description.p, "Two\nlines");
    assert_string_equal(p[1].schema.p, "{\"type\":\"string\"}");
    assert_string_equal(p[1].default_value.p, "");
    assert_true(p[1].hidden);
    assert_true(p[1].required);
    assert_false(p[0].required);
    assert_string_equal(p[2].name.p, "bare");
    assert_string_equal(p[2].rename.p, "");
    assert_string_equal(m[1].result.p, "/items/0");
    assert_int_equal(m[1].result_size, 64 << 10);
    assert_int_equal(m[1].timeout_ms, 2000);
    assert_true(m[1].read_only);
    assert_int_equal(m[1].cache_ms, 600000);
    assert_string_equal(m[1].output.p, "{\"type\":\"object\"}");
    assert_int_equal(m[2].level, CW_CONFIG_AUTH_NONE);
    assert_int_equal(m[3].level, CW_CONFIG_AUTH_REQUIRED);
    assert_int_equal(m[4].level, CW_CONFIG_AUTH_UNSET);
    cw_config_unref(c);
}

TEST(wrong_values_are_explained)
{
    static const struct {
        const char *keys, *problem;
    } cases[] = {
        {"prreset: x", "1:35: sources.prreset: unknown key; did you mean \"preset\"?"},
        {"dialect: a b", "1:44: sources.dialect: expected a word such as \"2.0\", got \"a b\""},
        {"dialect: [2.0]", "1:44: sources.dialect: expected a word such as \"2.0\", got a list"},
        {"headers: [a]", "1:44: sources.headers: expected a mapping of names to texts, got a list"},
        {"headers: {\"a b\": x}",
         "1:45: sources.headers.\"a b\": expected the name of a header such "
         "as \"X-Tenant\""},
        {"headers: {A: \"x\\r\\ny\"}", "1:48: sources.headers.A: expected a text without control "
                                       "characters, got a text that is not shown"},
        {"headers: {A: [x]}",
         "1:48: sources.headers.A: expected a text without control characters, got a list"},
        {"tls: {ca_fil: x}", "1:41: sources.tls.ca_fil: unknown key; did you mean \"ca_file\"?"},
        {"tls: x", "1:40: sources.tls: expected a mapping of keys to values, got \"x\""},
        {"handshake: {header: \"X Y\"}",
         "1:55: sources.handshake.header: expected the name of a header such as \"X-Session-Id\", "
         "got \"X Y\""},
        {"handshake: {status: x}",
         "1:55: sources.handshake.status: expected an integer from 0 to 599, got \"x\""},
        {"proxy: \"p:1\"", "1:42: sources.proxy: expected a proxy such as "
                           "\"http://proxy.example:3128\", got \"p:1\""},
        {"init_calls: {params: 1}", "1:47: sources.init_calls: missing key \"method\""},
        {"init_calls: [{method: m, nnotify: true}]",
         "1:60: sources.init_calls[0].nnotify: unknown key; did you mean \"notify\"?"},
        {"answers_to_service: [x]",
         "1:55: sources.answers_to_service: expected a mapping, got a list"},
        {"change_notifications: [\"\"]",
         "1:58: sources.change_notifications[0]: expected the name of a method "
         "such as \"user.get\", got \"\""},
        {"secret: {environment: 1A}",
         "1:57: sources.secret.environment: expected the name of a "
         "variable such as \"API_TOKEN\", got a text that is not shown"},
        {"secret: {sa: bearer}", "1:44: sources.secret.sa: unknown key; did you mean \"as\"?"},
        {"oauth: {token_url: x}", "1:54: sources.oauth.token_url: expected a URL such as "
                                  "\"https://login.example.org/token\", got \"x\""},
        {"on_change: ignore",
         "1:46: sources.on_change: expected \"withhold\" or \"warn\", got \"ignore\""},
        {"methods: {method: m, auth_level: maybe}",
         "1:68: sources.methods.auth_level: expected \"none\", \"optional\" or \"required\", got "
         "\"maybe\""},
        {"methods: {method: m, result_pointer: items}",
         "1:72: sources.methods.result_pointer: expected a JSON pointer such as \"/items\", got "
         "\"items\""},
        {"methods: {method: m, scopes: [\"a b\"]}",
         "1:65: sources.methods.scopes[0]: expected a scope such as \"content:read\", got \"a b\""},
        {"methods: {method: m, output: true}",
         "1:64: sources.methods.output: expected a mapping, got true"},
        {"methods: {method: m, params: [a]}",
         "1:64: sources.methods.params: expected a mapping of names to mappings, got a list"},
        {"methods: {method: m, params: {a: x}}",
         "1:68: sources.methods.params.a: expected a mapping of keys to values, got \"x\""},
        {"methods: {method: m, params: {\"\": {}}}",
         "1:65: sources.methods.params.\"\": expected the name of a parameter such as \"id\""},
        {"methods: {method: m, params: {a: {hhidden: true}}}",
         "1:69: sources.methods.params.a.hhidden: unknown key; did you mean \"hidden\"?"},
        {"methods: {method: m, params: {a: {schema: 5}}}",
         "1:77: sources.methods.params.a.schema: expected a mapping, got 5"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[200], problem[400];
        snprintf(text, sizeof text, "sources: {name: a, url: unix:/ab, %s}", cases[i].keys);
        snprintf(problem, sizeof problem, "f:%s", cases[i].problem);
        assert_problems(text, problem);
    }
}

TEST(what_does_not_go_together_is_told_where_it_stands)
{
    static const struct {
        const char *keys, *problem;
    } cases[] = {
        {"prefix: x.", "2:5: sources[0]: missing key \"url\" or \"command\""},
        {"url: , command: []", "2:5: sources[0]: missing key \"url\" or \"command\""},
        {"url: unix:/a, command: x",
         "2:38: sources[0].command: there is a url already; it is one or the other"},
        {"url: unix:/a, environment: {A: b}", "2:42: sources[0].environment: only for a command"},
        {"url: unix:/a, working_directory: /x",
         "2:48: sources[0].working_directory: only for a command"},
        {"command: [\"\"]", "2:24: sources[0].command: the program has no name"},
        {"command: clangd --log=error", "2:24: sources[0].command: the program and each of its "
                                        "arguments are entries of a list"},
        {"url: unix:/a:/, headers: {X: y, content-LENGTH: 5}",
         "2:63: sources[0].headers.content-LENGTH: this header is set by Causeway itself"},
        {"url: unix:/a:/, headers: {X: y, x: z}",
         "2:50: sources[0].headers.x: the same header twice"},
        {"url: unix:/a, tls: {certificate: c}",
         "2:48: sources[0].tls.certificate: a certificate needs its key"},
        {"url: unix:/a, tls: {key: c}", "2:40: sources[0].tls.key: a key needs its certificate"},
        {"url: unix:/a, secret: {file: f, environment: E}",
         "2:60: sources[0].secret.environment: there is a file already"},
        {"url: unix:/a, oauth: {client_secret_file: f, client_secret_environment: E}",
         "2:87: sources[0].oauth.client_secret_environment: there is a file already"},
        {"url: unix:/a, oauth: {token_url: \"https://a\"}",
         "2:48: sources[0].oauth.token_url: needs client_id"},
        {"url: unix:/a, methods: [m, {method: n, name: x}, {method: o, name: x}]",
         "2:64: sources[0].methods[2]: the same name as methods[1]"},
        {"url: unix:/a, methods: [m, {method: n.*, name: x}]",
         "2:42: sources[0].methods[1]: \"name\" is for one method, and \"method\" may fit several"},
        {"url: unix:/a, methods: {method: \"n?\", name: x}",
         "2:38: sources[0].methods: \"name\" is for one method, and \"method\" may fit several"},
    };
    for (size_t i = 0; i < CW_COUNT(cases); i++) {
        char text[200], problem[400];
        snprintf(text, sizeof text, "sources:\n  - {name: a, %s}", cases[i].keys);
        snprintf(problem, sizeof problem, "f:%s", cases[i].problem);
        assert_problems(text, problem);
    }
    /* A name with a space in it is fine where it cannot be a slip. */
    cw_config_unref(config_of("sources: {name: a, command: [\"/opt/my tools/x\"]}"));
}

/* ---- the table ---- */

static bool is_text(const cw_key_type *type)
{
    const cw_key_type *texts[] = {&cw_type_text, &cw_type_scalar,  &cw_type_path,   &cw_type_url,
                                  &cw_type_json, &cw_type_mapping, &cw_type_object, &cw_type_yes};
    for (size_t i = 0; i < CW_COUNT(texts); i++) {
        if (type == texts[i])
            return true;
    }
    return false;
}

/* Mark the bytes that the keys fill; every text among them has its NUL. */
static void cover(const cw_key *keys, const void *defaults, unsigned char *bytes)
{
    for (; keys->name; keys++) {
        if (keys->type == &cw_type_section) {
            assert_ptr_equal(keys->item_defaults, defaults);
            cover(keys->children, defaults, bytes);
            continue;
        }
        memset(bytes + keys->offset, 1, keys->size);
        if (!is_text(keys->type))
            continue;
        const cw_str *text = cw_key_const_field(keys, defaults);
        if (!text->p || text->p[text->n])
            fail_msg("%s has no text", keys->name);
    }
}

/* A field that no key fills would be forgotten by `config show` and by comparisons. */
static void assert_covers(const cw_key *keys, const void *defaults, size_t size, size_t skip,
                          size_t skipped)
{
    unsigned char bytes[4096] = {0};
    assert_true(size <= sizeof bytes);
    cover(keys, defaults, bytes);
    memset(bytes + skip, 1, skipped);
    /* What is left between fields is padding, shorter than a pointer. */
    for (size_t i = 0, gap = 0; i < size; i++) {
        gap = bytes[i] ? 0 : gap + 1;
        if (gap >= sizeof(void *))
            fail_msg("nothing fills byte %zu", i);
    }
}

static const cw_key *find(const cw_key *keys, const char *name)
{
    while (keys->name && strcmp(keys->name, name) != 0)
        keys++;
    assert_non_null(keys->name);
    return keys;
}

TEST(every_field_has_a_key)
{
    assert_covers(cw_sources_keys, &cw_config_default_remote, sizeof(cw_config_remote),
                  offsetof(cw_config_remote, line), sizeof(uint32_t));
    const cw_key *methods = find(cw_sources_keys, "methods");
    assert_covers(methods->children, methods->item_defaults, sizeof(cw_config_overlay), 0, 0);
    const cw_key *params = find(methods->children, "params");
    assert_covers(params->children, params->item_defaults, sizeof(cw_config_param),
                  offsetof(cw_config_param, name), sizeof(cw_str));
    const cw_key *init_calls = find(cw_sources_keys, "init_calls");
    assert_covers(init_calls->children, init_calls->item_defaults, sizeof(cw_config_init_call), 0,
                  0);
    const cw_key *jobs = find(cw_sources_keys, "jobs");
    assert_covers(jobs->children, jobs->item_defaults, sizeof(cw_config_job), 0, 0);
    const cw_key *notices = find(jobs->children, "notifications");
    assert_covers(notices->children, notices->item_defaults, sizeof(cw_config_job_notice), 0, 0);
}

/* ---- comparisons ---- */

static bool are_equal(const char *a, const char *b)
{
    cw_config *x = config_of(a), *y = config_of(b);
    bool is_equal = cw_config_remote_equal(&x->sources.items[0], &y->sources.items[0]);
    assert_int_equal(cw_config_remote_equal(&y->sources.items[0], &x->sources.items[0]), is_equal);
    cw_config_unref(x);
    cw_config_unref(y);
    return is_equal;
}

/* One value for each key of the table that is not its default. */
static const struct {
    const char *key, *value;
} others[] = {
    {"preset", "x"},
    {"environment", "{A: b}"},
    {"environment_files", "{A: /b}"},
    {"confine.max_memory", "1GB"},
    {"confine.max_open_files", "8"},
    {"confine.max_processes", "8"},
    {"confine.readable", "[/x]"},
    {"confine.writable", "[/x]"},
    {"working_directory", "/x"},
    {"http_method", "GET"},
    {"call_path", "\"/rpc/{method}\""},
    {"headers", "{A: b}"},
    {"header_files", "{A: /b}"},
    {"framing", "x"},
    {"tls.ca_file", "/x"},
    {"tls.certificate", "/x"},
    {"tls.key", "/x"},
    {"tls.server_name", "x"},
    {"proxy", "http://a:1"},
    {"dialect", "1.0"},
    {"params", "x"},
    {"ids", "x"},
    {"empty_params", "x"},
    {"match_replies", "x"},
    {"init_calls", "[m]"},
    {"speaks_first", "no"},
    {"handshake.status", "409"},
    {"handshake.header", "X"},
    {"answers_to_service", "{}"},
    {"change_notifications", "[x]"},
    {"trace", "none"},
    {"protocol", "modern"},
    {"session", "call"},
    {"output", "strict"},
    {"questions", "[none]"},
    {"secret.as", "x"},
    {"secret.name", "x"},
    {"secret.prefix", "x"},
    {"secret.file", "/x"},
    {"secret.environment", "X"},
    {"oauth.token_url", "https://a"},
    {"oauth.client_id", "x"},
    {"oauth.client_secret_file", "/x"},
    {"oauth.client_secret_environment", "X"},
    {"oauth.scope", "x"},
    {"oauth.audience", "x"},
    {"discovery", "x"},
    {"openrpc", "/x"},
    {"overlay", "/x"},
    {"prefix", "x"},
    {"methods", "[m]"},
    {"resources", "[m]"},
    {"templates", "[m]"},
    {"prompts", "[m]"},
    {"events", "{m: {}}"},
    {"jobs", "[{id: /a}]"},
    {"skills", "/x"},
    {"relay_instructions", "true"},
    {"refresh", "1s"},
    {"on_change", "warn"},
    {"timeout", "1s"},
    {"connect_timeout", "1s"},
    {"first_byte_timeout", "1s"},
    {"connections", "1"},
    {"queue", "1"},
    {"retries", "0"},
    /* of methods */
    {"methods[].name", "x"},
    {"methods[].tool", "false"},
    {"methods[].expose_on_jsonrpc", "true"},
    {"methods[].title", "x"},
    {"methods[].description", "x"},
    {"methods[].annotations", "{a: 1}"},
    {"methods[].visibility", "hide"},
    {"methods[].tags", "[x]"},
    {"methods[].permissions", "[x]"},
    {"methods[].scopes", "[x]"},
    {"methods[].auth_level", "none"},
    {"methods[].params", "{a: {}}"},
    {"methods[].result_pointer", "/x"},
    {"methods[].max_result_size", "1"},
    {"methods[].timeout", "1s"},
    {"methods[].task", "always"},
    {"methods[].ui", "{resourceUri: ui://causeway/data.html}"},
    {"methods[].ui_file", "x"},
    {"methods[].null_is_absent", "false"},
    {"methods[].read_only", "true"},
    {"methods[].cache", "1s"},
    {"methods[].output", "{}"},
};

static bool is_listed(const char *prefix, const char *name)
{
    char path[100];
    snprintf(path, sizeof path, "%s%s", prefix, name);
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        if (strcmp(path, others[i].key) == 0)
            return true;
    }
    /* Compared by themselves. */
    return strcmp(path, "name") == 0 || strcmp(path, "url") == 0 || strcmp(path, "command") == 0 ||
           strcmp(path, "methods[].method") == 0;
}

static void assert_listed(const char *prefix, const cw_key *keys)
{
    for (; keys->name; keys++) {
        char inner[100];
        snprintf(inner, sizeof inner, "%s%s.", prefix, keys->name);
        if (keys->type == &cw_type_section)
            assert_listed(inner, keys->children);
        else if (!is_listed(prefix, keys->name))
            fail_msg("no other value of %s%s is tried", prefix, keys->name);
    }
}

/* The pair as a key of a service. Rules are not asked: the comparison is not theirs. */
static void write_other(char *out, size_t n, const char *key, const char *value)
{
    const char *dot = strchr(key, '.');
    if (strncmp(key, "methods[].", 10) == 0)
        snprintf(out, n, "methods: [{method: m, %s: %s}]", dot + 1, value);
    else if (dot)
        snprintf(out, n, "%.*s: {%s: %s}", (int)(dot - key), key, dot + 1, value);
    else
        snprintf(out, n, "%s: %s", key, value);
}

/* Fill an entry from the table alone. */
static void fill(const char *keys, cw_arena *arena, cw_config_remote *ret)
{
    char text[200];
    cw_yaml doc;
    cw_yaml_pos pos;
    cw_config_problems problems;
    cw_err err = {0};
    snprintf(text, sizeof text, "{%s}", keys);
    cw_config_problems_init(&problems);
    assert_int_equal(cw_yaml_read(cw_str_from(text), arena, &doc, &pos, &err), CW_OK);
    cw_checker c = {.doc = &doc, .arena = arena, .problems = &problems, .err = &err};
    const cw_key root = {.type = &cw_type_section, .children = cw_sources_keys};
    const cw_place place = {0};
    *ret = cw_config_default_remote;
    assert_int_equal(cw_type_section.read(&c, &root, &place, doc.root, ret), CW_OK);
    if (problems.total)
        fail_msg("%s: %s", text, problems.items[0].text);
    cw_config_problems_done(&problems);
}

TEST(no_key_is_forgotten_in_a_comparison)
{
    assert_listed("", cw_sources_keys);
    assert_listed("methods[].", find(cw_sources_keys, "methods")->children);
    cw_arena arena;
    cw_arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < CW_COUNT(others); i++) {
        cw_config_remote plain, other, again;
        char keys[150];
        bool is_method = strncmp(others[i].key, "methods[]", 9) == 0;
        write_other(keys, sizeof keys, others[i].key, others[i].value);
        char both[180];
        snprintf(both, sizeof both, "name: a, %s", keys);
        fill(is_method ? "name: a, methods: [m]" : "name: a", &arena, &plain);
        fill(both, &arena, &other);
        fill(both, &arena, &again);
        if (cw_config_remote_equal(&plain, &other) || !cw_config_remote_equal(&other, &again))
            fail_msg("%s is not compared", keys);
    }
    cw_arena_done(&arena);
}

TEST(what_is_said_counts_and_not_where)
{
    assert_true(are_equal("sources: {name: a, url: \"http://a\", methods: m}",
                          "\n\nsources:\n  - name: a\n    methods: [{method: m}]\n"
                          "    url: http://a\n    tls: {}\n    timeout: 30\n"));
    assert_false(are_equal("sources: {name: a, url: unix:/a}", "sources: {name: b, url: unix:/a}"));
    assert_false(are_equal("sources: {name: a, url: unix:/a}", "sources: {name: a, url: unix:/b}"));
    assert_false(
        are_equal("sources: {name: a, command: [x, y]}", "sources: {name: a, command: [x y]}"));
    assert_false(are_equal("sources: {name: a, url: unix:/a, methods: [m, n]}",
                           "sources: {name: a, url: unix:/a, methods: [n, m]}"));
}

static void compare_once(void *ctx)
{
    const cw_config *c = ctx;
    bool is_equal = cw_config_remote_equal(&c->sources.items[0], &c->sources.items[0]);
    assert_int_equal(is_equal, !oom_was_hit());
}

TEST(without_memory_nothing_is_equal)
{
    cw_config *c = config_of("sources: {name: a, url: unix:/a, methods: [m]}");
    assert_true(oom_each(compare_once, c) >= 2);
    cw_config_unref(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_addresses_of_a_service_fill_their_fields),
        cmocka_unit_test(how_a_service_speaks_fills_its_fields),
        cmocka_unit_test(a_greeting_is_yes_or_no_in_every_spelling),
        cmocka_unit_test(an_empty_mapping_is_not_nothing),
        cmocka_unit_test(what_a_service_offers_fills_its_fields),
        cmocka_unit_test(wrong_values_are_explained),
        cmocka_unit_test(what_does_not_go_together_is_told_where_it_stands),
        cmocka_unit_test(every_field_has_a_key),
        cmocka_unit_test(no_key_is_forgotten_in_a_comparison),
        cmocka_unit_test(what_is_said_counts_and_not_where),
        cmocka_unit_test(without_memory_nothing_is_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
