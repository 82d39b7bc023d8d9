/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc_fixture.c - read OpenRPC documents from text. */
#include "support/openrpc_fixture.h"

const cw_openrpc_opts openrpc_plugin_opts = {.trust_marks = true, .callable = true};
const cw_openrpc_opts openrpc_remote_opts = {0};

openrpc_result openrpc_read_text(const cw_openrpc_opts *opts, const char *text)
{
    openrpc_result r = {0};
    const cw_json *doc = NULL;
    cw_err err = {0};
    cw_arena_init(&r.arena, (size_t)256 << 20);
    cw_str copy = cw_arena_dup_str(&r.arena, cw_str_from(text));
    if (cw_json_read(copy, NULL, &r.arena, &doc, NULL, &err))
        fail_msg("%s: %s", text, err.msg);
    r.rc = cw_openrpc_read(doc, opts, &r.arena, &r.methods, &r.n, &r.err);
    return r;
}

void openrpc_result_done(openrpc_result *r)
{
    cw_arena_done(&r->arena);
}

char *repeat_item(const char *front, const char *item, size_t n, const char *back)
{
    cw_buf b;
    cw_buf_init(&b, (size_t)64 << 20);
    cw_buf_add(&b, cw_str_from(front));
    for (size_t i = 0; i < n; i++) {
        const char *gap = strstr(item, "%");
        cw_buf_printf(&b, "%s%.*s%zu%s", i ? "," : "", (int)(gap - item), item, i, gap + 1);
    }
    cw_buf_add(&b, cw_str_from(back));
    return cw_buf_take(&b, NULL);
}
