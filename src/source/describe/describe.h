/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.h - descriptions of services: the table of describers.
 *
 * Each describer sends the service a few requests and makes one OpenRPC document of
 * the responses. From there on services of all dialects are alike
 * (source/openrpc/openrpc.h). The document is kept for a restart.
 *
 *     name                 requests
 *     openrpc              rpc.discover (also rpc_discover, getopenrpcinfo)
 *     drupal               as drupal-tools if the site allows it, else as drupal-methods
 *     drupal-tools         GET /mcp/tools/list, page after page
 *     drupal-methods       GET /jsonrpc/methods, and each method whose params it left out
 *     system               system.listMethods, methodHelp, methodSignature
 *     mopidy               core.describe
 *     kodi                 JSONRPC.Introspect
 *     qmp                  query-qmp-schema
 *     ovsdb                list_dbs, get_schema
 *     spdk                 rpc_get_methods
 *     help                 help, and help METHOD
 *     lsp                  workspace/symbol; the common methods of language servers are known
 *     transmission         session-get; its methods are known
 *     mcp                  tools/list, prompts/list, resources/list, resources/templates/list
 *
 * Facts beyond OpenRPC go to extension members, which the reader supports:
 *     "x-mcp-tool": {"title":…, "annotations":{readOnlyHint, destructiveHint, …, "auth":{…}}}
 *     "x-mcp-more": {"icons":[…], "_meta":{…}}      of a tool of an MCP server
 *     "x-mcp-resource", "x-mcp-resource-template", "x-mcp-prompt"   it is no tool but one of these
 *     "x-mcp-view": "…"                             of a resource ui://…: its hash, view_hash.h; empty: unread
 *     "x-instructions": "…"                         of the document: instructions of an MCP server
 *     "x-access":   {"permissions":[…]}             never taken as permission to show anything
 *     "x-notification": true                        sent without an id, so without a response
 * A method whose params are not described has the one param
 *     {"name":"params","schema":{"type":["array","object"],"x-spread":true}}
 * A method whose schemas are invalid, or too large to be written out, is kept with schemas that
 * allow anything, and a warning.
 *
 * Ownership: what a describer makes lives in d->arena, which ends with the job.
 * Threads:   the loop of the job.
 * Limits:    CW_DESCRIBE_QUESTIONS requests of one job; CW_DESCRIBE_PAGES of a list.
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
    bool is_known; /* no request for them is needed */
    bool has_prompts, has_resources;
    cw_str instructions; /* may be empty */
} cw_describe_server;

/* Made and owned by the caller of a describer (source/remote/load.c, and the tests). */
struct cw_describe_ctx {
    cw_arena *arena;
    cw_str service; /* name of the source, for texts */
    cw_str url;     /* of the service; empty where it has none */
    void *state;    /* used by the describer only */
    /* Set by a describer of several kinds of descriptions: the kind that it has read. NULL: that of
     * its own name. */
    const char *kind;
    /* Set by it too: a richer description exists, which these credentials may not read. */
    bool is_partial;
    const struct cw_describe_ops *ops;
};

typedef struct cw_describe_ops {
    /* Send a request: `incoming` of the describer follows with this tag, never before this returns.
     * Several may be under way; responses come in any order. `params` is JSON text, or empty. The
     * calling function must return a failure of this. */
    cw_code (*query)(cw_describe_ctx *d, cw_str method, cw_str params, unsigned tag, cw_err *err);
    /* GET a document of the same server: a path, or a URL with the same origin (else CW_PARAMS). A
     * JSON response with status 200 is a RESULT; other JSON, or another status, is an ERROR with
     * the status as its code; no JSON is FAILED. CW_PARAMS if the service is not reached by
     * HTTP. */
    cw_code (*get)(cw_describe_ctx *d, cw_str path, unsigned tag, cw_err *err);
    /* The facts of an MCP server. Texts live in d->arena. NULL: no facts are available. */
    void (*server)(cw_describe_ctx *d, cw_describe_server *ret);
    /* A warning for the operator. The description continues. */
    void (*warn)(cw_describe_ctx *d, const char *text);
    /* The end, exactly one of them, and not from within begin. */
    void (*done)(cw_describe_ctx *d, cw_str openrpc);
    void (*fail)(cw_describe_ctx *d, cw_code rc, const char *why);
    /* Read a resource of an MCP server, as `query`. NULL: views are not read. */
    cw_code (*read)(cw_describe_ctx *d, cw_str uri, unsigned tag, cw_err *err);
} cw_describe_ops;

typedef struct cw_describer {
    const char *name;
    bool is_http;  /* GETs documents */
    bool is_quick; /* one harmless request identifies the service: `auto` tries it */
    /* Send the first request. Fails if it cannot be sent. */
    cw_code (*begin)(cw_describe_ctx *d, cw_err *err);
    /* A response; the outcome lives in d->arena. Leads to further requests, done, or fail. */
    void (*incoming)(cw_describe_ctx *d, unsigned tag, const cw_outcome *outcome);
} cw_describer;

const cw_describer *cw_describer_find(cw_str name);
/* All, in the order in which `auto` tries those that are quick; NULL behind the last. */
extern const cw_describer *const cw_describers[];
const char *cw_describer_names(void);

/* Convert a hand-written manifest (docs/sources.md#manifest) to an OpenRPC document. An OpenRPC
 * document is not changed. CW_PARAMS with the mistake. */
CW_MUST_USE cw_code cw_describe_manifest(const cw_json *manifest, cw_buf *out, cw_err *err);

/* The effect that the name of a method suggests: it reads, changes or destroys something. `causeway
 * import` marks methods that look dangerous. In doubt a method changes something. The name does not
 * show whether a method with parameters only reads: the caller checks that. */
typedef enum cw_risk { CW_RISK_READS, CW_RISK_CHANGES, CW_RISK_DESTROYS } cw_risk;
cw_risk cw_describe_risk(cw_str method);

#endif
