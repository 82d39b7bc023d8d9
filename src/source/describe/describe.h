/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.h - descriptions of services: the table of describers.
 *
 * Each way asks the service a few questions and makes one OpenRPC document of the
 * answers, whatever the service speaks; from there on all services are alike
 * (source/openrpc/openrpc.h), and the document is what is kept for a restart.
 *
 *     name                 asks
 *     openrpc              rpc.discover (also rpc_discover, getopenrpcinfo)
 *     drupal               the next where it is there, else the one after
 *     drupal-tools         GET /mcp/tools/list, page after page
 *     drupal-methods       GET /jsonrpc/methods, and each method whose params it left out
 *     system               system.listMethods, methodHelp, methodSignature
 *     mopidy               core.describe
 *     kodi                 JSONRPC.Introspect
 *     qmp                  query-qmp-schema
 *     ovsdb                list_dbs, get_schema
 *     spdk                 rpc_get_methods
 *     help                 help, and help METHOD
 *     lsp                  nothing: what language servers have in common
 *     transmission         session-get; its methods are known
 *     mcp                  tools/list, prompts/list, resources/list, resources/templates/list
 *
 * Facts beyond OpenRPC go to extension members that the reader knows:
 *     "x-mcp-tool": {"title":…, "annotations":{readOnlyHint, destructiveHint, …, "auth":{…}}}
 *     "x-mcp-more": {"icons":[…], "_meta":{…}}      of a tool of an MCP server
 *     "x-mcp-resource", "x-mcp-resource-template", "x-mcp-prompt"   it is no tool but one of these
 *     "x-mcp-view": "…"                             of a resource ui://…: its hash, view_hash.h; empty: unread
 *     "x-instructions": "…"                         of the document: what an MCP server tells models
 *     "x-access":   {"permissions":[…]}             never taken as permission to show anything
 *     "x-notification": true                        sent without an id, so without an answer
 * A method whose params are not described has the one param
 *     {"name":"params","schema":{"type":["array","object"],"x-spread":true}}
 * A method whose schemas make no sense, or are too large to be written out, is kept with schemas
 * that allow anything, and a warning.
 *
 * Ownership: what a describer makes lives in d->arena, which ends with the job.
 * Threads:   the loop of the job.
 * Limits:    CW_DESCRIBE_QUESTIONS of one job; CW_DESCRIBE_PAGES of a list.
 */
#ifndef CW_SOURCE_DESCRIBE_DESCRIBE_H
#define CW_SOURCE_DESCRIBE_DESCRIBE_H

#include "base/arena.h"
#include "base/buf.h"
#include "json/json.h"
#include "source/outcome.h"

#define CW_DESCRIBE_QUESTIONS 20000u
#define CW_DESCRIBE_PAGES 1000u
#define CW_DESCRIBE_METHODS 10000u /* of an MCP server; a document has no more (openrpc.h) */
#define CW_DESCRIBE_VIEWS 200u     /* of an MCP server, that are read for their hashes */
#define CW_DESCRIBE_DOCUMENT_MAX (16u * 1024u * 1024u)

typedef struct cw_describe_ctx cw_describe_ctx;

/* Facts from the handshake with an MCP server. */
typedef struct cw_describe_server {
    bool is_known; /* it need not be asked */
    bool has_prompts, has_resources;
    cw_str instructions; /* may be empty */
} cw_describe_server;

/* Made and owned by the caller of a describer (source/remote/load.c, and the tests). */
struct cw_describe_ctx {
    cw_arena *arena;
    cw_str service; /* name of the source, for texts */
    cw_str url;     /* of the service; empty where it has none */
    void *state;    /* the describer's own */
    /* Set by a describer that knows several kinds of descriptions: which one it read. NULL: that of
     * its own name. */
    const char *kind;
    /* Set by it too: there is a richer description, which these credentials may not read. */
    bool is_partial;
    const struct cw_describe_ops *ops;
};

typedef struct cw_describe_ops {
    /* Ask: `heard` of the describer follows with this tag, never before this returns. Several may
     * be under way; answers come in any order. `params` is JSON text, or empty. A failure here is
     * to be returned from the function that asked. */
    cw_code (*query)(cw_describe_ctx *d, cw_str method, cw_str params, unsigned tag, cw_err *err);
    /* GET a document of the same server: a path, or a URL with the same origin (else CW_PARAMS).
     * A JSON answer with status 200 is a RESULT; other JSON, or another status, is an ERROR with
     * the status as its code; no JSON is FAILED. CW_PARAMS where the service is not reached by
     * HTTP. */
    cw_code (*get)(cw_describe_ctx *d, cw_str path, unsigned tag, cw_err *err);
    /* Of an MCP server. Texts live in d->arena. NULL: the caller of the describer cannot know. */
    void (*server)(cw_describe_ctx *d, cw_describe_server *ret);
    /* A warning for the operator. The description continues. */
    void (*warn)(cw_describe_ctx *d, const char *text);
    /* The end, exactly one of them, and not from within begin. */
    void (*done)(cw_describe_ctx *d, cw_str openrpc);
    void (*fail)(cw_describe_ctx *d, cw_code rc, const char *why);
    /* Read a resource of an MCP server, as `query` asks. NULL: views are not read. */
    cw_code (*read)(cw_describe_ctx *d, cw_str uri, unsigned tag, cw_err *err);
} cw_describe_ops;

typedef struct cw_describer {
    const char *name;
    bool is_http;  /* GETs documents */
    bool is_quick; /* one harmless question tells whether it is this: `auto` tries it */
    /* Ask the first question. Fails when it cannot be asked. */
    cw_code (*begin)(cw_describe_ctx *d, cw_err *err);
    /* An answer; the outcome lives in d->arena. Ends in further questions, done, or fail. */
    void (*incoming)(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome);
} cw_describer;

const cw_describer *cw_describer_find(cw_str name);
/* All, in the order in which `auto` tries those that are quick; NULL behind the last. */
extern const cw_describer *const cw_describers[];
const char *cw_describer_names(void);

/* A hand-written manifest (docs/sources.md#manifest) to an OpenRPC document; one that is an OpenRPC
 * document already stays what it is. CW_PARAMS with what is wrong. */
CW_MUST_USE cw_code cw_describe_manifest(const cw_json *manifest, cw_buf *out, cw_err *err);

/* Whether a method's name looks as if it destroyed, or changed, or only read something; for
 * `causeway import`, which marks what looks dangerous. In doubt it changes something. The name does
 * not tell whether a method with parameters only reads: the caller checks that. */
typedef enum cw_risk { CW_RISK_READS, CW_RISK_CHANGES, CW_RISK_DESTROYS } cw_risk;
cw_risk cw_describe_risk(cw_str method);

#endif
