/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method.h - one JSON-RPC method as its source describes it, and the mark that makes it a tool.
 *
 * Schemas and annotations are kept as text, without white space between tokens: a
 * tree of their values would be larger than everything else in the catalogue, and is
 * wanted for the few methods only that are being called or written.
 *
 * Ownership: everything a method points to lives in the arena of the source that offers it.
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_METHOD_H
#define CW_CATALOGUE_METHOD_H

#include "access/gate.h"
#include "json/json.h"

/* The target of calls; the catalogue only carries it (source/source.h). */
typedef struct cw_source cw_source;

typedef struct cw_param {
    cw_str name;
    cw_str description;           /* empty: none */
    cw_str schema;                /* empty: anything */
    const cw_json *default_value; /* the default, or NULL */
    bool is_required;
} cw_param;

/* Whether calls of a tool are tasks, of clients that support tasks. */
typedef enum cw_task_mark {
    CW_TASK_MARK_UNSET, /* as AUTO */
    CW_TASK_MARK_NEVER,
    CW_TASK_MARK_AUTO,     /* a call that takes long becomes one */
    CW_TASK_MARK_ALWAYS,   /* every call is one */
    CW_TASK_MARK_REQUIRED, /* likewise, and other clients cannot call it */
} cw_task_mark;

/* "never", "auto", "always", "required"; empty for UNSET. */
static inline cw_str cw_task_mark_name(cw_task_mark mark)
{
    static const cw_str names[] = {CW_STR_INIT(""), CW_STR_INIT("never"), CW_STR_INIT("auto"),
                                   CW_STR_INIT("always"), CW_STR_INIT("required")};
    return names[mark];
}

/* A view of a tool: an HTML document that a host shows with a result (ui.h). */
typedef struct cw_ui {
    cw_str uri;        /* "ui://…" */
    cw_str visibility; /* a JSON array; empty: the default */
    cw_str meta;       /* of the resource: a JSON object; empty: none */
    cw_str html;       /* empty: it is a resource of the source, or the built-in one */
} cw_ui;

/* The mark that makes a method a tool. */
typedef struct cw_mark {
    cw_str title;       /* empty: none */
    cw_str annotations; /* an object with members, `auth` inside; empty: none */
    cw_str more;        /* {"icons":[…],"_meta":{…}} of a tool of an MCP server; empty: none */
    bool is_read_only;  /* readOnlyHint is true among them; of a service: where the operator says so
                         */
    bool is_idempotent; /* likewise idempotentHint */
    cw_task_mark task;
    const cw_ui *ui; /* NULL: no view. Its URI is also in `more` */
} cw_mark;

/* The other MCP primitives that a method can be. */
typedef enum cw_exposed_kind {
    CW_EXPOSED_RESOURCE,
    CW_EXPOSED_TEMPLATE, /* of resources: its variables are the method's params */
    CW_EXPOSED_PROMPT,   /* its arguments are the method's params */
} cw_exposed_kind;

#define CW_EXPOSED_KINDS 3

/* The mark that makes a method a resource or a prompt. */
typedef struct cw_exposed {
    cw_exposed_kind kind;
    cw_str address;           /* URI, template of URIs, or the prompt's name */
    const cw_json *json;      /* an object: the source's members, for clients */
    const cw_json *completes; /* names of params that the source can complete; an array, or NULL */
    /* Of an MCP server: json is what it lists, the source completes every param, and a template may
     * have expressions of all levels of RFC 6570; its URIs go to the server as they are. */
    bool is_relayed;
} cw_exposed;

struct cw_method_event; /* source/event/event_source.h */

typedef struct cw_method {
    cw_str id;    /* unique in the catalogue */
    cw_str usage; /* may be empty */
    const cw_param *params;
    size_t n_params;
    cw_str input;  /* schema of all arguments together, where those of the params do not say it all;
                      empty: they do */
    cw_str output; /* schema of the result; empty: none */
    cw_requirements needs;
    const cw_mark *mark;                 /* NULL: no tool */
    const cw_exposed *exposed;           /* NULL: neither resource nor prompt */
    const struct cw_method_event *event; /* a resource: its events; NULL: it has none */
    bool
        is_callable; /* on /jsonrpc without a mark: plugins' methods, and `expose_on_jsonrpc: true` */
    bool by_position;      /* the source takes its params as an array */
    bool keeps_nulls;      /* null is never taken for an argument that was left out */
    bool is_change;        /* an operator's change of the server: its audit records say so */
    bool is_secret;        /* its arguments are not recorded: they may hold a password */
    bool takes_any_params; /* its only param, "params", stands for whatever it takes */
    uint8_t n_audited;     /* so many of its first params are the detail of its audit records */
    bool has_result_size;  /* the operator has set it */
    const cw_str *tags;    /* groups that it belongs to; for toolsets */
    size_t n_tags;
    size_t result_size; /* larger results are cut for MCP clients; 0: never */
    uint32_t index;     /* in the source's list */
    uint32_t call_ms;   /* time limit of a call; 0: the source's */
    cw_source *source;
} cw_method;

/* The param of this name, or NULL. There are few of them. */
static inline const cw_param *cw_method_param(const cw_method *method, cw_str name)
{
    for (size_t i = 0; i < method->n_params; i++) {
        if (cw_str_eq(method->params[i].name, name))
            return &method->params[i];
    }
    return NULL;
}

#endif
