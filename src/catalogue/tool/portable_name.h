/* SPDX-License-Identifier: GPL-2.0-or-later */
/* portable_name.h - names of tools that every model API accepts: [A-Za-z][A-Za-z0-9_-]{0,47}.
 *
 *     echo                        ->  echo
 *     examples.contentTypes.list  ->  examples__contentTypes__list
 *     a._b                        ->  a__b___1f0c44d2a7
 *
 * It depends on the tool's own name alone. Other tools do not change it, so it reveals nothing
 * about hidden tools, and replicas agree on it.
 *
 * A name of at most 48 such characters without "__" is portable as it is. If dots are the only problem, each
 * between letters, digits or '-', a dot becomes "__". Any other name is cut to 35 characters, followed
 * by "___" and ten digits of its digest. No name of one kind equals one of another. Two names of the
 * last kind can be equal if an author computed them: such a name finds no tool for a caller who sees both
 * (cw_view_find_portable).
 *
 * Ownership: a table belongs to its snapshot (cw_snapshot_portable_names).
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_TOOL_PORTABLE_NAME_H
#define CW_CATALOGUE_TOOL_PORTABLE_NAME_H

#include "catalogue/snapshot.h"

#define CW_PORTABLE_NAME_MAX 48u

/* The portable name of a tool: `name` itself, or a text in `room`. */
cw_str cw_portable_name(cw_str name, char room[CW_PORTABLE_NAME_MAX]);

/* A tool that has a portable name other than its name, and the others that have the same. */
typedef struct cw_portable_tool {
    const cw_entry *tool;
    const struct cw_portable_tool *next;
} cw_portable_tool;

/* NULL without memory. Borrows the snapshot. */
cw_portable_names *cw_portable_names_new(const cw_snapshot *snapshot);
/* NULL is fine. */
void cw_portable_names_free(cw_portable_names *a);
/* The tools with this portable name, or NULL. */
const cw_portable_tool *cw_portable_names_find(const cw_portable_names *a, cw_str name);

#endif
