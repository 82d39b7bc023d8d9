/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client.c - the record of an OAuth client as JSON, and back. */
#include "access/oauth/client.h"

#include "base/buf.h"
#include "json/write.h"

#define RECORD_MAX_BYTES 16384u

static const char *const kinds[] = {
    [CW_OAUTH_REGISTERED] = "registered",
    [CW_OAUTH_DYNAMIC] = "dynamic",
    [CW_OAUTH_DOCUMENT] = "document",
};

cw_str cw_oauth_client_kind_name(cw_oauth_client_kind kind)
{
    return cw_str_from(kinds[kind]);
}

static void add_list(cw_json_writer *w, cw_str name, const cw_str *items, size_t n)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (size_t i = 0; i < n; i++)
        cw_json_add_string(w, items[i]);
    cw_json_close(w);
}

cw_code cw_oauth_client_format(const cw_oauth_client *client, cw_arena *arena, cw_str *ret,
                               cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, RECORD_MAX_BYTES);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("kind"), cw_oauth_client_kind_name(client->kind));
    cw_json_add_string_member(&w, CW_STR("id"), client->id);
    cw_json_add_string_member(&w, CW_STR("name"), client->name);
    add_list(&w, CW_STR("redirect_uris"), client->redirect_uris, client->n_redirect_uris);
    cw_json_add_bool_member(&w, CW_STR("secret"), client->has_secret);
    cw_json_add_bool_member(&w, CW_STR("refresh"), client->may_refresh);
    add_list(&w, CW_STR("ceiling"), client->ceiling, client->n_ceiling);
    cw_json_add_string_member(&w, CW_STR("account"), client->account);
    add_list(&w, CW_STR("scopes"), client->scopes, client->n_scopes);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    cw_str text = cw_arena_dup_str(arena, cw_buf_str(&out));
    if (!text.p)
        return cw_arena_fail(arena, err);
    *ret = text;
    return CW_OK;
}

static bool read_kind(const cw_json *v, cw_oauth_client_kind *ret)
{
    for (size_t i = 0; i < CW_COUNT(kinds); i++) {
        if (cw_json_is(v, CW_JSON_STRING) && cw_str_is(cw_json_text(v), kinds[i])) {
            *ret = (cw_oauth_client_kind)i;
            return true;
        }
    }
    return false;
}

static cw_str read_text(const cw_json *record, cw_str name)
{
    const cw_json *v = cw_json_get(record, name);
    return v && cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static bool read_flag(const cw_json *record, cw_str name)
{
    const cw_json *v = cw_json_get(record, name);
    return v && cw_json_is(v, CW_JSON_TRUE);
}

static cw_code read_list(const cw_json *record, cw_str name, cw_arena *arena, const cw_str **ret,
                         size_t *ret_n, cw_err *err)
{
    const cw_json *list = cw_json_get(record, name);
    size_t n = list && cw_json_is(list, CW_JSON_ARRAY) ? cw_json_count(list) : 0;
    cw_str *items = n ? cw_arena_calloc(arena, n, sizeof *items) : NULL;
    if (n && !items)
        return cw_arena_fail(arena, err);
    size_t i = 0;
    for (const cw_json *v = n ? cw_json_first(list) : NULL; v; v = cw_json_next(v)) {
        if (cw_json_is(v, CW_JSON_STRING))
            items[i++] = cw_json_text(v);
    }
    *ret = items;
    *ret_n = i;
    return CW_OK;
}

cw_code cw_oauth_client_parse(cw_str json, cw_arena *arena, cw_oauth_client *ret, cw_err *err)
{
    const cw_json *record;
    cw_oauth_client client = {.id = {NULL, 0}};
    cw_str text = cw_arena_dup_str(arena, json);
    if (!text.p)
        return cw_arena_fail(arena, err);
    cw_code rc = cw_json_read(text, NULL, arena, &record, NULL, err);
    if (rc)
        return rc;
    const cw_json *kind =
        cw_json_is(record, CW_JSON_OBJECT) ? cw_json_get(record, CW_STR("kind")) : NULL;
    if (!kind || !read_kind(kind, &client.kind))
        return cw_fail(err, CW_PARSE, "not the record of a client");
    client.id = read_text(record, CW_STR("id"));
    client.name = read_text(record, CW_STR("name"));
    client.account = read_text(record, CW_STR("account"));
    client.has_secret = read_flag(record, CW_STR("secret"));
    client.may_refresh = read_flag(record, CW_STR("refresh"));
    rc = read_list(record, CW_STR("redirect_uris"), arena, &client.redirect_uris,
                   &client.n_redirect_uris, err);
    if (!rc)
        rc = read_list(record, CW_STR("ceiling"), arena, &client.ceiling, &client.n_ceiling, err);
    if (!rc)
        rc = read_list(record, CW_STR("scopes"), arena, &client.scopes, &client.n_scopes, err);
    if (!rc)
        *ret = client;
    return rc;
}
