/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - rules that involve more than one key.
 *
 * Threads: one thread at a time.
 */
#ifndef CW_CONFIG_RULES_H
#define CW_CONFIG_RULES_H

#include "config/syntax/check.h"

/* Check a configuration whose single values are valid. A problem is reported at the key that has to
 * change. */
CW_MUST_USE cw_code cw_rules_check(cw_checker *c, const cw_config *config);

/* Check the methods of one source, or of an overlay file. `v` is the value of `source` in the file. */
CW_MUST_USE cw_code cw_rules_check_methods(cw_checker *c, const cw_config_overlays *methods,
                                           const cw_config_overlays exposed[CW_CONFIG_EXPOSED],
                                           const cw_place *source, const cw_json *v);

#endif
