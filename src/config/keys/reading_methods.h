/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reading_methods.h - the administration methods that only read, so that they can be tools.
 *
 * The configuration names them in admin.tools. The methods themselves are in src/admin; a test
 * compares its table with this list.
 *
 * Threads: no state.
 */
#ifndef CW_CONFIG_KEYS_READING_METHODS_H
#define CW_CONFIG_KEYS_READING_METHODS_H

#include "base/str.h"

#define CW_CONFIG_READING_METHOD_PATTERN "^causeway\\.[a-z.]+$"

/* Whether this method exists and only reads. */
bool cw_config_is_reading_method(cw_str name);

#endif
