/* SPDX-License-Identifier: GPL-2.0-or-later */
/* helpers.h - methods from a few words, for the tests of this folder. */
#ifndef CW_TESTS_CATALOGUE_HELPERS_H
#define CW_TESTS_CATALOGUE_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "catalogue/snapshot.h"

/* A document in the arena; the text must live as long. */
static inline const cw_json *json_of(cw_arena *arena, const char *text)
{
    const cw_json *v = NULL;
    cw_err err = {0};
    if (cw_json_read(cw_str_from(text), NULL, arena, &v, NULL, &err))
        fail_msg("%s: %s", text, err.msg);
    return v;
}

static inline void assert_text(cw_str text, const char *expected)
{
    /* So that both are shown when they differ. */
    char *copy = malloc(text.n + 1);
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    assert_string_equal(copy, expected);
    free(copy);
}

#endif
