/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin_names.h - the administration methods that only read, so that they can be tools.
 *
 * The configuration names them in admin.tools. The methods themselves are in src/admin; a test
 * compares its table with this list.
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_KEYS_ADMIN_NAMES_H
#define CW_CONFIG_KEYS_ADMIN_NAMES_H

#include "base/str.h"

#define CW_ADMIN_NAMES_PATTERN "^causeway\\.[a-z.]+$"

/* Whether this method exists and only reads. */
bool cw_admin_names_is_reading(cw_str name);

#endif
