/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_json.c - values of any shape, kept as JSON text: objects, mappings, any value. */
#include "config/keys/keys.h"

/* Strings are spelled anew, so that YAML and JSON files with the same values give the same text. As
 * deep as a file may be. */
static void add_plain(cw_json_writer *w, const cw_json *v)
{
    if (cw_json_is(v, CW_JSON_STRING)) {
        cw_json_add_string(w, cw_json_text(v));
        return;
    }
    bool is_object = cw_json_is(v, CW_JSON_OBJECT);
    if (!is_object && !cw_json_is(v, CW_JSON_ARRAY)) {
        cw_json_add_span(w, cw_json_text(v));
        return;
    }
    if (is_object)
        cw_json_open_object(w);
    else
        cw_json_open_array(w);
    for (const cw_json *i = cw_json_first(v); i;
         i = is_object ? cw_json_next_key(i) : cw_json_next(i)) {
        if (is_object)
            cw_json_add_key(w, cw_json_text(i));
        add_plain(w, is_object ? cw_json_value(i) : i);
    }
    cw_json_close(w);
}

static cw_code keep(cw_checker *c, const cw_json *v, cw_str *ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, 8 * CW_CONFIG_MAX_BYTES); /* a byte of the file becomes 6 at most */
    cw_json_writer w;
    cw_json_writer_init(&w, &text, CW_JSON_COMPACT);
    add_plain(&w, v);
    cw_code rc = cw_json_writer_end(&w, c->err);
    return rc ? rc : cw_check_copy(c, cw_buf_str(&text), ret);
}

/* ---- json: anything; null is nothing ---- */

static cw_code read_json(cw_checker *c, const cw_key *key, const cw_place *place, const cw_json *v,
                         void *field)
{
    (void)key;
    (void)place;
    if (!cw_json_is(v, CW_JSON_NULL))
        return keep(c, v, field);
    *(cw_str *)field = CW_STR("");
    return CW_OK;
}

static void write_json(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_str text = *(const cw_str *)field;
    cw_json_add_span(w, text.n ? text : CW_STR("null"));
}

/* No member at all: every value will do. */
static void describe_json(cw_json_writer *w, const cw_key *key)
{
    (void)w;
    (void)key;
}

const cw_key_type cw_type_json = {"any value", read_json, write_json, describe_json, NULL};

/* ---- mapping: {} is one too ---- */

static cw_code read_mapping(cw_checker *c, const cw_key *key, const cw_place *place,
                            const cw_json *v, void *field)
{
    if (!cw_json_is(v, CW_JSON_NULL) && !cw_json_is(v, CW_JSON_OBJECT))
        return cw_check_expected(c, place, v, key->type->name, NULL);
    return read_json(c, key, place, v, field);
}

static void describe_mapping(cw_json_writer *w, const cw_key *key)
{
    (void)key;
    cw_key_add_type(w, "object", /* or_null= */ true);
}

const cw_key_type cw_type_mapping = {"a mapping", read_mapping, write_json, describe_mapping, NULL};

/* ---- object: {} is none ---- */

static cw_code read_object(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    bool is_empty = cw_json_is(v, CW_JSON_OBJECT) && !cw_json_count(v);
    if (!is_empty)
        return read_mapping(c, key, place, v, field);
    *(cw_str *)field = CW_STR("");
    return CW_OK;
}

static void write_object(cw_json_writer *w, const cw_key *key, const void *field)
{
    (void)key;
    cw_str text = *(const cw_str *)field;
    cw_json_add_span(w, text.n ? text : CW_STR("{}"));
}

const cw_key_type cw_type_object = {"a mapping", read_object, write_object, describe_mapping, NULL};
