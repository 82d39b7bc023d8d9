/* SPDX-License-Identifier: GPL-2.0-or-later */
/* method.h - one JSON-RPC method as its source describes it, and the mark that makes it a tool.
 *
 * Ownership: everything a method points to lives in the arena of the source that offers it.
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_METHOD_H
#define CW_CATALOGUE_METHOD_H

#include "access/gate.h"
#include "json/json.h"

/* Where calls go; the catalogue only carries it (source/source.h). */
typedef struct cw_source cw_source;

typedef struct cw_param {
    cw_str name;
    cw_str description;     /* empty: none */
    const cw_json *schema;  /* NULL: anything */
    const cw_json *initial; /* the default, or NULL */
    bool is_required;
} cw_param;

/* What makes a method a tool. */
typedef struct cw_mark {
    cw_str title;               /* empty: none */
    const cw_json *annotations; /* a non-empty object, `auth` inside, or NULL */
} cw_mark;

typedef struct cw_method {
    cw_str id;    /* unique in the catalogue */
    cw_str usage; /* may be empty */
    const cw_param *params;
    size_t n_params;
    const cw_json *output; /* schema of the result, or NULL */
    cw_needs needs;
    const cw_mark *mark; /* NULL: no tool */
    bool is_callable;    /* on /jsonrpc without a mark: plugins' methods, and `rpc: true` */
    bool by_position;    /* the source takes its params as an array */
    uint32_t index;      /* in the source's list */
    cw_source *source;
} cw_method;

#endif
