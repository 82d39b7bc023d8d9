/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find.h - looks up the method that a client names. Every door uses this one function.
 *
 *     cw_call_lookup lookup = {.view = view, .door = "rest", .peer = peer_of, .ctx = req,
 *                              .in = CW_FIND_TOOL, .name = name};
 *     cw_call_found found;
 *     cw_code rc = cw_call_find(rl, &lookup, &found);
 *
 * The general permission is checked first, so that a refusal does not reveal which names exist. A
 * method that is hidden from the caller is answered like an unknown one. Each refusal is written to
 * the log and the audit, here and once.
 *
 * Ownership: the entry lives as long as the view; the variables live in the arena.
 * Threads:   the loop of the cw_runtime_loop.
 */
#ifndef CW_CALL_FIND_H
#define CW_CALL_FIND_H

#include "call/runtime.h"

/* The names among which a lookup searches. */
typedef enum cw_find_in {
    CW_FIND_NONE, /* none: check the general permission only */
    CW_FIND_TOOL,
    CW_FIND_TOOL_OR_PORTABLE, /* a tool's own name wins over another tool's portable name */
    CW_FIND_PORTABLE_OR_TOOL, /* the reverse, for clients whose lists show portable names */
    CW_FIND_METHOD,           /* by id; "rpc." is reserved by JSON-RPC and never found */
    CW_FIND_METHOD_OR_TOOL,
    CW_FIND_ANY_NAME, /* a tool, else a method, else a portable name */
    CW_FIND_PROMPT,
    CW_FIND_RESOURCE,             /* by URI, templates included; needs an arena */
    CW_FIND_TEMPLATE_OR_RESOURCE, /* by the text of the template, or by URI */
    /* The same tool, or the same prompt or resource, in a newer view; `name` is for the record. */
    CW_FIND_SAME_TOOL,
    CW_FIND_SAME_EXPOSED,
} cw_find_in;

typedef struct cw_call_lookup {
    cw_view *view;    /* the caller's */
    const char *door; /* static: its name for the audit */
    /* The address of the client, read only when a refusal is recorded: it takes time to format.
     * NULL: none. */
    cw_str (*peer)(const void *ctx);
    const void *ctx;
    bool discovers; /* needs the permission to discover tools, not the one to call them */
    bool may_wait;  /* CW_AGAIN is a possible result */
    cw_find_in in;
    cw_str name;           /* as the client sent it; empty: not read yet */
    const cw_entry *entry; /* CW_FIND_SAME_*: the entry of the older view */
    cw_arena *arena;       /* CW_FIND_RESOURCE: for the variables */
} cw_call_lookup;

typedef struct cw_call_found {
    const cw_entry *entry; /* NULL unless CW_OK, and with CW_FIND_NONE */
    cw_str variables;      /* CW_FIND_RESOURCE: object of a template's variables; empty: none */
    cw_verdict verdict;    /* CW_DECLINED: why */
} cw_call_found;

/* CW_OK. CW_DECLINED: the caller lacks the general permission. CW_NOTFOUND: unknown or hidden.
 * CW_AGAIN (may_wait): unknown, but some source is still loading; nothing was recorded. CW_NOMEM. */
CW_MUST_USE cw_code cw_call_find(cw_runtime_loop *rl, const cw_call_lookup *lookup,
                                 cw_call_found *ret);

#endif
