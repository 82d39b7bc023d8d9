/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rules.h - what one key demands of another.
 *
 * Threads: one thread at a time.
 */
#ifndef CW_CONFIG_RULES_H
#define CW_CONFIG_RULES_H

#include "config/check.h"

/* Check a configuration whose single values are all right; report what does not go together at the
 * key that has to change. */
CW_MUST_USE cw_code cw_rules_check(cw_checker *c, const cw_config *config);

#endif
