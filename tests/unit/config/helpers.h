/* SPDX-License-Identifier: GPL-2.0-or-later */
/* helpers.h - configurations from text, for the tests of this folder. */
#ifndef CW_TESTS_CONFIG_HELPERS_H
#define CW_TESTS_CONFIG_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "config/config.h"

/* A configuration that must be right; its file would be /etc/causeway/c.yaml. */
static inline cw_config *config_of(const char *text)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err = {0};
    cw_config_problems_init(&problems);
    cw_code rc =
        cw_config_read(cw_str_from(text), "/etc/causeway/c.yaml", &config, &problems, &err);
    if (rc)
        fail_msg("%s\n%s", text, err.msg);
    cw_config_problems_done(&problems);
    return config;
}

/* The problems of a text, one a line, must be exactly these. The file is called f. */
static inline void assert_problems(const char *text, const char *expected)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err = {0};
    cw_config_problems_init(&problems);
    cw_code rc = cw_config_read(cw_str_from(text), "f", &config, &problems, &err);
    cw_buf lines;
    cw_buf_init(&lines, 1 << 20);
    for (size_t i = 0; i < problems.n; i++)
        cw_buf_printf(&lines, "%s%s", i ? "\n" : "", problems.items[i].text);
    cw_buf_add_char(&lines, '\0');
    assert_string_equal(lines.p, expected);
    assert_int_equal(rc, CW_CONFIG);
    assert_int_equal(err.code, CW_CONFIG);
    assert_null(config);
    cw_buf_done(&lines);
    cw_config_problems_done(&problems);
}

#endif
