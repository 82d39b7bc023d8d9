/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assert_str.h - assertions about cw_str, which has no NUL at its end. */
#ifndef CW_TESTS_ASSERT_STR_H
#define CW_TESTS_ASSERT_STR_H

#include "base/str.h"
#include "support/test.h"

/* The text equals `expected`, a C string; a failure prints both and the line of the test. */
#define assert_str(text, expected) assert_str_at((text), (expected), __FILE__, __LINE__)
void assert_str_at(cw_str text, const char *expected, const char *file, int line);

/* Whether the text contains `part`. */
bool str_has(cw_str text, const char *part);

#endif
