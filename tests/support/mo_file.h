/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mo_file.h - .mo files as bytes, as msgfmt would write them, and directories of them.
 *
 *     char dir[64];
 *     mo_dir_create(dir);
 *     mo_dir_add(dir, "de.mo", pairs, n);
 *     mo_dir_remove(dir);
 *
 * A failure aborts the program.
 */
#ifndef CW_TESTS_MO_FILE_H
#define CW_TESTS_MO_FILE_H

#include <stddef.h>
#include <stdint.h>

#define MO_HEADER "Content-Type: text/plain; charset=UTF-8\n"
#define MO_OTHER_ORDER 1u /* flag: the bytes of each number in the other order */
#define MO_MAX 4096u

typedef struct mo_pair {
    const char *id, *text;
} mo_pair;

/* The bytes of a file with these pairs, in this order. Returns the length. */
size_t mo_build(char out[MO_MAX], const mo_pair *pairs, uint32_t n, unsigned flags);

/* Write one number of a file. */
void mo_put(char *at, uint32_t v, unsigned flags);

/* Create a directory and store its path. */
void mo_dir_create(char path[64]);
/* Write a file of any bytes. */
void mo_dir_save(const char *dir, const char *name, const char *bytes, size_t n);
/* Write a file of pairs. */
void mo_dir_add(const char *dir, const char *name, const mo_pair *pairs, uint32_t n);
void mo_dir_add_subdir(const char *dir, const char *name);
/* Remove the directory and all that it holds. */
void mo_dir_remove(const char *dir);

#endif
