/* SPDX-License-Identifier: GPL-2.0-or-later */
/* types_scope.c - scopes: a list of names, or a mapping of names to what people call them. */
#include "config/keys/keys.h"
#include "config/syntax/names.h"

#define LABEL_MAX 200u
#define LABEL_EXPECTED "a label of one line such as \"Read Content\""

static bool is_label(const cw_json *v)
{
    return cw_json_is(v, CW_JSON_STRING) && cw_json_text(v).n <= LABEL_MAX &&
           cw_check_is_clean(cw_json_text(v));
}

static cw_code read_pair(cw_checker *c, const cw_key *key, const cw_place *place,
                         const cw_json *name, cw_str *ret_name, cw_str *ret_label)
{
    cw_place inner = {.up = place, .name = cw_json_text(name)};
    const cw_json *label = cw_json_value(name);
    if (!key->is_valid(inner.name))
        return cw_check_problem(c, &inner, name, "expected %s", key->expected);
    if (!is_label(label))
        return cw_check_expected(c, &inner, label, LABEL_EXPECTED, NULL);
    cw_code rc = cw_check_copy(c, inner.name, ret_name);
    return rc ? rc : cw_check_copy(c, cw_json_text(label), ret_label);
}

static cw_code read_labels(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, cw_config_scopes *ret)
{
    size_t n = cw_json_count(v);
    if (n > key->max)
        return cw_check_problem(c, place, v, "expected at most %u entries, got %zu",
                                (unsigned)key->max, n);
    cw_str *names = cw_arena_calloc(c->arena, n ? 2 * n : 1, sizeof *names);
    if (!names)
        return cw_arena_fail(c->arena, c->err);
    size_t at = 0, before = c->problems->total;
    for (const cw_json *i = cw_json_first(v); i; i = cw_json_next_key(i), at++) {
        cw_code rc = read_pair(c, key, place, i, &names[at], &names[n + at]);
        if (rc)
            return rc;
    }
    if (c->problems->total == before)
        *ret = (cw_config_scopes){names, n, names + n};
    return CW_OK;
}

static cw_code read_scopes(cw_checker *c, const cw_key *key, const cw_place *place,
                           const cw_json *v, void *field)
{
    cw_config_scopes *scopes = field;
    if (cw_json_is(v, CW_JSON_OBJECT))
        return read_labels(c, key, place, v, scopes);
    cw_config_strings names = {scopes->items, scopes->n};
    cw_code rc = cw_type_strings.read(c, key, place, v, &names);
    *scopes = (cw_config_scopes){names.items, names.n, NULL};
    return rc;
}

static void write_scopes(cw_json_writer *w, const cw_key *key, const void *field)
{
    const cw_config_scopes *scopes = field;
    if (!scopes->labels) {
        cw_type_strings.write(w, key, &(cw_config_strings){scopes->items, scopes->n});
        return;
    }
    cw_json_open_object(w);
    for (size_t i = 0; i < scopes->n; i++)
        cw_json_add_string_member(w, scopes->items[i], scopes->labels[i]);
    cw_json_close(w);
}

static void describe_labels(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("object"));
    cw_json_add_key(w, CW_STR("propertyNames"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("pattern"), cw_str_from(key->pattern));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("additionalProperties"));
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("type"), CW_STR("string"));
    cw_json_add_string_member(w, CW_STR("pattern"), CW_STR(CW_NAMES_CLEAN_PATTERN));
    cw_json_close(w);
    cw_json_add_key(w, CW_STR("maxProperties"));
    cw_json_add_u64(w, key->max);
}

static void describe_scopes(cw_json_writer *w, const cw_key *key)
{
    cw_json_add_key(w, CW_STR("anyOf"));
    cw_json_open_array(w);
    cw_json_open_object(w);
    cw_type_strings.describe(w, key);
    cw_json_close(w);
    cw_json_open_object(w);
    describe_labels(w, key);
    cw_json_close(w);
    cw_json_close(w);
}

const cw_key_type cw_type_scopes = {"a list of scopes, or a mapping of scopes to labels",
                                    read_scopes, write_scopes, describe_scopes, NULL};
