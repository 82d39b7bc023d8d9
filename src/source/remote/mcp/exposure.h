/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exposure.h - resources, templates and prompts of an MCP server, as an operator exposes them.
 *
 * In a description they are methods whose ids begin with their kind
 * (source/describe/mcp_exposed.h). A list of the configuration names those of one kind, by URI,
 * template or name. Addresses are not changed, since results, links and notifications have them
 * too. The name of a prompt gets the prefix of the source, or is the name that the operator chose.
 *
 * Ownership: what is made lives in the arena.
 * Threads:   no state.
 */
#ifndef CW_SOURCE_REMOTE_MCP_EXPOSURE_H
#define CW_SOURCE_REMOTE_MCP_EXPOSURE_H

#include "catalogue/method.h"
#include "config/config.h"

/* The lists of an overlay: methods, then those of cw_config_exposed. */
#define CW_EXPOSURE_LISTS (1 + CW_CONFIG_EXPOSED)

/* The id of the instructions of a server in a lock file. */
#define CW_EXPOSURE_INSTRUCTIONS "server:instructions"

/* The index of the list that names a method of the description. */
size_t cw_exposure_list(const cw_method *found);
/* The name of a list: "methods", "resources", …; and of one entry: "method", "resource", … */
const char *cw_exposure_list_name(size_t list);
const char *cw_exposure_word(size_t list);
/* The text that entries of its list are compared with. */
cw_str cw_exposure_name(const cw_method *found);
/* The id in the description that an entry without wildcards names; .p is NULL without memory. */
cw_str cw_exposure_id(size_t list, cw_str name, cw_arena *arena);

/* Make a method of a template that the server does not list. CW_PARAMS: it is no template. */
CW_MUST_USE cw_code cw_exposure_unlisted(cw_str template, cw_source *source, cw_arena *arena,
                                         cw_method *ret, cw_err *err);

/* Give a resource, template or prompt the id, texts and name that clients see. CW_NOMEM. */
CW_MUST_USE cw_code cw_exposure_apply(const cw_config_overlay *o, cw_str prefix, cw_arena *arena,
                                      cw_method *m, cw_err *err);

#endif
