/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view_hash.c - hashes the contents of a view. */
#include "source/describe/view_hash.h"

#include <openssl/sha.h>

#include "base/hex.h"
#include "catalogue/ui.h"
#include "json/write.h"

bool cw_describe_is_view(cw_str uri)
{
    const cw_str scheme = CW_STR(CW_UI_SCHEME);
    return uri.n >= scheme.n && cw_str_ieq(cw_str_make(uri.p, scheme.n), scheme);
}

static void add_member(cw_buf *out, const char *name, const cw_json *v)
{
    if (!v)
        return;
    cw_buf_printf(out, "%s:", name);
    cw_json_add_canonical(out, v);
    cw_buf_add_char(out, '\n');
}

static void add_content(cw_buf *out, const cw_json *content)
{
    static const char *const names[] = {"uri", "mimeType", "text", "blob"};
    const cw_json *meta = cw_json_get(content, CW_STR("_meta"));
    for (size_t i = 0; i < CW_COUNT(names); i++)
        add_member(out, names[i], cw_json_get(content, cw_str_from(names[i])));
    add_member(out, "ui", cw_json_get(meta, CW_STR("ui")));
    cw_buf_add_char(out, '\n');
}

cw_code cw_describe_view_hash(const cw_json *result, char ret[CW_DESCRIBE_VIEW_HASH + 1])
{
    const cw_json *contents = cw_json_get(result, CW_STR("contents"));
    unsigned char hash[SHA256_DIGEST_LENGTH];
    if (!cw_json_is(contents, CW_JSON_ARRAY))
        return CW_PARAMS;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    for (const cw_json *c = cw_json_first(contents); c; c = cw_json_next(c))
        add_content(&text, c);
    if (text.code)
        return CW_NOMEM;
    SHA256((const unsigned char *)(text.n ? text.p : ""), text.n, hash);
    cw_hex_write(ret, hash, sizeof hash);
    ret[CW_DESCRIBE_VIEW_HASH] = 0;
    return CW_OK;
}
