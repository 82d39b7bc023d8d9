/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.h - the skills of a source: directories with instructions for models (SEP-2640).
 *
 * A skill is a directory with a file SKILL.md. All of its files are in memory, so that a file that is
 * read has the digest that lists show, whatever happens on the disk meanwhile.
 *
 *     skill://SOURCE/NAME               the root, a directory
 *     skill://SOURCE/NAME/SKILL.md      its instructions
 *     skill://SOURCE/NAME/a/b.txt       another file
 *
 * A caller sees the skills of a source if the caller sees a tool, resource or prompt of it.
 *
 * Ownership: a set is reference counted and owns everything in it (source/skills/folder.h makes it).
 *            A snapshot holds references to the sets of its sources.
 * Threads:   immutable; references are counted atomically.
 * Limits:    CW_SKILL_MAX_FILES, CW_SKILL_MAX_BYTES, CW_SKILLS_MAX, CW_SKILLS_MAX_BYTES.
 */
#ifndef CW_CATALOGUE_SKILLS_H
#define CW_CATALOGUE_SKILLS_H

#include <stdatomic.h>

#include "base/arena.h"
#include "catalogue/view.h"

#define CW_SKILL_SCHEME "skill://"
#define CW_SKILL_FILE "SKILL.md"
#define CW_SKILL_DIRECTORY_TYPE "inode/directory"

/* A file or directory of a skill. */
typedef struct cw_skill_node {
    cw_str uri;
    cw_str name; /* the last part of its path, not encoded */
    cw_str mime_type;
    cw_str bytes; /* of a file */
    bool is_directory;
    bool is_text; /* UTF-8, to be sent as such */
} cw_skill_node;

typedef struct cw_skill {
    cw_str root; /* URI of its directory */
    cw_str uri;  /* of SKILL.md */
    cw_str name;
    cw_str description;
    cw_str entry;               /* JSON: as skills/list shows it */
    cw_str resource;            /* JSON: SKILL.md as resources/list shows it */
    const cw_skill_node *nodes; /* the root is not among them */
    size_t n_nodes;
} cw_skill;

/* The skills of one source. */
typedef struct cw_skills {
    atomic_uint refs;
    cw_arena arena;
    const cw_skill *items; /* sorted by root */
    size_t n;
} cw_skills;

cw_skills *cw_skills_ref(cw_skills *s);
/* NULL is fine. */
void cw_skills_unref(cw_skills *s);
/* Whether both have the same skills with the same files. NULL is a set without any. */
bool cw_skills_same(const cw_skills *a, const cw_skills *b);

/* ---- of a caller ---- */

/* Up to `n` of those behind the skill with this root (empty: from the first on), by root. */
void cw_view_skills_after(const cw_view *v, cw_str root, const cw_skill **ret, size_t n,
                          size_t *ret_n, bool *ret_more);
/* Whether the caller sees any. */
bool cw_view_has_skills(const cw_view *v);
/* The skill whose SKILL.md has this URI; NULL: none that the caller sees. */
const cw_skill *cw_view_find_skill(const cw_view *v, cw_str uri);
/* The skill that a URI belongs to, and the file or directory there: *ret_node is NULL for the root.
 * False: nothing that the caller sees. */
bool cw_view_find_skill_node(const cw_view *v, cw_str uri, const cw_skill **ret,
                             const cw_skill_node **ret_node);
/* Whether a node is in a directory itself, not deeper; `directory` is its URI. */
bool cw_skill_node_is_in(const cw_skill_node *node, cw_str directory);

#endif
