/* SPDX-License-Identifier: GPL-2.0-or-later */
/* families.c - the table of metrics, and the values of their labels. */
#include "metrics/families.h"

#include <string.h>

#include "metrics/keep.h"

/* ---- values of labels ---- */

static const char *const mcp_methods[] = {
    "tools/call",
    "tools/list",
    "resources/read",
    "resources/list",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/get",
    "prompts/list",
    "completion/complete",
    "server/discover",
    "subscriptions/listen",
    "tasks/get",
    "tasks/update",
    "tasks/cancel",
    "initialize",
    "ping",
    "logging/setLevel",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "_OTHER",
};
static const char *const error_types[] = {
    "", "tool_error", "-32000", "-32001", "-32020", "-32021", "-32022", "-32603", "_OTHER",
};
static const char *const http_methods[] = {
    "_OTHER", "GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE",
};
static const char *const http_statuses[] = {
    "200", "202", "204", "302", "303", "304", "400", "401", "403",    "404", "405",
    "406", "408", "409", "411", "413", "414", "415", "417", "421",    "422", "426",
    "429", "431", "500", "501", "502", "503", "504", "505", "_OTHER",
};
static const char *const doors[] = {
    "mcp", "jsonrpc", "rest", "stdio", "login", "cli", "signal", "_OTHER",
};
static const char *const outcomes[] = {
    "ok",          "error",  "failed", "asks",      "cancelled", "invalid",
    "unavailable", "hidden", "login",  "forbidden", "scopes",    "too_many",
};
static const char *const limits[] = {
    "global",         "address",          "caller",   "tool",  "lists",
    "calls_per_tool", "calls_per_source", "detached", "calls",
};
static const char *const sides[] = {"arguments", "result"};
static const char *const directions[] = {"listed", "returned"};
static const char *const versions[] = {
    "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "_OTHER",
};
static const char *const transports[] = {"http", "stdio"};
static const char *const clients[] = {
    "claude-ai",
    "claude-code",
    "Claude Desktop",
    "ChatGPT",
    "openai-mcp",
    "codex-mcp-client",
    "cursor-vscode",
    "Cursor",
    "Visual Studio Code",
    "Visual Studio Code - Insiders",
    "windsurf-client",
    "Cline",
    "Roo Code",
    "Zed",
    "goose",
    "gemini-cli-mcp-client",
    "opencode",
    "continue-client",
    "LibreChat",
    "inspector-client",
    "mcp-inspector",
    "mcp",
    "_OTHER",
};
static const char *const answers[] = {"accept",  "decline", "cancel",
                                      "invalid", "timeout", "_OTHER"};
static const char *const streams[] = {"call", "listen", "get"};
static const char *const refused[] = {"total", "address", "memory", "user", "proxy"};
static const char *const rejected[] = {"head", "host", "origin", "body", "timeout", "memory"};
static const char *const tls_versions[] = {"TLSv1.2", "TLSv1.3", "_OTHER"};
static const char *const results[] = {"ok", "failed"};
static const char *const states[] = {"ready", "stale", "down", "broken", "withheld", "loading"};
static const char *const attempts[] = {
    "ok", "error", "timeout", "connect", "broken", "queue_full", "cancelled",
};
static const char *const offers[] = {"offered", "withheld"};
static const char *const origins[] = {"called", "merged", "kept"};
static const char *const drops[] = {"repeated", "limit", "schema", "secret", "memory"};
static const char *const modes[] = {"tool", "resource", "poll", "push", "webhook"};
static const char *const exits[] = {"idle", "crash", "killed", "memory"};
static const char *const lookups[] = {"hit", "miss"};
static const char *const credentials[] = {"password", "token", "session", "_OTHER"};
static const char *const login_outcomes[] = {
    "ok", "wrong", "too_many", "unavailable", "forged", "clear_text", "_OTHER",
};
static const char *const kinds[] = {"call", "refusal", "login", "change", "_OTHER"};
static const char *const lanes[] = {"calls", "security"};
static const char *const spans[] = {"sent", "full", "limited", "large", "failed", "rejected"};
static const char *const loops[] = {
    "main", "0",  "1",  "2",  "3",  "4",  "5",  "6",  "7",  "8",  "9",  "10", "11",
    "12",   "13", "14", "15", "16", "17", "18", "19", "20", "21", "22", "23", "24",
    "25",   "26", "27", "28", "29", "30", "31", "32", "33", "34", "35", "36", "37",
    "38",   "39", "40", "41", "42", "43", "44", "45", "46", "47", "48", "49", "50",
    "51",   "52", "53", "54", "55", "56", "57", "58", "59", "60", "61", "62", "63",
};

/* ---- buckets ---- */

#define US(n) (UINT64_C(1000) * (n))
#define MS(n) (UINT64_C(1000000) * (n))

/* Those of the MCP conventions of OpenTelemetry, with four more for fast methods. */
static const uint64_t call_ns[] = {
    US(500),  MS(1),     MS(2) + US(500), MS(5),     MS(10),     MS(20),
    MS(50),   MS(100),   MS(200),         MS(500),   MS(1000),   MS(2000),
    MS(5000), MS(10000), MS(30000),       MS(60000), MS(120000), MS(300000),
};
static const char *const call_texts[] = {
    "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.02", "0.05", "0.1",   "0.2",
    "0.5",    "1.0",   "2.0",    "5.0",   "10.0", "30.0", "60.0", "120.0", "300.0",
};
static const cw_buckets call_buckets = {call_ns, call_texts, CW_COUNT(call_ns)};

static const uint64_t overhead_ns[] = {
    US(10), US(25), US(50), US(100), US(250), US(500), MS(1), US(2500), MS(10), MS(100),
};
static const char *const overhead_texts[] = {
    "1e-05", "2.5e-05", "5e-05", "0.0001", "0.00025", "0.0005", "0.001", "0.0025", "0.01", "0.1",
};
static const cw_buckets overhead_buckets = {overhead_ns, overhead_texts, CW_COUNT(overhead_ns)};

/* The coarse clock has 4 ms. */
static const uint64_t turn_ns[] = {MS(5),   MS(10),  MS(20),   MS(50),  MS(100),
                                   MS(200), MS(500), MS(1000), MS(5000)};
static const char *const turn_texts[] = {"0.005", "0.01", "0.02", "0.05", "0.1",
                                         "0.2",   "0.5",  "1.0",  "5.0"};
static const cw_buckets turn_buckets = {turn_ns, turn_texts, CW_COUNT(turn_ns)};

/* ---- the table ---- */

#define LIST(label, list)                                                                          \
    {                                                                                              \
        .name = (label), .values = (list), .n = CW_COUNT(list)                                     \
    }
#define TOOL(label)                                                                                \
    {                                                                                              \
        .name = (label), .n = CW_METRICS_TOOLS, .kind = CW_METRICS_TOOL                            \
    }
#define SOURCE(label)                                                                              \
    {                                                                                              \
        .name = (label), .n = CW_METRICS_SOURCES, .kind = CW_METRICS_SOURCE                        \
    }
#define LISTENER                                                                                   \
    {                                                                                              \
        .name = "listener", .n = CW_METRICS_LISTENERS, .kind = CW_METRICS_LISTENER                 \
    }
#define LOOP LIST("loop", loops)

#define COUNTER .type = CW_FAMILY_COUNTER
#define GAUGE .type = CW_FAMILY_GAUGE
#define SET .type = CW_FAMILY_GAUGE, .is_set = true
#define HISTOGRAM .type = CW_FAMILY_HISTOGRAM
#define ALL_ZEROS .zeros = UINT32_MAX
#define NANOSECONDS .scale = UINT64_C(1000000000)
#define MILLISECONDS .scale = 1000

/* OK, failed and unavailable: alerts divide them. */
#define ALERT_OUTCOMES                                                                             \
    (1u << CW_OUTCOME_WORD_OK | 1u << CW_OUTCOME_WORD_FAILED | 1u << CW_OUTCOME_WORD_UNAVAILABLE)

#define OPERATION                                                                                  \
    .name = "mcp_server_operation_duration_seconds",                                               \
    .help = "Duration of an MCP message, from its parsing to its answer.", HISTOGRAM,              \
    .buckets = &call_buckets, .has_exemplars = true

const cw_family cw_families[CW_METRIC_N] = {
    [CW_METRIC_MCP_METHOD] = {OPERATION,
                              .labels = {LIST("mcp_method_name", mcp_methods),
                                         {.name = "error_type",
                                          .values = error_types,
                                          .n = CW_COUNT(error_types),
                                          .omits_first = true}},
                              .n_row_labels = 1},
    [CW_METRIC_MCP_TOOL] = {OPERATION,
                            .labels = {TOOL("gen_ai_tool_name"),
                                       {.name = "error_type",
                                        .values = error_types,
                                        .n = CW_COUNT(error_types),
                                        .omits_first = true}},
                            .n_row_labels = 1, .constant = "mcp_method_name=\"tools/call\"",
                            .continues = true},
    [CW_METRIC_HTTP] =
        {.name = "http_server_request_duration_seconds",
         .help = "Duration of an HTTP request, from its head to the end of its "
                 "response.",
         HISTOGRAM,
         .labels = {{.name = "http_route", .n = CW_METRICS_ROUTES, .kind = CW_METRICS_ROUTE},
                    LIST("http_request_method", http_methods),
                    LIST("http_response_status_code", http_statuses)},
         .n_row_labels = 2,
         .buckets = &call_buckets},
    [CW_METRIC_CALLS] = {.name = "causeway_calls_total",
                         .help = "Calls and refused calls, by the words of the audit.",
                         COUNTER,
                         .labels = {TOOL("tool"), LIST("door", doors), LIST("outcome", outcomes)},
                         .n_row_labels = 1,
                         .zeros = ALERT_OUTCOMES},
    [CW_METRIC_OVERHEAD] = {.name = "causeway_call_overhead_seconds",
                            .help = "Duration of a call without the time of its source.",
                            HISTOGRAM,
                            .labels = {LIST("door", doors)},
                            .buckets = &overhead_buckets,
                            .zeros = 1},
    [CW_METRIC_RUNNING] = {.name = "causeway_calls_running",
                           .help = "Calls that run in a source.",
                           GAUGE,
                           .labels = {SOURCE("source")},
                           .n_row_labels = 1,
                           ALL_ZEROS},
    [CW_METRIC_CALLS_LIMIT] = {.name = "causeway_calls_limit",
                               .help = "Calls that may run at once (limits.max_calls).",
                               SET},
    [CW_METRIC_REFUSALS] = {.name = "causeway_refusals_total",
                            .help = "Calls that were refused before they reached a source.",
                            COUNTER,
                            .labels = {LIST("door", doors), LIST("reason", outcomes)},
                            .zeros = 1u << CW_OUTCOME_WORD_HIDDEN},
    [CW_METRIC_RATE_LIMITED] = {.name = "causeway_rate_limited_total",
                                .help = "Calls and lists that a limit refused.",
                                COUNTER,
                                .labels = {LIST("limit", limits)},
                                ALL_ZEROS},
    [CW_METRIC_SCHEMA_FAILURES] = {.name = "causeway_schema_failures_total",
                                   .help = "Arguments and results that do not match their schema.",
                                   COUNTER,
                                   .labels = {TOOL("tool"), LIST("side", sides)},
                                   .n_row_labels = 1},
    [CW_METRIC_TOKENS] = {.name = "causeway_tokens_total",
                          .help = "Estimated tokens for models, at 4 bytes each: of lists and of "
                                  "results.",
                          COUNTER,
                          .labels = {LIST("direction", directions)},
                          ALL_ZEROS,
                          .scale = 4},
    [CW_METRIC_MCP_MESSAGES] = {.name = "causeway_mcp_messages_total",
                                .help = "MCP messages, by protocol version.",
                                COUNTER,
                                .labels = {LIST("mcp_protocol_version", versions),
                                           LIST("transport", transports)}},
    [CW_METRIC_MCP_CLIENTS] = {.name = "causeway_mcp_clients_total",
                               .help = "Messages that name their client (clientInfo), by the name "
                                       "if it is a known one.",
                               COUNTER,
                               .labels = {LIST("client", clients)}},
    [CW_METRIC_QUESTIONS] = {.name = "causeway_questions_total",
                             .help = "Questions of methods to clients (elicitation), by answer.",
                             COUNTER,
                             .labels = {LIST("outcome", answers)},
                             ALL_ZEROS},
    [CW_METRIC_STREAMS] = {.name = "causeway_streams",
                           .help = "Open event streams.",
                           GAUGE,
                           .labels = {LIST("kind", streams)},
                           ALL_ZEROS},
    [CW_METRIC_CONNECTIONS] = {.name = "causeway_connections",
                               .help = "Open connections.",
                               GAUGE,
                               .labels = {LISTENER},
                               .n_row_labels = 1,
                               ALL_ZEROS},
    [CW_METRIC_CONNECTIONS_TOTAL] = {.name = "causeway_connections_total",
                                     .help = "Accepted connections.",
                                     COUNTER,
                                     .labels = {LISTENER},
                                     .n_row_labels = 1,
                                     ALL_ZEROS},
    [CW_METRIC_CONNECTIONS_REFUSED] = {.name = "causeway_connections_refused_total",
                                       .help = "Connections that were closed at once, by limit.",
                                       COUNTER,
                                       .labels = {LIST("reason", refused)},
                                       ALL_ZEROS},
    [CW_METRIC_REQUESTS_REJECTED] = {.name = "causeway_requests_rejected_total",
                                     .help = "HTTP requests that were rejected before their "
                                             "handler ran.",
                                     COUNTER,
                                     .labels = {LIST("reason", rejected)},
                                     ALL_ZEROS},
    [CW_METRIC_BODY_MEMORY] = {.name = "causeway_body_memory_bytes",
                               .help = "Memory of request bodies over 16 KB "
                                       "(limits.body_memory).",
                               SET},
    [CW_METRIC_TLS_HANDSHAKES] = {.name = "causeway_tls_handshakes_total",
                                  .help = "TLS handshakes of clients.",
                                  COUNTER,
                                  .labels = {LIST("version", tls_versions),
                                             LIST("result", results)}},
    [CW_METRIC_TLS_EXPIRY] = {.name = "causeway_tls_certificate_expiry_timestamp_seconds",
                              .help = "When the certificate of a listener expires.",
                              SET,
                              .labels = {LISTENER},
                              .n_row_labels = 1},
    [CW_METRIC_SOURCE_STATE] = {.name = "causeway_source_state",
                                .help = "1 for the state of a plugin or service, 0 for the others.",
                                SET,
                                .labels = {SOURCE("source"), LIST("state", states)},
                                .n_row_labels = 1,
                                ALL_ZEROS},
    [CW_METRIC_SOURCE_CALL] = {.name = "causeway_source_call_duration_seconds",
                               .help = "Duration of a call in its source, with the time in its "
                                       "queue.",
                               HISTOGRAM,
                               .labels = {SOURCE("source")},
                               .n_row_labels = 1,
                               .buckets = &call_buckets,
                               .has_exemplars = true},
    [CW_METRIC_SOURCE_ATTEMPTS] = {.name = "causeway_source_attempts_total",
                                   .help = "Calls of a source, by result.",
                                   COUNTER,
                                   .labels = {SOURCE("source"), LIST("result", attempts)},
                                   .n_row_labels = 1,
                                   ALL_ZEROS},
    [CW_METRIC_SOURCE_QUEUE] = {.name = "causeway_source_queue",
                                .help = "Calls that wait for a service.",
                                GAUGE,
                                .labels = {SOURCE("source")},
                                .n_row_labels = 1,
                                ALL_ZEROS},
    [CW_METRIC_SOURCE_CONNECTIONS] = {.name = "causeway_source_connections",
                                      .help = "Open connections to a service.",
                                      GAUGE,
                                      .labels = {SOURCE("source")},
                                      .n_row_labels = 1,
                                      ALL_ZEROS},
    [CW_METRIC_SOURCE_BREAKER_OPEN] = {.name = "causeway_source_breaker_open",
                                       .help = "1: the circuit breaker of a source is open, and "
                                               "its calls fail at once.",
                                       SET,
                                       .labels = {SOURCE("source")},
                                       .n_row_labels = 1},
    [CW_METRIC_SOURCE_BREAKER_OPENS] = {.name = "causeway_source_breaker_opens_total",
                                        .help = "How often the circuit breaker of a source "
                                                "opened.",
                                        COUNTER,
                                        .labels = {SOURCE("source")},
                                        .n_row_labels = 1,
                                        ALL_ZEROS},
    [CW_METRIC_SOURCE_REFRESHES] = {.name = "causeway_source_refreshes_total",
                                    .help = "Discoveries of the methods of a source.",
                                    COUNTER,
                                    .labels = {SOURCE("source"), LIST("result", results)},
                                    .n_row_labels = 1,
                                    ALL_ZEROS},
    [CW_METRIC_SOURCE_REFRESHED] = {.name = "causeway_source_refreshed_timestamp_seconds",
                                    .help = "When the methods of a source were last discovered.",
                                    SET,
                                    .labels = {SOURCE("source")},
                                    .n_row_labels = 1,
                                    MILLISECONDS},
    [CW_METRIC_SOURCE_TOOLS] = {.name = "causeway_source_tools",
                                .help = "Tools of a source: offered, or withheld because their "
                                        "definition is not approved.",
                                SET,
                                .labels = {SOURCE("source"), LIST("state", offers)},
                                .n_row_labels = 1,
                                ALL_ZEROS},
    [CW_METRIC_RESULTS] = {.name = "causeway_results_total",
                           .help =
                               "Results of services: called, merged with an equal call, or kept "
                               "from an earlier one.",
                           COUNTER,
                           .labels = {SOURCE("source"), LIST("how", origins)},
                           .n_row_labels = 1,
                           ALL_ZEROS},
    [CW_METRIC_EVENTS_PUBLISHED] = {.name = "causeway_events_published_total",
                                    .help = "Events of a source that were kept for readers.",
                                    COUNTER,
                                    .labels = {SOURCE("source")},
                                    .n_row_labels = 1,
                                    ALL_ZEROS},
    [CW_METRIC_EVENTS_DROPPED] = {.name = "causeway_events_dropped_total",
                                  .help = "Events of a source that were dropped, by reason.",
                                  COUNTER,
                                  .labels = {SOURCE("source"), LIST("reason", drops)},
                                  .n_row_labels = 1,
                                  ALL_ZEROS},
    [CW_METRIC_EVENTS_DELIVERED] = {.name = "causeway_events_delivered_total",
                                    .help = "Events that clients received, by the way they read "
                                            "them. Each client counts.",
                                    COUNTER,
                                    .labels = {SOURCE("source"), LIST("mode", modes)},
                                    .n_row_labels = 1,
                                    ALL_ZEROS},
    [CW_METRIC_EVENT_SUBSCRIBERS] = {.name = "causeway_event_subscribers",
                                     .help = "Open subscriptions to events: waiting tool calls, "
                                             "streams and webhooks, for each event.",
                                     GAUGE,
                                     .labels = {SOURCE("source"), LIST("mode", modes)},
                                     .n_row_labels = 1,
                                     ALL_ZEROS},
    [CW_METRIC_PLUGIN_WORKERS] = {.name = "causeway_plugin_workers",
                                  .help = "Processes of a plugin.",
                                  GAUGE,
                                  .labels = {SOURCE("plugin")},
                                  .n_row_labels = 1,
                                  ALL_ZEROS},
    [CW_METRIC_PLUGIN_QUEUE] = {.name = "causeway_plugin_queue",
                                .help = "Calls that wait for a process of a plugin.",
                                GAUGE,
                                .labels = {SOURCE("plugin")},
                                .n_row_labels = 1,
                                ALL_ZEROS},
    [CW_METRIC_PLUGIN_MEMORY] = {.name = "causeway_plugin_memory_bytes",
                                 .help = "Resident memory of the processes of a plugin.",
                                 SET,
                                 .labels = {SOURCE("plugin")},
                                 .n_row_labels = 1},
    [CW_METRIC_PLUGIN_EXITS] = {.name = "causeway_plugin_exits_total",
                                .help = "Ended processes of a plugin.",
                                COUNTER,
                                .labels = {SOURCE("plugin"), LIST("reason", exits)},
                                .n_row_labels = 1,
                                ALL_ZEROS},
    [CW_METRIC_DOCUMENTS] = {.name = "causeway_documents_total",
                             .help = "Lists and descriptions, from the cache (hit) or written "
                                     "(miss).",
                             COUNTER,
                             .labels = {LIST("result", lookups)},
                             ALL_ZEROS},
    [CW_METRIC_DOCUMENT_BYTES] = {.name = "causeway_document_bytes",
                                  .help = "Cached lists and descriptions.",
                                  GAUGE,
                                  ALL_ZEROS},
    [CW_METRIC_LOGINS] = {.name = "causeway_logins_total",
                          .help = "Logins, by kind of credentials.",
                          COUNTER,
                          .labels = {LIST("credentials", credentials),
                                     LIST("outcome", login_outcomes)},
                          .zeros = 7},
    [CW_METRIC_ISSUER_FETCHES] =
        {.name = "causeway_issuer_fetches_total",
         .help = "Downloads of the keys of an issuer.",
         COUNTER,
         .labels = {{.name = "issuer", .n = CW_METRICS_ISSUERS, .kind = CW_METRICS_ISSUER},
                    LIST("result", results)},
         .n_row_labels = 1,
         ALL_ZEROS},
    [CW_METRIC_STORE_UP] = {.name = "causeway_store_up",
                            .help = "1: the database can be used; 0: it cannot.",
                            SET},
    [CW_METRIC_STORE_QUEUE] = {.name = "causeway_store_queue",
                               .help = "Jobs that wait for the database.",
                               GAUGE},
    [CW_METRIC_STORE_JOB] = {.name = "causeway_store_job_seconds",
                             .help = "Duration of a job of the database.",
                             HISTOGRAM,
                             .buckets = &call_buckets,
                             ALL_ZEROS},
    [CW_METRIC_LETTERS] = {.name = "causeway_letters_total",
                           .help = "Messages to other servers of the database.",
                           COUNTER,
                           ALL_ZEROS},
    [CW_METRIC_AUDIT_RECORDS] = {.name = "causeway_audit_records_total",
                                 .help = "Records of the audit that were queued.",
                                 COUNTER,
                                 .labels = {LIST("kind", kinds)},
                                 ALL_ZEROS},
    [CW_METRIC_AUDIT_LOST] = {.name = "causeway_audit_lost_total",
                              .help = "Records of the audit that found their queue full.",
                              COUNTER,
                              .labels = {LIST("lane", lanes)},
                              ALL_ZEROS},
    [CW_METRIC_AUDIT_FAILING] = {.name = "causeway_audit_failing",
                                 .help = "1: records of the audit cannot be written.",
                                 SET,
                                 ALL_ZEROS},
    [CW_METRIC_AUDIT_QUEUE] = {.name = "causeway_audit_queue_bytes",
                               .help = "Records of the audit that wait to be written.",
                               SET,
                               .labels = {LIST("lane", lanes)},
                               ALL_ZEROS},
    [CW_METRIC_LOG_DROPPED] = {.name = "causeway_log_dropped_total",
                               .help = "Log lines that could not be written.",
                               COUNTER,
                               .is_set = true,
                               ALL_ZEROS},
    [CW_METRIC_SPANS] = {.name = "causeway_spans_total",
                         .help = "Spans: sent to the collector, or dropped by reason.",
                         COUNTER,
                         .is_set = true,
                         .labels = {LIST("result", spans)},
                         ALL_ZEROS},
    [CW_METRIC_FOLDED] = {.name = "causeway_metrics_folded_total",
                          .help = "Names that have no series of their own and count as _OTHER.",
                          COUNTER,
                          ALL_ZEROS},
    [CW_METRIC_LOOP_IDLE] = {.name = "causeway_loop_idle_seconds_total",
                             .help = "Time in which the thread of an event loop did not run.",
                             COUNTER,
                             .is_set = true,
                             .labels = {LOOP},
                             .n_row_labels = 1,
                             NANOSECONDS},
    [CW_METRIC_LOOP_TURN] = {.name = "causeway_loop_turn_seconds",
                             .help = "Duration of a turn of an event loop: how long an event may "
                                     "wait for it.",
                             HISTOGRAM,
                             .labels = {LOOP},
                             .n_row_labels = 1,
                             .buckets = &turn_buckets},
    [CW_METRIC_MAILBOX] = {.name = "causeway_loop_messages",
                           .help = "Messages in the mailbox of an event loop.",
                           SET,
                           .labels = {LOOP},
                           .n_row_labels = 1},
    [CW_METRIC_RELOADS] = {.name = "causeway_reloads_total",
                           .help = "Reloads of the configuration.",
                           COUNTER,
                           .labels = {LIST("result", results)},
                           ALL_ZEROS},
    [CW_METRIC_CONFIG_TIME] = {.name = "causeway_config_timestamp_seconds",
                               .help = "When the configuration in force was read.",
                               SET,
                               MILLISECONDS},
    [CW_METRIC_BUILD] = {.name = "causeway_build_info",
                         .help = "1, with the version as a label.",
                         SET,
                         .constant = "version=\"" CW_VERSION "\""},
    [CW_METRIC_CPU] = {.name = "process_cpu_seconds_total",
                       .help = "CPU time of the process.",
                       COUNTER,
                       .is_set = true,
                       NANOSECONDS},
    [CW_METRIC_MEMORY] = {.name = "process_resident_memory_bytes",
                          .help = "Resident memory of the process.",
                          SET},
    [CW_METRIC_OPEN_FDS] = {.name = "process_open_fds", .help = "Open file descriptors.", SET},
    [CW_METRIC_MAX_FDS] = {.name = "process_max_fds",
                           .help = "Maximum of open file descriptors.",
                           SET},
    [CW_METRIC_START_TIME] = {.name = "process_start_time_seconds",
                              .help = "When the process started.",
                              SET,
                              MILLISECONDS},
};

uint32_t cw_family_series_cells(const cw_family *f)
{
    if (!f->buckets)
        return 1;
    return f->buckets->n + 2 + (f->has_exemplars ? CW_EXEMPLAR_CELLS : 0);
}

static uint32_t count(const cw_family *f, size_t from, size_t to)
{
    uint32_t n = 1;
    for (size_t i = from; i < to; i++)
        n *= f->labels[i].name ? f->labels[i].n : 1;
    return n;
}

uint32_t cw_family_row_series(const cw_family *f)
{
    return count(f, f->n_row_labels, CW_FAMILY_LABELS);
}

uint32_t cw_family_rows(const cw_family *f)
{
    return count(f, 0, f->n_row_labels);
}

/* Most texts are the same as the last time. */
uint32_t cw_metrics_value(cw_metric metric, unsigned label, cw_str text)
{
    CW_METRICS_THREAD_LOCAL struct {
        uint8_t value, length; /* 0: none */
    } last[CW_METRIC_N];       /* of the first label */
    const cw_label *l = &cw_families[metric].labels[label];
    if (!text.n)
        return l->n - 1;
    if (CW_LIKELY(label == 0 && text.n == last[metric].length &&
                  memcmp(l->values[last[metric].value], text.p, text.n) == 0))
        return last[metric].value;
    for (uint32_t i = 0; i < l->n - 1; i++) {
        const char *value = l->values[i];
        if (value[0] != text.p[0] || strncmp(value, text.p, text.n) != 0 || value[text.n] != '\0')
            continue;
        if (label == 0 && text.n <= UINT8_MAX) {
            last[metric].value = (uint8_t)i;
            last[metric].length = (uint8_t)text.n;
        }
        return i;
    }
    return l->n - 1;
}

cw_str cw_metrics_value_text(cw_metric metric, unsigned label, uint32_t value)
{
    return cw_str_from(cw_families[metric].labels[label].values[value]);
}
