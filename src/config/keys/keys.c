/* SPDX-License-Identifier: GPL-2.0-or-later */
/* keys.c - the table of configuration keys, and the defaults. */
#include "config/keys/keys.h"

#include <stdio.h>

#include "base/ascii.h"
#include "base/langtag.h"
#include "base/limits.h"
#include "config/keys/reading_methods.h"
#include "config/keys/rows.h"

#define MAX_LISTENERS 16u /* CW_SERVER_MAX_LISTENERS of net */
#define MAX_METRICS_LISTENERS 4u
#define MAX_CONSOLE_LISTENERS 4u
#define MAX_OLD_SECRETS 3u /* CW_SEAL_MAX_KEYS of access, without secret_file */
#define MAX_COMPONENTS 64u /* of base/log.h */
#define MAX_LOOPS 64u
#define MAX_HEAD 65535u /* of net/http/http1.h */
#define MAX_CONNECTIONS 1000000u
#define MAX_CALLS 1000000u
#define MAX_SOURCES 500u
#define MAX_CLIENTS 100u
#define MAX_TOOLSETS 100u
#define MAX_CLIENT_PATTERN 256u
#define MAX_STEPS 1000000000u
#define MAX_LIMITED 100u /* tools or sources with ceilings of their own */
#define MAX_ROLES 100u
#define MAX_ISSUERS 16u /* CW_ISSUERS_MAX of access */
#define MAX_AUDIENCES 64u
#define MAX_FOCUS 32u
#define MAX_TRACE_HEADERS 16u /* CW_TRACE_MAX_HEADERS of trace */
#define KB 1024u
#define MB (1024u * KB)
#define GB (1024u * MB)
#define HOUR_MS (3600u * 1000u)

/* ---- defaults ---- */

static const cw_config_listener default_listeners[] = {
    {.address = {.text = CW_STR_INIT("127.0.0.1:8080"),
                 .host = CW_STR_INIT("127.0.0.1"),
                 .unix_path = CW_STR_INIT(""),
                 .port = 8080}},
};
static const cw_config_listener default_listener = {0};
static const cw_config_client default_client = {.name = CW_STR_INIT("")};
static const cw_str default_algorithms[] = {
    CW_STR_INIT("RS256"), CW_STR_INIT("PS256"), CW_STR_INIT("ES256"),
    CW_STR_INIT("ES384"), CW_STR_INIT("EdDSA"),
};
/* Cursor sends it with two others, and one that is refused must not refuse all. */
static const cw_str default_redirects[] = {
    CW_STR_INIT("cursor://anysphere.cursor-mcp/oauth/callback")};

static const cw_config_issuer default_issuer = {
    .issuer = CW_STR_INIT(""),
    .jwks_uri = CW_STR_INIT(""),
    .algorithms = {default_algorithms, CW_COUNT(default_algorithms)},
    .account = CW_STR_INIT(""),
    .introspection = CW_STR_INIT(""),
    .client_id = CW_STR_INIT(""),
    .client_secret_file = CW_STR_INIT(""),
    .token_prefix = CW_STR_INIT(""),
    .ca_file = CW_STR_INIT(""),
    .leeway_ms = CW_TOKEN_LEEWAY_MS,
};
static const cw_str loopback_names[] = {
    CW_STR_INIT("localhost"),
    CW_STR_INIT("127.0.0.1"),
    CW_STR_INIT("[::1]"),
};

const cw_config cw_config_defaults = {
    .listen = {default_listeners, CW_COUNT(default_listeners)},
    .loops = 0,
    .tls = {.certificate = CW_STR_INIT(""),
            .key = CW_STR_INIT(""),
            .min_version = CW_CONFIG_TLS_1_2,
            .ciphers = CW_STR_INIT("ECDHE+AESGCM:ECDHE+CHACHA20")},
    .hosts = {loopback_names, CW_COUNT(loopback_names)},
    .limits = {.connections = CW_HTTP_MAX_CONNECTIONS,
               .connections_per_address = 0,
               .header_size = CW_HTTP_MAX_HEAD,
               .header_fields = CW_HTTP_MAX_FIELDS,
               .target_size = CW_HTTP_MAX_TARGET,
               .body_size = CW_HTTP_MAX_BODY,
               .body_memory = CW_HTTP_MAX_BODY_MEMORY,
               .pipelined_requests = CW_HTTP_MAX_PIPELINED,
               .stream_queue = CW_HTTP_MAX_STREAM_QUEUE,
               .min_body_rate = CW_HTTP_MIN_RATE,
               .max_calls = CW_CALL_MAX_RUNNING,
               .batch = CW_CALL_MAX_BATCH,
               .validation_steps = CW_CALL_MAX_STEPS,
               .detached_calls = CW_CALL_MAX_DETACHED,
               .detached_calls_per_caller = CW_CALL_MAX_DETACHED_PER_CALLER,
               .max_result_size = CW_CALL_MAX_ANSWER,
               .cache_size = CW_PAGE_CACHE_MAX_BYTES,
               .subscriptions = CW_MCP_MAX_STREAMS,
               .console_streams = CW_CONSOLE_STREAMS,
               .token_cache_entries = CW_TOKENS_REMEMBERED},
    .timeouts = {.header_ms = CW_HTTP_HEADER_MS,
                 .body_ms = CW_HTTP_BODY_MS,
                 .idle_ms = CW_HTTP_IDLE_MS,
                 .write_ms = CW_HTTP_WRITE_MS,
                 .drain_ms = CW_HTTP_DRAIN_MS,
                 .linger_ms = CW_HTTP_LINGER_MS,
                 .upgrade_ms = CW_UPGRADE_MS,
                 .sse_keepalive_ms = CW_HTTP_PING_MS},
    .log = {.level = CW_LOG_INFO,
            .format = CW_CONFIG_LOG_TEXT,
            .file = CW_STR_INIT(""),
            .levels = {.text = CW_STR_INIT("")}},
    .access_log = true,
    .traces = {.endpoint = CW_STR_INIT(""),
               .sample = CW_CONFIG_NO_SAMPLE,
               .failures = true,
               .trust = CW_CONFIG_TRUST_CALLERS,
               .spans_per_second = 10000},
    .audit = {.path = CW_STR_INIT(""),
              .rotate_size = CW_AUDIT_ROTATE_BYTES,
              .files = CW_AUDIT_FILES,
              .queue = CW_AUDIT_QUEUE,
              .arguments_size = CW_AUDIT_ARGUMENTS},
    .metrics = {.enabled = true, .tools = CW_METRICS_MAX_TOOLS, .token_file = CW_STR_INIT("")},
    .plugins = {.directory = CW_STR_INIT(""),
                .data = CW_STR_INIT(""),
                .host = CW_STR_INIT(""),
                .workers = CW_PLUGIN_MAX_WORKERS,
                .queue = CW_PLUGIN_MAX_QUEUE,
                .timeout_ms = CW_PLUGIN_CALL_MS,
                .grace_ms = CW_PLUGIN_GRACE_MS,
                .load_ms = CW_PLUGIN_LOAD_MS,
                .idle_ms = CW_PLUGIN_IDLE_MS,
                .max_memory = CW_PLUGIN_MAX_MEMORY,
                .max_open_files = CW_PLUGIN_MAX_FILES},
    .store = {.path = CW_STR_INIT(""),
              .url = CW_STR_INIT(""),
              .password_file = CW_STR_INIT(""),
              .timeout_ms = 2000},
    .admin = {.enabled = true, .socket = CW_STR_INIT(""), .recent_login_ms = 10 * 60000},
    .console = {.enabled = false,
                .path = CW_STR_INIT("/console"),
                .host = CW_STR_INIT(CW_CONSOLE_HOST),
                .history_ms = CW_KEY_DAY_MS,
                .idle_ms = 15 * 60000,
                .lifetime_ms = 8 * HOUR_MS,
                .confirm_ms = 10 * 60000},
    .access = {.password_length = 8,
               .shows_all_scopes = true,
               .login = {.enabled = true,
                         .path = CW_STR_INIT("/login"),
                         .idle_ms = CW_LOGIN_IDLE_MS,
                         .lifetime_ms = CW_LOGIN_LIFETIME_MS,
                         .sessions = CW_LOGIN_SESSIONS},
               .server = {.dynamic_registration = true,
                          .client_documents = true,
                          .client_document_ca_file = CW_STR_INIT(""),
                          .redirect_uris = {default_redirects, CW_COUNT(default_redirects)},
                          .access_token_ms = 30 * 60000,
                          .grant_idle_ms = 14 * (size_t)CW_KEY_DAY_MS,
                          .grant_lifetime_ms = 90 * (size_t)CW_KEY_DAY_MS,
                          .refresh_grace_ms = 60000,
                          .grants = 200,
                          .access_tokens = 1000}},
    .schema = {.default_draft = CW_SCHEMA_2020_12, .assert_formats = true},
    .state = {.directory = CW_STR_INIT(""), .lock = CW_STR_INIT("")},
    .translations = {.directory = CW_STR_INIT(""),
                     .default_value = CW_STR_INIT("en"),
                     .source_language = CW_STR_INIT("en"),
                     .max_size = CW_TRANSLATIONS_MAX_BYTES},
    .mcp = {.path = CW_STR_INIT("/mcp"),
            .legacy_sessions = true,
            .session_ms = CW_MCP_SESSION_MS,
            .elicitation_timeout_ms = CW_MCP_ELICIT_MS,
            .log_level = CW_LOG_INFO,
            .page_size = CW_MCP_PAGE_SIZE,
            .secret_file = CW_STR_INIT(""),
            .tool_names = CW_CONFIG_FORM_PORTABLE,
            .schemas = CW_CONFIG_FORM_PORTABLE,
            .null_is_absent = true,
            .kept_results = {.ttl_ms = CW_MCP_KEPT_MS,
                             .max_size = CW_MCP_KEPT_BYTES,
                             .max_per_caller = CW_MCP_KEPT_CALLER_BYTES},
            .tasks = {.enabled = true,
                      .grace_ms = CW_TASK_GRACE_MS,
                      .ttl_ms = CW_TASK_TTL_MS,
                      .poll_ms = CW_TASK_POLL_MS,
                      .max = CW_TASK_MAX,
                      .max_per_caller = CW_TASK_MAX_PER_CALLER,
                      .max_size = CW_TASK_BYTES,
                      .max_size_per_caller = CW_TASK_CALLER_BYTES},
            .events = {.ca_file = CW_STR_INIT(""),
                       .webhook_ttl_ms = CW_WEBHOOK_TTL_MS,
                       .max_webhooks = CW_WEBHOOK_MAX,
                       .max_webhooks_per_caller = CW_WEBHOOK_MAX_PER_CALLER},
            .name = CW_STR_INIT("local.causeway/causeway"),
            .title = CW_STR_INIT("Causeway"),
            .description = CW_STR_INIT("JSON-RPC methods as MCP tools"),
            .website = CW_STR_INIT(""),
            .instructions = CW_STR_INIT("")},
    .public_url = CW_STR_INIT(""),
    .page_size = CW_PAGE_SIZE,
};

/* ---- the table ---- */

#define FIELD(field) CW_KEY_AT(cw_config, field)

static const cw_choice tls_versions[] = {
    {"1.2", CW_CONFIG_TLS_1_2},
    {"1.3", CW_CONFIG_TLS_1_3},
    {0},
};
static const cw_choice log_levels[] = {
    {"error", CW_LOG_ERROR}, {"warn", CW_LOG_WARN}, {"info", CW_LOG_INFO},
    {"debug", CW_LOG_DEBUG}, {"off", CW_LOG_OFF},   {0},
};
const cw_choice cw_config_forms[] = {
    {"portable", CW_CONFIG_FORM_PORTABLE},
    {"exact", CW_CONFIG_FORM_EXACT},
    {0},
};
static const cw_choice log_formats[] = {
    {"text", CW_CONFIG_LOG_TEXT},
    {"json", CW_CONFIG_LOG_JSON},
    {0},
};

static const cw_choice drafts[] = {
    {"2020-12", CW_SCHEMA_2020_12},
    {"draft-07", CW_SCHEMA_DRAFT_07},
    {0},
};

static const cw_choice approvals[] = {{"file", false}, {"store", true}, {0}};

static const cw_choice unknown_arguments[] = {
    {"reject", false},
    {"ignore", true},
    {0},
};

#define PERMISSIONS                                                                                \
    .max = CW_KEY_MAX_NAMES, .is_valid = cw_check_is_clean,                                        \
    .expected = "a permission such as \"access content\"", .pattern = CW_NAMES_CLEAN_PATTERN

static const cw_key listener_keys[] = {
    {"address", &cw_type_address, "HOST:PORT, [IPV6]:PORT or unix:PATH; port 0 selects a free one",
     CW_KEY_AT(cw_config_listener, address), .is_required = true},
    {"tls", &cw_type_bool, "Use TLS on this address; needs tls.certificate and tls.key",
     CW_KEY_AT(cw_config_listener, tls)},
    {"proxy_protocol", &cw_type_bool,
     "Accept connections of trusted_proxies only, each with a header of the PROXY protocol",
     CW_KEY_AT(cw_config_listener, proxy_protocol)},
    {0},
};

#define CIPHERS_PATTERN "^[-A-Za-z0-9+!@=_:]+$"

/* The characters of a list; whether its names exist is checked by net/server/tls.c. */
static bool is_cipher_list(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (!cw_is_alnum(text.p[i]) && !strchr("-+!@=_:", text.p[i]))
            return false;
    }
    return text.n > 0;
}

static const cw_key tls_keys[] = {
    {"certificate", &cw_type_path, "PEM file with the certificate and its chain",
     FIELD(tls.certificate)},
    {"key", &cw_type_path, "PEM file with the private key", FIELD(tls.key)},
    {"min_version", &cw_type_enum, "Oldest accepted TLS version", FIELD(tls.min_version),
     .choices = tls_versions},
    {"ciphers", &cw_type_text, "Ciphers of TLS 1.2 in the form of OpenSSL; TLS 1.3 has its own",
     FIELD(tls.ciphers), .is_valid = is_cipher_list,
     .expected = "a list of OpenSSL such as \"ECDHE+AESGCM:ECDHE+CHACHA20\"",
     .pattern = CIPHERS_PATTERN},
    {0},
};

static const cw_key limits_keys[] = {
    {"connections", &cw_type_integer, "Maximum open connections", FIELD(limits.connections),
     .min = 1, .max = MAX_CONNECTIONS},
    {"connections_per_address", &cw_type_integer,
     "Maximum open connections of one client address; 0 is 512, without a limit for this machine",
     FIELD(limits.connections_per_address), .min = 0, .max = MAX_CONNECTIONS},
    {"header_size", &cw_type_size, "Request line and header fields together; 431 beyond",
     FIELD(limits.header_size), .min = KB, .max = MAX_HEAD},
    {"header_fields", &cw_type_integer, "Number of header fields; 431 beyond",
     FIELD(limits.header_fields), .min = 1, .max = CW_HTTP_MAX_FIELDS},
    {"target_size", &cw_type_size, "Path and query of a request; 414 beyond; at most header_size",
     FIELD(limits.target_size), .min = 64, .max = MAX_HEAD},
    {"body_size", &cw_type_size, "Body of a request; 413 beyond", FIELD(limits.body_size), .min = 0,
     .max = GB},
    {"body_memory", &cw_type_size,
     "Bodies over 16 KB of all requests together; 503 beyond, but one body always fits",
     FIELD(limits.body_memory), .min = 0, .max = INT64_C(64) * GB},
    {"pipelined_requests", &cw_type_integer, "Pipelined requests on one connection",
     FIELD(limits.pipelined_requests), .min = 1, .max = 1000000},
    {"stream_queue", &cw_type_size, "Bytes queued for a slow reader of an event stream",
     FIELD(limits.stream_queue), .min = 4 * KB, .max = GB},
    {"min_body_rate", &cw_type_size,
     "Minimum average rate, in bytes per second, of request bodies and of clients reading a "
     "response; 0 is no minimum",
     FIELD(limits.min_body_rate), .min = 0, .max = GB},
    {"max_calls", &cw_type_integer, "Calls running at once on all event loops together",
     FIELD(limits.max_calls), .min = 1, .max = MAX_CALLS},
    {"batch", &cw_type_integer, "Calls in one JSON-RPC batch", FIELD(limits.batch), .min = 1,
     .max = 10000},
    {"validation_steps", &cw_type_integer,
     "Work to validate the arguments of one request or batch, one result, or the data of one "
     "event; 100000 steps are about 1 ms of CPU",
     FIELD(limits.validation_steps), .min = 1000, .max = MAX_STEPS},
    {"detached_calls", &cw_type_integer,
     "Calls running without a waiting client, on all event loops together: notifications, and "
     "calls of disconnected legacy MCP clients",
     FIELD(limits.detached_calls), .min = 1, .max = MAX_CALLS},
    {"detached_calls_per_caller", &cw_type_integer,
     "The same for one account, or for one network of anonymous callers",
     FIELD(limits.detached_calls_per_caller), .min = 1, .max = MAX_CALLS},
    {"max_result_size", &cw_type_size, "Result of a method", FIELD(limits.max_result_size),
     .min = KB, .max = GB},
    {"cache_size", &cw_type_size, "Cached lists and descriptions, for each event loop",
     FIELD(limits.cache_size), .min = 0, .max = INT64_C(64) * GB},
    {"subscriptions", &cw_type_integer, "Open MCP notification streams",
     FIELD(limits.subscriptions), .min = 0, .max = MAX_CONNECTIONS},
    {"console_streams", &cw_type_integer,
     "Open MCP notification streams with the calls of all callers, one for each tab of the console",
     FIELD(limits.console_streams), .min = 0, .max = 10000},
    {"token_cache_entries", &cw_type_integer,
     "Cached verified tokens of issuers, for each event loop; maximum 16 MB of them",
     FIELD(limits.token_cache_entries), .needs_restart = true, .min = 1, .max = 1000000},
    {"rates", &cw_type_section, "Rates of calls: N/s, N/m or N/h, optionally with \"burst N\"",
     .children = cw_rates_keys},
    {"calls_per_tool", &cw_type_integer, "Calls of one tool running at once; 0 is no limit",
     FIELD(limits.calls_per_tool), .min = 0, .max = MAX_CALLS},
    {"calls_per_source", &cw_type_integer,
     "Calls of one plugin or service running at once; 0 is no limit",
     FIELD(limits.calls_per_source), .min = 0, .max = MAX_CALLS},
    {"tools", &cw_type_items, "Tools with limits of their own", FIELD(limits.tools), .min = 0,
     .max = MAX_LIMITED, .children = cw_limited_tool_keys, .item_size = sizeof(cw_config_limited),
     .item_defaults = &cw_config_default_limited},
    {"sources", &cw_type_items, "Plugins and services with limits of their own",
     FIELD(limits.sources), .min = 0, .max = MAX_LIMITED, .children = cw_limited_source_keys,
     .item_size = sizeof(cw_config_limited), .item_defaults = &cw_config_default_limited},
    {0},
};

static const cw_key timeouts_keys[] = {
    {"header", &cw_type_duration, "Maximum time for the whole head of a request",
     FIELD(timeouts.header_ms), .min = 1, .max = HOUR_MS},
    {"body", &cw_type_duration, "Maximum time between parts of a body", FIELD(timeouts.body_ms),
     .min = 1, .max = HOUR_MS},
    {"idle", &cw_type_duration, "Maximum wait for the next request on an open connection",
     FIELD(timeouts.idle_ms), .min = 1, .max = CW_KEY_DAY_MS},
    {"write", &cw_type_duration, "Maximum wait for a client to read more of a response",
     FIELD(timeouts.write_ms), .min = 1, .max = HOUR_MS},
    {"drain", &cw_type_duration,
     "Maximum time for running requests to finish when the server stops", FIELD(timeouts.drain_ms),
     .min = 0, .max = CW_KEY_DAY_MS},
    {"linger", &cw_type_duration,
     "How long a server that stops waits for the next request on an idle connection",
     FIELD(timeouts.linger_ms), .min = 0, .max = HOUR_MS},
    {"lame_duck", &cw_type_duration,
     "How long a server that stops still accepts connections, while /readyz returns 503",
     FIELD(timeouts.lame_duck_ms), .min = 0, .max = HOUR_MS},
    {"upgrade", &cw_type_duration, "Maximum time for a new process to take over in an upgrade",
     FIELD(timeouts.upgrade_ms), .min = 1, .max = CW_UPGRADE_MS},
    {"sse_keepalive", &cw_type_duration,
     "Silence on an event stream before a keep-alive comment is sent; 0 is never",
     FIELD(timeouts.sse_keepalive_ms), .min = 0, .max = HOUR_MS},
    {0},
};

static const cw_choice trace_modes[] = {
    {"off", CW_CONFIG_TRACE_OFF},
    {"propagate", CW_CONFIG_TRACE_PROPAGATE},
    {"on", CW_CONFIG_TRACE_ON},
    {0},
};

static const cw_choice trace_trusts[] = {
    {"none", CW_CONFIG_TRUST_NONE},
    {"callers", CW_CONFIG_TRUST_CALLERS},
    {"all", CW_CONFIG_TRUST_ALL},
    {0},
};

static const cw_key trace_header_value = {.type = &cw_type_scalar,
                                          .is_valid = cw_names_is_prose,
                                          .expected = CW_NAMES_PROSE_EXPECTED,
                                          .pattern = CW_NAMES_PROSE_PATTERN};

static const cw_key traces_keys[] = {
    {"mode", &cw_type_option,
     "off; propagate: trace contexts are read and sent on; on: spans are recorded; null: on if an "
     "endpoint is configured",
     FIELD(traces.mode), .choices = trace_modes},
    {"endpoint", &cw_type_text,
     "URL of a collector that receives spans with OTLP over HTTP; null: as the OTEL_ variables of "
     "the environment have it",
     FIELD(traces.endpoint), .is_valid = cw_names_is_public_url,
     .expected = "a URL such as \"http://localhost:4318/v1/traces\"",
     .pattern = CW_NAMES_PUBLIC_URL_PATTERN},
    {"headers", &cw_type_pairs, "Headers of requests to the collector", FIELD(traces.headers),
     .max = MAX_TRACE_HEADERS, .children = &trace_header_value, .is_valid = cw_names_is_header,
     .expected = "the name of a header such as \"X-Tenant\"", .pattern = CW_NAMES_HEADER_PATTERN},
    {"sample", &cw_type_ratio,
     "Share of traces that are recorded if the caller has not decided; null: as the OTEL_ "
     "variables of the environment have it, else 0.05",
     FIELD(traces.sample)},
    {"failures", &cw_type_bool, "Record failed calls of traces that are not sampled",
     FIELD(traces.failures)},
    {"trust", &cw_type_enum,
     "Callers whose traces are continued: none, callers with a login, or all; others get a new "
     "trace with a link to theirs",
     FIELD(traces.trust), .choices = trace_trusts},
    {"spans_per_second", &cw_type_integer, "Recorded spans per second; 0: no limit",
     FIELD(traces.spans_per_second), .max = 1000000},
    {"http", &cw_type_bool, "Record a span for the HTTP request of each message, too",
     FIELD(traces.http)},
    {"caller", &cw_type_bool, "Record a pseudonym of the caller, the same in all spans",
     FIELD(traces.caller)},
    {"arguments", &cw_type_bool,
     "Record arguments and results of calls, without the values that audit.redact names",
     FIELD(traces.arguments)},
    {0},
};

#define FOCUS(field, what)                                                                         \
    FIELD(log.focus.field), .max = MAX_FOCUS, .is_valid = cw_check_is_clean,                       \
                            .expected = "the name of a " what, .pattern = CW_NAMES_CLEAN_PATTERN

static const cw_key focus_keys[] = {
    {"tools", &cw_type_strings, "Names of tools, or ids of methods", FOCUS(tools, "tool")},
    {"sources", &cw_type_strings, "Names of plugins and services", FOCUS(sources, "source")},
    {"callers", &cw_type_strings, "Names of callers; anonymous: all callers without a login",
     FOCUS(callers, "caller")},
    {0},
};

static const cw_key log_keys[] = {
    {"level", &cw_type_enum, "Least important level that is logged", FIELD(log.level),
     .choices = log_levels},
    {"format", &cw_type_enum, "Format of log lines: readable text, or JSON", FIELD(log.format),
     .choices = log_formats},
    {"file", &cw_type_path, "File to which lines are appended; null is standard error",
     FIELD(log.file)},
    {"levels", &cw_type_levels, "Levels of single components, such as net: debug",
     FIELD(log.levels), .max = MAX_COMPONENTS, .choices = log_levels,
     .is_valid = cw_names_is_component, .expected = "the name of a component such as \"net\"",
     .pattern = CW_NAMES_COMPONENT_PATTERN},
    {"calls", &cw_type_bool, "Log one line for every call", FIELD(log.calls)},
    {"callers", &cw_type_bool, "Such a line has the name of the caller", FIELD(log.callers)},
    {"focus", &cw_type_section, "Calls that are logged at level debug, whatever the levels are",
     .children = focus_keys},
    {0},
};

static const cw_key metrics_keys[] = {
    {"enabled", &cw_type_bool,
     "Count, and answer GET /metrics to callers with the permission view metrics",
     FIELD(metrics.enabled), .needs_restart = true},
    {"tools", &cw_type_integer,
     "Tools with series of their own, the first that are called; the others count as _OTHER",
     FIELD(metrics.tools), .min = 0, .max = 1000},
    {"listen", &cw_type_items,
     "Addresses that answer GET /metrics and no other request; the other addresses then do not "
     "answer it",
     FIELD(metrics.listen), .needs_restart = true, .min = 0, .max = MAX_METRICS_LISTENERS,
     .children = listener_keys, .item_size = sizeof(cw_config_listener),
     .item_defaults = &default_listener, .shorthand = &listener_keys[0]},
    {"token_file", &cw_type_path,
     "File with a token that allows GET /metrics without an account; null: none",
     FIELD(metrics.token_file)},
    {0},
};

static const cw_key plugins_keys[] = {
    {"directory", &cw_type_path, "Directory of the plugins; null is no plugins",
     FIELD(plugins.directory)},
    {"data", &cw_type_path,
     "Directory for files of plugins (CAUSEWAY_PLUGIN_DATA); null is the directory of the plugins",
     FIELD(plugins.data)},
    {"host", &cw_type_path,
     "Path of causeway-plugin-host; null is the one that was built or installed with this program",
     FIELD(plugins.host), .needs_restart = true},
    {"workers", &cw_type_integer, "Processes of one plugin, for each event loop",
     FIELD(plugins.workers), .min = 1, .max = 64},
    {"queue", &cw_type_integer,
     "Calls of one plugin that wait for a process, for each event loop; rejected beyond",
     FIELD(plugins.queue), .min = 1, .max = MAX_CALLS},
    {"timeout", &cw_type_duration, "Maximum duration of a call; it is cancelled beyond",
     FIELD(plugins.timeout_ms), .min = 1, .max = CW_KEY_DAY_MS},
    {"grace", &cw_type_duration, "Time for a cancelled call to end before its process is killed",
     FIELD(plugins.grace_ms), .min = 0, .max = HOUR_MS},
    {"load_timeout", &cw_type_duration, "Maximum time for a plugin to load and describe itself",
     FIELD(plugins.load_ms), .min = 1, .max = HOUR_MS},
    {"idle_timeout", &cw_type_duration, "Idle time after which a process is ended; 0 is never",
     FIELD(plugins.idle_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"max_memory", &cw_type_size, "Address space of one process; 0 is no limit",
     FIELD(plugins.max_memory), .min = 0, .max = UINT64_C(1024) * GB},
    {"max_open_files", &cw_type_integer, "Open files of one process", FIELD(plugins.max_open_files),
     .min = 8, .max = 65536},
    {"events", &cw_type_mapped, "Events of plugins that clients may receive, named PLUGIN.EVENT",
     FIELD(plugins.events), .max = CW_EVENT_MAX_TYPES, .children = cw_plugin_event_keys,
     .item_size = sizeof(cw_config_event), .item_defaults = &cw_config_default_event,
     .is_valid = cw_config_is_event_name, .expected = "a name such as \"example.tick\"",
     .pattern = CW_EVENT_NAME_PATTERN},
    {0},
};

static const cw_key store_keys[] = {
    {"path", &cw_type_path,
     "Path of the database. The server creates it (mode 0600) at start if it does not exist. It "
     "does not start with an unusable database; it waits for a locked one. null is none",
     FIELD(store.path), .needs_restart = true},
    {"url", &cw_type_text,
     "Database on a PostgreSQL server instead of a file: postgresql://USER@HOST,HOST/DATABASE, "
     "with "
     "parameters of libpq. The server finds the host that accepts changes. It holds no password. "
     "null is none",
     FIELD(store.url), .is_valid = cw_check_is_clean,
     .expected = "a URL such as \"postgresql://causeway@db.example/causeway\"",
     .pattern = "^postgres(ql)?://", .needs_restart = true},
    {"password_file", &cw_type_path,
     "File whose first line is the password for url. null: a password file of libpq, or none",
     FIELD(store.password_file), .needs_restart = true},
    {"timeout", &cw_type_duration,
     "Maximum wait for an answer of the database server. A connection attempt to one host takes at "
     "most as long, but at least 2s",
     FIELD(store.timeout_ms), .min = 100, .max = 60000, .needs_restart = true},
    {"allow_insecure", &cw_type_bool,
     "Also use a database server on another machine that does not prove its name by a certificate",
     FIELD(store.allow_insecure), .needs_restart = true},
    {"listen_url", &cw_type_text,
     "URL for notifications, if url leads to a pooler; off: polling alone; null is url",
     FIELD(store.listen_url), .is_valid = cw_check_is_clean, .expected = "a URL, or off",
     .pattern = "^(postgres(ql)?://|off$)", .needs_restart = true},
    {"name", &cw_type_text, "Name among the servers of the database; null: its host and address",
     FIELD(store.name), .is_valid = cw_check_is_clean, .expected = "a name such as \"east-1\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {0},
};

#define LANGUAGE                                                                                   \
    .is_valid = cw_langtag_is_valid, .expected = "a language such as \"de\" or \"pt-BR\"",         \
    .pattern = CW_LANGTAG_PATTERN

static const cw_key translations_keys[] = {
    {"directory", &cw_type_path, "Directory with .mo files; null: no translations",
     FIELD(translations.directory)},
    {"default", &cw_type_text, "Language for clients that request no available one",
     FIELD(translations.default_value), LANGUAGE},
    {"source_language", &cw_type_text,
     "Language of the texts of plugins and services; it needs no file",
     FIELD(translations.source_language), LANGUAGE},
    {"max_size", &cw_type_size, "Size of all files together", FIELD(translations.max_size),
     .min = KB, .max = GB},
    {0},
};

/* It is compared with a name of as many bytes (door/mcp/mcp_int.h). */
static bool is_client_pattern(cw_str text)
{
    return text.n <= MAX_CLIENT_PATTERN && cw_check_is_clean(text);
}

static const cw_key client_keys[] = {
    {"name", &cw_type_text,
     "Name that the client sends (clientInfo.name); * matches any text, case is ignored",
     CW_KEY_AT(cw_config_client, name), .is_required = true, .is_valid = is_client_pattern,
     .expected = "a line of 1 to 256 bytes", .pattern = CW_NAMES_LINE_PATTERN},
    {"tool_names", &cw_type_option, "Names of tools for this client; null is mcp.tool_names",
     CW_KEY_AT(cw_config_client, tool_names), .choices = cw_config_forms},
    {"schemas", &cw_type_option, "Input schemas for this client; null is mcp.schemas",
     CW_KEY_AT(cw_config_client, schemas), .choices = cw_config_forms},
    {"output_schemas", &cw_type_option,
     "Output schemas in lists for this client: full, or none; null is that of the toolset",
     CW_KEY_AT(cw_config_client, output_schemas), .choices = cw_config_output_details},
    {"descriptions", &cw_type_option,
     "Descriptions in lists for this client: full, or short, their first sentence; null is that of "
     "the toolset",
     CW_KEY_AT(cw_config_client, descriptions), .choices = cw_config_text_details},
    {0},
};

static const cw_key kept_keys[] = {
    {"ttl", &cw_type_duration,
     "How long the caller of a tool can read a result that was cut; 0 is not at all",
     FIELD(mcp.kept_results.ttl_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"max_size", &cw_type_size, "Bytes of such results of all callers together",
     FIELD(mcp.kept_results.max_size), .min = 0, .max = INT64_C(64) * GB},
    {"max_size_per_caller", &cw_type_size,
     "The same for one account, or for one network of anonymous callers",
     FIELD(mcp.kept_results.max_per_caller), .min = 0, .max = GB},
    {0},
};

static const cw_key task_keys[] = {
    {"enabled", &cw_type_bool, "Offer tasks to clients that support them",
     FIELD(mcp.tasks.enabled)},
    {"legacy", &cw_type_bool, "Offer tasks also to clients of protocol version 2025-11-25",
     FIELD(mcp.tasks.legacy)},
    {"grace", &cw_type_duration,
     "A call that takes longer becomes a task; a tool can have another rule",
     FIELD(mcp.tasks.grace_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"ttl", &cw_type_duration, "How long a task can be read, from its creation on",
     FIELD(mcp.tasks.ttl_ms), .min = 1000, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"poll_interval", &cw_type_duration, "How often clients are asked to read a task",
     FIELD(mcp.tasks.poll_ms), .min = 10, .max = HOUR_MS},
    {"max", &cw_type_integer, "Tasks of all callers together, ended ones included",
     FIELD(mcp.tasks.max), .min = 1, .max = CW_TASK_CEILING},
    {"max_per_caller", &cw_type_integer,
     "Tasks of one account, or of one network of anonymous callers",
     FIELD(mcp.tasks.max_per_caller), .min = 1, .max = CW_TASK_CEILING},
    {"max_size", &cw_type_size, "Bytes of all tasks and their results together",
     FIELD(mcp.tasks.max_size), .min = 0, .max = INT64_C(64) * GB},
    {"max_size_per_caller", &cw_type_size,
     "Bytes of the tasks of one account, or of one network of anonymous callers",
     FIELD(mcp.tasks.max_size_per_caller), .min = 0, .max = INT64_C(64) * GB},
    {0},
};

static const cw_key mcp_keys[] = {
    {"path", &cw_type_text, "Path of the endpoint. Its server card is at /server-card below it",
     FIELD(mcp.path), .needs_restart = true, .is_valid = cw_names_is_path,
     .expected = "a path such as \"/mcp\"", .pattern = CW_NAMES_PATH_PATTERN},
    {"legacy_sessions", &cw_type_bool,
     "Create sessions for clients of protocol versions before 2026", FIELD(mcp.legacy_sessions)},
    {"session_lifetime", &cw_type_duration, "Lifetime of a session", FIELD(mcp.session_ms),
     .min = 1000, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"elicitation_timeout", &cw_type_duration,
     "Maximum time for a client to answer an elicitation of a method",
     FIELD(mcp.elicitation_timeout_ms), .min = 1000, .max = CW_KEY_DAY_MS},
    {"log_level", &cw_type_enum,
     "Least important level of the log lines of methods that clients of protocol versions before "
     "2026 get until they send logging/setLevel",
     FIELD(mcp.log_level), .choices = log_levels},
    {"page_size", &cw_type_integer, "Entries on one page of a list", FIELD(mcp.page_size), .min = 1,
     .max = CW_MCP_PAGE_SIZE_MAX},
    {"secret_file", &cw_type_path,
     "File with the secret, at least 32 bytes, that seals what clients carry: sessions, cursors, "
     "the state of an elicitation. null: a secret in the store, or a new one at each start",
     FIELD(mcp.secret_file)},
    {"old_secret_files", &cw_type_paths,
     "Files with former secrets of secret_file, and with the next one before it is used. They open "
     "what clients carry, and seal nothing",
     FIELD(mcp.old_secret_files), .max = MAX_OLD_SECRETS, .is_valid = cw_check_is_clean,
     .expected = "a path such as \"/etc/causeway/old.secret\"", .pattern = CW_NAMES_CLEAN_PATTERN},
    {"tool_names", &cw_type_enum,
     "Names of tools for clients: portable names have at most 48 letters, digits, _ and -, which "
     "every model API accepts; exact names are those of the methods",
     FIELD(mcp.tool_names), .choices = cw_config_forms},
    {"schemas", &cw_type_enum,
     "Input schemas for clients: portable ones use only what every model API accepts; exact ones "
     "are those of the methods. Arguments are always checked against the exact schema",
     FIELD(mcp.schemas), .choices = cw_config_forms},
    {"structured_text", &cw_type_bool,
     "Send results that are texts as structuredContent too, and declare their outputSchema",
     FIELD(mcp.structured_text)},
    {"null_is_absent", &cw_type_bool,
     "Drop null from an optional argument whose schema rejects it: some models send null for what "
     "they leave out",
     FIELD(mcp.null_is_absent)},
    {"clients", &cw_type_items,
     "Clients with settings of their own; the first match by name applies", FIELD(mcp.clients),
     .min = 0, .max = MAX_CLIENTS, .children = client_keys, .item_size = sizeof(cw_config_client),
     .item_defaults = &default_client},
    {"kept_results", &cw_type_section,
     "Results of tools that were too large for a client, for their callers to read in parts",
     .children = kept_keys},
    {"tasks", &cw_type_section, "Calls of tools that outlive their requests",
     .children = task_keys},
    {"events", &cw_type_section, "The events extension (a draft)", .children = cw_mcp_event_keys},
    {"name", &cw_type_text,
     "Name of this server in its card and in registries: a domain of yours in reverse order, then "
     "/ and a name",
     FIELD(mcp.name), .is_valid = cw_names_is_server,
     .expected = "a name such as \"org.example/tools\"", .pattern = CW_NAMES_SERVER_PATTERN},
    {"title", &cw_type_text, "Display name of this server", FIELD(mcp.title),
     .is_valid = cw_check_is_clean, .expected = CW_NAMES_LINE_EXPECTED,
     .pattern = CW_NAMES_LINE_PATTERN},
    {"description", &cw_type_text, "Purpose of this server", FIELD(mcp.description),
     .is_valid = cw_names_is_summary, .expected = "a line of 1 to 100 characters",
     .pattern = CW_NAMES_SUMMARY_PATTERN},
    {"website", &cw_type_text, "URL of a page about this server", FIELD(mcp.website),
     .is_valid = cw_names_is_public_url, .expected = "a URL such as \"https://example.org/about\"",
     .pattern = CW_NAMES_PUBLIC_URL_PATTERN},
    {"instructions", &cw_type_text,
     "What this server is for and when to use it, for the model of the client; maximum 2000 "
     "characters. null: made from the sources that the caller sees",
     FIELD(mcp.instructions), CW_KEY_INSTRUCTIONS},
    {0},
};

static bool is_algorithm(cw_str text)
{
    for (size_t i = 0; i < CW_COUNT(default_algorithms); i++) {
        if (cw_str_eq(text, default_algorithms[i]))
            return true;
    }
    return false;
}

#define ISSUER_URL                                                                                 \
    .is_valid = cw_names_is_issuer, .expected = "a URL such as \"https://login.example.org\"",     \
    .pattern = CW_NAMES_ISSUER_PATTERN
#define POINTER                                                                                    \
    .is_valid = cw_names_is_pointer, .expected = "a JSON pointer such as \"/realm_access/roles\"", \
    .pattern = CW_NAMES_POINTER_PATTERN

static const cw_key scope_keys[] = {
    {"permissions", &cw_type_strings, "Permissions that the scope grants", PERMISSIONS},
    {0},
};

static const cw_key issuer_keys[] = {
    {"issuer", &cw_type_text, "Its identifier, exactly as in its tokens and its metadata",
     CW_KEY_AT(cw_config_issuer, issuer), .is_required = true, ISSUER_URL},
    {"audience", &cw_type_strings,
     "Accepted audiences of its tokens; [] is public_url, and public_url with mcp.path",
     CW_KEY_AT(cw_config_issuer, audience), .max = MAX_AUDIENCES, .is_valid = cw_check_is_clean,
     .expected = "an audience such as \"https://example.org/mcp\"",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"jwks_uri", &cw_type_text, "URL of its keys; null is the value in its metadata",
     CW_KEY_AT(cw_config_issuer, jwks_uri), ISSUER_URL},
    {"algorithms", &cw_type_strings,
     "Accepted signature algorithms: RS256, PS256, ES256, ES384, EdDSA",
     CW_KEY_AT(cw_config_issuer, algorithms), .min = 1, .max = CW_COUNT(default_algorithms),
     .is_valid = is_algorithm, .expected = "RS256, PS256, ES256, ES384 or EdDSA",
     .pattern = "^(RS256|PS256|ES256|ES384|EdDSA)$"},
    {"account_claim", &cw_type_text,
     "Claim with the name of the account for which a token acts, such as /preferred_username; "
     "null: only the claims count",
     CW_KEY_AT(cw_config_issuer, account), POINTER},
    {"roles", &cw_type_strings, "Claims with names of roles, such as /realm_access/roles",
     CW_KEY_AT(cw_config_issuer, roles), .max = MAX_ROLES, POINTER},
    {"scopes", &cw_type_roles, "Permissions that scopes of a token grant",
     CW_KEY_AT(cw_config_issuer, scopes), .max = CW_KEY_MAX_NAMES, .children = scope_keys,
     .is_valid = cw_check_is_clean, .expected = "the name of a role",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"introspection_endpoint", &cw_type_text,
     "URL for introspection of opaque tokens; null is the value in its metadata",
     CW_KEY_AT(cw_config_issuer, introspection), ISSUER_URL},
    {"client_id", &cw_type_text, "Client id for introspection; null: opaque tokens are rejected",
     CW_KEY_AT(cw_config_issuer, client_id), .is_valid = cw_check_is_clean,
     .expected = CW_NAMES_LINE_EXPECTED, .pattern = CW_NAMES_LINE_PATTERN},
    {"client_secret_file", &cw_type_path, "File whose first line is the client secret",
     CW_KEY_AT(cw_config_issuer, client_secret_file)},
    {"token_prefix", &cw_type_text,
     "Prefix of its opaque tokens; null: all opaque tokens are its own. If several issuers have a "
     "client_id, each needs a prefix",
     CW_KEY_AT(cw_config_issuer, token_prefix), .is_valid = cw_names_is_word,
     .expected = "a few letters and digits such as \"acme_\"", .pattern = CW_NAMES_WORD_PATTERN},
    {"ca_file", &cw_type_path,
     "PEM file with the CA certificates trusted for this issuer; null: those of the system",
     CW_KEY_AT(cw_config_issuer, ca_file)},
    {"leeway", &cw_type_duration, "Accepted clock difference",
     CW_KEY_AT(cw_config_issuer, leeway_ms), .min = 0, .max = 300000},
    {"allow_missing_typ", &cw_type_bool,
     "Accept JWTs without the type of an access token (typ: at+jwt, RFC 9068)",
     CW_KEY_AT(cw_config_issuer, allow_missing_typ)},
    {"allow_private", &cw_type_bool,
     "The issuer may be on this machine or in a private network, also without TLS",
     CW_KEY_AT(cw_config_issuer, allow_private)},
    {0},
};

static const cw_choice shown_scopes[] = {
    {"all", true},
    {"visible", false},
    {0},
};

static const cw_key login_keys[] = {
    {"enabled", &cw_type_bool, "Users may log in with a browser; needs store.path or store.url",
     FIELD(access.login.enabled)},
    {"path", &cw_type_text, "Path of the login page", FIELD(access.login.path),
     .needs_restart = true, .is_valid = cw_names_is_path, .expected = "a path such as \"/login\"",
     .pattern = CW_NAMES_PATH_PATTERN},
    {"idle", &cw_type_duration, "Time without activity after which a session ends",
     FIELD(access.login.idle_ms), .min = 1000, .max = 7 * (uint64_t)CW_KEY_DAY_MS},
    {"lifetime", &cw_type_duration,
     "Time after the login at which a session ends, with or without activity",
     FIELD(access.login.lifetime_ms), .min = 1000, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"sessions", &cw_type_integer, "Sessions of one account; a further login ends the oldest",
     FIELD(access.login.sessions), .min = 1, .max = 1000},
    {0},
};

static const cw_key access_keys[] = {
    {"authenticated_only_own", &cw_type_bool,
     "The role authenticated does not have the permissions of anonymous",
     FIELD(access.authenticated_only_own)},
    {"allow_plaintext_passwords", &cw_type_bool,
     "Accept passwords from other machines over connections without TLS; for a proxy that "
     "terminates TLS on another machine",
     FIELD(access.allow_plaintext_passwords)},
    {"password_length", &cw_type_integer, "Minimum number of characters of a new password",
     FIELD(access.password_length), .min = 1, .max = 128},
    {"scopes", &cw_type_scopes,
     "Scopes of your own tools, with or without a label; causeway scope list shows them with the "
     "built-in ones. A tool with a scope that is not on that list is loaded with a warning",
     FIELD(access.scopes), .max = CW_KEY_MAX_NAMES, CW_KEY_SCOPE},
    {"advertised_scopes", &cw_type_enum,
     "Scopes in the metadata for OAuth clients: of all tools, or of tools that every caller can "
     "see",
     FIELD(access.shows_all_scopes), .choices = shown_scopes},
    {"issuers", &cw_type_items, "Authorization servers whose tokens are accepted",
     FIELD(access.issuers), .min = 0, .max = MAX_ISSUERS, .children = issuer_keys,
     .item_size = sizeof(cw_config_issuer), .item_defaults = &default_issuer},
    {"login", &cw_type_section, "Login page for browsers, and its sessions",
     .children = login_keys},
    {"server", &cw_type_section, "Built-in authorization server for OAuth clients",
     .children = cw_server_keys},
    {0},
};

static const cw_key schema_keys[] = {
    {"default_draft", &cw_type_enum, "Dialect of schemas without $schema",
     FIELD(schema.default_draft), .choices = drafts},
    {"assert_formats", &cw_type_bool,
     "Reject values that do not match the format of a schema, such as date-time or email; false: "
     "format is only an annotation",
     FIELD(schema.assert_formats)},
    {0},
};

static const cw_key state_keys[] = {
    {"directory", &cw_type_path,
     "Directory for descriptions of services, so a service that is unreachable at the start still "
     "has its methods; null: none are kept",
     FIELD(state.directory)},
    {"lock", &cw_type_path,
     "File with the approved definitions of tools; null: no check. While it does not exist or "
     "cannot be read, every tool of sources is withheld",
     FIELD(state.lock)},
    {"approvals", &cw_type_enum,
     "Place of the approved definitions of tools: the file of lock, or the database, which all "
     "replicas share. With store, every tool of sources is withheld until its definition is "
     "approved",
     FIELD(state.approvals_in_store), .choices = approvals},
    {0},
};

static const cw_key admin_keys[] = {
    {"enabled", &cw_type_bool,
     "Offer the administration methods (causeway.*) to callers with their permissions, and to "
     "commands through the socket",
     FIELD(admin.enabled), .needs_restart = true},
    {"socket", &cw_type_path,
     "Unix socket for commands of the same user; null: beside the database, or in the state "
     "directory of the user",
     FIELD(admin.socket), .needs_restart = true, .is_local = true},
    {"tools", &cw_type_strings, "Administration methods that are tools; only methods that read",
     FIELD(admin.tools), .min = 0, .max = CW_KEY_MAX_NAMES, .is_valid = cw_config_is_reading_method,
     .expected = "a method that reads, such as \"causeway.status\"; methods that change something "
                 "cannot be tools",
     .pattern = CW_CONFIG_READING_METHOD_PATTERN},
    {"recent_login", &cw_type_duration,
     "Maximum age of a browser session that creates credentials, changes access or approves "
     "definitions",
     FIELD(admin.recent_login_ms), .min = 1000, .max = CW_KEY_DAY_MS},
    {0},
};

static const cw_key console_session_keys[] = {
    {"idle", &cw_type_duration, "Time without activity after which a session ends",
     FIELD(console.idle_ms), .min = 1000, .max = 7 * (uint64_t)CW_KEY_DAY_MS},
    {"lifetime", &cw_type_duration,
     "Time after the login at which a session ends, with or without activity",
     FIELD(console.lifetime_ms), .min = 1000, .max = 30 * (uint64_t)CW_KEY_DAY_MS},
    {"confirm", &cw_type_duration,
     "Time after the login at which changes of access and approvals ask for the password again",
     FIELD(console.confirm_ms), .min = 1000, .max = CW_KEY_DAY_MS},
    {0},
};

static const cw_key console_keys[] = {
    {"enabled", &cw_type_bool, "Serve the console, pages for browsers; needs a database",
     FIELD(console.enabled), .needs_restart = true},
    {"host", &cw_type_text,
     "Host name that only the console and its logins use, because cookies do not know ports",
     FIELD(console.host), .needs_restart = true, .is_valid = cw_names_is_console_host,
     .expected = "a host name without a port, such as \"console.example.org\"",
     .pattern = CW_NAMES_CONSOLE_HOST_PATTERN},
    {"listen", &cw_type_items,
     "Addresses of the console; the others then have no pages for browsers", FIELD(console.listen),
     .needs_restart = true, .is_local = true, .min = 0, .max = MAX_CONSOLE_LISTENERS,
     .children = listener_keys, .item_size = sizeof(cw_config_listener),
     .item_defaults = &default_listener, .shorthand = &listener_keys[0]},
    {"history", &cw_type_duration, "How long the values of charts are kept; 0: none are",
     FIELD(console.history_ms), .min = 0, .max = CW_KEY_DAY_MS},
    {"path", &cw_type_text, "Path of the console", FIELD(console.path), .needs_restart = true,
     .is_valid = cw_names_is_path, .expected = "a path such as \"/console\"",
     .pattern = CW_NAMES_PATH_PATTERN},
    {"session", &cw_type_section, "Sessions of a server with a console",
     .children = console_session_keys},
    {0},
};

static const cw_key role_keys[] = {
    {"permissions", &cw_type_strings, "Permissions of the role", PERMISSIONS},
    {0},
};

static const cw_key top_keys[] = {
    {"listen", &cw_type_items, "Addresses to listen on: one or a list of them", FIELD(listen),
     .needs_restart = true, .is_local = true, .min = 1, .max = MAX_LISTENERS,
     .children = listener_keys, .item_size = sizeof(cw_config_listener),
     .item_defaults = &default_listener, .shorthand = &listener_keys[0]},
    {"loops", &cw_type_integer, "Event loops, each a thread; 0 is one per core", FIELD(loops),
     .needs_restart = true, .is_local = true, .min = 0, .max = MAX_LOOPS},
    {"tls", &cw_type_section, "Certificate of the listeners with \"tls: true\"",
     .children = tls_keys, .is_local = true},
    {"hosts", &cw_type_strings,
     "Accepted values of the Host header: name, name:port, *.name, or * for all", FIELD(hosts),
     .min = 1, .max = CW_KEY_MAX_NAMES, .is_valid = cw_names_is_host,
     .expected = "a host such as \"example.org\", \"example.org:8080\", \"*.example.org\" or "
                 "\"[::1]\"",
     .pattern = CW_NAMES_HOST_PATTERN},
    {"origins", &cw_type_strings,
     "Origins of web pages that may call, in addition to pages of the server itself",
     FIELD(origins), .min = 0, .max = CW_KEY_MAX_NAMES, .is_valid = cw_names_is_origin,
     .expected = "an origin such as \"https://example.org\" or \"http://localhost:3000\"",
     .pattern = CW_NAMES_ORIGIN_PATTERN},
    {"trusted_proxies", &cw_type_strings,
     "Proxies whose X-Forwarded headers are accepted: addresses, networks, or unix",
     FIELD(trusted_proxies), .min = 0, .max = CW_KEY_MAX_NAMES, .is_valid = cw_names_is_network,
     .expected = "an address or network such as \"10.0.0.0/8\", or \"unix\"",
     .pattern = CW_NAMES_NETWORK_PATTERN},
    {"limits", &cw_type_section, "Limits; requests beyond them are rejected",
     .children = limits_keys},
    {"timeouts", &cw_type_section, "Timeouts", .children = timeouts_keys},
    {"log", &cw_type_section, "Log output", .children = log_keys, .is_local = true},
    {"access_log", &cw_type_bool, "Log one line for every request", FIELD(access_log),
     .is_local = true},
    {"traces", &cw_type_section, "Traces: contexts of callers, and spans for a collector",
     .children = traces_keys, .is_local = true},
    {"audit", &cw_type_section, "Audit: records of calls, refusals, logins and changes",
     .children = cw_audit_keys, .is_local = true},
    {"metrics", &cw_type_section, "Metrics for Prometheus", .children = metrics_keys,
     .is_local = true},
    {"plugins", &cw_type_section, "Plugins and the processes that run them",
     .children = plugins_keys},
    {"schema", &cw_type_section, "Validation of arguments and results with JSON Schema",
     .children = schema_keys},
    {"store", &cw_type_section, "Database of accounts", .children = store_keys, .is_local = true},
    {"access", &cw_type_section, "Authentication of callers", .children = access_keys},
    {"mcp", &cw_type_section, "Endpoint for MCP clients", .children = mcp_keys},
    {"toolsets", &cw_type_mapped,
     "Parts of the catalogue with addresses of their own, by name: mcp.path, then /x/NAME",
     FIELD(toolsets), .min = 0, .max = MAX_TOOLSETS, .children = cw_toolset_keys,
     .item_size = sizeof(cw_config_toolset), .item_defaults = &cw_config_default_toolset,
     .is_valid = cw_names_is_source,
     .expected = "a name of 1 to 64 lower-case letters, digits, - and _",
     .pattern = CW_NAMES_SOURCE_PATTERN},
    {"admin", &cw_type_section, "Administration of the running server", .children = admin_keys},
    {"console", &cw_type_section, "Console for browsers", .children = console_keys},
    {"translations", &cw_type_section, "Titles and descriptions of tools in other languages",
     .children = translations_keys},
    {"state", &cw_type_section, "Files about services that are kept between runs",
     .children = state_keys, .is_local = true},
    {"sources", &cw_type_items, "JSON-RPC services", FIELD(sources), .min = 0, .max = MAX_SOURCES,
     .children = cw_sources_keys, .item_size = sizeof(cw_config_remote),
     .item_defaults = &cw_config_default_remote, .line_offset = offsetof(cw_config_remote, line)},
    {"roles", &cw_type_roles, "Permissions of roles", FIELD(roles), .max = MAX_ROLES,
     .children = role_keys, .is_valid = cw_check_is_clean, .expected = "the name of a role",
     .pattern = CW_NAMES_CLEAN_PATTERN},
    {"unknown_arguments", &cw_type_enum,
     "Treatment of calls with arguments that the method does not declare",
     FIELD(ignore_unknown_arguments), .choices = unknown_arguments},
    {"public_url", &cw_type_text,
     "URL of the server for clients, used in the URLs that it returns; null: the Host of the "
     "request",
     FIELD(public_url), .is_valid = cw_names_is_public_url,
     .expected = "a URL such as \"https://example.org\" or \"https://example.org/tools\"",
     .pattern = CW_NAMES_PUBLIC_URL_PATTERN},
    {"page_size", &cw_type_integer, "Tools on one page of /mcp/tools/list", FIELD(page_size),
     .min = 1, .max = CW_PAGE_SIZE_MAX},
    {"debug_headers", &cw_type_bool, "Report cache hits and tags in X-Causeway-Cache headers",
     FIELD(debug_headers), .is_local = true},
    {0},
};

const cw_key cw_config_root = {.type = &cw_type_section, .children = top_keys};

const char *cw_key_help(const cw_key *key, char out[CW_KEY_HELP_SIZE])
{
    char range[CW_KEY_HELP_SIZE / 4] = "";
    if (key->type->range)
        key->type->range(key, range, sizeof range);
    snprintf(out, CW_KEY_HELP_SIZE, "%s%s%s%s%s", key->help, range[0] ? " (" : "", range,
             range[0] ? ")" : "", key->needs_restart ? "; a change needs a restart" : "");
    return out;
}
