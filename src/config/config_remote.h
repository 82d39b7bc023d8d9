/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_remote.h - the part of a configuration that is about one JSON-RPC service.
 *
 * Ownership and threads: as config.h, which includes this, says.
 */
#ifndef CW_CONFIG_CONFIG_REMOTE_H
#define CW_CONFIG_CONFIG_REMOTE_H

#include "base/str.h"

/* The name of the built-in source (src/admin), which no service can have. */
#define CW_CONFIG_BUILTIN_SOURCE "causeway"

typedef struct cw_config_strings {
    const cw_str *items;
    size_t n;
} cw_config_strings;

/* A name and a text: a header field, a variable of the environment. */
typedef struct cw_config_pair {
    cw_str name;
    cw_str value;
} cw_config_pair;

typedef struct cw_config_pairs {
    const cw_config_pair *items;
    size_t n;
} cw_config_pairs;

#define CW_CONFIG_NO_SIZE SIZE_MAX /* not set */

/* Settings of one parameter of a method. JSON values are kept as text. */
typedef struct cw_config_param {
    cw_str name;          /* in the service; a position ("0") where params have no names */
    cw_str rename;        /* here; empty: the same */
    cw_str description;   /* empty: the service's */
    cw_str schema;        /* JSON; empty: the service's */
    cw_str value;         /* JSON; sent with every call, never shown; empty: none */
    cw_str default_value; /* `default`: JSON; sent where a caller leaves it out; empty: none */
    bool hidden;          /* not shown, and sent only where there is a value or a default */
    bool required;        /* of one that the service does not describe; its `schema` declares it */
} cw_config_param;

typedef struct cw_config_params {
    const cw_config_param *items;
    size_t n;
} cw_config_params;

typedef enum cw_config_auth {
    CW_CONFIG_AUTH_UNSET, /* by the scopes */
    CW_CONFIG_AUTH_NONE,
    CW_CONFIG_AUTH_OPTIONAL,
    CW_CONFIG_AUTH_REQUIRED,
} cw_config_auth;

/* Whether calls of a tool are tasks. The order is that of cw_task_mark. */
typedef enum cw_config_task {
    CW_CONFIG_TASK_UNSET,
    CW_CONFIG_TASK_NEVER,
    CW_CONFIG_TASK_AUTO,
    CW_CONFIG_TASK_ALWAYS,
    CW_CONFIG_TASK_REQUIRED,
} cw_config_task;

/* Settings of one method of a remote source, or of all that match a pattern. The first matching
 * entry applies; an entry without wildcards has precedence. */
typedef struct cw_config_overlay {
    cw_str method; /* its id there; '*' any text, '?' any character */
    cw_str name;   /* its id here; empty: the source's prefix and its id there */
    bool tool;     /* mark it (default); of a resource or prompt: expose it */
    bool rpc;      /* may be called on /jsonrpc (a marked one always may) */
    cw_str title;
    cw_str description;     /* empty: the document's */
    cw_str annotations;     /* a JSON object as text, or empty */
    bool unlisted;          /* a template of resources that the server does not list */
    bool hidden_unless_met; /* visibility: hide */
    cw_config_strings tags; /* for toolsets; none: the document's */
    cw_config_strings permissions;
    cw_config_strings scopes; /* beside those in annotations.auth */
    cw_config_auth level;
    cw_config_params params;
    cw_str result;       /* JSON Pointer to the part of the result that counts; empty: all of it */
    size_t result_size;  /* larger ones are given in parts; 0: never; NO_SIZE: not set */
    uint32_t timeout_ms; /* 0: the source's */
    cw_config_task task; /* UNSET: auto */
    cw_str ui;           /* a JSON object about its view, as text; empty: none */
    cw_str ui_file;      /* HTML document of its view; empty: none */
    bool null_is_absent; /* as mcp.null_is_absent; false: its nulls have a meaning */
    bool read_only;      /* changes nothing: may be sent again, merged with others, kept */
    uint32_t cache_ms;   /* how long a result is kept; 0: not at all */
    cw_str output;       /* JSON Schema of the result, after `result`; empty: the service's */
} cw_config_overlay;

typedef struct cw_config_overlays {
    const cw_config_overlay *items;
    size_t n;
} cw_config_overlays;

/* Kinds of things that an MCP server has beside tools; `method` of their entries is a URI, a template
 * of URIs or a name. The order is that of cw_exposed_kind. */
typedef enum cw_config_exposed {
    CW_CONFIG_RESOURCES,
    CW_CONFIG_TEMPLATES,
    CW_CONFIG_PROMPTS,
} cw_config_exposed;

#define CW_CONFIG_EXPOSED 3

/* The lists of an overlay file. */
typedef struct cw_config_overlay_lists {
    cw_config_overlays methods;
    cw_config_overlays exposed[CW_CONFIG_EXPOSED];
} cw_config_overlay_lists;

/* A call that is made before any other: capabilities, a login. */
typedef struct cw_config_init_call {
    cw_str method;
    cw_str params; /* JSON, or empty */
    bool notify;   /* expects no answer */
} cw_config_init_call;

typedef struct cw_config_preludes {
    const cw_config_init_call *items;
    size_t n;
} cw_config_preludes;

/* Rows of OVSDB that an event is about. */
typedef enum cw_config_rows {
    CW_CONFIG_ROWS_NONE, /* its data is the event, whole */
    CW_CONFIG_ROWS_INSERTED,
    CW_CONFIG_ROWS_MODIFIED,
    CW_CONFIG_ROWS_DELETED,
} cw_config_rows;

/* An event of a service: a notification that clients may receive. Pointers lead into the whole message;
 * empty ones, and 0, are those of the preset. */
typedef struct cw_config_event {
    cw_str name;               /* here; '*' and '?' choose events of the preset */
    cw_str method;             /* of the notification; empty: the name */
    cw_str description;        /* for clients */
    cw_str data;               /* pointer to the part that clients get; empty: the params */
    cw_str id;                 /* pointer to what tells a repetition; empty: none */
    cw_str time;               /* pointer to a time; empty: that of the arrival */
    cw_str schema;             /* JSON Schema of the data; empty: any value */
    cw_config_pairs arguments; /* of filters: name -> pointer into the data */
    struct {
        cw_str method; /* called on each new connection; empty: none */
        cw_str params; /* JSON, or empty */
    } subscribe;
    uint32_t keep;
    uint32_t keep_ms;
    uint32_t per_minute;
    cw_config_auth level;
    cw_config_strings permissions, scopes; /* both empty, level unset: as the read-only tools */
    /* Of presets only. */
    cw_config_rows rows;    /* each changed row of the data is an event */
    bool has_whole;         /* the data is the whole message */
    bool hidden_unless_met; /* visibility: hide */
} cw_config_event;

typedef struct cw_config_events {
    const cw_config_event *items;
    size_t n;
} cw_config_events;

/* A method that a job needs. In its params, "$job" is the id of the job. */
typedef struct cw_config_job_call {
    cw_str method; /* empty: none */
    cw_str params; /* JSON, or empty: none */
} cw_config_job_call;

/* A notification of the service about a job. */
typedef struct cw_config_job_notice {
    cw_str method;
    cw_str id;    /* JSON Pointer to the id of the job in its params */
    bool ends;    /* the job is over: the params are its result */
    cw_str error; /* JSON Pointer to the reason of a failure; empty: none */
} cw_config_job_notice;

typedef struct cw_config_job_notices {
    const cw_config_job_notice *items;
    size_t n;
} cw_config_job_notices;

/* Methods that begin a job and return at once, and how the job is followed to its end. */
typedef struct cw_config_job {
    cw_config_strings methods; /* as cw_config_overlay.method */
    cw_str id;                 /* JSON Pointer to the id in the result */
    cw_str id_param;           /* JSON Pointer to the id in the params; empty: the result has it */
    cw_config_job_call poll, result, cancel, dismiss;
    cw_str item;   /* JSON Pointer to the id in each item of the list that `poll` returns; empty: it
                      returns one job */
    cw_str status; /* JSON Pointers into the job, from here on */
    cw_config_strings done, failed; /* values of the status */
    cw_str error;                   /* empty: none */
    cw_config_strings progress;     /* two pointers: how much is done, and how much there is */
    uint32_t interval_ms;
    cw_config_job_notices notifications;
} cw_config_job;

typedef struct cw_config_jobs {
    const cw_config_job *items;
    size_t n;
} cw_config_jobs;

/* A JSON-RPC service. Words that name a dialect, a framing or a way to describe oneself are texts
 * here: what they mean is known to src/source alone, which checks them (source/upstream/preset.h).
 * An empty text, and UNSET, is what the preset says. */
typedef struct cw_config_remote {
    cw_str name;   /* unique, [a-z0-9_-]+ */
    cw_str skills; /* directory with its skills; empty: none */
    cw_str preset; /* a kind of service that is known; empty: none */

    /* The address: exactly one of `url` and `command` is set.
     *   http://HOST:PORT/PATH  https://…  unix:SOCKET:/PATH      HTTP
     *   tcp://HOST:PORT  unix:SOCKET                             a stream
     *   ws://HOST:PORT/PATH  wss://…                             WebSocket */
    cw_str url;
    cw_config_strings command; /* a program, with its arguments, that speaks on stdin and stdout */
    cw_config_pairs environment;       /* of the program, beside PATH, HOME, LANG and TMPDIR */
    cw_config_pairs environment_files; /* more of them: the values are paths of files */
    cw_str folder;                     /* it works in; empty: ours */
    struct {
        size_t max_memory; /* 0: no limit */
        uint32_t max_open_files;
        uint32_t max_processes;               /* of its user; 0: no limit */
        cw_config_strings readable, writable; /* both empty: all files but ours */
    } confine;                                /* the program */
    cw_str http_method;           /* "POST", "GET" (?query=), "AUTO": GET for what is read only */
    cw_str call_path;             /* of calls, with "{method}" in it; empty: that of the URL */
    cw_config_pairs headers;      /* of every HTTP request, of a WebSocket's handshake */
    cw_config_pairs header_files; /* more of them: the values are paths of files */
    cw_str framing;
    struct {
        cw_str ca_file; /* empty: the system's authorities */
        cw_str certificate, key;
        cw_str server_name; /* empty: the URL's */
    } tls;
    cw_str proxy; /* for http and https; empty: none, whatever the environment says */

    /* How it speaks. */
    cw_str dialect;
    cw_str params;       /* "named", "positional", "mixed" */
    cw_str ids;          /* "number", "string" */
    cw_str empty_params; /* "omit", "send" */
    cw_str
        match_replies; /* "id", "exchange": the answer is that of the HTTP request, whatever its id */
    cw_config_preludes init_calls;
    cw_str greeting;           /* "yes": it speaks first */
    uint32_t line;             /* where the entry stands in the file; 0: nowhere */
    uint32_t handshake_status; /* an answer with this HTTP status … */
    cw_str handshake_header;   /* … has a header to be repeated; empty: none */
    cw_str replies; /* JSON object: method it may call -> result; "$params" gives them back */
    cw_config_strings change_notifications; /* its notifications that mean: methods have changed */
    cw_str trace; /* "auto", "meta", "none": how the trace context of a call is sent */

    /* An MCP server. */
    cw_str protocol; /* "auto", "modern", "legacy" */
    cw_str session;  /* "auto", "shared", "caller", "call" */
    cw_str output;   /* "relay", "strict" */
    cw_config_strings
        questions; /* that are passed to clients: "form", "url", "sampling", "roots" */

    /* Our credentials there; the secret is read from one of file and environment. */
    struct {
        cw_str as; /* "bearer", "basic" (NAME:PASSWORD), "header", "first" (positional), "member" */
        cw_str name;   /* of the header or member */
        cw_str prefix; /* before the secret: "token:" */
        cw_str file;
        cw_str environment; /* name of a variable */
    } secret;
    struct {
        cw_str token_url; /* empty: no OAuth */
        cw_str client_id;
        cw_str client_secret_file, client_secret_environment;
        cw_str scope, audience;
    } oauth;

    /* Its methods. */
    cw_str describe; /* how it is asked; "auto" tries one after another */
    cw_str openrpc;  /* file with its description: OpenRPC or a manifest; empty: ask it */
    cw_str overlay;  /* file with more `methods`, as `causeway import` writes it */
    cw_str prefix;   /* put before its method ids here; may be empty */
    cw_config_overlays methods;
    cw_config_overlays exposed[CW_CONFIG_EXPOSED]; /* of an MCP server */
    cw_config_events events;                       /* of a service behind a stream */
    cw_config_jobs jobs;
    uint32_t refresh_ms;      /* ask again so often, 0: never */
    bool relays_instructions; /* of an MCP server: to our clients */
    bool warns_only; /* `on_change: warn`: a definition that differs from the lock is shown */

    /* Limits. */
    uint32_t timeout_ms;
    uint32_t connect_ms;
    uint32_t first_byte_ms; /* 0: as long as the call may take */
    uint32_t connections;   /* per loop */
    uint32_t queue;         /* calls that wait for a connection, per loop */
    uint32_t retries;       /* of calls that are safe to repeat */
} cw_config_remote;

typedef struct cw_config_remotes {
    const cw_config_remote *items;
    size_t n;
} cw_config_remotes;

/* Whether requests carry credentials that the service can reject. */
static inline bool cw_config_has_credentials(const cw_config_remote *c)
{
    return c->secret.file.n || c->secret.environment.n || c->oauth.token_url.n || c->init_calls.n ||
           c->headers.n || c->header_files.n;
}

#endif
