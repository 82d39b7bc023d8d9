/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_fixture.h - configurations from text, checked by the reader and by the published JSON
 * Schema.
 *
 * Both must agree, except about problems that a schema cannot express (a list in the .c file).
 */
#ifndef CW_TESTS_CONFIG_FIXTURE_H
#define CW_TESTS_CONFIG_FIXTURE_H

#include "config/config.h"
#include "config/syntax/yaml.h"
#include "support/test.h"

/* A configuration without a problem, as if read from /etc/causeway/c.yaml. The caller frees it. */
cw_config *config_of(const char *text);
/* The problems of a text, read from a file called "f", are exactly these, one per line. */
void assert_problems(const char *text, const char *expected);

#endif
