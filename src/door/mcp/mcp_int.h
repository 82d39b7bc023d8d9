/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mcp_int.h - types and functions that the files of the MCP door share.
 *
 *     mcp.c                  which era a message belongs to
 *     modern.c               2026-07-28: envelope, headers, methods
 *     legacy.c               2024-11-05 to 2025-11-25: handshake, sessions, streams, methods
 *     feature/tools.c        tools/list, tools/call
 *     feature/resources.c    prompts and resources: their lists, reading, completion/complete
 *     feature/list.c         lists, page by page
 *     call.c                 a running method, from start to answer
 *     feature/fit.c          results that are too large for a client
 *     feature/kept_results.c the store from which such a result is read in parts
 *     feature/skills.c       skills; feature/static_resource.c: their files, and views of tools
 *     feature/search.c       find_tools: a search in place of a list
 *     elicit.c               questions to the client, in both eras (elicit_kind.c: their kinds)
 *     park.c                 running calls whose modern client was asked
 *     task/task.c            calls that outlive their requests
 *     registry.c             the running calls and streams of a loop, by key
 *     notify.c               change notifications: subscriptions/listen, GET, standard output
 *     stream_expiry.c        streams that end with the credentials that opened them
 *     session_store.c        the state of sessions that the process keeps
 *     client_profile.c       the client: its capabilities, adjustments for some
 *     instructions.c         the text for models about the server
 *     wellknown.c            the capabilities of the server, the server card
 *     stdio.c                one client on standard input and output
 *
 * Differences between the eras are members of cw_mcp_era.
 */
#ifndef CW_DOOR_MCP_MCP_INT_H
#define CW_DOOR_MCP_MCP_INT_H
#include <stdatomic.h>

#include "access/login/login_watch.h"
#include "base/list.h"
#include "call/find.h"
#include "door/error.h"
#include "door/mcp/feature/kept_results.h"
#include "door/mcp/mcp.h"
#include "door/mcp/session_store.h"
#include "door/mcp/stream_expiry.h"
#include "door/rpc_batch.h"
#include "door/rpc_message.h"
#include "json/write.h"

#define CW_MCP_META(name) "io.modelcontextprotocol/" name
#define CW_MCP_SERVER "{\"name\":\"Causeway\",\"version\":\"" CW_VERSION "\"}"
/* In _meta of a modern result. */
#define CW_MCP_SERVER_META "\"" CW_MCP_META("serverInfo") "\":" CW_MCP_SERVER
/* Behind the members of a modern result. */
#define CW_MCP_RESULT_META "\"resultType\":\"complete\",\"_meta\":{" CW_MCP_SERVER_META "}"

enum {
    CW_MCP_SESSION = -32001,     /* legacy: no such session */
    CW_MCP_TRANSPORT = -32000,   /* problems of HTTP: media type, legacy version header */
    CW_MCP_HEADER = -32020,      /* a header is missing or differs from the body */
    CW_MCP_CAPABILITY = -32021,  /* the client lacks one */
    CW_MCP_UNSUPPORTED = -32022, /* protocol version */
};

typedef struct cw_mcp_era cw_mcp_era;

/* Capabilities of a client. */
enum {
    CW_MCP_CAN_SAMPLE = 1,
    CW_MCP_CAN_ELICIT = 2,
    CW_MCP_CAN_ROOTS = 4,
    CW_MCP_CAN_ELICIT_URL = 8,
    CW_MCP_CAN_SAMPLE_TOOLS = 16,
    CW_MCP_CAN_TASKS = 32, /* modern clients only */
};

/* Adjustments of lists for a client. */
enum {
    CW_MCP_PORTABLE_NAMES = 1,
    CW_MCP_PORTABLE_SCHEMAS = 2,
    CW_MCP_PORTABLE = 3, /* both of them */
    /* Set for this client: a reload that changes it for all others does not concern it. */
    CW_MCP_OWN_NAMES = 4,
    CW_MCP_OWN_SCHEMAS = 8,
    /* Lean lists; OWN: set for this client, whatever its toolset sets. */
    CW_MCP_NO_OUTPUT_SCHEMAS = 16,
    CW_MCP_OWN_OUTPUT_SCHEMAS = 32,
    CW_MCP_SHORT_DESCRIPTIONS = 64,
    CW_MCP_OWN_DESCRIPTIONS = 128,
    CW_MCP_LEAN = 240, /* all of these */
};

/* The client of a request. */
struct cw_mcp_session {
    bool is_named;                       /* `number` is valid */
    unsigned char number[CW_MCP_NUMBER]; /* of the session and its caller; unguessable */
    /* The session was opened anonymously, and this caller has credentials: `opened` is the number
     * of the anonymous caller in it. */
    bool has_joined;
    unsigned char opened[CW_MCP_NUMBER];
    unsigned client_capabilities; /* CW_MCP_CAN_… */
    unsigned profile;             /* CW_MCP_PORTABLE_…, CW_MCP_OWN_… */
    cw_log_level level;           /* of log messages that the client gets, or CW_LOG_OFF */
    bool has_level;               /* the client has set it (legacy); else it is mcp.log_level */
    int64_t expires;              /* wall clock, ms; 0: never */
    cw_str version;               /* of the protocol; empty: not known */
};
typedef struct cw_mcp_session cw_mcp_session;
/* A running call, question or stream, found by a key; embedded in its owner. */
typedef struct cw_mcp_registry_entry {
    cw_list node;         /* cw_list_remove(&entry->node) removes it */
    cw_str key;           /* lives as long as the owner */
    uint64_t hash, order; /* order: among the streams of this process */
    int64_t since;        /* of the stream of a session: when it was opened, wall clock in ms */
    void (*cancel)(struct cw_mcp_registry_entry *link); /* by the client */
} cw_mcp_registry_entry;

#define CW_MCP_BUCKETS 256u
#define CW_MCP_TOOLSET_PATHS 4u /* routes to toolsets */

/* The door on one loop. */
typedef struct cw_mcp_registry {
    cw_list calls[CW_MCP_BUCKETS];                          /* by session and id of the request */
    cw_list asks[CW_MCP_BUCKETS];                           /* by the id of the question */
    cw_list streams[CW_MCP_BUCKETS];                        /* GET; by cw_mcp_number */
    cw_list parks[CW_MCP_BUCKETS], resumes[CW_MCP_BUCKETS]; /* park.h */
    cw_list tasks[CW_MCP_BUCKETS], task_watches[CW_MCP_BUCKETS]; /* task/task.h; by id */
    /* For answers of clients, their next requests, parks, calls that streams get, tasks, and events. */
    cw_deadline_list waiting, parked, checks, watching, graces, task_ends, heartbeats;
    uint32_t n_waiting;    /* calls that wait */
    cw_deadline_list kept; /* of one deadline: large results are dropped after their time */
    cw_deadline kept_over;
    cw_mcp_expiries expiries; /* of tokens that opened streams */
    cw_mcp *door;
    cw_loop *loop;
    bool is_begun;
} cw_mcp_registry;

struct cw_mcp {
    cw_runtime *runtime;
    char path[CW_MCP_PATH_MAX + 1];       /* of the endpoint */
    char slash_path[CW_MCP_PATH_MAX + 2]; /* the same with a slash, which many people add */
    char card_path[CW_MCP_PATH_MAX + 16]; /* of the server card */
    char toolset_paths[CW_MCP_TOOLSET_PATHS][CW_MCP_PATH_MAX + 32];
    const cw_seal *seal;
    cw_mcp_session_store sessions;
    cw_mcp_kept_results kept;
    cw_fair_slots streams, watchers, parked; /* subscribers; those that get calls; room (park.h) */
    struct cw_mcp_webhooks *webhooks;
    cw_replicas *replicas; /* NULL: none */
    unsigned n_loops;
    cw_mcp_registry registries[];
};

/* Members of params._meta, each NULL when absent. */
typedef struct cw_mcp_envelope {
    const cw_json *claim; /* protocolVersion */
    const cw_json *capabilities;
    const cw_json *client; /* clientInfo */
    const cw_json *level;
    const cw_json *token; /* progressToken */
    const cw_json *traceparent, *tracestate;
} cw_mcp_envelope;

/* Members of params, each NULL when absent. */
typedef struct cw_mcp_members {
    const cw_json *name, *arguments;  /* of a tool or prompt */
    const cw_json *state, *responses; /* requestState, inputResponses */
    const cw_json *cursor;
} cw_mcp_members;

/* One request; lives for the callback only. */
typedef struct cw_mcp_request {
    cw_mcp *door;
    cw_runtime_loop *rl;
    cw_view *view; /* the caller's; borrowed */
    cw_responder *responder;
    cw_rpc_item *item;
    const cw_mcp_era *era;
    const cw_mcp_session *session; /* never NULL */
    cw_str method;
    const cw_json *id;     /* a string or an integer, or NULL */
    const cw_json *params; /* an object, or NULL */
    cw_mcp_members members;
    cw_mcp_envelope meta;
} cw_mcp_request;

typedef struct cw_mcp_method {
    cw_str name;
    void (*run)(const cw_mcp_request *r);
} cw_mcp_method;

struct cw_mcp_era {
    const cw_mcp_method *methods;
    size_t n_methods;
    unsigned unknown_status; /* HTTP, for an unknown method */
    int64_t no_resource;     /* error code for an unknown resource */
    cw_tool_form form;
    /* Stateless: a request brings its log level and its state along, and results have resultType and
     * serverInfo, lists ttlMs and cacheScope. */
    bool is_modern;
    bool wants_objects; /* structuredContent other than an object becomes {"result": …} */
    bool detaches;      /* calls continue when the client disconnects */
    bool has_mirrors;   /* arguments are repeated in headers (catalogue/tool/param_headers.h) */
};

extern const cw_mcp_era cw_mcp_modern, cw_mcp_legacy;

/* mcp.c */
/* Run by name, or answer that the method is unknown. */
void cw_mcp_dispatch(const cw_mcp_request *r);
/* -32601. */
void cw_mcp_fail_method(const cw_mcp_request *r);
/* Whether the caller may call, or (`discovers`) list, anything; else the message is answered. */
bool cw_mcp_may(const cw_mcp_request *r, bool discovers);
/* Whether this server has no logins: lists omit tools that require one. True on standard input. */
bool cw_mcp_has_no_login(const cw_runtime_loop *rl, const cw_responder *responder);
/* A sentence for a call that requires a login, if has_no_login: a challenge would lead nowhere, and a
 * model can read a result. Static; NULL: callers can log in. */
const char *cw_mcp_explain_no_login(const cw_runtime_loop *rl, const cw_responder *responder);
/* Whether a challenge over HTTP would send the client to a login that does not exist. */
bool cw_mcp_leads_nowhere(const cw_runtime_loop *rl, const cw_responder *responder,
                          cw_verdict verdict);
/* As cw_door_refuse; a challenge that leads nowhere has status 200: many clients end at any other. */
void cw_mcp_refuse(cw_rpc_item *item, cw_verdict verdict, const cw_requirements *needs);
/* Challenge an anonymous caller that sees nothing, if callers can log in: clients log in when their
 * first request is refused, and few of them later. True: the message is answered. */
bool cw_mcp_challenge_stranger(const cw_mcp_request *r);
/* Look a name up (call/find.h); view, door, peer and arena are those of the request. */
CW_MUST_USE cw_code cw_mcp_find(const cw_mcp_request *r, cw_call_lookup lookup, cw_call_found *ret);
/* -32602: the caller sees no tool or prompt (`what`) of this name. */
void cw_mcp_fail_unknown(const cw_mcp_request *r, const char *what, cw_str name);
/* Record a refusal that cw_call_find does not record. */
void cw_mcp_audit_refusal(const cw_mcp_request *r, cw_str name, cw_str detail, cw_verdict verdict);
/* For the audit: "mcp" or "stdio". */
const char *cw_mcp_door_name(const cw_responder *responder);
/* The caller's view at the address of the request: at that of a toolset, the part that is in it.
 * NULL: there is no such address, or no memory; the request is answered. */
cw_view *cw_mcp_view_at(const cw_mcp *door, cw_http_req *req, cw_runtime_loop *rl, cw_view *view);
/* Whether there is such an address. False: the request is answered, equally for every caller. */
bool cw_mcp_is_address(const cw_mcp *door, cw_http_req *req);
/* A member that is a string, else NULL. */
const cw_json *cw_mcp_string(const cw_json *object, cw_str name);

extern const cw_auth_error_bodies cw_mcp_auth_error_bodies;

/* registry.c */
/* The registry of the current loop. */
cw_mcp_registry *cw_mcp_registry_of(cw_mcp *door, cw_loop *loop);
void cw_mcp_registry_add(cw_list *buckets, cw_mcp_registry_entry *link, cw_str key);
/* Add what runs for a request, if it has an id and a session: its client can then link->cancel it. */
CW_MUST_USE cw_code cw_mcp_registry_enter(const cw_mcp_request *r, cw_mcp_registry_entry *link);
/* End the streams of the caller's session but this one, on all loops and replicas. */
void cw_mcp_close_streams(cw_mcp *door, cw_runtime_loop *rl, const cw_mcp_session *session,
                          const cw_fair_key *by, cw_mcp_registry_entry *but);
/* End the streams of this number, and cancel its calls and their questions, on all loops. */
void cw_mcp_close_all(cw_mcp *door, cw_runtime_loop *rl, const unsigned char number[CW_MCP_NUMBER]);
/* Watch the credentials of the view's caller. */
void cw_mcp_watch_login(cw_runtime_loop *rl, const cw_view *view, cw_login_watch *watch);
/* The first one with this key behind `after` (NULL: from the beginning), or NULL. */
cw_mcp_registry_entry *cw_mcp_registry_find(cw_list *buckets, cw_str key,
                                            const cw_mcp_registry_entry *after);
/* A client cancels a request of this session, by its id. Every loop searches for it. A caller that
 * has joined the session also cancels what the anonymous caller began. */
void cw_mcp_cancel(const cw_mcp_request *r, const cw_json *id);
/* Give a running call another number. False: out of memory, and nothing has changed. */
CW_MUST_USE bool cw_mcp_call_rekey(cw_list *buckets, cw_mcp_registry_entry *link,
                                   const unsigned char number[CW_MCP_NUMBER], cw_arena *arena);

/* client_profile.c */
/* CW_MCP_CAN_… of the member `capabilities`. */
unsigned cw_mcp_client_capabilities(const cw_json *capabilities);
/* The problem of a clientInfo (or NULL); NULL: none. Static. */
#define CW_MCP_CLIENT_NAME 256u
const char *cw_mcp_client_problem(const cw_json *client);
/* The adjustments for a client (clientInfo, or NULL). */
unsigned cw_mcp_profile(const cw_config *config, const cw_json *client);
/* The same for the profile of an earlier request, which the configuration may have changed since. */
unsigned cw_mcp_profile_renew(const cw_config *config, unsigned profile);
/* Whether lists of any client show portable names. */
bool cw_mcp_has_portable_names(const cw_config *config);

/* modern.c */
/* Compare the Mcp-Param headers with the arguments. False: the request is answered. */
bool cw_mcp_check_param_headers(const cw_mcp_request *r, const cw_method *method,
                                const cw_json *arguments);
#define CW_MCP_CLAIM CW_MCP_META("protocolVersion")
bool cw_mcp_is_modern(cw_str version);
/* The i-th one, newest first; .p is NULL behind the last. */
cw_str cw_mcp_modern_version(size_t i);
void cw_mcp_run_modern(const cw_mcp_request *r);
/* Compare the headers Mcp-Method and Mcp-Name of any era with the body, as far as they are sent.
 * False: the request is answered. */
bool cw_mcp_check_sent_headers(const cw_mcp_request *r);

/* legacy.c */
/* Read the session of the request's Mcp-Session-Id. False: unknown or ended, 404. */
bool cw_mcp_session_open(cw_mcp *door, cw_responder *responder, cw_runtime_loop *rl,
                         const cw_view *view, cw_mcp_session *ret);
/* The bytes that identify the session of this caller: another caller in it has others. */
cw_str cw_mcp_number(const cw_mcp_session *session);
/* The owner of session state: a caller or a network. */
void cw_mcp_session_owner_init(cw_mcp_session_owner *owner, const cw_view *view,
                               const cw_responder *responder);
cw_str cw_mcp_legacy_version(size_t i);
/* The version as a static text; empty when it is not a legacy version. */
cw_str cw_mcp_static_version(cw_str version);
bool cw_mcp_allows_batch(cw_str version_header);
void cw_mcp_run_legacy(const cw_mcp_request *r);
/* Whether legacy clients of this transport have sessions: on standard input always, over HTTP by
 * configuration. */
bool cw_mcp_keeps_state(const cw_mcp_request *r);
/* Whether the version header of a request differs from the version of its session. */
bool cw_mcp_contradicts(const cw_responder *responder, const cw_mcp_session *session);
#define CW_MCP_CONTRADICTS "MCP-Protocol-Version is not the version of the session"
/* The session of a message after the handshake; its version header is checked. False: the message
 * is answered, with 400, or with 404 for an unknown session. */
bool cw_mcp_enter_session(const cw_mcp_request *r, cw_mcp_session *ret);

/* feature/tools.c */
void cw_mcp_list_tools(const cw_mcp_request *r);
void cw_mcp_call_tool(const cw_mcp_request *r);

/* call.c */
/* "debug" to "emergency"; false otherwise. */
bool cw_mcp_level_parse(cw_str name, cw_log_level *ret);
typedef struct cw_mcp_target cw_mcp_target;

/* The operations of a target: tool, prompt, resource or completion. */
typedef struct cw_mcp_target_ops {
    /* The answer. Errors are sticky in `out`. */
    void (*write)(cw_buf *out, const cw_mcp_era *era, const cw_mcp_target *target,
                  const cw_outcome *outcome, cw_str id);
    /* Answer a call that cannot run: wrong arguments (CW_PARAMS), no source (CW_IO), rate or number
     * of calls (CW_LIMIT). */
    void (*refuse)(cw_rpc_item *item, const cw_mcp_era *era, cw_code rc,
                   const cw_call_error *refusal);
    /* How a newer view finds it again, and the answer when that has none. Not set for a completion,
     * which never asks its client. */
    cw_find_in same;
    void (*fail_unknown)(const cw_mcp_request *r, cw_str name);
} cw_mcp_target_ops;

struct cw_mcp_target {
    const cw_mcp_target_ops *ops;
    const cw_entry *entry;
    const cw_json *params;                  /* an object, or NULL */
    const struct cw_schema_portable *shown; /* cw_call_request.shown */
    const char *problem;                    /* of its arguments, static; NULL: none */
    cw_str name;                            /* as the client sent it */
    cw_str address;                         /* of a resource: its URI */
    cw_str extras;                          /* cw_source_call.extras */
    cw_str version; /* of the protocol; set by cw_mcp_start; empty: modern */
    cw_str ui_meta; /* of a resource that is a view: an object; empty: none */
    bool is_completion;
    bool has_structured_text; /* of a tool: a text is structured content too */
};

/* Run it; the message is answered, now or later. */
void cw_mcp_start(const cw_mcp_request *r, const cw_mcp_target *target);
/* {"jsonrpc":"2.0","method":…,"params":{ with two objects open. `b` is initialized. */
void cw_mcp_open_notification(cw_json_writer *w, cw_buf *b, cw_str method);
/* Close both objects, send the notification and end the buffer. */
void cw_mcp_send_notification(cw_responder *responder, cw_send_class kind, cw_json_writer *w,
                              cw_buf *b);

/* feature/resources.c */
void cw_mcp_list_prompts(const cw_mcp_request *r);
void cw_mcp_list_resources(const cw_mcp_request *r);
void cw_mcp_list_templates(const cw_mcp_request *r);
void cw_mcp_get_prompt(const cw_mcp_request *r);
void cw_mcp_read_resource(const cw_mcp_request *r);
/* The caller sees no resource at this URI. */
void cw_mcp_fail_resource(const cw_mcp_request *r, cw_str uri);
/* A block of content for clients: without its role. */
void cw_mcp_add_block(cw_buf *out, const cw_mcp_target *target, const cw_json *block);
/* A result as one JSON string: a string as itself, anything else as JSON. */
void cw_mcp_add_text(cw_buf *out, const cw_json *result);
void cw_mcp_complete(const cw_mcp_request *r);

/* wellknown.c */
/* The object `capabilities`. */
void cw_mcp_add_capabilities(cw_buf *out, const cw_mcp_request *r);
/* Whether the caller may list, and sees a tool, a prompt or a resource. */
bool cw_mcp_sees_anything(const cw_view *view);
void cw_mcp_on_wellknown(cw_http_req *req, void *door);
void cw_mcp_on_card(cw_http_req *req, void *door);

/* notify.c */
void cw_mcp_subscriptions_listen(const cw_mcp_request *r);
void cw_mcp_on_traffic(cw_deadline *d); /* of cw_mcp_registry.watching */
/* Notify the client of a session through a responder of its own, until it is gone. CW_NOMEM;
 * CW_LIMIT: too many subscribers. */
CW_MUST_USE cw_code cw_mcp_subscribe_session(cw_mcp *door, cw_responder *responder,
                                             cw_runtime_loop *rl, cw_view *view,
                                             const cw_mcp_session *session);

#define CW_MCP_TOO_LARGE "Request too large"
/* Errors of HTTP at the endpoint, as JSON-RPC. */
extern const cw_route_protocol cw_mcp_protocol;
/* GET and DELETE at the endpoint. */
void cw_mcp_on_get(cw_http_req *req, void *self);
void cw_mcp_on_delete(cw_http_req *req, void *self);

#endif
