/* SPDX-License-Identifier: GPL-2.0-or-later */
/* declaration_errors.c - all errors in the description of a plugin. */
#include "catalogue/method_errors.h"
#include "source/openrpc/openrpc.h"
#include "source/plugin/plugin.h"

#define LINES_MAX (1024u * 1024u)
#define METHODS_MAX ((size_t)256 << 20)

static void add_lines(cw_str name, cw_str lines, cw_buf *out)
{
    for (cw_str rest = lines; rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n)
            cw_buf_printf(out, "%.*s: %.*s\n", CW_STR_ARG(name), CW_STR_ARG(line));
    }
}

cw_code cw_plugin_declaration_errors(cw_str name, const cw_json *description,
                                     const cw_schema_policy *policy, cw_buf *out)
{
    cw_err err = {0};
    cw_method *methods = NULL;
    size_t n = 0;
    cw_arena arena;
    cw_arena_init(&arena, METHODS_MAX);
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, LINES_MAX);
    const cw_openrpc_opts opts = {.trust_marks = true, .callable = true, .problems = &lines};
    cw_code rc = cw_openrpc_read(description, &opts, &arena, &methods, &n, &err);
    if (rc == CW_PARAMS && !lines.n)
        cw_buf_printf(&lines, "%s\n", err.msg);
    if (!rc || rc == CW_PARAMS)
        rc = cw_method_errors_list(methods, n, policy, CW_METHOD_ERRORS_ALL, &lines);
    if (!rc)
        add_lines(name, cw_buf_str(&lines), out);
    cw_arena_done(&arena);
    return rc;
}
