/* SPDX-License-Identifier: GPL-2.0-or-later */
/* content.c - blocks of text, pictures, sound and resources beside the result.
 *
 *     content  {"type":"text","text":"a"},{"role":"user","type":"text","text":"b"
 *
 * The last block stays open, for its annotations; result.c closes it.
 */
#include <stdarg.h>

#include "base/base64.h"
#include "base/percent.h"
#include "host/call.h"
#include "host/uri.h"

/* Begin a block; NULL when none may be added. */
static cw_buf *open_block(cw_call *call, const char *type)
{
    cw_buf *b = &call->wire->content;
    if (call->complete)
        cw_call_misuse(call, "a completion adds values and no content");
    if (call->misuse || call->has_error || b->code)
        return NULL;
    cw_buf_add(b, call->has_block ? CW_STR("},{") : CW_STR("{"));
    if (call->role)
        cw_buf_printf(b, "\"role\":\"%s\",", call->role);
    cw_buf_printf(b, "\"type\":\"%s\"", type);
    call->has_block = true;
    call->is_annotated = false;
    return b;
}

/* An address is wrong. One that is missing for lack of memory is not an error of the plugin. */
static void complain(cw_call *call, const char *what)
{
    if (call->wire->content.code != CW_LIMIT)
        cw_call_misuse(call, what);
}

/* Something could not be made in the arena, or in a buffer with this code. */
static void give_up(cw_call *call, cw_code rc)
{
    if (!rc)
        rc = cw_arena_code(call->arena);
    if (rc == CW_LIMIT)
        call->wire->content.code = rc;
    else
        call->wire->out.code = rc;
}

/* A member behind another one; NULL: none. */
static void add_text(cw_buf *b, const char *name, const char *text)
{
    if (!text)
        return;
    cw_buf_printf(b, ",\"%s\":", name);
    cw_json_escape(b, cw_str_from(text));
}

static void add_bytes(cw_buf *b, const char *name, const void *bytes, size_t n)
{
    cw_buf_printf(b, ",\"%s\":\"", name);
    /* Beyond the ceiling in any case, and the length of its text might not be a size_t. */
    char *to = cw_buf_reserve(b, n > b->max ? b->max + 1 : CW_BASE64_TEXT(n));
    if (to)
        cw_buf_commit(b, cw_base64_encode(cw_str_make(n > 0 ? bytes : "", n), to));
    cw_buf_add_char(b, '"');
}

static bool has_bytes(cw_call *call, const void *bytes, size_t n)
{
    if (n > 0 && !bytes)
        cw_call_misuse(call, "content: there are no bytes");
    return n == 0 || bytes;
}

static void add_medium(cw_call *call, const char *type, const void *bytes, size_t n,
                       const char *mime_type)
{
    if (!mime_type || !strchr(mime_type, '/'))
        cw_call_misuse(call, "content: pictures and sound need a MIME type");
    if (!has_bytes(call, bytes, n))
        return;
    cw_buf *b = open_block(call, type);
    if (!b)
        return;
    add_bytes(b, "data", bytes, n);
    add_text(b, "mimeType", mime_type);
}

/* The head of an embedded resource; its text or bytes and two brackets are still to come. */
static cw_buf *open_resource(cw_call *call, const char *uri, const char *mime_type)
{
    if (cw_uri_problem(cw_str_from(uri)))
        complain(call, "content: the address of a resource is none");
    cw_buf *b = open_block(call, "resource");
    if (!b)
        return NULL;
    cw_buf_add(b, CW_STR(",\"resource\":{\"uri\":"));
    cw_json_escape(b, cw_str_from(uri));
    add_text(b, "mimeType", mime_type);
    return b;
}

/* A template with the arguments of the call in it; NULL when one is missing, or without room. */
static const char *expand(cw_call *call, const char *text)
{
    cw_buf uri;
    cw_str rest = cw_str_from(text);
    cw_template_part part;
    bool is_whole = true;
    cw_buf_init(&uri, call->wire->max_body);
    while (rest.n && cw_template_next(&rest, &part)) {
        const cw_json *v = part.name.p ? cw_json_get(call->params, part.name) : NULL;
        cw_buf_add(&uri, part.literal);
        if (cw_json_is(v, CW_JSON_STRING))
            cw_percent_encode(&uri, cw_json_text(v));
        is_whole &= !part.name.p || cw_json_is(v, CW_JSON_STRING);
    }
    const char *copy = is_whole && !uri.code ? cw_arena_dup(call->arena, uri.p, uri.n) : NULL;
    if (is_whole && !copy)
        give_up(call, uri.code);
    cw_buf_done(&uri);
    return copy;
}

void cw_content_text(cw_call *call, const char *text)
{
    cw_buf *b = open_block(call, "text");
    if (b)
        add_text(b, "text", text ? text : "");
}

void cw_content_format(cw_call *call, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const char *text = cw_arena_vprintf(call->arena, fmt, args);
    va_end(args);
    if (text)
        cw_content_text(call, text);
    else
        give_up(call, CW_OK);
}

void cw_content_image(cw_call *call, const void *bytes, size_t n, const char *mime_type)
{
    add_medium(call, "image", bytes, n, mime_type);
}

void cw_content_audio(cw_call *call, const void *bytes, size_t n, const char *mime_type)
{
    add_medium(call, "audio", bytes, n, mime_type);
}

void cw_content_resource(cw_call *call, const char *uri, const char *mime_type, const char *text)
{
    cw_buf *b = open_resource(call, uri, mime_type);
    if (!b)
        return;
    add_text(b, "text", text ? text : "");
    cw_buf_add_char(b, '}');
}

void cw_content_blob(cw_call *call, const char *uri, const char *mime_type, const void *bytes,
                     size_t n)
{
    cw_buf *b = has_bytes(call, bytes, n) ? open_resource(call, uri, mime_type) : NULL;
    if (!b)
        return;
    add_bytes(b, "blob", bytes, n);
    cw_buf_add_char(b, '}');
}

void cw_content_bytes(cw_call *call, const void *bytes, size_t n, const char *mime_type)
{
    const cw_plugin_resource *r = call->method->resource;
    const char *uri = cw_resource_uri(call);
    if (!uri) {
        complain(call, "cw_content_bytes is for resources; use cw_content_blob");
        return;
    }
    cw_content_blob(call, uri, mime_type || !r ? mime_type : r->mime_type, bytes, n);
}

void cw_content_link(cw_call *call, const char *uri, const char *name, const char *mime_type,
                     const char *description)
{
    if (cw_uri_problem(cw_str_from(uri)))
        complain(call, "content: the address of a link is none");
    else if (!name || !name[0])
        cw_call_misuse(call, "content: a link needs a name");
    cw_buf *b = open_block(call, "resource_link");
    if (!b)
        return;
    add_text(b, "uri", uri);
    add_text(b, "name", name);
    add_text(b, "mimeType", mime_type);
    add_text(b, "description", description);
}

void cw_content_annotate(cw_call *call, const char *json)
{
    if (call->has_error || call->wire->content.code)
        return;
    if (!call->has_block || call->is_annotated)
        cw_call_misuse(call, call->has_block ? "a block of content was annotated twice"
                                             : "there is no block of content to annotate");
    const cw_json *root = cw_call_read(call, json, "annotations of content");
    size_t first = 0;
    const char *bad = root ? cw_annotations_problem(root, &first) : NULL;
    if (bad) {
        const char *text = cw_arena_printf(call->arena, "annotations of content: %s", bad);
        cw_call_misuse(call, text ? text : bad);
    }
    if (!root || call->misuse)
        return;
    call->is_annotated = true;
    if (cw_json_count(root) == 0)
        return;
    cw_buf_add(&call->wire->content, CW_STR(",\"annotations\":"));
    cw_buf_add(&call->wire->content, cw_json_span(root));
    call->needs_check = true;
}

void cw_content_role(cw_call *call, const char *role)
{
    if (role && strcmp(role, "user") == 0)
        call->role = "user";
    else if (role && strcmp(role, "assistant") == 0)
        call->role = "assistant";
    else
        cw_call_misuse(call, "cw_content_role: \"user\" or \"assistant\"");
}

const char *cw_resource_uri(cw_call *call)
{
    const cw_json *v = cw_json_get(call->root, CW_STR("uri"));
    const cw_plugin_resource *r = call->method->resource;
    if (!cw_json_is(v, CW_JSON_STRING)) {
        if (!r)
            return NULL;
        return cw_hosted_is_template(call->method) ? expand(call, r->uri_template) : r->uri;
    }
    const char *uri = cw_arena_dup(call->arena, v->p, v->n);
    if (!uri)
        give_up(call, CW_OK);
    return uri;
}
