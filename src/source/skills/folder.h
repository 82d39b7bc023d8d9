/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.h - reads a directory of skills into memory.
 *
 *     skills/
 *       refunds/SKILL.md           a skill: its name is the name of its directory
 *       refunds/templates/mail.md
 *       README.md                  no directory: ignored
 *
 * Names that begin with a dot are ignored. A skill with a problem is left out and reported; the
 * others are read. Nothing outside of the directory is read: a skill with a symbolic link, or with
 * anything but files and directories, is left out.
 *
 *     cw_skills *skills;
 *     cw_code rc = cw_skill_folder_read(path, CW_STR("billing"), report, ctx, &skills, err);
 *
 * Threads: no state. The calling thread waits for the disk.
 * Limits:  catalogue/skills.h.
 */
#ifndef CW_SOURCE_SKILLS_FOLDER_H
#define CW_SOURCE_SKILLS_FOLDER_H

#include "catalogue/skills.h"

/* Report a skill that is left out; the texts live for the call only. */
typedef void (*cw_skill_problem_fn)(cw_str skill, const char *problem, void *ctx);

/* The skills of a directory as those of a source. A directory that does not exist has none. CW_IO: it
 * cannot be read; CW_LIMIT: it has too many skills, or too large ones; CW_NOMEM. */
CW_MUST_USE cw_code cw_skill_folder_read(const char *path, cw_str source, cw_skill_problem_fn fn,
                                         void *ctx, cw_skills **ret, cw_err *err);

/* A number that differs after a change of the directory: of names, sizes and times. 0: it does not
 * exist, or cannot be read. */
uint64_t cw_skill_folder_stamp(const char *path);

/* The frontmatter of a SKILL.md. */
typedef struct cw_skill_front {
    cw_str json; /* all of it, an object */
    cw_str name, description;
} cw_skill_front;

/* Read the frontmatter of a SKILL.md into the arena. CW_PARSE with a reason, CW_LIMIT, CW_NOMEM. */
CW_MUST_USE cw_code cw_skill_front_read(cw_str text, cw_arena *arena, cw_skill_front *ret,
                                        cw_err *err);

#endif
