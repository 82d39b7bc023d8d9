/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_text.c - types with one text: texts, scalars, yes or no, URLs. */
#include <sys/un.h>

#include "config/keys/keys.h"
#include "config/syntax/names.h"

/* ---- text ---- */

static cw_code read_text(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    bool is_empty = cw_json_is(v, CW_JSON_NULL) || (cw_json_is(v, CW_JSON_STRING) && !v->n);
    if (is_empty && !key->is_required) {
        *(cw_str *)field = CW_STR("");
        return CW_OK;
    }
    if (!cw_json_is(v, CW_JSON_STRING) || !key->is_valid(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->expected, NULL);
    return cw_check_copy(c, cw_json_text(v), field);
}

static void write_text(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_str text = *(const cw_str *)field;
    if (text.n)
        cw_json_add_string(w, text);
    else
        cw_json_add_null(w);
}

void cw_key_add_type(cw_json_writer *w, const char *type, bool or_null)
{
    cw_json_add_key(w, CW_STR("type"));
    if (!or_null) {
        cw_json_add_string(w, cw_str_from(type));
        return;
    }
    cw_json_open_array(w);
    cw_json_add_string(w, cw_str_from(type));
    cw_json_add_string(w, CW_STR("null"));
    cw_json_close(w);
}

static void describe_text(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "string", !key->is_required);
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(key->pattern));
}

const cw_key_type cw_type_text = {"a text", read_text, write_text, describe_text, NULL};

/* ---- scalar: a text that YAML may take for something else ---- */

/* An unquoted 2.0 is a number in JSON's eyes, true a flag; the text of either is exact. */
static bool is_scalar(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) || cw_json_is(v, CW_JSON_NUMBER) ||
           cw_json_is(v, CW_JSON_TRUE) || cw_json_is(v, CW_JSON_FALSE);
}

static cw_code read_scalar(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    if (!is_scalar(v) || cw_json_is(v, CW_JSON_STRING))
        return read_text(c, key, place, v, field);
    if (!key->is_valid(cw_json_text(v)))
        return cw_check_expected(c, place, v, key->expected, NULL);
    return cw_check_copy(c, cw_json_text(v), field);
}

static void describe_scalar(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("type"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("string"));
    cw_json_add_string(w, CW_STR("number"));
    cw_json_add_string(w, CW_STR("boolean"));
    cw_json_add_string(w, CW_STR("null"));
    cw_json_close(w);
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(key->pattern));
}

const cw_key_type cw_type_scalar = {"a text", read_scalar, write_text, describe_scalar, NULL};

/* ---- yes ---- */

/* "yes" and "no" as texts, because nothing is an answer too. */
static cw_code read_yes(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                        void *field)
{
    bool is_text = cw_json_is(v, CW_JSON_STRING);
    if (cw_json_is(v, CW_JSON_NULL))
        *(cw_str *)field = CW_STR("");
    else if (cw_json_is(v, CW_JSON_TRUE) || (is_text && cw_str_is(cw_json_text(v), "yes")))
        *(cw_str *)field = CW_STR("yes");
    else if (cw_json_is(v, CW_JSON_FALSE) || (is_text && cw_str_is(cw_json_text(v), "no")))
        *(cw_str *)field = CW_STR("no");
    else
        return cw_check_expected(c, place, v, key->type->name, NULL);
    return CW_OK;
}

static void describe_yes(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_json_add_key(w, CW_STR("enum"));
    cw_json_open_array(w);
    cw_json_add_string(w, CW_STR("yes"));
    cw_json_add_string(w, CW_STR("no"));
    cw_json_add_bool(w, true);
    cw_json_add_bool(w, false);
    cw_json_add_null(w);
    cw_json_close(w);
}

const cw_key_type cw_type_yes = {"\"yes\" or \"no\"", read_yes, write_text, describe_yes, NULL};

/* ---- url ---- */

/* Put the socket's absolute path into the text. */
static cw_code read_unix(cw_checker *c, const cw_place *place, const cw_json *v, cw_str socket,
                         cw_str *ret)
{
    cw_str text = cw_json_text(v);
    size_t behind = (size_t)(socket.p - text.p) + socket.n;
    cw_str path;
    cw_code rc = cw_check_resolve(c, socket, &path);
    if (rc)
        return rc;
    struct sockaddr_un un;
    if (path.n >= sizeof un.sun_path || memchr(path.p, ':', path.n))
        return cw_check_problem(c, place, v,
                                "the path of a unix socket has at most %zu bytes and no ':'",
                                sizeof un.sun_path - 1);
    char *url =
        cw_arena_printf(c->arena, "unix:%s%.*s", path.p, (int)(text.n - behind), text.p + behind);
    if (!url)
        return cw_arena_fail(c->arena, c->err);
    *ret = cw_str_from(url);
    return CW_OK;
}

static cw_code read_url(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                        void *field)
{
    if (cw_json_is(v, CW_JSON_NULL) && !key->is_required) {
        *(cw_str *)field = CW_STR("");
        return CW_OK;
    }
    cw_str text = cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
    if (!cw_check_is_clean(text))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    cw_str socket;
    const char *wrong = cw_names_check_url(text, &socket);
    if (wrong)
        return cw_check_expected(c, place, v, key->type->name, wrong);
    return socket.n ? read_unix(c, place, v, socket, field) : cw_check_copy(c, text, field);
}

static void describe_url(cw_json_writer *w, const cw_key *key)
{
    cw_key_add_type(w, "string", !key->is_required);
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(CW_NAMES_URL_PATTERN));
}

const cw_key_type cw_type_url = {
    "a URL such as \"http://HOST:PORT/PATH\", \"tcp://HOST:PORT\" or \"unix:SOCKET\"", read_url,
    write_text, describe_url, NULL};
