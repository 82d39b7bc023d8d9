/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_fixture.c - compare the reader of configurations with the published schema. */
#include "support/config_fixture.h"

/* CW_OK when the JSON Schema that we publish takes the text, CW_PARAMS when it refuses it; else why
 * there is nothing to judge. Our own engine asks; editors ask theirs. */
static cw_code judge_by_schema(const char *text)
{
    cw_buf published;
    cw_arena arena;
    cw_schema *schema = NULL;
    cw_yaml doc;
    cw_yaml_pos pos;
    cw_err err = {0};
    cw_buf_init(&published, 1 << 20);
    cw_arena_init(&arena, 64 << 20);
    assert_int_equal(cw_config_schema(&published, &err), CW_OK);
    cw_code rc = cw_schema_compile_text(cw_buf_str(&published), NULL, &schema, &err);
    if (rc)
        fail_msg("%s", err.msg);
    rc = cw_yaml_read(cw_str_from(text), &arena, &doc, &pos, &err);
    if (!rc)
        rc = cw_schema_validate(schema, doc.root, NULL);
    cw_schema_unref(schema);
    cw_arena_done(&arena);
    cw_buf_done(&published);
    return rc;
}

/* Whether every problem is one that a schema cannot see. */
static bool are_beyond_schema(const char *problems)
{
    static const char *const phrases[] = {
        /* Ranges of what is written with a unit, bytes of a path. */
        ": expected a duration from ",
        ": expected a size from ",
        " has at most 107 bytes ",
        /* One key and another one. */
        " needs tls.certificate and tls.key",
        ": missing; a certificate needs its key",
        ": missing; a key needs its certificate",
        ": the same address as ",
        ": the same name as ",
        ": the same method as ",
        " more than limits.",
        " less than limits.",
        " has a client_id too: ",
        ": token_prefix needs client_id",
        /* Keys of a service that do not go together. */
        ": missing key \"url\" or \"command\"",
        ": there is a url already",
        ": only for a command",
        ": the program has no name",
        ": the program and each of its arguments ",
        ": this header is set by Causeway itself",
        ": the same header twice",
        ": a certificate needs its key",
        ": a key needs its certificate",
        ": there is a file already",
        ": needs client_id",
        ": \"name\" is for one method",
    };
    cw_str rest = cw_str_from(problems);
    while (rest.p) {
        char line[1024];
        cw_str one = cw_str_cut(rest, '\n', &rest);
        size_t i = 0;
        snprintf(line, sizeof line, "%.*s", CW_STR_ARG(one));
        while (i < CW_COUNT(phrases) && !strstr(line, phrases[i]))
            i++;
        if (i == CW_COUNT(phrases))
            return false;
    }
    return true;
}

cw_config *config_of(const char *text)
{
    cw_config *config = NULL;
    cw_config_problems problems;
    cw_err err = {0};
    cw_config_problems_init(&problems);
    cw_code rc =
        cw_config_read(cw_str_from(text), "/etc/causeway/c.yaml", &config, &problems, &err);
    if (rc)
        fail_msg("%s\n%s", text, err.msg);
    if (judge_by_schema(text))
        fail_msg("%s\nis refused by the schema", text);
    cw_config_problems_done(&problems);
    return config;
}

void assert_problems(const char *text, const char *expected)
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
    if (judge_by_schema(text) == CW_OK && !are_beyond_schema(expected))
        fail_msg("%s\nis taken by the schema, but not by us: %s", text, expected);
    cw_buf_done(&lines);
    cw_config_problems_done(&problems);
}
