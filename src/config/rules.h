/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - what one key demands of another.
 *
 * Threads: one thread at a time.
 */
#ifndef CW_CONFIG_RULES_H
#define CW_CONFIG_RULES_H

#include "config/syntax/check.h"

/* Check a configuration whose single values are all right; report what does not go together at the
 * key that has to change. */
CW_MUST_USE cw_code cw_rules_check(cw_checker *c, const cw_config *config);

/* Parts of it: the rules of `sources`, and those of the methods of `source`, whose value in the file
 * is `v`. */
CW_MUST_USE cw_code cw_rules_check_sources(cw_checker *c, const cw_config_remotes *sources);
CW_MUST_USE cw_code cw_rules_check_methods(cw_checker *c, const cw_config_overlays *methods,
                                           const cw_place *source, const cw_json *v);
/* Report that item `i` of the list with the value `v` has the same `what` as item `first`. */
CW_MUST_USE cw_code cw_rules_same(cw_checker *c, const cw_place *list, const cw_json *v, size_t i,
                                  const char *what, size_t first);

#endif
