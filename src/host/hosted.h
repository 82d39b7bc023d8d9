/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosted.h - a loaded plugin: its declarations, checked, and the document that describes it.
 *
 * All mistakes of a plugin are reported, not only the first, one line each, with
 * the plugin's name and the member:
 *
 *     articles: method 'a.b': annotations: must be an object
 *
 * Ownership: everything lives in the struct's arena and in the plugin's own memory.
 * Threads:   one thread.
 * Limits:    CW_PLUGIN_MAX_PARAMS, CW_PLUGIN_MAX_NAMES.
 */
#ifndef CW_HOST_HOSTED_H
#define CW_HOST_HOSTED_H

#include <causeway/plugin.h>

#include "base/buf.h"
#include "json/write.h"

typedef struct cw_hosted_param {
    const cw_plugin_param *decl;
    cw_str name;
    const cw_json *schema;        /* NULL: anything */
    const cw_json *default_value; /* the default, wherever it was written; or NULL */
} cw_hosted_param;

typedef struct cw_hosted_method {
    const cw_plugin_method *decl;
    const cw_plugin_tool *tool; /* NULL: not marked */
    cw_str id;
    const cw_hosted_param *params;
    size_t n_params;
    const cw_json *output;      /* or NULL */
    const cw_json *input;       /* or NULL */
    const cw_json *annotations; /* of the tool, or NULL */
    const cw_json *ui;          /* of the tool: an object; NULL: a URI, or none */
    const char *ui_uri;         /* of the tool; NULL: an object, or none */
    /* At most one of them. */
    const cw_plugin_resource *resource;
    const cw_plugin_prompt *prompt;
    const cw_json *mark_annotations; /* of the resource, or NULL */
    const cw_json *icons;            /* of either, or NULL */
    cw_plugin_function *completes;   /* for each param a function or NULL; NULL: none at all */
    bool has_problems, are_permissions_wrong, is_tool_wrong;
} cw_hosted_method;

typedef struct cw_hosted {
    cw_arena arena;
    cw_buf problems; /* one line each; empty: the plugin is fine */
    const char *name;
    const char *version;
    cw_hosted_method *methods; /* in the order of their declaration */
    size_t n;
    const cw_hosted_method **by_id; /* sorted */
} cw_hosted;

void cw_hosted_init(cw_hosted *h);
void cw_hosted_done(cw_hosted *h);

/* Load the shared object at `path` and check what it declares. `name` (NULL: its own) begins each
 * problem. CW_PARAMS: there are problems; CW_NOMEM. The object stays loaded for ever: its text and
 * functions are in use until the process ends. */
CW_MUST_USE cw_code cw_hosted_load(cw_hosted *h, const char *path, const char *name);
/* The second half of it, for declarations that are in memory already. */
CW_MUST_USE cw_code cw_hosted_check(cw_hosted *h, const cw_plugin_entry *entry, const char *name);

const cw_hosted_method *cw_hosted_find(const cw_hosted *h, cw_str id);
/* The same by the address of a resource or the name of a prompt. */
const cw_hosted_method *cw_hosted_find_mark(const cw_hosted *h, cw_str name);

CW_INLINE bool cw_hosted_is_template(const cw_hosted_method *m)
{
    return m->resource && m->resource->mark.kind == CW_MARK_TEMPLATE;
}

/* The access rules of a method, from its mark. */
typedef struct cw_hosted_auth {
    const char *const *scopes;
    const char *level;
    const char *description;
    const char *visibility;
} cw_hosted_auth;

#define CW_HOSTED_AUTH(mark)                                                                       \
    ((cw_hosted_auth){(mark)->scopes, (mark)->auth_level, (mark)->auth_description,                \
                      (mark)->visibility})

CW_INLINE bool cw_hosted_has_auth(cw_hosted_auth a)
{
    return a.scopes[0] || a.level || a.description;
}

/* A text that names a problem in the annotations of content or of a resource; NULL: none is left.
 * *next is 0 at first, and counts on. */
const char *cw_annotations_problem(const cw_json *annotations, size_t *next);

/* The OpenRPC document. For a plugin with problems, the parts of its methods that have none, so that
 * the server checks them. CW_NOMEM, CW_LIMIT. */
CW_MUST_USE cw_code cw_hosted_describe(const cw_hosted *h, cw_json_style style, cw_buf *out);

#endif
