/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assert_str.c - print both texts when an assertion about a cw_str fails. */
#include "support/assert_str.h"

void assert_str_at(cw_str text, const char *expected, const char *file, int line)
{
    if (cw_str_is(text, expected))
        return;
    print_error("\"%.*s\" instead of \"%s\"\n", CW_STR_ARG(text), expected);
    _fail(file, line);
}

bool str_has(cw_str text, const char *part)
{
    return memmem(text.p, text.n, part, strlen(part)) != NULL;
}
