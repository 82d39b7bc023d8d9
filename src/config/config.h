/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config.h - the configuration as checked values in one immutable struct.
 *
 * A file (YAML, or JSON, which is YAML too) becomes a JSON document (config/syntax/yaml.h), the
 * document is checked against the table of keys (config/keys/keys.h) and fills this struct.
 * Whatever is not in the file has its default, so every field is always valid.
 *
 *     cw_config_problems problems;
 *     cw_config_problems_init(&problems);
 *     cw_config *config;
 *     cw_code rc = cw_config_load(&(cw_config_source){.path = path}, &config, &problems, err);
 *     if (rc == CW_CONFIG)
 *         for (size_t i = 0; i < problems.n; i++)
 *             fprintf(stderr, "%s\n", problems.items[i].text);
 *     cw_config_problems_done(&problems);
 *
 * Not here: opening what the configuration names (certificates, log files, sockets); each owner
 *            does that and reports it.
 * Ownership: a configuration is reference counted; every string in it lives in its arena. Every
 *            cw_str here has a NUL behind its bytes and none inside, so .p is a C string.
 * Threads:   immutable; may be shared by all loops. References are counted atomically.
 * Limits:    CW_CONFIG_MAX_BYTES and CW_CONFIG_MAX_DEPTH of a file, CW_CONFIG_MAX_PROBLEMS
 * reported.
 */
#ifndef CW_CONFIG_CONFIG_H
#define CW_CONFIG_CONFIG_H

#include "base/arena.h"
#include "base/buf.h"
#include "config/config_log.h"
#include "config/config_server.h"
#include "config/config_toolset.h"
#include "config/config_traces.h"
#include "json/write.h"
#include "schema/schema.h"

#define CW_CONFIG_MAX_PROBLEMS 20u
#define CW_CONFIG_MAX_INSTRUCTIONS 2000u /* characters */

/* An address to listen on. Exactly one of `host` and `unix_path` is not empty. */
typedef struct cw_config_address {
    cw_str text;      /* "127.0.0.1:8080", "[::1]:80" or "unix:/absolute/path" */
    cw_str host;      /* an IPv4 or IPv6 address without brackets, or a name */
    cw_str unix_path; /* absolute, fits sockaddr_un.sun_path */
    uint16_t port;    /* 0: any free port */
} cw_config_address;

typedef struct cw_config_listener {
    cw_config_address address;
    bool tls;
    bool proxy_protocol;
} cw_config_listener;

typedef struct cw_config_listeners {
    const cw_config_listener *items;
    size_t n;
} cw_config_listeners;

typedef enum cw_config_tls_version {
    CW_CONFIG_TLS_1_2,
    CW_CONFIG_TLS_1_3,
} cw_config_tls_version;

/* A role and its permissions; "anonymous" applies to callers without a login, "authenticated" to
 * those with one. */
typedef struct cw_config_role {
    cw_str name;
    cw_config_strings permissions;
} cw_config_role;

typedef struct cw_config_roles {
    const cw_config_role *items;
    size_t n;
} cw_config_roles;

/* Scopes, and what people call them. */
typedef struct cw_config_scopes {
    const cw_str *items;
    size_t n;
    const cw_str *labels; /* one for each; NULL: there are none */
} cw_config_scopes;

/* An authorization server whose tokens are taken. */
typedef struct cw_config_issuer {
    cw_str issuer;              /* unique */
    cw_config_strings audience; /* empty: what public_url makes of us */
    cw_str jwks_uri;            /* empty: what its metadata says */
    cw_config_strings algorithms;
    cw_config_strings roles; /* pointers to claims */
    cw_config_roles scopes;  /* what a scope of a token allows */
    cw_str account;          /* pointer to the claim with an account's name; empty: none */
    cw_str introspection;    /* empty: what its metadata says, when there is a client_id */
    cw_str client_id;
    cw_str client_secret_file;
    cw_str token_prefix; /* of its opaque tokens; empty: all of them are its */
    cw_str ca_file;
    uint32_t leeway_ms;
    bool allow_missing_typ; /* tokens without the type of RFC 9068 */
    bool allow_private;
} cw_config_issuer;

typedef struct cw_config_issuers {
    const cw_config_issuer *items;
    size_t n;
} cw_config_issuers;

/* How MCP doors show names and schemas of tools. */
typedef enum cw_config_form {
    CW_CONFIG_FORM_DEFAULT,  /* of one client: as all others */
    CW_CONFIG_FORM_PORTABLE, /* as every model API accepts it */
    CW_CONFIG_FORM_EXACT,    /* as the method declares it */
} cw_config_form;

/* Settings for MCP clients with a given name. */
typedef struct cw_config_client {
    cw_str name; /* what they call themselves; '*' stands for any text */
    cw_config_form tool_names, schemas;
    cw_config_detail output_schemas, descriptions;
} cw_config_client;

typedef struct cw_config_clients {
    const cw_config_client *items;
    size_t n;
} cw_config_clients;

/* So many in so long, and at once. */
typedef struct cw_config_rate {
    uint32_t n; /* 0: no limit */
    uint32_t period_ms;
    uint32_t burst;
} cw_config_rate;

/* A tool or source with ceilings of its own. */
typedef struct cw_config_limited {
    cw_str name;
    cw_config_rate rate; /* tools only */
    uint32_t calls;      /* running at once; 0: as the others */
} cw_config_limited;

typedef struct cw_config_limiteds {
    const cw_config_limited *items;
    size_t n;
} cw_config_limiteds;

/* Sizes are bytes, times are milliseconds. An unset path is the empty string; a set one is
 * absolute (relative ones are taken from the folder of the file). */
typedef struct cw_config {
    cw_str path; /* of the file; empty: there is none */
    cw_config_listeners listen;
    uint32_t loops; /* 0: one per core */

    struct {
        cw_str certificate; /* both set, or both empty; set when a listener has tls */
        cw_str key;
        cw_config_tls_version min_version;
        cw_str ciphers; /* of TLS 1.2 */
    } tls;

    cw_config_strings hosts;           /* entries as net/http/hostcheck.h takes them */
    cw_config_strings origins;         /* likewise */
    cw_config_strings trusted_proxies; /* entries as net/addr/proxies.h takes them */

    struct {
        uint32_t connections;
        uint32_t connections_per_address; /* 0: CW_HTTP_MAX_PER_ADDRESS, loopback and unix exempt */
        uint32_t header_size;             /* <= 65535, >= target_size */
        uint32_t header_fields;           /* <= CW_HTTP_MAX_FIELDS */
        uint32_t target_size;
        size_t body_size;
        size_t body_memory; /* at least one body of body_size always fits */
        uint32_t pipelined_requests;
        size_t stream_queue;
        uint32_t min_body_rate;                  /* bytes per second; 0: no minimum */
        uint32_t max_calls;                      /* running at once, all loops together */
        uint32_t batch;                          /* calls in one JSON-RPC batch */
        uint32_t validation_steps;               /* of one request, batch or result */
        size_t max_result_size;                  /* result of a method */
        size_t cache_size;                       /* lists and descriptions kept, per loop */
        uint32_t subscriptions, console_streams; /* MCP streams about changes; with calls */
        uint32_t token_cache_entries;            /* of issuers that are remembered, per loop */
        uint32_t detached_calls, detached_calls_per_caller; /* without a waiting client */
        struct {
            cw_config_rate global, address, caller, tool, lists;
        } rates;
        uint32_t calls_per_tool, calls_per_source; /* running at once; 0: any number */
        cw_config_limiteds tools, sources;
    } limits;

    struct {
        uint32_t header_ms;
        uint32_t body_ms;
        uint32_t idle_ms;
        uint32_t write_ms;
        uint32_t drain_ms;     /* 0: stop at once */
        uint32_t linger_ms;    /* 0: idle connections are closed at once */
        uint32_t lame_duck_ms; /* 0: a server stops at once */
        uint32_t upgrade_ms;
        uint32_t sse_keepalive_ms; /* 0: no keep-alive comments */
    } timeouts;

    cw_config_log log;
    bool access_log;
    cw_config_traces traces;

    struct {
        cw_str path; /* empty: nothing is recorded */
        size_t rotate_size, queue, arguments_size;
        uint32_t rotate_ms, files;
        bool arguments;
        cw_config_strings redact; /* JSON pointers */
    } audit;

    struct {
        bool enabled;
        uint32_t tools;             /* names of tools that have series of their own */
        cw_config_listeners listen; /* may be empty: the others answer */
        cw_str token_file;          /* empty: none */
    } metrics;

    struct {
        cw_str directory; /* empty: no plugins */
        cw_str data;      /* where plugins keep files; empty: in the folder of the plugins */
        cw_str host; /* causeway-plugin-host; empty: the one that was built or installed with us */
        uint32_t workers; /* per plugin and loop */
        uint32_t queue;   /* calls that wait, per plugin and loop */
        uint32_t timeout_ms;
        uint32_t grace_ms;
        uint32_t load_ms;
        uint32_t idle_ms;
        size_t max_memory; /* 0: no limit */
        uint32_t max_open_files;
        cw_config_events events; /* that are published; named PLUGIN.EVENT */
    } plugins;

    struct {
        cw_schema_draft default_draft; /* of schemas that do not say */
        bool assert_formats;
    } schema;

    struct {
        cw_str path;               /* database of accounts */
        cw_str url, password_file; /* or one on a server; both empty: logins are off */
        uint32_t timeout_ms;       /* of the server */
        bool allow_insecure;       /* over the network without a certificate */
        cw_str listen_url;         /* for notifications; empty: url; "off": none */
        cw_str name;               /* of this server among those that share it; empty: its host */
    } store;

    struct {
        bool allow_plaintext_passwords; /* taken from other machines without TLS */
        cw_config_scopes scopes;        /* known besides our own (access/scopes.h) */
        uint32_t password_length;       /* characters of a new one, at least */
        bool authenticated_only_own;    /* "authenticated" does not inherit from "anonymous" */
        bool shows_all_scopes; /* in the metadata: also of tools that not every caller sees */
        cw_config_issuers issuers;
        struct {
            bool enabled; /* browsers may have sessions; needs a store */
            cw_str path;  /* of the page */
            uint32_t idle_ms, lifetime_ms;
            uint32_t sessions; /* of one account */
        } login;
        cw_config_server server;
    } access;

    struct {
        cw_str directory; /* descriptions of services that survive restarts; empty: none do */
        cw_str lock;      /* file with the approved definitions of tools; empty: none */
        bool approvals_in_store; /* `approvals: store`: they are in the database */
    } state;

    struct {
        cw_str directory;       /* with .mo files; empty: none */
        cw_str default_value;   /* language of those who ask for none that is there */
        cw_str source_language; /* language that plugins are written in */
        size_t max_size;        /* of all files */
    } translations;

    struct {
        cw_str path; /* of the endpoint */
        bool legacy_sessions;
        uint32_t session_ms;             /* how long a session lasts */
        uint32_t elicitation_timeout_ms; /* for a client to answer a question */
        cw_log_level log_level;          /* of lines for legacy clients that have set none */
        uint32_t page_size;              /* entries on one page of a list */
        cw_str secret_file; /* seals what clients carry for us; empty: kept in the store */
        cw_config_strings old_secret_files; /* open it too */
        cw_config_form tool_names, schemas; /* catalogue/tool/portable_name.h */
        bool structured_text;               /* texts are structured content too */
        bool null_is_absent;                /* of an optional argument, whose schema rejects null */
        cw_config_clients clients; /* for whom it is otherwise; the first that fits counts */
        cw_config_kept_results kept_results;
        cw_config_tasks tasks;
        cw_config_mcp_events events;
        cw_str name; /* in registries: "org.example/tools" */
        cw_str title;
        cw_str description;  /* 1 to 100 characters */
        cw_str website;      /* a URL, or empty */
        cw_str instructions; /* for clients; empty: made from the sources */
    } mcp;

    cw_config_toolsets toolsets;

    struct {
        bool enabled;             /* the methods of the source `causeway` exist, and its socket */
        cw_str socket;            /* path; empty: one is chosen (server/files/local_socket.h) */
        cw_config_strings tools;  /* reading methods that are tools */
        uint32_t recent_login_ms; /* a browser session that changes access is younger */
    } admin;
    struct {
        bool enabled;      /* pages for browsers are served; needs a store */
        cw_str path, host; /* of the pages; the host is their only name, without a port */
        uint32_t history_ms, idle_ms, lifetime_ms, confirm_ms; /* charts; config/session_limits.h */
        cw_config_listeners listen; /* may be empty: all have the pages */
    } console;

    cw_config_remotes sources;
    cw_config_roles roles;
    bool ignore_unknown_arguments; /* unknown_arguments: ignore */
    cw_str public_url;             /* without a final slash; empty: what requests say */
    uint32_t page_size;            /* <= CW_PAGE_SIZE_MAX */
    bool debug_headers;
    bool is_blank; /* the file has no text at all */
} cw_config;

/* Every key with its default. */
extern const cw_config cw_config_defaults;

/* One mistake. `text` is a whole line without its newline, safe for a terminal:
 * "causeway.yaml:3:5: limits.header_sise: unknown key; did you mean \"header_size\"?". */
typedef struct cw_config_problem {
    const char *text;
    uint32_t line; /* 0: not from a file */
    uint32_t column;
} cw_config_problem;

typedef struct cw_config_problems {
    size_t n; /* in items */
    size_t total;
    cw_config_problem items[CW_CONFIG_MAX_PROBLEMS];
    cw_arena arena;
} cw_config_problems;

void cw_config_problems_init(cw_config_problems *problems);
void cw_config_problems_done(cw_config_problems *problems);

/* The input of a configuration. All zero: the defaults alone. */
typedef struct cw_config_source {
    const char *path;          /* NULL: no file */
    cw_str text;               /* without a file: YAML in its place, with absolute paths */
    const char *const *listen; /* addresses that replace `listen` of the file (--listen) */
    size_t n_listen;
    const char *tool_names; /* replaces mcp.tool_names of the file (--tool-names); NULL: as it is */
} cw_config_source;

/* Read, check, fill. On success *ret_config holds one reference. Fails with CW_CONFIG when there
 * are mistakes: `problems` (initialised by the caller) lists them in the order of the file, and
 * `err` has the first and the number of others. Else CW_IO (the file cannot be read), CW_NOMEM. */
CW_MUST_USE cw_code cw_config_load(const cw_config_source *source, cw_config **ret_config,
                                   cw_config_problems *problems, cw_err *err);
/* The same from bytes; `name` is the file name in messages, and the base of relative paths. */
CW_MUST_USE cw_code cw_config_read(cw_str text, const char *name, cw_config **ret_config,
                                   cw_config_problems *problems, cw_err *err);

cw_config *cw_config_ref(cw_config *config);
/* NULL is fine. */
void cw_config_unref(cw_config *config);

/* Whether all keys of both have equal values. False also without memory. */
bool cw_config_equal(const cw_config *a, const cw_config *b);
/* Append all keys and values in which servers that share a database must not differ. Errors are sticky
 * in `out`. */
void cw_config_write_shared(const cw_config *config, cw_buf *out);
/* Append the names of the keys whose values differ: those that only a restart changes, or the
 * others. "limits.token_cache_entries, mcp.path". Errors are sticky in `out`. */
void cw_config_changed_keys(const cw_config *a, const cw_config *b, bool needs_restart,
                            cw_buf *out);
/* Add the effective configuration as one JSON value. Values that may hold secrets (headers,
 * environment, arguments of programs, params of init_calls, queries of URLs) are "***". CW_NOMEM. */
CW_MUST_USE cw_code cw_config_write_masked(const cw_config *config, cw_json_writer *w, cw_err *err);
/* The path or the URL of the database; empty: none. */
cw_str cw_config_store(const cw_config *config);
/* Whether definitions of tools must be approved, in a file or in the database. */
bool cw_config_needs_approvals(const cw_config *config);
/* The log options of a configuration; they borrow its texts. */
cw_log_opts cw_config_log_opts(const cw_config *config);
/* Append the effective configuration as YAML with every key, its value and a comment; reading that
 * text gives an equal configuration. Errors are sticky in `out`. */
void cw_config_show(const cw_config *config, cw_buf *out);
/* Append the JSON Schema (2020-12) of the configuration file, indented, with a final newline. */
CW_MUST_USE cw_code cw_config_schema(cw_buf *out, cw_err *err);

#endif
