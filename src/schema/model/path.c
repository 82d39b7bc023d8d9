/* SPDX-License-Identifier: GPL-2.0-or-later */
/* path.c - finds the JSON Pointer of a value, from the root down. For messages only. */
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"
#include "json/write.h"
#include "schema/model/model.h"

#define PLACE_MAX 120u /* bytes of a pointer in a message, which has to have room besides */

/* One step of the way there: the item of `v`, or the key of its member, that is or holds `at`, and
 * its place. NULL: none does. */
static const cw_json *child_with(const cw_json *v, const cw_json *at, size_t *ret_index)
{
    bool object = cw_json_is(v, CW_JSON_OBJECT);
    const cw_json *child = cw_json_first(v);
    *ret_index = 0;
    while (child && cw_json_after(child + object) <= at) {
        child = cw_json_next(child + object);
        ++*ret_index;
    }
    return child;
}

void cw_schema_add_pointer(cw_buf *out, const cw_json *root, const cw_json *at)
{
    const cw_json *v = root;
    while (v != at && cw_json_count(v) > 0) {
        bool object = cw_json_is(v, CW_JSON_OBJECT);
        size_t index;
        const cw_json *child = child_with(v, at, &index);
        if (!child)
            return;
        cw_buf_add_char(out, '/');
        if (object)
            cw_json_escape_token(out, cw_json_text(child));
        else
            cw_buf_add_u64(out, index);
        if (child == at)
            return;
        v = child + object;
    }
}

const document *cw_schema_document_of(const cw_schema *s, const cw_json *at)
{
    for (uint32_t i = 0; i < s->n_docs; i++) {
        if (at >= s->docs[i].root && at < s->docs[i].root + s->docs[i].count)
            return &s->docs[i];
    }
    return NULL;
}

cw_code cw_schema_fail_at(builder *b, const cw_json *at, cw_code code, const char *fmt, ...)
{
    if (!b->err)
        return code;
    char text[CW_ERR_MSG_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    cw_buf path;
    cw_buf_init(&path, CW_ERR_MSG_MAX);
    const document *doc = cw_schema_document_of(b->s, at);
    if (doc) {
        if (doc != b->s->docs)
            cw_buf_add(&path, doc->uri);
        cw_schema_add_pointer(&path, doc->root, at);
    }
    cw_str place = cw_buf_str(&path);
    if (place.n == 0)
        place = CW_STR("the schema");
    bool cut = place.n > PLACE_MAX;
    place.n = cut ? cw_utf8_cut(place, PLACE_MAX) : place.n;
    cw_fail(b->err, code, "%.*s%s: %s", CW_STR_ARG(place), cut ? "..." : "", text);
    cw_buf_done(&path);
    return code;
}
