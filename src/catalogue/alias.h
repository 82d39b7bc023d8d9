/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alias.h - other names for tools, for clients whose models take [A-Za-z0-9_-]{1,64} only.
 *
 *     examples.contentTypes.list  ->  examples_contentTypes_list
 *
 * A name within that set is its own alias. In any other '.' becomes '_', and what is
 * too long is cut. Where that gives the name of another tool, where two tools would
 * get the same alias, and behind what was cut, a digest of the name follows
 * ("a_b_1f0c44d2"): so no alias leads to two tools, and which one it leads to never
 * depends on the order of anything. A tool for which even that is taken keeps its
 * name.
 *
 * Ownership: belongs to its snapshot (cw_snapshot_aliases).
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_ALIAS_H
#define CW_CATALOGUE_ALIAS_H

#include "catalogue/snapshot.h"

#define CW_ALIAS_MAX 64u

/* NULL without memory. Borrows the snapshot. */
cw_aliases *cw_aliases_new(const cw_snapshot *snapshot);
/* NULL is fine. */
void cw_aliases_free(cw_aliases *a);

/* What a tool is called: its alias, which is its name where that will do. Lives in `room`, or as
 * long as the entry. */
cw_str cw_alias_of(const cw_aliases *a, const cw_entry *tool, char room[CW_ALIAS_MAX]);
/* The tool that has this alias and another name, or NULL. */
const cw_entry *cw_alias_find(const cw_aliases *a, cw_str alias);

#endif
