/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.h - parts of rows that several tables of keys share (keys.c, keys_….c).
 *
 *     {"title", &cw_type_text, "Title of the tool", CW_KEY_AT(cw_config_overlay, title), CW_KEY_LINE},
 *
 * Threads: constant.
 */
#ifndef CW_CONFIG_KEYS_ROWS_H
#define CW_CONFIG_KEYS_ROWS_H

#include "config/keys/keys.h"
#include "config/syntax/names.h"

#define CW_KEY_MAX_NAMES 1000u /* of a list */
#define CW_KEY_DAY_MS (24u * 3600u * 1000u)

/* The field of a key. */
#define CW_KEY_AT(struct_type, field)                                                              \
    .offset = offsetof(struct_type, field), .size = sizeof(((struct_type *)0)->field)

/* Checks of texts. */
#define CW_KEY_LINE                                                                                \
    .is_valid = cw_check_is_clean, .expected = CW_NAMES_LINE_EXPECTED,                             \
    .pattern = CW_NAMES_LINE_PATTERN
#define CW_KEY_PROSE                                                                               \
    .is_valid = cw_names_is_prose, .expected = CW_NAMES_PROSE_EXPECTED,                            \
    .pattern = CW_NAMES_PROSE_PATTERN
#define CW_KEY_CLEAN(what)                                                                         \
    .is_valid = cw_check_is_clean, .expected = (what), .pattern = CW_NAMES_CLEAN_PATTERN
#define CW_KEY_POINTER(example)                                                                    \
    .is_valid = cw_names_is_pointer, .expected = "a JSON pointer such as \"" example "\"",         \
    .pattern = CW_NAMES_POINTER_PATTERN
#define CW_KEY_SCOPE                                                                               \
    .is_valid = cw_names_is_scope, .expected = CW_NAMES_SCOPE_EXPECTED,                            \
    .pattern = CW_NAMES_SCOPE_PATTERN
#define CW_KEY_PERMISSION CW_KEY_CLEAN("a permission such as \"access content\"")

/* keys_sources.c: the words of `visibility` and `auth_level`. */
extern const cw_choice cw_config_visibilities[], cw_config_auth_levels[];

#endif
