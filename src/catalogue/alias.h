/* SPDX-License-Identifier: GPL-2.0-or-later */
/* alias.h - other names for tools, for clients whose models accept [A-Za-z][A-Za-z0-9_-]* only.
 *
 *     echo                        ->  echo
 *     examples.contentTypes.list  ->  examples__contentTypes__list
 *     a._b                        ->  a__b___1f0c44d2a7
 *
 * An alias depends on the tool's own name alone. Other tools do not change it, so it reveals nothing
 * about hidden tools, and replicas agree on it.
 *
 * A name of at most 48 such characters without "__" is its own alias. If dots are the only problem, each
 * between letters, digits or '-', a dot becomes "__". Any other name is cut to 35 characters, followed
 * by "___" and ten digits of its digest. No alias of one kind equals one of another. Two aliases of the
 * last kind can be equal if an author computed them: such an alias finds no tool for a caller who sees
 * both (cw_view_find_alias).
 *
 * Ownership: a table belongs to its snapshot (cw_snapshot_aliases).
 * Threads:   immutable.
 */
#ifndef CW_CATALOGUE_ALIAS_H
#define CW_CATALOGUE_ALIAS_H

#include "catalogue/snapshot.h"

#define CW_ALIAS_MAX 48u

/* The alias of a tool of this name: `name` itself, or a text in `room`. */
cw_str cw_alias_of(cw_str name, char room[CW_ALIAS_MAX]);

/* A tool that has an alias other than its name, and the others that have the same. */
typedef struct cw_alias {
    const cw_entry *tool;
    const struct cw_alias *next;
} cw_alias;

/* NULL without memory. Borrows the snapshot. */
cw_aliases *cw_aliases_new(const cw_snapshot *snapshot);
/* NULL is fine. */
void cw_aliases_free(cw_aliases *a);
/* The tools with this alias, or NULL. */
const cw_alias *cw_aliases_find(const cw_aliases *a, cw_str alias);

#endif
