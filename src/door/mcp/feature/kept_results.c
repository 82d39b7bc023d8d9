/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept_results.c - the store of large results: shares, parts, expiry. */
#include "door/mcp/feature/kept_results.h"

#include <stdlib.h>

#include "base/hex.h"
#include "base/random.h"
#include "base/utf8.h"

#define PART_MIN 4096u

typedef struct owner {
    cw_str name;
    cw_list results; /* oldest first */
    size_t used;
} owner;

/* The begin and end of a part in the text. */
typedef struct range {
    uint32_t from, to;
} range;

typedef struct kept {
    cw_list node, of_owner;
    owner *owner;
    char id[CW_MCP_KEPT_ID];
    int64_t until;
    char *text, *tool; /* on the heap */
    size_t n, tool_n;
    range *parts;
    uint32_t n_parts, cap_parts;
    bool is_list;   /* its parts are lists of their own */
    bool is_string; /* its text is no JSON */
} kept;

static size_t size_of(const kept *x)
{
    return sizeof *x + x->n + x->tool_n + x->cap_parts * sizeof *x->parts;
}

static void kept_free(kept *x)
{
    free(x->text);
    free(x->tool);
    free(x->parts);
    free(x);
}

void cw_mcp_kept_init(cw_mcp_kept_results *k)
{
    pthread_mutex_init(&k->lock, NULL);
    cw_map_init(&k->results, CW_MCP_KEPT_MAX);
    cw_map_init(&k->owners, CW_MCP_KEPT_MAX);
    cw_list_init(&k->all);
    k->used = 0;
}

/* ---- under the lock ---- */

static void drop(cw_mcp_kept_results *k, kept *x)
{
    owner *o = x->owner;
    cw_list_remove(&x->node);
    cw_list_remove(&x->of_owner);
    (void)cw_map_remove(&k->results, cw_str_from(x->id));
    k->used -= size_of(x);
    o->used -= size_of(x);
    if (cw_list_is_empty(&o->results)) {
        (void)cw_map_remove(&k->owners, o->name);
        free(o);
    }
    kept_free(x);
}

static kept *oldest_of(const owner *o)
{
    return CW_CONTAINER(o->results.next, kept, of_owner);
}

static void sweep(cw_mcp_kept_results *k, int64_t now)
{
    CW_LIST_EACH_SAFE (node, &k->all) {
        kept *x = CW_CONTAINER(node, kept, node);
        if (x->until <= now)
            drop(k, x);
    }
}

static owner *largest(const cw_mcp_kept_results *k)
{
    owner *ret = NULL;
    size_t pos = 0;
    for (const cw_map_entry *e; (e = cw_map_next(&k->owners, &pos));) {
        owner *o = e->value;
        if (!ret || o->used > ret->used)
            ret = o;
    }
    return ret;
}

/* The owner of this name, made where it is missing; NULL without memory. */
static owner *owner_of(cw_mcp_kept_results *k, cw_str name)
{
    owner *o = cw_map_find(&k->owners, name);
    if (o)
        return o;
    o = malloc(sizeof *o + name.n);
    if (!o)
        return NULL;
    memcpy(o + 1, name.p, name.n);
    *o = (owner){.name = cw_str_make((const char *)(o + 1), name.n)};
    cw_list_init(&o->results);
    if (cw_map_put(&k->owners, o->name, o, NULL)) {
        free(o);
        return NULL;
    }
    return o;
}

/* Make room for so many bytes of this owner. */
static void make_room(cw_mcp_kept_results *k, const cw_config_kept_results *limits, cw_str name,
                      size_t n)
{
    for (owner *o; (o = cw_map_find(&k->owners, name)) && o->used + n > limits->max_per_caller;)
        drop(k, oldest_of(o));
    while (k->used && (k->used + n > limits->max_size || k->results.n >= CW_MCP_KEPT_MAX))
        drop(k, oldest_of(largest(k)));
}

static cw_code insert(cw_mcp_kept_results *k, cw_str name, kept *x)
{
    owner *o = owner_of(k, name);
    if (!o)
        return CW_NOMEM;
    if (cw_map_put(&k->results, cw_str_from(x->id), x, NULL)) {
        if (cw_list_is_empty(&o->results)) {
            (void)cw_map_remove(&k->owners, o->name);
            free(o);
        }
        return CW_NOMEM;
    }
    x->owner = o;
    cw_list_add(&k->all, &x->node);
    cw_list_add(&o->results, &x->of_owner);
    k->used += size_of(x);
    o->used += size_of(x);
    return CW_OK;
}

void cw_mcp_kept_done(cw_mcp_kept_results *k)
{
    sweep(k, INT64_MAX);
    cw_map_done(&k->results);
    cw_map_done(&k->owners);
    pthread_mutex_destroy(&k->lock);
}

bool cw_mcp_kept_sweep(cw_mcp_kept_results *k, int64_t now)
{
    pthread_mutex_lock(&k->lock);
    sweep(k, now);
    bool is_left = !cw_list_is_empty(&k->all);
    pthread_mutex_unlock(&k->lock);
    return is_left;
}

/* ---- parts ---- */

static cw_code add_part(kept *x, size_t from, size_t to)
{
    if (x->n_parts == x->cap_parts) {
        uint32_t cap = x->cap_parts ? x->cap_parts * 2 : 16;
        range *parts = realloc(x->parts, cap * sizeof *parts);
        if (!parts)
            return CW_NOMEM;
        x->parts = parts;
        x->cap_parts = cap;
    }
    x->parts[x->n_parts++] = (range){(uint32_t)from, (uint32_t)to};
    return CW_OK;
}

/* A list with an element that is larger than a part is cut like a text. */
static bool is_dividable(const cw_json *value, size_t part_size)
{
    if (!cw_json_is(value, CW_JSON_ARRAY))
        return false;
    for (const cw_json *v = cw_json_first(value); v; v = cw_json_next(v)) {
        if (cw_json_span(v).n > part_size)
            return false;
    }
    return true;
}

static cw_code divide_list(kept *x, const cw_json *value, size_t part_size)
{
    const char *begin = cw_json_span(value).p;
    size_t from = 0, to = 0;
    cw_code rc = CW_OK;
    for (const cw_json *v = cw_json_first(value); v && !rc; v = cw_json_next(v)) {
        cw_str span = cw_json_span(v);
        size_t at = (size_t)(span.p - begin);
        if (to && at + span.n - from > part_size) {
            rc = add_part(x, from, to);
            to = 0;
        }
        if (!to)
            from = at;
        to = at + span.n;
    }
    return rc ? rc : add_part(x, from, to);
}

static cw_code divide_text(kept *x, size_t part_size)
{
    cw_str rest = cw_str_make(x->text, x->n);
    cw_code rc = CW_OK;
    while (rest.n && !rc) {
        size_t n = rest.n > part_size ? cw_utf8_cut(rest, part_size) : rest.n;
        size_t from = (size_t)(rest.p - x->text);
        rc = add_part(x, from, from + n);
        rest = cw_str_make(rest.p + n, rest.n - n);
    }
    return rc;
}

/* ---- adding ---- */

static cw_code set_id(kept *x)
{
    unsigned char bytes[CW_MCP_KEPT_ID / 2];
    if (cw_random_bytes(bytes, sizeof bytes, NULL))
        return CW_IO;
    cw_hex_write(x->id, bytes, sizeof bytes);
    return CW_OK;
}

static cw_code fill(kept *x, cw_str tool, const cw_json *value, size_t part_size)
{
    x->is_string = cw_json_is(value, CW_JSON_STRING);
    cw_str text = x->is_string ? cw_json_text(value) : cw_json_span(value);
    x->n = text.n;
    x->tool_n = tool.n;
    x->text = cw_str_dup(text);
    x->tool = cw_str_dup(tool);
    if (!x->text || !x->tool)
        return CW_NOMEM;
    x->is_list = is_dividable(value, part_size);
    cw_code rc = x->is_list ? divide_list(x, value, part_size) : divide_text(x, part_size);
    return rc ? rc : set_id(x);
}

cw_code cw_mcp_kept_add(cw_mcp_kept_results *k, const cw_config_kept_results *limits,
                        const cw_mcp_session_owner *by, cw_str tool, const cw_json *value,
                        size_t part_size, cw_mcp_kept_id *ret)
{
    char text[CW_MCP_OWNER_MAX];
    cw_str name = cw_mcp_session_owner_name(by, text);
    size_t least = cw_json_span(value).n;
    if (!limits->ttl_ms || least > limits->max_per_caller || !name.p)
        return CW_LIMIT;
    kept *x = calloc(1, sizeof *x);
    if (!x)
        return CW_NOMEM;
    cw_code rc = fill(x, tool, value, part_size > PART_MIN ? part_size : PART_MIN);
    if (!rc && (size_of(x) > limits->max_per_caller || size_of(x) > limits->max_size))
        rc = CW_LIMIT;
    if (!rc) {
        x->until = by->now + limits->ttl_ms;
        pthread_mutex_lock(&k->lock);
        sweep(k, by->now);
        make_room(k, limits, name, size_of(x));
        rc = insert(k, name, x);
        if (!rc) {
            *ret = (cw_mcp_kept_id){.n_parts = x->n_parts, .until = x->until};
            memcpy(ret->text, x->id, sizeof ret->text);
        }
        pthread_mutex_unlock(&k->lock);
    }
    if (rc)
        kept_free(x);
    return rc;
}

/* ---- reading ---- */

/* "causeway://results/ID" or "…/ID/N". */
static bool parse(cw_str uri, cw_str *ret_id, uint32_t *ret_part)
{
    if (!cw_str_starts(uri, CW_STR(CW_MCP_KEPT_SCHEME)))
        return false;
    cw_str rest =
        cw_str_make(uri.p + sizeof CW_MCP_KEPT_SCHEME - 1, uri.n - (sizeof CW_MCP_KEPT_SCHEME - 1));
    *ret_id = cw_str_cut(rest, '/', &rest);
    *ret_part = 1;
    if (!rest.p)
        return true;
    uint64_t n;
    if (rest.n == 0 || rest.n > 9 || rest.p[0] == '0' || !cw_str_to_u64(rest, &n))
        return false;
    *ret_part = (uint32_t)n;
    return true;
}

static void copy_part(const kept *x, uint32_t part, cw_mcp_kept_part *ret)
{
    range r = x->parts[part - 1];
    if (x->is_list)
        cw_buf_add_char(&ret->text, '[');
    cw_buf_add_bytes(&ret->text, x->text + r.from, r.to - r.from);
    if (x->is_list)
        cw_buf_add_char(&ret->text, ']');
    cw_buf_add_bytes(&ret->tool, x->tool, x->tool_n);
    ret->is_json = x->is_list || (!x->is_string && x->n_parts == 1);
    ret->part = part;
    ret->n_parts = x->n_parts;
    memcpy(ret->id, x->id, sizeof ret->id);
}

cw_code cw_mcp_kept_read(cw_mcp_kept_results *k, const cw_mcp_session_owner *by, cw_str uri,
                         cw_mcp_kept_part *ret)
{
    char text[CW_MCP_OWNER_MAX];
    cw_str id;
    uint32_t part;
    cw_code rc = CW_NOTFOUND;
    cw_str name = cw_mcp_session_owner_name(by, text);
    if (!parse(uri, &id, &part) || !name.p)
        return CW_NOTFOUND;
    pthread_mutex_lock(&k->lock);
    const kept *x = cw_map_find(&k->results, id);
    if (x && x->until > by->now && cw_str_eq(x->owner->name, name) && part >= 1 &&
        part <= x->n_parts) {
        copy_part(x, part, ret);
        rc = ret->text.code ? ret->text.code : ret->tool.code;
    }
    pthread_mutex_unlock(&k->lock);
    return rc;
}
